// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "schedule/collective_table.hpp"
#include "schedule/step_schedule.hpp"

/// What other synthesizers write, as step schedules to verify and compare.
namespace coppice::io {

[[nodiscard]] bool looksLikeTeCcl(std::string_view text);
[[nodiscard]] bool looksLikeTacosResult(std::string_view text);

/// The JSON of microsoft/TE-CCL: its list "7-Flows" (older: "6-Flows") of "Chunk 0 from 3 traveled over 3->1 [with
/// volume 0.5] in epoch 2 [via switches 8]". The numbers of GPUs in ascending order are the ranks. Chunks are equal
/// parts of a source's data; in an alltoall, "Chunk paths" say where each goes, or its number is the destination.
/// The flows keep their order by epochs on each pair of GPUs; an epoch is no barrier, since slow links take several.
/// Flows with volumes take what their sender has held longest. Routes are shortest ways of the fabric.
/// Errors: badInput (what is no flow, more than a sender holds), badUsage (another number of GPUs, a collective that
/// TE-CCL has not), limit; those of addRoutes and stepCost.
[[nodiscard]] Result<schedule::StepSchedule> readTeCcl(std::string_view text, const std::string& fileName,
                                                       const fabric::Fabric& fabric,
                                                       const schedule::CollectiveTable& goal,
                                                       const Progress& progress = {});

/// The CSV of astra-sim/tacos, an allgather: four lines of counts, names of columns, then for each link
/// "from,to,latency,bandwidth,chunks..." in the order in which the link carries them, or None. Chunk c is a part of the
/// data of rank c modulo the number of NPUs. Newer releases write MSCCL XML, which is read as a program.
/// Errors: as above.
[[nodiscard]] Result<schedule::StepSchedule> readTacosResult(std::string_view text, const std::string& fileName,
                                                             const fabric::Fabric& fabric,
                                                             const schedule::CollectiveTable& goal,
                                                             const Progress& progress = {});

}  // namespace coppice::io
