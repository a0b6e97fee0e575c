// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/search/candidate_model.hpp"

#include <QFont>
#include <QPainter>
#include <QPixmap>
#include <QPolygonF>
#include <array>

#include "designer/document/figures.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/scales.hpp"
#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

CandidateKind kindOf(const FrontCandidate& candidate) {
  switch (candidate.verdict) {
    case synth::Verdict::sat:
      return candidate.isOptimal ? CandidateKind::optimal : CandidateKind::found;
    case synth::Verdict::unsat:
      return CandidateKind::unsat;
    case synth::Verdict::unknown:
      break;
  }
  return CandidateKind::unknown;
}

QString nameOf(CandidateKind kind) {
  switch (kind) {
    case CandidateKind::optimal:
      return CandidateModel::tr("found, optimal");
    case CandidateKind::found:
      return CandidateModel::tr("found");
    case CandidateKind::unsat:
      return CandidateModel::tr("impossible");
    case CandidateKind::unknown:
      break;
  }
  return CandidateModel::tr("unknown");
}

QColor colorOf(CandidateKind kind, Scheme scheme) {
  constexpr int kGreen = 1;
  constexpr int kBlue = 0;
  switch (kind) {
    case CandidateKind::optimal:
      return category(kGreen, scheme);
    case CandidateKind::found:
      return category(kBlue, scheme);
    case CandidateKind::unsat:
      return colorsOf(scheme)[Token::faint];
    case CandidateKind::unknown:
      break;
  }
  return colorsOf(scheme)[Token::muted];
}

QIcon markOf(CandidateKind kind) {
  constexpr int kSide = 12;
  constexpr int kScale = 2;
  QPixmap pixmap(kSide * kScale, kSide * kScale);
  pixmap.setDevicePixelRatio(kScale);
  pixmap.fill(Qt::transparent);
  QPainter painter(&pixmap);
  painter.setRenderHint(QPainter::Antialiasing);
  const QColor color = colorOf(kind, Theme::instance().scheme());
  painter.setPen(QPen(color, 1.5));
  painter.setBrush(kind == CandidateKind::unknown ? QBrush(Qt::NoBrush) : QBrush(color));
  switch (kind) {
    case CandidateKind::optimal:
      painter.drawPolygon(QPolygonF({{6, 1},
                                     {7.4, 4.4},
                                     {11, 4.6},
                                     {8.2, 7},
                                     {9.2, 10.6},
                                     {6, 8.6},
                                     {2.8, 10.6},
                                     {3.8, 7},
                                     {1, 4.6},
                                     {4.6, 4.4}}));
      break;
    case CandidateKind::found:
      painter.drawEllipse(QRectF(2, 2, 8, 8));
      break;
    case CandidateKind::unsat:
      painter.drawPolygon(QPolygonF({{6, 2}, {10, 9.5}, {2, 9.5}}));
      break;
    case CandidateKind::unknown:
      painter.drawRect(QRectF(2.5, 2.5, 7, 7));
      break;
  }
  painter.end();
  return QIcon(pixmap);
}

CandidateModel::CandidateModel(const FrontSearch& search, QObject* parent)
    : QAbstractTableModel(parent), m_search(search) {}

void CandidateModel::refresh() {
  const std::size_t rows = m_search.candidates().size();
  if (rows < m_rows) {
    beginResetModel();
    m_rows = 0;
    endResetModel();
  }
  if (m_rows > 0) {
    // A candidate may have been measured.
    Q_EMIT dataChanged(index(0, 0), index(static_cast<int>(m_rows) - 1, kColumns - 1));
  }
  if (rows > m_rows) {
    beginInsertRows({}, static_cast<int>(m_rows), static_cast<int>(rows) - 1);
    m_rows = rows;
    endInsertRows();
  }
}

int CandidateModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_rows);
}

int CandidateModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

QString CandidateModel::textOf(const FrontCandidate& candidate, int column) const {
  switch (column) {
    case kSteps:
      return QString::number(candidate.size.steps);
    case kRounds:
      return QString::number(candidate.size.rounds);
    case kChunks:
      return QString::number(candidate.size.chunks);
    case kRatio:
      return QString::fromStdString(candidate.ratio().toString());
    case kResult:
      return candidate.verdict == synth::Verdict::sat ? tr("found") : nameOf(kindOf(candidate));
    case kProof:
      return candidate.isOptimal                        ? tr("optimal")
             : candidate.verdict != synth::Verdict::sat ? QString()
             : candidate.bound && candidate.bound->isPositive()
                 ? tr("bound %1").arg(QString::fromStdString(candidate.bound->toString()))
                 : tr("none");
    case kSpeed:
      return candidate.algbw ? decimal(*candidate.algbw) : QString();
    case kSeconds:
      return duration(candidate.seconds);
    default:
      return candidate.reason;
  }
}

QVariant CandidateModel::sortKeyOf(const FrontCandidate& candidate, int column) const {
  switch (column) {
    case kSteps:
      return QVariant::fromValue<qint64>(candidate.size.steps);
    case kRounds:
      return QVariant::fromValue<qint64>(candidate.size.rounds);
    case kChunks:
      return QVariant::fromValue<qint64>(candidate.size.chunks);
    case kRatio:
      return candidate.ratio().toDouble();
    case kSpeed:
      return candidate.algbw ? toGBps(*candidate.algbw) : 0.0;
    case kSeconds:
      return candidate.seconds;
    case kResult:
      return static_cast<int>(kindOf(candidate));
    default:
      return textOf(candidate, column);
  }
}

QVariant CandidateModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || static_cast<std::size_t>(index.row()) >= m_search.candidates().size()) {
    return {};
  }
  const FrontCandidate& candidate = m_search.candidates()[index.row()];
  const int column = index.column();
  switch (role) {
    case Qt::DisplayRole:
      return textOf(candidate, column);
    case Qt::ToolTipRole:
      return candidate.sizeText() + u": "_s + candidate.reason;
    case Qt::DecorationRole:
      return column == kResult ? QVariant(markOf(kindOf(candidate))) : QVariant();
    case Qt::TextAlignmentRole:
      return QVariant(column <= kRatio || column == kSpeed || column == kSeconds ? Qt::AlignRight | Qt::AlignVCenter
                                                                                 : Qt::AlignLeft | Qt::AlignVCenter);
    case Qt::FontRole:
      return column <= kRatio || column == kSpeed || column == kSeconds ? QVariant(figureFont()) : QVariant();
    case kSortRole:
      return sortKeyOf(candidate, column);
    default:
      return {};
  }
}

QVariant CandidateModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= kColumns) {
    return {};
  }
  if (role == Qt::DisplayRole) {
    const std::array<QString, kColumns> names{tr("Steps"),  tr("Rounds"), tr("Chunks"), tr("Rounds per chunk"),
                                              tr("Result"), tr("Proof"),  tr("GB/s"),   tr("Time"),
                                              tr("Reason")};
    return names[section];
  }
  if (role == Qt::ToolTipRole) {
    const std::array<QString, kColumns> texts{
        tr("Sequential steps; they dominate at small sizes"),
        tr("Rounds of all steps together; in a round each link moves as many chunks as its bandwidth has units"),
        tr("Number of chunks, counted as for coppice-cli synthesize --chunks"),
        tr("Rounds per chunk; they dominate at large sizes"),
        tr("Found, proved impossible, or not decided in the time (unknown)"),
        tr("Optimal: no schedule of this many steps needs fewer rounds per chunk, proved. Otherwise the proved bound "
           "on them"),
        tr("Exact algbw, which large sizes approach"),
        tr("Time that the search for this size took"),
        tr("How it was found or proved")};
    return texts[section];
  }
  if (role == Qt::TextAlignmentRole) {
    return QVariant(section <= kRatio || section == kSpeed || section == kSeconds ? Qt::AlignRight | Qt::AlignVCenter
                                                                                  : Qt::AlignLeft | Qt::AlignVCenter);
  }
  return {};
}

}  // namespace coppice::designer
