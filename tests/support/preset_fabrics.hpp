// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QStringList>
#include <map>
#include <string>

#include "fabric/fabric.hpp"
#include "presets/presets.hpp"
#include "support/must.hpp"

/// Fabrics of presets as the rows of tests name them.
namespace coppice::test {

inline fabric::Fabric built(const fabric::Description& description) {
  return must(fabric::Fabric::build(description));
}

/// @param words "dgx-a100 boxes=4", with another separator if need be
inline fabric::Description describedBy(const QString& words, QChar separator = u' ') {
  const QStringList parts = words.split(separator, Qt::SkipEmptyParts);
  std::map<std::string, std::string> arguments;
  for (const QString& part : parts.mid(1)) {
    arguments[part.section('=', 0, 0).toStdString()] = part.section('=', 1).toStdString();
  }
  return must(presets::make(parts.first().toStdString(), arguments));
}

inline fabric::Fabric presetFabric(const QString& words, QChar separator = u' ') {
  return built(describedBy(words, separator));
}

inline fabric::Fabric presetFabric(const std::string& name, const std::map<std::string, std::string>& arguments) {
  return built(must(presets::make(name, arguments)));
}

}  // namespace coppice::test
