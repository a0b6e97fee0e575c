// SPDX-License-Identifier: Apache-2.0
// Graphs of torch.fx as text. Whatever is accepted must be a problem that faultOf() has nothing against, once it has a
// mesh, and whose dimensions are those of its tensors.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "io/fx_graph.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto graph = coppice::io::readFxGraph(text, "x", {.mayRecompute = true});
  if (graph) {
    graph->problem.mesh.push_back({2, {1, 1, 1, 1}});
    if (coppice::training::faultOf(graph->problem)) {
      std::abort();
    }
  }
  return 0;
}
