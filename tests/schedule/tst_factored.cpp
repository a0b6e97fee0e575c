// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <stop_token>

#include "base/checked.hpp"
#include "schedule/expansion.hpp"
#include "schedule/tree_reader.hpp"
#include "support/factored_clusters.hpp"

using namespace coppice;
using schedule::FactoredForest;
using schedule::Forest;
using Shape = FactoredForest::Shape;

namespace {

/// An edge with its whole route, in the direction of an out-tree's data.
struct PlainEdge {
  int parent = 0;
  int child = 0;
  std::vector<int> route;
  friend auto operator<=>(const PlainEdge&, const PlainEdge&) = default;
};

/// The model's words taken literally, one recursion per part and lists throughout.
class NaiveExpansion {
public:
  explicit NaiveExpansion(const FactoredForest& forest, std::span<const int> gpus) : m_forest(forest), m_gpus(gpus) {}

  [[nodiscard]] std::vector<int> leaves(int instance) const {
    const auto& place = m_forest.instances[instance];
    std::vector<int> result;
    for (std::size_t node = 0; node < place.children.size(); ++node) {
      const auto more = m_forest.shapes[place.shape].childShape[node] == FactoredForest::kGpu
                            ? std::vector<int>{place.children[node]}
                            : leaves(place.children[node]);
      result.insert(result.end(), more.begin(), more.end());
    }
    return result;
  }

  [[nodiscard]] int root(int instance, int tree) const {
    const auto& place = m_forest.instances[instance];
    return leaves(instance)[m_forest.shapes[place.shape].trees[tree].rootLeaf];
  }

  [[nodiscard]] std::vector<PlainEdge> tree(int instance, int number) const {
    const auto& place = m_forest.instances[instance];
    const Shape& shape = m_forest.shapes[place.shape];
    const auto& chosen = shape.trees[number];
    std::vector<FactoredForest::Choice> steps;
    const auto& pattern = shape.patterns[chosen.pattern];
    for (std::int64_t i = 0; i < pattern.choiceCount; ++i) {
      const auto& choice = shape.choices[pattern.firstChoice + i];
      steps.insert(steps.end(), static_cast<std::size_t>(choice.count), choice);
    }
    const auto& skeleton = shape.skeletons[chosen.skeleton];
    std::vector<PlainEdge> edges;
    const auto grow = [&](int node, int inner) {
      if (shape.childShape[node] != FactoredForest::kGpu) {
        const auto more = tree(place.children[node], inner);
        edges.insert(edges.end(), more.begin(), more.end());
      }
    };
    grow(skeleton.root, steps[0].innerTree);
    for (std::size_t i = 1; i < steps.size(); ++i) {
      const auto& arc = shape.arcs[static_cast<std::size_t>(skeleton.firstArc) + i - 1];
      const auto [tail, out] = port(place, shape, arc.tail, steps[i].tailPort, false);
      const auto [head, in] = port(place, shape, arc.head, steps[i].headPort, true);
      PlainEdge edge{tail, head, {m_gpus[tail]}};
      const std::vector<int> between = via(place, steps[i].via);
      for (const auto* piece : {&out, &between, &in}) {
        edge.route.insert(edge.route.end(), piece->begin(), piece->end());
      }
      edge.route.push_back(m_gpus[head]);
      edges.push_back(edge);
      grow(arc.head, steps[i].innerTree);
    }
    return edges;
  }

private:
  [[nodiscard]] std::vector<int> via(const FactoredForest::Instance& place, int number) const {
    const Shape& shape = m_forest.shapes[place.shape];
    std::vector<int> result;
    for (std::int64_t i = shape.viaStart[number]; i < shape.viaStart[static_cast<std::size_t>(number) + 1]; ++i) {
      result.push_back(place.switches[shape.viaSwitches[i]]);
    }
    return result;
  }

  [[nodiscard]] std::pair<int, std::vector<int>> port(const FactoredForest::Instance& place, const Shape& shape,
                                                      int node, int number, bool enters) const {
    const int child = place.children[node];
    if (shape.childShape[node] == FactoredForest::kGpu) {
      return {child, {}};
    }
    const auto& part = m_forest.instances[child];
    const Shape& partShape = m_forest.shapes[part.shape];
    const auto& chosen = (enters ? partShape.inPorts : partShape.outPorts)[number];
    return {leaves(child)[chosen.leaf], via(part, chosen.via)};
  }

  const FactoredForest& m_forest;
  std::span<const int> m_gpus;
};

/// Random parts within parts; every field is used. Routes mean nothing.
struct RandomForest {
  explicit RandomForest(unsigned seed) : random(seed) {
    const int levels = pick(1, 4);
    for (int level = 0; level < levels; ++level) {
      const int shapes = level + 1 == levels ? 1 : pick(1, 2);
      const int known = static_cast<int>(forest.shapes.size());
      for (int i = 0; i < shapes; ++i) {
        addShape(level == 0 ? 0 : known, level + 1 == levels);
      }
    }
    gpuCount = leavesOf(static_cast<int>(forest.shapes.size()) - 1);
    nodeCount = gpuCount + 20;
    std::vector<int> ranks(static_cast<std::size_t>(gpuCount));
    std::iota(ranks.begin(), ranks.end(), 0);
    std::shuffle(ranks.begin(), ranks.end(), random);
    forest.top = place(static_cast<int>(forest.shapes.size()) - 1, ranks);
    for (int gpu = 0; gpu < gpuCount; ++gpu) {
      gpus.push_back(nodeCount - 1 - gpu);
    }
  }

  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }

  [[nodiscard]] int leavesOf(int shape) const {
    int leaves = 0;
    for (const int child : forest.shapes[shape].childShape) {
      leaves += child == FactoredForest::kGpu ? 1 : leavesOf(child);
    }
    return leaves;
  }

  void addShape(int known, bool isTop) {
    Shape shape;
    const int nodes = pick(1, 5);
    int leaves = 0;
    for (int node = 0; node < nodes; ++node) {
      shape.childShape.push_back(known == 0 ? FactoredForest::kGpu : pick(-1, known - 1));
      leaves += shape.childShape.back() == FactoredForest::kGpu ? 1 : leavesOf(shape.childShape.back());
    }
    // No shape may hold more GPUs than there are, used or not.
    for (int child = 0; isTop && child < known; ++child) {
      shape.childShape.push_back(child);
      leaves += leavesOf(child);
    }
    shape.switchCount = pick(1, 4);
    const int vias = pick(1, 5);
    for (int via = 0; via < vias; ++via) {
      std::vector<int> switches(static_cast<std::size_t>(pick(0, 3)));
      for (int& entry : switches) {
        entry = pick(0, shape.switchCount - 1);
      }
      samples::RegularCluster::addVia(shape, switches);
    }
    const int trees = pick(1, 6);
    for (int tree = 0; tree < trees; ++tree) {
      addTree(shape);
    }
    // Every tree can be entered.
    for (const auto& tree : shape.trees) {
      shape.inPorts.push_back({tree.rootLeaf, pick(0, vias - 1)});
      shape.outPorts.push_back({pick(0, leaves - 1), pick(0, vias - 1)});
    }
    forest.shapes.push_back(std::move(shape));
  }

  void addTree(Shape& shape) {
    const int nodes = static_cast<int>(shape.childShape.size());
    std::vector<int> order(static_cast<std::size_t>(nodes));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    const auto treesAt = [&](int node) {
      const int child = shape.childShape[node];
      return child == FactoredForest::kGpu ? 1 : static_cast<int>(forest.shapes[child].trees.size());
    };
    const auto firstArc = static_cast<std::int64_t>(shape.arcs.size());
    const auto firstChoice = static_cast<std::int64_t>(shape.choices.size());
    const int rootTree = pick(0, treesAt(order[0]) - 1);
    int rootLeaf = 0;
    for (int node = 0; node < order[0]; ++node) {
      rootLeaf += shape.childShape[node] == FactoredForest::kGpu ? 1 : leavesOf(shape.childShape[node]);
    }
    if (const int child = shape.childShape[order[0]]; child != FactoredForest::kGpu) {
      rootLeaf += forest.shapes[child].trees[rootTree].rootLeaf;
    }
    shape.choices.push_back({1, 0, 0, 0, rootTree});
    for (int i = 1; i < nodes; ++i) {
      const int tail = order[pick(0, i - 1)];
      const int head = order[i];
      shape.arcs.push_back({tail, head});
      const int inner = pick(0, treesAt(head) - 1);
      FactoredForest::Choice choice{1, pick(0, static_cast<int>(shape.viaStart.size()) - 2), pick(0, treesAt(tail) - 1),
                                    inner, inner};
      if (shape.choices.back().via == choice.via && shape.choices.back().tailPort == choice.tailPort &&
          shape.choices.back().innerTree == choice.innerTree && i > 1) {
        ++shape.choices.back().count;
      } else {
        shape.choices.push_back(choice);
      }
    }
    const auto number = static_cast<int>(shape.trees.size());
    shape.skeletons.push_back({order[0], firstArc});
    shape.patterns.push_back({firstChoice, static_cast<std::int64_t>(shape.choices.size()) - firstChoice});
    shape.trees.push_back({number, number, rootLeaf, pick(1, 3)});
  }

  int place(int number, std::vector<int>& ranks) {
    FactoredForest::Instance instance;
    instance.shape = number;
    for (const int child : forest.shapes[number].childShape) {
      if (child == FactoredForest::kGpu) {
        instance.children.push_back(ranks.back());
        ranks.pop_back();
      } else {
        instance.children.push_back(place(child, ranks));
      }
    }
    for (int i = 0; i < forest.shapes[number].switchCount; ++i) {
      instance.switches.push_back(pick(0, nodeCount - gpuCount - 1));
    }
    forest.instances.push_back(std::move(instance));
    return static_cast<int>(forest.instances.size()) - 1;
  }

  std::mt19937 random;
  FactoredForest forest;
  int gpuCount = 0;
  int nodeCount = 0;
  std::vector<int> gpus;
};

Forest forestOf(FactoredForest parts, int gpuCount, schedule::Direction direction = schedule::Direction::out) {
  Forest forest;
  forest.direction = direction;
  forest.gpuCount = gpuCount;
  forest.scale = InverseBandwidth(1);
  forest.factored = std::make_shared<const FactoredForest>(std::move(parts));
  return forest;
}

std::string all(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += describe(finding) + "\n";
  }
  return text;
}

/// Edges of a tree as the reader gives them.
std::vector<PlainEdge> readTree(schedule::TreeReader& reader, std::int64_t tree) {
  std::vector<PlainEdge> edges;
  const auto view = reader.read(tree);
  for (const auto& edge : view.edges) {
    const auto path = reader.path(edge);
    edges.push_back({edge.parent, edge.child, {path.begin(), path.end()}});
  }
  return edges;
}

std::vector<PlainEdge> turned(std::vector<PlainEdge> edges) {
  for (PlainEdge& edge : edges) {
    std::reverse(edge.route.begin(), edge.route.end());
  }
  return edges;
}

}  // namespace

class TestFactored : public QObject {
  Q_OBJECT

private slots:
  void readerMatchesTheModel_data() {
    QTest::addColumn<int>("seed");
    for (int seed = 1; seed <= 300; ++seed) {
      QTest::addRow("seed %d", seed) << seed;
    }
  }

  void readerMatchesTheModel() {
    QFETCH(int, seed);
    const RandomForest sample(static_cast<unsigned>(seed));
    const auto findings = checkStructure(sample.forest, sample.gpuCount, sample.nodeCount);
    QVERIFY2(findings.empty(), all(findings).c_str());
    const NaiveExpansion naive(sample.forest, sample.gpus);
    const Forest out = forestOf(sample.forest, sample.gpuCount);
    const Forest in = reversed(out);
    QVERIFY(in.factored == out.factored);
    QVERIFY(in.direction == schedule::Direction::in);
    schedule::TreeReader reader(out, sample.gpus);
    schedule::TreeReader backwards(in, sample.gpus);
    const auto& trees = sample.forest.shapes.back().trees;
    QCOMPARE(reader.size(), static_cast<std::int64_t>(trees.size()));
    // From the last to the first: any tree can be read at any time.
    for (std::int64_t tree = reader.size() - 1; tree >= 0; --tree) {
      const auto expected = naive.tree(sample.forest.top, static_cast<int>(tree));
      QVERIFY(readTree(reader, tree) == expected);
      QVERIFY(readTree(backwards, tree) == turned(expected));
      QCOMPARE(reader.head(tree).root, naive.root(sample.forest.top, static_cast<int>(tree)));
      QCOMPARE(reader.head(tree).multiplicity, trees[tree].multiplicity);
      for (const auto& edge : reader.read(tree).edges) {
        QCOMPARE(reader.hops(edge), static_cast<int>(reader.path(edge).size()) - 1);
      }
    }
  }

  void expansionIsBreadthFirst_data() {
    QTest::addColumn<int>("pods");
    QTest::addColumn<int>("boxes");
    QTest::addColumn<int>("gpus");
    QTest::newRow("two boxes") << 1 << 2 << 2;
    QTest::newRow("boxes of one") << 1 << 5 << 1;
    QTest::newRow("boxes") << 1 << 4 << 8;
    QTest::newRow("pods of boxes") << 3 << 4 << 2;
  }

  void expansionIsBreadthFirst() {
    QFETCH(int, pods);
    QFETCH(int, boxes);
    QFETCH(int, gpus);
    const samples::Sample sample = samples::RegularCluster{pods, boxes, gpus}.sample();
    const Forest& forest = *sample.schedule.broadcastForest;
    for (const Forest& parts : {forest, reversed(forest)}) {
      const auto result = schedule::expanded(parts, sample.fabric);
      QVERIFY2(result.hasValue(), result ? "" : describe(result.error()).c_str());
      const Forest& written = *result;
      QVERIFY(!written.factored);
      QVERIFY(written.direction == parts.direction);
      QCOMPARE(written.algbw(), parts.algbw());
      schedule::TreeReader reader(parts, sample.fabric.gpus());
      schedule::TreeReader writtenReader(written, sample.fabric.gpus());
      QCOMPARE(writtenReader.size(), reader.size());
      std::map<std::vector<int>, int> routes;
      for (std::int64_t tree = 0; tree < reader.size(); ++tree) {
        auto expected = readTree(reader, tree);
        auto found = readTree(writtenReader, tree);
        std::map<int, int> depth{{written.trees[tree].root, 0}};
        std::map<int, int> position{{written.trees[tree].root, 0}};
        int last = 0;
        for (const PlainEdge& edge : found) {
          // Children of one parent after another, parents in the order in which they were reached.
          QVERIFY(depth.contains(edge.parent));
          QVERIFY(position[edge.parent] >= last);
          last = position[edge.parent];
          depth[edge.child] = depth[edge.parent] + 1;
          position[edge.child] = static_cast<int>(position.size());
          ++routes[edge.route];
        }
        std::sort(expected.begin(), expected.end());
        std::sort(found.begin(), found.end());
        QVERIFY(expected == found);
      }
      QCOMPARE(written.paths.size(), static_cast<int>(routes.size()));
      const auto again = schedule::expanded(written, sample.fabric);
      QVERIFY(again && *again == written);
    }
  }

  void heightsMatchTheExpansion_data() { readerMatchesTheModel_data(); }
  void heightsMatchTheExpansion() {
    QFETCH(int, seed);
    const RandomForest sample(static_cast<unsigned>(seed));
    const NaiveExpansion naive(sample.forest, sample.gpus);
    const auto& trees = sample.forest.shapes.back().trees;
    int logicalMax = 0;
    int physicalMax = 0;
    std::int64_t logicalSum = 0;
    std::int64_t physicalSum = 0;
    std::int64_t count = 0;
    for (std::size_t tree = 0; tree < trees.size(); ++tree) {
      std::map<int, std::pair<int, int>> depth;
      std::pair<int, int> height{0, 0};
      for (const PlainEdge& edge : naive.tree(sample.forest.top, static_cast<int>(tree))) {
        const auto parent = depth[edge.parent];
        const std::pair<int, int> here{parent.first + 1, parent.second + static_cast<int>(edge.route.size()) - 1};
        depth[edge.child] = here;
        height = {std::max(height.first, here.first), std::max(height.second, here.second)};
      }
      logicalMax = std::max(logicalMax, height.first);
      physicalMax = std::max(physicalMax, height.second);
      logicalSum += trees[tree].multiplicity * height.first;
      physicalSum += trees[tree].multiplicity * height.second;
      count += trees[tree].multiplicity;
    }
    for (const auto direction : {schedule::Direction::out, schedule::Direction::in}) {
      const auto heights = schedule::heights(forestOf(sample.forest, sample.gpuCount, direction));
      QCOMPARE(heights.logicalMax, logicalMax);
      QCOMPARE(schedule::maxHeight(forestOf(sample.forest, sample.gpuCount, direction)), logicalMax);
      QCOMPARE(heights.physicalMax, physicalMax);
      QCOMPARE(heights.logicalMean, static_cast<double>(logicalSum) / static_cast<double>(count));
      QCOMPARE(heights.physicalMean, static_cast<double>(physicalSum) / static_cast<double>(count));
      QCOMPARE(heights.latencyMax.count(), 0.0);
    }
  }

  void latencies() {
    const samples::RegularCluster cluster{3, 2, 2};
    samples::Sample sample = cluster.sample();
    // To the other pods (6 links, 5.5 us), there to the other box (4 links, 4.5 us), there round the switch (0.7 us).
    auto heights = schedule::heights(*sample.schedule.broadcastForest, sample.fabric);
    QCOMPARE(heights.logicalMax, 3);
    QCOMPARE(heights.logicalMean, 3.0);
    QCOMPARE(heights.physicalMax, 12);
    QCOMPARE(heights.physicalMean, 12.0);
    QCOMPARE(heights.latencyMax.count(), 10.7);
    QCOMPARE(heights.latencyMean.count(), 10.7);
    // Every link its own latency, another one each way.
    int number = 0;
    std::vector<fabric::LinkDescription> links;
    for (fabric::LinkDescription link : sample.description.links) {
      link.duplex = false;
      ++number;
      link.latency = std::to_string(number % 7) + "." + std::to_string(100000 + number % 13);
      links.push_back(link);
      std::swap(link.src, link.dst);
      link.latency = number % 5 == 0 ? std::optional<std::string>() : std::to_string(number % 11);
      links.push_back(link);
    }
    sample.description.links = links;
    const fabric::Fabric fabric = samples::buildFabric(sample.description);
    const Forest out = *sample.schedule.broadcastForest;
    const auto outHeights = schedule::heights(out, fabric);
    for (const Forest& forest : {out, reversed(out)}) {
      heights = schedule::heights(forest, fabric);
      const auto written = schedule::heights(schedule::expanded(forest, fabric).value(), fabric);
      QCOMPARE(heights.latencyMax.count(), written.latencyMax.count());
      QCOMPARE(heights.latencyMean.count(), written.latencyMean.count());
      QCOMPARE(heights.physicalMean, written.physicalMean);
      QCOMPARE(schedule::maxHeight(schedule::expanded(forest, fabric).value()), written.logicalMax);
      QVERIFY(heights.latencyMax.count() > 12);
      QVERIFY(heights.latencyMean < heights.latencyMax);
    }
    QVERIFY2(heights.latencyMax != outHeights.latencyMax, "the way back takes other links");
  }

  /// Too many trees in the parts for tables: trees are expanded instead, with the same answer.
  void heightsOfManyTrees() {
    const samples::RegularCluster cluster{2, 2, 2};
    const samples::Sample sample = cluster.sample();
    FactoredForest parts = *sample.schedule.broadcastForest->factored;
    parts.shapes[0].trees.resize(std::size_t{1} << 22, parts.shapes[0].trees[1]);
    Forest forest = *sample.schedule.broadcastForest;
    forest.factored = std::make_shared<const FactoredForest>(std::move(parts));
    const auto heights = schedule::heights(forest, sample.fabric);
    QCOMPARE(heights.logicalMax, 3);
    QCOMPARE(heights.physicalMean, 12.0);
    QCOMPARE(heights.latencyMax.count(), 10.7);
  }

  void extremeLatencies() {
    samples::Sample sample = samples::ring();
    for (auto& link : sample.description.links) {
      link.latency = "9223372036854775807";
    }
    const fabric::Fabric fabric = samples::buildFabric(sample.description);
    const auto heights = schedule::heights(*sample.schedule.broadcastForest, fabric);
    QCOMPARE(heights.latencyMax.count(), 3e6);
    fabric::Arc arc = fabric.arcs()[0];
    const std::vector<std::pair<Rational, std::int64_t>> cases{
        {Rational(0), 0}, {Rational(1, 3), 333333}, {Rational(2, 3), 666667}, {Rational(1, 2000000), 1}};
    for (const auto& [microseconds, expected] : cases) {
      arc.latency = ExactMicroseconds(microseconds);
      QCOMPARE(schedule::latencyPicoseconds(fabric, arc), expected);
    }
  }

  void expansionRefuses() {
    const samples::Sample sample = samples::RegularCluster{1, 4, 2}.sample();
    const Forest& forest = *sample.schedule.broadcastForest;
    const auto size = schedule::sizeOf(forest);
    QCOMPARE(size.trees, std::int64_t{8});
    QCOMPARE(size.edges, std::int64_t{56});
    const auto tooLarge = schedule::expanded(forest, sample.fabric, size.expandedBytes - 1);
    QVERIFY(!tooLarge && tooLarge.error().code == ErrorCode::limit);
    QVERIFY(schedule::expanded(forest, sample.fabric, size.expandedBytes).hasValue());
    std::stop_source stop;
    stop.request_stop();
    const auto cancelled = schedule::expanded(forest, sample.fabric, schedule::kMaxExpandedBytes,
                                              {.onReport = {}, .stop = stop.get_token()});
    QVERIFY(!cancelled && cancelled.error().code == ErrorCode::cancelled);
    const auto other = schedule::expanded(forest, samples::ring().fabric);
    QVERIFY(!other && other.error().code == ErrorCode::badInput);
    Forest broken = forest;
    FactoredForest parts = *forest.factored;
    parts.shapes[0].trees[0].pattern = 7;
    broken.factored = std::make_shared<const FactoredForest>(parts);
    const auto refused = schedule::expanded(broken, sample.fabric);
    QVERIFY(!refused && refused.error().code == ErrorCode::badInput);
    QCOMPARE(toText(refused.error().where.element), std::string("shape 0, tree 0"));
    QVERIFY(broken != forest);
    broken.factored = std::make_shared<const FactoredForest>(*forest.factored);
    QVERIFY(broken == forest);
    broken.factored = nullptr;
    QVERIFY(broken != forest);
  }

  /// About the size of what is estimated.
  void sizesAreEstimated() {
    const samples::Sample sample = samples::RegularCluster{1, 32, 8}.sample();
    const Forest& forest = *sample.schedule.broadcastForest;
    const auto written = schedule::expanded(forest, sample.fabric);
    QVERIFY(written.hasValue());
    const auto parts = schedule::sizeOf(forest);
    const auto trees = schedule::sizeOf(*written);
    QCOMPARE(trees.trees, parts.trees);
    QCOMPARE(trees.edges, parts.edges);
    QCOMPARE(trees.bytes, trees.expandedBytes);
    QVERIFY(parts.expandedBytes >= trees.bytes);
    QVERIFY(parts.expandedBytes <= 4 * trees.bytes);
    QVERIFY(parts.bytes * 10 < trees.bytes);
  }

  void faultsAreFound_data() {
    using Spoil = std::function<void(FactoredForest&)>;
    QTest::addColumn<Spoil>("spoil");
    QTest::addColumn<QString>("place");
    QTest::addColumn<QString>("text");
    const auto row = [](const char* name, const char* place, const char* text, const Spoil& spoil) {
      QTest::newRow(name) << spoil << place << text;
    };
    const int big = std::numeric_limits<int>::max();
    const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
    // Three pods of two boxes of two GPUs: shapes 0 (box), 1 (pod), 2 (all); instances 0, 1 (boxes), 2 (pod), ..., 9.
    row("no shapes", "parts", "0 shapes", [](FactoredForest& f) { f.shapes.clear(); });
    row("no instances", "parts", "0 instances", [](FactoredForest& f) { f.instances.clear(); });
    row("empty shape", "shape 0", "no nodes", [](FactoredForest& f) { f.shapes[0].childShape.clear(); });
    row("own part", "shape 1, node 0", "shape 1", [](FactoredForest& f) { f.shapes[1].childShape[0] = 1; });
    row("later part", "shape 1, node 1", "shape 2", [](FactoredForest& f) { f.shapes[1].childShape[1] = 2; });
    row("no such part", "shape 0, node 1", "shape -2", [](FactoredForest& f) { f.shapes[0].childShape[1] = -2; });
    row("too many GPUs", "shape 2", "more GPUs", [](FactoredForest& f) { f.shapes[2].childShape.push_back(1); });
    row("GPUs multiplied", "shape 0", "more GPUs", [](FactoredForest& f) {
      f.shapes[0].childShape.assign(1000, FactoredForest::kGpu);
      f.shapes[1].childShape.assign(1000, 0);
      f.shapes[2].childShape.assign(1000, 1);
    });
    row("deep nesting", "shape 64", "nested", [](FactoredForest& f) {
      Shape single;
      single.childShape = {0};
      for (int i = 0; i < 100; ++i) {
        f.shapes.push_back(single);
        single.childShape = {static_cast<int>(f.shapes.size()) - 1};
      }
      std::rotate(f.shapes.begin() + 1, f.shapes.begin() + 3, f.shapes.end());
      for (int i = 1; i <= 100; ++i) {
        f.shapes[i].childShape = {i - 1};
      }
      f.shapes[101].childShape = {0};
      f.shapes[102].childShape = {0};
    });
    row("negative switches", "shape 0", "-1 switches", [](FactoredForest& f) { f.shapes[0].switchCount = -1; });
    row("many switches", "shape 0", "switches", [=](FactoredForest& f) { f.shapes[0].switchCount = big; });
    row("vias start late", "shape 0", "vias", [](FactoredForest& f) { f.shapes[0].viaStart[0] = 1; });
    row("vias missing", "shape 0", "vias", [](FactoredForest& f) { f.shapes[0].viaStart.clear(); });
    row("vias end late", "shape 0", "vias", [=](FactoredForest& f) { f.shapes[0].viaStart.back() = huge; });
    row("vias back and forth", "shape 0", "vias", [](FactoredForest& f) { f.shapes[0].viaStart[1] = 4; });
    row("no such switch", "shape 0, via 1", "switch 9", [](FactoredForest& f) { f.shapes[0].viaSwitches[1] = 9; });
    row("negative switch", "shape 0, via 2", "switch -1", [](FactoredForest& f) { f.shapes[0].viaSwitches[2] = -1; });
    row("port leaf", "shape 0, out port 1", "leaf 2", [](FactoredForest& f) { f.shapes[0].outPorts[1].leaf = 2; });
    row("port via", "shape 1, in port 0", "via -1", [](FactoredForest& f) { f.shapes[1].inPorts[0].via = -1; });
    row("arc tail", "shape 2, arc 0", "nodes 3", [](FactoredForest& f) { f.shapes[2].arcs[0].tail = 3; });
    row("arc head", "shape 2, arc 1", "and -1", [](FactoredForest& f) { f.shapes[2].arcs[1].head = -1; });
    row("skeleton root", "shape 2, skeleton 1", "node 3", [](FactoredForest& f) { f.shapes[2].skeletons[1].root = 3; });
    row("skeleton arcs late", "shape 2, skeleton 1", "outside",
        [](FactoredForest& f) { f.shapes[2].skeletons[1].firstArc = 5; });
    row("skeleton arcs negative", "shape 2, skeleton 1", "outside",
        [](FactoredForest& f) { f.shapes[2].skeletons[1].firstArc = -1; });
    row("skeleton arcs huge", "shape 2, skeleton 1", "outside",
        [=](FactoredForest& f) { f.shapes[2].skeletons[1].firstArc = huge; });
    row("skeletons share arcs", "shape 2", "4 skeletons",
        [](FactoredForest& f) { f.shapes[2].skeletons.push_back(f.shapes[2].skeletons[0]); });
    row("skeleton unreached tail", "shape 2, skeleton 0, step 1", "leaves node 1 before", [](FactoredForest& f) {
      f.shapes[2].arcs[0] = {1, 2};
    });
    row("skeleton head twice", "shape 2, skeleton 0, step 2", "node 1 twice",
        [](FactoredForest& f) { f.shapes[2].arcs[1].head = 1; });
    row("skeleton back to root", "shape 2, skeleton 0, step 1", "node 0 twice",
        [](FactoredForest& f) { f.shapes[2].arcs[0].head = 0; });
    row("pattern late", "shape 2, pattern 0", "outside",
        [=](FactoredForest& f) { f.shapes[2].patterns[0].firstChoice = huge; });
    row("pattern long", "shape 2, pattern 0", "outside",
        [=](FactoredForest& f) { f.shapes[2].patterns[0].choiceCount = huge; });
    row("pattern negative", "shape 2, pattern 0", "outside",
        [](FactoredForest& f) { f.shapes[2].patterns[0].choiceCount = -1; });
    row("pattern empty", "shape 2, pattern 0", "cover",
        [](FactoredForest& f) { f.shapes[2].patterns[0].choiceCount = 0; });
    row("patterns share choices", "shape 2", "more choices",
        [](FactoredForest& f) { f.shapes[2].patterns.push_back(f.shapes[2].patterns[0]); });
    row("count short", "shape 2, pattern 1", "cover", [](FactoredForest& f) { f.shapes[2].choices[3].count = 1; });
    row("count long", "shape 2, pattern 1", "cover", [=](FactoredForest& f) { f.shapes[2].choices[3].count = huge; });
    row("count zero", "shape 2, pattern 1", "cover", [](FactoredForest& f) { f.shapes[2].choices[3].count = 0; });
    row("count negative", "shape 2, pattern 1", "cover", [](FactoredForest& f) {
      f.shapes[2].choices[2].count = -1;
      f.shapes[2].choices[3].count = 4;
    });
    row("tree skeleton", "shape 2, tree 3", "skeleton 3", [](FactoredForest& f) { f.shapes[2].trees[3].skeleton = 3; });
    row("tree pattern", "shape 2, tree 3", "pattern -1", [](FactoredForest& f) { f.shapes[2].trees[3].pattern = -1; });
    row("tree root", "shape 2, tree 3", "leaf 4, but it grows from leaf 3",
        [](FactoredForest& f) { f.shapes[2].trees[3].rootLeaf = 4; });
    row("tree multiplicity", "shape 0, tree 1", "multiplicity is 0",
        [](FactoredForest& f) { f.shapes[0].trees[1].multiplicity = 0; });
    row("root port", "shape 2, tree 0", "step 0", [](FactoredForest& f) { f.shapes[2].choices[0].headPort = 1; });
    row("root inner tree", "shape 2, tree 0", "tree 4",
        [](FactoredForest& f) { f.shapes[2].choices[0].innerTree = 4; });
    row("GPU inner tree", "shape 0, tree 0, step 1", "tree 1 of node 1",
        [](FactoredForest& f) { f.shapes[0].choices[1].innerTree = 1; });
    row("GPU port", "shape 0, tree 0, step 1", "port 1",
        [](FactoredForest& f) { f.shapes[0].choices[1].headPort = 1; });
    row("GPU tail port", "shape 0, tree 0, step 1", "port 1",
        [](FactoredForest& f) { f.shapes[0].choices[1].tailPort = 1; });
    row("via", "shape 2, tree 0, step 1", "via 1", [](FactoredForest& f) { f.shapes[2].choices[1].via = 1; });
    row("tail port", "shape 2, tree 0, step 1", "port 4",
        [](FactoredForest& f) { f.shapes[2].choices[1].tailPort = 4; });
    row("head port", "shape 2, tree 0, step 1", "port -1",
        [](FactoredForest& f) { f.shapes[2].choices[1].headPort = -1; });
    row("inner tree", "shape 2, tree 0, step 1", "tree 4",
        [](FactoredForest& f) { f.shapes[2].choices[1].innerTree = 4; });
    row("roots disagree", "shape 2, tree 0, step 1", "leaf 1, but tree 0 there grows from leaf 0",
        [](FactoredForest& f) { f.shapes[2].choices[1].headPort = 1; });
    row("instance shape", "instance 3", "shape 3", [](FactoredForest& f) { f.instances[3].shape = 3; });
    row("instance nodes", "instance 3", "3 nodes", [](FactoredForest& f) { f.instances[3].children.push_back(0); });
    row("instance switches", "instance 3", "2 switches", [](FactoredForest& f) { f.instances[3].switches.pop_back(); });
    row("instance switch", "instance 3", "node 999", [](FactoredForest& f) { f.instances[3].switches[0] = 999; });
    row("rank", "instance 0", "rank 12", [](FactoredForest& f) { f.instances[0].children[0] = 12; });
    row("rank twice", "instance 1", "rank 0", [](FactoredForest& f) { f.instances[1].children[0] = 0; });
    row("rank missing", "instances", "rank 2 is missing", [](FactoredForest& f) { f.instances[1].children[0] = 0; });
    row("own part", "instance 2", "instance 2", [](FactoredForest& f) { f.instances[2].children[0] = 2; });
    row("part twice", "instance 2", "instance 0", [](FactoredForest& f) { f.instances[2].children[1] = 0; });
    row("part left out", "instance 1", "no part", [](FactoredForest& f) { f.instances[2].children[1] = 0; });
    row("part of wrong shape", "instance 5", "instance 2 at node 0",
        [](FactoredForest& f) { f.instances[5].children[0] = 2; });
    row("top", "parts", "instance 10", [](FactoredForest& f) { f.top = 10; });
    row("top below", "instance 2", "top and a part", [](FactoredForest& f) { f.top = 2; });
    row("routes multiplied", "instance 0", "routes", [](FactoredForest& f) {
      f.shapes[0].viaSwitches.assign(static_cast<std::size_t>(schedule::kMaxRelays / 2), 0);
      f.shapes[0].viaStart = {0, 0, 0, 0, 0, static_cast<std::int64_t>(f.shapes[0].viaSwitches.size())};
    });
  }

  void faultsAreFound() {
    using Spoil = std::function<void(FactoredForest&)>;
    QFETCH(Spoil, spoil);
    QFETCH(QString, place);
    QFETCH(QString, text);
    const samples::RegularCluster cluster{3, 2, 2};
    FactoredForest forest = cluster.factored();
    QVERIFY(checkStructure(forest, cluster.gpuCount(), cluster.core() + 1).empty());
    spoil(forest);
    const auto findings = checkStructure(forest, cluster.gpuCount(), cluster.core() + 1);
    const bool found = std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) {
      return (place == "instance 0" && text == "routes" ? finding.code == ErrorCode::limit
                                                        : toText(finding.where.element) == place.toStdString()) &&
             finding.text.find(text.toStdString()) != std::string::npos;
    });
    QVERIFY2(found, all(findings).c_str());
  }

  void faultsAreCounted() {
    const samples::RegularCluster cluster{1, 300, 1};
    FactoredForest forest = cluster.factored();
    for (auto& tree : forest.shapes[1].trees) {
      tree.multiplicity = -1;
    }
    const auto findings = checkStructure(forest, cluster.gpuCount(), cluster.core() + 1);
    QCOMPARE(findings.size(), std::size_t{101});
    QVERIFY(findings.back().text.starts_with("200 more"));
  }

  void structureCheckCanBeCancelled() {
    const samples::RegularCluster cluster{1, 3, 2};
    std::stop_source stop;
    stop.request_stop();
    QVERIFY_EXCEPTION_THROWN(
        (void)checkStructure(cluster.factored(), cluster.gpuCount(), 100, {.onReport = {}, .stop = stop.get_token()}),
        CancelledError);
  }
};

QTEST_GUILESS_MAIN(TestFactored)
#include "tst_factored.moc"
