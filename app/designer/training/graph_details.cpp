// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/training/graph_details.hpp"

#include <QSignalBlocker>
#include <algorithm>

#include "designer/document/counted.hpp"
#include "designer/document/figures.hpp"
#include "designer/theme/panel_widgets.hpp"
#include "designer/training/axis_overlay.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr double kBytesOfMb = 1e6;
constexpr double kNanosecondsOfUs = 1e3;

Rational stepOf(const training::Cost& cost) {
  return std::max(cost.compute, cost.communication);
}

int chosenRow(const QTableWidget& table) {
  return table.selectedItems().isEmpty() ? -1 : table.currentRow();
}

void setRow(QTableWidget& table, int row, const QStringList& texts, int firstFigure, int lastFigure) {
  for (int column = 0; column < texts.size(); ++column) {
    setCell(table, row, column, texts[column], column >= firstFigure && column <= lastFigure);
  }
}

}  // namespace

GraphDetails::GraphDetails(QWidget* parent)
    : QTabWidget(parent),
      m_meshes(new QTableWidget(this)),
      m_plans(new QTableWidget(this)),
      m_states(new QTableWidget(this)),
      m_parts(new QTableWidget(this)),
      m_chart(new PlanChart(u"graphChart"_s, {tr("memory of a GPU, MB"), tr("step, µs"), kBytesOfMb, kNanosecondsOfUs},
                            this)) {
  setObjectName(u"graphDetails"_s);
  setDocumentMode(true);
  setUpRowTable(*m_meshes, u"graphMeshes"_s, tr("Meshes, best first"));
  setHeads(*m_meshes, {tr("Mesh"), tr("Step, µs"), tr("Compute"), tr("Communication"), tr("MB"), tr("Plans")}, 5);
  setUpRowTable(*m_plans, u"graphPlans"_s, tr("Plans of the mesh"));
  setHeads(*m_plans, {tr("Step, µs"), tr("Compute"), tr("Communication"), tr("MB"), tr("Fits")}, 4);
  setUpRowTable(*m_states, u"graphStates"_s, tr("States of the tensors"));
  setHeads(*m_states, {tr("Tensor"), tr("State"), tr("Takes")}, 2);
  m_states->horizontalHeaderItem(1)->setToolTip(
      tr("On each axis of the mesh: the dimension that it divides, R (replicated) or P (partial sums)"));
  setUpRowTable(*m_parts, u"graphParts"_s, tr("What a step moves"));
  setHeads(*m_parts, {tr("Axis"), tr("Collective"), tr("µs"), tr("Share"), tr("GB/s"), tr("Limited by")}, 5);
  addTab(m_meshes, tr("Meshes"));
  addTab(m_plans, tr("Plans"));
  addTab(m_states, tr("States"));
  addTab(m_parts, tr("Communication"));
  addTab(m_chart, tr("Time and Memory"));
  connect(m_meshes, &QTableWidget::itemSelectionChanged, this, &GraphDetails::showMesh);
  connect(m_plans, &QTableWidget::itemSelectionChanged, this, &GraphDetails::showPlan);
  connect(m_parts, &QTableWidget::itemSelectionChanged, this, &GraphDetails::partChosen);
  connect(m_chart, &PlanChart::planClicked, m_plans, &QTableWidget::selectRow);
}

const workflow::MeshAnswer* GraphDetails::mesh() const {
  const int row = chosenRow(*m_meshes);
  return m_answer && row >= 0 ? &m_answer->meshes[static_cast<std::size_t>(row)] : nullptr;
}

const training::Plan* GraphDetails::plan() const {
  const workflow::MeshAnswer* of = mesh();
  const int row = chosenRow(*m_plans);
  return of != nullptr && row >= 0 ? &of->front.plans[static_cast<std::size_t>(row)] : nullptr;
}

void GraphDetails::show(const TrainingAnswerPtr& answer) {
  m_answer = answer;
  {
    const QSignalBlocker quiet(m_meshes);
    m_meshes->setRowCount(0);
    const std::size_t count = m_answer ? m_answer->meshes.size() : 0;
    m_meshes->setRowCount(static_cast<int>(count));
    for (std::size_t i = 0; i < count; ++i) {
      const workflow::MeshAnswer& each = m_answer->meshes[i];
      QStringList texts{QString::fromStdString(each.mesh)};
      if (each.best) {
        texts << microseconds(each.step()) << microseconds(each.cost().compute)
              << microseconds(each.cost().communication) << megabytes(each.cost().memory);
      } else {
        texts << tr("does not fit") << QString() << QString() << QString();
      }
      texts << (each.front.isPartial   ? tr("%1, others may be better")
                : each.front.isThinned ? tr("%1, within 0.1 %")
                                       : tr("%1, proved"))
                   .arg(each.front.plans.size());
      setRow(*m_meshes, static_cast<int>(i), texts, 1, 4);
    }
    if (count > 0) {
      m_meshes->selectRow(0);
    }
  }
  showMesh();
}

void GraphDetails::showMesh() {
  {
    const QSignalBlocker quiet(m_plans);
    m_plans->setRowCount(0);
    if (const workflow::MeshAnswer* of = mesh()) {
      const std::optional<Rational>& memory = m_answer->graph->memory;
      m_plans->setRowCount(static_cast<int>(of->front.plans.size()));
      for (std::size_t i = 0; i < of->front.plans.size(); ++i) {
        const training::Cost& cost = of->front.plans[i].cost;
        const bool fits = !memory || cost.memory <= *memory;
        setRow(*m_plans, static_cast<int>(i),
               {microseconds(stepOf(cost)), microseconds(cost.compute), microseconds(cost.communication),
                megabytes(cost.memory), fits ? tr("yes") : tr("no")},
               0, 3);
      }
      m_plans->selectRow(static_cast<int>(of->best.value_or(0)));
    }
  }
  showPlan();
}

void GraphDetails::showPlan() {
  const workflow::MeshAnswer* of = mesh();
  const training::Plan* chosen = plan();
  m_states->setRowCount(0);
  QList<PlanChart::Point> points;
  if (chosen != nullptr) {
    m_states->setRowCount(static_cast<int>(of->problem.nodes.size()));
    for (std::size_t i = 0; i < of->problem.nodes.size(); ++i) {
      const int row = static_cast<int>(i);
      const training::Strategy& strategy = chosen->strategies[i];
      QString takes = QString::fromStdString(workflow::conversionText(of->problem, *chosen, row)).trimmed();
      if (strategy.isDropped) {
        takes += takes.isEmpty() ? tr("computed again") : tr(" computed again");
      }
      setRow(*m_states, row,
             {QString::fromStdString(of->problem.nodes[i].name),
              QString::fromStdString(workflow::stateText(of->problem, strategy.output)), takes},
             -1, -1);
    }
    for (const training::Plan& each : of->front.plans) {
      points.append({each.cost.memory, stepOf(each.cost),
                     tr("%1 µs, %2 MB").arg(microseconds(stepOf(each.cost)), megabytes(each.cost.memory))});
    }
  }
  m_chart->show(std::move(points), chosenRow(*m_plans));
  fillParts();
  Q_EMIT planChosen();
}

void GraphDetails::fillParts() {
  const bool hadChoice = chosenRow(*m_parts) >= 0;
  {
    const QSignalBlocker quiet(m_parts);
    m_parts->setRowCount(0);
    m_moved.clear();
    if (const training::Plan* chosen = plan()) {
      m_moved = workflow::conversionTimes(mesh()->problem, *chosen);
      m_parts->setRowCount(static_cast<int>(m_moved.size()));
      for (std::size_t i = 0; i < m_moved.size(); ++i) {
        const workflow::ConversionTime& each = m_moved[i];
        const workflow::PricedAxis& axis = mesh()->axes[static_cast<std::size_t>(each.axis)];
        const auto conversion = static_cast<std::size_t>(each.conversion);
        const Bandwidth rate = workflow::algbwOf(each.conversion, axis.axis.rates[conversion], axis.axis.size);
        const int row = static_cast<int>(i);
        int column = 0;
        setCell(*m_parts, row, column++, QString::number(each.axis), false);
        setCell(*m_parts, row, column++,
                QString::fromStdString(std::string(toString(workflow::collectiveOf(each.conversion)))), false);
        setCell(*m_parts, row, column++, microseconds(each.time), true);
        setCell(*m_parts, row, column++, percentOf(each.time, chosen->cost.communication), true);
        setCell(*m_parts, row, column++, decimal(rate), true, exactly(rate));
        setCell(*m_parts, row, column++,
                QString::fromStdString(workflow::cutWords(*m_answer->fabric, axis.cuts[conversion])), false);
      }
    }
  }
  if (hadChoice) {
    Q_EMIT partChosen();
  }
}

QString GraphDetails::headline() const {
  const training::Plan* chosen = plan();
  if (chosen == nullptr) {
    return {};
  }
  const training::Cost& cost = chosen->cost;
  const QString limit =
      cost.compute >= cost.communication ? tr("Limited by computation") : tr("Limited by communication");
  const QString machine =
      m_answer->graph->hasMesh()
          ? tr("the mesh and the rates are those of the file")
          : tr("mesh of %1 on the drawn fabric").arg(counted(m_answer->fabric->gpuCount(), tr("GPU"), tr("GPUs")));
  QString text = u"<b>"_s +
                 tr("%1 µs per step on %2, %3 MB per GPU")
                     .arg(microseconds(stepOf(cost)), QString::fromStdString(mesh()->mesh), megabytes(cost.memory))
                     .toHtmlEscaped() +
                 u"</b><br>"_s + (limit + u"; "_s + machine + u'.').toHtmlEscaped();
  for (const std::string& note : m_answer->graph->graph.notes) {
    text += u' ' + tr("Note: %1.").arg(QString::fromStdString(note)).toHtmlEscaped();
  }
  return text;
}

Overlay GraphDetails::marksOf(const EditorContext& context) const {
  const int row = chosenRow(*m_parts);
  if (plan() == nullptr || row < 0 || m_answer->graph->hasMesh()) {
    return {};  // of its own mesh nothing is on the drawing
  }
  const workflow::ConversionTime& part = m_moved[static_cast<std::size_t>(row)];
  const auto axis = static_cast<std::size_t>(part.axis);
  return axisOverlay(context, *m_answer, tr("axis %1").arg(part.axis), workflow::firstGroupOf(mesh()->axes, axis),
                     mesh()->axes[axis].cuts[static_cast<std::size_t>(part.conversion)]);
}

}  // namespace coppice::designer
