// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/schedules/schedule_feature.hpp"

#include <QClipboard>
#include <QDir>
#include <QFileInfo>
#include <QGuiApplication>
#include <QSettings>
#include <algorithm>
#include <chrono>
#include <utility>

#include "designer/document/error_text.hpp"
#include "designer/document/fabric_file.hpp"
#include "designer/schedules/command_text.hpp"
#include "designer/schedules/methods_panel.hpp"
#include "workflow/concurrent.hpp"
#include "workflow/exchange_request.hpp"
#include "workflow/method.hpp"
#include "workflow/training_request.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using namespace std::chrono_literals;

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

/// The fields of the window for options that the core speaks of.
void nameOptions() {
  QHash<QString, OptionName> names = {
      {u"root"_s, {ScheduleFeature::tr("Root")}},
      {u"gpus"_s, {ScheduleFeature::tr("GPUs")}},
      {u"amounts"_s, {ScheduleFeature::tr("Data per GPU")}},
      {u"collective"_s, {ScheduleFeature::tr("Collective")}},
      {u"method"_s, {ScheduleFeature::tr("Method")}},
      {u"plain-switches"_s, {ScheduleFeature::tr("Switches only forward"), true}},
      {u"target"_s, {ScheduleFeature::tr("Target")}},
      {u"runtime"_s, {ScheduleFeature::tr("Runtime")}},
      {u"instances"_s, {ScheduleFeature::tr("Instances")}},
      {u"time-limit"_s, {ScheduleFeature::tr("Time limit")}},
  };
  const auto add = [&names](const std::vector<workflow::Option>& options) {
    for (const workflow::Option& option : options) {
      const QString name = QString::fromStdString(option.name);
      if (!names.contains(name)) {
        names.insert(name, {QString::fromStdString(option.title), option.kind == workflow::OptionKind::flag});
      }
    }
  };
  for (const workflow::Method& method : workflow::methods()) {
    add(method.options);
  }
  add(workflow::groupOptions());
  add(workflow::exchangeOptions());
  add(workflow::trainingOptions());
  setOptionNames(std::move(names));
}

}  // namespace

ScheduleFeature::ScheduleFeature(const FeatureHost& host)
    : Feature(host),
      m_keepsSettings(host.options.keepsSettings),
      m_panel(new SchedulePanel(m_window)),
      m_methods(new MethodsPanel(m_window)),
      m_opener([this](const std::shared_ptr<const OpenedSchedule>& opened) { receive(*opened); }, 0ms) {
  nameOptions();
  addGenerateActions();
  addScheduleActions();
  addFolderAction();
  host.addDock({u"schedules"_s, tr("Schedules"), m_panel, Qt::RightDockWidgetArea, {Mode::schedule}});
  // Opened when it is asked for.
  host.addDock({u"methods"_s, tr("Methods"), m_methods, Qt::LeftDockWidgetArea, {}});
  connect(m_panel, &SchedulePanel::generateWanted, this, &ScheduleFeature::generate);
  connect(m_panel, &SchedulePanel::exportWanted, this, &ScheduleFeature::exportWanted);
  connect(m_panel, &SchedulePanel::renameWanted, this, &ScheduleFeature::rename);
  connect(m_panel, &SchedulePanel::removeWanted, this, &ScheduleFeature::remove);
  connect(m_panel, &SchedulePanel::rerunWanted, this, &ScheduleFeature::rerun);
  connect(m_methods, &MethodsPanel::started, this, [this] { m_workspace.setMode(Mode::schedule); });
  connect(&m_workspace, &Workspace::currentChanged, this, &ScheduleFeature::follow);
  connect(m_methods, &MethodsPanel::closeWanted, this, [this] {
    m_methods->parentWidget()->close();
    if (m_context) {
      m_context->canvas().setFocus();
    }
  });
  connect(m_methods, &MethodsPanel::sketchWanted, this, [this] { m_actions[u"view.sketch"_s]->trigger(); });
  connect(m_methods, &MethodsPanel::searchWanted, this, [this] { m_actions[u"schedule.synthesize"_s]->trigger(); });
  updateActions();
}

ScheduleFeature::~ScheduleFeature() = default;

const ScheduleEntry* ScheduleFeature::currentEntry() const {
  const ScheduleEntry* entry = m_book ? m_book->current() : nullptr;
  return entry != nullptr && entry->result ? entry : nullptr;
}

// ---- actions

void ScheduleFeature::addGenerateActions() {
  QAction* generate =
      m_actions.add({u"schedule.generate"_s,
                     tr("&Generate"),
                     tr("Generate spanning trees that reach the bound, verified, with the last settings"),
                     {QKeySequence(u"F5"_s)},
                     u"generate"_s},
                    [this](bool) {
                      this->generate();
                      m_workspace.setMode(Mode::schedule);
                    });
  generate->setIconText(tr("Generate F5"));
  m_actions.add({u"schedule.options"_s,
                 tr("Sho&w Methods"),
                 tr("Choose how the schedule is made: method, root, GPUs, numbers of trees, height and more"),
                 {QKeySequence(u"Ctrl+Shift+F5"_s)},
                 u"settings"_s},
                [this](bool) { showMethods(); });
  m_actions.add({u"schedule.cancel"_s,
                 tr("&Cancel Generation"),
                 tr("Stop generating; the previous schedule is kept"),
                 {QKeySequence(Qt::Key_Escape)},
                 u"stop"_s},
                [this](bool) {
                  if (m_book) {
                    m_book->cancel();
                  }
                });
  m_actions.add({u"schedule.copy-command"_s,
                 tr("Copy as Co&mmand Line"),
                 tr("Copy what Generate does as a coppice-cli command"),
                 {QKeySequence(u"Ctrl+K, C"_s)},
                 u"copy"_s},
                [this](bool) { copyCommand(); });
}

void ScheduleFeature::addScheduleActions() {
  const auto add = [this](const ActionSpec& spec, void (ScheduleFeature::*run)(int)) {
    m_actions.add(spec, [this, run](bool) {
      const ScheduleEntry* entry = currentEntry();
      (this->*run)(entry != nullptr ? entry->id : 0);
    });
  };
  add({u"schedule.rerun"_s,
       tr("Generate Aga&in"),
       tr("Generate the current schedule again with its settings"),
       {QKeySequence(u"Ctrl+K, F5"_s)}},
      &ScheduleFeature::rerun);
  connect(m_actions[u"schedule.rerun"_s], &QAction::triggered, this, [this] { m_workspace.setMode(Mode::schedule); });
  add({u"schedule.rename"_s,
       tr("&Rename Schedule…"),
       tr("Rename the current schedule and its file"),
       {QKeySequence(u"Ctrl+F2"_s)},
       u"rename"_s},
      &ScheduleFeature::rename);
  add({u"schedule.delete"_s,
       tr("&Delete Schedule…"),
       tr("Delete the current schedule and its file"),
       {QKeySequence(u"Ctrl+Shift+Del"_s)},
       u"delete"_s},
      &ScheduleFeature::remove);
}

void ScheduleFeature::addFolderAction() {
  const QString key = u"schedules/folder"_s;
  if (m_keepsSettings) {
    m_sharedFolder = QSettings().value(key).toString();
  }
  QAction* action = m_actions.add(
      {u"schedule.folder"_s,
       tr("&Keep Schedules in One Folder…"),
       tr("Write every schedule into a folder of your choice as soon as it is generated"),
       {QKeySequence(u"Ctrl+K, K"_s)},
       u"open"_s,
       true},
      [this, key](bool isOn) {
        m_sharedFolder = isOn ? m_prompts.folder(m_window, tr("Folder for Schedules"), m_sharedFolder) : QString();
        for (EditorContext* context : m_workspace.contexts()) {
          bookOf(*context)->setSharedFolder(m_sharedFolder);
        }
        if (m_keepsSettings) {
          QSettings().setValue(key, m_sharedFolder);
        }
        m_actions[u"schedule.folder"_s]->setChecked(!m_sharedFolder.isEmpty());
        m_workspace.say(m_sharedFolder.isEmpty()
                            ? tr("Schedules are saved beside their fabric")
                            : tr("Schedules are saved in %1").arg(QDir::toNativeSeparators(m_sharedFolder)));
      });
  action->setChecked(!m_sharedFolder.isEmpty());
  connect(&m_workspace, &Workspace::added, this, [this](EditorContext* context) { bookOf(*context); });
}

ScheduleBook* ScheduleFeature::bookOf(EditorContext& context) const {
  return ScheduleBook::of(context.file(), context.bound(), m_sharedFolder);
}

void ScheduleFeature::updateActions() {
  const bool hasNodes = m_context && !m_context->model().nodes().isEmpty();
  enable({"schedule.generate", "schedule.copy-command"}, m_book != nullptr && hasNodes);
  m_panel->setHasNodes(hasNodes);
  enable({"schedule.options"}, m_book != nullptr);
  nameMethod();
  enable({"schedule.rerun", "schedule.rename", "schedule.delete"}, currentEntry() != nullptr);
  enable({"schedule.cancel"}, m_book != nullptr && m_book->isRunning());
}

/// The button says what it does: the method may have been chosen long ago.
void ScheduleFeature::nameMethod() {
  const ScheduleOptions next = m_book ? m_book->nextOptions() : ScheduleOptions{};
  const workflow::Method* method = workflow::findMethod(next.method);
  if (method == nullptr) {
    return;
  }
  QAction* action = m_actions[u"schedule.generate"_s];
  const QString title = QString::fromStdString(method->title);
  const bool isUsual = method->id == workflow::kDefaultMethod;
  action->setIconText(isUsual ? tr("Generate F5") : tr("Generate %1").arg(title));
  action->setStatusTip(isUsual ? tr("Generate spanning trees that reach the bound, verified, with the last settings")
                               : tr("Generate by %1, as chosen last, verified. Methods has the others.").arg(title));
  m_actions.tell(action);
}

// ---- the current document

void ScheduleFeature::follow() {
  EditorContext* context = current();
  if (m_context == context && (context != nullptr || m_book == nullptr)) {
    return;
  }
  m_followed.clear();
  m_context = context;
  m_book = context != nullptr ? bookOf(*context) : nullptr;
  if (m_book) {
    m_followed.connect(m_book, &ScheduleBook::changed, [this] { followBook(); });
    m_followed.connect(m_book, &ScheduleBook::currentChanged, [this] { followBook(); });
    m_followed.connect(m_book, &ScheduleBook::optionsChanged, [this] { nameMethod(); });
    m_followed.connect(&context->bound(), &LiveBound::changed, [this] { updateActions(); });
    m_followed.connect(&context->document(), &Document::changed, [this] { updateActions(); });
    m_followed.connect(m_book, &ScheduleBook::finished, [this](int id) {
      const ScheduleEntry* entry = m_book->find(id);
      if (entry != nullptr && entry->result) {
        m_workspace.say(entry->name + u": "_s + entry->result->verdictText());
      }
    });
    m_followed.connect(m_book, &ScheduleBook::runningChanged, [this] {
      updateActions();
      Q_EMIT runningChanged();
      if (!m_book->isRunning() && !m_book->failure().isEmpty()) {
        m_workspace.say(m_book->failure());
      }
    });
  }
  m_panel->setBook(m_book);
  m_methods->setSubject(m_book, context != nullptr ? &context->file() : nullptr,
                        context != nullptr ? &context->selection() : nullptr,
                        context != nullptr ? &context->bound() : nullptr);
  followBook();
  Q_EMIT runningChanged();
}

void ScheduleFeature::followBook() {
  Q_EMIT currentChanged();
  updateActions();
  followChoice();
}

void ScheduleFeature::followChoice() {
  const ScheduleEntry* chosen = m_book ? m_book->current() : nullptr;
  const int id = chosen != nullptr ? chosen->id : 0;
  // Another document brings its own question.
  const bool isChosen = m_chosenBook == m_book && id != m_chosenSchedule;
  m_chosenBook = m_book;
  m_chosenSchedule = id;
  const ScheduleEntry* entry = currentEntry();
  if (!isChosen || !m_context || m_workspace.mode() != Mode::schedule || entry == nullptr) {
    return;
  }
  const ScheduleOptions& made = entry->result->options;
  askFor(m_context->bound(), made.collective, m_context->model().nodeNamed(made.root));
}

void ScheduleFeature::setPlayed(const QObject* player, bool isPlayed) {
  const QObject* before = m_player;
  if (isPlayed) {
    m_player = player;
  } else if (m_player == player) {
    m_player = nullptr;
  }
  if (m_player == before) {
    return;
  }
  if (m_player != nullptr && before != nullptr) {
    Q_EMIT playedBy(m_player);
  } else {
    Q_EMIT overlayChanged();
  }
}

void ScheduleFeature::setGuest(const QObject* guest, std::optional<Overlay> overlay) {
  const bool hadGuest = m_guest.has_value();
  if (!overlay && m_guestOwner != guest) {
    return;
  }
  m_guest = std::move(overlay);
  m_guestOwner = m_guest ? guest : nullptr;
  if (hadGuest || m_guest) {
    Q_EMIT overlayChanged();
  }
}

void ScheduleFeature::setCompared(const QObject* from, std::vector<ComparedSchedule> compared) {
  std::vector<ComparedSchedule>& known = m_compared[from];
  if (known != compared) {
    known = std::move(compared);
    Q_EMIT comparedChanged();
  }
}

std::vector<ComparedSchedule> ScheduleFeature::compared() const {
  std::vector<ComparedSchedule> all;
  for (const auto& [from, some] : m_compared) {
    all.insert(all.end(), some.begin(), some.end());
  }
  // Not by what happens to lie first in memory.
  std::sort(all.begin(), all.end(), [](const ComparedSchedule& a, const ComparedSchedule& b) { return a.id > b.id; });
  return all;
}

void ScheduleFeature::goToLink(const QString& tail, const QString& head, Reveal reveal) {
  if (!m_context) {
    return;
  }
  const Model& model = m_context->model();
  Selection& selection = m_context->selection();
  CanvasView& canvas = m_context->canvas();
  const NodeId a = model.nodeNamed(tail.toStdString());
  const NodeId b = model.nodeNamed(head.toStdString());
  std::set<ElementId> links;
  if (a.isValid()) {
    for (const LinkId id : model.linksOf(a)) {
      const Link& link = *model.find(id);
      const bool runs = link.tail.node == a && link.head.node == b;
      const bool runsBack = link.duplex && link.tail.node == b && link.head.node == a;
      if (runs || runsBack) {
        links.insert(id);
      }
    }
  }
  if (links.empty()) {
    if (a.isValid() && b.isValid()) {
      selection.set({a, b});
      canvas.centreOn(ElementId(a));
    } else {
      m_workspace.say(tr("%1 → %2 is no longer in the drawing").arg(tail, head));
    }
    return;
  }
  const ElementId first = *links.begin();
  selection.set(std::move(links));
  selection.setCurrent(first);
  if (reveal == Reveal::always || !canvas.isInView(first)) {
    canvas.centreOn(first);
  }
}

// ---- commands

void ScheduleFeature::generate() {
  if (m_book) {
    m_book->generate();
  }
}

void ScheduleFeature::showMethods() {
  m_workspace.setMode(Mode::schedule);
  m_actions[u"view.methods"_s]->trigger();
}

void ScheduleFeature::copyCommand() {
  if (m_book) {
    const ScheduleOptions options = m_book->nextOptions();
    QGuiApplication::clipboard()->setText(
        generateCommand(m_context->file().path(), options, u"schedule"_s + fileSuffix(options)));
    m_workspace.say(tr("Copied the command line"));
  }
}

void ScheduleFeature::rename(int id) {
  const ScheduleEntry* entry = m_book ? m_book->find(id) : nullptr;
  if (entry == nullptr) {
    return;
  }
  const auto name = m_prompts.text(m_window, tr("Rename Schedule"), tr("New name:"), entry->name);
  if (name && m_book) {
    if (const Outcome renamed = m_book->rename(id, *name); !renamed) {
      m_workspace.say(sentence(renamed.error()));
    }
  }
}

void ScheduleFeature::remove(int id) {
  const ScheduleEntry* entry = m_book ? m_book->find(id) : nullptr;
  if (entry == nullptr) {
    return;
  }
  const auto isWanted =
      m_prompts.choice(m_window, tr("Delete Schedule"),
                       m_book->isUnsaved(*entry)
                           ? tr("Delete “%1”?").arg(entry->name)
                           : tr("Delete “%1” and its file %2?").arg(entry->name, QFileInfo(entry->path).fileName()),
                       tr("Delete"), tr("Keep"));
  if (isWanted.value_or(false) && m_book) {
    if (const Outcome removed = m_book->remove(id); !removed) {
      m_prompts.failure(m_window, tr("Delete Schedule"), sentence(removed.error()));
    }
  }
}

void ScheduleFeature::rerun(int id) {
  const ScheduleEntry* entry = m_book ? m_book->find(id) : nullptr;
  if (entry != nullptr && entry->result) {
    m_book->generate(ScheduleOptions(entry->result->options));
  }
}

// ---- files

bool ScheduleFeature::open(const QString& path) {
  if (scheduleFileKindOf(path) == ScheduleFileKind::none) {
    return false;
  }
  m_waiting << path;
  openNext();
  return true;
}

void ScheduleFeature::openNext() {
  if (m_isOpening || m_waiting.isEmpty()) {
    return;
  }
  m_isOpening = true;
  const QString path = m_waiting.takeFirst();
  m_workspace.say(tr("Verifying %1…").arg(QFileInfo(path).fileName()));
  const bool hasNodes = m_context && !m_context->model().nodes().isEmpty();
  m_opener.submit([path, kind = scheduleFileKindOf(path), facts = hasNodes ? m_context->document().facts() : nullptr,
                   collective = m_book ? m_book->collective() : Collective::allgather](std::stop_token stop) {
    Progress progress;
    progress.stop = std::move(stop);
    return std::make_shared<const OpenedSchedule>(openSchedule(path, kind, facts, collective, progress));
  });
}

void ScheduleFeature::receive(const OpenedSchedule& opened) {
  m_isOpening = false;
  const QString name = QFileInfo(opened.path).fileName();
  if (opened.error) {
    m_workspace.say(tr("%1 was rejected").arg(name));
    m_prompts.failure(m_window, tr("Open"),
                      tr("%1 could not be opened.").arg(name) + u"\n\n"_s + errorText(*opened.error));
  } else if (opened.kind == ScheduleFileKind::program) {
    m_workspace.say({});
    Q_EMIT programOpened(opened.path, opened.xml);
  } else {
    openForest(opened);
    m_workspace.say(name + u": "_s + opened.result->verdictText());
  }
  openNext();
}

void ScheduleFeature::openForest(const OpenedSchedule& opened) {
  const ScheduleResultPtr& result = opened.result;
  // A document with these very facts takes the schedule; else its own fabric is opened for it.
  const auto holds = [&](EditorContext* context) {
    return context != nullptr && digestNow(*context->document().facts(), {}) == result->fabricDigest();
  };
  EditorContext* owner = holds(current()) ? current() : nullptr;
  for (EditorContext* context : m_workspace.contexts()) {
    owner = owner == nullptr && holds(context) ? context : owner;
  }
  const QString name = nameOfForest(opened.path);
  if (owner == nullptr) {
    const QString fabric = QString::fromStdString(result->description->name);
    owner = m_workspace.adopt(readModel(*result->description).model, {},
                              opened.isInferred || fabric.isEmpty() ? tr("Fabric of %1").arg(name) : fabric);
  }
  m_workspace.activate(owner);
  askFor(owner->bound(), result->options.collective, owner->model().nodeNamed(result->options.root));
  bookOf(*owner)->add(result, name);
  m_workspace.setMode(Mode::schedule);
}

}  // namespace coppice::designer
