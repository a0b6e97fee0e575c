// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/run/call.hpp"

#include <utility>

#include "remote/quoting.hpp"

namespace coppice::designer {
namespace {

constexpr qsizetype kMaxOutput = qsizetype{4} << 20;
constexpr qsizetype kMaxErrors = qsizetype{1} << 20;

/// The rest is read and dropped, so that the other side does not block.
void append(QByteArray& to, const QByteArray& more, qsizetype most) {
  to += more.left(qMax(qsizetype{0}, most - to.size()));
}

}  // namespace

Call::Call(QObject* parent) : QObject(parent) {
  m_timeout.setSingleShot(true);
  connect(&m_timeout, &QTimer::timeout, this, [this] {
    m_result.isTimedOut = true;
    if (m_process != nullptr) {
      m_process->kill();
    }
  });
}

Call::~Call() {
  stop();
}

void Call::start(const QString& program, const QStringList& arguments, const QByteArray& input,
                 std::chrono::milliseconds limit, std::function<void(CallResult)> done, const QString& inputFile) {
  stop();
  m_result = {};
  m_done = std::move(done);
  m_process = new QProcess(this);
  connect(m_process, &QProcess::readyReadStandardOutput, this,
          [this] { append(m_result.output, m_process->readAllStandardOutput(), kMaxOutput); });
  connect(m_process, &QProcess::readyReadStandardError, this,
          [this] { append(m_result.errors, m_process->readAllStandardError(), kMaxErrors); });
  connect(m_process, &QProcess::started, this, [this, input, isPiped = inputFile.isEmpty()] {
    m_result.hasStarted = true;
    if (isPiped) {
      m_process->write(input);
      m_process->closeWriteChannel();
    }
  });
  connect(m_process, &QProcess::finished, this, [this](int code, QProcess::ExitStatus status) {
    m_result.exitCode = status == QProcess::NormalExit ? code : -1;
    finish();
  });
  connect(m_process, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart) {
      m_result.errors = m_process->errorString().toUtf8();
      finish();
    }
  });
  m_clock.start();
  m_timeout.start(limit);
  if (!inputFile.isEmpty()) {
    m_process->setStandardInputFile(inputFile);
  }
  m_process->start(program, arguments);
}

void Call::finish() {
  m_timeout.stop();
  append(m_result.output, m_process->readAllStandardOutput(), kMaxOutput);
  append(m_result.errors, m_process->readAllStandardError(), kMaxErrors);
  m_result.seconds = static_cast<double>(m_clock.elapsed()) / 1000;
  m_process->disconnect(this);
  m_process->deleteLater();
  m_process = nullptr;
  // The callback may start the next call.
  const auto done = std::exchange(m_done, nullptr);
  CallResult result = std::exchange(m_result, {});
  if (done) {
    done(std::move(result));
  }
}

void Call::stop() {
  m_timeout.stop();
  m_done = nullptr;
  if (m_process == nullptr) {
    return;
  }
  m_process->disconnect(this);
  // Reaped later; waiting would hold the window up.
  m_process->setParent(nullptr);
  connect(m_process, &QProcess::finished, m_process, &QObject::deleteLater);
  if (m_process->state() == QProcess::NotRunning) {
    m_process->deleteLater();
  }
  m_process->kill();
  m_process = nullptr;
}

QString commandText(const QString& program, const QStringList& arguments) {
  QString text = QString::fromStdString(remote::shellWord(program.toStdString()));
  for (const QString& word : arguments) {
    text += QLatin1Char(' ') + QString::fromStdString(remote::shellWord(word.toStdString()));
  }
  return text;
}

QStringList toStringList(const std::vector<std::string>& words) {
  QStringList list;
  for (const std::string& word : words) {
    list << QString::fromStdString(word);
  }
  return list;
}

}  // namespace coppice::designer
