// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>
#include <vector>

#include "presets/builder.hpp"
#include "presets/generators.hpp"
#include "presets/switched_boxes.hpp"

namespace coppice::presets {
namespace {

constexpr int kMaxSwitches = 4096;
constexpr int kMaxGpusPerSwitch = 4096;

Rule ratioRule(const std::string& name, const std::string& description) {
  return {.name = name, .kind = ValueKind::ratio, .defaultText = "1", .description = description};
}

Rule capableRule() {
  return flagRule("sharp", "all switches multicast and aggregate (InfiniBand SHARP: NVIDIA SHARP manual, rev. 3.13)");
}

std::string numbered(const std::string& word, int number) {
  return word + std::to_string(number);
}

fabric::Description fatTree2(const Arguments& arguments) {
  const int leaves = arguments.integer("leaves");
  const int gpus = arguments.integer("gpus_per_leaf");
  const int spines = arguments.integer("spines");
  const Bandwidth bandwidth = arguments.bandwidth("bandwidth");
  const Capability capability = capableIf(arguments.flag("sharp"));
  const std::int64_t gpuCount = std::int64_t{leaves} * gpus;
  Builder builder("2-tier fat tree of " + std::to_string(gpuCount) + " GPUs");
  builder.expect(gpuCount + leaves + spines, gpuCount + std::int64_t{leaves} * spines);

  const Bandwidth uplink = bandwidth * (Rational(gpus) / (Rational(spines) * arguments.ratio("oversubscription")));
  for (int leaf = 0; leaf < leaves; ++leaf) {
    const std::string box = numbered("b", leaf);
    const std::string leafId = numbered("leaf", leaf);
    for (int gpu = 0; gpu < gpus; ++gpu) {
      builder.link(builder.gpu(box + numbered("g", gpu), box), leafId, bandwidth);
    }
    builder.relay(leafId, box, capability);
    for (int spine = 0; spine < spines; ++spine) {
      builder.link(leafId, numbered("spine", spine), uplink);
    }
  }
  for (int spine = 0; spine < spines; ++spine) {
    builder.relay(numbered("spine", spine), "", capability);
  }
  return builder.take();
}

fabric::Description fatTree3(const Arguments& arguments) {
  const int pods = arguments.integer("pods");
  const int leaves = arguments.integer("leaves_per_pod");
  const int gpus = arguments.integer("gpus_per_leaf");
  const int spines = arguments.integer("spines_per_pod");
  const int cores = arguments.integer("cores");
  const bool isFull = arguments.text("wiring") == "full";
  if (!isFull && cores % spines != 0) {
    throw Failure{Error{ErrorCode::badUsage,
                        "preset fat-tree-3: " + std::to_string(cores) + " cores do not divide over " +
                            std::to_string(spines) + " spines per pod",
                        "make cores a multiple of spines_per_pod, or choose wiring=full",
                        Place{.element = {RefKind::parameter, "cores"}}}};
  }
  const int coresPerSpine = isFull ? cores : cores / spines;
  const Bandwidth bandwidth = arguments.bandwidth("bandwidth");
  const Capability capability = capableIf(arguments.flag("sharp"));
  const std::int64_t leafCount = std::int64_t{pods} * leaves;
  const std::int64_t spineCount = std::int64_t{pods} * spines;
  const std::int64_t gpuCount = leafCount * gpus;
  Builder builder("3-tier fat tree of " + std::to_string(gpuCount) + " GPUs");
  builder.expect(gpuCount + leafCount + spineCount + cores, gpuCount + leafCount * spines + spineCount * coresPerSpine);

  const Bandwidth leafUplink = bandwidth * (Rational(gpus) / (Rational(spines) * arguments.ratio("oversubscription")));
  const Bandwidth coreUplink =
      leafUplink * (Rational(leaves) / (Rational(coresPerSpine) * arguments.ratio("core_oversubscription")));
  for (int pod = 0; pod < pods; ++pod) {
    const std::string box = numbered("pod", pod);
    const std::string prefix = numbered("p", pod);
    for (int leaf = 0; leaf < leaves; ++leaf) {
      const std::string leafId = prefix + numbered("leaf", leaf);
      for (int gpu = 0; gpu < gpus; ++gpu) {
        builder.link(builder.gpu(prefix + numbered("l", leaf) + numbered("g", gpu), box), leafId, bandwidth);
      }
      builder.relay(leafId, box, capability);
      for (int spine = 0; spine < spines; ++spine) {
        builder.link(leafId, prefix + numbered("spine", spine), leafUplink);
      }
    }
    for (int spine = 0; spine < spines; ++spine) {
      const std::string spineId = prefix + numbered("spine", spine);
      builder.relay(spineId, box, capability);
      for (int core = 0; core < coresPerSpine; ++core) {
        builder.link(spineId, numbered("core", isFull ? core : spine * coresPerSpine + core), coreUplink);
      }
    }
  }
  for (int core = 0; core < cores; ++core) {
    builder.relay(numbered("core", core), "", capability);
  }
  return builder.take();
}

fabric::Description dragonfly(const Arguments& arguments) {
  const int routers = arguments.integer("a");
  const int gpus = arguments.integer("p");
  const int globals = arguments.integer("h");
  const std::int64_t groupCount = std::int64_t{routers} * globals + 1;
  const std::int64_t routerCount = groupCount * routers;
  const Capability capability = capableIf(arguments.flag("sharp"));
  Builder builder("Dragonfly a=" + std::to_string(routers) + " p=" + std::to_string(gpus) +
                  " h=" + std::to_string(globals));
  builder.expect(routerCount * (gpus + 1), routerCount * gpus +
                                               groupCount * (std::int64_t{routers} * (routers - 1) / 2) +
                                               groupCount * (groupCount - 1) / 2);
  const int groups = static_cast<int>(groupCount);

  const auto routerId = [](int group, int router) { return numbered("b", group) + numbered("r", router); };
  for (int group = 0; group < groups; ++group) {
    const std::string box = numbered("b", group);
    for (int router = 0; router < routers; ++router) {
      const std::string id = routerId(group, router);
      for (int gpu = 0; gpu < gpus; ++gpu) {
        builder.link(builder.gpu(id + numbered("g", gpu), box), id, arguments.bandwidth("terminal"));
      }
      builder.relay(id, box, capability);
      for (int other = router + 1; other < routers; ++other) {
        builder.link(id, routerId(group, other), arguments.bandwidth("local"));
      }
    }
    // Link j of a group leads to the group j+1 further on and belongs to router j/h; every pair of groups has one.
    for (int j = 0; j < groups - 1; ++j) {
      const int target = (group + j + 1) % groups;
      if (group < target) {
        builder.link(routerId(group, j / globals), routerId(target, (groups - j - 2) / globals),
                     arguments.bandwidth("global"));
      }
    }
  }
  return builder.take();
}

}  // namespace

std::vector<Recipe> switchedRecipes() {
  std::vector<Recipe> recipes;
  recipes.push_back(
      {.name = "fat-tree-2",
       .title = "2-tier fat tree",
       .description =
           "GPUs on leaf switches, every leaf joined to every spine. An uplink carries the leaf's GPU bandwidth "
           "divided by the spines and the oversubscription.",
       .sources = "Structure: leaf-spine Clos network, C. Leiserson, Fat-trees (IEEE Transactions on Computers, 1985). "
                  "The default of 50 GB/s is one 400 Gb/s port.",
       .rules = {integerRule("leaves", 4, 2, kMaxSwitches, "leaf switches"),
                 integerRule("gpus_per_leaf", 4, 1, kMaxGpusPerSwitch, "GPUs on each leaf"),
                 integerRule("spines", 2, 1, kMaxSwitches, "spine switches"),
                 bandwidthRule("bandwidth", "50", "each GPU to its leaf"),
                 ratioRule("oversubscription", "bandwidth into a leaf from below over that to the spines"),
                 capableRule()},
       .generate = fatTree2});
  recipes.push_back(
      {.name = "fat-tree-3",
       .title = "3-tier fat tree",
       .description =
           "Pods of leaf and spine switches under core switches. wiring=planes joins spine i of every pod to the "
           "i-th group of cores (the k-ary fat tree: pods=k, leaves, gpus and spines k/2, cores k*k/4); "
           "wiring=full joins every spine to every core.",
       .sources = "Structure: M. Al-Fares, A. Loukissas, A. Vahdat, A Scalable, Commodity Data Center Network "
                  "Architecture (SIGCOMM 2008), section 3. The default of 50 GB/s is one 400 Gb/s port.",
       .rules = {integerRule("pods", 4, 2, kMaxSwitches, "pods"),
                 integerRule("leaves_per_pod", 2, 1, kMaxSwitches, "leaf switches in each pod"),
                 integerRule("gpus_per_leaf", 2, 1, kMaxGpusPerSwitch, "GPUs on each leaf"),
                 integerRule("spines_per_pod", 2, 1, kMaxSwitches,
                             "spine switches in each pod, each joined to all its leaves"),
                 integerRule("cores", 4, 1, kMaxSwitches, "core switches"),
                 {.name = "wiring",
                  .kind = ValueKind::choice,
                  .defaultText = "planes",
                  .description = "which cores a spine is joined to",
                  .words = {"planes", "full"}},
                 bandwidthRule("bandwidth", "50", "each GPU to its leaf"),
                 ratioRule("oversubscription", "bandwidth into a leaf from below over that to the spines"),
                 ratioRule("core_oversubscription", "bandwidth into a spine from below over that to the cores"),
                 capableRule()},
       .generate = fatTree3});
  recipes.push_back(
      {.name = "dragonfly",
       .title = "Dragonfly",
       .description = "a*h+1 groups of a routers, all joined within a group; p GPUs and h global links per router; one "
                      "global link between every two groups (link j of group i leads to group i+j+1).",
       .sources = "Structure and letters: J. Kim, W. Dally, S. Scott, D. Abts, Technology-Driven, Highly-Scalable "
                  "Dragonfly Topology (ISCA 2008), section 3. The default of 25 GB/s is one 200 Gb/s port.",
       .rules = {integerRule("a", 2, 1, kMaxSwitches, "routers in each group"),
                 integerRule("p", 2, 1, kMaxGpusPerSwitch, "GPUs on each router"),
                 integerRule("h", 1, 1, kMaxSwitches, "global links of each router"),
                 bandwidthRule("terminal", "25", "each GPU to its router"),
                 bandwidthRule("local", "25", "each link within a group"),
                 bandwidthRule("global", "25", "each link between groups"), capableRule()},
       .generate = dragonfly});
  return recipes;
}

}  // namespace coppice::presets
