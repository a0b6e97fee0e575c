// SPDX-License-Identifier: Apache-2.0
#include "answer.hpp"

#include <cstdint>

#include "base/units.hpp"
#include "schedule/bound_scope.hpp"
#include "text.hpp"

namespace coppice::cli {
namespace {

using schedule::BoundScope;

BoundScope scopeOf(const fabric::Fabric& fabric, Collective collective, const forestcoll::Optimum& optimum) {
  const bool isForTrees = optimum.allreduceLimit && optimum.allreduceLimit->isReached;
  return schedule::boundScope(fabric, collective, {!optimum.bottlenecks.empty(), isForTrees});
}

std::string labelOf(BoundScope scope) {
  switch (scope) {
    case BoundScope::all:
      return ", the exact optimum";
    case BoundScope::trees:
    case BoundScope::halves:
      return ", the exact optimum of reduce-scatter then allgather";
    case BoundScope::plainSwitches:
      break;
  }
  return ", " + std::string(schedule::nameOf(scope));
}

/// The linear program of B.7, beside what reduce-scatter then allgather reaches.
void describeAllreduceLimit(const forestcoll::Optimum& optimum, BoundScope scope, Answer& answer) {
  if (!optimum.allreduceLimit) {
    answer.json["allreduce_bound"] = {{"status", "not_computed"}};
    answer.text += "  any trees   the bound of an allreduce by other trees was not computed\n";
    return;
  }
  const forestcoll::AllreduceLimit& limit = *optimum.allreduceLimit;
  answer.json["allreduce_bound"] = {{"status", limit.isExact ? "exact" : "upper_bound"},
                                    {"algbw", toFraction(limit.algbw)},
                                    {"algbw_GBps", toGBps(limit.algbw)},
                                    {"reached", optimum.algbw == limit.algbw}};
  const bool isPlain = scope == BoundScope::plainSwitches;
  answer.text += "  any trees   no allreduce by trees" + std::string(isPlain ? " of transfers between GPUs" : "") +
                 " is faster than " + gigabytes(limit.algbw);
  if (optimum.algbw == limit.algbw) {
    answer.text += isPlain ? ", so reduce-scatter then allgather is the best of them\n"
                           : ", so reduce-scatter then allgather is optimal here\n";
  } else {
    answer.text += "; this one has " + percent(optimum.algbw / limit.algbw) +
                   (limit.isExact ? " of what some trees reach: generate --method forestcoll-overlap\n" : " of that\n");
  }
}

std::string treeCountText(const forestcoll::Optimum& optimum, bool weighted, bool isFree) {
  std::string text = "  trees       k = " + std::to_string(optimum.treesPerRoot) +
                     (weighted ? " per unit of amount" : " per root") + ", each carries " +
                     gigabytes(optimum.scale.inverse()) + " (U = " + toFraction(optimum.scale) + ")\n";
  if (isFree && optimum.treesPerRoot != optimum.integralTreesPerRoot) {
    text += "              " +
            std::string(optimum.isMinimumK ? "the minimum k that reaches the optimum; with whole capacities"
                                           : "a smaller k than with whole capacities, which") +
            " it would be " + std::to_string(optimum.integralTreesPerRoot) + "\n";
  }
  return text;
}

}  // namespace

Result<forestcoll::TiedCuts> cutsOf(const fabric::Fabric& fabric, const forestcoll::Request& request,
                                    const forestcoll::Optimum& optimum, const Progress& progress) {
  if (optimum.bottlenecks.empty()) {
    return forestcoll::TiedCuts{};
  }
  return forestcoll::tiedCuts(fabric, request, optimum.bottlenecks.front(), progress);
}

Answer describeOptimum(const fabric::Fabric& fabric, const forestcoll::Request& request,
                       const forestcoll::Optimum& optimum, const forestcoll::TiedCuts& tied,
                       const forestcoll::Optimum* free, bool hasJson) {
  const Bandwidth bus = busbw(request.collective, optimum.algbw, optimum.gpuCount);
  const bool isExact = free == nullptr || free->algbw == optimum.algbw;
  const bool weighted = !request.amounts.empty();
  const BoundScope scope = scopeOf(fabric, request.collective, free == nullptr ? optimum : *free);
  Answer answer;

  Json& json = answer.json;
  json["ok"] = true;
  json["fabric"] = fabric.name();
  json["digest"] = fabric.digest();
  json["collective"] = toString(request.collective);
  if (request.root) {
    json["root"] = fabric.nodes()[fabric.gpus()[*request.root]].id;
  }
  json["gpus"] = optimum.gpuCount;
  json["inv_x"] = toFraction(optimum.inverseRate);
  json["algbw"] = toFraction(optimum.algbw);
  json["algbw_GBps"] = toGBps(optimum.algbw);
  json["busbw"] = toFraction(bus);
  json["busbw_GBps"] = toGBps(bus);
  if (!movesShards(request.collective)) {  // no trees
    json["k"] = optimum.treesPerRoot;
    json["U"] = toFraction(optimum.scale);
    json["forestcoll_k"] = optimum.integralTreesPerRoot;
    json["forestcoll_U"] = toFraction(optimum.integralScale);
    if (isExact && free == nullptr) {
      json["least_k"] = optimum.isMinimumK;
    }
  }
  json["optimal"] = isExact && schedule::isOptimum(scope);
  json["bound_scope"] = schedule::sentenceOf(scope);
  if (free != nullptr) {
    json["optimum_algbw"] = toFraction(free->algbw);
    json["optimum_k"] = free->treesPerRoot;
  }
  json["bottleneck_cut"] = Json::array();  // stays empty where no cut, but forwarding alone, sets the limit
  if (hasJson && !tied.cuts.empty()) {
    const schedule::Cut& cut = tied.cuts.front();
    json["bottleneck_cut"] = idsOf(fabric, cut.nodes);
    json["cut"] = toJson(fabric, request.collective, cut);
    json["cut"].erase("nodes");
    json["tied_cuts"] = {{"count", tied.count}, {"exact", tied.isExact}};  // the first one included
    json["cuts"] = Json::array();  // others, just as tight, those with the smallest side first
    for (std::size_t i = 1; i < tied.cuts.size(); ++i) {
      json["cuts"].push_back(toJson(fabric, request.collective, tied.cuts[i]));
    }
  }
  if (optimum.usedSubCapacity) {
    json["sub_capacity"] = optimum.note;
  }

  std::string& text = answer.text;
  text += std::string(toString(request.collective)) + " " + gigabytes(optimum.algbw) +
          (isExact ? labelOf(scope) : ", the best with k = " + std::to_string(optimum.treesPerRoot)) + "\n";
  text += "  fabric      " + named(fabric.name()) + ", " + counted(optimum.gpuCount, "GPU") + "\n";
  text += "  busbw       " + gigabytes(bus) + " as nccl-tests counts it\n";
  if (!isExact) {
    text += (schedule::isOptimum(scope) ? "  optimum     " : "  any k       ") + gigabytes(free->algbw) +
            " with k = " + std::to_string(free->treesPerRoot) + "; this is " + percent(optimum.algbw / free->algbw) +
            " of it\n";
  }
  if (!tied.cuts.empty()) {
    text += "  bottleneck  " + cutSentence(fabric, request.collective, tied.cuts.front(), weighted) + "\n";
    if (tied.count > 1 || !tied.isExact) {
      text += std::string("              and ") + (tied.isExact ? "" : "at least ") +
              counted(tied.count - 1, "other cut") + " equally tight\n";
    }
  }
  if (!movesShards(request.collective)) {
    text += treeCountText(optimum, weighted, free == nullptr);
  }
  if (request.collective == Collective::allreduce) {
    describeAllreduceLimit(optimum, scope, answer);
  }
  if (scope == BoundScope::plainSwitches) {
    text += boundNote(scope);
  }
  if (optimum.usedSubCapacity) {
    text += "  note        " + optimum.note + "\n";
  }
  return answer;
}

}  // namespace coppice::cli
