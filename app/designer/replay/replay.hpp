// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QByteArray>

#include "base/result.hpp"
#include "designer/playback/playback.hpp"
#include "designer/render/picture.hpp"
#include "designer/trees/fabric_map.hpp"

/// A run as one HTML file: the drawing, the clock, the loads of the links and the parts of the schedule. It plays in
/// any browser and refers to nothing outside itself.
namespace coppice::designer {

struct ReplayOptions {
  PictureOptions picture = {};  ///< scheme, fit and folded boxes of the drawing
  double seconds = 8;           ///< that the run takes at speed 1
};

/// Runs with more messages do not become a replay: the file would be too large to send.
inline constexpr std::size_t kMaxReplayMessages = 400'000;

/// @param map of the schedule onto the drawing
/// Errors: limit (too many messages), those of drawPicture.
[[nodiscard]] Result<QByteArray> replayPage(CanvasView& view, const Playback& run, const FabricMap& map,
                                            const ReplayOptions& options);

}  // namespace coppice::designer
