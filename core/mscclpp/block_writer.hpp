// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "mscclpp/execution_plan.hpp"

/// Internal to core/mscclpp: the operations of a threadblock, with the nops that they need.
namespace coppice::mscclpp {

/// A run of a rank's own chunks that an operation touches. Packets are guarded by their flags and not listed.
struct Touch {
  ChunkRun run;
  bool writes = false;
};

/// Appends operations and puts a nop between two of them where the second needs that all threads are done with the
/// first. An operation stands in a bundle, which stays in one threadblock.
class BlockWriter {
public:
  /// Opens a bundle: a place where the threadblock may be cut.
  void startBundle() { m_bundles.push_back(m_ops.size()); }
  /// Moves data. @param touches own chunks  @param pushes by a port, which one thread asks for
  void move(Operation op, std::vector<Touch> touches, bool pushes = false);
  /// Tells other threadblocks or ranks what this one did.
  void tell(Operation op);
  /// Waits for others.
  void hear(Operation op);
  /// Orders nothing: a relaxed signal or wait at the start.
  void relaxed(Operation op);

  /// Operations by threadblock, at most `max` in each, `spare` of them left free at both ends.
  [[nodiscard]] std::vector<std::vector<Operation>> cut(int max, int spare) const;

private:
  void nop();
  [[nodiscard]] bool collides(const std::vector<Touch>& touches) const;

  std::vector<Operation> m_ops;
  std::vector<std::size_t> m_bundles;
  std::vector<Touch> m_open;  ///< since the last nop
  bool m_moved = false;       ///< since the last nop
  bool m_heard = false;       ///< since the last nop
};

}  // namespace coppice::mscclpp
