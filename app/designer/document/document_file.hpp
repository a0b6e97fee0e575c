// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QByteArray>
#include <QDateTime>
#include <QFileSystemWatcher>
#include <QObject>
#include <QString>
#include <QTimer>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "designer/document/document.hpp"
#include "designer/document/journal.hpp"

namespace coppice::designer {

/// A document's life on the disk: opening, saving, what others do to the file, and the journal of unsaved work.
class DocumentFile : public QObject {
  Q_OBJECT

public:
  /// Untitled and empty. recoveryFolder: where journals go that cannot lie beside a file, and where each journal in use
  /// is noted for the next start; empty = no journal at all (for tests and for exporting pictures).
  explicit DocumentFile(QString recoveryFolder = {}, QObject* parent = nullptr);
  ~DocumentFile() override;

  [[nodiscard]] Document& document() { return m_document; }
  [[nodiscard]] const Document& document() const { return m_document; }
  /// Empty = untitled.
  [[nodiscard]] const QString& path() const { return m_path; }
  /// "cluster.fabric.json", "Untitled", "Untitled 2".
  [[nodiscard]] QString displayName() const;
  void setUntitledName(const QString& name) { m_untitledName = name; }
  [[nodiscard]] bool isModified() const { return !const_cast<Document&>(m_document).undoStack()->isClean(); }
  [[nodiscard]] const QDateTime& savedAt() const { return m_savedAt; }
  /// What was odd when the content was read (import notes, drawing entries that fit nothing).
  [[nodiscard]] const std::vector<Finding>& findings() const { return m_findings; }

  /// A `.fabric.json` file. Errors: those of readFabricFile; the document stays as it was.
  Outcome open(const QString& path);
  /// Content from elsewhere (import, template, recovery): unsaved from the start. The path is where it would be saved.
  void adopt(Model model, std::vector<Finding> findings, const QString& path = {});

  /// Writes the file in one step and forgets the journal. @pre a path. Errors: io.
  Outcome save();
  /// save() under another name, which becomes the document's. On an error the old name stays.
  Outcome saveAs(const QString& path);
  /// The file is not what was last read or written here (changed, or gone).
  [[nodiscard]] bool isChangedOnDisk() const;
  /// Nothing on the disk holds this any more: it counts as unsaved and gets a journal.
  void markUnsaved();
  /// Takes what is on the disk now for known: "keep mine".
  void ignoreDisk();
  /// The journal is given up: the person said that the changes are not wanted.
  void discardChanges();

  /// Path of a journal beside the file; whether there is one is for the caller to look.
  [[nodiscard]] static QString journalBeside(const QString& path);
  /// Journals of processes that are gone, by the notes in the folder. Notes that lead nowhere are removed.
  [[nodiscard]] static std::vector<QString> abandonedJournals(const QString& recoveryFolder);

Q_SIGNALS:
  void pathChanged();
  void saved();
  /// Told once for each change that others make to the file.
  void changedOnDisk();
  /// The journal cannot be written; told once.
  void journalFailed(const QString& message);

private:
  void onPatched(const Patch& patch);
  void startJournal();
  void dropJournal();
  void watch();
  void checkDisk();
  [[nodiscard]] QByteArray digestOnDisk() const;

  QString m_recoveryFolder;
  Document m_document;
  QString m_path;
  QString m_untitledName;
  QDateTime m_savedAt;
  std::vector<Finding> m_findings;
  std::shared_ptr<Journal> m_journal;
  QString m_journalNote;
  bool m_hasJournalFailed = false;
  QTimer m_syncTimer;
  QTimer m_diskTimer;
  QFileSystemWatcher m_watcher;
  QByteArray m_knownDigest;
  QByteArray m_toldDigest;
};

}  // namespace coppice::designer
