// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/run/machine_book.hpp"

#include <QSettings>
#include <algorithm>
#include <utility>

using namespace Qt::StringLiterals;

namespace coppice::designer {

MachineBook::MachineBook(RunEnvironment environment, bool keepsSettings, QObject* parent)
    : QObject(parent), m_environment(std::move(environment)), m_keepsSettings(keepsSettings) {
  if (m_keepsSettings) {
    m_added = QSettings().value(u"run/hosts"_s).toStringList();
  }
  refresh();
}

void MachineBook::refresh() {
  m_machines = knownMachines(QString::fromStdString(m_environment.ssh.configFile), m_added);
  Q_EMIT listChanged();
}

const Machine* MachineBook::find(const QString& id) const {
  const auto found =
      std::find_if(m_machines.begin(), m_machines.end(), [&](const Machine& machine) { return machine.id() == id; });
  return found != m_machines.end() ? &*found : nullptr;
}

Connection* MachineBook::connection(const QString& id) {
  if (const auto known = m_connections.find(id); known != m_connections.end()) {
    return known->second.get();
  }
  const Machine* machine = find(id);
  if (machine == nullptr) {
    return nullptr;
  }
  auto made = std::make_unique<Connection>(*machine, m_environment);
  connect(made.get(), &Connection::changed, this, [this, id] { Q_EMIT connectionChanged(id); });
  return (m_connections[id] = std::move(made)).get();
}

Result<QString> MachineBook::add(const QString& text) {
  const auto target = remote::parseTarget(text.trimmed().toStdString());
  if (!target) {
    return target.error();
  }
  const QString id = Machine{Machine::Kind::added, *target}.id();
  if (find(id) == nullptr) {
    m_added << text.trimmed();
    if (m_keepsSettings) {
      QSettings().setValue(u"run/hosts"_s, m_added);
    }
    refresh();
  }
  return id;
}

void MachineBook::remove(const QString& id) {
  const Machine* machine = find(id);
  if (machine == nullptr || machine->kind != Machine::Kind::added) {
    return;
  }
  m_added.erase(std::remove_if(m_added.begin(), m_added.end(),
                               [&](const QString& text) {
                                 const auto target = remote::parseTarget(text.toStdString());
                                 return target && Machine{Machine::Kind::added, *target}.id() == id;
                               }),
                m_added.end());
  if (m_keepsSettings) {
    QSettings().setValue(u"run/hosts"_s, m_added);
  }
  if (const auto known = m_connections.find(id); known != m_connections.end()) {
    // Not at once: it may be the one that is speaking.
    known->second.release()->deleteLater();
    m_connections.erase(known);
  }
  refresh();
}

}  // namespace coppice::designer
