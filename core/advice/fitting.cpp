// SPDX-License-Identifier: Apache-2.0
#include "advice/fitting.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/checked.hpp"
#include "base/failure.hpp"
#include "forestcoll/peers/peer_limit.hpp"
#include "lowering/footprint.hpp"
#include "schedule/peers.hpp"

namespace coppice::advice {
namespace {

std::int64_t treesPerRoot(const schedule::Schedule& schedule) {
  std::int64_t k = 0;
  for (const auto* forest : {&schedule.reduceForest, &schedule.broadcastForest}) {
    if (*forest) {
      for (const std::int64_t trees : (*forest)->treesOfRoot) {
        k = std::max(k, trees);
      }
    }
  }
  return k;
}

/// k/2, k/4 and so on, few of them and 1 at last.
std::vector<std::int64_t> fewerTrees(std::int64_t k) {
  constexpr int kMaxTries = 4;
  std::vector<std::int64_t> counts;
  for (std::int64_t count = k / 2; count > 1 && static_cast<int>(counts.size()) < kMaxTries; count /= 2) {
    counts.push_back(count);
  }
  if (k > 1) {
    counts.push_back(1);
  }
  return counts;
}

std::vector<int> fewerPeers(int peers) {
  std::vector<int> limits;
  for (const auto& [part, whole] : {std::pair(3, 4), std::pair(1, 2), std::pair(1, 4), std::pair(1, 8)}) {
    const int limit = peers * part / whole;
    if (limit >= 2 && (limits.empty() || limit < limits.back())) {
      limits.push_back(limit);
    }
  }
  return limits;
}

class Search {
public:
  Search(const fabric::Fabric& fabric, const forestcoll::Request& request, const lowering::Options& options,
         const Bandwidth& optimum, std::int64_t maxMessages, const Progress& progress)
      : m_fabric(fabric),
        m_request(withoutTreeLimits(request)),
        m_options(options),
        m_optimum(optimum),
        m_progress(progress),
        m_messagesLeft(maxMessages) {
    m_request.allreduceBudget = {};
    m_quiet = progress;
    m_quiet.onReport = nullptr;
  }

  Fits run(std::int64_t k, int peers) {
    const std::vector<std::int64_t> trees = fewerTrees(k);
    const std::vector<int> limits = fewerPeers(peers);
    m_tries = trees.size() + limits.size();
    const auto firstOf = [&](const auto& values, const auto& attempt) {
      for (const auto value : values) {
        if (auto fit = attempt(value)) {
          m_found.fits.push_back(*std::move(fit));
          return true;
        }
      }
      return false;
    };
    // The number of trees stays free: what the limit costs, it costs with the best of them.
    const bool peersFit = firstOf(limits, [&](int limit) { return tryOut(std::nullopt, limit); });
    firstOf(trees, [&](std::int64_t count) { return tryOut(count, std::nullopt); });
    if (!peersFit && !limits.empty()) {
      m_tries += trees.size();
      const int limit = limits[limits.size() / 2];
      firstOf(trees, [&](std::int64_t count) { return tryOut(count, limit); });
    }
    std::stable_sort(m_found.fits.begin(), m_found.fits.end(), [](const Fit& a, const Fit& b) {
      return a.algbw != b.algbw ? a.algbw > b.algbw : a.height < b.height;
    });
    return std::move(m_found);
  }

private:
  std::optional<Fit> tryOut(std::optional<std::int64_t> k, std::optional<int> maxPeers) {
    throwIfCancelled(m_progress);
    if (m_messagesLeft <= 0) {
      m_found.untried.push_back({.k = k, .maxPeers = maxPeers});
      return std::nullopt;
    }
    // At least: what cannot be generated took its time too.
    const std::int64_t least = (isRooted(m_request.collective) ? std::int64_t{1} : std::int64_t{m_fabric.gpuCount()}) *
                               (m_fabric.gpuCount() - 1);
    m_messagesLeft -= least;
    m_progress.report("trying fixes", static_cast<double>(m_done++) / static_cast<double>(m_tries));
    forestcoll::Request request = m_request;
    request.fixedK = k;
    schedule::Schedule schedule;
    std::optional<int> peers;
    if (maxPeers) {
      auto limited = forestcoll::generateWithPeers(m_fabric, request, *maxPeers, m_quiet);
      // A looser limit with the same number of peers has not fitted either.
      const bool isNew = limited && m_seen.emplace(k.value_or(0), limited->maxPeers).second;
      if (!isNew) {
        throwIfCancelled(m_progress);
        return std::nullopt;
      }
      peers = limited->maxPeers;
      schedule = std::move(limited->generated.schedule);
    } else {
      auto generated = forestcoll::generate(m_fabric, request, m_quiet);
      if (!generated) {
        throwIfCancelled(m_progress);
        return std::nullopt;
      }
      schedule = std::move(generated->schedule);
    }
    m_messagesLeft -= std::max<std::int64_t>(0, lowering::messagesOf(schedule) - least);
    const auto program = lowering::footprint(m_fabric, schedule, m_options, m_quiet);
    if (!program) {
      throwIfCancelled(m_progress);
      return std::nullopt;
    }
    Fit fit{.k = k,
            .maxPeers = maxPeers,
            .peers = peers,
            .algbw = schedule.algbw,
            .share = schedule.algbw / m_optimum,
            .threadBlocks = program->threadBlocks,
            .isWritten = program->isWritten};
    for (const auto* forest : {&schedule.reduceForest, &schedule.broadcastForest}) {
      if (*forest) {
        fit.height = std::max(fit.height, schedule::maxHeight(**forest));
      }
    }
    return fit;
  }

  const fabric::Fabric& m_fabric;
  forestcoll::Request m_request;
  const lowering::Options& m_options;
  Bandwidth m_optimum;
  const Progress& m_progress;
  Progress m_quiet;
  std::size_t m_tries = 1;
  std::size_t m_done = 0;
  std::int64_t m_messagesLeft;
  Fits m_found;
  std::set<std::pair<std::int64_t, int>> m_seen;  ///< k (0 = free) and peers of schedules that were lowered
};

}  // namespace

forestcoll::Request requestOf(const schedule::Schedule& schedule) {
  forestcoll::Request request;
  request.collective = schedule.collective;
  request.root = schedule.root;
  request.amounts = schedule.amounts;
  return request;
}

Result<Fits> whatFits(const fabric::Fabric& fabric, const forestcoll::Request& request,
                      const schedule::Schedule& schedule, const lowering::Options& options, const Progress& progress,
                      std::int64_t maxMessages) {
  return guarded(
      [&]() -> Result<Fits> {
        if (!request.amounts.empty()) {
          return Fits();  // no program has different amounts, whatever the trees
        }
        if (auto never = lowering::neverFits(fabric.gpuCount(), schedule.collective, options)) {
          return Fits{.never = std::move(never)};
        }
        forestcoll::Request free = withoutTreeLimits(request);
        free.allreduceBudget = {};
        const auto optimum = forestcoll::optimum(fabric, free, progress);
        if (!optimum) {
          return optimum.error();
        }
        Search search(fabric, request, options, optimum->algbw, maxMessages, progress);
        return search.run(treesPerRoot(schedule), schedule::maxPeers(schedule, fabric, progress));
      },
      {.overflowFix = {}});
}

}  // namespace coppice::advice
