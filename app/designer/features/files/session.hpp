// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QByteArray>
#include <QObject>
#include <QPointer>
#include <functional>
#include <map>

#include "designer/document/journal.hpp"
#include "designer/workspace/prompts.hpp"
#include "designer/workspace/recovery_dialog.hpp"
#include "designer/workspace/workspace.hpp"

class QWidget;

namespace coppice::designer {

/// What outlives the program: the open files with their views and questions, and the journals that a crash left.
class Session : public QObject {
  Q_OBJECT

public:
  Session(Workspace& workspace, Prompts& prompts, QWidget* window, bool keepsSettings,
          std::function<EditorContext*(const QString& path)> openFile);

  /// A file that is shown beside a document, or with a null context beside none, and comes back with it.
  struct Beside {
    std::function<QString(const EditorContext* context)> pathOf;  ///< empty = there is none
    std::function<void(const EditorContext* context, const QString& path)> restore;
  };
  void setBeside(Beside beside) { m_beside = std::move(beside); }

  /// The files of the last session.
  void restore();
  /// Puts what came back into the order of the last session. From now on the open files are remembered with each
  /// change, so that they come back after a crash too.
  void keep();
  /// The set of open files has changed.
  void remember();
  /// Saves for the last time.
  void finish(const EditorContext* front);

  /// Journals of programs that are gone: offers them for recovery, in one dialog. Call once after start.
  void offerRecovery();
  /// What would be lost with the journal.
  [[nodiscard]] RecoveryItem recoveryItem(const Recovered& recovered, const QString& journal) const;
  /// A new document with what the journal held, which then is in a journal of its own.
  EditorContext* recoverInto(Recovered recovered, const QString& journal);
  /// Removes the journal and the schedules that belong to it. @param identity of the journal; empty: not known
  void discard(const QString& journal, const QString& identity);

private:
  void save(const EditorContext* front);
  void restoreBeside(const EditorContext* context, const QString& path, QStringList& gone);
  void restoreOrder();
  void restoreView(EditorContext& context);
  void restoreQuestion(EditorContext& context, const QString& key);

  Workspace& m_workspace;
  Prompts& m_prompts;
  QWidget* m_window;
  bool m_keepsSettings;
  bool m_isKept = false;
  std::function<EditorContext*(const QString&)> m_openFile;
  Beside m_beside;
  std::map<EditorContext*, QByteArray> m_pendingViews;  ///< of the last session, until the tab is shown
};

}  // namespace coppice::designer
