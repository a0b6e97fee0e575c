// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>
#include <QString>
#include <QTimer>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "designer/document/document_file.hpp"
#include "designer/jobs/latest_job.hpp"
#include "designer/jobs/live_bound.hpp"
#include "designer/schedules/job_progress.hpp"
#include "designer/schedules/schedule_result.hpp"

namespace coppice::designer {

/// One schedule of a document.
struct ScheduleEntry {
  int id = 0;    ///< never used twice in one book
  QString name;  ///< what the list calls it, and its file
  QString path;  ///< its file, which may lie in the work folder; empty = only in memory so far
  /// Null while the file is being read, and where it was refused.
  ScheduleResultPtr result;
  QString problem;                 ///< why it is refused, or why it could not be saved
  std::uint64_t factRevision = 0;  ///< of the document, when it was generated; 0 = came from a file
};

/// All schedules of one document: made in the background, saved with it into a folder beside the fabric file
/// ("cluster.schedules/NAME.forest.json", or .schedule.json for steps, for cluster.fabric.json), and read again with
/// it. What is read is verified before it is shown. Until the document is saved they are kept in its work folder, and
/// count as unsaved changes.
class ScheduleBook : public QObject {
  Q_OBJECT

public:
  /// Both must outlive the book, which belongs to one of them at best.
  ScheduleBook(DocumentFile& file, LiveBound& bound, QString sharedFolder = {}, QObject* parent = nullptr);
  ~ScheduleBook() override;
  /// The book of a document; made on the first call, with the document's life and that shared folder.
  [[nodiscard]] static ScheduleBook* of(DocumentFile& file, LiveBound& bound, const QString& sharedFolder = {});

  [[nodiscard]] const std::vector<ScheduleEntry>& entries() const { return m_entries; }
  /// nullptr if there is none.
  [[nodiscard]] const ScheduleEntry* find(int id) const;
  /// The one that the docks show; nullptr = none.
  [[nodiscard]] const ScheduleEntry* current() const { return find(m_current); }
  void setCurrent(int id);
  /// The fabric is what it was when the schedule was made. False also while that is being found out.
  [[nodiscard]] bool isFresh(const ScheduleEntry& entry) const;

  /// What F5 asks, but for the collective, which is that of the bound.
  [[nodiscard]] const ScheduleOptions& options() const { return m_options; }
  void setOptions(const ScheduleOptions& options);
  /// What generate() does: the options for the collective of the bound; the default method where the one that was
  /// chosen does not make it.
  [[nodiscard]] ScheduleOptions nextOptions() const;
  /// The last failure needs no more attention.
  void dismissFailure();
  [[nodiscard]] Collective collective() const { return m_bound.question().collective; }

  /// Starts at once; a job that runs is replaced. The result becomes current.
  void generate();
  void generate(const ScheduleOptions& options);
  /// The same for a repair of a schedule with a result, for the fabric without more parts.
  void repair(const ScheduleEntry& base, const std::vector<std::string>& failed);
  /// The same for whatever makes a schedule of the document's fabric, on another thread.
  void make(std::function<Result<ScheduleResultPtr>(const fabric::Description&, const Progress&)> make);
  /// Stops the job. What there was stays.
  void cancel();
  [[nodiscard]] bool isRunning() const { return m_isRunning; }
  [[nodiscard]] JobProgress::State progress() const;
  /// Why the last job has no result; empty after a success or a cancel.
  [[nodiscard]] const QString& failure() const { return m_failure; }

  /// The default name of a schedule: its collective, part and number of trees.
  [[nodiscard]] static QString nameFor(const ScheduleResult& result);
  /// The schedule's file is not beside the fabric file yet.
  [[nodiscard]] bool isUnsaved(const ScheduleEntry& entry) const;
  /// A schedule from elsewhere (a file that was opened). Returns its id.
  int add(ScheduleResultPtr result, const QString& name);
  /// The file is renamed with it. Errors: badUsage (empty, or another has the name), io.
  Outcome rename(int id, const QString& name);
  /// The file is removed too. Errors: io; then it stays in the list.
  Outcome remove(int id);
  /// Nothing waits to be read or written.
  [[nodiscard]] bool isSettled() const;
  /// Where the schedules of a fabric file lie: beside it, or in the shared folder where there is one.
  [[nodiscard]] static QString folderOf(const QString& fabricPath, const QString& sharedFolder = {});
  /// A folder that documents share, also untitled ones. Schedules are written there as they are made. Empty: they lie
  /// beside their fabric and are written when it is saved.
  void setSharedFolder(const QString& folder) { m_sharedFolder = folder; }
  [[nodiscard]] const QString& sharedFolder() const { return m_sharedFolder; }

Q_SIGNALS:
  /// Entries, their states or freshness.
  void changed();
  void currentChanged();
  /// Started, ended, stopped, failed.
  void runningChanged();
  void optionsChanged();
  void finished(int id);

private:
  using Answer = std::shared_ptr<const Result<ScheduleResultPtr>>;
  struct Written {
    int id = 0;
    QString path;
    Outcome outcome = Done{};
  };
  using AllWritten = std::vector<Written>;
  struct Read {
    int id = 0;
    Result<ScheduleResultPtr> result;
  };
  void receive(const Answer& answer, std::uint64_t factRevision);
  void receiveRead(const Read& read);
  void noteWritten(const Written& written);
  void receiveWritten(const Written& written);
  void receiveSaved(const AllWritten& all);
  void readFolder();
  void readFiles(const QString& folder);
  void readNext();
  /// Puts the next one that is only in memory into the work folder.
  void writeNext();
  /// Puts all of them into the folder of the file, by one job that is not stopped when the document is closed.
  void saveAll();
  void followUnsaved();
  /// The folder of this document's schedules; empty for an untitled one without a shared folder.
  [[nodiscard]] QString folderHere() const;
  /// The same schedule, made with the same options; nullptr if there is none.
  [[nodiscard]] const ScheduleEntry* twinOf(const ScheduleResult& result) const;
  void refreshDigests();
  [[nodiscard]] QString freeName(const QString& wanted) const;
  [[nodiscard]] ScheduleEntry* entry(int id);

  DocumentFile& m_file;
  LiveBound& m_bound;
  std::vector<ScheduleEntry> m_entries;
  int m_lastId = 0;
  int m_current = 0;
  ScheduleOptions m_options;
  bool m_isRunning = false;
  QString m_failure;
  std::shared_ptr<JobProgress> m_progress = std::make_shared<JobProgress>();
  QString m_sharedFolder;
  QString m_folder;  ///< that has been read
  int m_reading = 0;
  int m_writing = 0;  ///< into the work folder
  bool m_isSaving = false;
  bool m_isSaveWanted = false;  ///< once what is under way is done

  using Digests = std::map<FabricPart, std::string>;
  std::shared_ptr<const Digests> m_digests;
  std::uint64_t m_digestRevision = 0;
  QTimer m_digestTimer;

  struct Generated {
    Answer answer;
    std::uint64_t factRevision = 0;
  };
  struct FoundDigests {
    std::shared_ptr<const Digests> digests;
    std::uint64_t factRevision = 0;
  };
  LatestJob<Generated> m_job;
  LatestJob<std::shared_ptr<const Read>> m_reader;
  LatestJob<std::shared_ptr<const Written>> m_writer;
  LatestJob<std::shared_ptr<const AllWritten>> m_saver;
  LatestJob<FoundDigests> m_digester;
};

}  // namespace coppice::designer
