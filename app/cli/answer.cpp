// SPDX-License-Identifier: Apache-2.0
#include "answer.hpp"

#include <cstdint>

#include "base/units.hpp"
#include "lp/allreduce_bound.hpp"
#include "text.hpp"

namespace coppice::cli {
namespace {

/// "92.36 %", of two exact numbers.
std::string percent(const Rational& part, const Rational& whole) {
  return toDecimal(part / whole * Rational(100)) + " %";
}

}  // namespace

Answer describeOptimum(const fabric::Fabric& fabric, const forestcoll::Request& request,
                       const forestcoll::Optimum& optimum, const forestcoll::Optimum* free) {
  const Rational bus = busbw(request.collective, optimum.algbw, optimum.gpuCount);
  const bool isExact = free == nullptr || free->algbw == optimum.algbw;
  const bool weighted = !request.amounts.empty();
  Answer answer;

  Json& json = answer.json;
  json["ok"] = true;
  json["fabric"] = fabric.name();
  json["digest"] = fabric.digest();
  json["collective"] = toString(request.collective);
  if (request.root) {
    json["root"] = fabric.nodes()[static_cast<std::size_t>(fabric.gpus()[static_cast<std::size_t>(*request.root)])].id;
  }
  json["gpus"] = optimum.gpuCount;
  json["inv_x"] = optimum.inverseRate.toString();
  json["algbw"] = optimum.algbw.toString();
  json["algbw_GBps"] = optimum.algbw.toDouble();
  json["busbw"] = bus.toString();
  json["busbw_GBps"] = bus.toDouble();
  json["k"] = optimum.treesPerRoot;
  json["U"] = optimum.scale.toString();
  json["optimal"] = isExact;
  if (free != nullptr) {
    json["optimum_algbw"] = free->algbw.toString();
    json["optimum_k"] = free->treesPerRoot;
  }
  if (!optimum.bottlenecks.empty()) {
    const schedule::Cut& cut = optimum.bottlenecks.front();
    json["bottleneck_cut"] = idsOf(fabric, cut.nodes);
    json["cut"] = toJson(fabric, cut);
    json["cut"].erase("nodes");
    json["cuts"] = Json::array();
    for (const schedule::Cut& each : optimum.bottlenecks) {
      json["cuts"].push_back(toJson(fabric, each));
    }
  }
  if (optimum.usedSubCapacity) {
    json["sub_capacity"] = optimum.note;
  }

  std::string& text = answer.text;
  text += std::string(toString(request.collective)) + " " + gigabytes(optimum.algbw) +
          (isExact ? ", the exact optimum" : ", the best with k = " + std::to_string(optimum.treesPerRoot)) + "\n";
  text += "  fabric      " + fabric.name() + ", " + counted(optimum.gpuCount, "GPU") + "\n";
  text += "  busbw       " + gigabytes(bus) + " as nccl-tests counts it\n";
  if (!isExact) {
    text += "  optimum     " + gigabytes(free->algbw) + " with k = " + std::to_string(free->treesPerRoot) +
            "; this is " + percent(optimum.algbw, free->algbw) + " of it\n";
  }
  if (!optimum.bottlenecks.empty()) {
    text += "  bottleneck  " + cutSentence(fabric, request.collective, optimum.bottlenecks.front(), weighted) + "\n";
    if (optimum.bottlenecks.size() > 1) {
      text += "              and " + counted(static_cast<std::int64_t>(optimum.bottlenecks.size() - 1), "other cut") +
              " just as tight\n";
    }
  }
  text += "  trees       k = " + std::to_string(optimum.treesPerRoot) +
          (weighted ? " per unit of amount" : " per root") + ", each carries " + gigabytes(optimum.scale.inverse()) +
          " (U = " + optimum.scale.toString() + ")\n";
  if (optimum.usedSubCapacity) {
    text += "  note        " + optimum.note + "\n";
  }
  return answer;
}

Result<BoundAnswer> describeAllreduceBound(const fabric::Fabric& fabric, const Rational& algbw,
                                           const Progress& progress) {
  lp::AllreduceOptions options;
  options.known = algbw;
  const Result<lp::AllreduceBound> bound = lp::allreduceBound(fabric, options, progress);
  if (!bound) {
    return bound.error();
  }
  Answer answer;
  switch (bound->status) {
    case lp::BoundStatus::exact:
      answer.json = {{"status", "exact"}, {"algbw", bound->algbw.toString()}};
      answer.text = gigabytes(bound->algbw) + " is the best any allreduce by trees can do";
      break;
    case lp::BoundStatus::upperBound:
      answer.json = {{"status", "upper_bound"}, {"algbw", bound->algbw.toString()}};
      answer.text = "no allreduce by trees is faster than " + gigabytes(bound->algbw);
      break;
    case lp::BoundStatus::notComputed:
      answer.json = {{"status", "not_computed"}};
      answer.text = "not computed";
      break;
  }
  if (bound->status != lp::BoundStatus::notComputed) {
    answer.json["algbw_GBps"] = bound->algbw.toDouble();
    answer.json["reached"] = bound->knownIsOptimal;
    answer.text += bound->knownIsOptimal ? ", so reduce-scatter then allgather is optimal here"
                                         : "; this one reaches " + percent(algbw, bound->algbw) + " of it";
  }
  answer.json["reason"] = bound->reason;
  if (!bound->knownIsOptimal && !bound->reason.empty()) {
    answer.text += " (" + bound->reason + ")";
  }
  answer.text = "  allreduce   " + answer.text + "\n";
  const bool isComputed = bound->status != lp::BoundStatus::notComputed;
  return BoundAnswer{isComputed ? std::optional(bound->algbw) : std::nullopt, std::move(answer)};
}

}  // namespace coppice::cli
