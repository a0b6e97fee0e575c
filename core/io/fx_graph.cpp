// SPDX-License-Identifier: Apache-2.0
#include "io/fx_graph.hpp"

#include <algorithm>

#include "base/failure.hpp"
#include "base/text.hpp"
#include "io/fx_arguments.hpp"

namespace coppice::io {
namespace {

using fx::Atoms;
using fx::Builder;
using fx::Call;
using fx::Draft;
using fx::kAsPrinted;
using fx::Tensor;
using fx::Value;
using training::Op;

constexpr std::size_t kMaxCalls = 20'000;

class FxReader {
public:
  FxReader(std::vector<Call> calls, const std::string& fileName, const FxOptions& options)
      : m_calls(std::move(calls)), m_options(options), m_builder(fileName) {}

  FxProblem run() {
    if (m_calls.size() > kMaxCalls) {
      m_builder.refuse("the graph has more than " + std::to_string(kMaxCalls) + " operations", "give one block of it");
    }
    for (const Call& call : m_calls) {
      m_call = &call;
      m_builder.at(call);
      if (call.kind == Call::Kind::placeholder) {
        placeholder();
      } else if (call.kind == Call::Kind::function) {
        const bool isNew = m_values.emplace(call.name, fx::operationOf(m_builder, m_values, call, m_notes)).second;
        if (!isNew) {
          m_builder.refuse("there are two tensors " + inQuotes(call.name), kAsPrinted);
        }
      } else {
        returned();
      }
    }
    if (m_builder.drafts().empty()) {
      m_builder.refuse("there is no tensor in the graph", kAsPrinted);
    }
    part();
    meet();
    hold();
    FxProblem problem = m_builder.problem(m_outputs);
    addUpdates(problem);
    return problem;
  }

private:
  void placeholder() {
    if (m_values.contains(m_call->name)) {
      if (m_call->graph == 0) {
        m_builder.refuse("there are two tensors " + inQuotes(m_call->name), kAsPrinted);
      }
      return;  // what the forward graph left for the backward graph
    }
    if (!m_call->type) {
      m_builder.refuse("the sizes of " + inQuotes(m_call->name) + " are not told",
                       "add a line beside the graph: # " + m_call->name + ": bf16[64, 1024]");
    }
    const Tensor made = m_builder.placeholder(m_call->name, *m_call->type, false);
    const bool isTangent = m_call->name.find("tangents") != std::string::npos;
    m_builder.drafts().back().isBackward = isTangent;
    m_values.emplace(m_call->name, std::vector{made});
    if (isTangent) {
      m_tangents.push_back(made);
    } else if (m_call->graph == 0) {
      m_primals.push_back(made);
    }
  }

  void returned() {
    m_returned.clear();
    m_returnLine = m_call;
    const fx::Arguments arguments(m_builder, m_values, *m_call);
    for (const Value& value : m_call->arguments) {
      if (value.kind == Value::Kind::name) {
        m_returned.emplace_back(arguments.tensorOf(value));
        m_outputs.push_back(*m_returned.back());
      } else {
        m_returned.emplace_back();
      }
    }
    if (m_call->graph == 0) {
      m_forward = m_returned;
    }
  }

  /// Gradients meet what they are of: the last that is returned, one for each tensor from outside.
  void meet() {
    if (m_tangents.empty() || m_returned.size() < m_primals.size()) {
      m_notes.emplace_back("no gradients of parameters are returned: memory is that of the tensors alone");
      return;
    }
    if (m_returnLine != nullptr) {
      m_builder.at(*m_returnLine);
    }
    const std::size_t first = m_returned.size() - m_primals.size();
    // The first dimension of ids and of gradients from outside: what divides the data.
    Atoms batch;
    const auto firstOf = [&](const Tensor& tensor) {
      const Atoms all = m_builder.dims().leaves(fx::flat(tensor.positions));
      return all.empty() ? Atoms{} : Atoms{all.front()};
    };
    for (const Tensor& tangent : m_tangents) {
      const Atoms own = tangent.positions.size() > 1 ? firstOf(tangent) : Atoms{};
      batch.insert(batch.end(), own.begin(), own.end());
    }
    for (std::size_t i = 0; i < m_primals.size(); ++i) {
      if (!m_returned[first + i] && m_primals[i].bits == 64) {
        const Atoms own = firstOf(m_primals[i]);
        batch.insert(batch.end(), own.begin(), own.end());
      }
    }
    for (std::size_t i = 0; i < m_primals.size(); ++i) {
      const Atoms own = firstOf(m_primals[i]);
      const bool isData = !own.empty() && std::find(batch.begin(), batch.end(), own[0]) != batch.end();
      if (m_returned[first + i] && !isData) {
        m_parameters.insert(m_primals[i].node);
        m_gradients.emplace_back(m_primals[i], *m_returned[first + i]);
      }
    }
    for (const auto& [parameter, gradient] : m_gradients) {
      m_builder.update(nameOf(parameter) + "_update", parameter, gradient);
    }
    for (std::size_t i = 0; i < m_primals.size(); ++i) {
      if (m_returned[first + i] && !m_parameters.contains(m_primals[i].node)) {
        m_builder.update(nameOf(*m_returned[first + i]) + "_handed_back", m_primals[i], *m_returned[first + i]);
      }
    }
    handOn();
  }

  /// A result of the forward part has the state of its gradient: the graph goes on outside in the same way.
  void handOn() {
    std::vector<Tensor> results;
    for (const auto& result : m_forward) {
      if (result) {
        results.push_back(*result);
      }
    }
    for (const Tensor& tangent : m_tangents) {
      const auto own = std::find_if(results.begin(), results.end(), [&](const Tensor& result) {
        return m_builder.sizesOf(result) == m_builder.sizesOf(tangent);
      });
      if (own != results.end()) {
        m_builder.update(nameOf(*own) + "_handed_on", tangent, *own);
        results.erase(own);
      }
    }
  }

  [[nodiscard]] std::string nameOf(const Tensor& tensor) const { return m_builder.drafts()[tensor.node].node.name; }

  /// In a graph of both parts, what does not lead to a result of the forward part comes after it.
  void part() {
    std::vector<Draft>& drafts = m_builder.drafts();
    if (m_tangents.empty() || m_call->graph > 0 || m_returned.size() < m_primals.size()) {
      return;
    }
    m_forward.resize(m_returned.size() - m_primals.size());
    std::vector<bool> isForward(drafts.size(), false);
    for (const auto& result : m_forward) {
      if (result) {
        isForward[result->node] = true;
      }
    }
    for (std::size_t i = drafts.size(); i-- > 0;) {
      for (const int input : drafts[i].node.inputs) {
        isForward[input] = isForward[input] || isForward[i];
      }
      drafts[i].isBackward = drafts[i].isBackward || (!isForward[i] && drafts[i].node.op != Op::placeholder);
    }
  }

  /// What the backward part uses of the forward part stays until then.
  void hold() {
    std::vector<Draft>& drafts = m_builder.drafts();
    std::vector<bool> isUsed(drafts.size(), false);
    for (std::size_t i = drafts.size(); i-- > 0;) {
      const Draft& draft = drafts[i];
      for (const int input : draft.node.inputs) {
        const bool isLater = draft.isBackward || (draft.isView && isUsed[i]);
        isUsed[input] = isUsed[input] || (isLater && !drafts[input].isBackward && draft.node.op != Op::update);
      }
    }
    const bool isStep = !m_tangents.empty();
    for (std::size_t i = 0; i < drafts.size(); ++i) {
      training::Node& node = drafts[i].node;
      if (m_parameters.contains(static_cast<int>(i))) {
        node.held = m_options.stateBytes;
      } else if ((isStep ? isUsed[i] : node.op == Op::placeholder) && !drafts[i].isView) {
        node.held = node.bytes;
        node.isAgain = m_options.mayRecompute && node.op != Op::placeholder;
      }
    }
  }

  /// Names for people, and what was left out.
  void addUpdates(FxProblem& problem) const {
    for (const Tensor& primal : m_primals) {
      (m_parameters.contains(primal.node) ? problem.parameters : problem.inputs)
          .push_back(problem.problem.nodes[primal.node].name);
    }
    problem.notes = m_notes;
  }

  std::vector<Call> m_calls;
  const FxOptions& m_options;
  Builder m_builder;
  const Call* m_call = nullptr;
  fx::Values m_values;
  std::vector<Tensor> m_primals;
  std::vector<Tensor> m_tangents;
  std::vector<std::optional<Tensor>> m_returned;  ///< by the last graph; nothing = None
  std::vector<std::optional<Tensor>> m_forward;   ///< what the forward part returns
  const Call* m_returnLine = nullptr;
  std::vector<Tensor> m_outputs;
  std::set<int> m_parameters;
  std::vector<std::pair<Tensor, Tensor>> m_gradients;  ///< parameter and its gradient
  std::vector<std::string> m_notes;
};

}  // namespace

Result<FxProblem> readFxGraph(std::string_view text, const std::string& fileName, const FxOptions& options) {
  auto calls = fx::readCalls(text, fileName);
  if (!calls) {
    return calls.error();
  }
  return guarded([&] { return FxReader(*std::move(calls), fileName, options).run(); });
}

}  // namespace coppice::io
