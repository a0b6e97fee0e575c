// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/collective.hpp"
#include "base/units.hpp"
#include "designer/jobs/cut_views.hpp"
#include "designer/jobs/snapshot.hpp"
#include "fabric/edited_fabric.hpp"
#include "forestcoll/forestcoll.hpp"
#include "live/cut_bound.hpp"
#include "schedule/bound_scope.hpp"

namespace coppice::designer {

/// What is asked of a fabric.
struct Question {
  Collective collective = Collective::allgather;
  NodeId root = {};  ///< where isRooted(collective); invalid = the first GPU

  friend bool operator==(const Question&, const Question&) = default;
};

/// Everything known of a fabric at one revision.
struct Bound {
  Question question;
  std::uint64_t factRevision = 0;
  std::vector<Finding> findings;    ///< of fabric::validate
  std::vector<ElementId> culprits;  ///< as findings; invalid = the fabric as a whole
  int gpuCount = 0;
  std::optional<Bandwidth> algbw;  ///< absent where there is no answer
  /// All-to-all where it is less than algbw: the GB/s that known routes reach. The optimum is between the two.
  std::optional<Bandwidth> reached;
  /// Which schedules are not faster than algbw.
  schedule::BoundScope scope = schedule::BoundScope::all;
  std::vector<CutView> cuts;    ///< the first of the tied cuts, in the order of forestcoll::TiedCuts
  std::int64_t cutCount = 0;    ///< of all tied cuts
  bool isCutCountExact = true;  ///< false: there are at least cutCount
  /// Of a very large fabric: one cut is known, and what takes longer than the bound is left to BoundSolver::completed:
  /// all tied cuts, and whether an allreduce reaches more.
  bool isOpen = false;
  QString why;   ///< why there is no answer, and what to do
  QString note;  ///< forestcoll::Optimum::note, where switches that only forward are the limit
  double seconds = 0;

  [[nodiscard]] int errors() const;
  [[nodiscard]] int warnings() const;
  /// "AllGather 346.67 GB/s = 1040/3"; without the fraction where it is whole. "AllToAll at most 12.5 GB/s = 25/2".
  [[nodiscard]] QString headline() const;
  /// Which schedules are not faster: "No schedule of this collective is faster on this fabric."
  [[nodiscard]] QString claim() const;
};

/// The collectives that a question can be about, as lists offer them.
inline constexpr std::array kBoundCollectives{Collective::allgather, Collective::reduceScatter, Collective::allreduce,
                                              Collective::broadcast, Collective::reduce,        Collective::gather,
                                              Collective::scatter,   Collective::alltoall};
/// Whether the collective has a cut bound (core/live), which prices, failures and curves need.
[[nodiscard]] bool hasCutBound(Collective collective);
/// Why there are no prices, failures and curves for a collective without one.
[[nodiscard]] QString noCutBoundText(Collective collective);

/// "AllGather", "Reduce-scatter" …, as the strip and the menus write them.
[[nodiscard]] QString collectiveName(Collective collective);

/// Answers for one document that is being edited. Facts come once as a whole, then as deltas. forestcoll::optimum is
/// asked only where ingress and egress differ at some switch, since forwarding may then limit the fabric below its
/// cuts. May be used from any thread; answers wait for each other, changes do not wait.
class BoundSolver {
public:
  /// Other facts altogether.
  void reset(Snapshot snapshot);
  /// The facts after the delta have this revision. @pre they were those of the revision before
  void change(fabric::FabricDelta delta, std::uint64_t factRevision);

  /// Validates and solves for the facts as they are now. Never fails: what is wrong is in the answer. After a stop the
  /// answer is worthless.
  [[nodiscard]] Bound compute(const Question& question, std::stop_token stop);
  /// The same answer with all that was open, if it still is the last one.
  [[nodiscard]] Bound completed(Bound bound, std::stop_token stop) const;
  /// What is behind the answer to this question at this revision, for further questions; nullopt where there is none.
  [[nodiscard]] std::optional<live::CutBound> cutBoundOf(std::uint64_t factRevision, const Question& question) const;

private:
  void takeChanges();
  void inspect(Bound& bound) const;
  void solve(const Question& question, std::stop_token stop, Bound& bound);
  [[nodiscard]] std::optional<fabric::Fabric> builtFabric(Bound& bound) const;
  void solveExchange(const Progress& progress, Bound& bound) const;
  void addShardCuts(const forestcoll::Request& request, const live::Answer& answer, const Progress& progress,
                    Bound& bound) const;
  /// Which schedules the bound holds for. @pre of an allreduce, or without a cut: ingress and egress differ somewhere
  void addScope(bool hasCut, Bound& bound) const;
  /// Of an allreduce in halves: whether other trees are faster.
  void addOverlap(const Progress& progress, Bound& bound) const;
  void addCuts(const live::Answer& answer, const Progress& progress, Bound& bound) const;

  // What has come since the last answer.
  std::mutex m_inboxMutex;
  std::optional<Snapshot> m_newFacts;
  std::vector<fabric::FabricDelta> m_deltas;  ///< after m_newFacts
  std::uint64_t m_newRevision = 0;

  mutable std::mutex m_mutex;
  fabric::EditedFabric m_fabric;
  std::uint64_t m_factRevision = 0;
  std::optional<live::CutBound> m_cutBound;  ///< of the last answer
  Question m_question;                       ///< that it answers
  forestcoll::Request m_request;             ///< the same
};

/// From nothing. Meant for another thread.
[[nodiscard]] Bound computeBound(const Snapshot& snapshot, const Question& question, std::stop_token stop);

}  // namespace coppice::designer
