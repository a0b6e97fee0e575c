// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "designer/document/edit.hpp"

/// What a person can do to a document, each as one function that writes into an Edit (and so becomes one command with
/// Document::edit). Canvas tools, menus, tables, properties and scripts all go through these.
///
/// Edits inside an instance of a box type reach the counterparts in the other instances: see instances.hpp; functions
/// that do so say "with counterparts".
namespace coppice::designer::edits {

// ---- create and delete

/// A node of the kind with a free name ("gpu", "nic", "switch" and a number, or as wanted), in the box, at the place.
/// With counterparts where the box is an instance.
NodeId addNode(Edit& edit, fabric::NodeKind kind, Point position, BoxId box = {}, std::string_view wantedName = {});
NoteId addNote(Edit& edit, std::string text, Point position);

/// What the links of one gesture are like.
struct LinkTemplate {
  std::string bandwidth = "50";
  bool duplex = true;
  int count = 1;
};
/// With counterparts where both ends are in one instance. Errors: badUsage (an end does not exist, both are the same).
Result<LinkId> addLink(Edit& edit, NodeId tail, NodeId head, const LinkTemplate& link);

/// Nodes with their links, boxes with their contents. With counterparts.
void remove(Edit& edit, const std::set<ElementId>& elements);

// ---- place

/// Boxes move with their contents; links have no place. With counterparts inside instances.
void move(Edit& edit, const std::set<ElementId>& elements, Point by);
/// Sets the centres of nodes (layout, circle, grid). Pinned nodes stay unless `pinnedToo`.
void place(Edit& edit, const std::map<NodeId, Point>& places, bool pinnedToo = false);

enum class Side { left, horizontalCentre, right, top, verticalCentre, bottom };
/// To the outermost edge (or the middle) of all. Nodes, boxes and notes count; fewer than two: nothing.
void align(Edit& edit, const std::set<ElementId>& elements, Side side);
enum class Axis { horizontal, vertical };
/// Equal gaps between neighbours, the outermost two stay. Fewer than three: nothing.
void distribute(Edit& edit, const std::set<ElementId>& elements, Axis axis);
/// On a circle round their middle, in the order of their ids, the first at the top; wide enough for all to be apart.
void toCircle(Edit& edit, const std::set<ElementId>& elements);
/// Row by row in the order of their ids; columns 0 = about as many as rows.
void toGrid(Edit& edit, const std::set<ElementId>& elements, int columns = 0);

// ---- properties (each of many elements at once, with counterparts)

/// Errors: badUsage naming why the name cannot be (empty, taken, "/" in a box's name, control characters).
Outcome rename(Edit& edit, const ElementId& id, const std::string& name);
/// The check of rename() alone, for validation while typing.
Outcome checkName(const Model& model, const ElementId& id, const std::string& name);
void changeNodes(Edit& edit, std::span<const NodeId> nodes, const std::function<void(Node&)>& change);
void changeLinks(Edit& edit, std::span<const LinkId> links, const std::function<void(Link&)>& change);
void changeBoxes(Edit& edit, std::span<const BoxId> boxes, const std::function<void(Box&)>& change);
void changeNotes(Edit& edit, std::span<const NoteId> notes, const std::function<void(Note&)>& change);
void fold(Edit& edit, std::span<const BoxId> boxes, bool isFolded);

// ---- boxes

/// A new box around the elements (nodes, boxes), inside the innermost box that holds all of them.
/// Returns the invalid id where there is nothing to put in.
BoxId box(Edit& edit, const std::set<ElementId>& elements, std::string_view wantedName = "box");
/// Takes the boxes away; what is in them moves one level out.
void unbox(Edit& edit, std::span<const BoxId> boxes);

// ---- links between sets

enum class LinkPattern { allToAll, oneToOne, roundRobin, rail, ring };
/// Links `from` to `to`, both in the order given:
/// - allToAll: every node of one to every node of the other;
/// - oneToOne: first to first, second to second…; both of one size;
/// - roundRobin: from[i] to to[i mod |to|];
/// - rail: the j-th node of each box of `from` (nodes in no box count as one box) to to[j mod |to|];
/// - ring: the nodes of `from`, then those of `to`, each to the next and the last to the first.
/// A node is never linked to itself. Returns the new links. Errors: badUsage saying what the pattern lacks, limit (more
/// than kMaxPatternLinks).
Result<std::vector<LinkId>> linkSets(Edit& edit, std::span<const NodeId> from, std::span<const NodeId> to,
                                     LinkPattern pattern, const LinkTemplate& link);
inline constexpr std::size_t kMaxPatternLinks = 200'000;

// ---- copies

/// Part of a model that stands for itself, for the clipboard, templates and imports. Links with an end outside are left
/// out. Boxes come along where they are selected; nodes whose box is not keep none.
Model extract(const Model& model, const std::set<ElementId>& elements);
/// Puts a whole model in with free names, moved by `by`, into the box; returns the new top-level elements (to select).
/// Stated ranks are dropped where the document has GPUs already, as two numberings cannot both hold.
std::set<ElementId> insert(Edit& edit, const Model& part, Point by, BoxId box = {});
/// insert(extract()), inside the same boxes. Returns the copies (nodes, boxes, notes and the links between them).
std::set<ElementId> duplicate(Edit& edit, const std::set<ElementId>& elements, Point by);

struct ArrayOptions {
  int copies = 3;              ///< beside the original
  int columns = 0;             ///< 0 = all in one row
  Point step = {0, 0};         ///< to the next column and row; 0 = by the size of the elements
  bool keepOuterLinks = true;  ///< links from the elements to nodes outside are made for each copy too
  /// With keepOuterLinks: only to these nodes; empty = all.
  std::set<NodeId> outerNodes = {};
  bool asInstances = true;  ///< boxes become instances of one type, to be edited together
};
/// Copies in a grid, with numbered names. Returns everything new. Errors: badUsage (copies below 1), limit (more than
/// kMaxArrayElements new elements).
Result<std::set<ElementId>> replicate(Edit& edit, const std::set<ElementId>& elements, const ArrayOptions& options);
/// Where the copies' rectangles would be, for a preview: one list of offsets, as many as copies.
std::vector<Point> arrayOffsets(const Model& model, const std::set<ElementId>& elements, const ArrayOptions& options);
inline constexpr std::size_t kMaxArrayElements = 500'000;

}  // namespace coppice::designer::edits
