// SPDX-License-Identifier: Apache-2.0
#include "training/step.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/failure.hpp"
#include "training/weighted_search.hpp"

namespace coppice::training {
namespace {

using std::int64_t;

/// Of a block: 2 operations for each parameter and token forward, 4 backward, and attention.
Rational blockOperations(const Model& model, const Job& job) {
  return Rational(6) * Rational(job.batch) * Rational(job.sequence) * model.activeBlockParameters() +
         attentionOperations(model, job);
}

/// Of the longest stage; of all, as no stage can be shorter than their mean.
Rational stageCompute(const StepDemand& demand, const Layout& layout, const Rational& block, int64_t devices) {
  const Rational mean = block * Rational(demand.model.blockLayers()) / Rational(layout.stages()) +
                        outerCost(demand.model, demand.job, devices, demand.gflops).compute;
  return std::max(block * Rational(layersOf(demand.model, layout)), mean);
}

int64_t devicesOf(const Layout& layout) {
  int64_t devices = 1;
  for (const int64_t size : layout.sizes) {
    devices *= size;
  }
  return devices;
}

Rational bubbleOf(const StepDemand& demand, const Layout& layout, int64_t microBatches, const Rational& compute) {
  return compute * Rational(layout.stages() - 1) / Rational(microBatches) / Rational(demand.interleave);
}

/// Parts of a stage have a layer at least, and come in turns of as many micro-batches as there are stages (Narayanan et
/// al. 2021, arXiv:2104.04473, section 2.2).
bool isAllowed(const StepDemand& demand, const Layout& layout, int64_t microBatches) {
  const bool isInterleaved = demand.interleave == 1 || (layersOf(demand.model, layout) >= demand.interleave &&
                                                        layout.stages() > 1 && microBatches % layout.stages() == 0);
  return isInterleaved && (demand.microBatches == 0 || demand.microBatches == microBatches);
}

/// The plans of a layout with a number of micro-batches: those of least weighted cost, at weights that bring them below
/// the memory and balance computation and communication. Whatever the weights, the least cost bounds all plans
/// (Lagrangian duality): with C' = compute and bubble of a block, K its communication, H its memory,
/// a C' + b K + c H >= V for all, so that a plan within memory M takes max(C', K) >= (V - c M) / (a + b).
class StepSearch {
public:
  /// @param known  may be `answer.best`
  /// @param hint  weights that cut all plans of the last number of micro-batches that had such
  StepSearch(const StepDemand& demand, const PricedLayout& priced, int64_t microBatches, const StepPlan* known,
             std::optional<std::pair<double, double>>& hint, LayoutAnswer& answer, const Progress& progress)
      : m_demand(demand),
        m_priced(priced),
        m_microBatches(microBatches),
        m_hint(hint),
        m_answer(answer),
        m_progress(progress),
        m_devices(devicesOf(priced.layout)),
        m_layers(layersOf(demand.model, priced.layout)),
        m_outer(outerCost(demand.model, demand.job, m_devices, demand.gflops)) {
    if (known != nullptr) {
      m_known = {known->overlapped(), known->inSequence()};
    }
    m_least = leastTime(demand, priced.layout, microBatches).toDouble();
    m_leastInSequence = m_least;
    m_stretch =
        1 + static_cast<double>(priced.layout.stages() - 1) / static_cast<double>(microBatches * demand.interleave);
    m_memory = (demand.memory - m_outer.memory) / m_layers;
  }

  void run() {
    if (isCut()) {
      ++m_answer.cut;
      return;
    }
    const auto problem = blockOf(m_demand, m_priced, m_microBatches);
    if (!problem || !m_memory.isPositive()) {
      return;  // experts whose tokens are no whole number
    }
    ++m_answer.searches;
    try {
      WeightedSearch search(*problem, m_progress);
      m_search = &search;
      balance();
    } catch (const Failure& failure) {
      if (failure.error.code != ErrorCode::infeasible) {
        throw;
      }
      return;
    } catch (const OutOfWork&) {
      m_answer.isComplete = false;
    }
    const double least = m_least * (1 - kMargin);
    m_answer.least = m_answer.least ? std::min(*m_answer.least, least) : least;
  }

private:
  /// Of sums in doubles.
  static constexpr double kMargin = 1e-9;
  /// What the bounds may leave open.
  static constexpr double kNear = 1.001;

  [[nodiscard]] bool isCut() const {
    if (!m_known) {
      return false;
    }
    const double step = m_known->first.toDouble() * (1 + kMargin);
    const double inSequence = m_known->second.toDouble() * (1 + kMargin);
    return m_least > step || (m_least * (1 + 2 * kMargin) >= step && m_leastInSequence > inSequence);
  }

  /// Tries weights until the bounds cut the rest, or leave little.
  void balance() {
    const double time = m_least / m_layers.toDouble();
    const double perByte = time / m_memory.toDouble();
    constexpr int kMost = 14;
    constexpr int kRange = 8;
    if (m_known && m_hint) {
      weigh(m_hint->first, m_hint->second);  // what cut other numbers of micro-batches mostly cuts this one
    }
    for (const double compute : {1.0, 64.0, 0.125}) {
      if (isDone()) {
        return;
      }
      if (fits(weigh(compute, 0))) {
        continue;
      }
      if (isDone() || !fits(weigh(compute, std::ldexp(perByte, kMost)))) {
        return;  // it gets no smaller
      }
      // The least weight of memory, by powers of two, at which plans fit.
      int low = -kRange;
      int high = kRange;
      while (high - low > 1 && !isDone()) {
        const int middle = low + (high - low) / 2;
        (fits(weigh(compute, std::ldexp(perByte, middle))) ? high : low) = middle;
      }
      if (m_known && m_known->first.toDouble() <= m_least * kNear) {
        return;
      }
    }
  }

  /// No plan can be better than what is known, or better by more than a thousandth.
  [[nodiscard]] bool isDone() const {
    return isCut() || (m_known && m_known->first.toDouble() <= m_least * kNear &&
                       m_known->second.toDouble() <= m_leastInSequence * kNear);
  }

  [[nodiscard]] bool fits(const Cost& block) const { return block.memory <= m_memory; }

  /// Notes the plan of these weights, and what they bound. Nothing where the bound cuts all plans.
  Cost weigh(double compute, double memory) {
    const double total = std::max(compute, 1.0);
    const Prices prices{.compute = compute * m_stretch / total, .communication = 1 / total, .memory = memory};
    WeightedSearch::Answer found = m_search->bound(prices);
    raiseBounds(found);
    if (isCut()) {
      m_hint = {compute, memory};
      return {};
    }
    if (!found.plan) {
      found = m_search->best(prices);
      raiseBounds(found);
    }
    const Cost block = found.plan->cost;
    StepPlan plan{m_priced, m_microBatches, *std::move(found.plan), {}, {}};
    plan.cost.compute = stageCompute(m_demand, m_priced.layout, block.compute, m_devices);
    plan.cost.communication = block.communication * m_layers;
    plan.cost.memory = block.memory * m_layers + m_outer.memory;
    plan.bubble = bubbleOf(m_demand, m_priced.layout, m_microBatches, plan.cost.compute);
    if (plan.cost.memory <= m_demand.memory) {
      if (!m_known || std::pair(plan.overlapped(), plan.inSequence()) < *m_known) {
        m_known = {plan.overlapped(), plan.inSequence()};
      }
      if (!m_answer.best || plan.isBetterThan(*m_answer.best)) {
        m_answer.best = std::move(plan);
      }
    } else if (!m_answer.smallest || plan.cost.memory < m_answer.smallest->cost.memory) {
      m_answer.smallest = std::move(plan);
    }
    return block;
  }

  void raiseBounds(const WeightedSearch::Answer& found) {
    const double a = found.compute / m_stretch;
    const double rest = (found.least - found.memory * m_memory.toDouble()) * m_layers.toDouble();
    m_least = std::max(m_least, rest / (a + found.communication));
    m_leastInSequence = std::max(m_leastInSequence, rest / std::max(a, found.communication));
  }

  const StepDemand& m_demand;
  const PricedLayout& m_priced;
  int64_t m_microBatches;
  std::optional<std::pair<double, double>>& m_hint;  ///< of computation and memory
  LayoutAnswer& m_answer;
  const Progress& m_progress;
  int64_t m_devices;
  Rational m_layers;
  Cost m_outer;
  Rational m_memory;                                     ///< for a block
  std::optional<std::pair<Rational, Rational>> m_known;  ///< overlapped and in sequence
  double m_least = 0;                                    ///< ns of the step that no plan is below
  double m_leastInSequence = 0;
  double m_stretch = 1;  ///< compute with the bubble
  WeightedSearch* m_search = nullptr;
};

}  // namespace

std::vector<Role> PricedLayout::roles() const {
  std::vector<Role> roles;
  for (int role = 0; role < kRoles; ++role) {
    if (layout.sizes[role] > 1) {
      roles.push_back(static_cast<Role>(role));
    }
  }
  return roles.empty() ? std::vector{Role::data} : roles;
}

bool StepPlan::isBetterThan(const StepPlan& other) const {
  return std::tuple(overlapped(), inSequence(), cost.memory) <
         std::tuple(other.overlapped(), other.inSequence(), other.cost.memory);
}

int64_t layersOf(const Model& model, const Layout& layout) {
  return (model.blockLayers() + layout.stages() - 1) / layout.stages();
}

Result<Problem> blockOf(const StepDemand& demand, const PricedLayout& priced, int64_t microBatches) {
  const Layout& layout = priced.layout;
  Division division;
  division.roles = priced.roles();
  division.microBatches = microBatches;
  division.inFlight = std::min(layout.stages(), microBatches);
  if (layout.stages() > 1) {
    // Each micro-batch forward and its gradient back, in each part of a stage.
    const Rational elements =
        Rational(demand.job.batch) * Rational(demand.job.sequence) * Rational(demand.model.hidden);
    division.sent = Rational(2) * Rational(2) * elements * Rational(demand.interleave) / priced.handOn /
                    Rational(layersOf(demand.model, layout));
  }
  std::vector<Axis> mesh;
  for (const Role role : division.roles) {
    mesh.push_back(priced.axes[static_cast<std::size_t>(role)]);
  }
  return blockOf(demand.model, demand.job, std::move(mesh), demand.gflops, division);
}

Rational leastTime(const StepDemand& demand, const Layout& layout, int64_t microBatches) {
  const int64_t devices = devicesOf(layout);
  const Rational block =
      blockOperations(demand.model, demand.job) / Rational(devices / layout.stages()) / demand.gflops;
  const Rational compute = stageCompute(demand, layout, block, devices);
  return compute + bubbleOf(demand, layout, microBatches, compute);
}

Result<LayoutAnswer> bestStep(const StepDemand& demand, const PricedLayout& priced, const StepPlan* known,
                              const Progress& progress) {
  return guarded([&] {
    LayoutAnswer answer;
    std::optional<std::pair<double, double>> hint;
    for (const int64_t microBatches : microBatchesOf(demand.job, priced.layout)) {
      if (isAllowed(demand, priced.layout, microBatches)) {
        throwIfCancelled(progress);
        ++answer.tried;
        const StepPlan* best =
            answer.best && (known == nullptr || answer.best->isBetterThan(*known)) ? &*answer.best : known;
        StepSearch(demand, priced, microBatches, best, hint, answer, progress).run();
      }
    }
    if (answer.best) {
      answer.smallest.reset();
    }
    return answer;
  });
}

}  // namespace coppice::training
