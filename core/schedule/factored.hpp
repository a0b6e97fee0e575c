// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"

/// Forests written by their distinct parts.
namespace coppice::schedule {

/// A tight set of nodes (a box, a pod) is entered exactly once by every tree that starts outside it, and whatever
/// spanning tree of the set is rooted at the entry may continue there. So the trees of a whole fabric are trees over
/// its parts, with trees of the parts hung into them; equal parts share theirs. This holds both by reference: memory
/// grows with the distinct parts instead of with the square of the GPUs.
///
/// A Shape is one distinct problem with its trees; an Instance says which GPUs and switches play its nodes. A shape's
/// nodes are GPUs or whole parts (shapes of their own). Its leaves are the GPUs of all its nodes, in node order.
struct FactoredForest {
  static constexpr int kGpu = -1;

  /// An arc of a skeleton between two nodes of the shape.
  struct Arc {
    int tail = 0;
    int head = 0;

    friend bool operator==(const Arc&, const Arc&) = default;
  };

  /// A spanning tree over the shape's nodes: nodeCount-1 arcs from firstArc on, parents before children.
  struct Skeleton {
    int root = 0;
    std::int64_t firstArc = 0;

    friend bool operator==(const Skeleton&, const Skeleton&) = default;
  };

  /// Where data leaves or enters a part: a GPU of it and the part's switches between that GPU and the outside. GPUs as
  /// nodes have one port (number 0) without switches.
  struct Port {
    int leaf = 0;  ///< of the part
    int via = 0;   ///< into Shape::viaStart of the part, in the direction of an out-tree's data

    friend bool operator==(const Port&, const Port&) = default;
  };

  /// How a skeleton is filled in, for `count` steps in a row. Step 0 is the skeleton's root, step i its i-th arc. Data
  /// leaves the arc's tail by its outPorts[tailPort], passes the shape's own switches `via` (into Shape::viaStart) and
  /// enters the head by its inPorts[headPort]; all three are 0 at the root step. At the head (at the root) a part goes
  /// on with its own tree `innerTree`, whose root is the port's GPU; 0 where the node is a GPU. The whole route: the
  /// tail's GPU, its port's switches, via, the head's port's switches, the head's GPU.
  struct Choice {
    std::int64_t count = 0;
    int via = 0;
    int tailPort = 0;
    int headPort = 0;
    int innerTree = 0;

    friend bool operator==(const Choice&, const Choice&) = default;
  };

  /// A run-length coded list of choices: Shape::choices[firstChoice, firstChoice + choiceCount).
  struct Pattern {
    std::int64_t firstChoice = 0;
    std::int64_t choiceCount = 0;

    friend bool operator==(const Pattern&, const Pattern&) = default;
  };

  /// A spanning tree over all leaves of the shape.
  struct PartTree {
    int skeleton = 0;
    int pattern = 0;
    int rootLeaf = 0;               ///< among all leaves of the shape
    std::int64_t multiplicity = 1;  ///< copies; in parts below the top: how many the part's own packing holds

    friend bool operator==(const PartTree&, const PartTree&) = default;
  };

  struct Shape {
    std::vector<int> childShape;            ///< by node: a shape with a smaller index, or kGpu
    int switchCount = 0;                    ///< switches and nics that the vias name
    std::vector<std::int64_t> viaStart{0};  ///< via v is viaSwitches[viaStart[v], viaStart[v+1])
    std::vector<int> viaSwitches;           ///< 0 .. switchCount-1, in the order of an out-tree's data
    std::vector<Port> outPorts;             ///< for the parent's choices
    std::vector<Port> inPorts;
    std::vector<Arc> arcs;
    std::vector<Skeleton> skeletons;
    std::vector<Choice> choices;
    std::vector<Pattern> patterns;
    std::vector<PartTree> trees;  ///< of the top shape: grouped by the rank of the root, ascending

    friend bool operator==(const Shape&, const Shape&) = default;
  };

  /// A shape at a place of the fabric.
  struct Instance {
    int shape = 0;
    std::vector<int> children;                ///< by node: the rank of the GPU, or the index of the part's instance
    std::vector<fabric::NodeIndex> switches;  ///< by the shape's switch

    friend bool operator==(const Instance&, const Instance&) = default;
  };

  std::vector<Shape> shapes;        ///< children before parents
  std::vector<Instance> instances;  ///< children before parents; every one but the top has one parent
  int top = 0;                      ///< instance whose leaves are all GPUs of the fabric

  friend bool operator==(const FactoredForest&, const FactoredForest&) = default;
};

/// Parts within parts, at most.
inline constexpr int kMaxNesting = 64;
/// Steps of all trees of all shapes (trees times nodes), at most.
inline constexpr std::int64_t kMaxSteps = std::int64_t{1} << 34;
/// Vias and the switches on them, counted again at every place of a shape, at most.
inline constexpr std::int64_t kMaxVias = std::int64_t{1} << 24;
inline constexpr std::int64_t kMaxRelays = std::int64_t{1} << 26;

/// Everything that TreeReader relies on, in time linear in the steps of all trees: indices in range; shapes and
/// instances below their parents; skeletons that span their nodes, parents first; patterns that cover all steps; roots
/// that agree from part to part; every GPU and every instance placed exactly once; the limits above. Whether routes and
/// loads fit the fabric is for the verifier. Findings name the place (`shape 2, tree 5`); the first hundred are listed.
/// Codes: badInput, limit. Throws CancelledError.
[[nodiscard]] std::vector<Finding> checkStructure(const FactoredForest& forest, int gpuCount, int nodeCount,
                                                  const Progress& progress = {});

}  // namespace coppice::schedule
