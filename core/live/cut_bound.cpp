// SPDX-License-Identifier: Apache-2.0
#include "live/cut_bound.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/text.hpp"
#include "forestcoll/optimality.hpp"
#include "live/bound_state.hpp"

namespace coppice::live {
namespace {

using std::int64_t;

/// Up to here the flows of all GPUs cost less than looking for equal parts.
constexpr std::size_t kFewGpus = 32;

[[noreturn]] void failUsage(std::string message, std::string fix) {
  throw Failure{{ErrorCode::badUsage, std::move(message), std::move(fix)}};
}

void checkRequest(const forestcoll::Request& request, int gpuCount) {
  const bool hasRoot = isRooted(request.collective);
  const std::string name(toString(request.collective));
  if (hasRoot != request.root.has_value()) {
    failUsage(name + (hasRoot ? " needs a root" : " has no root"),
              hasRoot ? "name the root GPU" : "leave the root out");
  }
  if (hasRoot && (*request.root < 0 || *request.root >= gpuCount)) {
    failUsage("rank " + std::to_string(*request.root) + " does not exist",
              "the fabric has ranks 0 to " + std::to_string(gpuCount - 1));
  }
  if (request.amounts.empty()) {
    return;
  }
  if ((hasRoot && !movesShards(request.collective)) || request.collective == Collective::allreduce) {
    failUsage(name + " has no amounts per rank", "leave them out");
  }
  if (request.amounts.size() != static_cast<std::size_t>(gpuCount)) {
    failUsage(std::to_string(request.amounts.size()) + " amounts for " + std::to_string(gpuCount) + " GPUs",
              "give one amount per rank");
  }
  if (std::any_of(request.amounts.begin(), request.amounts.end(), [](int64_t amount) { return amount < 0; })) {
    failUsage("an amount is negative", "amounts are 0 or more");
  }
  if (std::all_of(request.amounts.begin(), request.amounts.end(), [](int64_t amount) { return amount == 0; })) {
    failUsage("all amounts are zero", "give at least one rank something to send");
  }
}

/// What each rank has to send, without a common divisor.
std::vector<int64_t> demandOf(const forestcoll::Request& request, std::size_t gpuCount) {
  std::vector<int64_t> demand(gpuCount, 1);
  if (request.root && !movesShards(request.collective)) {
    demand.assign(gpuCount, 0);
    demand[*request.root] = 1;
  } else if (!request.amounts.empty()) {
    demand = request.amounts;
    int64_t divisor = 0;
    for (const int64_t amount : demand) {
      divisor = std::gcd(divisor, amount);
    }
    for (int64_t& amount : demand) {
      amount /= divisor;
    }
  }
  return demand;
}

bool countsWhatLeaves(Collective collective) {
  return collective == Collective::allgather || collective == Collective::broadcast ||
         collective == Collective::gather || collective == Collective::allreduce;
}

/// A fabric as the bound needs it.
struct Facts {
  std::vector<std::string> ids;
  std::vector<std::string_view> boxes;
  std::vector<char> isGpu;
  std::span<const fabric::NodeIndex> gpus;  ///< by rank
  std::span<const fabric::Arc> arcs;
  std::vector<fabric::NodeKind> kinds;
  std::vector<bool> copies;
  std::vector<bool> sums;
};

std::shared_ptr<const forestcoll::TreeGraph> treesOf(const Facts& facts) {
  auto graph = std::make_shared<forestcoll::TreeGraph>();
  graph->nodeCount = static_cast<int>(facts.kinds.size());
  for (const fabric::NodeKind kind : facts.kinds) {
    graph->kindOf.push_back(static_cast<int>(kind));
  }
  graph->boxOf.assign(facts.boxes.begin(), facts.boxes.end());
  graph->copies = facts.copies;
  graph->sums = facts.sums;
  graph->gpus.assign(facts.gpus.begin(), facts.gpus.end());
  for (const fabric::Arc& arc : facts.arcs) {
    graph->arcs.push_back({arc.tail, arc.head, arc.bandwidth});
  }
  return graph;
}

std::shared_ptr<BoundState> makeState(Facts facts, const forestcoll::Request& request, const Progress& progress) {
  checkRequest(request, static_cast<int>(facts.gpus.size()));
  auto state = std::make_shared<BoundState>();
  state->root = request.root ? facts.gpus[*request.root] : -1;
  state->ids = std::move(facts.ids);
  state->boxes.assign(facts.boxes.begin(), facts.boxes.end());
  state->isGpu = std::move(facts.isGpu);
  forestcoll::Network network = forestcoll::makeNetwork(static_cast<int>(state->ids.size()), facts.gpus, facts.arcs,
                                                        demandOf(request, facts.gpus.size()));
  state->unit = network.unit;
  state->arcs = network.arcs;
  state->isBalanced = network.isBalancedAtSwitches();
  std::vector<int> sinks(facts.gpus.begin(), facts.gpus.end());
  if (movesShards(request.collective)) {
    sinks.assign(1, state->root);
  }
  if (facts.gpus.size() > kFewGpus) {
    std::vector<char> isRoot(network.nodeCount, 0);
    if (state->root >= 0) {
      isRoot[state->root] = 1;
    }
    state->parts = std::make_shared<const EqualParts>(network, facts.boxes, isRoot);
  }
  const bool isAllreduce = request.collective == Collective::allreduce;
  const auto isSymmetric = [&] {
    return std::all_of(network.arcs.begin(), network.arcs.end(), [&](const forestcoll::TreeArc& arc) {
      const auto back = state->findArc(arc.head, arc.tail);
      return back && state->arcs[*back].capacity == arc.capacity;
    });
  };
  const auto addHalf = [&](bool isReduction) {
    state->halves.push_back({static_cast<int>(state->problems.size()), false, isReduction});
    state->problems.emplace_back(network, sinks, state->parts);
  };
  if (countsWhatLeaves(request.collective)) {
    addHalf(false);
  }
  if (isAllreduce && isSymmetric()) {
    state->halves.push_back({0, true, true});
  } else if (isAllreduce || !countsWhatLeaves(request.collective)) {
    for (forestcoll::TreeArc& arc : network.arcs) {
      std::swap(arc.tail, arc.head);
    }
    addHalf(true);
  }
  for (const CutProblem& problem : state->problems) {
    state->worst.push_back(CutSearch(problem).base(progress));
  }
  std::vector<WorstCut> byHalf;
  for (const Half& half : state->halves) {
    byHalf.push_back(state->worst[half.problem]);
  }
  state->answer = state->describe(byHalf, 1, {});
  if (isAllreduce && request.allreduceBudget.count() > 0 && !state->answer.finding) {
    state->trees = treesOf(facts);
    state->treesBudget = request.allreduceBudget;
    state->plainSwitches = request.plainSwitches;
    if (const auto bound = treesBound(*state, {}, progress)) {
      BoundState::takeTrees(*bound, state->answer);
    }
  }
  return state;
}

}  // namespace

EntryErrors entryErrors() {
  return {.overflow = "the fabric's numbers leave the range in which results are proven exact",
          .overflowFix = "use bandwidths with fewer digits or a common divisor"};
}

// --- the state ---

std::optional<int> BoundState::findArc(int tail, int head) const {
  const auto ends = [](const forestcoll::TreeArc& arc) { return std::pair(arc.tail, arc.head); };
  const auto found = std::ranges::lower_bound(arcs, std::pair(tail, head), {}, ends);
  return found == arcs.end() || ends(*found) != std::pair(tail, head) ? std::nullopt
                                                                      : std::optional<int>(found - arcs.begin());
}

SymmetricFabric BoundState::symmetric() const {
  const forestcoll::Network& network = problems.front().network;
  SymmetricFabric result{{}, {boxes.begin(), boxes.end()}, {}};
  symmetry::Numbering<std::tuple<bool, bool, int64_t, int, bool, bool>> nodeColours;
  for (int node = 0; node < network.nodeCount; ++node) {
    const int kind = trees ? trees->kindOf[node] : 0;
    result.graph.colourOf.push_back(nodeColours({isGpu[node] != 0, node == root, network.demand[node], kind,
                                                 trees && trees->copies[node], trees && trees->sums[node]}));
    result.isGpu.push_back(isGpu[node] != 0);
  }
  symmetry::Numbering<int64_t> arcColours;
  for (const forestcoll::TreeArc& arc : arcs) {
    result.graph.arcs.push_back({arc.tail, arc.head, arcColours(arc.capacity)});
  }
  return result;
}

Trial BoundState::turned(const Trial& trial) const {
  Trial result = trial;
  for (Trial::Capacity& each : result.capacities) {
    each.arc = *findArc(arcs[each.arc].head, arcs[each.arc].tail);
  }
  return result;
}

schedule::Cut BoundState::cutOf(const WorstCut& found, int64_t denominator, const std::vector<char>& isGone) const {
  schedule::Cut cut;
  std::vector<char> isOutside = isGone;
  for (const int v : found.sinkSide) {
    isOutside[v] = 1;
  }
  for (int v = 0; v < static_cast<int>(ids.size()); ++v) {
    if (isOutside[v] == 0) {
      cut.nodes.push_back(v);
    }
  }
  cut.demand = found.demand;
  cut.exitBandwidth = Rational(found.exit, denominator) * unit;
  return cut;
}

Finding BoundState::explain(const WorstCut& found, bool isReduction, const std::vector<char>& isGone) const {
  std::vector<int> inside;
  std::vector<int> outside;
  for (int v = 0; v < static_cast<int>(ids.size()); ++v) {
    if (isGone[v] == 0 && isGpu[v] != 0) {
      const bool isInside = std::binary_search(found.sinkSide.begin(), found.sinkSide.end(), v);
      (isInside ? inside : outside).push_back(v);
    }
  }
  // Data flows into the sink side; a reduction's the other way. The smaller side is named.
  const bool namesInside = inside.size() <= outside.size();
  const std::vector<int>& named = namesInside ? inside : outside;
  const std::string first = named.empty() ? std::string() : ids[named.front()];
  std::string text = "GPU " + inQuotes(first);
  if (named.size() > 1) {
    text += " and " + std::to_string(named.size() - 1) + " more";
  }
  const bool isReceiving = namesInside != isReduction;
  text += named.size() > 1 ? " are cut off: no path of links leads " : " is cut off: no path of links leads ";
  text += isReceiving ? "to " : "from ";
  text += named.size() == 1 ? "it" : "them";
  return {Severity::error,
          ErrorCode::infeasible,
          std::move(text),
          std::string("add a path of links ") + (isReceiving ? "to " : "from ") + inQuotes(first),
          {.element = {RefKind::node, first}}};
}

Answer BoundState::describe(std::span<const WorstCut> found, int64_t denominator, std::span<const int> gone) const {
  Answer result;
  result.isBalanced = isBalanced;
  const forestcoll::Network& network = problems.front().network;
  std::vector<char> isGone(ids.size(), 0);
  int64_t total = network.totalDemand;
  result.gpuCount = static_cast<int>(network.gpus.size());
  for (const int v : gone) {
    isGone[v] = 1;
    total -= network.demand[v];
    result.gpuCount -= isGpu[v] != 0 ? 1 : 0;
  }
  const auto fail = [&](std::string text, std::string fix, ElementRef element) {
    result.finding = Finding{
        Severity::error, ErrorCode::infeasible, std::move(text), std::move(fix), {.element = std::move(element)}};
    return result;
  };
  if (result.gpuCount < 2) {
    return fail(result.gpuCount == 1 ? "only one GPU is left, so there is nothing to send"
                                     : "no GPU is left, so there is nothing to send",
                "add GPUs until there are two or more", {RefKind::field, "nodes"});
  }
  if (root >= 0 && isGone[root] != 0) {
    return fail("the root GPU " + inQuotes(ids[root]) + " was removed, so there is nothing to send",
                "restore the root or choose another", {RefKind::node, ids[root]});
  }
  if (total == 0) {
    return fail("all amounts are zero, so there is nothing to send", "give some GPU an amount",
                {RefKind::field, "nodes"});
  }
  std::size_t slower = 0;
  for (std::size_t i = 1; i < found.size(); ++i) {
    slower = isLess(found[slower], found[i]) ? i : slower;
  }
  const WorstCut& worstHalf = found[slower];
  if (worstHalf.demand == 0) {
    return fail("there is nothing to send: only the root GPU " + inQuotes(ids[root]) + " has data",
                "give another GPU an amount", {RefKind::node, ids[root]});
  }
  result.isReduction = halves[slower].isReduction;
  result.cut = cutOf(worstHalf, denominator, isGone);
  if (worstHalf.exit == 0) {
    result.finding = explain(worstHalf, result.isReduction, isGone);
    return result;
  }
  InverseBandwidth inverse;
  for (const WorstCut& each : found) {
    inverse += Rational(each.demand, each.exit) * Rational(denominator) / unit;
  }
  result.inverseRate = inverse;
  result.algbw = Rational(total) / inverse;
  return result;
}

void BoundState::takeTrees(const forestcoll::TreeBound& bound, Answer& result) {
  result.algbw = bound.algbw;
  result.inverseRate = Rational(result.gpuCount) / bound.algbw;
  result.isForTrees = true;
}

Searches::Searches(const BoundState& state) : m_state(state) {
  for (std::size_t i = 0; i < state.problems.size(); ++i) {
    m_searches.emplace_back(state.problems[i]);
    m_searches.back().setBase(state.worst[i]);
  }
}

Answer Searches::answer(const Trial& trial, const Progress& progress) {
  const auto sameInBoth = [](const Trial& a, const Trial& b) {
    return std::is_permutation(
        a.capacities.begin(), a.capacities.end(), b.capacities.begin(), b.capacities.end(),
        [](const Trial::Capacity& x, const Trial::Capacity& y) { return x.arc == y.arc && x.value == y.value; });
  };
  std::vector<WorstCut> worst;
  for (const Half& half : m_state.halves) {
    const Trial own = half.isTurned ? m_state.turned(trial) : trial;
    worst.push_back(half.isTurned && sameInBoth(own, trial) ? worst.front() : of(half).worst(own, progress));
  }
  Answer result = m_state.describe(worst, trial.denominator, trial.gone);
  if (m_state.answer.isForTrees && !result.finding) {
    const auto bound = treesBound(m_state, trial, progress);
    if (!bound) {
      throw Failure{{ErrorCode::limit, "the linear program of trees was not solved for a change of the fabric",
                     "allow it more work, or ask about another collective"}};
    }
    BoundState::takeTrees(*bound, result);
  }
  return result;
}

// --- the bound ---

Result<CutBound> CutBound::create(const fabric::Fabric& fabric, const forestcoll::Request& request,
                                  const Progress& progress) {
  return guarded(
      [&] {
        Facts facts{{}, {}, {}, fabric.gpus(), fabric.arcs(), {}, {}, {}};
        for (const fabric::Node& node : fabric.nodes()) {
          facts.ids.push_back(node.id);
          facts.boxes.emplace_back(node.box);
          const bool isRelay = node.kind != fabric::NodeKind::gpu;
          facts.isGpu.push_back(isRelay ? 0 : 1);
          facts.kinds.push_back(node.kind);
          facts.copies.push_back(isRelay && node.multicast);
          facts.sums.push_back(isRelay && node.aggregation);
        }
        return CutBound(makeState(std::move(facts), request, progress));
      },
      entryErrors());
}

Result<CutBound> CutBound::create(const fabric::EditedFabric& fabric, const forestcoll::Request& request,
                                  const Progress& progress) {
  return guarded(
      [&] {
        const fabric::EditedFabric::Indexed indexed = fabric.indexed();
        Facts facts{{}, {}, {}, indexed.gpus, indexed.arcs, {}, {}, {}};
        for (const fabric::EditedFabric::Node* node : indexed.nodes) {
          facts.ids.push_back(node->facts.id);
          facts.boxes.emplace_back(node->facts.box);
          const bool isRelay = node->kind != fabric::NodeKind::gpu;
          facts.isGpu.push_back(isRelay ? 0 : 1);
          facts.kinds.push_back(node->kind.value_or(fabric::NodeKind::switchNode));
          facts.copies.push_back(isRelay && node->facts.multicast);
          facts.sums.push_back(isRelay && node->facts.aggregation);
        }
        return CutBound(makeState(std::move(facts), request, progress));
      },
      entryErrors());
}

const Answer& CutBound::answer() const {
  return m_state->answer;
}

}  // namespace coppice::live
