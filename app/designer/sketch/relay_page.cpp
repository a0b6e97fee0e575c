// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/sketch/relay_page.hpp"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QVBoxLayout>

#include "designer/sketch/sketch_edits.hpp"
#include "designer/theme/elided_combo_box.hpp"
#include "designer/theme/icons.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using sketch::Connections;
using sketch::Sketch;

namespace {

constexpr int kGap = 6;
constexpr int kLetters = 3;  // of a list, at least

void set(QTableWidget& table, int row, int column, const QString& text, bool isEditable) {
  auto* item = new QTableWidgetItem(text);
  item->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable | (isEditable ? Qt::ItemIsEditable : Qt::NoItemFlags));
  item->setToolTip(isEditable ? RelayPage::tr("Numbers of GPUs of a box, for example 0, 2-5") : text);
  table.setItem(row, column, item);
}

void setCheck(QTableWidget& table, int row, int column, bool isOn, const QString& what) {
  auto* item = new QTableWidgetItem;
  item->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsUserCheckable);
  item->setCheckState(isOn ? Qt::Checked : Qt::Unchecked);
  item->setData(Qt::AccessibleTextRole, what);
  table.setItem(row, column, item);
}

}  // namespace

RelayPage::RelayPage(QWidget* parent)
    : QWidget(parent),
      m_connections(new ElidedComboBox(kLetters, this)),
      m_rule(new ElidedComboBox(kLetters, this)),
      m_blocks(new QLineEdit(this)),
      m_ownFirst(new QCheckBox(tr("Own first"), this)),
      m_point(new QToolButton(this)),
      m_senders(new QToolButton(this)),
      m_receivers(new QToolButton(this)),
      m_table(new QTableWidget(0, kColumns, this)) {
  m_connections->setObjectName(u"sketchConnections"_s);
  m_connections->setAccessibleName(tr("Links between boxes"));
  m_connections->addItem(tr("Chosen relays"), static_cast<int>(Connections::listed));
  m_connections->addItem(tr("Counterparts"), static_cast<int>(Connections::directMap));
  m_connections->addItem(tr("All to all"), static_cast<int>(Connections::fullyConnected));
  m_connections->setToolTip(tr("internode_conn: which GPUs send to which GPUs of other boxes"));
  m_rule->setObjectName(u"sketchRelayRule"_s);
  m_rule->setAccessibleName(tr("Which sender relays which data"));
  m_rule->addItem(tr("By any sender"), static_cast<int>(RelayRule::any));
  m_rule->addItem(tr("By own sender"), static_cast<int>(RelayRule::listed));
  m_rule->addItem(tr("By block"), static_cast<int>(RelayRule::blocks));
  m_rule->setToolTip(tr(
      "By which sender the data of a GPU leaves its box: any, the one that lists it (gpus_to_sender_rev_map), or one "
      "for each block of GPUs (chunk_to_relay_map)"));
  m_blocks->setObjectName(u"sketchBlocks"_s);
  m_blocks->setAccessibleName(tr("Size of a block, and its sender"));
  m_blocks->setToolTip(tr("chunk_to_relay_map: r1, r2; the data of GPU p leaves by GPU p / r1 × r1 + r2"));
  m_blocks->setPlaceholderText(u"2, 1"_s);
  constexpr int kBlocksWidth = 64;
  m_blocks->setFixedWidth(kBlocksWidth);
  m_point->setObjectName(u"sketchPoint"_s);
  m_point->setIcon(icon(u"link"_s));
  m_point->setCheckable(true);
  m_point->setAccessibleName(tr("Draw Relays"));
  m_point->setToolTip(
      tr("Draw Relays: drag on the drawing from a GPU to one of another box, which receives from it, or to a sender of "
         "its box, which relays its data"));
  m_ownFirst->setObjectName(u"sketchOwnFirst"_s);
  m_ownFirst->setToolTip(tr("enforce_ordering: a sender's own data leaves before the data that it relays"));
  m_senders->setObjectName(u"sketchMakeSenders"_s);
  m_senders->setIcon(icon(u"arrow-up"_s));
  m_senders->setAccessibleName(tr("Make Senders"));
  m_senders->setToolTip(tr("Make Senders: the GPUs that are selected on the drawing, in every box"));
  m_receivers->setObjectName(u"sketchMakeReceivers"_s);
  m_receivers->setIcon(icon(u"arrow-down"_s));
  m_receivers->setAccessibleName(tr("Make Receivers"));
  m_receivers->setToolTip(tr("Make Receivers: the GPUs that are selected on the drawing, in every box"));
  m_table->setObjectName(u"sketchRelays"_s);
  m_table->setAccessibleName(tr("GPUs of a box"));
  m_table->setHorizontalHeaderLabels({tr("GPU"), tr("Sends"), tr("Receives"), tr("To"), tr("Data of"), tr("Split")});
  m_table->horizontalHeaderItem(kGpu)->setToolTip(tr("Its number within a box, and its name in the first box"));
  m_table->horizontalHeaderItem(kTo)->setToolTip(tr("GPUs of other boxes that it sends to"));
  m_table->horizontalHeaderItem(kOwners)->setToolTip(tr("GPUs of its box whose data it sends; empty: any"));
  m_table->horizontalHeaderItem(kShare)->setToolTip(
      tr("beta_split: its links have 1/n of the bandwidth of a NIC; empty: all links between boxes share the NICs"));
  m_table->verticalHeader()->hide();
  m_table->setShowGrid(false);
  m_table->setFrameShape(QFrame::NoFrame);
  m_table->setWordWrap(false);
  m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
  constexpr int kRowHeight = 24;
  m_table->verticalHeader()->setMinimumSectionSize(kRowHeight);
  m_table->verticalHeader()->setDefaultSectionSize(kRowHeight);
  QHeaderView* header = m_table->horizontalHeader();
  header->setHighlightSections(false);
  header->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  header->setSectionResizeMode(kOwners, QHeaderView::Stretch);
  constexpr int kNameWidth = 88;
  constexpr int kCheckWidth = 60;
  constexpr int kWideWidth = 78;
  constexpr int kShareWidth = 52;
  header->resizeSection(kShare, kShareWidth);
  header->resizeSection(kGpu, kNameWidth);
  header->resizeSection(kSends, kCheckWidth);
  header->resizeSection(kReceives, kWideWidth);
  header->resizeSection(kTo, kCheckWidth);

  layOut();
  connectFields();
}

void RelayPage::layOut() {
  auto* first = new QHBoxLayout;
  first->setSpacing(kGap);
  first->addWidget(m_point);
  first->addWidget(m_senders);
  first->addWidget(m_receivers);
  first->addWidget(m_connections, 1);
  first->addWidget(m_rule, 1);
  first->addWidget(m_blocks);
  first->addWidget(m_ownFirst);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, kGap, 0, 0);
  layout->setSpacing(kGap);
  layout->addLayout(first);
  layout->addWidget(m_table, 1);
}

void RelayPage::connectFields() {
  connect(m_senders, &QToolButton::clicked, this, &RelayPage::sendersWanted);
  connect(m_receivers, &QToolButton::clicked, this, &RelayPage::receiversWanted);
  connect(m_point, &QToolButton::clicked, this, &RelayPage::pointingWanted);
  connect(m_table, &QTableWidget::itemChanged, this, [this](const QTableWidgetItem* item) {
    if (!m_isFilling) {
      take(item);
    }
  });
  connect(m_connections, &QComboBox::activated, this, [this] {
    if (m_desk != nullptr) {
      const auto connections = static_cast<Connections>(m_connections->currentData().toInt());
      m_desk->edit([&](Sketch& sketch) { setConnections(sketch, m_desk->gpusPerNode(), connections); });
    }
  });
  connect(m_rule, &QComboBox::activated, this, [this] {
    if (m_desk != nullptr) {
      const auto rule = static_cast<RelayRule>(m_rule->currentData().toInt());
      m_desk->edit([&](Sketch& sketch) { setRelayRule(sketch, m_desk->gpusPerNode(), rule); });
    }
  });
  connect(m_blocks, &QLineEdit::editingFinished, this, &RelayPage::takeBlocks);
  connect(m_ownFirst, &QCheckBox::clicked, this, [this](bool isOn) {
    if (m_desk != nullptr) {
      m_desk->edit([&](Sketch& sketch) {
        if (sketch.remote) {
          sketch.remote->enforceOrdering = isOn;
        }
      });
    }
  });
}

void RelayPage::setDesk(SketchDesk* desk) {
  m_desk = desk;
  fill();
}

void RelayPage::fill() {
  const Sketch* sketch = m_desk != nullptr ? m_desk->current() : nullptr;
  const bool hasRelays = sketch != nullptr && sketch->remote.has_value();
  setEnabled(sketch != nullptr);
  for (QWidget* widget :
       std::initializer_list<QWidget*>{m_connections, m_rule, m_blocks, m_ownFirst, m_senders, m_receivers, m_point}) {
    widget->setEnabled(hasRelays);
  }
  m_isFilling = true;
  const int gpus = hasRelays ? m_desk->gpusPerNode() : 0;
  if (m_table->rowCount() != gpus) {
    m_table->setRowCount(gpus);
  }
  if (hasRelays) {
    m_connections->setCurrentIndex(m_connections->findData(static_cast<int>(sketch->remote->connections)));
    const auto receivers = receiversBySender(*sketch, gpus);
    const auto owners = ownersBySender(*sketch, gpus);
    const auto receiving = receiversOf(*sketch, gpus);
    const RelayRule rule = relayRuleOf(*sketch);
    m_rule->setCurrentIndex(m_rule->findData(static_cast<int>(rule)));
    m_blocks->setVisible(rule == RelayRule::blocks);
    if (const auto& blocks = sketch->remote->chunkToRelay; blocks && !m_blocks->hasFocus()) {
      m_blocks->setText(u"%1, %2"_s.arg(blocks->first).arg(blocks->second));
    }
    m_ownFirst->setChecked(sketch->remote->enforceOrdering);
    for (int gpu = 0; gpu < gpus; ++gpu) {
      fillRow(gpu, m_desk->nameOf(gpu), receivers, owners, receiving);
    }
  }
  m_isFilling = false;
}

void RelayPage::fillRow(int row, const QString& name, const std::map<int, std::vector<int>>& receivers,
                        const std::map<int, std::vector<int>>& owners, const std::set<int>& receiving) {
  const auto sends = receivers.find(row);
  const auto owned = owners.find(row);
  const bool isSender = sends != receivers.end();
  set(*m_table, row, kGpu, u"%1  %2"_s.arg(row).arg(name), false);
  setCheck(*m_table, row, kSends, isSender, tr("GPU %1 sends to other boxes").arg(row));
  setCheck(*m_table, row, kReceives, receiving.contains(row), tr("GPU %1 receives from other boxes").arg(row));
  set(*m_table, row, kTo, isSender ? numbersText(sends->second) : QString(), isSender);
  set(*m_table, row, kOwners,
      owned != owners.end() ? numbersText(owned->second)
      : isSender            ? (owners.empty() ? tr("any") : QString())
                            : QString(),
      isSender || owned != owners.end());
  const auto& shares = m_desk->current()->remote->betaSplit;
  const auto share = shares.find(row);
  set(*m_table, row, kShare, share != shares.end() ? QString::fromStdString(share->second.toString()) : QString(),
      isSender || share != shares.end());
  m_table->item(row, kShare)->setToolTip(m_table->horizontalHeaderItem(kShare)->toolTip());
}

void RelayPage::take(const QTableWidgetItem* item) {
  if (m_desk == nullptr || m_desk->current() == nullptr) {
    return;
  }
  const int gpu = item->row();
  const int gpus = m_desk->gpusPerNode();
  std::set<int> senders = sendersOf(*m_desk->current(), gpus);
  std::set<int> receivers = receiversOf(*m_desk->current(), gpus);
  if (item->column() == kSends || item->column() == kReceives) {
    std::set<int>& changed = item->column() == kSends ? senders : receivers;
    if (item->checkState() == Qt::Checked) {
      changed.insert(gpu);
    } else if (changed.size() == 1 && changed.contains(gpu)) {
      Q_EMIT refused(item->column() == kSends ? tr("A box needs a sender. Check another GPU first.")
                                              : tr("A box needs a receiver. Check another GPU first."));
    } else {
      changed.erase(gpu);
    }
    m_desk->edit([&](Sketch& sketch) { joinRelays(sketch, gpus, senders, receivers); });
  } else {
    takeText(gpu, item->column(), item->text().trimmed());
  }
  // The row says what the sketch has, also where nothing changed.
  QMetaObject::invokeMethod(this, &RelayPage::fill, Qt::QueuedConnection);
}

void RelayPage::takeText(int gpu, int column, const QString& text) {
  const int gpus = m_desk->gpusPerNode();
  if (column == kShare) {
    const auto share = Rational::parse(text.toStdString());
    if (!text.isEmpty() && (!share || !share->isPositive())) {
      Q_EMIT refused(tr("“%1” is not a valid share. Enter how many links share a NIC, for example 2.").arg(text));
    } else {
      m_desk->edit([&](Sketch& sketch) {
        setShare(sketch, gpu, text.isEmpty() ? std::nullopt : std::optional<Rational>(*share));
      });
    }
    return;
  }
  const bool isAny = column == kOwners && text == tr("any");
  const auto numbers = isAny ? std::vector<int>() : parseNumbers(text);
  if (!numbers) {
    Q_EMIT refused(tr("“%1” is not a list of GPUs. Enter numbers, for example 0, 2-5.").arg(text));
  } else if (column == kTo) {
    m_desk->edit([&](Sketch& sketch) { setReceivers(sketch, gpus, gpu, *numbers); });
  } else if (column == kOwners) {
    m_desk->edit([&](Sketch& sketch) { setOwners(sketch, gpus, gpu, *numbers); });
  }
}

void RelayPage::takeBlocks() {
  if (m_desk == nullptr || m_desk->current() == nullptr || !m_blocks->isModified()) {
    return;
  }
  m_blocks->setModified(false);
  const QStringList parts = m_blocks->text().split(u',');
  bool isSize = false;
  bool isSender = false;
  const int size = parts.front().trimmed().toInt(&isSize);
  const int sender = parts.back().trimmed().toInt(&isSender);
  if (parts.size() != 2 || !isSize || !isSender) {
    Q_EMIT refused(
        tr("“%1” is not a valid rule. Enter the block size and the sender, for example 2, 1.").arg(m_blocks->text()));
    return;
  }
  m_desk->edit([&](Sketch& sketch) {
    if (sketch.remote) {
      sketch.remote->chunkToRelay = std::pair(size, sender);
    }
  });
}

void RelayPage::setPointing(bool isPointing) {
  m_point->setChecked(isPointing);
}

void RelayPage::setSelected(const std::set<int>& gpus) {
  const QSignalBlocker quiet(m_table->selectionModel());
  m_table->clearSelection();
  QItemSelection rows;
  for (const int gpu : gpus) {
    if (gpu < m_table->rowCount()) {
      rows.select(m_table->model()->index(gpu, 0), m_table->model()->index(gpu, kColumns - 1));
    }
  }
  m_table->selectionModel()->select(rows, QItemSelectionModel::ClearAndSelect);
  m_table->viewport()->update();
}

}  // namespace coppice::designer
