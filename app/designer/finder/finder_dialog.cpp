// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/finder/finder_dialog.hpp"

#include <QClipboard>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QSplitter>
#include <QStyle>
#include <QVBoxLayout>
#include <array>
#include <chrono>
#include <utility>

#include "designer/document/error_text.hpp"
#include "designer/document/fabric_file.hpp"
#include "designer/document/figures.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/panel_widgets.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

constexpr int kGap = 8;
constexpr int kMaxDrawnNodes = 16'384;
constexpr int kMargin = 16;
// The slider: quarters of a doubling from 1 KiB to 1 GiB.
constexpr int kQuarters = 4;
constexpr int kFirstPower = 10;
constexpr int kLastPower = 30;

QLabel* labelOf(const QString& text, QWidget* field, QWidget* parent) {
  auto* label = new QLabel(text, parent);
  label->setBuddy(field);
  label->setProperty("role", u"muted"_s);
  return label;
}

}  // namespace

FinderDialog::FinderDialog(QWidget* parent)
    : QDialog(parent),
      m_nodes(new QLineEdit(u"16"_s, this)),
      m_degree(new QSpinBox(this)),
      m_links(new QComboBox(this)),
      m_hasAlltoall(new QCheckBox(tr("All-to-all as a goal"), this)),
      m_bandwidth(new QLineEdit(u"25"_s, this)),
      m_alpha(new QLineEdit(u"10"_s, this)),
      m_collective(new QComboBox(this)),
      m_size(new QSlider(Qt::Horizontal, this)),
      m_change(new ChangeRow(this)),
      m_sizeText(new QLabel(this)),
      m_fault(new QLabel(this)),
      m_table(new FrontTable(this)),
      m_chart(new ParetoChart(*m_table, this)),
      m_rows(new QTableView(this)),
      m_breaks(new QLabel(this)),
      m_preview(new FabricPreview(u"finder"_s, this)),
      m_tree(new ConstructionTree(this)),
      m_state(new QLabel(this)),
      m_stop(new QPushButton(tr("Stop"), this)),
      m_withSchedule(new QCheckBox(tr("Generate its BFB schedule"), this)),
      m_open(new QPushButton(tr("Open as Fabric"), this)) {
  setObjectName(u"finderDialog"_s);
  setWindowTitle(tr("Find a Topology"));
  setModal(false);
  setProperty("helpTopic", u"topologies"_s);
  build();
  connectAll();
  m_pause.setSingleShot(true);
  m_pause.setInterval(250ms);
  followTimes();
}

FinderDialog::~FinderDialog() = default;

void FinderDialog::build() {
  m_fault->setObjectName(u"finderFault"_s);
  m_fault->setProperty("role", u"error"_s);
  m_fault->setWordWrap(true);
  m_fault->hide();
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(kMargin, kMargin, kMargin, kMargin - 4);
  layout->setSpacing(kGap);
  layout->addWidget(makeFields());
  layout->addWidget(makeSize());
  layout->addWidget(m_change);
  layout->addWidget(m_fault);
  layout->addWidget(makeResults(), 1);
  layout->addWidget(makeButtons());
  constexpr QSize kSize(1240, 664);
  resize(kSize);
}

QWidget* FinderDialog::makeFields() {
  m_nodes->setObjectName(u"finderNodes"_s);
  m_nodes->setAccessibleName(tr("Number of GPUs, or a range"));
  m_nodes->setToolTip(tr("A number of GPUs such as 16, or a range such as 14..18"));
  constexpr int kNarrow = 84;
  m_nodes->setFixedWidth(kNarrow);
  m_degree->setObjectName(u"finderDegree"_s);
  m_degree->setRange(1, finder::kMaxDegree);
  constexpr int kUsualDegree = 4;
  m_degree->setValue(kUsualDegree);
  m_degree->setAccessibleName(tr("Ports of a GPU"));
  m_degree->setToolTip(tr("Number of links out of each GPU, and of links into it"));
  m_links->setObjectName(u"finderLinks"_s);
  m_links->addItem(tr("One-way or duplex"), false);
  m_links->addItem(tr("Duplex only"), true);
  m_links->setAccessibleName(tr("Directions of links"));
  m_links->setToolTip(tr("Duplex: every link has a reverse link between the same two GPUs"));
  m_hasAlltoall->setObjectName(u"finderAlltoall"_s);
  m_hasAlltoall->setToolTip(
      tr("Topologies stay that are better in the time of an all-to-all, as well as in steps and bandwidth time"));
  m_bandwidth->setObjectName(u"finderBandwidth"_s);
  m_bandwidth->setFixedWidth(kNarrow);
  m_bandwidth->setAccessibleName(tr("Bandwidth of a link, GB/s per direction"));
  m_bandwidth->setToolTip(tr("GB/s of one link and direction, or with a unit, such as 200Gb/s"));
  m_alpha->setObjectName(u"finderAlpha"_s);
  m_alpha->setFixedWidth(kNarrow - 24);
  m_alpha->setAccessibleName(tr("Latency of a step, microseconds"));
  m_alpha->setToolTip(tr("Latency of one step in microseconds"));
  m_collective->setObjectName(u"finderCollective"_s);
  m_collective->addItem(tr("AllGather"), static_cast<int>(Collective::allgather));
  m_collective->addItem(tr("ReduceScatter"), static_cast<int>(Collective::reduceScatter));
  m_collective->addItem(tr("AllReduce"), static_cast<int>(Collective::allreduce));
  m_collective->setAccessibleName(tr("Collective of the times"));
  m_collective->setToolTip(tr("The times, and the schedule that is generated, are those of this collective"));

  auto* fields = new QWidget(this);
  auto* line = new QHBoxLayout(fields);
  line->setContentsMargins({});
  line->setSpacing(kGap);
  const auto add = [&](const QString& text, QWidget* field) {
    line->addWidget(labelOf(text, field, this));
    line->addWidget(field);
    line->addSpacing(kGap);
  };
  add(tr("&GPUs"), m_nodes);
  add(tr("&Ports each"), m_degree);
  line->addWidget(m_links);
  line->addSpacing(kGap);
  add(tr("GB/s per &link"), m_bandwidth);
  add(tr("µs per &step"), m_alpha);
  line->addWidget(m_collective);
  line->addSpacing(kGap);
  line->addWidget(m_hasAlltoall);
  line->addStretch(1);
  return fields;
}

QWidget* FinderDialog::makeSize() {
  m_size->setObjectName(u"finderSize"_s);
  m_size->setAccessibleName(tr("Size of a call"));
  m_size->setRange(0, (kLastPower - kFirstPower) * kQuarters);
  m_size->setPageStep(kQuarters);
  constexpr int kUsualSize = 10 * kQuarters;
  m_size->setValue(kUsualSize);
  m_size->setToolTip(tr("Data of all GPUs together, from 1 KiB to 1 GiB"));
  m_sizeText->setObjectName(u"finderSizeText"_s);
  constexpr double kPixels = 13;
  m_sizeText->setFont(figureFont(kPixels, QFont::DemiBold));
  constexpr int kTextWidth = 92;
  m_sizeText->setMinimumWidth(kTextWidth);
  m_breaks->setObjectName(u"finderBreaks"_s);
  m_breaks->setProperty("role", u"muted"_s);
  m_breaks->setWordWrap(true);
  m_breaks->setTextInteractionFlags(Qt::TextSelectableByMouse);
  auto* size = new QWidget(this);
  auto* line = new QHBoxLayout(size);
  line->setContentsMargins({});
  line->setSpacing(kGap);
  line->addWidget(labelOf(tr("S&ize of a call"), m_size, this));
  line->addWidget(m_size, 1);
  line->addWidget(m_sizeText);
  return size;
}

QWidget* FinderDialog::makeResults() {
  setUpRowTable(*m_rows, u"finderTable"_s, tr("Topologies found"));
  m_rows->setModel(m_table);
  constexpr std::array kWidths = {52, 58, 126, 72, 78, 78, 118, 108, 168, 112};
  for (std::size_t i = 0; i < kWidths.size(); ++i) {
    m_rows->setColumnWidth(static_cast<int>(i), kWidths[i]);
  }
  // The name of the topology takes what is left; the tool tip has all of it.
  m_rows->horizontalHeader()->setSectionResizeMode(FrontTable::kConstruction, QHeaderView::Stretch);
  m_rows->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  auto* left = new QWidget(this);
  auto* leftLayout = new QVBoxLayout(left);
  leftLayout->setContentsMargins({});
  leftLayout->setSpacing(kGap);
  leftLayout->addWidget(m_chart, 3);
  leftLayout->addWidget(m_breaks);
  leftLayout->addWidget(m_rows, 1);
  auto* right = new QWidget(this);
  auto* rightLayout = new QVBoxLayout(right);
  rightLayout->setContentsMargins({});
  rightLayout->setSpacing(kGap);
  rightLayout->addWidget(m_preview);
  rightLayout->addWidget(m_tree, 1);
  auto* results = new QWidget(this);
  auto* line = new QHBoxLayout(results);
  line->setContentsMargins({});
  line->setSpacing(kMargin);
  line->addWidget(left, 1);
  line->addWidget(right);
  return results;
}

QWidget* FinderDialog::makeButtons() {
  m_state->setObjectName(u"finderState"_s);
  m_state->setProperty("role", u"muted"_s);
  m_state->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  m_stop->setObjectName(u"finderStop"_s);
  m_stop->setAutoDefault(false);
  m_stop->setToolTip(tr("Stop the search and keep what was found"));
  m_withSchedule->setObjectName(u"finderWithSchedule"_s);
  m_withSchedule->setChecked(true);
  m_withSchedule->setToolTip(tr("Generates and verifies the schedule in the new fabric, ready for export"));
  m_open->setObjectName(u"finderOpen"_s);
  m_open->setDefault(true);
  m_open->setToolTip(tr("Opens the chosen topology as a new fabric (Enter)"));
  auto* copy = new QPushButton(tr("Copy as Command Line"), this);
  copy->setObjectName(u"finderCopy"_s);
  copy->setAutoDefault(false);
  connect(copy, &QPushButton::clicked, this, [this] { QGuiApplication::clipboard()->setText(commandText()); });
  auto* close = new QPushButton(tr("Close"), this);
  close->setAutoDefault(false);
  connect(close, &QPushButton::clicked, this, &QDialog::reject);
  auto* buttons = new QWidget(this);
  auto* line = new QHBoxLayout(buttons);
  line->setContentsMargins({});
  line->setSpacing(kGap);
  line->addWidget(copy);
  line->addWidget(m_stop);
  line->addWidget(m_state, 1);
  line->addWidget(m_withSchedule);
  line->addSpacing(kGap);
  line->addWidget(close);
  line->addWidget(m_open);
  QWidget* last = m_tree;
  for (QWidget* next :
       {static_cast<QWidget*>(copy), static_cast<QWidget*>(m_stop), static_cast<QWidget*>(m_withSchedule),
        static_cast<QWidget*>(close), static_cast<QWidget*>(m_open)}) {
    setTabOrder(last, next);
    last = next;
  }
  return buttons;
}

void FinderDialog::connectAll() {
  const auto searchLater = [this] {
    // The old answer is no longer one to these fields.
    m_search.cancel();
    m_pause.start();
    followSearch();
  };
  connect(m_nodes, &QLineEdit::textChanged, this, searchLater);
  connect(m_degree, &QSpinBox::valueChanged, this, searchLater);
  connect(m_links, &QComboBox::currentIndexChanged, this, searchLater);
  connect(m_hasAlltoall, &QCheckBox::toggled, this, searchLater);
  connect(&m_pause, &QTimer::timeout, this, &FinderDialog::startSearch);
  for (QLineEdit* field : {m_bandwidth, m_alpha}) {
    connect(field, &QLineEdit::textChanged, this, &FinderDialog::followTimes);
  }
  connect(m_size, &QSlider::valueChanged, this, &FinderDialog::followTimes);
  connect(m_collective, &QComboBox::currentIndexChanged, this, &FinderDialog::followTimes);
  connect(&m_search, &TopologySearch::found, this, &FinderDialog::showFronts);
  connect(&m_search, &TopologySearch::progressed, this, &FinderDialog::followSearch);
  connect(&m_search, &TopologySearch::runningChanged, this, &FinderDialog::followSearch);
  connect(m_change, &ChangeRow::changed, this, &FinderDialog::followChange);
  connect(m_stop, &QPushButton::clicked, &m_search, &TopologySearch::cancel);
  connect(m_rows->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this] {
    if (!m_isFilling) {
      const int row = chosen();
      m_wanted = row < 0 ? std::string() : finder::nameOf(*m_table->rows()[row].topology.entry.construction);
      showChosen();
    }
  });
  connect(m_rows, &QTableView::doubleClicked, this, &FinderDialog::open);
  connect(m_chart, &ParetoChart::rowClicked, this, &FinderDialog::choose);
  connect(m_preview, &FabricPreview::ready, this, [this] {
    const Error* error = m_preview->error();
    m_open->setEnabled(error == nullptr && chosen() >= 0 && m_isReadable && m_hasTimes);
    if (error != nullptr) {
      showFault(*error);
    }
    if (std::exchange(m_isOpenWanted, false)) {
      open();
    }
  });
  connect(m_open, &QPushButton::clicked, this, &FinderDialog::open);
}

void FinderDialog::showEvent(QShowEvent* event) {
  QDialog::showEvent(event);
  m_nodes->setFocus();
  m_nodes->selectAll();
  if (m_searchedDegree == 0) {
    startSearch();
  }
}

void FinderDialog::done(int result) {
  // What is not known yet is searched when the dialog is shown again.
  if (m_search.isRunning() || m_pause.isActive()) {
    m_pause.stop();
    m_search.cancel();
    m_searchedDegree = 0;
  }
  QDialog::done(result);
}

std::int64_t FinderDialog::bytes() const {
  const int value = m_size->value();
  return (std::int64_t{1} << (kFirstPower + value / kQuarters)) / kQuarters * (kQuarters + value % kQuarters);
}

Collective FinderDialog::collective() const {
  return static_cast<Collective>(m_collective->currentData().toInt());
}

std::optional<TopologySearchQuestion> FinderDialog::readQuestion() {
  TopologySearchQuestion question;
  question.degree = m_degree->value();
  question.isDuplex = m_links->currentData().toBool();
  question.hasAlltoall = m_hasAlltoall->isChecked();
  const auto nodes = readNodeCounts(m_nodes->text().toStdString());
  if (!nodes) {
    showFault(nodes.error());
    return std::nullopt;
  }
  question.nodes = *nodes;
  for (const int count : {nodes->first, nodes->last}) {
    if (const Outcome checked = finder::check({.nodes = count, .degree = question.degree}); !checked) {
      showFault(checked.error());
      return std::nullopt;
    }
  }
  return question;
}

Result<workflow::TopologyTimes> FinderDialog::readTimes() const {
  workflow::TopologyTimesText text;
  text.alpha = m_alpha->text().trimmed().toStdString();
  text.bandwidth = m_bandwidth->text().trimmed().toStdString();
  text.ports = m_searchedDegree > 0 ? m_searchedDegree : m_degree->value();
  text.sizes = {std::to_string(bytes())};
  text.collective = toString(collective());
  return workflow::readTopologyTimes(text);
}

void FinderDialog::startSearch() {
  m_pause.stop();
  const auto question = readQuestion();
  m_isReadable = question.has_value();
  if (!question) {
    m_searchedDegree = m_degree->value();
    m_search.cancel();
    m_open->setEnabled(false);
    followSearch();
    return;
  }
  showFault(std::nullopt);
  m_searchedDegree = question->degree;
  m_search.start(*question);
  followTimes();
  showFronts();
}

void FinderDialog::followTimes() {
  m_sizeText->setText(roughBytes(static_cast<double>(bytes())));
  const auto times = readTimes();
  m_hasTimes = bool(times);
  if (!times) {
    showFault(times.error());
    m_open->setEnabled(false);
    return;
  }
  if (!m_search.error() && m_isReadable) {
    showFault(std::nullopt);
  }
  m_change->setTimes(*times);
  m_table->setTimes(*times);
  followChange();
  if (m_wanted.empty()) {
    // Nothing was chosen: what is best at the size is shown.
    showFronts();
  } else {
    showChosen();
  }
}

void FinderDialog::followChange() {
  m_rows->setColumnHidden(FrontTable::kChange, !m_change->isAsked());
  m_table->setChanges([this](const workflow::FoundTopology& found) { return m_change->changeTo(found); });
  if (m_change->fault()) {
    showFault(m_change->fault());
  } else if (m_hasTimes && m_isReadable && !m_search.error()) {
    showFault(std::nullopt);
  }
}

void FinderDialog::showFronts() {
  m_isFilling = true;
  m_table->setFronts(m_search.fronts());
  const auto& fronts = m_search.fronts();
  m_rows->setColumnHidden(FrontTable::kNodes, fronts.size() < 2);
  int row = -1;
  for (std::size_t i = 0; i < m_table->rows().size() && !m_wanted.empty(); ++i) {
    if (finder::nameOf(*m_table->rows()[i].topology.entry.construction) == m_wanted) {
      row = static_cast<int>(i);
      break;
    }
  }
  if (row < 0 && !fronts.empty()) {
    m_wanted.clear();
    row = std::max(m_table->fastestOf(fronts.front().nodes), m_table->rowCount() > 0 ? 0 : -1);
  }
  m_rows->selectRow(row);
  m_isFilling = false;
  showChosen();
  followSearch();
}

void FinderDialog::followSearch() {
  const bool isWorking = m_search.isRunning() || m_pause.isActive();
  m_stop->setVisible(m_search.isRunning());
  const bool isAnswer = !m_pause.isActive() && m_isReadable;
  m_rows->setEnabled(isAnswer);
  m_chart->setEnabled(isAnswer);
  if (m_search.error()) {
    showFault(m_search.error());
  }
  QString text = m_search.stateText();
  if (!isWorking && !m_search.error() && m_table->rows().empty() && m_fault->isHidden()) {
    text = tr("No topology meets these limits.");
  } else if (!isWorking && !m_search.notes().empty()) {
    text = QString::fromStdString(m_search.notes().front());
  }
  m_state->setText(text);
  m_state->setToolTip(text);
}

int FinderDialog::chosen() const {
  const QModelIndex index = m_rows->currentIndex();
  return index.isValid() && index.row() < m_table->rowCount() ? index.row() : -1;
}

void FinderDialog::choose(int row) {
  m_rows->selectRow(row);
}

void FinderDialog::showChosen() {
  const int row = chosen();
  m_chart->show(row, m_searchedDegree);
  m_open->setEnabled(row >= 0 && m_isReadable && m_hasTimes);
  m_preview->setEnabled(row >= 0);
  if (row < 0) {
    m_breaks->clear();
    m_tree->setConstruction(nullptr);
    m_drawn = nullptr;
    return;
  }
  const finder::Entry& entry = m_table->rows()[row].topology.entry;
  m_breaks->setText(m_table->breakPointsText(entry.nodes));
  const Bandwidth bandwidth = m_table->times().model.bandwidth;
  if (m_drawn == entry.construction && m_drawnBandwidth == bandwidth) {
    return;
  }
  if (m_drawn != entry.construction) {
    m_tree->setConstruction(entry.construction);
  }
  m_drawn = entry.construction;
  m_drawnBandwidth = bandwidth;
  if (entry.nodes > kMaxDrawnNodes) {
    m_preview->submit([nodes = entry.nodes](const std::stop_token& /*stop*/) -> Result<Model> {
      return Error{ErrorCode::limit, std::to_string(nodes) + " GPUs are more than the window can draw",
                   "write the fabric with coppice-cli find-topology --output"};
    });
    return;
  }
  m_preview->submit([entry, bandwidth](const std::stop_token& /*stop*/) -> Result<Model> {
    const auto fabric = workflow::fabricOf(entry, bandwidth);
    if (!fabric) {
      return fabric.error();
    }
    return readModel(*fabric).model;
  });
}

void FinderDialog::showFault(const std::optional<Error>& error) {
  m_fault->setVisible(error.has_value());
  m_fault->setText(error ? sentence(*error) : QString());
}

void FinderDialog::open() {
  const int row = chosen();
  if (row < 0 || !m_open->isEnabled()) {
    return;
  }
  if (m_preview->isWorking()) {
    m_isOpenWanted = true;
    m_preview->startNow();
    return;  // as soon as it is made
  }
  const std::shared_ptr<const Model> model = m_preview->model();
  if (!model) {
    return;
  }
  const finder::Entry& entry = m_table->rows()[row].topology.entry;
  const QString name = tr("Topology of %1 GPUs").arg(entry.nodes);
  done(QDialog::Accepted);
  Q_EMIT openWanted(*model, name, collective(), m_withSchedule->isChecked());
}

QString FinderDialog::commandText() const {
  QStringList words{u"coppice-cli"_s, u"find-topology"_s};
  const auto nodes = readNodeCounts(m_nodes->text().toStdString());
  if (nodes && nodes->first < nodes->last) {
    words << u"--all-n"_s << u"%1..%2"_s.arg(nodes->first).arg(nodes->last);
  } else {
    words << u"-n"_s << QString::number(nodes ? nodes->first : 0);
  }
  words << u"-d"_s << QString::number(m_degree->value());
  if (m_links->currentData().toBool()) {
    words << u"--duplex"_s;
  }
  if (m_hasAlltoall->isChecked()) {
    words << u"--goal"_s << u"alltoall"_s;
  }
  if (const auto times = readTimes()) {
    words << u"--alpha"_s << QString::fromStdString(times->model.alpha.count().toString()) << u"--bandwidth"_s
          << QString::fromStdString(toExactText(times->model.bandwidth)) << u"--size"_s
          << (m_change->isAsked() ? u"%1=%2"_s.arg(bytes()).arg(m_change->calls()) : QString::number(bytes()))
          << u"-c"_s << QString::fromStdString(std::string(toString(times->collective)));
  }
  return (words + m_change->commandWords()).join(u' ');
}

}  // namespace coppice::designer
