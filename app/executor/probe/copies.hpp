// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <vector>

#include "base/result.hpp"
#include "probe/contention.hpp"
#include "probe/machine.hpp"

/// Copies from GPUs to host memory, for a record of contention.
namespace coppice::probe {

/// What copies: the driver of real GPUs, or a model in a test.
class CopySource {
public:
  CopySource() = default;
  CopySource(const CopySource&) = delete;
  CopySource& operator=(const CopySource&) = delete;
  virtual ~CopySource() = default;

  [[nodiscard]] virtual int gpus() const = 0;
  /// PCI address of a GPU, lower case; empty = not known.
  [[nodiscard]] virtual std::string address(int gpu) const = 0;
  /// All of the GPUs copy at the same time, each as much as the others. Bytes per second of each, in their order.
  /// Errors: io with what the driver says.
  virtual Result<std::vector<double>> copy(const std::vector<int>& gpus) = 0;
};

/// libcuda.so.1, loaded here; nothing of it is needed to build or start. Errors: unavailable.
[[nodiscard]] Result<std::unique_ptr<CopySource>> cudaCopies(std::int64_t bytes = std::int64_t{64} << 20);

/// Each GPU alone, and all pairs, `repeats` times after one that does not count. Errors: those of copy(), cancelled.
[[nodiscard]] Result<ContentionRecord> measureContention(CopySource& source, int repeats, const std::stop_token& stop);

/// How many NVLinks that are up lead from GPU to GPU, directly or, through NVSwitches, to all; empty where there are
/// none or the addresses are not those of the machine. @param addresses by GPU of the record
[[nodiscard]] std::vector<std::vector<int>> nvlinkCounts(const std::vector<Gpu>& gpus,
                                                         const std::vector<std::string>& addresses);

}  // namespace coppice::probe
