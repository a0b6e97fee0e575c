// SPDX-License-Identifier: Apache-2.0
// Stands in for coppice-exec: speaks its protocol and behaves as the first word of the "schedule" says.
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "program/run_protocol.hpp"
#include "supervise/supervise.hpp"

namespace {

using namespace coppice;
using namespace coppice::program;

void say(const Record& record) {
  std::fputs(writeRecord(record).c_str(), stdout);
  std::fflush(stdout);
}

void hello() {
  say(HelloRecord{kRunProtocol, "0.1.0", getpid(), getpgrp()});
}

EnvRecord environment() {
  EnvRecord env;
  env.host = "stand-in";
  env.system = "Linux x86_64";
  env.cores = 2;
  env.backends = {{"threads", true, "2 cores", ""}, {"cuda", false, "no GPU", "use threads"}};
  return env;
}

void row(std::int64_t size, bool inPlace) {
  ResultRecord result;
  result.size = size;
  result.count = size / 4;
  result.type = "float";
  result.redop = "none";
  result.inPlace = inPlace;
  result.iterations = 20;
  result.time_us = 10.0 + static_cast<double>(size) / 20'000.0;
  result.algbw_GBps = static_cast<double>(size) / result.time_us / 1000.0;
  result.busbw_GBps = result.algbw_GBps * 0.75;
  result.wrong = 0;
  result.boundPercent = result.algbw_GBps / 25.0 * 100;
  say(result);
}

int finish(RunExit code, const std::string& reason = {}) {
  say(EndRecord{code, reason});
  return static_cast<int>(code);
}

/// Waits for so long, or until the starter asks for the end, or is gone.
bool isCancelled(int milliseconds) {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  if (poll(&input, 1, milliseconds) <= 0) {
    return false;
  }
  std::string line;
  for (char letter = 0; read(STDIN_FILENO, &letter, 1) == 1 && letter != '\n';) {
    line += letter;
  }
  const auto command = readCommand(line);
  if (line.empty()) {
    usleep(static_cast<useconds_t>(milliseconds) * 1000);  // its end; no reason to hurry
  }
  return command && *command == RunCommand::cancel;
}

/// A process in a session of its own that ignores all polite signals.
void addStubbornChild(const char* self, const std::string& mark) {
  if (fork() == 0) {
    setsid();
    execl(self, self, "stay", mark.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
}

int stay() {
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGPIPE}) {
    signal(number, SIG_IGN);
  }
  while (true) {
    sleep(1);
  }
}

int run(const char* self, const std::string& file) {
  std::ifstream stream(file);
  std::string mode;
  std::string mark;
  stream >> mode >> mark;
  if (mode == "other-protocol") {
    std::puts(R"({"t":"hello","proto":99,"version":"9","pid":1,"pgid":1})");
    std::fflush(stdout);
    pause();
  }
  if (mode == "noise") {
    while (std::puts("this is not a record") >= 0) {
    }
  }
  hello();
  std::fprintf(stderr, "stand-in runs %s\n", mode.c_str());
  say(environment());
  PlanRecord plan;
  plan.ok = true;
  plan.name = "stand-in";
  plan.collective = "allgather";
  plan.ranks = 4;
  plan.boundGBps = 25;
  say(plan);
  if (mode == "crash") {
    kill(getpid(), SIGSEGV);
  }
  if (mode == "silent-end") {
    return 3;
  }
  if (mode == "flood") {
    // A line without an end, unknown types, lines of garbage.
    const std::string block(std::size_t{1} << 20, 'x');
    for (int i = 0; i < 4; ++i) {
      std::fwrite(block.data(), 1, block.size(), stdout);
    }
    std::puts("");
    std::puts(R"({"t":"from-the-future","x":[1,2,3]})");
    std::puts(R"({"t":"result","size":"no number"})");
    std::puts("\xff\xfe{\"t\":");
    std::puts(R"({"t":"log","severity":"note","text":"\u001b[31mred\u0007","source":"rank 0"})");
  }
  if (mode == "children" || mode == "deaf") {
    for (int i = 0; i < 3; ++i) {
      addStubbornChild(self, mark);
    }
  }
  if (mode == "stubborn") {
    signal(SIGTERM, SIG_IGN);
  }
  int step = 0;
  for (std::int64_t size = 1 << 20; size <= (64 << 20); size *= 2) {
    say(ProgressRecord{"time", size, false, step++ / 7.0});
    row(size, false);
    row(size, true);
    // "held FILE" goes on when there is such a file.
    while (mode == "held" && access(mark.c_str(), F_OK) != 0) {
      if (isCancelled(10)) {
        return finish(RunExit::cancelled);
      }
    }
  }
  while (mode == "children" || mode == "deaf" || mode == "stubborn") {
    if (mode == "deaf") {
      sleep(1);
    } else if (isCancelled(1000) && mode == "children") {
      return finish(RunExit::cancelled);
    }
  }
  TraceRecord trace;
  trace.size = 64 << 20;
  for (int i = 0; i < 40; ++i) {
    trace.events.push_back({i % 4, (i / 4) % 2, i / 8, 0, i * 1000, i * 1000 + 3500});
  }
  say(trace);
  say(SummaryRecord{0, true, 12.5, 20.0});
  return finish(RunExit::ok);
}

}  // namespace

int main(int argc, char** argv) {
  if (const auto code = executor::superviseMain(argc, argv)) {
    return *code;
  }
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "self-test") {
    hello();
    say(environment());
    return finish(RunExit::ok);
  }
  if (command == "stay") {
    return stay();
  }
  if (command == "probe") {
    std::puts(
        R"({"name":"stand-in","nodes":[{"id":"gpu0","kind":"gpu"},{"id":"gpu1","kind":"gpu"},{"id":"gpu2","kind":"gpu"}],"links":[{"src":"gpu0","dst":"gpu1","bandwidth":"25"}]})");
    return 0;
  }
  if (command == "run" && argc > 2) {
    return run(argv[0], argv[2]);
  }
  return 1;
}
