// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "base/disjoint_sets.hpp"
#include "symmetry/automorphisms.hpp"
#include "symmetry/fabric_parts.hpp"
#include "symmetry/free_group.hpp"
#include "symmetry/groups.hpp"
#include "symmetry/orbits.hpp"
#include "symmetry/set_orbit.hpp"
#include "symmetry/twins.hpp"

/// Generators and orbits against all permutations of small graphs, and the orbits of known fabrics.
using namespace coppice;
using symmetry::ColouredDigraph;
using symmetry::Permutation;

namespace {

constexpr std::int64_t kWork = std::int64_t{1} << 24;

using Arcs = std::multiset<std::tuple<int, int, int>>;

Arcs arcsUnder(const ColouredDigraph& graph, const Permutation& image) {
  Arcs arcs;
  for (const symmetry::ColouredArc& arc : graph.arcs) {
    arcs.emplace(image[arc.tail], image[arc.head], arc.colour);
  }
  return arcs;
}

Permutation identity(const ColouredDigraph& graph) {
  Permutation image(graph.colourOf.size());
  std::iota(image.begin(), image.end(), 0);
  return image;
}

bool isSymmetry(const ColouredDigraph& graph, const Permutation& image) {
  for (int node = 0; node < graph.nodeCount(); ++node) {
    if (graph.colourOf[image[node]] != graph.colourOf[node]) {
      return false;
    }
  }
  return arcsUnder(graph, image) == arcsUnder(graph, identity(graph));
}

std::vector<int> smallestOf(DisjointSets& sets, int count) {
  std::vector<int> smallest;
  for (int i = 0; i < count; ++i) {
    smallest.push_back(sets.find(i));
  }
  return smallest;
}

/// By node and by arc, from all permutations; equal parallel arcs count as one.
symmetry::Orbits orbitsByTrying(const ColouredDigraph& graph) {
  DisjointSets nodes(graph.colourOf.size());
  DisjointSets arcs(graph.arcs.size());
  Permutation image = identity(graph);
  do {
    if (!isSymmetry(graph, image)) {
      continue;
    }
    for (int node = 0; node < graph.nodeCount(); ++node) {
      nodes.join(node, image[node]);
    }
    for (std::size_t a = 0; a < graph.arcs.size(); ++a) {
      for (std::size_t b = 0; b < graph.arcs.size(); ++b) {
        const auto& from = graph.arcs[a];
        const auto& to = graph.arcs[b];
        if (image[from.tail] == to.tail && image[from.head] == to.head && from.colour == to.colour) {
          arcs.join(static_cast<int>(a), static_cast<int>(b));
        }
      }
    }
  } while (std::next_permutation(image.begin(), image.end()));
  return {smallestOf(nodes, graph.nodeCount()), smallestOf(arcs, static_cast<int>(graph.arcs.size()))};
}

ColouredDigraph randomGraph(unsigned seed, int maxNodes) {
  std::mt19937 random(seed);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  ColouredDigraph graph;
  const int colours = pick(1, 2);
  for (int node = pick(2, maxNodes); node > 0; --node) {
    graph.colourOf.push_back(pick(1, colours));
  }
  const bool bothWays = pick(0, 2) > 0;
  for (int i = pick(0, 2 * graph.nodeCount()); i > 0; --i) {
    const symmetry::ColouredArc arc{pick(0, graph.nodeCount() - 1), pick(0, graph.nodeCount() - 1), pick(1, colours)};
    graph.arcs.push_back(arc);
    if (bothWays) {
      graph.arcs.push_back({arc.head, arc.tail, arc.colour});
    }
  }
  return graph;
}

ColouredDigraph withoutParallelArcs(ColouredDigraph graph) {
  std::set<std::pair<int, int>> known;
  std::erase_if(graph.arcs,
                [&](const symmetry::ColouredArc& arc) { return !known.emplace(arc.tail, arc.head).second; });
  return graph;
}

std::vector<bool> imageOf(const std::vector<bool>& set, const Permutation& permutation) {
  std::vector<bool> image(set.size());
  for (std::size_t node = 0; node < set.size(); ++node) {
    image[permutation[node]] = set[node];
  }
  return image;
}

std::set<std::vector<bool>> imagesByTrying(const ColouredDigraph& graph, const std::vector<bool>& set) {
  std::set<std::vector<bool>> images;
  Permutation permutation = identity(graph);
  do {
    if (isSymmetry(graph, permutation)) {
      images.insert(imageOf(set, permutation));
    }
  } while (std::next_permutation(permutation.begin(), permutation.end()));
  return images;
}

/// `copies` boxes of GPUs on a switch each, all GPUs on one switch.
ColouredDigraph boxesOn(int copies, int gpus) {
  ColouredDigraph graph;
  graph.colourOf.push_back(1);
  const auto link = [&](int a, int b, int colour) {
    graph.arcs.push_back({a, b, colour});
    graph.arcs.push_back({b, a, colour});
  };
  for (int box = 0; box < copies; ++box) {
    const int hub = graph.nodeCount();
    graph.colourOf.push_back(1);
    for (int gpu = 0; gpu < gpus; ++gpu) {
      graph.colourOf.push_back(0);
      link(hub, hub + 1 + gpu, 2);
      link(0, hub + 1 + gpu, 3);
    }
  }
  return graph;
}

int distinct(const std::vector<int>& values) {
  return static_cast<int>(std::set<int>(values.begin(), values.end()).size());
}

}  // namespace

class TestSymmetry : public QObject {
  Q_OBJECT

private slots:
  void againstAllPermutations();
  void twins();
  void contractedParts();
  void limits();
  void threads();
  void layers();
  void freeGroups_data();
  void freeGroups();
  void lifted();
  void imagesOfSets();
};

void TestSymmetry::againstAllPermutations() {
  int moved = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    const ColouredDigraph graph = randomGraph(seed, 6);
    const QByteArray what = QByteArray::number(seed);
    for (const Permutation& generator : symmetry::generators(graph, kWork)) {
      QVERIFY2(isSymmetry(graph, generator), what.constData());
      ++moved;
    }
    const symmetry::Orbits found = symmetry::orbitsOf(graph, {}, kWork);
    const symmetry::Orbits wanted = orbitsByTrying(graph);
    QVERIFY2(found.ofNode == wanted.ofNode, what.constData());
    QVERIFY2(found.ofArc == wanted.ofArc, what.constData());
  }
  QVERIFY(moved > 100);
}

/// Twins that turn, and symmetries of the graph with one of each, have the orbits of all symmetries.
void TestSymmetry::twins() {
  std::size_t classes = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    const ColouredDigraph graph = randomGraph(seed, 7);
    const QByteArray what = QByteArray::number(seed);
    const symmetry::Twins twins = symmetry::twinsOf(graph);
    classes += twins.classes.size();
    std::vector<Permutation> images;
    for (const std::vector<int>& nodes : twins.classes) {
      images.push_back(symmetry::turned(twins, nodes.size(), graph.nodeCount()));
      images.push_back(symmetry::turned(twins, 2, graph.nodeCount()));
    }
    for (const Permutation& image : symmetry::generators(twins.contracted, kWork)) {
      images.push_back(symmetry::expanded(twins, image, graph.nodeCount()));
    }
    DisjointSets nodes(graph.colourOf.size());
    for (const Permutation& image : images) {
      QVERIFY2(isSymmetry(graph, image), what.constData());
      for (int node = 0; node < graph.nodeCount(); ++node) {
        nodes.join(node, image[node]);
      }
    }
    QVERIFY2(smallestOf(nodes, graph.nodeCount()) == orbitsByTrying(graph).ofNode, what.constData());
  }
  QVERIFY(classes > 100);
}

/// Images of random sets and orbits of what keeps them, against all permutations.
void TestSymmetry::imagesOfSets() {
  std::size_t most = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    const ColouredDigraph graph = withoutParallelArcs(randomGraph(seed, 6));
    std::vector<bool> set;
    for (int node = 0; node < graph.nodeCount(); ++node) {
      set.push_back((seed >> node & 1U) != 0);
    }
    const symmetry::Orbits all = symmetry::orbitsOf(graph, {}, kWork, {}, true);
    const auto found = symmetry::SetOrbits(graph, all.generators).of(set, 1000);
    QVERIFY(found);
    std::set<std::vector<bool>> images;
    for (const Permutation& image : found->images) {
      QVERIFY(isSymmetry(graph, image));
      images.insert(imageOf(set, image));
    }
    QCOMPARE(images.size(), found->images.size());
    QCOMPARE(images, imagesByTrying(graph, set));
    // What keeps the set keeps its nodes apart from the others.
    ColouredDigraph marked = graph;
    for (int node = 0; node < graph.nodeCount(); ++node) {
      marked.colourOf[node] += set[node] ? 10 : 0;
    }
    const symmetry::Orbits kept = orbitsByTrying(marked);
    QCOMPARE(found->ofNode, kept.ofNode);
    QCOMPARE(found->ofArc, kept.ofArc);
    QVERIFY(images.size() == 1 || !symmetry::SetOrbits(graph, all.generators).of(set, images.size() - 1));
    most = std::max(most, images.size());
  }
  QVERIFY2(most >= 6, QByteArray::number(static_cast<int>(most)).constData());
}

/// Any lists of candidates give orbits that are inside the real ones, in any order and however they overlap.
void TestSymmetry::contractedParts() {
  int joined = 0;
  for (unsigned seed = 0; seed < 600; ++seed) {
    const ColouredDigraph graph = randomGraph(seed + 1000, 7);
    std::mt19937 random(seed);
    std::vector<symmetry::Parts> candidates;
    for (int list = 0; list < 3; ++list) {
      const int parts = std::uniform_int_distribution<int>(1, graph.nodeCount())(random);
      candidates.emplace_back();
      for (int node = 0; node < graph.nodeCount(); ++node) {
        candidates.back().push_back(std::uniform_int_distribution<int>(-1, parts)(random));
      }
    }
    candidates.emplace_back(identity(graph));
    const symmetry::Orbits found = symmetry::orbitsOf(graph, candidates, kWork);
    const symmetry::Orbits wanted = orbitsByTrying(graph);
    const QByteArray what = QByteArray::number(seed);
    for (int node = 0; node < graph.nodeCount(); ++node) {
      QVERIFY2(wanted.ofNode[found.ofNode[node]] == wanted.ofNode[node], what.constData());
      joined += found.ofNode[node] != node ? 1 : 0;
    }
    for (std::size_t arc = 0; arc < graph.arcs.size(); ++arc) {
      QVERIFY2(wanted.ofArc[found.ofArc[arc]] == wanted.ofArc[arc], what.constData());
    }
  }
  QVERIFY(joined > 200);
}

/// What is found within a limit is true; contracted first, large graphs need little.
void TestSymmetry::limits() {
  const ColouredDigraph graph = boxesOn(400, 8);
  const std::vector<Permutation> some = symmetry::generators(graph, 100'000);
  for (const Permutation& each : some) {
    QVERIFY(isSymmetry(graph, each));
  }
  QVERIFY(some.size() < 1000);
  std::vector<bool> isGpu;
  for (const int colour : graph.colourOf) {
    isGpu.push_back(colour == 0);
  }
  std::vector<std::string> names{""};
  for (int node = 1; node < graph.nodeCount(); ++node) {
    names.push_back("box" + std::to_string((node - 1) / 9));
  }
  const std::vector<std::string_view> boxOf(names.begin(), names.end());
  const symmetry::Orbits orbits = symmetry::orbitsOf(graph, symmetry::candidateParts(graph, boxOf, isGpu), 100'000);
  QCOMPARE(distinct(orbits.ofNode), 3);
  QCOMPARE(distinct(orbits.ofArc), 4);
  std::stop_source stop;
  stop.request_stop();
  QVERIFY_THROWS_EXCEPTION(CancelledError, (void)symmetry::generators(graph, kWork, {.stop = stop.get_token()}));
}

void TestSymmetry::threads() {
  const std::vector<Permutation> wanted = symmetry::generators(boxesOn(6, 4), kWork);
  QVERIFY(wanted.size() > 6);
  std::vector<int> equal(4, 0);
  {
    std::vector<std::jthread> workers;
    for (int& count : equal) {
      workers.emplace_back([&] {
        for (int i = 0; i < 20; ++i) {
          count += symmetry::generators(boxesOn(6, 4), kWork) == wanted ? 1 : 0;
        }
      });
    }
  }
  QCOMPARE(equal, std::vector<int>(4, 20));
}

/// Pods of two leaves under a spine, without names of boxes.
void TestSymmetry::layers() {
  constexpr int kPods = 300;
  ColouredDigraph graph;
  std::vector<bool> isGpu;
  const auto add = [&](bool gpu) {
    graph.colourOf.push_back(gpu ? 0 : 1);
    isGpu.push_back(gpu);
    return graph.nodeCount() - 1;
  };
  const auto link = [&](int a, int b) {
    graph.arcs.push_back({a, b, 0});
    graph.arcs.push_back({b, a, 0});
  };
  const int spine = add(false);
  for (int pod = 0; pod < kPods; ++pod) {
    const int gpus[] = {add(true), add(true)};
    for (int leaf = 0; leaf < 2; ++leaf) {
      const int at = add(false);
      link(at, spine);
      for (const int gpu : gpus) {
        link(gpu, at);
      }
    }
  }
  const std::vector<std::string_view> noBox(graph.colourOf.size());
  const symmetry::Orbits orbits = symmetry::orbitsOf(graph, symmetry::candidateParts(graph, noBox, isGpu), 10'000);
  QCOMPARE(distinct(orbits.ofNode), 3);
  QCOMPARE(distinct(orbits.ofArc), 4);
}

/// Boxes on one switch, and a torus: every GPU goes to every other in exactly one way, whatever the numbering.
void TestSymmetry::freeGroups_data() {
  QTest::addColumn<int>("boxes");
  QTest::addColumn<int>("gpus");
  QTest::newRow("boxes") << 6 << 4;
  QTest::newRow("more boxes") << 12 << 8;
  QTest::newRow("prime numbers") << 7 << 3;
  QTest::newRow("one box") << 1 << 5;
}

void TestSymmetry::freeGroups() {
  QFETCH(int, boxes);
  QFETCH(int, gpus);
  const ColouredDigraph plain = boxesOn(boxes, gpus);
  Permutation shuffled = identity(plain);
  std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(3));
  ColouredDigraph graph;
  graph.colourOf.resize(shuffled.size());
  std::vector<int> points;
  for (int node = 0; node < plain.nodeCount(); ++node) {
    graph.colourOf[shuffled[node]] = plain.colourOf[node];
    if (plain.colourOf[node] == 0) {
      points.push_back(shuffled[node]);
    }
  }
  for (const symmetry::ColouredArc& arc : plain.arcs) {
    graph.arcs.push_back({shuffled[arc.tail], shuffled[arc.head], arc.colour});
  }
  const auto groups = symmetry::freeGroups(symmetry::generators(graph, kWork), points, 3);
  QVERIFY(!groups.empty());
  const auto& generators = groups.front();
  const auto elements = symmetry::closure(generators, points.size());
  QVERIFY(elements.has_value());
  QCOMPARE(elements->size(), points.size());
  std::set<int> images;
  for (const Permutation& element : *elements) {
    QVERIFY(isSymmetry(graph, element));
    images.insert(element[points.front()]);
  }
  QCOMPARE(images, std::set<int>(points.begin(), points.end()));
  QVERIFY(!symmetry::closure(generators, points.size() - 1));
}

/// A shift of the GPUs takes the switches along; what is not a symmetry is refused.
void TestSymmetry::lifted() {
  const ColouredDigraph graph = boxesOn(3, 2);
  const std::vector<int> gpus{2, 3, 5, 6, 8, 9};
  symmetry::Lifting lifting(graph, gpus);
  const auto shifted = lifting.find(std::vector<int>{5, 6, 8, 9, 2, 3});
  QVERIFY(shifted.has_value());
  QCOMPARE(*shifted, (Permutation{0, 4, 5, 6, 7, 8, 9, 1, 2, 3}));
  QVERIFY(lifting.find(std::vector<int>{3, 2, 5, 6, 8, 9}).has_value());
  QVERIFY(!lifting.find(std::vector<int>{3, 5, 6, 8, 9, 2}));
  QVERIFY(!lifting.find(std::vector<int>{2, 2, 5, 6, 8, 9}));
}

QTEST_APPLESS_MAIN(TestSymmetry)
#include "tst_symmetry.moc"
