// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/schedules/simulation_settings.hpp"

#include <utility>

namespace coppice::designer {

SimulationSettings& SimulationSettings::instance() {
  static SimulationSettings settings;
  return settings;
}

simulate::Model SimulationSettings::modelFor(const ScheduleResult& result) const {
  const std::lock_guard lock(m_mutex);
  simulate::Model model;
  model.additionTime = m_additionTime;
  if (const auto found = m_profiles.find(result.fabricDigest()); found != m_profiles.end()) {
    model.fits = found->second.fits;
  }
  return model;
}

Microseconds SimulationSettings::additionTime() const {
  const std::lock_guard lock(m_mutex);
  return m_additionTime;
}

void SimulationSettings::setAdditionTime(Microseconds time) {
  {
    const std::lock_guard lock(m_mutex);
    if (m_additionTime == time) {
      return;
    }
    m_additionTime = time;
  }
  ++m_revision;
  Q_EMIT changed();
}

QString SimulationSettings::profileOf(const std::string& fabricDigest) const {
  const std::lock_guard lock(m_mutex);
  const auto found = m_profiles.find(fabricDigest);
  return found != m_profiles.end() ? found->second.name : QString();
}

void SimulationSettings::setProfile(const std::string& fabricDigest, const QString& name,
                                    std::shared_ptr<const simulate::Fits> fits) {
  {
    const std::lock_guard lock(m_mutex);
    m_profiles[fabricDigest] = {name, std::move(fits)};
  }
  ++m_revision;
  Q_EMIT changed();
}

void SimulationSettings::clearProfile(const std::string& fabricDigest) {
  {
    const std::lock_guard lock(m_mutex);
    if (m_profiles.erase(fabricDigest) == 0) {
      return;
    }
  }
  ++m_revision;
  Q_EMIT changed();
}

}  // namespace coppice::designer
