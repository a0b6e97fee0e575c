// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "designer/window/filter_table.hpp"
#include "designer/window/find_bar.hpp"
#include "designer/window/go_to.hpp"
#include "designer/window/main_window.hpp"

using namespace Qt::StringLiterals;

/// Finding and going to things.
namespace coppice::designer {

void MainWindow::createFindActions() {
  m_actions.add({u"edit.find"_s, tr("&Find…"), tr("Find by name, kind or expression"), {QKeySequence::Find}, u"find"_s},
                [this](bool) { m_find->start(); });
  m_actions.add({u"edit.find-next"_s, tr("Find Ne&xt"), tr("Go to the next hit"), {QKeySequence(u"F3"_s)}, u"next"_s},
                [this](bool) { m_find->goNext(1); });
  m_actions.add({u"edit.find-previous"_s,
                 tr("F&ind Previous"),
                 tr("Go to the previous hit"),
                 {QKeySequence(u"Shift+F3"_s)},
                 u"previous"_s},
                [this](bool) { m_find->goNext(-1); });
  m_actions.add({u"edit.go-to"_s, tr("&Go To…"), tr("Go to a node or box by name"), {QKeySequence(u"Ctrl+P"_s)}},
                [this](bool) {
                  if (Editor* editor = currentEditor()) {
                    auto* popup = new GoTo(*editor, this);
                    popup->move(mapToGlobal(QPoint(width() / 2 - popup->width() / 2, height() / 6)));
                    popup->show();
                  }
                });
  m_actions.add({u"analyse.next-problem"_s,
                 tr("Next Pro&blem"),
                 tr("Go to the next problem"),
                 {QKeySequence(u"F8"_s)},
                 u"problems"_s},
                [this](bool) { goToNextProblem(); });
}

void MainWindow::goToNextProblem() {
  Editor* editor = currentEditor();
  if (editor == nullptr) {
    return;
  }
  const std::vector<Problem>& problems = editor->problems().problems();
  std::vector<ElementId> places;
  for (const Problem& problem : problems) {
    if (editor->model().contains(problem.element)) {
      places.push_back(problem.element);
    }
  }
  if (places.empty()) {
    m_strip->setHint(problems.empty() ? tr("No problems") : QString(problems.front().text));
    return;
  }
  const auto here = std::find(places.begin(), places.end(), editor->selection().current());
  const auto next = here == places.end() || here + 1 == places.end() ? places.begin() : here + 1;
  editor->goTo(*next);
  const auto shown =
      std::find_if(problems.begin(), problems.end(), [&](const Problem& problem) { return problem.element == *next; });
  m_strip->setHint(shown->text);
}

}  // namespace coppice::designer
