// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "base/comma_list.hpp"
#include "base/one_line.hpp"
#include "command.hpp"
#include "facts_text.hpp"
#include "input.hpp"
#include "order/pattern.hpp"
#include "text.hpp"
#include "workflow/rank_order.hpp"

namespace coppice::cli {
namespace {

constexpr std::uint64_t kMillion = 1'000'000;

struct RankOrderOptions {
  FabricOptions fabric;
  workflow::RankOrderText text;
  std::uint64_t work = 200;
  std::string output;
};

std::string linkName(const fabric::Fabric& fabric, int arc) {
  const fabric::Arc& at = fabric.arcs()[arc];
  return oneLine(fabric.nodes()[at.tail].id) + " -> " + oneLine(fabric.nodes()[at.head].id);
}

Json jsonOf(const fabric::Fabric& fabric, const order::Worth& worth) {
  const fabric::Arc& arc = fabric.arcs()[worth.busiestArc];
  return {{"algbw", toFraction(worth.algbw())},
          {"algbw_GBps", toGBps(worth.algbw())},
          {"time_per_byte", toFraction(worth.time)},
          {"busiest_link",
           {{"from", fabric.nodes()[arc.tail].id},
            {"to", fabric.nodes()[arc.head].id},
            {"bandwidth", toFraction(arc.bandwidth)},
            {"time_per_byte", toFraction(worth.busiestTime)}}}};
}

std::string textOf(const fabric::Fabric& fabric, const order::Worth& worth) {
  return gigabytes(worth.algbw()) + ", busiest link " + linkName(fabric, worth.busiestArc) +
         (worth.busiestTime == worth.time
              ? std::string()
              : " (" + percent(worth.busiestTime / worth.time) + " of the time of all steps)");
}

Json boundJson(const workflow::RankOrder& made) {
  if (!made.answer.bound) {
    return {};
  }
  const order::Bound& bound = *made.answer.bound;
  return {{"algbw", toFraction(bound.time.inverse())},
          {"algbw_GBps", toGBps(bound.time.inverse())},
          {"reason", order::toString(bound.reason)},
          {"nodes", idsOf(made.fabric, bound.nodes)},
          {"direction", bound.isInto ? "into" : "out"},
          {"capacity", bound.capacity.isZero() ? Json() : Json(toFraction(bound.capacity))}};
}

void addOrder(const workflow::RankOrder& made, Report& report) {
  const auto places = workflow::placesOf(made);
  report.json["hosts"] = Json::array();
  std::string hosts;
  constexpr std::size_t kShown = 16;
  std::size_t shown = 0;
  for (const int host : workflow::hostOrder(made)) {
    report.json["hosts"].push_back({{"name", made.hosts[host].name}, {"devices", workflow::devicesOf(made, host)}});
    if (++shown <= kShown) {
      hosts += (hosts.empty() ? "" : " ") + oneLine(made.hosts[host].name);
    }
  }
  report.json["order"] = Json::array();
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    const fabric::Rank gpu = made.answer.order[rank];
    report.json["order"].push_back({{"rank", rank},
                                    {"gpu", made.fabric.nodes()[made.fabric.gpus()[gpu]].id},
                                    {"fabric_rank", gpu},
                                    {"host", made.hosts[places[rank].host].name},
                                    {"device", places[rank].device}});
  }
  report.text += factLine("hosts", hosts + (shown > kShown ? " …" : ""));
}

Result<Report> run(const RankOrderOptions& options, const Progress& progress) {
  const auto loaded = loadFabric(options.fabric, progress);
  if (!loaded) {
    return loaded.error();
  }
  workflow::RankOrderText text = options.text;
  text.request.work = options.work * kMillion;
  const auto present = text.present.empty() ? Result<std::string>(std::string()) : readText(text.present);
  if (!present) {
    return present.error();
  }
  const auto made = workflow::rankOrder(loaded->fabric, text, *present, progress);
  if (!made) {
    return made.error();
  }
  const order::Answer& answer = made->answer;
  Report report;
  report.json = {{"ok", true},
                 {"fabric", made->fabric.name()},
                 {"gpus", made->fabric.gpuCount()},
                 {"algorithm", made->algorithm},
                 {"collective", toString(made->collective)},
                 {"mesh", text.mesh.empty() ? Json() : Json(text.mesh)},
                 {"given", jsonOf(made->fabric, answer.given)},
                 {"best", jsonOf(made->fabric, answer.best)},
                 {"gain", toFraction(made->gain())},
                 {"gain_GBps", toGBps(made->gain())},
                 {"bound", boundJson(*made)},
                 {"proved", answer.isProved()},
                 {"tried_all", answer.hasTriedAll},
                 {"verified", true},
                 {"work", answer.work}};
  report.text = made->algorithm + " " + std::string(toString(made->collective)) +
                (text.mesh.empty() ? "" : " in the groups of a mesh " + text.mesh) + " on " +
                named(made->fabric.name()) + ", " + counted(made->fabric.gpuCount(), "GPU") + " of " +
                counted(made->hosts.size(), "host") + "\n" + factLine("as it is", textOf(made->fabric, answer.given)) +
                factLine("best order", textOf(made->fabric, answer.best)) +
                factLine("gain", workflow::gainText(*made)) + factLine("bound", workflow::boundText(*made));
  addOrder(*made, report);
  report.text += lines(loaded->findings);
  if (!options.output.empty()) {
    if (const Outcome written = workflow::writeRankOrder(options.output, *made); !written) {
      return written.error();
    }
    report.json["output"] = options.output;
    report.text += factLine("folder", oneLine(options.output) + ": begin with README.md");
  }
  return report;
}

}  // namespace

void addRankOrder(CLI::App& app, Invocation& invocation) {
  CLI::App& sub = addSubcommand(
      app, invocation, "rank-order", "Find which host and GPU should get which rank, for NCCL and MPI as they are",
      "  coppice-cli rank-order cluster.fabric.json -o order\n"
      "  coppice-cli rank-order cluster.fabric.json --algorithm ring --present hostfile -o order\n"
      "  coppice-cli rank-order preset:torus,dims=4x4 --algorithm recursive-halving\n"
      "  coppice-cli rank-order preset:dgx-h100,boxes=4 --mesh 4x8 --axis 1 -c allgather --json");
  auto options = std::make_shared<RankOrderOptions>();
  addFabricOptions(sub, options->fabric);
  const std::string names = commaList(order::algorithms(), &order::Algorithm::name);
  sub.add_option("--algorithm", options->text.algorithm, names)->capture_default_str();
  sub.add_option("-c,--collective", options->text.collective, "Default: what the algorithm is mostly used for");
  sub.add_option("--mesh", options->text.mesh,
                 "The algorithm runs in the groups of a mesh of the ranks, the last axis fastest, for example 8x16");
  sub.add_option("--axis", options->text.axes,
                 "Axis of the mesh, counted from 0, or several that run at the same time, as in 0,1; default: all");
  sub.add_option("--present", options->text.present,
                 "Hostfile with the order as it is, one host per line; default: the ranks of the fabric");
  sub.add_flag("--free", options->text.request.isFree, "Ranks of a host need not be consecutive");
  sub.add_option("--work", options->work, "Limit of the search, in millions of links looked at")
      ->capture_default_str()
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000}));
  sub.add_option("--seed", options->text.request.seed, "Of the changes that lead on from a local optimum")
      ->capture_default_str();
  sub.add_option("-o,--output", options->output,
                 "Write hostfile, rankfile, the order for Slurm and torchrun, and README.md into this new folder");
  sub.callback([options, &invocation] {
    invocation.action = [options](const Progress& progress) { return run(*options, progress); };
  });
}

}  // namespace coppice::cli
