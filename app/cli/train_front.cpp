// SPDX-License-Identifier: Apache-2.0
#include "train_front.hpp"

#include <algorithm>

#include "workflow/training_graph.hpp"

namespace coppice::cli {
namespace {

using training::Problem;
using training::State;
using workflow::stateText;

Json stateJson(const Problem& problem, const State& state) {
  Json json = Json::array();
  for (const training::Dim dim : state) {
    json.push_back(dim >= 0 ? problem.dims[dim].name : dim == training::kPartial ? "P" : "R");
  }
  return json;
}

/// Of the plan with the shortest step, which is max(compute, communication).
std::size_t fastest(const training::Front& front) {
  std::size_t best = 0;
  const auto step = [&](std::size_t i) {
    return std::max(front.plans[i].cost.compute, front.plans[i].cost.communication);
  };
  for (std::size_t i = 1; i < front.plans.size(); ++i) {
    best = step(i) < step(best) ? i : best;
  }
  return best;
}

}  // namespace

std::string cell(std::string text, std::size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

std::string parametersText(const training::Model& model) {
  const Rational billion(1'000'000'000);
  return toDecimal(model.parameters() / billion, 2) + " billion parameters" +
         (model.experts > 0 ? " (" + toDecimal(model.activeParameters() / billion, 2) + " for a token)" : "");
}

std::string frontText(const Problem& problem, const training::Front& front) {
  constexpr std::size_t kMaxRows = 40;
  const std::size_t best = fastest(front);
  std::string text = counted(front.plans.size(), "plan") +
                     " that no other is as good as in compute, communication and memory" +
                     (front.isPartial ? ", of those that were found: the search was out of work, others may be better\n"
                      : front.isThinned ? " (within 0.1 %)\n"
                                        : "\n") +
                     "     compute µs       communication µs  memory MB\n";
  for (std::size_t i = 0; i < std::min(front.plans.size(), kMaxRows); ++i) {
    const training::Cost& cost = front.plans[i].cost;
    text += std::string(i == best ? "  *  " : "     ") + cell(toDecimal(cost.compute / Rational(1000), 3), 17) +
            cell(toDecimal(cost.communication / Rational(1000), 3), 18) +
            toDecimal(cost.memory / Rational(1'000'000), 3) + "\n";
  }
  if (front.plans.size() > kMaxRows) {
    text += "     and " + std::to_string(front.plans.size() - kMaxRows) + " more; --json lists all\n";
  }
  const training::Plan& plan = front.plans[best];
  text += "  * the shortest step, if computation and communication overlap: " +
          toDecimal(std::max(plan.cost.compute, plan.cost.communication) / Rational(1000), 3) + " µs, limited by " +
          (plan.cost.compute >= plan.cost.communication ? "computation" : "communication") + "\n";
  if (front.leastStep) {
    text += "  no plan has a shorter step than " + toDecimal(*front.leastStep / Rational(1000), 3) + " µs\n";
  }
  std::size_t width = 12;
  for (const training::Node& node : problem.nodes) {
    width = std::max(width, node.name.size() + 1);
  }
  for (std::size_t i = 0; i < plan.strategies.size(); ++i) {
    const training::Strategy& strategy = plan.strategies[i];
    const training::Node& node = problem.nodes[i];
    const std::string conversions = workflow::conversionText(problem, plan, static_cast<int>(i));
    const std::string line = "     " + cell(node.name, width) + cell(stateText(problem, strategy.output), 12) +
                             (conversions.empty() ? "" : " " + conversions.substr(0, conversions.size() - 1));
    text += line + (strategy.isDropped ? " computed again" : "") + "\n";
  }
  return text;
}

void addFront(const Problem& problem, const training::Front& front, bool hasStates, Json& json) {
  json["front"] = Json::array();
  for (const training::Plan& plan : front.plans) {
    Json each = {{"compute", plan.cost.compute.toString()},
                 {"communication", plan.cost.communication.toString()},
                 {"memory", plan.cost.memory.toString()}};
    if (hasStates) {
      each["nodes"] = Json::object();
      for (std::size_t i = 0; i < plan.strategies.size(); ++i) {
        Json node = {{"state", stateJson(problem, plan.strategies[i].output)}, {"inputs", Json::array()}};
        for (const State& state : plan.strategies[i].inputs) {
          node["inputs"].push_back(stateJson(problem, state));
        }
        if (plan.strategies[i].isDropped) {
          node["again"] = true;
        }
        each["nodes"][problem.nodes[i].name] = std::move(node);
      }
    }
    json["front"].push_back(std::move(each));
  }
  json["exact"] = front.isExact();
  if (front.leastStep) {
    json["step_at_least"] = front.leastStep->toString();
  }
}

}  // namespace coppice::cli
