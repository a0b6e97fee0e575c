// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "sketch/plan.hpp"
#include "sketch/sketch.hpp"

/// TACCL's files: communication sketches and topologies, as the official program reads them and as Listing 1 of the
/// paper (Shah et al., NSDI 2023, appendix A) writes them.
namespace coppice::io {

template <typename T>
struct TacclFile {
  T value;
  std::vector<Finding> findings;  ///< unknown keys, which are kept
};

/// Comments from // to the end of a line are ignored. Values that make no sense together are left to
/// sketch::makeModel. Errors: badInput with line, column and key; overflow for numbers beyond 64 bits.
Result<TacclFile<sketch::Sketch>> readTacclSketch(std::string_view text, const std::string& fileName = {});
Result<TacclFile<sketch::Topology>> readTacclTopology(std::string_view text, const std::string& fileName = {});

/// As the official program reads them; reading the text gives the same value. Exact fractions that no decimal equals
/// are written as strings, which only this program reads.
[[nodiscard]] std::string writeTacclSketch(const sketch::Sketch& sketch);
[[nodiscard]] std::string writeTacclTopology(const sketch::Topology& topology);

/// The messages of a plan with their times, exact fractions as strings:
///
///     {"format": "coppice-plan", "version": 1, "collective": "allgather", "makespan": "4584/5", "bound": "4584/5",
///      "messages": [{"from": 0, "to": 8, "lane": 0, "chunks": [0, 1], "start": "0", "end": "1063/5"}, ...]}
[[nodiscard]] std::string writeTacclPlan(const sketch::Model& model, const sketch::Plan& plan);

}  // namespace coppice::io
