// SPDX-License-Identifier: Apache-2.0
#include "forestcoll/boxes/two_level_entries.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "base/checked.hpp"

namespace coppice::forestcoll {
namespace {

using std::int64_t;

/// Raises `values` evenly, from the lowest up, until they sum to `target`; none above its limit. False where the limits
/// do not let them.
bool raiseEvenly(std::vector<int64_t>& values, const std::vector<int64_t>& limits, int64_t target) {
  int64_t sum = std::accumulate(values.begin(), values.end(), int64_t{0});
  if (std::accumulate(limits.begin(), limits.end(), int64_t{0}) < target) {
    return false;
  }
  if (sum >= target) {
    return true;
  }
  const std::vector<int64_t> start = values;
  const auto raisedTo = [&](int64_t level) {
    int64_t total = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = std::max(start[i], std::min(level, limits[i]));
      total += values[i];
    }
    return total;
  };
  int64_t low = 0;  // too little
  int64_t high = *std::max_element(limits.begin(), limits.end());
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (raisedTo(middle) >= target ? high : low) = middle;
  }
  sum = raisedTo(high);
  for (std::size_t i = 0; i < values.size() && sum > target; ++i) {
    if (values[i] == high && start[i] < high) {
      --values[i];
      --sum;
    }
  }
  return true;
}

/// Deals to takers in proportion to what each is to have in all: the one whose share is dealt the least comes next
/// (stride scheduling), so that every run of turns is even and the sum of all is exact.
class Turns {
public:
  void add(int taker, int64_t all) {
    if (all > 0) {
      m_heap.push_back({0, all, taker});
      std::push_heap(m_heap.begin(), m_heap.end(), isLater);
    }
  }
  /// @pre something is left
  int next() {
    std::pop_heap(m_heap.begin(), m_heap.end(), isLater);
    Turn& turn = m_heap.back();
    const int taker = turn.taker;
    if (++turn.dealt == turn.all) {
      m_heap.pop_back();
    } else {
      std::push_heap(m_heap.begin(), m_heap.end(), isLater);
    }
    return taker;
  }

private:
  struct Turn {
    int64_t dealt = 0;
    int64_t all = 0;
    int taker = 0;
  };
  /// Whether a comes after b: a heap has the last one at its top.
  static bool isLater(const Turn& a, const Turn& b) {
    const Int128 left = Int128{2 * a.dealt + 1} * b.all;
    const Int128 right = Int128{2 * b.dealt + 1} * a.all;
    return left != right ? left > right : a.taker > b.taker;
  }

  std::vector<Turn> m_heap;
};

}  // namespace

TwoLevelEntries::TwoLevelEntries(const TwoLevelShape& shape, std::vector<int64_t> supply, int nearness,
                                 const Progress& progress)
    : m_shape(shape),
      m_supply(std::move(supply)),
      m_nearness(nearness),
      m_progress(progress),
      m_boxCount(static_cast<int>(shape.boxes.size())),
      m_treesIn(shape.boxes.size(), 0) {
  for (std::size_t rank = 0; rank < m_supply.size(); ++rank) {
    m_treesIn[shape.boxOf[rank]] += m_supply[rank];
    m_treeCount += m_supply[rank];
  }
}

bool TwoLevelEntries::count() {
  findClasses();
  if (!countAtGpus()) {
    return false;
  }
  shareAmongSources();
  return passOn();
}

void TwoLevelEntries::findClasses() {
  std::map<int, int> parent;  // by network
  const auto find = [&](int network) {
    while (parent.at(network) != network) {
      network = parent[network] = parent.at(parent.at(network));
    }
    return network;
  };
  for (const std::vector<int>& networks : m_shape.networksOf) {
    for (const int network : networks) {
      parent.emplace(network, network);
      parent[find(network)] = find(networks.front());
    }
  }
  std::map<int, int> number;
  for (const std::vector<int>& networks : m_shape.networksOf) {
    m_classOf.push_back(
        networks.empty() ? 0 : number.emplace(find(networks.front()), static_cast<int>(number.size())).first->second);
  }
  m_classCount = std::max<int>(1, static_cast<int>(number.size()));
}

bool TwoLevelEntries::countAtGpus() {
  m_at.assign(m_supply.size(), 0);
  for (int box = 0; box < m_boxCount; ++box) {
    const std::vector<int>& gpus = m_shape.boxes[box];
    const int64_t foreign = m_treeCount - treesIn(box);
    const auto size = static_cast<int64_t>(gpus.size());
    std::vector<int64_t> minimum;
    std::vector<int64_t> maximum;
    int64_t inside = 0;  // what the GPUs can pass on to each other besides their own trees
    for (const int rank : gpus) {
      maximum.push_back(std::min(m_shape.outerIn[rank], foreign));
      minimum.push_back(std::max<int64_t>(0, m_treeCount - m_supply[rank] - m_shape.innerIn[rank]));
      if (minimum.back() > maximum.back()) {
        return false;
      }
      inside += m_shape.innerOut[rank] - m_supply[rank] * (size - 1);
    }
    if (!raiseEvenly(minimum, maximum, std::max(foreign, size * foreign - inside))) {
      return false;
    }
    for (std::size_t i = 0; i < minimum.size(); ++i) {
      m_at[gpus[i]] = minimum[i];
    }
  }
  return true;
}

void TwoLevelEntries::shareAmongSources() {
  m_between.assign(static_cast<std::size_t>(m_boxCount) * m_boxCount * m_classCount, 0);
  m_pairSum.assign(static_cast<std::size_t>(m_boxCount) * m_boxCount, 0);
  m_room.assign(static_cast<std::size_t>(m_boxCount) * m_classCount, 0);
  for (std::size_t rank = 0; rank < m_supply.size(); ++rank) {
    room(m_shape.boxOf[rank], m_classOf[rank]) += m_shape.outerOut[rank];
  }
  m_capacity = m_room;
  m_sizeOfClass.assign(m_room.size(), 0);
  for (std::size_t rank = 0; rank < m_supply.size(); ++rank) {
    m_sizeOfClass[static_cast<std::size_t>(m_shape.boxOf[rank]) * m_classCount + m_classOf[rank]] += 1;
  }
  for (int box = 0; box < m_boxCount; ++box) {
    throwIfCancelled(m_progress);
    std::vector<int64_t> ofClass(m_classCount, 0);
    int64_t all = 0;
    for (const int rank : m_shape.boxes[box]) {
      ofClass[m_classOf[rank]] += m_at[rank];
      all += m_at[rank];
    }
    // Sources by their distance to the box: rows and columns are even at once where boxes are equal.
    std::vector<int> sources;
    for (int distance = 1; distance < m_boxCount; ++distance) {
      sources.push_back((box - distance + m_boxCount) % m_boxCount);
    }
    const std::vector<int64_t> shares = sharesOf(box, sources, all);
    for (std::size_t i = 0; i < sources.size(); ++i) {
      m_pairSum[pair(sources[i], box)] = shares[i];
    }
    shareAmongClasses(box, sources, ofClass);
  }
}

/// One entry for each tree and the others in proportion to the trees; but with nearness, boxes under the same leaf take
/// over part of what others have beyond their one, as far as their trees allow.
std::vector<int64_t> TwoLevelEntries::sharesOf(int box, const std::vector<int>& sources, int64_t all) const {
  const int64_t foreign = m_treeCount - treesIn(box);
  std::vector<int64_t> shares;
  int64_t seen = 0;
  int64_t dealt = 0;
  for (const int source : sources) {
    seen += treesIn(source);
    const int64_t until = foreign > 0 ? static_cast<int64_t>(Int128{all} * seen / foreign) : 0;
    shares.push_back(until - dealt);
    dealt = until;
  }
  const auto isNear = [&](int source) { return m_shape.leafOf[source] == m_shape.leafOf[box]; };
  const auto size = static_cast<int64_t>(m_shape.boxes[box].size());
  int64_t spare = 0;  // what far boxes can leave to near ones
  int64_t space = 0;  // what near ones can take
  for (std::size_t i = 0; i < sources.size(); ++i) {
    (isNear(sources[i]) ? space : spare) +=
        isNear(sources[i]) ? treesIn(sources[i]) * size - shares[i] : shares[i] - treesIn(sources[i]);
  }
  const int64_t moved = std::min(spare * m_nearness / kMaxNearness, space);
  if (moved <= 0) {
    return shares;
  }
  int64_t spareSeen = 0;
  int64_t spaceSeen = 0;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    int64_t& passed = isNear(sources[i]) ? spaceSeen : spareSeen;
    const int64_t whole = isNear(sources[i]) ? space : spare;
    const int64_t part = isNear(sources[i]) ? treesIn(sources[i]) * size - shares[i] : shares[i] - treesIn(sources[i]);
    const auto before = static_cast<int64_t>(Int128{moved} * passed / whole);
    passed += part;
    const auto change = static_cast<int64_t>(Int128{moved} * passed / whole) - before;
    shares[i] += isNear(sources[i]) ? change : -change;
  }
  return shares;
}

/// Sources with few classes choose first, each among its own in proportion to what is left there.
void TwoLevelEntries::shareAmongClasses(int box, std::vector<int> sources, std::vector<int64_t> left) {
  const auto classesOf = [&](int source) {
    const auto first = m_capacity.begin() + static_cast<std::ptrdiff_t>(source) * m_classCount;
    return std::count_if(first, first + m_classCount, [](int64_t capacity) { return capacity > 0; });
  };
  std::stable_sort(sources.begin(), sources.end(), [&](int a, int b) { return classesOf(a) < classesOf(b); });
  for (const int source : sources) {
    const int64_t wanted = m_pairSum[pair(source, box)];
    const auto place = static_cast<std::size_t>(source) * m_classCount;
    std::vector<int> order;  // classes that the source can send in, then the others
    for (const bool isOwn : {true, false}) {
      Turns turns;
      int64_t sum = 0;
      for (int i = 0; i < m_classCount; ++i) {
        if ((m_capacity[place + i] > 0) == isOwn) {
          turns.add(i, left[i]);
          sum += left[i];
        }
      }
      const int64_t already = static_cast<int64_t>(order.size());
      for (int64_t n = already; n < std::min(wanted, already + sum); ++n) {
        order.push_back(turns.next());
      }
    }
    m_progress.spend(order.size());
    for (const int ofClass : order) {
      ++m_between[cell(source, box, ofClass)];
      --room(source, ofClass);
      --left[ofClass];
    }
  }
}

bool TwoLevelEntries::passOn() {
  for (int source = 0; source < m_boxCount; ++source) {
    for (int ofClass = 0; ofClass < m_classCount; ++ofClass) {
      while (room(source, ofClass) < 0) {
        throwIfCancelled(m_progress);
        if (!passOnOnce(source, ofClass)) {
          return false;
        }
      }
    }
  }
  return true;
}

/// Part of what is too much at the source, along one shortest path to a box with room.
bool TwoLevelEntries::passOnOnce(int source, int ofClass) {
  struct Step {
    int giver = -1;
    int at = -1;  ///< the box whose entries change hands
  };
  std::vector<Step> reachedBy(m_boxCount);
  std::vector<char> isReached(m_boxCount, 0);
  std::vector<int> queue{source};
  isReached[source] = 1;
  const auto spare = [&](int giver, int box) {
    return std::min(m_between[cell(giver, box, ofClass)], m_pairSum[pair(giver, box)] - treesIn(giver));
  };
  const auto space = [&](int taker, int box) {
    const int64_t gpus = m_sizeOfClass[static_cast<std::size_t>(box) * m_classCount + ofClass];
    return treesIn(taker) * gpus - m_between[cell(taker, box, ofClass)];
  };
  int found = -1;
  for (std::size_t i = 0; i < queue.size() && found < 0; ++i) {
    const int giver = queue[i];
    m_progress.spend(m_boxCount);
    // The box with the most to spare first, which keeps the numbers even.
    std::vector<int> boxes;
    for (int box = 0; box < m_boxCount; ++box) {
      if (box != giver && spare(giver, box) > 0) {
        boxes.push_back(box);
      }
    }
    std::stable_sort(boxes.begin(), boxes.end(), [&](int a, int b) { return spare(giver, a) > spare(giver, b); });
    for (std::size_t j = 0; j < boxes.size() && found < 0; ++j) {
      const int box = boxes[j];
      m_progress.spend(m_boxCount);
      // Takers under the giver's leaf first: nothing changes between the leaves then.
      for (int turn = 1; turn < 2 * m_boxCount - 1 && found < 0; ++turn) {
        const bool isSame = turn < m_boxCount;
        const int taker = (box + (isSame ? turn : turn - m_boxCount + 1)) % m_boxCount;
        if (isReached[taker] == 0 && isSame == (m_shape.leafOf[taker] == m_shape.leafOf[giver]) &&
            space(taker, box) > 0) {
          isReached[taker] = 1;
          reachedBy[taker] = {giver, box};
          queue.push_back(taker);
          found = room(taker, ofClass) > 0 ? taker : -1;
        }
      }
    }
  }
  if (found < 0) {
    return false;
  }
  constexpr int64_t kParts = 4;
  int64_t amount = std::min((-room(source, ofClass) + kParts - 1) / kParts, room(found, ofClass));
  for (int taker = found; taker != source; taker = reachedBy[taker].giver) {
    const auto [giver, box] = reachedBy[taker];
    amount = std::min({amount, spare(giver, box), space(taker, box)});
  }
  for (int taker = found; taker != source; taker = reachedBy[taker].giver) {
    const auto [giver, box] = reachedBy[taker];
    m_between[cell(giver, box, ofClass)] -= amount;
    m_pairSum[pair(giver, box)] -= amount;
    m_between[cell(taker, box, ofClass)] += amount;
    m_pairSum[pair(taker, box)] += amount;
  }
  room(source, ofClass) += amount;
  room(found, ofClass) -= amount;
  return true;
}

/// No source has more entries at a GPU than trees: what rounding gave it too much is exchanged for entries elsewhere.
void TwoLevelEntries::levelOut(const std::vector<int>& places, std::vector<std::vector<int64_t>>& entries) const {
  const auto isFull = [&](int source, int place) { return entries[source][place] >= treesIn(source); };
  for (int source = 0; source < m_boxCount; ++source) {
    for (const int place : places) {
      bool isFound = true;
      while (entries[source][place] > treesIn(source) && isFound) {
        isFound = false;
        m_progress.spend(m_boxCount);
        for (int other = 0; other < m_boxCount && !isFound; ++other) {
          if (other == source || isFull(other, place)) {
            continue;
          }
          for (const int elsewhere : places) {
            if (!isFull(source, elsewhere) && entries[other][elsewhere] > 0) {
              --entries[source][place];
              ++entries[source][elsewhere];
              --entries[other][elsewhere];
              ++entries[other][place];
              isFound = true;
              break;
            }
          }
        }
      }
    }
  }
}

std::vector<std::vector<int64_t>> TwoLevelEntries::entriesAt(int box) const {
  const std::vector<int>& gpus = m_shape.boxes[box];
  std::vector<std::vector<int64_t>> entries(m_boxCount, std::vector<int64_t>(gpus.size(), 0));
  std::vector<Turns> turns(m_classCount);
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    turns[m_classOf[gpus[i]]].add(static_cast<int>(i), m_at[gpus[i]]);
  }
  for (int distance = 1; distance < m_boxCount; ++distance) {
    const int source = (box - distance + m_boxCount) % m_boxCount;
    for (int ofClass = 0; ofClass < m_classCount; ++ofClass) {
      const int64_t count = m_between[cell(source, box, ofClass)];
      m_progress.spend(count);
      for (int64_t n = 0; n < count; ++n) {
        ++entries[source][turns[ofClass].next()];
      }
    }
  }
  for (int ofClass = 0; ofClass < m_classCount; ++ofClass) {
    std::vector<int> places;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      if (m_classOf[gpus[i]] == ofClass) {
        places.push_back(static_cast<int>(i));
      }
    }
    levelOut(places, entries);
  }
  return entries;
}

}  // namespace coppice::forestcoll
