// SPDX-License-Identifier: Apache-2.0
#include "program/program.hpp"

#include "base/text.hpp"

namespace coppice::program {

std::string_view toString(Protocol protocol) {
  switch (protocol) {
    case Protocol::simple:
      return "Simple";
    case Protocol::ll:
      return "LL";
    case Protocol::ll128:
      return "LL128";
  }
  return "Simple";
}

char letter(Buffer buffer) {
  switch (buffer) {
    case Buffer::input:
      return 'i';
    case Buffer::output:
      return 'o';
    case Buffer::scratch:
      return 's';
  }
  return 'i';
}

std::string_view toString(StepType type) {
  switch (type) {
    case StepType::send:
      return "s";
    case StepType::recv:
      return "r";
    case StepType::recvCopySend:
      return "rcs";
    case StepType::recvReduceSend:
      return "rrs";
    case StepType::recvReduceCopy:
      return "rrc";
    case StepType::recvReduceCopySend:
      return "rrcs";
    case StepType::copy:
      return "cpy";
    case StepType::reduce:
      return "re";
    case StepType::nop:
      return "nop";
  }
  return "nop";
}

std::string_view collectiveName(const Program& program) {
  return program.collectiveText.empty() ? coppice::toString(program.collective)
                                        : std::string_view(program.collectiveText);
}

std::string_view toString(Runtime runtime) {
  switch (runtime) {
    case Runtime::msccl:
      return "msccl";
    case Runtime::mscclExecutorNccl:
      return "msccl-executor-nccl";
    case Runtime::rccl:
      return "rccl";
    case Runtime::rccl61:
      return "rccl-6.1";
    case Runtime::rccl60:
      return "rccl-6.0";
    case Runtime::mscclpp:
      return "mscclpp";
  }
  return "msccl";
}

std::string runtimeNames() {
  std::string names;
  for (std::size_t i = 0; i < kRuntimes.size(); ++i) {
    names += i == 0 ? "" : i + 1 < kRuntimes.size() ? ", " : " or ";
    names += toString(kRuntimes[i]);
  }
  return names;
}

Result<Runtime> parseRuntime(std::string_view text, std::string_view option) {
  for (const Runtime runtime : kRuntimes) {
    if (text == toString(runtime)) {
      return runtime;
    }
  }
  return Error{ErrorCode::badUsage, std::string(option) + ": " + inQuotes(text) + " is not a runtime",
               "use " + runtimeNames()};
}

bool isBuilt(StepType type, Runtime runtime) {
  const bool isFused = receives(type) && type != StepType::recv;
  return !isRccl(runtime) || (!isFused && (type != StepType::copy || runtime != Runtime::rccl60));
}

std::string unbuiltText(StepType type, Runtime runtime) {
  return std::string(toString(type)) + " is not built into " + std::string(toString(runtime)) + ": the call fails";
}

std::string unbuiltFix(Runtime runtime) {
  return runtime == Runtime::rccl60 ? "use only s, r, re and nop" : "use only s, r, cpy, re and nop";
}

const RuntimeLimits& limits(Runtime runtime) {
  static constexpr RuntimeLimits kMsccl = {.stepsPerThreadBlock = 256,
                                           .threadBlocksPerRank = 216,
                                           .channels = 32,
                                           .peersPerChannel = 32,
                                           .count = 71,
                                           .dependencyTb = 127,
                                           .offset = 32767,
                                           .xmlNodes = 4095};
  static constexpr RuntimeLimits kExecutor = {.stepsPerThreadBlock = 64,
                                              .threadBlocksPerRank = 1024,
                                              .channels = 32,
                                              .peersPerChannel = 32,
                                              .count = 71,
                                              .dependencyTb = 127,
                                              .offset = 32767,
                                              .xmlNodes = 4095};
  // Of the limits, only MAXCHANNELS differs between the releases.
  constexpr auto rcclOf = [](int channels) {
    return RuntimeLimits{.stepsPerThreadBlock = 64,
                         .threadBlocksPerRank = 64,
                         .channels = channels,
                         .peersPerChannel = 32,
                         .count = 71,
                         .dependencyTb = 63,
                         .offset = 32767,
                         .xmlNodes = 4095};
  };
  static constexpr RuntimeLimits kRccl = rcclOf(128);
  static constexpr RuntimeLimits kRccl61 = rcclOf(64);
  static constexpr RuntimeLimits kRccl60 = rcclOf(32);
  // Before a program becomes a plan: long threadblocks are cut there, and chunks need no small numbers.
  static constexpr RuntimeLimits kMscclpp = {.stepsPerThreadBlock = 1 << 12,
                                             .threadBlocksPerRank = 108,
                                             .channels = 64,
                                             .peersPerChannel = 1 << 12,
                                             .count = 1 << 10,
                                             .dependencyTb = 1 << 12,
                                             .offset = 1 << 22,
                                             .xmlNodes = 1 << 22};
  switch (runtime) {
    case Runtime::msccl:
      return kMsccl;
    case Runtime::mscclExecutorNccl:
      return kExecutor;
    case Runtime::rccl:
      return kRccl;
    case Runtime::rccl61:
      return kRccl61;
    case Runtime::rccl60:
      return kRccl60;
    case Runtime::mscclpp:
      return kMscclpp;
  }
  return kMsccl;
}

int connectionDepth(Protocol protocol) {
  return protocol == Protocol::simple ? 2 : 8;
}

}  // namespace coppice::program
