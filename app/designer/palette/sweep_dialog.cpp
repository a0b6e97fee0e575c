// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/palette/sweep_dialog.hpp"

#include <QClipboard>
#include <QFormLayout>
#include <QGuiApplication>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "base/rational.hpp"
#include "base/units.hpp"
#include "designer/document/error_text.hpp"
#include "designer/document/figures.hpp"
#include "designer/document/measured_points.hpp"
#include "designer/palette/parameter_form.hpp"
#include "designer/theme/panel_widgets.hpp"
#include "designer/theme/scales.hpp"
#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

constexpr int kMaxValues = 64;

/// "4,8" "1..8": the values one by one.
QStringList valuesIn(const QString& text) {
  QStringList values;
  for (const QString& part : text.split(u',', Qt::SkipEmptyParts)) {
    const QString from = part.section(u".."_s, 0, 0).trimmed();
    bool isNumber = false;
    bool isEnd = false;
    const int first = from.toInt(&isNumber);
    const int last = part.section(u".."_s, 1).trimmed().toInt(&isEnd);
    if (!isNumber || !isEnd) {
      values << part.trimmed();
      continue;
    }
    for (int value = first; value <= last && values.size() < kMaxValues; ++value) {
      values << QString::number(value);
    }
  }
  values.removeAll(QString());
  return values.mid(0, kMaxValues);
}

/// What is worth a look first.
QString proposalFor(const presets::Rule& rule) {
  QStringList values;
  if (rule.kind == presets::ValueKind::integer) {
    constexpr int kDoublings = 5;
    std::int64_t value = std::max<std::int64_t>(rule.low, 1);
    for (int i = 0; i < kDoublings && value <= rule.high; ++i, value *= 2) {
      values << QString::number(value);
    }
  } else if (rule.kind == presets::ValueKind::ratio) {
    values = {u"1"_s, u"3/2"_s, u"2"_s, u"3"_s, u"4"_s};
  } else if (rule.kind == presets::ValueKind::choice) {
    for (const std::string& word : rule.words) {
      values << QString::fromStdString(word);
    }
  } else {
    bool isNumber = false;
    const double now = QString::fromStdString(rule.defaultText).toDouble(&isNumber);
    for (const double factor : {0.5, 1.0, 2.0, 4.0}) {
      values << (isNumber ? QString::number(now * factor) : QString());
    }
    values.removeAll(QString());
  }
  return values.join(u", "_s);
}

/// Where a value stands on an axis of numbers; nullopt for a word.
std::optional<double> placeOf(const QString& value) {
  const std::string text = value.toStdString();
  if (const auto number = Rational::parse(text)) {
    return number->toDouble();
  }
  const auto bandwidth = Bandwidth::parse(text);
  return bandwidth ? std::optional(toGBps(*bandwidth)) : std::nullopt;
}

bool canBeSwept(const presets::Rule& rule) {
  return rule.kind == presets::ValueKind::integer || rule.kind == presets::ValueKind::bandwidth ||
         rule.kind == presets::ValueKind::ratio || rule.kind == presets::ValueKind::choice;
}

}  // namespace

SweepDialog::SweepDialog(PaletteEntry entry, Arguments fixed, QWidget* parent)
    : QDialog(parent),
      m_entry(std::move(entry)),
      m_fixed(std::move(fixed)),
      m_parameter(new QComboBox(this)),
      m_list(new QLineEdit(this)),
      m_collective(new QComboBox(this)),
      m_plot(new Plot(this)),
      m_state(new QLabel(this)),
      m_job(
          [this](const std::shared_ptr<const Point>& point) {
            m_points.push_back(*point);
            m_plot->redraw();
            computeNext();
          },
          0ms) {
  setObjectName(u"sweepDialog"_s);
  setWindowTitle(tr("Sweep: %1").arg(m_entry.title));
  m_parameter->setObjectName(u"sweepParameter"_s);
  m_parameter->setAccessibleName(tr("Parameter"));
  for (const presets::Rule& rule : parameterRules(m_entry.preset.toStdString())) {
    if (canBeSwept(rule)) {
      m_parameter->addItem(parameterTitle(rule), QString::fromStdString(rule.name));
    }
  }
  m_list->setObjectName(u"sweepValues"_s);
  m_list->setAccessibleName(tr("Values"));
  m_list->setPlaceholderText(tr("1, 2, 4, 8 or 1..8"));
  m_collective->setObjectName(u"sweepCollective"_s);
  m_collective->setAccessibleName(tr("Collective"));
  for (const Collective collective : kBoundCollectives) {
    m_collective->addItem(collectiveName(collective), static_cast<int>(collective));
  }
  m_plot->setObjectName(u"sweepPlot"_s);
  m_plot->setAccessibleName(tr("Bound by value"));
  constexpr QSize kPlot(560, 300);
  m_plot->setMinimumSize(kPlot);
  m_plot->setDraw([this] { draw(); });
  m_state->setObjectName(u"sweepState"_s);
  m_state->setProperty("role", u"muted"_s);
  m_state->setWordWrap(true);
  auto* copy = new QPushButton(tr("Copy as CSV"), this);
  copy->setObjectName(u"sweepCopy"_s);
  connect(copy, &QPushButton::clicked, this, [this] { QGuiApplication::clipboard()->setText(csv()); });
  auto* close = new QPushButton(tr("Close"), this);
  connect(close, &QPushButton::clicked, this, &QDialog::accept);
  auto* form = new QFormLayout;
  form->addRow(tr("Parameter"), m_parameter);
  form->addRow(tr("Values"), m_list);
  form->addRow(tr("Collective"), m_collective);
  auto* layout = new QVBoxLayout(this);
  layout->addLayout(form);
  layout->addWidget(m_plot, 1);
  layout->addWidget(m_state);
  layout->addLayout(buttonRow({copy, close}));
  connect(m_parameter, &QComboBox::currentIndexChanged, this, &SweepDialog::propose);
  connect(m_list, &QLineEdit::editingFinished, this, &SweepDialog::restart);
  connect(m_collective, &QComboBox::currentIndexChanged, this, &SweepDialog::restart);
  propose();
}

Collective SweepDialog::collective() const {
  return static_cast<Collective>(m_collective->currentData().toInt());
}

void SweepDialog::propose() {
  for (const presets::Rule& rule : parameterRules(m_entry.preset.toStdString())) {
    if (QString::fromStdString(rule.name) == m_parameter->currentData().toString()) {
      m_list->setText(proposalFor(rule));
    }
  }
  restart();
}

void SweepDialog::restart() {
  m_job.cancel();
  m_values = valuesIn(m_list->text());
  m_points.clear();
  m_plot->redraw();
  computeNext();
}

void SweepDialog::computeNext() {
  if (isSettled()) {
    const auto failed = std::ranges::find_if(m_points, [](const Point& point) { return !point.bound; });
    m_state->setText(failed == m_points.end() ? QString() : tr("%1: %2").arg(failed->value, failed->why));
    return;
  }
  const QString value = m_values[static_cast<qsizetype>(m_points.size())];
  m_state->setText(tr("Computing %1…").arg(value));
  Arguments arguments = m_fixed;
  arguments[m_parameter->currentData().toString().toStdString()] = value.toStdString();
  m_job.submit([entry = m_entry, arguments = std::move(arguments), value,
                collective = collective()](const std::stop_token& stop) -> std::shared_ptr<const Point> {
    auto point = std::make_shared<Point>(Point{value});
    const auto model = makePart(entry, arguments);
    if (!model) {
      point->why = sentence(model.error());
      return point;
    }
    const Bound bound = computeBound(Snapshot::of(*model), Question{collective, {}}, stop);
    point->bound = bound.algbw;
    point->why = bound.why;
    point->gpus = bound.gpuCount;
    return point;
  });
}

void SweepDialog::draw() {
  if (m_points.empty()) {
    m_plot->setHint(tr("The bound of each value"));
    return;
  }
  const Theme& theme = Theme::instance();
  // Numbers have their places; words stand in a row.
  const bool areNumbers =
      std::ranges::all_of(m_points, [](const Point& point) { return placeOf(point.value).has_value(); });
  QStringList words;
  for (const Point& point : m_points) {
    words << u"%1 %2"_s.arg(words.size() + 1).arg(point.value);
  }
  QList<QPointF> line;
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i < m_points.size(); ++i) {
    if (m_points[i].bound) {
      line.append({areNumbers ? *placeOf(m_points[i].value) : static_cast<double>(i + 1), toGBps(*m_points[i].bound)});
      which.push_back(i);
    }
  }
  m_plot->setAxes({.title = m_parameter->currentText() + (areNumbers ? QString() : u": "_s + words.join(u", "_s)),
                   .scale = areNumbers ? PlotAxis::Scale::linear : PlotAxis::Scale::whole},
                  {.title = tr("GB/s"), .fromZero = true});
  constexpr double kLine = 1.6;
  constexpr double kMarker = 8;
  const auto tip = [this, which](std::size_t at) {
    const Point& point = m_points[which[at]];
    return tr("%1: %2 GB/s, %3 GPUs").arg(point.value, exactly(*point.bound)).arg(point.gpus);
  };
  m_plot->addLine({}, line, {.color = theme.color(Token::accent), .width = kLine}, tip);
  m_plot->addPoints(
      {}, line, {.color = theme.color(Token::panel), .width = 1, .fill = theme.color(Token::accent), .marker = kMarker},
      tip);
  drawMeasured(line, which);
}

/// Runs of this session on as many GPUs, at the fastest of their sizes.
void SweepDialog::drawMeasured(const QList<QPointF>& line, const std::vector<std::size_t>& which) {
  QList<QPointF> places;
  std::vector<MeasuredPoint> measured;
  for (std::size_t i = 0; i < which.size(); ++i) {
    for (const MeasuredPoint& point : MeasuredPoints::instance().of(collective(), m_points[which[i]].gpus)) {
      places.append({line[static_cast<qsizetype>(i)].x(), point.algbw.gigabytesPerSecond()});
      measured.push_back(point);
    }
  }
  if (places.isEmpty()) {
    return;
  }
  constexpr double kMarker = 8;
  m_plot->addPoints(tr("measured"), places, {.color = category(1, Theme::instance().scheme()), .marker = kMarker},
                    [measured](std::size_t at) {
                      return tr("%1: %2 GB/s measured, %3 GPUs")
                          .arg(measured[at].run, QString::number(measured[at].algbw.gigabytesPerSecond(), 'f', 2))
                          .arg(measured[at].gpus);
                    });
}

QString SweepDialog::csv() const {
  QString text = m_parameter->currentData().toString() + u",gpus,algbw_GBps,algbw_exact\n"_s;
  for (const Point& point : m_points) {
    text += point.value + u',' + QString::number(point.gpus) + u',' +
            (point.bound ? QString::number(toGBps(*point.bound), 'g', 12) + u',' +
                               QString::fromStdString(toFraction(*point.bound))
                         : u","_s) +
            u'\n';
  }
  return text;
}

}  // namespace coppice::designer
