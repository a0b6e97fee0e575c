// SPDX-License-Identifier: Apache-2.0
#include "plan_text.hpp"

#include <algorithm>

#include "text.hpp"

namespace coppice::cli {

void describePlan(const mscclpp::ExecutionPlan& plan, const verify::MscclppVerdict& verdict, Report& report) {
  std::size_t memory = 0;
  std::size_t port = 0;
  std::size_t groups = 0;
  int scratch = 0;
  for (const mscclpp::Gpu& gpu : plan.gpus) {
    memory = std::max(memory, gpu.memoryPeers.size());
    port = std::max(port, gpu.portPeers.size());
    groups = std::max(groups, gpu.switchGroups.size());
    scratch = std::max(scratch, gpu.scratchChunks);
  }
  report.json["name"] = plan.name;
  report.json["protocol"] = plan.protocol;
  report.json["in_place"] = plan.inPlace;
  report.json["threadblocks"] = verdict.mostBlocks;
  report.json["operations"] = verdict.mostOps;
  report.json["memory_channels"] = memory;
  report.json["port_channels"] = port;
  report.json["switch_groups"] = groups;
  report.json["scratch_chunks"] = scratch;
  report.json["min_bytes"] = plan.minBytes;
  report.json["max_bytes"] = plan.maxBytes;
  if (verdict.root >= 0) {
    report.json["root"] = verdict.root;
  }
  report.text += "  plan        " + plan.protocol + (plan.inPlace ? ", in place; " : ", out of place; ") + "at most " +
                 counted(verdict.mostBlocks, "threadblock") + " of " + counted(verdict.mostOps, "operation") +
                 " on a rank; " + counted(static_cast<int>(memory), "memory channel") + ", " +
                 counted(static_cast<int>(port), "port channel") + "\n";
}

}  // namespace coppice::cli
