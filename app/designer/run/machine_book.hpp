// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>
#include <QString>
#include <QStringList>
#include <map>
#include <memory>
#include <vector>

#include "designer/run/connection.hpp"

namespace coppice::designer {

/// All machines that the program knows, and the connections to them. Hosts added by hand are kept in the settings; of
/// passwords and keys nothing is.
class MachineBook : public QObject {
  Q_OBJECT

public:
  MachineBook(RunEnvironment environment, bool keepsSettings, QObject* parent = nullptr);

  [[nodiscard]] const std::vector<Machine>& machines() const { return m_machines; }
  /// nullptr if there is none of that id.
  [[nodiscard]] const Machine* find(const QString& id) const;
  /// Made at the first call; closed until it is opened. nullptr for an unknown id.
  [[nodiscard]] Connection* connection(const QString& id);
  /// Reads the ssh configuration again.
  void refresh();
  /// Errors: badUsage. Returns the id.
  Result<QString> add(const QString& text);
  /// Only what was added by hand.
  void remove(const QString& id);

Q_SIGNALS:
  void listChanged();
  void connectionChanged(const QString& id);

private:
  RunEnvironment m_environment;
  bool m_keepsSettings;
  QStringList m_added;
  std::vector<Machine> m_machines;
  std::map<QString, std::unique_ptr<Connection>> m_connections;
};

}  // namespace coppice::designer
