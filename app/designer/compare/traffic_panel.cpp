// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/compare/traffic_panel.hpp"

#include <QClipboard>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QVBoxLayout>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "designer/charts/picture_file.hpp"
#include "designer/document/counted.hpp"
#include "designer/document/error_text.hpp"
#include "designer/document/figures.hpp"
#include "designer/schedules/size_list.hpp"
#include "designer/theme/empty_page.hpp"
#include "designer/theme/icons.hpp"
#include "designer/theme/panel_widgets.hpp"
#include "fabric/gpu_boxes.hpp"
#include "workflow/guarded.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

/// More GPUs than this begin with their boxes.
constexpr int kManyGpus = 64;

/// GPUs of a fabric and their boxes.
struct Boxes {
  std::vector<int> boxOf;  ///< by rank; a GPU without a box is one of its own
  QStringList names;
};

Boxes boxesOf(const fabric::Fabric& fabric) {
  fabric::GpuBoxes found = fabric::gpuBoxes(fabric, fabric::Unboxed::alone);
  Boxes boxes{std::move(found.boxOf), {}};
  for (const fabric::GpuBox& box : found.boxes) {
    const std::string& gpu = fabric.nodes()[fabric.gpus()[box.ranks.front()]].id;
    boxes.names << QString::fromStdString(box.name.empty() ? gpu : box.name);
  }
  return boxes;
}

/// The same traffic in another order: entry i of the result is entry order[i].
schedule::Traffic reordered(const schedule::Traffic& traffic, const std::vector<int>& order) {
  schedule::Traffic result{traffic.size, {}};
  result.shares.reserve(traffic.shares.size());
  for (const int from : order) {
    for (const int to : order) {
      result.shares.push_back(traffic.share(from, to));
    }
  }
  return result;
}

void addUp(TrafficTable& table) {
  const schedule::Traffic& traffic = table.traffic;
  for (const Rational& share : traffic.shares) {
    if (share.isPositive()) {
      table.max = std::max(table.max, share);
      table.min = table.min.isPositive() ? std::min(table.min, share) : share;
      table.total += share;
      ++table.pairs;
    }
  }
  table.shares.reserve(traffic.shares.size());
  // By order of magnitude: what goes within a box hides nothing of what goes between boxes.
  const double range = std::log(table.max.toDouble() / table.min.toDouble());
  for (const Rational& share : traffic.shares) {
    const double value =
        range > 0 && share.isPositive() ? std::log(share.toDouble() / table.min.toDouble()) / range : 1;
    constexpr double kLeast = 0.02;
    table.shares.push_back(share.isPositive() ? static_cast<float>(std::max(kLeast, value)) : 0.0F);
  }
}

}  // namespace

TrafficPanel::TrafficPanel(QWidget* parent)
    : QWidget(parent),
      m_pages(new QStackedWidget(this)),
      m_between(new QComboBox(this)),
      m_size(new QComboBox(this)),
      m_copy(iconButton(u"trafficCopy"_s, u"copy"_s, tr("Copy all pairs as CSV"), this)),
      m_save(iconButton(u"trafficSave"_s, u"image"_s, tr("Save the matrix as a picture…"), this)),
      m_text(new QLabel(this)),
      m_view(new MatrixView(this)),
      m_job([this](const Answer& answer) { receive(answer); }, 0ms),
      m_copier([](const QString& text) { QGuiApplication::clipboard()->setText(text); }, 0ms) {
  setObjectName(u"trafficPanel"_s);
  setProperty("role", u"panel"_s);
  setAttribute(Qt::WA_StyledBackground);
  auto* empty = new EmptyPage(tr("How much data each GPU sends to every other GPU, or each box to every other box."),
                              tr("Generate"), m_pages);
  connect(empty, &EmptyPage::clicked, this, &TrafficPanel::generateWanted);
  m_pages->addWidget(empty);
  m_pages->addWidget(makeBody());
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins({});
  outer->addWidget(m_pages);
  connect(m_between, &QComboBox::currentIndexChanged, this, [this] {
    m_isWanted = m_result != nullptr;
    start();
  });
  connect(m_size, &QComboBox::currentIndexChanged, this, &TrafficPanel::showTable);
  connect(m_copy, &QToolButton::clicked, this, &TrafficPanel::copy);
  connect(m_save, &QToolButton::clicked, this, &TrafficPanel::pictureWanted);
  connect(m_view, &MatrixView::pointed, this, &TrafficPanel::tell);
  connect(m_view, &MatrixView::chosen, this, [this](int from, int to) {
    QStringList names = m_table->gpus[from];
    if (from != to) {
      names += m_table->gpus[to];
    }
    Q_EMIT gpusChosen(names);
  });
  tell(std::nullopt);
}

TrafficPanel::~TrafficPanel() = default;

QWidget* TrafficPanel::makeBody() {
  m_between->setObjectName(u"trafficBetween"_s);
  m_between->setAccessibleName(tr("Rows and columns"));
  m_between->addItem(tr("GPUs by rank"), static_cast<int>(Between::gpus));
  m_between->addItem(tr("GPUs by box"), static_cast<int>(Between::gpusByBox));
  m_between->addItem(tr("Boxes"), static_cast<int>(Between::boxes));
  m_size->setObjectName(u"trafficSize"_s);
  m_size->setAccessibleName(tr("Size of the collective"));
  fillWithSizes(*m_size, kUsualSize, tr("at %1"));
  m_text->setObjectName(u"trafficText"_s);
  m_text->setProperty("role", u"muted"_s);
  m_text->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  m_view->setObjectName(u"trafficMatrix"_s);
  return panelPage(controlRow({m_between, m_size, m_copy, m_save}, m_text), m_view, m_pages);
}

TrafficPanel::Between TrafficPanel::between() const {
  return static_cast<Between>(m_between->currentData().toInt());
}

void TrafficPanel::setBetween(Between between) {
  m_between->setCurrentIndex(m_between->findData(static_cast<int>(between)));
}

void TrafficPanel::setResult(ScheduleResultPtr result) {
  if (m_result == result) {
    return;
  }
  const bool isOtherFabric = !m_result || !result || m_result->fabricDigest() != result->fabricDigest();
  m_result = std::move(result);
  m_pages->setCurrentIndex(m_result ? 1 : 0);
  if (m_result && isOtherFabric) {
    const QSignalBlocker quiet(m_between);
    setBetween(m_result->fabric->gpuCount() > kManyGpus ? Between::boxes : Between::gpus);
  }
  m_isWanted = m_result != nullptr;
  start();
}

void TrafficPanel::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  start();
}

void TrafficPanel::start() {
  if (!m_result || m_isWanted) {
    m_job.cancel();
    m_table.reset();
    m_problem.clear();
    m_view->setMatrix({});
  }
  if (m_isWanted && isVisible()) {
    m_isWanted = false;
    m_job.submit([result = m_result, between = between()](std::stop_token stop) {
      Progress progress;
      progress.stop = std::move(stop);
      auto table = tableOf(*result, between, progress);
      return table ? Answer{*std::move(table), {}} : Answer{nullptr, sentence(table.error())};
    });
  }
  tell(std::nullopt);
}

Result<TrafficTablePtr> TrafficPanel::tableOf(const ScheduleResult& result, Between between, const Progress& progress) {
  return workflow::guarded<TrafficTablePtr>([&]() -> Result<TrafficTablePtr> {
    const fabric::Fabric& fabric = *result.fabric;
    auto traffic = schedule::trafficOf(fabric, result.schedule, progress);
    if (!traffic) {
      return traffic.error();
    }
    const Boxes boxes = boxesOf(fabric);
    auto table = std::make_shared<TrafficTable>();
    table->isByBoxes = between == Between::boxes;
    schedule::Traffic byBox = schedule::groupedTraffic(*traffic, boxes.boxOf, static_cast<int>(boxes.names.size()));
    for (int from = 0; from < byBox.size; ++from) {
      for (int to = 0; to < byBox.size; ++to) {
        table->betweenBoxes += from == to ? Rational(0) : byBox.share(from, to);
      }
    }
    const auto nameOf = [&](int rank) {
      const auto gpu = static_cast<std::size_t>(fabric.gpus()[rank]);
      return QString::fromStdString(fabric.nodes()[gpu].id);
    };
    std::vector<int> order(fabric.gpuCount());
    std::iota(order.begin(), order.end(), 0);
    const auto boxOf = [&](int rank) { return boxes.boxOf[rank]; };
    if (between != Between::gpus) {
      std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return boxOf(a) < boxOf(b); });
    }
    if (table->isByBoxes) {
      table->traffic = std::move(byBox);
      table->names = boxes.names;
      table->gpus.resize(boxes.names.size());
      for (const int rank : order) {
        table->gpus[boxOf(rank)] << nameOf(rank);
      }
    } else {
      table->traffic = between == Between::gpus ? *std::move(traffic) : reordered(*traffic, order);
      for (std::size_t at = 0; at < order.size(); ++at) {
        table->names << nameOf(order[at]);
        table->gpus.push_back({table->names.back()});
        if (boxes.names.size() > 1 && (at == 0 || boxOf(order[at]) != boxOf(order[at - 1]))) {
          table->groups.push_back(static_cast<int>(at));
        }
      }
    }
    addUp(*table);
    return TrafficTablePtr(std::move(table));
  });
}

void TrafficPanel::receive(const Answer& answer) {
  m_table = answer.table;
  m_problem = answer.problem;
  showTable();
}

void TrafficPanel::showTable() {
  if (m_table) {
    const auto bytes = static_cast<double>(sizeIn(*m_size));
    m_view->setMatrix({m_table->traffic.size, m_table->shares, m_table->names, m_table->groups,
                       roughBytes(m_table->min.toDouble() * bytes), roughBytes(m_table->max.toDouble() * bytes)});
  }
  tell(std::nullopt);
}

QString TrafficPanel::describe(int from, int to) const {
  const Rational& share = m_table->traffic.share(from, to);
  const QString names = from == to && m_table->isByBoxes ? tr("within %1").arg(m_table->names[from])
                                                         : m_table->names[from] + u" → "_s + m_table->names[to];
  if (!share.isPositive()) {
    return tr("%1: nothing").arg(names);
  }
  const std::int64_t bytes = sizeIn(*m_size);
  QString exact;
  try {
    const Rational all = share * Rational(bytes);
    exact = all.isInteger() ? tr(" = %1 bytes").arg(all.numerator()) : tr(" (%1 bytes)").arg(exactly(all));
  } catch (const OverflowError&) {
    // The share beside it is exact.
  }
  return tr("%1: %2%3, %4 of the data")
      .arg(names, roughBytes(share.toDouble() * static_cast<double>(bytes)), exact,
           QString::fromStdString(share.toString()));
}

void TrafficPanel::tell(const std::optional<std::pair<int, int>>& cell) {
  for (QToolButton* button : {m_copy, m_save}) {
    button->setEnabled(m_table != nullptr);
  }
  if (!m_table) {
    m_text->setText(!m_problem.isEmpty() ? m_problem : m_result ? tr("Computing…") : QString());
  } else if (cell) {
    m_text->setText(describe(cell->first, cell->second));
  } else {
    m_text->setText(tr("%1 carry %2 times the data, %3 of it between boxes · wheel zooms, F shows all")
                        .arg(counted(m_table->pairs, tr("pair"), tr("pairs")), decimal(m_table->total),
                             percentOf(m_table->betweenBoxes, m_table->total)));
  }
  m_text->setToolTip(m_text->text());
}

QString TrafficPanel::csv(const TrafficTable& table, std::int64_t bytes) {
  QString text = u"from,to,share_exact,bytes\n"_s;
  const auto quoted = [](QString name) { return u"\"%1\""_s.arg(name.replace(u'"', u"\"\""_s)); };
  constexpr int kDigits = 15;
  for (int from = 0; from < table.traffic.size; ++from) {
    for (int to = 0; to < table.traffic.size; ++to) {
      const Rational& share = table.traffic.share(from, to);
      if (share.isPositive()) {
        text += quoted(table.names[from]) + u',' + quoted(table.names[to]) + u',' +
                QString::fromStdString(share.toString()) + u',' +
                QString::number(share.toDouble() * static_cast<double>(bytes), 'g', kDigits) + u'\n';
      }
    }
  }
  return text;
}

void TrafficPanel::copy() {
  // A thousand GPUs have a million pairs.
  m_copier.submit([table = m_table, bytes = sizeIn(*m_size)](const std::stop_token&) { return csv(*table, bytes); });
}

Outcome TrafficPanel::savePicture(const QString& path) const {
  constexpr double kCells = 900;
  constexpr double kNames = 220;
  const QSizeF size(kCells + kNames, kCells + kNames / 2);
  return savePictureFile(path, size, tr("Traffic"), [&](QPainter& painter) { m_view->render(painter, size); });
}

}  // namespace coppice::designer
