// SPDX-License-Identifier: Apache-2.0
#include "lowering/work.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/checked.hpp"
#include "lowering/early_check.hpp"
#include "lowering/planes.hpp"

namespace coppice::lowering {

namespace {

Error badSchedule(std::string message, std::string fix = "generate the schedule again for this fabric") {
  return {ErrorCode::badInput, std::move(message), std::move(fix), {}};
}

Result<TreeShape> makeShape(const fabric::Fabric& fabric, const schedule::Forest& forest, const schedule::Tree& tree,
                            const std::string& name, const Planes* planes) {
  const int n = forest.gpuCount;
  TreeShape shape;
  shape.root = tree.root;
  shape.parent.assign(n, -1);
  shape.parityOf.assign(n, Parity::any);
  for (const schedule::TreeEdge& edge : forest.edgesOf(tree)) {
    if (edge.parent < 0 || edge.parent >= n || edge.child < 0 || edge.child >= n || edge.parent == edge.child ||
        edge.child == tree.root || shape.parent[edge.child] >= 0) {
      return badSchedule(name + " is not a spanning tree: the edge " + std::to_string(edge.parent) + " - " +
                         std::to_string(edge.child) + " gives a rank no or a second parent");
    }
    if (edge.path < 0 || edge.path >= forest.paths.size()) {
      return badSchedule(name + " names the route " + std::to_string(edge.path) + ", which does not exist");
    }
    const std::span<const fabric::NodeIndex> route = forest.paths[edge.path];
    const bool outward = forest.direction == schedule::Direction::out;
    const fabric::NodeIndex from = fabric.gpus()[outward ? edge.parent : edge.child];
    const fabric::NodeIndex to = fabric.gpus()[outward ? edge.child : edge.parent];
    const bool inside = std::all_of(route.begin(), route.end(),
                                    [&](fabric::NodeIndex node) { return node >= 0 && node < fabric.nodeCount(); });
    if (!inside || route.size() < 2 || route.front() != from || route.back() != to) {
      return badSchedule(name + ": the route of the edge " + std::to_string(edge.parent) + " - " +
                         std::to_string(edge.child) + " does not join these two ranks");
    }
    shape.parent[edge.child] = edge.parent;
    shape.parityOf[edge.child] = planes != nullptr ? planes->of(route) : Parity::any;
  }
  shape.children.assign(n, [&](const auto& add) {
    for (const schedule::TreeEdge& edge : forest.edgesOf(tree)) {
      add(edge.parent, edge.child);
    }
  });
  shape.depth.assign(n, 0);
  shape.height.assign(n, 0);
  shape.breadthFirst.reserve(n);
  shape.breadthFirst.push_back(tree.root);
  for (std::size_t i = 0; i < shape.breadthFirst.size(); ++i) {
    const int v = shape.breadthFirst[i];
    for (const int c : shape.children[v]) {
      shape.depth[c] = shape.depth[v] + 1;
      shape.breadthFirst.push_back(c);
    }
  }
  if (static_cast<int>(shape.breadthFirst.size()) != n) {
    return badSchedule(name + " reaches " + std::to_string(shape.breadthFirst.size()) + " of " + std::to_string(n) +
                       " ranks");
  }
  for (std::size_t i = shape.breadthFirst.size(); i-- > 1;) {
    const int v = shape.breadthFirst[i];
    int& above = shape.height[shape.parent[v]];
    above = std::max(above, shape.height[v] + 1);
  }
  return shape;
}

/// The trees of one forest with their multiplicities, by root.
struct TreeGroup {
  std::vector<TreeShape> shapes;
  std::vector<std::int64_t> multiplicity;
  std::vector<std::vector<int>> ofRoot;  ///< tree indices, heavy ones first
  std::vector<std::int64_t> sumOfRoot;
  std::int64_t sum = 0;
};

Result<TreeGroup> makeTreeGroup(const fabric::Fabric& fabric, const schedule::Forest& forest, const Planes* planes,
                                const Progress& progress) {
  const int n = fabric.gpuCount();
  const char* const kind = forest.direction == schedule::Direction::out ? "out-tree " : "in-tree ";
  if (forest.gpuCount != n || forest.treesOfRoot.size() != static_cast<std::size_t>(n)) {
    return badSchedule("the schedule is for " + std::to_string(forest.gpuCount) + " GPUs, the fabric has " +
                       std::to_string(n));
  }
  TreeGroup group;
  group.ofRoot.resize(n);
  group.sumOfRoot.assign(n, 0);
  for (const schedule::Tree& tree : forest.trees) {
    throwIfCancelled(progress);
    const std::string name = kind + std::to_string(group.shapes.size());
    if (tree.root < 0 || tree.root >= n || tree.multiplicity < 1) {
      return badSchedule(name + " has root " + std::to_string(tree.root) + " and multiplicity " +
                         std::to_string(tree.multiplicity));
    }
    if (tree.firstEdge < 0 || tree.firstEdge > static_cast<std::int64_t>(forest.edges.size()) - (n - 1)) {
      return badSchedule(name + " lacks edges");
    }
    Result<TreeShape> shape = makeShape(fabric, forest, tree, name, planes);
    if (!shape) {
      return shape.error();
    }
    group.ofRoot[tree.root].push_back(static_cast<int>(group.shapes.size()));
    group.shapes.push_back(std::move(*shape));
    group.multiplicity.push_back(tree.multiplicity);
    group.sumOfRoot[tree.root] = checkedAdd(group.sumOfRoot[tree.root], tree.multiplicity);
    group.sum = checkedAdd(group.sum, tree.multiplicity);
  }
  for (int r = 0; r < n; ++r) {
    if (group.sumOfRoot[r] != forest.treesOfRoot[r]) {
      return badSchedule("root " + std::to_string(r) + " has " + std::to_string(group.sumOfRoot[r]) +
                         " trees instead of " + std::to_string(forest.treesOfRoot[r]));
    }
    std::stable_sort(group.ofRoot[r].begin(), group.ofRoot[r].end(),
                     [&](int a, int b) { return group.multiplicity[a] > group.multiplicity[b]; });
  }
  if (group.sum == 0) {
    return badSchedule("the schedule has no trees");
  }
  return group;
}

/// Runs of chunks along one tree: pairs of (tree, chunks).
using Runs = std::vector<std::pair<int, std::int64_t>>;

Runs runsOf(const TreeGroup& group, int root) {
  Runs runs;
  for (const int t : group.ofRoot[root]) {
    runs.emplace_back(t, group.multiplicity[t]);
  }
  return runs;
}

void scale(TreeGroup& group, std::int64_t factor) {
  for (std::int64_t& m : group.multiplicity) {
    m = checkedMul(m, factor);
  }
  for (std::int64_t& s : group.sumOfRoot) {
    s = checkedMul(s, factor);
  }
  group.sum = checkedMul(group.sum, factor);
}

/// A divisor below 2 changes nothing.
void divide(TreeGroup& group, std::int64_t divisor) {
  if (divisor < 2) {
    return;
  }
  for (std::int64_t& m : group.multiplicity) {
    m /= divisor;
  }
  for (std::int64_t& s : group.sumOfRoot) {
    s /= divisor;
  }
  group.sum /= divisor;
}

/// Cuts a run of chunks into parts as equal as can be.
void addParts(std::vector<Part>& parts, const Part& run, int max) {
  const int pieces = (run.count + max - 1) / max;
  for (int piece = 0; piece < pieces; ++piece) {
    const int begin = static_cast<int>(std::int64_t{run.count} * piece / pieces);
    const int end = static_cast<int>(std::int64_t{run.count} * (piece + 1) / pieces);
    parts.push_back({run.root, run.start + begin, end - begin, run.reduceTree, run.broadcastTree});
  }
}

/// The trees of both halves of the data; one of them where the collective has one phase.
struct Halves {
  std::optional<TreeGroup> in;   ///< of Phase::reduce
  std::optional<TreeGroup> out;  ///< of Phase::broadcast

  [[nodiscard]] const TreeGroup& leading() const { return in ? *in : *out; }
};

/// Errors: badInput for forests that do not fit the collective or each other.
Result<Halves> readHalves(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                          const std::vector<Phase>& phases, const Planes* planes, const Progress& progress) {
  Halves halves;
  for (const Phase phase : phases) {
    const std::optional<schedule::Forest>& forest =
        phase == Phase::reduce ? schedule.reduceForest : schedule.broadcastForest;
    const schedule::Direction direction = phase == Phase::reduce ? schedule::Direction::in : schedule::Direction::out;
    if (!forest || forest->direction != direction) {
      return badSchedule("a schedule of " + std::string(toString(schedule.collective)) + " needs a forest of " +
                         (phase == Phase::reduce ? "in-trees" : "out-trees"));
    }
    Result<TreeGroup> group = makeTreeGroup(fabric, *forest, planes, progress);
    if (!group) {
      return group.error();
    }
    (phase == Phase::reduce ? halves.in : halves.out) = std::move(*group);
  }
  if (halves.in && halves.out) {
    const std::int64_t common = leastCommonMultiple(halves.in->sum, halves.out->sum);
    scale(*halves.in, common / halves.in->sum);
    scale(*halves.out, common / halves.out->sum);
    if (halves.in->sumOfRoot != halves.out->sumOfRoot) {
      return badSchedule("the two halves of the allreduce give the roots different shares of the data");
    }
  }
  return halves;
}

/// Both halves by one divisor, so that their chunks stay equal.
void divideByCommonDivisor(Halves& halves) {
  std::int64_t divisor = 0;
  for (const std::optional<TreeGroup>* group : {&halves.in, &halves.out}) {
    if (*group) {
      for (const std::int64_t m : (*group)->multiplicity) {
        divisor = std::gcd(divisor, m);
      }
    }
  }
  for (std::optional<TreeGroup>* group : {&halves.in, &halves.out}) {
    if (*group) {
      divide(**group, divisor);
    }
  }
}

/// Root, equal slices and the number of chunks, as the collective and the runtime require them.
Outcome checkShares(const schedule::Schedule& schedule, const TreeGroup& leading, bool isSliced,
                    const Options& options) {
  const auto n = static_cast<int>(leading.sumOfRoot.size());
  if (isRooted(schedule.collective) && (!schedule.root || *schedule.root < 0 || *schedule.root >= n ||
                                        leading.sumOfRoot[*schedule.root] != leading.sum)) {
    return badSchedule("the trees of a " + std::string(toString(schedule.collective)) +
                       " must all have the schedule's root");
  }
  for (int r = 1; isSliced && options.runtime != program::Runtime::mscclpp && r < n; ++r) {
    if (leading.sumOfRoot[r] != leading.sumOfRoot[0]) {
      return Error{ErrorCode::limit,
                   "MSCCL programs give every rank of " + std::string(toString(schedule.collective)) +
                       " an equal slice; here rank 0 has " + std::to_string(leading.sumOfRoot[0]) + " and rank " +
                       std::to_string(r) + " has " + std::to_string(leading.sumOfRoot[r]) + " shares",
                   "lower a schedule with equal amounts, or export it with --target mscclpp, whose plans hold any",
                   {}};
    }
  }
  const std::int64_t addressable = program::limits(options.runtime).offset + std::int64_t{1};
  if (leading.sum > addressable / options.instances) {
    const std::string each = options.instances > 1 ? " x " + std::to_string(options.instances) + " instances" : "";
    return Error{ErrorCode::limit,
                 "the program needs " + std::to_string(leading.sum) + " chunks" + each + ", but " +
                     std::string(program::toString(options.runtime)) + " addresses at most " +
                     std::to_string(addressable) + " in a buffer",
                 options.instances > 1 ? "use fewer instances or a smaller k" : "use a smaller k",
                 {}};
  }
  return Done{};
}

/// Where the two halves cut a slice differently, the parts are the common refinement.
std::vector<Part> partsOf(const Halves& halves, int maxCount) {
  std::vector<Part> parts;
  int start = 0;
  const auto roots = static_cast<int>(halves.leading().ofRoot.size());
  for (int root = 0; root < roots; ++root) {
    Runs up = halves.in ? runsOf(*halves.in, root) : Runs{};
    Runs down = halves.out ? runsOf(*halves.out, root) : Runs{};
    std::size_t u = 0;
    std::size_t d = 0;
    while (u < up.size() || d < down.size()) {
      std::int64_t run = up.empty() ? down[d].second : up[u].second;
      if (halves.in && halves.out) {
        run = std::min(run, down[d].second);
      }
      addParts(parts,
               {root, start, static_cast<int>(run), up.empty() ? -1 : up[u].first, down.empty() ? -1 : down[d].first},
               maxCount);
      start += static_cast<int>(run);
      if (!up.empty() && (up[u].second -= run) == 0) {
        ++u;
      }
      if (!down.empty() && (down[d].second -= run) == 0) {
        ++d;
      }
    }
  }
  return parts;
}

/// Every rank that is not a part's root has at least one step of its own for each phase of the part.
Outcome checkElements(const Work& work, const Options& options) {
  const program::RuntimeLimits& limit = program::limits(options.runtime);
  std::vector<int> rooting(work.gpuCount, 0);
  for (const Part& part : work.parts) {
    ++rooting[part.root];
  }
  const int busiest = static_cast<int>(std::min_element(rooting.begin(), rooting.end()) - rooting.begin());
  const std::int64_t minElements = (static_cast<std::int64_t>(work.parts.size()) - rooting[busiest]) *
                                       static_cast<std::int64_t>(work.phases.size()) * options.instances +
                                   2 + work.gpuCount;
  if (minElements > limit.xmlNodes) {
    return tooManyElements(busiest, minElements, true, options, suggestedFix(work, options));
  }
  return Done{};
}

}  // namespace

Work withSmallerParts(const Work& work, int max) {
  Work finer = work;
  finer.parts.clear();
  for (const Part& part : work.parts) {
    addParts(finer.parts, part, max);
  }
  return finer;
}

std::string suggestedFix(const Work& work, const Options& options) {
  return smallerFix(work.rootChunks > 1, options);
}

Result<Work> makeWork(const fabric::Fabric& fabric, const schedule::Schedule& schedule, const Options& options,
                      const Progress& progress) {
  if (!schedule.fabricDigest.empty() && schedule.fabricDigest != fabric.digest()) {
    return badSchedule("the schedule was made for another fabric (digest " + schedule.fabricDigest + ", this one has " +
                       fabric.digest() + ")");
  }
  Work work;
  work.collective = schedule.collective;
  work.gpuCount = fabric.gpuCount();
  work.algbw = schedule.algbw;
  const bool isGather = schedule.collective == Collective::allgather || schedule.collective == Collective::broadcast;
  const bool isSliced =
      schedule.collective == Collective::allgather || schedule.collective == Collective::reduceScatter;
  if (!isGather) {
    work.phases.push_back(Phase::reduce);
  }
  if (isGather || schedule.collective == Collective::allreduce) {
    work.phases.push_back(Phase::broadcast);
  }
  std::optional<Planes> planes;
  if (options.channels == ChannelPolicy::nicPlanes) {
    planes.emplace(fabric);
  }
  Result<Halves> halves = readHalves(fabric, schedule, work.phases, planes ? &*planes : nullptr, progress);
  if (!halves) {
    return halves.error();
  }
  divideByCommonDivisor(*halves);
  const TreeGroup& leading = halves->leading();
  if (Outcome fits = checkShares(schedule, leading, isSliced, options); !fits) {
    return fits.error();
  }
  if (isRooted(schedule.collective)) {
    work.root = *schedule.root;
  }
  work.chunks = static_cast<int>(leading.sum);
  work.rootChunks = static_cast<int>(*std::max_element(leading.sumOfRoot.begin(), leading.sumOfRoot.end()));
  if (isSliced) {
    work.slices.push_back(0);
    for (const std::int64_t sum : leading.sumOfRoot) {
      work.slices.push_back(work.slices.back() + static_cast<int>(sum));
    }
  }
  work.parts = partsOf(*halves, program::limits(options.runtime).count);
  if (Outcome fits = checkElements(work, options); !fits) {
    return fits.error();
  }
  if (halves->in) {
    work.reduceTrees = std::move(halves->in->shapes);
  }
  if (halves->out) {
    work.broadcastTrees = std::move(halves->out->shapes);
  }
  return work;
}

}  // namespace coppice::lowering
