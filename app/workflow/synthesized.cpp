// SPDX-License-Identifier: Apache-2.0
#include "workflow/synthesized.hpp"

#include <optional>
#include <utility>

#include "verify/rounds_check.hpp"
#include "workflow/make_schedule.hpp"

namespace coppice::workflow {

Result<JudgedSchedule> judgeSynthesized(const fabric::Fabric& fabric, schedule::StepSchedule schedule,
                                        const Bandwidth& unit, bool isOneBandwidth, const Progress& progress) {
  const auto overfull =
      verify::checkRounds(fabric, schedule, isOneBandwidth ? std::nullopt : std::optional(unit), progress);
  if (!overfull) {
    return overfull.error();
  }
  auto judged = judge(fabric, std::move(schedule), progress);
  if (!judged) {
    return judged.error();
  }
  judged->findings.insert(judged->findings.end(), overfull->begin(), overfull->end());
  judged->ok = judged->ok && overfull->empty();
  if (!judged->ok) {
    const Finding* fault = firstFault(judged->findings);
    return Error{ErrorCode::verification,
                 "The verifier rejects the schedule that was found" + (fault ? ": " + fault->text : std::string()),
                 "please report this"};
  }
  return judged;
}

}  // namespace coppice::workflow
