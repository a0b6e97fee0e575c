// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "executor/exec_run.hpp"

namespace coppice::executor::test {

/// COPPICE_EXEC with a process for each rank.
class MpiRun : public ExecRun {
public:
  explicit MpiRun(const QStringList& arguments, bool forcesNetwork = false)
      : MpiRun(arguments, environment(forcesNetwork)) {}
  /// Each group of this many processes counts as a host.
  MpiRun(const QStringList& arguments, int processesOfHost)
      : MpiRun(arguments, mpiEnvironment({{"COPPICE_EXEC_FORCE_NETWORK", QString::number(processesOfHost)}})) {}
  MpiRun(const QStringList& arguments, const QProcessEnvironment& variables)
      : ExecRun(COPPICE_EXEC, arguments + QStringList{"--backend", "mpi"}, variables) {}

  /// Four ranks that exchange data until something is done to them; null: they do not start.
  static std::unique_ptr<MpiRun> endless(bool forcesNetwork, const QStringList& more = {}) {
    auto run = std::make_unique<MpiRun>(
        QStringList{dataFile("ring4_allgather.xml"), "-b", "1M", "-e", "1M", "-n", "1000000", "-w", "0"} + more,
        forcesNetwork);
    return run->waitUntilInside(4) ? std::move(run) : nullptr;
  }

  static QProcessEnvironment environment(bool forcesNetwork) {
    using Variables = QMap<QString, QString>;
    return mpiEnvironment(forcesNetwork ? Variables{{"COPPICE_EXEC_FORCE_NETWORK", "1"}} : Variables{});
  }
};

}  // namespace coppice::executor::test
