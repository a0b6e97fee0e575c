// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "fabric/fabric.hpp"
#include "io/collective_file.hpp"

using namespace coppice;

namespace {

void require(bool isTrue) {
  if (!isTrue) {
    std::abort();
  }
}

const fabric::Fabric& star() {
  static const fabric::Fabric kFabric = [] {
    fabric::Description description;
    description.nodes.push_back({.id = "s", .kind = "switch"});
    for (const char* id : {"g0", "g1", "g2"}) {
      description.nodes.push_back({.id = id, .kind = "gpu"});
      description.links.push_back({.src = id, .dst = "s", .bandwidth = "1"});
    }
    return *fabric::Fabric::build(description);
  }();
  return kFabric;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto table =
      io::readCollectiveTable(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz", star());
  if (!table) {
    require(!describe(table.error()).empty());
    return 0;
  }
  require(table->shardCount() > 0 && table->rankCount() == star().gpuCount());
  for (std::int64_t shard = 0; shard < table->shardCount(); ++shard) {
    require(!table->sources(shard).empty() && !table->destinations(shard).empty());
    require(table->share(shard) >= Rational(0));
  }
  require(differenceFrom(*table, *table).empty());
  return 0;
}
