// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "base/shell.hpp"
#include "base/text.hpp"
#include "mscclpp/plan_json.hpp"
#include "workflow/mscclpp_target.hpp"

namespace coppice::workflow {
namespace {

/// A plan of the bundle.
struct LaunchPlan {
  std::string file;
  std::string name;
  std::string collective;
  bool isInPlace = false;
  std::int64_t first = 0;
  std::uint64_t last = 0;  ///< included
  std::int64_t unit = 0;   ///< bytes of the collective come in multiples of this many
};

struct Launch {
  std::vector<LaunchPlan> plans;
  int ranks = 0;
  int ranksPerNode = 0;  ///< 0 = the plans do not say
  bool hasGroups = false;
};

/// Ranks of a node are those that memory channels and switch groups join, if all nodes are equal runs of ranks.
int ranksPerNodeOf(const mscclpp::ExecutionPlan& plan) {
  const auto ranks = static_cast<int>(plan.gpus.size());
  std::vector<int> node(plan.gpus.size());
  std::iota(node.begin(), node.end(), 0);
  const auto find = [&](int rank) {
    while (node[rank] != rank) {
      rank = node[rank];
    }
    return rank;
  };
  const auto join = [&](int a, int b) {
    if (b >= 0 && b < ranks) {
      const int first = find(a);
      const int second = find(b);
      node[std::max(first, second)] = std::min(first, second);
    }
  };
  for (int rank = 0; rank < ranks; ++rank) {
    for (const int peer : plan.gpus[rank].memoryPeers) {
      join(rank, peer);
    }
    for (const mscclpp::SwitchGroup& group : plan.gpus[rank].switchGroups) {
      for (const int member : group.ranks) {
        join(rank, member);
      }
    }
  }
  int size = 1;
  while (size < ranks && find(size) == 0) {
    ++size;
  }
  for (int rank = 0; rank < ranks; ++rank) {
    if (find(rank) != rank / size * size) {
      return 0;
    }
  }
  return ranks % size == 0 ? size : 0;
}

Result<Launch> launchOf(std::span<const LaunchFile> files) {
  Launch launch;
  std::set<std::string> names;
  for (const LaunchFile& file : files) {
    const auto plan = mscclpp::readPlan(file.text, file.name);
    if (!plan) {
      return plan.error();
    }
    const auto ranks = static_cast<int>(plan->gpus.size());
    if (launch.ranks != 0 && ranks != launch.ranks) {
      return Error{ErrorCode::badUsage,
                   inQuotes(file.name) + " is for " + std::to_string(ranks) + " ranks, another plan for " +
                       std::to_string(launch.ranks),
                   "make a bundle for each"};
    }
    if (!names.insert(plan->name).second) {
      return Error{
          ErrorCode::badUsage,
          "two plans have the name " + inQuotes(plan->name) + ": the second would run on the channels of the first",
          "export one of them with another --name"};
    }
    if (!launch.plans.empty() && launch.plans.front().isInPlace != plan->inPlace) {
      return Error{ErrorCode::badUsage,
                   "one plan is in place and another out of place: MSCCL++ takes the kind of the first one that is "
                   "asked for all plans of a process",
                   "make a bundle for each"};
    }
    const mscclpp::Gpu& gpu = plan->gpus.front();
    launch.ranks = ranks;
    launch.ranksPerNode = ranksPerNodeOf(*plan);
    launch.hasGroups = launch.hasGroups || !gpu.switchGroups.empty();
    launch.plans.push_back({file.name, plan->name, plan->collective, plan->inPlace, plan->minBytes, plan->maxBytes,
                            plan->alignment * std::max({gpu.inputChunks, gpu.outputChunks, 1})});
  }
  if (launch.plans.empty()) {
    return Error{ErrorCode::badUsage, "there is no plan to start", "name an execution plan, or a folder of them"};
  }
  std::stable_sort(launch.plans.begin(), launch.plans.end(), [](const LaunchPlan& a, const LaunchPlan& b) {
    return std::pair(a.collective, a.first) < std::pair(b.collective, b.first);
  });
  for (std::size_t i = 1; i < launch.plans.size(); ++i) {
    const LaunchPlan& before = launch.plans[i - 1];
    const LaunchPlan& plan = launch.plans[i];
    if (before.collective == plan.collective && static_cast<std::uint64_t>(plan.first) <= before.last) {
      return Error{ErrorCode::badUsage,
                   inQuotes(before.file) + " and " + inQuotes(plan.file) + " are both for " + plan.collective + " of " +
                       std::to_string(plan.first) + " bytes: MSCCL++ takes either",
                   "export them with windows that do not overlap (--min-bytes, --max-bytes)"};
    }
  }
  return launch;
}

/// A string of Python, in ASCII.
std::string pythonText(const std::string& text) {
  return Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string pythonFile(const Launch& launch) {
  std::string text = R"py(#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Registers the execution plans of this folder with MSCCL++, in the process that calls its collectives.

In a program of your own, before torch.distributed.init_process_group:

    import register_plans
    register_plans.register()

Or in front of a program that knows nothing of it:

    torchrun ... register_plans.py program.py its arguments

With COPPICE_PLANS_VERBOSE=1, rank 0 says when a plan is taken for the first time.
"""
import os
import pathlib
import runpy
import sys

WORLD_SIZE = )py";
  text += std::to_string(launch.ranks) + "\n# Plans are taken only if this is what MSCCL++ counts on every node.\n";
  text += "RANKS_PER_NODE = ";
  text += launch.ranksPerNode > 0 ? std::to_string(launch.ranksPerNode) : "int(os.environ[\"LOCAL_WORLD_SIZE\"])";
  text += "\nPLANS = [\n";
  for (const LaunchPlan& plan : launch.plans) {
    text += "    {\"file\": " + pythonText(plan.file) + ", \"name\": " + pythonText(plan.name) +
            ", \"collective\": " + pythonText(plan.collective) + ", \"first\": " + std::to_string(plan.first) +
            ", \"last\": " + std::to_string(plan.last) + "},\n";
  }
  text += R"py(]
_told = set()


def select(algorithms, request):
    """The plan for this call, or None: MSCCL++ then goes on by its own rules."""
    size = request.message_size
    if request.collective == "allgather":  # counted by rank
        size *= request.world_size
    for plan in PLANS:
        if plan["collective"] == request.collective and plan["first"] <= size <= plan["last"]:
            algorithm = algorithms.get(request.collective, {}).get(plan["name"])
            if algorithm is None or request.world_size != WORLD_SIZE:
                return None
            if os.environ.get("COPPICE_PLANS_VERBOSE") and request.rank == 0 and plan["name"] not in _told:
                _told.add(plan["name"])
                print(f"MSCCL++: {request.collective} of {size} bytes runs {plan['file']}", file=sys.stderr, flush=True)
            return algorithm
    return None


def register(rank=None, world_size=None):
    """Registers every plan. Call it before the communicator is made, once in every process."""
    import mscclpp
    import mscclpp.ext

    rank = int(os.environ["RANK"]) if rank is None else rank
    world_size = int(os.environ["WORLD_SIZE"]) if world_size is None else world_size
    if world_size != WORLD_SIZE:
        raise SystemExit(f"these plans are for {WORLD_SIZE} ranks, and this job has {world_size}")
    folder = pathlib.Path(__file__).resolve().parent
    builder = mscclpp.ext.AlgorithmCollectionBuilder()
    for plan in PLANS:
        builder.add_algorithm_builder(
            mscclpp.Algorithm(
                id=plan["name"],
                execution_plan=mscclpp.ExecutionPlan(str(folder / plan["file"]), rank),
                constraint=mscclpp.Algorithm.Constraint(WORLD_SIZE, RANKS_PER_NODE),
                tags={},
            )
        )
    builder.set_algorithm_selector(select)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit("usage: torchrun ... register_plans.py program.py [arguments]")
    for name, other in (("RANK", "OMPI_COMM_WORLD_RANK"), ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE")):
        if name not in os.environ and other in os.environ:
            os.environ[name] = os.environ[other]
    register()
    sys.argv = sys.argv[1:]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")
)py";
  return text;
}

constexpr const char* kFindLibrary = R"sh(if [ -z "${MSCCLPP_NCCL:-}" ]; then
  MSCCLPP_NCCL=$(python3 -c 'import mscclpp, os; print(os.path.join(os.path.dirname(mscclpp.__file__), "lib", "libmscclpp_nccl.so"))')
fi
if [ ! -e "$MSCCLPP_NCCL" ]; then
  echo "libmscclpp_nccl.so is not at $MSCCLPP_NCCL; set MSCCLPP_NCCL to its path" >&2
  exit 3
fi
)sh";

std::string scriptHead(const char* what) {
  return std::string("#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n# ") + what + "\nset -eu\n";
}

std::string torchScript(const Launch& launch) {
  const int perNode = launch.ranksPerNode > 0 ? launch.ranksPerNode : launch.ranks;
  const int nodes = launch.ranks / perNode;
  return scriptHead(
             "Starts a program of PyTorch on this node with the plans: run-torch.sh program.py [arguments]. On "
             "every node;\n# MASTER_ADDR names the first, NODE_RANK numbers them from 0.") +
         "here=$(cd \"$(dirname \"$0\")\" && pwd)\n" + kFindLibrary +
         "export LD_PRELOAD=\"$MSCCLPP_NCCL${LD_PRELOAD:+:$LD_PRELOAD}\"\nexec torchrun --nnodes=" +
         std::to_string(nodes) + " --nproc-per-node=" + std::to_string(perNode) +
         " --node-rank=\"${NODE_RANK:-0}\" \\\n  --master-addr=\"${MASTER_ADDR:-127.0.0.1}\" "
         "--master-port=\"${MASTER_PORT:-29500}\" \\\n  \"$here/register_plans.py\" \"$@\"\n";
}

std::string mpiScript(const Launch& launch) {
  const std::string each =
      launch.ranksPerNode > 0 ? " --map-by ppr:" + std::to_string(launch.ranksPerNode) + ":node" : std::string();
  return scriptHead(
             "Starts a Python program with the plans under Open MPI: run-mpi.sh program.py [arguments]. HOSTS "
             "names the hosts, as\n# in host1:8,host2:8. The folder is at the same path on all of them.") +
         "here=$(cd \"$(dirname \"$0\")\" && pwd)\n" + kFindLibrary + "exec mpirun -np " +
         std::to_string(launch.ranks) + each +
         " ${HOSTS:+--host \"$HOSTS\"} -x LD_PRELOAD=\"$MSCCLPP_NCCL\" -x COPPICE_PLANS_VERBOSE \\\n  python3 "
         "\"$here/register_plans.py\" \"$@\"\n";
}

/// Near 1 MiB where the window allows.
std::uint64_t testBytes(const LaunchPlan& plan) {
  constexpr std::uint64_t kWanted = std::uint64_t{1} << 20;
  const auto unit = static_cast<std::uint64_t>(plan.unit);
  const std::uint64_t wanted =
      std::clamp(kWanted, static_cast<std::uint64_t>(std::max<std::int64_t>(plan.first, 1)),
                 std::max(plan.last, static_cast<std::uint64_t>(std::max<std::int64_t>(plan.first, 1))));
  const std::uint64_t above = (wanted + unit - 1) / unit * unit;
  return above <= plan.last || wanted / unit == 0 ? above : wanted / unit * unit;
}

std::string testScript(const Launch& launch) {
  std::string text = scriptHead(
      "Runs every plan by itself in MSCCL++'s own test of its executor, which checks the data. MSCCLPP is a clone "
      "of\n# github.com/microsoft/mscclpp, HOSTS as for run-mpi.sh.");
  text +=
      "here=$(cd \"$(dirname \"$0\")\" && pwd)\n"
      "test=${MSCCLPP:?set it to a clone of github.com/microsoft/mscclpp}/python/test/executor_test.py\n"
      "run() {\n  mpirun -np " +
      std::to_string(launch.ranks) +
      " ${HOSTS:+--host \"$HOSTS\"} python3 \"$test\" -path \"$here/$1\" --size \"$2\" ${3:+$3}\n}\n";
  static const std::set<std::string> kTested = {"allgather", "reducescatter", "allreduce", "alltoall"};
  for (const LaunchPlan& plan : launch.plans) {
    if (!kTested.contains(plan.collective)) {
      text += "# " + plan.file + ": the test knows no " + plan.collective + "; coppice-exec checks it\n";
      continue;
    }
    text += "run " + shellWord(plan.file) + " " + std::to_string(testBytes(plan)) +
            (plan.isInPlace ? " --in_place" : "") + "\n";
  }
  return text;
}

std::string readme(const Launch& launch) {
  std::string text = "# Execution plans for MSCCL++\n\nFor " + std::to_string(launch.ranks) + " ranks" +
                     (launch.ranksPerNode > 0 ? ", " + std::to_string(launch.ranksPerNode) + " on each node" : "") +
                     ". Rank 0 is the first GPU of the fabric that they were made for.\n\n"
                     "| plan | collective | bytes of the call | multiples of |\n|---|---|---|---|\n";
  for (const LaunchPlan& plan : launch.plans) {
    text += "| " + plan.file + " | " + plan.collective + (plan.isInPlace ? ", in place" : ", out of place") + " | " +
            std::to_string(plan.first) + " to " + std::to_string(plan.last) + " | " + std::to_string(plan.unit) +
            " |\n";
  }
  text += R"md(
## Start

- `MASTER_ADDR=host NODE_RANK=n ./run-torch.sh program.py` on every node: PyTorch by torchrun.
- `HOSTS=a:8,b:8 ./run-mpi.sh program.py`: any Python program under Open MPI.
- `MSCCLPP=clone HOSTS=a:8,b:8 ./test-plans.sh`: each plan by itself in MSCCL++'s own test, with its data checked.
- `coppice-exec FILE` runs a plan on the processors of one machine and checks its data.

All of them need MSCCL++ 0.8 or later with its Python package. `register_plans.py` registers the plans in the process,
before the communicator is made; no setting of the environment does that.

## See that a plan was taken

`COPPICE_PLANS_VERBOSE=1` lets rank 0 print each plan when it is taken for the first time. `MSCCLPP_DEBUG=INFO
MSCCLPP_DEBUG_SUBSYS=ALL` logs each call and what falls back to NCCL.

## What nothing guards

- Plans always add up: a call for max, min, prod or avg runs the sum. int32 runs as uint32.
- The root of a broadcast is that of the plan, whatever the call says.
- A size in the window that is no multiple of the number above ends the process; it does not fall back.
- The first plan that is asked decides for the process whether plans are in place or out of place.
- All ranks must launch the same plans in the same order.
- Ranks that do not share a node as these plans assume never take them: MSCCL++ compares ranks per node.
- A plan that writes straight into another rank's buffer assumes that all ranks pass the same offset into their
  allocation.
)md";
  if (launch.hasGroups) {
    text +=
        R"md(- Switch groups need compute capability 9.0, buffers that MSCCL++ allocated (`mscclpp.GpuBuffer`, `RawGpuBuffer`), and
  another type than uint8.
)md";
  }
  return text;
}

}  // namespace

Result<std::vector<LaunchFile>> mscclppLaunch(std::span<const LaunchFile> plans) {
  const auto launch = launchOf(plans);
  if (!launch) {
    return launch.error();
  }
  return std::vector<LaunchFile>{{"register_plans.py", pythonFile(*launch)},
                                 {"run-torch.sh", torchScript(*launch)},
                                 {"run-mpi.sh", mpiScript(*launch)},
                                 {"test-plans.sh", testScript(*launch)},
                                 {"README.md", readme(*launch)}};
}

}  // namespace coppice::workflow
