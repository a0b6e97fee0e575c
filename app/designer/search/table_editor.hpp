// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QDialog>
#include <QLabel>
#include <QPushButton>
#include <QTableWidget>
#include <optional>

#include "fabric/fabric.hpp"
#include "workflow/sccl_front.hpp"

namespace coppice::designer {

/// A custom collective as a small table: one row per chunk, with the GPUs that have it and those that need it.
class TableEditor : public QDialog {
  Q_OBJECT

public:
  enum Column { kFrom, kTo, kColumns };

  /// @param table that is edited; absent, or of another fabric: the editor begins with empty rows
  TableEditor(fabric::Fabric fabric, const std::optional<workflow::TableText>& table, QWidget* parent = nullptr);

  /// What the rows say, as CSV with a heading; rows without any text are left out.
  [[nodiscard]] workflow::TableText table() const;
  /// Why the rows do not form a table; nullopt: they do.
  [[nodiscard]] const std::optional<Error>& fault() const { return m_fault; }
  [[nodiscard]] QTableWidget& rows() { return *m_rows; }

private:
  void fill(const schedule::CollectiveTable& table);
  void addRow(const QString& from, const QString& to);
  void removeRow();
  void judge();
  [[nodiscard]] QString cell(int row, int column) const;

  fabric::Fabric m_fabric;
  std::optional<Error> m_fault;
  QTableWidget* m_rows;
  QLabel* m_state;
  QPushButton* m_remove;
  QPushButton* m_accept;
};

}  // namespace coppice::designer
