// SPDX-License-Identifier: Apache-2.0
#include "alltoall/alltoall.hpp"

#include <algorithm>
#include <memory>
#include <string>

#include "base/text.hpp"
#include "command.hpp"
#include "input.hpp"
#include "judged_text.hpp"
#include "text.hpp"
#include "verify/step_verifier.hpp"
#include "workflow/alltoall_method.hpp"
#include "workflow/clock.hpp"
#include "workflow/make_schedule.hpp"

namespace coppice::cli {
namespace {

struct AlltoallOptions {
  FabricOptions fabric;
  workflow::Values values;
  std::string output;
};

/// The links with a length: what holds the all-to-all back where the bound is reached.
void describeLinks(const fabric::Fabric& fabric, const alltoall::Optimum& optimum, Report& report) {
  constexpr std::size_t kMaxListed = 4096;
  constexpr std::size_t kMaxShown = 3;
  Json list = Json::array();
  std::string shown;
  std::size_t count = 0;
  for (std::size_t arc = 0; arc < optimum.lengths.size(); ++arc) {
    if (optimum.lengths[arc] == 0) {
      continue;
    }
    const fabric::Arc& at = fabric.arcs()[arc];
    const std::string& from = fabric.nodes()[at.tail].id;
    const std::string& to = fabric.nodes()[at.head].id;
    if (count < kMaxListed) {
      list.push_back({{"src", from}, {"dst", to}, {"length", optimum.lengths[arc]}});
    }
    if (count < kMaxShown) {
      shown += (count > 0 ? ", " : "") + inQuotes(from) + " -> " + inQuotes(to);
    }
    ++count;
  }
  report.json["lengths"] = std::move(list);
  report.json["links_with_length"] = count;
  report.text += "  limited by  " + counted(static_cast<std::int64_t>(count), "link direction") + ": " + shown +
                 (count > kMaxShown ? ", ..." : "") + "\n";
}

void describe(const fabric::Fabric& fabric, const alltoall::Optimum& optimum, Report& report) {
  const Bandwidth algbw = optimum.lower * Rational(optimum.gpuCount);
  const Bandwidth bus = busbw(Collective::alltoall, algbw, optimum.gpuCount);
  report.json["fabric"] = fabric.name();
  report.json["gpus"] = optimum.gpuCount;
  report.json["lower"] = toFraction(optimum.lower);
  report.json["upper"] = toFraction(optimum.upper);
  report.json["exact"] = optimum.isExact();
  report.json["lower_GBps"] = toGBps(optimum.lower);
  report.json["upper_GBps"] = toGBps(optimum.upper);
  report.json["gap"] = toGBps(optimum.upper) / toGBps(optimum.lower) - 1;
  report.json["algbw"] = toFraction(algbw);
  report.json["algbw_GBps"] = toGBps(algbw);
  report.json["busbw"] = toFraction(bus);
  report.json["busbw_GBps"] = toGBps(bus);
  report.json["symmetries"] = optimum.routing.symmetries.size();
  report.json["link_classes"] = optimum.arcOrbits;
  report.json["trees"] = optimum.routing.trees.size();
  report.json["verified"] = true;
  report.text += "  alltoall    on " + named(fabric.name()) + ", " + counted(optimum.gpuCount, "GPU") + "\n";
  report.text += "  each pair   " + gigabytes(optimum.lower) +
                 (optimum.isExact() ? ", exact\n" : ", at most " + gigabytes(optimum.upper) + "\n");
  report.text += "  throughput  " + gigabytes(algbw) + " (busbw " + gigabytes(bus) + ")\n";
  describeLinks(fabric, optimum, report);
}

/// Verified by playing it; its throughput is that of the routing.
Result<schedule::StepSchedule> verifiedSchedule(const fabric::Fabric& fabric, const alltoall::Optimum& optimum,
                                                const Progress& progress) {
  auto made = alltoall::scheduleOf(fabric, optimum.routing, alltoall::kMaxTransfers, progress);
  if (!made) {
    return made;
  }
  const auto verdict = verify::verifySteps(fabric, *made, progress);
  if (!verdict) {
    return verdict.error();
  }
  if (const Finding* fault = workflow::firstFault(verdict->findings); !verdict->ok) {
    return Error{ErrorCode::verification, "the schedule did not pass the verifier: " + fault->text, {}, fault->where};
  }
  if (made->algbw != optimum.lower * Rational(optimum.gpuCount)) {
    return Error{ErrorCode::internal, "the schedule is not as fast as its routing"};
  }
  return made;
}

Result<Report> run(const AlltoallOptions& options, bool json, const Progress& progress) {
  if (!options.output.empty()) {
    if (const Outcome kept = keepInput(options.fabric.source, options.output); !kept) {
      return kept.error();
    }
  }
  const auto loaded = loadFabric(options.fabric, progress);
  if (!loaded) {
    return loaded.error();
  }
  const auto values = workflow::OptionValues::read(workflow::alltoallOptions(), options.values);
  if (!values) {
    return values.error();
  }
  const auto request = workflow::alltoallRequest(*values);
  if (!request) {
    return request.error();
  }
  workflow::Clock clock;
  const auto optimum = workflow::verifiedAlltoall(loaded->fabric, *request, progress);
  if (!optimum) {
    return optimum.error();
  }
  const double seconds = clock.lap();
  Report report;
  describe(loaded->fabric, *optimum, report);
  report.json["import_findings"] = toJson(loaded->findings);
  report.json["seconds"] = seconds;
  report.text += lines(loaded->findings) + "  time        " + duration(seconds) + "\n";
  if (!options.output.empty()) {
    const auto made = verifiedSchedule(loaded->fabric, *optimum, progress);
    if (!made) {
      return made.error();
    }
    if (const Outcome written = deliverSchedule(options.output, *made, *loaded, json, progress, report); !written) {
      return written.error();
    }
  }
  return report;
}

}  // namespace

void addAlltoall(CLI::App& app, Invocation& invocation) {
  CLI::App& sub = addSubcommand(app, invocation, "alltoall",
                                "Find the largest rate at which all GPUs can send to all others at once, with routes",
                                "  coppice-cli alltoall examples/2x-dgx-a100.fabric.json\n"
                                "  coppice-cli alltoall preset:torus,dims=4x6 --json\n"
                                "  coppice-cli alltoall preset:mi250,boxes=2 -o alltoall.schedule.json");
  auto options = std::make_shared<AlltoallOptions>();
  addFabricOptions(sub, options->fabric);
  addOptions(sub, workflow::alltoallOptions(), options->values);
  sub.add_option("-o,--output", options->output, "Write the routes as a schedule to this file; - for standard output");
  sub.callback([options, &invocation] {
    invocation.action = [options, &invocation](const Progress& progress) {
      return run(*options, invocation.json, progress);
    };
  });
}

}  // namespace coppice::cli
