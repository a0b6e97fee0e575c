// SPDX-License-Identifier: Apache-2.0
#include <QDir>
#include <QDragEnterEvent>
#include <QLineEdit>
#include <QMimeData>
#include <QPainter>
#include <QSignalSpy>
#include <QTest>
#include <QToolButton>
#include <QUndoStack>
#include <algorithm>
#include <array>
#include <memory>

#include "designer/canvas/canvas_painter.hpp"
#include "designer/canvas/canvas_view.hpp"
#include "designer/canvas/legend_placement.hpp"
#include "designer/canvas/live_painter.hpp"
#include "designer/canvas/part_ghost.hpp"
#include "designer/canvas/picture_export.hpp"
#include "designer/canvas/snapping.hpp"
#include "designer/document/fabric_file.hpp"
#include "designer/document/measures.hpp"
#include "designer/theme/icons.hpp"
#include "designer/theme/scales.hpp"
#include "designer/theme/theme.hpp"
#include "presets/presets.hpp"

using namespace coppice;
using namespace coppice::designer;

namespace {

/// A document, its selection and a shown canvas at 100 %, with the scene's origin in the middle.
struct Bench {
  Document document;
  Selection selection{document};
  std::unique_ptr<CanvasView> view;

  Bench() {
    Theme::instance().setAnimated(false);
    view = std::make_unique<CanvasView>(document, selection);
    view->resize(1000, 800);
    view->show();
    view->grab();
    view->setZoom(1);
    view->centreOn(QPointF(0, 0));
    view->grab();
  }
  NodeId add(double x, double y, fabric::NodeKind kind = fabric::NodeKind::gpu, BoxId box = {}) {
    NodeId id;
    document.edit("add", [&](Edit& edit) { id = edits::addNode(edit, kind, {x, y}, box); });
    return id;
  }
  [[nodiscard]] QPoint at(double x, double y) const { return view->toView({x, y}).toPoint(); }
  [[nodiscard]] QPointF place(NodeId id) const { return document.model().find(id)->drawing.position.toPointF(); }
  void drag(QPoint from, QPoint to, Qt::KeyboardModifiers modifiers = {}) const {
    QTest::mousePress(view.get(), Qt::LeftButton, modifiers, from);
    for (int i = 1; i <= 5; ++i) {
      // QTest::mouseMove knows neither buttons nor modifiers.
      const QPoint now = from + (to - from) * i / 5;
      QMouseEvent move(QEvent::MouseMove, now, view->mapToGlobal(now), Qt::NoButton, Qt::LeftButton, modifiers);
      QApplication::sendEvent(view.get(), &move);
    }
    QTest::mouseRelease(view.get(), Qt::LeftButton, modifiers, to);
  }
};

void load(Bench& bench, const char* preset) {
  auto description = presets::make(preset, {});
  QVERIFY(description.hasValue());
  bench.document.reset(readModel(*description).model, true);
}

}  // namespace

/// More lines than a scene routes while the user waits.
void loadMany(Bench& bench) {
  auto description = presets::make("dgx-a100", {{"boxes", "64"}});
  QVERIFY(description.hasValue());
  bench.document.reset(readModel(*description).model, true);
  QVERIFY(bench.view->scene().lines().size() > 1200);
}

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

class TestDesignerCanvas : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void initTestCase() { Theme::instance().applyTo(*qApp); }

  void textStandsOut_data() {
    QTest::addColumn<int>("text");
    QTest::addColumn<int>("ground");
    QTest::addColumn<double>("min");
    const auto row = [](const char* name, Token text, Token ground, double min) {
      QTest::newRow(name) << static_cast<int>(text) << static_cast<int>(ground) << min;
    };
    for (const auto& [name, ground] : {std::pair{"window", Token::window}, std::pair{"panel", Token::panel},
                                       std::pair{"canvas", Token::canvas}, std::pair{"room", Token::room}}) {
      row(qPrintable(QStringLiteral("text on %1").arg(name)), Token::text, ground, 7);
      row(qPrintable(QStringLiteral("muted on %1").arg(name)), Token::muted, ground, 4.5);
      row(qPrintable(QStringLiteral("faint on %1").arg(name)), Token::faint, ground, 3);
      row(qPrintable(QStringLiteral("accent on %1").arg(name)), Token::accent, ground, 4.5);
      row(qPrintable(QStringLiteral("error on %1").arg(name)), Token::error, ground, 4.5);
      row(qPrintable(QStringLiteral("warning on %1").arg(name)), Token::warning, ground, 4.5);
      row(qPrintable(QStringLiteral("cut on %1").arg(name)), Token::cut, ground, 4.5);
    }
    row("on accent", Token::onAccent, Token::accent, 4.5);
    row("on cut", Token::onCut, Token::cut, 4.5);
    row("text on soft accent", Token::text, Token::accentSoft, 7);
    row("gpu", Token::gpuLine, Token::gpuFill, 4.5);
    row("switch", Token::switchLine, Token::switchFill, 4.5);
    row("nic", Token::nicLine, Token::nicFill, 4.5);
    row("unknown", Token::unknownLine, Token::unknownFill, 4.5);
    row("link text", Token::linkText, Token::canvas, 4.5);
    row("text on note", Token::text, Token::noteFill, 7);
  }
  void textStandsOut() {
    QFETCH(int, text);
    QFETCH(int, ground);
    QFETCH(double, min);
    for (const Scheme scheme : {Scheme::light, Scheme::dark}) {
      const Colors& colors = colorsOf(scheme);
      const double ratio = contrast(colors[static_cast<Token>(text)], colors[static_cast<Token>(ground)]);
      QVERIFY2(ratio >= min,
               qPrintable(QStringLiteral("%1 at %2").arg(scheme == Scheme::dark ? "dark" : "light").arg(ratio)));
    }
  }

  void iconsAreDrawn() {
    QVERIFY(!icon(QStringLiteral("undo")).isNull());  // which brings the drawings in
    const QStringList files = QDir(QStringLiteral(":/icons")).entryList({QStringLiteral("*.svg")}, QDir::Files);
    QVERIFY(files.size() > 50);
    for (const QString& file : files) {
      const QString name = file.chopped(4);
      const QImage image = iconPixmap(name, 24, 2, Qt::black).toImage();
      QCOMPARE(image.size(), QSize(48, 48));
      int inked = 0;
      for (int y = 0; y < image.height(); ++y) {
        for (int x = 0; x < image.width(); ++x) {
          inked += qAlpha(image.pixel(x, y)) > 60 ? 1 : 0;
        }
      }
      QVERIFY2(inked > 12, qPrintable(name));
    }
    QVERIFY(icon(QStringLiteral("no such icon")).isNull());
  }

  void heatRises() {
    for (const Scheme scheme : {Scheme::light, Scheme::dark}) {
      double last = -1;
      for (int i = 0; i <= 20; ++i) {
        const double distance = contrast(heat(i / 20.0, scheme), colorsOf(scheme)[Token::canvas]);
        QVERIFY(distance > last);
        last = distance;
      }
    }
  }

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

  void detailByScale() {
    const QRectF small(0, 0, 2000, 1000);
    QCOMPARE(detailAt(0.05, 100, small), Detail::far);
    QCOMPARE(detailAt(0.2, 100, small), Detail::mid);
    QCOMPARE(detailAt(1, 100, small), Detail::near);
    QCOMPARE(detailAt(0.2, 20000, small), Detail::far);
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

  // A dense drawing that comes step by step is the one that comes at once.
  void densePaintingEnds() {
    const auto zoom = [](Bench& bench) {
      loadMany(bench);
      bench.view->zoomToFit();
      bench.view->finishRouting();
      bench.view->setZoom(0.3);
    };
    Bench atOnce;
    zoom(atOnce);
    atOnce.view->complete();
    const QImage expected = atOnce.view->grab().toImage();
    Bench bench;
    zoom(bench);
    QTRY_VERIFY_WITH_TIMEOUT(bench.view->grab().toImage() == expected, 60000);
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

  void legendLiesOverNothing() {
    Bench bench;
    load(bench, "dgx-a100");
    Overlay overlay;
    for (const auto& [id, link] : bench.document.model().links()) {
      overlay.heat.load[id] = {.forward = 0.5, .backward = 0.5};
    }
    overlay.heat.title = "Load";
    for (const QSize size : {QSize(1000, 800), QSize(1400, 420), QSize(640, 700), QSize(500, 280)}) {
      bench.view->setOverlay({});
      bench.view->resize(size);
      bench.view->zoomToFit();
      bench.view->setOverlay(overlay);
      const QPointF corner = bench.view->legendCorner();
      const QRectF legend(corner - QPointF(190, 0), QSizeF(190, 72));
      QVERIFY(QRectF(bench.view->rect()).contains(legend));
      for (const NodeItem& node : bench.view->scene().nodes()) {
        const QRectF rect(bench.view->toView(node.rect.topLeft()), node.rect.size() * bench.view->zoom());
        QVERIFY2(!rect.intersects(legend), qPrintable(node.label));
      }
      // In a pane that is low and narrow too, the drawing has most of the width.
      QVERIFY(bench.view->scene().bounds().width() * bench.view->zoom() > 0.6 * size.width());
    }
  }

  /// A bar hides neither nodes nor names of boxes where any of its places is free of them.
  void barLiesOverNothing_data() {
    QTest::addColumn<QString>("boxes");
    QTest::addColumn<QSize>("size");
    QTest::addColumn<QSize>("bar");
    const QSize small(120, 34);
    QTest::newRow("large") << "2" << QSize(1000, 800) << small;
    QTest::newRow("low") << "2" << QSize(760, 330) << small;
    QTest::newRow("wide") << "2" << QSize(900, 280) << small;
    QTest::newRow("two rows of boxes, room between them") << "4" << QSize(990, 278) << QSize(325, 38);
  }
  void barLiesOverNothing() {
    QFETCH(QString, boxes);
    QFETCH(QSize, size);
    QFETCH(QSize, bar);
    Bench bench;
    bench.document.reset(readModel(*presets::make("dgx-a100", {{"boxes", boxes.toStdString()}})).model, true);
    const CanvasScene& scene = bench.view->scene();
    bench.view->resize(size);
    bench.view->zoomToFit();
    const Viewpoint viewpoint{bench.view->zoom(), bench.view->toView({0, 0})};
    const std::vector<QRectF> titles =
        CanvasPainter(scene, colorsOf(Scheme::light), {})
            .titleRects(viewpoint.scale, detailAt(viewpoint.scale, scene.lines().size(), scene.bounds()));
    const auto placed = [&](const std::vector<QRectF>& names, const QRectF& legend) {
      return QRectF(placeBar(bar, scene, names, legend, viewpoint, size), bar);
    };
    const QRectF place = placed(titles, {});
    QVERIFY(QRectF(QPointF(), size).contains(place));
    const QRectF covered(viewpoint.toScene(place.topLeft()), place.size() / viewpoint.scale);
    for (const NodeItem& node : scene.nodes()) {
      QVERIFY2(!node.rect.intersects(covered), qPrintable(node.label));
    }
    for (const QRectF& title : titles) {
      QVERIFY(!title.intersects(covered));
    }
    // A name or a legend where it would stand sends it elsewhere.
    QVERIFY(!placed({covered}, {}).intersects(place));
    QVERIFY(!placed(titles, place).intersects(place));
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

  void exportHoldsTitles() {
    Bench bench;
    load(bench, "dgx-a100");
    for (const double scale : {1.0, 0.4, 0.2, 0.12}) {
      const QRectF rect = PictureExport(*bench.view, {}).rect(scale);
      const Detail detail = detailAt(scale, bench.view->scene().lines().size(), bench.view->scene().bounds());
      QVERIFY(rect.contains(bench.view->scene().bounds()));
      for (const QRectF& title :
           CanvasPainter(bench.view->scene(), colorsOf(Scheme::light), {}).titleRects(scale, detail)) {
        QVERIFY(rect.contains(title));
      }
    }
    // It matters: seen from there the title stands above its box.
    QVERIFY(!PictureExport(*bench.view, {})
                 .rect(1)
                 .contains(CanvasPainter(bench.view->scene(), colorsOf(Scheme::light), {})
                               .titleRects(0.12, Detail::mid)
                               .front()));
  }

  void linesAvoidNodes_data() {
    QTest::addColumn<QString>("preset");
    for (const char* name : {"dgx-a100", "dgx-h100"}) {
      QTest::newRow(name) << QString(name);
    }
  }
  void linesAvoidNodes() {
    QFETCH(QString, preset);
    for (const char* boxes : {"1", "2", "4"}) {
      auto description = presets::make(preset.toStdString(), {{"boxes", boxes}});
      QVERIFY(description.hasValue());
      const Model model = readModel(*description).model;
      const CanvasScene scene(model);
      for (const LineItem& line : scene.lines()) {
        for (std::uint32_t at = 0; at < scene.nodes().size(); ++at) {
          if (at != line.a && at != line.b) {
            QVERIFY2(!line.curve.meets(scene.nodes()[at].rect),
                     qPrintable(boxes + QStringLiteral(" boxes: %1 crosses %2")
                                            .arg(model.title(line.links.front()), scene.nodes()[at].label)));
          }
        }
      }
    }
  }

  void hullHoldsItsNodes() {
    Bench bench;
    const NodeId a = bench.add(0, 0);
    const NodeId b = bench.add(100, 0);
    const NodeId c = bench.add(600, 0);
    const QPainterPath path = hullOf(bench.view->scene(), {a, b});
    QVERIFY(path.contains(bench.view->scene().rectOf(a)));
    QVERIFY(path.contains(bench.view->scene().rectOf(b)));
    QVERIFY(path.contains(QPointF(50, 0)));
    QVERIFY(!path.intersects(bench.view->scene().rectOf(c)));
  }

  void rendersWhatItShows() {
    Bench bench;
    load(bench, "dgx-a100");
    Overlay overlay;
    overlay.heat.load[LinkId{1}] = {.forward = 1, .backward = 1};
    overlay.heat.title = "Load";
    bench.view->setOverlay(overlay);
    QImage image(800, 600, QImage::Format_RGB32);
    image.fill(Qt::magenta);
    QPainter painter(&image);
    RenderOptions options;
    options.scheme = Scheme::dark;
    PictureExport(*bench.view, options).render(painter, QRectF(0, 0, 800, 600));
    painter.end();
    QCOMPARE(image.pixelColor(2, 2), colorsOf(Scheme::dark)[Token::canvas]);
    std::set<QRgb> colors;
    for (int y = 0; y < 600; y += 2) {
      for (int x = 0; x < 800; x += 2) {
        colors.insert(image.pixel(x, y));
      }
    }
    QVERIFY(colors.contains(colorsOf(Scheme::dark)[Token::gpuFill].rgb()));
    QVERIFY(colors.contains(colorsOf(Scheme::dark)[Token::panel].rgb()));
    QVERIFY(!colors.contains(QColor(Qt::magenta).rgb()));
  }

  // Two trees over one line run side by side, and come back on the other side; in a folded box they are put together.
  void overlayLiesOnLines() {
    Bench bench;
    const NodeId a = bench.add(0, 0);
    const NodeId s = bench.add(0, 200, fabric::NodeKind::switchNode);
    const NodeId b = bench.add(0, 400);
    LinkId up;
    LinkId down;
    bench.document.edit("link", [&](Edit& edit) {
      up = *edits::addLink(edit, s, a, {});  // against the trees' way
      down = *edits::addLink(edit, s, b, {});
    });
    Overlay overlay;
    overlay.trees.push_back({.category = 0, .paths = {{{up, false}, {down, true}}}, .roots = {a}});
    overlay.trees.push_back({.category = 1, .paths = {{{up, false}, {down, true}}, {{down, false}, {up, true}}}});
    overlay.heat.load[up] = {.forward = 0.25, .backward = 1, .text = "x", .isBottleneck = true};
    overlay.heat.load[LinkId{999}] = {.forward = 1};
    overlay.trees.push_back({.category = 2, .paths = {{{LinkId{999}, true}}}, .roots = {NodeId{999}}});
    overlay.isRestDimmed = true;
    {
      const CanvasScene& scene = bench.view->scene();
      const OverlayLayer layer(scene, overlay);
      QCOMPARE(layer.lineCount(), 2U);
      const OverlayLayer::OnLine* on = layer.on(*scene.lineAt(up));
      const bool isFromA = scene.nodes()[scene.line(up)->a].id == ElementId(a);
      QCOMPARE(on->lanes.size(), 3U);
      QCOMPARE(std::count_if(on->lanes.begin(), on->lanes.end(), [](const auto& lane) { return lane.isForward; }),
               isFromA ? 2 : 1);
      QVERIFY(!on->lanes.front().isForward);
      QCOMPARE(on->lanes.front().place, -1.0);
      QCOMPARE(on->lanes.back().place, 1.0);
      QCOMPARE(isFromA ? on->load->forward : on->load->backward, 1.0);
      QVERIFY(on->load->isBottleneck);
      QVERIFY(layer.isBright(*scene.nodeAt(b)));
    }
    // b and its switch within a folded box: the inner link is not drawn, the outer one stays.
    BoxId box;
    bench.document.edit("box", [&](Edit& edit) { box = edits::box(edit, {s, b}); });
    bench.document.edit("fold", [&](Edit& edit) { edits::fold(edit, std::array{box}, true); });
    const OverlayLayer folded(bench.view->scene(), overlay);
    QCOMPARE(folded.lineCount(), 1U);
    QCOMPARE(folded.on(*bench.view->scene().lineAt(up))->lanes.size(), 3U);
    QVERIFY(folded.isBright(*bench.view->scene().nodeAt(box)));
    bench.view->setOverlay(overlay);
    bench.view->grab();
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

  void problemsOfLinksAreMarked() {
    Bench bench;
    const NodeId a = bench.add(-300, 0);
    const NodeId b = bench.add(300, 0);
    LinkId id;
    bench.document.edit("link", [&](Edit& edit) { id = *edits::addLink(edit, a, b, {}); });
    const auto inked = [&](Token token) {
      const QImage image = bench.view->grab().toImage();
      const QRgb wanted = Theme::instance().color(token).rgb();
      int count = 0;
      for (int y = 0; y < image.height(); ++y) {
        for (int x = 0; x < image.width(); ++x) {
          count += image.pixel(x, y) == wanted ? 1 : 0;
        }
      }
      return count;
    };
    QCOMPARE(inked(Token::error), 0);
    bench.view->setProblems({{id, Severity::error}});
    QVERIFY(inked(Token::error) > 20);
  }

  // A label of a region that leaves the view stays in it.
  void hullLabelStaysInView() {
    Bench bench;
    const NodeId a = bench.add(0, 0);
    Overlay overlay;
    overlay.hulls.push_back({.nodes = {a}, .label = "eight shards through two links"});
    bench.view->setOverlay(overlay);
    bench.view->setZoom(1);
    bench.view->panBy({-480, 0});
    const QImage image = bench.view->grab().toImage();
    const QRgb ink = Theme::instance().color(Token::cut).rgb();
    int leftmost = image.width();
    int inked = 0;
    for (int y = 0; y < image.height(); ++y) {
      for (int x = 0; x < image.width(); ++x) {
        if (image.pixel(x, y) == ink) {
          leftmost = std::min(leftmost, x);
          ++inked;
        }
      }
    }
    // The whole pill, away from the rim but for the hull itself.
    QVERIFY(inked > 150 * 12);
  }

  // What a hull says stands beside what it explains, also where the hull is wide.
  void hullLabelCoversNoHull_data() {
    QTest::addColumn<double>("zoom");
    QTest::addColumn<QPointF>("pan");
    for (const double zoom : {0.4, 0.7, 1.0}) {
      for (const QPointF pan : {QPointF(0, 0), QPointF(0, 250), QPointF(0, -250), QPointF(-300, 0)}) {
        QTest::addRow("%g, %g %g", zoom, pan.x(), pan.y()) << zoom << pan;
      }
    }
  }
  void hullLabelCoversNoHull() {
    QFETCH(double, zoom);
    QFETCH(QPointF, pan);
    Bench bench;
    Overlay overlay;
    Hull hull;
    for (int i = 0; i < 4; ++i) {
      hull.nodes.insert(bench.add(-240 + i * 160, 0));
      bench.add(-240 + i * 160, 300);
    }
    hull.label = "into b0 · 24 GPUs · 200 GB/s";
    overlay.hulls.push_back(hull);
    const OverlayLayer layer(bench.view->scene(), overlay);
    bench.view->setZoom(zoom);
    bench.view->panBy(pan.toPoint());
    CanvasState state;
    state.layer = &layer;
    CanvasPainter painter(bench.view->scene(), Theme::instance().colors(), state);
    QPixmap none(8, 8);
    QPainter onNone(&none);
    painter.paintHullLabels(onNone, bench.view->visibleScene(), zoom);  // tells it the scale
    const QSizeF size(220 / zoom, 24 / zoom);
    const auto centre = painter.hullLabelPlace(0, size, bench.view->visibleScene());
    QVERIFY(centre.has_value());
    const QRectF label(*centre - QPointF(size.width() / 2, size.height() / 2), size);
    QVERIFY(bench.view->visibleScene().adjusted(-1, -1, 1, 1).contains(label));
    for (const QRectF& part : layer.hullParts().front()) {
      QVERIFY2(!part.intersects(label), qPrintable(QString::number(label.top())));
    }
    for (const NodeItem& node : bench.view->scene().nodes()) {
      QVERIFY(!hull.nodes.contains(node.id.node()) || !node.rect.intersects(label));
    }
  }

  // From far away names stand beside their boxes.
  void nothingLiesOnNames_data() {
    QTest::addColumn<double>("zoom");
    for (const double zoom : {0.2, 0.27, 0.4, 1.0}) {
      QTest::addRow("%g", zoom) << zoom;
    }
  }
  void nothingLiesOnNames() {
    QFETCH(double, zoom);
    Bench bench;
    bench.document.reset(readArranged(*presets::make("dgx-a100", {{"boxes", "4"}})).model, true);
    const CanvasScene& scene = bench.view->scene();
    bench.view->finishRouting();
    const Viewpoint viewpoint{zoom, QPointF(700, 500) - scene.bounds().center() * zoom};
    const QSize size(1400, 1000);
    const Detail detail = detailAt(zoom, scene.lines().size(), scene.bounds());
    const std::vector<QRectF> titles = CanvasPainter(scene, Theme::instance().colors(), {}).titleRects(zoom, detail);
    QCOMPARE(titles.size(), std::size_t{4});
    for (const BoxItem& box : scene.boxes()) {
      // Neither the frame of the keyboard,
      QImage image(size, QImage::Format_ARGB32_Premultiplied);
      image.fill(Qt::transparent);
      QPainter painter(&image);
      painter.translate(viewpoint.offset);
      painter.scale(zoom, zoom);
      LivePainter(painter, scene, viewpoint, size).paintCursor(box.id);
      painter.end();
      const auto inked = [&](const QRect& part) {
        int count = 0;
        for (int y = part.top(); y <= part.bottom(); ++y) {
          for (int x = part.left(); x <= part.right(); ++x) {
            count += image.valid(x, y) && qAlpha(image.pixel(x, y)) > 0 ? 1 : 0;
          }
        }
        return count;
      };
      QVERIFY(inked(image.rect()) > 100);
      for (const QRectF& title : titles) {
        const QRectF shown(title.topLeft() * zoom + viewpoint.offset, title.size() * zoom);
        QCOMPARE(inked(shown.toAlignedRect().adjusted(1, 1, -1, -1)), 0);
      }
      // nor what the cut says of the box, where there is room elsewhere.
      Hull hull;
      for (const NodeItem& node : scene.nodes()) {
        if (box.rect.contains(node.rect)) {
          hull.nodes.insert(node.id.node());
        }
      }
      hull.label = "into b0 · 24 GPUs · 200 GB/s";
      Overlay overlay;
      overlay.hulls.push_back(hull);
      const OverlayLayer layer(scene, overlay);
      CanvasState state;
      state.layer = &layer;
      CanvasPainter canvas(scene, Theme::instance().colors(), state);
      const QRectF view(viewpoint.toScene({0, 0}), QSizeF(size) / zoom);
      QPixmap none(8, 8);
      QPainter onNone(&none);
      canvas.paintHullLabels(onNone, view, zoom);  // tells it the scale
      const QSizeF pill(220 / zoom, 24 / zoom);
      const auto centre = canvas.hullLabelPlace(0, pill, view);
      QVERIFY(centre.has_value());
      const QRectF label(*centre - QPointF(pill.width() / 2, pill.height() / 2), pill);
      for (const QRectF& title : titles) {
        QVERIFY(!title.intersects(label));
      }
    }
  }

  // Heat takes the place of the line: each link is to be seen once. The fullest lies on top.
  void heatReplacesTheLine() {
    Bench bench;
    const NodeId left = bench.add(-300, 0);
    const NodeId right = bench.add(300, 0);
    const NodeId up = bench.add(0, -300);
    const NodeId down = bench.add(0, 300);
    LinkId across;
    LinkId along;
    bench.document.edit("link", [&](Edit& edit) {
      across = *edits::addLink(edit, left, right, {});
      along = *edits::addLink(edit, up, down, {});
    });
    const auto colors = [&](const Overlay& overlay) {
      bench.view->setOverlay(overlay);
      bench.view->grab();
      const QImage image = bench.view->grab().toImage();
      std::set<QRgb> seen;
      for (int y = 0; y < image.height(); ++y) {
        for (int x = 0; x < image.width() / 2; ++x) {
          seen.insert(image.pixel(x, y));
        }
      }
      return std::pair(seen, image.pixelColor(bench.at(0, 0)));
    };
    const QRgb resting = Theme::instance().color(Token::link).rgb();
    QVERIFY(colors({}).first.contains(resting));
    const Scheme scheme = Theme::instance().scheme();
    for (const bool isAcross : {true, false}) {
      Overlay overlay;
      overlay.heat.load[across] = {.forward = isAcross ? 1.0 : 0.25, .backward = isAcross ? 1.0 : 0.25};
      overlay.heat.load[along] = {.forward = isAcross ? 0.25 : 1.0, .backward = isAcross ? 0.25 : 1.0};
      const auto [seen, crossing] = colors(overlay);
      QVERIFY(!seen.contains(resting));
      QCOMPARE(crossing, heat(1, scheme));
    }
  }

  // From afar all links between two rooms are one trunk, resting or hot.
  void heatRunsOnTrunks() {
    Bench bench;
    bench.document.reset(readModel(*presets::make("dgx-a100", {{"boxes", "64"}})).model, true);
    bench.view->zoomToFit();
    Overlay overlay;
    for (const auto& [id, link] : bench.document.model().links()) {
      overlay.heat.load[id] = {.forward = 0.9, .backward = 0.9};
    }
    bench.view->setOverlay(overlay);
    const CanvasScene& scene = bench.view->scene();
    const OverlayLayer layer(scene, overlay);
    CanvasState state;
    state.layer = &layer;
    state.hasTitles = false;
    state.hasGrid = false;
    const QRectF all = scene.bounds();
    const double scale = 0.08;
    const auto inked = [&](const CanvasState& with) {
      QImage image(qCeil(all.width() * scale), qCeil(all.height() * scale), QImage::Format_RGB32);
      image.fill(Theme::instance().color(Token::canvas));
      QPainter painter(&image);
      painter.scale(scale, scale);
      painter.translate(-all.topLeft());
      CanvasPainter(scene, Theme::instance().colors(), with).paint(painter, all, scale, Detail::far);
      painter.end();
      const QRgb ground = Theme::instance().color(Token::canvas).rgb();
      int count = 0;
      for (int y = 0; y < image.height(); ++y) {
        for (int x = 0; x < image.width(); ++x) {
          count += image.pixel(x, y) != ground ? 1 : 0;
        }
      }
      return count;
    };
    // Heat covers about what the trunks cover, not the drawing.
    const int resting = inked({.hasGrid = false, .hasTitles = false});
    const int hot = inked(state);
    QVERIFY2(hot < resting * 5 / 4, qPrintable(QString("%1 of %2").arg(hot).arg(resting)));
  }

  // Beside a box, where there is room, and over no node.
  void titlesCoverNoNodes() {
    Bench bench;
    bench.document.reset(readArranged(*presets::make("dgx-a100", {{"boxes", "128"}})).model, true);
    const CanvasScene& scene = bench.view->scene();
    bench.view->finishRouting();
    for (const double scale : {0.125, 0.2, 0.27, 0.6}) {
      CanvasPainter painter(scene, Theme::instance().colors(), {});
      const Detail detail = detailAt(scale, scene.lines().size(), scene.bounds());
      QVERIFY(detail != Detail::far);
      const std::vector<QRectF> titles = painter.titleRects(scale, detail);
      QCOMPARE(titles.size(), std::size_t{128});
      for (const QRectF& title : titles) {
        for (const NodeItem& node : scene.nodes()) {
          QVERIFY2(!node.rect.intersects(title), qPrintable(QString("%1 at %2").arg(node.label).arg(scale)));
        }
      }
    }
  }

  // Folded boxes take the room that they have, and say who they are however far away.
  void foldedBoxesAreNamed() {
    Bench bench;
    bench.document.reset(readModel(*presets::make("dgx-a100", {{"boxes", "16"}})).model, true);
    const CanvasScene& scene = bench.view->scene();
    std::map<BoxId, QRectF> open;
    for (const BoxItem& box : scene.boxes()) {
      open[box.id] = box.rect;
    }
    bench.document.edit("fold", [&](Edit& edit) { edits::fold(edit, bench.document.model().boxesIn({}), true); });
    QCOMPARE(scene.boxes().size(), std::size_t{0});
    bench.view->zoomToFit();
    bench.view->finishRouting();
    const QImage image = bench.view->grab().toImage();
    const QRgb ink = Theme::instance().color(Token::text).rgb();
    int named = 0;
    for (const NodeItem& node : scene.nodes()) {
      if (node.shape != Shape::foldedBox) {
        continue;
      }
      const QRectF& room = open.at(node.id.box());
      QVERIFY(room.contains(node.rect));
      QVERIFY(node.rect.width() > 0.75 * room.width() || node.rect.height() > 0.75 * room.height());
      const QRect rect = QRect(bench.view->toView(node.rect.topLeft()).toPoint(),
                               bench.view->toView(node.rect.bottomRight()).toPoint()) &
                         image.rect();
      int inked = 0;
      for (int y = rect.top(); y <= rect.bottom(); ++y) {
        for (int x = rect.left(); x <= rect.right(); ++x) {
          inked += image.pixel(x, y) == ink ? 1 : 0;
        }
      }
      named += inked > 4 ? 1 : 0;
    }
    QCOMPARE(named, 16);
  }

  // Many equal boxes are one shape with a cell for each; a cut, a load and a selected box are seen on the cell.
  void equalBoxesAreOneStack() {
    Bench bench;
    bench.document.reset(readModel(*presets::make("dgx-a100", {{"boxes", "40"}})).model, true);
    const Model& model = bench.document.model();
    const std::vector<BoxId> boxes = model.boxesIn({});
    bench.document.edit("fold", [&](Edit& edit) { edits::fold(edit, boxes, true); });
    const CanvasScene& scene = bench.view->scene();
    QCOMPARE(scene.nodes().size(), std::size_t{3});
    const NodeItem stack = *scene.node(boxes.front());
    QCOMPARE(stack.label, QStringLiteral("DGX A100 × 40"));
    QCOMPARE(stack.detail, QStringLiteral("each 8 GPUs · 200 GB/s out\nall 320 GPUs · 8000 GB/s out"));
    QCOMPARE(stack.cells.size(), boxes.size());
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      QVERIFY(stack.rect.contains(stack.cells[i].rect));
      QVERIFY(stack.cells[i].rect.top() > stack.rect.top() + stack.textHeight - 1);
    }
    for (const NodeItem& node : scene.nodes()) {
      QVERIFY(node.id == stack.id || !node.rect.intersects(stack.rect));
    }
    const NodeId gpu = model.nodeNamed("b7g3");
    QCOMPARE(scene.rectOf(gpu), stack.cells[7].rect);
    // Around the cell, and not the whole stack.
    std::set<NodeId> box;
    for (const NodeId id : model.allNodesIn(boxes[7])) {
      box.insert(id);
    }
    const QRectF hull = hullOf(scene, box).boundingRect();
    QVERIFY(hull.contains(stack.cells[7].rect) && hull.width() < 2 * stack.cells[7].rect.width());
    Overlay overlay;
    overlay.heat.load[model.linksOf(gpu).front()] = {.forward = 0.25, .backward = 0.5, .isBottleneck = true};
    const OverlayLayer layer(scene, overlay);
    QVERIFY(layer.onCell(boxes[7]) != nullptr && layer.onCell(boxes[8]) == nullptr);
    QCOMPARE(layer.onCell(boxes[7])->max, 0.5);
    QVERIFY(layer.onCell(boxes[7])->isBottleneck);
    // A click takes all of them, a double click opens all.
    bench.view->zoomToFit();
    const QPoint middle = bench.view->toView(stack.rect.center()).toPoint();
    QTest::mouseClick(bench.view.get(), Qt::LeftButton, {}, middle);
    QCOMPARE(bench.selection.elements().size(), boxes.size());
    QTest::mouseDClick(bench.view.get(), Qt::LeftButton, {}, middle);
    QCOMPARE(scene.boxes().size(), boxes.size());
  }

  // A part that is assumed to have failed is crossed out, be it a node or a link.
  void failedPartsAreCrossedOut() {
    Bench bench;
    const NodeId a = bench.add(-300, 0);
    const NodeId b = bench.add(300, 0);
    LinkId id;
    bench.document.edit("link", [&](Edit& edit) { id = *edits::addLink(edit, a, b, {}); });
    const auto inked = [&](const std::set<ElementId>& failed) {
      Overlay overlay;
      overlay.failed = failed;
      bench.view->setOverlay(overlay);
      const QImage image = bench.view->grab().toImage();
      const QRgb wanted = Theme::instance().color(Token::error).rgb();
      int count = 0;
      for (int y = 0; y < image.height(); ++y) {
        for (int x = 0; x < image.width(); ++x) {
          count += image.pixel(x, y) == wanted ? 1 : 0;
        }
      }
      return count;
    };
    QCOMPARE(inked({}), 0);
    QVERIFY(inked({id}) > 100);
    QVERIFY(inked({a}) > 30);
    QCOMPARE(inked({NodeId{999}, LinkId{999}}), 0);
  }

  void hostilePlaces() {
    Bench bench;
    const NodeId a = bench.add(1e300, -1e300);
    const NodeId b = bench.add(0, 0);
    bench.document.edit("link", [&](Edit& edit) { QVERIFY(edits::addLink(edit, a, b, {}).hasValue()); });
    bench.view->zoomToFit();
    bench.view->grab();
    bench.view->centreOn(ElementId(a));
    bench.view->grab();
    bench.document.edit("move", [&](Edit& edit) { edits::move(edit, {b}, {20, 0}); });
    bench.view->grab();
  }
};

QTEST_MAIN(TestDesignerCanvas)
#include "tst_designer_canvas.moc"
