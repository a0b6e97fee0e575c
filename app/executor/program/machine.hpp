// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "engine/backend.hpp"
#include "program/run_protocol.hpp"

namespace coppice::executor {

/// This machine and all backends; `backend` stays empty.
[[nodiscard]] program::EnvRecord describeMachine(const std::vector<KnownBackend>& backends);

/// The backend of that name. "auto": the first of mpi and cuda that could run this many ranks at full worth here, else
/// threads. Errors: badUsage (no such name), unavailable with the reason and a fix.
Result<const BackendKind*> chooseBackend(const std::vector<KnownBackend>& backends, const std::string& name,
                                         const BackendOptions& options);

/// Runs a small allreduce on every type with the threads backend. @return "ok", or what went wrong
[[nodiscard]] std::string checkThreads();

}  // namespace coppice::executor
