// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QStringList>
#include <functional>
#include <string>

#include "designer/features/files/session.hpp"
#include "designer/workspace/feature.hpp"

namespace coppice::designer {

/// Documents and their files: new, open, import, save, export, close, recent files.
class FileFeature : public Feature {
  Q_OBJECT

public:
  explicit FileFeature(const FeatureHost& host);

  /// Takes files that are not fabrics, such as schedules. Returns whether it took the file.
  void setOpener(std::function<bool(const QString& path)> opener) { m_opener = std::move(opener); }

  /// Takes files of a run together, whatever their number, and returns those that are of none.
  void setRunTaker(std::function<QStringList(const QStringList& paths)> taker) { m_runTaker = std::move(taker); }

  /// Opens whatever the file is; a fabric of another format arrives as a new, unsaved document. Shows what went wrong.
  /// A file that is open already becomes current. Returns nullptr on failure.
  EditorContext* openFile(const QString& path);
  /// All of them; whatever went wrong is shown in one message. A network and hosts are read as one cluster.
  void openFiles(const QStringList& paths);
  bool save(EditorContext& context);
  bool saveAs(EditorContext& context);
  /// Asks about unsaved changes. Returns false where the user cancels.
  bool close(EditorContext& context);
  /// Asks about every document with unsaved changes, then saves and gives up what was answered. Returns false where the
  /// user cancels, or where a file could not be saved; then all documents are as they were.
  bool prepareToCloseAll();

  /// Newest first.
  [[nodiscard]] const QStringList& recent() const { return m_recent; }
  [[nodiscard]] Session& session() { return m_session; }

Q_SIGNALS:
  void recentChanged();

private:
  void nameAfterFile(EditorContext& context, const QString& path);
  /// Whether the files describe one cluster together; then they were imported, or the user left the dialog.
  bool openCluster(const QStringList& paths);
  /// Asks whether the changes are saved, and saves or discards them. false: not to be closed.
  bool settle(EditorContext& context);
  void addOpenActions();
  void addSaveActions();
  void attach(EditorContext& context);
  void updateActions();

  /// What openFile() does, without showing what went wrong. nullptr: nothing is to be shown.
  Result<EditorContext*> open(const QString& path);
  Result<EditorContext*> importText(const QString& absolute, const std::string& text);
  Result<EditorContext*> openFabric(const QString& absolute);
  [[nodiscard]] EditorContext* openAlready(const QString& path) const;
  [[nodiscard]] QString failureText(const QString& path, const Error& error) const;

  void exportAs(EditorContext& context);
  void addRecent(const QString& path);
  void forgetRecent(const QString& path);
  void tellOfChangeOnDisk(EditorContext& context);
  void reloadFromDisk(EditorContext& context);

  bool m_keepsSettings;
  Session m_session;
  std::function<bool(const QString&)> m_opener;
  std::function<QStringList(const QStringList&)> m_runTaker;
  QStringList m_recent;
};

}  // namespace coppice::designer
