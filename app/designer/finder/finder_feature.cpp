// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/finder/finder_feature.hpp"

#include "designer/schedules/schedule_book.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

FinderFeature::FinderFeature(const FeatureHost& host) : Feature(host) {
  m_actions.add({u"file.find-topology"_s,
                 tr("Find a &Topology…"),
                 tr("Find the best ways to cable GPUs with a given number of ports, and open one as a fabric"),
                 {QKeySequence(u"Ctrl+K, N"_s)},
                 u"topology"_s},
                [this](bool) { show(); });
}

void FinderFeature::show() {
  if (!m_dialog) {
    m_dialog = new FinderDialog(m_window);
    m_dialog->addAction(m_actions[u"help.contents"_s]);
    connect(m_dialog, &FinderDialog::openWanted, this, &FinderFeature::open);
  }
  std::vector<OpenFabric> fabrics;
  for (EditorContext* context : m_workspace.contexts()) {
    fabrics.push_back({context->file().displayName(), context->file().path(), Snapshot::of(context->document()).facts});
  }
  m_dialog->setFabrics(std::move(fabrics));
  m_dialog->show();
  m_dialog->raise();
  m_dialog->activateWindow();
}

void FinderFeature::open(const Model& model, const QString& name, Collective collective, bool withSchedule) {
  EditorContext* context = m_workspace.adopt(Model(model), {}, name);
  Question question = context->bound().question();
  question.collective = collective;
  context->bound().setQuestion(question);
  if (withSchedule) {
    ScheduleBook* book = ScheduleBook::of(context->file(), context->bound());
    ScheduleOptions options = book->options();
    options.method = "bfb";
    options.methodOptions.clear();
    book->setOptions(options);
    m_workspace.setMode(Mode::schedule);
    book->generate();
  }
}

}  // namespace coppice::designer
