// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/features/order/order_dialog.hpp"

#include <QHeaderView>
#include <QVBoxLayout>
#include <chrono>
#include <utility>

#include "designer/document/error_text.hpp"
#include "designer/theme/panel_widgets.hpp"
#include "fabric/fabric.hpp"
#include "order/pattern.hpp"
#include "workflow/facts.hpp"
#include "workflow/guarded.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

QString text(const std::string& value) {
  return QString::fromStdString(value);
}

/// "600/23 = 26.09 GB/s, limited by b0g0 → rail0".
QString worthText(const workflow::RankOrder& made, const order::Worth& worth) {
  const fabric::Arc& arc = made.fabric.arcs()[worth.busiestArc];
  return OrderDialog::tr("%1, busiest link %2 → %3")
      .arg(text(workflow::gigabytes(worth.algbw())), text(made.fabric.nodes()[arc.tail].id),
           text(made.fabric.nodes()[arc.head].id));
}

}  // namespace

OrderDialog::OrderDialog(const QString& name, std::shared_ptr<const fabric::Description> facts,
                         std::function<void(const workflow::RankOrder&)> save, QWidget* parent)
    : QDialog(parent),
      m_facts(std::move(facts)),
      m_algorithm(new QComboBox(this)),
      m_isFree(new QCheckBox(tr("Spread the ranks of a host"), this)),
      m_summary(new QLabel(this)),
      m_ranks(new QTreeWidget(this)),
      m_save(new QPushButton(tr("&Save Files…"), this)),
      m_job([this](const Answer& answer) { take(answer); }, 0ms) {
  setObjectName(u"orderDialog"_s);
  setWindowTitle(tr("Order of Ranks on %1").arg(name));
  m_algorithm->setObjectName(u"orderAlgorithm"_s);
  m_algorithm->setAccessibleName(tr("Algorithm"));
  for (const order::Algorithm& each : order::algorithms()) {
    m_algorithm->addItem(text(std::string(each.name) + " " + std::string(toString(each.usual))),
                         text(std::string(each.name)));
    m_algorithm->setItemData(m_algorithm->count() - 1, text(std::string(each.about)), Qt::ToolTipRole);
  }
  m_algorithm->setCurrentIndex(m_algorithm->findData(text(workflow::RankOrderText().algorithm)));
  m_isFree->setObjectName(u"orderFree"_s);
  m_isFree->setToolTip(
      tr("GPUs of a host need not have consecutive ranks; launchers give such an order by a rankfile"));
  m_summary->setObjectName(u"orderSummary"_s);
  m_summary->setWordWrap(true);
  m_summary->setTextInteractionFlags(Qt::TextSelectableByMouse);
  m_ranks->setObjectName(u"orderRanks"_s);
  m_ranks->setAccessibleName(tr("Ranks in the best order"));
  m_ranks->setHeaderLabels({tr("Rank"), tr("Host"), tr("Device"), tr("GPU"), tr("Rank now")});
  m_ranks->setRootIsDecorated(false);
  m_ranks->setUniformRowHeights(true);
  m_ranks->setAlternatingRowColors(true);
  m_save->setObjectName(u"orderSave"_s);
  m_save->setToolTip(tr("Hostfile and rankfile for Open MPI, the order for Slurm and torchrun, and how to use them"));
  auto* close = new QPushButton(tr("Close"), this);
  auto* layout = new QVBoxLayout(this);
  layout->addLayout(controlRow({m_algorithm, m_isFree}, new QLabel(this)));
  layout->addWidget(m_summary);
  layout->addWidget(m_ranks, 1);
  layout->addLayout(buttonRow({m_save, close}));
  constexpr QSize kSize(720, 560);
  resize(kSize);
  connect(m_algorithm, &QComboBox::currentIndexChanged, this, &OrderDialog::search);
  connect(m_isFree, &QCheckBox::toggled, this, &OrderDialog::search);
  connect(m_save, &QPushButton::clicked, this, [this, save = std::move(save)] {
    if (m_answer && *m_answer) {
      save(**m_answer);
    }
  });
  connect(close, &QPushButton::clicked, this, &QDialog::accept);
  search();
}

void OrderDialog::search() {
  workflow::RankOrderText question;
  question.algorithm = m_algorithm->currentData().toString().toStdString();
  question.request.isFree = m_isFree->isChecked();
  m_summary->setText(tr("Searching…"));
  m_save->setEnabled(false);
  m_job.submit([question, facts = m_facts](std::stop_token stop) {
    Progress progress;
    progress.stop = std::move(stop);
    return std::make_shared<const Result<workflow::RankOrder>>(
        workflow::guarded<workflow::RankOrder>([&]() -> Result<workflow::RankOrder> {
          const auto fabric = fabric::Fabric::build(*facts);
          return fabric ? workflow::rankOrder(*fabric, question, {}, progress) : fabric.error();
        }));
  });
}

void OrderDialog::take(const Answer& answer) {
  m_answer = answer;
  m_ranks->clear();
  m_save->setEnabled(answer->hasValue());
  if (!*answer) {
    m_summary->setText(sentence(answer->error()));
    return;
  }
  const workflow::RankOrder& made = **answer;
  m_summary->setText(tr("As it is: %1\nBest order: %2\nGain: %3\nBound: %4")
                         .arg(worthText(made, made.answer.given), worthText(made, made.answer.best),
                              text(workflow::gainText(made)), text(workflow::boundText(made))));
  list(made);
}

void OrderDialog::list(const workflow::RankOrder& made) {
  const auto places = workflow::placesOf(made);
  QList<QTreeWidgetItem*> rows;
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    const fabric::Rank gpu = made.answer.order[rank];
    rows << new QTreeWidgetItem({QString::number(rank), text(made.hosts[places[rank].host].name),
                                 QString::number(places[rank].device),
                                 text(made.fabric.nodes()[made.fabric.gpus()[gpu]].id), QString::number(gpu)});
  }
  m_ranks->addTopLevelItems(rows);
  m_ranks->header()->setStretchLastSection(true);
}

}  // namespace coppice::designer
