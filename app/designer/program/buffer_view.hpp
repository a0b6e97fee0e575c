// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAbstractScrollArea>
#include <QString>
#include <optional>
#include <vector>

#include "designer/program/program_reading.hpp"

namespace coppice::designer {

/// The chunks in the buffers of one rank after some events of a replay: one square each. Its colour names the rank that
/// a chunk comes from; of a sum, the filled share of the square says how many ranks are in it.
class BufferView : public QAbstractScrollArea {
  Q_OBJECT

public:
  explicit BufferView(QWidget* parent = nullptr);

  /// nullptr: nothing can be shown.
  void setReplay(std::shared_ptr<const verify::ProgramReplay> replay, int ranks);
  /// @param position  how many events have happened
  void showMoment(int rank, std::size_t position);
  [[nodiscard]] int slotCount() const { return static_cast<int>(m_slots.size()); }
  /// The chosen square in words; empty where none is.
  [[nodiscard]] QString chosenText() const;
  /// "o[3]" of the i-th square.
  [[nodiscard]] QString nameOf(int slot) const;
  [[nodiscard]] const verify::SlotContent& contentOf(int slot) const { return m_slots[slot].content; }
  void choose(int slot);

Q_SIGNALS:
  void chosenChanged(const QString& text);
  /// Double click or Return: the step that wrote the square.
  void writerWanted(const coppice::program::StepPlace& place);

protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool viewportEvent(QEvent* event) override;

private:
  struct Slot {
    program::Buffer buffer = program::Buffer::input;
    int offset = 0;
    verify::SlotContent content;
  };
  struct Section {
    QString title;
    int first = 0;  ///< slot
    int count = 0;
    int top = 0;  ///< of its title
  };

  void arrange();
  [[nodiscard]] QRect boxOf(int slot) const;
  [[nodiscard]] int slotAt(const QPoint& position) const;
  [[nodiscard]] QString textOf(int slot) const;
  void paintSlot(QPainter& painter, int slot) const;
  void goToWriter();

  std::shared_ptr<const verify::ProgramReplay> m_replay;
  int m_ranks = 1;
  int m_rank = 0;
  std::size_t m_position = 0;
  std::vector<Slot> m_slots;
  std::vector<Section> m_sections;
  int m_columns = 1;
  int m_chosen = -1;
};

}  // namespace coppice::designer
