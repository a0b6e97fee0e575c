// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/packing/parent_exchange.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace coppice::forestcoll {
namespace {

using std::int64_t;
using Small = TreeTable::Small;
using Word = std::uint64_t;

constexpr int kUnseen = -2;
constexpr int kFirst = -1;
constexpr int kUnknown = -1;
constexpr int kNobody = -2;

}  // namespace

void ParentExchange::open(int node, std::span<const Small> limits) {
  m_node = node;
  m_arcs = m_table.arcsInto(node);
  const std::size_t trees = static_cast<std::size_t>(m_table.treeCount());
  const std::size_t stride = (trees + 63) / 64 * 64;
  m_words = stride / 64;
  m_mayTake.assign(m_arcs.size() * m_words, 0);
  m_takes.assign(m_arcs.size() * m_words, 0);
  m_choices.assign(stride, 0);
  m_bytes.assign(stride, 0);
  m_highest.assign(stride, 0);
  m_blockedFrom.assign(m_arcs.size(), std::numeric_limits<int64_t>::max());
  m_movers.assign(m_arcs.size() * m_arcs.size(), kUnknown);
  const Small* const below = m_table.below(node);
  const Small* const parents = m_table.parents(node);
  for (std::size_t t = 0; t < trees; ++t) {
    m_highest[t] = parents[t] == TreeTable::kIsRoot || limits[t] < below[t] ? Small{0} : Small(limits[t] - below[t]);
    if (parents[t] < TreeTable::kIsRoot) {
      m_takes[parents[t] * m_words + t / 64] |= Word{1} << (t % 64);
    }
  }
  m_withRoom.clear();
  for (std::size_t i = 0; i < m_arcs.size(); ++i) {
    if (m_table.room(m_arcs[i]) > 0) {
      m_withRoom.push_back(static_cast<int>(i));
    }
    const Small* const levels = m_table.levels(m_table.tailOf(m_arcs[i]));
    // Separate memory, so that the loops run in wide registers.
    std::uint8_t* const __restrict bytes = m_bytes.data();
    Small* const __restrict choices = m_choices.data();
    const Small* const __restrict highest = m_highest.data();
    for (std::size_t t = 0; t < trees; ++t) {
      const bool isLow = levels[t] < highest[t];
      bytes[t] = isLow ? 1 : 0;
      choices[t] = static_cast<Small>(choices[t] + (isLow ? 1 : 0));
    }
    Word* const bits = m_mayTake.data() + i * m_words;
    for (std::size_t t = 0; t < trees; t += 8) {
      Word eight = 0;
      std::memcpy(&eight, m_bytes.data() + t, 8);
      bits[t / 64] |= (eight * 0x0102040810204080U >> 56) << (t % 64);  // eight bytes of 0 or 1 to eight bits
    }
  }
  m_work += static_cast<int64_t>(m_arcs.size() * trees / 8 + trees);
}

bool ParentExchange::mayTake(std::size_t place, int tree) const {
  return (m_mayTake[place * m_words + static_cast<std::size_t>(tree) / 64] >> (tree % 64) & 1U) != 0;
}

bool ParentExchange::isBlocked(std::size_t place, const Wish& wish) const {
  return m_blockedFrom[place] <= (wish.mayCut ? 1 : m_table.copies(wish.tree));
}

bool ParentExchange::closesCycle(int tail, int tree) const {
  return m_table.below(m_node, tree) > 0 && m_table.level(tail, tree) > m_table.level(m_node, tree) &&
         m_table.isUnder(tree, tail, m_node);
}

bool ParentExchange::place(const Wish& wish) {
  const int tree = wish.tree;
  const int own = m_table.place(m_node, tree);
  const auto mayGo = [&](int place) {
    const int tail = m_table.tailOf(m_arcs[place]);
    return place != own && mayTake(static_cast<std::size_t>(place), tree) &&
           m_table.level(tail, tree) + 1 + m_table.below(m_node, tree) <= wish.maxHeight && !closesCycle(tail, tree) &&
           (wish.notUnder < 0 || !m_table.isUnder(tree, tail, wish.notUnder));
  };
  const auto roomAt = [&](int place) { return m_table.room(m_arcs[place]); };
  // Mostly some arc has room as it is.
  int best = -1;
  std::erase_if(m_withRoom, [&](int place) {
    if (roomAt(place) >= m_table.copies(tree) && (best < 0 || roomAt(place) > roomAt(best)) && mayGo(place)) {
      best = place;
    }
    return roomAt(place) == 0;
  });
  m_work += static_cast<int64_t>(m_withRoom.size());
  if (best >= 0) {
    m_steps.resize(m_arcs.size());
    m_steps[best] = {kFirst, tree, m_table.copies(tree)};
    m_goal = best;
    followPath();
    return true;
  }
  m_starts.clear();
  for (int place = 0; place < static_cast<int>(m_arcs.size()); ++place) {
    if (!isBlocked(static_cast<std::size_t>(place), wish) && mayGo(place)) {
      m_starts.push_back(place);
    }
  }
  m_work += static_cast<int64_t>(m_arcs.size());
  if (m_starts.empty()) {
    return false;
  }
  if (search(wish, false)) {
    followPath();
    return true;
  }
  if (wish.mayCut && search(wish, true)) {
    cutPath();
    followPath();
    return true;
  }
  if (own >= TreeTable::kIsRoot) {
    // What the search has seen has no room for this many copies (with cuts, for none) and gets none: no path leads out.
    for (const int place : m_queue) {
      m_blockedFrom[place] = std::min(m_blockedFrom[place], wish.mayCut ? 1 : m_table.copies(tree));
    }
  }
  return false;
}

bool ParentExchange::search(const Wish& wish, bool inParts) {
  const int own = m_table.place(m_node, wish.tree);
  m_steps.assign(m_arcs.size(), Step{kUnseen, -1, 0});
  m_queue = m_starts;
  for (const int place : m_queue) {
    m_steps[place] = {kFirst, wish.tree, m_table.copies(wish.tree)};
  }
  const auto roomAt = [&](int place) {
    return m_table.room(m_arcs[place]) + (place == own ? m_table.copies(wish.tree) : int64_t{0});
  };
  const auto isGoal = [&](int place) { return inParts ? roomAt(place) > 0 : roomAt(place) >= m_steps[place].copies; };
  m_goal = -1;
  for (const int place : m_starts) {
    if (isGoal(place) && (m_goal < 0 || roomAt(place) > roomAt(m_goal))) {
      m_goal = place;
    }
  }
  if (m_goal >= 0) {
    return true;
  }
  for (std::size_t i = 0; i < m_queue.size(); ++i) {
    const int place = m_queue[i];
    const int64_t needed = inParts ? 1 : m_steps[place].copies - roomAt(place);
    for (std::size_t j = 0; j < m_arcs.size(); ++j) {
      if (m_steps[j].from != kUnseen || isBlocked(j, wish)) {
        continue;
      }
      ++m_work;
      const int mover = findMover(static_cast<std::size_t>(place), j, needed, wish.tree);
      if (mover >= 0) {
        m_steps[j] = {place, mover, m_table.copies(mover)};
        m_queue.push_back(static_cast<int>(j));
        if (isGoal(m_queue.back())) {
          m_goal = m_queue.back();
          return true;
        }
      }
    }
  }
  return false;
}

/// A tree but the given one on an arc that may go to the other and has at least that many copies, or -1.
int ParentExchange::findMover(std::size_t from, std::size_t to, int64_t copies, int except) {
  // What was found last time is mostly still there; where nothing was found, something must have been added since.
  int& known = m_movers[from * m_arcs.size() + to];
  if (known == kNobody) {
    return -1;
  }
  const auto isGood = [&](int tree) { return tree != except && m_table.copies(tree) >= copies; };
  if (known != kUnknown && m_table.place(m_node, known) == static_cast<int>(from) && isGood(known)) {
    return known;
  }
  const Word* const takes = m_takes.data() + from * m_words;
  const Word* const may = m_mayTake.data() + to * m_words;
  const int tail = m_table.tailOf(m_arcs[to]);
  bool isEmpty = true;
  for (std::size_t w = 0; w < m_words; ++w) {
    for (Word both = takes[w] & may[w]; both != 0; both &= both - 1) {
      const int tree = static_cast<int>(w) * 64 + __builtin_ctzll(both);
      if (closesCycle(tail, tree)) {
        continue;
      }
      if (isGood(tree)) {
        m_work += static_cast<int64_t>(w) / 4;
        known = tree;
        return tree;
      }
      isEmpty = false;
    }
  }
  m_work += static_cast<int64_t>(m_words) / 4;
  known = isEmpty ? kNobody : kUnknown;
  return -1;
}

/// Cuts all trees on the path to the copies that get through.
void ParentExchange::cutPath() {
  const int first = [&] {
    int place = m_goal;
    while (m_steps[place].from != kFirst) {
      place = m_steps[place].from;
    }
    return m_steps[place].tree;
  }();
  int64_t amount = m_table.room(m_arcs[m_goal]);
  if (m_table.place(m_node, first) == m_goal) {
    amount += m_table.copies(first);
  }
  for (int place = m_goal; place != kFirst; place = m_steps[place].from) {
    amount = std::min(amount, m_steps[place].copies);
  }
  for (int place = m_goal; place != kFirst; place = m_steps[place].from) {
    const int tree = m_steps[place].tree;
    if (m_table.copies(tree) > amount) {
      split(tree, m_table.copies(tree) - amount);
    }
  }
}

void ParentExchange::split(int tree, int64_t part) {
  const int fresh = m_table.split(tree, part);
  if (static_cast<std::size_t>(fresh) >= m_words * 64) {
    const auto widen = [&](std::vector<Word>& bits) {
      std::vector<Word> wider(m_arcs.size() * (m_words + 1), 0);
      for (std::size_t i = 0; i < m_arcs.size(); ++i) {
        std::copy_n(bits.begin() + static_cast<std::ptrdiff_t>(i * m_words), m_words,
                    wider.begin() + static_cast<std::ptrdiff_t>(i * (m_words + 1)));
      }
      bits = std::move(wider);
    };
    widen(m_mayTake);
    widen(m_takes);
    ++m_words;
    m_choices.resize(m_words * 64, 0);
  }
  m_choices[fresh] = m_choices[tree];
  const Word bit = Word{1} << (fresh % 64);
  for (std::size_t i = 0; i < m_arcs.size(); ++i) {
    const std::size_t row = i * m_words;
    if (mayTake(i, tree)) {
      m_mayTake[row + static_cast<std::size_t>(fresh) / 64] |= bit;
    }
    if ((m_takes[row + static_cast<std::size_t>(tree) / 64] >> (tree % 64) & 1U) != 0) {
      m_takes[row + static_cast<std::size_t>(fresh) / 64] |= bit;
    }
  }
}

void ParentExchange::followPath() {
  // All leave before anyone arrives.
  for (int place = m_goal; place != kFirst; place = m_steps[place].from) {
    const int tree = m_steps[place].tree;
    const int old = m_table.place(m_node, tree);
    if (old < TreeTable::kIsRoot) {
      m_takes[static_cast<std::size_t>(old) * m_words + static_cast<std::size_t>(tree) / 64] &=
          ~(Word{1} << (tree % 64));
      m_table.detach(m_node, tree);
      m_withRoom.push_back(old);
    }
  }
  for (int place = m_goal; place != kFirst; place = m_steps[place].from) {
    const int tree = m_steps[place].tree;
    m_takes[static_cast<std::size_t>(place) * m_words + static_cast<std::size_t>(tree) / 64] |= Word{1} << (tree % 64);
    m_table.attach(m_node, tree, place);
    int* const movers = m_movers.data() + static_cast<std::size_t>(place) * m_arcs.size();
    for (std::size_t j = 0; j < m_arcs.size(); ++j) {
      if (movers[j] == kNobody && mayTake(j, tree)) {
        movers[j] = kUnknown;
      }
    }
  }
}

}  // namespace coppice::forestcoll
