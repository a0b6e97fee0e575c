// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/features/compare/compare_feature.hpp"

#include <utility>

using namespace Qt::StringLiterals;

namespace coppice::designer {

CompareFeature::CompareFeature(const FeatureHost& host, ScheduleActivity& schedules)
    : Feature(host), m_schedules(schedules), m_panel(new ComparePanel(m_window)) {
  host.addDock({u"compare"_s, tr("Compare"), m_panel, Qt::BottomDockWidgetArea, {Mode::schedule}});
  connect(&m_schedules, &ScheduleActivity::currentChanged, this, &CompareFeature::follow);
  connect(m_panel, &ComparePanel::generateWanted, &m_schedules, &ScheduleActivity::generate);
  connect(m_panel, &ComparePanel::chosen, this, [this](int id) {
    if (ScheduleBook* book = m_schedules.book()) {
      book->setCurrent(id);
    }
  });
}

void CompareFeature::follow() {
  const ScheduleBook* book = m_schedules.book();
  const ScheduleEntry* current = book != nullptr ? book->current() : nullptr;
  std::vector<ComparedSchedule> compared;
  if (current != nullptr && current->result) {
    const ScheduleResult& asked = *current->result;
    for (const ScheduleEntry& entry : book->entries()) {
      if (entry.result && entry.result->options.collective == asked.options.collective &&
          entry.result->root() == asked.root() && entry.result->fabricDigest() == asked.fabricDigest()) {
        compared.push_back({entry.id, entry.name, entry.result});
      }
    }
  }
  m_panel->setSchedules(std::move(compared), current != nullptr ? current->id : 0);
}

}  // namespace coppice::designer
