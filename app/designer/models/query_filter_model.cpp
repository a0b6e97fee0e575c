// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/models/query_filter_model.hpp"

#include <utility>

#include "designer/models/element_table_model.hpp"

namespace coppice::designer {

void QueryFilterModel::setQuery(Query query, Context context) {
  m_query = std::move(query);
  m_context = std::move(context);
  invalidateFilter();
}

bool QueryFilterModel::filterAcceptsRow(int row, const QModelIndex& parent) const {
  if (m_query.isEmpty() || !m_context) {
    return true;
  }
  const QModelIndex index = sourceModel()->index(row, 0, parent);
  return m_query.matches(m_context(), index.data(kElementRole).value<ElementId>());
}

}  // namespace coppice::designer
