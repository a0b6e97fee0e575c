// SPDX-License-Identifier: Apache-2.0
#include "live/prices.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "live/bound_state.hpp"

namespace coppice::live {
namespace {

using std::int64_t;

[[noreturn]] void refuse(std::string message, std::string fix) {
  throw Failure{{ErrorCode::badUsage, std::move(message), std::move(fix)}};
}

/// An arc of a problem that changes by its weight for each unit of t.
struct WeightedArc {
  int arc = 0;
  int64_t weight = 1;
};

/// rate x of one half of the collective as far as one cut determines it, in capacity units: (fixed + weight * t) /
/// demand for a change of t capacity units.
struct CutLine {
  int64_t fixed = 0;
  int64_t weight = 0;
  int64_t demand = 1;

  [[nodiscard]] Rational at(const Rational& t) const {
    return (Rational(fixed) + Rational(weight) * t) / Rational(demand);
  }
  [[nodiscard]] Rational slope() const { return {weight, demand}; }
};

/// Where two lines of different slope meet.
Rational meeting(const CutLine& a, const CutLine& b) {
  const Int128 over = Int128{b.fixed} * a.demand - Int128{a.fixed} * b.demand;
  const Int128 under = Int128{a.weight} * b.demand - Int128{b.weight} * a.demand;
  Int128 x = over < 0 ? -over : over;
  Int128 y = under < 0 ? -under : under;
  while (y != 0) {
    x = std::exchange(y, x % y);
  }
  return {narrow64(over / x), narrow64(under / x)};
}

/// A rate in capacity units as a function of the change t of a group of arcs, also in capacity units. Concave,
/// piecewise linear, non-decreasing.
class Rate {
public:
  Rate(std::span<const forestcoll::TreeArc> all, std::vector<WeightedArc> arcs) : m_all(all), m_arcs(std::move(arcs)) {}
  virtual ~Rate() = default;
  Rate(const Rate&) = delete;
  Rate& operator=(const Rate&) = delete;

  /// A supporting line at t. @pre no bandwidth falls below 0 at t.
  [[nodiscard]] CutLine lineAt(const Rational& t) {
    if (!m_now) {
      m_now = supportAt(Rational(0));
    }
    return t.isZero() ? *m_now : supportAt(t);
  }

  struct Side {
    Rational slope;
    std::optional<Rational> change;  ///< t at which the slope changes
  };

  /// Slope just above 0. The line `inner` is tight at 0; every line on the stack is known to lie below it somewhere
  /// above 0. Where inner meets the nearest of them, either inner is still tight, and that is the first change of
  /// slope, or a lower line turns up, which is nearer or itself tight at 0.
  [[nodiscard]] Side above() {
    const CutLine now = lineAt(Rational(0));
    if (now.weight == 0) {
      return {Rational(0), std::nullopt};
    }
    return nearestChange(now, flattestLine(), std::nullopt);
  }

  /// Slope just below 0, down to `end` < 0; the mirror image of above().
  [[nodiscard]] Side below(const Rational& end) { return nearestChange(lineAt(Rational(0)), lineAt(end), end); }

  /// The search of above() and, down to `end`, of below(), from a line that is lower there.
  [[nodiscard]] Side nearestChange(CutLine inner, const CutLine& start, const std::optional<Rational>& end) {
    std::vector<CutLine> outer{start};
    while (!outer.empty()) {
      const bool isLower = end ? outer.back().slope() > inner.slope() : outer.back().slope() < inner.slope();
      const Rational t = isLower ? meeting(inner, outer.back()) : Rational(0);
      if (isLower && t.isZero()) {
        inner = outer.back();
      }
      if (!isLower || t.isZero() || (end && t <= *end)) {
        outer.pop_back();
        continue;
      }
      const CutLine found = lineAt(t);
      if (found.at(t) == inner.at(t)) {
        return {inner.slope(), t};
      }
      if (found.at(0) == now()) {
        inner = found;
      } else {
        outer.push_back(found);
      }
    }
    return {inner.slope(), std::nullopt};
  }

  struct Piece {
    Rational from;
    CutLine line;
  };
  /// The pieces between two changes, ascending; neighbours differ in slope.
  [[nodiscard]] std::vector<Piece> pieces(const Rational& from, const Rational& to) {
    struct Span {
      Rational from;
      CutLine left;
      Rational to;
      CutLine right;
    };
    std::vector<Piece> found;
    const auto emit = [&](const Rational& start, const CutLine& line) {
      if (found.empty() || found.back().line.slope() != line.slope()) {
        found.push_back({start, line});
      }
    };
    const CutLine first = lineAt(from);
    std::vector<Span> open{{from, first, to, from == to ? first : lineAt(to)}};
    while (!open.empty()) {
      const Span span = open.back();
      open.pop_back();
      if (span.left.slope() == span.right.slope() || span.left.at(span.to) == span.right.at(span.to)) {
        emit(span.from, span.left);
      } else if (span.right.at(span.from) == span.left.at(span.from)) {
        emit(span.from, span.right);
      } else {
        const Rational t = meeting(span.left, span.right);
        const CutLine middle = lineAt(t);
        if (middle.at(t) == span.left.at(t)) {
          emit(span.from, span.left);
          emit(t, span.right);
        } else {
          open.push_back({t, middle, span.to, span.right});
          open.push_back({span.from, span.left, t, middle});
        }
      }
    }
    return found;
  }

  [[nodiscard]] Rational now() { return lineAt(Rational(0)).at(0); }
  /// The largest fall of t before some arc has nothing left.
  [[nodiscard]] Rational room() const {
    std::optional<Rational> min;
    for (const WeightedArc& arc : m_arcs) {
      const Rational each(capacity(arc), arc.weight);
      min = !min || each < *min ? each : *min;
    }
    return min.value_or(Rational(0));
  }

protected:
  [[nodiscard]] int64_t capacity(const WeightedArc& arc) const { return m_all[arc.arc].capacity; }
  [[nodiscard]] std::span<const WeightedArc> arcs() const { return m_arcs; }
  [[nodiscard]] std::span<const forestcoll::TreeArc> allArcs() const { return m_all; }
  /// The fabric with the group changed by t.
  [[nodiscard]] Trial trialAt(const Rational& t, bool isSymmetric) const {
    Trial trial{.denominator = t.denominator(), .isSymmetric = isSymmetric};
    for (const WeightedArc& arc : m_arcs) {
      trial.capacities.push_back(
          {arc.arc, narrow64(Int128{capacity(arc)} * t.denominator() + Int128{arc.weight} * t.numerator())});
    }
    return trial;
  }

private:
  [[nodiscard]] virtual CutLine supportAt(const Rational& t) = 0;
  /// A line that is below all others far above 0, or one that supports the rate there.
  [[nodiscard]] virtual CutLine flattestLine() = 0;

  std::span<const forestcoll::TreeArc> m_all;
  std::vector<WeightedArc> m_arcs;
  std::optional<CutLine> m_now;
};

/// The rate of one half of the collective: its lines are cuts.
class HalfRate : public Rate {
public:
  /// @param isSymmetric as Trial::isSymmetric
  HalfRate(CutSearch& search, const CutProblem& problem, std::vector<WeightedArc> arcs, bool isSymmetric,
           const Progress& progress)
      : Rate(problem.network.arcs, std::move(arcs)),
        m_search(search),
        m_problem(problem),
        m_progress(progress),
        m_isSymmetric(isSymmetric) {}

private:
  [[nodiscard]] CutLine supportAt(const Rational& t) override {
    return lineOf(t.isZero() ? m_search.base(m_progress) : m_search.worst(trialAt(t, m_isSymmetric), m_progress), t);
  }

  [[nodiscard]] CutLine lineOf(const WorstCut& cut, const Rational& t) const {
    if (cut.demand == 0) {
      throw Failure{{ErrorCode::infeasible, "there is nothing to send", "use a fabric with at least two GPUs"}};
    }
    const auto holds = [&](int node) { return std::binary_search(cut.sinkSide.begin(), cut.sinkSide.end(), node); };
    int64_t weight = 0;
    for (const WeightedArc& each : arcs()) {
      const forestcoll::TreeArc& arc = m_problem.network.arcs[each.arc];
      weight = holds(arc.head) && !holds(arc.tail) ? checkedAdd(weight, each.weight) : weight;
    }
    const Int128 fixed = Int128{cut.exit} - Int128{weight} * t.numerator();
    return {narrow64(fixed / t.denominator()), weight, cut.demand};
  }

  /// A cut of the minimum weight per demand: the cut problem with the weights as capacities. Where sinks have no arc of
  /// the group, the tightest of these alone.
  [[nodiscard]] CutLine flattestLine() override {
    const forestcoll::Network& network = m_problem.network;
    std::vector<char> isEntered(network.nodeCount, 0);
    for (const WeightedArc& each : arcs()) {
      isEntered[network.arcs[each.arc].head] = 1;
    }
    std::optional<CutLine> flat;
    for (const int sink : m_problem.sinks) {
      const CutLine line{m_problem.ingress[sink], 0, network.totalDemand - network.demand[sink]};
      if (isEntered[sink] == 0 && line.demand > 0 && (!flat || line.at(0) < flat->at(0))) {
        flat = line;
      }
    }
    if (flat) {
      return *flat;
    }
    forestcoll::Network weights = network;
    weights.arcs.clear();
    for (const WeightedArc& each : arcs()) {
      const forestcoll::TreeArc& arc = network.arcs[each.arc];
      weights.arcs.push_back({arc.tail, arc.head, each.weight});
    }
    const CutProblem problem(std::move(weights), m_problem.sinks, m_isSymmetric ? m_problem.parts : nullptr);
    const WorstCut flattest = CutSearch(problem).base(m_progress);
    const WorstCut cut = m_search.around(flattest.sinkSide);
    return {cut.exit, flattest.exit, cut.demand};
  }

  CutSearch& m_search;
  const CutProblem& m_problem;
  const Progress& m_progress;
  bool m_isSymmetric = false;
};

/// An allreduce by trees: a solution of the dual of its program supports it everywhere, with the prices of the links as
/// slopes.
class TreesRate : public Rate {
public:
  TreesRate(const BoundState& state, std::vector<WeightedArc> arcs, const Progress& progress)
      : Rate(state.arcs, std::move(arcs)),
        m_state(state),
        m_total(state.problems.front().network.totalDemand),
        m_progress(progress) {}

private:
  [[nodiscard]] CutLine supportAt(const Rational& t) override {
    const auto bound = treesBound(m_state, trialAt(t, false), m_progress);
    if (!bound || bound->status != lp::BoundStatus::exact || !bound->proof) {
      throw Failure{{ErrorCode::limit, "the linear program of trees was not solved for a change of the fabric",
                     "allow it more work, or ask about another collective"}};
    }
    Rational slope;
    for (const WeightedArc& each : arcs()) {
      slope += Rational(each.weight) * bound->proof->linkPrice[each.arc];
    }
    slope = slope / Rational(m_total);
    const Rational rate = bound->algbw / m_state.unit / Rational(m_total);
    const Rational fixed = rate - slope * t;
    const int64_t demand = leastCommonMultiple(fixed.denominator(), slope.denominator());
    return {checkedMul(fixed.numerator(), demand / fixed.denominator()),
            checkedMul(slope.numerator(), demand / slope.denominator()), demand};
  }

  /// Far above 0 the group is no limit, or the only one.
  [[nodiscard]] CutLine flattestLine() override {
    Int128 all = 1;
    for (const forestcoll::TreeArc& arc : allArcs()) {
      all += arc.capacity;
    }
    return lineAt(Rational(narrow64(all * m_total)));
  }

  const BoundState& m_state;
  int64_t m_total = 0;
  const Progress& m_progress;
};

/// The halves of the collective over one group, and the units that lead back to GB/s.
class GroupRate {
public:
  /// @param arcs of the group, as BoundState numbers them @param isSymmetric as Trial::isSymmetric
  GroupRate(const BoundState& state, Searches& searches, const std::vector<WeightedArc>& arcs, bool isSymmetric,
            const Progress& progress)
      : m_state(state), m_total(state.problems.front().network.totalDemand) {
    if (const auto& finding = state.answer.finding; finding && state.answer.cut.nodes.empty()) {
      throw Failure{{finding->code, finding->text, finding->fix, finding->where}};
    }
    if (state.answer.isForTrees) {
      m_halves.push_back(std::make_unique<TreesRate>(state, arcs, progress));
      return;
    }
    for (const Half& half : state.halves) {
      std::vector<WeightedArc> own = arcs;
      for (WeightedArc& each : own) {
        each.arc = half.isTurned ? *state.findArc(state.arcs[each.arc].head, state.arcs[each.arc].tail) : each.arc;
      }
      m_halves.push_back(std::make_unique<HalfRate>(searches.of(half), state.problems[half.problem], std::move(own),
                                                    isSymmetric, progress));
    }
  }

  [[nodiscard]] Price price() {
    std::vector<Rate::Side> above;
    std::vector<Rate::Side> below;
    for (const auto& half : m_halves) {
      above.push_back(half->above());
      const Rational room = half->room();
      below.push_back(room.isZero() ? Rate::Side{above.back().slope, std::nullopt} : half->below(-room));
    }
    Price price;
    price.raise = slope(above);
    price.lower = slope(below);
    for (std::size_t i = 0; i < m_halves.size(); ++i) {
      if (above[i].change && (!price.nextAbove || *above[i].change * m_state.unit < *price.nextAbove)) {
        price.nextAbove = *above[i].change * m_state.unit;
      }
      if (below[i].change && (!price.nextBelow || *below[i].change * m_state.unit > *price.nextBelow)) {
        price.nextBelow = *below[i].change * m_state.unit;
      }
    }
    return price;
  }

  [[nodiscard]] Curve curve(const Bandwidth& from, const Bandwidth& to) {
    const Rational start = from / m_state.unit;
    const Rational end = to / m_state.unit;
    if (start > end) {
      refuse("the interval ends before it begins", "give the smaller value first");
    }
    if (start < -m_halves.front()->room()) {
      refuse("a bandwidth would fall below 0", "begin at a larger value");
    }
    std::vector<std::vector<Rate::Piece>> pieces;
    std::set<Rational> stops{start, end};
    for (const auto& half : m_halves) {
      pieces.push_back(half->pieces(start, end));
      for (const Rate::Piece& piece : pieces.back()) {
        stops.insert(piece.from);
      }
    }
    Curve curve;
    curve.isPiecewiseLinear = pieces.size() == 1 || isSame(pieces[0], pieces[1]);
    std::vector<std::size_t> now(pieces.size(), 0);
    for (const Rational& t : stops) {
      std::vector<Rational> values;
      std::vector<Rational> before;
      std::vector<Rational> after;
      for (std::size_t i = 0; i < pieces.size(); ++i) {
        before.push_back(pieces[i][now[i]].line.slope());
        if (now[i] + 1 < pieces[i].size() && pieces[i][now[i] + 1].from == t) {
          ++now[i];
        }
        values.push_back(pieces[i][now[i]].line.at(t));
        after.push_back(pieces[i][now[i]].line.slope());
      }
      curve.points.push_back({t * m_state.unit, Rational(m_total) * m_state.unit * joined(values),
                              Rational(m_total) * joinedSlope(values, before),
                              Rational(m_total) * joinedSlope(values, after)});
    }
    return curve;
  }

private:
  static bool isSame(const std::vector<Rate::Piece>& a, const std::vector<Rate::Piece>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Rate::Piece& x, const Rate::Piece& y) {
      return x.from == y.from && x.line.slope() == y.line.slope() && x.line.at(x.from) == y.line.at(y.from);
    });
  }

  /// Halves one after the other: 1 / (1/f + 1/g) = fg / (f + g).
  static Rational joined(const std::vector<Rational>& values) {
    if (values.size() == 1) {
      return values[0];
    }
    const Rational sum = values[0] + values[1];
    return sum.isZero() ? sum : values[0] * (values[1] / sum);
  }

  /// Its derivative f' (g / (f + g))^2 + g' (f / (f + g))^2; where both rates are 0, that of the two lines from there.
  static Rational joinedSlope(const std::vector<Rational>& values, const std::vector<Rational>& slopes) {
    if (values.size() == 1) {
      return slopes[0];
    }
    const Rational sum = values[0] + values[1];
    if (sum.isZero()) {
      return joined(slopes);
    }
    const Rational f = values[0] / sum;
    const Rational g = values[1] / sum;
    return slopes[0] * g * g + slopes[1] * f * f;
  }

  [[nodiscard]] Rational slope(const std::vector<Rate::Side>& sides) {
    std::vector<Rational> values;
    std::vector<Rational> slopes;
    for (std::size_t i = 0; i < sides.size(); ++i) {
      values.push_back(m_halves[i]->now());
      slopes.push_back(sides[i].slope);
    }
    return Rational(m_total) * joinedSlope(values, slopes);
  }

  const BoundState& m_state;
  std::vector<std::unique_ptr<Rate>> m_halves;  ///< or all trees of an allreduce
  int64_t m_total = 0;
};

/// The groups of a ranking with the arcs that they name, and which symmetries map onto each other.
class GroupArcs {
public:
  /// @param wantsOrbits of single links, which takes longer
  GroupArcs(const BoundState& state, bool wantsOrbits, const Progress& progress) : m_state(state) {
    if (wantsOrbits) {
      m_orbitOf = state.symmetric().orbits(progress).ofArc;
    }
    if (state.parts) {
      m_classes = state.parts->arcClasses();
      m_classSize.assign(m_classes.size(), 0);
      for (const int each : m_classes) {
        ++m_classSize[each];
      }
    }
  }

  [[nodiscard]] std::vector<WeightedArc> of(const LinkGroup& group) const {
    std::set<int> seen;
    std::vector<WeightedArc> arcs;
    if (group.arcs.empty()) {
      refuse("the group " + inQuotes(group.name) + " has no links", "name at least one link");
    }
    for (const GroupArc& each : group.arcs) {
      const auto arc = m_state.findArc(each.src, each.dst);
      if (!arc || each.weight < 1 || !seen.insert(*arc).second) {
        refuse("the group " + inQuotes(group.name) +
                   " names a link that the fabric does not have, one twice, or one with a weight below 1",
               "name each direction of each link once");
      }
      arcs.push_back({*arc, each.weight});
    }
    return arcs;
  }

  /// The group holds classes of equal arcs as a whole.
  [[nodiscard]] bool isSymmetric(const std::vector<WeightedArc>& arcs) const {
    if (m_classes.empty()) {
      return false;
    }
    std::map<int, std::pair<int, int64_t>> counted;  // by class: how many, with which weight
    for (const WeightedArc& each : arcs) {
      auto& [count, weight] = counted.try_emplace(m_classes[each.arc], 0, each.weight).first->second;
      if (weight != each.weight) {
        return false;
      }
      ++count;
    }
    return std::all_of(counted.begin(), counted.end(),
                       [&](const auto& entry) { return entry.second.first == m_classSize[entry.first]; });
  }

  /// Equal for single links (one direction or both) that a symmetry maps onto each other: what maps one direction maps
  /// both. Absent for other groups.
  [[nodiscard]] std::optional<std::vector<std::pair<int, int64_t>>> orbit(const std::vector<WeightedArc>& arcs) const {
    if (m_orbitOf.empty() || arcs.size() > 2) {
      return std::nullopt;
    }
    std::vector<std::pair<int, int64_t>> key;
    for (const WeightedArc& each : arcs) {
      key.emplace_back(m_orbitOf[each.arc], each.weight);
    }
    const auto& first = m_state.arcs[arcs.front().arc];
    const auto& last = m_state.arcs[arcs.back().arc];
    if (arcs.size() == 2 && (first.tail != last.head || first.head != last.tail)) {
      return std::nullopt;
    }
    std::sort(key.begin(), key.end());
    return key;
  }

private:
  const BoundState& m_state;
  std::vector<int> m_classes;
  std::vector<int> m_classSize;  // by the lowest arc of the class
  std::vector<int> m_orbitOf;
};

std::string bandwidths(const Bandwidth& forward, const Bandwidth& backward) {
  std::string text = toExactText(forward);
  if (backward != forward) {
    text += " and " + toExactText(backward);
  }
  return text + " GB/s";
}

/// Both directions between two nodes; 0 where there is none.
struct LinkPair {
  int a = 0;
  int b = 0;
  Bandwidth forward;
  Bandwidth backward;
};

std::vector<LinkPair> pairsOf(const fabric::Fabric& fabric) {
  std::vector<LinkPair> pairs;
  for (const fabric::Arc& arc : fabric.arcs()) {
    const auto back = fabric.findArc(arc.head, arc.tail);
    if (arc.tail < arc.head) {
      pairs.push_back({arc.tail, arc.head, arc.bandwidth, back ? fabric.arcs()[*back].bandwidth : Bandwidth()});
    } else if (!back) {
      pairs.push_back({arc.head, arc.tail, Bandwidth(), arc.bandwidth});
    }
  }
  std::sort(pairs.begin(), pairs.end(),
            [](const LinkPair& x, const LinkPair& y) { return std::pair(x.a, x.b) < std::pair(y.a, y.b); });
  return pairs;
}

LinkGroup groupOf(const fabric::Fabric& fabric, const LinkPair& link) {
  const bool isForward = link.forward.isPositive();
  const bool isBackward = link.backward.isPositive();
  LinkGroup group;
  if (isForward) {
    group.arcs.push_back({link.a, link.b, 1});
  }
  if (isBackward) {
    group.arcs.push_back({link.b, link.a, 1});
  }
  const auto id = [&](int node) { return fabric.nodes()[node].id; };
  group.name = isBackward && !isForward ? id(link.b) + " -> " + id(link.a)
                                        : id(link.a) + (isBackward ? " - " : " -> ") + id(link.b);
  return group;
}

}  // namespace

std::vector<LinkGroup> linkPairs(const fabric::Fabric& fabric) {
  std::vector<LinkGroup> groups;
  for (const LinkPair& pair : pairsOf(fabric)) {
    groups.push_back(groupOf(fabric, pair));
  }
  return groups;
}

std::vector<LinkGroup> linkClasses(const fabric::Fabric& fabric) {
  using Key = std::tuple<int, int, bool, Rational, Rational>;
  std::map<Key, LinkGroup> classes;
  for (LinkPair link : pairsOf(fabric)) {
    if (fabric.nodes()[link.b].kind < fabric.nodes()[link.a].kind) {
      std::swap(link.a, link.b);
      std::swap(link.forward, link.backward);
    }
    const fabric::Node& a = fabric.nodes()[link.a];
    const fabric::Node& b = fabric.nodes()[link.b];
    const bool isInside = !a.box.empty() && a.box == b.box;
    LinkGroup& group = classes[{static_cast<int>(a.kind), static_cast<int>(b.kind), isInside,
                                link.forward.gigabytesPerSecond(), link.backward.gigabytesPerSecond()}];
    if (group.name.empty()) {
      group.name = std::string(fabric::toString(a.kind)) + " - " + std::string(fabric::toString(b.kind)) +
                   (isInside ? " inside a box, " : ", ") + bandwidths(link.forward, link.backward);
    }
    const LinkGroup one = groupOf(fabric, link);
    group.arcs.insert(group.arcs.end(), one.arcs.begin(), one.arcs.end());
  }
  std::vector<LinkGroup> groups;
  for (auto& [key, group] : classes) {
    groups.push_back(std::move(group));
  }
  return groups;
}

Result<std::vector<LinkGroup>> groupsOf(const fabric::Fabric& fabric, const fabric::Description& description) {
  std::vector<LinkGroup> groups;
  for (const fabric::LinkDescription& link : description.links) {
    const auto src = fabric.find(link.src);
    const auto dst = fabric.find(link.dst);
    if (!src || !dst) {
      return Error{ErrorCode::badUsage, "there is no node " + inQuotes(src ? link.dst : link.src),
                   "give the description that the fabric was made of"};
    }
    LinkGroup group{link.src + (link.duplex ? " - " : " -> ") + link.dst, {{*src, *dst, link.count}}};
    if (link.duplex) {
      group.arcs.push_back({*dst, *src, link.count});
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

Result<std::vector<RankedPrice>> rankPrices(const CutBound& bound, std::span<const LinkGroup> groups,
                                            const Progress& progress) {
  return guarded(
      [&] {
        const BoundState& state = bound.state();
        const GroupArcs known(state, groups.size() > 1, progress);
        std::map<std::vector<std::pair<int, int64_t>>, std::size_t> byOrbit;
        std::vector<std::vector<WeightedArc>> questions;
        std::vector<std::size_t> questionOf;
        for (const LinkGroup& group : groups) {
          std::vector<WeightedArc> arcs = known.of(group);
          const auto orbit = known.orbit(arcs);
          const auto [found, isNew] =
              orbit ? byOrbit.try_emplace(*orbit, questions.size()) : std::pair(byOrbit.end(), true);
          questionOf.push_back(isNew ? questions.size() : found->second);
          if (isNew) {
            questions.push_back(std::move(arcs));
          }
        }
        const Progress quiet{.stop = progress.stop};
        std::vector<Price> prices(questions.size());
        askAll(state, questions.size(), "prices", progress, [&](Searches& searches, std::size_t i) {
          prices[i] = GroupRate(state, searches, questions[i], known.isSymmetric(questions[i]), quiet).price();
        });
        std::vector<RankedPrice> ranking;
        for (std::size_t i = 0; i < groups.size(); ++i) {
          ranking.push_back({i, prices[questionOf[i]]});
        }
        std::stable_sort(ranking.begin(), ranking.end(), [](const RankedPrice& a, const RankedPrice& b) {
          return std::pair(b.price.raise, b.price.lower) < std::pair(a.price.raise, a.price.lower);
        });
        return ranking;
      },
      entryErrors());
}

Result<Curve> curveOf(const CutBound& bound, const LinkGroup& group, const Bandwidth& from, const Bandwidth& to,
                      const Progress& progress) {
  return guarded(
      [&] {
        const BoundState& state = bound.state();
        const GroupArcs known(state, false, progress);
        const std::vector<WeightedArc> arcs = known.of(group);
        Searches searches(state);
        return GroupRate(state, searches, arcs, known.isSymmetric(arcs), progress).curve(from, to);
      },
      entryErrors());
}

}  // namespace coppice::live
