// SPDX-License-Identifier: Apache-2.0
#include "mscclpp/block_writer.hpp"

#include <algorithm>
#include <utility>

namespace coppice::mscclpp {

void BlockWriter::nop() {
  m_ops.push_back({.type = OpType::nop});
  m_open.clear();
  m_moved = false;
  m_heard = false;
}

bool BlockWriter::collides(const std::vector<Touch>& touches) const {
  for (const Touch& mine : touches) {
    for (const Touch& other : m_open) {
      if ((mine.writes || other.writes) && mine.run.buffer == other.run.buffer &&
          mine.run.index < other.run.index + other.run.size && other.run.index < mine.run.index + mine.run.size) {
        return true;
      }
    }
  }
  return false;
}

void BlockWriter::move(Operation op, std::vector<Touch> touches, bool pushes) {
  if (m_heard || (pushes && m_moved) || collides(touches)) {
    nop();
  }
  m_ops.push_back(std::move(op));
  m_moved = true;
  m_open.insert(m_open.end(), touches.begin(), touches.end());
}

void BlockWriter::tell(Operation op) {
  if (m_heard || m_moved) {
    nop();
  }
  m_ops.push_back(std::move(op));
}

void BlockWriter::hear(Operation op) {
  m_ops.push_back(std::move(op));
  m_heard = true;
}

void BlockWriter::relaxed(Operation op) {
  m_ops.push_back(std::move(op));
  m_heard = m_heard || m_ops.back().type == OpType::relaxedWait;
}

std::vector<std::vector<Operation>> BlockWriter::cut(int max, int spare) const {
  std::vector<std::vector<Operation>> parts;
  if (static_cast<int>(m_ops.size()) <= max) {
    parts.push_back(m_ops);
    return parts;
  }
  const auto room = static_cast<std::size_t>(max - 2 * spare);
  std::size_t begin = 0;
  for (std::size_t i = 0; i < m_bundles.size(); ++i) {
    const std::size_t end = i + 1 < m_bundles.size() ? m_bundles[i + 1] : m_ops.size();
    if (end - begin > room && m_bundles[i] > begin) {
      parts.emplace_back(m_ops.begin() + static_cast<std::ptrdiff_t>(begin),
                         m_ops.begin() + static_cast<std::ptrdiff_t>(m_bundles[i]));
      begin = m_bundles[i];
    }
  }
  parts.emplace_back(m_ops.begin() + static_cast<std::ptrdiff_t>(begin), m_ops.end());
  return parts;
}

}  // namespace coppice::mscclpp
