// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QTableWidget>
#include <QWidget>
#include <cstddef>
#include <optional>
#include <vector>

#include "designer/charts/plot.hpp"
#include "designer/run/measured_chart.hpp"
#include "designer/run/nccl_view.hpp"

namespace coppice::designer {

/// An imported run of NCCL on the fabric: what its rings and trees reach beside the bound, the channels, and for each
/// size what was chosen, expected and measured, and what would be faster.
class NcclPanel : public QWidget {
  Q_OBJECT

public:
  enum Column { kSize, kChosen, kEstimated, kPredicted, kMeasured, kAlgbw, kShare, kLast, kFaster, kColumns };

  explicit NcclPanel(QWidget* parent = nullptr);

  /// nullptr: it is being computed, or there is none.
  void setView(NcclViewPtr view);
  void setWhat(MeasuredChart::What what);
  [[nodiscard]] const NcclViewPtr& view() const { return m_view; }
  /// Indices into NcclView::drawn.
  [[nodiscard]] std::vector<std::size_t> chosen() const;
  /// The chosen rank that lost time; else the one that took longest at the chosen size.
  [[nodiscard]] std::optional<RankMark> chosenRank() const;
  /// The chosen link that lost time.
  [[nodiscard]] std::optional<workflow::LostTime::Link> chosenLink() const;
  [[nodiscard]] QTableWidget& sizes() { return *m_sizes; }
  [[nodiscard]] QTableWidget& channels() { return *m_channels; }
  [[nodiscard]] QTableWidget& lost() { return *m_lost; }
  [[nodiscard]] Plot& plot() { return *m_plot; }
  /// What the rings and trees reach, as plain text.
  [[nodiscard]] QString answer() const;
  [[nodiscard]] QString csv() const;

Q_SIGNALS:
  void collectiveWanted(coppice::Collective collective);
  /// Other channels, or another rank, are to be drawn.
  void chosenChanged();
  /// The ends of a link.
  void linkWanted(const QString& tail, const QString& head);
  void rankWanted(int rank);
  void scheduleWanted();
  void exportWanted();

private:
  QWidget* makeTables();
  void fillCollectives();
  void fillChannels();
  void fillSizes();
  void fillLost();
  void goToLost(int row);
  void tell();
  void draw();
  template <typename IsOf, typename Value>
  void addRuns(const IsOf& isOfCollective, const Value& value);

  NcclViewPtr m_view;
  MeasuredChart::What m_what = MeasuredChart::What::algbw;
  QLabel* m_answer;
  QLabel* m_missing;
  QComboBox* m_collective;
  QPushButton* m_asSchedule;
  QPushButton* m_export;
  QTableWidget* m_channels;
  QTableWidget* m_lost;  ///< ranks, then links
  QTableWidget* m_sizes;
  Plot* m_plot;
};

}  // namespace coppice::designer
