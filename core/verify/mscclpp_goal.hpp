// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "mscclpp/execution_plan.hpp"
#include "verify/mscclpp_faults.hpp"
#include "verify/mscclpp_memory.hpp"
#include "verify/mscclpp_run.hpp"
#include "verify/mscclpp_shape.hpp"
#include "verify/mscclpp_values.hpp"
#include "verify/mscclpp_verifier.hpp"

/// Internal to the check of execution plans: what every rank must have at the end.
namespace coppice::verify {

class MscclppGoal {
public:
  /// The root of the options, or, where there is none, the first rank whose data fit.
  MscclppGoal(const mscclpp::ExecutionPlan& plan, const MscclppShape& shape, const MscclppLayout& layout,
              MscclppValues& values, const MscclppCheckOptions& options, MscclppFaults& faults);

  /// Compares what a rank has after a launch with what the collective says.
  void check(int rank, int launch, const std::vector<MscclppCell>& cells);
  [[nodiscard]] MscclppOutcome outcome() const {
    return {m_root, m_collective != Collective::custom || !m_custom.empty()};
  }

private:
  [[nodiscard]] int wantedOfShard(int rank, int launch, std::int64_t cell, int found);
  [[nodiscard]] int sumOfAll(int launch, std::int64_t cell);
  [[nodiscard]] int wanted(int rank, int launch, std::int64_t cell, int found);
  void inferRoot(int launch, const std::vector<MscclppCell>& cells);
  void checkInput(int rank, int launch, const std::vector<MscclppCell>& cells);
  [[nodiscard]] std::string textOf(int value) const;

  const mscclpp::ExecutionPlan& m_plan;
  MscclppShape m_shape;
  const MscclppLayout& m_layout;
  MscclppValues& m_values;
  MscclppFaults& m_faults;
  Collective m_collective;
  const std::vector<CustomShard>& m_custom;
  int m_ranks;
  int m_root;
};

}  // namespace coppice::verify
