// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "fabric/fabric.hpp"
#include "program/program.hpp"
#include "schedule/forest.hpp"

/// From trees to threadblocks.
namespace coppice::lowering {

enum class ChannelPolicy {
  compact,   ///< as few channels as the program needs
  nicPlanes  ///< traffic through odd/even NIC planes on odd/even channels
};

struct Options {
  program::Runtime runtime = program::Runtime::msccl;
  program::Protocol protocol = program::Protocol::simple;
  bool inPlace = true;  ///< false: the out-of-place program (own slices are copied)
  int instances = 1;    ///< independent copies, each moving 1/instances of every chunk
  std::int64_t minBytes = 0;
  std::int64_t maxBytes = std::int64_t{1} << 40;
  ChannelPolicy channels = ChannelPolicy::compact;
  std::string name = {};  ///< empty = made from fabric, collective and k
};

/// Lowers a verified schedule. The step order is proven free of deadlock at the protocol's connection depth.
/// Errors: limit, saying which limit of the runtime is exceeded, on which rank, by how much, and what would make it fit
/// (smaller k, fewer instances).
Result<program::Program> lower(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                               const Options& options = {}, const Progress& progress = {});

}  // namespace coppice::lowering
