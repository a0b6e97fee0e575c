// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/features/schedule/schedule_feature.hpp"

#include <QDir>
#include <QDockWidget>
#include <QFileInfo>
#include <QSettings>
#include <algorithm>
#include <utility>

#include "designer/document/fabric_file.hpp"
#include "designer/schedule/export_dialog.hpp"
#include "designer/schedule/transfer_panel.hpp"
#include "designer/schedule/tree_drawing.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

/// The name of the file without what its format adds.
QString nameOfForest(const QString& path) {
  QString name = QFileInfo(path).fileName();
  for (const QString& suffix : {kForestSuffix, kStepsSuffix, u".trees.xml"_s, u".xml"_s, u".json"_s}) {
    if (name.endsWith(suffix, Qt::CaseInsensitive) && name.size() > suffix.size()) {
      name.chop(suffix.size());
      break;
    }
  }
  return name;
}

/// The live bound answers for the collective of a schedule, where it knows it.
void askFor(LiveBound& bound, Collective collective, NodeId root) {
  if (std::find(kBoundCollectives.begin(), kBoundCollectives.end(), collective) != kBoundCollectives.end()) {
    Question question = bound.question();
    question.collective = collective;
    question.root = root.isValid() ? root : question.root;
    bound.setQuestion(question);
  }
}

}  // namespace

ScheduleFeature::ScheduleFeature(const FeatureHost& host)
    : Feature(host),
      m_keepsSettings(host.options.keepsSettings),
      m_activity(new ScheduleActivity(promptsForActivity(), m_window)) {
  addGenerateActions();
  addScheduleActions();
  addViewActions();
  addFolderAction();
  addDocks(host);
  connectActivity();
}

SchedulePrompts ScheduleFeature::promptsForActivity() {
  SchedulePrompts prompts;
  prompts.fileToSave = [this](const QString& suggestion, const QString& filter) {
    return m_prompts.fileToSave(m_window, suggestion, filter);
  };
  prompts.text = [this](const QString& title, const QString& label, const QString& value) {
    return m_prompts.text(m_window, title, label, value);
  };
  prompts.confirm = [this](const QString& title, const QString& text, const QString& yes, const QString& no) {
    return m_prompts.choice(m_window, title, text, yes, no).value_or(false);
  };
  prompts.failure = [this](const QString& title, const QString& text) { m_prompts.failure(m_window, title, text); };
  return prompts;
}

const ScheduleEntry* ScheduleFeature::currentEntry() const {
  const ScheduleBook* book = m_activity->book();
  const ScheduleEntry* entry = book != nullptr ? book->current() : nullptr;
  return entry != nullptr && entry->result ? entry : nullptr;
}

void ScheduleFeature::addGenerateActions() {
  QAction* generate =
      m_actions.add({u"schedule.generate"_s,
                     tr("&Generate"),
                     tr("Generate spanning trees that reach the bound, verified, with the last settings"),
                     {QKeySequence(u"F5"_s)},
                     u"generate"_s},
                    [this](bool) {
                      m_activity->generate();
                      m_workspace.setMode(Mode::schedule);
                    });
  generate->setIconText(tr("Generate F5"));
  m_actions.add({u"schedule.options"_s,
                 tr("Generate &With…"),
                 tr("Set root, GPUs, numbers of trees, height and multicast of the schedule"),
                 {QKeySequence(u"Ctrl+Shift+F5"_s)},
                 u"settings"_s},
                [this](bool) { m_activity->showOptions(); });
  m_actions.add({u"schedule.cancel"_s,
                 tr("&Cancel Generation"),
                 tr("Stop generating; the previous schedule is kept"),
                 {QKeySequence(Qt::Key_Escape)},
                 u"stop"_s},
                [this](bool) { m_activity->cancel(); });
  m_actions.add({u"schedule.copy-command"_s,
                 tr("Copy as Co&mmand Line"),
                 tr("Copy what Generate does as a coppice-cli command"),
                 {QKeySequence(u"Ctrl+Alt+C"_s)},
                 u"copy"_s},
                [this](bool) { m_activity->copyCommand(); });
}

void ScheduleFeature::addScheduleActions() {
  const auto add = [this](const ActionSpec& spec, void (ScheduleActivity::*run)(int)) {
    m_actions.add(spec, [this, run](bool) {
      const ScheduleEntry* entry = currentEntry();
      (m_activity->*run)(entry != nullptr ? entry->id : 0);
    });
  };
  QAction* exportAction =
      m_actions.add({u"schedule.export"_s,
                     tr("&Export Schedule…"),
                     tr("Export a program for MSCCL or RCCL with a checklist, or trees, or the schedule file"),
                     {QKeySequence(u"Ctrl+E"_s)},
                     u"export"_s},
                    [this](bool) { m_activity->exportCurrent(); });
  exportAction->setIconText(tr("Export"));
  add({u"schedule.rerun"_s,
       tr("Generate Aga&in"),
       tr("Generate the current schedule again with its settings"),
       {QKeySequence(u"Ctrl+Alt+F5"_s)}},
      &ScheduleActivity::rerun);
  connect(m_actions[u"schedule.rerun"_s], &QAction::triggered, this, [this] { m_workspace.setMode(Mode::schedule); });
  add({u"schedule.rename"_s,
       tr("&Rename Schedule…"),
       tr("Rename the current schedule and its file"),
       {QKeySequence(u"Ctrl+F2"_s)},
       u"rename"_s},
      &ScheduleActivity::rename);
  add({u"schedule.delete"_s,
       tr("&Delete Schedule…"),
       tr("Delete the current schedule and its file"),
       {QKeySequence(u"Ctrl+Shift+Del"_s)},
       u"delete"_s},
      &ScheduleActivity::remove);
}

void ScheduleFeature::addViewActions() {
  m_actions.add({u"schedule.trees-of-selection"_s,
                 tr("&Trees of the Selected GPU"),
                 tr("Show the trees whose root is selected on the drawing"),
                 {QKeySequence(u"Ctrl+Shift+R"_s)},
                 u"trees"_s},
                [this](bool) {
                  m_workspace.setMode(Mode::schedule);
                  m_actions[u"view.trees"_s]->trigger();
                  m_activity->showRootOfSelection();
                });
  m_actions.add({u"schedule.clear-trees"_s,
                 tr("Hide Tree&s and Transfers"),
                 tr("Draw the fabric without trees and transfers"),
                 {QKeySequence(u"Ctrl+Shift+E"_s)}},
                [this](bool) { m_activity->clearTrees(); });
  QAction* heat = m_actions.add({u"schedule.heat"_s,
                                 tr("Link &Heat Map"),
                                 tr("Colour the links by their load while no tree is drawn"),
                                 {QKeySequence(u"Ctrl+Shift+H"_s)},
                                 u"heat"_s,
                                 true},
                                [this](bool isOn) { m_activity->loads()->setHeatWanted(isOn); });
  heat->setChecked(true);
  connect(m_activity->loads(), &LoadsPanel::heatToggled, this,
          [this, heat] { heat->setChecked(m_activity->loads()->isHeatWanted()); });
}

void ScheduleFeature::addFolderAction() {
  const QString key = u"schedules/folder"_s;
  if (m_keepsSettings) {
    ScheduleBook::setSharedFolder(QSettings().value(key).toString());
  }
  QAction* action = m_actions.add(
      {u"schedule.folder"_s,
       tr("&Keep Schedules in One Folder…"),
       tr("Write every schedule into a folder of your choice as soon as it is generated"),
       {QKeySequence(u"Ctrl+Alt+K"_s)},
       u"open"_s,
       true},
      [this, key](bool isOn) {
        QString folder;
        if (isOn) {
          folder = m_prompts.folder(m_window, tr("Folder for Schedules"), ScheduleBook::sharedFolder());
        }
        ScheduleBook::setSharedFolder(folder);
        if (m_keepsSettings) {
          QSettings().setValue(key, folder);
        }
        m_actions[u"schedule.folder"_s]->setChecked(!folder.isEmpty());
        m_workspace.say(folder.isEmpty() ? tr("Schedules are saved beside their fabric")
                                         : tr("Schedules are saved in %1").arg(QDir::toNativeSeparators(folder)));
      });
  action->setChecked(!ScheduleBook::sharedFolder().isEmpty());
}

void ScheduleFeature::addDocks(const FeatureHost& host) {
  const std::vector<Mode> mode{Mode::schedule};
  host.addDock({u"schedules"_s, tr("Schedule"), m_activity->panel(), Qt::RightDockWidgetArea, mode});
  host.addDock({u"trees"_s, tr("Trees"), m_activity->trees(), Qt::BottomDockWidgetArea, mode});
  host.addDock({u"transfers"_s, tr("Transfers"), m_activity->transfers(), Qt::BottomDockWidgetArea, mode});
  host.addDock({u"link-loads"_s, tr("Link Loads"), m_activity->loads(), Qt::BottomDockWidgetArea, mode});
  host.addDock({u"tree"_s, tr("One Tree"), m_activity->drawing(), Qt::BottomDockWidgetArea, mode});
  host.addDock({u"charts"_s, tr("Charts"), m_activity->charts(), Qt::BottomDockWidgetArea, mode});
}

void ScheduleFeature::connectActivity() {
  connect(m_activity, &ScheduleActivity::message, &m_workspace, &Workspace::say);
  connect(m_activity, &ScheduleActivity::transfersWanted, this, [this] { m_actions[u"view.transfers"_s]->trigger(); });
  connect(m_activity, &ScheduleActivity::modeWanted, this, [this] { m_workspace.setMode(Mode::schedule); });
  connect(m_activity, &ScheduleActivity::runningChanged, this, &ScheduleFeature::updateActions);
  connect(m_activity, &ScheduleActivity::currentChanged, this, [this] {
    updateActions();
    followChoice();
  });
  connect(m_activity, &ScheduleActivity::forestOpened, this, &ScheduleFeature::openForest);
  connect(&m_workspace, &Workspace::modeChanged, this, [this](Mode mode) {
    m_activity->setActive(mode == Mode::schedule);
    if (mode == Mode::schedule && currentEntry() != nullptr) {
      showContents(*currentEntry()->result);
    }
  });
  connect(&m_workspace, &Workspace::currentChanged, this, &ScheduleFeature::follow);
}

void ScheduleFeature::follow() {
  EditorContext* context = current();
  m_activity->setSubject(context != nullptr ? ScheduleSubject{&context->file(), &context->selection(),
                                                              &context->bound(), &context->canvas()}
                                            : ScheduleSubject{});
  updateActions();
}

void ScheduleFeature::updateActions() {
  const ScheduleBook* book = m_activity->book();
  enable({"schedule.generate", "schedule.options", "schedule.copy-command"}, book != nullptr);
  enable({"schedule.export", "schedule.rerun", "schedule.rename", "schedule.delete", "schedule.trees-of-selection",
          "schedule.clear-trees"},
         currentEntry() != nullptr);
  enable({"schedule.cancel"}, book != nullptr && book->isRunning());
}

void ScheduleFeature::showContents(const ScheduleResult& result) {
  const bool hasTrees = result.forests() != nullptr;
  QWidget* const shown = hasTrees ? static_cast<QWidget*>(m_activity->trees()) : m_activity->transfers();
  const QWidget* const other = hasTrees ? static_cast<QWidget*>(m_activity->transfers()) : m_activity->trees();
  auto* const dock = qobject_cast<QDockWidget*>(shown->parentWidget());
  // The dock of the other form lies over it and has nothing to show.
  if (dock != nullptr && !other->visibleRegion().isEmpty()) {
    dock->raise();
  }
}

void ScheduleFeature::followChoice() {
  ScheduleBook* book = m_activity->book();
  const ScheduleEntry* chosen = book != nullptr ? book->current() : nullptr;
  const int id = chosen != nullptr ? chosen->id : 0;
  // Another document brings its own question.
  const bool isChosen = m_followedBook.data() == book && id != m_followedSchedule;
  m_followedBook = book;
  m_followedSchedule = id;
  EditorContext* context = current();
  const ScheduleEntry* entry = currentEntry();
  if (!isChosen || context == nullptr || m_workspace.mode() != Mode::schedule || entry == nullptr) {
    return;
  }
  showContents(*entry->result);
  const ScheduleOptions& made = entry->result->options;
  askFor(context->bound(), made.collective, context->model().nodeNamed(made.root));
}

void ScheduleFeature::openForest(const ScheduleResultPtr& result, const QString& path, bool isInferred) {
  // A document with these very facts takes the schedule; else its own fabric is opened for it.
  const auto holds = [&](EditorContext* context) {
    return context != nullptr && digestNow(*context->document().facts(), {}) == result->fabricDigest();
  };
  EditorContext* owner = holds(current()) ? current() : nullptr;
  for (EditorContext* context : m_workspace.contexts()) {
    owner = owner == nullptr && holds(context) ? context : owner;
  }
  const QString name = nameOfForest(path);
  if (owner == nullptr) {
    const QString fabric = QString::fromStdString(result->description->name);
    owner = m_workspace.adopt(readModel(*result->description).model, {},
                              isInferred || fabric.isEmpty() ? tr("Fabric of %1").arg(name) : fabric);
  }
  m_workspace.activate(owner);
  askFor(owner->bound(), result->options.collective, owner->model().nodeNamed(result->options.root));
  ScheduleActivity::bookOf(owner->file(), owner->bound())->add(result, name);
  m_workspace.setMode(Mode::schedule);
}

}  // namespace coppice::designer
