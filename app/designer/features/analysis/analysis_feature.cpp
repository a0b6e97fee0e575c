// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/features/analysis/analysis_feature.hpp"

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

void AnalysisFeature::tryBandwidth(const std::set<LinkId>& links, const Bandwidth& change, const QString& title) {
  EditorContext* context = current();
  if (context != nullptr && !change.isZero()) {
    context->assume(Assumption{.title = title, .changed = links, .change = change});
  } else if (context != nullptr && context->assumption() && !context->assumption()->changed.empty()) {
    context->assume({});
  }
}

}  // namespace coppice::designer
