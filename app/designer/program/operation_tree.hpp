// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QTreeWidget>
#include <memory>

#include "workflow/target.hpp"

namespace coppice::designer {

/// The ranks, threadblocks and operations of a file of a target that is not MSCCL XML. A rank's operations are named
/// when it is looked at.
class OperationTree : public QTreeWidget {
  Q_OBJECT

public:
  explicit OperationTree(QWidget* parent = nullptr);

  /// nullptr: there is none.
  void setFile(std::shared_ptr<const workflow::TargetFile> file);
  [[nodiscard]] const std::shared_ptr<const workflow::TargetFile>& file() const { return m_file; }

private:
  void fillRank(QTreeWidgetItem* item);

  std::shared_ptr<const workflow::TargetFile> m_file;
};

}  // namespace coppice::designer
