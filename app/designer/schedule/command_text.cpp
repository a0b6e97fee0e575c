// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/schedule/command_text.hpp"

#include <QRegularExpression>

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
  if (options.treeCount == TreeCount::fixed) {
    add(u"--k"_s, QString::number(options.k));
  } else if (options.treeCount == TreeCount::scan) {
    add(u"--k-max"_s, QString::number(options.maxK));
  } else if (options.treeCount == TreeCount::sizes) {
    add(u"--sizes"_s, QString::fromStdString(options.sizes));
  } else if (options.treeCount == TreeCount::loss) {
    add(u"--within"_s, QString::fromStdString(options.loss));
  }
  if (options.maxHeight) {
    add(u"--max-height"_s, QString::number(*options.maxHeight));
  }
  if (options.maxPeers) {
    add(u"--max-peers"_s, QString::number(*options.maxPeers));
  }
  if (options.heightEffort != 1) {
    add(u"--height-effort"_s, QString::number(options.heightEffort));
  }
  if (options.usesMulticast) {
    words << u"--prune"_s;
  }
  add(u"-o"_s, outputPath);
  return words.join(u' ');
}

QString synthesizeCommand(const QString& fabricPath, const FrontRequest& request) {
  QStringList words{u"coppice-cli"_s, u"synthesize"_s,
                    shellQuoted(fabricPath.isEmpty() ? u"fabric.fabric.json"_s : fabricPath)};
  const auto add = [&](const QString& option, const QString& value) { words << option << shellQuoted(value); };
  const workflow::SearchText& search = request.search;
  add(u"-c"_s, QString::fromStdString(search.demand.collective));
  if (!search.demand.root.empty()) {
    add(u"--root"_s, QString::fromStdString(search.demand.root));
  }
  words << u"--pareto"_s;
  if (request.limits.maxSteps > 0) {
    add(u"--max-steps"_s, QString::number(request.limits.maxSteps));
  }
  if (request.limits.maxChunks > 0) {
    add(u"--max-chunks"_s, QString::number(request.limits.maxChunks));
  }
  if (request.limits.extraRounds) {
    add(u"--k"_s, QString::number(*request.limits.extraRounds));
  }
  if (!search.unit.empty()) {
    add(u"--unit"_s, QString::fromStdString(search.unit));
  }
  if (search.isOneBandwidth) {
    words << u"--one-bandwidth"_s;
  }
  if (search.isDirect) {
    words << u"--direct"_s;
  }
  add(u"--time-limit"_s, QString::number(search.seconds) + u's');
  if (request.limits.candidateSeconds > 0) {
    add(u"--candidate-seconds"_s, QString::number(request.limits.candidateSeconds));
  }
  add(u"--seed"_s, QString::number(search.seed));
  add(u"-o"_s, u"schedule.schedule.json"_s);
  return words.join(u' ');
}

QString exportCommand(const QString& schedulePath, const lowering::Options& options, const QString& outputPath) {
  QStringList words{u"coppice-cli"_s, u"export"_s, shellQuoted(schedulePath), u"--format"_s, u"msccl"_s};
  const auto add = [&](const QString& option, const QString& value) { words << option << shellQuoted(value); };
  const auto text = [](std::string_view view) {
    return QString::fromUtf8(view.data(), static_cast<qsizetype>(view.size()));
  };
  add(u"--target"_s, text(program::toString(options.runtime)));
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

}  // namespace coppice::designer
