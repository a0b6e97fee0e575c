// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/analysis/what_if.hpp"

#include <QCoreApplication>
#include <algorithm>
#include <cmath>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "base/units.hpp"
#include "designer/analysis/link_groups.hpp"
#include "designer/document/edits.hpp"

namespace coppice::designer {
namespace {

struct WhatIfTexts {
  Q_DECLARE_TR_FUNCTIONS(WhatIf)
};

Outcome explore(const BoundSolver& solver, const Snapshot& snapshot, std::stop_token stop, WhatIf& result) {
  if (!hasCutBound(result.question.collective)) {
    return Error{ErrorCode::badUsage, noCutBoundText(result.question.collective).toStdString()};
  }
  const std::optional<live::CutBound> cutBound = solver.cutBoundOf(snapshot.factRevision, result.question);
  if (!cutBound) {
    result.isAnswered = false;
    return Done{};
  }
  PricedLinks links = linksTogether(snapshot, result.links);
  if (links.ids.empty()) {
    return Error{ErrorCode::badUsage,
                 WhatIfTexts::tr("Select links to see what more bandwidth on them would change.").toStdString()};
  }
  result.count = links.count;
  result.min = links.bandwidth;
  result.max = links.max;
  Progress progress;
  progress.stop = std::move(stop);
  auto curve = live::curveOf(*cutBound, links.group, -links.bandwidth, Rational(3) * links.max, progress);
  if (!curve) {
    return curve.error();
  }
  result.curve = std::move(*curve);
  return Done{};
}

}  // namespace

WhatIf whatIf(const BoundSolver& solver, const Snapshot& snapshot, const Question& question,
              const std::set<LinkId>& links, std::stop_token stop) {
  WhatIf result;
  result.question = question;
  result.factRevision = snapshot.factRevision;
  result.links = links;
  try {
    if (const Outcome outcome = explore(solver, snapshot, std::move(stop), result); !outcome) {
      result.why = QString::fromStdString(outcome.error().message);
    }
  } catch (const OverflowError&) {
    result.why = WhatIfTexts::tr("The numbers leave the range in which results are proven exact.");
  } catch (const std::exception& exception) {
    result.why = QString::fromUtf8(exception.what());
  }
  if (!result.why.isEmpty()) {
    result.curve.points.clear();
  }
  return result;
}

CurveValue valueAt(const live::Curve& curve, const Bandwidth& change) {
  const auto& points = curve.points;
  const auto after = std::find_if(points.begin(), points.end(),
                                  [&](const live::CurvePoint& point) { return !(point.change < change); });
  if (after == points.end()) {
    return {points.back().algbw, true};
  }
  if (after->change == change || after == points.begin()) {
    return {after->algbw, true};
  }
  const live::CurvePoint& before = *std::prev(after);
  const Rational slope = (after->algbw - before.algbw) / (after->change - before.change);
  return {before.algbw + slope * (change - before.change), curve.isPiecewiseLinear};
}

Bandwidth changeAt(const live::Curve& curve, int step, int steps) {
  const Bandwidth begin = curve.points.front().change;
  const Bandwidth width = (curve.points.back().change - begin) / Rational(steps);
  const Bandwidth change = begin + width * Rational(step);
  std::vector<Bandwidth> marks = {Bandwidth()};
  for (const live::CurvePoint& point : curve.points) {
    marks.push_back(point.change);
  }
  for (const Bandwidth& mark : marks) {
    const Bandwidth distance = mark < change ? change - mark : mark - change;
    if (!(width < distance * Rational(2))) {
      return mark;
    }
  }
  return change;
}

int stepOf(const live::Curve& curve, const Bandwidth& change, int steps) {
  const double begin = toGBps(curve.points.front().change);
  const double end = toGBps(curve.points.back().change);
  return static_cast<int>(std::lround((toGBps(change) - begin) / (end - begin) * steps));
}

Outcome changeBandwidths(Edit& edit, const std::set<LinkId>& links, const Bandwidth& change) {
  std::vector<std::pair<LinkId, std::string>> wanted;
  try {
    for (const LinkId id : links) {
      const Link* link = edit.base().find(id);
      if (link == nullptr) {
        continue;
      }
      const auto bandwidth = Bandwidth::parse(link->bandwidth);
      if (!bandwidth) {
        return bandwidth.error();
      }
      const Bandwidth raised = *bandwidth + change;
      if (!raised.isPositive()) {
        return Error{ErrorCode::badInput, WhatIfTexts::tr("A link needs a bandwidth above 0.").toStdString(),
                     WhatIfTexts::tr("delete it instead").toStdString()};
      }
      wanted.emplace_back(id, toExactText(raised));
    }
  } catch (const OverflowError&) {
    return Error{ErrorCode::overflow,
                 WhatIfTexts::tr("The numbers leave the range in which results are proven exact.").toStdString()};
  }
  for (const auto& [id, text] : wanted) {
    edits::changeLinks(edit, std::vector{id}, [&text = text](Link& link) { link.bandwidth = text; });
  }
  return Done{};
}

}  // namespace coppice::designer
