// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/duration.hpp"
#include "base/result.hpp"
#include "io/import_result.hpp"
#include "sketch/sketch.hpp"

namespace coppice::io {

/// What a topology file of TACCL leaves open.
struct TacclFabricOptions {
  std::optional<sketch::MachineType> type = {};  ///< absent: guessed from the file
  int boxes = 1;
  std::optional<ExactMicroseconds> timeUnit = {};  ///< absent: guessed (sketch::guessScale)
};

/// The text is a communication sketch of TACCL, which holds no fabric.
[[nodiscard]] bool looksLikeTacclSketch(std::string_view text);

/// Boxes of a topology file as a fabric, without a sketch: the links of NDv2 and of matrices as they are, all other
/// GPUs of a box on one switch; with several boxes, each NIC of a box is shared by its GPUs and joined to one network.
/// The bandwidth of a link is that of a chunk in beta, its latency alpha. The description's extra members keep the text
/// (taccl_origin.hpp). Errors: badInput naming the key, with a fix; overflow.
[[nodiscard]] Result<ImportResult> readTacclFabric(std::string_view text, const std::string& fileName,
                                                   const TacclFabricOptions& options = {});

}  // namespace coppice::io
