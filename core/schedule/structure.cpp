// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/checked.hpp"
#include "schedule/factored.hpp"
#include "schedule/rotation.hpp"

namespace coppice::schedule {
namespace {

using Shape = FactoredForest::Shape;

constexpr std::size_t kMaxListed = 100;

std::int64_t sizeOf(const auto& values) {
  return static_cast<std::int64_t>(values.size());
}

bool isIndex(std::int64_t value, std::int64_t count) {
  return value >= 0 && value < count;
}

std::string plural(std::int64_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

class StructureCheck {
public:
  StructureCheck(const FactoredForest& forest, int gpuCount, int nodeCount, const Progress& progress)
      : m_forest(forest), m_gpuCount(gpuCount), m_nodeCount(nodeCount), m_progress(progress) {}

  std::vector<Finding> run() {
    if (checkNodes()) {
      for (std::size_t i = 0; i < m_forest.shapes.size(); ++i) {
        throwIfCancelled(m_progress);
        m_shape = i;
        checkVias(m_forest.shapes[i]);
        checkPorts(m_forest.shapes[i].outPorts, RefKind::outPort);
        checkPorts(m_forest.shapes[i].inPorts, RefKind::inPort);
        checkSkeletons(m_forest.shapes[i]);
        checkPatterns(m_forest.shapes[i]);
      }
      const bool partsFit = m_faults == 0;
      checkInstances();
      if (partsFit) {
        checkTrees();
        checkRotations();
      }
    }
    if (m_faults > m_findings.size()) {
      m_findings.push_back({Severity::error,
                            ErrorCode::badInput,
                            std::to_string(m_faults - m_findings.size()) + " more faults are not listed",
                            "",
                            {.element = {RefKind::field, "parts"}}});
    }
    return std::move(m_findings);
  }

private:
  void fault(std::string text, ElementRef element, ErrorCode code = ErrorCode::badInput, std::string fix = {}) {
    if (m_findings.size() < kMaxListed) {
      m_findings.push_back({Severity::error, code, std::move(text), std::move(fix), {.element = std::move(element)}});
    }
    ++m_faults;
  }
  [[nodiscard]] ElementRef shapeElement() const { return {RefKind::shape, m_shape}; }
  [[nodiscard]] ElementRef in(RefKind kind, std::int64_t index) const { return shapeElement().with({kind, index}); }
  [[nodiscard]] int leavesOf(const Shape& shape, int node) const {
    const int child = shape.childShape[node];
    return child == FactoredForest::kGpu ? 1 : m_leaves[child];
  }

  /// Nodes, leaves and nesting of all shapes. Without them nothing else can be read.
  bool checkNodes() {
    if (m_forest.shapes.empty() || m_forest.instances.empty()) {
      fault("has " + plural(sizeOf(m_forest.shapes), "shape") + " and " +
                plural(sizeOf(m_forest.instances), "instance") + "; it needs at least one of each",
            {RefKind::field, "parts"});
      return false;
    }
    m_leaves.resize(m_forest.shapes.size(), 0);
    std::vector<int> depth(m_forest.shapes.size(), 1);
    for (m_shape = 0; m_shape < m_forest.shapes.size(); ++m_shape) {
      const std::vector<int>& nodes = m_forest.shapes[m_shape].childShape;
      if (nodes.empty()) {
        fault("has no nodes", shapeElement());
      }
      std::int64_t leaves = 0;
      for (std::size_t node = 0; node < nodes.size(); ++node) {
        const int child = nodes[node];
        if (child == FactoredForest::kGpu) {
          ++leaves;
        } else if (!isIndex(child, static_cast<std::int64_t>(m_shape))) {
          fault("is of shape " + std::to_string(child) + "; only shapes listed before this one can be parts of it",
                in(RefKind::node, static_cast<std::int64_t>(node)));
        } else {
          leaves += m_leaves[child];
          depth[m_shape] = std::max(depth[m_shape], depth[child] + 1);
        }
        leaves = std::min<std::int64_t>(leaves, std::int64_t{m_gpuCount} + 1);
      }
      m_leaves[m_shape] = static_cast<int>(leaves);
      if (leaves > m_gpuCount) {
        fault("has more GPUs than the fabric, which has " + std::to_string(m_gpuCount), shapeElement());
      }
      if (depth[m_shape] > kMaxNesting) {
        fault("parts are nested more than " + std::to_string(kMaxNesting) + " deep", shapeElement(), ErrorCode::limit);
      }
    }
    return m_faults == 0;
  }

  void checkVias(const Shape& shape) {
    if (!isIndex(shape.switchCount, std::int64_t{m_nodeCount} + 1)) {
      fault("names " + std::to_string(shape.switchCount) + " switches; the fabric has " + plural(m_nodeCount, "node"),
            shapeElement());
      return;
    }
    if (shape.viaStart.empty() || shape.viaStart.front() != 0 || shape.viaStart.back() != sizeOf(shape.viaSwitches) ||
        !std::is_sorted(shape.viaStart.begin(), shape.viaStart.end())) {
      fault("its vias do not divide its list of switches", shapeElement());
      return;
    }
    for (std::size_t i = 0; i < shape.viaSwitches.size(); ++i) {
      if (!isIndex(shape.viaSwitches[i], shape.switchCount)) {
        const auto after = std::upper_bound(shape.viaStart.begin(), shape.viaStart.end(), static_cast<std::int64_t>(i));
        fault("runs over switch " + std::to_string(shape.viaSwitches[i]) + "; the shape has " +
                  std::to_string(shape.switchCount),
              in(RefKind::via, after - shape.viaStart.begin() - 1));
      }
    }
  }

  void checkPorts(const std::vector<FactoredForest::Port>& ports, RefKind what) {
    const int leafCount = m_leaves[m_shape];
    const auto viaCount = sizeOf(m_forest.shapes[m_shape].viaStart) - 1;
    for (std::size_t i = 0; i < ports.size(); ++i) {
      if (!isIndex(ports[i].leaf, leafCount) || !isIndex(ports[i].via, viaCount)) {
        fault("is leaf " + std::to_string(ports[i].leaf) + " over via " + std::to_string(ports[i].via) +
                  "; the shape has " + std::to_string(leafCount) + " leaves and " + plural(viaCount, "via"),
              in(what, static_cast<std::int64_t>(i)));
        return;
      }
    }
  }

  void checkSkeletons(const Shape& shape) {
    const auto nodeCount = sizeOf(shape.childShape);
    for (std::size_t i = 0; i < shape.arcs.size(); ++i) {
      const auto& arc = shape.arcs[i];
      if (!isIndex(arc.tail, nodeCount) || !isIndex(arc.head, nodeCount)) {
        fault("joins nodes " + std::to_string(arc.tail) + " and " + std::to_string(arc.head) + "; the shape has " +
                  plural(nodeCount, "node"),
              in(RefKind::arc, static_cast<std::int64_t>(i)));
        return;
      }
    }
    // Every skeleton has arcs of its own, which bounds the work.
    const std::int64_t arcsEach = nodeCount - 1;
    if (arcsEach > 0 && sizeOf(shape.skeletons) > sizeOf(shape.arcs) / arcsEach) {
      fault("has " + plural(sizeOf(shape.skeletons), "skeleton") + " of " + plural(arcsEach, "arc") + " and lists " +
                plural(sizeOf(shape.arcs), "arc"),
            shapeElement());
      return;
    }
    std::vector<std::int64_t> reached(nodeCount, -1);
    for (std::int64_t i = 0; i < sizeOf(shape.skeletons); ++i) {
      if ((i & 0xff) == 0) {
        throwIfCancelled(m_progress);
      }
      const auto& skeleton = shape.skeletons[i];
      if (!isIndex(skeleton.root, nodeCount)) {
        fault("its root is node " + std::to_string(skeleton.root) + "; the shape has " + plural(nodeCount, "node"),
              in(RefKind::skeleton, i));
        continue;
      }
      if (skeleton.firstArc < 0 || skeleton.firstArc > sizeOf(shape.arcs) - arcsEach) {
        fault("its arcs lie outside the shape's " + plural(sizeOf(shape.arcs), "arc"), in(RefKind::skeleton, i));
        continue;
      }
      reached[skeleton.root] = i;
      for (std::int64_t step = 0; step < arcsEach; ++step) {
        const auto& arc = shape.arcs[skeleton.firstArc + step];
        if (reached[arc.tail] != i || reached[arc.head] == i) {
          const bool twice = reached[arc.head] == i;
          fault(twice ? "reaches node " + std::to_string(arc.head) + " twice"
                      : "leaves node " + std::to_string(arc.tail) + " before it is reached",
                in(RefKind::skeleton, i).with({RefKind::step, step + 1}), ErrorCode::badInput,
                "list parents before children");
          break;
        }
        reached[arc.head] = i;
      }
    }
  }

  void checkPatterns(const Shape& shape) {
    const auto nodeCount = sizeOf(shape.childShape);
    const auto choiceCount = sizeOf(shape.choices);
    std::int64_t used = 0;
    for (std::int64_t i = 0; i < sizeOf(shape.patterns); ++i) {
      if ((i & 0xfff) == 0) {
        throwIfCancelled(m_progress);
      }
      const auto& pattern = shape.patterns[i];
      if (pattern.firstChoice < 0 || pattern.choiceCount < 0 || pattern.firstChoice > choiceCount ||
          pattern.choiceCount > choiceCount - pattern.firstChoice) {
        fault("its choices lie outside the shape's " + plural(choiceCount, "choice"), in(RefKind::pattern, i));
        continue;
      }
      // Patterns have choices of their own, which bounds the work.
      used += pattern.choiceCount;
      if (used > choiceCount) {
        fault("the patterns name more choices than the " + std::to_string(choiceCount) + " listed", shapeElement());
        return;
      }
      std::int64_t left = nodeCount;
      for (std::int64_t choice = 0; left >= 0 && choice < pattern.choiceCount; ++choice) {
        const std::int64_t count = shape.choices[pattern.firstChoice + choice].count;
        left = count < 1 || count > left ? -1 : left - count;
      }
      if (left != 0) {
        fault("its choices do not cover the " + plural(nodeCount, "step") + " of a tree exactly",
              in(RefKind::pattern, i), ErrorCode::badInput, "counts are at least 1 and add up to the number of nodes");
      }
    }
  }

  /// @pre nothing is wrong with vias, ports, skeletons and patterns.
  void checkTrees() {
    std::int64_t steps = 0;
    for (const Shape& shape : m_forest.shapes) {
      const Int128 more = Int128{sizeOf(shape.trees)} * sizeOf(shape.childShape);
      if (more > kMaxSteps - steps) {
        fault("the trees have more than " + std::to_string(kMaxSteps) + " steps in all", {RefKind::field, "parts"},
              ErrorCode::limit);
        return;
      }
      steps += static_cast<std::int64_t>(more);
    }
    for (m_shape = 0; m_shape < m_forest.shapes.size(); ++m_shape) {
      const Shape& shape = m_forest.shapes[m_shape];
      m_leafStart.assign(1, 0);
      for (std::size_t node = 0; node < shape.childShape.size(); ++node) {
        m_leafStart.push_back(m_leafStart.back() + leavesOf(shape, static_cast<int>(node)));
      }
      for (std::int64_t i = 0; i < sizeOf(shape.trees); ++i) {
        if ((i & 0x3f) == 0) {
          throwIfCancelled(m_progress);
        }
        checkTree(shape, i);
      }
    }
  }

  void checkTree(const Shape& shape, std::int64_t index) {
    const FactoredForest::PartTree& tree = shape.trees[index];
    if (!isIndex(tree.skeleton, sizeOf(shape.skeletons)) || !isIndex(tree.pattern, sizeOf(shape.patterns))) {
      fault("is skeleton " + std::to_string(tree.skeleton) + " with pattern " + std::to_string(tree.pattern) +
                "; the shape has " + plural(sizeOf(shape.skeletons), "skeleton") + " and " +
                plural(sizeOf(shape.patterns), "pattern"),
            in(RefKind::tree, index));
      return;
    }
    if (tree.multiplicity < 1) {
      fault("multiplicity is " + std::to_string(tree.multiplicity) + "; it must be at least 1",
            in(RefKind::tree, index));
      return;
    }
    const FactoredForest::Skeleton& skeleton = shape.skeletons[tree.skeleton];
    const FactoredForest::Pattern& pattern = shape.patterns[tree.pattern];
    const FactoredForest::Choice* choice = shape.choices.data() + pattern.firstChoice;
    if (!checkRoot(shape, index, *choice, skeleton.root)) {
      return;
    }
    const auto viaCount = sizeOf(shape.viaStart) - 1;
    const FactoredForest::Arc* const firstArc = shape.arcs.data() + skeleton.firstArc;
    const FactoredForest::Arc* const lastArc = firstArc + (shape.childShape.size() - 1);
    std::int64_t left = choice->count - 1;
    for (const FactoredForest::Arc* arc = firstArc; arc != lastArc; ++arc, --left) {
      if (left == 0) {
        left = (++choice)->count;
      }
      const int tail = shape.childShape[arc->tail];
      const int head = shape.childShape[arc->head];
      const bool tailFits = tail == FactoredForest::kGpu
                                ? choice->tailPort == 0
                                : isIndex(choice->tailPort, sizeOf(m_forest.shapes[tail].outPorts));
      const bool headFits = head == FactoredForest::kGpu ? choice->headPort == 0 && choice->innerTree == 0
                                                         : entersRoot(m_forest.shapes[head], *choice);
      if (!isIndex(choice->via, viaCount) || !tailFits || !headFits) {
        faultStep(shape, index, arc - firstArc + 1, *choice, *arc);
        return;
      }
    }
  }

  /// The port's GPU is the root of the tree that continues there.
  [[nodiscard]] static bool entersRoot(const Shape& part, const FactoredForest::Choice& choice) {
    return isIndex(choice.headPort, sizeOf(part.inPorts)) && isIndex(choice.innerTree, sizeOf(part.trees)) &&
           part.inPorts[choice.headPort].leaf == part.trees[choice.innerTree].rootLeaf;
  }

  bool checkRoot(const Shape& shape, std::int64_t index, const FactoredForest::Choice& choice, int root) {
    if (choice.via != 0 || choice.tailPort != 0 || choice.headPort != 0) {
      fault("step 0 is the root, which nothing enters; its via and ports must be 0", in(RefKind::tree, index));
      return false;
    }
    const int child = shape.childShape[root];
    std::int64_t rootLeaf = m_leafStart[root];
    if (child != FactoredForest::kGpu || choice.innerTree != 0) {
      const auto trees = child == FactoredForest::kGpu ? 1 : sizeOf(m_forest.shapes[child].trees);
      if (!isIndex(choice.innerTree, trees)) {
        fault("step 0 continues with tree " + std::to_string(choice.innerTree) + " of node " + std::to_string(root) +
                  ", which has " + plural(trees, "tree"),
              in(RefKind::tree, index));
        return false;
      }
      rootLeaf += m_forest.shapes[child].trees[choice.innerTree].rootLeaf;
    }
    if (rootLeaf != treeOf(shape, index).rootLeaf) {
      fault("says that its root is leaf " + std::to_string(treeOf(shape, index).rootLeaf) +
                ", but it grows from leaf " + std::to_string(rootLeaf),
            in(RefKind::tree, index));
      return false;
    }
    return true;
  }

  /// @pre nothing is wrong with the trees.
  void checkRotations() {
    if (!isRotated(m_forest) || m_faults > 0) {
      return;
    }
    const std::vector<Rotation> rotations = rotationsIn(m_forest);
    if (auto wrong = rankFault(rotations, m_gpuCount)) {
      fault(*std::move(wrong), {RefKind::field, "rotations"});
      return;
    }
    if (m_forest.shapes.size() != 1 || sizeOf(m_forest.shapes.front().childShape) != m_gpuCount) {
      fault("a rotated forest has one shape, whose nodes are all GPUs", {RefKind::field, "rotations"});
      return;
    }
    for (std::int64_t i = 0; i < sizeOf(m_forest.shapes.front().trees); ++i) {
      const int root = m_forest.shapes.front().trees[i].rootLeaf;
      if (m_forest.instances.front().children[root] != 0) {
        m_shape = 0;
        fault("its root is not rank 0; the trees of the other ranks are images of those of rank 0",
              in(RefKind::tree, i));
        return;
      }
    }
    for (std::size_t i = 0; i < rotations.size(); ++i) {
      checkImages(rotations[i], {RefKind::rotation, i});
    }
  }

  void checkImages(const Rotation& rotation, const ElementRef& name) {
    if (sizeOf(rotation.image) != m_nodeCount) {
      fault("maps " + plural(sizeOf(rotation.image), "node") + " of the fabric's " + std::to_string(m_nodeCount), name);
      return;
    }
    std::vector<bool> isImage(rotation.image.size(), false);
    for (const fabric::NodeIndex image : rotation.image) {
      if (!isIndex(image, m_nodeCount) || isImage[image]) {
        fault("does not map the nodes one to one", name);
        return;
      }
      isImage[image] = true;
    }
    std::vector<bool> isSeen(rotation.image.size(), false);
    for (std::size_t first = 0; first < isSeen.size(); ++first) {
      int length = 0;
      for (std::size_t node = first; !isSeen[node]; node = static_cast<std::size_t>(rotation.image[node])) {
        isSeen[node] = true;
        ++length;
      }
      if (length > 0 && rotation.count % length != 0) {
        fault("does not bring all nodes back after " + std::to_string(rotation.count) + " times", name);
        return;
      }
    }
  }

  [[nodiscard]] static const FactoredForest::PartTree& treeOf(const Shape& shape, std::int64_t index) {
    return shape.trees[index];
  }

  void faultStep(const Shape& shape, std::int64_t index, std::int64_t step, const FactoredForest::Choice& choice,
                 const FactoredForest::Arc& arc) {
    const ElementRef name = in(RefKind::tree, index).with({RefKind::step, step});
    const auto viaCount = sizeOf(shape.viaStart) - 1;
    const int tail = shape.childShape[arc.tail];
    const int head = shape.childShape[arc.head];
    const auto tailPorts = tail == FactoredForest::kGpu ? 1 : sizeOf(m_forest.shapes[tail].outPorts);
    const auto headPorts = head == FactoredForest::kGpu ? 1 : sizeOf(m_forest.shapes[head].inPorts);
    const auto trees = head == FactoredForest::kGpu ? 1 : sizeOf(m_forest.shapes[head].trees);
    if (!isIndex(choice.via, viaCount)) {
      fault("passes via " + std::to_string(choice.via) + "; the shape has " + plural(viaCount, "via"), name);
    } else if (!isIndex(choice.tailPort, tailPorts)) {
      fault("leaves node " + std::to_string(arc.tail) + " by port " + std::to_string(choice.tailPort) + "; it has " +
                plural(tailPorts, "way") + " out",
            name);
    } else if (!isIndex(choice.headPort, headPorts)) {
      fault("enters node " + std::to_string(arc.head) + " by port " + std::to_string(choice.headPort) + "; it has " +
                plural(headPorts, "way") + " in",
            name);
    } else if (!isIndex(choice.innerTree, trees)) {
      fault("continues with tree " + std::to_string(choice.innerTree) + " of node " + std::to_string(arc.head) +
                ", which has " + plural(trees, "tree"),
            name);
    } else {
      fault("enters node " + std::to_string(arc.head) + " at leaf " +
                std::to_string(m_forest.shapes[head].inPorts[choice.headPort].leaf) + ", but tree " +
                std::to_string(choice.innerTree) + " there grows from leaf " +
                std::to_string(m_forest.shapes[head].trees[choice.innerTree].rootLeaf),
            name);
    }
  }

  void checkInstances() {
    const auto firstRotation = std::find_if(m_forest.instances.begin(), m_forest.instances.end(), isRotation);
    const std::int64_t instanceCount = firstRotation - m_forest.instances.begin();
    if (!std::all_of(firstRotation, m_forest.instances.end(), [](const FactoredForest::Instance& instance) {
          return isRotation(instance) && instance.children.size() == 2;
        })) {
      fault("rotations come after all other instances, each with a step and a count", {RefKind::field, "rotations"});
      return;
    }
    std::vector<bool> isPlaced(instanceCount, false);
    std::vector<bool> isTaken(m_gpuCount, false);
    std::int64_t taken = 0;
    std::int64_t vias = 0;
    std::int64_t relays = 0;
    for (std::int64_t i = 0; i < instanceCount; ++i) {
      if ((i & 0xff) == 0) {
        throwIfCancelled(m_progress);
      }
      const FactoredForest::Instance& instance = m_forest.instances[i];
      const ElementRef name{RefKind::instance, i};
      if (!isIndex(instance.shape, sizeOf(m_forest.shapes))) {
        fault(
            "is of shape " + std::to_string(instance.shape) + "; there are " + plural(sizeOf(m_forest.shapes), "shape"),
            name);
        continue;
      }
      const Shape& shape = m_forest.shapes[instance.shape];
      if (instance.children.size() != shape.childShape.size() || sizeOf(instance.switches) != shape.switchCount) {
        fault("has " + plural(sizeOf(instance.children), "node") + " and " + std::to_string(instance.switches.size()) +
                  " switches; its shape has " + std::to_string(shape.childShape.size()) + " and " +
                  std::to_string(shape.switchCount),
              name);
        continue;
      }
      for (const fabric::NodeIndex node : instance.switches) {
        if (!isIndex(node, m_nodeCount)) {
          fault("names node " + std::to_string(node) + ", which is not in the fabric", name);
          break;
        }
      }
      for (std::size_t node = 0; node < instance.children.size(); ++node) {
        const int child = instance.children[node];
        if (shape.childShape[node] == FactoredForest::kGpu) {
          if (!isIndex(child, m_gpuCount)) {
            fault("has rank " + std::to_string(child) + ", which is not in the fabric", name);
          } else if (isTaken[child]) {
            fault("has rank " + std::to_string(child) + ", which another place has too", name);
          } else {
            isTaken[child] = true;
            ++taken;
          }
        } else if (!isIndex(child, i)) {
          fault("has instance " + std::to_string(child) + " as a part; only instances listed before it can be", name);
        } else if (isPlaced[child]) {
          fault("has instance " + std::to_string(child) + " as a part, which another place has too", name);
        } else {
          isPlaced[child] = true;
          if (m_forest.instances[child].shape != shape.childShape[node]) {
            fault("has instance " + std::to_string(child) + " at node " + std::to_string(node) +
                      ", which is not of the shape that belongs there",
                  name);
          }
        }
      }
      vias += sizeOf(shape.viaStart);
      relays += sizeOf(shape.viaSwitches);
      if (vias > kMaxVias || relays > kMaxRelays) {
        fault("the routes between the parts are more than " + std::to_string(kMaxVias) + ", or name more than " +
                  std::to_string(kMaxRelays) + " switches",
              name, ErrorCode::limit);
        return;
      }
    }
    if (!isIndex(m_forest.top, instanceCount)) {
      fault("the top is instance " + std::to_string(m_forest.top) + "; there are " + plural(instanceCount, "instance"),
            {RefKind::field, "parts"});
      return;
    }
    for (std::int64_t i = 0; i < instanceCount; ++i) {
      if (isPlaced[i] == (i == m_forest.top)) {
        fault(i == m_forest.top ? "is the top and a part at once" : "is no part of the top", {RefKind::instance, i});
      }
    }
    if (taken != m_gpuCount) {
      const auto missing = std::find(isTaken.begin(), isTaken.end(), false) - isTaken.begin();
      fault("have " + plural(taken, "GPU") + " of " + std::to_string(m_gpuCount) + "; rank " + std::to_string(missing) +
                " is missing",
            {RefKind::field, "instances"});
    }
  }

  const FactoredForest& m_forest;
  int m_gpuCount;
  int m_nodeCount;
  const Progress& m_progress;
  std::vector<int> m_leaves;     ///< by shape
  std::vector<int> m_leafStart;  ///< of the current shape, by node, and the end
  std::size_t m_shape = 0;
  std::vector<Finding> m_findings;
  std::size_t m_faults = 0;
};

}  // namespace

std::vector<Finding> checkStructure(const FactoredForest& forest, int gpuCount, int nodeCount,
                                    const Progress& progress) {
  return StructureCheck(forest, gpuCount, nodeCount, progress).run();
}

}  // namespace coppice::schedule
