// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>
#include <vector>

#include "presets/generators.hpp"
#include "presets/scale_out.hpp"
#include "presets/switched_boxes.hpp"

namespace coppice::presets {
namespace {

constexpr int kMaxBoxes = 20'000;
constexpr int kMaxGpusPerBox = 1024;

std::vector<Rule> boxRules(int boxes, int gpus, const std::string& inner, const std::string& nic) {
  return {integerRule("boxes", boxes, 1, kMaxBoxes, "number of boxes"),
          {.name = "gpus",
           .kind = ValueKind::integers,
           .defaultText = std::to_string(gpus),
           .description = "GPUs per box",
           .low = 1,
           .high = kMaxGpusPerBox},
          {.name = "nvlink",
           .kind = ValueKind::bandwidths,
           .defaultText = inner,
           .description = "each GPU to the switch of its box"},
          {.name = "nic",
           .kind = ValueKind::bandwidths,
           .defaultText = nic,
           .description = "each GPU to the scale-out network"},
          flagRule("nvls", "the switches inside boxes multicast and aggregate (NVLink SHARP: NVSwitch 3 and later)"),
          sharpRule()};
}

fabric::Description makeCluster(const Arguments& arguments, const std::string& network, const std::string& what) {
  const int count = arguments.integer("boxes");
  SwitchedBoxes boxes;
  boxes.name = countedName(count, what);
  boxes.network = network;
  for (const std::int64_t gpus : perBox(arguments.integers("gpus"), count, "gpus")) {
    boxes.gpus.push_back(static_cast<int>(gpus));
  }
  boxes.inner = perBox(arguments.bandwidths("nvlink"), count, "nvlink");
  boxes.nic = perBox(arguments.bandwidths("nic"), count, "nic");
  boxes.innerCapability = capableIf(arguments.flag("nvls"));
  return switchedBoxes(boxes, arguments);
}

std::vector<Rule> with(std::vector<Rule> rules, std::vector<Rule> more) {
  for (Rule& rule : more) {
    rules.push_back(std::move(rule));
  }
  return rules;
}

}  // namespace

std::vector<Recipe> clusterRecipes() {
  std::vector<Recipe> recipes;
  recipes.push_back(
      {.name = "cluster",
       .title = "Custom boxes",
       .description = "Boxes with one switch inside each, of equal or different size and speed (a list gives one entry "
                      "per box), on a scale-out network of choice.",
       .sources = "No machine: the defaults are two DGX A100 boxes with one NIC per GPU on one switch, as in the "
                  "ForestColl dissertation, section 4.1 and Figure 4.1 (300 and 25 GB/s per GPU).",
       .rules = with(boxRules(2, 8, "300", "25"), scaleOutRules("simple")),
       .generate = [](const Arguments& arguments) {
         return makeCluster(arguments, arguments.text("network"), "box cluster");
       }});
  recipes.push_back(
      {.name = "rail-optimised",
       .title = "Rail-optimised cluster",
       .description =
           "GPU i of every box is connected to rail switch i, and all rails meet in a spine; the uplinks of a rail "
           "carry its downlinks' sum divided by the oversubscription.",
       .sources = "Structure: W. Wang et al., Rail-only: A Low-Cost High-Performance Network for Training LLMs with "
                  "Trillion Parameters (HOTI 2024; the baseline). Default numbers: DGX H100, see preset dgx-h100.",
       .rules = with(boxRules(4, 8, "450", "50"), scaleOutRulesOf("rails")),
       .generate = [](const Arguments& arguments) { return makeCluster(arguments, "rails", "rail-optimised boxes"); }});
  recipes.push_back(
      {.name = "rail-optimised-3",
       .title = "Rail-optimised cluster, three tiers",
       .description = "Units of boxes in which GPU i of every box is connected to leaf i; the leaves of a unit meet in "
                      "its spines, "
                      "and the spines of all units in the cores.",
       .sources = "Structure: NVIDIA DGX SuperPOD reference architecture for DGX H100 (RA-11333-001), compute fabric: "
                  "scalable units of 32 systems, leaves aligned with rails, spines, and cores beyond four units. "
                  "Default numbers: DGX H100, see preset dgx-h100.",
       .rules = with(boxRules(8, 8, "450", "50"), scaleOutRulesOf("three-tier")),
       .generate = [](const Arguments& arguments) {
         return makeCluster(arguments, "three-tier", "rail-optimised boxes in three tiers");
       }});
  recipes.push_back(
      {.name = "two-plane",
       .title = "Two-plane cluster",
       .description = "Every NIC has two ports, each with half of its bandwidth, on two separate leaf-spine networks.",
       .sources = "Structure: K. Qian et al., Alibaba HPN: A Data Center Network for Large Language Model Training "
                  "(SIGCOMM 2024), dual-plane: NICs of two 200 Gb/s ports, one in each plane. NVLink: DGX H100, see "
                  "preset dgx-h100.",
       .rules = with(boxRules(4, 8, "450", "50"), scaleOutRulesOf("two-plane")),
       .generate = [](const Arguments& arguments) { return makeCluster(arguments, "two-plane", "two-plane boxes"); }});
  recipes.push_back(
      {.name = "rail-only",
       .title = "Rail-only cluster",
       .description =
           "GPU i of every box is connected to rail switch i and nothing connects the rails: traffic between them "
           "crosses the switch inside a box.",
       .sources = "Structure: W. Wang et al., Rail-only: A Low-Cost High-Performance Network for Training LLMs with "
                  "Trillion Parameters (HOTI 2024). Default numbers: DGX H100, see preset dgx-h100.",
       .rules = boxRules(4, 8, "450", "50"),
       .generate = [](const Arguments& arguments) { return makeCluster(arguments, "rail-only", "rail-only boxes"); }});
  return recipes;
}

}  // namespace coppice::presets
