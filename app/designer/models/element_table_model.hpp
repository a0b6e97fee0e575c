// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAbstractTableModel>
#include <algorithm>
#include <vector>

#include "designer/document/document.hpp"

namespace coppice::designer {

/// Data role of every model here: the ElementId of the row, as a QVariant of ElementId.
inline constexpr int kElementRole = Qt::UserRole + 1;
/// Data role for sorting: numbers as numbers.
inline constexpr int kSortRole = Qt::UserRole + 2;

/// One row for each element of a kind, in the order of the file, kept in step with the document.
template <typename Element>
class ElementTableModel : public QAbstractTableModel {
public:
  ElementTableModel(Document& document, const Table<Element>& (Model::*table)() const,
                    ElementChanges<Element> ChangeEvent::*changes, QObject* parent)
      : QAbstractTableModel(parent), m_document(document), m_table(table), m_changes(changes) {
    fill();
    connect(&document, &Document::changed, this, [this](const ChangeEvent& event) { follow(event); });
  }

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override {
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
  }
  [[nodiscard]] Id<Element> idAt(int row) const { return m_rows[row]; }
  /// -1 if it has no row.
  [[nodiscard]] int rowOf(Id<Element> id) const {
    const auto at = std::lower_bound(m_rows.begin(), m_rows.end(), id);
    return at != m_rows.end() && *at == id ? static_cast<int>(at - m_rows.begin()) : -1;
  }

protected:
  [[nodiscard]] Document& document() const { return m_document; }
  [[nodiscard]] const Element* elementAt(const QModelIndex& index) const {
    return index.isValid() && index.row() < rowCount() ? (m_document.model().*m_table)().find(idAt(index.row()))
                                                       : nullptr;
  }
  /// Whether the rows of other elements may show something else after the event.
  [[nodiscard]] virtual bool touchesAll(const ChangeEvent& event) const = 0;

private:
  void fill() {
    m_rows.clear();
    for (const auto& [id, element] : (m_document.model().*m_table)()) {
      m_rows.push_back(id);
    }
  }

  void follow(const ChangeEvent& event) {
    const ElementChanges<Element>& changes = event.*m_changes;
    // Row by row is for the edits of a person; changes of thousands of rows are signalled at once.
    constexpr std::size_t kMany = 200;
    if (event.isReset || changes.added.size() + changes.removed.size() > kMany) {
      beginResetModel();
      fill();
      endResetModel();
      return;
    }
    for (const Id<Element> id : changes.removed) {
      if (const int row = rowOf(id); row >= 0) {
        beginRemoveRows({}, row, row);
        m_rows.erase(m_rows.begin() + row);
        endRemoveRows();
      }
    }
    for (const Id<Element> id : changes.added) {
      const int row = static_cast<int>(std::lower_bound(m_rows.begin(), m_rows.end(), id) - m_rows.begin());
      beginInsertRows({}, row, row);
      m_rows.insert(m_rows.begin() + row, id);
      endInsertRows();
    }
    if (m_rows.empty()) {
      return;
    }
    if (touchesAll(event)) {
      Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
    } else if (!changes.changed.empty()) {
      const int first = rowOf(changes.changed.front());
      const int last = rowOf(changes.changed.back());
      if (first >= 0 && last >= 0) {
        Q_EMIT dataChanged(index(first, 0), index(last, columnCount() - 1));
      }
    }
  }

  Document& m_document;
  const Table<Element>& (Model::*m_table)() const;
  ElementChanges<Element> ChangeEvent::*m_changes;
  std::vector<Id<Element>> m_rows;
};

}  // namespace coppice::designer
