// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "command.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/forestcoll.hpp"

/// What `optimum` and `generate` both say about the best throughput.
namespace coppice::cli {

struct Answer {
  Json json;
  std::string text;
};

/// free: the optimum over all k, where the question fixed k or its maximum; nullptr otherwise.
[[nodiscard]] Answer describeOptimum(const fabric::Fabric& fabric, const forestcoll::Request& request,
                                     const forestcoll::Optimum& optimum, const forestcoll::Optimum* free);

struct BoundAnswer {
  std::optional<Rational> algbw;  ///< GB/s; absent where it was not computed
  Answer answer;
};

/// The allreduce linear program as a bound beside `algbw`. Errors: overflow, cancelled.
[[nodiscard]] Result<BoundAnswer> describeAllreduceBound(const fabric::Fabric& fabric, const Rational& algbw,
                                                         const Progress& progress);

}  // namespace coppice::cli
