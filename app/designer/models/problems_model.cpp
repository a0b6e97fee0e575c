// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/models/problems_model.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace coppice::designer {

std::vector<Problem> ProblemsModel::fromFindings(const std::vector<Finding>& findings,
                                                 const std::vector<ElementId>& culprits) {
  std::vector<Problem> result;
  result.reserve(findings.size());
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const Finding& finding = findings[i];
    Problem problem;
    problem.severity = finding.severity;
    problem.text = QString::fromStdString(finding.text);
    problem.fix = QString::fromStdString(finding.fix);
    problem.place = QString::fromStdString(toText(finding.where.element));
    if (finding.where.line > 0) {
      problem.place = tr("line %1").arg(finding.where.line) +
                      (problem.place.isEmpty() ? QString() : QStringLiteral(" · ") + problem.place);
    }
    problem.element = i < culprits.size() ? culprits[i] : ElementId();
    result.push_back(std::move(problem));
  }
  return result;
}

void ProblemsModel::setProblems(std::vector<Problem> problems) {
  std::map<std::tuple<Severity, QString, QString>, std::size_t> seen;
  std::vector<Problem> counted;
  for (Problem& problem : problems) {
    const auto [found, isNew] = seen.try_emplace({problem.severity, problem.text, problem.place}, counted.size());
    if (isNew) {
      counted.push_back(std::move(problem));
    } else {
      counted[found->second].count += problem.count;
    }
  }
  std::stable_sort(counted.begin(), counted.end(),
                   [](const Problem& a, const Problem& b) { return a.severity > b.severity; });
  if (counted != m_problems) {
    beginResetModel();
    m_problems = std::move(counted);
    endResetModel();
  }
}

int ProblemsModel::count(Severity severity) const {
  int count = 0;
  for (const Problem& problem : m_problems) {
    count += problem.severity == severity ? problem.count : 0;
  }
  return count;
}

int ProblemsModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_problems.size());
}

int ProblemsModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

QVariant ProblemsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) {
    return {};
  }
  switch (section) {
    case kSeverity:
      return tr("Severity");
    case kText:
      return tr("Problem");
    case kPlace:
      return tr("Where");
    case kFix:
      return tr("What to do");
    default:
      return {};
  }
}

QVariant ProblemsModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) {
    return {};
  }
  const Problem& problem = m_problems[index.row()];
  if (role == kElementRole) {
    return QVariant::fromValue(problem.element);
  }
  if (role == kSortRole && index.column() == kSeverity) {
    return static_cast<int>(problem.severity);
  }
  if (role == Qt::ToolTipRole) {
    return problem.fix.isEmpty() ? problem.text : problem.text + QStringLiteral("\n") + problem.fix;
  }
  if (role != Qt::DisplayRole && role != kSortRole) {
    return {};
  }
  switch (index.column()) {
    case kSeverity:
      return problem.severity == Severity::error ? tr("Error")
                                                 : (problem.severity == Severity::warning ? tr("Warning") : tr("Note"));
    case kText:
      return problem.count > 1 ? tr("%1 (×%2)").arg(problem.text).arg(problem.count) : problem.text;
    case kPlace:
      return problem.place;
    case kFix:
      return problem.fix;
    default:
      return {};
  }
}

}  // namespace coppice::designer
