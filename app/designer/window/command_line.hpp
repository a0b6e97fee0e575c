// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <QStringList>
#include <optional>

#include "base/collective.hpp"
#include "base/result.hpp"
#include "designer/render/picture.hpp"

namespace coppice::designer {

/// What `coppice --export-image` is to draw.
struct ImageRequest {
  enum class Mode { draw, analyse, schedule };

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
};

/// What the command line of `coppice` asks for.
struct CommandLine {
  enum class Task { window, image, help, version };

  Task task = Task::window;
  QStringList files = {};  ///< to open in the window
  ImageRequest image = {};
};

/// The arguments with the name of the program first. Those that Qt takes itself (-platform …) are passed over.
/// Errors: badUsage, with one clear message.
[[nodiscard]] Result<CommandLine> parseCommandLine(const QStringList& arguments);
/// What --help prints.
[[nodiscard]] QString commandLineHelp();

}  // namespace coppice::designer
