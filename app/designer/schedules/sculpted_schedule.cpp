// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/schedules/sculpted_schedule.hpp"

#include <QRegularExpression>
#include <utility>

#include "workflow/clock.hpp"
#include "workflow/guarded.hpp"
#include "workflow/sculpt.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

using workflow::guarded;

/// "AllGather, 16 trees edited", also of "AllGather, 16 trees edited (3)".
QString withWord(const QString& name, const QString& word) {
  static const QRegularExpression mark(u" (edited|around locked)( \\(\\d+\\))?$"_s);
  return QString(name).remove(mark) + u' ' + word;
}

Result<ScheduleResultPtr> examined(const ScheduleResult& base, schedule::Schedule schedule, const QString& name,
                                   workflow::Clock& clock, const Progress& progress) {
  auto made = examineSchedule(*base.description, *base.fabric, std::move(schedule), base.options, progress);
  if (!made) {
    return made.error();
  }
  auto result = std::const_pointer_cast<ScheduleResult>(*std::move(made));
  result->origin = base.origin;
  result->name = name;
  result->seconds = clock.lap();
  return ScheduleResultPtr(std::move(result));
}

Error noTrees() {
  return {ErrorCode::badUsage, "only schedules of trees can be changed by hand", "generate trees first"};
}

}  // namespace

Result<ScheduleResultPtr> editTree(const ScheduleResult& base, const QString& name, std::size_t half,
                                   const schedule::NewParent& change, const Progress& progress) {
  return guarded<ScheduleResultPtr>([&]() -> Result<ScheduleResultPtr> {
    workflow::Clock clock;
    if (base.forests() == nullptr) {
      return noTrees();
    }
    auto made = workflow::sculpted(*base.fabric, *base.forests(), half, change, progress);
    if (!made) {
      return made.error();
    }
    return examined(base, std::move(made->schedule), withWord(name, u"edited"_s), clock, progress);
  });
}

Result<ScheduleResultPtr> generateAround(const ScheduleResult& base, const QString& name,
                                         const std::array<forestcoll::LockedTrees, 2>& locked,
                                         const Progress& progress) {
  return guarded<ScheduleResultPtr>([&]() -> Result<ScheduleResultPtr> {
    workflow::Clock clock;
    if (base.forests() == nullptr) {
      return noTrees();
    }
    auto made = workflow::aroundLocked(*base.fabric, *base.forests(), locked, progress);
    if (!made) {
      return made.error();
    }
    return examined(base, std::move(made->schedule), withWord(name, u"around locked"_s), clock, progress);
  });
}

}  // namespace coppice::designer
