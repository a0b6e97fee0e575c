// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "io/import_result.hpp"
#include "io/nvidia_smi.hpp"

namespace coppice::io {

/// Reads the XML of hwloc (`lstopo machine.xml`), versions 1 to 3: packages, PCI bridges and devices with their speeds,
/// GPUs (with a device of CUDA, NVML, ROCm SMI, Level Zero or OpenCL, or of a GPU maker's class), NICs with verbs
/// ("mlx5_0"), and the matrices NVLinkBandwidth and XGMIBandwidth, in MB/s of one direction. Links to NVSwitches end at
/// one switch. hwloc before 2.12 has twice the bandwidth of NVLink 3 and 4: halved, with a warning, where the model of
/// the GPU is known and the sum is twice its own.
/// Speeds of NICs and between packages are not in the file: options, or assumed and told.
/// Limits: 64 MiB, objects nested 64 deep, 1,024 GPUs. Errors: badInput with line and column; those of assembleBoxes.
Result<ImportResult> readHwloc(std::string_view text, const std::string& fileName,
                               const NvidiaSmiOptions& options = {});

}  // namespace coppice::io
