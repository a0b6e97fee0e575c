// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QByteArray>
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QString>
#include <QStringList>
#include <QTest>

/// Runs the built coppice-cli as a user runs it. COPPICE_CLI is its path.
namespace coppice::test {

struct Outcome {
  int code = -1;  ///< -1: it did not exit by itself
  QByteArray out;
  QByteArray err;

  [[nodiscard]] QJsonObject json() const { return QJsonDocument::fromJson(out).object(); }
  [[nodiscard]] QJsonObject in(const char* key) const { return json()[QLatin1String(key)].toObject(); }
  [[nodiscard]] QByteArray firstErrorLine() const { return err.split('\n').value(0); }
};

inline constexpr int kTimeoutMilliseconds = 300'000;

/// Waits for a process that has been started and has all its input.
inline Outcome finish(QProcess& process) {
  Outcome outcome;
  if (process.waitForFinished(kTimeoutMilliseconds) && process.exitStatus() == QProcess::NormalExit) {
    outcome.code = process.exitCode();
  }
  outcome.out = process.readAllStandardOutput();
  outcome.err = process.readAllStandardError();
  return outcome;
}

inline Outcome runProgram(const QString& program, const QStringList& arguments, const QByteArray& input = {},
                          const QString& folder = {}) {
  QProcess process;
  if (!folder.isEmpty()) {
    process.setWorkingDirectory(folder);
  }
  process.start(program, arguments);
  process.write(input);
  process.closeWriteChannel();
  return finish(process);
}

inline Outcome run(const QStringList& arguments, const QByteArray& input = {}, const QString& folder = {}) {
  return runProgram(QStringLiteral(COPPICE_CLI), arguments, input, folder);
}

/// Whether a running program handles a signal: one that is sent earlier would end it at once.
inline bool handles(const QProcess& process, int signal) {
  QFile status(QStringLiteral("/proc/%1/status").arg(process.processId()));
  if (!status.open(QIODevice::ReadOnly)) {
    return false;
  }
  const QByteArray text = status.readAll();
  const qsizetype at = text.indexOf("SigCgt:");
  return at >= 0 &&
         (text.mid(at + 7, text.indexOf('\n', at) - at - 7).trimmed().toULongLong(nullptr, 16) >> (signal - 1) & 1) !=
             0;
}

/// For the message of a failed check.
inline QByteArray told(const Outcome& outcome) {
  return "exit " + QByteArray::number(outcome.code) + "\nstdout: " + outcome.out.left(4000) +
         "\nstderr: " + outcome.err.left(2000);
}

/// Exactly one JSON object and a line end, nothing else.
inline bool isOneObject(const QByteArray& text) {
  return text.endsWith('\n') && text.count('\n') == 1 && QJsonDocument::fromJson(text).isObject();
}

inline QByteArray contents(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

inline bool write(const QString& path, const QByteArray& text) {
  QFile file(path);
  return file.open(QIODevice::WriteOnly) && file.write(text) == text.size();
}

}  // namespace coppice::test

#define VERIFY_TOLD(condition, outcome) QVERIFY2(condition, told(outcome).constData())
