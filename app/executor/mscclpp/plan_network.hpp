// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mscclpp/execution_plan.hpp"

/// How an execution plan reaches ranks whose memory this process does not share.
namespace coppice::executor {

/// A place in a buffer of a rank, in bytes.
struct FarPlace {
  int rank = 0;
  mscclpp::Buffer buffer = mscclpp::Buffer::input;
  std::int64_t offset = 0;
};

/// Data that was asked for.
struct FarRead {
  std::vector<std::byte> data = {};
  std::atomic<std::int64_t> missing = 0;  ///< bytes that have not come
};

/// Threads of the process write, signal and ask; what one of them gives to a rank arrives in the order in which it gave
/// it.
class PlanNetwork {
public:
  PlanNetwork() = default;
  PlanNetwork(const PlanNetwork&) = delete;
  PlanNetwork& operator=(const PlanNetwork&) = delete;
  virtual ~PlanNetwork() = default;

  /// Writes data that stays where it is until isSent. @param isPacked packets with their flags, each written at once
  /// @return what to ask isSent for
  virtual std::uint64_t write(const FarPlace& to, std::span<const std::byte> data, bool isPacked) = 0;
  /// The same with data that is given away.
  virtual void write(const FarPlace& to, std::vector<std::byte> data, bool isPacked) = 0;
  [[nodiscard]] virtual bool isSent(int rank, std::uint64_t number) = 0;
  virtual void signal(int rank, int end) = 0;
  /// Fills `into.data`, whose size says how much; it must stay until nothing is missing.
  virtual void read(const FarPlace& from, FarRead& into) = 0;
  /// Main thread: moves what can be moved. @return whether something was
  virtual bool poll() = 0;
};

}  // namespace coppice::executor
