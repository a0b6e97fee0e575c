// SPDX-License-Identifier: Apache-2.0
#include "workflow/nccl_method.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <string_view>

#include "fabric/likely_gpu.hpp"
#include "nccl/box_model.hpp"
#include "workflow/facts.hpp"
#include "workflow/nccl_tuning.hpp"
#include "workflow/proved_optimum.hpp"
#include "workflow/request.hpp"

namespace coppice::workflow {
namespace {

Result<Made> ncclRings(const fabric::Fabric& fabric, const Demand& demand, const OptionValues& values,
                       const Progress& progress) {
  nccl::Ways ways(fabric, progress);
  const auto capability =
      static_cast<int>(values.integer("compute-capability").value_or(fabric::likelyCapability(fabric)));
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
  auto reaches = nccl::reachesOf(ways, found->channels, demand.collective);
  if (!reaches) {
    return reaches.error();
  }
  made.facts = [channels = found->graphs.graphs.front().channelCount, speed = found->graphs.graphs.front().speedIntra,
                reaches = *std::move(reaches),
                bands = stockBands(fabric, *found, capability, demand.collective)](const LoadedFabric&, const Judged*) {
    Facts facts;
    facts.push_back({.key = "nccl_channels",
                     .value = channels,
                     .label = "NCCL",
                     .text = counted(channels, "channel") + " at " + speed + " GB/s, before they are repeated"});
    if (const nccl::Reach* trees = nccl::findReach(reaches, "Tree")) {
      facts.push_back({.key = "nccl_trees_algbw",
                       .value = toFraction(trees->load.algbw),
                       .text = "its trees reach " + gigabytes(trees->load.algbw)});
    }
    if (const nccl::Reach* nvls = nccl::findNvls(reaches)) {
      facts.push_back({.key = "nccl_nvls_algbw",
                       .value = toFraction(nvls->load.algbw),
                       .text = "its " + std::string(nvls->algorithm) + " reaches " + gigabytes(nvls->load.algbw)});
    }
    facts.push_back({.key = "nccl_choices", .value = bandsJson(bands), .text = "it chooses " + bandsText(bands)});
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

}  // namespace

Method ncclMethod() {
  return {
      .id = kNcclMethod,
      .title = "NCCL",
      .description = "The rings that NCCL's search would find on this fabric, joined over the boxes as NCCL does.",
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

Result<NcclFigures> ncclFigures(const fabric::Fabric& fabric, Collective collective, int computeCapability,
                                const Progress& progress) {
  nccl::Ways ways(fabric, progress);
  auto found = nccl::searchAsNccl(ways, {.computeCapability = computeCapability}, progress);
  if (!found) {
    return found.error();
  }
  auto reaches = nccl::reachesOf(ways, found->channels, collective);
  if (!reaches) {
    return reaches.error();
  }
  const auto optimum = provedOptimum(fabric, requestOf(defaultDemand(collective)), progress);
  if (!optimum) {
    return optimum.error();
  }
  NcclFigures figures{.found = *std::move(found), .bound = optimum->algbw, .reaches = *std::move(reaches)};
  figures.bands = stockBands(fabric, figures.found, computeCapability, collective);
  for (const nccl::Ring& ring : figures.found.channels.rings) {
    for (const nccl::Hop& hop : ring.hops) {
      const auto nodes = ways.nodesOf(hop);
      figures.passesGpus = figures.passesGpus || !nodes || nccl::passesGpu(fabric, *nodes);
    }
  }
  return figures;
}

Result<NcclGraphs> makeNcclGraphs(const fabric::Fabric& fabric, int computeCapability, const Progress& progress) {
  nccl::Ways ways(fabric, progress);
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
  const auto reaches = nccl::reachesOf(ways, made.stock.channels, Collective::allreduce);
  if (!reaches) {
    return reaches.error();
  }
  if (const nccl::Reach* nvls = nccl::findNvls(*reaches)) {
    made.nvls = *nvls;
  }
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

}  // namespace coppice::workflow
