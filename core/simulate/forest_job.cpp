// SPDX-License-Identifier: Apache-2.0
#include "simulate/forest_job.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/checked.hpp"
#include "base/failure.hpp"
#include "schedule/expansion.hpp"
#include "schedule/own_copies.hpp"
#include "schedule/rotation.hpp"
#include "schedule/route_index.hpp"
#include "schedule/tree_reader.hpp"

namespace coppice::simulate {
namespace {

using schedule::Direction;
using schedule::Forest;
using schedule::TreeEdge;

constexpr MessageId kNone = ~MessageId{0};

/// Whose trees are simulated.
struct Roots {
  std::vector<bool> chosen;  ///< by rank; empty = all

  [[nodiscard]] bool has(fabric::Rank root) const { return chosen.empty() || chosen[root]; }
};

std::int64_t messagesOf(const Forest& forest) {
  return sizeOf(forest).edges;
}

/// Roots with at most that many messages: the GPUs of some boxes, spread evenly, or of some ranks where the boxes are
/// not alike. All of them where they fit, or where the roots are not alike.
Roots rootsWithin(const fabric::Fabric& fabric, const Forest& forest, std::int64_t maxMessages) {
  const std::int64_t messages = messagesOf(forest);
  const auto isLikeFirst = [&](std::int64_t trees) { return trees == forest.treesOfRoot.front(); };
  if (messages <= maxMessages || forest.gpuCount != fabric.gpuCount() ||
      !std::ranges::all_of(forest.treesOfRoot, isLikeFirst)) {
    return {};
  }
  std::map<std::string, std::vector<fabric::Rank>> byBox;
  for (fabric::Rank rank = 0; rank < forest.gpuCount; ++rank) {
    byBox[fabric.nodes()[fabric.gpus()[rank]].box].push_back(rank);
  }
  std::vector<std::vector<fabric::Rank>> groups;
  for (auto& [box, ranks] : byBox) {
    groups.push_back(std::move(ranks));
  }
  const bool areAlike =
      std::ranges::all_of(groups, [&](const auto& group) { return group.size() == groups.front().size(); });
  const std::int64_t affordable = std::max<std::int64_t>(maxMessages / (messages / forest.gpuCount), 1);
  if (groups.size() < 2 || !areAlike || static_cast<std::int64_t>(groups.front().size()) > affordable) {
    groups.clear();
    for (fabric::Rank rank = 0; rank < forest.gpuCount; ++rank) {
      groups.push_back({rank});
    }
  }
  std::ranges::sort(groups);
  const auto all = static_cast<std::int64_t>(groups.size());
  const std::int64_t wanted =
      std::clamp<std::int64_t>(affordable / static_cast<std::int64_t>(groups.front().size()), 1, all);
  Roots roots{std::vector<bool>(forest.gpuCount)};
  for (std::int64_t each = 0; each < wanted; ++each) {
    for (const fabric::Rank rank : groups[each * all / wanted]) {
      roots.chosen[rank] = true;
    }
  }
  return roots;
}

/// Makes the messages of some roots as heavy as it takes to keep the busiest link as long as those of all roots do: where
/// each root loads links of its own, they stay as they are; where all load the same links, they stand for the others.
void fillUp(Job& job, const Bandwidth& algbw) {
  const double all = 1 / Throughput(toGBps(algbw)).bytesPerMicrosecond();
  const double some = job.timePerByte().count();
  if (some > 0 && all > some) {
    for (MessageId id = 0; id < job.messages().size(); ++id) {
      const Message& message = job.messages()[id];
      job.addShare(id, message.share * (all / some - 1), message.added > 0);
    }
  }
}

/// Refuses what cannot be read tree by tree, or is too much.
Outcome checkForest(const fabric::Fabric& fabric, const Forest& forest, bool isPart, std::int64_t maxMessages) {
  if (forest.gpuCount != fabric.gpuCount()) {
    return Error{ErrorCode::badInput,
                 "the schedule is for " + std::to_string(forest.gpuCount) + " GPUs, the fabric has " +
                     std::to_string(fabric.gpuCount()),
                 "simulate on the fabric that the schedule was generated for"};
  }
  if (const auto fault = schedule::rotationFault(forest, fabric.nodeCount()); fault && !forest.rotations.empty()) {
    return Error{ErrorCode::badInput, *fault};
  }
  if (isPart) {
    return Done{};
  }
  const schedule::ForestSize size = sizeOf(forest);
  if (!forest.rotations.empty() && size.writtenBytes > schedule::kMaxWrittenBytes) {
    return schedule::treesTooLarge(size.trees, size.writtenBytes, schedule::kMaxWrittenBytes);
  }
  if (size.edges > maxMessages) {
    return Error{ErrorCode::limit,
                 "the trees have " + std::to_string(size.edges) + " edges; at most " + std::to_string(maxMessages) +
                     " are simulated, and the roots are not alike, so that none can stand for others"};
  }
  return Done{};
}

/// Adds the trees of one or two forests to a job.
class ForestJobBuilder {
public:
  /// @param roots that are simulated; empty = all
  ForestJobBuilder(const fabric::Fabric& fabric, const Model& model, bool hasOwnCopies, const Roots& roots,
                   const Progress& progress)
      : m_fabric(fabric), m_hasOwnCopies(hasOwnCopies), m_roots(roots), m_progress(progress), m_job(fabric, model) {}

  Outcome add(const Forest& forest) {
    m_whole.clear();
    m_pruned.clear();
    m_index = {};
    schedule::TreeReader reader(forest);
    const auto trees = static_cast<double>(forest.treeCount());
    std::vector<std::int64_t> next(forest.gpuCount, 0);  // by root: the next tree's number
    for (std::int64_t tree = 0; tree < reader.size(); ++tree) {
      throwIfCancelled(m_progress);
      if (!m_roots.has(reader.head(tree).root)) {
        continue;
      }
      const schedule::TreeReader::View view = reader.read(tree);
      const auto first = static_cast<MessageId>(m_job.messages().size());
      Message like{
          .weight = static_cast<std::int32_t>(view.multiplicity),
          .share = static_cast<double>(view.multiplicity) / trees,
          .label = static_cast<std::int32_t>(tree) + m_firstLabel,
          .shard = view.root,
          .reduces = forest.direction == Direction::in};
      if (const Outcome added = addEdges(forest, reader, view, like); !added) {
        return added;
      }
      const std::int64_t begin = next[view.root];
      next[view.root] += view.multiplicity;
      if (const Outcome added = addOwnCopies(forest, like); !added) {
        return added;
      }
      addWaits(forest.direction, view, first);
      joinHalves(forest.direction, view, first, begin, like.label);
    }
    m_firstLabel += static_cast<std::int32_t>(reader.size());
    return Done{};
  }

  Job take() { return std::move(m_job); }

  /// Out-trees that are added from now on send what the in-trees before have summed.
  void sendSums(const Forest& reduced) { m_sums.resize(reduced.gpuCount); }

private:
  /// What a root has summed along one tree: trees begin to end - 1 of the root.
  struct Sum {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    MessageId done = kNone;
  };

  Outcome addEdges(const Forest& forest, schedule::TreeReader& reader, const schedule::TreeReader::View& view,
                   Message message) {
    const bool isOut = forest.direction == Direction::out;
    m_copiedArcs = m_hasOwnCopies ? schedule::ownCopies(m_fabric, forest.direction, reader, view) : std::vector<int>();
    m_intoParent.assign(forest.gpuCount, kNone);
    for (const TreeEdge& edge : view.edges) {
      const std::span<const fabric::NodeIndex> nodes = reader.path(edge);
      // A rotated edge names the route that its own is the image of.
      const schedule::PathId path = forest.rotations.empty() ? edge.path : m_index.idOf(nodes);
      if (static_cast<std::size_t>(path) >= m_whole.size()) {
        m_whole.resize(std::max<std::size_t>(forest.paths.size(), 2 * (static_cast<std::size_t>(path) + 1)), kNoRoute);
      }
      RouteId& route =
          edge.pruned == 0 ? m_whole[path] : m_pruned.try_emplace({path, edge.pruned}, kNoRoute).first->second;
      if (route == kNoRoute) {
        const auto found = m_job.route(nodes, isOut ? edge.pruned : 0, isOut ? 0 : edge.pruned);
        if (!found) {
          return found.error();
        }
        route = *found;
      }
      message.route = route;
      message.from = isOut ? edge.parent : edge.child;
      message.to = isOut ? edge.child : edge.parent;
      // What a switch merges into another message is not added by a GPU.
      message.added = isOut || edge.pruned > 0 || hasOwnContribution(reader.path(edge)) ? 0 : message.share;
      m_intoParent[edge.child] = m_job.add(message);
    }
    return Done{};
  }

  /// Whether a sum that comes along the path has the receiver's own data in it.
  [[nodiscard]] bool hasOwnContribution(std::span<const fabric::NodeIndex> path) const {
    return std::any_of(m_copiedArcs.begin(), m_copiedArcs.end(), [&](int arc) {
      return m_fabric.arcs()[arc].tail == path.back() && m_fabric.arcs()[arc].head == path[path.size() - 2];
    });
  }

  /// One message more for each GPU that gets its own data back, or has it read, through a switch.
  Outcome addOwnCopies(const Forest& forest, Message message) {
    m_ownCopies.clear();
    const bool isOut = forest.direction == Direction::out;
    for (const int index : m_copiedArcs) {
      const fabric::Arc& arc = m_fabric.arcs()[index];
      const fabric::NodeIndex gpu = isOut ? arc.head : arc.tail;
      const std::array<fabric::NodeIndex, 3> thereAndBack{gpu, isOut ? arc.tail : arc.head, gpu};
      // Out-trees load the way back alone, in-trees the way there.
      const auto route = m_job.route(thereAndBack, isOut ? 1 : 0, isOut ? 0 : 1);
      if (!route) {
        return route.error();
      }
      message.route = *route;
      message.from = message.to = m_fabric.nodes()[gpu].rank;
      m_ownCopies.push_back({message.to, m_job.add(message)});
    }
    return Done{};
  }

  /// The edge into a GPU and the edges out of it: in an out-tree the first goes before, in an in-tree after. A copy
  /// comes back when what is copied leaves; an own contribution is part of the sum.
  void addWaits(Direction direction, const schedule::TreeReader::View& view, MessageId first) {
    const bool isOut = direction == Direction::out;
    const auto wait = [&](MessageId message, fabric::Rank gpu) {
      if (const MessageId other = m_intoParent[gpu]; other != kNone) {
        m_job.wait({.before = isOut ? other : message, .after = isOut ? message : other, .why = Wait::data});
      }
    };
    for (std::size_t edge = 0; edge < view.edges.size(); ++edge) {
      wait(first + static_cast<MessageId>(edge), view.edges[edge].parent);
    }
    for (const OwnCopy& copy : m_ownCopies) {
      wait(copy.message, copy.gpu);
    }
  }

  /// Where the halves overlap, the messages of an out-tree from its root wait for the sums of the in-trees that carry
  /// the same trees of the root. Equal trees of both halves carry the same bytes, piece by piece.
  void joinHalves(Direction direction, const schedule::TreeReader::View& view, MessageId first, std::int64_t begin,
                  std::int32_t label) {
    if (m_sums.empty()) {
      return;
    }
    std::vector<MessageId> atRoot;
    for (std::size_t edge = 0; edge < view.edges.size(); ++edge) {
      if (view.edges[edge].parent == view.root) {
        atRoot.push_back(first + static_cast<MessageId>(edge));
      }
    }
    for (const OwnCopy& copy : m_ownCopies) {
      if (copy.gpu == view.root) {
        atRoot.push_back(copy.message);
      }
    }
    std::vector<Sum>& sums = m_sums[view.root];
    const std::int64_t end = begin + view.multiplicity;
    if (direction == Direction::in) {
      // One message that takes no time stands for all of them.
      const MessageId done =
          m_job.add({.from = view.root, .to = view.root, .label = label, .shard = view.root, .reduces = true});
      for (const MessageId message : atRoot) {
        m_job.wait({.before = message, .after = done, .why = Wait::data});
      }
      sums.push_back({begin, end, done});
      return;
    }
    // Sums are in order, and each ends where the next begins.
    auto sum = std::upper_bound(sums.begin(), sums.end(), begin,
                                [](std::int64_t tree, const Sum& each) { return tree < each.end; });
    for (; sum != sums.end() && sum->begin < end; ++sum) {
      for (const MessageId message : atRoot) {
        m_job.wait({.before = sum->done, .after = message, .why = Wait::data});
      }
    }
  }

  struct OwnCopy {
    fabric::Rank gpu = 0;
    MessageId message = 0;
  };

  const fabric::Fabric& m_fabric;
  bool m_hasOwnCopies = false;
  const Roots& m_roots;
  const Progress& m_progress;
  Job m_job;
  schedule::RouteIndex m_index;  ///< of a forest with rotations: its routes, images included
  std::vector<RouteId> m_whole;  ///< by path, or by m_index
  std::map<std::pair<schedule::PathId, std::int32_t>, RouteId> m_pruned;
  std::vector<MessageId> m_intoParent;   ///< by rank: of the tree, the message of the edge between it and its parent
  std::vector<int> m_copiedArcs;         ///< of the tree: arcs that own copies load
  std::vector<OwnCopy> m_ownCopies;      ///< of the tree
  std::vector<std::vector<Sum>> m_sums;  ///< by root; empty where the halves do not overlap
  std::int32_t m_firstLabel = 0;
};

/// Both halves of an allreduce start from the same shares of the roots.
Outcome checkOverlap(const schedule::Schedule& schedule) {
  const bool fits = schedule.reduceForest && schedule.broadcastForest &&
                    schedule.reduceForest->treesOfRoot == schedule.broadcastForest->treesOfRoot;
  return fits ? Outcome(Done{})
              : Outcome(Error{ErrorCode::badInput,
                              "the halves of an allreduce that run at the same time give the roots different shares",
                              "verify says more; generate the schedule again"});
}

}  // namespace

Sample sampleOf(const fabric::Fabric& fabric, const schedule::Schedule& schedule, std::int64_t maxMessages) {
  const auto& forest = schedule.reduceForest ? schedule.reduceForest : schedule.broadcastForest;
  Sample sample{fabric.gpuCount(), fabric.gpuCount()};
  if (forest) {
    if (const Roots roots = rootsWithin(fabric, *forest, maxMessages); !roots.chosen.empty()) {
      sample.roots = std::ranges::count(roots.chosen, true);
    }
  }
  return sample;
}

Result<std::vector<Job>> forestJobs(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                                    const Model& model, const Progress& progress, std::int64_t maxMessages) {
  return guarded(
      [&]() -> Result<std::vector<Job>> {
        if (schedule.overlapped) {
          if (const Outcome fits = checkOverlap(schedule); !fits) {
            return fits.error();
          }
        }
        std::vector<Job> jobs;
        std::optional<Roots> roots;
        std::optional<ForestJobBuilder> builder;
        for (const auto* half : {&schedule.reduceForest, &schedule.broadcastForest}) {
          if (!*half) {
            continue;
          }
          if (!roots) {
            roots = rootsWithin(fabric, **half, maxMessages);
          }
          if (const Outcome fits = checkForest(fabric, **half, !roots->chosen.empty(), maxMessages); !fits) {
            return fits.error();
          }
          if (!builder) {
            builder.emplace(fabric, model, schedule.ownCopies, *roots, progress);
            if (schedule.overlapped) {
              builder->sendSums(**half);
            }
          }
          if (const Outcome added = builder->add(**half); !added) {
            return added.error();
          }
          if (!schedule.overlapped || half == &schedule.broadcastForest) {
            jobs.push_back(builder->take());
            if (!roots->chosen.empty()) {
              fillUp(jobs.back(), schedule.overlapped ? schedule.algbw : (*half)->algbw());
            }
            builder.reset();
          }
        }
        return jobs;
      },
      {.overflowFix = {}, .cancelled = "the simulation was cancelled"});
}

}  // namespace coppice::simulate
