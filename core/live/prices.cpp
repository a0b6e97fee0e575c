// SPDX-License-Identifier: Apache-2.0
#include "live/prices.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "live/live_state.hpp"

namespace coppice::live {
namespace {

using std::int64_t;

[[noreturn]] void refuse(std::string message, std::string fix) {
  throw EditFailure{{ErrorCode::badUsage, std::move(message), std::move(fix)}};
}

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

/// The rate of one half of the collective, in capacity units, as a function of the change t of a group of arcs, also in
/// capacity units. Concave, piecewise linear, non-decreasing.
class HalfRate {
public:
  HalfRate(const LiveState::HalfView& view, const std::vector<GroupArc>& arcs, const Progress& progress)
      : m_engine(*view.engine), m_progress(progress) {
    for (const GroupArc& arc : arcs) {
      m_arcs.push_back({view.isTurned ? arc.dst : arc.src, view.isTurned ? arc.src : arc.dst, arc.weight});
    }
    m_now = lineOf(m_engine.solve(m_progress), 0);
    for (const ArcChange& arc : m_arcs) {
      m_engine.certifyBoxOf(arc.tail, m_progress);
      m_engine.certifyBoxOf(arc.head, m_progress);
    }
  }

  /// A supporting line at t: a cut that is tight there. @pre no bandwidth falls below 0 at t.
  [[nodiscard]] CutLine lineAt(const Rational& t) {
    if (t.isZero()) {
      return m_now;
    }
    const ProbeScope scope(m_engine, t.denominator());
    for (const ArcChange& arc : m_arcs) {
      m_fine.push_back(narrow64(Int128{capacity(arc)} * t.denominator() + Int128{arc.weight} * t.numerator()));
    }
    for (std::size_t i = 0; i < m_arcs.size(); ++i) {
      m_engine.setFine(m_arcs[i].tail, m_arcs[i].head, m_fine[i]);
    }
    m_fine.clear();
    return lineOf(m_engine.solve(m_progress), t);
  }

  struct Side {
    Rational slope;
    std::optional<Rational> change;  ///< t at which the slope changes
  };

  /// Slope just above 0. The line `inner` is tight at 0; every line on the stack is known to lie below it somewhere
  /// above 0. Where inner meets the nearest of them, either inner is still tight, and that is the first change of
  /// slope, or a lower line turns up, which is nearer or itself tight at 0.
  [[nodiscard]] Side above() {
    CutLine inner = m_now;
    std::optional<CutLine> flat;  // the minimum slope of all cuts
    const std::vector<int64_t> weights = m_engine.enteringWeights(m_arcs);
    const CutRatio best{m_now.demand, m_now.fixed};
    CutRatio flattest{0, 1};
    for (int slot = 0; slot < m_engine.sinkSlots(); ++slot) {
      const CutRatio ratio = m_engine.storedRatio(slot);
      if (ratio.demand == 0) {
        continue;
      }
      if (weights[slot] == 0 && isLess(flattest, ratio)) {
        flattest = ratio;
        flat = CutLine{ratio.exit, 0, ratio.demand};
      }
      if (const CutLine line{ratio.exit, weights[slot], ratio.demand};
          !isLess(ratio, best) && line.slope() < inner.slope()) {
        inner = line;
      }
    }
    if (inner.weight == 0) {
      return {Rational(0), std::nullopt};
    }
    if (!flat) {
      flat = flattestLine();
    }
    return nearestChange(inner, *flat, std::nullopt);
  }

  /// Slope just below 0, down to `end` < 0; the mirror image of above().
  [[nodiscard]] Side below(const Rational& end) {
    CutLine inner = m_now;
    const std::vector<int64_t> weights = m_engine.enteringWeights(m_arcs);
    const CutRatio best{m_now.demand, m_now.fixed};
    for (int slot = 0; slot < m_engine.sinkSlots(); ++slot) {
      const CutRatio ratio = m_engine.storedRatio(slot);
      if (weights[slot] > 0 && ratio.demand > 0 && !isLess(ratio, best)) {
        if (const CutLine line{ratio.exit, weights[slot], ratio.demand}; inner.slope() < line.slope()) {
          inner = line;
        }
      }
    }
    return nearestChange(inner, lineAt(end), end);
  }

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
      if (found.at(0) == m_now.at(0)) {
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

  [[nodiscard]] Rational now() const { return m_now.at(0); }
  /// The largest fall of t before some arc has nothing left.
  [[nodiscard]] Rational room() const {
    std::optional<Rational> min;
    for (const ArcChange& arc : m_arcs) {
      const Rational each(capacity(arc), arc.weight);
      min = !min || each < *min ? each : *min;
    }
    return min.value_or(Rational(0));
  }

private:
  [[nodiscard]] int64_t capacity(const ArcChange& arc) const { return m_engine.capacity(arc.tail, arc.head); }

  [[nodiscard]] CutLine lineOf(const CutEngine::Answer& answer, const Rational& t) const {
    if (answer.ratio.demand == 0) {
      throw EditFailure{{ErrorCode::infeasible, "there is nothing to send", "use a fabric with at least two GPUs"}};
    }
    const int64_t weight = CutEngine::enteringWeight(m_arcs, answer.sinkSide);
    const Int128 fixed = Int128{answer.ratio.exit} - Int128{weight} * t.numerator();
    return {narrow64(fixed / t.denominator()), weight, answer.ratio.demand};
  }

  /// A cut of the minimum weight per demand: the cut problem with the weights as capacities.
  [[nodiscard]] CutLine flattestLine() {
    std::vector<CutEngine::NodeInit> nodes = m_engine.nodeInits();
    std::vector<CutEngine::ArcInit> arcs;
    for (const ArcChange& arc : m_arcs) {
      arcs.push_back({arc.tail, arc.head, arc.weight});
    }
    CutEngine weights(nodes, arcs);
    const CutEngine::Answer& answer = weights.solve(m_progress);
    const CutRatio ratio = m_engine.ratioOf(answer.sinkSide);
    return {ratio.exit, answer.ratio.exit, answer.ratio.demand};
  }

  CutEngine& m_engine;
  const Progress& m_progress;
  std::vector<ArcChange> m_arcs;
  std::vector<int64_t> m_fine;
  CutLine m_now;
};

/// The halves of the collective over one group, and the units that lead back to GB/s.
class GroupRate {
public:
  GroupRate(LiveBound& live, const LinkGroup& group, const Progress& progress) : m_state(live.state()) {
    std::set<std::pair<int, int>> seen;
    if (group.arcs.empty()) {
      refuse("the group " + inQuotes(group.name) + " has no links", "name at least one link");
    }
    for (const GroupArc& arc : group.arcs) {
      const bool isKnown = arc.src >= 0 && arc.dst >= 0 && arc.src < live.nodeLimit() && arc.dst < live.nodeLimit() &&
                           live.isAlive(arc.src) && live.isAlive(arc.dst) && arc.src != arc.dst;
      if (!isKnown || arc.weight < 1 || !seen.emplace(arc.src, arc.dst).second) {
        refuse("the group " + inQuotes(group.name) +
                   " names a link without two nodes of the fabric, one twice, or one with a weight below 1",
               "name each direction of each link once");
      }
    }
    const Answer answer = m_state.solve(progress);
    if (answer.finding && answer.cut.nodes.empty()) {
      throw EditFailure{{answer.finding->code, answer.finding->text, answer.finding->fix, answer.finding->where}};
    }
    for (const LiveState::HalfView& view : m_state.halves()) {
      m_halves.emplace_back(view, group.arcs, progress);
      m_total = view.engine->totalDemand();
    }
  }

  [[nodiscard]] Price price() {
    std::vector<HalfRate::Side> above;
    std::vector<HalfRate::Side> below;
    for (HalfRate& half : m_halves) {
      above.push_back(half.above());
      const Rational room = half.room();
      below.push_back(room.isZero() ? HalfRate::Side{above.back().slope, std::nullopt} : half.below(-room));
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
    if (start < -m_halves.front().room()) {
      refuse("a bandwidth would fall below 0", "begin at a larger value");
    }
    std::vector<std::vector<HalfRate::Piece>> pieces;
    std::set<Rational> stops{start, end};
    for (HalfRate& half : m_halves) {
      pieces.push_back(half.pieces(start, end));
      for (const HalfRate::Piece& piece : pieces.back()) {
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
  static bool isSame(const std::vector<HalfRate::Piece>& a, const std::vector<HalfRate::Piece>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const HalfRate::Piece& x, const HalfRate::Piece& y) {
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

  [[nodiscard]] Rational slope(const std::vector<HalfRate::Side>& sides) const {
    std::vector<Rational> values;
    std::vector<Rational> slopes;
    for (std::size_t i = 0; i < sides.size(); ++i) {
      values.push_back(m_halves[i].now());
      slopes.push_back(sides[i].slope);
    }
    return Rational(m_total) * joinedSlope(values, slopes);
  }

  LiveState& m_state;
  std::vector<HalfRate> m_halves;
  int64_t m_total = 0;
};

std::string bandwidths(const LiveLink& link) {
  std::string text = toExactText(link.forward);
  if (link.backward != link.forward) {
    text += " and " + toExactText(link.backward);
  }
  return text + " GB/s";
}

}  // namespace

LinkGroup groupOf(const LiveBound& live, const LiveLink& link) {
  const bool isForward = link.forward.isPositive();
  const bool isBackward = link.backward.isPositive();
  LinkGroup group;
  if (isForward) {
    group.arcs.push_back({link.a, link.b, 1});
  }
  if (isBackward) {
    group.arcs.push_back({link.b, link.a, 1});
  }
  group.name = isBackward && !isForward ? live.id(link.b) + " -> " + live.id(link.a)
                                        : live.id(link.a) + (isBackward ? " - " : " -> ") + live.id(link.b);
  return group;
}

std::vector<LinkGroup> linkClasses(const LiveBound& live) {
  using Key = std::tuple<int, int, bool, Rational, Rational>;
  std::map<Key, LinkGroup> classes;
  for (LiveLink link : live.links()) {
    if (live.kind(link.b) < live.kind(link.a)) {
      std::swap(link.a, link.b);
      std::swap(link.forward, link.backward);
    }
    const bool isInside = !live.box(link.a).empty() && live.box(link.a) == live.box(link.b);
    LinkGroup& group = classes[{static_cast<int>(live.kind(link.a)), static_cast<int>(live.kind(link.b)), isInside,
                                link.forward.gigabytesPerSecond(), link.backward.gigabytesPerSecond()}];
    if (group.name.empty()) {
      group.name = std::string(fabric::toString(live.kind(link.a))) + " - " +
                   std::string(fabric::toString(live.kind(link.b))) + (isInside ? " inside a box, " : ", ") +
                   bandwidths(link);
    }
    const LinkGroup one = groupOf(live, link);
    group.arcs.insert(group.arcs.end(), one.arcs.begin(), one.arcs.end());
  }
  std::vector<LinkGroup> groups;
  for (auto& [key, group] : classes) {
    groups.push_back(std::move(group));
  }
  return groups;
}

Result<std::vector<LinkGroup>> groupsOf(const LiveBound& live, const fabric::Description& description) {
  std::vector<LinkGroup> groups;
  for (const fabric::LinkDescription& link : description.links) {
    const auto src = live.find(link.src);
    const auto dst = live.find(link.dst);
    if (!src || !dst) {
      return Error{ErrorCode::badUsage, "there is no node " + inQuotes(src ? link.dst : link.src),
                   "give the description that the bound was made of"};
    }
    LinkGroup group{link.src + (link.duplex ? " - " : " -> ") + link.dst, {{*src, *dst, link.count}}};
    if (link.duplex) {
      group.arcs.push_back({*dst, *src, link.count});
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

Result<Price> priceOf(LiveBound& live, const LinkGroup& group, const Progress& progress) {
  return guarded<Price>([&] { return GroupRate(live, group, progress).price(); });
}

Result<std::vector<RankedPrice>> rankPrices(LiveBound& live, std::span<const LinkGroup> groups,
                                            const Progress& progress) {
  return guarded<std::vector<RankedPrice>>([&] {
    const Progress quiet{.stop = progress.stop};
    std::vector<RankedPrice> ranking;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      throwIfCancelled(progress);
      progress.report("prices", static_cast<double>(i) / static_cast<double>(groups.size()));
      ranking.push_back({i, GroupRate(live, groups[i], quiet).price()});
    }
    progress.report("prices", 1);
    std::stable_sort(ranking.begin(), ranking.end(), [](const RankedPrice& a, const RankedPrice& b) {
      return std::pair(b.price.raise, b.price.lower) < std::pair(a.price.raise, a.price.lower);
    });
    return ranking;
  });
}

Result<Curve> curveOf(LiveBound& live, const LinkGroup& group, const Bandwidth& from, const Bandwidth& to,
                      const Progress& progress) {
  return guarded<Curve>([&] { return GroupRate(live, group, progress).curve(from, to); });
}

}  // namespace coppice::live
