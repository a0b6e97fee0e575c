// SPDX-License-Identifier: Apache-2.0
#include <QMenu>
#include <QTest>
#include <QTreeView>
#include <algorithm>

#include "designer/schedules/schedule_fixture.hpp"
#include "schedule/tree_edit.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace coppice::designer::test;
using namespace Qt::StringLiterals;

namespace {

bool isEnabled(const ScheduleFixture& fixture, const char* action) {
  return fixture.window->actions()[QLatin1String(action)]->isEnabled();
}

/// Chooses the row of the edge to the last GPU, a leaf, of the first tree, and says which GPU that is.
EdgeRef chooseLeaf(const ScheduleFixture& fixture) {
  TreePanel& panel = *fixture.trees->trees();
  panel.showTree({1, 0});
  QTreeView& view = panel.view();
  const QModelIndex tree = view.currentIndex();
  view.model()->fetchMore(tree);
  view.expand(tree);
  view.setCurrentIndex(view.model()->index(view.model()->rowCount(tree) - 1, 0, tree));
  return panel.chosenEdge().value_or(EdgeRef{});
}

fabric::Rank parentOf(const ScheduleResult& result, fabric::Rank child, std::int64_t tree = 0) {
  schedule::TreeReader reader = *result.readers[1];
  const auto edges = reader.read(tree).edges;
  const auto edge = std::find_if(edges.begin(), edges.end(), [&](const auto& each) { return each.child == child; });
  return edge != edges.end() ? edge->parent : -1;
}

}  // namespace

/// Trees changed by hand, and others generated around those that are locked.
class TestDesignerSculpt : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void initTestCase() { prepareApplication("sculpt"); }
  void givesAnotherParent();
  void dragsOnTheDrawing();
  void generatesAroundLockedTrees();
};

void TestDesignerSculpt::givesAnotherParent() {
  ScheduleFixture fixture;
  QVERIFY(fixture.open("2x-dgx-a100.fabric.json"));
  QVERIFY(!isEnabled(fixture, "schedule.new-parent"));
  QVERIFY(fixture.generate());
  const ScheduleResultPtr before = fixture.current()->result;
  QVERIFY(before->meetsBound);
  const EdgeRef edge = chooseLeaf(fixture);
  QVERIFY(isEnabled(fixture, "schedule.new-parent"));
  // The right mouse button and the menu key offer the same.
  QVERIFY(fixture.trees->trees()->view().actions().contains(fixture.window->actions()[u"schedule.new-parent"_s]));
  fixture.run("schedule.new-parent");
  auto* menu = fixture.window->findChild<QMenu*>(u"newParents"_s);
  QTRY_VERIFY(menu->isVisible());
  // A leaf may hang below every other GPU of its box and those of its plane in the other box, but for the one that it
  // hangs below: even and odd GPUs have switches of their own.
  const fabric::Rank was = parentOf(*before, edge.child);
  QCOMPARE(was / 8, edge.child / 8);
  QCOMPARE(menu->actions().size(), 7 + 4 - 1);
  // One more time over the slow network.
  const QString name = (edge.child < 8 ? u"b1g"_s : u"b0g"_s) + QString::number(edge.child % 8);
  const QList<QAction*> offered = menu->actions();
  const auto wanted = std::find_if(offered.begin(), offered.end(), [&](const QAction* a) { return a->text() == name; });
  QVERIFY(wanted != offered.end());
  const fabric::Rank parent = before->fabric->nodes()[*before->fabric->find(name.toStdString())].rank;
  // By keyboard.
  menu->setActiveAction(*wanted);
  QTest::keyClick(menu, Qt::Key_Return);
  QVERIFY(fixture.isDone());
  QVERIFY2(fixture.book()->failure().isEmpty(), qPrintable(fixture.book()->failure()));
  QCOMPARE(fixture.book()->entries().size(), std::size_t{2});
  const ScheduleEntry& entry = *fixture.current();
  QVERIFY2(entry.name.endsWith(u"edited"_s), qPrintable(entry.name));
  QVERIFY(entry.result->verdict.ok);
  QVERIFY(!entry.result->meetsBound && entry.result->algbw < before->algbw);
  QCOMPARE(*entry.result->bound, *before->bound);
  // The changed copy is the tree itself, or stands behind the copies that stay.
  const bool isSplit = entry.result->readers[1]->size() > before->readers[1]->size();
  QCOMPARE(parentOf(*entry.result, edge.child, isSplit ? 1 : 0), parent);
  // The docks show the new loads, and the old schedule is still there.
  QVERIFY(fixture.trees->trees()->model().result() == entry.result);
  fixture.book()->setCurrent(fixture.book()->entries().front().id);
  QVERIFY(fixture.trees->trees()->model().result() == before);
}

void TestDesignerSculpt::dragsOnTheDrawing() {
  ScheduleFixture fixture;
  QVERIFY(fixture.open("2x-dgx-a100.fabric.json"));
  QVERIFY(fixture.generate());
  const ScheduleResultPtr before = fixture.current()->result;
  const EdgeRef edge = chooseLeaf(fixture);
  const auto& model = fixture.trees->trees()->model();
  const auto possible = schedule::possibleParents(16, model.readerOf(1)->read(0).edges, edge.child);
  QVERIFY(!possible.empty());
  CanvasView& canvas = fixture.editor()->canvas();
  canvas.zoomToFit();
  canvas.complete();
  const auto placeOf = [&](fabric::Rank rank) {
    const std::string& name = before->fabric->nodes()[before->fabric->gpus()[rank]].id;
    const NodeId node = fixture.editor()->model().nodeNamed(name);
    return canvas.toView(canvas.scene().rectOf(node).center()).toPoint();
  };
  const auto dragTo = [&](fabric::Rank parent) {
    QTest::mousePress(&canvas, Qt::LeftButton, {}, placeOf(edge.child));
    QTest::mouseMove(&canvas, (placeOf(edge.child) + placeOf(parent)) / 2);
    QTest::mouseMove(&canvas, placeOf(parent));
    QTest::mouseRelease(&canvas, Qt::LeftButton, {}, placeOf(parent));
  };
  fixture.run("schedule.drag-edges");
  QVERIFY(canvas.tool() == ToolKind::point);
  dragTo(possible.back());
  QVERIFY(fixture.isDone());
  QVERIFY2(fixture.book()->failure().isEmpty(), qPrintable(fixture.book()->failure()));
  QCOMPARE(fixture.book()->entries().size(), std::size_t{2});
  QVERIFY(fixture.current()->result->algbw < before->algbw);
  // The changed tree is drawn, so that the next edge can be dragged: here back again.
  QCOMPARE(fixture.overlay().trees.size(), std::size_t{1});
  QCOMPARE(fixture.trees->trees()->chosenTrees(), (std::vector<TreeRef>{{1, 0}}));
  dragTo(parentOf(*before, edge.child));
  QVERIFY(fixture.isDone());
  QCOMPARE(fixture.book()->entries().size(), std::size_t{3});
  QCOMPARE(fixture.current()->result->algbw, before->algbw);
  // Leaving Schedule mode gives the pointer back.
  fixture.window->workspace().setMode(Mode::draw);
  QVERIFY(canvas.tool() == ToolKind::select);
  QVERIFY(!fixture.window->actions()[u"schedule.drag-edges"_s]->isChecked());
}

void TestDesignerSculpt::generatesAroundLockedTrees() {
  ScheduleFixture fixture;
  QVERIFY(fixture.open("2x-dgx-a100.fabric.json"));
  QVERIFY(fixture.generate());
  const ScheduleResultPtr before = fixture.current()->result;
  QVERIFY(!isEnabled(fixture, "schedule.around-locked"));
  TreePanel& panel = *fixture.trees->trees();
  panel.showTree({1, 0});
  const QModelIndex row = panel.view().currentIndex();
  const QModelIndex lock = row.siblingAtColumn(TreeModel::kLock);
  QCOMPARE(lock.data(Qt::CheckStateRole).toInt(), static_cast<int>(Qt::Unchecked));
  fixture.run("schedule.lock-trees");
  QCOMPARE(lock.data(Qt::CheckStateRole).toInt(), static_cast<int>(Qt::Checked));
  QVERIFY(isEnabled(fixture, "schedule.around-locked"));
  // The tick does the same.
  QVERIFY(panel.view().model()->setData(lock, Qt::Unchecked, Qt::CheckStateRole));
  QVERIFY(!isEnabled(fixture, "schedule.around-locked"));
  fixture.run("schedule.lock-trees");
  fixture.run("schedule.around-locked");
  QVERIFY(fixture.isDone());
  QVERIFY2(fixture.book()->failure().isEmpty(), qPrintable(fixture.book()->failure()));
  const ScheduleEntry& entry = *fixture.current();
  // Nothing is lost where the locked tree is one of an optimum.
  QVERIFY(entry.result->verdict.ok && entry.result->meetsBound);
  QCOMPARE(entry.result->algbw, before->algbw);
  schedule::TreeReader old = *before->readers[1];
  for (const schedule::TreeEdge& edge : old.read(0).edges) {
    QCOMPARE(parentOf(*entry.result, edge.child), edge.parent);
  }
}

QTEST_MAIN(TestDesignerSculpt)
#include "tst_designer_sculpt.moc"
