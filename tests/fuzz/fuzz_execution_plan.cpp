// SPDX-License-Identifier: Apache-2.0
// Execution plans of MSCCL++: whatever is read is judged without a crash, and what is written can be read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "mscclpp/plan_json.hpp"
#include "verify/mscclpp_verifier.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto plan = coppice::mscclpp::readPlan(text, "x");
  if (!plan) {
    return 0;
  }
  const auto again = coppice::mscclpp::readPlan(coppice::mscclpp::writePlan(*plan), "x");
  if (!again || again->gpus.size() != plan->gpus.size()) {
    std::abort();
  }
  const auto verdict = coppice::verify::verifyExecutionPlan(*plan);
  if (verdict && !verdict->ok && verdict->findings.empty()) {
    std::abort();
  }
  return 0;
}
