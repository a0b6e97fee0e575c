// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAbstractTableModel>
#include <QString>
#include <vector>

#include "base/result.hpp"
#include "designer/document/ids.hpp"
#include "designer/models/element_table_model.hpp"

namespace coppice::designer {

/// One line of the Problems list.
struct Problem {
  Severity severity = Severity::error;
  QString text;
  QString fix;
  QString place;           ///< for a person
  ElementId element = {};  ///< where a click goes; invalid = nowhere
  int count = 1;           ///< how often it was found

  friend bool operator==(const Problem&, const Problem&) = default;
};

/// Findings of validation, import and reading. Errors first, then warnings and notes; equal ones are counted, not
/// repeated.
class ProblemsModel : public QAbstractTableModel {
  Q_OBJECT

public:
  enum Column { kSeverity, kText, kPlace, kFix, kColumns };

  explicit ProblemsModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

  void setProblems(std::vector<Problem> problems);
  /// culprits: as findings, or empty.
  static std::vector<Problem> fromFindings(const std::vector<Finding>& findings,
                                           const std::vector<ElementId>& culprits = {});

  [[nodiscard]] const std::vector<Problem>& problems() const { return m_problems; }
  /// How many of that severity, repeated ones counted.
  [[nodiscard]] int count(Severity severity) const;
  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
  std::vector<Problem> m_problems;
};

}  // namespace coppice::designer
