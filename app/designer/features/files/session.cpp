// SPDX-License-Identifier: GPL-3.0-or-later
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <utility>

#include "designer/window/main_window.hpp"
#include "designer/window/recovery_dialog.hpp"

using namespace Qt::StringLiterals;

/// The parts of MainWindow that are about what a crash left.
namespace coppice::designer {

void MainWindow::offerRecovery() {
  std::vector<RecoveryItem> items;
  std::vector<std::pair<QString, Recovered>> found;
  QStringList failures;
  for (const QString& journal : DocumentFile::abandonedJournals(m_options.recoveryFolder)) {
    auto recovered = recover(journal);
    if (!recovered) {
      failures << QString::fromStdString(describe(recovered.error()));
      QFile::rename(journal, journal + u".unreadable"_s);
      continue;
    }
    const JournalHead& head = recovered->head;
    RecoveryItem item;
    item.name = !head.documentPath.isEmpty() ? QFileInfo(head.documentPath).fileName()
                : head.name.isEmpty()        ? tr("Untitled")
                                             : head.name;
    item.path = head.documentPath;
    item.time = QFileInfo(journal).lastModified();
    item.changes = recovered->changes;
    const QString work = DocumentFile::workFolderOf(m_options.recoveryFolder, head.identity);
    item.schedules = work.isEmpty() ? 0 : static_cast<int>(QDir(work).entryList(QDir::Files).size());
    item.model = std::make_shared<const Model>(recovered->model);
    items.push_back(std::move(item));
    found.emplace_back(journal, *std::move(recovered));
  }
  if (!failures.isEmpty()) {
    m_prompts->failure(this, tr("Restore Changes"), failures.join(u"\n\n"_s));
  }
  if (items.empty()) {
    return;
  }
  const std::vector<RecoveryChoice> choices = m_prompts->recovery(this, items);
  for (std::size_t i = 0; i < found.size() && i < choices.size(); ++i) {
    auto& [journal, recovered] = found[i];
    if (choices[i] == RecoveryChoice::restore) {
      restore(std::move(recovered), journal);
    } else if (choices[i] == RecoveryChoice::discard) {
      const QString work = DocumentFile::workFolderOf(m_options.recoveryFolder, recovered.head.identity);
      if (QFile::remove(journal) && !work.isEmpty()) {
        QDir(work).removeRecursively();
      }
    }
  }
}

Editor* MainWindow::restore(Recovered recovered, const QString& journal) {
  // The recovered work has a journal of its own before the old one goes.
  const QString aside = journal + u".recovered"_s;
  QFile::remove(aside);
  QFile::rename(journal, aside);
  auto editor = std::make_unique<Editor>(m_options.recoveryFolder);
  editor->file().restore(std::move(recovered));
  Editor* added = addEditor(std::move(editor));
  QFile::remove(aside);
  return added;
}

void MainWindow::keepSession() {
  m_keepsSession = true;
  rememberSession();
}

void MainWindow::rememberSession() {
  if (m_keepsSession) {
    saveSession(currentEditor());
  }
}

}  // namespace coppice::designer
