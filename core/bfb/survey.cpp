// SPDX-License-Identifier: Apache-2.0
#include "bfb/survey.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <string>

#include "base/parallel.hpp"

namespace coppice::bfb {
namespace {

using std::int64_t;

constexpr std::size_t kBitsOfMask = 64;
/// Ranges of targets that threads work on; each solves its own problems.
constexpr int64_t kMaxBlocks = 16;

/// The hardest problem of a step so far.
struct Hardest {
  const StepLoad* value = nullptr;
  int node = -1;
};

Error noPath(int from, int to) {
  return {ErrorCode::infeasible, "Node " + std::to_string(from) + " has no path to node " + std::to_string(to),
          "add links until every node reaches every other"};
}

struct BlockFault {
  int target = -1;
  int unreached = -1;
};

void readBlock(const Deliveries& deliveries, SurveyBlock& block, std::vector<int64_t>& pairs, BlockFault& fault,
               const Progress& progress) {
  DeliveryReader reader(deliveries);
  block.start.push_back(0);
  for (int target = block.first; target < block.last; ++target) {
    throwIfCancelled(progress);
    if (!reader.find(target)) {
      fault = {target, reader.unreached()};
      return;
    }
    for (int i = 0; i < reader.count(); ++i) {
      const Arrivals& arrivals = reader.at(i, false);
      const auto at = static_cast<std::size_t>(arrivals.step);
      pairs.resize(std::max(pairs.size(), at), 0);
      pairs[at - 1] += std::accumulate(arrivals.problem.counts.begin(), arrivals.problem.counts.end(), int64_t{0});
      block.steps.push_back({arrivals.step, static_cast<std::uint32_t>(block.problems.add(arrivals.problem))});
    }
    block.start.push_back(block.steps.size());
  }
}

TightSet tightSet(const InLinks& in, const Hardest& hardest) {
  TightSet set{hardest.node, {}, hardest.value->shards, hardest.value->width};
  const auto links = in.linksInto(hardest.node);
  for (std::size_t j = 0; j < links.size(); ++j) {
    if ((hardest.value->tight[j / kBitsOfMask] >> (j % kBitsOfMask) & 1) != 0) {
      set.links.push_back(links[j]);
    }
  }
  std::sort(set.links.begin(), set.links.end());
  return set;
}

void judge(const InLinks& in, Survey& found) {
  std::vector<Hardest> hardest(found.pairs.size());
  for (const SurveyBlock& block : found.blocks) {
    for (int target = block.first; target < block.last; ++target) {
      const auto at = static_cast<std::size_t>(target - block.first);
      for (std::size_t i = block.start[at]; i < block.start[at + 1]; ++i) {
        const StepLoad& value = block.problems.value(block.steps[i].problem);
        Hardest& step = hardest[block.steps[i].step - 1];
        if (step.value == nullptr || value.ratio > step.value->ratio) {
          step = {&value, target};
        }
      }
    }
  }
  for (const Hardest& step : hardest) {
    found.stepLoads.push_back(step.value->ratio);
    found.tight.push_back(tightSet(in, step));
  }
}

}  // namespace

Deliveries::Deliveries(const Digraph& digraph, std::optional<int> root) : m_in(digraph), m_root(root) {
  if (!root) {
    return;
  }
  const InLinks out(transposed(digraph));
  Levels levels(out);
  if (!levels.find(*root)) {
    m_unreached = levels.unreached();
  }
  for (int node = 0; node < digraph.nodeCount; ++node) {
    m_fromRoot.push_back(levels.distance(node));
  }
}

DeliveryReader::DeliveryReader(const Deliveries& deliveries) : m_deliveries(deliveries), m_levels(deliveries.in()) {}

bool DeliveryReader::find(int target) {
  m_target = target;
  return m_deliveries.root() || m_levels.find(target);
}

int DeliveryReader::count() const {
  return m_deliveries.root() ? (m_target == *m_deliveries.root() ? 0 : 1) : m_levels.count();
}

const Arrivals& DeliveryReader::at(int i, bool wantsClasses) {
  if (m_deliveries.root()) {
    readRooted();
    return m_arrivals;
  }
  m_arrivals.step = i + 1;
  m_levels.group(i + 1, m_arrivals.problem, wantsClasses ? &m_arrivals.classOf : nullptr);
  if (wantsClasses) {
    const auto nodes = m_levels.nodes(i + 1);
    m_arrivals.owners.assign(nodes.begin(), nodes.end());
  }
  return m_arrivals;
}

/// One shard, which may use every link from a node that is one step nearer to the root.
void DeliveryReader::readRooted() {
  const auto tails = m_deliveries.in().tailsInto(m_target);
  const auto widths = m_deliveries.in().widthsInto(m_target);
  StepProblem& problem = m_arrivals.problem;
  m_arrivals.step = m_deliveries.fromRoot()[m_target];
  problem.words = (tails.size() + kBitsOfMask - 1) / kBitsOfMask;
  problem.masks.assign(problem.words, 0);
  problem.counts.assign(1, 1);
  problem.widths.assign(widths.begin(), widths.end());
  const auto latencies = m_deliveries.in().latenciesInto(m_target);
  problem.latencies.assign(latencies.begin(), latencies.end());
  for (std::size_t j = 0; j < tails.size(); ++j) {
    if (m_deliveries.fromRoot()[tails[j]] == m_arrivals.step - 1) {
      problem.masks[j / kBitsOfMask] |= Word{1} << (j % kBitsOfMask);
    }
  }
  m_arrivals.owners.assign(1, *m_deliveries.root());
  m_arrivals.classOf.assign(1, 0);
}

Result<Survey> survey(const Deliveries& deliveries, int firstTarget, int lastTarget, const Progress& progress) {
  if (deliveries.unreached() >= 0) {
    return noPath(*deliveries.root(), deliveries.unreached());
  }
  const int64_t targets = lastTarget - firstTarget;
  const int64_t blocks = std::min<int64_t>(targets, kMaxBlocks);
  Survey found;
  found.blocks.resize(blocks);
  std::vector<std::vector<int64_t>> pairs(found.blocks.size());
  std::vector<BlockFault> faults(found.blocks.size());
  std::atomic<int64_t> done = 0;
  parallelFor(found.blocks.size(), [&](std::size_t at) {
    const auto i = static_cast<int64_t>(at);
    SurveyBlock& block = found.blocks[at];
    block.first = firstTarget + static_cast<int>(targets * i / blocks);
    block.last = firstTarget + static_cast<int>(targets * (i + 1) / blocks);
    readBlock(deliveries, block, pairs[at], faults[at], progress);
    progress.report("loads", static_cast<double>(++done) / static_cast<double>(blocks));
  });
  for (std::size_t at = 0; at < found.blocks.size(); ++at) {
    if (faults[at].unreached >= 0) {
      return noPath(faults[at].unreached, faults[at].target);
    }
    found.pairs.resize(std::max(found.pairs.size(), pairs[at].size()), 0);
    std::transform(pairs[at].begin(), pairs[at].end(), found.pairs.begin(), found.pairs.begin(), std::plus<>());
  }
  judge(deliveries.in(), found);
  return found;
}

}  // namespace coppice::bfb
