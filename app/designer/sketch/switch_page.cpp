// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/sketch/switch_page.hpp"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QVBoxLayout>
#include <algorithm>

#include "designer/sketch/sketch_edits.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using sketch::LocalStrategy;
using sketch::Sketch;

namespace {

constexpr int kSwitchGap = 6;

enum Column { kSwitch, kGpus, kPolicy, kColumns };

}  // namespace

SwitchPage::SwitchPage(QWidget* parent)
    : QWidget(parent),
      m_strategy(new QComboBox(this)),
      m_add(new QPushButton(tr("Add From Selection"), this)),
      m_remove(new QPushButton(tr("Remove"), this)),
      m_table(new QTableWidget(0, kColumns, this)),
      m_hint(new QLabel(tr("No switches: each link is used on its own. Select GPUs of one box on the drawing to add a "
                           "switch that they share."),
                        this)) {
  m_strategy->setObjectName(u"sketchStrategy"_s);
  m_strategy->setAccessibleName(tr("Links within a box"));
  m_strategy->setToolTip(tr("strategy of intranode_sketch"));
  m_strategy->addItem(tr("Links as they are"), static_cast<int>(LocalStrategy::none));
  m_strategy->addItem(tr("Switches with ports"), static_cast<int>(LocalStrategy::switchPorts));
  m_strategy->addItem(tr("Smallest maximum load"), static_cast<int>(LocalStrategy::minmax));
  m_strategy->addItem(tr("Largest minimum load"), static_cast<int>(LocalStrategy::maxmin));
  m_add->setObjectName(u"sketchAddSwitch"_s);
  m_add->setToolTip(tr("The GPUs that are selected on the drawing share a switch in every box"));
  m_remove->setObjectName(u"sketchRemoveSwitch"_s);
  m_table->setObjectName(u"sketchSwitches"_s);
  m_table->setAccessibleName(tr("Switches of a box"));
  m_table->setHorizontalHeaderLabels({tr("Switch"), tr("GPUs"), tr("Policy")});
  m_table->horizontalHeaderItem(kPolicy)->setToolTip(
      tr("uc-max: many connections; uc-min: few; freeuc: no preference. The search follows the first switch."));
  m_table->verticalHeader()->hide();
  m_table->setShowGrid(false);
  m_table->setFrameShape(QFrame::NoFrame);
  m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
  m_table->setSelectionMode(QAbstractItemView::SingleSelection);
  constexpr int kRowHeight = 34;
  m_table->verticalHeader()->setDefaultSectionSize(kRowHeight);
  QHeaderView* header = m_table->horizontalHeader();
  header->setHighlightSections(false);
  header->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  header->setSectionResizeMode(kGpus, QHeaderView::Stretch);
  constexpr int kSwitchWidth = 70;
  constexpr int kPolicyWidth = 120;
  header->resizeSection(kSwitch, kSwitchWidth);
  header->resizeSection(kPolicy, kPolicyWidth);

  auto* line = new QHBoxLayout;
  line->setSpacing(kSwitchGap);
  line->addWidget(m_strategy);
  line->addWidget(m_add);
  line->addWidget(m_remove);
  line->addStretch(1);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, kSwitchGap, 0, 0);
  layout->setSpacing(kSwitchGap);
  layout->addLayout(line);
  m_hint->setObjectName(u"sketchNoSwitches"_s);
  m_hint->setWordWrap(true);
  m_hint->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  layout->addWidget(m_table, 1);
  layout->addWidget(m_hint, 1);

  connect(m_strategy, &QComboBox::activated, this, [this] {
    if (m_desk != nullptr) {
      const auto strategy = static_cast<LocalStrategy>(m_strategy->currentData().toInt());
      m_desk->edit([&](Sketch& sketch) {
        sketch.local = strategy;
        if (strategy == LocalStrategy::switchPorts && sketch.switches.empty()) {
          std::vector<int> all;
          for (int gpu = 0; gpu < m_desk->gpusPerNode(); ++gpu) {
            all.push_back(gpu);
          }
          addSwitch(sketch, std::move(all));
        }
      });
    }
  });
  connect(m_add, &QPushButton::clicked, this, &SwitchPage::switchWanted);
  connect(m_remove, &QPushButton::clicked, this, [this] {
    const int row = chosen();
    if (m_desk != nullptr && row >= 0) {
      m_desk->edit([&](Sketch& sketch) { removeSwitch(sketch, static_cast<std::size_t>(row)); });
    }
  });
  connect(m_table, &QTableWidget::itemChanged, this, [this](const QTableWidgetItem* item) {
    if (!m_isFilling && item->column() == kGpus) {
      take(item->row(), item->text());
    }
  });
  connect(m_table, &QTableWidget::itemSelectionChanged, this, [this] {
    m_remove->setEnabled(chosen() >= 0);
    if (!m_isFilling) {
      Q_EMIT switchChosen();
    }
  });
}

int SwitchPage::chosen() const {
  return m_table->selectionModel()->hasSelection() ? m_table->currentRow() : -1;
}

void SwitchPage::setDesk(SketchDesk* desk) {
  m_desk = desk;
  fill();
}

void SwitchPage::fill() {
  const Sketch* sketch = m_desk != nullptr ? m_desk->current() : nullptr;
  setEnabled(sketch != nullptr);
  m_isFilling = true;
  m_table->setRowCount(sketch != nullptr ? static_cast<int>(sketch->switches.size()) : 0);
  if (sketch != nullptr) {
    m_strategy->setCurrentIndex(m_strategy->findData(static_cast<int>(sketch->local)));
  }
  for (int row = 0; row < m_table->rowCount(); ++row) {
    const auto at = static_cast<std::size_t>(row);
    auto* number = new QTableWidgetItem(QString::number(row));
    number->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable);
    m_table->setItem(row, kSwitch, number);
    auto* gpus = new QTableWidgetItem(numbersText(sketch->switches[at]));
    gpus->setToolTip(tr("Numbers of GPUs of a box, for example 0, 2-5"));
    m_table->setItem(row, kGpus, gpus);
    addPolicyBox(row, at < sketch->policies.size() ? sketch->policies[at] : std::string());
  }
  m_table->setVisible(m_table->rowCount() > 0);
  m_hint->setVisible(m_table->rowCount() == 0);
  m_remove->setEnabled(chosen() >= 0);
  m_isFilling = false;
}

void SwitchPage::addPolicyBox(int row, const std::string& policy) {
  auto* box = qobject_cast<QComboBox*>(m_table->cellWidget(row, kPolicy));
  if (box == nullptr) {
    box = new QComboBox(m_table);
    box->setObjectName(u"sketchPolicy%1"_s.arg(row));
    box->setAccessibleName(tr("Policy of switch %1").arg(row));
    box->addItems({u"uc-max"_s, u"uc-min"_s, u"freeuc"_s});
    connect(box, &QComboBox::textActivated, this, [this, row](const QString& text) {
      if (m_desk != nullptr) {
        m_desk->edit([&](Sketch& sketch) {
          sketch.policies.resize(std::max(sketch.policies.size(), sketch.switches.size()), "freeuc");
          sketch.policies[row] = text.toStdString();
        });
      }
    });
    m_table->setCellWidget(row, kPolicy, box);
  }
  // Any other word is a free policy, and is kept as it is written.
  const QString text = QString::fromStdString(policy);
  constexpr int kKnown = 3;
  while (box->count() > kKnown) {
    box->removeItem(kKnown);
  }
  if (!text.isEmpty() && box->findText(text) < 0) {
    box->addItem(text);
  }
  box->setCurrentIndex(box->findText(text));
}

void SwitchPage::take(int row, const QString& text) {
  const auto gpus = parseNumbers(text);
  if (!gpus) {
    Q_EMIT refused(tr("“%1” is not a list of GPUs. Enter numbers, for example 0, 2-5.").arg(text));
  } else if (m_desk != nullptr) {
    m_desk->edit([&](Sketch& sketch) { sketch.switches[row] = *gpus; });
  }
  QMetaObject::invokeMethod(this, &SwitchPage::fill, Qt::QueuedConnection);
}

}  // namespace coppice::designer
