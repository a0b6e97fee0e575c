// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <QTreeView>
#include <cstdint>

#include "finder/construction.hpp"

class QStandardItemModel;

namespace coppice::designer {

/// "Line graph, 3 times", "Circulant of 16: jumps 3, 4": one operation in words.
[[nodiscard]] QString operationTitle(const finder::Construction& construction);

/// GPUs and ports of what a construction makes.
struct ConstructionSize {
  std::int64_t nodes = 0;
  std::int64_t degree = 0;
};
[[nodiscard]] ConstructionSize sizeOf(const finder::Construction& construction);

/// How a topology is made, as a tree of operations over base graphs, with the size after each.
class ConstructionTree : public QTreeView {
  Q_OBJECT

public:
  explicit ConstructionTree(QWidget* parent = nullptr);

  /// nullptr: none.
  void setConstruction(const finder::ConstructionPtr& construction);

private:
  QStandardItemModel* m_items;
};

}  // namespace coppice::designer
