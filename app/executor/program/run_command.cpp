// SPDX-License-Identifier: Apache-2.0
#include "program/run_command.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "base/comma_list.hpp"
#include "base/text.hpp"
#include "bench/bench.hpp"
#include "coppice/version.hpp"
#include "mpi/job_environment.hpp"
#include "mpi/launcher.hpp"
#include "mscclpp/plan_shell.hpp"
#include "plan/input.hpp"
#include "program/machine.hpp"
#include "program/output.hpp"
#include "program/watch.hpp"

namespace coppice::executor {
namespace {

using program::RunExit;

/// "64", "1K", "256M", "2G", with powers of 1024, as nccl-tests reads them.
Result<std::int64_t> parseSize(const std::string& text, const char* option) {
  std::int64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string unit(end, text.data() + text.size());
  if (unit.size() > 1 && (unit.back() == 'B' || unit.back() == 'b')) {
    unit.pop_back();
  }
  if (unit.size() > 1 && unit.back() == 'i') {
    unit.pop_back();
  }
  const std::string_view units = "KMGT";
  const char letter = unit.empty() ? '\0' : static_cast<char>(unit[0] & ~0x20);
  const std::size_t power = unit.empty() ? 0 : units.find(letter) + 1;
  const bool known = unit.empty() || (unit.size() == 1 && power > 0 && power <= units.size());
  if (fault != std::errc{} || value < 0 || !known || value > std::numeric_limits<std::int64_t>::max() >> (10 * power)) {
    return Error{.code = ErrorCode::badUsage,
                 .message = std::string(option) + ": " + inQuotes(text) + " is not a size",
                 .fix = "write bytes, for example 65536, 64K, 256M or 2G"};
  }
  return value << (10 * power);
}

template <typename Item, typename All, typename Parse>
Result<std::vector<Item>> parseList(const std::string& text, const char* option, const All& all, Parse parse) {
  if (text == "all") {
    return std::vector<Item>(std::begin(all), std::end(all));
  }
  std::vector<Item> items;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string word = text.substr(at, end - at);
    const auto item = parse(word);
    if (!item) {
      const std::string known = commaList(all, [](const Item other) { return std::string(toString(other)); });
      return Error{.code = ErrorCode::badUsage,
                   .message = std::string(option) + ": " + inQuotes(word) + " is not known",
                   .fix = "use " + known + " or all"};
    }
    items.push_back(*item);
    at = end + 1;
  }
  return items;
}

Result<std::optional<program::Runtime>> parseRuntime(const std::string& text) {
  if (text.empty()) {
    return std::optional<program::Runtime>();
  }
  const auto runtime = program::parseRuntime(text, "--runtime");
  return runtime ? Result<std::optional<program::Runtime>>(*runtime) : runtime.error();
}

struct Request {
  InputOptions input;
  BenchOptions bench;
};

Result<Request> understand(const RunWords& words) {
  Request request;
  request.input.file = words.file;
  request.input.goal = words.goal;
  const auto runtime = parseRuntime(words.runtime);
  if (!runtime) {
    return runtime.error();
  }
  request.input.runtime = *runtime;
  request.input.plan = {.root = words.root, .depth = words.depth, .unchecked = words.unchecked};
  const auto sized = [&](const std::string& text, const char* option, std::int64_t& into) -> std::optional<Error> {
    if (text.empty()) {
      return std::nullopt;
    }
    const auto size = parseSize(text, option);
    if (!size) {
      return size.error();
    }
    into = *size;
    return std::nullopt;
  };
  BenchOptions& bench = request.bench;
  for (const auto& [text, option, into] :
       {std::tuple{&words.first, "-b", &bench.firstBytes}, std::tuple{&words.last, "-e", &bench.lastBytes},
        std::tuple{&words.step, "-i", &bench.stepBytes}, std::tuple{&words.piece, "--piece", &bench.pieceBytes}}) {
    if (auto error = sized(*text, option, *into)) {
      return *std::move(error);
    }
  }
  const auto types = parseList<DataType>(words.type, "--type", kAllTypes, parseDataType);
  const auto ops = parseList<ReduceOp>(words.op, "--op", kAllOps, parseReduceOp);
  if (!types || !ops) {
    return !types ? types.error() : ops.error();
  }
  bench.types = *types;
  bench.ops = *ops;
  bench.factor = words.factor;
  bench.iterations = words.iterations;
  bench.warmup = words.warmup;
  bench.checks = words.checks != 0;
  bench.traces = words.traces;
  bench.seed = words.seed;
  bench.stallSeconds = words.stall;
  if (!std::isfinite(words.bound) || words.bound < 0 || !std::isfinite(words.timeout) || words.timeout < 0 ||
      !std::isfinite(words.stall) || words.stall < 0) {
    return Error{.code = ErrorCode::badUsage, .message = "--bound, --timeout and --stall cannot be negative"};
  }
  if (words.processes < 0 || (words.processes > 0 && words.backend != "cuda")) {
    return Error{.code = ErrorCode::badUsage,
                 .message = "--processes is a number of processes for --backend cuda",
                 .fix = "leave it out: mpi has one process for each rank, threads one for all"};
  }
  if (const auto sizes = sizesOf(bench); !sizes) {
    return sizes.error();
  }
  return request;
}

/// A run of one process per rank that has not been started yet. nullopt where it is none, or the schedule cannot
/// be run: then the usual way says so.
std::optional<LaunchRequest> launchOf(const RunWords& words, int argc, char** argv) {
  const bool wantsMpi = words.backend == "mpi" || words.processes > 0 || !words.launch.empty() || !words.hosts.empty();
  if (!wantsMpi || words.launched || isUnderMpi()) {
    return std::nullopt;
  }
  const auto request = understand(words);
  if (!request) {
    return std::nullopt;
  }
  const auto input = loadInput(request->input);
  const bool isPlanOnGpus = input && input->executionPlan && words.backend == "cuda";
  if (!input || !input->record.ok || isPlanOnGpus || (words.ranks > 0 && words.ranks != input->record.ranks) ||
      words.processes > input->record.ranks) {
    return std::nullopt;
  }
  return LaunchRequest{.words = std::vector<std::string>(argv + 1, argv + argc),
                       .ranks = words.processes > 0 ? words.processes : input->record.ranks,
                       .backend = words.backend == "cuda" ? "cuda" : "mpi",
                       .sharesProcesses = words.processes > 0 && words.processes != input->record.ranks,
                       .launcher = words.launch,
                       .hosts = words.hosts,
                       .partition = words.partition,
                       .startSeconds = words.startLimit,
                       .json = words.json,
                       .lifeline = words.lifeline};
}

/// An execution plan of MSCCL++ takes sizes that it can cut, and sums.
Outcome fitToPlan(Input& input, const RunWords& words, BenchOptions& bench) {
  const bool isToBeLaunched = !words.launch.empty() || !words.hosts.empty();
  const int processes = words.processes > 0 ? words.processes : isToBeLaunched ? input.record.ranks : jobProcesses();
  if (words.backend == "cuda" && processes > 1) {
    return Error{.code = ErrorCode::badUsage,
                 .message = "--backend cuda runs execution plans of MSCCL++ on the GPUs of one process, not of " +
                            std::to_string(processes),
                 .fix =
                     "use one process, or --backend mpi, which runs them on processors; MSCCL++ itself runs them on "
                     "GPUs of several processes"};
  }
  const mscclpp::ExecutionPlan& plan = *input.executionPlan;
  if (input.job.any().combines() && (bench.ops.size() != 1 || bench.ops.front() != ReduceOp::sum)) {
    return Error{.code = ErrorCode::badUsage,
                 .message = "MSCCL++ always sums, whatever the call asks for",
                 .fix = "use --op sum"};
  }
  const std::int64_t unit = sizeUnit(plan);
  const auto rounded = [&](std::int64_t bytes) { return (bytes + unit - 1) / unit * unit; };
  if (bench.firstBytes % unit != 0 || bench.stepBytes % unit != 0) {
    input.record.findings.push_back({.severity = Severity::warning,
                                     .code = ErrorCode::badUsage,
                                     .text = "sizes are rounded up to multiples of " + std::to_string(unit) +
                                             " bytes: MSCCL++ throws at those that it cannot cut into chunks"});
  }
  bench.firstBytes = rounded(std::max<std::int64_t>(1, bench.firstBytes));
  bench.lastBytes = std::max(bench.firstBytes, bench.lastBytes);
  if (plan.maxBytes < static_cast<std::uint64_t>(bench.lastBytes)) {
    bench.lastBytes = std::max(bench.firstBytes, static_cast<std::int64_t>(plan.maxBytes));
  }
  bench.stepBytes = bench.stepBytes > 0 ? rounded(bench.stepBytes) : 0;
  bench.calibrates = false;
  return Done{};
}

/// One run, from hello to end.
class Run {
public:
  Run(const RunWords& words, Output& output, Watch& watch) : m_words(words), m_output(output), m_watch(watch) {}

  BenchEnd perform();

private:
  BenchEnd refuse(const Error& error) {
    const RunExit exit = program::exitFor(error);
    if (exit != RunExit::cancelled) {
      m_output.write(program::ErrorRecord{.exit = exit, .error = error});
    }
    return {.exit = exit, .reason = error.message};
  }

  BenchEnd perform(Backend& backend, const Job& job, BenchOptions& bench);

  const RunWords& m_words;
  Output& m_output;
  Watch& m_watch;
  std::optional<Input> m_input;
  std::unique_ptr<Backend> m_backend;
};

BenchEnd Run::perform(Backend& backend, const Job& job, BenchOptions& bench) {
  const BackendInfo info = backend.info();
  program::EnvRecord env = describeMachine(knownBackends());
  env.backend = info.name + (info.summary.empty() ? "" : ", " + info.summary);
  env.backendLabel = info.label;
  env.facts = info.facts;
  m_output.write(env);
  bench.stop = m_watch.token();
  return runBench(backend, job, bench, [this](const program::Record& record) {
    m_output.write(record);
    if (const auto fault = m_output.fault()) {
      m_watch.stop({.exit = RunExit::cancelled, .text = *fault});
    }
  });
}

BenchEnd Run::perform() {
  auto request = understand(m_words);
  if (!request) {
    return refuse(request.error());
  }
  const bool hasTraceFile = !m_words.trace.empty() && !m_words.trace.front().empty();
  if (hasTraceFile && !m_output.traceTo(m_words.trace.front())) {
    return refuse({.code = ErrorCode::io,
                   .message = inQuotes(m_words.trace.front()) + " cannot be written: " + std::strerror(errno),
                   .fix = "name another file after --trace"});
  }
  m_output.write(program::StateRecord{.state = "verifying", .detail = m_words.file});
  Progress progress;
  progress.stop = m_watch.token();
  auto input = loadInput(request->input, progress);
  if (!input) {
    return refuse(input.error());
  }
  m_input = *std::move(input);
  if (m_words.bound > 0) {
    m_input->record.boundGBps = m_words.bound;
  }
  request->bench.boundGBps = m_input->record.boundGBps;
  const Outcome fits = m_input->executionPlan ? fitToPlan(*m_input, m_words, request->bench) : Outcome(Done{});
  m_output.write(m_input->record);
  if (!m_input->record.ok) {
    const auto fault = std::find_if(m_input->record.findings.begin(), m_input->record.findings.end(),
                                    [](const Finding& finding) { return finding.severity == Severity::error; });
    Error error = {.code = ErrorCode::verification, .message = "the schedule is refused"};
    if (fault != m_input->record.findings.end()) {
      error = {.code = fault->code, .message = "refused: " + fault->text, .fix = fault->fix, .where = fault->where};
    }
    m_output.write(program::ErrorRecord{.exit = RunExit::planRejected, .error = error});
    return {.exit = RunExit::planRejected, .reason = error.message};
  }
  const int ranks = m_input->record.ranks;
  if (m_words.ranks > 0 && m_words.ranks != ranks) {
    return refuse(
        {.code = ErrorCode::badUsage,
         .message = "the schedule is for " + std::to_string(ranks) + " ranks, not " + std::to_string(m_words.ranks),
         .fix = "leave --ranks out, or generate a schedule for that many"});
  }
  if (m_words.processes > ranks) {
    return refuse({.code = ErrorCode::badUsage,
                   .message = std::to_string(m_words.processes) + " processes for " + std::to_string(ranks) + " ranks",
                   .fix = "give --processes " + std::to_string(ranks) + " at most"});
  }
  if (!fits) {
    return refuse(fits.error());
  }
  const BackendOptions options = {.ranks = ranks,
                                  .workers = m_words.workers,
                                  .device = m_words.device,
                                  .virtualRanks = m_words.virtualRanks,
                                  .executionPlan = m_input->executionPlan};
  const std::vector<KnownBackend> backends = knownBackends();
  const auto kind = chooseBackend(backends, m_words.backend, options);
  if (!kind) {
    return refuse(kind.error());
  }
  m_output.write(program::StateRecord{.state = "preparing", .detail = (*kind)->name});
  auto backend = (*kind)->create(options);
  if (!backend) {
    return refuse(backend.error());
  }
  m_backend = *std::move(backend);
  return perform(*m_backend, m_input->job, request->bench);
}

program::HelloRecord hello() {
  return {.version = kVersion, .pid = getpid(), .processGroup = getpgrp()};
}

/// The final messages may have been lost.
int checkOutput(Output& output) {
  const auto fault = output.fault();
  if (!fault) {
    return static_cast<int>(RunExit::ok);
  }
  output.write(program::ErrorRecord{.exit = RunExit::cancelled, .error = {.code = ErrorCode::io, .message = *fault}});
  return static_cast<int>(RunExit::cancelled);
}

}  // namespace

CLI::App* addRunCommand(CLI::App& app, RunWords& words) {
  CLI::App* run = app.add_subcommand("run", "Run a schedule: check it, check its data, time it (the default)");
  run->add_option("file", words.file, "MSCCL XML, an MSCCL++ plan, a .forest.json or a .schedule.json")->required();
  run->add_option("--goal", words.goal,
                  "coll=\"custom\": what it computes, as a CSV or JSON table of shards, or the .schedule.json");
  run->add_option("--backend", words.backend, "auto, threads, mpi or cuda");
  run->add_option("-b,--minbytes", words.first, "First size, for example 1K");
  run->add_option("-e,--maxbytes", words.last, "Last size, for example 256M");
  run->add_option("-f,--stepfactor", words.factor, "Factor from one size to the next");
  run->add_option("-i,--stepbytes", words.step, "Step from one size to the next, instead of -f");
  run->add_option("-n,--iters", words.iterations, "Timed iterations of each size");
  run->add_option("-w,--warmup,--warmup_iters", words.warmup, "Iterations before them");
  run->add_option("-d,--type,--datatype", words.type,
                  "int8, uint8, int32, int64, half, bfloat16, float, double or all");
  run->add_option("-o,--op", words.op, "sum, prod, min, max, avg or all");
  run->add_option("-c,--check", words.checks, "0: do not check the data");
  run->add_option("-r,--root", words.root, "Expected root of a rooted collective");
  run->add_option("--ranks", words.ranks, "Ranks the schedule must have");
  run->add_option("--bound", words.bound, "Bound of algbw in GB/s; default for a forest file: its own");
  run->add_option("--workers", words.workers, "threads: worker threads instead of one per allowed core");
  run->add_option("--depth", words.depth, "Messages a sender may run ahead");
  run->add_option("--piece", words.piece, "Longest piece of a chunk that moves at once");
  run->add_option("--device", words.device, "cuda: first device");
  run->add_flag("--virtual", words.virtualRanks, "cuda: ranks may share a device (a rehearsal)");
  run->add_option("--processes", words.processes,
                  "cuda: number of processes, each with its share of ranks and GPUs; default: one, or under mpirun "
                  "and srun the processes that they started");
  run->add_option("--runtime", words.runtime, "Runtime whose rules apply to the XML: " + program::runtimeNames());
  run->add_option("--seed", words.seed, "Seed of the test data");
  run->add_option("--timeout", words.timeout, "Seconds after which the run is ended");
  run->add_option("--stall", words.stall,
                  "Seconds without progress after which the run is ended; half of them for a stopped rank");
  run->add_option("--trace", words.trace,
                  "Record when each step ran, in a file of JSON lines, or without FILE among the records")
      ->expected(0, 1);
  run->add_option("--launch", words.launch, "mpi, cuda: start the processes with mpirun or srun");
  run->add_option("--host,--hosts", words.hosts, "mpi: hosts, separated by commas");
  run->add_option(
         "--start-limit", words.startLimit,
         "Seconds for mpirun or srun to start the ranks: by default 8 on this host, 60 on others; 0 = no limit")
      ->check(CLI::NonNegativeNumber)
      ->default_str("");
  run->add_option("--partition", words.partition, "mpi with srun: partition");
  run->add_flag("--json", words.json, "Write records, one JSON object per line");
  run->add_flag("--lifeline", words.lifeline, "End when standard input ends; read commands from it");
  run->add_flag("--unchecked", words.unchecked,
                "Do not verify the schedule: for schedules that are meant to fail while they run");
  run->add_flag("--launched", words.launched)->group("");
  // An empty value, as of an unset shell variable, would read as an option that was not given.
  const CLI::Validator notEmpty(
      [](const std::string& value) { return std::string(value.empty() ? "the value is empty" : ""); }, "");
  for (CLI::Option* option : run->get_options()) {
    if (option->get_items_expected_min() > 0) {
      option->check(notEmpty);
    }
  }
  run->footer(
      "Examples:\n"
      "  coppice-exec allreduce.xml -b 1M -e 256M\n"
      "  coppice-exec allreduce.plan.json -b 64K -e 16M\n"
      "  mpirun -n 16 coppice-exec allreduce.plan.json -b 64K -e 16M\n"
      "  coppice-exec run box.forest.json --backend threads --type half --op max --json\n"
      "  coppice-exec run halo.xml --goal halo.csv\n"
      "Sizes are those of the whole collective, as nccl-tests counts them, of any number of elements.\n"
      "Exit codes: 0 success, 1 bad usage, 2 schedule refused, 3 missing on the machine, 4 wrong data,\n"
      "5 deadlock, stall or time limit, 6 rank or host lost, 7 stopped, 8 internal.");
  return run;
}

int performRun(const RunWords& words, int argc, char** argv) {
  // The launcher starts processes, so it comes before any thread.
  if (const auto launch = launchOf(words, argc, argv)) {
    return launchMpi(*launch);
  }
  Output output(words.json, jobProcess() != 0);
  Watch watch({.lifeline = words.lifeline && !words.launched,
               .timeoutSeconds = words.timeout,
               .onPing = [&output] { output.write(program::PongRecord{}); },
               .onOverdue =
                   [&output](const StopReason& reason) {
                     output.write(program::ErrorRecord{
                         .exit = reason.exit,
                         .error = {.code = ErrorCode::internal,
                                   .message = reason.text + ", and the run did not end by itself within 5 s"}});
                     output.write(program::EndRecord{.code = reason.exit, .reason = reason.text});
                   }});
  output.write(hello());
  // A launcher ends all processes as soon as one leaves with a code that is not 0. The backends end MPI together, when
  // `run` goes: process 0 has written its last record by then.
  Run run(words, output, watch);
  BenchEnd end = run.perform();
  if (const auto reason = watch.reason(); reason && end.exit == RunExit::cancelled) {
    end = {.exit = reason->exit, .reason = reason->text};
    output.write(program::ErrorRecord{
        .exit = end.exit,
        .error = {.code = ErrorCode::cancelled,
                  .message = reason->text,
                  .fix = reason->exit == RunExit::hang ? "raise --timeout or run fewer sizes" : ""}});
  }
  if (const auto fault = output.fault(); fault && end.exit == RunExit::ok) {
    end = {.exit = RunExit::cancelled, .reason = *fault};
    output.write(program::ErrorRecord{.exit = end.exit, .error = {.code = ErrorCode::io, .message = *fault}});
  }
  output.write(program::EndRecord{.code = end.exit, .reason = end.reason});
  return end.exit == RunExit::ok ? checkOutput(output) : static_cast<int>(end.exit);
}

CLI::App* addSelfTestCommand(CLI::App& app, SelfTestWords& words) {
  CLI::App* test = app.add_subcommand("self-test", "Show what this machine can run, and test it");
  test->add_flag("--json", words.json, "Write records, one JSON object per line");
  return test;
}

int performSelfTest(const SelfTestWords& words) {
  Output output(words.json, false);
  output.write(hello());
  program::EnvRecord env = describeMachine(knownBackends());
  const std::string threads = checkThreads();
  env.facts["self-test of threads"] = threads;
  output.write(env);
  const RunExit exit = threads == "ok" ? RunExit::ok : RunExit::internal;
  output.write(program::EndRecord{.code = exit, .reason = threads == "ok" ? "" : threads});
  return exit == RunExit::ok ? checkOutput(output) : static_cast<int>(exit);
}

}  // namespace coppice::executor
