// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <functional>
#include <sstream>

#include "io/tree_xml.hpp"
#include "schedule/expansion.hpp"
#include "support/overlapped_star.hpp"
#include "support/rotated_clusters.hpp"
#include "support/sample_schedules.hpp"
#include "verify/schedule_verifier.hpp"

using namespace coppice;
using samples::Sample;

namespace {

using Make = std::function<Sample()>;

std::string textOf(const schedule::Schedule& schedule, const fabric::Fabric& fabric) {
  std::ostringstream out;
  const auto outcome = io::writeTreeXml(out, schedule, fabric);
  if (!outcome) {
    throw std::runtime_error(describe(outcome.error()));
  }
  return out.str();
}

/// As the official Python writes two boxes of two GPUs under one switch each, joined by a third; k 1, chains.
/// Attribute order, brackets in labels and the blank after commas are its own.
const char* const kOfficial = R"xml(<Algo nchunkspernode="1">
  <tree root="(0, 'GPU', 0)" index="0" nchunks="1" height="2">
    <send src="(0, 'GPU', 0)" dst="(0, 'GPU', 1)" path="(0, 'GPU', 0),(0, 'SWITCH', 0),(0, 'GPU', 1)"/>
    <send src="(0, 'GPU', 0)" dst="(1, 'GPU', 0)" path="(0, 'GPU', 0),(0, 'SWITCH', 0),(-1, 'IB', 0),(1, 'SWITCH', 0),(1, 'GPU', 0)"/>
    <send src="(1, 'GPU', 0)" dst="(1, 'GPU', 1)" path="(1, 'GPU', 0),(1, 'SWITCH', 0),(1, 'GPU', 1)"/>
  </tree>
  <tree root="(0, 'GPU', 1)" index="0" nchunks="1" height="2">
    <send src="(0, 'GPU', 1)" dst="(0, 'GPU', 0)" path="(0, 'GPU', 1),(0, 'SWITCH', 0),(0, 'GPU', 0)"/>
    <send src="(0, 'GPU', 1)" dst="(1, 'GPU', 1)" path="(0, 'GPU', 1),(0, 'SWITCH', 0),(-1, 'IB', 0),(1, 'SWITCH', 0),(1, 'GPU', 1)"/>
    <send src="(1, 'GPU', 1)" dst="(1, 'GPU', 0)" path="(1, 'GPU', 1),(1, 'SWITCH', 0),(1, 'GPU', 0)"/>
  </tree>
  <tree root="(1, 'GPU', 0)" index="0" nchunks="1" height="2">
    <send src="(1, 'GPU', 0)" dst="(1, 'GPU', 1)" path="(1, 'GPU', 0),(1, 'SWITCH', 0),(1, 'GPU', 1)"/>
    <send src="(1, 'GPU', 0)" dst="(0, 'GPU', 0)" path="(1, 'GPU', 0),(1, 'SWITCH', 0),(-1, 'IB', 0),(0, 'SWITCH', 0),(0, 'GPU', 0)"/>
    <send src="(0, 'GPU', 0)" dst="(0, 'GPU', 1)" path="(0, 'GPU', 0),(0, 'SWITCH', 0),(0, 'GPU', 1)"/>
  </tree>
  <tree root="(1, 'GPU', 1)" index="0" nchunks="1" height="2">
    <send src="(1, 'GPU', 1)" dst="(1, 'GPU', 0)" path="(1, 'GPU', 1),(1, 'SWITCH', 0),(1, 'GPU', 0)"/>
    <send src="(1, 'GPU', 1)" dst="(0, 'GPU', 1)" path="(1, 'GPU', 1),(1, 'SWITCH', 0),(-1, 'IB', 0),(0, 'SWITCH', 0),(0, 'GPU', 1)"/>
    <send src="(0, 'GPU', 1)" dst="(0, 'GPU', 0)" path="(0, 'GPU', 1),(0, 'SWITCH', 0),(0, 'GPU', 0)"/>
  </tree>
</Algo>
)xml";

fabric::Description twoBoxes(bool official) {
  const auto gpu = [&](int box, int index) {
    return official ? "(" + std::to_string(box) + ", 'GPU', " + std::to_string(index) + ")"
                    : "b" + std::to_string(box) + "g" + std::to_string(index);
  };
  const auto box = [&](int index) {
    return official ? "(" + std::to_string(index) + ", 'SWITCH', 0)" : "nvs" + std::to_string(index);
  };
  const std::string top = official ? "(-1, 'IB', 0)" : "spine";
  return samples::describeFabric("two boxes", {gpu(0, 0), gpu(0, 1), gpu(1, 0), gpu(1, 1)}, {top, box(0), box(1)},
                                 {{gpu(0, 0), box(0), "30"},
                                  {gpu(0, 1), box(0), "30"},
                                  {gpu(1, 0), box(1), "30"},
                                  {gpu(1, 1), box(1), "30"},
                                  {box(0), top, "20"},
                                  {box(1), top, "20"}});
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  if (at == std::string::npos) {
    throw std::runtime_error("not in the text: " + what);
  }
  return text.replace(at, what.size(), with);
}

/// The forest of the schedule that the trees make, of many roots or of one.
Result<schedule::Forest> forestOf(const io::TreeXml& trees, const fabric::Fabric& fabric,
                                  schedule::Direction direction) {
  const bool isOut = direction == schedule::Direction::out;
  auto made = io::scheduleFromTrees(trees, fabric, isOut ? Collective::allgather : Collective::reduceScatter);
  if (!made && made.error().code == ErrorCode::badUsage) {
    made = io::scheduleFromTrees(trees, fabric, isOut ? Collective::broadcast : Collective::reduce);
  }
  return made ? Result<schedule::Forest>(isOut ? *made->broadcastForest : *made->reduceForest) : made.error();
}

}  // namespace

Q_DECLARE_METATYPE(Make)

class TestTreeXml : public QObject {
  Q_OBJECT

private slots:
  void roundTrips_data() {
    QTest::addColumn<Make>("make");
    QTest::newRow("two GPUs") << Make(samples::twoGpus);
    QTest::newRow("ring") << Make(samples::ring);
    QTest::newRow("star") << Make([] { return samples::star(); });
    QTest::newRow("pruned star") << Make(samples::prunedStar);
    QTest::newRow("pruned reduce-scatter") << Make([] { return samples::reduceScattered(samples::prunedStar()); });
    QTest::newRow("allreduce") << Make([] { return samples::allreduced(samples::prunedStar()); });
    QTest::newRow("broadcast") << Make(samples::broadcastStar);
    QTest::newRow("reduce") << Make(samples::reduceStar);
    QTest::newRow("uneven") << Make(samples::unevenStar);
    QTest::newRow("only one GPU has data") << Make([] {
      Sample sample = samples::twoGpus();
      schedule::Forest forest = samples::emptyForest(2, {0, 1}, Rational(1, 25));
      samples::addTree(forest, 1, 1, {{1, 0, {1, 0}}});
      sample.schedule.broadcastForest = forest;
      sample.schedule.amounts = {0, 1};
      sample.schedule.algbw = sample.schedule.bound = Bandwidth(25);
      sample.schedule.bottlenecks = {{{1}, 1, Bandwidth(25)}};
      return sample;
    });
    QTest::newRow("one-way") << Make(samples::oneWayRing);
    QTest::newRow("one-way reduce-scatter") << Make(samples::oneWayReduceScatter);
    QTest::newRow("brackets and marks") << Make([] {
      Sample sample = samples::twoGpus();
      sample.description.nodes[0].id = "(0, 'a,(b', 0) <&\">";
      sample.description.links[0].src = sample.description.nodes[0].id;
      sample.fabric = samples::buildFabric(sample.description);
      sample.schedule.fabricDigest = sample.fabric.digest();
      return sample;
    });
  }

  void roundTrips() {
    QFETCH(Make, make);
    const Sample sample = make();
    const auto trees = io::readTreeXml(textOf(sample.schedule, sample.fabric));
    QVERIFY2(trees.hasValue(), trees ? "" : describe(trees.error()).c_str());
    QVERIFY(trees->collective == sample.schedule.collective);
    auto read = io::scheduleFromTrees(*trees, sample.fabric, *trees->collective);
    QVERIFY2(read.hasValue(), read ? "" : describe(read.error()).c_str());

    // What the format cannot hold comes from elsewhere; the routes are numbered again.
    read->bound = sample.schedule.bound;
    read->bottlenecks = sample.schedule.bottlenecks;
    QCOMPARE(toFraction(read->algbw), toFraction(sample.schedule.algbw));
    QVERIFY(read->amounts == sample.schedule.amounts);
    QVERIFY(read->root == sample.schedule.root);
    QCOMPARE(textOf(*read, sample.fabric), textOf(sample.schedule, sample.fabric));
    const auto verdict = verify::verifySchedule(sample.fabric, *read);
    QVERIFY(verdict.hasValue());
    QVERIFY2(verdict->ok, verdict->findings.empty() ? "" : describe(verdict->findings[0]).c_str());
  }

  void officialOutput_data() {
    QTest::addColumn<bool>("sameNames");
    QTest::newRow("labels are ids") << true;
    QTest::newRow("labels tell ranks, links tell switches") << false;
  }

  void officialOutput() {
    QFETCH(bool, sameNames);
    const auto trees = io::readTreeXml(kOfficial, "trees.xml");
    QVERIFY2(trees.hasValue(), trees ? "" : describe(trees.error()).c_str());
    QVERIFY(!trees->collective);
    QCOMPARE(trees->chunksPerNode, std::int64_t{1});
    QCOMPARE(trees->labels.size(), std::size_t{7});
    QCOMPARE(trees->gpus.size(), std::size_t{4});

    const fabric::Fabric fabric = samples::buildFabric(twoBoxes(sameNames));
    for (const Collective collective : {Collective::allgather, Collective::reduceScatter, Collective::allreduce}) {
      auto schedule = io::scheduleFromTrees(*trees, fabric, collective);
      QVERIFY2(schedule.hasValue(), schedule ? "" : describe(schedule.error()).c_str());
      // Each box sends the other its 2 shards over 20 GB/s and each GPU takes 3 over 30: scale 1/10.
      const Bandwidth algbw(collective == Collective::allreduce ? 20 : 40);
      QCOMPARE(toFraction(schedule->algbw), toFraction(algbw));
      schedule->bound = algbw;
      schedule->bottlenecks = {{{0, 1, 5}, 2, Bandwidth(20)}};
      const auto verdict = verify::verifySchedule(fabric, *schedule);
      QVERIFY(verdict.hasValue());
      QVERIFY2(verdict->ok && verdict->boundProved,
               verdict->findings.empty() ? "" : describe(verdict->findings[0]).c_str());
    }
  }

  void inferredFabricCarriesTheTrees() {
    const auto trees = io::readTreeXml(kOfficial);
    QVERIFY(trees.hasValue());
    const auto fabric = fabric::Fabric::build(trees->inferred);
    QVERIFY2(fabric.hasValue(), fabric ? "" : describe(fabric.error()).c_str());
    QCOMPARE(fabric->nodes()[0].id, "(0, 'GPU', 0)");
    QCOMPARE(fabric->nodes()[3].id, "(1, 'GPU', 1)");
    const auto forest = forestOf(*trees, *fabric, schedule::Direction::out);
    QVERIFY2(forest.hasValue(), forest ? "" : describe(forest.error()).c_str());
    QCOMPARE(toFraction(forest->scale), "1");
    const auto up = fabric->findArc(*fabric->find("(0, 'SWITCH', 0)"), *fabric->find("(-1, 'IB', 0)"));
    QVERIFY(up.has_value());
    QCOMPARE(toFraction(fabric->arcs()[*up].bandwidth), "2");
  }

  void wholeNumbersAreRanks() {
    const char* const text =
        "<Algo nchunkspernode='2'><tree root='10' index='1' nchunks='1' height='1'><send src='10' dst='9' "
        "path='10, 11,9'/></tree><tree root='10' index='0' nchunks='1' height='1'><send src='10' dst='9' "
        "path='10,11,9'/></tree><tree root='9' index='0' nchunks='2' height='1'><send src='9' dst='10' "
        "path='9,11,10'/></tree></Algo>";
    const auto trees = io::readTreeXml(text);
    QVERIFY2(trees.hasValue(), trees ? "" : describe(trees.error()).c_str());
    QCOMPARE(trees->labels[trees->gpus[0]], "9");
    const fabric::Fabric fabric = samples::buildFabric(
        samples::describeFabric("pair", {"a", "b"}, {"sw"}, {{"a", "sw", "10"}, {"b", "sw", "10"}}));
    const auto forest = forestOf(*trees, fabric, schedule::Direction::out);
    QVERIFY2(forest.hasValue(), forest ? "" : describe(forest.error()).c_str());
    QCOMPARE(forest->trees.size(), std::size_t{3});
    QCOMPARE(forest->trees[0].root, 0);
    QCOMPARE(forest->trees[0].multiplicity, std::int64_t{2});
    QCOMPARE(toFraction(forest->algbw()), "20");
  }

  void refusesFiles_data() {
    QTest::addColumn<QString>("what");
    QTest::addColumn<QString>("with");
    QTest::addColumn<QString>("message");
    QTest::addColumn<int>("line");
    const auto row = [](const char* name, const char* what, const char* with, const char* message, int line) {
      QTest::newRow(name) << QString(what) << QString(with) << QString(message) << line;
    };
    row("not closed", "</Algo>", "", "not well-formed XML", 0);
    row("no quotes", "index=\"0\"", "index=0", "not well-formed XML", 2);
    row("another root", "<Algo ", "<Algorithm ", "not well-formed XML", 0);
    row("no k", " nchunkspernode=\"1\"", "", "no attribute \"nchunkspernode\"", 1);
    row("k is text", "nchunkspernode=\"1\"", "nchunkspernode=\"one\"", "nchunkspernode is \"one\"", 1);
    row("k is 0", "nchunkspernode=\"1\"", "nchunkspernode=\"0\"", "from 1", 1);
    row("collective", "nchunkspernode=\"1\"", "nchunkspernode=\"1\" coll=\"x\"", "\"x\" is not a collective", 1);
    row("nchunks huge", "nchunks=\"1\"", "nchunks=\"99999999999999999999\"", "whole number", 2);
    row("no root", " root=\"(0, 'GPU', 0)\"", "", "no attribute \"root\"", 2);
    row("no path", " path=\"(0, 'GPU', 0),(0, 'SWITCH', 0),(0, 'GPU', 1)\"", "", "no attribute \"path\"", 3);
    row("empty path", "path=\"(0, 'GPU', 0),(0, 'SWITCH', 0),(0, 'GPU', 1)\"", "path=\"\"", "no name", 3);
    row("hole in the path", "(0, 'GPU', 0),(0, 'SWITCH', 0),(0, 'GPU', 1)", "(0, 'GPU', 0),,(0, 'GPU', 1)", "no name",
        3);
    row("path of one", "(0, 'GPU', 0),(0, 'SWITCH', 0),(0, 'GPU', 1)", "(0, 'GPU', 0)", "does not lead from", 3);
    row("path elsewhere", "(0, 'SWITCH', 0),(0, 'GPU', 1)\"", "(0, 'SWITCH', 0),(1, 'GPU', 1)\"", "does not lead from",
        3);
    row("pruned", "(0, 'GPU', 1)\"/>", "(0, 'GPU', 1)\" pruned=\"2\"/>", "prunes 2 of 2 hops", 3);
  }

  void refusesFiles() {
    QFETCH(QString, what);
    QFETCH(QString, with);
    QFETCH(QString, message);
    QFETCH(int, line);
    const auto read = io::readTreeXml(replaced(kOfficial, what.toStdString(), with.toStdString()), "t.xml");
    QVERIFY(!read.hasValue());
    const QString shown = QString::fromStdString(describe(read.error()));
    QVERIFY2(shown.contains(message), qPrintable(shown));
    QCOMPARE(read.error().where.file, "t.xml");
    if (line > 0) {
      QCOMPARE(read.error().where.line, line);
    }
  }

  void refusesOtherTexts_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::newRow("empty") << QByteArray();
    QTest::newRow("MSCCL") << QByteArray("<algo name=\"x\"></algo>");
    QTest::newRow("no trees") << QByteArray("<Algo nchunkspernode=\"1\"/>");
    QTest::newRow("deep") << QByteArray("<Algo nchunkspernode=\"1\">") + QByteArray("<tree>").repeated(1 << 18);
    QTest::newRow("zeros") << QByteArray(64, '\0');
    QTest::newRow("JSON") << QByteArray("{}");
    QTest::newRow("chunks do not fit") << QByteArray(
        "<Algo nchunkspernode='2'><tree root='0' index='0' nchunks='1'><send src='0' dst='1' path='0,1'/></tree>"
        "</Algo>");
    QTest::newRow("sum leaves 64 bits") << QByteArray(
        "<Algo nchunkspernode='1'><tree root='0' index='0' nchunks='9223372036854775807'/><tree root='0' index='1' "
        "nchunks='9223372036854775807'/></Algo>");
  }

  void refusesOtherTexts() {
    QFETCH(QByteArray, text);
    const auto read = io::readTreeXml(text.toStdString());
    QVERIFY(!read.hasValue());
    QVERIFY(!read.error().message.empty());
  }

  void refusesMatches() {
    const auto trees = io::readTreeXml(kOfficial);
    QVERIFY(trees.hasValue());
    const auto message = [&](const fabric::Description& description) {
      const auto forest = forestOf(*trees, samples::buildFabric(description), schedule::Direction::out);
      return forest ? QString() : QString::fromStdString(describe(forest.error()));
    };
    QVERIFY(message(samples::describeStar()).contains("join 4 GPUs, the fabric has 3"));
    fabric::Description flat = twoBoxes(false);
    flat.links.erase(flat.links.begin() + 5);
    flat.links.push_back({.src = "nvs0", .dst = "nvs1", .bandwidth = "20"});
    QVERIFY2(message(flat).contains("no switch of the fabric has the links"), qPrintable(message(flat)));
    fabric::Description twins = twoBoxes(false);
    twins.nodes.push_back({.id = "spine2", .kind = "switch"});
    twins.links.push_back({.src = "nvs0", .dst = "spine2", .bandwidth = "20"});
    twins.links.push_back({.src = "nvs1", .dst = "spine2", .bandwidth = "20"});
    QVERIFY2(message(twins).contains("several switches of the fabric fit"), qPrintable(message(twins)));

    const fabric::Fabric fabric = samples::buildFabric(twoBoxes(true));
    const auto rooted = io::scheduleFromTrees(*trees, fabric, Collective::broadcast);
    QVERIFY(!rooted.hasValue());
    QCOMPARE(rooted.error().code, ErrorCode::badUsage);
    const Sample single = samples::broadcastStar();
    auto lone = io::readTreeXml(textOf(single.schedule, single.fabric));
    QVERIFY(lone.hasValue());
    QCOMPARE(io::scheduleFromTrees(*lone, single.fabric, Collective::allgather).error().code, ErrorCode::badUsage);

    auto cut = *trees;
    cut.trees[1].sendCount = 2;
    const auto broken = forestOf(cut, fabric, schedule::Direction::out);
    QVERIFY(!broken.hasValue());
    QVERIFY(QString::fromStdString(broken.error().message).contains("has 2 sends"));
  }

  void sendsInAnyOrder() {
    const Sample sample = samples::ring();
    auto trees = io::readTreeXml(textOf(sample.schedule, sample.fabric));
    QVERIFY(trees.hasValue());
    std::reverse(trees->sends.begin(), trees->sends.begin() + 3);
    auto read = io::scheduleFromTrees(*trees, sample.fabric, Collective::allgather);
    QVERIFY(read.hasValue());
    QCOMPARE(textOf(*read, sample.fabric), textOf(sample.schedule, sample.fabric));
  }

  /// The file names the same trees as the written-out forest, and is read back as that.
  void writesImages() {
    const Sample sound = samples::RegularCluster{2, 2, 2}.sample();
    for (const Sample& sample : {sound, samples::reduceScattered(sound), samples::allreduced(sound)}) {
      const auto read = io::readTreeXml(textOf(sample.schedule, sample.fabric));
      QVERIFY2(read.hasValue(), read ? "" : describe(read.error()).c_str());
      const bool reduces = !sample.schedule.broadcastForest.has_value();
      const auto direction = reduces ? schedule::Direction::in : schedule::Direction::out;
      const auto forest = forestOf(*read, sample.fabric, direction);
      QVERIFY2(forest.hasValue(), forest ? "" : describe(forest.error()).c_str());
      const auto& rotated = reduces ? *sample.schedule.reduceForest : *sample.schedule.broadcastForest;
      const auto expected = schedule::expanded(rotated, sample.fabric);
      QVERIFY(forest->trees == expected->trees);
      QCOMPARE(forest->edges.size(), expected->edges.size());
      for (std::size_t i = 0; i < forest->edges.size(); ++i) {
        const auto route = forest->paths[forest->edges[i].path];
        const auto wanted = expected->paths[expected->edges[i].path];
        QCOMPARE(forest->edges[i].child, expected->edges[i].child);
        QVERIFY(std::equal(route.begin(), route.end(), wanted.begin(), wanted.end()));
      }
    }
    // One half by images, the other written out: still the same trees.
    Sample mixed = samples::allreduced(sound);
    mixed.schedule.broadcastForest = schedule::expanded(*mixed.schedule.broadcastForest, mixed.fabric).value();
    QVERIFY(!textOf(mixed.schedule, mixed.fabric).empty());
    mixed.schedule.broadcastForest->edges[5].path = mixed.schedule.broadcastForest->edges[0].path;
    std::ostringstream out;
    const auto refused = io::writeTreeXml(out, mixed.schedule, mixed.fabric);
    QVERIFY(!refused && refused.error().code == ErrorCode::unavailable);
    Sample broken = sound;
    broken.schedule.broadcastForest->rotations.pop_back();
    const auto unsound = io::writeTreeXml(out, broken.schedule, broken.fabric);
    QVERIFY(!unsound && unsound.error().code == ErrorCode::internal);
  }

  /// One forest cannot say that both halves run at once, or that GPUs get own copies.
  void refusesOverlap() {
    const samples::Sample overlapped = samples::overlappedStar(samples::kOneEach, samples::kOneEach, Bandwidth(100));
    samples::Sample copied = samples::prunedStar();
    copied.schedule.ownCopies = true;
    for (const auto& [sample, words] : {std::pair(&overlapped, "at the same time"), {&copied, "own copies"}}) {
      std::ostringstream out;
      const auto refused = io::writeTreeXml(out, sample->schedule, sample->fabric);
      QVERIFY(!refused && refused.error().code == ErrorCode::unavailable);
      QVERIFY2(refused.error().message.find(words) != std::string::npos, refused.error().message.c_str());
      QVERIFY(out.str().empty());
    }
  }

  void refusesToWrite() {
    std::ostringstream out;
    const Sample oneWay = samples::oneWayRing();
    schedule::Schedule allreduce = oneWay.schedule;
    allreduce.collective = Collective::allreduce;
    allreduce.reduceForest = samples::oneWayReduceScatter().schedule.reduceForest;
    const auto halves = io::writeTreeXml(out, allreduce, oneWay.fabric);
    QVERIFY(!halves.hasValue());
    QCOMPARE(halves.error().code, ErrorCode::unavailable);

    Sample sample = samples::twoGpus();
    sample.description.nodes[0].id = "a,b";
    sample.description.links[0].src = "a,b";
    sample.fabric = samples::buildFabric(sample.description);
    const auto comma = io::writeTreeXml(out, sample.schedule, sample.fabric);
    QVERIFY(!comma.hasValue());
    QVERIFY2(comma.error().message.find("a,b") != std::string::npos, comma.error().message.c_str());

    QCOMPARE(io::writeTreeXml(out, samples::ring().schedule, sample.fabric).error().code, ErrorCode::internal);
    QCOMPARE(io::writeTreeXml(out, schedule::Schedule{}, sample.fabric).error().code, ErrorCode::internal);
    out.setstate(std::ios::badbit);
    QCOMPARE(io::writeTreeXml(out, oneWay.schedule, oneWay.fabric).error().code, ErrorCode::io);
  }
};

QTEST_GUILESS_MAIN(TestTreeXml)
#include "tst_tree_xml.moc"
