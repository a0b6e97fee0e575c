// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/features/find/find_feature.hpp"

#include <QWidget>
#include <algorithm>

#include "designer/features/find/find_bar.hpp"
#include "designer/features/find/go_to.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

FindFeature::FindFeature(const FeatureHost& host) : Feature(host), m_bar(new FindBar(m_window)) {
  m_actions.add({u"edit.find"_s, tr("&Find…"), tr("Find by name, kind or expression"), {QKeySequence::Find}, u"find"_s},
                [this](bool) { m_bar->start(); });
  m_actions.add({u"edit.find-next"_s, tr("Find Ne&xt"), tr("Go to the next match"), {QKeySequence(u"F3"_s)}, u"next"_s},
                [this](bool) { m_bar->goNext(1); });
  m_actions.add({u"edit.find-previous"_s,
                 tr("F&ind Previous"),
                 tr("Go to the previous match"),
                 {QKeySequence(u"Shift+F3"_s)},
                 u"previous"_s},
                [this](bool) { m_bar->goNext(-1); });
  addForCurrent(
      {u"edit.go-to"_s, tr("&Go To…"), tr("Go to a node or box by name"), {QKeySequence(u"Ctrl+P"_s)}},
      [this](EditorContext& context) {
        auto* popup = new GoTo(context, m_window);
        popup->move(m_window->mapToGlobal(QPoint(m_window->width() / 2 - popup->width() / 2, m_window->height() / 6)));
        popup->show();
      });
  addForCurrent({u"analyse.next-problem"_s,
                 tr("Next Pro&blem"),
                 tr("Go to the next problem"),
                 {QKeySequence(u"F8"_s)},
                 u"problems"_s},
                [this](EditorContext& context) { goToNextProblem(context); });
  connect(m_bar, &FindBar::closed, this, [this] {
    if (EditorContext* context = current()) {
      context->canvas().setFocus();
    }
  });
  connect(&m_workspace, &Workspace::currentChanged, this, [this] { m_bar->setContext(current()); });
  connect(&m_workspace, &Workspace::stateChanged, this, [this] {
    enable({"edit.find", "edit.find-next", "edit.find-previous", "edit.go-to", "analyse.next-problem"},
           current() != nullptr);
  });
}

void FindFeature::goToNextProblem(EditorContext& context) {
  const std::vector<Problem>& problems = context.problems().problems();
  std::vector<ElementId> places;
  for (const Problem& problem : problems) {
    if (context.model().contains(problem.element)) {
      places.push_back(problem.element);
    }
  }
  if (places.empty()) {
    m_workspace.say(problems.empty() ? tr("No problems") : QString(problems.front().text));
    return;
  }
  const auto here = std::find(places.begin(), places.end(), context.selection().current());
  const auto next = here == places.end() || here + 1 == places.end() ? places.begin() : here + 1;
  context.goTo(*next);
  const auto shown =
      std::find_if(problems.begin(), problems.end(), [&](const Problem& problem) { return problem.element == *next; });
  m_workspace.say(shown->text);
}

}  // namespace coppice::designer
