// SPDX-License-Identifier: Apache-2.0
#include "schedule/peers.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "schedule/factored_layout.hpp"
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

void addTrees(const Forest& forest, const fabric::Fabric& fabric, const Progress& progress, PeerLists& peers) {
  TreeReader reader(forest, fabric.gpus());
  for (std::int64_t tree = 0; tree < reader.size(); ++tree) {
    throwIfCancelled(progress);
    for (const TreeReader::Edge& edge : reader.read(tree).edges) {
      peers.join(edge.parent, edge.child);
    }
  }
}

/// Which nodes of a shape are joined, and by which of their ports: tail, its port, head, its port.
using Joint = std::tuple<int, int, int, int>;

/// The joints of the trees of a shape that are used; marks the trees of its parts that these continue with.
std::set<Joint> jointsOf(const FactoredForest& forest, int shapeIndex, std::vector<std::vector<char>>& isUsed) {
  const FactoredForest::Shape& shape = forest.shapes[shapeIndex];
  std::set<Joint> joints;
  for (std::size_t t = 0; t < shape.trees.size(); ++t) {
    if (isUsed[shapeIndex][t] == 0) {
      continue;
    }
    const FactoredForest::PartTree& tree = shape.trees[t];
    const FactoredForest::Skeleton& skeleton = shape.skeletons[tree.skeleton];
    const FactoredForest::Pattern& pattern = shape.patterns[tree.pattern];
    const FactoredForest::Choice* choice = shape.choices.data() + pattern.firstChoice;
    std::int64_t left = choice->count;
    for (std::size_t step = 0; step < shape.childShape.size(); ++step, --left) {
      while (left == 0) {
        left = (++choice)->count;
      }
      int node = skeleton.root;
      if (step > 0) {
        const FactoredForest::Arc& arc = shape.arcs[static_cast<std::size_t>(skeleton.firstArc) + step - 1];
        joints.emplace(arc.tail, choice->tailPort, arc.head, choice->headPort);
        node = arc.head;
      }
      if (const int child = shape.childShape[node]; child != FactoredForest::kGpu) {
        isUsed[child][choice->innerTree] = 1;
      }
    }
  }
  return joints;
}

/// By parts: every joint once, at all places of its shape.
void addParts(const FactoredForest& forest, const Progress& progress, PeerLists& peers) {
  const FactoredLayout layout(forest);
  std::vector<std::vector<char>> isUsed;
  isUsed.reserve(forest.shapes.size());
  for (const FactoredForest::Shape& shape : forest.shapes) {
    isUsed.emplace_back(shape.trees.size(), char{0});
  }
  std::fill(isUsed[layout.topShapeIndex()].begin(), isUsed[layout.topShapeIndex()].end(), char{1});
  std::vector<std::vector<int>> placesOf(forest.shapes.size());
  for (std::size_t i = 0; i < forest.instances.size(); ++i) {
    placesOf[forest.instances[i].shape].push_back(static_cast<int>(i));
  }
  for (std::size_t s = forest.shapes.size(); s-- > 0;) {
    throwIfCancelled(progress);
    const FactoredForest::Shape& shape = forest.shapes[s];
    const std::set<Joint> joints = jointsOf(forest, static_cast<int>(s), isUsed);
    for (const int place : placesOf[s]) {
      const auto gpuAt = [&](int node, int port, bool isOut) {
        const int child = forest.instances[place].children[node];
        if (shape.childShape[node] == FactoredForest::kGpu) {
          return child;
        }
        const FactoredForest::Shape& part = forest.shapes[shape.childShape[node]];
        const FactoredForest::Port& chosen = (isOut ? part.outPorts : part.inPorts)[port];
        return layout.rankOf(layout.place(child).leafBase + chosen.leaf);
      };
      for (const auto& [tail, tailPort, head, headPort] : joints) {
        peers.join(gpuAt(tail, tailPort, true), gpuAt(head, headPort, false));
      }
    }
  }
}

/// The peers of each GPU where all forests have the same rotations. The image of an edge from a to b under the product
/// that takes a to rank 0 leads from there to the difference of the two, place by place; and likewise back.
std::optional<int> rotatedPeers(const Schedule& schedule, const fabric::Fabric& fabric) {
  const FactoredForest* first = nullptr;
  std::vector<char> isPeer(fabric.gpuCount(), 0);
  for (const auto* forest : {&schedule.reduceForest, &schedule.broadcastForest}) {
    if (!*forest) {
      continue;
    }
    const FactoredForest* const parts = (*forest)->factored.get();
    if (parts == nullptr || !isRotated(*parts) || (first != nullptr && rotationsIn(*first) != rotationsIn(*parts))) {
      return std::nullopt;
    }
    first = parts;
    const std::vector<Rotation> rotations = rotationsIn(*parts);
    TreeReader reader(**forest, fabric.gpus());
    for (std::int64_t tree = 0; tree < rotatedTrees(**forest); ++tree) {
      for (const TreeReader::Edge& edge : reader.read(tree).edges) {
        for (const auto& [from, to] : {std::pair(edge.parent, edge.child), std::pair(edge.child, edge.parent)}) {
          fabric::Rank difference = to;
          for (const Rotation& rotation : rotations) {
            difference = rotated(difference, rotation, rotation.count - from / rotation.step % rotation.count);
          }
          isPeer[difference] = 1;
        }
      }
    }
  }
  if (first == nullptr) {
    return std::nullopt;
  }
  return static_cast<int>(std::count(isPeer.begin(), isPeer.end(), 1));
}

}  // namespace

std::vector<int> peersOf(const Schedule& schedule, const fabric::Fabric& fabric, const Progress& progress) {
  if (const auto count = rotatedPeers(schedule, fabric)) {
    return std::vector<int>(static_cast<std::size_t>(fabric.gpuCount()), *count);
  }
  PeerLists peers(fabric.gpuCount());
  for (const auto* forest : {&schedule.reduceForest, &schedule.broadcastForest}) {
    if (*forest && (*forest)->factored && !isRotated(*(*forest)->factored)) {
      addParts(*(*forest)->factored, progress, peers);
    } else if (*forest) {
      addTrees(**forest, fabric, progress, peers);
    }
  }
  return peers.counts();
}

int maxPeers(const Schedule& schedule, const fabric::Fabric& fabric, const Progress& progress) {
  const std::vector<int> counts = peersOf(schedule, fabric, progress);
  return counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
}

}  // namespace coppice::schedule
