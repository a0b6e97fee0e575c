// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace CLI {
class App;
}

namespace coppice::probe {

/// Adds the subcommand `probe` to coppice-exec. Its callback runs it and sets the exit code (program::RunExit). The
/// command needs nothing but standard output, so it writes no run records.
void addProbeCommand(CLI::App& app, int& exitCode);
/// The same for `profile`. With --backend mpi it starts its ranks by itself.
void addProfileCommand(CLI::App& app, int& exitCode);
/// The same for `infer`, which measures nothing.
void addInferCommand(CLI::App& app, int& exitCode);

}  // namespace coppice::probe
