// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/collective.hpp"
#include "base/rational.hpp"
#include "designer/jobs/snapshot.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/forestcoll.hpp"
#include "live/live_bound.hpp"

namespace coppice::designer {

/// What is asked of a fabric.
struct Question {
  Collective collective = Collective::allgather;
  NodeId root = {};  ///< broadcast and reduce; invalid = the first GPU

  friend bool operator==(const Question&, const Question&) = default;
};

/// A link that crosses a cut.
struct Crossing {
  NodeId tail;
  NodeId head;
  Rational bandwidth;  ///< GB/s from tail to head, all parallel links together
};

/// One cut as the designer shows it.
struct CutView {
  std::vector<NodeId> inside;  ///< S, ascending
  int gpusInside = 0;          ///< |S ∩ Vc|
  int gpusOutside = 0;
  std::int64_t demand = 0;
  Rational exitBandwidth;  ///< B+(S), GB/s
  std::vector<Crossing> crossings;
  /// "into b1 · 8 GPUs · 200 GB/s"
  QString words;
  /// The whole thought: who must send what through how much.
  QString sentence;
  /// Nouns of the sentence as they stand in it, to be clicked: "24 GPUs" (those inside), "b1 and switch0" (the side
  /// with fewer GPUs), "8 links" (the crossings).
  QString senders;
  QString place;
  QString links;
};

/// Everything known of a fabric at one revision.
struct Bound {
  Question question;
  std::uint64_t factRevision = 0;
  std::vector<Finding> findings;    ///< of fabric::validate
  std::vector<ElementId> culprits;  ///< as findings; invalid = the fabric as a whole
  int gpuCount = 0;
  std::optional<Rational> algbw;  ///< GB/s; absent where there is no answer
  std::vector<CutView> cuts;      ///< the first of the tied cuts, in the order of forestcoll::TiedCuts
  std::int64_t cutCount = 0;      ///< of all tied cuts
  bool isCutCountExact = true;    ///< false: there are at least cutCount
  QString why;                    ///< why there is no answer, and what to do
  QString note;                   ///< forestcoll::Optimum::note, where switches that only forward are the limit
  double seconds = 0;

  [[nodiscard]] int errors() const;
  [[nodiscard]] int warnings() const;
  /// "AllGather 346.67 GB/s = 1040/3"; without the fraction where it is whole.
  [[nodiscard]] QString headline() const;
};

/// "AllGather", "Reduce-scatter" …, as the strip and the menus write them.
[[nodiscard]] QString collectiveName(Collective collective);

/// Answers for one document that is being edited: after each edit from the state of the last answer (core/live).
/// forestcoll::optimum is asked only where ingress and egress differ at some switch, since forwarding may then limit
/// the fabric below its cuts. May be used from any thread; calls wait for each other.
class BoundSolver {
public:
  /// Validates and solves. Never fails: what is wrong is in the answer. After a stop the answer is worthless, and the
  /// next call goes on from what was done.
  [[nodiscard]] Bound compute(const Snapshot& snapshot, const Question& question, std::stop_token stop);
  /// A copy of the state that stands behind the answer to this question at this revision, for further questions;
  /// nullopt where there is none (anymore).
  [[nodiscard]] std::optional<live::LiveBound> stateOf(std::uint64_t factRevision, const Question& question) const;

private:
  void solve(const Snapshot& snapshot, const Question& question, std::stop_token stop, Bound& bound);
  void addCuts(const fabric::Fabric& fabric, const Snapshot& snapshot, const forestcoll::Request& request,
               const live::Answer& answer, const Progress& progress, Bound& bound) const;
  Result<live::Answer> follow(const fabric::Fabric& fabric, const forestcoll::Request& request,
                              const std::string& rootName, const Progress& progress);

  mutable std::mutex m_mutex;
  std::optional<live::LiveBound> m_live;
  Collective m_collective = Collective::allgather;
  std::string m_rootName;
  int m_updates = 0;
  /// What m_live has answered last.
  Question m_question;
  std::uint64_t m_factRevision = 0;
  bool m_isAnswered = false;
};

/// From nothing. Meant for another thread.
[[nodiscard]] Bound computeBound(const Snapshot& snapshot, const Question& question, std::stop_token stop);

}  // namespace coppice::designer
