// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/features/report/cables_dialog.hpp"

#include <QClipboard>
#include <QGuiApplication>
#include <QHeaderView>
#include <QPushButton>
#include <QSortFilterProxyModel>
#include <QVBoxLayout>
#include <map>
#include <string>
#include <utility>

#include "designer/document/counted.hpp"
#include "designer/document/error_text.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/panel_widgets.hpp"
#include "fabric/fabric.hpp"
#include "patch/plan.hpp"
#include "workflow/guarded.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr int kCables = 0;
constexpr int kPorts = 1;
constexpr int kFirstChange = 2;

QString cell(const std::string& text) {
  return QString::fromStdString(text);
}

QString cell(std::int64_t number) {
  return QString::number(number);
}

/// Ports and cables count from 1, as on the equipment.
QString port(int index) {
  return QString::number(index + 1);
}

QString quoted(const QString& text) {
  if (!text.contains(u',') && !text.contains(u'"') && !text.contains(u'\n')) {
    return text;
  }
  return u'"' + QString(text).replace(u'"', u"\"\""_s) + u'"';
}

Result<patch::Links> linksOfFacts(const fabric::Description& facts, std::optional<patch::CableKind> kind) {
  const auto fabric = fabric::Fabric::build(facts);
  if (!fabric) {
    return fabric.error();
  }
  return patch::readLinks(
      *fabric, kind.value_or(patch::isDuplex(*fabric) ? patch::CableKind::duplex : patch::CableKind::simplex));
}

}  // namespace

// ---- model

void TextTableModel::set(QStringList heads, std::vector<QStringList> rows) {
  beginResetModel();
  m_heads = std::move(heads);
  m_rows = std::move(rows);
  endResetModel();
}

int TextTableModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int TextTableModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_heads.size());
}

QVariant TextTableModel::data(const QModelIndex& index, int role) const {
  const QString& text = m_rows[static_cast<std::size_t>(index.row())][index.column()];
  bool isNumber = false;
  const double number = text.toDouble(&isNumber);
  switch (role) {
    case Qt::DisplayRole:
      return text;
    case Qt::UserRole:  // by which it is sorted
      return isNumber ? QVariant(number) : QVariant(text);
    case Qt::TextAlignmentRole:
      return static_cast<int>((isNumber ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    case Qt::FontRole:
      return isNumber ? QVariant(figureFont()) : QVariant();
    default:
      return {};
  }
}

QVariant TextTableModel::headerData(int section, Qt::Orientation orientation, int role) const {
  return orientation == Qt::Horizontal && role == Qt::DisplayRole ? QVariant(m_heads[section]) : QVariant();
}

QString TextTableModel::csv() const {
  QString text;
  const auto add = [&text](const QStringList& cells) {
    for (qsizetype i = 0; i < cells.size(); ++i) {
      text += (i > 0 ? u","_s : QString()) + quoted(cells[i]);
    }
    text += u'\n';
  };
  add(m_heads);
  for (const QStringList& row : m_rows) {
    add(row);
  }
  return text;
}

// ---- dialog

CablesDialog::CablesDialog(Subject subject, std::vector<Subject> others, std::function<void(const QString&)> save,
                           QWidget* parent)
    : QDialog(parent),
      m_subject(std::move(subject)),
      m_others(std::move(others)),
      m_what(new QComboBox(this)),
      m_isBetweenBoxes(new QCheckBox(tr("Between boxes only"), this)),
      m_summary(new QLabel(this)),
      m_model(new TextTableModel(this)),
      m_table(new QTableView(this)) {
  setObjectName(u"cablesDialog"_s);
  setWindowTitle(tr("Cables of %1").arg(m_subject.name));
  m_what->setObjectName(u"cablesWhat"_s);
  m_what->setAccessibleName(tr("What is listed"));
  m_what->addItems({tr("Cables"), tr("Ports and patch panels")});
  for (const Subject& other : m_others) {
    m_what->addItem(tr("Changes from %1").arg(other.name));
  }
  m_isBetweenBoxes->setObjectName(u"cablesBetweenBoxes"_s);
  m_isBetweenBoxes->setChecked(true);
  m_summary->setObjectName(u"cablesSummary"_s);
  m_summary->setWordWrap(true);
  m_summary->setProperty("role", u"muted"_s);
  auto* sorted = new QSortFilterProxyModel(this);
  sorted->setSourceModel(m_model);
  sorted->setSortRole(Qt::UserRole);
  setUpRowTable(*m_table, u"cablesTable"_s, tr("Cables"), QAbstractItemView::ExtendedSelection);
  m_table->setModel(sorted);
  m_table->setSortingEnabled(true);
  m_table->horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
  m_table->horizontalHeader()->setStretchLastSection(true);
  auto* copy = new QPushButton(tr("&Copy as CSV"), this);
  copy->setObjectName(u"cablesCopy"_s);
  auto* saving = new QPushButton(tr("&Save…"), this);
  saving->setObjectName(u"cablesSave"_s);
  auto* close = new QPushButton(tr("Close"), this);
  auto* layout = new QVBoxLayout(this);
  layout->addLayout(controlRow({m_what, m_isBetweenBoxes}, m_summary));
  layout->addWidget(m_table, 1);
  layout->addLayout(buttonRow({copy, saving, close}));
  constexpr QSize kSize(760, 520);
  resize(kSize);
  connect(m_what, &QComboBox::currentIndexChanged, this, &CablesDialog::fill);
  connect(m_isBetweenBoxes, &QCheckBox::toggled, this, &CablesDialog::fill);
  connect(copy, &QPushButton::clicked, this, [this] { QGuiApplication::clipboard()->setText(m_model->csv()); });
  connect(saving, &QPushButton::clicked, this, [this, save = std::move(save)] { save(m_model->csv()); });
  connect(close, &QPushButton::clicked, this, &QDialog::accept);
  fill();
}

void CablesDialog::fill() {
  const int what = m_what->currentIndex();
  m_isBetweenBoxes->setVisible(what == kCables);
  if (what == kCables) {
    fillCables();
  } else {
    const Outcome filled = workflow::guarded<Done>(
        [&] { return what == kPorts ? fillPatchTable() : fillChanges(m_others[what - kFirstChange]); });
    if (!filled) {
      m_model->set({}, {});
      m_summary->setText(sentence(filled.error()));
    }
  }
  m_table->resizeColumnsToContents();
}

void CablesDialog::fillCables() {
  std::map<std::string, std::string> boxOf;
  for (const fabric::NodeDescription& node : m_subject.facts->nodes) {
    boxOf[node.id] = node.box;
  }
  std::vector<QStringList> rows;
  std::int64_t cables = 0;
  std::map<std::string, std::int64_t> byRate;
  for (const fabric::LinkDescription& link : m_subject.facts->links) {
    const std::string& from = boxOf[link.src];
    const std::string& to = boxOf[link.dst];
    // What is in no box is a box of its own: a switch of the network.
    if (m_isBetweenBoxes->isChecked() && from == to && !from.empty()) {
      continue;
    }
    cables += link.count;
    byRate[link.bandwidth] += link.count;
    rows.push_back({cell(link.src), cell(from), cell(link.dst), cell(to), cell(link.bandwidth), cell(link.count),
                    link.duplex ? tr("both ways") : tr("one way")});
  }
  QString text = counted(cables, tr("cable"), tr("cables"));
  for (const auto& [rate, count] : byRate) {
    text += u" · "_s + tr("%1 of %2 GB/s").arg(count).arg(cell(rate));
  }
  m_model->set({tr("From"), tr("Box"), tr("To"), tr("Box"), tr("GB/s each"), tr("Parallel"), tr("Direction")},
               std::move(rows));
  m_summary->setText(text);
}

Outcome CablesDialog::fillPatchTable() {
  const auto links = linksOfFacts(*m_subject.facts, std::nullopt);
  if (!links) {
    return links.error();
  }
  const patch::Wiring wiring = patch::assignPorts(*links);
  std::vector<QStringList> rows;
  for (std::size_t i = 0; i < wiring.cables.size(); ++i) {
    const patch::Cable& cable = wiring.cables[i];
    rows.push_back({port(static_cast<int>(i)), cell(wiring.ids[cable.from.node]), port(cable.from.port),
                    cell(wiring.ids[cable.to.node]), port(cable.to.port), port(wiring.panelOf(cable)),
                    port(wiring.panelPort(cable.from)), port(wiring.panelPort(cable.to))});
  }
  m_model->set(
      {tr("Cable"), tr("From"), tr("Port"), tr("To"), tr("Port"), tr("Panel"), tr("Panel from"), tr("Panel to")},
      std::move(rows));
  m_summary->setText(tr("%1, %2 per GPU, %3 of %4 ports")
                         .arg(counted(static_cast<qsizetype>(wiring.cables.size()), tr("cable"), tr("cables")),
                              counted(wiring.ports, tr("port"), tr("ports")),
                              counted(wiring.panels, tr("panel"), tr("panels")))
                         .arg(wiring.panelPorts() / wiring.panels));
  return Done{};
}

Outcome CablesDialog::fillChanges(const Subject& from) {
  const auto before = linksOfFacts(*from.facts, std::nullopt);
  if (!before) {
    return before.error();
  }
  const auto wanted = linksOfFacts(*m_subject.facts, before->kind);
  if (!wanted) {
    return wanted.error();
  }
  const patch::Wiring present = patch::assignPorts(*before);
  const auto plan = patch::planMoves(present, *wanted);
  if (!plan) {
    return plan.error();
  }
  if (const std::string fault = patch::replay(present, *plan, *wanted); !fault.empty()) {
    return Error{ErrorCode::verification, "the plan fails in the replay: " + fault, "please report this"};
  }
  std::vector<QStringList> rows;
  const auto plug = [&](const patch::Plug& end) { return cell(present.ids[end.node]) + u' ' + port(end.port); };
  const auto ends = [&](const std::optional<patch::Cable>& cable) {
    return cable ? QStringList{plug(cable->from), plug(cable->to)} : QStringList{u"–"_s, u"–"_s};
  };
  for (const patch::Move& move : plan->moves) {
    const QString action = !move.before ? tr("add") : !move.after ? tr("remove") : tr("move");
    rows.push_back(QStringList{action} + ends(move.before) + ends(move.after));
  }
  m_model->set({tr("Action"), tr("From, now"), tr("To, now"), tr("From, then"), tr("To, then")}, std::move(rows));
  m_summary->setText(tr("%1 stay, %2 move, %3 are new, %4 are removed; replayed. Pull all that move first.")
                         .arg(plan->kept)
                         .arg(plan->moved())
                         .arg(plan->added())
                         .arg(plan->removed()));
  return Done{};
}

}  // namespace coppice::designer
