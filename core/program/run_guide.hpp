// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "program/program.hpp"

/// How to run a program with the runtime that it was written for: library, file, environment, and the nccl-tests call.
/// Read in the runtimes' sources: microsoft/msccl (NCCL 2.12.12), Azure/msccl-executor-nccl (NCCL 2.23.4), ROCm/rccl
/// (ROCm 6.1 to 6.3) and NVIDIA/nccl-tests.
namespace coppice::program {

struct RunSetting {
  std::string name;
  std::string value;
  std::string reason;  ///< why, and what happens without it
};

struct RunGuide {
  std::string library;               ///< which one, with its version
  std::vector<std::string> prepare;  ///< shell commands for each host
  std::vector<RunSetting> settings;  ///< environment of every rank
  std::string command;               ///< mpirun with nccl-tests; empty where no size of the window uses the program
  std::vector<std::string> notes;    ///< sentences
};

/// `file`: where the program lies, as the hosts see it; best an absolute path.
[[nodiscard]] RunGuide runGuide(const Program& program, Runtime runtime, const std::string& file);

/// The guide in lines of at most 100 characters where words allow, each with a line end.
[[nodiscard]] std::string toText(const RunGuide& guide);

}  // namespace coppice::program
