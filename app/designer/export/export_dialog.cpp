// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/export/export_dialog.hpp"

#include <QClipboard>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QFormLayout>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <chrono>
#include <sstream>
#include <utility>

#include "designer/document/counted.hpp"
#include "designer/document/error_text.hpp"
#include "designer/document/figures.hpp"
#include "designer/export/export_command.hpp"
#include "designer/schedules/command_text.hpp"
#include "designer/theme/fonts.hpp"
#include "designer/theme/style.hpp"
#include "io/files.hpp"
#include "io/tree_xml.hpp"
#include "lowering/protocol.hpp"
#include "program/run_guide.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

constexpr int kThousand = 1000;
constexpr int kMaxInstances = 32;
constexpr int kExportGap = 8;

/// No runtime compares roots, so the name of the file says which one it is for.
QString programSuffix(const ScheduleResult& result) {
  const auto root = result.root();
  return root ? u"-root%1.xml"_s.arg(*root) : u".xml"_s;
}

}  // namespace

ExportDialog::ExportDialog(ScheduleResultPtr result, QString name, QString schedulePath, QString fabricPath,
                           AskPath askPath, QWidget* parent)
    : QDialog(parent),
      m_result(std::move(result)),
      m_name(std::move(name)),
      m_schedulePath(std::move(schedulePath)),
      m_fabricPath(std::move(fabricPath)),
      m_askPath(std::move(askPath)),
      m_runtime(new QComboBox(this)),
      m_protocol(new QComboBox(this)),
      m_place(new QComboBox(this)),
      m_channels(new QComboBox(this)),
      m_instances(new QSpinBox(this)),
      m_minBytes(new QLineEdit(this)),
      m_maxBytes(new QLineEdit(this)),
      m_sizeFault(new QLabel(this)),
      m_title(new QLabel(this)),
      m_summary(new QLabel(this)),
      m_progress(new QProgressBar(this)),
      m_list(new CheckList(this)),
      m_saved(new QLabel(this)),
      m_guide(new QPlainTextEdit(this)),
      m_copyGuide(new QPushButton(tr("Copy How to Run"), this)),
      m_showGuide(new QPushButton(tr("How to Run"), this)),
      m_save(new QPushButton(tr("Save Program…"), this)),
      m_job([this](std::shared_ptr<const ExportCheck> check) { receive(std::move(check)); }, 0ms),
      m_generator([this](const std::shared_ptr<const Result<ScheduleResultPtr>>& made) { takeSchedule(*made); }, 0ms) {
  setObjectName(u"exportDialog"_s);
  constexpr QSize kSize(900, 680);
  resize(kSize);
  setUpSettings();
  setUpSizes();
  setUpResult();
  setUpGuide();
  nameSchedule();
  layOut();
  connectAll();
  judge();
}

void ExportDialog::setUpSettings() {
  m_runtime->setObjectName(u"exportRuntime"_s);
  m_protocol->setObjectName(u"exportProtocol"_s);
  m_place->setObjectName(u"exportPlace"_s);
  m_channels->setObjectName(u"exportChannels"_s);
  m_instances->setObjectName(u"exportInstances"_s);
  for (const workflow::Destination& each : workflow::destinations()) {
    m_runtime->addItem(destinationTitle(each), m_runtime->count());
  }
  for (const auto protocol : {program::Protocol::simple, program::Protocol::ll, program::Protocol::ll128}) {
    const std::string_view word = program::toString(protocol);
    m_protocol->addItem(QString::fromUtf8(word.data(), static_cast<qsizetype>(word.size())),
                        static_cast<int>(protocol));
  }
  m_protocol->setToolTip(
      tr("Simple for bandwidth, LL and LL128 for latency at small sizes, and for broadcast and reduce between boxes, "
         "where Simple hangs"));
  if (const auto chosen = lowering::chooseProtocol(*m_result->fabric, schedule::collectiveOf(m_result->schedule), {})) {
    m_protocol->setCurrentIndex(m_protocol->findData(static_cast<int>(*chosen)));
  }
  m_place->addItem(tr("In place"), true);
  m_place->addItem(tr("Out of place"), false);
  if (!lowering::hasInPlace(schedule::collectiveOf(m_result->schedule))) {
    m_place->removeItem(0);
  }
  m_channels->addItem(tr("Minimum"), static_cast<int>(lowering::ChannelPolicy::compact));
  m_channels->addItem(tr("By NIC planes, odd and even"), static_cast<int>(lowering::ChannelPolicy::nicPlanes));
  m_instances->setRange(1, kMaxInstances);
  m_instances->setToolTip(tr("Independent copies, each moving its share of every chunk"));
  for (QComboBox* box : {m_runtime, m_protocol, m_place, m_channels}) {
    box->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  }
}

void ExportDialog::setUpSizes() {
  m_minBytes->setObjectName(u"exportMinBytes"_s);
  m_maxBytes->setObjectName(u"exportMaxBytes"_s);
  m_minBytes->setPlaceholderText(tr("0"));
  m_maxBytes->setPlaceholderText(tr("any size"));
  m_minBytes->setToolTip(tr("Smallest size of the whole collective, for example 64 KiB"));
  m_maxBytes->setToolTip(tr("Largest size of the whole collective, for example 1 GiB"));
  m_sizeFault->setProperty("role", u"error"_s);
  m_sizeFault->setWordWrap(true);
}

void ExportDialog::setUpResult() {
  m_title->setProperty("role", u"muted"_s);
  m_summary->setObjectName(u"exportSummary"_s);
  m_summary->setWordWrap(true);
  m_summary->setFont(uiFont(13, QFont::DemiBold));
  m_progress->setRange(0, kThousand);
  m_progress->setTextVisible(false);
  m_progress->setAccessibleName(tr("Progress"));
  QSizePolicy keep = m_progress->sizePolicy();
  keep.setRetainSizeWhenHidden(true);
  m_progress->setSizePolicy(keep);
  m_saved->setObjectName(u"exportSaved"_s);
  m_saved->setWordWrap(true);
  m_saved->setTextFormat(Qt::PlainText);
  m_saved->setTextInteractionFlags(Qt::TextSelectableByMouse);
  m_save->setObjectName(u"exportSave"_s);
  m_save->setDefault(true);
}

void ExportDialog::setUpGuide() {
  m_guide->setObjectName(u"exportGuide"_s);
  m_guide->setAccessibleName(tr("How to run the program"));
  m_guide->setReadOnly(true);
  m_guide->setTabChangesFocus(true);
  m_guide->setLineWrapMode(QPlainTextEdit::NoWrap);
  m_guide->setFont(figureFont(12));
  constexpr int kGuideHeight = 190;
  m_guide->setFixedHeight(kGuideHeight);
  m_copyGuide->setObjectName(u"exportCopyGuide"_s);
  m_copyGuide->setAutoDefault(false);
  m_showGuide->setObjectName(u"exportShowGuide"_s);
  m_showGuide->setAutoDefault(false);
  m_showGuide->setCheckable(true);
  m_showGuide->setToolTip(tr("Library, environment and nccl-tests call for this program"));
}

QLayout* ExportDialog::makeForms() {
  auto* left = new QFormLayout;
  left->addRow(tr("Target"), m_runtime);
  left->addRow(tr("Protocol"), m_protocol);
  left->addRow(tr("Buffers"), m_place);
  left->addRow(tr("Channels"), m_channels);
  auto* right = new QFormLayout;
  right->addRow(tr("Instances"), m_instances);
  right->addRow(tr("Smallest size"), m_minBytes);
  right->addRow(tr("Largest size"), m_maxBytes);
  right->addRow(m_sizeFault);
  for (QFormLayout* form : {left, right}) {
    form->setHorizontalSpacing(2 * kExportGap);
    form->setVerticalSpacing(kExportGap);
    form->setFieldGrowthPolicy(QFormLayout::ExpandingFieldsGrow);
  }
  auto* forms = new QHBoxLayout;
  forms->setSpacing(4 * kExportGap);
  forms->addLayout(left, 1);
  forms->addLayout(right, 1);
  return forms;
}

QLayout* ExportDialog::makeButtons() {
  const auto button = [this](const QString& id, const QString& label, auto onClick) {
    auto* made = new QPushButton(label, this);
    made->setObjectName(id);
    made->setAutoDefault(false);
    connect(made, &QPushButton::clicked, this, onClick);
    return made;
  };
  QPushButton* copy =
      button(u"exportCopy"_s, tr("Copy as Command Line"), [this] { QGuiApplication::clipboard()->setText(command()); });
  QPushButton* schedule = button(u"exportSchedule"_s, tr("Save Schedule…"), [this] {
    saveAs(fileSuffix(*m_result), tr("Schedule (*%1)").arg(fileSuffix(*m_result)), false,
           [this](const QString& path) { return saveSchedule(path, *m_result); });
  });
  schedule->setToolTip(m_result->forests() != nullptr ? tr("The .forest.json file: trees, bound and fabric")
                                                      : tr("The .schedule.json file: transfers and fabric"));
  QPushButton* trees = button(u"exportTrees"_s, tr("Save Trees…"), [this] {
    saveAs(u".trees.xml"_s, tr("Tree XML (*.xml)"), false, [this](const QString& path) { return saveTrees(path); });
  });
  trees->setVisible(m_result->forests() != nullptr);
  trees->setToolTip(tr("ForestColl's tree XML"));
  auto* buttons = new QHBoxLayout;
  buttons->addWidget(copy);
  buttons->addWidget(m_showGuide);
  buttons->addWidget(schedule);
  buttons->addWidget(trees);
  buttons->addStretch(1);
  buttons->addWidget(button(u"exportClose"_s, tr("Close"), [this] { reject(); }));
  buttons->addWidget(m_save);
  return buttons;
}

void ExportDialog::layOut() {
  auto* layout = new QVBoxLayout(this);
  constexpr int kMargin = 16;
  layout->setContentsMargins(kMargin, kMargin, kMargin, kMargin);
  layout->setSpacing(kExportGap);
  layout->addWidget(m_title);
  layout->addLayout(makeForms());
  layout->addSpacing(kExportGap);
  layout->addWidget(m_summary);
  layout->addWidget(m_progress);
  layout->addWidget(m_list, 1);
  auto* saved = new QHBoxLayout;
  saved->addWidget(m_saved, 1);
  saved->addWidget(m_copyGuide, 0, Qt::AlignTop);
  layout->addLayout(saved);
  layout->addWidget(m_guide);
  layout->addLayout(makeButtons());
}

void ExportDialog::connectAll() {
  const auto changed = [this] {
    if (!m_isFilling) {
      judge();
    }
  };
  for (QComboBox* box : {m_runtime, m_protocol, m_place, m_channels}) {
    connect(box, &QComboBox::currentIndexChanged, this, changed);
  }
  connect(m_instances, &QSpinBox::valueChanged, this, changed);
  for (QLineEdit* edit : {m_minBytes, m_maxBytes}) {
    connect(edit, &QLineEdit::textChanged, this, changed);
  }
  connect(m_list, &CheckList::fixWanted, this, &ExportDialog::apply, Qt::QueuedConnection);
  connect(m_save, &QPushButton::clicked, this, [this] {
    saveAs(suffix(),
           destination().target != nullptr ? tr("Execution plan (*%1)").arg(suffix()) : tr("MSCCL program (*.xml)"),
           true, [this](const QString& path) { return saveProgram(path); });
  });
  connect(m_showGuide, &QPushButton::toggled, this, &ExportDialog::updateGuide);
  connect(m_copyGuide, &QPushButton::clicked, this, [this] { QGuiApplication::clipboard()->setText(guide()); });
  m_tick.setInterval(100ms);
  connect(&m_tick, &QTimer::timeout, this, &ExportDialog::refresh);
}

ExportDialog::~ExportDialog() = default;

bool ExportDialog::readSizes(lowering::Options* options) const {
  options->minBytes = 0;
  options->maxBytes = lowering::kDefaultMaxBytes;
  QString fault;
  for (const auto& [edit, value] :
       {std::pair{m_minBytes, &options->minBytes}, std::pair{m_maxBytes, &options->maxBytes}}) {
    if (!edit->text().trimmed().isEmpty()) {
      const auto bytes = parseBytes(edit->text());
      if (bytes) {
        *value = *bytes;
      } else if (fault.isEmpty()) {
        fault = sentence(bytes.error());
      }
    }
  }
  if (fault.isEmpty() && options->minBytes >= options->maxBytes) {
    fault = tr("The smallest size must be below the largest.");
  }
  m_sizeFault->setText(fault);
  m_sizeFault->setVisible(!fault.isEmpty());
  return fault.isEmpty();
}

lowering::Options ExportDialog::options() const {
  lowering::Options options;
  options.runtime = destination().runtime;
  options.protocol = static_cast<program::Protocol>(m_protocol->currentData().toInt());
  options.inPlace = m_place->currentData().toBool();
  options.channels = static_cast<lowering::ChannelPolicy>(m_channels->currentData().toInt());
  options.instances = m_instances->value();
  options.chunks = m_chunks;
  readSizes(&options);
  return options;
}

const workflow::Destination& ExportDialog::destination() const {
  return workflow::destinations()[static_cast<std::size_t>(m_runtime->currentData().toInt())];
}

QString ExportDialog::suffix() const {
  const std::string_view extension = destination().extension();
  QString suffix = programSuffix(*m_result);
  suffix.chop(suffix.size() - suffix.lastIndexOf(u".xml"_s));
  return suffix + QString::fromUtf8(extension.data(), static_cast<qsizetype>(extension.size()));
}

void ExportDialog::setOptions(const lowering::Options& options) {
  m_isFilling = true;
  if (destination().runtime != options.runtime) {
    const auto all = workflow::destinations();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.runtime == options.runtime; });
    m_runtime->setCurrentIndex(static_cast<int>(found - all.begin()));
  }
  m_protocol->setCurrentIndex(
      m_protocol->findData(static_cast<int>(options.protocol.value_or(program::Protocol::simple))));
  m_place->setCurrentIndex(m_place->findData(options.inPlace));
  m_channels->setCurrentIndex(m_channels->findData(static_cast<int>(options.channels)));
  m_instances->setValue(options.instances);
  m_chunks = options.chunks;
  m_minBytes->setText(options.minBytes == 0 ? QString() : bytesText(options.minBytes));
  m_maxBytes->setText(options.maxBytes == lowering::kDefaultMaxBytes ? QString() : bytesText(options.maxBytes));
  m_isFilling = false;
  judge();
}

const ExportCheck* ExportDialog::check() const {
  return m_isJudging || m_isGenerating || m_areSizesWrong ? nullptr : m_check.get();
}

QString ExportDialog::guide() const {
  if (check() == nullptr || !check()->isOk) {
    return {};
  }
  if (!check()->notes.empty()) {
    return QString::fromStdString(check()->notes);
  }
  const QString path = m_savedPath.isEmpty() ? programName(m_name, m_result->k) + u".xml"_s : m_savedPath;
  return QString::fromStdString(
      program::toText(program::runGuide(check()->facts, check()->options.runtime, path.toStdString())));
}

void ExportDialog::setSchedule(const QString& name, const QString& path) {
  m_name = name;
  m_schedulePath = path;
  nameSchedule();
  updateGuide();
}

void ExportDialog::nameSchedule() {
  setWindowTitle(tr("Export %1").arg(m_name));
  m_title->setText(tr("%1 · %2 GB/s · %3, %4")
                       .arg(m_name, exactly(m_result->algbw),
                            counted(m_result->fabric->gpuCount(), tr("GPU"), tr("GPUs")), m_result->sizeText()));
}

void ExportDialog::regenerate(const CheckFix& fix) {
  m_job.cancel();
  m_isJudging = false;
  m_isGenerating = true;
  m_savedPath.clear();
  m_jobProgress = std::make_shared<JobProgress>();
  ScheduleOptions options = m_result->options;
  // What is offered are schedules of ForestColl.
  if (options.method != workflow::kDefaultMethod) {
    options.method = workflow::kDefaultMethod;
    options.methodOptions.clear();
  }
  for (const char* count : {kFixedK, kBestOfK, kBySizes, kByLoss}) {
    options.methodOptions.erase(count);
  }
  if (fix.newK) {
    options.methodOptions[kFixedK] = std::to_string(*fix.newK);
  }
  if (fix.newPeers) {
    options.methodOptions[kMaxPeers] = std::to_string(*fix.newPeers);
  }
  m_generator.submit([result = m_result, options, progress = m_jobProgress](std::stop_token stop) {
    return std::make_shared<const Result<ScheduleResultPtr>>(
        makeSchedule(*result->description, options, JobProgress::forCore(progress, std::move(stop))));
  });
  refresh();
}

void ExportDialog::takeSchedule(const Result<ScheduleResultPtr>& result) {
  m_isGenerating = false;
  if (!result) {
    if (result.error().code != ErrorCode::cancelled) {
      Q_EMIT failed(errorText(result.error()));
    }
    judge();
    return;
  }
  m_result = *result;
  m_schedulePath.clear();
  nameSchedule();
  Q_EMIT regenerated(m_result);
  judge();
}

void ExportDialog::updateGuide() {
  const QString text = guide();
  m_showGuide->setEnabled(!text.isEmpty());
  const bool isShown = !text.isEmpty() && m_showGuide->isChecked();
  if (m_guide->toPlainText() != text) {
    m_guide->setPlainText(text);
  }
  m_guide->setVisible(isShown);
  m_copyGuide->setVisible(isShown);
}

void ExportDialog::submit(Remedies remedies) {
  m_isJudging = true;
  m_isMending = remedies == Remedies::schedules;
  m_jobProgress = std::make_shared<JobProgress>();
  m_job.submit([result = m_result, asked = m_asked, target = m_askedTarget, progress = m_jobProgress,
                remedies](std::stop_token stop) {
    return std::make_shared<const ExportCheck>(
        checkExport(*result, asked, JobProgress::forCore(progress, std::move(stop)), remedies, target));
  });
}

void ExportDialog::judge() {
  lowering::Options asked = options();
  m_areSizesWrong = !readSizes(&asked);
  if (m_areSizesWrong) {
    m_job.cancel();
    m_isJudging = false;
    refresh();
    return;
  }
  m_savedPath.clear();
  m_saved->clear();
  m_asked = asked;
  m_askedTarget = destination().target;
  submit(Remedies::settings);
  refresh();
}

void ExportDialog::receive(std::shared_ptr<const ExportCheck> check) {
  m_check = std::move(check);
  // The answer may belong to settings that have changed since.
  m_isJudging = m_job.isRunning();
  m_list->setRows(m_check->rows);
  // Buttons of fixes come after what they change.
  QWidget* before = m_maxBytes;
  for (QPushButton* fix : m_list->findChildren<QPushButton*>()) {
    QWidget::setTabOrder(before, fix);
    before = fix;
  }
  if (!m_isJudging && m_check->hasMoreRemedies) {
    // What is wrong is shown while schedules that fit are looked for.
    submit(Remedies::schedules);
    refresh();
    return;
  }
  m_isMending = m_isMending && m_isJudging;
  refresh();
  Q_EMIT checked();
}

void ExportDialog::refresh() {
  m_progress->setVisible(m_isJudging || m_isGenerating);
  if (m_isJudging || m_isGenerating) {
    const JobProgress::State state = m_jobProgress->state();
    m_progress->setValue(static_cast<int>(state.fraction * kThousand));
    m_summary->setText(state.stage.empty() ? tr("Checking…") : stageName(state.stage) + u"…"_s);
    setRole(m_summary, {});
    m_tick.start();
  } else {
    m_tick.stop();
    const bool isOk = check() != nullptr && check()->isOk;
    m_summary->setText(m_areSizesWrong ? tr("The sizes cannot be read") : (m_check ? m_check->summary : QString()));
    setRole(m_summary, isOk ? u"good"_s : u"error"_s);
  }
  m_list->setStale(check() == nullptr && !m_isMending);
  const bool canSave = check() != nullptr && check()->isOk;
  m_save->setEnabled(canSave);
  // Filled only while it does something.
  m_save->setDefault(canSave);
  m_saved->setVisible(!m_saved->text().isEmpty());
  updateGuide();
}

void ExportDialog::apply(const CheckFix& fix) {
  setOptions(fix.options);
  if (fix.newK || fix.newPeers) {
    regenerate(fix);
  }
}

Outcome ExportDialog::saveProgram(const QString& path) const {
  if (check() == nullptr || !check()->isOk) {
    return Error{ErrorCode::verification, tr("there is no verified program to save").toStdString()};
  }
  return io::saveFile(QFile::encodeName(path).toStdString(), check()->xml);
}

Outcome ExportDialog::saveTrees(const QString& path) const {
  return io::saveFile(QFile::encodeName(path).toStdString(), [&](std::ostream& out) {
    return io::writeTreeXml(out, *m_result->forests(), *m_result->fabric);
  });
}

QString ExportDialog::command() const {
  QString text;
  if (m_schedulePath.isEmpty()) {
    text = generateCommand(m_fabricPath, m_result->options, m_name + fileSuffix(*m_result)) + u" && \\\n  "_s;
  }
  return text + exportCommand(m_schedulePath.isEmpty() ? m_name + fileSuffix(*m_result) : m_schedulePath, options(),
                              programName(m_name, m_result->k) + suffix(), destination().id());
}

void ExportDialog::saveAs(const QString& suffix, const QString& filter, bool isProgram,
                          const std::function<Outcome(const QString&)>& save) {
  QString path = m_askPath((isProgram ? programName(m_name, m_result->k) : m_name) + suffix, filter);
  if (path.isEmpty()) {
    return;
  }
  if (const Outcome outcome = save(path); !outcome) {
    Q_EMIT failed(errorText(outcome.error()));
  } else {
    m_saved->setText(tr("Saved %1").arg(QDir::toNativeSeparators(path)));
    setRole(m_saved, u"good"_s);
    if (isProgram) {
      m_savedPath = QFileInfo(path).absoluteFilePath();
      m_showGuide->setChecked(true);
    }
    refresh();
    Q_EMIT saved(path);
  }
  // The question for the place took the focus; what was said is here.
  raise();
  activateWindow();
  m_save->setFocus();
}

}  // namespace coppice::designer
