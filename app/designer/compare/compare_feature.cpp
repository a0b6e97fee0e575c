// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/compare/compare_feature.hpp"

#include <QDir>
#include <QFileInfo>
#include <QStandardPaths>
#include <algorithm>
#include <iterator>
#include <utility>

#include "designer/charts/picture_file.hpp"
#include "designer/document/error_text.hpp"
#include "designer/export/plan_dialog.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

CompareFeature::CompareFeature(const FeatureHost& host, ScheduleFeature& schedules, ChartPanel& treeCounts)
    : Feature(host),
      m_schedules(schedules),
      m_panel(new ComparePanel(m_window)),
      m_sides(new SideBySide(m_workspace, schedules, m_window, this)) {
  const DockGroup group{u"compared"_s, tr("Compare")};
  const auto add = [&](const QString& id, const QString& title, QWidget* view) {
    host.addDock({id, title, view, Qt::BottomDockWidgetArea, {Mode::schedule}, true, group});
  };
  add(u"compare"_s, tr("Speeds"), m_panel);
  add(u"side-by-side"_s, tr("Side by side"), &m_sides->panel());
  add(u"tree-counts"_s, tr("Tree counts"), &treeCounts);
  addActions();
  connect(m_panel, &ComparePanel::planWanted, this, &CompareFeature::exportPlan);
  connect(m_panel, &ComparePanel::pictureWanted, this, &CompareFeature::savePicture);
  connect(m_panel, &ComparePanel::sideBySideWanted, this, &CompareFeature::showSideBySide);
  connect(&m_sides->panel(), &SideBySidePanel::planWanted, this, &CompareFeature::exportPlan);
  connect(&m_schedules, &ScheduleFeature::currentChanged, this, &CompareFeature::follow);
  connect(&m_schedules, &ScheduleFeature::comparedChanged, this, &CompareFeature::follow);
  connect(m_panel, &ComparePanel::generateWanted, &m_schedules, &ScheduleFeature::generate);
  connect(m_panel, &ComparePanel::chosen, this, [this](int id) {
    if (ScheduleBook* book = m_schedules.book()) {
      book->setCurrent(id);
    }
  });
}

void CompareFeature::addActions() {
  m_actions.add({u"schedule.side-by-side"_s,
                 tr("&View Side by Side"),
                 tr("Play two schedules on two drawings, on one clock, and show where they differ"),
                 {QKeySequence(u"Ctrl+K, B"_s)},
                 u"side-by-side"_s},
                [this](bool) { showSideBySide(); });
  m_actions.add({u"schedule.export-plan"_s,
                 tr("Export Pla&n…"),
                 tr("Export the fastest schedule for each band of sizes, as a set of programs"),
                 {QKeySequence(u"Ctrl+K, E"_s)},
                 u"export"_s},
                [this](bool) { exportPlan(); });
  enable({"schedule.export-plan", "schedule.side-by-side"}, false);
}

void CompareFeature::showSideBySide() {
  SideBySidePanel& panel = m_sides->panel();
  const auto pair = m_panel->pair();
  m_workspace.setMode(Mode::schedule);
  if (pair && !panel.isSeen()) {
    panel.choose(pair->first, pair->second);
  }
  m_actions[u"view.side-by-side"_s]->trigger();
  if (panel.schedule(0) != nullptr) {
    panel.strip().setFocus(Qt::ShortcutFocusReason);
  }
}

void CompareFeature::follow() {
  const ScheduleBook* book = m_schedules.book();
  const ScheduleEntry* current = book != nullptr ? book->current() : nullptr;
  const std::vector<ComparedSchedule> others = m_schedules.compared();
  // Without a schedule, the programs and runs that were opened are held against each other.
  const ScheduleResultPtr asked = current != nullptr && current->result ? current->result
                                  : !others.empty()                     ? others.front().result
                                                                        : nullptr;
  const auto answers = [&](const ScheduleResult& result) {
    return asked && result.options.collective == asked->options.collective && result.root() == asked->root() &&
           result.fabricDigest() == asked->fabricDigest();
  };
  std::vector<ComparedSchedule> compared;
  for (const ScheduleEntry& entry : book != nullptr ? book->entries() : std::vector<ScheduleEntry>()) {
    if (entry.result && answers(*entry.result)) {
      compared.push_back({entry.id, entry.name, entry.result});
    }
  }
  const bool hasSchedules = !compared.empty();
  std::copy_if(others.begin(), others.end(), std::back_inserter(compared),
               [&](const ComparedSchedule& each) { return answers(*each.result); });
  enable({"schedule.export-plan"}, hasSchedules);
  enable({"schedule.side-by-side"}, !compared.empty());
  m_panel->setSchedules(std::move(compared), current != nullptr ? current->id : 0);
}

void CompareFeature::savePicture() {
  const QString path = m_prompts.fileToSave(m_window, u"compare.svg"_s, pictureFilter());
  if (path.isEmpty()) {
    return;
  }
  if (const Outcome saved = saveChartPicture(path, m_panel->chart()); !saved) {
    m_prompts.failure(m_window, tr("Save Picture"), errorText(saved.error()));
  } else {
    m_workspace.say(tr("Saved %1").arg(QFileInfo(path).fileName()));
  }
}

void CompareFeature::exportPlan() {
  // What was opened as a program has its file already, and a run is none.
  std::vector<ComparedSchedule> schedules = m_panel->schedules();
  std::erase_if(schedules, [](const ComparedSchedule& each) { return !each.isOfBook(); });
  if (schedules.empty() || current() == nullptr) {
    return;
  }
  // Beside the file; without one among the documents of the user, where it can be changed.
  DocumentFile& document = current()->file();
  const QFileInfo file(document.path());
  const bool isUntitled = document.path().isEmpty();
  const QDir place =
      isUntitled ? QDir(QStandardPaths::writableLocation(QStandardPaths::DocumentsLocation)) : file.dir();
  const QString name = isUntitled ? document.displayName().replace(u'/', u'-') : file.fileName().section(u'.', 0, 0);
  const QString folder = place.filePath(name + u".plan"_s);
  auto* dialog = new PlanDialog(
      std::move(schedules), folder,
      [this](const QString& start) { return m_prompts.folder(m_window, tr("Folder of the Plan"), start); }, m_window);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  connect(dialog, &PlanDialog::written, this,
          [this](const QString& to) { m_workspace.say(tr("Saved the plan in %1").arg(QDir::toNativeSeparators(to))); });
  dialog->show();
}

}  // namespace coppice::designer
