// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "designer/canvas/canvas_scene.hpp"
#include "designer/canvas/overlay_layer.hpp"
#include "designer/theme/tokens.hpp"

namespace coppice::designer {

/// How much is drawn.
enum class Detail {
  far,  ///< rooms, shapes as spots, lines between rooms
  mid,  ///< shapes and every line, no labels but of boxes
  near  ///< everything
};

/// By the scale (pixels of 1x to a scene unit) and by how many lines there are: in a dense fabric bundles stay longer.
[[nodiscard]] Detail detailAt(double scale, std::size_t lines, const QRectF& bounds);

/// Whether the lines between two rooms are drawn as one trunk.
[[nodiscard]] bool drawsTrunks(Detail detail, double scale, std::size_t lines);

/// What is drawn beside the fabric itself.
struct CanvasState {
  const std::set<ElementId>* selection = nullptr;
  const std::map<ElementId, Severity>* problems = nullptr;
  const OverlayLayer* layer = nullptr;
  bool hasGrid = true;
  bool hasBackground = true;
  /// Of boxes; small pictures do without.
  bool hasTitles = true;
  /// Alone these are drawn (export of a selection); null: everything.
  const std::set<ElementId>* only = nullptr;
};

/// Width in scene units of a line of that bandwidth: by the square of its logarithm, 0.9 at 1 GB/s and below, 5
/// at 1 TB/s.
[[nodiscard]] double lineWidth(double gigabytesPerSecond);

/// Outline round the shapes of the nodes with a margin: one rounded region for each group that is together.
[[nodiscard]] QPainterPath hullOf(const CanvasScene& scene, const std::set<NodeId>& nodes, double margin = 18);

/// A drawing cut into steps of at most about a millisecond, to be done in their order on one painter.
struct PaintSteps {
  std::vector<std::function<void(QPainter&)>> steps;
  std::shared_ptr<void> keeps = {};  ///< what the steps need
};

/// Draws a scene; holds nothing but what it was given.
class CanvasPainter {
public:
  CanvasPainter(const CanvasScene& scene, const Colors& colors, const CanvasState& state);

  /// The part of the scene, onto a painter whose transform already maps scene to target. `scale`: pixels of 1x to a
  /// scene unit. Hulls are drawn under, marks over the lines.
  void paint(QPainter& painter, const QRectF& part, double scale, Detail detail);
  /// The same in steps. They look at the scene as it is when they are done: nodes and lines may move between them, but
  /// none may come or go; nor may the state's layer. The painter must outlive them.
  [[nodiscard]] PaintSteps steps(const QRectF& part, double scale, Detail detail);
  /// Some lines and nodes alone, without ground.
  void paintSome(QPainter& painter, const std::vector<std::uint32_t>& lines, const std::vector<std::uint32_t>& nodes,
                 double scale, Detail detail);
  /// What hulls say, over everything that paint() draws: within the view (scene units) and beside the hull, as far as
  /// there is room, with a line to it.
  void paintHullLabels(QPainter& painter, const QRectF& view, double scale);
  /// Centre of a hull's label of that size within the view; nullopt where the view is smaller than it.
  [[nodiscard]] std::optional<QPointF> hullLabelPlace(std::size_t hull, const QSizeF& size, const QRectF& view);
  /// Heat scale and trees, with the top right corner at `corner`, in pixels of the painter. Returns its size; nothing
  /// is drawn where the overlay has neither.
  QSizeF paintLegend(QPainter& painter, const QPointF& corner) const;
  /// Its size alone; empty where nothing would be drawn.
  [[nodiscard]] QSizeF legendSize() const;
  /// What the titles of boxes take at that scale, scene units; they may be outside their boxes.
  [[nodiscard]] std::vector<QRectF> titleRects(double scale, Detail detail,
                                               const std::optional<QRectF>& part = std::nullopt);

private:
  void paintGrid(QPainter& painter, const QRectF& part) const;
  void paintBoxes(QPainter& painter, const QRectF& part) const;
  /// A title as it is, lengths in hundredths of its size.
  struct Title {
    QPointF origin;  // scene
    double shrink = 1;
    QString text;
    double detailAt = -1;  // where the detail begins; negative: there is none
    QRectF ground;
    bool isOutside = false;
    [[nodiscard]] QRectF rect() const { return {origin + ground.topLeft() * shrink, ground.size() * shrink}; }
  };
  [[nodiscard]] std::optional<Title> titleOf(const BoxItem& box) const;
  [[nodiscard]] bool mayHaveTitleIn(const BoxItem& box, const QRectF& part) const;
  [[nodiscard]] QColor groundOf(const BoxItem& box) const;
  void paintTitles(QPainter& painter, const QRectF& part) const;
  void paintHulls(QPainter& painter, const QRectF& part) const;
  [[nodiscard]] QPen hullPen(const Hull& hull) const;
  void addLineSteps(const QRectF& part, PaintSteps& result);
  void addNumberSteps(const QRectF& part, PaintSteps& result);
  void paintLine(QPainter& painter, const LineItem& line, const QColor& color, double width) const;
  void paintSelectedLine(QPainter& painter, const LineItem& line) const;
  void paintNumber(QPainter& painter, const LineItem& line) const;
  [[nodiscard]] double widthOf(const LineItem& line) const;
  [[nodiscard]] QColor restingColor() const;
  void paintBundles(QPainter& painter, const QRectF& part) const;
  void addMarkSteps(const QRectF& part, PaintSteps& result);
  void paintMark(QPainter& painter, const LineItem& line, const LinkMark& mark) const;
  void paintRoots(QPainter& painter, const QRectF& part) const;
  void paintSwitchSigns(QPainter& painter, const QRectF& part) const;
  void paintHeat(QPainter& painter, const LineItem& line, const OverlayLayer::Load& load) const;
  void addHeatLabelSteps(const QRectF& part, PaintSteps& result);
  /// Null where the line has no room for its text.
  [[nodiscard]] QRectF heatLabelRect(const LineItem& line, const OverlayLayer::Load& load) const;
  /// The text of a load, or the mark of a bottleneck.
  void paintHeatLabel(QPainter& painter, const LineItem& line, const OverlayLayer::Load& load, bool hasText) const;
  void paintLanes(QPainter& painter, const LineItem& line, const std::vector<OverlayLayer::Lane>& lanes) const;
  /// Width in scene units of a trunk: heat or a mark on all lines between two rooms.
  [[nodiscard]] double trunkWidth(double share) const;
  void paintTrunks(QPainter& painter, const QRectF& part) const;
  void paintCross(QPainter& painter, const QPointF& centre, double r) const;
  void paintFailedLines(QPainter& painter, const QRectF& part) const;
  void paintFailedNodes(QPainter& painter, const QRectF& part) const;
  /// From the label to the nearest part of its hull, where there is a gap.
  void paintLeader(QPainter& painter, const QRectF& label, const std::vector<QRectF>& parts, const QColor& color) const;
  void addNodeSteps(const QRectF& part, PaintSteps& result);
  void paintNode(QPainter& painter, const NodeItem& node) const;
  void paintFarNode(QPainter& painter, const NodeItem& node) const;
  void paintShape(QPainter& painter, const NodeItem& node) const;
  /// The label inside the shape with its detail, as large as its style says.
  void paintLabel(QPainter& painter, const NodeItem& node) const;
  void paintFoldedLabel(QPainter& painter, const NodeItem& node) const;
  void paintStack(QPainter& painter, const NodeItem& stack) const;
  struct TextLine {
    double at;    // middle, as a share of the stack's text height
    double size;  // scene units; smaller where the text is too wide
  };
  void paintCentred(QPainter& painter, const NodeItem& stack, const QString& text, const QFont& font, const QColor& ink,
                    const TextLine& line) const;
  void paintCell(QPainter& painter, const NodeItem::Cell& cell) const;
  /// Outlines of hulls again, over a stack that hides them.
  void paintHullsOver(QPainter& painter, const NodeItem& stack) const;
  void paintProblem(QPainter& painter, const QPointF& centre, Severity severity, double r) const;
  void paintLinkProblems(QPainter& painter, const QRectF& part);
  void paintNotes(QPainter& painter, const QRectF& part) const;
  [[nodiscard]] double pillWidth(const QString& text, double pixels) const;
  void paintPill(QPainter& painter, const QPointF& centre, const QString& text, const QColor& fill, const QColor& ink,
                 double pixels) const;
  void paintArrow(QPainter& painter, const LineItem& line, bool isForward, const QColor& color, double width) const;
  [[nodiscard]] bool isSelected(const ElementId& id) const;
  /// Of a stack: all its boxes.
  [[nodiscard]] bool isSelected(const NodeItem& node) const;
  [[nodiscard]] bool isShown(const ElementId& id) const {
    return m_state.only == nullptr || m_state.only->contains(id);
  }
  /// The line is drawn as part of a trunk.
  [[nodiscard]] bool isOnTrunk(std::uint32_t line) const { return m_isTrunked && m_isBundled[line] != 0; }
  [[nodiscard]] double px(double pixels) const { return pixels / m_scale; }

  const CanvasScene& m_scene;
  const Colors& m_colors;
  CanvasState m_state;
  double m_scale = 1;
  Detail m_detail = Detail::near;
  std::vector<std::uint32_t> m_found;
  bool m_isTrunked = false;
  std::vector<char> m_isBundled;  // by line, where m_isTrunked
};

}  // namespace coppice::designer
