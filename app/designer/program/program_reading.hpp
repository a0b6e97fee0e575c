// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "designer/trees/tree_model.hpp"
#include "lowering/lowering.hpp"
#include "verify/step_links.hpp"
#include "workflow/studied_program.hpp"

namespace coppice::designer {

/// What people call a tree.
using TreeName = std::function<QString(const TreeRef& tree)>;

/// A program file, read, judged by the rules of a runtime, and played.
struct ProgramReading {
  QString path;
  program::Runtime runtime = program::Runtime::msccl;
  workflow::StudiedProgram studied;
  verify::StepLinks links;
  lowering::StepOrigins origins = {};  ///< which trees its steps serve; empty = not known

  [[nodiscard]] const program::Program& program() const { return studied.judgement.program; }
  [[nodiscard]] const verify::ProgramStudy& study() const { return studied.study; }
  /// Of its schedule, that the step serves. @pre the step exists
  [[nodiscard]] std::vector<TreeRef> treesOf(const program::StepPlace& place) const;
  /// Whether the step serves one of them.
  [[nodiscard]] bool serves(const program::StepPlace& place, const std::set<TreeRef>& trees) const;
  /// All that serve one of them, in the order in which they happen.
  [[nodiscard]] std::vector<program::StepPlace> stepsOf(const std::set<TreeRef>& trees) const;
  /// The last step that this one waits for (-1), or the first that waits for it (1); nullopt = there is none.
  /// @param replay says when steps are done; nullptr = not known @pre the step exists
  [[nodiscard]] std::optional<program::StepPlace> alongWaits(const program::StepPlace& place, int direction,
                                                             const verify::ProgramReplay* replay) const;

private:
  /// nullptr: it is not known, or there is no such step.
  [[nodiscard]] const lowering::StepOrigin* originOf(const program::StepPlace& place) const;
};
using ProgramReadingPtr = std::shared_ptr<const ProgramReading>;

}  // namespace coppice::designer
