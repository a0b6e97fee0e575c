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
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "bench/table.hpp"
#include "child.hpp"
#include "command.hpp"
#include "coppice/version.hpp"
#include "io/files.hpp"
#include "program/run_job.hpp"
#include "program/run_protocol.hpp"
#include "remote/bundle.hpp"
#include "remote/elf.hpp"
#include "remote/host.hpp"
#include "remote/quoting.hpp"
#include "remote/scripts.hpp"
#include "remote/ssh.hpp"
#include "remote/ssh_fault.hpp"

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

/// A shared connection to a host, with its socket in a private folder; both go at the end.
class Connection {
public:
  static Result<std::unique_ptr<Connection>> open(const remote::Target& target, const std::string& config,
                                                  const std::stop_token& stop) {
    std::string pattern = "/tmp/coppice-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) {
      return Error{ErrorCode::io, "no private folder can be made in /tmp", "check its free space"};
    }
    auto connection = std::unique_ptr<Connection>(new Connection(target, pattern));
    connection->m_options.configFile = config;
    connection->m_options.controlSocket = pattern + "/c";
    // Somebody at a terminal may be asked for the passphrase of a key.
    connection->m_options.asksNobody = isatty(STDIN_FILENO) == 0;
    auto master =
        Child::start(words(connection->m_options.ssh, remote::masterArguments(connection->m_options, target)));
    if (!master) {
      const remote::SshFault fault{remote::SshTrouble::noSsh, "the program ssh was not found",
                                   "install OpenSSH (Debian: openssh-client)"};
      return Error{ErrorCode::unavailable, fault.message, fault.fix};
    }
    connection->m_master.emplace(std::move(*master));
    std::error_code error;
    while (!fs::exists(connection->m_options.controlSocket, error)) {
      if (stop.stop_requested()) {
        return Error{ErrorCode::cancelled, "interrupted"};
      }
      if (connection->m_master->hasEnded()) {
        std::string said;
        connection->m_master->pump([](std::string_view) {}, [&](std::string_view text) { said += text; }, [] {});
        const remote::SshFault fault = remote::sshFault(said, target.host);
        return Error{ErrorCode::io, fault.message,
                     fault.trouble == remote::SshTrouble::hostKeyUnknown
                         ? "connect once with ssh " + target.text() + " and accept the key if its fingerprint is right"
                         : fault.fix};
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return connection;
  }
  ~Connection() {
    if (m_master) {
      m_master->signal(SIGTERM);
      m_master->wait();
    }
    std::error_code error;
    fs::remove_all(m_folder, error);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Result<remote::Facts> script(const std::string& text, const std::stop_token& stop) const {
    const auto said = capture(command(remote::kScriptCommand), text, stop);
    if (!said) {
      return said.error();
    }
    remote::Facts facts = remote::factsIn(said->output);
    if (facts.empty() && said->status != 0) {
      return Error{ErrorCode::io, m_target.host + " does not run a script: " + inQuotes(said->errors),
                   "its login may allow no commands"};
    }
    return facts;
  }
  Outcome put(const std::map<std::string, std::string>& files, const std::stop_token& stop) const {
    std::string batch;
    for (const auto& [from, to] : files) {
      batch += "put " + remote::sftpWord(from) + " " + remote::sftpWord(to) + "\n";
    }
    const auto said = capture(words(m_options.sftp, remote::sftpArguments(m_options, m_target)), batch, stop);
    if (!said) {
      return said.error();
    }
    if (said->status != 0) {
      return Error{ErrorCode::io, "nothing could be copied to " + m_target.host + ": " + inQuotes(said->errors),
                   "check its free space, and that sftp is allowed"};
    }
    return Done{};
  }
  [[nodiscard]] std::vector<std::string> command(const std::string& text) const {
    return words(m_options.ssh, remote::commandArguments(m_options, m_target, text));
  }

private:
  Connection(remote::Target target, std::string folder) : m_target(std::move(target)), m_folder(std::move(folder)) {}
  static std::vector<std::string> words(const std::string& program, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), program);
    return arguments;
  }

  remote::Target m_target;
  std::string m_folder;
  remote::SshOptions m_options;
  std::optional<Child> m_master;
};

Result<std::string> digestOf(const std::string& file, const std::stop_token& stop) {
  const auto said = capture({"sha256sum", "--", file}, {}, stop);
  if (!said) {
    return said.error();
  }
  constexpr std::size_t kDigits = 64;
  if (said->status != 0 || said->output.size() < kDigits) {
    return Error{ErrorCode::io, "the checksum of " + file + " could not be computed", "check that it can be read"};
  }
  // sha256sum marks odd names with a backslash in front.
  return said->output.substr(said->output.front() == '\\' ? 1 : 0, kDigits);
}

/// The executor is there, checked, and as ours; returns its folder.
Result<std::string> deploy(const Connection& connection, const Options& options, const Progress& progress) {
  const auto path = executorFor(options);
  if (!path) {
    return path.error();
  }
  const auto bytes = io::readFile(*path);
  if (!bytes) {
    return bytes.error();
  }
  const auto needs = remote::programNeeds(*bytes);
  if (!needs) {
    return needs.error();
  }
  const auto system = connection.script(remote::systemScript(), progress.stop);
  if (!system) {
    return system.error();
  }
  const std::string architecture = remote::fact(*system, "architecture");
  if (remote::fact(*system, "system") != "Linux" || architecture != needs->architecture) {
    return Error{ErrorCode::unavailable,
                 options.host + " runs " + inQuotes(remote::fact(*system, "system") + " " + architecture) +
                     "; the executor here is built for Linux " + needs->architecture,
                 "build coppice-exec there and use a launch bundle (--bundle)"};
  }
  const std::string libc = remote::fact(*system, "libc");
  if (!needs->libc.empty() && remote::isOlder(libc.substr(libc.rfind(' ') + 1), needs->libc)) {
    return Error{ErrorCode::unavailable,
                 "the C library of " + options.host + " is " + inQuotes(libc) + "; the executor needs " + needs->libc,
                 "build coppice-exec on a system as old as that machine"};
  }
  std::map<std::string, std::string> sources{{"coppice-exec", *path}};
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(fs::path(*path).parent_path(), error)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("libcoppice-exec-", 0) == 0 && entry.path().extension() == ".so" && remote::isPlainName(name)) {
      sources[name] = entry.path().string();
    }
  }
  std::map<std::string, std::string> digests;
  std::vector<std::string> names;
  for (const auto& [name, source] : sources) {
    const auto digest = digestOf(source, progress.stop);
    if (!digest) {
      return digest.error();
    }
    digests[name] = *digest;
    names.push_back(name);
  }
  const auto space = connection.script(remote::spaceScript(), progress.stop);
  if (!space) {
    return space.error();
  }
  const std::string folder = remote::installFolder(needs->architecture);
  const auto installed = connection.script(remote::installedScript(folder, names), progress.stop);
  if (!installed) {
    return installed.error();
  }
  std::set<std::string> there;
  const auto [from, to] = installed->equal_range("sha");
  for (auto it = from; it != to; ++it) {
    there.insert(it->second);
  }
  bool isComplete = true;
  std::map<std::string, std::string> files;
  for (const auto& [name, digest] : digests) {
    isComplete = isComplete && there.contains(name + " " + digest);
    files[sources[name]] = folder + "/" + name + ".part";
  }
  if (isComplete) {
    return folder;
  }
  std::fprintf(stderr, "# copying coppice-exec to %s\n", options.host.c_str());
  if (Outcome put = connection.put(files, progress.stop); !put) {
    return put.error();
  }
  const auto done = connection.script(remote::installScript(folder, digests), progress.stop);
  if (!done) {
    return done.error();
  }
  if (!done->contains("installed")) {
    return Error{ErrorCode::io,
                 "the copy of coppice-exec on " + options.host + " has another checksum; it was thrown away",
                 "try again"};
  }
  return folder;
}

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

Result<Report> runThere(const Options& options, const Progress& progress) {
  const auto target = remote::parseTarget(options.host);
  if (!target) {
    return target.error();
  }
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
  const auto connection = Connection::open(*target, options.sshConfig, progress.stop);
  if (!connection) {
    return connection.error();
  }
  const auto folder = deploy(**connection, options, progress);
  if (!folder) {
    return folder.error();
  }
  const std::string id = options.attach.empty() ? newRunId() : options.attach;
  const std::string place = remote::runFolder(id);
  if (options.attach.empty()) {
    program::RunRequest request = options.request;
    request.schedule = isForest(text) ? "schedule.forest.json" : "schedule.xml";
    program::RunJob job;
    job.arguments = program::executorArguments(request, true);
    job.endsWithStarter = !options.detaches;
    job.limitSeconds = options.limit;
    const TemporaryFolder here;
    if (Outcome saved = io::saveFile(fs::path(here.path()) / "job.json", program::writeJob(job)); !saved) {
      return saved.error();
    }
    const auto made = (*connection)->script(remote::runFolderScript(id), progress.stop);
    if (!made) {
      return made.error();
    }
    if (remote::fact(*made, "run") != "made") {
      return Error{ErrorCode::io, "the folder of the run could not be made on " + options.host,
                   "check its home folder"};
    }
    if (Outcome put = (*connection)
                          ->put({{here.path() + "/job.json", place + "/job.json"},
                                 {fs::absolute(options.file).string(), place + "/" + request.schedule}},
                                progress.stop);
        !put) {
      return put.error();
    }
  }
  auto child = Child::start(
      (*connection)->command(*folder + "/coppice-exec " + (options.attach.empty() ? "supervise " : "attach ") + place));
  if (!child) {
    return child.error();
  }
  Listener listener(options.json);
  const int status = listen(*child, listener, progress.stop, options.detaches);
  if (options.detaches && !listener.end() && !progress.stop.stop_requested()) {
    Report report;
    report.json = Json{{"ok", true}, {"run", id}, {"host", options.host}};
    report.text = "# the run goes on; to see it: coppice-cli run --host " + options.host + " --attach " + id + "\n";
    return report;
  }
  if (const auto& end = listener.end(); end && (end->code == RunExit::ok || end->code == RunExit::cancelled)) {
    // Also after an interrupt. What went wrong stays there, for a closer look.
    [[maybe_unused]] const auto dropped = (*connection)->script(remote::dropRunScript(id), {});
  }
  Result<Report> report = reportOf(listener, options.json, options.host, status);
  if (report) {
    report->json["run"] = id;
  }
  return report;
}

// ---- the bundle

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
  const auto executor = executorFor(options);
  const remote::BundleFacts facts{fs::path(options.file).filename().string(), kVersion, 0, static_cast<bool>(executor)};
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
  if (executor) {
    fs::copy_file(*executor, folder / "coppice-exec", error);
    if (error) {
      return Error{ErrorCode::io, "coppice-exec cannot be copied: " + error.message(), "check the free space"};
    }
    report.json["files"].push_back("coppice-exec");
  }
  report.text =
      options.bundle + (executor ? ": ready" : ": ready, without the executor: it is not installed here") + "\n";
  return report;
}

Result<Report> perform(const Options& options, const Progress& progress) {
  if (options.file.empty() && options.attach.empty()) {
    return Error{ErrorCode::badUsage, "no schedule is given", "name an MSCCL XML or a .forest.json"};
  }
  if (options.host.empty() && (options.detaches || !options.attach.empty())) {
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
  return options.host.empty() ? runHere(options, progress) : runThere(options, progress);
}

}  // namespace

void addRun(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<Options>();
  CLI::App& sub = addSubcommand(app, invocation, "run", "Run a schedule on this machine or another, check and time it",
                                "  coppice-cli run a100.xml\n"
                                "  coppice-cli run a100.forest.json -b 64K -e 256M --backend mpi --launch mpirun\n"
                                "  coppice-cli run a100.xml --host ann@node1 --detach\n"
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
  sub.add_flag("--unchecked", options->isUnchecked, "Do not check the data");
  sub.add_option("--bound", options->request.boundGBps, "Best algbw in GB/s; a .forest.json brings its own");
  sub.add_option("--launch", options->launch, "Start one process for each rank with it")
      ->check(CLI::IsMember({"mpirun", "srun"}));
  sub.add_option("--hosts", options->hosts, "Hosts for mpirun, as in node1:4,node2:4");
  sub.add_option("--partition", options->request.partition, "Slurm partition for srun");
  sub.add_option("--host", options->host, "Run there, over ssh: host, user@host or user@host:port");
  sub.add_option("--ssh-config", options->sshConfig, "Configuration file for ssh instead of your own");
  sub.add_option("--executor", options->executor, "The program coppice-exec, where it is not beside this one");
  sub.add_flag("--detach", options->detaches, "With --host: leave the run going and print its name");
  sub.add_option("--attach", options->attach, "With --host: show the run of this name from its beginning");
  sub.add_option("--limit", options->limit, "With --host: seconds after which the run is ended")
      ->check(CLI::NonNegativeNumber);
  sub.add_option("--bundle", options->bundle, "Do not run: write a folder with all that a run elsewhere needs");
  sub.callback([options, &invocation] {
    options->json = invocation.json;
    options->request.checks = !options->isUnchecked;
    options->request.launch = options->launch == "mpirun"
                                  ? program::Launch::mpirun
                                  : (options->launch == "srun" ? program::Launch::srun : program::Launch::single);
    std::string rest = options->hosts;
    options->request.hosts.clear();
    while (!rest.empty()) {
      const std::size_t comma = rest.find(',');
      options->request.hosts.push_back(rest.substr(0, comma));
      rest = comma == std::string::npos ? std::string() : rest.substr(comma + 1);
    }
    invocation.action = [options](const Progress& progress) { return perform(*options, progress); };
  });
}

}  // namespace coppice::cli
