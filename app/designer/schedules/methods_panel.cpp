// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/schedules/methods_panel.hpp"

#include <QClipboard>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLineEdit>
#include <QStandardItemModel>
#include <QStyle>
#include <QVBoxLayout>
#include <algorithm>
#include <array>
#include <chrono>

#include "designer/document/counted.hpp"
#include "designer/document/error_text.hpp"
#include "designer/document/figures.hpp"
#include "designer/schedules/command_text.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/panel_widgets.hpp"
#include "forestcoll/amounts.hpp"
#include "workflow/method.hpp"
#include "workflow/request.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

enum Part { kAll, kSelected, kBefore };

constexpr int kGenerateGap = 8;

bool hasCapableSwitch(const Model& model) {
  for (const auto& [id, node] : model.nodes()) {
    if (node.facts.multicast || node.facts.aggregation) {
      return true;
    }
  }
  return false;
}

bool hasAnyGpu(const DocumentFile* file) {
  if (file == nullptr) {
    return false;
  }
  for (const auto& [id, node] : file->document().model().nodes()) {
    if (node.kind() == fabric::NodeKind::gpu) {
      return true;
    }
  }
  return false;
}

}  // namespace

MethodsPanel::MethodsPanel(QWidget* parent)
    : QWidget(parent),
      m_collective(new QLabel(this)),
      m_method(new QComboBox(this)),
      m_methodLabel(new QLabel(tr("Method"), this)),
      m_methodText(new QLabel(this)),
      m_pages(new QVBoxLayout),
      m_rootLabel(new QLabel(tr("Root"), this)),
      m_root(new QComboBox(this)),
      m_gpus(new QComboBox(this)),
      m_amountsLabel(new QLabel(tr("Data per GPU"), this)),
      m_amounts(new QLineEdit(this)),
      m_amountsFault(new QLabel(this)),
      m_failure(new QLabel(this)),
      m_sketch(new QPushButton(tr("Edit the Sketch…"), this)),
      m_search(new QPushButton(tr("Search All Numbers of Steps…"), this)),
      m_generate(new QPushButton(tr("Generate"), this)),
      m_job([this](const Found& found) { receive(found); }, 0ms) {
  setObjectName(u"methodsPanel"_s);
  setProperty("role", u"panel"_s);
  setAttribute(Qt::WA_StyledBackground);
  m_generate->setObjectName(u"generateButton"_s);
  m_generate->setProperty("role", u"primary"_s);
  setFocusProxy(m_method);
  m_sketch->setObjectName(u"generateSketch"_s);
  m_search->setObjectName(u"generateSearch"_s);
  setUpSubject();
  layOut();
  connectAll();
  fill();
}

void MethodsPanel::setUpSubject() {
  m_collective->setObjectName(u"generateCollective"_s);
  m_method->setObjectName(u"generateMethod"_s);
  m_method->setAccessibleName(tr("Method"));
  fillMethods();
  constexpr int kMaxMethods = 30;
  m_method->setMaxVisibleItems(kMaxMethods);
  m_methodText->setObjectName(u"generateMethodText"_s);
  m_methodText->setWordWrap(true);
  m_root->setObjectName(u"generateRoot"_s);
  m_root->setAccessibleName(tr("Root"));
  m_gpus->setObjectName(u"generateGpus"_s);
  m_gpus->setAccessibleName(tr("GPUs that take part"));
  for (QComboBox* box : {m_method, m_root, m_gpus}) {
    constexpr int kLetters = 12;
    box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    box->setMinimumContentsLength(kLetters);
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

void MethodsPanel::fillMethods() {
  struct Heading {
    workflow::Family family;
    QString text;
  };
  const std::array headings = {
      Heading{workflow::Family::optimal, tr("OPTIMAL")}, Heading{workflow::Family::fewSteps, tr("FEW STEPS")},
      Heading{workflow::Family::search, tr("FOUND BY SEARCH")}, Heading{workflow::Family::inUse, tr("IN USE TODAY")}};
  auto* items = qobject_cast<QStandardItemModel*>(m_method->model());
  for (const Heading& heading : headings) {
    m_method->addItem(heading.text);
    QStandardItem* item = items->item(m_method->count() - 1);
    item->setFlags(Qt::NoItemFlags);
    item->setFont(sectionFont());
    for (const workflow::Method& method : workflow::methods()) {
      if (method.family == heading.family) {
        m_method->addItem(QString::fromStdString(method.title), QString::fromStdString(method.id));
      }
    }
  }
}

void MethodsPanel::markMethods() {
  const Collective collective = m_book ? m_book->collective() : Collective::allgather;
  auto* items = qobject_cast<QStandardItemModel*>(m_method->model());
  for (int row = 0; row < m_method->count(); ++row) {
    const workflow::Method* method = workflow::findMethod(m_method->itemData(row).toString().toStdString());
    if (method == nullptr) {
      continue;
    }
    const bool makes = method->makes(collective);
    QStandardItem* item = items->item(row);
    item->setEnabled(makes);
    item->setText(QString::fromStdString(method->title) +
                  (makes ? QString() : u" – "_s + tr("not for %1").arg(collectiveName(collective))));
    item->setToolTip(
        makes ? QString::fromStdString(method->description)
              : tr("%1 does not support %2").arg(QString::fromStdString(method->title), collectiveName(collective)));
  }
}

void MethodsPanel::chooseMethod(const std::string& id) {
  const int row = m_method->findData(QString::fromStdString(id));
  m_method->setCurrentIndex(row >= 0 ? row : m_method->findData(QLatin1String(workflow::kDefaultMethod)));
}

QWidget* MethodsPanel::makeTable() {
  auto* whole = new QWidget(this);
  m_scanState = new QLabel(whole);
  m_scanState->setObjectName(u"generateScanState"_s);
  m_scanState->setProperty("role", u"muted"_s);
  m_scanState->setWordWrap(true);
  m_table = new QTableWidget(0, 3, whole);
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
  auto* layout = new QVBoxLayout(whole);
  layout->setContentsMargins({});
  layout->setSpacing(kGenerateGap);
  layout->addWidget(m_scanState);
  layout->addWidget(m_table);
  return whole;
}

QLayout* MethodsPanel::makeForm() {
  // Not a form: it squeezes its last fields where a button before them appears.
  auto* form = new QVBoxLayout;
  form->setSpacing(kGenerateGap);
  auto* gpus = new QLabel(tr("GPUs"), this);
  for (QWidget* each :
       std::initializer_list<QWidget*>{m_collective, m_methodLabel, m_method, m_methodText, m_sketch, m_search,
                                       m_rootLabel, m_root, gpus, m_gpus, m_amountsLabel, m_amounts, m_amountsFault}) {
    form->addWidget(each);
  }
  m_methodLabel->setBuddy(m_method);
  m_rootLabel->setBuddy(m_root);
  gpus->setBuddy(m_gpus);
  m_amountsLabel->setBuddy(m_amounts);
  return form;
}

void MethodsPanel::layOut() {
  QToolButton* copy = iconButton(u"generateCopy"_s, u"copy"_s, tr("Copy as a command line"), this);
  connect(copy, &QToolButton::clicked, this, [this] {
    if (m_file) {
      QGuiApplication::clipboard()->setText(
          generateCommand(m_file->path(), options(), u"schedule"_s + fileSuffix(options())));
    }
  });
  constexpr int kMargin = 14;
  auto* buttons = new QHBoxLayout;
  buttons->setContentsMargins(kMargin, kGenerateGap, kMargin, kGenerateGap);
  buttons->addWidget(m_generate, 1);
  buttons->addWidget(copy);
  constexpr int kMinWidth = 336;
  setMinimumWidth(kMinWidth);
  auto* content = new QWidget(this);
  auto* layout = new QVBoxLayout(content);
  layout->setContentsMargins(kMargin, kGenerateGap, kMargin, kGenerateGap);
  layout->setSpacing(kGenerateGap);
  layout->addLayout(makeForm());
  layout->addSpacing(kGenerateGap);
  layout->addLayout(m_pages);
  m_failure->setObjectName(u"generateFailure"_s);
  m_failure->setProperty("role", u"error"_s);
  m_failure->setWordWrap(true);
  m_failure->hide();
  layout->addWidget(m_failure);
  layout->addStretch(1);
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins({});
  outer->setSpacing(0);
  outer->addWidget(scrolled(content, this), 1);
  outer->addLayout(buttons);
}

void MethodsPanel::connectAll() {
  connect(m_sketch, &QPushButton::clicked, this, &MethodsPanel::sketchWanted);
  connect(m_search, &QPushButton::clicked, this, &MethodsPanel::searchWanted);
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
  connect(m_amounts, &QLineEdit::textChanged, this, changed);
  // The root is that of the bound too, so that both answer one question.
  connect(m_root, &QComboBox::activated, this, [this] {
    if (m_bound && m_file) {
      Question question = m_bound->question();
      question.root = m_file->document().model().nodeNamed(m_root->currentText().toStdString());
      m_bound->setQuestion(question);
    }
  });
}

MethodsPanel::~MethodsPanel() = default;

void MethodsPanel::setSubject(ScheduleBook* book, DocumentFile* file, Selection* selection, LiveBound* bound) {
  if (m_book == book && m_file == file) {
    return;
  }
  m_followed.clear();
  m_book = book;
  m_file = file;
  m_selection = selection;
  m_bound = bound;
  if (m_book) {
    m_followed.connect(m_book, &ScheduleBook::changed, [this] { updateWidgets(); });
    m_followed.connect(m_book, &ScheduleBook::runningChanged, [this] {
      m_failure->setText(m_book->failure());
      m_failure->setVisible(!m_book->failure().isEmpty());
    });
  }
  if (m_file) {
    m_followed.connect(&m_file->document(), &Document::changed, [this](const ChangeEvent& event) {
      if (event.isReset || event.aspects.testFlag(Aspect::facts)) {
        refill();
      }
    });
  }
  if (m_selection) {
    m_followed.connect(m_selection, &Selection::changed, [this] { refill(); });
  }
  if (m_bound) {
    m_followed.connect(m_bound, &LiveBound::changed, [this] { refill(); });
  }
  refill();
}

void MethodsPanel::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  fill();
}

void MethodsPanel::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) {
    m_generate->click();
  } else if (event->key() == Qt::Key_Escape) {
    Q_EMIT closeWanted();
  } else {
    QWidget::keyPressEvent(event);
  }
}

QString MethodsPanel::expected() const {
  if (!m_book || !m_bound) {
    return {};
  }
  const ScheduleResult* best = nullptr;
  for (const ScheduleEntry& entry : m_book->entries()) {
    const bool isMeant = entry.result && entry.result->options.method == m_shownMethod &&
                         entry.result->options.failed.empty() &&
                         entry.result->options.collective == m_book->collective() && m_book->isFresh(entry);
    if (isMeant && (best == nullptr || best->algbw < entry.result->algbw)) {
      best = entry.result.get();
    }
  }
  if (best != nullptr) {
    return best->bound ? tr("Reached %1 GB/s here, %2 of the bound.").arg(decimal(best->algbw), best->shareOfBound())
                       : tr("Reached %1 GB/s here.").arg(decimal(best->algbw));
  }
  const bool isKnown = m_bound->isCurrent() && m_bound->bound() && m_bound->bound()->algbw;
  return m_shownMethod == workflow::kDefaultMethod && isKnown
             ? tr("Reaches the bound: %1 GB/s here.").arg(decimal(*m_bound->bound()->algbw))
             : QString();
}

void MethodsPanel::refill() {
  if (isVisible() || !m_book) {
    fill();
  }
}

std::vector<std::string> MethodsPanel::selectedGpus() const {
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

void MethodsPanel::fill() {
  m_isFilling = true;
  const bool hasBook = m_book && m_file;
  ScheduleOptions options = hasBook ? m_book->options() : ScheduleOptions{};
  options.collective = hasBook ? m_book->collective() : Collective::allgather;
  m_collective->setText(tr("For %1, as chosen above").arg(collectiveName(options.collective)));
  fillGpus(options);
  if (m_amounts->text().toStdString() != options.amounts) {
    m_amounts->setText(QString::fromStdString(options.amounts));
  }
  markMethods();
  // What Generate takes, which is the usual one where the one that was chosen cannot.
  chooseMethod(hasBook ? m_book->nextOptions().method : options.method);
  showMethod();
  m_options->setCollective(options.collective);
  fillMulticast();
  m_options->setValues(options.methodOptions);
  m_isFilling = false;
  updateWidgets();
  restartScan();
}

void MethodsPanel::fillGpus(const ScheduleOptions& options) {
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
  m_gpus->addItem(gpus > 0 ? tr("All %1").arg(gpus) : tr("None yet"), kAll);
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

void MethodsPanel::fillMulticast() {
  const bool isCapable = m_book && m_file && hasCapableSwitch(m_file->document().model());
  m_options->setAvailable(
      kMulticast, isCapable,
      isCapable
          ? tr("Reduces the load of links at switches that are marked as capable. MSCCL programs cannot express it.")
          : tr("No switch of this fabric is marked as capable (see its properties)"));
}

ScheduleOptions MethodsPanel::options() const {
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
  if (method().hasAmounts && workflow::hasAmounts(options.collective)) {
    options.amounts = m_amounts->text().trimmed().toStdString();
  }
  options.method = m_method->currentData().toString().toStdString();
  if (options.method == m_shownMethod) {
    options.methodOptions = m_options->values();
  }
  return options;
}

void MethodsPanel::remember() {
  if (m_book) {
    m_book->setOptions(options());
  }
}

void MethodsPanel::updateWidgets() {
  const bool hasRoot = m_book && isRooted(m_book->collective());
  m_root->setVisible(hasRoot);
  m_rootLabel->setVisible(hasRoot);
  if (m_table) {
    m_table->setVisible(scannedK() > 0);
    m_scanState->setVisible(scannedK() > 0);
  }
  const bool hasAmounts = method().hasAmounts && (!m_book || workflow::hasAmounts(m_book->collective()));
  m_amountsLabel->setVisible(hasAmounts);
  m_amounts->setVisible(hasAmounts);
  judgeAmounts();
  const bool isMade = !m_book || method().makes(m_book->collective());
  const bool hasGpus = hasAnyGpu(m_file);
  m_generate->setEnabled(m_book != nullptr && hasGpus && m_amountsFault->isHidden() && m_options->isValid() && isMade);
  const QString refusal = isMade
                              ? (hasGpus ? QString() : tr("The fabric has no GPUs"))
                              : tr("%1 does not support %2")
                                    .arg(QString::fromStdString(method().title), collectiveName(m_book->collective()));
  m_generate->setToolTip(refusal);
  const QString figure = isMade ? expected() : QString();
  m_methodText->setText(isMade ? QString::fromStdString(method().description) +
                                     (figure.isEmpty() ? QString() : u"\n"_s + figure)
                               : refusal + u'.');
  m_sketch->setVisible(m_shownMethod == "taccl");
  m_search->setVisible(m_shownMethod == "sccl");
  m_methodText->setProperty("role", isMade ? u"muted"_s : u"error"_s);
  m_methodText->style()->polish(m_methodText);
}

void MethodsPanel::showMethod() {
  const std::string id = m_method->currentData().toString().toStdString();
  if (id == m_shownMethod) {
    return;
  }
  m_shownMethod = id;
  delete m_options;
  m_options = new OptionForm(method().options, this);
  m_options->setObjectName(u"generateOptions"_s);
  m_options->setCollective(m_book ? m_book->collective() : Collective::allgather);
  m_options->setVisible(!method().options.empty());
  if (id == workflow::kDefaultMethod) {
    m_options->addBelow(workflow::kTreesPerRoot, makeTable());
    fillMulticast();
  }
  m_pages->addWidget(m_options);
  orderTabs();
  connect(m_options, &OptionForm::changed, this, [this] {
    if (!m_isFilling) {
      remember();
      updateWidgets();
      restartScan();
    }
  });
}

/// The buttons come after the options, which are made later.
void MethodsPanel::orderTabs() {
  QWidget* last = previousInFocusChain();
  while (last != this && last->focusPolicy() == Qt::NoFocus) {
    last = last->previousInFocusChain();
  }
  if (!m_options->isAncestorOf(last)) {
    return;
  }
  for (QWidget* button : {static_cast<QWidget*>(m_generate), findChild<QWidget*>(u"generateCopy"_s)}) {
    setTabOrder(last, button);
    last = button;
  }
}

const workflow::Method& MethodsPanel::method() const {
  const workflow::Method* shown = workflow::findMethod(m_shownMethod);
  return shown != nullptr ? *shown : workflow::methods().front();
}

std::int64_t MethodsPanel::scannedK() const {
  const ScheduleOptions asked = options();
  const std::int64_t k = asked.method == workflow::kDefaultMethod ? asked.integer(kBestOfK).value_or(0) : 0;
  return k <= kMaxScannedK ? k : 0;
}

void MethodsPanel::judgeAmounts() {
  m_amountsFault->hide();
  const ScheduleOptions asked = options();
  if (!m_file || asked.amounts.empty()) {
    return;
  }
  const auto part = chosenPart(*m_file->document().facts(), asked.part());
  const auto fabric = part ? fabric::Fabric::build(*part) : Result<fabric::Fabric>(part.error());
  if (!fabric) {
    return;  // the problems of the fabric are shown elsewhere
  }
  if (const auto amounts = forestcoll::parseAmounts(*fabric, asked.amounts); !amounts) {
    m_amountsFault->setText(sentence(amounts.error()));
    m_amountsFault->show();
  }
}

void MethodsPanel::restartScan() {
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
  if (m_table) {
    m_table->setRowCount(0);
    m_scanState->clear();
  }
  follow();
}

void MethodsPanel::follow() {
  const auto next = static_cast<std::int64_t>(m_values.size()) + 1;
  if (!m_file || !isVisible() || !m_table || next > scannedK() || m_ordered == next) {
    return;
  }
  m_ordered = next;
  m_scanState->setText(tr("Trying k = %1…").arg(next));
  m_job.submit([facts = m_file->document().facts(), options = options(), next](std::stop_token stop) {
    Progress progress;
    progress.stop = std::move(stop);
    Found found{next, {}, {}};
    const auto part = chosenPart(*facts, options.part());
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

void MethodsPanel::receive(const Found& found) {
  m_ordered = 0;
  if (!m_table) {
    return;
  }
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
