// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

/// What readers of files by others take at most.
namespace coppice::io {

inline constexpr std::size_t kMaxNetworkBytes = std::size_t{64} << 20;  ///< of a file of a network
inline constexpr std::size_t kMaxNetworkNodes = 200000;
inline constexpr std::size_t kMaxServerGpus = 1024;
inline constexpr int kMaxXmlDepth = 64;  ///< of elements in each other

}  // namespace coppice::io
