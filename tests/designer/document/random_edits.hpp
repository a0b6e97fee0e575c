// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <random>
#include <set>
#include <vector>

#include "designer/document/document.hpp"
#include "designer/document/edits.hpp"
#include "designer/document/instances.hpp"

namespace coppice::designer::test {

/// Random edits of every kind, repeatable by their seed.
class RandomEditor {
public:
  RandomEditor(Document& document, unsigned seed) : m_document(document), m_random(seed) {}

  /// One random edit; false if it changed nothing.
  bool step() {
    constexpr int kKinds = 20;
    const int kind = below(kKinds);
    return m_document.edit(
        QStringLiteral("random %1").arg(kind), [&](Edit& edit) { fill(edit, kind); },
        below(4) == 0 ? m_gesture : (m_gesture = m_document.beginGesture()));
  }

  void endGesture() { m_gesture = m_document.beginGesture(); }

  int below(int limit) { return static_cast<int>(m_random() % static_cast<unsigned>(limit)); }

  std::set<ElementId> someElements(int max = 6) {
    std::vector<ElementId> all;
    const Model& model = m_document.model();
    for (const auto& [id, node] : model.nodes()) {
      all.emplace_back(id);
    }
    for (const auto& [id, link] : model.links()) {
      all.emplace_back(id);
    }
    for (const auto& [id, box] : model.boxes()) {
      all.emplace_back(id);
    }
    for (const auto& [id, note] : model.notes()) {
      all.emplace_back(id);
    }
    std::set<ElementId> result;
    for (int i = below(max + 1); i >= 0 && !all.empty(); --i) {
      result.insert(all[below(static_cast<int>(all.size()))]);
    }
    return result;
  }

private:
  Point somePoint() { return {static_cast<double>(below(2000) - 1000) / 8, static_cast<double>(below(2000)) / 3}; }

  template <typename Element>
  std::vector<Id<Element>> some(const Table<Element>& table, int max) {
    std::vector<Id<Element>> all;
    for (const auto& [id, element] : table) {
      all.push_back(id);
    }
    std::vector<Id<Element>> result;
    for (int i = below(max) + 1; i > 0 && !all.empty(); --i) {
      result.push_back(all[below(static_cast<int>(all.size()))]);
    }
    return result;
  }

  void fill(Edit& edit, int kind) {
    const Model& model = edit.base();
    const std::vector<NodeId> nodes = some(model.nodes(), 5);
    const std::vector<NodeId> others = some(model.nodes(), 5);
    const std::vector<LinkId> links = some(model.links(), 5);
    const std::vector<BoxId> boxes = some(model.boxes(), 2);
    const std::vector<NoteId> notes = some(model.notes(), 2);
    const BoxId box = boxes.empty() ? BoxId{} : boxes.front();
    const std::size_t size = model.nodes().size() + model.links().size();
    constexpr std::size_t kEnough = 600;
    const bool isLarge = size > kEnough;
    switch (kind) {
      case 0:
        edits::addNode(edit, static_cast<fabric::NodeKind>(below(3)), somePoint(), box);
        break;
      case 1:
        edits::addNote(edit, "note \"" + std::to_string(below(9)) + "\"\nsecond line", somePoint());
        break;
      case 2:
        if (!nodes.empty()) {
          static_cast<void>(edits::addLink(edit, nodes.front(), others.front(), {"25/2", below(2) == 0, 1 + below(4)}));
        }
        break;
      case 3:
        edits::remove(edit, someElements(isLarge ? 40 : 3));
        break;
      case 4:
        edits::move(edit, someElements(), somePoint());
        break;
      case 5:
        edits::align(edit, someElements(), static_cast<edits::Side>(below(6)));
        break;
      case 6:
        edits::distribute(edit, someElements(), static_cast<edits::Axis>(below(2)));
        break;
      case 7:
        below(2) == 0 ? edits::toCircle(edit, someElements()) : edits::toGrid(edit, someElements(), below(4));
        break;
      case 8:
        for (const ElementId& id : someElements(1)) {
          static_cast<void>(edits::rename(edit, id, "name " + std::to_string(below(40))));
        }
        break;
      case 9:
        edits::changeNodes(edit, nodes, [&](Node& node) {
          node.facts.multicast = !node.facts.multicast;
          node.drawing.isPinned = !node.drawing.isPinned;
          node.drawing.width = below(300);
        });
        break;
      case 10:
        edits::changeLinks(edit, links, [&](Link& link) {
          link.bandwidth = below(2) == 0 ? "400Gb/s" : std::to_string(1 + below(90));
          link.latency = "1.5";
          link.duplex = !link.duplex;
        });
        break;
      case 11:
        edits::changeLinks(edit, links, [](Link& link) { std::swap(link.tail, link.head); });
        break;
      case 12:
        edits::fold(edit, boxes, below(2) == 0);
        break;
      case 13:
        edits::box(edit, someElements());
        break;
      case 14:
        edits::unbox(edit, boxes);
        break;
      case 15:
        edits::changeNodes(edit, nodes, [&](Node& node) { node.facts.box = box; });
        break;
      case 16:
        if (!isLarge) {
          static_cast<void>(edits::linkSets(edit, nodes, others, static_cast<edits::LinkPattern>(below(5)), {}));
        }
        break;
      case 17:
        if (!isLarge) {
          edits::duplicate(edit, someElements(3), somePoint());
        }
        break;
      case 18:
        if (!isLarge) {
          static_cast<void>(edits::replicate(edit, someElements(2), {.copies = 1 + below(3), .columns = below(3)}));
        }
        break;
      default:
        if (box.isValid() && below(3) == 0) {
          detach(edit, box);
        } else if (!isLarge) {
          edits::insert(edit, edits::extract(model, someElements(3)), somePoint(), box);
        }
        edits::changeNotes(edit, notes, [&](Note& note) { note.width = below(200); });
    }
  }

  Document& m_document;
  std::mt19937 m_random;
  GestureId m_gesture = 0;
};

}  // namespace coppice::designer::test
