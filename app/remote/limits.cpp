// SPDX-License-Identifier: Apache-2.0
#include "remote/limits.hpp"

#include <array>
#include <cstdlib>

#include "base/numbers.hpp"
#include "base/text.hpp"

namespace coppice::remote {
namespace {

constexpr const char* kVariable = "COPPICE_REMOTE_LIMITS";

struct Name {
  std::string_view text;
  Limits::Time Limits::*limit;
};

constexpr std::array<Name, 14> kNames{{
    {"settings", &Limits::settings},
    {"look_up", &Limits::lookUp},
    {"login", &Limits::login},
    {"login_by_hand", &Limits::loginByHand},
    {"script", &Limits::script},
    {"self_test", &Limits::selfTest},
    {"reach", &Limits::reach},
    {"upload", &Limits::upload},
    {"start", &Limits::start},
    {"silence", &Limits::silence},
    {"lost", &Limits::lost},
    {"stop", &Limits::stop},
    {"clean_up", &Limits::cleanUp},
    {"leave", &Limits::leave},
}};

}  // namespace

Result<Limits> parseLimits(std::string_view text) {
  Limits limits;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    const std::size_t sign = item.find('=');
    const Name* found = nullptr;
    std::string known;
    for (const Name& name : kNames) {
      found = item.substr(0, sign) == name.text ? &name : found;
      known += (known.empty() ? "" : ", ") + std::string(name.text);
    }
    const std::string_view number = sign == std::string_view::npos ? std::string_view() : item.substr(sign + 1);
    constexpr double kLongest = 86'400;
    const double seconds = numberIn<double>(number).value_or(0);
    if (found == nullptr || !(seconds > 0) || !(seconds <= kLongest)) {
      return Error{ErrorCode::badUsage, std::string(kVariable) + ": " + inQuotes(item) + " is not a time limit",
                   "write NAME=SECONDS, separated by commas, with the names " + known};
    }
    constexpr double kMilliseconds = 1000;
    limits.*(found->limit) = Limits::Time(static_cast<Limits::Time::rep>(seconds * kMilliseconds) + 1);
  }
  return limits;
}

Result<Limits> limitsFromEnvironment() {
  const char* text = std::getenv(kVariable);
  return parseLimits(text != nullptr ? text : "");
}

std::string secondsText(Limits::Time time) {
  const auto tenths = time.count() / 100;
  std::string text = std::to_string(tenths / 10);
  if (tenths % 10 != 0 && tenths < 100) {
    text += "." + std::to_string(tenths % 10);
  }
  return text + " s";
}

Error noAnswer(const std::string& machine, const std::string& step, Limits::Time limit) {
  return {ErrorCode::io, machine + " did not answer within " + secondsText(limit) + " while " + step,
          "check that ssh " + machine +
              " true returns at once: its ~/.ssh/rc or login files may wait for something, or the machine may be "
              "overloaded"};
}

}  // namespace coppice::remote
