// SPDX-License-Identifier: Apache-2.0
#include <QDragEnterEvent>
#include <QLineEdit>
#include <QMimeData>
#include <QSignalSpy>
#include <QTest>
#include <QToolButton>
#include <QUndoStack>
#include <optional>
#include <set>
#include <stop_token>

#include "designer/canvas/bench.hpp"
#include "designer/canvas/canvas_view.hpp"
#include "designer/canvas/part_ghost.hpp"
#include "designer/canvas/picture_export.hpp"
#include "designer/document/measures.hpp"
#include "designer/theme/theme.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace coppice::designer::test;

namespace {

/// Lines run as in a scene that is rebuilt from scratch.
void compareRoutes(const CanvasScene& scene) {
  const CanvasScene rebuilt(scene.model());
  QVERIFY(rebuilt.isRouted());
  QCOMPARE(scene.lines().size(), rebuilt.lines().size());
  for (std::size_t i = 0; i < rebuilt.lines().size(); ++i) {
    QVERIFY2(scene.lines()[i].curve == rebuilt.lines()[i].curve,
             qPrintable(scene.model().title(rebuilt.lines()[i].links[0])));
    QCOMPARE(scene.lines()[i].numberAt, rebuilt.lines()[i].numberAt);
  }
}

}  // namespace

class TestDesignerCanvas : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void initTestCase() { Theme::instance().applyTo(*qApp); }

  void clickNeverMoves() {
    Bench bench;
    const NodeId id = bench.add(13, 7);
    const int before = bench.document.undoStack()->count();
    bench.drag(bench.at(13, 7), bench.at(13, 7) + QPoint(2, 1));
    QCOMPARE(bench.place(id), QPointF(13, 7));
    QCOMPARE(bench.document.undoStack()->count(), before);
    QCOMPARE(bench.selection.elements(), std::set<ElementId>{id});
  }

  void dragIsOneLineAndSnaps() {
    Bench bench;
    const NodeId id = bench.add(0, 0);
    const int before = bench.document.undoStack()->count();
    bench.drag(bench.at(0, 0), bench.at(137, 66));
    QCOMPARE(bench.document.undoStack()->count(), before + 1);
    QCOMPARE(bench.place(id), QPointF(140, 60));
    bench.document.undoStack()->undo();
    QCOMPARE(bench.place(id), QPointF(0, 0));
    bench.drag(bench.at(0, 0), bench.at(137, 66), Qt::AltModifier);
    QCOMPARE(bench.place(id), QPointF(137, 66));
  }

  void dragAlignsWithOthers() {
    Bench bench;
    bench.add(207, -211);
    const NodeId id = bench.add(0, 0);
    bench.drag(bench.at(0, 0), bench.at(204, 66));
    QCOMPARE(bench.place(id).x(), 207.0);
    QCOMPARE(bench.place(id).y(), 60.0);
  }

  void escTakesADragBack() {
    Bench bench;
    const NodeId id = bench.add(0, 0);
    QTest::mousePress(bench.view.get(), Qt::LeftButton, {}, bench.at(0, 0));
    const QPoint to = bench.at(200, 0);
    QMouseEvent move(QEvent::MouseMove, to, bench.view->mapToGlobal(to), Qt::NoButton, Qt::LeftButton, {});
    QApplication::sendEvent(bench.view.get(), &move);
    QCOMPARE(bench.place(id), QPointF(200, 0));
    QTest::keyClick(bench.view.get(), Qt::Key_Escape);
    QCOMPARE(bench.place(id), QPointF(0, 0));
    QTest::mouseRelease(bench.view.get(), Qt::LeftButton, {}, to);
    QCOMPARE(bench.place(id), QPointF(0, 0));
    // The next step back drops the selection.
    QTest::keyClick(bench.view.get(), Qt::Key_Escape);
    QVERIFY(bench.selection.isEmpty());
  }

  void rubberBand() {
    Bench bench;
    const NodeId a = bench.add(0, 0);
    const NodeId b = bench.add(100, 0);
    const NodeId c = bench.add(300, 0);
    bench.drag(bench.at(-60, -60), bench.at(150, 60));
    QCOMPARE(bench.selection.elements(), (std::set<ElementId>{a, b}));
    bench.drag(bench.at(240, -60), bench.at(360, 60), Qt::ShiftModifier);
    QCOMPARE(bench.selection.elements(), (std::set<ElementId>{a, b, c}));
    bench.drag(bench.at(-60, -60), bench.at(50, 60), Qt::ControlModifier);
    QCOMPARE(bench.selection.elements(), (std::set<ElementId>{b, c}));
    QTest::mouseClick(bench.view.get(), Qt::LeftButton, {}, bench.at(-200, -200));
    QVERIFY(bench.selection.isEmpty());
  }

  void nudge() {
    Bench bench;
    const NodeId id = bench.add(0, 0);
    bench.selection.set({id});
    const int before = bench.document.undoStack()->count();
    QTest::keyClick(bench.view.get(), Qt::Key_Right);
    QTest::keyClick(bench.view.get(), Qt::Key_Right);
    QTest::keyClick(bench.view.get(), Qt::Key_Down, Qt::ShiftModifier);
    QCOMPARE(bench.place(id), QPointF(4, 20));
    QCOMPARE(bench.document.undoStack()->count(), before + 1);
  }

  void linkByMouse() {
    Bench bench;
    const NodeId a = bench.add(0, 0);
    const NodeId b = bench.add(0, 200, fabric::NodeKind::switchNode);
    const int before = bench.document.undoStack()->count();
    bench.view->setTool(ToolKind::link);
    bench.drag(bench.at(0, 0), bench.at(0, 200));
    QCOMPARE(bench.document.model().links().size(), 1U);
    // The field is open: what is typed becomes the bandwidth, in the same line of the history.
    auto* field = bench.view->findChild<QLineEdit*>();
    QVERIFY(field != nullptr);
    field->selectAll();
    QTest::keyClicks(field, "400Gb/s");
    QTest::keyClick(field, Qt::Key_Return);
    const Link& link = *bench.document.model().find(bench.document.model().linksOf(a).front());
    QCOMPARE(link.bandwidth, std::string("400Gb/s"));
    QCOMPARE(link.head.node, b);
    QCOMPARE(bench.document.undoStack()->count(), before + 1);
    bench.document.undoStack()->undo();
    QVERIFY(bench.document.model().links().isEmpty());
  }

  void wrongBandwidthStaysOpen() {
    Bench bench;
    bench.add(0, 0);
    bench.add(0, 200);
    bench.view->setTool(ToolKind::link);
    bench.drag(bench.at(0, 0), bench.at(0, 200));
    auto* field = bench.view->findChild<QLineEdit*>();
    QVERIFY(field != nullptr);
    field->setText("50 bananas");
    QTest::keyClick(field, Qt::Key_Return);
    QVERIFY(bench.view->findChild<QLineEdit*>() != nullptr);
    QCOMPARE(bench.document.model().links()[LinkId{1}].bandwidth, std::string("50"));
  }

  void linkSetToNodeAndByKeys() {
    Bench bench;
    const NodeId a = bench.add(-100, 0);
    const NodeId b = bench.add(0, 0);
    const NodeId c = bench.add(0, -200, fabric::NodeKind::switchNode);
    bench.selection.set({a, b});
    QTest::keyClick(bench.view.get(), Qt::Key_L);
    QCOMPARE(bench.view->tool(), ToolKind::link);
    bench.selection.setCurrent(b);
    QTest::keyClick(bench.view.get(), Qt::Key_Up);
    QCOMPARE(bench.selection.current(), ElementId(c));
    QTest::keyClick(bench.view.get(), Qt::Key_Return);
    QCOMPARE(bench.document.model().linksOf(c).size(), 2U);
    QCOMPARE(bench.document.model().linksOf(a).size(), 1U);
    // A click does the same.
    QTest::keyClick(bench.view->findChild<QLineEdit*>(), Qt::Key_Escape);
    bench.selection.set({a});
    QTest::mouseClick(bench.view.get(), Qt::LeftButton, {}, bench.at(0, 0));
    QCOMPARE(bench.document.model().linksOf(a).size(), 2U);
  }

  void linkSetToBoxAsksForAPattern() {
    Bench bench;
    const NodeId a = bench.add(-200, -200);
    const NodeId b = bench.add(-100, -200);
    const NodeId c = bench.add(-100, 100);
    const NodeId d = bench.add(0, 100);
    BoxId box;
    bench.document.edit("box", [&](Edit& edit) { box = edits::box(edit, {c, d}); });
    bench.selection.set({a, b});
    bench.view->setTool(ToolKind::link);
    const QRectF rect = bench.view->scene().box(box)->rect;
    QTest::mouseClick(bench.view.get(), Qt::LeftButton, {}, bench.at(rect.left() + 40, rect.top() + 10));
    const auto buttons = bench.view->findChildren<QToolButton*>();
    QCOMPARE(buttons.size(), 5);
    QTest::mouseClick(buttons[1], Qt::LeftButton);
    QCOMPARE(bench.document.model().links().size(), 2U);
    QCOMPARE(bench.document.model().linksOf(a).size(), 1U);
  }

  void foldByDoubleClick() {
    Bench bench;
    load(bench, "dgx-a100");
    bench.view->zoomToFit();
    QVERIFY(!bench.view->scene().boxes().empty());
    const BoxItem box = bench.view->scene().boxes().front();
    const QPoint title = bench.view->toView(box.rect.topLeft() + QPointF(40, 10)).toPoint();
    QTest::mouseDClick(bench.view.get(), Qt::LeftButton, {}, title);
    QVERIFY(bench.document.model().find(box.id)->isFolded);
    const NodeItem* folded = bench.view->scene().node(box.id);
    QVERIFY(folded != nullptr);
    QTest::mouseDClick(bench.view.get(), Qt::LeftButton, {}, bench.view->toView(folded->rect.center()).toPoint());
    QVERIFY(!bench.document.model().find(box.id)->isFolded);
  }

  void placeAndBox() {
    Bench bench;
    bench.view->startPlacing(fabric::NodeKind::nic);
    QTest::mouseClick(bench.view.get(), Qt::LeftButton, {}, bench.at(57, 44));
    QCOMPARE(bench.document.model().nodes().size(), 1U);
    QCOMPARE(bench.place(NodeId{1}), QPointF(60, 40));
    QTest::keyClick(bench.view.get(), Qt::Key_Escape);
    QCOMPARE(bench.view->tool(), ToolKind::select);
    bench.view->setTool(ToolKind::box);
    bench.drag(bench.at(0, 0), bench.at(120, 120));
    QCOMPARE(bench.document.model().boxes().size(), 1U);
    QCOMPARE(bench.document.model().find(NodeId{1})->facts.box, BoxId{1});
  }

  void zoomKeepsThePointerPlace() {
    Bench bench;
    bench.add(0, 0);
    const QPointF scene = bench.view->toScene({300, 200});
    bench.view->zoomAbout(2.5, {300, 200});
    QVERIFY((bench.view->toView(scene) - QPointF(300, 200)).manhattanLength() < 1.5);
    const QByteArray state = bench.view->viewState();
    bench.view->setZoom(0.3);
    bench.view->setViewState(state);
    QCOMPARE(bench.view->zoom(), 2.5);
    bench.view->setViewState("nonsense");
    QCOMPARE(bench.view->zoom(), 2.5);
  }

  // After any change the geometry that followed is the geometry rebuilt from scratch.
  void followsAsRebuilt() {
    Bench bench;
    load(bench, "dgx-a100");
    Model& model = const_cast<Model&>(bench.document.model());
    const std::vector<NodeId> some{NodeId{1}, NodeId{9}, NodeId{12}};
    for (const NodeId id : some) {
      if (model.find(id) != nullptr) {
        bench.document.edit("move", [&](Edit& edit) { edits::move(edit, {id}, {33, -17}); });
      }
    }
    const CanvasScene rebuilt(model);
    const CanvasScene& followed = bench.view->scene();
    QCOMPARE(followed.nodes().size(), rebuilt.nodes().size());
    for (std::size_t i = 0; i < rebuilt.nodes().size(); ++i) {
      QCOMPARE(followed.nodes()[i].rect, rebuilt.nodes()[i].rect);
    }
    for (std::size_t i = 0; i < rebuilt.boxes().size(); ++i) {
      QCOMPARE(followed.boxes()[i].rect, rebuilt.boxes()[i].rect);
    }
  }

  // Routes of another thread are those computed at once, whatever happened meanwhile.
  void routesOfAnotherThread() {
    Bench bench;
    loadMany(bench);
    bench.view->grab();
    QVERIFY(!bench.view->scene().isRouted());
    QTRY_VERIFY_WITH_TIMEOUT(bench.view->scene().isRouted(), 60000);
    compareRoutes(bench.view->scene());
    // Changes while work is on its way, and a drag of many steps.
    loadMany(bench);
    bench.view->grab();
    QCoreApplication::processEvents();
    const GestureId gesture = bench.document.beginGesture();
    for (int i = 0; i < 12; ++i) {
      bench.document.edit(
          "drag",
          [&](Edit& edit) {
            edits::move(edit, {NodeId{1}, NodeId{30}}, {31, -17});
          },
          gesture);
      bench.view->grab();
      if (i % 4 == 0) {
        QCoreApplication::processEvents();
      }
    }
    QVERIFY(!bench.view->scene().isRouted());
    QTRY_VERIFY_WITH_TIMEOUT(bench.view->scene().isRouted(), 60000);
    compareRoutes(bench.view->scene());
    // Who cannot wait gets them at once.
    bench.document.edit("move", [&](Edit& edit) { edits::move(edit, {NodeId{2}}, {0, 300}); });
    QVERIFY(!bench.view->scene().isRouted());
    QVERIFY(!PictureExport(*bench.view, {}).rect().isNull());
    compareRoutes(bench.view->scene());
  }

  void routesOfAnotherTimeAreRefused() {
    Bench bench;
    loadMany(bench);
    CanvasScene scene(bench.document.model(), Routing::later);
    const auto before = scene.unrouted();
    QVERIFY(before != nullptr);
    QCOMPARE(scene.unrouted(), before);
    scene.rebuild();
    QVERIFY(!scene.applyRoutes(before, *routesOf(*before)));
    QVERIFY(!scene.isRouted());
    QVERIFY(scene.applyRoutes(scene.unrouted(), *routesOf(*scene.unrouted())).has_value());
    QVERIFY(scene.isRouted());
    std::stop_source stop;
    stop.request_stop();
    QVERIFY(!routesOf(*before, stop.get_token()));
  }

  void ghostOfWhatIsDragged() {
    Bench bench;
    load(bench, "dgx-a100");
    const QRectF there = bench.view->scene().bounds();
    Model part = readModel(*presets::make("dgx-h100", {})).model;
    const QSizeF size = contentsRect(part).size();
    std::optional<QPointF> dropped;
    bench.view->setPartDrops(
        {[&](const QMimeData& data) { return data.hasText() ? std::optional(part) : std::nullopt; },
         [&](const QMimeData&, const QPointF& centre) { dropped = centre; }});
    bench.view->setZoom(0.5);
    const QPointF place = bench.view->toView({there.center().x() + 3, there.bottom() + size.height() + 100});
    const QPixmap before = bench.view->grab();
    QMimeData none;
    QDragEnterEvent other(place.toPoint(), Qt::CopyAction, &none, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(bench.view.get(), &other);
    QVERIFY(!other.isAccepted());
    QMimeData data;
    data.setText("part");
    QDragEnterEvent enter(place.toPoint(), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(bench.view.get(), &enter);
    QVERIFY(enter.isAccepted());
    QDragMoveEvent move(place.toPoint(), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(bench.view.get(), &move);
    QVERIFY(move.isAccepted());
    QVERIFY(bench.view->grab().toImage() != before.toImage());
    QDragLeaveEvent leave;
    QApplication::sendEvent(bench.view.get(), &leave);
    QCOMPARE(bench.view->grab().toImage(), before.toImage());
    QApplication::sendEvent(bench.view.get(), &enter);
    QDropEvent drop(place, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(bench.view.get(), &drop);
    QVERIFY(dropped.has_value());
    // Where the ghost stood: near the pointer, on the grid or in line with others.
    QVERIFY((*dropped - bench.view->toScene(place)).manhattanLength() < 60);
    QCOMPARE(bench.view->grab().toImage(), before.toImage());
    QCOMPARE(PartGhost(part).at({0, 0}).size(), size);
  }

  void theWholeStaysInView() {
    Bench bench;
    load(bench, "dgx-a100");
    bench.view->zoomToFit();
    const double before = bench.view->zoom();
    bench.view->resize(500, 400);
    QVERIFY(bench.view->zoom() < before);
    QVERIFY(bench.view->visibleScene().contains(bench.view->scene().bounds()));
    // What the user has chosen to see stays as it is.
    bench.view->setZoom(0.7);
    bench.view->resize(900, 700);
    QCOMPARE(bench.view->zoom(), 0.7);
    bench.view->centreOn(bench.view->scene().nodes().front().id);
    const double read = bench.view->zoom();
    bench.view->resize(700, 600);
    QCOMPARE(bench.view->zoom(), read);
  }

  void stretchedByItsEnds() {
    Bench bench;
    const NodeId id = bench.add(0, 0, fabric::NodeKind::switchNode);
    const QRectF before = bench.view->scene().rectOf(id);
    QTest::mouseClick(bench.view.get(), Qt::LeftButton, {}, bench.at(0, 0));
    const int count = bench.document.undoStack()->count();
    bench.drag(bench.at(before.right(), 0), bench.at(before.right() + 101, 0));
    const QRectF after = bench.view->scene().rectOf(id);
    QCOMPARE(after.left(), before.left());
    QCOMPARE(after.right(), before.right() + 100);
    QCOMPARE(bench.document.undoStack()->count(), count + 1);
    // The other end, without snapping; Esc takes it back.
    QTest::mousePress(bench.view.get(), Qt::LeftButton, Qt::AltModifier, bench.at(after.left(), 0));
    const QPoint to = bench.at(after.left() - 33, 0);
    QMouseEvent move(QEvent::MouseMove, to, bench.view->mapToGlobal(to), Qt::NoButton, Qt::LeftButton, Qt::AltModifier);
    QApplication::sendEvent(bench.view.get(), &move);
    QCOMPARE(bench.view->scene().rectOf(id).left(), after.left() - 33);
    QTest::keyClick(bench.view.get(), Qt::Key_Escape);
    QCOMPARE(bench.view->scene().rectOf(id), after);
    QTest::mouseRelease(bench.view.get(), Qt::LeftButton, {}, to);
    bench.document.undoStack()->undo();
    QCOMPARE(bench.view->scene().rectOf(id), before);
    // By a double click as wide as its links ask for.
    bench.document.undoStack()->redo();
    QTest::mouseDClick(bench.view.get(), Qt::LeftButton, {}, bench.at(after.right(), 0));
    QCOMPARE(bench.view->scene().rectOf(id).width(), before.width());
  }
};

QTEST_MAIN(TestDesignerCanvas)
#include "tst_designer_canvas.moc"
