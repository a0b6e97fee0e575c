// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>

#include "base/counted.hpp"
#include "base/one_line.hpp"
#include "base/shell.hpp"
#include "base/text.hpp"
#include "workflow/facts.hpp"
#include "workflow/rank_order.hpp"

namespace coppice::workflow {
namespace {

bool isHostName(const std::string& name) {
  return !name.empty() && name.front() != '-' && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_';
  });
}

/// Launchers give a host's ranks one after the other.
bool areConsecutive(const RankOrder& made) {
  const auto places = placesOf(made);
  std::size_t changes = 0;
  for (std::size_t rank = 1; rank < places.size(); ++rank) {
    changes += places[rank].host != places[rank - 1].host ? 1 : 0;
  }
  return changes + 1 == made.hosts.size();
}

std::string hostFile(const RankOrder& made) {
  std::string text = "# mpirun --hostfile hostfile --map-by slot: ranks go to the hosts in this order\n";
  for (const int host : hostOrder(made)) {
    text += made.hosts[host].name + " slots=" + std::to_string(made.hosts[host].gpus.size()) + "\n";
  }
  return text;
}

std::string rankFile(const RankOrder& made) {
  std::string text;
  std::vector<int> used(made.hosts.size(), 0);
  const auto places = placesOf(made);
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    const int host = places[rank].host;
    text +=
        "rank " + std::to_string(rank) + "=" + made.hosts[host].name + " slot=" + std::to_string(used[host]++) + "\n";
  }
  return text;
}

std::string slurmFile(const RankOrder& made) {
  std::string text;
  for (const RankPlace& place : placesOf(made)) {
    text += made.hosts[place.host].name + "\n";
  }
  return text;
}

std::string tableFile(const RankOrder& made) {
  std::string text = "rank,host,device,gpu,rank in the fabric\n";
  const auto places = placesOf(made);
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    const fabric::Rank gpu = made.answer.order[rank];
    text += std::to_string(rank) + "," + made.hosts[places[rank].host].name + "," +
            std::to_string(places[rank].device) + ",\"" + oneLine(made.fabric.nodes()[made.fabric.gpus()[gpu]].id) +
            "\"," + std::to_string(gpu) + "\n";
  }
  return text;
}

/// A shell that knows what this host has to do. Hosts are known by `hostname -s`, or by `hostname`.
std::string hostCases(const RankOrder& made, bool hasNodeRank) {
  std::string text = "host=${RANK_ORDER_HOST:-$(hostname -s)}\ncase \"$host\" in\n";
  int number = 0;
  for (const int host : hostOrder(made)) {
    text += "  " + shellWord(made.hosts[host].name) + ") ";
    if (hasNodeRank) {
      text += "node=" + std::to_string(number++) + " gpus=" + std::to_string(made.hosts[host].gpus.size()) + " ";
    }
    text += "devices=" + devicesOf(made, host) + " ;;\n";
  }
  return text +
         "  *) echo \"$0 does not name the host $host: set RANK_ORDER_HOST to its name in the fabric\" >&2; exit 1 ;;\n"
         "esac\nexport CUDA_VISIBLE_DEVICES=$devices\n";
}

std::string gpuScript(const RankOrder& made) {
  return "#!/bin/sh\n# sh gpu-order.sh PROGRAM ARGUMENTS: the n-th process of a host gets the n-th GPU of this list.\n"
         "set -eu\n" +
         hostCases(made, false) + "exec \"$@\"\n";
}

std::string torchScript(const RankOrder& made) {
  return "#!/bin/sh\n# On every host: sh torchrun.sh SCRIPT ARGUMENTS. Ranks follow --node-rank with the static "
         "rendezvous alone.\nset -eu\n" +
         hostCases(made, true) + "exec torchrun --rdzv-backend=static --nnodes=" + std::to_string(made.hosts.size()) +
         " --nproc-per-node=\"$gpus\" --node-rank=\"$node\" \\\n  --master-addr=" +
         shellWord(made.hosts[hostOrder(made).front()].name) + " --master-port=\"${MASTER_PORT:-29500}\" \"$@\"\n";
}

std::string readMe(const RankOrder& made, bool consecutive) {
  const std::string ranks = std::to_string(made.answer.order.size());
  std::string text = "# Order of ranks on " + oneLine(named(made.fabric.name())) + "\n\n" + made.algorithm + " " +
                     std::string(toString(made.collective)) + " over " + counted(made.answer.order.size(), "GPU") +
                     " of " + counted(made.hosts.size(), "host") +
                     ", by the load of the busiest link with shortest routes, equally short ones used evenly:\n\n"
                     "| order | algbw at large sizes |\n|---|---|\n| as it is | " +
                     gigabytes(made.answer.given.algbw()) + " |\n| of these files | " +
                     gigabytes(made.answer.best.algbw()) + " |\n\nBound: " + boundText(made) +
                     ".\n\nOther algorithms and sizes want other orders: NCCL prints which it runs with "
                     "NCCL_DEBUG=INFO, NCCL_DEBUG_SUBSYS=TUNING. Measure before and after.\n\n## Use one of these\n\n";
  if (consecutive) {
    text += "- Open MPI: `mpirun -np " + ranks +
            " --hostfile hostfile --map-by slot sh gpu-order.sh PROGRAM`\n"
            "- PyTorch: `sh torchrun.sh SCRIPT` on every host. The c10d rendezvous gives ranks in its own order.\n";
  }
  text += "- Open MPI, rank by rank: `mpirun -np " + ranks +
          " --hostfile hostfile --map-by rankfile:FILE=rankfile sh gpu-order.sh PROGRAM` (version 4: `--rankfile "
          "rankfile`). `slot` is the core that the process is bound to: put those next to its GPU.\n"
          "- Slurm: `SLURM_HOSTFILE=$PWD/slurm-hostfile srun --distribution=arbitrary -n " +
          ranks +
          " sh gpu-order.sh PROGRAM` inside an allocation of these hosts. Processes must see all GPUs of their host "
          "(no --gpus-per-task), and Slurm excludes arbitrary with some options of its topology plugin.\n\n"
          "gpu-order.sh sets CUDA_VISIBLE_DEVICES so that the n-th process of a host, which takes GPU n, has the right "
          "one. Devices are numbered as in the fabric: compare with `nvidia-smi -L` on one host. order.csv has all "
          "ranks.\n";
  return text;
}

}  // namespace

Result<std::map<std::string, remote::BundleFile>> rankOrderFiles(const RankOrder& made) {
  for (const order::Host& host : made.hosts) {
    if (!isHostName(host.name)) {
      return Error{ErrorCode::infeasible, inQuotes(host.name) + " cannot be the name of a host",
                   "name the boxes of the fabric as the hosts are called"};
    }
  }
  const bool consecutive = areConsecutive(made);
  std::map<std::string, remote::BundleFile> files;
  files["hostfile"] = {hostFile(made), false};
  files["rankfile"] = {rankFile(made), false};
  files["slurm-hostfile"] = {slurmFile(made), false};
  files["order.csv"] = {tableFile(made), false};
  files["gpu-order.sh"] = {gpuScript(made), true};
  if (consecutive) {
    files["torchrun.sh"] = {torchScript(made), true};
  }
  files["README.md"] = {readMe(made, consecutive), false};
  return files;
}

Outcome writeRankOrder(const std::filesystem::path& folder, const RankOrder& made) {
  const auto files = rankOrderFiles(made);
  return files ? remote::writeBundleFolder(folder, *files) : Outcome(files.error());
}

}  // namespace coppice::workflow
