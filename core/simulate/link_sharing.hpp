// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "simulate/job.hpp"

namespace coppice::simulate {

/// A message that flows.
struct FlowState {
  MessageId message = 0;
  double left = 0;  ///< bytes of one unit of its weight
  double rate = 0;  ///< bytes per us of one unit
};

/// Max-min fair sharing of link directions by messages under way.
///
/// Messages on the same route get the same rate, so each route is one class: it counts what every unit of weight on it
/// has been given since it was last empty, and a message ends when that count reaches its own end. Rates are computed
/// by progressive filling, and only in the component (links joined by routes) where the weight on a route changed. A
/// message that takes the place of another on its route at the same time changes nothing.
///
/// That is exact. Once it has cost a given amount of work, a component's rates are computed at most once in a given
/// time, the resolution. Until then a class keeps what it has in sum, so that no link ever carries more than its
/// bandwidth. Work is counted in routes looked at, so that the result does not depend on the machine.
class LinkSharing {
public:
  /// @param resolution us; 0 = always exact  @param exactWork routes looked at before the resolution counts
  /// The job must outlive this.
  LinkSharing(const Job& job, double resolution, std::int64_t exactWork);

  /// A message begins to flow. @pre its route has links and bytes > 0
  void add(RouteId route, MessageId message, double bytes, std::int32_t weight, double now);
  /// When something happens next, us; infinity if nothing flows.
  [[nodiscard]] double nextTime();
  /// Takes out what happens up to this time, and returns the time of the last of it (or `now` where that is later).
  double takeDue(double until, double now);
  /// Ends the messages that were due and appends them. @param slack us by which one may be early (rounding)
  void finishDue(double now, double slack, std::vector<MessageId>& finished);
  /// Computes rates where they changed. Call when all messages that begin now are added.
  void settle(double now);

  /// us during which each link carried something, by Fabric::arcs(), once nothing flows.
  [[nodiscard]] const std::vector<double>& busyTimes() const { return m_busy; }
  /// The same where something flows, up to now.
  [[nodiscard]] std::vector<double> busyUntil(double now) const;
  /// All that flows, by message. @pre rates are settled
  void flowsAt(double now, std::vector<FlowState>& flows) const;
  /// Moves everything into the future as it is. @param busy us to add to the busy time of each link
  void moveOn(double time, const std::vector<double>& busy);
  [[nodiscard]] std::int64_t fills() const { return m_fills; }
  /// Whether the resolution counted.
  [[nodiscard]] bool isCoarse() const { return m_resolution > 0 && m_exactWork <= 0; }

private:
  struct Flow {
    double end = 0;  ///< of Class::served
    MessageId message = 0;
    std::int32_t weight = 0;
  };

  struct Class {
    std::vector<Flow> flows;  ///< heap, earliest end first
    double served = 0;        ///< bytes for each unit of weight
    double since = 0;         ///< when `served` was true
    double rate = 0;          ///< bytes per us in sum
    double due = 0;           ///< when the first flow ends
    std::int64_t weight = 0;
    std::int64_t sharedWeight = 0;  ///< for which `rate` was computed
    std::uint32_t component = 0;
    std::uint32_t version = 0;
    bool isListed = false;   ///< in Component::active
    bool isTouched = false;  ///< in m_touched
    bool isFlowing = false;  ///< counted in m_flowing
  };

  struct Due {
    double time = 0;
    std::uint32_t index = 0;  ///< class or component
    std::uint32_t version = 0;
  };

  struct Component {
    std::vector<RouteId> active = {};
    std::vector<Due> heap = {};  ///< classes
    double filled = 0;           ///< when rates were computed last
    double deferred = 0;         ///< when they have to be; infinity = no need
    double next = 0;
    std::uint32_t version = 0;
    bool isTouched = false;
  };

  struct LinkState {
    double left = 0;
    std::int64_t weight = 0;
    std::uint32_t stamp = 0;
    std::uint32_t first = 0;  ///< into m_members
    std::uint32_t end = 0;
  };

  void advance(Class& flows, double now) const;
  void updateDue(Class& flows) const;
  void touch(RouteId route);
  void touchComponent(std::uint32_t component);
  void countBusy(RouteId route, bool isFlowing, double now);
  void push(Component& component, RouteId route);
  void fill(Component& component, double now);
  void setRate(RouteId route, double unitRate, double now);
  void schedule(std::uint32_t component);

  const Job& m_job;
  double m_resolution;
  std::int64_t m_exactWork;  ///< what is left of it
  double m_unitCap;
  std::vector<Class> m_classes;  ///< by route
  std::vector<Component> m_components;
  std::vector<Due> m_next;  ///< heap of components
  std::vector<RouteId> m_touched;
  std::vector<std::uint32_t> m_touchedComponents;
  std::vector<RouteId> m_due;
  std::vector<std::uint32_t> m_flowing;  ///< by arc: classes
  std::vector<double> m_busySince;
  std::vector<double> m_busy;
  std::vector<LinkState> m_links;  ///< by arc, for fill()
  std::vector<std::int32_t> m_used;
  std::vector<RouteId> m_members;
  std::vector<Due> m_shares;
  std::vector<std::uint32_t> m_frozen;  ///< by route: the fill that set its rate
  std::uint32_t m_stamp = 0;
  std::int64_t m_fills = 0;
};

}  // namespace coppice::simulate
