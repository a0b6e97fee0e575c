// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

namespace coppice {

enum class Collective { allgather, reduceScatter, allreduce, broadcast, reduce };

/// "allgather", "reduce_scatter", "allreduce", "broadcast", "reduce".
[[nodiscard]] std::string_view toString(Collective collective);
/// Accepts the names above, and "reducescatter" / "reduce-scatter".
[[nodiscard]] std::optional<Collective> parseCollective(std::string_view text);

}  // namespace coppice
