// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/schedules/repair_feature.hpp"

#include <algorithm>
#include <unordered_map>

#include "live/failures.hpp"
#include "workflow/drill.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

std::vector<std::string> failedParts(const Snapshot& snapshot, const std::set<ElementId>& elements) {
  const std::vector<live::PartFailure> failures = live::singleFailures(*snapshot.facts);
  const std::vector<std::string> names = workflow::partNames(failures);
  std::vector<std::string> failed;
  // Links come first, in the description's order.
  std::size_t link = 0;
  for (std::size_t i = 0; i < failures.size(); ++i) {
    const ElementId element = failures[i].part == live::Part::link
                                  ? ElementId(snapshot.links[link++])
                                  : ElementId(snapshot.nodes[static_cast<std::size_t>(failures[i].nodes.front())]);
    if (elements.contains(element)) {
      failed.push_back(names[i]);
    }
  }
  return failed;
}

RepairFeature::RepairFeature(const FeatureHost& host, ScheduleFeature& schedules)
    : Feature(host), m_schedules(schedules) {
  addForCurrent({u"schedule.repair"_s,
                 tr("Repair for the Failure"),
                 tr("Repair the schedule for the failure that is shown: trees that did not use the failed part stay"),
                 {QKeySequence(u"Ctrl+K, F"_s)}},
                [this](EditorContext& context) { repair(context); });
  connect(&m_workspace, &Workspace::currentChanged, this, &RepairFeature::follow);
  connect(&m_schedules, &ScheduleFeature::currentChanged, this, &RepairFeature::follow);
  connect(&m_schedules, &ScheduleFeature::runningChanged, this, &RepairFeature::update);
  update();
}

void RepairFeature::follow() {
  if (m_context != current()) {
    disconnect(m_assumed);
    m_context = current();
    if (m_context) {
      m_assumed = connect(m_context, &EditorContext::assumptionChanged, this, &RepairFeature::update);
    }
  }
  if (m_book != m_schedules.book()) {
    disconnect(m_finished);
    m_isWanted = false;
    m_book = m_schedules.book();
    if (m_book) {
      m_finished = connect(m_book, &ScheduleBook::finished, this, &RepairFeature::show);
    }
  }
  update();
}

void RepairFeature::update() {
  const auto* assumption = m_context && m_context->assumption() ? &*m_context->assumption() : nullptr;
  enable({"schedule.repair"}, assumption != nullptr && !assumption->failed.empty());
}

const ScheduleEntry* RepairFeature::base() const {
  const auto isInUse = [this](const ScheduleEntry& entry) {
    return entry.result && entry.result->forests() != nullptr && entry.result->options.failed.empty() &&
           m_book->isFresh(entry);
  };
  const ScheduleEntry* entry = m_schedules.currentEntry();
  if (entry == nullptr || isInUse(*entry)) {
    return entry;
  }
  const auto& all = m_book->entries();
  const auto found = std::find_if(all.rbegin(), all.rend(), isInUse);
  return found != all.rend() ? &*found : nullptr;
}

void RepairFeature::repair(EditorContext& context) {
  const ScheduleEntry* entry = m_book ? base() : nullptr;
  if (entry == nullptr) {
    m_workspace.say(tr("Generate a schedule of trees first (F5). Then it can be repaired."));
    return;
  }
  const std::vector<std::string> failed = failedParts(Snapshot::of(context.document()), context.assumption()->failed);
  m_isWanted = true;
  m_book->repair(*entry, failed);
  m_workspace.setMode(Mode::schedule);
}

void RepairFeature::show(int id) {
  const ScheduleEntry* entry = m_book ? m_book->find(id) : nullptr;
  if (!m_isWanted || entry == nullptr || !entry->result || entry->result->options.failed.empty()) {
    return;
  }
  m_isWanted = false;
  m_workspace.say(entry->result->verdictDetails());
  m_actions[u"view.side-by-side"_s]->trigger();
}

}  // namespace coppice::designer
