// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <memory>
#include <new>

#include "io/fabric_json.hpp"
#include "io/files.hpp"
#include "io/taccl_json.hpp"
#include "mpi/job_environment.hpp"
#include "mpi/launcher.hpp"
#include "probe/command.hpp"
#include "probe/command_output.hpp"
#include "probe/contention.hpp"
#include "probe/copies.hpp"
#include "probe/nvml.hpp"
#include "probe/probe.hpp"
#include "probe/profile.hpp"
#include "probe/taccl_profile.hpp"
#include "program/run_protocol.hpp"

namespace coppice::probe {
namespace {

using program::RunExit;

constexpr int kMaxRanks = 64;

struct ProfileWords {
  int ranks = 2;
  int maximum = 64;  ///< MiB
  std::string backend = "threads";
  std::string launcher;
  std::string hosts;
  std::string partition;
  std::string file;
  std::string recorded;  ///< a profile to work on instead of measuring
  std::string taccl;     ///< where to write a topology of TACCL
  std::int64_t chunkKilobytes = 1024;
  bool contention = false;  ///< measure copies instead of messages
  bool together = false;    ///< also all ranks at once
  int gpusPerNode = 0;
  int nicsPerNode = 1;
  bool json = false;
  bool fabric = false;
  bool launched = false;
};

struct InferOptions {
  std::string record;
  std::string file;
  bool json = false;
  bool fabric = false;
};

int launch(const ProfileWords& options) {
  executor::LaunchRequest request{
      .words = {"profile", "--ranks", std::to_string(options.ranks), "--max", std::to_string(options.maximum)},
      .ranks = options.ranks,
      .launcher = options.launcher,
      .hosts = options.hosts,
      .partition = options.partition};
  if (options.json) {
    request.words.emplace_back("--json");
  }
  if (options.fabric) {
    request.words.emplace_back("--fabric");
  }
  if (options.together) {
    request.words.emplace_back("--together");
  }
  if (!options.file.empty()) {
    request.words.insert(request.words.end(), {"-o", options.file});
  }
  if (!options.taccl.empty()) {
    request.words.insert(
        request.words.end(),
        {"--write-taccl", options.taccl, "--chunk", std::to_string(options.chunkKilobytes), "--gpus-per-node",
         std::to_string(options.gpusPerNode), "--nics-per-node", std::to_string(options.nicsPerNode)});
  }
  return executor::launchMpi(request);
}

/// What was measured, in the forms that are asked for.
int give(const ProfileWords& options, const Profile& profile, const executor::BackendInfo& info) {
  if (!options.taccl.empty()) {
    const auto topology = tacclTopology(profile.pairs, profile.ranks,
                                        {.chunkBytes = options.chunkKilobytes << 10,
                                         .gpusPerNode = options.gpusPerNode,
                                         .nicsPerNode = options.nicsPerNode});
    if (!topology) {
      return fail(topology.error());
    }
    if (const Outcome saved = io::saveFile(options.taccl, io::writeTacclTopology(*topology)); !saved) {
      return fail(saved.error());
    }
  }
  const std::string text = options.fabric ? io::writeFabricJson(profileFabric(profile.pairs, profile.ranks, "profile"))
                           : options.json ? profileJson(profile, info)
                                          : profileText(profile, info);
  return deliver(text, options.file);
}

/// Copies of all GPUs of this machine to host memory, as a record for `infer`.
int measureCopies(const ProfileWords& options) {
  constexpr int kRepeats = 9;
  const auto source = cudaCopies();
  if (!source) {
    return fail(source.error());
  }
  auto record = measureContention(**source, kRepeats, {});
  if (!record) {
    return fail(record.error());
  }
  std::vector<std::string> addresses;
  for (int gpu = 0; gpu < (*source)->gpus(); ++gpu) {
    addresses.push_back((*source)->address(gpu));
  }
  if (const auto answer = NvmlLibrary().read()) {
    record->nvlinks = nvlinkCounts(answer->gpus, addresses);
  }
  // Beside what is inferred, the window shows what the system says.
  NvmlLibrary driver;
  if (const auto drawn = drawFabric(readMachine(Tree("/"), driver))) {
    record->machine = io::writeFabricJson(drawn->description);
  }
  return deliver(writeContention(*record), options.file);
}

Result<Profile> measureMessages(executor::Backend& backend, const ProfileWords& options) {
  const ProfileOptions how{.ranks = options.ranks, .lastBytes = std::int64_t{options.maximum} << 20};
  auto pairs = profileRanks(backend, how);
  if (!pairs) {
    return pairs.error();
  }
  Profile profile{.ranks = options.ranks, .pairs = *std::move(pairs)};
  if (options.together) {
    auto together = profileTogether(backend, how);
    if (!together) {
      return together.error();
    }
    profile.together = *std::move(together);
  }
  if (!options.fabric) {
    auto additions = profileAdditions(backend, how);
    if (!additions) {
      return additions.error();
    }
    profile.additions = *std::move(additions);
  }
  return profile;
}

int profile(const ProfileWords& options) {
  if (options.contention) {
    return measureCopies(options);
  }
  if (!options.recorded.empty()) {
    const auto text = io::readFile(options.recorded);
    if (!text) {
      return fail(text.error());
    }
    auto recorded = readProfile(*text);
    if (!recorded) {
      Error error = recorded.error();
      error.where.file = options.recorded;
      return fail(error);
    }
    executor::BackendInfo info;
    info.name = "recorded";
    return give(options, *recorded, info);
  }
  if (options.backend == "mpi" && !options.launched && !executor::isUnderMpi()) {
    return launch(options);
  }
  const executor::BackendKind* kind = nullptr;
  for (const executor::KnownBackend& known : executor::knownBackends()) {
    if (known.note.name == options.backend) {
      kind = known.kind;
      if (kind == nullptr || !known.note.available) {
        return fail({.code = ErrorCode::unavailable,
                     .message = "the " + options.backend + " backend cannot run here: " + known.note.reason,
                     .fix = known.note.fix});
      }
    }
  }
  if (kind == nullptr) {
    return fail({.code = ErrorCode::badUsage, .message = "unknown backend", .fix = "use threads, mpi or cuda"});
  }
  auto backend = kind->create({.ranks = options.ranks, .virtualRanks = true});
  if (!backend) {
    return fail(backend.error());
  }
  const executor::BackendInfo info = (*backend)->info();
  const auto profile = measureMessages(**backend, options);
  if ((*backend)->process() != 0) {
    return profile ? 0 : static_cast<int>(program::exitFor(profile.error()));
  }
  if (!profile) {
    return fail(profile.error(), (*backend)->brokenBy());
  }
  return give(options, *profile, info);
}

/// PCIe switches and the places of NICs from a record of contention.
int infer(const InferOptions& options) {
  const auto text = io::readFile(options.record);
  if (!text) {
    return fail(text.error());
  }
  auto record = readContention(*text);
  if (!record) {
    Error error = record.error();
    error.where.file = options.record;
    return fail(error);
  }
  const Inference inference = inferSwitches(*record);
  return deliver(options.fabric ? io::writeFabricJson(inferredFabric(*record, inference))
                 : options.json ? inferenceJson(*record, inference)
                                : inferenceText(inference),
                 options.file);
}

}  // namespace

void addProfileCommand(CLI::App& app, int& exitCode) {
  auto options = std::make_shared<ProfileWords>();
  CLI::App* const command =
      app.add_subcommand("profile", "Measure latency and bandwidth between ranks, fitted as in TACCL");
  command->add_option("--ranks", options->ranks, "Ranks to measure between")->check(CLI::Range(2, kMaxRanks));
  command->add_option("--max", options->maximum, "Largest message, MiB")->check(CLI::Range(1, 64));
  command->add_option("--backend", options->backend, "threads, mpi or cuda");
  CLI::Option* const json = command->add_flag("--json", options->json, "One line of JSON, the fabric within");
  command->add_flag("--fabric", options->fabric, "The ranks and the measured values, as a .fabric.json")
      ->excludes(json);
  command->add_option("-o,--output", options->file, "Write to this file instead of standard output");
  command->add_option("--recorded", options->recorded, "Use a recording that --json wrote instead of measuring");
  command->add_flag("--together", options->together,
                    "Also measure messages of all ranks at once, for --profile of coppice-cli simulate, compare, best");
  command->add_flag("--contention", options->contention, "Measure copies to host memory at the same time, for infer")
      ->excludes(json);
  command->add_option("--write-taccl", options->taccl, "Also write a topology file of TACCL, with costs per chunk");
  command->add_option("--chunk", options->chunkKilobytes, "--write-taccl: KiB of a chunk; default 1024")
      ->check(CLI::Range(1, 1 << 20));
  command->add_option("--gpus-per-node", options->gpusPerNode, "--write-taccl: ranks of a node; default: all")
      ->check(CLI::Range(0, kMaxRanks));
  command->add_option("--nics-per-node", options->nicsPerNode, "--write-taccl: NICs of a node; default 1")
      ->check(CLI::Range(1, kMaxRanks));
  command->add_option("--launch", options->launcher, "mpi: start the processes with mpirun or srun");
  command->add_option("--host,--hosts", options->hosts, "mpi: hosts, separated by commas");
  command->add_option("--partition", options->partition, "mpi with srun: partition");
  command->add_flag("--launched", options->launched)->group("");
  command->callback([options, &exitCode] {
    try {
      exitCode = profile(*options);
    } catch (const std::bad_alloc&) {
      exitCode = fail({.code = ErrorCode::limit, .message = "not enough memory to profile", .fix = "lower --max"});
    }
  });
}

void addInferCommand(CLI::App& app, int& exitCode) {
  auto options = std::make_shared<InferOptions>();
  CLI::App* const command =
      app.add_subcommand("infer", "Infer PCIe switches and where NICs are from recorded contention of copies");
  command->add_option("record", options->record, "JSON with \"alone\", \"together\", \"beside_nic\", \"loopback\"")
      ->required();
  CLI::Option* const json = command->add_flag("--json", options->json, "One line of JSON, the fabric within");
  command->add_flag("--fabric", options->fabric, "The inferred fabric, as a .fabric.json")->excludes(json);
  command->add_option("-o,--output", options->file, "Write to this file instead of standard output");
  command->callback([options, &exitCode] { exitCode = infer(*options); });
}

}  // namespace coppice::probe
