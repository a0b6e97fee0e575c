// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/rational.hpp"
#include "baselines/builder.hpp"
#include "baselines/gates.hpp"
#include "fabric/gpu_boxes.hpp"

/// Rings: one, one for each NIC of a box as NCCL builds them, and link-disjoint Hamiltonian cycles.
namespace coppice::baselines {
namespace {

using fabric::NodeIndex;
using fabric::Rank;
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

Spare spareOf(Builder& builder) {
  return {builder.fabric(), builder.finder(), builder.paths()};
}

class MultiRing {
public:
  explicit MultiRing(Builder& builder)
      : m_builder(builder), m_gates(builder.fabric(), builder.finder()), m_spare(spareOf(builder)) {}

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
  for (const auto& box : fabric::gpuBoxes(builder.fabric()).ranks()) {
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
  Spare spare = spareOf(builder);
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
  if (fabric::gpuBoxes(builder.fabric()).boxes.size() > 1) {
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
  if (fabric::gpuBoxes(builder.fabric()).boxes.size() > 1) {
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
