// SPDX-License-Identifier: Apache-2.0
#include "alltoall/alltoall.hpp"

#include <algorithm>

#include "alltoall/network.hpp"
#include "alltoall/program.hpp"
#include "alltoall/symmetry.hpp"
#include "base/failure.hpp"

namespace coppice::alltoall {
namespace {

/// Nodes of all listed symmetries together, at most.
constexpr std::size_t kMaxImages = std::size_t{1} << 24;

Result<Optimum> solve(const fabric::Fabric& fabric, const Request& request, const Progress& progress) {
  const Network network(fabric);
  const auto nodes = static_cast<std::size_t>(network.nodeCount());
  // A regular group of all GPUs is always wanted; larger ones only where they are small.
  const std::size_t wanted = std::max(request.maxSymmetries, static_cast<std::size_t>(fabric.gpuCount()));
  const std::size_t max =
      request.maxSymmetries <= 1 ? 1 : std::max<std::size_t>(1, std::min(wanted, kMaxImages / nodes));
  const SymmetryGroup group = findSymmetries(network, max, progress);
  Program program(network, group, progress);
  program.run(request.budget);
  Optimum optimum;
  optimum.gpuCount = fabric.gpuCount();
  optimum.arcOrbits = group.arcOrbits;
  optimum.rows = program.rowCount();
  optimum.lengths = program.lengths();
  optimum.routing = program.routing();
  if (request.parts) {
    optimum.routing = inParts(optimum.routing, *request.parts);
  }
  const auto upper = boundOf(fabric, optimum.lengths);
  if (!upper) {
    return upper.error();
  }
  const auto lower = rateOf(fabric, optimum.routing);
  if (!lower) {
    return lower.error();
  }
  optimum.upper = *upper;
  optimum.lower = *lower;
  return optimum;
}

}  // namespace

Result<Optimum> optimum(const fabric::Fabric& fabric, const Request& request, const Progress& progress) {
  if (request.parts && *request.parts < 1) {
    return Error{ErrorCode::badUsage, "The number of parts is below 1", "give 1 or more parts"};
  }
  return guarded([&] { return solve(fabric, request, progress); },
                 {.overflow = "The loads of an all-to-all leave the 64-bit range",
                  .overflowFix = "use bandwidths with a simple ratio"});
}

}  // namespace coppice::alltoall
