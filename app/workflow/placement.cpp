// SPDX-License-Identifier: Apache-2.0
#include "workflow/placement.hpp"

#include <algorithm>

#include "verify/concurrent_check.hpp"
#include "verify/placement_check.hpp"
#include "workflow/fabric_source.hpp"
#include "workflow/request.hpp"

namespace coppice::workflow {

const std::vector<Option>& placementOptions() {
  static const std::vector<Option> kOptions{
      {.name = "place",
       .title = "GPUs of the job",
       .help = "Which GPUs a job of this many should get: the best choice found among the free ones, and a bound that "
               "no choice exceeds",
       .kind = OptionKind::integer,
       .min = 2,
       .placeholder = "COUNT"},
      {.name = "free",
       .title = "Free GPUs",
       .help = "With --place: the GPUs to choose from, as ids, ranks or ranges of ranks; default: all",
       .placeholder = "LIST",
       .example = "all, or 0-7,16-23"}};
  return kOptions;
}

Result<schedule::PlacementQuestion> readPlacement(const fabric::Description& description, const fabric::Fabric& fabric,
                                                  const Values& given, const std::string& collective, bool relay) {
  const auto values = OptionValues::read(placementOptions(), given);
  if (!values) {
    return values.error();
  }
  const auto read = readCollective(collective);
  if (!read) {
    return read.error();
  }
  schedule::PlacementQuestion question;
  question.collective = *read;
  question.relays = relay;
  question.isFree.assign(fabric.gpus().size(), values->text("free").empty());
  if (!values->text("free").empty()) {
    const auto ids = parseGpuList(description, values->text("free"), "free");
    if (!ids) {
      return ids.error();
    }
    for (const std::string& id : *ids) {
      if (const auto node = fabric.find(id)) {
        question.isFree[fabric.nodes()[*node].rank] = true;
      }
    }
  }
  const auto free = std::count(question.isFree.begin(), question.isFree.end(), true);
  const std::int64_t size = values->integer("place").value_or(0);
  if (size > free) {
    return optionError("place", std::to_string(size) + " GPUs are asked for, and " + std::to_string(free) + " are free",
                       "use a number from 2 to " + std::to_string(free));
  }
  question.size = static_cast<int>(size);
  return question;
}

Result<groups::Placement> provedPlacement(const fabric::Fabric& fabric, const schedule::PlacementQuestion& question,
                                          const Progress& progress) {
  auto placement = groups::place(fabric, question, {}, progress);
  if (!placement) {
    return placement;
  }
  progress.report("verifying", 0);
  const schedule::ConcurrentDemand demand = groups::demandOf(question, placement->ranks);
  const auto bound = verify::provenConcurrentBound(fabric, demand, placement->optimum.proof, progress);
  if (!bound) {
    return bound.error();
  }
  const auto rate = verify::provenConcurrentRate(fabric, demand, placement->optimum.proof, progress);
  if (!rate) {
    return rate.error();
  }
  if (*bound != placement->optimum.upper || *rate != placement->optimum.lower) {
    return Error{ErrorCode::verification, "the rate of the chosen GPUs is not what its proof shows",
                 "report this with the fabric and the question"};
  }
  if (const Outcome checked = verify::checkPlacementBound(fabric, question, placement->regions, placement->cutBound);
      !checked) {
    return checked.error();
  }
  return placement;
}

std::string boundWords(const groups::Placement& placement) {
  if (placement.upper == placement.cutBound) {
    return "as the links around GPUs, boxes and groups of boxes show";
  }
  return placement.isSearched ? "since every other choice was ruled out" : "as far as the search went";
}

std::string rankList(const std::vector<fabric::Rank>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) {
      ++last;
    }
    text += (text.empty() ? "" : ",") + std::to_string(ranks[i]) + (last > i ? "-" + std::to_string(ranks[last]) : "");
    i = last + 1;
  }
  return text;
}

}  // namespace coppice::workflow
