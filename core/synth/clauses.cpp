// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "synth/sat.hpp"

namespace coppice::synth {

/// Hands the buffer to the solver.
void Clauses::pass() {
  constexpr std::size_t kClausesPerQuestion = 4096;
  m_solver.add(m_buffer);
  if (m_solver.literals() > m_guard.maxLiterals) {
    throw EncodingStopped{true};
  }
  if (m_solver.clauses() % kClausesPerQuestion == 0 && m_guard.stop && m_guard.stop()) {
    throw EncodingStopped{};
  }
}

void Clauses::add(const std::vector<int>& clause) {
  m_buffer.clear();
  for (const int literal : clause) {
    if (literal == kTrue) {
      return;
    }
    if (literal != kFalse) {
      m_buffer.push_back(literal);
    }
  }
  pass();
}

void Clauses::add(std::initializer_list<int> clause) {
  m_buffer.clear();
  for (const int literal : clause) {
    if (literal == kTrue) {
      return;
    }
    if (literal != kFalse) {
      m_buffer.push_back(literal);
    }
  }
  pass();
}

// Totaliser (Bailleux and Boufkhad, CP 2003), cut off above `max`.
std::vector<int> Clauses::counts(const std::vector<int>& literals, std::int64_t max, bool both) {
  std::vector<std::vector<int>> parts;
  std::vector<int> constants;
  for (const int literal : literals) {
    if (literal == kTrue) {
      constants.push_back(kTrue);
    } else if (literal != kFalse) {
      parts.push_back({literal});
    }
  }
  if (!constants.empty()) {
    parts.push_back(std::move(constants));
  }
  if (parts.empty()) {
    parts.emplace_back();
  }
  while (parts.size() > 1) {
    std::vector<std::vector<int>> next;
    for (std::size_t i = 0; i + 1 < parts.size(); i += 2) {
      next.push_back(merged(parts[i], parts[i + 1], max, both));
    }
    if (parts.size() % 2 == 1) {
      next.push_back(std::move(parts.back()));
    }
    parts = std::move(next);
  }
  parts.front().resize(static_cast<std::size_t>(max) + 1, kFalse);
  return std::move(parts.front());
}

std::vector<int> Clauses::merged(const std::vector<int>& a, const std::vector<int>& b, std::int64_t max, bool both) {
  const std::size_t size = std::min(a.size() + b.size(), static_cast<std::size_t>(max) + 1);
  std::vector<int> sum(size);
  for (int& output : sum) {
    output = fresh();
  }
  const auto at = [](const std::vector<int>& outputs, std::size_t count) {
    return count == 0 ? kTrue : count > outputs.size() ? kFalse : outputs[count - 1];
  };
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      const std::size_t up = std::min(i + j, size);
      if (i + j > 0 && i + j <= size) {
        add({-at(a, i), -at(b, j), at(sum, up)});
      }
      // Exactly i of a and j of b would leave the output i + j + 1 without support.
      if (both && i + j < size) {
        add({at(a, i + 1), at(b, j + 1), -at(sum, i + j + 1)});
      }
    }
  }
  return sum;
}

}  // namespace coppice::synth
