// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/features/analysis/analysis_feature.hpp"

#include <utility>

#include "designer/analysis/ranking_panel.hpp"
#include "designer/analysis/what_if_panel.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

AnalysisFeature::AnalysisFeature(const FeatureHost& host)
    : Feature(host),
      m_upgrades(new RankingPanel(upgradesKind(), m_window)),
      m_failures(new RankingPanel(damageKind(), m_window)),
      m_whatIf(new WhatIfPanel(m_window)) {
  host.addDock({u"upgrades"_s, tr("Upgrades"), m_upgrades, Qt::BottomDockWidgetArea, {Mode::analyse}});
  host.addDock({u"damage"_s, tr("Failures (N-1)"), m_failures, Qt::BottomDockWidgetArea, {Mode::analyse}});
  host.addDock({u"what-if"_s, tr("What If"), m_whatIf, Qt::BottomDockWidgetArea, {Mode::analyse}});
  connect(m_upgrades, &RankingPanel::elementsChosen, this, [this](const std::set<ElementId>& elements) {
    if (EditorContext* context = current()) {
      context->selection().set(elements);
    }
  });
  connect(m_failures, &RankingPanel::elementsChosen, this,
          [this](const std::set<ElementId>& elements, const QString& name) {
            if (EditorContext* context = current()) {
              context->selection().set(elements);
              context->assume(Assumption{.title = tr("If %1 fails").arg(name), .failed = elements});
            }
          });
  addForCurrent({u"schedule.fail-selection"_s,
                 tr("Let the Selection Fail"),
                 tr("Show the bound without the selected nodes, links and boxes, which fail together: a rail, a leaf "
                    "switch, the boxes of a power shelf"),
                 {QKeySequence(u"Ctrl+K, 5"_s)}},
                [this](EditorContext& context) { failSelection(context); });
  m_failures->setAction(m_actions[u"schedule.repair"_s]);
  connect(m_whatIf, &WhatIfPanel::tried, this, &AnalysisFeature::tryBandwidth);
  connect(m_whatIf, &WhatIfPanel::refused, &m_workspace, &Workspace::say);
  connect(&m_workspace, &Workspace::currentChanged, this, &AnalysisFeature::follow);
}

void AnalysisFeature::follow() {
  EditorContext* context = current();
  Document* document = context != nullptr ? &context->document() : nullptr;
  LiveBound* bound = context != nullptr ? &context->bound() : nullptr;
  m_upgrades->setSubject(document, bound);
  m_failures->setSubject(document, bound);
  m_whatIf->setSubject(document, context != nullptr ? &context->selection() : nullptr, bound);
}

void AnalysisFeature::failSelection(EditorContext& context) {
  std::set<ElementId> failed;
  const std::vector<NodeId> nodes = context.selection().nodesAndContents();
  failed.insert(nodes.begin(), nodes.end());
  for (const LinkId id : context.selection().links()) {
    const Link* link = context.model().find(id);
    // Links of nodes that fail go with them.
    if (link != nullptr && !failed.contains(link->tail.node) && !failed.contains(link->head.node)) {
      failed.insert(id);
    }
  }
  if (failed.empty()) {
    m_workspace.say(tr("Select the nodes, links or boxes that fail together first."));
    return;
  }
  const QString title = failed.size() == 1 ? tr("If %1 fails").arg(context.model().title(*failed.begin()))
                                           : tr("If %1 parts fail together").arg(failed.size());
  context.assume(Assumption{.title = title, .failed = std::move(failed)});
  m_workspace.setMode(Mode::analyse);
}

void AnalysisFeature::tryBandwidth(const std::set<LinkId>& links, const Bandwidth& change, const QString& title) {
  EditorContext* context = current();
  if (context != nullptr && !change.isZero()) {
    context->assume(Assumption{.title = title, .changed = links, .change = change});
  } else if (context != nullptr && context->assumption() && !context->assumption()->changed.empty()) {
    context->assume({});
  }
}

}  // namespace coppice::designer
