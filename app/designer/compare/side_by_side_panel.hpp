// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QComboBox>
#include <QLabel>
#include <QSortFilterProxyModel>
#include <QStackedWidget>
#include <QTableView>
#include <QToolButton>
#include <QWidget>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "designer/compare/difference_model.hpp"
#include "designer/jobs/latest_job.hpp"
#include "designer/playback/playback.hpp"
#include "designer/schedules/compared_schedule.hpp"
#include "designer/theme/seen.hpp"
#include "designer/timeline/clock_strip.hpp"
#include "designer/timeline/play_clock.hpp"
#include "designer/timeline/play_controls.hpp"

namespace coppice::designer {

/// The view "Side by Side" of the dock "Compare": any two schedules of a document, A and B, played by one clock, and
/// what differs between them link by link and GPU by GPU. Both are simulated in the background once the panel can be
/// seen.
class SideBySidePanel : public QWidget {
  Q_OBJECT

public:
  static constexpr int kSides = 2;  ///< A, B

  explicit SideBySidePanel(QWidget* parent = nullptr);
  ~SideBySidePanel() override;

  /// All that can be chosen. Without another choice A is the first of them and B the last.
  void setSchedules(std::vector<ComparedSchedule> schedules);
  /// By id. Ids that are not in the list are ignored.
  void choose(int a, int b);
  /// nullptr: there are not two schedules.
  [[nodiscard]] const ComparedSchedule* schedule(int side) const;
  /// nullptr while it is not known.
  [[nodiscard]] const PlaybackPtr& playback(int side) const { return m_shown.runs[side]; }
  [[nodiscard]] PlayClock& clock() { return m_clock; }
  [[nodiscard]] ClockStrip& strip() { return *m_strip; }
  [[nodiscard]] DifferenceModel& differences() { return m_model; }
  [[nodiscard]] QTableView& table() { return *m_table; }
  /// "322.50 GB/s at 64 MiB in 208.1 µs"
  [[nodiscard]] QString numbers(int side) const;
  void setBytes(std::int64_t bytes);
  /// The panel can be seen.
  [[nodiscard]] bool isSeen() const { return m_isSeen; }
  /// Nothing waits to be simulated.
  [[nodiscard]] bool isSettled() const { return !m_isRecordWanted && !m_job.isRunning(); }

Q_SIGNALS:
  /// Other schedules or runs, or the panel was shown or hidden.
  void changed();
  void timeChanged();
  /// There is one schedule, or none: another is to be made.
  void generateWanted();
  void planWanted();
  void linkChosen(const QString& tail, const QString& head);
  void gpuChosen(const QString& name);

private:
  struct Pair {
    std::array<PlaybackPtr, kSides> runs;
    std::vector<simulate::LinkDifference> links;
    std::vector<simulate::RankDifference> gpus;
    std::vector<ClockStrip::Row> rows;
    QString problem;
  };
  using Answer = std::shared_ptr<Pair>;
  [[nodiscard]] static Answer compare(const std::array<ComparedSchedule, kSides>& sides,
                                      const std::array<PlaybackPtr, kSides>& known, std::int64_t bytes,
                                      const Progress& progress);
  /// Chosen in the list, or that of a recorded run.
  [[nodiscard]] std::int64_t bytes() const;
  QWidget* makeBody();
  void setUpTable();
  void setSeen(bool isSeen);
  void fillLists();
  void order();
  void record();
  void receive(const Answer& answer);
  void step(int direction);
  void chooseRow();
  void swap();
  void refresh();

  std::vector<ComparedSchedule> m_schedules;
  std::array<int, kSides> m_chosen{};  ///< ids; 0 = none
  Pair m_shown;
  std::array<PlaybackPtr, kSides> m_known;  ///< the last runs, for what stays the same
  bool m_isRecordWanted = false;
  bool m_isFilling = false;
  bool m_isSeen = false;
  Seen m_seen;
  PlayClock m_clock;
  DifferenceModel m_model;
  QSortFilterProxyModel m_sorted;
  QStackedWidget* m_pages;
  std::array<QComboBox*, kSides> m_lists;
  QToolButton* m_swap;
  QComboBox* m_size;
  QComboBox* m_kind;
  QToolButton* m_copy;
  QToolButton* m_plan;
  QLabel* m_state;
  PlayControls* m_controls;
  ClockStrip* m_strip;
  QTableView* m_table;
  LatestJob<Answer> m_job;
};

}  // namespace coppice::designer
