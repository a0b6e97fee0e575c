// SPDX-License-Identifier: GPL-3.0-or-later
#include <QApplication>
#include <QCoreApplication>
#include <QKeyEvent>
#include <algorithm>

#include "designer/canvas/canvas_view.hpp"
#include "designer/canvas/tools/tools.hpp"
#include "designer/theme/theme.hpp"

namespace coppice::designer {
namespace {

struct Texts {
  Q_DECLARE_TR_FUNCTIONS(LinkTool)
};

/// The nodes of a box that links are meant for: those of the kind nearest to the network, NICs before GPUs before
/// switches; of a box of switches these.
std::vector<NodeId> portsOf(const Model& model, BoxId box) {
  std::vector<NodeId> result;
  for (const auto kind : {fabric::NodeKind::nic, fabric::NodeKind::gpu, fabric::NodeKind::switchNode}) {
    for (const NodeId id : model.allNodesIn(box)) {
      if (model.find(id)->kind() == kind) {
        result.push_back(id);
      }
    }
    if (!result.empty()) {
      break;
    }
  }
  return result;
}

}  // namespace

std::vector<NodeId> LinkTool::sources() const {
  std::vector<NodeId> result = m_view.selection().nodes();
  for (const BoxId box : m_view.selection().boxes()) {
    for (const NodeId id : portsOf(m_view.document().model(), box)) {
      if (std::find(result.begin(), result.end(), id) == result.end()) {
        result.push_back(id);
      }
    }
  }
  return result;
}

void LinkTool::press(const CanvasPoint& point) {
  m_pressScene = point.scene;
  m_pressView = point.view;
  m_now = point.scene;
  m_isDragging = true;
  m_isBand = false;
  const ElementId hit = m_view.hit(point.scene);
  const std::vector<NodeId> selected = sources();
  if (hit.kind == ElementKind::node && hit.isValid()) {
    const bool isOfSet = std::find(selected.begin(), selected.end(), hit.node()) != selected.end();
    m_from = isOfSet ? selected : std::vector<NodeId>{hit.node()};
  } else if (hit.kind == ElementKind::box && hit.isValid()) {
    m_from = m_view.selection().contains(hit) ? selected : portsOf(m_view.document().model(), hit.box());
  } else {
    m_from = selected;
    m_isBand = true;
  }
}

void LinkTool::move(const CanvasPoint& point) {
  m_now = point.scene;
  m_view.setHovered(m_view.hit(point.scene));
  m_view.update();
}

void LinkTool::release(const CanvasPoint& point) {
  if (!m_isDragging) {
    return;
  }
  m_isDragging = false;
  m_view.update();
  const bool isClick = (point.view - m_pressView).manhattanLength() < QApplication::startDragDistance();
  const ElementId target = m_view.hit(point.scene);
  if (isClick) {
    // A click on a node: from what is selected to it; with nothing selected it becomes what to link from.
    std::vector<NodeId> from = sources();
    std::erase(from, target.node());
    if (target.isValid() && target.kind != ElementKind::link && target.kind != ElementKind::note && !from.empty()) {
      m_from = from;
      linkTo(target, point.scene);
    } else if (target.kind == ElementKind::node && target.isValid()) {
      m_view.selection().set({target});
      m_view.selection().setCurrent(target);
    } else if (!target.isValid()) {
      m_view.selection().clear();
    }
    m_view.updateHint();
    return;
  }
  if (m_isBand) {
    std::vector<NodeId> to;
    for (const ElementId& id : m_view.scene().within(QRectF(m_pressScene, point.scene).normalized())) {
      if (id.kind == ElementKind::node) {
        to.push_back(id.node());
      }
    }
    if (m_from.empty()) {
      m_view.selection().set({to.begin(), to.end()});
    } else if (!to.empty()) {
      linkSets(m_from, to, point.scene);
    }
    m_view.updateHint();
    return;
  }
  linkTo(target, point.scene);
}

void LinkTool::linkTo(const ElementId& target, const QPointF& where) {
  if (!target.isValid() || m_from.empty()) {
    return;
  }
  if (target.kind == ElementKind::node) {
    make(m_from, {target.node()}, edits::LinkPattern::allToAll, where);
  } else if (target.kind == ElementKind::box) {
    linkSets(m_from, portsOf(m_view.document().model(), target.box()), where);
  }
}

void LinkTool::linkSets(const std::vector<NodeId>& from, const std::vector<NodeId>& to, const QPointF& where) {
  if (to.empty()) {
    m_view.say(Texts::tr("It contains no node to link to"));
    return;
  }
  if (to.size() == 1) {
    make(from, to, edits::LinkPattern::allToAll, where);
    return;
  }
  // The tool outlives its view's popups, as the view owns both.
  m_view.popups().askPattern(where,
                             [this, from, to, where](edits::LinkPattern pattern) { make(from, to, pattern, where); });
}

void LinkTool::make(const std::vector<NodeId>& from, const std::vector<NodeId>& to, edits::LinkPattern pattern,
                    const QPointF& where) {
  Document& document = m_view.document();
  const GestureId gesture = document.beginGesture();
  std::vector<LinkId> made;
  std::optional<Error> error;
  const auto fill = [&](Edit& edit) {
    if (from.size() == 1 && to.size() == 1) {
      if (auto link = edits::addLink(edit, from.front(), to.front(), m_view.linkTemplate())) {
        made = {*link};
      } else {
        error = link.error();
      }
    } else if (auto links = edits::linkSets(edit, from, to, pattern, m_view.linkTemplate())) {
      made = *links;
    } else {
      error = links.error();
    }
  };
  document.edit(Texts::tr("Link %n node(s)", nullptr, static_cast<int>(from.size())), fill, gesture);
  if (error) {
    m_view.say(QString::fromStdString(error->message));
    return;
  }
  if (made.empty()) {
    m_view.say(Texts::tr("Both ends are the same node"));
    return;
  }
  m_view.selection().set({made.begin(), made.end()});
  const LineItem* line = m_view.scene().line(made.front());
  const QPointF place = line != nullptr && made.size() == 1 ? line->curve.at(0.5) : where;
  CanvasView* view = &m_view;
  m_view.popups().askBandwidth(
      place, QString::fromStdString(m_view.linkTemplate().bandwidth), [view, made, gesture](const std::string& text) {
        edits::LinkTemplate next = view->linkTemplate();
        next.bandwidth = text;
        view->setLinkTemplate(next);
        view->document().edit(
            Texts::tr("Link"),
            [&](Edit& edit) { edits::changeLinks(edit, made, [&](Link& link) { link.bandwidth = text; }); }, gesture);
      });
}

bool walkNodes(CanvasView& view, const QKeyEvent& event) {
  switch (event.key()) {
    case Qt::Key_Left:
      view.moveCursor({-1, 0}, true);
      return true;
    case Qt::Key_Right:
      view.moveCursor({1, 0}, true);
      return true;
    case Qt::Key_Up:
      view.moveCursor({0, -1}, true);
      return true;
    case Qt::Key_Down:
      view.moveCursor({0, 1}, true);
      return true;
    case Qt::Key_Tab:
      view.stepCursor(1, true);
      return true;
    case Qt::Key_Backtab:
      view.stepCursor(-1, true);
      return true;
    default:
      return false;
  }
}

bool LinkTool::key(QKeyEvent& event) {
  if (walkNodes(m_view, event)) {
    return true;
  }
  if (event.key() != Qt::Key_Return && event.key() != Qt::Key_Enter) {
    return false;
  }
  const ElementId target = m_view.selection().current();
  if (target.kind != ElementKind::node || !target.isValid()) {
    return true;
  }
  std::vector<NodeId> from = sources();
  std::erase(from, target.node());
  if (from.empty()) {
    m_view.selection().set({target});
    m_view.selection().setCurrent(target);
  } else {
    m_from = from;
    linkTo(target, m_view.scene().rectOf(target).center());
  }
  m_view.updateHint();
  return true;
}

bool LinkTool::stepBack() {
  if (m_isDragging) {
    leave();
    return true;
  }
  return false;
}

void LinkTool::leave() {
  m_isDragging = false;
  m_isBand = false;
  m_view.update();
}

void LinkTool::paint(QPainter& painter) {
  const Colors& colors = Theme::instance().colors();
  const double px = 1 / m_view.zoom();
  if (m_isDragging && m_isBand) {
    QColor fill = colors[Token::accent];
    fill.setAlphaF(0.10F);
    painter.setPen(QPen(colors[Token::accent], px));
    painter.setBrush(fill);
    painter.drawRect(QRectF(m_pressScene, m_now).normalized());
    return;
  }
  // From every source to the pointer, or to where the keys are.
  QPointF end = m_now;
  std::vector<NodeId> from = m_from;
  if (!m_isDragging) {
    const ElementId current = m_view.selection().current();
    from = sources();
    std::erase(from, current.node());
    if (current.kind != ElementKind::node || !current.isValid() || from.empty()) {
      return;
    }
    end = m_view.scene().rectOf(current).center();
  } else if (const ElementId target = m_view.hit(m_now); target.isValid() && target.kind == ElementKind::node) {
    end = m_view.scene().rectOf(target).center();
  }
  QPen pen(colors[Token::accent], 2 * px);
  pen.setDashPattern({3, 2});
  painter.setPen(pen);
  painter.setBrush(Qt::NoBrush);
  constexpr std::size_t kMax = 64;
  for (std::size_t i = 0; i < std::min(from.size(), kMax); ++i) {
    const QPointF start = m_view.scene().rectOf(from[i]).center();
    painter.drawPath(Curve::cable(start, end).path());
  }
}

QString LinkTool::hint() const {
  const auto count = static_cast<int>(sources().size());
  if (count == 0) {
    return Texts::tr("Drag from node to node to link them · keys: arrows or Tab, then Enter");
  }
  return Texts::tr("Click a node or a box to link %n selected node(s) to it", nullptr, count);
}

}  // namespace coppice::designer
