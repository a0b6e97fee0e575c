// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "base/collective.hpp"
#include "base/rational.hpp"
#include "designer/jobs/snapshot.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/forestcoll.hpp"

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
  /// "into b1 · 8 GPUs through 200 GB/s"
  QString words;
  /// The whole thought: who must send what through how much.
  QString sentence;
};

/// Everything known of a fabric at one revision.
struct Bound {
  Question question;
  std::uint64_t factRevision = 0;
  std::vector<Finding> findings;    ///< of fabric::validate
  std::vector<ElementId> culprits;  ///< as findings; invalid = the fabric as a whole
  int gpuCount = 0;
  std::optional<Rational> algbw;  ///< GB/s; absent where there is no answer
  std::vector<CutView> cuts;      ///< the tied cuts, the first found first
  QString why;                    ///< why there is no answer, and what to do
  QString note;                   ///< forestcoll::Optimum::note
  double seconds = 0;

  [[nodiscard]] int errors() const;
  [[nodiscard]] int warnings() const;
  /// "AllGather 346.67 GB/s = 1040/3"; without the fraction where it is whole.
  [[nodiscard]] QString headline() const;
};

/// "AllGather", "Reduce-scatter" …, as the strip and the menus write them.
[[nodiscard]] QString collectiveName(Collective collective);

/// Validates and solves. Never fails: what is wrong is in the answer. Meant for another thread.
[[nodiscard]] Bound computeBound(const Snapshot& snapshot, const Question& question, std::stop_token stop);

}  // namespace coppice::designer
