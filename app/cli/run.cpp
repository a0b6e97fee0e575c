// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "bench/table.hpp"
#include "child.hpp"
#include "command.hpp"
#include "coppice/version.hpp"
#include "io/files.hpp"
#include "io/forest_json.hpp"
#include "machine_link.hpp"
#include "program/msccl_xml.hpp"
#include "program/run_job.hpp"
#include "program/run_protocol.hpp"
#include "remote/bundle.hpp"
#include "remote/host.hpp"
#include "remote/scripts.hpp"
#include "remote/several.hpp"

namespace coppice::cli {
namespace {

namespace fs = std::filesystem;
using program::RunExit;

struct Options {
  std::string file = {};
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
  std::int64_t limit = 0;
  std::vector<std::string> variables = {};
  std::map<std::string, std::string> environment = {};
  bool json = false;
};

// ---- the executor

std::string findExecutor() {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* place : {"coppice-exec", "../libexec/coppice/coppice-exec"}) {
    const fs::path path = here / place;
    if (access(path.c_str(), X_OK) == 0) {
      return fs::canonical(path, error).string();
    }
  }
  return {};
}

Result<std::string> executorFor(const Options& options) {
  const std::string path = options.executor.empty() ? findExecutor() : options.executor;
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
      constexpr std::size_t kMost = 10'000;
      Json& list = m_answer[kind + "s"];
      if (list.size() < kMost) {
        list.push_back(json);
      }
    }
  }

  bool m_json;
  bool m_hasBegun = false;
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
    return Error{ErrorCode::io, what + " ended without a last word (status " + std::to_string(status) + ")",
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

/// Listens to a run until it ends; a stop asks it to end and, where that does not help, ends it.
int listen(Child& child, Listener& listener, const std::stop_token& stop, bool leavesAfterHello) {
  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> asked;
  Clock::time_point pinged = Clock::now();
  bool isLeaving = false;
  constexpr auto kPing = std::chrono::seconds(5);
  constexpr auto kPatience = std::chrono::seconds(15);
  child.pump([&](std::string_view text) { listener.hear(text); },
             [](std::string_view text) { std::fputs(harmless(text).c_str(), stderr); },
             [&] {
               if ((stop.stop_requested() || listener.refusal()) && !asked) {
                 asked = Clock::now();
                 child.write(program::writeCommand(program::RunCommand::cancel));
               } else if (asked && Clock::now() - *asked > kPatience) {
                 child.signal(SIGKILL);
               } else if (leavesAfterHello && listener.hasBegun() && !isLeaving) {
                 isLeaving = true;
                 child.closeInput();
               } else if (!isLeaving && Clock::now() - pinged > kPing) {
                 pinged = Clock::now();
                 child.write(program::writeCommand(program::RunCommand::ping));
               }
             });
  return child.wait();
}

Result<Report> runHere(const Options& options, const Progress& progress) {
  const auto executor = executorFor(options);
  if (!executor) {
    return executor.error();
  }
  program::RunRequest request = options.request;
  request.schedule = options.file.front() == '-' ? "./" + options.file : options.file;
  std::vector<std::string> words{*executor};
  for (std::string& word : program::executorArguments(request, true)) {
    words.push_back(std::move(word));
  }
  auto child = Child::start(words);
  if (!child) {
    return child.error();
  }
  Listener listener(options.json);
  const int status = listen(*child, listener, progress.stop, false);
  return reportOf(listener, options.json, options.file, status);
}

// ---- another machine

std::string newRunId() {
  std::random_device random;
  constexpr const char* kDigits = "0123456789abcdef";
  std::string id = "cli-";
  for (int i = 0; i < 16; ++i) {
    id += kDigits[random() % 16U];
  }
  return id;
}

/// A file of ours for the time of one upload.
class TemporaryFolder {
public:
  TemporaryFolder() {
    if (mkdtemp(m_path.data()) == nullptr) {
      m_path.clear();
    }
  }
  ~TemporaryFolder() {
    std::error_code error;
    if (!m_path.empty()) {
      fs::remove_all(m_path, error);
    }
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return m_path; }

private:
  std::string m_path = "/tmp/coppice-XXXXXX";
};

bool isForest(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && text[first] == '{';
}

/// A machine of a run, from the connection to the folder of the executor.
struct Seat {
  remote::Member member;
  std::unique_ptr<MachineLink> link;
  Deployed deployed;
  std::string mpi;  ///< what the executor says of MPI there; only asked for where several machines run together
};

Result<std::vector<Seat>> takeSeats(const Options& options, const std::vector<remote::Member>& members,
                                    const std::stop_token& stop) {
  const auto executor = executorFor(options);
  if (!executor) {
    return executor.error();
  }
  std::vector<Seat> seats;
  for (const remote::Member& member : members) {
    auto link = MachineLink::open(member.target, options.sshConfig, stop);
    if (!link) {
      return link.error();
    }
    Seat seat{member, std::move(*link), {}, {}};
    auto deployed = deploy(*seat.link, *executor, stop);
    if (!deployed) {
      return deployed.error();
    }
    seat.deployed = std::move(*deployed);
    if (members.size() > 1) {
      const auto environment = selfTest(*seat.link, seat.deployed, stop);
      if (!environment) {
        return environment.error();
      }
      for (const program::BackendNote& note : environment->backends) {
        if (note.name == "mpi" && note.available) {
          seat.mpi = note.reason;
        }
      }
      for (const Seat& other : seats) {
        if (other.deployed.host == seat.deployed.host && other.deployed.boot == seat.deployed.boot) {
          return Error{ErrorCode::badUsage,
                       member.target.text() + " and " + other.member.target.text() + " are the same machine, " +
                           inQuotes(seat.deployed.host),
                       "name it once, with all its ranks behind the colon"};
        }
      }
    }
    seats.push_back(std::move(seat));
    if (const Error difference = seats.size() > 1 || members.size() > 1
                                     ? remote::differenceOf(seats.front().member.target.host, seats.front().mpi,
                                                            member.target.host, seats.back().mpi)
                                     : Error{};
        !difference.message.empty()) {
      return difference;
    }
  }
  return seats;
}

/// The machines as mpirun on the first is to call them: "nodeA:4".
Result<std::vector<std::string>> hostsForFirst(const std::vector<Seat>& seats, const std::string& run,
                                               const std::stop_token& stop) {
  std::vector<std::vector<std::string>> names;
  std::vector<std::string> titles;
  for (std::size_t i = 1; i < seats.size(); ++i) {
    names.push_back(remote::namesOf(seats[i].deployed.host, seats[i].member.target.host, seats[i].link->address(stop)));
    titles.push_back(seats[i].member.target.host);
  }
  const auto tried = seats.front().link->script(remote::reachScript(run, names), stop);
  if (!tried) {
    return tried.error();
  }
  std::vector<std::string> hosts{seats.front().deployed.host};
  for (const remote::Reach& reach : remote::reachesIn(*tried, titles, seats.front().member.target.host)) {
    if (reach.name.empty()) {
      return reach.error;
    }
    hosts.push_back(reach.name);
  }
  for (std::size_t i = 0; i < seats.size(); ++i) {
    if (!remote::isHostName(hosts[i]) || hosts[i].find(':') != std::string::npos) {
      return Error{ErrorCode::unavailable, seats[i].member.target.host + " calls itself " + inQuotes(hosts[i]),
                   "give it a host name of letters, digits, '.' and '-'"};
    }
    hosts[i] += seats[i].member.ranks > 0 ? ":" + std::to_string(seats[i].member.ranks) : std::string();
  }
  return hosts;
}

/// Makes the folder of the run on all machines and fills it; the job stands on the first.
Outcome putRun(const std::vector<Seat>& seats, const Options& options, const std::string& id,
               const std::string& scheduleName, const std::stop_token& stop) {
  const std::string place = remote::runFolder(id);
  for (const Seat& seat : seats) {
    const auto made = seat.link->script(
        &seat == &seats.front() ? remote::runFolderScript(id) : remote::sameRunFolderScript(id), stop);
    if (!made) {
      return made.error();
    }
    const std::string how = remote::fact(*made, "run");
    if (how == "shared") {
      continue;
    }
    if (how != "made") {
      return Error{ErrorCode::io, "the folder of the run could not be made on " + seat.member.target.text(),
                   "check its home folder"};
    }
    if (Outcome put = seat.link->put({{fs::absolute(options.file).string(), place + "/" + scheduleName}}, stop); !put) {
      return put;
    }
  }
  return Done{};
}

Outcome putJob(const Seat& first, const Options& options, const program::RunRequest& request, const std::string& id,
               const std::stop_token& stop) {
  program::RunJob job;
  job.arguments = program::executorArguments(request, true);
  job.environment = options.environment;
  job.endsWithStarter = !options.detaches;
  job.limitSeconds = options.limit;
  const TemporaryFolder here;
  if (Outcome saved = io::saveFile(fs::path(here.path()) / "job.json", program::writeJob(job)); !saved) {
    return saved;
  }
  return first.link->put({{here.path() + "/job.json", remote::runFolder(id) + "/job.json"}}, stop);
}

void dropRun(const std::vector<Seat>& seats, const std::string& id) {
  for (const Seat& seat : seats) {
    // Also after an interrupt.
    [[maybe_unused]] const auto dropped = seat.link->script(remote::dropRunScript(id), {});
  }
}

Result<Report> runThere(const Options& options, const std::vector<remote::Member>& members, const Progress& progress) {
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
  const auto taken = takeSeats(options, members, progress.stop);
  if (!taken) {
    return taken.error();
  }
  const std::vector<Seat>& seats = *taken;
  const Seat& first = seats.front();
  const std::string id = options.attach.empty() ? newRunId() : options.attach;
  if (options.attach.empty()) {
    program::RunRequest request = options.request;
    request.schedule = isForest(text) ? "schedule.forest.json" : "schedule.xml";
    Outcome done = putRun(seats, options, id, request.schedule, progress.stop);
    if (done && seats.size() > 1) {
      auto hosts = hostsForFirst(seats, id, progress.stop);
      done = hosts ? Outcome(Done{}) : Outcome(hosts.error());
      if (hosts) {
        request.launch = program::Launch::mpirun;
        request.hosts = std::move(*hosts);
      }
    }
    if (done) {
      done = putJob(first, options, request, id, progress.stop);
    }
    if (!done) {
      dropRun(seats, id);
      return done.error();
    }
  }
  auto child =
      Child::start(first.link->command(first.deployed.folder + "/coppice-exec " +
                                       (options.attach.empty() ? "supervise " : "attach ") + remote::runFolder(id)));
  if (!child) {
    return child.error();
  }
  const std::string where = remote::membersText(members);
  Listener listener(options.json);
  const int status = listen(*child, listener, progress.stop, options.detaches);
  if (options.detaches && !listener.end() && !progress.stop.stop_requested()) {
    Report report;
    report.json = Json{{"ok", true}, {"run", id}, {"host", where}};
    report.text = "# the run goes on; to see it: coppice-cli run " +
                  std::string(members.size() > 1 ? "--hosts " : "--host ") + where + " --attach " + id + "\n";
    return report;
  }
  if (const auto& end = listener.end(); end && (end->code == RunExit::ok || end->code == RunExit::cancelled)) {
    // What went wrong stays there, for a closer look.
    dropRun(seats, id);
  }
  Result<Report> report = reportOf(listener, options.json, where, status);
  if (report) {
    report->json["run"] = id;
  }
  return report;
}

// ---- the bundle

/// Of an MSCCL XML or a .forest.json.
Result<int> ranksOf(const std::string& text, const std::string& name) {
  if (isForest(text)) {
    const auto forest = io::loadForest(text, name);
    return forest ? Result<int>(forest->fabric.gpuCount()) : forest.error();
  }
  const auto file = program::readMscclXml(text, program::Runtime::msccl, name);
  return file ? Result<int>(static_cast<int>(file->program.ranks.size())) : file.error();
}

Result<Report> writeBundle(const Options& options) {
  auto text = io::readFile(options.file);
  if (!text) {
    return text.error();
  }
  std::error_code error;
  const fs::path folder = options.bundle;
  if (fs::exists(folder, error) && (!fs::is_directory(folder, error) || !fs::is_empty(folder, error))) {
    return Error{ErrorCode::badUsage, inQuotes(options.bundle) + " is there already", "choose a new name"};
  }
  fs::create_directories(folder, error);
  if (error) {
    return Error{ErrorCode::io, inQuotes(options.bundle) + " cannot be made: " + error.message(),
                 "choose another place"};
  }
  program::RunRequest request = options.request;
  request.schedule = isForest(*text) ? "schedule.forest.json" : "schedule.xml";
  const auto ranks = ranksOf(*text, options.file);
  if (!ranks) {
    return ranks.error();
  }
  const auto executor = executorFor(options);
  const std::map<std::string, std::string> programs =
      executor ? executorFiles(*executor) : std::map<std::string, std::string>{};
  const remote::BundleFacts facts{fs::path(options.file).filename().string(), kVersion, *ranks,
                                  static_cast<bool>(executor), programs.contains("libcoppice-exec-mpi.so")};
  std::map<std::string, remote::BundleFile> files = remote::bundleFiles(request, facts);
  files[request.schedule] = {std::move(*text), false};
  Report report;
  for (const auto& [name, file] : files) {
    if (Outcome saved = io::saveFile(folder / name, file.text); !saved) {
      return saved.error();
    }
    if (file.isProgram) {
      fs::permissions(folder / name, fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec,
                      fs::perm_options::add, error);
    }
    report.json["files"].push_back(name);
  }
  for (const auto& [name, path] : programs) {
    fs::copy_file(path, folder / name, error);
    if (error) {
      return Error{ErrorCode::io, name + " cannot be copied: " + error.message(), "check the free space"};
    }
    report.json["files"].push_back(name);
  }
  report.text =
      options.bundle + (executor ? ": ready" : ": ready, without the executor: it is not installed here") + "\n";
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

Outcome readVariables(Options& options) {
  for (const std::string& word : options.variables) {
    const std::size_t sign = word.find('=');
    const std::string name = word.substr(0, sign);
    if (sign == std::string::npos || !program::mayBeSet(name)) {
      return Error{ErrorCode::badUsage, inQuotes(word) + " cannot be set for a run",
                   "write NAME=VALUE with a variable of MPI, UCX, NCCL or OpenMP that names no file, as in "
                   "OMPI_MCA_btl_tcp_if_include=eth0"};
    }
    options.environment[name] = word.substr(sign + 1);
  }
  return Done{};
}

Result<Report> perform(Options options, const Progress& progress) {
  if (options.file.empty() && options.attach.empty()) {
    return Error{ErrorCode::badUsage, "no schedule is given", "name an MSCCL XML or a .forest.json"};
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
                   "name them all in --hosts, or add --launch mpirun, which starts on that of --host and finds the "
                   "others by itself"};
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
    return Error{ErrorCode::badUsage, "--detach and --attach are about another machine", "add --host"};
  }
  program::RunRequest checked = options.request;
  checked.schedule =
      options.file.empty() ? "attached" : (options.file.front() == '-' ? "./" + options.file : options.file);
  if (const auto faults = program::faultsOf(checked); !faults.empty()) {
    return Error{faults.front().code, faults.front().text, faults.front().fix};
  }
  if (!options.bundle.empty()) {
    return writeBundle(options);
  }
  return members.empty() ? runHere(options, progress) : runThere(options, members, progress);
}

}  // namespace

void addRun(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<Options>();
  CLI::App& sub = addSubcommand(app, invocation, "run", "Run a schedule on this machine or another, check and time it",
                                "  coppice-cli run a100.xml\n"
                                "  coppice-cli run a100.forest.json -b 64K -e 256M --backend mpi --launch mpirun\n"
                                "  coppice-cli run a100.xml --host ann@node1 --detach\n"
                                "  coppice-cli run a100.xml --hosts node1:8,node2:8\n"
                                "  coppice-cli run a100.xml --bundle for-the-cluster");
  sub.add_option("file", options->file, "MSCCL XML, or a .forest.json");
  sub.add_option("--backend", options->request.backend, "threads, mpi or cuda; without it, the executor chooses");
  sub.add_option("-b,--minbytes", options->request.minBytes, "First size")->capture_default_str();
  sub.add_option("-e,--maxbytes", options->request.maxBytes, "Last size")->capture_default_str();
  sub.add_option("-f,--stepfactor", options->request.factor, "From size to size: times this")->capture_default_str();
  sub.add_option("-n,--iters", options->request.iterations, "Timed rounds of each size")->capture_default_str();
  sub.add_option("-w,--warmup", options->request.warmup, "Rounds before them")->capture_default_str();
  sub.add_option("-d,--type", options->request.type, "float, half, bfloat16, int32 or int8")->capture_default_str();
  sub.add_option("-o,--op", options->request.operation, "sum, prod, min, max or avg")->capture_default_str();
  sub.add_flag("--no-check", options->isUnchecked, "Do not check the data");
  sub.add_option("--bound", options->request.boundGBps, "Best algbw in GB/s; a .forest.json brings its own");
  sub.add_option("--launch", options->launch, "Start one process for each rank with it")
      ->check(CLI::IsMember({"mpirun", "srun"}));
  sub.add_option("--hosts", options->hosts,
                 "Run over these machines together, over ssh, as in node1:8,node2:8: copies the executor to each and "
                 "starts mpirun on the first. With --launch: the hosts of mpirun or srun, where nothing is copied");
  sub.add_option("--partition", options->request.partition, "Slurm partition for srun");
  sub.add_option("--host", options->host, "Run there, over ssh: host, user@host or user@host:port");
  sub.add_option("--ssh-config", options->sshConfig, "Configuration file for ssh instead of your own");
  sub.add_option("--executor", options->executor, "The program coppice-exec, where it is not beside this one");
  sub.add_flag("--detach", options->detaches, "With --host or --hosts: leave the run going and print its name");
  sub.add_option("--attach", options->attach, "With --host or --hosts: show the run of this name from its beginning");
  sub.add_option("--env", options->variables, "With --host or --hosts: NAME=VALUE for MPI, UCX or NCCL over there");
  sub.add_option("--limit", options->limit, "With --host or --hosts: seconds after which the run is ended")
      ->check(CLI::NonNegativeNumber);
  sub.add_option("--bundle", options->bundle, "Do not run: write a folder with all that a run elsewhere needs");
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
