// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/schedules/command_text.hpp"

#include <QRegularExpression>
#include <QStringList>

#include "workflow/request.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

QString shellQuoted(const QString& text) {
  static const QRegularExpression kPlain(u"^[A-Za-z0-9_./:=,+@%-]+$"_s);
  if (kPlain.match(text).hasMatch() && !text.startsWith(u'-')) {
    return text;
  }
  return u'\'' + QString(text).replace(u"'"_s, u"'\\''"_s) + u'\'';
}

QString generateCommand(const QString& fabricPath, const ScheduleOptions& options, const QString& outputPath) {
  QStringList words{u"coppice-cli"_s, u"generate"_s,
                    shellQuoted(fabricPath.isEmpty() ? u"fabric.fabric.json"_s : fabricPath)};
  const auto add = [&](const QString& option, const QString& value) { words << option << shellQuoted(value); };
  add(u"-c"_s, QString::fromUtf8(toString(options.collective).data()));
  if (!options.gpus.empty()) {
    QStringList names;
    for (const std::string& name : options.gpus) {
      names << QString::fromStdString(name);
    }
    add(u"--gpus"_s, names.join(u','));
  }
  if (!options.amounts.empty() && workflow::hasAmounts(options.collective)) {
    add(u"--amounts"_s, QString::fromStdString(options.amounts));
  }
  if (isRooted(options.collective)) {
    add(u"--root"_s, options.root.empty() ? u"0"_s : QString::fromStdString(options.root));
  }
  if (options.method != workflow::kDefaultMethod) {
    add(u"--method"_s, QString::fromStdString(options.method));
  }
  for (const auto& [name, value] : options.methodOptions) {
    const QString option = u"--"_s + QString::fromStdString(name);
    if (value == "true") {
      words << option;
    } else {
      add(option, QString::fromStdString(value));
    }
  }
  add(u"-o"_s, outputPath);
  return words.join(u' ');
}

}  // namespace coppice::designer
