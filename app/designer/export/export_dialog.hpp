// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QCheckBox>
#include <QComboBox>
#include <QDialog>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QSpinBox>
#include <QTimer>
#include <QVBoxLayout>
#include <functional>
#include <memory>

#include "designer/export/check_list.hpp"
#include "designer/export/export_check.hpp"
#include "designer/jobs/latest_job.hpp"
#include "designer/schedules/job_progress.hpp"

namespace coppice::designer {

/// Ctrl+E: a schedule as a program of a runtime, with the checklist of what that runtime takes; the schedule itself and
/// its trees are saved from here too. Every change of a setting is judged in the background; a fix that needs other
/// trees generates them there and continues with them. What was saved is said here, with how to run it.
class ExportDialog : public QDialog {
  Q_OBJECT

public:
  /// Asks where to save; empty = nowhere.
  using AskPath = std::function<QString(const QString& suggestion, const QString& filter)>;

  ExportDialog(ScheduleResultPtr result, QString name, QString schedulePath, QString fabricPath, AskPath askPath,
               QWidget* parent = nullptr);
  ~ExportDialog() override;

  [[nodiscard]] const ScheduleResultPtr& result() const { return m_result; }
  /// What the widgets say; the sizes as they could be read.
  [[nodiscard]] lowering::Options options() const;
  /// What the schedule is exported for.
  [[nodiscard]] const workflow::Destination& destination() const;
  void setOptions(const lowering::Options& options);
  /// Of the present settings; null while they are being judged.
  [[nodiscard]] const ExportCheck* check() const;
  /// Errors: io, verification.
  Outcome saveProgram(const QString& path) const;
  Outcome saveTrees(const QString& path) const;
  [[nodiscard]] QString command() const;
  /// How to run the program with its runtime; empty where there is none.
  [[nodiscard]] QString guide() const;
  /// What the schedule is called, and its file (empty = none yet); after regenerated().
  void setSchedule(const QString& name, const QString& path);

Q_SIGNALS:
  void checked();
  /// The dialog has generated a schedule with another number of trees, and exports that from now on.
  void regenerated(const coppice::designer::ScheduleResultPtr& result);
  void saved(const QString& path);
  void failed(const QString& why);

private:
  /// Of the file's name.
  [[nodiscard]] QString suffix() const;
  void setUpSettings();
  void setUpSizes();
  void setUpResult();
  void setUpGuide();
  [[nodiscard]] QLayout* makeForms();
  [[nodiscard]] QLayout* makeButtons();
  void layOut();
  void connectAll();
  void judge();
  void submit(Remedies remedies);
  void receive(std::shared_ptr<const ExportCheck> check);
  void regenerate(const CheckFix& fix);
  void takeSchedule(const Result<ScheduleResultPtr>& result);
  void refresh();
  void updateGuide();
  void nameSchedule();
  void apply(const CheckFix& fix);
  void saveAs(const QString& suffix, const QString& filter, bool isProgram,
              const std::function<Outcome(const QString&)>& save);
  bool readSizes(lowering::Options* options) const;

  ScheduleResultPtr m_result;
  QString m_name;
  QString m_schedulePath;
  QString m_fabricPath;
  AskPath m_askPath;
  bool m_isFilling = false;
  bool m_areSizesWrong = false;

  QComboBox* m_runtime;
  QComboBox* m_protocol;
  QComboBox* m_place;
  QComboBox* m_channels;
  QSpinBox* m_instances;
  std::int64_t m_chunks = 0;  ///< of each shard of a step schedule; 0 = as its pieces need
  QLineEdit* m_minBytes;
  QLineEdit* m_maxBytes;
  QLabel* m_sizeFault;
  QLabel* m_title;
  QLabel* m_summary;
  QProgressBar* m_progress;
  CheckList* m_list;
  QLabel* m_saved;
  QPlainTextEdit* m_guide;
  QPushButton* m_copyGuide;
  QPushButton* m_showGuide;
  QPushButton* m_save;
  QString m_savedPath;  ///< of the program as it is now; empty = not saved
  std::shared_ptr<const ExportCheck> m_check;
  std::shared_ptr<JobProgress> m_jobProgress = std::make_shared<JobProgress>();
  lowering::Options m_asked;  ///< that are judged
  const workflow::Target* m_askedTarget = nullptr;
  bool m_isMending = false;  ///< the rows are there; schedules that fit are looked for
  bool m_isJudging = false;
  bool m_isGenerating = false;
  QTimer m_tick;
  LatestJob<std::shared_ptr<const ExportCheck>> m_job;
  LatestJob<std::shared_ptr<const Result<ScheduleResultPtr>>> m_generator;
};

}  // namespace coppice::designer
