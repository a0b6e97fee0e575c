// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/features/layout/layout_feature.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

LayoutFeature::LayoutFeature(const FeatureHost& host) : Feature(host), m_job(new LayoutJob(this)) {
  add(u"layout.best"_s, tr("&Best Layout"),
      tr("Place the selection, or everything, by the structure of the fabric; pinned nodes stay"), LayoutKind::best,
      {QKeySequence(u"Ctrl+L"_s)}, u"grid"_s);
  add(u"layout.rails"_s, tr("&Rail Grid"), tr("Boxes stacked, with a rail switch above each column"),
      LayoutKind::rails);
  add(u"layout.circle"_s, tr("&Circle"), tr("Boxes and nodes on one circle"), LayoutKind::circle);
  add(u"layout.grid"_s, tr("&Grid"), tr("Boxes and nodes row by row, switches above"), LayoutKind::grid);
  add(u"layout.distance"_s, tr("By &Distance from the Selection"),
      tr("Everything in rows by the number of links from the selected nodes, or from the first GPU"),
      LayoutKind::distance, {QKeySequence(u"Ctrl+K, D"_s)}, u"layout"_s);
  add(u"layout.layered"_s, tr("&Layered (Graphviz)"), tr("Layers along the links, switches above GPUs"),
      LayoutKind::layered);
  add(u"layout.force"_s, tr("&Force (Graphviz)"), tr("Place nodes as if links were springs"), LayoutKind::force);
  add(u"layout.circular"_s, tr("C&ircular (Graphviz)"), tr("Place connected parts on circles"), LayoutKind::circular);
  m_actions.add({u"layout.stop"_s, tr("&Stop Layout"), tr("Keep all positions"), {QKeySequence(u"Ctrl+."_s)}},
                [this](bool) { m_job->cancel(); });
  connect(m_job, &LayoutJob::statusMessage, &m_workspace, &Workspace::say);
  connect(m_job, &LayoutJob::aboutToMove, this, [this](Document* document) {
    for (EditorContext* context : m_workspace.contexts()) {
      if (&context->document() == document) {
        context->canvas().animateNextMove();
      }
    }
  });
  connect(m_job, &LayoutJob::finished, this, &LayoutFeature::updateActions);
  connect(&m_workspace, &Workspace::stateChanged, this, &LayoutFeature::updateActions);
}

void LayoutFeature::add(const QString& id, const QString& text, const QString& tip, LayoutKind kind,
                        const QList<QKeySequence>& keys, const QString& icon) {
  addForCurrent({id, text, tip, keys, icon}, [this, kind](EditorContext& context) {
    m_job->submit(context.document(), context.selection().elements(), kind);
    updateActions();
  });
}

void LayoutFeature::updateActions() {
  enable({"layout.best", "layout.rails", "layout.circle", "layout.grid", "layout.distance", "layout.layered",
          "layout.force", "layout.circular"},
         current() != nullptr);
  enable({"layout.stop"}, m_job->isRunning());
}

}  // namespace coppice::designer
