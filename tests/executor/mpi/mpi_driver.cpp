// SPDX-License-Identifier: Apache-2.0
// Runs many schedules in one job of processes: mpi_driver PLUGIN presets|forward|iterations [RANKS [WORKERS]]. cuda
// runs several ranks in a process. "iterations" compares what several iterations leave behind with the threads backend,
// which separates them by barriers; the other sets check one iteration against the reference. Process 0 makes the plans
// and sends them to the others, since to make them in every process of a small machine would take all the time there
// is. Prints one line per schedule: "ok NAME" or "wrong NAME: WHY", and "end" when all were run.
#include <dlfcn.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "executor/support.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/forestcoll.hpp"
#include "lowering/lowering.hpp"
#include "mpi/job_environment.hpp"
#include "presets/presets.hpp"

using namespace coppice;
using namespace coppice::executor;
using namespace coppice::executor::test;

namespace {

/// Waits without taking the core from those that are waited for.
void await(MPI_Request request) {
  int done = 0;
  while (MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done == 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

std::string shared(const std::string& own) {
  long long size = static_cast<long long>(own.size());
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibcast(&size, 1, MPI_LONG_LONG, 0, MPI_COMM_WORLD, &request);
  await(request);
  std::string text = own;
  text.resize(static_cast<std::size_t>(size));
  MPI_Ibcast(text.data(), static_cast<int>(size), MPI_BYTE, 0, MPI_COMM_WORLD, &request);
  await(request);
  return text;
}

template <typename Item>
void put(std::string& text, const Item& item) {
  text.append(reinterpret_cast<const char*>(&item), sizeof(item));
}
template <typename Item>
void put(std::string& text, const std::vector<Item>& items) {
  put(text, items.size());
  text.append(reinterpret_cast<const char*>(items.data()), items.size() * sizeof(Item));
}
template <typename Item>
void take(std::string_view& text, Item& item) {
  std::memcpy(&item, text.data(), sizeof(item));
  text.remove_prefix(sizeof(item));
}
template <typename Item>
void take(std::string_view& text, std::vector<Item>& items) {
  std::size_t count = 0;
  take(text, count);
  items.resize(count);
  std::memcpy(items.data(), text.data(), count * sizeof(Item));
  text.remove_prefix(count * sizeof(Item));
}

/// The same members in both directions.
template <typename Text, typename PlanType, typename Move>
void movePlan(Text& text, PlanType& plan, Move move) {
  move(text, plan.operation);
  move(text, plan.place);
  move(text, plan.root);
  move(text, plan.chunksPerLoop);
  move(text, plan.chunksPerPart);
  move(text, plan.inputChunks);
  move(text, plan.outputChunks);
  move(text, plan.channels);
  move(text, plan.smallestDepth);
  move(text, plan.needsEqualChunks);
  move(text, plan.ranks);
  move(text, plan.blocks);
  move(text, plan.steps);
  move(text, plan.connections);
}

struct Case {
  std::string preset;
  std::string arguments;
};

std::vector<Case> casesOf(const std::string& set, int processes) {
  std::vector<Case> all;
  if (set == "forward") {
    return {{"ring", "gpus=4"}, {"complete", "gpus=4"}, {"fig-4-5", ""}, {"dgx-a100", "boxes=1"}};
  }
  if (set == "iterations") {
    all = {{"ring", "gpus=2"}, {"complete", "gpus=4"}, {"ring", "gpus=4"}, {"dgx-a100", "boxes=1"}};
  } else {
    for (const presets::Preset& preset : presets::catalogue()) {
      all.push_back({preset.name, ""});
    }
  }
  if (set == "presets") {
    for (const auto& [preset, arguments] : std::vector<std::pair<const char*, const char*>>{{"dgx1-v100", "boxes=2"},
                                                                                            {"dgx2", "boxes=1"},
                                                                                            {"gb200-nvl72", "gpus=16"},
                                                                                            {"hgx-mi300x", "boxes=1"},
                                                                                            {"mi250", "boxes=1"},
                                                                                            {"azure-ndv2", "boxes=1"},
                                                                                            {"ring", "gpus=2"},
                                                                                            {"ring", "gpus=16"},
                                                                                            {"complete", "gpus=4"}}) {
      all.push_back({preset, arguments});
    }
  }
  std::erase_if(all, [&](const Case& one) {
    std::map<std::string, std::string> map;
    if (!one.arguments.empty()) {
      const std::size_t equals = one.arguments.find('=');
      map[one.arguments.substr(0, equals)] = one.arguments.substr(equals + 1);
    }
    const auto description = presets::make(one.preset, map);
    return fabric::Fabric::build(*description)->gpuCount() > processes;
  });
  return all;
}

std::string planText(const Case& one, Collective collective, bool inPlace) {
  std::map<std::string, std::string> map;
  if (!one.arguments.empty()) {
    const std::size_t equals = one.arguments.find('=');
    map[one.arguments.substr(0, equals)] = one.arguments.substr(equals + 1);
  }
  const fabric::Fabric fabric = *fabric::Fabric::build(*presets::make(one.preset, map));
  forestcoll::Request request;
  request.collective = collective;
  request.plainSwitches = true;  // programs send between GPUs
  if (collective == Collective::broadcast || collective == Collective::reduce) {
    request.root = fabric.gpuCount() / 3;
  }
  const schedule::Schedule schedule = forestcoll::generate(fabric, request)->schedule;
  const auto program = lowering::lower(fabric, schedule, {.inPlace = inPlace});
  if (!program) {
    return {};
  }
  const Job job = jobOf(*program, {.root = schedule.root.value_or(-1)});
  if (!job.inPlace && !job.outOfPlace) {
    return {};
  }
  std::string text;
  put(text, job.depth);
  movePlan(text, job.any(), [](std::string& into, const auto& item) { put(into, item); });
  return text;
}

/// Fills the buffers of the ranks of one backend: the same in every backend, another for each seed.
void fill(Backend& backend, const Geometry& geometry, std::uint64_t seed) {
  for (const int rank : backend.localRanks()) {
    const RankBuffers buffers = backend.buffers(rank);
    std::uint64_t state = seed * 1000003 + static_cast<std::uint64_t>(rank) + 1;
    const auto write = [&](std::byte* to, std::int64_t elements) {
      for (std::int64_t i = 0; i < elements; ++i) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        const auto value = static_cast<std::int32_t>(state >> 40U) % 1000;
        const auto number = static_cast<float>(value);
        std::memcpy(to + i * 4, geometry.type == DataType::int32 ? static_cast<const void*>(&value) : &number, 4);
      }
    };
    write(buffers.output, geometry.outputElements);
    write(buffers.input, geometry.inputElements);  // in place, one lies in the other
  }
}

/// Empty when the buffers of this process's ranks hold the same in both.
std::string difference(Backend& backend, Backend& model, const Geometry& geometry) {
  for (const int rank : backend.localRanks()) {
    const RankBuffers own = backend.buffers(rank);
    const RankBuffers right = model.buffers(rank);
    for (const auto& [found, expected, elements, name] :
         {std::tuple{own.output, right.output, geometry.outputElements, "output"},
          std::tuple{own.input, right.input, geometry.inputElements, "input"}}) {
      const auto end = expected + elements * 4;
      const auto at = std::mismatch(expected, end, found).first;
      if (at != end) {
        return "rank " + std::to_string(rank) + ", " + name + "[" + std::to_string((at - expected) / 4) + "]";
      }
    }
  }
  return {};
}

/// Runs of several iterations, of which each continues with the data that the one before left. 4-byte types only.
std::string iterate(Backend& backend, const Plan& plan, int depth, std::int64_t bytes, DataType type, ReduceOp op) {
  const std::unique_ptr<Backend> model = makeThreads(1);
  const auto geometry = makeGeometry(
      plan, {.type = type, .bytes = bytes, .pieceBytes = backend.pieceBytes(plan, type, bytes), .depth = depth});
  if (!geometry || !model->prepare(plan, *geometry) || !backend.prepare(plan, *geometry)) {
    return "not prepared";
  }
  int runs = 0;
  for (const int iterations : {5, 1, 12}) {
    // The second run continues with the data of the first.
    if (++runs != 2) {
      fill(*model, *geometry, static_cast<std::uint64_t>(runs));
      fill(backend, *geometry, static_cast<std::uint64_t>(runs));
    }
    if (!backend.barrier() || !model->run({.iterations = iterations, .op = op}) ||
        !backend.run({.iterations = iterations, .op = op, .stallSeconds = 0})) {
      return "run " + std::to_string(runs) + " fails";
    }
    const std::string wrong = difference(backend, *model, *geometry);
    const auto all = backend.sum(wrong.empty() ? 0 : 1);
    if (!all || *all > 0) {
      return "run " + std::to_string(runs) + ", " + std::to_string(bytes) +
             " bytes: " + (wrong.empty() ? "another process has other data" : wrong + " differs");
    }
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 5) {
    return 1;
  }
  void* const library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  const auto entry = reinterpret_cast<const BackendKind* (*)(int)>(dlsym(library, kBackendSymbol));
  const int ranks = argc >= 4 ? std::atoi(argv[3]) : jobProcesses();
  const int workers = argc == 5 ? std::atoi(argv[4]) : 0;
  const bool iterates = std::strcmp(argv[2], "iterations") == 0;
  auto backend = entry(kBackendAbi)->create({.ranks = ranks, .workers = workers, .virtualRanks = true});
  if (!backend) {
    std::fprintf(stderr, "%s\n", describe(backend.error()).c_str());
    return 1;
  }
  const bool isFirst = (*backend)->process() == 0;
  int wrong = 0;
  std::size_t turn = 0;
  std::size_t rounds = 0;
  for (const Case& one : casesOf(argv[2], ranks)) {
    for (const Collective collective : {Collective::allgather, Collective::reduceScatter, Collective::allreduce,
                                        Collective::broadcast, Collective::reduce}) {
      // Both variants of every collective are too much for one run: they take turns, with the types and operations.
      const bool inPlace = iterates ? rounds++ % 2 == 0 : turn % 2 == 0;
      const std::string name = one.preset + " " + one.arguments + " " + std::string(toString(collective)) +
                               (inPlace ? " in place" : " out of place");
      const std::string text = shared(isFirst ? planText(one, collective, inPlace) : std::string());
      if (text.empty()) {
        ++wrong;
        if (isFirst) {
          std::printf("wrong %s: no plan\n", name.c_str());
        }
        continue;
      }
      Job job;
      Plan plan;
      std::string_view rest = text;
      take(rest, job.depth);
      movePlan(rest, plan, [](std::string_view& from, auto& item) { take(from, item); });
      if (iterates) {
        std::string fault;
        for (const std::int64_t bytes : {std::int64_t{1000}, std::int64_t{40000}, std::int64_t{300000}}) {
          const bool averages = ++turn % 3 == 0;
          fault += fault.empty()
                       ? iterate(**backend, plan, job.depth, bytes, averages ? DataType::float32 : DataType::int32,
                                 averages ? ReduceOp::avg : ReduceOp::sum)
                       : "";
        }
        wrong += fault.empty() ? 0 : 1;
        if (isFirst) {
          std::printf("%s %s: %s\n", fault.empty() ? "ok" : "wrong", name.c_str(), fault.c_str());
          std::fflush(stdout);
        }
        continue;
      }
      (inPlace ? job.inPlace : job.outOfPlace) = std::move(plan);
      BenchOptions options = checking(0);
      options.firstBytes = 4 * 1021;
      options.lastBytes = 200000;
      options.factor = 40;
      options.types = {kAllTypes[turn % std::size(kAllTypes)]};
      options.ops = {kAllOps[turn % std::size(kAllOps)]};
      ++turn;
      const Ran ran = runJob(**backend, job, options);
      if (!ran.fault().empty()) {
        ++wrong;
      }
      if (isFirst) {
        std::printf("%s %s%s%s\n", ran.fault().empty() ? "ok" : "wrong", name.c_str(), ran.fault().empty() ? "" : ": ",
                    ran.fault().c_str());
        std::fflush(stdout);
      }
    }
  }
  if (isFirst) {
    std::printf("end\n");
  }
  return wrong == 0 ? 0 : 1;
}
