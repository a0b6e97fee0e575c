// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <random>

#include "forestcoll/low_packing.hpp"
#include "forestcoll/transport.hpp"
#include "forestcoll/tree_packing.hpp"

using namespace coppice;
using forestcoll::PackedTree;
using forestcoll::PackingProblem;
using std::int64_t;

namespace {

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

/// Directed graph with unit weights summed over parallel arcs.
struct Graph {
  int nodes = 0;
  std::map<std::pair<int, int>, int64_t> weight;

  void both(int a, int b) {
    if (a != b) {
      weight[{a, b}] = 1;
      weight[{b, a}] = 1;
    }
  }
};

Graph torus(const std::vector<int>& sides) {
  Graph graph;
  graph.nodes = std::accumulate(sides.begin(), sides.end(), 1, std::multiplies<>());
  for (int node = 0; node < graph.nodes; ++node) {
    int stride = 1;
    for (const int side : sides) {
      const int place = node / stride % side;
      graph.both(node, node + ((place + 1) % side - place) * stride);
      stride *= side;
    }
  }
  return graph;
}

Graph hypercube(int dimension) {
  return torus(std::vector<int>(at(dimension), 2));
}

Graph circulant(int nodes, const std::vector<int>& steps) {
  Graph graph;
  graph.nodes = nodes;
  for (int node = 0; node < nodes; ++node) {
    for (const int step : steps) {
      graph.both(node, (node + step) % nodes);
    }
  }
  return graph;
}

Graph complete(int nodes) {
  Graph graph;
  graph.nodes = nodes;
  for (int a = 0; a < nodes; ++a) {
    for (int b = 0; b < a; ++b) {
      graph.both(a, b);
    }
  }
  return graph;
}

/// Every root sends k trees through arcs that are U wide, where U / k is the bound of the in-degree: no slack at any
/// node of least in-degree.
PackingProblem problemOn(const Graph& graph) {
  std::vector<int64_t> in(at(graph.nodes), 0);
  for (const auto& [ends, weight] : graph.weight) {
    in[at(ends.second)] += weight;
  }
  const int64_t least = *std::min_element(in.begin(), in.end());
  const int64_t divisor = std::gcd(least, int64_t{graph.nodes} - 1);
  PackingProblem problem;
  problem.nodeCount = graph.nodes;
  problem.supply.assign(at(graph.nodes), least / divisor);
  for (const auto& [ends, weight] : graph.weight) {
    problem.arcs.push_back({ends.first, ends.second, weight * (graph.nodes - 1) / divisor});
  }
  return problem;
}

struct Heights {
  int most = 0;
  double mean = 0;
};

/// Spanning out-trees, capacities, supplies; nothing of the packing code is used.
QByteArray check(const PackingProblem& problem, const std::vector<PackedTree>& trees, Heights* heights = nullptr) {
  std::vector<int64_t> load(problem.arcs.size(), 0);
  std::vector<int64_t> rooted(problem.supply.size(), 0);
  int64_t count = 0;
  Heights found;
  for (const PackedTree& tree : trees) {
    if (tree.multiplicity < 1 || tree.root < 0 || tree.root >= problem.nodeCount) {
      return "a tree without copies or root";
    }
    std::vector<int> depth(at(problem.nodeCount), -1);
    depth[at(tree.root)] = 0;
    rooted[at(tree.root)] += tree.multiplicity;
    int deepest = 0;
    for (const int arc : tree.arcs) {
      const auto& ends = problem.arcs.at(at(arc));
      if (depth[at(ends.tail)] < 0 || depth[at(ends.head)] >= 0) {
        return "not an out-tree in parents-first order";
      }
      depth[at(ends.head)] = depth[at(ends.tail)] + 1;
      deepest = std::max(deepest, depth[at(ends.head)]);
      load[at(arc)] += tree.multiplicity;
    }
    if (tree.arcs.size() + 1 != at(problem.nodeCount)) {
      return "a tree does not span";
    }
    found.most = std::max(found.most, deepest);
    found.mean += static_cast<double>(deepest) * static_cast<double>(tree.multiplicity);
    count += tree.multiplicity;
  }
  for (std::size_t i = 0; i < load.size(); ++i) {
    if (load[i] > problem.arcs[i].capacity) {
      return "an arc is overloaded";
    }
  }
  found.mean /= static_cast<double>(std::max<int64_t>(count, 1));
  if (heights != nullptr) {
    *heights = found;
  }
  return rooted == problem.supply ? QByteArray() : QByteArray("wrong number of trees at a root");
}

}  // namespace

class TestLowPacking : public QObject {
  Q_OBJECT

private slots:
  void transportAgainstMaxFlow();
  void symmetric_data();
  void symmetric();
  void heightIsRespected();
  void refusals();
  void cancel();
};

void TestLowPacking::transportAgainstMaxFlow() {
  // Random problems small enough to decide by Hall's condition over all sets of bins.
  std::mt19937 random(11);
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  forestcoll::Transport transport;
  int solvable = 0;
  for (int round = 0; round < 20000; ++round) {
    const int bins = static_cast<int>(pick(1, 5));
    const int items = static_cast<int>(pick(1, 9));
    std::vector<int64_t> amount(at(items));
    std::vector<unsigned> allowed(at(items));
    int64_t total = 0;
    for (int i = 0; i < items; ++i) {
      amount[at(i)] = pick(1, round % 2 == 0 ? 3 : 50);
      allowed[at(i)] = static_cast<unsigned>(pick(1, (1 << bins) - 1));
      total += amount[at(i)];
    }
    std::vector<int64_t> room(at(bins));
    for (int64_t& r : room) {
      r = pick(0, 2 * total / bins + 1);
    }
    bool isSolvable = true;
    for (unsigned set = 0; set < 1U << bins; ++set) {
      int64_t need = 0;
      for (int i = 0; i < items; ++i) {
        need += (allowed[at(i)] & ~set) == 0 ? amount[at(i)] : 0;
      }
      for (int b = 0; b < bins; ++b) {
        need -= (set >> b & 1U) != 0 ? room[at(b)] : 0;
      }
      isSolvable = isSolvable && need <= 0;
    }
    transport.start(room);
    for (int i = 0; i < items; ++i) {
      std::vector<int> list;
      for (int b = 0; b < bins; ++b) {
        if ((allowed[at(i)] >> b & 1U) != 0) {
          list.push_back(b);
        }
      }
      transport.addItem(amount[at(i)], list);
    }
    const bool isSolved = transport.solve(static_cast<int>(pick(0, items)));
    QCOMPARE(isSolved, isSolvable);
    std::vector<int64_t> used(at(bins), 0);
    int extraPieces = 0;
    for (int i = 0; i < items; ++i) {
      int64_t placed = 0;
      const auto pieces = transport.pieces(i);
      for (const auto& piece : pieces) {
        QVERIFY((allowed[at(i)] >> piece.bin & 1U) != 0);
        QVERIFY(piece.amount > 0);
        used[at(piece.bin)] += piece.amount;
        placed += piece.amount;
      }
      extraPieces += std::max(0, static_cast<int>(pieces.size()) - 1);
      const auto unplaced = transport.unplaced();
      if (std::find(unplaced.begin(), unplaced.end(), i) == unplaced.end()) {
        QCOMPARE(placed, amount[at(i)]);
      } else {
        QVERIFY(placed < amount[at(i)]);
      }
    }
    QVERIFY(extraPieces <= bins - 1);
    for (int b = 0; b < bins; ++b) {
      QVERIFY(used[at(b)] <= room[at(b)]);
      QCOMPARE(transport.room(b), room[at(b)] - used[at(b)]);
    }
    solvable += isSolvable ? 1 : 0;
  }
  QVERIFY(solvable > 2000 && solvable < 18000);
}

void TestLowPacking::symmetric_data() {
  QTest::addColumn<PackingProblem>("problem");
  QTest::addColumn<int>("diameter");
  const auto row = [](const char* name, const Graph& graph, int diameter) {
    QTest::newRow(name) << problemOn(graph) << diameter;
  };
  row("ring of 3", torus({3}), 1);
  row("ring of 64", torus({64}), 32);
  row("torus 4x4", torus({4, 4}), 4);
  row("torus 5x7", torus({5, 7}), 5);
  row("torus 2x3x4", torus({2, 3, 4}), 4);
  row("torus 16x16", torus({16, 16}), 16);
  row("torus 32x32", torus({32, 32}), 32);
  row("torus 8x8x16", torus({8, 8, 16}), 16);
  row("hypercube 1", hypercube(1), 1);
  row("hypercube 6", hypercube(6), 6);
  row("hypercube 10", hypercube(10), 10);
  row("circulant 21 with 1 and 5", circulant(21, {1, 5}), 4);
  row("circulant 100 with 1 and 10", circulant(100, {1, 10}), 9);
  row("complete 2", complete(2), 1);
  row("complete 40", complete(40), 1);
}

void TestLowPacking::symmetric() {
  QFETCH(PackingProblem, problem);
  QFETCH(int, diameter);
  const auto trees = forestcoll::packLow(problem, {});
  QVERIFY(trees.has_value());
  Heights heights;
  const QByteArray wrong = check(problem, *trees, &heights);
  QVERIFY2(wrong.isEmpty(), wrong);
  QCOMPARE(heights.most, diameter);
  const auto packed = forestcoll::packTrees(problem, {});
  const QByteArray alsoWrong = check(problem, packed, &heights);
  QVERIFY2(alsoWrong.isEmpty(), alsoWrong);
  QCOMPARE(heights.most, diameter);
}

void TestLowPacking::heightIsRespected() {
  const PackingProblem problem = problemOn(torus({6, 6}));
  QVERIFY(!forestcoll::packLow(problem, {}, {.mostHeight = 5}).has_value());
  QVERIFY(forestcoll::packLow(problem, {}, {.mostHeight = 6}).has_value());
}

void TestLowPacking::refusals() {
  PackingProblem apart;  // node 2 is out of reach
  apart.nodeCount = 3;
  apart.arcs = {{0, 1, 9}, {1, 0, 9}};
  apart.supply = {1, 1, 0};
  QVERIFY(!forestcoll::packLow(apart, {}).has_value());
  PackingProblem narrow;  // too little into node 1
  narrow.nodeCount = 2;
  narrow.arcs = {{0, 1, 2}, {1, 0, 9}};
  narrow.supply = {3, 1};
  QVERIFY(!forestcoll::packLow(narrow, {}).has_value());
}

void TestLowPacking::cancel() {
  std::stop_source source;
  source.request_stop();
  Progress progress;
  progress.stop = source.get_token();
  QVERIFY_EXCEPTION_THROWN(forestcoll::packLow(problemOn(torus({8, 8})), progress), CancelledError);
}

QTEST_GUILESS_MAIN(TestLowPacking)
#include "tst_low_packing.moc"
