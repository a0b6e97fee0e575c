// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/workspace/save_text.hpp"

#include <QCoreApplication>
#include <QFile>
#include <QFileInfo>

#include "designer/document/error_text.hpp"
#include "io/files.hpp"

namespace coppice::designer {

void saveText(const SaveHost& host, const SaveQuestion& question, const std::string& text) {
  const QString path = host.prompts.fileToSave(host.parent, question.suggestion, question.filter);
  if (path.isEmpty()) {
    return;
  }
  if (const Outcome saved = io::saveFile(QFile::encodeName(path).toStdString(), text); !saved) {
    host.prompts.failure(host.parent, question.title, errorText(saved.error()));
  } else {
    host.workspace.say(QCoreApplication::translate("Save", "Saved %1").arg(QFileInfo(path).fileName()));
  }
}

}  // namespace coppice::designer
