// SPDX-License-Identifier: Apache-2.0
// The importers of foreign topology texts: NCCL's XML, nvidia-smi's matrix, the adjacency forms. Whatever is accepted
// must be a fabric that validate() and build() can judge, balanced where they say so.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "io/fabric_formats.hpp"
#include "judge_import.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using coppice::io::FabricFormat;
  if (size < 1) {
    return 0;
  }
  // The first byte chooses the options.
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  coppice::io::ImportOptions options;
  options.box.count = 1 + (data[0] & 1);
  options.box.scaleOut = static_cast<coppice::io::ScaleOut>((data[0] >> 1) & 3);
  options.box.keepPcie = (data[0] & 8) != 0;
  options.rates = (data[0] & 16) != 0 ? coppice::io::LinkRates::nominal : coppice::io::LinkRates::nccl;
  options.nvidiaSmi.reading = static_cast<coppice::io::NvlinkReading>((data[0] >> 5) % 3);
  const auto format = coppice::io::detectFormat("x", text);
  coppice::fuzz::judge(coppice::io::importFabric(text, FabricFormat::ncclXml, "x", options), true);
  if (format && *format == FabricFormat::nvidiaSmi) {
    coppice::fuzz::judge(coppice::io::importFabric(text, FabricFormat::nvidiaSmi, "x", options), true);
  }
  if (format && *format == FabricFormat::adjacency) {
    coppice::fuzz::judge(coppice::io::importFabric(text, FabricFormat::adjacency, "x", options), false);
  }
  return 0;
}
