// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/features/view/view_feature.hpp"

#include <utility>

#include "designer/canvas/minimap.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

ViewFeature::ViewFeature(const FeatureHost& host) : Feature(host), m_minimap(new Minimap(m_window)) {
  addTools();
  addZoom();
  // Schedule and Run mode need the room for their own docks.
  host.addDock({u"minimap"_s, tr("Minimap"), m_minimap, Qt::LeftDockWidgetArea, {Mode::draw, Mode::analyse}, false});
  connect(&m_workspace, &Workspace::currentChanged, this,
          [this] { m_minimap->setView(current() != nullptr ? &current()->canvas() : nullptr); });
  connect(&m_workspace, &Workspace::stateChanged, this, &ViewFeature::updateActions);
}

void ViewFeature::addTools() {
  const auto add = [this](const QString& id, const QString& text, const QString& tip, const QString& keys,
                          ToolKind kind) {
    m_actions.add({id, text, tip, {QKeySequence(keys)}, id.section(u'.', 1), true}, [this, kind](bool) {
      if (EditorContext* context = current()) {
        context->canvas().setTool(kind);
        context->canvas().setFocus();
      }
      updateActions();
    });
  };
  add(u"tool.select"_s, tr("&Select"), tr("Select and move"), u"V"_s, ToolKind::select);
  add(u"tool.pan"_s, tr("&Pan"), tr("Move the view"), u"H"_s, ToolKind::pan);
  add(u"tool.link"_s, tr("&Link"), tr("Draw links from node to node, or between sets"), u"L"_s, ToolKind::link);
  add(u"tool.box"_s, tr("&Box"), tr("Draw a box"), u"B"_s, ToolKind::box);
  add(u"tool.text"_s, tr("&Text"), tr("Write a note"), u"T"_s, ToolKind::text);
}

void ViewFeature::addZoom() {
  const auto add = [this](const QString& id, const QString& text, const QString& tip, const QList<QKeySequence>& keys,
                          std::function<void(CanvasView&)> run) {
    addForCurrent({id, text, tip, keys}, [run = std::move(run)](EditorContext& context) { run(context.canvas()); });
  };
  constexpr double kZoomStep = 1.25;
  add(u"zoom.fit"_s, tr("Zoom to &Fit"), tr("Show everything"), {QKeySequence(u"Shift+1"_s)},
      [](CanvasView& view) { view.zoomToFit(); });
  add(u"zoom.selection"_s, tr("Zoom to &Selection"), tr("Show what is selected"), {QKeySequence(u"Shift+2"_s)},
      [](CanvasView& view) { view.zoomToSelection(); });
  add(u"zoom.actual"_s, tr("&Actual Size"), tr("100 %"), {QKeySequence(u"Ctrl+0"_s)},
      [](CanvasView& view) { view.setZoom(1); });
  add(u"zoom.in"_s, tr("Zoom &In"), tr("Larger"), {QKeySequence::ZoomIn, QKeySequence(u"Ctrl+="_s)},
      [](CanvasView& view) { view.setZoom(view.zoom() * kZoomStep); });
  add(u"zoom.out"_s, tr("Zoom &Out"), tr("Smaller"), {QKeySequence::ZoomOut},
      [](CanvasView& view) { view.setZoom(view.zoom() / kZoomStep); });
}

void ViewFeature::updateActions() {
  EditorContext* context = current();
  const std::pair<const char*, ToolKind> tools[] = {{"tool.select", ToolKind::select},
                                                    {"tool.pan", ToolKind::pan},
                                                    {"tool.link", ToolKind::link},
                                                    {"tool.box", ToolKind::box},
                                                    {"tool.text", ToolKind::text}};
  for (const auto& [id, kind] : tools) {
    m_actions[QLatin1String(id)]->setEnabled(context != nullptr);
    m_actions[QLatin1String(id)]->setChecked(context != nullptr && context->canvas().tool() == kind);
  }
  enable({"zoom.fit", "zoom.actual", "zoom.in", "zoom.out"}, context != nullptr);
  enable({"zoom.selection"}, context != nullptr && !context->selection().isEmpty());
}

}  // namespace coppice::designer
