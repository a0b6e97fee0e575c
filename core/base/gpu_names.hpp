// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

namespace coppice {

/// Compute capability of the first kind of GPU that a text names, such as 90 of "HGX H100"; nullopt = none of NVIDIA.
/// Upper and lower case are the same.
[[nodiscard]] std::optional<int> namedCapability(std::string_view text);

/// Threadblocks that each GPU runs at once, one on a multiprocessor or compute unit: of the kinds of GPUs that a text
/// names, such as the name of a fabric, program or plan, the least; else 108, as of an A100.
[[nodiscard]] int namedMultiprocessors(std::string_view text);

}  // namespace coppice
