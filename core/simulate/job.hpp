// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/duration.hpp"
#include "base/result.hpp"
#include "base/throughput.hpp"
#include "fabric/fabric.hpp"

/// How long a schedule takes: messages with dependencies on a fabric, played event by event.
///
/// The model:
/// - A message occupies all links of its route at once (cut-through). Messages that share a link direction share its
///   bandwidth max-min fairly.
/// - It first costs its sender a fixed time (starting a copy, telling the receiver), in which it takes no bandwidth.
/// - It arrives one sum of the latencies of its links after its last byte has left.
/// - A connection (one edge of a tree, one pair of peers and channel) sends its messages one after another, and with a
///   window of w it starts none before the w-th one before it has arrived. With a window of 1, the default, a message
///   costs its connection a + bytes / bandwidth with a = overhead + latency, as in the alpha-beta model of the
///   literature; larger windows hide the latency.
/// - A connection may have a maximum rate of its own.
/// - A GPU may need time for each byte that it adds to what it has. It adds one message after the other, in the order
///   in which they arrive, and while it adds it sends and receives as before; what is sent on waits for the sum. Sums
///   in switches take no time. (The dissertation, A.3.4, adds when all messages of a step are there, which is no
///   faster.)
/// - Ranks that run on the cores of one machine may have a total rate in common, and each message may cost as much as
///   some bytes more: the work of a processor, which two messages cannot have at the same time.
/// Nothing is random: the same input gives the same output. Times, rates and sizes are floating point, sizes in bytes.
namespace coppice::simulate {

using MessageId = std::uint32_t;
using RouteId = std::uint32_t;
/// A local copy or a receive: it takes no time of its own.
inline constexpr RouteId kNoRoute = ~RouteId{0};

/// Message overhead where none is given: between GPUs of a box, and over a NIC. Round numbers of our choice.
inline constexpr Microseconds kOverheadInBox{1};
inline constexpr Microseconds kOverheadOverNic{2};

/// Model::additionTime from picoseconds per byte, as both front ends ask for it; up to kMaxAdditionPicoseconds.
[[nodiscard]] constexpr Microseconds additionTime(double picosecondsPerByte) {
  constexpr double kPicoseconds = 1e6;  // of 1 us
  return Microseconds(picosecondsPerByte / kPicoseconds);
}
inline constexpr double kMaxAdditionPicoseconds = 1e6;

struct Fits;

struct Model {
  /// Of every link; absent: what the fabric states, or by the kinds of its ends (schedule::latencyPicoseconds).
  std::optional<Microseconds> linkLatency = {};
  std::optional<Microseconds> messageOverhead = {};  ///< absent: kOverheadInBox or kOverheadOverNic
  Throughput rateCap = {};                           ///< of one connection or threadblock; 0 = none
  Throughput totalRate = {};                         ///< of all messages together; 0 = no limit beside the links'
  double messageBytes = 0;                           ///< each message takes as long on its links as these bytes more
  /// That a GPU takes to add one byte to what it has; gamma of the dissertation. 0: as measured (Fits), if it was.
  Microseconds additionTime = {};
  std::uint32_t window = 1;  ///< messages of a connection that may be under way
  /// Measured latencies and rates, which replace all of the above where they know better. @pre of the job's fabric
  std::shared_ptr<const Fits> fits = {};
};

/// What a message waits for.
enum class Wait : std::uint8_t {
  nothing,      ///< it could start at time 0
  data,         ///< a message with the data that it sends
  order,        ///< the message before it on its connection or link, which has not left
  window,       ///< messages of its connection that have left but not arrived
  threadblock,  ///< the step before it in its threadblock
  dependency,   ///< a step of another threadblock of its rank
  space,        ///< a free slot at the receiver
  barrier       ///< all messages of the step before
};
/// "start", "data", "order", "window", "threadblock", "dependency", "space", "barrier".
[[nodiscard]] std::string_view toString(Wait wait);
/// Whether it ends when the other message arrives; otherwise when that has left.
[[nodiscard]] constexpr bool endsOnArrival(Wait wait) {
  return wait == Wait::data || wait == Wait::window || wait == Wait::barrier;
}

/// One message, or, with repeats, a row of equal ones: the pieces of a tree edge, the turns of a program's loop.
struct Message {
  RouteId route = kNoRoute;
  std::int32_t weight = 1;  ///< this many equal messages that go side by side
  double share = 0;         ///< of the bytes of the collective, all repeats together, as they lie on the wire
  fabric::Rank from = 0;
  fabric::Rank to = 0;
  std::int32_t label = 0;   ///< tree, transfer or step, for people
  std::int32_t shard = -1;  ///< whose data it is: the root of its tree, or the shard; -1 = of several, or not known
  std::int32_t block = -1;  ///< of a program: the threadblock of `from` that sends it
  bool reduces = false;     ///< the receiver adds it, or a part of it, to what it has
  double added = 0;  ///< of the bytes of the collective, what the receiver itself adds: not what a switch has summed
};

/// Message `after`, repeat i + delay, waits for message `before`, repeat i.
struct Dependency {
  MessageId before = 0;
  MessageId after = 0;
  std::uint32_t delay = 0;
  Wait why = Wait::data;
};

/// What Message::label counts.
enum class LabelKind : std::uint8_t {
  tree,
  transfer,    ///< of an asynchronous schedule
  step,        ///< of a synchronous schedule
  instruction  ///< a step within its threadblock
};
/// "tree", "transfer", "step", "step".
[[nodiscard]] std::string_view toString(LabelKind kind);

struct Route {
  std::int64_t firstArc = 0;  ///< links that carry its bytes: into Job::arcsOf
  std::int32_t arcCount = 0;
  Microseconds latency{};  ///< of the whole route
  Microseconds overhead{};
};

/// Messages with dependencies, for any number of bytes.
class Job {
public:
  /// The fabric must outlive the job.
  Job(const fabric::Fabric& fabric, const Model& model);

  /// The route along these nodes; `skipFirst` links at its begin and `skipLast` at its end carry nothing (a switch
  /// copies or adds up there). Equal routes get equal ids. Errors: badInput naming the missing link.
  [[nodiscard]] Result<RouteId> route(std::span<const fabric::NodeIndex> nodes, int skipFirst = 0, int skipLast = 0);
  MessageId add(const Message& message);
  /// Makes a message larger.
  void addShare(MessageId message, double share, bool reduces) {
    m_messages[message].share += share;
    m_messages[message].added += reduces ? share : 0;
    m_messages[message].reduces = m_messages[message].reduces || reduces;
  }
  /// The receiver adds all of it.
  void setReducing(MessageId message) {
    m_messages[message].reduces = true;
    m_messages[message].added = m_messages[message].share;
  }
  void setShard(MessageId message, std::int32_t shard) { m_messages[message].shard = shard; }
  /// @pre both messages exist
  void wait(const Dependency& dependency) { m_dependencies.push_back(dependency); }
  /// Repeats of a message follow each other in any case: one leaves after the other, with the model's window. Off where
  /// dependencies say it all (programs, whose connections have slots).
  void setWindowed(bool windowed) { m_windowed = windowed; }
  void setLabels(LabelKind kind) { m_labels = kind; }

  [[nodiscard]] const fabric::Fabric& fabric() const { return *m_fabric; }
  [[nodiscard]] const Model& model() const { return m_model; }
  [[nodiscard]] std::uint32_t window() const { return m_windowed ? m_model.window : 0; }  ///< 0 = no limit
  [[nodiscard]] LabelKind labels() const { return m_labels; }
  [[nodiscard]] std::span<const Message> messages() const { return m_messages; }
  [[nodiscard]] std::span<const Dependency> dependencies() const { return m_dependencies; }
  [[nodiscard]] std::span<const Route> routes() const { return m_routes; }
  /// Into linkRates().
  [[nodiscard]] std::span<const std::int32_t> arcsOf(const Route& route) const {
    return {m_arcs.data() + route.firstArc, static_cast<std::size_t>(route.arcCount)};
  }
  /// Bytes per microsecond, by Fabric::arcs(); with Model::totalRate that is the last one.
  [[nodiscard]] std::span<const double> linkRates() const { return m_rates; }

  /// Share of the collective's bytes that each link carries, by Fabric::arcs().
  [[nodiscard]] std::vector<double> linkShares() const;
  /// Time for one byte of the collective if the links were all that counts: no run takes less than this times
  /// the bytes.
  [[nodiscard]] Microseconds timePerByte() const;
  /// Messages on the longest chain of dependencies within one repeat; what a cycle holds is left out.
  [[nodiscard]] std::int64_t depth() const;
  /// What one more piece of each message adds to a run: the largest overhead and latency of a message together, and
  /// the time of Model::messageBytes.
  [[nodiscard]] Microseconds largestStart() const;

private:
  /// The same with the total rate.
  [[nodiscard]] std::vector<double> rateShares() const;

  const fabric::Fabric* m_fabric;
  Model m_model;
  std::vector<double> m_rates;
  std::vector<Microseconds> m_latencies;  ///< by arc
  std::vector<Route> m_routes;
  std::vector<std::int32_t> m_arcs;
  std::unordered_map<std::uint64_t, std::vector<RouteId>> m_routesByHash;
  std::vector<Message> m_messages;
  std::vector<Dependency> m_dependencies;
  bool m_windowed = true;
  LabelKind m_labels = LabelKind::tree;
};

}  // namespace coppice::simulate
