// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QStackedWidget>
#include <QTabWidget>
#include <QTreeView>
#include <QWidget>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "designer/export/check_list.hpp"
#include "designer/program/block_view.hpp"
#include "designer/program/buffer_page.hpp"
#include "designer/program/deadlock_page.hpp"
#include "designer/program/operation_tree.hpp"
#include "designer/program/program_head.hpp"
#include "designer/program/program_reader.hpp"
#include "designer/program/program_reading.hpp"
#include "designer/program/step_model.hpp"
#include "designer/program/wait_page.hpp"
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

  /// Reads and judges on another thread, and finds there which trees the steps serve.
  void open(const QString& path, std::string xml, FindOrigins find = {});
  /// The same with a text that is made there first, for each runtime that is chosen.
  void open(const QString& name, MakeProgram make);
  /// Whether there is a schedule whose program could be shown.
  void setHasSchedule(bool hasSchedule) { m_head->setHasSchedule(hasSchedule); }
  [[nodiscard]] bool isReading() const { return m_reader.isReading(); }
  /// Shows no program.
  void close();
  /// nullptr: nothing is open, or it is not readable.
  [[nodiscard]] const ProgramReadingPtr& reading() const { return m_reading; }
  /// A program, or a file of another target.
  [[nodiscard]] bool hasFile() const { return m_reading || m_operations->file(); }
  /// The runtime takes the program and it does what it should.
  [[nodiscard]] bool isOk() const;
  [[nodiscard]] QString verdict() const { return m_head->verdict(); }
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
  [[nodiscard]] QString treesText() const { return m_head->trees(); }
  /// To the last step that the current one waits for (-1), or to the first that waits for it (1).
  void walk(int direction);
  /// After the first events of the replay, this many.
  void setPosition(std::size_t position);
  [[nodiscard]] std::size_t position() const { return m_buffers->position(); }
  [[nodiscard]] Page page() const { return static_cast<Page>(m_pages->currentIndex()); }
  [[nodiscard]] StepModel& model() { return m_model; }
  [[nodiscard]] BufferView& buffers() { return m_buffers->view(); }
  [[nodiscard]] BlockView& blocks() { return *m_blocks; }
  [[nodiscard]] RingView& ring() { return m_deadlock->ring(); }

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
  QWidget* makeBody();
  QWidget* makeSteps();
  QWidget* makeChecks();
  void connectAll();
  void start(const QString& path);
  void judge();
  void stop();
  void receive(const ProgramAnswerPtr& answer);
  void showReading(const ProgramReadingPtr& reading);
  void showError(const Error& error, bool hasText);
  void showTarget(const std::shared_ptr<const workflow::TargetFile>& file);
  void setFinding(const QString& text);
  void goToFinding();
  void showTrees();
  void fillWaits();
  void setRank(int rank);
  void select(const program::StepPlace& place);
  void showCurrent();
  void tellCurrent();

  ProgramReader m_reader;
  bool m_isGuided = false;  ///< the current step follows something else
  ProgramReadingPtr m_reading;
  std::optional<program::StepPlace> m_current;
  std::set<TreeRef> m_chosenTrees;
  TreeName m_treeName;
  StepModel m_model;

  QStackedWidget* m_stack;
  ProgramHead* m_head;
  QLabel* m_finding;
  QTreeView* m_tree;
  OperationTree* m_operations;  ///< of a target's file, in place of m_tree
  QTabWidget* m_pages;
  WaitPage* m_waits;
  BufferPage* m_buffers;
  BlockView* m_blocks;
  DeadlockPage* m_deadlock;
  QLabel* m_facts;
  CheckList* m_checks;
};

}  // namespace coppice::designer
