// SPDX-License-Identifier: GPL-3.0-or-later
#include <QApplication>
#include <QCoreApplication>
#include <QKeyEvent>
#include <QUndoStack>
#include <algorithm>
#include <cmath>

#include "designer/canvas/canvas_view.hpp"
#include "designer/canvas/snapping.hpp"
#include "designer/canvas/tools/tools.hpp"
#include "designer/document/measures.hpp"
#include "designer/theme/theme.hpp"

namespace coppice::designer {
namespace {

constexpr double kSnapReach = 6;    // pixels
constexpr double kHandleReach = 8;  // pixels
constexpr double kHandleSize = 4;   // pixels, radius
constexpr double kMinShown = 30;    // pixels of a switch that has handles
constexpr std::size_t kMaxHandles = 12;
constexpr double kMinWidth = 56;
constexpr double kNudge = 2;  // scene units; ten of them are one step of the grid

struct SelectTexts {
  Q_DECLARE_TR_FUNCTIONS(SelectTool)
};

}  // namespace

std::set<ElementId> SelectTool::movable() const {
  std::set<ElementId> result;
  for (const ElementId& id : m_view.selection().elements()) {
    if (id.kind != ElementKind::link) {
      result.insert(id);
    }
  }
  return result;
}

std::optional<SelectTool::Handle> SelectTool::handleAt(const CanvasPoint& point) const {
  if (m_view.selection().elements().size() > kMaxHandles) {
    return std::nullopt;
  }
  const double reach = kHandleReach / m_view.zoom();
  for (const ElementId& id : m_view.selection().elements()) {
    const NodeItem* item = m_view.scene().node(id);
    if (item == nullptr || item->shape != Shape::switchBar || item->rect.width() * m_view.zoom() < kMinShown ||
        std::abs(point.scene.y() - item->rect.center().y()) > item->rect.height() / 2) {
      continue;
    }
    for (const bool isRight : {true, false}) {
      if (std::abs(point.scene.x() - (isRight ? item->rect.right() : item->rect.left())) <= reach) {
        return Handle{id.node(), isRight};
      }
    }
  }
  return std::nullopt;
}

void SelectTool::stretch(const CanvasPoint& point) {
  const NodeItem* item = m_view.scene().node(m_handle->node);
  if (item == nullptr) {
    return;
  }
  double x = point.scene.x();
  if (!point.modifiers.testFlag(Qt::AltModifier)) {
    x = std::round(x / (kGridStep / 2)) * (kGridStep / 2);
  }
  const double fixed = m_handle->isRight ? m_startRect.left() : m_startRect.right();
  const double width = std::max(kMinWidth, m_handle->isRight ? x - fixed : fixed - x);
  const double centre = m_handle->isRight ? fixed + width / 2 : fixed - width / 2;
  const double by = centre - item->rect.center().x();
  if (std::abs(by) < 1e-9 && std::abs(width - item->rect.width()) < 1e-9) {
    return;
  }
  // With counterparts: each is stretched as much, where it is.
  const std::vector<NodeId> nodes{m_handle->node};
  m_hasPushed |= m_view.document().edit(
      SelectTexts::tr("Stretch switch"),
      [&](Edit& edit) {
        edits::changeNodes(edit, nodes, [&](Node& node) { node.drawing.width = width; });
        edits::move(edit, {m_handle->node}, {by, 0});
      },
      m_gesture);
}

QCursor SelectTool::cursor() const {
  return m_handle ? Qt::SizeHorCursor : Qt::ArrowCursor;
}

void SelectTool::press(const CanvasPoint& point) {
  if (const auto handle = handleAt(point); handle && !(point.modifiers & (Qt::ShiftModifier | Qt::ControlModifier))) {
    m_handle = handle;
    m_state = State::stretching;
    m_startRect = m_view.scene().rectOf(handle->node);
    m_gesture = m_view.document().beginGesture();
    m_hasPushed = false;
    m_view.updateHint();
    return;
  }
  m_pressScene = point.scene;
  m_pressView = point.view;
  m_now = point.scene;
  m_pressed = m_view.hit(point.scene);
  m_isSoleOnRelease = false;
  m_state = State::pressed;
  Selection& selection = m_view.selection();
  const bool isAdding = point.modifiers & (Qt::ShiftModifier | Qt::ControlModifier);
  if (m_pressed.isValid()) {
    selection.setCurrent(m_pressed);
    if (isAdding) {
      toggle(m_view.scene().drawnWith(m_pressed));
    } else if (selection.contains(m_pressed)) {
      m_isSoleOnRelease = true;
    } else {
      selection.set(m_view.scene().drawnWith(m_pressed));
    }
  }
}

void SelectTool::toggle(const std::set<ElementId>& elements) {
  std::set<ElementId> next = m_view.selection().elements();
  const bool isOn = next.contains(*elements.begin());
  for (const ElementId& id : elements) {
    isOn ? static_cast<void>(next.erase(id)) : static_cast<void>(next.insert(id));
  }
  m_view.selection().set(std::move(next));
}

void SelectTool::move(const CanvasPoint& point) {
  m_now = point.scene;
  if (m_state == State::idle) {
    const bool hadHandle = m_handle.has_value();
    m_handle = handleAt(point);
    if (hadHandle != m_handle.has_value()) {
      m_view.setCursor(cursor());
      m_view.updateHint();
    }
    m_view.setHovered(m_view.hit(point.scene));
    return;
  }
  if (m_state == State::stretching) {
    stretch(point);
    return;
  }
  if (m_state == State::pressed) {
    if ((point.view - m_pressView).manhattanLength() < QApplication::startDragDistance()) {
      return;
    }
    if (m_pressed.isValid() && m_view.selection().contains(m_pressed)) {
      m_moving = movable();
      if (m_moving.empty()) {
        return;
      }
      m_state = State::dragging;
      m_gesture = m_view.document().beginGesture();
      m_hasPushed = false;
      m_moved = {};
      m_startRect = m_view.scene().rectOf(m_pressed.kind == ElementKind::link ? *m_moving.begin() : m_pressed);
    } else {
      m_state = State::band;
      m_before = point.modifiers & (Qt::ShiftModifier | Qt::ControlModifier) ? m_view.selection().elements()
                                                                             : std::set<ElementId>();
    }
    m_view.updateHint();
  }
  if (m_state == State::dragging) {
    drag(point);
  } else if (m_state == State::band) {
    const std::set<ElementId> inside = m_view.scene().within(QRectF(m_pressScene, m_now).normalized());
    std::set<ElementId> next = m_before;
    for (const ElementId& id : inside) {
      // With Ctrl, what was selected goes; with Shift it stays.
      if (point.modifiers.testFlag(Qt::ControlModifier) && m_before.contains(id)) {
        next.erase(id);
      } else {
        next.insert(id);
      }
    }
    m_view.selection().set(std::move(next));
    m_view.update();
  }
}

void SelectTool::drag(const CanvasPoint& point) {
  QPointF by = point.scene - m_pressScene;
  m_guides.clear();
  if (!point.modifiers.testFlag(Qt::AltModifier)) {
    // What moves along does not count as something to align with: the inside of moved boxes too.
    std::set<ElementId> moving = m_moving;
    for (const ElementId& id : m_moving) {
      if (id.kind == ElementKind::box) {
        for (const NodeId node : m_view.document().model().allNodesIn(id.box())) {
          moving.insert(node);
        }
      }
    }
    Snapped snap = snapped(m_view.scene(), m_startRect, by, moving, kSnapReach / m_view.zoom());
    by = snap.by;
    m_guides = std::move(snap.guides);
  }
  const Point step{by.x() - m_moved.x, by.y() - m_moved.y};
  if (step == Point{}) {
    m_view.update();
    return;
  }
  m_moved = {by.x(), by.y()};
  m_hasPushed |= m_view.document().edit(
      SelectTexts::tr("Move %n element(s)", nullptr, static_cast<int>(m_moving.size())),
      [&](Edit& edit) { edits::move(edit, m_moving, step); }, m_gesture);
}

void SelectTool::release(const CanvasPoint& point) {
  const State was = m_state;
  m_state = State::idle;
  m_guides.clear();
  if (was == State::pressed) {
    Selection& selection = m_view.selection();
    const bool isAdding = point.modifiers & (Qt::ShiftModifier | Qt::ControlModifier);
    if (m_pressed.isValid()) {
      if (m_isSoleOnRelease) {
        selection.set(m_view.scene().drawnWith(m_pressed));
      }
    } else if (const BoxId room = m_view.scene().boxAt(point.scene); room.isValid()) {
      // A click into a room takes the room.
      if (isAdding) {
        selection.toggle(room);
      } else {
        selection.set({room});
      }
      selection.setCurrent(room);
    } else if (!isAdding) {
      selection.clear();
    }
  }
  m_view.updateHint();
  m_view.update();
}

void SelectTool::doubleClick(const CanvasPoint& point) {
  m_state = State::idle;
  if (const auto handle = handleAt(point)) {
    // Back to the width that its links ask for.
    const std::vector<NodeId> nodes{handle->node};
    m_view.document().edit(SelectTexts::tr("Automatic width"), [&](Edit& edit) {
      edits::changeNodes(edit, nodes, [](Node& node) { node.drawing.width = 0; });
    });
    return;
  }
  ElementId id = m_view.hit(point.scene);
  if (!id.isValid()) {
    id = m_view.scene().boxAt(point.scene);
  }
  if (const BoxId box = id.box(); box.isValid()) {
    const bool isFolded = m_view.document().model().find(box)->isFolded;
    std::vector<BoxId> boxes;
    for (const ElementId& each : m_view.scene().drawnWith(id)) {
      boxes.push_back(each.box());
    }
    const bool keepsFit = m_view.keepsFit();
    m_view.document().edit(isFolded ? SelectTexts::tr("Unfold") : SelectTexts::tr("Fold"),
                           [&](Edit& edit) { edits::fold(edit, boxes, !isFolded); });
    if (boxes.size() > 1) {
      m_view.selection().clear();  // their marks would hide what was opened
    }
    if (keepsFit || (isFolded && !m_view.visibleScene().contains(m_view.scene().rectOf(id)))) {
      m_view.zoomToFit();
    }
    return;
  }
  if (const Note* note = m_view.document().model().find(id.note())) {
    CanvasView* view = &m_view;
    m_view.popups().askText(
        note->position.toPointF(), QString::fromStdString(note->text), [view, id](const QString& text) {
          const std::vector<NoteId> notes{id.note()};
          if (text.isEmpty()) {
            view->document().edit(SelectTexts::tr("Delete note"), [&](Edit& edit) { edits::remove(edit, {id}); });
          } else {
            view->document().edit(SelectTexts::tr("Edit note"), [&](Edit& edit) {
              edits::changeNotes(edit, notes, [&](Note& changed) { changed.text = text.toStdString(); });
            });
          }
        });
    return;
  }
  if (const LineItem* line = m_view.scene().line(id.link())) {
    m_view.editBandwidth(line->links);
    return;
  }
  if (id.isValid()) {
    Q_EMIT m_view.activated(id);
  }
}

void SelectTool::nudge(QPointF by) {
  const std::set<ElementId> elements = movable();
  // A row of nudges of the same things with nothing between is one line of the history.
  if (m_nudgeGesture == 0 || elements != m_nudged || m_nudgeRevision != m_view.document().revision()) {
    m_nudgeGesture = m_view.document().beginGesture();
    m_nudged = elements;
  }
  m_view.document().edit(
      SelectTexts::tr("Nudge %n element(s)", nullptr, static_cast<int>(elements.size())),
      [&](Edit& edit) { edits::move(edit, elements, Point::from(by)); }, m_nudgeGesture);
  m_nudgeRevision = m_view.document().revision();
}

bool SelectTool::key(QKeyEvent& event) {
  QPointF direction;
  switch (event.key()) {
    case Qt::Key_Left:
      direction = {-1, 0};
      break;
    case Qt::Key_Right:
      direction = {1, 0};
      break;
    case Qt::Key_Up:
      direction = {0, -1};
      break;
    case Qt::Key_Down:
      direction = {0, 1};
      break;
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (const ElementId current = m_view.selection().current(); current.isValid()) {
        if (m_view.selection().contains(current)) {
          Q_EMIT m_view.activated(current);
        } else {
          m_view.selection().set({current});
        }
        return true;
      }
      return false;
    default:
      return false;
  }
  // Ctrl walks over the drawing, and so do arrows alone where there is nothing to move.
  if (event.modifiers().testFlag(Qt::ControlModifier) || movable().empty()) {
    m_view.moveCursor(direction, false);
  } else {
    nudge(direction * (event.modifiers().testFlag(Qt::ShiftModifier) ? 10 * kNudge : kNudge));
  }
  return true;
}

bool SelectTool::stepBack() {
  const State was = m_state;
  leave();
  if ((was == State::dragging || was == State::stretching) && m_hasPushed) {
    m_view.document().giveUp();
  } else if (was == State::band) {
    m_view.selection().set(m_before);
  }
  return was == State::dragging || was == State::band || was == State::stretching;
}

void SelectTool::leave() {
  m_state = State::idle;
  m_guides.clear();
  m_handle.reset();
  m_view.update();
}

void SelectTool::paint(QPainter& painter) {
  const Colors& colors = Theme::instance().colors();
  if (m_state == State::band) {
    QColor fill = colors[Token::accent];
    fill.setAlphaF(0.10F);
    painter.setPen(QPen(colors[Token::accent], 1 / m_view.zoom()));
    painter.setBrush(fill);
    painter.drawRect(QRectF(m_pressScene, m_now).normalized());
  }
  if ((m_state == State::idle || m_state == State::stretching) && m_view.selection().elements().size() <= kMaxHandles) {
    painter.setPen(QPen(colors[Token::accent], 1.5 / m_view.zoom()));
    painter.setBrush(colors[Token::canvas]);
    for (const ElementId& id : m_view.selection().elements()) {
      const NodeItem* item = m_view.scene().node(id);
      if (item == nullptr || item->shape != Shape::switchBar || item->rect.width() * m_view.zoom() < kMinShown) {
        continue;
      }
      const double r = kHandleSize / m_view.zoom();
      for (const double x : {item->rect.left(), item->rect.right()}) {
        painter.drawEllipse(QPointF(x, item->rect.center().y()), r, r);
      }
    }
  }
  painter.setPen(QPen(colors[Token::accent], 1 / m_view.zoom(), Qt::DashLine));
  for (const QLineF& guide : m_guides) {
    painter.drawLine(guide);
  }
}

QString SelectTool::hint() const {
  switch (m_state) {
    case State::dragging:
      return SelectTexts::tr("Release to drop · Alt: no snapping · Esc: cancel");
    case State::band:
      return SelectTexts::tr("Release to select what lies inside · Shift adds · Ctrl removes");
    case State::stretching:
      return SelectTexts::tr("Release to keep the width · Alt: no snapping · Esc: cancel");
    case State::idle:
    case State::pressed:
      break;
  }
  if (m_handle) {
    return SelectTexts::tr("Drag stretches the switch · double click: fit its links");
  }
  return m_view.selection().isEmpty()
             ? SelectTexts::tr("Click selects · drag from empty space selects many · Space drags the view")
             : SelectTexts::tr("Drag moves · arrows nudge · Ctrl+D duplicates · L links");
}

}  // namespace coppice::designer
