// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAbstractTableModel>
#include <QColor>
#include <QIcon>
#include <cstddef>

#include "designer/search/front_search.hpp"
#include "designer/theme/tokens.hpp"

namespace coppice::designer {

/// What a decision means for the reader of a chart or a table.
enum class CandidateKind { optimal, found, unsat, unknown };
inline constexpr int kCandidateKinds = 4;
[[nodiscard]] CandidateKind kindOf(const FrontCandidate& candidate);
/// "found, optimal"
[[nodiscard]] QString nameOf(CandidateKind kind);
/// Each kind has a colour and a shape of its own.
[[nodiscard]] QColor colorOf(CandidateKind kind, Scheme scheme);
/// The shape, as the chart draws it.
[[nodiscard]] QIcon markOf(CandidateKind kind);

/// The sizes that a search has decided, in that order.
class CandidateModel : public QAbstractTableModel {
  Q_OBJECT

public:
  enum Column { kSteps, kRounds, kChunks, kRatio, kResult, kProof, kSpeed, kSeconds, kReason, kColumns };
  /// Numbers to sort by.
  static constexpr int kSortRole = Qt::UserRole;

  /// The search must outlive the model.
  explicit CandidateModel(const FrontSearch& search, QObject* parent = nullptr);

  /// Follows what was added to the search since, or a search that was started again.
  void refresh();

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
  [[nodiscard]] QString textOf(const FrontCandidate& candidate, int column) const;
  [[nodiscard]] QVariant sortKeyOf(const FrontCandidate& candidate, int column) const;

  const FrontSearch& m_search;
  std::size_t m_rows = 0;
};

}  // namespace coppice::designer
