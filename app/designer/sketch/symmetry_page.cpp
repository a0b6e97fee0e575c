// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/sketch/symmetry_page.hpp"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "designer/document/counted.hpp"
#include "designer/theme/swatch.hpp"
#include "designer/theme/theme.hpp"
#include "sketch/propose.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using sketch::Sketch;

namespace {

constexpr int kSymmetryGap = 6;

enum Column { kOffset, kGroup, kVerdict, kColumns };

}  // namespace

SymmetryPage::SymmetryPage(QWidget* parent)
    : QWidget(parent),
      m_find(new QPushButton(tr("Find"), this)),
      m_add(new QPushButton(tr("Add"), this)),
      m_remove(new QPushButton(tr("Remove"), this)),
      m_offsets(new QTableWidget(0, kColumns, this)),
      m_orbitsLabel(new QLabel(this)),
      m_list(new QListWidget(this)) {
  m_find->setObjectName(u"sketchFindOffsets"_s);
  m_find->setToolTip(tr("Find the rotations that preserve links, costs, ports and relays"));
  m_add->setObjectName(u"sketchAddOffset"_s);
  m_add->setToolTip(tr("Add an offset"));
  m_remove->setObjectName(u"sketchRemoveOffset"_s);
  m_remove->setToolTip(tr("Remove the chosen offset"));
  m_offsets->setObjectName(u"sketchOffsets"_s);
  m_offsets->setAccessibleName(tr("Symmetry offsets"));
  m_offsets->setHorizontalHeaderLabels({tr("Offset"), tr("Group"), tr("Symmetric")});
  m_offsets->horizontalHeaderItem(kOffset)->setToolTip(
      tr("GPU r of a group becomes r + offset, counted around the group"));
  m_offsets->horizontalHeaderItem(kGroup)->setToolTip(tr("GPUs of a group; it divides the number of GPUs"));
  m_offsets->verticalHeader()->hide();
  m_offsets->setShowGrid(false);
  m_offsets->setFrameShape(QFrame::NoFrame);
  m_offsets->setSelectionBehavior(QAbstractItemView::SelectRows);
  m_offsets->setSelectionMode(QAbstractItemView::SingleSelection);
  constexpr int kRowHeight = 24;
  m_offsets->verticalHeader()->setMinimumSectionSize(kRowHeight);
  m_offsets->verticalHeader()->setDefaultSectionSize(kRowHeight);
  QHeaderView* header = m_offsets->horizontalHeader();
  header->setHighlightSections(false);
  header->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  header->setStretchLastSection(true);
  constexpr int kNumberWidth = 58;
  header->resizeSection(kOffset, kNumberWidth);
  header->resizeSection(kGroup, kNumberWidth);
  m_orbitsLabel->setObjectName(u"sketchOrbitCount"_s);
  m_orbitsLabel->setProperty("role", u"muted"_s);
  m_list->setObjectName(u"sketchOrbits"_s);
  m_list->setAccessibleName(tr("Orbits"));
  m_list->setToolTip(tr("GPUs that the offsets map to each other. Choose an orbit to see it on the drawing."));
  m_list->setFrameShape(QFrame::NoFrame);
  m_list->setUniformItemSizes(true);

  auto* line = new QHBoxLayout;
  line->setSpacing(kSymmetryGap);
  line->addWidget(m_find);
  line->addWidget(m_add);
  line->addWidget(m_remove);
  line->addStretch(1);
  auto* left = new QVBoxLayout;
  left->setSpacing(kSymmetryGap);
  left->addLayout(line);
  left->addWidget(m_offsets, 1);
  auto* right = new QVBoxLayout;
  right->setSpacing(kSymmetryGap);
  right->addWidget(m_orbitsLabel);
  right->addWidget(m_list, 1);
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(0, kSymmetryGap, 0, 0);
  layout->addLayout(left, 1);
  layout->addLayout(right, 1);

  connect(m_find, &QPushButton::clicked, this, [this] {
    if (m_desk != nullptr) {
      m_desk->findOffsets();
    }
  });
  connect(m_add, &QPushButton::clicked, this, [this] {
    if (m_desk != nullptr && m_desk->lastFit()) {
      const sketch::Model& model = m_desk->lastFit()->fit.model;
      m_desk->edit([&](Sketch& sketch) { sketch.symmetryOffsets.emplace_back(1, model.gpusPerNode); });
    }
  });
  connect(m_remove, &QPushButton::clicked, this, [this] {
    const int row = m_offsets->currentRow();
    if (m_desk != nullptr && row >= 0) {
      m_desk->edit([&](Sketch& sketch) { sketch.symmetryOffsets.erase(sketch.symmetryOffsets.begin() + row); });
    }
  });
  connect(m_offsets, &QTableWidget::itemChanged, this, [this](const QTableWidgetItem* item) {
    if (!m_isFilling) {
      take(item->row());
    }
  });
  connect(m_offsets, &QTableWidget::itemSelectionChanged, this,
          [this] { m_remove->setEnabled(m_offsets->currentRow() >= 0); });
  connect(m_list, &QListWidget::itemSelectionChanged, this, [this] {
    if (!m_isFilling) {
      Q_EMIT orbitChosen();
    }
  });
  connect(&Theme::instance(), &Theme::changed, this, &SymmetryPage::fillOrbits);
}

void SymmetryPage::setDesk(SketchDesk* desk) {
  m_followed.clear();
  m_desk = desk;
  if (desk != nullptr) {
    m_followed.connect(desk, &SketchDesk::noOffsets, [this] {
      Q_EMIT refused(
          tr("No rotation preserves links, costs, ports and relays. Choose relays that match in all parts."));
    });
  }
  fill();
}

void SymmetryPage::fill() {
  setEnabled(m_desk != nullptr && m_desk->current() != nullptr);
  fillOffsets();
  fillOrbits();
}

void SymmetryPage::fillOffsets() {
  const Sketch* sketch = m_desk != nullptr ? m_desk->current() : nullptr;
  m_isFilling = true;
  m_offsets->setRowCount(sketch != nullptr ? static_cast<int>(sketch->symmetryOffsets.size()) : 0);
  for (int row = 0; row < m_offsets->rowCount(); ++row) {
    const auto [offset, size] = sketch->symmetryOffsets[row];
    m_offsets->setItem(row, kOffset, new QTableWidgetItem(QString::number(offset)));
    m_offsets->setItem(row, kGroup, new QTableWidgetItem(QString::number(size)));
    QString verdict;
    const auto& fit = m_desk->fit();
    if (fit && static_cast<std::size_t>(row) < fit->differences.size()) {
      const std::string& difference = fit->differences[row];
      verdict = difference.empty() ? tr("yes") : tr("no: %1").arg(QString::fromStdString(difference));
    }
    auto* item = new QTableWidgetItem(verdict);
    item->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable);
    item->setToolTip(verdict);
    m_offsets->setItem(row, kVerdict, item);
  }
  m_remove->setEnabled(m_offsets->currentRow() >= 0);
  m_isFilling = false;
}

void SymmetryPage::fillOrbits() {
  const int before = orbit();
  m_isFilling = true;
  m_orbits.clear();
  if (m_desk != nullptr && m_desk->fit()) {
    const sketch::Model& model = m_desk->fit()->fit.model;
    m_orbits = sketch::orbitsOf(model.gpus(), model.offsets);
  }
  m_list->clear();
  for (std::size_t i = 0; i < m_orbits.size(); ++i) {
    QStringList names;
    for (const int gpu : m_orbits[i]) {
      names << m_desk->nameOf(gpu);
    }
    auto* item = new QListWidgetItem(swatch(static_cast<int>(i)), names.join(u", "_s), m_list);
    item->setToolTip(tr("Orbit %1: %2").arg(i + 1).arg(names.join(u", "_s)));
  }
  m_orbitsLabel->setText(m_orbits.empty()
                             ? tr("No orbits yet")
                             : counted(static_cast<qsizetype>(m_orbits.size()), tr("orbit"), tr("orbits")));
  m_list->setCurrentRow(before < static_cast<int>(m_orbits.size()) ? before : -1);
  m_isFilling = false;
}

int SymmetryPage::orbit() const {
  return m_list->selectedItems().isEmpty() ? -1 : m_list->currentRow();
}

void SymmetryPage::chooseOrbitOf(int gpu) {
  int found = -1;
  for (std::size_t i = 0; i < m_orbits.size(); ++i) {
    if (std::find(m_orbits[i].begin(), m_orbits[i].end(), gpu) != m_orbits[i].end()) {
      found = static_cast<int>(i);
    }
  }
  if (found == orbit()) {
    return;
  }
  m_isFilling = true;
  m_list->setCurrentRow(found);
  if (found < 0) {
    m_list->clearSelection();
  }
  m_isFilling = false;
  Q_EMIT orbitChosen();
}

void SymmetryPage::take(int row) {
  bool isOffset = false;
  bool isSize = false;
  const int offset = m_offsets->item(row, kOffset)->text().toInt(&isOffset);
  const int size = m_offsets->item(row, kGroup)->text().toInt(&isSize);
  if (!isOffset || !isSize) {
    Q_EMIT refused(tr("An offset and its group are whole numbers, for example 2 and 16."));
  } else if (m_desk != nullptr) {
    m_desk->edit([&](Sketch& sketch) { sketch.symmetryOffsets[row] = {offset, size}; });
  }
  QMetaObject::invokeMethod(this, &SymmetryPage::fill, Qt::QueuedConnection);
}

}  // namespace coppice::designer
