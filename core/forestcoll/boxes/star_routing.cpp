// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/boxes/star_routing.hpp"

#include <algorithm>
#include <limits>

#include "base/checked.hpp"
#include "forestcoll/path_recovery.hpp"

namespace coppice::forestcoll {
namespace {

using std::int64_t;

constexpr int kNoRations = 0;
constexpr int kNone = std::numeric_limits<int>::max();

/// Which of their outgoing arcs the senders take.
enum class Choice {
  even,      ///< all equally full, as far as that suffices: trees stay low where a sender stands for a box
  first,     ///< the first with room
  mostLeft,  ///< the ones with the most left, and another sender chooses first each time: slower, and finds routes
             ///< where parallel networks have unequal links
};

class DemandRouting {
public:
  DemandRouting(const Network& network, const std::vector<TreeArc>& capacities, const ReceiverDemand& demand,
                Choice choice)
      : m_network(network),
        m_arcs(capacities),
        m_demand(demand),
        m_choice(choice),
        m_left(capacities.size()),
        m_flow(capacities.size(), 0),
        m_quota(capacities.size(), 0),
        m_into(static_cast<std::size_t>(network.nodeCount)),
        m_fromSwitches(static_cast<std::size_t>(network.nodeCount)),
        m_outOf(static_cast<std::size_t>(network.nodeCount)),
        m_allOut(static_cast<std::size_t>(network.nodeCount), 0),
        m_level(static_cast<std::size_t>(network.nodeCount), -1),
        m_toSend(static_cast<std::size_t>(network.nodeCount), 0),
        m_toCome(static_cast<std::size_t>(network.nodeCount), 0),
        m_next(static_cast<std::size_t>(network.nodeCount), 0),
        m_onPath(static_cast<std::size_t>(network.nodeCount), -1),
        m_joints(static_cast<std::size_t>(network.nodeCount)) {
    for (std::size_t i = 0; i < capacities.size(); ++i) {
      m_left[i] = capacities[i].capacity;
      m_into[capacities[i].head].push_back(static_cast<int>(i));
      if (!isTerminal(capacities[i].tail)) {
        m_fromSwitches[capacities[i].head].push_back(static_cast<int>(i));
      }
      if (!isTerminal(capacities[i].head)) {
        m_outOf[capacities[i].tail].push_back(static_cast<int>(i));
      }
      m_allOut[capacities[i].tail] += capacities[i].capacity;
      m_result.atoms.push_back({capacities[i].tail, capacities[i].head, 0});
    }
  }

  std::optional<LogicalTopology> run(const Progress& progress) {
    const auto count = static_cast<int>(m_network.gpus.size());
    for (int receiver = 0; receiver < count; ++receiver) {
      m_senders.clear();
      m_demand(receiver, m_senders);
      for (const SenderDemand& demand : m_senders) {
        m_toCome[m_network.gpus[demand.sender]] += demand.trees;
      }
    }
    if (std::any_of(m_network.gpus.begin(), m_network.gpus.end(),
                    [&](int sender) { return m_toCome[sender] > m_allOut[sender]; })) {
      return std::nullopt;
    }
    for (int rank = 0; rank < count; ++rank) {
      throwIfCancelled(progress);
      m_senders.clear();
      m_demand(rank, m_senders);
      const int receiver = m_network.gpus[rank];
      openArcsInto(receiver);
      if (!serve(rank)) {
        return std::nullopt;
      }
      takePaths(receiver);
      closeArcsInto(receiver);
      for (const SenderDemand& demand : m_senders) {
        m_toCome[m_network.gpus[demand.sender]] -= demand.trees;
      }
    }
    return std::move(m_result);
  }

private:
  [[nodiscard]] bool isTerminal(int node) const { return m_network.isGpu[node] != 0; }
  /// What the arc can still carry to this receiver.
  [[nodiscard]] int64_t room(int arc) const { return m_quota[arc] - m_flow[arc]; }

  /// A switch has many arcs into terminals, and a receiver needs only its own: they join the outgoing arcs of their
  /// tails while it is served.
  void openArcsInto(int receiver) {
    for (const int arc : m_into[receiver]) {
      m_outOf[m_arcs[arc].tail].push_back(arc);
    }
  }
  void closeArcsInto(int receiver) {
    for (const int arc : m_into[receiver]) {
      std::erase(m_outOf[m_arcs[arc].tail], arc);
    }
  }

  /// A flow that brings its demand from every other terminal to the receiver.
  bool serve(int receiverRank) {
    const int receiver = m_network.gpus[receiverRank];
    std::fill(m_flow.begin(), m_flow.end(), 0);
    int64_t wanted = 0;
    for (const SenderDemand& demand : m_senders) {
      m_toSend[m_network.gpus[demand.sender]] = demand.trees;
      wanted += demand.trees;
    }
    orderArcs(receiverRank);
    // Rations grow where the receiver's incoming arcs differ from the senders' outgoing arcs.
    for (const int eighths : {8, 9, 10, 12, 16, kNoRations}) {
      m_quota = m_left;
      if (eighths != kNoRations) {
        ration(eighths);
      }
      if (eighths == 8 && m_choice == Choice::even) {
        spread();
      }
      while (wanted > 0 && growLevels(receiver)) {
        const int64_t pushed = blockingFlow(receiver);
        wanted -= pushed;
      }
      if (wanted == 0) {
        return true;
      }
    }
    return false;
  }

  void orderArcs(int receiverRank) {
    if (m_choice != Choice::mostLeft) {
      return;
    }
    const auto isBefore = [](const SenderDemand& demand, int rank) { return demand.sender < rank; };
    std::rotate(m_senders.begin(), std::lower_bound(m_senders.begin(), m_senders.end(), receiverRank, isBefore),
                m_senders.end());
    for (const int sender : m_network.gpus) {
      std::stable_sort(m_outOf[sender].begin(), m_outOf[sender].end(),
                       [&](int a, int b) { return m_left[a] > m_left[b]; });
    }
  }

  /// The current receiver's part of the outgoing arcs of its senders: the same share of what is left of them as of the
  /// demand of this receiver and all later ones, in eighths.
  void ration(int eighths) {
    for (const SenderDemand& demand : m_senders) {
      const int sender = m_network.gpus[demand.sender];
      const Int128 toCome = Int128{m_toCome[sender]} * 8;
      for (const int arc : m_outOf[sender]) {
        const Int128 part = (Int128{m_left[arc]} * demand.trees * eighths + toCome - 1) / toCome;
        m_quota[arc] = static_cast<int64_t>(std::min<Int128>(part, m_left[arc]));
      }
    }
  }

  /// Tightens the quotas to what keeps the ways out of every sender equally full. Where the sender stands for a box
  /// with a link per GPU, each of its GPUs can then send its own trees by its own link.
  void spread() {
    for (const SenderDemand& demand : m_senders) {
      const int sender = m_network.gpus[demand.sender];
      const Int128 all = m_allOut[sender];
      for (const int arc : m_outOf[sender]) {
        const Int128 part = all == 0 ? 0 : (Int128{m_arcs[arc].capacity} * demand.trees + all - 1) / all;
        m_quota[arc] = static_cast<int64_t>(std::min<Int128>(part, m_quota[arc]));
      }
    }
  }

  /// Distances to the receiver over arcs with room, through switches, of all switches and of the nearest terminals with
  /// trees to send; false where there are none.
  bool growLevels(int receiver) {
    std::fill(m_level.begin(), m_level.end(), -1);
    m_level[receiver] = 0;
    m_queue.assign(1, receiver);
    for (std::size_t i = 0; i < m_queue.size(); ++i) {
      const int node = m_queue[i];
      const auto visit = [&](int from) {
        if (m_level[from] < 0) {
          m_level[from] = m_level[node] + 1;
          m_queue.push_back(from);
        }
      };
      for (const int arc : m_fromSwitches[node]) {
        if (room(arc) > 0) {
          visit(m_arcs[arc].tail);
        }
      }
      for (const int arc : m_outOf[node]) {
        // Taking back flow, between switches only.
        if (node != receiver && m_flow[arc] > 0 && m_arcs[arc].head != receiver) {
          visit(m_arcs[arc].head);
        }
      }
    }
    m_nearest = kNone;
    for (const SenderDemand& demand : m_senders) {
      const int sender = m_network.gpus[demand.sender];
      if (m_toSend[sender] == 0) {
        continue;
      }
      for (const int arc : m_outOf[sender]) {
        const int level = m_level[m_arcs[arc].head] + 1;
        if (level > 0 && level <= m_nearest && room(arc) > 0) {
          m_nearest = m_level[sender] = level;
        }
      }
    }
    return m_nearest != kNone;
  }

  struct Step {
    int arc;
    bool isForward;
  };
  /// An arc followed by an atom to the current receiver.
  struct Joint {
    int arc;
    int rest;
    int atom;
  };

  /// Pushes from every terminal that has trees to send along falling levels.
  int64_t blockingFlow(int receiver) {
    std::fill(m_next.begin(), m_next.end(), 0);
    int64_t total = 0;
    for (const SenderDemand& demand : m_senders) {
      const int terminal = m_network.gpus[demand.sender];
      while (m_toSend[terminal] > 0 && m_level[terminal] == m_nearest) {
        const int64_t pushed = push(terminal, receiver);
        if (pushed == 0) {
          break;
        }
        total += pushed;
      }
    }
    return total;
  }

  int64_t push(int terminal, int receiver) {
    m_steps.clear();
    int node = terminal;
    while (node != receiver) {
      Step step{-1, true};
      int following = -1;
      const auto outward = static_cast<int>(m_outOf[node].size());
      const int all = outward + (node == terminal ? 0 : static_cast<int>(m_fromSwitches[node].size()));
      for (int& i = m_next[node]; i < all; ++i) {
        const bool isForward = i < outward;
        const int arc = isForward ? m_outOf[node][i] : m_fromSwitches[node][i - outward];
        const int other = isForward ? m_arcs[arc].head : m_arcs[arc].tail;
        const int64_t amount = isForward ? room(arc) : m_flow[arc];
        if (amount > 0 && m_level[other] == m_level[node] - 1 && (other == receiver || !isTerminal(other))) {
          step = {arc, isForward};
          following = other;
          break;
        }
      }
      if (following < 0) {
        if (node == terminal) {
          return 0;
        }
        m_level[node] = -1;
        const Step last = m_steps.back();
        m_steps.pop_back();
        node = last.isForward ? m_arcs[last.arc].tail : m_arcs[last.arc].head;
        ++m_next[node];
        continue;
      }
      m_steps.push_back(step);
      node = following;
    }
    int64_t amount = m_toSend[terminal];
    for (const Step& step : m_steps) {
      amount = std::min(amount, step.isForward ? room(step.arc) : m_flow[step.arc]);
    }
    for (const Step& step : m_steps) {
      m_flow[step.arc] += step.isForward ? amount : -amount;
    }
    m_toSend[terminal] -= amount;
    return amount;
  }

  /// Turns the flow into routes and takes their capacity away.
  void takePaths(int receiver) {
    forgetJoints();
    for (std::size_t i = 0; i < m_arcs.size(); ++i) {
      m_left[i] -= m_flow[i];
    }
    std::fill(m_next.begin(), m_next.end(), 0);
    std::vector<int>& path = m_path;
    for (const SenderDemand& demand : m_senders) {
      const int terminal = m_network.gpus[demand.sender];
      while (true) {
        path.clear();
        int node = terminal;
        bool isOver = false;
        while (node != receiver) {
          const std::vector<int>& out = m_outOf[node];
          int& i = m_next[node];
          while (static_cast<std::size_t>(i) < out.size() && m_flow[out[i]] == 0) {
            ++i;
          }
          if (static_cast<std::size_t>(i) == out.size()) {
            isOver = true;  // only at the terminal: what enters a switch leaves it
            break;
          }
          m_onPath[node] = static_cast<int>(path.size());
          path.push_back(out[i]);
          node = m_arcs[out[i]].head;
          if (node != receiver && m_onPath[node] >= 0) {
            dropCycle(path, node);
          }
        }
        for (const int arc : path) {
          m_onPath[m_arcs[arc].tail] = -1;
        }
        if (isOver) {
          break;
        }
        addAtom(path);
      }
    }
  }

  /// A flow that runs in a circle is given back.
  void dropCycle(std::vector<int>& path, int node) {
    const auto first = static_cast<std::size_t>(m_onPath[node]);
    int64_t amount = m_flow[path[first]];
    for (std::size_t i = first; i < path.size(); ++i) {
      amount = std::min(amount, m_flow[path[i]]);
    }
    for (std::size_t i = first; i < path.size(); ++i) {
      m_flow[path[i]] -= amount;
      m_left[path[i]] += amount;
      m_onPath[m_arcs[path[i]].tail] = -1;
    }
    path.resize(first);
  }

  void addAtom(const std::vector<int>& path) {
    int64_t amount = m_flow[path.front()];
    for (const int arc : path) {
      amount = std::min(amount, m_flow[arc]);
    }
    int atom = path.back();
    m_flow[atom] -= amount;
    for (std::size_t i = path.size() - 1; i-- > 0;) {
      m_flow[path[i]] -= amount;
      atom = joined(path[i], atom);
    }
    m_result.atoms[atom].capacity += amount;
  }

  /// The atom of an arc and the rest of the route to the current receiver. Routes with equal ends share what is
  /// common, so that a route adds few atoms, however long it is.
  int joined(int arc, int rest) {
    const int tail = m_arcs[arc].tail;
    std::vector<Joint>& joints = m_joints[tail];
    if (joints.empty()) {
      m_jointNodes.push_back(tail);
    }
    const auto found = std::find_if(joints.begin(), joints.end(),
                                    [&](const Joint& joint) { return joint.arc == arc && joint.rest == rest; });
    if (found != joints.end()) {
      return found->atom;
    }
    const auto atom = static_cast<int>(m_result.atoms.size());
    m_result.atoms.push_back({tail, m_result.atoms[rest].head, 0, arc, rest});
    joints.push_back({arc, rest, atom});
    return atom;
  }

  void forgetJoints() {
    for (const int node : m_jointNodes) {
      m_joints[node].clear();
    }
    m_jointNodes.clear();
  }

  const Network& m_network;
  const std::vector<TreeArc>& m_arcs;
  const ReceiverDemand& m_demand;
  Choice m_choice;
  LogicalTopology m_result;
  std::vector<SenderDemand> m_senders;  // of the current receiver, in the order in which they choose
  std::vector<int64_t> m_left;          // by arc, for this and later receivers
  std::vector<int64_t> m_flow;          // by arc, to the current receiver
  std::vector<int64_t> m_quota;         // by arc, for the current receiver
  std::vector<std::vector<int>> m_into;
  std::vector<std::vector<int>> m_fromSwitches;  // those of m_into whose flow can be taken back
  std::vector<std::vector<int>> m_outOf;         // to switches and the current receiver
  std::vector<Int128> m_allOut;                  // by node: capacities of all outgoing arcs, together
  std::vector<int> m_level;
  int m_nearest = kNone;  // level of the nearest terminals with trees to send
  std::vector<int64_t> m_toSend;
  std::vector<int64_t> m_toCome;  // by terminal: the demand of this receiver and all later ones
  std::vector<int> m_next;
  std::vector<int> m_onPath;
  std::vector<int> m_queue;
  std::vector<Step> m_steps;
  std::vector<int> m_path;
  std::vector<std::vector<Joint>> m_joints;  // by the arc's tail
  std::vector<int> m_jointNodes;             // tails that have any
};

}  // namespace

std::optional<LogicalTopology> routeDemands(const Network& network, const std::vector<TreeArc>& capacities,
                                            const ReceiverDemand& demand, const Progress& progress) {
  for (const Choice choice : {Choice::even, Choice::first, Choice::mostLeft}) {
    if (auto found = DemandRouting(network, capacities, demand, choice).run(progress)) {
      return found;
    }
  }
  return std::nullopt;
}

std::optional<LogicalTopology> routeStars(const Network& network, const std::vector<TreeArc>& capacities,
                                          const std::vector<int64_t>& supply, const Progress& progress) {
  if (!areSumsSmall(network, capacities, supply)) {
    return std::nullopt;
  }
  const auto terminals = static_cast<int>(network.gpus.size());
  const ReceiverDemand demand = [&](int receiver, std::vector<SenderDemand>& senders) {
    for (int sender = 0; sender < terminals; ++sender) {
      const int64_t trees = supply[network.gpus[sender]];
      if (sender != receiver && trees > 0) {
        senders.push_back({sender, trees});
      }
    }
  };
  return routeDemands(network, capacities, demand, progress);
}

std::optional<TwoLevelForest> growStars(const Network& network, const std::vector<TreeArc>& capacities,
                                        const std::vector<int64_t>& supply, const Progress& progress) {
  auto topology = routeStars(network, capacities, supply, progress);
  if (!topology) {
    return std::nullopt;
  }
  TwoLevelForest forest;
  forest.topology = *std::move(topology);
  forest.logical = logicalProblem(network, forest.topology, supply);
  const PackingProblem& packing = forest.logical.packing;
  for (int root = 0; root < packing.nodeCount; ++root) {
    forest.trees.push_back({root, packing.supply[root], {}});
  }
  for (std::size_t i = 0; i < packing.arcs.size(); ++i) {
    forest.trees[packing.arcs[i].tail].arcs.push_back(static_cast<int>(i));
  }
  std::erase_if(forest.trees, [](const PackedTree& tree) { return tree.multiplicity == 0; });
  return forest;
}

}  // namespace coppice::forestcoll
