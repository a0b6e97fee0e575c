// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/program/program_panel.hpp"

#include <QApplication>
#include <QHeaderView>
#include <QScopedValueRollback>
#include <QShortcut>
#include <QSplitter>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "designer/document/counted.hpp"
#include "designer/document/error_text.hpp"
#include "designer/program/program_text.hpp"
#include "designer/program/selectable_text.hpp"
#include "designer/theme/empty_page.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using program::StepPlace;

namespace {

enum Shown { kEmpty, kProgram };

constexpr int kPanelMargin = 8;

/// What is wrong, after where it is.
QString faultText(const CheckRow& row) {
  return row.value.isEmpty() ? row.detail : row.value + u": "_s + row.detail;
}

}  // namespace

ProgramPanel::ProgramPanel(QWidget* parent)
    : QWidget(parent),
      m_stack(new QStackedWidget(this)),
      m_head(new ProgramHead(this)),
      m_finding(selectableText(u"programFinding"_s, this)),
      m_tree(new QTreeView(this)),
      m_operations(new OperationTree(this)),
      m_pages(new QTabWidget(this)),
      m_waits(new WaitPage(this)),
      m_buffers(new BufferPage(this)),
      m_blocks(new BlockView(this)),
      m_deadlock(new DeadlockPage(this)),
      m_facts(selectableText(u"programFacts"_s, this)),
      m_checks(new CheckList(this)) {
  setObjectName(u"programPanel"_s);
  setProperty("role", u"panel"_s);
  setAttribute(Qt::WA_StyledBackground);
  auto* empty = new EmptyPage(tr("The ranks, threadblocks and steps of any MSCCL XML program. No fabric is needed."),
                              tr("Open Program…"), m_stack);
  connect(empty, &EmptyPage::clicked, this, &ProgramPanel::openWanted);
  m_stack->addWidget(empty);
  m_stack->addWidget(makeBody());
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins({});
  outer->addWidget(m_stack);
  connectAll();
}

// ---- widgets

QWidget* ProgramPanel::makeSteps() {
  m_tree->setObjectName(u"programSteps"_s);
  m_tree->setAccessibleName(tr("Ranks, threadblocks and steps"));
  m_tree->setModel(&m_model);
  m_tree->setFrameShape(QFrame::NoFrame);
  m_tree->setUniformRowHeights(true);
  m_tree->setAllColumnsShowFocus(true);
  m_tree->setAlternatingRowColors(true);
  m_tree->setEditTriggers(QAbstractItemView::NoEditTriggers);
  m_tree->header()->setStretchLastSection(true);
  const std::pair<int, int> widths[] = {
      {StepModel::kName, 156},   {StepModel::kType, 122},   {StepModel::kSend, 76},        {StepModel::kReceive, 114},
      {StepModel::kChannel, 74}, {StepModel::kSource, 116}, {StepModel::kDestination, 92}, {StepModel::kCount, 66}};
  for (const auto& [column, width] : widths) {
    m_tree->header()->resizeSection(column, width);
  }
  m_operations->hide();
  auto* steps = new QWidget(this);
  auto* layout = new QVBoxLayout(steps);
  layout->setContentsMargins({});
  layout->addWidget(m_tree);
  layout->addWidget(m_operations);
  return steps;
}

QWidget* ProgramPanel::makeChecks() {
  m_facts->setProperty("role", u"muted"_s);
  m_facts->setContentsMargins(kPanelMargin, kPanelMargin / 2, kPanelMargin, 0);
  auto* checks = new QWidget(m_pages);
  auto* layout = new QVBoxLayout(checks);
  layout->setContentsMargins({});
  layout->setSpacing(0);
  layout->addWidget(m_facts);
  layout->addWidget(m_checks, 1);
  return checks;
}

QWidget* ProgramPanel::makeBody() {
  auto* body = new QWidget(m_stack);
  m_finding->setProperty("role", u"error"_s);
  m_finding->setContentsMargins(kPanelMargin, 0, kPanelMargin, kPanelMargin / 2);
  m_pages->setObjectName(u"programPages"_s);
  m_pages->setDocumentMode(true);
  // Less than the ring would like: on small screens the drawing needs the room.
  constexpr int kMinHeight = 90;
  m_pages->setMinimumHeight(kMinHeight);
  m_pages->addTab(m_waits, tr("Waits"));
  m_pages->addTab(m_buffers, tr("Buffers"));
  m_pages->addTab(m_blocks, tr("Threadblocks"));
  m_pages->addTab(m_deadlock, tr("Deadlock"));
  m_pages->addTab(makeChecks(), tr("Checks"));
  constexpr int kSteps = 600;
  constexpr int kPages = 420;
  auto* splitter = new QSplitter(Qt::Horizontal, body);
  splitter->setObjectName(u"programSplitter"_s);
  splitter->setChildrenCollapsible(false);
  splitter->addWidget(makeSteps());
  splitter->addWidget(m_pages);
  splitter->setStretchFactor(0, 3);
  splitter->setStretchFactor(1, 2);
  splitter->setSizes({kSteps, kPages});
  auto* layout = new QVBoxLayout(body);
  layout->setContentsMargins({});
  layout->setSpacing(0);
  layout->addWidget(m_head);
  layout->addWidget(m_finding);
  layout->addWidget(splitter, 1);
  return body;
}

void ProgramPanel::connectAll() {
  connect(m_head, &ProgramHead::openWanted, this, &ProgramPanel::openWanted);
  connect(m_head, &ProgramHead::closeWanted, this, &ProgramPanel::closeWanted);
  connect(m_head, &ProgramHead::scheduleWanted, this, &ProgramPanel::scheduleWanted);
  connect(m_head, &ProgramHead::stopWanted, this, &ProgramPanel::stop);
  connect(m_head, &ProgramHead::runtimeChanged, this, &ProgramPanel::judge);
  connect(m_head, &ProgramHead::rankChanged, this, &ProgramPanel::setRank);
  connect(&m_reader, &ProgramReader::progressed, m_head, &ProgramHead::setProgress);
  connect(&m_reader, &ProgramReader::finished, this, &ProgramPanel::receive);
  connect(m_tree->selectionModel(), &QItemSelectionModel::currentChanged, this, [this](const QModelIndex& index) {
    if (const auto place = m_model.placeAt(index); place && place != m_current) {
      choose(*place);
    }
  });
  const auto go = [this](const StepPlace& place) {
    if (m_reading && program::exists(m_reading->program(), place)) {
      choose(place);
    }
  };
  connect(m_waits, &WaitPage::chosen, this, go);
  connect(m_buffers, &BufferPage::writerWanted, this, go);
  connect(m_blocks, &BlockView::chosen, this, go);
  connect(m_deadlock, &DeadlockPage::chosen, this, go);
  connect(m_buffers, &BufferPage::positionChosen, this, &ProgramPanel::setPosition);
  connect(m_deadlock, &DeadlockPage::saveWanted, this, &ProgramPanel::saveWanted);
  for (const auto& [key, direction] : {std::pair(Qt::Key_BracketLeft, -1), std::pair(Qt::Key_BracketRight, 1)}) {
    auto* shortcut = new QShortcut(QKeySequence(key), this);
    shortcut->setContext(Qt::WidgetWithChildrenShortcut);
    connect(shortcut, &QShortcut::activated, this, [this, by = direction] { walk(by); });
  }
}

// ---- reading

void ProgramPanel::open(const QString& path, std::string xml, FindOrigins find) {
  m_reader.setFile(path, std::move(xml), std::move(find));
  start(path);
}

void ProgramPanel::open(const QString& name, MakeProgram make) {
  m_reader.setMade(name, std::move(make));
  start(name);
}

void ProgramPanel::start(const QString& path) {
  m_head->setFile(path, !m_reader.isMade());
  m_stack->setCurrentIndex(kProgram);
  showReading(nullptr);
  judge();
}

void ProgramPanel::close() {
  m_reader.clear();
  showReading(nullptr);
  m_stack->setCurrentIndex(kEmpty);
}

void ProgramPanel::judge() {
  if (!m_reader.hasSource()) {
    return;
  }
  m_head->setVerdict(m_reader.isMade() ? tr("Generating the program…") : tr("Verifying…"));
  m_head->setProgress(0);
  m_reader.read(m_head->runtime());
}

void ProgramPanel::stop() {
  m_reader.stop();
  m_head->setProgress(std::nullopt);
  m_head->setVerdict(tr("Stopped"));
}

void ProgramPanel::receive(const ProgramAnswerPtr& answer) {
  m_head->setProgress(std::nullopt);
  if (answer->error) {
    showReading(nullptr);
    showError(*answer->error, answer->hasText);
  } else if (answer->target) {
    showReading(nullptr);
    showTarget(answer->target);
  } else {
    showReading(answer->reading);
    // Arrows, [ and ] go to the steps.
    if (const QWidget* focus = QApplication::focusWidget(); focus != nullptr && isAncestorOf(focus)) {
      m_tree->setFocus(Qt::OtherFocusReason);
    }
  }
  Q_EMIT readingChanged();
}

bool ProgramPanel::isOk() const {
  const auto& file = m_operations->file();
  return file ? file->isOk : m_reading && m_reading->studied.judgement.ok;
}

void ProgramPanel::setFinding(const QString& text) {
  m_finding->setText(text);
  m_finding->setVisible(!text.isEmpty());
}

void ProgramPanel::showError(const Error& error, bool hasText) {
  m_head->setVerdict(hasText ? tr("Not a readable program") : tr("There is no program"), u"error"_s);
  CheckRow row;
  row.state = CheckState::bad;
  row.name = tr("Fault");
  row.value = error.where.line > 0 ? tr("line %1, column %2").arg(error.where.line).arg(error.where.column)
                                   : QString::fromStdString(toText(error.where.element));
  row.detail = sentence(error);
  m_checks->setRows({row});
  setFinding(faultText(row));
  m_pages->setCurrentIndex(kChecks);
}

void ProgramPanel::showTarget(const std::shared_ptr<const workflow::TargetFile>& file) {
  m_operations->setFile(file);
  m_tree->hide();
  m_operations->show();
  m_head->setHasRuntime(false);
  m_head->setVerdict(verdictText(*file), file->isOk ? u"good"_s : u"error"_s);
  m_facts->setText(targetFacts(*file));
  const std::vector<CheckRow> rows = checklistOf(*file);
  m_checks->setRows(rows);
  m_pages->setCurrentIndex(kChecks);
  if (!file->isOk && !rows.empty()) {
    setFinding(faultText(rows.front()));
  }
}

void ProgramPanel::showReading(const ProgramReadingPtr& reading) {
  m_operations->setFile(nullptr);
  m_operations->hide();
  m_tree->show();
  m_head->setHasRuntime(true);
  const bool isSameFile = m_reading && reading && m_reading->path == reading->path;
  const auto before = isSameFile ? m_current : std::nullopt;
  const QScopedValueRollback guided(m_isGuided, true);
  m_reading = reading;
  m_current.reset();
  m_model.setReading(reading);
  m_head->setRanks(reading ? static_cast<int>(reading->program().ranks.size()) : 0);
  m_buffers->setReading(reading);
  m_blocks->setReading(reading);
  m_deadlock->setReading(reading);
  m_pages->setTabVisible(kRing, reading && !reading->study().ring.empty());
  m_tree->setColumnHidden(StepModel::kServes, !reading || reading->origins.empty());
  if (!reading) {
    setFinding({});
    m_facts->clear();
    m_checks->setRows({});
    showTrees();
    fillWaits();
    return;
  }
  const verify::ProgramJudgement& judgement = reading->studied.judgement;
  m_head->setVerdict(verdictText(*reading), judgement.ok ? u"good"_s : u"error"_s);
  setFinding(findingText(*reading));
  m_facts->setText(programFacts(judgement));
  std::vector<CheckRow> rows = checklistOf(judgement, reading->runtime, nullptr);
  // What is wrong comes first.
  std::stable_sort(rows.begin(), rows.end(), [](const CheckRow& a, const CheckRow& b) { return a.state > b.state; });
  m_checks->setRows(rows);
  goToFinding();
  if (before && program::exists(reading->program(), *before)) {
    choose(*before);
  }
  if (!m_current) {
    fillWaits();
  }
  showTrees();
}

/// Goes to what is wrong: from opening a file to the named ring there is nothing else to do.
void ProgramPanel::goToFinding() {
  const verify::ProgramStudy& study = m_reading->study();
  m_tree->collapseAll();
  if (!study.ring.empty()) {
    m_pages->setCurrentIndex(kRing);
    choose(study.ring.front().place);
  } else if (study.firstWrong) {
    m_buffers->setInPlace(study.isWrongInPlace);
    m_pages->setCurrentIndex(kBuffers);
    if (study.firstWrong->place) {
      choose(*study.firstWrong->place);
    }
  } else if (!m_reading->studied.judgement.ok) {
    m_pages->setCurrentIndex(kChecks);
  } else {
    if (m_pages->currentIndex() == kRing) {
      m_pages->setCurrentIndex(kWaits);
    }
    if (const StepPlace first{0, 0, 0}; program::exists(m_reading->program(), first)) {
      choose(first);
    }
  }
}

void ProgramPanel::setRank(int rank) {
  m_model.setRank(rank >= 0 ? std::optional(rank) : std::nullopt);
  if (rank >= 0) {
    m_tree->expandToDepth(0);
    m_blocks->setRank(rank);
  }
  if (m_current && (rank < 0 || m_current->rank == rank)) {
    select(*m_current);
  }
}

// ---- the current step

void ProgramPanel::select(const StepPlace& place) {
  const QModelIndex index = m_model.indexOf(place);
  if (index.isValid()) {
    m_tree->setCurrentIndex(index);
    m_tree->scrollTo(index, QAbstractItemView::EnsureVisible);
  }
}

void ProgramPanel::tellCurrent() {
  Q_EMIT currentChanged();
  if (!m_isGuided) {
    Q_EMIT stepChosen();
  }
}

void ProgramPanel::choose(const StepPlace& place) {
  m_current = place;
  if (m_model.rank() && *m_model.rank() != place.rank) {
    m_head->setRank(place.rank);
  }
  std::size_t moment = m_buffers->position();
  const auto played = m_buffers->replay();
  if (const auto position = played ? played->positionAfter(place) : std::nullopt) {
    moment = *position;
  } else if (played && !played->ring().empty()) {
    moment = played->events().size();  // it never happens: all that does
  }
  showCurrent();
  m_buffers->showMoment(moment, place.rank);
  tellCurrent();
}

void ProgramPanel::setTrees(const std::vector<TreeRef>& trees) {
  std::set<TreeRef> wanted(trees.begin(), trees.end());
  if (wanted != m_chosenTrees) {
    m_chosenTrees = std::move(wanted);
    showTrees();
  }
}

void ProgramPanel::setTreeName(const TreeName& name) {
  m_treeName = name;
  m_model.setTreeName(name);
}

void ProgramPanel::showTrees() {
  m_model.setTrees(m_chosenTrees);
  m_blocks->setTrees(m_chosenTrees);
  const std::vector<StepPlace> steps = m_reading ? m_reading->stepsOf(m_chosenTrees) : std::vector<StepPlace>();
  m_head->setTrees(
      steps.empty() ? QString()
                    : tr("%1: %2").arg(counted(static_cast<qsizetype>(m_chosenTrees.size()), tr("tree"), tr("trees")),
                                       counted(static_cast<qsizetype>(steps.size()), tr("step"), tr("steps"))));
  const QScopedValueRollback guided(m_isGuided, true);
  if (!steps.empty() && !(m_current && m_reading->serves(*m_current, m_chosenTrees))) {
    choose(steps.front());
  }
}

void ProgramPanel::setPosition(std::size_t position) {
  const auto played = m_buffers->replay();
  if (!played) {
    return;
  }
  const std::size_t moment = std::min(position, played->events().size());
  if (moment > 0) {
    m_current = played->events()[moment - 1].place;
    if (m_model.rank() && *m_model.rank() != m_current->rank) {
      m_head->setRank(-1);
    }
    showCurrent();
  }
  m_buffers->showMoment(moment, m_current ? m_current->rank : 0);
  tellCurrent();
}

void ProgramPanel::walk(int direction) {
  if (!m_reading || !m_current) {
    return;
  }
  if (const auto next = m_reading->alongWaits(*m_current, direction, m_buffers->replay().get())) {
    choose(*next);
  }
}

/// In the tree, and on all pages but the buffers.
void ProgramPanel::showCurrent() {
  select(*m_current);
  m_blocks->setCurrent(m_current);
  m_deadlock->setCurrent(m_current);
  fillWaits();
}

void ProgramPanel::fillWaits() {
  m_waits->setStep(m_reading, m_current, m_buffers->replay().get(), m_treeName);
}

}  // namespace coppice::designer
