// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>

#include "io/forest_json.hpp"
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
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto header = io::peekForestJson(text, "fuzz");
  const auto loaded = io::loadForest(text, "fuzz");
  if (!loaded) {
    require(!describe(loaded.error()).empty());
    return 0;
  }
  require(header && header->fabricDigest == loaded->fabric.digest());
  std::ostringstream out;
  require(io::writeForestJson(out, loaded->schedule, loaded->fabric, &loaded->description).hasValue());
  const auto again = io::loadForest(out.str());
  require(again && again->schedule == loaded->schedule && again->fabric.digest() == loaded->fabric.digest());
  std::ostringstream second;
  require(io::writeForestJson(second, again->schedule, again->fabric, &again->description).hasValue());
  require(second.str() == out.str());

  for (const auto* forest : {&loaded->schedule.reduceForest, &loaded->schedule.broadcastForest}) {
    if (*forest) {
      (void)schedule::heights(**forest);
      require(schedule::reversed(schedule::reversed(**forest)) == **forest);
    }
  }
  std::ostringstream trees;
  if (io::writeTreeXml(trees, loaded->schedule, loaded->fabric)) {
    (void)io::readTreeXml(trees.str());
  }
  return 0;
}
