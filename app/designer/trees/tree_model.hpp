// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAbstractItemModel>
#include <QString>
#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "designer/schedules/schedule_result.hpp"

namespace coppice::designer {

/// A tree of a schedule: half 0 = the reduce forest, 1 = the broadcast forest; the index is that of a TreeReader.
struct TreeRef {
  int half = 1;
  std::int64_t tree = 0;

  friend auto operator<=>(const TreeRef&, const TreeRef&) = default;
};

/// An edge of a tree, by its child.
struct EdgeRef {
  TreeRef tree;
  fabric::Rank child = 0;
};

/// Halves (of an allreduce) → roots → trees → edges → hops of the physical route. Nothing is read before it is
/// unfolded or shown, and children come in batches, so that forests of any size open at once.
class TreeModel : public QAbstractItemModel {
  Q_OBJECT

public:
  enum Column { kName, kCopies, kHeight, kRate, kLock, kVia, kColumns };
  enum class Level { half, root, tree, edge, hop };
  static constexpr int kLevelRole = Qt::UserRole + 10;  ///< int of Level

  explicit TreeModel(QObject* parent = nullptr);

  void setResult(ScheduleResultPtr result);
  [[nodiscard]] const ScheduleResultPtr& result() const { return m_result; }
  /// The tree of the row: itself, or the one it lies in. nullopt for halves and roots.
  [[nodiscard]] std::optional<TreeRef> treeAt(const QModelIndex& index) const;
  /// The trees of the row: of a root all of its own, at most `max`.
  [[nodiscard]] std::vector<TreeRef> treesAt(const QModelIndex& index, int max) const;
  /// Names of the two GPUs or of the ends of the link; empty names for other rows.
  [[nodiscard]] std::pair<QString, QString> endsAt(const QModelIndex& index) const;
  /// Of an edge's row or one of its hops; nullopt for others.
  [[nodiscard]] std::optional<EdgeRef> edgeAt(const QModelIndex& index) const;
  /// Trees that stay while others are generated around them; a new result has none.
  [[nodiscard]] const std::set<TreeRef>& locked() const { return m_locked; }
  void setLocked(const TreeRef& tree, bool isLocked);
  /// "b0g0 · tree 2"
  [[nodiscard]] QString titleOf(const TreeRef& tree) const;
  /// Reads one tree; the view is valid until the next is read. nullptr if there is no such tree.
  schedule::TreeReader* readerOf(int half) const;

  [[nodiscard]] QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
  [[nodiscard]] QModelIndex parent(const QModelIndex& index) const override;
  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] bool hasChildren(const QModelIndex& parent = {}) const override;
  [[nodiscard]] bool canFetchMore(const QModelIndex& parent) const override;
  void fetchMore(const QModelIndex& parent) override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  [[nodiscard]] Qt::ItemFlags flags(const QModelIndex& index) const override;
  bool setData(const QModelIndex& index, const QVariant& value, int role) override;

Q_SIGNALS:
  void locksChanged();

private:
  /// A row that has been shown.
  struct Item {
    Level level = Level::half;
    int parent = -1;
    int row = 0;
    int half = 1;
    std::int64_t value = 0;  ///< half; rank of a root; tree; edge of its tree; hop of its edge
    mutable int height = -1;
    std::vector<int> children = {};
  };
  struct Half {
    /// By rank: its first tree; one more at the end.
    std::vector<std::int64_t> firstTree;
    mutable std::optional<schedule::TreeReader> reader;
  };

  [[nodiscard]] const Item& at(const QModelIndex& index) const;
  [[nodiscard]] std::int64_t childCount(const Item& item) const;
  int addItem(Level level, int parent, int half, std::int64_t value);
  [[nodiscard]] QString nameOf(fabric::NodeIndex node) const;
  [[nodiscard]] QString gpuName(fabric::Rank rank) const;
  [[nodiscard]] QString text(const Item& item, int column) const;
  [[nodiscard]] int heightOf(const Item& tree) const;
  [[nodiscard]] const schedule::Forest& forestOf(int half) const;

  ScheduleResultPtr m_result;
  std::array<Half, 2> m_halves;
  std::deque<Item> m_items;
  std::vector<int> m_top;
  std::set<TreeRef> m_locked;
};

}  // namespace coppice::designer
