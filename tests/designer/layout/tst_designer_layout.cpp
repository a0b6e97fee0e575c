// SPDX-License-Identifier: Apache-2.0
//
// COPPICE_PICTURES=dir writes a picture of every arrangement that is tested.
#include <QDir>
#include <QElapsedTimer>
#include <QFileInfo>
#include <QImage>
#include <QPainter>
#include <QSignalSpy>
#include <QTest>
#include <QUndoStack>
#include <cmath>
#include <initializer_list>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "designer/canvas/canvas_view.hpp"
#include "designer/canvas/picture_export.hpp"
#include "designer/document/arrangement.hpp"
#include "designer/document/arrangement_parts.hpp"
#include "designer/document/edits.hpp"
#include "designer/document/fabric_file.hpp"
#include "designer/document/measures.hpp"
#include "designer/layout/graphviz.hpp"
#include "designer/layout/layout_job.hpp"
#include "designer/theme/theme.hpp"
#include "presets/presets.hpp"
#include "support/waiting.hpp"

using namespace coppice;
using namespace coppice::designer;

namespace {

std::map<std::string, std::string> argumentsOf(const QString& text) {
  std::map<std::string, std::string> result;
  for (const QString& part : text.split(' ', Qt::SkipEmptyParts)) {
    result[part.section('=', 0, 0).toStdString()] = part.section('=', 1).toStdString();
  }
  return result;
}

/// As an import without places would bring it.
Model bare(const QString& preset, const QString& arguments, bool hasBoxes = true) {
  auto made = presets::make(preset.toStdString(), argumentsOf(arguments));
  if (!made) {
    qFatal("%s", made.error().message.c_str());
  }
  for (fabric::NodeDescription& node : made->nodes) {
    node.position.reset();
    if (!hasBoxes) {
      node.box.clear();
    }
  }
  return readModel(*made).model;
}

void picture(const Model& model, const QString& name, const Overlay& overlay = {}) {
  const QString folder = qEnvironmentVariable("COPPICE_PICTURES");
  if (folder.isEmpty()) {
    return;
  }
  Document document;
  Selection selection(document);
  document.reset(Model(model), true);
  CanvasView view(document, selection);
  view.setOverlay(overlay);
  const QRectF source = PictureExport(view, {}).rect();
  const double scale = std::min({1.0, 1800 / source.width(), 1500 / source.height()});
  QImage image((source.size() * scale).toSize().expandedTo({200, 100}), QImage::Format_RGB32);
  QPainter painter(&image);
  PictureExport(view, {}).render(painter, QRectF(image.rect()));
  painter.end();
  QString file = name;
  file.replace(' ', '_').replace(',', '+').replace('/', '-');
  QVERIFY(image.save(QDir(folder).filePath(file + ".png")));
}

/// What a drawing must not have: shapes over each other, or links that run through shapes. Returns the first few.
QStringList faultsOf(const CanvasScene& scene, qsizetype max = 4) {
  QStringList faults;
  std::vector<std::uint32_t> near;
  const auto label = [&](std::uint32_t at) { return scene.model().title(scene.nodes()[at].id); };
  for (std::uint32_t a = 0; a < scene.nodes().size(); ++a) {
    scene.nodesIn(scene.nodes()[a].rect, near);
    for (const std::uint32_t b : near) {
      if (b > a && scene.nodes()[a].rect.intersects(scene.nodes()[b].rect)) {
        faults.append(QStringLiteral("%1 lies on %2").arg(label(a), label(b)));
      }
    }
    if (faults.size() > max) {
      return faults;
    }
  }
  for (const LineItem& line : scene.lines()) {
    scene.nodesIn(line.curve.bounds(), near);
    for (const std::uint32_t at : near) {
      if (at != line.a && at != line.b && line.curve.meets(scene.nodes()[at].rect)) {
        faults.append(QStringLiteral("%1 runs through %2").arg(scene.model().title(line.links.front()), label(at)));
      }
    }
    if (faults.size() > max) {
      return faults;
    }
  }
  return faults;
}

}  // namespace

class TestDesignerLayout : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void initTestCase() {
    Theme::instance().applyTo(*qApp);
    Theme::instance().setAnimated(false);
  }

  void presetsAreClear_data() {
    QTest::addColumn<QString>("preset");
    QTest::addColumn<QString>("arguments");
    const std::vector<std::pair<const char*, std::vector<const char*>>> cases{
        {"dgx1-v100", {"", "boxes=2", "boxes=4"}},
        {"dgx2", {"boxes=1", "", "boxes=4"}},
        {"dgx-a100",
         {"boxes=1", "", "boxes=3", "boxes=4", "boxes=8", "boxes=32", "boxes=128", "boxes=4 network=leaf-spine",
          "boxes=16 network=leaf-spine boxes_per_leaf=4 spines=4"}},
        {"dgx-h100", {"", "boxes=4", "boxes=4 network=rails", "boxes=16 network=rails", "boxes=128"}},
        {"dgx-b200", {"boxes=4 network=rail-only"}},
        {"gb200-nvl72", {"", "racks=2", "racks=8", "racks=2 network=planes"}},
        {"hgx-mi300x", {"boxes=1", "", "boxes=4", "boxes=4 network=planes"}},
        {"mi250", {"boxes=1", "", "boxes=4", "gpus=0-7", "boxes=2 network=planes"}},
        {"gigabyte-z52-mi50", {""}},
        {"azure-ndv2", {"boxes=1", "", "boxes=4"}},
        {"fig-4-5", {""}},
        {"cluster", {"", "boxes=3 gpus=4,8,12", "boxes=2 gpus=32", "boxes=20 gpus=4"}},
        {"rail-optimised", {"", "boxes=12"}},
        {"rail-only", {"", "boxes=12"}},
        {"fat-tree-2", {"", "leaves=8 gpus_per_leaf=8 spines=4", "leaves=64 gpus_per_leaf=16 spines=16"}},
        {"fat-tree-3",
         {"", "pods=8 leaves_per_pod=4 gpus_per_leaf=4 spines_per_pod=4 cores=16",
          "pods=16 leaves_per_pod=8 gpus_per_leaf=8 spines_per_pod=8 cores=64"}},
        {"dragonfly", {"", "a=4 p=2 h=2", "a=6 p=2 h=3"}},
        {"ring", {"gpus=2", "", "gpus=16 direction=one-way", "gpus=64", "gpus=1024"}},
        {"torus", {"", "dims=8x8", "dims=4x4x4", "dims=4x4x2", "dims=8x8x4", "dims=32x32", "dims=4x4x4x4"}},
        {"mesh", {"", "dims=3x5", "dims=3x3x3", "dims=16x8x8"}},
        {"hypercube", {"dimension=1", "dimension=2", "", "dimension=4", "dimension=5", "dimension=6", "dimension=10"}},
        {"complete", {"", "gpus=3", "gpus=16", "gpus=32"}},
        {"complete-bipartite", {"", "left=8 right=3"}},
        {"circulant", {"nodes=16 jumps=3,4", "nodes=32 jumps=1,6", "nodes=64 jumps=3,4"}},
        {"cayley", {"m=8 n=2 r=7 generators=0,1,1,0,3,1,6,0", "m=8 n=2 r=3 generators=1,0,1,1"}},
    };
    for (const auto& [preset, list] : cases) {
      for (const char* arguments : list) {
        QTest::addRow("%s %s", preset, arguments) << QString(preset) << QString(arguments);
      }
    }
  }
  void presetsAreClear() {
    QFETCH(QString, preset);
    QFETCH(QString, arguments);
    QElapsedTimer timer;
    timer.start();
    Model model = bare(preset, arguments);
    const auto arranging = timer.restart();
    const CanvasScene scene(model);
    QVERIFY(!scene.nodes().empty());
    const auto routing = timer.elapsed();
    qInfo("%zu nodes, %zu links: arranged in %lld ms, routed in %lld ms", model.nodes().size(), model.links().size(),
          static_cast<long long>(arranging), static_cast<long long>(routing));
    picture(model, preset + ' ' + arguments);
    const QStringList faults = faultsOf(scene);
    QVERIFY2(faults.isEmpty(), qPrintable(faults.join("; ")));

    // The same with every outermost box folded.
    if (model.boxes().isEmpty()) {
      return;
    }
    Edit edit(model);
    edits::fold(edit, model.boxesIn({}), true);
    const Patch patch = edit.patch();
    model.applyTrusted(patch);
    const CanvasScene folded(model);
    picture(model, preset + ' ' + arguments + " folded");
    const QStringList foldedFaults = faultsOf(folded);
    QVERIFY2(foldedFaults.isEmpty(), qPrintable("folded: " + foldedFaults.join("; ")));
  }

  // What was boxed in the preset is found again without boxes: no node lies on another, no link runs through one.
  void looseFabricsAreClear_data() {
    QTest::addColumn<QString>("preset");
    QTest::addColumn<QString>("arguments");
    for (const auto& [preset, arguments] :
         std::initializer_list<std::pair<const char*, const char*>>{{"dgx-a100", "boxes=4"},
                                                                    {"dgx-h100", "boxes=4 network=rails"},
                                                                    {"fat-tree-2", "leaves=8 gpus_per_leaf=4"},
                                                                    {"fat-tree-3", ""},
                                                                    {"mi250", "boxes=2"},
                                                                    {"dgx1-v100", "boxes=2"},
                                                                    {"dragonfly", "a=4 p=2 h=2"}}) {
      QTest::addRow("%s %s", preset, arguments) << QString(preset) << QString(arguments);
    }
  }
  void looseFabricsAreClear() {
    QFETCH(QString, preset);
    QFETCH(QString, arguments);
    const Model model = bare(preset, arguments, false);
    const CanvasScene scene(model);
    picture(model, preset + ' ' + arguments + " loose");
    const QStringList faults = faultsOf(scene);
    QVERIFY2(faults.isEmpty(), qPrintable(faults.join("; ")));
  }

  // The picture that a cluster is to arrive as: two boxes above the network and two below, NICs towards it.
  void clusterStandsAboutItsNetwork() {
    const Model model = bare("dgx-a100", "boxes=4");
    const auto place = [&](const char* name) { return model.find(model.nodeNamed(name))->drawing.position; };
    const double network = place("ib0").y;
    QCOMPARE(place("ib1").y, network);
    for (const char* box : {"b0", "b1"}) {
      const std::string b(box);
      QVERIFY(place((b + "nvs").c_str()).y < place((b + "g0").c_str()).y);
      QVERIFY(place((b + "g0").c_str()).y < place((b + "nic0").c_str()).y);
      QVERIFY(place((b + "nic0").c_str()).y < network);
      QCOMPARE(place((b + "g3").c_str()).x, place((b + "nic3").c_str()).x);
    }
    for (const char* box : {"b2", "b3"}) {
      const std::string b(box);
      QVERIFY(place((b + "nvs").c_str()).y > place((b + "g0").c_str()).y);
      QVERIFY(place((b + "nic0").c_str()).y > network);
    }
    QCOMPARE(place("b0g0").x, place("b2g0").x);
    QVERIFY(place("b1g0").x > place("b0g7").x);
  }

  void latticesAreRecognised() {
    const auto links = [](const std::vector<int>& sides, bool isClosed) {
      std::vector<std::pair<int, int>> result;
      int count = 1;
      for (const int side : sides) {
        count *= side;
      }
      int stride = 1;
      for (std::size_t level = sides.size(); level-- > 0; stride *= sides[level]) {
        const int side = sides[level];
        for (int i = 0; i < count; ++i) {
          const int at = i / stride % side;
          if (at + 1 < side) {
            result.emplace_back(i, i + stride);
          } else if (isClosed && side > 2) {
            result.emplace_back(i - at * stride, i);
          }
        }
      }
      return result;
    };
    using Sides = std::vector<int>;
    QCOMPARE(arrangement::latticeSides(64, links({4, 4, 4}, true)), (Sides{4, 4, 4}));
    QCOMPARE(arrangement::latticeSides(30, links({2, 3, 5}, false)), (Sides{2, 3, 5}));
    QCOMPARE(arrangement::latticeSides(32, links({2, 2, 2, 2, 2}, false)), (Sides{2, 2, 2, 2, 2}));
    auto broken = links({4, 4}, true);
    broken.pop_back();
    QCOMPARE(arrangement::latticeSides(16, broken), Sides());
  }

  void spreadsOutAsLittleAsNeeded() {
    const std::vector<double> x = arrangement::spreadOut({0, 0, 100, 400}, {20, 20, 20, 20}, 10);
    QCOMPARE(x, (std::vector<double>{-15, 15, 100, 400}));
  }

  void stylesKeepNodesApart_data() {
    QTest::addColumn<int>("kind");
    QTest::newRow("best") << static_cast<int>(LayoutKind::best);
    QTest::newRow("rails") << static_cast<int>(LayoutKind::rails);
    QTest::newRow("circle") << static_cast<int>(LayoutKind::circle);
    QTest::newRow("grid") << static_cast<int>(LayoutKind::grid);
  }
  void stylesKeepNodesApart() {
    QFETCH(int, kind);
    for (const char* arguments : {"boxes=4 network=rails", "boxes=3 network=simple"}) {
      Model model = bare("dgx-h100", arguments);
      const auto places = computeLayout(model, nodesToArrange(model, {}), static_cast<LayoutKind>(kind));
      QVERIFY(places.hasValue());
      QCOMPARE(places->size(), model.nodes().size());
      Edit edit(model);
      applyLayout(edit, *places);
      const Patch patch = edit.patch();
      model.applyTrusted(patch);
      picture(model, QStringLiteral("style %1 %2").arg(kind).arg(arguments));
      const QStringList faults = faultsOf(CanvasScene(model)).filter("lies on");
      QVERIFY2(faults.isEmpty(), qPrintable(faults.join("; ")));
    }
  }

  /// Rows of a cube seen from one corner: 1, 3, 3 and 1, and of a one-way ring one node each.
  void rowsFollowTheDistance() {
    const Model cube = bare("hypercube", "dimension=3");
    const NodeId corner = cube.nodeNamed("g5");
    const auto places =
        computeLayout(cube, nodesToArrange(cube, {}), LayoutKind::distance, {}, std::chrono::seconds(20), {corner});
    QVERIFY(places.hasValue());
    std::map<double, int> rows;
    for (const auto& [id, place] : *places) {
      ++rows[place.y];
    }
    QCOMPARE(rows.size(), std::size_t{4});
    QCOMPARE(rows.begin()->second, 1);
    QCOMPARE(rows.begin()->first, places->at(corner).y);
    QCOMPARE(std::next(rows.begin())->second, 3);
    QCOMPARE(rows.rbegin()->first, places->at(cube.nodeNamed("g2")).y);
    // Boxes would lie over each other.
    const Model boxed = bare("dgx-a100", "boxes=2");
    const auto refused = computeLayout(boxed, nodesToArrange(boxed, {}), LayoutKind::distance);
    QVERIFY(!refused.hasValue());
    QVERIFY(refused.error().message.find("boxes") != std::string::npos);
    const Model ring = bare("ring", "gpus=5 direction=one-way");
    const auto line = computeLayout(ring, nodesToArrange(ring, {}), LayoutKind::distance);
    QVERIFY(line.hasValue());
    for (const auto& [before, after] : {std::pair("g0", "g1"), std::pair("g1", "g2"), std::pair("g3", "g4")}) {
      QVERIFY(line->at(ring.nodeNamed(before)).y < line->at(ring.nodeNamed(after)).y);
    }
  }

  void pinnedNodesStay() {
    Model model = bare("dgx-a100", "boxes=2");
    const NodeId ib = model.nodeNamed("ib0");
    Edit edit(model);
    edit.change(ib, [](Node& node) {
      node.drawing.isPinned = true;
      node.drawing.position = {5000, 3000};
    });
    const Patch patch = edit.patch();
    model.applyTrusted(patch);
    const auto places = computeLayout(model, nodesToArrange(model, {}), LayoutKind::best);
    QVERIFY(places.hasValue());
    QVERIFY(!places->contains(ib));
    QCOMPARE(places->size() + 1, model.nodes().size());
    // The rest lies about it, as it would lie about the switch.
    QVERIFY(std::abs(places->at(model.nodeNamed("ib1")).y - 3000) < 1);
    const QRectF pinned = nodeRect(model, ib);
    for (const auto& [id, place] : *places) {
      QRectF rect = nodeRect(model, id);
      rect.moveCenter(place.toPointF());
      QVERIFY(!rect.intersects(pinned));
    }
  }

  // One command, which goes back to the very bytes; frames of boxes do not stay behind.
  void layoutIsOneCommand() {
    Document document;
    document.reset(bare("dgx-a100", "boxes=4"), true);
    document.edit("mess", [&](Edit& edit) {
      edits::move(edit, {document.model().nodeNamed("b0g0")}, {999, 777});
      edit.change(BoxId{1}, [](Box& box) { box.frame = Rect{-9000, -9000, 10, 10}; });
    });
    const std::string before = writeFabricFile(document.model());
    const int count = document.undoStack()->count();
    LayoutJob job;
    QSignalSpy finished(&job, &LayoutJob::finished);
    job.submit(document, {}, LayoutKind::best);
    QVERIFY(finished.wait(5000));
    QCOMPARE(document.undoStack()->count(), count + 1);
    QVERIFY(faultsOf(CanvasScene(document.model())).isEmpty());
    QVERIFY(!document.model().find(BoxId{1})->frame);
    document.undoStack()->undo();
    QCOMPARE(writeFabricFile(document.model()), before);
  }

  // A part is laid out where it stands; the rest does not move.
  void selectionAlone() {
    Document document;
    document.reset(bare("dgx-a100", "boxes=4"), true);
    const QPointF centre = boxOutline(document.model(), BoxId{2}).center();
    const Point other = document.model().find(document.model().nodeNamed("b0g0"))->drawing.position;
    LayoutJob job;
    QSignalSpy finished(&job, &LayoutJob::finished);
    job.submit(document, {BoxId{2}}, LayoutKind::circle);
    QVERIFY(finished.wait(5000));
    QCOMPARE(document.model().find(document.model().nodeNamed("b0g0"))->drawing.position, other);
    const QPointF now = boxOutline(document.model(), BoxId{2}).center();
    QVERIFY2(std::hypot(now.x() - centre.x(), now.y() - centre.y()) < 60, "moved away");
  }

  void staleOrGoneDocumentsAreLeftAlone() {
    auto document = std::make_unique<Document>();
    document->reset(bare("dgx-a100", "boxes=2"), true);
    LayoutJob job;
    QSignalSpy finished(&job, &LayoutJob::finished);
    QSignalSpy said(&job, &LayoutJob::statusMessage);
    job.submit(*document, {}, LayoutKind::best);
    document->edit("node", [](Edit& edit) { edits::addNode(edit, fabric::NodeKind::gpu, {0, 0}); });
    const int count = document->undoStack()->count();
    QVERIFY(finished.wait(5000));
    QCOMPARE(document->undoStack()->count(), count);
    QVERIFY(said.back().front().toString().contains("changed"));
    job.submit(*document, {}, LayoutKind::best);
    document.reset();
    coppice::waiting::settle();
  }

  void cancelled() {
    std::stop_source stop;
    stop.request_stop();
    const Model model = bare("dgx-a100", "boxes=4");
    const auto places = computeLayout(model, nodesToArrange(model, {}), LayoutKind::best, stop.get_token());
    QVERIFY(!places.hasValue());
    QCOMPARE(places.error().code, ErrorCode::cancelled);
  }

  void graphviz_data() {
    QTest::addColumn<int>("kind");
    QTest::newRow("layered") << static_cast<int>(LayoutKind::layered);
    QTest::newRow("force") << static_cast<int>(LayoutKind::force);
    QTest::newRow("circular") << static_cast<int>(LayoutKind::circular);
  }
  void graphviz() {
    if (QStringLiteral(COPPICE_DOT_PROGRAM).isEmpty()) {
      QSKIP("built without Graphviz");
    }
    qputenv("PATH", QFileInfo(COPPICE_DOT_PROGRAM).absolutePath().toUtf8() + ':' + qgetenv("PATH"));
    QFETCH(int, kind);
    Model model = bare("dgx-a100", "boxes=2");
    const auto places = computeLayout(model, nodesToArrange(model, {}), static_cast<LayoutKind>(kind));
    QVERIFY2(places.hasValue(), places ? "" : places.error().message.c_str());
    QCOMPARE(places->size(), model.nodes().size());
    Edit edit(model);
    applyLayout(edit, *places);
    const Patch patch = edit.patch();
    model.applyTrusted(patch);
    picture(model, QStringLiteral("graphviz %1").arg(kind));
    // Bars grow over what they join once it is placed: GPUs and NICs are what the engines keep apart.
    QStringList faults;
    for (const auto& [a, nodeA] : model.nodes()) {
      for (const auto& [b, nodeB] : model.nodes()) {
        if (a < b && nodeA.kind() != fabric::NodeKind::switchNode && nodeB.kind() != fabric::NodeKind::switchNode &&
            nodeRect(model, a).intersects(nodeRect(model, b))) {
          faults.append(model.title(a) + " on " + model.title(b));
        }
      }
    }
    QVERIFY2(faults.isEmpty(), qPrintable(faults.join("; ")));
  }

  void graphvizTree() {
    if (QStringLiteral(COPPICE_DOT_PROGRAM).isEmpty()) {
      QSKIP("built without Graphviz");
    }
    qputenv("PATH", QFileInfo(COPPICE_DOT_PROGRAM).absolutePath().toUtf8() + ':' + qgetenv("PATH"));
    PlainGraph graph;
    graph.sizes.assign(7, QSizeF(56, 56));
    for (int i = 1; i < 7; ++i) {
      graph.edges.emplace_back((i - 1) / 2, i);
    }
    const auto places = laidOut(graph, io::DotLayout::layered);
    QVERIFY2(places.hasValue(), places ? "" : places.error().message.c_str());
    QVERIFY((*places)[0].y() < (*places)[1].y());
    QCOMPARE((*places)[1].y(), (*places)[2].y());
    QVERIFY((*places)[2].y() < (*places)[5].y());
    // No time: a clear message, nothing placed.
    const auto late =
        laidOut(graph, io::DotLayout::layered, {.program = {}, .timeLimit = std::chrono::milliseconds(0), .stop = {}});
    QVERIFY(!late.hasValue());
    QCOMPARE(late.error().code, ErrorCode::limit);
  }

  // Places beyond all bounds, nodes on one point, links to themselves and to nothing.
  void hostileModels() {
    fabric::Description description;
    for (int i = 0; i < 40; ++i) {
      fabric::NodeDescription node;
      node.id = i % 7 == 0 ? "same" : "n" + std::to_string(i);
      node.kind = i % 5 == 0 ? "nonsense" : i % 3 == 0 ? "switch" : "gpu";
      node.box = i % 4 == 0 ? "a/b/c" : i % 4 == 1 ? "a" : "";
      if (i % 2 == 0) {
        node.position = fabric::Position{.x = i % 6 == 0 ? 1e300 : 0, .y = 0};
      }
      description.nodes.push_back(node);
      fabric::LinkDescription link;
      link.src = "n" + std::to_string(i);
      link.dst = i % 9 == 0 ? link.src : i % 8 == 0 ? "nobody" : "n" + std::to_string((i * 7) % 40);
      link.bandwidth = i % 3 == 0 ? "many" : "50";
      description.links.push_back(link);
    }
    Model model = readModel(description).model;
    for (const LayoutKind kind : {LayoutKind::best, LayoutKind::rails, LayoutKind::circle, LayoutKind::grid}) {
      const auto places = computeLayout(model, nodesToArrange(model, {}), kind);
      QVERIFY(places.hasValue());
      for (const auto& [id, place] : *places) {
        QVERIFY(std::abs(place.x) < 1e7 && std::abs(place.y) < 1e7);
      }
    }
    const CanvasScene scene(model);
    QVERIFY(scene.lines().size() < 40);
    QVERIFY(computeLayout(Model(), {}, LayoutKind::best).hasValue());
  }
};

QTEST_MAIN(TestDesignerLayout)
#include "tst_designer_layout.moc"
