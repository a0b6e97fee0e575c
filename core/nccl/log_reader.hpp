// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "nccl/run.hpp"

namespace coppice::nccl {

/// One file; the text must outlive the reading.
struct LogText {
  std::string_view text;
  std::string name = {};
};

/// A line of NCCL or RCCL is in the text.
[[nodiscard]] bool isLog(std::string_view text);

/// Reads what NCCL_DEBUG=INFO prints (2.14 to 2.30; RCCL 2.18 and later), of any number of processes in any number of
/// files: mixed line by line or within a line, with whatever launchers and collectors put before lines, copied or in
/// part lost, cut as NCCL cuts them. Lines are given to processes by host and process id, then to communicators by
/// `comm`, across processes by commId (of splits: by parent, count and colour).
///
/// A ring is taken from the hops of all ranks ("Ring 00 : 3 -> 0 -> 1"), else from a whole ring line of rank 0, else
/// from the part of that line that is not cut and the connections of all ranks, where those before "Connected all
/// rings" count first. A ring that these leave open is missing, unless NCCL's repetition of channels gives it.
/// Errors: badInput (no line of NCCL in any text), limit (more than 65,536 ranks or 2^22 facts).
[[nodiscard]] Result<Run> readLogs(const std::vector<LogText>& logs);

}  // namespace coppice::nccl
