// SPDX-License-Identifier: Apache-2.0
#include "io/dot_process.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <new>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "base/child.hpp"
#include "base/failure.hpp"
#include "base/text.hpp"
#include "io/dot_messages.hpp"
#include "io/fabric_json.hpp"

namespace coppice::io {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kProgram = "coppice-dot";
constexpr std::size_t kMaxOutput = std::size_t{512} << 20;
constexpr std::size_t kMaxMessages = std::size_t{1} << 20;

struct Answer {
  std::string output;
  std::string messages;
};

bool isProgram(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

/// What the helper says in records; other lines are those of libraries.
std::vector<Finding> findingsIn(std::string_view messages, const std::string& fileName) {
  std::vector<Finding> findings;
  while (!messages.empty()) {
    const std::size_t end = std::min(messages.find('\n'), messages.size());
    if (std::optional<Finding> finding = readDotRecord(messages.substr(0, end))) {
      finding->where.file = fileName;
      findings.push_back(std::move(*finding));
    }
    messages.remove_prefix(std::min(end + 1, messages.size()));
  }
  return findings;
}

/// What the end of the helper means. @param status  as Child::wait()
Result<Answer> judge(int status, Answer answer, const std::string& program) {
  constexpr int kSignalled = 128;
  if (status == 0) {
    return answer;
  }
  if (status > kSignalled) {
    return Error{ErrorCode::io,
                 "the Graphviz helper was ended by signal " + std::to_string(status - kSignalled) + " on this text",
                 "simplify the graph; Graphviz itself may be at fault"};
  }
  for (Finding& finding : findingsIn(answer.messages, {})) {
    if (finding.severity == Severity::error) {
      return Error{ErrorCode::badInput, std::move(finding.text), std::move(finding.fix), std::move(finding.where)};
    }
  }
  return Error{ErrorCode::io, "the Graphviz helper failed with status " + std::to_string(status) + " and no message",
               "check the installation of " + program};
}

/// Runs the helper with this input on its standard input until it ends.
Result<Answer> run(const std::string& program, const char* mode, std::string_view input,
                   const DotHelperOptions& options) {
  const auto deadline = Clock::now() + std::min(options.timeLimit, std::chrono::milliseconds(std::chrono::hours(24)));
  auto child = Child::start({program, std::string(kDotRecords), mode});
  if (!child) {
    return child.error();
  }
  Answer answer;
  std::optional<Error> fault;
  // Beyond the limit the rest is read and dropped (one byte over tells us).
  const auto append = [](std::string& to, std::string_view more, std::size_t limit) {
    to += more.substr(0, limit + 1 - std::min(to.size(), limit + 1));
  };
  const auto onTick = [&] {
    if (fault) {
      return;
    }
    if (options.stop.stop_requested()) {
      fault = Error{ErrorCode::cancelled, "the Graphviz helper was stopped"};
    } else if (Clock::now() >= deadline) {
      fault = Error{ErrorCode::limit,
                    "the Graphviz helper took longer than " + std::to_string(options.timeLimit.count()) + " ms",
                    "give a smaller graph, or more time"};
    } else if (answer.output.size() > kMaxOutput) {
      fault =
          Error{ErrorCode::limit, "the answer of the Graphviz helper is larger than 512 MiB", "give a smaller graph"};
    } else {
      return;
    }
    child->signal(SIGKILL);
  };
  const std::stop_callback wakes(options.stop, [&child] { child->wake(); });
  child->write(input);
  child->closeInput();
  child->pump([&](std::string_view text) { append(answer.output, text, kMaxOutput); },
              [&](std::string_view text) { append(answer.messages, text, kMaxMessages); }, onTick);
  return fault ? Result<Answer>(*fault) : judge(child->wait(), std::move(answer), program);
}

Result<Answer> runHelper(const char* mode, std::string_view input, const DotHelperOptions& options) {
  std::filesystem::path program = options.program;
  if (program.empty()) {
    auto found = findDotHelper();
    if (!found) {
      return found.error();
    }
    program = std::move(*found);
  } else if (!isProgram(program)) {
    return Error{ErrorCode::unavailable, inQuotes(program.string()) + " is not a program",
                 "give the path of coppice-dot"};
  }
  return run(program.string(), mode, input, options);
}

}  // namespace

Result<std::filesystem::path> findDotHelper() {
  std::error_code failed;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (!failed) {
    for (const std::filesystem::path& candidate :
         {self.parent_path() / kProgram, self.parent_path().parent_path() / "libexec" / "coppice" / kProgram}) {
      if (isProgram(candidate)) {
        return candidate;
      }
    }
  }
  if (const std::filesystem::path found = findProgram(kProgram); found.is_absolute()) {
    return found;
  }
  return Error{ErrorCode::unavailable, "the Graphviz helper coppice-dot is not installed",
               "install it beside this program or in PATH (it is built where libgraphviz-dev is present)"};
}

Result<ImportResult> readDotWithHelper(std::string_view text, const std::string& fileName,
                                       const DotHelperOptions& options) {
  return guarded(
      [&]() -> Result<ImportResult> {
        auto answer = runHelper("read", text, options);
        if (!answer) {
          Error error = answer.error();
          error.where.file = fileName;
          return error;
        }
        auto description = readFabricJson(answer->output, fileName);
        if (!description) {
          return Error{ErrorCode::io, "the Graphviz helper's answer cannot be read: " + description.error().message,
                       "use the coppice-dot of this version", Place{fileName}};
        }
        return ImportResult{std::move(*description), findingsIn(answer->messages, fileName)};
      },
      {.memory = "the graph does not fit into memory", .memoryFix = "give a smaller graph", .where = Place{fileName}});
}

Result<std::string> writeDotWithHelper(const fabric::Description& description, const DotHelperOptions& options) {
  return guarded(
      [&]() -> Result<std::string> {
        auto answer = runHelper("write", writeFabricJson(description), options);
        if (!answer) {
          return answer.error();
        }
        return std::move(answer->output);
      },
      {.memory = "the graph does not fit into memory", .memoryFix = "export a smaller fabric"});
}

Result<std::string> layOutDotWithHelper(std::string_view text, DotLayout layout, const DotHelperOptions& options) {
  return guarded(
      [&]() -> Result<std::string> {
        const char* mode = "layout-dot";
        switch (layout) {
          case DotLayout::layered:
            break;
          case DotLayout::force:
            mode = "layout-fdp";
            break;
          case DotLayout::energy:
            mode = "layout-neato";
            break;
          case DotLayout::scalable:
            mode = "layout-sfdp";
            break;
          case DotLayout::circular:
            mode = "layout-circo";
            break;
        }
        auto answer = runHelper(mode, text, options);
        if (!answer) {
          return answer.error();
        }
        return std::move(answer->output);
      },
      {.memory = "the graph does not fit into memory", .memoryFix = "lay out a part of it"});
}

}  // namespace coppice::io
