// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <functional>
#include <limits>
#include <map>
#include <memory>
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
/// parts agrees with checking edge by edge, in what is right and in what is not.
using namespace coppice;
using schedule::FactoredForest;
using std::int64_t;
using test::built;
using test::describedBy;

namespace {

std::optional<FactoredForest> grown(const fabric::Fabric& fabric, const forestcoll::Optimum& optimum) {
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

schedule::Schedule allgather(const fabric::Fabric& fabric, const forestcoll::Optimum& optimum, FactoredForest parts) {
  schedule::Schedule schedule;
  schedule.collective = Collective::allgather;
  schedule.fabricName = fabric.name();
  schedule.fabricDigest = fabric.digest();
  schedule.algbw = optimum.algbw;
  schedule.bound = optimum.algbw;
  schedule.bottlenecks = optimum.bottlenecks;
  schedule::Forest forest;
  forest.gpuCount = fabric.gpuCount();
  forest.treesOfRoot.assign(static_cast<std::size_t>(fabric.gpuCount()), optimum.treesPerRoot);
  forest.scale = optimum.scale;
  forest.factored = std::make_shared<const FactoredForest>(std::move(parts));
  schedule.broadcastForest = std::move(forest);
  return schedule;
}

schedule::Schedule reduceScatter(schedule::Schedule schedule) {
  schedule.collective = Collective::reduceScatter;
  schedule.reduceForest = schedule::reversed(*schedule.broadcastForest);
  schedule.broadcastForest.reset();
  return schedule;
}

constexpr int64_t kByParts = 0;
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
    const auto parts = grown(fabric, optimum);
    QVERIFY(parts);
    QVERIFY(grown(fabric, optimum) == parts);
    const schedule::Schedule out = allgather(fabric, optimum, *parts);
    for (const schedule::Schedule& schedule : {out, reduceScatter(out)}) {
      const auto byParts = verdictOf(fabric, schedule, kByParts);
      const auto byEdges = verdictOf(fabric, schedule, kByEdges);
      QVERIFY2(byParts.ok, texts(byParts));
      QVERIFY2(byEdges.ok, texts(byEdges));
      QVERIFY(byParts.isByParts);
      QVERIFY(!byEdges.isByParts);
      QCOMPARE(byParts.algbw, byEdges.algbw);
      QCOMPARE(byParts.busiestLoad, byEdges.busiestLoad);
    }
    // And with what is written out, in all that is said about it.
    schedule::Schedule written = out;
    const auto expanded = schedule::expanded(*out.broadcastForest, fabric);
    QVERIFY2(expanded, expanded ? "" : describe(expanded.error()).c_str());
    written.broadcastForest = *expanded;
    const auto plain = verdictOf(fabric, written, kByEdges);
    QVERIFY2(plain.ok, texts(plain));
    QCOMPARE(plain.busiestLoad, verdictOf(fabric, out, kByParts).busiestLoad);
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
    const auto parts = grown(plain, optimum);
    QVERIFY(parts);
    description.links.back().latency = "50";
    const fabric::Fabric slow = built(description);
    QCOMPARE(slow.digest(), plain.digest());
    QVERIFY(!schedule::keepsLatencies(slow, schedule::rotationsIn(*parts)));
    const schedule::Forest forest = *allgather(plain, optimum, *parts).broadcastForest;
    const auto written = schedule::expanded(forest, slow);
    QVERIFY(written);
    for (const schedule::Forest& turned : {forest, schedule::reversed(forest)}) {
      QVERIFY(std::abs(
                  (schedule::heights(turned, slow).latencyMax - schedule::heights(*written, slow).latencyMax).count()) <
              1e-9);
    }
    QVERIFY(schedule::heights(forest, slow).latencyMax.count() > 50);
  }

  void bothFindFaults_data() {
    using Spoil = std::function<void(schedule::Forest&, FactoredForest&)>;
    QTest::addColumn<Spoil>("spoil");
    QTest::newRow("a route over the wrong switch") << Spoil([](auto&, FactoredForest& parts) {
      std::swap(parts.instances.front().switches.front(), parts.instances.front().switches.back());
    });
    QTest::newRow("an edge from the wrong GPU") << Spoil([](auto&, FactoredForest& parts) {
      // The last edge is inside a box; its tail is now the root of another one.
      parts.shapes.front().arcs.back().tail = 0;
    });
    QTest::newRow("two GPUs exchanged") << Spoil([](auto&, FactoredForest& parts) {
      auto& ranks = parts.instances.front().children;
      std::swap(ranks[1], ranks[ranks.size() - 1]);
    });
    QTest::newRow("more copies than stated")
        << Spoil([](auto&, FactoredForest& parts) { parts.shapes.front().trees.front().multiplicity = 2; });
    QTest::newRow("fewer trees than stated")
        << Spoil([](schedule::Forest& forest, auto&) { forest.treesOfRoot.back() += 1; });
    QTest::newRow("less capacity") << Spoil(
        [](schedule::Forest& forest, auto&) { forest.scale = forest.scale * Rational(9, 10); });
    QTest::newRow("a rotation that mixes up switches") << Spoil([](auto&, FactoredForest& parts) {
      // The switch inside the first box stays; the one before it takes its place.
      auto& image = parts.instances.back().switches;
      const fabric::NodeIndex inner = parts.instances.front().switches.front();
      const auto before = static_cast<std::size_t>(std::find(image.begin(), image.end(), inner) - image.begin());
      image[before] = image[static_cast<std::size_t>(inner)];
      image[static_cast<std::size_t>(inner)] = inner;
    });
    QTest::newRow("nodes that never come back") << Spoil([](auto&, FactoredForest& parts) {
      auto& image = parts.instances[1].switches;
      std::rotate(image.begin(), image.begin() + 1, image.end());
    });
    QTest::newRow("two nodes with one image")
        << Spoil([](auto&, FactoredForest& parts) { parts.instances[1].switches[1] = parts.instances[1].switches[0]; });
    QTest::newRow("counts that do not multiply to the GPUs")
        << Spoil([](auto&, FactoredForest& parts) { parts.instances.pop_back(); });
    QTest::newRow("a root other than rank 0") << Spoil([](auto&, FactoredForest& parts) {
      auto& ranks = parts.instances.front().children;
      std::swap(ranks[0], ranks[1]);
    });
  }

  void bothFindFaults() {
    using Spoil = std::function<void(schedule::Forest&, FactoredForest&)>;
    QFETCH(Spoil, spoil);
    const fabric::Fabric fabric = built(describedBy("dgx-h100 boxes=6"));
    const forestcoll::Optimum optimum = optimumOf(fabric);
    auto parts = grown(fabric, optimum);
    QVERIFY(parts);
    schedule::Schedule schedule = allgather(fabric, optimum, {});
    spoil(*schedule.broadcastForest, *parts);
    schedule.broadcastForest->factored = std::make_shared<const FactoredForest>(*std::move(parts));
    for (const schedule::Schedule& spoiled : {schedule, reduceScatter(schedule)}) {
      const auto byParts = verdictOf(fabric, spoiled, kByParts);
      const auto byEdges = verdictOf(fabric, spoiled, kByEdges);
      QVERIFY2(!byParts.ok, texts(byEdges));
      QVERIFY2(!byEdges.ok, texts(byParts));
    }
  }

  void filesKeepThem() {
    const fabric::Fabric fabric = built(describedBy("gb200-nvl72 racks=3 network=rails"));
    const forestcoll::Optimum optimum = optimumOf(fabric);
    auto parts = grown(fabric, optimum);
    QVERIFY(parts);
    const schedule::Schedule schedule = allgather(fabric, optimum, *std::move(parts));
    std::ostringstream text;
    QVERIFY(io::writeForestJson(text, schedule, fabric));
    QVERIFY(text.str().find("\"version\": 3") != std::string::npos);
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
    const schedule::Forest& forest = *generated->schedule.broadcastForest;
    QVERIFY(forest.factored);
    QCOMPARE(schedule::rotationsIn(*forest.factored).size(), std::size_t{2});
    QCOMPARE(schedule::heights(forest).logicalMax, 2);
    const auto verdict = verdictOf(fabric, generated->schedule, kByParts);
    QVERIFY2(verdict.ok, texts(verdict));
    QVERIFY(verdict.boundProved);
  }
};

QTEST_GUILESS_MAIN(TestSymmetricForest)
#include "tst_symmetric_forest.moc"
