// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/search/search_command.hpp"

#include <QStringList>

#include "designer/schedules/command_text.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

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

}  // namespace coppice::designer
