// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAbstractItemModel>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "designer/program/program_reading.hpp"

namespace coppice::designer {

/// Ranks, their threadblocks, their steps.
class StepModel : public QAbstractItemModel {
  Q_OBJECT

public:
  enum Column { kName, kType, kSend, kReceive, kChannel, kSource, kDestination, kCount, kWaits, kServes, kColumns };

  explicit StepModel(QObject* parent = nullptr) : QAbstractItemModel(parent) {}

  void setReading(ProgramReadingPtr reading);
  /// One rank alone; nullopt = all.
  void setRank(std::optional<int> rank);
  [[nodiscard]] std::optional<int> rank() const { return m_rank; }
  /// Steps that serve one of them stand out.
  void setTrees(std::set<TreeRef> trees);
  void setTreeName(TreeName name) { m_treeName = std::move(name); }
  /// The step of a row; nullopt for ranks and threadblocks.
  [[nodiscard]] std::optional<program::StepPlace> placeAt(const QModelIndex& index) const;
  /// Invalid where the step is filtered out or does not exist.
  [[nodiscard]] QModelIndex indexOf(const program::StepPlace& place) const;

  [[nodiscard]] QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
  [[nodiscard]] QModelIndex parent(const QModelIndex& index) const override;
  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
  /// The parent of a row is in its id: 0 = none, 1 + rank, or 1 + ranks + threadblock of all ranks.
  [[nodiscard]] int ranks() const;
  [[nodiscard]] int rankOf(const QModelIndex& index) const;
  [[nodiscard]] QString textOfRank(int rank, int column) const;
  [[nodiscard]] QString textOfBlock(int rank, int block, int column) const;
  [[nodiscard]] QString textOfStep(const program::StepPlace& place, int column) const;

  ProgramReadingPtr m_reading;
  std::optional<int> m_rank;
  std::vector<std::size_t> m_firstBlock;  ///< by rank
  std::vector<int> m_rankOfBlock;
  std::set<TreeRef> m_trees;
  TreeName m_treeName;
  std::set<program::StepPlace> m_faulty;  ///< of the ring, and where the result goes wrong
};

}  // namespace coppice::designer
