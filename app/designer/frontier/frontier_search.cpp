// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/frontier/frontier_search.hpp"

#include <QCoreApplication>
#include <QStringList>
#include <algorithm>
#include <utility>

#include "designer/document/counted.hpp"
#include "designer/document/figures.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

struct FrontierTexts {
  Q_DECLARE_TR_FUNCTIONS(Frontier)
};

Outcome search(FrontierAnswer& answer, const workflow::Values& values, const Progress& progress) {
  auto question = workflow::readFrontier(values);
  if (!question) {
    return question.error();
  }
  auto frontier = workflow::findFrontier(question->request, question->priced.parts, progress);
  if (!frontier) {
    return frontier.error();
  }
  answer.parts = std::move(question->priced.parts);
  answer.isSample = question->priced.isSample;
  answer.hasStep = question->request.training.has_value();
  answer.frontier = *std::move(frontier);
  answer.stepUnit = workflow::stepUnit(answer.frontier);
  return Done{};
}

}  // namespace

FrontierAnswerPtr searchFrontier(const workflow::Values& values, const Progress& progress) {
  return answered<FrontierAnswer>([&](FrontierAnswer& answer) { return search(answer, values, progress); });
}

QString rangeText(const Bandwidth& reached, const Bandwidth& upper) {
  return upper == reached ? decimal(reached) : FrontierTexts::tr("%1 to %2").arg(decimal(reached), decimal(upper));
}

QString stepText(const workflow::NetworkBounds& bounds, const workflow::StepUnit& unit) {
  return bounds.step      ? QString::fromStdString(unit.text(*bounds.step))
         : bounds.hasStep ? FrontierTexts::tr("no plan fits")
                          : FrontierTexts::tr("not computed");
}

QString billText(const bom::Bill& bill, const bom::Parts& parts) {
  QStringList pieces;
  for (const bom::BillLine& line : bill.lines) {
    pieces << QString::number(line.pieces) + u" × "_s + QString::fromStdString(parts.rows[line.part].name);
  }
  qsizetype cables = 0;
  for (const bom::CableRun& run : bill.runs) {
    cables += run.count;
  }
  const auto [shortest, longest] =
      std::minmax_element(bill.runs.begin(), bill.runs.end(),
                          [](const bom::CableRun& a, const bom::CableRun& b) { return a.length < b.length; });
  QString text = pieces.join(u", "_s);
  if (cables > 0) {
    text += FrontierTexts::tr(". %1 of %2 to %3 m")
                .arg(counted(cables, FrontierTexts::tr("cable"), FrontierTexts::tr("cables")),
                     decimal(shortest->length), decimal(longest->length));
  }
  return text + FrontierTexts::tr(". %1 with boxes, %2 with switches between them.")
                    .arg(counted(bill.plan.racks, FrontierTexts::tr("rack"), FrontierTexts::tr("racks")))
                    .arg(bill.plan.networkRacks);
}

}  // namespace coppice::designer
