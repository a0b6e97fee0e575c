// SPDX-License-Identifier: Apache-2.0
#include "io/origin.hpp"

#include <utility>

#include "base/text.hpp"

namespace coppice::io {
namespace {

bool isName(const std::string& text) {
  return !text.empty() && text.size() <= kMaxOriginName;
}

}  // namespace

std::string originJson(const Origin& origin) {
  std::string text = "{\"method\": " + jsonQuoted(origin.method.substr(0, kMaxOriginName)) + ", \"options\": {";
  std::size_t count = 0;
  for (const auto& [name, value] : origin.options) {
    if (isName(name) && value.size() <= kMaxOriginValue && count < kMaxOriginOptions) {
      text += (count == 0 ? "" : ", ") + jsonQuoted(name) + ": " + jsonQuoted(value);
      ++count;
    }
  }
  return text + "}}";
}

Origin readOrigin(const JsonValue& value, const std::function<void(const JsonValue& at, const std::string& path,
                                                                   std::string message, std::string fix)>& refuse) {
  const std::string top = kOriginKey;
  const auto fail = [&](const JsonValue& at, const std::string& path, std::string message) {
    refuse(at, path, std::move(message), "remove " + inQuotes(top) + "; the schedule does not need it");
  };
  if (value.kind != JsonValue::Kind::object) {
    fail(value, top, "it is not an object");
  }
  Origin origin;
  const JsonValue* const method = value.find("method");
  if (method == nullptr || method->kind != JsonValue::Kind::string || !isName(method->text)) {
    fail(method == nullptr ? value : *method, top + ".method",
         "the method is not a text of 1 to " + std::to_string(kMaxOriginName) + " bytes");
  }
  origin.method = method->text;
  const JsonValue* const options = value.find("options");
  if (options == nullptr) {
    return origin;
  }
  const std::string path = top + ".options";
  if (options->kind != JsonValue::Kind::object || options->members.size() > kMaxOriginOptions) {
    fail(*options, path, "it is not an object of at most " + std::to_string(kMaxOriginOptions) + " options");
  }
  for (const auto& [name, option] : options->members) {
    if (!isName(name) || option.kind != JsonValue::Kind::string || option.text.size() > kMaxOriginValue) {
      fail(option, path,
           "an option has a name of 1 to " + std::to_string(kMaxOriginName) + " bytes, and a text of at most " +
               std::to_string(kMaxOriginValue));
    }
    origin.options.emplace(name, option.text);
  }
  return origin;
}

}  // namespace coppice::io
