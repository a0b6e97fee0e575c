// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/run/run_chart.hpp"

#include <QHBoxLayout>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "designer/document/figures.hpp"
#include "designer/run/panel_parts.hpp"
#include "designer/theme/panel_widgets.hpp"
#include "designer/theme/scales.hpp"
#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

enum What { kAlgbw, kBusbw, kMicroseconds };

double valueOf(const program::ResultRecord& result, int what) {
  return what == kMicroseconds ? result.time_us : (what == kBusbw ? result.busbw_GBps : result.algbw_GBps);
}

}  // namespace

RunChart::RunChart(QWidget* parent)
    : QWidget(parent),
      m_pages(new QStackedWidget(this)),
      m_what(new QComboBox(this)),
      m_scale(new QComboBox(this)),
      m_plot(new Plot(this)),
      m_values(new QLabel(this)) {
  setUpPanel(this, u"runChart"_s, tr("Chart"));
  m_what->addItem(tr("algbw, GB/s"), kAlgbw);
  m_what->addItem(tr("busbw, GB/s"), kBusbw);
  m_what->addItem(tr("time, µs"), kMicroseconds);
  m_what->setObjectName(u"chartWhat"_s);
  m_what->setAccessibleName(tr("What the chart shows"));
  m_scale->addItem(tr("linear"));
  m_scale->addItem(tr("logarithmic"));
  // A bound far above what one machine reaches would press the curves flat.
  m_scale->setCurrentIndex(1);
  m_scale->setObjectName(u"chartScale"_s);
  m_scale->setAccessibleName(tr("Scale"));
  m_values->setTextFormat(Qt::RichText);
  m_values->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  m_plot->setAccessibleName(tr("Bandwidth against size"));
  // The dock is low: the height is for the lines.
  m_plot->setLegendSide(Plot::LegendSide::right);
  auto* head = new QHBoxLayout;
  constexpr int kMargin = 12;
  constexpr int kSmall = 6;
  head->setContentsMargins(kMargin, kSmall, kMargin, 0);
  head->setSpacing(kSmall);
  head->addWidget(m_what);
  head->addWidget(m_scale);
  head->addSpacing(kMargin);
  head->addWidget(m_values, 1);
  m_pages->addWidget(
      emptyLabel(tr("The bandwidths of a run are drawn here against the bound. Tick runs in the Runs dock "
                    "to compare them."),
                 this));
  m_pages->addWidget(panelPage(head, m_plot, this));
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins({});
  layout->addWidget(m_pages);
  m_plot->setDraw([this] { draw(); });
  connect(m_plot, &Plot::pointed, this, [this](const PlotPlace& place) {
    if (place.x) {
      showValues(*place.x);
    }
  });
  connect(m_what, &QComboBox::currentIndexChanged, m_plot, &Plot::redraw);
  connect(m_scale, &QComboBox::currentIndexChanged, m_plot, &Plot::redraw);
}

void RunChart::setSeries(std::vector<Series> series) {
  m_series = std::move(series);
  m_plot->redraw();
}

void RunChart::draw() {
  const Theme& theme = Theme::instance();
  const int what = m_what->currentData().toInt();
  const bool isLog = m_scale->currentIndex() == 1;
  m_plot->setAxes({.scale = PlotAxis::Scale::sizes},
                  {.scale = isLog ? PlotAxis::Scale::logarithmic : PlotAxis::Scale::linear, .fromZero = true});
  std::set<double> bounds;
  int index = 0;
  for (const Series& series : m_series) {
    for (const bool isIn : {false, true}) {
      QList<QPointF> values;
      for (const ResultRow& row : series.data->rows()) {
        const std::optional<program::ResultRecord>& half = isIn ? row.inPlace : row.outOfPlace;
        const double value = half ? valueOf(*half, what) : 0;
        if (value > 0 && std::isfinite(value)) {
          values.append({static_cast<double>(std::max<qint64>(row.size, 1)), value});
        }
      }
      // Colour tells the run, the dash tells in place.
      constexpr double kMarker = 6;
      if (!values.isEmpty()) {
        m_plot->addLine(isIn ? tr("in place: %1").arg(series.name) : series.name, values,
                        {.color = category(index, theme.scheme()),
                         .width = 2,
                         .dash = isIn ? Qt::DotLine : Qt::SolidLine,
                         .marker = isIn ? 0 : kMarker});
      }
    }
    if (what == kAlgbw && series.data->plan() && series.data->plan()->boundGBps) {
      bounds.insert(*series.data->plan()->boundGBps);
    }
    ++index;
  }
  m_pages->setCurrentIndex(m_plot->isEmpty() ? 0 : 1);
  if (m_plot->isEmpty()) {
    return;
  }
  for (const double bound : bounds) {
    m_plot->addLevel(tr("bound %1").arg(bound, 0, 'f', 2), bound,
                     {.color = theme.color(Token::text), .width = 1.5, .dash = Qt::DashLine});
  }
  m_values->setText(u"<span style='color:%1'>%2</span>"_s.arg(theme.color(Token::muted).name(),
                                                              tr("Point at a size to see its values")));
}

void RunChart::showValues(double bytes) {
  std::vector<std::int64_t> sizes;
  for (const Series& series : m_series) {
    for (const ResultRow& row : series.data->rows()) {
      sizes.push_back(std::max<qint64>(row.size, 1));
    }
  }
  // The size that is nearest, and all series there.
  const std::int64_t size = sizes[nearestSize(sizes, bytes)];
  const Theme& theme = Theme::instance();
  const int what = m_what->currentData().toInt();
  QString text = u"<b>%1</b>"_s.arg(roughBytes(static_cast<double>(size)));
  int index = 0;
  for (const Series& series : m_series) {
    for (const ResultRow& row : series.data->rows()) {
      if (std::max<qint64>(row.size, 1) != size) {
        continue;
      }
      const program::ResultRecord& result = row.any();
      text += u" &nbsp; <span style='color:%1'>●</span> %2: <b>%3</b>"_s.arg(
          category(index, theme.scheme()).name(), series.name.toHtmlEscaped(),
          QString::number(valueOf(result, what), 'f', 2));
      if (what == kAlgbw && result.boundPercent && noBoundReason(*series.data).isEmpty()) {
        text += tr(" (%1 % of the bound)").arg(*result.boundPercent, 0, 'f', 1);
      }
    }
    ++index;
  }
  m_values->setText(text);
}

}  // namespace coppice::designer
