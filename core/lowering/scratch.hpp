// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "lowering/writer.hpp"

/// Internal to core/lowering: scratch of one rank.
namespace coppice::lowering {

/// Hands out runs of chunks; what was given back is used again for runs of the same length.
class Scratch {
public:
  struct Run {
    int offset = 0;
    std::vector<StepPlace> after;  ///< steps that still use what it held before: to be waited for
  };
  /// @param block that will write it: among free runs, one that it need not wait for goes first
  [[nodiscard]] Run take(int count, int block);
  /// @param uses the steps that used it last
  void giveBack(int offset, int count, std::vector<StepPlace> uses);
  /// Chunks that were ever in use.
  [[nodiscard]] int size() const { return m_size; }

private:
  std::map<int, std::vector<Run>> m_free;  ///< by length
  int m_size = 0;
};

}  // namespace coppice::lowering
