// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/trees/tree_model.hpp"

#include <algorithm>
#include <span>

#include "designer/document/counted.hpp"
#include "designer/document/figures.hpp"
#include "designer/theme/fonts.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr std::int64_t kBatch = 256;

std::size_t toSize(std::int64_t value) {
  return static_cast<std::size_t>(value);
}

bool isFigure(int column) {
  return column == TreeModel::kCopies || column == TreeModel::kHeight || column == TreeModel::kRate;
}

}  // namespace

TreeModel::TreeModel(QObject* parent) : QAbstractItemModel(parent) {}

void TreeModel::setResult(ScheduleResultPtr result) {
  beginResetModel();
  m_result = std::move(result);
  m_items.clear();
  m_top.clear();
  m_locked.clear();
  m_halves = {};
  if (m_result) {
    std::vector<int> halves;
    for (int half = 0; half < 2; ++half) {
      if (!m_result->readers[toSize(half)]) {
        continue;
      }
      halves.push_back(half);
      Half& each = m_halves[toSize(half)];
      each.reader = m_result->readers[toSize(half)];
      const int gpus = m_result->fabric->gpuCount();
      // Trees are grouped by root, ascending.
      each.firstTree.assign(toSize(gpus) + 1, 0);
      for (std::int64_t tree = 0; tree < each.reader->size(); ++tree) {
        ++each.firstTree[toSize(each.reader->head(tree).root) + 1];
      }
      for (std::size_t rank = 0; rank < toSize(gpus); ++rank) {
        each.firstTree[rank + 1] += each.firstTree[rank];
      }
    }
    const auto addRoots = [&](int half, int parentItem) {
      const std::vector<std::int64_t>& first = m_halves[toSize(half)].firstTree;
      for (std::size_t rank = 0; rank + 1 < first.size(); ++rank) {
        if (first[rank + 1] > first[rank]) {
          addItem(Level::root, parentItem, half, static_cast<std::int64_t>(rank));
        }
      }
    };
    if (halves.size() == 1) {
      addRoots(halves.front(), -1);
    } else {
      for (const int half : halves) {
        addItem(Level::half, -1, half, half);
      }
      for (const int half : halves) {
        addRoots(half, half);
      }
    }
  }
  endResetModel();
}

int TreeModel::addItem(Level level, int parentItem, int half, std::int64_t value) {
  const int id = static_cast<int>(m_items.size());
  std::vector<int>& siblings = parentItem < 0 ? m_top : m_items[toSize(parentItem)].children;
  Item item;
  item.level = level;
  item.parent = parentItem;
  item.row = static_cast<int>(siblings.size());
  item.half = half;
  item.value = value;
  siblings.push_back(id);
  m_items.push_back(std::move(item));
  return id;
}

const TreeModel::Item& TreeModel::at(const QModelIndex& index) const {
  return m_items[index.internalId()];
}

const schedule::Forest& TreeModel::forestOf(int half) const {
  return *m_result->forest(toSize(half));
}

schedule::TreeReader* TreeModel::readerOf(int half) const {
  std::optional<schedule::TreeReader>& reader = m_halves[toSize(half)].reader;
  return reader ? &*reader : nullptr;
}

std::int64_t TreeModel::childCount(const Item& item) const {
  const Half& half = m_halves[toSize(item.half)];
  switch (item.level) {
    case Level::half:
      return static_cast<std::int64_t>(item.children.size());
    case Level::root:
      return half.firstTree[toSize(item.value) + 1] - half.firstTree[toSize(item.value)];
    case Level::tree:
      return m_result->fabric->gpuCount() - 1;
    case Level::edge: {
      const Item& tree = m_items[toSize(item.parent)];
      const schedule::TreeReader::View view = half.reader->read(tree.value);
      return half.reader->hops(view.edges[toSize(item.value)]);
    }
    case Level::hop:
      return 0;
  }
  return 0;
}

QModelIndex TreeModel::index(int row, int column, const QModelIndex& parentIndex) const {
  if (!hasIndex(row, column, parentIndex)) {
    return {};
  }
  const std::vector<int>& children = parentIndex.isValid() ? at(parentIndex).children : m_top;
  return createIndex(row, column, static_cast<quintptr>(children[toSize(row)]));
}

QModelIndex TreeModel::parent(const QModelIndex& child) const {
  if (!child.isValid()) {
    return {};
  }
  const int parentItem = at(child).parent;
  return parentItem < 0 ? QModelIndex()
                        : createIndex(m_items[toSize(parentItem)].row, 0, static_cast<quintptr>(parentItem));
}

int TreeModel::rowCount(const QModelIndex& parentIndex) const {
  if (!parentIndex.isValid()) {
    return static_cast<int>(m_top.size());
  }
  return parentIndex.column() > 0 ? 0 : static_cast<int>(at(parentIndex).children.size());
}

int TreeModel::columnCount(const QModelIndex&) const {
  return kColumns;
}

bool TreeModel::hasChildren(const QModelIndex& parentIndex) const {
  if (!parentIndex.isValid()) {
    return !m_top.empty();
  }
  return parentIndex.column() == 0 && at(parentIndex).level != Level::hop;
}

bool TreeModel::canFetchMore(const QModelIndex& parentIndex) const {
  return parentIndex.isValid() && parentIndex.column() == 0 &&
         static_cast<std::int64_t>(at(parentIndex).children.size()) < childCount(at(parentIndex));
}

void TreeModel::fetchMore(const QModelIndex& parentIndex) {
  if (!canFetchMore(parentIndex)) {
    return;
  }
  const Item& item = at(parentIndex);
  const auto have = static_cast<std::int64_t>(item.children.size());
  const std::int64_t end = std::min(childCount(item), have + kBatch);
  const auto id = static_cast<int>(parentIndex.internalId());
  const Level below = item.level == Level::root ? Level::tree : item.level == Level::tree ? Level::edge : Level::hop;
  const std::int64_t base =
      item.level == Level::root ? m_halves[toSize(item.half)].firstTree[toSize(item.value)] : std::int64_t{0};
  const int half = item.half;
  beginInsertRows(parentIndex, static_cast<int>(have), static_cast<int>(end) - 1);
  for (std::int64_t child = have; child < end; ++child) {
    addItem(below, id, half, base + child);
  }
  endInsertRows();
}

QString TreeModel::nameOf(fabric::NodeIndex node) const {
  return QString::fromStdString(m_result->fabric->nodes()[toSize(node)].id);
}

QString TreeModel::gpuName(fabric::Rank rank) const {
  return nameOf(m_result->fabric->gpus()[toSize(rank)]);
}

std::optional<TreeRef> TreeModel::treeAt(const QModelIndex& index) const {
  if (!index.isValid()) {
    return std::nullopt;
  }
  const Item* item = &at(index);
  while (item->level > Level::tree) {
    item = &m_items[toSize(item->parent)];
  }
  return item->level == Level::tree ? std::optional(TreeRef{item->half, item->value}) : std::nullopt;
}

std::vector<TreeRef> TreeModel::treesAt(const QModelIndex& index, int max) const {
  std::vector<TreeRef> result;
  if (const auto tree = treeAt(index)) {
    result.push_back(*tree);
  } else if (index.isValid() && at(index).level == Level::root) {
    const Item& item = at(index);
    const std::int64_t first = m_halves[toSize(item.half)].firstTree[toSize(item.value)];
    for (std::int64_t i = 0; i < std::min<std::int64_t>(childCount(item), max); ++i) {
      result.push_back({item.half, first + i});
    }
  }
  return result;
}

std::pair<QString, QString> TreeModel::endsAt(const QModelIndex& index) const {
  if (!index.isValid() || at(index).level < Level::edge) {
    return {};
  }
  const Item& item = at(index);
  const Item& edgeItem = item.level == Level::hop ? m_items[toSize(item.parent)] : item;
  const Item& tree = m_items[toSize(edgeItem.parent)];
  schedule::TreeReader& reader = *m_halves[toSize(item.half)].reader;
  const schedule::TreeReader::View view = reader.read(tree.value);
  const std::span<const fabric::NodeIndex> path = reader.path(view.edges[toSize(edgeItem.value)]);
  return item.level == Level::hop ? std::pair(nameOf(path[toSize(item.value)]), nameOf(path[toSize(item.value) + 1]))
                                  : std::pair(nameOf(path.front()), nameOf(path.back()));
}

std::optional<EdgeRef> TreeModel::edgeAt(const QModelIndex& index) const {
  if (!index.isValid() || at(index).level < Level::edge) {
    return std::nullopt;
  }
  const Item& item = at(index);
  const Item& edgeItem = item.level == Level::hop ? m_items[toSize(item.parent)] : item;
  const Item& tree = m_items[toSize(edgeItem.parent)];
  const schedule::TreeReader::View view = m_halves[toSize(item.half)].reader->read(tree.value);
  return EdgeRef{{item.half, tree.value}, view.edges[toSize(edgeItem.value)].child};
}

void TreeModel::setLocked(const TreeRef& tree, bool isLocked) {
  const bool isChanged = isLocked ? m_locked.insert(tree).second : m_locked.erase(tree) > 0;
  if (!isChanged) {
    return;
  }
  for (std::size_t i = 0; i < m_items.size(); ++i) {
    const Item& item = m_items[i];
    if (item.level == Level::tree && TreeRef{item.half, item.value} == tree) {
      const QModelIndex row = createIndex(item.row, kLock, static_cast<quintptr>(i));
      Q_EMIT dataChanged(row, row, {Qt::CheckStateRole});
    }
  }
  Q_EMIT locksChanged();
}

Qt::ItemFlags TreeModel::flags(const QModelIndex& index) const {
  const bool isLock = index.isValid() && index.column() == kLock && at(index).level == Level::tree;
  return QAbstractItemModel::flags(index) | (isLock ? Qt::ItemIsUserCheckable : Qt::NoItemFlags);
}

bool TreeModel::setData(const QModelIndex& index, const QVariant& value, int role) {
  if (role != Qt::CheckStateRole || !flags(index).testFlag(Qt::ItemIsUserCheckable)) {
    return false;
  }
  setLocked({at(index).half, at(index).value}, value.toInt() == Qt::Checked);
  return true;
}

QString TreeModel::titleOf(const TreeRef& tree) const {
  const Half& half = m_halves[toSize(tree.half)];
  const fabric::Rank root = half.reader->head(tree.tree).root;
  const std::int64_t first = half.firstTree[toSize(root)];
  const QString name = gpuName(root);
  return half.firstTree[toSize(root) + 1] - first == 1 ? name
                                                       : name + u" · "_s + tr("tree %1").arg(tree.tree - first + 1);
}

int TreeModel::heightOf(const Item& tree) const {
  if (tree.height < 0) {
    schedule::TreeReader& reader = *m_halves[toSize(tree.half)].reader;
    const schedule::TreeReader::View view = reader.read(tree.value);
    // Parents stand before their children.
    std::vector<int> depth(toSize(m_result->fabric->gpuCount()), 0);
    int max = 0;
    for (const schedule::TreeEdge& edge : view.edges) {
      depth[toSize(edge.child)] = depth[toSize(edge.parent)] + 1;
      max = std::max(max, depth[toSize(edge.child)]);
    }
    tree.height = max;
  }
  return tree.height;
}

QString TreeModel::text(const Item& item, int column) const {
  const Half& half = m_halves[toSize(item.half)];
  const schedule::Forest& forest = forestOf(item.half);
  switch (item.level) {
    case Level::half:
      if (column == kName) {
        if (m_result->isOverlapped()) {
          return item.half == 0 ? tr("Sums go to their roots") : tr("At the same time results go to all");
        }
        return item.half == 0 ? tr("First half: sums go to their roots") : tr("Second half: results go to all");
      }
      if (column == kCopies) {
        return QString::number(forest.treeCount());
      }
      return column == kRate ? decimal(forest.algbw()) : QString();
    case Level::root: {
      const std::int64_t trees = forest.treesOfRoot[toSize(item.value)];
      switch (column) {
        case kName:
          return gpuName(static_cast<fabric::Rank>(item.value));
        case kCopies:
          return QString::number(trees);
        case kRate:
          return decimal(Rational(trees) / forest.scale);
        case kVia:
          return tr("rank %1, ").arg(item.value) +
                 counted(static_cast<qsizetype>(childCount(item)), tr("distinct tree"), tr("distinct trees"));
        default:
          return {};
      }
    }
    case Level::tree: {
      const schedule::TreeReader::View head = half.reader->head(item.value);
      switch (column) {
        case kName:
          return tr("tree %1").arg(item.value - half.firstTree[toSize(head.root)] + 1);
        case kCopies:
          return QString::number(head.multiplicity);
        case kHeight:
          return QString::number(heightOf(item));
        case kRate:
          return decimal(Rational(head.multiplicity) / forest.scale);
        default:
          return {};
      }
    }
    case Level::edge: {
      const Item& tree = m_items[toSize(item.parent)];
      const schedule::TreeReader::View view = half.reader->read(tree.value);
      const schedule::TreeEdge edge = view.edges[toSize(item.value)];
      if (column == kName) {
        const auto path = half.reader->path(edge);
        return nameOf(path.front()) + u" → "_s + nameOf(path.back());
      }
      if (column == kHeight) {
        return QString::number(half.reader->hops(edge));
      }
      if (column == kVia) {
        const auto path = half.reader->path(edge);
        QString via;
        for (std::size_t i = 1; i + 1 < path.size(); ++i) {
          via += (via.isEmpty() ? QString() : u", "_s) + nameOf(path[i]);
        }
        QString result = via.isEmpty() ? tr("directly") : tr("via %1").arg(via);
        if (edge.pruned > 0) {
          const QString saved = counted(edge.pruned, tr("hop"), tr("hops"));
          result +=
              u' ' + (item.half == 0 ? tr("(%1 saved by aggregation)") : tr("(%1 saved by multicast)")).arg(saved);
        }
        return result;
      }
      return {};
    }
    case Level::hop: {
      const Item& edgeItem = m_items[toSize(item.parent)];
      const Item& tree = m_items[toSize(edgeItem.parent)];
      const schedule::TreeReader::View view = half.reader->read(tree.value);
      const auto path = half.reader->path(view.edges[toSize(edgeItem.value)]);
      const fabric::NodeIndex tail = path[toSize(item.value)];
      const fabric::NodeIndex head = path[toSize(item.value) + 1];
      if (column == kName) {
        return nameOf(tail) + u" → "_s + nameOf(head);
      }
      if (column == kVia) {
        const auto arc = m_result->fabric->findArc(tail, head);
        return arc ? tr("link of %1").arg(gigabytes(m_result->fabric->arcs()[toSize(*arc)].bandwidth)) : QString();
      }
      return {};
    }
  }
  return {};
}

QVariant TreeModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || !m_result) {
    return {};
  }
  const Item& item = at(index);
  switch (role) {
    case Qt::DisplayRole:
      // Apart from the figures before it, which stand at their right edge.
      return (index.column() == kVia ? u"\u2003"_s : QString()) + text(item, index.column());
    case Qt::ToolTipRole:
      if (index.column() == kRate && item.level <= Level::tree) {
        return tr("GB/s of the collective that these trees carry");
      }
      if (index.column() == kHeight) {
        return item.level == Level::edge ? tr("Links of the route") : tr("GPU-to-GPU hops to the farthest leaf");
      }
      if (index.column() == kLock && item.level == Level::tree) {
        return tr("Stays when the rest is generated around locked trees");
      }
      return text(item, index.column());
    case Qt::TextAlignmentRole:
      return isFigure(index.column()) ? QVariant(Qt::AlignRight | Qt::AlignVCenter)
                                      : QVariant(Qt::AlignLeft | Qt::AlignVCenter);
    case Qt::FontRole:
      return isFigure(index.column()) ? QVariant(figureFont()) : QVariant();
    case kLevelRole:
      return static_cast<int>(item.level);
    case Qt::CheckStateRole:
      if (index.column() != kLock || item.level != Level::tree) {
        return {};
      }
      return m_locked.contains({item.half, item.value}) ? Qt::Checked : Qt::Unchecked;
    default:
      return {};
  }
}

QVariant TreeModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) {
    return {};
  }
  if (role == Qt::TextAlignmentRole) {
    return isFigure(section) ? QVariant(Qt::AlignRight | Qt::AlignVCenter) : QVariant(Qt::AlignLeft | Qt::AlignVCenter);
  }
  if (role != Qt::DisplayRole) {
    return {};
  }
  switch (section) {
    case kName:
      return tr("Root, tree, edge, hop");
    case kCopies:
      return tr("Trees");
    case kHeight:
      return tr("Height");
    case kRate:
      return tr("GB/s");
    case kLock:
      return tr("Lock");
    case kVia:
      return u"\u2003"_s + tr("Route");
    default:
      return {};
  }
}

}  // namespace coppice::designer
