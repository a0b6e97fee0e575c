// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QString>
#include <QTimer>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/duration.hpp"
#include "designer/document/document_file.hpp"
#include "designer/jobs/latest_job.hpp"
#include "designer/jobs/live_bound.hpp"
#include "designer/schedules/schedule_result.hpp"
#include "workflow/sketch_plan.hpp"

namespace coppice::designer {

/// Progress of a search: written by its thread, read by the page.
class SearchTrace {
public:
  struct Point {
    double seconds = 0;
    ExactMicroseconds makespan;  ///< of the best schedule so far, microseconds
    ExactMicroseconds bound;     ///< no schedule of this sketch is shorter
  };

  void add(const ExactMicroseconds& makespan, const ExactMicroseconds& bound) {
    const std::lock_guard lock(m_mutex);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - m_begin;
    m_points.push_back({elapsed.count(), makespan, bound});
  }
  [[nodiscard]] std::vector<Point> points() const {
    const std::lock_guard lock(m_mutex);
    return m_points;
  }

private:
  mutable std::mutex m_mutex;
  std::chrono::steady_clock::time_point m_begin = std::chrono::steady_clock::now();
  std::vector<Point> m_points;
};

/// What a search is asked.
struct SearchQuestion {
  Collective collective = Collective::allgather;
  std::string root = {};                    ///< of a rooted collective; empty = the first GPU
  int seconds = 10;                         ///< at most
  std::optional<std::int64_t> effort = {};  ///< schedules to try instead
  std::uint64_t seed = 1;
  taccl::Engine engine = taccl::Engine::search;

  friend bool operator==(const SearchQuestion&, const SearchQuestion&) = default;
};

/// What it found.
struct SearchAnswer {
  ScheduleResultPtr schedule;  ///< verified
  ExactMicroseconds makespan;  ///< as planned
  ExactMicroseconds bound;
  std::string relaxations;  ///< that prove the bound
  std::string boundMembers;
  double gap = 0;
  int connections = 0;
  std::size_t messages = 0;
  double seconds = 0;      ///< of the search
  bool isStopped = false;  ///< by a person, before its time was over
  std::vector<Finding> findings;
};

/// The communication sketch of one document: proposed, opened, edited, saved, and searched within.
class SketchDesk : public QObject {
  Q_OBJECT

public:
  /// @param file outlives the desk, which is its child
  explicit SketchDesk(DocumentFile& file);
  ~SketchDesk() override;
  /// The desk of any document; made on the first call, with the document's life.
  [[nodiscard]] static SketchDesk& of(DocumentFile& file);

  /// nullptr: there is none yet.
  [[nodiscard]] const sketch::Sketch* current() const { return m_sketch ? &*m_sketch : nullptr; }
  /// The sketch on the drawn fabric; nullptr while that is found out, and where it does not fit.
  [[nodiscard]] const std::shared_ptr<const workflow::FittedSketch>& fit() const { return m_fit; }
  /// The last one that did fit, for what is shown meanwhile.
  [[nodiscard]] const std::shared_ptr<const workflow::FittedSketch>& lastFit() const { return m_lastFit; }
  /// Why there is no sketch, or why it does not fit; nullopt while that is found out.
  [[nodiscard]] const std::optional<Error>& problem() const { return m_problem; }
  [[nodiscard]] bool isFitting() const { return m_fitter.isRunning(); }
  /// GPUs of a node: of the fit, or 0.
  [[nodiscard]] int gpusPerNode() const;
  /// Of the drawing, by number within all nodes; empty where there is none.
  [[nodiscard]] QString nameOf(int gpu) const;
  /// The number of a GPU of the drawing; -1 where it has none.
  [[nodiscard]] int numberOf(const std::string& name) const;

  /// Another sketch by the program, with the sizes of this one.
  void propose();
  /// Errors: io, badInput with line, column and key; the sketch stays as it is.
  Outcome open(const QString& path);
  /// Errors: io, badUsage where there is none.
  Outcome save(const QString& path);
  /// The costs of the drawn fabric. Errors: io, badUsage where the sketch does not fit.
  Outcome saveTopology(const QString& path) const;
  [[nodiscard]] const QString& path() const { return m_path; }
  [[nodiscard]] bool isModified() const { return m_isModified; }
  /// Where the sketch is kept with the document if it has no file of its own: "cluster.sketch.json" beside
  /// "cluster.fabric.json". Empty while the document has no name.
  [[nodiscard]] QString pathBeside() const;
  /// What reading the file said.
  [[nodiscard]] const std::vector<Finding>& notes() const { return m_notes; }

  void edit(const std::function<void(sketch::Sketch&)>& change);
  /// The rotations that keep links, costs, ports and relays take the place of the sketch's offsets.
  void findOffsets();
  [[nodiscard]] bool canUndo() const { return !m_before.empty(); }
  void undo();

  // ---- the search

  [[nodiscard]] const SearchQuestion& question() const { return m_question; }
  void setQuestion(const SearchQuestion& question);
  /// Without a sketch, one is proposed first. Nothing happens where the sketch does not fit, or while a search runs.
  void start();
  /// Ends the search; what it found so far is verified and kept.
  void stop();
  [[nodiscard]] bool isRunning() const { return m_isRunning; }
  [[nodiscard]] bool isStopping() const { return m_isRunning && m_search->stop_requested(); }
  /// Of the search that runs, or the last one.
  [[nodiscard]] std::vector<SearchTrace::Point> points() const { return m_trace->points(); }
  [[nodiscard]] double seconds() const;
  /// Of the last search; nullptr before the first, and where it failed.
  [[nodiscard]] const std::shared_ptr<const SearchAnswer>& answer() const { return m_answer; }
  [[nodiscard]] const QString& failure() const { return m_failure; }

Q_SIGNALS:
  /// findOffsets() has found none.
  void noOffsets();
  /// The sketch, what it fits, or its file.
  void changed();
  /// The document was saved, and the sketch could not be.
  void notSaved(const QString& why);
  /// Started, stopped, ended.
  void runningChanged();
  void found();

private:
  using Fit = Result<std::shared_ptr<const workflow::FittedSketch>>;
  using Answer = std::shared_ptr<const Result<std::shared_ptr<const SearchAnswer>>>;
  struct Fitted {
    std::shared_ptr<const Fit> fit;
    std::uint64_t factRevision = 0;
    bool isProposal = false;
  };
  void refit();
  void receiveFit(const Fitted& fitted);
  void receive(const Answer& answer);
  void remember();
  /// The sketch that was saved with the document, or that a crash has left.
  void takeUp();
  void setModified(bool isModified);
  void saveWithDocument();
  [[nodiscard]] QString recoveryPath() const;
  void writeRecovery() const;

  DocumentFile& m_file;
  std::optional<sketch::Sketch> m_sketch;
  std::vector<std::optional<sketch::Sketch>> m_before;
  std::optional<sketch::Sketch> m_saved;  ///< as its file has it, or as the program proposed it
  QString m_path;
  bool m_isModified = false;
  std::vector<Finding> m_notes;
  std::shared_ptr<const workflow::FittedSketch> m_fit;
  std::shared_ptr<const workflow::FittedSketch> m_lastFit;
  std::optional<Error> m_problem;
  LatestJob<Fitted> m_fitter;
  QTimer m_factsTimer;
  QTimer m_recoveryTimer;
  using Offsets = std::vector<std::pair<int, int>>;
  LatestJob<Offsets> m_offsetFinder;

  SearchQuestion m_question;
  bool m_isRunning = false;
  bool m_startsOnceProposed = false;
  std::shared_ptr<std::stop_source> m_search = std::make_shared<std::stop_source>();
  std::shared_ptr<SearchTrace> m_trace = std::make_shared<SearchTrace>();
  QElapsedTimer m_clock;
  std::shared_ptr<const SearchAnswer> m_answer;
  QString m_failure;
  LatestJob<Answer> m_job;
};

}  // namespace coppice::designer
