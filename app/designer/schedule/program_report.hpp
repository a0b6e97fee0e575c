// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QComboBox>
#include <QDialog>
#include <QLabel>
#include <QProgressBar>
#include <QTimer>
#include <memory>
#include <optional>
#include <string>

#include "designer/jobs/latest_job.hpp"
#include "designer/schedule/check_list.hpp"
#include "designer/schedule/export_check.hpp"
#include "designer/schedule/job_progress.hpp"

namespace coppice::designer {

/// What an MSCCL XML file is, and whether a runtime can run it; or what is wrong with it and where.
class ProgramReport : public QDialog {
  Q_OBJECT

public:
  ProgramReport(const QString& path, std::string xml, QWidget* parent = nullptr);
  ~ProgramReport() override;

  /// Judged by the chosen runtime's rules.
  [[nodiscard]] bool isJudged() const { return !m_isJudging; }
  [[nodiscard]] bool isOk() const { return m_isOk; }
  [[nodiscard]] const std::vector<CheckRow>& rows() const { return m_list->rows(); }
  [[nodiscard]] QString verdict() const { return m_verdict->text(); }
  [[nodiscard]] QString facts() const { return m_facts->text(); }

private:
  using Answer = std::shared_ptr<const Result<ProgramJudgement>>;
  void judge();
  void receive(const Answer& answer);
  void tick();

  QString m_path;
  std::shared_ptr<const std::string> m_xml;
  bool m_isJudging = false;
  bool m_isOk = false;
  QComboBox* m_runtime;
  QLabel* m_verdict;
  QLabel* m_facts;
  QProgressBar* m_progress;
  CheckList* m_list;
  std::shared_ptr<JobProgress> m_jobProgress = std::make_shared<JobProgress>();
  QTimer m_tick;
  LatestJob<Answer> m_job;
};

}  // namespace coppice::designer
