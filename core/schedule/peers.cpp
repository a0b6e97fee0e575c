// SPDX-License-Identifier: Apache-2.0
#include "schedule/peers.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "schedule/rotation.hpp"
#include "schedule/tree_reader.hpp"

namespace coppice::schedule {
namespace {

/// The ranks beside each rank.
class PeerLists {
public:
  explicit PeerLists(int gpuCount)
      : m_gpuCount(gpuCount),
        m_isJoined(gpuCount <= kMaxDense ? static_cast<std::size_t>(gpuCount) * static_cast<std::size_t>(gpuCount) : 0,
                   false),
        m_beside(static_cast<std::size_t>(gpuCount)),
        m_room(static_cast<std::size_t>(gpuCount), kRoom) {}

  void join(fabric::Rank a, fabric::Rank b) {
    if (!m_isJoined.empty()) {
      const std::size_t pair = static_cast<std::size_t>(std::int64_t{std::min(a, b)} * m_gpuCount + std::max(a, b));
      if (m_isJoined[pair]) {
        return;
      }
      m_isJoined[pair] = true;
    }
    add(a, b);
    add(b, a);
  }

  std::vector<int> counts() {
    std::vector<int> counts;
    counts.reserve(m_beside.size());
    for (std::vector<fabric::Rank>& list : m_beside) {
      tidy(list);
      counts.push_back(static_cast<int>(list.size()));
    }
    return counts;
  }

private:
  static constexpr std::size_t kRoom = 64;
  /// Up to here a table of all pairs takes at most 32 MB and spares the lists their repeats.
  static constexpr int kMaxDense = 16384;

  static void tidy(std::vector<fabric::Rank>& list) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }

  /// Repeats go out when a list is full, so that memory grows with the peers and not with the trees.
  void add(fabric::Rank rank, fabric::Rank peer) {
    std::vector<fabric::Rank>& list = m_beside[rank];
    if (list.size() >= m_room[rank]) {
      tidy(list);
      m_room[rank] = std::max(kRoom, 2 * list.size());
    }
    list.push_back(peer);
  }

  int m_gpuCount = 0;
  std::vector<bool> m_isJoined;
  std::vector<std::vector<fabric::Rank>> m_beside;
  std::vector<std::size_t> m_room;
};

void addTrees(const Forest& forest, const Progress& progress, PeerLists& peers) {
  TreeReader reader(forest);
  for (std::int64_t tree = 0; tree < reader.size(); ++tree) {
    throwIfCancelled(progress);
    for (const TreeEdge& edge : reader.read(tree).edges) {
      peers.join(edge.parent, edge.child);
    }
  }
}

/// Where rank 0 finds `to` as seen from `from`: the image of an edge between them under the product that takes `from`
/// to rank 0 leads from there to the difference of the two, place by place.
fabric::Rank differenceOf(fabric::Rank from, fabric::Rank to, const std::vector<Rotation>& rotations) {
  fabric::Rank difference = to;
  for (const Rotation& rotation : rotations) {
    difference = rotated(difference, rotation, rotation.count - from / rotation.step % rotation.count);
  }
  return difference;
}

/// The peers of each GPU where all forests have the same rotations.
std::optional<int> rotatedPeers(const Schedule& schedule) {
  const std::vector<Rotation>* rotations = nullptr;
  std::vector<char> isPeer;
  for (const auto* forest : {&schedule.reduceForest, &schedule.broadcastForest}) {
    if (!*forest) {
      continue;
    }
    if ((*forest)->rotations.empty() || (rotations != nullptr && *rotations != (*forest)->rotations)) {
      return std::nullopt;
    }
    rotations = &(*forest)->rotations;
    isPeer.resize((*forest)->gpuCount, 0);
    for (const TreeEdge& edge : (*forest)->edges) {
      for (const auto& [from, to] : {std::pair(edge.parent, edge.child), std::pair(edge.child, edge.parent)}) {
        isPeer[differenceOf(from, to, *rotations)] = 1;
      }
    }
  }
  if (rotations == nullptr) {
    return std::nullopt;
  }
  return static_cast<int>(std::count(isPeer.begin(), isPeer.end(), 1));
}

}  // namespace

std::vector<int> peersOf(const Schedule& schedule, const fabric::Fabric& fabric, const Progress& progress) {
  if (const auto count = rotatedPeers(schedule)) {
    return std::vector<int>(static_cast<std::size_t>(fabric.gpuCount()), *count);
  }
  PeerLists peers(fabric.gpuCount());
  for (const auto* forest : {&schedule.reduceForest, &schedule.broadcastForest}) {
    if (*forest) {
      addTrees(**forest, progress, peers);
    }
  }
  return peers.counts();
}

int maxPeers(const Schedule& schedule, const fabric::Fabric& fabric, const Progress& progress) {
  const std::vector<int> counts = peersOf(schedule, fabric, progress);
  return counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
}

std::optional<int> peersOneWay(const Forest& forest) {
  if (forest.rotations.empty()) {
    return std::nullopt;
  }
  std::vector<char> isChild(static_cast<std::size_t>(forest.gpuCount), 0);
  std::vector<char> isParent(isChild.size(), 0);
  for (const TreeEdge& edge : forest.edges) {
    isChild[differenceOf(edge.parent, edge.child, forest.rotations)] = 1;
    isParent[differenceOf(edge.child, edge.parent, forest.rotations)] = 1;
  }
  return static_cast<int>(
      std::max(std::count(isChild.begin(), isChild.end(), 1), std::count(isParent.begin(), isParent.end(), 1)));
}

}  // namespace coppice::schedule
