// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>
#include <QString>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "designer/schedules/schedule_result.hpp"
#include "simulate/fits.hpp"
#include "simulate/job.hpp"

namespace coppice::designer {

/// What every simulation of the window assumes: the defaults, or what was measured on the fabric of a schedule, and the
/// time of additions. Read from any thread, changed by the window's.
class SimulationSettings : public QObject {
  Q_OBJECT

public:
  [[nodiscard]] static SimulationSettings& instance();

  /// For schedules of this fabric.
  [[nodiscard]] simulate::Model modelFor(const ScheduleResult& result) const;
  /// That a GPU takes to add one byte to what it has, of every fabric.
  [[nodiscard]] Microseconds additionTime() const;
  void setAdditionTime(Microseconds time);
  /// Another number after each change.
  [[nodiscard]] std::uint64_t revision() const { return m_revision; }
  /// The name of the profile that replaces the defaults of this fabric; empty = none.
  [[nodiscard]] QString profileOf(const std::string& fabricDigest) const;
  void setProfile(const std::string& fabricDigest, const QString& name, std::shared_ptr<const simulate::Fits> fits);
  /// Back to the defaults.
  void clearProfile(const std::string& fabricDigest);

Q_SIGNALS:
  /// What was simulated until now no longer holds, at least for one of the fabrics.
  void changed();

private:
  struct Profile {
    QString name;
    std::shared_ptr<const simulate::Fits> fits;
  };
  mutable std::mutex m_mutex;
  std::atomic<std::uint64_t> m_revision = 0;
  std::map<std::string, Profile> m_profiles;  ///< by digest of the fabric
  Microseconds m_additionTime{};
};

}  // namespace coppice::designer
