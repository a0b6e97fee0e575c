// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/run/nccl_panel.hpp"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QSignalBlocker>
#include <QSplitter>
#include <QVBoxLayout>
#include <algorithm>
#include <optional>
#include <utility>

#include "base/bus_factor.hpp"
#include "designer/document/counted.hpp"
#include "designer/document/figures.hpp"
#include "designer/jobs/bound.hpp"
#include "designer/theme/panel_widgets.hpp"
#include "designer/theme/scales.hpp"
#include "designer/theme/theme.hpp"
#include "designer/timeline/time_text.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

using What = MeasuredChart::What;

/// With its colour, since a label keeps that of the palette it was first shown with.
QString linkText(int arc, const QString& link) {
  return u"<a href=\"%1\" style=\"color: %2\">%3</a>"_s.arg(arc).arg(Theme::instance().color(Token::accent).name(),
                                                                     link.toHtmlEscaped());
}

/// "Rings reach 40 GB/s, 72.7 % of the bound; g0 → s1 holds them back"
QString reached(const NcclView& view, const nccl::Reach& reach, bool isRich) {
  const nccl::Load& load = reach.load;
  const QString link = linkName(*view.fabric, load.arc);
  const QString text = reach.algorithm == "Ring" ? NcclPanel::tr("Rings reach %2, %3 of the bound; %4 holds them back")
                       : reach.algorithm == "Tree"
                           ? NcclPanel::tr("Trees reach %2, %3 of the bound; %4 holds them back")
                           : NcclPanel::tr("%1 reaches %2, %3 of the bound; %4 holds it back");
  const QString name = QString::fromUtf8(reach.algorithm.data(), static_cast<qsizetype>(reach.algorithm.size()));
  return QString(text)
      .replace(u"%1"_s, name)
      .replace(u"%2"_s, isRich ? u"<b>"_s + gigabytes(load.algbw) + u"</b>"_s : gigabytes(load.algbw))
      .replace(u"%3"_s, percentOf(load.algbw, view.on->bound))
      .replace(u"%4"_s, isRich ? linkText(load.arc, link) : link);
}

QString answerOf(const NcclView& view, bool isRich) {
  if (!view.on) {
    return isRich ? view.problem.toHtmlEscaped() : view.problem;
  }
  QStringList parts;
  for (const nccl::Reach& reach : view.on->reaches) {
    parts << reached(view, reach, isRich);
  }
  if (parts.isEmpty()) {
    parts << NcclPanel::tr("The files do not say which rings NCCL made");
  }
  parts << NcclPanel::tr("bound %1").arg(gigabytes(view.on->bound));
  return collectiveName(view.collective) + u": "_s + parts.join(u" · "_s);
}

}  // namespace

NcclPanel::NcclPanel(QWidget* parent)
    : QWidget(parent),
      m_answer(new QLabel(this)),
      m_missing(new QLabel(this)),
      m_collective(new QComboBox(this)),
      m_asSchedule(new QPushButton(tr("Rings as Schedule"), this)),
      m_export(new QPushButton(tr("Export for NCCL…"), this)),
      m_channels(new QTableWidget(0, 3, this)),
      m_lost(new QTableWidget(0, 2, this)),
      m_sizes(new QTableWidget(0, kColumns, this)),
      m_plot(new Plot(this)) {
  setObjectName(u"ncclPanel"_s);
  m_answer->setObjectName(u"ncclAnswer"_s);
  m_answer->setTextFormat(Qt::RichText);
  m_answer->setWordWrap(true);
  m_answer->setTextInteractionFlags(Qt::TextBrowserInteraction);
  m_answer->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  m_missing->setObjectName(u"ncclMissing"_s);
  m_missing->setProperty("role", u"muted"_s);
  m_missing->setTextFormat(Qt::PlainText);
  m_missing->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  m_collective->setObjectName(u"ncclCollective"_s);
  m_collective->setAccessibleName(tr("Collective"));
  m_collective->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  m_asSchedule->setObjectName(u"ncclAsSchedule"_s);
  m_export->setObjectName(u"ncclExport"_s);
  m_export->setProperty("role", u"primary"_s);
  m_export->setToolTip(
      tr("Write graph and tuner files for stock NCCL, with scripts that show whether they were taken and are faster"));
  m_plot->setAccessibleName(tr("Measured speed against size, beside what NCCL expected and the bound"));
  m_plot->setDraw([this] { draw(); });
  auto* head = new QHBoxLayout;
  constexpr int kMargin = 8;
  head->setContentsMargins(kMargin, 0, kMargin, 0);
  head->addWidget(m_answer, 1);
  head->addWidget(m_collective);
  head->addWidget(m_asSchedule);
  head->addWidget(m_export);
  auto* below = new QHBoxLayout;
  below->setContentsMargins(kMargin, 0, kMargin, 0);
  below->addWidget(m_missing);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins({});
  layout->setSpacing(4);
  layout->addLayout(head);
  layout->addWidget(makeTables(), 1);
  layout->addLayout(below);
  connect(m_answer, &QLabel::linkActivated, this, [this](const QString& arc) {
    if (m_view && m_view->fabric) {
      const fabric::Arc& link = m_view->fabric->arcs()[arc.toInt()];
      Q_EMIT linkWanted(QString::fromStdString(m_view->fabric->nodes()[link.tail].id),
                        QString::fromStdString(m_view->fabric->nodes()[link.head].id));
    }
  });
  connect(m_collective, &QComboBox::activated, this, [this](int index) {
    Q_EMIT collectiveWanted(static_cast<Collective>(m_collective->itemData(index).toInt()));
  });
  connect(m_channels, &QTableWidget::itemSelectionChanged, this, &NcclPanel::chosenChanged);
  connect(m_sizes, &QTableWidget::itemSelectionChanged, this, &NcclPanel::chosenChanged);
  connect(m_lost, &QTableWidget::itemSelectionChanged, this, &NcclPanel::chosenChanged);
  connect(m_lost, &QTableWidget::itemActivated, this, [this](const QTableWidgetItem* item) { goToLost(item->row()); });
  connect(m_sizes, &QTableWidget::itemActivated, this, [this](const QTableWidgetItem* item) {
    if (m_view && item->row() < static_cast<int>(m_view->sizes.size()) && m_view->sizes[item->row()].slowestRank) {
      Q_EMIT rankWanted(*m_view->sizes[item->row()].slowestRank);
    }
  });
  connect(m_asSchedule, &QPushButton::clicked, this, &NcclPanel::scheduleWanted);
  connect(m_export, &QPushButton::clicked, this, &NcclPanel::exportWanted);
  connect(&Theme::instance(), &Theme::changed, this, [this] {
    fillSizes();
    tell();
  });
  tell();
}

QWidget* NcclPanel::makeTables() {
  setUpRowTable(*m_channels, u"ncclChannels"_s, tr("Channels"), QAbstractItemView::ExtendedSelection);
  setUpRowTable(*m_sizes, u"ncclSizes"_s, tr("Sizes"));
  m_channels->setHorizontalHeaderLabels({tr("Chosen"), tr("Channels"), tr("Ranks")});
  setUpRowTable(*m_lost, u"ncclLost"_s, tr("Lost time"));
  m_lost->setHorizontalHeaderLabels({tr("Lost time"), tr("By")});
  m_sizes->setHorizontalHeaderLabels({tr("Size"), tr("NCCL chose"), tr("It expected"), tr("Predicted"), tr("Measured"),
                                      tr("algbw"), tr("Of the bound"), tr("Slowest rank"), tr("Faster here")});
  for (QTableWidget* table : {m_channels, m_lost, m_sizes}) {
    table->horizontalHeader()->setStretchLastSection(true);
    table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  }
  // What to do about a choice stands beside it.
  m_sizes->horizontalHeader()->moveSection(kFaster, kChosen + 1);
  m_sizes->horizontalHeader()->moveSection(kLast, kChosen + 2);
  auto* parts = new QSplitter(Qt::Horizontal, this);
  parts->setChildrenCollapsible(false);
  auto* left = new QSplitter(Qt::Vertical, this);
  left->setChildrenCollapsible(false);
  left->addWidget(m_channels);
  left->addWidget(m_lost);
  parts->addWidget(left);
  parts->addWidget(m_sizes);
  parts->addWidget(m_plot);
  constexpr int kChannelsWidth = 260;
  constexpr int kSizesWidth = 640;
  constexpr int kChartWidth = 420;
  parts->setSizes({kChannelsWidth, kSizesWidth, kChartWidth});
  parts->setStretchFactor(1, 1);
  parts->setStretchFactor(2, 1);
  // Tables scroll by themselves: with the height that they would like to have, the panel would scroll around them.
  constexpr int kFewRows = 110;
  parts->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Ignored);
  parts->setMinimumHeight(kFewRows);
  return parts;
}

void NcclPanel::setView(NcclViewPtr view) {
  if (m_view == view) {
    return;
  }
  m_view = std::move(view);
  fillCollectives();
  fillChannels();
  fillSizes();
  fillLost();
  tell();
  m_plot->redraw();
  Q_EMIT chosenChanged();
}

namespace {

/// "3.2 ms, last in 12 calls", or what RAS says.
QString lossText(const workflow::LostTime::Rank& rank) {
  QStringList parts;
  if (rank.calls > 0) {
    parts << NcclPanel::tr("%1, last in %2")
                 .arg(timeText(rank.lost), counted(rank.calls, NcclPanel::tr("call"), NcclPanel::tr("calls")));
  }
  if (!rank.state.empty()) {
    parts << QString::fromStdString(rank.state);
  }
  return parts.join(u"; "_s);
}

}  // namespace

/// Ranks for which others waited or that RAS names, then links that are busy beyond the time of the bound.
void NcclPanel::fillLost() {
  const QSignalBlocker quiet(m_lost);
  m_lost->clearContents();
  const bool isKnown = m_view && m_view->fabric;
  const auto links = isKnown ? static_cast<int>(m_view->lost.links.size()) : 0;
  const auto ranks = isKnown ? static_cast<int>(m_view->lost.ranks.size()) : 0;
  m_lost->setRowCount(links + ranks);
  for (int row = 0; row < links; ++row) {
    const workflow::LostTime::Link& link = m_view->lost.links[row];
    const QString tip =
        tr("Beyond the time of the bound, over all calls that were measured: %1 of %2. Enter goes to it.")
            .arg(timeText(link.lost), timeText(link.busy));
    setCell(*m_lost, ranks + row, 0, timeText(link.lost), true, tip);
    setCell(*m_lost, ranks + row, 1, linkName(*m_view->fabric, link.arc), false, tip);
  }
  for (int row = 0; row < ranks; ++row) {
    const workflow::LostTime::Rank& rank = m_view->lost.ranks[row];
    const QString name = rank.host.empty() ? tr("rank %1").arg(rank.rank)
                                           : tr("rank %1 on %2").arg(rank.rank).arg(QString::fromStdString(rank.host));
    setCell(*m_lost, row, 0, rank.calls > 0 ? timeText(rank.lost) : u"–"_s, true, lossText(rank));
    setCell(*m_lost, row, 1, name + u": "_s + lossText(rank), false, lossText(rank));
  }
  m_lost->resizeColumnsToContents();
  m_lost->setVisible(m_lost->rowCount() > 0);
  // Files without rings leave the width to the sizes.
  m_channels->setVisible(m_channels->rowCount() > 0);
  m_channels->parentWidget()->setVisible(m_channels->rowCount() + m_lost->rowCount() > 0);
}

void NcclPanel::goToLost(int row) {
  if (!m_view || !m_view->fabric) {
    return;
  }
  const auto ranks = static_cast<int>(m_view->lost.ranks.size());
  if (row < ranks) {
    Q_EMIT rankWanted(m_view->lost.ranks[row].rank);
    return;
  }
  const fabric::Arc& arc = m_view->fabric->arcs()[m_view->lost.links[row - ranks].arc];
  Q_EMIT linkWanted(QString::fromStdString(m_view->fabric->nodes()[arc.tail].id),
                    QString::fromStdString(m_view->fabric->nodes()[arc.head].id));
}

std::optional<workflow::LostTime::Link> NcclPanel::chosenLink() const {
  const int chosen = m_lost->selectedItems().isEmpty() || !m_view ? -1 : m_lost->currentRow();
  const int link = chosen - (m_view ? static_cast<int>(m_view->lost.ranks.size()) : 0);
  return chosen >= 0 && link >= 0 && link < static_cast<int>(m_view->lost.links.size())
             ? std::optional(m_view->lost.links[link])
             : std::nullopt;
}

std::optional<RankMark> NcclPanel::chosenRank() const {
  if (!m_view) {
    return std::nullopt;
  }
  const int lost = m_lost->selectedItems().isEmpty() ? -1 : m_lost->currentRow();
  if (lost >= 0 && lost < static_cast<int>(m_view->lost.ranks.size())) {
    const workflow::LostTime::Rank& chosen = m_view->lost.ranks[lost];
    return RankMark{chosen.rank, tr("rank %1: %2").arg(chosen.rank).arg(lossText(chosen))};
  }
  const int row = m_sizes->selectedItems().isEmpty() ? -1 : m_sizes->currentRow();
  if (row >= 0 && row < static_cast<int>(m_view->sizes.size()) && m_view->sizes[row].slowestRank) {
    return RankMark{*m_view->sizes[row].slowestRank,
                    tr("rank %1: took longest most often").arg(*m_view->sizes[row].slowestRank)};
  }
  return std::nullopt;
}

void NcclPanel::setWhat(What what) {
  m_what = what;
  m_plot->redraw();
}

std::vector<std::size_t> NcclPanel::chosen() const {
  std::vector<std::size_t> rows;
  for (const QModelIndex& index : m_channels->selectionModel()->selectedRows()) {
    rows.push_back(static_cast<std::size_t>(index.row()));
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

QString NcclPanel::answer() const {
  return m_view ? answerOf(*m_view, false) : QString();
}

void NcclPanel::fillCollectives() {
  const QSignalBlocker quiet(m_collective);
  m_collective->clear();
  if (!m_view) {
    return;
  }
  for (const Collective collective : workflow::collectivesOf(*m_view->run)) {
    m_collective->addItem(collectiveName(collective), static_cast<int>(collective));
  }
  m_collective->setCurrentIndex(std::max(m_collective->findData(static_cast<int>(m_view->collective)), 0));
  m_collective->setVisible(m_collective->count() > 1);
}

void NcclPanel::fillChannels() {
  const QSignalBlocker quiet(m_channels);
  m_channels->clearContents();
  m_channels->setRowCount(m_view ? static_cast<int>(m_view->drawn.size()) : 0);
  for (int row = 0; row < m_channels->rowCount(); ++row) {
    const workflow::DrawnChannels& channels = m_view->drawn[row];
    const QString ranks = ranksText(channels);
    const QString texts[] = {nameOf(*m_view, static_cast<std::size_t>(row)), QString::number(channels.count), ranks};
    for (int column = 0; column < 3; ++column) {
      setCell(*m_channels, row, column, texts[column], false, ranks);
    }
  }
  m_channels->resizeColumnsToContents();
}

void NcclPanel::fillSizes() {
  const QSignalBlocker quiet(m_sizes);
  m_sizes->clearContents();
  m_sizes->setRowCount(m_view ? static_cast<int>(m_view->sizes.size()) : 0);
  for (int row = 0; row < m_sizes->rowCount(); ++row) {
    const workflow::RunSize& size = m_view->sizes[row];
    const auto time = [](const std::optional<Microseconds>& value) { return value ? timeText(*value) : u"–"_s; };
    QString faster = size.faster.empty() ? u"–"_s : QString::fromStdString(size.faster);
    if (size.fasterTime) {
      faster += u" ("_s + timeText(*size.fasterTime) + u')';
    }
    const QString share =
        size.algbw && m_view->on
            ? QString::number(100 * size.algbw->gigabytesPerSecond() / toGBps(m_view->on->bound), 'f', 1) + u" %"_s
            : u"–"_s;
    QString chosen = size.algorithm.empty() ? u"–"_s : QString::fromStdString(size.algorithm + " " + size.protocol);
    const QStringList texts{bytesText(size.bytes),
                            chosen.trimmed(),
                            time(size.estimated),
                            time(size.predicted),
                            time(size.measured),
                            size.algbw ? QString::number(size.algbw->gigabytesPerSecond(), 'f', 2) : u"–"_s,
                            share,
                            size.slowestRank ? QString::number(*size.slowestRank) : u"–"_s,
                            faster};
    QString tip = size.reachable ? tr("What it chose can reach %1 here, by congestion.").arg(gigabytes(*size.reachable))
                                 : QString();
    if (size.channels) {
      tip += (tip.isEmpty() ? QString() : u" "_s) + counted(*size.channels, tr("channel"), tr("channels")) + u'.';
    }
    if (size.slowestRank) {
      tip += (tip.isEmpty() ? QString() : u" "_s) +
             tr("Rank %1 took longest most often; Enter goes to it.").arg(*size.slowestRank);
    }
    for (int column = 0; column < kColumns; ++column) {
      setCell(*m_sizes, row, column, texts[column], column != kChosen && column != kFaster, tip);
    }
  }
  const auto hide = [this](Column column, const auto& isKnown) {
    m_sizes->setColumnHidden(column, !m_view || std::ranges::none_of(m_view->sizes, isKnown));
  };
  hide(kChosen, [](const workflow::RunSize& size) { return !size.algorithm.empty(); });
  hide(kFaster, [](const workflow::RunSize& size) { return !size.faster.empty(); });
  hide(kEstimated, [](const workflow::RunSize& size) { return size.estimated.has_value(); });
  hide(kPredicted, [](const workflow::RunSize& size) { return size.predicted.has_value(); });
  for (const Column column : {kMeasured, kAlgbw, kShare}) {
    hide(column, [](const workflow::RunSize& size) { return size.measured.has_value(); });
  }
  hide(kLast, [](const workflow::RunSize& size) { return size.slowestRank.has_value(); });
  m_plot->setVisible(m_view && std::ranges::any_of(m_view->sizes, [](const workflow::RunSize& size) {
                       return size.measured || size.estimated;
                     }));
  m_sizes->resizeColumnsToContents();
  m_sizes->horizontalHeaderItem(kEstimated)->setToolTip(tr("NCCL's own estimate"));
  m_sizes->horizontalHeaderItem(kPredicted)
      ->setToolTip(tr("What it chose, by its estimate with no more bandwidth than it has on this fabric"));
  m_sizes->horizontalHeaderItem(kMeasured)->setToolTip(
      tr("By nccl-tests, out of place where there is both, or Inspector"));
  m_sizes->horizontalHeaderItem(kFaster)->setToolTip(
      tr("By NCCL's estimates, with the bandwidths that its rings and trees have on this fabric"));
}

void NcclPanel::tell() {
  m_answer->setText(m_view ? answerOf(*m_view, true) : tr("Reading…"));
  m_answer->setToolTip(answer());
  QStringList lines;
  if (m_view) {
    if (!m_view->problem.isEmpty() && m_view->on) {
      lines << m_view->problem;
    }
    if (const auto& expected = m_view->run->expectation) {
      lines << tr("Compute capability %1, by the fabric").arg(expected->tuning.computeCapability);
      for (const std::string& sentence : expected->uncertain) {
        lines << tr("Not certain: %1").arg(QString::fromStdString(sentence));
      }
    }
    for (const std::string& missing : m_view->run->missing) {
      lines << tr("Missing: %1").arg(QString::fromStdString(missing));
    }
    for (const Finding& doubt : m_view->run->doubts) {
      lines << QString::fromStdString(describe(doubt));
    }
    for (const nccl::RasStatus& status : m_view->run->ras) {
      for (const std::string& problem : status.problems) {
        lines << tr("RAS: %1").arg(QString::fromStdString(problem));
      }
      for (const nccl::RasCommunicator& each : status.communicators) {
        for (const std::string& problem : each.problems) {
          lines << tr("RAS: %1").arg(QString::fromStdString(problem));
        }
      }
    }
    for (const std::string& warning : m_view->run->log.warnings) {
      lines << tr("NCCL warned: %1").arg(QString::fromStdString(warning));
    }
  }
  m_missing->setText(lines.join(u" · "_s));
  m_missing->setToolTip(lines.join(u'\n'));
  m_missing->setVisible(!lines.isEmpty());
  const bool isPassing = m_view && m_view->passesGpus;
  m_asSchedule->setEnabled(m_view && m_view->on && m_view->on->loadOf("Ring") != nullptr && !isPassing);
  m_asSchedule->setToolTip(
      isPassing ? tr("These rings leave a box through another GPU (PXN), which no schedule can")
                : tr("Add NCCL's rings to the schedules: they are played, simulated and compared like any"));
  m_export->setEnabled(m_view && m_view->fabric);
}

void NcclPanel::draw() {
  if (!m_view || m_view->sizes.empty()) {
    m_plot->setHint(tr("Add the output of nccl-tests, or Inspector files, to see measured speeds"));
    return;
  }
  m_plot->setAxes({.scale = PlotAxis::Scale::sizes}, {.title = m_what == What::time    ? tr("time, µs")
                                                               : m_what == What::busbw ? tr("busbw, GB/s")
                                                                                       : tr("algbw, GB/s"),
                                                      .scale = PlotAxis::Scale::logarithmic});
  const Rational factor =
      m_what == What::busbw && m_view->fabric ? busFactor(m_view->collective, m_view->fabric->gpuCount()) : Rational(1);
  const auto value = [&](std::int64_t bytes, Microseconds time) {
    return m_what == What::time ? time.count()
                                : Throughput(static_cast<double>(bytes), time).gigabytesPerSecond() * factor.toDouble();
  };
  QList<QPointF> measured;
  QList<QPointF> estimated;
  QList<QPointF> predicted;
  QList<QPointF> faster;
  for (const workflow::RunSize& size : m_view->sizes) {
    for (const auto& [points, time] : {std::pair(&measured, size.measured), std::pair(&estimated, size.estimated),
                                       std::pair(&predicted, size.predicted), std::pair(&faster, size.fasterTime)}) {
      if (time && time->count() > 0) {
        points->append({static_cast<double>(size.bytes), value(size.bytes, *time)});
      }
    }
  }
  const Scheme scheme = Theme::instance().scheme();
  constexpr double kMarker = 5;
  constexpr double kWidth = 1.4;
  const std::vector<workflow::MeasuredRun>& runs = m_view->run->measured;
  const auto isOfCollective = [this](const workflow::MeasuredRun& run) {
    return run.collective.empty() || run.collective == toString(m_view->collective);
  };
  if (std::ranges::count_if(runs, isOfCollective) > 1) {
    addRuns(isOfCollective, value);
  } else if (!measured.isEmpty()) {
    m_plot->addLine(tr("measured"), measured, {.color = category(0, scheme), .marker = kMarker});
  }
  if (!predicted.isEmpty()) {
    m_plot->addLine(tr("predicted"), predicted, {.color = category(5, scheme), .width = kWidth});
  }
  if (!estimated.isEmpty()) {
    m_plot->addLine(tr("NCCL's estimate"), estimated,
                    {.color = category(1, scheme), .width = kWidth, .dash = Qt::DashLine});
  }
  if (!faster.isEmpty()) {
    m_plot->addPoints(tr("faster here"), faster, {.color = category(2, scheme), .marker = kMarker});
  }
  if (m_plot->isEmpty()) {
    m_plot->setHint(tr("Add the output of nccl-tests, or Inspector files, to see measured speeds"));
    return;
  }
  if (m_view->on && m_what != What::time) {
    const auto level = [&](const QString& name, const Bandwidth& bandwidth, Qt::PenStyle dash, const QColor& color) {
      m_plot->addLevel(name, toGBps(bandwidth * factor), {.color = color, .width = kWidth, .dash = dash});
    };
    level(tr("bound"), m_view->on->bound, Qt::DashLine, Theme::instance().color(Token::text));
    int index = 3;
    for (const nccl::Reach& reach : m_view->on->reaches) {
      const QString name = QString::fromUtf8(reach.algorithm.data(), static_cast<qsizetype>(reach.algorithm.size()));
      level(reach.algorithm == "Ring"   ? tr("rings reach")
            : reach.algorithm == "Tree" ? tr("trees reach")
                                        : tr("%1 reaches").arg(name),
            reach.load.algbw, index % 2 == 1 ? Qt::DotLine : Qt::DashDotLine, category(index, scheme));
      index += index == 4 ? 2 : 1;  // between them is what is predicted
    }
  }
}

/// Each file that was measured is a line: as of a bundle, whose runs are without and with its files.
template <typename IsOf, typename Value>
void NcclPanel::addRuns(const IsOf& isOfCollective, const Value& value) {
  constexpr double kMarker = 5;
  constexpr int kColours = 6;
  int index = 0;
  for (const workflow::MeasuredRun& run : m_view->run->measured) {
    QList<QPointF> points;
    for (const io::NcclRow& row : run.rows) {
      const auto& time = row.outOfPlace ? row.outOfPlace : row.inPlace;
      if (isOfCollective(run) && time && time->time.count() > 0) {
        points.append({static_cast<double>(row.size), value(row.size, time->time)});
      }
    }
    if (!points.isEmpty()) {
      const QString name = QString::fromStdString(run.name);
      m_plot->addLine(name.section(u'/', -1), points,
                      {.color = category(kColours + index++, Theme::instance().scheme()), .marker = kMarker});
    }
  }
}

QString NcclPanel::csv() const {
  QString text =
      u"collective,size_bytes,algorithm,protocol,channels,nccl_estimate_us,predicted_us,measured_us,algbw_GBps,faster,"
      "faster_us,slowest_rank\n"_s;
  if (!m_view) {
    return text;
  }
  const auto number = [](const std::optional<Microseconds>& time) {
    return time ? QString::number(time->count(), 'g', 9) : QString();
  };
  const auto whole = [](const std::optional<int>& value) { return value ? QString::number(*value) : QString(); };
  for (const workflow::RunSize& size : m_view->sizes) {
    text += QStringList{QString::fromStdString(size.collective),
                        QString::number(size.bytes),
                        QString::fromStdString(size.algorithm),
                        QString::fromStdString(size.protocol),
                        whole(size.channels),
                        number(size.estimated),
                        number(size.predicted),
                        number(size.measured),
                        size.algbw ? QString::number(size.algbw->gigabytesPerSecond(), 'g', 9) : QString(),
                        QString::fromStdString(size.faster),
                        number(size.fasterTime),
                        whole(size.slowestRank)}
                .join(u',') +
            u'\n';
  }
  return text;
}

}  // namespace coppice::designer
