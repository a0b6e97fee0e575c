// SPDX-License-Identifier: Apache-2.0
// Runs many schedules in one job of processes: mpi_driver PLUGIN presets|forward [RANKS], of which
// cuda runs several in a process. Process 0 makes the plans and sends
// them to the others, since to make them in every process of a small machine would take all the time there is. Prints
// one line per schedule: "ok NAME" or "wrong NAME: WHY", and "end" when all were run.
#include <dlfcn.h>
#include <mpi.h>

#include <chrono>
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
  for (const presets::Preset& preset : presets::catalogue()) {
    all.push_back({preset.name, ""});
  }
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

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    return 1;
  }
  void* const library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  const auto entry = reinterpret_cast<const BackendKind* (*)(int)>(dlsym(library, kBackendSymbol));
  const int ranks = argc == 4 ? std::atoi(argv[3]) : jobProcesses();
  auto backend = entry(kBackendAbi)->create({.ranks = ranks, .virtualRanks = true});
  if (!backend) {
    std::fprintf(stderr, "%s\n", describe(backend.error()).c_str());
    return 1;
  }
  const bool isFirst = (*backend)->process() == 0;
  int wrong = 0;
  std::size_t turn = 0;
  for (const Case& one : casesOf(argv[2], ranks)) {
    for (const Collective collective : {Collective::allgather, Collective::reduceScatter, Collective::allreduce,
                                        Collective::broadcast, Collective::reduce}) {
      // Both variants of every collective are too much for one run: they take turns, with the types and operations.
      const bool inPlace = turn % 2 == 0;
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
