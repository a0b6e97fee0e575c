// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <array>
#include <map>
#include <set>

#include "fabric/fabric.hpp"
#include "lowering/interpreter.hpp"
#include "lowering/lowering.hpp"
#include "lowering/protocol.hpp"
#include "lowering/sums.hpp"
#include "verify/program_verifier.hpp"

using namespace coppice;
using program::Protocol;
using program::Reach;
using program::Runtime;
using program::StepType;

namespace {

/// Every GPU has a link to every other; GPU i is in the box `boxes[i]`.
fabric::Fabric complete(const std::vector<std::string>& boxes) {
  fabric::Description d;
  d.name = "boxes";
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    d.nodes.push_back({.id = "g" + std::to_string(i), .box = boxes[i]});
  }
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    for (std::size_t j = i + 1; j < boxes.size(); ++j) {
      d.links.push_back({.src = d.nodes[i].id, .dst = d.nodes[j].id, .bandwidth = "10"});
    }
  }
  return fabric::Fabric::build(d).value();
}

/// One star for every root, or for one.
schedule::Forest starsOf(const fabric::Fabric& fabric, schedule::Direction direction, int onlyRoot) {
  const int n = fabric.gpuCount();
  schedule::Forest forest;
  forest.direction = direction;
  forest.gpuCount = n;
  forest.treesOfRoot.assign(static_cast<std::size_t>(n), 0);
  for (int a = 0; a < n; ++a) {
    for (int b = 0; b < n; ++b) {
      const std::array<int, 2> route{fabric.gpus()[a], fabric.gpus()[b]};
      forest.paths.add(route);
    }
  }
  for (int root = 0; root < n; ++root) {
    if (onlyRoot >= 0 && root != onlyRoot) {
      continue;
    }
    forest.treesOfRoot[root] = 1;
    forest.trees.push_back({root, 1, static_cast<std::int64_t>(forest.edges.size())});
    for (int leaf = 0; leaf < n; ++leaf) {
      if (leaf != root) {
        forest.edges.push_back(
            {root, leaf, direction == schedule::Direction::out ? root * n + leaf : leaf * n + root, 0});
      }
    }
  }
  forest.scale = InverseBandwidth(1);
  return forest;
}

schedule::Schedule starSchedule(const fabric::Fabric& fabric, Collective collective, int root) {
  const bool isRooted = collective == Collective::broadcast || collective == Collective::reduce;
  schedule::Schedule s;
  s.collective = collective;
  s.fabricName = fabric.name();
  s.fabricDigest = fabric.digest();
  s.algbw = Bandwidth(100);
  s.bound = s.algbw;
  if (isRooted) {
    s.root = root;
  }
  const int only = isRooted ? root : -1;
  if (collective != Collective::allgather && collective != Collective::broadcast) {
    s.reduceForest = starsOf(fabric, schedule::Direction::in, only);
  }
  if (collective != Collective::reduceScatter && collective != Collective::reduce) {
    s.broadcastForest = starsOf(fabric, schedule::Direction::out, only);
  }
  return s;
}

std::vector<std::string> boxesOf(int gpus, int each) {
  std::vector<std::string> boxes;
  for (int i = 0; i < gpus; ++i) {
    boxes.push_back(each == 0 ? "" : "b" + std::to_string(i / each));
  }
  return boxes;
}

std::string texts(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += describe(finding) + "\n";
  }
  return text;
}

}  // namespace

class TestProtocol : public QObject {
  Q_OBJECT

private slots:
  void reach_data();
  void reach();
  void protocolOfTheProgram_data();
  void protocolOfTheProgram();
  void sumsOfRccl_data();
  void sumsOfRccl();
  void manyAddends_data();
  void manyAddends();
  void stepsOfArrivals();
  void copiesOfRccl60();
};

void TestProtocol::reach_data() {
  QTest::addColumn<QStringList>("boxes");
  QTest::addColumn<int>("wanted");
  QTest::newRow("one box") << QStringList{"a", "a", "a"} << static_cast<int>(Reach::oneBox);
  QTest::newRow("two boxes") << QStringList{"a", "b", "a"} << static_cast<int>(Reach::severalBoxes);
  QTest::newRow("none") << QStringList{"", "", ""} << static_cast<int>(Reach::unknown);
  QTest::newRow("some") << QStringList{"a", "", "a"} << static_cast<int>(Reach::unknown);
  QTest::newRow("enough") << QStringList{"a", "", "b"} << static_cast<int>(Reach::severalBoxes);
}

void TestProtocol::reach() {
  QFETCH(QStringList, boxes);
  std::vector<std::string> names;
  for (const QString& box : boxes) {
    names.push_back(box.toStdString());
  }
  QTEST(static_cast<int>(lowering::reachOf(complete(names))), "wanted");
}

void TestProtocol::protocolOfTheProgram_data() {
  QTest::addColumn<int>("collective");
  QTest::addColumn<int>("gpusPerBox");
  QTest::addColumn<int>("chosen");
  QTest::addColumn<bool>("takesSimple");
  const auto row = [](const char* name, Collective collective, int gpusPerBox, Protocol chosen, bool takesSimple) {
    QTest::newRow(name) << static_cast<int>(collective) << gpusPerBox << static_cast<int>(chosen) << takesSimple;
  };
  row("broadcast between boxes", Collective::broadcast, 2, Protocol::ll, false);
  row("reduce between boxes", Collective::reduce, 2, Protocol::ll, false);
  row("broadcast in a box", Collective::broadcast, 4, Protocol::simple, true);
  row("reduce without boxes", Collective::reduce, 0, Protocol::simple, true);
  row("allreduce between boxes", Collective::allreduce, 2, Protocol::simple, true);
  row("allgather between boxes", Collective::allgather, 1, Protocol::simple, true);
}

void TestProtocol::protocolOfTheProgram() {
  QFETCH(int, collective);
  QFETCH(int, gpusPerBox);
  QFETCH(int, chosen);
  QFETCH(bool, takesSimple);
  const fabric::Fabric fabric = complete(boxesOf(4, gpusPerBox));
  const schedule::Schedule schedule = starSchedule(fabric, static_cast<Collective>(collective), 1);
  for (const Runtime runtime : program::kRuntimes) {
    const auto program = lowering::lower(fabric, schedule, {.runtime = runtime});
    QVERIFY2(program, program ? "" : describe(program.error()).c_str());
    QCOMPARE(static_cast<int>(program->protocol), chosen);
    const auto simple = lowering::lower(fabric, schedule, {.runtime = runtime, .protocol = Protocol::simple});
    QCOMPARE(simple.hasValue(), takesSimple);
    if (!takesSimple) {
      QVERIFY(simple.error().code == ErrorCode::badUsage);
      QVERIFY2(describe(simple.error()).find("in Simple hangs between boxes") != std::string::npos,
               describe(simple.error()).c_str());
    }
    for (const Protocol asked : {Protocol::ll, Protocol::ll128}) {
      QVERIFY(lowering::lower(fabric, schedule, {.runtime = runtime, .protocol = asked})->protocol == asked);
    }
  }
}

void TestProtocol::sumsOfRccl_data() {
  QTest::addColumn<int>("collective");
  QTest::addColumn<bool>("inPlace");
  for (const Collective collective : {Collective::reduceScatter, Collective::allreduce, Collective::reduce}) {
    for (const bool inPlace : {true, false}) {
      QTest::addRow("%s %s", std::string(toString(collective)).c_str(), inPlace ? "in place" : "out of place")
          << static_cast<int>(collective) << inPlace;
    }
  }
}

/// Of every chunk in i and o, one threadblock adds up all shares, and nobody can read it stale.
void TestProtocol::sumsOfRccl() {
  QFETCH(int, collective);
  QFETCH(bool, inPlace);
  const fabric::Fabric fabric = complete(boxesOf(6, 6));
  const auto what = static_cast<Collective>(collective);
  const schedule::Schedule schedule = starSchedule(fabric, what, 2);
  for (const int instances : {1, 2}) {
    const auto program =
        lowering::lower(fabric, schedule, {.runtime = Runtime::rccl, .inPlace = inPlace, .instances = instances});
    QVERIFY2(program, program ? "" : describe(program.error()).c_str());
    int sums = 0;
    for (const program::RankProgram& rank : program->ranks) {
      std::map<std::pair<int, int>, std::set<std::size_t>> adders;  // by buffer and offset
      for (std::size_t id = 0; id < rank.threadBlocks.size(); ++id) {
        for (const program::Step& step : rank.threadBlocks[id].steps) {
          if (step.type == StepType::reduce && step.dst.buffer != program::Buffer::scratch) {
            adders[{static_cast<int>(step.dst.buffer), step.dst.offset}].insert(id);
          }
        }
      }
      for (const auto& [slot, blocks] : adders) {
        QCOMPARE(blocks.size(), std::size_t{1});
        ++sums;
      }
    }
    QCOMPARE(sums, instances * (what == Collective::reduce ? 1 : 6));
    const int root = what == Collective::reduce ? 2 : -1;
    const auto verdict = verify::verifyProgram(*program, {.runtime = Runtime::rccl, .root = root});
    QVERIFY2(verdict && verdict->ok && verdict->findings.empty(), verdict ? texts(verdict->findings).c_str() : "");
    lowering::test::RunOptions options;
    options.depth = program::connectionDepth(program->protocol);
    options.root = root;
    options.seed = 5;
    options.checkRaces = true;
    const std::string wrong = lowering::test::run(*program, options);
    QVERIFY2(wrong.empty(), wrong.c_str());
  }
}

void TestProtocol::manyAddends_data() {
  QTest::addColumn<int>("gpus");
  for (const int gpus : {16, 17, 18, 32, 33, 40}) {
    QTest::addRow("%d", gpus) << gpus;
  }
}

/// More shares than the steps of one threadblock could add up.
void TestProtocol::manyAddends() {
  QFETCH(int, gpus);
  const fabric::Fabric fabric = complete(boxesOf(gpus, gpus));
  const schedule::Schedule schedule = starSchedule(fabric, Collective::reduce, 0);
  for (const bool inPlace : {true, false}) {
    const auto program = lowering::lower(fabric, schedule, {.runtime = Runtime::rccl, .inPlace = inPlace});
    QVERIFY2(program, program ? "" : describe(program.error()).c_str());
    const std::string limits = lowering::test::checkLimits(*program, Runtime::rccl);
    QVERIFY2(limits.empty(), limits.c_str());
    const auto verdict = verify::verifyProgram(*program, {.runtime = Runtime::rccl, .root = 0});
    QVERIFY2(verdict && verdict->ok && verdict->findings.empty(), verdict ? texts(verdict->findings).c_str() : "");
  }
}

void TestProtocol::stepsOfArrivals() {
  const auto all = [](int arrivals) {
    QList<int> steps;
    for (int position = 0; position < arrivals; ++position) {
      steps << lowering::stepsOfArrival(position, arrivals);
    }
    return steps;
  };
  QCOMPARE(all(1), (QList<int>{2}));
  QCOMPARE(all(2), (QList<int>{1, 3}));
  QCOMPARE(all(4), (QList<int>{1, 1, 1, 7}));
  QCOMPARE(all(16).last(), 31);
  QCOMPARE(all(17).mid(14), (QList<int>{1, 30, 3}));
  QCOMPARE(all(32).mid(14), (QList<int>{1, 30, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 30, 3}));
}

/// ROCm 6.0 has no local copies.
void TestProtocol::copiesOfRccl60() {
  const fabric::Fabric fabric = complete(boxesOf(3, 3));
  const schedule::Schedule schedule = starSchedule(fabric, Collective::allgather, 0);
  const auto refused = lowering::lower(fabric, schedule, {.runtime = Runtime::rccl60, .inPlace = false});
  QVERIFY(!refused && refused.error().code == ErrorCode::limit);
  QVERIFY2(describe(refused.error()).find("cpy is not built into rccl-6.0") != std::string::npos,
           describe(refused.error()).c_str());
  QVERIFY(lowering::lower(fabric, schedule, {.runtime = Runtime::rccl61, .inPlace = false}));
  const auto program = lowering::lower(fabric, starSchedule(fabric, Collective::allreduce, 0),
                                       {.runtime = Runtime::rccl60, .inPlace = false});
  QVERIFY2(program, program ? "" : describe(program.error()).c_str());
  QVERIFY(verify::verifyProgram(*program, {.runtime = Runtime::rccl60})->ok);
}

QTEST_GUILESS_MAIN(TestProtocol)
#include "tst_protocol.moc"
