// SPDX-License-Identifier: Apache-2.0
#include <QSemaphore>
#include <QSignalSpy>
#include <QTest>
#include <QUndoStack>
#include <algorithm>
#include <atomic>
#include <random>

#include "designer/document/edits.hpp"
#include "designer/document/fabric_file.hpp"
#include "designer/jobs/assumption.hpp"
#include "designer/jobs/latest_job.hpp"
#include "designer/jobs/live_bound.hpp"
#include "presets/presets.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace std::chrono_literals;
using namespace Qt::StringLiterals;

namespace {

Model modelOf(const std::string& preset, const std::map<std::string, std::string>& arguments = {}) {
  return readModel(*presets::make(preset, arguments)).model;
}

}  // namespace

class TestDesignerJobs : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void bounds_data();
  void bounds();
  void cutsInWords();
  void tiedCuts();
  void cutsStayThroughUndo();
  void switchesAreNamed();
  void assumptions();
  void faultsNameTheirElements();
  void theLatestOrderWins();
  void cancelledWorkSaysNothing();
  void workOutlivesItsOwner();
  void liveBoundFollows();
  void solverAgreesWithNothingKept();
  void forwardingIsNamed();
};

void TestDesignerJobs::bounds_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<Collective>("collective");
  QTest::addColumn<QString>("headline");
  QTest::newRow("two DGX A100, allgather") << "dgx-a100" << Collective::allgather << "AllGather 346.67 GB/s = 1040/3";
  QTest::newRow("two DGX A100, reduce-scatter")
      << "dgx-a100" << Collective::reduceScatter << "ReduceScatter 346.67 GB/s = 1040/3";
  QTest::newRow("two DGX A100, allreduce") << "dgx-a100" << Collective::allreduce << "AllReduce 173.33 GB/s = 520/3";
}

void TestDesignerJobs::bounds() {
  QFETCH(QString, preset);
  QFETCH(Collective, collective);
  QFETCH(QString, headline);
  Document document;
  document.reset(modelOf(preset.toStdString(), {{"boxes", "2"}}), true);
  const Bound bound = computeBound(Snapshot::of(document), {collective, {}}, {});
  QCOMPARE(bound.headline(), headline);
  QCOMPARE(bound.errors(), 0);
  QVERIFY(!bound.cuts.empty());
  for (const CutView& cut : bound.cuts) {
    QCOMPARE(cut.gpusInside + cut.gpusOutside, 16);
    // What crosses adds up to what the cut says.
    Rational sum(0);
    for (const Crossing& crossing : cut.crossings) {
      sum += crossing.bandwidth;
    }
    QVERIFY(sum == cut.exitBandwidth);
  }
}

void TestDesignerJobs::cutsInWords() {
  Document document;
  document.reset(modelOf("dgx-a100", {{"boxes", "4"}}), true);
  const Bound bound = computeBound(Snapshot::of(document), {}, {});
  QCOMPARE(bound.headline(), u"AllGather 266.67 GB/s = 800/3"_s);
  QCOMPARE(bound.cuts.front().words.section(u" · "_s, 1), u"24 GPUs · 200 GB/s"_s);
  QVERIFY2(bound.cuts.front().words.startsWith(u"into b"_s), qPrintable(bound.cuts.front().words));
  QVERIFY2(bound.cuts.front().sentence.contains(u"8 links of 200 GB/s together"_s),
           qPrintable(bound.cuts.front().sentence));
}

void TestDesignerJobs::tiedCuts() {
  Document document;
  document.reset(modelOf("dgx-a100", {{"boxes", "128"}}), true);
  const Bound bound = computeBound(Snapshot::of(document), {}, {});
  QCOMPARE(bound.cutCount, std::int64_t{128});
  QVERIFY(bound.isCutCountExact);
  QCOMPARE(bound.cuts.size(), std::size_t{64});
  for (std::size_t i = 0; i < bound.cuts.size(); ++i) {
    QCOMPARE(bound.cuts[i].place, u"b%1"_s.arg(i));
  }
}

/// Whatever was edited before, the same fabric shows the same cuts in the same order.
void TestDesignerJobs::cutsStayThroughUndo() {
  Document document;
  document.reset(modelOf("dgx-a100", {{"boxes", "2"}}), true);
  BoundSolver solver;
  const auto places = [](const Bound& bound) {
    QStringList names;
    for (const CutView& cut : bound.cuts) {
      names << cut.place;
    }
    return names;
  };
  const QStringList before = places(solver.compute(Snapshot::of(document), {}, {}));
  QCOMPARE(before.front(), u"b0g0"_s);
  QCOMPARE(before.back(), u"b1g7"_s);
  std::vector<LinkId> links;
  for (const auto& [id, link] : document.model().links()) {
    links.push_back(id);
  }
  for (std::size_t i = 0; i < links.size(); i += 7) {
    document.edit(u"x"_s, [&](Edit& edit) {
      edits::changeLinks(edit, std::vector{links[i]}, [](Link& link) { link.bandwidth = "7"; });
    });
    (void)solver.compute(Snapshot::of(document), {}, {});
    document.undoStack()->undo();
    QCOMPARE(places(solver.compute(Snapshot::of(document), {}, {})), before);
  }
}

/// Two boxes on one switch: the cut is round a box alone. Where a switch must be inside, it is named.
void TestDesignerJobs::switchesAreNamed() {
  Document document;
  const auto read = [&](const char* crossing) {
    const std::string text = std::string(R"({"nodes":[{"id":"a0","kind":"gpu","box":"a"},
      {"id":"a1","kind":"gpu","box":"a"},{"id":"b0","kind":"gpu","box":"b"},{"id":"b1","kind":"gpu","box":"b"},
      {"id":"left","kind":"switch"},{"id":"right","kind":"switch"}],
      "links":[{"src":"a0","dst":"left","bandwidth":40},{"src":"a1","dst":"left","bandwidth":40},
      {"src":"b0","dst":"right","bandwidth":40},{"src":"b1","dst":"right","bandwidth":40},
      {"src":"left","dst":"right","bandwidth":)") +
                             crossing + "}]}";
    document.reset(readFabricFile(text, "")->model, true);
    return computeBound(Snapshot::of(document), {}, {});
  };
  const Bound narrow = read("10");
  QCOMPARE(narrow.cuts.front().place, u"a and left"_s);
  QVERIFY2(narrow.cuts.front().sentence.contains(u"must leave a and left through 1 link of 10 GB/s."_s),
           qPrintable(narrow.cuts.front().sentence));
  const Bound even = read("80");
  for (const CutView& cut : even.cuts) {
    QVERIFY2(!cut.place.contains(u"left"_s) && !cut.place.contains(u"right"_s), qPrintable(cut.place));
  }
}

void TestDesignerJobs::assumptions() {
  Document document;
  document.reset(modelOf("dgx-a100", {{"boxes", "2"}}), true);
  const Snapshot snapshot = Snapshot::of(document);
  const auto assume = [&](const Assumption& assumption) { return computeBound(assumed(snapshot, assumption), {}, {}); };
  const Rational now = *computeBound(snapshot, {}, {}).algbw;
  NodeId gpu;
  for (const auto& [id, node] : document.model().nodes()) {
    gpu = !gpu.isValid() && node.kind() == fabric::NodeKind::gpu ? id : gpu;
  }
  const Bound without = assume({.failed = {gpu}});
  QCOMPARE(without.gpuCount, 15);
  QVERIFY(without.algbw.has_value());
  for (const CutView& cut : without.cuts) {
    QVERIFY(!std::binary_search(cut.inside.begin(), cut.inside.end(), gpu));
  }
  std::set<LinkId> all;
  for (const auto& [id, link] : document.model().links()) {
    all.insert(id);
  }
  QVERIFY(*assume({.changed = {*all.begin()}, .change = Rational(0)}).algbw == now);
  const Bound slow = assume({.changed = all, .change = Rational(-20)});
  QVERIFY(*slow.algbw < now);
  // Of parallel links one fails; a link without bandwidth is none.
  Snapshot many = snapshot;
  auto facts = *snapshot.facts;
  facts.links.front().count = 3;
  many.facts = std::make_shared<const fabric::Description>(std::move(facts));
  QCOMPARE(assumed(many, {.failed = {snapshot.links.front()}}).facts->links.front().count, 2);
  QCOMPARE(assumed(snapshot, {.failed = {snapshot.links.front()}}).links.size(), snapshot.links.size() - 1);
  QCOMPARE(assumed(snapshot, {.changed = all, .change = Rational(-1'000'000)}).links.size(), std::size_t{0});
}

void TestDesignerJobs::faultsNameTheirElements() {
  Document document;
  document.reset(readFabricFile(R"({"nodes":[{"id":"a","kind":"gpu"},{"id":"b\"","kind":"toaster"}],
    "links":[{"src":"a","dst":"b\"","bandwidth":1},{"src":"a","dst":"zz","bandwidth":1}]})",
                                "")
                     ->model,
                 true);
  const Bound bound = computeBound(Snapshot::of(document), {}, {});
  QVERIFY(bound.errors() >= 2);
  QVERIFY(!bound.algbw);
  QVERIFY(!bound.why.isEmpty());
  QVERIFY(std::count(bound.culprits.begin(), bound.culprits.end(), ElementId(NodeId{2})) > 0);
  QVERIFY(std::count(bound.culprits.begin(), bound.culprits.end(), ElementId(LinkId{2})) > 0);
}

void TestDesignerJobs::theLatestOrderWins() {
  std::vector<int> answers;
  LatestJob<int> job([&](int answer) { answers.push_back(answer); }, 0ms);
  std::atomic<int> stopped = 0;
  const auto untilStopped = [&](std::stop_token stop) {
    while (!stop.stop_requested()) {
      QThread::msleep(1);
    }
    ++stopped;
    return -1;
  };
  job.submit(untilStopped);
  job.submit(untilStopped);
  job.submit([](std::stop_token) { return 3; });
  QVERIFY(QTest::qWaitFor([&] { return !answers.empty(); }));
  QCOMPARE(answers, std::vector<int>{3});
  QCOMPARE(stopped.load(), 1);
  // With grace, work that is nearly done gets done.
  answers.clear();
  LatestJob<int> patient([&](int answer) { answers.push_back(answer); }, 60000ms);
  auto gate = std::make_shared<QSemaphore>();
  patient.submit([gate](std::stop_token) {
    gate->acquire();
    return 1;
  });
  patient.submit([](std::stop_token) { return 2; });
  gate->release();
  QVERIFY(QTest::qWaitFor([&] { return answers.size() == 2; }));
  QCOMPARE(answers, (std::vector<int>{1, 2}));
}

void TestDesignerJobs::cancelledWorkSaysNothing() {
  std::vector<int> answers;
  LatestJob<int> job([&](int answer) { answers.push_back(answer); }, 0ms);
  auto gate = std::make_shared<QSemaphore>();
  job.submit([gate](std::stop_token) {
    gate->acquire();
    return 1;
  });
  job.cancel();
  gate->release();
  QVERIFY(QTest::qWaitFor([&] { return !job.isRunning(); }));
  QVERIFY(answers.empty());
  job.submit([](std::stop_token) { return 2; });
  QVERIFY(QTest::qWaitFor([&] { return answers == std::vector<int>{2}; }));
}

void TestDesignerJobs::workOutlivesItsOwner() {
  auto started = std::make_shared<QSemaphore>();
  auto gate = std::make_shared<QSemaphore>();
  auto done = std::make_shared<QSemaphore>();
  {
    LatestJob<int> job([](int) { QFAIL("nobody is there to hear it"); }, 0ms);
    job.submit([=](std::stop_token) {
      started->release();
      gate->acquire();
      done->release();
      return 1;
    });
    started->acquire();
  }
  gate->release();
  QVERIFY(done->tryAcquire(1, 10000));
  QTest::qWait(10);
}

void TestDesignerJobs::liveBoundFollows() {
  Document document;
  LiveBound live(document);
  QVERIFY(!live.isCurrent());
  QVERIFY(QTest::qWaitFor([&] { return live.isCurrent(); }));
  QVERIFY(!live.bound()->algbw);
  document.reset(modelOf("dgx-a100", {{"boxes", "2"}}), true);
  QVERIFY(!live.isCurrent());
  QVERIFY(!live.bound());
  // A row of edits ends with the answer to the last.
  for (int i = 1; i <= 50; ++i) {
    document.edit(u"x"_s, [&](Edit& edit) {
      edits::changeLinks(edit, std::vector{LinkId{17}}, [&](Link& link) { link.bandwidth = std::to_string(i); });
    });
    QVERIFY(!live.isCurrent());
    QTest::qWait(1);
  }
  QVERIFY(QTest::qWaitFor([&] { return live.isCurrent(); }, 30000));
  const Bound alone = computeBound(Snapshot::of(document), {}, {});
  QCOMPARE(live.bound()->headline(), alone.headline());
  live.setQuestion({Collective::broadcast, document.model().nodeNamed("b1g3")});
  QVERIFY(!live.isCurrent());
  QVERIFY(QTest::qWaitFor([&] { return live.isCurrent(); }, 30000));
  QVERIFY2(live.bound()->headline().startsWith(u"Broadcast "_s), qPrintable(live.bound()->headline()));
}

void TestDesignerJobs::solverAgreesWithNothingKept() {
  constexpr std::uint32_t kSeed = 20240611;
  qInfo("seed %u", kSeed);
  std::mt19937 random(kSeed);
  Document document;
  document.reset(modelOf("dgx-a100", {{"boxes", "2"}}), true);
  BoundSolver solver;
  const NodeId first = document.model().nodeNamed("b0g0");
  const std::vector<Question> questions = {{}, {Collective::allreduce, {}}, {Collective::reduce, first}};
  for (int step = 0; step < 60; ++step) {
    const auto pick = [&](std::uint32_t most) { return random() % most; };
    std::vector<LinkId> links;
    for (const auto& [id, link] : document.model().links()) {
      links.push_back(id);
    }
    const LinkId chosen = links[pick(static_cast<std::uint32_t>(links.size()))];
    document.edit(u"x"_s, [&](Edit& edit) {
      if (step % 20 == 19) {
        edits::remove(edit, {edit.base().find(chosen)->tail.node});
      } else if (step % 10 == 7) {
        // A name is a name: the solver must follow the element, and the root too.
        (void)edits::rename(edit, step == 27 ? first : edit.base().find(chosen)->tail.node, "n" + std::to_string(step));
      } else {
        edits::changeLinks(edit, std::vector{chosen},
                           [&](Link& link) { link.bandwidth = std::to_string(1 + pick(90)); });
      }
    });
    const Question& question = questions[static_cast<std::size_t>(step / 5) % questions.size()];
    const Snapshot snapshot = Snapshot::of(document);
    const Bound followed = solver.compute(snapshot, question, {});
    const Bound alone = computeBound(snapshot, question, {});
    QCOMPARE(followed.headline(), alone.headline());
    QCOMPARE(followed.why, alone.why);
    QCOMPARE(followed.gpuCount, alone.gpuCount);
    const auto fabric = fabric::Fabric::build(*snapshot.facts);
    if (fabric) {
      forestcoll::Request request{.collective = question.collective};
      request.allreduceBudget = 0ms;
      if (question.collective == Collective::reduce) {
        request.root = 0;
        const auto at = std::find(snapshot.nodes.begin(), snapshot.nodes.end(), question.root);
        if (at != snapshot.nodes.end()) {
          request.root = fabric->nodes()[at - snapshot.nodes.begin()].rank;
        }
      }
      const auto optimum = forestcoll::optimum(*fabric, request);
      QCOMPARE(followed.algbw.has_value(), optimum.hasValue());
      if (optimum) {
        QCOMPARE(followed.algbw->toString(), optimum->algbw.toString());
      }
    }
    // Every cut proves the bound by what crosses it.
    for (const CutView& cut : followed.cuts) {
      QVERIFY(std::is_sorted(cut.inside.begin(), cut.inside.end()));
      Rational sum(0);
      for (const Crossing& crossing : cut.crossings) {
        sum += crossing.bandwidth;
      }
      QCOMPARE(sum.toString(), cut.exitBandwidth.toString());
      if (question.collective == Collective::allgather && followed.note.isEmpty()) {
        QCOMPARE((Rational(followed.gpuCount) * sum / Rational(cut.gpusInside)).toString(), followed.algbw->toString());
      }
    }
    // The state behind the answer is there to be asked, for this very question alone.
    QCOMPARE(solver.stateOf(snapshot.factRevision, question).has_value(), followed.algbw.has_value());
    QVERIFY(!solver.stateOf(snapshot.factRevision + 1, question));
    QVERIFY(!solver.stateOf(snapshot.factRevision, {Collective::broadcast, {}}));
  }
}

void TestDesignerJobs::forwardingIsNamed() {
  // A switch that takes in more than it can put out: what it forwards bounds the fabric, not its cuts alone.
  Document document;
  document.reset(readFabricFile(R"({"nodes":[{"id":"a","kind":"gpu"},{"id":"b","kind":"gpu"},{"id":"c","kind":"gpu"},
    {"id":"s","kind":"switch"}],"links":[
    {"src":"a","dst":"s","bandwidth":10,"duplex":false},{"src":"b","dst":"s","bandwidth":10},
    {"src":"c","dst":"s","bandwidth":10},{"src":"b","dst":"a","bandwidth":3,"duplex":false}]})",
                                "")
                     ->model,
                 true);
  const Snapshot snapshot = Snapshot::of(document);
  const Bound bound = BoundSolver().compute(snapshot, {}, {});
  QVERIFY2(!bound.note.isEmpty(), qPrintable(bound.why));
  const auto optimum = forestcoll::optimum(*fabric::Fabric::build(*snapshot.facts), {});
  QVERIFY(optimum.hasValue());
  QCOMPARE(bound.algbw->toString(), optimum->algbw.toString());
}

QTEST_GUILESS_MAIN(TestDesignerJobs)
#include "tst_designer_jobs.moc"
