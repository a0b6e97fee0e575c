// SPDX-License-Identifier: Apache-2.0
#include "workflow/options.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"

namespace coppice::workflow {
namespace {

const Option* findOption(const std::vector<Option>& options, std::string_view name) {
  const auto found =
      std::find_if(options.begin(), options.end(), [&](const Option& option) { return option.name == name; });
  return found != options.end() ? &*found : nullptr;
}

std::string listOf(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += (i == 0 ? "" : (i + 1 == words.size() ? " or " : ", ")) + words[i];
  }
  return text;
}

std::string namesOf(const std::vector<Option>& options) {
  std::vector<std::string> names;
  for (const Option& option : options) {
    names.push_back(option.name);
  }
  return names.empty() ? "it has none" : "it has " + listOf(names);
}

/// Words may be written in other case.
std::string asListed(const Option& option, const std::string& value) {
  const auto found = option.kind != OptionKind::choice
                         ? option.words.end()
                         : std::find_if(option.words.begin(), option.words.end(),
                                        [&](const std::string& word) { return equalWords(word, value); });
  return found != option.words.end() ? *found : value;
}

Outcome check(const Option& option, const std::string& value) {
  switch (option.kind) {
    case OptionKind::flag:
      if (value != "true" && value != "false") {
        return optionError(option.name, inQuotes(value) + " is neither true nor false");
      }
      break;
    case OptionKind::integer: {
      const bool hasSign = value.rfind('-', 0) == 0;
      const std::string_view digits = std::string_view(value).substr(hasSign ? 1 : 0);
      if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
        return optionError(option.name, inQuotes(value) + " is not a whole number");
      }
      const auto number = parseInteger(digits);
      if (!number) {
        return optionError(option.name, inQuotes(value) + " does not fit 64 bits", "give a smaller number");
      }
      const std::int64_t signedNumber = hasSign ? -*number : *number;
      if (signedNumber < option.min || signedNumber > option.max) {
        const bool isOpen = option.max == std::numeric_limits<std::int64_t>::max();
        return optionError(
            option.name, value + " is out of range",
            isOpen ? "give " + std::to_string(option.min) + " or more"
                   : "give a number from " + std::to_string(option.min) + " to " + std::to_string(option.max));
      }
      break;
    }
    case OptionKind::choice:
      if (std::find(option.words.begin(), option.words.end(), value) == option.words.end()) {
        return optionError(option.name, inQuotes(value) + " is not a " + option.name, "use " + listOf(option.words));
      }
      break;
    case OptionKind::text:
      if (option.check) {
        if (const Outcome checked = option.check(value); !checked) {
          return optionError(option.name, checked.error().message, checked.error().fix);
        }
      }
      break;
  }
  return Done{};
}

}  // namespace

bool Option::appliesTo(Collective collective) const {
  return collectives.empty() || std::find(collectives.begin(), collectives.end(), collective) != collectives.end();
}

Error optionError(std::string_view option, std::string message, std::string fix) {
  return {ErrorCode::badUsage, std::move(message), std::move(fix),
          Place{.element = {RefKind::option, "--" + std::string(option)}}};
}

std::optional<std::int64_t> parseInteger(std::string_view text) {
  return text.starts_with('-') ? std::nullopt : numberIn<std::int64_t>(text);
}

Result<OptionValues> OptionValues::read(const std::vector<Option>& options, const Values& given,
                                        std::optional<Collective> collective) {
  OptionValues result;
  for (const Option& option : options) {
    if (!option.defaultText.empty()) {
      result.m_values[option.name] = option.defaultText;
    }
  }
  for (const auto& [name, wanted] : given) {
    const Option* option = findOption(options, name);
    if (option == nullptr) {
      return optionError(name, "this method has no such option", namesOf(options));
    }
    if (collective && !option->appliesTo(*collective)) {
      return optionError(name, "it does not apply to " + std::string(toString(*collective)), "leave it out");
    }
    const std::string value = asListed(*option, wanted);
    if (Outcome checked = check(*option, value); !checked) {
      return checked.error();
    }
    for (const std::string& other : option->excludes) {
      if (given.contains(other)) {
        return optionError(name, "cannot be combined with --" + other, "leave one of them out");
      }
    }
    result.m_values[name] = value;
  }
  return result;
}

bool OptionValues::flag(std::string_view name) const {
  return text(name) == "true";
}

std::optional<std::int64_t> OptionValues::integer(std::string_view name) const {
  const std::string value = text(name);
  const bool hasSign = value.starts_with('-');
  const auto number = parseInteger(std::string_view(value).substr(hasSign ? 1 : 0));
  return number && hasSign ? std::optional<std::int64_t>(-*number) : number;
}

std::string OptionValues::text(std::string_view name) const {
  const auto found = m_values.find(name);
  return found != m_values.end() ? found->second : std::string();
}

}  // namespace coppice::workflow
