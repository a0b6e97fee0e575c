// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/models/node_table_model.hpp"

#include <vector>

#include "designer/document/edits.hpp"
#include "designer/document/error_text.hpp"

namespace coppice::designer {

NodeTableModel::NodeTableModel(Document& document, QObject* parent)
    : ElementTableModel(document, &Model::nodes, &ChangeEvent::nodes, parent) {}

int NodeTableModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

bool NodeTableModel::touchesAll(const ChangeEvent& event) const {
  // Paths of boxes, and how many links a node has.
  return !event.boxes.changed.empty() || !event.links.isEmpty();
}

QVariant NodeTableModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation == Qt::Horizontal && role == Qt::TextAlignmentRole) {
    return QVariant::fromValue<Qt::Alignment>(
        (section == kRank || section == kLinks || section >= kX ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  }
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) {
    return {};
  }
  switch (section) {
    case kName:
      return tr("Name");
    case kKind:
      return tr("Kind");
    case kBox:
      return tr("Box");
    case kRank:
      return tr("Rank");
    case kLinks:
      return tr("Links");
    case kMulticast:
      return tr("Multicast");
    case kAggregation:
      return tr("Aggregation");
    case kX:
      return tr("x");
    case kY:
      return tr("y");
    default:
      return {};
  }
}

Qt::ItemFlags NodeTableModel::flags(const QModelIndex& index) const {
  Qt::ItemFlags flags = ElementTableModel::flags(index);
  if (index.column() == kMulticast || index.column() == kAggregation) {
    flags |= Qt::ItemIsUserCheckable;
  } else if (index.isValid() && index.column() != kLinks && index.column() != kBox) {
    flags |= Qt::ItemIsEditable;
  }
  return flags;
}

QVariant NodeTableModel::data(const QModelIndex& index, int role) const {
  const Node* node = elementAt(index);
  if (node == nullptr) {
    return {};
  }
  const NodeId id = idAt(index.row());
  if (role == kElementRole) {
    return QVariant::fromValue(ElementId(id));
  }
  if (role == Qt::CheckStateRole && index.column() == kMulticast) {
    return node->facts.multicast ? Qt::Checked : Qt::Unchecked;
  }
  if (role == Qt::CheckStateRole && index.column() == kAggregation) {
    return node->facts.aggregation ? Qt::Checked : Qt::Unchecked;
  }
  if (role == Qt::TextAlignmentRole) {
    const bool isNumber =
        index.column() == kRank || index.column() == kLinks || index.column() == kX || index.column() == kY;
    return QVariant::fromValue<Qt::Alignment>((isNumber ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  }
  if (role != Qt::DisplayRole && role != Qt::EditRole && role != kSortRole) {
    return {};
  }
  switch (index.column()) {
    case kName:
      return QString::fromStdString(node->facts.name);
    case kKind:
      return QString::fromStdString(node->facts.kind);
    case kBox:
      return QString::fromStdString(document().model().boxPath(node->facts.box));
    case kRank:
      return node->facts.rank ? QVariant(*node->facts.rank) : QVariant(QString());
    case kLinks:
      return static_cast<int>(document().model().linksOf(id).size());
    case kMulticast:
      return role == kSortRole ? QVariant(node->facts.multicast) : QVariant();
    case kAggregation:
      return role == kSortRole ? QVariant(node->facts.aggregation) : QVariant();
    case kX:
      return node->drawing.position.x;
    case kY:
      return node->drawing.position.y;
    default:
      return {};
  }
}

bool NodeTableModel::setData(const QModelIndex& index, const QVariant& value, int role) {
  const Node* node = elementAt(index);
  if (node == nullptr || (role != Qt::EditRole && role != Qt::CheckStateRole)) {
    return false;
  }
  const NodeId id = idAt(index.row());
  const std::string text = value.toString().trimmed().toStdString();
  const auto change = [&](const QString& what, const std::function<void(Node&)>& apply) {
    document().edit(what, [&](Edit& edit) { edits::changeNodes(edit, std::vector{id}, apply); });
    return true;
  };
  switch (index.column()) {
    case kName: {
      Outcome outcome = Done{};
      document().edit(tr("Rename"), [&](Edit& edit) { outcome = edits::rename(edit, id, text); });
      if (!outcome) {
        Q_EMIT refused(errorText(outcome.error()));
      }
      return static_cast<bool>(outcome);
    }
    case kKind:
      if (!fabric::parseNodeKind(text)) {
        Q_EMIT refused(tr("\"%1\" is not a kind of node. Use gpu, nic or switch.").arg(QString::fromStdString(text)));
        return false;
      }
      return change(tr("Set kind"), [&](Node& changed) { changed.facts.kind = text; });
    case kRank: {
      bool isNumber = false;
      const int rank = value.toInt(&isNumber);
      if (!text.empty() && (!isNumber || rank < 0)) {
        Q_EMIT refused(tr("A rank is a whole number from 0, or empty"));
        return false;
      }
      return change(tr("Set rank"),
                    [&](Node& changed) { changed.facts.rank = text.empty() ? std::nullopt : std::optional(rank); });
    }
    case kMulticast:
      return change(tr("Set multicast"), [&](Node& changed) { changed.facts.multicast = value.toBool(); });
    case kAggregation:
      return change(tr("Set aggregation"), [&](Node& changed) { changed.facts.aggregation = value.toBool(); });
    case kX:
    case kY: {
      bool isNumber = false;
      const double number = value.toDouble(&isNumber);
      if (!isNumber) {
        return false;
      }
      Point to = node->drawing.position;
      (index.column() == kX ? to.x : to.y) = number;
      document().edit(tr("Move"), [&](Edit& edit) { edits::place(edit, {{id, to}}, true); });
      return true;
    }
    default:
      return false;
  }
}

}  // namespace coppice::designer
