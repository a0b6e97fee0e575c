// SPDX-License-Identifier: Apache-2.0
#include "input.hpp"

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <ostream>
#include <sstream>
#include <utility>

#include "base/one_line.hpp"
#include "base/text.hpp"
#include "io/files.hpp"
#include "terminal.hpp"
#include "text.hpp"

namespace coppice::cli {

Result<std::string> readStandardInput(std::size_t maxBytes) {
  const BlockingRead mayWait;
  std::string text;
  std::array<char, 65536> buffer{};
  std::size_t got = 0;
  while ((got = std::fread(buffer.data(), 1, buffer.size(), stdin)) > 0) {
    text.append(buffer.data(), got);
    if (text.size() > maxBytes) {
      return Error{ErrorCode::badInput, "standard input is longer than " + std::to_string(maxBytes >> 20) + " MiB",
                   "check that it is the right file"};
    }
  }
  if (std::ferror(stdin) != 0) {
    return Error{ErrorCode::io, "standard input could not be read"};
  }
  return text;
}

Result<std::string> readText(const std::string& path, std::size_t maxBytes) {
  return workflow::readText(path, readStandardInput, maxBytes);
}

Outcome deliver(const std::string& output, std::string text, const std::string& label, bool json, Report& report) {
  if (output == "-") {
    if (json) {
      return Error{ErrorCode::badUsage, "standard output cannot take both the file and the JSON report",
                   "give -o a file name, or leave --json out"};
    }
    report.document = std::move(text);
    return Done{};
  }
  return deliver(
      output,
      [&](std::ostream& out) -> Outcome {
        out.write(text.data(), static_cast<std::streamsize>(text.size()));
        return Done{};
      },
      label, json, report);
}

Outcome deliver(const std::string& output, const std::function<Outcome(std::ostream&)>& write, const std::string& label,
                bool json, Report& report) {
  if (output == "-") {
    std::ostringstream text;
    const Outcome written = write(text);
    return written ? deliver(output, std::move(text).str(), label, json, report) : written;
  }
  const Outcome saved = io::saveFile(output, write);
  if (!saved) {
    return saved.error();
  }
  report.json["file"] = output;
  report.text += label + oneLine(output) + "\n";
  return Done{};
}

Outcome keepInput(const std::string& input, const std::string& output) {
  std::error_code ignored;
  if (input != "-" && output != "-" && !output.empty() && std::filesystem::equivalent(input, output, ignored)) {
    return Error{ErrorCode::badUsage, "-o " + inQuotes(output) + " is the input file, which would be overwritten",
                 "give -o another name"};
  }
  return Done{};
}

void addFabricOptions(CLI::App& sub, FabricOptions& options) {
  options.standardInput = readStandardInput;
  sub.add_option("fabric", options.source,
                 "Fabric file, schedule (its fabric), - for standard input, or preset:NAME,key=value,…")
      ->required();
  sub.add_option("--from", options.from,
                 "Format: " + io::formatNames() + "; default: detected from suffix and content");
  sub.add_option("--gpus", options.gpus, "Keep only these GPUs: ids, ranks or ranges of ranks, for example 0-7,16-23");
  addImportOptions(sub, options.import);
}

void addImportOptions(CLI::App& sub, io::ImportAnswers& import) {
  sub.add_option("--boxes", import.boxes,
                 "nccl-xml, nvidia-smi, taccl: number of copies of the box that the file describes")
      ->capture_default_str();
  sub.add_option("--scale-out", import.scaleOut,
                 "nccl-xml, nvidia-smi: network between the copies: switch, rails or planes");
  sub.add_option("--nics", import.nics, "nccl-xml, nvidia-smi: use only these NICs, for example mlx5_0,mlx5_1");
  sub.add_flag("--nominal-rates", import.nominalRates, "nccl-xml: nominal link rates of the vendor instead of NCCL's");
  sub.add_option("--nvlink", import.nvlink, "nvidia-smi: what NVLink connects: switch or mesh; default: guessed");
  sub.add_option(
      "--nvlink-bandwidth", import.nvlinkBandwidth,
      "GB/s per NVLink (nvidia-smi), per xGMI link between two GPUs (rocm-smi), or of a GPU's NVLinks together "
      "(nccl-xml without <gpu>, as 12x25), per direction");
  sub.add_option("--nic-bandwidth", import.nicBandwidth,
                 "nvidia-smi, slurm, nccl-xml without <nic>: GB/s per NIC and direction");
  sub.add_option("--complete-from", import.completeFrom,
                 "nccl-xml without <gpu> (what clouds set in NCCL_TOPO_FILE): the preset whose NVLinks and NICs the "
                 "GPUs have, for example dgx-a100 or aws-p5");
  sub.add_option("--uplink-bandwidth", import.uplinkBandwidth, "slurm: GB/s per link between switches and direction");
  sub.add_option("--hosts", import.hosts, "ibnetdiscover, slurm: use only these hosts, for example dgx*,node0?");
  sub.add_option("--adapters", import.adapters, "ibnetdiscover: use only these adapters, for example mlx5_?");
  sub.add_option("--pcie-bandwidth", import.pcieBandwidth, "nvidia-smi, rocm-smi: GB/s per PCIe link and direction");
  sub.add_option("--socket-bandwidth", import.socketBandwidth,
                 "nvidia-smi, rocm-smi: GB/s between CPU sockets, per direction");
  sub.add_option("--type", import.machine, "taccl: ndv2, dgx2, hub or custom; default: by the file");
  sub.add_option("--time-unit", import.timeUnit,
                 "taccl: microseconds of a unit of the topology file, for example 0.01; default: guessed");
  sub.add_flag("--keep-pcie", import.keepPcie, "nccl-xml, nvidia-smi: keep every PCIe bridge and CPU");
}

void addDemandOptions(CLI::App& sub, workflow::DemandText& options) {
  sub.add_option(
         "-c,--collective", options.collective,
         "allgather, reduce_scatter, allreduce, broadcast or reduce; generate, optimum: also gather, scatter and "
         "alltoall")
      ->capture_default_str();
  sub.add_option("--root", options.root, "broadcast, reduce, gather, scatter: the root, by id or rank");
  sub.add_option("--amounts", options.amounts,
                 "allgather, reduce_scatter, gather, scatter: relative data of each rank, for example 1,1,2,0; or by "
                 "GPU, for example b0g3=2,b1*=0, where the others have 1");
}

void addOptions(CLI::App& sub, const std::vector<workflow::Option>& options, workflow::Values& values,
                const std::string& group) {
  for (const workflow::Option& option : options) {
    const std::string name = "--" + option.name;
    if (sub.get_option_no_throw(name) != nullptr) {
      continue;  // of another method too
    }
    const auto set = [&values, key = option.name](const std::string& value) { values[key] = value; };
    CLI::Option* added = nullptr;
    if (option.kind == workflow::OptionKind::flag) {
      added = sub.add_flag_callback(
          name, [set] { set("true"); }, option.help);
    } else {
      const bool isNumber = option.kind == workflow::OptionKind::integer;
      added = sub.add_option_function<std::string>(name, set, option.help)
                  ->type_name(!option.placeholder.empty() ? option.placeholder : (isNumber ? "INT" : "TEXT"))
                  ->default_str(option.defaultText);
    }
    if (!group.empty()) {
      added->group(group);
    }
  }
}

}  // namespace coppice::cli
