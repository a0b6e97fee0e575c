// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/export/export_command.hpp"

#include <QRegularExpression>
#include <QStringList>

#include "designer/schedules/command_text.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

QString exportCommand(const QString& schedulePath, const lowering::Options& options, const QString& outputPath,
                      std::string_view target) {
  QStringList words{u"coppice-cli"_s, u"export"_s, shellQuoted(schedulePath), u"--format"_s, u"msccl"_s};
  const auto add = [&](const QString& option, const QString& value) { words << option << shellQuoted(value); };
  const auto text = [](std::string_view view) {
    return QString::fromUtf8(view.data(), static_cast<qsizetype>(view.size()));
  };
  add(u"--target"_s, text(target.empty() ? program::toString(options.runtime) : target));
  if (options.protocol) {
    add(u"--protocol"_s, text(program::toString(*options.protocol)));
  }
  if (options.instances != 1) {
    add(u"--instances"_s, QString::number(options.instances));
  }
  if (options.chunks != 0) {
    add(u"--chunks"_s, QString::number(options.chunks));
  }
  if (options.channels == lowering::ChannelPolicy::nicPlanes) {
    add(u"--channels"_s, u"nic-planes"_s);
  }
  if (options.minBytes != 0) {
    add(u"--min-bytes"_s, QString::number(options.minBytes));
  }
  if (options.maxBytes != lowering::kDefaultMaxBytes) {
    add(u"--max-bytes"_s, QString::number(options.maxBytes));
  }
  if (!options.inPlace) {
    words << u"--out-of-place"_s;
  }
  if (!options.name.empty()) {
    add(u"--name"_s, QString::fromStdString(options.name));
  }
  add(u"-o"_s, outputPath);
  return words.join(u' ');
}

QString programName(const QString& schedule, std::int64_t treesPerRoot) {
  static const QRegularExpression kTrees(u", \\d+ trees?"_s);
  QString name;
  QString written = schedule.toLower();
  if (treesPerRoot > 0) {
    written.replace(kTrees, u" k"_s + QString::number(treesPerRoot));
  }
  for (const QChar each : written) {
    if (each.isLetterOrNumber()) {
      name += each;
    } else if (!name.isEmpty() && name.back() != u'-') {
      name += u'-';
    }
  }
  while (name.endsWith(u'-')) {
    name.chop(1);
  }
  return name.isEmpty() ? u"program"_s : name;
}

}  // namespace coppice::designer
