// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPointer>
#include <set>
#include <string>
#include <vector>

#include "designer/schedules/schedule_feature.hpp"
#include "designer/workspace/feature.hpp"

namespace coppice::designer {

/// Repairs a schedule of the current document for the failure that is looked at. The result is one more schedule of the
/// document, and is shown beside the old one.
class RepairFeature : public Feature {
  Q_OBJECT

public:
  RepairFeature(const FeatureHost& host, ScheduleFeature& schedules);

private:
  void follow();
  void update();
  void repair(EditorContext& context);
  void show(int id);
  /// The schedule in use: the current one, or the newest one where that is itself for a failure; nullptr = none.
  [[nodiscard]] const ScheduleEntry* base() const;

  ScheduleFeature& m_schedules;
  QPointer<EditorContext> m_context;
  QPointer<ScheduleBook> m_book;
  QMetaObject::Connection m_assumed;
  QMetaObject::Connection m_finished;
  bool m_isWanted = false;  ///< the next schedule that is finished is the repaired one
};

/// How workflow::withoutParts calls the parts that these elements are.
[[nodiscard]] std::vector<std::string> failedParts(const Snapshot& snapshot, const std::set<ElementId>& elements);

}  // namespace coppice::designer
