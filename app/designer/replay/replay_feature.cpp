// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/replay/replay_feature.hpp"

#include <QFile>
#include <QFileInfo>
#include <string_view>

#include "designer/document/error_text.hpp"
#include "designer/replay/replay.hpp"
#include "designer/theme/theme.hpp"
#include "io/files.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

ReplayFeature::ReplayFeature(const FeatureHost& host, ScheduleFeature& schedules, TimelinePanel& timeline)
    : Feature(host), m_timeline(timeline) {
  m_actions.add({u"file.export-replay"_s,
                 tr("Export Repla&y…"),
                 tr("Save the run as one HTML file that plays in any browser"),
                 {},
                 u"run"_s},
                [this](bool) { save(); });
  const auto follow = [this, &schedules] {
    const ScheduleBook* book = schedules.book();
    const ScheduleEntry* entry = book != nullptr ? book->current() : nullptr;
    enable({"file.export-replay"}, entry != nullptr && entry->result && book->isFresh(*entry));
  };
  connect(&schedules, &ScheduleFeature::currentChanged, this, follow);
  connect(&m_workspace, &Workspace::currentChanged, this, follow);
  follow();
}

void ReplayFeature::save() {
  m_workspace.setMode(Mode::schedule);
  const PlaybackPtr run = m_timeline.playback();
  if (!run || current() == nullptr) {
    m_timeline.setPlaying(true);
    m_workspace.say(tr("The run is being simulated: export the replay when it plays"));
    return;
  }
  const QString path = m_prompts.fileToSave(
      m_window, QFileInfo(current()->file().displayName()).baseName() + u".html"_s, tr("Replays (*.html)"));
  if (path.isEmpty()) {
    return;
  }
  constexpr QSizeF kFit(1600, 1000);
  const Outcome saved = [&]() -> Outcome {
    const auto page = replayPage(current()->canvas(), *run, FabricMap(run->result(), current()->model()),
                                 {.picture = {.scheme = Theme::instance().scheme(), .fit = kFit}});
    if (!page) {
      return page.error();
    }
    return io::saveFile(QFile::encodeName(path).toStdString(),
                        std::string_view(page->constData(), static_cast<std::size_t>(page->size())));
  }();
  if (saved) {
    m_workspace.say(tr("Exported %1").arg(QFileInfo(path).fileName()));
  } else {
    m_prompts.failure(m_window, tr("Export Replay"), errorText(saved.error()));
  }
}

}  // namespace coppice::designer
