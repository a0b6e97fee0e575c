// SPDX-License-Identifier: GPL-3.0-or-later
#include <QApplication>
#include <QKeyEvent>
#include <QUndoStack>

#include "designer/canvas/canvas_view.hpp"
#include "designer/canvas/snapping.hpp"
#include "designer/canvas/tools/tools.hpp"
#include "designer/theme/theme.hpp"

namespace coppice::designer {
namespace {

constexpr double kSnapReach = 6;  // pixels
constexpr double kNudge = 2;      // scene units; ten of them are one step of the grid

QString tr(const char* text, int n = -1) {
  return QCoreApplication::translate("SelectTool", text, nullptr, n);
}

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

void SelectTool::press(const CanvasPoint& point) {
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
      selection.toggle(m_pressed);
    } else if (selection.contains(m_pressed)) {
      m_isSoleOnRelease = true;
    } else if (const LineItem* line = m_view.scene().line(m_pressed.link())) {
      selection.set({line->links.begin(), line->links.end()});
    } else {
      selection.set({m_pressed});
    }
  }
}

void SelectTool::move(const CanvasPoint& point) {
  m_now = point.scene;
  if (m_state == State::idle) {
    m_view.setHovered(m_view.hit(point.scene));
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
  if (m_view.isSnapping() && !point.modifiers.testFlag(Qt::AltModifier)) {
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
      tr("Move %n element(s)", static_cast<int>(m_moving.size())),
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
        if (const LineItem* line = m_view.scene().line(m_pressed.link())) {
          selection.set({line->links.begin(), line->links.end()});
        } else {
          selection.set({m_pressed});
        }
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
  ElementId id = m_view.hit(point.scene);
  if (!id.isValid()) {
    id = m_view.scene().boxAt(point.scene);
  }
  if (const BoxId box = id.box(); box.isValid()) {
    const bool isFolded = m_view.document().model().find(box)->isFolded;
    const std::vector<BoxId> boxes{box};
    m_view.document().edit(isFolded ? tr("Unfold") : tr("Fold"),
                           [&](Edit& edit) { edits::fold(edit, boxes, !isFolded); });
    return;
  }
  if (const Note* note = m_view.document().model().find(id.note())) {
    CanvasView* view = &m_view;
    m_view.askText(note->position.toPointF(), QString::fromStdString(note->text), [view, id](const QString& text) {
      const std::vector<NoteId> notes{id.note()};
      if (text.isEmpty()) {
        view->document().edit(tr("Delete note"), [&](Edit& edit) { edits::remove(edit, {id}); });
      } else {
        view->document().edit(tr("Edit note"), [&](Edit& edit) {
          edits::changeNotes(edit, notes, [&](Note& changed) { changed.text = text.toStdString(); });
        });
      }
    });
    return;
  }
  if (const LineItem* line = m_view.scene().line(id.link())) {
    CanvasView* view = &m_view;
    const std::vector<LinkId> links = line->links;
    m_view.askBandwidth(line->curve.at(0.5),
                        QString::fromStdString(m_view.document().model().find(links.front())->bandwidth),
                        [view, links](const std::string& text) {
                          view->document().edit(tr("Change bandwidth"), [&](Edit& edit) {
                            edits::changeLinks(edit, links, [&](Link& link) { link.bandwidth = text; });
                          });
                        });
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
      tr("Nudge %n element(s)", static_cast<int>(elements.size())),
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
  if (was == State::dragging && m_hasPushed) {
    m_view.document().undoStack()->undo();
  } else if (was == State::band) {
    m_view.selection().set(m_before);
  }
  return was == State::dragging || was == State::band;
}

void SelectTool::leave() {
  m_state = State::idle;
  m_guides.clear();
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
  painter.setPen(QPen(colors[Token::accent], 1 / m_view.zoom(), Qt::DashLine));
  for (const QLineF& guide : m_guides) {
    painter.drawLine(guide);
  }
}

QString SelectTool::hint() const {
  switch (m_state) {
    case State::dragging:
      return tr("Release to drop · Alt: no snapping · Esc: back");
    case State::band:
      return tr("Release to select what lies inside · Shift adds · Ctrl takes away");
    case State::idle:
    case State::pressed:
      break;
  }
  return m_view.selection().isEmpty() ? tr("Click selects · drag from empty space selects many · Space drags the view")
                                      : tr("Drag moves · arrows nudge · Ctrl+D duplicates · L links");
}

}  // namespace coppice::designer
