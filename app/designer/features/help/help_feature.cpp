// SPDX-License-Identifier: GPL-3.0-or-later
#include <QApplication>
#include <QDockWidget>
#include <QMenuBar>
#include <QSettings>
#include <QToolBar>
#include <QUndoStack>

#include "designer/document/fabric_file.hpp"
#include "designer/help/about_dialog.hpp"
#include "designer/help/help_book.hpp"
#include "designer/help/help_window.hpp"
#include "designer/help/tour.hpp"
#include "designer/window/main_window.hpp"
#include "presets/presets.hpp"

using namespace Qt::StringLiterals;

/// The parts of MainWindow that explain the program.
namespace coppice::designer {
namespace {

const QString kTourSeen = u"tour/seen"_s;

}  // namespace

void MainWindow::createHelpActions() {
  m_actions.add({u"help.contents"_s,
                 tr("&Help"),
                 tr("Explain the part of the window that has the focus"),
                 {QKeySequence(Qt::Key_F1)},
                 u"help"_s},
                [this](bool) { showHelp(helpTopicHere()); });
  m_actions.add(
      {u"help.glossary"_s, tr("&Glossary"), tr("Show the meaning of the terms"), {QKeySequence(u"Shift+F1"_s)}},
      [this](bool) { showHelp(u"glossary"_s); });
  m_actions.add({u"help.tour"_s, tr("&Tour"), tr("Take a one-minute tour of a live example")},
                [this](bool) { startTour(); });
  m_actions.add({u"help.about"_s, tr("&About Coppice"), tr("Show version, libraries and licences")}, [this](bool) {
    auto* dialog = new AboutDialog(this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->open();
  });
}

QString MainWindow::helpTopicHere() const {
  for (const QWidget* widget = QApplication::focusWidget(); widget != nullptr; widget = widget->parentWidget()) {
    const QString name = widget->objectName();
    if (qobject_cast<const QDockWidget*>(widget) != nullptr && name.endsWith(u"Dock"_s)) {
      static const QHash<QString, QString> kShared = {
          {u"links"_s, u"nodes"_s},   {u"link-loads"_s, u"loads"_s}, {u"tree"_s, u"trees"_s},
          {u"machines"_s, u"run"_s},  {u"run-choices"_s, u"run"_s},  {u"results"_s, u"run"_s},
          {u"run-chart"_s, u"run"_s}, {u"run-trace"_s, u"run"_s},    {u"run-log"_s, u"run"_s},
          {u"runs"_s, u"run"_s},      {u"connection"_s, u"run"_s},   {u"differences"_s, u"run"_s}};
      const QString id = name.chopped(4);
      const QString topic = kShared.value(id, id);
      if (HelpBook::instance().find(topic) != nullptr) {
        return topic;
      }
    }
  }
  if (currentEditor() == nullptr) {
    return u"start"_s;
  }
  switch (mode()) {
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

void MainWindow::showHelp(const QString& topic) {
  if (m_help == nullptr) {
    m_help = new HelpWindow(this);
  }
  m_help->showTopic(topic);
  m_help->show();
  m_help->raise();
  m_help->activateWindow();
}

void MainWindow::offerTour() {
  if (!m_options.keepsSettings || QSettings().value(kTourSeen).toBool()) {
    return;
  }
  startTour();
}

void MainWindow::startTour() {
  if (m_tour != nullptr) {
    return;
  }
  if (m_options.keepsSettings) {
    // Now, so that it never comes twice, however this ends.
    QSettings().setValue(kTourSeen, true);
  }
  const auto made = presets::make("dgx-a100", {{"boxes", "2"}});
  if (!made) {
    return;
  }
  Editor* editor = adopt(readArranged(*made).model, {}, tr("Tour"));
  // Nobody's work: closing it need not ask, nor the next start after a crash.
  editor->document().undoStack()->setClean();
  editor->file().discardChanges();
  QPointer<Editor> example(editor);
  const auto named = [this](const QString& name) {
    return [this, name]() -> QWidget* { return findChild<QWidget*>(name); };
  };
  const auto canvas = [this]() -> QWidget* {
    Editor* current = currentEditor();
    return current != nullptr ? &current->canvas() : nullptr;
  };
  const auto inMode = [this, example](Mode wanted) {
    return [this, example, wanted] {
      if (example) {
        m_tabs->setCurrentWidget(example);
      }
      setMode(wanted);
    };
  };
  const auto dock = [this](const QString& name, const std::function<void()>& before) {
    return [this, name, before] {
      before();
      if (auto* widget = findChild<QDockWidget*>(name)) {
        widget->show();
        widget->raise();
      }
    };
  };
  std::vector<TourStep> steps;
  steps.push_back(
      {tr("Welcome to Coppice"),
       tr("It computes exactly how fast a collective can run on a cluster of GPUs, what limits it, and which "
          "schedule reaches that limit. This is a live example, two DGX A100. You can use what is not dimmed "
          "meanwhile. The tour takes a minute. Press Enter to continue, Esc to end it."),
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
  steps.push_back({tr("A schedule that reaches the bound"),
                   tr("Generate (F5) builds spanning trees that reach the bound and verifies them. Schedule mode "
                      "draws them along their links. Export writes the program for MSCCL."),
                   named(u"tool-schedule.generate"_s), inMode(Mode::schedule)});
  steps.push_back(
      {tr("Help"),
       tr("F1 explains the current part of the window, Ctrl+Shift+P runs any command by name. This tour is in the Help "
          "menu. You can edit the example freely."),
       [this]() -> QWidget* { return menuBar(); }, inMode(Mode::draw)});
  m_tour = new Tour(this, std::move(steps));
  connect(m_tour, &Tour::finished, this, [canvas] {
    if (QWidget* widget = canvas()) {
      widget->setFocus();
    }
  });
  m_tour->start();
}

}  // namespace coppice::designer
