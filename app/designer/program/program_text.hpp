// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

#include "designer/program/program_reading.hpp"

namespace coppice::designer {

/// "“ring” · AllGather · 16 ranks · …": what a program is, in one line.
[[nodiscard]] QString programFacts(const verify::ProgramJudgement& judgement);
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
