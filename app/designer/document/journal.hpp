// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <atomic>
#include <memory>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "designer/document/history.hpp"
#include "designer/document/model.hpp"

/// The work that is not in the file yet, kept beside the file so that no crash loses it. A journal is append-only:
/// where the document stood, then each step of its history. Every record is handed to the system before the edit
/// returns, so killing the program loses nothing, and is forced to the disk within about a second, so that losing power
/// loses no more than that. A record that was cut short is recognised by its checksum and left out.
namespace coppice::designer {

/// What is known of a document besides its contents.
struct JournalHead {
  QString documentPath = {};  ///< the file that is being edited; empty = untitled
  QString name = {};          ///< of an untitled document
  QString identity = {};      ///< of DocumentFile, which names its files in the recovery folder by it
};

class Journal {
public:
  /// Creates the file and locks it against other processes for as long as the journal lives.
  /// base: the state before the first command of the history. saved: how many commands were done when the document was
  /// last saved; -1 = never, or they are no more. Errors: io (also: there is such a file already, which may hold
  /// a user's work).
  static Result<std::unique_ptr<Journal>> create(const QString& path, const JournalHead& head, const Model& base,
                                                 const History& history = {}, int saved = -1);

  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  /// Leaves the file for recovery.
  ~Journal();

  [[nodiscard]] const QString& path() const { return m_path; }
  /// Errors: io (disk full …); the journal then ends before this patch and later appends fail too.
  Outcome append(const Patch& patch, const HistoryStep& step);
  /// Forces what was written to the disk. Slow (milliseconds); callable from any thread.
  void sync() const;
  /// Whether something was written since the last sync().
  [[nodiscard]] bool isUnsynced() const { return m_isUnsynced; }
  /// Deletes the file: its contents are saved or given up.
  void discard();

private:
  Journal(QString path, int descriptor) : m_path(std::move(path)), m_descriptor(descriptor) {}
  Outcome write(char kind, std::string_view payload);

  QString m_path;
  int m_descriptor;
  bool m_isBroken = false;
  bool m_isDiscarded = false;
  mutable std::atomic<bool> m_isUnsynced = false;
};

/// What a journal holds.
struct Recovered {
  JournalHead head;
  Model model;
  History history;
  int saved = -1;           ///< how many commands were done at the last save; -1 = never, or they are no more
  int changes = 0;          ///< commands since the last save, or in all
  bool isCutShort = false;  ///< the last record was not whole
};

/// Reads a journal that no process holds. Errors: io (also: another process holds it), badInput (no journal, or one of
/// another version, or nothing whole in it).
Result<Recovered> recover(const QString& path);
/// Some process has it open now.
[[nodiscard]] bool isJournalHeld(const QString& path);

}  // namespace coppice::designer
