// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/duration.hpp"
#include "workflow/imported_run.hpp"

namespace coppice::workflow {

/// Where the time of a run went, over all calls whose algorithm is known: the bound's own time, what the fullest link
/// of NCCL's choice takes beyond it, and the rest (latency, late ranks, protocol).
struct LostTime {
  struct Link {
    int arc = 0;          ///< of the fabric
    Microseconds lost{};  ///< that it is busy beyond the time of the bound
    Microseconds busy{};
  };
  struct Rank {
    int rank = 0;            ///< of the run
    std::string host = {};   ///< empty = not said
    int calls = 0;           ///< for which the others waited
    Microseconds lost{};     ///< for how long, in all
    std::string state = {};  ///< by RAS: "launched up to operation 6649"; empty = nothing
  };

  Microseconds measured{};
  Microseconds bound{};
  Microseconds congestion{};
  std::vector<Link> links = {};  ///< that lost time, the most first
  std::vector<Rank> ranks = {};  ///< that let others wait or that RAS names, the most first

  [[nodiscard]] Microseconds rest() const { return measured - bound - congestion; }
};

/// Ranks come from the Inspector, which sees a late one by its shorter time, and from RAS; links from the sizes of the
/// collective that were measured.
[[nodiscard]] LostTime lostTime(const ImportedRun& run, const RunOnFabric& on, const std::vector<RunSize>& sizes);

}  // namespace coppice::workflow
