// SPDX-License-Identifier: Apache-2.0
// The importers of networks of clusters, of NVIDIA's and AMD's tools and of simulators, and the texts that are named as
// foreign. Whatever is accepted must be a fabric that validate() and build() can judge, balanced where all links are
// duplex.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "io/cluster_files.hpp"
#include "judge_import.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using coppice::io::FabricFormat;
  if (size < 1) {
    return 0;
  }
  // The first byte chooses the options.
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  coppice::io::ImportOptions options;
  options.box.keepPcie = (data[0] & 1) != 0;
  if ((data[0] & 2) != 0) {
    options.network.uplinkBandwidth = coppice::Bandwidth(100);
  }
  (void)coppice::io::detectFormat("x", text);
  for (const FabricFormat format :
       {FabricFormat::ibnetdiscover, FabricFormat::treeNetwork, FabricFormat::nvidiaSmi, FabricFormat::rocmSmi,
        FabricFormat::simai, FabricFormat::hwloc, FabricFormat::infraGraph, FabricFormat::astraSim}) {
    const auto imported = coppice::io::importFabric(text, format, "x", options);
    coppice::fuzz::judge(imported, true);
    if (imported) {
      for (const FabricFormat target : {FabricFormat::simai, FabricFormat::infraGraph, FabricFormat::astraSim}) {
        const auto written = coppice::io::exportFabric(imported->description, target);
        // What is written is read again.
        if (written && !coppice::io::importFabric(*written, target, "y")) {
          std::abort();
        }
      }
    }
  }
  coppice::fuzz::judge(coppice::io::importFabric(text, FabricFormat::tacos, "x", options), false);
  // Beside the matrix of a host, as NVLink domains, and beside itself as a network.
  static const std::string kHost = "\tGPU0\tGPU1\tNIC0\nGPU0\tX\tNV18\tPIX\nGPU1\tNV18\tX\tSYS\nNIC0\tPIX\tSYS\tX\n";
  options.nvidiaSmi.reading = coppice::io::NvlinkReading::nvSwitch;
  for (const FabricFormat format : {FabricFormat::nvlinkDomains, FabricFormat::ibnetdiscover}) {
    coppice::fuzz::judge(
        coppice::io::importCluster({{std::string(text), "x", format}, {kHost, "h1", FabricFormat::nvidiaSmi}}, options),
        true);
  }
  return 0;
}
