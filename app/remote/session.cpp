// SPDX-License-Identifier: Apache-2.0
#include "remote/session.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/comma_list.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "remote/quoting.hpp"
#include "remote/site.hpp"

namespace coppice::remote {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSpareBytes = std::int64_t{64} << 20;

std::string megabytes(std::int64_t bytes) {
  constexpr std::int64_t kTenth = 100'000;
  const std::int64_t tenths = (bytes + kTenth / 2) / kTenth;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " MB";
}

/// "NAME|STATE|NODES|GRES|LIMIT"; the default one has a star behind its name.
SlurmPartition partitionIn(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find('|', from), text.size());
    parts.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  parts.resize(std::max<std::size_t>(parts.size(), 5));
  SlurmPartition partition;
  partition.isDefault = parts[0].ends_with('*');
  partition.name = partition.isDefault ? parts[0].substr(0, parts[0].size() - 1) : parts[0];
  partition.state = parts[1];
  partition.nodes = static_cast<int>(numberIn<std::int64_t>(parts[2]).value_or(0));
  partition.resources = parts[3] == "(null)" ? "" : parts[3];
  partition.limit = parts[4];
  return partition;
}

}  // namespace

std::string SiteFacts::mpi() const {
  if (environment) {
    for (const program::BackendNote& note : environment->backends) {
      if (note.name == "mpi" && note.available) {
        return note.reason.empty() ? "MPI" : note.reason;
      }
    }
  }
  return {};
}

Session::Session(SessionOptions options) : m_options(std::move(options)), m_steps(m_options.events.onStep) {
  m_options.ssh.batchMode = !m_options.asksAtTerminal;
}

Session::~Session() {
  close();
}

void Session::close() {
  if (m_master) {
    // SIGTERM lets ssh remove its socket.
    m_master->end(m_options.limits.leave);
    m_master.reset();
  }
  m_private.reset();
}

bool Session::waitUntilLost(const std::stop_token& stop) {
  if (!m_master) {
    return false;
  }
  const std::stop_callback wakes(stop, [this] { m_master->wake(); });
  while (!stop.stop_requested()) {
    if (m_master->waitFor(std::chrono::hours(1))) {
      m_trouble = SshTrouble::closed;
      return true;
    }
  }
  return false;
}

// ---- steps

bool Session::isLeftOut(Step step) const {
  return (isLocal() && !factsOf(step).isHere) ||
         std::find(m_options.leftOut.begin(), m_options.leftOut.end(), step) != m_options.leftOut.end();
}

Outcome Session::fail(Step step, const Error& error) {
  m_steps.end(step, StepReport::State::failed, error.message, error.fix);
  return error;
}

Error Session::faultOf(const SshFault& fault) {
  m_trouble = fault.trouble;
  return {fault.trouble == SshTrouble::noSsh ? ErrorCode::unavailable : ErrorCode::io, fault.message, fault.fix};
}

Outcome Session::perform(Step step, Part part, const std::stop_token& stop) {
  if (isLeftOut(step)) {
    return Done{};
  }
  m_steps.begin(step);
  const auto ended = (this->*part)(stop);
  if (!ended) {
    return fail(step, ended.error());
  }
  m_steps.end(step, ended->state, ended->message);
  return Done{};
}

Outcome Session::open(const std::stop_token& stop) {
  close();
  m_facts = {};
  m_trouble = SshTrouble::none;
  m_hostKey.reset();
  std::vector<Step> leftOut;
  for (const StepFacts& facts : stepFacts()) {
    if (isLeftOut(facts.step)) {
      leftOut.push_back(facts.step);
    }
  }
  m_steps.reset(leftOut);
  auto executor = readExecutor(m_options.executor);
  if (!executor) {
    return fail(isLocal() ? Step::executor : Step::resolve, executor.error());
  }
  m_executor = std::move(*executor);
  if (Outcome done = perform(Step::resolve, &Session::resolve, stop); !done) {
    return done;
  }
  if (!isLocal()) {
    if (Outcome done = logIn(stop); !done) {
      return done;
    }
  }
  constexpr std::array<std::pair<Step, Part>, 7> kParts{{{Step::system, &Session::checkSystem},
                                                         {Step::libraries, &Session::checkLibraries},
                                                         {Step::space, &Session::checkSpace},
                                                         {Step::executor, &Session::checkExecutor},
                                                         {Step::copy, &Session::copyExecutor},
                                                         {Step::selfTest, &Session::testExecutor},
                                                         {Step::partitions, &Session::findPartitions}}};
  for (const auto& [step, part] : kParts) {
    if (Outcome done = perform(step, part, stop); !done) {
      return done;
    }
  }
  return Done{};
}

Result<Session::Ended> Session::checkSystem(const std::stop_token& stop) {
  auto found = ask(Step::system, systemScript(), stop);
  if (!found) {
    return found.error();
  }
  m_system = std::move(*found);
  m_facts.system = fact(m_system, "system");
  m_facts.architecture = fact(m_system, "architecture");
  m_facts.host = fact(m_system, "host");
  m_facts.libc = fact(m_system, "libc");
  m_facts.boot = fact(m_system, "boot");
  m_facts.cores = static_cast<int>(numberIn<std::int64_t>(fact(m_system, "cores")).value_or(0));
  if (Error fault = systemFault(name(), m_system, m_executor.needs); !fault.message.empty()) {
    return fault;
  }
  return Ended{m_facts.system + " " + m_facts.architecture + ", " + m_facts.libc};
}

Result<Session::Ended> Session::checkLibraries(const std::stop_token& stop) {
  if (Error fault = libcFault(name(), m_system, m_executor.needs); !fault.message.empty()) {
    return fault;
  }
  const auto found = ask(Step::libraries, librariesScript(), stop);
  if (!found) {
    return found.error();
  }
  if (found->contains("linker")) {
    return Ended{"the machine does not list its libraries; the self-test will check them", StepReport::State::skipped};
  }
  std::set<std::string> have;
  const auto [from, to] = found->equal_range("library");
  for (auto it = from; it != to; ++it) {
    have.insert(it->second);
  }
  std::vector<std::string> missing;
  for (const std::string& library : m_executor.needs.libraries) {
    if (!have.contains(library) && !library.starts_with("ld-linux")) {
      missing.push_back(library);
    }
  }
  if (!missing.empty()) {
    return Error{ErrorCode::unavailable, "missing on " + name() + ": " + commaList(missing),
                 "ask its administrator to install them"};
  }
  return Ended{"all " + std::to_string(m_executor.needs.libraries.size()) + " found"};
}

Result<Session::Ended> Session::checkSpace(const std::stop_token& stop) {
  const auto found = ask(Step::space, spaceScript(), stop);
  if (!found) {
    return found.error();
  }
  if (Error fault = folderFault(name(), *found); !fault.message.empty()) {
    return fault;
  }
  if (!found->contains("home")) {
    return Error{ErrorCode::io, "the folder ~/.cache/coppice cannot be created on " + name(),
                 "check the home folder and its quota"};
  }
  const auto kibibytes = numberIn<std::int64_t>(fact(*found, "space"));
  if (!kibibytes) {
    return Ended{"not known"};
  }
  m_facts.freeBytes = *kibibytes * 1024;
  if (const std::int64_t wanted = m_executor.bytes() + kSpareBytes; m_facts.freeBytes < wanted) {
    return Error{ErrorCode::io,
                 name() + " has only " + megabytes(m_facts.freeBytes) + " free; " + megabytes(wanted) + " are needed",
                 "free some space in the home folder"};
  }
  return Ended{megabytes(m_facts.freeBytes) + " free"};
}

Result<Session::Ended> Session::checkExecutor(const std::stop_token& stop) {
  m_isInstalled = isLocal();
  if (isLocal()) {
    return Ended{m_executor.program.string()};
  }
  const std::string folder = installFolder(m_executor.needs.architecture);
  const auto found = ask(Step::executor, installedScript(folder, m_executor.files), stop);
  if (!found) {
    return found.error();
  }
  const auto areThere = areInstalled(name(), *found, m_executor.files);
  if (!areThere) {
    return areThere.error();
  }
  m_isInstalled = *areThere;
  if (m_isInstalled) {
    return Ended{"in ~/" + folder + ", checksum correct"};
  }
  return Ended{found->contains("sha") ? "another build" : "not yet"};
}

Result<Session::Ended> Session::copyExecutor(const std::stop_token& stop) {
  if (m_isInstalled) {
    return Ended{"not needed", StepReport::State::skipped};
  }
  const std::string folder = installFolder(m_executor.needs.architecture);
  m_steps.setCommand(Step::copy, commandText(sshCommand(receiveCommand(folder, m_executor.files.front(), newMark()))));
  std::string said;
  const Outcome done = put(folder, m_executor.files, stop, &said);
  m_steps.setOutput(Step::copy, said);
  return done ? Result<Ended>(Ended{megabytes(m_executor.bytes()) + " copied"}) : Result<Ended>(done.error());
}

Result<Session::Ended> Session::testExecutor(const std::stop_token& stop) {
  const StepFacts& facts = factsOf(Step::selfTest);
  const Limits::Time limit = limits().*facts.limit;
  const std::vector<std::string> command = executorCommand({"self-test", "--json"});
  m_steps.setCommand(Step::selfTest, commandText(command));
  const auto said = capture(command, {}, stop, patience(facts.doing, limit));
  if (!said) {
    return said.error();
  }
  m_steps.setOutput(Step::selfTest, said->output + said->errors);
  if (said->isTimedOut) {
    return noAnswer(name(), facts.doing, limit);
  }
  for (std::string_view text = said->output; !text.empty();) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    auto record = program::readRecord(line);
    if (record) {
      if (auto* environment = std::get_if<program::EnvRecord>(&*record)) {
        m_facts.environment = std::move(*environment);
      }
    } else if (line.find_first_not_of(" \t\r") != std::string_view::npos &&
               record.error().code == ErrorCode::unavailable) {
      return record.error();
    }
  }
  if (!m_facts.environment) {
    return Error{ErrorCode::unavailable,
                 "coppice-exec does not start on " + name() + " (status " + std::to_string(said->status) + ")" +
                     (said->errors.empty() ? "" : ": " + inQuotes(said->errors)),
                 "check that its home folder may hold programs, and its libraries"};
  }
  std::vector<std::string> backends;
  for (const program::BackendNote& note : m_facts.environment->backends) {
    if (note.available) {
      backends.push_back(note.name);
    }
  }
  return Ended{backends.empty() ? "no backend can run" : "backends: " + commaList(backends)};
}

Result<Session::Ended> Session::findPartitions(const std::stop_token& stop) {
  const auto found = ask(Step::partitions, partitionsScript(), stop);
  if (!found) {
    return found.error();
  }
  const auto [from, to] = found->equal_range("partition");
  for (auto it = from; it != to; ++it) {
    if (SlurmPartition partition = partitionIn(it->second); isPlainName(partition.name)) {
      m_facts.partitions.push_back(std::move(partition));
    }
  }
  if (m_facts.partitions.empty()) {
    return Ended{"no Slurm found", StepReport::State::skipped};
  }
  return Ended{std::to_string(m_facts.partitions.size()) + " found"};
}

// ---- commands and files

std::vector<std::string> Session::sshCommand(const std::string& text) const {
  std::vector<std::string> words = commandArguments(m_options.ssh, *m_options.target, text);
  words.insert(words.begin(), m_options.ssh.ssh);
  return words;
}

std::vector<std::string> Session::scriptCommand() const {
  return isLocal() ? std::vector<std::string>{"/bin/sh", "-s"} : sshCommand(kScriptCommand);
}

std::vector<std::string> Session::executorCommand(const std::vector<std::string>& arguments) const {
  if (isLocal()) {
    std::vector<std::string> words = arguments;
    words.insert(words.begin(), m_executor.program.string());
    return words;
  }
  std::string text = installFolder(m_executor.needs.architecture) + "/coppice-exec";
  for (const std::string& word : arguments) {
    text += " " + shellWord(word);
  }
  return sshCommand(text);
}

Patience Session::patience(const std::string& doing, Limits::Time limit) const {
  return {limit, limits().silence, [this, doing, limit] {
            if (m_options.events.onSlow) {
              m_options.events.onSlow(name(), doing, limit);
            }
          }};
}

Result<Session::Said> Session::saidBy(const Captured& captured, const std::string& doing, Limits::Time limit) const {
  if (captured.isTimedOut) {
    return noAnswer(name(), doing, limit);
  }
  Said said{factsIn(captured.output), captured.errors};
  if (said.facts.empty() && captured.status != 0) {
    constexpr int kSshFailed = 255;
    if (captured.status == kSshFailed) {
      const SshFault fault = sshFault(captured.errors, name());
      return Error{ErrorCode::io, fault.message, fault.fix};
    }
    return Error{ErrorCode::io, name() + " does not run scripts: " + inQuotes(captured.errors),
                 "its login may not allow commands"};
  }
  return said;
}

Result<Session::Said> Session::script(const std::string& text, const std::string& doing, Limits::Time limit,
                                      const std::stop_token& stop) const {
  const auto captured = capture(scriptCommand(), text, stop, patience(doing, limit));
  return captured ? saidBy(*captured, doing, limit) : Result<Said>(captured.error());
}

Result<Facts> Session::ask(Step step, const std::string& text, const std::stop_token& stop) {
  const StepFacts& facts = factsOf(step);
  const Limits::Time limit = limits().*facts.limit;
  const std::vector<std::string> command = scriptCommand();
  m_steps.setCommand(step, commandText(command));
  const auto captured = capture(command, text, stop, patience(facts.doing, limit));
  if (!captured) {
    return captured.error();
  }
  m_steps.setOutput(step, captured->output + captured->errors);
  auto said = saidBy(*captured, facts.doing, limit);
  return said ? Result<Facts>(std::move(said->facts)) : Result<Facts>(said.error());
}

Outcome Session::receive(const std::string& folder, const std::vector<Upload>& files, const std::string& mark,
                         const std::stop_token& stop, std::string* log) const {
  for (const Upload& file : files) {
    ChildOptions options;
    options.inputFile = file.source.string();
    const auto said = capture(sshCommand(receiveCommand(folder, file, mark)), {}, stop, {limits().upload}, options);
    if (!said) {
      return said.error();
    }
    if (log != nullptr) {
      *log += said->output + said->errors;
    }
    if (said->isTimedOut) {
      return noAnswer(name(), "receiving " + file.name, limits().upload);
    }
    if (Outcome taken = received(name(), file, said->status, said->errors); !taken) {
      return taken;
    }
  }
  const auto said = script(installScript(folder, files, mark), "checking what was copied", limits().script, stop);
  if (said && log != nullptr) {
    *log += said->errors;
  }
  return said ? installed(name(), said->facts, said->errors) : Outcome(said.error());
}

Outcome Session::put(const std::string& folder, const std::vector<Upload>& files, const std::stop_token& stop,
                     std::string* log) const {
  const std::string mark = newMark();
  Outcome done = receive(folder, files, mark, stop, log);
  if (!done) {
    // Also after an interrupt.
    [[maybe_unused]] const auto discarded =
        script(discardScript(folder, files, mark), "removing an unfinished copy", limits().cleanUp, {});
  }
  return done;
}

// ---- folders of runs

std::string Session::runFolder(const std::string& run) const {
  if (!isLocal()) {
    return remote::runFolder(run);
  }
  fs::path base = m_options.localRuns;
  if (base.empty()) {
    const char* const home = std::getenv("HOME");
    base = fs::path(home != nullptr ? home : "/tmp") / ".cache/coppice/runs";
  }
  return base / run;
}

Outcome Session::putFiles(const std::string& run, const std::vector<Upload>& files, const std::stop_token& stop) const {
  const std::string folder = runFolder(run);
  if (!isLocal()) {
    return put(folder, files, stop);
  }
  for (const Upload& file : files) {
    std::error_code error;
    fs::copy_file(file.source, fs::path(folder) / file.name, fs::copy_options::overwrite_existing, error);
    if (error) {
      return Error{ErrorCode::io, inQuotes(folder) + " cannot be written: " + error.message(),
                   "check its permissions and the free space"};
    }
  }
  return Done{};
}

Outcome Session::putRun(const std::string& run, const std::vector<Upload>& files, bool isShared,
                        const std::stop_token& stop) const {
  if (!isPlainName(run)) {
    return Error{ErrorCode::badUsage, inQuotes(run) + " is not the name of a run", "use letters, digits, '-' and '_'"};
  }
  if (isLocal()) {
    const fs::path folder = runFolder(run);
    std::error_code error;
    fs::create_directories(folder.parent_path(), error);
    if (!fs::create_directory(folder, error)) {
      return Error{ErrorCode::io, inQuotes(folder.string()) + " cannot be created",
                   "check its permissions and the free space"};
    }
    fs::permissions(folder, fs::perms::owner_all, error);
    return putFiles(run, files, stop);
  }
  const auto made = script(isShared ? sameRunFolderScript(run) : runFolderScript(run), "creating the folder of the run",
                           limits().script, stop);
  if (!made) {
    return made.error();
  }
  const std::string how = fact(made->facts, "run");
  if (how == "shared") {
    return Done{};
  }
  if (Error fault = folderFault(title(), made->facts); !fault.message.empty()) {
    return fault;
  }
  if (how != "made") {
    return Error{ErrorCode::io,
                 "the folder of the run could not be created on " + title() + ": " + inQuotes(made->errors),
                 "check its home folder and quota"};
  }
  return putFiles(run, files, stop);
}

void Session::dropRun(const std::string& run) const {
  if (!isPlainName(run)) {
    return;
  }
  if (isLocal()) {
    std::error_code ignored;
    fs::remove_all(runFolder(run), ignored);
    return;
  }
  [[maybe_unused]] const auto dropped =
      script(dropRunScript(run), "removing the folder of the run", limits().cleanUp, {});
}

}  // namespace coppice::remote
