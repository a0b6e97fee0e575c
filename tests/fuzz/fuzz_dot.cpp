// SPDX-License-Identifier: Apache-2.0
// DOT through libcgraph, in this process. What is read must be writable, and read back as the same fabric.
//
// A graph beyond the size limits is abandoned inside libcgraph's parser, and its memory with it (cgraph_session.cpp);
// texts that long are out of reach at the usual -max_len. In use it is the helper program that ends, and everything
// with it.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "dot/dot.hpp"
#include "io/fabric_json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto read = coppice::dot::readDot(text, "x");
  if (!read) {
    if (read.error().message.empty()) {
      std::abort();
    }
    return 0;
  }
  const std::string before = coppice::io::writeFabricJson(read->description);
  const auto written = coppice::dot::writeDot(read->description);
  if (!written) {
    return 0;
  }
  const auto again = coppice::dot::readDot(*written, "y");
  if (!again) {
    std::fprintf(stderr, "%s\n%s\n", coppice::describe(again.error()).c_str(), written->c_str());
    std::abort();
  }
  // The order of unknown keys may change; nodes and links may not.
  if (again->description.nodes.size() != read->description.nodes.size() ||
      again->description.links.size() != read->description.links.size()) {
    std::fprintf(stderr, "%s\n%s\n", before.c_str(), written->c_str());
    std::abort();
  }
  for (std::size_t i = 0; i < read->description.nodes.size(); ++i) {
    const auto& a = read->description.nodes[i];
    const auto& b = again->description.nodes[i];
    if (a.id != b.id || a.kind != b.kind || a.box != b.box || a.rank != b.rank || a.multicast != b.multicast) {
      std::fprintf(stderr, "node %zu\n%s\n%s\n", i, before.c_str(), written->c_str());
      std::abort();
    }
  }
  for (std::size_t i = 0; i < read->description.links.size(); ++i) {
    const auto& a = read->description.links[i];
    const auto& b = again->description.links[i];
    if (a.src != b.src || a.dst != b.dst || a.bandwidth != b.bandwidth || a.duplex != b.duplex || a.count != b.count) {
      std::fprintf(stderr, "link %zu\n%s\n%s\n", i, before.c_str(), written->c_str());
      std::abort();
    }
  }
  return 0;
}
