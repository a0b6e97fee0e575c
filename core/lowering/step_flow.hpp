// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/progress.hpp"
#include "lowering/step_work.hpp"

/// Internal to core/lowering: the flow of data through the messages of a step schedule.
namespace coppice::lowering {

/// Fills StepWork::waits and what the messages say of their receivers' sums. Messages of one level read what their
/// senders had before it. Waits that the data itself brings about are left out: a rank that receives the sum of its own
/// share and others' has sent that share. Throws CancelledError.
void findWaits(StepWork& work, const Progress& progress);

}  // namespace coppice::lowering
