// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace coppice::lp {

/// How much work a search may do before it gives up: the milliseconds that it takes a core which touches 2.4 million
/// numbers of a program in one. Counted, not measured: the same on every machine. Cancellation through Progress works
/// besides.
using Milliseconds = std::chrono::milliseconds;

}  // namespace coppice::lp
