// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/exchange/exchange_feature.hpp"

#include "designer/workspace/save_text.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

ExchangeFeature::ExchangeFeature(const FeatureHost& host, ScheduleFeature& schedules)
    : ExchangeFeature(host, schedules, new ExchangePanel(host.window)) {}

ExchangeFeature::ExchangeFeature(const FeatureHost& host, ScheduleFeature& schedules, ExchangePanel* panel)
    : QuestionFeature(host, u"exchange"_s, tr("Uneven All-to-All"), panel), m_schedules(schedules) {
  connect(panel, &ExchangePanel::scheduleWanted, this, &ExchangeFeature::addSchedule);
  connect(panel, &ExchangePanel::saveWanted, this, &ExchangeFeature::save);
  connect(panel, &ExchangePanel::failed, &m_workspace, &Workspace::say);
}

void ExchangeFeature::addSchedule(const ExchangeAnswerPtr& answer, std::size_t index) {
  ScheduleBook* book = m_schedules.book();
  if (book == nullptr) {
    return;
  }
  book->make([answer, index](const fabric::Description& facts, const Progress& progress) {
    return scheduleExchange(facts, *answer, index, progress);
  });
  m_workspace.setMode(Mode::schedule);
}

void ExchangeFeature::save(const QString& suggestion, const std::string& text) {
  saveText({m_workspace, m_prompts, m_window},
           {tr("Uneven All-to-All"), suggestion,
            suggestion.endsWith(u".csv"_s) ? tr("Tables (*.csv)") : tr("Text files (*.txt)")},
           text);
}

}  // namespace coppice::designer
