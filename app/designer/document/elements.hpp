// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPointF>
#include <QRectF>
#include <optional>
#include <string>

#include "designer/document/ids.hpp"
#include "fabric/description.hpp"

/// What a document is made of: plain values. Facts (what the mathematics sees) and drawing (what the canvas sees) are
/// apart. Texts are UTF-8, as in the file. Lengths are scene units, y downwards; presets set nodes 100 apart.
namespace coppice::designer {

/// Compared exactly, unlike QPointF.
struct Point {
  double x = 0;
  double y = 0;

  [[nodiscard]] QPointF toPointF() const { return {x, y}; }
  [[nodiscard]] static Point from(const QPointF& point) { return {point.x(), point.y()}; }
  friend bool operator==(const Point&, const Point&) = default;
};

/// Compared exactly, unlike QRectF.
struct Rect {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;

  [[nodiscard]] QRectF toRectF() const { return {x, y, width, height}; }
  [[nodiscard]] static Rect from(const QRectF& rect) { return {rect.x(), rect.y(), rect.width(), rect.height()}; }
  friend bool operator==(const Rect&, const Rect&) = default;
};

struct NodeFacts {
  std::string name;          ///< the id of the file; unique in a fabric without faults
  std::string kind = "gpu";  ///< as written; fabric::parseNodeKind reads it
  BoxId box = {};            ///< the innermost box around the node
  std::optional<int> rank = {};
  bool multicast = false;
  bool aggregation = false;
  std::string extra = {};  ///< JSON object text of foreign keys

  friend bool operator==(const NodeFacts&, const NodeFacts&) = default;
};

struct NodeDrawing {
  Point position = {};    ///< of the centre
  bool isPlaced = false;  ///< false: the position was guessed when the file was opened, and is not saved
  bool isPinned = false;  ///< automatic layout leaves the node where it is
  double width = 0;       ///< of a stretched switch; 0 = by its kind and its ports
  /// What the node is within its box, the same in every instance of the box's type; empty = has no counterparts.
  std::string role = {};
  std::string extra = {};

  friend bool operator==(const NodeDrawing&, const NodeDrawing&) = default;
};

struct Node {
  NodeFacts facts;
  NodeDrawing drawing;

  /// nullopt where the file names a kind that does not exist.
  [[nodiscard]] std::optional<fabric::NodeKind> kind() const { return fabric::parseNodeKind(facts.kind); }
  friend bool operator==(const Node&, const Node&) = default;
};

/// One end of a link: a node of the document, or the name that the file gives where no such node exists.
struct LinkEnd {
  NodeId node = {};
  std::string missing = {};

  friend bool operator==(const LinkEnd&, const LinkEnd&) = default;
};

struct Link {
  LinkEnd tail;           ///< "src" of the file
  LinkEnd head;           ///< "dst"
  std::string bandwidth;  ///< GB/s per direction and per parallel link, as written; Bandwidth::parse reads it
  bool duplex = true;     ///< false: tail to head only
  int count = 1;          ///< parallel links
  std::optional<std::string> latency = {};
  std::string extra = {};

  friend bool operator==(const Link&, const Link&) = default;
};

/// Boxes nest. A box whose type is not empty is an instance: edits inside it reach the nodes of the same role in every
/// other box of that type (document/instances.hpp).
struct Box {
  std::string name;  ///< one step of the path "outer/inner" in the file; unique among the siblings, without "/"
  BoxId parent = {};
  std::string type = {};
  bool isFolded = false;  ///< drawn as one node; the inside stays as it is
  /// Smallest outline; what is drawn also holds the contents (document/measures.hpp). Absent: as the contents ask.
  std::optional<Rect> frame = {};
  std::string extra = {};

  friend bool operator==(const Box&, const Box&) = default;
};

/// Text on the canvas.
struct Note {
  std::string text;
  Point position = {};  ///< of the top left corner
  double width = 0;     ///< wraps at this width; 0 = never
  std::string extra = {};

  friend bool operator==(const Note&, const Note&) = default;
};

/// What the file says beside its elements.
struct Header {
  std::string name;               ///< of the fabric
  std::string extra = {};         ///< JSON object text of foreign top-level keys
  std::string drawingExtra = {};  ///< JSON object text of foreign keys of the drawing section

  friend bool operator==(const Header&, const Header&) = default;
};

}  // namespace coppice::designer
