// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "workflow/frontier.hpp"
#include "workflow/options.hpp"

/// What is asked of the price of a network, for the command line and the window alike.
namespace coppice::workflow {

/// parts: the table.
[[nodiscard]] const std::vector<Option>& partsOptions();
/// Where boxes and switches stand.
[[nodiscard]] const std::vector<Option>& floorOptions();
/// Boxes and networks: box, gpus, nic, network, oversubscription, taper, planes, set.
[[nodiscard]] const std::vector<Option>& networkOptions();
/// Model and training step, without the tokens of a whole training, which are the same for all networks.
[[nodiscard]] const std::vector<Option>& stepOptions();

struct PartsAndFloor {
  bom::Parts parts;
  bom::Floor floor;
  bool isSample = false;  ///< no table was named
};
/// Without a table, the sample. `values` may have other options too. Errors: badUsage naming the option; those of
/// readText and bom::readParts.
[[nodiscard]] Result<PartsAndFloor> readPartsAndFloor(const Values& values);

struct FrontierQuestion {
  PartsAndFloor priced;
  FrontierRequest request;
};
/// Of the options of all four lists. Errors: badUsage naming the option; those of readPartsAndFloor and readTraining.
[[nodiscard]] Result<FrontierQuestion> readFrontier(const Values& values);

}  // namespace coppice::workflow
