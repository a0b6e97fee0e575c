// SPDX-License-Identifier: Apache-2.0
#include "taccl/moves.hpp"

namespace coppice::taccl {

Moves::Moves(const Problem& problem, Random& random, StartMaker& maker)
    : m_problem(problem),
      m_random(random),
      m_maker(maker),
      m_hasRemote(!problem.blocks.empty()),
      m_labelCount(problem.items.size()) {}

void Moves::attach(Solution& solution) {
  m_solution = &solution;
  m_log.clear();
  std::fill(m_labelCount.begin(), m_labelCount.end(), 0);
  for (std::size_t i = 0; i < solution.link.size(); ++i) {
    if (solution.link[i] >= 0 && isRemote(solution.link[i])) {
      ++m_labelCount[solution.label[i]];
    }
  }
}

void Moves::touch(int item) {
  m_log.push_back(
      {item, m_solution->parent[item], m_solution->link[item], m_solution->label[item], m_solution->priority[item]});
}

void Moves::undo() {
  for (; !m_log.empty(); m_log.pop_back()) {
    const Saved& saved = m_log.back();
    const int link = m_solution->link[saved.item];
    if (link >= 0 && isRemote(link)) {
      --m_labelCount[m_solution->label[saved.item]];
    }
    if (saved.link >= 0 && isRemote(saved.link)) {
      ++m_labelCount[saved.label];
    }
    m_solution->parent[saved.item] = saved.parent;
    m_solution->link[saved.item] = saved.link;
    m_solution->label[saved.item] = saved.label;
    m_solution->priority[saved.item] = saved.priority;
  }
}

void Moves::setLabel(int item, int label) {
  --m_labelCount[m_solution->label[item]];
  m_solution->label[item] = label;
  ++m_labelCount[label];
}

/// There is always one: no more items are entered than there are labels.
int Moves::freeLabel(int near) {
  const int count = static_cast<int>(m_labelCount.size());
  int label = near;
  while (m_labelCount[label] > 0) {
    label = label + 1 < count ? label + 1 : 0;
  }
  return label;
}

bool Moves::reaches(int from, int ancestor) const {
  while (from >= 0 && from != ancestor) {
    from = m_solution->parent[from];
  }
  return from >= 0;
}

/// The item is entered by the link; its message is its own unless it had one on such links already.
void Moves::setRemote(int item, const Option& entry) {
  const int before = m_solution->link[item];
  const bool keepsMessage =
      before >= 0 && isRemote(before) && m_problem.linkOrbit[before] == m_problem.linkOrbit[entry.link];
  m_solution->parent[item] = entry.from;
  m_solution->link[item] = entry.link;
  if (keepsMessage) {
    return;
  }
  if (before >= 0 && isRemote(before)) {
    --m_labelCount[m_solution->label[item]];
  }
  m_solution->label[item] = freeLabel(item);
  ++m_labelCount[m_solution->label[item]];
}

bool Moves::turnPath(int from, int to) {
  // from becomes the root of the tree in its node; to, the root until now, hangs below it.
  std::vector<std::pair<int, int>> turned;  // item, option
  for (int item = from; item != to; item = m_solution->parent[item]) {
    const int above = m_solution->parent[item];
    const Item& each = m_problem.items[above];
    int option = -1;
    for (int k = each.firstOption; k < each.firstOption + each.optionCount; ++k) {
      if (m_problem.options[k].from == item && m_maker.isAllowed(m_problem.options[k].link)) {
        option = k;
      }
    }
    if (option < 0) {
      return false;
    }
    turned.emplace_back(above, option);
  }
  for (const auto& [item, option] : turned) {
    if (item != to) {
      touch(item);
    }
    m_solution->parent[item] = m_problem.options[option].from;
    m_solution->link[item] = m_problem.options[option].link;
  }
  return true;
}

/// As turnPath, but all that hung below `to` hangs below `from` where links allow.
bool Moves::takePlace(int from, int to) {
  const Block& block = m_problem.blocks[m_problem.items[from].block];
  std::vector<int> children;
  for (const int item : block.items) {
    if (item != from && m_solution->parent[item] == to) {
      children.push_back(item);
    }
  }
  if (!turnPath(from, to)) {
    return false;
  }
  // `from` is the root in its node now, above all of them.
  for (const int child : children) {
    const Item& each = m_problem.items[child];
    for (int k = each.firstOption; k < each.firstOption + each.optionCount; ++k) {
      const Option& option = m_problem.options[k];
      if (option.from == from && m_solution->parent[child] == to && m_maker.isAllowed(option.link)) {
        touch(child);
        m_solution->parent[child] = from;
        m_solution->link[child] = option.link;
      }
    }
  }
  return true;
}

bool Moves::newEntry(int blockIndex) {
  const Block& block = m_problem.blocks[blockIndex];
  if (block.entries.size() < 2) {
    return false;
  }
  const int k = m_random.below(static_cast<int>(block.entries.size()));
  const Option& entry = block.entries[k];
  int old = -1;
  for (const int item : block.items) {
    if (m_solution->link[item] >= 0 && isRemote(m_solution->link[item])) {
      old = item;
    }
  }
  const int now = block.entered[k];
  if (!m_maker.isAllowed(entry.link) || !reaches(entry.from, m_problem.firstItem[block.chunk]) ||
      (old == now && m_solution->link[now] == entry.link)) {
    return false;
  }
  if (old == now) {
    touch(now);
    setRemote(now, entry);
    return true;
  }
  if (!reaches(now, old)) {
    return false;
  }
  touch(old);
  touch(now);
  const int oldLink = m_solution->link[old];
  const int oldLabel = m_solution->label[old];
  // The count of labels follows the links, which undo() reads: first the ways within the node, then the new entry.
  if (!(m_random.below(2) == 0 ? takePlace(now, old) : turnPath(now, old))) {
    m_log.resize(m_log.size() - 2);
    return false;
  }
  --m_labelCount[oldLabel];
  m_solution->parent[now] = entry.from;
  m_solution->link[now] = entry.link;
  const bool keepsMessage = m_problem.linkOrbit[oldLink] == m_problem.linkOrbit[entry.link];
  m_solution->label[now] = keepsMessage ? oldLabel : freeLabel(now);
  ++m_labelCount[m_solution->label[now]];
  return true;
}

bool Moves::newParent(int item) {
  const Item& each = m_problem.items[item];
  if (m_solution->parent[item] < 0) {
    return false;
  }
  if (each.block >= 0 && isRemote(m_solution->link[item])) {
    return newEntry(each.block);
  }
  if (each.optionCount < 2) {
    return false;
  }
  const Option& option = m_problem.options[each.firstOption + m_random.below(each.optionCount)];
  if (option.link == m_solution->link[item] || !m_maker.isAllowed(option.link) || reaches(option.from, item) ||
      !reaches(option.from, m_problem.firstItem[each.chunk])) {
    return false;
  }
  touch(item);
  m_solution->parent[item] = option.from;
  m_solution->link[item] = option.link;
  return true;
}

/// The whole chunk along other ways; only for chunks of one target, which have few items.
bool Moves::newWay(int item) {
  const int chunk = m_problem.items[item].chunk;
  const Chunk& each = m_problem.allChunks[m_problem.chunks[chunk]];
  if (each.targets.size() > 1) {
    return newParent(item);
  }
  const int first = m_problem.firstItem[chunk];
  const int last = m_problem.firstItem[chunk + 1];
  for (int i = first; i < last; ++i) {
    touch(i);
  }
  const std::vector<Saved> before(m_log.end() - (last - first), m_log.end());
  const bool isRouted = m_maker.routeChunk(chunk, {.noise = 1.5}, *m_solution);
  int oldOrbit = -1;
  int oldLabel = -1;
  for (const Saved& saved : before) {
    if (saved.link >= 0 && isRemote(saved.link)) {
      oldOrbit = m_problem.linkOrbit[saved.link];
      oldLabel = saved.label;
      --m_labelCount[saved.label];
    }
  }
  bool isChanged = false;
  for (int i = first; i < last; ++i) {
    const int link = m_solution->link[i];
    isChanged = isChanged || link != before[i - first].link;
    if (link >= 0 && isRemote(link)) {
      m_solution->label[i] = m_problem.linkOrbit[link] == oldOrbit ? oldLabel : freeLabel(i);
      ++m_labelCount[m_solution->label[i]];
    }
  }
  if (!isRouted || !isChanged) {
    undo();
    return false;
  }
  return true;
}

bool Moves::newPriority(int item, double scale) {
  touch(item);
  if (m_random.below(3) != 0) {
    // Mostly small, at times large.
    const double size = m_random.below(4) == 0 ? 4 : 1;
    m_solution->priority[item] += (m_random.unit() - 0.5) * 2 * scale * size;
    return true;
  }
  const int other = m_random.below(static_cast<int>(m_problem.items.size()));
  touch(other);
  std::swap(m_solution->priority[item], m_solution->priority[other]);
  return true;
}

/// Of all items of its message, of which the minimum counts.
void Moves::setMessagePriority(int item, double priority) {
  touch(item);
  m_solution->priority[item] = priority;
  const int link = m_solution->link[item];
  if (!isRemote(link) || m_labelCount[m_solution->label[item]] < 2) {
    return;
  }
  for (const Block& block : m_problem.blocks) {
    for (const int each : block.items) {
      const int other = m_solution->link[each];
      if (each != item && other >= 0 && isRemote(other) && m_solution->label[each] == m_solution->label[item]) {
        touch(each);
        m_solution->priority[each] = priority;
      }
    }
  }
}

bool Moves::overtake(int item, int before, const std::vector<Ticks>& starts, const std::vector<Ticks>& arrivals) {
  if (m_solution->parent[item] < 0 || m_solution->parent[before] < 0) {
    return false;
  }
  const Ticks ready = arrivals[m_solution->parent[item]];
  constexpr double kSlightly = 0.5;
  if (ready <= starts[before]) {
    setMessagePriority(item, m_solution->priority[before] - kSlightly);
  } else {
    // The other one waits until this one is there.
    setMessagePriority(before, m_solution->priority[item] + static_cast<double>(ready - starts[before]) + kSlightly);
  }
  return true;
}

bool Moves::newMessage(int item) {
  const int link = m_solution->link[item];
  if (link < 0 || !isRemote(link)) {
    return false;
  }
  if (!m_holdsMessages && m_labelCount[m_solution->label[item]] > 1 && m_random.below(3) == 0) {
    touch(item);
    const int label = freeLabel(item);
    setLabel(item, label);
    return true;
  }
  for (int attempt = 0; attempt < 16; ++attempt) {
    const Block& block = m_problem.blocks[m_random.below(static_cast<int>(m_problem.blocks.size()))];
    int other = -1;
    for (const int each : block.items) {
      if (m_solution->link[each] >= 0 && isRemote(m_solution->link[each])) {
        other = each;
        break;
      }
    }
    if (other < 0 || m_solution->label[other] == m_solution->label[item] ||
        m_problem.linkOrbit[m_solution->link[other]] != m_problem.linkOrbit[link]) {
      continue;
    }
    touch(item);
    if (!m_holdsMessages && m_labelCount[m_solution->label[other]] < m_problem.model->maxTogether &&
        m_random.below(2) == 0) {
      setLabel(item, m_solution->label[other]);
    } else {
      // The two change places.
      touch(other);
      std::swap(m_solution->label[item], m_solution->label[other]);
    }
    return true;
  }
  return false;
}

bool Moves::step(int item, double scale) {
  const int kind = m_random.below(!m_hasRemote ? 88 : m_holdsMessages ? 94 : 100);
  if (kind < 40) {
    return newParent(item);
  }
  if (kind < 50) {
    return newWay(item);
  }
  if (kind < 88) {
    return newPriority(item, scale);
  }
  if (m_solution->link[item] < 0 || !isRemote(m_solution->link[item])) {
    const Block& block = m_problem.blocks[m_random.below(static_cast<int>(m_problem.blocks.size()))];
    for (const int each : block.items) {
      if (m_solution->link[each] >= 0 && isRemote(m_solution->link[each])) {
        return newMessage(each);
      }
    }
  }
  return newMessage(item);
}

}  // namespace coppice::taccl
