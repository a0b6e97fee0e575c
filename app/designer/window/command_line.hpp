// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <QStringList>
#include <cstdint>
#include <optional>

#include "base/collective.hpp"
#include "base/result.hpp"
#include "designer/playback/playback.hpp"
#include "designer/render/picture.hpp"

namespace coppice::designer {

/// A moment of a simulated run.
struct PlayTime {
  double value = 0;      ///< ns, or a share
  bool isShare = false;  ///< 0 to 1 of the run
};
/// "12us", "1.5 ms", "0.2s", "500ns", "50%". Errors: badUsage.
[[nodiscard]] Result<PlayTime> parsePlayTime(const QString& text);

/// Frames of a run at equal distances.
struct FilmRequest {
  double seconds = 8;
  int framesPerSecond = 25;

  [[nodiscard]] int frameCount() const;
};

/// What `coppice --export-image`, `--export-film` or `--export-replay` is to draw.
struct ImageRequest {
  enum class Mode { draw, analyse, schedule, timeline, compare, program };

  QString output;
  /// A file of any format that the designer opens, or "preset:NAME,key=value,…".
  QString input;
  Mode mode = Mode::draw;
  PictureOptions picture = {};
  QStringList selection = {};  ///< names of nodes, paths of boxes, with * and ?
  /// Absent: allgather, or that of a saved schedule.
  std::optional<Collective> collective = {};
  QString root = {};  ///< broadcast and reduce; empty = the first GPU
  int trees = 0;      ///< schedule: this many trees, each of another root; 0 = the load of each link
  bool isFolded = false;
  // ---- schedule, timeline, compare and films
  QString method = {};                ///< of workflow::methods() that makes the schedule; empty = saved, or ForestColl
  QStringList methods = {};           ///< compare: those that are made beside the saved ones
  std::optional<int> step = {};       ///< schedule: this step alone, from 1
  std::optional<PlayTime> time = {};  ///< schedule: the data under way; timeline: where the clock is
  std::int64_t bytes = std::int64_t{1} << 26;            ///< of the collective
  Playback::LaneKind lanes = Playback::LaneKind::links;  ///< timeline
  std::optional<FilmRequest> film = {};
  bool isReplay = false;  ///< the film is one HTML file that plays the run
};

/// What the command line of `coppice` asks for.
struct CommandLine {
  enum class Task { window, image, help, version };

  Task task = Task::window;
  QStringList files = {};  ///< to open in the window
  ImageRequest image = {};
};

/// The arguments with the name of the program first. Those that Qt takes itself (-platform …) are ignored.
/// Errors: badUsage, with one clear message.
[[nodiscard]] Result<CommandLine> parseCommandLine(const QStringList& arguments);
/// What --help prints.
[[nodiscard]] QString commandLineHelp();

}  // namespace coppice::designer
