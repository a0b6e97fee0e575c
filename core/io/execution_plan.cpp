// SPDX-License-Identifier: Apache-2.0
#include "io/execution_plan.hpp"

#include <nlohmann/json.hpp>

#include "base/text.hpp"

namespace coppice::io {

std::optional<Error> refusedExecutionPlan(std::string_view text, const std::string& fileName) {
  constexpr std::size_t kLongestPlan = std::size_t{64} << 20;
  if (text.size() > kLongestPlan || text.find("threadblocks") == std::string_view::npos) {
    return std::nullopt;
  }
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) {
    return std::nullopt;
  }
  const auto gpus = json.find("gpus");
  if (gpus == json.end() || !gpus->is_array() || gpus->empty() || !gpus->front().is_object() ||
      !gpus->front().contains("threadblocks")) {
    return std::nullopt;
  }
  const auto name = json.find("name");
  const std::string named =
      name != json.end() && name->is_string() ? inQuotes(name->get<std::string>()) + " is" : "this is";
  return Error{.code = ErrorCode::badInput,
               .message = named + " an execution plan of MSCCL++, not a fabric or schedule",
               .fix = "give MSCCL XML or a .forest.json; coppice-cli verify judges plans",
               .where = {.file = fileName}};
}

}  // namespace coppice::io
