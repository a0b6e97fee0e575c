// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "fabric/description.hpp"

/// Which GPUs and NICs share a PCIe switch, from copies to host memory that run at the same time (TACCL, section 4.2),
/// for machines where the system does not say. Works on recorded measurements as on fresh ones.
namespace coppice::probe {

/// Raw values of one measurement; its median counts.
using Samples = std::vector<double>;

/// Copies of GPUs a and b to host memory at the same time, bytes per second each.
struct TogetherSample {
  int a = 0;
  int b = 0;
  Samples ofA = {};
  Samples ofB = {};
};

/// Copies of a GPU while a CPU sends to itself through a NIC.
struct BesideNicSample {
  int gpu = 0;
  int nic = 0;
  Samples ofGpu = {};
};

/// Seconds of a message from a CPU to itself through a NIC.
struct LoopbackSample {
  int cpu = 0;
  int nic = 0;
  Samples seconds = {};
};

struct ContentionRecord {
  std::vector<Samples> alone;  ///< by GPU, bytes per second
  std::vector<TogetherSample> together = {};
  std::vector<BesideNicSample> besideNic = {};
  std::vector<LoopbackSample> loopbacks = {};
  std::vector<std::vector<int>> nvlinks = {};  ///< links from GPU to GPU; empty = not known
  std::string machine = {};                    ///< the fabric as the system states it, JSON text; empty = not known
};

/// {"t":"contention","format":1,"alone":[[…],…],"together":[{"a":0,"b":1,"of_a":[…],"of_b":[…]},…],
///  "beside_nic":[{"gpu":0,"nic":0,"of_gpu":[…]},…],"loopback":[{"cpu":0,"nic":0,"seconds":[…]},…],"nvlinks":[[…],…],
///  "machine":{…}}.
/// Errors: badInput naming the key.
[[nodiscard]] Result<ContentionRecord> readContention(const std::string& text);
[[nodiscard]] std::string writeContention(const ContentionRecord& record);

struct Inference {
  std::vector<std::vector<int>> switches;  ///< groups of GPUs, ascending; a GPU alone is a group
  double threshold = 0;                    ///< shares of the bandwidth below it count as shared
  std::vector<std::optional<int>> nicCpu;  ///< by NIC; absent: undecided
  std::vector<std::vector<int>> nicGpus;   ///< by NIC: GPUs beside it
  /// Orders of the GPUs for CUDA_VISIBLE_DEVICES that keep the NVLinks as they are and put the first NIC beside the
  /// first GPU; at most 64.
  std::vector<std::vector<int>> orders;
  std::vector<Finding> findings;  ///< undecided, too few values, contradictions with their GPUs
};

/// A share is (bandwidth of i beside j + of j beside i) / (of i + of j alone). The threshold is in the middle of the
/// widest gap between shares whose middle is from 0.6 to 0.9. Sharing must hold for all pairs of a group. The CPU of
/// a NIC has the minimum loopback latency, by 5 % or more.
[[nodiscard]] Inference inferSwitches(const ContentionRecord& record);

/// GPUs, inferred PCIe switches, a root for each CPU and NICs, every link marked "basis": "inferred".
[[nodiscard]] fabric::Description inferredFabric(const ContentionRecord& record, const Inference& inference);

[[nodiscard]] std::string inferenceText(const Inference& inference);
/// One line: {"t":"inference","format":1,"switches":[[…]],"threshold":…,"nics":[{"cpu":0,"gpus":[…]}],"orders":[[…]],
/// "findings":[…],"fabric":{…},"machine":{…}|null}: what was inferred, and what the system states.
[[nodiscard]] std::string inferenceJson(const ContentionRecord& record, const Inference& inference);

}  // namespace coppice::probe
