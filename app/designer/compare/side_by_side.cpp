// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/compare/side_by_side.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "designer/theme/theme.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

SideBySide::SideBySide(Workspace& workspace, ScheduleFeature& schedules, QWidget* window, QObject* parent)
    : QObject(parent), m_workspace(workspace), m_schedules(schedules), m_panel(new SideBySidePanel(window)) {
  connect(&m_schedules, &ScheduleFeature::currentChanged, this, &SideBySide::follow);
  connect(&m_schedules, &ScheduleFeature::comparedChanged, this, &SideBySide::follow);
  connect(&m_workspace, &Workspace::currentChanged, this, &SideBySide::show);
  connect(&m_workspace, &Workspace::modeChanged, this, &SideBySide::show);
  connect(m_panel, &SideBySidePanel::changed, this, &SideBySide::show);
  connect(m_panel, &SideBySidePanel::timeChanged, this, &SideBySide::draw);
  connect(&Theme::instance(), &Theme::changed, this, &SideBySide::draw);
  connect(m_panel, &SideBySidePanel::generateWanted, &m_schedules, &ScheduleFeature::showMethods);
  connect(m_panel, &SideBySidePanel::linkChosen, this, [this](const QString& tail, const QString& head) {
    m_schedules.goToLink(tail, head, ScheduleFeature::Reveal::ifHidden);
  });
  connect(m_panel, &SideBySidePanel::gpuChosen, this, &SideBySide::goToGpu);
  connect(&m_schedules, &ScheduleFeature::playedBy, this, [this](const QObject* player) {
    if (player != this) {
      m_panel->clock().setTime(std::nullopt);
    }
  });
}

SideBySide::~SideBySide() = default;

void SideBySide::follow() {
  std::vector<ComparedSchedule> fresh;
  if (const ScheduleBook* book = m_schedules.book()) {
    for (const ScheduleEntry& entry : book->entries()) {
      // Links of a fabric that has changed would play what cannot be.
      if (entry.result && book->isFresh(entry)) {
        fresh.push_back({entry.id, entry.name, entry.result});
      }
    }
  }
  const std::vector<ComparedSchedule> others = m_schedules.compared();
  std::copy_if(others.begin(), others.end(), std::back_inserter(fresh),
               [](const ComparedSchedule& each) { return !each.isRun() || each.recorded; });
  m_panel->setSchedules(std::move(fresh));
  show();
}

void SideBySide::leave() {
  m_schedules.setPlayed(this, false);
  m_schedules.setGuest(this, std::nullopt);
  m_schedules.setFrontPlayer({});
  if (m_context) {
    m_context->canvas().setMotion({});
  }
  m_split.reset();
  m_context.clear();
}

void SideBySide::show() {
  EditorContext* context = m_workspace.current();
  const bool isWanted = context != nullptr && m_workspace.mode() == Mode::schedule && m_panel->isSeen() &&
                        m_panel->schedule(0) != nullptr && m_panel->schedule(1) != nullptr;
  if (m_second && (!isWanted || m_context != context)) {
    leave();
  }
  if (!isWanted) {
    return;
  }
  if (!m_second) {
    m_context = context;
    m_caption = new DrawingCaption(0);
    m_second = new SecondDrawing(context->canvas());
    m_split = std::make_unique<PageSplit>(*context, m_caption, m_second);
    // Ends the playback of another part on the first drawing; draw() shows this one.
    m_schedules.setPlayed(this, true);
    m_schedules.setFrontPlayer([clock = &m_panel->clock()] { clock->setPlaying(!clock->isPlaying()); });
  }
  draw();
}

const FabricMap& SideBySide::mapOf(int side) {
  Map& known = m_maps[side];
  const ScheduleResultPtr& result = m_panel->schedule(side)->result;
  const std::uint64_t revision = m_context->document().factRevision();
  if (!known.map || known.result != result || known.revision != revision) {
    known = {std::make_unique<FabricMap>(*result, m_context->model()), result, revision};
  }
  return *known.map;
}

void SideBySide::draw() {
  if (!m_second || !m_context || m_panel->schedule(0) == nullptr) {
    return;
  }
  const std::optional<double>& time = m_panel->clock().time();
  const bool isPlayed = time && m_panel->playback(0);
  m_schedules.setPlayed(this, isPlayed);
  for (int side = 0; side < SideBySidePanel::kSides; ++side) {
    CanvasView& canvas = side == 0 ? m_context->canvas() : m_second->canvas();
    DrawingCaption& caption = side == 0 ? *m_caption : m_second->caption();
    caption.setCaption(m_panel->schedule(side)->name, m_panel->numbers(side));
    canvas.setMotion(isPlayed ? m_panel->playback(side)->motionAt(*time, mapOf(side)) : Motion{});
    Overlay overlay;
    if (!isPlayed) {
      overlay.heat = heatOf(*m_panel->schedule(side)->result, mapOf(side));
      overlay.heat.hasLegend = side == SideBySidePanel::kSides - 1;
    }
    if (side == 0) {
      m_schedules.setGuest(this, isPlayed ? std::nullopt : std::optional(std::move(overlay)));
    } else if (!isPlayed || !canvas.overlay().isEmpty()) {
      canvas.setOverlay(std::move(overlay));
    }
  }
}

void SideBySide::goToGpu(const QString& name) {
  EditorContext* context = m_workspace.current();
  if (context == nullptr) {
    return;
  }
  const NodeId id = context->model().nodeNamed(name.toStdString());
  if (id.isValid()) {
    context->showElement(id);
  }
}

}  // namespace coppice::designer
