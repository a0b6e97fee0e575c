// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace coppice::verify {

/// What actors (threadblocks, callers of ranks, ends of port channels) know of each other, as a graph of moments: a
/// moment knows what those before it know. Nothing is worked out until it is asked; then the graph is searched
/// backwards, the asker's own past first, then the past of those whom it heard, and so on. What is asked lies near,
/// where a vector clock would carry everything along everywhere.
class MscclppHistory {
public:
  /// A state of knowledge; -1 = nothing is known.
  using Moment = std::int32_t;
  static constexpr Moment kNothing = -1;

  explicit MscclppHistory(std::size_t actors) : m_marks(actors), m_best(actors), m_bestOf(actors, 0) {}

  /// What `mine` knows and `other` knows. @param actor whose moment it is
  Moment join(std::int32_t actor, Moment mine, Moment other);
  /// The actor has ended the next of its epochs, which count from 1.
  Moment mark(std::int32_t actor, Moment mine);
  [[nodiscard]] std::uint32_t epochOf(std::int32_t actor) const {
    return static_cast<std::uint32_t>(m_marks[static_cast<std::size_t>(actor)].size());
  }
  /// Whether that much of what an actor did is known at a moment.
  [[nodiscard]] bool knows(Moment at, std::int32_t actor, std::uint32_t epoch);

private:
  struct Node {
    Moment mine = kNothing;
    Moment other = kNothing;
    std::int32_t actor = -1;
  };

  Moment add(const Node& node);
  bool search(std::int32_t actor, Moment from);

  std::vector<Node> m_nodes;                 ///< what comes before has a smaller number
  std::vector<std::vector<Moment>> m_marks;  ///< by actor and epoch
  // Of the search from one moment, which later questions continue.
  Moment m_at = kNothing;
  std::uint32_t m_search = 0;
  std::vector<std::uint32_t> m_visits;  ///< by node: the search that came there last
  std::vector<Moment> m_best;           ///< by actor: its latest moment that was found
  std::vector<std::uint32_t> m_bestOf;  ///< by actor: in which search
  std::vector<Moment> m_open;           ///< this far from the asker
  std::vector<Moment> m_next;           ///< one message further
  std::vector<Moment> m_old;            ///< before everything that was asked for
  Moment m_oldFrom = 0;                 ///< those are before this one
};

}  // namespace coppice::verify
