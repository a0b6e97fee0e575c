// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <optional>
#include <set>

#include "base/units.hpp"
#include "designer/document/model.hpp"
#include "designer/jobs/bound.hpp"

namespace coppice::designer {

/// What may leave one side of a set of nodes, and how fast the collective could be if that alone mattered.
struct LensSide {
  int gpus = 0;             ///< on the side whose data must get out
  std::int64_t demand = 0;  ///< what must get out: the GPUs, or 1 for the root
  Bandwidth bandwidth;      ///< that leave the side (in a reduction: that enter it)
  /// GB/s; absent where nothing has to cross. Of an allreduce: of the half that runs this way.
  std::optional<Bandwidth> algbw = {};
};

/// Both directions of the cut around a set.
struct CutLens {
  LensSide out;  ///< the data of the set must get out
  LensSide in;   ///< the data of the others must get in
};

/// The cut ratio of a set of nodes, whatever it is. nullopt where it is no cut (one side has no GPU), for an
/// all-to-all, whose routes may cross it often, or where a number cannot be read or leaves the exact range. Looks only
/// at links of the set.
[[nodiscard]] std::optional<CutLens> lensOf(const Model& model, const std::set<NodeId>& set, const Question& question);
/// Two lines for a person: "out: 8 GPUs through 200 GB/s → at most 800 GB/s".
[[nodiscard]] QString lensText(const CutLens& lens, Collective collective);

}  // namespace coppice::designer
