// SPDX-License-Identifier: Apache-2.0
//
// coppice-dot: the one program of the project that links Graphviz. It turns DOT into the fabric format and back, and
// lays graphs out, between standard input and output, so that other programs can run it, time it out and survive it.

#include <sys/resource.h>

#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "dot/dot.hpp"
#include "io/dot_messages.hpp"
#include "io/fabric_json.hpp"
#include "layout.hpp"

// Address and thread sanitizers reserve terabytes of addresses. GCC says so by a macro, clang by a feature.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COPPICE_IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define COPPICE_IS_SANITIZED 1
#endif
#endif

namespace {

constexpr int kBadInput = 2;
constexpr std::size_t kMaxInput = std::size_t{256} << 20;

constexpr std::string_view kUsage =
    "Usage: coppice-dot read  < graph.dot > fabric.json\n"
    "       coppice-dot write < fabric.json > graph.dot\n"
    "       coppice-dot layout-ENGINE < graph.dot > places.txt\n"
    "\n"
    "Converts between Graphviz DOT and the Coppice fabric format; layout-dot, layout-neato, layout-fdp,\n"
    "layout-sfdp and layout-circo give the centre of each node, one \"name x y\" a line, in points, y\n"
    "upwards. Notes and warnings go to standard error, one a line; so does an error, and the exit status\n"
    "is then 2. With --records before the mode, each of them is a JSON object.\n";

/// libcgraph cannot be stopped and asks for memory as a text tells it to; the system holds it back.
void limitResources() {
#ifndef COPPICE_IS_SANITIZED
  rlimit memory{};
  if (getrlimit(RLIMIT_AS, &memory) == 0) {
    constexpr rlim_t kMax = rlim_t{4} << 30;
    memory.rlim_cur = memory.rlim_max == RLIM_INFINITY || memory.rlim_max > kMax ? kMax : memory.rlim_max;
    setrlimit(RLIMIT_AS, &memory);
  }
#endif
  const rlimit noCore{0, 0};
  setrlimit(RLIMIT_CORE, &noCore);
}

bool writesRecords = false;

void say(const coppice::Finding& finding) {
  const std::string line = writesRecords ? coppice::io::dotRecord(finding) : coppice::describe(finding);
  std::fprintf(stderr, "%s\n", line.c_str());
}

int fail(const coppice::Error& error) {
  say({coppice::Severity::error, error.code, error.message, error.fix, error.where});
  return kBadInput;
}

coppice::Result<std::string> readInput() {
  std::string text;
  char buffer[65536];
  std::size_t count = 0;
  while ((count = std::fread(buffer, 1, sizeof buffer, stdin)) > 0) {
    if (text.size() + count > kMaxInput) {
      return coppice::Error{coppice::ErrorCode::limit, "the input is larger than 256 MiB", "give a smaller file"};
    }
    text.append(buffer, count);
  }
  if (std::ferror(stdin) != 0) {
    return coppice::Error{coppice::ErrorCode::io, "standard input cannot be read", "pipe a file into coppice-dot"};
  }
  return text;
}

int put(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    return fail({coppice::ErrorCode::io, "standard output cannot be written", "free space or keep the pipe open"});
  }
  return 0;
}

int readMode(const std::string& input) {
  const auto imported = coppice::dot::readDot(input, {});
  if (!imported) {
    return fail(imported.error());
  }
  for (const coppice::Finding& finding : imported->findings) {
    say(finding);
  }
  return put(coppice::io::writeFabricJson(imported->description));
}

int writeMode(const std::string& input) {
  const auto description = coppice::io::readFabricJson(input);
  if (!description) {
    return fail(description.error());
  }
  const auto text = coppice::dot::writeDot(*description);
  return text ? put(*text) : fail(text.error());
}

}  // namespace

int main(int argc, char** argv) {
  writesRecords = argc == 3 && argv[1] == coppice::io::kDotRecords;
  const int modeAt = writesRecords ? 2 : 1;
  const std::string_view mode = argc == modeAt + 1 ? argv[modeAt] : "";
  if (mode == "--help" || mode == "-h") {
    return put(std::string(kUsage));
  }
  constexpr std::string_view kLayout = "layout-";
  const std::string engine(mode.starts_with(kLayout) ? mode.substr(kLayout.size()) : std::string_view());
  if (mode != "read" && mode != "write" && !coppice::dot::isLayoutEngine(engine)) {
    return fail({coppice::ErrorCode::badUsage, "use read, write or layout-dot", "see coppice-dot --help"});
  }
  limitResources();
  try {
    const auto input = readInput();
    if (!input) {
      return fail(input.error());
    }
    if (!engine.empty()) {
      const auto places = coppice::dot::layOut(*input, engine);
      return places ? put(*places) : fail(places.error());
    }
    return mode == "read" ? readMode(*input) : writeMode(*input);
  } catch (const std::exception& exception) {
    return fail({coppice::ErrorCode::internal, exception.what(), "give a smaller file"});
  }
}
