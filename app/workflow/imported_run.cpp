// SPDX-License-Identifier: Apache-2.0
#include "workflow/imported_run.hpp"

#include <algorithm>
#include <iterator>
#include <map>

#include "base/counted.hpp"
#include "base/failure.hpp"
#include "base/text.hpp"
#include "fabric/gpu_boxes.hpp"
#include "nccl/box_model.hpp"
#include "nccl/log_reader.hpp"
#include "schedule/step_cost.hpp"
#include "workflow/proved_optimum.hpp"
#include "workflow/request.hpp"
#include "workflow/run_doubts.hpp"

namespace coppice::workflow {
namespace {

constexpr std::int64_t kMaxTransfers = std::int64_t{1} << 24;

bool startsWithElement(std::string_view text, std::string_view element) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '<' &&
         text.substr(0, std::min<std::size_t>(text.size(), 4096)).find(element) != std::string_view::npos;
}

bool hasTable(std::string_view text) {
  return text.find("algbw") != std::string_view::npos && text.find("busbw") != std::string_view::npos;
}

/// The line that names its columns is there.
bool hasTableHead(std::string_view text) {
  for (std::size_t at = text.find("algbw"); at != std::string_view::npos; at = text.find("algbw", at + 1)) {
    const std::size_t begin = text.rfind('\n', at) + 1;
    const std::string_view line = text.substr(begin, text.find('\n', at) - begin);
    if (line.find('#') < line.find("algbw") && line.find("busbw") != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

void addMeasured(std::vector<MeasuredRun> runs, ImportedRun& run) {
  const std::vector<Finding> doubts = doubtsOf(runs);
  run.doubts.insert(run.doubts.end(), doubts.begin(), doubts.end());
  std::move(runs.begin(), runs.end(), std::back_inserter(run.measured));
}

/// By rank of the communicator: that of the fabric. @pre both have as many
std::vector<fabric::Rank> ranksOn(const fabric::Fabric& fabric, const nccl::Communicator& communicator) {
  const auto boxes = fabric::gpuBoxes(fabric).ranks();
  std::vector<fabric::Rank> rankOf(static_cast<std::size_t>(communicator.ranks), -1);
  bool isPlaced = communicator.hosts.size() == boxes.size();
  if (isPlaced) {
    std::map<std::string, std::vector<std::pair<int, int>>> onHost;  // device, rank
    for (int rank = 0; rank < communicator.ranks; ++rank) {
      const nccl::RankPlace& place = communicator.places[rank];
      onHost[place.host].emplace_back(place.device < 0 ? rank : place.device, rank);
    }
    for (std::size_t host = 0; host < communicator.hosts.size() && isPlaced; ++host) {
      auto& ranks = onHost[communicator.hosts[host]];
      std::sort(ranks.begin(), ranks.end());
      isPlaced = ranks.size() == boxes[host].size();
      for (std::size_t i = 0; i < ranks.size() && isPlaced; ++i) {
        rankOf[ranks[i].second] = boxes[host][i];
      }
    }
  }
  // Logs of one rank alone do not say where the others are.
  if (!isPlaced) {
    for (int rank = 0; rank < communicator.ranks; ++rank) {
      rankOf[rank] = rank;
    }
  }
  return rankOf;
}

}  // namespace

const nccl::Communicator* ImportedRun::largest() const {
  const auto found =
      std::max_element(log.communicators.begin(), log.communicators.end(),
                       [](const nccl::Communicator& a, const nccl::Communicator& b) { return a.ranks < b.ranks; });
  return found == log.communicators.end() ? nullptr : &*found;
}

bool isRunText(std::string_view text) {
  return nccl::isRas(text) || nccl::isGraphFile(text) || nccl::isInspector(text) || nccl::isTestsJson(text) ||
         nccl::isLog(text) || hasTableHead(text);
}

Result<ImportedRun> importRun(const std::vector<RunFile>& files) {
  ImportedRun run;
  std::vector<nccl::LogText> logs;
  std::string inspected;
  std::string inspectedName;
  for (const RunFile& file : files) {
    if (nccl::isGraphFile(file.text)) {
      auto graphs = nccl::readGraphs(file.text, file.name);
      if (!graphs) {
        return graphs.error();
      }
      std::vector<int> devices;
      if (const nccl::Graph* ring = graphs->find(nccl::kRingGraph); ring != nullptr && !ring->channels.empty()) {
        devices = ring->channels.front().devices;
      }
      auto findings = nccl::checkGraphs(*graphs, devices, true, file.name);
      run.graphs.push_back({file.name, *std::move(graphs), std::move(findings)});
    } else if (startsWithElement(file.text, "<system")) {
      run.topologies.push_back(file.name);
    } else if (nccl::isRas(file.text)) {
      auto ras = nccl::readRas(file.text, file.name);
      if (!ras) {
        return ras.error();
      }
      run.ras.push_back(*std::move(ras));
    } else if (nccl::isInspector(file.text)) {
      inspected += file.text;
      inspected += '\n';
      inspectedName = file.name;
    } else if (nccl::isLog(file.text)) {
      logs.push_back({file.text, file.name});
      if (hasTable(file.text)) {
        if (auto tables = readMeasuredRuns(file.text, file.name)) {
          addMeasured(*std::move(tables), run);
        } else if (tables.error().where.line > 0) {
          const Error& error = tables.error();
          run.doubts.push_back(
              {Severity::warning, error.code, "the table is not read: " + error.message, error.fix, error.where});
        }
      }
    } else {
      auto measured = readMeasuredRuns(file.text, file.name);
      if (!measured) {
        return Error{
            ErrorCode::badInput,
            inQuotes(file.name) + " holds no line of NCCL, no graphs, and no measurement: " + measured.error().message,
            "give a log of NCCL_DEBUG=INFO, a dump of NCCL_GRAPH_DUMP_FILE, what nccl-tests printed or wrote "
            "with -J, files of the Inspector, or an answer of RAS",
            {.file = file.name}};
      }
      addMeasured(*std::move(measured), run);
    }
  }
  if (!logs.empty()) {
    auto read = nccl::readLogs(logs);
    if (!read) {
      return read.error();
    }
    run.log = *std::move(read);
    run.missing = run.log.missing;
  } else {
    run.missing.emplace_back(
        "a log: run with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH,ENV,TUNING NCCL_DEBUG_FILE=log.%h.%p");
  }
  if (!inspected.empty()) {
    auto calls = nccl::readInspector(inspected, inspectedName);
    if (!calls) {
      return calls.error();
    }
    run.calls = *std::move(calls);
  }
  if (run.measured.empty() && run.calls.empty()) {
    run.missing.emplace_back("times: give what nccl-tests printed, or the files of NCCL_INSPECTOR_DUMP_DIR");
  }
  if (run.topologies.empty()) {
    run.missingMachine = "the machine: set NCCL_TOPO_DUMP_FILE; import makes a fabric of it";
  }
  return run;
}

namespace {

/// Heads of NVLS and CollNet, and the chains of CollNet.
void addHeads(nccl::ChannelSet& set, const nccl::Communicator& communicator, const std::vector<fabric::Rank>& rankOf) {
  std::map<int, nccl::HeadRanks> nvls;
  for (const nccl::NvlsHeads& each : communicator.nvls) {
    for (const int rank : each.ranks) {
      if (rank < communicator.ranks) {
        nvls[each.channel].ranks.push_back(rankOf[rank]);
      }
    }
  }
  for (auto& [unused, head] : nvls) {
    set.nvlsHeads.push_back(std::move(head));
  }
  // The heads of each host in their order act together.
  std::map<std::string, int> onHost;
  for (const int rank : communicator.collnetHeads) {
    const auto number = static_cast<std::size_t>(onHost[communicator.places[rank].host]++);
    set.collnetHeads.resize(std::max(set.collnetHeads.size(), number + 1));
    set.collnetHeads[number].ranks.push_back(rankOf[rank]);
  }
  for (const nccl::LoggedTree& chain : communicator.collnetChains) {
    nccl::Tree made;
    made.parents.assign(chain.parents.size(), -1);
    for (std::size_t rank = 0; rank < chain.parents.size(); ++rank) {
      made.parents[rankOf[rank]] = chain.parents[rank] < 0 ? -1 : rankOf[chain.parents[rank]];
    }
    set.collnetChains.push_back(std::move(made));
  }
}

}  // namespace

Result<nccl::ChannelSet> channelsOn(const fabric::Fabric& fabric, const nccl::Communicator& communicator) {
  if (communicator.ranks != fabric.gpuCount()) {
    return Error{ErrorCode::badInput,
                 "the communicator has " + counted(communicator.ranks, "rank") + ", the fabric " +
                     counted(fabric.gpuCount(), "GPU"),
                 "give the fabric that was run on; --gpus chooses some of its GPUs"};
  }
  const std::vector<fabric::Rank> rankOf = ranksOn(fabric, communicator);
  std::map<std::tuple<int, int, int>, const nccl::LoggedEdge*> edges;
  for (const nccl::LoggedEdge& edge : communicator.edges) {
    edges[{edge.channel, edge.from, edge.to}] = &edge;
  }
  const auto hop = [&](int channel, int from, int to) {
    nccl::Hop made{rankOf[from], rankOf[to], -1, -1};
    if (const auto found = edges.find({channel, from, to}); found != edges.end()) {
      made.sendNet = found->second->sendNet;
      made.receiveNet = found->second->receiveNet < 0 ? found->second->sendNet : found->second->receiveNet;
    }
    return made;
  };
  nccl::ChannelSet set;
  set.ranks = communicator.ranks;
  for (const nccl::LoggedRing& ring : communicator.rings) {
    nccl::Ring made;
    for (std::size_t i = 0; i < ring.ranks.size(); ++i) {
      made.hops.push_back(hop(ring.channel, ring.ranks[i], ring.ranks[(i + 1) % ring.ranks.size()]));
    }
    set.rings.push_back(std::move(made));
  }
  for (const nccl::LoggedTree& tree : communicator.trees) {
    nccl::Tree made;
    made.parents.assign(tree.parents.size(), -1);
    made.up.assign(tree.parents.size(), {});
    made.children.assign(tree.parents.size(), {});
    for (std::size_t rank = 0; rank < tree.parents.size(); ++rank) {
      if (tree.parents[rank] >= 0) {
        const nccl::Hop up = hop(tree.channel, static_cast<int>(rank), tree.parents[rank]);
        made.parents[up.from] = up.to;
        made.up[up.from] = up;
        made.children[up.to].push_back(up.from);
      }
    }
    set.trees.push_back(std::move(made));
  }
  addHeads(set, communicator, rankOf);
  return set;
}

Result<nccl::ChannelSet> channelsOf(const fabric::Fabric& fabric, const ImportedRun& run, const Progress& progress) {
  if (run.expectation) {
    return run.expectation->channels;
  }
  const nccl::Communicator* chosen = nullptr;
  for (const nccl::Communicator& each : run.log.communicators) {
    if ((!each.rings.empty() || !each.trees.empty() || !each.nvls.empty()) &&
        (chosen == nullptr || chosen->ranks < each.ranks)) {
      chosen = &each;
    }
  }
  if (chosen != nullptr) {
    return channelsOn(fabric, *chosen);
  }
  for (const NamedGraphs& graphs : run.graphs) {
    if (graphs.graphs.find(nccl::kRingGraph) != nullptr && graphs.graphs.find(nccl::kTreeGraph) != nullptr) {
      nccl::Ways ways(fabric, progress);
      const auto boxes = nccl::boxModels(ways);
      if (!boxes) {
        return boxes.error();
      }
      auto set = nccl::joinedOn(*boxes, graphs.graphs, {});
      if (const nccl::Graph* nvls = graphs.graphs.find(nccl::kNvlsGraph); set && nvls != nullptr) {
        for (const nccl::GraphChannel& channel : nvls->channels) {
          nccl::HeadRanks head;
          for (const nccl::BoxModel& box : *boxes) {
            const auto device = static_cast<std::size_t>(channel.devices.empty() ? 0 : channel.devices.front());
            head.ranks.push_back(box.gpus[std::min(device, box.gpus.size() - 1)]);
          }
          set->nvlsHeads.push_back(std::move(head));
        }
      }
      return set;
    }
  }
  return nccl::ChannelSet{.ranks = fabric.gpuCount()};
}

std::optional<fabric::Rank> rankOn(const fabric::Fabric& fabric, const ImportedRun& run, int rank) {
  const nccl::Communicator* communicator = run.largest();
  if (rank < 0 || rank >= fabric.gpuCount()) {
    return std::nullopt;
  }
  if (communicator == nullptr) {
    return rank;
  }
  return communicator->ranks == fabric.gpuCount() ? std::optional(ranksOn(fabric, *communicator)[rank]) : std::nullopt;
}

Result<std::vector<DrawnChannels>> drawnChannels(const fabric::Fabric& fabric, const nccl::ChannelSet& channels,
                                                 const Progress& progress) {
  return coppice::guarded([&]() -> Result<std::vector<DrawnChannels>> {
    nccl::Ways ways(fabric, progress);
    std::vector<DrawnChannels> drawn;
    std::vector<const nccl::Ring*> rings;
    for (const nccl::Ring& ring : channels.rings) {
      const auto same = std::find_if(rings.begin(), rings.end(), [&](const auto* one) { return *one == ring; });
      if (same != rings.end()) {
        ++drawn[static_cast<std::size_t>(same - rings.begin())].count;
        continue;
      }
      rings.push_back(&ring);
      DrawnChannels made{.kind = DrawnChannels::Kind::ring, .ranks = ring.ranks()};
      for (const nccl::Hop& hop : ring.hops) {
        made.routes.push_back(orThrow(ways.nodesOf(hop)));
      }
      drawn.push_back(std::move(made));
    }
    std::vector<const nccl::Tree*> trees;
    for (const nccl::Tree& tree : channels.trees) {
      const auto same = std::find_if(trees.begin(), trees.end(), [&](const auto* one) { return *one == tree; });
      if (same != trees.end()) {
        ++drawn[rings.size() + static_cast<std::size_t>(same - trees.begin())].count;
        continue;
      }
      trees.push_back(&tree);
      DrawnChannels made{.kind = DrawnChannels::Kind::tree};
      for (std::size_t rank = 0; rank < tree.parents.size(); ++rank) {
        if (tree.parents[rank] < 0) {
          made.roots.push_back(static_cast<fabric::Rank>(rank));
        } else {
          made.routes.push_back(orThrow(ways.nodesOf(tree.up[rank])));
        }
      }
      drawn.push_back(std::move(made));
    }
    std::map<std::vector<int>, DrawnChannels> heads;
    for (const nccl::HeadRanks& each : channels.nvlsHeads) {
      auto [found, isNew] = heads.try_emplace(
          each.ranks, DrawnChannels{.kind = DrawnChannels::Kind::nvls, .ranks = each.ranks, .roots = each.ranks});
      found->second.count += isNew ? 0 : 1;
    }
    for (auto& [unused, each] : heads) {
      drawn.push_back(std::move(each));
    }
    return drawn;
  });
}

const nccl::Load* RunOnFabric::loadOf(std::string_view algorithm) const {
  const nccl::Reach* reach = nccl::findReach(reaches, algorithm);
  return reach == nullptr ? nullptr : &reach->load;
}

Result<RunOnFabric> runOnFabric(const fabric::Fabric& fabric, const nccl::ChannelSet& channels, Collective collective,
                                const Progress& progress) {
  const auto optimum = provedOptimum(fabric, requestOf(defaultDemand(collective)), progress);
  if (!optimum) {
    return optimum.error();
  }
  nccl::Ways ways(fabric, progress);
  auto reaches = nccl::reachesOf(ways, channels, collective);
  if (!reaches) {
    return reaches.error();
  }
  return RunOnFabric{.collective = collective, .bound = optimum->algbw, .reaches = *std::move(reaches)};
}

Result<schedule::StepSchedule> ringSchedule(const fabric::Fabric& fabric, const std::vector<nccl::Ring>& rings,
                                            Collective collective, fabric::Rank root, const std::string& method,
                                            const Progress& progress) {
  using schedule::PathId;
  if (std::find(kForestCollectives.begin(), kForestCollectives.end(), collective) == kForestCollectives.end()) {
    return Error{ErrorCode::badUsage, "NCCL's rings do not make " + std::string(toString(collective)),
                 "ask for allreduce, allgather, reduce_scatter, broadcast or reduce"};
  }
  return coppice::guarded([&]() -> Result<schedule::StepSchedule> {
    const int n = fabric.gpuCount();
    // Equal rings are one with their share.
    std::vector<std::pair<const nccl::Ring*, std::int64_t>> distinct;
    for (const nccl::Ring& ring : rings) {
      const auto same =
          std::find_if(distinct.begin(), distinct.end(), [&](const auto& one) { return *one.first == ring; });
      if (same != distinct.end()) {
        ++same->second;
      } else {
        distinct.emplace_back(&ring, 1);
      }
    }
    const bool isAllreduce = collective == Collective::allreduce;
    const std::int64_t steps = isRooted(collective) ? 1 : isAllreduce ? 2 * n : n;
    if (rings.empty() || static_cast<std::int64_t>(distinct.size()) * n * steps > kMaxTransfers) {
      return Error{rings.empty() ? ErrorCode::badUsage : ErrorCode::limit,
                   rings.empty() ? "no ring is known" : "these rings have more than 2^24 transfers",
                   rings.empty() ? "give logs with the rings" : "take the figures of import-run, which need none"};
    }
    schedule::StepSchedule made;
    made.goal = orThrow(schedule::CollectiveTable::make(
        collective, n, isRooted(collective) ? std::optional<fabric::Rank>(root) : std::nullopt));
    made.method = method;
    made.fabricName = fabric.name();
    made.fabricDigest = fabric.digest();
    const auto count = static_cast<std::int64_t>(rings.size());
    made.denominator = isAllreduce ? count * n : count;
    made.isSynchronous = !isRooted(collective);
    nccl::Ways ways(fabric, progress);
    std::int64_t begin = 0;
    for (const auto& [ring, weight] : distinct) {
      throwIfCancelled(progress);
      std::vector<fabric::Rank> ranks = ring->ranks();
      std::vector<PathId> routes;
      for (const nccl::Hop& hop : ring->hops) {
        const std::vector<fabric::NodeIndex> nodes = orThrow(ways.nodesOf(hop));
        if (nccl::passesGpu(fabric, nodes)) {
          return Error{ErrorCode::infeasible,
                       "NCCL's rings leave a box through another GPU (PXN), which a schedule cannot; by congestion "
                       "they reach " +
                           toDecimal(orThrow(nccl::ringLoad(ways, rings, collective)).algbw) + " GB/s",
                       "see what NCCL reaches without a schedule: baseline nccl without -o"};
        }
        routes.push_back(made.paths.add(nodes));
      }
      const auto send = [&](std::int64_t shard, std::int64_t first, std::int64_t last, int at, int step,
                            bool isReduction) {
        made.transfers.add({shard, first, last, ranks[at], ranks[(at + 1) % n], routes[at], step, isReduction});
      };
      if (isRooted(collective)) {
        const auto place = static_cast<int>(std::find(ranks.begin(), ranks.end(), root) - ranks.begin());
        for (int i = 0; i + 1 < n; ++i) {
          send(0, begin, begin + weight, (place + i + (collective == Collective::reduce ? 1 : 0)) % n, 0,
               collective == Collective::reduce);
        }
      } else {
        const auto hop = [&](int step, int owner, int at, bool isReduction) {
          const int place = (owner % n + n) % n;
          const std::int64_t first = isAllreduce ? begin * n + place * weight : begin;
          send(isAllreduce ? 0 : ranks[place], first, first + weight, at, step, isReduction);
        };
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
      begin += weight;
    }
    made.transfers.sortBySteps();
    made.stepCount = made.transfers.empty() ? 1 : made.transfers.steps().back() + 1;
    made.algbw = orThrow(schedule::stepCost(fabric, made, progress)).algbw;
    return made;
  });
}

}  // namespace coppice::workflow
