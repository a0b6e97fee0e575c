// SPDX-License-Identifier: Apache-2.0
#include "mscclpp/switch_trees.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "schedule/tree_reader.hpp"

namespace coppice::mscclpp {

namespace {

using schedule::Direction;

/// As many as offsets in a buffer of 4 GiB allow, at 16 bytes a chunk, are far more.
constexpr std::int64_t kMaxTreeChunks = std::int64_t{1} << 20;

/// One tree, as its ranks see it; up and in of an in-tree, down and out of an out-tree.
struct TreeShape {
  std::int64_t multiplicity = 1;
  std::vector<TreeEnds> ends;
};

class TreeShapes {
public:
  TreeShapes(const fabric::Fabric& fabric, const std::vector<int>& boxOf) : m_fabric(fabric), m_boxOf(boxOf) {}

  /// By root: its trees.
  Result<std::vector<std::vector<TreeShape>>> read(const schedule::Forest& forest, const Progress& progress) {
    std::vector<std::vector<TreeShape>> byRoot(static_cast<std::size_t>(m_fabric.gpuCount()));
    if (forest.gpuCount != m_fabric.gpuCount()) {
      return Error{ErrorCode::badInput, "the schedule is not one of this fabric", "generate it again for this fabric"};
    }
    schedule::TreeReader reader(forest);
    for (std::int64_t i = 0; i < reader.size(); ++i) {
      throwIfCancelled(progress);
      const schedule::TreeReader::View view = reader.read(i);
      auto shape = shapeOf(forest.direction, reader, view);
      if (!shape) {
        return shape.error();
      }
      byRoot[static_cast<std::size_t>(view.root)].push_back(*std::move(shape));
    }
    return byRoot;
  }
  [[nodiscard]] bool hasSwitches() const { return m_hasSwitches; }

private:
  Result<TreeShape> shapeOf(Direction direction, schedule::TreeReader& reader, const schedule::TreeReader::View& view) {
    const auto ranks = static_cast<std::size_t>(m_fabric.gpuCount());
    TreeShape shape{view.multiplicity, std::vector<TreeEnds>(ranks)};
    // Which parents take or send a stream of a switch, and which switches are next to them.
    std::vector<std::vector<fabric::NodeIndex>> switchesOf(ranks);
    for (const schedule::TreeEdge& edge : view.edges) {
      if (edge.pruned > 0) {
        switchesOf[edge.parent].push_back(nextToParent(direction, reader.path(edge)));
      }
    }
    for (const schedule::TreeEdge& edge : view.edges) {
      const std::span<const fabric::NodeIndex> path = reader.path(edge);
      const auto& switches = switchesOf[edge.parent];
      const bool bySwitch =
          std::find(switches.begin(), switches.end(), nextToParent(direction, path)) != switches.end();
      if (bySwitch) {
        if (const Outcome driven = requireDriven(direction, edge, path); !driven) {
          return driven.error();
        }
        m_hasSwitches = true;
      }
      TreeEnds& parent = shape.ends[edge.parent];
      TreeEnds& child = shape.ends[edge.child];
      if (direction == Direction::in) {
        child.up = edge.parent;
        child.upBySwitch = bySwitch;
        (bySwitch ? parent.inBySwitch : parent.inDirect).push_back(edge.child);
      } else {
        child.down = edge.parent;
        child.downBySwitch = bySwitch;
        (bySwitch ? parent.outBySwitch : parent.outDirect).push_back(edge.child);
      }
    }
    for (TreeEnds& ends : shape.ends) {
      for (auto* list : {&ends.inDirect, &ends.inBySwitch, &ends.outDirect, &ends.outBySwitch}) {
        std::sort(list->begin(), list->end());
      }
    }
    return shape;
  }

  static fabric::NodeIndex nextToParent(Direction direction, std::span<const fabric::NodeIndex> path) {
    return direction == Direction::in ? path[path.size() - 2] : path[1];
  }

  /// Multimem instructions reach the GPUs of one NVLink domain, through its own switches.
  Outcome requireDriven(Direction direction, const schedule::TreeEdge& edge,
                        std::span<const fabric::NodeIndex> path) const {
    const fabric::Node& parent = m_fabric.nodes()[m_fabric.gpus()[edge.parent]];
    const char* const does = direction == Direction::in ? "sums" : "copies";
    for (std::size_t i = 1; i + 1 < path.size(); ++i) {
      const fabric::Node& node = m_fabric.nodes()[path[i]];
      const bool isInside = node.box.empty() ? parent.box.empty() : parent.box.starts_with(node.box);
      if (!isInside) {
        return Error{
            ErrorCode::unavailable,
            "a tree of the schedule " + std::string(does) + " in " + inQuotes(node.id) +
                ", which is in no NVLink domain of its GPUs: MSCCL++ drives NVSwitches, not SHARP of a network",
            "generate it on the fabric without capable switches outside the boxes, or with --plain-switches "
            "and export it with --target mscclpp"};
      }
    }
    if (!m_boxOf.empty() && m_boxOf[edge.parent] != m_boxOf[edge.child]) {
      return Error{ErrorCode::unavailable,
                   "a tree of the schedule " + std::string(does) + " in one switch for " + inQuotes(parent.id) +
                       " and " + inQuotes(m_fabric.nodes()[m_fabric.gpus()[edge.child]].id) +
                       ", which are in two NVLink domains: a switch group cannot mix them",
                   "put GPUs that share an NVLink switch into one box, or export with --target mscclpp"};
    }
    return Done{};
  }

  const fabric::Fabric& m_fabric;
  const std::vector<int>& m_boxOf;
  bool m_hasSwitches = false;
};

Error withoutSwitches(const fabric::Fabric& fabric) {
  const bool isCapable = std::any_of(fabric.nodes().begin(), fabric.nodes().end(), [](const fabric::Node& node) {
    return node.kind != fabric::NodeKind::gpu && node.multicast && node.aggregation;
  });
  if (!isCapable) {
    return {ErrorCode::unavailable, "no switch of this fabric copies and sums (multicast and aggregation)",
            "mark the NVSwitches that have NVLink SHARP as capable (presets: nvls=true), or export with --target "
            "mscclpp"};
  }
  return {ErrorCode::unavailable, "no tree of this schedule is summed or copied in a switch",
          "generate it without --plain-switches, or with --method nvls-tree (nvls in one box) where switches "
          "gain nothing; or export it with --target mscclpp"};
}

bool hasDirectEdges(const std::vector<std::vector<TreeShape>>& byRoot) {
  const auto hasEdges = [](const TreeShape& shape) {
    return std::any_of(shape.ends.begin(), shape.ends.end(),
                       [](const TreeEnds& ends) { return !ends.inDirect.empty() || !ends.outDirect.empty(); });
  };
  return std::any_of(byRoot.begin(), byRoot.end(), [&](const std::vector<TreeShape>& shapes) {
    return std::any_of(shapes.begin(), shapes.end(), hasEdges);
  });
}

/// Joins runs of in-trees and of out-trees of one root.
void joinRuns(int root, const std::vector<TreeShape>& in, const std::vector<TreeShape>& out, std::int64_t unit,
              int instances, int pieces, SwitchTrees& trees) {
  std::size_t i = 0;
  std::size_t o = 0;
  std::int64_t inLeft = in.empty() ? 0 : in[0].multiplicity / unit;
  std::int64_t outLeft = out.empty() ? 0 : out[0].multiplicity / unit;
  while (i < in.size() && o < out.size()) {
    const auto count = static_cast<int>(std::min(inLeft, outLeft));
    TreePart part{.root = root, .start = trees.chunks, .count = count, .pieces = pieces, .ends = in[i].ends};
    for (std::size_t rank = 0; rank < part.ends.size(); ++rank) {
      const TreeEnds& other = out[o].ends[rank];
      part.ends[rank].down = other.down;
      part.ends[rank].downBySwitch = other.downBySwitch;
      part.ends[rank].outDirect = other.outDirect;
      part.ends[rank].outBySwitch = other.outBySwitch;
    }
    for (int instance = 0; instance < instances; ++instance) {
      part.start = trees.chunks + instance * pieces * count;
      trees.parts.push_back(part);
    }
    trees.chunks += instances * pieces * count;
    inLeft -= count;
    outLeft -= count;
    if (inLeft == 0 && ++i < in.size()) {
      inLeft = in[i].multiplicity / unit;
    }
    if (outLeft == 0 && ++o < out.size()) {
      outLeft = out[o].multiplicity / unit;
    }
  }
}

}  // namespace

Result<SwitchTrees> readSwitchTrees(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                                    const std::vector<int>& boxOf, int instances, int pieces,
                                    const Progress& progress) {
  if (schedule.collective != Collective::allreduce || !schedule.reduceForest || !schedule.broadcastForest) {
    return Error{ErrorCode::badUsage,
                 "switch channels are written for allreduce, not for " + std::string(toString(schedule.collective)),
                 "generate it with --plain-switches and export it with --target mscclpp"};
  }
  TreeShapes shapes(fabric, boxOf);
  const auto in = shapes.read(*schedule.reduceForest, progress);
  if (!in) {
    return in.error();
  }
  const auto out = shapes.read(*schedule.broadcastForest, progress);
  if (!out) {
    return out.error();
  }
  if (!shapes.hasSwitches()) {
    return withoutSwitches(fabric);
  }
  std::int64_t unit = 0;
  std::int64_t chunks = 0;
  for (std::size_t root = 0; root < in->size(); ++root) {
    std::int64_t sums = 0;
    std::int64_t copies = 0;
    for (const TreeShape& shape : (*in)[root]) {
      unit = std::gcd(unit, shape.multiplicity);
      sums = checkedAdd(sums, shape.multiplicity);
    }
    for (const TreeShape& shape : (*out)[root]) {
      unit = std::gcd(unit, shape.multiplicity);
      copies = checkedAdd(copies, shape.multiplicity);
    }
    if (sums != copies) {
      return Error{ErrorCode::badInput,
                   "root " + std::to_string(root) + " has " + std::to_string(sums) + " in-trees and " +
                       std::to_string(copies) + " out-trees",
                   "generate the schedule again for this fabric"};
    }
    chunks = checkedAdd(chunks, sums);
  }
  if (unit == 0 || checkedMul(chunks / unit, std::int64_t{instances} * pieces) > kMaxTreeChunks) {
    return Error{ErrorCode::limit, std::to_string(chunks) + " trees are too many runs of chunks for one plan",
                 "use a smaller k, or fewer instances"};
  }
  pieces = hasDirectEdges(*in) || hasDirectEdges(*out) ? pieces : 1;
  SwitchTrees trees;
  for (int root = 0; root < fabric.gpuCount(); ++root) {
    joinRuns(root, (*in)[root], (*out)[root], unit, instances, pieces, trees);
  }
  return trees;
}

}  // namespace coppice::mscclpp
