// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "fabric/fabric.hpp"
#include "lowering/interpreter.hpp"
#include "lowering/lowering.hpp"
#include "schedule/forest.hpp"

using namespace coppice;
using program::Runtime;
using program::StepType;

namespace {

fabric::Fabric complete(int gpus) {
  fabric::Description d;
  d.name = "complete-" + std::to_string(gpus);
  for (int i = 0; i < gpus; ++i) {
    d.nodes.push_back({.id = "g" + std::to_string(i)});
  }
  for (int i = 0; i < gpus; ++i) {
    for (int j = i + 1; j < gpus; ++j) {
      d.links.push_back({.src = d.nodes[i].id, .dst = d.nodes[j].id, .bandwidth = "10"});
    }
  }
  return fabric::Fabric::build(d).value();
}

using Parents = std::vector<int>;  // by rank, -1 at the root

Parents star(int n, int root) {
  Parents parents(n, root);
  parents[root] = -1;
  return parents;
}
Parents chain(int n, int root) {
  Parents parents(n);
  for (int i = 0; i < n; ++i) {
    parents[(root + i) % n] = i == 0 ? -1 : (root + i - 1) % n;
  }
  return parents;
}
Parents binary(int n, int root) {
  Parents parents(n);
  for (int i = 0; i < n; ++i) {
    parents[(root + i) % n] = i == 0 ? -1 : (root + (i - 1) / 2) % n;
  }
  return parents;
}
Parents anyTree(int n, int root, std::mt19937& random) {
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  std::iter_swap(order.begin(), std::find(order.begin(), order.end(), root));
  Parents parents(n, -1);
  // Sometimes deep, sometimes flat.
  const int reach = 1 + static_cast<int>(random() % n);
  for (int i = 1; i < n; ++i) {
    parents[order[i]] = order[std::max(0, i - 1 - static_cast<int>(random() % reach))];
  }
  return parents;
}

struct TreeSpec {
  int root = 0;
  std::int64_t multiplicity = 1;
  Parents parents;
};

schedule::Forest makeForest(const fabric::Fabric& fabric, schedule::Direction direction,
                            const std::vector<TreeSpec>& trees) {
  const int n = fabric.gpuCount();
  schedule::Forest forest;
  forest.direction = direction;
  forest.gpuCount = n;
  forest.treesOfRoot.assign(n, 0);
  for (int a = 0; a < n; ++a) {
    for (int b = 0; b < n; ++b) {
      const std::array<int, 2> route{fabric.gpus()[a], fabric.gpus()[b]};
      forest.paths.add(route);
    }
  }
  for (const TreeSpec& spec : trees) {
    forest.trees.push_back({spec.root, spec.multiplicity, static_cast<std::int64_t>(forest.edges.size())});
    forest.treesOfRoot[spec.root] += spec.multiplicity;
    std::vector<int> queue{spec.root};
    for (std::size_t i = 0; i < queue.size(); ++i) {
      for (int v = 0; v < n; ++v) {
        if (spec.parents[v] == queue[i]) {
          const bool outward = direction == schedule::Direction::out;
          forest.edges.push_back({queue[i], v, outward ? queue[i] * n + v : v * n + queue[i], 0});
          queue.push_back(v);
        }
      }
    }
  }
  forest.scale = Rational(1);
  return forest;
}

schedule::Schedule makeSchedule(const fabric::Fabric& fabric, Collective collective, const std::vector<TreeSpec>& up,
                                const std::vector<TreeSpec>& down, int root = 0) {
  schedule::Schedule s;
  s.collective = collective;
  s.fabricName = fabric.name();
  s.fabricDigest = fabric.digest();
  s.algbw = Rational(100);
  s.bound = s.algbw;
  if (collective == Collective::broadcast || collective == Collective::reduce) {
    s.root = root;
  }
  if (collective != Collective::allgather && collective != Collective::broadcast) {
    s.reduceForest = makeForest(fabric, schedule::Direction::in, up);
  }
  if (collective != Collective::reduceScatter && collective != Collective::reduce) {
    s.broadcastForest = makeForest(fabric, schedule::Direction::out, down);
  }
  return s;
}

const std::vector<Collective> kCollectives{Collective::allgather, Collective::reduceScatter, Collective::allreduce,
                                           Collective::broadcast, Collective::reduce};
const std::vector<Runtime> kRuntimes{Runtime::msccl, Runtime::mscclExecutorNccl, Runtime::rccl};

bool isRooted(Collective c) {
  return c == Collective::broadcast || c == Collective::reduce;
}

/// k trees for every root (or for one), of random shapes and multiplicities.
std::vector<TreeSpec> randomTrees(int n, std::int64_t k, int onlyRoot, std::mt19937& random) {
  std::vector<TreeSpec> trees;
  for (int root = 0; root < n; ++root) {
    if (onlyRoot >= 0 && root != onlyRoot) {
      continue;
    }
    for (std::int64_t left = k; left > 0;) {
      const std::int64_t m = 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(left));
      trees.push_back({root, m, anyTree(n, root, random)});
      left -= m;
    }
  }
  return trees;
}

/// Empty, or what went wrong.
std::string examine(const program::Program& program, Runtime runtime, int root, std::uint64_t seed) {
  if (std::string text = lowering::test::checkLimits(program, runtime); !text.empty()) {
    return text;
  }
  for (const int depth : {1, 2, 8}) {
    for (const int chunksPerMessage : {1, 3, 71}) {
      lowering::test::RunOptions options;
      options.depth = depth;
      options.chunksPerMessage = chunksPerMessage;
      options.seed = seed * 31 + static_cast<std::uint64_t>(depth);
      options.root = root;
      options.checkRaces = chunksPerMessage != 3;
      if (std::string text = lowering::test::run(program, options); !text.empty()) {
        return "depth " + std::to_string(depth) + ", " + std::to_string(chunksPerMessage) +
               " chunks per message: " + text;
      }
    }
  }
  return {};
}

int countSteps(const program::Program& program, StepType type) {
  int count = 0;
  for (const program::RankProgram& rank : program.ranks) {
    for (const program::ThreadBlock& block : rank.threadBlocks) {
      for (const program::Step& step : block.steps) {
        count += step.type == type ? 1 : 0;
      }
    }
  }
  return count;
}

std::string what(const Result<program::Program>& result) {
  return result ? "a program" : describe(result.error());
}

}  // namespace

class LoweringTest : public QObject {
  Q_OBJECT

private slots:
  void shapes_data();
  void shapes();
  void randomForests_data();
  void randomForests();
  void ringForwardsInOneStep();
  void multiplicitiesBecomeCounts();
};

void LoweringTest::shapes_data() {
  QTest::addColumn<int>("shape");
  QTest::addColumn<int>("gpus");
  const char* const names[]{"star", "chain", "binary"};
  for (int shape = 0; shape < 3; ++shape) {
    for (const int gpus : {2, 3, 8}) {
      QTest::addRow("%s-%d", names[shape], gpus) << shape << gpus;
    }
  }
}

void LoweringTest::shapes() {
  QFETCH(int, shape);
  QFETCH(int, gpus);
  const fabric::Fabric fabric = complete(gpus);
  for (const Collective collective : kCollectives) {
    const int root = gpus / 2;
    std::vector<TreeSpec> trees;
    for (int r = 0; r < gpus; ++r) {
      if (!isRooted(collective) || r == root) {
        trees.push_back({r, 1, shape == 0 ? star(gpus, r) : shape == 1 ? chain(gpus, r) : binary(gpus, r)});
      }
    }
    const schedule::Schedule schedule = makeSchedule(fabric, collective, trees, trees, root);
    for (const Runtime runtime : kRuntimes) {
      for (const bool inPlace : {true, false}) {
        lowering::Options options;
        options.runtime = runtime;
        options.inPlace = inPlace;
        const Result<program::Program> program = lowering::lower(fabric, schedule, options);
        QVERIFY2(program.hasValue(), what(program).c_str());
        const std::string wrong = examine(*program, runtime, root, 7);
        const std::string name = std::string(toString(collective)) + " " + std::string(toString(runtime)) +
                                 (inPlace ? " in place: " : " out of place: ");
        QVERIFY2(wrong.empty(), (name + wrong).c_str());
      }
    }
  }
}

void LoweringTest::randomForests_data() {
  QTest::addColumn<int>("seed");
  for (int seed = 1; seed <= 60; ++seed) {
    QTest::addRow("seed-%d", seed) << seed;
  }
}

void LoweringTest::randomForests() {
  QFETCH(int, seed);
  std::mt19937 random(static_cast<unsigned>(seed));
  const int n = 2 + static_cast<int>(random() % 11);
  const fabric::Fabric fabric = complete(n);
  const int root = static_cast<int>(random() % static_cast<unsigned>(n));
  const std::int64_t k = 1 + static_cast<std::int64_t>(random() % (seed % 5 == 0 ? 200 : 12));
  for (const Collective collective : kCollectives) {
    const int only = isRooted(collective) ? root : -1;
    const std::vector<TreeSpec> up = randomTrees(n, k, only, random);
    // Half of the allreduces go down other trees than up, cut into other multiplicities.
    const std::vector<TreeSpec> down = random() % 2 == 0 ? up : randomTrees(n, k * (1 + random() % 2), only, random);
    schedule::Schedule schedule = makeSchedule(fabric, collective, up, down, root);
    schedule.algbw = Rational(static_cast<std::int64_t>(1 + random() % 2000), 3);
    lowering::Options options;
    options.runtime = kRuntimes[random() % 3];
    options.inPlace = random() % 2 == 0;
    options.instances = 1 + static_cast<int>(random() % 2);
    const Result<program::Program> program = lowering::lower(fabric, schedule, options);
    if (!program && program.error().code == ErrorCode::limit) {
      continue;
    }
    QVERIFY2(program.hasValue(), what(program).c_str());
    const std::string wrong = examine(*program, options.runtime, root, static_cast<std::uint64_t>(seed));
    const std::string name = std::string(toString(collective)) + " n " + std::to_string(n) + " k " + std::to_string(k) +
                             " instances " + std::to_string(options.instances) + " " +
                             std::string(toString(options.runtime)) +
                             (options.inPlace ? " in place: " : " out of place: ");
    QVERIFY2(wrong.empty(), (name + wrong).c_str());
  }
}

/// A ring's threadblocks forward: one per rank but where the ring is closed, and one step per chunk and rank.
void LoweringTest::ringForwardsInOneStep() {
  const int n = 8;
  const fabric::Fabric fabric = complete(n);
  std::vector<TreeSpec> trees;
  for (int r = 0; r < n; ++r) {
    trees.push_back({r, 1, chain(n, r)});
  }
  schedule::Schedule schedule = makeSchedule(fabric, Collective::allgather, {}, trees);
  schedule.algbw = Rational(10);
  const program::Program program = lowering::lower(fabric, schedule).value();
  QCOMPARE(countSteps(program, StepType::recvCopySend), n * (n - 2));
  QCOMPARE(countSteps(program, StepType::send), n);
  QCOMPARE(countSteps(program, StepType::recv), n);
  for (const program::RankProgram& rank : program.ranks) {
    QCOMPARE(static_cast<int>(rank.threadBlocks.size()), 1);
  }
  QCOMPARE(program.channels, 1);
  QCOMPARE(program.name, std::string("coppice allgather complete-8 k1"));

  schedule = makeSchedule(fabric, Collective::reduceScatter, trees, {});
  schedule.algbw = Rational(10);
  const program::Program reducing = lowering::lower(fabric, schedule).value();
  QCOMPARE(countSteps(reducing, StepType::recvReduceSend), n * (n - 2));
  QCOMPARE(countSteps(reducing, StepType::recvReduceCopy), n);
}

void LoweringTest::multiplicitiesBecomeCounts() {
  const int n = 4;
  const fabric::Fabric fabric = complete(n);
  std::vector<TreeSpec> trees;
  for (int r = 0; r < n; ++r) {
    trees.push_back({r, 150, star(n, r)});
    trees.push_back({r, 50, chain(n, r)});
  }
  // 150 and 50 have the common divisor 50.
  program::Program program = lowering::lower(fabric, makeSchedule(fabric, Collective::allgather, {}, trees)).value();
  QCOMPARE(program.chunksPerLoop, n * 4);
  trees[0].multiplicity = 151;
  trees[1].multiplicity = 49;
  program = lowering::lower(fabric, makeSchedule(fabric, Collective::allgather, {}, trees)).value();
  QCOMPARE(program.chunksPerLoop, n * 200);
  std::set<int> counts;
  for (const program::ThreadBlock& block : program.ranks[0].threadBlocks) {
    for (const program::Step& step : block.steps) {
      if (step.type == StepType::send && step.src.offset < 200) {
        counts.insert(step.count);
      }
    }
  }
  QCOMPARE(counts, (std::set<int>{49, 50, 51}));
}

QTEST_GUILESS_MAIN(LoweringTest)
#include "tst_lowering.moc"
