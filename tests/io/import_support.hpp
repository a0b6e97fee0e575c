// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QFile>
#include <QStringList>
#include <string>
#include <vector>

#include "coppice/test_paths.hpp"
#include "fabric/fabric.hpp"
#include "io/cluster_files.hpp"

/// Files of machines and clusters under tests/data/cluster, and what is read of them, as text.
namespace coppice::io::test {

inline const QString kFolder = QStringLiteral(COPPICE_TEST_DATA "/cluster/");

inline std::string contents(const QString& name) {
  QFile file(kFolder + name);
  return file.open(QIODevice::ReadOnly) ? file.readAll().toStdString() : std::string();
}

inline QStringList linksOf(const fabric::Description& description) {
  QStringList lines;
  for (const fabric::LinkDescription& link : description.links) {
    QString line = QString::fromStdString(link.src + (link.duplex ? "=" : ">") + link.dst + " " + link.bandwidth);
    lines << (link.count == 1 ? line : line + QStringLiteral("x%1").arg(link.count));
  }
  return lines;
}

inline QStringList nodesOf(const fabric::Description& description) {
  QStringList lines;
  for (const fabric::NodeDescription& node : description.nodes) {
    lines << QString::fromStdString(node.id + (node.box.empty() ? "" : "@" + node.box));
  }
  return lines;
}

inline QString texts(const std::vector<Finding>& findings) {
  QString all;
  for (const Finding& finding : findings) {
    all += QString::fromStdString(describe(finding)) + QLatin1Char('\n');
  }
  return all;
}

inline QString failure(const Result<ImportResult>& result) {
  return result ? QStringLiteral("accepted") : QString::fromStdString(describe(result.error()));
}

/// Detected and read, as a window or a command line would.
inline Result<ImportResult> read(const QString& name, const ImportOptions& options = {}) {
  const std::string text = contents(name);
  const auto format = detectFormat("x", text);
  return format ? importFabric(text, *format, name.toStdString(), options) : format.error();
}

inline ClusterFile clusterFile(const QString& name) {
  ClusterFile file{contents(name), name.toStdString(), {}};
  const auto format = detectFormat("x", file.text);
  if (format) {
    file.format = *format;
  }
  return file;
}

}  // namespace coppice::io::test
