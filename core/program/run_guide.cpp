// SPDX-License-Identifier: Apache-2.0
#include "program/run_guide.hpp"

#include <algorithm>
#include <cstdint>

#include "base/shell.hpp"
#include "program/rooted.hpp"
#include "program/used_sizes.hpp"

namespace coppice::program {
namespace {

/// The program of nccl-tests (and of rccl-tests, which has the same names) that makes the call; empty for collectives
/// that none calls: gather_perf and scatter_perf of both send and receive instead.
std::string testProgram(const Program& program) {
  const std::string& other = program.collectiveText;
  if (other == "alltoall" || other == "alltoallv") {
    return other + "_perf";
  }
  if (!other.empty()) {
    return {};
  }
  switch (program.collective) {
    case Collective::allgather:
      return "all_gather_perf";
    case Collective::reduceScatter:
      return "reduce_scatter_perf";
    case Collective::allreduce:
      return "all_reduce_perf";
    case Collective::broadcast:
      return "broadcast_perf";
    case Collective::reduce:
      return "reduce_perf";
    case Collective::alltoall:
      return "alltoall_perf";
    case Collective::gather:
    case Collective::scatter:
    case Collective::custom:
      break;
  }
  return {};
}

/// "512", "64K", "1G", as nccl-tests reads them.
std::string testBytes(std::int64_t bytes) {
  for (const auto& [shift, suffix] : {std::pair{30, "G"}, std::pair{20, "M"}, std::pair{10, "K"}}) {
    if (bytes != 0 && bytes % (std::int64_t{1} << shift) == 0) {
      return std::to_string(bytes >> shift) + suffix;
    }
  }
  return std::to_string(bytes);
}

/// The part of a sweep that a measurement wants: up to 1 GiB, or one size where all are larger.
SizeSweep measured(SizeSweep sweep) {
  constexpr std::int64_t kEnough = std::int64_t{1} << 30;
  std::int64_t last = sweep.first;
  while (last <= sweep.last / 2 && last * 2 <= kEnough) {
    last *= 2;
  }
  return {sweep.first, last};
}

std::string folderOf(const std::string& file) {
  const std::size_t slash = file.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : file.substr(0, slash);
}

/// A folder for the program alone, beside it.
std::string algorithmFolder(const std::string& file) {
  std::string name = file.substr(file.rfind('/') == std::string::npos ? 0 : file.rfind('/') + 1);
  if (name.ends_with(".xml")) {
    name.resize(name.size() - 4);
  }
  return folderOf(file) + "/" + name + ".msccl";
}

void addMsccl(const Program& program, const std::string& file, RunGuide& guide) {
  guide.library = "MSCCL (github.com/microsoft/msccl, NCCL 2.12.12), built from source; nccl-tests built against it";
  guide.settings.push_back(
      {"MSCCL_XML_FILES", file,
       "the same absolute path on every host; up to 4 files separated by colons, in the same order for every rank"});
  if (program.collectiveText.empty() && program.collective == Collective::allreduce) {
    guide.settings.push_back(
        {"NCCL_ALGO", "MSCCL,RING,TREE", "allreduce uses no program of MSCCL unless MSCCL is listed"});
  }
  if (program.protocol == Protocol::ll128) {
    guide.notes.emplace_back(
        "LL128 is used only where NCCL enables it: within one host, over NVLink, on V100 or A100.");
  }
  guide.notes.emplace_back(
      "With NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,ENV the log must say \"Connected 1 MSCCL algorithms\" for every "
      "rank.");
}

void addFolder(const std::string& file, const std::string& defaults, RunGuide& guide) {
  const std::string folder = algorithmFolder(file);
  guide.prepare.push_back("mkdir -p " + shellWord(folder) + " && cp " + shellWord(file) + " " + shellWord(folder) +
                          "/");
  guide.settings.push_back({"MSCCL_ALGO_DIR", folder,
                            "every file in it is read, and any other file prevents the start, so it must contain only "
                            "programs; without it: " +
                                defaults});
}

void addExecutor(const std::string& file, RunGuide& guide) {
  guide.library =
      "msccl-executor-nccl (github.com/Azure/msccl-executor-nccl, NCCL 2.23.4) in place of libnccl.so: first in "
      "LD_LIBRARY_PATH, or by LD_PRELOAD";
  addFolder(file,
            "msccl-algorithms beside libnccl.so, ../share/nccl/msccl-algorithms, /usr/share/nccl/msccl-algorithms",
            guide);
  guide.notes.emplace_back("NCCL_MSCCL_ENABLE must not be 0.");
  guide.notes.emplace_back(
      "With NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT the log must say \"Using MSCCL Algo files from\" this folder.");
}

void addRccl(const Program& program, Runtime runtime, const std::string& file, RunGuide& guide) {
  const char* const release = runtime == Runtime::rccl ? "6.2 or later" : runtime == Runtime::rccl61 ? "6.1" : "6.0";
  guide.library = std::string("RCCL of ROCm ") + release +
                  " (librccl.so), with rccl-tests, whose programs have the names of nccl-tests";
  addFolder(file, "msccl-algorithms beside librccl.so, or ../share/rccl/msccl-algorithms", guide);
  guide.settings.push_back({"RCCL_MSCCL_FORCE_ENABLE", "1",
                            "without it only machines known to RCCL use programs: 8 MI300X, and one kind of 16 GPUs"});
  if (program.collectiveText.empty() &&
      (program.collective == Collective::allreduce || program.collective == Collective::allgather)) {
    guide.settings.push_back(
        {"RCCL_MSCCLPP_ENABLE", "0", "from ROCm 6.2 on, MSCCL++ can take calls of up to 1 MiB on MI300 before MSCCL"});
  }
  guide.notes.emplace_back("RCCL_MSCCL_ENABLE must not be 0.");
  guide.notes.emplace_back(
      "With NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT the log must say \"Using MSCCL files from\" this folder.");
}

/// Breaks a text at blanks.
void wrap(const std::string& label, const std::string& text, std::string& to) {
  constexpr std::size_t kIndent = 14;
  constexpr std::size_t kWidth = 100 - kIndent;
  std::string rest = text;
  std::string head = "  " + label;
  head.resize(std::max(kIndent, head.size() + 1), ' ');
  while (rest.size() > kWidth) {
    std::size_t cut = rest.rfind(' ', kWidth);
    if (cut == std::string::npos) {
      cut = rest.find(' ');
    }
    if (cut == std::string::npos) {
      break;
    }
    to += head + rest.substr(0, cut) + "\n";
    rest.erase(0, cut + 1);
    head.assign(kIndent, ' ');
  }
  to += head + rest + "\n";
}

}  // namespace

namespace {

/// What makes the calls of collectives that test programs mostly send and receive.
void addCallers(const Program& program, Runtime runtime, RunGuide& guide) {
  const std::string& other = program.collectiveText;
  const bool isGather = other == "gather" || program.collective == Collective::gather;
  const bool isScatter = other == "scatter" || program.collective == Collective::scatter;
  if (other.empty() ? isGather || isScatter : other == "gather" || other == "scatter") {
    const std::string call = isGather && !(other == "scatter") ? "ncclGather" : "ncclScatter";
    guide.notes.push_back(
        runtime == Runtime::mscclExecutorNccl
            ? "No call of msccl-executor-nccl reaches the program: its parser knows the name alone. Write it for RCCL."
            : call +
                  " of RCCL runs the program. gather_perf and scatter_perf of rccl-tests and nccl-tests send and "
                  "receive instead: call " +
                  call + " in a program of your own.");
  } else if (other == "alltoall" || (other.empty() && program.collective == Collective::alltoall)) {
    guide.notes.emplace_back(isRccl(runtime) ? "alltoall_perf of rccl-tests calls ncclAllToAll, which runs the program."
                             : runtime == Runtime::msccl
                                 ? "ncclAllToAll of MSCCL runs the program; alltoall_perf of nccl-tests sends and "
                                   "receives instead. Take that "
                                   "of msccl-tests-nccl (github.com/Azure/msccl-tests-nccl), which calls it."
                                 : "alltoall_perf of nccl-tests before 2.28 sends and receives instead of calling "
                                   "ncclAllToAll. Take that of "
                                   "msccl-tests-nccl (github.com/Azure/msccl-tests-nccl), which calls it.");
  }
}

}  // namespace

RunGuide runGuide(const Program& program, Runtime runtime, const std::string& file) {
  RunGuide guide;
  switch (runtime) {
    case Runtime::msccl:
      addMsccl(program, file, guide);
      break;
    case Runtime::mscclExecutorNccl:
      addExecutor(file, guide);
      break;
    case Runtime::rccl:
    case Runtime::rccl61:
    case Runtime::rccl60:
      addRccl(program, runtime, file, guide);
      break;
    case Runtime::mscclpp:  // reads no MSCCL XML
      break;
  }
  const UsedSizes used = usedSizes(sizeFacts(program), runtime);
  const std::string test = testProgram(program);
  if (used.sweep && !test.empty()) {
    const SizeSweep sweep = measured(*used.sweep);
    guide.command = "mpirun -np " + std::to_string(program.ranks.size()) + " -x LD_LIBRARY_PATH";
    for (const RunSetting& setting : guide.settings) {
      guide.command += " -x " + shellWord(setting.name + "=" + setting.value);
    }
    guide.command += " " + test + " -b " + testBytes(sweep.first) + " -e " + testBytes(sweep.last) + " -f 2 -g 1 -c 1";
    if (isRooted(program) && program.root >= 0) {
      guide.command += " -r " + std::to_string(program.root);
    }
  }
  guide.notes.insert(guide.notes.begin(),
                     {"One process for each GPU (-g 1), in the order of the ranks: rank 0 is the fabric's first GPU.",
                      std::string("Only the ") +
                          (program.inPlace && program.outOfPlace ? "in-place and out-of-place columns run"
                           : program.inPlace                     ? "in-place columns run"
                                                                 : "out-of-place columns run") +
                          " the program, and only at these sizes: " + describe(used) +
                          ". All other calls run the library's own algorithm, without a message."});
  addCallers(program, runtime, guide);
  if (isRooted(program) && program.inPlace) {
    guide.notes.emplace_back(
        "In place: the ranks compare their two buffers, and off the root one of them may be null in a legal call. "
        "Ranks "
        "then decide differently, and the call hangs: give every rank equal pointers, or export with --out-of-place.");
  }
  return guide;
}

std::string toText(const RunGuide& guide) {
  std::string text;
  wrap("library", guide.library, text);
  for (const std::string& command : guide.prepare) {
    text += "  each host   " + command + "\n";
  }
  for (const RunSetting& setting : guide.settings) {
    text += "  setting     " + setting.name + "=" + shellWord(setting.value) + "\n";
    wrap("", setting.reason, text);
  }
  if (!guide.command.empty()) {
    text += "  command     " + guide.command + "\n";
  }
  for (const std::string& note : guide.notes) {
    wrap("note", note, text);
  }
  return text;
}

}  // namespace coppice::program
