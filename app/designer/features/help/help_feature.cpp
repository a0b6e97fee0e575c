// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/features/help/help_feature.hpp"

#include <QApplication>
#include <QDockWidget>
#include <QHash>
#include <QMenuBar>
#include <QPointer>
#include <QSettings>
#include <QUndoStack>
#include <functional>
#include <memory>
#include <utility>

#include "designer/document/fabric_file.hpp"
#include "designer/document/figures.hpp"
#include "designer/help/about_dialog.hpp"
#include "designer/help/help_book.hpp"
#include "presets/presets.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

const QString kTourSeen = u"tour/seen"_s;

}  // namespace

HelpFeature::HelpFeature(const FeatureHost& host) : Feature(host), m_keepsSettings(host.options.keepsSettings) {
  m_actions.add({u"help.contents"_s,
                 tr("&Help"),
                 tr("Explain the part of the window that has the focus"),
                 {QKeySequence(Qt::Key_F1)},
                 u"help"_s},
                [this](bool) { showHelp(topicHere()); });
  m_actions.add(
      {u"help.glossary"_s, tr("&Glossary"), tr("Show the meaning of the terms"), {QKeySequence(u"Shift+F1"_s)}},
      [this](bool) { showHelp(u"glossary"_s); });
  m_actions.add({u"help.tour"_s, tr("&Tour"), tr("Take a one-minute tour of a live example")},
                [this](bool) { startTour(); });
  addForCurrent({u"help.explain"_s, tr("&Explain This Fabric"),
                 tr("Cut, reason, schedule and proof of this fabric, one after the other")},
                [this](EditorContext& context) { explain(context); });
  connect(&m_workspace, &Workspace::stateChanged, this, [this] { enable({"help.explain"}, current() != nullptr); });
  m_actions.add({u"help.about"_s, tr("&About Coppice"), tr("Show version, libraries and licences")}, [this](bool) {
    auto* dialog = new AboutDialog(m_window);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->open();
  });
}

QString HelpFeature::topicHere() const {
  for (const QWidget* widget = QApplication::focusWidget(); widget != nullptr; widget = widget->parentWidget()) {
    if (const QString topic = widget->property("helpTopic").toString(); !topic.isEmpty()) {
      return topic;
    }
    // A dock, or one of its views.
    if (const QString id = widget->property("dockId").toString(); !id.isEmpty()) {
      static const QHash<QString, QString> kShared = {
          {u"links"_s, u"nodes"_s},    {u"link-loads"_s, u"loads"_s},   {u"histogram"_s, u"charts"_s},
          {u"routes"_s, u"trees"_s},   {u"tree-counts"_s, u"charts"_s}, {u"methods"_s, u"schedules"_s},
          {u"machines"_s, u"run"_s},   {u"run-choices"_s, u"run"_s},    {u"results"_s, u"run"_s},
          {u"run-chart"_s, u"run"_s},  {u"run-trace"_s, u"run"_s},      {u"run-log"_s, u"run"_s},
          {u"runs"_s, u"run"_s},       {u"connection"_s, u"run"_s},     {u"differences"_s, u"run"_s},
          {u"clock"_s, u"timeline"_s}, {u"compared"_s, u"compare"_s},   {u"outcome"_s, u"run"_s},
          {u"log"_s, u"run"_s}};
      const QString topic = kShared.value(id, id);
      if (HelpBook::instance().find(topic) != nullptr) {
        return topic;
      }
    }
  }
  if (current() == nullptr) {
    return u"start"_s;
  }
  switch (m_workspace.mode()) {
    case Mode::draw:
      return u"draw"_s;
    case Mode::analyse:
      return u"analyse"_s;
    case Mode::schedule:
      return u"schedules"_s;
    case Mode::run:
      break;
  }
  return u"run"_s;
}

void HelpFeature::showHelp(const QString& topic) {
  if (m_help == nullptr) {
    m_help = new HelpWindow(m_window);
  }
  m_help->showTopic(topic);
  m_help->show();
  m_help->raise();
  m_help->activateWindow();
}

void HelpFeature::offerTour() {
  if (m_keepsSettings && !QSettings().value(kTourSeen).toBool()) {
    startTour();
  }
}

EditorContext* HelpFeature::openExample() {
  const auto made = presets::make("dgx-a100", {{"boxes", "2"}});
  if (!made) {
    return nullptr;
  }
  EditorContext* example = m_workspace.adopt(readArranged(*made).model, {}, tr("Tour"));
  // Not the user's work: neither closing it nor a start after a crash asks about it.
  example->document().undoStack()->setClean();
  example->file().discardChanges();
  example->file().setExample();
  return example;
}

QWidget* HelpFeature::currentCanvas() const {
  return current() != nullptr ? &current()->canvas() : nullptr;
}

void HelpFeature::startTour() {
  if (m_tour != nullptr) {
    return;
  }
  if (m_keepsSettings) {
    // Now, so that it never comes twice, however this ends.
    QSettings().setValue(kTourSeen, true);
  }
  EditorContext* example = openExample();
  if (example == nullptr) {
    return;
  }
  start(stepsOn(*example), tr("&Skip the Tour"));
}

void HelpFeature::start(std::vector<TourStep> steps, const QString& leave) {
  m_tour = new Tour(m_window, std::move(steps), leave);
  connect(m_tour, &Tour::finished, this, [this] {
    if (QWidget* canvas = currentCanvas()) {
      canvas->setFocus();
    }
  });
  m_tour->start();
}

HelpFeature::Enter HelpFeature::showIn(EditorContext& context, Mode mode) {
  return [this, shown = QPointer<EditorContext>(&context), mode] {
    if (shown) {
      m_workspace.activate(shown);
    }
    m_workspace.setMode(mode);
  };
}

HelpFeature::Enter HelpFeature::showDock(const QString& name, const Enter& before) {
  return [this, name, before] {
    before();
    if (auto* widget = m_window->findChild<QDockWidget*>(name)) {
      widget->show();
      widget->raise();
    }
  };
}

HelpFeature::Enter HelpFeature::generate(EditorContext& context) {
  // There is a schedule from here on, also where the steps go back and forth.
  return [this, show = showIn(context, Mode::schedule)] {
    show();
    if (!m_actions[u"schedule.rerun"_s]->isEnabled() && !m_actions[u"schedule.cancel"_s]->isEnabled()) {
      m_actions[u"schedule.generate"_s]->trigger();
    }
  };
}

HelpFeature::Enter HelpFeature::play(const Enter& generated) {
  return [this, generated, hasPlayed = std::make_shared<bool>(false)] {
    generated();
    if (*hasPlayed) {
      return;
    }
    *hasPlayed = true;
    // The schedule may be a moment away.
    QAction* action = m_actions[u"schedule.play"_s];
    const auto play = [action] {
      // The keyboard stays with the tour.
      QPointer<QWidget> focus = QApplication::focusWidget();
      action->trigger();
      if (focus) {
        focus->setFocus();
      }
    };
    if (action->isEnabled()) {
      play();
    } else {
      connect(action, &QAction::enabledChanged, this, play, Qt::SingleShotConnection);
    }
  };
}

void HelpFeature::explain(EditorContext& context) {
  const std::shared_ptr<const Bound> bound = context.bound().isCurrent() ? context.bound().bound() : nullptr;
  if (m_tour != nullptr || !bound || !bound->algbw || bound->cuts.empty()) {
    m_workspace.say(tr("There is no bound to explain yet"));
    return;
  }
  const QString figure = gigabytes(*bound->algbw);
  const auto named = [this](const QString& name) {
    return [this, name]() -> QWidget* { return m_window->findChild<QWidget*>(name); };
  };
  std::vector<TourStep> steps;
  steps.push_back({tr("1. The cut"),
                   tr("No schedule is faster than %1 here. The hull is why: whatever crosses it has only the thick "
                      "links to do so.")
                       .arg(figure),
                   [this] { return currentCanvas(); }, showIn(context, Mode::analyse)});
  steps.push_back({tr("2. Why"), bound->cuts.front().sentence, named(u"boundDock"_s),
                   showDock(u"boundDock"_s, showIn(context, Mode::analyse))});
  steps.push_back({tr("3. The schedule"),
                   tr("What carries the data through that cut. The run plays on the drawing, message by message; Space "
                      "pauses it."),
                   [this] { return currentCanvas(); }, play(generate(context))});
  steps.push_back({tr("4. The proof"),
                   tr("The schedule was verified by a program of its own, which shares no code with the one that made "
                      "it: each GPU gets all data, and no link takes more than its share. The card says how close it "
                      "comes to the bound: where it meets it, the cut proves that nothing is faster, and the schedule "
                      "that this is reached."),
                   named(u"schedulesDock"_s), showDock(u"schedulesDock"_s, generate(context))});
  start(std::move(steps), tr("&Close"));
}

std::vector<TourStep> HelpFeature::stepsOn(EditorContext& context) {
  const auto named = [this](const QString& name) {
    return [this, name]() -> QWidget* { return m_window->findChild<QWidget*>(name); };
  };
  const auto canvas = [this] { return currentCanvas(); };
  const auto inMode = [this, &context](Mode wanted) { return showIn(context, wanted); };
  const auto dock = [this](const QString& name, const Enter& before) { return showDock(name, before); };
  const Enter generated = generate(context);
  const Enter playing = play(generated);
  std::vector<TourStep> steps;
  steps.push_back(
      {tr("Welcome to Coppice"),
       tr("It computes exactly how fast a collective can run on a cluster of GPUs, what limits it, and which "
          "schedule reaches that limit. This is a live example: two DGX A100. Anything that is not dimmed can be used "
          "during the tour. It takes a minute. Press Enter to continue, Esc to end it."),
       {},
       inMode(Mode::draw)});
  steps.push_back(
      {tr("The fabric"),
       tr("GPUs are numbered, with NVSwitches below and NICs above. Links are labelled with their bandwidth "
          "per direction. Zoom with the wheel, pan with Space, double-click a box to fold it."),
       canvas, inMode(Mode::draw)});
  steps.push_back({tr("Draw"),
                   tr("Drag devices and whole clusters from here, with their published bandwidths. L "
                      "links, Ctrl+Shift+D makes an array. Everything can be undone."),
                   named(u"devicesDock"_s), dock(u"devicesDock"_s, inMode(Mode::draw))});
  steps.push_back(
      {tr("The bound is always visible"),
       tr("The maximum throughput of any schedule, as a decimal and as the exact fraction, and the cut that "
          "limits it. It is updated with every change."),
       named(u"statusBound"_s), inMode(Mode::draw)});
  steps.push_back({tr("What limits it"),
                   tr("In Analyse mode (Ctrl+2) the hull shows the bottleneck: all data that crosses it must use "
                      "the thick links. C shows the next tied cut."),
                   canvas, inMode(Mode::analyse)});
  steps.push_back(
      {tr("Why, and what helps"),
       tr("The sentence and the formula use the numbers of this fabric. Upgrades, below the drawing, ranks "
          "the gain of more bandwidth; Failures (N-1), the cost of failures; What If tries other bandwidths."),
       named(u"boundDock"_s), dock(u"boundDock"_s, inMode(Mode::analyse))});
  steps.push_back(
      {tr("A schedule that reaches the bound"),
       tr("Generate (F5) has just built spanning trees that reach the bound, and verified them. Schedule mode "
          "draws the load of each link; choose a tree below to see it. Export writes the program for "
          "MSCCL."),
       named(u"schedulesDock"_s), generated});
  steps.push_back(
      {tr("See it move"),
       tr("A simulated run of the schedule plays on the drawing, message by message: GPUs fill with what they "
          "receive. Space pauses it. The Timeline below has each link on a lane; [ and ] step through the "
          "messages that determine the time."),
       canvas, playing});
  steps.push_back({tr("Compare schedules"),
                   tr("Compare lists all schedules of the fabric with their predicted speed by size. Select two rows "
                      "and press Ctrl+K, B: both play side by side on one clock. Export Plan saves the fastest one "
                      "for each band of sizes."),
                   named(u"comparedDock"_s), dock(u"comparedDock"_s, generated)});
  steps.push_back(
      {tr("Open any program"),
       tr("Program opens any MSCCL XML, also without a fabric: threadblocks, steps, what each step waits for, and the "
          "chunks in each buffer. It finds deadlocks, draws their cycle, and names the first wrong step."),
       named(u"programDock"_s), dock(u"programDock"_s, inMode(Mode::schedule))});
  steps.push_back(
      {tr("Help"),
       tr("F1 explains the current part of the window, Ctrl+Shift+P runs any command by name. This tour is in the Help "
          "menu. You can edit the example freely."),
       [this]() -> QWidget* { return m_window->findChild<QMenuBar*>(); }, inMode(Mode::draw)});
  return steps;
}

}  // namespace coppice::designer
