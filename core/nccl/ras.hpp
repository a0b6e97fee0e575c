// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

/// What NCCL's RAS subsystem answers to STATUS, as text or, after SET FORMAT json, as JSON: which ranks are behind.
namespace coppice::nccl {

/// A rank that differs from the others of its communicator.
struct RasRank {
  int rank = -1;
  std::string host = {};    ///< as RAS names it, mostly an address; empty = not said
  int process = 0;          ///< 0 = not said
  std::string gpu = {};     ///< "5", or "0 (NVML 5)"; empty = not said
  std::string what = {};    ///< "launched up to AllReduce operation 6649", "missing", "status INIT"
  std::int64_t behind = 0;  ///< operations fewer than most ranks have launched; 0 = not said
};

struct RasCommunicator {
  std::string id = {};  ///< its hash, as NCCL's log has it
  int ranks = 0;        ///< 0 = not said
  std::vector<std::string> problems = {};
  std::vector<RasRank> outliers = {};
};

struct RasStatus {
  std::string version = {};  ///< of NCCL; empty = not said
  std::vector<RasCommunicator> communicators = {};
  std::vector<std::string> problems = {};  ///< of the job: dead processes, time limits
};

[[nodiscard]] bool isRas(std::string_view text);
/// Errors: badInput (neither form).
[[nodiscard]] Result<RasStatus> readRas(std::string_view text, const std::string& fileName);

}  // namespace coppice::nccl
