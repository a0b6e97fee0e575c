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
#include "nccl/ras.hpp"
#include "nccl/reaches.hpp"
#include "nccl/run.hpp"
#include "nccl/tuning.hpp"
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

/// What was searched and not read of a log.
struct NcclExpectation {
  nccl::ChannelSet channels;
  nccl::TuningInput tuning;            ///< of its model
  std::vector<std::string> uncertain;  ///< sentences
};

/// Everything that the files of a run say.
struct ImportedRun {
  nccl::Run log;                            ///< of all logs together
  std::vector<MeasuredRun> measured;        ///< tables and JSON of nccl-tests, records of coppice-exec
  std::vector<Finding> doubts;              ///< of the tables: what may be wrong with them
  std::vector<nccl::InspectedCalls> calls;  ///< of NCCL's Inspector
  std::vector<nccl::RasStatus> ras;         ///< answers of NCCL's RAS
  std::vector<NamedGraphs> graphs;
  std::vector<std::string> topologies;  ///< files of NCCL_TOPO_DUMP_FILE: `import` makes a fabric of them
  std::vector<std::string> missing;     ///< sentences with what to set
  std::string missingMachine;  ///< the same, where no file describes the machine, for who has no fabric; else empty

  /// There was no run: expectedRun().
  std::optional<NcclExpectation> expectation = {};

  /// The communicator with the most ranks, the first of them; nullptr = none.
  [[nodiscard]] const nccl::Communicator* largest() const;
};

/// Reads files of any kind that a run leaves: logs (NCCL_DEBUG), graph and topology dumps, tables and JSON of
/// nccl-tests, lines of the Inspector, answers of RAS. Errors: badInput naming the file that is none of these; those of
/// the readers.
[[nodiscard]] Result<ImportedRun> importRun(const std::vector<RunFile>& files);

/// The rings and trees of a communicator, with ranks as the fabric has them: hosts are its boxes in the order of their
/// lowest rank, and a GPU is that of its device number. Errors: badInput (the numbers of hosts or GPUs differ).
[[nodiscard]] Result<nccl::ChannelSet> channelsOn(const fabric::Fabric& fabric, const nccl::Communicator& communicator);

/// The text is a file that importRun reads, but for topology dumps, of which import makes a fabric. The beginning of a
/// long file is enough.
[[nodiscard]] bool isRunText(std::string_view text);

/// What was expected; else the channels of the largest communicator whose rings or trees the logs have; else those of
/// the first graph dump that has rings, joined over the boxes of the fabric; else none. Errors: those of channelsOn, of
/// boxModels and of joining.
[[nodiscard]] Result<nccl::ChannelSet> channelsOf(const fabric::Fabric& fabric, const ImportedRun& run,
                                                  const Progress& progress = {});

/// A rank of the run as the fabric has it, by channelsOn's rule; nullopt where the fabric has another number of GPUs.
[[nodiscard]] std::optional<fabric::Rank> rankOn(const fabric::Fabric& fabric, const ImportedRun& run, int rank);

/// Channels that are the same, as they lie on the fabric.
struct DrawnChannels {
  enum class Kind { ring, tree, nvls } kind = Kind::ring;
  int count = 1;                                            ///< channels that are this one
  std::vector<fabric::Rank> ranks = {};                     ///< of a ring: in order; of NVLS: its heads
  std::vector<fabric::Rank> roots = {};                     ///< of a tree: its root; of NVLS: its heads
  std::vector<std::vector<fabric::NodeIndex>> routes = {};  ///< of each hop; of trees upwards; of NVLS none
};
/// Rings, trees and NVLS heads, equal ones once. Errors: infeasible (no way between two ranks), cancelled.
[[nodiscard]] Result<std::vector<DrawnChannels>> drawnChannels(const fabric::Fabric& fabric,
                                                               const nccl::ChannelSet& channels,
                                                               const Progress& progress = {});

/// What NCCL's algorithms reach with the channels of a run.
struct RunOnFabric {
  Collective collective = Collective::allreduce;
  Bandwidth bound;                        ///< of any schedule
  std::vector<nccl::Reach> reaches = {};  ///< those that are known

  /// nullptr where it is not known.
  [[nodiscard]] const nccl::Load* loadOf(std::string_view algorithm) const;
};
/// Errors: those of channelsOn and of the bound; infeasible (no way between two ranks).
[[nodiscard]] Result<RunOnFabric> runOnFabric(const fabric::Fabric& fabric, const nccl::ChannelSet& channels,
                                              Collective collective, const Progress& progress);

/// One size of one collective: what NCCL chose, what it expected, what was measured, what it can reach here.
struct RunSize {
  std::string collective = {};
  std::int64_t bytes = 0;
  std::string algorithm = {};  ///< that NCCL chose; empty = not known
  std::string protocol = {};
  std::optional<int> channels = {};
  std::optional<Microseconds> estimated = {};  ///< by NCCL itself: what its log says, else its table
  /// Of what was chosen, here: by NCCL's estimate with no more bandwidth than its rings and trees have on the fabric;
  /// without an estimate, by that bandwidth alone.
  std::optional<Microseconds> predicted = {};
  std::optional<Microseconds> measured = {};  ///< by nccl-tests (out of place where there is both), else the Inspector
  int calls = 0;                              ///< that were measured
  std::optional<Throughput> algbw = {};       ///< at that time
  std::optional<Bandwidth> reachable = {};    ///< of what was chosen, by congestion
  std::string faster = {};  ///< "Tree LL128", "Tree": is expected to take less time here; empty = none
  std::optional<Microseconds> fasterTime = {};  ///< absent where only the throughput by congestion says so
  std::optional<int> slowestRank = {};          ///< that was last most often
};
/// Of each collective the first run of each file. A run that is not clear counts where it may be of this collective.
[[nodiscard]] std::vector<const MeasuredRun*> comparedRuns(const ImportedRun& run, std::string_view collective);

/// All sizes that the run says something of, by size. Where several files measured one, the last counts; of several
/// runs of one collective in a file the first. What would be faster: NCCL's table of estimates, its bandwidths limited
/// to what the rings and trees reach here; without a table the algorithm with the higher throughput.
[[nodiscard]] std::vector<RunSize> runSizes(const ImportedRun& run, const RunOnFabric& on);

/// The collectives that the run says something of, those with the most sizes first, then those that tables may be of;
/// allreduce where it says nothing.
[[nodiscard]] std::vector<Collective> collectivesOf(const ImportedRun& run);

/// As asked for; else the first of collectivesOf. Errors: badUsage (no such collective; none was asked for, and only
/// tables whose collective is not clear speak of one).
[[nodiscard]] Result<Collective> comparedCollective(const ImportedRun& run, const std::string& asked);

/// The rings as a schedule that is verified, simulated and drawn like any other; equal rings are one. Errors: limit
/// (more than 2^24 transfers), infeasible, badUsage (a collective that rings do not make).
[[nodiscard]] Result<schedule::StepSchedule> ringSchedule(const fabric::Fabric& fabric,
                                                          const std::vector<nccl::Ring>& rings, Collective collective,
                                                          fabric::Rank root, const std::string& method,
                                                          const Progress& progress);

}  // namespace coppice::workflow
