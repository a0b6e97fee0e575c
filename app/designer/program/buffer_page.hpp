// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QComboBox>
#include <QLabel>
#include <QSlider>
#include <QWidget>
#include <cstddef>
#include <memory>

#include "designer/program/buffer_view.hpp"
#include "designer/program/program_reading.hpp"

namespace coppice::designer {

/// The buffers at one moment of a program's replay, and the choice of the moment, the rank and the variant.
class BufferPage : public QWidget {
  Q_OBJECT

public:
  explicit BufferPage(QWidget* parent = nullptr);

  /// Goes to the moment before the first step.
  void setReading(const ProgramReadingPtr& reading);
  /// The replay in place or out of place, as far as the program has it.
  void setInPlace(bool isInPlace);
  /// Of the chosen variant; nullptr = the program was not played.
  [[nodiscard]] std::shared_ptr<const verify::ProgramReplay> replay() const;
  /// @param position   how many events have happened
  /// @param rankOfStep whose buffers are shown, where no other rank is chosen
  void showMoment(std::size_t position, int rankOfStep);
  [[nodiscard]] std::size_t position() const { return m_position; }
  [[nodiscard]] BufferView& view() { return *m_view; }

Q_SIGNALS:
  /// The slider was moved there.
  void positionChosen(std::size_t position);
  /// The step that wrote a chunk.
  void writerWanted(const coppice::program::StepPlace& place);

private:
  void refresh();

  ProgramReadingPtr m_reading;
  std::size_t m_position = 0;
  int m_rankOfStep = 0;
  QComboBox* m_rank;
  QComboBox* m_variant;
  QSlider* m_slider;
  QLabel* m_moment;
  BufferView* m_view;
  QLabel* m_slot;
};

}  // namespace coppice::designer
