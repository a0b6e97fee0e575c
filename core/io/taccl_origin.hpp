// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"

namespace coppice::io {

/// What a fabric file keeps of the TACCL files that the fabric was made of, so that these can be written again:
///
///     "taccl": {"sketch": "{…}", "topology": "{…}", "type": "ndv2", "time_unit_us": "1", "chunk_bytes": 1048576,
///               "truncates": true}
struct TacclOrigin {
  std::string sketch;    ///< the whole text, comments too; empty: the topology alone was opened
  std::string topology;  ///< the whole text
  std::string type;
  int nodes = 1;
  std::string timeUnit;
  std::int64_t chunkBytes = 1;
  bool truncates = true;
};

/// As the extra members of a fabric::Description.
[[nodiscard]] std::string writeTacclOrigin(const TacclOrigin& origin);

/// nullopt where the members hold none. Errors: badInput (there is one that is not as above).
Result<std::optional<TacclOrigin>> readTacclOrigin(const std::string& extra);

}  // namespace coppice::io
