// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/canvas/canvas_view.hpp"

#include <QContextMenuEvent>
#include <QDragEnterEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPaintEvent>
#include <QPainter>
#include <QTimer>
#include <QWheelEvent>
#include <algorithm>
#include <array>
#include <cmath>

#include "designer/canvas/canvas_accessible.hpp"
#include "designer/canvas/keyboard_cursor.hpp"
#include "designer/canvas/legend_placement.hpp"
#include "designer/canvas/tools/tools.hpp"
#include "designer/theme/theme.hpp"

namespace coppice::designer {
namespace {

constexpr double kMaxFitScale = 1.25;
constexpr double kReadScale = 0.6;
constexpr double kHitReach = 6;  // pixels
constexpr int kPulseTime = 700;  // ms

}  // namespace

CanvasView::CanvasView(Document& document, Selection& selection, QWidget* parent)
    : QWidget(parent),
      m_document(document),
      m_selection(selection),
      m_scene(document.model(), Routing::later),
      m_camera(*this),
      m_tiles(*this, m_camera, m_scene),
      m_routing(m_scene, [this] { return isVisible(); }),
      m_move(m_scene),
      m_popups(*this, [this](const QPointF& scene) { return toView(scene); }),
      m_drops(*this),
      m_lastSelection(selection.elements()),
      m_motionPainter(m_scene) {
  setAttribute(Qt::WA_OpaquePaintEvent);
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Canvas"));
  makeCanvasesAccessible();
  setMinimumSize(120, 90);
  m_pulse.setStartValue(0.0);
  m_pulse.setEndValue(1.0);
  m_pulse.setDuration(kPulseTime);
  createTools();
  connectParts();
}

CanvasView::~CanvasView() = default;

void CanvasView::createTools() {
  m_tools[ToolKind::select] = std::make_unique<SelectTool>(*this);
  m_tools[ToolKind::pan] = std::make_unique<PanTool>(*this);
  m_tools[ToolKind::link] = std::make_unique<LinkTool>(*this);
  m_tools[ToolKind::box] = std::make_unique<BoxTool>(*this);
  m_tools[ToolKind::text] = std::make_unique<NoteTool>(*this);
  m_tools[ToolKind::place] = std::make_unique<PlaceTool>(*this);
  m_tools[ToolKind::point] = std::make_unique<PointTool>(*this);
}

void CanvasView::connectParts() {
  const auto repaint = qOverload<>(&QWidget::update);
  connect(&m_document, &Document::changed, this, &CanvasView::documentChanged);
  connect(&m_selection, &Selection::changed, this, &CanvasView::selectionChanged);
  connect(&m_selection, &Selection::currentChanged, this, repaint);
  connect(&Theme::instance(), &Theme::changed, this, [this] {
    m_tiles.clear();
    update();
  });
  connect(&m_camera, &Camera::aboutToZoom, this, [this] {
    if (m_wasShown) {
      m_tiles.beginZoom();
    }
  });
  connect(&m_camera, &Camera::zoomChanged, this, &CanvasView::zoomChanged);
  connect(&m_camera, &Camera::changed, this, [this] {
    update();
    Q_EMIT viewChanged();
  });
  connect(&m_tiles, &TileScheduler::unfinished, this, repaint);
  connect(&m_routing, &LinkRouting::routed, this, &CanvasView::routesApplied);
  connect(&m_move, &MoveAnimation::advanced, this, repaint);
  connect(&m_pulse, &QVariantAnimation::valueChanged, this, repaint);
}

// ---- the document

void CanvasView::documentChanged(const ChangeEvent& event) {
  if (event.isReset) {
    active().leave();
    setHovered({});
  }
  const std::optional<Region> dirty = m_scene.follow(event);
  m_motionPainter.forget();
  dropLayer();
  m_routing.restart();
  if (m_hovered.isValid() && !m_document.model().contains(m_hovered)) {
    setHovered({});
  }
  if (!dirty) {
    // Dense drawings keep what was there until the new tiles are ready.
    m_tiles.forgetMoved();
    invalidateAll();
  } else {
    for (const NodeId id : event.nodes.changed) {
      if (const auto node = m_scene.nodeAt(id)) {
        m_tiles.noteMoved(*node);
      }
    }
    invalidate(*dirty);
  }
  followMove(event);
  updateHint();
  Q_EMIT viewChanged();
}

void CanvasView::followMove(const ChangeEvent& event) {
  if (event.isReset && m_wasShown) {
    zoomToFit();
  }
  if (m_willFit) {
    m_willFit = false;
    // A new arrangement of everything has another shape; one of a part may be elsewhere.
    if (event.isReset || event.nodes.changed.size() * 2 > m_document.model().nodes().size()) {
      zoomToFit();
    } else {
      zoomToFitIfLost();
    }
  }
  m_move.sceneChanged();
}

void CanvasView::routesApplied(const Region& dirty) {
  if (dirty.empty()) {
    return;
  }
  m_motionPainter.forget();
  invalidate(dirty);
  // A view that shows the whole drawing is fitted again: routed links may reach farther than straight ones.
  if (m_keepsFit && !m_camera.isMoving()) {
    fitNow();
  }
  Q_EMIT viewChanged();
}

void CanvasView::animateNextMove() {
  m_willFit = m_wasShown;
  if (Theme::instance().isAnimated() && isVisible()) {
    m_move.prepare();
  } else {
    m_move.forget();
  }
}

void CanvasView::selectionChanged() {
  Region dirty;
  const auto touch = [&](const std::set<ElementId>& some, const std::set<ElementId>& others) {
    for (const ElementId& id : some) {
      if (!others.contains(id)) {
        dirty.push_back(m_scene.rectOf(id).adjusted(-0.5, -0.5, 0.5, 0.5));
      }
    }
  };
  touch(m_lastSelection, m_selection.elements());
  touch(m_selection.elements(), m_lastSelection);
  m_lastSelection = m_selection.elements();
  constexpr std::size_t kMany = 400;
  if (dirty.size() > kMany) {
    QRectF all;
    for (const QRectF& rect : dirty) {
      all |= rect;
    }
    dirty = {all};
  }
  invalidate(dirty);
  updateHint();
  if (m_selection.elements().size() == 1) {
    tellFocus(*this, *m_selection.elements().begin());
  }
}

void CanvasView::invalidate(const Region& dirty) {
  m_tiles.invalidate(dirty);
  update();
}

void CanvasView::invalidateAll() {
  m_tiles.invalidateAll();
  update();
}

void CanvasView::dropLayer() {
  m_tiles.dropWork();
  m_layer.reset();
}

void CanvasView::setOverlay(Overlay overlay) {
  const bool hadLegend = !legendSize().isEmpty();
  dropLayer();
  m_overlay = std::move(overlay);
  invalidateAll();
  // A view that shows the whole drawing is fitted again beside the new legend.
  if (!hadLegend && m_wasShown && m_keepsFit && !legendSize().isEmpty()) {
    zoomToFit();
  }
}

void CanvasView::setHoverNote(const ElementId& of, HoverNote note) {
  if (of == m_hovered && of.isValid()) {
    m_hoverNote = std::move(note);
    update();
  }
}

void CanvasView::setPointNote(std::optional<PointNote> note) {
  m_pointNote = std::move(note);
  update();
}

void CanvasView::setMotion(Motion motion) {
  if (!motion.isEmpty() || !m_motion.isEmpty()) {
    m_motion = std::move(motion);
    if (m_motion.isEmpty()) {
      m_motionFrame = {};
      m_motionPainter.forget();
    }
    update();
  }
}

void CanvasView::setProblems(std::map<ElementId, Severity> problems) {
  if (problems != m_problems) {
    m_problems = std::move(problems);
    invalidateAll();
  }
}

// ---- tools

void CanvasView::setTool(ToolKind kind) {
  if (kind == m_kind) {
    return;
  }
  active().leave();
  m_kind = kind;
  setCursor(active().cursor());
  updateHint();
  update();
  Q_EMIT toolChanged(kind);
}

void CanvasView::startPlacing(fabric::NodeKind kind) {
  static_cast<PlaceTool&>(*m_tools[ToolKind::place]).setDevice(kind);
  setTool(ToolKind::place);
  updateHint();
  setFocus();
}

void CanvasView::startPlacing(Model part, const QString& name) {
  static_cast<PlaceTool&>(*m_tools[ToolKind::place]).setPart(std::move(part), name);
  setTool(ToolKind::place);
  updateHint();
  setFocus();
}

void CanvasView::setPartDrops(PartDrops drops) {
  setAcceptDrops(drops.partOf != nullptr);
  m_drops.setDrops(std::move(drops));
}

void CanvasView::updateHint() {
  Q_EMIT hintChanged(active().hint());
}

ElementId CanvasView::hit(const QPointF& scenePoint) const {
  return m_scene.hit(scenePoint, kHitReach / m_camera.scale());
}

void CanvasView::setHovered(const ElementId& id) {
  if (id != m_hovered) {
    m_hovered = id;
    m_hoverNote.reset();
    update();
    Q_EMIT hovered(id);
  }
}

void CanvasView::moveCursor(const QPointF& direction, bool nodesOnly) {
  goTo(elementInDirection(m_scene, m_selection.current(), visibleScene().center(), direction, nodesOnly));
}

void CanvasView::stepCursor(int by, bool nodesOnly) {
  goTo(elementInOrder(m_scene, m_selection.current(), by, nodesOnly));
}

void CanvasView::goTo(const ElementId& cursor) {
  if (cursor.isValid()) {
    m_selection.setCurrent(cursor);
    const QRectF rect = m_scene.rectOf(cursor);
    if (!visibleScene().contains(rect)) {
      centreOn(rect.center());
    }
  }
}

void CanvasView::editBandwidth(std::vector<LinkId> links) {
  const Link* first = m_document.model().find(links.front());
  const LineItem* line = m_scene.line(links.front());
  if (first == nullptr || line == nullptr) {
    return;
  }
  m_popups.askBandwidth(line->curve.at(0.5), QString::fromStdString(first->bandwidth),
                        [this, links = std::move(links)](const std::string& text) {
                          m_document.edit(tr("Change bandwidth"), [&](Edit& edit) {
                            edits::changeLinks(edit, links, [&](Link& link) { link.bandwidth = text; });
                          });
                        });
}

// ---- what is in view

void CanvasView::zoomAbout(double zoom, const QPointF& viewPoint) {
  m_keepsFit = false;
  m_camera.set(m_camera.zoomed(zoom, viewPoint));
}

Viewpoint CanvasView::fit() const {
  const QRectF all = m_scene.bounds();
  const Viewpoint whole = m_camera.framing(all.isNull() ? QRectF(-200, -150, 400, 300) : all, kMaxFitScale);
  // A legend that finds no free place gets one beside or above the drawing, where the drawing stays larger.
  constexpr double kMaxWidthShare = 0.4;
  const QSizeF legend = legendSize();
  if (!legend.isEmpty() && legend.width() < kMaxWidthShare * width() &&
      placeLegend(legend, m_scene, whole, size()).covered[0] > 0) {
    const Viewpoint right = m_camera.framing(all, kMaxFitScale, {0, 0, legend.width() + kLegendMargin, 0});
    const Viewpoint top = m_camera.framing(all, kMaxFitScale, {0, legend.height() + kLegendMargin, 0, 0});
    return top.scale > right.scale ? top : right;
  }
  return whole;
}

void CanvasView::fitNow() {
  m_keepsFit = true;
  m_camera.set(fit());
}

void CanvasView::zoomToFit() {
  m_keepsFit = true;
  Viewpoint whole = fit();
  whole.offset = m_camera.wholePixels(whole.offset);
  m_camera.animateTo(whole);
}

void CanvasView::zoomToFitIfLost() {
  // A new arrangement that is mostly elsewhere would be a blank sheet.
  const QRectF all = m_scene.bounds();
  const QRectF seen = visibleScene();
  const QRectF both = all & seen;
  if (both.width() * both.height() < 0.5 * std::min(all.width() * all.height(), seen.width() * seen.height())) {
    zoomToFit();
  }
}

void CanvasView::zoomToSelection() {
  QRectF rect;
  for (const ElementId& id : m_selection.elements()) {
    rect |= m_scene.rectOf(id).adjusted(-0.5, -0.5, 0.5, 0.5);
  }
  if (rect.isNull()) {
    zoomToFit();
    return;
  }
  m_keepsFit = false;
  m_camera.animateTo(m_camera.framing(rect.adjusted(-40, -40, 40, 40), kMaxFitScale));
}

void CanvasView::centreOn(const ElementId& id) {
  const QRectF rect = m_scene.rectOf(id);
  if (rect.isNull() && !m_document.model().contains(id)) {
    return;
  }
  const double whole = m_camera.framing(rect, kMaxFitScale).scale;
  m_keepsFit = false;
  m_camera.animateTo(m_camera.centred(rect.center(), std::min(whole, std::max(m_camera.scale(), kReadScale))));
  m_pulsing = id;
  m_pulse.stop();
  if (Theme::instance().isAnimated()) {
    m_pulse.start();
  }
}

void CanvasView::centreOn(const QPointF& scenePoint) {
  m_keepsFit = false;
  m_camera.animateTo(m_camera.centred(scenePoint, m_camera.scale()));
}

void CanvasView::panBy(const QPointF& pixels) {
  m_keepsFit = false;
  m_camera.set({m_camera.scale(), m_camera.viewpoint().offset + pixels});
}

bool CanvasView::isInView(const ElementId& id) const {
  const QRectF rect = m_scene.rectOf(id);
  const QRectF seen = visibleScene();
  // A line that is upright has no width.
  return rect.left() >= seen.left() && rect.right() <= seen.right() && rect.top() >= seen.top() &&
         rect.bottom() <= seen.bottom();
}

void CanvasView::setViewState(const QByteArray& bytes) {
  const std::optional<Camera::State> state = Camera::readState(bytes);
  if (!state) {
    return;
  }
  m_wasShown = true;
  if (state->keepsFit) {
    fitNow();
    return;
  }
  m_keepsFit = false;
  m_camera.set(m_camera.centred(state->centre, state->scale));
}

QSizeF CanvasView::legendSize() const {
  CanvasState state;
  state.layer = layer();
  return CanvasPainter(m_scene, Theme::instance().colors(), state).legendSize();
}

QPointF CanvasView::legendCorner() const {
  return placeLegend(legendSize(), m_scene, m_camera.viewpoint(), size()).corner;
}

// ---- painting

const OverlayLayer* CanvasView::layer() const {
  if (m_overlay.isEmpty()) {
    return nullptr;
  }
  if (!m_layer) {
    m_layer.emplace(m_scene, m_overlay);
  }
  return &*m_layer;
}

CanvasState CanvasView::state() const {
  CanvasState state;
  state.selection = &m_selection.elements();
  state.problems = &m_problems;
  state.layer = layer();
  return state;
}

void CanvasView::complete() {
  m_camera.stop();
  m_routing.finish();
  m_tiles.completeNext();  // also where it is painted later, by grab() of a hidden window
  repaint();
}

void CanvasView::paintEvent(QPaintEvent*) {
  if (!m_wasShown) {
    m_wasShown = true;
    m_tiles.clear();
    fitNow();
    m_tiles.endZoom();
  }
  QPainter painter(this);
  if (m_move.isRunning()) {
    painter.fillRect(rect(), Theme::instance().color(Token::canvas));
    m_move.paint(painter, m_camera.viewpoint());
    return;
  }
  if (m_motion.isEmpty()) {
    paintDrawing(painter);
  } else {
    paintMotion(painter);
  }
  paintLive(painter);
  m_routing.ensure();
}

void CanvasView::paintDrawing(QPainter& painter) {
  painter.fillRect(rect(), Theme::instance().color(Token::canvas));
  m_tiles.paint(painter,
                [this] { return std::make_shared<CanvasPainter>(m_scene, Theme::instance().colors(), state()); });
}

void CanvasView::paintMotion(QPainter& painter) {
  const QSize pixels = size() * devicePixelRatioF();
  if (m_motionFrame.size() != pixels) {
    m_motionFrame = QImage(pixels, QImage::Format_RGB32);
  }
  m_motionFrame.setDevicePixelRatio(devicePixelRatioF());
  {
    QPainter onFrame(&m_motionFrame);
    paintDrawing(onFrame);
  }
  const double scale = m_camera.scale();
  const std::size_t lines = m_scene.lines().size();
  const Detail detail = detailAt(scale, lines, m_scene.bounds());
  if (!m_motionPainter.paint(m_motionFrame, m_motion, m_camera.viewpoint(), drawsTrunks(detail, scale, lines))) {
    QTimer::singleShot(0, this, qOverload<>(&QWidget::update));
  }
  painter.drawImage(QPoint(), m_motionFrame);
}

void CanvasView::paintLive(QPainter& painter) {
  const Viewpoint& viewpoint = m_camera.viewpoint();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.save();
  painter.translate(viewpoint.offset);
  painter.scale(viewpoint.scale, viewpoint.scale);
  LivePainter live(painter, m_scene, viewpoint, size());
  if (m_hovered.isValid() && m_overlay.isEmpty() && !m_selection.contains(m_hovered)) {
    live.paintHovered(m_hovered);
  }
  if (m_pointNote) {
    live.paintWay(m_pointNote->way);
  }
  if (hasFocus() && m_selection.current().isValid()) {
    live.paintCursor(m_selection.current());
  }
  if (m_pulse.state() == QAbstractAnimation::Running) {
    live.paintPulse(m_pulsing, m_pulse.currentValue().toDouble());
  }
  // Above the cursor: both may be of one link.
  if (const LineItem* line = m_scene.line(m_hovered.link()); line != nullptr && !m_pointNote) {
    live.paintLineLabel(*line, m_hoverNote);
  }
  if (m_drops.dragged() != nullptr) {
    m_drops.dragged()->paint(painter);
  } else {
    active().paint(painter);
  }
  if (m_pointNote) {
    live.paintPointNote(*m_pointNote);
  }
  CanvasPainter canvas(m_scene, Theme::instance().colors(), state());
  canvas.paintHullLabels(painter, visibleScene(), viewpoint.scale);
  painter.restore();
  if (!canvas.legendSize().isEmpty()) {
    // In a small view, one of two for instance, the drawing has precedence.
    constexpr double kMaxShare = 0.1;
    const QSizeF legend = legendSize();
    const LegendPlace place = placeLegend(legend, m_scene, m_camera.viewpoint(), size());
    if (place.covered[0] == 0 || legend.width() * legend.height() < kMaxShare * width() * height()) {
      canvas.paintLegend(painter, place.corner);
    }
  }
}

// ---- events

CanvasPoint CanvasView::pointOf(const QMouseEvent& event) const {
  return {toScene(event.position()), event.position(), event.button(), event.modifiers()};
}

bool CanvasView::event(QEvent* event) {
  // Tab walks over the drawing while links are made by keys; else it leaves the canvas as from any widget.
  if (event->type() == QEvent::KeyPress && (m_kind == ToolKind::link || m_kind == ToolKind::point)) {
    auto* key = static_cast<QKeyEvent*>(event);
    if ((key->key() == Qt::Key_Tab || key->key() == Qt::Key_Backtab) && active().key(*key)) {
      event->accept();
      return true;
    }
  }
  return QWidget::event(event);
}

void CanvasView::resizeEvent(QResizeEvent*) {
  // Who sees the whole drawing, or is on the way there, continues to.
  if (m_wasShown && m_keepsFit) {
    m_camera.stop();
    fitNow();
  }
  Q_EMIT viewChanged();
}

void CanvasView::mousePressEvent(QMouseEvent* event) {
  setFocus(Qt::MouseFocusReason);
  m_popups.close();
  m_hasPanned = false;
  const CanvasPoint point = pointOf(*event);
  const bool isEmpty = !hit(point.scene).isValid();
  if (event->button() == Qt::MiddleButton || (event->button() == Qt::LeftButton && m_isSpaceDown) ||
      (event->button() == Qt::RightButton && isEmpty)) {
    m_hasSpaceMoved = true;
    m_panFrom = event->position();
    if (event->button() != Qt::RightButton) {
      setCursor(Qt::ClosedHandCursor);
    }
    return;
  }
  if (event->button() == Qt::LeftButton) {
    active().press(point);
  }
}

void CanvasView::mouseMoveEvent(QMouseEvent* event) {
  if (m_panFrom) {
    const QPointF by = event->position() - *m_panFrom;
    if (!m_hasPanned && event->buttons().testFlag(Qt::RightButton) && by.manhattanLength() < 4) {
      return;
    }
    m_hasPanned = true;
    setCursor(Qt::ClosedHandCursor);
    panBy(by);
    m_panFrom = event->position();
    return;
  }
  active().move(pointOf(*event));
}

void CanvasView::mouseReleaseEvent(QMouseEvent* event) {
  if (m_panFrom) {
    m_panFrom.reset();
    setCursor(m_isSpaceDown ? QCursor(Qt::OpenHandCursor) : active().cursor());
    if (event->button() == Qt::RightButton && !m_hasPanned) {
      Q_EMIT contextMenuWanted({}, event->globalPosition().toPoint());
    }
    return;
  }
  const CanvasPoint point = pointOf(*event);
  if (event->button() == Qt::RightButton) {
    const ElementId id = hit(point.scene);
    if (id.isValid() && !m_selection.contains(id)) {
      m_selection.set({id});
    }
    Q_EMIT contextMenuWanted(id, event->globalPosition().toPoint());
  } else if (event->button() == Qt::LeftButton) {
    active().release(point);
  }
}

void CanvasView::mouseDoubleClickEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton && !m_isSpaceDown) {
    active().doubleClick(pointOf(*event));
  }
}

void CanvasView::wheelEvent(QWheelEvent* event) {
  m_camera.stop();
  if (!event->pixelDelta().isNull() && !event->modifiers().testFlag(Qt::ControlModifier)) {
    panBy(event->pixelDelta());
  } else if (event->modifiers().testFlag(Qt::ShiftModifier)) {
    panBy(QPointF(event->angleDelta().y(), event->angleDelta().x()) / 2);
  } else if (s_wheelScrolls && !event->modifiers().testFlag(Qt::ControlModifier)) {
    panBy(QPointF(event->angleDelta()) / 2);
  } else {
    zoomAbout(zoom() * std::pow(1.2, event->angleDelta().y() / 120.0), event->position());
  }
  event->accept();
}

void CanvasView::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Space && event->modifiers() == Qt::NoModifier) {
    if (!event->isAutoRepeat()) {
      m_isSpaceDown = true;
      m_hasSpaceMoved = false;
      setCursor(Qt::OpenHandCursor);
    }
    return;
  }
  if (event->key() == Qt::Key_Escape) {
    // One step: a popup, what the tool is about, the tool, the selection.
    if (m_popups.isOpen()) {
      m_popups.close();
    } else if (!active().stepBack()) {
      if (m_kind != ToolKind::select) {
        setTool(ToolKind::select);
      } else {
        m_selection.clear();
      }
    }
    return;
  }
  if (active().key(*event)) {
    return;
  }
  if (event->modifiers() == Qt::NoModifier && setToolByKey(event->key())) {
    return;
  }
  QWidget::keyPressEvent(event);
}

bool CanvasView::setToolByKey(int key) {
  constexpr std::array<std::pair<int, ToolKind>, 5> kKeys{{{Qt::Key_V, ToolKind::select},
                                                           {Qt::Key_H, ToolKind::pan},
                                                           {Qt::Key_L, ToolKind::link},
                                                           {Qt::Key_B, ToolKind::box},
                                                           {Qt::Key_T, ToolKind::text}}};
  const auto found = std::find_if(kKeys.begin(), kKeys.end(), [key](const auto& each) { return each.first == key; });
  if (found == kKeys.end()) {
    return false;
  }
  setTool(found->second);
  return true;
}

void CanvasView::keyReleaseEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Space && !event->isAutoRepeat()) {
    const bool isTapped = m_isSpaceDown && !m_hasSpaceMoved;
    m_isSpaceDown = false;
    setCursor(active().cursor());
    if (isTapped) {
      Q_EMIT playWanted();
    }
    return;
  }
  QWidget::keyReleaseEvent(event);
}

void CanvasView::leaveEvent(QEvent*) {
  setHovered({});
}

void CanvasView::contextMenuEvent(QContextMenuEvent* event) {
  event->accept();
  // The button opens the menu on release, because it may also drag the view.
  if (event->reason() == QContextMenuEvent::Mouse) {
    return;
  }
  ElementId id = m_selection.current();
  if (!m_selection.contains(id)) {
    id = m_selection.isEmpty() ? ElementId() : *m_selection.elements().begin();
  }
  const QRectF rect = m_scene.rectOf(id);
  const QRect inside = this->rect().adjusted(8, 8, -8, -8);
  const QPoint place = rect.isNull() ? inside.center() : toView(rect.center()).toPoint();
  Q_EMIT contextMenuWanted(id, mapToGlobal(QPoint(std::clamp(place.x(), inside.left(), inside.right()),
                                                  std::clamp(place.y(), inside.top(), inside.bottom()))));
}

void CanvasView::dragEnterEvent(QDragEnterEvent* event) {
  if (m_drops.enter(*event)) {
    Q_EMIT hintChanged(tr("Release to place it · Alt: no snapping · Esc: cancel"));
  }
}

void CanvasView::dragMoveEvent(QDragMoveEvent* event) {
  m_drops.move(*event);
}

void CanvasView::dragLeaveEvent(QDragLeaveEvent*) {
  m_drops.leave();
  update();
  updateHint();
}

void CanvasView::dropEvent(QDropEvent* event) {
  if (m_drops.drop(*event)) {
    // The next keys are for what was dropped.
    setFocus(Qt::MouseFocusReason);
    updateHint();
  }
}

void CanvasView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::LanguageChange) {
    invalidateAll();
  }
  QWidget::changeEvent(event);
}

}  // namespace coppice::designer
