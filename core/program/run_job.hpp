// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

/// What a starter (window or command line) asks coppice-exec to run, here or on another machine.
namespace coppice::program {

/// How the processes of a run come to life.
enum class Launch { single, mpirun, srun };
/// "single", "mpirun", "srun".
[[nodiscard]] std::string_view toString(Launch launch);

/// The choices of one run; texts are as a person writes them ("1M", "float").
struct RunRequest {
  std::string schedule = {};  ///< file, relative to the folder of the run
  std::string goal = {};      ///< a file too: the table of a custom collective; empty = none
  std::string backend = {};   ///< "threads", "mpi", "cuda"; empty = the executor chooses
  Launch launch = Launch::single;
  std::vector<std::string> hosts = {};  ///< mpirun: machines, as "node1" or "node1:4"
  std::string partition = {};           ///< srun
  std::string minBytes = "1M";
  std::string maxBytes = "64M";
  std::string factor = "2";
  int iterations = 20;
  int warmup = 5;
  std::string type = "float";
  std::string operation = "sum";
  bool checks = true;
  bool traces = false;
  std::optional<double> boundGBps = {};  ///< algbw of the fabric, where the schedule does not carry it

  friend bool operator==(const RunRequest&, const RunRequest&) = default;
};

/// Everything that is wrong with the choices, each with a suggested fix; empty = ready.
[[nodiscard]] std::vector<Finding> faultsOf(const RunRequest& request);

/// Arguments of coppice-exec for it: "run", the schedule and the options. @pre faultsOf() is empty
/// @param records  JSON lines on standard output; otherwise the table
[[nodiscard]] std::vector<std::string> executorArguments(const RunRequest& request, bool records);

/// What stands in `job.json` in the folder of a run.
struct RunJob {
  std::vector<std::string> arguments = {};              ///< of coppice-exec
  std::map<std::string, std::string> environment = {};  ///< added; only names that mayBeSet()
  bool endsWithStarter = true;                          ///< a lost starter or connection ends the run
  std::int64_t limitSeconds = 0;                        ///< 0 = none

  friend bool operator==(const RunJob&, const RunJob&) = default;
};
/// The reason in the last record of a run that was stopped by the user.
inline constexpr const char* kStoppedByUser = "stopped by the user";
inline constexpr std::size_t kMaxJobBytes = std::size_t{64} << 10;

/// Variables that a job may set: those of MPI, UCX, NCCL, OpenMP, CUDA_VISIBLE_DEVICES and our own. None of them makes
/// a program load or run something else.
[[nodiscard]] bool mayBeSet(std::string_view variable);

[[nodiscard]] std::string writeJob(const RunJob& job);
/// Errors: badInput, limit.
Result<RunJob> readJob(std::string_view text);

}  // namespace coppice::program
