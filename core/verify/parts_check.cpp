// SPDX-License-Identifier: Apache-2.0
#include "verify/parts_check.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <span>
#include <system_error>
#include <thread>
#include <utility>

#include "schedule/arc_finder.hpp"
#include "schedule/rotation.hpp"
#include "schedule/tree_reader.hpp"

namespace coppice::verify {
namespace {

using fabric::NodeIndex;
using fabric::Rank;
using schedule::ArcFinder;
using schedule::kNoArc;
using schedule::PathId;
using schedule::TreeReader;

/// The pieces of routes, resolved to arcs once.
struct Pieces {
  struct Piece {
    NodeIndex first = -1;  ///< -1 = nothing between the GPUs here
    NodeIndex last = -1;
    std::int32_t hops = 0;  ///< links within
    bool isSound = true;    ///< relays only, joined by links
  };

  Pieces(const fabric::Fabric& fabric, const TreeReader& reader, const ArcFinder& arcs, const Progress& progress) {
    const auto nodes = fabric.nodes();
    all.resize(reader.pieceCount());
    firstArc.reserve(all.size() + 1);
    for (PathId id = 0; id < reader.pieceCount(); ++id) {
      if ((id & 0xfff) == 0) {
        throwIfCancelled(progress);
      }
      Piece& piece = all[id];
      const auto relays = reader.relays(id);
      for (std::size_t i = 0; piece.isSound && i < relays.size(); ++i) {
        piece.isSound = nodes[relays[i]].kind != fabric::NodeKind::gpu;
        if (piece.isSound && i > 0) {
          const std::int32_t arc = arcs.find(relays[i - 1], relays[i]);
          piece.isSound = arc != kNoArc;
          ++piece.hops;
          arcOfHop.push_back(arc);
        }
      }
      if (!relays.empty()) {
        piece.first = relays.front();
        piece.last = relays.back();
      }
      if (!piece.isSound) {
        arcOfHop.resize(firstArc.back());
      }
      firstArc.push_back(static_cast<std::int64_t>(arcOfHop.size()));
    }
  }

  std::vector<Piece> all;
  std::vector<std::int64_t> firstArc{0};  ///< by piece, and the end
  std::vector<std::int32_t> arcOfHop;
};

/// Checks a range of the trees; one per thread.
class Worker {
public:
  Worker(const fabric::Fabric& fabric, const schedule::Forest& forest, const ArcFinder& arcs, const Pieces& pieces,
         TreeReader reader)
      : loadOfArc(fabric.arcs().size(), 0),
        useOfPiece(pieces.all.size(), 0),
        m_arcs(arcs),
        m_pieces(pieces),
        m_nodes(fabric.nodes()),
        m_gpus(fabric.gpus()),
        m_reader(std::move(reader)),
        m_isIn(forest.direction == schedule::Direction::in),
        m_isRotated(schedule::rotatedTrees(forest) > 0),
        m_seen(m_gpus.size(), -1) {}

  void run(std::int64_t first, std::int64_t last, const Progress& progress) {
    const std::int64_t reportEvery = std::max<std::int64_t>(1, (last - first) / 64);
    for (std::int64_t tree = first; tree < last; ++tree) {
      throwIfCancelled(progress);
      if ((tree - first) % reportEvery == 0) {
        progress.report("verifying", static_cast<double>(tree - first) / static_cast<double>(last - first));
      }
      if (!count(tree, m_reader.read(tree))) {
        faultyTrees.push_back(tree);
      }
    }
  }

  std::vector<Int128> loadOfArc;
  std::vector<Int128> useOfPiece;
  std::vector<std::int64_t> faultyTrees;

private:
  bool count(std::int64_t index, const TreeReader::View& tree) {
    m_seen[tree.root] = index;
    for (std::size_t i = 0; i < tree.edges.size(); ++i) {
      const TreeReader::Edge& edge = tree.edges[i];
      if (m_seen[edge.parent] != index || m_seen[edge.child] == index || !load(edge, tree.multiplicity)) {
        for (std::size_t counted = 0; counted < i; ++counted) {
          load(tree.edges[counted], -tree.multiplicity);
        }
        return false;
      }
      m_seen[edge.child] = index;
    }
    return tree.edges.size() + 1 == m_seen.size();
  }

  /// False, and nothing counted, where the route does not fit.
  bool load(const TreeReader::Edge& edge, std::int64_t multiplicity) {
    return m_isRotated ? loadRotated(edge, multiplicity) : loadPieces(edge, multiplicity);
  }

  /// Node by node: the pieces are those of the trees of rank 0.
  bool loadRotated(const TreeReader::Edge& edge, std::int64_t multiplicity) {
    const auto path = m_reader.path(edge);
    m_arcsOfPath.clear();
    for (std::size_t i = 0; i + 1 < path.size(); ++i) {
      const std::int32_t arc = m_isIn ? m_arcs.find(path[i + 1], path[i]) : m_arcs.find(path[i], path[i + 1]);
      if (arc == kNoArc || (i > 0 && m_nodes[path[i]].kind == fabric::NodeKind::gpu)) {
        return false;
      }
      m_arcsOfPath.push_back(arc);
    }
    for (const std::int32_t arc : m_arcsOfPath) {
      loadOfArc[arc] += multiplicity;
    }
    return true;
  }

  bool loadPieces(const TreeReader::Edge& edge, std::int64_t multiplicity) {
    // At most one joint before each of three pieces, and one to the child.
    std::array<std::int32_t, 4> joints{};
    std::size_t jointCount = 0;
    bool fits = true;
    NodeIndex node = m_gpus[edge.parent];
    const auto join = [&](NodeIndex next) {
      joints[jointCount] = m_arcs.find(node, next);
      fits = fits && joints[jointCount] != kNoArc;
      ++jointCount;
    };
    for (const PathId id : {edge.out, edge.between, edge.in}) {
      const Pieces::Piece& piece = m_pieces.all[id];
      if (piece.first >= 0) {
        join(piece.first);
        fits = fits && piece.isSound;
        node = piece.last;
      }
    }
    join(m_gpus[edge.child]);
    if (!fits) {
      return false;
    }
    for (std::size_t i = 0; i < jointCount; ++i) {
      loadOfArc[joints[i]] += multiplicity;
    }
    for (const PathId id : {edge.out, edge.between, edge.in}) {
      if (m_pieces.all[id].hops != 0) {
        useOfPiece[id] += multiplicity;
      }
    }
    return true;
  }

  const ArcFinder& m_arcs;
  const Pieces& m_pieces;
  std::span<const fabric::Node> m_nodes;
  std::span<const NodeIndex> m_gpus;
  TreeReader m_reader;
  bool m_isIn;
  bool m_isRotated;
  std::vector<std::int32_t> m_arcsOfPath;
  std::vector<std::int64_t> m_seen;  ///< by rank: the last tree that reached it
};

/// Threads pay off from this many edges on, and only where each one's counters are small beside the work.
int threadCount(std::int64_t edges, std::int64_t counters) {
  constexpr std::int64_t kEdgesPerThread = std::int64_t{1} << 20;
  constexpr std::int64_t kMaxThreads = 16;
  const std::int64_t cores = std::max(1U, std::thread::hardware_concurrency());
  const std::int64_t useful = std::min(edges / kEdgesPerThread, edges / std::max<std::int64_t>(counters, 1));
  return static_cast<int>(std::clamp<std::int64_t>(useful, 1, std::min(cores, kMaxThreads)));
}

}  // namespace

PartsLoad checkParts(const fabric::Fabric& fabric, const schedule::Forest& forest, std::int64_t maxEdges,
                     const Progress& progress) {
  const TreeReader reader(forest, fabric.gpus());
  PartsLoad result;
  const std::int64_t rotatedTrees = schedule::rotatedTrees(forest);
  result.isByParts = rotatedTrees > 0 && reader.size() > maxEdges / std::max(1, fabric.gpuCount() - 1);
  if (result.isByParts) {
    const auto rotations = schedule::rotationsIn(*forest.factored);
    for (std::size_t i = 0; i < rotations.size(); ++i) {
      if (const auto fault = schedule::symmetryFault(fabric, rotations[i])) {
        result.symmetryFaults.push_back("rotation " + std::to_string(i) + " " + *fault);
      }
    }
    if (!result.symmetryFaults.empty()) {
      result.loadOfArc.assign(fabric.arcs().size(), 0);
      return result;
    }
  }
  const ArcFinder arcs(fabric, forest.direction);
  const Pieces pieces(fabric, reader, arcs, progress);
  const std::int64_t trees = result.isByParts ? rotatedTrees : reader.size();
  const auto counters = static_cast<std::int64_t>(pieces.all.size() + fabric.arcs().size());
  const int threads = threadCount(trees * (fabric.gpuCount() - 1), counters);
  std::vector<Worker> workers;
  workers.reserve(threads);
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back(fabric, forest, arcs, pieces, reader);
  }
  std::vector<std::exception_ptr> failures(threads);
  const auto work = [&](int number, const Progress& report) {
    try {
      workers[number].run(trees * number / threads, trees * (number + 1) / threads, report);
    } catch (...) {
      failures[number] = std::current_exception();
    }
  };
  {
    const Progress silent{.onReport = {}, .stop = progress.stop};
    std::vector<std::jthread> others;
    others.reserve(threads - 1);
    for (int i = 1; i < threads; ++i) {
      try {
        others.emplace_back(work, i, silent);
      } catch (const std::system_error&) {
        // No thread available: this one does its share.
        work(i, silent);
      }
    }
    work(0, progress);
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) {
      std::rethrow_exception(failure);
    }
  }

  result.loadOfArc = std::move(workers[0].loadOfArc);
  for (std::size_t i = 0; i < workers.size(); ++i) {
    const Worker& worker = workers[i];
    for (std::size_t arc = 0; i > 0 && arc < result.loadOfArc.size(); ++arc) {
      result.loadOfArc[arc] += worker.loadOfArc[arc];
    }
    for (std::size_t piece = 0; piece < pieces.all.size(); ++piece) {
      if (worker.useOfPiece[piece] != 0) {
        for (std::int64_t hop = pieces.firstArc[piece]; hop < pieces.firstArc[piece + 1]; ++hop) {
          result.loadOfArc[pieces.arcOfHop[hop]] += worker.useOfPiece[piece];
        }
      }
    }
    result.faultyTrees.insert(result.faultyTrees.end(), worker.faultyTrees.begin(), worker.faultyTrees.end());
  }
  if (result.isByParts) {
    schedule::addImages(fabric, schedule::rotationsIn(*forest.factored), result.loadOfArc);
  }
  return result;
}

}  // namespace coppice::verify
