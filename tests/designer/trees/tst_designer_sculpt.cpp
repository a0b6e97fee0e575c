// SPDX-License-Identifier: Apache-2.0
#include <QMenu>
#include <QTest>
#include <QTreeView>
#include <algorithm>

#include "designer/document/figures.hpp"
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

/// A schedule of two boxes, of which one tree is chosen, with the tool that drags its edges.
struct DragFixture : ScheduleFixture {
  bool start(Collective collective = Collective::allgather) {
    if (!open("2x-dgx-a100.fabric.json")) {
      return false;
    }
    editor()->bound().setQuestion({.collective = collective});
    if (!generate()) {
      return false;
    }
    before = current()->result;
    while (tree < before->readers[1]->size() && inBox().parent == inBox().child) {
      ++tree;
    }
    trees->trees()->showTree({1, tree});
    run("schedule.drag-edges");
    CanvasView& canvas = editor()->canvas();
    canvas.zoomToFit();
    canvas.complete();
    return tree < before->readers[1]->size() && canvas.tool() == ToolKind::point;
  }
  [[nodiscard]] std::vector<schedule::TreeEdge> edges() const {
    schedule::TreeReader reader = *before->readers[1];
    const auto read = reader.read(tree).edges;
    return {read.begin(), read.end()};
  }
  /// An edge to a leaf inside a box whose ends have NICs at the same switch: it can be led over the network. One from
  /// a GPU to itself where the tree has none.
  [[nodiscard]] schedule::TreeEdge inBox() const {
    const auto all = edges();
    for (const schedule::TreeEdge& edge : all) {
      const bool isLeaf =
          std::none_of(all.begin(), all.end(), [&](const auto& each) { return each.parent == edge.child; });
      if (isLeaf && edge.parent / 8 == edge.child / 8 && edge.parent % 2 == edge.child % 2) {
        return edge;
      }
    }
    return {};
  }
  [[nodiscard]] QString nameOf(fabric::Rank rank) const {
    return QString::fromStdString(before->fabric->nodes()[before->fabric->gpus()[rank]].id);
  }
  [[nodiscard]] NodeId node(const QString& name) const { return editor()->model().nodeNamed(name.toStdString()); }
  [[nodiscard]] LinkId link(const QString& one, const QString& other) const {
    for (const auto& [id, each] : editor()->model().links()) {
      if ((each.tail.node == node(one) && each.head.node == node(other)) ||
          (each.tail.node == node(other) && each.head.node == node(one))) {
        return id;
      }
    }
    return {};
  }
  /// Pixels of the canvas. Of a link, a place that no node covers.
  [[nodiscard]] QPoint placeOf(const ElementId& id) const {
    CanvasView& canvas = editor()->canvas();
    if (const LineItem* line = canvas.scene().line(id.link())) {
      for (const double at : {0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8}) {
        if (canvas.hit(line->curve.at(at)) == id) {
          return canvas.toView(line->curve.at(at)).toPoint();
        }
      }
    }
    return canvas.toView(canvas.scene().rectOf(id).center()).toPoint();
  }
  /// Presses on one and leads the pointer to the other.
  void lead(const ElementId& from, const ElementId& to) const {
    CanvasView& canvas = editor()->canvas();
    QTest::mousePress(&canvas, Qt::LeftButton, {}, placeOf(from));
    QTest::mouseMove(&canvas, (placeOf(from) + placeOf(to)) / 2);
    QTest::mouseMove(&canvas, placeOf(to));
  }
  void letGo(const ElementId& to) const { QTest::mouseRelease(&editor()->canvas(), Qt::LeftButton, {}, placeOf(to)); }
  /// The figure of a row of the note; empty where there is none.
  [[nodiscard]] QString told(const QString& row) const {
    const auto& note = editor()->canvas().pointNote();
    for (const auto& [name, figure] : note ? note->note.rows : decltype(note->note.rows)()) {
      if (name == row) {
        return figure;
      }
    }
    return {};
  }

  ScheduleResultPtr before;
  std::int64_t tree = 0;  ///< that is chosen: the first one with such an edge
};

}  // namespace

/// Trees changed by hand, and others generated around those that are locked.
class TestDesignerSculpt : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void initTestCase() { prepareApplication("sculpt"); }
  void givesAnotherParent();
  void dragsOnTheDrawing();
  void tellsWhileDragging_data();
  void tellsWhileDragging();
  void saysWhyNot();
  void pointsByKeys();
  void changesBothHalves();
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

void TestDesignerSculpt::tellsWhileDragging_data() {
  QTest::addColumn<QString>("from");
  QTest::addColumn<QString>("to");
  for (const char* from : {"GPU", "its edge"}) {
    for (const char* to : {"GPU", "switch", "link"}) {
      QTest::addRow("%s to %s", from, to) << QString(QLatin1String(from)) << QString(QLatin1String(to));
    }
  }
}

/// While the pointer is over a place, the note says what would come of it there, which is what then comes of it.
void TestDesignerSculpt::tellsWhileDragging() {
  QFETCH(const QString, from);
  QFETCH(const QString, to);
  DragFixture fixture;
  QVERIFY(fixture.start());
  CanvasView& canvas = fixture.editor()->canvas();
  const schedule::TreeEdge edge = fixture.inBox();
  const QString child = fixture.nameOf(edge.child);
  const QString nic = QString(child).replace(u'g', u"nic"_s);
  const QString outer = edge.child % 2 == 0 ? u"ib0"_s : u"ib1"_s;
  const auto possible = schedule::possibleParents(16, fixture.edges(), edge.child);
  const auto other = std::find_if(possible.begin(), possible.end(), [&](fabric::Rank rank) {
    return rank / 8 != edge.child / 8 && rank % 2 == edge.child % 2;
  });
  QVERIFY(to != u"GPU"_s || other != possible.end());
  const ElementId start = from == u"GPU"_s
                              ? ElementId(fixture.node(child))
                              : ElementId(fixture.link(child, child.startsWith(u"b0"_s) ? u"b0nvs"_s : u"b1nvs"_s));
  const ElementId target = to == u"GPU"_s      ? ElementId(fixture.node(fixture.nameOf(*other)))
                           : to == u"switch"_s ? ElementId(fixture.node(outer))
                                               : ElementId(fixture.link(nic, outer));
  QVERIFY(canvas.hit(canvas.toScene(fixture.placeOf(start))) == start);
  QVERIFY(canvas.hit(canvas.toScene(fixture.placeOf(target))) == target);
  fixture.lead(start, target);
  QVERIFY(canvas.pointNote().has_value());
  QVERIFY(canvas.pointNote()->over == target);
  const QString title = canvas.pointNote()->note.title;
  QVERIFY2(title.startsWith(child), qPrintable(title));
  const QString figure = fixture.told(u"Throughput"_s);
  QVERIFY2(figure.endsWith(u"GB/s"_s), qPrintable(title + figure));
  QVERIFY(figure != fixture.told(u"Before"_s));
  QVERIFY(fixture.told(u"Busiest link"_s).contains(u" → "_s));
  QVERIFY(fixture.told(u"Trees on it"_s).toInt() > 0);
  const QString share = fixture.told(u"Of the bound"_s);
  QVERIFY2(share.endsWith(u'%') && share != u"100 %"_s, qPrintable(share));
  // The links of the new way are marked.
  QVERIFY(!canvas.pointNote()->way.empty());
  QTRY_COMPARE(fixture.told(u"Verified"_s), u"yes"_s);
  // Nothing has changed so far.
  QCOMPARE(fixture.book()->entries().size(), std::size_t{1});
  QVERIFY(!canvas.grab().isNull());
  fixture.letGo(target);
  QVERIFY(!canvas.pointNote().has_value());
  QVERIFY(fixture.isDone());
  QVERIFY2(fixture.book()->failure().isEmpty(), qPrintable(fixture.book()->failure()));
  QCOMPARE(fixture.book()->entries().size(), std::size_t{2});
  const ScheduleResult& after = *fixture.current()->result;
  QVERIFY(after.verdict.ok);
  QCOMPARE(gigabytes(after.algbw), figure);
  QCOMPARE(after.shareOfBound(), share);
  const bool isSplit = after.readers[1]->size() > fixture.before->readers[1]->size();
  QCOMPARE(parentOf(after, edge.child, fixture.tree + (isSplit ? 1 : 0)), to == u"GPU"_s ? *other : edge.parent);
}

/// What cannot be done says so while the pointer is there, and nothing is made of it.
void TestDesignerSculpt::saysWhyNot() {
  DragFixture fixture;
  QVERIFY(fixture.start());
  const auto edges = fixture.edges();
  const schedule::TreeEdge leaf = fixture.inBox();
  const schedule::TreeEdge first = edges.front();
  const auto below =
      std::find_if(edges.begin(), edges.end(), [&](const auto& each) { return each.parent != first.parent; });
  QVERIFY(below != edges.end());
  struct Row {
    QString from;
    QString to;
    QString why;
  };
  const std::vector<Row> rows{
      {fixture.nameOf(first.parent), fixture.nameOf(leaf.child), u"is the root of the tree"_s},
      {fixture.nameOf(below->parent), fixture.nameOf(below->child), u"hangs below"_s},
      {fixture.nameOf(leaf.child), fixture.nameOf(leaf.parent), u"already"_s},
      {u"ib0"_s, fixture.nameOf(leaf.child), u"Only GPUs and the edges"_s},
      {fixture.nameOf(leaf.child), leaf.child < 8 ? u"b1nvs"_s : u"b0nvs"_s, u"No route from"_s}};
  for (const Row& row : rows) {
    const ElementId to = fixture.node(row.to);
    fixture.lead(fixture.node(row.from), to);
    const auto& note = fixture.editor()->canvas().pointNote();
    QVERIFY2(note.has_value(), qPrintable(row.why));
    QVERIFY2(note->note.title.contains(row.why), qPrintable(note->note.title));
    QVERIFY(note->note.rows.empty() && note->way.empty());
    fixture.letGo(to);
    QVERIFY(!note.has_value());
    QVERIFY(fixture.isDone());
    QCOMPARE(fixture.book()->entries().size(), std::size_t{1});
  }
}

/// Enter on the GPU, arrows to the switch: the same note; Esc takes it back.
void TestDesignerSculpt::pointsByKeys() {
  DragFixture fixture;
  QVERIFY(fixture.start());
  CanvasView& canvas = fixture.editor()->canvas();
  const schedule::TreeEdge edge = fixture.inBox();
  fixture.editor()->selection().setCurrent(fixture.node(fixture.nameOf(edge.child)));
  QTest::keyClick(&canvas, Qt::Key_Return);
  QVERIFY(!canvas.pointNote().has_value());
  QTest::keyClick(&canvas, Qt::Key_Tab);
  QVERIFY(canvas.pointNote().has_value());
  QVERIFY(canvas.pointNote()->over == fixture.editor()->selection().current());
  QTest::keyClick(&canvas, Qt::Key_Escape);
  QVERIFY(!canvas.pointNote().has_value());
  QVERIFY(canvas.tool() == ToolKind::point);
}

/// The halves of an allreduce that are one another's mirror images are changed together; the note says so.
void TestDesignerSculpt::changesBothHalves() {
  DragFixture fixture;
  QVERIFY(fixture.start(Collective::allreduce));
  QVERIFY(fixture.before->hasTwoForests());
  const schedule::TreeEdge edge = fixture.inBox();
  const ElementId from = fixture.node(fixture.nameOf(edge.child));
  const ElementId to = fixture.node(edge.child % 2 == 0 ? u"ib0"_s : u"ib1"_s);
  fixture.lead(from, to);
  QCOMPARE(fixture.told(u"Other half"_s), u"changes in the same way"_s);
  const QString figure = fixture.told(u"Throughput"_s);
  fixture.letGo(to);
  QVERIFY(fixture.isDone());
  QVERIFY2(fixture.book()->failure().isEmpty(), qPrintable(fixture.book()->failure()));
  const ScheduleResult& after = *fixture.current()->result;
  QCOMPARE(gigabytes(after.algbw), figure);
  const auto shown = fixture.trees->trees()->chosenTrees();
  QCOMPARE(shown.size(), std::size_t{1});
  QVERIFY(schedule::mirroredTree(*after.forest(1), shown.front().tree, *after.forest(0)).has_value());
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
