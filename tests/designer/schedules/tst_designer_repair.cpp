// SPDX-License-Identifier: Apache-2.0
#include <QApplication>
#include <QTest>
#include <QToolButton>

#include "designer/compare/side_by_side_panel.hpp"
#include "designer/schedules/repair_feature.hpp"
#include "designer/schedules/schedule_fixture.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace coppice::designer::test;
using namespace Qt::StringLiterals;

/// Repairing a schedule for the failure that is shown.
class TestDesignerRepair : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void initTestCase();
  void names();
  void repairsForTheFailureShown();
  void failsTogether();
  void isKeptInItsFile();
  void needsASchedule();
};

namespace {

/// Shows the failure of a node.
void fail(const ScheduleFixture& fixture, const char* node) {
  const ElementId element = fixture.editor()->model().nodeNamed(node);
  fixture.editor()->selection().set({element});
  fixture.editor()->assume(Assumption{.title = u"If it fails"_s, .failed = {element}});
}

}  // namespace

void TestDesignerRepair::initTestCase() {
  prepareApplication("repair");
}

/// Parallel links of one description are one part; equal entries are told apart.
void TestDesignerRepair::names() {
  fabric::Description description = preset("dgx-h100", {{"boxes", "2"}, {"network", "rails"}});
  const std::size_t count = description.links.size();
  description.links.push_back(description.links.front());
  const Model model = readModel(description).model;
  const Snapshot snapshot = Snapshot::of(model);
  const std::string name = "link " + description.links.front().src + " - " + description.links.front().dst;
  QCOMPARE(failedParts(snapshot, {snapshot.links.front()}), std::vector<std::string>{name});
  QCOMPARE(failedParts(snapshot, {snapshot.links.back()}), std::vector<std::string>{name + " (2)"});
  QCOMPARE(failedParts(snapshot, {model.nodeNamed("b1g3")}), std::vector<std::string>{"gpu b1g3"});
  const auto left = chosenPart(description, {.failed = {name + " (2)"}});
  QVERIFY(left);
  QCOMPARE(left->links.size(), count);
  QVERIFY(!chosenPart(description, {.failed = {"link a - b"}}));
}

void TestDesignerRepair::repairsForTheFailureShown() {
  ScheduleFixture fixture;
  QVERIFY(fixture.open("2x-dgx-a100.fabric.json"));
  QVERIFY(!fixture.window->actions()[u"schedule.repair"_s]->isEnabled());
  QVERIFY(fixture.generate());
  const int first = fixture.current()->id;
  fail(fixture, "b0nic3");
  QVERIFY(fixture.window->actions()[u"schedule.repair"_s]->isEnabled());
  fixture.run("schedule.repair");
  QVERIFY(fixture.isDone());
  QVERIFY2(fixture.book()->failure().isEmpty(), qPrintable(fixture.book()->failure()));
  QCOMPARE(fixture.book()->entries().size(), std::size_t{2});
  const ScheduleEntry& entry = *fixture.current();
  QVERIFY(entry.id != first);
  QCOMPARE(entry.result->algbw, Bandwidth(320, 1));
  QVERIFY(entry.result->meetsBound && entry.result->verdict.ok);
  QVERIFY(entry.result->repair && entry.result->repair->keptTrees > 0 && entry.result->repair->newTrees > 0);
  QVERIFY2(entry.name.contains(u"without nic b0nic3"_s), qPrintable(entry.name));
  QVERIFY(fixture.book()->isFresh(entry));
  // Old and repaired trees are beside each other.
  auto* sides = fixture.window->findChild<SideBySidePanel*>();
  QTRY_VERIFY(sides->isSeen());
  QTRY_VERIFY(sides->schedule(1) != nullptr);
  QCOMPARE(sides->schedule(0)->id, first);
  QCOMPARE(sides->schedule(1)->id, entry.id);
  if (const QString path = qEnvironmentVariable("COPPICE_SCREENSHOT"); !path.isEmpty()) {
    QTRY_VERIFY(sides->isSettled());
    fixture.window->resize(1500, 950);
    QTest::qWait(500);
    fixture.window->grab().save(path);
  }
  // Another failure is one of the fabric as it is, not of the repaired one.
  fail(fixture, "b1g7");
  fixture.run("schedule.repair");
  QVERIFY(fixture.isDone());
  QCOMPARE(fixture.current()->result->options.failed, std::vector<std::string>{"gpu b1g7"});
  QCOMPARE(fixture.current()->result->fabric->gpuCount(), 15);
}

/// Two NICs, and then a whole box, by what is selected on the drawing.
void TestDesignerRepair::failsTogether() {
  ScheduleFixture fixture;
  QVERIFY(fixture.open("2x-dgx-a100.fabric.json"));
  QVERIFY(fixture.generate());
  fixture.run("schedule.fail-selection");
  QVERIFY(!fixture.editor()->assumption());
  const Model& model = fixture.editor()->model();
  fixture.editor()->selection().set({model.nodeNamed("b0nic0"), model.nodeNamed("b0nic1")});
  fixture.run("schedule.fail-selection");
  QVERIFY(fixture.editor()->assumption());
  QCOMPARE(fixture.editor()->assumption()->title, u"If 2 parts fail together"_s);
  fixture.run("schedule.repair");
  QVERIFY(fixture.isDone());
  QVERIFY2(fixture.book()->failure().isEmpty(), qPrintable(fixture.book()->failure()));
  // Six NICs of 25 GB/s bring eight shards: 16 * 150 / 8.
  QCOMPARE(fixture.current()->result->algbw, Bandwidth(300, 1));
  QVERIFY(fixture.current()->result->meetsBound);
  fixture.editor()->selection().set({model.nodeNamed("b1g0")});
  fixture.editor()->selection().selectWholeBox();
  fixture.run("schedule.fail-selection");
  fixture.run("schedule.repair");
  QVERIFY(fixture.isDone());
  QVERIFY2(fixture.book()->failure().isEmpty(), qPrintable(fixture.book()->failure()));
  QCOMPARE(fixture.current()->result->fabric->gpuCount(), 8);
  QVERIFY2(fixture.current()->name.contains(u" parts"_s), qPrintable(fixture.current()->name));
}

void TestDesignerRepair::isKeptInItsFile() {
  ScheduleFixture fixture;
  QVERIFY(fixture.open("2x-dgx-a100.fabric.json"));
  QVERIFY(fixture.generate());
  fail(fixture, "b0g1");
  fixture.run("schedule.repair");
  QVERIFY(fixture.isDone());
  QVERIFY(fixture.save());
  const auto loaded = loadSchedule(fixture.current()->path, {});
  QVERIFY(loaded);
  QCOMPARE((*loaded)->options.failed, std::vector<std::string>{"gpu b0g1"});
  QCOMPARE((*loaded)->fabric->gpuCount(), 15);
  QCOMPARE(digestNow(*fixture.editor()->document().facts(), (*loaded)->options.part()), (*loaded)->fabricDigest());
}

void TestDesignerRepair::needsASchedule() {
  ScheduleFixture fixture;
  QVERIFY(fixture.open("2x-dgx-a100.fabric.json"));
  fail(fixture, "b0g1");
  fixture.run("schedule.repair");
  QVERIFY(!fixture.book()->isRunning());
  QVERIFY(fixture.book()->entries().empty());
}

QTEST_MAIN(TestDesignerRepair)
#include "tst_designer_repair.moc"
