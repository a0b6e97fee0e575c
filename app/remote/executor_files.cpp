// SPDX-License-Identifier: Apache-2.0
#include "remote/executor_files.hpp"

#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "io/files.hpp"
#include "remote/host.hpp"

namespace coppice::remote {

namespace fs = std::filesystem;

std::int64_t ExecutorFiles::bytes() const {
  std::int64_t sum = 0;
  for (const Upload& file : files) {
    sum += file.bytes;
  }
  return sum;
}

fs::path findExecutor() {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* place : {"coppice-exec", "../libexec/coppice/coppice-exec", "../bin/coppice-exec"}) {
    const fs::path path = here / place;
    if (fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0) {
      return fs::canonical(path, error);
    }
  }
  return {};
}

Result<ExecutorFiles> readExecutor(const fs::path& program) {
  std::error_code error;
  if (program.empty() || !fs::is_regular_file(program, error)) {
    return Error{ErrorCode::unavailable, "coppice-exec is not beside Coppice",
                 "install the package with the executor, or build the target coppice-exec"};
  }
  ExecutorFiles result;
  result.program = fs::absolute(program, error);
  const auto bytes = io::readFile(result.program);
  if (!bytes) {
    return bytes.error();
  }
  auto needs = programNeeds(*bytes);
  if (!needs) {
    return needs.error();
  }
  result.needs = std::move(*needs);
  std::vector<fs::path> backends;
  for (const auto& entry : fs::directory_iterator(result.program.parent_path(), error)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("libcoppice-exec-", 0) == 0 && entry.path().extension() == ".so" && isPlainName(name)) {
      backends.push_back(entry.path());
    }
  }
  std::sort(backends.begin(), backends.end());
  auto first = uploadOf(result.program, "coppice-exec", true);
  if (!first) {
    return first.error();
  }
  result.files.push_back(std::move(*first));
  for (const fs::path& backend : backends) {
    auto file = uploadOf(backend, backend.filename().string(), true);
    if (!file) {
      return file.error();
    }
    result.files.push_back(std::move(*file));
  }
  return result;
}

}  // namespace coppice::remote
