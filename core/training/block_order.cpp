// SPDX-License-Identifier: Apache-2.0
#include "training/block_order.hpp"

#include <algorithm>

namespace coppice::training {
namespace {

class Orderer {
public:
  Orderer(const Problem& problem, const StepPlan& plan)
      : m_problem(problem), m_strategies(plan.block.strategies), m_roles(plan.priced.roles()) {}

  BlockOrder run() {
    for (const Node& node : m_problem.nodes) {
      m_order.names.push_back(node.name);
    }
    m_order.in = nodeNamed("x");
    m_order.out = nodeNamed("zx");
    m_order.gradientIn = nodeNamed("dz");
    m_order.gradientOut = nodeNamed("dxz");
    m_order.sent = ownCost(m_problem, m_order.in, m_strategies[m_order.in]).communication;
    findWeights();
    const auto count = static_cast<int>(m_problem.nodes.size());
    for (int node = 0; node < m_order.gradientIn; ++node) {
      add(node, m_order.forward);
    }
    for (int node = 0; node < m_order.gradientIn; ++node) {
      if (m_strategies[node].isDropped) {
        add(node, m_order.backward);
      }
    }
    for (int node = m_order.gradientIn; node < count; ++node) {
      add(node, m_order.backward);
    }
    return std::move(m_order);
  }

private:
  [[nodiscard]] int nodeNamed(const std::string& name) const {
    return static_cast<int>(std::find(m_order.names.begin(), m_order.names.end(), name) - m_order.names.begin());
  }

  /// Parameters are the placeholders that neither enter the block nor its backward pass.
  void findWeights() {
    for (std::size_t i = 0; i < m_problem.nodes.size(); ++i) {
      const Node& node = m_problem.nodes[i];
      const auto index = static_cast<int>(i);
      const bool isStored = node.op == Op::placeholder && index != m_order.in && index != m_order.gradientIn;
      const bool isUsed = node.op == Op::elementwise && node.inputs.size() == 1 && m_isWeight[node.inputs[0]];
      m_isWeight.push_back(isStored || isUsed);
      m_isSeen.push_back(false);
    }
  }

  [[nodiscard]] std::vector<Move> movesOf(int consumer, std::size_t input) const {
    const int producer = m_problem.nodes[consumer].inputs[input];
    const auto steps =
        conversionSteps(m_problem, producer, m_strategies[producer].output, m_strategies[consumer].inputs[input]);
    std::vector<Move> moves;
    for (const ConversionStep& step : steps.value_or(std::vector<ConversionStep>())) {
      const Rational& rate = m_problem.mesh[step.axis].rates[static_cast<std::size_t>(step.conversion)];
      moves.push_back({static_cast<int>(m_roles[step.axis]), step.conversion, step.time, step.time * rate});
    }
    return moves;
  }

  void add(int index, std::vector<OrderedOperation>& list) {
    const Node& node = m_problem.nodes[index];
    if (node.op == Op::placeholder || m_isWeight[index] || addReduction(index)) {
      return;
    }
    const Rational runs = node.times * Rational(m_strategies[index].isDropped ? 2 : 1);
    OrderedOperation operation{index, ownCost(m_problem, index, m_strategies[index]).compute / runs};
    for (std::size_t input = 0; input < node.inputs.size(); ++input) {
      const int producer = node.inputs[input];
      if (node.op == Op::update && input == 1) {
        continue;  // it is in that state
      }
      std::vector<Move> moves = movesOf(index, input);
      if (!m_isWeight[producer]) {
        operation.inputs.push_back({producer, std::move(moves)});
        continue;
      }
      operation.gathers.insert(operation.gathers.end(), moves.begin(), moves.end());
      if (m_problem.nodes[producer].op == Op::elementwise && !m_isSeen[producer]) {
        m_isSeen[producer] = true;
        moves = movesOf(producer, 0);
        operation.firstGathers.insert(operation.firstGathers.end(), moves.begin(), moves.end());
      }
    }
    list.push_back(std::move(operation));
  }

  /// The sum of a gradient, and where it meets its parameter: no operation of a device waits for them.
  bool addReduction(int index) {
    const Node& node = m_problem.nodes[index];
    const bool isUpdate = node.op == Op::update && m_isWeight[node.inputs[1]];
    if (!isUpdate && !isSum(index)) {
      return false;
    }
    const std::vector<Move> moves = movesOf(index, 0);
    const int made = isUpdate && isSum(node.inputs[0]) ? m_problem.nodes[node.inputs[0]].inputs[0] : node.inputs[0];
    const auto found = std::find_if(m_order.backward.begin(), m_order.backward.end(),
                                    [made](const OrderedOperation& each) { return each.node == made; });
    std::vector<Move>& to = isUpdate ? found->lastReductions : found->reductions;
    to.insert(to.end(), moves.begin(), moves.end());
    return true;
  }

  /// An elementwise node that only updates of weights take.
  [[nodiscard]] bool isSum(int index) const {
    if (m_problem.nodes[index].op != Op::elementwise) {
      return false;
    }
    bool isTaken = false;
    for (const Node& node : m_problem.nodes) {
      if (std::find(node.inputs.begin(), node.inputs.end(), index) != node.inputs.end()) {
        if (node.op != Op::update || !m_isWeight[node.inputs[1]]) {
          return false;
        }
        isTaken = true;
      }
    }
    return isTaken;
  }

  const Problem& m_problem;
  const std::vector<Strategy>& m_strategies;
  std::vector<Role> m_roles;
  BlockOrder m_order;
  std::vector<bool> m_isWeight;
  std::vector<bool> m_isSeen;  ///< weights that the operations use: their conversion from what is stored has its place
};

}  // namespace

BlockOrder orderOf(const Problem& problem, const StepPlan& plan) {
  return Orderer(problem, plan).run();
}

}  // namespace coppice::training
