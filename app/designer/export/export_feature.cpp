// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/export/export_feature.hpp"

#include <QFileInfo>

#include "designer/export/export_dialog.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

ExportFeature::ExportFeature(const FeatureHost& host, ScheduleFeature& schedules)
    : Feature(host), m_schedules(schedules) {
  QAction* exportAction =
      m_actions.add({u"schedule.export"_s,
                     tr("&Export Schedule…"),
                     tr("Export a program for MSCCL or RCCL with a checklist, or trees, or the schedule file"),
                     {QKeySequence(u"Ctrl+E"_s)},
                     u"export"_s},
                    [this](bool) { exportCurrent(); });
  exportAction->setIconText(tr("Export"));
  enable({"schedule.export"}, false);
  connect(&m_schedules, &ScheduleFeature::exportWanted, this, &ExportFeature::exportCurrent);
  connect(&m_schedules, &ScheduleFeature::currentChanged, this,
          [this] { enable({"schedule.export"}, m_schedules.currentEntry() != nullptr); });
}

ExportFeature::~ExportFeature() = default;

ExportDialog* ExportFeature::exportCurrent() {
  ScheduleBook* book = m_schedules.book();
  const ScheduleEntry* entry = m_schedules.currentEntry();
  if (entry == nullptr) {
    m_workspace.say(tr("There is no schedule to export yet. Press F5 to generate one."));
    return nullptr;
  }
  delete m_export;
  m_export = new ExportDialog(
      entry->result, entry->name, book->isUnsaved(*entry) ? QString() : entry->path, current()->file().path(),
      [this](const QString& suggestion, const QString& filter) {
        return m_prompts.fileToSave(m_window, suggestion, filter);
      },
      m_window);
  m_export->setAttribute(Qt::WA_DeleteOnClose);
  connect(m_export, &ExportDialog::failed, this,
          [this](const QString& why) { m_prompts.failure(m_window, tr("Export"), why); });
  connect(m_export, &ExportDialog::saved, this,
          [this](const QString& path) { m_workspace.say(tr("Saved %1").arg(QFileInfo(path).fileName())); });
  connect(m_export, &ExportDialog::regenerated, this,
          [this, book = QPointer<ScheduleBook>(book)](const ScheduleResultPtr& result) {
            if (book && m_export) {
              const ScheduleEntry* made = book->find(book->add(result, ScheduleBook::nameFor(*result)));
              m_export->setSchedule(made->name, made->path);
            }
          });
  m_export->show();
  return m_export;
}

}  // namespace coppice::designer
