// SPDX-License-Identifier: GPL-3.0-or-later
#include <QApplication>
#include <QCoreApplication>
#include <QKeyEvent>

#include "designer/canvas/canvas_view.hpp"
#include "designer/canvas/snapping.hpp"
#include "designer/canvas/tools/tools.hpp"
#include "designer/document/measures.hpp"
#include "designer/theme/theme.hpp"

namespace coppice::designer {
namespace {

constexpr double kWireSnapReach = 6;  // pixels
constexpr double kKeyPan = 60;        // pixels
constexpr double kMinBoxSide = 20;

struct SmallToolTexts {
  Q_DECLARE_TR_FUNCTIONS(CanvasTools)
};

}  // namespace

// ---- pan

void PanTool::press(const CanvasPoint& point) {
  m_from = point.view;
  m_view.setCursor(Qt::ClosedHandCursor);
}

void PanTool::move(const CanvasPoint& point) {
  if (m_from) {
    m_view.panBy(point.view - *m_from);
    m_from = point.view;
  }
}

void PanTool::release(const CanvasPoint&) {
  m_from.reset();
  m_view.setCursor(cursor());
}

bool PanTool::key(QKeyEvent& event) {
  const double step = event.modifiers().testFlag(Qt::ShiftModifier) ? 5 * kKeyPan : kKeyPan;
  switch (event.key()) {
    case Qt::Key_Left:
      m_view.panBy({step, 0});
      return true;
    case Qt::Key_Right:
      m_view.panBy({-step, 0});
      return true;
    case Qt::Key_Up:
      m_view.panBy({0, step});
      return true;
    case Qt::Key_Down:
      m_view.panBy({0, -step});
      return true;
    default:
      return false;
  }
}

QString PanTool::hint() const {
  return SmallToolTexts::tr("Drag moves the view · the wheel zooms at the pointer · Esc: back to select");
}

// ---- box

void BoxTool::press(const CanvasPoint& point) {
  m_from = point.scene;
  m_to = point.scene;
}

void BoxTool::move(const CanvasPoint& point) {
  m_to = point.scene;
  if (m_from) {
    m_view.update();
  }
}

void BoxTool::release(const CanvasPoint& point) {
  if (!m_from) {
    return;
  }
  const QRectF rect = QRectF(*m_from, point.scene).normalized();
  m_from.reset();
  m_view.update();
  if (rect.width() < kMinBoxSide || rect.height() < kMinBoxSide) {
    return;
  }
  // What is in boxes that go in whole comes along with them.
  const Model& model = m_view.document().model();
  std::set<ElementId> inside;
  const std::set<ElementId> all = m_view.scene().within(rect);
  for (const ElementId& id : all) {
    if (id.kind != ElementKind::node && id.kind != ElementKind::box) {
      continue;
    }
    const BoxId parent = id.kind == ElementKind::node ? model.find(id.node())->facts.box : model.find(id.box())->parent;
    if (!parent.isValid() || !all.contains(parent)) {
      inside.insert(id);
    }
  }
  BoxId made;
  m_view.document().edit(SmallToolTexts::tr("Box"), [&](Edit& edit) {
    if (!inside.empty()) {
      made = edits::box(edit, inside);
      return;
    }
    Box box;
    box.parent = m_view.scene().boxAt(rect.center());
    box.name = edit.freeBoxName("box", box.parent);
    box.frame = Rect::from(rect);
    made = edit.add(std::move(box));
  });
  if (made.isValid()) {
    m_view.selection().set({made});
    m_view.setTool(ToolKind::select);
  }
}

bool BoxTool::stepBack() {
  const bool wasBusy = m_from.has_value();
  m_from.reset();
  m_view.update();
  return wasBusy;
}

void BoxTool::paint(QPainter& painter) {
  if (!m_from) {
    return;
  }
  const Colors& colors = Theme::instance().colors();
  QColor fill = colors[Token::accentSoft];
  fill.setAlphaF(0.5F);
  painter.setPen(QPen(colors[Token::accent], 1.5 / m_view.zoom(), Qt::DashLine));
  painter.setBrush(fill);
  painter.drawRoundedRect(QRectF(*m_from, m_to).normalized(), 14, 14);
}

QString BoxTool::hint() const {
  return SmallToolTexts::tr("Drag around what the box should contain, or over empty space for an empty box");
}

// ---- notes

void NoteTool::release(const CanvasPoint& point) {
  CanvasView* view = &m_view;
  const Point place = Point::from(point.scene);
  m_view.popups().askText(point.scene, {}, [view, place](const QString& text) {
    NoteId made;
    view->document().edit(SmallToolTexts::tr("Add note"),
                          [&](Edit& edit) { made = edits::addNote(edit, text.toStdString(), place); });
    view->selection().set({made});
  });
  m_view.setTool(ToolKind::select);
}

QString NoteTool::hint() const {
  return SmallToolTexts::tr("Click to place the note");
}

// ---- place

void PlaceTool::setDevice(fabric::NodeKind kind) {
  m_device = kind;
  m_isDevice = true;
  m_ghost = std::make_unique<PartGhost>(kind);
  m_name = kind == fabric::NodeKind::gpu   ? SmallToolTexts::tr("GPU")
           : kind == fabric::NodeKind::nic ? SmallToolTexts::tr("NIC")
                                           : SmallToolTexts::tr("switch");
}

void PlaceTool::setPart(Model part, const QString& name) {
  m_isDevice = false;
  m_ghost = std::make_unique<PartGhost>(std::move(part));
  m_name = name;
}

QPointF PlaceTool::show(const CanvasPoint& point) {
  m_at = point.scene;
  m_guides.clear();
  if (m_ghost != nullptr && !point.modifiers.testFlag(Qt::AltModifier)) {
    Snapped snap = snapped(m_view.scene(), m_ghost->at(*m_at), {}, {}, kWireSnapReach / m_view.zoom());
    m_at = *m_at + snap.by;
    m_guides = std::move(snap.guides);
  }
  m_view.update();
  return *m_at;
}

void PlaceTool::move(const CanvasPoint& point) {
  show(point);
}

void PlaceTool::putDown(const QPointF& centre) {
  const BoxId box = m_view.scene().boxAt(centre);
  std::set<ElementId> made;
  m_view.document().edit(SmallToolTexts::tr("Place %1").arg(m_name), [&](Edit& edit) {
    if (!m_isDevice) {
      const QPointF by = centre - contentsRect(m_ghost->part()).center();
      made = edits::insert(edit, m_ghost->part(), Point::from(by), box);
    } else {
      made = {edits::addNode(edit, m_device, Point::from(centre), box)};
    }
  });
  m_view.selection().set(made);
}

void PlaceTool::release(const CanvasPoint& point) {
  move(point);
  putDown(*m_at);
  // A template once; devices as often as one clicks.
  if (!m_isDevice && !point.modifiers.testFlag(Qt::ShiftModifier)) {
    m_view.setTool(ToolKind::select);
  }
}

bool PlaceTool::key(QKeyEvent& event) {
  if (event.key() != Qt::Key_Return && event.key() != Qt::Key_Enter) {
    return false;
  }
  // By keys: in the middle of the view, and each further one beside the last.
  const ElementId last = m_view.selection().current();
  const QPointF beside = m_view.scene().rectOf(last).center() + QPointF(5 * kGridStep, 0);
  putDown(!m_isDevice || !last.isValid() ? m_view.visibleScene().center() : beside);
  if (!m_view.selection().isEmpty()) {
    m_view.selection().setCurrent(*m_view.selection().elements().begin());
  }
  return true;
}

void PlaceTool::leave() {
  m_at.reset();
  m_guides.clear();
  m_view.update();
}

void PlaceTool::paint(QPainter& painter) {
  if (!m_at || m_ghost == nullptr) {
    return;
  }
  const Colors& colors = Theme::instance().colors();
  painter.setBrush(Qt::NoBrush);
  if (const BoxItem* box = m_view.scene().box(m_view.scene().boxAt(*m_at))) {
    painter.setPen(QPen(colors[Token::accent], 2 / m_view.zoom()));
    painter.drawRoundedRect(box->rect, 14, 14);
  }
  m_ghost->paint(painter, *m_at, m_view.zoom(), m_view.devicePixelRatioF());
  painter.setPen(QPen(colors[Token::accent], 1 / m_view.zoom(), Qt::DashLine));
  for (const QLineF& guide : m_guides) {
    painter.drawLine(guide);
  }
}

QString PlaceTool::hint() const {
  return SmallToolTexts::tr("Click to place %1 · Alt: no snapping · Esc: cancel").arg(m_name);
}

}  // namespace coppice::designer
