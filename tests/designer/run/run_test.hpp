// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <chrono>

#include "designer/run/connection.hpp"
#include "support/loopback_sshd.hpp"
#include "support/waiting.hpp"

namespace coppice::designer::test {

using coppice::waiting::kPatience;

/// Runs of the stand-in for the executor, here and over ssh to this computer.
class RunTest : public QObject {
protected:
  void startServer() {
    QStandardPaths::setTestModeEnabled(true);
    qunsetenv("SSH_AUTH_SOCK");
    m_why = m_sshd.start();
  }
  [[nodiscard]] RunEnvironment environment() const {
    RunEnvironment result;
    result.ssh.configFile = m_sshd.config().toStdString();
    result.ssh.connectTimeout = 60;
    // No test depends on how fast the machine is.
    for (auto limit : {&remote::Limits::login, &remote::Limits::script, &remote::Limits::selfTest,
                       &remote::Limits::reach, &remote::Limits::start}) {
      result.limits.*limit = std::chrono::milliseconds(kPatience);
    }
    result.executor = QStringLiteral(COPPICE_STAND_IN);
    result.localFolder = m_runs.filePath("local");
    return result;
  }

  LoopbackSshd m_sshd;
  QString m_why;  ///< why there is no server; empty = there is one
  QTemporaryDir m_runs;
};

}  // namespace coppice::designer::test
