// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace coppice::io {

/// A program of a switch-over plan and the calls that it is for.
struct PlanEntry {
  std::string method;
  std::int64_t first = 0;  ///< bytes of the whole collective, included
  std::int64_t last = 0;   ///< included
  std::string program;     ///< files, beside plan.json
  std::string schedule;
};

/// What a plan is for.
struct PlanHead {
  std::string fabric;
  std::string digest;
  std::string collective;
  std::string target;  ///< the runtime
};

/// plan.json: `{"format": "coppice-plan", "version": 1, …, "programs": [{"method": "ring", "first": 1024, …}, …]}`.
[[nodiscard]] std::string planJson(const PlanHead& head, std::span<const PlanEntry> entries);

}  // namespace coppice::io
