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
#include "schedule/tree_reader.hpp"

namespace coppice::simulate {
namespace {

using schedule::Direction;
using schedule::Forest;
using schedule::TreeEdge;

constexpr MessageId kNone = ~MessageId{0};

/// Adds the trees of one or two forests to a job.
class ForestJobBuilder {
public:
  ForestJobBuilder(const fabric::Fabric& fabric, const Model& model, bool hasOwnCopies, const Progress& progress)
      : m_fabric(fabric), m_hasOwnCopies(hasOwnCopies), m_progress(progress), m_job(fabric, model) {}

  Outcome add(const Forest& forest) {
    m_whole.assign(forest.paths.size(), kNoRoute);
    m_pruned.clear();
    schedule::TreeReader reader(forest);
    const auto trees = static_cast<double>(forest.treeCount());
    std::vector<std::int64_t> next(forest.gpuCount, 0);  // by root: the next tree's number
    for (std::int64_t tree = 0; tree < reader.size(); ++tree) {
      throwIfCancelled(m_progress);
      const schedule::TreeReader::View view = reader.read(tree);
      const auto first = static_cast<MessageId>(m_job.messages().size());
      Message like{.weight = static_cast<std::int32_t>(view.multiplicity),
                   .share = static_cast<double>(view.multiplicity) / trees,
                   .label = m_label++,
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
      joinHalves(forest.direction, view, first, begin);
    }
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
      RouteId& route = edge.pruned == 0 ? m_whole[edge.path]
                                        : m_pruned.try_emplace({edge.path, edge.pruned}, kNoRoute).first->second;
      if (route == kNoRoute) {
        const auto found = m_job.route(forest.paths[edge.path], isOut ? edge.pruned : 0, isOut ? 0 : edge.pruned);
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
  void joinHalves(Direction direction, const schedule::TreeReader::View& view, MessageId first, std::int64_t begin) {
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
          m_job.add({.from = view.root, .to = view.root, .label = m_label - 1, .shard = view.root, .reduces = true});
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
  const Progress& m_progress;
  Job m_job;
  std::vector<RouteId> m_whole;  ///< by path
  std::map<std::pair<schedule::PathId, std::int32_t>, RouteId> m_pruned;
  std::vector<MessageId> m_intoParent;   ///< by rank: of the tree, the message of the edge between it and its parent
  std::vector<int> m_copiedArcs;         ///< of the tree: arcs that own copies load
  std::vector<OwnCopy> m_ownCopies;      ///< of the tree
  std::vector<std::vector<Sum>> m_sums;  ///< by root; empty where the halves do not overlap
  std::int32_t m_label = 0;
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

Result<std::vector<Job>> forestJobs(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                                    const Model& model, const Progress& progress) {
  return guarded(
      [&]() -> Result<std::vector<Job>> {
        if (schedule.overlapped) {
          if (const Outcome fits = checkOverlap(schedule); !fits) {
            return fits.error();
          }
        }
        std::vector<Job> jobs;
        std::optional<ForestJobBuilder> builder;
        for (const auto* half : {&schedule.reduceForest, &schedule.broadcastForest}) {
          if (!*half) {
            continue;
          }
          if ((*half)->gpuCount != fabric.gpuCount()) {
            return Error{ErrorCode::badInput,
                         "the schedule is for " + std::to_string((*half)->gpuCount) + " GPUs, the fabric has " +
                             std::to_string(fabric.gpuCount()),
                         "simulate on the fabric that the schedule was generated for"};
          }
          const auto forest = schedule::expanded(**half, fabric, schedule::kMaxWrittenBytes, progress);
          if (!forest) {
            return forest.error();
          }
          if (!builder) {
            builder.emplace(fabric, model, schedule.ownCopies, progress);
            if (schedule.overlapped) {
              builder->sendSums(*forest);
            }
          }
          if (const Outcome added = builder->add(*forest); !added) {
            return added.error();
          }
          if (!schedule.overlapped || half == &schedule.broadcastForest) {
            jobs.push_back(builder->take());
            builder.reset();
          }
        }
        return jobs;
      },
      {.overflowFix = {}, .cancelled = "the simulation was cancelled"});
}

}  // namespace coppice::simulate
