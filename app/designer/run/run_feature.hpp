// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QDialog>

#include "designer/run/run_activity.hpp"
#include "designer/schedules/schedule_feature.hpp"
#include "designer/workspace/feature.hpp"

namespace coppice::designer {

/// Run mode.
class RunFeature : public Feature {
  Q_OBJECT

public:
  /// @param schedules gives what can be run
  RunFeature(const FeatureHost& host, ScheduleFeature& schedules);
  [[nodiscard]] RunActivity& activity() const { return *m_activity; }
  /// What `coppice-exec infer --json` wrote becomes a document, beside what the system of that machine says. Returns
  /// whether the file was such a one, or the record that infer reads.
  bool take(const QString& path);

private:
  [[nodiscard]] RunOptions optionsForActivity(const WindowOptions& options);
  void addRunActions();
  void addMachineActions();
  void addDocks(const FeatureHost& host);
  /// In a dialog beside the drawing, to which its rows go.
  void makeDifferences();
  void connectActivity();
  /// The activity knows the current document and its schedules.
  void follow();
  void updateActions();
  void openDetected(const QByteArray& text, const QString& name);

  ScheduleFeature& m_schedules;
  RunActivity* m_activity;
  QDialog* m_differences;
};

}  // namespace coppice::designer
