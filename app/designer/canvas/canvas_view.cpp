// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/canvas/canvas_view.hpp"

#include <QContextMenuEvent>
#include <QDataStream>
#include <QDragEnterEvent>
#include <QEasingCurve>
#include <QIODevice>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPaintEvent>
#include <QPainter>
#include <QWheelEvent>
#include <algorithm>
#include <array>
#include <cmath>

#include "designer/canvas/popups.hpp"
#include "designer/canvas/tools/tools.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/theme.hpp"

namespace coppice::designer {
namespace {

constexpr double kMinScale = 0.01;
constexpr double kMaxScale = 8;
constexpr double kMaxFitScale = 1.25;
constexpr double kReadScale = 0.6;
constexpr double kFitMargin = 36;  // pixels
constexpr double kHitReach = 6;    // pixels
constexpr double kLegendMargin = 14;
constexpr double kExportMargin = 40;  // scene units
constexpr int kMotionTime = 160;      // ms
constexpr int kPulseTime = 700;
constexpr int kMoveTime = 260;
constexpr std::size_t kMaxMoving = 2500;  // shapes and lines that are seen moving
constexpr double kFrameBudget = 6;        // ms for missing tiles while things move
constexpr std::size_t kDenseLines = 1500;
constexpr int kHurry = 140;                  // ms after a change of scale that count as zooming
constexpr int kRest = 120;                   // ms without a change after which links look for their ways
constexpr int kWaysPriority = 1;             // somebody looks at them
constexpr quint32 kStateMagic = 0x43565331;  // "CVS1"

}  // namespace

CanvasView::CanvasView(Document& document, Selection& selection, QWidget* parent)
    : QWidget(parent),
      m_document(document),
      m_selection(selection),
      m_scene(document.model(), Routing::later),
      m_waysJob(
          [this](FoundWays found) {
            if (const auto dirty = m_scene.takeWays(found.of, std::move(*found.ways))) {
              waysFound(*dirty);
            }
          },
          std::chrono::milliseconds(0), kWaysPriority) {
  setAttribute(Qt::WA_OpaquePaintEvent);
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Canvas"));
  setMinimumSize(120, 90);
  m_tools[ToolKind::select] = std::make_unique<SelectTool>(*this);
  m_tools[ToolKind::pan] = std::make_unique<PanTool>(*this);
  m_tools[ToolKind::link] = std::make_unique<LinkTool>(*this);
  m_tools[ToolKind::box] = std::make_unique<BoxTool>(*this);
  m_tools[ToolKind::text] = std::make_unique<NoteTool>(*this);
  m_tools[ToolKind::place] = std::make_unique<PlaceTool>(*this);
  m_lastSelection = selection.elements();

  connect(&m_document, &Document::changed, this, &CanvasView::documentChanged);
  connect(&m_selection, &Selection::changed, this, &CanvasView::selectionChanged);
  connect(&m_selection, &Selection::currentChanged, this, qOverload<>(&QWidget::update));
  connect(&Theme::instance(), &Theme::changed, this, [this] {
    m_tiles.clear();
    m_lastFrame = {};
    update();
  });
  m_waysTimer.setSingleShot(true);
  connect(&m_waysTimer, &QTimer::timeout, this, &CanvasView::orderWays);
  m_refine.setSingleShot(true);
  connect(&m_refine, &QTimer::timeout, this, qOverload<>(&QWidget::update));
  m_pulse.setStartValue(0.0);
  m_pulse.setEndValue(1.0);
  m_pulse.setDuration(kPulseTime);
  connect(&m_pulse, &QVariantAnimation::valueChanged, this, qOverload<>(&QWidget::update));
  m_move.setStartValue(0.0);
  m_move.setEndValue(1.0);
  m_move.setDuration(kMoveTime);
  m_move.setEasingCurve(QEasingCurve::InOutCubic);
  connect(&m_move, &QVariantAnimation::valueChanged, this, qOverload<>(&QWidget::update));
  connect(&m_move, &QVariantAnimation::finished, this, [this] {
    m_before.clear();
    update();
  });
  m_motion.setStartValue(0.0);
  m_motion.setEndValue(1.0);
  m_motion.setDuration(kMotionTime);
  m_motion.setEasingCurve(QEasingCurve::OutCubic);
}

CanvasView::~CanvasView() = default;

// ---- the document

void CanvasView::documentChanged(const ChangeEvent& event) {
  if (event.isReset) {
    active().leave();
    setHovered({});
  }
  const std::optional<Region> dirty = m_scene.follow(event);
  dropLayer();
  m_waysJob.cancel();
  m_waysTimer.start(kRest);
  if (m_hovered.isValid() && !m_document.model().contains(m_hovered)) {
    setHovered({});
  }
  if (!dirty) {
    // Dense drawings keep what was there until the new tiles are ready.
    m_moved.clear();
    m_tiles.invalidateAll();
    update();
  } else {
    for (const NodeId id : event.nodes.changed) {
      if (const auto at = m_scene.nodeAt(id); at && isDense()) {
        m_moved.insert(*at);
      }
    }
    invalidate(*dirty);
  }
  if (event.isReset && m_wasShown) {
    zoomToFit();
  }
  if (m_willFit) {
    m_willFit = false;
    // A new arrangement of everything has another shape; one of a part may lie elsewhere.
    if (event.isReset || event.nodes.changed.size() * 2 > m_document.model().nodes().size()) {
      zoomToFit();
    } else {
      zoomToFitIfLost();
    }
  }
  m_move.stop();
  if (m_willMove) {
    m_willMove = false;
    m_move.start();
  } else {
    m_before.clear();
  }
  updateHint();
  Q_EMIT viewChanged();
}

void CanvasView::orderWays() {
  // What nobody sees waits until somebody does.
  if (!isVisible()) {
    return;
  }
  m_orderedWays = m_scene.unrouted();
  if (m_orderedWays) {
    m_waysJob.submit([of = m_orderedWays](const std::stop_token& stop) {
      std::optional<Ways> ways = routedWays(*of, stop);
      return FoundWays{of, ways ? std::make_shared<Ways>(std::move(*ways)) : nullptr};
    });
  }
}

void CanvasView::waysFound(const Region& dirty) {
  m_orderedWays.reset();
  if (dirty.empty()) {
    return;
  }
  invalidate(dirty);
  // Where the view shows the whole drawing it goes on to: links may reach farther than when they ran straight.
  if (m_keepsFit && m_motion.state() != QAbstractAnimation::Running) {
    fitNow();
  }
  Q_EMIT viewChanged();
}

void CanvasView::finishWays() {
  m_waysJob.cancel();
  m_waysTimer.stop();
  const QRectF before = m_scene.bounds();
  if (m_scene.finishWays()) {
    waysFound({m_scene.bounds(), before});
  }
}

void CanvasView::animateNextMove() {
  m_before.clear();
  m_willFit = m_wasShown;
  m_willMove =
      Theme::instance().isAnimated() && isVisible() && m_scene.nodes().size() + m_scene.lines().size() <= kMaxMoving;
  if (m_willMove) {
    for (const NodeItem& node : m_scene.nodes()) {
      m_before[node.id] = node.rect.center();
    }
  }
}

void CanvasView::paintMoving(QPainter& painter) {
  const Colors& colors = Theme::instance().colors();
  const double share = m_move.currentValue().toDouble();
  std::vector<QRectF> rects;
  rects.reserve(m_scene.nodes().size());
  for (const NodeItem& node : m_scene.nodes()) {
    QRectF rect = node.rect;
    if (const auto before = m_before.find(node.id); before != m_before.end()) {
      rect.moveCenter(before->second + (rect.center() - before->second) * share);
    }
    rects.push_back(rect);
  }
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.translate(m_offset);
  painter.scale(m_scale, m_scale);
  painter.setBrush(Qt::NoBrush);
  for (const LineItem& line : m_scene.lines()) {
    painter.setPen(QPen(colors[Token::link], std::max(lineWidth(line.bandwidth), 0.8 / m_scale)));
    painter.drawLine(rects[line.a].center(), rects[line.b].center());
  }
  for (std::size_t i = 0; i < rects.size(); ++i) {
    const auto [fill, ink] = tokensOf(m_scene.nodes()[i].shape);
    painter.setPen(QPen(colors[ink], std::max(1.8, 0.8 / m_scale)));
    painter.setBrush(colors[fill]);
    const double radius = std::min({12.0, rects[i].height() / 2, rects[i].width() / 2});
    painter.drawRoundedRect(rects[i], radius, radius);
  }
  painter.restore();
}

void CanvasView::zoomToFitIfLost() {
  // A new arrangement that lies mostly elsewhere would be a blank sheet.
  const QRectF all = m_scene.bounds();
  const QRectF seen = visibleScene();
  const QRectF both = all & seen;
  if (both.width() * both.height() < 0.5 * std::min(all.width() * all.height(), seen.width() * seen.height())) {
    zoomToFit();
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
}

void CanvasView::invalidate(const Region& dirty) {
  // Room for rims, glows and titles that reach out of the shapes.
  constexpr double kReach = 26;
  const double margin = 12 + kReach / m_scale;
  const double pixels = m_scale * devicePixelRatioF();
  constexpr double kMost = 1e8;
  for (const QRectF& each : dirty) {
    const QRectF rect = each.adjusted(-margin, -margin, margin, margin);
    m_tiles.invalidate(
        QRectF(QPointF(std::clamp(rect.left() * pixels, -kMost, kMost), std::clamp(rect.top() * pixels, -kMost, kMost)),
               QPointF(std::clamp(rect.right() * pixels, -kMost, kMost),
                       std::clamp(rect.bottom() * pixels, -kMost, kMost)))
            .toAlignedRect());
  }
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
  m_tiles.invalidateAll();
  update();
  // Who sees the whole drawing goes on to, beside a legend that has come.
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

void CanvasView::setProblems(std::map<ElementId, Severity> problems) {
  if (problems != m_problems) {
    m_problems = std::move(problems);
    m_tiles.invalidateAll();
    update();
  }
}

void CanvasView::setGridShown(bool isShown) {
  m_hasGrid = isShown;
  m_tiles.invalidateAll();
  update();
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
  m_drops = std::move(drops);
  setAcceptDrops(m_drops.partOf != nullptr);
}

void CanvasView::dragEnterEvent(QDragEnterEvent* event) {
  // What is not taken here the window may take.
  event->ignore();
  if (std::optional<Model> part = m_drops.partOf(*event->mimeData())) {
    m_dragged = std::make_unique<PlaceTool>(*this);
    m_dragged->setPart(std::move(*part), {});
    event->acceptProposedAction();
    Q_EMIT hintChanged(tr("Release to place it · Alt: no snapping · Esc: cancel"));
  }
}

void CanvasView::dragMoveEvent(QDragMoveEvent* event) {
  event->setAccepted(m_dragged != nullptr);
  if (m_dragged != nullptr) {
    m_dragged->show({toScene(event->position()), event->position(), Qt::NoButton, event->modifiers()});
  }
}

void CanvasView::dragLeaveEvent(QDragLeaveEvent*) {
  m_dragged.reset();
  update();
  updateHint();
}

void CanvasView::dropEvent(QDropEvent* event) {
  event->setAccepted(m_dragged != nullptr);
  if (m_dragged != nullptr) {
    const QPointF centre =
        m_dragged->show({toScene(event->position()), event->position(), Qt::NoButton, event->modifiers()});
    m_dragged.reset();
    event->acceptProposedAction();
    m_drops.dropped(*event->mimeData(), centre);
    // The next keys are for what was dropped.
    setFocus(Qt::MouseFocusReason);
    updateHint();
  }
}

void CanvasView::updateHint() {
  Q_EMIT hintChanged(active().hint());
}

ElementId CanvasView::hit(const QPointF& scenePoint) const {
  return m_scene.hit(scenePoint, kHitReach / m_scale);
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
  const QRectF start = m_scene.rectOf(m_selection.current());
  const QPointF from = start.isNull() ? visibleScene().center() : start.center();
  double best = 0;
  ElementId target;
  for (const NodeItem& node : m_scene.nodes()) {
    if (node.id == m_selection.current() || (nodesOnly && node.id.kind != ElementKind::node)) {
      continue;
    }
    const QPointF to = node.rect.center() - from;
    const double along = QPointF::dotProduct(to, direction);
    const double across = std::abs(to.x() * direction.y() - to.y() * direction.x());
    if (along <= 1 && !start.isNull()) {
      continue;
    }
    // What lies straight ahead counts as nearer.
    const double cost = std::hypot(along, 2 * across);
    if (!target.isValid() || cost < best) {
      best = cost;
      target = node.id;
    }
  }
  if (target.isValid()) {
    m_selection.setCurrent(target);
    const QRectF rect = m_scene.rectOf(target);
    if (!visibleScene().contains(rect)) {
      centreOn(rect.center());
    }
  }
}

void CanvasView::stepCursor(int by, bool nodesOnly) {
  std::vector<ElementId> all;
  for (const NodeItem& node : m_scene.nodes()) {
    if (!nodesOnly || node.id.kind == ElementKind::node) {
      all.push_back(node.id);
    }
  }
  if (all.empty()) {
    return;
  }
  const auto found = std::find(all.begin(), all.end(), m_selection.current());
  const auto count = static_cast<std::ptrdiff_t>(all.size());
  const std::ptrdiff_t at =
      found == all.end() ? (by > 0 ? 0 : count - 1) : ((found - all.begin()) + by + count) % count;
  const ElementId target = all[static_cast<std::size_t>(at)];
  m_selection.setCurrent(target);
  if (!visibleScene().contains(m_scene.rectOf(target))) {
    centreOn(m_scene.rectOf(target).center());
  }
}

// ---- small editors on the canvas

void CanvasView::openPopup(QWidget* popup, const QPointF& scenePoint) {
  delete m_popup;
  m_popup = popup;
  popup->adjustSize();
  const QPointF place = toView(scenePoint);
  popup->move(std::clamp(qRound(place.x()) - popup->width() / 2, 4, std::max(4, width() - popup->width() - 4)),
              std::clamp(qRound(place.y()) + 12, 4, std::max(4, height() - popup->height() - 4)));
  popup->show();
  popup->setFocus();
}

void CanvasView::askBandwidth(const QPointF& scenePoint, const QString& initial,
                              std::function<void(const std::string&)> done) {
  openPopup(new BandwidthPopup(initial, std::move(done), this), scenePoint);
}

void CanvasView::editBandwidth(std::vector<LinkId> links) {
  const Link* first = m_document.model().find(links.front());
  const LineItem* line = m_scene.line(links.front());
  if (first == nullptr || line == nullptr) {
    return;
  }
  askBandwidth(line->curve.at(0.5), QString::fromStdString(first->bandwidth),
               [this, links = std::move(links)](const std::string& text) {
                 m_document.edit(tr("Change bandwidth"), [&](Edit& edit) {
                   edits::changeLinks(edit, links, [&](Link& link) { link.bandwidth = text; });
                 });
               });
}

void CanvasView::askName(const QPointF& scenePoint, const QString& initial,
                         std::function<QString(const QString&)> fault, std::function<void(const QString&)> done) {
  openPopup(new NamePopup(initial, std::move(fault), std::move(done), this), scenePoint);
}

void CanvasView::askPattern(const QPointF& scenePoint, std::function<void(edits::LinkPattern)> done) {
  openPopup(new PatternPopup(std::move(done), this), scenePoint);
}

void CanvasView::askText(const QPointF& scenePoint, const QString& initial, std::function<void(const QString&)> done) {
  openPopup(new TextPopup(initial, std::move(done), this), scenePoint);
}

// ---- the view

QRectF CanvasView::visibleScene() const {
  return {toScene({0, 0}), QSizeF(size()) / m_scale};
}

QPointF CanvasView::wholePixels(const QPointF& offset) const {
  // Of the device, so that tiles are copied as they are.
  const double ratio = devicePixelRatioF();
  return {std::round(offset.x() * ratio) / ratio, std::round(offset.y() * ratio) / ratio};
}

void CanvasView::setView(double scale, const QPointF& offset) {
  const double ratio = devicePixelRatioF();
  scale = std::clamp(scale, kMinScale, kMaxScale);
  const QPointF whole = wholePixels(offset);
  if (scale != m_scale) {
    if (m_wasShown && width() > 0 && (m_lastFrame.isNull() || m_tiles.size() > 0)) {
      // What is seen now stands in, stretched, for what is not drawn yet.
      QImage frame(size() * ratio, QImage::Format_RGB32);
      frame.setDevicePixelRatio(ratio);
      QPainter painter(&frame);
      painter.fillRect(rect(), Theme::instance().color(Token::canvas));
      if (!m_lastFrame.isNull()) {
        const double grown = m_scale / m_lastScale;
        const QPointF at = m_offset - m_lastOffset * grown;
        painter.drawImage(QRectF(at, QSizeF(size()) * grown), m_lastFrame);
      }
      const QRect pixels(QPoint(-qRound(m_offset.x() * ratio), -qRound(m_offset.y() * ratio)), size() * ratio);
      m_tiles.paint(painter, pixels, ratio, 0.0, [](QPainter&, const QRect&) { return PaintSteps(); });
      painter.end();
      m_lastFrame = frame;
      m_lastScale = m_scale;
      m_lastOffset = m_offset;
    }
    m_tiles.clear();
    m_sinceZoom.start();
    m_scale = scale;
    m_offset = whole;
    Q_EMIT zoomChanged(m_scale);
  } else {
    m_offset = whole;
  }
  update();
  Q_EMIT viewChanged();
}

void CanvasView::animateTo(double scale, const QPointF& offset) {
  m_motion.stop();
  disconnect(&m_motion, nullptr, this, nullptr);
  if (!Theme::instance().isAnimated() || !isVisible()) {
    setView(scale, offset);
    return;
  }
  // The scale grows evenly in its logarithm, about the point that both views share.
  const double from = m_scale;
  const QPointF middle(width() / 2.0, height() / 2.0);
  const QPointF centreFrom = toScene(middle);
  const QPointF centreTo = (middle - offset) / scale;
  connect(&m_motion, &QVariantAnimation::valueChanged, this, [=, this](const QVariant& value) {
    const double share = value.toDouble();
    const double now = share >= 1 ? scale : from * std::pow(scale / from, share);
    const double way = std::abs(scale - from) < 1e-9 ? share : (1 / now - 1 / from) / (1 / scale - 1 / from);
    const QPointF centre = centreFrom + (centreTo - centreFrom) * way;
    setView(now, share >= 1 ? offset : middle - centre * now);
  });
  m_motion.start();
}

void CanvasView::viewFor(const QRectF& sceneRect, double maxScale, double* scale, QPointF* offset, double strip) const {
  const double w = std::max(1.0, sceneRect.width());
  const double h = std::max(1.0, sceneRect.height());
  *scale = std::clamp(
      std::min(std::max(8.0, width() - strip - 2 * kFitMargin) / w, std::max(8.0, height() - 2 * kFitMargin) / h),
      kMinScale, maxScale);
  *offset = QPointF((width() - strip) / 2.0, height() / 2.0) - sceneRect.center() * *scale;
}

void CanvasView::setZoom(double zoom) {
  zoomAbout(zoom, QPointF(width() / 2.0, height() / 2.0));
}

void CanvasView::zoomAbout(double zoom, const QPointF& viewPoint) {
  m_keepsFit = false;
  const double scale = std::clamp(zoom, kMinScale, kMaxScale);
  const QPointF fixed = toScene(viewPoint);
  setView(scale, viewPoint - fixed * scale);
}

std::pair<double, QPointF> CanvasView::fit() const {
  double scale = 1;
  QPointF offset;
  const QRectF all = m_scene.bounds();
  viewFor(all.isNull() ? QRectF(-200, -150, 400, 300) : all, kMaxFitScale, &scale, &offset);
  // A legend that finds no free place gets one beside the drawing.
  const QSizeF legend = legendSize();
  if (!legend.isEmpty() && legend.width() < width() / 3.0 && legendPlace(legend, scale, offset).covered[0] > 0) {
    viewFor(all, kMaxFitScale, &scale, &offset, legend.width() + kLegendMargin);
  }
  return {scale, wholePixels(offset)};
}

QSizeF CanvasView::legendSize() const {
  CanvasState state;
  state.layer = layer();
  return CanvasPainter(m_scene, Theme::instance().colors(), state).legendSize();
}

CanvasView::LegendPlace CanvasView::legendPlace(const QSizeF& legend, double scale, const QPointF& offset) const {
  const double left = kLegendMargin + legend.width();
  const double right = width() - kLegendMargin;
  const double top = kLegendMargin;
  const double bottom = std::max(top, height() - kLegendMargin - legend.height());
  const double middle = std::max(top, (height() - legend.height()) / 2.0);
  std::optional<LegendPlace> best;
  std::vector<std::uint32_t> near;
  for (const QPointF& corner : {QPointF(right, top), QPointF(left, top), QPointF(right, bottom), QPointF(left, bottom),
                                QPointF(right, middle), QPointF(left, middle)}) {
    const QRectF onView = QRectF(corner - QPointF(legend.width(), 0), legend).adjusted(-6, -6, 6, 6);
    const QRectF rect((onView.topLeft() - offset) / scale, onView.size() / scale);
    LegendPlace place{corner, {}};
    m_scene.nodesIn(rect, near);
    place.covered[0] = static_cast<std::size_t>(std::count_if(
        near.begin(), near.end(), [&](std::uint32_t at) { return m_scene.nodes()[at].rect.intersects(rect); }));
    // A box that fills the view is everywhere.
    const QRectF seen(-offset / scale, QSizeF(size()) / scale);
    place.covered[1] =
        static_cast<std::size_t>(std::count_if(m_scene.boxes().begin(), m_scene.boxes().end(), [&](const BoxItem& box) {
          return box.rect.intersects(rect) && !box.rect.contains(seen);
        }));
    m_scene.linesIn(rect, near);
    place.covered[2] = static_cast<std::size_t>(std::count_if(
        near.begin(), near.end(), [&](std::uint32_t at) { return m_scene.lines()[at].curve.meets(rect); }));
    if (!best || place.covered < best->covered) {
      best = place;
    }
    if (best->covered == std::array<std::size_t, 3>{}) {
      break;
    }
  }
  return *best;
}

QPointF CanvasView::legendCorner() const {
  return legendPlace(legendSize(), m_scale, m_offset).corner;
}

void CanvasView::fitNow() {
  m_keepsFit = true;
  const auto [scale, offset] = fit();
  setView(scale, offset);
}

void CanvasView::zoomToFit() {
  m_keepsFit = true;
  const auto [scale, offset] = fit();
  animateTo(scale, offset);
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
  double scale = 1;
  QPointF offset;
  viewFor(rect.adjusted(-40, -40, 40, 40), kMaxFitScale, &scale, &offset);
  m_keepsFit = false;
  animateTo(scale, offset);
}

void CanvasView::centreOn(const ElementId& id) {
  const QRectF rect = m_scene.rectOf(id);
  if (rect.isNull() && !m_document.model().contains(id)) {
    return;
  }
  double fit = 1;
  QPointF offset;
  viewFor(rect, kMaxFitScale, &fit, &offset);
  const double scale = std::min(fit, std::max(m_scale, kReadScale));
  m_keepsFit = false;
  animateTo(scale, QPointF(width() / 2.0, height() / 2.0) - rect.center() * scale);
  m_pulsing = id;
  m_pulse.stop();
  if (Theme::instance().isAnimated()) {
    m_pulse.start();
  }
}

bool CanvasView::isInView(const ElementId& id) const {
  const QRectF rect = m_scene.rectOf(id);
  const QRectF seen = visibleScene();
  // A line that stands upright has no width.
  return rect.left() >= seen.left() && rect.right() <= seen.right() && rect.top() >= seen.top() &&
         rect.bottom() <= seen.bottom();
}

void CanvasView::centreOn(const QPointF& scenePoint) {
  m_keepsFit = false;
  animateTo(m_scale, QPointF(width() / 2.0, height() / 2.0) - scenePoint * m_scale);
}

void CanvasView::panBy(const QPointF& pixels) {
  m_keepsFit = false;
  setView(m_scale, m_offset + pixels);
}

QByteArray CanvasView::viewState() const {
  QByteArray bytes;
  QDataStream stream(&bytes, QIODevice::WriteOnly);
  const QPointF centre = toScene(QPointF(width() / 2.0, height() / 2.0));
  stream << kStateMagic << m_scale << centre.x() << centre.y() << m_keepsFit;
  return bytes;
}

void CanvasView::setViewState(const QByteArray& state) {
  QDataStream stream(state);
  quint32 magic = 0;
  double scale = 0;
  double x = 0;
  double y = 0;
  stream >> magic >> scale >> x >> y;
  constexpr double kMost = 1e9;
  if (stream.status() != QDataStream::Ok || magic != kStateMagic || !(scale >= kMinScale && scale <= kMaxScale) ||
      !(std::abs(x) < kMost && std::abs(y) < kMost)) {
    return;
  }
  m_wasShown = true;
  // States of before end here.
  bool keepsFit = false;
  stream >> keepsFit;
  if (keepsFit && stream.status() == QDataStream::Ok) {
    fitNow();
    return;
  }
  m_keepsFit = false;
  setView(scale, QPointF(width() / 2.0, height() / 2.0) - QPointF(x, y) * scale);
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

CanvasState CanvasView::stateOf() const {
  CanvasState state;
  state.selection = &m_selection.elements();
  state.problems = &m_problems;
  state.layer = layer();
  state.hasGrid = m_hasGrid;
  return state;
}

bool CanvasView::isDense() const {
  return m_scene.lines().size() > kDenseLines;
}

std::optional<double> CanvasView::budget() const {
  if (!isDense() || m_willComplete) {
    return std::nullopt;
  }
  // While the scale changes nothing drawn for it would last; else a little in each frame. What stands in, or is out of
  // date, is seen until all is drawn.
  const bool isZooming = m_sinceZoom.isValid() && m_sinceZoom.elapsed() < kHurry && !m_lastFrame.isNull();
  return isZooming ? 0.0 : kFrameBudget;
}

void CanvasView::complete() {
  m_sinceZoom.invalidate();
  m_lastFrame = {};
  m_motion.stop();
  finishWays();
  m_willComplete = true;  // also where it is painted later, by grab() of a hidden window
  repaint();
}

void CanvasView::paintEvent(QPaintEvent*) {
  if (!m_wasShown) {
    m_wasShown = true;
    m_tiles.clear();
    fitNow();
    m_sinceZoom.invalidate();
  }
  QPainter painter(this);
  const double ratio = devicePixelRatioF();
  const Theme& theme = Theme::instance();
  painter.fillRect(rect(), theme.color(Token::canvas));
  if (m_move.state() == QAbstractAnimation::Running) {
    paintMoving(painter);
    return;
  }
  const std::optional<double> allowed = budget();
  m_willComplete = false;
  if (!m_lastFrame.isNull() && allowed) {
    const double grown = m_scale / m_lastScale;
    painter.drawImage(QRectF(m_offset - m_lastOffset * grown, QSizeF(size()) * grown), m_lastFrame);
  }
  const Detail detail = detailAt(m_scale, m_scene.lines().size(), m_scene.bounds());
  const double pixels = m_scale * ratio;
  const QRect part(QPoint(-qRound(m_offset.x() * ratio), -qRound(m_offset.y() * ratio)), size() * ratio);
  const bool isComplete = m_tiles.paint(painter, part, ratio, allowed, [&](QPainter& onTile, const QRect& tile) {
    onTile.translate(-tile.topLeft());
    onTile.scale(pixels, pixels);
    const auto canvas = std::make_shared<CanvasPainter>(m_scene, theme.colors(), stateOf());
    PaintSteps work =
        canvas->steps(QRectF(QPointF(tile.topLeft()) / pixels, QSizeF(tile.size()) / pixels), m_scale, detail);
    work.keeps = canvas;
    return work;
  });
  if (isComplete) {
    m_lastFrame = {};
    m_moved.clear();
  } else {
    m_refine.start(allowed == 0.0 ? kHurry : 0);
    paintMoved(painter, detail);
  }
  paintLive(painter);
  if (!m_scene.isRouted() && !m_waysTimer.isActive() && m_orderedWays != m_scene.unrouted()) {
    m_waysTimer.start(0);
  }
}

void CanvasView::paintMoved(QPainter& painter, Detail detail) {
  constexpr std::size_t kMost = 400;
  std::set<std::uint32_t> lines;
  for (const std::uint32_t at : m_moved) {
    const std::vector<std::uint32_t>& some = m_scene.nodes()[at].lines;
    lines.insert(some.begin(), some.end());
    if (lines.size() > kMost) {
      lines.clear();
      break;
    }
  }
  if (m_moved.empty() || m_moved.size() > kMost) {
    return;
  }
  painter.save();
  painter.translate(m_offset);
  painter.scale(m_scale, m_scale);
  CanvasPainter(m_scene, Theme::instance().colors(), stateOf())
      .paintSome(painter, {lines.begin(), lines.end()}, {m_moved.begin(), m_moved.end()}, m_scale, detail);
  painter.restore();
}

void CanvasView::paintLive(QPainter& painter) {
  const Colors& colors = Theme::instance().colors();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.save();
  painter.translate(m_offset);
  painter.scale(m_scale, m_scale);
  const auto px = [this](double pixels) { return pixels / m_scale; };
  const auto outline = [&](const ElementId& id, double out, const QPen& pen) {
    painter.setPen(pen);
    painter.setBrush(Qt::NoBrush);
    if (const LineItem* line = m_scene.line(id.link())) {
      QPen wide = pen;
      wide.setWidthF(lineWidth(line->bandwidth) + pen.widthF());
      painter.setPen(wide);
      painter.drawPath(line->curve.path());
      return;
    }
    const QRectF rect = m_scene.rectOf(id);
    if (!rect.isNull()) {
      const double radius = std::min(14.0, rect.height() / 2) + out;
      painter.drawRoundedRect(rect.adjusted(-out, -out, out, out), radius, radius);
    }
  };
  if (m_hovered.isValid() && m_overlay.isEmpty() && !m_selection.contains(m_hovered)) {
    outline(m_hovered, px(3), QPen(mixed(colors[Token::canvas], colors[Token::accent], 0.6), px(1.5)));
  }
  if (const LineItem* line = m_scene.line(m_hovered.link())) {
    painter.save();
    painter.resetTransform();
    painter.setFont(uiFont(11.5, QFont::DemiBold));
    const QRectF words = painter.fontMetrics().boundingRect(line->label);
    QRectF rect(0, 0, words.width() + 18, 22);
    rect.moveCenter(toView(line->curve.at(0.5)));
    painter.setPen(QPen(colors[Token::line], 1));
    painter.setBrush(colors[Token::panel]);
    painter.drawRoundedRect(rect, 11, 11);
    painter.setPen(colors[Token::text]);
    painter.drawText(rect, Qt::AlignCenter, line->label);
    if (m_hoverNote) {
      paintHoverNote(painter, rect.center());
    }
    painter.restore();
  }
  if (hasFocus() && m_selection.current().isValid()) {
    QPen pen(colors[Token::accent], px(1.5));
    pen.setDashPattern({1.5, 2});
    outline(m_selection.current(), px(6), pen);
  }
  if (m_pulse.state() == QAbstractAnimation::Running) {
    const double share = m_pulse.currentValue().toDouble();
    QColor color = colors[Token::accent];
    color.setAlphaF(static_cast<float>(1 - share));
    outline(m_pulsing, px(4 + 22 * share), QPen(color, px(3)));
  }
  (m_dragged != nullptr ? *m_dragged : active()).paint(painter);
  CanvasPainter canvas(m_scene, colors, stateOf());
  canvas.paintHullLabels(painter, visibleScene(), m_scale);
  painter.restore();
  if (!canvas.legendSize().isEmpty()) {
    canvas.paintLegend(painter, legendCorner());
  }
}

void CanvasView::paintHoverNote(QPainter& painter, const QPointF& place) const {
  constexpr double kRow = 19;
  constexpr double kPadding = 10;
  constexpr double kColumnGap = 18;
  constexpr double kAway = 18;
  const QFont head = uiFont(11.5, QFont::DemiBold);
  const QFont name = uiFont(11.5);
  const QFont figure = figureFont(11);
  double names = 0;
  double figures = 0;
  for (const auto& [left, right] : m_hoverNote->rows) {
    names = std::max(names, QFontMetricsF(name).horizontalAdvance(left));
    figures = std::max(figures, right.isEmpty() ? 0.0 : QFontMetricsF(figure).horizontalAdvance(right) + kColumnGap);
  }
  const QSizeF size(std::max(names + figures, QFontMetricsF(head).horizontalAdvance(m_hoverNote->title)) + 2 * kPadding,
                    kRow * static_cast<double>(m_hoverNote->rows.size() + 1) + kPadding);
  QRectF frame(QPointF(place.x() - size.width() / 2, place.y() + kAway), size);
  if (frame.bottom() > height() - 4) {
    frame.moveBottom(place.y() - kAway);
  }
  frame.moveLeft(std::clamp(frame.left(), 4.0, std::max(4.0, width() - size.width() - 4)));
  frame.moveTop(std::max(4.0, frame.top()));
  const Colors& colors = Theme::instance().colors();
  painter.setPen(QPen(colors[Token::line], 1));
  painter.setBrush(colors[Token::panel]);
  painter.drawRoundedRect(frame, 8, 8);
  QRectF row(frame.left() + kPadding, frame.top() + kPadding / 2, size.width() - 2 * kPadding, kRow);
  painter.setFont(head);
  painter.setPen(colors[Token::text]);
  painter.drawText(row, Qt::AlignLeft | Qt::AlignVCenter, m_hoverNote->title);
  for (const auto& [left, right] : m_hoverNote->rows) {
    row.translate(0, kRow);
    painter.setFont(name);
    painter.setPen(colors[Token::muted]);
    painter.drawText(row, Qt::AlignLeft | Qt::AlignVCenter, left);
    painter.setFont(figure);
    painter.setPen(colors[Token::text]);
    painter.drawText(row, Qt::AlignRight | Qt::AlignVCenter, right);
  }
}

QRectF CanvasView::exportRect(const RenderOptions& options, double scale) {
  finishWays();
  if (options.isSelectionOnly) {
    QRectF rect;
    for (const ElementId& id : m_selection.elements()) {
      rect |= m_scene.rectOf(id);
    }
    return rect.adjusted(-kExportMargin, -kExportMargin, kExportMargin, kExportMargin);
  }
  const QRectF rect = m_scene.bounds().adjusted(-kExportMargin, -kExportMargin, kExportMargin, kExportMargin);
  const Detail detail = options.detail.value_or(detailAt(scale, m_scene.lines().size(), m_scene.bounds()));
  const double margin = 6 / scale;
  QRectF titles;
  for (const QRectF& title : CanvasPainter(m_scene, colorsOf(options.scheme), {}).titleRects(scale, detail)) {
    titles |= title;
  }
  return titles.isNull() ? rect : rect | titles.adjusted(-margin, -margin, margin, margin);
}

void CanvasView::renderTo(QPainter& painter, const QRectF& target, const RenderOptions& options, QRectF source) {
  finishWays();
  if (source.isNull() && !target.isEmpty()) {
    source = exportRect(options);
    // Titles take the more of the scene the smaller it is drawn.
    for (int i = 0; i < 3 && !source.isEmpty(); ++i) {
      source = exportRect(options, std::min(target.width() / source.width(), target.height() / source.height()));
    }
  }
  if (source.isEmpty() || target.isEmpty()) {
    return;
  }
  const Colors& colors = colorsOf(options.scheme);
  const double scale = std::min(target.width() / source.width(), target.height() / source.height());
  CanvasState state;
  state.problems = &m_problems;
  state.layer = layer();
  state.hasGrid = options.hasGrid;
  state.hasBackground = false;
  std::set<ElementId> only;
  if (options.isSelectionOnly) {
    only = m_selection.elements();
    // A selected box brings what is in it, two selected nodes bring what runs between them.
    for (const BoxId id : m_selection.boxes()) {
      for (const NodeId node : m_document.model().allNodesIn(id)) {
        only.insert(node);
      }
      for (const BoxId inner : m_document.model().allBoxesIn(id)) {
        only.insert(inner);
      }
    }
    for (const LineItem& line : m_scene.lines()) {
      if (only.contains(m_scene.nodes()[line.a].id) && only.contains(m_scene.nodes()[line.b].id)) {
        only.insert(line.links.begin(), line.links.end());
      }
    }
    state.only = &only;
  }
  painter.save();
  painter.setClipRect(target, Qt::IntersectClip);
  if (!options.isTransparent) {
    painter.fillRect(target, colors[Token::canvas]);
  }
  painter.save();
  painter.translate(target.center());
  painter.scale(scale, scale);
  painter.translate(-source.center());
  Detail detail = options.detail.value_or(detailAt(scale, m_scene.lines().size(), m_scene.bounds()));
  if (!options.detail && detail == Detail::far) {
    detail = Detail::mid;
  }
  CanvasPainter canvas(m_scene, colors, state);
  canvas.paint(painter, source, scale, detail);
  canvas.paintHullLabels(painter, source, scale);
  painter.restore();
  if (options.hasLegend) {
    canvas.paintLegend(painter, target.topRight() + QPointF(-12, 12));
  }
  painter.restore();
}

// ---- events

CanvasPoint CanvasView::pointOf(const QMouseEvent& event) const {
  return {toScene(event.position()), event.position(), event.button(), event.modifiers()};
}

bool CanvasView::event(QEvent* event) {
  // Tab walks over the drawing while links are made by keys; else it leaves the canvas as from any widget.
  if (event->type() == QEvent::KeyPress && m_kind == ToolKind::link) {
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
    m_motion.stop();
    fitNow();
  }
  Q_EMIT viewChanged();
}

void CanvasView::mousePressEvent(QMouseEvent* event) {
  setFocus(Qt::MouseFocusReason);
  delete m_popup;
  m_hasPanned = false;
  const CanvasPoint point = pointOf(*event);
  const bool isEmpty = !hit(point.scene).isValid();
  if (event->button() == Qt::MiddleButton || (event->button() == Qt::LeftButton && m_isSpaceDown) ||
      (event->button() == Qt::RightButton && isEmpty)) {
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
    const QPointF way = event->position() - *m_panFrom;
    if (!m_hasPanned && event->buttons().testFlag(Qt::RightButton) && way.manhattanLength() < 4) {
      return;
    }
    m_hasPanned = true;
    setCursor(Qt::ClosedHandCursor);
    panBy(way);
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
  m_motion.stop();
  if (!event->pixelDelta().isNull() && !event->modifiers().testFlag(Qt::ControlModifier)) {
    panBy(event->pixelDelta());
  } else if (event->modifiers().testFlag(Qt::ShiftModifier)) {
    panBy(QPointF(event->angleDelta().y(), event->angleDelta().x()) / 2);
  } else {
    zoomAbout(m_scale * std::pow(1.2, event->angleDelta().y() / 120.0), event->position());
  }
  event->accept();
}

void CanvasView::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Space && event->modifiers() == Qt::NoModifier) {
    if (!event->isAutoRepeat()) {
      m_isSpaceDown = true;
      setCursor(Qt::OpenHandCursor);
    }
    return;
  }
  if (event->key() == Qt::Key_Escape) {
    // One step: a popup, what the tool is about, the tool, the selection.
    if (m_popup != nullptr) {
      delete m_popup;
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
  if (event->modifiers() == Qt::NoModifier) {
    constexpr std::array<std::pair<int, ToolKind>, 5> kKeys{{{Qt::Key_V, ToolKind::select},
                                                             {Qt::Key_H, ToolKind::pan},
                                                             {Qt::Key_L, ToolKind::link},
                                                             {Qt::Key_B, ToolKind::box},
                                                             {Qt::Key_T, ToolKind::text}}};
    for (const auto& [key, kind] : kKeys) {
      if (event->key() == key) {
        setTool(kind);
        return;
      }
    }
  }
  QWidget::keyPressEvent(event);
}

void CanvasView::keyReleaseEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Space && !event->isAutoRepeat()) {
    m_isSpaceDown = false;
    setCursor(active().cursor());
    return;
  }
  QWidget::keyReleaseEvent(event);
}

void CanvasView::leaveEvent(QEvent*) {
  setHovered({});
}

void CanvasView::contextMenuEvent(QContextMenuEvent* event) {
  event->accept();
  // A button opens the menu when it is let go, as it may also drag the view.
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

void CanvasView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::LanguageChange) {
    m_tiles.invalidateAll();
    update();
  }
  QWidget::changeEvent(event);
}

}  // namespace coppice::designer
