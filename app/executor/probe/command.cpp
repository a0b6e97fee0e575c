// SPDX-License-Identifier: Apache-2.0
#include "probe/command.hpp"

#include <CLI/CLI.hpp>
#include <memory>
#include <new>

#include "io/fabric_json.hpp"
#include "io/files.hpp"
#include "probe/command_output.hpp"
#include "probe/probe.hpp"
#include "program/run_protocol.hpp"

namespace coppice::probe {
namespace {

using program::RunExit;

struct ProbeWords {
  bool json = false;
  bool fabric = false;
  bool topology = false;
  bool record = false;
  std::string root = "/";
  std::string rates = "nominal";
  std::string file;
};

/// A machine that cannot be drawn lacks something.
int refuse(const Error& error) {
  return error.code == ErrorCode::infeasible ? fail(error, RunExit::machineLacks) : fail(error);
}

std::unique_ptr<GpuSource> gpuSource(const Tree& tree) {
  if (tree.isLive()) {
    return std::make_unique<NvmlLibrary>();
  }
  // A recorded machine has its driver's answers beside its files.
  auto text = io::readFile(tree.root() / "nvml.json", std::size_t{16} << 20);
  return std::make_unique<RecordedGpus>(text ? *text : std::string());
}

int probe(const ProbeWords& options) {
  std::error_code error;
  if (!std::filesystem::is_directory(options.root, error)) {
    return fail({ErrorCode::io, "there is no folder " + options.root, "give the folder that holds sys and proc"});
  }
  const Tree tree(options.root);
  const std::unique_ptr<GpuSource> source = gpuSource(tree);
  if (options.record) {
    auto answer = source->read();
    return answer ? deliver(recordGpus(*answer), options.file) : refuse(answer.error());
  }
  Machine machine = readMachine(tree, *source);
  const Rates rates = options.rates == "prior" ? Rates::prior : Rates::nominal;
  if (options.fabric) {
    const auto drawn = drawFabric(machine, rates);
    return drawn ? deliver(io::writeFabricJson(drawn->description), options.file) : refuse(drawn.error());
  }
  if (options.topology) {
    const auto topology = ncclTopology(machine);
    return topology ? deliver(*topology, options.file) : refuse(topology.error());
  }
  if (tree.isLive()) {
    readSoftware(machine);
  }
  return deliver(options.json ? machineJson(machine, rates) : machineText(machine), options.file);
}

}  // namespace

void addProbeCommand(CLI::App& app, int& exitCode) {
  auto options = std::make_shared<ProbeWords>();
  CLI::App* const command = app.add_subcommand(
      "probe", "Show the hardware and libraries of this machine: GPUs, links, NICs, cores, libraries");
  CLI::Option* const json = command->add_flag("--json", options->json, "One line of JSON, the fabric within");
  CLI::Option* const fabric = command->add_flag("--fabric", options->fabric, "The machine as a .fabric.json");
  CLI::Option* const topology =
      command->add_flag("--nccl-topo", options->topology, "The machine as an NCCL topology file");
  CLI::Option* const record =
      command->add_flag("--record", options->record, "Record the answers of the NVIDIA driver, to replay with --root");
  for (CLI::Option* const one : {json, fabric, topology, record}) {
    for (CLI::Option* const other : {json, fabric, topology, record}) {
      if (one != other) {
        one->excludes(other);
      }
    }
  }
  command->add_option("--rates", options->rates, "nominal: as the vendors state; prior: as NCCL assumes")
      ->check(CLI::IsMember({"nominal", "prior"}));
  command->add_option("--root", options->root, "A folder with a recorded machine: sys, proc, etc, nvml.json");
  command->add_option("-o,--output", options->file, "Write to this file instead of standard output");
  command->callback([options, &exitCode] {
    try {
      exitCode = probe(*options);
    } catch (const std::bad_alloc&) {
      exitCode = fail({ErrorCode::limit, "not enough memory to probe this machine", "free some memory"});
    }
  });
}

}  // namespace coppice::probe
