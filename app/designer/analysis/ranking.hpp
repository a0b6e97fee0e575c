// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAbstractTableModel>
#include <QString>
#include <QStringList>
#include <atomic>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <vector>

#include "designer/jobs/bound.hpp"

namespace coppice::designer {

/// One entry of a ranking table. Numbers are sorted by `value`, exactly; a number that does not exist is last.
struct RankedCell {
  QString text;
  std::optional<Rational> value = {};
  bool isNumber = false;
  QString toolTip = {};
};

struct RankedRow {
  std::vector<RankedCell> cells;
  std::set<ElementId> elements;  ///< what a click selects
};

/// A table made in the background for one question about the facts at one revision.
struct Ranking {
  Question question;
  std::uint64_t factRevision = 0;
  std::vector<RankedRow> rows;
  /// False: the solver has gone on to another question; there will be a new bound, and then this can be asked again.
  bool isAnswered = true;
  QString why;   ///< why there are no rows
  QString note;  ///< is above the rows
};

/// Thousandths of the work that are done.
using WorkDone = std::shared_ptr<std::atomic<int>>;

/// What one more GB/s per direction is worth on each class of links and on each link: the best raise first. Columns:
/// upgradeHeaders(). Never fails. Meant for another thread, after the bound of this snapshot was found by the solver.
[[nodiscard]] Ranking rankUpgrades(const BoundSolver& solver, const Snapshot& snapshot, const Question& question,
                                   const WorkDone& done, std::stop_token stop);
[[nodiscard]] QStringList upgradeHeaders();

/// What is lost when each link, NIC, switch or GPU fails alone: the largest loss first. Columns: damageHeaders(). As
/// rankUpgrades.
[[nodiscard]] Ranking rankDamage(const BoundSolver& solver, const Snapshot& snapshot, const Question& question,
                                 const WorkDone& done, std::stop_token stop);
[[nodiscard]] QStringList damageHeaders();

/// The rows of a ranking.
class RankingModel : public QAbstractTableModel {
  Q_OBJECT

public:
  explicit RankingModel(QStringList headers, QObject* parent = nullptr);

  void setRows(std::vector<RankedRow> rows);
  [[nodiscard]] const std::vector<RankedRow>& rows() const { return m_rows; }
  /// Order of two entries of one column.
  [[nodiscard]] bool isLess(const QModelIndex& a, const QModelIndex& b) const;

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
  [[nodiscard]] const RankedCell* cellAt(const QModelIndex& index) const;

  QStringList m_headers;
  std::vector<RankedRow> m_rows;
};

}  // namespace coppice::designer
