// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/program/program_panel.hpp"

#include <QApplication>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QScopedValueRollback>
#include <QShortcut>
#include <QVBoxLayout>
#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "designer/document/counted.hpp"
#include "designer/document/error_text.hpp"
#include "designer/jobs/bound.hpp"
#include "designer/program/program_text.hpp"
#include "designer/theme/empty_page.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/panel_widgets.hpp"
#include "designer/theme/style.hpp"
#include "program/msccl_xml.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;
using program::StepPlace;

namespace {

enum Shown { kEmpty, kProgram };

constexpr int kThousand = 1000;
constexpr int kPanelMargin = 8;
constexpr int kPlaceRole = Qt::UserRole + 1;
/// Lists of waits end here; a step that thousands wait for is rare, and longer lists are not read.
constexpr std::size_t kMaxListed = 500;

QVariant toVariant(const StepPlace& place) {
  return QVariantList{place.rank, place.threadBlock, place.step};
}
StepPlace toPlace(const QVariant& value) {
  const QVariantList list = value.toList();
  return list.size() == 3 ? StepPlace{list[0].toInt(), list[1].toInt(), list[2].toInt()} : StepPlace{-1, -1, -1};
}

QListWidget* list(const QString& name, const QString& title, QWidget* parent) {
  auto* made = new QListWidget(parent);
  made->setObjectName(name);
  made->setAccessibleName(title);
  made->setFrameShape(QFrame::NoFrame);
  made->setWordWrap(true);
  made->setResizeMode(QListView::Adjust);
  made->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  return made;
}

QLabel* section(const QString& text, QWidget* parent) {
  auto* made = new QLabel(text, parent);
  made->setFont(uiFont(12, QFont::DemiBold));
  made->setProperty("role", u"muted"_s);
  return made;
}

}  // namespace

ProgramPanel::ProgramPanel(QWidget* parent)
    : QWidget(parent),
      m_stack(new QStackedWidget(this)),
      m_file(new QLabel(this)),
      m_verdict(new QLabel(this)),
      m_facts(new QLabel(this)),
      m_finding(new QLabel(this)),
      m_trees(new QLabel(this)),
      m_runtime(new QComboBox(this)),
      m_rank(new QComboBox(this)),
      m_progress(new QProgressBar(this)),
      m_cancel(iconButton(u"programCancel"_s, u"stop"_s, tr("Stop reading the program"), this)),
      m_ofSchedule(
          iconButton(u"programOfSchedule"_s, u"schedule"_s, tr("Show the program of the current schedule"), this)),
      m_closeFile(iconButton(u"programClose"_s, u"close"_s, tr("Close the program file"), this)),
      m_tree(new QTreeView(this)),
      m_operations(new QTreeWidget(this)),
      m_pages(new QTabWidget(this)),
      m_step(new QLabel(this)),
      m_before(list(u"programWaitsFor"_s, tr("What the step waits for"), this)),
      m_after(list(u"programReleases"_s, tr("What waits for the step"), this)),
      m_variant(new QComboBox(this)),
      m_bufferRank(new QComboBox(this)),
      m_slider(new QSlider(Qt::Horizontal, this)),
      m_moment(new QLabel(this)),
      m_slot(new QLabel(this)),
      m_buffers(new BufferView(this)),
      m_blocks(new BlockView(this)),
      m_ring(new RingView(this)),
      m_ringList(list(u"programRingSteps"_s, tr("Steps of the ring, in order"), this)),
      m_remedy(new QLabel(this)),
      m_save(new QPushButton(tr("Save Changed Program…"), this)),
      m_checks(new CheckList(this)),
      m_job([this](const ReadPtr& answer) { receive(answer); }, 0ms) {
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

ProgramPanel::~ProgramPanel() = default;

// ---- widgets

QWidget* ProgramPanel::makeHead(QWidget* parent) {
  auto* head = new QWidget(parent);
  m_file->setObjectName(u"programFile"_s);
  m_file->setFont(uiFont(13, QFont::DemiBold));
  m_file->setTextFormat(Qt::PlainText);
  m_verdict->setObjectName(u"programVerdict"_s);
  m_verdict->setTextFormat(Qt::PlainText);
  m_verdict->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  m_runtime->setObjectName(u"programRuntime"_s);
  m_runtime->setAccessibleName(tr("Checked against the rules of"));
  m_runtime->setToolTip(tr("The runtime against whose rules and limits the program is checked"));
  for (const auto runtime : program::kRuntimes) {
    m_runtime->addItem(runtimeTitle(runtime), static_cast<int>(runtime));
  }
  m_rank->setObjectName(u"programRank"_s);
  m_rank->setAccessibleName(tr("Ranks shown"));
  m_rank->setToolTip(tr("Show the steps of one rank alone"));
  m_progress->setRange(0, kThousand);
  m_progress->setTextVisible(false);
  constexpr int kProgressWidth = 90;
  m_progress->setFixedWidth(kProgressWidth);
  m_progress->setAccessibleName(tr("Reading the program"));
  auto* line = new QHBoxLayout(head);
  line->setContentsMargins(kPanelMargin, kPanelMargin / 2, kPanelMargin, kPanelMargin / 2);
  line->setSpacing(kPanelMargin);
  auto* openButton = iconButton(u"programOpen"_s, u"open"_s, tr("Open a program"), head);
  connect(openButton, &QToolButton::clicked, this, &ProgramPanel::openWanted);
  line->addWidget(openButton);
  line->addWidget(m_ofSchedule);
  line->addWidget(m_file);
  line->addWidget(m_closeFile);
  connect(m_closeFile, &QToolButton::clicked, this, &ProgramPanel::closeWanted);
  m_trees->setObjectName(u"programTrees"_s);
  m_trees->setTextFormat(Qt::PlainText);
  m_trees->setToolTip(tr("Steps of the trees that are chosen in the dock Trees"));
  line->addWidget(m_verdict, 1);
  line->addWidget(m_trees);
  line->addWidget(m_progress);
  line->addWidget(m_cancel);
  line->addWidget(m_rank);
  line->addWidget(m_runtime);
  m_progress->hide();
  m_cancel->hide();
  return head;
}

QWidget* ProgramPanel::makeWaits() {
  auto* page = new QWidget(m_pages);
  m_step->setObjectName(u"programStep"_s);
  m_step->setWordWrap(true);
  m_step->setTextFormat(Qt::PlainText);
  m_step->setTextInteractionFlags(Qt::TextSelectableByMouse);
  auto* lists = new QSplitter(Qt::Horizontal, page);
  const auto add = [&](const QString& title, QListWidget* content) {
    auto* half = new QWidget(lists);
    auto* layout = new QVBoxLayout(half);
    layout->setContentsMargins(content == m_after ? kPanelMargin : 0, 0, 0, 0);
    layout->setSpacing(2);
    layout->addWidget(section(title, half));
    layout->addWidget(content, 1);
    lists->addWidget(half);
  };
  add(tr("Waits for  ["), m_before);
  add(tr("Releases  ]"), m_after);
  auto* layout = new QVBoxLayout(page);
  layout->setContentsMargins(kPanelMargin, kPanelMargin / 2, kPanelMargin, 0);
  layout->setSpacing(kPanelMargin / 2);
  layout->addWidget(m_step);
  layout->addWidget(lists, 1);
  return page;
}

QWidget* ProgramPanel::makeBuffers() {
  auto* page = new QWidget(m_pages);
  m_bufferRank->setObjectName(u"programBufferRank"_s);
  m_bufferRank->setAccessibleName(tr("Rank whose buffers are shown"));
  m_bufferRank->setToolTip(m_bufferRank->accessibleName());
  m_variant->setObjectName(u"programVariant"_s);
  m_variant->setAccessibleName(tr("In place or out of place"));
  m_variant->setToolTip(tr("In-place or out-of-place call"));
  m_slider->setObjectName(u"programMoment"_s);
  m_slider->setAccessibleName(tr("Executed events"));
  m_slider->setPageStep(1);
  m_moment->setObjectName(u"programMomentText"_s);
  m_moment->setProperty("role", u"muted"_s);
  m_moment->setTextFormat(Qt::PlainText);
  m_moment->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  m_slot->setObjectName(u"programSlot"_s);
  m_slot->setTextFormat(Qt::PlainText);
  m_slot->setWordWrap(true);
  m_slot->setTextInteractionFlags(Qt::TextSelectableByMouse);
  auto* previous = iconButton(u"programPrevious"_s, u"previous"_s, tr("Previous event"), page);
  auto* next = iconButton(u"programNext"_s, u"next"_s, tr("Next event"), page);
  connect(previous, &QToolButton::clicked, this, [this] { m_slider->setValue(m_slider->value() - 1); });
  connect(next, &QToolButton::clicked, this, [this] { m_slider->setValue(m_slider->value() + 1); });
  auto* line = new QHBoxLayout;
  line->setSpacing(kPanelMargin);
  line->addWidget(m_bufferRank);
  line->addWidget(m_variant);
  line->addWidget(previous);
  line->addWidget(m_slider, 1);
  line->addWidget(next);
  line->addWidget(m_moment, 1);
  auto* layout = new QVBoxLayout(page);
  layout->setContentsMargins(kPanelMargin, kPanelMargin / 2, kPanelMargin, kPanelMargin / 2);
  layout->setSpacing(kPanelMargin / 2);
  layout->addLayout(line);
  layout->addWidget(m_buffers, 1);
  layout->addWidget(m_slot);
  return page;
}

QWidget* ProgramPanel::makeRing() {
  auto* page = new QSplitter(Qt::Horizontal, m_pages);
  page->addWidget(m_ring);
  auto* side = new QWidget(page);
  m_remedy->setObjectName(u"programRemedy"_s);
  m_remedy->setWordWrap(true);
  m_remedy->setTextFormat(Qt::PlainText);
  m_remedy->setTextInteractionFlags(Qt::TextSelectableByMouse);
  m_save->setObjectName(u"programSave"_s);
  m_save->setToolTip(tr("Save the program with this change as a new file"));
  auto* layout = new QVBoxLayout(side);
  layout->setContentsMargins(kPanelMargin, kPanelMargin / 2, kPanelMargin, kPanelMargin / 2);
  layout->setSpacing(kPanelMargin / 2);
  layout->addWidget(m_ringList, 1);
  layout->addWidget(m_remedy);
  layout->addWidget(m_save, 0, Qt::AlignLeft);
  page->addWidget(side);
  page->setStretchFactor(0, 1);
  page->setStretchFactor(1, 1);
  page->setChildrenCollapsible(false);
  return page;
}

QWidget* ProgramPanel::makeBody() {
  auto* body = new QWidget(m_stack);
  m_finding->setObjectName(u"programFinding"_s);
  m_finding->setWordWrap(true);
  m_finding->setTextFormat(Qt::PlainText);
  m_finding->setTextInteractionFlags(Qt::TextSelectableByMouse);
  m_finding->setContentsMargins(kPanelMargin, 0, kPanelMargin, kPanelMargin / 2);
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
  m_pages->setObjectName(u"programPages"_s);
  m_pages->setDocumentMode(true);
  // Less than the ring would like: on small screens the drawing needs the room.
  constexpr int kMinHeight = 90;
  m_pages->setMinimumHeight(kMinHeight);
  m_pages->addTab(makeWaits(), tr("Waits"));
  m_pages->addTab(makeBuffers(), tr("Buffers"));
  m_pages->addTab(m_blocks, tr("Threadblocks"));
  m_pages->addTab(makeRing(), tr("Deadlock"));
  auto* checks = new QWidget(m_pages);
  m_facts->setObjectName(u"programFacts"_s);
  m_facts->setWordWrap(true);
  m_facts->setTextFormat(Qt::PlainText);
  m_facts->setProperty("role", u"muted"_s);
  m_facts->setTextInteractionFlags(Qt::TextSelectableByMouse);
  m_facts->setContentsMargins(kPanelMargin, kPanelMargin / 2, kPanelMargin, 0);
  auto* checksLayout = new QVBoxLayout(checks);
  checksLayout->setContentsMargins({});
  checksLayout->setSpacing(0);
  checksLayout->addWidget(m_facts);
  checksLayout->addWidget(m_checks, 1);
  m_pages->addTab(checks, tr("Checks"));
  constexpr int kSteps = 600;
  constexpr int kPages = 420;
  auto* splitter = new QSplitter(Qt::Horizontal, body);
  splitter->setObjectName(u"programSplitter"_s);
  splitter->setChildrenCollapsible(false);
  m_operations->setObjectName(u"programOperations"_s);
  m_operations->setAccessibleName(tr("Ranks, threadblocks and operations"));
  m_operations->setFrameShape(QFrame::NoFrame);
  m_operations->setUniformRowHeights(true);
  m_operations->setAlternatingRowColors(true);
  m_operations->setHeaderHidden(true);
  m_operations->hide();
  auto* steps = new QWidget(splitter);
  auto* stepsLayout = new QVBoxLayout(steps);
  stepsLayout->setContentsMargins({});
  stepsLayout->addWidget(m_tree);
  stepsLayout->addWidget(m_operations);
  splitter->addWidget(steps);
  splitter->addWidget(m_pages);
  splitter->setStretchFactor(0, 3);
  splitter->setStretchFactor(1, 2);
  splitter->setSizes({kSteps, kPages});
  auto* layout = new QVBoxLayout(body);
  layout->setContentsMargins({});
  layout->setSpacing(0);
  layout->addWidget(makeHead(body));
  layout->addWidget(m_finding);
  layout->addWidget(splitter, 1);
  return body;
}

void ProgramPanel::connectAll() {
  connect(m_operations, &QTreeWidget::itemExpanded, this, &ProgramPanel::fillOperations);
  connect(m_runtime, &QComboBox::currentIndexChanged, this, &ProgramPanel::judge);
  connect(m_rank, &QComboBox::currentIndexChanged, this, &ProgramPanel::setRankFilter);
  m_ofSchedule->setEnabled(false);
  connect(m_ofSchedule, &QToolButton::clicked, this, &ProgramPanel::scheduleWanted);
  connect(m_cancel, &QToolButton::clicked, this, [this] {
    m_job.cancel();
    m_tick.stop();
    m_progress->hide();
    m_cancel->hide();
    m_isReading = false;
    m_verdict->setText(tr("Stopped"));
    setRole(m_verdict, {});
  });
  connect(m_tree->selectionModel(), &QItemSelectionModel::currentChanged, this, [this](const QModelIndex& index) {
    if (const auto place = m_model.placeAt(index); place && place != m_current) {
      choose(*place);
    }
  });
  for (QListWidget* each : {m_before, m_after, m_ringList}) {
    const auto go = [this](const QListWidgetItem* item) {
      if (const StepPlace place = toPlace(item->data(kPlaceRole)); place.rank >= 0) {
        // The list is filled again by it.
        QTimer::singleShot(0, this, [this, place] {
          if (m_reading && program::exists(m_reading->program(), place)) {
            choose(place);
          }
        });
      }
    };
    connect(each, &QListWidget::itemActivated, this, go);
    connect(each, &QListWidget::itemClicked, this, go);
  }
  connect(m_slider, &QSlider::valueChanged, this, [this](int value) {
    if (!m_isFilling) {
      setPosition(static_cast<std::size_t>(value));
    }
  });
  connect(m_variant, &QComboBox::currentIndexChanged, this, [this] {
    if (!m_isFilling) {
      refreshBuffers();
    }
  });
  connect(m_bufferRank, &QComboBox::currentIndexChanged, this, [this] {
    if (!m_isFilling) {
      refreshBuffers();
    }
  });
  connect(m_buffers, &BufferView::chosenChanged, m_slot, &QLabel::setText);
  connect(m_buffers, &BufferView::writerWanted, this, &ProgramPanel::choose);
  connect(m_blocks, &BlockView::chosen, this, &ProgramPanel::choose);
  connect(m_ring, &RingView::chosen, this, &ProgramPanel::choose);
  connect(m_save, &QPushButton::clicked, this, &ProgramPanel::saveChanged);
  for (const auto& [key, direction] : {std::pair(Qt::Key_BracketLeft, -1), std::pair(Qt::Key_BracketRight, 1)}) {
    auto* shortcut = new QShortcut(QKeySequence(key), this);
    shortcut->setContext(Qt::WidgetWithChildrenShortcut);
    connect(shortcut, &QShortcut::activated, this, [this, by = direction] { walk(by); });
  }
  m_tick.setInterval(100ms);
  connect(&m_tick, &QTimer::timeout, this,
          [this] { m_progress->setValue(static_cast<int>(m_jobProgress->state().fraction * kThousand)); });
}

// ---- reading

void ProgramPanel::open(const QString& path, std::string xml, Find find) {
  m_make = nullptr;
  m_find = std::move(find);
  m_xml = std::make_shared<const std::string>(std::move(xml));
  start(path);
}

void ProgramPanel::open(const QString& name, Make make) {
  m_make = std::move(make);
  m_find = nullptr;
  m_xml = nullptr;
  start(name);
}

void ProgramPanel::start(const QString& path) {
  m_path = path;
  m_file->setText(QFileInfo(path).fileName());
  m_file->setToolTip(path);
  m_closeFile->setVisible(!m_make);
  m_stack->setCurrentIndex(kProgram);
  showReading(nullptr);
  judge();
}

void ProgramPanel::close() {
  m_job.cancel();
  m_isReading = false;
  m_tick.stop();
  m_make = nullptr;
  m_find = nullptr;
  m_xml = nullptr;
  m_path.clear();
  showReading(nullptr);
  m_stack->setCurrentIndex(0);
}

void ProgramPanel::judge() {
  if (!m_xml && !m_make) {
    return;
  }
  m_isReading = true;
  m_jobProgress = std::make_shared<JobProgress>();
  m_verdict->setText(m_make ? tr("Generating the program…") : tr("Verifying…"));
  setRole(m_verdict, {});
  m_progress->setValue(0);
  m_progress->show();
  m_cancel->show();
  m_tick.start();
  const auto runtime = static_cast<program::Runtime>(m_runtime->currentData().toInt());
  m_job.submit([xml = m_xml, make = m_make, find = m_find, path = m_path, runtime,
                shared = m_jobProgress](std::stop_token stop) {
    const Progress progress = JobProgress::forCore(shared, std::move(stop));
    auto read = std::make_shared<Read>();
    read->xml = xml;
    lowering::StepOrigins origins;
    if (make) {
      auto made = make(runtime, progress);
      if (!made) {
        read->error = made.error();
        return ReadPtr(read);
      }
      read->xml = std::make_shared<const std::string>(std::move(made->xml));
      origins = std::move(made->origins);
    }
    if (const workflow::Target* target = workflow::targetOfFile(*read->xml)) {
      auto file = target->read(*read->xml, QFileInfo(path).fileName().toStdString(), {}, progress);
      if (file) {
        read->target = std::make_shared<const workflow::TargetFile>(*std::move(file));
      } else {
        read->error = file.error();
      }
      return ReadPtr(read);
    }
    auto studied = workflow::studyProgram(*read->xml, QFileInfo(path).fileName().toStdString(), {.runtime = runtime},
                                          workflow::StudyWhen::always, progress);
    if (studied) {
      verify::StepLinks links(studied->judgement.program);
      if (find) {
        origins = find(studied->judgement.program, runtime, progress);
      }
      read->reading = std::make_shared<const ProgramReading>(
          ProgramReading{path, runtime, *std::move(studied), std::move(links), std::move(origins)});
    } else {
      read->error = studied.error();
    }
    return ReadPtr(read);
  });
}

void ProgramPanel::receive(const ReadPtr& answer) {
  if (m_job.isRunning()) {
    return;  // to the question before
  }
  m_isReading = false;
  m_tick.stop();
  m_progress->hide();
  m_cancel->hide();
  m_xml = answer->xml;
  if (answer->error) {
    showReading(nullptr);
    showError(*answer->error);
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

void ProgramPanel::showError(const Error& error) {
  m_verdict->setText(m_xml ? tr("Not a readable program") : tr("There is no program"));
  setRole(m_verdict, u"error"_s);
  CheckRow row;
  row.state = CheckState::bad;
  row.name = tr("Fault");
  row.value = error.where.line > 0 ? tr("line %1, column %2").arg(error.where.line).arg(error.where.column)
                                   : QString::fromStdString(toText(error.where.element));
  row.detail = sentence(error);
  m_checks->setRows({row});
  m_finding->setText(row.value.isEmpty() ? row.detail : row.value + u": "_s + row.detail);
  setRole(m_finding, u"error"_s);
  m_finding->show();
  m_pages->setCurrentIndex(kChecks);
}

void ProgramPanel::showTarget(const std::shared_ptr<const workflow::TargetFile>& file) {
  m_target = file;
  m_tree->hide();
  m_operations->show();
  m_runtime->setEnabled(false);
  const QString collective = QString::fromStdString(file->collective);
  m_verdict->setText(file->isOk ? u"✓ "_s + tr("Verified: its result is that of %1").arg(collective)
                                : tr("Not verified"));
  setRole(m_verdict, file->isOk ? u"good"_s : u"error"_s);
  m_verdict->setToolTip(m_verdict->text());
  QStringList facts;
  for (const workflow::Fact& fact : file->facts) {
    if (!fact.text.empty()) {
      facts << QString::fromStdString(fact.text);
    }
  }
  m_facts->setText(facts.join(u'\n'));
  const std::vector<CheckRow> rows = checklistOf(*file);
  m_checks->setRows(rows);
  m_pages->setCurrentIndex(kChecks);
  if (!file->isOk && !rows.empty()) {
    m_finding->setText(rows.front().value.isEmpty() ? rows.front().detail
                                                    : rows.front().value + u": "_s + rows.front().detail);
    setRole(m_finding, u"error"_s);
    m_finding->show();
  }
  for (int rank = 0; rank < file->ranks; ++rank) {
    auto* item = new QTreeWidgetItem(m_operations, {tr("Rank %1").arg(rank)});
    item->setData(0, Qt::UserRole, rank);
    item->setChildIndicatorPolicy(QTreeWidgetItem::ShowIndicator);
  }
  if (QTreeWidgetItem* first = m_operations->topLevelItem(0)) {
    first->setExpanded(true);
  }
}

/// A rank's operations are named when it is looked at.
void ProgramPanel::fillOperations(QTreeWidgetItem* item) {
  if (item->parent() != nullptr || item->childCount() > 0 || !m_target) {
    return;
  }
  const auto blocks = m_target->operations(item->data(0, Qt::UserRole).toInt());
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    auto* child = new QTreeWidgetItem(
        item, {tr("Threadblock %1 · %2")
                   .arg(block)
                   .arg(counted(static_cast<qsizetype>(blocks[block].size()), tr("operation"), tr("operations")))});
    for (const std::string& line : blocks[block]) {
      new QTreeWidgetItem(child, {QString::fromStdString(line)});
    }
    child->setExpanded(block == 0);
  }
}

void ProgramPanel::showReading(const ProgramReadingPtr& reading) {
  m_target.reset();
  m_operations->clear();
  m_operations->hide();
  m_tree->show();
  m_runtime->setEnabled(true);
  const bool isSameFile = m_reading && reading && m_reading->path == reading->path;
  const auto before = isSameFile ? m_current : std::nullopt;
  const QScopedValueRollback guided(m_isGuided, true);
  m_isFilling = true;
  m_reading = reading;
  m_current.reset();
  m_position = 0;
  m_model.setReading(reading);
  m_blocks->setReading(reading);
  m_ring->setReading(reading);
  m_tree->setColumnHidden(StepModel::kServes, !reading || reading->origins.empty());
  fillRanks();
  fillRing();
  m_isFilling = false;
  m_finding->clear();
  m_finding->hide();
  m_facts->clear();
  if (!reading) {
    m_checks->setRows({});
    showTrees();
    fillWaits();
    refreshBuffers();
    return;
  }
  const verify::ProgramJudgement& judgement = reading->studied.judgement;
  const std::string_view name = program::toString(reading->runtime);
  const QString target = QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()));
  m_verdict->setText(judgement.ok ? u"✓ "_s + tr("Verified: %1 runs it, and its result is that of %2")
                                                  .arg(target, collectiveName(judgement.verdict.collective))
                                  : tr("Not verified for %1").arg(target));
  setRole(m_verdict, judgement.ok ? u"good"_s : u"error"_s);
  m_verdict->setToolTip(m_verdict->text());
  m_facts->setText(programFacts(judgement));
  std::vector<CheckRow> rows = checklistOf(judgement, reading->runtime, nullptr);
  // What is wrong comes first.
  std::stable_sort(rows.begin(), rows.end(), [](const CheckRow& a, const CheckRow& b) { return a.state > b.state; });
  m_checks->setRows(rows);
  showFinding();
  if (before && program::exists(reading->program(), *before)) {
    choose(*before);
  }
  if (!m_current) {
    fillWaits();
    refreshBuffers();
  }
  showTrees();
}

/// Goes to what is wrong: from opening a file to the named ring there is nothing else to do.
void ProgramPanel::showFinding() {
  const verify::ProgramStudy& study = m_reading->study();
  const verify::ProgramJudgement& judgement = m_reading->studied.judgement;
  m_tree->collapseAll();
  m_pages->setTabVisible(kRing, !study.ring.empty());
  if (!study.ring.empty()) {
    m_finding->setText(tr("Deadlock: %1 wait for each other in a ring.")
                           .arg(counted(static_cast<qsizetype>(study.ring.size()), tr("step"), tr("steps"))));
    m_pages->setCurrentIndex(kRing);
    choose(study.ring.front().place);
  } else if (study.firstWrong) {
    const QString text = QString::fromStdString(verify::describe(m_reading->program(), *study.firstWrong));
    m_finding->setText(
        (study.isWrongInPlace ? tr("First wrong in place: %1.") : tr("First wrong out of place: %1.")).arg(text));
    m_isFilling = true;
    m_variant->setCurrentIndex(std::max(0, m_variant->findData(study.isWrongInPlace)));
    m_isFilling = false;
    m_pages->setCurrentIndex(kBuffers);
    if (study.firstWrong->place) {
      choose(*study.firstWrong->place);
    }
  } else if (!judgement.ok) {
    const auto fault = std::find_if(judgement.findings.begin(), judgement.findings.end(),
                                    [](const Finding& finding) { return finding.severity == Severity::error; });
    if (fault != judgement.findings.end()) {
      m_finding->setText(QString::fromStdString(describe(*fault)));
    }
    m_pages->setCurrentIndex(kChecks);
  } else {
    if (m_pages->currentIndex() == kRing) {
      m_pages->setCurrentIndex(kWaits);
    }
    if (const StepPlace first{0, 0, 0}; program::exists(m_reading->program(), first)) {
      choose(first);
    }
  }
  setRole(m_finding, u"error"_s);
  m_finding->setVisible(!m_finding->text().isEmpty());
}

void ProgramPanel::fillRanks() {
  m_rank->clear();
  m_bufferRank->clear();
  m_variant->clear();
  const int ranks = m_reading ? static_cast<int>(m_reading->program().ranks.size()) : 0;
  m_rank->addItem(tr("All ranks"), -1);
  m_bufferRank->addItem(tr("Rank of the step"), -1);
  for (int rank = 0; rank < ranks; ++rank) {
    m_rank->addItem(tr("Rank %1").arg(rank), rank);
    m_bufferRank->addItem(tr("Rank %1").arg(rank), rank);
  }
  if (m_reading) {
    if (m_reading->study().inPlace) {
      m_variant->addItem(tr("In place"), true);
    }
    if (m_reading->study().outOfPlace) {
      m_variant->addItem(tr("Out of place"), false);
    }
  }
  m_variant->setVisible(m_variant->count() > 1);
  m_model.setRank(std::nullopt);
}

void ProgramPanel::setRankFilter(int index) {
  if (m_isFilling) {
    return;
  }
  const int rank = m_rank->itemData(index).toInt();
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

QString ProgramPanel::nameOf(const StepPlace& place) const {
  return QString::fromStdString(placeText(place) + " (" + program::operationText(m_reading->program(), place) + ")");
}

std::shared_ptr<const verify::ProgramReplay> ProgramPanel::replay() const {
  if (!m_reading) {
    return nullptr;
  }
  const verify::ProgramStudy& study = m_reading->study();
  return m_variant->count() > 0 && !m_variant->currentData().toBool() ? study.outOfPlace : study.inPlace;
}

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
    m_rank->setCurrentIndex(m_rank->findData(place.rank));
  }
  const auto played = replay();
  if (const auto position = played ? played->positionAfter(place) : std::nullopt) {
    m_position = *position;
  } else if (played && !played->ring().empty()) {
    m_position = played->events().size();  // it never happens: all that does
  }
  select(place);
  m_blocks->setCurrent(place);
  m_ring->setCurrent(place);
  fillWaits();
  refreshBuffers();
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
  m_trees->setText(
      steps.empty() ? QString()
                    : tr("%1: %2").arg(counted(static_cast<qsizetype>(m_chosenTrees.size()), tr("tree"), tr("trees")),
                                       counted(static_cast<qsizetype>(steps.size()), tr("step"), tr("steps"))));
  const QScopedValueRollback guided(m_isGuided, true);
  if (!steps.empty() && !(m_current && m_reading->serves(*m_current, m_chosenTrees))) {
    choose(steps.front());
  }
}

void ProgramPanel::setPosition(std::size_t position) {
  const auto played = replay();
  if (!played) {
    return;
  }
  m_position = std::min(position, played->events().size());
  if (m_position > 0) {
    m_current = played->events()[m_position - 1].place;
    if (m_model.rank() && *m_model.rank() != m_current->rank) {
      m_rank->setCurrentIndex(0);
    }
    select(*m_current);
    m_blocks->setCurrent(m_current);
    m_ring->setCurrent(m_current);
    fillWaits();
  }
  refreshBuffers();
  tellCurrent();
}

void ProgramPanel::walk(int direction) {
  if (!m_reading || !m_current) {
    return;
  }
  const auto links = direction < 0 ? m_reading->links.waitsFor(*m_current) : m_reading->links.releases(*m_current);
  const auto played = replay();
  const auto doneAt = [&](const StepPlace& place) {
    const auto position = played ? played->positionAfter(place) : std::nullopt;
    return position ? std::size_t{played->events()[*position - 1].round} : std::numeric_limits<std::size_t>::max();
  };
  // Its own threadblock says least, so where two are equal the other reason is followed.
  const auto found = std::max_element(links.begin(), links.end(), [&](const auto& a, const auto& b) {
    const auto keyOf = [&](const program::StepLink& link) {
      const std::size_t at = doneAt(link.place);
      return std::pair(direction < 0 ? at : std::numeric_limits<std::size_t>::max() - at,
                       link.reason != program::WaitReason::order);
    };
    return keyOf(a) < keyOf(b);
  });
  if (found != links.end()) {
    choose(found->place);
  }
}

void ProgramPanel::fillWaits() {
  m_before->clear();
  m_after->clear();
  if (!m_reading || !m_current) {
    m_step->setText(m_reading
                        ? tr("Choose a step. [ and ] go to the step that it waits for and to a step that waits for it.")
                        : QString());
    return;
  }
  m_step->setText(stepSentence(*m_reading, *m_current, replay().get(), m_treeName));
  const auto fill = [this](QListWidget* into, const std::vector<program::StepLink>& links) {
    for (std::size_t at = 0; at < links.size() && at < kMaxListed; ++at) {
      auto* item = new QListWidgetItem(waitTitle(links[at].reason) + u"  "_s + nameOf(links[at].place), into);
      item->setData(kPlaceRole, toVariant(links[at].place));
    }
    if (links.size() > kMaxListed) {
      new QListWidgetItem(tr("and %1 more").arg(links.size() - kMaxListed), into);
    } else if (links.empty()) {
      auto* none = new QListWidgetItem(tr("nothing"), into);
      none->setFlags(Qt::NoItemFlags);
    }
  };
  fill(m_before, m_reading->links.waitsFor(*m_current));
  fill(m_after, m_reading->links.releases(*m_current));
}

void ProgramPanel::refreshBuffers() {
  const auto played = replay();
  const int ranks = m_reading ? static_cast<int>(m_reading->program().ranks.size()) : 0;
  m_isFilling = true;
  m_slider->setRange(0, played ? static_cast<int>(played->events().size()) : 0);
  m_slider->setValue(static_cast<int>(m_position));
  m_slider->setEnabled(played != nullptr);
  m_isFilling = false;
  if (!played) {
    m_buffers->setReplay(nullptr, 1);
    m_moment->setText(m_reading && m_reading->study().noReplay ? sentence(*m_reading->study().noReplay) : QString());
    return;
  }
  m_buffers->setReplay(played, ranks);
  const int asked = m_bufferRank->currentData().toInt();
  m_buffers->showMoment(asked >= 0 ? asked : m_current ? m_current->rank : 0, m_position);
  if (m_position == 0) {
    m_moment->setText(tr("before the first step"));
  } else {
    const verify::ReplayEvent& last = played->events()[m_position - 1];
    m_moment->setText(tr("event %1 of %2, round %3").arg(m_position).arg(played->events().size()).arg(last.round));
  }
  m_moment->setToolTip(m_moment->text());
}

// ---- deadlock

void ProgramPanel::fillRing() {
  m_ringList->clear();
  const bool hasRing = m_reading && !m_reading->study().ring.empty();
  m_pages->setTabVisible(kRing, hasRing);
  if (!hasRing) {
    return;
  }
  const verify::ProgramStudy& study = m_reading->study();
  for (std::size_t at = 0; at < study.ring.size() && at < kMaxListed; ++at) {
    auto* item = new QListWidgetItem(QString::number(at + 1) + u". "_s +
                                         QString::fromStdString(verify::describe(m_reading->program(), study.ring[at])),
                                     m_ringList);
    item->setToolTip(item->text());
    item->setData(kPlaceRole, toVariant(study.ring[at].place));
  }
  m_remedy->setText(
      study.change
          ? tr("Smallest change that resolves it, verified: %1.").arg(QString::fromStdString(study.change->text))
          : tr("No single change that was tried resolves it; %1.").arg(QString::fromStdString(study.remedy)));
  m_remedy->setToolTip(m_remedy->text());
  m_save->setVisible(study.change.has_value());
}

void ProgramPanel::saveChanged() {
  if (m_reading && m_reading->study().change) {
    Q_EMIT saveWanted(QFileInfo(m_path).completeBaseName() + u"-freed.xml"_s,
                      program::writeMscclXml(m_reading->study().change->after, m_reading->runtime));
  }
}

}  // namespace coppice::designer
