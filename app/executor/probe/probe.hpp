// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "fabric/description.hpp"
#include "probe/machine.hpp"
#include "probe/nvml.hpp"
#include "probe/tree.hpp"

/// What is in a machine, from the kernel's files, the NVIDIA driver and the libraries installed.
namespace coppice::probe {

/// Reads all there is. Never fails: what cannot be read is in Machine::unreadable. On a recorded tree nothing of the
/// machine it runs on is asked: no library loaded, no program started.
[[nodiscard]] Machine readMachine(const Tree& tree, GpuSource& gpus);

/// Versions of the libraries that a run may need, by loading them or asking their programs: "cuda_runtime", "nccl",
/// "mpi", "mpirun", "srun", "libc". A program gets 5 s.
void readSoftware(Machine& machine);

/// The machine as NCCL would write it with NCCL_TOPO_DUMP_FILE, so that everything that reads such files (our importer,
/// NCCL with NCCL_TOPO_FILE) reads this. Active RDMA ports are its NICs, or, without any, Ethernet ports that are up.
/// Errors: infeasible where there is no GPU that a program could use.
[[nodiscard]] Result<std::string> ncclTopology(const Machine& machine);

enum class Rates {
  nominal,  ///< what the makers state
  prior     ///< what NCCL reckons with
};

struct DrawnFabric {
  fabric::Description description;
  std::vector<Finding> findings;
};
/// The machine as a fabric that the designer opens: GPUs in the driver's order, NVSwitches as one, PCIe switches, CPUs,
/// NICs. Every link carries "basis" (nominal or prior: a default where the machine does not say) and "kind" (nvlink,
/// pcie, cpu). Errors: those of ncclTopology and of io::readNcclTopology.
[[nodiscard]] Result<DrawnFabric> drawFabric(const Machine& machine, Rates rates = Rates::nominal);

/// For people: a page of text.
[[nodiscard]] std::string machineText(const Machine& machine);
/// One line of JSON and a newline: {"t":"probe","format":1,"machine":{…},"unreadable":[…],"findings":[…],
/// "fabric":{…}|null,"fabric_reason":"…","nccl_topology":"…"|null}.
[[nodiscard]] std::string machineJson(const Machine& machine, Rates rates = Rates::nominal);

}  // namespace coppice::probe
