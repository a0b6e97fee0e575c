// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/balance.hpp"
#include "fabric/fabric.hpp"
#include "io/fabric_json.hpp"

using namespace coppice;

namespace {

/// The sanitizers report the abort with its stack.
void require(bool isTrue) {
  if (!isTrue) {
    std::abort();
  }
}

void checkFabric(const fabric::Fabric& fabric) {
  require(fabric.transposed().transposed().digest() == fabric.digest());
  const auto changes = fabric::smallestBalanceChange(fabric);
  require(!changes || changes->empty() == fabric.isBalanced());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto read = io::readFabricJson(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
  if (!read) {
    require(!describe(read.error()).empty());
    return 0;
  }
  const std::string text = io::writeFabricJson(*read);
  const auto again = io::readFabricJson(text);
  require(again && *again == *read);
  require(io::writeFabricJson(*again) == text);

  const std::vector<Finding> findings = fabric::validate(*read);
  const auto fabric = fabric::Fabric::build(*read);
  require(fabric.hasValue() != hasErrors(findings));
  if (fabric) {
    checkFabric(*fabric);
    std::vector<std::string> kept;
    for (int rank = 0; rank < 2; ++rank) {
      kept.push_back(fabric->nodes()[fabric->gpus()[rank]].id);
    }
    const auto part = fabric::subset(*read, kept);
    require(part.hasValue());
    require(fabric::Fabric::build(*part).hasValue() != hasErrors(fabric::validate(*part)));
  }
  return 0;
}
