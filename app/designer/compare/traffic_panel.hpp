// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QComboBox>
#include <QLabel>
#include <QStackedWidget>
#include <QString>
#include <QStringList>
#include <QToolButton>
#include <QWidget>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "designer/compare/matrix_view.hpp"
#include "designer/jobs/latest_job.hpp"
#include "designer/schedules/schedule_result.hpp"
#include "schedule/traffic.hpp"

namespace coppice::designer {

/// The traffic of a schedule between GPUs, or between boxes.
struct TrafficTable {
  bool isByBoxes = false;
  schedule::Traffic traffic;      ///< in the order of the names
  QStringList names;              ///< of GPUs or boxes
  std::vector<QStringList> gpus;  ///< of each row
  std::vector<int> groups;        ///< first GPU of each box, where boxes follow each other
  Rational max;                   ///< of all pairs, share of the data
  Rational min;                   ///< of those that carry something
  Rational total;
  Rational betweenBoxes;      ///< of the total
  std::int64_t pairs = 0;     ///< that carry something
  std::vector<float> shares;  ///< as MatrixData
};
using TrafficTablePtr = std::shared_ptr<const TrafficTable>;

/// The dock "Traffic": what each GPU or box sends to each other one in the current schedule, as a heat map. Added up in
/// the background once the panel can be seen.
class TrafficPanel : public QWidget {
  Q_OBJECT

public:
  enum class Between { gpus, gpusByBox, boxes };

  explicit TrafficPanel(QWidget* parent = nullptr);
  ~TrafficPanel() override;

  void setResult(ScheduleResultPtr result);
  void setBetween(Between between);
  /// What is shown; nullptr while it is not known.
  [[nodiscard]] const TrafficTablePtr& table() const { return m_table; }
  [[nodiscard]] MatrixView& view() { return *m_view; }
  /// "gpu 0 → gpu 1: 7.5 MiB = 7864320 bytes, 3/25 of the data"
  [[nodiscard]] QString describe(int from, int to) const;
  /// Nothing is being added up.
  [[nodiscard]] bool isSettled() const { return !m_isWanted && !m_job.isRunning(); }
  /// All pairs that carry something: names, exact share, bytes at the chosen size.
  [[nodiscard]] static QString csv(const TrafficTable& table, std::int64_t bytes);
  /// .svg or .png. Errors: io, badUsage.
  Outcome savePicture(const QString& path) const;
  /// Adds up the traffic of a result. Meant for another thread. Errors: as schedule::trafficOf.
  [[nodiscard]] static Result<TrafficTablePtr> tableOf(const ScheduleResult& result, Between between,
                                                       const Progress& progress);

Q_SIGNALS:
  void generateWanted();
  void pictureWanted();
  /// A cell was chosen: the GPUs of its row and column.
  void gpusChosen(const QStringList& names);

protected:
  void showEvent(QShowEvent* event) override;

private:
  struct Answer {
    TrafficTablePtr table;
    QString problem;
  };
  QWidget* makeBody();
  void start();
  void receive(const Answer& answer);
  void showTable();
  void copy();
  void tell(const std::optional<std::pair<int, int>>& cell);
  [[nodiscard]] Between between() const;

  ScheduleResultPtr m_result;
  TrafficTablePtr m_table;
  bool m_isWanted = false;
  QString m_problem;
  QStackedWidget* m_pages;
  QComboBox* m_between;
  QComboBox* m_size;
  QToolButton* m_copy;
  QToolButton* m_save;
  QLabel* m_text;
  MatrixView* m_view;
  LatestJob<Answer> m_job;
  LatestJob<QString> m_copier;
};

}  // namespace coppice::designer
