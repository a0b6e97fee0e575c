// SPDX-License-Identifier: Apache-2.0
#include "lowering/early_check.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "fabric/likely_gpu.hpp"
#include "lowering/footprint.hpp"
#include "lowering/plan.hpp"
#include "schedule/peers.hpp"
#include "schedule/rotation.hpp"
#include "schedule/tree_reader.hpp"

namespace coppice::lowering {
namespace {

/// `gpu` elements that the parsers of MSCCL XML read.
constexpr int kMaxXmlRanks = 1024;

std::string runtimeName(const Options& options) {
  return std::string(program::toString(options.runtime));
}

int halvesOf(Collective collective) {
  return collective == Collective::allreduce ? 2 : 1;
}

/// Different trees of each root, and whether some root has several equal or different ones.
struct TreeCounts {
  std::vector<std::int64_t> ofRoot;
  bool hasSeveral = false;
};

TreeCounts countTrees(const schedule::Forest& forest) {
  TreeCounts counts{std::vector<std::int64_t>(static_cast<std::size_t>(forest.gpuCount), 0)};
  std::int64_t divisor = 0;
  for (const schedule::Tree& tree : forest.trees) {
    divisor = std::gcd(divisor, tree.multiplicity);
  }
  std::vector<std::int64_t> chunks(counts.ofRoot.size(), 0);
  const schedule::TreeReader reader(forest);
  for (std::int64_t tree = 0; tree < reader.size(); ++tree) {
    const schedule::TreeReader::View head = reader.head(tree);
    const auto root = static_cast<std::size_t>(head.root);
    ++counts.ofRoot[root];
    chunks[root] += head.multiplicity / divisor;
    counts.hasSeveral = counts.hasSeveral || chunks[root] > 1;
  }
  return counts;
}

/// A rank takes part in every part but its own with a step for each half: its elements are algo, gpu, a threadblock and
/// these steps.
std::int64_t leastElements(int gpuCount, std::int64_t partsOfOthers, Collective collective, const Options& options) {
  return std::int64_t{2} + gpuCount + partsOfOthers * halvesOf(collective) * options.instances;
}

std::optional<Error> tooManyRanks(int gpuCount, const Options& options) {
  if (options.runtime == program::Runtime::mscclpp || gpuCount <= kMaxXmlRanks) {
    return std::nullopt;
  }
  return Error{ErrorCode::limit,
               runtimeName(options) + " reads programs of at most " + std::to_string(kMaxXmlRanks) +
                   " ranks; the fabric has " + std::to_string(gpuCount) + " GPUs",
               "export it with --target mscclpp, or keep it as .forest.json"};
}

bool isSound(const schedule::Forest& forest, const fabric::Fabric& fabric) {
  const auto isRank = [&](fabric::Rank rank) { return rank >= 0 && rank < forest.gpuCount; };
  return forest.gpuCount == fabric.gpuCount() && !forest.trees.empty() &&
         !schedule::rotationFault(forest, fabric.nodeCount()) &&
         std::ranges::all_of(forest.trees,
                             [&](const auto& tree) { return isRank(tree.root) && tree.multiplicity > 0; }) &&
         std::ranges::all_of(forest.edges, [&](const auto& edge) { return isRank(edge.parent) && isRank(edge.child); });
}

}  // namespace

int multiprocessorsOf(const fabric::Fabric& fabric, const Options& options) {
  return options.multiprocessors ? *options.multiprocessors : fabric::likelyMultiprocessors(fabric);
}

int blocksAtOnce(const Options& options) {
  return std::min(program::limits(options.runtime).threadBlocksPerRank, options.multiprocessors.value());
}

Error tooManyElements(int rank, std::int64_t elements, bool isAtLeast, const Options& options, const std::string& fix) {
  const int max = program::limits(options.runtime).xmlNodes;
  return {ErrorCode::limit,
          "rank " + std::to_string(rank) + " needs " + (isAtLeast ? "at least " : "") + std::to_string(elements) +
              " XML elements (its steps, its threadblocks and one per gpu); " + runtimeName(options) +
              " reads at most " + std::to_string(max) + " (" + std::to_string(elements - max) + " too many)",
          fix,
          {}};
}

Error tooManyBlocks(int rank, int blocks, const Options& options, const std::string& fix) {
  const int need = blocks * options.instances;
  const int have = blocksAtOnce(options);
  return {ErrorCode::limit,
          "rank " + std::to_string(rank) + " needs " + std::to_string(need) + " threadblocks" +
              (options.instances > 1 ? " for " + std::to_string(options.instances) + " instances" : "") +
              ", each of which sends to one GPU and receives from one; " + runtimeName(options) + " runs at most " +
              std::to_string(have) + " at once (" + std::to_string(need - have) + " too many)",
          fix,
          {}};
}

std::string smallerFix(bool hasSeveralTrees, const Options& options) {
  const char* const less = hasSeveralTrees ? "a smaller k" : "fewer GPUs (k is as small as it can be)";
  return options.instances > 1 ? std::string("use fewer instances or ") + less : std::string("use ") + less;
}

Outcome checkEarly(const fabric::Fabric& fabric, const schedule::Schedule& schedule, const Options& options) {
  for (const auto* forest : {&schedule.reduceForest, &schedule.broadcastForest}) {
    if (!*forest || !isSound(**forest, fabric)) {
      continue;
    }
    if (const auto refused = tooManyRanks((*forest)->gpuCount, options)) {
      return *refused;
    }
    const TreeCounts trees = countTrees(**forest);
    const auto fewest = std::min_element(trees.ofRoot.begin(), trees.ofRoot.end());
    const std::int64_t others = std::accumulate(trees.ofRoot.begin(), trees.ofRoot.end(), std::int64_t{0}) - *fewest;
    const std::int64_t elements = leastElements((*forest)->gpuCount, others, schedule.collective, options);
    const std::string fix = smallerFix(trees.hasSeveral, options);
    if (elements > program::limits(options.runtime).xmlNodes) {
      return tooManyElements(static_cast<int>(fewest - trees.ofRoot.begin()), elements, true, options, fix);
    }
    const int have = blocksAtOnce(options);
    if (const auto peers = schedule::peersOneWay(**forest); peers && *peers > have / options.instances) {
      return tooManyBlocks(0, *peers, options, fix);
    }
  }
  return Done{};
}

std::optional<Error> neverFits(int gpuCount, Collective collective, const Options& options) {
  if (auto refused = tooManyRanks(gpuCount, options)) {
    return refused;
  }
  const std::int64_t others = isRooted(collective) ? 1 : gpuCount - 1;
  const std::int64_t elements = leastElements(gpuCount, others, collective, options);
  if (elements <= program::limits(options.runtime).xmlNodes) {
    return std::nullopt;
  }
  return tooManyElements(0, elements, true, options,
                         options.instances > 1 ? "use fewer instances or fewer GPUs" : "use fewer GPUs");
}

}  // namespace coppice::lowering
