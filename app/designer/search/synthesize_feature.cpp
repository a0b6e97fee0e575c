// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/search/synthesize_feature.hpp"

#include "designer/schedules/schedule_book.hpp"
#include "designer/search/synthesize_dialog.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

SynthesizeFeature::SynthesizeFeature(const FeatureHost& host) : Feature(host) {
  m_actions.add({u"schedule.synthesize"_s,
                 tr("S&ynthesize…"),
                 tr("Search for schedules with few steps, and prove how good they are"),
                 {QKeySequence(u"Ctrl+K, Y"_s)},
                 u"synthesize"_s},
                [this](bool) {
                  dialog().show();
                  dialog().raise();
                  dialog().activateWindow();
                });
  enable({"schedule.synthesize"}, false);
  connect(&m_workspace, &Workspace::currentChanged, this, &SynthesizeFeature::follow);
}

SynthesizeDialog& SynthesizeFeature::dialog() {
  if (m_dialog == nullptr) {
    const auto askTable = [this] {
      const QStringList files =
          m_prompts.filesToOpen(m_window, {}, tr("Tables of chunks or shards (*.csv *.json);;All files (*)"));
      return files.isEmpty() ? QString() : files.front();
    };
    m_dialog = new SynthesizeDialog(askTable, m_window);
    connect(m_dialog, &SynthesizeDialog::modeWanted, this, [this] { m_workspace.setMode(Mode::schedule); });
    follow();
  }
  return *m_dialog;
}

void SynthesizeFeature::follow() {
  EditorContext* context = current();
  m_followed.clear();
  if (context != nullptr) {
    m_followed.connect(&context->bound(), &LiveBound::changed, [this] { updateAction(); });
  }
  if (m_dialog != nullptr) {
    if (context != nullptr) {
      m_dialog->setSubject(ScheduleBook::of(context->file(), context->bound()), &context->file(), &context->bound());
    } else {
      m_dialog->setSubject(nullptr, nullptr, nullptr);
    }
  }
  updateAction();
}

void SynthesizeFeature::updateAction() {
  EditorContext* context = current();
  const Bound* bound = context != nullptr ? context->bound().bound().get() : nullptr;
  enable({"schedule.synthesize"}, bound != nullptr && bound->gpuCount >= 2 && bound->errors() == 0);
}

}  // namespace coppice::designer
