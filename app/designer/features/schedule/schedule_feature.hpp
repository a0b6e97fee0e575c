// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPointer>

#include "designer/schedule/schedule_activity.hpp"
#include "designer/workspace/feature.hpp"

namespace coppice::designer {

/// Schedule mode.
class ScheduleFeature : public Feature {
  Q_OBJECT

public:
  explicit ScheduleFeature(const FeatureHost& host);
  [[nodiscard]] ScheduleActivity& activity() const { return *m_activity; }

private:
  [[nodiscard]] SchedulePrompts promptsForActivity();
  void addGenerateActions();
  void addScheduleActions();
  void addViewActions();
  void addFolderAction();
  void addDocks(const FeatureHost& host);
  void connectActivity();
  /// The current schedule with a result; nullptr: there is none.
  [[nodiscard]] const ScheduleEntry* currentEntry() const;
  void follow();
  /// The bound is about the schedule that was chosen.
  void followChoice();
  /// Trees or transfers, whichever the schedule has.
  void showContents(const ScheduleResult& result);
  void updateActions();
  void openForest(const ScheduleResultPtr& result, const QString& path, bool isInferred);

  bool m_keepsSettings;
  ScheduleActivity* m_activity;
  QPointer<QObject> m_followedBook;
  int m_followedSchedule = 0;
};

}  // namespace coppice::designer
