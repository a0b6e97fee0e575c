// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
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

/// Private to the catalogue: its text as catalogue_data.cpp holds it.
namespace data {
struct DrawTable {
  int degree = 0;
  bool isDuplex = false;
  std::string_view text;  ///< "nodes:seed,seed " …
};
struct KautzTable {
  int degree = 0;
  std::string_view text;  ///< "nodes:steps:sum " …
};
extern const std::vector<DrawTable> kDraws;
extern const std::vector<KautzTable> kKautz;
/// The catalogue ends at this many nodes.
extern const int kLastNodes;
}  // namespace data

}  // namespace coppice::finder
