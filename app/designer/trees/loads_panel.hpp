// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAbstractTableModel>
#include <QCheckBox>
#include <QLabel>
#include <QLineEdit>
#include <QSortFilterProxyModel>
#include <QStackedWidget>
#include <QTableView>
#include <QWidget>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "designer/schedules/schedule_result.hpp"

namespace coppice::designer {

/// One row for each direction of a link, by the fabric of the schedule.
class LoadModel : public QAbstractTableModel {
  Q_OBJECT

public:
  enum Column { kLink, kBandwidth, kLoad, kShare, kTrees, kColumns };
  static constexpr int kShareRole = Qt::UserRole + 20;    ///< double, 0 to 1
  static constexpr int kBusiestRole = Qt::UserRole + 21;  ///< bool

  using QAbstractTableModel::QAbstractTableModel;
  void setResult(ScheduleResultPtr result);
  [[nodiscard]] const ScheduleResultPtr& result() const { return m_result; }
  /// Loads of one step instead of those of the whole schedule, arc by arc; nullopt = the whole schedule.
  void setStepLoads(std::optional<std::vector<ArcLoad>> loads);
  [[nodiscard]] const std::vector<ArcLoad>& loads() const { return m_stepLoads ? *m_stepLoads : m_result->loads; }
  [[nodiscard]] std::pair<QString, QString> endsAt(int row) const;
  /// Exact order of two rows by a column.
  [[nodiscard]] bool isLess(const QModelIndex& a, const QModelIndex& b) const;

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
  ScheduleResultPtr m_result;
  std::optional<std::vector<ArcLoad>> m_stepLoads;
};

/// The dock "Link loads": bandwidth, load, a bar and the percentage, the fullest marked.
class LoadsPanel : public QWidget {
  Q_OBJECT

public:
  explicit LoadsPanel(QWidget* parent = nullptr);

  void setResult(ScheduleResultPtr result);
  /// Of a step schedule; nullopt = all steps.
  void setStep(std::optional<std::int32_t> step);
  [[nodiscard]] LoadModel& model() { return m_model; }
  [[nodiscard]] bool isHeatWanted() const { return m_heat->isChecked(); }
  void setHeatWanted(bool isWanted) { m_heat->setChecked(isWanted); }

Q_SIGNALS:
  void generateWanted();
  void heatToggled();
  /// A row was chosen: the names of the two ends.
  void linkChosen(const QString& tail, const QString& head);

private:
  void refresh();

  LoadModel m_model;
  std::optional<std::int32_t> m_step;
  QSortFilterProxyModel* m_filter;
  QStackedWidget* m_pages;
  QLineEdit* m_search;
  QCheckBox* m_fullest;
  QCheckBox* m_heat;
  QLabel* m_state;
  QTableView* m_table;
};

}  // namespace coppice::designer
