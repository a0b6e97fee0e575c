// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.hpp"
#include "io/box_model.hpp"

/// What NCCL knows about devices and their links (topo.h, topo.cc and xml.cc of NCCL).
namespace coppice::io {

enum class DeviceClass { bridge, gpu, nic, nvSwitch, cpu };

/// PCI class codes match by prefix; anything unknown is taken for a bridge, as NCCL does.
[[nodiscard]] DeviceClass deviceClass(std::string_view text);

/// GB/s of one NVLink of a GPU of compute capability `sm`: 80 = A100.
[[nodiscard]] Bandwidth nvlinkRate(std::int64_t sm, LinkRates rates);

/// GB/s of one XGMI link: "gfx942", "gfx90a:sramecc+:xnack-", or the old number alone ("910" was gfx90a).
[[nodiscard]] Bandwidth xgmiRate(std::string_view architecture, LinkRates rates);

/// GB/s of one PCIe lane, or nullopt for a speed that the table does not have.
[[nodiscard]] std::optional<Bandwidth> laneRate(std::string_view speed, LinkRates rates);

struct CpuModel {
  std::string architecture;  ///< "x86_64"
  std::string vendor;        ///< "GenuineIntel"
  std::int64_t family = 0;
  std::int64_t model = 0;
};

/// False for an x86 CPU of a vendor that NCCL's table lacks: interCpuRate() is then the least.
[[nodiscard]] bool isKnownVendor(const CpuModel& cpu);

/// GB/s between two NUMA nodes of one server.
[[nodiscard]] Bandwidth interCpuRate(const CpuModel& cpu);

/// One spelling of a PCI bus id: "domain:bus:device.function" in lower case without leading zeros. NCCL compares bus
/// ids as numbers, and people write them with upper case, with eight digits of domain or without any. What is no bus id
/// stays as it is.
[[nodiscard]] std::string canonicalBusId(std::string_view text);

}  // namespace coppice::io
