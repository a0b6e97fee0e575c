// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/run/machine.hpp"

#include <QCoreApplication>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QSet>
#include <filesystem>

#include "remote/ssh_config.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

struct MachineTexts {
  Q_DECLARE_TR_FUNCTIONS(Machine)
};

std::filesystem::path toPath(const QString& path) {
  return QFile::encodeName(path).toStdString();
}

}  // namespace

QString Machine::id() const {
  if (isLocal()) {
    return u"local"_s;
  }
  return u"ssh:"_s + QString::fromStdString(target.text()) + (target.port != 0 ? u":%1"_s.arg(target.port) : QString());
}

QString Machine::title() const {
  if (isLocal()) {
    return MachineTexts::tr("This computer");
  }
  return QString::fromStdString(target.text()) + (target.port != 0 ? u":%1"_s.arg(target.port) : QString());
}

QString Machine::origin() const {
  switch (kind) {
    case Kind::local:
      return MachineTexts::tr("runs without a connection");
    case Kind::configured:
      return MachineTexts::tr("from the ssh configuration");
    case Kind::added:
      return MachineTexts::tr("added by hand");
  }
  return {};
}

std::vector<Machine> knownMachines(const QString& configFile, const QStringList& added) {
  std::vector<Machine> machines{Machine{}};
  QSet<QString> seen;
  const QString file = configFile.isEmpty() ? QDir::homePath() + u"/.ssh/config"_s : configFile;
  for (const std::string& host :
       remote::configuredHosts(toPath(file), toPath(QFileInfo(file).absolutePath()), toPath(QDir::homePath()))) {
    Machine machine{Machine::Kind::configured, remote::Target{host, {}, 0}};
    seen.insert(machine.id());
    machines.push_back(std::move(machine));
  }
  for (const QString& text : added) {
    const auto target = remote::parseTarget(text.toStdString());
    if (!target) {
      continue;
    }
    Machine machine{Machine::Kind::added, *target};
    if (!seen.contains(machine.id())) {
      seen.insert(machine.id());
      machines.push_back(std::move(machine));
    }
  }
  return machines;
}

}  // namespace coppice::designer
