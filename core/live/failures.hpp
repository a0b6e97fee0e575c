// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "fabric/description.hpp"
#include "live/cut_bound.hpp"

/// The N-1 sweep: what the bound becomes when one part fails.
namespace coppice::live {

enum class Part {
  link,
  nic,
  switchNode,
  gpu,
  box,
  group  ///< several of them at once
};
/// "link", "nic", "switch", "gpu", "box", "group".
[[nodiscard]] std::string_view toString(Part part);

struct PartFailure {
  Part part = Part::link;
  std::string name;  ///< the node's id, the box, "src -> dst" / "src - dst", or that of the group
  // What the failure takes away.
  struct Loss {
    fabric::NodeIndex tail = 0;
    fabric::NodeIndex head = 0;
    Bandwidth bandwidth;
  };
  std::vector<Loss> losses = {};              ///< of a link
  std::vector<fabric::NodeIndex> nodes = {};  ///< with all their links
  int boxLevel = 0;                           ///< of a box: how deep it is nested, 1 = outermost
};

/// Every link entry of the description (of an entry with count n, one of the n; both directions of a duplex link) and
/// every node, in the description's order: links, nics, switches, GPUs; then, with `boxes`, every box. Entries with a
/// fault, of which no bound is made, are left out.
[[nodiscard]] std::vector<PartFailure> singleFailures(const fabric::Description& description, bool boxes = false);

struct Damage {
  std::size_t failure = 0;              ///< index into the failures given
  Bandwidth algbw;                      ///< after it; 0 where GPUs are cut off
  int gpuCount = 0;                     ///< that still take part
  std::optional<Finding> finding = {};  ///< why algbw is 0
  /// 1 - algbw after / algbw before, exact; negative where the bound rises (a slow GPU gone).
  Rational loss;
};

/// Every failure alone, the largest loss first; equal losses in the given order. Of failures
/// that symmetries map onto each other one is asked. A failed GPU takes no part: the collective runs on the others.
/// Errors: infeasible where the bound is 0 before any failure, badUsage (a loss above what is there), overflow,
/// cancelled.
Result<std::vector<Damage>> rankFailures(const CutBound& bound, std::span<const PartFailure> failures,
                                         const Progress& progress = {});

}  // namespace coppice::live
