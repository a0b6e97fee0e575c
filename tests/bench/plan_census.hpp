// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "fabric/fabric.hpp"

/// What comes of every method's schedules as execution plans of MSCCL++: written, verified, run on threads.
namespace coppice::test {

struct CensusOptions {
  std::vector<std::string> methods = {};  ///< empty = all
  int searchSeconds = 1;                  ///< of methods that search until their time is over
  /// Above this many GPUs only Simple in place and LL out of place.
  int allVariantsUpTo = 16;
};

/// One plan, or why there is none.
struct CensusRow {
  std::string fabric;
  int gpus = 0;
  std::string collective;
  std::string method;
  std::string target;
  std::string variant;  ///< "Simple, in place"
  std::string outcome;  ///< "right", "refused" (method or target do not fit), "no plan" (too large), "wrong"
  std::string reason;   ///< where it is not "right"
};

/// All methods and targets on one fabric; `onRow` hears each.
void takeCensus(const std::string& title, const fabric::Fabric& fabric, const CensusOptions& options,
                const std::function<void(const CensusRow&)>& onRow);

struct CensusFabric {
  std::string title;  ///< "dgx-a100 boxes=2"
  fabric::Fabric fabric;
};
/// Every preset with up to `gpus` GPUs: as it is, and with 1, 2 and 4 boxes or racks.
[[nodiscard]] std::vector<CensusFabric> censusFabrics(int gpus);

}  // namespace coppice::test
