// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QByteArray>
#include <QElapsedTimer>
#include <QObject>
#include <QProcess>
#include <QString>
#include <QStringList>
#include <QTimer>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace coppice::designer {

/// What came of an external command.
struct CallResult {
  bool hasStarted = false;
  bool isTimedOut = false;
  int exitCode = -1;
  QByteArray output;  ///< at most 4 MiB
  QByteArray errors;  ///< at most 1 MiB
  double seconds = 0;

  [[nodiscard]] bool isGood() const { return hasStarted && !isTimedOut && exitCode == 0; }
};

/// One external command with an argument list (no shell), in the background. Destruction kills it and keeps silent.
class Call : public QObject {
  Q_OBJECT

public:
  explicit Call(QObject* parent = nullptr);
  ~Call() override;

  /// Calls back once, later, on this thread. A call that runs is killed first.
  /// @param inputFile  its standard input, instead of `input`
  void start(const QString& program, const QStringList& arguments, const QByteArray& input,
             std::chrono::milliseconds limit, std::function<void(CallResult)> done, const QString& inputFile = {});
  void stop();
  [[nodiscard]] bool isRunning() const { return m_process != nullptr; }

private:
  void finish();

  QProcess* m_process = nullptr;
  QTimer m_timeout;
  QElapsedTimer m_clock;
  CallResult m_result;
  std::function<void(CallResult)> m_done;
};

/// A command as a person could type it, for looking at: never for a shell of ours.
[[nodiscard]] QString commandText(const QString& program, const QStringList& arguments);
[[nodiscard]] QStringList toStringList(const std::vector<std::string>& words);

}  // namespace coppice::designer
