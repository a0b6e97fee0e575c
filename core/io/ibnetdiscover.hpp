// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "io/cluster_network.hpp"

namespace coppice::io {

struct ReadNetwork {
  ClusterNetwork network;
  std::vector<Finding> findings;
};

/// The text is of ibnetdiscover: it has a switchguid, a caguid, or a Switch or Ca line.
[[nodiscard]] bool looksLikeIbnetdiscover(std::string_view text);

/// Reads the output of `ibnetdiscover`: records of switches (Switch), adapters (Ca) and routers, and their cables with
/// width and speed ("4xNDR"). A host is the first word of an adapter's name, the rest names the adapter. A cable is
/// listed at either end, or at one of them. An aggregation node of a switch (SHARP) marks the switch as one that sums.
/// GB/s of a lane: SDR 1/4, DDR 1/2, QDR 1, FDR10 5/4, FDR 75/44, EDR 25/8, HDR 25/4, NDR 25/2, XDR 25.
/// Limit: 64 MiB. Errors: badInput with line and column.
Result<ReadNetwork> readIbnetdiscover(std::string_view text, const std::string& fileName);

}  // namespace coppice::io
