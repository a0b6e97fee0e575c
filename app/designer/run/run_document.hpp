// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QByteArray>
#include <QString>
#include <functional>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "designer/document/model.hpp"

namespace coppice::designer {

/// A schedule that can be run: of the document, or a file.
struct RunnableSchedule {
  QString key;                           ///< stable within the document: an id, or the path of a file
  QString name;                          ///< for the list
  QString suffix;                        ///< "forest.json" or "xml"
  std::optional<double> boundGBps = {};  ///< algbw
  int ranks = 0;                         ///< 0 = not known
  int root = -1;                         ///< of broadcast and reduce; -1 = none, or not known
  std::function<Result<QByteArray>()> bytes;
};

/// What Run mode knows of the document in front.
struct RunDocument {
  QString name;
  QString path;  ///< empty = has no file yet
  std::function<QByteArray()> fabric;
  std::function<const Model&()> model;
  std::vector<RunnableSchedule> schedules;
  QString currentKey;  ///< the schedule that is shown elsewhere
};

}  // namespace coppice::designer
