// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QCheckBox>
#include <QComboBox>
#include <QDialog>
#include <QLabel>
#include <QPushButton>
#include <QTreeWidget>
#include <functional>
#include <memory>

#include "base/result.hpp"
#include "designer/jobs/latest_job.hpp"
#include "fabric/description.hpp"
#include "workflow/rank_order.hpp"

namespace coppice::designer {

/// Which host and GPU should get which rank, for an algorithm that sends by ranks alone: what the order as it is
/// reaches, the best one found, and its files for launchers.
class OrderDialog : public QDialog {
  Q_OBJECT

public:
  /// @param save asks for a folder and writes the files
  OrderDialog(const QString& name, std::shared_ptr<const fabric::Description> facts,
              std::function<void(const workflow::RankOrder&)> save, QWidget* parent = nullptr);

  [[nodiscard]] bool isSettled() const { return !m_job.isRunning(); }
  [[nodiscard]] const QTreeWidget& ranks() const { return *m_ranks; }
  /// What both orders reach and the bound, or why there is no order.
  [[nodiscard]] QString summary() const { return m_summary->text(); }

private:
  using Answer = std::shared_ptr<const Result<workflow::RankOrder>>;

  void search();
  void take(const Answer& answer);
  void list(const workflow::RankOrder& made);

  std::shared_ptr<const fabric::Description> m_facts;
  QComboBox* m_algorithm;
  QCheckBox* m_isFree;
  QLabel* m_summary;
  QTreeWidget* m_ranks;
  QPushButton* m_save;
  Answer m_answer;
  LatestJob<Answer> m_job;
};

}  // namespace coppice::designer
