// SPDX-License-Identifier: Apache-2.0
#include "workflow/training_choice.hpp"

#include <algorithm>
#include <mutex>
#include <set>

#include "base/failure.hpp"
#include "base/parallel.hpp"

namespace coppice::workflow {
namespace {

using std::int64_t;
using training::Conversion;
using training::kConversions;
using training::kParallelAxes;
using training::kPipeline;
using training::kRoles;
using training::Layout;
using training::PricedLayout;
using training::StepPlan;

/// Layouts that are searched before the next are compared with what they found.
constexpr std::size_t kWave = 16;

/// Each link has one of the same bandwidth the other way: what reduces is what gathers, played backwards.
bool isTwoWay(const fabric::Fabric& fabric) {
  std::map<std::pair<fabric::NodeIndex, fabric::NodeIndex>, Rational> balance;
  for (const fabric::Arc& arc : fabric.arcs()) {
    balance[{arc.tail, arc.head}] += arc.bandwidth.gigabytesPerSecond();
  }
  return std::all_of(balance.begin(), balance.end(), [&](const auto& each) {
    const auto back = balance.find({each.first.second, each.first.first});
    return back != balance.end() && back->second == each.second;
  });
}

class Chooser {
public:
  Chooser(const fabric::Fabric& fabric, const training::StepDemand& demand, const Progress& progress)
      : m_fabric(fabric), m_demand(demand), m_progress(progress), m_isTwoWay(isTwoWay(fabric)) {}

  TrainingChoice run(const training::LayoutLimits& limits) {
    std::vector<Layout> layouts = layoutsOf(m_demand.model, m_demand.job, m_fabric.gpuCount(), limits);
    if (layouts.empty()) {
      throw Failure{optionError("plan", "no sizes of the axes fit the GPUs, the model and the batch",
                                "give fewer sizes, or a batch that is a multiple of dp times ep")};
    }
    m_choice.layouts = layouts.size();
    // First those that no bubble slows down and that divide the least in a sequence: what they reach cuts most of the
    // others.
    const auto divided = [](const Layout& layout) {
      return std::pair(layout.stages(), layout.size(training::Role::tensor) * layout.size(training::Role::context));
    };
    std::stable_sort(layouts.begin(), layouts.end(),
                     [&](const Layout& a, const Layout& b) { return divided(a) < divided(b); });
    std::vector<PricedLayout> priced;
    for (std::size_t begin = 0; begin < layouts.size();) {
      // Prices are made only of layouts whose compute can still win.
      std::vector<Layout> next;
      for (; begin < layouts.size() && next.size() < kWave; ++begin) {
        if (mayWin(layouts[begin])) {
          next.push_back(layouts[begin]);
        } else {
          ++m_choice.cut;
        }
      }
      price(next);
      search(next);
      m_progress.report("training", static_cast<double>(begin) / static_cast<double>(layouts.size()));
    }
    std::stable_sort(m_choice.plans.begin(), m_choice.plans.end(),
                     [](const StepPlan& a, const StepPlan& b) { return a.isBetterThan(b); });
    if (m_choice.plans.empty()) {
      m_choice.least.reset();  // memory excludes all plans: bounds grow with its price without end
    } else {
      m_choice.smallest.reset();
    }
    return std::move(m_choice);
  }

private:
  [[nodiscard]] bool mayWin(const Layout& layout) const {
    const auto counts = microBatchesOf(m_demand.job, layout);
    const Rational least =
        leastTime(m_demand, layout, m_demand.microBatches > 0 ? m_demand.microBatches : counts.back());
    return !m_known || std::pair(least, least) < std::pair(m_known->overlapped(), m_known->inSequence());
  }

  void price(const std::vector<Layout>& layouts) {
    std::set<AxisKey> axes;
    std::set<AxisKey> handOns;
    for (const Layout& layout : layouts) {
      for (int axis = 0; axis < kParallelAxes; ++axis) {
        const AxisKey key{layout.sizes[axis], layout.stride(axis)};
        if (key.first > 1 && axis < kRoles && !m_choice.axes.contains(key)) {
          axes.insert(key);
        }
        if (key.first > 1 && axis == kPipeline && !m_choice.handOns.contains(key)) {
          handOns.insert(key);
        }
      }
    }
    struct Due {
      AxisKey key;
      std::optional<Conversion> conversion;  ///< nothing = a pipeline
    };
    std::vector<Due> due;
    for (const AxisKey& key : axes) {
      m_choice.axes[key];
      for (std::size_t c = 0; c < kConversions; ++c) {
        const auto conversion = static_cast<Conversion>(c);
        if (!m_isTwoWay || conversion != Conversion::reduceScatter) {
          due.push_back({key, conversion});
        }
      }
    }
    for (const AxisKey& key : handOns) {
      m_choice.handOns[key];
      due.push_back({key, std::nullopt});
    }
    std::vector<std::string> failures(due.size());
    parallelFor(due.size(), [&](std::size_t i) {
      try {
        if (due[i].conversion) {
          priceAxis(due[i].key, *due[i].conversion);
        } else {
          priceHandOn(due[i].key);
        }
      } catch (const Failure& failure) {
        // What is not alike anywhere may be too large.
        const ErrorCode code = failure.error.code;
        if (code != ErrorCode::infeasible && code != ErrorCode::limit && code != ErrorCode::overflow) {
          throw;
        }
        const std::scoped_lock lock(m_mutex);
        m_choice.unpriced.insert(due[i].key);
        failures[i] = failure.error.message;
      } catch (const OverflowError& error) {
        const std::scoped_lock lock(m_mutex);
        m_choice.unpriced.insert(due[i].key);
        failures[i] = error.what();
      }
    });
    for (const std::string& failure : failures) {
      if (m_choice.leftOutFor.empty()) {
        m_choice.leftOutFor = failure;
      }
    }
  }

  [[nodiscard]] std::vector<schedule::ConcurrentGroup> groupsOf(const AxisKey& key, Collective collective) const {
    return groups::axisGroups(key.first, key.second, m_fabric.gpuCount(), collective);
  }

  [[nodiscard]] PricedGroups priced(std::vector<schedule::ConcurrentGroup> groups) const {
    auto answer = priceGroups(m_fabric, std::move(groups), quiet());
    if (!answer) {
      throw Failure{answer.error()};
    }
    return *std::move(answer);
  }

  void priceAxis(const AxisKey& key, Conversion conversion) {
    const PricedGroups groups = priced(groupsOf(key, collectiveOf(conversion)));
    const groups::Optimum& optimum = groups.optimum;
    Rational rate = optimum.upper.gigabytesPerSecond();
    if (conversion == Conversion::alltoall) {
      rate *= Rational(key.first);
    }
    const std::vector<CutLinks> cut = sharedCut(m_fabric, optimum);
    const std::scoped_lock lock(m_mutex);
    AxisPrice& price = m_choice.axes.at(key);
    price.isExact = price.isExact && optimum.isExact();
    price.passesOthers = price.passesOthers || groups.passesOthers();
    std::vector<Conversion> those{conversion};
    if (m_isTwoWay && conversion == Conversion::allgather) {
      those.push_back(Conversion::reduceScatter);
    }
    for (const Conversion each : those) {
      price.rates[static_cast<std::size_t>(each)] = rate;
      price.cuts[static_cast<std::size_t>(each)] = cut;
    }
  }

  void priceHandOn(const AxisKey& key) {
    std::vector<schedule::ConcurrentGroup> pairs;
    for (const schedule::ConcurrentGroup& stages : groupsOf(key, Collective::allgather)) {
      for (std::size_t i = 0; i + 1 < stages.ranks.size(); ++i) {
        pairs.push_back({.ranks = {stages.ranks[i], stages.ranks[i + 1]}});
      }
    }
    const PricedGroups groups = priced(std::move(pairs));
    const groups::Optimum& optimum = groups.optimum;
    const std::scoped_lock lock(m_mutex);
    m_choice.handOns.at(key) = {optimum.upper, sharedCut(m_fabric, optimum), optimum.isExact(), groups.passesOthers()};
  }

  void search(const std::vector<Layout>& layouts) {
    std::vector<PricedLayout> due;
    for (const Layout& layout : layouts) {
      if (!isPriced(layout)) {
        leaveOut(m_choice.leftOutFor);
        continue;
      }
      PricedLayout priced{layout, {}, 1};
      std::vector<Rational> signature(layout.sizes.begin(), layout.sizes.end());
      for (int role = 0; role < kRoles; ++role) {
        priced.axes[role].size = layout.sizes[role];
        priced.axes[role].rates.fill(Rational(1));
        if (layout.sizes[role] > 1) {
          priced.axes[role].rates = m_choice.axes.at({layout.sizes[role], layout.stride(role)}).rates;
        }
        signature.insert(signature.end(), priced.axes[role].rates.begin(), priced.axes[role].rates.end());
      }
      if (layout.stages() > 1) {
        priced.handOn = m_choice.handOns.at({layout.stages(), layout.stride(kPipeline)}).rate.gigabytesPerSecond();
      }
      signature.push_back(priced.handOn);
      if (m_searched.insert(std::move(signature)).second) {
        due.push_back(std::move(priced));
      }
    }
    std::vector<Result<training::LayoutAnswer>> answers(due.size(), training::LayoutAnswer{});
    parallelFor(due.size(), [&](std::size_t i) {
      answers[i] = bestStep(m_demand, due[i], m_known ? &*m_known : nullptr, quiet());
    });
    for (Result<training::LayoutAnswer>& answer : answers) {
      if (!answer) {
        if (answer.error().code != ErrorCode::overflow) {
          throw Failure{answer.error()};
        }
        leaveOut(answer.error().message);
        continue;
      }
      m_choice.tried += answer->tried;
      m_choice.searches += answer->searches;
      m_choice.cut += answer->cut;
      if (answer->least) {
        m_choice.least = m_choice.least ? std::min(*m_choice.least, *answer->least) : *answer->least;
      }
      if (answer->best) {
        if (!m_known || answer->best->isBetterThan(*m_known)) {
          m_known = answer->best;
        }
        m_choice.plans.push_back(*std::move(answer->best));
      } else if (answer->smallest &&
                 (!m_choice.smallest || answer->smallest->cost.memory < m_choice.smallest->cost.memory)) {
        m_choice.smallest = std::move(answer->smallest);
      }
    }
  }

  [[nodiscard]] bool isPriced(const Layout& layout) const {
    for (int axis = 0; axis < kParallelAxes; ++axis) {
      if (layout.sizes[axis] > 1 && m_choice.unpriced.contains({layout.sizes[axis], layout.stride(axis)})) {
        return false;
      }
    }
    return true;
  }

  void leaveOut(const std::string& reason) {
    ++m_choice.leftOut;
    if (m_choice.leftOutFor.empty()) {
      m_choice.leftOutFor = reason;
    }
  }

  /// For threads: hears that it should stop, says nothing.
  [[nodiscard]] Progress quiet() const { return {.onReport = {}, .stop = m_progress.stop, .work = m_progress.work}; }

  const fabric::Fabric& m_fabric;
  const training::StepDemand& m_demand;
  const Progress& m_progress;
  bool m_isTwoWay;
  TrainingChoice m_choice;
  std::mutex m_mutex;                          ///< of the prices in m_choice
  std::set<std::vector<Rational>> m_searched;  ///< sizes and rates
  std::optional<StepPlan> m_known;             ///< the best so far
};

}  // namespace

Result<TrainingChoice> chooseTraining(const fabric::Fabric& fabric, const training::StepDemand& demand,
                                      const training::LayoutLimits& limits, const Progress& progress) {
  return coppice::guarded([&] { return Chooser(fabric, demand, progress).run(limits); });
}

}  // namespace coppice::workflow
