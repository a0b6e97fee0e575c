// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "program/program.hpp"

namespace coppice::program {

/// The program as execution traces of MLCommons Chakra (schema 0.0.4), one a rank: what ASTRA-sim takes as a custom
/// collective (`"all-gather-implementation-custom": ["PREFIX"]`, files PREFIX.0.et, PREFIX.1.et, ...). A trace is a
/// sequence of protobuf messages, each after its length: GlobalMetadata, then a Node for each send, receive and
/// computation (sums and copies inside a rank, which ASTRA-sim takes as done at once). Steps of a threadblock follow
/// each other; the dependencies are data_deps. The n-th send from a rank to another on a channel and the receive that
/// takes it have one comm_tag.
/// @param bytes of the whole collective, of which a chunk has 1 / chunksPerLoop
/// Errors: badUsage (bytes that are no multiple of the chunks), badInput (sends and receives that do not pair).
[[nodiscard]] Result<std::vector<std::string>> chakraTraces(const Program& program, std::int64_t bytes);

}  // namespace coppice::program
