// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/program/program_text.hpp"

#include <QCoreApplication>
#include <QStringList>
#include <algorithm>

#include "designer/document/counted.hpp"
#include "designer/document/figures.hpp"
#include "designer/export/export_check.hpp"
#include "designer/jobs/bound.hpp"
#include "lowering/lowering.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

QString tr(const char* text) {
  return QCoreApplication::translate("ProgramPanel", text);
}

}  // namespace

QString programFacts(const verify::ProgramJudgement& judgement) {
  const program::Program& program = judgement.program;
  const ProgramCounts counts = countsOf(program);
  QStringList parts;
  QString what = program.collectiveText.empty() ? collectiveName(program.collective)
                                                : QString::fromStdString(program.collectiveText);
  if (judgement.verdict.root >= 0) {
    what += u' ' + tr("from rank %1").arg(judgement.verdict.root);
  }
  parts << what << counted(static_cast<qsizetype>(program.ranks.size()), tr("rank"), tr("ranks"))
        << counted(program.channels, tr("channel"), tr("channels"))
        << tr("at most %1 of %2 each per rank")
               .arg(counted(counts.threadBlocks, tr("threadblock"), tr("threadblocks")),
                    counted(counts.steps, tr("step"), tr("steps")))
        << counted(program.chunksPerLoop, tr("chunk"), tr("chunks"));
  const std::string_view protocol = program::toString(program.protocol);
  parts << QString::fromUtf8(protocol.data(), static_cast<qsizetype>(protocol.size()));
  parts << (program.inPlace && program.outOfPlace ? tr("in and out of place")
            : program.inPlace                     ? tr("in place")
                                                  : tr("out of place"));
  parts << tr("%1 to %2")
               .arg(bytesText(program.minBytes),
                    program.maxBytes >= lowering::kDefaultMaxBytes ? tr("any size") : bytesText(program.maxBytes));
  if (!program.name.empty()) {
    parts.prepend(u'“' + QString::fromStdString(program.name).left(80) + u'”');
  }
  return parts.join(u" · "_s);
}

QString targetFacts(const workflow::TargetFile& file) {
  QStringList facts;
  for (const workflow::Fact& fact : file.facts) {
    if (!fact.text.empty()) {
      facts << QString::fromStdString(fact.text);
    }
  }
  return facts.join(u'\n');
}

QString verdictText(const ProgramReading& reading) {
  const verify::ProgramJudgement& judgement = reading.studied.judgement;
  const std::string_view runtime = program::toString(reading.runtime);
  const QString name = QString::fromUtf8(runtime.data(), static_cast<qsizetype>(runtime.size()));
  return judgement.ok ? u"✓ "_s + tr("Verified: %1 runs it, and its result is that of %2")
                                      .arg(name, collectiveName(judgement.verdict.collective))
                      : tr("Not verified for %1").arg(name);
}

QString verdictText(const workflow::TargetFile& file) {
  return file.isOk ? u"✓ "_s + tr("Verified: its result is that of %1").arg(QString::fromStdString(file.collective))
                   : tr("Not verified");
}

QString findingText(const ProgramReading& reading) {
  const verify::ProgramStudy& study = reading.study();
  const verify::ProgramJudgement& judgement = reading.studied.judgement;
  if (!study.ring.empty()) {
    return tr("Deadlock: %1 wait for each other in a ring.")
        .arg(counted(static_cast<qsizetype>(study.ring.size()), tr("step"), tr("steps")));
  }
  if (study.firstWrong) {
    const QString text = QString::fromStdString(verify::describe(reading.program(), *study.firstWrong));
    return (study.isWrongInPlace ? tr("First wrong in place: %1.") : tr("First wrong out of place: %1.")).arg(text);
  }
  const auto fault = std::find_if(judgement.findings.begin(), judgement.findings.end(),
                                  [](const Finding& finding) { return finding.severity == Severity::error; });
  return judgement.ok || fault == judgement.findings.end() ? QString() : QString::fromStdString(describe(*fault));
}

QString stepMeaning(program::StepType type) {
  switch (type) {
    case program::StepType::send:
      return tr("sends");
    case program::StepType::recv:
      return tr("receives and stores");
    case program::StepType::recvCopySend:
      return tr("receives, stores and sends on");
    case program::StepType::recvReduceSend:
      return tr("receives, adds its own and sends on");
    case program::StepType::recvReduceCopy:
      return tr("receives, adds its own and stores");
    case program::StepType::recvReduceCopySend:
      return tr("receives, adds its own, stores and sends on");
    case program::StepType::copy:
      return tr("copies within the rank");
    case program::StepType::reduce:
      return tr("adds within the rank");
    case program::StepType::nop:
      return tr("only waits");
  }
  return {};
}

QString treeNames(const std::vector<TreeRef>& trees, const TreeName& nameOf) {
  QStringList names;
  for (const TreeRef& tree : trees) {
    names << (nameOf           ? nameOf(tree)
              : tree.half == 0 ? tr("reduce tree %1").arg(tree.tree)
                               : tr("broadcast tree %1").arg(tree.tree));
  }
  return names.join(u", "_s);
}

QString waitTitle(program::WaitReason reason) {
  switch (reason) {
    case program::WaitReason::order:
      return tr("order");
    case program::WaitReason::flag:
      return tr("flag");
    case program::WaitReason::data:
      return tr("data");
    case program::WaitReason::space:
      return tr("space");
  }
  return {};
}

QString stepSentence(const ProgramReading& reading, const program::StepPlace& place,
                     const verify::ProgramReplay* replay, const TreeName& treeName) {
  const program::Step& step = reading.program().ranks[place.rank].threadBlocks[place.threadBlock].steps[place.step];
  QString text = QString::fromStdString(placeText(place) + ": " + program::operationText(reading.program(), place)) +
                 u", "_s + stepMeaning(step.type);
  if (program::usesSource(step.type)) {
    text += tr(", reads %1").arg(QString::fromStdString(program::slotText(step.src, step.count)));
  }
  if (program::usesDestination(step.type)) {
    text += tr(", writes %1").arg(QString::fromStdString(program::slotText(step.dst, step.count)));
  }
  if (replay != nullptr) {
    const auto position = replay->positionAfter(place);
    text += position ? tr("; done in round %1").arg(replay->events()[*position - 1].round) : tr("; it never finishes");
  }
  text[0] = text[0].toUpper();
  text += u'.';
  if (const QString trees = treeNames(reading.treesOf(place), treeName); !trees.isEmpty()) {
    text += tr(" It serves %1.").arg(trees);
  }
  return text;
}

}  // namespace coppice::designer
