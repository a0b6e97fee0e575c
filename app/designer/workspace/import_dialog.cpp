// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/workspace/import_dialog.hpp"
#include "designer/document/error_text.hpp"
#include "designer/theme/panel_widgets.hpp"

#include <QFileInfo>
#include <QHBoxLayout>
#include <QSignalBlocker>
#include <QVBoxLayout>
#include <algorithm>
#include <iterator>
#include <utility>

#include "base/units.hpp"
#include "designer/document/counted.hpp"
#include "presets/presets.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using io::ImportChoice;

ImportDialog::ImportDialog(const ForeignText& text, QWidget* parent)
    : QDialog(parent),
      m_text(std::make_shared<const ForeignText>(text)),
      m_form(new QFormLayout),
      m_preview(new FabricPreview(u"import"_s, this)),
      m_notes(new QLabel(this)),
      m_about(new QLabel(this)),
      m_fault(new QLabel(this)),
      m_import(new QPushButton(tr("Import"), this)) {
  setObjectName(u"importDialog"_s);
  const QString name = QFileInfo(QString::fromStdString(text.fileName)).fileName();
  setWindowTitle(name.isEmpty() ? tr("Import") : tr("Import %1").arg(name));
  m_about->setObjectName(u"importAbout"_s);
  m_about->setWordWrap(true);
  m_about->setProperty("role", u"muted"_s);
  m_notes->setObjectName(u"importNotes"_s);
  m_notes->setWordWrap(true);
  m_notes->setTextFormat(Qt::PlainText);
  m_notes->setAlignment(Qt::AlignLeft | Qt::AlignTop);
  m_notes->setProperty("role", u"muted"_s);
  m_fault->setObjectName(u"importFault"_s);
  m_fault->setProperty("role", u"error"_s);
  m_fault->setWordWrap(true);
  m_fault->hide();
  m_import->setObjectName(u"importAccept"_s);
  m_import->setDefault(true);
  auto* cancel = new QPushButton(tr("Cancel"), this);
  cancel->setAutoDefault(false);

  constexpr int kGap = 12;
  constexpr int kFormGap = 8;
  m_form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
  m_form->setLabelAlignment(Qt::AlignLeft);
  m_form->setVerticalSpacing(kFormGap);
  m_form->setHorizontalSpacing(kGap);
  m_form->setContentsMargins({});
  addFields();

  auto* body = new QWidget(this);
  auto* bodyLayout = new QVBoxLayout(body);
  bodyLayout->setContentsMargins(0, 0, 10, 0);
  bodyLayout->setSpacing(kGap);
  bodyLayout->addWidget(m_about);
  bodyLayout->addLayout(m_form);
  bodyLayout->addWidget(m_fault);
  addNumbers();
  bodyLayout->addWidget(m_numbers, 1);
  bodyLayout->addStretch();
  auto* scroll = scrolled(body, this);
  constexpr int kFormWidth = 540;
  scroll->setMinimumWidth(kFormWidth);

  auto* notes = scrolled(m_notes, this);
  notes->setFocusPolicy(Qt::NoFocus);
  constexpr int kNotesHeight = 96;
  notes->setMinimumHeight(kNotesHeight);
  auto* left = new QVBoxLayout;
  left->setSpacing(kGap);
  left->addWidget(m_preview);
  left->addWidget(notes, 1);

  auto* columns = new QHBoxLayout;
  constexpr int kColumns = 20;
  columns->setSpacing(kColumns);
  columns->addLayout(left);
  columns->addWidget(scroll, 1);
  auto* layout = new QVBoxLayout(this);
  constexpr QMargins kMargins(20, 20, 20, 16);
  layout->setContentsMargins(kMargins);
  layout->setSpacing(kGap);
  layout->addLayout(columns, 1);
  layout->addLayout(buttonRow({cancel, m_import}));

  connect(m_preview, &FabricPreview::ready, this, &ImportDialog::receive);
  connect(cancel, &QPushButton::clicked, this, &QDialog::reject);
  connect(m_import, &QPushButton::clicked, this, &ImportDialog::want);
  follow();
  m_preview->startNow();
}

ImportDialog::~ImportDialog() = default;

void ImportDialog::addRow(ImportChoice choice, const QString& title, QWidget* field) {
  const auto open = m_text->choices();
  if (std::find(open.begin(), open.end(), choice) == open.end()) {
    field->hide();
    return;
  }
  field->setObjectName(u"import-"_s + QLatin1String(io::toString(choice)));
  if (title.isEmpty()) {
    m_form->addRow(field);
  } else {
    field->setAccessibleName(title);
    m_form->addRow(title, field);
  }
  m_rows[choice] = field;
}

QLineEdit* ImportDialog::addBandwidth(ImportChoice choice, const QString& title, const QString& toolTip) {
  auto* field = new QLineEdit(this);
  field->setToolTip(toolTip);
  addRow(choice, title, field);
  m_bandwidths[choice] = field;
  connect(field, &QLineEdit::textChanged, this, &ImportDialog::follow);
  return field;
}

void ImportDialog::addFields() {
  constexpr int kMaxBoxes = 1024;
  m_boxes = new QSpinBox(this);
  m_boxes->setRange(1, kMaxBoxes);
  m_boxes->setToolTip(tr("The file describes one server; the cluster consists of this many copies"));
  addRow(ImportChoice::boxes, tr("Boxes"), m_boxes);

  m_scaleOut = new QComboBox(this);
  m_scaleOut->addItem(tr("None: leave the NICs out"), u"none"_s);
  m_scaleOut->addItem(tr("One switch for all NICs"), u"switch"_s);
  m_scaleOut->addItem(tr("Rails: NIC i of every box on switch i"), u"rails"_s);
  m_scaleOut->addItem(tr("Two planes: even and odd NICs"), u"planes"_s);
  m_scaleOut->setToolTip(tr("The network between the boxes (not described in the file)"));
  addRow(ImportChoice::scaleOut, tr("Network"), m_scaleOut);

  m_nics = new QListWidget(this);
  m_nics->setToolTip(tr("The NICs that carry the traffic of the collective"));
  m_nics->setSelectionMode(QAbstractItemView::NoSelection);
  addRow(ImportChoice::nics, tr("NICs"), m_nics);

  m_rates = new QComboBox(this);
  m_rates->addItem(tr("As NCCL counts them (achievable)"), false);
  m_rates->addItem(tr("Nominal, from the data sheet"), true);
  addRow(ImportChoice::nominalRates, tr("Link rates"), m_rates);

  m_nvlink = new QComboBox(this);
  m_nvlink->addItem(tr("An NVSwitch"), u"switch"_s);
  m_nvlink->addItem(tr("Direct links between GPUs"), u"mesh"_s);
  m_nvlink->setToolTip(tr("The matrix looks the same for both"));
  addRow(ImportChoice::nvlink, tr("NVLink joins"), m_nvlink);
  // Until the file was read.
  m_nvlink->setCurrentIndex(-1);

  addTacclFields();
  addNetworkFields();
  addPresets();
  addBandwidth(ImportChoice::nvlinkBandwidth, tr("Per NVLink"), tr("GB/s per direction, or for example 400Gb/s"));
  addBandwidth(ImportChoice::nicBandwidth, tr("Per NIC"), tr("GB/s per direction, or for example 400Gb/s"));
  addBandwidth(ImportChoice::pcieBandwidth, tr("Per PCIe link"), tr("GB/s per direction"));
  addBandwidth(ImportChoice::socketBandwidth, tr("Between sockets"), tr("GB/s per direction"));
  addBandwidth(ImportChoice::uplinkBandwidth, tr("Per uplink"), tr("GB/s per link between switches and direction"));

  m_keepPcie = new QCheckBox(tr("Keep every PCIe bridge and CPU"), this);
  m_keepPcie->setToolTip(tr("Otherwise only the PCIe paths from each NIC to its nearest GPUs are kept"));
  addRow(ImportChoice::keepPcie, {}, m_keepPcie);

  connect(m_boxes, &QSpinBox::valueChanged, this, [this](int boxes) {
    // More than one box needs a network.
    if (boxes > 1 && m_scaleOut->currentIndex() == 0) {
      const QSignalBlocker quiet(m_scaleOut);
      m_scaleOut->setCurrentIndex(m_scaleOut->findData(u"switch"_s));
    }
    follow();
  });
  for (QComboBox* combo : {m_scaleOut, m_rates, m_nvlink}) {
    connect(combo, &QComboBox::currentIndexChanged, this, &ImportDialog::follow);
  }
  connect(m_nics, &QListWidget::itemChanged, this, &ImportDialog::follow);
  connect(m_keepPcie, &QCheckBox::toggled, this, &ImportDialog::follow);
}

void ImportDialog::addTacclFields() {
  m_machine = new QComboBox(this);
  m_machine->addItem(tr("As in the file"), QString());
  m_machine->addItem(tr("NDv2: double and single NVLinks, 1 NIC"), u"ndv2"_s);
  m_machine->addItem(tr("DGX-2: NVSwitch, 8 NICs"), u"dgx2"_s);
  m_machine->addItem(tr("One switch"), u"hub"_s);
  m_machine->addItem(tr("The links of the file"), u"custom"_s);
  m_machine->setToolTip(tr("The file has costs; the links of known machines are not in it"));
  addRow(ImportChoice::machine, tr("Machine"), m_machine);
  m_timeUnit = new QLineEdit(this);
  m_timeUnit->setPlaceholderText(tr("guessed"));
  m_timeUnit->setToolTip(
      tr("Length of the file's unit of time in microseconds, for example 0.01; the file does not state it"));
  addRow(ImportChoice::timeUnit, tr("Unit of time, µs"), m_timeUnit);
  if (m_text->format == io::FabricFormat::taccl) {
    m_about->setText(
        tr("The topology of TACCL has the costs of one box. It states neither the number of boxes nor the unit of its "
           "times; both change the fabric."));
  }
  connect(m_machine, &QComboBox::currentIndexChanged, this, &ImportDialog::follow);
  connect(m_timeUnit, &QLineEdit::textChanged, this, &ImportDialog::follow);
}

/// A hint file says nothing of NVLink and NICs; a preset of the machine does, and the person sees its numbers.
void ImportDialog::addPresets() {
  m_preset = new QComboBox(this);
  m_preset->setObjectName(u"importPreset"_s);
  m_preset->addItem(tr("Choose the machine…"), QString());
  for (const presets::Preset& preset : presets::catalogue()) {
    if (presets::serverFigures(preset.name)) {
      m_preset->addItem(QString::fromStdString(preset.title), QString::fromStdString(preset.name));
    }
  }
  m_preset->setToolTip(
      tr("The file has neither NVLinks nor NICs: NCCL adds them on the machine. A preset fills in both fields below"));
  m_form->addRow(tr("Complete from"), m_preset);
  m_form->setRowVisible(m_preset, false);
  connect(m_preset, &QComboBox::currentIndexChanged, this, [this] {
    if (const auto figures = presets::serverFigures(m_preset->currentData().toString().toStdString())) {
      m_bandwidths.at(ImportChoice::nvlinkBandwidth)->setText(QString::fromStdString(figures->nvlink));
      m_bandwidths.at(ImportChoice::nicBandwidth)->setText(QString::fromStdString(figures->nic));
    }
  });
}

QLineEdit* ImportDialog::addPatterns(ImportChoice choice, const QString& title, const QString& toolTip) {
  auto* field = new QLineEdit(this);
  field->setPlaceholderText(tr("all"));
  field->setToolTip(toolTip);
  addRow(choice, title, field);
  connect(field, &QLineEdit::textChanged, this, &ImportDialog::follow);
  return field;
}

void ImportDialog::addNetworkFields() {
  m_hosts = addPatterns(ImportChoice::hosts, tr("Hosts"), tr("Names with * and ?, separated by commas: dgx*,node0?"));
  m_adapters =
      addPatterns(ImportChoice::adapters, tr("Adapters"), tr("Names with * and ?, separated by commas: mlx5_?"));
  if (io::isNetworkFormat(m_text->format)) {
    m_about->setText(
        m_text->others.empty()
            ? tr("The file describes the network of a cluster, not the inside of its hosts. Drop a file of "
                 "a host together with it to have both.")
            : tr("The files describe a cluster: its network and the inside of its hosts."));
  } else if (!m_text->others.empty()) {
    m_about->setText(tr("The files describe hosts and the NVLink domains that join them."));
  }
}

void ImportDialog::addNumbers() {
  m_numbers = new QTreeWidget(this);
  m_numbers->setObjectName(u"importNumbers"_s);
  m_numbers->setAccessibleName(tr("Numbers and where they are from"));
  m_numbers->setHeaderLabels({tr("GB/s"), tr("What"), tr("From")});
  m_numbers->setRootIsDecorated(false);
  m_numbers->setEditTriggers(QAbstractItemView::NoEditTriggers);
  m_numbers->setToolTip(tr("Double-click a number to set it; empty for what the file says"));
  constexpr int kNumber = 64;
  constexpr int kWhat = 240;
  constexpr int kHeight = 150;
  m_numbers->setColumnWidth(0, kNumber);
  m_numbers->setColumnWidth(1, kWhat);
  m_numbers->setMinimumHeight(kHeight);
  m_numbers->hide();
  connect(m_numbers, &QTreeWidget::itemActivated, this,
          [this](QTreeWidgetItem* item) { m_numbers->editItem(item, 0); });
  connect(m_numbers, &QTreeWidget::itemDoubleClicked, this,
          [this](QTreeWidgetItem* item) { m_numbers->editItem(item, 0); });
  connect(m_numbers, &QTreeWidget::itemChanged, this, [this](QTreeWidgetItem* item, int column) {
    if (column == 0) {
      setNumber(item);
    }
  });
}

void ImportDialog::setNumber(QTreeWidgetItem* item) {
  const std::string key = item->data(0, Qt::UserRole).toString().toStdString();
  const QString text = item->text(0).trimmed();
  const QString given = item->data(0, Qt::UserRole + 1).toString();
  if (text.isEmpty() || text == given) {
    m_typed.erase(key);
  } else {
    m_typed[key] = text;
  }
  follow();
}

void ImportDialog::showNumbers(const std::vector<io::NumberOrigin>& origins) {
  const QSignalBlocker quiet(m_numbers);
  m_numbers->setVisible(!origins.empty());
  while (m_numbers->topLevelItemCount() > static_cast<int>(origins.size())) {
    delete m_numbers->takeTopLevelItem(m_numbers->topLevelItemCount() - 1);
  }
  for (std::size_t i = 0; i < origins.size(); ++i) {
    const io::NumberOrigin& origin = origins[i];
    if (static_cast<int>(i) == m_numbers->topLevelItemCount()) {
      auto* added = new QTreeWidgetItem(m_numbers);
      added->setFlags(added->flags() | Qt::ItemIsEditable);
    }
    QTreeWidgetItem* item = m_numbers->topLevelItem(static_cast<int>(i));
    const Bandwidth given = origin.given.isPositive() ? origin.given : origin.bandwidth;
    item->setData(0, Qt::UserRole, QString::fromStdString(origin.what + "@" + toFraction(given)));
    item->setData(0, Qt::UserRole + 1, QString::fromStdString(toExactText(given)));
    item->setText(0, QString::fromStdString(toExactText(origin.bandwidth)));
    item->setText(1, tr("%1, %2").arg(QString::fromStdString(origin.what),
                                      counted(static_cast<int>(origin.links), tr("link"), tr("links"))));
    const QString source = origin.source == io::NumberOrigin::Source::file    ? tr("file")
                           : origin.source == io::NumberOrigin::Source::table ? tr("table")
                           : origin.source == io::NumberOrigin::Source::guess ? tr("assumed")
                                                                              : tr("stated");
    item->setText(2, tr("%1: %2").arg(source, QString::fromStdString(origin.detail)));
    for (int column = 0; column < m_numbers->columnCount(); ++column) {
      item->setToolTip(column, item->text(column));
    }
  }
}

io::ImportAnswers ImportDialog::answers() const {
  io::ImportAnswers answers;
  answers.boxes = m_boxes->value();
  answers.scaleOut = m_scaleOut->currentData().toString().toStdString();
  QStringList nics;
  for (int i = 0; i < m_nics->count(); ++i) {
    if (m_nics->item(i)->checkState() == Qt::Checked) {
      nics << m_nics->item(i)->data(Qt::UserRole).toString();
    }
  }
  answers.nics = nics.size() < m_nics->count() ? nics.join(u',').toStdString() : std::string();
  answers.keepPcie = m_keepPcie->isChecked();
  answers.nominalRates = m_rates->currentData().toBool();
  answers.nvlink = m_nvlink->currentData().toString().toStdString();
  answers.machine = m_machine->currentData().toString().toStdString();
  answers.timeUnit = m_timeUnit->text().trimmed().toStdString();
  answers.hosts = m_hosts->text().trimmed().toStdString();
  answers.adapters = m_adapters->text().trimmed().toStdString();
  const auto typed = [this](ImportChoice choice) { return m_bandwidths.at(choice)->text().trimmed().toStdString(); };
  answers.nvlinkBandwidth = typed(ImportChoice::nvlinkBandwidth);
  answers.nicBandwidth = typed(ImportChoice::nicBandwidth);
  answers.pcieBandwidth = typed(ImportChoice::pcieBandwidth);
  answers.socketBandwidth = typed(ImportChoice::socketBandwidth);
  answers.uplinkBandwidth = typed(ImportChoice::uplinkBandwidth);
  for (const auto& [number, text] : m_typed) {
    answers.numbers.push_back(number + "=" + text.toStdString());
  }
  return answers;
}

std::optional<ReadModel> ImportDialog::fabric() const {
  const std::shared_ptr<const Model> model = m_preview->model();
  if (!model) {
    return std::nullopt;
  }
  ReadModel read;
  read.model = *model;
  std::copy_if(m_ordered->findings.begin(), m_ordered->findings.end(), std::back_inserter(read.findings),
               [](const Finding& finding) { return finding.severity != Severity::note; });
  return read;
}

void ImportDialog::follow() {
  m_isWanted = false;
  m_import->setEnabled(true);
  const bool hasNetwork = m_scaleOut->currentIndex() != 0;
  bool hasNic = m_nics->count() == 0;
  for (int i = 0; i < m_nics->count(); ++i) {
    hasNic = hasNic || m_nics->item(i)->checkState() == Qt::Checked;
  }
  m_nics->setEnabled(hasNetwork || m_keepPcie->isChecked());
  m_ordered = std::make_shared<Details>();
  m_preview->submit(
      [text = m_text, answers = answers(), details = m_ordered, hasNic](const std::stop_token& stop) -> Result<Model> {
        if (!hasNic) {
          return Error{ErrorCode::badUsage, tr("No NIC is chosen").toStdString(),
                       tr("choose at least one, or no network").toStdString()};
        }
        auto options = io::importOptions(answers);
        if (!options) {
          return options.error();
        }
        options->dotHelper.stop = stop;
        auto imported = readForeign(*text, *options);
        if (!imported) {
          return imported.error();
        }
        details->findings = std::move(imported->read.findings);
        details->server = std::move(imported->server);
        details->origins = std::move(imported->origins);
        return std::move(imported->read.model);
      });
}

void ImportDialog::takeServer(const io::ImportedServer& server) {
  if (!m_isServerKnown) {
    m_isServerKnown = true;
    const QSignalBlocker quiet(m_nics);
    for (const io::ImportedServer::Nic& nic : server.nics) {
      const QString id = QString::fromStdString(nic.id);
      auto* item =
          new QListWidgetItem(nic.device.empty() ? id : id + u" · "_s + QString::fromStdString(nic.device), m_nics);
      item->setData(Qt::UserRole, id);
      item->setFlags(Qt::ItemIsUserCheckable | Qt::ItemIsEnabled);
      item->setCheckState(Qt::Checked);
    }
    constexpr int kMaxRows = 4;
    constexpr int kFrame = 6;
    m_nics->setFixedHeight(
        std::min(m_nics->count(), kMaxRows) * std::max(m_nics->sizeHintForRow(0), fontMetrics().height()) + kFrame);
    const auto model = m_preview->model();
    const int gpus = sizeOf(*model).gpus / m_boxes->value();
    m_about->setText(
        tr("The file describes one server with %1 and %2. It does not describe the network between servers.")
            .arg(counted(gpus, tr("GPU"), tr("GPUs")), counted(m_nics->count(), tr("NIC"), tr("NICs"))));
    if (server.nvlinkBandwidth && server.hasNvSwitch) {
      // What was guessed becomes the choice, so that the file leaves it open no more.
      m_nvlink->setCurrentIndex(m_nvlink->findData(*server.hasNvSwitch ? u"switch"_s : u"mesh"_s));
    }
  }
  const auto show = [this](ImportChoice choice, bool isShown) {
    if (const auto row = m_rows.find(choice); row != m_rows.end()) {
      m_form->setRowVisible(row->second, isShown);
    }
  };
  const bool hasNics = m_nics->count() > 0;
  show(ImportChoice::boxes, hasNics);
  show(ImportChoice::scaleOut, hasNics);
  show(ImportChoice::nics, hasNics);
  show(ImportChoice::nvlink, server.hasNvSwitch.has_value());
  // Of NCCL's files, only a hint leaves the NVLinks open.
  const bool isHint = m_text->format == io::FabricFormat::ncclXml && server.nvlinkBandwidth.has_value();
  m_form->setRowVisible(m_preset, isHint);
  if (auto* title = qobject_cast<QLabel*>(m_form->labelForField(m_bandwidths.at(ImportChoice::nvlinkBandwidth)));
      isHint && title != nullptr) {
    title->setText(tr("NVLinks of a GPU"));  // together
  }
  for (const auto& [choice, taken] : {std::pair{ImportChoice::nvlinkBandwidth, server.nvlinkBandwidth},
                                      {ImportChoice::nicBandwidth, server.nicBandwidth},
                                      {ImportChoice::pcieBandwidth, server.pcieBandwidth},
                                      {ImportChoice::socketBandwidth, server.socketBandwidth}}) {
    QLineEdit* field = m_bandwidths.at(choice);
    show(choice, taken.has_value() || !field->text().isEmpty());
    if (taken && field->text().isEmpty()) {
      field->setPlaceholderText(taken->isPositive()
                                    ? tr("%1 GB/s (estimate)").arg(QString::fromStdString(toExactText(*taken)))
                                    : tr("unknown"));
    }
  }
}

void ImportDialog::receive() {
  const Error* error = m_preview->error();
  m_fault->setVisible(error != nullptr);
  m_import->setEnabled(error == nullptr);
  if (error != nullptr) {
    m_isWanted = false;
    m_fault->setText(sentence(*error));
    m_notes->clear();
    return;
  }
  const std::shared_ptr<Details> details = m_ordered;
  QStringList lines;
  showNumbers(details->origins);
  for (const Finding& finding : details->findings) {
    lines << (finding.severity == Severity::note ? u"• "_s : u"⚠ "_s) + QString::fromStdString(finding.text);
  }
  m_notes->setText(lines.join(u'\n'));
  const bool isWanted = m_isWanted;
  if (details->server) {
    takeServer(*details->server);
  }
  if (m_preview->isWorking()) {
    // The first look at the file made a choice.
    m_isWanted = isWanted;
    m_preview->startNow();
  } else if (m_isWanted) {
    accept();
  }
}

void ImportDialog::want() {
  m_isWanted = true;
  if (m_preview->isWorking()) {
    m_preview->startNow();
  } else if (m_preview->model()) {
    accept();
  }
}

}  // namespace coppice::designer
