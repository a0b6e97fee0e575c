// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <array>
#include <filesystem>
#include <string>
#include <system_error>

#include "engine/backend.hpp"
#include "threads/threads_backend.hpp"

namespace coppice::executor {
namespace {

namespace fs = std::filesystem;

/// Only from fixed places relative to the program: neither the environment nor a schedule can name a library.
KnownBackend loadPlugIn(const std::string& name) {
  KnownBackend known;
  known.note.name = name;
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  const std::string file = "libcoppice-exec-" + name + ".so";
  fs::path found;
  for (const fs::path& folder : std::array{program.parent_path(), program.parent_path() / ".." / "lib" / "coppice"}) {
    if (found.empty() && !failed && fs::exists(folder / file, failed)) {
      found = folder / file;
    }
  }
  if (found.empty()) {
    known.note.reason = file + " is not installed beside coppice-exec";
    known.note.fix = "build or install the " + name + " backend";
    return known;
  }
  void* library = dlopen(found.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    known.note.reason = reason == nullptr ? "it cannot be loaded" : reason;
    known.note.fix = "install the library that is named";
    return known;
  }
  using Entry = const BackendKind* (*)(int);
  const auto entry = reinterpret_cast<Entry>(dlsym(library, kBackendSymbol));
  known.kind = entry == nullptr ? nullptr : entry(kBackendAbi);
  if (known.kind == nullptr) {
    known.note.reason = file + " belongs to another version of coppice-exec";
    known.note.fix = "install both from one build";
    return known;
  }
  known.note = known.kind->probe();
  return known;
}

}  // namespace

std::vector<KnownBackend> knownBackends() {
  std::vector<KnownBackend> all;
  all.push_back({.note = threadsBackend().probe(), .kind = &threadsBackend()});
  for (const char* name : {"mpi", "cuda", "cuda-mpi"}) {
    all.push_back(loadPlugIn(name));
  }
  return all;
}

}  // namespace coppice::executor
