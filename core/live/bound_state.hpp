// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/failure.hpp"
#include "base/parallel.hpp"
#include "live/cut_bound.hpp"
#include "live/cut_search.hpp"
#include "live/failure_classes.hpp"
#include "live/trees_bound.hpp"

/// Private to core/live.
namespace coppice::live {

/// The texts of the errors of core/live.
[[nodiscard]] EntryErrors entryErrors();

/// One half of a collective: allgather, broadcast, gather and the second half of an allreduce; or the same on the
/// transpose, which is a reduction.
struct Half {
  int problem = 0;
  /// Arcs of a question are to be replaced by their reverse: of a fabric whose links are equal in both directions one
  /// problem serves both halves of an allreduce.
  bool isTurned = false;
  bool isReduction = false;
};

struct BoundState {
  int root = -1;  ///< node, of a collective with a root
  std::vector<std::string> ids;
  std::vector<std::string> boxes;  ///< by node: its box ("outer/inner"), or nothing
  std::vector<char> isGpu;
  Bandwidth unit = Bandwidth(1);  ///< GB/s per unit of capacity
  bool isBalanced = true;
  std::vector<forestcoll::TreeArc> arcs;  ///< sorted by tail, then head; networks number them alike
  std::shared_ptr<const EqualParts> parts;
  std::vector<Half> halves;
  std::vector<CutProblem> problems;
  std::vector<WorstCut> worst;  ///< by problem
  /// allreduce: the fabric for the program of trees, whose arcs are numbered like these. Asked only where
  /// Answer::isForTrees.
  std::shared_ptr<const forestcoll::TreeGraph> trees;
  std::chrono::milliseconds treesBudget{0};
  bool plainSwitches = false;
  Answer answer;

  [[nodiscard]] std::optional<int> findArc(int tail, int head) const;
  /// The fabric with all that the bound depends on, for its symmetries. It refers to `boxes`: this must outlive it.
  [[nodiscard]] SymmetricFabric symmetric() const;
  /// The same question of the other direction. @pre every arc has its reverse
  [[nodiscard]] Trial turned(const Trial& trial) const;
  /// What worst cuts, by half, say of the fabric without the nodes `gone`.
  [[nodiscard]] Answer describe(std::span<const WorstCut> worst, std::int64_t denominator,
                                std::span<const int> gone) const;
  /// The bound of all trees in place of that of the halves.
  static void takeTrees(const forestcoll::TreeBound& bound, Answer& result);

private:
  [[nodiscard]] schedule::Cut cutOf(const WorstCut& worst, std::int64_t denominator,
                                    const std::vector<char>& isGone) const;
  [[nodiscard]] Finding explain(const WorstCut& worst, bool isReduction, const std::vector<char>& isGone) const;
};

/// For questions about changed fabrics: a search for each problem. Not thread-safe; the state may be shared.
class Searches {
public:
  /// @param state must outlive this
  explicit Searches(const BoundState& state);
  [[nodiscard]] CutSearch& of(const Half& half) { return m_searches[half.problem]; }
  /// The bound after a change. Throws as CutSearch::worst.
  [[nodiscard]] Answer answer(const Trial& trial, const Progress& progress);

private:
  const BoundState& m_state;
  std::vector<CutSearch> m_searches;
};

/// Calls ask(searches, i) for all questions 0 .. count-1, on up to all cores. Throws what a question throws, and
/// CancelledError.
template <typename Ask>
void askAll(const BoundState& state, std::size_t count, std::string_view stage, const Progress& progress, Ask&& ask) {
  constexpr std::size_t kFewQuestions = 8;  // not worth another thread and its searches
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t workers = std::min(cores, count / kFewQuestions + 1);
  std::mutex mutex;
  std::size_t done = 0;
  parallelFor(workers, [&](std::size_t worker) {
    Searches searches(state);
    for (std::size_t i = worker; i < count; i += workers) {
      throwIfCancelled(progress);
      {
        const std::lock_guard lock(mutex);
        progress.report(stage, static_cast<double>(done++) / static_cast<double>(count));
      }
      ask(searches, i);
    }
  });
  progress.report(stage, 1);
}

}  // namespace coppice::live
