// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>
#include <set>
#include <vector>

#include "designer/document/document.hpp"

namespace coppice::designer {

/// What is selected in one document: shared by canvas, outline, tables and properties. Elements that cease to exist
/// drop out; undo does not select them again.
class Selection : public QObject {
  Q_OBJECT

public:
  /// The document must outlive the selection.
  explicit Selection(Document& document, QObject* parent = nullptr);

  [[nodiscard]] Document& document() const { return m_document; }
  /// Ascending: nodes, links, boxes, notes, each by id.
  [[nodiscard]] const std::set<ElementId>& elements() const { return m_elements; }
  [[nodiscard]] bool contains(const ElementId& id) const { return m_elements.contains(id); }
  [[nodiscard]] bool isEmpty() const { return m_elements.empty(); }
  [[nodiscard]] std::vector<NodeId> nodes() const;
  [[nodiscard]] std::vector<LinkId> links() const;
  [[nodiscard]] std::vector<BoxId> boxes() const;
  [[nodiscard]] std::vector<NoteId> notes() const;
  /// The selected nodes and those in the selected boxes at any depth.
  [[nodiscard]] std::vector<NodeId> nodesAndContents() const;

  /// The element that the keyboard is on (dotted in the canvas); invalid = none. Always exists.
  [[nodiscard]] ElementId current() const { return m_current; }
  void setCurrent(const ElementId& id);

  /// Ids that do not exist are ignored.
  void set(std::set<ElementId> elements);
  void add(const std::set<ElementId>& elements);
  void remove(const std::set<ElementId>& elements);
  void toggle(const ElementId& id);
  void clear() { set({}); }

  void selectAll();
  /// All nodes of the kinds (and with them all links if links are selected, likewise boxes) of what is selected now.
  void selectSameKind();
  /// Adds the nodes one link away from the selected nodes, and those links.
  void addNeighbours();
  /// The innermost boxes around the selected nodes, with everything in them; boxes of selected boxes one level out.
  void selectWholeBox();

Q_SIGNALS:
  void changed();
  void currentChanged();

private:
  void dropVanished(const ChangeEvent& event);

  Document& m_document;
  std::set<ElementId> m_elements;
  ElementId m_current;
};

}  // namespace coppice::designer
