// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "baselines/builder.hpp"
#include "baselines/forests.hpp"
#include "baselines/gates.hpp"
#include "fabric/gpu_boxes.hpp"

/// What NCCL 2.18 and later builds on NVLink SHARP and InfiniBand SHARP (graph/connect.cc, device/all_reduce.h). The
/// data is divided over the heads of a box: the GPUs next to its NICs, or all GPUs where there is one box. Heads with
/// the same number in their boxes exchange sums. SHARP sums at its switch and every head sends and receives each part
/// once; rooted at the heads of the first box, trees load the links the same.
namespace coppice::baselines {
namespace {

using fabric::NodeIndex;
using fabric::Rank;
using schedule::Direction;
using schedule::Forest;

[[noreturn]] void refuse(std::string message, std::string fix) {
  throw Failure{Error{ErrorCode::infeasible, std::move(message), std::move(fix)}};
}

struct Boxes {
  std::vector<std::vector<Rank>> gpus;
  std::vector<std::vector<Rank>> heads;  ///< as many in each box
  [[nodiscard]] int count() const { return static_cast<int>(gpus.size()); }
  [[nodiscard]] int headCount() const { return static_cast<int>(heads.front().size()); }
};

const fabric::Node& gpuNode(const fabric::Fabric& fabric, Rank rank) {
  return fabric.nodes()[fabric.gpus()[rank]];
}

/// The GPUs nearest to a gate: one for a NIC, all for a switch of the box that leads out of it.
std::vector<Rank> headsAt(const fabric::Fabric& fabric, schedule::RouteFinder& finder, const std::vector<Rank>& gpus,
                          const Gate& gate) {
  if (fabric.nodes()[gate.node].kind != fabric::NodeKind::switchNode) {
    return {gate.gpu};
  }
  std::vector<Rank> nearest;
  std::size_t least = 0;
  for (const Rank gpu : gpus) {
    const std::size_t length = finder.nodesBetween(fabric.gpus()[gpu], gate.node).size();
    if (length == 0 || (!nearest.empty() && length > least)) {
      continue;
    }
    if (length < least) {
      nearest.clear();
    }
    least = length;
    nearest.push_back(gpu);
  }
  return nearest;
}

Boxes boxesWithHeads(const fabric::Fabric& fabric) {
  Boxes boxes;
  boxes.gpus = fabric::gpuBoxes(fabric).ranks();
  if (boxes.count() == 1) {
    boxes.heads = boxes.gpus;
    return boxes;
  }
  schedule::PathPool pool;
  schedule::RouteFinder finder(fabric, pool);
  const Gates gates(fabric, finder);
  std::size_t count = boxes.gpus.front().size();
  for (int box = 0; box < boxes.count(); ++box) {
    std::vector<Rank>& heads = boxes.heads.emplace_back();
    for (const Gate& gate : gates.of(box)) {
      for (const Rank head : headsAt(fabric, finder, boxes.gpus[box], gate)) {
        if (std::find(heads.begin(), heads.end(), head) == heads.end()) {
          heads.push_back(head);
        }
      }
    }
    if (heads.empty()) {
      refuse("No link leaves the box of " + inQuotes(gpuNode(fabric, boxes.gpus[box].front()).id),
             "join the boxes by a network");
    }
    count = std::min(count, heads.size());
  }
  for (std::vector<Rank>& heads : boxes.heads) {
    heads.resize(count);
  }
  return boxes;
}

/// How GPUs of a box send to its head and receive from it.
enum class Inside {
  star,  ///< each on its own
  chain  ///< from one to the next
};

class Trees {
public:
  Trees(const fabric::Fabric& fabric, const Boxes& boxes, Inside inside, Direction direction)
      : m_fabric(fabric), m_boxes(boxes), m_builder(fabric, direction), m_children(fabric.gpuCount()) {
    if (inside == Inside::chain) {
      orderChains();
    }
  }

  /// A tree over the heads with this number. @param parentBox by box; -1 for that of the root
  void add(int number, const std::vector<int>& parentBox) {
    const auto rootBox = std::find(parentBox.begin(), parentBox.end(), -1) - parentBox.begin();
    m_plans.push_back({m_boxes.heads[rootBox][number], number, parentBox});
  }

  [[nodiscard]] Forest take(Meetings meetings, const Progress& progress) {
    std::stable_sort(m_plans.begin(), m_plans.end(), [](const Plan& a, const Plan& b) { return a.root < b.root; });
    for (const Plan& plan : m_plans) {
      throwIfCancelled(progress);
      write(plan);
    }
    prune(m_fabric, m_builder.forest(), meetings);
    return std::move(m_builder.forest());
  }

private:
  struct Plan {
    Rank root = 0;
    int number = 0;
    std::vector<int> parentBox;
  };

  void write(const Plan& plan) {
    for (auto& children : m_children) {
      children.clear();
    }
    for (int box = 0; box < m_boxes.count(); ++box) {
      addMates(box, plan.number);
      if (plan.parentBox[box] >= 0) {
        const Rank parent = m_boxes.heads[plan.parentBox[box]][plan.number];
        m_children[parent].push_back(m_boxes.heads[box][plan.number]);
      }
    }
    m_builder.startTree(plan.root);
    std::vector<Rank> queue{plan.root};
    for (std::size_t at = 0; at < queue.size(); ++at) {
      for (const Rank child : m_children[queue[at]]) {
        m_builder.addEdge(queue[at], child);
        queue.push_back(child);
      }
    }
  }

  void addMates(int box, int number) {
    const Rank head = m_boxes.heads[box][number];
    if (m_chains.empty()) {
      for (const Rank gpu : m_boxes.gpus[box]) {
        if (gpu != head) {
          m_children[head].push_back(gpu);
        }
      }
      return;
    }
    const std::vector<Rank>& chain = m_chains[box][number];
    for (std::size_t i = 1; i < chain.size(); ++i) {
      m_children[chain[i - 1]].push_back(chain[i]);
    }
  }

  void orderChains() {
    schedule::PathPool pool;
    schedule::RouteFinder finder(m_fabric, pool);
    Spare spare(m_fabric, finder, pool);
    m_chains.resize(m_boxes.count());
    for (int box = 0; box < m_boxes.count(); ++box) {
      for (const Rank head : m_boxes.heads[box]) {
        std::vector<Rank> gpus = m_boxes.gpus[box];
        std::rotate(gpus.begin(), std::find(gpus.begin(), gpus.end(), head), gpus.end());
        auto chain = widestOrder(spare, gpus, true);
        if (chain.empty()) {
          refuse("No chain through the GPUs of a box was found", "choose multitree or blink");
        }
        for (std::size_t i = 1; i < chain.size(); ++i) {
          spare.use(chain[i - 1], chain[i]);
        }
        m_chains[box].push_back(std::move(chain));
      }
    }
  }

  const fabric::Fabric& m_fabric;
  const Boxes& m_boxes;
  ForestBuilder m_builder;
  std::vector<Plan> m_plans;
  std::vector<std::vector<Rank>> m_children;             ///< by rank, in the tree that is being written
  std::vector<std::vector<std::vector<Rank>>> m_chains;  ///< by box and head, the head first; empty = stars
};

/// All boxes below that of the root.
std::vector<int> starOfBoxes(int count, int root) {
  std::vector<int> parent(count, root);
  parent[root] = -1;
  return parent;
}

std::string capability(Direction direction) {
  return direction == Direction::out ? "multicasts" : "aggregates";
}

/// Each GPU and its mates meet in a capable switch of their box.
void requireMeetingsInside(const fabric::Fabric& fabric, const Forest& forest) {
  for (const schedule::Tree& tree : forest.trees) {
    std::set<Rank> served;  // parents with an edge that is not pruned
    for (const schedule::TreeEdge& edge : forest.edgesOf(tree)) {
      const std::string& box = gpuNode(fabric, edge.parent).box;
      if (box != gpuNode(fabric, edge.child).box) {
        continue;
      }
      const auto path = forest.paths[edge.path];
      const bool passes = std::any_of(path.begin(), path.end(), [&](NodeIndex node) {
        return schedule::isCapable(fabric.nodes()[node], forest.direction) && fabric.nodes()[node].box == box;
      });
      if (!passes || (edge.pruned == 0 && !served.insert(edge.parent).second)) {
        refuse("No switch that " + capability(forest.direction) + " joins the GPUs of " +
                   (box.empty() ? std::string("the fabric") : "box " + inQuotes(box)) + ", as NVLS needs",
               "set the capability on the switches that have it, or choose multi-ring or double-binary-tree");
      }
    }
  }
}

/// Boxes are joined by capable switches alone.
void requireMeetingsBetween(const fabric::Fabric& fabric, const Forest& forest, const std::string& instead) {
  for (const schedule::TreeEdge& edge : forest.edges) {
    const std::string& from = gpuNode(fabric, edge.parent).box;
    const std::string& to = gpuNode(fabric, edge.child).box;
    if (from == to) {
      continue;
    }
    bool passes = false;
    for (const NodeIndex index : forest.paths[edge.path]) {
      const fabric::Node& node = fabric.nodes()[index];
      if (node.box == from || node.box == to || node.kind != fabric::NodeKind::switchNode) {
        continue;
      }
      if (!schedule::isCapable(node, forest.direction)) {
        refuse("Between boxes this baseline needs SHARP, but switch " + inQuotes(node.id) +
                   " is not marked as one that " + capability(forest.direction),
               "set the capability on the switches that have it, or choose " + instead);
      }
      passes = true;
    }
    if (!passes) {
      refuse("Between boxes this baseline needs SHARP, but no switch stands between " +
                 inQuotes(gpuNode(fabric, edge.parent).id) + " and " + inQuotes(gpuNode(fabric, edge.child).id),
             "choose " + instead);
    }
  }
}

/// Allgather and reduce_scatter have a share for each GPU.
void requireAllHeads(const Boxes& boxes, std::string_view name) {
  for (int box = 0; box < boxes.count(); ++box) {
    if (boxes.gpus[box].size() != boxes.heads[box].size()) {
      refuse(std::string(name) +
                 " gathers and scatters between boxes only where these are equal and each GPU has a way "
                 "out of its own",
             "choose in-network or multi-ring");
    }
  }
}

/// The direction of trees that a collective has, in-trees first.
std::vector<Direction> directionsOf(Collective collective) {
  std::vector<Direction> directions;
  if (reduces(collective)) {
    directions.push_back(Direction::in);
  }
  if (collective != Collective::reduceScatter) {
    directions.push_back(Direction::out);
  }
  return directions;
}

/// @param make the forest of a direction
template <typename Make>
schedule::Schedule overDirections(const fabric::Fabric& fabric, const Request& request, bool ownCopies,
                                  const Progress& progress, Make make) {
  std::optional<Forest> reduce;
  std::optional<Forest> broadcast;
  for (const Direction direction : directionsOf(request.collective)) {
    throwIfCancelled(progress);
    (direction == Direction::in ? reduce : broadcast) = make(direction);
  }
  return scheduleOf(fabric, request, std::move(reduce), std::move(broadcast), ownCopies, progress);
}

/// A tree for each head, over SHARP between the boxes; rooted in the first box, or in each.
void addSharpTrees(Trees& trees, const Boxes& boxes, Collective collective) {
  const int roots = collective == Collective::allreduce ? 1 : boxes.count();
  for (int box = 0; box < roots; ++box) {
    for (int head = 0; head < boxes.headCount(); ++head) {
      trees.add(head, starOfBoxes(boxes.count(), box));
    }
  }
}

/// Whether one switch of each box joins all its GPUs.
bool haveSwitches(const fabric::Fabric& fabric, const Boxes& boxes) {
  const auto nodes = fabric.nodes();
  return std::all_of(boxes.gpus.begin(), boxes.gpus.end(), [&](const std::vector<Rank>& gpus) {
    const std::string& box = gpuNode(fabric, gpus.front()).box;
    for (NodeIndex node = 0; node < fabric.nodeCount(); ++node) {
      const bool joinsAll = std::all_of(gpus.begin(), gpus.end(), [&](Rank gpu) {
        return fabric.findArc(fabric.gpus()[gpu], node) && fabric.findArc(node, fabric.gpus()[gpu]);
      });
      if (nodes[node].kind == fabric::NodeKind::switchNode && nodes[node].box == box && joinsAll) {
        return true;
      }
    }
    return gpus.size() == 1;
  });
}

}  // namespace

schedule::Schedule nvls(const fabric::Fabric& fabric, const Request& request, const Progress& progress) {
  const Boxes boxes = boxesWithHeads(fabric);
  if (request.collective != Collective::allreduce) {
    requireAllHeads(boxes, "nvls");
  }
  return overDirections(fabric, request, true, progress, [&](Direction direction) {
    Trees trees(fabric, boxes, Inside::star, direction);
    addSharpTrees(trees, boxes, request.collective);
    Forest forest = trees.take({}, progress);
    requireMeetingsInside(fabric, forest);
    requireMeetingsBetween(fabric, forest, "nvls-tree");
    return forest;
  });
}

schedule::Schedule nvlsTree(const fabric::Fabric& fabric, const Request& request, const Progress& progress) {
  const Boxes boxes = boxesWithHeads(fabric);
  const int count = boxes.count();
  if (count < 2) {
    refuse("The trees of nvls-tree join boxes, and this fabric is one box", "choose nvls");
  }
  const std::vector<int> first = binaryTree(count);
  std::vector<int> second(count, -1);
  for (int place = 1; place < count; ++place) {
    second[secondTreeMember(place, count)] = secondTreeMember(first[place], count);
  }
  return overDirections(fabric, request, true, progress, [&](Direction direction) {
    Trees trees(fabric, boxes, Inside::star, direction);
    for (int head = 0; head < boxes.headCount(); ++head) {
      trees.add(head, first);
      trees.add(head, second);
    }
    Forest forest = trees.take({.inside = true, .between = false}, progress);
    requireMeetingsInside(fabric, forest);
    return forest;
  });
}

schedule::Schedule collnet(const fabric::Fabric& fabric, const Request& request, const Progress& progress) {
  const Boxes boxes = boxesWithHeads(fabric);
  if (boxes.count() < 2) {
    refuse("collnet joins boxes by SHARP, and this fabric is one box", "choose nvls or in-network");
  }
  const Inside inside = haveSwitches(fabric, boxes) ? Inside::star : Inside::chain;
  if (request.collective != Collective::allreduce) {
    requireAllHeads(boxes, "collnet");
    if (inside == Inside::chain) {
      refuse("Along chains collnet has allreduce alone", "choose in-network or multi-ring");
    }
  }
  return overDirections(fabric, request, false, progress, [&](Direction direction) {
    Trees trees(fabric, boxes, inside, direction);
    addSharpTrees(trees, boxes, request.collective);
    Forest forest = trees.take({.inside = false, .between = true}, progress);
    requireMeetingsBetween(fabric, forest, "nvls-tree or double-binary-tree");
    return forest;
  });
}

}  // namespace coppice::baselines
