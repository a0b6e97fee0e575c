// SPDX-License-Identifier: GPL-3.0-or-later
#include <QApplication>
#include <QDockWidget>
#include <QDropEvent>
#include <QLineEdit>
#include <QMimeData>
#include <algorithm>
#include <cmath>

#include "designer/document/measures.hpp"
#include "designer/palette/card_loader.hpp"
#include "designer/palette/palette_panel.hpp"
#include "designer/palette/template_dialog.hpp"
#include "designer/palette/template_store.hpp"
#include "designer/window/main_window.hpp"
#include "designer/window/part_names.hpp"

using namespace Qt::StringLiterals;

/// Devices and templates: from the palette or the start page into a document.
namespace coppice::designer {

void MainWindow::createPalette() {
  m_palette = new PalettePanel(*m_loader, *m_templates, this);
  addDock(u"devices"_s, tr("Palette"), m_palette, Qt::LeftDockWidgetArea, {Mode::draw});
  connect(m_palette, &PalettePanel::chosen, this, &MainWindow::chooseEntry);
  connect(m_palette, &PalettePanel::entered, this, [this](const PaletteEntry& entry) {
    if (entry.kind == PaletteEntry::Kind::preset) {
      openTemplate(entry);
    } else {
      // From the search the next keys are for the drawing; in the list Enter may place more.
      const bool wasTyped = qobject_cast<QLineEdit*>(QApplication::focusWidget()) != nullptr;
      placeEntry(entry, std::nullopt);
      if (Editor* editor = currentEditor(); editor != nullptr && wasTyped) {
        editor->canvas().setFocus();
      }
    }
  });
  connect(m_palette, &PalettePanel::saveSelectionWanted, m_actions[u"edit.save-template"_s], &QAction::trigger);
}

void MainWindow::createPaletteActions() {
  m_actions.add({u"insert.search"_s,
                 tr("&Device or Template…"),
                 tr("Type what to place on the drawing"),
                 {QKeySequence(u"Ctrl+I"_s)}},
                [this](bool) {
                  m_actions[u"view.devices"_s]->trigger();
                  m_palette->focusSearch();
                });
  m_actions.add({u"edit.save-template"_s,
                 tr("Sa&ve Selection as Template…"),
                 tr("Save the selection as your own template in the palette"),
                 {QKeySequence(u"Ctrl+Alt+T"_s)}},
                [this](bool) { saveTemplate(); });
}

void MainWindow::chooseEntry(const PaletteEntry& entry) {
  if (entry.kind == PaletteEntry::Kind::preset) {
    openTemplate(entry);
    return;
  }
  Editor* editor = currentEditor();
  if (editor == nullptr) {
    editor = newDocument();
  }
  if (entry.kind == PaletteEntry::Kind::device && entry.nodeName.isEmpty()) {
    editor->canvas().startPlacing(entry.device);
    return;
  }
  auto part = makePart(entry);
  if (!part) {
    m_prompts->failure(this, entry.title, QString::fromStdString(describe(part.error())));
    return;
  }
  editor->canvas().startPlacing(std::move(*part), entry.title);
}

void MainWindow::openTemplate(const PaletteEntry& entry) {
  delete m_templateDialog;
  const Editor* current = currentEditor();
  const bool isFilled =
      current != nullptr && !(current->model().nodes().isEmpty() && current->model().boxes().isEmpty());
  using Drawing = TemplateDialog::Drawing;
  m_templateDialog = new TemplateDialog(
      entry, current == nullptr ? Drawing::none : (isFilled ? Drawing::filled : Drawing::empty), this);
  m_templateDialog->setAttribute(Qt::WA_DeleteOnClose);
  connect(m_templateDialog, &TemplateDialog::createWanted, this,
          [this, isFilled](const Model& part, const QString& name) {
            if (currentEditor() == nullptr || isFilled) {
              adopt(Model(part), {}, part.header().name.empty() ? name : QString::fromStdString(part.header().name));
            } else {
              insertPart(part, name, std::nullopt);
            }
          });
  connect(m_templateDialog, &TemplateDialog::addWanted, this,
          [this](const Model& part, const QString& name) { insertPart(part, name, std::nullopt); });
  connect(m_templateDialog, &TemplateDialog::placeWanted, this, [this](const Model& part, const QString& name) {
    if (Editor* editor = currentEditor()) {
      editor->canvas().startPlacing(Model(part), name);
    }
  });
  m_templateDialog->open();
}

void MainWindow::placeEntry(const PaletteEntry& entry, const std::optional<QPointF>& centre) {
  if (currentEditor() == nullptr) {
    newDocument();
  }
  Editor* editor = currentEditor();
  auto part = makePart(entry);
  if (!part) {
    m_prompts->failure(this, entry.title, QString::fromStdString(describe(part.error())));
    return;
  }
  if (entry.kind != PaletteEntry::Kind::device) {
    insertPart(*part, entry.title, centre);
    return;
  }
  // A single node joins the box it lies in, and its counterparts in other instances of that box.
  const QPointF place = snappedCentre(*part, centre);
  const BoxId box = centre ? editor->canvas().scene().boxAt(place) : BoxId{};
  NodeId made;
  editor->document().edit(tr("Place %1").arg(entry.title), [&](Edit& edit) {
    made = edits::addNode(edit, entry.device, Point::from(place), box, entry.nodeName.toStdString());
  });
  editor->selection().set({made});
  editor->selection().setCurrent(made);
  // What was placed by keys can be elsewhere than what is seen.
  CanvasView& canvas = editor->canvas();
  if (!canvas.visibleScene().contains(canvas.scene().rectOf(made))) {
    if (canvas.keepsFit()) {
      canvas.zoomToFit();
    } else {
      canvas.centreOn(made);
    }
  }
}

QPointF MainWindow::snappedCentre(const Model& part, const std::optional<QPointF>& centre) const {
  Editor* editor = currentEditor();
  const auto snap = [](double value) { return std::round(value / kGridStep) * kGridStep; };
  const QRectF incoming = designer::contentsRect(part);
  const CanvasView& canvas = editor->canvas();
  if (centre) {
    return *centre;
  }
  // The middle of the view, or the next place beside it where nothing stands.
  const QPointF middle = canvas.visibleScene().center();
  QPointF place(snap(middle.x()), snap(middle.y()));
  const QRectF there = designer::contentsRect(editor->model());
  QRectF wanted = incoming;
  wanted.moveCenter(place);
  constexpr double kMargin = 20;
  constexpr std::size_t kFew = 2000;
  std::vector<std::uint32_t> hits;
  const auto isTaken = [&](const QRectF& rect) {
    hits.clear();
    canvas.scene().nodesIn(rect.adjusted(-kMargin, -kMargin, kMargin, kMargin), hits);
    return !hits.empty();
  };
  const bool isSmall = part.nodes().size() == 1 && editor->model().nodes().size() < kFew;
  constexpr int kMaxSteps = 60;
  for (int step = 0; isSmall && step < kMaxSteps && isTaken(wanted); ++step) {
    wanted.translate(5 * kGridStep, 0);
  }
  if (isTaken(wanted)) {
    wanted.moveTopLeft({there.left(), there.bottom() + 4 * kGridStep});
  }
  return {snap(wanted.center().x()), snap(wanted.center().y())};
}

void MainWindow::insertPart(const Model& part, const QString& name, const std::optional<QPointF>& centre) {
  Editor* editor = currentEditor();
  const bool wasEmpty = editor->model().nodes().isEmpty() && editor->model().boxes().isEmpty();
  // Into nothing a part goes with the places that it has.
  const QPointF place = wasEmpty && !centre ? designer::contentsRect(part).center() : snappedCentre(part, centre);
  const QPointF by = place - designer::contentsRect(part).center();
  const Point whole{std::round(by.x()), std::round(by.y())};
  const BoxId box = centre ? editor->canvas().scene().boxAt(place) : BoxId{};
  std::set<ElementId> made;
  const Model named = numberedOn(part, editor->model());
  editor->document().edit(tr("Place %1").arg(name), [&](Edit& edit) { made = edits::insert(edit, named, whole, box); });
  editor->selection().set(std::move(made));
  editor->canvas().setFocus();
  if (wasEmpty || !centre) {
    editor->canvas().zoomToFit();
  }
}

void MainWindow::saveTemplate() {
  Editor* editor = currentEditor();
  if (editor == nullptr || editor->selection().isEmpty()) {
    return;
  }
  const QString suggestion = editor->selection().elements().size() == 1
                                 ? editor->model().title(*editor->selection().elements().begin())
                                 : QString();
  const auto name = m_prompts->text(this, tr("Save Selection as Template"), tr("Name:"), suggestion);
  if (!name) {
    return;
  }
  const auto saved = m_templates->save(*name, editor->model(), editor->selection().elements());
  if (saved) {
    m_strip->setHint(tr("Saved in the palette under Yours"));
  } else {
    m_prompts->failure(this, tr("Save Selection as Template"), QString::fromStdString(describe(saved.error())));
  }
}

bool MainWindow::dropEntry(const QDropEvent& event) {
  if (!event.mimeData()->hasFormat(entryMimeType())) {
    return false;
  }
  const PaletteEntry* entry = m_palette->find(QString::fromUtf8(event.mimeData()->data(entryMimeType())));
  if (entry == nullptr) {
    return false;
  }
  std::optional<QPointF> place;
  if (Editor* editor = currentEditor()) {
    CanvasView& canvas = editor->canvas();
    const QPointF at = canvas.mapFrom(this, event.position());
    if (QRectF(canvas.rect()).contains(at)) {
      const QPointF scene = canvas.toScene(at);
      place = {std::round(scene.x() / kGridStep) * kGridStep, std::round(scene.y() / kGridStep) * kGridStep};
    }
  }
  placeEntry(*entry, place);
  return true;
}

std::optional<Model> MainWindow::draggedPart(const QMimeData& carried) const {
  const PaletteEntry* entry = m_palette->find(QString::fromUtf8(carried.data(entryMimeType())));
  if (entry == nullptr) {
    return std::nullopt;
  }
  auto part = makePart(*entry);
  return part ? std::optional(std::move(*part)) : std::nullopt;
}

void MainWindow::dropPart(const QMimeData& carried, const QPointF& centre) {
  if (const PaletteEntry* entry = m_palette->find(QString::fromUtf8(carried.data(entryMimeType())))) {
    placeEntry(*entry, centre);
  }
}

}  // namespace coppice::designer
