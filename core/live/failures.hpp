// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "live/live_bound.hpp"

/// The N-1 sweep: what the bound becomes when one part fails.
namespace coppice::live {

enum class Part { link, nic, switchNode, gpu, box };
/// "link", "nic", "switch", "gpu", "box".
[[nodiscard]] std::string_view toString(Part part);

struct Failure {
  Part part = Part::link;
  std::string name;         ///< the node's id, the box, or "src -> dst" / "src - dst"
  std::vector<Edit> edits;  ///< what the failure takes away
};

/// Every link entry of the description (of an entry with count n, one of the n; both directions of a duplex link) and
/// every node, in the description's order: links, nics, switches, GPUs; then, with `boxes`, every box.
[[nodiscard]] std::vector<Failure> singleFailures(const fabric::Description& description, bool boxes = false);

struct Damage {
  std::size_t failure = 0;              ///< index into the failures given
  Bandwidth algbw;                      ///< after it; 0 where GPUs are cut off
  int gpuCount = 0;                     ///< that still take part
  std::optional<Finding> finding = {};  ///< why algbw is 0
  /// 1 - algbw after / algbw before, exact; negative where the bound rises (a slow GPU gone).
  Rational loss;
};

/// Every failure in turn on the fabric as it stands, the largest loss first; equal losses in the given order. The
/// fabric is the same afterwards. A failed GPU takes no part: the collective runs on the others. Errors: as
/// LiveBound::probe; infeasible where the bound is 0 before any failure.
Result<std::vector<Damage>> rankFailures(LiveBound& live, std::span<const Failure> failures,
                                         const Progress& progress = {});

}  // namespace coppice::live
