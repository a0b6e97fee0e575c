// SPDX-License-Identifier: Apache-2.0
#include "training/strategies.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/checked.hpp"

namespace coppice::training {
namespace {

using std::int64_t;

bool has(const std::vector<Dim>& dims, Dim dim) {
  return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

/// What one axis does: the states of inputs and output on it.
struct AxisChoice {
  std::vector<Dim> inputs;
  Dim output = kReplicated;
  bool isDivided = false;
};

/// All indices of a node, those of its output first.
std::vector<Dim> indicesOf(const Problem& problem, const Node& node) {
  std::vector<Dim> indices = node.dims;
  for (const int input : node.inputs) {
    for (const Dim dim : problem.nodes[input].dims) {
      if (!has(indices, dim)) {
        indices.push_back(dim);
      }
    }
  }
  return indices;
}

std::vector<AxisChoice> choicesOf(const Problem& problem, const Node& node, std::size_t axis) {
  const std::size_t count = node.inputs.size();
  std::vector<AxisChoice> choices{{std::vector<Dim>(count, kReplicated), kReplicated, false}};
  const bool sums = node.op == Op::einsum || node.op == Op::reduction;
  const bool isLimited = !node.indices.empty();
  for (const Dim dim : isLimited ? node.indices : sums ? indicesOf(problem, node) : node.dims) {
    if (problem.mesh[axis].size == 1 || (!node.divides.empty() && !has(node.divides[axis], dim))) {
      continue;  // an axis of one device has nothing to divide
    }
    std::vector<Dim> names;
    for (const auto& [to, from] : node.renamed) {
      if (to == dim && (node.divides.empty() || has(node.divides[axis], from))) {
        names.push_back(from);
      }
    }
    const bool isRenamed = std::any_of(node.renamed.begin(), node.renamed.end(),
                                       [dim](const std::pair<Dim, Dim>& each) { return each.first == dim; });
    if (!isRenamed) {
      names.push_back(dim);
    }
    for (const Dim name : names) {
      AxisChoice choice{{}, has(node.dims, dim) ? dim : kPartial, true};
      for (const int input : node.inputs) {
        choice.inputs.push_back(has(problem.nodes[input].dims, name) ? name : kReplicated);
      }
      choices.push_back(std::move(choice));
    }
  }
  if (problem.mesh[axis].size == 1) {
    return choices;
  }
  if (!node.isAlwaysDivided.empty() && node.isAlwaysDivided[axis]) {
    choices.erase(choices.begin());
    return choices;
  }
  if (node.op == Op::elementwise && node.isLinear) {
    choices.push_back({std::vector<Dim>(count, kPartial), kPartial, false});
  } else if (sums && !isLimited) {
    for (std::size_t i = 0; i < count; ++i) {
      AxisChoice choice{std::vector<Dim>(count, kReplicated), kPartial, false};
      choice.inputs[i] = kPartial;
      choices.push_back(std::move(choice));
    }
  }
  return choices;
}

/// Whether the state is the fixed one, where there is one; an axis of one device has nothing to divide.
bool isAsFixed(const Problem& problem, const Node& node, const State& state) {
  for (std::size_t axis = 0; node.fixed && axis < state.size(); ++axis) {
    if (problem.mesh[axis].size > 1 && state[axis] != (*node.fixed)[axis]) {
      return false;
    }
  }
  return true;
}

Conversion conversionOf(Dim from, Dim to) {
  if (from == kPartial) {
    return to == kReplicated ? Conversion::allreduce : Conversion::reduceScatter;
  }
  return to == kReplicated ? Conversion::allgather : Conversion::alltoall;
}

}  // namespace

int64_t partsOf(const Problem& problem, const State& state) {
  int64_t parts = 1;
  for (std::size_t axis = 0; axis < state.size(); ++axis) {
    parts = state[axis] >= 0 ? checkedMul(parts, problem.mesh[axis].size) : parts;
  }
  return parts;
}

bool isValid(const Problem& problem, const State& state) {
  for (std::size_t axis = 0; axis < state.size(); ++axis) {
    if (state[axis] >= 0) {
      int64_t parts = 1;
      for (std::size_t other = 0; other < state.size(); ++other) {
        parts = state[other] == state[axis] ? checkedMul(parts, problem.mesh[other].size) : parts;
      }
      if (problem.dims[state[axis]].size % parts != 0) {
        return false;
      }
    }
  }
  return true;
}

Rational elementsOf(const Problem& problem, const std::vector<Dim>& dims) {
  Rational elements = 1;
  for (const Dim dim : dims) {
    elements *= Rational(problem.dims[dim].size);
  }
  return elements;
}

std::vector<Strategy> strategiesOf(const Problem& problem, int index) {
  const Node& node = problem.nodes[index];
  const std::size_t axes = problem.mesh.size();
  std::vector<std::vector<AxisChoice>> choices;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    choices.push_back(choicesOf(problem, node, axis));
    if (choices.back().empty()) {
      return {};
    }
  }
  std::vector<Strategy> strategies;
  std::set<std::vector<Dim>> seen;
  std::vector<Dim> key;
  std::vector<std::size_t> digits(axes, 0);
  for (bool isEnd = false; !isEnd;) {
    Strategy strategy{std::vector<State>(node.inputs.size(), State(axes)), State(axes), 1, false};
    for (std::size_t axis = 0; axis < axes; ++axis) {
      const AxisChoice& choice = choices[axis][digits[axis]];
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        strategy.inputs[i][axis] = choice.inputs[i];
      }
      strategy.output[axis] = choice.output;
      strategy.parts *= choice.isDivided ? problem.mesh[axis].size : 1;
    }
    const bool mayBe = isValid(problem, strategy.output) && isAsFixed(problem, node, strategy.output) &&
                       std::all_of(strategy.inputs.begin(), strategy.inputs.end(),
                                   [&](const State& state) { return isValid(problem, state); });
    key = strategy.output;
    for (const State& state : strategy.inputs) {
      key.insert(key.end(), state.begin(), state.end());
    }
    if (mayBe && seen.insert(key).second) {
      strategies.push_back(strategy);
      if (node.isAgain) {
        strategy.isDropped = true;
        strategies.push_back(std::move(strategy));
      }
    }
    std::size_t axis = 0;
    while (axis < axes && ++digits[axis] == choices[axis].size()) {
      digits[axis++] = 0;
    }
    isEnd = axis == axes;
  }
  return strategies;
}

namespace {

/// For each byte of the tensor: one axis changes.
Rational timeOfStep(const Problem& problem, const State& state, std::size_t axis, Dim to) {
  if (state[axis] == kReplicated) {
    return 0;
  }
  int64_t parts = 1;
  for (std::size_t other = 0; other < state.size(); ++other) {
    parts = other != axis && state[other] >= 0 ? checkedMul(parts, problem.mesh[other].size) : parts;
  }
  return Rational(1) /
         (problem.mesh[axis].rates[static_cast<std::size_t>(conversionOf(state[axis], to))] * Rational(parts));
}

/// Calls use(axes in order, time) for each order in which axes may change one after the other, with the time for each
/// byte of the tensor.
template <typename Use>
void forOrders(const Problem& problem, const State& from, const State& to, const Use& use) {
  std::vector<std::size_t> order;
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    if (from[axis] != to[axis]) {
      if (from[axis] >= 0 && to[axis] == kPartial) {
        return;
      }
      order.push_back(axis);
    }
  }
  State state;
  do {
    state = from;
    Rational time;
    bool mayBe = true;
    for (std::size_t i = 0; i < order.size() && mayBe; ++i) {
      time += timeOfStep(problem, state, order[i], to[order[i]]);
      state[order[i]] = to[order[i]];
      mayBe = isValid(problem, state);
    }
    if (mayBe) {
      use(order, time);
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

}  // namespace

std::optional<std::vector<ConversionStep>> conversionSteps(const Problem& problem, int index, const State& from,
                                                           const State& to) {
  const Node& node = problem.nodes[index];
  const Rational bytes = elementsOf(problem, node.dims) * node.bytes;
  std::optional<Rational> least;
  std::vector<std::size_t> cheapest;
  forOrders(problem, from, to, [&](const std::vector<std::size_t>& order, const Rational& time) {
    if (!least || time < *least) {
      least = time;
      cheapest = order;
    }
  });
  if (!least) {
    return std::nullopt;
  }
  std::vector<ConversionStep> steps;
  State state = from;
  for (const std::size_t axis : cheapest) {
    if (state[axis] != kReplicated) {
      steps.push_back({static_cast<int>(axis), conversionOf(state[axis], to[axis]),
                       bytes * timeOfStep(problem, state, axis, to[axis])});
    }
    state[axis] = to[axis];
  }
  return steps;
}

std::optional<Rational> conversionTime(const Problem& problem, int index, const State& from, const State& to) {
  const auto time = conversionTimeOfByte(problem, from, to);
  const Node& node = problem.nodes[index];
  return time ? std::optional(*time * elementsOf(problem, node.dims) * node.bytes) : std::nullopt;
}

std::optional<Rational> conversionTimeOfByte(const Problem& problem, const State& from, const State& to) {
  std::optional<Rational> least;
  forOrders(problem, from, to, [&](const std::vector<std::size_t>&, const Rational& time) {
    least = least ? std::min(*least, time) : time;
  });
  return least;
}

Cost ownCost(const Problem& problem, int index, const Strategy& strategy) {
  const Node& node = problem.nodes[index];
  Cost cost;
  if (node.op == Op::einsum) {
    const Rational operations = Rational(2) * elementsOf(problem, indicesOf(problem, node)) * node.work;
    cost.compute =
        operations / Rational(strategy.parts) / problem.gflops * node.times * Rational(strategy.isDropped ? 2 : 1);
  }
  if (!node.sent.isZero()) {
    cost.communication = node.sent / Rational(partsOf(problem, strategy.output));
  }
  if (!strategy.isDropped && !node.held.isZero()) {
    cost.memory = elementsOf(problem, node.dims) * node.held / Rational(partsOf(problem, strategy.output));
  }
  return cost;
}

}  // namespace coppice::training
