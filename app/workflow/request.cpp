// SPDX-License-Identifier: Apache-2.0
#include "workflow/request.hpp"

#include <chrono>
#include <utility>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "forestcoll/amounts.hpp"

namespace coppice::workflow {
namespace {

/// For each linear program of trees that share the links; most take some milliseconds.
constexpr std::chrono::milliseconds kTreesBudget(2000);

}  // namespace

bool hasAmounts(Collective collective) {
  return collective == Collective::allgather || collective == Collective::reduceScatter || movesShards(collective);
}

Result<Collective> readCollective(const std::string& text) {
  const auto collective = parseCollective(text);
  if (!collective) {
    return optionError("collective", inQuotes(text) + " is not a collective",
                       "use allgather, reduce_scatter, allreduce, broadcast, reduce, gather, scatter or alltoall");
  }
  return *collective;
}

Demand defaultDemand(Collective collective) {
  Demand demand{.collective = collective};
  if (isRooted(collective)) {
    demand.root = 0;
  }
  return demand;
}

Result<Demand> readDemand(const fabric::Fabric& fabric, const DemandText& text) {
  Demand demand;
  const auto collective = readCollective(text.collective);
  if (!collective) {
    return collective.error();
  }
  demand.collective = *collective;
  const std::string word(toString(*collective));
  if (!isRooted(*collective) && !text.root.empty()) {
    return optionError("root", word + " has no root",
                       "leave --root out, or choose broadcast, reduce, gather or scatter");
  }
  if (isRooted(*collective)) {
    if (text.root.empty()) {
      return Error{ErrorCode::badUsage, word + " needs a root", "add --root ID"};
    }
    const auto root = readGpu(fabric, text.root, "root");
    if (!root) {
      return root.error();
    }
    demand.root = *root;
  }
  if (!text.amounts.empty()) {
    if (!hasAmounts(*collective)) {
      return optionError("amounts", word + " has no shares",
                         "leave --amounts out, or choose allgather, reduce_scatter, gather or scatter");
    }
    auto amounts = forestcoll::parseAmounts(fabric, text.amounts);
    if (!amounts) {
      const Error& error = amounts.error();
      return optionError("amounts", error.message, error.fix);
    }
    demand.amounts = *std::move(amounts);
  }
  return demand;
}

Result<fabric::Rank> readGpu(const fabric::Fabric& fabric, const std::string& text, const std::string& option) {
  if (const auto node = fabric.find(text)) {
    const fabric::Node& found = fabric.nodes()[*node];
    if (found.kind == fabric::NodeKind::gpu) {
      return found.rank;
    }
    return optionError(option, inQuotes(text) + " is not a GPU", "name a GPU");
  }
  const auto rank = parseInteger(text);
  if (rank && *rank < fabric.gpuCount()) {
    return static_cast<fabric::Rank>(*rank);
  }
  return optionError(option, "there is no GPU " + inQuotes(text),
                     "name a GPU by its id, or by its rank from 0 to " + std::to_string(fabric.gpuCount() - 1));
}

Result<Rational> parseLoss(const std::string& text) {
  const bool isPercent = text.ends_with('%');
  const auto loss = Rational::parse(isPercent ? text.substr(0, text.size() - 1) : text);
  const Rational limit = isPercent ? Rational(100) : Rational(1);
  if (!loss || !loss->isPositive() || *loss >= limit) {
    return Error{ErrorCode::badUsage, inQuotes(text) + " is not a loss",
                 "give a percentage above 0 and below 100, for example 1%"};
  }
  try {
    return *loss / limit;
  } catch (const OverflowError&) {
    return Error{ErrorCode::badUsage, inQuotes(text) + " has too many digits", "give fewer digits, for example 0.5%"};
  }
}

Option plainSwitchesOption() {
  return {.name = "plain-switches",
          .title = "Switches only forward",
          .help = "Take no switch to copy or sum, whatever the fabric says",
          .kind = OptionKind::flag,
          .collectives = {Collective::allreduce, Collective::allgather, Collective::reduceScatter},
          .group = kSwitches};
}

std::vector<Option> treeLimitOptions() {
  const std::vector<Collective> trees(kForestCollectives.begin(), kForestCollectives.end());
  const std::string otherwise = "The minimum that reaches the bound";
  return {
      {.name = "k",
       .title = "Exactly",
       .help = "Trees per root; default: the minimum that reaches the optimum",
       .kind = OptionKind::integer,
       .min = 1,
       .placeholder = "INT",
       .collectives = trees,
       .group = kTreesPerRoot,
       .otherwise = otherwise},
      {.name = "k-max",
       .title = "The best of 1 to",
       .help = "Choose the best of 1 to this many trees per root",
       .kind = OptionKind::integer,
       .min = 1,
       .placeholder = "INT",
       .excludes = {"k"},
       .collectives = trees,
       .group = kTreesPerRoot,
       .otherwise = otherwise,
       .suggestion = "8"},
      {.name = "within",
       .title = "The minimum that loses at most",
       .help = "Choose the minimum number of trees per root that loses no more than this, for example 1% or 0.01",
       .placeholder = "TEXT",
       .excludes = {"k", "k-max"},
       .collectives = trees,
       .check = [](const std::string& value) -> Outcome {
         const auto loss = parseLoss(value);
         return loss ? Outcome(Done{}) : Outcome(loss.error());
       },
       .group = kTreesPerRoot,
       .otherwise = otherwise,
       .suggestion = "1%"},
      plainSwitchesOption(),
      {.name = "allreduce-time",
       .title = "Work for the bound",
       .help = "allreduce: work for each linear program of trees that share the links, in seconds of one core; it is "
               "counted, so that every machine stops at the same place, and for the trees themselves; default: 5",
       .kind = OptionKind::integer,
       .min = 1,
       .max = 86400,
       .placeholder = "SECONDS",
       .collectives = {Collective::allreduce},
       .group = "Bound of an allreduce",
       .suggestion = "5",
       .unit = "s"}};
}

Outcome readTreeLimits(const OptionValues& values, forestcoll::Request& request) {
  request.fixedK = values.integer("k");
  request.maxK = values.integer("k-max");
  request.plainSwitches = values.flag("plain-switches");
  if (const auto seconds = values.integer("allreduce-time")) {
    request.allreduceBudget = std::chrono::seconds(*seconds);
  }
  if (const std::string within = values.text("within"); !within.empty()) {
    const auto loss = parseLoss(within);
    if (!loss) {
      return optionError("within", loss.error().message, loss.error().fix);
    }
    request.maxLoss = *loss;
  }
  return Done{};
}

Result<forestcoll::Request> readRequest(const fabric::Fabric& fabric, const DemandText& demandText,
                                        const Values& limits) {
  const auto values = OptionValues::read(treeLimitOptions(), limits);
  if (!values) {
    return values.error();
  }
  const auto demand = readDemand(fabric, demandText);
  if (!demand) {
    return demand.error();
  }
  if (!parseForestCollective(toString(demand->collective)) && !movesShards(demand->collective)) {
    return optionError("collective", "the bound of " + std::string(toString(demand->collective)) + " is not known",
                       "use allgather, reduce_scatter, allreduce, broadcast, reduce, gather or scatter");
  }
  forestcoll::Request request = requestOf(*demand);
  const Outcome limited = readTreeLimits(*values, request);
  return limited ? Result<forestcoll::Request>(std::move(request)) : limited.error();
}

forestcoll::Request requestOf(const Demand& demand) {
  forestcoll::Request request;
  request.collective = demand.collective;
  request.root = demand.root;
  request.amounts = demand.amounts;
  request.allreduceBudget = kTreesBudget;
  return request;
}

std::optional<forestcoll::Request> withoutTreeLimit(const forestcoll::Request& request) {
  if (!limitsTrees(request)) {
    return std::nullopt;
  }
  forestcoll::Request free = withoutTreeLimits(request);
  free.allreduceBudget = {};
  return free;
}

}  // namespace coppice::workflow
