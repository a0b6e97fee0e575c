// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtGlobal>
#include <utility>

#include "base/result.hpp"

namespace coppice::test {

/// The value, or the end of the program with the error: for set-up that cannot fail in a sound tree.
template <typename T>
T must(Result<T> result) {
  if (!result) {
    qFatal("%s", describe(result.error()).c_str());
  }
  return std::move(result).value();
}

}  // namespace coppice::test
