// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "designer/document/followed.hpp"
#include "designer/features/elements/context_menus.hpp"
#include "designer/workspace/feature.hpp"

class QModelIndex;
class QTableView;
class QTreeView;

namespace coppice::designer {

class FilterTable;
class PropertiesPanel;

/// The elements of the current document in lists: outline, tables and properties, with their context menus. What is
/// selected in one is selected in all.
class ElementsFeature : public Feature {
  Q_OBJECT

public:
  explicit ElementsFeature(const FeatureHost& host);

private:
  [[nodiscard]] QTableView* makeTable(const QString& name, const QString& title);
  void addActions();
  void addDocks(const FeatureHost& host);
  void connectViews();
  void follow();
  void followOutline(EditorContext& context);
  void followTable(QTableView& view, EditorContext& context);
  /// Shows the selection of the document in the views.
  void showSelection();
  void selectInOutline(EditorContext& context, bool isSmall);

  ContextMenus m_menus;
  QTreeView* m_outline;
  QTableView* m_nodes;
  QTableView* m_links;
  QTableView* m_problems;
  FilterTable* m_nodesPane;
  FilterTable* m_linksPane;
  FilterTable* m_problemsPane;
  PropertiesPanel* m_properties;
  Followed m_followed;  ///< connections to the current document
  bool m_isSelecting = false;
};

}  // namespace coppice::designer
