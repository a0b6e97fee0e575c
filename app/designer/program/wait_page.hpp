// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QWidget>
#include <optional>
#include <vector>

#include "designer/program/program_reading.hpp"
#include "designer/program/step_list.hpp"

namespace coppice::designer {

/// One step in words, what it waits for, and what waits for it.
class WaitPage : public QWidget {
  Q_OBJECT

public:
  explicit WaitPage(QWidget* parent = nullptr);

  /// @param reading nullptr = there is no program @param place nullopt = no step is chosen
  /// @param replay  nullptr = not known when the step is done
  void setStep(const ProgramReadingPtr& reading, const std::optional<program::StepPlace>& place,
               const verify::ProgramReplay* replay, const TreeName& treeName);

Q_SIGNALS:
  void chosen(const coppice::program::StepPlace& place);

private:
  static void fill(StepList& list, const program::Program& program, const std::vector<program::StepLink>& links);

  QLabel* m_step;
  StepList* m_before;
  StepList* m_after;
};

}  // namespace coppice::designer
