// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QComboBox>
#include <QLabel>
#include <QStackedWidget>
#include <QWidget>
#include <memory>
#include <vector>

#include "designer/run/run_data.hpp"
#include "designer/timeline/timeline_view.hpp"

namespace coppice::designer {

/// The trace of a run: one of its sizes at a time.
class TracePanel : public QWidget {
  Q_OBJECT

public:
  explicit TracePanel(QWidget* parent = nullptr);
  void setRun(std::shared_ptr<const RunData> run);
  void follow();
  [[nodiscard]] TimelineView& view() { return *m_view; }

private:
  void showTrace();
  void tell(const TimelineBar* bar);

  std::shared_ptr<const RunData> m_data;
  QStackedWidget* m_pages;
  QComboBox* m_which;
  QLabel* m_text;
  TimelineView* m_view;
  std::vector<program::TraceEvent> m_events;  ///< that are shown
  std::size_t m_shownEvents = 0;
};

}  // namespace coppice::designer
