// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/collective.hpp"
#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "order/hosts.hpp"
#include "order/search.hpp"
#include "remote/bundle.hpp"

/// Which host and GPU should get which rank, for people who run MPI or NCCL as it is and can choose the order alone.
namespace coppice::workflow {

/// As a person writes it.
struct RankOrderText {
  std::string algorithm = "multi-ring";
  std::string collective = {};  ///< empty = what the algorithm is mostly used for
  std::string mesh = {};        ///< "8x16": the algorithm runs in its groups
  std::string axes = {};        ///< as readMeshAxes reads them
  std::string present = {};     ///< a hostfile: hosts in the order as it is; empty = that of the fabric
  order::Request request = {};
};

struct RankOrder {
  std::string algorithm;
  Collective collective = Collective::allreduce;
  fabric::Fabric fabric;  ///< with boxes
  order::Hosts hosts;     ///< in the order as it is
  bool isFree = false;
  order::Answer answer;

  /// algbw that the best order gains; 0 where none is better, below 0 where the order as it is does not keep hosts
  /// together, and all that do are slower.
  [[nodiscard]] Bandwidth gain() const { return answer.best.algbw() - answer.given.algbw(); }
};

/// Where a rank runs.
struct RankPlace {
  int host = 0;    ///< into RankOrder::hosts
  int device = 0;  ///< the GPU's number on its host, in the order of the fabric's ranks
};
/// By new rank.
[[nodiscard]] std::vector<RankPlace> placesOf(const RankOrder& made);
/// Hosts in the order of their first ranks.
[[nodiscard]] std::vector<int> hostOrder(const RankOrder& made);
/// CUDA_VISIBLE_DEVICES of a host: its GPUs in the order of their ranks, "2,3,0,1".
[[nodiscard]] std::string devicesOf(const RankOrder& made, int host);

/// Verified: both times are added up again by other code. Errors: badUsage naming the option; badInput (the hostfile);
/// verification; those of order::patternOf and order::bestOrder.
[[nodiscard]] Result<RankOrder> rankOrder(const fabric::Fabric& fabric, const RankOrderText& text,
                                          const std::string& presentHosts, const Progress& progress);

/// Open MPI's hostfile and rankfile, a hostfile for Slurm, scripts that start torchrun and set CUDA_VISIBLE_DEVICES, a
/// table, and README.md. Errors: infeasible (a host's name is no host name).
[[nodiscard]] Result<std::map<std::string, remote::BundleFile>> rankOrderFiles(const RankOrder& made);

/// Into a new folder. Errors: io, badUsage (the folder is in use); those of rankOrderFiles.
[[nodiscard]] Outcome writeRankOrder(const std::filesystem::path& folder, const RankOrder& made);

/// "200/3 = 66.67 GB/s", or why there is none.
[[nodiscard]] std::string gainText(const RankOrder& made);
/// What the bound says, in words.
[[nodiscard]] std::string boundText(const RankOrder& made);

}  // namespace coppice::workflow
