// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPointer>
#include <QVariantAnimation>
#include <QWidget>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "designer/canvas/camera.hpp"
#include "designer/canvas/canvas_painter.hpp"
#include "designer/canvas/canvas_scene.hpp"
#include "designer/canvas/link_routing.hpp"
#include "designer/canvas/live_painter.hpp"
#include "designer/canvas/motion_painter.hpp"
#include "designer/canvas/move_animation.hpp"
#include "designer/canvas/overlay.hpp"
#include "designer/canvas/part_drop.hpp"
#include "designer/canvas/popup_host.hpp"
#include "designer/canvas/tile_scheduler.hpp"
#include "designer/canvas/tools/tool.hpp"
#include "designer/document/document.hpp"
#include "designer/document/edits.hpp"
#include "designer/document/selection.hpp"

namespace coppice::designer {

enum class ToolKind { select, pan, link, box, text, place, point };

/// The drawing surface of one document. Shows the model through a CanvasScene, and hands pointer and keys to a tool;
/// every change goes through the document as a command. What it consists of has headers of its own: Camera,
/// TileScheduler, LinkRouting, MoveAnimation, LivePainter, PopupHost, PartDropTarget; PictureExport draws it elsewhere.
class CanvasView : public QWidget {
  Q_OBJECT

public:
  /// Both must outlive the view.
  CanvasView(Document& document, Selection& selection, QWidget* parent = nullptr);
  ~CanvasView() override;

  [[nodiscard]] Document& document() { return m_document; }
  [[nodiscard]] Selection& selection() { return m_selection; }
  [[nodiscard]] const CanvasScene& scene() const { return m_scene; }
  [[nodiscard]] PopupHost& popups() { return m_popups; }

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

  // ---- what is in view
  /// Pixels of 1x to a scene unit; 1 = 100 %.
  [[nodiscard]] double zoom() const { return m_camera.scale(); }
  /// About the middle of the view, or the point of the widget.
  void setZoom(double zoom) { zoomAbout(zoom, m_camera.middle()); }
  void zoomAbout(double zoom, const QPointF& viewPoint);
  void zoomToFit();
  void zoomToSelection();
  /// The whole drawing is shown, and stays so when the size of the view changes, until the user zooms or pans.
  [[nodiscard]] bool keepsFit() const { return m_keepsFit; }
  /// Brings it into the middle, at a scale where it can be read, with a pulse.
  void centreOn(const ElementId& id);
  void centreOn(const QPointF& scenePoint);
  void panBy(const QPointF& pixels);
  /// All of it is to be seen.
  [[nodiscard]] bool isInView(const ElementId& id) const;
  [[nodiscard]] QByteArray viewState() const { return m_camera.state(m_keepsFit); }
  /// Anything but a state of viewState() is ignored.
  void setViewState(const QByteArray& state);
  [[nodiscard]] QPointF toScene(const QPointF& view) const { return m_camera.viewpoint().toScene(view); }
  [[nodiscard]] QPointF toView(const QPointF& scene) const { return m_camera.viewpoint().toView(scene); }
  /// Scene units.
  [[nodiscard]] QRectF visibleScene() const { return m_camera.visible(); }

  // ---- what is drawn
  /// What is drawn over the fabric from now on, in place of what was there before.
  void setOverlay(Overlay overlay);
  [[nodiscard]] const Overlay& overlay() const { return m_overlay; }
  /// Shown while the pointer stays on the element; nothing where it has left already.
  void setHoverNote(const ElementId& of, HoverNote note);
  /// What would come of it if the tool that points let go where it is; nullopt for nothing. In place of other notes.
  void setPointNote(std::optional<PointNote> note);
  [[nodiscard]] const std::optional<PointNote>& pointNote() const { return m_pointNote; }
  /// Data under way; empty for none. Costs one frame, no tile is drawn again.
  void setMotion(Motion motion);
  [[nodiscard]] const Motion& motion() const { return m_motion; }
  [[nodiscard]] const std::optional<HoverNote>& hoverNote() const { return m_hoverNote; }
  void setProblems(std::map<ElementId, Severity> problems);
  /// Selection, problems and overlay, for a painter; valid until any of them changes.
  [[nodiscard]] CanvasState state() const;
  /// Top right corner of the overlay's legend, pixels of the widget: where it is over as little as possible.
  [[nodiscard]] QPointF legendCorner() const;
  /// Links are routed now, where they have not been yet. Else that happens off the UI thread, and until it is done they
  /// run straight.
  void finishRouting() { m_routing.finish(); }
  /// What the next command moves is seen moving, for a moment; the document has its new places at once, and the view
  /// goes along.
  void animateNextMove();
  /// Draws at once what else follows in small steps: for pictures of the window.
  void complete();

  // ---- for tools
  [[nodiscard]] ElementId hit(const QPointF& scenePoint) const;
  void say(const QString& message) { Q_EMIT messageRaised(message); }
  void setHovered(const ElementId& id);
  void updateHint();
  /// Moves the keyboard cursor to the next thing in the direction (a unit vector); nodesOnly for linking.
  void moveCursor(const QPointF& direction, bool nodesOnly);
  /// To the next or the one before, in the order of the ids.
  void stepCursor(int by, bool nodesOnly);
  /// An editor for the bandwidth of these links. @pre there are links
  void editBandwidth(std::vector<LinkId> links);

  /// Of all drawings: the wheel moves them, and zooms with Ctrl alone. Off, it zooms.
  static void setWheelScrolls(bool scrolls) { s_wheelScrolls = scrolls; }

Q_SIGNALS:
  void toolChanged(coppice::designer::ToolKind kind);
  void zoomChanged(double zoom);
  void hintChanged(const QString& hint);
  void hovered(const coppice::designer::ElementId& id);
  /// By the tool that points from a node or link to another: where it leads now, each time that this changes; invalid
  /// while it leads nowhere and when it ends. Who follows may set a note (setPointNote).
  void pointing(const coppice::designer::ElementId& from, const coppice::designer::ElementId& over);
  /// It was let go there.
  void pointed(const coppice::designer::ElementId& from, const coppice::designer::ElementId& to);
  /// Double click or Enter.
  void activated(const coppice::designer::ElementId& id);
  void contextMenuWanted(const coppice::designer::ElementId& id, const QPoint& globalPlace);
  /// Why something could not be done.
  void messageRaised(const QString& message);
  /// Space was pressed and released, without moving the view.
  void playWanted();
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
  void createTools();
  void connectParts();
  void documentChanged(const ChangeEvent& event);
  void followMove(const ChangeEvent& event);
  void selectionChanged();
  void routesApplied(const Region& dirty);
  void invalidate(const Region& dirty);
  void invalidateAll();
  /// Before what it was made of changes.
  void dropLayer();
  /// The viewpoint that shows everything, beside a legend where that finds no free place.
  [[nodiscard]] Viewpoint fit() const;
  void fitNow();
  void zoomToFitIfLost();
  void goTo(const ElementId& cursor);
  [[nodiscard]] QSizeF legendSize() const;
  void paintDrawing(QPainter& painter);
  /// The drawing with the data under way.
  void paintMotion(QPainter& painter);
  void paintLive(QPainter& painter);
  [[nodiscard]] const OverlayLayer* layer() const;
  [[nodiscard]] CanvasPoint pointOf(const QMouseEvent& event) const;
  [[nodiscard]] Tool& active() const { return *m_tools.at(m_kind); }
  bool setToolByKey(int key);

  Document& m_document;
  Selection& m_selection;
  CanvasScene m_scene;
  Camera m_camera;
  TileScheduler m_tiles;
  LinkRouting m_routing;
  MoveAnimation m_move;
  PopupHost m_popups;
  PartDropTarget m_drops;
  bool m_keepsFit = true;
  bool m_wasShown = false;
  bool m_willFit = false;

  std::map<ToolKind, std::unique_ptr<Tool>> m_tools;
  ToolKind m_kind = ToolKind::select;
  edits::LinkTemplate m_linkTemplate;
  Overlay m_overlay;
  mutable std::optional<OverlayLayer> m_layer;  // of the overlay and the scene as they are
  std::map<ElementId, Severity> m_problems;
  std::set<ElementId> m_lastSelection;
  ElementId m_hovered;
  std::optional<HoverNote> m_hoverNote;
  std::optional<PointNote> m_pointNote;
  Motion m_motion;
  MotionPainter m_motionPainter;
  QImage m_motionFrame;  ///< null while nothing moves

  std::optional<QPointF> m_panFrom;  // the pointer, while panning
  bool m_hasPanned = false;
  inline static bool s_wheelScrolls = false;
  bool m_isSpaceDown = false;
  bool m_hasSpaceMoved = false;  ///< since it is down
  QVariantAnimation m_pulse;
  ElementId m_pulsing;
};

}  // namespace coppice::designer
