// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "fabric/fabric.hpp"

namespace coppice::order {

struct Host {
  std::string name;
  std::vector<fabric::Rank> gpus;  ///< in the order of their ranks on the host
};
using Hosts = std::vector<Host>;

/// The innermost boxes in the order of their first ranks, by the last word of their paths where these differ, else by
/// the whole paths. A GPU without a box is a host of its own, by its id.
[[nodiscard]] Hosts hostsOf(const fabric::Fabric& fabric);

/// The GPU at each rank.
[[nodiscard]] std::vector<fabric::Rank> orderOf(const Hosts& hosts);

}  // namespace coppice::order
