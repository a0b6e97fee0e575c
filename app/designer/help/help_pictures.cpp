// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/help/help_pictures.hpp"

#include <QCoreApplication>
#include <QFile>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "designer/canvas/canvas_view.hpp"
#include "designer/canvas/picture_export.hpp"
#include "designer/document/document_file.hpp"
#include "designer/document/fabric_file.hpp"
#include "designer/document/selection.hpp"
#include "designer/help/help_book.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr double kMargin = 28;  // scene units
const QString kFolder = u":/help/pictures/"_s;
const QString kLightFile = u"-light.png"_s;
const QString kDarkFile = u"-dark.png"_s;

/// A dock or a dialog, which coppice-screenshots took from the window in both schemes.
QImage screenshot(const QString& name, Scheme scheme, double width, double devicePixelRatio) {
  const QImage taken(kFolder + name + (scheme == Scheme::dark ? kDarkFile : kLightFile));
  if (taken.isNull()) {
    return {};
  }
  const int pixels = std::min(taken.width(), static_cast<int>(width * devicePixelRatio));
  // Files have few colours; scaled ones need more.
  QImage image =
      taken.convertToFormat(QImage::Format_ARGB32_Premultiplied).scaledToWidth(pixels, Qt::SmoothTransformation);
  image.setDevicePixelRatio(pixels / width);
  return image;
}

struct Sketch {
  QString fabric;
  void (*prepare)(Edit& edit) = nullptr;
  Overlay (*overlay)(const Model& model) = nullptr;
};

NodeId node(const Model& model, const char* name) {
  return model.nodeNamed(name);
}

/// The link between two nodes, taken from the first to the second.
LinkStep step(const Model& model, const char* from, const char* to) {
  for (const LinkId id : model.linksOf(node(model, from))) {
    const Link& link = *model.find(id);
    if (link.tail.node == node(model, from) && link.head.node == node(model, to)) {
      return {id, true};
    }
    if (link.head.node == node(model, from) && link.tail.node == node(model, to)) {
      return {id, false};
    }
  }
  return {};
}

Overlay cutOf(const Model& model, int box, const QString& label) {
  Overlay overlay;
  Hull hull;
  const std::vector<NodeId> inside = model.allNodesIn(model.boxesIn({})[box]);
  hull.nodes.insert(inside.begin(), inside.end());
  hull.label = label;
  for (const auto& [id, link] : model.links()) {
    if (hull.nodes.contains(link.tail.node) != hull.nodes.contains(link.head.node)) {
      overlay.marks.push_back({.link = id});
    }
  }
  overlay.hulls.push_back(std::move(hull));
  return overlay;
}

Overlay cut(const Model& model) {
  return cutOf(model, 1, QCoreApplication::translate("HelpPicture", "4 shards in, 4 links × 25 = 100 GB/s"));
}

Overlay exitOf(const Model& model) {
  return cutOf(model, 0, QCoreApplication::translate("HelpPicture", "B⁺(S) = 4 × 25 = 100 GB/s"));
}

TreeMark treeFrom(const Model& model, const char* root, const char* rootNic, const char* farNic, const char* far,
                  int category) {
  TreeMark tree;
  tree.category = category;
  tree.roots.insert(node(model, root));
  for (const char* near : {"b0g0", "b0g1", "b0g2", "b0g3"}) {
    if (node(model, near) != node(model, root)) {
      tree.paths.push_back({step(model, root, "b0nvs"), step(model, "b0nvs", near)});
    }
  }
  tree.paths.push_back(
      {step(model, root, rootNic), step(model, rootNic, "ib"), step(model, "ib", farNic), step(model, farNic, far)});
  for (const char* other : {"b1g0", "b1g1", "b1g2", "b1g3"}) {
    if (node(model, other) != node(model, far)) {
      tree.paths.push_back({step(model, far, "b1nvs"), step(model, "b1nvs", other)});
    }
  }
  return tree;
}

Overlay tree(const Model& model) {
  Overlay overlay;
  overlay.trees.push_back(treeFrom(model, "b0g0", "b0nic0", "b1nic0", "b1g0", 0));
  overlay.isRestDimmed = true;
  return overlay;
}

Overlay forest(const Model& model) {
  Overlay overlay = tree(model);
  overlay.trees.push_back(treeFrom(model, "b0g3", "b0nic3", "b1nic3", "b1g3", 1));
  return overlay;
}

Overlay heatOf(const Model& model) {
  constexpr double kInside = 0.58;
  Overlay overlay;
  for (const auto& [id, link] : model.links()) {
    const bool isInside = model.nameOf(link.head).find("nvs") != std::string::npos;
    LinkLoad load{.forward = isInside ? kInside : 1.0, .backward = isInside ? kInside : 1.0};
    load.isBottleneck = model.nameOf(link.head) == "ib";
    overlay.heat.load[id] = load;
  }
  return overlay;
}

void foldRight(Edit& edit) {
  const std::vector<BoxId> right{edit.base().boxesIn({})[1]};
  edits::fold(edit, right, true);
}

const std::vector<std::pair<QString, Sketch>>& sketches() {
  static const std::vector<std::pair<QString, Sketch>> kSketches = {
      {u"kinds"_s, {u"two-boxes"_s}},
      {u"links"_s, {u"links"_s}},
      {u"folded"_s, {u"two-boxes"_s, foldRight}},
      {u"cut"_s, {u"two-boxes"_s, nullptr, cut}},
      {u"exit"_s, {u"two-boxes"_s, nullptr, exitOf}},
      {u"tree"_s, {u"two-boxes"_s, nullptr, tree}},
      {u"forest"_s, {u"two-boxes"_s, nullptr, forest}},
      {u"heat"_s, {u"two-boxes"_s, nullptr, heatOf}},
  };
  return kSketches;
}

}  // namespace

QImage helpPicture(const QString& name, Scheme scheme, double width, double devicePixelRatio) {
  HelpBook::instance();  // which brings the resources in
  const auto found =
      std::find_if(sketches().begin(), sketches().end(), [&](const auto& entry) { return entry.first == name; });
  if (found == sketches().end()) {
    return screenshot(name, scheme, width, devicePixelRatio);
  }
  const Sketch& sketch = found->second;
  QFile file(kFolder + sketch.fabric + u".fabric.json"_s);
  if (!file.open(QIODevice::ReadOnly)) {
    return {};
  }
  auto read = readFabricFile(file.readAll().toStdString(), sketch.fabric.toStdString());
  if (!read) {
    return {};
  }
  DocumentFile document;
  document.adopt(std::move(read->model), {});
  Selection selection(document.document());
  if (sketch.prepare != nullptr) {
    document.document().edit(u"Prepare"_s, [&](Edit& edit) { sketch.prepare(edit); });
  }
  CanvasView view(document.document(), selection);
  if (sketch.overlay != nullptr) {
    view.setOverlay(sketch.overlay(document.document().model()));
  }
  const QRectF source = view.scene().bounds().adjusted(-kMargin, -kMargin, kMargin, kMargin);
  const double scale = std::min(1.0, width / source.width());
  const QSizeF size = source.size() * scale;
  QImage image((size * devicePixelRatio).toSize(), QImage::Format_ARGB32_Premultiplied);
  image.setDevicePixelRatio(devicePixelRatio);
  image.fill(colorsOf(scheme)[Token::canvas]);
  QPainter painter(&image);
  RenderOptions options;
  options.scheme = scheme;
  options.hasLegend = false;
  options.detail = Detail::near;
  PictureExport(view, options).render(painter, QRectF(QPointF(), size), source);
  return image;
}

}  // namespace coppice::designer
