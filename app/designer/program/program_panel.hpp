// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QComboBox>
#include <QLabel>
#include <QListWidget>
#include <QProgressBar>
#include <QPushButton>
#include <QSlider>
#include <QSplitter>
#include <QStackedWidget>
#include <QTabWidget>
#include <QTimer>
#include <QToolButton>
#include <QTreeView>
#include <QTreeWidget>
#include <QWidget>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "designer/export/check_list.hpp"
#include "designer/jobs/latest_job.hpp"
#include "designer/program/block_view.hpp"
#include "designer/program/buffer_view.hpp"
#include "designer/program/program_reading.hpp"
#include "designer/program/ring_view.hpp"
#include "designer/program/step_model.hpp"
#include "designer/schedules/job_progress.hpp"
#include "workflow/target.hpp"

namespace coppice::designer {

/// The dock "Program": any MSCCL XML, or a file of another target without its steps in action, as ranks, threadblocks
/// and steps, with what each step waits for, what the buffers hold after it, the ring of a deadlock, the first wrong
/// step, and the runtime's checks. One step is current in all of them.
class ProgramPanel : public QWidget {
  Q_OBJECT

public:
  enum Page { kWaits, kBuffers, kBlocks, kRing, kChecks };

  explicit ProgramPanel(QWidget* parent = nullptr);
  ~ProgramPanel() override;

  struct Made {
    std::string xml;
    lowering::StepOrigins origins;  ///< of its steps; empty = not known
  };
  using Make = std::function<Result<Made>(program::Runtime runtime, const Progress& progress)>;
  /// Which trees the steps of a program that was read serve; empty = none are known.
  using Find = std::function<lowering::StepOrigins(const program::Program& program, program::Runtime runtime,
                                                   const Progress& progress)>;
  /// Reads and judges on another thread, and finds there which trees the steps serve.
  void open(const QString& path, std::string xml, Find find = {});
  /// The same with a text that is made there first, for each runtime that is chosen.
  void open(const QString& name, Make make);
  /// Whether there is a schedule whose program could be shown.
  void setHasSchedule(bool hasSchedule) { m_ofSchedule->setEnabled(hasSchedule); }
  [[nodiscard]] bool isReading() const { return m_isReading; }
  /// Shows no program.
  void close();
  /// nullptr: nothing is open, or it is not readable.
  [[nodiscard]] const ProgramReadingPtr& reading() const { return m_reading; }
  /// A program, or a file of another target.
  [[nodiscard]] bool hasFile() const { return m_reading || m_target; }
  /// The runtime takes the program and it does what it should.
  [[nodiscard]] bool isOk() const { return m_target ? m_target->isOk : m_reading && m_reading->studied.judgement.ok; }
  [[nodiscard]] QString verdict() const { return m_verdict->text(); }
  [[nodiscard]] QString facts() const { return m_facts->text(); }
  /// The deadlock or the first wrong step, in words; empty where there is none.
  [[nodiscard]] QString finding() const { return m_finding->text(); }
  [[nodiscard]] const std::vector<CheckRow>& rows() const { return m_checks->rows(); }
  [[nodiscard]] std::optional<program::StepPlace> current() const { return m_current; }
  void choose(const program::StepPlace& place);
  /// Shows the steps that serve these trees of the program's schedule, and goes to the first of them, unless the
  /// current one is one of them.
  void setTrees(const std::vector<TreeRef>& trees);
  /// What the trees of the program's schedule are called.
  void setTreeName(const TreeName& name);
  /// "2 trees: 60 steps"; empty where no tree is chosen, or none is known.
  [[nodiscard]] QString treesText() const { return m_trees->text(); }
  /// To the last step that the current one waits for (-1), or to the first that waits for it (1).
  void walk(int direction);
  /// After the first events of the replay, this many.
  void setPosition(std::size_t position);
  [[nodiscard]] std::size_t position() const { return m_position; }
  [[nodiscard]] Page page() const { return static_cast<Page>(m_pages->currentIndex()); }
  [[nodiscard]] StepModel& model() { return m_model; }
  [[nodiscard]] BufferView& buffers() { return *m_buffers; }
  [[nodiscard]] BlockView& blocks() { return *m_blocks; }
  [[nodiscard]] RingView& ring() { return *m_ring; }

Q_SIGNALS:
  void openWanted();
  /// The file that is shown is to be shown no more.
  void closeWanted();
  /// The program of the current schedule.
  void scheduleWanted();
  /// The program with the change that frees its deadlock, as a text to save.
  void saveWanted(const QString& suggestion, const std::string& xml);
  void currentChanged();
  /// The current step was chosen there, not by opening a program or by setTrees().
  void stepChosen();
  void readingChanged();

private:
  struct Read {
    std::shared_ptr<const std::string> xml = {};
    ProgramReadingPtr reading = {};
    std::shared_ptr<const workflow::TargetFile> target = {};  ///< in place of a reading
    std::optional<Error> error = {};
  };
  using ReadPtr = std::shared_ptr<const Read>;

  QWidget* makeBody();
  QWidget* makeHead(QWidget* parent);
  QWidget* makeWaits();
  QWidget* makeBuffers();
  QWidget* makeRing();
  void connectAll();
  void start(const QString& path);
  void judge();
  void receive(const ReadPtr& answer);
  void showReading(const ProgramReadingPtr& reading);
  void showError(const Error& error);
  void showTarget(const std::shared_ptr<const workflow::TargetFile>& file);
  void fillOperations(QTreeWidgetItem* item);
  void showFinding();
  void showTrees();
  void fillRanks();
  void fillWaits();
  void fillRing();
  void refreshBuffers();
  void setRankFilter(int index);
  void select(const program::StepPlace& place);
  void tellCurrent();
  void saveChanged();
  [[nodiscard]] std::shared_ptr<const verify::ProgramReplay> replay() const;
  [[nodiscard]] QString nameOf(const program::StepPlace& place) const;

  QString m_path;
  std::shared_ptr<const std::string> m_xml;
  Find m_find;
  Make m_make;  ///< of the text; empty = it came from a file
  bool m_isReading = false;
  bool m_isFilling = false;
  bool m_isGuided = false;  ///< the current step follows something else
  ProgramReadingPtr m_reading;
  std::optional<program::StepPlace> m_current;
  std::set<TreeRef> m_chosenTrees;
  TreeName m_treeName;
  std::size_t m_position = 0;
  StepModel m_model;

  QStackedWidget* m_stack;
  QLabel* m_file;
  QLabel* m_verdict;
  QLabel* m_facts;
  QLabel* m_finding;
  QLabel* m_trees;
  QComboBox* m_runtime;
  QComboBox* m_rank;
  QProgressBar* m_progress;
  QToolButton* m_cancel;
  QToolButton* m_ofSchedule;
  QToolButton* m_closeFile;
  QTreeView* m_tree;
  QTreeWidget* m_operations;  ///< of a target's file, in place of m_tree
  std::shared_ptr<const workflow::TargetFile> m_target;
  QTabWidget* m_pages;
  QLabel* m_step;
  QListWidget* m_before;
  QListWidget* m_after;
  QComboBox* m_variant;
  QComboBox* m_bufferRank;
  QSlider* m_slider;
  QLabel* m_moment;
  QLabel* m_slot;
  BufferView* m_buffers;
  BlockView* m_blocks;
  RingView* m_ring;
  QListWidget* m_ringList;
  QLabel* m_remedy;
  QPushButton* m_save;
  CheckList* m_checks;
  QTimer m_tick;
  std::shared_ptr<JobProgress> m_jobProgress;
  LatestJob<ReadPtr> m_job;
};

}  // namespace coppice::designer
