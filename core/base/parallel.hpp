// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <system_error>
#include <thread>
#include <vector>

namespace coppice {

/// Calls work(0) .. work(count-1), each once, on up to all cores; the calling thread takes part. Returns when all have
/// ended and rethrows what the first in number has thrown; after a failure, calls not yet begun are left out.
inline void parallelFor(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::vector<std::exception_ptr> errors(count);
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> isFailed = false;
  const auto run = [&] {
    for (std::size_t i = next++; i < count && !isFailed; i = next++) {
      try {
        work(i);
      } catch (...) {
        errors[i] = std::current_exception();
        isFailed = true;
      }
    }
  };
  {
    const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
    std::vector<std::jthread> others;
    try {
      for (std::size_t i = 1; i < std::min(cores, count); ++i) {
        others.emplace_back(run);
      }
    } catch (const std::system_error&) {
      // The system grants no more threads: those that are there do the work.
    }
    run();
  }
  for (const std::exception_ptr& error : errors) {
    if (error) {
      std::rethrow_exception(error);
    }
  }
}

}  // namespace coppice
