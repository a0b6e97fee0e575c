// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/finder/topology_search.hpp"

#include <chrono>
#include <mutex>
#include <utility>

#include "base/text.hpp"
#include "workflow/guarded.hpp"
#include "workflow/options.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

/// Where a search is, and what it has found since it was last looked at.
class TopologySearch::Shared {
public:
  void report(double fraction) {
    const std::lock_guard lock(m_mutex);
    m_fraction = fraction;
  }
  void add(NodeFront front, std::vector<std::string> notes) {
    const std::lock_guard lock(m_mutex);
    m_fronts.push_back(std::move(front));
    m_notes.insert(m_notes.end(), notes.begin(), notes.end());
    m_fraction = 0;
  }
  std::pair<std::vector<NodeFront>, std::vector<std::string>> take() {
    const std::lock_guard lock(m_mutex);
    return {std::exchange(m_fronts, {}), std::exchange(m_notes, {})};
  }
  double fraction() const {
    const std::lock_guard lock(m_mutex);
    return m_fraction;
  }

private:
  mutable std::mutex m_mutex;
  std::vector<NodeFront> m_fronts;
  std::vector<std::string> m_notes;
  double m_fraction = 0;
};

Result<workflow::NodeRange> readNodeCounts(const std::string& text) {
  const std::string plain = QString::fromStdString(text).simplified().remove(u' ').toStdString();
  workflow::NodeRange range;
  if (plain.find("..") != std::string::npos) {
    const auto read = workflow::parseNodeRange(plain);
    if (!read) {
      return read.error();
    }
    range = *read;
  } else {
    const auto number = workflow::parseInteger(plain);
    if (!number || *number > topology::kMaxNodes) {
      return workflow::optionError("nodes", inQuotes(text) + " is not a number of GPUs",
                                   "give a number such as 16, or a range such as 14..18");
    }
    range.first = static_cast<int>(*number);
    range.last = range.first;
  }
  if (range.last - range.first >= kMaxNodeCounts) {
    return Error{ErrorCode::limit,
                 std::to_string(range.first) + ".." + std::to_string(range.last) + " has " +
                     std::to_string(std::int64_t{range.last} - range.first + 1) + " numbers of GPUs",
                 "give a range of at most " + std::to_string(kMaxNodeCounts),
                 Place{.element = {RefKind::option, "--nodes"}}};
  }
  return range;
}

TopologySearch::TopologySearch(QObject* parent)
    : QObject(parent), m_job([this](const Answer& answer) { receive(answer); }, 0ms) {
  m_timer.setInterval(100ms);
  connect(&m_timer, &QTimer::timeout, this, &TopologySearch::look);
}

TopologySearch::~TopologySearch() = default;

void TopologySearch::start(const TopologySearchQuestion& question) {
  m_question = question;
  m_fronts.clear();
  m_notes.clear();
  m_error.reset();
  m_shared = std::make_shared<Shared>();
  m_isRunning = true;
  m_timer.start();
  m_job.submit([question, shared = m_shared](std::stop_token stop) {
    Progress progress;
    progress.stop = std::move(stop);
    progress.onReport = [shared](std::string_view, double fraction) { shared->report(fraction); };
    finder::Finder finder;
    for (int nodes = question.nodes.first; nodes <= question.nodes.last; ++nodes) {
      finder::Query query;
      query.nodes = nodes;
      query.degree = question.degree;
      query.isDuplex = question.isDuplex;
      query.hasAlltoall = question.hasAlltoall;
      std::vector<std::string> notes;
      auto found = workflow::guarded<std::vector<workflow::FoundTopology>>(
          [&] { return workflow::findTopologies(finder, query, progress, &notes); });
      if (!found) {
        return Answer{found.error()};
      }
      shared->add({nodes, *std::move(found)}, std::move(notes));
    }
    return Answer{};
  });
  Q_EMIT runningChanged();
}

void TopologySearch::cancel() {
  if (!m_isRunning) {
    return;
  }
  m_job.cancel();
  look();
  m_timer.stop();
  m_isRunning = false;
  Q_EMIT runningChanged();
}

void TopologySearch::look() {
  auto [fronts, notes] = m_shared->take();
  m_notes.insert(m_notes.end(), notes.begin(), notes.end());
  if (!fronts.empty()) {
    m_fronts.insert(m_fronts.end(), std::make_move_iterator(fronts.begin()), std::make_move_iterator(fronts.end()));
    Q_EMIT found();
  }
  Q_EMIT progressed();
}

void TopologySearch::receive(const Answer& answer) {
  m_timer.stop();
  m_isRunning = false;
  m_error = answer.error;
  look();
  Q_EMIT runningChanged();
}

QString TopologySearch::stateText() const {
  if (!m_isRunning) {
    return {};
  }
  const int count = m_question.nodes.last - m_question.nodes.first + 1;
  if (count > 1) {
    return tr("Searching %1 of %2…").arg(m_fronts.size() + 1).arg(count);
  }
  const double fraction = m_shared->fraction();
  constexpr int kHundred = 100;
  return fraction > 0 ? tr("Searching, %1 %…").arg(static_cast<int>(fraction * kHundred)) : tr("Searching…");
}

}  // namespace coppice::designer
