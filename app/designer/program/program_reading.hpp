// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <memory>

#include "program/step_links.hpp"
#include "workflow/studied_program.hpp"

namespace coppice::designer {

/// A program file, read, judged by the rules of a runtime, and played.
struct ProgramReading {
  QString path;
  program::Runtime runtime = program::Runtime::msccl;
  workflow::StudiedProgram studied;
  program::StepLinks links;

  [[nodiscard]] const program::Program& program() const { return studied.judgement.program; }
  [[nodiscard]] const verify::ProgramStudy& study() const { return studied.study; }
};
using ProgramReadingPtr = std::shared_ptr<const ProgramReading>;

}  // namespace coppice::designer
