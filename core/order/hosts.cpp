// SPDX-License-Identifier: Apache-2.0
#include "order/hosts.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace coppice::order {

Hosts hostsOf(const fabric::Fabric& fabric) {
  Hosts hosts;
  std::map<std::string, std::size_t> byPath;
  std::set<std::string> words;
  const auto lastWord = [](const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? path : path.substr(slash + 1);
  };
  for (fabric::Rank rank = 0; rank < fabric.gpuCount(); ++rank) {
    const fabric::Node& node = fabric.nodes()[fabric.gpus()[rank]];
    const std::string& path = node.box.empty() ? node.id : node.box;
    const auto [found, isNew] = byPath.try_emplace(path, hosts.size());
    if (isNew) {
      hosts.push_back({path, {}});
      words.insert(lastWord(path));
    }
    hosts[found->second].gpus.push_back(rank);
  }
  if (words.size() == hosts.size()) {
    for (Host& host : hosts) {
      host.name = lastWord(host.name);
    }
  }
  return hosts;
}

std::vector<fabric::Rank> orderOf(const Hosts& hosts) {
  std::vector<fabric::Rank> order;
  for (const Host& host : hosts) {
    order.insert(order.end(), host.gpus.begin(), host.gpus.end());
  }
  return order;
}

}  // namespace coppice::order
