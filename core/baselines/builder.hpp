// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/failure.hpp"
#include "base/progress.hpp"
#include "base/result.hpp"
#include "baselines/baselines.hpp"
#include "fabric/fabric.hpp"
#include "schedule/step_routes.hpp"
#include "schedule/step_schedule.hpp"

namespace coppice::baselines {

/// Collects the transfers of one baseline.
class Builder {
public:
  /// Throws Failure.
  Builder(std::string_view name, const fabric::Fabric& fabric, const Request& request, const Progress& progress);

  [[nodiscard]] const fabric::Fabric& fabric() const { return m_fabric; }
  [[nodiscard]] int ranks() const { return m_fabric.gpuCount(); }
  [[nodiscard]] Collective collective() const { return m_request.collective; }
  [[nodiscard]] fabric::Rank root() const { return m_request.root.value_or(0); }
  [[nodiscard]] const Progress& progress() const { return m_progress; }

  /// Pieces are [begin, end) of this from now on. @pre no transfer yet
  void setDenominator(std::int64_t denominator) { m_schedule.denominator = denominator; }
  [[nodiscard]] std::int64_t denominator() const { return m_schedule.denominator; }
  /// Asynchronous with phases instead of steps.
  void setAsynchronous() { m_schedule.isSynchronous = false; }

  /// A whole shard, or a piece. Routes: the shortest, or those given.
  void send(int step, std::int64_t shard, fabric::Rank from, fabric::Rank to, bool reduces = false);
  void send(int step, std::int64_t shard, std::int64_t begin, std::int64_t end, fabric::Rank from, fabric::Rank to,
            bool reduces = false);
  void send(int step, std::int64_t shard, std::int64_t begin, std::int64_t end, fabric::Rank from, fabric::Rank to,
            schedule::PathId route, bool reduces);
  [[nodiscard]] schedule::PathId addRoute(std::span<const fabric::NodeIndex> nodes);
  /// Returns the id of the first of them.
  [[nodiscard]] schedule::PathId addRoutes(const schedule::PathPool& routes);
  /// A shortest one. Throws Failure where only other GPUs join the two.
  [[nodiscard]] schedule::PathId route(fabric::Rank from, fabric::Rank to);

  /// A shortest way between any two nodes; empty where only GPUs join them.
  [[nodiscard]] std::vector<fabric::NodeIndex> nodesBetween(fabric::NodeIndex from, fabric::NodeIndex to) {
    return m_finder.nodesBetween(from, to);
  }
  [[nodiscard]] schedule::RouteFinder& finder() { return m_finder; }
  [[nodiscard]] schedule::PathPool& paths() { return m_schedule.paths; }

  /// Steps and algbw are set. Throws Failure.
  [[nodiscard]] schedule::StepSchedule finish();

  [[noreturn]] void refuse(std::string message, std::string fix = {}) const;

private:
  const fabric::Fabric& m_fabric;
  const Request& m_request;
  const Progress& m_progress;
  schedule::StepSchedule m_schedule;
  schedule::RouteFinder m_finder;
};

// One file each; all throw Failure, OverflowError, CancelledError.
void addRing(Builder& builder);               // rings.cpp
void addMultiRing(Builder& builder);          // rings.cpp
void addShiftedRing(Builder& builder);        // rings.cpp
void addDoubleBinaryTree(Builder& builder);   // trees.cpp
void addRecursiveDoubling(Builder& builder);  // exchanges.cpp
void addRecursiveHalving(Builder& builder);   // exchanges.cpp
void addBruck(Builder& builder);              // exchanges.cpp
void addDirect(Builder& builder);             // exchanges.cpp
void addPairwise(Builder& builder);           // exchanges.cpp
void addTwoLevel(Builder& builder);           // hierarchy.cpp
void addHierarchical(Builder& builder);       // hierarchy.cpp
void addMultiTree(Builder& builder);          // multitree.cpp
void addBlink(Builder& builder);              // blink.cpp
void addUnwound(Builder& builder);            // unwound.cpp

// Trees; all throw Failure, OverflowError, CancelledError.
using MakesForests = schedule::Schedule (*)(const fabric::Fabric&, const Request&, const Progress&);
[[nodiscard]] schedule::Schedule inNetwork(const fabric::Fabric& fabric, const Request& request,
                                           const Progress& progress);  // in_network.cpp
[[nodiscard]] schedule::Schedule nvls(const fabric::Fabric& fabric, const Request& request,
                                      const Progress& progress);  // nvls.cpp
[[nodiscard]] schedule::Schedule nvlsTree(const fabric::Fabric& fabric, const Request& request,
                                          const Progress& progress);  // nvls.cpp
[[nodiscard]] schedule::Schedule collnet(const fabric::Fabric& fabric, const Request& request,
                                         const Progress& progress);  // nvls.cpp

/// Parents of places 0 .. count - 1 in the binary tree, -1 at place 0, its root; odd places are leaves. (trees.cpp)
[[nodiscard]] std::vector<int> binaryTree(int count);
/// Who stands at a place of the second binary tree, where i stands at place i of the first and no root is given: inner
/// places of one are leaves of the other. (trees.cpp)
[[nodiscard]] int secondTreeMember(int place, int count);

}  // namespace coppice::baselines
