// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/run/run_panel.hpp"

#include <QHBoxLayout>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "designer/document/error_text.hpp"
#include "designer/run/machines_panel.hpp"
#include "designer/run/panel_parts.hpp"
#include "designer/theme/elided_combo_box.hpp"
#include "designer/theme/elided_label.hpp"
#include "designer/theme/panel_widgets.hpp"
#include "designer/theme/theme.hpp"
#include "program/rooted.hpp"
#include "remote/several.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr int kMargin = 12;
constexpr int kGap = 8;

QComboBox* box(const QString& name, const QString& title, QWidget* parent) {
  constexpr int kMinLetters = 3;
  auto* combo = new ElidedComboBox(kMinLetters, parent);
  combo->setObjectName(name);
  combo->setAccessibleName(title);
  return combo;
}

QLineEdit* line(const QString& name, const QString& title, const QString& text, QWidget* parent) {
  auto* edit = new QLineEdit(text, parent);
  edit->setObjectName(name);
  edit->setAccessibleName(title);
  // The dock may be narrow; what is written here is short.
  constexpr int kMin = 44;
  edit->setMinimumWidth(kMin);
  return edit;
}

void choose(QComboBox* combo, const QString& data) {
  if (const int index = combo->findData(data); index >= 0) {
    combo->setCurrentIndex(index);
  }
}

/// Fields side by side in one row of the form; a button after a field keeps its size.
QWidget* pair(QWidget* a, QWidget* b, QWidget* c = nullptr) {
  auto* row = new QWidget(a->parentWidget());
  auto* layout = new QHBoxLayout(row);
  layout->setContentsMargins({});
  layout->addWidget(a, 1);
  layout->addWidget(b, c != nullptr || qobject_cast<QToolButton*>(b) == nullptr ? 1 : 0);
  if (c != nullptr) {
    layout->addWidget(c, 1);
  }
  return row;
}

/// With room for all its words, so that the dock does not grow with them during a run.
void setWords(QPushButton& button, const QString& words) {
  int width = 0;
  for (const QString& each : {RunPanel::tr("Stopping…"), RunPanel::tr("Running…"), words}) {
    button.setText(each);
    width = std::max(width, button.sizeHint().width());
  }
  button.setMinimumWidth(width);
}

}  // namespace

RunPanel::RunPanel(MachineBook& book, QWidget* parent) : QWidget(parent), m_book(book) {
  setUpPanel(this, u"runChoices"_s, tr("Run"));
  auto* area = new QScrollArea(this);
  area->setFrameShape(QFrame::NoFrame);
  area->setWidgetResizable(true);
  area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  auto* content = new QWidget(area);
  content->setProperty("role", u"panel"_s);
  content->setAttribute(Qt::WA_StyledBackground);
  area->setWidget(content);

  makeTarget(content);
  makeSizes(content);
  makeSettings(content);
  makePreflight(content);
  makeForm(content);
  auto* inner = new QVBoxLayout(content);
  inner->setContentsMargins(kMargin, kMargin, kMargin, kMargin);
  inner->addLayout(m_form);
  inner->addWidget(m_preflight);
  inner->addStretch(1);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins({});
  layout->setSpacing(0);
  layout->addWidget(area, 1);
  layout->addLayout(makeButtons());

  connectChoices();
  fillSchedules();
  fillBackends();
  refresh();
}

void RunPanel::makeTarget(QWidget* content) {
  m_machineText = new ElidedLabel(content);
  m_machineText->setObjectName(u"runMachine"_s);
  m_machineText->setTextFormat(Qt::PlainText);
  m_machineText->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  m_schedule = box(u"runSchedule"_s, tr("Schedule"), content);
  m_backend = box(u"runBackend"_s, tr("Backend"), content);
  m_launch = box(u"runLaunch"_s, tr("Processes"), content);
  m_launch->addItem(tr("one process"), static_cast<int>(program::Launch::single));
  m_launch->addItem(tr("one per rank, mpirun"), static_cast<int>(program::Launch::mpirun));
  m_launch->addItem(tr("one per rank, Slurm"), static_cast<int>(program::Launch::srun));
  m_hosts = line(u"runHosts"_s, tr("Hosts"), {}, content);
  m_hosts->setPlaceholderText(tr("node1:4, node2:4"));
  m_hosts->setToolTip(tr("Machines for mpirun with their numbers of processes; empty = the machine itself"));
  m_shares = line(u"runShares"_s, tr("Ranks of each machine"), {}, content);
  m_shares->setToolTip(tr("Ranks of each machine in the order of the list, for example 3, 1; empty = even shares"));
  m_partition = box(u"runPartition"_s, tr("Partition"), content);
}

void RunPanel::makeSizes(QWidget* content) {
  m_from = line(u"runFrom"_s, tr("Smallest size"), u"1M"_s, content);
  m_to = line(u"runTo"_s, tr("Largest size"), u"64M"_s, content);
  m_factor = line(u"runFactor"_s, tr("Step between sizes"), u"2"_s, content);
  m_iterations = new QSpinBox(content);
  m_iterations->setObjectName(u"runIterations"_s);
  constexpr int kMaxIterations = 1'000'000;
  m_iterations->setRange(1, kMaxIterations);
  m_iterations->setValue(20);
  m_iterations->setAccessibleName(tr("Iterations"));
  m_warmup = new QSpinBox(content);
  m_warmup->setObjectName(u"runWarmup"_s);
  m_warmup->setRange(0, kMaxIterations);
  m_warmup->setValue(5);
  m_warmup->setAccessibleName(tr("Warm-up iterations"));
  m_iterations->setToolTip(tr("Timed iterations of each size"));
  m_warmup->setToolTip(tr("Iterations before the timed ones"));
  constexpr int kNarrow = 56;
  m_iterations->setMinimumWidth(kNarrow);
  m_warmup->setMinimumWidth(kNarrow);
  for (QSpinBox* spin : {m_iterations, m_warmup}) {
    spin->setButtonSymbols(QAbstractSpinBox::NoButtons);
    spin->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
  }
  m_factor->setToolTip(tr("Factor from one size to the next"));
}

void RunPanel::makeSettings(QWidget* content) {
  m_type = box(u"runType"_s, tr("Data type"), content);
  for (const char* type : {"float", "half", "bfloat16", "int32", "int8"}) {
    m_type->addItem(QLatin1String(type), QLatin1String(type));
  }
  m_operation = box(u"runOperation"_s, tr("Operation"), content);
  for (const char* operation : {"sum", "prod", "min", "max", "avg"}) {
    m_operation->addItem(QLatin1String(operation), QLatin1String(operation));
  }
  m_operation->setToolTip(tr("Where the collective reduces"));
  m_checks = new QCheckBox(tr("Check every element"), content);
  m_checks->setObjectName(u"runChecks"_s);
  m_checks->setChecked(true);
  m_traces = new QCheckBox(tr("Record a trace"), content);
  m_traces->setObjectName(u"runTraces"_s);
  m_traces->setToolTip(tr("Records when each step ran, for the Trace dock; slightly slower"));
  m_keeps = box(u"runKeeps"_s, tr("When the window closes"), content);
  m_keeps->addItem(tr("Stop the run"));
  m_keeps->addItem(tr("Keep running"));
  m_keeps->setToolTip(tr("A run that keeps running survives a lost connection; reattach to it later"));
}

void RunPanel::makePreflight(QWidget* content) {
  m_preflight = new QListWidget(content);
  m_preflight->setObjectName(u"runPreflight"_s);
  m_preflight->setAccessibleName(tr("Preflight"));
  m_preflight->setFrameShape(QFrame::NoFrame);
  m_preflight->setSelectionMode(QAbstractItemView::NoSelection);
  m_preflight->setFocusPolicy(Qt::NoFocus);
  m_preflight->setWordWrap(true);
  m_preflight->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  m_preflight->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  m_preflight->setSizeAdjustPolicy(QAbstractScrollArea::AdjustToContents);
}

void RunPanel::makeForm(QWidget* content) {
  auto* file = iconButton(u"runFile"_s, u"open"_s,
                          tr("Run an MSCCL XML, a .forest.json or a .schedule.json from a file"), content);
  file->setFocusPolicy(Qt::TabFocus);
  setTabOrder(m_schedule, file);
  connect(file, &QToolButton::clicked, this, &RunPanel::fileWanted);
  m_form = new QFormLayout;
  m_form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
  m_form->setLabelAlignment(Qt::AlignLeft);
  m_form->setVerticalSpacing(kGap);
  m_form->addRow(tr("Machine"), m_machineText);
  m_form->addRow(tr("Schedule"), pair(m_schedule, file));
  m_form->addRow(tr("Backend"), m_backend);
  m_form->addRow(tr("Processes"), m_launch);
  m_form->addRow(tr("Hosts"), m_hosts);
  m_form->addRow(tr("Ranks each"), m_shares);
  m_form->addRow(tr("Partition"), m_partition);
  m_form->addRow(tr("Type, op"), pair(m_type, m_operation));
  // Rows over the whole width, since a narrow dock leaves too little beside their names.
  const auto addWide = [&](const QString& title, QWidget* field) {
    auto* label = new QLabel(title, content);
    label->setBuddy(field);
    label->setProperty("role", u"muted"_s);
    m_form->addRow(label);
    m_form->addRow(field);
  };
  addWide(tr("Sizes: first, last, factor"), pair(m_from, m_to, m_factor));
  addWide(tr("Iterations, warm-up"), pair(m_iterations, m_warmup));
  addWide(tr("When the window closes"), m_keeps);
  m_form->addRow(m_checks);
  m_form->addRow(m_traces);
  for (int i = 0; i < m_form->rowCount(); ++i) {
    if (auto* label = qobject_cast<QLabel*>(m_form->itemAt(i, QFormLayout::LabelRole) != nullptr
                                                ? m_form->itemAt(i, QFormLayout::LabelRole)->widget()
                                                : nullptr)) {
      label->setProperty("role", u"muted"_s);
    }
  }
}

QLayout* RunPanel::makeButtons() {
  m_run = new QPushButton(tr("Run"), this);
  m_run->setObjectName(u"runStart"_s);
  m_run->setProperty("role", u"primary"_s);
  m_stop = plainButton(u"runStop"_s, tr("Stop"), tr("End the run and all its processes (Shift+F5)"), this);
  auto* bundle =
      plainButton(u"runBundle"_s, tr("Bundle…"),
                  tr("A folder with everything this run needs, for a cluster that the window cannot reach"), this);
  auto* buttons = new QHBoxLayout;
  buttons->setContentsMargins(kMargin, kGap, kMargin, kGap);
  buttons->setSpacing(kGap);
  buttons->addWidget(m_run, 1);
  buttons->addWidget(m_stop);
  buttons->addWidget(bundle);
  connect(m_run, &QPushButton::clicked, this, &RunPanel::runWanted);
  connect(m_stop, &QToolButton::clicked, this, &RunPanel::stopWanted);
  connect(bundle, &QToolButton::clicked, this, &RunPanel::bundleWanted);
  return buttons;
}

void RunPanel::connectChoices() {
  for (QComboBox* combo : {m_schedule, m_backend, m_launch, m_partition}) {
    connect(combo, &QComboBox::currentIndexChanged, this, &RunPanel::refresh);
  }
  for (QLineEdit* edit : {m_from, m_to, m_factor, m_hosts, m_shares}) {
    connect(edit, &QLineEdit::textChanged, this, &RunPanel::check);
  }
  connect(&m_book, &MachineBook::connectionChanged, this, [this](const QString& id) {
    if (m_machines.contains(id)) {
      fillBackends();
      refresh();
    }
  });
  connect(&Theme::instance(), &Theme::changed, this, &RunPanel::check);
}

void RunPanel::setMachines(const QStringList& ids) {
  if (ids.size() != m_machines.size()) {
    m_shares->clear();
  }
  m_machines = ids;
  fillBackends();
  refresh();
}

void RunPanel::setSchedules(const std::vector<RunnableSchedule>& schedules, const QString& currentKey) {
  const QString before = m_schedule->currentData().toString();
  m_schedules = schedules;
  fillSchedules();
  choose(m_schedule, before);
  // What was chosen by hand stays; a schedule that is new elsewhere is followed.
  if (!currentKey.isEmpty() && (before.isEmpty() || !before.startsWith(u"file:"))) {
    choose(m_schedule, currentKey);
  }
  refresh();
}

void RunPanel::addFile(const RunnableSchedule& schedule) {
  m_files.erase(
      std::remove_if(m_files.begin(), m_files.end(), [&](const auto& each) { return each.key == schedule.key; }),
      m_files.end());
  m_files.push_back(schedule);
  fillSchedules();
  choose(m_schedule, schedule.key);
  refresh();
}

void RunPanel::setFileFacts(const QString& key, const workflow::ScheduleFacts& facts) {
  for (RunnableSchedule& file : m_files) {
    if (file.key == key) {
      file.ranks = facts.ranks;
      file.root = facts.root;
      refresh();
    }
  }
}

void RunPanel::fillSchedules() {
  const QSignalBlocker quiet(m_schedule);
  m_schedule->clear();
  for (const auto* list : {&m_schedules, &m_files}) {
    for (const RunnableSchedule& schedule : *list) {
      m_schedule->addItem(schedule.name, schedule.key);
    }
  }
  m_schedule->setPlaceholderText(tr("none yet"));
  // With a placeholder the first item is not chosen by itself.
  m_schedule->setCurrentIndex(m_schedule->count() > 0 ? 0 : -1);
  m_schedule->setEnabled(m_schedule->count() > 0);
}

const RunnableSchedule* RunPanel::schedule() const {
  const QString key = m_schedule->currentData().toString();
  for (const auto* list : {&m_schedules, &m_files}) {
    for (const RunnableSchedule& schedule : *list) {
      if (schedule.key == key) {
        return &schedule;
      }
    }
  }
  return nullptr;
}

void RunPanel::fillBackends() {
  const QString before = m_backend->currentData().toString();
  const QString partition = m_partition->currentData().toString();
  const QSignalBlocker quiet(m_backend);
  const QSignalBlocker quietToo(m_partition);
  m_backend->clear();
  m_partition->clear();
  m_backend->addItem(tr("automatic"), QString());
  const Connection* connection = m_book.connection(m_machines.front());
  if (connection != nullptr) {
    if (connection->facts().environment) {
      for (const program::BackendNote& note : connection->facts().environment->backends) {
        if (note.available) {
          m_backend->addItem(QString::fromStdString(note.name), QString::fromStdString(note.name));
        }
      }
    }
    for (const remote::SlurmPartition& each : connection->facts().partitions) {
      const QString name = QString::fromStdString(each.name);
      m_partition->addItem(each.isDefault ? tr("%1 (default)").arg(name) : name, name);
    }
  }
  choose(m_backend, before);
  choose(m_partition, partition);
}

QString RunPanel::shares() const {
  QStringList words;
  for (const QString& word : m_shares->text().split(u',')) {
    words << word.trimmed();
  }
  return m_machines.size() > 1 ? words.join(u',') : QString();
}

program::RunRequest RunPanel::request() const {
  program::RunRequest request;
  const RunnableSchedule* chosen = schedule();
  request.schedule = chosen != nullptr ? "schedule." + chosen->suffix.toStdString() : std::string();
  if (chosen != nullptr) {
    request.boundGBps = chosen->boundGBps;
  }
  request.backend = m_backend->currentData().toString().toStdString();
  request.launch =
      m_machines.size() > 1 ? program::Launch::mpirun : static_cast<program::Launch>(m_launch->currentData().toInt());
  if (m_machines.size() > 1) {
    request.backend = "mpi";
  }
  if (request.launch == program::Launch::mpirun && m_machines.size() == 1) {
    for (const QString& host : m_hosts->text().split(u',', Qt::SkipEmptyParts)) {
      request.hosts.push_back(host.trimmed().toStdString());
    }
  }
  if (request.launch == program::Launch::srun) {
    request.partition = m_partition->currentData().toString().toStdString();
  }
  request.minBytes = m_from->text().trimmed().toStdString();
  request.maxBytes = m_to->text().trimmed().toStdString();
  request.factor = m_factor->text().trimmed().toStdString();
  request.iterations = m_iterations->value();
  request.warmup = m_warmup->value();
  request.type = m_type->currentData().toString().toStdString();
  request.operation = m_operation->currentData().toString().toStdString();
  request.checks = m_checks->isChecked();
  request.traces = m_traces->isChecked();
  return request;
}

void RunPanel::setRunning(bool isRunning, bool isCancelling) {
  m_isRunning = isRunning;
  m_stop->setEnabled(isRunning && !isCancelling);
  m_isCancelling = isCancelling;
  check();
}

void RunPanel::refresh() {
  const auto launch = static_cast<program::Launch>(m_launch->currentData().toInt());
  const auto showRow = [this](QWidget* field, bool isShown) {
    field->setVisible(isShown);
    if (QWidget* label = m_form->labelForField(field)) {
      label->setVisible(isShown);
    }
  };
  const bool isSingle = m_machines.size() == 1;
  showRow(m_backend, isSingle);
  showRow(m_launch, isSingle);
  showRow(m_shares, !isSingle);
  showRow(m_hosts, isSingle && launch == program::Launch::mpirun);
  showRow(m_partition, isSingle && launch == program::Launch::srun);
  QStringList titles;
  for (const QString& id : std::as_const(m_machines)) {
    const Machine* machine = m_book.find(id);
    titles << (machine != nullptr ? machine->title() : QString());
  }
  const QString state = isSingle ? stateText(m_book.connection(m_machines.front())) : QString();
  if (auto* label = qobject_cast<QLabel*>(m_form->labelForField(m_machineText))) {
    label->setText(isSingle ? tr("Machine") : tr("Machines"));
  }
  m_machineText->setText(titles.join(u" + "_s) + (state.isEmpty() ? QString() : u" · "_s + state));
  m_machineText->setToolTip(titles.join(u", "_s));
  check();
}

void RunPanel::checkSeveral(const Note& add) const {
  const Connection* first = nullptr;
  for (const QString& id : m_machines) {
    const Connection* connection = m_book.connection(id);
    if (connection == nullptr) {
      continue;
    }
    const QString title = connection->machine().title();
    if (connection->machine().isLocal()) {
      add(false, tr("This computer cannot join a run over several machines. Choose machines reached by ssh."), true);
      continue;
    }
    if (connection->state() != Connection::State::ready) {
      // Connected on the way.
      const bool isBad =
          connection->state() == Connection::State::failed || connection->state() == Connection::State::needsConsent;
      add(!isBad, isBad ? tr("%1: %2").arg(title, connection->message()) : tr("Will connect to %1 first").arg(title),
          true);
      continue;
    }
    first = first == nullptr ? connection : first;
    const Error difference = remote::differenceOf(first->machine().target.host, first->facts().mpi,
                                                  connection->machine().target.host, connection->facts().mpi);
    const bool isSame = first != connection && first->facts().host == connection->facts().host &&
                        first->facts().boot == connection->facts().boot;
    if (!difference.message.empty()) {
      add(false, sentence(difference), true);
    } else if (isSame) {
      add(false, tr("%1 and %2 are the same machine").arg(first->machine().title(), title), true);
    } else {
      add(true, tr("%1 is connected, %2").arg(title, QString::fromStdString(connection->facts().mpi)), true);
    }
  }
  const QString text = shares();
  const RunnableSchedule* chosen = schedule();
  if (!text.isEmpty()) {
    const QStringList words = text.split(u',');
    int sum = 0;
    bool isGood = words.size() == m_machines.size();
    for (const QString& word : words) {
      bool isNumber = false;
      const int ranks = word.toInt(&isNumber);
      isGood = isGood && isNumber && ranks > 0;
      sum += isNumber ? qBound(0, ranks, 1 << 20) : 0;
    }
    if (!isGood) {
      add(false,
          tr("Enter %n numbers, one for each machine, for example 3, 1", nullptr, static_cast<int>(m_machines.size())),
          true);
    } else if (chosen != nullptr && chosen->ranks > sum) {
      add(false, tr("The machines can run %1 ranks, the schedule has %2").arg(sum).arg(chosen->ranks), true);
    }
  } else if (chosen != nullptr && chosen->ranks > 0 && chosen->ranks < m_machines.size()) {
    add(false, tr("There are fewer ranks than machines"), true);
  }
}

void RunPanel::checkMachine(const Note& add) const {
  const Connection* connection = m_book.connection(m_machines.front());
  const bool isConnected = connection != nullptr && connection->state() == Connection::State::ready;
  // A machine is connected on the way, unless that failed before.
  const bool willConnect = connection != nullptr && connection->state() != Connection::State::failed &&
                           connection->state() != Connection::State::needsConsent;
  if (isConnected || willConnect) {
    const QString title = connection->machine().title();
    add(true,
        connection->machine().isLocal()
            ? tr("This computer")
            : (isConnected ? tr("%1 is connected") : tr("Will connect to %1 first")).arg(title),
        true);
    return;
  }
  QString why = connection != nullptr ? connection->message() : QString();
  // It may be a sentence.
  while (why.endsWith(u'.')) {
    why.chop(1);
  }
  add(false,
      why.isEmpty() ? tr("The machine is not connected: press Connect") : tr("%1; press Connect to try again").arg(why),
      true);
}

void RunPanel::checkSchedule(const Note& add) const {
  const RunnableSchedule* chosen = schedule();
  if (chosen == nullptr) {
    add(false, tr("There is no schedule: generate one with F5, or choose a file"), true);
    return;
  }
  add(true, tr("Schedule “%1”").arg(chosen->name), true);
  if (chosen->root >= 0 && chosen->suffix == u"xml") {
    // The executor reads the root from the data; runtimes do not.
    add(false,
        tr("The root is rank %1; %2").arg(chosen->root).arg(QString::fromStdString(program::rootText(chosen->root))),
        false);
  }
}

void RunPanel::checkEnvironment(const program::RunRequest& wanted, const Note& add) const {
  const Connection* connection = m_book.connection(m_machines.front());
  if (m_machines.size() != 1 || connection == nullptr || connection->state() != Connection::State::ready ||
      !connection->facts().environment) {
    return;
  }
  const program::EnvRecord& environment = *connection->facts().environment;
  const bool hasBackend = std::ranges::any_of(environment.backends, &program::BackendNote::available);
  add(hasBackend || environment.backends.empty(),
      hasBackend ? tr("Backend available") : tr("No backend is available on this machine"), true);
  if (wanted.launch == program::Launch::srun && connection->facts().partitions.empty()) {
    add(false, tr("Slurm is not available on this machine"), true);
  }
  const RunnableSchedule* chosen = schedule();
  if (chosen != nullptr && chosen->ranks > 0 && environment.cores > 0 && chosen->ranks > environment.cores &&
      wanted.hosts.empty() && wanted.launch != program::Launch::srun) {
    add(false, tr("%1 ranks share %2 cores: checks the data, but slowly").arg(chosen->ranks).arg(environment.cores),
        false);
  }
}

void RunPanel::suggestShares() {
  const RunnableSchedule* chosen = schedule();
  if (m_machines.size() == 1 || chosen == nullptr || chosen->ranks <= 0) {
    return;
  }
  QStringList even;
  const int count = static_cast<int>(m_machines.size());
  for (int i = 0; i < count; ++i) {
    even << QString::number(chosen->ranks / count + (i < chosen->ranks % count ? 1 : 0));
  }
  m_shares->setPlaceholderText(even.join(u", "_s));
}

void RunPanel::check() {
  m_preflight->clear();
  m_obstacle.clear();
  const Theme& theme = Theme::instance();
  const auto add = [&](bool isGood, const QString& text, bool isBlocking) {
    auto* item = new QListWidgetItem((isGood ? u"✓ "_s : (isBlocking ? u"✗ "_s : u"! "_s)) + text, m_preflight);
    item->setForeground(theme.color(isGood ? Token::muted : (isBlocking ? Token::error : Token::warning)));
    if (!isGood && isBlocking && m_obstacle.isEmpty()) {
      m_obstacle = text;
    }
  };
  if (m_machines.size() == 1) {
    checkMachine(add);
  } else {
    checkSeveral(add);
  }
  suggestShares();
  checkSchedule(add);
  const program::RunRequest wanted = request();
  for (const Finding& fault : program::faultsOf(wanted)) {
    if (fault.where.element != ElementRef(RefKind::field, "schedule")) {
      add(false, sentence(fault), true);
    }
  }
  checkEnvironment(wanted, add);
  if (wanted.launch == program::Launch::srun && m_keeps->currentIndex() == 0) {
    add(true, tr("The job is cancelled when the window closes"), true);
  }
  showPreflight();
}

void RunPanel::showPreflight() {
  const bool wasReady = m_isReady;
  m_isReady = m_obstacle.isEmpty();
  m_run->setEnabled(m_isReady && !m_isRunning);
  m_run->setToolTip(m_isReady ? tr("Run it (Ctrl+F5)") : m_obstacle);
  setWords(*m_run, m_isCancelling ? tr("Stopping…") : (m_isRunning ? tr("Running…") : tr("Run")));
  if (!m_isRunning) {
    m_stop->setEnabled(false);
  }
  int height = 0;
  m_preflight->doItemsLayout();
  for (int i = 0; i < m_preflight->count(); ++i) {
    height += m_preflight->visualItemRect(m_preflight->item(i)).height();
  }
  constexpr int kSpare = 6;
  m_preflight->setFixedHeight(height + kSpare);
  if (wasReady != m_isReady) {
    Q_EMIT readyChanged();
  }
}

}  // namespace coppice::designer
