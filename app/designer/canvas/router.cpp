// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/canvas/router.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

namespace coppice::designer {
namespace {

constexpr double kMinRise = 12;   // between two rows that count as one above the other
constexpr double kLevel = 24;     // ends that differ by less are joined level
constexpr double kClearance = 3;  // between a link and a shape it passes, at least
constexpr double kPassing = 8;    // and where there is a choice
constexpr double kRouteReach = 700;
constexpr double kFarReach = 4500;  // how far aside a gap is looked for
constexpr double kCorner = 16;
constexpr std::size_t kMaxCandidates = 32;
constexpr std::size_t kMaxBands = 120;
constexpr double kNever = 1e15;

QPointF transposed(const QPointF& point) {
  return {point.y(), point.x()};
}

QRectF transposed(const QRectF& rect) {
  return {rect.y(), rect.x(), rect.height(), rect.width()};
}

Curve transposed(Curve curve) {
  curve.from = transposed(curve.from);
  curve.to = transposed(curve.to);
  for (QPointF& point : curve.inner) {
    point = transposed(point);
  }
  return curve;
}

QPointF anchor(const QRectF& rect, Side side, double place) {
  switch (side) {
    case Side::top:
      return {rect.center().x() + place, rect.top()};
    case Side::bottom:
      return {rect.center().x() + place, rect.bottom()};
    case Side::left:
      return {rect.left(), rect.center().y() + place};
    case Side::right:
      break;
  }
  return {rect.right(), rect.center().y() + place};
}

/// Where a ray from the middle leaves the rectangle.
QPointF rimTowards(const QRectF& rect, const QPointF& target) {
  const QPointF centre = rect.center();
  const QPointF d = target - centre;
  const double tx = d.x() != 0 ? rect.width() / 2 / std::abs(d.x()) : std::numeric_limits<double>::max();
  const double ty = d.y() != 0 ? rect.height() / 2 / std::abs(d.y()) : std::numeric_limits<double>::max();
  const double t = std::min(tx, ty);
  return t < 1 ? centre + d * t : centre;
}

struct Interval {
  double low = 0;
  double high = 0;
};

/// A stretch of heights over which the same shapes are in the way.
struct Band {
  double top = 0;
  double bottom = 0;
  std::size_t firstGap = 0;
  std::size_t endGap = 0;
};

/// Bands from top to bottom, with the free intervals of each in x, ascending.
struct Bands {
  std::vector<Band> list;
  std::vector<Interval> gaps;

  [[nodiscard]] std::span<const Interval> gapsOf(const Band& band) const {
    return std::span(gaps).subspan(band.firstGap, band.endGap - band.firstGap);
  }
  /// The number of the gap of the band at x, -1 = none.
  [[nodiscard]] int gapAt(const Band& band, double x) const {
    for (std::size_t gap = band.firstGap; gap < band.endGap; ++gap) {
      if (x >= gaps[gap].low - 0.01 && x <= gaps[gap].high + 0.01) {
        return static_cast<int>(gap);
      }
    }
    return -1;
  }
};

/// The bridge over a row at height y, from a to b where a is on the left.
Curve bridgeAt(const QRectF& a, const QRectF& b, double y) {
  const bool isAbove = y < a.center().y();
  // The higher, the nearer to the middle of the shape: then bridges from one shape do not cross.
  const double lift =
      std::min(std::abs((isAbove ? a.top() : a.bottom()) - y), std::abs((isAbove ? b.top() : b.bottom()) - y));
  const auto leave = [&](const QRectF& rect) {
    const double max = rect.width() > 100 ? rect.width() / 2 - 20 : rect.width() * 0.28;
    return std::clamp(max - 0.6 * (lift - 10), 0.0, max);
  };
  const double inA = leave(a);
  const double inB = leave(b);
  const QPointF from(a.center().x() + inA, isAbove ? a.top() : a.bottom());
  const QPointF to(b.center().x() - inB, isAbove ? b.top() : b.bottom());
  const double r = std::min({kCorner, (to.x() - from.x()) / 2, std::abs(from.y() - y), std::abs(to.y() - y)});
  const double down = isAbove ? 1 : -1;
  Curve curve{from, from, {}};
  curve.lineOn({from.x(), y + down * r});
  curve.cubicOn({from.x(), y + down * r * 0.4}, {from.x() + r * 0.6, y}, {from.x() + r, y});
  curve.lineOn({to.x() - r, y});
  curve.cubicOn({to.x() - r * 0.6, y}, {to.x(), y + down * r * 0.4}, {to.x(), y + down * r});
  curve.lineOn(to);
  return curve;
}

Curve bridge(LineRequest request, bool isColumn, double place) {
  if (isColumn) {
    request.a = transposed(request.a);
    request.b = transposed(request.b);
  }
  const bool isTurned = request.a.center().x() > request.b.center().x();
  Curve curve = isTurned ? bridgeAt(request.b, request.a, place).reversed() : bridgeAt(request.a, request.b, place);
  return isColumn ? transposed(std::move(curve)) : curve;
}

/// The bands between two points; empty where nothing is in the way, or nothing is free.
Bands bandsBetween(const std::vector<QRectF>& obstacles, QPointF start, QPointF end, double left, double right) {
  // Heights at which what is in the way changes.
  std::vector<QRectF> rects;
  std::vector<double> heights{start.y(), end.y()};
  for (const QRectF& obstacle : obstacles) {
    const QRectF rect = obstacle.adjusted(-kPassing, -kPassing, kPassing, kPassing);
    if (obstacle.bottom() > start.y() && obstacle.top() < end.y() && rect.right() > left && rect.left() < right) {
      rects.push_back(rect);
      for (const double y : {rect.top(), rect.bottom()}) {
        if (y > start.y() && y < end.y()) {
          heights.push_back(y);
        }
      }
    }
  }
  std::sort(heights.begin(), heights.end());
  heights.erase(std::unique(heights.begin(), heights.end(), [](double a, double b) { return b - a < 0.5; }),
                heights.end());
  if (rects.empty() || heights.size() < 2 || heights.size() > kMaxBands) {
    return {};
  }
  heights.back() = end.y();
  std::sort(rects.begin(), rects.end(), [](const QRectF& a, const QRectF& b) { return a.left() < b.left(); });
  Bands bands;
  for (std::size_t i = 0; i + 1 < heights.size(); ++i) {
    Band band{heights[i], heights[i + 1], bands.gaps.size()};
    const double middle = (band.top + band.bottom) / 2;
    double open = left;
    for (const QRectF& rect : rects) {
      if (rect.top() < middle && rect.bottom() > middle) {
        if (rect.left() > open) {
          bands.gaps.push_back({open, rect.left()});
        }
        open = std::max(open, rect.right());
      }
    }
    if (right > open) {
      bands.gaps.push_back({open, right});
    }
    band.endGap = bands.gaps.size();
    if (band.endGap == band.firstGap) {
      return {};
    }
    bands.list.push_back(band);
  }
  return bands;
}

/// Places to pass at: straight on from either end, and next to what is there, the nearest ones. The last two are the
/// ends.
std::vector<double> placesToPass(const Bands& bands, double start, double end) {
  std::vector<double> places;
  std::vector<Band> order = bands.list;
  // Where there are few gaps it matters most.
  std::stable_sort(order.begin(), order.end(),
                   [](const Band& a, const Band& b) { return a.endGap - a.firstGap < b.endGap - b.firstGap; });
  const auto isNew = [&](double place) {
    return std::none_of(places.begin(), places.end(), [&](double other) { return std::abs(other - place) < 0.5; });
  };
  for (const Band& band : order) {
    for (const double x : {start, end, (start + end) / 2}) {
      double below = -std::numeric_limits<double>::max();
      double above = std::numeric_limits<double>::max();
      for (const Interval& gap : bands.gapsOf(band)) {
        const double near = std::clamp(x, gap.low, gap.high);
        (near <= x ? below : above) = near <= x ? std::max(below, near) : std::min(above, near);
      }
      for (const double place : {below, above}) {
        if (std::abs(place) < kNever && places.size() < kMaxCandidates && isNew(place)) {
          places.push_back(place);
        }
      }
    }
  }
  places.push_back(start);
  places.push_back(end);
  return places;
}

/// Cost of a step sideways within a band of that height.
double turnCost(double dx, double height) {
  if (std::abs(dx) < 0.5) {
    return 0.0;
  }
  return height < 6 ? kNever : 25 + std::abs(dx) + 12 * std::abs(dx) / height;
}

/// Where to be at each height, with the minimum movement sideways; empty where there is no way. Between two heights it
/// moves within one gap.
std::vector<double> cheapestWay(const Bands& bands, const std::vector<double>& places) {
  // All by height (a band's is its top) and place.
  const std::size_t count = places.size();
  const std::size_t heights = bands.list.size() + 1;
  std::vector<int> gapOf(heights * count, -1);
  for (std::size_t b = 0; b < bands.list.size(); ++b) {
    for (std::size_t p = 0; p < count; ++p) {
      gapOf[b * count + p] = bands.gapAt(bands.list[b], places[p]);
    }
  }
  std::vector<double> costs(heights * count, kNever);
  std::vector<std::size_t> before(heights * count, 0);
  const std::size_t first = count - 2;
  const std::size_t last = count - 1;
  costs[first] = 0;
  for (std::size_t b = 0; b < bands.list.size(); ++b) {
    const Band& band = bands.list[b];
    const int* const gaps = &gapOf[b * count];
    const int* const gapsBelow = b + 1 < bands.list.size() ? gaps + count : nullptr;
    const double* const here = &costs[b * count];
    double* const below = &costs[(b + 1) * count];
    for (std::size_t q = 0; q < count; ++q) {
      if (here[q] >= kNever || gaps[q] < 0) {
        continue;
      }
      for (std::size_t p = 0; p < count; ++p) {
        if (gaps[p] != gaps[q] || (gapsBelow != nullptr && gapsBelow[p] < 0)) {
          continue;
        }
        const double cost = here[q] + turnCost(places[p] - places[q], band.bottom - band.top);
        if (cost < below[p]) {
          below[p] = cost;
          before[(b + 1) * count + p] = q;
        }
      }
    }
  }
  if (costs[(heights - 1) * count + last] >= kNever) {
    return {};
  }
  std::vector<double> way(heights);
  for (std::size_t i = heights, p = last; i-- > 0; p = before[i * count + p]) {
    way[i] = places[p];
  }
  return way;
}

/// What runs straight is a passage; it may be moved as far as the gaps before, along and after it allow.
std::vector<Router::Passage> passagesOf(const Bands& bands, const std::vector<double>& way, double left, double right) {
  const std::vector<Band>& list = bands.list;
  const auto heightOf = [&](std::size_t i) { return i < list.size() ? list[i].top : list.back().bottom; };
  std::vector<Router::Passage> passages;
  for (std::size_t i = 0; i < way.size();) {
    std::size_t j = i;
    while (j + 1 < way.size() && std::abs(way[j + 1] - way[i]) < 0.5) {
      ++j;
    }
    Router::Passage passage{left, right, way[i], heightOf(i), heightOf(j), i == 0 || j + 1 == way.size()};
    for (std::size_t b = i > 0 ? i - 1 : 0; b < std::min(j + 1, list.size()); ++b) {
      if (const int gap = bands.gapAt(list[b], way[i]); gap >= 0) {
        passage.low = std::max(passage.low, bands.gaps[gap].low);
        passage.high = std::min(passage.high, bands.gaps[gap].high);
      }
    }
    passages.push_back(passage);
    i = j + 1;
  }
  return passages;
}

}  // namespace

Side sideOf(const QRectF& self, const QRectF& other) {
  if (other.top() - self.bottom() >= kMinRise) {
    return Side::bottom;
  }
  if (self.top() - other.bottom() >= kMinRise) {
    return Side::top;
  }
  return other.center().x() >= self.center().x() ? Side::right : Side::left;
}

double Router::reachOf(int round) {
  return round == 0 ? kRouteReach : kFarReach;
}

QRectF Router::areaOf(const LineRequest& request, double reach) {
  const QRectF both = request.a.united(request.b);
  constexpr double kAround = 160;  // for bows and bridges
  const bool isVertical =
      std::abs(request.a.center().y() - request.b.center().y()) > kAround && request.style == LineStyle::cable;
  return both.adjusted(isVertical ? -reach : -kAround, -kAround, isVertical ? reach : kAround, kAround);
}

int Router::hits(const Curve& curve, int max) const {
  curve.boundsOfPieces(m_pieces);
  int count = 0;
  for (const QRectF& obstacle : m_obstacles) {
    const QRectF rect = obstacle.adjusted(-kClearance, -kClearance, kClearance, kClearance);
    const bool isNear = std::any_of(m_pieces.begin(), m_pieces.end(), [&](const QRectF& piece) {
      return piece.left() <= rect.right() && piece.right() >= rect.left() && piece.top() <= rect.bottom() &&
             piece.bottom() >= rect.top();
    });
    if (isNear && curve.meets(rect) && ++count >= max) {
      break;
    }
  }
  return count;
}

bool Router::isFree(const Curve& curve) const {
  return hits(curve, 1) == 0;
}

Router::Route Router::routeAmong(const LineRequest& request) {
  if (request.style == LineStyle::direct) {
    return direct(request);
  }
  const Side side = sideOf(request.a, request.b);
  return side == Side::left || side == Side::right ? beside(request) : cable(request);
}

Curve Router::plain(const LineRequest& request) {
  if (request.style == LineStyle::direct) {
    const QPointF a = request.a.center();
    const QPointF b = request.b.center();
    return Curve::line(rimTowards(request.a, b), rimTowards(request.b, a));
  }
  const Side side = sideOf(request.a, request.b);
  const QPointF from = anchor(request.a, side, request.portA);
  const QPointF to = anchor(request.b, sideOf(request.b, request.a), request.portB);
  if (side == Side::top || side == Side::bottom) {
    return Curve::cable(from, to);
  }
  const double level = (from.y() + to.y()) / 2;
  return std::abs(from.y() - to.y()) < kLevel ? Curve::line({from.x(), level}, {to.x(), level}) : Curve::line(from, to);
}

Router::Route Router::cable(const LineRequest& request) {
  Route best{plain(request)};
  const QPointF from = best.curve.from;
  const QPointF to = best.curve.to;
  const double rise = to.y() - from.y();
  best.isClear = isFree(best.curve);
  if (best.isClear) {
    return best;
  }
  // A little earlier or later, then through the gaps, then round the side.
  for (const double share : {0.25, 0.75}) {
    Curve curve = Curve::cubic(from, from + QPointF(0, rise * share), to - QPointF(0, rise * (1 - share)), to);
    if (isFree(curve)) {
      return {std::move(curve), Way::plain, true, {}};
    }
  }
  Route through;
  if (throughGaps(request, through)) {
    through.isClear = true;  // by the way it is made
    return through;
  }
  int min = hits(best.curve);
  const auto consider = [&](Route&& route) {
    if (const int count = hits(route.curve, min); count < min) {
      min = count;
      best = std::move(route);
    }
    return min == 0;
  };
  const double reach = std::min(60.0, std::max(request.a.width(), request.b.width()) * 0.5);
  for (const double bow : {0.16, 0.3, 0.5, 0.8}) {
    for (const double sign : {1.0, -1.0}) {
      const double out = sign * (24 + reach + bow * std::abs(rise));
      const QPointF start(sign > 0 ? request.a.right() : request.a.left(), request.a.center().y());
      const QPointF end(sign > 0 ? request.b.right() : request.b.left(), request.b.center().y());
      if (consider({Curve::cubic(start, start + QPointF(out, rise * 0.1), end + QPointF(out, -rise * 0.1), end)})) {
        return best;
      }
    }
  }
  return best;
}

bool Router::throughGaps(const LineRequest& request, Route& route) {
  const QPointF from = anchor(request.a, sideOf(request.a, request.b), request.portA);
  const QPointF to = anchor(request.b, sideOf(request.b, request.a), request.portB);
  const QPointF start = from.y() < to.y() ? from : to;
  const QPointF end = from.y() < to.y() ? to : from;
  const double left = std::min(from.x(), to.x()) - m_reach + 20;
  const double right = std::max(from.x(), to.x()) + m_reach - 20;
  const Bands bands = bandsBetween(m_obstacles, start, end, left, right);
  if (bands.list.empty()) {
    return false;
  }
  const std::vector<double> way = cheapestWay(bands, placesToPass(bands, start.x(), end.x()));
  if (way.empty()) {
    return false;
  }
  route.way = Way::gaps;
  route.passages = passagesOf(bands, way, left, right);
  std::vector<double> at;
  for (const Passage& passage : route.passages) {
    at.push_back(passage.wish);
  }
  route.curve = Router::through(request, route, at);
  return true;
}

Router::Route Router::beside(const LineRequest& request) {
  Route best{plain(request)};
  best.isClear = isFree(best.curve);
  if (best.isClear) {
    return best;
  }
  Route bridge;
  if (overRow(request, false, bridge) && hits(bridge.curve) < hits(best.curve)) {
    return bridge;
  }
  return best;
}

bool Router::overRow(const LineRequest& request, bool isColumn, Route& route) {
  const QRectF a = isColumn ? transposed(request.a) : request.a;
  const QRectF b = isColumn ? transposed(request.b) : request.b;
  const double left = std::min(a.center().x(), b.center().x()) + 4;
  const double right = std::max(a.center().x(), b.center().x()) - 4;
  if (left >= right) {
    return false;
  }
  std::vector<Interval> blocked;
  for (const QRectF& obstacle : m_obstacles) {
    const QRectF rect = isColumn ? transposed(obstacle) : obstacle;
    if (rect.right() > left && rect.left() < right) {
      blocked.push_back({rect.top() - kPassing, rect.bottom() + kPassing});
    }
  }
  std::optional<Route> found;
  double nearest = 0;
  int min = 0;
  for (const bool isAbove : {true, false}) {
    // The first room above (below) both.
    constexpr double kMinRoom = 10;
    constexpr double kMaxRoom = 120;
    const double rim =
        isAbove ? std::min(a.top(), b.top()) - kPassing - 2 : std::max(a.bottom(), b.bottom()) + kPassing + 2;
    double near = rim;
    for (bool isMoved = true; isMoved;) {
      isMoved = false;
      for (const Interval& part : blocked) {
        if (isAbove ? part.low < near && part.high > near - kMinRoom : part.high > near && part.low < near + kMinRoom) {
          near = isAbove ? part.low : part.high;
          isMoved = true;
        }
      }
    }
    double far = isAbove ? near - kMaxRoom : near + kMaxRoom;
    for (const Interval& part : blocked) {
      if (isAbove && part.high <= near - kMinRoom + 0.01) {
        far = std::max(far, part.high);
      } else if (!isAbove && part.low >= near + kMinRoom - 0.01) {
        far = std::min(far, part.low);
      }
    }
    Route candidate;
    candidate.way = isColumn ? Way::aside : Way::bridge;
    candidate.passages.push_back({std::min(near, far), std::max(near, far), near, left, right});
    candidate.curve = bridge(request, isColumn, near);
    const int count = hits(candidate.curve);
    const double distance = std::abs(near - rim);
    if (!found || count < min || (count == min && distance < nearest - 1)) {
      min = count;
      nearest = distance;
      found = std::move(candidate);
    }
  }
  route = std::move(*found);
  return true;
}

Router::Route Router::direct(const LineRequest& request) {
  const QPointF a = request.a.center();
  const QPointF b = request.b.center();
  Route best{plain(request)};
  if (isFree(best.curve)) {
    return best;
  }
  int min = hits(best.curve);
  const QPointF way = b - a;
  const double length = std::hypot(way.x(), way.y());
  if (length <= 0) {
    return best;
  }
  const auto consider = [&](Route&& route) {
    if (const int count = hits(route.curve); count < min) {
      min = count;
      best = std::move(route);
    }
    return min == 0;
  };
  const QPointF across(-way.y() / length, way.x() / length);
  const auto bow = [&](double height) {
    const QPointF control1 = a + way * 0.25 + across * height;
    const QPointF control2 = b - way * 0.25 + across * height;
    return Curve::cubic(rimTowards(request.a, control1), control1, control2, rimTowards(request.b, control2));
  };
  // A slight bow, then over the row or beside the column, then a wide bow.
  for (const double height : {52.0, 70.0}) {
    for (const double sign : {-1.0, 1.0}) {
      if (length < 420 && consider({bow(sign * height)})) {
        return best;
      }
    }
  }
  const bool isRow = std::abs(way.y()) < kLevel;
  const bool isColumn = std::abs(way.x()) < kLevel;
  if (isRow || isColumn) {
    Route over;
    if (overRow(request, isColumn, over) && consider(std::move(over))) {
      return best;
    }
  }
  for (const double height : {40.0, 60.0, 90.0, 130.0, 180.0, 0.3 * length, 0.5 * length}) {
    for (const double sign : {-1.0, 1.0}) {
      if (consider({bow(sign * height)})) {
        return best;
      }
    }
  }
  return best;
}

Curve Router::through(const LineRequest& request, const Route& route, std::span<const double> places) {
  if (route.way == Way::plain || places.size() != route.passages.size()) {
    return route.curve;
  }
  if (route.way != Way::gaps) {
    return bridge(request, route.way == Way::aside, places.front());
  }
  const QPointF from = anchor(request.a, sideOf(request.a, request.b), request.portA);
  const QPointF to = anchor(request.b, sideOf(request.b, request.a), request.portB);
  const bool isTurned = from.y() > to.y();
  Curve curve{isTurned ? to : from, isTurned ? to : from, {}};
  for (std::size_t i = 0; i < places.size(); ++i) {
    curve.cableOn({places[i], route.passages[i].start});
    curve.lineOn({places[i], route.passages[i].end});
  }
  curve.cableOn(isTurned ? from : to);
  return isTurned ? curve.reversed() : curve;
}

}  // namespace coppice::designer
