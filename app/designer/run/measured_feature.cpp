// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/run/measured_feature.hpp"

#include <QClipboard>
#include <QFile>
#include <QFileInfo>
#include <QGuiApplication>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "designer/document/error_text.hpp"
#include "designer/playback/timeline_feature.hpp"
#include "designer/schedules/simulation_settings.hpp"
#include "designer/timeline/time_text.hpp"
#include "io/files.hpp"
#include "workflow/guarded.hpp"
#include "workflow/measured_run.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

std::string digestOf(const ScheduleResultPtr& result) {
  return result ? result->fabricDigest() : std::string();
}

}  // namespace

MeasuredFeature::MeasuredFeature(const FeatureHost& host, ScheduleFeature& schedules, TimelinePanel& timeline,
                                 RunActivity& runs)
    : Feature(host),
      m_schedules(schedules),
      m_timeline(timeline),
      m_runs(runs),
      m_panel(new MeasuredPanel(m_window)),
      m_seen(*m_panel, [this](bool) { showLoss(); }),
      m_profileJob(
          [this](const std::shared_ptr<const ReadProfile>& read) {
            if (!read->problem.isEmpty()) {
              m_panel->setProfile(SimulationSettings::instance().profileOf(read->digest));
              m_prompts.failure(m_window, tr("Measured Profile"), read->problem);
              return;
            }
            SimulationSettings::instance().setProfile(read->digest, read->name, read->fits);
            m_workspace.say(tr("Simulated with the profile %1").arg(read->name));
          },
          0ms) {
  addActions();
  host.addDock({u"measured"_s,
                tr("Plan and run"),
                m_panel,
                Qt::BottomDockWidgetArea,
                {Mode::schedule},
                true,
                TimelineFeature::timelineDock()});
  connect(&m_schedules, &ScheduleFeature::currentChanged, this, &MeasuredFeature::follow);
  connect(&m_workspace, &Workspace::currentChanged, this, &MeasuredFeature::follow);
  connect(&m_workspace, &Workspace::modeChanged, this, &MeasuredFeature::followRuns);
  connect(&m_runs, &RunActivity::stateChanged, this, &MeasuredFeature::followRuns);
  connect(m_panel, &MeasuredPanel::generateWanted, &m_schedules, &ScheduleFeature::generate);
  connect(m_panel, &MeasuredPanel::fileWanted, this, &MeasuredFeature::openRun);
  connect(m_panel, &MeasuredPanel::pasteWanted, this, &MeasuredFeature::paste);
  connect(m_panel, &MeasuredPanel::profileWanted, this, &MeasuredFeature::setProfile);
  connect(m_panel, &MeasuredPanel::comparisonChanged, this, [this] {
    const RunComparisonPtr& comparison = m_panel->comparison();
    m_timeline.setRuns(comparison ? comparison->planned : nullptr, comparison ? comparison->measured : nullptr);
    m_schedules.setCompared(this, comparedRun());
    showLoss();
  });
  connect(m_panel, &MeasuredPanel::chosenChanged, this, &MeasuredFeature::showLoss);
  connect(&m_panel->table(), &QTableWidget::itemActivated, this, &MeasuredFeature::goToChosen);
  connect(&SimulationSettings::instance(), &SimulationSettings::changed, this,
          [this] { m_panel->setProfile(SimulationSettings::instance().profileOf(digestOf(m_result))); });
}

void MeasuredFeature::addActions() {
  const auto show = [this] {
    m_workspace.setMode(Mode::schedule);
    m_actions[u"view.measured"_s]->trigger();
  };
  m_actions.add({u"schedule.open-run"_s,
                 tr("Comp&are With a Run…"),
                 tr("Open the records of a run, or a table of nccl-tests, beside the prediction of the schedule"),
                 {QKeySequence(u"Ctrl+K, M"_s)},
                 u"history"_s},
                [this, show](bool) {
                  show();
                  openRun();
                });
  m_actions.add({u"schedule.paste-run"_s,
                 tr("Paste nccl-tests Ta&ble"),
                 tr("Compare the table of nccl-tests in the clipboard with the prediction of the schedule"),
                 {QKeySequence(u"Ctrl+K, V"_s)},
                 u"paste"_s},
                [this, show](bool) {
                  show();
                  paste();
                });
  m_actions.add({u"schedule.profile"_s,
                 tr("Simu&late With a Measured Profile…"),
                 tr("Replace the default latencies and bandwidths by those that coppice-exec profile measured"),
                 {QKeySequence(u"Ctrl+K, L"_s)},
                 u"settings"_s},
                [this](bool) { setProfile(SimulationSettings::instance().profileOf(digestOf(m_result)).isEmpty()); });
  m_actions.add({u"schedule.addition-time"_s,
                 tr("Time o&f Additions…"),
                 tr("Let GPUs take time to add what they receive, in every simulation"),
                 {QKeySequence(u"Ctrl+K, I"_s)},
                 u"settings"_s},
                [this](bool) { askAdditionTime(); });
  enable({"schedule.open-run", "schedule.paste-run", "schedule.profile"}, false);
}

void MeasuredFeature::askAdditionTime() {
  constexpr double kPicoseconds = 1e6;  // of 1 us
  SimulationSettings& settings = SimulationSettings::instance();
  const auto asked =
      m_prompts.number(m_window, tr("Time of Additions"),
                       tr("Picoseconds that a GPU takes to add one byte (1 ps is 1000 GB/s; 0: no time)"),
                       static_cast<int>(std::lround(settings.additionTime().count() * kPicoseconds)), 0,
                       static_cast<int>(simulate::kMaxAdditionPicoseconds));
  if (asked) {
    settings.setAdditionTime(simulate::additionTime(*asked));
  }
}

void MeasuredFeature::follow() {
  const ScheduleBook* book = m_schedules.book();
  const ScheduleEntry* entry = book != nullptr ? book->current() : nullptr;
  m_result = entry != nullptr && entry->result && book->isFresh(*entry) ? entry->result : nullptr;
  enable({"schedule.open-run", "schedule.paste-run", "schedule.profile"}, m_result != nullptr);
  m_panel->setResult(m_result);
  m_panel->setProfile(SimulationSettings::instance().profileOf(digestOf(m_result)));
  followRuns();
}

void MeasuredFeature::followRuns() {
  std::vector<RecordedRun> runs;
  for (const RunInfo& info : m_runs.runs()) {
    if (info.state == RunState::ended && QFileInfo::exists(info.folder + u"/records.jsonl"_s)) {
      runs.push_back({info.id, info.title(), info.folder + u"/records.jsonl"_s,
                      info.scheduleFile.isEmpty() ? QString() : info.folder + u'/' + info.scheduleFile});
    }
  }
  m_panel->setRuns(std::move(runs));
}

void MeasuredFeature::openRun() {
  const QStringList files =
      m_prompts.filesToOpen(m_window, {}, tr("Records and tables (*.jsonl *.json *.txt *.log);;All files (*)"));
  if (!files.isEmpty()) {
    m_panel->take({.id = {}, .title = QFileInfo(files.front()).fileName(), .records = files.front(), .schedule = {}});
  }
}

void MeasuredFeature::paste() {
  const QString text = QGuiApplication::clipboard()->text();
  m_panel->take({.id = {}, .title = tr("Pasted table"), .records = {}, .schedule = {}, .text = text.toStdString()});
}

void MeasuredFeature::setProfile(bool isWanted) {
  if (!m_result) {
    m_panel->setProfile({});
    return;
  }
  if (!isWanted) {
    SimulationSettings::instance().clearProfile(digestOf(m_result));
    m_workspace.say(tr("Simulated with the default latencies"));
    return;
  }
  const QStringList files = m_prompts.filesToOpen(m_window, {}, tr("Profiles (*.json);;All files (*)"));
  if (files.isEmpty()) {
    m_panel->setProfile({});
    return;
  }
  m_profileJob.submit([result = m_result, path = files.front()](const std::stop_token&) {
    auto read = std::make_shared<ReadProfile>();
    read->digest = result->fabricDigest();
    read->name = QFileInfo(path).fileName();
    const Outcome done = workflow::guarded<Done>([&]() -> Outcome {
      const auto text = io::readFile(QFile::encodeName(path).toStdString());
      if (!text) {
        return text.error();
      }
      auto fits = workflow::readFits(*text, read->name.toStdString(), *result->fabric);
      if (!fits) {
        return fits.error();
      }
      read->fits = *std::move(fits);
      return Done{};
    });
    if (!done) {
      read->problem = errorText(done.error());
    }
    return std::shared_ptr<const ReadProfile>(std::move(read));
  });
}

std::optional<Overlay> MeasuredFeature::lossOverlay() {
  const RunComparisonPtr& comparison = m_panel->comparison();
  if (!comparison || !comparison->measured || comparison->result != m_result || current() == nullptr ||
      !m_seen.isSeen()) {
    return std::nullopt;
  }
  const FabricMap map(*m_result, current()->model());
  Overlay overlay;
  const std::optional<simulate::ComparedPart> chosen = m_panel->chosen();
  Microseconds max(0);
  for (const simulate::ComparedPart& part : comparison->parts.links) {
    max = std::max(max, part.lost());
  }
  for (const simulate::ComparedPart& part : comparison->parts.links) {
    const double share = max > Microseconds(0) ? std::max(Microseconds(0), part.lost()) / max : 0;
    const bool isChosen = m_panel->showsLinks() && chosen && chosen->index == part.index;
    for (const LinkStep& step : map.stepsOf(static_cast<std::size_t>(part.index))) {
      LinkLoad& load = overlay.heat.load[step.link];
      (step.isForward ? load.forward : load.backward) = share;
      load.isBottleneck = load.isBottleneck || isChosen;
      if (isChosen) {
        load.text = (part.lost() < Microseconds(0) ? u"−"_s : u"+"_s) + timeText(abs(part.lost()));
      }
    }
  }
  overlay.heat.title = tr("Time lost against the plan");
  overlay.heat.low = tr("none");
  overlay.heat.high = timeText(max);
  overlay.heat.bottleneck = tr("chosen");
  if (!m_panel->showsLinks() && chosen) {
    const NodeId node = map.nodeOf(m_result->fabric->gpus()[chosen->index]);
    if (node.isValid()) {
      Hull hull;
      hull.nodes = {node};
      hull.label = tr("rank %1: %2 lost").arg(chosen->index).arg(timeText(std::max(Microseconds(0), chosen->lost())));
      overlay.hulls.push_back(std::move(hull));
    }
  }
  return overlay;
}

std::vector<ComparedSchedule> MeasuredFeature::comparedRun() const {
  constexpr int kRunId = -1;
  const RunComparisonPtr& comparison = m_panel->comparison();
  if (!comparison || !comparison->run || comparison->result != m_result) {
    return {};
  }
  auto measured = std::make_shared<Prediction>();
  for (const io::NcclRow& row : comparison->run->rows) {
    if (const auto& time = row.outOfPlace ? row.outOfPlace : row.inPlace) {
      measured->rows.push_back({.size = row.size, .time = time->time, .algbw = time->algbw, .busbw = time->busbw});
    }
  }
  return {{kRunId, tr("Run: %1").arg(comparison->source.title), m_result, std::move(measured), comparison->measured}};
}

void MeasuredFeature::showLoss() {
  std::optional<Overlay> overlay = lossOverlay();
  if (overlay || m_hasOverlay) {
    m_hasOverlay = overlay.has_value();
    m_schedules.setGuest(this, std::move(overlay));
  }
}

void MeasuredFeature::goToChosen() {
  const std::optional<simulate::ComparedPart> chosen = m_panel->chosen();
  if (!chosen || !m_result || current() == nullptr) {
    return;
  }
  const FabricMap map(*m_result, current()->model());
  const auto index = static_cast<std::size_t>(chosen->index);
  if (!m_panel->showsLinks()) {
    current()->goTo(ElementId(map.nodeOf(m_result->fabric->gpus()[index])));
  } else if (const std::vector<LinkStep>& steps = map.stepsOf(index); !steps.empty()) {
    current()->goTo(ElementId(steps.front().link));
  }
}

}  // namespace coppice::designer
