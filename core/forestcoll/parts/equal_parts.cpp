// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/parts/equal_parts.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "fabric/box_path.hpp"

namespace coppice::forestcoll {
namespace {

using std::int64_t;

class Classes {
public:
  Classes(const fabric::Fabric& fabric, std::span<const int64_t> demandByRank)
      : m_fabric(fabric),
        m_demand(demandByRank),
        m_class(static_cast<std::size_t>(fabric.nodeCount())),
        m_place(static_cast<std::size_t>(fabric.nodeCount())) {
    std::iota(m_class.begin(), m_class.end(), 0);
    m_arcsOf.resize(fabric.nodeCount());
    for (std::size_t i = 0; i < fabric.arcs().size(); ++i) {
      m_arcsOf[fabric.arcs()[i].tail].push_back(static_cast<int>(i));
      m_arcsOf[fabric.arcs()[i].head].push_back(static_cast<int>(i));
      const Rational& bandwidth = fabric.arcs()[i].bandwidth.gigabytesPerSecond();
      const auto key = std::pair(bandwidth.numerator(), bandwidth.denominator());
      m_bandwidth.push_back(m_bandwidths.emplace(key, static_cast<int>(m_bandwidths.size())).first->second);
    }
  }

  /// False where no node is nested so deep.
  bool joinLevel(int level) {
    std::unordered_map<std::string_view, int> number;
    std::vector<std::vector<int>> boxes;
    for (int node = 0; node < m_fabric.nodeCount(); ++node) {
      const std::string_view box = fabric::boxAtLevel(m_fabric.nodes()[node].box, level);
      if (box.empty()) {
        m_place[node] = {-1, 0};
        continue;
      }
      const auto [found, isNew] = number.emplace(box, static_cast<int>(boxes.size()));
      if (isNew) {
        boxes.emplace_back();
      }
      std::vector<int>& nodes = boxes[found->second];
      m_place[node] = {found->second, static_cast<int>(nodes.size())};
      nodes.push_back(node);
    }
    joinEqual(boxes);
    return !boxes.empty();
  }

  /// Switches in no box with what hangs on each of them alone: first with outermost boxes and GPUs in no box, then with
  /// groups found before. False where there are none.
  bool joinGroups() {
    if (m_unitOf.empty()) {
      findUnits();
    }
    const std::vector<int> hubOf = hubs();
    std::unordered_map<int, int> groupAt;  // by hub
    std::vector<int> groupOf(hubOf.size(), -1);
    for (std::size_t unit = 0; unit < hubOf.size(); ++unit) {
      if (hubOf[unit] >= 0) {
        groupOf[unit] = groupAt.emplace(hubOf[unit], static_cast<int>(groupAt.size())).first->second;
      }
    }
    std::vector<std::vector<int>> groups(groupAt.size());
    std::vector<int> numberOf(hubOf.size(), -1);  // of units that are in no group
    m_unitCount = static_cast<int>(groups.size());
    for (int node = 0; node < m_fabric.nodeCount(); ++node) {
      int& unit = m_unitOf[node];
      const auto asHub = groupAt.find(node);
      const int group = asHub != groupAt.end() ? asHub->second : unit >= 0 ? groupOf[unit] : -1;
      m_place[node] = {-1, 0};
      if (group >= 0) {
        m_place[node] = {group, static_cast<int>(groups[group].size())};
        groups[group].push_back(node);
        unit = group;
      } else if (unit >= 0) {
        int& number = numberOf[unit];
        number = number < 0 ? m_unitCount++ : number;
        unit = number;
      }
    }
    joinEqual(groups);
    return !groups.empty();
  }

  std::vector<int> take() {
    for (int node = 0; static_cast<std::size_t>(node) < m_class.size(); ++node) {
      m_class[node] = find(node);
    }
    return std::move(m_class);
  }

private:
  /// @pre m_place says where each node is among the boxes
  void joinEqual(const std::vector<std::vector<int>>& boxes) {
    std::map<std::vector<int64_t>, int> firstOf;
    for (std::size_t box = 0; box < boxes.size(); ++box) {
      const auto [first, isNew] = firstOf.emplace(signatureOf(boxes, static_cast<int>(box)), static_cast<int>(box));
      for (std::size_t i = 0; i < boxes[box].size() && !isNew; ++i) {
        join(boxes[first->second][i], boxes[box][i]);
      }
    }
  }

  void findUnits() {
    std::unordered_map<std::string_view, int> number;
    for (const fabric::Node& node : m_fabric.nodes()) {
      const std::string_view box = fabric::boxAtLevel(node.box, 1);
      if (!box.empty()) {
        const auto [found, isNew] = number.emplace(box, m_unitCount);
        m_unitCount += isNew ? 1 : 0;
        m_unitOf.push_back(found->second);
      } else {
        m_unitOf.push_back(node.kind == fabric::NodeKind::gpu ? m_unitCount++ : -1);
      }
    }
  }

  /// By unit the one node outside that its links lead to, where that is a switch in no unit; else -1.
  [[nodiscard]] std::vector<int> hubs() const {
    constexpr int kNone = -1;
    constexpr int kSeveral = -2;
    std::vector<int> hubOf(m_unitCount, kNone);
    const auto note = [&](int node, int other) {
      if (m_unitOf[node] >= 0 && m_unitOf[node] != m_unitOf[other]) {
        int& hub = hubOf[m_unitOf[node]];
        hub = m_unitOf[other] < 0 && (hub == kNone || hub == other) ? other : kSeveral;
      }
    };
    for (const fabric::Arc& link : m_fabric.arcs()) {
      note(link.tail, link.head);
      note(link.head, link.tail);
    }
    return hubOf;
  }

  /// Equal for boxes that can be exchanged, and only for these.
  [[nodiscard]] std::vector<int64_t> signatureOf(const std::vector<std::vector<int>>& boxes, int box) const {
    std::vector<int64_t> text;
    std::vector<std::tuple<int64_t, int64_t, int64_t>> ends;
    for (const int node : boxes[box]) {
      const fabric::Node& facts = m_fabric.nodes()[node];
      text.push_back(static_cast<int64_t>(facts.kind));
      text.push_back(facts.rank < 0 ? -1 : m_demand[facts.rank]);
      ends.clear();
      for (const int arc : m_arcsOf[node]) {
        const fabric::Arc& link = m_fabric.arcs()[arc];
        const bool isOut = link.tail == node;
        const int other = isOut ? link.head : link.tail;
        const auto [otherBox, place] = m_place[other];
        // Places inside the box are distinguished from nodes outside by their sign.
        const int64_t end = otherBox == box ? -1 - int64_t{place} : int64_t{other};
        ends.emplace_back(end, isOut ? 1 : 0, m_bandwidth[arc]);
      }
      std::sort(ends.begin(), ends.end());
      text.push_back(static_cast<int64_t>(ends.size()));
      for (const auto& [end, isOut, bandwidth] : ends) {
        text.insert(text.end(), {end, isOut, bandwidth});
      }
    }
    return text;
  }

  int find(int node) {
    while (m_class[node] != node) {
      node = m_class[node] = m_class[m_class[node]];
    }
    return node;
  }

  void join(int a, int b) {
    const int first = find(a);
    const int second = find(b);
    m_class[std::max(first, second)] = std::min(first, second);
  }

  const fabric::Fabric& m_fabric;
  std::span<const int64_t> m_demand;
  std::vector<int> m_class;
  std::vector<std::pair<int, int>> m_place;  // by node: its box at the current level, and its place in it
  std::vector<int> m_unitOf;                 // by node: its group, or outermost box, or itself; -1 at other switches
  int m_unitCount = 0;
  std::vector<std::vector<int>> m_arcsOf;
  std::map<std::pair<int64_t, int64_t>, int> m_bandwidths;
  std::vector<int> m_bandwidth;  // by arc
};

}  // namespace

std::vector<int> symmetryClasses(const fabric::Fabric& fabric, std::span<const int64_t> demandByRank) {
  constexpr int kMaxLevels = 8;
  Classes classes(fabric, demandByRank);
  for (int level = 1; level <= kMaxLevels && classes.joinLevel(level); ++level) {
  }
  for (int level = 1; level <= kMaxLevels && classes.joinGroups(); ++level) {
  }
  return classes.take();
}

}  // namespace coppice::forestcoll
