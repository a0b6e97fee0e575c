// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAbstractTableModel>
#include <QCheckBox>
#include <QComboBox>
#include <QDialog>
#include <QLabel>
#include <QStringList>
#include <QTableView>
#include <functional>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "fabric/description.hpp"

namespace coppice::designer {

/// Rows of text under heads. Columns of numbers are at the right.
class TextTableModel : public QAbstractTableModel {
  Q_OBJECT

public:
  using QAbstractTableModel::QAbstractTableModel;
  void set(QStringList heads, std::vector<QStringList> rows);
  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  /// As a file, with the heads.
  [[nodiscard]] QString csv() const;

private:
  QStringList m_heads;
  std::vector<QStringList> m_rows;
};

/// What has to be plugged in: each cable of a fabric with its ends; of fabrics without switches and NICs also the ports
/// and patch panels, and what changes from another open fabric (core/patch).
class CablesDialog : public QDialog {
  Q_OBJECT

public:
  struct Subject {
    QString name;
    std::shared_ptr<const fabric::Description> facts;
  };
  /// @param others open fabrics that this one may be changed from @param save asked for a file, gets the CSV
  CablesDialog(Subject subject, std::vector<Subject> others, std::function<void(const QString& csv)> save,
               QWidget* parent = nullptr);

  [[nodiscard]] TextTableModel& model() { return *m_model; }
  /// How many cables, or why there is no table.
  [[nodiscard]] QString summary() const { return m_summary->text(); }

private:
  void fill();
  void fillCables();
  /// Errors: those of core/patch.
  [[nodiscard]] Outcome fillPatchTable();
  [[nodiscard]] Outcome fillChanges(const Subject& from);

  Subject m_subject;
  std::vector<Subject> m_others;
  QComboBox* m_what;  ///< cables, ports and panels, then changes from each of the others
  QCheckBox* m_isBetweenBoxes;
  QLabel* m_summary;
  TextTableModel* m_model;
  QTableView* m_table;
};

}  // namespace coppice::designer
