// SPDX-License-Identifier: Apache-2.0
#include <QSemaphore>
#include <QSignalSpy>
#include <QTest>
#include <QUndoStack>
#include <algorithm>
#include <array>
#include <atomic>
#include <random>

#include "designer/document/edits.hpp"
#include "designer/document/fabric_delta.hpp"
#include "designer/document/fabric_file.hpp"
#include "designer/jobs/assumption.hpp"
#include "designer/jobs/latest_job.hpp"
#include "designer/jobs/live_bound.hpp"
#include "forestcoll/tied_cuts.hpp"
#include "presets/presets.hpp"
#include "support/waiting.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace std::chrono_literals;
using namespace Qt::StringLiterals;

namespace {

Model modelOf(const std::string& preset, const std::map<std::string, std::string>& arguments = {}) {
  return readModel(*presets::make(preset, arguments)).model;
}

/// The solver gets the facts once and then what changes. @pre both live as long as each other
void follow(Document& document, BoundSolver& solver) {
  solver.reset(Snapshot::of(document));
  QObject::connect(&document, &Document::patched, &document, [&](const Patch& patch) {
    solver.change(deltaOf(document.model(), patch), document.factRevision());
  });
  QObject::connect(&document, &Document::changed, &document, [&](const ChangeEvent& event) {
    if (event.isReset) {
      solver.reset(Snapshot::of(document));
    }
  });
}

/// Anything a person can do to a document, at random; also what makes the fabric invalid.
class RandomEditor {
public:
  RandomEditor(Document& document, std::uint32_t seed) : m_document(document), m_random(seed) {}

  void step() {
    QUndoStack* stack = m_document.undoStack();
    if (below(3) != 0 && hasErrors(fabric::validate(*m_document.facts()))) {
      stack->undo();  // most faults do not last
    } else if (below(5) == 0 && stack->canUndo()) {
      stack->undo();
    } else if (below(6) == 0 && stack->canRedo()) {
      stack->redo();
    } else if (below(60) == 0) {
      m_document.reset(m_document.model(), true);
    } else {
      m_document.edit(u"x"_s, [&](Edit& edit) { change(edit); });
    }
  }

private:
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(m_random() % limit); }

  template <typename Element>
  Id<Element> any(const Table<Element>& table) {
    std::vector<Id<Element>> ids;
    for (const auto& [id, element] : table) {
      ids.push_back(id);
    }
    return ids.empty() ? Id<Element>{} : ids[below(static_cast<std::uint32_t>(ids.size()))];
  }

  void change(Edit& edit) {
    const Model& model = edit.base();
    const LinkId link = any(model.links());
    const NodeId node = any(model.nodes());
    const BoxId box = any(model.boxes());
    const auto changeLink = [&](const std::function<void(Link&)>& change) {
      if (link.isValid()) {
        edits::changeLinks(edit, std::vector{link}, change);
      }
    };
    const auto changeNode = [&](const std::function<void(Node&)>& change) {
      if (node.isValid()) {
        edits::changeNodes(edit, std::vector{node}, change);
      }
    };
    static const std::vector<std::string> kBandwidths = {"25",    "12.5", "25/3", "400Gb/s", "4x25 GB/s",
                                                         "50000", "7",    "0",    "fast"};
    switch (below(16)) {
      case 0:
      case 1:
      case 2:
        changeLink([&](Link& it) { it.bandwidth = kBandwidths[below(7)]; });
        return;
      case 3:
        changeLink([&](Link& it) { it.bandwidth = kBandwidths[below(9)]; });
        return;
      case 4:
        changeLink([&](Link& it) { it.count = static_cast<int>(below(4)); });
        return;
      case 5:
        changeLink([&](Link& it) {
          it.duplex = below(3) != 0;
          if (below(3) == 0) {
            // An end that is known by name only; another node may take the name.
            it.head = {{}, below(4) == 0 ? "n7" : model.nameOf({node, {}})};
          }
        });
        return;
      case 6:
        changeLink([&](Link& it) { std::swap(it.tail, it.head); });
        return;
      case 7:
        if (link.isValid()) {
          edits::remove(edit, {link});
        }
        return;
      case 8:
        if (node.isValid() && model.nodes().size() > 6) {
          edits::remove(edit, {node});
        }
        return;
      case 9: {
        const auto kind = below(3) == 0 ? fabric::NodeKind::gpu : fabric::NodeKind::switchNode;
        const NodeId added = edits::addNode(edit, kind, {}, below(2) == 0 ? box : BoxId{});
        if (node.isValid() && below(4) != 0) {
          (void)edits::addLink(edit, added, node, {.bandwidth = "25"});
        }
        return;
      }
      case 10:
        if (const NodeId other = any(model.nodes()); node.isValid() && other != node) {
          (void)edits::addLink(edit, node, other, {.bandwidth = "10", .duplex = below(4) != 0});
        }
        return;
      case 11:
        // Also a name that another node has.
        changeNode([&](Node& it) { it.facts.name = "n" + std::to_string(below(30)); });
        return;
      case 12:
        changeNode([&](Node& it) {
          static const std::vector<std::string> kKinds = {"gpu", "switch", "nic", "gpu", "toaster"};
          it.facts.kind = kKinds[below(5)];
          it.facts.multicast = below(4) == 0;
        });
        return;
      case 13:
        if (box.isValid()) {
          (void)edits::rename(edit, box, "box" + std::to_string(below(1000)));
        }
        return;
      case 14:
        if (box.isValid() && model.nodes().size() < 40) {
          // Paste of a whole box.
          edits::insert(edit, edits::extract(model, {box}), {500, 0}, {});
        } else if (box.isValid()) {
          edits::remove(edit, {box});
        }
        return;
      default:
        if (box.isValid() && below(2) == 0) {
          edits::unbox(edit, std::vector{box});
        } else if (node.isValid()) {
          edits::box(edit, {node});
        }
    }
  }

  Document& m_document;
  std::mt19937 m_random;
};

/// All that a bound says, as text.
QString everything(const Bound& bound) {
  QString text = bound.headline() + u'\n' + bound.why + u'\n' + bound.note + u'\n' +
                 u"%1 GPUs, %2 cuts\n"_s.arg(bound.gpuCount).arg(bound.cutCount);
  for (std::size_t i = 0; i < bound.findings.size(); ++i) {
    text += QString::fromStdString(describe(bound.findings[i])) + u" at %1\n"_s.arg(bound.culprits[i].value);
  }
  for (const CutView& cut : bound.cuts) {
    text += cut.words + u'\n' + cut.sentence + u" across"_s;
    for (const Crossing& crossing : cut.crossings) {
      text += u" %1-%2:%3"_s.arg(crossing.tail.value)
                  .arg(crossing.head.value)
                  .arg(QString::fromStdString(toFraction(crossing.bandwidth)));
    }
    text += u'\n';
  }
  return text;
}

}  // namespace

class TestDesignerJobs : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void bounds_data();
  void bounds();
  void shardsAndExchange_data();
  void shardsAndExchange();
  void exchangeBetweenBoxes();
  void overlappedAllreduce();
  void allreduceThroughSwitches();
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
  void deltasAgreeWithTheWhole_data();
  void deltasAgreeWithTheWhole();
  void aLargeFabricHasItsBoundFirst();
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
    Bandwidth sum;
    for (const Crossing& crossing : cut.crossings) {
      sum += crossing.bandwidth;
    }
    QVERIFY(sum == cut.exitBandwidth);
  }
}

void TestDesignerJobs::shardsAndExchange_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<QString>("parameter");
  QTest::addColumn<QString>("value");
  QTest::addColumn<Collective>("collective");
  QTest::addColumn<QString>("headline");
  QTest::addColumn<QString>("words");
  // All that enters the root: 300 GB/s of NVLink and a NIC of 25, for 15 of 16 shards.
  QTest::newRow("gather") << "dgx-a100"
                          << "boxes"
                          << "2" << Collective::gather << "Gather 346.67 GB/s = 1040/3"
                          << "into b0g0";
  QTest::newRow("scatter") << "dgx-a100"
                           << "boxes"
                           << "2" << Collective::scatter << "Scatter 346.67 GB/s = 1040/3"
                           << "out of b0g0";
  // 64 ordered pairs between two boxes share 8 NICs of 25 GB/s: 25/8 each, times 16.
  QTest::newRow("alltoall") << "dgx-a100"
                            << "boxes"
                            << "2" << Collective::alltoall << "AllToAll 50 GB/s" << QString();
}

void TestDesignerJobs::shardsAndExchange() {
  QFETCH(QString, preset);
  QFETCH(QString, parameter);
  QFETCH(QString, value);
  QFETCH(Collective, collective);
  QFETCH(QString, headline);
  QFETCH(QString, words);
  Document document;
  document.reset(modelOf(preset.toStdString(), {{parameter.toStdString(), value.toStdString()}}), true);
  const Bound bound = computeBound(Snapshot::of(document), {collective, {}}, {});
  QVERIFY2(bound.why.isEmpty(), qPrintable(bound.why));
  QCOMPARE(bound.headline(), headline);
  QVERIFY(!bound.reached);
  QVERIFY(!bound.cuts.empty());
  if (!words.isEmpty()) {
    QVERIFY2(bound.cuts.front().words.startsWith(words), qPrintable(bound.cuts.front().words));
    QVERIFY2(bound.cuts.front().words.endsWith(u"15 GPUs · 325 GB/s"_s), qPrintable(bound.cuts.front().words));
  }
  // Nothing that needs a cut bound waits for one.
  BoundSolver solver;
  solver.reset(Snapshot::of(document));
  (void)solver.compute({collective, {}}, {});
  QCOMPARE(hasCutBound(collective), collective != Collective::alltoall);
  QCOMPARE(solver.cutBoundOf(document.factRevision(), {collective, {}}).has_value(), hasCutBound(collective));
}

/// The links of the proof separate the boxes, and their lengths give the bound again.
void TestDesignerJobs::exchangeBetweenBoxes() {
  Document document;
  document.reset(modelOf("dgx-a100", {{"boxes", "2"}}), true);
  const Bound bound = computeBound(Snapshot::of(document), {Collective::alltoall, {}}, {});
  QCOMPARE(bound.cuts.size(), std::size_t{1});
  const CutView& limit = bound.cuts.front();
  QVERIFY(limit.inside.empty());
  QCOMPARE(limit.areas.size(), std::size_t{2});
  for (const std::vector<NodeId>& area : limit.areas) {
    QCOMPARE(std::count_if(area.begin(), area.end(),
                           [&](NodeId id) { return document.model().find(id)->kind() == fabric::NodeKind::gpu; }),
             std::ptrdiff_t{8});
  }
  QVERIFY(limit.demand > 0);
  QVERIFY(Rational(16) * limit.exitBandwidth / Rational(limit.demand) == *bound.algbw);
  QVERIFY(limit.sentence.contains(limit.links));
}

/// A GPU behind a narrow link is better off as the leaf of one tree up and down.
void TestDesignerJobs::overlappedAllreduce() {
  Document document;
  document.reset(readFabricFile(R"({"nodes":[{"id":"a","kind":"gpu"},{"id":"b","kind":"gpu"},{"id":"c","kind":"gpu"}],
    "links":[{"src":"a","dst":"b","bandwidth":10},{"src":"a","dst":"c","bandwidth":1}]})",
                                "")
                     ->model,
                 true);
  const Bound bound = computeBound(Snapshot::of(document), {Collective::allreduce, {}}, {});
  QCOMPARE(bound.headline(), u"AllReduce 1 GB/s"_s);
  QCOMPARE(bound.claim(), u"No allreduce by trees is faster on this fabric."_s);
  QVERIFY2(bound.note.contains(u"reduce-scatter then allgather reach 0.75 GB/s"_s), qPrintable(bound.note));
  QVERIFY(bound.cuts.front().inside.empty() && !bound.cuts.front().crossings.empty());
  document.reset(modelOf("dgx-a100", {{"boxes", "2"}}), true);
  const Bound equal = computeBound(Snapshot::of(document), {Collective::allreduce, {}}, {});
  QCOMPARE(equal.claim(), u"No allreduce by trees is faster on this fabric."_s);
  QVERIFY2(equal.note.isEmpty(), qPrintable(equal.note));
}

/// NVSwitches that sum and copy: the bound is what no trees can beat with them.
void TestDesignerJobs::allreduceThroughSwitches() {
  Document document;
  document.reset(modelOf("dgx-h100", {{"boxes", "1"}, {"nvls", "true"}}), true);
  const Bound bound = computeBound(Snapshot::of(document), {Collective::allreduce, {}}, {});
  QCOMPARE(bound.headline(), u"AllReduce 450 GB/s"_s);
  QCOMPARE(bound.scope, schedule::BoundScope::trees);
  QVERIFY2(bound.note.contains(u"257.14 GB/s"_s) && bound.note.contains(u"copies and sums in switches"_s),
           qPrintable(bound.note));
  QCOMPARE(bound.cuts.front().crossings.size(), std::size_t{16});
  const Bound gathered = computeBound(Snapshot::of(document), {Collective::allgather, {}}, {});
  QCOMPARE(gathered.claim(), u"No schedule of this collective is faster on this fabric."_s);
}

void TestDesignerJobs::cutsInWords() {
  Document document;
  document.reset(modelOf("dgx-a100", {{"boxes", "4"}}), true);
  const Bound bound = computeBound(Snapshot::of(document), {}, {});
  QCOMPARE(bound.headline(), u"AllGather 266.67 GB/s = 800/3"_s);
  QCOMPARE(bound.cuts.front().words.section(u" · "_s, 1), u"24 GPUs · 200 GB/s"_s);
  QVERIFY2(bound.cuts.front().words.startsWith(u"into b"_s), qPrintable(bound.cuts.front().words));
  QVERIFY2(bound.cuts.front().sentence.contains(u"8 links of 200 GB/s in total"_s),
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
  follow(document, solver);
  const auto places = [](const Bound& bound) {
    QStringList names;
    for (const CutView& cut : bound.cuts) {
      names << cut.place;
    }
    return names;
  };
  const QStringList before = places(solver.compute({}, {}));
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
    (void)solver.compute({}, {});
    document.undoStack()->undo();
    QCOMPARE(places(solver.compute({}, {})), before);
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
  const Bandwidth now = *computeBound(snapshot, {}, {}).algbw;
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
  QVERIFY(*assume({.changed = {*all.begin()}, .change = Bandwidth(0)}).algbw == now);
  const Bound slow = assume({.changed = all, .change = Bandwidth(-20)});
  QVERIFY(*slow.algbw < now);
  // Of parallel links one fails; a link without bandwidth is none.
  Snapshot many = snapshot;
  auto facts = *snapshot.facts;
  facts.links.front().count = 3;
  many.facts = std::make_shared<const fabric::Description>(std::move(facts));
  QCOMPARE(assumed(many, {.failed = {snapshot.links.front()}}).facts->links.front().count, 2);
  QCOMPARE(assumed(snapshot, {.failed = {snapshot.links.front()}}).links.size(), snapshot.links.size() - 1);
  QCOMPARE(assumed(snapshot, {.changed = all, .change = Bandwidth(-1'000'000)}).links.size(), std::size_t{0});
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
  QVERIFY(QTest::qWaitFor([&] { return !answers.empty(); }, coppice::waiting::kPatience));
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
  QVERIFY(QTest::qWaitFor([&] { return answers.size() == 2; }, coppice::waiting::kPatience));
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
  QVERIFY(QTest::qWaitFor([&] { return !job.isRunning(); }, coppice::waiting::kPatience));
  QVERIFY(answers.empty());
  job.submit([](std::stop_token) { return 2; });
  QVERIFY(QTest::qWaitFor([&] { return answers == std::vector<int>{2}; }, coppice::waiting::kPatience));
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
  coppice::waiting::settle();
}

void TestDesignerJobs::liveBoundFollows() {
  Document document;
  LiveBound live(document);
  QVERIFY(!live.isCurrent());
  QVERIFY(QTest::qWaitFor([&] { return live.isCurrent(); }, coppice::waiting::kPatience));
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
    if (i % 10 == 0) {
      coppice::waiting::settle();
    }
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
  follow(document, solver);
  const NodeId first = document.model().nodeNamed("b0g0");
  const std::vector<Question> questions = {{}, {Collective::allreduce, {}}, {Collective::reduce, first}};
  for (int step = 0; step < 60; ++step) {
    const auto pick = [&](std::uint32_t max) { return random() % max; };
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
    const Bound followed = solver.compute(question, {});
    const Bound alone = computeBound(snapshot, question, {});
    QCOMPARE(followed.headline(), alone.headline());
    QCOMPARE(followed.why, alone.why);
    QCOMPARE(followed.gpuCount, alone.gpuCount);
    const auto fabric = fabric::Fabric::build(*snapshot.facts);
    if (fabric) {
      forestcoll::Request request{.collective = question.collective};
      if (question.collective != Collective::allreduce) {
        request.allreduceBudget = 0ms;
      }
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
        QCOMPARE(toFraction(*followed.algbw), toFraction(optimum->algbw));
      }
    }
    // Every cut proves the bound by what crosses it.
    for (const CutView& cut : followed.cuts) {
      QVERIFY(std::is_sorted(cut.inside.begin(), cut.inside.end()));
      Bandwidth sum;
      for (const Crossing& crossing : cut.crossings) {
        sum += crossing.bandwidth;
      }
      QCOMPARE(toFraction(sum), toFraction(cut.exitBandwidth));
      if (question.collective == Collective::allgather && followed.note.isEmpty()) {
        QCOMPARE(toFraction(Rational(followed.gpuCount) * sum / Rational(cut.gpusInside)), toFraction(*followed.algbw));
      }
    }
    // The state behind the answer is there to be asked, for this very question alone.
    QCOMPARE(solver.cutBoundOf(snapshot.factRevision, question).has_value(), followed.algbw.has_value());
    QVERIFY(!solver.cutBoundOf(snapshot.factRevision + 1, question));
    QVERIFY(!solver.cutBoundOf(snapshot.factRevision, {Collective::broadcast, {}}));
  }
}

/// What takes longer than the bound comes after it.
void TestDesignerJobs::aLargeFabricHasItsBoundFirst() {
  const Model model = modelOf("dgx-h100", {{"boxes", "1025"}});
  BoundSolver solver;
  solver.reset(Snapshot::of(model));
  const Bound first = solver.compute({}, {});
  QVERIFY(first.isOpen && first.algbw);
  QCOMPARE(first.gpuCount, 8200);
  QCOMPARE(first.cuts.size(), std::size_t{1});
  QVERIFY(!first.isCutCountExact);
  const Bound whole = solver.completed(first, {});
  QVERIFY(!whole.isOpen);
  QCOMPARE(whole.headline(), first.headline());
  QVERIFY(whole.cuts.size() > 1 && whole.cutCount > 1);
  // Of an answer that is not the last one nothing more is known.
  (void)solver.compute({Collective::reduceScatter, {}}, {});
  QVERIFY(solver.completed(first, {}).isOpen);
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
  const Bound bound = computeBound(snapshot, {}, {});
  QVERIFY2(!bound.note.isEmpty(), qPrintable(bound.why));
  const auto optimum = forestcoll::optimum(*fabric::Fabric::build(*snapshot.facts), {});
  QVERIFY(optimum.hasValue());
  QCOMPARE(toFraction(*bound.algbw), toFraction(optimum->algbw));
}

void TestDesignerJobs::deltasAgreeWithTheWhole_data() {
  QTest::addColumn<Collective>("collective");
  QTest::addColumn<quint32>("seed");
  for (quint32 seed = 1; seed <= 8; ++seed) {
    const Collective collective = std::array{Collective::allgather, Collective::reduceScatter, Collective::allreduce,
                                             Collective::broadcast}[seed % 4];
    QTest::addRow("%s, seed %u", toString(collective).data(), seed) << collective << seed;
  }
}

/// After any edits, undone and done again, a solver that was given the deltas alone says what a new one says.
void TestDesignerJobs::deltasAgreeWithTheWhole() {
  QFETCH(Collective, collective);
  QFETCH(quint32, seed);
  Document document;
  document.reset(readFabricFile(R"({"nodes":[{"id":"a0","kind":"gpu","box":"pod/a"},
    {"id":"a1","kind":"gpu","box":"pod/a"},{"id":"b0","kind":"gpu","box":"pod/b"},{"id":"b1","kind":"gpu","box":"pod/b"},
    {"id":"left","kind":"switch","box":"pod/a"},{"id":"right","kind":"switch","box":"pod/b"}],
    "links":[{"src":"a0","dst":"left","bandwidth":40},{"src":"a1","dst":"left","bandwidth":40},
    {"src":"b0","dst":"right","bandwidth":40},{"src":"b1","dst":"right","bandwidth":40},
    {"src":"left","dst":"right","bandwidth":10},{"src":"left","dst":"right","bandwidth":20}]})",
                                "")
                     ->model,
                 true);
  BoundSolver solver;
  follow(document, solver);
  RandomEditor editor(document, seed);
  int answers = 0;
  for (int step = 0; step < 400; ++step) {
    editor.step();
    if (step % 3 == 1) {
      continue;  // several deltas for one answer
    }
    const Question question{collective, document.model().nodeNamed("a0")};
    const Bound followed = solver.compute(question, {});
    const Snapshot snapshot = Snapshot::of(document);
    QCOMPARE(followed.factRevision, snapshot.factRevision);
    QCOMPARE(everything(followed), everything(computeBound(snapshot, question, {})));
    std::vector<Finding> findings = fabric::validate(*snapshot.facts);
    QCOMPARE(followed.findings.size(), findings.size());
    const auto fabric = fabric::Fabric::build(*snapshot.facts);
    if (!fabric) {
      QVERIFY(!followed.algbw);
      continue;
    }
    forestcoll::Request request{.collective = collective};
    if (collective != Collective::allreduce) {
      request.allreduceBudget = 0ms;
    }
    if (collective == Collective::broadcast) {
      const auto root = fabric->find("a0");
      request.root = root ? std::max(0, fabric->nodes()[*root].rank) : 0;
    }
    const auto optimum = forestcoll::optimum(*fabric, request);
    QCOMPARE(followed.algbw.has_value(), optimum.hasValue());
    if (optimum) {
      const auto& ofTrees = optimum->allreduceLimit;
      QCOMPARE(toFraction(*followed.algbw), toFraction(ofTrees ? ofTrees->algbw : optimum->algbw));
      ++answers;
    }
    // What is known of the sinks leaves out no tied cut.
    if (optimum && followed.note.isEmpty() && !followed.cuts.front().inside.empty()) {
      const CutView& first = followed.cuts.front();
      schedule::Cut cut{{}, first.demand, first.exitBandwidth};
      for (const NodeId node : first.inside) {
        const auto place = std::lower_bound(snapshot.nodes.begin(), snapshot.nodes.end(), node);
        cut.nodes.push_back(static_cast<int>(place - snapshot.nodes.begin()));
      }
      const auto tied = forestcoll::tiedCuts(*fabric, request, cut);
      QVERIFY2(tied.hasValue(), tied ? "" : describe(tied.error()).c_str());
      QCOMPARE(followed.cutCount, tied->count);
      QCOMPARE(followed.cuts.size(), tied->cuts.size());
      for (std::size_t i = 0; i < tied->cuts.size(); ++i) {
        QCOMPARE(followed.cuts[i].inside.size(), tied->cuts[i].nodes.size());
        QCOMPARE(toFraction(followed.cuts[i].exitBandwidth), toFraction(tied->cuts[i].exitBandwidth));
      }
    }
  }
  QVERIFY2(answers > 20, qPrintable(QString::number(answers)));
}

QTEST_GUILESS_MAIN(TestDesignerJobs)
#include "tst_designer_jobs.moc"
