// SPDX-License-Identifier: Apache-2.0
#include "io/profile_json.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

namespace coppice::io {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxProfileBytes = std::size_t{256} << 20;
constexpr int kMaxRank = 4095;
constexpr double kMaxAdditionPicoseconds = 1e6;

std::optional<int> rankOf(const Json& link, const char* key) {
  if (!link.is_object() || !link.contains(key) || !link[key].is_number_integer()) {
    return std::nullopt;
  }
  const auto rank = link[key].get<std::int64_t>();
  return rank >= 0 && rank <= kMaxRank ? std::optional(static_cast<int>(rank)) : std::nullopt;
}

std::optional<double> memberNumber(const Json& link, const char* key) {
  if (!link.is_object() || !link.contains(key) || !link[key].is_number()) {
    return std::nullopt;
  }
  const auto number = link[key].get<double>();
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

std::string memberText(const Json& all, const char* key) {
  return all.contains(key) && all[key].is_string() ? all[key].get<std::string>() : std::string();
}

}  // namespace

Result<Profile> readProfileJson(std::string_view text, const std::string& fileName) {
  constexpr const char* kFix = "give the output of coppice-exec profile --json";
  if (text.size() > kMaxProfileBytes) {
    return Error{ErrorCode::limit, "a profile of more than 256 MiB is not read", kFix, {.file = fileName}};
  }
  const Json all = Json::parse(text, nullptr, false);
  if (!all.is_object() || memberText(all, "t") != "profile" || !all.contains("links") || !all["links"].is_array() ||
      (all["links"].empty() && !all.contains("together"))) {
    return Error{ErrorCode::badInput, "this is not a recorded profile", kFix, {.file = fileName}};
  }
  Profile profile{.backend = memberText(all, "backend"), .label = memberText(all, "label")};
  for (const Json& link : all["links"]) {
    const auto from = rankOf(link, "src");
    const auto to = rankOf(link, "dst");
    const auto latency = memberNumber(link, "alpha_us");
    const auto bandwidth = memberNumber(link, "bandwidth_GBps");
    if (!from || !to || from == to || !latency || !bandwidth || *latency < 0 || *bandwidth <= 0) {
      return Error{
          ErrorCode::badInput,
          "a link of the profile lacks src, dst, alpha_us or bandwidth_GBps, or one of "
          "them is out of range",
          kFix,
          {.file = fileName, .element = {RefKind::field, "links[" + std::to_string(profile.pairs.size()) + "]"}}};
    }
    profile.pairs.push_back({*from, *to, Microseconds(*latency), Throughput(*bandwidth)});
    profile.ranks = std::max({profile.ranks, *from + 1, *to + 1});
  }
  if (all.contains("together")) {
    constexpr double kBytesPerMegabyte = 1e6;
    const auto latency = memberNumber(all["together"], "alpha_us");
    const auto perMegabyte = memberNumber(all["together"], "beta_us_per_MB");
    if (!latency || *latency < 0 || !perMegabyte || *perMegabyte <= 0) {
      return Error{ErrorCode::badInput,
                   "the profile lacks alpha_us (0 or more) or beta_us_per_MB (above 0)",
                   kFix,
                   {.file = fileName, .element = {RefKind::field, "together"}}};
    }
    profile.together = SharedCost{Microseconds(*latency), *perMegabyte / kBytesPerMegabyte};
  }
  if (all.contains("addition")) {
    constexpr double kPicosecondsPerMicrosecond = 1e6;
    const auto perByte = memberNumber(all["addition"], "ps_per_byte");
    if (!perByte || *perByte < 0 || *perByte > kMaxAdditionPicoseconds) {
      return Error{ErrorCode::badInput,
                   "the profile lacks ps_per_byte (0 to a million)",
                   kFix,
                   {.file = fileName, .element = {RefKind::field, "addition"}}};
    }
    profile.additionTime = Microseconds(*perByte / kPicosecondsPerMicrosecond);
  }
  return profile;
}

}  // namespace coppice::io
