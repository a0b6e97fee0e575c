// SPDX-License-Identifier: Apache-2.0
#include "export_nccl.hpp"

#include <filesystem>
#include <vector>

#include "base/formatted.hpp"
#include "base/one_line.hpp"
#include "input.hpp"
#include "text.hpp"
#include "workflow/nccl_method.hpp"

namespace coppice::cli {
namespace {

Json worthJson(const fabric::Fabric& fabric, const nccl::FoundGraphs& found) {
  const auto one = [&](const nccl::Load& load) {
    const fabric::Arc& arc = fabric.arcs()[load.arc];
    return Json{{"algbw", toFraction(load.algbw)},
                {"algbw_GBps", toGBps(load.algbw)},
                {"limited_by", {{"from", fabric.nodes()[arc.tail].id}, {"to", fabric.nodes()[arc.head].id}}}};
  };
  return {{"rings", one(found.allreduce)}, {"trees", one(found.trees)}, {"channels", found.channels.rings.size()}};
}

std::string worthText(const fabric::Fabric& fabric, const std::string& label, const nccl::Load& load,
                      const Bandwidth& bound) {
  const fabric::Arc& arc = fabric.arcs()[load.arc];
  return "  " + label + gigabytes(load.algbw) +
         formatted(", %.1f %% of the bound", 100 * toGBps(load.algbw) / toGBps(bound)) + ", limited by " +
         oneLine(fabric.nodes()[arc.tail].id) + " -> " + oneLine(fabric.nodes()[arc.head].id) + "\n";
}

}  // namespace

Result<Report> exportNccl(const ExportNcclOptions& options, NcclFile file, bool json, const Progress& progress) {
  if (const Outcome kept = keepInput(options.source, options.output); !kept) {
    return kept.error();
  }
  const auto loaded = loadFabric({.source = options.source, .standardInput = readStandardInput}, progress);
  if (!loaded) {
    return loaded.error();
  }
  const fabric::Fabric& fabric = loaded->fabric;
  const auto graphs = workflow::makeNcclGraphs(fabric, options.computeCapability, progress);
  if (!graphs) {
    return graphs.error();
  }
  const bool isGraph = file == NcclFile::graph;
  const bool isBetter = graphs->stock.allreduce.algbw < graphs->best.allreduce.algbw;
  Report report;
  report.json = {{"ok", true},
                 {"target", isGraph ? "nccl-graph" : "nccl-tuner"},
                 {"fabric", fabric.name()},
                 {"ranks", fabric.gpuCount()},
                 {"collective", "allreduce"},
                 {"bound", {{"algbw", toFraction(graphs->bound)}, {"algbw_GBps", toGBps(graphs->bound)}}},
                 {"stock", worthJson(fabric, graphs->stock)},
                 {"file", worthJson(fabric, graphs->best)},
                 {"gains", isBetter}};
  report.text = "allreduce on " + named(fabric.name()) + ", by congestion\n  bound       " + gigabytes(graphs->bound) +
                "\n" + worthText(fabric, "NCCL        ", graphs->stock.allreduce, graphs->bound) +
                worthText(fabric, "file        ", graphs->best.allreduce, graphs->bound);
  if (!isBetter) {
    report.text +=
        "  note        no rings were found that are better than those of NCCL's search: the file gains nothing\n";
  }
  Json uncertain = Json::array();
  for (const std::string& sentence : nccl::uncertainties()) {
    uncertain.push_back(sentence);
  }
  report.json["uncertain"] = std::move(uncertain);
  std::string text = graphs->xml;
  if (isGraph) {
    std::vector<int> devices;
    for (int device = 0; device < graphs->gpus; ++device) {
      devices.push_back(device);
    }
    const auto findings = nccl::checkGraphs(graphs->best.graphs, devices, graphs->boxes == 1);
    if (hasErrors(findings)) {
      return Error{ErrorCode::limit, findings.front().text, findings.front().fix};
    }
    report.json["findings"] = toJson(findings);
    report.text += lines(findings);
  } else {
    nccl::Ways ways(fabric);
    const auto bands = workflow::ncclBands(ways, *graphs, options.computeCapability);
    if (bands.empty()) {
      return Error{ErrorCode::infeasible, "there is no choice to write", "give a fabric with at least two GPUs"};
    }
    text = nccl::writeTunerCsv(bands, graphs->boxes, fabric.gpuCount());
    report.json["bands"] = Json::array();
    report.text +=
        formatted("  %-14s  %14s  %-8s  %-8s  %8s\n", "bands", "from (B)", "algorithm", "protocol", "channels");
    for (const nccl::TuningBand& band : bands) {
      report.json["bands"].push_back({{"collective", toString(band.collective)},
                                      {"min_bytes", band.minBytes},
                                      {"max_bytes", band.maxBytes},
                                      {"algorithm", band.algorithm},
                                      {"protocol", band.protocol},
                                      {"channels", band.channels}});
      report.text += formatted("  %-14s  %14lld  %-8s  %-8s  %8d\n", std::string(toString(band.collective)).c_str(),
                               static_cast<long long>(band.minBytes), band.algorithm.c_str(), band.protocol.c_str(),
                               band.channels);
    }
    report.text += "  note        latencies are those of NCCL's own model, not measured here\n";
  }
  report.json["bytes"] = text.size();
  if (!options.script.empty()) {
    std::error_code error;
    const std::string path = std::filesystem::absolute(options.output, error).lexically_normal().string();
    const std::string script =
        workflow::ncclLaunchScript(*graphs, isGraph ? path : std::string(), isGraph ? std::string() : path);
    if (const Outcome told = deliver(options.script, script, "  script      ", json, report); !told) {
      return told.error();
    }
  }
  if (const Outcome delivered = deliver(options.output, std::move(text), "  file        ", json, report); !delivered) {
    return delivered.error();
  }
  if (isGraph) {
    report.text +=
        "  run with    NCCL_GRAPH_FILE=FILE NCCL_ALGO=Ring NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH,ENV,TUNING\n"
        "  taken       where the log has \"Channel 00/" +
        std::to_string(graphs->best.channels.rings.size()) + " :\" with these ranks; import-run reads it\n";
  } else {
    report.text +=
        "  run with    NCCL_TUNER_PLUGIN=libnccl-tuner-example.so NCCL_TUNER_CONFIG_FILE=FILE (2.27.5 and later)\n";
  }
  return report;
}

}  // namespace coppice::cli
