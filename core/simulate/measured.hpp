// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "program/program.hpp"
#include "program/run_protocol.hpp"
#include "simulate/sweep.hpp"

/// Recorded runs beside simulated ones.
namespace coppice::simulate {

/// A recorded run of a program, in the form of a simulated one, so that all that shows the one shows the other. Every
/// executed piece of a sending step is a message on its shortest route (ShortestRoutes, as programJob() takes them).
/// Times count from the begin of the first step.
///
/// When a message crossed its links: from the begin of the piece that sent it to the end of the piece that took it, if
/// the receiver was free by the end of the sending. Otherwise the data had to wait in between, which is not the links'
/// fault: then it is the longer one of the two pieces, since a runtime moves the data in either. The time of a piece
/// that receives and sends on counts for what it sends.
///
/// Errors: badInput (a step that the program has not, times that run backwards, no event; the program does not fit the
/// fabric), limit (more than kMaxRecorded events), cancelled.
[[nodiscard]] Result<Details> measuredRun(const fabric::Fabric& fabric, const program::Program& program,
                                          std::int64_t bytes, std::span<const program::TraceEvent> events,
                                          const Progress& progress = {});

/// A link, or all that one rank sends, in two runs of one program.
struct ComparedPart {
  int index = 0;               ///< into Fabric::arcs(), or the rank
  Microseconds planned{};      ///< during which a message crossed it (of a rank: was under way from it)
  Microseconds measured{};     ///< the same
  Microseconds plannedEnd{};   ///< at which the last of them had arrived
  Microseconds measuredEnd{};  ///< the same

  /// How much longer than planned it was busy.
  [[nodiscard]] Microseconds lost() const { return measured - planned; }
  /// Absent where nothing was planned.
  [[nodiscard]] std::optional<double> ratio() const {
    return planned.count() > 0 ? std::optional(measured / planned) : std::nullopt;
  }
};

struct Comparison {
  Microseconds planned{};  ///< the whole run
  Microseconds measured{};
  std::vector<ComparedPart> links;  ///< that carried something in either, by descending time lost
  std::vector<ComparedPart> ranks;  ///< that sent something in either, by descending time lost
};

/// @pre both are recorded, of the same fabric
[[nodiscard]] Comparison compared(const Details& planned, const Details& measured);

}  // namespace coppice::simulate
