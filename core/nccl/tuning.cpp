// SPDX-License-Identifier: Apache-2.0
#include "nccl/tuning.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/ascii.hpp"
#include "nccl/graph.hpp"

namespace coppice::nccl {
namespace {

constexpr int kLl = 0;
constexpr int kLl128 = 1;
constexpr int kSimple = 2;

using Triple = std::array<double, 3>;

/// V, A, H, B: the generation of the GPU, as an index.
int generationOf(int capability) {
  return capability < 80 ? 0 : capability < 90 ? 1 : capability < 100 ? 2 : 3;
}

/// One node, two, or more, as an index.
int scaleOf(int nodes) {
  return std::min(nodes, 3) - 1;
}

constexpr Triple kTreeChannel[] = {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}};
constexpr Triple kLl128Channel[] = {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}};
constexpr double kRingLl128Channel[] = {20, 20, 36.7, 40};
constexpr double kLlMax[] = {39, 87.7, 141, 282};
constexpr Triple kLlMaxIntel{0, 39, 20.4};
constexpr Triple kLlMaxAmd{0, 22.5, 19};

double llMax(const TuningInput& input) {
  if (input.nodes == 1) {
    return kLlMax[generationOf(input.computeCapability)];
  }
  return (input.isAmd ? kLlMaxAmd : kLlMaxIntel)[scaleOf(input.nodes)];
}

double log2Of(int nodes) {
  return static_cast<double>(std::bit_width(static_cast<unsigned>(nodes))) - 1;
}

/// Of a tree's simple protocol between nodes, in microseconds: what every algorithm takes with one GPU a node.
constexpr Triple kTreeNet{5, 8.5, 14};

double busOf(const TunedGraph& graph, int nodes) {
  return graph.channels * (nodes <= 2 ? graph.intraGBps : graph.interGBps);
}

double stepsOf(Collective collective, int ranks) {
  switch (collective) {
    case Collective::allreduce:
      return 2.0 * (ranks - 1);
    case Collective::allgather:
    case Collective::reduceScatter:
      return ranks - 1.0;
    default:
      return ranks;
  }
}

class Table {
public:
  Table(const TuningInput& input, Collective collective) : m_input(input), m_collective(collective) {}

  std::vector<Estimate> make() {
    const bool isTuned = m_collective == Collective::allreduce || m_collective == Collective::allgather ||
                         m_collective == Collective::reduceScatter || m_collective == Collective::broadcast ||
                         m_collective == Collective::reduce;
    if (!isTuned || m_input.ranks < 2) {
      return {};
    }
    if (m_collective == Collective::allreduce && m_input.tree.channels > 0) {
      addTree();
    }
    if (m_input.ring.channels > 0) {
      addRing();
    }
    if (m_input.nvls && m_input.nvls->channels > 1 && m_input.computeCapability >= 90) {
      addNvls();
    }
    const bool isShards = m_collective == Collective::allgather || m_collective == Collective::reduceScatter;
    if (isShards && hasOneGpuPerNode() && m_input.tree.channels > 0 && m_input.computeCapability >= 60) {
      addPat();
    }
    return std::move(m_table);
  }

private:
  void add(std::string_view algorithm, int protocol, double latency, double bandwidth) {
    if (bandwidth > 0 && (protocol != kLl128 || m_input.hasLl128)) {
      m_table.push_back({.collective = std::string(toString(m_collective)),
                         .algorithm = std::string(algorithm),
                         .protocol = std::string(kProtocols[protocol]),
                         .latency = Microseconds(latency),
                         .algbw = Throughput(bandwidth)});
    }
  }

  [[nodiscard]] bool hasOneGpuPerNode() const { return m_input.nodes == m_input.ranks; }

  void addTree() {
    const double bus = busOf(m_input.tree, m_input.nodes);
    const int generation = generationOf(m_input.computeCapability);
    const int scale = scaleOf(m_input.nodes);
    const int channels = m_input.tree.channels;
    const double full = std::min(0.92 * bus, channels * kTreeChannel[generation][scale]);
    const int perNode = m_input.ranks / m_input.nodes;
    const Triple base{6.8, 14, 8.4};
    const Triple nvlink{0.6, 1.25, 4};
    const Triple pci{1, 1.9, 4};
    for (int protocol = kLl; protocol <= kSimple; ++protocol) {
      double bandwidth = full;
      if (protocol == kLl) {
        bandwidth = std::min(full / 3.8, llMax(m_input));
      } else if (protocol == kLl128) {
        bandwidth =
            std::min(full * (m_input.nodes == 1 ? 7.0 / 9 : 15.0 / 16), channels * kLl128Channel[generation][scale]);
      }
      bandwidth *= m_input.tree.pattern == kTree ? 0.85 : 1;
      const double intra = (m_input.hasNvlink ? nvlink : pci)[protocol];
      add("Tree", protocol, base[protocol] + 2 * ((perNode - 1) * intra + log2Of(m_input.nodes) * kTreeNet[protocol]),
          bandwidth / 2);
    }
  }

  void addRing() {
    const double bus = busOf(m_input.ring, m_input.nodes);
    const int generation = generationOf(m_input.computeCapability);
    const double steps = stepsOf(m_collective, m_input.ranks);
    const Triple base{6.6, 14, 8.4};
    const Triple nvlink{0.6, 1.9, 3.4};
    const Triple pci{1, 2.5, 5.7};
    const Triple net{2.7, 4, 14};
    for (int protocol = kLl; protocol <= kSimple; ++protocol) {
      double bandwidth = bus;
      if (protocol == kLl) {
        bandwidth = std::min(0.5 * bus, llMax(m_input));
      } else if (protocol == kLl128) {
        bandwidth = std::min(0.92 * bus, m_input.ring.channels * kRingLl128Channel[generation]);
      }
      const double intra = (m_input.hasNvlink ? nvlink : pci)[protocol];
      const double inter = (hasOneGpuPerNode() ? kTreeNet : net)[protocol];
      double latency = base[protocol];
      if (m_collective == Collective::broadcast || m_collective == Collective::reduce) {
        constexpr double kTreeSimpleHop = 4;  // in a node, of a tree
        const double own = m_input.nodes > 1 ? net[protocol] : intra;
        const double hop = protocol != kSimple ? own : m_input.nodes > 1 ? kTreeNet[kSimple] : kTreeSimpleHop;
        latency += m_input.ring.isSame ? own : m_input.ranks * hop;
      } else {
        const double overhead = m_input.nodes == 1 ? 0 : (m_input.isAmd ? 2.0 : 1.0) * (protocol == kSimple ? 3 : 1);
        const double across = m_collective == Collective::allreduce ? 2.0 * (m_input.nodes - 1) : m_input.nodes - 1.0;
        latency += (steps - across) * std::max(intra, overhead) + across * inter;
      }
      add("Ring", protocol, latency, bandwidth * m_input.ranks / steps);
    }
  }

  void addNvls() {
    const TunedGraph& graph = *m_input.nvls;
    const bool isBlackwell = m_input.computeCapability >= 100;
    const double perNode = static_cast<double>(m_input.ranks) / m_input.nodes;
    const bool isAllreduce = m_collective == Collective::allreduce;
    if (m_collective == Collective::broadcast || m_collective == Collective::reduce) {
      return;
    }
    const double inside = graph.intraGBps * (isBlackwell ? 0.74 : 0.85) * (graph.channels - 1) / graph.channels *
                          (isAllreduce ? 2 : (perNode - 1) / perNode);
    const double steps = stepsOf(m_collective, m_input.ranks);
    if (m_input.nodes == 1) {
      const double bus = graph.channels * std::min(inside, graph.interGBps);
      add("NVLS", kSimple, 25, isAllreduce ? bus * m_input.ranks / steps : bus);
    } else if (isAllreduce) {
      const bool isTwo = m_input.nodes == 2;
      const double cap = isBlackwell ? (isTwo ? 96 : 80) : (isTwo ? 57.7 : 45.5);
      const double bus = graph.channels * std::min({inside, (isTwo ? 2 : 1) * graph.interGBps, cap});
      const double inter = hasOneGpuPerNode() ? kTreeNet[kSimple] : 20.9;
      add("NVLSTree", kSimple, 25 + 2 * log2Of(m_input.nodes) * inter, bus * m_input.ranks / steps);
    }
  }

  void addPat() {
    add("PAT", kSimple, 8 + log2Of(m_input.nodes) * kTreeNet[kSimple] / 3.5 + m_input.ranks * 2.8,
        0.75 * busOf(m_input.tree, m_input.nodes));
  }

  const TuningInput& m_input;
  Collective m_collective;
  std::vector<Estimate> m_table;
};

/// Of a tree's bandwidth, by the binary logarithm of bytes / 64.
constexpr double kTreeFactors[3][24] = {
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9}};

/// Parts of an estimated time over the time that was measured.
struct FitPoint {
  double latency = 0;
  double transfer = 0;
};

TuningFit fitOf(const std::vector<FitPoint>& points) {
  static constexpr double kMost = 16;
  constexpr double kAlike = 1e-9;  // of the determinant: all points have one ratio of the two parts
  if (points.empty()) {
    return {};
  }
  double ll = 0;
  double lt = 0;
  double tt = 0;
  double l = 0;
  double t = 0;
  for (const FitPoint& point : points) {
    ll += point.latency * point.latency;
    lt += point.latency * point.transfer;
    tt += point.transfer * point.transfer;
    l += point.latency;
    t += point.transfer;
  }
  TuningFit fit{.points = static_cast<int>(points.size())};
  const auto limited = [](double factor) { return std::clamp(factor, 1 / kMost, kMost); };
  const double determinant = ll * tt - lt * lt;
  if (determinant <= kAlike * ll * tt) {
    fit.latency = fit.transfer = limited((l + t) / (ll + 2 * lt + tt));
    return fit;
  }
  // Where one factor is out of range, the other is the best beside the limit.
  const double latency = (l * tt - t * lt) / determinant;
  const double transfer = (t * ll - l * lt) / determinant;
  fit.latency = limited(latency);
  fit.transfer = limited(transfer);
  if (fit.latency != latency) {
    fit.transfer = limited((t - fit.latency * lt) / tt);
  } else if (fit.transfer != transfer) {
    fit.latency = limited((l - fit.transfer * lt) / ll);
  }
  return fit;
}

}  // namespace

std::vector<TuningFit> fitTuning(const TuningInput& input, const std::vector<Estimate>& table,
                                 const std::vector<TunedPoint>& points) {
  std::vector<std::vector<FitPoint>> own(table.size());
  std::vector<FitPoint> all;
  for (const TunedPoint& point : points) {
    const auto entry = std::find_if(table.begin(), table.end(), [&](const Estimate& each) {
      return each.algorithm == point.algorithm && each.protocol == point.protocol;
    });
    if (entry == table.end() || !(point.time > Microseconds(0)) || point.bytes <= 0) {
      continue;
    }
    Estimate still = *entry;
    still.latency = Microseconds(0);
    const double transfer = estimatedTime(input, still, point.bytes) / point.time;
    const double whole = estimatedTime(input, *entry, point.bytes) / point.time;
    own[static_cast<std::size_t>(entry - table.begin())].push_back({whole - transfer, transfer});
    all.push_back({whole - transfer, transfer});
  }
  std::vector<TuningFit> fits;
  const TuningFit common = fitOf(all);
  for (const std::vector<FitPoint>& each : own) {
    fits.push_back(each.empty() ? common : fitOf(each));
  }
  return fits;
}

std::vector<Estimate> fitted(std::vector<Estimate> table, const std::vector<TuningFit>& fits) {
  for (std::size_t i = 0; i < table.size() && i < fits.size(); ++i) {
    table[i].latency *= fits[i].latency;
    table[i].algbw = table[i].algbw * (1 / fits[i].transfer);
  }
  return table;
}

std::vector<Estimate> tuningTable(const TuningInput& input, Collective collective) {
  return Table(input, collective).make();
}

int tunedChannels(const TuningInput& input, std::string_view algorithm) {
  constexpr int kHopper = 16;
  constexpr int kFew = 24;
  constexpr int kMany = 32;
  if (!algorithm.starts_with("NVLS")) {
    return input.channels;
  }
  if (input.computeCapability < 100) {
    return kHopper;
  }
  const double between = input.nvls ? input.nvls->interGBps : 0;
  const bool isFast = between >= 96 && input.ranks / input.nodes > 8;
  return input.nodes == 1 || (input.nodes > 2 && between >= 48 && !isFast) ? kFew : kMany;
}

Microseconds estimatedTime(const TuningInput& input, const Estimate& estimate, std::int64_t bytes) {
  double latency = estimate.latency.count();
  double bandwidth = estimate.algbw.gigabytesPerSecond();
  const auto protocol =
      std::find(std::begin(kProtocols), std::end(kProtocols), estimate.protocol) - std::begin(kProtocols);
  const bool isTree = estimate.algorithm == "Tree";
  const bool isNvlsTree = estimate.algorithm == "NVLSTree" && input.computeCapability >= 100 && input.isX86;
  if ((isTree || isNvlsTree) && estimate.collective == "allreduce" && protocol < 3) {
    const auto units = static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0)) >> 6;
    const int index = static_cast<int>(std::bit_width(units)) - 1;
    if (index >= 0 && index < (isTree ? 23 : 24)) {
      bandwidth *= kTreeFactors[protocol][index];
    }
  }
  if (estimate.algorithm == "Ring" && protocol == kSimple && estimate.collective == "allreduce" && input.nodes > 1 &&
      input.channels > 0 && bytes / (static_cast<std::int64_t>(input.channels) * input.ranks) >= 64) {
    latency *= generationOf(input.computeCapability) == 0 ? 1.9 : 1.4;
  }
  return Microseconds(latency + static_cast<double>(bytes) / (1000 * bandwidth));
}

const Estimate* tunedChoice(const TuningInput& input, const std::vector<Estimate>& table, std::int64_t bytes) {
  const Estimate* best = nullptr;
  Microseconds least{};
  for (const Estimate& estimate : table) {
    const Microseconds time = estimatedTime(input, estimate, bytes);
    if (best == nullptr || time < least) {
      best = &estimate;
      least = time;
    }
  }
  return best;
}

std::string writeTunerCsv(const std::vector<TuningBand>& bands, int nodes, int ranks) {
  const auto word = [](std::string_view text) { return text == "NVLSTree" ? "nvls_tree" : lowered(text); };
  std::string csv;
  for (const bool isOwn : {true, false}) {
    const std::string place = isOwn ? std::to_string(nodes) + "," + std::to_string(ranks) : "-1,-1";
    for (const TuningBand& band : bands) {
      // NVLS is not everywhere.
      const bool isRisky = !isOwn && band.algorithm.starts_with("NVLS");
      const std::string collective =
          band.collective == Collective::reduceScatter ? "reducescatter" : std::string(toString(band.collective));
      csv += collective + "," + std::to_string(band.minBytes) + "," + std::to_string(band.maxBytes) + "," +
             (isRisky ? "ring" : word(band.algorithm)) + "," + word(band.protocol) + "," +
             std::to_string(band.channels) + "," + place + "\n";
    }
  }
  return csv;
}

}  // namespace coppice::nccl
