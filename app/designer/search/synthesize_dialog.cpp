// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/search/synthesize_dialog.hpp"

#include <QClipboard>
#include <QFile>
#include <QFileInfo>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QScreen>
#include <QSplitter>
#include <QVBoxLayout>
#include <algorithm>
#include <array>
#include <chrono>
#include <initializer_list>
#include <limits>
#include <map>

#include "designer/document/counted.hpp"
#include "designer/document/error_text.hpp"
#include "designer/document/figures.hpp"
#include "designer/search/search_command.hpp"
#include "designer/search/table_editor.hpp"
#include "designer/theme/panel_widgets.hpp"
#include "designer/theme/style.hpp"
#include "io/files.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

constexpr int kGap = 8;
constexpr std::size_t kMaxTableBytes = std::size_t{64} << 20;

/// Those that were found, or all.
class Rows : public QSortFilterProxyModel {
public:
  Rows(const FrontSearch& search, const QCheckBox& foundOnly, QObject* parent)
      : QSortFilterProxyModel(parent), m_search(search), m_foundOnly(foundOnly) {
    setSortRole(CandidateModel::kSortRole);
  }
  void refilter() { invalidateFilter(); }

protected:
  [[nodiscard]] bool filterAcceptsRow(int row, const QModelIndex&) const override {
    return !m_foundOnly.isChecked() || m_search.candidates()[row].verdict == synth::Verdict::sat;
  }

private:
  const FrontSearch& m_search;
  const QCheckBox& m_foundOnly;
};

}  // namespace

SynthesizeDialog::SynthesizeDialog(AskTable askTable, QWidget* parent)
    : QDialog(parent),
      m_askTable(std::move(askTable)),
      m_form(new QFormLayout),
      m_collective(new QComboBox(this)),
      m_root(new QComboBox(this)),
      m_tableLine(new QWidget(this)),
      m_tableName(new QLabel(m_tableLine)),
      m_maxSteps(new QSpinBox(this)),
      m_maxChunks(new QSpinBox(this)),
      m_extraRounds(new QSpinBox(this)),
      m_perCandidate(new QDoubleSpinBox(this)),
      m_seconds(new QSpinBox(this)),
      m_seed(new QSpinBox(this)),
      m_unit(new QLineEdit(this)),
      m_oneBandwidth(new QCheckBox(tr("All links count as one unit"), this)),
      m_direct(new QCheckBox(tr("Direct schedules only"), this)),
      m_start(new QPushButton(tr("Start"), this)),
      m_cancel(new QPushButton(tr("Cancel"), this)),
      m_state(new QLabel(this)),
      m_hint(new QLabel(this)),
      m_charts(new QTabWidget(this)),
      m_frontChart(new FrontChart(m_search, this)),
      m_sizeChart(new SizeChart(m_search, this)),
      m_foundOnly(new QCheckBox(tr("Found only"), this)),
      m_model(new CandidateModel(m_search, this)),
      m_rows(new Rows(m_search, *m_foundOnly, this)),
      m_table(new QTableView(this)),
      m_use(new QPushButton(tr("Use This Schedule"), this)),
      m_copy(new QPushButton(tr("Copy as Command Line"), this)) {
  setObjectName(u"synthesizeDialog"_s);
  setWindowTitle(tr("Synthesize Schedules"));
  setModal(false);
  setSizeGripEnabled(true);
  auto* layout = new QHBoxLayout(this);
  constexpr int kMargin = 16;
  layout->setContentsMargins(kMargin, kMargin, kMargin, kMargin);
  layout->setSpacing(kMargin);
  layout->addWidget(makeForm());
  layout->addWidget(makeResults(), 1);
  constexpr QSize kSize(1140, 640);
  resize(kSize);

  connect(&m_search, &FrontSearch::changed, this, &SynthesizeDialog::follow);
  connect(&m_search, &FrontSearch::runningChanged, this, &SynthesizeDialog::followRunning);
  m_ticker.setInterval(200ms);
  connect(&m_ticker, &QTimer::timeout, this, &SynthesizeDialog::say);
  updateForm();
  followRunning();
}

SynthesizeDialog::~SynthesizeDialog() = default;

QWidget* SynthesizeDialog::makeForm() {
  m_collective->setObjectName(u"synthesizeCollective"_s);
  m_collective->setAccessibleName(tr("Collective"));
  for (const Collective each :
       {Collective::allgather, Collective::reduceScatter, Collective::allreduce, Collective::broadcast,
        Collective::reduce, Collective::alltoall, Collective::gather, Collective::scatter}) {
    m_collective->addItem(collectiveName(each), static_cast<int>(each));
  }
  m_collective->addItem(tr("Custom table"), static_cast<int>(Collective::custom));
  m_root->setObjectName(u"synthesizeRoot"_s);
  m_root->setAccessibleName(tr("Root"));
  setUpTableLine();
  setUpLimits();
  m_unit->setObjectName(u"synthesizeUnit"_s);
  m_unit->setAccessibleName(tr("Unit"));
  m_unit->setPlaceholderText(tr("automatic"));
  m_unit->setToolTip(
      tr("The bandwidth that moves one chunk per round, for example 25 or 25/2. By default the largest value that "
         "divides every bandwidth, or the lowest bandwidth if that value is too small"));
  m_oneBandwidth->setObjectName(u"synthesizeOneBandwidth"_s);
  m_oneBandwidth->setToolTip(tr("Each link moves one chunk per round, whatever its bandwidth"));
  m_direct->setObjectName(u"synthesizeDirect"_s);
  m_direct->setToolTip(tr("No reduce-scatter followed by an allgather: few steps, for small sizes"));
  m_state->setObjectName(u"synthesizeState"_s);
  m_state->setWordWrap(true);
  m_state->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  m_start->setObjectName(u"synthesizeStart"_s);
  m_start->setDefault(true);
  m_cancel->setObjectName(u"synthesizeCancel"_s);
  m_cancel->setAutoDefault(false);
  const std::initializer_list<QWidget*> fields{m_collective, m_root,         m_maxSteps, m_maxChunks, m_extraRounds,
                                               m_seconds,    m_perCandidate, m_seed,     m_unit};
  for (QWidget* field : fields) {
    field->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  }
  connect(m_start, &QPushButton::clicked, this, &SynthesizeDialog::start);
  connect(m_cancel, &QPushButton::clicked, this, [this] { m_search.cancel(); });
  connect(m_collective, &QComboBox::currentIndexChanged, this, &SynthesizeDialog::updateForm);
  connect(m_oneBandwidth, &QCheckBox::toggled, this, [this](bool isOne) { m_unit->setEnabled(!isOne); });
  return layOutForm();
}

void SynthesizeDialog::setUpTableLine() {
  m_tableName->setObjectName(u"synthesizeTableName"_s);
  m_tableName->setText(tr("none"));
  auto* open = new QPushButton(tr("Open…"), m_tableLine);
  open->setObjectName(u"synthesizeOpenTable"_s);
  open->setToolTip(tr("A file with one row per chunk: sources and destinations, in CSV or JSON"));
  open->setAutoDefault(false);
  auto* edit = new QPushButton(tr("Edit…"), m_tableLine);
  edit->setObjectName(u"synthesizeEditTable"_s);
  edit->setAutoDefault(false);
  m_tableName->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  auto* tableLine = new QVBoxLayout(m_tableLine);
  tableLine->setContentsMargins({});
  tableLine->setSpacing(kGap / 2);
  tableLine->addWidget(m_tableName);
  auto* tableButtons = new QHBoxLayout;
  tableButtons->addWidget(open, 1);
  tableButtons->addWidget(edit, 1);
  tableLine->addLayout(tableButtons);
  connect(open, &QPushButton::clicked, this, [this] {
    const QString path = m_askTable ? m_askTable() : QString();
    if (!path.isEmpty()) {
      openTable(path);
    }
  });
  connect(edit, &QPushButton::clicked, this, &SynthesizeDialog::editTable);
}

void SynthesizeDialog::setUpLimits() {
  const auto number = [](QSpinBox* box, const QString& name, const QString& text, int min, int max) {
    box->setObjectName(name);
    box->setAccessibleName(text);
    box->setRange(min, max);
  };
  constexpr int kMaxSteps = 1000;
  constexpr int kMaxChunks = 1'000'000;
  constexpr int kMaxSeconds = 86400;
  number(m_maxSteps, u"synthesizeMaxSteps"_s, tr("Maximum steps"), 0, kMaxSteps);
  m_maxSteps->setSpecialValueText(tr("4 above minimum"));
  m_maxSteps->setToolTip(tr("The search ends sooner where it reaches the minimum rounds per chunk"));
  number(m_maxChunks, u"synthesizeMaxChunks"_s, tr("Maximum chunks"), 0, kMaxChunks);
  m_maxChunks->setSpecialValueText(tr("32 (default)"));
  m_maxChunks->setToolTip(
      tr("Chunks per GPU, or of the root; more chunks allow finer ratios of rounds to chunks and take longer"));
  constexpr int kAnyNumber = -1;
  number(m_extraRounds, u"synthesizeExtraRounds"_s, tr("Maximum extra rounds"), kAnyNumber, kMaxChunks);
  m_extraRounds->setValue(kAnyNumber);
  m_extraRounds->setSpecialValueText(tr("any number"));
  m_extraRounds->setToolTip(tr("Only schedules with at most this many more rounds than steps (k-synchronous)"));
  m_perCandidate->setObjectName(u"synthesizePerCandidate"_s);
  m_perCandidate->setAccessibleName(tr("Time limit per size"));
  m_perCandidate->setRange(0, kMaxSeconds);
  m_perCandidate->setDecimals(1);
  m_perCandidate->setSuffix(tr(" s"));
  m_perCandidate->setSpecialValueText(tr("1/6 of the limit"));
  m_perCandidate->setToolTip(tr("A size that takes longer is marked unknown"));
  number(m_seconds, u"synthesizeSeconds"_s, tr("Time limit"), 1, kMaxSeconds);
  constexpr int kUsualSeconds = 60;
  m_seconds->setValue(kUsualSeconds);
  m_seconds->setSuffix(tr(" s"));
  number(m_seed, u"synthesizeSeed"_s, tr("Seed"), 1, std::numeric_limits<int>::max());
  m_seed->setToolTip(tr("The same seed gives the same result, unless the time limit ends a part of the search"));
}

QWidget* SynthesizeDialog::layOutForm() {
  auto* page = new QWidget(this);
  constexpr int kFormWidth = 268;
  page->setFixedWidth(kFormWidth);
  m_form->setFieldGrowthPolicy(QFormLayout::ExpandingFieldsGrow);
  m_form->setHorizontalSpacing(kGap);
  m_form->setVerticalSpacing(kGap);
  m_form->addRow(tr("Collective"), m_collective);
  m_form->addRow(tr("Root"), m_root);
  m_form->addRow(tr("Table"), m_tableLine);
  m_form->addRow(tr("Max. steps"), m_maxSteps);
  m_form->addRow(tr("Max. chunks"), m_maxChunks);
  m_form->addRow(tr("Extra rounds"), m_extraRounds);
  m_form->addRow(tr("Time limit"), m_seconds);
  m_form->addRow(tr("Per size"), m_perCandidate);
  m_form->addRow(tr("Seed"), m_seed);
  m_form->addRow(tr("Unit, GB/s"), m_unit);
  m_form->addRow(m_oneBandwidth);
  m_form->addRow(m_direct);
  auto* buttons = new QHBoxLayout;
  buttons->addWidget(m_start, 1);
  buttons->addWidget(m_cancel, 1);
  auto* layout = new QVBoxLayout(page);
  layout->setContentsMargins({});
  layout->setSpacing(kGap);
  layout->addLayout(m_form);
  layout->addLayout(buttons);
  layout->addWidget(m_state, 1);
  return page;
}

QWidget* SynthesizeDialog::makeResults() {
  m_charts->setObjectName(u"synthesizeCharts"_s);
  m_charts->setDocumentMode(true);
  m_charts->addTab(m_frontChart, tr("Steps against Rounds per Chunk"));
  m_charts->addTab(m_sizeChart, tr("Time over size"));
  m_hint->setObjectName(u"synthesizeHint"_s);
  m_hint->setProperty("role", u"muted"_s);
  m_hint->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  m_foundOnly->setObjectName(u"synthesizeFoundOnly"_s);
  setUpTable();
  auto* below = new QWidget(this);
  auto* line = new QHBoxLayout;
  line->setContentsMargins({});
  line->addWidget(m_hint, 1);
  line->addWidget(m_foundOnly);
  auto* lower = new QVBoxLayout(below);
  lower->setContentsMargins({});
  lower->setSpacing(kGap / 2);
  lower->addLayout(line);
  lower->addWidget(m_table, 1);
  auto* parts = new QSplitter(Qt::Vertical, this);
  parts->addWidget(m_charts);
  parts->addWidget(below);
  parts->setChildrenCollapsible(false);
  constexpr int kChartHeight = 340;
  constexpr int kRowsHeight = 220;
  parts->setSizes({kChartHeight, kRowsHeight});
  parts->setStretchFactor(0, 3);
  parts->setStretchFactor(1, 2);
  m_use->setObjectName(u"synthesizeUse"_s);
  m_use->setToolTip(
      tr("Adds the schedule of the selected row to the document, where it can be played, compared and exported"));
  m_use->setAutoDefault(false);
  m_copy->setObjectName(u"synthesizeCopy"_s);
  m_copy->setAutoDefault(false);
  auto* close = new QPushButton(tr("Close"), this);
  close->setAutoDefault(false);
  auto* buttons = new QHBoxLayout;
  buttons->addWidget(m_copy);
  buttons->addStretch(1);
  buttons->addWidget(close);
  buttons->addWidget(m_use);
  auto* page = new QWidget(this);
  auto* layout = new QVBoxLayout(page);
  layout->setContentsMargins({});
  layout->setSpacing(kGap);
  layout->addWidget(parts, 1);
  layout->addLayout(buttons);

  connect(m_use, &QPushButton::clicked, this, &SynthesizeDialog::use);
  connect(close, &QPushButton::clicked, this, &QDialog::reject);
  connect(m_copy, &QPushButton::clicked, this, [this] {
    QGuiApplication::clipboard()->setText(synthesizeCommand(m_file ? m_file->path() : QString(), request()));
  });
  connect(m_frontChart, &FrontChart::chosen, this, [this](std::size_t candidate) {
    m_isChoosing = false;
    setCurrent(candidate);
  });
  connect(m_frontChart, &FrontChart::activatedAt, this, [this](std::size_t candidate) {
    m_isChoosing = false;
    setCurrent(candidate);
    use();
  });
  connect(m_frontChart, &FrontChart::hovered, this, &SynthesizeDialog::describe);
  return page;
}

void SynthesizeDialog::setUpTable() {
  m_rows->setSourceModel(m_model);
  setUpRowTable(*m_table, u"synthesizeTable"_s, tr("Decided sizes"));
  m_table->setModel(m_rows);
  m_table->setSortingEnabled(true);
  m_table->sortByColumn(-1, Qt::AscendingOrder);
  constexpr int kMinHeight = 110;
  m_table->setMinimumHeight(kMinHeight);
  QHeaderView* header = m_table->horizontalHeader();
  header->setStretchLastSection(true);
  constexpr int kFigure = 66;
  constexpr int kWide = 76;
  constexpr int kWord = 104;
  for (const int column : {CandidateModel::kRatio, CandidateModel::kSpeed}) {
    header->resizeSection(column, kFigure);
  }
  for (const int column :
       {CandidateModel::kSteps, CandidateModel::kRounds, CandidateModel::kChunks, CandidateModel::kSeconds}) {
    header->resizeSection(column, kWide);
  }
  header->resizeSection(CandidateModel::kResult, kWord);
  constexpr int kSentence = 190;
  header->resizeSection(CandidateModel::kProof, kSentence);
  connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this] {
    m_frontChart->setCurrent(current());
    describe(std::nullopt);
    updateButtons();
  });
  connect(m_table, &QTableView::clicked, this, [this] { m_isChoosing = false; });
  connect(m_table, &QTableView::doubleClicked, this, &SynthesizeDialog::use);
  connect(m_foundOnly, &QCheckBox::toggled, this, [this] { static_cast<Rows*>(m_rows)->refilter(); });
}

void SynthesizeDialog::setSubject(ScheduleBook* book, DocumentFile* file, LiveBound* bound) {
  m_followed.clear();
  m_book = book;
  m_file = file;
  m_bound = bound;
  if (m_file) {
    m_followed.connect(&m_file->document(), &Document::changed, [this] {
      if (isVisible()) {
        fill();
        say();
      }
    });
  }
  if (isVisible()) {
    fill();
    say();
  }
  updateButtons();
}

void SynthesizeDialog::showEvent(QShowEvent* event) {
  QDialog::showEvent(event);
  if (m_bound && !m_search.isRunning() && m_search.candidates().empty() && !m_tableText) {
    const int at = m_collective->findData(static_cast<int>(m_bound->question().collective));
    m_collective->setCurrentIndex(std::max(at, 0));
  }
  fill();
  say();
}

void SynthesizeDialog::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Escape && m_search.isRunning()) {
    m_search.cancel();
    return;
  }
  QDialog::keyPressEvent(event);
}

void SynthesizeDialog::fill() {
  const QString chosen = m_root->currentText();
  m_root->clear();
  if (m_file) {
    const Model& model = m_file->document().model();
    for (const auto& [id, node] : model.nodes()) {
      if (node.kind() == fabric::NodeKind::gpu) {
        m_root->addItem(QString::fromStdString(node.facts.name));
      }
    }
    const Node* asked = m_bound ? model.find(m_bound->question().root) : nullptr;
    const int at =
        m_root->findText(chosen.isEmpty() && asked != nullptr ? QString::fromStdString(asked->facts.name) : chosen);
    m_root->setCurrentIndex(std::max(at, 0));
  }
  updateButtons();
}

void SynthesizeDialog::updateForm() {
  const auto collective = static_cast<Collective>(m_collective->currentData().toInt());
  m_form->setRowVisible(m_root, isRooted(collective));
  m_form->setRowVisible(m_tableLine, collective == Collective::custom);
  m_form->setRowVisible(m_direct, collective == Collective::allreduce);
  updateButtons();
}

FrontRequest SynthesizeDialog::request() const {
  FrontRequest request;
  const auto collective = static_cast<Collective>(m_collective->currentData().toInt());
  if (collective == Collective::custom) {
    request.search.table = m_tableText;
  } else {
    request.search.demand.collective = std::string(toString(collective));
  }
  if (isRooted(collective)) {
    request.search.demand.root = m_root->currentText().toStdString();
  }
  request.search.isOneBandwidth = m_oneBandwidth->isChecked();
  if (!request.search.isOneBandwidth) {
    request.search.unit = m_unit->text().trimmed().toStdString();
  }
  request.search.isDirect = collective == Collective::allreduce && m_direct->isChecked();
  request.search.seconds = m_seconds->value();
  request.search.seed = static_cast<std::uint64_t>(m_seed->value());
  request.limits.maxSteps = m_maxSteps->value();
  request.limits.maxChunks = m_maxChunks->value();
  if (m_extraRounds->value() >= 0) {
    request.limits.extraRounds = m_extraRounds->value();
  }
  request.limits.candidateSeconds = m_perCandidate->value();
  return request;
}

bool SynthesizeDialog::refuse(const Error& error) {
  m_state->setText(errorText(error));
  setRole(m_state, u"error"_s);
  return false;
}

bool SynthesizeDialog::openTable(const QString& path) {
  auto text = io::readFile(QFile::encodeName(path).toStdString(), kMaxTableBytes);
  if (!text) {
    return refuse(text.error());
  }
  workflow::TableText table{*std::move(text), QFileInfo(path).fileName().toStdString()};
  if (m_file) {
    const auto fabric = fabric::Fabric::build(*m_file->document().facts());
    if (!fabric) {
      return refuse(fabric.error());
    }
    if (const auto read = workflow::readSearch(*fabric, {.table = table}); !read) {
      return refuse(read.error());
    }
  }
  takeTable(std::move(table), QFileInfo(path).fileName());
  return true;
}

void SynthesizeDialog::takeTable(workflow::TableText table, const QString& name) {
  m_tableText = std::move(table);
  m_tableName->setText(name);
  m_tableName->setToolTip(name);
  m_collective->setCurrentIndex(m_collective->findData(static_cast<int>(Collective::custom)));
  updateForm();
  say();
}

TableEditor* SynthesizeDialog::editTable() {
  if (!m_file) {
    return nullptr;
  }
  auto fabric = fabric::Fabric::build(*m_file->document().facts());
  if (!fabric) {
    refuse(fabric.error());
    return nullptr;
  }
  auto* editor = new TableEditor(*std::move(fabric), m_tableText, this);
  editor->setAttribute(Qt::WA_DeleteOnClose);
  connect(editor, &QDialog::accepted, this, [this, editor] { takeTable(editor->table(), tr("edited")); });
  editor->open();
  return editor;
}

void SynthesizeDialog::start() {
  if (!m_file || !m_book) {
    return;
  }
  m_used.clear();
  m_isChoosing = true;
  m_searchedBook = m_book;
  m_searched.clear();
  m_searched.connect(m_searchedBook, &QObject::destroyed, [this] {
    say();
    updateButtons();
  });
  m_searchedFile = m_file;
  m_searchedRevision = m_file->document().factRevision();
  m_search.start(m_file->document().facts(), request());
}

void SynthesizeDialog::follow() {
  m_model->refresh();
  m_frontChart->refresh();
  m_sizeChart->refresh();
  const std::vector<std::size_t> front = m_search.front();
  if (m_isChoosing && !front.empty() && current() != front.back()) {
    setCurrent(front.back());
  } else if (!m_search.isRunning()) {
    m_frontChart->setCurrent(current());
  }
  say();
  updateButtons();
}

void SynthesizeDialog::followRunning() {
  if (m_search.isRunning()) {
    m_ticker.start();
  } else {
    m_ticker.stop();
  }
  say();
  updateButtons();
}

void SynthesizeDialog::updateButtons() {
  const bool isCustom = m_collective->currentData().toInt() == static_cast<int>(Collective::custom);
  const bool isTableMissing = isCustom && !m_tableText;
  m_start->setEnabled(m_file && m_book && !m_search.isRunning() && !isTableMissing);
  m_start->setToolTip(isTableMissing ? tr("Open or edit a table first") : QString());
  m_copy->setEnabled(m_file && !isCustom);
  m_cancel->setEnabled(m_search.isRunning());
  const auto chosen = current();
  m_use->setEnabled(chosen && m_searchedBook && m_search.candidates()[*chosen].result);
}

void SynthesizeDialog::say() {
  const auto& candidates = m_search.candidates();
  // A size without an answer may be tried again.
  std::map<std::array<std::int64_t, 3>, synth::Verdict> sizes;
  for (const FrontCandidate& each : candidates) {
    sizes[{each.size.chunks, each.size.steps, each.size.rounds}] = each.verdict;
  }
  const auto of = [&](synth::Verdict verdict) {
    return std::count_if(sizes.begin(), sizes.end(), [&](const auto& each) { return each.second == verdict; });
  };
  const auto found = of(synth::Verdict::sat);
  const auto open = of(synth::Verdict::unknown);
  QString count =
      tr("%1 of %2 found").arg(found).arg(counted(static_cast<qsizetype>(sizes.size()), tr("size"), tr("sizes")));
  count += open > 0 ? u", "_s + tr("%1 undecided").arg(open) : QString();
  const QString time = duration(m_search.seconds());
  QStringList lines;
  QString role = u"muted"_s;
  if (m_search.isRunning()) {
    lines << tr("Searching for %1…").arg(time) << count + u'.';
  } else if (!m_search.failure().isEmpty()) {
    lines << m_search.failure();
    role = u"error"_s;
  } else if (m_search.wasCancelled()) {
    lines << tr("Cancelled after %1.").arg(time) << tr("%1; what was found is kept.").arg(count);
  } else if (m_search.end()) {
    const FrontEnd& end = *m_search.end();
    lines << (end.isComplete ? tr("Reached the minimum rounds per chunk, after %1.").arg(time)
              : end.isCutOff ? tr("The time limit ended the search, after %1. More time may find more.").arg(time)
                             : tr("Searched up to the maximum of steps, in %1.").arg(time))
          << count + u'.'
          << (end.minRatio.isPositive()
                  ? tr("No schedule has fewer than %1, or fewer than %2 rounds per chunk.")
                        .arg(counted(end.minSteps, tr("step"), tr("steps")),
                             QString::fromStdString(end.minRatio.toString()))
                  : tr("No schedule has fewer than %1.").arg(counted(end.minSteps, tr("step"), tr("steps"))));
    role = end.isComplete ? u"good"_s : u"muted"_s;
  } else {
    lines << tr("Searches for schedules with few steps, and proves how close each is to the best possible.");
  }
  if (m_searchedFile && m_searchedFile != m_file) {
    lines << tr("This is the front of %1.").arg(m_searchedFile->displayName());
  } else if (m_searchedFile && m_searchedRevision != m_searchedFile->document().factRevision()) {
    lines << tr("The fabric has changed since.");
  } else if (!m_searchedFile && !candidates.empty()) {
    lines << tr("Its document was closed.");
  }
  m_state->setText(lines.join(u"\n\n"_s));
  setRole(m_state, role);
}

void SynthesizeDialog::describe(std::optional<std::size_t> candidate) {
  const auto shown = candidate ? candidate : current();
  if (!shown) {
    m_hint->clear();
    return;
  }
  const FrontCandidate& told = m_search.candidates()[*shown];
  m_hint->setText(u"%1 %2: %3"_s.arg(told.sizeText(), nameOf(kindOf(told)), told.reason));
  m_hint->setToolTip(m_hint->text());
}

std::optional<std::size_t> SynthesizeDialog::candidateAt(const QModelIndex& index) const {
  const QModelIndex source = m_rows->mapToSource(index);
  return source.isValid() && static_cast<std::size_t>(source.row()) < m_search.candidates().size()
             ? std::optional(static_cast<std::size_t>(source.row()))
             : std::nullopt;
}

std::optional<std::size_t> SynthesizeDialog::current() const {
  return candidateAt(m_table->currentIndex());
}

void SynthesizeDialog::setCurrent(std::size_t candidate) {
  const QModelIndex index = m_rows->mapFromSource(m_model->index(static_cast<int>(candidate), 0));
  if (index.isValid()) {
    m_table->setCurrentIndex(index);
    m_table->scrollTo(index);
  } else {
    m_foundOnly->setChecked(false);
    m_table->setCurrentIndex(m_rows->mapFromSource(m_model->index(static_cast<int>(candidate), 0)));
  }
}

void SynthesizeDialog::use() {
  const auto chosen = current();
  if (!chosen || !m_searchedBook || !m_search.candidates()[*chosen].result) {
    return;
  }
  const FrontCandidate& candidate = m_search.candidates()[*chosen];
  Q_EMIT modeWanted();
  const auto before = m_used.find(*chosen);
  int id = before != m_used.end() && m_searchedBook->find(before->second) != nullptr ? before->second : 0;
  if (id != 0) {
    m_searchedBook->setCurrent(id);
  } else {
    id = m_searchedBook->add(candidate.result, u"%1 SCCL %2"_s.arg(collectiveName(candidate.result->options.collective),
                                                                   candidate.sizeText()));
    m_used[*chosen] = id;
  }
  Q_EMIT used(id);
}

}  // namespace coppice::designer
