// SPDX-License-Identifier: Apache-2.0
#include "live/bound_follower.hpp"

#include <algorithm>
#include <utility>

#include "live/live_state.hpp"

namespace coppice::live {

using fabric::EditedFabric;
using fabric::Key;

namespace {

// What is kept grows with every edit: nodes that are gone and the history. Now and then it starts again.
constexpr int kMaxUpdates = 2000;
constexpr int kSlack = 64;

}  // namespace

Result<Answer> BoundFollower::answer(EditedFabric& fabric, const forestcoll::Request& request, Key root,
                                     const Progress& progress) {
  EditedFabric::Changes changes = fabric.takeChanges();
  const bool fits = m_bound && m_collective == request.collective && m_root == root && m_updates < kMaxUpdates &&
                    m_bound->nodeLimit() <= 2 * static_cast<int>(fabric.nodes().size()) + kSlack;
  if (fits) {
    ++m_updates;
    std::vector<Key> added;
    const std::vector<Edit> edits = editsOf(fabric, std::move(changes), added);
    Result<Answer> answer = edits.empty() ? m_bound->bound(progress) : m_bound->apply(edits, progress);
    if (answer || answer.error().code == ErrorCode::cancelled) {
      enter(fabric, added);
      return answer;
    }
  }
  m_bound.reset();
  Result<LiveBound> made = LiveBound::create(fabric, request);
  if (!made) {
    return made.error();
  }
  m_bound.emplace(std::move(*made));
  m_collective = request.collective;
  m_root = root;
  m_updates = 0;
  m_nodes.clear();
  m_keys.clear();
  std::vector<Key> all;
  for (const auto& [key, node] : fabric.nodes()) {
    all.push_back(key);
  }
  enter(fabric, all);
  return m_bound->bound(progress);
}

std::vector<BoundFollower::OrderedGpu> BoundFollower::orderedGpus() {
  std::vector<OrderedGpu> gpus;
  const std::vector<LiveState::HalfView> halves = m_bound->state().halves();
  if (halves.size() == 1 || halves[0].engine == halves[1].engine) {
    for (const CutEngine::OrderedSink& sink : halves[0].engine->orderedSinks()) {
      gpus.push_back({keyOf(sink.node), sink.canBeTight});
    }
  }
  return gpus;
}

void BoundFollower::enter(const EditedFabric& fabric, const std::vector<Key>& added) {
  m_keys.resize(m_bound->nodeLimit(), 0);
  for (const Key key : added) {
    const NodeId node = *m_bound->find(fabric.find(key)->facts.id);
    m_nodes[key] = node;
    m_keys[node] = key;
  }
}

std::vector<Edit> BoundFollower::editsOf(const EditedFabric& fabric, EditedFabric::Changes changes,
                                         std::vector<Key>& added) {
  std::vector<Edit> removals;
  std::vector<Edit> edits;
  for (const Key key : changes.nodes) {
    const EditedFabric::Node* now = fabric.find(key);
    const auto known = m_nodes.find(key);
    const bool isKept = known != m_nodes.end() && now != nullptr && now->kind == m_bound->kind(known->second);
    if (isKept) {
      if (now->facts.id != m_bound->id(known->second) || now->facts.box != m_bound->box(known->second)) {
        edits.emplace_back(ChangeNode{known->second, now->facts.id, now->facts.box});
      }
      continue;
    }
    if (known != m_nodes.end()) {
      removals.emplace_back(RemoveNode{m_bound->id(known->second)});
      m_nodes.erase(known);
    }
    if (now != nullptr) {
      added.push_back(key);
    }
  }
  for (const Key key : added) {
    const EditedFabric::Node& node = *fabric.find(key);
    edits.emplace_back(AddNode{node.facts.id, *node.kind, node.facts.box});
  }
  if (!added.empty()) {
    // A node of another kind is another node, but its links are the same.
    for (const auto& [ends, arc] : fabric.arcs()) {
      if (std::binary_search(added.begin(), added.end(), ends.first) ||
          std::binary_search(added.begin(), added.end(), ends.second)) {
        changes.arcs.insert(ends);
      }
    }
  }
  for (const EditedFabric::Ends& ends : changes.arcs) {
    const EditedFabric::Node* tail = fabric.find(ends.first);
    const EditedFabric::Node* head = fabric.find(ends.second);
    if (tail != nullptr && head != nullptr) {
      const auto arc = fabric.arcs().find(ends);
      edits.emplace_back(
          SetArc{tail->facts.id, head->facts.id, arc == fabric.arcs().end() ? Bandwidth() : arc->second.bandwidth});
    }
  }
  removals.insert(removals.end(), std::make_move_iterator(edits.begin()), std::make_move_iterator(edits.end()));
  return removals;
}

}  // namespace coppice::live
