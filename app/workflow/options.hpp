// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/collective.hpp"
#include "base/result.hpp"

/// Options that a method declares once: the command line makes `--name` of each, the window a field.
namespace coppice::workflow {

enum class OptionKind {
  flag,     ///< set or not
  integer,  ///< a whole number in [min, max]
  choice,   ///< one of `words`
  text      ///< the method reads it
};

struct Option {
  std::string name;   ///< "max-height": --max-height on the command line, and the key of its value
  std::string title;  ///< label of its field, as in "Maximum height"
  std::string help;   ///< one sentence for --help and the field's tool tip
  OptionKind kind = OptionKind::text;
  std::string defaultText = {};  ///< empty = not set
  std::int64_t min = 0;
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
  std::vector<std::string> words = {};       ///< all of a choice; of a text, those that its field suggests
  std::string placeholder = {};              ///< in --help, as in HOPS
  std::string example = {};                  ///< what an empty field of text shows: "1MiB"
  bool isFile = false;                       ///< the text may name a file: the field has a button to choose one
  std::vector<std::string> excludes = {};    ///< names of options that cannot be set together with it
  std::vector<Collective> collectives = {};  ///< that it applies to; empty = all of its method
  /// Of a text: what is wrong with it, without saying where. Empty = the method reads it.
  std::function<Outcome(const std::string& value)> check = {};
  // ---- in forms
  std::string group = {};       ///< heading above its field and those of the same group that follow
  std::string otherwise = {};   ///< the options of its group are one choice; this is what holds where none is set
  std::string suggestion = {};  ///< what stands in the field before it is set; empty = the lowest value
  std::string unit = {};        ///< behind a number: "hops"
  /// What forms show and read in place of values: {"pow2", "powers of two"}, {"h100", "H100"}.
  std::vector<std::pair<std::string, std::string>> spoken = {};

  [[nodiscard]] bool appliesTo(Collective collective) const;
};

/// Values as a person writes them, by the option's name; "true" for a flag that is set.
using Values = std::map<std::string, std::string>;

/// Values that fit their options.
class OptionValues {
public:
  /// Errors: badUsage as optionError() for an unknown name, a value that does not fit, options that exclude each other,
  /// and those that do not apply to the collective, where one is given.
  static Result<OptionValues> read(const std::vector<Option>& options, const Values& given,
                                   std::optional<Collective> collective = {});

  [[nodiscard]] bool flag(std::string_view name) const;
  /// The value, or the default; nullopt where there is neither.
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view name) const;
  /// The value or the default; empty where there is neither.
  [[nodiscard]] std::string text(std::string_view name) const;

private:
  std::map<std::string, std::string, std::less<>> m_values;
};

/// A bad value of an option: badUsage with where.element = the option "--name". The front end says the option's name in
/// its own way.
[[nodiscard]] Error optionError(std::string_view option, std::string message, std::string fix = {});

/// A whole number of 0 or more; nullopt for anything else, also beyond 64 bits.
[[nodiscard]] std::optional<std::int64_t> parseInteger(std::string_view text);

}  // namespace coppice::workflow
