// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/canvas/wiring.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace coppice::designer {
namespace {

constexpr std::size_t kMaxUnindexed = 64;  // things of a level that are simply gone through
constexpr double kLaneGap = 7;             // between lines that share a passage

/// What is in each box, as far as links go round it.
class Levels {
public:
  explicit Levels(const Wiring& wiring) : m_wiring(wiring), m_levels(wiring.rooms.size() + 1) {
    for (std::uint32_t i = 0; i < wiring.shapes.size(); ++i) {
      level(wiring.shapes[i].box).things.push_back({wiring.shapes[i].rect, i, false});
    }
    for (std::uint32_t i = 0; i < wiring.rooms.size(); ++i) {
      level(wiring.rooms[i].parent).things.push_back({wiring.rooms[i].rect, i, true});
    }
    for (Level& each : m_levels) {
      if (each.things.size() > kMaxUnindexed) {
        each.index.emplace();
        for (std::uint32_t i = 0; i < each.things.size(); ++i) {
          each.index->insert(i, each.things[i].rect);
        }
      }
    }
  }

  /// What is in the way of the wire within the area: on the levels of both ends and of all boxes around them the other
  /// shapes there, and other boxes as a whole.
  void obstaclesOf(const Wiring::Wire& wire, const QRectF& area, std::vector<QRectF>& result) {
    m_around.assign(1, -1);
    for (const std::uint32_t end : {wire.a, wire.b}) {
      for (std::int32_t box = m_wiring.shapes[end].box; box >= 0; box = m_wiring.rooms[box].parent) {
        if (std::find(m_around.begin(), m_around.end(), box) == m_around.end()) {
          m_around.push_back(box);
        }
      }
    }
    const QRectF& a = m_wiring.shapes[wire.a].rect;
    const QRectF& b = m_wiring.shapes[wire.b].rect;
    const auto take = [&](const Thing& thing) {
      if (!thing.rect.intersects(area)) {
        return;
      }
      if (thing.isBox) {
        const bool isAround =
            std::find(m_around.begin(), m_around.end(), static_cast<std::int32_t>(thing.item)) != m_around.end();
        if (isAround || thing.rect.intersects(a) || thing.rect.intersects(b)) {
          return;
        }
      } else if (thing.item == wire.a || thing.item == wire.b) {
        return;
      }
      result.push_back(thing.rect);
    };
    for (const std::int32_t box : m_around) {
      const Level& each = level(box);
      if (each.index) {
        each.index->query(area, m_found);
        for (const std::uint32_t i : m_found) {
          take(each.things[i]);
        }
      } else {
        std::for_each(each.things.begin(), each.things.end(), take);
      }
    }
  }

private:
  struct Thing {
    QRectF rect;
    std::uint32_t item = 0;
    bool isBox = false;
  };
  struct Level {
    std::vector<Thing> things;
    std::optional<GridIndex> index;  // where there are many
  };
  Level& level(std::int32_t box) { return m_levels[box + 1]; }

  const Wiring& m_wiring;
  std::vector<Level> m_levels;  // of no box, then of each box
  std::vector<std::int32_t> m_around;
  std::vector<std::uint32_t> m_found;
};

/// A route with passages, and where in each of them its line runs.
struct BentRoute {
  std::size_t wire;  // index into those that are routed
  Router::Route route;
  std::vector<double> places;
};

/// Use of a passage by a wire.
struct User {
  const Router::Passage* passage;
  double* place;
  double aim;  // where the wire comes from and goes to
};

/// Lines of one place in a room each get a lane of it.
void keepApart(std::span<User> users, bool isLevel) {
  if (users.size() < 2) {
    return;
  }
  // Short bridges first; of stretches those that come from the left first.
  std::stable_sort(users.begin(), users.end(), [](const User& x, const User& y) { return x.aim < y.aim; });
  // Each takes the first lane that is free along its stretch.
  std::vector<std::vector<std::pair<double, double>>> lanes;
  std::vector<std::size_t> laneOf(users.size());
  for (std::size_t i = 0; i < users.size(); ++i) {
    const Router::Passage& passage = *users[i].passage;
    std::size_t lane = 0;
    for (; lane < lanes.size(); ++lane) {
      if (std::none_of(lanes[lane].begin(), lanes[lane].end(),
                       [&](const auto& taken) { return taken.first < passage.end && passage.start < taken.second; })) {
        break;
      }
    }
    lanes.resize(std::max(lanes.size(), lane + 1));
    lanes[lane].emplace_back(passage.start, passage.end);
    laneOf[i] = lane;
  }
  const double low = users.front().passage->low;
  const double high = users.front().passage->high;
  const double step = std::min(kLaneGap, (high - low) / static_cast<double>(lanes.size()));
  const double extent = step * static_cast<double>(lanes.size() - 1);
  double mean = 0;
  for (const User& user : users) {
    mean += user.passage->wish / static_cast<double>(users.size());
  }
  const bool isLow = mean < (low + high) / 2;
  for (std::size_t i = 0; i < users.size(); ++i) {
    const auto lane = static_cast<double>(laneOf[i]);
    // Bridges grow away from their row; stretches are about where they were wished.
    const double place = !isLevel ? std::clamp(mean - extent / 2, low, std::max(low, high - extent)) + step * lane
                         : isLow  ? low + step * lane
                                  : high - step * lane;
    *users[i].place = std::clamp(place, low, high);
  }
}

/// Wires that share a room keep apart in it.
void spread(std::vector<User>& users, bool isLevel) {
  std::stable_sort(users.begin(), users.end(),
                   [](const User& x, const User& y) { return x.passage->wish < y.passage->wish; });
  for (std::size_t start = 0; start < users.size();) {
    std::size_t end = start + 1;
    while (end < users.size() && users[end].passage->wish - users[end - 1].passage->wish < kLaneGap) {
      ++end;
    }
    keepApart(std::span(users).subspan(start, end - start), isLevel);
    start = end;
  }
}

/// Places where numbers are clear of each other.
std::vector<double> numberPlaces(const Wiring& wiring, const std::vector<Curve>& curves) {
  // As large as they are at about half size, the smallest at which they are read.
  constexpr double kHeight = 34;
  constexpr double kCharacter = 12.5;
  constexpr double kPadding = 22;
  std::vector<double> result(wiring.wires.size(), -1);
  GridIndex taken(200);
  std::vector<QRectF> rects;
  std::vector<std::uint32_t> near;
  for (std::size_t at = 0; at < wiring.wires.size(); ++at) {
    if (wiring.wires[at].letters == 0) {
      continue;
    }
    const QSizeF size(kPadding + kCharacter * wiring.wires[at].letters, kHeight);
    for (const double t : {0.5, 0.4, 0.6, 0.3, 0.7, 0.22, 0.78}) {
      const QRectF rect(curves[at].at(t) - QPointF(size.width() / 2, size.height() / 2), size);
      taken.query(rect, near);
      if (std::none_of(near.begin(), near.end(), [&](std::uint32_t i) { return rects[i].intersects(rect); })) {
        result[at] = t;
        taken.insert(static_cast<std::uint32_t>(rects.size()), rect);
        rects.push_back(rect);
        break;
      }
    }
  }
  return result;
}

Routes routesFrom(const Wiring& wiring, std::vector<Curve> curves) {
  Routes routes;
  routes.bounds.reserve(curves.size());
  for (std::uint32_t at = 0; at < curves.size(); ++at) {
    routes.bounds.push_back(curves[at].bounds());
    routes.index.insert(at, curves[at].points());
  }
  routes.numberAt = numberPlaces(wiring, curves);
  routes.curves = std::move(curves);
  return routes;
}

}  // namespace

LineRequest Wiring::requestOf(std::uint32_t at) const {
  const Wire& wire = wires[at];
  return {shapes[wire.a].rect, shapes[wire.b].rect, wire.portA, wire.portB, wire.style};
}

Curve straightCurve(const Wiring& wiring, std::uint32_t wire) {
  return Router::plain(wiring.requestOf(wire));
}

Routes straightRoutes(const Wiring& wiring) {
  std::vector<Curve> curves;
  curves.reserve(wiring.wires.size());
  for (std::uint32_t at = 0; at < wiring.wires.size(); ++at) {
    curves.push_back(straightCurve(wiring, at));
  }
  return routesFrom(wiring, std::move(curves));
}

std::optional<std::vector<Curve>> routed(const Wiring& wiring, std::span<const std::uint32_t> wires,
                                         const std::stop_token& stop) {
  Levels levels(wiring);
  Router router;
  std::vector<Curve> result;
  result.reserve(wires.size());
  // Passages that are the same room, by its rims.
  std::map<std::tuple<bool, std::int64_t, std::int64_t>, std::vector<User>> rooms;
  std::deque<BentRoute> bent;  // users point into it
  for (std::size_t n = 0; n < wires.size(); ++n) {
    if (stop.stop_requested()) {
      return std::nullopt;
    }
    const LineRequest request = wiring.requestOf(wires[n]);
    Router::Route route = router.route(request, [&](const QRectF& area, std::vector<QRectF>& obstacles) {
      levels.obstaclesOf(wiring.wires[wires[n]], area, obstacles);
    });
    result.push_back(std::move(route.curve));
    if (route.passages.empty()) {
      continue;
    }
    bent.push_back({n, std::move(route), {}});
    BentRoute& added = bent.back();
    for (const Router::Passage& passage : added.route.passages) {
      added.places.push_back(passage.wish);
    }
    const bool isLevel = added.route.way == Router::Way::bridge;
    for (std::size_t i = 0; i < added.places.size(); ++i) {
      const Router::Passage& passage = added.route.passages[i];
      constexpr double kMax = 1e12;
      if (!passage.isFixed && std::abs(passage.low) < kMax && std::abs(passage.high) < kMax) {
        const double aim = isLevel ? passage.end - passage.start : request.a.center().x() + request.b.center().x();
        rooms[{isLevel, std::llround(passage.low), std::llround(passage.high)}].push_back(
            {&passage, &added.places[i], aim});
      }
    }
  }
  for (auto& [key, users] : rooms) {
    if (stop.stop_requested()) {
      return std::nullopt;
    }
    spread(users, std::get<0>(key));
  }
  for (const BentRoute& each : bent) {
    result[each.wire] = Router::through(wiring.requestOf(wires[each.wire]), each.route, each.places);
  }
  return result;
}

std::optional<Routes> routesOf(const Wiring& wiring, const std::stop_token& stop) {
  std::vector<std::uint32_t> all(wiring.wires.size());
  std::iota(all.begin(), all.end(), 0U);
  std::optional<std::vector<Curve>> curves = routed(wiring, all, stop);
  if (!curves || stop.stop_requested()) {
    return std::nullopt;
  }
  return routesFrom(wiring, std::move(*curves));
}

}  // namespace coppice::designer
