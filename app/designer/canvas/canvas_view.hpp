// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QByteArray>
#include <QElapsedTimer>
#include <QPointer>
#include <QTimer>
#include <QVariantAnimation>
#include <QWidget>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "designer/canvas/canvas_painter.hpp"
#include "designer/canvas/canvas_scene.hpp"
#include "designer/canvas/overlay.hpp"
#include "designer/canvas/tile_cache.hpp"
#include "designer/canvas/tools/tool.hpp"
#include "designer/document/document.hpp"
#include "designer/document/edits.hpp"
#include "designer/document/selection.hpp"
#include "designer/jobs/latest_job.hpp"

class QMimeData;

namespace coppice::designer {

class PlaceTool;

enum class ToolKind { select, pan, link, box, text, place };

struct RenderOptions {
  Scheme scheme = Scheme::light;
  bool hasGrid = false;
  bool isTransparent = false;
  bool hasLegend = true;
  bool isSelectionOnly = false;
  /// Absent: as the scale of the target asks for, never less than `mid`.
  std::optional<Detail> detail = {};
};

/// What is told beside the thing under the pointer.
struct HoverNote {
  QString title;
  std::vector<std::pair<QString, QString>> rows;  ///< a name, and a figure
};

/// What may be dropped on a canvas.
struct PartDrops {
  /// What is carried, as a part; nullopt: nothing for a canvas.
  std::function<std::optional<Model>(const QMimeData&)> partOf;
  /// It was let go with the middle of the part at the place, scene units.
  std::function<void(const QMimeData&, const QPointF& centre)> dropped;
};

/// The drawing surface of one document. Shows the model through a CanvasScene, and hands pointer and keys to a tool;
/// every change goes through the document as a command.
class CanvasView : public QWidget {
  Q_OBJECT

public:
  /// Both must outlive the view.
  CanvasView(Document& document, Selection& selection, QWidget* parent = nullptr);
  ~CanvasView() override;

  [[nodiscard]] Document& document() { return m_document; }
  [[nodiscard]] Selection& selection() { return m_selection; }
  [[nodiscard]] const CanvasScene& scene() const { return m_scene; }

  void setTool(ToolKind kind);
  [[nodiscard]] ToolKind tool() const { return m_kind; }
  /// The place tool with a device, or with a fabric to insert (a template, a paste).
  void startPlacing(fabric::NodeKind kind);
  void startPlacing(Model part, const QString& name);
  /// From now on such things can be dragged over the canvas, which shows a ghost of them, and dropped.
  void setPartDrops(PartDrops drops);
  /// What new links are like; the last one typed.
  [[nodiscard]] const edits::LinkTemplate& linkTemplate() const { return m_linkTemplate; }
  void setLinkTemplate(edits::LinkTemplate link) { m_linkTemplate = std::move(link); }

  /// Pixels of 1x to a scene unit; 1 = 100 %.
  [[nodiscard]] double zoom() const { return m_scale; }
  /// About the middle of the view, or the point of the widget.
  void setZoom(double zoom);
  void zoomAbout(double zoom, const QPointF& viewPoint);
  void zoomToFit();
  void zoomToSelection();
  /// The whole drawing is shown, and stays so when the size of the view changes, until somebody zooms or pans.
  [[nodiscard]] bool keepsFit() const { return m_keepsFit; }
  /// Brings it into the middle, at a scale where it can be read, with a pulse.
  void centreOn(const ElementId& id);
  void centreOn(const QPointF& scenePoint);
  /// All of it is to be seen.
  [[nodiscard]] bool isInView(const ElementId& id) const;
  [[nodiscard]] QByteArray viewState() const;
  /// Anything but a state of viewState() is passed over.
  void setViewState(const QByteArray& state);
  [[nodiscard]] QPointF toScene(const QPointF& view) const { return (view - m_offset) / m_scale; }
  [[nodiscard]] QPointF toView(const QPointF& scene) const { return scene * m_scale + m_offset; }
  /// Visible area, scene units.
  [[nodiscard]] QRectF visibleScene() const;

  /// What is drawn over the fabric from now on, in place of what was there before.
  void setOverlay(Overlay overlay);
  [[nodiscard]] const Overlay& overlay() const { return m_overlay; }
  /// Shown while the pointer stays on the element; nothing where it has left already.
  void setHoverNote(const ElementId& of, HoverNote note);
  [[nodiscard]] const std::optional<HoverNote>& hoverNote() const { return m_hoverNote; }
  void setProblems(std::map<ElementId, Severity> problems);
  void setSnapping(bool isSnapping) { m_isSnapping = isSnapping; }
  [[nodiscard]] bool isSnapping() const { return m_isSnapping; }
  void setGridShown(bool isShown);

  /// Draws scene units `source` (null: everything, with a margin) into the target, as shown, overlays and legend
  /// included. For SVG, PDF and images.
  void renderTo(QPainter& painter, const QRectF& target, const RenderOptions& options, QRectF source = {});
  /// What renderTo draws by default, scene units: with a margin, and with titles of boxes as they stand at that scale.
  [[nodiscard]] QRectF exportRect(const RenderOptions& options, double scale = 1);
  /// Top right corner of the overlay's legend, pixels of the widget: where it lies over as little as can be.
  [[nodiscard]] QPointF legendCorner() const;
  /// Links find their ways now, where they have not yet. Else that happens off the UI thread, and until it is done they
  /// run straight.
  void finishWays();

  /// What the next command moves is seen moving, for a moment; the document has its new places at once, and the view
  /// goes along.
  void animateNextMove();

  /// Draws at once what else follows in small steps: for pictures of the window.
  void complete();

  // ---- for tools
  [[nodiscard]] ElementId hit(const QPointF& scenePoint) const;
  void say(const QString& message) { Q_EMIT messageRaised(message); }
  void setHovered(const ElementId& id);
  [[nodiscard]] ElementId hoveredElement() const { return m_hovered; }
  void updateHint();
  /// Moves the keyboard cursor to the next thing in the direction (a unit vector); nodesOnly for linking.
  void moveCursor(const QPointF& direction, bool nodesOnly);
  /// To the next or the one before, in the order of the ids.
  void stepCursor(int by, bool nodesOnly);
  /// An editor for a bandwidth at the place; calls done with text that can be read, at Enter.
  void askBandwidth(const QPointF& scenePoint, const QString& initial, std::function<void(const std::string&)> done);
  /// The same for links that are there. @pre there are links
  void editBandwidth(std::vector<LinkId> links);
  /// An editor for a name at the place; `fault` says what is wrong with a name (empty: nothing). Enter, or going on
  /// elsewhere, takes it; Esc leaves the name as it was.
  void askName(const QPointF& scenePoint, const QString& initial, std::function<QString(const QString&)> fault,
               std::function<void(const QString&)> done);
  /// The chooser of a pattern between two sets of nodes.
  void askPattern(const QPointF& scenePoint, std::function<void(edits::LinkPattern)> done);
  /// An editor for a text of several lines.
  void askText(const QPointF& scenePoint, const QString& initial, std::function<void(const QString&)> done);
  void panBy(const QPointF& pixels);

Q_SIGNALS:
  void toolChanged(coppice::designer::ToolKind kind);
  void zoomChanged(double zoom);
  void hintChanged(const QString& hint);
  void hovered(const coppice::designer::ElementId& id);
  /// Double click or Enter.
  void activated(const coppice::designer::ElementId& id);
  void contextMenuWanted(const coppice::designer::ElementId& id, const QPoint& globalPlace);
  /// Why something could not be done.
  void messageRaised(const QString& message);
  /// Place or scale of the view changed, or the drawing did (the minimap listens).
  void viewChanged();

protected:
  bool event(QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void keyReleaseEvent(QKeyEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dragMoveEvent(QDragMoveEvent* event) override;
  void dragLeaveEvent(QDragLeaveEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  void changeEvent(QEvent* event) override;

private:
  void documentChanged(const ChangeEvent& event);
  void selectionChanged();
  void invalidate(const Region& dirty);
  /// Before what it was made of changes.
  void dropLayer();
  /// Links run where they should now.
  void waysFound(const Region& dirty);
  /// Has the ways found that are missing.
  void orderWays();
  void zoomToFitIfLost();
  [[nodiscard]] QPointF wholePixels(const QPointF& offset) const;
  void setView(double scale, const QPointF& offset);
  /// Scale and offset that show everything.
  [[nodiscard]] std::pair<double, QPointF> fit() const;
  [[nodiscard]] QSizeF legendSize() const;
  /// Where a legend can stand, as if scale and offset were those, best first, and how much is there.
  struct LegendPlace {
    QPointF corner;
    std::array<std::size_t, 3> covered{};  // nodes, boxes, lines
  };
  [[nodiscard]] LegendPlace legendPlace(const QSizeF& legend, double scale, const QPointF& offset) const;
  void fitNow();
  void animateTo(double scale, const QPointF& offset);
  /// Shows the rectangle in the middle of the widget, or of what is left of it beside a strip on the right.
  void viewFor(const QRectF& sceneRect, double maxScale, double* scale, QPointF* offset, double strip = 0) const;
  void paintLive(QPainter& painter);
  /// What has moved, while the drawing still shows it at its old place.
  void paintMoved(QPainter& painter, Detail detail);
  /// Below the place, or above where there is no room; pixels of the widget.
  void paintHoverNote(QPainter& painter, const QPointF& place) const;
  /// The drawing on its way from m_before to where it stands: shapes and plain lines.
  void paintMoving(QPainter& painter);
  [[nodiscard]] CanvasState stateOf() const;
  [[nodiscard]] const OverlayLayer* layer() const;
  [[nodiscard]] CanvasPoint pointOf(const QMouseEvent& event) const;
  [[nodiscard]] bool isDense() const;
  [[nodiscard]] std::optional<double> budget() const;
  Tool& active() { return *m_tools[m_kind]; }
  void openPopup(QWidget* popup, const QPointF& scenePoint);

  Document& m_document;
  Selection& m_selection;
  CanvasScene m_scene;
  struct FoundWays {
    std::shared_ptr<const Wiring> of;
    std::shared_ptr<Ways> ways;
  };
  LatestJob<FoundWays> m_waysJob;
  std::shared_ptr<const Wiring> m_orderedWays;
  QTimer m_waysTimer;  // until nothing moves any more
  TileCache m_tiles;
  QImage m_lastFrame;  // of another scale, to be seen until the tiles of this one are there
  double m_lastScale = 1;
  QPointF m_lastOffset;
  double m_scale = 1;
  QPointF m_offset;
  bool m_keepsFit = true;
  bool m_wasShown = false;
  bool m_isSnapping = true;
  bool m_hasGrid = true;

  std::map<ToolKind, std::unique_ptr<Tool>> m_tools;
  ToolKind m_kind = ToolKind::select;
  PartDrops m_drops;
  std::unique_ptr<PlaceTool> m_dragged;  // while something is dragged over the canvas
  edits::LinkTemplate m_linkTemplate;
  Overlay m_overlay;
  mutable std::optional<OverlayLayer> m_layer;  // of the overlay and the scene as they are
  std::map<ElementId, Severity> m_problems;
  std::set<ElementId> m_lastSelection;
  ElementId m_hovered;
  std::optional<HoverNote> m_hoverNote;

  std::optional<QPointF> m_panFrom;  // the pointer, while panning
  bool m_hasPanned = false;
  bool m_isSpaceDown = false;
  QVariantAnimation m_motion;
  QVariantAnimation m_pulse;
  QVariantAnimation m_move;
  std::map<ElementId, QPointF> m_before;  // centres, before the command that is seen moving
  bool m_willMove = false;
  bool m_willFit = false;
  ElementId m_pulsing;
  QElapsedTimer m_sinceZoom;
  bool m_willComplete = false;      // whatever it takes
  std::set<std::uint32_t> m_moved;  // nodes that tiles may still show elsewhere
  QTimer m_refine;
  QPointer<QWidget> m_popup;
};

}  // namespace coppice::designer
