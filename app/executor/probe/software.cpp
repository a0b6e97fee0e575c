// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <gnu/libc-version.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <optional>

#include "base/child.hpp"
#include "probe/probe.hpp"

namespace coppice::probe {
namespace {

constexpr auto kProgramTime = std::chrono::seconds(5);

/// A shared library that is closed at the end of the scope.
class Loaded {
public:
  explicit Loaded(std::initializer_list<const char*> names) {
    for (const char* name : names) {
      if (m_handle == nullptr) {
        m_handle = ::dlopen(name, RTLD_LAZY | RTLD_LOCAL);
      }
    }
  }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
  ~Loaded() {
    if (m_handle != nullptr) {
      ::dlclose(m_handle);
    }
  }
  template <typename Signature>
  [[nodiscard]] Signature* find(const char* name) const {
    return m_handle == nullptr ? nullptr : reinterpret_cast<Signature*>(::dlsym(m_handle, name));
  }

private:
  void* m_handle = nullptr;
};

/// First line of what a program prints; nullopt where it cannot be started, fails or takes too long.
std::optional<std::string> firstLine(const char* program, const char* argument) {
  ChildOptions options;
  options.inputFile = "/dev/null";
  const auto said = capture({program, argument}, {}, {}, {kProgramTime}, options);
  if (!said || said->isTimedOut || said->output.empty()) {
    return std::nullopt;
  }
  return said->output.substr(0, said->output.find('\n'));
}

std::string dotted(int version, int major, int minor) {
  return std::to_string(version / major) + "." + std::to_string(version % major / minor);
}

}  // namespace

void readSoftware(Machine& machine) {
  machine.software["libc"] = std::string("glibc ") + ::gnu_get_libc_version();
  {
    const Loaded runtime({"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so"});
    int version = 0;
    if (const auto ask = runtime.find<int(int*)>("cudaRuntimeGetVersion"); ask != nullptr && ask(&version) == 0) {
      machine.software["cuda_runtime"] = dotted(version, 1000, 10);
    } else {
      machine.unreadable.push_back(
          {"CUDA runtime", "no libcudart is found by the loader", "only needed for the cuda backend"});
    }
  }
  {
    const Loaded nccl({"libnccl.so.2"});
    int version = 0;
    if (const auto ask = nccl.find<int(int*)>("ncclGetVersion"); ask != nullptr && ask(&version) == 0) {
      machine.software["nccl"] = std::to_string(version / 10000) + "." + std::to_string(version % 10000 / 100) + "." +
                                 std::to_string(version % 100);
    }
  }
  {
    // Allowed before MPI_Init by the MPI standard.
    const Loaded mpi({"libmpi.so.40", "libmpi.so.12", "libmpich.so.12", "libmpi.so"});
    std::array<char, 8192> text{};
    int length = 0;
    if (const auto ask = mpi.find<int(char*, int*)>("MPI_Get_library_version");
        ask != nullptr && ask(text.data(), &length) == 0) {
      const std::string all = text.data();
      machine.software["mpi"] = all.substr(0, all.find_first_of(",\n"));
    } else {
      machine.unreadable.push_back({"MPI", "no libmpi is found by the loader", "only needed for the mpi backend"});
    }
  }
  if (const auto line = firstLine("mpirun", "--version")) {
    machine.software["mpirun"] = *line;
  } else {
    machine.unreadable.push_back(
        {"mpirun", "not found, or it does not respond", "install Open MPI or MPICH, or start through srun"});
  }
  if (const auto line = firstLine("srun", "--version")) {
    machine.software["srun"] = *line;
  }
}

}  // namespace coppice::probe
