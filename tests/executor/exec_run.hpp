// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <QCoreApplication>
#include <QDir>
#include <QElapsedTimer>
#include <QFile>
#include <QProcess>
#include <QStandardPaths>
#include <QTest>
#include <functional>
#include <vector>

#include "coppice/test_paths.hpp"
#include "mpi/start_watch.hpp"
#include "program/run_protocol.hpp"
#include "support/waiting.hpp"

namespace coppice::executor::test {

#ifdef COPPICE_SANITIZED
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif
inline constexpr int kPatience = (kIsSanitized ? 4 : 1) * coppice::waiting::kPatience;

/// An environment in which Open MPI runs as the user who runs the tests, with these variables and no others of ours.
inline QProcessEnvironment mpiEnvironment(const QMap<QString, QString>& more = {}) {
  QProcessEnvironment variables = QProcessEnvironment::systemEnvironment();
  for (const QString& name : variables.keys()) {
    if (name.startsWith("COPPICE_EXEC_") || name.startsWith("COPPICE_DOUBLE_")) {
      variables.remove(name);
    }
  }
  variables.insert("OMPI_ALLOW_RUN_AS_ROOT", "1");
  variables.insert("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
  for (auto one = more.begin(); one != more.end(); ++one) {
    variables.insert(one.key(), one.value());
  }
  return variables;
}

/// A schedule of four ranks.
inline QString dataFile(const char* name) {
  return QStringLiteral(COPPICE_TEST_DATA "/executor/mpi/") + name;
}

/// Names of ours that stay in /dev/shm. Each segment has a new name; those of another test's runs, which may be under
/// way, go once all its processes have found them.
inline QStringList sharedMemory() {
  const auto names = [] { return QDir("/dev/shm").entryList({"coppice-exec-*"}, QDir::Files | QDir::System); };
  QStringList left = names();
  const bool areGone = QTest::qWaitFor(
      [&] {
        const QStringList now = names();
        left.removeIf([&](const QString& name) { return !now.contains(name); });
        return left.isEmpty();
      },
      kPatience);
  return areGone ? QStringList() : left;
}

/// One run of coppice-exec with records.
class ExecRun {
public:
  /// @param program a coppice-exec
  ExecRun(const QString& program, const QStringList& arguments, QProcessEnvironment variables)
      : m_program(program.toUtf8()), m_mark(newMark()) {
    variables.insert("COPPICE_TEST_RUN", QString::fromUtf8(m_mark));
    m_process.setProcessEnvironment(variables);
    m_process.start(program, QStringList{"run"} + arguments + QStringList{"--json"});
  }
  ~ExecRun() {
    if (m_process.state() != QProcess::NotRunning) {
      m_process.kill();
      m_process.waitForFinished(coppice::waiting::kPatience);
    }
  }

  QProcess& process() { return m_process; }
  /// Reads records until one is as wanted; false: the run has ended, or the time is over.
  bool waitUntil(const std::function<bool(const program::Record&)>& isWanted) {
    QElapsedTimer timer;
    timer.start();
    for (std::size_t seen = 0;;) {
      read();
      for (; seen < m_records.size(); ++seen) {
        if (isWanted(m_records[seen])) {
          return true;
        }
      }
      if (m_process.state() == QProcess::NotRunning || timer.elapsed() > kPatience) {
        return false;
      }
      m_process.waitForReadyRead(50);
    }
  }
  /// Until processes 0 to count - 1 exchange data: they compute in the last stage of a size.
  bool waitUntilInside(int count) {
    const bool isTiming = waitUntil([](const program::Record& record) {
      const auto* progress = std::get_if<program::ProgressRecord>(&record);
      return progress != nullptr && progress->stage == "time";
    });
    std::vector<std::int64_t> before;
    for (const pid_t pid : members(count)) {
      if (!isTiming || pid == 0) {
        qWarning() << "the run does not start:" << errors();
        return false;
      }
      before.push_back(treeState(pid).ticks);
    }
    const std::vector<pid_t> pids = members(count);
    return QTest::qWaitFor(
        [&] {
          bool haveWorked = true;
          for (std::size_t i = 0; i < pids.size(); ++i) {
            haveWorked = haveWorked && treeState(pids[i]).ticks > before[i] + 1;
          }
          return haveWorked;
        },
        kPatience);
  }
  /// Its exit code; -1: it does not end, -2: a signal ended it.
  int finish() {
    if (m_process.state() != QProcess::NotRunning && !m_process.waitForFinished(kPatience)) {
      return -1;
    }
    read();
    return m_process.exitStatus() == QProcess::NormalExit ? m_process.exitCode() : -2;
  }
  [[nodiscard]] const std::vector<program::Record>& records() const { return m_records; }
  template <typename Record>
  std::vector<Record> all() const {
    std::vector<Record> found;
    for (const program::Record& record : m_records) {
      if (const auto* one = std::get_if<Record>(&record)) {
        found.push_back(*one);
      }
    }
    return found;
  }
  template <typename Record>
  const Record* last() const {
    const Record* found = nullptr;
    for (const program::Record& record : m_records) {
      const auto* one = std::get_if<Record>(&record);
      found = one != nullptr ? one : found;
    }
    return found;
  }
  QString errors() {
    m_errors += m_process.readAllStandardError();
    return QString::fromUtf8(m_errors);
  }
  /// Processes of the job by their number, below the launcher; 0 = not found.
  [[nodiscard]] std::vector<pid_t> members(int count) const {
    std::vector<pid_t> found(static_cast<std::size_t>(count), 0);
    for (const QString& name : QDir("/proc").entryList(QDir::Dirs)) {
      QFile words("/proc/" + name + "/cmdline");
      QFile variables("/proc/" + name + "/environ");
      if (!name[0].isDigit() || !words.open(QIODevice::ReadOnly) || !words.readAll().startsWith(m_program) ||
          !variables.open(QIODevice::ReadOnly)) {
        continue;
      }
      const QList<QByteArray> all = variables.readAll().split(0);
      for (const QByteArray& variable : all) {
        constexpr QByteArrayView kRank = "OMPI_COMM_WORLD_RANK=";
        if (variable.startsWith(kRank) && all.contains("COPPICE_TEST_RUN=" + m_mark)) {
          const int rank = variable.mid(kRank.size()).toInt();
          if (rank < count) {
            found[static_cast<std::size_t>(rank)] = name.toInt();
          }
        }
      }
    }
    return found;
  }

private:
  static QByteArray newMark() {
    static int runs = 0;
    return QByteArray::number(QCoreApplication::applicationPid()) + "." + QByteArray::number(++runs);
  }
  void read() {
    m_text += m_process.readAllStandardOutput();
    for (qsizetype end = m_text.indexOf('\n'); end >= 0; end = m_text.indexOf('\n')) {
      if (auto record = program::readRecord(m_text.left(end).toStdString())) {
        m_records.push_back(std::move(*record));
      }
      m_text.remove(0, end + 1);
    }
  }

  QProcess m_process;
  QByteArray m_program;
  QByteArray m_mark;
  QByteArray m_text;
  QByteArray m_errors;
  std::vector<program::Record> m_records;
};

}  // namespace coppice::executor::test

#define NEEDS_MPIRUN()                                           \
  if (QStandardPaths::findExecutable("mpirun").isEmpty()) {      \
    QSKIP("skipped: needs mpirun (Debian package openmpi-bin)"); \
  }
