// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QSlider>
#include <QTableView>
#include <QTimer>
#include <QToolButton>
#include <QWidget>
#include <optional>
#include <vector>

#include "designer/trees/transfer_model.hpp"

namespace coppice::designer {

/// What a step schedule sends, step by step. A slider, or Play, goes through the steps; one
/// shard can be followed alone; chosen rows are drawn alone.
class TransferPanel : public QWidget {
  Q_OBJECT

public:
  explicit TransferPanel(QWidget* parent = nullptr);

  void setResult(ScheduleResultPtr result);
  [[nodiscard]] TransferModel& model() { return m_model; }
  [[nodiscard]] QTableView& table() { return *m_table; }
  /// nullopt = all steps.
  [[nodiscard]] std::optional<std::int32_t> step() const;
  void setStep(std::optional<std::int32_t> step);
  /// Indices of the transfers that the chosen rows name, at most maxTransfers().
  [[nodiscard]] std::vector<std::size_t> chosenTransfers() const;
  /// More are not drawn one by one.
  [[nodiscard]] static int maxTransfers() { return 16; }
  void clearChoice();

Q_SIGNALS:
  /// The step, the shard or the rows.
  void chosenChanged();
  /// Double click: the names of sender and receiver.
  void endsActivated(const QString& from, const QString& to);

private:
  QWidget* makeBody();
  void fillShards();
  void applyFilter();
  void refresh();
  void advance();
  void setPlaying(bool isPlaying);

  TransferModel m_model;
  QToolButton* m_previous;
  QToolButton* m_play;
  QToolButton* m_next;
  QSlider* m_slider;
  QLabel* m_stepText;
  QComboBox* m_shard;
  QLineEdit* m_search;
  QLabel* m_state;
  QTableView* m_table;
  QTimer m_clock;
  bool m_isFilling = false;
};

}  // namespace coppice::designer
