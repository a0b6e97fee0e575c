// SPDX-License-Identifier: Apache-2.0
// What runs of NCCL leave: logs, graph files, JSON of nccl-tests, lines of the Inspector and answers of RAS. Rings and trees that are
// read pass every rank once; graphs that are read are written and read again as they were.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "nccl/graph.hpp"
#include "nccl/log_reader.hpp"
#include "nccl/measurements.hpp"
#include "nccl/ras.hpp"

namespace {

void require(bool isTrue) {
  if (!isTrue) {
    std::abort();
  }
}

void judge(const coppice::nccl::Communicator& communicator) {
  for (const auto& ring : communicator.rings) {
    std::vector<bool> seen(static_cast<std::size_t>(communicator.ranks), false);
    for (const int rank : ring.ranks) {
      require(rank >= 0 && rank < communicator.ranks && !seen[static_cast<std::size_t>(rank)]);
      seen[static_cast<std::size_t>(rank)] = true;
    }
    require(static_cast<int>(ring.ranks.size()) == communicator.ranks && ring.ranks.front() == 0);
  }
  for (const auto& tree : communicator.trees) {
    require(static_cast<int>(tree.parents.size()) == communicator.ranks);
    for (const int parent : tree.parents) {
      require(parent >= -1 && parent < communicator.ranks);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto run = coppice::nccl::readLogs({{text, "x"}})) {
    for (const auto& communicator : run->communicators) {
      judge(communicator);
    }
  }
  if (const auto graphs = coppice::nccl::readGraphs(text, "x")) {
    const auto again = coppice::nccl::readGraphs(coppice::nccl::writeGraphs(*graphs), "x");
    require(again && *again == *graphs);
    (void)coppice::nccl::checkGraphs(*graphs, {0, 1}, false);
  }
  (void)coppice::nccl::readTestsJson(text, "x");
  (void)coppice::nccl::readInspector(text, "x");
  (void)coppice::nccl::readRas(text, "x");
  return 0;
}
