// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPointF>
#include <QRectF>
#include <QString>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "designer/canvas/curve.hpp"
#include "designer/canvas/grid_index.hpp"
#include "designer/canvas/router.hpp"
#include "designer/canvas/wiring.hpp"
#include "designer/document/change_event.hpp"
#include "designer/document/model.hpp"
#include "designer/document/stacks.hpp"
#include "designer/theme/shape_style.hpp"

/// What is to be drawn of a document, and where: geometry alone, without colours, painter or widget.
namespace coppice::designer {

/// A node, or a folded box that stands for what it holds.
struct NodeItem {
  ElementId id;
  QRectF rect;
  Shape shape = Shape::gpu;
  QString label;   ///< short, for inside the shape: "3", "nvs"
  QString detail;  ///< quieter text beside it: "300 GB/s each", "8 GPUs"
  bool isPinned = false;
  bool isCapable = false;            ///< a switch that multicasts or aggregates
  std::vector<std::uint32_t> lines;  ///< indices of the lines that end here
  std::int32_t box = -1;             ///< index of the box around it, which is not folded; -1: none
  struct Cell {
    BoxId box;
    QRectF rect;
  };
  std::vector<Cell> cells = {};  ///< of a stack of equal boxes, of which `id` is the first: one for each
  double textHeight = 0;         ///< of a stack: above the cells
};

/// An unfolded box.
struct BoxItem {
  BoxId id;
  QRectF rect;
  QString title;
  QString detail;
  int depth = 0;
  bool isInstance = false;
  bool isTitleBelow = false;  ///< as its links leave above
  double titleGap = 0;        ///< free height beside it, where its title would be; of an outermost box
  std::int32_t parent = -1;   ///< index of the box around it
};

/// All links between two node items.
struct LineItem {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::vector<LinkId> links;
  std::int64_t count = 1;  ///< parallel links in all
  double bandwidth = 0;    ///< GB/s per direction of the stronger direction, all parallel links together
  bool hasForward = true;  ///< a to b
  bool hasBackward = true;
  LineStyle style = LineStyle::cable;
  QString label;         ///< "25 GB/s", "8 × 25 GB/s"
  Curve curve;           ///< from a to b
  QRectF bounds;         ///< of the curve
  QString number = {};   ///< what is on the line: "×4", or the label where it leads to a folded box; mostly empty
  double numberAt = -1;  ///< where on the curve it is clear of the others; -1: nowhere, unless seen from near
};

struct NoteItem {
  NoteId id;
  QRectF rect;
  QString text;
};

/// All lines between two rooms, for small scales.
struct BundleItem {
  QRectF a;
  QRectF b;
  Curve curve;
  std::int64_t count = 0;
  double bandwidth = 0;
  std::vector<std::uint32_t> lines;
  std::vector<bool> isAlong;  ///< by lines: it runs as the curve does, from its a to its b
};

/// Rectangles of the scene, what has changed in a picture of it; it may be empty.
using Region = std::vector<QRectF>;

/// When links are routed around what is between their ends.
enum class Routing : std::uint8_t {
  atOnce,  ///< whenever they are looked at
  later    ///< where there are many or few have moved: when the caller passes the routes
};

/// Made again, or followed, only when it is looked at after changes: a hundred changes in a row cost one.
///
/// Routes of links are a function of the model alone. With Routing::later a scene may be unrouted for a while: then its
/// lines run straight, or as they did but for those of what has moved, until applyRoutes() or finishRouting().
class CanvasScene {
public:
  /// The model must outlive the scene.
  explicit CanvasScene(const Model& model, Routing routing = Routing::atOnce);

  void rebuild();
  /// Follows a change of the model. Returns what has to be painted again; nullopt: everything.
  std::optional<Region> follow(const ChangeEvent& event);

  [[nodiscard]] bool isRouted() const {
    ensure();
    return m_isRouted;
  }
  /// What the missing routes depend on; null: none is missing. The same object until the next
  /// change.
  [[nodiscard]] std::shared_ptr<const Wiring> unrouted() const;
  /// Applies the routes that were computed for unrouted(). Returns what has to be painted again; nullopt: they are out
  /// of date, and nothing was done.
  std::optional<Region> applyRoutes(const std::shared_ptr<const Wiring>& of, Routes routes);
  /// Computes them now. Returns whether any were missing.
  bool finishRouting();

  [[nodiscard]] const Model& model() const { return m_model; }
  [[nodiscard]] const std::vector<NodeItem>& nodes() const {
    ensure();
    return m_nodes;
  }
  [[nodiscard]] const std::vector<BoxItem>& boxes() const {
    ensure();
    return m_boxes;
  }
  [[nodiscard]] const std::vector<LineItem>& lines() const {
    ensure();
    return m_lines;
  }
  [[nodiscard]] const std::vector<NoteItem>& notes() const {
    ensure();
    return m_notes;
  }
  /// Made when first asked for after a change.
  [[nodiscard]] const std::vector<BundleItem>& bundles() const;

  /// Of everything; null if there is nothing.
  [[nodiscard]] QRectF bounds() const;

  [[nodiscard]] const NodeItem* node(const ElementId& id) const;  ///< a node or folded box
  [[nodiscard]] const BoxItem* box(BoxId id) const;
  /// The line the link is part of; nullptr if it is not drawn.
  [[nodiscard]] const LineItem* line(LinkId id) const;
  /// Indices into nodes() and lines(); nullopt where nothing of its own is drawn.
  [[nodiscard]] std::optional<std::uint32_t> nodeAt(const ElementId& id) const;
  [[nodiscard]] std::optional<std::uint32_t> lineAt(LinkId id) const;
  [[nodiscard]] const NoteItem* note(NoteId id) const;
  /// Where the element is drawn: its shape, or the bounds of its curve. An element inside a folded box: that box, or
  /// its cell of a stack. Null if there is nothing to see.
  [[nodiscard]] QRectF rectOf(const ElementId& id) const;

  /// What is drawn as this one element: all links of its line, all boxes of its stack; else the element alone.
  [[nodiscard]] std::set<ElementId> drawnWith(const ElementId& id) const;
  /// The shape that stands for a node: itself, a folded box, or the first box of a stack.
  [[nodiscard]] ElementId shapeOf(NodeId id) const;
  /// The box around the node that is drawn as a cell of a stack; invalid where there is none.
  [[nodiscard]] BoxId stackedBoxOf(NodeId id) const;
  /// Its cell; null where there is none.
  [[nodiscard]] QRectF cellOf(NodeId id) const;

  /// Indices of what meets the rectangle, ascending.
  void nodesIn(const QRectF& rect, std::vector<std::uint32_t>& result) const;
  void linesIn(const QRectF& rect, std::vector<std::uint32_t>& result) const;

  /// The topmost thing at the place: note, node, line (first link of it), then the title or rim of a box.
  /// @param tolerance how far from a line still counts
  [[nodiscard]] ElementId hit(const QPointF& point, double tolerance) const;
  /// The innermost unfolded box whose outline holds the point.
  [[nodiscard]] BoxId boxAt(const QPointF& point) const;
  /// Everything that is wholly within the rectangle: nodes, folded boxes, notes and boxes; lines with both ends in
  /// it.
  [[nodiscard]] std::set<ElementId> within(const QRectF& rect) const;

private:
  void ensure() const;
  void build();
  void addNodes();
  void addFoldedBox(BoxId id, std::int32_t parent);
  void addStack(std::span<const BoxId> boxes, std::int32_t parent);
  void addNode(NodeItem item);
  void addLines();
  void assignPorts(std::uint32_t node);
  /// Returns whether any is elsewhere than before.
  bool placeTitles();
  [[nodiscard]] Wiring wiring() const;
  void put(Routes routes);
  /// Lines between rooms: outermost boxes (or, with mergesBoxes, all that is in one cell of the plane).
  [[nodiscard]] std::vector<BundleItem> bundlesBy(double cell, bool mergesBoxes) const;
  void reroute(const std::vector<std::uint32_t>& moved, Region& dirty);

  const Model& m_model;
  Stacks m_stacks;
  std::vector<NodeItem> m_nodes;
  std::vector<BoxItem> m_boxes;
  std::vector<LineItem> m_lines;
  std::vector<NoteItem> m_notes;
  struct Ports {
    double a = 0;  // place along the side, relative to the centre of the shape
    double b = 0;
  };
  std::vector<Ports> m_ports;
  std::unordered_map<ElementId, std::uint32_t> m_nodeAt;
  std::unordered_map<BoxId, std::uint32_t> m_boxAt;
  std::unordered_map<BoxId, QRectF> m_cellOf;
  std::unordered_map<LinkId, std::uint32_t> m_lineAt;
  std::unordered_map<NoteId, std::uint32_t> m_noteAt;
  GridIndex m_nodeIndex;
  GridIndex m_lineIndex;
  mutable std::optional<std::vector<BundleItem>> m_bundles;
  mutable std::optional<QRectF> m_bounds;
  Routing m_routing;
  bool m_isRouted = true;
  mutable std::shared_ptr<const Wiring> m_wiring;  // of unrouted(), once asked for
  bool m_isStale = true;
};

/// Text inside a shape: of GPUs and NICs (`isNumbered`) the trailing number of the name, or all its coordinates
/// ("x0y1z2": "0.1.2"); of others the name without that of the box.
[[nodiscard]] QString shortLabel(const QString& name, const QString& box, bool isNumbered);

}  // namespace coppice::designer
