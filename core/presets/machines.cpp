// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "presets/generators.hpp"
#include "presets/scale_out.hpp"
#include "presets/switched_boxes.hpp"

namespace coppice::presets {
namespace {

constexpr int kMaxMachines = 10'000;
constexpr int kGpusOfBox = 8;

Rule boxesRule(int count, const std::string& name = "boxes") {
  return integerRule(name, count, 1, kMaxMachines, "number of " + name + "; one alone has no scale-out network");
}

void append(std::vector<Rule>& rules, std::vector<Rule> more) {
  for (Rule& rule : more) {
    rules.push_back(std::move(rule));
  }
}

/// A pair of GPUs of one box and the number of parallel links between them.
struct Pair {
  int a;
  int b;
  int links;
};

// ---------------------------------------------------------------------------------------------------------------------
// Boxes with an NVSwitch

struct NvswitchModel {
  std::string boxes = "boxes";
  int defaultBoxes = 2;
  int gpus = kGpusOfBox;
  std::string nvlink;
  std::string nic;
  std::string network = "simple";
  bool hasNvls = false;
  bool hasSharp = true;  ///< the network between boxes can be InfiniBand
};

std::vector<Rule> nvswitchRules(const NvswitchModel& model) {
  std::vector<Rule> rules = {
      boxesRule(model.defaultBoxes, model.boxes),
      integerRule("gpus", model.gpus, 1, model.gpus, "GPUs in use in each (the first ones)"),
      bandwidthRule("nvlink", model.nvlink, "each GPU to the NVSwitch"),
      bandwidthRule("nic", model.nic, "each GPU's NIC"),
  };
  append(rules, scaleOutRules(model.network));
  if (model.hasNvls) {
    rules.push_back({.name = "nvls",
                     .kind = ValueKind::flag,
                     .defaultText = "true",
                     .description = "the NVSwitch multicasts and aggregates (NVLink SHARP); true as shipped"});
  }
  if (model.hasSharp) {
    rules.push_back(sharpRule());
  }
  return rules;
}

fabric::Description nvswitchBoxes(const Arguments& arguments, const std::string& what,
                                  const std::string& boxPrefix = "b", const std::string& countName = "boxes") {
  const int count = arguments.integer(countName);
  const auto entries = static_cast<std::size_t>(count);
  SwitchedBoxes boxes;
  boxes.name = countedName(count, what);
  boxes.boxPrefix = boxPrefix;
  boxes.network = arguments.text("network");
  boxes.gpus.assign(entries, arguments.integer("gpus"));
  boxes.inner.assign(entries, arguments.bandwidth("nvlink"));
  boxes.nic.assign(entries, arguments.bandwidth("nic"));
  boxes.innerCapability = capableIf(arguments.has("nvls") && arguments.flag("nvls"));
  return switchedBoxes(boxes, arguments);
}

// ---------------------------------------------------------------------------------------------------------------------
// Boxes with PCIe switches that two GPUs and a NIC share

void linkPairs(Builder& builder, const std::vector<std::string>& gpus, const std::vector<Pair>& pairs,
               Bandwidth bandwidth) {
  for (const Pair& pair : pairs) {
    builder.link(gpus[pair.a], gpus[pair.b], bandwidth, pair.links);
  }
}

/// GPUs 2i and 2i+1 on PCIe switch i, its NIC on "ib".
void addPciePairs(Builder& builder, int box, const std::vector<std::string>& gpus, Bandwidth pcieBandwidth,
                  Bandwidth nicBandwidth) {
  const std::string prefix = "b" + std::to_string(box);
  for (std::size_t pair = 0; pair < gpus.size() / 2; ++pair) {
    const std::string pcie = builder.relay(prefix + "pcie" + std::to_string(pair), prefix);
    const std::string nic = builder.nic(prefix + "nic" + std::to_string(pair), prefix);
    builder.link(gpus[2 * pair], pcie, pcieBandwidth);
    builder.link(gpus[2 * pair + 1], pcie, pcieBandwidth);
    builder.link(pcie, nic, nicBandwidth);
    builder.link(nic, "ib", nicBandwidth);
  }
}

/// NVLinks of the hybrid cube mesh as nvidia-smi numbers the GPUs.
const std::vector<Pair> kCubeMesh = {{0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {0, 4, 2}, {1, 2, 2}, {1, 3, 1},
                                     {1, 5, 2}, {2, 3, 2}, {2, 6, 1}, {3, 7, 1}, {4, 5, 1}, {4, 6, 1},
                                     {4, 7, 2}, {5, 6, 2}, {5, 7, 1}, {6, 7, 2}};
/// The same graph numbered as two rings: 0 1 4 5 6 7 2 3 with two links per edge, 0 2 1 3 6 4 7 5 with one.
const std::vector<Pair> kTwoRings = {{0, 1, 2}, {1, 4, 2}, {4, 5, 2}, {5, 6, 2}, {6, 7, 2}, {2, 7, 2},
                                     {2, 3, 2}, {0, 3, 2}, {0, 2, 1}, {1, 2, 1}, {1, 3, 1}, {3, 6, 1},
                                     {4, 6, 1}, {4, 7, 1}, {5, 7, 1}, {0, 5, 1}};

std::vector<std::string> addEightV100(Builder& builder, int box) {
  const std::string prefix = "b" + std::to_string(box);
  std::vector<std::string> gpus;
  for (int gpu = 0; gpu < kGpusOfBox; ++gpu) {
    gpus.push_back(builder.gpu(prefix + "g" + std::to_string(gpu), prefix));
  }
  return gpus;
}

fabric::Description dgx1(const Arguments& arguments) {
  const int boxes = arguments.integer("boxes");
  Builder builder(countedName(boxes, "DGX-1 V100"));
  builder.expect(16LL * boxes + 1, 32LL * boxes);
  const std::vector<Pair>& wiring = arguments.text("wiring") == "nvidia" ? kCubeMesh : kTwoRings;
  for (int box = 0; box < boxes; ++box) {
    const auto gpus = addEightV100(builder, box);
    linkPairs(builder, gpus, wiring, arguments.bandwidth("nvlink"));
    if (boxes > 1) {
      addPciePairs(builder, box, gpus, arguments.bandwidth("pcie"), arguments.bandwidth("nic"));
    }
  }
  if (boxes > 1) {
    builder.relay("ib", "", capableIf(arguments.flag("sharp")));
  }
  return builder.take();
}

fabric::Description dgx2(const Arguments& arguments) {
  constexpr int kGpus = 16;
  const int boxes = arguments.integer("boxes");
  Builder builder(countedName(boxes, "DGX-2"));
  builder.expect(33LL * boxes + 1, 48LL * boxes);
  for (int box = 0; box < boxes; ++box) {
    const std::string prefix = "b" + std::to_string(box);
    std::vector<std::string> gpus;
    for (int gpu = 0; gpu < kGpus; ++gpu) {
      gpus.push_back(builder.gpu(prefix + "g" + std::to_string(gpu), prefix));
      builder.link(gpus.back(), prefix + "nvs", arguments.bandwidth("nvlink"));
    }
    builder.relay(prefix + "nvs", prefix);
    if (boxes > 1) {
      addPciePairs(builder, box, gpus, arguments.bandwidth("pcie"), arguments.bandwidth("nic"));
    }
  }
  if (boxes > 1) {
    builder.relay("ib", "", capableIf(arguments.flag("sharp")));
  }
  return builder.take();
}

fabric::Description ndv2(const Arguments& arguments) {
  const int boxes = arguments.integer("boxes");
  Builder builder(countedName(boxes, "Azure NDv2"));
  builder.expect(15LL * boxes + 1, 31LL * boxes);
  for (int box = 0; box < boxes; ++box) {
    const std::string prefix = "b" + std::to_string(box);
    const auto gpus = addEightV100(builder, box);
    linkPairs(builder, gpus, kCubeMesh, arguments.bandwidth("nvlink"));
    if (boxes == 1) {
      continue;
    }
    const Bandwidth pcieBandwidth = arguments.bandwidth("pcie");
    std::array<std::string, 2> cpus;
    for (int cpu = 0; cpu < 2; ++cpu) {
      cpus[cpu] = builder.relay(prefix + "cpu" + std::to_string(cpu), prefix);
    }
    builder.link(cpus[0], cpus[1], arguments.bandwidth("cpu"));
    for (std::size_t pair = 0; pair < gpus.size() / 2; ++pair) {
      const std::string pcie = builder.relay(prefix + "pcie" + std::to_string(pair), prefix);
      builder.link(gpus[2 * pair], pcie, pcieBandwidth);
      builder.link(gpus[2 * pair + 1], pcie, pcieBandwidth);
      builder.link(pcie, cpus[pair / 2], pcieBandwidth);
    }
    const std::string nic = builder.nic(prefix + "nic0", prefix);
    builder.link(prefix + "pcie0", nic, arguments.bandwidth("nic"));
    builder.link(nic, "ib", arguments.bandwidth("nic"));
  }
  if (boxes > 1) {
    builder.relay("ib", "", capableIf(arguments.flag("sharp")));
  }
  return builder.take();
}

// ---------------------------------------------------------------------------------------------------------------------
// AMD boxes: direct links inside, a NIC per GPU outside

/// Infinity Fabric links between the 16 GCDs of a box.
const std::vector<Pair> kMi250Links = {{0, 1, 4},   {0, 4, 2},   {0, 8, 1},   {1, 5, 1},   {1, 9, 1},   {1, 10, 1},
                                       {2, 3, 4},   {2, 6, 1},   {2, 9, 1},   {2, 10, 1},  {3, 7, 2},   {3, 11, 1},
                                       {4, 5, 4},   {4, 6, 1},   {5, 6, 1},   {5, 7, 1},   {6, 7, 4},   {8, 9, 4},
                                       {8, 12, 2},  {9, 13, 1},  {10, 11, 4}, {10, 14, 1}, {11, 15, 2}, {12, 13, 4},
                                       {12, 14, 1}, {13, 14, 1}, {13, 15, 1}, {14, 15, 4}};

std::vector<Pair> allPairs(int gpus) {
  std::vector<Pair> pairs;
  for (int a = 0; a < gpus; ++a) {
    for (int b = a + 1; b < gpus; ++b) {
      pairs.push_back({a, b, 1});
    }
  }
  return pairs;
}

/// Boxes of directly joined GPUs of which some are in use.
fabric::Description directBoxes(const Arguments& arguments, const std::string& what, const std::vector<Pair>& pairs) {
  const int boxes = arguments.integer("boxes");
  const std::string& network = arguments.text("network");
  const std::vector<std::vector<int>> inUse = perBox(arguments.gpuSets("gpus"), boxes, "gpus");
  std::int64_t gpuCount = 0;
  for (const auto& set : inUse) {
    gpuCount += static_cast<std::int64_t>(set.size());
  }
  Builder builder(countedName(boxes, what));
  builder.expect(gpuCount + scaleOutNodes(gpuCount, network), gpuCount + scaleOutLinks(gpuCount, network));

  std::vector<Port> ports;
  ports.reserve(gpuCount);
  for (int box = 0; box < boxes; ++box) {
    const std::string prefix = "b" + std::to_string(box);
    const std::vector<int>& set = inUse[box];
    const auto isUsed = [&set](int gpu) { return std::binary_search(set.begin(), set.end(), gpu); };
    const auto id = [&prefix](int gpu) { return prefix + "g" + std::to_string(gpu); };
    for (const int gpu : set) {
      builder.gpu(id(gpu), prefix);
      ports.push_back(
          {.node = id(gpu), .boxName = prefix, .box = box, .number = gpu, .bandwidth = arguments.bandwidth("nic")});
    }
    for (const Pair& pair : pairs) {
      if (isUsed(pair.a) && isUsed(pair.b)) {
        builder.link(id(pair.a), id(pair.b), arguments.bandwidth("link"), pair.links);
      }
    }
  }
  addScaleOut(builder, arguments, network, boxes, ports);
  return builder.take();
}

std::vector<Rule> directRules(int boxes, int gpus, const std::string& link, const std::string& linkText,
                              const std::string& nic, const std::string& nicText) {
  std::vector<Rule> rules = {boxesRule(boxes),
                             {.name = "gpus",
                              .kind = ValueKind::gpuSets,
                              .defaultText = "0-" + std::to_string(gpus - 1),
                              .description = "GPUs in use in each box; links to the others are left out",
                              .low = 0,
                              .high = gpus - 1},
                             bandwidthRule("link", link, linkText),
                             bandwidthRule("nic", nic, nicText)};
  append(rules, scaleOutRules("simple"));
  rules.push_back(sharpRule());
  return rules;
}

fabric::Description mi250(const Arguments& arguments) {
  return directBoxes(arguments, "MI250", kMi250Links);
}

fabric::Description mi300x(const Arguments& arguments) {
  return directBoxes(arguments, "HGX MI300X", allPairs(kGpusOfBox));
}

fabric::Description mi325x(const Arguments& arguments) {
  return directBoxes(arguments, "HGX MI325X", allPairs(kGpusOfBox));
}

fabric::Description mi355x(const Arguments& arguments) {
  return directBoxes(arguments, "HGX MI355X", allPairs(kGpusOfBox));
}

fabric::Description gaudi3(const Arguments& arguments) {
  return directBoxes(arguments, "Gaudi 3 HLS-3", allPairs(kGpusOfBox));
}

fabric::Description z52(const Arguments& arguments) {
  // Two xGMI islands of four in a row each, GPUs 5 and 1 at their ends; PCIe closes the ring.
  constexpr std::array<int, 4> kFirst = {3, 0, 2, 5};
  constexpr std::array<int, 4> kSecond = {6, 4, 7, 1};
  Builder builder("Gigabyte Z52 MI50");
  const auto id = [](int gpu) { return "b0g" + std::to_string(gpu); };
  for (int gpu = 0; gpu < kGpusOfBox; ++gpu) {
    builder.gpu(id(gpu), "b0");
  }
  for (const auto& island : {kFirst, kSecond}) {
    for (std::size_t i = 0; i + 1 < island.size(); ++i) {
      builder.link(id(island[i]), id(island[i + 1]), arguments.bandwidth("xgmi"));
    }
  }
  builder.link(id(kFirst.back()), id(kSecond.front()), arguments.bandwidth("pcie"));
  builder.link(id(kSecond.back()), id(kFirst.front()), arguments.bandwidth("pcie"));
  return builder.take();
}

fabric::Description figure45(const Arguments& arguments) {
  constexpr int kGpus = 4;
  const Bandwidth b = arguments.bandwidth("b");
  SwitchedBoxes boxes;
  boxes.name = "Figure 4.5";
  boxes.network = "simple";
  boxes.gpus.assign(2, kGpus);
  boxes.inner.assign(2, b * Rational(10));
  boxes.nic.assign(2, b);
  return switchedBoxes(boxes, arguments);
}

const char* const kPcie3 = "PCI Express 3.0 x16: 8 GT/s on 16 lanes, 16 GB/s before coding.";

}  // namespace

std::vector<Recipe> machineRecipes() {
  std::vector<Recipe> recipes;
  recipes.push_back(
      {.name = "dgx1-v100",
       .title = "NVIDIA DGX-1 with V100",
       .description =
           "Eight V100 in the hybrid cube mesh, one or two NVLinks per neighbouring pair. With several boxes, "
           "each pair of GPUs shares a PCIe switch and a NIC, and all NICs meet on one InfiniBand switch.",
       .sources =
           std::string("NVIDIA DGX-1 With Tesla V100 System Architecture white paper: hybrid cube mesh, six "
                       "NVLinks per GPU at 25 GB/s per direction, four EDR InfiniBand ports of 100 Gb/s, one per "
                       "pair of GPUs. wiring=sccl: Cai et al., Synthesizing Optimal Collective Algorithms "
                       "(PPoPP 2021), section 5.1.1 and Figure 1. ") +
           kPcie3,
       .rules = {boxesRule(1),
                 bandwidthRule("nvlink", "25", "each NVLink"),
                 {.name = "wiring",
                  .kind = ValueKind::choice,
                  .defaultText = "nvidia",
                  .description = "numbering of the GPUs: as nvidia-smi shows them, or as two rings as the SCCL paper "
                                 "draws them (the same graph, but other pairs share a NIC)",
                  .words = {"nvidia", "sccl"}},
                 bandwidthRule("pcie", "16", "each GPU to its PCIe switch"),
                 bandwidthRule("nic", "12.5", "each NIC"),
                 sharpRule()},
       .generate = dgx1});
  recipes.push_back(
      {.name = "dgx2",
       .title = "NVIDIA DGX-2",
       .description =
           "Sixteen V100 on one NVSwitch plane. With several boxes, each pair of GPUs shares a PCIe switch and "
           "a NIC, and all NICs meet on one InfiniBand switch.",
       .sources = std::string("NVIDIA DGX-2 data sheet: 16 V100, 12 NVSwitches, six NVLinks per GPU at 25 GB/s per "
                              "direction (150), eight EDR InfiniBand ports of 100 Gb/s. Sharing of PCIe switches: Shah "
                              "et al., TACCL (NSDI 2023), Figure 5c and section 7. ") +
                  kPcie3,
       .rules = {boxesRule(2), bandwidthRule("nvlink", "150", "each GPU to the NVSwitch"),
                 bandwidthRule("pcie", "16", "each GPU to its PCIe switch"), bandwidthRule("nic", "12.5", "each NIC"),
                 sharpRule()},
       .generate = dgx2});
  recipes.push_back(
      {.name = "dgx-a100",
       .title = "NVIDIA DGX A100",
       .description =
           "Eight A100 on NVSwitch and a NIC per GPU. The network planes is the model of the official ForestColl "
           "programs (NIC nodes; even and odd NICs on two InfiniBand switches); the network simple joins every "
           "GPU to one InfiniBand switch.",
       .sources = "NVIDIA DGX A100 System Architecture white paper (WP-10083-001): 12 NVLinks per GPU at 25 GB/s per "
                  "direction (300), eight HDR InfiniBand ports of 200 Gb/s (25). Same numbers in the ForestColl "
                  "dissertation, section 4.6 (DGX A100 testbed).",
       .rules = nvswitchRules({.nvlink = "300", .nic = "25", .network = "planes"}),
       .generate = [](const Arguments& arguments) { return nvswitchBoxes(arguments, "DGX A100"); }});
  recipes.push_back(
      {.name = "dgx-h100",
       .title = "NVIDIA DGX H100",
       .description = "Eight H100 on NVSwitch with NVLink SHARP, a NIC per GPU.",
       .sources = "NVIDIA DGX H100 data sheet and H100 Tensor Core GPU Architecture white paper: 18 NVLinks per GPU at "
                  "25 GB/s per direction (450), third-generation NVSwitch with in-network multicast and reduction, "
                  "eight NDR InfiniBand ports of 400 Gb/s (50). Same numbers in the ForestColl dissertation, section "
                  "4.6 (DGX H100 testbed).",
       .rules = nvswitchRules({.nvlink = "450", .nic = "50", .hasNvls = true}),
       .generate = [](const Arguments& arguments) { return nvswitchBoxes(arguments, "DGX H100"); }});
  recipes.push_back(
      {.name = "dgx-h200",
       .title = "NVIDIA DGX H200",
       .description = "Eight H200 on NVSwitch with NVLink SHARP, a NIC per GPU: the links of a DGX H100.",
       .sources = "NVIDIA DGX H200 data sheet: 900 GB/s of NVLink per GPU over both directions (450), four NVSwitches, "
                  "ConnectX-7 ports of up to 400 Gb/s (50). Multicast and reduction in the NVSwitch: NVIDIA NCCL user "
                  "guide, NCCL_NVLS_ENABLE (third-generation NVSwitch, Hopper and later).",
       .rules = nvswitchRules({.nvlink = "450", .nic = "50", .hasNvls = true}),
       .generate = [](const Arguments& arguments) { return nvswitchBoxes(arguments, "DGX H200"); }});
  recipes.push_back(
      {.name = "dgx-b200",
       .title = "NVIDIA DGX B200",
       .description = "Eight B200 on NVSwitch with NVLink SHARP, a NIC per GPU: 50 as shipped with ConnectX-7, "
                      "nic=100 for 800 Gb/s adapters.",
       .sources = "NVIDIA DGX B200 data sheet: 14.4 TB/s of NVLink bandwidth over eight GPUs and both directions (900 "
                  "per GPU and direction), ConnectX-7 ports of up to 400 Gb/s (50). 800 Gb/s adapters (100): NVIDIA "
                  "ConnectX-8 SuperNIC data sheet. Multicast and reduction in the NVSwitch: NVIDIA NCCL user guide, "
                  "NCCL_NVLS_ENABLE (third-generation NVSwitch, Hopper and later).",
       .rules = nvswitchRules({.nvlink = "900", .nic = "50", .hasNvls = true}),
       .generate = [](const Arguments& arguments) { return nvswitchBoxes(arguments, "DGX B200"); }});
  recipes.push_back(
      {.name = "hgx-b300",
       .title = "NVIDIA HGX B300",
       .description = "Eight B300 on NVSwitch with NVLink SHARP, an 800 Gb/s adapter per GPU. Each package holds two "
                      "dies, which are one GPU to CUDA and NCCL.",
       .sources =
           "NVIDIA HGX platform page, HGX B300: 1.8 TB/s of NVLink per GPU over both directions (900), 14.4 TB/s "
           "in total, 1.6 TB/s of networking over eight GPUs and both directions (100 per GPU and direction: "
           "one ConnectX-8 of 800 Gb/s). Multicast and reduction in the NVSwitch: NVIDIA NCCL user guide, "
           "NCCL_NVLS_ENABLE (third-generation NVSwitch, Hopper and later).",
       .rules = nvswitchRules({.nvlink = "900", .nic = "100", .hasNvls = true}),
       .generate = [](const Arguments& arguments) { return nvswitchBoxes(arguments, "HGX B300"); }});
  recipes.push_back(
      {.name = "gb200-nvl72",
       .title = "NVIDIA GB200 NVL72",
       .description = "Racks of 72 GPUs on one NVLink Switch domain with NVLink SHARP, a NIC per GPU between racks.",
       .sources = "NVIDIA GB200 NVL72 data sheet: 72 GPUs, 130 TB/s of NVLink bandwidth over both directions (1.8 TB/s "
                  "per GPU, 900 per direction). One ConnectX-7 port of 400 Gb/s (50) per GPU: NVIDIA DGX SuperPOD "
                  "reference architecture for DGX GB200. Multicast and reduction in the NVLink Switch: NVIDIA NCCL "
                  "user guide, NCCL_NVLS_ENABLE (third-generation NVSwitch, Hopper and later).",
       .rules = nvswitchRules(
           {.boxes = "racks", .defaultBoxes = 1, .gpus = 72, .nvlink = "900", .nic = "50", .hasNvls = true}),
       .generate = [](const Arguments& arguments) {
         return nvswitchBoxes(arguments, "GB200 NVL72", "rack", "racks");
       }});
  recipes.push_back(
      {.name = "gb300-nvl72",
       .title = "NVIDIA GB300 NVL72",
       .description = "Racks of 72 GPUs on one NVLink Switch domain with NVLink SHARP, an 800 Gb/s adapter per GPU "
                      "between racks.",
       .sources = "NVIDIA GB300 NVL72 enterprise reference architecture, system hardware: 72 GPUs, nine NVLink Switch "
                  "trays, 130 TB/s of NVLink bandwidth over both directions (1.8 TB/s per GPU, 900 per direction), "
                  "four ConnectX-8 per tray of four GPUs. 800 Gb/s each (100): NVIDIA ConnectX-8 SuperNIC data sheet. "
                  "Multicast and reduction in the NVLink Switch: NVIDIA NCCL user guide, NCCL_NVLS_ENABLE.",
       .rules = nvswitchRules(
           {.boxes = "racks", .defaultBoxes = 1, .gpus = 72, .nvlink = "900", .nic = "100", .hasNvls = true}),
       .generate = [](const Arguments& arguments) {
         return nvswitchBoxes(arguments, "GB300 NVL72", "rack", "racks");
       }});
  recipes.push_back(
      {.name = "hgx-mi300x",
       .title = "AMD MI300X platform (HGX class)",
       .description = "Eight MI300X, each joined to every other by one Infinity Fabric link, a NIC per GPU.",
       .sources = "AMD Instinct MI300X Platform data sheet: seven Infinity Fabric links per GPU at 128 GB/s over both "
                  "directions (64 per direction), fully connected. One 400 Gb/s NIC (50) per GPU: AMD Instinct MI300X "
                  "cluster reference architecture.",
       .rules = directRules(2, kGpusOfBox, "64", "each Infinity Fabric link", "50", "each GPU's NIC"),
       .generate = mi300x});
  recipes.push_back(
      {.name = "hgx-mi325x",
       .title = "AMD MI325X platform (HGX class)",
       .description = "Eight MI325X, each joined to every other by one Infinity Fabric link, a NIC per GPU.",
       .sources = "AMD Instinct MI325X Platform data sheet: seven Infinity Fabric links per GPU at 128 GB/s over both "
                  "directions (64 per direction), fully connected. One 400 Gb/s NIC (50) per GPU: AMD Pensando Pollara "
                  "400 product brief.",
       .rules = directRules(2, kGpusOfBox, "64", "each Infinity Fabric link", "50", "each GPU's NIC"),
       .generate = mi325x});
  recipes.push_back(
      {.name = "hgx-mi355x",
       .title = "AMD MI355X platform (HGX class)",
       .description =
           "Eight MI355X (or MI350X), each joined to every other by one Infinity Fabric link, a NIC per GPU.",
       .sources = "AMD CDNA 4 architecture white paper and Instinct MI355X data sheet: seven Infinity Fabric links per "
                  "GPU at 153.6 GB/s over both directions (76.8 per direction), fully connected. One 400 Gb/s NIC (50) "
                  "per GPU: AMD Pensando Pollara 400 product brief.",
       .rules = directRules(2, kGpusOfBox, "76.8", "each Infinity Fabric link", "50", "each GPU's NIC"),
       .generate = mi355x});
  recipes.push_back(
      {.name = "mi250",
       .title = "AMD MI250",
       .description = "Sixteen GCDs per box (two per MI250) with seven Infinity Fabric links each, one to four per "
                      "neighbouring pair; the PCIe switches and NICs are folded into the bandwidth of each GCD to the "
                      "InfiniBand switch. gpus=0-7 is the 8+8 setting of the paper.",
       .sources = "ForestColl dissertation, section 4.6 (AMD MI250 testbed) and Figure 4.9a: 16 GPUs per box, seven "
                  "Infinity Fabric links per GPU at 50 GB/s, eight NICs offering 256 GB/s per box (16 per GPU).",
       .rules = directRules(2, 16, "50", "each Infinity Fabric link", "16", "each GPU's share of the NICs"),
       .generate = mi250});
  recipes.push_back(
      {.name = "gaudi3",
       .title = "Intel Gaudi 3 (HLS-3)",
       .description = "Eight Gaudi 3, each joined to every other by three Ethernet ports and to the network by three.",
       .sources = "Intel Gaudi documentation, Network Configuration: per accelerator 21 ports of 200 Gb/s inside the "
                  "box, three to each of the seven others (75 per direction), and three ports of 200 Gb/s to the leaf "
                  "switches (75).",
       .rules = directRules(2, kGpusOfBox, "75", "each pair of accelerators", "75", "each accelerator's outside ports"),
       .generate = gaudi3});
  recipes.push_back(
      {.name = "gigabyte-z52-mi50",
       .title = "Gigabyte Z52 with MI50",
       .description =
           "Eight MI50 as one ring: two xGMI islands (0, 2, 3, 5 and 1, 4, 6, 7) of three links each, joined "
           "by PCIe at GPUs 1 and 5. The fourth xGMI link of each island is left out, as in the source, "
           "because xGMI and PCIe could not be used at once.",
       .sources = "Cai et al., Synthesizing Optimal Collective Algorithms (PPoPP 2021), sections 5.1.2 and 5.2.2 and "
                  "Figure 3: ring of two islands, measured 33 GB/s per xGMI link and 27 GB/s over PCIe 4.0 x16. Which "
                  "link of an island stays unused is not stated; every choice gives the same ring up to renaming.",
       .rules = {bandwidthRule("xgmi", "33", "each xGMI link"),
                 bandwidthRule("pcie", "27", "each PCIe path between the islands")},
       .generate = z52});
  recipes.push_back(
      {.name = "azure-ndv2",
       .title = "Azure NDv2",
       .description =
           "Eight V100 in the hybrid cube mesh of a DGX-1. With several boxes: PCIe switches of two GPUs, two "
           "of them per CPU, and one NIC on the PCIe switch of GPUs 0 and 1. The detour of inter-box traffic "
           "through host memory is not modelled.",
       .sources =
           "Shah et al., TACCL (NSDI 2023), section 4.2, Figures 5a and 5b: NVLinks as in a DGX-1, PCIe tree, one "
           "InfiniBand NIC of 12.5 GB/s; section 4: PCIe Gen3 offers about 13 GB/s. NVLink 25 GB/s per "
           "direction: NVIDIA V100 data sheet. Between the CPUs one UPI link of 10.4 GT/s (20.8 GB/s): Intel "
           "Xeon Platinum 8168 data sheet.",
       .rules = {boxesRule(2), bandwidthRule("nvlink", "25", "each NVLink"),
                 bandwidthRule("pcie", "13", "each PCIe link of a GPU or a PCIe switch"),
                 bandwidthRule("cpu", "20.8", "between the two CPUs of a box"), bandwidthRule("nic", "12.5", "the NIC"),
                 sharpRule()},
       .generate = ndv2});
  recipes.push_back(
      {.name = "aws-p5",
       .title = "AWS P5 (H100, H200)",
       .description = "Eight H100 (p5) or H200 (p5e, p5en) on NVSwitch with NVLink SHARP; the EFA cards of an instance "
                      "are shared evenly.",
       .sources = "Amazon EC2 user guide and P5 product page: 900 GB/s of NVLink per GPU over both directions (450); "
                  "3,200 Gb/s of EFA per instance, 32 cards of 100 Gb/s (p5, p5e) or 16 of 200 Gb/s (p5en): 50 per "
                  "GPU. Multicast and reduction in the NVSwitch: NVIDIA NCCL user guide, NCCL_NVLS_ENABLE.",
       .rules = nvswitchRules({.nvlink = "450", .nic = "50", .hasNvls = true, .hasSharp = false}),
       .generate = [](const Arguments& arguments) { return nvswitchBoxes(arguments, "AWS P5"); }});
  recipes.push_back(
      {.name = "aws-p6-b200",
       .title = "AWS P6-B200",
       .description = "Eight B200 on NVSwitch with NVLink SHARP; the EFA cards of an instance are shared evenly.",
       .sources =
           "Amazon EC2 P6 product page: 1.8 TB/s of NVLink per GPU over both directions (900), 3.2 Tb/s of EFA per "
           "instance (50 per GPU). Multicast and reduction in the NVSwitch: NVIDIA NCCL user guide, NCCL_NVLS_ENABLE.",
       .rules = nvswitchRules({.nvlink = "900", .nic = "50", .hasNvls = true, .hasSharp = false}),
       .generate = [](const Arguments& arguments) { return nvswitchBoxes(arguments, "AWS P6-B200"); }});
  recipes.push_back(
      {.name = "aws-p6-b300",
       .title = "AWS P6-B300",
       .description = "Eight B300 on NVSwitch with NVLink SHARP; the EFA cards of an instance are shared evenly.",
       .sources =
           "Amazon EC2 P6 product page: 1.8 TB/s of NVLink per GPU over both directions (900), 6.4 Tb/s of EFA per "
           "instance (100 per GPU). Multicast and reduction in the NVSwitch: NVIDIA NCCL user guide, NCCL_NVLS_ENABLE.",
       .rules = nvswitchRules({.nvlink = "900", .nic = "100", .hasNvls = true, .hasSharp = false}),
       .generate = [](const Arguments& arguments) { return nvswitchBoxes(arguments, "AWS P6-B300"); }});
  recipes.push_back(
      {.name = "aws-p6e-gb200",
       .title = "AWS P6e-GB200 UltraServer",
       .description = "NVLink domains of 72 GPUs (u-p6e-gb200x72; gpus=36 for u-p6e-gb200x36), joined by EFA.",
       .sources = "Amazon EC2 P6 product page: 72 GPUs in one NVLink domain at 1.8 TB/s per GPU over both directions "
                  "(900), 28.8 Tb/s of EFA per UltraServer (50 per GPU). Multicast and reduction in the NVSwitch: "
                  "NVIDIA NCCL user guide, NCCL_NVLS_ENABLE.",
       .rules = nvswitchRules({.boxes = "racks",
                               .defaultBoxes = 1,
                               .gpus = 72,
                               .nvlink = "900",
                               .nic = "50",
                               .hasNvls = true,
                               .hasSharp = false}),
       .generate = [](const Arguments& arguments) {
         return nvswitchBoxes(arguments, "AWS P6e-GB200", "rack", "racks");
       }});
  recipes.push_back(
      {.name = "azure-nd-h100-v5",
       .title = "Azure ND H100 v5",
       .description =
           "Eight H100 (ND H100 v5) or H200 (ND H200 v5) on NVSwitch with NVLink SHARP, an InfiniBand adapter "
           "per GPU.",
       .sources =
           "Azure documentation, ND-H100-v5 and ND-H200-v5 size series: eight GPUs on NVLink 4.0 (900 GB/s over both "
           "directions, 450), one ConnectX-7 of 400 Gb/s (50) per GPU, 3.2 Tb/s per machine. Multicast and "
           "reduction in the NVSwitch: NVIDIA NCCL user guide, NCCL_NVLS_ENABLE.",
       .rules = nvswitchRules({.nvlink = "450", .nic = "50", .hasNvls = true}),
       .generate = [](const Arguments& arguments) { return nvswitchBoxes(arguments, "Azure ND H100 v5"); }});
  recipes.push_back(
      {.name = "azure-nd-gb200-v6",
       .title = "Azure ND GB200 v6",
       .description = "Racks of 18 machines with four GPUs each on one NVLink domain, an InfiniBand adapter per GPU "
                      "between racks.",
       .sources = "Azure documentation, ND-GB200-v6 size series: four GPUs per machine at 1.8 TB/s of NVLink over both "
                  "directions (900), NVLink domains of up to 72 GPUs, one InfiniBand port of 400 Gb/s (50) per GPU. "
                  "Multicast and reduction in the NVSwitch: NVIDIA NCCL user guide, NCCL_NVLS_ENABLE.",
       .rules = nvswitchRules(
           {.boxes = "racks", .defaultBoxes = 1, .gpus = 72, .nvlink = "900", .nic = "50", .hasNvls = true}),
       .generate = [](const Arguments& arguments) {
         return nvswitchBoxes(arguments, "Azure ND GB200 v6", "rack", "racks");
       }});
  recipes.push_back({.name = "fig-4-5",
                     .title = "Worked example of the ForestColl dissertation",
                     .description = "Two boxes of four GPUs; links inside a box have ten times the bandwidth of those "
                                    "between boxes. Its optimum is x* = b with one tree per root.",
                     .sources = "ForestColl dissertation, Figure 4.5a and section 4.5.2.",
                     .rules = {bandwidthRule("b", "1", "each GPU to the switch between the boxes")},
                     .generate = figure45});
  return recipes;
}

}  // namespace coppice::presets
