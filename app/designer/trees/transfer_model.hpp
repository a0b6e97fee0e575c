// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAbstractTableModel>
#include <QString>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "designer/schedules/schedule_result.hpp"

namespace coppice::designer {

/// Which transfers of a step schedule are meant. What is absent does not limit.
struct TransferFilter {
  std::optional<std::int32_t> step = {};   ///< from 0; of a schedule without steps, a phase
  std::optional<std::int64_t> shard = {};  ///< of the collective's table
  QString gpu = {};                        ///< part of the name of the sender or the receiver

  friend bool operator==(const TransferFilter&, const TransferFilter&) = default;
};

/// The transfers of a step schedule that a filter lets through, in their order.
class TransferModel : public QAbstractTableModel {
  Q_OBJECT

public:
  enum Column { kStep, kData, kPiece, kFrom, kTo, kVia, kColumns };

  using QAbstractTableModel::QAbstractTableModel;

  /// Nothing is shown of a forest.
  void setResult(ScheduleResultPtr result);
  [[nodiscard]] const ScheduleResultPtr& result() const { return m_result; }
  void setFilter(const TransferFilter& filter);
  [[nodiscard]] const TransferFilter& filter() const { return m_filter; }
  /// nullptr without a result.
  [[nodiscard]] const schedule::StepSchedule* schedule() const { return m_result ? m_result->stepSchedule() : nullptr; }
  /// Into the transfers of the schedule.
  [[nodiscard]] std::size_t transferAt(int row) const { return m_rows[row]; }
  /// Names of sender and receiver.
  [[nodiscard]] std::pair<QString, QString> endsAt(int row) const;
  /// "b0g0", "b0g0 to b0g1", "all data"
  [[nodiscard]] QString nameOfShard(std::int64_t shard) const;
  [[nodiscard]] QString gpuName(fabric::Rank rank) const;

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
  void collect();
  [[nodiscard]] QString textOf(const schedule::Transfer& transfer, int column) const;

  ScheduleResultPtr m_result;
  TransferFilter m_filter;
  std::vector<std::size_t> m_rows;
};

/// "Step 3" or, of a schedule without steps, "Phase 1".
[[nodiscard]] QString stepTitle(const schedule::StepSchedule& schedule, std::int32_t step);

}  // namespace coppice::designer
