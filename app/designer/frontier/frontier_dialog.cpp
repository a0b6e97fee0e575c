// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/frontier/frontier_dialog.hpp"

#include <QClipboard>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QScreen>
#include <QSignalBlocker>
#include <QSplitter>
#include <QVBoxLayout>
#include <algorithm>
#include <chrono>
#include <utility>

#include "bom/tables.hpp"
#include "designer/document/counted.hpp"
#include "designer/document/figures.hpp"
#include "designer/theme/panel_widgets.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

constexpr int kNetwork = 0;

std::vector<workflow::Option> allOptions() {
  std::vector<workflow::Option> options;
  for (const auto* list :
       {&workflow::partsOptions(), &workflow::networkOptions(), &workflow::floorOptions(), &workflow::stepOptions()}) {
    options.insert(options.end(), list->begin(), list->end());
  }
  return options;
}

}  // namespace

FrontierDialog::FrontierDialog(QWidget* parent)
    : QDialog(parent),
      m_form(new OptionForm(allOptions(), this)),
      m_cost(new QComboBox(this)),
      m_gain(new QComboBox(this)),
      m_isAll(new QCheckBox(tr("List all networks"), this)),
      m_chart(new FrontierChart(this)),
      m_table(new QTableWidget(this)),
      m_bill(new QLabel(this)),
      m_state(new QLabel(this)),
      m_bar(new QProgressBar(this)),
      m_stop(new QPushButton(tr("Stop"), this)),
      m_open(new QPushButton(tr("Open Fabric"), this)),
      m_saveBill(new QPushButton(tr("Save Bill…"), this)),
      m_saveCables(new QPushButton(tr("Save Cable List…"), this)),
      m_job([this](const FrontierAnswerPtr& answer) { receive(answer); }, 0ms) {
  setObjectName(u"frontierDialog"_s);
  setWindowTitle(tr("Price Networks"));
  auto* copy = new QPushButton(tr("Copy as CSV"), this);
  copy->setObjectName(u"frontierCopy"_s);
  connect(copy, &QPushButton::clicked, this, [this] {
    if (m_answer) {
      QGuiApplication::clipboard()->setText(QString::fromStdString(workflow::frontierCsv(m_answer->frontier)));
    }
  });
  auto* close = new QPushButton(tr("Close"), this);
  connect(close, &QPushButton::clicked, this, &QDialog::accept);
  for (QPushButton* button : {copy, close, m_stop, m_saveBill, m_saveCables}) {
    button->setAutoDefault(false);
  }
  m_stop->setObjectName(u"frontierStop"_s);
  m_open->setObjectName(u"frontierOpen"_s);
  m_open->setProperty("role", u"primary"_s);
  m_saveBill->setObjectName(u"frontierSaveBill"_s);
  m_saveCables->setObjectName(u"frontierSaveCables"_s);
  auto* whole = new QSplitter(Qt::Horizontal, this);
  whole->setChildrenCollapsible(false);
  whole->addWidget(makeAsked());
  whole->addWidget(makeAnswer());
  whole->setStretchFactor(1, 1);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(m_bar);
  layout->addWidget(whole, 1);
  layout->addLayout(buttonRow({copy, m_saveBill, m_saveCables, m_stop, close, m_open}));
  constexpr QSize kSize(1120, 760);
  constexpr QSize kFrame(16, 56);  // of the window and of panels of the desktop
  resize(kSize.boundedTo(screen()->availableSize() - kFrame));
  connectAll();
  refresh();
}

QWidget* FrontierDialog::makeAsked() {
  QWidget* scroll = scrolled(m_form, this);
  constexpr int kMinWidth = 320;
  scroll->setMinimumWidth(kMinWidth);
  return scroll;
}

QWidget* FrontierDialog::makeAnswer() {
  m_cost->setObjectName(u"frontierCost"_s);
  m_cost->setAccessibleName(tr("Cost on the chart"));
  m_cost->addItems({tr("Price"), tr("Watts")});
  m_gain->setObjectName(u"frontierGain"_s);
  m_gain->setAccessibleName(tr("What is reached on the chart"));
  m_gain->addItems({tr("AllReduce"), tr("AllToAll")});
  m_isAll->setObjectName(u"frontierAll"_s);
  m_isAll->setToolTip(tr("Also those that another network is as good as in everything"));
  m_state->setObjectName(u"frontierState"_s);
  m_state->setProperty("role", u"muted"_s);
  m_state->setWordWrap(true);
  m_bill->setObjectName(u"frontierBill"_s);
  m_bill->setWordWrap(true);
  m_bill->setTextInteractionFlags(Qt::TextSelectableByMouse);
  setUpThinProgress(*m_bar, u"frontierProgress"_s);
  setUpRowTable(*m_table, u"frontierTable"_s, tr("Networks, cheapest first"));
  auto* answer = new QWidget(this);
  auto* layout = new QVBoxLayout(answer);
  constexpr int kMargin = 8;
  layout->setContentsMargins(kMargin, 0, 0, 0);
  auto* controls = new QHBoxLayout;
  for (QWidget* control :
       {static_cast<QWidget*>(m_cost), static_cast<QWidget*>(m_gain), static_cast<QWidget*>(m_isAll)}) {
    controls->addWidget(control);
  }
  controls->addStretch(1);
  layout->addLayout(controls);
  auto* parts = new QSplitter(Qt::Vertical, answer);
  parts->setChildrenCollapsible(false);
  parts->addWidget(m_chart);
  parts->addWidget(m_table);
  constexpr int kChart = 3;
  constexpr int kTable = 2;
  parts->setStretchFactor(0, kChart);
  parts->setStretchFactor(1, kTable);
  layout->addWidget(parts, 1);
  layout->addWidget(m_bill);
  layout->addWidget(m_state);
  return answer;
}

void FrontierDialog::connectAll() {
  constexpr auto kTyping = 400ms;
  m_wait.setSingleShot(true);
  m_wait.setInterval(kTyping);
  m_tick.setInterval(100ms);
  connect(&m_wait, &QTimer::timeout, this, &FrontierDialog::search);
  connect(&m_tick, &QTimer::timeout, this, [this] {
    if (m_progress) {
      m_bar->setValue(static_cast<int>(m_progress->state().fraction * kProgressParts));
    }
    if (!m_job.isRunning()) {
      refresh();  // it was stopped: no answer follows
    }
  });
  connect(m_form, &OptionForm::changed, this, [this] { m_wait.start(); });
  connect(m_cost, &QComboBox::currentIndexChanged, this, &FrontierDialog::showChosen);
  connect(m_gain, &QComboBox::currentIndexChanged, this, &FrontierDialog::showChosen);
  connect(m_isAll, &QCheckBox::toggled, this, &FrontierDialog::fill);
  connect(m_chart, &FrontierChart::pointClicked, this, &FrontierDialog::choose);
  connect(m_chart, &FrontierChart::pointActivated, this, [this](int point) {
    choose(point);
    open();
  });
  connect(m_table, &QTableWidget::itemSelectionChanged, this, &FrontierDialog::showChosen);
  connect(m_table, &QTableWidget::itemDoubleClicked, this, &FrontierDialog::open);
  connect(m_open, &QPushButton::clicked, this, &FrontierDialog::open);
  connect(m_saveBill, &QPushButton::clicked, this, [this] { save(false); });
  connect(m_saveCables, &QPushButton::clicked, this, [this] { save(true); });
  connect(m_stop, &QPushButton::clicked, this, [this] {
    m_job.cancel();
    refresh();
  });
}

void FrontierDialog::showEvent(QShowEvent* event) {
  QDialog::showEvent(event);
  if (!m_answer && isSettled()) {
    search();
  }
}

void FrontierDialog::done(int result) {
  m_wait.stop();
  m_job.cancel();
  QDialog::done(result);
}

void FrontierDialog::search() {
  m_wait.stop();
  if (!m_form->isValid()) {
    return;
  }
  m_progress = std::make_shared<JobProgress>();
  m_job.submit([values = m_form->values(), progress = m_progress](std::stop_token stop) {
    return searchFrontier(values, JobProgress::forCore(progress, std::move(stop)));
  });
  refresh();
}

void FrontierDialog::receive(const FrontierAnswerPtr& answer) {
  m_answer = answer;
  const QSignalBlocker quiet(m_gain);
  constexpr int kWithStep = 3;
  if (answer->hasStep && m_gain->count() < kWithStep) {
    m_gain->addItem(tr("Training step"));
  } else if (!answer->hasStep && m_gain->count() == kWithStep) {
    m_gain->removeItem(kWithStep - 1);
  }
  fill();
}

int FrontierDialog::chosen() const {
  const int row = m_table->selectedItems().isEmpty() ? -1 : m_table->currentRow();
  return row >= 0 && row < static_cast<int>(m_rows.size()) ? m_rows[static_cast<std::size_t>(row)] : -1;
}

void FrontierDialog::fill() {
  {
    const QSignalBlocker quiet(m_table);
    m_rows.clear();
    m_table->setRowCount(0);
    QStringList heads{tr("Network"), tr("Price"), tr("Watts"), tr("AllReduce, GB/s"), tr("AllToAll, GB/s")};
    if (m_answer && m_answer->hasStep) {
      heads << tr("Step, %1").arg(QLatin1StringView(m_answer->stepUnit.name));
    }
    setHeads(*m_table, heads, kNetwork);
    const std::size_t count = m_answer ? m_answer->frontier.points.size() : 0;
    for (std::size_t i = 0; i < count; ++i) {
      const workflow::FrontierPoint& point = m_answer->frontier.points[i];
      if (!point.isOnFront && !m_isAll->isChecked()) {
        continue;
      }
      const workflow::NetworkBounds& bounds = point.bounds;
      QStringList texts{QString::fromStdString(point.name) +
                            (point.preference == bom::Preference::watts ? u", "_s + tr("fewest watts") : QString()),
                        grouped(point.bill.total.price), grouped(point.bill.total.watts),
                        rangeText(bounds.allreduce, bounds.allreduceUpper),
                        rangeText(bounds.alltoall, bounds.alltoallUpper)};
      if (m_answer->hasStep) {
        texts << stepText(bounds, m_answer->stepUnit);
      }
      const int row = m_table->rowCount();
      m_table->setRowCount(row + 1);
      m_rows.push_back(static_cast<int>(i));
      for (int column = 0; column < texts.size(); ++column) {
        QTableWidgetItem& item = setCell(*m_table, row, column, texts[column], column != kNetwork);
        QFont font = column == kNetwork ? m_table->font() : item.font();
        font.setBold(point.isOnFront && m_isAll->isChecked());
        item.setFont(font);
      }
    }
    if (!m_rows.empty()) {
      m_table->selectRow(0);
    }
  }
  showChosen();
}

void FrontierDialog::choose(int point) {
  auto found = std::find(m_rows.begin(), m_rows.end(), point);
  if (found == m_rows.end()) {
    m_isAll->setChecked(true);
    found = std::find(m_rows.begin(), m_rows.end(), point);
  }
  m_table->selectRow(static_cast<int>(found - m_rows.begin()));
}

void FrontierDialog::showChosen() {
  const int point = chosen();
  m_chart->show(m_answer, static_cast<FrontierChart::Cost>(m_cost->currentIndex()),
                static_cast<FrontierChart::Gain>(m_gain->currentIndex()), point);
  m_bill->setText(point < 0
                      ? QString()
                      : billText(m_answer->frontier.points[static_cast<std::size_t>(point)].bill, m_answer->parts));
  refresh();
}

void FrontierDialog::refresh() {
  QString state;
  if (m_job.isRunning()) {
    state = tr("Pricing networks…");
  } else if (m_answer && !m_answer->problem.isEmpty()) {
    state = m_answer->problem;
  } else if (m_answer) {
    const workflow::Frontier& frontier = m_answer->frontier;
    state = tr("%1 in %2.")
                .arg(counted(static_cast<qsizetype>(frontier.variants), tr("network"), tr("networks")),
                     duration(m_answer->seconds));
    if (!frontier.notBuilt.empty()) {
      const workflow::NotBuilt& first = frontier.notBuilt.front();
      state += u' ' + tr("%1 cannot be built, such as %2: %3.")
                          .arg(frontier.notBuilt.size())
                          .arg(QString::fromStdString(first.name), QString::fromStdString(first.reason));
    }
    if (m_answer->isSample) {
      state += u' ' + tr("Prices are round numbers of the sample, of no maker or seller.");
    }
  }
  m_state->setText(state);
  m_state->setToolTip(state);
  m_stop->setEnabled(m_job.isRunning());
  m_bar->setVisible(m_job.isRunning());
  for (QPushButton* button : {m_open, m_saveBill, m_saveCables}) {
    button->setEnabled(chosen() >= 0);
  }
  if (m_job.isRunning()) {
    m_tick.start();
  } else {
    m_tick.stop();
  }
}

void FrontierDialog::open() {
  if (const int point = chosen(); point >= 0) {
    const workflow::FrontierPoint& each = m_answer->frontier.points[static_cast<std::size_t>(point)];
    Q_EMIT openWanted(each.description, QString::fromStdString(each.name));
  }
}

void FrontierDialog::save(bool areCables) {
  const int point = chosen();
  if (point < 0) {
    return;
  }
  const workflow::FrontierPoint& each = m_answer->frontier.points[static_cast<std::size_t>(point)];
  if (!areCables) {
    Q_EMIT saveWanted(u"bill.csv"_s, bom::billCsv(each.bill, m_answer->parts));
  } else if (const auto fabric = fabric::Fabric::build(each.description)) {
    Q_EMIT saveWanted(u"cables.csv"_s, bom::cableCsv(*fabric, each.bill, m_answer->parts));
  }
}

}  // namespace coppice::designer
