// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "designer/document/followed.hpp"
#include "designer/schedule/schedule_activity.hpp"
#include "designer/workspace/feature.hpp"

namespace coppice::designer {

class SynthesizeDialog;

/// Searching for few-step schedules of the current fabric.
class SynthesizeFeature : public Feature {
  Q_OBJECT

public:
  /// @param schedules takes what is chosen
  SynthesizeFeature(const FeatureHost& host, ScheduleActivity& schedules);

  /// Made at the first call.
  [[nodiscard]] SynthesizeDialog& dialog();

private:
  void follow();
  void updateAction();

  ScheduleActivity& m_schedules;
  SynthesizeDialog* m_dialog = nullptr;
  Followed m_followed;  ///< connections to the current document
};

}  // namespace coppice::designer
