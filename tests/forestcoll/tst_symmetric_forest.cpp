// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <functional>
#include <limits>
#include <map>
#include <sstream>
#include <string>

#include "forestcoll/boxes/symmetric_forest.hpp"
#include "forestcoll/fixed_k.hpp"
#include "forestcoll/forestcoll.hpp"
#include "io/forest_json.hpp"
#include "presets/presets.hpp"
#include "schedule/expansion.hpp"
#include "schedule/peers.hpp"
#include "schedule/rotation.hpp"
#include "schedule/tree_reader.hpp"
#include "support/preset_fabrics.hpp"
#include "verify/schedule_verifier.hpp"

/// Fabrics whose GPUs are all alike: the trees of rank 0 and their images are an exact forest, and checking them by
/// symmetry agrees with checking edge by edge, in what is right and in what is not.
using namespace coppice;
using schedule::Forest;
using std::int64_t;
using test::built;
using test::describedBy;

namespace {

std::optional<Forest> grown(const fabric::Fabric& fabric, const forestcoll::Optimum& optimum) {
  const std::vector<int64_t> demand(static_cast<std::size_t>(fabric.gpuCount()), 1);
  const auto network = forestcoll::makeNetwork(fabric, demand);
  const auto capacities = forestcoll::scaledArcs(network, optimum.scale * network.unit);
  return forestcoll::growSymmetricForest(fabric, network, capacities,
                                         forestcoll::supplies(network, optimum.treesPerRoot), {});
}

forestcoll::Optimum optimumOf(const fabric::Fabric& fabric) {
  auto optimum = forestcoll::optimum(fabric, {});
  if (!optimum) {
    qFatal("%s", describe(optimum.error()).c_str());
  }
  return *std::move(optimum);
}

schedule::Schedule allgather(const fabric::Fabric& fabric, const forestcoll::Optimum& optimum, Forest forest) {
  schedule::Schedule schedule;
  schedule.collective = Collective::allgather;
  schedule.fabricName = fabric.name();
  schedule.fabricDigest = fabric.digest();
  schedule.algbw = optimum.algbw;
  schedule.bound = optimum.algbw;
  schedule.bottlenecks = optimum.bottlenecks;
  forest.treesOfRoot.assign(static_cast<std::size_t>(fabric.gpuCount()), optimum.treesPerRoot);
  forest.scale = optimum.scale;
  schedule.broadcastForest = std::move(forest);
  return schedule;
}

schedule::Schedule reduceScatter(schedule::Schedule schedule) {
  schedule.collective = Collective::reduceScatter;
  schedule.reduceForest = schedule::reversed(*schedule.broadcastForest);
  schedule.broadcastForest.reset();
  return schedule;
}

constexpr int64_t kBySymmetry = 0;
constexpr int64_t kByEdges = std::numeric_limits<int64_t>::max();

verify::ScheduleVerdict verdictOf(const fabric::Fabric& fabric, const schedule::Schedule& schedule, int64_t maxEdges) {
  auto verdict = verify::verifySchedule(fabric, schedule, {.maxFlow = false, .maxEdges = maxEdges});
  if (!verdict) {
    qFatal("%s", describe(verdict.error()).c_str());
  }
  return *std::move(verdict);
}

QByteArray texts(const verify::ScheduleVerdict& verdict) {
  QByteArray text;
  for (const Finding& finding : verdict.findings) {
    text += QByteArray::fromStdString(describe(finding)) + '\n';
  }
  return text;
}

}  // namespace

class TestSymmetricForest : public QObject {
  Q_OBJECT

private slots:
  void growsAndAgrees_data() {
    QTest::addColumn<QString>("preset");
    QTest::addColumn<int>("maxHeight");
    QTest::newRow("H100") << "dgx-h100 boxes=6" << 2;
    QTest::newRow("H100, rails") << "dgx-h100 boxes=6 network=rails" << 2;
    QTest::newRow("H100, rails alone") << "dgx-h100 boxes=6 network=rail-only" << 2;
    QTest::newRow("H100, planes") << "dgx-h100 boxes=6 network=planes" << 2;
    QTest::newRow("H100, leaves") << "dgx-h100 boxes=6 network=leaf-spine" << 2;
    QTest::newRow("A100") << "dgx-a100 boxes=5" << 2;
    QTest::newRow("NVL72") << "gb200-nvl72 racks=3" << 2;
    QTest::newRow("NVL72, fast NICs") << "gb200-nvl72 racks=3 nic=400" << 2;
    QTest::newRow("NVL72, rails") << "gb200-nvl72 racks=3 network=rails" << 3;
    QTest::newRow("NVL72, leaves") << "gb200-nvl72 racks=4 network=leaf-spine" << 2;
    QTest::newRow("boxes of one GPU") << "cluster boxes=8 gpus=1" << 1;
  }

  void growsAndAgrees() {
    QFETCH(QString, preset);
    QFETCH(int, maxHeight);
    const fabric::Fabric fabric = built(describedBy(preset));
    const forestcoll::Optimum optimum = optimumOf(fabric);
    const auto forest = grown(fabric, optimum);
    QVERIFY(forest);
    QVERIFY(grown(fabric, optimum) == forest);
    const schedule::Schedule out = allgather(fabric, optimum, *forest);
    for (const schedule::Schedule& schedule : {out, reduceScatter(out)}) {
      const auto bySymmetry = verdictOf(fabric, schedule, kBySymmetry);
      const auto byEdges = verdictOf(fabric, schedule, kByEdges);
      QVERIFY2(bySymmetry.ok, texts(bySymmetry));
      QVERIFY2(byEdges.ok, texts(byEdges));
      QVERIFY(bySymmetry.isBySymmetry);
      QVERIFY(!byEdges.isBySymmetry);
      QCOMPARE(bySymmetry.algbw, byEdges.algbw);
      QCOMPARE(bySymmetry.busiestLoad, byEdges.busiestLoad);
    }
    // And with what is written out, in all that is said about it.
    schedule::Schedule written = out;
    const auto expanded = schedule::expanded(*out.broadcastForest, fabric);
    QVERIFY2(expanded, expanded ? "" : describe(expanded.error()).c_str());
    written.broadcastForest = *expanded;
    const auto plain = verdictOf(fabric, written, kByEdges);
    QVERIFY2(plain.ok, texts(plain));
    QCOMPARE(plain.busiestLoad, verdictOf(fabric, out, kBySymmetry).busiestLoad);
    const auto low = schedule::heights(*out.broadcastForest, fabric);
    const auto same = schedule::heights(*expanded, fabric);
    QCOMPARE(low.logicalMax, same.logicalMax);
    QCOMPARE(low.physicalMax, same.physicalMax);
    QVERIFY(std::abs(low.logicalMean - same.logicalMean) < 1e-9);
    QVERIFY(std::abs((low.latencyMax - same.latencyMax).count()) < 1e-9);
    QVERIFY(low.logicalMax <= maxHeight);
    QCOMPARE(schedule::peersOf(out, fabric), schedule::peersOf(written, fabric));
    QCOMPARE(schedule::sizeOf(*out.broadcastForest).trees, static_cast<int64_t>(expanded->trees.size()));
  }

  void findsNothing_data() {
    QTest::addColumn<QString>("preset");
    QTest::newRow("GPUs joined directly") << "mi250 boxes=4";
    QTest::newRow("unequal boxes") << "cluster boxes=3 gpus=8,8,4";
    QTest::newRow("a rest on the last leaf") << "dgx-h100 boxes=5 network=leaf-spine";
  }

  void findsNothing() {
    QFETCH(QString, preset);
    const fabric::Fabric fabric = built(describedBy(preset));
    QVERIFY(!grown(fabric, optimumOf(fabric)));
  }

  void oneLinkBreaksTheSymmetry() {
    fabric::Description description = describedBy("dgx-h100 boxes=6");
    QVERIFY(!schedule::rotationsOf(built(description)).empty());
    description.links.front().bandwidth = "449";
    QVERIFY(schedule::rotationsOf(built(description)).empty());
  }

  void latenciesOfImages() {
    fabric::Description description = describedBy("dgx-h100 boxes=4");
    const fabric::Fabric plain = built(description);
    const forestcoll::Optimum optimum = optimumOf(plain);
    const auto forest = grown(plain, optimum);
    QVERIFY(forest);
    description.links.back().latency = "50";
    const fabric::Fabric slow = built(description);
    QCOMPARE(slow.digest(), plain.digest());
    QVERIFY(!schedule::keepsLatencies(slow, forest->rotations));
    const Forest rotated = *allgather(plain, optimum, *forest).broadcastForest;
    const auto written = schedule::expanded(rotated, slow);
    QVERIFY(written);
    for (const schedule::Forest& turned : {rotated, schedule::reversed(rotated)}) {
      QVERIFY(std::abs(
                  (schedule::heights(turned, slow).latencyMax - schedule::heights(*written, slow).latencyMax).count()) <
              1e-9);
    }
    QVERIFY(schedule::heights(rotated, slow).latencyMax.count() > 50);
  }

  void bothFindFaults_data() {
    using Spoil = std::function<void(Forest&)>;
    QTest::addColumn<Spoil>("spoil");
    QTest::newRow("an edge from the wrong GPU") << Spoil([](Forest& forest) {
      // The last edge is inside a box; its tail is now the root of another one.
      forest.edges.back().parent = 0;
    });
    QTest::newRow("two GPUs exchanged") << Spoil([](Forest& forest) {
      const int last = forest.gpuCount - 1;
      for (schedule::TreeEdge& edge : forest.edges) {
        for (int* rank : {&edge.parent, &edge.child}) {
          *rank = *rank == 1 ? last : *rank == last ? 1 : *rank;
        }
      }
    });
    QTest::newRow("the routes of two edges exchanged")
        << Spoil([](Forest& forest) { std::swap(forest.edges.front().path, forest.edges.back().path); });
    QTest::newRow("more copies than stated") << Spoil([](Forest& forest) { forest.trees.front().multiplicity = 2; });
    QTest::newRow("fewer trees than stated") << Spoil([](Forest& forest) { forest.treesOfRoot.back() += 1; });
    QTest::newRow("less capacity") << Spoil([](Forest& forest) { forest.scale = forest.scale * Rational(9, 10); });
    QTest::newRow("a rotation that mixes up switches") << Spoil([](Forest& forest) {
      // The switch inside the first box stays; the one before it takes its place.
      auto& image = forest.rotations.back().image;
      const fabric::NodeIndex inner = forest.paths[forest.edges.back().path][1];
      const auto before = static_cast<std::size_t>(std::find(image.begin(), image.end(), inner) - image.begin());
      image[before] = image[static_cast<std::size_t>(inner)];
      image[static_cast<std::size_t>(inner)] = inner;
    });
    QTest::newRow("nodes that never come back") << Spoil([](Forest& forest) {
      auto& image = forest.rotations[0].image;
      std::rotate(image.begin(), image.begin() + 1, image.end());
    });
    QTest::newRow("two nodes with one image")
        << Spoil([](Forest& forest) { forest.rotations[0].image[1] = forest.rotations[0].image[0]; });
    QTest::newRow("counts that do not multiply to the GPUs")
        << Spoil([](Forest& forest) { forest.rotations.pop_back(); });
    QTest::newRow("a root other than rank 0") << Spoil([](Forest& forest) { forest.trees.front().root = 1; });
  }

  void bothFindFaults() {
    using Spoil = std::function<void(Forest&)>;
    QFETCH(Spoil, spoil);
    const fabric::Fabric fabric = built(describedBy("dgx-h100 boxes=6"));
    const forestcoll::Optimum optimum = optimumOf(fabric);
    auto forest = grown(fabric, optimum);
    QVERIFY(forest);
    schedule::Schedule schedule = allgather(fabric, optimum, *std::move(forest));
    spoil(*schedule.broadcastForest);
    for (const schedule::Schedule& spoiled : {schedule, reduceScatter(schedule)}) {
      const auto bySymmetry = verdictOf(fabric, spoiled, kBySymmetry);
      const auto byEdges = verdictOf(fabric, spoiled, kByEdges);
      QVERIFY2(!bySymmetry.ok, texts(byEdges));
      QVERIFY2(!byEdges.ok, texts(bySymmetry));
    }
  }

  void filesKeepThem() {
    const fabric::Fabric fabric = built(describedBy("gb200-nvl72 racks=3 network=rails"));
    const forestcoll::Optimum optimum = optimumOf(fabric);
    auto forest = grown(fabric, optimum);
    QVERIFY(forest);
    const schedule::Schedule schedule = allgather(fabric, optimum, *std::move(forest));
    std::ostringstream text;
    QVERIFY(io::writeForestJson(text, schedule, fabric));
    const auto loaded = io::loadForest(text.str());
    QVERIFY2(loaded, loaded ? "" : describe(loaded.error()).c_str());
    QVERIFY(loaded->schedule == schedule);
    std::string broken = text.str();
    const std::string rotations = "\"rotations\": [[1, 72], [72, 3]]";
    QVERIFY(broken.find(rotations) != std::string::npos);
    broken.replace(broken.find(rotations), rotations.size(), "\"rotations\": [[1, 36], [36, 6]]");
    const auto refused = io::loadForest(broken);
    QVERIFY(!refused);
    QVERIFY2(refused.error().message.find("no symmetry with step 36 and count 6") != std::string::npos,
             refused.error().message.c_str());
  }

  /// Beyond what is written out, generate() keeps the trees of rank 0 alone.
  void generatesLargeFabrics() {
    const fabric::Fabric fabric = built(describedBy("gb200-nvl72 racks=24"));
    forestcoll::Request request;
    request.allreduceBudget = {};
    const auto generated = forestcoll::generate(fabric, request);
    QVERIFY2(generated, generated ? "" : describe(generated.error()).c_str());
    const Forest& forest = *generated->schedule.broadcastForest;
    QCOMPARE(forest.rotations.size(), std::size_t{2});
    QVERIFY(forest.trees.size() < static_cast<std::size_t>(forest.gpuCount));
    QCOMPARE(schedule::heights(forest).logicalMax, 2);
    const auto verdict = verdictOf(fabric, generated->schedule, kBySymmetry);
    QVERIFY2(verdict.ok, texts(verdict));
    QVERIFY(verdict.boundProved);
  }
};

QTEST_GUILESS_MAIN(TestSymmetricForest)
#include "tst_symmetric_forest.moc"
