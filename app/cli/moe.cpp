// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <memory>

#include "alltoall/demand_table.hpp"
#include "base/counted.hpp"
#include "base/formatted.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "facts_text.hpp"
#include "input.hpp"
#include "workflow/clock.hpp"
#include "workflow/exchange_request.hpp"
#include "workflow/facts.hpp"

namespace coppice::cli {
namespace {

struct MoeOptions {
  FabricOptions fabric;
  workflow::Values values;
  std::string output;
  std::string demandOutput;
};

std::string megabytes(const Rational& bytes) {
  return toDecimal(bytes / Rational(1'000'000)) + " MB";
}

/// In MB, or in bytes where these are few.
std::string amountOf(const Rational& bytes) {
  return bytes < Rational(10'000) ? toDecimal(bytes) + " bytes" : megabytes(bytes);
}

Json jsonOf(const fabric::Fabric& fabric, const workflow::ExchangeTime& time) {
  Json json = {{"nanoseconds", time.nanoseconds.toString()},
               {"least_nanoseconds", time.leastNanoseconds.toString()},
               {"exact", time.isExact()},
               {"microseconds", time.nanoseconds.toDouble() / 1e3},
               {"network_GBps", time.networkGBps},
               {"box_GBps", time.boxGBps},
               {"worst_rank",
                {{"rank", time.worst},
                 {"id", fabric.nodes()[fabric.gpus()[time.worst]].id},
                 {"nanoseconds", time.worstTraffic().nanoseconds.toString()},
                 {"sent_bytes", time.worstTraffic().sent.toString()},
                 {"received_bytes", time.worstTraffic().received.toString()}}}};
  if (const auto gain = workflow::relayGain(time)) {
    json["direct_nanoseconds"] = time.directNanoseconds->toString();
    json["relay_gain"] = *gain;
  }
  return json;
}

std::string textOf(const fabric::Fabric& fabric, const std::string& label, const workflow::ExchangeTime& time) {
  // In hundredths of a per cent, rounded up.
  const double gap = std::ceil(1e4 * (time.nanoseconds.toDouble() / time.leastNanoseconds.toDouble() - 1)) / 100;
  std::string text =
      factLine(label, workflow::exchangeDuration(time.nanoseconds) +
                          (time.isExact() ? ", exact: no routes are faster"
                                          : "; no routes are more than " + withPlaces(gap, 2) + " % faster"));
  text += factLine("", "each GPU on average: " + withPlaces(time.networkGBps, 2) + " GB/s out of its box, " +
                           withPlaces(time.boxGBps, 2) + " GB/s received from its box");
  if (const auto gain = workflow::relayGain(time)) {
    text += factLine("", *gain > 1 + 1e-9 ? "GPUs pass data on; without that " +
                                                workflow::exchangeDuration(*time.directNanoseconds) + ", " +
                                                withPlaces(*gain, 2) + " times as long"
                                          : "passing data on through other GPUs gains nothing");
  }
  const workflow::RankTraffic& worst = time.worstTraffic();
  const double share = worst.nanoseconds.toDouble() / time.nanoseconds.toDouble();
  text +=
      factLine("", (time.areRanksAlike() ? "all GPUs need equally long; the first"
                                         : "the busiest GPU is " + fabric.nodes()[fabric.gpus()[time.worst]].id + ":") +
                       " sends " + amountOf(worst.sent) + ", receives " + amountOf(worst.received) +
                       "; over its own links alone that takes " + withPlaces(100 * share, 2) + " % of the time");
  text += factLine("", "limited by " + workflow::cutWords(fabric, workflow::limitingLinks(fabric, time)));
  return text;
}

Result<Report> run(const MoeOptions& options, bool json, const Progress& progress) {
  const auto loaded = loadFabric(options.fabric, progress);
  if (!loaded) {
    return loaded.error();
  }
  const fabric::Fabric& fabric = loaded->fabric;
  workflow::Clock clock;
  const auto request = workflow::readExchange(fabric, options.values, readStandardInput);
  if (!request) {
    return request.error();
  }
  if (request->table && !options.output.empty()) {
    return workflow::optionError("output", "a table of bytes has no experts to place", "leave it out");
  }
  const auto answer = workflow::answerExchange(fabric, *request, progress);
  if (!answer) {
    return answer.error();
  }
  Report report;
  report.json = {{"ok", true}, {"fabric", fabric.name()}, {"gpus", fabric.gpuCount()}};
  const std::string where = "on " + workflow::named(fabric.name()) + ", " + counted(fabric.gpuCount(), "GPU") + "\n";
  if (request->table) {
    report.text = "bytes       of each pair " + where;
  } else {
    report.json["experts"] = request->question.experts;
    report.text = "experts     " + std::to_string(request->question.experts) + " " + where;
  }
  if (answer->before) {
    report.json["dispatch_as_placed"] = jsonOf(fabric, answer->before->time);
    report.json["placement"] = answer->placement;
    const Rational& before = answer->before->time.nanoseconds;
    report.text +=
        factLine("placement",
                 answer->placement == request->question.placement
                     ? "unchanged: no better one was found"
                     : "experts swapped: dispatch took " + workflow::exchangeDuration(before) + " before, " +
                           withPlaces(before.toDouble() / answer->exchanges.front().time.nanoseconds.toDouble(), 2) +
                           " times as long");
  }
  for (const workflow::NamedExchange& exchange : answer->exchanges) {
    report.json[exchange.name] = jsonOf(fabric, exchange.time);
    report.text += textOf(fabric, exchange.name, exchange.time);
  }
  report.json["seconds"] = clock.lap();
  if (!options.output.empty()) {
    if (Outcome written =
            deliver(options.output, workflow::placementText(fabric, answer->placement), "  placement   ", json, report);
        !written) {
      return written.error();
    }
  }
  if (!options.demandOutput.empty()) {
    if (Outcome written =
            deliver(options.demandOutput, alltoall::writeDemandTable(fabric, answer->exchanges.front().time.table),
                    "  demand      ", json, report);
        !written) {
      return written.error();
    }
  }
  return report;
}

}  // namespace

void addMoe(CLI::App& app, Invocation& invocation) {
  CLI::App& sub = addSubcommand(
      app, invocation, "moe",
      "Find how fast an uneven all-to-all can be: tokens of a mixture-of-experts layer to their experts and back, or "
      "given bytes of each pair",
      "  coppice-cli moe preset:dgx-h100,boxes=4 --experts 256 --top-k 8 --tokens 4096\n"
      "  coppice-cli moe preset:dgx-h100,boxes=8 --experts 256 --top-k 8 --tokens 4096 --max-boxes 4 --once-per-box\n"
      "  coppice-cli moe cluster.fabric.json --counts tokens.csv --improve-placement -o placement.txt\n"
      "  coppice-cli moe cluster.fabric.json --counts tokens.csv --demand-output dispatch.csv\n"
      "  coppice-cli moe cluster.fabric.json --demand bytes.csv");
  auto options = std::make_shared<MoeOptions>();
  addFabricOptions(sub, options->fabric);
  addOptions(sub, workflow::exchangeOptions(), options->values);
  sub.add_option("--demand-output", options->demandOutput,
                 "Write the bytes of the dispatch from each GPU to each as CSV, for alltoall --demand");
  sub.add_option("-o,--output", options->output, "Write the placement to this file; - for standard output");
  sub.callback([options, &invocation] {
    invocation.action = [options, &invocation](const Progress& progress) {
      return run(*options, invocation.json, progress);
    };
  });
}

}  // namespace coppice::cli
