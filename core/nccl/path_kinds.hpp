// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "fabric/fabric.hpp"

namespace coppice::nccl {

/// Kinds of paths as graph files name them, the best first. NCCL sends with LL128, which only NVLink and short PCIe
/// paths to NICs carry without faults, where a file says up to `nvb` in a box and up to `pxn` between boxes
/// (tuning.cc), so that in doubt the worse kind is the safe one.
enum class PathKind { nvl, nvb, pix, pxn, phb, sys };

/// As in the file: "NVL".
[[nodiscard]] std::string_view toString(PathKind kind);

/// Tells the kinds of paths in boxes by the shape of the box, since a fabric does not say what its links are. Links
/// between GPUs are NVLink. So are those to switches that some GPU reaches faster than PCIe 6.0 is, and to switches
/// without NICs and other parts of the host if the GPUs have other links too. Other switches are of PCIe, or CPUs where
/// they are called cpu or numa.
class PathKinds {
public:
  explicit PathKinds(const fabric::Fabric& fabric);

  /// @param arcs of a way, in order; one that leaves the box counts up to there
  [[nodiscard]] PathKind kindOf(const std::vector<int>& arcs) const;

private:
  const fabric::Fabric& m_fabric;
  std::vector<bool> m_isNvlink;  ///< by node: a switch of NVLink
};

}  // namespace coppice::nccl
