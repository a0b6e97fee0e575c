// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "designer/document/document.hpp"
#include "fabric/description.hpp"
#include "fabric/edited_fabric.hpp"

namespace coppice::designer {

/// What a job works on: the facts at one revision, and which element each of their entries is.
struct Snapshot {
  std::uint64_t factRevision = 0;
  std::shared_ptr<const fabric::Description> facts;
  std::vector<NodeId> nodes;  ///< by index into facts->nodes, which is the index into fabric::Fabric::nodes() too
  std::vector<LinkId> links;  ///< by index into facts->links
  std::vector<std::pair<NodeId, NodeId>> ends;  ///< as links: src and dst; invalid = known by name only

  static Snapshot of(const Document& document);
  static Snapshot of(const Model& model);
  /// All of it as one change of an empty fabric.
  [[nodiscard]] fabric::FabricDelta delta() const;
};

}  // namespace coppice::designer
