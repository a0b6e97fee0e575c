// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <QByteArray>
#include <QFile>

namespace coppice::test {

/// Whether the process runs no longer. One that has ended stays in the list of processes until its parent asks for it,
/// which the first process of a container may do late or never.
inline bool isGone(pid_t process) {
  QFile status("/proc/" + QString::number(process) + "/stat");
  if (!status.open(QIODevice::ReadOnly)) {
    return true;
  }
  // "1234 (name) S ...": the name may hold anything.
  const QByteArray line = status.readAll();
  const QByteArray rest = line.mid(line.lastIndexOf(')') + 1).trimmed();
  return rest.isEmpty() || rest.startsWith('Z') || rest.startsWith('X');
}

}  // namespace coppice::test
