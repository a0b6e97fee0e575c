// SPDX-License-Identifier: Apache-2.0
#include "training/problem.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "training/strategies.hpp"

namespace coppice::training {
namespace {

constexpr std::array<std::string_view, 5> kOpNames{"placeholder", "einsum", "elementwise", "reduction", "update"};

std::optional<std::string> faultOfNode(const Problem& problem, std::size_t index) {
  const Node& node = problem.nodes[index];
  for (const int input : node.inputs) {
    if (input < 0 || input >= static_cast<int>(index)) {
      return "has an input that is not an earlier node";
    }
  }
  for (std::size_t i = 0; i < node.dims.size(); ++i) {
    if (node.dims[i] < 0 || node.dims[i] >= static_cast<Dim>(problem.dims.size())) {
      return "has a dimension that the problem does not have";
    }
    if (std::find(node.dims.begin() + static_cast<std::ptrdiff_t>(i) + 1, node.dims.end(), node.dims[i]) !=
        node.dims.end()) {
      return "has a dimension twice";
    }
  }
  const auto inputHas = [&](Dim dim) {
    return std::any_of(node.inputs.begin(), node.inputs.end(), [&](int input) {
      const std::vector<Dim>& dims = problem.nodes[input].dims;
      return std::find(dims.begin(), dims.end(), dim) != dims.end();
    });
  };
  if (node.op == Op::placeholder && !node.inputs.empty()) {
    return "is a placeholder and has inputs";
  }
  if (node.op != Op::placeholder && node.inputs.empty()) {
    return "has no inputs";
  }
  if (node.op == Op::reduction && node.inputs.size() != 1) {
    return "is a reduction and does not have one input";
  }
  if ((node.op == Op::einsum || node.op == Op::reduction) &&
      !std::all_of(node.dims.begin(), node.dims.end(), inputHas)) {
    return "has a dimension that none of its inputs has";
  }
  if (node.op == Op::update) {
    const auto sorted = [&](const std::vector<Dim>& dims) {
      std::vector<Dim> copy(dims);
      std::sort(copy.begin(), copy.end());
      return copy;
    };
    if (node.inputs.size() != 2) {
      return "is an update and does not have a gradient and a parameter as inputs";
    }
    if (sorted(problem.nodes[node.inputs[0]].dims) != sorted(node.dims) ||
        sorted(problem.nodes[node.inputs[1]].dims) != sorted(node.dims)) {
      return "updates a parameter whose dimensions are not those of its gradient";
    }
  }
  if (!std::all_of(node.indices.begin(), node.indices.end(), [&](Dim dim) {
        return std::find(node.dims.begin(), node.dims.end(), dim) != node.dims.end() || inputHas(dim);
      })) {
    return "may divide an index that it does not have";
  }
  if (node.bytes < Rational(0) || node.held < Rational(0) || node.work < Rational(0) || node.sent < Rational(0) ||
      !node.times.isPositive()) {
    return "has a negative number of bytes, or is computed less than once";
  }
  if ((!node.divides.empty() && node.divides.size() != problem.mesh.size()) ||
      (!node.isAlwaysDivided.empty() && node.isAlwaysDivided.size() != problem.mesh.size())) {
    return "does not say for each axis what it may divide";
  }
  if (node.fixed) {
    if (node.fixed->size() != problem.mesh.size()) {
      return "has a fixed state with " + std::to_string(node.fixed->size()) + " entries on a mesh of " +
             std::to_string(problem.mesh.size()) + " axes";
    }
    for (const Dim dim : *node.fixed) {
      if (dim >= 0 && std::find(node.dims.begin(), node.dims.end(), dim) == node.dims.end()) {
        return "has a fixed state with a dimension that it does not have";
      }
    }
    if (!isValid(problem, *node.fixed)) {
      return "has a fixed state that does not divide its sizes";
    }
  }
  return std::nullopt;
}

}  // namespace

std::string_view toString(Op op) {
  return kOpNames.at(static_cast<std::size_t>(op));
}

std::optional<Op> parseOp(std::string_view text) {
  const auto found = std::find(kOpNames.begin(), kOpNames.end(), text);
  return found == kOpNames.end() ? std::nullopt : std::optional(static_cast<Op>(found - kOpNames.begin()));
}

std::optional<Error> faultOf(const Problem& problem) {
  constexpr std::size_t kMaxAxes = 6;
  if (problem.nodes.empty() || problem.mesh.empty() || problem.mesh.size() > kMaxAxes) {
    return Error{ErrorCode::badInput, "a problem has at least one node, and a mesh of 1 to 6 axes",
                 "add what is missing"};
  }
  for (const Dimension& dim : problem.dims) {
    if (dim.size < 1) {
      return Error{ErrorCode::badInput, "dimension " + inQuotes(dim.name) + " has size " + std::to_string(dim.size),
                   "use a whole number from 1 on"};
    }
  }
  for (std::size_t axis = 0; axis < problem.mesh.size(); ++axis) {
    const auto& rates = problem.mesh[axis].rates;
    if (problem.mesh[axis].size < 1 ||
        !std::all_of(rates.begin(), rates.end(), [](const Rational& rate) { return rate.isPositive(); })) {
      return Error{ErrorCode::badInput,
                   "axis " + std::to_string(axis) + " has a size below 1, or a rate that is not above 0",
                   "give its size and the GB/s of allgather, reduce_scatter, allreduce and alltoall"};
    }
  }
  if (!problem.gflops.isPositive()) {
    return Error{ErrorCode::badInput, "the rate of a device is not above 0", "give gflops"};
  }
  for (std::size_t i = 0; i < problem.nodes.size(); ++i) {
    if (auto fault = faultOfNode(problem, i)) {
      return Error{ErrorCode::badInput, "node " + inQuotes(problem.nodes[i].name) + " " + *fault, "correct the graph"};
    }
  }
  return std::nullopt;
}

}  // namespace coppice::training
