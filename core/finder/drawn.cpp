// SPDX-License-Identifier: Apache-2.0
#include "finder/drawn.hpp"

#include <algorithm>
#include <utility>

namespace coppice::finder {
namespace {

constexpr Drawn kDrawn[] = {
    {"Diamond", 8, 2, 3},     {"DBJMod(2,3)", 8, 2, 4},  {"DBJMod(2,4)", 16, 2, 5},
    {"DBJMod(3,2)", 9, 3, 3}, {"DBJMod(4,2)", 16, 4, 3},
};

void addNotes(const Construction& construction, std::vector<std::string>& notes) {
  if (construction.operation == Operation::quoted) {
    std::string note = construction.label + " is only drawn in the dissertation; a fabric has " +
                       nameOf(*standIn(construction.label)) +
                       " in its place, with as many nodes and ports, the same T_B, and no more steps";
    if (std::find(notes.begin(), notes.end(), note) == notes.end()) {
      notes.push_back(std::move(note));
    }
  }
  for (const ConstructionPtr& part : construction.parts) {
    addNotes(*part, notes);
  }
}

}  // namespace

std::span<const Drawn> drawnGraphs() {
  return kDrawn;
}

ConstructionPtr standIn(std::string_view name) {
  if (name == "Diamond" || name == "DBJMod(2,3)") {
    return cayleyOf({8, 1, 1}, {{5, 0}, {7, 0}});
  }
  if (name == "DBJMod(2,4)") {
    return cayleyOf({8, 2, 3}, {{1, 1}, {3, 0}});
  }
  if (name == "DBJMod(3,2)") {
    return cayleyOf({3, 3, 1}, {{0, 1}, {1, 1}, {1, 2}});
  }
  if (name == "DBJMod(4,2)") {
    return base(Operation::denseCirculant, {16, 1});
  }
  return nullptr;
}

std::vector<std::string> standInNotes(const Construction& construction) {
  std::vector<std::string> notes;
  addNotes(construction, notes);
  return notes;
}

}  // namespace coppice::finder
