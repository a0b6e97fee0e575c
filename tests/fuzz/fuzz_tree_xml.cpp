// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "io/tree_xml.hpp"

using namespace coppice;

namespace {

/// The sanitizers report the abort with its stack.
void require(bool isTrue) {
  if (!isTrue) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto trees = io::readTreeXml(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
  if (!trees) {
    require(!describe(trees.error()).empty());
    return 0;
  }
  const auto fabric = fabric::Fabric::build(trees->inferred);
  if (!fabric) {
    return 0;
  }
  for (const Collective collective :
       {Collective::allgather, Collective::reduceScatter, Collective::allreduce, Collective::broadcast}) {
    const auto schedule = io::scheduleFromTrees(*trees, *fabric, collective);
    if (!schedule) {
      continue;
    }
    std::ostringstream out;
    if (io::writeTreeXml(out, *schedule, *fabric)) {
      const auto again = io::readTreeXml(out.str());
      require(again && again->sends.size() == trees->sends.size());
    }
  }
  return 0;
}
