// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "remote/elf.hpp"

namespace coppice::designer {

/// coppice-exec as it lies here, with the backends beside it.
struct ExecutorFiles {
  QString program;  ///< absolute
  struct File {
    QString path;
    std::string name;    ///< isPlainName
    std::string digest;  ///< SHA-256, hex
    qint64 bytes = 0;
  };
  std::vector<File> files;  ///< the program first
  remote::ProgramNeeds needs;

  [[nodiscard]] qint64 bytes() const;
};

/// Beside the running program, or in ../libexec/coppice. Empty if it is not there.
[[nodiscard]] QString findExecutor();
/// Reads and digests. Errors: unavailable (not there), io, badInput (not a program).
[[nodiscard]] Result<ExecutorFiles> readExecutor(const QString& program);

}  // namespace coppice::designer
