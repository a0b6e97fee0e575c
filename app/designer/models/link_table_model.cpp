// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/models/link_table_model.hpp"

#include <optional>
#include <vector>

#include "base/checked.hpp"
#include "base/units.hpp"
#include "designer/document/edits.hpp"
#include "designer/document/error_text.hpp"

namespace coppice::designer {
namespace {

std::optional<Rational> totalOf(const Link& link) {
  const auto bandwidth = Bandwidth::parse(link.bandwidth);
  if (!bandwidth) {
    return std::nullopt;
  }
  try {
    return bandwidth->gigabytesPerSecond() * Rational(link.count);
  } catch (const OverflowError&) {
    return std::nullopt;
  }
}

}  // namespace

LinkTableModel::LinkTableModel(Document& document, QObject* parent)
    : ElementTableModel(document, &Model::links, &ChangeEvent::links, parent) {}

int LinkTableModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

bool LinkTableModel::touchesAll(const ChangeEvent& event) const {
  return event.aspects.testFlag(Aspect::names);
}

QVariant LinkTableModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation == Qt::Horizontal && role == Qt::TextAlignmentRole) {
    return QVariant::fromValue<Qt::Alignment>((section >= kBandwidth ? Qt::AlignRight : Qt::AlignLeft) |
                                              Qt::AlignVCenter);
  }
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) {
    return {};
  }
  switch (section) {
    case kTail:
      return tr("From");
    case kDirection:
      return tr("Both ways");
    case kHead:
      return tr("To");
    case kBandwidth:
      return tr("GB/s per direction");
    case kCount:
      return tr("Parallel");
    case kTotal:
      return tr("Together");
    case kLatency:
      return tr("Latency, µs");
    default:
      return {};
  }
}

Qt::ItemFlags LinkTableModel::flags(const QModelIndex& index) const {
  Qt::ItemFlags flags = ElementTableModel::flags(index);
  if (index.column() == kDirection) {
    flags |= Qt::ItemIsUserCheckable;
  } else if (index.column() == kBandwidth || index.column() == kCount || index.column() == kLatency) {
    flags |= Qt::ItemIsEditable;
  }
  return flags;
}

QVariant LinkTableModel::data(const QModelIndex& index, int role) const {
  const Link* link = elementAt(index);
  if (link == nullptr) {
    return {};
  }
  if (role == kElementRole) {
    return QVariant::fromValue(ElementId(idAt(index.row())));
  }
  if (role == Qt::CheckStateRole && index.column() == kDirection) {
    return link->duplex ? Qt::Checked : Qt::Unchecked;
  }
  if (role == Qt::TextAlignmentRole) {
    const bool isNumber = index.column() >= kBandwidth;
    return QVariant::fromValue<Qt::Alignment>((isNumber ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  }
  if (role != Qt::DisplayRole && role != Qt::EditRole && role != kSortRole) {
    return {};
  }
  switch (index.column()) {
    case kTail:
      return QString::fromStdString(document().model().nameOf(link->tail));
    case kDirection:
      return role == kSortRole ? QVariant(link->duplex) : QVariant();
    case kHead:
      return QString::fromStdString(document().model().nameOf(link->head));
    case kBandwidth:
      if (role == kSortRole) {
        const auto bandwidth = Bandwidth::parse(link->bandwidth);
        return bandwidth ? toGBps(*bandwidth) : -1.0;
      }
      return QString::fromStdString(link->bandwidth);
    case kCount:
      return link->count;
    case kTotal: {
      const auto total = totalOf(*link);
      if (role == kSortRole) {
        return total ? total->toDouble() : -1.0;
      }
      return total ? QString::fromStdString(toExactText(*total)) : tr("?");
    }
    case kLatency:
      return QString::fromStdString(link->latency.value_or(""));
    default:
      return {};
  }
}

bool LinkTableModel::setData(const QModelIndex& index, const QVariant& value, int role) {
  const Link* link = elementAt(index);
  if (link == nullptr || (role != Qt::EditRole && role != Qt::CheckStateRole)) {
    return false;
  }
  const LinkId id = idAt(index.row());
  const std::string text = value.toString().trimmed().toStdString();
  const auto change = [&](const QString& what, const std::function<void(Link&)>& apply) {
    document().edit(what, [&](Edit& edit) { edits::changeLinks(edit, std::vector{id}, apply); });
    return true;
  };
  switch (index.column()) {
    case kDirection:
      return change(tr("Set direction"), [&](Link& changed) { changed.duplex = value.toBool(); });
    case kBandwidth: {
      const auto bandwidth = Bandwidth::parse(text);
      if (!bandwidth || !bandwidth->isPositive()) {
        Q_EMIT refused(bandwidth ? tr("A bandwidth must be above 0") : errorText(bandwidth.error()));
        return false;
      }
      return change(tr("Set bandwidth"), [&](Link& changed) { changed.bandwidth = text; });
    }
    case kCount: {
      bool isNumber = false;
      const int count = value.toInt(&isNumber);
      if (!isNumber || count < 1) {
        Q_EMIT refused(tr("The number of parallel links is a whole number from 1"));
        return false;
      }
      return change(tr("Set parallel links"), [&](Link& changed) { changed.count = count; });
    }
    case kLatency: {
      const auto latency = Rational::parse(text);
      if (!text.empty() && (!latency || *latency < Rational(0))) {
        Q_EMIT refused(tr("A latency is a number of microseconds from 0, or empty"));
        return false;
      }
      return change(tr("Set latency"),
                    [&](Link& changed) { changed.latency = text.empty() ? std::nullopt : std::optional(text); });
    }
    default:
      return false;
  }
}

}  // namespace coppice::designer
