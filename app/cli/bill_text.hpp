// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "command.hpp"
#include "workflow/frontier_request.hpp"

namespace coppice::cli {

/// --parts and the options of the floor plan.
void addPartsOptions(CLI::App& sub, workflow::Values& values);

/// A line per part and the total.
[[nodiscard]] std::string billText(const bom::Bill& bill, const bom::Parts& parts);
[[nodiscard]] Json billJson(const bom::Bill& bill, const bom::Parts& parts);
/// What a bill does not say by itself: that its prices are those of the sample, or that NICs are not in it.
[[nodiscard]] std::string partsNotes(const workflow::PartsAndFloor& priced);

}  // namespace coppice::cli
