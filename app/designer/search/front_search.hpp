// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QString>
#include <QTimer>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "base/units.hpp"
#include "designer/jobs/latest_job.hpp"
#include "designer/schedules/schedule_result.hpp"
#include "fabric/description.hpp"
#include "workflow/sccl_front.hpp"

namespace coppice::designer {

/// What is asked in the Synthesize dialog.
struct FrontRequest {
  workflow::SearchText search;
  synth::FrontLimits limits;
};

/// A size that was decided.
struct FrontCandidate {
  synth::StatedSize size;
  synth::Verdict verdict = synth::Verdict::unknown;
  QString reason;
  double seconds = 0;
  bool isOptimal = false;               ///< found, and the proved bound is reached
  std::optional<Rational> bound = {};   ///< proved, on R/C at this number of steps
  std::optional<Bandwidth> algbw = {};  ///< where found
  /// Where found: null until it has been measured for the other docks.
  ScheduleResultPtr result = {};

  [[nodiscard]] Rational ratio() const { return {size.rounds, size.chunks}; }
  /// "(6, 3, 7)": chunks, steps, rounds.
  [[nodiscard]] QString sizeText() const;
};

/// How a search ended.
struct FrontEnd {
  std::int64_t minSteps = 0;
  Rational minRatio;
  bool isComplete = false;
  bool isCutOff = false;
};

/// A front of step schedules, searched on another thread. What is found arrives while it runs, and is kept when it is
/// cancelled.
class FrontSearch : public QObject {
  Q_OBJECT

public:
  explicit FrontSearch(QObject* parent = nullptr);
  ~FrontSearch() override;

  /// Forgets the last search.
  void start(std::shared_ptr<const fabric::Description> facts, const FrontRequest& request);
  /// At once, as far as the caller can tell.
  void cancel();

  [[nodiscard]] bool isRunning() const { return m_isRunning; }
  /// Nothing waits to be measured.
  [[nodiscard]] bool isSettled() const { return !m_isRunning && m_unmeasured.empty(); }
  [[nodiscard]] const FrontRequest& request() const { return m_request; }
  /// Sizes in the order in which they were decided.
  [[nodiscard]] const std::vector<FrontCandidate>& candidates() const { return m_candidates; }
  /// Proved bounds on R/C by the number of steps; 0 = any number.
  [[nodiscard]] const std::map<std::int64_t, Rational>& bounds() const { return m_bounds; }
  /// Those that were found and that no other beats in both steps and R/C, by steps: indices into candidates().
  [[nodiscard]] std::vector<std::size_t> front() const;
  /// Absent until it ended by itself or its time.
  [[nodiscard]] const std::optional<FrontEnd>& end() const { return m_end; }
  [[nodiscard]] bool wasCancelled() const { return m_wasCancelled; }
  /// Why there is no front, or why a schedule could not be measured.
  [[nodiscard]] const QString& failure() const { return m_failure; }
  [[nodiscard]] double seconds() const;

Q_SIGNALS:
  /// Candidates or bounds were added, or a candidate was measured.
  void changed();
  /// Started, ended, cancelled.
  void runningChanged();

private:
  struct Shared;
  struct Measured {
    std::size_t candidate = 0;
    std::optional<Result<ScheduleResultPtr>> result;
  };
  /// Takes over what the other thread has put down.
  void collect();
  void measureNext();
  void receive(const Measured& measured);

  std::shared_ptr<Shared> m_shared;
  std::stop_source m_stop;
  QTimer m_timer;
  QElapsedTimer m_clock;
  double m_seconds = 0;  ///< of a search that ended
  bool m_isRunning = false;
  bool m_wasCancelled = false;
  FrontRequest m_request;
  std::shared_ptr<const fabric::Description> m_facts;
  std::vector<FrontCandidate> m_candidates;
  std::map<std::int64_t, Rational> m_bounds;
  std::optional<FrontEnd> m_end;
  QString m_failure;
  struct Unmeasured {
    std::size_t candidate = 0;
    std::shared_ptr<const schedule::AnySchedule> schedule;
  };
  std::deque<Unmeasured> m_unmeasured;
  LatestJob<Measured> m_job;
};

}  // namespace coppice::designer
