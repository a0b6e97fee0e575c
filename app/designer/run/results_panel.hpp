// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAbstractTableModel>
#include <QLabel>
#include <QProgressBar>
#include <QStackedWidget>
#include <QTableView>
#include <QToolButton>
#include <QWidget>
#include <memory>

#include "designer/run/run_data.hpp"
#include "designer/run/run_store.hpp"

namespace coppice::designer {

/// The table of nccl-tests, with the share of the bound.
class ResultsModel : public QAbstractTableModel {
  Q_OBJECT

public:
  using QAbstractTableModel::QAbstractTableModel;
  void setRun(std::shared_ptr<const RunData> data);
  /// The same run has said more.
  void follow();

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role = Qt::DisplayRole) const override;

private:
  [[nodiscard]] QVariant valueTip(const program::ResultRecord& half, int column) const;
  [[nodiscard]] QString sizeTip(const ResultRow& row) const;
  /// Of a column that both halves share.
  [[nodiscard]] static QString settingText(const ResultRow& row, int column);
  /// Of a column of a half.
  [[nodiscard]] QString valueText(const program::ResultRecord& half, int column) const;

  std::shared_ptr<const RunData> m_data;
  int m_rows = 0;
};

/// One run: its state, its table, and what to do with it.
class ResultsPanel : public QWidget {
  Q_OBJECT

public:
  explicit ResultsPanel(QWidget* parent = nullptr);
  /// No data: the empty page.
  void setRun(const RunInfo& info, std::shared_ptr<const RunData> run, bool isLive, bool isSilent);
  void clear();

Q_SIGNALS:
  void rerunWanted();
  void rejoinWanted();
  void saveWanted(const QString& suggestion, const QByteArray& text);

protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

private:
  /// Columns that say the same in every row, then those that follow from others, make room for the rest.
  void fitColumns();
  void copy(const QString& text);

  RunInfo m_info;
  std::shared_ptr<const RunData> m_data;
  ResultsModel m_model;
  QStackedWidget* m_pages;
  QLabel* m_title;
  QLabel* m_state;
  QProgressBar* m_progress;
  QTableView* m_table;
  QToolButton* m_rerun;
  QToolButton* m_rejoin;
  QToolButton* m_copy;
  bool m_isFitting = false;
};

/// "ended: all data right", "lost: …", for a person; and whether it is bad.
[[nodiscard]] QString outcomeText(const RunInfo& info, const RunData* data);
[[nodiscard]] bool isBadOutcome(const RunInfo& info);

}  // namespace coppice::designer
