// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/compare/traffic_feature.hpp"

#include <QFileInfo>
#include <set>
#include <utility>

#include "designer/charts/picture_file.hpp"
#include "designer/document/error_text.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

TrafficFeature::TrafficFeature(const FeatureHost& host, ScheduleFeature& schedules)
    : Feature(host), m_schedules(schedules), m_panel(new TrafficPanel(m_window)) {
  host.addDock({u"traffic"_s,
                tr("Traffic"),
                m_panel,
                Qt::BottomDockWidgetArea,
                {Mode::schedule},
                true,
                {u"loads"_s, tr("Loads")}});
  m_actions.add({u"schedule.traffic"_s,
                 tr("Traffic Matri&x"),
                 tr("Show how much data each GPU or box sends to every other"),
                 {QKeySequence(u"Ctrl+K, A"_s)},
                 u"matrix"_s},
                [this](bool) {
                  m_workspace.setMode(Mode::schedule);
                  m_actions[u"view.traffic"_s]->trigger();
                  m_panel->view().setFocus(Qt::ShortcutFocusReason);
                });
  enable({"schedule.traffic"}, false);
  connect(&m_schedules, &ScheduleFeature::currentChanged, this, &TrafficFeature::follow);
  connect(m_panel, &TrafficPanel::generateWanted, &m_schedules, &ScheduleFeature::generate);
  connect(m_panel, &TrafficPanel::gpusChosen, this, &TrafficFeature::select);
  connect(m_panel, &TrafficPanel::pictureWanted, this, &TrafficFeature::savePicture);
}

void TrafficFeature::follow() {
  const ScheduleBook* book = m_schedules.book();
  const ScheduleEntry* entry = book != nullptr ? book->current() : nullptr;
  m_panel->setResult(entry != nullptr ? entry->result : nullptr);
  enable({"schedule.traffic"}, entry != nullptr && entry->result);
}

void TrafficFeature::select(const QStringList& names) {
  EditorContext* context = current();
  if (context == nullptr) {
    return;
  }
  std::set<ElementId> gpus;
  for (const QString& name : names) {
    if (const NodeId id = context->model().nodeNamed(name.toStdString()); id.isValid()) {
      gpus.insert(id);
    }
  }
  context->selection().set(std::move(gpus));
}

void TrafficFeature::savePicture() {
  const QString path = m_prompts.fileToSave(m_window, u"traffic.png"_s, pictureFilter());
  if (path.isEmpty()) {
    return;
  }
  if (const Outcome saved = m_panel->savePicture(path); !saved) {
    m_prompts.failure(m_window, tr("Save Picture"), errorText(saved.error()));
  } else {
    m_workspace.say(tr("Saved %1").arg(QFileInfo(path).fileName()));
  }
}

}  // namespace coppice::designer
