// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/sketch/search_panel.hpp"

#include <QHBoxLayout>
#include <QVBoxLayout>
#include <algorithm>
#include <chrono>

#include "designer/document/counted.hpp"
#include "designer/document/error_text.hpp"
#include "designer/document/figures.hpp"
#include "designer/jobs/bound.hpp"
#include "designer/theme/elided_combo_box.hpp"
#include "designer/theme/style.hpp"
#include "lp/mixed_program.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

constexpr int kSearchGap = 6;
constexpr int kSearchLetters = 4;  // of a list, at least

QString gapText(const ExactMicroseconds& makespan, const ExactMicroseconds& bound) {
  return makespan == bound ? SearchPanel::tr("bound reached")
                           : SearchPanel::tr("gap %1").arg(percentOf((makespan - bound).count(), makespan.count()));
}

}  // namespace

SearchPanel::SearchPanel(QWidget* parent)
    : QWidget(parent),
      m_collective(new ElidedComboBox(kSearchLetters, this)),
      m_root(new ElidedComboBox(kSearchLetters, this)),
      m_engine(new ElidedComboBox(kSearchLetters, this)),
      m_seconds(new QSpinBox(this)),
      m_seed(new QSpinBox(this)),
      m_run(new QPushButton(this)),
      m_figures(new QLabel(this)),
      m_chart(new SearchChart(this)) {
  m_collective->setObjectName(u"sketchCollective"_s);
  m_collective->setAccessibleName(tr("Collective"));
  for (const Collective each :
       {Collective::allgather, Collective::reduceScatter, Collective::allreduce, Collective::alltoall,
        Collective::broadcast, Collective::reduce, Collective::gather, Collective::scatter}) {
    m_collective->addItem(collectiveName(each), static_cast<int>(each));
  }
  m_root->setObjectName(u"sketchRoot"_s);
  m_root->setAccessibleName(tr("Root"));
  m_engine->setObjectName(u"sketchEngine"_s);
  m_engine->setAccessibleName(tr("Engine"));
  m_engine->addItem(tr("Search"), static_cast<int>(taccl::Engine::search));
  m_engine->addItem(tr("Three stages"), static_cast<int>(taccl::Engine::stages));
  m_engine->setToolTip(tr("Search: routes and order together. Three stages: as in the paper, with the solver CBC"));
  m_seconds->setObjectName(u"sketchSeconds"_s);
  m_seconds->setAccessibleName(tr("Seconds to search"));
  m_seconds->setToolTip(tr("Maximum search time; the search ends early when it reaches the bound"));
  constexpr int kMaxSeconds = 86400;
  m_seconds->setRange(1, kMaxSeconds);
  m_seconds->setSuffix(tr(" s"));
  m_seed->setObjectName(u"sketchSeed"_s);
  m_seed->setAccessibleName(tr("Seed"));
  m_seed->setToolTip(tr("Another seed makes other random choices. Time ends this search, so that the same seed can give another result."));
  constexpr int kWidth = 58;
  m_seconds->setFixedWidth(kWidth);
  constexpr int kMaxSeed = 1'000'000'000;
  m_seed->setRange(0, kMaxSeed);
  m_run->setObjectName(u"sketchRun"_s);
  m_run->setProperty("role", u"primary"_s);
  m_figures->setObjectName(u"sketchFigures"_s);
  m_figures->setWordWrap(true);
  m_figures->setTextInteractionFlags(Qt::TextSelectableByMouse);

  auto* line = new QHBoxLayout;
  line->setSpacing(kSearchGap);
  line->addWidget(m_collective, 1);
  line->addWidget(m_root, 1);
  line->addWidget(m_seconds);
  line->addWidget(m_run);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins({});
  layout->setSpacing(kSearchGap);
  layout->addLayout(line);
  layout->addWidget(m_figures);
  layout->addWidget(m_chart, 1);

  for (QComboBox* box : {m_collective, m_root}) {
    connect(box, &QComboBox::activated, this, &SearchPanel::ask);
  }
  for (QSpinBox* box : {m_seconds, m_seed}) {
    connect(box, &QSpinBox::valueChanged, this, &SearchPanel::ask);
  }
  connect(m_engine, &QComboBox::activated, this, &SearchPanel::chooseEngine);
  connect(m_run, &QPushButton::clicked, this, [this] {
    if (m_desk != nullptr && m_desk->isRunning()) {
      Q_EMIT stopWanted();
    } else {
      Q_EMIT startWanted();
    }
  });
  m_timer.setInterval(100ms);
  connect(&m_timer, &QTimer::timeout, this, &SearchPanel::showCurves);
}

void SearchPanel::setDesk(SketchDesk* desk) {
  m_followed.clear();
  m_desk = desk;
  if (desk != nullptr) {
    m_followed.connect(desk, &SketchDesk::runningChanged, [this] { showRun(); });
  }
  fill();
}

void SearchPanel::ask() {
  if (m_desk == nullptr || m_isFilling) {
    return;
  }
  SearchQuestion question = m_desk->question();
  question.collective = static_cast<Collective>(m_collective->currentData().toInt());
  question.root = m_root->currentText().toStdString();
  question.seconds = m_seconds->value();
  question.seed = static_cast<std::uint64_t>(m_seed->value());
  m_desk->setQuestion(question);
}

void SearchPanel::chooseEngine() {
  const auto engine = static_cast<taccl::Engine>(m_engine->currentData().toInt());
  if (m_desk == nullptr) {
    return;
  }
  if (engine == taccl::Engine::stages) {
    if (const auto solver = lp::findMixedSolver(); !solver) {
      fill();
      Q_EMIT refused(sentence(solver.error()));
      return;
    }
  }
  SearchQuestion question = m_desk->question();
  question.engine = engine;
  m_desk->setQuestion(question);
}

void SearchPanel::fill() {
  setEnabled(m_desk != nullptr && m_desk->current() != nullptr);
  if (m_desk == nullptr) {
    return;
  }
  m_isFilling = true;
  const SearchQuestion& question = m_desk->question();
  m_collective->setCurrentIndex(m_collective->findData(static_cast<int>(question.collective)));
  m_engine->setCurrentIndex(m_engine->findData(static_cast<int>(question.engine)));
  m_seconds->setValue(question.seconds);
  m_seed->setValue(static_cast<int>(question.seed));
  m_root->setVisible(isRooted(question.collective));
  QStringList names;
  const auto& fit = m_desk->lastFit();
  for (int gpu = 0; fit && gpu < fit->fabric.fabric.gpuCount(); ++gpu) {
    names << m_desk->nameOf(gpu);
  }
  m_root->clear();
  m_root->addItems(names);
  m_root->setCurrentIndex(std::max<int>(0, static_cast<int>(names.indexOf(QString::fromStdString(question.root)))));
  m_isFilling = false;
  showRun();
}

void SearchPanel::showRun() {
  const bool isRunning = m_desk != nullptr && m_desk->isRunning();
  const bool isStopping = m_desk != nullptr && m_desk->isStopping();
  m_run->setText(isStopping ? tr("Verifying…") : isRunning ? tr("Stop and Keep") : tr("Synthesize"));
  m_run->setToolTip(isRunning ? tr("End the search; the best schedule so far is verified and kept")
                              : tr("Search for a schedule within this sketch"));
  m_run->setEnabled(m_desk != nullptr && !isStopping && (isRunning || m_desk->fit()));
  if (isRunning) {
    m_timer.start();
  } else {
    m_timer.stop();
  }
  showCurves();
}

void SearchPanel::showCurves() {
  if (m_desk == nullptr) {
    return;
  }
  const std::vector<SearchTrace::Point> points = m_desk->points();
  m_chart->show(points, m_desk->seconds());
  QString text;
  QString role = u"muted"_s;
  if (!m_desk->failure().isEmpty()) {
    text = m_desk->failure();
    role = u"error"_s;
  } else if (const auto& answer = m_desk->answer()) {
    text = tr("%1 µs, %2, %3, %4; verified")
               .arg(decimal(answer->makespan.count()), gapText(answer->makespan, answer->bound),
                    counted(answer->connections, tr("connection"), tr("connections")), duration(answer->seconds));
    role = u"good"_s;
    m_figures->setToolTip(tr("%1 µs, %2. No schedule of this sketch takes less than %3 µs: %4 (%5)")
                              .arg(exactly(answer->makespan.count()),
                                   counted(static_cast<qsizetype>(answer->messages), tr("message"), tr("messages")),
                                   exactly(answer->bound.count()), QString::fromStdString(answer->relaxations),
                                   QString::fromStdString(answer->boundMembers)));
  } else if (m_desk->isRunning()) {
    const bool isReached = !points.empty() && points.back().makespan == points.back().bound;
    text = points.empty() ? tr("Finding the bound, %1").arg(duration(m_desk->seconds()))
                          : tr("%1 µs so far, %2, %3")
                                .arg(decimal(points.back().makespan.count()),
                                     isReached ? tr("bound reached, comparing connections")
                                               : gapText(points.back().makespan, points.back().bound),
                                     duration(m_desk->seconds()));
  }
  m_figures->setText(text);
  m_figures->setVisible(!text.isEmpty());
  setRole(m_figures, role);
}

}  // namespace coppice::designer
