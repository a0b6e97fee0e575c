// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "nccl/channels.hpp"
#include "nccl/graph.hpp"
#include "nccl/load.hpp"
#include "nccl/measurements.hpp"
#include "nccl/run.hpp"
#include "schedule/step_schedule.hpp"
#include "workflow/measured_run.hpp"

/// Runs of NCCL and RCCL: what their files say, and what that reaches on a fabric.
namespace coppice::workflow {

struct RunFile {
  std::string name;
  std::string text;
};

struct NamedGraphs {
  std::string name;
  nccl::GraphSet graphs;
  std::vector<Finding> findings;  ///< what NCCL would do with the file
};

/// Everything that the files of a run say.
struct ImportedRun {
  nccl::Run log;                            ///< of all logs together
  std::vector<MeasuredRun> measured;        ///< tables and JSON of nccl-tests, records of coppice-exec
  std::vector<nccl::InspectedCalls> calls;  ///< of NCCL's Inspector
  std::vector<NamedGraphs> graphs;
  std::vector<std::string> topologies;  ///< files of NCCL_TOPO_DUMP_FILE: `import` makes a fabric of them
  std::vector<std::string> missing;     ///< sentences with what to set

  /// The communicator with the most ranks, the first of them; nullptr = none.
  [[nodiscard]] const nccl::Communicator* largest() const;
};

/// Reads files of any kind that a run leaves: logs (NCCL_DEBUG), graph and topology dumps, tables and JSON of
/// nccl-tests, lines of the Inspector. Errors: badInput naming the file that is none of these; those of the readers.
[[nodiscard]] Result<ImportedRun> importRun(const std::vector<RunFile>& files);

/// The rings and trees of a communicator, with ranks as the fabric has them: hosts are its boxes in the order of their
/// lowest rank, and a GPU is that of its device number. Errors: badInput (the numbers of hosts or GPUs differ).
[[nodiscard]] Result<nccl::ChannelSet> channelsOn(const fabric::Fabric& fabric, const nccl::Communicator& communicator);

/// What the rings and the trees of a run reach.
struct RunOnFabric {
  Collective collective = Collective::allreduce;
  Bandwidth bound;                  ///< of any schedule
  std::optional<nccl::Load> rings;  ///< absent = not known, or they do not make the collective
  std::optional<nccl::Load> trees;  ///< of allreduce
};
/// Errors: those of channelsOn and of the bound; infeasible (no way between two ranks).
[[nodiscard]] Result<RunOnFabric> runOnFabric(const fabric::Fabric& fabric, const nccl::ChannelSet& channels,
                                              Collective collective, const Progress& progress);

/// The rings as a schedule that is verified, simulated and drawn like any other; equal rings are one. Errors: limit
/// (more than 2^24 transfers), infeasible, badUsage (a collective that rings do not make).
[[nodiscard]] Result<schedule::StepSchedule> ringSchedule(const fabric::Fabric& fabric,
                                                          const std::vector<nccl::Ring>& rings, Collective collective,
                                                          fabric::Rank root, const std::string& method,
                                                          const Progress& progress);

}  // namespace coppice::workflow
