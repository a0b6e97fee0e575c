// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAbstractTableModel>
#include <QString>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/duration.hpp"
#include "designer/finder/topology_search.hpp"

namespace coppice::designer {

/// "123.4 µs", "1.23 ms".
[[nodiscard]] QString microsecondsText(const ExactMicroseconds& time);

/// One topology with what it costs at the chosen size.
struct FrontRow {
  workflow::FoundTopology topology;
  std::optional<ExactMicroseconds> time;        ///< at the size; absent where the cost is not known
  bool isFastest = false;                       ///< among those of its number of nodes, at the size
  std::optional<Rational> fromBytes;            ///< from this size on it is the fastest; absent: it never is
  std::optional<Rational> toBytes;              ///< up to this one; absent: for all larger ones
  std::optional<workflow::Change> change = {};  ///< from the present fabric; absent where it is not asked or not known
};

/// The fronts as rows. The times follow the question without a new search.
class FrontTable : public QAbstractTableModel {
  Q_OBJECT

public:
  enum Column {
    kNodes,
    kSteps,
    kExact,
    kDecimal,
    kAlltoall,
    kTime,
    kBestFor,
    kChange,
    kConstruction,
    kGrowsTo,
    kColumns
  };

  using QAbstractTableModel::QAbstractTableModel;

  void setFronts(std::span<const NodeFront> fronts);
  /// @pre times.sizes has one size
  void setTimes(const workflow::TopologyTimes& times);
  /// What a change to a topology gains.
  using Changes = std::function<std::optional<workflow::Change>(const workflow::FoundTopology&)>;
  void setChanges(Changes changes);
  [[nodiscard]] const std::vector<FrontRow>& rows() const { return m_rows; }
  [[nodiscard]] const workflow::TopologyTimes& times() const { return m_times; }
  /// The fastest of the number of nodes; -1 where there is none.
  [[nodiscard]] int fastestOf(int nodes) const;
  /// For which sizes the row is the fastest: "up to 32.0 KiB".
  [[nodiscard]] QString bestForText(const FrontRow& row) const;
  /// One sentence for the fronts of `nodes`: which is the fastest from which size on, exact.
  [[nodiscard]] QString breakPointsText(int nodes) const;

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
  void compute();
  [[nodiscard]] QVariant text(const FrontRow& row, int column) const;
  [[nodiscard]] QString alltoallTip(const FrontRow& row) const;
  [[nodiscard]] QString tip(const FrontRow& row, int column) const;

  std::vector<FrontRow> m_rows;
  workflow::TopologyTimes m_times;
  Changes m_changes;
};

}  // namespace coppice::designer
