// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>
#include <QString>
#include <QTimer>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "designer/jobs/latest_job.hpp"
#include "finder/finder.hpp"
#include "workflow/find_topology.hpp"

namespace coppice::designer {

/// The front of one number of nodes, with what is computed beside each entry.
struct NodeFront {
  int nodes = 0;
  std::vector<workflow::FoundTopology> found;
};

/// What is searched: a front for every number of nodes in the range.
struct TopologySearchQuestion {
  workflow::NodeRange nodes{16, 16};
  int degree = 4;
  bool isDuplex = false;
  bool hasAlltoall = false;  ///< the all-to-all is a goal as well
};

/// More numbers of nodes are not searched at once.
inline constexpr int kMaxNodeCounts = 512;

/// "16" or "14..18". Errors: badUsage, limit beyond kMaxNodeCounts.
[[nodiscard]] Result<workflow::NodeRange> readNodeCounts(const std::string& text);

/// Searches topologies on another thread. The fronts of a range arrive one after the other.
class TopologySearch : public QObject {
  Q_OBJECT

public:
  explicit TopologySearch(QObject* parent = nullptr);
  ~TopologySearch() override;

  /// Stops the search that runs and begins this one.
  void start(const TopologySearchQuestion& question);
  /// The fronts that are there already stay.
  void cancel();
  [[nodiscard]] bool isRunning() const { return m_isRunning; }

  /// Those of the last question that are known so far, ascending by nodes.
  [[nodiscard]] const std::vector<NodeFront>& fronts() const { return m_fronts; }
  /// Why the search ended early; nullopt: it did not.
  [[nodiscard]] const std::optional<Error>& error() const { return m_error; }
  /// What was left out and why.
  [[nodiscard]] const std::vector<std::string>& notes() const { return m_notes; }
  /// "Searching 14 of 20": a line for people.
  [[nodiscard]] QString stateText() const;

Q_SIGNALS:
  /// More fronts.
  void found();
  /// started, ended, stopped
  void runningChanged();
  /// stateText()
  void progressed();

private:
  class Shared;
  struct Answer {
    std::optional<Error> error;
  };
  void look();
  void receive(const Answer& answer);

  std::shared_ptr<Shared> m_shared;
  std::vector<NodeFront> m_fronts;
  std::vector<std::string> m_notes;
  std::optional<Error> m_error;
  TopologySearchQuestion m_question;
  bool m_isRunning = false;
  QTimer m_timer;
  LatestJob<Answer> m_job;
};

}  // namespace coppice::designer
