// SPDX-License-Identifier: Apache-2.0
#include "remote/bundle.hpp"

#include <algorithm>
#include <vector>

#include "remote/quoting.hpp"

namespace coppice::remote {
namespace {

constexpr const char* kFind = R"sh(set -eu
cd "$(dirname "$0")"
if [ -n "${COPPICE_EXEC:-}" ]; then
  exec_program=$COPPICE_EXEC
elif [ -x ./coppice-exec ]; then
  exec_program=./coppice-exec
elif command -v coppice-exec >/dev/null 2>&1; then
  exec_program=$(command -v coppice-exec)
else
  echo "coppice-exec is not here; set COPPICE_EXEC to its path (see README.md)" >&2
  exit 3
fi
)sh";

std::string arguments(const program::RunRequest& request) {
  std::string text;
  for (const std::string& word : program::executorArguments(request, false)) {
    text += " " + shellWord(word);
  }
  return text;
}

std::string head(const BundleFacts& facts, const char* what) {
  return std::string("#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n# ") + commentText(facts.title) + ": " + what +
         "\n";
}

}  // namespace

std::map<std::string, BundleFile> bundleFiles(const program::RunRequest& request, const BundleFacts& facts) {
  program::RunRequest here = request;
  here.launch = program::Launch::single;
  here.hosts.clear();
  here.partition.clear();
  program::RunRequest many = here;
  many.backend = request.backend.empty() ? "mpi" : request.backend;
  const std::string ranks = std::to_string(std::max(facts.ranks, 1));
  std::string hosts;
  for (const std::string& host : request.hosts) {
    hosts += (hosts.empty() ? "" : ",") + host;
  }
  std::map<std::string, BundleFile> files;
  files["run.sh"] = {
      head(facts, "on this machine, in one process") + kFind + "exec \"$exec_program\"" + arguments(here) + " \"$@\"\n",
      true};
  files["run-mpi.sh"] = {head(facts, "with mpirun, one process for each rank") + kFind +
                             "# HOSTS: machines with their numbers of processes, as in node1:4,node2:4; empty = here.\n"
                             "hosts=${HOSTS:-" +
                             hosts + "}\nranks=${RANKS:-" + ranks +
                             "}\nif [ -n \"$hosts\" ]; then\n  set -- --host \"$hosts\" \"$@\"\nfi\n"
                             "exec mpirun -n \"$ranks\" \"$@\" \"$exec_program\"" +
                             arguments(many) + "\n",
                         true};
  std::string slurm = "#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n# " + commentText(facts.title) +
                      ": as a Slurm job; sbatch run.sbatch\n#SBATCH --job-name=coppice\n#SBATCH --ntasks=" + ranks +
                      "\n#SBATCH --time=00:30:00\n#SBATCH --output=coppice-%j.out\n";
  if (!request.partition.empty()) {
    slurm += "#SBATCH --partition=" + request.partition + "\n";
  }
  // sbatch runs a copy of the script from elsewhere; the folder of the bundle is where it was submitted.
  slurm +=
      "set -eu\ncd \"${SLURM_SUBMIT_DIR:-.}\"\nexec_program=${COPPICE_EXEC:-./coppice-exec}\n"
      "if ! [ -x \"$exec_program\" ]; then\n  echo \"$exec_program is not there; set COPPICE_EXEC (see README.md)\" "
      ">&2\n"
      "  exit 3\nfi\n"
      "# srun --mpi=list shows what this Slurm offers.\n"
      "exec srun --mpi=\"${SLURM_MPI:-pmix}\" --kill-on-bad-exit=1 --input=none \"$exec_program\"" +
      arguments(many) + "\n";
  files["run.sbatch"] = {slurm, true};
  std::string text = "# " + commentText(facts.title) +
                     "\n\nEverything to run this schedule where the window cannot reach. Made by Coppice " +
                     facts.version +
                     ".\n\n| file | what it does |\n|---|---|\n| `run.sh` | this machine, one process |\n"
                     "| `run-mpi.sh` | `mpirun` with one process for each of the " +
                     ranks +
                     " ranks; `HOSTS=node1:4,node2:4 ./run-mpi.sh` |\n"
                     "| `run.sbatch` | the same as a Slurm job: `sbatch run.sbatch` |\n| `" +
                     request.schedule + "` | the schedule; it is verified again before anything runs |\n";
  text +=
      facts.hasExecutor
          ? "| `coppice-exec` | the executor; it needs nothing but the C library and, for mpirun, Open MPI with the "
            "`libcoppice-exec-mpi.so` beside it |\n\nIf the executor does not start there (another processor or an "
            "older C library), build it on the machine:\n"
          : "\nThe executor `coppice-exec` is not part of this bundle. Build it on the machine:\n";
  text +=
      "\n    cmake -S coppice -B build -G Ninja && cmake --build build --target coppice-exec\n\nand give its path in "
      "`COPPICE_EXEC`. It needs neither Qt nor the internet.\n\nThe table is that of nccl-tests; `--json` writes "
      "records "
      "instead. Exit codes: 0 all data right, 2 the schedule was refused, 3 the machine lacks something, 4 wrong data, "
      "5 "
      "stuck, 6 a rank was lost, 7 stopped.\n";
  files["README.md"] = {text, false};
  return files;
}

}  // namespace coppice::remote
