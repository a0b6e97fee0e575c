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
#include <utility>

#include "designer/document/fabric_file.hpp"
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
  m_tour = new Tour(m_window, stepsOn(*example));
  connect(m_tour, &Tour::finished, this, [this] {
    if (QWidget* canvas = currentCanvas()) {
      canvas->setFocus();
    }
  });
  m_tour->start();
}

std::vector<TourStep> HelpFeature::stepsOn(EditorContext& context) {
  const auto named = [this](const QString& name) {
    return [this, name]() -> QWidget* { return m_window->findChild<QWidget*>(name); };
  };
  const auto canvas = [this] { return currentCanvas(); };
  const auto inMode = [this, example = QPointer<EditorContext>(&context)](Mode wanted) {
    return [this, example, wanted] {
      if (example) {
        m_workspace.activate(example);
      }
      m_workspace.setMode(wanted);
    };
  };
  const auto dock = [this](const QString& name, const std::function<void()>& before) {
    return [this, name, before] {
      before();
      if (auto* widget = m_window->findChild<QDockWidget*>(name)) {
        widget->show();
        widget->raise();
      }
    };
  };
  // The example has a schedule from here on, also where the steps go back and forth.
  const auto generated = [this, inMode] {
    inMode(Mode::schedule)();
    if (!m_actions[u"schedule.rerun"_s]->isEnabled() && !m_actions[u"schedule.cancel"_s]->isEnabled()) {
      m_actions[u"schedule.generate"_s]->trigger();
    }
  };
  const auto playing = [this, generated, hasPlayed = std::make_shared<bool>(false)] {
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
