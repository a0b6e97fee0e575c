// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/child.hpp"
#include "base/temporary_folder.hpp"
#include "base/text.hpp"
#include "bench/table.hpp"
#include "command.hpp"
#include "coppice/version.hpp"
#include "io/files.hpp"
#include "io/forest_json.hpp"
#include "program/run_job.hpp"
#include "program/run_protocol.hpp"
#include "remote/bundle.hpp"
#include "remote/executor_files.hpp"
#include "remote/host.hpp"
#include "remote/limits.hpp"
#include "remote/run_watch.hpp"
#include "remote/scripts.hpp"
#include "remote/send_run.hpp"
#include "remote/session.hpp"
#include "remote/several.hpp"
#include "remote/transfer.hpp"
#include "text.hpp"
#include "words.hpp"
#include "workflow/make_schedule.hpp"
#include "workflow/schedule_facts.hpp"
#include "workflow/schedule_file.hpp"
#include "workflow/target.hpp"

namespace coppice::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using program::RunExit;

struct RunOptions {
  std::string file = {};
  std::string goal = {};
  program::RunRequest request = {};
  std::string launch = {};
  std::string hosts = {};
  bool isUnchecked = false;
  std::string host = {};
  std::string executor = {};
  std::string sshConfig = {};
  bool detaches = false;
  std::string attach = {};
  std::string bundle = {};
  std::string target = {};
  std::int64_t limit = 0;  ///< seconds; 0: none
  std::vector<std::string> variables = {};
  std::map<std::string, std::string> environment = {};
  bool json = false;
};

// ---- the executor

Result<std::string> executorFor(const RunOptions& options) {
  const std::string path = options.executor.empty() ? remote::findExecutor().string() : options.executor;
  if (path.empty() || access(path.c_str(), X_OK) != 0) {
    return Error{ErrorCode::unavailable,
                 options.executor.empty() ? "coppice-exec is not beside coppice-cli"
                                          : inQuotes(options.executor) + " is not a program",
                 "install the executor, or name it with --executor"};
  }
  return path;
}

// ---- records

/// Text from another machine, without what would steer a terminal.
std::string harmless(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    const bool isControl = (static_cast<unsigned char>(c) < 0x20U && c != '\n' && c != '\t') || c == 0x7F;
    c = isControl ? '?' : c;
  }
  return result;
}

/// What a run says: shown line by line, and kept for --json.
class Listener {
public:
  explicit Listener(bool json) : m_json(json) {}

  void hear(std::string_view bytes) {
    m_hasHeard = true;
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      const std::string_view part = bytes.substr(0, end);
      if (m_line.size() + part.size() <= program::kMaxRecordBytes) {
        m_line += part;
      }
      if (end == std::string_view::npos) {
        return;
      }
      bytes.remove_prefix(end + 1);
      take();
      m_line.clear();
    }
  }

  [[nodiscard]] const std::optional<program::EndRecord>& end() const { return m_end; }
  [[nodiscard]] const std::optional<Error>& refusal() const { return m_refusal; }
  [[nodiscard]] bool hasBegun() const { return m_hasBegun; }
  /// Anything at all.
  [[nodiscard]] bool hasHeard() const { return m_hasHeard; }
  [[nodiscard]] Json takeJson() { return std::move(m_answer); }

private:
  void take() {
    if (m_line.empty() || m_refusal) {
      return;
    }
    auto record = program::readRecord(m_line);
    if (!record) {
      if (record.error().code == ErrorCode::unavailable) {
        m_refusal = record.error();
      } else {
        // A login message, or a library that prints.
        std::fprintf(stderr, "%s\n", inQuotes(m_line).c_str());
      }
      return;
    }
    m_hasBegun = m_hasBegun || std::holds_alternative<program::HelloRecord>(*record);
    if (const auto* end = std::get_if<program::EndRecord>(&*record)) {
      m_end = *end;
    }
    if (!m_json) {
      std::fputs(harmless(m_table.show(*record)).c_str(), stdout);
      std::fflush(stdout);
      return;
    }
    // Taken as it came, under the name of its kind.
    const Json json = Json::parse(m_line, nullptr, false);
    const std::string kind = json.value("t", "");
    if (kind == "env" || kind == "plan" || kind == "summary" || kind == "stuck") {
      m_answer[kind] = json;
    } else if (kind == "result" || kind == "error" || kind == "wrong") {
      constexpr std::size_t kMax = 10'000;
      Json& list = m_answer[kind + "s"];
      if (list.size() < kMax) {
        list.push_back(json);
      }
    }
  }

  bool m_json;
  bool m_hasBegun = false;
  bool m_hasHeard = false;
  std::string m_line;
  executor::Table m_table;
  std::optional<program::EndRecord> m_end;
  std::optional<Error> m_refusal;
  Json m_answer = Json::object();
};

Result<Report> reportOf(Listener& listener, bool json, const std::string& what, int status) {
  if (listener.refusal()) {
    return *listener.refusal();
  }
  if (!listener.end()) {
    return Error{ErrorCode::io, what + " exited without a final record (status " + std::to_string(status) + ")",
                 "see what it wrote to standard error"};
  }
  const program::EndRecord& end = *listener.end();
  const auto error = [&](ErrorCode code, const char* fix) {
    return Error{code, what + ": " + (end.reason.empty() ? std::string(program::toString(end.code)) : end.reason), fix};
  };
  if (end.code == RunExit::cancelled) {
    return error(ErrorCode::cancelled, "");
  }
  if (!json && end.code == RunExit::badUsage) {
    return error(ErrorCode::badUsage, "see coppice-cli run --help");
  }
  if (!json && (end.code == RunExit::machineLacks || end.code == RunExit::internal)) {
    return error(ErrorCode::unavailable, "");
  }
  Report report;
  report.json = Json{{"ok", end.code == RunExit::ok}, {"code", program::toString(end.code)}, {"reason", end.reason}};
  report.json.update(listener.takeJson());
  if (end.code != RunExit::ok) {
    report.failure = what + ": " + (end.reason.empty() ? std::string(program::toString(end.code)) : end.reason);
  }
  return report;
}

/// How listening to a run ended.
struct Heard {
  int status = -1;
  bool isLate = false;  ///< it never said a word
  bool isLost = false;  ///< it was silent for too long
};

/// Listens to a run until it ends; a stop asks it to end and, where that does not help, ends the connection.
/// @param machine  empty = here, where a run may be silent
Heard listen(Child& child, Listener& listener, const remote::Limits& limits, const std::string& machine,
             bool leavesAfterHello, const std::stop_token& stop) {
  remote::RunWatch watch({limits, !machine.empty(), leavesAfterHello}, Clock::now());
  const std::stop_callback wakes(stop, [&child] { child.wake(); });
  const auto onTick = [&] {
    if (stop.stop_requested() || listener.refusal()) {
      watch.stop();
    }
    if (listener.hasBegun()) {
      watch.begin();
    }
    const remote::RunWatch::Acts acts = watch.tick(Clock::now());
    if (acts.ping || acts.cancel) {
      child.write(program::writeCommand(acts.ping ? program::RunCommand::ping : program::RunCommand::cancel));
    }
    if (acts.closeInput) {
      child.closeInput();
    }
    if (acts.answersAgain) {
      std::fprintf(stderr, "# %s answers again\n", machine.c_str());
    } else if (acts.fellSilent) {
      std::fprintf(stderr, "# %s has not answered for %s; Ctrl+C ends the wait\n", machine.c_str(),
                   remote::secondsText(limits.silence).c_str());
    }
    if (acts.kill) {
      child.signal(SIGKILL);
    }
  };
  child.pump(
      [&](std::string_view text) {
        watch.hear(Clock::now());
        listener.hear(text);
      },
      [](std::string_view text) { std::fputs(harmless(text).c_str(), stderr); }, onTick);
  return {child.wait(), watch.isLate(), watch.isLost()};
}

/// A name that begins with a dash must not read as an option.
std::string fileWord(const std::string& name) {
  return !name.empty() && name.front() == '-' ? "./" + name : name;
}

Result<Report> runHere(const RunOptions& options, const remote::Limits& limits, const Progress& progress) {
  const auto executor = executorFor(options);
  if (!executor) {
    return executor.error();
  }
  program::RunRequest request = options.request;
  request.schedule = fileWord(options.file);
  request.goal = fileWord(options.goal);
  std::vector<std::string> words{*executor};
  for (std::string& word : program::executorArguments(request, true)) {
    words.push_back(std::move(word));
  }
  auto child = Child::start(words);
  if (!child) {
    return child.error();
  }
  Listener listener(options.json);
  const Heard heard = listen(*child, listener, limits, {}, false, progress.stop);
  return reportOf(listener, options.json, options.file, heard.status);
}

// ---- another machine

/// The name of the schedule in the folder of a run, by its kind.
std::string nameThere(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || text[first] != '{') {
    return "schedule.xml";
  }
  if (const workflow::Target* target = workflow::targetOfFile(text)) {
    return "schedule" + std::string(target->extension);
  }
  const bool isSteps = workflow::scheduleFileKind(text) == workflow::ScheduleFileKind::steps;
  return isSteps ? "steps.schedule.json" : "schedule.forest.json";
}

/// The same of the table of a custom collective; empty where there is none.
std::string goalThere(const RunOptions& options) {
  return options.goal.empty() ? std::string() : options.goal.ends_with(".json") ? "goal.json" : "goal.csv";
}

/// What a session tells is for standard error.
remote::SessionEvents eventsOf(const std::string& machine, const remote::Limits& limits) {
  remote::SessionEvents events;
  events.onStep = [machine, wasCopying = false](remote::Step step, const remote::StepReport& report) mutable {
    const bool isCopying =
        step == remote::Step::copy && report.state == remote::StepReport::State::running && !report.command.empty();
    if (isCopying && !wasCopying) {
      std::fprintf(stderr, "# copying coppice-exec to %s\n", machine.c_str());
    }
    wasCopying = wasCopying || isCopying;
  };
  events.onSlow = [notice = limits.silence](const std::string& name, const std::string& doing,
                                            remote::Limits::Time limit) {
    std::fprintf(stderr, "# %s has not answered for %s while %s; waiting up to %s, Ctrl+C ends the wait\n",
                 name.c_str(), remote::secondsText(notice).c_str(), doing.c_str(), remote::secondsText(limit).c_str());
  };
  return events;
}

/// Opens a session with each machine; several must be able to run together.
Result<std::vector<remote::Seat>> takeSeats(const RunOptions& options, const std::vector<remote::Member>& members,
                                            const remote::Limits& limits, const std::stop_token& stop) {
  const auto executor = executorFor(options);
  if (!executor) {
    return executor.error();
  }
  std::vector<remote::Seat> seats;
  for (const remote::Member& member : members) {
    remote::SessionOptions wanted;
    wanted.target = member.target;
    wanted.ssh.configFile = options.sshConfig;
    wanted.limits = limits;
    wanted.executor = *executor;
    wanted.leftOut = {remote::Step::partitions};
    if (members.size() == 1) {
      wanted.leftOut.insert(wanted.leftOut.end(), {remote::Step::resolve, remote::Step::selfTest});
    }
    // The user at a terminal may be asked for the passphrase of a key.
    wanted.asksAtTerminal = canAskAtTerminal();
    wanted.events = eventsOf(member.target.host, limits);
    auto session = std::make_shared<remote::Session>(std::move(wanted));
    if (Outcome opened = session->open(stop); !opened) {
      return opened.error();
    }
    seats.push_back({std::move(session), member.ranks});
    if (members.size() > 1) {
      for (const remote::Seat& seat : seats) {
        if (Error fault = remote::seatFault(seat, seats.back()); !fault.message.empty()) {
          return fault;
        }
      }
    }
  }
  return seats;
}

/// A remote run that ended without its last record: the connection failed, or a person did not want to wait.
Error lostRun(const RunOptions& options, const std::vector<remote::Member>& members, const std::string& id,
              const Listener& listener, const Heard& heard, const remote::Limits& limits, bool isStopped) {
  const std::string where = members.front().target.text();
  const std::string again = remote::attachCommand(members, options.sshConfig, id);
  if (isStopped) {
    return {ErrorCode::cancelled, "stopped waiting; " + where + " did not confirm that the run " + id + " ended",
            "to see it: " + again};
  }
  constexpr int kNotFound = 127;
  if (heard.status == kNotFound && !listener.hasHeard()) {
    return {ErrorCode::io, "coppice-exec is no longer on " + where, "start the run again"};
  }
  std::string message = "the connection to " + where + " was lost in the run " + id;
  if (heard.isLate) {
    message = where + " did not start the run " + id + " within " + remote::secondsText(limits.start);
  } else if (heard.isLost) {
    message = where + " has not answered for " + remote::secondsText(limits.lost) + "; the run " + id + " was left";
  }
  // The remote supervisor ends it when the connection is gone, unless it was started to continue.
  const bool goesOn = options.detaches || !options.attach.empty();
  return {ErrorCode::io, message,
          std::string(goesOn ? "it may still be active there; to attach again: "
                             : "it ends there by itself; to see its results: ") +
              again};
}

Result<Report> runThere(const RunOptions& options, const std::vector<remote::Member>& members,
                        const remote::Limits& limits, const Progress& progress) {
  std::string text;
  if (options.attach.empty()) {
    // Before anything is connected.
    auto read = io::readFile(options.file);
    if (!read) {
      return read.error();
    }
    text = std::move(*read);
  } else if (!remote::isPlainName(options.attach)) {
    return Error{ErrorCode::badUsage, inQuotes(options.attach) + " is not the name of a run",
                 "use the name that --detach printed"};
  }
  const auto taken = takeSeats(options, members, limits, progress.stop);
  if (!taken) {
    return taken.error();
  }
  const std::vector<remote::Seat>& seats = *taken;
  const remote::Session& first = *seats.front().session;
  const std::string id = options.attach.empty() ? "cli-" + remote::newMark() : options.attach;
  if (options.attach.empty()) {
    const auto here = TemporaryFolder::make();
    if (!here) {
      return here.error();
    }
    remote::RunOrder order;
    order.run = id;
    order.schedule = fs::absolute(options.file);
    order.scheduleName = nameThere(text);
    order.request = options.request;
    order.request.schedule = order.scheduleName;
    if (!options.goal.empty()) {
      order.goal = fs::absolute(options.goal);
      order.request.goal = goalThere(options);
    }
    order.environment = options.environment;
    order.endsWithStarter = !options.detaches;
    order.limitSeconds = options.limit;
    order.jobFile = here->file("job.json");
    if (Outcome sent = remote::sendRun(seats, std::move(order), progress.stop); !sent) {
      return sent.error();
    }
  }
  auto child =
      Child::start(first.executorCommand({options.attach.empty() ? "supervise" : "attach", first.runFolder(id)}));
  if (!child) {
    return child.error();
  }
  const std::string where = remote::membersText(members);
  Listener listener(options.json);
  const Heard heard = listen(*child, listener, limits, members.front().target.text(), options.detaches, progress.stop);
  if (options.detaches && listener.hasBegun() && !listener.end() && !progress.stop.stop_requested()) {
    Report report;
    report.json = Json{{"ok", true}, {"run", id}, {"host", where}};
    report.text = "# the run continues; to see it: " + remote::attachCommand(members, options.sshConfig, id) + "\n";
    return report;
  }
  if (!listener.end() && !listener.refusal()) {
    return lostRun(options, members, id, listener, heard, limits, progress.stop.stop_requested());
  }
  if (const auto& end = listener.end(); end && (end->code == RunExit::ok || end->code == RunExit::cancelled)) {
    // What went wrong stays there, for a closer look.
    remote::dropRun(seats, id);
  }
  Result<Report> report = reportOf(listener, options.json, where, heard.status);
  if (report) {
    report->json["run"] = id;
  }
  return report;
}

// ---- the bundle

/// The files for a target: of a folder, those with its ending; a file of it; or a schedule, exported.
Result<std::vector<workflow::LaunchFile>> targetFiles(const RunOptions& options, const workflow::Target& target,
                                                      const Progress& progress) {
  std::error_code failed;
  std::vector<fs::path> paths{options.file};
  if (fs::is_directory(options.file, failed)) {
    paths.clear();
    for (const auto& entry : fs::directory_iterator(options.file, failed)) {
      if (entry.path().filename().string().ends_with(target.extension)) {
        paths.push_back(entry.path());
      }
    }
    std::sort(paths.begin(), paths.end());
  }
  std::vector<workflow::LaunchFile> files;
  for (const fs::path& path : paths) {
    auto text = io::readFile(path.string(), io::kMaxForestBytes);
    if (!text) {
      return text.error();
    }
    if (target.isFile(*text)) {
      files.push_back({path.filename().string(), *std::move(text)});
      continue;
    }
    const auto schedule = workflow::readSchedule(*text, path.string());
    if (!schedule) {
      return schedule.error();
    }
    if (const Outcome right = workflow::requireVerified(schedule->fabric, schedule->schedule, progress); !right) {
      return right.error();
    }
    const std::string name = path.filename().string();
    const std::string plan = name.substr(0, name.find('.')) + std::string(target.extension);
    auto exported = target.write(schedule->fabric, schedule->schedule, {}, plan, progress);
    if (!exported) {
      return exported.error();
    }
    files.push_back({plan, std::move(exported->text)});
  }
  return files;
}

Result<Report> writeTargetBundle(const RunOptions& options, const workflow::Target& target, const Progress& progress) {
  auto files = targetFiles(options, target, progress);
  if (!files) {
    return files.error();
  }
  for (const workflow::LaunchFile& file : *files) {
    const auto judged = target.read(file.text, file.name, {}, progress);
    if (!judged) {
      return judged.error();
    }
    if (const auto fault = std::find_if(judged->findings.begin(), judged->findings.end(),
                                        [](const Finding& each) { return each.severity == Severity::error; });
        fault != judged->findings.end()) {
      return Error{ErrorCode::verification, file.name + " is refused: " + fault->text, fault->fix, fault->where};
    }
  }
  const auto launch = target.launch(*files);
  if (!launch) {
    return launch.error();
  }
  std::map<std::string, remote::BundleFile> bundle;
  for (const std::vector<workflow::LaunchFile>* list : {&std::as_const(*files), &*launch}) {
    for (const workflow::LaunchFile& file : *list) {
      bundle[file.name] = {file.text, file.text.starts_with("#!")};
    }
  }
  if (Outcome written = remote::writeBundleFolder(options.bundle, bundle); !written) {
    return written.error();
  }
  Report report;
  report.json["target"] = target.id;
  for (const auto& [name, file] : bundle) {
    report.json["files"].push_back(name);
  }
  report.text = options.bundle + ": ready, " + counted(static_cast<std::int64_t>(files->size()), "plan") + " for " +
                std::string(target.title) + "; README.md says how to start\n";
  return report;
}

Result<Report> writeBundle(const RunOptions& options, const Progress& progress) {
  auto text = io::readFile(options.file);
  if (!text) {
    return text.error();
  }
  program::RunRequest request = options.request;
  request.schedule = nameThere(*text);
  request.goal = goalThere(options);
  const auto schedule = workflow::scheduleFacts(*text, options.file, progress);
  if (!schedule) {
    return schedule.error();
  }
  const auto program = executorFor(options);
  remote::ExecutorFiles executor;
  if (program) {
    auto read = remote::readExecutor(*program);
    if (!read) {
      return read.error();
    }
    executor = std::move(*read);
  }
  const bool hasMpi = std::any_of(executor.files.begin(), executor.files.end(),
                                  [](const remote::Upload& file) { return file.name == "libcoppice-exec-mpi.so"; });
  const remote::BundleFacts facts{.title = fs::path(options.file).filename().string(),
                                  .version = kVersion,
                                  .ranks = schedule->ranks,
                                  .hasExecutor = static_cast<bool>(program),
                                  .hasMpi = hasMpi,
                                  .root = schedule->root};
  std::map<std::string, remote::BundleFile> files = remote::bundleFiles(request, facts);
  files[request.schedule] = {std::move(*text), false};
  if (!options.goal.empty()) {
    auto table = io::readFile(options.goal);
    if (!table) {
      return table.error();
    }
    files[request.goal] = {std::move(*table), false};
  }
  for (const remote::Upload& file : executor.files) {
    auto bytes = io::readFile(file.source);
    if (!bytes) {
      return bytes.error();
    }
    files[file.name] = {std::move(*bytes), true};
  }
  if (Outcome written = remote::writeBundleFolder(options.bundle, files); !written) {
    return written.error();
  }
  Report report;
  for (const auto& [name, file] : files) {
    report.json["files"].push_back(name);
  }
  report.text =
      options.bundle + (program ? ": ready" : ": ready, without the executor, which is not installed here") + "\n";
  return report;
}

/// "node1:4,node2" by the commas.
std::vector<std::string> wordsOf(std::string rest) {
  std::vector<std::string> words;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    words.push_back(rest.substr(0, comma));
    rest = comma == std::string::npos ? std::string() : rest.substr(comma + 1);
  }
  return words;
}

Outcome readVariables(RunOptions& options) {
  for (const std::string& word : options.variables) {
    const std::size_t sign = word.find('=');
    const std::string name = word.substr(0, sign);
    if (sign == std::string::npos || !program::mayBeSet(name)) {
      return Error{ErrorCode::badUsage, inQuotes(word) + " cannot be set for a run",
                   "write NAME=VALUE with a variable of MPI, UCX, NCCL or OpenMP that names no file, for example "
                   "OMPI_MCA_btl_tcp_if_include=eth0"};
    }
    options.environment[name] = word.substr(sign + 1);
  }
  return Done{};
}

Result<Report> perform(RunOptions options, const Progress& progress) {
  if (options.file.empty() && options.attach.empty()) {
    return Error{ErrorCode::badUsage, "no schedule is given", "name an MSCCL XML, a .forest.json or a .schedule.json"};
  }
  if (Outcome read = readVariables(options); !read) {
    return read.error();
  }
  // Hosts by themselves are machines to connect to; beside a launcher they are its hosts.
  const bool areMachines =
      !options.hosts.empty() && options.host.empty() && options.launch.empty() && options.bundle.empty();
  if (!options.hosts.empty() && !areMachines) {
    if (options.launch.empty() && !options.host.empty()) {
      return Error{ErrorCode::badUsage, "--host is one machine, --hosts are several",
                   "name them all in --hosts, or add --launch mpirun, which starts on the machine of --host and "
                   "reaches the others from there"};
    }
    options.request.hosts = wordsOf(options.hosts);
  }
  std::vector<remote::Member> members;
  if (areMachines) {
    auto read = remote::parseMembers(options.hosts);
    if (!read) {
      return read.error();
    }
    members = std::move(*read);
    if (members.size() > 1 && !options.request.backend.empty() && options.request.backend != "mpi") {
      return Error{ErrorCode::badUsage, "the backend " + options.request.backend + " runs on one machine",
                   "leave --backend out"};
    }
  } else if (!options.host.empty()) {
    auto target = remote::parseTarget(options.host);
    if (!target) {
      return target.error();
    }
    members.push_back({std::move(*target), 0});
  }
  if (members.empty() && (options.detaches || !options.attach.empty())) {
    return Error{ErrorCode::badUsage, "--detach and --attach apply to runs on another machine", "add --host"};
  }
  if (members.empty() && !options.variables.empty()) {
    return Error{ErrorCode::badUsage, "--env sets variables of a run on another machine",
                 "set it in front of the command, for example " + options.variables.front() +
                     " coppice-cli run, or add --host or --hosts"};
  }
  if (!options.target.empty()) {
    if (options.bundle.empty()) {
      return Error{ErrorCode::badUsage, "--target is for a launch bundle: coppice-exec runs the file itself",
                   "add --bundle DIR, or leave --target out"};
    }
    return writeTargetBundle(options, *workflow::findTarget(options.target), progress);
  }
  program::RunRequest checked = options.request;
  checked.schedule = options.file.empty() ? "attached" : fileWord(options.file);
  if (const auto faults = program::faultsOf(checked); !faults.empty()) {
    return Error{faults.front().code, faults.front().text, faults.front().fix};
  }
  if (!options.bundle.empty()) {
    return writeBundle(options, progress);
  }
  const auto limits = remote::limitsFromEnvironment();
  if (!limits) {
    return limits.error();
  }
  return members.empty() ? runHere(options, *limits, progress) : runThere(options, members, *limits, progress);
}

}  // namespace

void addRun(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<RunOptions>();
  CLI::App& sub = addSubcommand(app, invocation, "run", "Run a schedule on this or another machine, check and time it",
                                "  coppice-cli run a100.xml\n"
                                "  coppice-cli run a100.forest.json -b 64K -e 256M --backend mpi --launch mpirun\n"
                                "  coppice-cli run a100.xml --host ann@node1 --detach\n"
                                "  coppice-cli run a100.xml --hosts node1:8,node2:8\n"
                                "  coppice-cli run a100.xml --bundle for-the-cluster\n"
                                "  coppice-cli run plans --bundle for-the-cluster --target mscclpp");
  sub.add_option("file", options->file, "MSCCL XML, an MSCCL++ plan, a .forest.json or a .schedule.json");
  sub.add_option("--goal", options->goal,
                 "Programs of coll=\"custom\": what they compute, as a table of shards (CSV or JSON), or the "
                 ".schedule.json that they are made of");
  sub.add_option("--backend", options->request.backend, "threads, mpi or cuda; default: the executor chooses");
  sub.add_option("-b,--minbytes", options->request.minBytes, "First size")->capture_default_str();
  sub.add_option("-e,--maxbytes", options->request.maxBytes, "Last size")->capture_default_str();
  sub.add_option("-f,--stepfactor", options->request.factor, "Factor from one size to the next")->capture_default_str();
  sub.add_option("-n,--iters", options->request.iterations, "Timed iterations of each size")->capture_default_str();
  sub.add_option("-w,--warmup", options->request.warmup, "Warm-up iterations of each size")->capture_default_str();
  sub.add_option("-d,--type", options->request.type, "float, half, bfloat16, int32 or int8")->capture_default_str();
  sub.add_option("-o,--op", options->request.operation, "sum, prod, min, max or avg")->capture_default_str();
  sub.add_flag("--no-check", options->isUnchecked, "Do not check the data");
  sub.add_option("--bound", options->request.boundGBps, "Bound of algbw in GB/s; default for a .forest.json: its own");
  sub.add_option("--launch", options->launch, "Start one process for each rank with it")
      ->check(CLI::IsMember({"mpirun", "srun"}));
  sub.add_option("--hosts", options->hosts,
                 "Run over these machines together, over ssh, for example node1:8,node2:8: copies the executor to each "
                 "and starts mpirun on the first. With --launch: the hosts of mpirun or srun, where nothing is copied");
  sub.add_option("--partition", options->request.partition, "Slurm partition for srun");
  sub.add_option("--host", options->host, "Run on this machine over ssh: host, user@host or user@host:port");
  sub.add_option("--ssh-config", options->sshConfig, "Configuration file for ssh instead of your own");
  sub.add_option("--executor", options->executor, "Path of coppice-exec, if it is not beside this program");
  sub.add_flag("--detach", options->detaches, "With --host or --hosts: leave the run active and print its name");
  sub.add_option("--attach", options->attach, "With --host or --hosts: attach to the run with this name");
  sub.add_option("--env", options->variables,
                 "With --host or --hosts: set NAME=VALUE for MPI, UCX or NCCL on the machines");
  addSeconds(sub, "--limit", options->limit,
             "With --host or --hosts: end the run after this time, for example 90s or 5m");
  sub.add_option("--bundle", options->bundle,
                 "Do not run; write a folder with everything that is needed to run elsewhere");
  std::vector<std::string> targets;
  for (const workflow::Target& each : workflow::targets()) {
    targets.emplace_back(each.id);
  }
  sub.add_option("--target", options->target,
                 "With --bundle: files and scripts for a runtime in place of coppice-exec. " + workflow::targetHelp() +
                     "; of a schedule, a file of it, or a folder of those")
      ->check(CLI::IsMember(targets));
  sub.callback([options, &invocation] {
    options->json = invocation.json;
    options->request.checks = !options->isUnchecked;
    options->request.launch = options->launch == "mpirun"
                                  ? program::Launch::mpirun
                                  : (options->launch == "srun" ? program::Launch::srun : program::Launch::single);
    invocation.action = [options](const Progress& progress) { return perform(*options, progress); };
  });
}

}  // namespace coppice::cli
