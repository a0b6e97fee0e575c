// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

#include "designer/program/program_reading.hpp"
#include "workflow/target.hpp"

namespace coppice::designer {

/// "“ring” · AllGather · 16 ranks · …": what a program is, in one line.
[[nodiscard]] QString programFacts(const verify::ProgramJudgement& judgement);
/// The facts of a file of another target, one a line.
[[nodiscard]] QString targetFacts(const workflow::TargetFile& file);
/// "✓ Verified: …" or "Not verified …".
[[nodiscard]] QString verdictText(const ProgramReading& reading);
[[nodiscard]] QString verdictText(const workflow::TargetFile& file);
/// The deadlock, the first wrong step, or else the first fault; empty where there is none.
[[nodiscard]] QString findingText(const ProgramReading& reading);
/// What a step is and does, when, and for which trees. @param replay nullptr = not known when
[[nodiscard]] QString stepSentence(const ProgramReading& reading, const program::StepPlace& place,
                                   const verify::ProgramReplay* replay, const TreeName& treeName = {});
/// As the dock Trees calls them, one after another. @param nameOf empty = by number
[[nodiscard]] QString treeNames(const std::vector<TreeRef>& trees, const TreeName& nameOf);
/// What the step does, in words.
[[nodiscard]] QString stepMeaning(program::StepType type);
/// "order", "flag", "data", "space".
[[nodiscard]] QString waitTitle(program::WaitReason reason);

}  // namespace coppice::designer
