// SPDX-License-Identifier: Apache-2.0
#include "remote/bundle.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <vector>

#include "base/text.hpp"
#include "io/files.hpp"
#include "program/rooted.hpp"
#include "remote/quoting.hpp"
#include "remote/transfer.hpp"

namespace coppice::remote {

namespace fs = std::filesystem;

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
  echo "coppice-exec is not in this folder; set COPPICE_EXEC to its path (see README.md)" >&2
  exit 3
fi
)sh";

/// $hosts is set.
constexpr const char* kCopy = R"sh(if [ "${COPY:-0}" = 1 ]; then
  # Below the remote home folder where it is below ours; the two may differ.
  case $PWD in
    "${HOME:-/nowhere}"/*) place=${PWD#"$HOME"/} ;;
    *) place=$PWD ;;
  esac
  place="'$(printf %s "$place" | sed "s/'/'\\\\''/g")'"
  # Names are taken as they are: "*" is not a list of files.
  set -f
  for word in $(printf %s "$hosts" | tr , ' '); do
    host=${word%%:*}
    if [ "$host" != "$(uname -n)" ]; then
      tar -cf - . | ssh -o BatchMode=yes -- "$host" "mkdir -p -- $place && tar -xf - -C $place"
    fi
  done
  set +f
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

Error bundleError(const fs::path& path, int number) {
  return {ErrorCode::io, inQuotes(path.string()) + " cannot be written: " + std::strerror(number),
          number == ENOSPC || number == EDQUOT ? "free some space, or choose another disk"
                                               : "check the folder and its permissions"};
}

/// A new folder beside `target` that goes with its content unless it is kept.
class Unfinished {
public:
  explicit Unfinished(const fs::path& target) {
    const fs::path path = target.parent_path() / (".coppice-bundle-" + newMark());
    constexpr mode_t kOpen = 0777;  // less the umask
    if (mkdir(path.c_str(), kOpen) == 0) {
      m_path = path;
    }
  }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;
  ~Unfinished() {
    std::error_code error;
    if (!m_path.empty()) {
      fs::remove_all(m_path, error);
    }
  }
  [[nodiscard]] const fs::path& path() const { return m_path; }
  void keep() { m_path.clear(); }

private:
  fs::path m_path;
};

}  // namespace

Outcome writeBundleFolder(const fs::path& folder, const std::map<std::string, BundleFile>& files) {
  std::error_code error;
  fs::path target = fs::absolute(folder, error).lexically_normal();
  if (target.filename().empty()) {
    target = target.parent_path();
  }
  if (fs::exists(target, error) && (!fs::is_directory(target, error) || !fs::is_empty(target, error))) {
    return Error{ErrorCode::badUsage, inQuotes(folder.string()) + " exists already", "choose a new name"};
  }
  fs::create_directories(target.parent_path(), error);
  if (error) {
    return bundleError(target.parent_path(), error.value());
  }
  Unfinished unfinished(target);
  if (unfinished.path().empty()) {
    return bundleError(target, errno);
  }
  for (const auto& [name, file] : files) {
    const fs::path path = unfinished.path() / name;
    if (Outcome saved = io::saveFile(path, file.text); !saved) {
      Error failed = saved.error();
      failed.where.file = (target / name).string();
      return failed;
    }
    if (file.isProgram) {
      fs::permissions(path, fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec,
                      fs::perm_options::add, error);
      if (error) {
        return bundleError(target / name, error.value());
      }
    }
  }
  if (std::rename(unfinished.path().c_str(), target.c_str()) != 0) {
    return bundleError(target, errno);
  }
  unfinished.keep();
  return Done{};
}

namespace {

std::string slurmScript(const program::RunRequest& request, const program::RunRequest& many, const BundleFacts& facts,
                        const std::string& ranks) {
  std::string slurm = "#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n# " + commentText(facts.title) +
                      ": as a Slurm job; sbatch run.sbatch\n#SBATCH --job-name=coppice\n";
  slurm += ranks.empty() ? "# Give the number of ranks of the schedule: sbatch --ntasks=N run.sbatch\n"
                         : "#SBATCH --ntasks=" + ranks + "\n";
  slurm += "#SBATCH --time=00:30:00\n#SBATCH --output=coppice-%j.out\n";
  if (!request.partition.empty()) {
    slurm += "#SBATCH --partition=" + request.partition + "\n";
  }
  // sbatch runs a copy of the script from elsewhere; the folder of the bundle is where it was submitted.
  slurm +=
      "set -eu\ncd \"${SLURM_SUBMIT_DIR:-.}\"\nexec_program=${COPPICE_EXEC:-./coppice-exec}\n"
      "if ! [ -x \"$exec_program\" ]; then\n  echo \"$exec_program does not exist; set COPPICE_EXEC (see README.md)\" "
      ">&2\n"
      "  exit 3\nfi\n"
      "# The ranks start through srun and PMIx, which srun --mpi=list must name; SLURM_MPI_TYPE takes another.\n"
      "exec \"$exec_program\"" +
      arguments(many) + " --launch srun \"$@\"\n";
  return slurm;
}

/// Runtimes do not compare roots. Empty where the collective has none.
std::string rootParagraph(const BundleFacts& facts) {
  if (facts.root < 0) {
    return {};
  }
  const std::string root = std::to_string(facts.root);
  return "\nThe root is rank " + root +
         ". This executor checks it. MSCCL, msccl-executor-nccl and RCCL do not compare roots: given the program as "
         "XML, they run it for a call with any root, and with another than " +
         root + " its data is wrong. So keep the root in the name of the XML (`" +
         program::namedAfterRoot("name.xml", facts.root) +
         "`), and name the file in `MSCCL_XML_FILES` or put it into the folder of `MSCCL_ALGO_DIR` only for jobs "
         "whose calls of this collective all have root " +
         root + ". Where a job also uses other roots, leave it out: NCCL's own algorithm is correct for all.\n";
}

std::string readmeOf(const program::RunRequest& request, const BundleFacts& facts, const std::string& ranks) {
  std::string text = "# " + commentText(facts.title) +
                     "\n\nEverything to run this schedule where the window cannot reach. Generated by Coppice " +
                     facts.version +
                     ".\n\n| file | what it does |\n|---|---|\n| `run.sh` | this machine, one process |\n"
                     "| `run-mpi.sh` | `mpirun` with one process for each " +
                     (ranks.empty() ? "rank" : "of the " + ranks + " ranks") +
                     "; `HOSTS=node1:4,node2:4 ./run-mpi.sh` |\n"
                     "| `run.sbatch` | the same as a Slurm job: `sbatch " +
                     (ranks.empty() ? "--ntasks=N " : "") + "run.sbatch` |\n| `" + request.schedule +
                     "` | the schedule; it is verified again before anything runs |\n";
  if (!request.goal.empty()) {
    text += "| `" + request.goal + "` | what it computes: the table of its shards |\n";
  }
  if (facts.hasExecutor) {
    text += "| `coppice-exec` | the executor; it needs nothing but the C library |\n";
  }
  if (facts.hasMpi) {
    text += "| `libcoppice-exec-mpi.so` | lets it speak MPI; built for Open MPI 4, which must be installed |\n";
  }
  text +=
      "\n"
      "On several hosts the folder must have the same path on all of them, for example in a shared home folder; "
      "`COPY=1 HOSTS=node1:4,node2:4 ./run-mpi.sh` copies it there first. The first host must reach the others by ssh "
      "without a password. Where machines have several networks, name the network to use: "
      "`OMPI_MCA_btl_tcp_if_include=eth0 OMPI_MCA_oob_tcp_if_include=eth0 ./run-mpi.sh`. As root, mpirun requires "
      "`OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1`.\n"
      "\n"
      "Slurm starts the ranks through PMIx: `srun --mpi=list` must name `pmix` (Debian: slurm-wlm-basic-plugins).\n";
  text += rootParagraph(facts);
  text += std::string(facts.hasExecutor ? "\nIf the executor does not start there (another processor or an older C "
                                          "library), build it on the machine:\n"
                                        : "\nThe executor `coppice-exec` is not part of this bundle. Build it on the "
                                          "machine:\n") +
          "\n"
          "    cmake -S coppice -B build -G Ninja && cmake --build build --target coppice-exec coppice-exec-mpi\n"
          "\n"
          "and give its path in `COPPICE_EXEC`. It needs neither Qt nor the internet.\n"
          "\n"
          "The output is the table of nccl-tests; with `--json` a script writes records instead. Exit codes: 0 all "
          "data correct, 2 the schedule was refused, 3 something is missing on the machine, 4 wrong data, 5 stuck, 6 a "
          "rank or host was lost, 7 stopped.\n";
  return text;
}

}  // namespace

std::map<std::string, BundleFile> bundleFiles(const program::RunRequest& request, const BundleFacts& facts) {
  program::RunRequest here = request;
  here.launch = program::Launch::single;
  here.hosts.clear();
  here.partition.clear();
  program::RunRequest many = here;
  many.backend = request.backend.empty() ? "mpi" : request.backend;
  const std::string ranks = facts.ranks > 0 ? std::to_string(facts.ranks) : "";
  std::string hosts;
  for (const std::string& host : request.hosts) {
    hosts += (hosts.empty() ? "" : ",") + host;
  }
  std::map<std::string, BundleFile> files;
  files["run.sh"] = {
      head(facts, "on this machine, in one process") + kFind + "exec \"$exec_program\"" + arguments(here) + " \"$@\"\n",
      true};
  // The executor itself starts mpirun and srun: it shares the ranks among the hosts, names a rank or host that is lost,
  // and leaves nothing running.
  files["run-mpi.sh"] = {
      head(facts, "with mpirun, one process for each rank") + kFind +
          "# HOSTS: machines with their numbers of ranks, for example node1:4,node2:4; empty = here.\nhosts=${HOSTS-" +
          hosts + "}\n" + kCopy +
          "if [ -n \"$hosts\" ]; then\n  set -- --hosts \"$hosts\" \"$@\"\nfi\nexec \"$exec_program\"" +
          arguments(many) + " --launch mpirun \"$@\"\n",
      true};
  files["run.sbatch"] = {slurmScript(request, many, facts, ranks), true};
  files["README.md"] = {readmeOf(request, facts, ranks), false};
  return files;
}

}  // namespace coppice::remote
