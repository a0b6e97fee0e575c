// SPDX-License-Identifier: Apache-2.0
#include "workflow/measured_run.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include "base/ascii.hpp"
#include "base/counted.hpp"
#include "base/text.hpp"
#include "io/profile_json.hpp"
#include "lowering/executed.hpp"
#include "lowering/lowering.hpp"
#include "nccl/log_reader.hpp"
#include "nccl/measurements.hpp"

namespace coppice::workflow {
namespace {

constexpr std::size_t kMaxEvents = std::size_t{1} << 22;

/// The first line that holds anything is an object.
bool isRecords(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

class RecordReader {
public:
  explicit RecordReader(std::string name) : m_fileName(name) { m_run.name = std::move(name); }

  Outcome take(std::string_view line, int number) {
    line = trimmed(line);
    // What a library prints in between is not ours.
    if (line.empty() || line.front() != '{') {
      return Done{};
    }
    auto record = program::readRecord(line);
    if (!record) {
      Error error = record.error();
      error.where = {.file = m_fileName, .line = number};
      if (error.fix.empty()) {
        error.fix = "give the unchanged output of coppice-exec run --json";
      }
      return error;
    }
    if (auto* plan = std::get_if<program::PlanRecord>(&*record)) {
      m_run.collective = plan->collective;
      m_run.ranks = plan->ranks;
    } else if (auto* environment = std::get_if<program::EnvRecord>(&*record)) {
      m_run.label = environment->backendLabel;
    } else if (auto* result = std::get_if<program::ResultRecord>(&*record)) {
      addResult(*result, number);
    } else if (auto* trace = std::get_if<program::TraceRecord>(&*record)) {
      return addTrace(*trace, number);
    }
    return Done{};
  }

  Result<MeasuredRun> finish() {
    for (auto& [size, row] : m_rows) {
      m_run.rows.push_back(row);
    }
    for (auto& [key, trace] : m_traces) {
      m_run.traces.push_back(std::move(trace));
    }
    if (m_run.rows.empty() && m_run.traces.empty()) {
      return Error{ErrorCode::badInput,
                   "these records contain neither a result nor a trace",
                   "give the output of coppice-exec run --json --trace",
                   {.file = m_fileName}};
    }
    return std::move(m_run);
  }

private:
  void addResult(const program::ResultRecord& result, int number) {
    io::NcclRow& row = m_rows[result.size];
    row.size = result.size;
    row.line = number;
    (result.inPlace ? row.inPlace : row.outOfPlace) = io::NcclTime{.time = Microseconds(result.time_us),
                                                                   .algbw = Throughput(result.algbw_GBps),
                                                                   .busbw = Throughput(result.busbw_GBps),
                                                                   .wrong = result.wrong};
  }

  Outcome addTrace(program::TraceRecord& record, int number) {
    MeasuredTrace& trace = m_traces[{record.size, record.inPlace}];
    trace.size = record.size;
    trace.inPlace = record.inPlace;
    m_events += record.events.size();
    if (m_events > kMaxEvents) {
      return Error{ErrorCode::limit,
                   "the records contain more than " + std::to_string(kMaxEvents) + " events",
                   "record fewer sizes",
                   {.file = m_fileName, .line = number}};
    }
    trace.events.insert(trace.events.end(), record.events.begin(), record.events.end());
    m_run.droppedEvents = std::max(m_run.droppedEvents, record.dropped);
    return Done{};
  }

  std::string m_fileName;
  MeasuredRun m_run;
  std::map<std::int64_t, io::NcclRow> m_rows;
  std::map<std::pair<std::int64_t, bool>, MeasuredTrace> m_traces;
  std::size_t m_events = 0;
};

Result<MeasuredRun> readRecords(std::string_view text, const std::string& fileName) {
  RecordReader reader(fileName);
  int number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (Outcome taken = reader.take(text.substr(at, end - at), ++number); !taken) {
      return taken.error();
    }
    at = end + 1;
  }
  return reader.finish();
}

/// The collective with the most sizes.
Result<MeasuredRun> readInspected(std::string_view text, const std::string& fileName) {
  const auto calls = nccl::readInspector(text, fileName);
  if (!calls) {
    return calls.error();
  }
  std::map<std::pair<std::string, std::string>, MeasuredRun> runs;
  for (const nccl::InspectedCalls& each : *calls) {
    MeasuredRun& run = runs[{each.communicator, each.collective}];
    run.name = fileName;
    run.collective = each.collective;
    run.ranks = each.ranks;
    run.rows.push_back(
        {.size = each.bytes, .outOfPlace = io::NcclTime{.time = each.time, .algbw = each.algbw, .busbw = each.busbw}});
  }
  return std::max_element(runs.begin(), runs.end(),
                          [](const auto& a, const auto& b) { return a.second.rows.size() < b.second.rows.size(); })
      ->second;
}

Result<std::shared_ptr<const simulate::Fits>> fitsOf(const io::Profile& profile, const fabric::Fabric& fabric) {
  std::vector<simulate::PairFit> pairs;
  for (const io::ProfiledPair& pair : profile.pairs) {
    pairs.push_back({.from = pair.from, .to = pair.to, .latency = pair.latency, .rate = pair.bandwidth});
  }
  return simulate::fitsFor(fabric, pairs, profile.additionTime);
}

template <typename T>
Result<std::vector<T>> alone(Result<T> one) {
  if (!one) {
    return one.error();
  }
  std::vector<T> all;
  all.push_back(*std::move(one));
  return all;
}

MeasuredRun measuredRunOf(io::NcclTable table, const std::string& fileName) {
  MeasuredRun run{.name = fileName, .collective = std::move(table.collective)};
  run.fits = std::move(table.fits);
  run.ranks = table.ranks;
  run.line = table.line;
  run.label = table.isSimulated ? "simulated, not measured" : "";
  run.rows = std::move(table.rows);
  return run;
}

}  // namespace

Result<std::vector<MeasuredRun>> readMeasuredRuns(std::string_view text, const std::string& fileName) {
  if (nccl::isInspector(text)) {
    return alone(readInspected(text, fileName));
  }
  const bool isJson = nccl::isTestsJson(text);
  if (!isJson && isRecords(text)) {
    return alone(readRecords(text, fileName));
  }
  auto tables = isJson ? alone(nccl::readTestsJson(text, fileName)) : io::readNcclTables(text, fileName);
  if (!tables && tables.error().where.line == 0 && nccl::isLog(text)) {
    return Error{ErrorCode::badInput,
                 "this is NCCL's log without a table of nccl-tests",
                 "coppice-cli import-run writes the rings of a log as a schedule",
                 {.file = fileName}};
  }
  if (!tables) {
    return tables.error();
  }
  std::vector<MeasuredRun> runs;
  for (io::NcclTable& table : *tables) {
    runs.push_back(measuredRunOf(std::move(table), fileName));
  }
  return runs;
}

Result<MeasuredRun> readMeasuredRun(std::string_view text, const std::string& fileName, std::string_view collective) {
  auto runs = readMeasuredRuns(text, fileName);
  if (!runs) {
    return runs.error();
  }
  const auto found =
      std::find_if(runs->begin(), runs->end(), [&](const MeasuredRun& run) { return run.mayBeOf(collective); });
  return std::move(found == runs->end() ? runs->front() : *found);
}

bool MeasuredRun::fitsColumns(std::string_view of) const {
  return fits.empty() || std::find(fits.begin(), fits.end(), of) != fits.end();
}

bool MeasuredRun::mayBeOf(std::string_view of) const {
  return collective.empty() ? fitsColumns(of) : collective == of;
}

Outcome checkSubject(const MeasuredRun& run, std::string_view collective, int ranks) {
  if (!run.collective.empty() && run.collective != collective) {
    return Error{
        ErrorCode::badInput,
        inQuotes(run.name) + " measures " + run.collective + ", the schedule is for " + std::string(collective),
        "give a run of the same collective"};
  }
  if (run.ranks > 0 && run.ranks != ranks) {
    return Error{ErrorCode::badInput,
                 inQuotes(run.name) + " has " + std::to_string(run.ranks) + " ranks, the fabric has " +
                     std::to_string(ranks) + " GPUs",
                 "give a run on this fabric"};
  }
  return Done{};
}

Result<program::Program> executedProgram(const fabric::Fabric& fabric, const schedule::AnySchedule& schedule,
                                         bool inPlace, const Progress& progress) {
  return lowering::lower(fabric, schedule,
                         {.runtime = lowering::executedRuntime(schedule::collectiveOf(schedule)), .inPlace = inPlace},
                         progress);
}

Result<ComparedTrace> compareTrace(const fabric::Fabric& fabric, std::shared_ptr<const program::Program> program,
                                   const MeasuredTrace& trace, const simulate::Model& model, const Progress& progress) {
  ComparedTrace compared{.program = std::move(program), .planned = {}, .measured = {}, .comparison = {}};
  // First what can be refused at once.
  auto measured = simulate::measuredRun(fabric, *compared.program, trace.size, trace.events, progress);
  if (!measured) {
    return measured.error();
  }
  auto planned =
      simulate::subjectOf(fabric, *compared.program, model)->simulate(trace.size, {.record = true}, progress);
  if (!planned) {
    return planned.error();
  }
  compared.measured = *std::move(measured);
  compared.planned = *std::move(planned);
  compared.comparison = simulate::compared(compared.planned, compared.measured);
  return compared;
}

Result<simulate::Model> withProfile(simulate::Model model, std::string_view text, const std::string& fileName,
                                    const fabric::Fabric& fabric) {
  const auto profile = io::readProfileJson(text, fileName);
  if (!profile) {
    return profile.error();
  }
  if (profile->together) {
    constexpr double kGigabytesPerSecond = 1e-3;  // of one byte per microsecond
    const io::SharedCost& cost = *profile->together;
    model.linkLatency = model.linkLatency.value_or(Microseconds(0));
    model.messageOverhead = model.messageOverhead.value_or(Microseconds(0));
    model.totalRate =
        model.totalRate > Throughput() ? model.totalRate : Throughput(kGigabytesPerSecond / cost.microsecondsPerByte);
    model.additionTime = model.additionTime > Microseconds(0) ? model.additionTime : profile->additionTime;
    model.messageBytes = model.messageBytes > 0 ? model.messageBytes : cost.latency.count() / cost.microsecondsPerByte;
    return model;
  }
  auto fits = fitsOf(*profile, fabric);
  if (!fits) {
    return fits.error();
  }
  model.fits = *std::move(fits);
  return model;
}

Result<std::shared_ptr<const simulate::Fits>> readFits(std::string_view text, const std::string& fileName,
                                                       const fabric::Fabric& fabric) {
  const auto profile = io::readProfileJson(text, fileName);
  if (!profile) {
    return profile.error();
  }
  return fitsOf(*profile, fabric);
}

}  // namespace coppice::workflow
