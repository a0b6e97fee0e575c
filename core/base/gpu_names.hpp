// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/rational.hpp"

/// What a text, such as the name of a fabric, program or plan, tells of the kinds of GPUs. Upper and lower case are the
/// same, and so are spaces, hyphens and underscores.
namespace coppice {

/// Which of these words, in lower case, a text has; longer ones first, and each place counts for one word: in "GB200"
/// there is no "b200".
[[nodiscard]] std::vector<std::size_t> wordsIn(std::string_view text, std::span<const std::string_view> words);

/// Compute capability of the first kind that is named, such as 90 of "HGX H100"; nullopt = none of NVIDIA.
[[nodiscard]] std::optional<int> namedCapability(std::string_view text);

/// The bandwidth that one NVLink or xGMI link of a kind of GPU has in each direction.
struct NamedLinkRate {
  std::string gpu;  ///< "B200"
  Rational gigabytes;
};

/// Of the kinds that stand in the text as words, from their data sheets; nullopt = none, or kinds whose rates differ.
[[nodiscard]] std::optional<NamedLinkRate> namedLinkRate(std::string_view text);

/// Threadblocks that each GPU runs at once, one on a multiprocessor or compute unit: of the kinds that are named the
/// least; else 108, as of an A100.
[[nodiscard]] int namedMultiprocessors(std::string_view text);

}  // namespace coppice
