// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/units.hpp"
#include "fabric/description.hpp"

namespace coppice::presets {

enum class Capability { none, multicastAndAggregation };

[[nodiscard]] inline Capability capableIf(bool isCapable) {
  return isCapable ? Capability::multicastAndAggregation : Capability::none;
}

/// Collects nodes and links of one preset. Throws Failure beyond kMaxNodes or kMaxLinks.
class Builder {
public:
  explicit Builder(std::string fabricName) { m_description.name = std::move(fabricName); }

  /// Refuses early, before memory is spent, a fabric that would have more than this many nodes or links.
  void expect(std::int64_t nodes, std::int64_t links);

  /// Ranks count up in the order of the calls. All three return the id.
  std::string gpu(std::string id, std::string_view box);
  std::string nic(std::string id, std::string_view box);
  std::string relay(std::string id, std::string_view box, Capability capability = Capability::none);

  /// `count` parallel links of `bandwidth` each way.
  void link(const std::string& a, const std::string& b, Bandwidth bandwidth, int count = 1);
  void oneWayLink(const std::string& from, const std::string& to, Bandwidth bandwidth);

  [[nodiscard]] fabric::Description take() { return std::move(m_description); }

private:
  fabric::NodeDescription& add(std::string id, fabric::NodeKind kind, std::string_view box);
  void addLink(fabric::LinkDescription link);

  fabric::Description m_description;
  int m_nextRank = 0;
};

}  // namespace coppice::presets
