// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/search/table_editor.hpp"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QSignalBlocker>
#include <QVBoxLayout>
#include <span>
#include <utility>

#include "designer/document/counted.hpp"
#include "designer/document/error_text.hpp"
#include "designer/theme/style.hpp"
#include "io/collective_file.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr int kFirstRows = 4;

QString namesOf(const fabric::Fabric& fabric, std::span<const fabric::Rank> ranks) {
  QStringList names;
  for (const fabric::Rank rank : ranks) {
    const fabric::NodeIndex node = fabric.gpus()[rank];
    names << QString::fromStdString(fabric.nodes()[node].id);
  }
  return names.join(u' ');
}

}  // namespace

TableEditor::TableEditor(fabric::Fabric fabric, const std::optional<workflow::TableText>& table, QWidget* parent)
    : QDialog(parent),
      m_fabric(std::move(fabric)),
      m_rows(new QTableWidget(0, kColumns, this)),
      m_state(new QLabel(this)),
      m_remove(new QPushButton(tr("Remove Row"), this)),
      m_accept(new QPushButton(tr("Use Table"), this)) {
  setObjectName(u"tableEditor"_s);
  setWindowTitle(tr("Custom Collective"));
  auto* help = new QLabel(tr("One row per chunk; all chunks are of equal size. GPUs by name or rank, separated by "
                             "spaces. Several GPUs under From hold the same data."),
                          this);
  help->setWordWrap(true);
  help->setProperty("role", u"muted"_s);
  m_rows->setObjectName(u"tableRows"_s);
  m_rows->setAccessibleName(tr("Chunks"));
  m_rows->setHorizontalHeaderLabels({tr("From"), tr("To")});
  m_rows->horizontalHeader()->setSectionResizeMode(QHeaderView::Stretch);
  m_rows->setSelectionMode(QAbstractItemView::SingleSelection);
  m_state->setObjectName(u"tableState"_s);
  m_state->setWordWrap(true);
  auto* add = new QPushButton(tr("Add Row"), this);
  add->setObjectName(u"tableAdd"_s);
  m_remove->setObjectName(u"tableRemove"_s);
  m_accept->setObjectName(u"tableAccept"_s);
  m_accept->setDefault(true);
  auto* close = new QPushButton(tr("Cancel"), this);
  for (QPushButton* button : {add, m_remove, close}) {
    button->setAutoDefault(false);
  }
  auto* buttons = new QHBoxLayout;
  buttons->addWidget(add);
  buttons->addWidget(m_remove);
  buttons->addStretch(1);
  buttons->addWidget(close);
  buttons->addWidget(m_accept);
  auto* layout = new QVBoxLayout(this);
  constexpr int kMargin = 16;
  layout->setContentsMargins(kMargin, kMargin, kMargin, kMargin);
  layout->addWidget(help);
  layout->addWidget(m_rows, 1);
  layout->addWidget(m_state);
  layout->addLayout(buttons);
  constexpr QSize kSize(560, 420);
  resize(kSize);

  if (table) {
    if (const auto read = io::readCollectiveTable(table->text, table->fileName, m_fabric)) {
      fill(*read);
    }
  }
  while (m_rows->rowCount() < kFirstRows) {
    addRow({}, {});
  }
  connect(m_rows, &QTableWidget::cellChanged, this, &TableEditor::judge);
  connect(m_rows, &QTableWidget::currentCellChanged, this, [this] { m_remove->setEnabled(m_rows->currentRow() >= 0); });
  connect(add, &QPushButton::clicked, this, [this] {
    addRow({}, {});
    m_rows->setCurrentCell(m_rows->rowCount() - 1, kFrom);
    m_rows->editItem(m_rows->currentItem());
  });
  connect(m_remove, &QPushButton::clicked, this, &TableEditor::removeRow);
  connect(close, &QPushButton::clicked, this, &QDialog::reject);
  connect(m_accept, &QPushButton::clicked, this, &QDialog::accept);
  m_remove->setEnabled(false);
  judge();
}

void TableEditor::fill(const schedule::CollectiveTable& table) {
  for (std::int64_t shard = 0; shard < table.shardCount(); ++shard) {
    addRow(namesOf(m_fabric, table.sources(shard)), namesOf(m_fabric, table.destinations(shard)));
  }
}

void TableEditor::addRow(const QString& from, const QString& to) {
  const QSignalBlocker quiet(m_rows);
  const int row = m_rows->rowCount();
  m_rows->insertRow(row);
  m_rows->setItem(row, kFrom, new QTableWidgetItem(from));
  m_rows->setItem(row, kTo, new QTableWidgetItem(to));
}

void TableEditor::removeRow() {
  if (m_rows->currentRow() >= 0) {
    m_rows->removeRow(m_rows->currentRow());
    judge();
  }
}

QString TableEditor::cell(int row, int column) const {
  // A comma would begin another cell of the file.
  const QTableWidgetItem* item = m_rows->item(row, column);
  return item != nullptr ? item->text().replace(u',', u' ').simplified() : QString();
}

workflow::TableText TableEditor::table() const {
  QString text = u"sources,destinations\n"_s;
  for (int row = 0; row < m_rows->rowCount(); ++row) {
    const QString from = cell(row, kFrom);
    const QString to = cell(row, kTo);
    // A row without text keeps its line, so that a message can name the row.
    text += from.isEmpty() && to.isEmpty() ? u"\n"_s : u"%1,%2\n"_s.arg(from, to);
  }
  return {text.toStdString(), tr("table").toStdString()};
}

void TableEditor::judge() {
  const workflow::TableText text = table();
  bool isEmpty = true;
  for (int row = 0; row < m_rows->rowCount(); ++row) {
    isEmpty = isEmpty && cell(row, kFrom).isEmpty() && cell(row, kTo).isEmpty();
  }
  const auto read = io::readCollectiveTable(text.text, text.fileName, m_fabric);
  m_fault = read ? std::nullopt : std::optional(read.error());
  if (isEmpty) {
    // Nothing is wrong before anything is typed.
    m_state->setText(tr("Name the GPUs that hold a chunk, and those that need it."));
  } else if (read) {
    m_state->setText(tr("%1.").arg(counted(read->shardCount(), tr("chunk"), tr("chunks"))));
  } else {
    const int row = m_fault->where.line - 1;
    m_state->setText(row >= 1 ? tr("Row %1: %2").arg(row).arg(sentence(*m_fault)) : sentence(*m_fault));
  }
  setRole(m_state, read || isEmpty ? u"muted"_s : u"error"_s);
  m_accept->setEnabled(read.hasValue());
}

}  // namespace coppice::designer
