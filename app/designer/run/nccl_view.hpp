// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "designer/canvas/overlay.hpp"
#include "designer/document/model.hpp"
#include "designer/schedules/schedule_result.hpp"
#include "fabric/fabric.hpp"
#include "workflow/imported_run.hpp"
#include "workflow/lost_time.hpp"

namespace coppice::designer {

/// A run of NCCL that was imported into a document, or what is expected of one there.
struct NcclImport {
  QString title;                                     ///< for a person
  std::shared_ptr<const workflow::ImportedRun> run;  ///< nullptr: workflow::expectedRun() of the fabric
};
using NcclImportPtr = std::shared_ptr<const NcclImport>;

/// What a run says of one collective on the fabric of a document. Immutable.
struct NcclView {
  NcclImportPtr import;
  std::shared_ptr<const workflow::ImportedRun> run;  ///< imported or expected; empty where that failed
  Collective collective = Collective::allreduce;
  std::uint64_t factRevision = 0;  ///< of the document
  std::shared_ptr<const fabric::Description> facts;
  std::optional<fabric::Fabric> fabric;
  nccl::ChannelSet channels;
  std::vector<workflow::DrawnChannels> drawn;
  std::optional<workflow::RunOnFabric> on;  ///< absent: see problem
  std::vector<workflow::RunSize> sizes;     ///< of the collective
  bool passesGpus = false;  ///< rings leave a box through another GPU (PXN): no schedule has such routes
  workflow::LostTime lost;  ///< of the collective, by link and by rank
  QString problem;          ///< why something is missing; empty where all is there
};
using NcclViewPtr = std::shared_ptr<const NcclView>;

/// Meant for another thread.
[[nodiscard]] NcclViewPtr makeNcclView(const NcclImportPtr& import, std::shared_ptr<const fabric::Description> facts,
                                       std::uint64_t factRevision, Collective collective, const Progress& progress);

/// The rings as a schedule, verified and measured. Meant for another thread. Errors: those of workflow::ringSchedule
/// and examineSchedule.
[[nodiscard]] Result<ScheduleResultPtr> ringsAsSchedule(const NcclView& view, const Progress& progress);

/// A rank to mark, and why.
struct RankMark {
  int rank = 0;
  QString text;
};

/// The chosen channels on the drawing (none chosen: the rings, else the trees, else the heads), the link that holds
/// them back, else the chosen one that lost time, and the rank that lost time, if one is chosen.
[[nodiscard]] Overlay ghostOf(const NcclView& view, const std::vector<std::size_t>& chosen,
                              const std::optional<RankMark>& late, const std::optional<workflow::LostTime::Link>& link,
                              const Model& model);

/// "Ring 1", by the place among those of its kind.
[[nodiscard]] QString nameOf(const NcclView& view, std::size_t index);
/// "0 1 2 3"; of a tree "root 0"; of NVLS its heads.
[[nodiscard]] QString ranksText(const workflow::DrawnChannels& channels);

/// "NIC 0 → leaf 1", by the names of the ends.
[[nodiscard]] QString linkName(const fabric::Fabric& fabric, int arc);

}  // namespace coppice::designer
