// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "coppice/version.hpp"
#include "probe/command.hpp"
#include "program/output.hpp"
#include "program/run_command.hpp"
#include "program/run_protocol.hpp"
#include "supervise/supervise.hpp"

namespace coppice::executor {
namespace {

using program::RunExit;

constexpr const char* kProgram = "coppice-exec";

int fail(RunExit exit, const Error& error, bool json) {
  std::fprintf(stderr, "%s: %s\n", kProgram, terminalLine(describe(error)).c_str());
  if (json) {
    const std::string lines = program::writeRecord(program::HelloRecord{.version = kVersion}) +
                              program::writeRecord(program::ErrorRecord{.exit = exit, .error = error}) +
                              program::writeRecord(program::EndRecord{.code = exit, .reason = error.message});
    std::fwrite(lines.data(), 1, lines.size(), stdout);
  }
  return static_cast<int>(exit);
}

int dispatch(int argc, char** argv, bool json) {
  if (const auto code = superviseMain(argc, argv)) {
    return *code;
  }
  CLI::App app{
      "Coppice executor: runs a collective schedule on this machine, checks every element and times it.\n"
      "Subcommands for remote control: supervise, attach, cancel and runs, each with a folder."};
  app.name(kProgram);
  app.set_version_flag("--version", std::string(kProgram) + " " + kVersion);
  app.require_subcommand(1);
  int exitCode = 0;
  RunWords run;
  SelfTestWords selfTest;
  CLI::App* runCommand = addRunCommand(app, run);
  CLI::App* selfTestCommand = addSelfTestCommand(app, selfTest);
  probe::addProbeCommand(app, exitCode);
  probe::addProfileCommand(app, exitCode);
  probe::addInferCommand(app, exitCode);
  // `coppice-exec FILE …` is `coppice-exec run FILE …`.
  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty()) {
    const auto commands = app.get_subcommands({});
    bool isCommand = words.front() == "--help" || words.front() == "-h" || words.front() == "--version";
    for (const CLI::App* command : commands) {
      isCommand = isCommand || words.front() == command->get_name();
    }
    if (!isCommand) {
      words.insert(words.begin(), "run");
    }
  }
  std::vector<std::string> reversed(words.rbegin(), words.rend());
  try {
    app.parse(reversed);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    return fail(
        RunExit::badUsage,
        {.code = ErrorCode::badUsage, .message = error.what(), .fix = std::string("see ") + kProgram + " --help"},
        json);
  }
  if (*runCommand) {
    run.traces = runCommand->get_option("--trace")->count() > 0;
    return performRun(run, argc, argv);
  }
  if (*selfTestCommand) {
    return performSelfTest(selfTest);
  }
  return exitCode;
}

/// Where the caller closed one of the first three files, others would get its number and what is meant for it.
void keepStandardFiles() {
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(file, F_GETFD) < 0) {
      // Not for writing: that standard output cannot be written must be seen.
      const int opened = ::open("/dev/null", file == STDERR_FILENO ? O_WRONLY : O_RDONLY);
      static_cast<void>(opened);
    }
  }
}

}  // namespace
}  // namespace coppice::executor

int main(int argc, char** argv) {
  using coppice::ErrorCode;
  using coppice::executor::fail;
  using coppice::program::RunExit;
  // A file that reaches its limit, or a reader that goes away, is an error of the write, not the end of the program.
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  coppice::executor::keepStandardFiles();
  // Known before the arguments are parsed, because a mistake in them must be reported as records too.
  bool json = false;
  for (int i = 1; i < argc; ++i) {
    json = json || std::string_view(argv[i]) == "--json";
  }
  try {
    try {
      return coppice::executor::dispatch(argc, argv, json);
    } catch (const std::bad_alloc&) {
      return fail(RunExit::machineLacks, {.code = ErrorCode::limit, .message = "not enough memory"}, json);
    } catch (const std::system_error& error) {
      return fail(RunExit::machineLacks,
                  {.code = ErrorCode::limit,
                   .message = std::string("the system does not provide further thread: ") + error.code().message(),
                   .fix = "raise the limit of processes (ulimit -u, or pids.max of the control group)"},
                  json);
    } catch (const std::exception& error) {
      return fail(RunExit::internal,
                  {.code = ErrorCode::internal, .message = error.what(), .fix = "please report this"}, json);
    }
  } catch (...) {
    std::fputs("coppice-exec: stopped by an unknown error; please report this\n", stderr);
    return static_cast<int>(RunExit::internal);
  }
}
