// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <utility>

#include "base/bus_factor.hpp"
#include "base/checked.hpp"
#include "base/memory.hpp"
#include "check/reference.hpp"

namespace coppice::executor {
namespace {

using program::RunExit;

constexpr std::size_t kMaxSizes = 4096;
constexpr std::int64_t kMargin = std::int64_t{256} << 20;
constexpr double kGiga = 1e9;
constexpr double kMicro = 1e6;

std::string gibibytes(std::int64_t bytes) {
  const double value = static_cast<double>(bytes) / static_cast<double>(std::int64_t{1} << 30);
  const auto hundredths = static_cast<std::int64_t>(value * 100 + 0.5);
  return std::to_string(hundredths / 100) + "." + (hundredths % 100 < 10 ? "0" : "") +
         std::to_string(hundredths % 100) + " GiB";
}

/// Ends the bench; carries what to report.
struct Stop {
  RunFailure failure;
};

Stop stopFor(const Error& error) {
  return {.failure = {.exit = program::exitFor(error), .error = error, .stuck = {}}};
}

class Bench {
public:
  Bench(Backend& backend, const Job& job, const BenchOptions& options, const Emit& emit)
      : m_backend(backend), m_job(job), m_options(options), m_emit(emit) {}

  BenchEnd run();

private:
  void runCase(Place place, const Plan& plan, std::int64_t bytes, DataType type, ReduceOp op);
  void requireMemory(const Plan& plan, const Geometry& geometry);
  std::int64_t check(const Plan& plan, const Geometry& geometry, ReduceOp op);
  RunTimes runOnce(ReduceOp op, int iterations, bool trace);
  void time(const Plan& plan, const Geometry& geometry, ReduceOp op, std::optional<std::int64_t> wrong);
  void emitTrace(const Geometry& geometry, bool inPlace);
  void emitAll(const std::vector<program::Record>& records);
  void progress(const char* stage, const Geometry& geometry, Place place);
  void throwIfStopped();
  BenchEnd fail(const RunFailure& failure);

  void emit(const program::Record& record) const {
    if (m_backend.process() == 0) {
      m_emit(record);
    }
  }
  template <typename Value>
  Value need(Result<Value> result) {
    if (!result) {
      Stop stop = stopFor(result.error());
      stop.failure.exit = m_backend.brokenBy().value_or(stop.failure.exit);
      throw stop;
    }
    return *std::move(result);
  }

  Backend& m_backend;
  const Job& m_job;
  const BenchOptions& m_options;
  const Emit& m_emit;
  std::size_t m_cases = 0;
  std::size_t m_casesDone = 0;
  std::int64_t m_wrong = 0;
  double m_busbwSum = 0;
  int m_busbwCount = 0;
  double m_memory = 0;      ///< bytes per second
  std::int64_t m_held = 0;  ///< bytes prepared for the case before
};

BenchEnd Bench::run() {
  try {
    const auto sizes = need(sizesOf(m_options));
    const bool reducing = m_job.any().combines();
    const std::vector<ReduceOp> ops = reducing ? m_options.ops : std::vector<ReduceOp>{ReduceOp::sum};
    if (m_job.any().operation == Collective::custom && std::ranges::count(ops, ReduceOp::avg) > 0) {
      throw stopFor({.code = ErrorCode::badUsage,
                     .message = "avg is not defined for a custom collective, whose shards have sources of their own",
                     .fix = "use --op sum,prod,min,max"});
    }
    std::vector<Place> places;
    for (const Place place : {Place::outOfPlace, Place::inPlace}) {
      if (m_job.plan(place) != nullptr) {
        places.push_back(place);
      }
    }
    m_cases = sizes.size() * m_options.types.size() * ops.size() * places.size();
    if (m_options.calibrates) {
      emit(program::StateRecord{.state = "calibrating"});
      m_memory = m_backend.measureMemory(m_options.stop);
    }
    throwIfStopped();
    emit(program::StateRecord{.state = "running"});
    for (const DataType type : m_options.types) {
      for (const ReduceOp op : ops) {
        for (const std::int64_t size : sizes) {
          for (const Place place : places) {
            runCase(place, *m_job.plan(place), size, type, op);
            ++m_casesDone;
          }
        }
      }
    }
    emit(program::StateRecord{.state = "finishing"});
    emit(program::SummaryRecord{.wrong = m_wrong,
                                .checked = m_options.checks,
                                .averageBusbw_GBps = m_busbwCount == 0 ? 0 : m_busbwSum / m_busbwCount,
                                .memory_GBps = m_memory > 0 ? std::optional(m_memory / kGiga) : std::nullopt});
    if (m_wrong > 0) {
      return {.exit = RunExit::wrongResult, .reason = std::to_string(m_wrong) + " wrong values"};
    }
    return {};
  } catch (const Stop& stop) {
    return fail(stop.failure);
  } catch (const std::bad_alloc&) {
    return fail(
        {.exit = RunExit::machineLacks,
         .error = {.code = ErrorCode::limit, .message = "not enough memory for the run", .fix = "use smaller sizes"},
         .stuck = {}});
  } catch (const OverflowError& error) {
    return fail({.exit = RunExit::badUsage,
                 .error = {.code = ErrorCode::overflow, .message = error.what(), .fix = "use smaller sizes"},
                 .stuck = {}});
  }
}

BenchEnd Bench::fail(const RunFailure& failure) {
  if (failure.stuck) {
    emit(*failure.stuck);
  }
  if (failure.exit != RunExit::cancelled) {
    emit(program::ErrorRecord{.exit = failure.exit, .error = failure.error});
  }
  return {.exit = failure.exit, .reason = failure.error.message};
}

/// All processes stop together, or none does.
void Bench::throwIfStopped() {
  const std::int64_t stopped = need(m_backend.sum(m_options.stop.stop_requested() ? 1 : 0));
  if (stopped > 0) {
    throw stopFor({.code = ErrorCode::cancelled, .message = "the run was stopped"});
  }
}

void Bench::runCase(Place place, const Plan& plan, std::int64_t bytes, DataType type, ReduceOp op) {
  throwIfStopped();
  const std::int64_t piece = m_options.pieceBytes > 0 ? m_options.pieceBytes : m_backend.pieceBytes(plan, type, bytes);
  const Geometry geometry =
      need(makeGeometry(plan, {.type = type, .bytes = bytes, .pieceBytes = piece, .depth = m_job.depth}));
  requireMemory(plan, geometry);
  progress("check", geometry, place);
  need(m_backend.prepare(plan, geometry));
  std::optional<std::int64_t> wrong;
  if (m_options.checks) {
    wrong = check(plan, geometry, op);
    m_wrong += *wrong;
  }
  if (m_options.iterations > 0) {
    progress("warmup", geometry, place);
    if (m_options.warmup > 0) {
      runOnce(op, m_options.warmup, false);
    }
    progress("time", geometry, place);
    time(plan, geometry, op, wrong);
    if (m_options.traces) {
      runOnce(op, 1, true);
      emitTrace(geometry, place == Place::inPlace);
    }
  }
}

void Bench::requireMemory(const Plan& plan, const Geometry& geometry) {
  const MemoryNeed memory = m_backend.need(plan, geometry);
  const auto available = availableMemory();
  // What the size before holds is given back first; test data, page tables and others need some too.
  const std::int64_t margin = std::min(kMargin, available.value_or(0) / 8);
  const bool fits = !available || memory.hostBytes - m_held <= *available - margin;
  const std::int64_t lacking = need(m_backend.sum(fits ? 0 : 1));
  if (lacking > 0) {
    throw stopFor({.code = ErrorCode::limit,
                   .message = "size " + std::to_string(geometry.size) + " needs " + gibibytes(memory.hostBytes) +
                              " of memory" + (available ? ", and " + gibibytes(*available) + " are free" : ""),
                   .fix = "use a smaller -e, or fewer ranks on this machine"});
  }
  m_held = memory.hostBytes;
}

std::int64_t Bench::check(const Plan& plan, const Geometry& geometry, ReduceOp op) {
  const Reference reference(plan, geometry, op, m_options.seed);
  need(reference.fill(m_backend));
  need(m_backend.barrier());
  runOnce(op, 1, false);
  const CheckReport report = need(reference.check(m_backend));
  std::vector<program::Record> records(report.examples.begin(), report.examples.end());
  if (report.damagedGuards > 0) {
    records.emplace_back(program::LogRecord{.severity = Severity::error,
                                            .text = std::to_string(report.damagedGuards) +
                                                    " bytes outside the buffers were overwritten at size " +
                                                    std::to_string(geometry.size),
                                            .source = "process " + std::to_string(m_backend.process())});
  }
  emitAll(records);
  return need(m_backend.sum(report.wrong + report.damagedGuards));
}

/// Records of all processes, through process 0.
void Bench::emitAll(const std::vector<program::Record>& records) {
  if (m_backend.processes() == 1) {
    for (const program::Record& record : records) {
      m_emit(record);
    }
    return;
  }
  std::string lines;
  for (const program::Record& record : records) {
    lines += program::writeRecord(record);
  }
  for (const std::string& theirs : need(m_backend.gather(lines))) {
    for (std::size_t at = 0; at < theirs.size();) {
      const std::size_t end = std::min(theirs.find('\n', at), theirs.size());
      if (auto record = program::readRecord(std::string_view(theirs).substr(at, end - at))) {
        emit(*record);
      }
      at = end + 1;
    }
  }
}

RunTimes Bench::runOnce(ReduceOp op, int iterations, bool trace) {
  const RunResult result = m_backend.run({.iterations = iterations,
                                          .op = op,
                                          .trace = trace,
                                          .stop = m_options.stop,
                                          .stallSeconds = m_options.stallSeconds});
  if (!result) {
    throw Stop{.failure = result.failure()};
  }
  return result.times();
}

void Bench::time(const Plan& plan, const Geometry& geometry, ReduceOp op, std::optional<std::int64_t> wrong) {
  need(m_backend.barrier());
  const RunTimes times = runOnce(op, m_options.iterations, false);
  const double mean = need(m_backend.max(times.total)) / m_options.iterations;
  std::vector<double> sorted = times.seconds.empty() ? std::vector<double>{mean} : times.seconds;
  std::sort(sorted.begin(), sorted.end());
  const auto at = [&](double share) {
    const auto index = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size()))) - 1;
    return sorted[std::min(index, sorted.size() - 1)] * kMicro;
  };
  const double algbw = mean > 0 ? static_cast<double>(geometry.size) / mean / kGiga : 0;
  program::ResultRecord result = {.size = geometry.size,
                                  .count = geometry.count,
                                  .type = std::string(toString(geometry.type)),
                                  .redop = plan.combines() ? std::string(toString(op)) : "none",
                                  .root = plan.root,
                                  .inPlace = plan.place == Place::inPlace,
                                  .iterations = m_options.iterations,
                                  .time_us = mean * kMicro,
                                  .min_us = sorted.front() * kMicro,
                                  .median_us = at(0.5),
                                  .p99_us = at(0.99),
                                  .algbw_GBps = algbw,
                                  .busbw_GBps = algbw * busFactor(plan.operation, plan.rankCount()).toDouble(),
                                  .wrong = wrong};
  if (m_options.boundGBps && *m_options.boundGBps > 0) {
    result.boundPercent = algbw / *m_options.boundGBps * 100;
  }
  if (m_memory > 0 && mean > 0) {
    result.memoryRooflinePercent = static_cast<double>(trafficOf(plan, geometry).direct) / m_memory / mean * 100;
  }
  m_busbwSum += result.busbw_GBps;
  ++m_busbwCount;
  emit(result);
}

void Bench::emitTrace(const Geometry& geometry, bool inPlace) {
  std::int64_t dropped = 0;
  const std::vector<program::TraceEvent> events = m_backend.takeTrace(dropped);
  std::vector<program::Record> records;
  std::size_t at = 0;
  do {
    const std::size_t end = std::min(at + program::kMaxTraceEvents, events.size());
    records.emplace_back(program::TraceRecord{
        .size = geometry.size,
        .inPlace = inPlace,
        .events = {events.begin() + static_cast<std::ptrdiff_t>(at), events.begin() + static_cast<std::ptrdiff_t>(end)},
        .dropped = end == events.size() ? dropped : 0});
    at = end;
  } while (at < events.size());
  emitAll(records);
}

void Bench::progress(const char* stage, const Geometry& geometry, Place place) {
  emit(program::ProgressRecord{
      .stage = stage,
      .size = geometry.size,
      .inPlace = place == Place::inPlace,
      .fraction = static_cast<double>(m_casesDone) / static_cast<double>(std::max<std::size_t>(1, m_cases))});
}

}  // namespace

Result<std::vector<std::int64_t>> sizesOf(const BenchOptions& options) {
  if (options.firstBytes < 0 || options.lastBytes < options.firstBytes) {
    return Error{.code = ErrorCode::badUsage, .message = "the sizes run from -b up to -e; -e is smaller"};
  }
  if (options.stepBytes <= 0 && !(options.factor > 1 && options.factor <= 1e9)) {
    return Error{.code = ErrorCode::badUsage, .message = "-f is a factor greater than 1"};
  }
  if (options.iterations < 0 || options.warmup < 0) {
    return Error{.code = ErrorCode::badUsage, .message = "the numbers of iterations cannot be negative"};
  }
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = options.firstBytes; size <= options.lastBytes;) {
    if (sizes.size() >= kMaxSizes) {
      return Error{.code = ErrorCode::badUsage,
                   .message = "more than " + std::to_string(kMaxSizes) + " sizes",
                   .fix = "use a larger -f or -i"};
    }
    sizes.push_back(size);
    const double next = options.stepBytes > 0 ? static_cast<double>(size) + static_cast<double>(options.stepBytes)
                                              : std::max(std::floor(static_cast<double>(size) * options.factor + 0.5),
                                                         static_cast<double>(size) + 1);
    if (next > static_cast<double>(options.lastBytes)) {
      break;
    }
    size = static_cast<std::int64_t>(next);
  }
  return sizes;
}

BenchEnd runBench(Backend& backend, const Job& job, const BenchOptions& options, const Emit& emit) {
  return Bench(backend, job, options, emit).run();
}

}  // namespace coppice::executor
