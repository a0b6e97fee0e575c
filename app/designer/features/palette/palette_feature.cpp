// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/features/palette/palette_feature.hpp"

#include <QApplication>
#include <QDropEvent>
#include <QLineEdit>
#include <QMimeData>
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "designer/document/counted.hpp"
#include "designer/document/measures.hpp"
#include "designer/features/palette/empty_canvas.hpp"
#include "designer/features/palette/part_names.hpp"
#include "designer/palette/card_loader.hpp"
#include "designer/palette/palette_panel.hpp"
#include "designer/palette/template_store.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr double kRowGap = 24;  ///< between devices that are placed in a row

double onGrid(double value) {
  return std::round(value / kGridStep) * kGridStep;
}

/// Where the centre of a part goes: the middle of the view, or the next free place beside it.
QPointF freeCentre(EditorContext& context, const Model& part) {
  const CanvasView& canvas = context.canvas();
  const QPointF middle = canvas.visibleScene().center();
  QRectF wanted = contentsRect(part);
  wanted.moveCenter(QPointF(onGrid(middle.x()), onGrid(middle.y())));
  constexpr double kMargin = 40;
  constexpr std::size_t kFew = 2000;
  std::vector<std::uint32_t> hits;
  const auto isTaken = [&](const QRectF& rect) {
    hits.clear();
    const QRectF around = rect.adjusted(-kMargin, -kMargin, kMargin, kMargin);
    canvas.scene().nodesIn(around, hits);
    const auto isIn = [&](const auto& item) { return item.rect.intersects(around); };
    return std::ranges::any_of(hits, [&](std::uint32_t at) { return isIn(canvas.scene().nodes()[at]); }) ||
           std::ranges::any_of(canvas.scene().boxes(), isIn);
  };
  if (part.nodes().size() == 1 && context.model().nodes().size() < kFew) {
    // The nearest free place.
    constexpr int kReach = 24;
    const QPointF start = wanted.center();
    std::optional<QPointF> nearest;
    constexpr double kRowsApart = 1.6;  // rather beside than below
    const auto awayOf = [](const QPointF& by) { return std::hypot(by.x(), kRowsApart * by.y()); };
    for (int x = -kReach; x <= kReach; ++x) {
      for (int y = -kReach; y <= kReach; ++y) {
        const QPointF by(x * 2 * kGridStep, y * 2 * kGridStep);
        const bool isNearer = !nearest || awayOf(by) < awayOf(*nearest);
        wanted.moveCenter(start + by);
        if (isNearer && !isTaken(wanted)) {
          nearest = by;
        }
      }
    }
    wanted.moveCenter(start + nearest.value_or(QPointF()));
  }
  if (isTaken(wanted)) {
    const QRectF drawn = contentsRect(context.model());
    wanted.moveTopLeft({drawn.left(), drawn.bottom() + 4 * kGridStep});
  }
  return {onGrid(wanted.center().x()), onGrid(wanted.center().y())};
}

bool isEmpty(const Model& model) {
  return model.nodes().isEmpty() && model.boxes().isEmpty();
}

}  // namespace

PaletteFeature::PaletteFeature(const FeatureHost& host, CardLoader& loader)
    : Feature(host),
      m_templates(new TemplateStore(host.options.templatesFolder, m_window)),
      m_palette(new PalettePanel(loader, *m_templates, m_window)) {
  addActions();
  host.addDock({u"devices"_s, tr("Palette"), m_palette, Qt::LeftDockWidgetArea, {Mode::draw}});
  connect(m_palette, &PalettePanel::chosen, this, &PaletteFeature::chooseEntry);
  connect(m_palette, &PalettePanel::entered, this, &PaletteFeature::enterEntry);
  connect(m_palette, &PalettePanel::saveSelectionWanted, m_actions[u"edit.save-template"_s], &QAction::trigger);
  connect(&m_workspace, &Workspace::added, this, [this](EditorContext* context) { attach(*context); });
  connect(&m_workspace, &Workspace::stateChanged, this, [this] {
    enable({"edit.save-template"}, current() != nullptr && !current()->selection().isEmpty());
    enable({"insert.nvswitch", "insert.pcie"}, current() != nullptr);
  });
}

void PaletteFeature::addActions() {
  m_actions.add({u"insert.search"_s,
                 tr("&Device or Template…"),
                 tr("Type what to place on the drawing"),
                 {QKeySequence(u"Ctrl+I"_s)}},
                [this](bool) {
                  m_actions[u"view.devices"_s]->trigger();
                  m_palette->focusSearch();
                });
  for (const auto& [id, icon] : {std::pair{u"nvswitch"_s, u"nvswitch"_s}, std::pair{u"pcie"_s, u"switch"_s}}) {
    const PaletteEntry& entry = *findEntry(u"device/"_s + id);
    addForCurrent({u"insert."_s + id, entry.title, tr("A new node near the middle of the view"), {}, icon},
                  [this, &entry](EditorContext&) { placeEntry(entry, std::nullopt); });
  }
  addForCurrent({u"edit.save-template"_s,
                 tr("Sa&ve Selection as Template…"),
                 tr("Save the selection as your own template in the palette"),
                 {QKeySequence(u"Ctrl+K, T"_s)}},
                [this](EditorContext& context) { saveTemplate(context); });
}

void PaletteFeature::attach(EditorContext& context) {
  const auto partOf = [this](const QMimeData& carried) -> std::optional<Model> {
    const PaletteEntry* entry = entryIn(carried);
    if (entry == nullptr) {
      return std::nullopt;
    }
    auto part = makePart(*entry);
    return part ? std::optional(*std::move(part)) : std::nullopt;
  };
  const auto dropped = [this](const QMimeData& carried, const QPointF& centre) {
    if (const PaletteEntry* entry = entryIn(carried)) {
      placeEntry(*entry, centre);
    }
  };
  context.canvas().setPartDrops({partOf, dropped});
  new EmptyCanvas(context, {m_actions[u"insert.search"_s], m_actions[u"file.open"_s]});
}

void PaletteFeature::chooseEntry(const PaletteEntry& entry) {
  if (entry.kind == PaletteEntry::Kind::preset) {
    openTemplate(entry);
    return;
  }
  EditorContext* context = current() != nullptr ? current() : m_workspace.newDocument();
  if (entry.kind == PaletteEntry::Kind::device && entry.nodeName.isEmpty()) {
    context->canvas().startPlacing(entry.device);
    return;
  }
  auto part = makePart(entry);
  if (!part) {
    m_prompts.failure(m_window, entry.title, QString::fromStdString(describe(part.error())));
    return;
  }
  context->canvas().startPlacing(std::move(*part), entry.title);
}

void PaletteFeature::enterEntry(const PaletteEntry& entry, int count) {
  if (entry.kind == PaletteEntry::Kind::preset) {
    openTemplate(entry);
    return;
  }
  // From the search the next keys are for the drawing; in the list Enter may place more.
  const bool wasTyped = qobject_cast<QLineEdit*>(QApplication::focusWidget()) != nullptr;
  placeEntry(entry, std::nullopt, count);
  if (current() != nullptr && wasTyped) {
    current()->canvas().setFocus();
  }
}

void PaletteFeature::openTemplate(const PaletteEntry& entry) {
  delete m_dialog;
  using Drawing = TemplateDialog::Drawing;
  const Drawing drawing = current() == nullptr          ? Drawing::none
                          : isEmpty(current()->model()) ? Drawing::empty
                                                        : Drawing::filled;
  m_dialog = new TemplateDialog(entry, drawing, m_window);
  m_dialog->setAttribute(Qt::WA_DeleteOnClose);
  connect(m_dialog, &TemplateDialog::createWanted, this, [this, drawing](const Model& part, const QString& name) {
    if (current() == nullptr || drawing == Drawing::filled) {
      m_workspace.adopt(Model(part), {},
                        part.header().name.empty() ? name : QString::fromStdString(part.header().name));
    } else {
      insertPart(*current(), part, name, std::nullopt);
      current()->foldEqualBoxes();
      current()->canvas().zoomToFit();
    }
  });
  connect(m_dialog, &TemplateDialog::addWanted, this, [this](const Model& part, const QString& name) {
    if (current() != nullptr) {
      insertPart(*current(), part, name, std::nullopt);
    }
  });
  connect(m_dialog, &TemplateDialog::placeWanted, this, [this](const Model& part, const QString& name) {
    if (current() != nullptr) {
      current()->canvas().startPlacing(Model(part), name);
    }
  });
  connect(m_dialog, &TemplateDialog::pricesWanted, this, [this](const QString& preset, int gpus) {
    QAction* action = m_actions[u"file.price-networks"_s];
    action->setData(QVariantList{preset, gpus});
    action->trigger();
  });
  m_dialog->open();
}

void PaletteFeature::placeEntry(const PaletteEntry& entry, const std::optional<QPointF>& centre, int count) {
  EditorContext& context = current() != nullptr ? *current() : *m_workspace.newDocument();
  const auto part = makePart(entry);
  if (!part) {
    m_prompts.failure(m_window, entry.title, QString::fromStdString(describe(part.error())));
  } else if (entry.kind == PaletteEntry::Kind::device) {
    placeDevice(context, entry, *part, centre, count);
  } else {
    insertPart(context, *part, entry.title, centre);
  }
}

void PaletteFeature::placeDevice(EditorContext& context, const PaletteEntry& entry, const Model& part,
                                 const std::optional<QPointF>& centre, int count) {
  // A single node joins the box it is in, and its counterparts in other instances of that box.
  CanvasView& canvas = context.canvas();
  QPointF place = centre ? *centre : freeCentre(context, part);
  if (count > 1 && !isEmpty(context.model())) {
    // A row of its own.
    const QRectF all = contentsRect(context.model());
    place = {std::round(all.center().x()), std::round(all.bottom() + kRowGap + contentsRect(part).height())};
  }
  const BoxId box = centre ? canvas.scene().boxAt(place) : BoxId{};
  std::set<ElementId> made;
  const double step = contentsRect(part).width() + kRowGap;
  const QString what = count == 1 ? entry.title : counted(count, entry.title, entry.many);
  context.document().edit(tr("Place %1").arg(what), [&](Edit& edit) {
    for (int i = 0; i < count; ++i) {
      const QPointF at(std::round(place.x() + (i - (count - 1) / 2.0) * step), place.y());
      made.insert(edits::addNode(edit, entry.device, Point::from(at), box, entry.nodeName.toStdString()));
    }
  });
  context.selection().set(made);
  context.selection().setCurrent(*made.begin());
  // What was placed by keys can be elsewhere than what is seen.
  const bool isSeen = std::ranges::all_of(
      made, [&](const ElementId& each) { return canvas.visibleScene().contains(canvas.scene().rectOf(each)); });
  if (!isSeen) {
    if (canvas.keepsFit() || count > 1) {
      canvas.zoomToFit();
    } else {
      canvas.centreOn(*made.begin());
    }
  }
}

void PaletteFeature::insertPart(EditorContext& context, const Model& part, const QString& name,
                                const std::optional<QPointF>& centre) {
  const bool wasEmpty = isEmpty(context.model());
  // Into nothing a part goes with the places that it has.
  const QPointF place = centre ? *centre : wasEmpty ? contentsRect(part).center() : freeCentre(context, part);
  const QPointF by = place - contentsRect(part).center();
  const Point whole{std::round(by.x()), std::round(by.y())};
  const BoxId box = centre ? context.canvas().scene().boxAt(place) : BoxId{};
  std::set<ElementId> made;
  const Model named = numberedOn(part, context.model());
  context.document().edit(tr("Place %1").arg(name), [&](Edit& edit) { made = edits::insert(edit, named, whole, box); });
  context.selection().set(std::move(made));
  context.canvas().setFocus();
  if (wasEmpty || !centre) {
    context.canvas().zoomToFit();
  }
}

void PaletteFeature::saveTemplate(EditorContext& context) {
  if (context.selection().isEmpty()) {
    return;
  }
  const QString suggestion = context.selection().elements().size() == 1
                                 ? context.model().title(*context.selection().elements().begin())
                                 : QString();
  const auto name = m_prompts.text(m_window, tr("Save Selection as Template"), tr("Name:"), suggestion);
  if (!name) {
    return;
  }
  const auto saved = m_templates->save(*name, context.model(), context.selection().elements());
  if (saved) {
    m_workspace.say(tr("Saved in the palette under Yours"));
  } else {
    m_prompts.failure(m_window, tr("Save Selection as Template"), QString::fromStdString(describe(saved.error())));
  }
}

const PaletteEntry* PaletteFeature::entryIn(const QMimeData& carried) const {
  return carried.hasFormat(entryMimeType()) ? m_palette->find(QString::fromUtf8(carried.data(entryMimeType())))
                                            : nullptr;
}

bool PaletteFeature::drop(const QDropEvent& event) {
  const PaletteEntry* entry = entryIn(*event.mimeData());
  if (entry == nullptr) {
    return false;
  }
  std::optional<QPointF> place;
  if (current() != nullptr) {
    CanvasView& canvas = current()->canvas();
    const QPointF onCanvas = canvas.mapFrom(m_window, event.position());
    if (QRectF(canvas.rect()).contains(onCanvas)) {
      const QPointF scene = canvas.toScene(onCanvas);
      place = {onGrid(scene.x()), onGrid(scene.y())};
    }
  }
  placeEntry(*entry, place);
  return true;
}

}  // namespace coppice::designer
