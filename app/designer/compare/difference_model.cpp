// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/compare/difference_model.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "designer/document/figures.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/timeline/time_text.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

QString bytesOrNone(double bytes) {
  return bytes > 0 ? roughBytes(bytes) : u"–"_s;
}

QString timeOrNone(Microseconds time) {
  return time > Microseconds(0) ? timeText(time) : u"–"_s;
}

}  // namespace

void DifferenceModel::setDifferences(std::vector<simulate::LinkDifference> links,
                                     std::vector<simulate::RankDifference> gpus) {
  beginResetModel();
  m_links = std::move(links);
  m_gpus = std::move(gpus);
  endResetModel();
  setKind(m_kind);
}

void DifferenceModel::setKind(Kind kind) {
  beginResetModel();
  m_kind = kind;
  m_max = 0;
  for (int row = 0; row < rowCount(); ++row) {
    m_max = std::max(m_max, std::abs(valueAt(row, kDifference)));
  }
  endResetModel();
}

DifferenceModel::Numbers DifferenceModel::numbersAt(int row) const {
  const auto at = static_cast<std::size_t>(row);
  if (m_kind == Kind::links) {
    const simulate::LinkDifference& link = m_links[at];
    return {link.first.bytes, link.second.bytes, link.first.busy, link.second.busy};
  }
  const simulate::RankDifference& gpu = m_gpus[at];
  return {gpu.first.sent, gpu.second.sent, gpu.first.done, gpu.second.done};
}

double DifferenceModel::valueAt(int row, int column) const {
  const Numbers numbers = numbersAt(row);
  switch (column) {
    case kBytesA:
      return numbers.bytesA;
    case kBytesB:
      return numbers.bytesB;
    case kTimeA:
      return numbers.timeA.count();
    case kTimeB:
      return numbers.timeB.count();
    default:
      return (numbers.timeB - numbers.timeA).count();
  }
}

std::pair<QString, QString> DifferenceModel::endsAt(int row) const {
  const auto at = static_cast<std::size_t>(row);
  return m_kind == Kind::links
             ? std::pair(QString::fromStdString(m_links[at].tail), QString::fromStdString(m_links[at].head))
             : std::pair(QString::fromStdString(m_gpus[at].gpu), QString());
}

QString DifferenceModel::nameAt(int row) const {
  const auto [tail, head] = endsAt(row);
  return head.isEmpty() ? tail : tail + u" → "_s + head;
}

QString DifferenceModel::textAt(int row, int column) const {
  const double value = valueAt(row, column);
  switch (column) {
    case kName:
      return nameAt(row);
    case kBytesA:
    case kBytesB:
      return bytesOrNone(value);
    case kTimeA:
    case kTimeB:
      return timeOrNone(Microseconds(value));
    default:
      // Less is what rounding leaves of nothing.
      constexpr double kMin = 1e-4;
      return std::abs(value) < kMin ? u"0"_s : (value > 0 ? u"+"_s : u"−"_s) + timeText(Microseconds(std::abs(value)));
  }
}

QString DifferenceModel::toolTipAt(int row) const {
  const auto at = static_cast<std::size_t>(row);
  const Numbers numbers = numbersAt(row);
  if (m_kind == Kind::links) {
    return tr("%1, %2 GB/s\nA: %3 in %4\nB: %5 in %6")
        .arg(nameAt(row))
        .arg(m_links[at].bandwidth.gigabytesPerSecond())
        .arg(bytesOrNone(numbers.bytesA), timeOrNone(numbers.timeA), bytesOrNone(numbers.bytesB),
             timeOrNone(numbers.timeB));
  }
  const auto told = [](const simulate::RankUse& use) {
    return tr("sends %1 in %2, receives %3, has all data after %4")
        .arg(bytesOrNone(use.sent), timeOrNone(use.sending), bytesOrNone(use.received), timeOrNone(use.done));
  };
  return tr("%1\nA: %2\nB: %3").arg(nameAt(row), told(m_gpus[at].first), told(m_gpus[at].second));
}

QString DifferenceModel::csv() const {
  QString text = m_kind == Kind::links
                     ? u"tail,head,bandwidth_GBps,a_bytes,b_bytes,a_busy_us,b_busy_us,difference_us\n"_s
                     : u"gpu,a_sent_bytes,b_sent_bytes,a_done_us,b_done_us,difference_us\n"_s;
  constexpr int kDigits = 12;
  for (int row = 0; row < rowCount(); ++row) {
    auto [tail, head] = endsAt(row);
    const auto quoted = [](QString name) { return u"\"%1\""_s.arg(name.replace(u'"', u"\"\""_s)); };
    QStringList cells{quoted(tail)};
    if (m_kind == Kind::links) {
      cells << quoted(head) << QString::number(m_links[row].bandwidth.gigabytesPerSecond(), 'g', kDigits);
    }
    for (int column = kBytesA; column < kColumns; ++column) {
      cells << QString::number(valueAt(row, column), 'g', kDigits);
    }
    text += cells.join(u',') + u'\n';
  }
  return text;
}

int DifferenceModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_kind == Kind::links ? m_links.size() : m_gpus.size());
}

int DifferenceModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

QVariant DifferenceModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) {
    return {};
  }
  switch (role) {
    case Qt::DisplayRole:
      return textAt(index.row(), index.column());
    case Qt::ToolTipRole:
      return toolTipAt(index.row());
    case Qt::TextAlignmentRole:
      return index.column() == kName ? QVariant(Qt::AlignLeft | Qt::AlignVCenter)
                                     : QVariant(Qt::AlignRight | Qt::AlignVCenter);
    case Qt::FontRole:
      return index.column() == kName ? QVariant() : QVariant(figureFont());
    case kSortRole:
      return index.column() == kName ? QVariant(nameAt(index.row())) : QVariant(valueAt(index.row(), index.column()));
    case kShareRole:
      return m_max > 0 ? valueAt(index.row(), kDifference) / m_max : 0.0;
    default:
      return {};
  }
}

QVariant DifferenceModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) {
    return {};
  }
  if (role == Qt::TextAlignmentRole) {
    // The mark of the order stands at the right of the last column.
    return section == kName || section == kDifference ? QVariant(Qt::AlignLeft | Qt::AlignVCenter)
                                                      : QVariant(Qt::AlignRight | Qt::AlignVCenter);
  }
  const bool isLinks = m_kind == Kind::links;
  if (role == Qt::ToolTipRole) {
    switch (section) {
      case kBytesA:
      case kBytesB:
        return isLinks ? tr("Total bytes over the link") : tr("Total bytes that the GPU sends");
      case kTimeA:
      case kTimeB:
        return isLinks ? tr("Time during which at least one message crosses it") : tr("When its last message arrives");
      case kDifference:
        return isLinks ? tr("How much longer it is busy in B") : tr("How much later it has all its data in B");
      default:
        return {};
    }
  }
  if (role != Qt::DisplayRole) {
    return {};
  }
  switch (section) {
    case kName:
      return isLinks ? tr("Link") : tr("GPU");
    case kBytesA:
      return isLinks ? tr("Bytes A") : tr("Sent A");
    case kBytesB:
      return isLinks ? tr("Bytes B") : tr("Sent B");
    case kTimeA:
      return isLinks ? tr("Busy A") : tr("Done A");
    case kTimeB:
      return isLinks ? tr("Busy B") : tr("Done B");
    default:
      return tr("B − A");
  }
}

}  // namespace coppice::designer
