// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "bench/bench.hpp"
#include "coppice/test_paths.hpp"
#include "engine/backend.hpp"
#include "plan/plan.hpp"
#include "program/msccl_xml.hpp"
#include "program/program.hpp"
#include "threads/threads_backend.hpp"

namespace coppice::executor::test {

inline std::string readText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A file below tests/data/executor, as the first runtime takes it that knows its collective.
inline program::Program readProgram(const std::string& name) {
  const std::string text = readText(std::string(COPPICE_TEST_DATA) + "/executor/" + name);
  const auto file = program::readMscclXml(text, program::Runtime::msccl);
  return hasErrors(file->findings) ? program::readMscclXml(text, program::Runtime::mscclExecutorNccl)->program
                                   : file->program;
}

inline Job jobOf(const program::Program& program, const PlanOptions& options = {}) {
  auto set = makePlans(program, options);
  Job job;
  if (set && set->ok) {
    job.inPlace = std::move(set->inPlace);
    job.outOfPlace = std::move(set->outOfPlace);
    job.depth = set->depth;
  }
  return job;
}

inline std::string firstError(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    if (finding.severity == Severity::error) {
      return describe(finding);
    }
  }
  return {};
}

struct Ran {
  BenchEnd end;
  std::vector<program::Record> records;

  template <typename Record>
  [[nodiscard]] std::vector<Record> all() const {
    std::vector<Record> found;
    for (const program::Record& record : records) {
      if (const auto* one = std::get_if<Record>(&record)) {
        found.push_back(*one);
      }
    }
    return found;
  }
  /// Empty when everything went well; otherwise the first thing that did not.
  [[nodiscard]] std::string fault() const {
    for (const auto& wrong : all<program::WrongRecord>()) {
      return "size " + std::to_string(wrong.size) + (wrong.inPlace ? " in place" : " out of place") + ", rank " +
             std::to_string(wrong.rank) + ", " + wrong.buffer + "[" + std::to_string(wrong.element) + "] is " +
             wrong.found + ", not " + wrong.expected;
    }
    return end.exit == program::RunExit::ok ? "" : std::string(toString(end.exit)) + ": " + end.reason;
  }
};

/// Checks only; no timing unless asked for.
inline BenchOptions checking(std::int64_t bytes) {
  BenchOptions options;
  options.firstBytes = bytes;
  options.lastBytes = bytes;
  options.iterations = 0;
  options.calibrates = false;
  return options;
}

inline std::unique_ptr<Backend> makeThreads(int workers) {
  return *threadsBackend().create({.workers = workers});
}

inline Ran runJob(Backend& backend, const Job& job, const BenchOptions& options) {
  Ran ran;
  ran.end = runBench(backend, job, options, [&](const program::Record& record) { ran.records.push_back(record); });
  return ran;
}

}  // namespace coppice::executor::test
