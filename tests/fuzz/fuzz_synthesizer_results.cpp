// SPDX-License-Identifier: Apache-2.0
// Results of TE-CCL and TACOS: what is read is a schedule that the verifier can judge.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "io/synthesizer_results.hpp"
#include "verify/step_verifier.hpp"

using namespace coppice;

namespace {

/// Four GPUs in a ring.
const fabric::Fabric& ringOfFour() {
  static const fabric::Fabric made = [] {
    fabric::Description description;
    for (const char* id : {"g0", "g1", "g2", "g3"}) {
      description.nodes.push_back({.id = id, .kind = "gpu"});
    }
    for (const auto& [a, b] : {std::pair("g0", "g1"), {"g1", "g2"}, {"g2", "g3"}, {"g3", "g0"}}) {
      description.links.push_back({.src = a, .dst = b, .bandwidth = "25"});
    }
    return std::move(fabric::Fabric::build(description)).value();
  }();
  return made;
}

}  // namespace

/// The first byte chooses the collective; the rest is the result.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  constexpr Collective kCollectives[] = {Collective::allgather, Collective::alltoall, Collective::broadcast,
                                         Collective::gather, Collective::allreduce};
  const Collective collective = kCollectives[data[0] % std::size(kCollectives)];
  const auto goal = schedule::CollectiveTable::make(
      collective, ringOfFour().gpuCount(), isRooted(collective) ? std::optional<fabric::Rank>(0) : std::nullopt);
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  (void)io::looksLikeTeCcl(text);
  (void)io::looksLikeTacosResult(text);
  for (const auto read : {io::readTeCcl, io::readTacosResult}) {
    const auto schedule = read(text, "fuzz", ringOfFour(), *goal, {});
    if (!schedule && describe(schedule.error()).empty()) {
      std::abort();
    }
    if (schedule) {
      (void)verify::verifySteps(ringOfFour(), *schedule);
    }
  }
  return 0;
}
