// SPDX-License-Identifier: Apache-2.0
#include "workflow/rank_order.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <sstream>
#include <utility>

#include "base/counted.hpp"
#include "base/one_line.hpp"
#include "base/text.hpp"
#include "fabric/structural_boxes.hpp"
#include "order/pattern.hpp"
#include "verify/order_check.hpp"
#include "workflow/concurrent.hpp"
#include "workflow/facts.hpp"
#include "workflow/options.hpp"
#include "workflow/request.hpp"

namespace coppice::workflow {
namespace {

/// Hosts in the order of a hostfile: the first word of each line, without comments.
Result<order::Hosts> inOrderOf(order::Hosts hosts, const std::string& text, const std::string& file) {
  order::Hosts sorted;
  std::set<std::string> seen;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line.substr(0, line.find('#')));
    std::string name;
    if (!(words >> name)) {
      continue;
    }
    const auto host = std::find_if(hosts.begin(), hosts.end(), [&](const auto& each) { return each.name == name; });
    if (host == hosts.end() || !seen.insert(name).second) {
      return Error{ErrorCode::badInput,
                   host == hosts.end() ? "the fabric has no host " + inQuotes(name)
                                       : "host " + inQuotes(name) + " is named twice",
                   "name each host once; the fabric's are " + inQuotes(hosts.front().name) + " to " +
                       inQuotes(hosts.back().name),
                   {.file = file, .line = number}};
    }
    sorted.push_back(*host);
  }
  if (sorted.size() != hosts.size()) {
    return Error{
        ErrorCode::badInput,
        "the file names " + counted(sorted.size(), "host") + ", the fabric has " + std::to_string(hosts.size()),
        "name each host once, or leave GPUs out with --gpus",
        {.file = file}};
  }
  return sorted;
}

Result<order::Pattern> patternFor(const RankOrder& made, const RankOrderText& text, const Progress& progress) {
  if (text.mesh.empty()) {
    std::vector<int> sizes;
    for (const order::Host& host : made.hosts) {
      sizes.push_back(static_cast<int>(host.gpus.size()));
    }
    return order::patternOf(text.algorithm, made.collective, sizes, progress);
  }
  const auto mesh = readMeshAxes(text.mesh, text.axes);
  if (!mesh) {
    return mesh.error();
  }
  return order::meshPattern(text.algorithm, made.collective, mesh->sizes, mesh->axes, made.fabric.gpuCount(), progress);
}

/// Both orders take what is claimed, by code of its own. Errors: verification.
Outcome checkTimes(const RankOrder& made, const order::Pattern& pattern, const std::vector<fabric::Rank>& present,
                   const Progress& progress) {
  progress.report("verifying", 0);
  const std::pair<std::vector<fabric::Rank>, InverseBandwidth> claims[] = {{present, made.answer.given.time},
                                                                           {made.answer.order, made.answer.best.time}};
  for (const auto& [order, time] : claims) {
    const auto proved = verify::provenOrderTime(made.fabric, pattern, order, progress);
    if (!proved) {
      return proved.error();
    }
    if (*proved != time) {
      return Error{ErrorCode::verification,
                   "an order takes " + toFraction(*proved) + " per byte, not " + toFraction(time),
                   "report this with the fabric"};
    }
  }
  return Done{};
}

}  // namespace

Result<RankOrder> rankOrder(const fabric::Fabric& fabric, const RankOrderText& text, const std::string& presentHosts,
                            const Progress& progress) {
  const auto algorithm = order::findAlgorithm(text.algorithm);
  if (!algorithm) {
    return optionError("algorithm", algorithm.error().message, algorithm.error().fix);
  }
  const auto collective =
      text.collective.empty() ? Result<Collective>(algorithm->usual) : readCollective(text.collective);
  if (!collective) {
    return collective.error();
  }
  if (!text.axes.empty() && text.mesh.empty()) {
    return optionError("axis", "there is no mesh", "add --mesh, for example --mesh 8x16");
  }
  RankOrder made{.algorithm = text.algorithm,
                 .collective = *collective,
                 .fabric = fabric::withBoxes(fabric),
                 .hosts = {},
                 .isFree = text.request.isFree,
                 .answer = {}};
  made.hosts = order::hostsOf(made.fabric);
  if (!text.present.empty()) {
    auto sorted = inOrderOf(std::move(made.hosts), presentHosts, text.present);
    if (!sorted) {
      return sorted.error();
    }
    made.hosts = *std::move(sorted);
  }
  const auto pattern = patternFor(made, text, progress);
  if (!pattern) {
    return pattern.error();
  }
  if (pattern->usesHosts && made.isFree) {
    return optionError("free", text.algorithm + " takes hosts as wholes", "leave --free out");
  }
  order::Request request = text.request;
  request.present = order::orderOf(made.hosts);
  if (text.present.empty() && !pattern->usesHosts) {
    std::iota(request.present.begin(), request.present.end(), 0);  // ranks of a host may lie apart
  }
  auto answer = order::bestOrder(made.fabric, *pattern, made.hosts, request, progress);
  if (!answer) {
    return answer.error();
  }
  made.answer = *std::move(answer);
  if (const Outcome checked = checkTimes(made, *pattern, request.present, progress); !checked) {
    return checked.error();
  }
  return made;
}

std::vector<RankPlace> placesOf(const RankOrder& made) {
  std::vector<RankPlace> ofGpu(made.answer.order.size());
  for (std::size_t host = 0; host < made.hosts.size(); ++host) {
    for (std::size_t device = 0; device < made.hosts[host].gpus.size(); ++device) {
      ofGpu[made.hosts[host].gpus[device]] = {static_cast<int>(host), static_cast<int>(device)};
    }
  }
  std::vector<RankPlace> places;
  for (const fabric::Rank gpu : made.answer.order) {
    places.push_back(ofGpu[gpu]);
  }
  return places;
}

std::vector<int> hostOrder(const RankOrder& made) {
  std::vector<int> order;
  std::set<int> seen;
  for (const RankPlace& place : placesOf(made)) {
    if (seen.insert(place.host).second) {
      order.push_back(place.host);
    }
  }
  return order;
}

std::string devicesOf(const RankOrder& made, int host) {
  std::string text;
  for (const RankPlace& place : placesOf(made)) {
    if (place.host == host) {
      text += (text.empty() ? "" : ",") + std::to_string(place.device);
    }
  }
  return text;
}

std::string gainText(const RankOrder& made) {
  const Bandwidth gain = made.gain();
  if (gain.isPositive()) {
    return gigabytes(gain);
  }
  if (!gain.isZero()) {
    return "none: the order as it is is faster, and spreads the ranks of a host; --free looks for such orders";
  }
  return made.answer.isProved() ? "none, no order is faster" : "none was found";
}

std::string boundText(const RankOrder& made) {
  const order::Answer& answer = made.answer;
  if (!answer.bound || (answer.hasTriedAll && answer.bound->time != answer.best.time)) {
    return answer.hasTriedAll ? "no order is faster: all were tried" : "no bound is known";
  }
  const order::Bound& bound = *answer.bound;
  std::string first;
  for (const fabric::NodeIndex node : bound.nodes) {
    if (first.empty() && made.fabric.nodes()[node].rank >= 0) {
      first = oneLine(made.fabric.nodes()[node].id);
    }
  }
  const std::string least = "no order is faster than " + gigabytes(bound.time.inverse()) + ": ";
  if (bound.reason == order::Bound::Reason::links) {
    return least + "in any order, each step has a link that is that busy";
  }
  if (bound.reason == order::Bound::Reason::routes) {
    return least + "even with partners as near as can be, the data fill all links of the fabric, " +
           gigabytes(bound.capacity);
  }
  return least + (bound.gpus == 1 ? first : counted(bound.gpus, "GPU") + " (" + first + ", …)") +
         (bound.isInto ? " cannot receive" : " cannot send") + " more than " + gigabytes(bound.capacity);
}

}  // namespace coppice::workflow
