// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "executor/exec_run.hpp"

namespace coppice::executor::test {

using Variables = QMap<QString, QString>;

/// A run with several ranks in each process, and host threads in place of GPUs.
class TeamRun : public ExecRun {
public:
  TeamRun(const QStringList& arguments, const Variables& variables)
      : ExecRun(COPPICE_DOUBLE, arguments + QStringList{"--backend", "cuda"}, mpiEnvironment(variables)) {}
};

inline const Variables kNetwork = {{"COPPICE_EXEC_FORCE_NETWORK", "1"}};

}  // namespace coppice::executor::test
