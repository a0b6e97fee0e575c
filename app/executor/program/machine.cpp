// SPDX-License-Identifier: Apache-2.0
#include "program/machine.hpp"

#include <gnu/libc-version.h>
#include <sys/utsname.h>

#include <fstream>

#include "base/memory.hpp"
#include "base/text.hpp"
#include "bench/bench.hpp"
#include "mpi/job_environment.hpp"
#include "plan/plan.hpp"
#include "threads/cores.hpp"
#include "threads/threads_backend.hpp"

namespace coppice::executor {
namespace {

std::string processorName() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(':');
    if (line.starts_with("model name") && colon != std::string::npos && colon + 2 < line.size()) {
      return line.substr(colon + 2);
    }
  }
  return "unknown processor";
}

/// Allreduce of two ranks: each sends its data and adds what it gets.
program::Program exchange() {
  using program::StepType;
  program::Program result;
  result.name = "self-test";
  result.collective = Collective::allreduce;
  result.inPlace = false;
  result.outOfPlace = true;
  for (int rank = 0; rank < 2; ++rank) {
    const int peer = 1 - rank;
    const program::Slot input = {.buffer = program::Buffer::input, .offset = 0};
    const program::Slot output = {.buffer = program::Buffer::output, .offset = 0};
    program::ThreadBlock block = {.sendPeer = peer, .recvPeer = peer};
    block.steps.push_back({.type = StepType::send, .src = input, .dst = input, .count = 1});
    block.steps.push_back({.type = StepType::recvReduceCopy, .src = input, .dst = output, .count = 1});
    result.ranks.push_back({.inputChunks = 1, .outputChunks = 1, .threadBlocks = {block}});
  }
  return result;
}

}  // namespace

program::EnvRecord describeMachine(const std::vector<KnownBackend>& backends) {
  program::EnvRecord env;
  utsname names{};
  if (uname(&names) == 0) {
    env.host = names.nodename;
    env.system = std::string(names.sysname) + " " + names.machine;
  }
  env.libc = std::string("glibc ") + gnu_get_libc_version();
  env.processor = processorName();
  env.cores = allowedCores();
  env.memoryBytes = availableMemory().value_or(0);
  for (const KnownBackend& backend : backends) {
    env.backends.push_back(backend.note);
  }
  return env;
}

Result<const BackendKind*> chooseBackend(const std::vector<KnownBackend>& backends, const std::string& name,
                                         const BackendOptions& options) {
  const auto named = [&](std::string_view wanted) -> const KnownBackend* {
    for (const KnownBackend& backend : backends) {
      if (backend.note.name == wanted) {
        return &backend;
      }
    }
    return nullptr;
  };
  // Of several processes each would run everything on its own GPUs.
  const bool isTeam = jobProcesses() > 1;
  if (name == "auto") {
    for (const char* candidate : {"mpi", isTeam ? "" : "cuda"}) {
      const KnownBackend* backend = named(candidate);
      if (backend != nullptr && backend->kind != nullptr && backend->note.available &&
          backend->kind->ranks != nullptr && backend->kind->ranks(options) >= options.ranks) {
        return backend->kind;
      }
    }
    return named("threads")->kind;
  }
  const bool isTeamOnGpus = name == "cuda" && isTeam;
  const KnownBackend* backend = named(isTeamOnGpus ? "cuda-mpi" : name);
  if (backend == nullptr) {
    return Error{.code = ErrorCode::badUsage,
                 .message = inQuotes(name) + " is not a backend",
                 .fix = "use auto, threads, mpi or cuda"};
  }
  // Where one of several processes lacks GPUs, it tells the others first.
  if (backend->kind == nullptr || (!backend->note.available && !isTeamOnGpus)) {
    return Error{.code = ErrorCode::unavailable,
                 .message = "the " + name + " backend cannot run here: " + backend->note.reason,
                 .fix = backend->note.fix};
  }
  return backend->kind;
}

std::string checkThreads() {
  const auto plans = makePlans(exchange(), {});
  if (!plans || !plans->ok) {
    return "the plan of the self-test was refused";
  }
  const auto backend = threadsBackend().create({.ranks = 2, .workers = 2});
  if (!backend) {
    return backend.error().message;
  }
  BenchOptions options;
  options.firstBytes = 4099;
  options.lastBytes = 4099;
  options.iterations = 0;
  options.calibrates = false;
  options.types.assign(std::begin(kAllTypes), std::end(kAllTypes));
  options.ops.assign(std::begin(kAllOps), std::end(kAllOps));
  Job job;
  job.outOfPlace = plans->outOfPlace;
  const BenchEnd end = runBench(**backend, job, options, [](const program::Record&) {});
  return end.exit == program::RunExit::ok ? "ok" : end.reason;
}

}  // namespace coppice::executor
