// SPDX-License-Identifier: Apache-2.0
#include "workflow/nccl_bundle.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/counted.hpp"
#include "base/formatted.hpp"
#include "base/one_line.hpp"
#include "base/shell.hpp"
#include "fabric/likely_gpu.hpp"
#include "workflow/facts.hpp"

namespace coppice::workflow {
namespace {

constexpr const char* kHead = "#!/bin/sh\n";

std::string graphFileOf(const NcclGraphs& graphs, int kind) {
  return graphs.kinds() == 1 ? "graph.xml" : "graph-" + std::to_string(kind) + ".xml";
}

/// The hosts of the run in the order of the boxes, where it says them; else the names of the boxes.
std::vector<std::string> hostsOf(const NcclGraphs& graphs, const ImportedRun* run) {
  const nccl::Communicator* communicator = run == nullptr ? nullptr : run->largest();
  return communicator != nullptr && communicator->hosts.size() == graphs.boxes.size() ? communicator->hosts
                                                                                      : graphs.boxes;
}

/// Sets the file of this host.
std::string graphSetting(const NcclGraphs& graphs, const std::vector<std::string>& hosts) {
  if (graphs.kinds() == 1) {
    return "export NCCL_GRAPH_FILE=\"$here/graph.xml\"\n";
  }
  std::string text =
      "# Boxes are wired differently: each host has its own file. Names are those of `hostname -s`.\n"
      "case \"$(hostname -s)\" in\n";
  for (std::size_t box = 0; box < hosts.size(); ++box) {
    text += "  " + shellWord(hosts[box]) + ") file=" + graphFileOf(graphs, graphs.best.kindOf[box]) + " ;;\n";
  }
  return text +
         "  *) echo \"no graph file is named for this host: add it to $0\" >&2; exit 1 ;;\n"
         "esac\n"
         "export NCCL_GRAPH_FILE=\"$here/$file\"\n";
}

std::string environment(const std::string& what, const std::string& settings) {
  return kHead + std::string("# ") + what +
         "\n# On every host, from the same folder: sh FILE PROGRAM ARGUMENTS\n"
         "set -eu\n"
         "here=$(cd \"$(dirname \"$0\")\" && pwd)\n"
         "export NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH,ENV,TUNING\n"
         "export NCCL_DEBUG_FILE=\"$here/logs/$(basename \"$0\" .sh).%h.%p\"\n"
         "mkdir -p \"$here/logs\"\n" +
         settings + "exec \"$@\"\n";
}

std::string testsScript(const NcclGraphs& graphs) {
  const std::string ranks = std::to_string(graphs.ranks());
  return kHead +
         std::string(
             "# nccl-tests without and with the files. For example, with the GPUs of all hosts:\n"
             "#   sh run-nccl-tests.sh \"mpirun -np ") +
         ranks + " -N " + std::to_string(graphs.gpus) +
         " --hostfile hosts\" ~/nccl-tests/build/all_reduce_perf\n"
         "set -eu\n"
         "launch=${1:?the launcher, such as \\\"mpirun -np " +
         ranks +
         "\\\"}\n"
         "program=${2:?a program of nccl-tests}\n"
         "here=$(cd \"$(dirname \"$0\")\" && pwd)\n"
         "mkdir -p \"$here/logs\"\n"
         "kinds=stock\n"
         "[ -f \"$here/graph.sh\" ] && kinds=\"$kinds graph\"\n"
         "# NCCL 2.27.5 and later, where the example plug-in is built (ext-tuner/example):\n"
         "[ -n \"${NCCL_TUNER_PLUGIN:-}\" ] && kinds=\"$kinds tuned\"\n"
         "for kind in $kinds; do\n"
         "  $launch sh \"$here/$kind.sh\" \"$program\" -b 1M -e 4G -f 2 -g 1 | tee \"$here/logs/$kind.txt\"\n"
         "done\n"
         "for kind in $kinds; do\n"
         "  echo \"coppice-cli import-run logs/$kind.* --fabric FABRIC\"\n"
         "done\n";
}

std::string torchScript(const NcclGraphs& graphs) {
  const std::string kinds = graphs.gains() ? "stock|graph|tuned" : "stock|tuned";
  return kHead +
         std::string("# The same by PyTorch. On every host: sh run-pytorch.sh " + kinds +
                     " FIRST_HOST NUMBER_OF_HOST\n"
                     "set -eu\n"
                     "kind=${1:?" +
                     kinds +
                     "}\n"
                     "first=${2:?the first host}\n"
                     "node=${3:?the number of this host, from 0}\n"
                     "here=$(cd \"$(dirname \"$0\")\" && pwd)\n"
                     "exec sh \"$here/$kind.sh\" torchrun --nnodes=") +
         std::to_string(graphs.boxes.size()) + " --nproc-per-node=" + std::to_string(graphs.gpus) +
         " --node-rank=\"$node\" \\\n"
         "  --master-addr=\"$first\" --master-port=29500 \"$here/measure.py\" | tee \"$here/logs/$kind.pytorch.txt\"\n";
}

/// Prints the table of nccl-tests, in place.
constexpr const char* kMeasure =
    R"py(# Times all_reduce as nccl-tests does, and prints its table: coppice-cli import-run reads it.
import os
import time

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
rank, ranks = dist.get_rank(), dist.get_world_size()
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
if rank == 0:
    print("# Collective test starting: all_reduce_perf")
    print(f"# nThread 1 nGpus 1, {ranks} ranks, by torch.distributed {torch.__version__}")
    print("#       size         count      type   redop    root     time   algbw   busbw  #wrong")
    print("#        (B)    (elements)                               (us)  (GB/s)  (GB/s)")
for power in range(20, 33):
    size = 1 << power
    data = torch.ones(size // 4, device="cuda")
    for _ in range(5):
        dist.all_reduce(data)
    torch.cuda.synchronize()
    dist.barrier()
    start = time.perf_counter()
    rounds = 20
    for _ in range(rounds):
        dist.all_reduce(data)
    torch.cuda.synchronize()
    taken = torch.tensor([(time.perf_counter() - start) / rounds], device="cuda", dtype=torch.float64)
    dist.all_reduce(taken, op=dist.ReduceOp.MAX)
    if rank == 0:
        us = taken.item() * 1e6
        algbw = size / us / 1e3
        print(f"{size:12d} {size // 4:12d} float sum -1 {us:.2f} {algbw:.2f} {algbw * 2 * (ranks - 1) / ranks:.2f} N/A",
              flush=True)
dist.destroy_process_group()
)py";

std::string readme(const fabric::Fabric& fabric, const NcclBundle& bundle) {
  constexpr std::size_t kShown = 4;
  constexpr std::size_t kMaxRing = 64;
  const NcclGraphs& graphs = bundle.graphs;
  const std::string changed = graphs.gains() ? "graph" : "tuned";
  std::string text = "# Stock NCCL on " + oneLine(fabric.name().empty() ? "this fabric" : fabric.name()) + "\n\n" +
                     "Allreduce over " + counted(graphs.ranks(), "GPU") + ", by congestion:\n\n" +
                     "| | algbw at large sizes |\n|---|---|\n" + "| bound of any schedule | " +
                     gigabytes(graphs.bound) + " |\n| NCCL's own rings | " +
                     worthText(fabric, graphs.stock.allreduce, graphs.bound) + " |\n| NCCL's own trees | " +
                     worthText(fabric, graphs.stock.trees, graphs.bound) +
                     (graphs.nvls ? " |\n| NCCL's own " + std::string(graphs.nvls->algorithm) + " | " +
                                        worthText(fabric, graphs.nvls->load, graphs.bound)
                                  : std::string()) +
                     " |\n| rings of the graph file | " + worthText(fabric, graphs.best.allreduce, graphs.bound) +
                     " |\n| trees of the graph file | " + worthText(fabric, graphs.best.trees, graphs.bound) + " |\n\n";
  if (!graphs.gains()) {
    text += std::string("No rings were found that are better than ") +
            (graphs.nvls ? "what NCCL reaches itself" : "those that NCCL finds itself") +
            ": no graph file is written. What can still be set is the algorithm and protocol of each size "
            "(tuner.csv).\n\n";
  }
  text +=
      "## Run\n\nCopy this folder to the same place on every host.\n\n"
      "1. `sh run-nccl-tests.sh \"mpirun -np " +
      std::to_string(graphs.ranks()) + " -N " + std::to_string(graphs.gpus) +
      " --hostfile hosts\" PATH/all_reduce_perf` runs nccl-tests as it is (stock)" +
      (graphs.gains() ? ", then with the graph file (graph)" : "") +
      ", and, where NCCL_TUNER_PLUGIN is set, with the choices of tuner.csv (tuned).\n"
      "2. `sh run-pytorch.sh " +
      changed + " FIRST_HOST 0` measures the same by torch.distributed. Your own training: `sh " + changed +
      ".sh torchrun ...`.\n3. `coppice-cli import-run logs/" + changed +
      ".* --fabric FABRIC`, or drop the files of logs/ on the window: for each size what NCCL chose, the bound, what "
      "is predicted and what was measured, in one table and chart, and where the rest of the time went. "
      "`coppice-cli import-run logs/*.txt --fabric FABRIC` puts the runs without and with the files beside each "
      "other.\n\n" +
      std::string(graphs.gains() ? graphs.kinds() == 1
                                       ? "All boxes are wired alike: one graph file serves them all.\n\n"
                                       : "Boxes of " + std::to_string(graphs.kinds()) +
                                             " kinds: one graph file for each, which the scripts choose by host.\n\n"
                                 : "");
  if (graphs.gains()) {
    text +=
        "## Was the graph file taken?\n\n"
        "The log has `NCCL_GRAPH_FILE set by environment to`, and these lines. They alone prove it: NCCL prints "
        "`channels loaded from XML graph` also where it then searches.\n\n```\n";
    const std::size_t all = graphs.best.channels.rings.size();
    for (std::size_t channel = 0; channel < std::min(all, kShown); ++channel) {
      text += formatted("Channel %02d/%02d :", static_cast<int>(channel), static_cast<int>(all));
      const std::vector<int> ranks = graphs.best.channels.rings[channel].ranks();
      for (std::size_t i = 0; i < std::min(ranks.size(), kMaxRing); ++i) {
        text += formatted(" %4d", ranks[i]);
      }
      text += ranks.size() > kMaxRing ? " ...\n" : "\n";
    }
    text +=
        "```\n\nRanks are those of the fabric: boxes in order, GPUs by device number. Every communicator of the "
        "process with all GPUs of a box reads the file; one with fewer fails with `XML Import Channel : dev X not "
        "found`.\n\n";
  }
  text += "## Which algorithm at which size\n\n" +
          std::string("| collective | from | algorithm | protocol | channels |\n") + "|---|---:|---|---|---:|\n";
  for (const nccl::TuningBand& band : bundle.bands.bands) {
    text += "| " + std::string(toString(band.collective)) + " | " + std::to_string(band.minBytes) + " B | " +
            band.algorithm + " | " + band.protocol + " | " + std::to_string(band.channels) + " |\n";
  }
  text += bundle.bands.points > 0
              ? "\nLatencies and bandwidths are fitted to " + counted(bundle.bands.points, "measured time") +
                    " of your run.\n"
              : "\nLatencies are those of NCCL's own model, not measured here: export again with the "
                "output of nccl-tests.\n";
  text += "\n## What is not certain\n\n";
  for (const std::string& sentence : nccl::uncertainties()) {
    text += "- " + sentence + "\n";
  }
  text += "- the GPUs have compute capability " + std::to_string(bundle.computeCapability) + "\n";
  return text;
}

}  // namespace

std::string worthText(const fabric::Fabric& fabric, const nccl::Load& load, const Bandwidth& bound) {
  const fabric::Arc& arc = fabric.arcs()[load.arc];
  return gigabytes(load.algbw) + formatted(", %.1f %% of the bound", 100 * toGBps(load.algbw) / toGBps(bound)) +
         ", limited by " + oneLine(fabric.nodes()[arc.tail].id) + " -> " + oneLine(fabric.nodes()[arc.head].id);
}

Result<NcclBundle> makeNcclBundle(const fabric::Fabric& fabric, const NcclBundleOptions& options,
                                  const Progress& progress) {
  const int capability = options.computeCapability.value_or(fabric::likelyCapability(fabric));
  auto graphs = makeNcclGraphs(fabric, capability, progress);
  if (!graphs) {
    return graphs.error();
  }
  NcclBundle bundle{.graphs = *std::move(graphs), .computeCapability = capability};
  nccl::Ways ways(fabric, progress);
  auto bands = ncclBands(ways, bundle.graphs, capability, options.run);
  if (!bands) {
    return bands.error();
  }
  bundle.bands = *std::move(bands);
  if (bundle.bands.bands.empty()) {
    return Error{ErrorCode::infeasible, "there is no choice to write", "give a fabric with at least two GPUs"};
  }
  const NcclGraphs& made = bundle.graphs;
  const std::string taken = graphSetting(made, hostsOf(made, options.run));
  const auto add = [&](const std::string& name, std::string text, bool isProgram) {
    bundle.files[name] = {std::move(text), isProgram};
  };
  if (made.gains()) {
    for (int kind = 0; kind < made.kinds(); ++kind) {
      add(graphFileOf(made, kind), made.xml(kind), false);
    }
    add("graph.sh",
        environment("Rings and trees of the graph file, of which these reach more.",
                    taken + "export NCCL_ALGO=" + made.algorithm() + "\n"),
        true);
  }
  add("tuner.csv", nccl::writeTunerCsv(bundle.bands.bands, static_cast<int>(made.boxes.size()), fabric.gpuCount()),
      false);
  add("stock.sh", environment("NCCL as it is.", ""), true);
  add("tuned.sh",
      environment("Algorithms, protocols and channels of tuner.csv (NCCL 2.27.5 and later).",
                  (made.gains() ? taken : std::string()) +
                      "export NCCL_TUNER_PLUGIN=\"${NCCL_TUNER_PLUGIN:-libnccl-tuner-example.so}\"\n"
                      "export NCCL_TUNER_CONFIG_FILE=\"$here/tuner.csv\"\n"),
      true);
  add("run-nccl-tests.sh", testsScript(made), true);
  add("run-pytorch.sh", torchScript(made), true);
  add("measure.py", kMeasure, false);
  add("README.md", readme(fabric, bundle), false);
  return bundle;
}

Outcome writeNcclBundle(const std::filesystem::path& folder, const NcclBundle& bundle) {
  return remote::writeBundleFolder(folder, bundle.files);
}

}  // namespace coppice::workflow
