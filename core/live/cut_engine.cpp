// SPDX-License-Identifier: Apache-2.0
#include "live/cut_engine.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <type_traits>

namespace coppice::live {
namespace {

using std::int64_t;

/// Nodes in stored sets, all sinks together; beyond it a sink keeps only itself and is solved again when asked.
constexpr int64_t kMaxStoredNodes = 32'000'000;

bool holds(std::span<const int> set, int node) {
  return std::binary_search(set.begin(), set.end(), node);
}

/// Drops entries of older serials before the list would grow.
template <typename Item, typename IsCurrent>
void push(std::vector<Item>& list, const Item& item, IsCurrent&& isCurrent) {
  if (list.size() == list.capacity() && list.size() >= 8) {
    std::erase_if(list, [&](const Item& old) { return !isCurrent(old); });
  }
  list.push_back(item);
}

}  // namespace

bool isLess(const CutRatio& a, const CutRatio& b) {
  return Int128{a.demand} * b.exit < Int128{b.demand} * a.exit;
}

CutEngine::CutEngine(std::span<const NodeInit> nodes, std::span<const ArcInit> arcs) {
  for (std::size_t v = 0; v < nodes.size(); ++v) {
    addNode();
  }
  for (const ArcInit& arc : arcs) {
    const int id = m_graph.findOrAdd(arc.tail, arc.head);
    m_totalCapacity += arc.capacity - m_graph.capacity(id);
    m_graph.set(id, arc.capacity, false);
  }
  m_usesOf.resize(m_graph.arcCount());
  Int128 total = 0;
  for (const NodeInit& node : nodes) {
    total += node.demand;
  }
  requireFits(m_totalCapacity, total, 1);
  orderSinks(nodes);
}

void CutEngine::orderSinks(std::span<const NodeInit> nodes) {
  // Neighbours follow each other, so that each sink is fed by the one before it.
  std::vector<char> seen(nodes.size(), 0);
  std::vector<int> queue;
  for (int start = 0; start < static_cast<int>(nodes.size()); ++start) {
    if (seen[start] != 0 || !nodes[start].isSink) {
      continue;
    }
    seen[start] = 1;
    queue.assign(1, start);
    for (std::size_t i = 0; i < queue.size(); ++i) {
      if (nodes[queue[i]].isSink) {
        setSink(queue[i], true, nodes[queue[i]].demand);
      }
      for (const Half half : m_graph.into(queue[i])) {
        if (seen[half.node] == 0) {
          seen[half.node] = 1;
          queue.push_back(half.node);
        }
      }
    }
  }
  for (int node = 0; node < static_cast<int>(nodes.size()); ++node) {
    if (!nodes[node].isSink && nodes[node].demand > 0) {
      setSink(node, false, nodes[node].demand);  // it has data and needs none
    }
  }
}

void CutEngine::setEqualBoxes(EqualBoxes boxes) {
  m_boxes = std::move(boxes);
  const int count = m_boxes.boxOf.empty() ? 0 : 1 + *std::max_element(m_boxes.boxOf.begin(), m_boxes.boxOf.end());
  m_isTouched.assign(count, 0);
  m_touchedCount = 0;
  m_nodesOf.assign(count, {});
  for (std::size_t node = 0; node < m_boxes.boxOf.size(); ++node) {
    if (m_boxes.boxOf[node] >= 0) {
      m_nodesOf[m_boxes.boxOf[node]].push_back(static_cast<int>(node));
    }
  }
  m_seenIn.assign(m_boxes.classOf.size(), 0);
}

void CutEngine::touch(int node) {
  if (static_cast<std::size_t>(node) >= m_boxes.boxOf.size()) {
    return;
  }
  const int box = m_boxes.boxOf[node];
  if (box >= 0 && m_isTouched[box] == 0) {
    m_isTouched[box] = 1;
    ++m_touchedCount;
    if (m_isProbing) {
      m_savedBoxes.push_back(box);
    }
  }
}

void CutEngine::findUncovered() {
  m_uncovered.clear();
  ++m_pass;
  for (int slot = 0; slot < sinkSlots(); ++slot) {
    const int node = m_nodeOfSlot[slot];
    if (m_order[node] != slot) {
      continue;
    }
    const int box = static_cast<std::size_t>(node) < m_boxes.boxOf.size() ? m_boxes.boxOf[node] : -1;
    if (box >= 0 && m_isTouched[box] == 0) {
      std::uint32_t& seen = m_seenIn[m_boxes.classOf[node]];
      if (seen == m_pass) {
        continue;
      }
      seen = m_pass;
    }
    m_uncovered.push_back(slot);
  }
}

int CutEngine::addNode() {
  const int node = m_graph.addNode();
  m_demand.push_back(0);
  m_order.push_back(std::numeric_limits<int>::max());
  m_slot.push_back(-1);
  m_setsAt.emplace_back();
  m_mark.push_back(0);
  return node;
}

int CutEngine::giveSlot(int node) {
  if (m_slot[node] < 0) {
    const int slot = sinkSlots();
    m_sinks.emplace_back();
    m_isSaved.push_back(0);
    m_slot[node] = slot;
    m_setOf.emplace_back();
    m_nodeOfSlot.push_back(node);
    Sink& sink = m_sinks.back();
    sink.node = node;
    storeSet(slot, {node});
  }
  return m_slot[node];
}

void CutEngine::requireFits(Int128 totalCapacity, Int128 totalDemand, int64_t denominator) const {
  // Every scaled capacity is at most P * c and every supply at most Q * a, with P <= D and Q <= 2B (the halved ratio of
  // resolve); a residual pair holds two of them. Fractions as compared stay within twice the bits of D and B.
  constexpr Int128 kMax = Int128{1} << 62;
  constexpr Int128 kMaxProduct = Int128{1} << 122;
  if (totalCapacity * denominator >= kMax || totalDemand >= kMax ||
      (totalDemand > 0 && totalCapacity * denominator >= kMaxProduct / totalDemand)) {
    throw OverflowError("the bandwidths and amounts leave the exact range of flows");
  }
}

void CutEngine::setSink(int node, bool isSink, int64_t demand) {
  requireFits(m_totalCapacity, Int128{m_total} - m_demand[node] + demand, m_denominator);
  m_isSolved = m_isSolved && m_isProbing;
  if (m_isProbing) {
    m_savedNodes.push_back({node, m_order[node] != std::numeric_limits<int>::max(), m_demand[node]});
  }
  if (isSink || m_slot[node] >= 0) {
    Sink& sink = m_sinks[giveSlot(node)];
    sink.isActive = isSink;
    m_order[node] = isSink ? m_slot[node] : std::numeric_limits<int>::max();
  }
  touch(node);
  const int64_t delta = demand - m_demand[node];
  m_demand[node] = demand;
  m_total += delta;
  if (delta != 0) {
    for (const Entry& entry : m_setsAt[node]) {
      if (m_sinks[entry.sink].setSerial == entry.serial) {
        modify(entry.sink).setDemand += delta;
      }
    }
  }
}

void CutEngine::retire(int node) {
  m_isSolved = m_isSolved && m_isProbing;
  // A flow that enters the node may continue from it, so it breaks; one that starts there loses what started.
  std::vector<int> entered;
  std::vector<std::pair<int, int64_t>> started;
  for (const Half half : m_graph.into(node)) {
    for (const Use& use : m_usesOf[half.arc]) {
      if (m_sinks[use.sink].useSerial == use.serial) {
        entered.push_back(use.sink);
      }
    }
    for (const Use& use : m_usesOf[half.arc ^ 1]) {
      if (m_sinks[use.sink].useSerial == use.serial) {
        started.emplace_back(use.sink, use.amount);
      }
    }
  }
  for (const int sink : entered) {
    modify(sink).isCertified = false;
  }
  for (const auto& [index, amount] : started) {
    Sink& sink = modify(index);
    sink.inflow -= Int128{amount} * sink.scale;
  }
  for (const Half half : m_graph.into(node)) {
    change(half.node, node, 0, false, true);
    change(node, half.node, 0, false, true);
  }
  setSink(node, false, 0);
}

void CutEngine::setCapacity(int tail, int head, int64_t capacity) {
  change(tail, head, m_isProbing && m_denominator > 1 ? checkedMul(capacity, m_denominator) : capacity,
         m_isProbing && m_denominator > 1, false);
}

void CutEngine::setFine(int tail, int head, int64_t capacity) {
  change(tail, head, capacity, m_denominator > 1, false);
}

void CutEngine::change(int tail, int head, int64_t capacity, bool isFine, bool keepsUses) {
  int arc = m_graph.find(tail, head);
  if (arc < 0) {
    if (capacity == 0) {
      return;
    }
    arc = m_graph.findOrAdd(tail, head);
    m_usesOf.resize(m_graph.arcCount());
  }
  const int64_t old = m_graph.capacity(arc);
  const bool wasFine = m_graph.isFine(arc);
  if (old == capacity && (wasFine == isFine || old == 0)) {
    return;
  }
  const int64_t isUnit = isFine ? m_denominator : 1;
  const int64_t wasUnit = wasFine ? m_denominator : 1;
  const Int128 total = m_totalCapacity + capacity / isUnit + (capacity % isUnit != 0 ? 1 : 0) - old / wasUnit -
                       (old % wasUnit != 0 ? 1 : 0);
  requireFits(total, m_total, m_denominator);
  touch(tail);
  touch(head);
  m_totalCapacity = total;
  m_isSolved = m_isSolved && m_isProbing;
  if (m_isProbing) {
    m_savedArcs.push_back({arc, old, wasFine});
  }
  m_graph.set(arc, capacity, isFine);

  const bool inFine = isFine || wasFine;
  const int64_t now = inFine && !isFine ? capacity * m_denominator : capacity;
  const int64_t before = inFine && !wasFine ? old * m_denominator : old;
  for (const Entry& entry : m_setsAt[head]) {
    if (m_sinks[entry.sink].setSerial != entry.serial || holds(m_setOf[entry.sink], tail)) {
      continue;
    }
    Sink& sink = modify(entry.sink);
    if (inFine && !sink.isExitFine) {
      sink.exit *= m_denominator;
      sink.isExitFine = true;
    }
    sink.exit += (now - before) * (sink.isExitFine && !inFine ? m_denominator : 1);
  }
  if (now < before && !keepsUses) {
    const int64_t whole = inFine ? now / m_denominator : now;
    for (const Use& use : m_usesOf[arc]) {
      if (use.amount > whole && m_sinks[use.sink].useSerial == use.serial) {
        modify(use.sink).isCertified = false;
      }
    }
  }
}

void CutEngine::rescale(int64_t factor) {
  requireFits(m_totalCapacity * factor, m_total, 1);
  m_totalCapacity *= factor;
  for (int arc = 0; arc < m_graph.arcCount(); ++arc) {
    m_graph.set(arc, m_graph.capacity(arc) * factor, false);
    for (Use& use : m_usesOf[arc]) {
      if (__builtin_mul_overflow(use.amount, factor, &use.amount)) {
        if (m_sinks[use.sink].useSerial == use.serial) {
          m_sinks[use.sink].isCertified = false;
        }
        use.amount = 0;
      }
    }
  }
  for (Sink& sink : m_sinks) {
    sink.exit *= factor;
    if (sink.isCertified && sink.scale > 0) {
      // The ratio falls by the factor. The flow at scale P in the old unit is one at scale P in the new one with all
      // amounts multiplied, supplies and inflow included.
      if (__builtin_mul_overflow(sink.supplyScale, factor, &sink.supplyScale) ||
          __builtin_mul_overflow(sink.inflow, Int128{factor}, &sink.inflow)) {
        sink.isCertified = false;
      }
    }
  }
  if (m_isSolved) {
    m_answer.ratio.exit *= factor;
  }
}

int64_t CutEngine::capacity(int tail, int head) const {
  const int arc = m_graph.find(tail, head);
  return arc < 0 ? 0 : m_graph.capacity(arc);
}

std::vector<CutEngine::NodeInit> CutEngine::nodeInits() const {
  std::vector<NodeInit> nodes;
  for (int v = 0; v < nodeCount(); ++v) {
    nodes.push_back({m_order[v] != std::numeric_limits<int>::max(), m_demand[v]});
  }
  return nodes;
}

CutEngine::Sink& CutEngine::modify(int sink) {
  Sink& state = m_sinks[sink];
  if (m_isProbing && m_isSaved[sink] == 0) {
    m_isSaved[sink] = 1;
    m_savedSinks.push_back({sink, state.isExitFine, state.isCertified, state.setDemand, state.exit, state.inflow});
  }
  return state;
}

int64_t CutEngine::exitOf(const Sink& sink) const {
  return sink.isExitFine ? sink.exit : sink.exit * m_denominator;
}

CutRatio CutEngine::lowerBound(const Sink& sink) const {
  const int64_t demand = m_total - sink.setDemand;
  return demand == 0 ? CutRatio{} : CutRatio{demand, exitOf(sink)};
}

CutRatio CutEngine::singleton(int node) const {
  const int64_t demand = m_total - m_demand[node];
  int64_t exit = 0;
  for (const Half half : m_graph.into(node)) {
    exit += m_graph.capacity(half.arc) * (m_graph.isFine(half.arc) ? 1 : m_denominator);
  }
  return demand == 0 ? CutRatio{} : CutRatio{demand, exit};
}

bool CutEngine::isAtMost(const Sink& sink, const CutRatio& bound) const {
  if (bound.exit == 0 && bound.demand > 0) {
    return true;
  }
  const int64_t rest = m_total - m_demand[sink.node];
  if (rest == 0) {
    return true;
  }
  if (!sink.isCertified || sink.inflow < Int128{sink.supplyScale} * rest) {
    return false;
  }
  // In units of 1/denominator: P / Q, which is quickly found, then P * rest / X, which is no more.
  Int128 left = 0;
  Int128 right = 0;
  if (!__builtin_mul_overflow(Int128{bound.demand} * sink.supplyScale, Int128{m_denominator}, &right) &&
      Int128{sink.scale} * bound.exit <= right) {
    return true;
  }
  return !__builtin_mul_overflow(Int128{sink.scale} * rest, Int128{bound.exit}, &left) &&
         !__builtin_mul_overflow(sink.inflow, Int128{bound.demand}, &right) &&
         !__builtin_mul_overflow(right, Int128{m_denominator}, &right) && left <= right;
}

int64_t CutEngine::demandOf(std::span<const int> set) const {
  int64_t sum = 0;
  for (const int node : set) {
    sum += m_demand[node];
  }
  return sum;
}

int64_t CutEngine::entering(std::span<const int> set) {
  for (const int node : set) {
    m_mark[node] = 1;
  }
  int64_t sum = 0;
  for (const int node : set) {
    for (const Half half : m_graph.into(node)) {
      if (m_mark[half.node] == 0) {
        sum += m_graph.capacity(half.arc) * (m_graph.isFine(half.arc) ? 1 : m_denominator);
      }
    }
  }
  for (const int node : set) {
    m_mark[node] = 0;
  }
  return sum;
}

void CutEngine::storeSet(int index, std::vector<int> set) {
  Sink& sink = m_sinks[index];
  std::vector<int>& stored = m_setOf[index];
  const auto size = static_cast<int64_t>(set.size());
  if (size > 1 && m_storedNodes - static_cast<int64_t>(stored.size()) + size > kMaxStoredNodes) {
    storeSet(index, {sink.node});
    return;
  }
  m_storedNodes += size - static_cast<int64_t>(stored.size());
  ++sink.setSerial;
  for (const int node : set) {
    push(m_setsAt[node], Entry{index, sink.setSerial},
         [&](const Entry& old) { return m_sinks[old.sink].setSerial == old.serial; });
  }
  sink.setDemand = demandOf(set);
  sink.exit = entering(set);
  sink.isExitFine = false;
  stored = std::move(set);
}

template <typename Cap>
void CutEngine::storeCertificate(LocalFlow<Cap>& flow, int index, int64_t scale, int64_t supplyScale) {
  Sink& sink = m_sinks[index];
  ++sink.useSerial;
  sink.isCertified = true;
  sink.scale = scale;
  sink.supplyScale = supplyScale;
  sink.inflow = Int128{supplyScale} * (m_total - m_demand[sink.node]);
  flow.forEachUse([&](int arc, Cap amount) {
    push(m_usesOf[arc], Use{index, sink.useSerial, static_cast<int64_t>((amount + scale - 1) / scale)},
         [&](const Use& old) { return m_sinks[old.sink].useSerial == old.serial; });
  });
}

template <typename Cap>
void CutEngine::resolve(LocalFlow<Cap>& flow, int index, Answer& best) {
  const int node = m_sinks[index].node;
  std::vector<int> found;  // a better set than the stored one
  CutRatio ratio = lowerBound(m_sinks[index]);
  if (const CutRatio alone = singleton(node); isLess(ratio, alone)) {
    ratio = alone;
    found.assign(1, node);
  }
  // A certificate well below the best ratio outlives later edits that lower it; one far below would use up more of the
  // network than it must, and break when that changes. A probe wants the best ratio alone.
  CutRatio level = best.ratio;
  if (!m_isProbing) {
    if (level.demand % 2 == 0) {
      level.demand /= 2;
    } else {
      level.exit *= 2;
    }
  }
  const bool isAbove = isLess(ratio, level);
  if (!isAbove) {
    level = ratio;
  }
  bool isFound = !isAbove;  // `ratio` is the sink's own, not only a lower bound
  ++best.solvedAgain;
  const Sources sources{m_demand, m_order, index};
  while (level.exit > 0 && level.demand > 0) {
    const int64_t divisor = std::gcd(level.demand, level.exit);
    const int64_t scale = level.demand / divisor;
    const int64_t supplyScale = level.exit / divisor;
    const Cap wanted = Cap{m_total} * supplyScale;
    if (flow.into(m_graph, sources, node, Cap{scale} * m_denominator, Cap{scale}, Cap{supplyScale}, wanted) == wanted) {
      if (!m_isProbing) {
        storeCertificate(flow, index, scale, supplyScale);
      }
      break;
    }
    found = flow.reaching();
    level = {m_total - demandOf(found), entering(found)};
    ratio = level;
    isFound = true;
  }
  if (isFound && isLess(best.ratio, ratio)) {
    best.ratio = ratio;
    best.sinkSide = found.empty() ? m_setOf[index] : found;
  }
  if (!m_isProbing && !found.empty()) {
    storeSet(index, std::move(found));
  }
}

bool CutEngine::is64() const {
  // Where the bound of requireFits leaves room for residual pairs and the doubled supply scale.
  return m_totalCapacity * m_denominator * std::max<int64_t>(m_total, 1) < (Int128{1} << 59);
}

void CutEngine::resolve(int index, Answer& best) {
  if (is64()) {
    resolve(m_flow64, index, best);
  } else {
    resolve(m_flow128, index, best);
  }
}

const CutEngine::Answer& CutEngine::solve(const Progress& progress) {
  Answer& best = m_isProbing ? m_probeAnswer : m_answer;
  if (!m_isProbing && m_isSolved) {
    return best;
  }
  throwIfCancelled(progress);
  best = {{0, 1}, {}, 0};
  findUncovered();
  int witness = -1;
  for (const int i : m_uncovered) {
    if (const CutRatio ratio = lowerBound(m_sinks[i]); isLess(best.ratio, ratio)) {
      best.ratio = ratio;
      witness = i;
    }
  }
  if (witness >= 0) {
    best.sinkSide = m_setOf[witness];
  }
  for (const int i : m_uncovered) {
    if (isAtMost(m_sinks[i], best.ratio)) {
      continue;
    }
    throwIfCancelled(progress);
    if (best.solvedAgain % 64 == 0) {
      progress.report("bound", static_cast<double>(i) / static_cast<double>(m_sinks.size()));
    }
    resolve(i, best);
  }
  m_isSolved = true;
  return best;
}

void CutEngine::certifyBoxOf(int node, const Progress& progress) {
  const int box = static_cast<std::size_t>(node) < m_boxes.boxOf.size() ? m_boxes.boxOf[node] : -1;
  if (box < 0) {
    return;
  }
  Answer best{m_answer.ratio, {}, 0};
  std::vector<int>& nodes = m_nodesOf[box];
  for (; !nodes.empty(); nodes.pop_back()) {
    const int slot = m_slot[nodes.back()];
    if (slot >= 0 && m_sinks[slot].isActive && !isAtMost(m_sinks[slot], best.ratio)) {
      throwIfCancelled(progress);
      resolve(slot, best);
    }
  }
}

void CutEngine::beginProbe(int64_t denominator) {
  requireFits(m_totalCapacity, m_total, denominator);
  m_isProbing = true;
  m_denominator = denominator;
  m_savedTotalCapacity = m_totalCapacity;
}

void CutEngine::endProbe() {
  for (std::size_t i = m_savedArcs.size(); i-- > 0;) {
    m_graph.set(m_savedArcs[i].arc, m_savedArcs[i].capacity, m_savedArcs[i].isFine);
  }
  for (std::size_t i = m_savedNodes.size(); i-- > 0;) {
    const SavedNode& saved = m_savedNodes[i];
    m_total += saved.demand - m_demand[saved.node];
    m_demand[saved.node] = saved.demand;
    const int slot = m_slot[saved.node];
    if (slot >= 0) {
      m_sinks[slot].isActive = saved.isSink;
      m_order[saved.node] = saved.isSink ? slot : std::numeric_limits<int>::max();
    }
  }
  for (const Saved& saved : m_savedSinks) {
    Sink& sink = m_sinks[saved.sink];
    sink.isExitFine = saved.isExitFine;
    sink.isCertified = saved.isCertified;
    sink.setDemand = saved.setDemand;
    sink.exit = saved.exit;
    sink.inflow = saved.inflow;
    m_isSaved[saved.sink] = 0;
  }
  for (const int box : m_savedBoxes) {
    m_isTouched[box] = 0;
  }
  m_touchedCount -= static_cast<int>(m_savedBoxes.size());
  m_savedBoxes.clear();
  m_savedArcs.clear();
  m_savedNodes.clear();
  m_savedSinks.clear();
  m_totalCapacity = m_savedTotalCapacity;
  m_denominator = 1;
  m_isProbing = false;
}

std::vector<int64_t> CutEngine::enteringWeights(std::span<const WeightedArc> arcs) const {
  std::vector<int64_t> weights(m_sinks.size(), 0);
  for (const WeightedArc& arc : arcs) {
    for (const Entry& entry : m_setsAt[arc.head]) {
      const Sink& sink = m_sinks[entry.sink];
      if (sink.setSerial == entry.serial && !holds(m_setOf[entry.sink], arc.tail)) {
        weights[entry.sink] = checkedAdd(weights[entry.sink], arc.weight);
      }
    }
  }
  return weights;
}

int64_t CutEngine::enteringWeight(std::span<const WeightedArc> arcs, std::span<const int> set) {
  int64_t sum = 0;
  for (const WeightedArc& arc : arcs) {
    if (holds(set, arc.head) && !holds(set, arc.tail)) {
      sum = checkedAdd(sum, arc.weight);
    }
  }
  return sum;
}

bool CutEngine::isBelow(const Sink& sink, const CutRatio& bound) const {
  const int64_t rest = m_total - m_demand[sink.node];
  Int128 left = 0;
  Int128 right = 0;
  // P * rest / X as in isAtMost().
  return rest > 0 && sink.isCertified && sink.inflow >= Int128{sink.supplyScale} * rest &&
         !__builtin_mul_overflow(Int128{sink.scale} * rest, Int128{bound.exit}, &left) &&
         !__builtin_mul_overflow(sink.inflow, Int128{bound.demand}, &right) && left < right;
}

std::vector<CutEngine::OrderedSink> CutEngine::orderedSinks() const {
  std::vector<OrderedSink> sinks;
  sinks.reserve(m_sinks.size());
  for (const Sink& sink : m_sinks) {
    if (sink.isActive) {
      sinks.push_back({sink.node, !isBelow(sink, m_answer.ratio)});
    }
  }
  return sinks;
}

CutRatio CutEngine::storedRatio(int slot) const {
  return m_sinks[slot].isActive ? lowerBound(m_sinks[slot]) : CutRatio{0, 1};
}

}  // namespace coppice::live
