// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace coppice::program {

/// Adds the verifier's findings to the reader's. What the reader says too is left out: it names line and column.
inline void addVerdict(std::vector<Finding>& findings, const std::vector<Finding>& verdict,
                       const std::string& fileName = {}) {
  const auto readerEnd = static_cast<std::ptrdiff_t>(findings.size());
  for (Finding finding : verdict) {
    const auto isSame = [&](const Finding& other) { return other.text == finding.text; };
    if (std::none_of(findings.begin(), findings.begin() + readerEnd, isSame)) {
      finding.where.file = fileName;
      findings.push_back(std::move(finding));
    }
  }
}

}  // namespace coppice::program
