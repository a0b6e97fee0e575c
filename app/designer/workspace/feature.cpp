// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/workspace/feature.hpp"

#include <QWidget>
#include <utility>

namespace coppice::designer {

Feature::Feature(const FeatureHost& host)
    : QObject(host.window),
      m_workspace(host.workspace),
      m_actions(host.actions),
      m_prompts(host.prompts),
      m_window(host.window) {}

Feature::~Feature() = default;

void Feature::enable(std::initializer_list<const char*> actions, bool isEnabled) {
  for (const char* id : actions) {
    m_actions[QLatin1String(id)]->setEnabled(isEnabled);
  }
}

QAction* Feature::addForCurrent(const ActionSpec& spec, std::function<void(EditorContext&)> run) {
  return m_actions.add(spec, [this, run = std::move(run)](bool) {
    if (EditorContext* context = current()) {
      run(*context);
    }
  });
}

}  // namespace coppice::designer
