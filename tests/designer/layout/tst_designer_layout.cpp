// SPDX-License-Identifier: Apache-2.0
//
// COPPICE_PICTURES=dir writes a picture of every arrangement that is tested.
#include <QDir>
#include <QElapsedTimer>
#include <QImage>
#include <QPainter>
#include <QTest>
#include <map>
#include <set>
#include <string>

#include "designer/canvas/canvas_view.hpp"
#include "designer/document/arrangement.hpp"
#include "designer/document/edits.hpp"
#include "designer/document/fabric_file.hpp"
#include "designer/document/measures.hpp"
#include "designer/theme/theme.hpp"
#include "presets/presets.hpp"

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
  const QRectF source = view.exportRect({});
  const double scale = std::min({1.0, 1800 / source.width(), 1500 / source.height()});
  QImage image((source.size() * scale).toSize().expandedTo({200, 100}), QImage::Format_RGB32);
  QPainter painter(&image);
  view.renderTo(painter, QRectF(image.rect()), {});
  painter.end();
  QString file = name;
  file.replace(' ', '_').replace(',', '+').replace('/', '-');
  QVERIFY(image.save(QDir(folder).filePath(file + ".png")));
}

/// What a drawing must not have: shapes over each other, or links that run through shapes. Returns the first few.
QStringList faultsOf(const CanvasScene& scene, qsizetype most = 4) {
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
    if (faults.size() > most) {
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
    if (faults.size() > most) {
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
};

QTEST_MAIN(TestDesignerLayout)
#include "tst_designer_layout.moc"
