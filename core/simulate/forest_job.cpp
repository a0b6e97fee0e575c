// SPDX-License-Identifier: Apache-2.0
#include "simulate/forest_job.hpp"

#include <map>
#include <utility>

#include "base/checked.hpp"
#include "base/failure.hpp"
#include "schedule/expansion.hpp"

namespace coppice::simulate {
namespace {

using schedule::Direction;
using schedule::Forest;
using schedule::TreeEdge;

Result<Job> forestJob(const fabric::Fabric& fabric, const Forest& forest, const Model& model,
                      const Progress& progress) {
  Job job(fabric, model);
  const auto trees = static_cast<double>(forest.treeCount());
  const bool isOut = forest.direction == Direction::out;
  std::vector<RouteId> whole(forest.paths.size(), kNoRoute);
  std::map<std::pair<schedule::PathId, std::int32_t>, RouteId> pruned;
  constexpr MessageId kNone = ~MessageId{0};
  std::vector<MessageId> intoParent(forest.gpuCount);  // by rank: out-trees' message that brings the data
  std::int32_t label = 0;
  for (const schedule::Tree& tree : forest.trees) {
    throwIfCancelled(progress);
    intoParent.assign(forest.gpuCount, kNone);
    const auto edges = forest.edgesOf(tree);
    const auto first = static_cast<MessageId>(job.messages().size());
    for (const TreeEdge& edge : edges) {
      RouteId& route =
          edge.pruned == 0 ? whole[edge.path] : pruned.try_emplace({edge.path, edge.pruned}, kNoRoute).first->second;
      if (route == kNoRoute) {
        const auto found = job.route(forest.paths[edge.path], isOut ? edge.pruned : 0, isOut ? 0 : edge.pruned);
        if (!found) {
          return found.error();
        }
        route = *found;
      }
      const MessageId message = job.add({.route = route,
                                         .weight = static_cast<std::int32_t>(tree.multiplicity),
                                         .share = static_cast<double>(tree.multiplicity) / trees,
                                         .from = isOut ? edge.parent : edge.child,
                                         .to = isOut ? edge.child : edge.parent,
                                         .label = label,
                                         .shard = tree.root,
                                         .reduces = !isOut});
      intoParent[edge.child] = message;
    }
    // The edge into a GPU and the edges out of it: in an out-tree the first goes before, in an in-tree after.
    for (MessageId message = first; message < job.messages().size(); ++message) {
      const TreeEdge& edge = edges[message - first];
      if (const MessageId other = intoParent[edge.parent]; other != kNone) {
        job.wait({.before = isOut ? other : message, .after = isOut ? message : other, .why = Wait::data});
      }
    }
    ++label;
  }
  return job;
}

}  // namespace

Result<std::vector<Job>> forestJobs(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                                    const Model& model, const Progress& progress) {
  return guarded(
      [&]() -> Result<std::vector<Job>> {
        std::vector<Job> jobs;
        for (const auto* half : {&schedule.reduceForest, &schedule.broadcastForest}) {
          if (!*half) {
            continue;
          }
          if ((*half)->gpuCount != fabric.gpuCount()) {
            return Error{ErrorCode::badInput,
                         "the schedule is for " + std::to_string((*half)->gpuCount) + " GPUs, the fabric has " +
                             std::to_string(fabric.gpuCount()),
                         "simulate on the fabric that the schedule was generated for"};
          }
          const auto forest = schedule::expanded(**half, fabric, schedule::kMaxWrittenBytes, progress);
          if (!forest) {
            return forest.error();
          }
          auto job = forestJob(fabric, *forest, model, progress);
          if (!job) {
            return job.error();
          }
          jobs.push_back(*std::move(job));
        }
        return jobs;
      },
      {.overflowFix = {}, .cancelled = "the simulation was cancelled"});
}

}  // namespace coppice::simulate
