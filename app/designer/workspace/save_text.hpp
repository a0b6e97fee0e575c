// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <string>

#include "designer/workspace/prompts.hpp"
#include "designer/workspace/workspace.hpp"

namespace coppice::designer {

/// Who asks where a text is to be saved, and where it is said that it is.
struct SaveHost {
  Workspace& workspace;
  Prompts& prompts;
  QWidget* parent = nullptr;
};
struct SaveQuestion {
  QString title;       ///< of the message where it cannot be saved
  QString suggestion;  ///< name of the file
  QString filter;      ///< as QFileDialog has it
};

/// Asks for a file and writes the text into it, in one step.
void saveText(const SaveHost& host, const SaveQuestion& question, const std::string& text);

}  // namespace coppice::designer
