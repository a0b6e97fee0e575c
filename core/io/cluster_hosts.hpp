// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "io/cluster_network.hpp"

/// Which hosts of a network become boxes, and which NIC of its model each cable of a host belongs to.
namespace coppice::io {

struct HostMatch {
  const HostModel* model = nullptr;  ///< nullptr: none fits
  /// Index of a NIC of the model, and its cable.
  std::vector<std::pair<std::size_t, const ClusterNetwork::Port*>> nics = {};
  bool isByNumber = false;  ///< names did not agree, and the adapters are taken in order
};

struct ChosenHosts {
  std::vector<std::vector<const ClusterNetwork::Port*>> ports;  ///< by host of the network: the cables that are used
  std::vector<int> hosts;                                       ///< chosen, in natural order of their names
  std::vector<HostMatch> matches;                               ///< of each chosen host, where there are models
  std::vector<Finding> findings;
};

/// What joinHosts() begins with. The network and the models must outlive the answer. Throws Failure (infeasible).
[[nodiscard]] ChosenHosts chooseHosts(const ClusterNetwork& network, const std::vector<HostModel>& models,
                                      const NetworkOptions& options, const std::string& fileName);

/// Equal without case, or the one is the other with its domain.
[[nodiscard]] bool isSameHost(std::string_view a, std::string_view b);
/// Names of up to five, for a message.
[[nodiscard]] std::string someOf(const std::vector<std::string>& names);

}  // namespace coppice::io
