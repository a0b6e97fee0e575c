// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/program/program_feature.hpp"

#include <QDockWidget>
#include <QFile>
#include <QFileInfo>
#include <QMainWindow>
#include <algorithm>
#include <chrono>

#include "designer/document/error_text.hpp"
#include "designer/export/export_check.hpp"
#include "designer/export/export_command.hpp"
#include "designer/schedules/program_result.hpp"
#include "designer/schedules/schedule_book.hpp"
#include "io/files.hpp"
#include "workflow/export_program.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

ProgramFeature::ProgramFeature(const FeatureHost& host, ScheduleFeature& schedules, TreePanel& trees)
    : Feature(host),
      m_schedules(schedules),
      m_trees(trees),
      m_panel(new ProgramPanel(m_window)),
      m_examiner([this](const Examined& examined) { receive(examined); }, 0ms) {
  m_panel->setTreeName([trees = &m_trees, this](const TreeRef& tree) {
    return trees->model().result() == m_schedule ? trees->model().titleOf(tree)
                                                 : ProgramPanel::tr("tree %1").arg(tree.tree + 1);
  });
  addActions();
  constexpr double kHeight = 0.45;
  host.addDock({u"program"_s, tr("Program"), m_panel, Qt::BottomDockWidgetArea, {Mode::schedule}, true, {}, kHeight});
  connect(&schedules, &ScheduleFeature::programOpened, this, &ProgramFeature::open);
  connect(m_panel, &ProgramPanel::openWanted, this, [this] { m_actions[u"file.open"_s]->trigger(); });
  connect(m_panel, &ProgramPanel::scheduleWanted, this, &ProgramFeature::openSchedule);
  connect(&m_schedules, &ScheduleFeature::currentChanged, this, &ProgramFeature::follow);
  connect(&m_workspace, &Workspace::currentChanged, this, [this] {
    follow();
    if (m_owner != current()) {
      showOf(current());
    }
  });
  connect(&m_workspace, &Workspace::removed, this, [this](EditorContext* context) { m_files.erase(context); });
  connect(m_panel, &ProgramPanel::closeWanted, this, &ProgramFeature::closeFile);
  m_seen = std::make_unique<Seen>(*m_panel, [this](bool isSeen) {
    if (isSeen) {
      showOwn();
    }
  });
  connect(m_panel, &ProgramPanel::saveWanted, this, &ProgramFeature::save);
  connect(m_panel, &ProgramPanel::readingChanged, this, [this] {
    m_workspace.say(m_panel->finding().isEmpty() ? m_panel->verdict() : m_panel->finding());
    showTrees();
    compareProgram();
  });
  connect(m_panel, &ProgramPanel::stepChosen, this, &ProgramFeature::followStep);
  connect(&m_trees, &TreePanel::chosenChanged, this, &ProgramFeature::showTrees);
}

void ProgramFeature::addActions() {
  m_actions.add(
      {u"schedule.program"_s,
       tr("Pr&ogram Steps"),
       tr("Show the steps, waits and buffers of the MSCCL XML program that was opened last, or of the current "
          "schedule"),
       {QKeySequence(u"Ctrl+K, P"_s)},
       u"program"_s},
      [this](bool) {
        if (current() != nullptr) {
          m_workspace.setMode(Mode::schedule);
        }
        showDock();
        // A program that was opened as a file stays with its document; one of another schedule is replaced.
        const ScheduleEntry* entry = currentEntry();
        const bool isOfAnother = !m_isFile && entry != nullptr && entry->result && entry->result != m_schedule;
        if ((!m_panel->hasFile() && !m_panel->isReading()) || isOfAnother) {
          openSchedule();
        }
      });
}

void ProgramFeature::open(const QString& path, const std::string& xml) {
  if (current() != nullptr) {
    m_workspace.setMode(Mode::schedule);
  }
  m_owner = current();
  m_files[m_owner] = {path, xml};
  m_isFile = true;
  showDock();
  read(path, xml);
  Q_EMIT filesChanged();
}

void ProgramFeature::showOf(EditorContext* context) {
  if (const auto alone = m_files.find(nullptr); context != nullptr && alone != m_files.end()) {
    m_files.try_emplace(context, std::move(alone->second));
    m_files.erase(alone);
  }
  m_owner = context;
  m_isFile = false;
  m_schedule.reset();
  m_panel->close();
  showOwn();
}

void ProgramFeature::closeFile() {
  m_files.erase(m_owner);
  showOf(current());
  Q_EMIT filesChanged();
}

QString ProgramFeature::fileOf(const EditorContext* context) const {
  const auto found = m_files.find(context);
  return found != m_files.end() ? found->second.path : QString();
}

void ProgramFeature::restore(const EditorContext* context, const QString& path) {
  m_files[context] = {path, {}, false};
  if (context == m_owner) {
    showOwn();
  }
}

void ProgramFeature::showOwn() {
  if (const auto found = m_files.find(m_owner); found != m_files.end()) {
    OpenedProgram& file = found->second;
    if (!file.isRead && m_seen->isSeen()) {
      auto text = io::readFile(QFile::encodeName(file.path).toStdString());
      if (!text) {
        m_workspace.say(sentence(text.error()));
        m_files.erase(found);
        return;
      }
      file.xml = *std::move(text);
      file.isRead = true;
    }
    if (file.isRead && !m_isFile) {
      read(file.path, file.xml);
    }
    return;
  }
  // Programs of large fabrics take long to make and to check; the button asks for them.
  constexpr int kMaxGpus = 256;
  const ScheduleEntry* entry = currentEntry();
  const bool isWanted =
      entry != nullptr && entry->result && entry->result != m_schedule && entry->result->fabric->gpuCount() <= kMaxGpus;
  if (isWanted && m_seen->isSeen()) {
    openSchedule();
  }
}

void ProgramFeature::read(const QString& path, const std::string& xml) {
  const ScheduleEntry* entry = currentEntry();
  m_schedule = entry != nullptr && entry->result && entry->result->forests() != nullptr ? entry->result : nullptr;
  m_isFile = true;
  if (!m_schedule) {
    m_panel->open(path, xml);
    return;
  }
  m_panel->open(
      path, xml,
      [result = m_schedule](const program::Program& program, program::Runtime runtime, const Progress& progress) {
        return workflow::originsIn(program, runtime, *result->fabric, *result->forests(), progress);
      });
}

const ScheduleEntry* ProgramFeature::currentEntry() const {
  const ScheduleBook* book = m_schedules.book();
  return book != nullptr ? book->current() : nullptr;
}

void ProgramFeature::compareProgram() {
  const ProgramReadingPtr reading = m_panel->reading();
  if (!m_isFile || !reading || !m_panel->isOk() || current() == nullptr) {
    return;
  }
  Document& document = current()->document();
  m_examiner.submit([reading, document = QPointer(&document), revision = document.factRevision(),
                     description = document.model().description()](std::stop_token stop) {
    Progress progress;
    progress.stop = std::move(stop);
    // The reading keeps the program.
    const std::shared_ptr<const program::Program> program(reading, &reading->program());
    auto result = examineProgram(description, program, reading->studied.judgement.verdict.root, progress);
    return result ? Examined{document, revision, reading->path, *std::move(result), {}}
                  : Examined{document, revision, reading->path, nullptr, sentence(result.error())};
  });
}

void ProgramFeature::receive(const Examined& examined) {
  if (!examined.result) {
    m_workspace.say(tr("Not compared: %1").arg(examined.problem));
    return;
  }
  std::erase_if(m_programs, [&](const auto& known) { return known.second.path == examined.path; });
  m_programs.emplace_back(--m_lastId, examined);
  followFabric();
}

void ProgramFeature::followFabric() {
  const Document* document = current() != nullptr ? &current()->document() : nullptr;
  std::vector<ComparedSchedule> compared;
  for (const auto& [id, program] : m_programs) {
    if (document != nullptr && program.document == document && program.revision == document->factRevision()) {
      compared.push_back({id, QFileInfo(program.path).fileName(), program.result});
    }
  }
  m_schedules.setCompared(this, std::move(compared));
}

void ProgramFeature::showTrees() {
  const bool isOfProgram = m_schedule && m_trees.model().result() == m_schedule;
  m_panel->setTrees(isOfProgram ? m_trees.chosenTrees() : std::vector<TreeRef>());
}

void ProgramFeature::followStep() {
  const ProgramReadingPtr& reading = m_panel->reading();
  const auto place = m_panel->current();
  if (!reading || !place || !m_schedule || m_trees.model().result() != m_schedule) {
    return;
  }
  const std::vector<TreeRef> trees = reading->treesOf(*place);
  const std::vector<TreeRef> chosen = m_trees.chosenTrees();
  const bool isShown = std::any_of(trees.begin(), trees.end(), [&](const TreeRef& tree) {
    return std::find(chosen.begin(), chosen.end(), tree) != chosen.end();
  });
  if (!trees.empty() && !isShown) {
    m_trees.showTree(trees.front());
  }
}

void ProgramFeature::follow() {
  const ScheduleEntry* entry = currentEntry();
  m_panel->setHasSchedule(entry != nullptr && entry->result);
  followFabric();
  showOwn();
}

void ProgramFeature::openSchedule() {
  const ScheduleEntry* entry = currentEntry();
  if (entry == nullptr || !entry->result) {
    return;
  }
  m_schedule = entry->result;
  m_isFile = false;
  m_panel->open(programName(entry->name, entry->result->k) + u".xml"_s,
                [result = entry->result](program::Runtime runtime, const Progress& progress) -> Result<MadeProgram> {
                  ExportCheck check = checkExport(*result, {.runtime = runtime}, progress, Remedies::settings);
                  if (check.xml.empty()) {
                    return progress.isCancelled()
                               ? Error{ErrorCode::cancelled, "cancelled"}
                               : Error{ErrorCode::limit, check.summary.toStdString(),
                                       "the checklist of Export Schedule suggests settings that fit"};
                  }
                  return MadeProgram{std::move(check.xml), std::move(check.origins)};
                });
}

void ProgramFeature::showDock() {
  m_actions[u"view.program"_s]->trigger();
  auto* const dock = qobject_cast<QDockWidget*>(m_panel->parentWidget());
  auto* const window = qobject_cast<QMainWindow*>(m_window);
  if (current() == nullptr && dock != nullptr && window != nullptr) {
    // Without a document there is nothing to look at but the program.
    constexpr double kAlone = 0.68;
    window->resizeDocks({dock}, {static_cast<int>(window->height() * kAlone)}, Qt::Vertical);
  }
}

void ProgramFeature::save(const QString& suggestion, const std::string& xml) {
  const QString path = m_prompts.fileToSave(m_window, suggestion, tr("Programs (*.xml)"));
  if (path.isEmpty()) {
    return;
  }
  const Outcome saved = io::saveFile(QFile::encodeName(path).toStdString(), xml);
  if (saved) {
    m_workspace.say(tr("Saved %1").arg(QFileInfo(path).fileName()));
  } else {
    m_prompts.failure(m_window, tr("Save Changed Program"), sentence(saved.error()));
  }
}

}  // namespace coppice::designer
