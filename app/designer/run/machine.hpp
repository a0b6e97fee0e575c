// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <QStringList>
#include <vector>

#include "remote/host.hpp"

namespace coppice::designer {

/// A place where a schedule can run.
struct Machine {
  enum class Kind { local, configured, added };
  Kind kind = Kind::local;
  remote::Target target = {};  ///< not for local

  /// Stable and unique: "local", "ssh:user@host:22".
  [[nodiscard]] QString id() const;
  [[nodiscard]] QString title() const;
  /// Where it comes from, for a person.
  [[nodiscard]] QString origin() const;
  [[nodiscard]] bool isLocal() const { return kind == Kind::local; }
};

/// This computer, then the hosts of the ssh configuration, then those added by hand (texts as parseTarget reads them;
/// others are ignored), each once.
/// @param configFile  empty = the user's ~/.ssh/config
[[nodiscard]] std::vector<Machine> knownMachines(const QString& configFile, const QStringList& added);

}  // namespace coppice::designer
