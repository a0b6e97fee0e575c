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
  const bool isForTrees =
      !optimum.ignoresSwitches &&
      (collective == Collective::allreduce ? optimum.allreduceLimit.has_value() : optimum.boundProof.has_value());
  return schedule::boundScope(fabric, collective, {!optimum.bottlenecks.empty(), isForTrees});
}

std::string labelOf(BoundScope scope, const forestcoll::Optimum& optimum) {
  const auto& limit = optimum.allreduceLimit;
  switch (scope) {
    case BoundScope::all:
      return ", the exact optimum";
    case BoundScope::trees:
      if (limit && limit->algbw == optimum.algbw) {
        return ", the exact optimum of trees";
      }
      return optimum.overlapped ? ", the best trees that were found"
                                : ", the exact optimum of reduce-scatter then allgather";
    case BoundScope::halves:
      return ", the exact optimum of reduce-scatter then allgather";
    case BoundScope::plainSwitches:
      break;
  }
  return ", " + std::string(schedule::nameOf(scope));
}

Json limitJson(const std::optional<forestcoll::AllreduceLimit>& limit, const Bandwidth& algbw) {
  if (!limit) {
    return {{"status", "not_computed"}};
  }
  const bool isReached = algbw == limit->algbw;
  return {{"status", isReached        ? "exact"
                     : limit->isExact ? "interval"
                                      : "upper_bound"},
          {"algbw", toFraction(limit->algbw)},
          {"algbw_GBps", toGBps(limit->algbw)},
          {"reached", isReached}};
}

/// What no trees can beat, beside what is reached; and which links set the limit.
void describeAllreduceLimit(const fabric::Fabric& fabric, const forestcoll::Optimum& optimum, bool ownCopies,
                            Answer& answer) {
  answer.json["allreduce_bound"] = limitJson(optimum.allreduceLimit, optimum.algbw);
  answer.json["overlapped"] = optimum.overlapped;
  if (optimum.overlapped) {
    answer.json["own_copies"] = ownCopies;
  }
  answer.json["halves_algbw"] = toFraction(optimum.halvesAlgbw);
  if (optimum.overlapped) {
    answer.text += "  halves      in-trees and out-trees at the same time; reduce-scatter then allgather reach " +
                   gigabytes(optimum.halvesAlgbw) + "\n";
  }
  if (!optimum.allreduceLimit) {
    answer.text += "  any trees   the bound of an allreduce by other trees was not computed\n";
    return;
  }
  const forestcoll::AllreduceLimit& limit = *optimum.allreduceLimit;
  const std::string trees =
      std::string("no allreduce by trees") + (optimum.ignoresSwitches ? " on plain switches" : "");
  if (optimum.algbw == limit.algbw) {
    answer.text += "  any trees   " + trees + " is faster\n";
  } else {
    answer.text +=
        "  any trees   " + trees + " is faster than " + gigabytes(limit.algbw) + "; this one has " +
        percent(optimum.algbw / limit.algbw) + " of that" +
        (ownCopies ? ": each GPU also gets its own copy and has its own data read\n" : "; the maximum lies between\n");
  }
  if (optimum.boundProof) {
    Json links = Json::array();
    std::string first;
    for (std::size_t arc = 0; arc < fabric.arcs().size(); ++arc) {
      const Rational& price = optimum.boundProof->linkPrice[arc];
      if (!price.isPositive()) {
        continue;
      }
      const std::string& from = fabric.nodes()[fabric.arcs()[arc].tail].id;
      const std::string& to = fabric.nodes()[fabric.arcs()[arc].head].id;
      first = first.empty() ? named(from) + " to " + named(to) : first;
      links.push_back({{"src", from}, {"dst", to}, {"price", price.toString()}});
    }
    answer.text += "  limited by  " + counted(static_cast<std::int64_t>(links.size()), "link direction") +
                   (links.size() > 1 ? ", such as " : ", ") + first + "; at the bound they are full\n";
    answer.json["limiting_links"] = std::move(links);
    answer.json["bound_proof"] = {{"verified", true},
                                  {"cuts", optimum.boundProof->cuts.size()},
                                  {"symmetries", optimum.boundProof->symmetries.size()}};
  }
}

void describePlainSwitches(const forestcoll::Optimum& optimum, Answer& answer) {
  if (!optimum.plainSwitches) {
    return;
  }
  const forestcoll::WithPlainSwitches& plain = *optimum.plainSwitches;
  Json& json = answer.json["plain_switches"];
  json = {{"algbw", toFraction(plain.algbw)}, {"algbw_GBps", toGBps(plain.algbw)}};
  if (plain.allreduceLimit) {
    json["allreduce_bound"] = limitJson(plain.allreduceLimit, plain.algbw);
  }
  json["gain"] = (optimum.algbw / plain.algbw).toString();
  answer.text +=
      "  switches    " +
      (optimum.algbw == plain.algbw ? std::string("what they copy and sum gains nothing here")
                                    : "they copy and sum, which gains " + toDecimal(optimum.algbw / plain.algbw) + "x" +
                                          ": switches that only forward allow " + gigabytes(plain.algbw)) +
      "\n";
}

std::string treeCountText(const forestcoll::Optimum& optimum, bool weighted, bool isFree) {
  if (optimum.treesPerRoot == 0) {
    return "  trees       " + std::to_string((optimum.algbw * optimum.scale).floor()) + ", each carries " +
           gigabytes(optimum.scale.inverse()) + "; GPUs are roots of different numbers of them\n";
  }
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
  const bool isOptimal = isExact && (request.collective != Collective::allreduce ||
                                     (optimum.allreduceLimit && optimum.allreduceLimit->algbw == optimum.algbw));
  const bool weighted = !request.amounts.empty();
  // The bound of an allreduce is the same with any k.
  const bool isAllreduce = request.collective == Collective::allreduce;
  const BoundScope scope = scopeOf(fabric, request.collective, free == nullptr || isAllreduce ? optimum : *free);
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
  if (optimum.treesPerRoot > 0) {
    json["k"] = optimum.treesPerRoot;
    json["U"] = toFraction(optimum.scale);
    json["forestcoll_k"] = optimum.integralTreesPerRoot;
    json["forestcoll_U"] = toFraction(optimum.integralScale);
    if (isExact && free == nullptr) {
      json["least_k"] = optimum.isMinimumK;
    }
  }
  json["optimal"] = isOptimal && schedule::isOptimum(scope);
  json["bound_scope"] = schedule::sentenceOf(scope);
  if (free != nullptr) {
    json["optimum_algbw"] = toFraction(free->algbw);
    json["optimum_k"] = free->treesPerRoot;
  }
  json["bottleneck_cut"] = Json::array();  // stays empty where no cut, but forwarding alone, sets the limit
  if (hasJson && !tied.cuts.empty() && !optimum.overlapped) {
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
  } else if (!optimum.note.empty()) {
    json["note"] = optimum.note;
  }

  std::string& text = answer.text;
  text += std::string(toString(request.collective)) + " " + gigabytes(optimum.algbw) +
          (isExact ? labelOf(scope, optimum) : ", the best with k = " + std::to_string(optimum.treesPerRoot)) + "\n";
  text += "  fabric      " + named(fabric.name()) + ", " + counted(optimum.gpuCount, "GPU") + "\n";
  text += "  busbw       " + gigabytes(bus) + " as nccl-tests counts it\n";
  if (!isExact) {
    text += (schedule::isOptimum(scope) && !isAllreduce ? "  optimum     " : "  any k       ") +
            gigabytes(free->algbw) + " with k = " + std::to_string(free->treesPerRoot) + "; this is " +
            percent(optimum.algbw / free->algbw) + " of it\n";
  }
  if (!tied.cuts.empty() && !optimum.overlapped) {
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
    describeAllreduceLimit(fabric, optimum, request.ownCopies && optimum.usesSwitches, answer);
  }
  describePlainSwitches(optimum, answer);
  if (scope == BoundScope::plainSwitches) {
    text += boundNote(scope);
  }
  if (!optimum.note.empty()) {
    text += "  note        " + optimum.note + "\n";
  }
  return answer;
}

}  // namespace coppice::cli
