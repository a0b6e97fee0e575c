// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/features/program/program_feature.hpp"

#include <QDockWidget>
#include <QFile>
#include <QFileInfo>
#include <QMainWindow>

#include "designer/document/error_text.hpp"
#include "designer/schedule/export_check.hpp"
#include "designer/schedule/schedule_book.hpp"
#include "io/files.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

ProgramFeature::ProgramFeature(const FeatureHost& host, ScheduleActivity& schedules)
    : Feature(host), m_schedules(schedules), m_panel(new ProgramPanel(m_window)) {
  addActions();
  host.addDock({u"program"_s, tr("Program"), m_panel, Qt::BottomDockWidgetArea, {Mode::schedule}});
  connect(&schedules, &ScheduleActivity::programOpened, this, &ProgramFeature::open);
  connect(m_panel, &ProgramPanel::openWanted, this, [this] { m_actions[u"file.open"_s]->trigger(); });
  connect(m_panel, &ProgramPanel::scheduleWanted, this, &ProgramFeature::openSchedule);
  connect(&m_schedules, &ScheduleActivity::currentChanged, this, &ProgramFeature::follow);
  connect(&m_workspace, &Workspace::currentChanged, this, &ProgramFeature::follow);
  connect(m_panel, &ProgramPanel::saveWanted, this, &ProgramFeature::save);
  connect(m_panel, &ProgramPanel::readingChanged, this,
          [this] { m_workspace.say(m_panel->finding().isEmpty() ? m_panel->verdict() : m_panel->finding()); });
}

void ProgramFeature::addActions() {
  m_actions.add(
      {u"schedule.program"_s,
       tr("Pr&ogram Steps"),
       tr("Show the steps, waits and buffers of the MSCCL XML program that was opened last, or of the current "
          "schedule"),
       {QKeySequence(u"Ctrl+Alt+P"_s)},
       u"program"_s},
      [this](bool) {
        if (current() != nullptr) {
          m_workspace.setMode(Mode::schedule);
        }
        showDock();
        if (!m_panel->reading() && !m_panel->isReading()) {
          openSchedule();
        }
      });
}

void ProgramFeature::open(const QString& path, const std::string& xml) {
  if (current() != nullptr) {
    m_workspace.setMode(Mode::schedule);
  }
  showDock();
  m_panel->open(path, xml);
}

void ProgramFeature::follow() {
  const ScheduleBook* book = m_schedules.book();
  const ScheduleEntry* entry = book != nullptr ? book->current() : nullptr;
  m_panel->setHasSchedule(entry != nullptr && entry->result);
}

void ProgramFeature::openSchedule() {
  const ScheduleBook* book = m_schedules.book();
  const ScheduleEntry* entry = book != nullptr ? book->current() : nullptr;
  if (entry == nullptr || !entry->result) {
    return;
  }
  m_panel->open(entry->name + u".xml"_s,
                [result = entry->result](program::Runtime runtime, const Progress& progress) -> Result<std::string> {
                  ExportCheck check = checkExport(*result, {.runtime = runtime}, progress);
                  if (check.xml.empty()) {
                    return progress.isCancelled()
                               ? Error{ErrorCode::cancelled, "cancelled"}
                               : Error{ErrorCode::limit, check.summary.toStdString(),
                                       "the checklist of Export Schedule suggests settings that fit"};
                  }
                  return std::move(check.xml);
                });
}

void ProgramFeature::showDock() {
  m_actions[u"view.program"_s]->trigger();
  auto* const dock = qobject_cast<QDockWidget*>(m_panel->parentWidget());
  auto* const window = qobject_cast<QMainWindow*>(m_window);
  if (dock == nullptr || window == nullptr || dock->isFloating()) {
    return;
  }
  // Without a document there is nothing to look at but the program.
  constexpr double kAlone = 0.68;
  constexpr double kBeside = 0.45;
  const int height = static_cast<int>(window->height() * (current() != nullptr ? kBeside : kAlone));
  if (dock->height() < height) {
    window->resizeDocks({dock}, {height}, Qt::Vertical);
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
