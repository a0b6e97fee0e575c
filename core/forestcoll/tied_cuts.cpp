// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/tied_cuts.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/checked.hpp"
#include "base/failure.hpp"
#include "forestcoll/guarded.hpp"
#include "forestcoll/network.hpp"
#include "forestcoll/optimality.hpp"
#include "forestcoll/scaled_oracle.hpp"
#include "forestcoll/single_root/shard_bound.hpp"

namespace coppice::forestcoll {
namespace {

using std::int64_t;

int64_t exitOf(const Network& network, const std::vector<char>& isInside) {
  int64_t sum = 0;
  for (const TreeArc& arc : network.arcs) {
    if (isInside[arc.tail] != 0 && isInside[arc.head] == 0) {
      sum = checkedAdd(sum, arc.capacity);
    }
  }
  return sum;
}

/// The search is over; what was found until then stands.
struct StepsSpent {};

[[noreturn]] void failUsage(std::string message) {
  throw Failure{{ErrorCode::badUsage, std::move(message), "ask with a cut that proves the bound of this collective"}};
}

/// One bit per class of GPUs.
class Bits {
public:
  Bits() = default;
  explicit Bits(std::size_t size) : m_words((size + 63) / 64, 0) {}

  [[nodiscard]] bool has(std::size_t i) const { return (m_words[i / 64] >> (i % 64) & 1U) != 0; }
  void add(std::size_t i) { m_words[i / 64] |= std::uint64_t{1} << (i % 64); }
  void add(const Bits& other) {
    for (std::size_t i = 0; i < m_words.size(); ++i) {
      m_words[i] |= other.m_words[i];
    }
  }
  /// The first below `size` that is in neither; `size` where there is none.
  [[nodiscard]] static std::size_t firstInNeither(const Bits& a, const Bits& b, std::size_t size) {
    for (std::size_t i = 0; i < a.m_words.size(); ++i) {
      if (const std::uint64_t both = ~(a.m_words[i] | b.m_words[i]); both != 0) {
        return std::min(size, i * 64 + static_cast<std::size_t>(std::countr_zero(both)));
      }
    }
    return size;
  }
  [[nodiscard]] std::size_t words() const { return m_words.size(); }

private:
  std::vector<std::uint64_t> m_words;
};

/// Where a listed cut stands in the list, and how to find it again.
struct Place {
  std::vector<int> smaller;  ///< ranks on the side with fewer GPUs (on a tie, of S), ascending
  bool isSinkSide = false;   ///< that side is Q
  std::size_t sink = 0;      ///< of the first GPU in Q, in the order of the sinks

  friend bool operator<(const Place& a, const Place& b) {
    if (a.smaller.size() != b.smaller.size()) {
      return a.smaller.size() < b.smaller.size();
    }
    return std::tie(a.smaller, a.isSinkSide) < std::tie(b.smaller, b.isSinkSide);
  }
};

template <typename Cap>
class Search {
public:
  Search(const CutFabric& fabric, const Network& network, const CutRatio& ratio, const Progress& progress,
         const TiedCutsLimits& limits)
      : m_fabric(fabric),
        m_network(network),
        m_progress(progress),
        m_limits(limits),
        m_oracle(scaledOracle<Cap>(network, ratio.value().numerator(), ratio.value().denominator())),
        m_order(m_oracle.sinkOrder().begin(), m_oracle.sinkOrder().end()),
        m_ranks(static_cast<std::size_t>(network.nodeCount), 0),
        m_state(static_cast<std::size_t>(network.nodeCount), State::open),
        m_component(static_cast<std::size_t>(network.nodeCount), -1) {
    for (std::size_t rank = 0; rank < network.gpus.size(); ++rank) {
      m_ranks[network.gpus[rank]] = rank;
    }
  }

  TiedCuts run() {
    TiedCuts result;
    try {
      for (std::size_t i = 0; i < m_order.size(); ++i) {
        throwIfCancelled(m_progress);
        countAt(i);
        m_oracle.absorb(m_order[i]);
      }
    } catch (const StepsSpent&) {
      m_isExact = false;
    }
    m_oracle.undo();
    result.count = m_count;
    result.isExact = m_isExact;
    for (const Place& place : m_listed) {
      result.cuts.push_back(cutAt(place));
    }
    return result;
  }

private:
  enum class State : char { open, needed, barred };

  void spend(std::uint64_t steps) {
    m_steps += steps + m_oracle.takeWork();
    if (m_steps > m_limits.steps) {
      throw StepsSpent{};
    }
  }

  /// Marks all nodes with a residual path to (or from) the seeds.
  template <bool isForward>
  void mark(std::vector<int> queue, State state) {
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const auto visit = [&](int next) {
        if (m_state[next] != state) {
          m_state[next] = state;
          queue.push_back(next);
        }
      };
      if constexpr (isForward) {
        m_oracle.forEachResidualOutOf(queue[i], visit);
      } else {
        m_oracle.forEachResidualInto(queue[i], visit);
      }
    }
  }

  /// The nodes that can flow into the sink and so are in every Q; false where one of them is a source.
  bool markNeeded(int sink) {
    m_needed.assign(1, sink);
    m_state[sink] = State::needed;
    bool isClosed = !m_oracle.isSource(sink);
    for (std::size_t i = 0; i < m_needed.size() && isClosed; ++i) {
      m_oracle.forEachResidualInto(m_needed[i], [&](int from) {
        if (m_state[from] != State::needed) {
          m_state[from] = State::needed;
          m_needed.push_back(from);
          isClosed = isClosed && !m_oracle.isSource(from);
        }
      });
    }
    if (!isClosed) {
      for (const int node : m_needed) {
        m_state[node] = State::open;
      }
    }
    return isClosed;
  }

  /// What a source can still flow to is in no Q.
  void markBarred() {
    std::vector<int> sources;
    for (int v = 0; v < m_network.nodeCount; ++v) {
      if (m_oracle.isSource(v)) {
        m_state[v] = State::barred;
        sources.push_back(v);
      }
    }
    mark<true>(std::move(sources), State::barred);
  }

  void flow(std::size_t index) {
    m_oracle.undo();
    if (m_oracle.flowInto(m_order[index], m_oracle.target()) != m_oracle.target()) {
      failUsage("the cut is not the tightest one of the fabric");
    }
  }

  void countAt(std::size_t index) {
    flow(index);
    if (!markNeeded(m_order[index])) {
      spend(m_needed.size());
      return;
    }
    markBarred();
    spend(static_cast<std::size_t>(m_network.nodeCount));
    findComponents();
    closeClasses();
    enumerate(index);
    std::fill(m_state.begin(), m_state.end(), State::open);
  }

  /// Strongly connected components of the open nodes (Tarjan), each after those that it can flow from.
  void findComponents() {
    struct Frame {
      int node;
      std::size_t begin;  ///< its neighbours in m_neighbours
      std::size_t next;
    };
    std::fill(m_component.begin(), m_component.end(), -1);
    m_componentCount = 0;
    m_neighbours.clear();
    std::vector<int> index(m_network.nodeCount, -1);
    std::vector<int> low(m_network.nodeCount, 0);
    std::vector<int> stack;
    std::vector<Frame> frames;
    int visited = 0;
    const auto enter = [&](int node) {
      index[node] = low[node] = visited++;
      stack.push_back(node);
      const std::size_t begin = m_neighbours.size();
      m_oracle.forEachResidualInto(node, [&](int from) {
        if (m_state[from] == State::open) {
          m_neighbours.push_back(from);
        }
      });
      frames.push_back({node, begin, begin});
    };
    for (int start = 0; start < m_network.nodeCount; ++start) {
      if (m_state[start] != State::open || index[start] >= 0) {
        continue;
      }
      enter(start);
      while (!frames.empty()) {
        Frame& frame = frames.back();
        const int node = frame.node;
        if (frame.next < m_neighbours.size()) {
          const int from = m_neighbours[frame.next++];
          if (index[from] < 0) {
            enter(from);
          } else if (m_component[from] < 0) {
            low[node] = std::min(low[node], index[from]);
          }
          continue;
        }
        m_neighbours.resize(frame.begin);
        frames.pop_back();
        if (!frames.empty()) {
          low[frames.back().node] = std::min(low[frames.back().node], low[node]);
        }
        if (low[node] == index[node]) {
          int member = -1;
          do {
            member = stack.back();
            stack.pop_back();
            m_component[member] = m_componentCount;
          } while (member != node);
          ++m_componentCount;
        }
      }
    }
    spend(static_cast<std::size_t>(visited));
  }

  /// Components that hold GPUs are the classes that a Q takes as a whole; each with the classes that it draws in.
  void closeClasses() {
    m_classOf.assign(m_componentCount, -1);
    m_members.clear();
    for (const int gpu : m_network.gpus) {
      if (const int component = m_component[gpu]; component >= 0) {
        int& group = m_classOf[component];
        if (group < 0) {
          group = static_cast<int>(m_members.size());
          m_members.emplace_back();
        }
        m_members[group].push_back(gpu);
      }
    }
    const std::size_t classes = m_members.size();
    std::vector<std::vector<int>> nodes(m_componentCount);
    for (int v = 0; v < m_network.nodeCount; ++v) {
      if (m_component[v] >= 0) {
        nodes[m_component[v]].push_back(v);
      }
    }
    std::vector<Bits> drawn(m_componentCount, Bits(classes));
    m_draws.assign(classes, Bits(classes));
    m_drawnBy.assign(classes, Bits(classes));
    for (int c = 0; c < m_componentCount; ++c) {
      Bits& all = drawn[c];
      if (m_classOf[c] >= 0) {
        all.add(static_cast<std::size_t>(m_classOf[c]));
      }
      std::uint64_t joins = 0;
      for (const int node : nodes[c]) {
        m_oracle.forEachResidualInto(node, [&](int from) {
          const int other = m_component[from];
          if (other >= 0 && other != c) {
            all.add(drawn[other]);
            ++joins;
          }
        });
      }
      spend(joins * all.words());
      if (m_classOf[c] >= 0) {
        m_draws[m_classOf[c]] = all;
      }
    }
    for (std::size_t i = 0; i < classes; ++i) {
      for (std::size_t j = 0; j < classes; ++j) {
        if (m_draws[i].has(j)) {
          m_drawnBy[j].add(i);
        }
      }
      spend(classes);
    }
  }

  /// All closed sets of classes, each once. The classes left out come first, so that the smallest Q is met first.
  void enumerate(std::size_t index) {
    struct Selection {
      Bits in;
      Bits out;
    };
    const std::size_t classes = m_members.size();
    if (classes > 0) {
      Bits all(classes);
      for (std::size_t i = 0; i < classes; ++i) {
        all.add(i);
      }
      list(index, all);  // the smallest S, in case that a limit ends the walk
    }
    std::vector<Selection> open;
    open.push_back({Bits(classes), Bits(classes)});
    while (!open.empty()) {
      Selection choice = std::move(open.back());
      open.pop_back();
      spend(choice.in.words() + 1);
      const std::size_t next = Bits::firstInNeither(choice.in, choice.out, classes);
      if (next < classes) {
        Selection with = choice;
        with.in.add(m_draws[next]);
        choice.out.add(m_drawnBy[next]);
        open.push_back(std::move(with));
        open.push_back(std::move(choice));
        continue;
      }
      if (!list(index, choice.in)) {
        continue;
      }
      if (m_count >= m_limits.counted) {
        m_isExact = false;
        return;
      }
      ++m_count;
    }
  }

  /// Takes the cut into the list if it is among the first; false where it is none, since all data is in Q.
  bool list(std::size_t index, const Bits& chosen) {
    std::vector<char> isIn(m_network.gpus.size(), 0);
    int64_t demand = m_network.totalDemand;
    std::size_t inside = 0;
    const auto take = [&](int gpu) {
      isIn[m_ranks[gpu]] = 1;
      demand -= m_network.demand[gpu];
      ++inside;
    };
    for (const int node : m_needed) {
      if (m_network.isGpu[node] != 0) {
        take(node);
      }
    }
    for (std::size_t i = 0; i < m_members.size(); ++i) {
      if (chosen.has(i)) {
        std::for_each(m_members[i].begin(), m_members[i].end(), take);
      }
    }
    spend(isIn.size());
    if (demand == 0) {
      return false;
    }
    Place place;
    place.isSinkSide = 2 * inside < isIn.size();
    place.sink = index;
    const std::size_t smaller = place.isSinkSide ? inside : isIn.size() - inside;
    if (m_listed.size() >= m_limits.listed &&
        (m_listed.empty() || std::prev(m_listed.end())->smaller.size() < smaller)) {
      return true;
    }
    for (std::size_t rank = 0; rank < isIn.size(); ++rank) {
      if ((isIn[rank] != 0) == place.isSinkSide) {
        place.smaller.push_back(static_cast<int>(rank));
      }
    }
    m_listed.insert(std::move(place));
    if (m_listed.size() > m_limits.listed) {
      m_listed.erase(std::prev(m_listed.end()));
    }
    return true;
  }

  /// The cut with its switches and NICs.
  schedule::Cut cutAt(const Place& place) {
    // The flow of its sink again: earlier sinks, and only those, feed it.
    m_oracle.clearAbsorbed();
    for (std::size_t i = 0; i < place.sink; ++i) {
      m_oracle.absorb(m_order[i]);
    }
    flow(place.sink);
    std::fill(m_state.begin(), m_state.end(), State::open);
    std::vector<int> sides[2];  // GPUs outside and inside of Q
    std::size_t next = 0;
    for (std::size_t rank = 0; rank < m_network.gpus.size(); ++rank) {
      const bool isSmaller = next < place.smaller.size() && static_cast<std::size_t>(place.smaller[next]) == rank;
      next += isSmaller ? 1 : 0;
      sides[isSmaller == place.isSinkSide ? 1 : 0].push_back(m_network.gpus[rank]);
    }
    // Q takes what can flow into its GPUs, S what the others can flow to; between them the cut may pass anywhere.
    markAll<false>(sides[1], State::needed);
    markAll<true>(sides[0], State::barred);
    if (place.isSinkSide) {
      takeBoxes<false>(State::needed, State::barred);
    } else {
      takeBoxes<true>(State::barred, State::needed);
    }
    CutRatio cut;
    std::vector<char> isInside(m_network.nodeCount, 0);
    for (int v = 0; v < m_network.nodeCount; ++v) {
      if (place.isSinkSide ? m_state[v] != State::needed : m_state[v] == State::barred) {
        isInside[v] = 1;
        cut.nodes.push_back(v);
        cut.demand += m_network.demand[v];
      }
    }
    cut.exit = exitOf(m_network, isInside);
    return {std::move(cut.nodes), cut.demand, Rational(cut.exit) * m_network.unit};
  }

  template <bool isForward>
  void markAll(const std::vector<int>& seeds, State state) {
    for (const int seed : seeds) {
      m_state[seed] = state;
    }
    mark<isForward>(seeds, state);
  }

  /// Draws in the rest of each box that has its GPUs on this side, where nothing of the other side comes with it.
  template <bool isForward>
  void takeBoxes(State own, State other) {
    const fabric::BoxTree& boxes = m_fabric.boxes;
    std::vector<bool> hasOwn(boxes.boxCount(), false);
    std::vector<bool> hasOther(boxes.boxCount(), false);
    for (const int gpu : m_network.gpus) {
      std::vector<bool>& side = m_state[gpu] == own ? hasOwn : hasOther;
      for (const int box : boxes.around(gpu)) {
        side[box] = true;
      }
    }
    std::map<int, std::vector<int>> rest;
    for (int v = 0; v < m_network.nodeCount; ++v) {
      if (m_state[v] == State::open) {
        const auto around = boxes.around(v);
        const auto filled =
            std::find_if(around.begin(), around.end(), [&](int box) { return hasOwn[box] && !hasOther[box]; });
        if (filled != around.end()) {
          rest[*filled].push_back(v);
        }
      }
    }
    for (const auto& [box, nodes] : rest) {
      const std::vector<State> before = m_state;
      markAll<isForward>(nodes, own);
      bool isLost = false;
      for (int v = 0; v < m_network.nodeCount && !isLost; ++v) {
        isLost = before[v] == other && m_state[v] != other;
      }
      if (isLost) {
        m_state = before;
      }
    }
  }

  const CutFabric& m_fabric;
  const Network& m_network;
  const Progress& m_progress;
  const TiedCutsLimits& m_limits;
  flow::FeasibilityOracle<Cap> m_oracle;
  std::vector<int> m_order;
  std::vector<std::size_t> m_ranks;  // by node; GPUs only
  std::uint64_t m_steps = 0;
  // Of the current sink.
  std::vector<State> m_state;
  std::vector<int> m_needed;
  std::vector<int> m_component;  // -1 = not open
  int m_componentCount = 0;
  std::vector<int> m_neighbours;
  std::vector<int> m_classOf;               // by component; -1 = no GPU in it
  std::vector<std::vector<int>> m_members;  // GPUs by class
  std::vector<Bits> m_draws;                // by class: itself and all that can flow into it
  std::vector<Bits> m_drawnBy;
  // The answer.
  std::set<Place> m_listed;
  int64_t m_count = 0;
  bool m_isExact = true;
};

/// a(v) by rank: what each GPU has to send.
std::vector<int64_t> demandOf(const CutFabric& fabric, const Request& request) {
  std::vector<int64_t> demand(fabric.gpus.size(), request.root ? 0 : 1);
  if (request.root && *request.root >= 0 && *request.root < static_cast<int>(fabric.gpus.size())) {
    demand[*request.root] = 1;
  } else if (request.amounts.size() == demand.size()) {
    demand = request.amounts;
  }
  return demand;
}

void turnRound(Network& network) {
  for (TreeArc& arc : network.arcs) {
    std::swap(arc.tail, arc.head);
  }
}

}  // namespace

Result<TiedCuts> tiedCuts(const CutFabric& fabric, const Request& request, const schedule::Cut& cut,
                          const Progress& progress, const TiedCutsLimits& limits) {
  return guarded(
      [&]() -> Result<TiedCuts> {
        Network network = makeNetwork(fabric.boxes.nodeCount(), fabric.gpus, fabric.arcs, demandOf(fabric, request));
        std::vector<char> isInside(network.nodeCount, 0);
        CutRatio ratio;
        for (const int node : cut.nodes) {
          if (node < 0 || node >= network.nodeCount) {
            failUsage("the cut names a node that the fabric does not have");
          }
          isInside[node] = 1;
          ratio.demand += network.demand[node];
        }
        const bool isReduction = request.collective == Collective::reduceScatter ||
                                 request.collective == Collective::reduce ||
                                 (request.collective == Collective::allreduce &&
                                  Rational(exitOf(network, isInside)) * network.unit != cut.exitBandwidth);
        if (isReduction) {
          turnRound(network);
        }
        ratio.exit = exitOf(network, isInside);
        if (ratio.demand <= 0 || ratio.exit <= 0) {
          failUsage("nothing has to cross the cut, or nothing can");
        }
        return fits64(network) ? Search<int64_t>(fabric, network, ratio, progress, limits).run()
                               : Search<Int128>(fabric, network, ratio, progress, limits).run();
      },
      {.overflow = "the fabric's numbers leave the range in which results are proven exact",
       .overflowFix = "use bandwidths with fewer digits or a common divisor"});
}

Result<TiedCuts> tiedCuts(const fabric::Fabric& fabric, const Request& request, const schedule::Cut& cut,
                          const Progress& progress, const TiedCutsLimits& limits) {
  if (movesShards(request.collective)) {
    return guarded<TiedCuts>(request, [&] {
      const ShardProblem problem = shardProblem(fabric, request);
      return tightShardCuts(problem, worstShardCut(problem, progress).value(), progress);
    });
  }
  std::vector<std::string_view> boxOfNode;
  boxOfNode.reserve(fabric.nodes().size());
  for (const fabric::Node& node : fabric.nodes()) {
    boxOfNode.emplace_back(node.box);
  }
  const fabric::BoxTree boxes(boxOfNode);
  return tiedCuts(CutFabric{fabric.gpus(), fabric.arcs(), boxes}, request, cut, progress, limits);
}

}  // namespace coppice::forestcoll
