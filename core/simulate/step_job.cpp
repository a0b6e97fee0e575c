// SPDX-License-Identifier: Apache-2.0
#include "simulate/step_job.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "schedule/step_routes.hpp"
#include "schedule/transfer_order.hpp"

namespace coppice::simulate {
namespace {

using schedule::StepSchedule;
using schedule::Transfer;

/// Messages of a phase.
constexpr std::size_t kMaxParts = std::size_t{1} << 26;

class StepJobBuilder {
public:
  StepJobBuilder(const fabric::Fabric& fabric, const StepSchedule& schedule, const Model& model,
                 const Progress& progress)
      : m_schedule(schedule),
        m_progress(progress),
        m_finder(fabric, m_found),
        m_job(fabric, model),
        m_routes(schedule.paths.size(), kNoRoute) {}

  Result<Job> synchronous(Barriers barriers) {
    m_job.setLabels(LabelKind::step);
    if (const Outcome added = addSteps(); !added) {
      return added.error();
    }
    if (barriers == Barriers::steps) {
      addBarriers([&](MessageId id) { return m_job.messages()[id].label; });
    } else {
      addDataOfSteps();
      addOrder();
    }
    return std::move(m_job);
  }

  /// One phase of an asynchronous schedule: transfers first to last - 1.
  Result<Job> phase(std::size_t first, std::size_t last) {
    m_job.setLabels(LabelKind::transfer);
    std::vector<std::int32_t> labels;
    const StepSchedule cut = cutAtEnds(first, last, labels);
    const auto order = schedule::transferOrder(cut, m_progress);
    if (!order) {
      return order.error();
    }
    for (std::size_t i = 0; i < cut.transfers.size(); ++i) {
      const Transfer transfer = cut.transfers[i];
      const auto route = routeOf(transfer);
      if (!route) {
        return route.error();
      }
      m_job.add({.route = *route,
                 .share = shareOf(transfer),
                 .from = transfer.from,
                 .to = transfer.to,
                 .label = labels[i],
                 .shard = static_cast<std::int32_t>(transfer.shard),
                 .reduces = transfer.reduces,
                 .added = transfer.reduces ? shareOf(transfer) : 0});
    }
    const auto senders = cut.transfers.senders();
    const auto receivers = cut.transfers.receivers();
    for (MessageId after = 0; after < m_job.messages().size(); ++after) {
      for (std::int64_t i = order->firstWait[after]; i < order->firstWait[after + 1]; ++i) {
        const MessageId before = order->waits[i];
        // It brings data to the sender, or it has to leave before this one comes or goes.
        m_job.wait(
            {.before = before, .after = after, .why = receivers[before] == senders[after] ? Wait::data : Wait::order});
      }
    }
    return std::move(m_job);
  }

private:
  [[nodiscard]] double shareOf(const Transfer& transfer) const {
    return m_schedule.goal.share(transfer.shard).toDouble() * static_cast<double>(transfer.end - transfer.begin) /
           static_cast<double>(m_schedule.denominator);
  }

  [[nodiscard]] StepSchedule emptyPhase() const {
    StepSchedule phase;
    phase.goal = m_schedule.goal;
    phase.denominator = m_schedule.denominator;
    phase.isSynchronous = false;
    phase.keepsOrder = m_schedule.keepsOrder;
    return phase;
  }

  /// The transfers of a phase, each cut where another one of its shard begins or ends, so that two of them have the
  /// same piece or none in common. @param labels of each, the transfer that it was
  StepSchedule cutAtEnds(std::size_t first, std::size_t last, std::vector<std::int32_t>& labels) {
    StepSchedule all = emptyPhase();
    all.transfers.reserve(last - first);
    for (std::size_t i = first; i < last; ++i) {
      Transfer transfer = m_schedule.transfers[i];
      transfer.step = 0;
      all.transfers.add(transfer);
    }
    struct Part {
      std::uint32_t transfer = 0;
      std::int64_t begin = 0;
      std::int64_t end = 0;
    };
    std::vector<Part> parts;
    const auto byShard = schedule::transfersByShard(all);
    for (std::int64_t shard = 0; shard < all.goal.shardCount(); ++shard) {
      throwIfCancelled(m_progress);
      const schedule::PieceGrid grid = schedule::pieceGrid(all, byShard[shard]);
      if (parts.size() + grid.transfers.entries().size() > kMaxParts) {
        throw schedule::PieceLimitReached{};
      }
      for (std::size_t i = 0; i < grid.transfers.rowCount(); ++i) {
        for (const std::uint32_t transfer : grid.transfers[i]) {
          parts.push_back({transfer, grid.points[i], grid.points[i + 1]});
        }
      }
    }
    std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
      return std::tie(a.transfer, a.begin) < std::tie(b.transfer, b.begin);
    });
    StepSchedule cut = emptyPhase();
    cut.transfers.reserve(parts.size());
    labels.reserve(parts.size());
    for (const Part& part : parts) {
      Transfer transfer = all.transfers[part.transfer];
      transfer.begin = part.begin;
      transfer.end = part.end;
      cut.transfers.add(transfer);
      labels.push_back(static_cast<std::int32_t>(first + part.transfer));
    }
    return cut;
  }

  Result<RouteId> routeOf(const Transfer& transfer) {
    if (transfer.route != schedule::kNoRoute) {
      RouteId& known = m_routes[transfer.route];
      if (known == kNoRoute) {
        const auto route = m_job.route(m_schedule.paths[transfer.route]);
        if (!route) {
          return route.error();
        }
        known = *route;
      }
      return known;
    }
    const schedule::PathId path = m_finder.route(transfer.from, transfer.to);
    if (path == schedule::kNoRoute) {
      return Error{ErrorCode::infeasible,
                   "rank " + std::to_string(transfer.from) + " reaches rank " + std::to_string(transfer.to) +
                       " only through other GPUs",
                   "give the transfers routes, or use a fabric that joins the two"};
    }
    return m_job.route(m_found[path]);
  }

  /// One message for all that goes along one route between two ranks in one step.
  Outcome addSteps() {
    const std::size_t count = m_schedule.transfers.size();
    m_messageOf.resize(count);
    std::vector<std::uint32_t> inStep;
    std::vector<RouteId> routes(count);
    for (std::size_t first = 0, end = 0; first < count; first = end) {
      throwIfCancelled(m_progress);
      const std::int32_t step = m_schedule.transfers.steps()[first];
      inStep.clear();
      for (end = first; end < count && m_schedule.transfers.steps()[end] == step; ++end) {
        const auto route = routeOf(m_schedule.transfers[end]);
        if (!route) {
          return route.error();
        }
        routes[end] = *route;
        inStep.push_back(static_cast<std::uint32_t>(end));
      }
      const auto key = [&](std::uint32_t i) {
        return std::tuple(m_schedule.transfers.senders()[i], m_schedule.transfers.receivers()[i], routes[i], i);
      };
      std::sort(inStep.begin(), inStep.end(), [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
      Message message;
      for (std::size_t i = 0; i < inStep.size(); ++i) {
        const Transfer transfer = m_schedule.transfers[inStep[i]];
        if (i == 0 || message.route != routes[inStep[i]] || message.from != transfer.from ||
            message.to != transfer.to) {
          message = {.route = routes[inStep[i]], .from = transfer.from, .to = transfer.to, .label = step};
          message.shard = static_cast<std::int32_t>(transfer.shard);
          m_job.add(message);
        }
        const auto id = static_cast<MessageId>(m_job.messages().size() - 1);
        if (m_job.messages()[id].shard != transfer.shard) {
          m_job.setShard(id, -1);
        }
        m_job.addShare(id, shareOf(transfer), transfer.reduces);
        m_messageOf[inStep[i]] = id;
      }
    }
    return Done{};
  }

  /// Between the steps. Messages are in the order of their steps. @param stepOf by message
  template <typename StepOf>
  void addBarriers(const StepOf& stepOf) {
    const auto messages = static_cast<MessageId>(m_job.messages().size());
    std::optional<MessageId> barrier;  // that the step waits for
    for (MessageId first = 0, end = 0; first < messages; first = end) {
      std::optional<MessageId> next;
      for (end = first; end < messages && stepOf(end) == stepOf(first); ++end) {
        if (barrier) {
          m_job.wait({.before = *barrier, .after = end, .why = Wait::barrier});
        }
      }
      if (end < messages) {
        next = m_job.add({.label = stepOf(first)});
        for (MessageId id = first; id < end; ++id) {
          m_job.wait({.before = id, .after = *next, .why = Wait::barrier});
        }
      }
      barrier = next;
    }
  }

  /// A transfer waits for all that its sender got of its piece in earlier steps, since the last store.
  void addDataOfSteps() {
    const auto byShard = schedule::transfersByShard(m_schedule);
    std::vector<std::vector<MessageId>> got(m_schedule.goal.rankCount());
    std::vector<fabric::Rank> touched;
    std::vector<std::pair<MessageId, MessageId>> waits;  // after, before
    for (std::int64_t shard = 0; shard < m_schedule.goal.shardCount(); ++shard) {
      throwIfCancelled(m_progress);
      const schedule::PieceGrid grid = schedule::pieceGrid(m_schedule, byShard[shard]);
      for (std::size_t interval = 0; interval < grid.transfers.rowCount(); ++interval) {
        const auto transfers = grid.transfers[interval];
        for (std::size_t first = 0, last = 0; first < transfers.size(); first = last) {
          const std::int32_t step = m_schedule.transfers.steps()[transfers[first]];
          for (last = first; last < transfers.size() && m_schedule.transfers.steps()[transfers[last]] == step; ++last) {
            const std::uint32_t i = transfers[last];
            for (const MessageId before : got[m_schedule.transfers.senders()[i]]) {
              waits.emplace_back(m_messageOf[i], before);
            }
          }
          for (std::size_t i = first; i < last; ++i) {
            const Transfer transfer = m_schedule.transfers[transfers[i]];
            if (!transfer.reduces) {
              got[transfer.to].clear();
            }
            got[transfer.to].push_back(m_messageOf[transfers[i]]);
            touched.push_back(transfer.to);
          }
        }
        for (const fabric::Rank rank : touched) {
          got[rank].clear();
        }
        touched.clear();
      }
      constexpr std::size_t kMergeAt = std::size_t{1} << 24;
      if (waits.size() > m_mergeFrom + kMergeAt) {
        merge(waits);
      }
    }
    merge(waits);
    for (const auto& [after, before] : waits) {
      m_job.wait({.before = before, .after = after, .why = Wait::data});
    }
  }

  void merge(std::vector<std::pair<MessageId, MessageId>>& waits) {
    std::sort(waits.begin(), waits.end());
    waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
    m_mergeFrom = waits.size();
  }

  /// Messages of one connection leave one after another.
  void addOrder() {
    std::unordered_map<std::uint64_t, std::unordered_map<RouteId, MessageId>> last;
    for (MessageId id = 0; id < m_job.messages().size(); ++id) {
      const Message& message = m_job.messages()[id];
      const std::uint64_t pair =
          (std::uint64_t{static_cast<std::uint32_t>(message.from)} << 32U) | static_cast<std::uint32_t>(message.to);
      const auto [place, isNew] = last[pair].try_emplace(message.route, id);
      if (!isNew) {
        m_job.wait({.before = std::exchange(place->second, id), .after = id, .why = Wait::order});
      }
    }
  }

  const StepSchedule& m_schedule;
  const Progress& m_progress;
  schedule::PathPool m_found;
  schedule::RouteFinder m_finder;
  Job m_job;
  std::vector<RouteId> m_routes;       ///< by path of the schedule
  std::vector<MessageId> m_messageOf;  ///< by transfer
  std::size_t m_mergeFrom = 0;
};

}  // namespace

Result<std::vector<Job>> stepJobs(const fabric::Fabric& fabric, const StepSchedule& schedule, const Model& model,
                                  Barriers barriers, const Progress& progress) {
  if (schedule.goal.rankCount() != fabric.gpuCount()) {
    return Error{ErrorCode::badInput,
                 "the schedule is for " + std::to_string(schedule.goal.rankCount()) + " GPUs, the fabric has " +
                     std::to_string(fabric.gpuCount()),
                 "simulate on the fabric that the schedule was generated for"};
  }
  try {
    std::vector<Job> jobs;
    const auto steps = schedule.transfers.steps();
    for (std::size_t first = 0, last = 0; first < steps.size() || jobs.empty(); first = last) {
      last = schedule.isSynchronous
                 ? steps.size()
                 : static_cast<std::size_t>(std::upper_bound(steps.begin() + static_cast<std::ptrdiff_t>(first),
                                                             steps.end(), first < steps.size() ? steps[first] : 0) -
                                            steps.begin());
      StepJobBuilder builder(fabric, schedule, model, progress);
      auto job = schedule.isSynchronous ? builder.synchronous(barriers) : builder.phase(first, last);
      if (!job) {
        return job.error();
      }
      jobs.push_back(*std::move(job));
    }
    return jobs;
  } catch (const schedule::PieceLimitReached&) {
    return Error{ErrorCode::limit, "the pieces of the transfers overlap too often to be separated",
                 "simulate with barriers between the steps"};
  } catch (const CancelledError&) {
    return Error{ErrorCode::cancelled, "the simulation was cancelled"};
  }
}

}  // namespace coppice::simulate
