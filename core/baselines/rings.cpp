// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/rational.hpp"
#include "baselines/builder.hpp"
#include "schedule/arc_finder.hpp"

/// Rings: one, one for each NIC of a box as NCCL builds them, and link-disjoint Hamiltonian cycles.
namespace coppice::baselines {
namespace {

using fabric::NodeIndex;
using fabric::Rank;
using schedule::kNoRoute;
using schedule::PathId;

/// A cycle over all ranks; route[i] leads from rank[i] to rank[i + 1].
struct Ring {
  std::vector<Rank> ranks;
  std::vector<PathId> routes;
};

/// Each ring carries an equal part of every shard.
void addRings(Builder& builder, const std::vector<Ring>& rings) {
  const int n = builder.ranks();
  const Collective collective = builder.collective();
  const auto count = static_cast<std::int64_t>(rings.size());
  const bool isAllreduce = collective == Collective::allreduce;
  builder.setDenominator(isAllreduce ? count * n : count);
  if (isRooted(collective)) {
    builder.setAsynchronous();
  }
  for (std::int64_t r = 0; r < count; ++r) {
    const Ring& ring = rings[r];
    // What starts (allgather) or ends (reduce_scatter) at a place of the ring goes from place `at` to the next.
    const auto hop = [&](int step, int owner, int at, bool isReduction) {
      const int place = (owner % n + n) % n;
      const std::int64_t piece = isAllreduce ? r * n + place : r;
      builder.send(step, isAllreduce ? 0 : ring.ranks[place], piece, piece + 1, ring.ranks[at],
                   ring.ranks[(at + 1) % n], ring.routes[at], isReduction);
    };
    if (isRooted(collective)) {
      const auto root =
          static_cast<int>(std::find(ring.ranks.begin(), ring.ranks.end(), builder.root()) - ring.ranks.begin());
      for (int i = 0; i + 1 < n; ++i) {
        const int at = (root + i + (collective == Collective::reduce ? 1 : 0)) % n;
        builder.send(0, 0, r, r + 1, ring.ranks[at], ring.ranks[(at + 1) % n], ring.routes[at],
                     collective == Collective::reduce);
      }
      continue;
    }
    for (int t = 0; t + 1 < n; ++t) {
      for (int at = 0; at < n; ++at) {
        if (collective != Collective::allgather) {
          hop(t, at - t - 1, at, true);
        }
        if (collective != Collective::reduceScatter) {
          hop(isAllreduce ? n - 1 + t : t, at - t, at, false);
        }
      }
    }
  }
}

/// Bandwidth that the rings found so far leave to another one between two GPUs, over the same shortest routes.
class Spare {
public:
  explicit Spare(Builder& builder)
      : m_builder(builder),
        m_finder(builder.fabric(), schedule::Direction::out),
        m_uses(builder.fabric().arcs().size(), 0) {}

  /// The minimum bandwidth / (rings + 1) on the way; 0 where no route is.
  Rational between(Rank from, Rank to) {
    const auto& arcs = arcsOf(from, to);
    if (arcs.empty()) {
      return 0;
    }
    std::optional<Rational> min;
    for (const int arc : arcs) {
      const Rational share = m_builder.fabric().arcs()[arc].bandwidth.gigabytesPerSecond() / Rational(m_uses[arc] + 1);
      min = min ? std::min(*min, share) : share;
    }
    return *min;
  }

  void use(std::span<const NodeIndex> nodes) {
    for (std::size_t i = 1; i < nodes.size(); ++i) {
      ++m_uses[m_finder.find(nodes[i - 1], nodes[i])];
    }
  }
  void use(Rank from, Rank to) {
    for (const int arc : arcsOf(from, to)) {
      ++m_uses[arc];
    }
  }
  PathId route(Rank from, Rank to) {
    (void)arcsOf(from, to);
    return m_routes.at({from, to}).route;
  }

private:
  struct Route {
    PathId route = kNoRoute;
    std::vector<int> arcs;
  };

  const std::vector<int>& arcsOf(Rank from, Rank to) {
    const auto [found, isNew] = m_routes.try_emplace({from, to});
    if (isNew) {
      const auto gpus = m_builder.fabric().gpus();
      const auto nodes = m_builder.nodesBetween(gpus[from], gpus[to]);
      for (std::size_t i = 1; i < nodes.size(); ++i) {
        found->second.arcs.push_back(m_finder.find(nodes[i - 1], nodes[i]));
      }
      found->second.route = nodes.empty() ? kNoRoute : m_builder.addRoute(nodes);
    }
    return found->second.arcs;
  }

  Builder& m_builder;
  schedule::ArcFinder m_finder;
  std::vector<std::int64_t> m_uses;
  std::map<std::pair<Rank, Rank>, Route> m_routes;
};

/// Depth-first search for a path through all given GPUs, from the first to the last of them (or back to the first where
/// `isCycle`), over pairs with at least `min` to spare. Gives up after a fixed number of tries.
class PathSearch {
public:
  PathSearch(Spare& spare, const std::vector<Rank>& gpus, Rational min, bool isCycle)
      : m_gpus(gpus), m_isCycle(isCycle), m_isUsed(gpus.size(), 0), m_next(gpus.size()) {
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      for (std::size_t j = 0; j < gpus.size(); ++j) {
        // Those that follow come first, so that the order of the fabric is kept where all are equal.
        const std::size_t to = (i + 1 + j) % gpus.size();
        if (to != i && spare.between(gpus[i], gpus[to]) >= min) {
          m_next[i].push_back(to);
        }
      }
    }
  }

  /// Empty where none was found.
  std::vector<Rank> run() {
    m_path = {0};
    m_isUsed[0] = 1;
    std::vector<Rank> ranks;
    if (extend()) {
      for (const std::size_t i : m_path) {
        ranks.push_back(m_gpus[i]);
      }
    }
    return ranks;
  }

private:
  static constexpr int kMaxTries = 20'000;

  bool extend() {
    const std::size_t last = m_gpus.size() - 1;
    const std::size_t at = m_path.back();
    if (m_path.size() == m_gpus.size()) {
      return m_isCycle ? std::find(m_next[at].begin(), m_next[at].end(), 0U) != m_next[at].end() : at == last;
    }
    for (const std::size_t to : m_next[at]) {
      const bool isTooEarly = !m_isCycle && to == last && m_path.size() + 1 < m_gpus.size();
      if (m_isUsed[to] != 0 || isTooEarly) {
        continue;
      }
      if (++m_tries > kMaxTries) {
        return false;
      }
      m_isUsed[to] = 1;
      m_path.push_back(to);
      if (extend()) {
        return true;
      }
      m_path.pop_back();
      m_isUsed[to] = 0;
    }
    return false;
  }

  const std::vector<Rank>& m_gpus;
  bool m_isCycle;
  std::vector<char> m_isUsed;
  std::vector<std::vector<std::size_t>> m_next;
  std::vector<std::size_t> m_path;
  int m_tries = 0;
};

/// The order of a box's GPUs from the first to the last of the list that leaves the narrowest hop as wide as can be
/// found; or a cycle.
std::vector<Rank> widestOrder(Spare& spare, const std::vector<Rank>& gpus, bool isCycle) {
  if (gpus.size() < 3) {
    return gpus;
  }
  std::set<Rational, std::greater<>> widths;
  for (const Rank from : gpus) {
    for (const Rank to : gpus) {
      if (from != to) {
        widths.insert(spare.between(from, to));
      }
    }
  }
  for (const Rational& width : widths) {
    auto order = PathSearch(spare, gpus, width, isCycle).run();
    if (!order.empty() && width.isPositive()) {
      return order;
    }
  }
  return {};
}

/// A place where traffic leaves a box, and the GPU that stands nearest to it.
struct Gate {
  NodeIndex node = 0;
  Rank gpu = 0;
};

/// Gates of the boxes, in the order of the fabric's nodes.
class Gates {
public:
  explicit Gates(Builder& builder) : m_builder(builder), m_boxes(boxesOf(builder.fabric())) {
    const fabric::Fabric& fabric = builder.fabric();
    std::map<std::string, int> boxNumber;
    for (std::size_t box = 0; box < m_boxes.size(); ++box) {
      boxNumber[fabric.nodes()[fabric.gpus()[m_boxes[box].front()]].box] = static_cast<int>(box);
    }
    m_gates.resize(m_boxes.size());
    std::vector<char> leaves(fabric.nodeCount(), 0);
    for (const fabric::Arc& arc : fabric.arcs()) {
      if (fabric.nodes()[arc.tail].box != fabric.nodes()[arc.head].box) {
        leaves[arc.tail] = 1;
      }
    }
    for (NodeIndex node = 0; node < fabric.nodeCount(); ++node) {
      const auto box = boxNumber.find(fabric.nodes()[node].box);
      if (leaves[node] != 0 && box != boxNumber.end()) {
        addGate(box->second, node);
      }
    }
  }

  [[nodiscard]] const std::vector<std::vector<Rank>>& boxes() const { return m_boxes; }
  [[nodiscard]] const std::vector<Gate>& of(int box) const { return m_gates[box]; }
  /// Gates that every box has.
  [[nodiscard]] int count() const {
    std::size_t min = m_gates.front().size();
    for (const auto& gates : m_gates) {
      min = std::min(min, gates.size());
    }
    return static_cast<int>(min);
  }

private:
  /// The nearest GPU; among equally near ones the one with the fewest gates.
  void addGate(int box, NodeIndex node) {
    const auto gpus = m_builder.fabric().gpus();
    std::optional<Gate> best;
    std::pair<std::size_t, int> bestCost;
    for (const Rank gpu : m_boxes[box]) {
      const auto nodes = gpus[gpu] == node ? std::vector<NodeIndex>{node} : m_builder.nodesBetween(gpus[gpu], node);
      const std::pair<std::size_t, int> cost{nodes.size(), m_gatesOfGpu[gpu]};
      if (!nodes.empty() && (!best || cost < bestCost)) {
        best = Gate{node, gpu};
        bestCost = cost;
      }
    }
    if (best) {
      ++m_gatesOfGpu[best->gpu];
      m_gates[box].push_back(*best);
    }
  }

  Builder& m_builder;
  std::vector<std::vector<Rank>> m_boxes;
  std::vector<std::vector<Gate>> m_gates;
  std::map<Rank, int> m_gatesOfGpu;
};

class MultiRing {
public:
  explicit MultiRing(Builder& builder) : m_builder(builder), m_gates(builder), m_spare(builder) {}

  std::vector<Ring> run(int count) {
    const int gates = gateCount();
    chooseShifts(gates);
    std::vector<Ring> rings;
    for (int r = 0; r < count; ++r) {
      rings.push_back(ring(r, gates));
    }
    return rings;
  }
  [[nodiscard]] int gateCount() const { return m_gates.count(); }

private:
  [[nodiscard]] int boxCount() const { return static_cast<int>(m_gates.boxes().size()); }

  /// m_shift[b]: ring r enters box b through gate r + m_shift[b], and leaves through that of the next box, so that a
  /// ring stays on one rail from box to box. Neighbours differ, since a box is entered and left at different GPUs.
  void chooseShifts(int count) {
    m_shift.assign(boxCount(), 0);
    int shift = 0;
    for (int d = 1; d < count && shift == 0; ++d) {
      shift = isFree(count, d) && (boxCount() % 2 == 0 || isFree(count, 2 * d)) ? d : 0;
    }
    for (int box = 1; box < boxCount(); box += 2) {
      m_shift[box] = shift;
    }
    if (boxCount() % 2 == 1 && boxCount() > 1) {
      m_shift.back() = 2 * shift % count;
    }
  }

  /// Gates that lie `shift` apart have different GPUs in every box.
  [[nodiscard]] bool isFree(int count, int shift) const {
    for (int box = 0; box < boxCount(); ++box) {
      for (int gate = 0; gate < count; ++gate) {
        if (m_gates.of(box)[gate].gpu == m_gates.of(box)[(gate + shift) % count].gpu) {
          return false;
        }
      }
    }
    return true;
  }

  Ring ring(int r, int count) {
    Ring ring;
    std::vector<Gate> entries;
    std::vector<Gate> exits;
    for (int box = 0; box < boxCount(); ++box) {
      const int next = (box + 1) % boxCount();
      entries.push_back(m_gates.of(box)[(r + m_shift[box]) % count]);
      exits.push_back(m_gates.of(box)[(r + m_shift[next]) % count]);
      // A box that would be entered and left at the same GPU is left at the GPU before it.
      const auto& gpus = m_gates.boxes()[box];
      if (exits.back().gpu == entries.back().gpu && gpus.size() > 1) {
        const auto at = std::find(gpus.begin(), gpus.end(), entries.back().gpu);
        exits.back().gpu = at == gpus.begin() ? gpus.back() : *(at - 1);
        if (m_builder.fabric().nodes()[exits.back().node].kind == fabric::NodeKind::gpu) {
          m_builder.refuse("A box is connected through only one GPU, so no ring can enter and leave it",
                           "choose multitree, blink or direct");
        }
      }
    }
    for (int box = 0; box < boxCount(); ++box) {
      addBox(ring, box, entries[box], exits[box]);
      const int next = (box + 1) % boxCount();
      addHop(ring, exits[box], entries[next]);
    }
    return ring;
  }

  void addBox(Ring& ring, int box, const Gate& entry, const Gate& exit) {
    std::vector<Rank> gpus = m_gates.boxes()[box];
    // From the entry on in the fabric's order, with the exit last.
    std::rotate(gpus.begin(), std::find(gpus.begin(), gpus.end(), entry.gpu), gpus.end());
    if (exit.gpu != entry.gpu) {
      gpus.erase(std::find(gpus.begin(), gpus.end(), exit.gpu));
      gpus.push_back(exit.gpu);
    }
    gpus = widestOrder(m_spare, gpus, false);
    if (gpus.empty()) {
      m_builder.refuse("No ring through the GPUs of a box was found", "choose multitree or blink");
    }
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      ring.ranks.push_back(gpus[i]);
      if (i + 1 < gpus.size()) {
        ring.routes.push_back(m_spare.route(gpus[i], gpus[i + 1]));
        m_spare.use(gpus[i], gpus[i + 1]);
      }
    }
  }

  void addHop(Ring& ring, const Gate& from, const Gate& to) {
    const auto gpus = m_builder.fabric().gpus();
    std::vector<NodeIndex> nodes{gpus[from.gpu]};
    const auto go = [&](NodeIndex target) {
      if (nodes.back() == target) {
        return;
      }
      const auto leg = m_builder.nodesBetween(nodes.back(), target);
      if (leg.empty()) {
        m_builder.refuse("The boxes are connected only through GPUs", "choose shifted-ring, multitree or blink");
      }
      nodes.insert(nodes.end(), leg.begin() + 1, leg.end());
    };
    go(from.node);
    go(to.node);
    go(gpus[to.gpu]);
    ring.routes.push_back(m_builder.addRoute(nodes));
    m_spare.use(nodes);
  }

  Builder& m_builder;
  Gates m_gates;
  Spare m_spare;
  std::vector<int> m_shift;
};

std::vector<Rank> allRanks(const Builder& builder) {
  std::vector<Rank> ranks;
  for (const auto& box : boxesOf(builder.fabric())) {
    ranks.insert(ranks.end(), box.begin(), box.end());
  }
  return ranks;
}

Ring closed(Spare& spare, std::vector<Rank> order) {
  Ring ring{std::move(order), {}};
  for (std::size_t i = 0; i < ring.ranks.size(); ++i) {
    const Rank to = ring.ranks[(i + 1) % ring.ranks.size()];
    ring.routes.push_back(spare.route(ring.ranks[i], to));
    spare.use(ring.ranks[i], to);
  }
  return ring;
}

/// As many cycles over all GPUs as still have the width of the first one.
std::vector<Ring> ringsInside(Builder& builder, int max) {
  Spare spare(builder);
  std::vector<Ring> rings;
  std::optional<Rational> width;
  while (static_cast<int>(rings.size()) < max) {
    const auto order = widestOrder(spare, allRanks(builder), true);
    if (order.empty()) {
      break;
    }
    Rational min = spare.between(order.back(), order.front());
    for (std::size_t i = 1; i < order.size(); ++i) {
      min = std::min(min, spare.between(order[i - 1], order[i]));
    }
    if (width && min < *width) {
      break;
    }
    width = min;
    rings.push_back(closed(spare, order));
  }
  return rings;
}

}  // namespace

void addRing(Builder& builder) {
  if (boxesOf(builder.fabric()).size() > 1) {
    MultiRing rings(builder);
    if (rings.gateCount() > 0) {
      addRings(builder, rings.run(1));
      return;
    }
  }
  const auto rings = ringsInside(builder, 1);
  if (rings.empty()) {
    builder.refuse("No ring through all GPUs was found", "choose multitree or blink");
  }
  addRings(builder, rings);
}

void addMultiRing(Builder& builder) {
  if (boxesOf(builder.fabric()).size() > 1) {
    MultiRing rings(builder);
    if (const int count = rings.gateCount(); count > 0) {
      addRings(builder, rings.run(count));
      return;
    }
  }
  constexpr int kMaxRings = 16;
  const auto rings = ringsInside(builder, kMaxRings);
  if (rings.empty()) {
    builder.refuse("No ring through all GPUs was found", "choose multitree or blink");
  }
  addRings(builder, rings);
}

void addShiftedRing(Builder& builder) {
  const fabric::Fabric& fabric = builder.fabric();
  for (const fabric::NodeIndex gpu : fabric.gpus()) {
    for (const fabric::Arc& arc : fabric.arcs()) {
      if (arc.tail == gpu && fabric.nodes()[arc.head].kind != fabric::NodeKind::gpu) {
        builder.refuse("Shifted rings run over direct links between GPUs; this fabric has switches",
                       "choose ring or multi-ring");
      }
    }
  }
  constexpr int kMaxRings = 16;
  const auto rings = ringsInside(builder, kMaxRings);
  if (rings.empty()) {
    builder.refuse("No ring over direct links through all GPUs was found", "choose multitree or blink");
  }
  addRings(builder, rings);
}

}  // namespace coppice::baselines
