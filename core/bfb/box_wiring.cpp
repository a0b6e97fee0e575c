// SPDX-License-Identifier: Apache-2.0
#include "bfb/box_wiring.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "base/checked.hpp"
#include "schedule/arc_finder.hpp"
#include "schedule/step_routes.hpp"
#include "schedule/step_schedule.hpp"

namespace coppice::bfb {
namespace {

using fabric::NodeIndex;
using fabric::Rank;
using std::int64_t;

/// Links between GPUs of which all have the same bandwidth, or each its own.
struct Bundle {
  std::vector<std::pair<Rank, Rank>> ends;
  std::vector<std::vector<NodeIndex>> routes;
  std::vector<Bandwidth> rates;
};

class Wiring {
public:
  explicit Wiring(const fabric::Fabric& fabric) : m_fabric(fabric), m_finder(fabric, schedule::Direction::out) {
    findBoxes();
  }

  /// By box, its GPUs in the order of their ranks; empty where the boxes are not equal.
  [[nodiscard]] const std::vector<std::vector<Rank>>& boxes() const { return m_boxes; }

  /// Links inside boxes.
  [[nodiscard]] Bundle inside() const {
    Bundle direct;
    for (const fabric::Arc& arc : m_fabric.arcs()) {
      const Rank from = m_fabric.nodes()[arc.tail].rank;
      const Rank to = m_fabric.nodes()[arc.head].rank;
      if (from >= 0 && to >= 0) {
        direct.ends.emplace_back(from, to);
        direct.routes.push_back({arc.tail, arc.head});
        direct.rates.push_back(arc.bandwidth);
      }
    }
    Bundle shared = throughOwnSwitches();
    if (!shared.ends.empty()) {
      setRates(shared);
      append(direct, shared);
    }
    return direct;
  }

  /// From each GPU to those of its place, `offsets` boxes on.
  [[nodiscard]] std::optional<Bundle> between(const std::vector<int>& offsets) const {
    Bundle bundle;
    schedule::PathPool pool;
    schedule::RouteFinder routes(m_fabric, pool);
    const auto count = m_boxes.size();
    for (const int offset : offsets) {
      for (std::size_t box = 0; box < count; ++box) {
        for (std::size_t place = 0; place < m_boxes[box].size(); ++place) {
          const Rank from = m_boxes[box][place];
          const Rank to = m_boxes[(box + static_cast<std::size_t>(offset)) % count][place];
          const schedule::PathId route = routes.route(from, to);
          if (route == schedule::kNoRoute) {
            return std::nullopt;
          }
          bundle.ends.emplace_back(from, to);
          bundle.routes.emplace_back(pool[route].begin(), pool[route].end());
        }
      }
    }
    setRates(bundle);
    return bundle;
  }

  [[nodiscard]] Logical logical(const Bundle& inner, const Bundle& outer) const {
    Bundle all = inner;
    append(all, outer);
    Logical logical;
    logical.graph.nodeCount = m_fabric.gpuCount();
    logical.unit = commonUnit(all.rates);
    for (std::size_t i = 0; i < all.ends.size(); ++i) {
      const Rational width = all.rates[i] / logical.unit;
      logical.graph.links.push_back({all.ends[i].first, all.ends[i].second, width.numerator()});
    }
    logical.routes = std::move(all.routes);
    return logical;
  }

private:
  void findBoxes() {
    std::map<std::string, std::vector<Rank>> byName;
    for (Rank rank = 0; rank < m_fabric.gpuCount(); ++rank) {
      byName[m_fabric.nodes()[m_fabric.gpus()[rank]].box].push_back(rank);
    }
    for (auto& [name, gpus] : byName) {
      m_boxes.push_back(std::move(gpus));
    }
    // By their first ranks, whatever the boxes are called.
    std::sort(m_boxes.begin(), m_boxes.end());
    const bool isEqual = std::all_of(m_boxes.begin(), m_boxes.end(),
                                     [&](const auto& box) { return box.size() == m_boxes.front().size(); });
    if (!isEqual || m_boxes.front().size() == static_cast<std::size_t>(m_fabric.gpuCount())) {
      m_boxes.clear();
    }
  }

  /// All pairs of GPUs on a switch that joins GPUs of one box alone.
  Bundle throughOwnSwitches() const {
    const auto nodeCount = static_cast<std::size_t>(m_fabric.nodeCount());
    std::vector<std::vector<Rank>> into(nodeCount);
    std::vector<std::vector<Rank>> outOf(nodeCount);
    std::vector<char> isOwn(nodeCount, 1);
    for (const fabric::Arc& arc : m_fabric.arcs()) {
      const fabric::Node& tail = m_fabric.nodes()[arc.tail];
      const fabric::Node& head = m_fabric.nodes()[arc.head];
      if (tail.rank < 0 && head.rank < 0) {
        isOwn[arc.tail] = isOwn[arc.head] = 0;
      } else if (head.rank < 0) {
        into[arc.head].push_back(tail.rank);
      } else if (tail.rank < 0) {
        outOf[arc.tail].push_back(head.rank);
      }
    }
    Bundle bundle;
    for (std::size_t node = 0; node < nodeCount; ++node) {
      const auto isOther = [&](Rank rank) { return boxOf(rank) != boxOf(into[node].front()); };
      if (isOwn[node] == 0 || into[node].empty() || std::any_of(into[node].begin(), into[node].end(), isOther) ||
          std::any_of(outOf[node].begin(), outOf[node].end(), isOther)) {
        continue;
      }
      for (const Rank from : into[node]) {
        for (const Rank to : outOf[node]) {
          if (from != to) {
            bundle.ends.emplace_back(from, to);
            bundle.routes.push_back({m_fabric.gpus()[from], static_cast<NodeIndex>(node), m_fabric.gpus()[to]});
          }
        }
      }
    }
    return bundle;
  }

  [[nodiscard]] const std::string& boxOf(Rank rank) const { return m_fabric.nodes()[m_fabric.gpus()[rank]].box; }

  /// Every route gets what the busiest of its links leaves when all routes of the bundle have the same.
  void setRates(Bundle& bundle) const {
    std::vector<int64_t> users(m_fabric.arcs().size(), 0);
    const auto forEachArc = [&](const std::vector<NodeIndex>& route, auto&& visit) {
      for (std::size_t i = 1; i < route.size(); ++i) {
        visit(m_finder.find(route[i - 1], route[i]));
      }
    };
    for (const auto& route : bundle.routes) {
      forEachArc(route, [&](std::int32_t arc) { ++users[arc]; });
    }
    for (const auto& route : bundle.routes) {
      std::optional<Bandwidth> rate;
      forEachArc(route, [&](std::int32_t arc) {
        const Bandwidth share = m_fabric.arcs()[arc].bandwidth / Rational(users[arc]);
        rate = rate ? std::min(*rate, share) : share;
      });
      bundle.rates.push_back(rate.value_or(Bandwidth(1)));
    }
  }

  static void append(Bundle& to, const Bundle& from) {
    to.ends.insert(to.ends.end(), from.ends.begin(), from.ends.end());
    to.routes.insert(to.routes.end(), from.routes.begin(), from.routes.end());
    to.rates.insert(to.rates.end(), from.rates.begin(), from.rates.end());
  }

  const fabric::Fabric& m_fabric;
  schedule::ArcFinder m_finder;
  std::vector<std::vector<Rank>> m_boxes;
};

struct Offsets {
  std::string name;
  std::vector<int> list;
};

std::vector<Offsets> offsetsFor(int boxes) {
  std::vector<int> all(static_cast<std::size_t>(boxes) - 1);
  std::iota(all.begin(), all.end(), 1);
  std::vector<Offsets> list = {{"from each box to all others", all}};
  if (boxes > 2) {
    list.push_back({"from each box to the next", {1}});
    list.push_back({"between neighbouring boxes of a circle", {1, boxes - 1}});
  }
  std::vector<int> powers;
  for (int offset = 1; offset < boxes; offset *= 2) {
    powers.push_back(offset);
  }
  if (powers.size() > 2) {
    list.push_back({"from each box to those 1, 2, 4, ... after it", powers});
  }
  return list;
}

}  // namespace

std::vector<Logical> boxWirings(const fabric::Fabric& fabric, const Progress& progress) {
  const Wiring wiring(fabric);
  const auto boxes = static_cast<int>(wiring.boxes().size());
  std::vector<Logical> found;
  if (boxes < 2) {
    return found;
  }
  const Bundle inner = wiring.inside();
  for (const Offsets& offsets : offsetsFor(boxes)) {
    throwIfCancelled(progress);
    const auto outer = wiring.between(offsets.list);
    if (!outer) {
      return found;
    }
    found.push_back(wiring.logical(inner, *outer));
    found.back().name = "between GPUs of the same place, " + offsets.name;
  }
  return found;
}

}  // namespace coppice::bfb
