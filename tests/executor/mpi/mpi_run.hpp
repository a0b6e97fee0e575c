// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "executor/exec_run.hpp"

namespace coppice::executor::test {

/// COPPICE_EXEC with a process for each rank.
class MpiRun : public ExecRun {
public:
  explicit MpiRun(const QStringList& arguments, bool forcesNetwork = false)
      : MpiRun(arguments, environment(forcesNetwork)) {}
  MpiRun(const QStringList& arguments, const QProcessEnvironment& variables)
      : ExecRun(COPPICE_EXEC, arguments + QStringList{"--backend", "mpi"}, variables) {}

  static QProcessEnvironment environment(bool forcesNetwork) {
    using Variables = QMap<QString, QString>;
    return mpiEnvironment(forcesNetwork ? Variables{{"COPPICE_EXEC_FORCE_NETWORK", "1"}} : Variables{});
  }
};

}  // namespace coppice::executor::test
