// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <vector>

#include "base/result.hpp"

namespace coppice::test {

/// One line each, for messages of failed tests.
inline QString textsOf(const std::vector<Finding>& findings) {
  QString texts;
  for (const Finding& finding : findings) {
    texts += QString::fromStdString(describe(finding)) + "\n";
  }
  return texts;
}

}  // namespace coppice::test
