// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/search/front_search.hpp"

#include <QThreadPool>
#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>

#include "designer/document/error_text.hpp"
#include "workflow/guarded.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

/// Between two looks at what the other thread has found.
constexpr auto kInterval = 60ms;

/// What the book keeps beside the schedule: asked again, the method finds the best within these steps.
ScheduleOptions optionsOf(const FrontRequest& request, const synth::StatedSize& size) {
  ScheduleOptions options;
  options.collective = request.search.table
                           ? Collective::custom
                           : parseCollective(request.search.demand.collective).value_or(Collective::allgather);
  options.root = request.search.demand.root;
  options.method = "sccl";
  workflow::Values& values = options.methodOptions;
  const workflow::SearchText usual;
  values["max-steps"] = std::to_string(size.steps);
  if (request.limits.maxChunks > 0) {
    values["max-chunks"] = std::to_string(request.limits.maxChunks);
  }
  if (request.limits.extraRounds) {
    values["k"] = std::to_string(*request.limits.extraRounds);
  }
  if (!request.search.unit.empty()) {
    values["unit"] = request.search.unit;
  }
  if (request.search.isOneBandwidth) {
    values["one-bandwidth"] = "true";
  }
  if (request.search.isDirect) {
    values["direct"] = "true";
  }
  if (request.search.seed != usual.seed) {
    values["seed"] = std::to_string(request.search.seed);
  }
  if (request.search.seconds != usual.seconds) {
    values["seconds"] = std::to_string(std::max<std::int64_t>(1, static_cast<std::int64_t>(request.search.seconds)));
  }
  return options;
}

}  // namespace

/// Written by the thread of the search, read by that of the window.
struct FrontSearch::Shared {
  struct Decided {
    synth::Candidate candidate;
    std::optional<workflow::FoundSchedule> found;
  };

  std::mutex mutex;
  std::vector<Decided> decided;
  std::map<std::int64_t, Rational> bounds;
  bool isDone = false;
  std::optional<FrontEnd> end;
  std::optional<Error> error;
};

QString FrontCandidate::sizeText() const {
  return u"(%1, %2, %3)"_s.arg(size.chunks).arg(size.steps).arg(size.rounds);
}

FrontSearch::FrontSearch(QObject* parent)
    : QObject(parent), m_job([this](const Measured& measured) { receive(measured); }, 0ms) {
  m_timer.setInterval(kInterval);
  connect(&m_timer, &QTimer::timeout, this, &FrontSearch::collect);
}

FrontSearch::~FrontSearch() {
  m_stop.request_stop();
}

void FrontSearch::start(std::shared_ptr<const fabric::Description> facts, const FrontRequest& request) {
  m_stop.request_stop();
  m_job.cancel();
  m_stop = {};
  m_shared = std::make_shared<Shared>();
  m_request = request;
  m_facts = std::move(facts);
  m_candidates.clear();
  m_bounds.clear();
  m_unmeasured.clear();
  m_end.reset();
  m_failure.clear();
  m_wasCancelled = false;
  m_isRunning = true;
  m_clock.start();
  QThreadPool::globalInstance()->start([shared = m_shared, facts = m_facts, request, stop = m_stop.get_token()] {
    Progress progress;
    progress.stop = stop;
    std::optional<workflow::FoundSchedule> last;
    workflow::FrontListener listener;
    listener.onBound = [&](std::int64_t steps, const Rational& bound) {
      const std::lock_guard lock(shared->mutex);
      shared->bounds[steps] = bound;
    };
    listener.onFound = [&](workflow::FoundSchedule found) { last = std::move(found); };
    listener.onCandidate = [&](const synth::Candidate& candidate) {
      const std::lock_guard lock(shared->mutex);
      shared->decided.push_back({candidate, std::exchange(last, std::nullopt)});
    };
    const Result<workflow::ScclFront> front =
        workflow::guarded<workflow::ScclFront>([&]() -> Result<workflow::ScclFront> {
          const auto fabric = fabric::Fabric::build(*facts);
          if (!fabric) {
            return fabric.error();
          }
          const auto question = workflow::readSearch(*fabric, request.search);
          if (!question) {
            return question.error();
          }
          return workflow::findFront(*fabric, *question, request.limits, listener, progress);
        });
    const std::lock_guard lock(shared->mutex);
    shared->isDone = true;
    if (front) {
      shared->end = FrontEnd{front->minSteps, front->minRatio, front->isComplete, front->isCutOff};
    } else {
      shared->error = front.error();
    }
  });
  m_timer.start();
  Q_EMIT changed();
  Q_EMIT runningChanged();
}

void FrontSearch::cancel() {
  if (!m_isRunning) {
    return;
  }
  m_stop.request_stop();
  m_wasCancelled = true;
  collect();
  const double passed = seconds();
  if (std::exchange(m_isRunning, false)) {
    // The thread ends soon; until then the timer takes over what it still puts down.
    m_seconds = passed;
    Q_EMIT runningChanged();
  }
}

double FrontSearch::seconds() const {
  constexpr double kThousand = 1000;
  return m_isRunning ? static_cast<double>(m_clock.elapsed()) / kThousand : m_seconds;
}

void FrontSearch::collect() {
  if (!m_shared) {
    return;
  }
  std::vector<Shared::Decided> decided;
  bool isDone = false;
  bool isChanged = false;
  {
    const std::lock_guard lock(m_shared->mutex);
    decided = std::exchange(m_shared->decided, {});
    isDone = m_shared->isDone;
    isChanged = !decided.empty() || m_bounds != m_shared->bounds;
    m_bounds = m_shared->bounds;
  }
  for (Shared::Decided& each : decided) {
    FrontCandidate candidate{each.candidate.size, each.candidate.verdict, QString::fromStdString(each.candidate.reason),
                             each.candidate.seconds};
    if (const auto bound = m_bounds.find(candidate.size.steps); bound != m_bounds.end()) {
      candidate.bound = bound->second;
    }
    if (each.found) {
      candidate.isOptimal = each.found->isOptimal;
      candidate.algbw = each.found->judged.algbw;
      m_unmeasured.push_back(
          {m_candidates.size(), std::make_shared<const schedule::AnySchedule>(std::move(each.found->judged.schedule))});
    }
    m_candidates.push_back(std::move(candidate));
  }
  if (isDone) {
    // Nothing is written after this.
    m_timer.stop();
    m_end = m_shared->end;
    if (m_shared->error && m_shared->error->code != ErrorCode::cancelled) {
      m_failure = sentence(*m_shared->error);
    }
    m_seconds = seconds();
    m_shared.reset();
  }
  const bool hasEnded = isDone && std::exchange(m_isRunning, false);
  measureNext();
  if (isChanged || isDone) {
    Q_EMIT changed();
  }
  if (hasEnded) {
    Q_EMIT runningChanged();
  }
}

void FrontSearch::measureNext() {
  if (m_unmeasured.empty() || m_job.isRunning()) {
    return;
  }
  const Unmeasured& next = m_unmeasured.front();
  const ScheduleOptions options = optionsOf(m_request, m_candidates[next.candidate].size);
  m_job.submit([facts = m_facts, next, options](std::stop_token stop) {
    Progress progress;
    progress.stop = std::move(stop);
    auto fabric = fabric::Fabric::build(*facts);
    return Measured{next.candidate, fabric
                                        ? examineSchedule(*facts, *std::move(fabric), *next.schedule, options, progress)
                                        : Result<ScheduleResultPtr>(fabric.error())};
  });
}

void FrontSearch::receive(const Measured& measured) {
  if (m_unmeasured.empty() || m_unmeasured.front().candidate != measured.candidate) {
    return;  // of an earlier search
  }
  m_unmeasured.pop_front();
  if (*measured.result) {
    const auto result = std::const_pointer_cast<ScheduleResult>(measured.result->value());
    result->origin = originOf(result->options);
    result->seconds = m_candidates[measured.candidate].seconds;
    m_candidates[measured.candidate].result = result;
  } else {
    m_failure = sentence(measured.result->error());
  }
  measureNext();
  Q_EMIT changed();
}

std::vector<std::size_t> FrontSearch::front() const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < m_candidates.size(); ++i) {
    if (m_candidates[i].verdict == synth::Verdict::sat) {
      found.push_back(i);
    }
  }
  std::stable_sort(found.begin(), found.end(), [this](std::size_t a, std::size_t b) {
    const FrontCandidate& left = m_candidates[a];
    const FrontCandidate& right = m_candidates[b];
    return left.size.steps != right.size.steps ? left.size.steps < right.size.steps : left.ratio() < right.ratio();
  });
  std::vector<std::size_t> front;
  for (const std::size_t each : found) {
    if (front.empty() || m_candidates[each].ratio() < m_candidates[front.back()].ratio()) {
      front.push_back(each);
    }
  }
  return front;
}

}  // namespace coppice::designer
