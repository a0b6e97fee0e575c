// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "base/comma_list.hpp"
#include "io/fx_builder.hpp"

namespace coppice::io::fx {
namespace {

using training::Dim;
using training::Op;

/// a to z, then a1 and so on; capitals are states.
std::string dimensionName(std::size_t index) {
  constexpr std::size_t kLetters = 26;
  return std::string(1, static_cast<char>('a' + index % kLetters)) +
         (index < kLetters ? "" : std::to_string(index / kLetters));
}

/// Numbers the dimensions in the order in which they are seen, and writes them.
class Names {
public:
  Names(const Dims& dims, training::Problem& problem) : m_dims(dims), m_problem(problem) {}

  [[nodiscard]] Dim dim(Atom leaf) {
    const auto [found, isNew] = m_numbers.try_emplace(leaf, static_cast<Dim>(m_problem.dims.size()));
    if (isNew) {
      m_problem.dims.push_back({dimensionName(m_problem.dims.size()), m_dims.size(leaf)});
    }
    return found->second;
  }
  [[nodiscard]] std::vector<Dim> all(const Atoms& atoms) {
    std::vector<Dim> dims;
    for (const Atom leaf : m_dims.leaves(atoms)) {
      dims.push_back(dim(leaf));
    }
    return dims;
  }
  [[nodiscard]] std::string text(const Atoms& atoms) {
    std::string text;
    for (const Dim dim : all(atoms)) {
      text += m_problem.dims[dim].name;
    }
    return text;
  }

private:
  const Dims& m_dims;
  training::Problem& m_problem;
  std::map<Atom, Dim> m_numbers;
};

}  // namespace

FxProblem Builder::problem(const std::vector<Tensor>& outputs) const {
  FxProblem result;
  training::Problem& problem = result.problem;
  Names names(m_dims, problem);
  result.text = "Nodes:\n";
  for (const Draft& draft : m_drafts) {
    training::Node node = draft.node;
    const std::string layout = names.text(flat(draft.layout));
    node.dims = names.all(draft.dims);
    node.indices = names.all(draft.indices);
    for (const auto& [to, from] : draft.renamed) {
      // Of dimensions that were cut since, the slowest parts go together.
      const Dim name = names.dim(m_dims.leaves({to}).front());
      const Dim other = names.dim(m_dims.leaves({from}).front());
      if (name != other) {
        node.renamed.emplace_back(name, other);
      }
    }
    const auto inputs = [&](bool hasDims) {
      std::string text;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        text += (i > 0 ? ", " : "") + problem.nodes[node.inputs[i]].name +
                (hasDims ? "[" + names.text(draft.read[i]) + "]" : "");
      }
      return text;
    };
    std::string line = "  " + node.name + ": ";
    switch (node.op) {
      case Op::placeholder:
        line += "PLACEHOLDER [" + layout + "]";
        break;
      case Op::einsum:
        line += "EINSUM \"";
        for (std::size_t i = 0; i < node.inputs.size(); ++i) {
          line += (i > 0 ? "," : "") + names.text(draft.read[i]);
        }
        line += "->" + layout + "\"(" + inputs(false) + ") -> [" + layout + "]";
        break;
      case Op::elementwise:
        line += "ELEMENTWISE(" + inputs(true) + ") -> [" + layout + "]";
        break;
      case Op::reduction: {
        std::string over;
        for (const Dim dim : names.all(draft.read[0])) {
          if (std::find(node.dims.begin(), node.dims.end(), dim) == node.dims.end()) {
            over += (over.empty() ? "" : ",") + problem.dims[dim].name;
          }
        }
        line += "REDUCTION(" + inputs(true) + ") over{" + over + "} -> [" + layout + "]";
        break;
      }
      case Op::update:
        line.clear();  // what is done with a gradient is not in torch's graph
        break;
    }
    result.text += line + (line.empty() ? "" : "\n");
    problem.nodes.push_back(std::move(node));
  }
  const std::string returned = commaList(outputs, [&](const Tensor& output) {
    return problem.nodes[output.node].name + "[" + names.text(flat(output.positions)) + "]";
  });
  result.text += "  output: OUTPUT[" + returned + "]\n";
  return result;
}

}  // namespace coppice::io::fx
