// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QDialog>
#include <QTableWidget>
#include <memory>
#include <vector>

#include "designer/jobs/latest_job.hpp"
#include "designer/workspace/editor_context.hpp"

namespace coppice::designer {

/// The open fabrics beside each other: a column for each, a row for the bound of each collective, what the first one is
/// to the others in percent. Computed in the background, fabric by fabric.
class FabricsDialog : public QDialog {
  Q_OBJECT

public:
  explicit FabricsDialog(const std::vector<EditorContext*>& contexts, QWidget* parent = nullptr);
  [[nodiscard]] QTableWidget& table() { return *m_table; }
  /// Nothing is being computed.
  [[nodiscard]] bool isSettled() const { return m_next == m_fabrics.size(); }
  /// All figures, exact, with a head line.
  [[nodiscard]] QString csv() const;

private:
  struct Subject {
    QString name;
    Snapshot snapshot;
    std::vector<Bound> bounds;  ///< by kBoundCollectives; empty while they are not known
  };
  void computeNext();
  void fill();

  std::vector<Subject> m_fabrics;
  std::size_t m_next = 0;  ///< that is computed
  QTableWidget* m_table;
  LatestJob<std::shared_ptr<const std::vector<Bound>>> m_job;
};

}  // namespace coppice::designer
