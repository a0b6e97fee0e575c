// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "designer/document/model.hpp"

/// A document as `.fabric.json`: the facts as core writes them, then a section "drawing" with all that is not a fact
/// (resources/schema/fabric.schema.json). Nothing else reads or writes that section.
namespace coppice::designer {

/// A model and what was odd about its drawing (a section of another shape is kept as it is and said so).
struct ReadModel {
  Model model;
  std::vector<Finding> findings;
};

/// The model of a description: ids from 1 in the order of the nodes and links, boxes from the nodes' paths and from the
/// drawing section. Nodes without a position get one by a quick arrangement and stay isPlaced == false.
/// Never fails: a Description may hold any faults. Equal descriptions give equal models, ids included.
ReadModel readModel(const fabric::Description& description);
/// readModel() with every node at a place of its own making (quickArrangement), as if a person had put it there: for
/// presets, whose own places are made without a canvas in mind.
[[nodiscard]] ReadModel readArranged(const fabric::Description& description);

/// io::readFabricJson, then readModel. Errors: as the former.
Result<ReadModel> readFabricFile(std::string_view text, const std::string& fileName);

/// The text of the file. Equal models give equal bytes, and reading the text gives a model with the same text again.
std::string writeFabricFile(const Model& model);

}  // namespace coppice::designer
