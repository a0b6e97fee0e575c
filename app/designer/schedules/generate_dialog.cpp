// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/schedules/generate_dialog.hpp"

#include <QClipboard>
#include <QFormLayout>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLineEdit>
#include <QStyle>
#include <QVBoxLayout>
#include <algorithm>
#include <chrono>

#include "designer/document/counted.hpp"
#include "designer/document/error_text.hpp"
#include "designer/document/figures.hpp"
#include "designer/schedules/command_text.hpp"
#include "designer/theme/fonts.hpp"
#include "forestcoll/amounts.hpp"
#include "workflow/generator.hpp"
#include "workflow/request.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

enum Part { kAll, kSelected, kBefore };

constexpr int kGenerateGap = 8;

QLabel* heading(const QString& text, QWidget* parent) {
  auto* label = new QLabel(text.toUpper(), parent);
  label->setFont(sectionFont());
  label->setProperty("role", u"section"_s);
  return label;
}

bool hasCapableSwitch(const Model& model) {
  for (const auto& [id, node] : model.nodes()) {
    if (node.facts.multicast || node.facts.aggregation) {
      return true;
    }
  }
  return false;
}

}  // namespace

GenerateDialog::GenerateDialog(QWidget* parent)
    : QDialog(parent),
      m_collective(new QLabel(this)),
      m_method(new QComboBox(this)),
      m_methodLabel(new QLabel(tr("Method"), this)),
      m_methodText(new QLabel(this)),
      m_forestColl(new QWidget(this)),
      m_pages(new QVBoxLayout),
      m_rootLabel(new QLabel(tr("Root"), this)),
      m_root(new QComboBox(this)),
      m_gpus(new QComboBox(this)),
      m_amountsLabel(new QLabel(tr("Data per GPU"), this)),
      m_amounts(new QLineEdit(this)),
      m_amountsFault(new QLabel(this)),
      m_exact(new QRadioButton(tr("The minimum that reaches the bound"), this)),
      m_fixed(new QRadioButton(tr("Exactly"), this)),
      m_scan(new QRadioButton(tr("The best of 1 to"), this)),
      m_bySizes(new QRadioButton(tr("The best for programs used at"), this)),
      m_byLoss(new QRadioButton(tr("The minimum that loses at most"), this)),
      m_sizes(new QComboBox(this)),
      m_loss(new QLineEdit(this)),
      m_countFault(new QLabel(this)),
      m_k(new QSpinBox(this)),
      m_maxK(new QSpinBox(this)),
      m_table(new QTableWidget(0, 3, this)),
      m_scanState(new QLabel(this)),
      m_capsHeight(new QCheckBox(tr("Maximum tree height"), this)),
      m_height(new QSpinBox(this)),
      m_effort(new QSpinBox(this)),
      m_limitsPeers(new QCheckBox(tr("Maximum peers per GPU"), this)),
      m_peers(new QSpinBox(this)),
      m_multicast(new QCheckBox(tr("Use multicast and aggregation in switches"), this)),
      m_generate(new QPushButton(tr("Generate"), this)),
      m_job([this](const Found& found) { receive(found); }, 0ms) {
  setObjectName(u"generateDialog"_s);
  setWindowTitle(tr("Generate a Schedule"));
  setModal(false);
  m_generate->setObjectName(u"generateButton"_s);
  m_generate->setDefault(true);
  setUpSubject();
  setUpTreeCounts();
  setUpTable();
  setUpLimits();
  layOut();
  connectAll();
  fill();
}

void GenerateDialog::setUpSubject() {
  m_collective->setObjectName(u"generateCollective"_s);
  m_method->setObjectName(u"generateMethod"_s);
  m_method->setAccessibleName(tr("Method"));
  for (const workflow::Generator& method : workflow::generators()) {
    m_method->addItem(QString::fromStdString(method.title), QString::fromStdString(method.id));
    m_method->setItemData(m_method->count() - 1, QString::fromStdString(method.description), Qt::ToolTipRole);
  }
  m_method->setVisible(m_method->count() > 1);
  m_methodLabel->setVisible(m_method->count() > 1);
  constexpr int kMaxMethods = 24;
  m_method->setMaxVisibleItems(kMaxMethods);
  m_methodText->setObjectName(u"generateMethodText"_s);
  m_methodText->setWordWrap(true);
  constexpr int kTextWidth = 280;
  m_methodText->setMinimumWidth(kTextWidth);
  m_root->setObjectName(u"generateRoot"_s);
  m_root->setAccessibleName(tr("Root"));
  m_gpus->setObjectName(u"generateGpus"_s);
  m_gpus->setAccessibleName(tr("GPUs that take part"));
  for (QComboBox* box : {m_method, m_root, m_gpus}) {
    box->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  }
  m_amounts->setObjectName(u"generateAmounts"_s);
  m_amounts->setAccessibleName(tr("Relative data of each GPU"));
  m_amounts->setPlaceholderText(tr("equal, or 1,1,2,0, or b0g3=2, b1*=0"));
  m_amounts->setToolTip(
      tr("Relative amount of each GPU: one number per rank, or numbers by name, where * stands for any "
         "characters and all other GPUs have 1"));
  m_amountsFault->setObjectName(u"generateAmountsFault"_s);
  m_amountsFault->setProperty("role", u"error"_s);
  m_amountsFault->setWordWrap(true);
}

void GenerateDialog::setUpTreeCounts() {
  m_exact->setObjectName(u"generateExact"_s);
  m_fixed->setObjectName(u"generateFixed"_s);
  m_scan->setObjectName(u"generateScan"_s);
  m_bySizes->setObjectName(u"generateBySizes"_s);
  m_bySizes->setToolTip(
      tr("A runtime uses a program only for calls that its chunks divide, and the number of chunks follows from the "
         "number of trees. All other calls use the runtime's own algorithm."));
  m_sizes->setObjectName(u"generateSizes"_s);
  m_sizes->setAccessibleName(tr("Sizes at which the program is used"));
  m_sizes->setEditable(true);
  m_sizes->lineEdit()->setAccessibleName(m_sizes->accessibleName());
  m_sizes->setInsertPolicy(QComboBox::NoInsert);
  m_sizes->addItem(tr("Powers of two"));
  m_sizes->setToolTip(tr("Powers of two, or sizes of the whole collective, for example 1MiB,100MiB"));
  m_byLoss->setObjectName(u"generateByLoss"_s);
  m_loss->setObjectName(u"generateLoss"_s);
  m_loss->setAccessibleName(tr("Maximum loss of throughput"));
  m_loss->setPlaceholderText(tr("1% or 0.01"));
  m_countFault->setObjectName(u"generateCountFault"_s);
  m_countFault->setProperty("role", u"error"_s);
  m_countFault->setWordWrap(true);
  m_k->setObjectName(u"generateK"_s);
  m_k->setAccessibleName(tr("Trees per root"));
  m_k->setRange(1, static_cast<int>(kMaxFixedK));
  m_maxK->setObjectName(u"generateMaxK"_s);
  m_maxK->setAccessibleName(tr("Maximum trees per root"));
  m_maxK->setRange(2, static_cast<int>(kMaxScannedK));
}

void GenerateDialog::setUpTable() {
  m_scanState->setObjectName(u"generateScanState"_s);
  m_scanState->setProperty("role", u"muted"_s);
  m_scanState->setWordWrap(true);
  m_table->setObjectName(u"generateTable"_s);
  m_table->setHorizontalHeaderLabels({tr("k"), tr("GB/s"), tr("Loss")});
  m_table->setAccessibleName(tr("Loss for each number of trees"));
  m_table->verticalHeader()->hide();
  m_table->setShowGrid(false);
  m_table->setFrameShape(QFrame::NoFrame);
  m_table->setEditTriggers(QAbstractItemView::NoEditTriggers);
  m_table->setSelectionMode(QAbstractItemView::NoSelection);
  m_table->setFocusPolicy(Qt::NoFocus);
  m_table->horizontalHeader()->setSectionResizeMode(QHeaderView::Stretch);
  constexpr int kTableHeight = 206;
  constexpr int kRowHeight = 22;
  m_table->verticalHeader()->setMinimumSectionSize(kRowHeight);
  m_table->verticalHeader()->setDefaultSectionSize(kRowHeight);
  m_table->setFixedHeight(kTableHeight);
}

void GenerateDialog::setUpLimits() {
  m_capsHeight->setObjectName(u"generateCapsHeight"_s);
  m_height->setObjectName(u"generateHeight"_s);
  m_height->setAccessibleName(tr("Maximum height"));
  constexpr int kMaxHeight = 100000;
  constexpr int kUsualHeight = 8;
  m_height->setRange(1, kMaxHeight);
  m_height->setValue(kUsualHeight);
  m_height->setSuffix(tr(" hops between GPUs"));
  m_effort->setObjectName(u"generateEffort"_s);
  m_effort->setRange(0, kMaxHeightEffort);
  m_effort->setToolTip(tr("0 = off, 1 = default (cheap); each step roughly doubles the work"));
  m_limitsPeers->setObjectName(u"generateLimitsPeers"_s);
  m_limitsPeers->setToolTip(
      tr("Each peer takes a threadblock of the program. GPUs of different boxes are wired sparsely and relay for each "
         "other. The cost is exact and often zero"));
  m_peers->setObjectName(u"generatePeers"_s);
  m_peers->setAccessibleName(tr("Maximum peers of a GPU"));
  constexpr int kUsualPeers = 32;
  m_peers->setRange(1, kMaxPeerLimit);
  m_peers->setValue(kUsualPeers);
  m_peers->setSuffix(tr(" other GPUs"));
  m_multicast->setObjectName(u"generateMulticast"_s);
}

QLayout* GenerateDialog::makeForm() {
  auto* form = new QFormLayout;
  form->setFieldGrowthPolicy(QFormLayout::ExpandingFieldsGrow);
  form->setHorizontalSpacing(2 * kGenerateGap);
  form->setVerticalSpacing(kGenerateGap);
  form->addRow(tr("Collective"), m_collective);
  form->addRow(m_methodLabel, m_method);
  form->addRow(QString(), m_methodText);
  form->addRow(m_rootLabel, m_root);
  form->addRow(tr("GPUs"), m_gpus);
  form->addRow(m_amountsLabel, m_amounts);
  form->addRow(QString(), m_amountsFault);
  return form;
}

void GenerateDialog::layOutForestColl() {
  const auto beside = [](QWidget* left, QWidget* right) {
    auto* line = new QHBoxLayout;
    line->addWidget(left);
    line->addWidget(right, 1);
    return line;
  };
  auto* effort = new QFormLayout;
  effort->setHorizontalSpacing(2 * kGenerateGap);
  effort->addRow(tr("Effort to keep trees shallow"), m_effort);
  auto* layout = new QVBoxLayout(m_forestColl);
  layout->setContentsMargins({});
  layout->setSpacing(kGenerateGap);
  layout->addWidget(heading(tr("Trees per root"), this));
  layout->addWidget(m_exact);
  layout->addLayout(beside(m_fixed, m_k));
  layout->addLayout(beside(m_scan, m_maxK));
  layout->addLayout(beside(m_bySizes, m_sizes));
  layout->addLayout(beside(m_byLoss, m_loss));
  layout->addWidget(m_countFault);
  layout->addWidget(m_scanState);
  layout->addWidget(m_table);
  layout->addSpacing(kGenerateGap);
  layout->addWidget(heading(tr("Height"), this));
  layout->addLayout(beside(m_capsHeight, m_height));
  layout->addLayout(effort);
  layout->addSpacing(kGenerateGap);
  layout->addWidget(heading(tr("Peers"), this));
  layout->addLayout(beside(m_limitsPeers, m_peers));
  layout->addSpacing(kGenerateGap);
  layout->addWidget(m_multicast);
}

void GenerateDialog::layOut() {
  auto* copy = new QPushButton(tr("Copy as Command Line"), this);
  copy->setObjectName(u"generateCopy"_s);
  copy->setAutoDefault(false);
  connect(copy, &QPushButton::clicked, this, [this] {
    if (m_file) {
      QGuiApplication::clipboard()->setText(
          generateCommand(m_file->path(), options(), u"schedule"_s + fileSuffix(options())));
    }
  });
  auto* close = new QPushButton(tr("Close"), this);
  close->setAutoDefault(false);
  connect(close, &QPushButton::clicked, this, &QDialog::reject);
  auto* buttons = new QHBoxLayout;
  buttons->addWidget(copy);
  buttons->addStretch(1);
  buttons->addWidget(close);
  buttons->addWidget(m_generate);
  auto* layout = new QVBoxLayout(this);
  constexpr int kMargin = 16;
  layout->setContentsMargins(kMargin, kMargin, kMargin, kMargin);
  layout->setSpacing(kGenerateGap);
  layout->addLayout(makeForm());
  layout->addSpacing(kGenerateGap);
  layout->addWidget(m_forestColl);
  layout->addLayout(m_pages);
  layout->addSpacing(kGenerateGap);
  layout->addLayout(buttons);
  layout->setSizeConstraint(QLayout::SetFixedSize);
  layOutForestColl();
}

void GenerateDialog::connectAll() {
  connect(m_generate, &QPushButton::clicked, this, [this] {
    if (m_book) {
      remember();
      m_book->generate();
      Q_EMIT started();
    }
  });
  const auto changed = [this] {
    if (!m_isFilling) {
      showMethod();
      remember();
      updateWidgets();
      restartScan();
    }
  };
  for (QComboBox* box : {m_method, m_root, m_gpus}) {
    connect(box, &QComboBox::currentIndexChanged, this, changed);
  }
  for (QLineEdit* line : {m_amounts, m_loss, m_sizes->lineEdit()}) {
    connect(line, &QLineEdit::textChanged, this, changed);
  }
  for (QRadioButton* button : {m_exact, m_fixed, m_scan, m_bySizes, m_byLoss}) {
    connect(button, &QRadioButton::toggled, this, changed);
  }
  for (QSpinBox* box : {m_k, m_maxK, m_height, m_effort, m_peers}) {
    connect(box, &QSpinBox::valueChanged, this, changed);
  }
  for (QCheckBox* box : {m_capsHeight, m_limitsPeers, m_multicast}) {
    connect(box, &QCheckBox::toggled, this, changed);
  }
  // The root is that of the bound too, so that both answer one question.
  connect(m_root, &QComboBox::activated, this, [this] {
    if (m_bound && m_file) {
      Question question = m_bound->question();
      question.root = m_file->document().model().nodeNamed(m_root->currentText().toStdString());
      m_bound->setQuestion(question);
    }
  });
}

GenerateDialog::~GenerateDialog() = default;

void GenerateDialog::setSubject(ScheduleBook* book, DocumentFile* file, Selection* selection, LiveBound* bound) {
  if (m_book == book && m_file == file) {
    return;
  }
  m_followed = std::make_unique<QObject>();
  m_book = book;
  m_file = file;
  m_selection = selection;
  m_bound = bound;
  if (m_file) {
    connect(&m_file->document(), &Document::changed, m_followed.get(), [this](const ChangeEvent& event) {
      if (event.isReset || event.aspects.testFlag(Aspect::facts)) {
        refill();
      }
    });
  }
  if (m_selection) {
    connect(m_selection, &Selection::changed, m_followed.get(), [this] { refill(); });
  }
  if (m_bound) {
    connect(m_bound, &LiveBound::changed, m_followed.get(), [this] { refill(); });
  }
  refill();
}

void GenerateDialog::showEvent(QShowEvent* event) {
  QDialog::showEvent(event);
  fill();
}

void GenerateDialog::refill() {
  if (isVisible() || !m_book) {
    fill();
  }
}

std::vector<std::string> GenerateDialog::selectedGpus() const {
  std::vector<std::string> names;
  if (m_selection && m_file) {
    for (const NodeId id : m_selection->nodesAndContents()) {
      const Node* node = m_file->document().model().find(id);
      if (node != nullptr && node->kind() == fabric::NodeKind::gpu) {
        names.push_back(node->facts.name);
      }
    }
  }
  return names;
}

void GenerateDialog::fill() {
  m_isFilling = true;
  const bool hasBook = m_book && m_file;
  ScheduleOptions options = hasBook ? m_book->options() : ScheduleOptions{};
  options.collective = hasBook ? m_book->collective() : Collective::allgather;
  m_collective->setText(collectiveName(options.collective));
  fillGpus(options);
  if (m_amounts->text().toStdString() != options.amounts) {
    m_amounts->setText(QString::fromStdString(options.amounts));
  }
  m_method->setCurrentIndex(std::max(0, m_method->findData(QString::fromStdString(options.method))));
  showMethod();
  if (m_options != nullptr) {
    m_options->setValues(options.methodOptions);
  }
  fillForestColl(options);
  m_isFilling = false;
  updateWidgets();
  restartScan();
}

void GenerateDialog::fillGpus(const ScheduleOptions& options) {
  m_root->clear();
  m_gpus->clear();
  int gpus = 0;
  if (m_book && m_file) {
    const Model& model = m_file->document().model();
    for (const auto& [id, node] : model.nodes()) {
      if (node.kind() == fabric::NodeKind::gpu) {
        ++gpus;
        m_root->addItem(QString::fromStdString(node.facts.name));
      }
    }
    const NodeId asked = m_bound ? m_bound->question().root : NodeId{};
    const Node* root = model.find(asked);
    const int at = m_root->findText(QString::fromStdString(root != nullptr ? root->facts.name : options.root));
    m_root->setCurrentIndex(std::max(at, 0));
  }
  m_gpus->addItem(tr("All %1").arg(gpus), kAll);
  const std::vector<std::string> selected = selectedGpus();
  constexpr std::size_t kMinGpus = 2;
  if (selected.size() >= kMinGpus && static_cast<int>(selected.size()) < gpus) {
    m_gpus->addItem(tr("The %1 selected").arg(selected.size()), kSelected);
  }
  m_chosenBefore = options.gpus;
  if (!options.gpus.empty() && options.gpus != selected) {
    m_gpus->addItem(tr("%1 chosen earlier").arg(options.gpus.size()), kBefore);
  }
  const int part = options.gpus.empty() ? kAll : (options.gpus == selected ? kSelected : kBefore);
  m_gpus->setCurrentIndex(std::max(0, m_gpus->findData(part)));
}

void GenerateDialog::fillForestColl(const ScheduleOptions& options) {
  m_exact->setChecked(options.treeCount == TreeCount::exact);
  m_fixed->setChecked(options.treeCount == TreeCount::fixed);
  m_scan->setChecked(options.treeCount == TreeCount::scan);
  m_bySizes->setChecked(options.treeCount == TreeCount::sizes);
  m_byLoss->setChecked(options.treeCount == TreeCount::loss);
  if (sizesText() != options.sizes) {
    m_sizes->setEditText(options.sizes == "pow2" ? m_sizes->itemText(0) : QString::fromStdString(options.sizes));
  }
  if (m_loss->text().trimmed().toStdString() != options.loss) {
    m_loss->setText(QString::fromStdString(options.loss));
  }
  m_k->setValue(static_cast<int>(options.k));
  m_maxK->setValue(static_cast<int>(options.maxK));
  m_capsHeight->setChecked(options.maxHeight.has_value());
  if (options.maxHeight) {
    m_height->setValue(*options.maxHeight);
  }
  m_limitsPeers->setChecked(options.maxPeers.has_value());
  if (options.maxPeers) {
    m_peers->setValue(*options.maxPeers);
  }
  m_effort->setValue(options.heightEffort);
  const bool isCapable = m_book && m_file && hasCapableSwitch(m_file->document().model());
  m_multicast->setEnabled(isCapable);
  m_multicast->setChecked(options.usesMulticast && isCapable);
  m_multicast->setToolTip(
      isCapable
          ? tr("Reduces the load of links at switches that are marked as capable. MSCCL programs cannot express it.")
          : tr("No switch of this fabric is marked as capable (see its properties)"));
}

ScheduleOptions GenerateDialog::options() const {
  ScheduleOptions options;
  options.collective = m_book ? m_book->collective() : Collective::allgather;
  if (isRooted(options.collective)) {
    options.root = m_root->currentText().toStdString();
  }
  switch (m_gpus->currentData().toInt()) {
    case kSelected:
      options.gpus = selectedGpus();
      break;
    case kBefore:
      options.gpus = m_chosenBefore;
      break;
    default:
      break;
  }
  if (m_shownMethod == workflow::kDefaultMethod && workflow::hasAmounts(options.collective)) {
    options.amounts = m_amounts->text().trimmed().toStdString();
  }
  options.method = m_method->currentData().toString().toStdString();
  if (m_options != nullptr && options.method == m_shownMethod) {
    options.methodOptions = m_options->values();
  }
  options.treeCount = m_fixed->isChecked()     ? TreeCount::fixed
                      : m_scan->isChecked()    ? TreeCount::scan
                      : m_bySizes->isChecked() ? TreeCount::sizes
                      : m_byLoss->isChecked()  ? TreeCount::loss
                                               : TreeCount::exact;
  options.sizes = sizesText();
  options.loss = m_loss->text().trimmed().toStdString();
  options.k = m_k->value();
  options.maxK = m_maxK->value();
  if (m_capsHeight->isChecked()) {
    options.maxHeight = m_height->value();
  }
  if (m_limitsPeers->isChecked()) {
    options.maxPeers = m_peers->value();
  }
  options.heightEffort = m_effort->value();
  options.usesMulticast = m_multicast->isChecked();
  return options;
}

void GenerateDialog::remember() {
  if (m_book) {
    m_book->setOptions(options());
  }
}

void GenerateDialog::updateWidgets() {
  const bool hasRoot = m_book && isRooted(m_book->collective());
  m_root->setVisible(hasRoot);
  m_rootLabel->setVisible(hasRoot);
  m_k->setEnabled(m_fixed->isChecked());
  m_maxK->setEnabled(m_scan->isChecked());
  m_sizes->setEnabled(m_bySizes->isChecked());
  m_loss->setEnabled(m_byLoss->isChecked());
  m_height->setEnabled(m_capsHeight->isChecked());
  m_peers->setEnabled(m_limitsPeers->isChecked());
  m_table->setVisible(m_scan->isChecked());
  m_scanState->setVisible(m_scan->isChecked());
  // Only ForestColl takes other amounts than equal ones.
  const bool hasAmounts =
      m_shownMethod == workflow::kDefaultMethod && (!m_book || workflow::hasAmounts(m_book->collective()));
  m_amountsLabel->setVisible(hasAmounts);
  m_amounts->setVisible(hasAmounts);
  judgeAmounts();
  judgeCount();
  const workflow::Generator* method = workflow::findGenerator(m_shownMethod);
  const bool isMade = !m_book || method == nullptr || method->makes(m_book->collective());
  m_generate->setEnabled(m_book != nullptr && m_amountsFault->isHidden() && m_countFault->isHidden() && isMade);
  const QString refusal =
      isMade ? QString()
             : tr("%1 does not support %2").arg(m_method->currentText(), collectiveName(m_book->collective()));
  m_generate->setToolTip(refusal);
  m_methodText->setText(isMade && method != nullptr ? QString::fromStdString(method->description) : refusal + u'.');
  m_methodText->setProperty("role", isMade ? u"muted"_s : u"error"_s);
  m_methodText->style()->polish(m_methodText);
}

void GenerateDialog::showMethod() {
  const std::string id = m_method->currentData().toString().toStdString();
  if (id == m_shownMethod) {
    return;
  }
  m_shownMethod = id;
  delete m_options;
  m_options = nullptr;
  const workflow::Generator* method = workflow::findGenerator(id);
  const bool isForestColl = id == workflow::kDefaultMethod;
  m_forestColl->setVisible(isForestColl);
  if (!isForestColl && method != nullptr) {
    m_options = new OptionForm(method->options, this);
    m_options->setObjectName(u"generateOptions"_s);
    m_pages->addWidget(m_options);
    connect(m_options, &OptionForm::changed, this, [this] {
      if (!m_isFilling) {
        remember();
      }
    });
  }
}

void GenerateDialog::judgeAmounts() {
  m_amountsFault->hide();
  const ScheduleOptions asked = options();
  if (!m_file || asked.amounts.empty()) {
    return;
  }
  const auto part = chosenPart(*m_file->document().facts(), asked.gpus);
  const auto fabric = part ? fabric::Fabric::build(*part) : Result<fabric::Fabric>(part.error());
  if (!fabric) {
    return;  // the problems of the fabric are shown elsewhere
  }
  if (const auto amounts = forestcoll::parseAmounts(*fabric, asked.amounts); !amounts) {
    m_amountsFault->setText(sentence(amounts.error()));
    m_amountsFault->show();
  }
}

std::string GenerateDialog::sizesText() const {
  const QString text = m_sizes->currentText().trimmed();
  return text == m_sizes->itemText(0) ? "pow2" : QString(text).remove(u' ').toStdString();
}

void GenerateDialog::judgeCount() {
  const auto fault = m_bySizes->isChecked()  ? sizesFault(sizesText())
                     : m_byLoss->isChecked() ? lossFault(m_loss->text().trimmed().toStdString())
                                             : std::nullopt;
  m_countFault->setText(fault ? sentence(*fault) : QString());
  m_countFault->setVisible(fault.has_value());
}

void GenerateDialog::restartScan() {
  const std::uint64_t revision = m_file ? m_file->document().factRevision() : 0;
  const ScheduleOptions asked = options();
  if (m_scanned == asked && m_scanRevision == revision && m_scanFile == m_file) {
    follow();
    return;
  }
  m_scanned = asked;
  m_scanRevision = revision;
  m_scanFile = m_file;
  m_job.cancel();
  m_ordered = 0;
  m_values.clear();
  m_table->setRowCount(0);
  m_scanState->clear();
  follow();
}

void GenerateDialog::follow() {
  const auto next = static_cast<std::int64_t>(m_values.size()) + 1;
  if (!m_file || !isVisible() || !m_scan->isChecked() || m_shownMethod != workflow::kDefaultMethod ||
      next > m_maxK->value() || m_ordered == next) {
    return;
  }
  m_ordered = next;
  m_scanState->setText(tr("Trying k = %1…").arg(next));
  m_job.submit([facts = m_file->document().facts(), options = options(), next](std::stop_token stop) {
    Progress progress;
    progress.stop = std::move(stop);
    Found found{next, {}, {}};
    const auto part = chosenPart(*facts, options.gpus);
    if (!part) {
      found.why = sentence(part.error());
      return found;
    }
    const auto fabric = fabric::Fabric::build(*part);
    if (!fabric) {
      found.why = sentence(fabric.error());
      return found;
    }
    const Outcome done = scanTreeCounts(
        *fabric, options, next, next, [&](const KValue& value) { found.value = value; }, progress);
    if (!done) {
      found.why = sentence(done.error());
    }
    return found;
  });
}

void GenerateDialog::receive(const Found& found) {
  m_ordered = 0;
  if (!found.value) {
    m_scanState->setText(found.why);
    return;
  }
  m_values.push_back(*found.value);
  const bool hasBound = m_bound && m_bound->isCurrent() && m_bound->bound()->algbw && m_gpus->currentData() == kAll &&
                        m_amounts->text().trimmed().isEmpty();
  const Bandwidth best = hasBound
                             ? *m_bound->bound()->algbw
                             : std::max_element(m_values.begin(), m_values.end(), [](const KValue& a, const KValue& b) {
                                 return a.algbw < b.algbw;
                               })->algbw;
  m_table->setRowCount(static_cast<int>(m_values.size()));
  for (std::size_t i = 0; i < m_values.size(); ++i) {
    const KValue& value = m_values[i];
    const QString loss = value.algbw == best ? tr("nothing") : percentOf(best - value.algbw, best);
    const QStringList texts{QString::number(value.k), decimal(value.algbw), loss};
    for (int column = 0; column < texts.size(); ++column) {
      auto* item = new QTableWidgetItem(texts[column]);
      item->setFont(figureFont());
      item->setTextAlignment(Qt::AlignCenter);
      item->setToolTip(tr("%1 GB/s").arg(exactly(value.algbw)));
      m_table->setItem(static_cast<int>(i), column, item);
    }
  }
  m_table->scrollToBottom();
  m_scanState->setText(hasBound ? tr("Relative to the bound of %1 GB/s").arg(decimal(best))
                                : tr("Relative to the best of these"));
  follow();
}

}  // namespace coppice::designer
