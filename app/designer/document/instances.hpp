// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "designer/document/edit.hpp"

/// Boxes as a type. Boxes with one type name are instances of it; a node is known within each by its role, a link by
/// the roles of its two ends and its place among the links between them. Roles of nested boxes' nodes belong to the
/// outermost box that has a type around them.
namespace coppice::designer {

/// The box whose type the node's role belongs to; invalid if it is in no instance.
[[nodiscard]] BoxId instanceOf(const Edit& edit, NodeId id);
/// All boxes of the type, ascending.
[[nodiscard]] std::vector<BoxId> instancesOf(const Edit& edit, std::string_view type);

/// Finds counterparts; asks the edit once for each type, so make a new one after the structure has changed.
class Counterparts {
public:
  explicit Counterparts(const Edit& edit) : m_edit(edit) {}

  /// The nodes of the same role in the other instances.
  std::vector<NodeId> of(NodeId id);
  /// Links between nodes of the same roles in the other instances.
  std::vector<LinkId> of(LinkId id);
  /// The counterpart in the other instance; invalid if there is none.
  NodeId in(BoxId instance, NodeId id);
  /// The other instances of the type that the node's box is of.
  std::vector<BoxId> otherInstances(NodeId id);

private:
  const std::map<std::string, NodeId, std::less<>>& rolesOf(BoxId instance);

  const Edit& m_edit;
  std::map<BoxId, std::map<std::string, NodeId, std::less<>>> m_roles;
  std::map<std::string, std::vector<BoxId>, std::less<>> m_instances;
};

/// Gives the box a type (its name, made free) unless it has one, and every node in it a role unless it has one.
void makeType(Edit& edit, BoxId id);
/// The box is no longer an instance: its own edits stay its own.
void detach(Edit& edit, BoxId id);

}  // namespace coppice::designer
