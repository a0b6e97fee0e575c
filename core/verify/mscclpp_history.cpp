// SPDX-License-Identifier: Apache-2.0
#include "verify/mscclpp_history.hpp"

#include <utility>

namespace coppice::verify {

MscclppHistory::Moment MscclppHistory::add(const Node& node) {
  m_nodes.push_back(node);
  m_visits.push_back(0);
  return static_cast<Moment>(m_nodes.size()) - 1;
}

MscclppHistory::Moment MscclppHistory::join(std::int32_t actor, Moment mine, Moment other) {
  if (other == kNothing || other == mine) {
    return mine;
  }
  return mine == kNothing ? other : add({.mine = mine, .other = other, .actor = actor});
}

MscclppHistory::Moment MscclppHistory::mark(std::int32_t actor, Moment mine) {
  const Moment made = add({.mine = mine, .actor = actor});
  m_marks[static_cast<std::size_t>(actor)].push_back(made);
  return made;
}

bool MscclppHistory::knows(Moment at, std::int32_t actor, std::uint32_t epoch) {
  if (epoch == 0) {
    return true;
  }
  const std::vector<Moment>& marks = m_marks[static_cast<std::size_t>(actor)];
  // What an actor knows never gets less: any later moment of it knows of the earlier ones.
  if (epoch > marks.size() || marks[epoch - 1] > at) {
    return false;
  }
  if (at != m_at) {
    m_at = at;
    ++m_search;
    m_open.assign(1, at);
    m_next.clear();
    m_old.clear();
    m_oldFrom = at;
  }
  const auto index = static_cast<std::size_t>(actor);
  const Moment from = marks[epoch - 1];
  return (m_bestOf[index] == m_search && m_best[index] >= from) || search(actor, from);
}

/// Continues until a moment of the actor from there on is found, or all since then is known.
bool MscclppHistory::search(std::int32_t actor, Moment from) {
  if (from < m_oldFrom) {
    m_oldFrom = from;
    m_open.insert(m_open.end(), m_old.begin(), m_old.end());
    m_old.clear();
  }
  while (!m_open.empty() || !m_next.empty()) {
    if (m_open.empty()) {
      std::swap(m_open, m_next);
    }
    const Moment at = m_open.back();
    m_open.pop_back();
    if (at == kNothing || m_visits[static_cast<std::size_t>(at)] == m_search) {
      continue;
    }
    if (at < m_oldFrom) {
      m_old.push_back(at);
      continue;
    }
    m_visits[static_cast<std::size_t>(at)] = m_search;
    const Node& node = m_nodes[static_cast<std::size_t>(at)];
    m_open.push_back(node.mine);
    m_next.push_back(node.other);
    const auto owner = static_cast<std::size_t>(node.actor);
    if (m_bestOf[owner] != m_search || m_best[owner] < at) {
      m_bestOf[owner] = m_search;
      m_best[owner] = at;
      if (node.actor == actor && at >= from) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace coppice::verify
