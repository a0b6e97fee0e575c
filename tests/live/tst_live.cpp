// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <map>
#include <random>
#include <stop_token>
#include <string>
#include <vector>

#include "forestcoll/forestcoll.hpp"
#include "live/cut_bound.hpp"
#include "live/every_cut.hpp"
#include "live/prices.hpp"
#include "presets/presets.hpp"
#include "support/must.hpp"

using namespace coppice;
using namespace coppice::test;

class TestLive : public QObject {
  Q_OBJECT

private slots:
  void againstEveryCut_data();
  void againstEveryCut();
  void againstFromNothing_data();
  void againstFromNothing();
  void wideNumbers();
  void cutOff();
  void wrongRequests_data();
  void wrongRequests();
  void cancelled();
  void ofAnEditedFabric();
  void agreesWithOptimum_data();
  void agreesWithOptimum();
};

void TestLive::againstEveryCut_data() {
  addCollectives();
}

void TestLive::againstEveryCut() {
  QFETCH(int, collective);
  QFETCH(bool, weighted);
  for (unsigned seed = 0; seed < 120; ++seed) {
    CutDice dice(1000 * seed + static_cast<unsigned>(collective));
    Scene scene = randomScene(dice, static_cast<Collective>(collective), weighted, kMaxNodes);
    const Answer first = must(boundOf(scene.description, scene.request)).answer();
    QCOMPARE(told(toFraction(first.algbw)), told(scene.reference.algbw().toString()));
    for (int i = 0; i < 14; ++i) {
      const std::string place = "seed " + std::to_string(seed) + ", edit " + std::to_string(i);
      Reference changed = scene.reference;
      if (!randomEdit(dice, changed, weighted, kMaxNodes, i) || (scene.root >= 0 && !changed.isAlive[scene.root])) {
        continue;
      }
      const auto bound = boundOf(changed.description(), changed.request(scene.request, scene.root));
      if (changed.total() == 0) {
        QVERIFY2(!bound && bound.error().code == ErrorCode::badUsage, place.c_str());
        continue;
      }
      QVERIFY2(bound.hasValue(), (place + (bound ? "" : ": " + describe(bound.error()))).c_str());
      const Answer& answer = bound->answer();
      const Rational want = changed.algbw();
      QVERIFY2(answer.algbw.gigabytesPerSecond() == want,
               (place + ": " + toFraction(answer.algbw) + ", want " + want.toString()).c_str());
      QVERIFY2(answer.isBalanced == changed.isBalanced(), place.c_str());
      QVERIFY2(answer.finding.has_value() == want.isZero(), place.c_str());
      const std::string fault = cutFault(changed, answer);
      QVERIFY2(fault.empty(), (place + ": " + fault).c_str());
      if (!dice.chance(25)) {
        scene.reference = changed;
      }
    }
  }
}

void TestLive::againstFromNothing_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<QString>("key");
  QTest::addColumn<QString>("value");
  QTest::newRow("a100") << "dgx-a100"
                        << "boxes"
                        << "4";
  QTest::newRow("mi250") << "mi250"
                         << "boxes"
                         << "3";
  QTest::newRow("h100 rails") << "dgx-h100"
                              << "network"
                              << "rails";
  QTest::newRow("fat tree") << "fat-tree-2"
                            << "spines"
                            << "3";
  QTest::newRow("3-tier fat tree") << "fat-tree-3"
                                   << "pods"
                                   << "4";
  QTest::newRow("dragonfly") << "dragonfly"
                             << "a"
                             << "4";
  QTest::newRow("torus") << "torus"
                         << "dims"
                         << "4x4x2";
  QTest::newRow("irregular boxes") << "cluster"
                                   << "gpus"
                                   << "8,3";
}

/// Links of all speeds, slower, faster and gone: where parts were equal, few are.
void TestLive::againstFromNothing() {
  QFETCH(QString, preset);
  QFETCH(QString, key);
  QFETCH(QString, value);
  fabric::Description description =
      must(presets::make(preset.toStdString(), {{key.toStdString(), value.toStdString()}}));
  for (const Collective collective : {Collective::allgather, Collective::reduceScatter}) {
    forestcoll::Request request;
    request.collective = collective;
    fabric::EditedFabric fabric = edited(description);
    CutDice dice(77);
    for (int i = 0; i < 120; ++i) {
      const int chosen = dice.below(static_cast<int>(description.links.size()));
      fabric::LinkDescription link = description.links[chosen];
      const char* bandwidths[] = {"1/2", "10", "12.5", "49/3", "50", "200"};
      link.bandwidth = bandwidths[dice.below(6)];
      link.duplex = dice.chance(80);
      const auto linkKey = static_cast<fabric::Key>(description.nodes.size()) + static_cast<fabric::Key>(chosen) + 1;
      const bool isGone = dice.chance(20);
      fabric.apply({{}, {{linkKey, 0, 0, isGone ? std::nullopt : std::optional(link)}}});
      const Answer answer = must(CutBound::create(fabric, request)).answer();
      const Rational want = algbwFromNothing(fabric, collective);
      QVERIFY2(answer.algbw.gigabytesPerSecond() == want,
               (std::to_string(i) + ": " + toFraction(answer.algbw) + ", from nothing " + want.toString()).c_str());
      QCOMPARE(answer.finding.has_value(), want.isZero());
      if (want.isZero() || i % 3 == 0) {
        fabric.apply({{}, {{linkKey, 0, 0, description.links[chosen]}}});
      }
    }
  }
}

void TestLive::wideNumbers() {
  // Flows that need 128 bits: capacities times demands beyond 2^60.
  fabric::Description huge = star(4, "400000000000000001");
  QCOMPARE(told(toFraction(must(boundOf(huge)).answer().algbw)),
           told((Rational(400000000000000001) * Rational(4, 3)).toString()));
  std::mt19937_64 random(3);
  for (int i = 0; i < 60; ++i) {
    fabric::LinkDescription& each = huge.links[random() % 4];
    each.bandwidth = std::to_string(1 + random() % 400000000000000001U);
    QCOMPARE(told(toFraction(must(boundOf(huge)).answer().algbw)),
             told(algbwFromNothing(edited(huge), Collective::allgather).toString()));
  }

  // Wide fractions, and then one that no common unit takes in.
  fabric::Description description = star(3, "1000000007/1000003");
  description.links[1].bandwidth = "999999937/999983";
  // Every GPU takes in two shards: the slowest link decides.
  const Rational slow = std::min(Rational(1000000007, 1000003), Rational(999999937, 999983));
  QCOMPARE(told(toFraction(must(boundOf(description)).answer().algbw)), told((slow * Rational(3, 2)).toString()));
  description.links[2].bandwidth = "4000000000000000037/3000000000000000053";
  const auto refused = boundOf(description);
  QVERIFY(!refused.hasValue());
  QCOMPARE(refused.error().code, ErrorCode::overflow);
}

void TestLive::cutOff() {
  for (const Collective collective : {Collective::allgather, Collective::reduceScatter, Collective::allreduce}) {
    forestcoll::Request request;
    request.collective = collective;
    fabric::Description description = star(4);
    description.links[2] = {.src = "s", .dst = "g2", .bandwidth = "10", .duplex = false};
    Answer answer = must(boundOf(description, request)).answer();
    QVERIFY(answer.algbw.isZero() && !answer.inverseRate && answer.finding);
    QCOMPARE(answer.finding->code, ErrorCode::infeasible);
    QCOMPARE(told(toText(answer.finding->where.element)), told("node \"g2\""));
    QVERIFY2(answer.finding->text.find("from it") != std::string::npos, answer.finding->text.c_str());
    QVERIFY(answer.cut.exitBandwidth.isZero());
    description.links.clear();
    answer = must(boundOf(description, request)).answer();
    QVERIFY(answer.algbw.isZero() && answer.finding);
    description.nodes = {{.id = "g3"}, {.id = "s", .kind = "switch"}};
    answer = must(boundOf(description, request)).answer();
    QVERIFY(answer.algbw.isZero() && answer.finding);
    QVERIFY2(answer.finding->text.find("only one GPU") != std::string::npos, answer.finding->text.c_str());
    description.nodes.clear();
    answer = must(boundOf(description, request)).answer();
    QVERIFY2(answer.finding && answer.finding->text.find("no GPU") != std::string::npos, "without nodes");
  }
}

void TestLive::wrongRequests_data() {
  QTest::addColumn<int>("collective");
  QTest::addColumn<int>("root");
  QTest::addColumn<QString>("amounts");
  QTest::newRow("no root") << static_cast<int>(Collective::broadcast) << -9 << "";
  QTest::newRow("root out of range") << static_cast<int>(Collective::reduce) << 4 << "";
  QTest::newRow("negative root") << static_cast<int>(Collective::reduce) << -1 << "";
  QTest::newRow("root too many") << static_cast<int>(Collective::allgather) << 0 << "";
  QTest::newRow("too few amounts") << static_cast<int>(Collective::allgather) << -9 << "1,2";
  QTest::newRow("negative amount") << static_cast<int>(Collective::allgather) << -9 << "1,2,-1,1";
  QTest::newRow("all zero") << static_cast<int>(Collective::reduceScatter) << -9 << "0,0,0,0";
  QTest::newRow("allreduce") << static_cast<int>(Collective::allreduce) << -9 << "1,1,1,1";
}

void TestLive::wrongRequests() {
  QFETCH(int, collective);
  QFETCH(int, root);
  QFETCH(QString, amounts);
  forestcoll::Request request;
  request.collective = static_cast<Collective>(collective);
  if (root != -9) {
    request.root = root;
  }
  for (const QString& amount : amounts.split(',', Qt::SkipEmptyParts)) {
    request.amounts.push_back(amount.toInt());
  }
  const auto bound = boundOf(star(4), request);
  QVERIFY(!bound.hasValue());
  QCOMPARE(bound.error().code, ErrorCode::badUsage);
}

void TestLive::cancelled() {
  const auto fabric = must(fabric::Fabric::build(must(presets::make("mi250", {{"boxes", "3"}}))));
  std::stop_source stop;
  stop.request_stop();
  QCOMPARE(CutBound::create(fabric, {}, {{}, stop.get_token()}).error().code, ErrorCode::cancelled);
  // In the middle of the work, too.
  std::stop_source later;
  const Progress progress{[&](std::string_view, double) { later.request_stop(); }, later.get_token()};
  const CutBound bound = must(CutBound::create(fabric, {}));
  QCOMPARE(live::rankPrices(bound, live::linkClasses(fabric), progress).error().code, ErrorCode::cancelled);
}

/// One fabric after another as deltas.
void TestLive::ofAnEditedFabric() {
  CutDice dice(11);
  for (int round = 0; round < 60; ++round) {
    fabric::EditedFabric fabric;
    std::map<std::string, fabric::Key> keys;
    fabric::Key nextLink = 1;
    fabric::Key firstLink = 1;
    for (int i = 0; i < 5; ++i) {
      const Scene next = randomScene(dice, Collective::allgather, false, kMaxNodes);
      fabric::FabricDelta delta;
      for (fabric::Key link = firstLink; link < nextLink; ++link) {
        delta.links.push_back({link, 0, 0, std::nullopt});
      }
      std::map<std::string, fabric::Key> before = keys;
      for (const fabric::NodeDescription& node : next.description.nodes) {
        before.erase(node.id);
        const fabric::Key key = keys.try_emplace(node.id, static_cast<fabric::Key>(keys.size()) + 1).first->second;
        delta.nodes.push_back({key, node});
      }
      for (const auto& [id, key] : before) {
        delta.nodes.push_back({key, std::nullopt});
      }
      firstLink = nextLink;
      for (const fabric::LinkDescription& link : next.description.links) {
        // Half of the links know their ends, half name them.
        const bool isKnown = dice.chance(50);
        delta.links.push_back({nextLink++, isKnown ? keys.at(link.src) : 0, isKnown ? keys.at(link.dst) : 0, link});
      }
      fabric.apply(std::move(delta));
      QVERIFY(fabric.isSound());
      const Answer answer = must(CutBound::create(fabric, {})).answer();
      QCOMPARE(told(toFraction(answer.algbw)), told(next.reference.algbw().toString()));
      QCOMPARE(answer.gpuCount, fabric.gpuCount());
    }
  }
}

void TestLive::agreesWithOptimum_data() {
  QTest::addColumn<int>("collective");
  QTest::newRow("allgather") << static_cast<int>(Collective::allgather);
  QTest::newRow("reduce_scatter") << static_cast<int>(Collective::reduceScatter);
  QTest::newRow("allreduce") << static_cast<int>(Collective::allreduce);
  QTest::newRow("broadcast") << static_cast<int>(Collective::broadcast);
  QTest::newRow("reduce") << static_cast<int>(Collective::reduce);
  QTest::newRow("gather") << static_cast<int>(Collective::gather);
  QTest::newRow("scatter") << static_cast<int>(Collective::scatter);
}

void TestLive::agreesWithOptimum() {
  QFETCH(int, collective);
  forestcoll::Request request;
  request.collective = static_cast<Collective>(collective);
  if (isRooted(request.collective)) {
    request.root = 3;
  }
  request.allreduceBudget = {};
  for (const char* name : {"dgx-a100", "mi250", "dragonfly", "fat-tree-3", "fig-4-5"}) {
    const auto fabric = must(fabric::Fabric::build(must(presets::make(name, {}))));
    const Answer answer = must(CutBound::create(fabric, request)).answer();
    const auto optimum = must(forestcoll::optimum(fabric, request));
    QVERIFY(answer.isBalanced);
    QCOMPARE(told(toFraction(answer.algbw)), told(toFraction(optimum.algbw)));
    QCOMPARE(told(toFraction(*answer.inverseRate)), told(toFraction(optimum.inverseRate)));
  }
}

QTEST_GUILESS_MAIN(TestLive)
#include "tst_live.moc"
