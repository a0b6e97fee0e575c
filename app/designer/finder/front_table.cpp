// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/finder/front_table.hpp"

#include <QFont>
#include <QStringList>
#include <algorithm>

#include "base/checked.hpp"
#include "designer/document/counted.hpp"
#include "designer/document/figures.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/theme.hpp"
#include "finder/distances.hpp"
#include "workflow/sizes.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

QString exact(const Rational& value) {
  return QString::fromStdString(value.toString());
}

/// "2.6418", or what it is at least.
QString alltoallText(const std::optional<workflow::AlltoallTime>& alltoall) {
  constexpr int kPlaces = 4;
  if (!alltoall) {
    return u"–"_s;
  }
  return (alltoall->isExact() ? QString() : u"≥ "_s) + decimal(alltoall->least, kPlaces);
}

QString rounded(const Rational& bytes) {
  return QString::fromStdString(workflow::byteSize(bytes.floor()));
}

}  // namespace

QString microsecondsText(const ExactMicroseconds& time) {
  const Rational microseconds = time.count();
  const Rational thousand(1000);
  if (microseconds < thousand) {
    return decimal(microseconds, 1) + u" µs"_s;
  }
  return microseconds < thousand * thousand ? decimal(microseconds / thousand, 2) + u" ms"_s
                                            : decimal(microseconds / thousand / thousand, 2) + u" s"_s;
}

void FrontTable::setFronts(std::span<const NodeFront> fronts) {
  beginResetModel();
  m_rows.clear();
  for (const NodeFront& front : fronts) {
    for (const workflow::FoundTopology& topology : front.found) {
      m_rows.push_back({topology, {}, false, {}, {}, {}});
    }
  }
  compute();
  endResetModel();
}

void FrontTable::setTimes(const workflow::TopologyTimes& times) {
  m_times = times;
  compute();
  Q_EMIT headerDataChanged(Qt::Horizontal, kTime, kTime);
  if (!m_rows.empty()) {
    Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, kColumns - 1));
  }
}

void FrontTable::setChanges(Changes changes) {
  m_changes = std::move(changes);
  compute();
  if (!m_rows.empty()) {
    Q_EMIT dataChanged(index(0, kChange), index(rowCount() - 1, kChange));
  }
}

void FrontTable::compute() {
  for (std::size_t begin = 0; begin < m_rows.size();) {
    std::size_t end = begin;
    std::vector<workflow::FoundTopology> group;
    while (end < m_rows.size() && m_rows[end].topology.entry.nodes == m_rows[begin].topology.entry.nodes) {
      FrontRow& row = m_rows[end++];
      group.push_back(row.topology);
      row = {row.topology, {}, false, {}, {}, m_changes ? m_changes(row.topology) : std::nullopt};
    }
    try {
      for (std::size_t i = begin; i < end && !m_times.sizes.empty(); ++i) {
        if (const auto cost = workflow::costOf(m_rows[i].topology, m_times.collective)) {
          m_rows[i].time = finder::timeOf(*cost, m_times.model, m_times.sizes.front().bytes);
        }
      }
      if (const auto best = workflow::fastestFor(group, m_times)) {
        m_rows[begin + *best].isFastest = true;
      }
      const std::vector<finder::SizeRange> ranges =
          m_times.sizes.empty() ? std::vector<finder::SizeRange>() : workflow::fastestBySize(group, m_times);
      for (std::size_t i = 0; i < ranges.size(); ++i) {
        FrontRow& row = m_rows[begin + ranges[i].entry];
        row.fromBytes = ranges[i].fromBytes;
        row.toBytes = i + 1 < ranges.size() ? std::optional(ranges[i + 1].fromBytes) : std::nullopt;
      }
    } catch (const OverflowError&) {
      // Times beyond 64 bits are not shown.
    }
    begin = end;
  }
}

int FrontTable::fastestOf(int nodes) const {
  for (std::size_t i = 0; i < m_rows.size(); ++i) {
    if (m_rows[i].topology.entry.nodes == nodes && m_rows[i].isFastest) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

QString FrontTable::bestForText(const FrontRow& row) const {
  if (!row.time) {
    return tr("not known");
  }
  if (!row.fromBytes) {
    return u"–"_s;
  }
  if (row.fromBytes->isZero()) {
    return row.toBytes ? tr("up to %1").arg(rounded(*row.toBytes)) : tr("all sizes");
  }
  return row.toBytes ? tr("%1 to %2").arg(rounded(*row.fromBytes), rounded(*row.toBytes))
                     : tr("from %1").arg(rounded(*row.fromBytes));
}

QString FrontTable::breakPointsText(int nodes) const {
  std::vector<const FrontRow*> order;
  for (const FrontRow& row : m_rows) {
    if (row.topology.entry.nodes == nodes && row.fromBytes) {
      order.push_back(&row);
    }
  }
  std::sort(order.begin(), order.end(),
            [](const FrontRow* a, const FrontRow* b) { return *a->fromBytes < *b->fromBytes; });
  QStringList parts;
  for (const FrontRow* row : order) {
    QString range = row->fromBytes->isZero() && !row->toBytes ? tr("at all sizes") : bestForText(*row);
    if (row->toBytes) {
      range += u' ' + tr("(%1 bytes)").arg(exact(*row->toBytes));
    }
    parts << range + u": "_s + counted(row->topology.entry.steps, tr("step"), tr("steps"));
  }
  return parts.isEmpty() ? QString() : tr("Fastest %1.").arg(parts.join(u"; "_s));
}

int FrontTable::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int FrontTable::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

QVariant FrontTable::text(const FrontRow& row, int column) const {
  const finder::Entry& entry = row.topology.entry;
  switch (column) {
    case kNodes:
      return QString::number(entry.nodes);
    case kSteps:
      return QString::number(entry.steps);
    case kExact:
      return exact(entry.bandwidthTime);
    case kDecimal: {
      constexpr int kPlaces = 4;
      return decimal(entry.bandwidthTime, kPlaces);
    }
    case kAlltoall:
      return alltoallText(row.topology.alltoall);
    case kTime:
      return row.time ? microsecondsText(*row.time) : u"–"_s;
    case kBestFor:
      return bestForText(row);
    case kChange:
      return !row.change            ? u"–"_s
             : row.change->paysFrom ? tr("from %1").arg(counted(*row.change->paysFrom, tr("step"), tr("steps")))
                                    : tr("never");
    case kConstruction:
      return QString::fromStdString(finder::nameOf(*entry.construction)) +
             (entry.isDuplex ? QString() : u"  "_s + tr("(one-way links)"));
    case kGrowsTo: {
      QStringList sizes;
      for (const finder::Growth& growth : finder::growths(entry)) {
        if (growth.degree == entry.degree) {
          sizes << QString::number(growth.nodes);
        }
      }
      return sizes.isEmpty() ? u"–"_s : sizes.join(u", "_s);
    }
    default:
      return {};
  }
}

QString FrontTable::alltoallTip(const FrontRow& row) const {
  const auto& alltoall = row.topology.alltoall;
  const finder::Entry& entry = row.topology.entry;
  const QString least = tr("No topology with these ports takes less than %1")
                            .arg(exact(finder::leastMeanDistance(entry.nodes, entry.degree)));
  if (!alltoall) {
    return tr("Not computed at this size") + u'\n' + least;
  }
  if (!alltoall->reached) {
    return tr("At least %1, the mean distance of two GPUs; the routes of an all-to-all are not computed at this size")
               .arg(exact(alltoall->least)) +
           u'\n' + least;
  }
  return (alltoall->isExact() ? tr("Exactly %1 by the best routes").arg(exact(alltoall->least))
                              : tr("From %1 to %2").arg(exact(alltoall->least), exact(*alltoall->reached))) +
         u'\n' + least;
}

QString FrontTable::tip(const FrontRow& row, int column) const {
  const finder::Entry& entry = row.topology.entry;
  switch (column) {
    case kExact:
    case kDecimal: {
      QString text = tr("Bandwidth time of an allgather: %1 times what one GPU needs to send all data by all its links")
                         .arg(exact(entry.bandwidthTime));
      if (row.topology.reduceScatterTime) {
        text += u'\n' + tr("reduce_scatter: %1").arg(exact(*row.topology.reduceScatterTime));
      }
      text += u'\n' + (entry.isBandwidthOptimal()
                           ? tr("No topology of %1 GPUs needs less").arg(entry.nodes)
                           : tr("The minimum is %1").arg(exact(Rational(entry.nodes - 1, entry.nodes))));
      return text + u'\n' +
             (row.topology.isChecked ? tr("Checked against the schedule of the built fabric")
                                     : tr("Not checked against the built fabric, which is large"));
    }
    case kAlltoall:
      return alltoallTip(row);
    case kSteps: {
      const int min = finder::mooreSteps(entry.nodes, entry.degree);
      return entry.steps == min ? tr("No topology with these ports has fewer steps")
                                : tr("At least %1 are needed").arg(min);
    }
    case kTime:
      return row.time ? tr("Exactly %1 µs").arg(exact(row.time->count()))
                      : tr("The cost of this collective is not known");
    case kBestFor:
      return row.fromBytes ? tr("Fastest from %1 bytes").arg(exact(*row.fromBytes)) +
                                 (row.toBytes ? tr(" to %1 bytes").arg(exact(*row.toBytes)) : QString())
                           : QString();
    case kChange: {
      if (!row.change) {
        return {};
      }
      QString text = tr("A step takes %1 in place of %2, by its calls")
                         .arg(microsecondsText(row.change->changed), microsecondsText(row.change->present));
      if (row.change->gain) {
        const Rational gain = row.change->gain->count();
        text += u'\n' + (gain < Rational(0) ? tr("Over the job it loses %1") : tr("Over the job it gains %1"))
                            .arg(microsecondsText(ExactMicroseconds(gain < Rational(0) ? -gain : gain)));
      }
      return text;
    }
    case kGrowsTo: {
      QStringList lines;
      for (const finder::Growth& growth : finder::growths(entry)) {
        lines << tr("%1 GPUs with %2 ports each: %3")
                     .arg(growth.nodes)
                     .arg(growth.degree)
                     .arg(QString::fromStdString(growth.by));
      }
      return lines.join(u'\n');
    }
    case kConstruction:
      return text(row, column).toString();
    default:
      return {};
  }
}

QVariant FrontTable::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) {
    return {};
  }
  const FrontRow& row = m_rows[index.row()];
  const int column = index.column();
  switch (role) {
    case Qt::DisplayRole:
      return text(row, column);
    case Qt::ToolTipRole:
      return tip(row, column);
    case Qt::TextAlignmentRole:
      return column <= kTime ? QVariant(Qt::AlignRight | Qt::AlignVCenter) : QVariant(Qt::AlignLeft | Qt::AlignVCenter);
    case Qt::FontRole: {
      constexpr double kPixels = 12;
      const QFont::Weight weight = row.isFastest ? QFont::DemiBold : QFont::Normal;
      return column <= kTime ? figureFont(kPixels, weight) : uiFont(kPixels + 1, weight);
    }
    case Qt::ForegroundRole:
      return row.isFastest && column == kTime ? QVariant(Theme::instance().color(Token::accent)) : QVariant();
    default:
      return {};
  }
}

QVariant FrontTable::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) {
    return {};
  }
  if (role == Qt::TextAlignmentRole) {
    return section <= kTime ? QVariant(Qt::AlignRight | Qt::AlignVCenter) : QVariant(Qt::AlignLeft | Qt::AlignVCenter);
  }
  if (role == Qt::ToolTipRole) {
    switch (section) {
      case kSteps:
        return tr("Sequential steps of an allgather: the distance between the farthest two GPUs");
      case kExact:
      case kDecimal:
        return tr("Bandwidth time of allgather: the time of large data, in units of all data over all ports of a GPU");
      case kAlltoall:
        return tr("Bandwidth time of an all-to-all, in units of the buffer of a GPU over all its ports");
      case kChange:
        return tr("From how many steps of a job on a change from the present fabric saves more time than it takes");
      case kGrowsTo:
        return tr("Larger numbers of GPUs with the same ports that its line graphs reach");
      default:
        return {};
    }
  }
  if (role != Qt::DisplayRole) {
    return {};
  }
  switch (section) {
    case kNodes:
      return tr("GPUs");
    case kSteps:
      return tr("Steps");
    case kExact:
      return tr("Bandwidth time");
    case kDecimal:
      return tr("Decimal");
    case kAlltoall:
      return tr("All-to-all");
    case kTime:
      return m_times.sizes.empty() ? tr("Time") : tr("At %1").arg(roughBytes(m_times.sizes.front().bytes.toDouble()));
    case kBestFor:
      return tr("Best for");
    case kChange:
      return tr("A change pays");
    case kConstruction:
      return tr("Construction");
    default:
      return tr("Grows to");
  }
}

}  // namespace coppice::designer
