// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/document/instances.hpp"

#include <algorithm>
#include <string>

namespace coppice::designer {
namespace {

/// Boxes below and including, in the state of the edit.
std::vector<BoxId> boxesWithin(const Edit& edit, BoxId id) {
  std::vector<BoxId> result{id};
  for (std::size_t i = 0; i < result.size(); ++i) {
    for (const BoxId inner : edit.boxesIn(result[i])) {
      result.push_back(inner);
    }
  }
  return result;
}

std::vector<BoxId> allBoxes(const Edit& edit) {
  std::vector<BoxId> result = boxesWithin(edit, {});
  result.erase(result.begin());
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace

BoxId instanceOf(const Edit& edit, NodeId id) {
  const Node* node = edit.find(id);
  BoxId result;
  for (BoxId at = node != nullptr ? node->facts.box : BoxId{}; at.isValid();) {
    const Box* box = edit.find(at);
    if (box == nullptr) {
      break;
    }
    if (!box->type.empty()) {
      result = at;
    }
    at = box->parent;
  }
  return result;
}

std::vector<BoxId> instancesOf(const Edit& edit, std::string_view type) {
  std::vector<BoxId> result;
  if (!type.empty()) {
    for (const BoxId id : allBoxes(edit)) {
      if (edit.find(id)->type == type) {
        result.push_back(id);
      }
    }
  }
  return result;
}

const std::map<std::string, NodeId, std::less<>>& Counterparts::rolesOf(BoxId instance) {
  const auto [found, isNew] = m_roles.try_emplace(instance);
  if (isNew) {
    for (const BoxId box : boxesWithin(m_edit, instance)) {
      for (const NodeId id : m_edit.nodesIn(box)) {
        const std::string& role = m_edit.find(id)->drawing.role;
        if (!role.empty()) {
          found->second.try_emplace(role, id);
        }
      }
    }
  }
  return found->second;
}

std::vector<BoxId> Counterparts::otherInstances(NodeId id) {
  const BoxId own = instanceOf(m_edit, id);
  if (!own.isValid()) {
    return {};
  }
  const std::string type = m_edit.find(own)->type;
  const auto [found, isNew] = m_instances.try_emplace(type);
  if (isNew) {
    found->second = instancesOf(m_edit, type);
  }
  std::vector<BoxId> result = found->second;
  std::erase(result, own);
  return result;
}

NodeId Counterparts::in(BoxId instance, NodeId id) {
  const Node* node = m_edit.find(id);
  if (node == nullptr || node->drawing.role.empty()) {
    return {};
  }
  const auto& roles = rolesOf(instance);
  const auto found = roles.find(node->drawing.role);
  return found != roles.end() ? found->second : NodeId{};
}

std::vector<NodeId> Counterparts::of(NodeId id) {
  std::vector<NodeId> result;
  for (const BoxId instance : otherInstances(id)) {
    if (const NodeId other = in(instance, id); other.isValid()) {
      result.push_back(other);
    }
  }
  return result;
}

std::vector<LinkId> Counterparts::of(LinkId id) {
  const Link* link = m_edit.find(id);
  if (link == nullptr || !link->tail.node.isValid() || !link->head.node.isValid()) {
    return {};
  }
  const BoxId own = instanceOf(m_edit, link->tail.node);
  if (!own.isValid() || own != instanceOf(m_edit, link->head.node)) {
    return {};
  }
  const auto between = [&](NodeId tail, NodeId head) {
    std::vector<LinkId> result;
    for (const LinkId candidate : m_edit.linksOf(tail)) {
      const Link* other = m_edit.find(candidate);
      if (other->tail.node == tail && other->head.node == head) {
        result.push_back(candidate);
      }
    }
    return result;
  };
  const std::vector<LinkId> here = between(link->tail.node, link->head.node);
  const auto place = static_cast<std::size_t>(std::find(here.begin(), here.end(), id) - here.begin());
  std::vector<LinkId> result;
  for (const BoxId instance : otherInstances(link->tail.node)) {
    const NodeId tail = in(instance, link->tail.node);
    const NodeId head = in(instance, link->head.node);
    if (tail.isValid() && head.isValid()) {
      const std::vector<LinkId> there = between(tail, head);
      if (place < there.size()) {
        result.push_back(there[place]);
      }
    }
  }
  return result;
}

void makeType(Edit& edit, BoxId id) {
  const Box* box = edit.find(id);
  if (box == nullptr) {
    return;
  }
  if (box->type.empty()) {
    std::string type = box->name;
    for (int number = 2; !instancesOf(edit, type).empty(); ++number) {
      type = box->name + " " + std::to_string(number);
    }
    edit.change(id, [&](Box& changed) { changed.type = type; });
  }
  std::set<std::string> taken;
  std::vector<NodeId> without;
  for (const BoxId inner : boxesWithin(edit, id)) {
    for (const NodeId node : edit.nodesIn(inner)) {
      const std::string& role = edit.find(node)->drawing.role;
      if (role.empty() || !taken.insert(role).second) {
        without.push_back(node);
      }
    }
  }
  for (const NodeId node : without) {
    const std::string name = edit.find(node)->facts.name;
    std::string role = name;
    for (int number = 2; !taken.insert(role).second; ++number) {
      role = name + "." + std::to_string(number);
    }
    edit.change(node, [&](Node& changed) { changed.drawing.role = role; });
  }
}

void detach(Edit& edit, BoxId id) {
  edit.change(id, [](Box& box) { box.type.clear(); });
  for (const BoxId inner : boxesWithin(edit, id)) {
    for (const NodeId node : edit.nodesIn(inner)) {
      edit.change(node, [](Node& changed) { changed.drawing.role.clear(); });
    }
  }
}

}  // namespace coppice::designer
