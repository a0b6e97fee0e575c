// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/program/operation_tree.hpp"

#include <string>
#include <utility>

#include "designer/document/counted.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr int kRankRole = Qt::UserRole;

}  // namespace

OperationTree::OperationTree(QWidget* parent) : QTreeWidget(parent) {
  setObjectName(u"programOperations"_s);
  setAccessibleName(tr("Ranks, threadblocks and operations"));
  setFrameShape(QFrame::NoFrame);
  setUniformRowHeights(true);
  setAlternatingRowColors(true);
  setHeaderHidden(true);
  connect(this, &QTreeWidget::itemExpanded, this, &OperationTree::fillRank);
}

void OperationTree::setFile(std::shared_ptr<const workflow::TargetFile> file) {
  clear();
  m_file = std::move(file);
  if (!m_file) {
    return;
  }
  for (int rank = 0; rank < m_file->ranks; ++rank) {
    auto* item = new QTreeWidgetItem(this, {tr("Rank %1").arg(rank)});
    item->setData(0, kRankRole, rank);
    item->setChildIndicatorPolicy(QTreeWidgetItem::ShowIndicator);
  }
  if (QTreeWidgetItem* first = topLevelItem(0)) {
    first->setExpanded(true);
  }
}

void OperationTree::fillRank(QTreeWidgetItem* item) {
  if (item->parent() != nullptr || item->childCount() > 0 || !m_file) {
    return;
  }
  const auto blocks = m_file->operations(item->data(0, kRankRole).toInt());
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    auto* child = new QTreeWidgetItem(
        item, {tr("Threadblock %1 · %2")
                   .arg(block)
                   .arg(counted(static_cast<qsizetype>(blocks[block].size()), tr("operation"), tr("operations")))});
    for (const std::string& line : blocks[block]) {
      new QTreeWidgetItem(child, {QString::fromStdString(line)});
    }
    child->setExpanded(block == 0);
  }
}

}  // namespace coppice::designer
