// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "bench/processor_seconds.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/forestcoll.hpp"
#include "forestcoll/network.hpp"
#include "forestcoll/optimality.hpp"
#include "presets/presets.hpp"

/// Processor milliseconds of the optimum of allgather, minimum of several runs: the rate with its bottleneck cuts
/// alone, and with the smallest k, which the command line and the window ask for. All presets as they come, then large
/// fabrics of equal boxes. The last line is the peak memory of the process.
///
///   bench_optimum [large]     large: the largest fabric alone, for its memory
namespace {

using namespace coppice;

struct Case {
  std::string preset;
  std::map<std::string, std::string> arguments;
};

/// Minimum of up to 50 runs, within a fifth of a second.
template <typename Work>
double minSeconds(const Work& work) {
  constexpr int kRuns = 50;
  constexpr double kEnough = 0.2;
  double best = 0;
  double sum = 0;
  for (int run = 0; run < kRuns && sum < kEnough; ++run) {
    const double start = bench::processorSeconds();
    work();
    const double seconds = bench::processorSeconds() - start;
    best = run == 0 ? seconds : std::min(best, seconds);
    sum += seconds;
  }
  return best;
}

void print(const Case& which) {
  std::string name = which.preset;
  for (const auto& [key, value] : which.arguments) {
    name += " " + key + "=" + value;
  }
  const auto description = presets::make(which.preset, which.arguments);
  const auto fabric = description ? fabric::Fabric::build(*description) : description.error();
  const auto result = fabric ? forestcoll::optimum(*fabric, {}) : fabric.error();
  if (!result) {
    std::printf("| %s | %s | | | | | |\n", name.c_str(), describe(result.error()).c_str());
    return;
  }
  const std::vector<std::int64_t> demand(static_cast<std::size_t>(fabric->gpuCount()), 1);
  const double rate = minSeconds([&] {
    const forestcoll::Network network = forestcoll::makeNetwork(*fabric, demand);
    static_cast<void>(forestcoll::bottleneckCuts(network, forestcoll::worstCut(network, {}), {}));
  });
  const double all = minSeconds([&] { static_cast<void>(forestcoll::optimum(*fabric, {})); });
  std::printf("| %s | %d | %.3f | %.3f | %.2f | %lld | %lld |\n", name.c_str(), fabric->gpuCount(), 1e3 * rate,
              1e3 * all, all / rate, static_cast<long long>(result->treesPerRoot),
              static_cast<long long>(result->integralTreesPerRoot));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const Case largest{"cluster", {{"boxes", "8192"}, {"gpus", "16"}}};
  std::printf("| fabric | GPUs | rate and cuts, ms | with minimum k, ms | times | k | paper's k |\n");
  std::printf("|---|---|---|---|---|---|---|\n");
  if (argc == 1) {
    for (const presets::Preset& preset : presets::catalogue()) {
      print({preset.name, {}});
    }
    for (const Case& which :
         {Case{"azure-ndv2", {{"boxes", "64"}}}, Case{"dgx2", {{"boxes", "8"}}}, Case{"mi250", {{"boxes", "64"}}},
          Case{"dgx-h100", {{"boxes", "2048"}}}, Case{"dgx-h100", {{"boxes", "8192"}}}}) {
      print(which);
    }
  }
  print(largest);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("\npeak memory: %.0f MiB\n", static_cast<double>(usage.ru_maxrss) / 1024);
  return argc == 1 || std::string(argv[1]) == "large" ? 0 : 2;
}
