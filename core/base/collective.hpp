// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace coppice {

/// What a schedule or a program computes. `custom`: a collective whose result is given by a table, or not defined.
enum class Collective { allgather, reduceScatter, allreduce, broadcast, reduce, alltoall, gather, scatter, custom };

/// Those that forests of spanning trees compute.
inline constexpr std::array kForestCollectives{Collective::allgather, Collective::reduceScatter, Collective::allreduce,
                                               Collective::broadcast, Collective::reduce};

/// "allgather", "reduce_scatter", "allreduce", "broadcast", "reduce", "alltoall", "gather", "scatter", "custom".
[[nodiscard]] std::string_view toString(Collective collective);
/// The names above, also as PyTorch and NCCL spell them: "all_gather", "AllGather", "reduce-scatter".
[[nodiscard]] std::optional<Collective> parseCollective(std::string_view text);
/// As parseCollective, but one of kForestCollectives only.
[[nodiscard]] std::optional<Collective> parseForestCollective(std::string_view text);

/// One rank alone gives or gets the whole.
[[nodiscard]] bool isRooted(Collective collective);
/// Each rank's own data goes to the root, or comes from it: gather and scatter.
[[nodiscard]] bool movesShards(Collective collective);
/// The data of the ranks are reduced. Not known for custom: false.
[[nodiscard]] bool reduces(Collective collective);

}  // namespace coppice
