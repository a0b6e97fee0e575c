// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/rational.hpp"

/// What a longer search has found, so that the finder need not repeat it. Seeds claim nothing: the finder evaluates
/// what they draw. The values of generalized Kautz graphs are exact, and tests compute samples of them again.
namespace coppice::finder {

/// Seeds of Sampler::draw worth taking; nullptr outside the catalogue, where one has to search.
[[nodiscard]] const std::vector<std::uint32_t>* cataloguedDraws(int nodes, int degree, bool isDuplex);

struct KautzValue {
  int steps = 0;
  Rational loadSum;  ///< sum of U_t
};
[[nodiscard]] std::optional<KautzValue> cataloguedKautz(int degree, int nodes);

}  // namespace coppice::finder
