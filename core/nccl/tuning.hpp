// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/collective.hpp"
#include "nccl/run.hpp"

/// NCCL's own estimate of the time of each algorithm and protocol (ncclTopoTuneModel and ncclTopoGetAlgoTime of
/// 2.30.7). It decides what NCCL runs, and says nothing exact of a fabric: floating point, as there.
namespace coppice::nccl {

/// What tuning takes of a graph.
struct TunedGraph {
  int channels = 0;
  double intraGBps = 0;  ///< per channel
  double interGBps = 0;
  int pattern = 0;
  bool isSame = true;  ///< all channels are the same
};

struct TuningInput {
  int ranks = 1;
  int nodes = 1;
  int computeCapability = 80;
  bool isAmd = false;     ///< the CPU
  bool hasNvlink = true;  ///< between the GPUs of a node
  bool hasLl128 = true;   ///< paths allow it
  bool isX86 = true;      ///< the CPU
  int channels = 0;       ///< in use at the end, of all repeats
  TunedGraph ring = {};
  TunedGraph tree = {};
  std::optional<TunedGraph> nvls = {};
};

/// Latency and bandwidth of each algorithm and protocol that can run: Ring for all, Tree for allreduce, NVLS in one
/// node, NVLSTree between nodes, PAT for allgather and reduce_scatter of one GPU a node. NVLS between nodes and CollNet
/// are left out: they need a plug-in for SHARP. Collectives: allreduce, allgather, reduce_scatter, broadcast, reduce;
/// none for others.
[[nodiscard]] std::vector<Estimate> tuningTable(const TuningInput& input, Collective collective);

/// Channels in use of an algorithm (ncclNvlsTuning for NVLS).
[[nodiscard]] int tunedChannels(const TuningInput& input, std::string_view algorithm);

/// Microseconds that NCCL expects of an entry at a size, with the corrections that it makes at a call.
[[nodiscard]] Microseconds estimatedTime(const TuningInput& input, const Estimate& estimate, std::int64_t bytes);

/// The entry with the least time; nullptr in an empty table.
[[nodiscard]] const Estimate* tunedChoice(const TuningInput& input, const std::vector<Estimate>& table,
                                          std::int64_t bytes);

/// A time that was measured with an algorithm and protocol.
struct TunedPoint {
  std::string algorithm = {};
  std::string protocol = {};
  std::int64_t bytes = 0;
  Microseconds time{};
};

/// What an entry's latency and the time of its bytes are multiplied by, so that it agrees with what was measured.
struct TuningFit {
  double latency = 1;
  double transfer = 1;
  int points = 0;  ///< that it rests on

  friend bool operator==(const TuningFit&, const TuningFit&) = default;
};

/// The fit with the least sum of squared relative errors, for each entry: by the points of its algorithm and protocol;
/// where it has none, by all points. Between 1/16 and 16; no points: 1.
[[nodiscard]] std::vector<TuningFit> fitTuning(const TuningInput& input, const std::vector<Estimate>& table,
                                               const std::vector<TunedPoint>& points);
/// The table with these fits, one for each entry.
[[nodiscard]] std::vector<Estimate> fitted(std::vector<Estimate> table, const std::vector<TuningFit>& fits);

/// From one size to the next the same choice.
struct TuningBand {
  Collective collective = Collective::allreduce;
  std::int64_t minBytes = 0;
  std::int64_t maxBytes = 0;
  std::string algorithm = {};
  std::string protocol = {};
  int channels = 1;
};

/// Lines of the example plug-in's file (NCCL_TUNER_CONFIG_FILE), first for these numbers of nodes and ranks, then for
/// all others: a call that no line has gets one channel.
[[nodiscard]] std::string writeTunerCsv(const std::vector<TuningBand>& bands, int nodes, int ranks);

}  // namespace coppice::nccl
