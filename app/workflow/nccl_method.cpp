// SPDX-License-Identifier: Apache-2.0
#include "workflow/nccl_method.hpp"

#include <algorithm>

#include "base/shell.hpp"
#include "workflow/facts.hpp"
#include "workflow/imported_run.hpp"
#include "workflow/proved_optimum.hpp"
#include "workflow/request.hpp"

namespace coppice::workflow {
namespace {

constexpr int kDefaultCapability = 80;

Result<Made> ncclRings(const fabric::Fabric& fabric, const Demand& demand, const OptionValues& values,
                       const Progress& progress) {
  nccl::Ways ways(fabric);
  const auto capability = static_cast<int>(values.integer("compute-capability").value_or(kDefaultCapability));
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
                trees = found->trees.algbw, collective = demand.collective](const LoadedFabric&, const Judged*) {
    Facts facts;
    facts.push_back({.key = "nccl_channels",
                     .value = channels,
                     .label = "NCCL",
                     .text = counted(channels, "channel") + " at " + speed + " GB/s, before they are repeated"});
    if (collective == Collective::allreduce) {
      facts.push_back(
          {.key = "nccl_trees_algbw", .value = toFraction(trees), .text = "its trees reach " + gigabytes(trees)});
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

/// NCCL's input of tuning for these graphs. An estimate of a ring is capped by the exact figure afterwards.
nccl::TuningInput tuningInput(const NcclGraphs& graphs, int capability) {
  nccl::TuningInput input{.ranks = graphs.boxes * graphs.gpus, .nodes = graphs.boxes, .computeCapability = capability};
  input.channels = static_cast<int>(graphs.best.channels.rings.size());
  const auto tuned = [](const nccl::Graph& graph) {
    const auto speed = Rational::parse(graph.speedIntra);
    const double rate = speed ? speed->toDouble() : 0;
    return nccl::TunedGraph{.channels = graph.channelCount,
                            .intraGBps = rate,
                            .interGBps = rate,
                            .pattern = graph.pattern,
                            .isSame = graph.sameChannels != 0};
  };
  input.ring = tuned(*graphs.best.graphs.find(nccl::kRingGraph));
  input.tree = tuned(*graphs.best.graphs.find(nccl::kTreeGraph));
  return input;
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
                   .help = "Of the GPUs: 70 is V100, 80 A100, 90 H100, 100 B200; decides the speeds that NCCL tries",
                   .kind = OptionKind::integer,
                   .defaultText = std::to_string(kDefaultCapability),
                   .min = 50,
                   .max = 200,
                   .placeholder = "CC"}},
      .form = ScheduleForm::steps,
      .front = frontOfOne(ncclRings)};
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
  made.boxes = static_cast<int>(boxes->size());
  made.gpus = static_cast<int>(boxes->front().gpus.size());
  made.xml = nccl::writeGraphs(made.best.graphs);
  return made;
}

std::vector<nccl::TuningBand> ncclBands(nccl::Ways& ways, const NcclGraphs& graphs, int computeCapability) {
  constexpr int kLeast = 10;  // binary logarithms of sizes
  constexpr int kMost = 34;
  constexpr double kLl = 0.5;
  constexpr double kLl128 = 0.92;
  const nccl::TuningInput input = tuningInput(graphs, computeCapability);
  std::vector<nccl::TuningBand> bands;
  for (const Collective collective : {Collective::allreduce, Collective::allgather, Collective::reduceScatter,
                                      Collective::broadcast, Collective::reduce}) {
    std::vector<nccl::Estimate> table = nccl::tuningTable(input, collective);
    const auto rings = nccl::ringLoad(ways, graphs.best.channels.rings, collective);
    for (nccl::Estimate& estimate : table) {
      const double share = estimate.protocol == "LL" ? kLl : estimate.protocol == "LL128" ? kLl128 : 1;
      const bool isTree = estimate.algorithm == "Tree";
      if (isTree || rings) {
        const Bandwidth& exact = isTree ? graphs.best.trees.algbw : rings->algbw;
        estimate.algbw = std::min(estimate.algbw, Throughput(toGBps(exact) * share));
      }
    }
    const auto channels = static_cast<int>(graphs.best.channels.rings.size());
    const std::size_t first = bands.size();
    for (int size = kLeast; size <= kMost; ++size) {
      const nccl::Estimate* choice = nccl::tunedChoice(input, table, std::int64_t{1} << size);
      if (choice == nullptr) {
        continue;
      }
      if (bands.size() > first && bands.back().algorithm == choice->algorithm &&
          bands.back().protocol == choice->protocol) {
        continue;
      }
      if (bands.size() > first) {
        bands.back().maxBytes = (std::int64_t{1} << size) - 1;
      }
      bands.push_back({.collective = collective,
                       .minBytes = bands.size() > first ? std::int64_t{1} << size : 0,
                       .maxBytes = std::numeric_limits<std::int64_t>::max(),
                       .algorithm = choice->algorithm,
                       .protocol = choice->protocol,
                       .channels = channels});
    }
  }
  return bands;
}

std::string ncclLaunchScript(const NcclGraphs& graphs, const std::string& graphFile, const std::string& tunerFile) {
  const int ranks = graphs.boxes * graphs.gpus;
  std::string ring;
  for (const int rank : graphs.best.channels.rings.front().ranks()) {
    ring += " " + std::to_string(rank);
  }
  std::string script =
      "#!/bin/sh\n"
      "# Runs nccl-tests without and with the files, and leaves the logs for coppice-cli import-run.\n"
      "# Start it once per machine set: sh FILE \"mpirun -np " +
      std::to_string(ranks) +
      " ...\" ./build/all_reduce_perf\n"
      "set -eu\n"
      "launch=${1:?the launcher, such as \"mpirun -np " +
      std::to_string(ranks) + " -N " + std::to_string(graphs.gpus) +
      "\"}\n"
      "program=${2:?a program of nccl-tests}\n"
      "export NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH,ENV,TUNING\n"
      "NCCL_DEBUG_FILE=stock.%h.%p $launch \"$program\" -b 1M -e 1G -f 2 | tee stock.txt\n";
  if (!graphFile.empty()) {
    script += "export NCCL_GRAPH_FILE=" + shellWord(graphFile) + " NCCL_ALGO=Ring\n";
  }
  if (!tunerFile.empty()) {
    script += "export NCCL_TUNER_CONFIG_FILE=" + shellWord(tunerFile) +
              "  # with NCCL_TUNER_PLUGIN=libnccl-tuner-example.so, 2.27.5 and later\n";
  }
  script +=
      "NCCL_DEBUG_FILE=changed.%h.%p $launch \"$program\" -b 1M -e 1G -f 2 | tee changed.txt\n"
      "# PyTorch: the same variables before torchrun.\n";
  if (!graphFile.empty()) {
    script +=
        "# The file was taken where the log has NCCL_GRAPH_FILE set by environment, and this ring:\n#  Channel 00/" +
        std::to_string(graphs.best.channels.rings.size()) + " :" + (ranks <= 64 ? ring : " ...") + "\n";
  }
  script +=
      "echo 'coppice-cli import-run stock.*.* stock.txt --fabric FABRIC'\n"
      "echo 'coppice-cli import-run changed.*.* changed.txt --fabric FABRIC'\n";
  return script;
}

}  // namespace coppice::workflow
