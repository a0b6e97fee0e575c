// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QComboBox>
#include <QLabel>
#include <QStackedWidget>
#include <QTableWidget>
#include <QToolButton>
#include <QWidget>
#include <optional>
#include <vector>

#include "designer/jobs/latest_job.hpp"
#include "designer/run/measured_chart.hpp"
#include "designer/run/nccl_panel.hpp"
#include "designer/run/run_comparison.hpp"

namespace coppice::designer {

/// The view "Measured": a recorded run, or a table of nccl-tests, beside the prediction of the current schedule: speed
/// by size, and the links and ranks that lost time. Or an imported run of NCCL on the fabric (NcclPanel).
class MeasuredPanel : public QWidget {
  Q_OBJECT

public:
  enum Column { kName, kPlanned, kMeasured, kRatio, kLost, kColumns };

  explicit MeasuredPanel(QWidget* parent = nullptr);
  ~MeasuredPanel() override;

  /// Of what expectationWanted() asks for.
  [[nodiscard]] static QString expectationTitle();

  /// nullptr: there is no schedule, or it is of a fabric that has changed.
  void setResult(ScheduleResultPtr result);
  /// Those of the document, newest first.
  void setRuns(std::vector<RecordedRun> runs);
  /// A file or a text that was given; it is chosen.
  void take(RecordedRun run);
  /// Imported runs of the document, and which of them is shown; nullptr = none.
  void setImports(std::vector<NcclImportPtr> imports, const NcclImportPtr& shown);
  /// nullptr: another kind of run is shown, or none.
  [[nodiscard]] const NcclImportPtr& shownImport() const { return m_import; }
  [[nodiscard]] NcclPanel& nccl() { return *m_nccl; }
  /// The name of the profile that replaces the defaults of the simulation; empty = none.
  void setProfile(const QString& name);
  /// nullptr while there is none.
  [[nodiscard]] const RunComparisonPtr& comparison() const { return m_comparison; }
  /// The links, or else the ranks, are listed.
  [[nodiscard]] bool showsLinks() const { return m_parts->currentIndex() == 0; }
  /// The chosen part of the list.
  [[nodiscard]] std::optional<simulate::ComparedPart> chosen() const;
  [[nodiscard]] QTableWidget& table() { return *m_table; }
  [[nodiscard]] MeasuredChart& chart() { return *m_chart; }
  [[nodiscard]] bool isBusy() const { return m_job.isRunning(); }
  /// Sizes, then links and ranks.
  [[nodiscard]] QString csv() const;

Q_SIGNALS:
  void generateWanted();
  void fileWanted();
  void pasteWanted();
  /// What stock NCCL is expected to do on the fabric.
  void expectationWanted();
  /// A profile is to be read, or the one that is used to be dropped.
  void profileWanted(bool isWanted);
  /// Another imported run was chosen, or none.
  void importChosen();
  /// There is another comparison, or none.
  void comparisonChanged();
  /// Another part of the list was chosen, or the list changed.
  void chosenChanged();

protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;

private:
  QWidget* makeBody();
  QLayout* makeHead();
  void setUpTable();
  void compare(std::optional<std::size_t> trace);
  void receive(const RunComparisonPtr& comparison);
  void fillRuns();
  void choose(int index);
  void showPage();
  void fillTraces();
  void fillTable();
  void tell();
  [[nodiscard]] const std::vector<simulate::ComparedPart>* parts() const;
  [[nodiscard]] QString nameOf(const simulate::ComparedPart& part) const;

  ScheduleResultPtr m_result;
  std::vector<RecordedRun> m_runs;
  std::optional<RecordedRun> m_given;
  std::optional<RecordedRun> m_chosen;
  RunComparisonPtr m_comparison;
  QStackedWidget* m_pages;
  QComboBox* m_which;
  QToolButton* m_open;
  QToolButton* m_paste;
  QComboBox* m_traces;
  QComboBox* m_parts;
  QComboBox* m_what;
  QToolButton* m_profile;
  QToolButton* m_copy;
  QLabel* m_text;
  QStackedWidget* m_views;  ///< without a run, with one, with an imported one
  MeasuredChart* m_chart;
  QTableWidget* m_table;
  NcclPanel* m_nccl;
  std::vector<NcclImportPtr> m_imports;
  NcclImportPtr m_import;
  LatestJob<RunComparisonPtr> m_job;
};

}  // namespace coppice::designer
