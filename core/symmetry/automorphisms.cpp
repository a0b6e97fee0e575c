// SPDX-License-Identifier: Apache-2.0
#include "symmetry/automorphisms.hpp"

// nauty declares thread-local variables in the way of C.
#define _Thread_local thread_local  // NOLINT(bugprone-reserved-identifier)
#include <nauty/nausparse.h>
#undef _Thread_local

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <map>
#include <mutex>
#include <numeric>
#include <span>
#include <utility>

#include "base/rows.hpp"

namespace coppice::symmetry {
namespace {

using std::int64_t;

/// The digraph as a simple graph with coloured vertices, which is what nauty reads. What the arcs between two nodes
/// look like, from either end, is their kind. Pairs of the most frequent kind that looks the same from both ends become
/// edges; others get a vertex in between, or two where the ends differ.
class PlainGraph {
public:
  explicit PlainGraph(const ColouredDigraph& digraph) : m_vertices(digraph.nodeCount()) {
    readPairs(digraph);
    nameKinds();
    std::vector<std::vector<int>> loops(digraph.colourOf.size());
    for (const ColouredArc& arc : digraph.arcs) {
      if (arc.tail == arc.head) {
        loops[arc.tail].push_back(arc.colour);
      }
    }
    Numbering<std::pair<int, std::vector<int>>> colours;
    for (std::size_t node = 0; node < loops.size(); ++node) {
      std::sort(loops[node].begin(), loops[node].end());
      m_colours.emplace_back(0, colours({digraph.colourOf[node], std::move(loops[node])}));
    }
    for (const Pair& pair : m_pairs) {
      addPair(pair);
    }
  }

  [[nodiscard]] int vertices() const { return m_vertices; }
  [[nodiscard]] std::span<const std::pair<int, int>> edges() const { return m_edges; }
  /// By vertex.
  [[nodiscard]] const std::vector<std::pair<int, int>>& colours() const { return m_colours; }

private:
  /// Numbers for the colours of the arcs from one node to the other, and back.
  using Kind = std::pair<int, int>;
  struct Pair {
    int low = 0;
    int high = 0;
    Kind kind;
  };

  void readPairs(const ColouredDigraph& digraph) {
    const auto lowOf = [](const ColouredArc& arc) { return std::min(arc.tail, arc.head); };
    Rows<int> byLow = numbersByRow<int>(digraph.colourOf.size(), digraph.arcs, lowOf);
    std::vector<int> out;
    std::vector<int> in;
    for (int low = 0; low < digraph.nodeCount(); ++low) {
      const auto arcs = byLow[low];
      const auto highOf = [&](int arc) { return std::max(digraph.arcs[arc].tail, digraph.arcs[arc].head); };
      std::stable_sort(arcs.begin(), arcs.end(), [&](int a, int b) { return highOf(a) < highOf(b); });
      for (std::size_t i = 0; i < arcs.size();) {
        const int high = highOf(arcs[i]);
        out.clear();
        in.clear();
        for (; i < arcs.size() && highOf(arcs[i]) == high; ++i) {
          const ColouredArc& arc = digraph.arcs[arcs[i]];
          (arc.tail == low ? out : in).push_back(arc.colour);
        }
        if (high != low) {
          m_pairs.push_back({low, high, {numberOf(out), numberOf(in)}});
        }
      }
    }
  }

  /// Equal for equal colours in any order.
  int numberOf(std::vector<int>& colours) {
    if (colours.size() < 2) {
      return colours.empty() ? 0 : 1 + 2 * colours.front();
    }
    std::sort(colours.begin(), colours.end());
    return 2 + 2 * m_lists(colours);
  }

  void nameKinds() {
    std::map<Kind, int> count;
    int most = 0;
    for (const Pair& pair : m_pairs) {
      if (pair.kind.first == pair.kind.second && ++count[pair.kind] > most) {
        most = count[pair.kind];
        m_plain = pair.kind;
      }
    }
  }

  void addPair(const Pair& pair) {
    if (pair.kind == m_plain) {
      m_edges.emplace_back(pair.low, pair.high);
      return;
    }
    const int near = addVertex(pair.kind);
    m_edges.emplace_back(pair.low, near);
    if (pair.kind.first == pair.kind.second) {
      m_edges.emplace_back(near, pair.high);
      return;
    }
    const int far = addVertex({pair.kind.second, pair.kind.first});
    m_edges.emplace_back(near, far);
    m_edges.emplace_back(far, pair.high);
  }

  int addVertex(const Kind& kind) {
    m_colours.emplace_back(1, m_kinds(kind));
    return m_vertices++;
  }

  int m_vertices;
  std::vector<Pair> m_pairs;
  Numbering<std::vector<int>> m_lists;
  Kind m_plain{-1, -1};
  Numbering<Kind> m_kinds;
  std::vector<std::pair<int, int>> m_edges;
  std::vector<std::pair<int, int>> m_colours;
};

/// nauty calls functions without context, and is stopped through a variable of the process: one search at a time.
std::timed_mutex searchMutex;

struct Search {
  int nodes = 0;
  int64_t workOfVisit = 0;
  int64_t left = 0;
  const Progress* progress = nullptr;
  std::vector<Permutation> found;
  std::exception_ptr failure;
};
Search* search = nullptr;

void spend(int64_t work) {
  search->left -= work;
  if (search->left <= 0 || search->progress->stop.stop_requested()) {
    nauty_kill_request = 1;
  }
}

void visitNode(graph* /*graph*/, int* /*lab*/, int* /*ptn*/, int /*level*/, int /*cells*/, int /*cell*/, int /*code*/,
               int /*words*/, int /*vertices*/) {
  spend(search->workOfVisit);
}

void keepGenerator(int /*number*/, int* image, int* /*orbits*/, int /*orbitCount*/, int /*stabilised*/,
                   int /*vertices*/) {
  try {
    search->found.emplace_back(image, image + search->nodes);
  } catch (...) {
    search->failure = std::current_exception();
    nauty_kill_request = 1;
  }
}

}  // namespace

std::vector<Permutation> generators(const ColouredDigraph& digraph, int64_t maxWork, const Progress& progress) {
  const PlainGraph plain(digraph);
  const auto vertices = static_cast<std::size_t>(plain.vertices());
  if (vertices == 0) {
    return {};
  }
  const Rows<int, std::size_t> neighbours(vertices, [&](const auto& add) {
    for (const auto& [a, b] : plain.edges()) {
      add(a, b);
      add(b, a);
    }
  });
  std::vector<std::size_t> starts;
  std::vector<int> degrees;
  for (std::size_t vertex = 0; vertex < vertices; ++vertex) {
    starts.push_back(neighbours.start(vertex));
    degrees.push_back(static_cast<int>(neighbours.size(vertex)));
  }
  std::vector<int> ends(neighbours.entries().begin(), neighbours.entries().end());
  SG_DECL(sparse);
  sparse.nv = plain.vertices();
  sparse.nde = ends.size();
  sparse.v = starts.data();
  sparse.d = degrees.data();
  sparse.e = ends.data();
  sparse.vlen = starts.size();
  sparse.dlen = degrees.size();
  sparse.elen = ends.size();
  // Vertices by colour; the last of each colour is marked by 0.
  std::vector<int> order(vertices);
  std::iota(order.begin(), order.end(), 0);
  const auto& colours = plain.colours();
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return colours[a] < colours[b]; });
  std::vector<int> marks(vertices, 1);
  for (std::size_t i = 0; i < vertices; ++i) {
    marks[i] = i + 1 < vertices && colours[order[i]] == colours[order[i + 1]] ? 1 : 0;
  }
  std::vector<int> orbits(vertices);

  std::unique_lock lock(searchMutex, std::defer_lock);
  while (!lock.try_lock_for(std::chrono::milliseconds(20))) {
    throwIfCancelled(progress);
  }
  Search mine{digraph.nodeCount(), static_cast<int64_t>(vertices + ends.size()), maxWork, &progress, {}, {}};
  search = &mine;
  nauty_kill_request = 0;
  static DEFAULTOPTIONS_SPARSEGRAPH(defaults);
  optionblk options = defaults;
  options.defaultptn = FALSE;
  options.getcanon = FALSE;
  options.userautomproc = keepGenerator;
  options.usernodeproc = visitNode;
  statsblk stats;
  sparsenauty(&sparse, order.data(), marks.data(), orbits.data(), &options, &stats, nullptr);
  nauty_kill_request = 0;
  search = nullptr;
  if (mine.failure) {
    std::rethrow_exception(mine.failure);
  }
  throwIfCancelled(progress);
  return std::move(mine.found);
}

}  // namespace coppice::symmetry
