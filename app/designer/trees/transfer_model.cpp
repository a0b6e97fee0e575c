// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/trees/transfer_model.hpp"

#include <QCoreApplication>
#include <algorithm>
#include <span>

#include "designer/theme/fonts.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

QString stepTitle(const schedule::StepSchedule& schedule, std::int32_t step) {
  return (schedule.isSynchronous ? TransferModel::tr("Step %1") : TransferModel::tr("Phase %1")).arg(step + 1);
}

void TransferModel::setResult(ScheduleResultPtr result) {
  beginResetModel();
  m_result = result && result->stepSchedule() != nullptr ? std::move(result) : nullptr;
  m_filter = {};
  collect();
  endResetModel();
}

void TransferModel::setFilter(const TransferFilter& filter) {
  if (m_filter != filter) {
    beginResetModel();
    m_filter = filter;
    collect();
    endResetModel();
  }
}

void TransferModel::collect() {
  m_rows.clear();
  const schedule::StepSchedule* steps = schedule();
  if (steps == nullptr) {
    return;
  }
  const schedule::TransferList& transfers = steps->transfers;
  std::vector<bool> isNamed(m_result->fabric->gpuCount(), true);
  for (std::size_t rank = 0; rank < isNamed.size() && !m_filter.gpu.isEmpty(); ++rank) {
    isNamed[rank] = gpuName(static_cast<fabric::Rank>(rank)).contains(m_filter.gpu, Qt::CaseInsensitive);
  }
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    const bool isMeant = (!m_filter.step || transfers.steps()[i] == *m_filter.step) &&
                         (!m_filter.shard || transfers.shards()[i] == *m_filter.shard) &&
                         (isNamed[transfers.senders()[i]] || isNamed[transfers.receivers()[i]]);
    if (isMeant) {
      m_rows.push_back(i);
    }
  }
}

QString TransferModel::gpuName(fabric::Rank rank) const {
  const fabric::NodeIndex node = m_result->fabric->gpus()[rank];
  return QString::fromStdString(m_result->fabric->nodes()[node].id);
}

QString TransferModel::nameOfShard(std::int64_t shard) const {
  const schedule::CollectiveTable& goal = schedule()->goal;
  const auto sources = goal.sources(shard);
  const auto destinations = goal.destinations(shard);
  if (sources.size() == 1 && destinations.size() == 1) {
    return tr("%1 to %2").arg(gpuName(sources.front()), gpuName(destinations.front()));
  }
  if (goal.shardCount() == 1) {
    return tr("all data");
  }
  const fabric::Rank owner = schedule::ownerOf(goal, shard);
  return owner >= 0 ? gpuName(owner) : tr("shard %1").arg(shard);
}

std::pair<QString, QString> TransferModel::endsAt(int row) const {
  const schedule::Transfer transfer = schedule()->transfers[transferAt(row)];
  return {gpuName(transfer.from), gpuName(transfer.to)};
}

int TransferModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int TransferModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(kColumns);
}

QString TransferModel::textOf(const schedule::Transfer& transfer, int column) const {
  const schedule::StepSchedule& steps = *schedule();
  switch (column) {
    case kStep:
      return QString::number(transfer.step + 1);
    case kData:
      return nameOfShard(transfer.shard) + (transfer.reduces ? u", "_s + tr("added") : QString());
    case kPiece: {
      if (transfer.begin == 0 && transfer.end == steps.denominator) {
        return tr("all of it");
      }
      const Rational begin = Rational(transfer.begin) / Rational(steps.denominator);
      const Rational end = Rational(transfer.end) / Rational(steps.denominator);
      return tr("%1 to %2").arg(QString::fromStdString(begin.toString()), QString::fromStdString(end.toString()));
    }
    case kFrom:
      return gpuName(transfer.from);
    case kTo:
      return gpuName(transfer.to);
    case kVia: {
      if (transfer.route == schedule::kNoRoute) {
        return {};
      }
      const std::span<const fabric::NodeIndex> path = steps.paths[transfer.route];
      QStringList names;
      for (std::size_t i = 1; i + 1 < path.size(); ++i) {
        names << QString::fromStdString(m_result->fabric->nodes()[path[i]].id);
      }
      return names.isEmpty() ? tr("direct link") : names.join(u" → "_s);
    }
    default:
      return {};
  }
}

QVariant TransferModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || schedule() == nullptr) {
    return {};
  }
  const schedule::Transfer transfer = schedule()->transfers[transferAt(index.row())];
  switch (role) {
    case Qt::DisplayRole:
    case Qt::AccessibleTextRole:
      return textOf(transfer, index.column());
    case Qt::ToolTipRole:
      return transfer.reduces ? tr("%1 adds this piece to what it has").arg(gpuName(transfer.to))
                              : tr("%1 stores this piece").arg(gpuName(transfer.to));
    case Qt::TextAlignmentRole:
      return index.column() == kStep ? QVariant(Qt::AlignRight | Qt::AlignVCenter)
                                     : QVariant(Qt::AlignLeft | Qt::AlignVCenter);
    case Qt::FontRole:
      return index.column() == kStep || index.column() == kPiece ? QVariant(figureFont()) : QVariant();
    default:
      return {};
  }
}

QVariant TransferModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) {
    return {};
  }
  if (role == Qt::TextAlignmentRole) {
    return section == kStep ? QVariant(Qt::AlignRight | Qt::AlignVCenter) : QVariant(Qt::AlignLeft | Qt::AlignVCenter);
  }
  if (role != Qt::DisplayRole) {
    return {};
  }
  const schedule::StepSchedule* steps = schedule();
  switch (section) {
    case kStep:
      return steps != nullptr && !steps->isSynchronous ? tr("Phase") : tr("Step");
    case kData:
      return tr("Data");
    case kPiece:
      return tr("Piece");
    case kFrom:
      return tr("From");
    case kTo:
      return tr("To");
    case kVia:
      return tr("Via");
    default:
      return {};
  }
}

}  // namespace coppice::designer
