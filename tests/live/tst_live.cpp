// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <map>
#include <random>
#include <stop_token>
#include <string>
#include <vector>

#include "forestcoll/forestcoll.hpp"
#include "live/bound_follower.hpp"
#include "live/every_cut.hpp"
#include "live/failures.hpp"
#include "live/live_bound.hpp"
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
  void undoAll();
  void cutOffAndBack();
  void rootGoesAndComesBack();
  void wrongEdits_data();
  void wrongEdits();
  void wrongRequests_data();
  void wrongRequests();
  void cancelled();
  void followsAnEditedFabric();
  void invalidDescriptions();
  void boxes();
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
    auto live = LiveBound::create(scene.description, scene.request);
    QVERIFY2(live.hasValue(), live ? "" : describe(live.error()).c_str());
    QCOMPARE(told(toFraction(must(live->bound()).algbw)), told(scene.reference.algbw().toString()));
    for (int i = 0; i < 14; ++i) {
      const std::string place = "seed " + std::to_string(seed) + ", edit " + std::to_string(i);
      Reference changed = scene.reference;
      const std::vector<Edit> edits = randomEdit(dice, changed, weighted, kMaxNodes, i);
      if (edits.empty()) {
        continue;
      }
      const Rational want = changed.algbw();
      const auto probed = live->probe(edits);
      QVERIFY2(probed.hasValue(), place.c_str());
      QVERIFY2(probed->algbw.gigabytesPerSecond() == want,
               (place + ": probe " + toFraction(probed->algbw) + ", want " + want.toString()).c_str());
      if (dice.chance(30)) {
        const auto still = live->bound();
        QVERIFY2(still->algbw.gigabytesPerSecond() == scene.reference.algbw(),
                 (place + ": the probe left something").c_str());
        continue;
      }
      const auto answer = live->apply(edits);
      QVERIFY2(answer.hasValue(), place.c_str());
      QVERIFY2(answer->algbw.gigabytesPerSecond() == want,
               (place + ": " + toFraction(answer->algbw) + ", want " + want.toString()).c_str());
      QVERIFY2(answer->isBalanced == changed.isBalanced(), place.c_str());
      QVERIFY2(answer->finding.has_value() == want.isZero(), place.c_str());
      const std::string fault = cutFault(changed, *live, *answer);
      QVERIFY2(fault.empty(), (place + ": " + fault).c_str());
      if (dice.chance(25)) {
        const auto undone = live->undo();
        QVERIFY2(undone->algbw.gigabytesPerSecond() == scene.reference.algbw(), (place + ": undo").c_str());
      } else {
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

void TestLive::againstFromNothing() {
  QFETCH(QString, preset);
  QFETCH(QString, key);
  QFETCH(QString, value);
  const auto description = presets::make(preset.toStdString(), {{key.toStdString(), value.toStdString()}});
  for (const Collective collective : {Collective::allgather, Collective::reduceScatter}) {
    forestcoll::Request request;
    request.collective = collective;
    auto live = LiveBound::create(must(fabric::Fabric::build(must(description))), request);
    CutDice dice(77);
    for (int i = 0; i < 250; ++i) {
      const std::vector<live::LiveLink> links = live->links();
      const live::LiveLink& chosen = links[dice.below(static_cast<int>(links.size()))];
      std::vector<Edit> edits;
      const Rational factors[] = {Rational(1, 2), 2, Rational(9, 10), Rational(5, 4), 1, 0};
      const Rational factor = factors[dice.below(6)];
      const Rational was = std::max(chosen.forward, chosen.backward).gigabytesPerSecond();
      // Back to near the start now and then: otherwise the bandwidths' denominators grow without end.
      const Rational next = i % 7 == 6 ? Rational(50) : Rational((was * factor * Rational(2)).floor(), 2);
      switch (dice.below(6)) {
        case 0:
          edits.push_back(live::SetArc{live->id(chosen.a), live->id(chosen.b), Bandwidth(next)});
          break;
        case 1:
          edits.push_back(live::RemoveNode{live->id(chosen.a)});
          break;
        default:
          edits.push_back(live::SetLink{live->id(chosen.a), live->id(chosen.b), Bandwidth(next)});
          break;
      }
      const auto answer = live->apply(edits);
      QVERIFY2(answer.hasValue(), answer ? "" : describe(answer.error()).c_str());
      const Rational want = algbwFromNothing(*live, collective);
      QVERIFY2(answer->algbw.gigabytesPerSecond() == want,
               (std::to_string(i) + ": " + toFraction(answer->algbw) + ", from nothing " + want.toString()).c_str());
      if (want.isZero() || i % 3 == 0) {
        const auto undone = live->undo();
        QVERIFY(undone.hasValue());
        QVERIFY2(undone->algbw.gigabytesPerSecond() == algbwFromNothing(*live, collective),
                 (std::to_string(i) + ": undo").c_str());
      }
    }
  }
}

void TestLive::wideNumbers() {
  // Flows that need 128 bits: capacities times demands beyond 2^60.
  auto huge = LiveBound::create(star(4, "400000000000000001"), {});
  QVERIFY2(huge.hasValue(), huge ? "" : describe(huge.error()).c_str());
  QCOMPARE(told(toFraction(must(huge->bound()).algbw)),
           told((Rational(400000000000000001) * Rational(4, 3)).toString()));
  std::mt19937_64 random(3);
  for (int i = 0; i < 60; ++i) {
    const std::string gpu = "g" + std::to_string(random() % 4);
    const Bandwidth next(Rational(static_cast<std::int64_t>(1 + random() % 400000000000000001U)));
    const Edit edit = random() % 2 == 0 ? Edit(live::SetArc{gpu, "s", next}) : Edit(live::SetLink{gpu, "s", next});
    const auto answer = huge->apply({&edit, 1});
    QVERIFY2(answer.hasValue(), answer ? "" : describe(answer.error()).c_str());
    QCOMPARE(told(toFraction(answer->algbw)), told(algbwFromNothing(*huge, Collective::allgather).toString()));
  }

  // Wide fractions, and then one that no common unit takes in.
  fabric::Description description = star(3, "1000000007/1000003");
  description.links[1].bandwidth = "999999937/999983";
  auto live = LiveBound::create(description, {});
  QVERIFY2(live.hasValue(), live ? "" : describe(live.error()).c_str());
  // Every GPU takes in two shards: the slowest link decides.
  const Rational slow = std::min(Rational(1000000007, 1000003), Rational(999999937, 999983));
  QCOMPARE(told(toFraction(must(live->bound()).algbw)), told((slow * Rational(3, 2)).toString()));
  const auto before = must(live->bound()).algbw;
  const Edit wide = live::SetLink{"g2", "s", Bandwidth(Rational(4000000000000000037, 3000000000000000053))};
  const auto refused = live->apply({&wide, 1});
  QVERIFY(!refused.hasValue());
  QCOMPARE(refused.error().code, ErrorCode::overflow);
  QCOMPARE(told(toFraction(must(live->bound()).algbw)), told(toFraction(before)));
  const Edit plain = live::SetLink{"g2", "s", Bandwidth(Rational(5))};
  QCOMPARE(told(toFraction(must(live->apply({&plain, 1})).algbw)), told("15/2"));
}

void TestLive::undoAll() {
  const auto description = presets::make("dgx-a100", {{"boxes", "3"}});
  auto live = LiveBound::create(must(description), {});
  const Bandwidth start = must(live->bound()).algbw;
  CutDice dice(5);
  std::vector<Bandwidth> values;
  for (int i = 0; i < 60; ++i) {
    const auto links = live->links();
    const live::LiveLink& each = links[dice.below(static_cast<int>(links.size()))];
    std::vector<Edit> edits{live::SetLink{live->id(each.a), live->id(each.b), Bandwidth(dice.bandwidth())}};
    if (i % 9 == 8) {
      edits = {live::RemoveNode{live->id(each.a)}};
    }
    values.push_back(must(live->bound()).algbw);
    QVERIFY(live->apply(edits).hasValue());
  }
  while (!values.empty()) {
    QVERIFY(live->canUndo());
    QCOMPARE(told(toFraction(must(live->undo()).algbw)), told(toFraction(values.back())));
    values.pop_back();
  }
  QVERIFY(!live->canUndo());
  QCOMPARE(must(live->bound()).algbw, start);
  QCOMPARE(live->undo().error().code, ErrorCode::badUsage);
}

void TestLive::cutOffAndBack() {
  for (const Collective collective : {Collective::allgather, Collective::reduceScatter, Collective::allreduce}) {
    forestcoll::Request request;
    request.collective = collective;
    auto live = LiveBound::create(star(4), request);
    const Bandwidth whole = must(live->bound()).algbw;
    const Edit oneWay = live::SetArc{"g2", "s", Bandwidth()};
    Answer answer = must(live->apply({&oneWay, 1}));
    QVERIFY(answer.algbw.isZero() && !answer.inverseRate && answer.finding);
    QCOMPARE(answer.finding->code, ErrorCode::infeasible);
    QCOMPARE(told(toText(answer.finding->where.element)), told("node \"g2\""));
    QVERIFY2(answer.finding->text.find("from it") != std::string::npos, answer.finding->text.c_str());
    QVERIFY(answer.cut.exitBandwidth.isZero());
    const Edit other = live::SetArc{"s", "g2", Bandwidth()};
    answer = must(live->apply({&other, 1}));
    QVERIFY(answer.algbw.isZero());
    QVERIFY(!live::rankFailures(*live, {}).hasValue());
    const Edit repair = live::SetLink{"s", "g2", Bandwidth(Rational(10))};
    QCOMPARE(must(live->apply({&repair, 1})).algbw, whole);
    const Edit gone[] = {live::RemoveNode{"g0"}, live::RemoveNode{"g1"}, live::RemoveNode{"g2"}};
    answer = must(live->apply(gone));
    QVERIFY(answer.algbw.isZero() && answer.finding);
    QVERIFY2(answer.finding->text.find("only one GPU") != std::string::npos, answer.finding->text.c_str());
    QCOMPARE(must(live->undo()).algbw, whole);
  }
}

void TestLive::rootGoesAndComesBack() {
  forestcoll::Request request;
  request.collective = Collective::broadcast;
  request.root = 1;
  auto live = LiveBound::create(star(4), request);
  QCOMPARE(told(toFraction(must(live->bound()).algbw)), told("10"));
  const Edit gone = live::RemoveNode{"g1"};
  const Answer answer = must(live->apply({&gone, 1}));
  QVERIFY(answer.finding && answer.finding->text.find("\"g1\"") != std::string::npos);
  const Edit back[] = {live::AddNode{"g1"}, live::SetLink{"g1", "s", Bandwidth(Rational(7))}};
  QCOMPARE(told(toFraction(must(live->apply(back)).algbw)), told("7"));
}

void TestLive::wrongEdits_data() {
  QTest::addColumn<int>("which");
  QTest::addColumn<QString>("text");
  QTest::newRow("unknown node") << 0 << "nowhere";
  QTest::newRow("below zero") << 1 << "below 0";
  QTest::newRow("itself") << 2 << "itself";
  QTest::newRow("id taken") << 3 << "already";
  QTest::newRow("unknown box") << 4 << "box";
  QTest::newRow("empty id") << 5 << "id";
  QTest::newRow("negative amount") << 6 << "amount";
  QTest::newRow("removed node") << 7 << "\"g1\"";
  QTest::newRow("second of two") << 8 << "nowhere";
}

void TestLive::wrongEdits() {
  QFETCH(int, which);
  QFETCH(QString, text);
  auto live = LiveBound::create(star(4), {});
  const Bandwidth before = must(live->bound()).algbw;
  const std::vector<std::vector<Edit>> cases = {
      {live::SetArc{"g0", "nowhere", Bandwidth(Rational(1))}},
      {live::ChangeBandwidth{"g0", "s", Bandwidth(Rational(-11)), true}},
      {live::SetLink{"g0", "g0", Bandwidth(Rational(1))}},
      {live::AddNode{"g3"}},
      {live::RemoveBox{"b7"}},
      {live::AddNode{""}},
      {live::AddNode{"x", fabric::NodeKind::gpu, "", -1}},
      {live::RemoveNode{"g1"}, live::SetLink{"g1", "s", Bandwidth(Rational(1))}},
      {live::SetLink{"g0", "s", Bandwidth(Rational(1))}, live::RemoveNode{"nowhere"}}};
  for (const bool isProbe : {true, false}) {
    const auto answer = isProbe ? live->probe(cases[which]) : live->apply(cases[which]);
    QVERIFY(!answer.hasValue());
    QCOMPARE(answer.error().code, ErrorCode::badUsage);
    QVERIFY2(QString::fromStdString(describe(answer.error())).contains(text), describe(answer.error()).c_str());
    QCOMPARE(must(live->bound()).algbw, before);
    QVERIFY(live->find("g1").has_value() && !live->canUndo());
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
  const auto live = LiveBound::create(star(4), request);
  QVERIFY(!live.hasValue());
  QCOMPARE(live.error().code, ErrorCode::badUsage);
}

void TestLive::cancelled() {
  auto live = LiveBound::create(must(presets::make("mi250", {{"boxes", "3"}})), {});
  std::stop_source stop;
  stop.request_stop();
  const auto links = live->links();
  const Edit edit = live::SetLink{live->id(links[3].a), live->id(links[3].b), Bandwidth(Rational(1, 3))};
  const auto answer = live->apply({&edit, 1}, {{}, stop.get_token()});
  QCOMPARE(answer.error().code, ErrorCode::cancelled);
  QCOMPARE(must(live->bound()).algbw, Bandwidth(algbwFromNothing(*live, Collective::allgather)));
  // In the middle of the work, too.
  std::stop_source later;
  const Progress progress{[&](std::string_view, double) { later.request_stop(); }, later.get_token()};
  const auto groups = live::linkClasses(*live);
  QCOMPARE(live::rankPrices(*live, groups, progress).error().code, ErrorCode::cancelled);
  QCOMPARE(must(live->bound()).algbw, Bandwidth(algbwFromNothing(*live, Collective::allgather)));
}

/// One fabric after another as deltas: what a follower says of each is what nothing kept says.
void TestLive::followsAnEditedFabric() {
  CutDice dice(11);
  for (int round = 0; round < 60; ++round) {
    fabric::EditedFabric edited;
    live::BoundFollower follower;
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
      edited.apply(std::move(delta));
      QVERIFY(edited.isSound());
      const Answer answer = must(follower.answer(edited, {}, 0));
      QCOMPARE(told(toFraction(answer.algbw)), told(next.reference.algbw().toString()));
      QCOMPARE(answer.gpuCount, edited.gpuCount());
      for (const live::NodeId node : answer.cut.nodes) {
        QCOMPARE(told(edited.find(follower.keyOf(node))->facts.id), told(follower.bound()->id(node)));
      }
    }
  }
}

void TestLive::invalidDescriptions() {
  std::vector<fabric::Description> faulty(7, star(3));
  faulty[0].links[0].dst = "x";
  faulty[1].links[0].bandwidth = "fast";
  faulty[2].links[0].bandwidth = "0";
  faulty[3].nodes[1].id = "g0";
  faulty[4].nodes[1].kind = "toaster";
  faulty[5].links[0].count = 0;
  faulty[6].nodes[1].rank = 7;
  for (const fabric::Description& description : faulty) {
    const auto made = LiveBound::create(description, {});
    QVERIFY(!made.hasValue());
    QVERIFY(made.error().code == ErrorCode::invalidFabric);
  }
  // GPUs apart are an answer, not an error.
  fabric::Description apart = star(3);
  apart.links.pop_back();
  QVERIFY(must(LiveBound::create(apart, {}).value().bound()).finding.has_value());
}

void TestLive::boxes() {
  auto live = LiveBound::create(must(presets::make("dgx-a100", {{"boxes", "3"}})), {});
  const auto two = LiveBound::create(must(presets::make("dgx-a100", {{"boxes", "2"}})), {});
  const Bandwidth three = must(live->bound()).algbw;
  const Edit gone = live::RemoveBox{"b2"};
  const Answer answer = must(live->apply({&gone, 1}));
  QCOMPARE(answer.gpuCount, 16);
  QCOMPARE(told(toFraction(answer.algbw)), told(toFraction(must(LiveBound(*two).bound()).algbw)));
  // The same box again, as one batch.
  const fabric::Description whole = must(presets::make("dgx-a100", {{"boxes", "3"}}));
  std::vector<Edit> back;
  for (const fabric::NodeDescription& node : whole.nodes) {
    if (node.box == "b2") {
      back.push_back(live::AddNode{node.id, *fabric::parseNodeKind(node.kind), node.box});
    }
  }
  for (const fabric::LinkDescription& each : whole.links) {
    if (each.src.starts_with("b2") || each.dst.starts_with("b2")) {
      back.push_back(live::ChangeBandwidth{each.src, each.dst, must(Bandwidth::parse(each.bandwidth)), true});
    }
  }
  QCOMPARE(told(toFraction(must(live->apply(back)).algbw)), told(toFraction(three)));
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
    auto live = LiveBound::create(fabric, request);
    const Answer answer = must(live->bound());
    const auto optimum = must(forestcoll::optimum(fabric, request));
    QVERIFY(answer.isBalanced);
    QCOMPARE(told(toFraction(answer.algbw)), told(toFraction(optimum.algbw)));
    QCOMPARE(told(toFraction(*answer.inverseRate)), told(toFraction(optimum.inverseRate)));
  }
}

QTEST_GUILESS_MAIN(TestLive)
#include "tst_live.moc"
