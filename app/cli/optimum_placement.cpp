// SPDX-License-Identifier: Apache-2.0
#include "optimum_placement.hpp"

#include <algorithm>

#include "base/comma_list.hpp"
#include "base/one_line.hpp"
#include "optimum_groups.hpp"
#include "text.hpp"
#include "workflow/clock.hpp"

namespace coppice::cli {
namespace {

constexpr std::size_t kMaxIds = 8;

std::string idLine(const fabric::Fabric& fabric, const std::vector<fabric::Rank>& ranks) {
  return commaListOfFirst(kMaxIds, ranks,
                          [&](fabric::Rank rank) { return oneLine(fabric.nodes()[fabric.gpus()[rank]].id); });
}

Json idsOfRanks(const fabric::Fabric& fabric, const std::vector<fabric::Rank>& ranks) {
  Json ids = Json::array();
  for (const fabric::Rank rank : ranks) {
    ids.push_back(fabric.nodes()[fabric.gpus()[rank]].id);
  }
  return ids;
}

}  // namespace

Result<Report> placementOptimum(const workflow::Values& values, const FabricOptions& source,
                                const workflow::DemandText& demand, bool relayGpus, const Progress& progress) {
  if (!demand.amounts.empty()) {
    return workflow::optionError("amounts", "all GPUs of the job have equal data", "leave it out");
  }
  const auto loaded = loadFabric(source, progress);
  if (!loaded) {
    return loaded.error();
  }
  const fabric::Fabric& fabric = loaded->fabric;
  const auto question = workflow::readPlacement(loaded->description, fabric, values, demand.collective, relayGpus);
  if (!question) {
    return question.error();
  }
  workflow::Clock clock;
  const auto placement = workflow::provedPlacement(fabric, *question, progress);
  if (!placement) {
    return placement.error();
  }
  const double seconds = clock.lap();
  const groups::Optimum& optimum = placement->optimum;
  const auto free = std::count(question->isFree.begin(), question->isFree.end(), true);
  Report report;
  report.json = {{"ok", true},
                 {"fabric", fabric.name()},
                 {"digest", fabric.digest()},
                 {"collective", toString(question->collective)},
                 {"size", question->size},
                 {"free", free},
                 {"relay", question->relays},
                 {"gpus", idsOfRanks(fabric, placement->ranks)},
                 {"ranks", placement->ranks},
                 {"algbw", toFraction(optimum.lower)},
                 {"algbw_GBps", toGBps(optimum.lower)},
                 {"exact", optimum.isExact()},
                 {"upper", toFraction(placement->upper)},
                 {"upper_GBps", toGBps(placement->upper)},
                 {"optimal", placement->isExact()},
                 {"cut_bound", toFraction(placement->cutBound)},
                 {"regions", placement->regions.size()},
                 {"searched", placement->isSearched},
                 {"tried", placement->tried},
                 {"import_findings", toJson(loaded->findings)},
                 {"seconds", seconds}};
  report.text = std::to_string(question->size) + " of " + std::to_string(free) + " GPUs for " +
                std::string(toString(question->collective)) + ": " + gigabytes(optimum.lower) +
                (placement->isExact() ? ", and no choice is faster, "
                                      : "; no choice is above " + gigabytes(placement->upper) + ", ") +
                workflow::boundWords(*placement) + "\n  fabric      " + named(fabric.name()) + ", " +
                counted(fabric.gpuCount(), "GPU") + "\n  GPUs        " + idLine(fabric, placement->ranks) +
                " (--gpus " + workflow::rankList(placement->ranks) + (question->relays ? " --relay-gpus" : "") + ")\n" +
                cutLines(fabric, workflow::sharedCut(fabric, optimum)) + "  tried       " +
                counted(placement->tried, "choice") + "\n" + lines(loaded->findings) + "  time        " +
                duration(seconds) + "\n";
  return report;
}

}  // namespace coppice::cli
