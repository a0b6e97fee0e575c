// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/document/patch.hpp"

#include <iterator>
#include <utility>

namespace coppice::designer {
namespace {

template <typename Element>
std::vector<Swap<Element>> reversedList(const std::vector<Swap<Element>>& list) {
  std::vector<Swap<Element>> result;
  result.reserve(list.size());
  for (const Swap<Element>& swap : list) {
    result.push_back({swap.id, swap.after, swap.before});
  }
  return result;
}

template <typename Element>
std::vector<Swap<Element>> mergedLists(std::vector<Swap<Element>> first, std::vector<Swap<Element>> later) {
  std::vector<Swap<Element>> result;
  result.reserve(first.size() + later.size());
  auto a = first.begin();
  auto b = later.begin();
  while (a != first.end() || b != later.end()) {
    if (b == later.end() || (a != first.end() && a->id < b->id)) {
      result.push_back(std::move(*a++));
    } else if (a == first.end() || b->id < a->id) {
      result.push_back(std::move(*b++));
    } else {
      if (a->before != b->after) {
        result.push_back({a->id, std::move(a->before), std::move(b->after)});
      }
      ++a;
      ++b;
    }
  }
  return result;
}

}  // namespace

Patch Patch::reversed() const {
  Patch result{reversedList(nodes), reversedList(links), reversedList(boxes), reversedList(notes), std::nullopt};
  if (header) {
    result.header = HeaderSwap{header->after, header->before};
  }
  return result;
}

void Patch::mergeWith(Patch later) {
  nodes = mergedLists(std::move(nodes), std::move(later.nodes));
  links = mergedLists(std::move(links), std::move(later.links));
  boxes = mergedLists(std::move(boxes), std::move(later.boxes));
  notes = mergedLists(std::move(notes), std::move(later.notes));
  if (header && later.header) {
    header->after = std::move(later.header->after);
    if (header->before == header->after) {
      header.reset();
    }
  } else if (later.header) {
    header = std::move(later.header);
  }
}

}  // namespace coppice::designer
