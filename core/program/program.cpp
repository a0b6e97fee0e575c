// SPDX-License-Identifier: Apache-2.0
#include "program/program.hpp"

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
  }
  return "msccl";
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
  // 64 channels is what ROCm 6.1 has (later ones have 128): the enumerator promises every release from 6.1 on.
  static constexpr RuntimeLimits kRccl = {.stepsPerThreadBlock = 64,
                                          .threadBlocksPerRank = 64,
                                          .channels = 64,
                                          .peersPerChannel = 32,
                                          .count = 71,
                                          .dependencyTb = 63,
                                          .offset = 32767,
                                          .xmlNodes = 4095};
  switch (runtime) {
    case Runtime::msccl:
      return kMsccl;
    case Runtime::mscclExecutorNccl:
      return kExecutor;
    case Runtime::rccl:
      return kRccl;
  }
  return kMsccl;
}

int connectionDepth(Protocol protocol) {
  return protocol == Protocol::simple ? 2 : 8;
}

}  // namespace coppice::program
