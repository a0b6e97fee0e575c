// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"

/// What a machine says about itself. Every fact that could not be read is absent here and named in `unreadable`.
namespace coppice::probe {

/// One PCIe link as one of its ends states it.
struct PcieEnd {
  std::string speed = {};     ///< now, as the kernel writes it: "16.0 GT/s PCIe"; GPUs lower it when idle
  int width = 0;              ///< lanes now; 0 = not stated
  std::string maxSpeed = {};  ///< that this end is able to
  int maxWidth = 0;
};

/// A PCI device, and the link from it to the port above.
struct PciDevice {
  std::string address;         ///< "0000:3b:00.0", lower case
  std::string classCode = {};  ///< "0x030200"
  std::string vendor = {};     ///< "0x10de"
  std::string device = {};
  std::string above = {};  ///< address of the switch (its upstream port) it hangs on; empty = a root port or the root
  int numaNode = -1;       ///< -1 = not stated
  PcieEnd own = {};
  PcieEnd port = {};  ///< the port above: all empty where there is none (a virtual machine's root bus)
  /// What the two ends agree on: the lesser of both. Speeds are those that the ends are able to, since an idle link
  /// runs slower; widths also count what was trained, since a link keeps its width.
  std::string linkSpeed = {};
  int linkWidth = 0;  ///< 0 = not known
  int fullWidth = 0;  ///< lanes that both ends are able to; more than linkWidth = the link trained narrower
};

enum class RemoteKind { gpu, nvSwitch, cpu, unknown };

struct NvLink {
  int index = 0;
  bool isUp = false;
  int version = 0;  ///< 0 = not stated
  RemoteKind remote = RemoteKind::unknown;
  std::string remoteAddress = {};
};

struct Gpu {
  int index = 0;
  std::string name;
  std::string uuid = {};
  std::string address = {};  ///< of its PciDevice
  int computeMajor = 0;
  int computeMinor = 0;
  std::int64_t memoryBytes = 0;
  std::int64_t freeBytes = 0;
  bool isPartitioned = false;  ///< MIG is on
  int processes = 0;           ///< that compute on it now
  int pcieGeneration = 0;      ///< as NVML states it, for where sysfs does not; 0 = not stated
  int pcieWidth = 0;
  std::vector<NvLink> links = {};  ///< those that exist, up or down
};

/// One port of a network device.
struct Nic {
  std::string name;                    ///< "mlx5_0", or "eth0" where there is no RDMA device
  int port = 1;                        ///< of an RDMA device
  std::string netName = {};            ///< the network interface of the same device, if any
  std::string address = {};            ///< of its PciDevice; empty = none
  std::string state = {};              ///< "active", "down", …
  std::string linkLayer = {};          ///< "InfiniBand", "Ethernet"
  std::int64_t megabitsPerSecond = 0;  ///< 0 = not stated
  bool isRdma = false;
  std::string firmware = {};
  std::string driver = {};
};

struct NumaNode {
  int id = 0;
  std::vector<int> cpus = {};
  std::int64_t memoryBytes = 0;
  std::vector<int> distances = {};  ///< to every node, in the kernel's order
};

struct Processor {
  std::string model = {};
  std::string vendor = {};  ///< "GenuineIntel"
  int family = 0;
  int modelNumber = 0;
  int sockets = 0;
  int cores = 0;    ///< physical
  int threads = 0;  ///< hardware threads online
};

/// What this process may use of the machine.
struct Limits {
  std::vector<int> affinity = {};                      ///< hardware threads it may run on
  std::optional<double> quotaCores = {};               ///< of its control groups; absent = none set
  std::optional<std::int64_t> memoryBytes = {};        ///< of its control groups; absent = none set
  std::optional<std::int64_t> lockedMemoryBytes = {};  ///< RLIMIT_MEMLOCK; absent = unlimited
  std::optional<std::int64_t> sharedMemoryBytes = {};  ///< free in /dev/shm; absent = not read
  int usableCores = 0;                                 ///< affinity and quota together, at least 1
};

struct Unreadable {
  std::string what;
  std::string why;
  std::string fix = {};
};

struct Machine {
  std::string host = {};
  std::string system = {};  ///< "Linux x86_64"
  std::string kernel = {};
  std::string distribution = {};
  Processor processor = {};
  std::vector<NumaNode> numa = {};
  std::int64_t memoryBytes = 0;
  std::int64_t availableBytes = 0;
  Limits limits = {};
  std::vector<PciDevice> pci = {};  ///< GPUs, NICs and the switches above them
  std::vector<Gpu> gpus = {};
  std::vector<Nic> nics = {};
  std::map<std::string, std::string> software = {};  ///< "nvidia_driver", "cuda_runtime", "mpi", … : version
  std::vector<Unreadable> unreadable = {};
  std::vector<Finding> findings = {};  ///< what looks wrong or noteworthy: a link that is down, a narrow slot

  [[nodiscard]] const PciDevice* findPci(const std::string& address) const;
};

}  // namespace coppice::probe
