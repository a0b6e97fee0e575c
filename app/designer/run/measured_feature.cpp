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

#include "base/bus_factor.hpp"
#include "designer/document/error_text.hpp"
#include "designer/document/measured_points.hpp"
#include "designer/playback/timeline_feature.hpp"
#include "designer/schedules/simulation_settings.hpp"
#include "designer/timeline/time_text.hpp"
#include "fabric/likely_gpu.hpp"
#include "io/files.hpp"
#include "io/forest_json.hpp"
#include "workflow/guarded.hpp"
#include "workflow/measured_run.hpp"
#include "workflow/nccl_bundle.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

namespace {

/// For charts of bounds.
void keepFastest(const NcclView& view) {
  const auto fastest = std::ranges::max_element(
      view.sizes, [](const workflow::RunSize& a, const workflow::RunSize& b) { return a.algbw < b.algbw; });
  if (view.fabric && fastest != view.sizes.end() && fastest->algbw) {
    MeasuredPoints::instance().set(
        {view.import->title, view.collective, view.fabric->gpuCount(), fastest->bytes, *fastest->algbw});
  }
}

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
          0ms),
      m_importJob([this](const std::shared_ptr<const ReadImport>& read) { receive(*read); }, 0ms),
      m_viewJob(
          [this](const NcclViewPtr& view) {
            keepFastest(*view);
            m_panel->nccl().setView(view);
          },
          200ms),
      m_ringsJob(
          [this](const std::shared_ptr<const Rings>& rings) {
            if (!rings->result) {
              m_prompts.failure(m_window, tr("Rings as Schedule"), errorText(rings->result.error()));
            } else if (rings->context) {
              ScheduleBook::of(rings->context->file(), rings->context->bound())->add(*rings->result, rings->name);
            }
          },
          0ms),
      m_bundleJob(
          [this](const std::shared_ptr<const Written>& written) {
            if (!written->problem.isEmpty()) {
              m_prompts.failure(m_window, tr("Export for NCCL"), written->problem);
            } else {
              m_workspace.say(tr("Wrote %1 files to %2: begin with README.md")
                                  .arg(written->files)
                                  .arg(QFileInfo(written->folder).fileName()));
            }
          },
          0ms) {
  addActions();
  addImportActions();
  connectImports();
  host.addDock({u"measured"_s,
                tr("Measured"),
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
  connect(m_panel, &MeasuredPanel::fileWanted, this, &MeasuredFeature::importRun);
  connect(m_panel, &MeasuredPanel::pasteWanted, this, &MeasuredFeature::paste);
  connect(m_panel, &MeasuredPanel::expectationWanted, this, &MeasuredFeature::expect);
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
                 tr("Paste NCCL's Log or Ta&ble"),
                 tr("Read NCCL's log, or the table of nccl-tests, from the clipboard"),
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

void MeasuredFeature::connectImports() {
  connect(m_panel, &MeasuredPanel::importChosen, this, [this] {
    if (m_panel->shownImport() && !m_panel->shownImport()->run) {
      expect();
      return;
    }
    if (Imports* here = importsHere()) {
      here->shown = m_panel->shownImport();
      here->collective.reset();
    }
    showImports();
  });
  const NcclPanel& nccl = m_panel->nccl();
  connect(&nccl, &NcclPanel::collectiveWanted, this, [this](Collective collective) {
    if (Imports* here = importsHere()) {
      here->collective = collective;
    }
    showImports();
  });
  connect(&nccl, &NcclPanel::chosenChanged, this, [this] {
    m_schedules.setCompared(this, comparedRun());
    showLoss();
  });
  connect(&nccl, &NcclPanel::linkWanted, this,
          [this](const QString& tail, const QString& head) { m_schedules.goToLink(tail, head); });
  connect(&nccl, &NcclPanel::rankWanted, this, [this](int rank) {
    const NcclViewPtr& view = m_panel->nccl().view();
    const auto here = view && view->fabric ? workflow::rankOn(*view->fabric, *view->run, rank) : std::nullopt;
    if (current() != nullptr && here) {
      const fabric::Node& node = view->fabric->nodes()[view->fabric->gpus()[*here]];
      current()->goTo(ElementId(current()->model().nodeNamed(node.id)));
    }
  });
  connect(&nccl, &NcclPanel::scheduleWanted, this, &MeasuredFeature::addRings);
  connect(&nccl, &NcclPanel::exportWanted, this, &MeasuredFeature::exportBundle);
  connect(&m_workspace, &Workspace::stateChanged, this, &MeasuredFeature::followFacts);
  connect(&m_workspace, &Workspace::removed, this, [this](EditorContext* context) { m_imports.erase(context); });
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
  enable({"schedule.open-run", "schedule.profile"}, m_result != nullptr);
  enable({"schedule.paste-run", "schedule.expect-nccl", "file.export-nccl"}, current() != nullptr);
  m_panel->setResult(m_result);
  m_panel->setProfile(SimulationSettings::instance().profileOf(digestOf(m_result)));
  followRuns();
  if (current() != nullptr && m_waiting) {
    attach(std::exchange(m_waiting, nullptr));
  } else {
    showImports();
  }
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
  if (takeText(text)) {
    return;
  }
  m_panel->take({.id = {}, .title = tr("Pasted table"), .records = {}, .schedule = {}, .text = text.toStdString()});
}

// ---- imported runs

void MeasuredFeature::addImportActions() {
  m_actions.add({u"file.import-run"_s,
                 tr("Import R&un…"),
                 tr("Read what a run of NCCL or RCCL left: logs, graph dumps, nccl-tests, Inspector"),
                 {},
                 u"history"_s},
                [this](bool) { importRun(); });
  m_actions.add({u"file.export-nccl"_s,
                 tr("Export Bund&le for NCCL…"),
                 tr("Write graph and tuner files, with scripts that show whether they were taken and are faster"),
                 {},
                 u"export"_s},
                [this](bool) { exportBundle(); });
  m_actions.add({u"schedule.expect-nccl"_s,
                 MeasuredPanel::expectationTitle(),
                 tr("Show the rings, trees and NVLS that NCCL's own search would find on this fabric, what they reach, "
                    "and what it would choose at each size. No log is needed."),
                 {QKeySequence(u"Ctrl+K, 6"_s)},
                 u"history"_s},
                [this](bool) { expect(); });
  enable({"file.export-nccl", "schedule.expect-nccl"}, false);
}

/// Of the collective that is chosen in the tool bar, where NCCL has rings for it.
void MeasuredFeature::expect() {
  if (current() == nullptr) {
    return;
  }
  Imports& here = m_imports[current()];
  const auto known = std::ranges::find_if(here.all, [](const NcclImportPtr& import) { return !import->run; });
  const Collective chosen = ScheduleBook::of(current()->file(), current()->bound())->collective();
  const bool isMade = std::ranges::find(kForestCollectives, chosen) != kForestCollectives.end();
  NcclImportPtr import = known != here.all.end()
                             ? *known
                             : std::make_shared<const NcclImport>(NcclImport{tr("Stock NCCL, expected"), nullptr});
  if (known != here.all.end()) {
    here.all.erase(known);
  }
  attach(std::move(import), isMade ? chosen : Collective::allreduce);
}

void MeasuredFeature::importRun() {
  const QStringList files =
      m_prompts.filesToOpen(m_window, {}, tr("Runs of NCCL (*.log *.txt *.xml *.json *.jsonl *.log.*);;All files (*)"));
  std::vector<RecordedRun> sources;
  for (const QString& file : files) {
    sources.push_back({.id = {}, .title = QFileInfo(file).fileName(), .records = file, .schedule = {}});
  }
  readFiles(std::move(sources));
}

QStringList MeasuredFeature::take(const QStringList& paths) {
  // Longer files are known by their beginning.
  constexpr qint64 kHead = 4 << 20;
  QStringList others;
  std::vector<RecordedRun> sources;
  for (const QString& path : paths) {
    QFile file(path);
    if (QFileInfo(path).isFile() && file.open(QIODevice::ReadOnly) &&
        workflow::isRunText(file.read(kHead).toStdString())) {
      sources.push_back({.id = {}, .title = QFileInfo(path).fileName(), .records = path, .schedule = {}});
    } else {
      others << path;
    }
  }
  readFiles(std::move(sources));
  return others;
}

bool MeasuredFeature::takeText(const QString& text) {
  std::string bytes = text.toStdString();
  if (!workflow::isRunText(bytes)) {
    return false;
  }
  std::vector<RecordedRun> sources(1);
  sources.front().title = tr("Pasted run");
  sources.front().text = std::move(bytes);
  readFiles(std::move(sources));
  return true;
}

void MeasuredFeature::readFiles(std::vector<RecordedRun> sources) {
  if (sources.empty()) {
    return;
  }
  m_importJob.submit([sources = std::move(sources)](const std::stop_token&) {
    auto read = std::make_shared<ReadImport>();
    read->source = sources.front();
    const Outcome done = workflow::guarded<Done>([&]() -> Outcome {
      std::vector<workflow::RunFile> files;
      for (const RecordedRun& source : sources) {
        if (source.records.isEmpty()) {
          files.push_back({source.title.toStdString(), source.text});
          continue;
        }
        auto text = io::readFile(QFile::encodeName(source.records).toStdString(), io::kMaxForestBytes);
        if (!text) {
          return text.error();
        }
        files.push_back({source.title.toStdString(), *std::move(text)});
      }
      auto run = workflow::importRun(files);
      if (!run) {
        return run.error();
      }
      const QString title = sources.size() == 1
                                ? sources.front().title
                                : tr("%1 and %2 more").arg(sources.front().title).arg(sources.size() - 1);
      read->import = std::make_shared<const NcclImport>(
          NcclImport{title, std::make_shared<const workflow::ImportedRun>(*std::move(run))});
      return Done{};
    });
    if (!done) {
      read->problem = errorText(done.error());
    }
    return std::shared_ptr<const ReadImport>(std::move(read));
  });
}

void MeasuredFeature::receive(const ReadImport& read) {
  if (!read.problem.isEmpty()) {
    m_prompts.failure(m_window, tr("Import Run"), read.problem);
    return;
  }
  const workflow::ImportedRun& run = *read.import->run;
  const bool isTable = run.log.communicators.empty() && run.graphs.empty() && run.calls.empty() && run.ras.empty();
  if (isTable && m_result && run.measured.size() == 1 &&
      workflow::checkSubject(run.measured.front(), toString(schedule::collectiveOf(m_result->schedule)),
                             m_result->fabric->gpuCount())) {
    // Beside the prediction of the schedule, with the trace where it has one.
    m_workspace.setMode(Mode::schedule);
    m_actions[u"view.measured"_s]->trigger();
    m_panel->take(read.source);
  } else if (current() == nullptr) {
    m_waiting = read.import;
    m_workspace.say(tr("%1 was read: open the fabric that it ran on").arg(read.import->title));
  } else {
    attach(read.import);
  }
}

void MeasuredFeature::attach(NcclImportPtr import, std::optional<Collective> collective) {
  Imports& here = m_imports[current()];
  here.all.push_back(import);
  here.shown = std::move(import);
  here.collective = collective;
  m_workspace.setMode(Mode::schedule);
  m_actions[u"view.measured"_s]->trigger();
  showImports();
}

MeasuredFeature::Imports* MeasuredFeature::importsHere() {
  const auto found = m_imports.find(current());
  return found != m_imports.end() ? &found->second : nullptr;
}

void MeasuredFeature::showImports() {
  const Imports* here = importsHere();
  m_panel->setImports(here != nullptr ? here->all : std::vector<NcclImportPtr>(),
                      here != nullptr ? here->shown : nullptr);
  if (here == nullptr || !here->shown) {
    m_viewJob.cancel();
    m_panel->nccl().setView(nullptr);
    return;
  }
  const Document& document = current()->document();
  const Collective collective =
      here->collective ? *here->collective : workflow::collectivesOf(*here->shown->run).front();
  const NcclViewPtr& view = m_panel->nccl().view();
  if (view && view->import == here->shown && view->collective == collective &&
      view->factRevision == document.factRevision()) {
    return;
  }
  if (view && view->import != here->shown) {
    m_panel->nccl().setView(nullptr);
  }
  m_viewJob.submit([import = here->shown, facts = document.facts(), revision = document.factRevision(),
                    collective](std::stop_token stop) {
    Progress progress;
    progress.stop = std::move(stop);
    return makeNcclView(import, facts, revision, collective, progress);
  });
}

void MeasuredFeature::followFacts() {
  const NcclViewPtr& view = m_panel->nccl().view();
  if (view && current() != nullptr && view->factRevision != current()->document().factRevision()) {
    showImports();
    showLoss();
  }
}

void MeasuredFeature::addRings() {
  const NcclViewPtr& view = m_panel->nccl().view();
  if (!view || current() == nullptr) {
    return;
  }
  m_ringsJob.submit([view, context = QPointer<EditorContext>(current())](std::stop_token stop) {
    Progress progress;
    progress.stop = std::move(stop);
    return std::shared_ptr<const Rings>(std::make_shared<Rings>(
        Rings{ringsAsSchedule(*view, progress), context, tr("Rings of NCCL, %1").arg(view->import->title)}));
  });
}

void MeasuredFeature::exportBundle() {
  if (current() == nullptr) {
    return;
  }
  constexpr int kLeast = 50;
  constexpr int kMost = 200;
  constexpr int kUnknown = 80;
  const std::shared_ptr<const fabric::Description> facts = current()->document().facts();
  const auto drawn = fabric::Fabric::build(*facts);
  const auto capability = m_prompts.number(
      m_window, tr("Export for NCCL"), tr("Compute capability of the GPUs (70: V100, 80: A100, 90: H100, 100: B200)"),
      drawn ? fabric::likelyCapability(*drawn) : kUnknown, kLeast, kMost);
  if (!capability) {
    return;
  }
  const QString folder = m_prompts.fileToSave(
      m_window, QFileInfo(current()->file().displayName()).baseName() + u"-nccl"_s, tr("New folders (*)"));
  if (folder.isEmpty()) {
    return;
  }
  const Imports* here = importsHere();
  m_bundleJob.submit(
      [facts, capability, folder, import = here != nullptr ? here->shown : nullptr](std::stop_token stop) {
        Progress progress;
        progress.stop = std::move(stop);
        auto written = std::make_shared<Written>();
        written->folder = folder;
        const Outcome done = workflow::guarded<Done>([&]() -> Outcome {
          const auto fabric = fabric::Fabric::build(*facts);
          if (!fabric) {
            return fabric.error();
          }
          const auto bundle = workflow::makeNcclBundle(
              *fabric, {.computeCapability = *capability, .run = import ? import->run.get() : nullptr}, progress);
          if (!bundle) {
            return bundle.error();
          }
          written->files = static_cast<int>(bundle->files.size());
          return workflow::writeNcclBundle(QFile::encodeName(folder).toStdString(), *bundle);
        });
        if (!done) {
          written->problem = errorText(done.error());
        }
        return std::shared_ptr<const Written>(std::move(written));
      });
}

// ---- profiles

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
  if (m_panel->shownImport()) {
    const NcclViewPtr& view = m_panel->nccl().view();
    if (!view || current() == nullptr || !m_seen.isSeen() ||
        view->factRevision != current()->document().factRevision()) {
      return std::nullopt;
    }
    Overlay ghost = ghostOf(*view, m_panel->nccl().chosen(), m_panel->nccl().chosenRank(), m_panel->nccl().chosenLink(),
                            current()->model());
    return ghost.isEmpty() ? std::nullopt : std::optional(std::move(ghost));
  }
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
  auto measured = std::make_shared<Prediction>();
  if (m_panel->shownImport()) {
    const NcclViewPtr& view = m_panel->nccl().view();
    if (!view || !view->fabric || !m_result || schedule::collectiveOf(m_result->schedule) != view->collective) {
      return {};
    }
    const double factor = busFactor(view->collective, view->fabric->gpuCount()).toDouble();
    for (const workflow::RunSize& size : view->sizes) {
      if (size.measured && size.algbw) {
        measured->rows.push_back(
            {.size = size.bytes, .time = *size.measured, .algbw = *size.algbw, .busbw = *size.algbw * factor});
      }
    }
    return measured->rows.empty() ? std::vector<ComparedSchedule>()
                                  : std::vector<ComparedSchedule>{{kRunId, tr("Run: %1").arg(view->import->title),
                                                                   m_result, std::move(measured), nullptr}};
  }
  const RunComparisonPtr& comparison = m_panel->comparison();
  if (!comparison || !comparison->run || comparison->result != m_result) {
    return {};
  }
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
