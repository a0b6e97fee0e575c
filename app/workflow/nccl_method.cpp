// SPDX-License-Identifier: Apache-2.0
#include "workflow/nccl_method.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <string_view>

#include "nccl/box_model.hpp"
#include "nccl/in_network_load.hpp"
#include "workflow/facts.hpp"
#include "workflow/proved_optimum.hpp"
#include "workflow/request.hpp"

namespace coppice::workflow {
namespace {

constexpr std::string_view kGrace[] = {"GH200", "GB200", "GB300"};

Result<Made> ncclRings(const fabric::Fabric& fabric, const Demand& demand, const OptionValues& values,
                       const Progress& progress) {
  nccl::Ways ways(fabric);
  const auto capability = static_cast<int>(values.integer("compute-capability").value_or(likelyCapability(fabric)));
  const auto found = nccl::searchAsNccl(ways, {.computeCapability = capability}, progress);
  if (!found) {
    return found.error();
  }
  auto schedule =
      ringSchedule(fabric, found->channels.rings, demand.collective, demand.root.value_or(0), kNcclMethod, progress);
  if (!schedule) {
    return schedule.error();
  }
  Made made{.schedule = *std::move(schedule)};
  made.facts = [channels = found->graphs.graphs.front().channelCount, speed = found->graphs.graphs.front().speedIntra,
                trees = found->trees.algbw, nvls = nvlsReach(ways, *found, demand.collective),
                collective = demand.collective](const LoadedFabric&, const Judged*) {
    Facts facts;
    facts.push_back({.key = "nccl_channels",
                     .value = channels,
                     .label = "NCCL",
                     .text = counted(channels, "channel") + " at " + speed + " GB/s, before they are repeated"});
    if (collective == Collective::allreduce) {
      facts.push_back(
          {.key = "nccl_trees_algbw", .value = toFraction(trees), .text = "its trees reach " + gigabytes(trees)});
    }
    if (nvls) {
      facts.push_back({.key = "nccl_nvls_algbw",
                       .value = toFraction(nvls->load.algbw),
                       .text = "its " + std::string(nvls->algorithm) + " reaches " + gigabytes(nvls->load.algbw)});
    }
    Json uncertain = Json::array();
    for (const std::string& sentence : nccl::uncertainties()) {
      uncertain.push_back(sentence);
      facts.push_back({.text = "not certain: " + sentence});
    }
    facts.push_back({.key = "uncertain", .value = std::move(uncertain)});
    return facts;
  };
  return made;
}

/// Of the fabric, its boxes and nodes, in capital letters.
std::string namesOf(const fabric::Fabric& fabric) {
  std::string names = fabric.name();
  for (const fabric::Node& node : fabric.nodes()) {
    names += ' ' + node.id + ' ' + node.box;
  }
  for (char& c : names) {
    c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return names;
}

/// A CPU of Arm beside the GPU.
bool hasGrace(const fabric::Fabric& fabric) {
  const std::string names = namesOf(fabric);
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

/// NCCL's input of tuning for these graphs. An estimate of a ring is capped by the exact figure afterwards.
nccl::TuningInput tuningInput(const fabric::Fabric& fabric, const NcclGraphs& graphs, const nccl::FoundGraphs& found,
                              int capability) {
  nccl::TuningInput input{.ranks = graphs.ranks(),
                          .nodes = static_cast<int>(graphs.boxes.size()),
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
std::vector<nccl::Estimate> cappedTable(nccl::Ways& ways, const nccl::FoundGraphs& found,
                                        const nccl::TuningInput& input, Collective collective) {
  constexpr double kLl = 0.5;
  constexpr double kLl128 = 0.92;
  std::vector<nccl::Estimate> table = nccl::tuningTable(input, collective);
  std::map<std::string, Bandwidth, std::less<>> exact{{"Tree", found.trees.algbw}};
  if (const auto rings = nccl::ringLoad(ways, found.channels.rings, collective)) {
    exact["Ring"] = rings->algbw;
  }
  if (const auto nvls = nvlsReach(ways, found, collective)) {
    exact[std::string(nvls->algorithm)] = nvls->load.algbw;
  }
  for (nccl::Estimate& estimate : table) {
    const double share = estimate.protocol == "LL" ? kLl : estimate.protocol == "LL128" ? kLl128 : 1;
    if (const auto reach = exact.find(estimate.algorithm); reach != exact.end()) {
      estimate.algbw = std::min(estimate.algbw, Throughput(toGBps(reach->second) * share));
    }
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

}  // namespace

Method ncclMethod() {
  return {
      .id = kNcclMethod,
      .title = "NCCL",
      .description = "The rings that NCCL's search would find on this fabric, joined over the boxes as NCCL does",
      .collectives = {Collective::allgather, Collective::reduceScatter, Collective::allreduce, Collective::broadcast,
                      Collective::reduce},
      .options = {{.name = "compute-capability",
                   .title = "Compute capability",
                   .help =
                       "Of the GPUs: 70 is V100, 80 A100, 90 H100, 100 B200; decides the speeds that NCCL tries, and "
                       "whether it has NVLS; default: by the names and switches of the fabric",
                   .kind = OptionKind::integer,
                   .min = 50,
                   .max = 200,
                   .placeholder = "CC",
                   .suggestion = "90"}},
      .form = ScheduleForm::steps,
      .front = frontOfOne(ncclRings)};
}

int likelyCapability(const fabric::Fabric& fabric) {
  struct Known {
    std::string_view name;
    int capability;
  };
  const std::string names = namesOf(fabric);
  for (const Known& known :
       {Known{"B300", 103}, {"B200", 100}, {"H100", 90}, {"H200", 90}, {"H800", 90}, {"A100", 80}, {"V100", 70}}) {
    if (names.find(known.name) != std::string::npos) {
      return known.capability;
    }
  }
  const bool isSumming = std::any_of(fabric.nodes().begin(), fabric.nodes().end(), [](const fabric::Node& node) {
    return !node.box.empty() && node.multicast && node.aggregation;
  });
  return isSumming ? 90 : 80;
}

std::optional<NvlsReach> nvlsReach(nccl::Ways& ways, const nccl::FoundGraphs& found, Collective collective) {
  const std::vector<nccl::HeadRanks>& heads = found.channels.nvlsHeads;
  if (heads.size() < 2) {
    return std::nullopt;  // NCCL takes NVLS with two channels and more
  }
  const bool isAlone = heads.front().ranks.size() == 1;
  const bool isShards = collective == Collective::allgather || collective == Collective::reduceScatter;
  if (collective != Collective::allreduce && !(isAlone && isShards)) {
    return std::nullopt;
  }
  auto load = isAlone ? nccl::nvlsLoad(ways, heads, collective) : nccl::nvlsTreeLoad(ways, heads);
  return load ? std::optional(NvlsReach{isAlone ? "NVLS" : "NVLSTree", *std::move(load)}) : std::nullopt;
}

Result<NcclFigures> ncclFigures(const fabric::Fabric& fabric, Collective collective, int computeCapability,
                                const Progress& progress) {
  nccl::Ways ways(fabric);
  auto found = nccl::searchAsNccl(ways, {.computeCapability = computeCapability}, progress);
  if (!found) {
    return found.error();
  }
  auto rings = nccl::ringLoad(ways, found->channels.rings, collective);
  if (!rings) {
    return rings.error();
  }
  const auto optimum = provedOptimum(fabric, requestOf(defaultDemand(collective)), progress);
  if (!optimum) {
    return optimum.error();
  }
  NcclFigures figures{.found = *std::move(found), .bound = optimum->algbw, .rings = *std::move(rings)};
  figures.nvls = nvlsReach(ways, figures.found, collective);
  for (const nccl::Ring& ring : figures.found.channels.rings) {
    for (const nccl::Hop& hop : ring.hops) {
      const auto nodes = ways.nodesOf(hop);
      figures.passesGpus = figures.passesGpus || !nodes || nccl::passesGpu(fabric, *nodes);
    }
  }
  return figures;
}

Result<NcclGraphs> makeNcclGraphs(const fabric::Fabric& fabric, int computeCapability, const Progress& progress) {
  nccl::Ways ways(fabric);
  const nccl::SearchOptions options{.computeCapability = computeCapability};
  const auto boxes = nccl::boxModels(ways);
  if (!boxes) {
    return boxes.error();
  }
  auto stock = nccl::searchAsNccl(ways, options, progress);
  if (!stock) {
    return stock.error();
  }
  auto best = nccl::searchBest(ways, *stock, options, progress);
  if (!best) {
    return best.error();
  }
  const auto optimum = provedOptimum(fabric, requestOf({.collective = Collective::allreduce}), progress);
  if (!optimum) {
    return optimum.error();
  }
  NcclGraphs made{.stock = *std::move(stock), .best = *std::move(best), .bound = optimum->algbw};
  made.nvls = nvlsReach(ways, made.stock, Collective::allreduce);
  for (const nccl::BoxModel& box : *boxes) {
    made.boxes.push_back(fabric.nodes()[fabric.gpus()[box.gpus.front()]].box);
  }
  made.gpus = static_cast<int>(boxes->front().gpus.size());
  std::vector<int> devices(static_cast<std::size_t>(made.gpus));
  std::iota(devices.begin(), devices.end(), 0);
  for (int kind = 0; kind < made.kinds(); ++kind) {
    const auto findings = nccl::checkGraphs(made.best.graphsOf(kind), devices, boxes->size() == 1);
    if (hasErrors(findings)) {
      return Error{ErrorCode::limit, findings.front().text, findings.front().fix};
    }
  }
  return made;
}

NcclBands ncclBands(nccl::Ways& ways, const NcclGraphs& graphs, int computeCapability, const ImportedRun* run) {
  constexpr int kLeast = 10;  // binary logarithms of sizes
  constexpr int kMost = 34;
  const nccl::TuningInput input = tuningInput(ways.fabric(), graphs, graphs.best, computeCapability);
  NcclBands made;
  for (const Collective collective : {Collective::allreduce, Collective::allgather, Collective::reduceScatter,
                                      Collective::broadcast, Collective::reduce}) {
    std::vector<nccl::Estimate> table = cappedTable(ways, graphs.best, input, collective);
    if (run != nullptr) {
      // What was measured ran with NCCL's own rings, or with those of an earlier file.
      const nccl::TuningInput stockInput = tuningInput(ways.fabric(), graphs, graphs.stock, computeCapability);
      const std::vector<nccl::Estimate> stock = cappedTable(ways, graphs.stock, stockInput, collective);
      const std::vector<nccl::TunedPoint> points = pointsOf(*run, stockInput, stock, collective);
      const std::vector<nccl::TuningFit> fits = nccl::fitTuning(stockInput, stock, points);
      table = nccl::fitted(std::move(table), fits);
      made.points += static_cast<int>(points.size());
    }
    const std::size_t first = made.bands.size();
    for (int size = kLeast; size <= kMost; ++size) {
      const nccl::Estimate* choice = nccl::tunedChoice(input, table, std::int64_t{1} << size);
      if (choice == nullptr) {
        continue;
      }
      if (made.bands.size() > first && made.bands.back().algorithm == choice->algorithm &&
          made.bands.back().protocol == choice->protocol) {
        continue;
      }
      if (made.bands.size() > first) {
        made.bands.back().maxBytes = (std::int64_t{1} << size) - 1;
      }
      made.bands.push_back({.collective = collective,
                            .minBytes = made.bands.size() > first ? std::int64_t{1} << size : 0,
                            .maxBytes = std::numeric_limits<std::int64_t>::max(),
                            .algorithm = choice->algorithm,
                            .protocol = choice->protocol,
                            .channels = nccl::tunedChannels(input, choice->algorithm)});
    }
  }
  return made;
}

}  // namespace coppice::workflow
