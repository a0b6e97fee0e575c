// SPDX-License-Identifier: Apache-2.0
#include "live/live_state.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/text.hpp"
#include "live/equal_boxes.hpp"

namespace coppice::live {
namespace {

using std::int64_t;

/// From here on equal boxes are looked for; below, looking at every GPU costs less.
constexpr int kManyGpus = 1024;
/// Equal boxes are looked for again once edits have touched more than this, a switch between all boxes for example.
constexpr int kMaxTouchedBoxes = 64;

std::uint64_t arcKey(int tail, int head) {
  return (std::uint64_t{static_cast<std::uint32_t>(tail)} << 32) | static_cast<std::uint32_t>(head);
}

[[noreturn]] void fail(ErrorCode code, std::string message, std::string fix, const ElementRef& element = {}) {
  throw EditFailure{{code, std::move(message), std::move(fix), {.element = element}}};
}

ElementRef nodeElement(const std::string& id) {
  return {RefKind::node, id};
}

/// The first error of validate() that is not about GPUs reaching each other.
[[noreturn]] void failAsValidated(const fabric::Description& description) {
  for (const Finding& finding : fabric::validate(description)) {
    if (finding.severity == Severity::error && finding.code != ErrorCode::infeasible) {
      throw EditFailure{{finding.code, finding.text, finding.fix, finding.where}};
    }
  }
  fail(ErrorCode::invalidFabric, "the fabric is not valid", "see coppice-cli check");
}

/// The graph of an engine.
struct EngineInput {
  std::vector<CutEngine::NodeInit> nodes;
  std::vector<CutEngine::ArcInit> arcs;
};

EngineInput inputOf(const LiveState& state, bool isTurned) {
  EngineInput input;
  for (const LiveNode& node : state.nodes) {
    input.nodes.push_back({state.isSink(node), node.isAlive ? node.amount : 0});
  }
  for (const LiveState::Arc& arc : state.arcs) {
    if (!arc.bandwidth.isZero()) {
      const Rational capacity = arc.bandwidth / state.unit;
      input.arcs.push_back({isTurned ? arc.head : arc.tail, isTurned ? arc.tail : arc.head, capacity.numerator()});
    }
  }
  return input;
}

void findEqualBoxes(const LiveState& state, const EngineInput& input, CutEngine& engine) {
  std::vector<std::string_view> boxOf;
  boxOf.reserve(state.nodes.size());
  for (const LiveNode& node : state.nodes) {
    boxOf.push_back(node.isAlive ? std::string_view(node.box) : std::string_view());
  }
  engine.setEqualBoxes(equalBoxes(boxOf, input.nodes, input.arcs));
}

}  // namespace

PlainFabric plainOf(const fabric::Fabric& fabric) {
  PlainFabric plain;
  for (const fabric::Node& node : fabric.nodes()) {
    plain.nodes.push_back({node.id, node.kind, node.box, node.rank});
  }
  for (const fabric::Arc& arc : fabric.arcs()) {
    plain.arcs.push_back({arc.tail, arc.head, arc.bandwidth});
  }
  return plain;
}

PlainFabric plainOf(const fabric::EditedFabric& fabric) {
  const fabric::EditedFabric::Indexed indexed = fabric.indexed();
  PlainFabric plain;
  for (std::size_t i = 0; i < indexed.nodes.size(); ++i) {
    const fabric::NodeDescription& facts = indexed.nodes[i]->facts;
    plain.nodes.push_back({facts.id, *indexed.nodes[i]->kind, facts.box, indexed.ranks[i]});
  }
  for (const fabric::Arc& arc : indexed.arcs) {
    plain.arcs.push_back({arc.tail, arc.head, arc.bandwidth});
  }
  return plain;
}

PlainFabric plainOf(const fabric::Description& description) {
  PlainFabric plain;
  std::unordered_map<std::string_view, int> byId;
  byId.reserve(description.nodes.size());
  int ranked = 0;
  int gpus = 0;
  for (const fabric::NodeDescription& node : description.nodes) {
    const auto kind = fabric::parseNodeKind(node.kind);
    if (!kind || node.id.empty() || !byId.emplace(node.id, static_cast<int>(plain.nodes.size())).second) {
      failAsValidated(description);
    }
    if (*kind == fabric::NodeKind::gpu) {
      ++gpus;
      ranked += node.rank ? 1 : 0;
    } else if (node.rank) {
      failAsValidated(description);
    }
    plain.nodes.push_back({node.id, *kind, node.box, node.rank.value_or(-1)});
  }
  std::vector<char> taken(gpus, 0);
  int next = 0;
  for (PlainNode& node : plain.nodes) {
    if (node.kind != fabric::NodeKind::gpu) {
      continue;
    }
    if (ranked == 0) {
      node.rank = next++;
    } else if (ranked != gpus || node.rank < 0 || node.rank >= gpus || taken[node.rank]++ != 0) {
      failAsValidated(description);
    }
  }
  std::unordered_map<std::uint64_t, std::size_t> arcOf;
  const auto add = [&](int tail, int head, const Bandwidth& bandwidth) {
    const auto [found, isNew] = arcOf.try_emplace(arcKey(tail, head), plain.arcs.size());
    if (isNew) {
      plain.arcs.push_back({tail, head, bandwidth});
    } else {
      plain.arcs[found->second].bandwidth += bandwidth;
    }
  };
  for (const fabric::LinkDescription& link : description.links) {
    const auto tail = byId.find(link.src);
    const auto head = byId.find(link.dst);
    const auto bandwidth = Bandwidth::parse(link.bandwidth);
    if (tail == byId.end() || head == byId.end() || tail == head || !bandwidth || !bandwidth->isPositive() ||
        link.count < 1) {
      failAsValidated(description);
    }
    const Bandwidth total = *bandwidth * Rational(link.count);
    add(tail->second, head->second, total);
    if (link.duplex) {
      add(head->second, tail->second, total);
    }
  }
  return plain;
}

Rational CutLine::at(const Rational& t) const {
  return (Rational(fixed) + Rational(weight) * t) / Rational(demand);
}

// --- the model ---

void LiveState::build(const PlainFabric& fabric) {
  for (const PlainNode& plain : fabric.nodes) {
    const int v = addSlot(plain.id);
    LiveNode node{plain.id, plain.kind, plain.box, true, 0};
    if (plain.kind == fabric::NodeKind::gpu) {
      node.isRoot = request.root && plain.rank == *request.root;
      rootId = node.isRoot ? plain.id : rootId;
      node.amount = amountOf(request.amounts.empty() ? 1 : request.amounts[plain.rank], node.isRoot);
    }
    applyNode(v, node);
  }
  for (const PlainArc& arc : fabric.arcs) {
    applyArc(arcBetween(arc.tail, arc.head), arc.bandwidth);
  }
  rebuild();
}

int LiveState::addSlot(const std::string& id) {
  const auto [found, isNew] = byId.try_emplace(id, static_cast<int>(nodes.size()));
  if (isNew) {
    nodes.push_back({.id = id, .box = {}});
    arcsAt.emplace_back();
    surplus.emplace_back();
  }
  return found->second;
}

int LiveState::nodeOf(const std::string& id) const {
  const auto found = byId.find(id);
  if (found == byId.end() || !node(found->second).isAlive) {
    fail(ErrorCode::badUsage, "there is no node " + inQuotes(id), "name a node of the fabric by its id",
         nodeElement(id));
  }
  return found->second;
}

int LiveState::arcBetween(int tail, int head) {
  const auto [found, isNew] = arcOf.try_emplace(arcKey(tail, head), static_cast<int>(arcs.size()));
  if (isNew) {
    arcs.push_back({tail, head, {}});
    arcsAt[tail].push_back(found->second);
    arcsAt[head].push_back(found->second);
  }
  return found->second;
}

Bandwidth LiveState::bandwidth(int tail, int head) const {
  const auto found = arcOf.find(arcKey(tail, head));
  return found == arcOf.end() ? Bandwidth() : arcs[found->second].bandwidth;
}

void LiveState::applyArc(int arc, const Bandwidth& value) {
  Arc& target = arcs[arc];
  const Bandwidth delta = value - target.bandwidth;
  const Bandwidth into = surplus[target.head] + delta;
  const Bandwidth from = surplus[target.tail] - delta;
  const Bandwidth back = bandwidth(target.head, target.tail);
  const auto shift = [&](int v, const Bandwidth& next) {
    const bool counts = node(v).isAlive && node(v).kind != fabric::NodeKind::gpu;
    unbalanced += counts ? (next.isZero() ? 0 : 1) - (surplus[v].isZero() ? 0 : 1) : 0;
    surplus[v] = next;
  };
  shift(target.head, into);
  shift(target.tail, from);
  asymmetric += (value == back ? 0 : 1) - (target.bandwidth == back ? 0 : 1);
  target.bandwidth = value;
}

void LiveState::applyNode(int v, const LiveNode& after) {
  LiveNode& target = nodes[v];
  const auto count = [&](int sign) {
    if (target.isAlive && target.kind == fabric::NodeKind::gpu) {
      gpuCount += sign;
    } else if (target.isAlive && !surplus[v].isZero()) {
      unbalanced += sign;
    }
    totalAmount += target.isAlive ? Int128{target.amount} * sign : 0;
    rootCount += target.isAlive && target.isRoot ? sign : 0;
  };
  count(-1);
  if (target.id != after.id) {
    if (const auto old = byId.find(target.id); old != byId.end() && old->second == v) {
      byId.erase(old);
    }
    rootId = target.isRoot && target.id == rootId ? after.id : rootId;
  }
  if (after.isAlive) {
    byId[after.id] = v;
  }
  target = after;
  count(1);
}

void LiveState::setArc(int tail, int head, const Bandwidth& value, std::vector<Step>& steps) {
  if (tail == head) {
    fail(ErrorCode::badUsage, "a link cannot join a node to itself", "name two different nodes",
         nodeElement(node(tail).id));
  }
  if (value < Bandwidth()) {
    fail(ErrorCode::badUsage,
         "the bandwidth " + inQuotes(node(tail).id) + " -> " + inQuotes(node(head).id) + " would be below 0 (" +
             toFraction(value) + " GB/s)",
         "give 0 to remove the link", nodeElement(node(tail).id));
  }
  Step step;
  step.arc = arcBetween(tail, head);
  step.from = arcs[step.arc].bandwidth;
  step.to = value;
  if (step.from != step.to) {
    applyArc(step.arc, value);
    steps.push_back(std::move(step));
  }
}

void LiveState::setNode(int v, LiveNode after, std::vector<Step>& steps) {
  Step step;
  step.isNode = true;
  step.node = v;
  step.before = node(v);
  step.after = after;
  applyNode(v, after);
  steps.push_back(std::move(step));
}

void LiveState::removeNode(int v, std::vector<Step>& steps) {
  // The node goes before its arcs: an engine can then keep flows that only started there.
  LiveNode gone = node(v);
  gone.isAlive = false;
  gone.amount = 0;
  gone.isRoot = false;
  setNode(v, std::move(gone), steps);
  for (const int arc : arcsAt[v]) {
    setArc(arcs[arc].tail, arcs[arc].head, {}, steps);
  }
}

void LiveState::edit(const Edit& edit, std::vector<Step>& steps) {
  if (const auto* arc = std::get_if<SetArc>(&edit)) {
    setArc(nodeOf(arc->src), nodeOf(arc->dst), arc->bandwidth, steps);
  } else if (const auto* link = std::get_if<SetLink>(&edit)) {
    const int a = nodeOf(link->a);
    const int b = nodeOf(link->b);
    setArc(a, b, link->bandwidth, steps);
    setArc(b, a, link->bandwidth, steps);
  } else if (const auto* change = std::get_if<ChangeBandwidth>(&edit)) {
    const int src = nodeOf(change->src);
    const int dst = nodeOf(change->dst);
    const Bandwidth& delta = change->change;
    setArc(src, dst, bandwidth(src, dst) + delta, steps);
    if (change->duplex) {
      setArc(dst, src, bandwidth(dst, src) + delta, steps);
    }
  } else if (const auto* added = std::get_if<AddNode>(&edit)) {
    if (added->id.empty()) {
      fail(ErrorCode::badUsage, "a node needs an id", "give it one that no other node has");
    }
    if (added->amount < 0) {
      fail(ErrorCode::badUsage, "an amount is negative", "amounts are 0 or more", nodeElement(added->id));
    }
    const int v = addSlot(added->id);
    if (node(v).isAlive) {
      fail(ErrorCode::badUsage, "there is already a node " + inQuotes(added->id), "choose another id",
           nodeElement(added->id));
    }
    const bool isGpu = added->kind == fabric::NodeKind::gpu;
    const bool isRoot = isGpu && request.root && added->id == rootId;
    setNode(v, {added->id, added->kind, added->box, true, isGpu ? amountOf(added->amount, isRoot) : 0, isRoot}, steps);
  } else if (const auto* removed = std::get_if<RemoveNode>(&edit)) {
    removeNode(nodeOf(removed->id), steps);
  } else if (const auto* box = std::get_if<RemoveBox>(&edit)) {
    const std::string inside = box->box + "/";
    bool isAny = false;
    for (int v = 0; v < static_cast<int>(nodes.size()); ++v) {
      if (node(v).isAlive && !box->box.empty() && (node(v).box == box->box || node(v).box.starts_with(inside))) {
        removeNode(v, steps);
        isAny = true;
      }
    }
    if (!isAny) {
      fail(ErrorCode::badUsage, "there is no box " + inQuotes(box->box), "name a box of the fabric");
    }
  } else if (const auto* changed = std::get_if<ChangeNode>(&edit)) {
    if (changed->node < 0 || changed->node >= static_cast<int>(nodes.size()) || !node(changed->node).isAlive) {
      fail(ErrorCode::badUsage, "there is no node number " + std::to_string(changed->node),
           "name a node of the fabric");
    }
    LiveNode after = node(changed->node);
    after.id = changed->id;
    after.box = changed->box;
    setNode(changed->node, std::move(after), steps);
  }
}

void LiveState::takeBack(std::vector<Step>& steps) {
  for (std::size_t i = steps.size(); i-- > 0;) {
    if (steps[i].isNode) {
      applyNode(steps[i].node, steps[i].before);
    } else {
      applyArc(steps[i].arc, steps[i].from);
    }
  }
}

// --- the engines ---

bool LiveState::needsIn() const {
  return request.collective == Collective::reduceScatter || request.collective == Collective::reduce ||
         request.collective == Collective::scatter || (request.collective == Collective::allreduce && asymmetric != 0);
}

bool LiveState::needsOut() const {
  return request.collective == Collective::allgather || request.collective == Collective::broadcast ||
         request.collective == Collective::gather || request.collective == Collective::allreduce;
}

CutEngine LiveState::makeEngine(bool isTurned) const {
  const EngineInput input = inputOf(*this, isTurned);
  CutEngine engine(input.nodes, input.arcs);
  if (gpuCount >= kManyGpus) {
    findEqualBoxes(*this, input, engine);
  }
  return engine;
}

void LiveState::rebuild() {
  const Bandwidth common = commonUnit(arcs, &Arc::bandwidth);
  unit = common.isZero() ? Bandwidth(1) : common;
  const bool hasOut = needsOut();
  const bool hasIn = needsIn() || in.has_value();
  out.reset();
  in.reset();
  if (hasOut) {
    out = makeEngine(false);
  }
  if (hasIn) {
    in = makeEngine(true);
  }
}

int64_t LiveState::fractions(const std::vector<Step>& steps) const {
  int64_t denominator = 1;
  for (const Step& step : steps) {
    if (!step.isNode) {
      denominator = leastCommonMultiple(denominator, (step.to / unit).denominator());
    }
  }
  return denominator;
}

void LiveState::push(CutEngine& engine, bool isTurned, const std::vector<Step>& steps, int64_t denominator) const {
  for (const Step& step : steps) {
    if (step.isNode) {
      while (engine.nodeCount() <= step.node) {
        engine.addNode();
      }
      if (step.before.isAlive && !step.after.isAlive) {
        engine.retire(step.node);
      } else if (isSink(step.before) != isSink(step.after) || step.before.amount != step.after.amount) {
        engine.setSink(step.node, isSink(step.after), step.after.isAlive ? step.after.amount : 0);
      }
    } else {
      const Arc& arc = arcs[step.arc];
      const Rational capacity = step.to / unit * Rational(denominator);
      engine.setFine(isTurned ? arc.head : arc.tail, isTurned ? arc.tail : arc.head, capacity.numerator());
    }
  }
}

void LiveState::follow(const std::vector<Step>& steps) {
  const int64_t factor = fractions(steps);
  for (std::optional<CutEngine>* engine : {&out, &in}) {
    if (factor > 1 && *engine) {
      (*engine)->rescale(factor);
    }
  }
  unit = unit / factor;
  if (out) {
    push(*out, false, steps, 1);
  }
  if (in) {
    push(*in, true, steps, 1);
  } else if (needsIn()) {
    in = makeEngine(true);
  }
  for (std::optional<CutEngine>* engine : {&out, &in}) {
    if (*engine && gpuCount >= kManyGpus && (*engine)->touchedBoxes() > kMaxTouchedBoxes) {
      findEqualBoxes(*this, inputOf(*this, engine == &in), **engine);
    }
  }
}

std::vector<LiveState::HalfView> LiveState::halves() {
  std::vector<HalfView> views;
  if (out) {
    views.push_back({&*out, false, false});
  }
  if (in) {
    views.push_back({&*in, true, true});
  } else if (request.collective == Collective::allreduce) {
    views.push_back({&*out, true, true});
  }
  return views;
}

Answer LiveState::solve(const Progress& progress) {
  const std::vector<HalfView> views = halves();
  std::vector<CutEngine::Answer> answers;
  for (const HalfView& view : views) {
    answers.push_back(view.engine->solve(progress));
  }
  return describe(answers, 1, views);
}

Answer LiveState::probe(const std::vector<Step>& steps, const Progress& progress) {
  const int64_t denominator = fractions(steps);
  const std::vector<HalfView> views = halves();
  std::vector<CutEngine::Answer> answers;
  for (const HalfView& view : views) {
    view.engine->solve(progress);
    for (const Step& step : steps) {
      if (!step.isNode) {
        view.engine->certifyBoxOf(arcs[step.arc].tail, progress);
        view.engine->certifyBoxOf(arcs[step.arc].head, progress);
      }
    }
    if (!answers.empty() && view.engine == views.front().engine && asymmetric == 0) {
      answers.push_back(answers.front());
      continue;
    }
    const ProbeScope scope(*view.engine, denominator);
    push(*view.engine, view.isTurned, steps, denominator);
    answers.push_back(view.engine->solve(progress));
  }
  return describe(answers, denominator, views);
}

int64_t LiveState::amountDivisor() const {
  int64_t divisor = 0;
  for (const LiveNode& node : nodes) {
    if (node.isAlive) {
      divisor = std::gcd(divisor, node.amount);
      if (divisor == 1) {
        break;
      }
    }
  }
  return std::max<int64_t>(divisor, 1);
}

schedule::Cut LiveState::cutOf(const CutEngine::Answer& answer, int64_t denominator) const {
  schedule::Cut cut;
  std::vector<char> isSinkSide(nodes.size(), 0);
  for (const int v : answer.sinkSide) {
    isSinkSide[v] = 1;
  }
  for (int v = 0; v < static_cast<int>(nodes.size()); ++v) {
    if (node(v).isAlive && isSinkSide[v] == 0) {
      cut.nodes.push_back(v);
    }
  }
  cut.demand = answer.ratio.demand / amountDivisor();
  cut.exitBandwidth = Rational(answer.ratio.exit, denominator) * unit;
  return cut;
}

Finding LiveState::explain(const CutEngine::Answer& answer, bool isReduction) const {
  std::vector<char> isSinkSide(nodes.size(), 0);
  for (const int v : answer.sinkSide) {
    isSinkSide[v] = 1;
  }
  std::vector<int> inside;
  std::vector<int> outside;
  for (int v = 0; v < static_cast<int>(nodes.size()); ++v) {
    if (node(v).isAlive && node(v).kind == fabric::NodeKind::gpu) {
      (isSinkSide[v] != 0 ? inside : outside).push_back(v);
    }
  }
  // Data flows into the sink side; a reduction's the other way. The smaller side is named.
  const bool namesInside = inside.size() <= outside.size();
  const std::vector<int>& named = namesInside ? inside : outside;
  const std::string first = named.empty() ? std::string() : node(named.front()).id;
  std::string text = "GPU " + inQuotes(first);
  if (named.size() > 1) {
    text += " and " + std::to_string(named.size() - 1) + " more";
  }
  const bool isReceiving = namesInside != isReduction;
  text += named.size() > 1 ? " are cut off: no path of links leads " : " is cut off: no path of links leads ";
  text += isReceiving ? "to them" : "from them";
  if (named.size() == 1) {
    text.replace(text.size() - 4, 4, "it");
  }
  return {Severity::error,
          ErrorCode::infeasible,
          std::move(text),
          std::string("add a path of links ") + (isReceiving ? "to " : "from ") + inQuotes(first),
          {.element = nodeElement(first)}};
}

Answer LiveState::describe(const std::vector<CutEngine::Answer>& answers, int64_t denominator,
                           const std::vector<HalfView>& views) const {
  Answer answer;
  answer.gpuCount = gpuCount;
  answer.isBalanced = unbalanced == 0;
  for (const CutEngine::Answer& half : answers) {
    answer.solvedAgain += half.solvedAgain;
  }
  if (gpuCount < 2) {
    answer.finding = Finding{Severity::error,
                             ErrorCode::infeasible,
                             gpuCount == 1 ? "only one GPU is left, so there is nothing to send"
                                           : "no GPU is left, so there is nothing to send",
                             "add GPUs until there are two or more",
                             {.element = {RefKind::field, "nodes"}}};
    return answer;
  }
  const bool isRootGone = request.root && rootCount == 0;
  if (totalAmount == 0 || isRootGone) {
    answer.finding =
        Finding{Severity::error,
                ErrorCode::infeasible,
                isRootGone ? "the root GPU " + inQuotes(rootId) + " was removed, so there is nothing to send"
                           : std::string("all amounts are zero, so there is nothing to send"),
                isRootGone ? "restore the root or choose another" : "give some GPU an amount",
                {.element = isRootGone ? nodeElement(rootId) : ElementRef(RefKind::field, "nodes")}};
    return answer;
  }
  std::size_t slower = 0;
  for (std::size_t i = 1; i < answers.size(); ++i) {
    slower = isLess(answers[slower].ratio, answers[i].ratio) ? i : slower;
  }
  const CutEngine::Answer& worst = answers[slower];
  if (worst.ratio.demand == 0) {
    answer.finding = Finding{Severity::error,
                             ErrorCode::infeasible,
                             "there is nothing to send: only the root GPU " + inQuotes(rootId) + " has data",
                             "give another GPU an amount",
                             {.element = nodeElement(rootId)}};
    return answer;
  }
  answer.isReduction = views[slower].isReduction;
  answer.cut = cutOf(worst, denominator);
  if (worst.ratio.exit == 0) {
    answer.finding = explain(worst, answer.isReduction);
    return answer;
  }
  const int64_t divisor = amountDivisor();
  InverseBandwidth inverse;
  for (const CutEngine::Answer& half : answers) {
    inverse += Rational(half.ratio.demand / divisor, half.ratio.exit) * Rational(denominator) / unit;
  }
  answer.inverseRate = inverse;
  answer.algbw = Rational(static_cast<int64_t>(totalAmount) / divisor) / inverse;
  return answer;
}

}  // namespace coppice::live
