// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/features/arrange/arrange_feature.hpp"

#include <QHash>
#include <utility>

#include "designer/document/instances.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

/// Icons of the actions, by the part of the id behind the point.
QString iconOf(const QString& id) {
  static const QHash<QString, QString> kIcons = {{u"left"_s, u"align-left"_s},
                                                 {u"centre"_s, u"align-centre"_s},
                                                 {u"right"_s, u"align-right"_s},
                                                 {u"top"_s, u"align-top"_s},
                                                 {u"middle"_s, u"align-middle"_s},
                                                 {u"bottom"_s, u"align-bottom"_s},
                                                 {u"circle"_s, u"circle"_s},
                                                 {u"grid"_s, u"grid"_s},
                                                 {u"unbox"_s, u"unbox"_s},
                                                 {u"fold"_s, u"fold"_s},
                                                 {u"pin"_s, u"pin"_s},
                                                 {u"distribute-h"_s, u"distribute-horizontal"_s},
                                                 {u"distribute-v"_s, u"distribute-vertical"_s}};
  return kIcons.value(id.section(u'.', 1));
}

std::vector<BoxId> boxesOf(const std::set<ElementId>& elements) {
  std::vector<BoxId> boxes;
  for (const ElementId& id : elements) {
    if (id.kind == ElementKind::box) {
      boxes.push_back(id.box());
    }
  }
  return boxes;
}

}  // namespace

ArrangeFeature::ArrangeFeature(const FeatureHost& host) : Feature(host) {
  addAlignment();
  addBoxes();
  addFolding();
  addPins();
  connect(&m_workspace, &Workspace::stateChanged, this, &ArrangeFeature::updateActions);
}

void ArrangeFeature::add(const QString& id, const QString& text, const QString& tip, const QList<QKeySequence>& keys,
                         Fill fill) {
  addForCurrent({id, text, tip, keys, iconOf(id)}, [text, fill = std::move(fill)](EditorContext& context) {
    context.editSelection(QString(text).remove(u'&'), fill);
  });
}

void ArrangeFeature::addAlignment() {
  using edits::Axis;
  using edits::Side;
  const auto align = [this](const QString& id, const QString& text, Side side) {
    add(id, text, tr("Align the selection"), {},
        [side](Edit& edit, const auto& elements) { edits::align(edit, elements, side); });
  };
  align(u"arrange.left"_s, tr("Align L&eft"), Side::left);
  align(u"arrange.centre"_s, tr("Align Centre&s"), Side::horizontalCentre);
  align(u"arrange.right"_s, tr("Align &Right"), Side::right);
  align(u"arrange.top"_s, tr("Align &Top"), Side::top);
  align(u"arrange.middle"_s, tr("Align &Middles"), Side::verticalCentre);
  align(u"arrange.bottom"_s, tr("Align &Bottom"), Side::bottom);
  add(u"arrange.distribute-h"_s, tr("Distribute &Horizontally"), tr("Equal gaps from left to right"), {},
      [](Edit& edit, const auto& elements) { edits::distribute(edit, elements, Axis::horizontal); });
  add(u"arrange.distribute-v"_s, tr("Distribute &Vertically"), tr("Equal gaps from top to bottom"), {},
      [](Edit& edit, const auto& elements) { edits::distribute(edit, elements, Axis::vertical); });
  add(u"arrange.circle"_s, tr("On a &Circle"), tr("Around their centre"), {},
      [](Edit& edit, const auto& elements) { edits::toCircle(edit, elements); });
  add(u"arrange.grid"_s, tr("In a &Grid"), tr("Row by row"), {},
      [](Edit& edit, const auto& elements) { edits::toGrid(edit, elements); });
}

void ArrangeFeature::addBoxes() {
  addForCurrent({u"arrange.box"_s, tr("Bo&x"), tr("A box around the selection"), {QKeySequence(u"Ctrl+G"_s)}, u"box"_s},
                [this](EditorContext& context) { boxSelection(context); });
  add(u"arrange.unbox"_s, tr("&Unbox"), tr("Remove the boxes and keep their content"),
      {QKeySequence(u"Ctrl+Shift+G"_s)},
      [](Edit& edit, const auto& elements) { edits::unbox(edit, boxesOf(elements)); });
  add(u"arrange.detach"_s, tr("&Detach Instance"), tr("Edit the box independently of its type"), {},
      [](Edit& edit, const auto& elements) {
        for (const BoxId id : boxesOf(elements)) {
          detach(edit, id);
        }
      });
}

void ArrangeFeature::addFolding() {
  const auto fold = [](bool isFolded) {
    return
        [isFolded](Edit& edit, const std::set<ElementId>& elements) { edits::fold(edit, boxesOf(elements), isFolded); };
  };
  const auto foldAll = [](bool isFolded) {
    return [isFolded](Edit& edit, const std::set<ElementId>&) { edits::fold(edit, edit.base().boxesIn({}), isFolded); };
  };
  add(u"arrange.fold"_s, tr("&Fold"), tr("Draw the boxes as one node each"), {QKeySequence(u"Ctrl+["_s)}, fold(true));
  add(u"arrange.unfold"_s, tr("U&nfold"), tr("Show the content of the boxes"), {QKeySequence(u"Ctrl+]"_s)},
      fold(false));
  add(u"arrange.fold-all"_s, tr("Fold &All"), tr("Every outermost box"), {QKeySequence(u"Ctrl+Shift+["_s)},
      foldAll(true));
  add(u"arrange.unfold-all"_s, tr("Unf&old All"), tr("Every outermost box"), {QKeySequence(u"Ctrl+Shift+]"_s)},
      foldAll(false));
}

void ArrangeFeature::addPins() {
  const auto pin = [](bool isPinned) {
    return [isPinned](Edit& edit, const std::set<ElementId>& elements) {
      for (const ElementId& id : elements) {
        edit.change(id.node(), [isPinned](Node& node) { node.drawing.isPinned = isPinned; });
      }
    };
  };
  add(u"arrange.pin"_s, tr("&Pin"), tr("Automatic layout leaves the nodes where they are"), {}, pin(true));
  add(u"arrange.unpin"_s, tr("Unp&in"), tr("Automatic layout may move the nodes"), {}, pin(false));
}

void ArrangeFeature::updateActions() {
  EditorContext* context = current();
  const bool hasSelection = context != nullptr && !context->selection().isEmpty();
  enable({"arrange.left", "arrange.centre", "arrange.right", "arrange.top", "arrange.middle", "arrange.bottom",
          "arrange.distribute-h", "arrange.distribute-v", "arrange.circle", "arrange.grid", "arrange.box",
          "arrange.pin", "arrange.unpin"},
         hasSelection);
  enable({"arrange.unbox", "arrange.fold", "arrange.unfold", "arrange.detach"},
         context != nullptr && !context->selection().boxes().empty());
  enable({"arrange.fold-all", "arrange.unfold-all"}, context != nullptr);
}

void ArrangeFeature::boxSelection(EditorContext& context) {
  Document& document = context.document();
  // The name belongs to the same step of the history.
  const GestureId gesture = document.beginGesture();
  const std::set<ElementId> elements = context.selection().elements();
  BoxId made;
  document.edit(
      tr("Box"), [&](Edit& edit) { made = edits::box(edit, elements); }, gesture);
  if (!context.model().contains(made)) {
    return;
  }
  context.selection().set({made});
  context.selection().setCurrent(made);
  const QRectF rect = context.canvas().scene().rectOf(made);
  // The editor on the canvas goes with the canvas, and so before the document.
  context.canvas().popups().askName(
      {rect.center().x(), rect.top()}, context.model().title(made),
      [&context, made](const QString& name) {
        const Outcome check = edits::checkName(context.model(), made, name.toStdString());
        return check ? QString() : QString::fromStdString(describe(check.error()));
      },
      [this, &context, made, gesture](const QString& name) {
        Outcome outcome = Done{};
        context.document().edit(
            tr("Box"), [&](Edit& edit) { outcome = edits::rename(edit, made, name.toStdString()); }, gesture);
        if (!outcome) {
          m_workspace.say(QString::fromStdString(describe(outcome.error())));
        }
      });
}

}  // namespace coppice::designer
