// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QPushButton>
#include <QSplitter>
#include <optional>
#include <string>

#include "designer/program/program_reading.hpp"
#include "designer/program/ring_view.hpp"
#include "designer/program/step_list.hpp"

namespace coppice::designer {

/// The ring of a deadlock as a drawing and as a list, and the smallest change that resolves it.
class DeadlockPage : public QSplitter {
  Q_OBJECT

public:
  explicit DeadlockPage(QWidget* parent = nullptr);

  void setReading(const ProgramReadingPtr& reading);
  void setCurrent(const std::optional<program::StepPlace>& place) { m_ring->setCurrent(place); }
  [[nodiscard]] RingView& ring() { return *m_ring; }

Q_SIGNALS:
  void chosen(const coppice::program::StepPlace& place);
  /// The program with the change, as a text to save.
  void saveWanted(const QString& suggestion, const std::string& xml);

private:
  void saveChanged();

  ProgramReadingPtr m_reading;
  RingView* m_ring;
  StepList* m_steps;
  QLabel* m_remedy;
  QPushButton* m_save;
};

}  // namespace coppice::designer
