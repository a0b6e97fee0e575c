// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

#include "designer/exchange/exchange_panel.hpp"
#include "designer/schedules/question_feature.hpp"
#include "designer/schedules/schedule_feature.hpp"

namespace coppice::designer {

/// How long an uneven all-to-all takes, as a dock of Analyse mode. Its routes become schedules of the document.
class ExchangeFeature : public QuestionFeature {
  Q_OBJECT

public:
  ExchangeFeature(const FeatureHost& host, ScheduleFeature& schedules);

private:
  ExchangeFeature(const FeatureHost& host, ScheduleFeature& schedules, ExchangePanel* panel);
  void addSchedule(const ExchangeAnswerPtr& answer, std::size_t index);
  void save(const QString& suggestion, const std::string& text);

  ScheduleFeature& m_schedules;
};

}  // namespace coppice::designer
