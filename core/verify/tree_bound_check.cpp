// SPDX-License-Identifier: Apache-2.0
#include "verify/tree_bound_check.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/checked.hpp"
#include "base/counted.hpp"
#include "base/disjoint_sets.hpp"
#include "base/rows.hpp"
#include "verify/arc_index.hpp"
#include "verify/fault_log.hpp"

namespace coppice::verify {
namespace {

using fabric::NodeIndex;
using fabric::NodeKind;
using schedule::Direction;
using schedule::NodeMoves;
using schedule::TreeBoundProof;
using schedule::WeightedCut;

class TreeBoundCheck {
public:
  TreeBoundCheck(const fabric::Fabric& fabric, const TreeBoundProof& proof, const TreeBoundGoal& goal,
                 const Progress& progress)
      : m_fabric(fabric),
        m_proof(proof),
        m_goal(goal),
        m_progress(progress),
        m_index(fabric),
        m_arcsInto(numbersByRow(fabric.nodes().size(), fabric.arcs(), &fabric::Arc::head)),
        m_firstArcFrom(rowStarts(fabric.nodes().size(), fabric.arcs(), &fabric::Arc::tail)),
        m_nodeOrbits(fabric.nodes().size()),
        m_arcOrbits(fabric.arcs().size()),
        m_image(fabric.nodes().size()) {
    std::iota(m_image.begin(), m_image.end(), 0);
  }

  TreeBoundVerdict run() {
    if (checkSizes() && checkSymmetries() && checkCuts()) {
      findOrbits();
      checkPrices();
      for (const Direction direction : {Direction::out, Direction::in}) {
        if (hasTrees(direction)) {
          checkPotentials(direction);
        }
      }
      if (m_log.faultCount() == 0) {
        countCrossings();
        checkLinks();
        checkGpus();
        checkBound();
      }
    }
    TreeBoundVerdict verdict;
    verdict.ok = m_log.faultCount() == 0;
    verdict.findings = m_log.take();
    return verdict;
  }

private:
  /// What the cuts of one direction put on an orbit of arcs: weight times arcs that cross, summed.
  using Crossings = std::vector<Rational>;

  [[nodiscard]] bool hasTrees(Direction direction) const {
    return direction == Direction::out ? m_goal.collective != Collective::reduceScatter
                                       : m_goal.collective != Collective::allgather;
  }
  [[nodiscard]] const std::vector<Rational>& potentials(Direction direction) const {
    return direction == Direction::out ? m_proof.outPotential : m_proof.inPotential;
  }
  [[nodiscard]] Rational potential(Direction direction, NodeIndex node) const {
    const std::vector<Rational>& all = potentials(direction);
    return all.empty() ? Rational(0) : all[node];
  }
  [[nodiscard]] static std::string nameOf(Direction direction) {
    return direction == Direction::out ? "out-potential" : "in-potential";
  }
  [[nodiscard]] ElementRef linkElement(std::size_t arc) const {
    const fabric::Arc& at = m_fabric.arcs()[arc];
    return ElementPart{RefKind::link, -1, m_fabric.nodes()[at.tail].id, m_fabric.nodes()[at.head].id};
  }
  [[nodiscard]] ElementRef nodeElement(std::size_t node) const { return {RefKind::node, m_fabric.nodes()[node].id}; }
  [[nodiscard]] std::string linkName(std::size_t arc) const {
    const fabric::Arc& at = m_fabric.arcs()[arc];
    return nodeName(m_fabric, at.tail) + " -> " + nodeName(m_fabric, at.head);
  }
  [[nodiscard]] static std::string overImages(std::int64_t size) {
    return size > 1 ? ", averaged over its " + std::to_string(size) + " images," : "";
  }

  bool checkSizes() {
    const std::size_t arcs = m_fabric.arcs().size();
    if (m_proof.linkPrice.size() != arcs) {
      m_log.fault("there are " + std::to_string(m_proof.linkPrice.size()) + " prices for " +
                      counted(static_cast<std::int64_t>(arcs), "link"),
                  {RefKind::field, "linkPrice"});
    }
    for (const Direction direction : {Direction::out, Direction::in}) {
      const std::size_t size = potentials(direction).size();
      if (size != 0 && size != m_fabric.nodes().size()) {
        m_log.fault("there are " + std::to_string(size) + " potentials for " + counted(m_fabric.nodeCount(), "node"),
                    {RefKind::field, direction == Direction::out ? "outPotential" : "inPotential"});
      }
    }
    return m_log.faultCount() == 0;
  }

  bool checkSymmetries() {
    for (std::size_t i = 0; i < m_proof.symmetries.size(); ++i) {
      throwIfCancelled(m_progress);
      const NodeMoves& moves = m_proof.symmetries[i];
      auto wrong = permutationFault(moves);
      if (!wrong) {
        for (const schedule::NodeMove& move : moves) {
          m_image[move.from] = move.to;
        }
        wrong = symmetryFault(moves);
        for (const schedule::NodeMove& move : moves) {
          m_image[move.from] = move.from;
        }
      }
      if (wrong) {
        m_log.fault(*wrong, {RefKind::symmetry, i});
      }
    }
    return m_log.faultCount() == 0;
  }

  [[nodiscard]] std::optional<std::string> permutationFault(const NodeMoves& moves) const {
    std::vector<NodeIndex> from;
    std::vector<NodeIndex> to;
    for (const schedule::NodeMove& move : moves) {
      for (const NodeIndex node : {move.from, move.to}) {
        if (node < 0 || node >= m_fabric.nodeCount()) {
          return "moves node " + std::to_string(node) + ", which is not in the fabric";
        }
      }
      from.push_back(move.from);
      to.push_back(move.to);
    }
    std::sort(from.begin(), from.end());
    std::sort(to.begin(), to.end());
    if (const auto twice = std::adjacent_find(from.begin(), from.end()); twice != from.end()) {
      return "moves " + nodeName(m_fabric, *twice) + " twice";
    }
    if (const auto twice = std::adjacent_find(to.begin(), to.end()); twice != to.end()) {
      return "moves two nodes to " + nodeName(m_fabric, *twice);
    }
    if (from != to) {
      return "does not permute the nodes that it moves";
    }
    return std::nullopt;
  }

  /// With the moves in m_image. Joins each arc to its image where it finds one.
  [[nodiscard]] std::optional<std::string> symmetryFault(const NodeMoves& moves) {
    for (const schedule::NodeMove& move : moves) {
      const fabric::Node& from = m_fabric.nodes()[move.from];
      const fabric::Node& to = m_fabric.nodes()[move.to];
      const bool canDoTheSame =
          m_goal.plainSwitches || (from.multicast == to.multicast && from.aggregation == to.aggregation);
      if (from.kind != to.kind || !canDoTheSame) {
        return "takes " + nodeName(m_fabric, move.from) + " to " + nodeName(m_fabric, move.to) +
               ", which is not its equal";
      }
      m_nodeOrbits.join(move.from, move.to);
      for (std::int32_t arc = m_firstArcFrom[move.from]; arc < m_firstArcFrom[static_cast<std::size_t>(move.from) + 1];
           ++arc) {
        if (auto wrong = joinToImage(arc)) {
          return wrong;
        }
      }
      for (const std::int32_t arc : m_arcsInto[move.from]) {
        if (auto wrong = joinToImage(arc)) {
          return wrong;
        }
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::string> joinToImage(std::int32_t arc) {
    const fabric::Arc& at = m_fabric.arcs()[arc];
    const NodeIndex tail = m_image[at.tail];
    const NodeIndex head = m_image[at.head];
    const std::int32_t image = m_index.find(tail, head);
    if (image == ArcIndex::kNone || m_fabric.arcs()[image].bandwidth != at.bandwidth) {
      return "takes the link " + linkName(arc) + " to " + nodeName(m_fabric, tail) + " -> " + nodeName(m_fabric, head) +
             ", where there is no equal link";
    }
    m_arcOrbits.join(arc, image);
    return std::nullopt;
  }

  bool checkCuts() {
    for (std::size_t i = 0; i < m_proof.cuts.size(); ++i) {
      if (auto wrong = cutFault(m_proof.cuts[i])) {
        m_log.fault(*std::move(wrong), {RefKind::cut, i});
      }
    }
    return m_log.faultCount() == 0;
  }

  [[nodiscard]] std::optional<std::string> cutFault(const WeightedCut& cut) const {
    NodeIndex last = -1;
    bool holdsGpu = false;
    for (const NodeIndex node : cut.nodes) {
      if (node < 0 || node >= m_fabric.nodeCount()) {
        return "holds node " + std::to_string(node) + ", which is not in the fabric";
      }
      if (node <= last) {
        return "its nodes are not in ascending order";
      }
      last = node;
      holdsGpu = holdsGpu || m_fabric.nodes()[node].kind == NodeKind::gpu;
    }
    if (!holdsGpu) {
      return "holds no GPU, so no tree has to cross it";
    }
    if (!cut.weight.isPositive()) {
      return "its weight is " + cut.weight.toString() + "; it must be positive";
    }
    if (!hasTrees(cut.direction)) {
      return "is a cut of " + std::string(cut.direction == Direction::out ? "out-trees" : "in-trees") +
             ", which this collective does not have";
    }
    return std::nullopt;
  }

  /// Numbers of members, by representative.
  void findOrbits() {
    m_nodesOfOrbit.assign(m_fabric.nodes().size(), 0);
    m_orbitOfNode.resize(m_fabric.nodes().size());
    for (std::size_t node = 0; node < m_orbitOfNode.size(); ++node) {
      m_orbitOfNode[node] = m_nodeOrbits.find(static_cast<int>(node));
      ++m_nodesOfOrbit[m_orbitOfNode[node]];
    }
    m_arcsOfOrbit.assign(m_fabric.arcs().size(), 0);
    m_orbitOfArc.resize(m_fabric.arcs().size());
    for (std::size_t arc = 0; arc < m_orbitOfArc.size(); ++arc) {
      m_orbitOfArc[arc] = m_arcOrbits.find(static_cast<int>(arc));
      ++m_arcsOfOrbit[m_orbitOfArc[arc]];
    }
  }

  void checkPrices() {
    for (std::size_t arc = 0; arc < m_orbitOfArc.size(); ++arc) {
      const Rational& price = m_proof.linkPrice[arc];
      const auto first = static_cast<std::size_t>(m_orbitOfArc[arc]);
      if (price < Rational(0)) {
        m_log.fault("its price is " + price.toString() + "; it must be 0 or more", linkElement(arc));
      } else if (price != m_proof.linkPrice[first]) {
        m_log.fault("its price is " + price.toString() + ", that of its image " + linkName(first) + " is " +
                        m_proof.linkPrice[first].toString(),
                    linkElement(arc), "give links that a symmetry exchanges the same price");
      }
    }
  }

  void checkPotentials(Direction direction) {
    const auto nodes = m_fabric.nodes();
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      const Rational value = potential(direction, static_cast<NodeIndex>(node));
      const Rational first = potential(direction, m_orbitOfNode[node]);
      const bool isCapable =
          !m_goal.plainSwitches && (direction == Direction::out ? nodes[node].multicast : nodes[node].aggregation);
      const std::string text = "its " + nameOf(direction) + " is " + value.toString();
      if (nodes[node].kind == NodeKind::gpu && !value.isZero()) {
        m_log.fault(text + "; that of a GPU must be 0", nodeElement(node));
      } else if (nodes[node].kind != NodeKind::gpu && isCapable && value < Rational(0)) {
        m_log.fault(text + "; where a switch can " + (direction == Direction::out ? "multicast" : "aggregate") +
                        " it must be 0 or more",
                    nodeElement(node));
      } else if (value != first) {
        m_log.fault(text + ", that of its image " + nodeName(m_fabric, m_orbitOfNode[node]) + " is " + first.toString(),
                    nodeElement(node), "give nodes that a symmetry exchanges the same potential");
      }
    }
  }

  /// What enters (out-trees) and leaves (in-trees) each cut, by orbit; and the GPUs that it holds.
  void countCrossings() {
    m_crossings[0].assign(m_orbitOfArc.size(), Rational(0));
    m_crossings[1].assign(m_orbitOfArc.size(), Rational(0));
    m_weightWith.assign(m_orbitOfNode.size(), Rational(0));
    std::vector<char> isInside(m_orbitOfNode.size(), 0);
    std::vector<std::int64_t> arcCount(m_orbitOfArc.size(), 0);
    std::vector<std::int64_t> gpuCount(m_orbitOfNode.size(), 0);
    std::vector<int> arcOrbits;
    std::vector<int> gpuOrbits;
    for (const WeightedCut& cut : m_proof.cuts) {
      throwIfCancelled(m_progress);
      m_totalWeight += cut.weight;
      for (const NodeIndex node : cut.nodes) {
        isInside[node] = 1;
      }
      const auto countArc = [&](std::int32_t arc, NodeIndex other) {
        const int orbit = m_orbitOfArc[arc];
        if (isInside[other] == 0 && arcCount[orbit]++ == 0) {
          arcOrbits.push_back(orbit);
        }
      };
      for (const NodeIndex node : cut.nodes) {
        const int orbit = m_orbitOfNode[node];
        if (m_fabric.nodes()[node].kind == NodeKind::gpu && gpuCount[orbit]++ == 0) {
          gpuOrbits.push_back(orbit);
        }
        if (cut.direction == Direction::out) {
          for (const std::int32_t arc : m_arcsInto[node]) {
            countArc(arc, m_fabric.arcs()[arc].tail);
          }
        } else {
          for (std::int32_t arc = m_firstArcFrom[node]; arc < m_firstArcFrom[static_cast<std::size_t>(node) + 1];
               ++arc) {
            countArc(arc, m_fabric.arcs()[arc].head);
          }
        }
      }
      Crossings& crossings = m_crossings[cut.direction == Direction::out ? 0 : 1];
      for (const int orbit : arcOrbits) {
        crossings[orbit] += cut.weight * Rational(std::exchange(arcCount[orbit], 0));
      }
      for (const int orbit : gpuOrbits) {
        m_weightWith[orbit] += cut.weight * Rational(std::exchange(gpuCount[orbit], 0));
      }
      for (const NodeIndex node : cut.nodes) {
        isInside[node] = 0;
      }
      arcOrbits.clear();
      gpuOrbits.clear();
    }
  }

  /// |O| y >= weight * crossings + |O| (p(tail) - p(head)) for out-trees, |O| (q(head) - q(tail)) for in-trees.
  void checkLinks() {
    for (const Direction direction : {Direction::out, Direction::in}) {
      if (!hasTrees(direction)) {
        continue;
      }
      const Crossings& crossings = m_crossings[direction == Direction::out ? 0 : 1];
      for (std::size_t arc = 0; arc < m_orbitOfArc.size(); ++arc) {
        if (static_cast<std::size_t>(m_orbitOfArc[arc]) != arc) {
          continue;
        }
        const fabric::Arc& at = m_fabric.arcs()[arc];
        const Rational down = potential(direction, at.tail) - potential(direction, at.head);
        const Rational gain = direction == Direction::out ? down : -down;
        const Rational& price = m_proof.linkPrice[arc];
        const Rational size(m_arcsOfOrbit[arc]);
        if ((price - gain) * size < crossings[arc]) {
          m_log.fault("its price is " + price.toString() + "; the cuts of " +
                          (direction == Direction::out ? "out-trees that it enters" : "in-trees that it leaves") +
                          overImages(m_arcsOfOrbit[arc]) + (gain.isZero() ? "" : " with its potentials") +
                          " ask for at least " + (crossings[arc] / size + gain).toString(),
                      linkElement(arc));
        }
      }
    }
  }

  void checkGpus() {
    Rational weighted;
    Rational total;
    for (const NodeIndex gpu : m_fabric.gpus()) {
      const int orbit = m_orbitOfNode[gpu];
      const Rational without = m_totalWeight - m_weightWith[orbit] / Rational(m_nodesOfOrbit[orbit]);
      if (m_goal.collective != Collective::allreduce) {
        const Rational amount(m_goal.demand.empty() ? 1 : m_goal.demand[m_fabric.nodes()[gpu].rank]);
        weighted += without * amount;
        total += amount;
      } else if (orbit == gpu && without < Rational(1)) {
        m_log.fault("the cuts without it" + overImages(m_nodesOfOrbit[orbit]) + " weigh " + without.toString() +
                        "; they must weigh at least 1",
                    nodeElement(gpu));
      }
    }
    if (m_goal.collective != Collective::allreduce && weighted < total) {
      m_log.fault("the cuts without a GPU weigh " + (weighted / total).toString() +
                      ", averaged by the data of the GPUs; they must weigh at least 1",
                  {RefKind::field, "cuts"});
    }
  }

  void checkBound() {
    Rational sum;
    for (std::size_t arc = 0; arc < m_orbitOfArc.size(); ++arc) {
      if (static_cast<std::size_t>(m_orbitOfArc[arc]) == arc) {
        sum +=
            m_proof.linkPrice[arc] * m_fabric.arcs()[arc].bandwidth.gigabytesPerSecond() * Rational(m_arcsOfOrbit[arc]);
      }
    }
    if (m_proof.bound != Bandwidth(sum)) {
      m_log.fault("states " + toFraction(m_proof.bound) + " GB/s; the prices of the links give " + sum.toString(),
                  {RefKind::field, "bound"});
    }
  }

  const fabric::Fabric& m_fabric;
  const TreeBoundProof& m_proof;
  const TreeBoundGoal& m_goal;
  const Progress& m_progress;
  const ArcIndex m_index;
  const Rows<std::int32_t> m_arcsInto;             ///< by node
  const std::vector<std::int32_t> m_firstArcFrom;  ///< by node; arcs come by tail
  FaultLog m_log;

  DisjointSets m_nodeOrbits;
  DisjointSets m_arcOrbits;
  std::vector<NodeIndex> m_image;  ///< by node, of the symmetry that is checked
  std::vector<int> m_orbitOfNode;  ///< by node: the first of its orbit
  std::vector<int> m_orbitOfArc;
  std::vector<std::int64_t> m_nodesOfOrbit;  ///< by first node
  std::vector<std::int64_t> m_arcsOfOrbit;

  std::array<Crossings, 2> m_crossings;  ///< of out-trees, of in-trees, by first arc
  Rational m_totalWeight;                ///< of all cuts
  std::vector<Rational> m_weightWith;    ///< by first node of an orbit of GPUs: weight times members in the cut, summed
};

Result<TreeBoundVerdict> refuseGoal(std::string text) {
  return Error{ErrorCode::badUsage, std::move(text)};
}

}  // namespace

Result<TreeBoundVerdict> checkTreeBound(const fabric::Fabric& fabric, const TreeBoundProof& proof,
                                        const TreeBoundGoal& goal, const Progress& progress) {
  if (goal.collective != Collective::allreduce && goal.collective != Collective::allgather &&
      goal.collective != Collective::reduceScatter) {
    return refuseGoal("a proof by trees bounds allreduce, allgather and reduce_scatter");
  }
  if (goal.collective != Collective::allreduce && !goal.demand.empty()) {
    const bool isNegative = std::any_of(goal.demand.begin(), goal.demand.end(), [](auto amount) { return amount < 0; });
    const bool isZero = std::all_of(goal.demand.begin(), goal.demand.end(), [](auto amount) { return amount == 0; });
    if (goal.demand.size() != static_cast<std::size_t>(fabric.gpuCount()) || isNegative || isZero) {
      return refuseGoal("a proof by trees needs the amount of data of each rank, 0 or more, and not 0 for all");
    }
  }
  try {
    return TreeBoundCheck(fabric, proof, goal, progress).run();
  } catch (const OverflowError&) {
    return Error{ErrorCode::overflow, "the proof of the bound leaves the 64-bit range"};
  } catch (const CancelledError&) {
    return Error{ErrorCode::cancelled, "cancelled"};
  }
}

}  // namespace coppice::verify
