// SPDX-License-Identifier: Apache-2.0
#include "nccl/nvls_search.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "nccl/search_speeds.hpp"

namespace coppice::nccl {
namespace {

constexpr int kFirstCapability = 90;
constexpr std::size_t kMostHeads = 32;  // NCCL_MAX_NVLS_ARITY

struct Head {
  int device = 0;
  int nic = -1;
};

class NvlsSearch {
public:
  NvlsSearch(const fabric::Fabric& fabric, const BoxModel& box, bool isAlone)
      : m_fabric(fabric),
        m_box(box),
        m_isAlone(isAlone),
        m_most(std::min(kMostHeads, box.gpus.size())),
        m_nearest(nearestGpus()) {
    for (const fabric::Rank rank : box.gpus) {
      m_toSwitches.push_back(toSwitches(fabric.gpus()[rank]));
    }
  }

  /// The most heads come first, then the highest speed.
  std::optional<Graph> run(const std::vector<Rational>& speeds) {
    std::vector<Head> best;
    std::size_t at = 0;
    for (std::size_t i = 0; i < speeds.size() && best.size() < m_most; ++i) {
      if (!best.empty() && speeds[i] <= speeds[at] * Rational(49, 100)) {
        break;
      }
      std::vector<Head> heads = headsAt(speeds[i], speeds[i]);
      const auto bandwidth = [&](const std::vector<Head>& of, std::size_t speed) {
        return speeds[speed] * Rational(static_cast<std::int64_t>(of.size()));
      };
      if (heads.size() > best.size() || (!best.empty() && bandwidth(heads, i) > bandwidth(best, at))) {
        best = std::move(heads);
        at = i;
      }
    }
    if (best.empty()) {
      return std::nullopt;
    }
    // The second pass: more per channel between boxes.
    std::size_t inter = at;
    while (inter > 0 && speeds[inter] < speeds[at] * Rational(2) &&
           headsAt(speeds[at], speeds[inter - 1]).size() == best.size()) {
      --inter;
    }
    return graphOf(best, speeds[at], speeds[inter]);
  }

private:
  /// What a GPU sends to the switches of its box that sum and copy; both directions alike, or the lesser.
  [[nodiscard]] Rational toSwitches(fabric::NodeIndex gpu) const {
    Rational out;
    Rational in;
    const auto isSwitch = [&](fabric::NodeIndex node) {
      const fabric::Node& each = m_fabric.nodes()[node];
      return each.kind == fabric::NodeKind::switchNode && each.multicast && each.aggregation &&
             each.box == m_fabric.nodes()[gpu].box;
    };
    for (const fabric::Arc& arc : m_fabric.arcs()) {
      if (arc.tail == gpu && isSwitch(arc.head)) {
        out += arc.bandwidth.gigabytesPerSecond();
      } else if (arc.head == gpu && isSwitch(arc.tail)) {
        in += arc.bandwidth.gigabytesPerSecond();
      }
    }
    return std::min(out, in);
  }

  /// By NIC: the GPU next to it; NICs with the same GPUs take them in turn.
  [[nodiscard]] std::vector<int> nearestGpus() const {
    std::vector<int> nearest;
    std::map<std::vector<int>, std::size_t> taken;
    for (int nic = 0; nic < (m_isAlone ? 0 : m_box.nics); ++nic) {
      std::vector<int> gpus;
      std::size_t least = 0;
      for (int gpu = 0; gpu < static_cast<int>(m_box.gpus.size()); ++gpu) {
        const std::size_t links = m_box.fromNic[nic][gpu].size();
        if (gpus.empty() || links < least) {
          gpus.clear();
          least = links;
        }
        if (links == least) {
          gpus.push_back(gpu);
        }
      }
      const std::size_t turn = taken[gpus]++;
      nearest.push_back(gpus[turn % gpus.size()]);
    }
    return nearest;
  }

  /// Whether each GPU has room for the data of all channels, and a head for its own twice.
  [[nodiscard]] bool fitsInside(const std::vector<Head>& heads, const Rational& speed) const {
    for (int gpu = 0; gpu < static_cast<int>(m_box.gpus.size()); ++gpu) {
      const auto own = std::count_if(heads.begin(), heads.end(), [&](const Head& head) { return head.device == gpu; });
      if (speed * Rational(static_cast<std::int64_t>(heads.size()) + own) > m_toSwitches[gpu]) {
        return false;
      }
    }
    return true;
  }

  [[nodiscard]] std::vector<Head> headsAt(const Rational& inside, const Rational& between) const {
    std::vector<Head> heads;
    if (m_isAlone) {
      for (std::size_t gpu = 0; gpu < m_most; ++gpu) {
        heads.push_back({.device = static_cast<int>(gpu)});
      }
      return fitsInside(heads, inside) ? heads : std::vector<Head>();
    }
    std::map<int, Rational> used;  // by arc
    for (int nic = 0; nic < m_box.nics && heads.size() < m_most; ++nic) {
      const int gpu = m_nearest[nic];
      const bool isHead = std::any_of(heads.begin(), heads.end(), [&](const Head& head) { return head.device == gpu; });
      const std::vector<int>& way = m_box.fromNic[nic][gpu];
      const bool hasRoom = std::all_of(way.begin(), way.end(), [&](int arc) {
        return used[arc] + between <= m_fabric.arcs()[arc].bandwidth.gigabytesPerSecond();
      });
      if (isHead || !hasRoom) {
        continue;
      }
      heads.push_back({.device = gpu, .nic = nic});
      if (!fitsInside(heads, inside)) {
        heads.pop_back();
        break;
      }
      for (const int arc : way) {
        used[arc] += between;
      }
    }
    return heads;
  }

  [[nodiscard]] Graph graphOf(const std::vector<Head>& heads, const Rational& inside, const Rational& between) const {
    Graph graph{.id = kNvlsGraph, .pattern = kNvls, .channelCount = static_cast<int>(heads.size())};
    graph.speedIntra = toDecimal(inside, 6);
    graph.speedInter = toDecimal(between, 6);
    graph.latencyInter = "0";
    graph.typeIntra = "NVL";
    graph.typeInter = "PIX";
    graph.sameChannels = 0;
    for (const Head& head : heads) {
      GraphChannel channel{.devices = {head.device}};
      if (head.nic >= 0) {
        const auto nic = static_cast<std::uint64_t>(head.nic);
        channel.nets = {nic, nic};
      }
      graph.channels.push_back(std::move(channel));
    }
    return graph;
  }

  const fabric::Fabric& m_fabric;
  const BoxModel& m_box;
  bool m_isAlone;
  std::size_t m_most;
  std::vector<int> m_nearest;          ///< by NIC
  std::vector<Rational> m_toSwitches;  ///< by GPU
};

}  // namespace

std::optional<Graph> nvlsGraph(const fabric::Fabric& fabric, const BoxModel& box, bool isAlone, int computeCapability) {
  if (computeCapability < kFirstCapability || box.gpus.size() < 2) {
    return std::nullopt;
  }
  return NvlsSearch(fabric, box, isAlone).run(searchSpeeds(computeCapability, isAlone));
}

}  // namespace coppice::nccl
