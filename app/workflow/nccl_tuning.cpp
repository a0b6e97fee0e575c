// SPDX-License-Identifier: Apache-2.0
#include "workflow/nccl_tuning.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "fabric/gpu_boxes.hpp"
#include "fabric/likely_gpu.hpp"
#include "nccl/reaches.hpp"
#include "workflow/sizes.hpp"

namespace coppice::workflow {
namespace {

constexpr std::array kCollectives{Collective::allreduce, Collective::allgather, Collective::reduceScatter,
                                  Collective::broadcast, Collective::reduce};
constexpr int kLeastSize = 10;  // binary logarithms
constexpr int kMostSize = 34;
constexpr std::string_view kGrace[] = {"gh200", "gb200", "gb300"};

/// A CPU of Arm beside the GPU.
bool hasGrace(const fabric::Fabric& fabric) {
  const std::string names = fabric::namesOf(fabric);
  return std::any_of(std::begin(kGrace), std::end(kGrace),
                     [&](std::string_view name) { return names.find(name) != std::string::npos; });
}

/// Whether NCCL sends with LL128 on such paths (tuning.cc).
bool allowsLl128(const nccl::Graph& graph, int capability) {
  constexpr std::array<std::string_view, 3> kInBox{"LOC", "NVL", "NVB"};
  constexpr std::array<std::string_view, 6> kToNic{"LOC", "NVL", "NVB", "PIX", "PXB", "PXN"};
  const auto toNicEnd = capability >= 90 ? kToNic.end() : kToNic.end() - 1;
  return capability >= 70 && std::find(kInBox.begin(), kInBox.end(), graph.typeIntra) != kInBox.end() &&
         std::find(kToNic.begin(), toNicEnd, graph.typeInter) != toNicEnd;
}

/// NCCL's input of tuning for these graphs.
nccl::TuningInput tuningInput(const fabric::Fabric& fabric, const nccl::FoundGraphs& found, int capability) {
  nccl::TuningInput input{.ranks = fabric.gpuCount(),
                          .nodes = static_cast<int>(found.kindOf.size()),
                          .computeCapability = capability,
                          .channels = static_cast<int>(found.channels.rings.size())};
  const auto rateOf = [](const std::string& text) {
    const auto speed = Rational::parse(text);
    return speed ? speed->toDouble() : 0;
  };
  const auto tuned = [&](const nccl::Graph& graph) {
    return nccl::TunedGraph{.channels = graph.channelCount,
                            .intraGBps = rateOf(graph.speedIntra),
                            .interGBps = rateOf(graph.speedInter),
                            .pattern = graph.pattern,
                            .isSame = graph.sameChannels != 0};
  };
  const nccl::Graph& ring = *found.graphs.find(nccl::kRingGraph);
  input.ring = tuned(ring);
  input.tree = tuned(*found.graphs.find(nccl::kTreeGraph));
  if (found.nvls) {
    input.nvls = tuned(*found.nvls);
  }
  input.hasNvlink = ring.typeIntra == "NVL";
  input.hasLl128 = allowsLl128(ring, capability);
  input.isX86 = !hasGrace(fabric);
  return input;
}

/// NCCL's table, with no more than the rings, the trees and NVLS reach.
Result<std::vector<nccl::Estimate>> limitedTable(nccl::Ways& ways, const nccl::FoundGraphs& found,
                                                 const nccl::TuningInput& input, Collective collective) {
  const auto reaches = nccl::reachesOf(ways, found.channels, collective);
  if (!reaches) {
    return reaches.error();
  }
  std::vector<nccl::Estimate> table = nccl::tuningTable(input, collective);
  for (nccl::Estimate& estimate : table) {
    estimate = nccl::limitedBy(*reaches, std::move(estimate));
  }
  return table;
}

std::string settingOf(const ImportedRun& run, std::string_view name) {
  for (const std::string& setting : run.log.settings) {
    if (setting.starts_with(name) && setting.size() > name.size() && setting[name.size()] == '=') {
      return setting.substr(name.size() + 1);
    }
  }
  return {};
}

/// The times of a run with what ran.
std::vector<nccl::TunedPoint> pointsOf(const ImportedRun& run, const nccl::TuningInput& input,
                                       const std::vector<nccl::Estimate>& table, Collective collective) {
  const std::string algorithm = settingOf(run, "NCCL_ALGO");
  const std::string protocol = settingOf(run, "NCCL_PROTO");
  RunOnFabric on;
  on.collective = collective;
  std::vector<nccl::TunedPoint> points;
  for (const RunSize& size : runSizes(run, on)) {
    if (size.collective != toString(collective) || !size.measured) {
      continue;
    }
    nccl::TunedPoint point{
        .algorithm = size.algorithm, .protocol = size.protocol, .bytes = size.bytes, .time = *size.measured};
    if (point.algorithm.empty()) {
      std::vector<nccl::Estimate> asked = table;
      std::erase_if(asked, [&](const nccl::Estimate& estimate) {
        return (!algorithm.empty() && estimate.algorithm != algorithm) ||
               (!protocol.empty() && estimate.protocol != protocol);
      });
      if (const nccl::Estimate* choice = nccl::tunedChoice(input, asked, size.bytes)) {
        point.algorithm = choice->algorithm;
        point.protocol = choice->protocol;
      }
    }
    points.push_back(std::move(point));
  }
  return points;
}

/// Of powers of two; from the least to the most there is.
std::vector<nccl::TuningBand> bandsOf(const nccl::TuningInput& input, const std::vector<nccl::Estimate>& table,
                                      Collective collective) {
  std::vector<nccl::TuningBand> bands;
  for (int size = kLeastSize; size <= kMostSize; ++size) {
    const std::int64_t bytes = std::int64_t{1} << size;
    const nccl::Estimate* choice = nccl::tunedChoice(input, table, bytes);
    if (choice == nullptr ||
        (!bands.empty() && bands.back().algorithm == choice->algorithm && bands.back().protocol == choice->protocol)) {
      continue;
    }
    if (!bands.empty()) {
      bands.back().maxBytes = bytes - 1;
    }
    bands.push_back({.collective = collective,
                     .minBytes = bands.empty() ? 0 : bytes,
                     .maxBytes = std::numeric_limits<std::int64_t>::max(),
                     .algorithm = choice->algorithm,
                     .protocol = choice->protocol,
                     .channels = nccl::tunedChannels(input, choice->algorithm)});
  }
  return bands;
}

/// GPUs as ranks of a communicator: boxes are its hosts.
nccl::Communicator communicatorOf(const fabric::Fabric& fabric) {
  nccl::Communicator made{.ranks = fabric.gpuCount()};
  made.places.resize(static_cast<std::size_t>(made.ranks));
  for (const fabric::GpuBox& box : fabric::gpuBoxes(fabric).boxes) {
    made.hosts.push_back(box.name);
    for (std::size_t device = 0; device < box.ranks.size(); ++device) {
      made.places[box.ranks[device]] = {.host = box.name, .device = static_cast<int>(device)};
    }
  }
  return made;
}

}  // namespace

Result<NcclBands> ncclBands(nccl::Ways& ways, const NcclGraphs& graphs, int computeCapability, const ImportedRun* run) {
  const nccl::TuningInput input = tuningInput(ways.fabric(), graphs.best, computeCapability);
  NcclBands made;
  for (const Collective collective : kCollectives) {
    auto limited = limitedTable(ways, graphs.best, input, collective);
    if (!limited) {
      return limited.error();
    }
    std::vector<nccl::Estimate> table = *std::move(limited);
    if (run != nullptr) {
      // What was measured ran with NCCL's own rings, or with those of an earlier file.
      const nccl::TuningInput stockInput = tuningInput(ways.fabric(), graphs.stock, computeCapability);
      const auto stock = limitedTable(ways, graphs.stock, stockInput, collective);
      if (!stock) {
        return stock.error();
      }
      const std::vector<nccl::TunedPoint> points = pointsOf(*run, stockInput, *stock, collective);
      const std::vector<nccl::TuningFit> fits = nccl::fitTuning(stockInput, *stock, points);
      table = nccl::fitted(std::move(table), fits);
      made.points += static_cast<int>(points.size());
    }
    const std::vector<nccl::TuningBand> own = bandsOf(input, table, collective);
    made.bands.insert(made.bands.end(), own.begin(), own.end());
  }
  return made;
}

std::vector<nccl::TuningBand> stockBands(const fabric::Fabric& fabric, const nccl::FoundGraphs& found,
                                         int computeCapability, Collective collective) {
  const nccl::TuningInput input = tuningInput(fabric, found, computeCapability);
  return bandsOf(input, nccl::tuningTable(input, collective), collective);
}

std::string bandsText(const std::vector<nccl::TuningBand>& bands) {
  std::string text;
  for (std::size_t i = 0; i < bands.size(); ++i) {
    const bool isLast = i + 1 == bands.size();
    text += (i == 0 ? "" : isLast ? ", then " : ", ") + bands[i].algorithm + " " + bands[i].protocol;
    text += isLast ? "" : " below " + byteSize(bands[i].maxBytes + 1);
  }
  return text;
}

Json bandsJson(const std::vector<nccl::TuningBand>& bands) {
  Json list = Json::array();
  for (const nccl::TuningBand& band : bands) {
    list.push_back({{"collective", toString(band.collective)},
                    {"min_bytes", band.minBytes},
                    {"max_bytes", band.maxBytes},
                    {"algorithm", band.algorithm},
                    {"protocol", band.protocol},
                    {"channels", band.channels}});
  }
  return list;
}

Result<ImportedRun> expectedRun(const fabric::Fabric& fabric, int computeCapability, const Progress& progress) {
  constexpr int kMostListed = 33;
  nccl::Ways ways(fabric, progress);
  auto found = nccl::searchAsNccl(ways, {.computeCapability = computeCapability}, progress);
  if (!found) {
    return found.error();
  }
  ImportedRun run;
  const nccl::TuningInput input = tuningInput(fabric, *found, computeCapability);
  nccl::Communicator communicator = communicatorOf(fabric);
  communicator.channels = input.channels;
  for (const Collective collective : kCollectives) {
    const std::vector<nccl::Estimate> table = nccl::tuningTable(input, collective);
    for (int size = kLeastSize; size <= kMostListed; ++size) {
      const std::int64_t bytes = std::int64_t{1} << size;
      if (const nccl::Estimate* choice = nccl::tunedChoice(input, table, bytes)) {
        communicator.choices.push_back({.collective = std::string(toString(collective)),
                                        .bytes = bytes,
                                        .loggedBytes = bytes,
                                        .algorithm = choice->algorithm,
                                        .protocol = choice->protocol,
                                        .channels = nccl::tunedChannels(input, choice->algorithm),
                                        .time = nccl::estimatedTime(input, *choice, bytes)});
      }
    }
    communicator.estimates.insert(communicator.estimates.end(), table.begin(), table.end());
  }
  run.log.library = "NCCL";
  run.log.communicators.push_back(std::move(communicator));
  run.expectation = {std::move(found->channels), input, nccl::uncertainties()};
  return run;
}

}  // namespace coppice::workflow
