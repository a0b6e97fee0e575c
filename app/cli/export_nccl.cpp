// SPDX-License-Identifier: Apache-2.0
#include "export_nccl.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "base/formatted.hpp"
#include "base/one_line.hpp"
#include "input.hpp"
#include "text.hpp"
#include "workflow/nccl_bundle.hpp"

namespace coppice::cli {
namespace {

constexpr std::size_t kMaxRunBytes = std::size_t{1} << 30;

Json worthJson(const fabric::Fabric& fabric, const nccl::Load& load) {
  const fabric::Arc& arc = fabric.arcs()[load.arc];
  return {{"algbw", toFraction(load.algbw)},
          {"algbw_GBps", toGBps(load.algbw)},
          {"limited_by", {{"from", fabric.nodes()[arc.tail].id}, {"to", fabric.nodes()[arc.head].id}}}};
}

Json worthJson(const fabric::Fabric& fabric, const nccl::FoundGraphs& found) {
  return {{"rings", worthJson(fabric, found.allreduce)},
          {"trees", worthJson(fabric, found.trees)},
          {"channels", found.channels.rings.size()}};
}

/// The run that bands are fitted to.
Result<std::optional<workflow::ImportedRun>> readMeasured(const ExportNcclOptions& options) {
  if (options.measured.empty()) {
    return std::optional<workflow::ImportedRun>();
  }
  std::vector<workflow::RunFile> files;
  for (const std::string& name : options.measured) {
    if (const Outcome kept = keepInput(name, options.output); !kept) {
      return kept.error();
    }
    auto text = readText(name, kMaxRunBytes);
    if (!text) {
      return text.error();
    }
    files.push_back({inputName(name), *std::move(text)});
  }
  auto run = workflow::importRun(files);
  return run ? Result<std::optional<workflow::ImportedRun>>(std::optional(*std::move(run)))
             : Result<std::optional<workflow::ImportedRun>>(run.error());
}

void describeBands(const workflow::NcclBands& bands, Report& report) {
  report.json["bands"] = workflow::bandsJson(bands.bands);
  report.json["fitted_to"] = bands.points;
  report.text +=
      formatted("  %-14s  %14s  %-8s  %-8s  %8s\n", "bands", "from (B)", "algorithm", "protocol", "channels");
  for (const nccl::TuningBand& band : bands.bands) {
    report.text +=
        formatted("  %-14s  %14lld  %-8s  %-8s  %8d\n", std::string(toString(band.collective)).c_str(),
                  static_cast<long long>(band.minBytes), band.algorithm.c_str(), band.protocol.c_str(), band.channels);
  }
  report.text += bands.points > 0 ? "  note        latencies and bandwidths are fitted to " +
                                        counted(bands.points, "measured time") + "\n"
                                  : "  note        latencies are those of NCCL's own model, not measured here\n";
}

}  // namespace

Result<Report> exportNccl(const ExportNcclOptions& options, NcclFile file, bool json, const Progress& progress) {
  if (const Outcome kept = keepInput(options.source, options.output); !kept) {
    return kept.error();
  }
  const auto run = readMeasured(options);
  if (!run) {
    return run.error();
  }
  const auto loaded = loadFabric({.source = options.source, .standardInput = readStandardInput}, progress);
  if (!loaded) {
    return loaded.error();
  }
  const fabric::Fabric& fabric = loaded->fabric;
  const auto bundle = workflow::makeNcclBundle(
      fabric, {.computeCapability = options.computeCapability, .run = *run ? &**run : nullptr}, progress);
  if (!bundle) {
    return bundle.error();
  }
  const workflow::NcclGraphs& graphs = bundle->graphs;
  constexpr const char* kTargets[] = {"nccl-graph", "nccl-tuner", "nccl-bundle"};
  Report report;
  report.json = {{"ok", true},
                 {"target", kTargets[static_cast<int>(file)]},
                 {"fabric", fabric.name()},
                 {"ranks", fabric.gpuCount()},
                 {"collective", "allreduce"},
                 {"bound", {{"algbw", toFraction(graphs.bound)}, {"algbw_GBps", toGBps(graphs.bound)}}},
                 {"stock", worthJson(fabric, graphs.stock)},
                 {"best", worthJson(fabric, graphs.best)},
                 {"gains", graphs.gains()},
                 {"kinds_of_boxes", graphs.kinds()},
                 {"compute_capability", bundle->computeCapability}};
  if (graphs.nvls) {
    report.json["stock"]["nvls"] = worthJson(fabric, graphs.nvls->load);
    report.json["stock"]["nvls"]["algorithm"] = graphs.nvls->algorithm;
  }
  report.text = "allreduce on " + named(fabric.name()) + ", by congestion\n  bound       " + gigabytes(graphs.bound) +
                "\n  NCCL        " + workflow::worthText(fabric, graphs.stock.allreduce, graphs.bound) +
                "\n  its trees   " + workflow::worthText(fabric, graphs.stock.trees, graphs.bound) +
                (graphs.nvls ? formatted("\n  %-12s", std::string(graphs.nvls->algorithm).c_str()) +
                                   workflow::worthText(fabric, graphs.nvls->load, graphs.bound)
                             : std::string()) +
                "\n  file        " + workflow::worthText(fabric, graphs.best.allreduce, graphs.bound) +
                "\n  its trees   " + workflow::worthText(fabric, graphs.best.trees, graphs.bound) + "\n";
  if (!graphs.gains()) {
    const bool isNvls = graphs.stock.allreduce.algbw < graphs.best.allreduce.algbw;
    report.text += isNvls ? "  note        NVLS reaches as much as the rings of the file: the file gains nothing\n"
                          : "  note        no rings were found that are better than those of NCCL's search: the file "
                            "gains nothing\n";
  }
  Json uncertain = Json::array();
  for (const std::string& sentence : nccl::uncertainties()) {
    uncertain.push_back(sentence);
  }
  report.json["uncertain"] = std::move(uncertain);
  if (file != NcclFile::tuner && graphs.gains()) {
    report.text += graphs.kinds() == 1 ? "  files       one graph file for all boxes, which are wired alike\n"
                                       : "  files       " + std::to_string(graphs.kinds()) +
                                             " graph files, one for each kind of box, chosen by host\n";
  }
  if (file == NcclFile::bundle) {
    describeBands(bundle->bands, report);
    report.json["files"] = Json::array();
    for (const auto& [name, unused] : bundle->files) {
      report.json["files"].push_back(name);
    }
    if (const Outcome written = workflow::writeNcclBundle(options.output, *bundle); !written) {
      return written.error();
    }
    report.json["output"] = options.output;
    report.text += "  folder      " + oneLine(options.output) + ": " +
                   counted(static_cast<std::int64_t>(bundle->files.size()), "file") + "; begin with README.md\n";
    return report;
  }
  if (file == NcclFile::graph && graphs.kinds() > 1) {
    return Error{ErrorCode::infeasible, "boxes are wired differently, so that each kind needs a graph file of its own",
                 "--target nccl-bundle writes one for each kind, with the scripts that choose it"};
  }
  std::string text = file == NcclFile::graph ? graphs.xml(0) : bundle->files.at("tuner.csv").text;
  if (file == NcclFile::tuner) {
    describeBands(bundle->bands, report);
  }
  report.json["bytes"] = text.size();
  if (const Outcome delivered = deliver(options.output, std::move(text), "  file        ", json, report); !delivered) {
    return delivered.error();
  }
  if (file == NcclFile::graph) {
    report.text += "  run with    NCCL_GRAPH_FILE=FILE NCCL_ALGO=" + std::string(graphs.algorithm()) +
                   " NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH,ENV,TUNING\n"
                   "  taken       where the log has \"Channel 00/" +
                   std::to_string(graphs.best.channels.rings.size()) + " :\" with these ranks; import-run reads it\n";
  } else {
    report.text +=
        "  run with    NCCL_TUNER_PLUGIN=libnccl-tuner-example.so NCCL_TUNER_CONFIG_FILE=FILE (2.27.5 and later)\n";
  }
  return report;
}

}  // namespace coppice::cli
