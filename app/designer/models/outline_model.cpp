// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/models/outline_model.hpp"

#include <algorithm>

#include "designer/document/counted.hpp"
#include "designer/document/edits.hpp"
#include "designer/document/error_text.hpp"

namespace coppice::designer {
namespace {

constexpr unsigned kBoxFlag = 0x80000000U;

/// An index knows its element by this; ids of elements stay below the flag.
quintptr keyOf(const ElementId& id) {
  return id.value | (id.kind == ElementKind::box ? kBoxFlag : 0U);
}

template <typename Element>
int rowIn(const std::vector<Id<Element>>& list, Id<Element> id) {
  const auto at = std::lower_bound(list.begin(), list.end(), id);
  return at != list.end() && *at == id ? static_cast<int>(at - list.begin()) : -1;
}

}  // namespace

OutlineModel::OutlineModel(Document& document, QObject* parent) : QAbstractItemModel(parent), m_document(document) {
  connect(&document, &Document::changed, this, &OutlineModel::follow);
}

void OutlineModel::follow(const ChangeEvent& event) {
  if (event.isReset || event.aspects.testFlag(Aspect::structure)) {
    beginResetModel();
    endResetModel();
    return;
  }
  for (const NodeId id : event.nodes.changed) {
    Q_EMIT dataChanged(indexOf(id), indexOf(id, kDetail));
  }
  for (const BoxId id : event.boxes.changed) {
    Q_EMIT dataChanged(indexOf(id), indexOf(id, kDetail));
  }
}

ElementId OutlineModel::elementAt(const QModelIndex& index) const {
  if (!index.isValid()) {
    return {};
  }
  const auto key = static_cast<std::uint32_t>(index.internalId());
  return (key & kBoxFlag) != 0 ? ElementId(BoxId{key & ~kBoxFlag}) : ElementId(NodeId{key});
}

QModelIndex OutlineModel::index(int row, int column, const QModelIndex& parent) const {
  if (row < 0 || column < 0 || column >= kColumns || (parent.isValid() && parent.column() != kName)) {
    return {};
  }
  const ElementId owner = elementAt(parent);
  if (owner.isValid() && owner.kind != ElementKind::box) {
    return {};
  }
  const auto& boxes = m_document.model().boxesIn(owner.box());
  const auto& nodes = m_document.model().nodesIn(owner.box());
  const auto at = static_cast<std::size_t>(row);
  if (at < boxes.size()) {
    return createIndex(row, column, keyOf(boxes[at]));
  }
  if (at < boxes.size() + nodes.size()) {
    return createIndex(row, column, keyOf(nodes[at - boxes.size()]));
  }
  return {};
}

QModelIndex OutlineModel::indexOf(const ElementId& id, int column) const {
  const Model& model = m_document.model();
  if (const Node* node = model.find(id.node())) {
    const int row = rowIn(model.nodesIn(node->facts.box), id.node());
    return createIndex(row + static_cast<int>(model.boxesIn(node->facts.box).size()), column, keyOf(id));
  }
  if (const Box* box = model.find(id.box())) {
    return createIndex(rowIn(model.boxesIn(box->parent), id.box()), column, keyOf(id));
  }
  return {};
}

QModelIndex OutlineModel::parent(const QModelIndex& index) const {
  const ElementId id = elementAt(index);
  const Model& model = m_document.model();
  if (const Node* node = model.find(id.node())) {
    return indexOf(node->facts.box);
  }
  const Box* box = model.find(id.box());
  return box != nullptr ? indexOf(box->parent) : QModelIndex();
}

int OutlineModel::rowCount(const QModelIndex& parent) const {
  const ElementId owner = elementAt(parent);
  if (parent.isValid() && (owner.kind != ElementKind::box || parent.column() != kName)) {
    return 0;
  }
  const Model& model = m_document.model();
  return static_cast<int>(model.boxesIn(owner.box()).size() + model.nodesIn(owner.box()).size());
}

int OutlineModel::columnCount(const QModelIndex&) const {
  return kColumns;
}

QString OutlineModel::detailOf(const ElementId& id) const {
  const Model& model = m_document.model();
  if (const Node* node = model.find(id.node())) {
    const QString links = counted(static_cast<qsizetype>(model.linksOf(id.node()).size()), tr("link"), tr("links"));
    return node->facts.rank ? tr("rank %1 · %2").arg(*node->facts.rank).arg(links) : links;
  }
  int gpus = 0;
  int others = 0;
  for (const NodeId inner : model.allNodesIn(id.box())) {
    ++(model.find(inner)->kind() == fabric::NodeKind::gpu ? gpus : others);
  }
  return gpus > 0 ? counted(gpus, tr("GPU"), tr("GPUs")) : counted(others, tr("node"), tr("nodes"));
}

QVariant OutlineModel::data(const QModelIndex& index, int role) const {
  const ElementId id = elementAt(index);
  if (!m_document.model().contains(id)) {
    return {};
  }
  if (role == kElementRole) {
    return QVariant::fromValue(id);
  }
  if (role == Qt::DisplayRole || role == Qt::EditRole) {
    return index.column() == kName ? m_document.model().title(id) : detailOf(id);
  }
  if (role == Qt::TextAlignmentRole && index.column() == kDetail) {
    return QVariant::fromValue<Qt::Alignment>(Qt::AlignRight | Qt::AlignVCenter);
  }
  return {};
}

Qt::ItemFlags OutlineModel::flags(const QModelIndex& index) const {
  Qt::ItemFlags flags = QAbstractItemModel::flags(index);
  return index.isValid() && index.column() == kName ? flags | Qt::ItemIsEditable : flags;
}

bool OutlineModel::setData(const QModelIndex& index, const QVariant& value, int role) {
  const ElementId id = elementAt(index);
  if (role != Qt::EditRole || !m_document.model().contains(id)) {
    return false;
  }
  Outcome outcome = Done{};
  m_document.edit(tr("Rename"),
                  [&](Edit& edit) { outcome = edits::rename(edit, id, value.toString().trimmed().toStdString()); });
  if (!outcome) {
    Q_EMIT refused(errorText(outcome.error()));
  }
  return static_cast<bool>(outcome);
}

}  // namespace coppice::designer
