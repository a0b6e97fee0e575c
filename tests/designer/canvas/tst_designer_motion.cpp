// SPDX-License-Identifier: Apache-2.0
#include <QImage>
#include <QPainter>
#include <QTest>
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "designer/canvas/canvas_view.hpp"
#include "designer/canvas/live_painter.hpp"
#include "designer/canvas/motion_lanes.hpp"
#include "designer/canvas/motion_painter.hpp"
#include "designer/document/fabric_file.hpp"
#include "designer/theme/scales.hpp"
#include "designer/theme/theme.hpp"
#include "presets/presets.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace Qt::StringLiterals;

/// Data under way on a drawing: which lanes it takes, and that what is kept between frames draws as a painter does.
namespace {

struct Drawing {
  explicit Drawing(const char* boxes, QSize size = {1200, 800}) {
    Theme::instance().setAnimated(false);
    document.reset(readModel(*presets::make("dgx-a100", {{"boxes", boxes}})).model, true);
    view.resize(size);
    view.show();
    view.finishRouting();
    view.zoomToFit();
    view.complete();
    view.grab();
  }
  /// Every link carries something both ways, and some pieces; `at` from 0 to 1 is the moment.
  [[nodiscard]] Motion motion(double at) const {
    Motion result;
    int index = 0;
    for (const auto& [id, link] : document.model().links()) {
      for (const bool isForward : {true, false}) {
        const double share = std::abs(std::sin(index++ + 3 * at));
        result.flows.push_back({{id, isForward}, share, heat(share, Scheme::light)});
        if (index % 3 == 0) {
          result.pieces.push_back({{id, isForward}, at, category(index, Scheme::light)});
        }
      }
    }
    for (const auto& [id, node] : document.model().nodes()) {
      if (node.kind() == fabric::NodeKind::gpu) {
        result.arrivals.push_back({id, at, 1 - at});
      }
    }
    return result;
  }
  [[nodiscard]] QImage frame(double ratio = 1) {
    QImage image(view.size() * ratio, QImage::Format_RGB32);
    image.setDevicePixelRatio(ratio);
    image.fill(Theme::instance().color(Token::canvas));
    return image;
  }
  /// However many frames it takes until all lanes are drawn well.
  [[nodiscard]] QImage painted(MotionPainter& painter, const Motion& motion, const Viewpoint& from, double ratio = 1) {
    QImage image;
    do {
      image = frame(ratio);
    } while (!painter.paint(image, motion, from, false));
    return image;
  }
  [[nodiscard]] Viewpoint viewpoint() const { return {view.zoom(), view.toView({0, 0})}; }

  Document document;
  Selection selection{document};
  CanvasView view{document, selection};
};

/// Mean of the differences of all channels, 0 to 255, and the share of pixels that differ by more than a shade.
std::pair<double, double> difference(const QImage& a, const QImage& b) {
  double sum = 0;
  double many = 0;
  constexpr int kShade = 48;
  for (int y = 0; y < a.height(); ++y) {
    for (int x = 0; x < a.width(); ++x) {
      const QRgb p = a.pixel(x, y);
      const QRgb q = b.pixel(x, y);
      const int max =
          std::max({std::abs(qRed(p) - qRed(q)), std::abs(qGreen(p) - qGreen(q)), std::abs(qBlue(p) - qBlue(q))});
      sum += max;
      many += max > kShade ? 1 : 0;
    }
  }
  const double pixels = static_cast<double>(a.width()) * a.height();
  return {sum / pixels, many / pixels};
}

}  // namespace

class TestDesignerMotion : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void initTestCase() { Theme::instance().setChoice(SchemeChoice::light); }

  void drawnAsByAPainter_data() {
    QTest::addColumn<double>("ratio");
    QTest::addColumn<double>("zoom");
    QTest::newRow("fit") << 1.0 << 0.0;
    QTest::newRow("two pixels") << 2.0 << 0.0;
    QTest::newRow("near") << 1.0 << 1.5;
  }

  void drawnAsByAPainter() {
    QFETCH(const double, ratio);
    QFETCH(const double, zoom);
    Drawing drawing("2");
    if (zoom > 0) {
      drawing.view.setZoom(zoom);
    }
    MotionPainter kept(drawing.view.scene());
    MotionLanes lanes(drawing.view.scene());
    // The second and third frame draw from what the first one kept.
    for (const double at : {0.2, 0.2, 0.7}) {
      const Motion motion = drawing.motion(at);
      const QImage fast = drawing.painted(kept, motion, drawing.viewpoint(), ratio);
      QImage plain = drawing.frame(ratio);
      {
        QPainter painter(&plain);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.translate(drawing.viewpoint().offset);
        painter.scale(drawing.viewpoint().scale, drawing.viewpoint().scale);
        LivePainter(painter, drawing.view.scene(), drawing.viewpoint(), drawing.view.size()).paintMotion(motion, lanes);
      }
      const auto [mean, many] = difference(fast, plain);
      const auto [moved, changed] = difference(drawing.frame(ratio), plain);
      QVERIFY(changed > 0.002);
      // Widths are quarters of a pixel, places of pieces too: edges differ by a shade.
      QVERIFY2(mean < moved / 12 && many < changed / 20,
               qPrintable(u"mean %1 of %2, pixels %3 of %4"_s.arg(mean).arg(moved).arg(many).arg(changed)));
    }
  }

  void panningKeepsWhatIsDrawn() {
    Drawing drawing("2");
    MotionPainter kept(drawing.view.scene());
    const Motion motion = drawing.motion(0.4);
    const QImage before = drawing.painted(kept, motion, drawing.viewpoint());
    Viewpoint moved = drawing.viewpoint();
    const QPoint by(40, -25);
    moved.offset += by;
    const QImage after = drawing.painted(kept, motion, moved);
    const QRect common = before.rect() & before.rect().translated(-by);
    QCOMPARE(after.copy(common.translated(by)), before.copy(common));
  }

  void linesOfATrunkAreOneLane() {
    Drawing drawing("16");
    MotionLanes lanes(drawing.view.scene());
    const Motion motion = drawing.motion(0.3);
    const std::size_t each = lanes.busiest(motion).size();
    lanes.setTrunks(true);
    const auto together = lanes.busiest(motion);
    QVERIFY2(together.size() < each, qPrintable(u"%1 of %2"_s.arg(together.size()).arg(each)));
    std::size_t inRooms = drawing.view.scene().lines().size();
    for (const BundleItem& bundle : drawing.view.scene().bundles()) {
      inRooms -= bundle.lines.size();
      // There and back, whatever the direction in which a link was drawn.
      for (const std::uint32_t line : bundle.lines) {
        const LinkId link = drawing.view.scene().lines()[line].links.front();
        const auto there = lanes.laneOf({link, true});
        const auto back = lanes.laneOf({link, false});
        QVERIFY(there && back && (*there ^ *back) == 1);
        const Curve way = lanes.curveOf(*there, 0);
        const Link& ends = *drawing.document.model().find(link);
        const QPointF tail = drawing.view.scene().rectOf(ends.tail.node).center();
        const QPointF head = drawing.view.scene().rectOf(ends.head.node).center();
        QVERIFY(QPointF::dotProduct(way.to - way.from, head - tail) > 0);
      }
    }
    QCOMPARE(together.size(), 2 * (inRooms + drawing.view.scene().bundles().size()));
    // The busier, the later.
    for (std::size_t at = 1; at < together.size(); ++at) {
      QVERIFY(together[at - 1].second->share <= together[at].second->share);
    }
    lanes.setTrunks(false);
    QCOMPARE(lanes.busiest(motion).size(), each);
  }

  /// What the window shows, with and without something under way.
  void theCanvasShowsIt() {
    Drawing drawing("2");
    const QImage still = drawing.view.grab().toImage();
    drawing.view.setMotion(drawing.motion(0.5));
    const QImage moving = drawing.view.grab().toImage();
    QVERIFY(difference(still, moving).second > 0.002);
    // An element that goes takes its lane along.
    const LinkId link = (*drawing.document.model().links().begin()).id;
    drawing.document.edit("remove", [&](Edit& edit) { edits::remove(edit, {ElementId(link)}); });
    drawing.view.grab();
    drawing.view.setMotion({});
    drawing.document.undoStack()->undo();
    QCoreApplication::processEvents();
    drawing.view.finishRouting();
    drawing.view.complete();
    QVERIFY(difference(still, drawing.view.grab().toImage()).second < 0.001);
  }
};

QTEST_MAIN(TestDesignerMotion)
#include "tst_designer_motion.moc"
