// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/training/training_panel.hpp"

#include <QDragEnterEvent>
#include <QDropEvent>
#include <QHeaderView>
#include <QMimeData>
#include <QSignalBlocker>
#include <QVBoxLayout>

#include "designer/document/counted.hpp"
#include "designer/document/figures.hpp"
#include "designer/theme/panel_widgets.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr int kMargin = 10;
constexpr int kGap = 6;
constexpr int kPlanColumn = 1;

}  // namespace

TrainingPanel::TrainingPanel(QWidget* parent)
    : QuestionPanel({.name = u"training"_s,
                     .noDocument = tr("Open a fabric to see how fast a model can be trained on it."),
                     .invitation = tr("How fast can a training step be on this fabric, and what limits it? Choose a "
                                      "model, and search all ways to divide the step over the GPUs. A config.json, a "
                                      "graph of torch.fx or a training problem can be dropped here."),
                     .action = tr("Search"),
                     .working = tr("Looking at all ways to divide the step…"),
                     .command = u"train"_s},
                    workflow::trainingOptions(), searchTraining, parent),
      m_headline(new QLabel(this)),
      m_table(new QTableWidget(this)),
      m_details(new PlanDetails(this)),
      m_graph(new GraphDetails(this)),
      m_found(new QStackedWidget(this)) {
  setAcceptDrops(true);
  form().setValues({{"model", "llama-3-70b"}});
  connect(m_table, &QTableWidget::itemSelectionChanged, this, &TrainingPanel::showPlan);
  connect(m_details, &PlanDetails::partChosen, this, &TrainingPanel::marksChanged);
  connect(m_details, &PlanDetails::planClicked, m_table, &QTableWidget::selectRow);
  connect(m_graph, &GraphDetails::planChosen, this, [this] {
    if (m_answer && m_answer->isGraph()) {
      m_headline->setText(m_graph->headline());
    }
  });
  connect(m_graph, &GraphDetails::partChosen, this, &TrainingPanel::marksChanged);
  setContent(makePlans());
}

QWidget* TrainingPanel::makePlans() {
  m_headline->setObjectName(u"trainingHeadline"_s);
  m_headline->setWordWrap(true);
  m_headline->setTextInteractionFlags(Qt::TextSelectableByMouse);
  setUpRowTable(*m_table, u"trainingPlans"_s, tr("Plans, best first"));
  const QStringList heads{tr("Step"),    tr("Plan"),   tr("Micro-batches"), tr("GB"),
                          tr("Compute"), tr("Bubble"), tr("Communication"), tr("No overlap")};
  setHeads(*m_table, heads, kPlanColumn);
  const QStringList tips{tr("If communication hides behind computation where it can: nothing can be faster"),
                         tr("Sizes of the axes, that of neighbouring ranks first: dp data, cp context, ep experts, tp "
                            "tensor, pp pipeline"),
                         tr("Micro-batches of a step"),
                         tr("Memory of a GPU"),
                         tr("Computation of a GPU"),
                         tr("Time in which a GPU waits for the first and the last micro-batches"),
                         tr("All that is moved in a step"),
                         tr("Computation, bubble and communication one after the other")};
  for (int column = 0; column < heads.size(); ++column) {
    m_table->horizontalHeaderItem(column)->setToolTip(tips[column]);
  }
  auto* plans = new QWidget(this);
  auto* layout = new QVBoxLayout(plans);
  layout->setContentsMargins(kMargin, kGap, kMargin, 0);
  layout->setSpacing(kGap);
  layout->addWidget(m_headline);
  layout->addWidget(state());
  m_details->insertTab(0, m_table, tr("Plans"));
  m_details->setCurrentIndex(0);
  m_found->addWidget(m_details);
  m_found->addWidget(m_graph);
  layout->addWidget(m_found, 1);
  return plans;
}

void TrainingPanel::dragEnterEvent(QDragEnterEvent* event) {
  const QList<QUrl> urls = event->mimeData()->urls();
  if (context() != nullptr && urls.size() == 1 && urls.front().isLocalFile()) {
    event->acceptProposedAction();
  }
}

void TrainingPanel::dropEvent(QDropEvent* event) {
  event->acceptProposedAction();
  workflow::Values values = form().values();
  values["model"] = event->mimeData()->urls().front().toLocalFile().toStdString();
  form().setValues(values);
  search();
}

void TrainingPanel::showAnswer(const PanelAnswerPtr& answer) {
  m_answer = std::static_pointer_cast<const TrainingAnswer>(answer);
  {
    const QSignalBlocker quiet(m_table);
    m_table->setRowCount(0);
    const std::size_t count = m_answer ? m_answer->choice.plans.size() : 0;
    const workflow::StepUnit unit = m_answer ? unitOf(*m_answer) : workflow::stepUnit(0);
    m_table->horizontalHeaderItem(0)->setText(tr("Step, %1").arg(QLatin1StringView(unit.name)));
    m_table->setRowCount(static_cast<int>(count));
    for (std::size_t i = 0; i < count; ++i) {
      const training::StepPlan& plan = m_answer->choice.plans[i];
      const QStringList texts{
          inUnit(unit, plan.overlapped()),       QString::fromStdString(plan.priced.layout.text()),
          QString::number(plan.microBatches),    decimal(plan.cost.memory / Rational(1'000'000'000)),
          inUnit(unit, plan.cost.compute),       inUnit(unit, plan.bubble),
          inUnit(unit, plan.cost.communication), inUnit(unit, plan.inSequence())};
      for (int column = 0; column < texts.size(); ++column) {
        setCell(*m_table, static_cast<int>(i), column, texts[column], column != kPlanColumn);
      }
    }
    if (count > 0) {
      m_table->selectRow(0);
    }
  }
  m_graph->show(m_answer && m_answer->isGraph() ? m_answer : nullptr);
  m_found->setCurrentWidget(m_answer && m_answer->isGraph() ? static_cast<QWidget*>(m_graph) : m_details);
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
    m_headline->setText(m_graph->headline());
  }
}

Overlay TrainingPanel::marks() const {
  if (context() == nullptr || !isSeen() || !isCurrent()) {
    return {};
  }
  return m_answer->isGraph() ? m_graph->marksOf(*context()) : m_details->marksOf(*context());
}

QString TrainingPanel::stateOf(const PanelAnswer& answer) const {
  const auto& found = static_cast<const TrainingAnswer&>(answer);
  if (found.isGraph()) {
    const workflow::MeshAnswer& best = found.meshes.front();
    return tr("%1 and %2 of the graph on %3 in %4.")
        .arg(counted(static_cast<qsizetype>(best.problem.nodes.size()), tr("tensor"), tr("tensors")),
             counted(static_cast<qsizetype>(best.problem.dims.size()), tr("dimension"), tr("dimensions")),
             counted(static_cast<qsizetype>(found.meshes.size()), tr("mesh"), tr("meshes")), duration(answer.seconds));
  }
  const workflow::TrainingChoice& choice = found.choice;
  QString state =
      tr("%1 of the GPUs in %2")
          .arg(counted(static_cast<qsizetype>(choice.layouts), tr("layout"), tr("layouts")), duration(answer.seconds));
  if (choice.leftOut > 0) {
    state += tr("; %1 left out: %2").arg(choice.leftOut).arg(QString::fromStdString(choice.leftOutFor));
  }
  return state + u'.';
}

}  // namespace coppice::designer
