// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/boxes/star_routing.hpp"

#include <algorithm>
#include <numeric>

#include "base/checked.hpp"

namespace coppice::forestcoll {
namespace {

using std::int64_t;

constexpr int kNoRations = 0;

class DemandRouting {
public:
  /// @param isBalanced every sender prefers the outgoing arcs with the most left, and another sender chooses first each
  /// time: slower, and finds routes where parallel networks have unequal links
  DemandRouting(const Network& network, const std::vector<TreeArc>& capacities, const PairDemand& demand,
                bool isBalanced)
      : m_network(network),
        m_arcs(capacities),
        m_demand(demand),
        m_isBalanced(isBalanced),
        m_senders(network.gpus),
        m_left(capacities.size()),
        m_flow(capacities.size(), 0),
        m_quota(capacities.size(), 0),
        m_into(static_cast<std::size_t>(network.nodeCount)),
        m_outOf(static_cast<std::size_t>(network.nodeCount)),
        m_level(static_cast<std::size_t>(network.nodeCount), -1),
        m_toSend(static_cast<std::size_t>(network.nodeCount), 0),
        m_wanted(static_cast<std::size_t>(network.nodeCount), 0),
        m_toCome(static_cast<std::size_t>(network.nodeCount), 0),
        m_next(static_cast<std::size_t>(network.nodeCount), 0),
        m_onPath(static_cast<std::size_t>(network.nodeCount), -1),
        m_joints(static_cast<std::size_t>(network.nodeCount)) {
    for (std::size_t i = 0; i < capacities.size(); ++i) {
      m_left[i] = capacities[i].capacity;
      m_into[capacities[i].head].push_back(static_cast<int>(i));
      m_outOf[capacities[i].tail].push_back(static_cast<int>(i));
      m_result.atoms.push_back({capacities[i].tail, capacities[i].head, 0});
    }
  }

  std::optional<LogicalTopology> run(const Progress& progress) {
    const auto count = static_cast<int>(m_network.gpus.size());
    for (int sender = 0; sender < count; ++sender) {
      for (int receiver = 0; receiver < count; ++receiver) {
        m_toCome[m_network.gpus[sender]] += sender == receiver ? 0 : m_demand(sender, receiver);
      }
    }
    for (std::size_t rank = 0; rank < m_network.gpus.size(); ++rank) {
      const int receiver = m_network.gpus[rank];
      throwIfCancelled(progress);
      if (!serve(static_cast<int>(rank))) {
        return std::nullopt;
      }
      takePaths(receiver);
      for (const int terminal : m_network.gpus) {
        m_toCome[terminal] -= m_wanted[terminal];
      }
    }
    return std::move(m_result);
  }

private:
  [[nodiscard]] bool isTerminal(int node) const { return m_network.isGpu[node] != 0; }
  /// What the arc can still carry to this receiver.
  [[nodiscard]] int64_t room(int arc) const { return m_quota[arc] - m_flow[arc]; }

  /// A flow that brings its demand from every other terminal to the receiver.
  bool serve(int receiverRank) {
    const int receiver = m_network.gpus[receiverRank];
    std::fill(m_flow.begin(), m_flow.end(), 0);
    int64_t wanted = 0;
    for (int rank = 0; static_cast<std::size_t>(rank) < m_network.gpus.size(); ++rank) {
      const int64_t amount = rank == receiverRank ? 0 : m_demand(rank, receiverRank);
      m_toSend[m_network.gpus[rank]] = m_wanted[m_network.gpus[rank]] = amount;
      wanted += amount;
    }
    orderArcs(receiverRank);
    // Rations grow where the receiver's incoming arcs differ from the senders' outgoing arcs.
    for (const int eighths : {8, 9, 10, 12, 16, kNoRations}) {
      for (std::size_t i = 0; i < m_arcs.size(); ++i) {
        const bool isRationed = eighths != kNoRations && isTerminal(m_arcs[i].tail);
        m_quota[i] = isRationed ? ration(static_cast<int>(i), eighths) : m_left[i];
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
    if (!m_isBalanced) {
      return;
    }
    const std::vector<int>& gpus = m_network.gpus;
    std::rotate_copy(gpus.begin(), gpus.begin() + receiverRank, gpus.end(), m_senders.begin());
    for (const int sender : gpus) {
      std::stable_sort(m_outOf[sender].begin(), m_outOf[sender].end(),
                       [&](int a, int b) { return m_left[a] > m_left[b]; });
    }
  }

  /// The current receiver's part of an outgoing arc of a terminal: the same share of what is left of it as of the
  /// demand of this receiver and all later ones, in eighths.
  [[nodiscard]] int64_t ration(int arc, int eighths) const {
    const int64_t wanted = m_wanted[m_arcs[arc].tail];
    const Int128 toCome = Int128{m_toCome[m_arcs[arc].tail]} * 8;
    const Int128 part = wanted == 0 ? 0 : (Int128{m_left[arc]} * wanted * eighths + toCome - 1) / toCome;
    return static_cast<int64_t>(std::min<Int128>(part, m_left[arc]));
  }

  /// Distances to the receiver over arcs with room, through switches; true when a terminal with trees to send is
  /// reached. Stops at the level of the nearest.
  bool growLevels(int receiver) {
    std::fill(m_level.begin(), m_level.end(), -1);
    m_level[receiver] = 0;
    m_queue.assign(1, receiver);
    int found = -1;
    for (std::size_t i = 0; i < m_queue.size(); ++i) {
      const int node = m_queue[i];
      if (found >= 0 && m_level[node] >= found) {
        break;
      }
      const auto visit = [&](int from) {
        if (m_level[from] < 0) {
          m_level[from] = m_level[node] + 1;
          if (isTerminal(from)) {
            found = m_toSend[from] > 0 && found < 0 ? m_level[from] : found;
          } else {
            m_queue.push_back(from);
          }
        }
      };
      for (const int arc : m_into[node]) {
        if (room(arc) > 0 && (!isTerminal(m_arcs[arc].tail) || m_toSend[m_arcs[arc].tail] > 0)) {
          visit(m_arcs[arc].tail);
        }
      }
      for (const int arc : m_outOf[node]) {
        // Taking back flow: only between switches, and from the ways out of terminals below.
        if (node != receiver && m_flow[arc] > 0 && m_arcs[arc].head != receiver) {
          visit(m_arcs[arc].head);
        }
      }
    }
    return found >= 0;
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
    for (const int terminal : m_senders) {
      while (m_toSend[terminal] > 0 && m_level[terminal] > 0) {
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
      const int all = outward + (node == terminal ? 0 : static_cast<int>(m_into[node].size()));
      for (int& i = m_next[node]; i < all; ++i) {
        const bool isForward = i < outward;
        const int arc = isForward ? m_outOf[node][i] : m_into[node][i - outward];
        const int other = isForward ? m_arcs[arc].head : m_arcs[arc].tail;
        const int64_t amount = isForward ? room(arc) : (isTerminal(other) ? 0 : m_flow[arc]);
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
    std::vector<int> path;
    for (const int terminal : m_network.gpus) {
      while (terminal != receiver) {
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
  const PairDemand& m_demand;
  bool m_isBalanced;
  LogicalTopology m_result;
  std::vector<int> m_senders;    // in the order in which they choose
  std::vector<int64_t> m_left;   // by arc, for this and later receivers
  std::vector<int64_t> m_flow;   // by arc, to the current receiver
  std::vector<int64_t> m_quota;  // by arc, for the current receiver
  std::vector<std::vector<int>> m_into;
  std::vector<std::vector<int>> m_outOf;
  std::vector<int> m_level;
  std::vector<int64_t> m_toSend;
  std::vector<int64_t> m_wanted;  // by terminal: the demand of the current receiver
  std::vector<int64_t> m_toCome;  // by terminal: the demand of this receiver and all later ones
  std::vector<int> m_next;
  std::vector<int> m_onPath;
  std::vector<int> m_queue;
  std::vector<Step> m_steps;
  std::vector<std::vector<Joint>> m_joints;  // by the arc's tail
  std::vector<int> m_jointNodes;             // tails that have any
};

}  // namespace

std::optional<LogicalTopology> routeDemands(const Network& network, const std::vector<TreeArc>& capacities,
                                            const PairDemand& demand, const Progress& progress) {
  if (auto found = DemandRouting(network, capacities, demand, false).run(progress)) {
    return found;
  }
  return DemandRouting(network, capacities, demand, true).run(progress);
}

std::optional<LogicalTopology> routeStars(const Network& network, const std::vector<TreeArc>& capacities,
                                          const std::vector<int64_t>& supply, const Progress& progress) {
  const PairDemand demand = [&](int sender, int) { return supply[network.gpus[sender]]; };
  return routeDemands(network, capacities, demand, progress);
}

}  // namespace coppice::forestcoll
