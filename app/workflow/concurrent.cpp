// SPDX-License-Identifier: Apache-2.0
#include "workflow/concurrent.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

#include "base/checked.hpp"
#include "base/counted.hpp"
#include "base/one_line.hpp"
#include "base/text.hpp"
#include "io/groups_json.hpp"
#include "verify/concurrent_check.hpp"
#include "workflow/facts.hpp"

namespace coppice::workflow {
namespace {

using schedule::ConcurrentDemand;

Result<ConcurrentDemand> meshDemand(const fabric::Fabric& fabric, const ConcurrentText& text) {
  const auto collective = readCollective(text.demand.collective);
  if (!collective) {
    return collective.error();
  }
  const auto mesh = readMeshAxes(text.mesh, text.axes);
  if (!mesh) {
    return mesh.error();
  }
  ConcurrentDemand demand;
  for (const int axis : mesh->axes) {
    auto groups = groups::meshGroups(mesh->sizes, axis, fabric.gpuCount(), *collective);
    if (!groups) {
      return optionError("mesh", groups.error().message, groups.error().fix);
    }
    std::ranges::move(*groups, std::back_inserter(demand.groups));
  }
  return demand;
}

Result<ConcurrentDemand> listDemand(const fabric::Description& description, const fabric::Fabric& fabric,
                                    const ConcurrentText& text) {
  const auto collective = readCollective(text.demand.collective);
  if (!collective) {
    return collective.error();
  }
  ConcurrentDemand demand;
  std::istringstream lists(text.ranks);
  for (std::string list; std::getline(lists, list, ';');) {
    const auto ids = parseGpuList(description, list, "ranks");
    if (!ids) {
      return ids.error();
    }
    schedule::ConcurrentGroup group;
    group.collective = *collective;
    for (const std::string& id : *ids) {
      if (const auto node = fabric.find(id)) {
        group.ranks.push_back(fabric.nodes()[*node].rank);
      }
    }
    if (std::set(group.ranks.begin(), group.ranks.end()).size() != group.ranks.size() || group.ranks.size() < 2) {
      return optionError("ranks", inQuotes(list) + " is not a list of two GPUs or more, each once",
                         "write for example 0-7;8-15");
    }
    demand.groups.push_back(std::move(group));
  }
  return demand;
}

Result<ConcurrentDemand> memberDemand(const fabric::Description& description, const fabric::Fabric& fabric,
                                      const ConcurrentText& text) {
  const auto ids = parseGpuList(description, text.members);
  if (!ids) {
    return ids.error();
  }
  ConcurrentDemand demand;
  demand.relays.assign(fabric.gpus().size(), true);
  schedule::ConcurrentGroup group;
  for (const std::string& id : *ids) {
    if (const auto node = fabric.find(id)) {
      group.ranks.push_back(fabric.nodes()[*node].rank);
    }
  }
  std::sort(group.ranks.begin(), group.ranks.end());
  group.ranks.erase(std::unique(group.ranks.begin(), group.ranks.end()), group.ranks.end());
  const auto collective = readCollective(text.demand.collective);
  if (!collective) {
    return collective.error();
  }
  group.collective = *collective;
  if (!text.demand.root.empty()) {
    const auto root = readGpu(fabric, text.demand.root, "root");
    if (!root) {
      return root.error();
    }
    const auto at = std::find(group.ranks.begin(), group.ranks.end(), *root);
    if (at == group.ranks.end()) {
      return optionError("root", "it is not one of the chosen GPUs", "choose one of --gpus");
    }
    group.root = static_cast<int>(at - group.ranks.begin());
  }
  demand.groups.push_back(std::move(group));
  return demand;
}

/// So that the sum of bandwidth times price over the links is the bound.
std::vector<Rational> scaledPrices(const fabric::Fabric& fabric, const Bandwidth& bound,
                                   const std::vector<std::int64_t>& given) {
  Rational capacity;
  std::map<Bandwidth, std::int64_t> sums;
  for (std::size_t arc = 0; arc < fabric.arcs().size(); ++arc) {
    std::int64_t& sum = sums[fabric.arcs()[arc].bandwidth];
    sum = checkedAdd(sum, given[arc]);
  }
  for (const auto& [bandwidth, sum] : sums) {
    capacity += bandwidth.gigabytesPerSecond() * Rational(sum);
  }
  const Rational unit = bound.gigabytesPerSecond() / capacity;
  std::vector<Rational> prices;
  prices.reserve(given.size());
  for (const std::int64_t price : given) {
    prices.push_back(unit * Rational(price));
  }
  return prices;
}

}  // namespace

Result<MeshAxes> readMeshAxes(const std::string& mesh, const std::string& axes) {
  const auto sizes = groups::parseMesh(mesh);
  if (!sizes) {
    return optionError("mesh", sizes.error().message, sizes.error().fix);
  }
  MeshAxes read{*sizes, {}};
  std::istringstream list(axes);
  for (std::string item; std::getline(list, item, ',');) {
    const auto axis = parseInteger(item);
    if (!axis || *axis >= static_cast<std::int64_t>(sizes->size())) {
      return optionError("axis", inQuotes(item) + " is not an axis of the mesh",
                         "count its axes from 0, to " + std::to_string(sizes->size() - 1));
    }
    read.axes.push_back(static_cast<int>(*axis));
  }
  for (std::size_t axis = 0; axes.empty() && axis < sizes->size(); ++axis) {
    if ((*sizes)[axis] > 1) {
      read.axes.push_back(static_cast<int>(axis));
    }
  }
  return read;
}

const std::vector<Option>& groupOptions() {
  static const std::vector<Option> kOptions{
      {.name = "groups",
       .title = "File of groups",
       .help = "File of groups that run at the same time: [{\"ranks\": [0, 1], \"collective\": \"allgather\", "
               "\"weight\": 1}]; - for standard input",
       .example = "groups.json",
       .isFile = true,
       .excludes = {"mesh", "ranks"}},
      {.name = "ranks",
       .title = "GPUs of each group",
       .help = "Groups that run at the same time: a list of ids, ranks or ranges of ranks for each, with semicolons "
               "between them",
       .placeholder = "LISTS",
       .example = "0-7;8-15",
       .excludes = {"mesh"}},
      {.name = "mesh",
       .title = "Mesh",
       .help = "All groups of a mesh of the GPUs in rank order, the last axis fastest, for example 8x16",
       .example = "8x16",
       .check = [](const std::string& value) -> Outcome {
         const auto sizes = groups::parseMesh(value);
         return sizes ? Outcome(Done{}) : Outcome(sizes.error());
       }},
      {.name = "axis",
       .title = "Axes",
       .help = "Axis of the mesh, counted from 0, or several that run at the same time, as in 0,1; default: all",
       .example = "all, or 0,1"},
      {.name = "relay",
       .title = "GPUs relay for other groups",
       .help = "GPUs pass on data of groups that they are not in",
       .kind = OptionKind::flag}};
  return kOptions;
}

Result<ConcurrentDemand> readConcurrent(const fabric::Description& description, const fabric::Fabric& fabric,
                                        const ConcurrentText& text) {
  if (!text.members.empty()) {
    return memberDemand(description, fabric, text);
  }
  Result<ConcurrentDemand> demand = Error{};
  if (!text.ranks.empty()) {
    demand = listDemand(description, fabric, text);
  } else if (text.file.empty()) {
    demand = meshDemand(fabric, text);
  } else {
    const auto content = readText(text.file, text.standardInput);
    if (!content) {
      return content.error();
    }
    demand = io::readGroups(*content, inputName(text.file), fabric);
  }
  if (demand && text.relay) {
    demand->relays.assign(fabric.gpus().size(), true);
  }
  return demand;
}

Result<ConcurrentText> readGroupOptions(const Values& given) {
  const auto values = OptionValues::read(groupOptions(), given);
  if (!values) {
    return values.error();
  }
  ConcurrentText text{.file = values->text("groups"),
                      .ranks = values->text("ranks"),
                      .mesh = values->text("mesh"),
                      .axes = values->text("axis"),
                      .relay = values->flag("relay")};
  if (text.file.empty() && text.mesh.empty() && text.ranks.empty()) {
    return optionError(given.empty() ? "mesh" : given.begin()->first, "there are no groups",
                       "add --groups, --ranks or --mesh, for example --mesh 8x16");
  }
  if (!text.axes.empty() && text.mesh.empty()) {
    return optionError("axis", "there is no mesh", "add --mesh, for example --mesh 8x16");
  }
  return text;
}

std::string eachWords(const ConcurrentDemand& demand) {
  const bool isEven = std::all_of(demand.groups.begin(), demand.groups.end(),
                                  [](const schedule::ConcurrentGroup& group) { return group.weight == Rational(1); });
  return isEven ? " each" : " times its weight each";
}

std::vector<AlikeGroups> alikeGroups(const ConcurrentDemand& demand, const groups::Optimum& optimum) {
  std::vector<AlikeGroups> alike;
  std::map<std::tuple<Collective, std::size_t, Rational, int>, std::size_t> placeOf;
  for (std::size_t i = 0; i < demand.groups.size(); ++i) {
    const schedule::ConcurrentGroup& group = demand.groups[i];
    const auto [found, isNew] =
        placeOf.try_emplace({group.collective, group.ranks.size(), group.weight, optimum.classes[i]}, alike.size());
    if (isNew) {
      alike.emplace_back();
    }
    alike[found->second].groups.push_back(i);
    alike[found->second].demand += optimum.demands[i];
  }
  return alike;
}

Result<groups::Optimum> provedConcurrent(const fabric::Fabric& fabric, const ConcurrentDemand& demand,
                                         const Progress& progress) {
  auto optimum = groups::optimum(fabric, demand, {}, progress);
  if (!optimum) {
    return optimum;
  }
  progress.report("verifying", 0);
  const auto bound = verify::provenConcurrentBound(fabric, demand, optimum->proof, progress);
  if (!bound) {
    return bound.error();
  }
  const auto rate = verify::provenConcurrentRate(fabric, demand, optimum->proof, progress);
  if (!rate) {
    return rate.error();
  }
  if (*bound != optimum->upper || *rate != optimum->lower) {
    return Error{ErrorCode::verification, "the rate of the groups is not what its proof shows",
                 "report this with the fabric and the groups"};
  }
  return optimum;
}

std::vector<Rational> linkPrices(const fabric::Fabric& fabric, const groups::Optimum& optimum) {
  return scaledPrices(fabric, optimum.upper, optimum.proof.prices);
}

std::vector<CutLinks> sharedCut(const fabric::Fabric& fabric, const groups::Optimum& optimum) {
  return sharedCut(fabric, optimum.upper, optimum.proof.prices);
}

std::vector<CutLinks> sharedCut(const fabric::Fabric& fabric, const Bandwidth& bound,
                                const std::vector<std::int64_t>& given) {
  std::map<std::tuple<fabric::NodeKind, fabric::NodeKind, Bandwidth, Rational>, CutLinks> alike;
  const std::vector<Rational> prices = scaledPrices(fabric, bound, given);
  for (std::size_t arc = 0; arc < prices.size(); ++arc) {
    if (prices[arc].isPositive()) {
      const fabric::Arc& at = fabric.arcs()[arc];
      CutLinks& links =
          alike
              .try_emplace({fabric.nodes()[at.tail].kind, fabric.nodes()[at.head].kind, at.bandwidth, prices[arc]},
                           CutLinks{{}, at.bandwidth, prices[arc]})
              .first->second;
      links.arcs.push_back(static_cast<int>(arc));
    }
  }
  std::vector<CutLinks> cut;
  for (auto& [key, links] : alike) {
    cut.push_back(std::move(links));
  }
  std::stable_sort(cut.begin(), cut.end(), [](const CutLinks& a, const CutLinks& b) { return a.part() > b.part(); });
  return cut;
}

std::string cutWords(const fabric::Fabric& fabric, const std::vector<CutLinks>& cut) {
  if (cut.empty()) {
    return "";
  }
  const CutLinks& links = cut.front();
  const fabric::Arc& arc = fabric.arcs()[links.arcs.front()];
  return counted(links.arcs.size(), "link") + " of " + gigabytes(links.bandwidth) + " such as " +
         oneLine(fabric.nodes()[arc.tail].id) + " -> " + oneLine(fabric.nodes()[arc.head].id);
}

}  // namespace coppice::workflow
