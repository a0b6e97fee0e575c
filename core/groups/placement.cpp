// SPDX-License-Identifier: Apache-2.0
#include "groups/placement.hpp"

#include <algorithm>
#include <queue>
#include <string>
#include <utility>

#include "base/failure.hpp"
#include "groups/regions.hpp"
#include "symmetry/fabric_parts.hpp"

namespace coppice::groups {
namespace {

using fabric::Rank;
using schedule::ConcurrentDemand;
using schedule::PlacementQuestion;
using std::int64_t;

/// Numbers that one rate touches for each link, about.
constexpr int64_t kWorkOfLink = 1024;
constexpr int64_t kLeastTried = 8;
constexpr int64_t kOrbitWork = int64_t{1} << 24;

std::optional<Error> faultOf(const fabric::Fabric& fabric, const PlacementQuestion& question) {
  const auto free = std::count(question.isFree.begin(), question.isFree.end(), true);
  if (question.isFree.size() != fabric.gpus().size()) {
    return Error{ErrorCode::badUsage, "which GPUs are free is not known of all", "say it of each rank"};
  }
  if (question.size < 2 || question.size > free) {
    return Error{ErrorCode::badUsage,
                 std::to_string(question.size) + " of " + std::to_string(free) + " free GPUs cannot be chosen",
                 "choose at least 2, and no more than are free"};
  }
  switch (question.collective) {
    case Collective::allgather:
    case Collective::reduceScatter:
    case Collective::allreduce:
    case Collective::alltoall:
      return std::nullopt;
    default:
      return Error{ErrorCode::badUsage, "GPUs are not placed for " + std::string(toString(question.collective)),
                   "use allgather, reduce_scatter, allreduce or alltoall"};
  }
}

/// Every link has one back with the same bandwidth.
bool isSymmetric(const fabric::Fabric& fabric) {
  return std::all_of(fabric.arcs().begin(), fabric.arcs().end(), [&](const fabric::Arc& arc) {
    const auto back = fabric.findArc(arc.head, arc.tail);
    return back && fabric.arcs()[*back].bandwidth == arc.bandwidth;
  });
}

/// First members of choices, and which GPUs may still join them: those of m_order from `next` on.
struct Branch {
  Bandwidth bound;
  std::vector<int> members;  ///< into m_order, ascending
  int next = 0;

  /// The best first; of equal ones, those nearest to a choice.
  friend bool operator<(const Branch& a, const Branch& b) {
    return a.bound != b.bound ? a.bound < b.bound : a.members.size() < b.members.size();
  }
};

class Search {
public:
  Search(const fabric::Fabric& fabric, const PlacementQuestion& question, const PlacementRequest& request,
         const Progress& progress)
      : m_fabric(fabric), m_question(question), m_progress(progress), m_regions(fabric, question) {
    m_quiet = progress;
    m_quiet.onReport = {};
    m_maxTried = std::max(kLeastTried, request.work / (kWorkOfLink * static_cast<int64_t>(fabric.arcs().size())));
  }

  Placement run() {
    m_best.cutBound = m_regions.bound(m_progress);
    m_best.upper = m_best.cutBound;
    for (const auto taste : {Regions::Taste::packed, Regions::Taste::spread}) {
      if (const auto ranks = m_regions.choose(m_best.cutBound, taste); ranks && !isDone()) {
        tryChoice(*ranks);
      }
    }
    exchange();
    if (!isDone() && isSymmetric(m_fabric)) {
      divide();
    }
    if (m_best.ranks.empty()) {
      throw Failure{{ErrorCode::infeasible,
                     "no " + std::to_string(m_question.size) +
                         " of the free GPUs were found that reach each other "
                         "without GPUs that are not chosen",
                     "let the other GPUs pass data on, or free more of them"}};
    }
    m_best.tried = m_tried;
    m_best.regions = m_regions.list();
    return std::move(m_best);
  }

private:
  [[nodiscard]] bool isDone() const { return !m_best.ranks.empty() && m_best.optimum.lower >= m_best.upper; }

  /// Nothing where the members do not reach each other.
  [[nodiscard]] std::optional<Optimum> rateOf(const ConcurrentDemand& demand) {
    ++m_tried;
    auto found = groups::optimum(m_fabric, demand, {}, m_quiet);
    if (!found && found.error().code == ErrorCode::infeasible) {
      return std::nullopt;
    }
    return orThrow(std::move(found));
  }

  /// True where it is the best one so far.
  bool tryChoice(std::vector<Rank> ranks) {
    auto optimum = rateOf(demandOf(m_question, ranks));
    m_triedUpper = optimum ? std::max(m_triedUpper, optimum->upper) : m_triedUpper;
    if (!optimum || (!m_best.ranks.empty() && optimum->lower <= m_best.optimum.lower)) {
      return false;
    }
    m_best.ranks = std::move(ranks);
    m_best.optimum = *std::move(optimum);
    const double part =
        m_best.optimum.lower / m_best.upper > Rational(1) ? 1.0 : (m_best.optimum.lower / m_best.upper).toDouble();
    m_progress.report("placing", part);
    return true;
  }

  /// One member for another GPU, while that is faster.
  void exchange() {
    const int64_t last = m_maxTried / 4;
    for (bool isBetter = true; isBetter && !isDone() && !m_best.ranks.empty();) {
      isBetter = false;
      const std::vector<Rank> from = m_best.ranks;
      for (std::size_t place = 0; place < from.size() && !isBetter; ++place) {
        for (Rank rank = 0; rank < m_fabric.gpuCount() && !isBetter && m_tried < last; ++rank) {
          if (m_question.isFree[rank] && !std::binary_search(from.begin(), from.end(), rank)) {
            std::vector<Rank> ranks = from;
            ranks[place] = rank;
            std::sort(ranks.begin(), ranks.end());
            isBetter = tryChoice(std::move(ranks));
          }
        }
      }
    }
  }

  /// Free GPUs, those that symmetries take to each other side by side.
  void orderGpus() {
    std::vector<int64_t> free(m_question.isFree.begin(), m_question.isFree.end());
    const symmetry::ColouredDigraph graph = symmetry::graphOf(m_fabric, free);
    const symmetry::Orbits orbits =
        symmetry::orbitsOf(graph, symmetry::candidateParts(graph, m_fabric), kOrbitWork, m_quiet);
    for (Rank rank = 0; rank < m_fabric.gpuCount(); ++rank) {
      if (m_question.isFree[rank]) {
        m_order.push_back(rank);
      }
    }
    const auto orbitOf = [&](Rank rank) { return orbits.ofNode[m_fabric.gpus()[rank]]; };
    std::stable_sort(m_order.begin(), m_order.end(), [&](Rank a, Rank b) { return orbitOf(a) < orbitOf(b); });
    for (std::size_t i = 0; i < m_order.size(); ++i) {
      m_isFirst.push_back(i == 0 || orbitOf(m_order[i]) != orbitOf(m_order[i - 1]) ? 1 : 0);
    }
  }

  /// No choice with these members is faster, where every link has one back. The trees of the others' data, and the
  /// others themselves, are left out; GPUs that may be chosen pass data on. Relays that do not copy are then no
  /// restriction: trees between the members alone reach what all cuts allow (edge splitting). An allreduce crosses
  /// every cut once, as a broadcast does.
  [[nodiscard]] Bandwidth boundOf(const Branch& branch) {
    const int count = static_cast<int>(branch.members.size());
    if (count < 2) {
      return branch.bound;
    }
    std::vector<Rank> ranks;
    for (const int member : branch.members) {
      ranks.push_back(m_order[member]);
    }
    ConcurrentDemand demand = demandOf(m_question, std::move(ranks));
    if (!m_question.relays) {
      demand.relays.assign(m_fabric.gpus().size(), false);
      for (std::size_t i = static_cast<std::size_t>(branch.next); i < m_order.size(); ++i) {
        demand.relays[m_order[i]] = true;
      }
    }
    Rational more(m_question.size, count);
    if (m_question.collective == Collective::allreduce) {
      demand.groups.front().collective = Collective::broadcast;
      more = 1;
    }
    const auto optimum = rateOf(demand);
    return optimum ? std::min(branch.bound, optimum->upper * more) : Bandwidth();
  }

  void divide() {
    orderGpus();
    std::priority_queue<Branch> open;
    open.push({m_best.upper, {}, 0});
    const auto mayWin = [&](const Bandwidth& bound) {
      return bound.isPositive() && (m_best.ranks.empty() || bound > m_best.optimum.lower);
    };
    while (!open.empty() && mayWin(open.top().bound) && m_tried < m_maxTried) {
      throwIfCancelled(m_progress);
      const Branch branch = open.top();
      open.pop();
      const int missing = m_question.size - static_cast<int>(branch.members.size());
      for (int i = branch.next; i + missing <= static_cast<int>(m_order.size()); ++i) {
        if (branch.members.empty() && m_isFirst[i] == 0) {
          continue;
        }
        Branch longer{branch.bound, branch.members, i + 1};
        longer.members.push_back(i);
        if (missing > 1) {
          longer.bound = boundOf(longer);
          if (mayWin(longer.bound)) {
            open.push(std::move(longer));
          }
        } else {
          std::vector<Rank> ranks;
          for (const int member : longer.members) {
            ranks.push_back(m_order[member]);
          }
          std::sort(ranks.begin(), ranks.end());
          tryChoice(std::move(ranks));
        }
      }
    }
    m_best.isSearched = open.empty() || !mayWin(open.top().bound);
    // What was tried is known to its upper bound alone where that was not reached.
    const Bandwidth others = m_best.isSearched ? Bandwidth() : open.top().bound;
    m_best.upper = std::min(m_best.cutBound, std::max(m_triedUpper, others));
  }

  const fabric::Fabric& m_fabric;
  const PlacementQuestion& m_question;
  const Progress& m_progress;
  Progress m_quiet;
  Regions m_regions;
  std::vector<Rank> m_order;
  std::vector<char> m_isFirst;  ///< of its orbit, by place in m_order
  Placement m_best;
  Bandwidth m_triedUpper;  ///< of the choices that were tried
  int64_t m_tried = 0;
  int64_t m_maxTried = 0;
};

}  // namespace

ConcurrentDemand demandOf(const PlacementQuestion& question, std::vector<Rank> ranks) {
  ConcurrentDemand demand;
  if (question.relays) {
    demand.relays.assign(question.isFree.size(), true);
  }
  demand.groups.push_back({.ranks = std::move(ranks), .collective = question.collective});
  return demand;
}

Result<Placement> place(const fabric::Fabric& fabric, const PlacementQuestion& question,
                        const PlacementRequest& request, const Progress& progress) {
  if (auto fault = faultOf(fabric, question)) {
    return *std::move(fault);
  }
  return guarded([&] { return Search(fabric, question, request, progress).run(); });
}

}  // namespace coppice::groups
