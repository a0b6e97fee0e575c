// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QByteArray>
#include <QDateTime>
#include <QFileSystemWatcher>
#include <QObject>
#include <QString>
#include <QTimer>
#include <memory>
#include <set>
#include <vector>

#include "base/result.hpp"
#include "designer/document/document.hpp"
#include "designer/document/journal.hpp"

namespace coppice::designer {

/// A document's life on the disk: opening, saving, what others do to the file, and the journal of unsaved work.
class DocumentFile : public QObject {
  Q_OBJECT

public:
  /// Untitled and empty. recoveryFolder: where journals go that cannot be beside a file, and where each journal in use
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
  /// Something is in no file of the person's yet: edits, or parts of the document that are kept elsewhere so far.
  [[nodiscard]] bool isModified() const {
    return !m_unsavedParts.empty() || !const_cast<Document&>(m_document).undoStack()->isClean();
  }
  /// What belongs to the document and is saved with it (schedules, a sketch) is there and not saved. It goes into
  /// workFolder(), so that it is recovered with the document. @param part whose it is; parts do not know each other
  void setUnsavedParts(bool hasUnsavedParts, const QString& part = {});
  /// The program made it, to show something: unsaved parts of it are no loss.
  void setExample() { m_isExample = true; }
  /// Keeps parts of the document until it is saved; need not exist. Empty without a recovery folder.
  [[nodiscard]] QString workFolder() const;
  /// The file is write-protected.
  [[nodiscard]] bool isReadOnly() const { return m_isReadOnly; }
  [[nodiscard]] const QDateTime& savedAt() const { return m_savedAt; }
  /// What was odd when the content was read (import notes, drawing entries that fit nothing).
  [[nodiscard]] const std::vector<Finding>& findings() const { return m_findings; }

  /// A `.fabric.json` file. Errors: those of readFabricFile; the document stays as it was.
  Outcome open(const QString& path);
  /// Content from elsewhere (import, template, recovery): unsaved from the start. The path is where it would be saved.
  void adopt(Model model, std::vector<Finding> findings, const QString& path = {});
  /// What a journal held: contents, history, name and work folder. The journal itself must be out of the way.
  void restore(Recovered recovered);

  /// Writes the file in one step and forgets the journal. @pre a path. Errors: io.
  Outcome save();
  /// save() under another name, which becomes the document's. On an error the old name stays.
  Outcome saveAs(const QString& path);
  /// The file is not what was last read or written here (changed, or gone).
  [[nodiscard]] bool isChangedOnDisk() const;
  /// The file is gone: the document counts as unsaved and gets a journal.
  void markUnsaved();
  /// The journal is given up: the person said that the changes are not wanted.
  void discardChanges();

  /// Unique; a document that was recovered has that of the one it was.
  [[nodiscard]] const QString& identity() const { return m_identity; }

  /// Path of a journal beside the file; whether there is one is for the caller to look.
  [[nodiscard]] static QString journalBeside(const QString& path);
  /// workFolder() of the document of that identity.
  [[nodiscard]] static QString workFolderOf(const QString& recoveryFolder, const QString& identity);
  /// Journals of processes that are gone, by the notes in the folder. Notes that lead nowhere are removed, and work
  /// folders that no journal has been about for a day.
  [[nodiscard]] static std::vector<QString> abandonedJournals(const QString& recoveryFolder);

Q_SIGNALS:
  void pathChanged();
  void saved();
  /// discardChanges() was called: nothing is to be kept for recovery.
  void discarded();
  /// isReadOnly(), or isModified() for another reason than the undo stack.
  void stateChanged();
  /// Told once for each change that others make to the file.
  void changedOnDisk();
  /// The journal cannot be written; told once.
  void journalFailed(const QString& message);

private:
  void onPatched(const Patch& patch, const HistoryStep& step);
  void startJournal(const Patch* first = nullptr, const HistoryStep& step = {});
  void dropJournal();
  void watch();
  void checkDisk();
  void checkAccess();
  [[nodiscard]] QByteArray digestOnDisk() const;

  QString m_recoveryFolder;
  QString m_identity;  ///< unique; names this document's files in the recovery folder
  Document m_document;
  QString m_path;
  QString m_untitledName;
  QDateTime m_savedAt;
  std::vector<Finding> m_findings;
  std::shared_ptr<Journal> m_journal;
  QString m_journalNote;
  bool m_hasJournalFailed = false;
  bool m_isExample = false;
  std::set<QString> m_unsavedParts;
  bool m_isReadOnly = false;
  QTimer m_syncTimer;
  QTimer m_diskTimer;
  QFileSystemWatcher m_watcher;
  QByteArray m_knownDigest;
  QByteArray m_toldDigest;
};

}  // namespace coppice::designer
