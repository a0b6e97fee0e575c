// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/exchange/exchange_panel.hpp"

#include <QClipboard>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFile>
#include <QGuiApplication>
#include <QHeaderView>
#include <QMimeData>
#include <QSignalBlocker>
#include <QUrl>
#include <QVBoxLayout>

#include "alltoall/demand_table.hpp"
#include "designer/document/figures.hpp"
#include "designer/theme/panel_widgets.hpp"
#include "io/files.hpp"
#include "workflow/facts.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

constexpr int kMargin = 10;
constexpr int kGap = 6;

QString inWords(const Rational& nanoseconds) {
  return QString::fromStdString(workflow::exchangeDuration(nanoseconds));
}

QString megabytes(const Rational& bytes) {
  return decimal(bytes / Rational(1'000'000));
}

QString plain(double value) {
  return QString::number(value, 'f', 2);
}

}  // namespace

ExchangePanel::ExchangePanel(QWidget* parent)
    : QuestionPanel({.name = u"exchange"_s,
                     .noDocument = tr("Open a fabric to see how fast an uneven all-to-all can be on it."),
                     .invitation = tr(
                         "How long does an uneven all-to-all take at least, and which links limit it? Choose, paste "
                         "or drop a table with the bytes that each GPU (row) sends to each GPU (column), or describe "
                         "a layer of experts."),
                     .action = tr("Compute"),
                     .working = tr("Computing the exchange…"),
                     .command = u"moe"_s},
                    workflow::exchangeOptions(), answerExchange, parent),
      m_headline(new QLabel(this)),
      m_tabs(new QTabWidget(this)),
      m_exchanges(new QTableWidget(this)),
      m_limits(new QTableWidget(this)),
      m_gpus(new QTableWidget(this)),
      m_placement(new QTableWidget(this)),
      m_schedule(new QPushButton(tr("Add as Schedule"), this)),
      m_saveBytes(new QPushButton(tr("Save Bytes…"), this)),
      m_savePlacement(new QPushButton(tr("Save Placement…"), this)) {
  setAcceptDrops(true);
  auto* paste = new QPushButton(tr("Paste Table"), this);
  paste->setObjectName(u"exchangePaste"_s);
  paste->setToolTip(tr("Compute with the table of bytes on the clipboard"));
  connect(paste, &QPushButton::clicked, this, [this] { take(*QGuiApplication::clipboard()->mimeData()); });
  form().addBelow(workflow::exchangeOptions().front().group, paste);
  setContent(makeContent());
}

QWidget* ExchangePanel::makeContent() {
  m_headline->setObjectName(u"exchangeHeadline"_s);
  m_headline->setWordWrap(true);
  m_headline->setTextInteractionFlags(Qt::TextSelectableByMouse);
  setUpRowTable(*m_exchanges, u"exchangeTable"_s, tr("Exchanges"));
  setHeads(*m_exchanges,
           {tr("Exchange"), tr("Time"), tr("At least"), tr("NIC GB/s"), tr("Box GB/s"), tr("Direct"), tr("Busiest GPU"),
            tr("Sends MB"), tr("Receives MB"), tr("Alone")},
           -1);
  const QStringList tips{{},
                         tr("For the routes of the schedule"),
                         tr("No routes are faster"),
                         tr("Each GPU on average, while the exchange lasts: sent out of its box"),
                         tr("Each GPU on average: received from GPUs of its box"),
                         tr("Time where GPUs pass nothing on for others"),
                         tr("The GPU that needs the longest for what it sends or receives, over all its links"),
                         {},
                         {},
                         tr("How much of the time the busiest GPU would need alone")};
  for (int column = 0; column < tips.size(); ++column) {
    m_exchanges->horizontalHeaderItem(column)->setToolTip(tips[column]);
  }
  setUpRowTable(*m_limits, u"exchangeLimits"_s, tr("Links that limit the exchange"));
  setHeads(*m_limits, {tr("Links"), tr("GB/s each"), tr("Of the bound"), tr("+1 GB/s gains"), tr("Such as")}, 4);
  m_limits->horizontalHeaderItem(3)->setToolTip(
      tr("How much faster the exchange gets by one more GB/s of one of them"));
  setUpRowTable(*m_gpus, u"exchangeGpus"_s, tr("What each GPU sends and receives"));
  setHeads(*m_gpus, {tr("Rank"), tr("GPU"), tr("Sends MB"), tr("Receives MB"), tr("Alone")}, 1);
  setUpRowTable(*m_placement, u"exchangePlacement"_s, tr("Placement of the experts"));
  setHeads(*m_placement, {tr("Expert"), tr("GPU"), tr("Was at")}, 2);
  m_tabs->setDocumentMode(true);
  m_tabs->addTab(m_exchanges, tr("Exchanges"));
  m_tabs->addTab(m_limits, tr("Limiting Links"));
  m_tabs->addTab(m_gpus, tr("GPUs"));
  m_tabs->addTab(m_placement, tr("Placement"));
  m_schedule->setObjectName(u"exchangeSchedule"_s);
  m_schedule->setToolTip(tr("Keep the routes of the chosen exchange as a verified schedule of the fabric"));
  m_saveBytes->setObjectName(u"exchangeSaveBytes"_s);
  m_savePlacement->setObjectName(u"exchangeSavePlacement"_s);
  connect(m_exchanges, &QTableWidget::itemSelectionChanged, this, &ExchangePanel::showChosen);
  connect(m_schedule, &QPushButton::clicked, this, [this] {
    if (chosen() != nullptr) {
      Q_EMIT scheduleWanted(m_answer, static_cast<std::size_t>(m_exchanges->currentRow()));
    }
  });
  connect(m_saveBytes, &QPushButton::clicked, this, [this] { save(false); });
  connect(m_savePlacement, &QPushButton::clicked, this, [this] { save(true); });
  auto* content = new QWidget(this);
  auto* layout = new QVBoxLayout(content);
  layout->setContentsMargins(kMargin, kGap, kMargin, kGap);
  layout->setSpacing(kGap);
  layout->addWidget(m_headline);
  layout->addWidget(state());
  layout->addWidget(m_tabs, 1);
  layout->addLayout(buttonRow({m_savePlacement, m_saveBytes, m_schedule}));
  return content;
}

// ---- tables from elsewhere

void ExchangePanel::askWith(const QString& table) {
  const QString path = m_pasted.filePath(u"pasted-%1.csv"_s.arg(++m_pastedCount));
  if (const Outcome saved = io::saveFile(QFile::encodeName(path).toStdString(), table.toStdString()); !saved) {
    Q_EMIT failed(errorText(saved.error()));
    return;
  }
  form().setValues({{"demand", path.toStdString()}});
  search();
}

void ExchangePanel::take(const QMimeData& given) {
  const QList<QUrl> urls = given.urls();
  if (urls.size() == 1 && urls.front().isLocalFile()) {
    form().setValues({{"demand", urls.front().toLocalFile().toStdString()}});
    search();
  } else if (given.hasText() && !given.text().trimmed().isEmpty()) {
    askWith(given.text());
  } else {
    Q_EMIT failed(tr("There is no table. Copy the bytes that each GPU (row) sends to each GPU (column)."));
  }
}

void ExchangePanel::dragEnterEvent(QDragEnterEvent* event) {
  const QList<QUrl> urls = event->mimeData()->urls();
  const bool isFile = urls.size() == 1 && urls.front().isLocalFile();
  if (context() != nullptr && (isFile || (urls.isEmpty() && event->mimeData()->hasText()))) {
    event->acceptProposedAction();
  }
}

void ExchangePanel::dropEvent(QDropEvent* event) {
  event->acceptProposedAction();
  take(*event->mimeData());
}

// ---- the answer

const ShownExchange* ExchangePanel::chosen() const {
  const int row = m_exchanges->selectedItems().isEmpty() ? -1 : m_exchanges->currentRow();
  return m_answer && row >= 0 ? &m_answer->exchanges[static_cast<std::size_t>(row)] : nullptr;
}

void ExchangePanel::showAnswer(const PanelAnswerPtr& answer) {
  m_answer = std::static_pointer_cast<const ExchangeAnswer>(answer);
  fillExchanges();
  fillPlacement();
  showChosen();
}

void ExchangePanel::fillExchanges() {
  const QSignalBlocker quiet(m_exchanges);
  m_exchanges->setRowCount(0);
  if (!m_answer) {
    return;
  }
  m_exchanges->setRowCount(static_cast<int>(m_answer->exchanges.size()));
  for (std::size_t i = 0; i < m_answer->exchanges.size(); ++i) {
    const workflow::NamedExchange& exchange = m_answer->exchanges[i].exchange;
    const workflow::ExchangeTime& time = exchange.time;
    const workflow::RankTraffic& worst = time.worstTraffic();
    const fabric::NodeIndex gpu = m_answer->fabric->gpus()[static_cast<std::size_t>(time.worst)];
    const QStringList texts{
        exchangeTitle(exchange),
        inWords(time.nanoseconds),
        inWords(time.leastNanoseconds),
        plain(time.networkGBps),
        plain(time.boxGBps),
        time.directNanoseconds ? inWords(*time.directNanoseconds) : u"–"_s,
        time.areRanksAlike() ? tr("all alike") : QString::fromStdString(m_answer->fabric->nodes()[gpu].id),
        megabytes(worst.sent),
        megabytes(worst.received),
        percentOf(worst.nanoseconds, time.nanoseconds)};
    constexpr int kGpuColumn = 6;
    for (int column = 0; column < texts.size(); ++column) {
      setCell(*m_exchanges, static_cast<int>(i), column, texts[column], column != 0 && column != kGpuColumn);
    }
    m_exchanges->item(static_cast<int>(i), 1)->setToolTip(exactly(time.nanoseconds) + tr(" ns"));
  }
  if (m_exchanges->rowCount() > 0) {
    // Of an improved placement, the exchange with it.
    m_exchanges->selectRow(m_answer->exchanges.front().exchange.name == "dispatch as placed" ? 1 : 0);
  }
}

void ExchangePanel::showChosen() {
  fillLimits();
  fillGpus();
  m_headline->clear();
  const ShownExchange* shown = chosen();
  m_schedule->setEnabled(shown != nullptr);
  m_saveBytes->setEnabled(shown != nullptr);
  if (shown != nullptr) {
    const workflow::ExchangeTime& time = shown->exchange.time;
    const QString title = exchangeTitle(shown->exchange);
    QString text = u"<b>"_s +
                   (time.isExact() ? tr("%1: %2. No routes are faster.").arg(title, inWords(time.nanoseconds))
                                   : tr("%1: %2. No routes are faster than %3.")
                                         .arg(title, inWords(time.nanoseconds), inWords(time.leastNanoseconds))) +
                   u"</b>"_s;
    if (!shown->limits.empty()) {
      text += u"<br>"_s +
              tr("Limited by %1.")
                  .arg(QString::fromStdString(workflow::cutWords(*m_answer->fabric, shown->limits)).toHtmlEscaped());
    }
    if (const auto gain = workflow::relayGain(time)) {
      constexpr double kVisible = 1.005;
      text +=
          u' ' + (*gain >= kVisible ? tr("GPUs pass data on; without that it takes %1 times as long.").arg(plain(*gain))
                                    : tr("Passing data on through other GPUs gains nothing."));
    }
    m_headline->setText(text);
  }
  Q_EMIT marksChanged();
}

void ExchangePanel::fillLimits() {
  m_limits->setRowCount(0);
  const ShownExchange* shown = chosen();
  if (shown == nullptr) {
    return;
  }
  const fabric::Fabric& fabric = *m_answer->fabric;
  const Rational bound = shown->exchange.time.optimum->upper.gigabytesPerSecond();
  m_limits->setRowCount(static_cast<int>(shown->limits.size()));
  for (std::size_t i = 0; i < shown->limits.size(); ++i) {
    const workflow::CutLinks& links = shown->limits[i];
    const fabric::Arc& arc = fabric.arcs()[static_cast<std::size_t>(links.arcs.front())];
    const int row = static_cast<int>(i);
    setCell(*m_limits, row, 0, QString::number(links.arcs.size()), true);
    setCell(*m_limits, row, 1, decimal(links.bandwidth), true, exactly(links.bandwidth));
    setCell(*m_limits, row, 2, percentOf(links.part(), bound), true);
    setCell(*m_limits, row, 3, percentOf(links.price, bound), true);
    setCell(*m_limits, row, 4,
            QString::fromStdString(fabric.nodes()[arc.tail].id) + u" → "_s +
                QString::fromStdString(fabric.nodes()[arc.head].id),
            false);
  }
}

void ExchangePanel::fillGpus() {
  m_gpus->setRowCount(0);
  const ShownExchange* shown = chosen();
  if (shown == nullptr) {
    return;
  }
  const workflow::ExchangeTime& time = shown->exchange.time;
  m_gpus->setRowCount(static_cast<int>(time.ranks.size()));
  for (std::size_t rank = 0; rank < time.ranks.size(); ++rank) {
    const workflow::RankTraffic& traffic = time.ranks[rank];
    const int row = static_cast<int>(rank);
    const fabric::NodeIndex gpu = m_answer->fabric->gpus()[rank];
    setCell(*m_gpus, row, 0, QString::number(rank), true);
    setCell(*m_gpus, row, 1, QString::fromStdString(m_answer->fabric->nodes()[gpu].id), false);
    setCell(*m_gpus, row, 2, megabytes(traffic.sent), true);
    setCell(*m_gpus, row, 3, megabytes(traffic.received), true);
    setCell(*m_gpus, row, 4, percentOf(traffic.nanoseconds, time.nanoseconds), true);
  }
}

void ExchangePanel::fillPlacement() {
  m_placement->setRowCount(0);
  const bool hasExperts = m_answer && !m_answer->placement.empty();
  m_tabs->setTabVisible(m_tabs->indexOf(m_placement), hasExperts);
  m_savePlacement->setVisible(hasExperts);
  if (!hasExperts) {
    return;
  }
  const auto idOf = [&](fabric::Rank rank) {
    return QString::fromStdString(m_answer->fabric->nodes()[m_answer->fabric->gpus()[rank]].id);
  };
  m_placement->setRowCount(static_cast<int>(m_answer->placement.size()));
  for (std::size_t expert = 0; expert < m_answer->placement.size(); ++expert) {
    const int row = static_cast<int>(expert);
    const fabric::Rank now = m_answer->placement[expert];
    const fabric::Rank before = m_answer->givenPlacement[expert];
    setCell(*m_placement, row, 0, QString::number(expert), true);
    setCell(*m_placement, row, 1, idOf(now), false);
    setCell(*m_placement, row, 2, now == before ? QString() : idOf(before), false);
  }
}

void ExchangePanel::save(bool isPlacement) {
  const ShownExchange* shown = chosen();
  if (shown == nullptr) {
    return;
  }
  if (isPlacement) {
    Q_EMIT saveWanted(u"placement.txt"_s, workflow::placementText(*m_answer->fabric, m_answer->placement));
  } else {
    const QString name = exchangeTitle(shown->exchange).toLower().replace(u' ', u'-');
    Q_EMIT saveWanted(name + u".csv"_s, alltoall::writeDemandTable(*m_answer->fabric, shown->exchange.time.table));
  }
}

QString ExchangePanel::stateOf(const PanelAnswer& answer) const {
  return tr("Routes and bound verified, in %1.").arg(duration(answer.seconds));
}

Overlay ExchangePanel::marks() const {
  Overlay overlay;
  const ShownExchange* shown = chosen();
  if (!context() || !isSeen() || !isCurrent() || shown == nullptr) {
    return overlay;
  }
  const workflow::ExchangeTime& time = shown->exchange.time;
  overlay.marks = linkMarks(*context(), m_answer->snapshot, *m_answer->fabric, shown->limits);
  if (time.areRanksAlike()) {
    return overlay;
  }
  Hull busiest;
  busiest.nodes.insert(m_answer->snapshot.nodes[m_answer->fabric->gpus()[static_cast<std::size_t>(time.worst)]]);
  busiest.line = Token::accent;
  busiest.fill = Token::accentSoft;
  busiest.label = tr("busiest GPU: sends %1 MB, receives %2 MB")
                      .arg(megabytes(time.worstTraffic().sent), megabytes(time.worstTraffic().received));
  overlay.hulls.push_back(std::move(busiest));
  return overlay;
}

}  // namespace coppice::designer
