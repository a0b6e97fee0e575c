// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>

#include "io/transfer_csv.hpp"
#include "verify/step_verifier.hpp"

using namespace coppice;

namespace {

/// The sanitizers report the abort with its stack.
void require(bool isTrue) {
  if (!isTrue) {
    std::abort();
  }
}

/// Four GPUs on a switch, two of them also joined directly.
const fabric::Fabric& someFabric() {
  static const fabric::Fabric made = [] {
    fabric::Description description;
    description.nodes.push_back({.id = "sw", .kind = "switch"});
    for (const char* id : {"g0", "g1", "g2", "a, \"b\""}) {
      description.nodes.push_back({.id = id, .kind = "gpu"});
      description.links.push_back({.src = id, .dst = "sw", .bandwidth = "10"});
    }
    description.links.push_back({.src = "g0", .dst = "g1", .bandwidth = "25/3"});
    return std::move(fabric::Fabric::build(description)).value();
  }();
  return made;
}

}  // namespace

/// The first byte chooses the collective; the rest is the table. What is read is judged, written and read again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  constexpr Collective kCollectives[] = {Collective::allgather, Collective::reduceScatter, Collective::allreduce,
                                         Collective::broadcast, Collective::alltoall,      Collective::gather};
  const Collective collective = kCollectives[data[0] % std::size(kCollectives)];
  const auto goal = schedule::CollectiveTable::make(
      collective, someFabric().gpuCount(), isRooted(collective) ? std::optional<fabric::Rank>(0) : std::nullopt);
  require(goal.hasValue());
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto read = io::readTransferCsv(text, "fuzz", someFabric(), *goal);
  if (!read) {
    require(!describe(read.error()).empty());
    return 0;
  }
  const auto verdict = verify::verifySteps(someFabric(), *read);
  std::ostringstream out;
  require(io::writeTransferCsv(out, *read, someFabric()).hasValue());
  const auto again = io::readTransferCsv(out.str(), "again", someFabric(), *goal);
  require(again && again->algbw == read->algbw && again->transfers.size() == read->transfers.size());
  const auto same = verify::verifySteps(someFabric(), *again);
  require(verdict.hasValue() == same.hasValue() && (!verdict || verdict->ok == same->ok));
  std::ostringstream second;
  require(io::writeTransferCsv(second, *again, someFabric()).hasValue());
  require(second.str() == out.str());
  return 0;
}
