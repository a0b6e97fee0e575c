// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "plan/plan.hpp"
#include "program/run_protocol.hpp"

namespace coppice::mscclpp {
struct ExecutionPlan;
}

/// What the bench loop asks of whatever runs a plan. The loop is the same in every process of a run (SPMD): it makes
/// the same calls in the same order everywhere; a backend whose ranks live in one process answers the calls between
/// processes trivially.
namespace coppice::executor {

struct BackendInfo {
  std::string name = {};     ///< "threads", "mpi", "cuda"
  std::string label = {};    ///< what its numbers mean where that is not plain: "rehearsal: correctness, not bandwidth"
  std::string summary = {};  ///< "4 ranks on 2 workers", for the head of the table
  std::map<std::string, std::string> facts = {};
};

struct MemoryNeed {
  std::int64_t hostBytes = 0;    ///< on this host, by all ranks that run on it
  std::int64_t deviceBytes = 0;  ///< on the fullest device of this process
};

enum class BufferKind { input, output };

/// Caller's buffers of one rank. In place, one is in the other. Host-visible memory has pointers; otherwise they are
/// null and Backend::read and write move the data.
struct RankBuffers {
  std::byte* input = nullptr;
  std::byte* output = nullptr;
};

struct RunRequest {
  int iterations = 1;
  ReduceOp op = ReduceOp::sum;
  bool trace = false;
  std::stop_token stop = {};
  /// No threadblock moved for so long: give up. 0 = wait forever. A deadlock that can be proven is not waited for.
  double stallSeconds = 10;
};

struct RunTimes {
  /// Seconds of each iteration, as the slowest rank of this process has it. Backends that time only the whole give one
  /// entry of the mean.
  std::vector<double> seconds = {};
  double total = 0;  ///< seconds of all
};

/// Why a run did not come to its end.
struct RunFailure {
  program::RunExit exit = program::RunExit::internal;
  Error error = {};
  std::optional<program::StuckRecord> stuck = {};
};

/// Value or failure.
class RunResult {
public:
  RunResult(RunTimes times) : m_times(std::move(times)) {}          // NOLINT(google-explicit-constructor)
  RunResult(RunFailure failure) : m_failure(std::move(failure)) {}  // NOLINT(google-explicit-constructor)
  explicit operator bool() const { return !m_failure.has_value(); }
  [[nodiscard]] const RunTimes& times() const { return m_times; }
  /// @pre !*this
  [[nodiscard]] const RunFailure& failure() const { return *m_failure; }

private:
  RunTimes m_times;
  std::optional<RunFailure> m_failure;
};

class Backend {
public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  [[nodiscard]] virtual BackendInfo info() const = 0;
  /// What prepare will allocate. Exact enough to refuse before allocating.
  [[nodiscard]] virtual MemoryNeed need(const Plan& plan, const Geometry& geometry) const = 0;
  /// The piece that suits this backend at this size (SizeOptions::pieceBytes).
  [[nodiscard]] virtual std::int64_t pieceBytes(const Plan& plan, DataType type, std::int64_t bytes) const = 0;

  /// Makes everything ready for runs of this plan at this size; replaces what was prepared before and may keep its
  /// memory. Contents of the buffers are undefined afterwards. The plan must outlive its runs. Errors: limit (memory),
  /// unavailable (too few devices, blocks that are not co-resident), io, internal.
  virtual Outcome prepare(const Plan& plan, const Geometry& geometry) = 0;
  /// Ranks whose buffers this process holds, ascending.
  [[nodiscard]] virtual std::vector<int> localRanks() const = 0;
  /// @pre rank is local
  [[nodiscard]] virtual RankBuffers buffers(int rank) = 0;
  /// Copies between host memory and a buffer; offset in bytes. Only for buffers without a pointer.
  virtual Outcome write(int rank, BufferKind kind, std::int64_t offset, std::span<const std::byte> data);
  virtual Outcome read(int rank, BufferKind kind, std::int64_t offset, std::span<std::byte> data);
  /// Bytes around a rank's buffers that were overwritten, since prepare; 0 = none.
  virtual std::int64_t damagedGuards() { return 0; }

  /// Runs the plan `iterations` times, one after the other. After a failure the backend may be prepared again, unless
  /// the failure is rankLost or internal. Checks the stop token at least every 0.1 s.
  virtual RunResult run(const RunRequest& request) = 0;
  /// Makes a run under way stop soon. Safe from any thread and from a signal handler.
  virtual void abort() noexcept = 0;
  /// Events of the last traced run; the origin is its start.
  virtual std::vector<program::TraceEvent> takeTrace(std::int64_t& dropped) = 0;
  /// Bytes per second, read plus written, that copying large memory reaches with the same workers (or on the device);
  /// measured now. 0 = not measured.
  virtual double measureMemory(std::stop_token stop) = 0;

  // ---- between the processes of a run

  [[nodiscard]] virtual int processes() const { return 1; }
  [[nodiscard]] virtual int process() const { return 0; }
  /// Why calls between processes fail from now on: a process died (rankLost) or stands still (hang).
  [[nodiscard]] virtual std::optional<program::RunExit> brokenBy() const { return std::nullopt; }
  virtual Result<std::int64_t> sum(std::int64_t value) { return value; }
  virtual Result<double> max(double value) { return value; }
  virtual Outcome barrier() { return Done{}; }
  /// Everybody's records to process 0, in the order of the processes; elsewhere an empty list.
  virtual Result<std::vector<std::string>> gather(const std::string& lines) { return std::vector<std::string>{lines}; }
};

struct BackendOptions {
  int ranks = 0;              ///< of the plan
  int workers = 0;            ///< threads backend; 0 = as many as cores may be used
  int device = -1;            ///< cuda: first device; -1 = any
  bool virtualRanks = false;  ///< cuda: several ranks may share a device
  /// What is run, where it is an execution plan of MSCCL++; the Plan is then only its shell.
  std::shared_ptr<const mscclpp::ExecutionPlan> executionPlan = {};
};

/// One kind of backend, compiled in or in a plug-in of its own (libcoppice-exec-NAME.so beside the program or in
/// ../lib/coppice), so that a machine without its libraries can still run the others.
struct BackendKind {
  std::string name;
  /// Cheap and without side effects; also what `self-test` prints.
  program::BackendNote (*probe)();
  Result<std::unique_ptr<Backend>> (*create)(const BackendOptions& options);
  /// Ranks that it could run here at full worth, each with a device or process of its own; null = none. `auto` asks.
  int (*ranks)(const BackendOptions& options) = nullptr;
};

/// The symbol that a plug-in exports, extern "C": const BackendKind* coppiceBackend(int abi), null for another abi.
inline constexpr int kBackendAbi = 2;
inline constexpr const char* kBackendSymbol = "coppiceBackend";

/// All backends: threads, then mpi, cuda and cuda-mpi (cuda in several processes). A plug-in that is not there or
/// cannot be loaded is listed as unavailable with the loader's words. Plug-ins stay loaded.
struct KnownBackend {
  program::BackendNote note;
  const BackendKind* kind = nullptr;  ///< null where it could not be loaded
};
[[nodiscard]] std::vector<KnownBackend> knownBackends();

}  // namespace coppice::executor
