// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace coppice::executor {

/// Options of `run`, as written.
struct RunWords {
  std::string file;
  std::string goal = {};
  std::string backend = "auto";
  std::string first = "1K";
  std::string last = "256M";
  std::string step = {};
  double factor = 2;
  int iterations = 20;
  int warmup = 5;
  std::string type = "float";
  std::string op = "sum";
  int checks = 1;
  int root = -1;
  int ranks = 0;
  int workers = 0;
  int depth = 0;
  int device = -1;
  bool virtualRanks = false;
  int processes = 0;
  std::string piece = {};
  double bound = 0;
  double timeout = 0;
  double stall = 10;
  double startLimit = -1;  ///< negative = the launcher's default
  unsigned long long seed = 1;
  std::string runtime = {};
  std::vector<std::string> trace = {};
  bool traces = false;
  bool unchecked = false;
  bool json = false;
  bool lifeline = false;
  bool launched = false;  ///< by our own launcher, as one of the processes of a run
  std::string launch = {};
  std::string hosts = {};
  std::string partition = {};
};

/// Adds the sub-command; its words end up in `words`.
CLI::App* addRunCommand(CLI::App& app, RunWords& words);
/// @return the exit code
int performRun(const RunWords& words, int argc, char** argv);

struct SelfTestWords {
  bool json = false;
};
CLI::App* addSelfTestCommand(CLI::App& app, SelfTestWords& words);
int performSelfTest(const SelfTestWords& words);

}  // namespace coppice::executor
