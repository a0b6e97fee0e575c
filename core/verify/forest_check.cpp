// SPDX-License-Identifier: Apache-2.0
#include "verify/forest_check.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/counted.hpp"
#include "verify/arc_index.hpp"
#include "verify/symmetry_check.hpp"

namespace coppice::verify {
namespace {

using fabric::NodeIndex;
using fabric::NodeKind;
using fabric::Rank;
using schedule::Direction;
using schedule::PathId;
using schedule::Tree;
using schedule::TreeEdge;

/// a / b > c / d for a, c >= 0 and b, d > 0, by Euclid's algorithm on both: products of these would leave 128 bits.
bool isGreater(Int128 a, Int128 b, Int128 c, Int128 d) {
  for (bool flipped = false;; flipped = !flipped) {
    const Int128 wholeLeft = a / b;
    const Int128 wholeRight = c / d;
    if (wholeLeft != wholeRight) {
      return (wholeLeft > wholeRight) != flipped;
    }
    a %= b;
    c %= d;
    if (a == 0 || c == 0) {
      return flipped ? (a == 0 && c != 0) : (a != 0 && c == 0);
    }
    // Both are proper fractions now; their inverses compare the opposite way.
    std::swap(a, b);
    std::swap(c, d);
  }
}

/// a.load / a.bandwidth > b.load / b.bandwidth.
bool isBusier(std::int64_t loadA, const Rational& bandwidthA, std::int64_t loadB, const Rational& bandwidthB) {
  if (loadA <= loadB && bandwidthA >= bandwidthB) {
    return false;
  }
  return isGreater(Int128{loadA} * bandwidthA.denominator(), bandwidthA.numerator(),
                   Int128{loadB} * bandwidthB.denominator(), bandwidthB.numerator());
}

class ForestCheck {
public:
  ForestCheck(const fabric::Fabric& fabric, const schedule::Forest& forest, const ForestExpectation& expectation,
              FaultLog& log, const Progress& progress)
      : m_fabric(fabric),
        m_forest(forest),
        m_expectation(expectation),
        m_log(log),
        m_progress(progress),
        m_index(fabric),
        m_loadOfArc(fabric.arcs().size(), 0) {}

  ForestFacts run() {
    ForestFacts facts;
    if (!checkShape()) {
      return facts;
    }
    facts.algbw = Rational(m_treeCount) / m_forest.scale;
    if (m_forest.rotations.empty()) {
      indexRoutes();
      checkRoots(checkTrees());
      countRoutes();
    } else if (!checkImages(facts)) {
      return facts;
    }
    if (m_expectation.sharesLinks) {
      facts.loadOfArc = std::move(m_loadOfArc);
    } else {
      facts.busiestLoad = checkLoads(m_fabric, m_loadOfArc, m_forest.scale, {}, place(ElementRef()), m_log);
    }
    return facts;
  }

private:
  /// A route resolved to arcs; `parent` and `child` are the ranks it joins in tree terms, -1 for a broken route.
  struct Route {
    std::int64_t firstArc = 0;
    std::int32_t hops = 0;
    Rank parent = -1;
    Rank child = -1;
  };
  struct Visit {
    std::int64_t stamp = -1;
    std::int32_t depth = 0;
  };

  [[nodiscard]] bool isOut() const { return m_forest.direction == Direction::out; }
  /// Within the forest; the only forest of a schedule is not named.
  [[nodiscard]] ElementRef place(const ElementRef& element) const {
    return m_expectation.name == "forest" ? element : wholeForest().with(element);
  }
  [[nodiscard]] ElementRef wholeForest() const { return {RefKind::field, m_expectation.name}; }
  [[nodiscard]] ElementRef treeElement(std::int64_t index) const {
    return place({RefKind::tree, gpuId(m_fabric, m_forest.trees[index].root), m_firstTree + index});
  }
  [[nodiscard]] ElementRef edgeElement(std::int64_t tree, const TreeEdge& edge) const {
    return treeElement(tree).with(
        ElementPart{RefKind::edge, -1, gpuId(m_fabric, edge.parent), gpuId(m_fabric, edge.child)});
  }
  void fault(std::string text, ElementRef element, std::string fix = {}) {
    m_log.fault(std::move(text), std::move(element), std::move(fix));
  }

  /// Counts, directions, demands. False where nothing further can be read.
  bool checkShape() {
    const int gpuCount = m_fabric.gpuCount();
    const ElementRef name = wholeForest();
    bool readable = true;
    if (m_forest.direction != m_expectation.direction) {
      fault(m_expectation.direction == Direction::out
                ? "the trees run to the root; this collective sends from the roots"
                : "the trees run from the root; this collective sums up to them",
            name, "reverse the forest");
      readable = false;
    }
    if (m_forest.gpuCount != gpuCount) {
      fault("made for " + counted(m_forest.gpuCount, "GPU") + ", the fabric has " + std::to_string(gpuCount), name);
      readable = false;
    }
    if (m_forest.treesOfRoot.size() != static_cast<std::size_t>(gpuCount)) {
      fault("states the trees of " + std::to_string(m_forest.treesOfRoot.size()) + " roots, the fabric has " +
                counted(gpuCount, "GPU"),
            name);
      readable = false;
    }
    if (!m_forest.scale.isPositive()) {
      fault("scale is " + toFraction(m_forest.scale) + "; it must be positive", name);
      readable = false;
    }
    if (!readable) {
      return false;
    }
    for (const std::int64_t trees : m_forest.treesOfRoot) {
      if (trees < 0) {
        fault("a root has " + std::to_string(trees) + " trees", name);
        return false;
      }
      m_treeCount = checkedAdd(m_treeCount, trees);
    }
    if (m_treeCount == 0) {
      fault("has no trees", name);
      return false;
    }
    checkShares();
    return true;
  }

  /// Trees per root, in proportion to the data.
  void checkShares() {
    if (m_expectation.demand.empty()) {
      return;
    }
    const ElementRef name = wholeForest();
    Int128 totalDemand = 0;
    for (const std::int64_t amount : m_expectation.demand) {
      totalDemand += amount;
    }
    for (Rank rank = 0; rank < m_fabric.gpuCount(); ++rank) {
      const std::int64_t trees = m_forest.treesOfRoot[rank];
      const std::int64_t amount = m_expectation.demand[rank];
      if (m_expectation.fixedK) {
        const Int128 wanted = Int128{*m_expectation.fixedK} * amount;
        if (wanted != trees) {
          fault("root " + gpuName(m_fabric, rank) + " has " + counted(trees, "tree") +
                    "; k = " + std::to_string(*m_expectation.fixedK) + " for an amount of " + std::to_string(amount) +
                    " asks for another number",
                name);
        }
      } else if (Int128{trees} * totalDemand != Int128{m_treeCount} * amount) {
        fault("root " + gpuName(m_fabric, rank) + " has " + counted(trees, "tree") + " of " +
                  std::to_string(m_treeCount) + ", which is not its share of the data (" + std::to_string(amount) +
                  " of " + Rational(narrow64(totalDemand)).toString() + ")",
              name);
      }
    }
  }

  /// Resolves every route to arcs once, so that the passes over trees never search.
  void indexRoutes() {
    const auto nodes = m_fabric.nodes();
    const auto nodeCount = static_cast<unsigned>(m_fabric.nodeCount());
    m_routes.resize(m_forest.paths.size());
    for (PathId id = 0; id < m_forest.paths.size(); ++id) {
      if ((id & 0xfff) == 0) {
        throwIfCancelled(m_progress);
      }
      const auto path = m_forest.paths[id];
      Route& route = m_routes[id];
      route.firstArc = static_cast<std::int64_t>(m_arcOfHop.size());
      bool good = path.size() >= 2;
      for (std::size_t i = 0; good && i < path.size(); ++i) {
        const NodeIndex node = path[i];
        const bool isEnd = i == 0 || i + 1 == path.size();
        good = static_cast<unsigned>(node) < nodeCount && (nodes[node].kind == NodeKind::gpu) == isEnd;
        if (good && i > 0) {
          const std::int32_t arc = m_index.find(path[i - 1], node);
          good = arc != ArcIndex::kNone;
          m_arcOfHop.push_back(arc);
        }
      }
      if (!good || path.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
        m_arcOfHop.resize(route.firstArc);
        continue;
      }
      route.hops = static_cast<std::int32_t>(path.size() - 1);
      const Rank first = nodes[path.front()].rank;
      const Rank last = nodes[path.back()].rank;
      route.parent = isOut() ? first : last;
      route.child = isOut() ? last : first;
    }
    m_useOfRoute.assign(m_routes.size(), 0);
  }

  /// A forest with rotations. False where it is too broken to have loads.
  bool checkImages(ForestFacts& facts) {
    const ElementRef name = place({RefKind::field, "rotations"});
    if (const auto wrong = rotationFault(m_forest.rotations, m_fabric)) {
      fault(*wrong, name);
      return false;
    }
    const auto treeCount = static_cast<std::int64_t>(m_forest.trees.size());
    for (std::int64_t index = 0; index < treeCount; ++index) {
      if (m_forest.trees[index].root != 0) {
        fault("its root is not rank 0; the trees of the other ranks are images of those of rank 0", treeElement(index));
        return false;
      }
    }
    const std::int64_t others = std::max(1, m_fabric.gpuCount() - 1);
    if (treeCount <= m_expectation.maxEdges / others / m_fabric.gpuCount()) {
      checkEveryImage();
      return true;
    }
    const bool isPruned = std::any_of(m_forest.edges.begin(), m_forest.edges.end(),
                                      [](const TreeEdge& edge) { return edge.pruned != 0; });
    std::vector<ArcImages> images;
    for (std::size_t i = 0; i < m_forest.rotations.size(); ++i) {
      images.push_back(arcImages(m_fabric, m_index, m_forest.rotations[i], isPruned));
      if (images.back().fault) {
        fault("rotation " + std::to_string(i) + " " + *images.back().fault, name,
              "generate the forest again for this fabric");
      }
    }
    if (std::any_of(images.begin(), images.end(), [](const ArcImages& each) { return each.fault.has_value(); })) {
      return false;
    }
    facts.isBySymmetry = true;
    indexRoutes();
    RootCount roots = checkTrees();
    countRoutes();
    for (std::size_t i = 0; i < images.size(); ++i) {
      addImages(m_forest.rotations[i], images[i], m_loadOfArc);
    }
    roots.found.assign(roots.found.size(), roots.total());
    checkRoots(roots);
    return true;
  }

  /// Writes the images of all trees for one rank after the other, and checks them as any other trees.
  void checkEveryImage() {
    NodeImages nodes(m_forest.rotations, m_fabric.nodeCount());
    RootCount roots(m_fabric.gpuCount());
    for (Rank root = 0; root < m_fabric.gpuCount(); ++root) {
      const schedule::Forest images = imagesFor(root, nodes.current());
      ForestCheck check(m_fabric, images, m_expectation, m_log, m_progress);
      check.m_firstTree = static_cast<std::int64_t>(root) * static_cast<std::int64_t>(m_forest.trees.size());
      check.indexRoutes();
      const RootCount found = check.checkTrees();
      check.countRoutes();
      for (std::size_t arc = 0; arc < m_loadOfArc.size(); ++arc) {
        m_loadOfArc[arc] += check.m_loadOfArc[arc];
      }
      for (std::size_t rank = 0; rank < roots.found.size(); ++rank) {
        roots.found[rank] += found.found[rank];
      }
      nodes.next();
    }
    checkRoots(roots);
  }

  [[nodiscard]] schedule::Forest imagesFor(Rank root, const std::vector<NodeIndex>& image) const {
    const auto isRank = [&](Rank rank) { return rank >= 0 && rank < m_fabric.gpuCount(); };
    const auto rankOf = [&](Rank rank) { return isRank(rank) ? imageOfRank(m_forest.rotations, rank, root) : rank; };
    schedule::Forest images;
    images.direction = m_forest.direction;
    images.gpuCount = m_forest.gpuCount;
    for (const Tree& tree : m_forest.trees) {
      images.trees.push_back({rankOf(tree.root), tree.multiplicity, tree.firstEdge});
    }
    for (const TreeEdge& edge : m_forest.edges) {
      images.edges.push_back({rankOf(edge.parent), rankOf(edge.child), edge.path, edge.pruned});
    }
    std::vector<NodeIndex> nodes;
    for (PathId id = 0; id < m_forest.paths.size(); ++id) {
      nodes.clear();
      for (const NodeIndex node : m_forest.paths[id]) {
        const bool isNode = node >= 0 && node < m_fabric.nodeCount();
        nodes.push_back(isNode ? image[node] : node);
      }
      images.paths.add(nodes);
    }
    return images;
  }

  /// Trees found per root, with multiplicities.
  struct RootCount {
    explicit RootCount(int gpuCount) : found(static_cast<std::size_t>(gpuCount), 0) {}
    void add(Rank root, std::int64_t multiplicity) {
      found[root] += multiplicity;
      grouped = grouped && root >= lastRoot;
      lastRoot = root;
    }
    [[nodiscard]] Int128 total() const { return std::accumulate(found.begin(), found.end(), Int128{0}); }

    std::vector<Int128> found;
    Rank lastRoot = 0;
    bool grouped = true;
  };

  void checkRoots(const RootCount& roots) {
    if (!roots.grouped) {
      fault("trees are not grouped by ascending root", place({RefKind::field, "trees"}), "sort them by root");
    }
    if (roots.total() > std::numeric_limits<std::int64_t>::max()) {
      // More trees than any root can state: that is the fault, and loads would leave 64 bits.
      m_loadOfArc.assign(m_loadOfArc.size(), 0);
    }
    for (Rank rank = 0; rank < m_fabric.gpuCount(); ++rank) {
      const Int128 found = roots.found[rank];
      if (found != m_forest.treesOfRoot[rank]) {
        const bool printable = found <= std::numeric_limits<std::int64_t>::max();
        fault("multiplicities of the trees rooted here add up to " +
                  (printable ? std::to_string(static_cast<std::int64_t>(found)) : "more than 2^63") + ", stated are " +
                  std::to_string(m_forest.treesOfRoot[rank]),
              place({RefKind::root, gpuId(m_fabric, rank)}));
      }
    }
  }

  /// Counts how often sound trees use each route, and says what is wrong with the others.
  RootCount checkTrees() {
    const int gpuCount = m_fabric.gpuCount();
    const std::size_t edgesPerTree = static_cast<std::size_t>(gpuCount - 1);
    m_visits.assign(gpuCount, Visit{});
    RootCount roots(gpuCount);
    Int128 total = 0;
    for (const Tree& tree : m_forest.trees) {
      total += tree.multiplicity > 0 ? tree.multiplicity : 0;
    }
    // Keeps every use count of a route below within 64 bits: a valid tree uses a route once.
    m_countsFit = total <= std::numeric_limits<std::int64_t>::max();

    const auto treeCount = static_cast<std::int64_t>(m_forest.trees.size());
    const std::int64_t reportEvery = std::max<std::int64_t>(1, treeCount / 64);
    for (std::int64_t index = 0; index < treeCount; ++index) {
      throwIfCancelled(m_progress);
      if (index % reportEvery == 0) {
        m_progress.report("verifying", static_cast<double>(index) / static_cast<double>(treeCount));
      }
      const Tree& tree = m_forest.trees[index];
      if (tree.root < 0 || tree.root >= gpuCount) {
        fault("its root, rank " + std::to_string(tree.root) + ", is not in the fabric", place({RefKind::tree, index}));
        continue;
      }
      if (tree.multiplicity < 1) {
        fault("multiplicity is " + std::to_string(tree.multiplicity) + "; it must be at least 1", treeElement(index));
        continue;
      }
      roots.add(tree.root, tree.multiplicity);
      if (tree.firstEdge < 0 || static_cast<std::size_t>(tree.firstEdge) > m_forest.edges.size() ||
          m_forest.edges.size() - static_cast<std::size_t>(tree.firstEdge) < edgesPerTree) {
        fault("its edges lie outside the forest's " + counted(static_cast<std::int64_t>(m_forest.edges.size()), "edge"),
              treeElement(index));
        continue;
      }
      if (!countTree(index, tree)) {
        diagnoseTree(index, tree);
      }
    }
    return roots;
  }

  /// What the routes that are used put on the links.
  void countRoutes() {
    for (std::size_t i = 0; i < m_routes.size(); ++i) {
      if (m_useOfRoute[i] != 0) {
        for (std::int64_t hop = 0; hop < m_routes[i].hops; ++hop) {
          m_loadOfArc[m_arcOfHop[m_routes[i].firstArc + hop]] += m_useOfRoute[i];
        }
      }
    }
  }

  /// The fast pass: true if the tree is a spanning arborescence in breadth-first order over fitting routes; its use of
  /// the routes is then counted. Says nothing on failure.
  bool countTree(std::int64_t index, const Tree& tree) {
    const auto edges = m_forest.edgesOf(tree);
    const auto gpuCount = static_cast<unsigned>(m_fabric.gpuCount());
    const auto routeCount = static_cast<unsigned>(m_routes.size());
    Visit* const visits = m_visits.data();
    visits[tree.root] = {index, 0};
    std::int32_t depth = 0;
    std::int32_t pruned = 0;
    for (const TreeEdge& edge : edges) {
      if (static_cast<unsigned>(edge.parent) >= gpuCount || static_cast<unsigned>(edge.child) >= gpuCount ||
          static_cast<unsigned>(edge.path) >= routeCount) {
        return false;
      }
      const Visit& parent = visits[edge.parent];
      Visit& child = visits[edge.child];
      const Route& route = m_routes[edge.path];
      if (parent.stamp != index || child.stamp == index || parent.depth + 1 < depth || route.parent != edge.parent ||
          route.child != edge.child) {
        return false;
      }
      depth = parent.depth + 1;
      child = {index, depth};
      pruned |= edge.pruned;
    }
    if (pruned != 0 && !isPruningLegal(index, tree, false)) {
      return false;
    }
    if (m_countsFit) {
      for (const TreeEdge& edge : edges) {
        if (edge.pruned == 0) {
          m_useOfRoute[edge.path] += tree.multiplicity;
        } else {
          countPruned(edge, tree.multiplicity);
        }
      }
    }
    if (pruned != 0 && m_expectation.ownCopies) {
      countOwnCopies(index, tree);
    }
    return true;
  }

  /// Own copies (Schedule::ownCopies): each link straight between a switch where an edge of the tree is pruned and the
  /// GPU of the same box that sends to it (in-trees: takes the sum from it) loads the link back once per tree. A
  /// missing one is a fault.
  /// @pre the tree is sound
  void countOwnCopies(std::int64_t index, const Tree& tree) {
    const auto edges = m_forest.edgesOf(tree);
    m_meetingStamp.resize(m_fabric.nodes().size(), 0);
    m_ownCopyStamp.resize(m_fabric.arcs().size(), 0);
    ++m_ownCopyTree;
    for (const TreeEdge& edge : edges) {
      if (edge.pruned > 0) {
        m_meetingStamp[nodeFromParent(edge, edge.pruned)] = m_ownCopyTree;
      }
    }
    for (const TreeEdge& edge : edges) {
      const NodeIndex next = nodeFromParent(edge, 1);
      const NodeIndex gpu = m_fabric.gpus()[edge.parent];
      if (edge.pruned > 0 || m_meetingStamp[next] != m_ownCopyTree ||
          m_fabric.nodes()[next].box != m_fabric.nodes()[gpu].box) {
        continue;
      }
      const std::int32_t back = isOut() ? m_index.find(next, gpu) : m_index.find(gpu, next);
      if (back == ArcIndex::kNone) {
        const std::string gpuText = nodeName(m_fabric, gpu);
        const std::string switchText = nodeName(m_fabric, next);
        fault(isOut() ? switchText + " also copies the data back to " + gpuText + ", but the fabric has no link " +
                            switchText + " -> " + gpuText
                      : switchText + " also reads the contribution of " + gpuText + ", but the fabric has no link " +
                            gpuText + " -> " + switchText,
              edgeElement(index, edge), "own copies need a link in each direction");
      } else if (m_ownCopyStamp[back] != m_ownCopyTree) {
        m_ownCopyStamp[back] = m_ownCopyTree;
        m_loadOfArc[back] += tree.multiplicity;
      }
    }
  }

  void countPruned(const TreeEdge& edge, std::int64_t multiplicity) {
    const Route& route = m_routes[edge.path];
    const std::int32_t from = isOut() ? edge.pruned : 0;
    const std::int32_t to = isOut() ? route.hops : route.hops - edge.pruned;
    for (std::int32_t hop = from; hop < to; ++hop) {
      m_loadOfArc[m_arcOfHop[route.firstArc + hop]] += multiplicity;
    }
  }

  /// Node `step` hops from the parent's end.
  [[nodiscard]] NodeIndex nodeFromParent(const TreeEdge& edge, std::int32_t step) const {
    const auto path = m_forest.paths[edge.path];
    return isOut() ? path[step] : path[path.size() - 1 - static_cast<std::size_t>(step)];
  }

  /// Lets the data spread from the root (for in-trees: lets the sums be taken off, seen backwards from the root): an
  /// edge runs once the node where its used hops begin has the data, and then brings it to all nodes on those hops.
  /// Edges left over feed each other in a circle or hang on a switch that gets nothing.
  /// @pre the tree is a spanning arborescence over fitting routes.
  bool isPruningLegal(std::int64_t index, const Tree& tree, bool explain) {
    const auto edges = m_forest.edgesOf(tree);
    const auto nodes = m_fabric.nodes();
    bool legal = true;
    for (const TreeEdge& edge : edges) {
      const std::int32_t hops = m_routes[edge.path].hops;
      if (edge.pruned < 0 || edge.pruned >= hops) {
        legal = false;
        if (explain) {
          fault("pruned is " + std::to_string(edge.pruned) + " on a route of " + counted(hops, "hop") + " along " +
                    routeName(m_fabric, m_forest.paths[edge.path]),
                edgeElement(index, edge), "pruned hops end at a switch inside the route");
        }
        continue;
      }
      if (edge.pruned > 0) {
        const fabric::Node& node = nodes[nodeFromParent(edge, edge.pruned)];
        if (!(isOut() ? node.multicast : node.aggregation)) {
          legal = false;
          if (explain) {
            fault("pruned at " + nodeName(m_fabric, nodeFromParent(edge, edge.pruned)) + ", which cannot " +
                      (isOut() ? "multicast" : "aggregate"),
                  edgeElement(index, edge), "prune only at switches marked capable");
          }
        }
      }
    }
    if (!legal) {
      return false;
    }

    m_firstWaiting.resize(nodes.size(), -1);
    m_activeStamp.resize(nodes.size(), -1);
    m_nextWaiting.assign(edges.size(), -1);
    m_runs.assign(edges.size(), false);
    ++m_pruningStamp;
    for (std::size_t i = edges.size(); i-- > 0;) {
      const std::size_t start = static_cast<std::size_t>(nodeFromParent(edges[i], edges[i].pruned));
      m_nextWaiting[i] = m_firstWaiting[start];
      m_firstWaiting[start] = static_cast<std::int32_t>(i);
    }
    m_queue.clear();
    const auto activate = [&](NodeIndex node) {
      if (m_activeStamp[node] != m_pruningStamp) {
        m_activeStamp[node] = m_pruningStamp;
        m_queue.push_back(node);
      }
    };
    activate(m_fabric.gpus()[tree.root]);
    // NOLINTNEXTLINE(modernize-loop-convert): the queue grows under the loop
    for (std::size_t head = 0; head < m_queue.size(); ++head) {
      for (std::int32_t i = m_firstWaiting[m_queue[head]]; i >= 0; i = m_nextWaiting[i]) {
        const TreeEdge& edge = edges[i];
        m_runs[i] = true;
        const std::int32_t hops = m_routes[edge.path].hops;
        for (std::int32_t step = edge.pruned + 1; step <= hops; ++step) {
          activate(nodeFromParent(edge, step));
        }
      }
    }
    for (std::size_t i = 0; i < edges.size(); ++i) {
      m_firstWaiting[nodeFromParent(edges[i], edges[i].pruned)] = -1;
      if (!m_runs[i]) {
        legal = false;
        if (explain && edges[i].pruned > 0) {
          const std::string name = nodeName(m_fabric, nodeFromParent(edges[i], edges[i].pruned));
          fault("pruned at " + name + ", but " +
                    (isOut() ? "no other edge of the tree brings its data there"
                             : "no other edge of the tree takes its sum from there"),
                edgeElement(index, edges[i]),
                "at least one edge must use the link, and edges must not wait in a cycle");
        }
      }
    }
    return legal;
  }

  /// Says all that is wrong with a tree that countTree refused.
  void diagnoseTree(std::int64_t index, const Tree& tree) {
    if (!m_log.wantsMore()) {
      fault({}, {});
      return;
    }
    const std::int64_t before = m_log.faultCount();
    const auto edges = m_forest.edgesOf(tree);
    const int gpuCount = m_fabric.gpuCount();
    std::vector<Rank> parentOf(gpuCount, -1);
    bool routesFit = true;
    for (const TreeEdge& edge : edges) {
      if (edge.parent < 0 || edge.parent >= gpuCount || edge.child < 0 || edge.child >= gpuCount) {
        fault("an end is not a GPU of the fabric", edgeElement(index, edge));
        continue;
      }
      if (edge.parent == edge.child) {
        fault("a GPU cannot be its own parent", edgeElement(index, edge));
      } else if (edge.child == tree.root) {
        fault("the root has a parent", edgeElement(index, edge));
      } else if (parentOf[edge.child] >= 0) {
        fault(gpuName(m_fabric, edge.child) + " has two parents, " + gpuName(m_fabric, parentOf[edge.child]) + " and " +
                  gpuName(m_fabric, edge.parent),
              edgeElement(index, edge));
      } else {
        parentOf[edge.child] = edge.parent;
      }
      routesFit = diagnoseRoute(index, edge) && routesFit;
    }
    diagnoseSpan(index, tree, parentOf);
    if (m_log.faultCount() != before) {
      return;
    }
    if (!isBreadthFirst(tree)) {
      fault("edges are not in breadth-first order from the root", treeElement(index), "list parents before children");
      return;
    }
    isPruningLegal(index, tree, true);
    if (m_log.faultCount() == before) {
      fault("the tree is invalid", treeElement(index));
    }
  }

  bool diagnoseRoute(std::int64_t index, const TreeEdge& edge) {
    if (edge.path < 0 || edge.path >= m_forest.paths.size()) {
      fault("names route " + std::to_string(edge.path) + "; the forest has " + counted(m_forest.paths.size(), "route"),
            edgeElement(index, edge));
      return false;
    }
    const auto path = m_forest.paths[edge.path];
    const Route& route = m_routes[edge.path];
    if (route.parent == edge.parent && route.child == edge.child) {
      return true;
    }
    const std::string along = " along " + routeName(m_fabric, path);
    if (path.size() < 2) {
      fault("the route has " + counted(static_cast<std::int64_t>(path.size()), "node") + "; it needs two or more",
            edgeElement(index, edge));
      return false;
    }
    for (std::size_t i = 0; i < path.size(); ++i) {
      const NodeIndex node = path[i];
      if (node < 0 || node >= m_fabric.nodeCount()) {
        fault("the route names node " + std::to_string(node) + ", which is not in the fabric," + along,
              edgeElement(index, edge));
        return false;
      }
      const bool isGpu = m_fabric.nodes()[node].kind == NodeKind::gpu;
      const bool isEnd = i == 0 || i + 1 == path.size();
      if (isGpu && !isEnd) {
        fault("the route passes through GPU " + nodeName(m_fabric, node) + along, edgeElement(index, edge),
              "only switches and NICs relay; make it two edges of the tree");
        return false;
      }
      if (!isGpu && isEnd) {
        fault("the route ends at " + nodeName(m_fabric, node) + ", which is not a GPU," + along,
              edgeElement(index, edge));
        return false;
      }
      if (i > 0 && !m_fabric.findArc(path[i - 1], node)) {
        fault("the fabric has no link " + nodeName(m_fabric, path[i - 1]) + " -> " + nodeName(m_fabric, node) + along,
              edgeElement(index, edge));
        return false;
      }
    }
    fault("the route joins " + gpuName(m_fabric, route.parent) + " (parent) and " + gpuName(m_fabric, route.child) +
              " (child) instead," + along,
          edgeElement(index, edge));
    return false;
  }

  void diagnoseSpan(std::int64_t index, const Tree& tree, const std::vector<Rank>& parentOf) {
    constexpr int kMaxNamed = 8;
    std::string missing;
    int missingCount = 0;
    for (Rank rank = 0; rank < m_fabric.gpuCount(); ++rank) {
      if (rank != tree.root && parentOf[rank] < 0 && ++missingCount <= kMaxNamed) {
        missing += (missing.empty() ? "" : ", ") + gpuName(m_fabric, rank);
      }
    }
    if (missingCount > 0) {
      fault("does not reach " + missing +
                (missingCount > kMaxNamed ? " and " + std::to_string(missingCount - kMaxNamed) + " more" : ""),
            treeElement(index), "a tree spans all GPUs");
    }
    // Colours: 0 unseen, 1 on the walk, 2 done. Every GPU has at most one parent here, so each walk ends or circles.
    std::vector<char> colour(parentOf.size(), 0);
    for (Rank start = 0; start < m_fabric.gpuCount(); ++start) {
      std::vector<Rank> walk;
      Rank rank = start;
      while (rank >= 0 && colour[rank] == 0) {
        colour[rank] = 1;
        walk.push_back(rank);
        rank = rank == tree.root ? -1 : parentOf[rank];
      }
      if (rank >= 0 && colour[rank] == 1) {
        std::string circle = gpuName(m_fabric, rank);
        int named = 1;
        for (Rank next = parentOf[rank]; next != rank; next = parentOf[next]) {
          if (++named <= kMaxNamed) {
            circle = gpuName(m_fabric, next) + " -> " + circle;
          }
        }
        fault("edges form a cycle cut off from the root: " + circle +
                  (named > kMaxNamed ? " (" + std::to_string(named) + " GPUs)" : ""),
              treeElement(index));
      }
      for (const Rank done : walk) {
        colour[done] = 2;
      }
    }
  }

  /// @pre the tree is spanning, whatever its order.
  bool isBreadthFirst(const Tree& tree) {
    std::vector<std::int32_t> depthOf(m_fabric.gpuCount(), -1);
    depthOf[tree.root] = 0;
    std::int32_t depth = 0;
    for (const TreeEdge& edge : m_forest.edgesOf(tree)) {
      if (depthOf[edge.parent] < 0 || depthOf[edge.parent] + 1 < depth) {
        return false;
      }
      depth = depthOf[edge.parent] + 1;
      depthOf[edge.child] = depth;
    }
    return true;
  }

  const fabric::Fabric& m_fabric;
  const schedule::Forest& m_forest;
  const ForestExpectation& m_expectation;
  FaultLog& m_log;
  const Progress& m_progress;
  const ArcIndex m_index;

  std::int64_t m_treeCount = 0;
  std::int64_t m_firstTree = 0;  ///< number of the forest's first tree, where only a piece of a forest is given
  std::vector<Route> m_routes;
  std::vector<std::int32_t> m_arcOfHop;
  std::vector<std::int64_t> m_useOfRoute;
  std::vector<Int128> m_loadOfArc;
  std::vector<Visit> m_visits;
  bool m_countsFit = true;

  std::vector<std::int32_t> m_firstWaiting;  ///< by node: first edge that starts there
  std::vector<std::int32_t> m_nextWaiting;   ///< by edge of the tree
  std::vector<std::int64_t> m_activeStamp;   ///< by node
  std::vector<bool> m_runs;                  ///< by edge of the tree
  std::vector<NodeIndex> m_queue;
  std::int64_t m_pruningStamp = 0;

  std::vector<std::int64_t> m_meetingStamp;  ///< by node: the last tree with an edge pruned there
  std::vector<std::int64_t> m_ownCopyStamp;  ///< by arc: the last tree that it brought an own copy of
  std::int64_t m_ownCopyTree = 0;            ///< counts the trees with own copies
};

}  // namespace

ForestFacts checkForest(const fabric::Fabric& fabric, const schedule::Forest& forest,
                        const ForestExpectation& expectation, FaultLog& log, const Progress& progress) {
  return ForestCheck(fabric, forest, expectation, log, progress).run();
}

InverseBandwidth checkLoads(const fabric::Fabric& fabric, std::span<const Int128> loadOfArc,
                            const InverseBandwidth& scale, std::string_view whose, const ElementRef& owner,
                            FaultLog& log) {
  const auto arcs = fabric.arcs();
  const Rational& perGBps = scale.perGBps();
  std::int64_t busiest = 0;
  Rational busiestBandwidth(1);
  for (std::size_t i = 0; i < arcs.size(); ++i) {
    const Rational& bandwidth = arcs[i].bandwidth.gigabytesPerSecond();
    const std::int64_t load = narrow64(loadOfArc[i]);
    // floor(scale * bandwidth) without reducing: each product of two 64-bit parts fits 128 bits.
    const Int128 room =
        Int128{perGBps.numerator()} * bandwidth.numerator() / (Int128{perGBps.denominator()} * bandwidth.denominator());
    if (load > room) {
      const ElementPart link{RefKind::link, -1, fabric.nodes()[arcs[i].tail].id, fabric.nodes()[arcs[i].head].id};
      log.fault("carries " + counted(load, "tree") + std::string(whose) + ", but its capacity is " +
                    std::to_string(narrow64(room)) + " (scale " + toFraction(scale) + " x " + bandwidth.toString() +
                    " GB/s)",
                owner.with(link));
    }
    if (isBusier(load, bandwidth, busiest, busiestBandwidth)) {
      busiest = load;
      busiestBandwidth = bandwidth;
    }
  }
  try {
    return InverseBandwidth(Rational(busiest) / busiestBandwidth);
  } catch (const OverflowError&) {
    return scale;
  }
}

}  // namespace coppice::verify
