// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/training/training_panel.hpp"

#include <QClipboard>
#include <QGuiApplication>
#include <QHeaderView>
#include <QHideEvent>
#include <QSignalBlocker>
#include <QSplitter>
#include <QVBoxLayout>
#include <algorithm>
#include <chrono>
#include <utility>

#include "designer/document/counted.hpp"
#include "designer/document/figures.hpp"
#include "designer/schedules/command_text.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/panel_widgets.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

constexpr int kMargin = 10;
constexpr int kGap = 6;
constexpr int kThousand = 1000;
constexpr int kPlanColumn = 1;

}  // namespace

TrainingPanel::TrainingPanel(QWidget* parent)
    : QWidget(parent),
      m_form(new OptionForm(workflow::trainingOptions(), this)),
      m_search(new QPushButton(this)),
      m_pages(new QStackedWidget(this)),
      m_message(new QLabel(this)),
      m_headline(new QLabel(this)),
      m_state(new QLabel(this)),
      m_bar(new QProgressBar(this)),
      m_table(new QTableWidget(this)),
      m_details(new PlanDetails(this)),
      m_job([this](const TrainingAnswerPtr& answer) { receive(answer); }, 0ms) {
  setObjectName(u"trainingPanel"_s);
  setProperty("role", u"panel"_s);
  setAttribute(Qt::WA_StyledBackground);
  m_form->setValues({{"model", "llama-3-70b"}});
  layOut();
  connect(m_search, &QPushButton::clicked, this, &TrainingPanel::search);
  connect(m_form, &OptionForm::changed, this, &TrainingPanel::refresh);
  connect(m_table, &QTableWidget::itemSelectionChanged, this, &TrainingPanel::showPlan);
  connect(m_details, &PlanDetails::partChosen, this, &TrainingPanel::marksChanged);
  connect(m_details, &PlanDetails::planClicked, m_table, &QTableWidget::selectRow);
  m_tick.setInterval(100ms);
  connect(&m_tick, &QTimer::timeout, this, [this] {
    if (m_progress) {
      m_bar->setValue(static_cast<int>(m_progress->state().fraction * kThousand));
    }
  });
  refresh();
}

QWidget* TrainingPanel::makeAsked() {
  m_search->setObjectName(u"trainingSearch"_s);
  m_search->setProperty("role", u"primary"_s);
  QToolButton* copy = iconButton(u"trainingCopy"_s, u"copy"_s, tr("Copy as a command line"), this);
  connect(copy, &QToolButton::clicked, this, &TrainingPanel::copyCommand);
  auto* buttons = new QHBoxLayout;
  buttons->setContentsMargins(kMargin, kGap, kMargin, kGap);
  buttons->addWidget(m_search, 1);
  buttons->addWidget(copy);
  auto* content = new QWidget(this);
  auto* inner = new QVBoxLayout(content);
  inner->setContentsMargins(kMargin, kGap, kMargin, kGap);
  inner->addWidget(m_form);
  inner->addStretch(1);
  auto* asked = new QWidget(this);
  auto* layout = new QVBoxLayout(asked);
  layout->setContentsMargins({});
  layout->setSpacing(0);
  layout->addWidget(scrolled(content, asked), 1);
  layout->addLayout(buttons);
  constexpr int kMinWidth = 240;
  asked->setMinimumWidth(kMinWidth);
  return asked;
}

QWidget* TrainingPanel::makePlans() {
  m_headline->setObjectName(u"trainingHeadline"_s);
  m_headline->setWordWrap(true);
  m_headline->setTextInteractionFlags(Qt::TextSelectableByMouse);
  m_state->setObjectName(u"trainingState"_s);
  m_state->setProperty("role", u"muted"_s);
  m_state->setWordWrap(true);
  setUpRowTable(*m_table, u"trainingPlans"_s, tr("Plans, best first"));
  const QStringList heads{tr("Step ms"), tr("Plan"),   tr("Micro-batches"), tr("GB"),
                          tr("Compute"), tr("Bubble"), tr("Communication"), tr("Without overlap")};
  m_table->setColumnCount(static_cast<int>(heads.size()));
  m_table->setHorizontalHeaderLabels(heads);
  const QStringList tips{tr("If communication hides behind computation where it can: nothing can be faster"),
                         tr("Sizes of the axes, that of neighbouring ranks first: dp data, cp context, ep experts, tp "
                            "tensor, pp pipeline"),
                         tr("Micro-batches of a step"),
                         tr("Memory of a GPU"),
                         tr("Computation of a GPU, ms"),
                         tr("Time in which a GPU waits for the first and the last micro-batches, ms"),
                         tr("All that is moved in a step, ms"),
                         tr("Computation, bubble and communication one after the other, ms")};
  for (int column = 0; column < heads.size(); ++column) {
    m_table->horizontalHeaderItem(column)->setToolTip(tips[column]);
  }
  m_table->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
  auto* plans = new QWidget(this);
  auto* layout = new QVBoxLayout(plans);
  layout->setContentsMargins(kMargin, kGap, kMargin, 0);
  layout->setSpacing(kGap);
  layout->addWidget(m_headline);
  layout->addWidget(m_state);
  m_details->insertTab(0, m_table, tr("Plans"));
  m_details->setCurrentIndex(0);
  layout->addWidget(m_details, 1);
  return plans;
}

void TrainingPanel::layOut() {
  m_message->setObjectName(u"trainingMessage"_s);
  m_message->setAlignment(Qt::AlignCenter);
  m_message->setWordWrap(true);
  m_message->setProperty("role", u"muted"_s);
  m_message->setContentsMargins(kMargin, kMargin, kMargin, kMargin);
  m_bar->setObjectName(u"trainingProgress"_s);
  constexpr int kBarHeight = 4;
  m_bar->setRange(0, kThousand);
  m_bar->setTextVisible(false);
  m_bar->setFixedHeight(kBarHeight);
  m_bar->setAccessibleName(tr("Progress"));
  QSizePolicy keep = m_bar->sizePolicy();
  keep.setRetainSizeWhenHidden(true);
  m_bar->setSizePolicy(keep);
  m_pages->addWidget(m_message);
  m_pages->addWidget(makePlans());
  auto* whole = new QSplitter(Qt::Horizontal, this);
  whole->setChildrenCollapsible(false);
  whole->addWidget(makeAsked());
  whole->addWidget(m_pages);
  whole->setStretchFactor(1, 1);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins({});
  layout->setSpacing(0);
  layout->addWidget(m_bar);
  layout->addWidget(whole, 1);
}

void TrainingPanel::setContext(EditorContext* context) {
  if (m_context == context) {
    return;
  }
  m_followed.clear();
  m_job.cancel();
  m_answer.reset();
  m_context = context;
  if (m_context) {
    m_followed.connect(&m_context->document(), &Document::changed, [this](const ChangeEvent& event) {
      if (event.isReset || event.aspects.testFlag(Aspect::facts)) {
        followFacts();
      }
    });
  }
  fill();
}

bool TrainingPanel::isCurrent() const {
  return m_answer && m_context && m_answer->snapshot.factRevision == m_context->document().factRevision() &&
         m_asked == m_form->values();
}

void TrainingPanel::followFacts() {
  constexpr double kQuick = 3;  // seconds: the step then follows the edits
  const bool wasQuick = m_answer && m_answer->seconds < kQuick;
  if (isSearching() || wasQuick) {
    m_job.cancel();
    if (wasQuick && isVisible()) {
      search();
    }
  }
  refresh();
}

void TrainingPanel::search() {
  if (isSearching()) {
    m_job.cancel();
    refresh();
    return;
  }
  if (!m_context || !m_form->isValid()) {
    return;
  }
  m_asked = m_form->values();
  m_progress = std::make_shared<JobProgress>();
  m_job.submit([snapshot = Snapshot::of(m_context->document()), values = m_asked, progress = m_progress](
                   std::stop_token stop) { return searchTraining(snapshot, values, progress, std::move(stop)); });
  refresh();
}

void TrainingPanel::receive(const TrainingAnswerPtr& answer) {
  m_answer = answer;
  fill();
}

void TrainingPanel::fill() {
  {
    const QSignalBlocker quiet(m_table);
    m_table->setRowCount(0);
    const std::size_t count = m_answer ? m_answer->choice.plans.size() : 0;
    m_table->setRowCount(static_cast<int>(count));
    for (std::size_t i = 0; i < count; ++i) {
      const training::StepPlan& plan = m_answer->choice.plans[i];
      const QStringList texts{
          milliseconds(plan.overlapped()),       QString::fromStdString(plan.priced.layout.text()),
          QString::number(plan.microBatches),    decimal(plan.cost.memory / Rational(1'000'000'000)),
          milliseconds(plan.cost.compute),       milliseconds(plan.bubble),
          milliseconds(plan.cost.communication), milliseconds(plan.inSequence())};
      for (int column = 0; column < texts.size(); ++column) {
        auto* item = new QTableWidgetItem(texts[column]);
        item->setFont(figureFont());
        item->setTextAlignment((column == kPlanColumn ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
        m_table->setItem(static_cast<int>(i), column, item);
      }
    }
    if (count > 0) {
      m_table->selectRow(0);
    }
  }
  showPlan();
}

void TrainingPanel::showPlan() {
  const int row = m_table->selectedItems().isEmpty() ? -1 : m_table->currentRow();
  m_details->show(m_answer, row);
  if (m_answer && m_answer->hasPlans() && row >= 0) {
    const PlanText text = textOf(*m_answer, m_answer->choice.plans[static_cast<std::size_t>(row)]);
    m_headline->setText(u"<b>"_s + text.headline.toHtmlEscaped() + u"</b><br>"_s + text.limitedBy.toHtmlEscaped() +
                        u". "_s + text.axes.join(u"; "_s).toHtmlEscaped() + u'.');
  } else {
    m_headline->clear();
  }
  refresh();
}

void TrainingPanel::refresh() {
  QString message;
  QString state;
  const bool isOld = m_answer && !isCurrent();
  if (!m_context) {
    message = tr("Open a fabric to see how fast a model can be trained on it.");
  } else if (isSearching() && (!m_answer || !m_answer->hasPlans())) {
    message = tr("Looking at all ways to divide the step…");
  } else if (!m_answer) {
    message =
        tr("How fast can a training step be on this fabric, and what limits it? Choose a model, and search all "
           "ways to divide the step over the GPUs.");
  } else if (!m_answer->problem.isEmpty()) {
    message = m_answer->problem;
  } else if (isSearching()) {
    state = tr("Searching again…");
  } else if (isOld) {
    state = tr("The fabric or the options have changed since. Search again for new plans.");
  } else {
    const workflow::TrainingChoice& choice = m_answer->choice;
    state = tr("%1 of the GPUs in %2")
                .arg(counted(static_cast<qsizetype>(choice.layouts), tr("layout"), tr("layouts")),
                     duration(m_answer->seconds));
    if (choice.leftOut > 0) {
      state += tr("; %1 left out: %2").arg(choice.leftOut).arg(QString::fromStdString(choice.leftOutFor));
    }
    state += u'.';
  }
  m_message->setText(message);
  m_pages->setCurrentIndex(message.isEmpty() ? 1 : 0);
  m_state->setText(state);
  m_details->setEnabled(!isOld);
  m_search->setText(isSearching() ? tr("Stop") : tr("Search"));
  m_search->setEnabled(isSearching() || (m_context && m_form->isValid()));
  m_bar->setVisible(isSearching());
  if (isSearching()) {
    m_tick.start();
  } else {
    m_tick.stop();
  }
}

void TrainingPanel::copyCommand() {
  if (!m_context) {
    return;
  }
  const QString path = m_context->file().path();
  QStringList words{u"coppice-cli"_s, u"train"_s, shellQuoted(path.isEmpty() ? u"fabric.fabric.json"_s : path)};
  for (const auto& [name, value] : m_form->values()) {
    words << u"--"_s + QString::fromStdString(name);
    if (value != "true") {
      words << shellQuoted(QString::fromStdString(value));
    }
  }
  QGuiApplication::clipboard()->setText(words.join(u' '));
}

void TrainingPanel::hideEvent(QHideEvent* event) {
  QWidget::hideEvent(event);
  Q_EMIT marksChanged();
}

}  // namespace coppice::designer
