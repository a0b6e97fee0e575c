// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cmath>
#include <memory>

#include "alltoall/demand_table.hpp"
#include "alltoall/experts.hpp"
#include "base/counted.hpp"
#include "base/formatted.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "facts_text.hpp"
#include "input.hpp"
#include "workflow/clock.hpp"
#include "workflow/expert_layer.hpp"
#include "workflow/facts.hpp"

namespace coppice::cli {
namespace {

struct MoeOptions {
  FabricOptions fabric;
  workflow::ExpertQuestion question;
  std::int64_t maxBoxes = 0;
  std::string counts;
  std::string placement;
  std::string output;
  std::string demandOutput;
  std::int64_t seconds = 8;
};

std::string inWords(const Rational& nanoseconds) {
  return workflow::duration(nanoseconds.toDouble() * 1e-9);
}

std::string megabytes(const Rational& bytes) {
  return toDecimal(bytes / Rational(1'000'000)) + " MB";
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
                 {"nanoseconds", time.worstNanoseconds.toString()},
                 {"sent_bytes", time.worstSent.toString()},
                 {"received_bytes", time.worstReceived.toString()}}}};
  if (time.directNanoseconds) {
    json["direct_nanoseconds"] = time.directNanoseconds->toString();
    json["relay_gain"] = time.directNanoseconds->toDouble() / time.nanoseconds.toDouble();
  }
  return json;
}

std::string textOf(const fabric::Fabric& fabric, const std::string& label, const workflow::ExchangeTime& time) {
  // In hundredths of a per cent, rounded up.
  const double gap = std::ceil(1e4 * (time.nanoseconds.toDouble() / time.leastNanoseconds.toDouble() - 1)) / 100;
  std::string text =
      factLine(label, inWords(time.nanoseconds) +
                          (time.isExact() ? ", exact: no routes are faster"
                                          : "; no routes are more than " + withPlaces(gap, 2) + " % faster"));
  text += factLine("", "each GPU on average: " + withPlaces(time.networkGBps, 2) + " GB/s out of its box, " +
                           withPlaces(time.boxGBps, 2) + " GB/s received from its box");
  if (time.directNanoseconds) {
    const double gain = time.directNanoseconds->toDouble() / time.nanoseconds.toDouble();
    text += factLine("", gain > 1 + 1e-9 ? "GPUs pass data on; without that " + inWords(*time.directNanoseconds) +
                                               ", " + withPlaces(gain, 2) + " times as long"
                                         : "passing data on through other GPUs gains nothing");
  }
  const double share = time.worstNanoseconds.toDouble() / time.nanoseconds.toDouble();
  text += factLine("", "the busiest GPU is " + fabric.nodes()[fabric.gpus()[time.worst]].id + ": sends " +
                           megabytes(time.worstSent) + ", receives " + megabytes(time.worstReceived) +
                           "; over its own links alone that takes " + withPlaces(100 * share, 2) + " % of the time");
  return text;
}

Result<Report> run(const MoeOptions& options, bool json, const Progress& progress) {
  const auto loaded = loadFabric(options.fabric, progress);
  if (!loaded) {
    return loaded.error();
  }
  const fabric::Fabric& fabric = loaded->fabric;
  workflow::ExpertQuestion question = options.question;
  if (!options.counts.empty()) {
    const auto text = readText(options.counts);
    if (!text) {
      return text.error();
    }
    auto table = alltoall::readCountTable(fabric, *text, inputName(options.counts));
    if (!table) {
      return table.error();
    }
    if (question.experts != 0 && question.experts != table->columns) {
      return workflow::optionError("experts", "the table of counts has " + counted(table->columns, "expert"),
                                   "leave it out");
    }
    question.experts = table->columns;
    question.counts = std::move(table->counts);
  } else if (question.experts == 0 || question.tokens == 0) {
    return Error{ErrorCode::badUsage, "the tokens are not known",
                 "give --experts, --top-k and --tokens, or --counts FILE"};
  }
  if (options.maxBoxes > 0) {
    question.maxBoxes = static_cast<int>(options.maxBoxes);
  }
  if (options.placement.empty()) {
    auto even = alltoall::evenPlacement(fabric, question.experts);
    if (!even) {
      return even.error();
    }
    question.placement = *std::move(even);
  } else {
    const auto text = readText(options.placement);
    if (!text) {
      return text.error();
    }
    auto read = alltoall::readPlacement(fabric, *text, inputName(options.placement), question.experts);
    if (!read) {
      return read.error();
    }
    question.placement = *std::move(read);
  }
  workflow::Clock clock;
  alltoall::Request limits;
  limits.budget = std::chrono::seconds(options.seconds);
  const auto answer = workflow::expertLayer(fabric, question, limits, progress);
  if (!answer) {
    return answer.error();
  }
  Report report;
  report.json = {{"ok", true},
                 {"fabric", fabric.name()},
                 {"gpus", fabric.gpuCount()},
                 {"experts", question.experts},
                 {"dispatch", jsonOf(fabric, answer->dispatch)},
                 {"combine", jsonOf(fabric, answer->combine)}};
  report.text = "experts     " + std::to_string(question.experts) + " on " + workflow::named(fabric.name()) + ", " +
                counted(fabric.gpuCount(), "GPU") + "\n";
  if (answer->before) {
    report.json["dispatch_as_placed"] = jsonOf(fabric, *answer->before);
    report.json["placement"] = answer->placement;
    report.text +=
        factLine("placement",
                 "experts swapped: dispatch took " + inWords(answer->before->nanoseconds) + " before, " +
                     withPlaces(answer->before->nanoseconds.toDouble() / answer->dispatch.nanoseconds.toDouble(), 2) +
                     " times as long");
  }
  report.text += textOf(fabric, "dispatch", answer->dispatch) + textOf(fabric, "combine", answer->combine);
  report.json["seconds"] = clock.lap();
  if (!options.output.empty()) {
    std::string text;
    for (const fabric::Rank rank : answer->placement) {
      text += fabric.nodes()[fabric.gpus()[rank]].id + "\n";
    }
    if (Outcome written = deliver(options.output, std::move(text), "  placement   ", json, report); !written) {
      return written.error();
    }
  }
  if (!options.demandOutput.empty()) {
    if (Outcome written = deliver(options.demandOutput, alltoall::writeDemandTable(fabric, answer->dispatch.table),
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
      "Find how fast the tokens of a mixture-of-experts layer can be sent to their experts and back",
      "  coppice-cli moe preset:dgx-h100,boxes=4 --experts 256 --top-k 8 --tokens 4096\n"
      "  coppice-cli moe preset:dgx-h100,boxes=8 --experts 256 --top-k 8 --tokens 4096 --max-boxes 4 --once-per-box\n"
      "  coppice-cli moe cluster.fabric.json --counts tokens.csv --improve-placement -o placement.txt\n"
      "  coppice-cli moe cluster.fabric.json --counts tokens.csv --demand-output dispatch.csv");
  auto options = std::make_shared<MoeOptions>();
  addFabricOptions(sub, options->fabric);
  sub.add_option("--experts", options->question.experts, "Number of experts")->check(CLI::Range(1, 1 << 20));
  sub.add_option("--top-k", options->question.topK, "Experts of each token")->check(CLI::Range(1, 1 << 16));
  sub.add_option("--tokens", options->question.tokens, "Tokens of each GPU; each set of experts is as likely")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 32));
  sub.add_option("--max-boxes", options->maxBoxes,
                 "Node-limited routing: the experts of a token are in this many boxes")
      ->check(CLI::Range(1, 1 << 16));
  sub.add_option("--counts", options->counts,
                 "CSV with the tokens that each GPU (row) sends to each expert (column), in place of --tokens");
  sub.add_option("--placement", options->placement,
                 "File with the GPU (id or rank) of each expert; default: as many on each GPU, in order");
  sub.add_option("--token-bytes", options->question.dispatchBytes, "Bytes of a token on its way to an expert")
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 32));
  sub.add_option("--combine-bytes", options->question.combineBytes, "Bytes of a token on its way back")
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 32));
  sub.add_flag("--once-per-box", options->question.oncePerBox,
               "A token enters a box once, at the GPU with the sender's place in its box, and spreads from there");
  sub.add_flag("--improve-placement", options->question.improves, "Swap experts between GPUs while that is faster");
  sub.add_option("--seconds", options->seconds, "Work of the search, as of alltoall")->capture_default_str();
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
