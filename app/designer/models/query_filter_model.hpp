// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QSortFilterProxyModel>
#include <functional>

#include "designer/models/query.hpp"

namespace coppice::designer {

/// A sorted table of elements that shows only those a query matches.
class QueryFilterModel : public QSortFilterProxyModel {
  Q_OBJECT

public:
  using Context = std::function<QueryContext()>;

  using QSortFilterProxyModel::QSortFilterProxyModel;
  /// @param context asked again whenever the filter runs; empty = everything is shown
  void setQuery(Query query, Context context);

protected:
  [[nodiscard]] bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

private:
  Query m_query;
  Context m_context;
};

}  // namespace coppice::designer
