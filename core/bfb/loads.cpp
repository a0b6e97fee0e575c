// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <numeric>
#include <string>

#include "base/checked.hpp"
#include "base/parallel.hpp"
#include "bfb/bfb.hpp"
#include "bfb/jobs.hpp"

namespace coppice::bfb {
namespace {

using std::int64_t;

constexpr std::size_t kBits = 64;

/// The hardest problem of a step so far.
struct Hardest {
  HallValue value;
  int node = -1;
};

/// What a range of targets says.
struct Part {
  std::vector<Hardest> steps;
  std::vector<int64_t> pairs;
  int unreachedTarget = -1;
  int unreached = -1;
};

class Survey {
public:
  Survey(const Digraph& digraph, const Progress& progress) : m_digraph(digraph), m_progress(progress), m_in(digraph) {}

  Result<Loads> run(int first, int last) {
    const int targets = last - first;
    const int blocks = std::min(targets, 64);
    std::vector<Part> parts(static_cast<std::size_t>(blocks));
    parallelFor(parts.size(), [&](std::size_t block) {
      const auto at = static_cast<int64_t>(block);
      measure(first + static_cast<int>(targets * at / blocks), first + static_cast<int>(targets * (at + 1) / blocks),
              parts[block]);
    });
    return merge(parts, m_digraph.nodeCount / targets);
  }

private:
  void measure(int first, int last, Part& part) {
    Levels levels(m_in);
    HallMemo memo;
    HallProblem problem;
    for (int target = first; target < last; ++target) {
      throwIfCancelled(m_progress);
      if (!levels.find(target)) {
        part.unreachedTarget = target;
        part.unreached = levels.unreached();
        return;
      }
      part.steps.resize(std::max<std::size_t>(part.steps.size(), static_cast<std::size_t>(levels.count())));
      part.pairs.resize(part.steps.size(), 0);
      for (int t = 1; t <= levels.count(); ++t) {
        levels.group(t, problem, nullptr);
        const HallValue& value = memo.solve(problem);
        const auto at = static_cast<std::size_t>(t - 1);
        part.pairs[at] += static_cast<int64_t>(levels.nodes(t).size());
        if (part.steps[at].node < 0 || value.ratio > part.steps[at].value.ratio) {
          part.steps[at] = {value, target};
        }
      }
    }
    m_progress.report("loads", static_cast<double>(m_done += last - first) / m_digraph.nodeCount);
  }

  [[nodiscard]] Result<Loads> merge(std::vector<Part>& parts, int64_t times) const {
    Loads loads{m_digraph.nodeCount, m_digraph.degree(), {}, {}, {}};
    std::vector<const Hardest*> hardest;
    for (const Part& part : parts) {
      if (part.unreached >= 0) {
        return Error{
            ErrorCode::infeasible,
            "Node " + std::to_string(part.unreached) + " has no path to node " + std::to_string(part.unreachedTarget),
            "add links until every node reaches every other"};
      }
      const std::size_t steps = std::max(hardest.size(), part.steps.size());
      hardest.resize(steps, nullptr);
      loads.pairs.resize(steps, 0);
      for (std::size_t t = 0; t < part.steps.size(); ++t) {
        loads.pairs[t] += part.pairs[t] * times;
        if (hardest[t] == nullptr || part.steps[t].value.ratio > hardest[t]->value.ratio) {
          hardest[t] = &part.steps[t];
        }
      }
    }
    for (const Hardest* step : hardest) {
      loads.stepLoads.push_back(step->value.ratio);
      loads.tight.push_back(tightSet(*step));
    }
    return loads;
  }

  [[nodiscard]] TightSet tightSet(const Hardest& hardest) const {
    TightSet set{hardest.node, {}, hardest.value.jobs, hardest.value.width};
    const auto links = m_in.linksInto(hardest.node);
    for (std::size_t j = 0; j < links.size(); ++j) {
      if ((hardest.value.tight[j / kBits] >> (j % kBits) & 1) != 0) {
        set.links.push_back(links[j]);
      }
    }
    std::sort(set.links.begin(), set.links.end());
    return set;
  }

  const Digraph& m_digraph;
  const Progress& m_progress;
  InLinks m_in;
  std::atomic<int> m_done = 0;
};

std::optional<Error> faultOf(const Digraph& digraph, const LoadOptions& options) {
  if (digraph.nodeCount < 2) {
    return Error{ErrorCode::badUsage, "A collective needs at least two nodes", "add nodes"};
  }
  if (options.onlyTarget && (*options.onlyTarget < 0 || *options.onlyTarget >= digraph.nodeCount)) {
    return Error{ErrorCode::badUsage, "There is no node " + std::to_string(*options.onlyTarget)};
  }
  for (std::size_t i = 0; i < digraph.links.size(); ++i) {
    const Link& link = digraph.links[i];
    const std::string name = "link " + std::to_string(i);
    if (std::min(link.tail, link.head) < 0 || std::max(link.tail, link.head) >= digraph.nodeCount) {
      return Error{ErrorCode::badUsage, "It joins a node that is not there", "number nodes from 0", {.element = name}};
    }
    if (link.width < 1) {
      return Error{
          ErrorCode::badUsage, "Its width is " + std::to_string(link.width), "leave the link out", {.element = name}};
    }
  }
  return std::nullopt;
}

}  // namespace

int64_t Digraph::degree() const {
  std::vector<int64_t> in(static_cast<std::size_t>(nodeCount), 0);
  std::vector<int64_t> out(static_cast<std::size_t>(nodeCount), 0);
  for (const Link& link : links) {
    in[link.head] = checkedAdd(in[link.head], link.width);
    out[link.tail] = checkedAdd(out[link.tail], link.width);
  }
  const auto most = [](const std::vector<int64_t>& sums) {
    return sums.empty() ? 0 : *std::max_element(sums.begin(), sums.end());
  };
  return std::max(most(in), most(out));
}

Rational Loads::bandwidthTime() const {
  return std::accumulate(stepLoads.begin(), stepLoads.end(), Rational()) * Rational(degree, nodeCount);
}

bool Loads::isBandwidthOptimal() const {
  return bandwidthTime() == Rational(nodeCount - 1, nodeCount);
}

int64_t Loads::denominator() const {
  int64_t common = 1;
  for (const Rational& load : stepLoads) {
    common = leastCommonMultiple(common, load.denominator());
  }
  return common;
}

Result<Loads> loads(const Digraph& digraph, const LoadOptions& options, const Progress& progress) {
  if (auto fault = faultOf(digraph, options)) {
    return *std::move(fault);
  }
  try {
    const int first = options.onlyTarget.value_or(0);
    return Survey(digraph, progress).run(first, options.onlyTarget ? first + 1 : digraph.nodeCount);
  } catch (const OverflowError&) {
    return Error{ErrorCode::overflow, "The loads leave the 64-bit range", "use links of simpler widths"};
  } catch (const CancelledError&) {
    return Error{ErrorCode::cancelled, "cancelled"};
  }
}

Digraph transposed(const Digraph& digraph) {
  Digraph turned = digraph;
  for (Link& link : turned.links) {
    std::swap(link.tail, link.head);
  }
  return turned;
}

}  // namespace coppice::bfb
