// SPDX-License-Identifier: Apache-2.0
#include "bench/plan_census.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "executor/support.hpp"
#include "mscclpp/plan_backend.hpp"
#include "mscclpp/plan_json.hpp"
#include "mscclpp/plan_shell.hpp"
#include "presets/presets.hpp"
#include "workflow/guarded.hpp"
#include "workflow/make_schedule.hpp"
#include "workflow/method.hpp"
#include "workflow/target.hpp"

namespace coppice::test {
namespace {

using program::Protocol;

std::string plain(std::string text) {
  std::replace(text.begin(), text.end(), ',', ';');
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

/// Empty, or what is wrong.
std::string runOnThreads(const std::string& text, int root) {
  auto plan = std::make_shared<const mscclpp::ExecutionPlan>(mscclpp::readPlan(text).value());
  executor::Job job;
  (plan->inPlace ? job.inPlace : job.outOfPlace) = executor::shellOf(*plan, root);
  executor::BenchOptions options = executor::test::checking(executor::sizeUnit(*plan) * 2);
  options.types = {executor::DataType::float32};
  options.iterations = 1;
  const auto backend = executor::makePlanBackend(plan, 2);
  const executor::test::Ran ran = executor::test::runJob(*backend, job, options);
  const auto results = ran.all<program::ResultRecord>();
  return !ran.fault().empty()                                         ? ran.fault()
         : results.empty() || results.front().wrong.value_or(-1) != 0 ? "the data was not checked"
                                                                      : "";
}

workflow::Values valuesOf(const workflow::Method& method, Collective collective, bool forPrograms, int seconds) {
  workflow::Values values;
  for (const workflow::Option& option : method.options) {
    if (option.name == method.timeOption) {
      values[option.name] = std::to_string(seconds);
    } else if (forPrograms && option.name == "plain-switches" && option.appliesTo(collective)) {
      values[option.name] = "true";
    }
  }
  return values;
}

bool hasCapableSwitch(const fabric::Fabric& fabric) {
  return std::any_of(fabric.nodes().begin(), fabric.nodes().end(),
                     [](const auto& node) { return node.multicast && node.aggregation; });
}

class Census {
public:
  Census(const std::string& title, const fabric::Fabric& fabric, const CensusOptions& options,
         const std::function<void(const CensusRow&)>& onRow)
      : m_fabric(fabric), m_options(options), m_onRow(onRow) {
    m_row.fabric = title;
    m_row.gpus = fabric.gpuCount();
  }

  void take(const workflow::Method& method, Collective collective, const workflow::Target& target) {
    m_row.method = method.id;
    m_row.collective = std::string(toString(collective));
    m_row.target = std::string(target.id);
    m_row.variant.clear();
    const bool forPrograms = target.id == "mscclpp";
    workflow::Demand demand{.collective = collective};
    if (isRooted(collective)) {
      demand.root = fabric::Rank(m_fabric.gpuCount() / 3);
    }
    const auto made = workflow::guarded<workflow::Judged>([&] {
      return workflow::makeSchedule(m_fabric, method, demand,
                                    valuesOf(method, collective, forPrograms, m_options.searchSeconds), {});
    });
    if (!made) {
      tell("refused", describe(made.error()));
      return;
    }
    for (const Protocol protocol : target.protocols) {
      for (const bool inPlace : {true, false}) {
        const bool isUsual = inPlace == (protocol == Protocol::simple);
        if (m_fabric.gpuCount() <= m_options.allVariantsUpTo || isUsual || target.protocols.size() == 1) {
          takePlan(made->made.schedule, target, protocol, inPlace);
        }
      }
    }
  }

private:
  void tell(const std::string& outcome, const std::string& reason) {
    m_row.outcome = outcome;
    m_row.reason = plain(reason);
    m_onRow(m_row);
  }

  void takePlan(const schedule::AnySchedule& schedule, const workflow::Target& target, Protocol protocol,
                bool inPlace) {
    if (inPlace && movesShards(schedule::collectiveOf(schedule))) {
      return;  // written out of place whatever is asked for
    }
    m_row.variant = std::string(program::toString(protocol)) + (inPlace ? " in place" : " out of place");
    const auto written = workflow::guarded<workflow::ExportedFile>([&] {
      return target.write(m_fabric, schedule, {.protocol = protocol, .inPlace = inPlace, .name = "census"},
                          "census.plan.json", {});
    });
    if (!written) {
      const ErrorCode code = written.error().code;
      tell(code == ErrorCode::unavailable || code == ErrorCode::badUsage ? "refused"
           : code == ErrorCode::limit                                    ? "no plan"
                                                                         : "wrong",
           describe(written.error()));
      return;
    }
    const std::string fault = runOnThreads(written->text, written->file.root);
    tell(fault.empty() ? "right" : "wrong", fault);
  }

  const fabric::Fabric& m_fabric;
  const CensusOptions& m_options;
  const std::function<void(const CensusRow&)>& m_onRow;
  CensusRow m_row;
};

}  // namespace

void takeCensus(const std::string& title, const fabric::Fabric& fabric, const CensusOptions& options,
                const std::function<void(const CensusRow&)>& onRow) {
  Census census(title, fabric, options, onRow);
  for (const workflow::Target& target : workflow::targets()) {
    if (!target.id.starts_with("mscclpp")) {
      continue;
    }
    for (const workflow::Method& method : workflow::methods()) {
      const auto& wanted = options.methods;
      if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), method.id) == wanted.end()) {
        continue;
      }
      for (const Collective collective : method.collectives) {
        if (target.id == "mscclpp" || (collective == Collective::allreduce && hasCapableSwitch(fabric))) {
          census.take(method, collective, target);
        }
      }
    }
  }
}

std::vector<CensusFabric> censusFabrics(int gpus) {
  std::vector<CensusFabric> all;
  const auto add = [&](const std::string& name, const std::map<std::string, std::string>& arguments) {
    const auto description = presets::make(name, arguments);
    if (!description) {
      return;  // the preset has no such parameter
    }
    auto fabric = fabric::Fabric::build(*description);
    if (!fabric || fabric->gpuCount() > gpus) {
      return;
    }
    std::string title = name;
    for (const auto& [key, value] : arguments) {
      title += " " + key + "=" + value;
    }
    const bool isKnown = std::any_of(all.begin(), all.end(), [&](const CensusFabric& other) {
      return (other.title + " ").starts_with(name + " ") && other.fabric.gpuCount() == fabric->gpuCount();
    });
    if (!isKnown) {
      all.push_back({title, *std::move(fabric)});
    }
  };
  for (const presets::Preset& preset : presets::catalogue()) {
    const std::size_t before = all.size();
    for (const char* key : {"boxes", "racks", "pods"}) {
      for (const char* count : {"1", "2", "4"}) {
        add(preset.name, {{key, count}});
      }
    }
    add(preset.name, {});
    if (all.size() == before) {
      for (const char* count : {"8", "16", "32"}) {
        add(preset.name, {{"gpus", count}});
      }
    }
  }
  return all;
}

}  // namespace coppice::test
