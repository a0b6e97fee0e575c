// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <tuple>

#include "fabric/fabric.hpp"
#include "lowering/interpreter.hpp"
#include "lowering/lowering.hpp"
#include "schedule/forest.hpp"
#include "support/overlapped_star.hpp"
#include "verify/program_verifier.hpp"

using namespace coppice;
using program::Runtime;
using program::StepType;

namespace {

fabric::Fabric complete(int gpus, const std::string& name = "complete") {
  fabric::Description d;
  d.name = name + "-" + std::to_string(gpus);
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
  forest.scale = InverseBandwidth(1);
  return forest;
}

schedule::Schedule makeSchedule(const fabric::Fabric& fabric, Collective collective, const std::vector<TreeSpec>& up,
                                const std::vector<TreeSpec>& down, int root = 0) {
  schedule::Schedule s;
  s.collective = collective;
  s.fabricName = fabric.name();
  s.fabricDigest = fabric.digest();
  s.algbw = Bandwidth(100);
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

/// Empty, or what went wrong. `root` of the rooted collectives, else -1.
std::string examine(const program::Program& program, Runtime runtime, int root, std::uint64_t seed) {
  if (std::string text = lowering::test::checkLimits(program, runtime); !text.empty()) {
    return text;
  }
  const int depth = program::connectionDepth(program.protocol);
  for (const int chunksPerMessage : {1, 3, 71}) {
    lowering::test::RunOptions options;
    options.depth = chunksPerMessage == 3 ? 8 : depth;
    options.chunksPerMessage = chunksPerMessage;
    options.seed = seed * 31 + static_cast<std::uint64_t>(chunksPerMessage);
    options.root = root;
    options.checkRaces = chunksPerMessage == 1;
    if (std::string text = lowering::test::run(program, options); !text.empty()) {
      return std::to_string(chunksPerMessage) + " chunks per message: " + text;
    }
  }
  verify::ProgramCheckOptions options;
  options.runtime = runtime;
  options.root = root;
  const Result<verify::ProgramVerdict> verdict = verify::verifyProgram(program, options);
  if (!verdict || !verdict->ok || !verdict->findings.empty()) {
    return "verifier: " + (!verdict                    ? describe(verdict.error())
                           : verdict->findings.empty() ? std::string("no")
                                                       : describe(verdict->findings.front()));
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

/// Steps that say to serve a tree of which they exchange no edge, and edges of trees that no step serves. Empty: none.
std::string wrongOrigin(const program::Program& program, const lowering::StepOrigins& origins,
                        const schedule::Schedule& schedule) {
  using Edge = std::tuple<bool, std::int32_t, int, int>;  // of the reduce forest, tree, sender, receiver
  std::set<Edge> edges;
  for (const bool isReduce : {true, false}) {
    const auto& forest = isReduce ? schedule.reduceForest : schedule.broadcastForest;
    for (std::size_t tree = 0; forest && tree < forest->trees.size(); ++tree) {
      for (const schedule::TreeEdge& edge : forest->edgesOf(forest->trees[tree])) {
        edges.insert({isReduce, static_cast<std::int32_t>(tree), isReduce ? edge.child : edge.parent,
                      isReduce ? edge.parent : edge.child});
      }
    }
  }
  std::set<Edge> sent;
  std::set<Edge> taken;
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
    const auto& blocks = program.ranks[rank].threadBlocks;
    for (std::size_t block = 0; block < blocks.size(); ++block) {
      for (std::size_t at = 0; at < blocks[block].steps.size(); ++at) {
        const StepType type = blocks[block].steps[at].type;
        const lowering::StepOrigin& origin = origins.at(rank).at(block).at(at);
        const auto ofTrees = [&](int from, int to) {
          std::vector<Edge> own;
          for (const Edge& edge :
               {Edge{true, origin.reduceTree, from, to}, Edge{false, origin.broadcastTree, from, to}}) {
            if (edges.count(edge) != 0) {
              own.push_back(edge);
            }
          }
          return own;
        };
        const int self = static_cast<int>(rank);
        for (const auto& [exchanges, from, to, into] :
             {std::tuple(sends(type), self, blocks[block].sendPeer, &sent),
              std::tuple(receives(type), blocks[block].recvPeer, self, &taken)}) {
          const std::vector<Edge> own = exchanges ? ofTrees(from, to) : std::vector<Edge>();
          if (exchanges && own.empty()) {
            return "rank " + std::to_string(rank) + ", threadblock " + std::to_string(block) + ", step " +
                   std::to_string(at) + " serves no edge of its tree";
          }
          into->insert(own.begin(), own.end());
        }
      }
    }
  }
  return sent == edges && taken == edges ? "" : "an edge of a tree is served by no step";
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
  void busyPairsGetChannels();
  void manyTreesKeepTheStepLimit();
  void instancesAreCopies();
  void planesKeepTheirParity();
  void scratchBoundsTheWindow();
  void errors_data();
  void errors();
  void limits_data();
  void limits();
  void multiprocessors();
  void cancels();
  void overlappedHalves();
  void neededSwitches();
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
        const std::string wrong = examine(*program, runtime, isRooted(collective) ? root : -1, 7);
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
    schedule.algbw = Bandwidth(static_cast<std::int64_t>(1 + random() % 2000), 3);
    lowering::Options options;
    options.runtime = kRuntimes[random() % 3];
    options.inPlace = random() % 2 == 0;
    options.instances = 1 + static_cast<int>(random() % 2);
    options.protocol = random() % 3 == 0 ? program::Protocol::ll : program::Protocol::simple;
    const Result<program::Program> program = lowering::lower(fabric, schedule, options);
    if (!program && program.error().code == ErrorCode::limit) {
      continue;
    }
    QVERIFY2(program.hasValue(), what(program).c_str());
    lowering::StepOrigins origins;
    QVERIFY(lowering::lower(fabric, schedule, options, {}, &origins).value() == *program);
    const std::string astray = wrongOrigin(*program, origins, schedule);
    QVERIFY2(astray.empty(), astray.c_str());
    const std::string wrong = examine(*program, options.runtime, only, static_cast<std::uint64_t>(seed));
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
  schedule.algbw = Bandwidth(10);
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
  schedule.algbw = Bandwidth(10);
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

void LoweringTest::busyPairsGetChannels() {
  const int n = 4;
  const fabric::Fabric fabric = complete(n);
  std::vector<TreeSpec> trees;
  for (int r = 0; r < n; ++r) {
    trees.push_back({r, 1, star(n, r)});
    trees.push_back({r, 1, chain(n, r)});
    trees.push_back({r, 1, binary(n, r)});
  }
  schedule::Schedule schedule = makeSchedule(fabric, Collective::allgather, {}, trees);
  schedule.algbw = Bandwidth(1);
  QCOMPARE(lowering::lower(fabric, schedule).value().channels, 1);
  schedule.algbw = Bandwidth(12 * 24);  // every tree needs a threadblock's full rate
  const program::Program wide = lowering::lower(fabric, schedule).value();
  QVERIFY(wide.channels > 1);
  for (const program::RankProgram& rank : wide.ranks) {
    for (const program::ThreadBlock& block : rank.threadBlocks) {
      QCOMPARE(static_cast<int>(block.steps.size()), 1);
    }
  }
}

/// 300 trees between two ranks: a threadblock of msccl runs 256 steps, one of the executor 64.
void LoweringTest::manyTreesKeepTheStepLimit() {
  const fabric::Fabric fabric = complete(2);
  std::vector<TreeSpec> trees;
  for (int r = 0; r < 2; ++r) {
    for (int t = 0; t < 300; ++t) {
      trees.push_back({r, 1 + t % 3, star(2, r)});
    }
  }
  for (const Runtime runtime : kRuntimes) {
    for (const Collective collective : {Collective::allgather, Collective::allreduce}) {
      schedule::Schedule schedule = makeSchedule(fabric, collective, trees, trees);
      schedule.algbw = Bandwidth(1);
      lowering::Options options;
      options.runtime = runtime;
      const Result<program::Program> program = lowering::lower(fabric, schedule, options);
      QVERIFY2(program.hasValue(), what(program).c_str());
      const std::string wrong = examine(*program, runtime, -1, 3);
      QVERIFY2(wrong.empty(), wrong.c_str());
    }
  }
}

void LoweringTest::instancesAreCopies() {
  const int n = 4;
  const fabric::Fabric fabric = complete(n);
  std::vector<TreeSpec> trees;
  for (int r = 0; r < n; ++r) {
    trees.push_back({r, 1, binary(n, r)});
  }
  schedule::Schedule schedule = makeSchedule(fabric, Collective::reduceScatter, trees, {});
  schedule.algbw = Bandwidth(1);
  lowering::Options options;
  options.inPlace = false;
  const program::Program one = lowering::lower(fabric, schedule, options).value();
  options.instances = 3;
  const program::Program three = lowering::lower(fabric, schedule, options).value();
  QCOMPARE(three.chunksPerLoop, 3 * one.chunksPerLoop);
  QCOMPARE(three.channels, 3 * one.channels);
  for (int rank = 0; rank < n; ++rank) {
    QCOMPARE(three.ranks[rank].threadBlocks.size(), 3 * one.ranks[rank].threadBlocks.size());
  }
  const std::string wrong = examine(three, options.runtime, -1, 11);
  QVERIFY2(wrong.empty(), wrong.c_str());
}

/// Two boxes of two GPUs with a NIC each on planes "p0" and "p1"; one tree edge per plane and direction.
void LoweringTest::planesKeepTheirParity() {
  fabric::Description d;
  d.name = "planes";
  for (const char* const box : {"a", "b"}) {
    for (const char* const i : {"0", "1"}) {
      const std::string gpu = std::string(box) + "g" + i;
      const std::string nic = std::string(box) + "n" + i;
      d.nodes.push_back({.id = gpu, .box = box});
      d.nodes.push_back({.id = nic, .kind = "nic", .box = box});
      d.links.push_back({.src = gpu, .dst = nic, .bandwidth = "25"});
      d.links.push_back({.src = nic, .dst = std::string("p") + i, .bandwidth = "25"});
    }
    d.links.push_back({.src = std::string(box) + "g0", .dst = std::string(box) + "g1", .bandwidth = "100"});
  }
  d.nodes.push_back({.id = "p0", .kind = "switch"});
  d.nodes.push_back({.id = "p1", .kind = "switch"});
  const fabric::Fabric fabric = fabric::Fabric::build(d).value();
  const auto node = [&](const std::string& id) { return *fabric.find(id); };
  // Ranks: ag0 ag1 bg0 bg1. Every tree crosses on both planes.
  schedule::Forest forest;
  forest.gpuCount = 4;
  forest.treesOfRoot.assign(4, 1);
  forest.scale = InverseBandwidth(1);
  const auto route = [&](std::vector<std::string> ids) {
    std::vector<fabric::NodeIndex> nodes;
    for (const std::string& id : ids) {
      nodes.push_back(node(id));
    }
    return forest.paths.add(nodes);
  };
  const std::vector<std::string> gpus{"ag0", "ag1", "bg0", "bg1"};
  for (int root = 0; root < 4; ++root) {
    const int twin = root ^ 1;  // in the same box
    const int far = root ^ 2;   // on the same plane
    const int farTwin = root ^ 3;
    const auto cross = [&](int from, int to) {
      const std::string plane = std::to_string(from % 2);
      const std::string out = from < 2 ? "a" : "b";
      const std::string in = to < 2 ? "a" : "b";
      return route({gpus[from], out + "n" + plane, "p" + plane, in + "n" + plane, gpus[to]});
    };
    forest.trees.push_back({root, 1, static_cast<std::int64_t>(forest.edges.size())});
    forest.edges.push_back({root, twin, route({gpus[root], gpus[twin]}), 0});
    forest.edges.push_back({root, far, cross(root, far), 0});
    forest.edges.push_back({twin, farTwin, cross(twin, farTwin), 0});
  }
  schedule::Schedule schedule;
  schedule.collective = Collective::allgather;
  schedule.fabricDigest = fabric.digest();
  schedule.algbw = Bandwidth(50);
  schedule.broadcastForest = forest;
  lowering::Options options;
  options.channels = lowering::ChannelPolicy::nicPlanes;
  for (const int instances : {1, 2}) {
    options.instances = instances;
    const program::Program program = lowering::lower(fabric, schedule, options).value();
    int crossing = 0;
    for (int rank = 0; rank < 4; ++rank) {
      for (const program::ThreadBlock& block : program.ranks[rank].threadBlocks) {
        for (const int peer : {block.sendPeer, block.recvPeer}) {
          if (peer >= 0 && peer / 2 != rank / 2) {
            QCOMPARE(block.channel % 2, rank % 2);
            ++crossing;
          }
        }
      }
    }
    QVERIFY(crossing >= 8 * instances);
    const std::string wrong = examine(program, options.runtime, -1, 5);
    QVERIFY2(wrong.empty(), wrong.c_str());
  }
}

/// MSCCL reserves scratch for the largest size when it starts.
void LoweringTest::scratchBoundsTheWindow() {
  const int n = 4;
  const fabric::Fabric fabric = complete(n);
  std::vector<TreeSpec> trees;
  for (int r = 0; r < n; ++r) {
    trees.push_back({r, 1, binary(n, r)});
  }
  const schedule::Schedule schedule = makeSchedule(fabric, Collective::reduceScatter, trees, {});
  lowering::Options options;
  options.inPlace = false;
  const program::Program program = lowering::lower(fabric, schedule, options).value();
  int scratch = 0;
  for (const program::RankProgram& rank : program.ranks) {
    scratch = std::max(scratch, rank.scratchChunks);
  }
  QVERIFY(scratch > 0);
  QVERIFY(program.maxBytes / program.chunksPerLoop * scratch <= std::int64_t{1} << 30);
  QVERIFY(program.maxBytes >= std::int64_t{1} << 30);
  options.maxBytes = (std::int64_t{1} << 40) - 1;
  QCOMPARE(lowering::lower(fabric, schedule, options).error().code, ErrorCode::limit);
  options.maxBytes = std::int64_t{1} << 20;
  QCOMPARE(lowering::lower(fabric, schedule, options).value().maxBytes, std::int64_t{1} << 20);
  options.runtime = Runtime::mscclExecutorNccl;
  options.maxBytes = lowering::kDefaultMaxBytes;
  QCOMPARE(lowering::lower(fabric, schedule, options).value().maxBytes, lowering::kDefaultMaxBytes);
}

void LoweringTest::errors_data() {
  QTest::addColumn<QString>("fault");
  QTest::addColumn<QString>("message");
  for (const auto& [fault, message] :
       std::vector<std::pair<const char*, const char*>>{{"digest", "another fabric"},
                                                        {"no forest", "needs a forest of out-trees"},
                                                        {"direction", "needs a forest of out-trees"},
                                                        {"gpu count", "is for 5 GPUs, the fabric has 4"},
                                                        {"second parent", "out-tree 0 is not a spanning tree"},
                                                        {"cycle", "reaches 1 of 4 ranks"},
                                                        {"bad rank", "out-tree 0 is not a spanning tree"},
                                                        {"missing edges", "lacks edges"},
                                                        {"bad path", "which does not exist"},
                                                        {"wrong route", "does not join these two ranks"},
                                                        {"multiplicity", "multiplicity 0"},
                                                        {"tree sum", "trees instead of"},
                                                        {"amounts", "equal slice"},
                                                        {"overflow", "exact integer range"},
                                                        {"root", "must all have the schedule's root"},
                                                        {"halves", "different shares"},
                                                        {"instances", "instances must be 1 to 32"},
                                                        {"window", "the size window"},
                                                        {"name", "the program's name"}}) {
    QTest::newRow(fault) << fault << message;
  }
}

void LoweringTest::errors() {
  QFETCH(QString, fault);
  QFETCH(QString, message);
  const int n = 4;
  const fabric::Fabric fabric = complete(n);
  std::vector<TreeSpec> trees;
  for (int r = 0; r < n; ++r) {
    trees.push_back({r, 1, binary(n, r)});
  }
  schedule::Schedule schedule = makeSchedule(fabric, Collective::allgather, {}, trees);
  schedule::Forest& forest = *schedule.broadcastForest;
  lowering::Options options;
  if (fault == "digest") {
    schedule.fabricDigest = "0123";
  } else if (fault == "no forest") {
    schedule.broadcastForest.reset();
  } else if (fault == "direction") {
    forest.direction = schedule::Direction::in;
  } else if (fault == "gpu count") {
    forest.gpuCount = 5;
  } else if (fault == "second parent") {
    forest.edges[1].child = forest.edges[0].child;
  } else if (fault == "cycle") {
    // 1 - 2 - 3 - 1 beside root 0.
    for (int e = 0; e < 3; ++e) {
      const int parent = 1 + e;
      const int child = 1 + (e + 1) % 3;
      forest.edges[e] = {parent, child, parent * n + child, 0};
    }
  } else if (fault == "bad rank") {
    forest.edges[0].child = 1'000'000'000;
  } else if (fault == "missing edges") {
    forest.trees.back().firstEdge = std::numeric_limits<std::int64_t>::max() - 1;
  } else if (fault == "bad path") {
    forest.edges[0].path = -7;
  } else if (fault == "wrong route") {
    forest.edges[0].path = forest.edges[1].path;
  } else if (fault == "multiplicity") {
    forest.trees[0].multiplicity = 0;
  } else if (fault == "tree sum") {
    forest.treesOfRoot[2] = 3;
  } else if (fault == "amounts") {
    forest.trees[1].multiplicity = forest.treesOfRoot[1] = 2;
  } else if (fault == "overflow") {
    for (int r = 0; r < n; ++r) {
      forest.trees[r].multiplicity = forest.treesOfRoot[r] = std::numeric_limits<std::int64_t>::max();
    }
  } else if (fault == "root") {
    schedule.collective = Collective::broadcast;
    schedule.root = 1;
  } else if (fault == "halves") {
    schedule = makeSchedule(fabric, Collective::allreduce, {{0, 1, star(n, 0)}}, {{1, 1, star(n, 1)}});
  } else if (fault == "instances") {
    options.instances = 0;
  } else if (fault == "window") {
    options.minBytes = options.maxBytes = 4096;
  } else if (fault == "name") {
    options.name = "a \"quoted\" name";
  }
  const Result<program::Program> result = lowering::lower(fabric, schedule, options);
  QVERIFY(!result.hasValue());
  QVERIFY2(result.error().message.find(message.toStdString()) != std::string::npos, what(result).c_str());
}

void LoweringTest::limits_data() {
  QTest::addColumn<int>("gpus");
  QTest::addColumn<int>("treesPerRoot");
  QTest::addColumn<int>("multiplicity");
  QTest::addColumn<int>("instances");
  QTest::addColumn<QString>("message");
  QTest::addColumn<QString>("fix");
  QTest::newRow("threadblocks") << 128 << 1 << 1 << 1
                                << "needs 127 threadblocks, each of which sends to one GPU and receives from one; "
                                   "msccl runs at most 108 at once (19 too many)"
                                << "fewer GPUs";
  QTest::newRow("threadblocks of instances") << 16 << 1 << 1 << 8
                                             << "rank 0 needs 120 threadblocks for 8 instances, each of which sends "
                                                "to one GPU and receives from one; msccl runs at most 108 at once (12 "
                                                "too many)"
                                             << "fewer instances";
  QTest::newRow("chunks") << 4 << 2 << 20'000 << 1 << "needs 160004 chunks, but msccl addresses at most 32768"
                          << "smaller k";
  QTest::newRow("XML elements") << 3 << 2100 << 1 << 1 << "XML elements"
                                << "smaller k";
  QTest::newRow("planes") << 3 << 1 << 1 << 20 << "20 instances need two channels each, and msccl has 32"
                          << "fewer instances";
}

void LoweringTest::limits() {
  QFETCH(int, gpus);
  QFETCH(int, treesPerRoot);
  QFETCH(int, multiplicity);
  QFETCH(int, instances);
  QFETCH(QString, message);
  QFETCH(QString, fix);
  const fabric::Fabric fabric = complete(gpus);
  std::vector<TreeSpec> trees;
  for (int r = 0; r < gpus; ++r) {
    for (int t = 0; t < treesPerRoot; ++t) {
      // One more in the last tree, so that there is no common divisor.
      trees.push_back({r, multiplicity + (t == 1 ? 1 : 0), star(gpus, r)});
    }
  }
  lowering::Options options;
  options.instances = instances;
  options.channels = instances == 20 ? lowering::ChannelPolicy::nicPlanes : lowering::ChannelPolicy::compact;
  const Result<program::Program> result =
      lowering::lower(fabric, makeSchedule(fabric, Collective::allgather, {}, trees), options);
  QVERIFY(!result.hasValue());
  QCOMPARE(result.error().code, ErrorCode::limit);
  QVERIFY2(result.error().message.find(message.toStdString()) != std::string::npos, what(result).c_str());
  QVERIFY2(result.error().fix.find(fix.toStdString()) != std::string::npos, what(result).c_str());
}

/// GPUs of a kind that runs fewer threadblocks at once, or more, than an A100.
void LoweringTest::multiprocessors() {
  constexpr int kGpus = 100;  // a star needs 99 threadblocks
  std::vector<TreeSpec> trees;
  for (int r = 0; r < kGpus; ++r) {
    trees.push_back({r, 1, star(kGpus, r)});
  }
  for (const auto& [name, most] : {std::pair("V100 in one rack", 80), std::pair("A100 in one rack", 108)}) {
    const fabric::Fabric fabric = complete(kGpus, name);
    const auto schedule = makeSchedule(fabric, Collective::allgather, {}, trees);
    QCOMPARE(lowering::lower(fabric, schedule).hasValue(), most >= kGpus - 1);
    QVERIFY(lowering::lower(fabric, schedule, {.multiprocessors = kGpus - 1}));
    const auto refused = lowering::lower(fabric, schedule, {.multiprocessors = kGpus - 2});
    QVERIFY(!refused);
    QVERIFY2(refused.error().message.find("at most 98 at once (1 too many)") != std::string::npos,
             what(refused).c_str());
  }
}

void LoweringTest::cancels() {
  const fabric::Fabric fabric = complete(4);
  std::vector<TreeSpec> trees;
  for (int r = 0; r < 4; ++r) {
    trees.push_back({r, 1, star(4, r)});
  }
  std::stop_source stop;
  stop.request_stop();
  const Result<program::Program> result = lowering::lower(
      fabric, makeSchedule(fabric, Collective::allgather, {}, trees), {}, Progress{.stop = stop.get_token()});
  QVERIFY(!result.hasValue());
  QCOMPARE(result.error().code, ErrorCode::cancelled);
}

/// Halves that run at the same time, with roots of unequal shares that each half cuts in its own way.
void LoweringTest::overlappedHalves() {
  const samples::Cuts in{{2, 1}, {}, {1}, {1, 1}};
  const samples::Cuts out{{1, 2}, {}, {1}, {2}};
  const samples::Sample sample = samples::overlappedStar(in, out, Bandwidth(200, 3), false, false);
  for (const Runtime runtime : kRuntimes) {
    lowering::StepOrigins origins;
    const auto program = lowering::lower(sample.fabric, sample.schedule, {.runtime = runtime}, {}, &origins);
    QVERIFY2(program, what(program).c_str());
    QCOMPARE(QString::fromStdString(examine(*program, runtime, -1, 1)), QString());
    QCOMPARE(QString::fromStdString(wrongOrigin(*program, origins, sample.schedule)), QString());
  }
}

/// Trees that fit the links only because a switch copies are refused; those that fit without are lowered.
void LoweringTest::neededSwitches() {
  const samples::Sample overlapped = samples::overlappedStar(samples::kOneEach, samples::kOneEach, Bandwidth(100));
  const auto refused = lowering::lower(overlapped.fabric, overlapped.schedule);
  QVERIFY(!refused);
  QVERIFY(refused.error().code == ErrorCode::unavailable);
  QVERIFY(refused.error().message.find("100 GB/s") != std::string::npos);
  QVERIFY(refused.error().fix.find("--plain-switches") != std::string::npos);
  // At two thirds of the rate each link has room for all that it would carry of both halves: 6 trees of 4.
  samples::Sample slower = samples::overlappedStar(samples::kOneEach, samples::kOneEach, Bandwidth(200, 3));
  QVERIFY(lowering::lower(slower.fabric, slower.schedule));
  const samples::Sample star = samples::prunedStar();
  QVERIFY(lowering::lower(star.fabric, star.schedule));
  // Halves that run one after the other have the links to themselves.
  samples::Sample halves = samples::allreduced(star);
  QVERIFY(lowering::lower(halves.fabric, halves.schedule));
  halves.schedule.overlapped = true;
  QVERIFY(!lowering::lower(halves.fabric, halves.schedule));
}

QTEST_GUILESS_MAIN(LoweringTest)
#include "tst_lowering.moc"
