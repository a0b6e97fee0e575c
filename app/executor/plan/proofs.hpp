// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/progress.hpp"
#include "plan/plan.hpp"
#include "verify/program_data.hpp"
#include "verify/program_flat.hpp"

/// Internal to plan: what the order of a program's accesses proves.
namespace coppice::executor {

/// Sets sourceStable, targetFree and isFinal of the steps, and needsEqualChunks.
///
/// One execution lists, for each place of memory, the accesses in an order that all synchronisation respects; a program
/// without races has no other order of accesses to one place that matters. It leaves questions "does event a happen
/// before event b", which a second kind of execution answers: every threadblock carries how many events of the asked
/// threadblocks it knows of, and messages and flags pass that on. Tiles need no thought: they touch disjoint bytes.
/// Room in a connection orders nothing.
/// What is not proven within the work limit stays false. Equal chunks are demanded unless every chunk of i and o only
/// ever holds data of its own chunk number.
/// @pre the program has no races and does not deadlock at this depth with one chunk per message
void prove(const verify::FlatProgram& flat, const verify::Layout& layout, std::uint32_t depth, Plan& plan,
           const Progress& progress);

}  // namespace coppice::executor
