// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSortFilterProxyModel>
#include <QStackedWidget>
#include <QTreeView>
#include <QWidget>
#include <optional>
#include <vector>

#include "designer/trees/tree_model.hpp"

namespace coppice::designer {

/// The browser of trees: roots, trees, edges, routes. Says which trees are chosen and which one the pointer is on.
class TreePanel : public QWidget {
  Q_OBJECT

public:
  explicit TreePanel(QWidget* parent = nullptr);

  void setResult(ScheduleResultPtr result);
  [[nodiscard]] TreeModel& model() { return m_model; }
  [[nodiscard]] QTreeView& view() { return *m_view; }
  /// In the order of the rows, at most maxTrees().
  [[nodiscard]] std::vector<TreeRef> chosenTrees() const;
  /// Of the current row.
  [[nodiscard]] std::optional<EdgeRef> chosenEdge() const;
  /// More are not drawn at once.
  [[nodiscard]] static int maxTrees() { return 16; }
  /// Chooses the first tree of the rank, unfolded.
  void showRoot(fabric::Rank rank);
  /// Chooses that tree.
  void showTree(const TreeRef& tree);
  void clearChoice();

Q_SIGNALS:
  void chosenChanged();
  /// The tree under the pointer.
  void hovered(const std::optional<coppice::designer::TreeRef>& tree);
  void generateWanted();
  /// Double click on an edge or a hop: the names of its two ends.
  void endsActivated(const QString& tail, const QString& head);

protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

private:
  void refresh();
  /// The row of the root with trees in that half, or in any where it is negative; invalid: there is none.
  [[nodiscard]] QModelIndex rootRow(int half, fabric::Rank rank) const;
  /// Chooses the n-th tree of a root's row.
  void showTreeAt(const QModelIndex& root, int row);

  TreeModel m_model;
  QSortFilterProxyModel* m_filter;
  QStackedWidget* m_pages;
  QPushButton* m_generate;
  QLineEdit* m_search;
  QLabel* m_state;
  QTreeView* m_view;
};

}  // namespace coppice::designer
