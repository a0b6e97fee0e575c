// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/units.hpp"
#include "live/cut_engine.hpp"
#include "live/live_bound.hpp"

/// Private to core/live.
namespace coppice::live {

/// Unwinds to the public entry, which returns the error.
struct EditFailure {
  Error error;
};

/// Runs work and turns what it throws into an Error.
template <typename T, typename Work>
Result<T> guarded(Work&& work) {
  try {
    return work();
  } catch (const EditFailure& failure) {
    return failure.error;
  } catch (const OverflowError&) {
    return Error{ErrorCode::overflow, "the fabric's numbers leave the range in which results are proven exact",
                 "use bandwidths with fewer digits or a common divisor"};
  } catch (const CancelledError&) {
    return Error{ErrorCode::cancelled, "cancelled"};
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::limit, "out of memory", "use a smaller fabric"};
  }
}

/// A fabric as plain lists.
struct PlainNode {
  std::string id;
  fabric::NodeKind kind = fabric::NodeKind::gpu;
  std::string box;
  int rank = -1;
};
struct PlainArc {
  int tail = 0;
  int head = 0;
  Bandwidth bandwidth;
};
struct PlainFabric {
  std::vector<PlainNode> nodes;
  std::vector<PlainArc> arcs;  ///< at most one per ordered pair
};
[[nodiscard]] PlainFabric plainOf(const fabric::Fabric& fabric);
[[nodiscard]] PlainFabric plainOf(const fabric::EditedFabric& fabric);
/// Throws EditFailure.
[[nodiscard]] PlainFabric plainOf(const fabric::Description& description);

struct LiveNode {
  std::string id;
  fabric::NodeKind kind = fabric::NodeKind::gpu;
  std::string box;
  bool isAlive = false;
  std::int64_t amount = 0;  ///< a(v)
  bool isRoot = false;      ///< of a collective with a root
};

/// One step of the model with its inverse.
struct Step {
  bool isNode = false;
  // An arc's bandwidth.
  int arc = 0;
  Bandwidth from;
  Bandwidth to;
  // A node's life.
  int node = 0;
  LiveNode before = {};
  LiveNode after = {};
};

/// A set of arcs that change together: t GB/s times the weight each.
using ArcChange = CutEngine::WeightedArc;

/// rate x of one half of the collective as far as one cut determines it, in capacity units: (fixed + weight * t) /
/// demand for a change of t capacity units.
struct CutLine {
  std::int64_t fixed = 0;
  std::int64_t weight = 0;
  std::int64_t demand = 1;

  [[nodiscard]] Rational at(const Rational& t) const;
  [[nodiscard]] Rational slope() const { return {weight, demand}; }
};

struct LiveState {
  forestcoll::Request request;
  std::string rootId;  ///< of a collective with a root
  std::vector<LiveNode> nodes;
  std::unordered_map<std::string, int> byId;
  struct Arc {
    int tail = 0;
    int head = 0;
    Bandwidth bandwidth;
  };
  std::vector<Arc> arcs;
  std::unordered_map<std::uint64_t, int> arcOf;
  std::vector<std::vector<int>> arcsAt;  ///< by node
  std::vector<Bandwidth> surplus;        ///< by node: ingress minus egress
  int unbalanced = 0;                    ///< live switches and nics with a surplus
  int asymmetric = 0;                    ///< ordered pairs whose bandwidths there and back differ
  int gpuCount = 0;
  int rootCount = 0;              ///< live ones: 1, or 0 without a root
  Int128 totalAmount = 0;         ///< of live nodes; the engines refuse what does not fit 64 bits
  Bandwidth unit = Bandwidth(1);  ///< GB/s per capacity unit
  std::optional<CutEngine> out;   ///< allgather, broadcast, gather, and allreduce's second half
  std::optional<CutEngine> in;  ///< the same on the transpose: reduce_scatter, reduce, scatter, allreduce's first half
  std::vector<std::vector<Step>> history;

  void build(const PlainFabric& fabric);
  /// Engines and unit from the model alone. Throws OverflowError.
  void rebuild();

  // The model. Each appends to `steps`; edit() throws EditFailure and OverflowError and then leaves the model half
  // changed, for the caller to take back.
  void edit(const Edit& edit, std::vector<Step>& steps);
  void takeBack(std::vector<Step>& steps);
  /// Brings the engines to what the model now is, after `steps`.
  void follow(const std::vector<Step>& steps);
  [[nodiscard]] Answer solve(const Progress& progress);
  [[nodiscard]] Answer probe(const std::vector<Step>& steps, const Progress& progress);
  /// The halves' engines, each with whether it sees the arcs turned round. A symmetric allreduce has one engine for
  /// both halves; then the second entry is the same engine with the arcs as they are turned the other way.
  struct HalfView {
    CutEngine* engine = nullptr;
    bool isTurned = false;
    bool isReduction = false;
  };
  [[nodiscard]] std::vector<HalfView> halves();
  [[nodiscard]] Answer describe(const std::vector<CutEngine::Answer>& answers, std::int64_t denominator,
                                const std::vector<HalfView>& views) const;
  [[nodiscard]] schedule::Cut cutOf(const CutEngine::Answer& answer, std::int64_t denominator) const;
  [[nodiscard]] Finding explain(const CutEngine::Answer& answer, bool isReduction) const;

  [[nodiscard]] const LiveNode& node(int v) const { return nodes[v]; }
  [[nodiscard]] int nodeOf(const std::string& id) const;  ///< throws EditFailure
  /// Its number; a new one has no bandwidth.
  int arcBetween(int tail, int head);
  [[nodiscard]] Bandwidth bandwidth(int tail, int head) const;
  void setArc(int tail, int head, const Bandwidth& bandwidth, std::vector<Step>& steps);
  void setNode(int node, LiveNode after, std::vector<Step>& steps);
  void removeNode(int node, std::vector<Step>& steps);
  int addSlot(const std::string& id);
  void applyArc(int arc, const Bandwidth& bandwidth);
  void applyNode(int node, const LiveNode& after);
  [[nodiscard]] std::int64_t fractions(const std::vector<Step>& steps) const;
  void push(CutEngine& engine, bool isTurned, const std::vector<Step>& steps, std::int64_t denominator) const;
  /// Data must reach it. Gather is an allgather to the root alone, scatter the same on the transpose.
  [[nodiscard]] bool isSink(const LiveNode& node) const {
    return node.isAlive && node.kind == fabric::NodeKind::gpu && (node.isRoot || !movesShards(request.collective));
  }
  /// a(v) of a GPU that is given one. @param isRoot it is the root of the collective
  [[nodiscard]] std::int64_t amountOf(std::int64_t given, bool isRoot) const {
    return !request.root || movesShards(request.collective) ? given : (isRoot ? 1 : 0);
  }
  [[nodiscard]] bool needsOut() const;
  [[nodiscard]] bool needsIn() const;
  [[nodiscard]] CutEngine makeEngine(bool isTurned) const;
  [[nodiscard]] std::int64_t amountDivisor() const;
};

/// Ends a probe of an engine in every case.
class ProbeScope {
public:
  ProbeScope(CutEngine& engine, std::int64_t denominator) : m_engine(engine) { m_engine.beginProbe(denominator); }
  ~ProbeScope() { m_engine.endProbe(); }
  ProbeScope(const ProbeScope&) = delete;
  ProbeScope& operator=(const ProbeScope&) = delete;

private:
  CutEngine& m_engine;
};

}  // namespace coppice::live
