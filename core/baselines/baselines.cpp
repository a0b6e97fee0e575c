// SPDX-License-Identifier: Apache-2.0
#include "baselines/baselines.hpp"

#include <algorithm>
#include <functional>
#include <string>

#include "base/checked.hpp"
#include "base/comma_list.hpp"
#include "base/failure.hpp"
#include "base/text.hpp"
#include "baselines/builder.hpp"
#include "fabric/structural_boxes.hpp"

namespace coppice::baselines {
namespace {

struct Entry {
  Baseline baseline;
  void (*add)(Builder&);  ///< null where it is made of trees
  MakesForests forests = nullptr;
};

const std::vector<Entry>& entries() {
  using enum Collective;
  static const std::vector<Entry> kEntries = {
      {{"ring",
        "Ring",
        "One ring through all GPUs, box by box.",
        {allgather, reduceScatter, allreduce, broadcast, reduce}},
       addRing},
      {{"multi-ring",
        "Multi-ring",
        "One ring for each NIC of a box, entering and leaving boxes through the GPU next to it, as NCCL builds them.",
        {allgather, reduceScatter, allreduce, broadcast, reduce}},
       addMultiRing},
      {{"double-binary-tree",
        "Double binary tree",
        "Two binary trees that carry half of the data each, as in NCCL.",
        {allreduce, broadcast, reduce}},
       addDoubleBinaryTree},
      {{"recursive-doubling",
        "Recursive doubling",
        "Ranks at distance 1, 2, 4, ... exchange all their data; broadcast and reduce run along a binomial tree.",
        {allgather, allreduce, broadcast, reduce}},
       addRecursiveDoubling},
      {{"recursive-halving",
        "Recursive halving",
        "Ranks at distance N/2, N/4, ... exchange halves; allreduce then doubles them again (Rabenseifner).",
        {reduceScatter, allreduce}},
       addRecursiveHalving},
      {{"bruck", "Bruck", "Ceiling of log2 N steps for any N, at the cost of longer routes.", {allgather, alltoall}},
       addBruck},
      {{"direct",
        "Direct",
        "Every rank sends to every other in one step.",
        {allgather, reduceScatter, allreduce, broadcast, reduce, alltoall, gather, scatter}},
       addDirect},
      {{"pairwise", "Pairwise", "In step t every rank sends to the one at distance t.", {alltoall}}, addPairwise},
      {{"two-level",
        "Two-level",
        "First inside the boxes, then between GPUs with the same index in their boxes.",
        {alltoall}},
       addTwoLevel},
      {{"hierarchical",
        "Hierarchical",
        "Inside the boxes, then rings between GPUs with the same index, then inside the boxes again.",
        {allgather, reduceScatter, allreduce}},
       addHierarchical},
      {{"in-network",
        "In-network",
        "Every GPU sends to all, and switches that are marked as capable copy and sum; allreduce runs both halves at "
        "the same time.",
        {allgather, reduceScatter, allreduce, broadcast, reduce},
        true},
       nullptr,
       inNetwork},
      {{"nvls",
        "NVLS",
        "Each GPU sums its share through the switch of its box and sends it to all through it, its own copy included "
        "(NVLink SHARP); SHARP joins boxes. As in NCCL.",
        {allgather, reduceScatter, allreduce},
        true},
       nullptr,
       nvls},
      {{"nvls-tree",
        "NVLS tree",
        "NVLS inside the boxes, and double binary trees between GPUs with the same number, as in NCCL.",
        {allreduce},
        true},
       nullptr,
       nvlsTree},
      {{"collnet",
        "CollNet",
        "SHARP between the boxes; inside, GPUs send to those next to a NIC directly, or along chains where no switch "
        "joins them. As in NCCL.",
        {allgather, reduceScatter, allreduce},
        true},
       nullptr,
       collnet},
      {{"multitree",
        "MultiTree",
        "One greedy tree from every GPU, all grown together (ISCA 2021).",
        {allgather, reduceScatter, allreduce}},
       addMultiTree},
      {{"blink",
        "Blink",
        "The best trees from one root; allreduce reduces to it, then broadcasts (MLSys 2020).",
        {broadcast, reduce, allreduce}},
       addBlink},
      {{"unwound",
        "Unwound switches",
        "The best trees after replacing each switch by a ring, as TACCL and TACOS do.",
        {allgather, reduceScatter, allreduce, broadcast, reduce}},
       addUnwound},
      {{"shifted-ring",
        "Shifted rings",
        "Link-disjoint rings over direct links, each with an equal part of the data.",
        {allgather, reduceScatter, allreduce, broadcast, reduce}},
       addShiftedRing}};
  return kEntries;
}

const Entry* entryOf(std::string_view name) {
  const auto& all = entries();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Entry& e) { return e.baseline.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::string nameList() {
  return commaList(entries(), [](const Entry& entry) { return std::string(entry.baseline.name); });
}

}  // namespace

std::span<const Baseline> list() {
  static const std::vector<Baseline> kList = [] {
    std::vector<Baseline> all;
    for (const Entry& entry : entries()) {
      all.push_back(entry.baseline);
    }
    return all;
  }();
  return kList;
}

const Baseline* find(std::string_view name) {
  const Entry* entry = entryOf(name);
  return entry ? &entry->baseline : nullptr;
}

Result<schedule::AnySchedule> generate(std::string_view name, const fabric::Fabric& fabric, const Request& request,
                                       const Progress& progress) {
  const Entry* entry = entryOf(name);
  if (!entry) {
    return Error{ErrorCode::badUsage, "There is no baseline " + inQuotes(name), "choose one of " + nameList()};
  }
  const auto& has = entry->baseline.collectives;
  if (std::find(has.begin(), has.end(), request.collective) == has.end()) {
    const std::string names =
        commaList(has, [](const Collective collective) { return std::string(toString(collective)); });
    return Error{ErrorCode::badUsage, std::string(name) + " has no " + std::string(toString(request.collective)),
                 "it has " + names};
  }
  // Blink reduces to a root and broadcasts from it in allreduce too; rank 0 unless stated.
  Request used = request;
  const bool takesRoot =
      isRooted(request.collective) || (name == "blink" && request.collective == Collective::allreduce);
  if (request.root && (!takesRoot || *request.root < 0 || *request.root >= fabric.gpuCount())) {
    return Error{ErrorCode::badUsage,
                 takesRoot ? "There is no rank " + std::to_string(*request.root)
                           : std::string(toString(request.collective)) + " has no root",
                 takesRoot ? "name a rank from 0 to " + std::to_string(fabric.gpuCount() - 1) : "leave the root out"};
  }
  if (isRooted(request.collective) && !request.root) {
    used.root = 0;
  }
  return guarded(
      [&]() -> Result<schedule::AnySchedule> {
        const fabric::Fabric boxed = fabric::withBoxes(fabric);
        if (entry->forests) {
          return schedule::AnySchedule(entry->forests(boxed, used, progress));
        }
        Builder builder(name, boxed, used, progress);
        entry->add(builder);
        return schedule::AnySchedule(builder.finish());
      },
      {.overflow = "The schedule leaves the 64-bit range",
       .overflowFix = "use bandwidths with a smaller common denominator"});
}

}  // namespace coppice::baselines
