// SPDX-License-Identifier: Apache-2.0
#include "training/step_timeline.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/failure.hpp"
#include "training/block_order.hpp"

namespace coppice::training {
namespace {

using std::int64_t;

constexpr std::size_t kMaxEvents = 2'000'000;

/// A block forward or backward, for one micro-batch.
struct Pass {
  int64_t layer = 0;
  int64_t microBatch = 0;
  bool isBackward = false;
};

/// A device with its two streams. All times on which a task waits are ends of tasks that were issued before it, so that
/// one of the streams always works.
class Device {
public:
  explicit Device(StepTimeline& timeline) : m_timeline(timeline) {}

  void at(const Pass& pass) { m_pass = pass; }
  [[nodiscard]] Ticks computed() const { return m_computed; }

  Ticks compute(int node, Ticks duration, Ticks ready) {
    const Ticks begin = std::max(m_computed, ready);
    expose(m_computed, begin);
    m_computed = begin + duration;
    m_timeline.compute += duration;
    add({.kind = StepEvent::Kind::compute, .node = node}, begin, duration);
    return m_computed;
  }

  void wait(Ticks duration) {
    const Ticks begin = m_computed;
    m_computed += duration;
    m_timeline.bubble += duration;
    add({.kind = StepEvent::Kind::bubble}, begin, duration);
  }

  Ticks move(int node, int axis, Conversion conversion, Ticks duration, Ticks ready) {
    const Ticks begin = std::max(m_moved, ready);
    m_moved = begin + duration;
    m_timeline.communication += duration;
    m_moves.push_back(m_timeline.events.size());
    add({.kind = StepEvent::Kind::communication, .node = node, .axis = axis, .conversion = conversion}, begin,
        duration);
    return m_moved;
  }

  void finish() {
    m_timeline.length = std::max(m_computed, m_moved);
    expose(m_computed, m_timeline.length);
  }

private:
  void add(StepEvent event, Ticks begin, Ticks duration) {
    if (m_timeline.events.size() == kMaxEvents) {
      throw Failure{{ErrorCode::limit, "the step has more than " + std::to_string(kMaxEvents) + " events",
                     "give fewer micro-batches, for example --plan mb=8"}};
    }
    event.isBackward = m_pass.isBackward;
    event.layer = static_cast<std::int32_t>(m_pass.layer);
    event.microBatch = static_cast<std::int32_t>(m_pass.microBatch);
    event.begin = begin;
    event.end = begin + duration;
    m_timeline.events.push_back(event);
  }

  /// The computation waits from `begin` to `end`: what is moved meanwhile is exposed.
  void expose(Ticks begin, Ticks end) {
    for (auto each = m_moves.rbegin(); begin < end && each != m_moves.rend(); ++each) {
      const StepEvent& move = m_timeline.events[*each];
      if (move.end <= begin) {
        break;
      }
      const Ticks from = std::max(begin, move.begin);
      const Ticks to = std::min(end, move.end);
      if (from < to) {
        m_timeline.exposed[static_cast<std::size_t>(move.axis)] += to - from;
      }
    }
  }

  StepTimeline& m_timeline;
  Pass m_pass;
  Ticks m_computed = 0;
  Ticks m_moved = 0;
  std::vector<std::size_t> m_moves;  ///< events
};

class TimelineMaker {
public:
  TimelineMaker(const StepDemand& demand, const StepPlan& plan, const TimelineOptions& options,
                const Progress& progress)
      : m_plan(plan),
        m_options(options),
        m_progress(progress),
        m_order(orderOf(orThrow(blockOf(demand, plan.priced, plan.microBatches)), plan)),
        m_layers(layersOf(demand.model, plan.priced.layout)),
        m_device(m_timeline) {}

  StepTimeline run() {
    const Rational units(m_plan.microBatches);
    const Rational outer = (m_plan.cost.compute - m_plan.block.cost.compute * Rational(m_layers)) / units / Rational(3);
    const Rational sent = m_order.sent * Rational(m_layers) / units / Rational(2);
    findUnit({outer, sent, m_plan.bubble});
    m_outer = m_timeline.ticksOf(outer);
    m_sent = m_timeline.ticksOf(sent);
    m_timeline.names = m_order.names;
    m_ready.assign(m_order.names.size(), 0);
    orderPasses();
    for (m_at = 0; m_at < m_passes.size(); ++m_at) {
      throwIfCancelled(m_progress);
      if (const Ticks bubble = m_bubbles[m_at]; bubble > 0) {
        m_device.wait(bubble);
      }
      runPass();
    }
    m_device.finish();
    return std::move(m_timeline);
  }

private:
  using Operations = std::vector<OrderedOperation>;

  [[nodiscard]] const Operations& operationsOf(const Pass& pass) const {
    return pass.isBackward ? m_order.backward : m_order.forward;
  }

  void findUnit(const std::vector<Rational>& others) {
    const auto include = [this](const Rational& time) {
      Ticks a = m_timeline.perNanosecond;
      for (Ticks b = time.denominator(); b != 0;) {
        a = std::exchange(b, a % b);
      }
      m_timeline.perNanosecond = checkedMul<Ticks>(m_timeline.perNanosecond, time.denominator() / a);
    };
    std::for_each(others.begin(), others.end(), include);
    for (const Operations* operations : {&m_order.forward, &m_order.backward}) {
      for (const OrderedOperation& each : *operations) {
        include(each.compute);
        for (const auto* moves : {&each.gathers, &each.firstGathers, &each.reductions, &each.lastReductions}) {
          std::for_each(moves->begin(), moves->end(), [&](const Move& move) { include(move.time); });
        }
        for (const OrderedInput& input : each.inputs) {
          std::for_each(input.moves.begin(), input.moves.end(), [&](const Move& move) { include(move.time); });
        }
      }
    }
    // Nothing is later than all in sequence.
    const Ticks whole =
        checkedAdd(checkedAdd(m_timeline.ticksOf(m_plan.cost.compute), m_timeline.ticksOf(m_plan.cost.communication)),
                   m_timeline.ticksOf(m_plan.bubble));
    (void)checkedMul<Ticks>(whole, kShares);
  }

  [[nodiscard]] Ticks computeOf(const Operations& operations) const {
    return std::accumulate(operations.begin(), operations.end(), Ticks{0},
                           [&](Ticks sum, const auto& each) { return sum + m_timeline.ticksOf(each.compute); });
  }

  void addUnit(int64_t microBatch, bool isBackward, Ticks bubble) {
    m_bubbles.resize(m_passes.size() + static_cast<std::size_t>(m_layers), 0);
    m_bubbles[m_passes.size()] = bubble;
    for (int64_t i = 0; i < m_layers; ++i) {
      m_passes.push_back({isBackward ? m_layers - 1 - i : i, microBatch, isBackward});
    }
  }

  /// 1F1B of the first stage. With f and b ns forward and backward, it waits p - 1 times b for the first gradient, and
  /// at the end f before each of the last gradients; the parts of the plan's bubble are rounded but for the first.
  void orderPasses() {
    const int64_t count = m_plan.microBatches;
    const int64_t stages = m_plan.priced.layout.stages();
    const int64_t ahead = std::min(stages, count);
    const Ticks bubble = m_timeline.ticksOf(m_plan.bubble);
    const Ticks forward = computeOf(m_order.forward) * m_layers + m_outer;
    const Ticks backward = computeOf(m_order.backward) * m_layers + 2 * m_outer;
    const Ticks share = forward * kShares / std::max<Ticks>(forward + backward, 1);
    const Ticks gap = stages > 1 ? bubble * share / kShares / (stages - 1) : 0;
    for (int64_t i = 0; i < ahead; ++i) {
      addUnit(i, false, 0);
    }
    for (int64_t i = 0; i < count; ++i) {
      const bool isAfterLast = i > 0 && ahead + i > count;
      addUnit(i, true, i == 0 ? bubble - gap * (ahead - 1) : isAfterLast ? gap : 0);
      if (ahead + i < count) {
        addUnit(ahead + i, false, 0);
      }
    }
  }

  void runPass() {
    const Pass& pass = m_passes[m_at];
    m_device.at(pass);
    enter(pass);
    std::vector<Ticks> gathered = std::exchange(m_gathered, {});
    const Operations& operations = operationsOf(pass);
    const bool isAhead = m_options.isPrefetched && m_at + 1 < m_passes.size();
    const std::vector<const OrderedOperation*> next =
        isAhead ? gatheringOf(m_passes[m_at + 1]) : std::vector<const OrderedOperation*>();
    std::size_t nextAt = 0;
    std::size_t gatheredAt = 0;
    for (const OrderedOperation& operation : operations) {
      Ticks ready = convert(operation);
      if (hasGathers(operation, pass)) {
        const bool isThere = gatheredAt < gathered.size();
        ready = std::max(ready, isThere ? gathered[gatheredAt++] : gather(operation, pass));
        if (nextAt < next.size()) {
          m_gathered.push_back(gather(*next[nextAt++], m_passes[m_at + 1]));
        }
      }
      if (!operation.compute.isZero()) {
        ready = m_device.compute(operation.node, m_timeline.ticksOf(operation.compute), ready);
      }
      m_ready[operation.node] = ready;
      reduce(operation, pass);
    }
    while (nextAt < next.size()) {
      m_gathered.push_back(gather(*next[nextAt++], m_passes[m_at + 1]));
    }
    leave(pass);
  }

  void enter(const Pass& pass) {
    const int64_t first = pass.isBackward ? m_layers - 1 : 0;
    const int in = pass.isBackward ? m_order.gradientIn : m_order.in;
    const int before = pass.isBackward ? m_order.gradientOut : m_order.out;
    m_ready[in] = pass.layer == first ? m_device.computed() : m_ready[before];
    if (pass.isBackward && pass.layer == first && m_outer > 0) {
      m_ready[in] = m_device.compute(-1, 2 * m_outer, 0);
    }
  }

  void leave(const Pass& pass) {
    if (pass.layer != (pass.isBackward ? 0 : m_layers - 1)) {
      return;
    }
    Ticks ready = m_ready[pass.isBackward ? m_order.gradientOut : m_order.out];
    if (!pass.isBackward && m_outer > 0) {
      ready = m_device.compute(-1, m_outer, ready);
    }
    if (pass.isBackward) {
      flush();
    }
    if (m_sent > 0) {
      m_device.move(-1, kPipeline, Conversion::allgather, m_sent, ready);
    }
  }

  /// When its inputs are there, but for weights.
  Ticks convert(const OrderedOperation& operation) {
    Ticks ready = 0;
    for (const OrderedInput& input : operation.inputs) {
      Ticks at = m_ready[input.producer];
      for (const Move& move : input.moves) {
        at = m_device.move(operation.node, move.axis, move.conversion, m_timeline.ticksOf(move.time), at);
      }
      ready = std::max(ready, at);
    }
    return ready;
  }

  [[nodiscard]] static bool isFirst(const Pass& pass) { return !pass.isBackward && pass.microBatch == 0; }
  [[nodiscard]] static bool hasGathers(const OrderedOperation& operation, const Pass& pass) {
    return !operation.gathers.empty() || (isFirst(pass) && !operation.firstGathers.empty());
  }
  [[nodiscard]] std::vector<const OrderedOperation*> gatheringOf(const Pass& pass) const {
    std::vector<const OrderedOperation*> gathering;
    for (const OrderedOperation& each : operationsOf(pass)) {
      if (hasGathers(each, pass)) {
        gathering.push_back(&each);
      }
    }
    return gathering;
  }

  Ticks gather(const OrderedOperation& operation, const Pass& pass) {
    const Pass current = m_passes[m_at];
    m_device.at(pass);
    Ticks at = m_device.computed();
    const auto run = [&](const std::vector<Move>& moves) {
      for (const Move& move : moves) {
        at = m_device.move(operation.node, move.axis, move.conversion, m_timeline.ticksOf(move.time), at);
      }
    };
    if (isFirst(pass)) {
      run(operation.firstGathers);
    }
    run(operation.gathers);
    m_device.at(current);
    return at;
  }

  /// Into the bucket, which is reduced when it is full.
  void reduce(const OrderedOperation& operation, const Pass& pass) {
    const auto put = [this](const std::vector<Move>& moves) {
      for (const Move& move : moves) {
        const auto found = std::find_if(m_bucket.begin(), m_bucket.end(), [&](const Move& each) {
          return each.axis == move.axis && each.conversion == move.conversion;
        });
        if (found == m_bucket.end()) {
          m_bucket.push_back(move);
        } else {
          found->time += move.time;
        }
      }
      m_bucketBytes += moves.empty() ? Rational() : moves.front().bytes;
    };
    put(operation.reductions);
    if (pass.microBatch == m_plan.microBatches - 1) {
      put(operation.lastReductions);
    }
    if (m_bucketBytes >= m_options.bucket) {
      flush();
    }
  }

  void flush() {
    Ticks at = m_device.computed();
    for (const Move& move : m_bucket) {
      at = m_device.move(-1, move.axis, move.conversion, m_timeline.ticksOf(move.time), at);
    }
    m_bucket.clear();
    m_bucketBytes = 0;
  }

  /// Parts of a whole in which the bubble is shared between forward and backward.
  static constexpr int64_t kShares = 1024;

  const StepPlan& m_plan;
  const TimelineOptions& m_options;
  const Progress& m_progress;
  BlockOrder m_order;
  int64_t m_layers;
  StepTimeline m_timeline;
  Device m_device;
  Ticks m_outer = 0;  ///< of a micro-batch forward; backward twice that
  Ticks m_sent = 0;   ///< of a micro-batch, in each direction
  std::vector<Pass> m_passes;
  std::vector<Ticks> m_bubbles;  ///< before each pass
  std::size_t m_at = 0;
  std::vector<Ticks> m_ready;     ///< by node, when its tensor is there
  std::vector<Ticks> m_gathered;  ///< when the weights of the next pass are there, in the order of use
  std::vector<Move> m_bucket;
  Rational m_bucketBytes;
};

}  // namespace

Ticks StepTimeline::ticksOf(const Rational& nanoseconds) const {
  return checkedMul<Ticks>(nanoseconds.numerator(), perNanosecond / nanoseconds.denominator());
}

double StepTimeline::nanoseconds(Ticks ticks) const {
  return static_cast<double>(ticks) / static_cast<double>(perNanosecond);
}

Result<StepTimeline> timelineOf(const StepDemand& demand, const StepPlan& plan, const TimelineOptions& options,
                                const Progress& progress) {
  return guarded([&] { return TimelineMaker(demand, plan, options, progress).run(); });
}

}  // namespace coppice::training
