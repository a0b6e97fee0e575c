// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPointer>

#include "designer/schedules/schedule_feature.hpp"

namespace coppice::designer {

class ExportDialog;

/// The current schedule as a program or another file.
class ExportFeature : public Feature {
  Q_OBJECT

public:
  /// @param schedules gives the current schedule
  ExportFeature(const FeatureHost& host, ScheduleFeature& schedules);
  ~ExportFeature() override;

  /// nullptr where there is nothing to export.
  ExportDialog* exportCurrent();

private:
  ScheduleFeature& m_schedules;
  QPointer<ExportDialog> m_export;
};

}  // namespace coppice::designer
