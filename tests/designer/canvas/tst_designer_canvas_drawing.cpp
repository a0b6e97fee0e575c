// SPDX-License-Identifier: Apache-2.0
#include <QPainter>
#include <QTest>
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "designer/canvas/bench.hpp"
#include "designer/canvas/canvas_painter.hpp"
#include "designer/canvas/canvas_view.hpp"
#include "designer/canvas/legend_placement.hpp"
#include "designer/canvas/live_painter.hpp"
#include "designer/canvas/picture_export.hpp"
#include "designer/theme/scales.hpp"
#include "designer/theme/theme.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace coppice::designer::test;

class TestDesignerCanvasDrawing : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void shortLabels_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<QString>("box");
    QTest::addColumn<bool>("isNumbered");
    QTest::addColumn<QString>("label");
    const auto row = [](const char* name, const char* box, bool isNumbered, const char* label) {
      QTest::newRow(name) << QString(name) << QString(box) << isNumbered << QString(label);
    };
    row("b0g3", "b0", true, "3");
    row("b0g3-nic12", "b0", true, "12");
    row("head", "", true, "head");
    row("x0y1z2", "instance0", true, "0.1.2");
    row("x3y14", "", true, "3.14");
    row("b0nvs", "b0", false, "nvs");
    row("b0", "b0", false, "b0");
    row("leaf3", "", false, "leaf3");
  }
  void shortLabels() {
    QFETCH(QString, name);
    QFETCH(QString, box);
    QFETCH(bool, isNumbered);
    QTEST(shortLabel(name, box, isNumbered), "label");
  }

  void initTestCase() { Theme::instance().applyTo(*qApp); }

  void detailByScale() {
    const QRectF small(0, 0, 2000, 1000);
    QCOMPARE(detailAt(0.05, 100, small), Detail::far);
    QCOMPARE(detailAt(0.2, 100, small), Detail::mid);
    QCOMPARE(detailAt(1, 100, small), Detail::near);
    QCOMPARE(detailAt(0.2, 20000, small), Detail::far);
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

QTEST_MAIN(TestDesignerCanvasDrawing)
#include "tst_designer_canvas_drawing.moc"
