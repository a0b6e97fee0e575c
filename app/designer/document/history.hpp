// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <vector>

#include "designer/document/model.hpp"
#include "designer/document/patch.hpp"

namespace coppice::designer {

/// How a patch came about: what a journal needs besides the patch to rebuild the history.
struct HistoryStep {
  enum class Kind {
    done,    ///< a new command
    merged,  ///< more of the last command, as in a drag
    undone,
    redone,
    view  ///< no command: boxes were folded or unfolded
  };
  Kind kind = Kind::done;
  QString text = {};  ///< done, merged: of the command
};

/// The commands of a document, and how many of them are done.
struct History {
  struct Entry {
    QString text;
    Patch patch;
  };
  std::vector<Entry> entries;
  int done = 0;
};

/// The patch changes nothing but which boxes are folded. That belongs to the view: it can not be undone and leaves the
/// document saved, and is written with the next save.
[[nodiscard]] bool isFoldOnly(const Patch& patch);
/// The patch, with each box folded as it is in the model: what is undone or redone leaves folding alone.
[[nodiscard]] Patch withPresentFolds(Patch patch, const Model& model);
/// The same for a patch whose result is the model.
[[nodiscard]] Patch withFoldsOfResult(Patch patch, const Model& result);

/// One step of a history that is replayed: changes model and history as the step did.
/// Errors: badInput where the step does not fit; nothing changes then.
Outcome replay(const HistoryStep& step, const Patch& patch, Model& model, History& history);

}  // namespace coppice::designer
