// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QCheckBox>
#include <QComboBox>
#include <QLineEdit>
#include <QTableWidget>
#include <QToolButton>
#include <QWidget>
#include <set>

#include "designer/sketch/sketch_desk.hpp"

namespace coppice::designer {

/// Who sends to other boxes, who receives, and whose data goes by whom: one row for each GPU of a box.
class RelayPage : public QWidget {
  Q_OBJECT

public:
  enum Column { kGpu, kSends, kReceives, kTo, kOwners, kShare, kColumns };

  explicit RelayPage(QWidget* parent = nullptr);

  /// nullptr: there is no document.
  void setDesk(SketchDesk* desk);
  void fill();
  /// The tool that points from GPU to GPU on the drawing is in use.
  void setPointing(bool isPointing);
  /// The rows of these GPUs, counted within a box.
  void setSelected(const std::set<int>& gpus);
  [[nodiscard]] QTableWidget& table() { return *m_table; }

Q_SIGNALS:
  /// The GPUs that are selected on the drawing become the senders, or the receivers.
  void sendersWanted();
  void receiversWanted();
  /// Relays are to be drawn, or no more.
  void pointingWanted(bool isWanted);
  /// What was typed cannot be read.
  void refused(const QString& why);

private:
  void fillRow(int row, const QString& name, const std::map<int, std::vector<int>>& receivers,
               const std::map<int, std::vector<int>>& owners, const std::set<int>& receiving);
  void layOut();
  void connectFields();
  void takeText(int gpu, int column, const QString& text);
  void takeBlocks();
  void take(const QTableWidgetItem* item);

  SketchDesk* m_desk = nullptr;
  bool m_isFilling = false;
  QComboBox* m_connections;
  QComboBox* m_rule;
  QLineEdit* m_blocks;
  QCheckBox* m_ownFirst;
  QToolButton* m_point;
  QToolButton* m_senders;
  QToolButton* m_receivers;
  QTableWidget* m_table;
};

}  // namespace coppice::designer
