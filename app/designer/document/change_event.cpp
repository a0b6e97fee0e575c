// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/document/change_event.hpp"

namespace coppice::designer {
namespace {

Aspects difference(const Node& a, const Node& b) {
  Aspects aspects;
  aspects.setFlag(Aspect::facts, a.facts != b.facts);
  aspects.setFlag(Aspect::structure, a.facts.box != b.facts.box);
  aspects.setFlag(Aspect::names, a.facts.name != b.facts.name);
  aspects.setFlag(Aspect::position, a.drawing.position != b.drawing.position || a.drawing.width != b.drawing.width);
  aspects.setFlag(Aspect::marks, a.drawing.isPinned != b.drawing.isPinned || a.drawing.role != b.drawing.role ||
                                     a.drawing.isPlaced != b.drawing.isPlaced || a.drawing.extra != b.drawing.extra);
  return aspects;
}

Aspects difference(const Link& a, const Link& b) {
  Aspects aspects = Aspect::facts;
  aspects.setFlag(Aspect::structure, a.tail != b.tail || a.head != b.head);
  return aspects;
}

Aspects difference(const Box& a, const Box& b) {
  Aspects aspects;
  aspects.setFlag(Aspect::facts, a.name != b.name || a.parent != b.parent);
  aspects.setFlag(Aspect::structure, a.parent != b.parent);
  aspects.setFlag(Aspect::names, a.name != b.name);
  aspects.setFlag(Aspect::position, a.frame != b.frame);
  aspects.setFlag(Aspect::fold, a.isFolded != b.isFolded);
  aspects.setFlag(Aspect::marks, a.type != b.type || a.extra != b.extra);
  return aspects;
}

Aspects difference(const Note& a, const Note& b) {
  Aspects aspects;
  aspects.setFlag(Aspect::names, a.text != b.text);
  aspects.setFlag(Aspect::position, a.position != b.position || a.width != b.width);
  aspects.setFlag(Aspect::marks, a.extra != b.extra);
  return aspects;
}

template <typename Element>
void collect(const std::vector<Swap<Element>>& swaps, Aspects whole, ElementChanges<Element>& changes,
             Aspects& aspects) {
  for (const Swap<Element>& swap : swaps) {
    if (!swap.before) {
      changes.added.push_back(swap.id);
      aspects |= whole;
    } else if (!swap.after) {
      changes.removed.push_back(swap.id);
      aspects |= whole;
    } else {
      changes.changed.push_back(swap.id);
      aspects |= difference(*swap.before, *swap.after);
    }
  }
}

}  // namespace

ChangeEvent ChangeEvent::of(const Patch& patch) {
  ChangeEvent event;
  collect(patch.nodes, Aspect::structure | Aspect::facts, event.nodes, event.aspects);
  collect(patch.links, Aspect::structure | Aspect::facts, event.links, event.aspects);
  collect(patch.boxes, Aspect::structure, event.boxes, event.aspects);
  collect(patch.notes, Aspect::structure, event.notes, event.aspects);
  if (patch.header) {
    event.aspects |= Aspect::header;
    event.aspects.setFlag(Aspect::names, patch.header->before.name != patch.header->after.name);
    event.aspects |= Aspect::facts;
  }
  return event;
}

}  // namespace coppice::designer
