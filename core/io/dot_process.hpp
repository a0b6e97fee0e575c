// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "fabric/description.hpp"
#include "io/import_result.hpp"

/// DOT by way of the helper program coppice-dot, run as a child process: Graphviz is not thread-safe, cannot be stopped
/// and may crash on hostile input, and none of that reaches the caller.
namespace coppice::io {

struct DotHelperOptions {
  std::filesystem::path program = {};  ///< empty: findDotHelper()
  std::chrono::milliseconds timeLimit = std::chrono::seconds(60);
  std::stop_token stop = {};  ///< a stop request ends the helper within about 50 ms
};

/// coppice-dot beside the running program, in ../libexec/coppice/ from there, or in a folder of PATH.
/// Errors: unavailable.
Result<std::filesystem::path> findDotHelper();

/// Errors: unavailable (no helper), badInput (what the helper says about the text), limit (time or size), cancelled,
/// io (the helper cannot be started, crashed, or answered nonsense).
Result<ImportResult> readDotWithHelper(std::string_view text, const std::string& fileName,
                                       const DotHelperOptions& options = {});

/// Errors: as readDotWithHelper.
Result<std::string> writeDotWithHelper(const fabric::Description& description, const DotHelperOptions& options = {});

/// The engines of Graphviz, by what they are good for.
enum class DotLayout {
  layered,   ///< dot: ranks along the links
  force,     ///< fdp: springs, clusters kept together
  energy,    ///< neato: stress majorisation
  scalable,  ///< sfdp: springs at several scales, for thousands of nodes
  circular   ///< circo: circles
};

/// Lays a DOT graph out. The answer has one line "name x y" for each node, centres in points (1/72 inch), y upwards.
/// Errors: as readDotWithHelper.
Result<std::string> layOutDotWithHelper(std::string_view text, DotLayout layout, const DotHelperOptions& options = {});

}  // namespace coppice::io
