// SPDX-License-Identifier: Apache-2.0
#include "workflow/frontier.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "base/csv.hpp"
#include "base/failure.hpp"
#include "base/file_name.hpp"
#include "base/formatted.hpp"
#include "base/parallel.hpp"
#include "bom/tables.hpp"
#include "io/fabric_json.hpp"
#include "io/files.hpp"
#include "presets/presets.hpp"
#include "workflow/alltoall_method.hpp"
#include "workflow/proved_optimum.hpp"
#include "workflow/training_choice.hpp"

namespace coppice::workflow {
namespace {

/// As bom::costsOf has them.
constexpr std::array kPreferences{bom::Preference::price, bom::Preference::watts};

/// A way to buy a variant. The bill itself is made again for the few that are kept.
struct Offer {
  std::size_t variant = 0;
  bom::Preference preference = bom::Preference::price;
  bom::Cost cost;
};

/// What a variant costs, for each preference, or why it cannot be built.
struct Offers {
  std::vector<Offer> offers;
  std::optional<Error> fault;
  std::size_t nodes = 0;  ///< of the fabric
};

bool isCheaper(const bom::Cost& one, const bom::Cost& other) {
  return one.price <= other.price && one.watts <= other.watts && one != other;
}

/// In price, watts, allreduce and alltoall.
bool isAsGoodBesideStep(const FrontierPoint& a, const FrontierPoint& b) {
  const bom::Cost& one = a.bill.total;
  const bom::Cost& other = b.bill.total;
  return one.price <= other.price && one.watts <= other.watts && a.bounds.allreduce >= b.bounds.allreduce &&
         a.bounds.alltoall >= b.bounds.alltoall;
}

/// ns of computation that no plan of the GPUs goes below, whatever the network is.
std::optional<Rational> leastComputation(const TrainingRequest& request, int gpus) {
  const training::StepDemand& demand = request.demand;
  std::optional<Rational> least;
  for (const training::Layout& layout : layoutsOf(demand.model, demand.job, gpus, request.limits)) {
    const auto counts = microBatchesOf(demand.job, layout);
    const Rational time = leastTime(demand, layout, demand.microBatches > 0 ? demand.microBatches : counts.back());
    least = least ? std::min(*least, time) : time;
  }
  return least;
}

class FrontierSearch {
public:
  FrontierSearch(const FrontierRequest& request, const bom::Parts& parts, const Progress& progress)
      : m_request(request), m_parts(parts), m_progress(progress) {}

  Frontier run() {
    orThrow(bom::checkFloor(m_request.floor));
    m_variants = orThrow(networkVariants(m_request.variants));
    m_frontier.variants = m_variants.size();
    std::vector<Offers> offers(m_variants.size());
    each(m_variants.size(), "prices", [&](std::size_t i) { offers[i] = price(i); });
    group(std::move(offers));
    boundGroups();
    std::stable_sort(m_frontier.points.begin(), m_frontier.points.end(), [](const auto& a, const auto& b) {
      return std::tie(a.bill.total.price, a.bill.total.watts) < std::tie(b.bill.total.price, b.bill.total.watts);
    });
    markFront(m_frontier.points);
    if (m_request.training) {
      addSteps();
      markFront(m_frontier.points);
    }
    return std::move(m_frontier);
  }

private:
  struct Group {
    std::string name;
    std::vector<Offer> offers = {};
    std::optional<Error> fault = {};
    /// The variant with the fewest switches, whether it can be built or not: all have its bounds, and it has them
    /// soonest.
    std::size_t smallest = 0;
    std::size_t nodes = 0;  ///< of its fabric
  };

  /// work(0) .. work(count-1) on all cores, with the share that is done as progress.
  template <typename Work>
  void each(std::size_t count, std::string_view stage, Work work) {
    std::mutex mutex;
    std::size_t done = 0;
    m_progress.report(stage, 0);
    parallelFor(count, [&](std::size_t i) {
      throwIfCancelled(m_progress);
      work(i);
      const std::scoped_lock lock(mutex);
      m_progress.report(stage, static_cast<double>(++done) / static_cast<double>(count));
    });
  }

  /// For threads: hears that it should stop, says nothing.
  [[nodiscard]] Progress quiet() const { return {.onReport = {}, .stop = m_progress.stop, .work = m_progress.work}; }

  [[nodiscard]] fabric::Description describe(std::size_t variant) const {
    return orThrow(presets::make(m_request.variants.box, m_variants[variant].arguments));
  }

  [[nodiscard]] bom::Bill billOf(const fabric::Fabric& fabric, bom::Preference preference) const {
    return orThrow(bom::billOf(fabric, m_parts, m_request.floor, preference, quiet()));
  }

  [[nodiscard]] Offers price(std::size_t variant) const {
    Offers result;
    const auto done = coppice::guarded([&] {
      const fabric::Fabric fabric = orThrow(fabric::Fabric::build(describe(variant)));
      result.nodes = fabric.nodes().size();
      const auto costs = orThrow(bom::costsOf(fabric, m_parts, m_request.floor, quiet()));
      for (std::size_t i = 0; i < kPreferences.size(); ++i) {
        if (result.offers.empty() || costs[i] != result.offers.front().cost) {
          result.offers.push_back({variant, kPreferences[i], costs[i]});
        }
      }
      return Done{};
    });
    if (!done) {
      if (done.error().code == ErrorCode::cancelled) {
        throw CancelledError{};
      }
      result = {.offers = {}, .fault = done.error(), .nodes = result.nodes};
    }
    return result;
  }

  /// Of each group the offers that no other of it beats, in the order of the variants.
  void group(std::vector<Offers> offers) {
    std::map<std::string, std::size_t> numbers;
    for (std::size_t i = 0; i < m_variants.size(); ++i) {
      const auto [found, isNew] = numbers.try_emplace(m_variants[i].group, m_groups.size());
      if (isNew) {
        m_groups.push_back({m_variants[i].group, {}, {}, i, offers[i].nodes});
      }
      Group& group = m_groups[found->second];
      if (offers[i].nodes > 0 && offers[i].nodes < group.nodes) {
        group.smallest = i;
        group.nodes = offers[i].nodes;
      }
      group.offers.insert(group.offers.end(), offers[i].offers.begin(), offers[i].offers.end());
      if (offers[i].fault) {
        group.fault = std::move(offers[i].fault);  // that of most switches is the last
      }
    }
    std::optional<Error> first;
    for (Group& group : m_groups) {
      if (group.offers.empty()) {
        first = first ? first : group.fault;
        m_frontier.notBuilt.push_back({group.name, group.fault->message});
      }
      const std::vector<Offer> all = group.offers;
      std::erase_if(group.offers, [&](const Offer& offer) {
        return std::any_of(all.begin(), all.end(),
                           [&](const Offer& other) { return isCheaper(other.cost, offer.cost); });
      });
    }
    std::erase_if(m_groups, [](const Group& group) { return group.offers.empty(); });
    if (m_groups.empty()) {
      throw Failure{*first};
    }
  }

  void boundGroups() {
    std::vector<Result<std::vector<FrontierPoint>>> points(m_groups.size(), std::vector<FrontierPoint>{});
    each(m_groups.size(), "bounds", [&](std::size_t g) {
      points[g] = coppice::guarded([&] { return pointsOf(m_groups[g]); });
      if (!points[g] && points[g].error().code == ErrorCode::cancelled) {
        throw CancelledError{};
      }
    });
    for (std::size_t g = 0; g < m_groups.size(); ++g) {
      if (!points[g]) {
        m_frontier.notBuilt.push_back({m_groups[g].name, points[g].error().message});
        continue;
      }
      for (FrontierPoint& point : *points[g]) {
        m_frontier.points.push_back(std::move(point));
      }
    }
  }

  [[nodiscard]] std::vector<FrontierPoint> pointsOf(const Group& group) const {
    const NetworkBounds bounds = boundsOf(orThrow(fabric::Fabric::build(describe(group.smallest))));
    std::vector<FrontierPoint> points;
    for (const Offer& offer : group.offers) {
      fabric::Description description = describe(offer.variant);
      const fabric::Fabric fabric = orThrow(fabric::Fabric::build(description));
      points.push_back({m_variants[offer.variant].name, group.name, offer.preference, std::move(description),
                        billOf(fabric, offer.preference), bounds});
    }
    return points;
  }

  [[nodiscard]] NetworkBounds boundsOf(const fabric::Fabric& fabric) const {
    const forestcoll::Optimum allreduce =
        orThrow(provedOptimum(fabric, {.collective = Collective::allreduce}, quiet()));
    const auto alltoall = orThrow(verifiedAlltoall(fabric, {}, quiet()));
    const Rational gpus(fabric.gpuCount());
    NetworkBounds bounds{.allreduce = allreduce.algbw,
                         .allreduceUpper = allreduce.algbw,
                         .alltoall = alltoall->lower * gpus,
                         .alltoallUpper = alltoall->upper * gpus};
    if (allreduce.allreduceLimit) {
      bounds.allreduceUpper = std::max(bounds.allreduceUpper, allreduce.allreduceLimit->algbw);
    }
    return bounds;
  }

  /// First of the front without them. A point that another one is as good as can only come to the front by a shorter
  /// step, which it cannot have where computation alone takes as long as the step of the other one.
  void addSteps() {
    const auto least = leastComputation(*m_request.training, m_request.variants.gpus);
    std::map<std::string, NetworkBounds> known;
    std::vector<const FrontierPoint*> due;
    const auto isDue = [&](const FrontierPoint& point) {
      return !known.contains(point.group) && std::none_of(due.begin(), due.end(), [&](const FrontierPoint* other) {
        return other->group == point.group;
      });
    };
    const auto computeDue = [&] {
      std::vector<NetworkBounds> found(due.size());
      each(due.size(), "training", [&](std::size_t i) { found[i] = withStep(*due[i]); });
      for (std::size_t i = 0; i < due.size(); ++i) {
        known[due[i]->group] = found[i];
      }
      due.clear();
      for (FrontierPoint& point : m_frontier.points) {
        if (const auto bounds = known.find(point.group); bounds != known.end()) {
          point.bounds = bounds->second;
        }
      }
    };
    for (const FrontierPoint& point : m_frontier.points) {
      if (point.isOnFront && isDue(point)) {
        due.push_back(&point);
      }
    }
    computeDue();
    for (const FrontierPoint& point : m_frontier.points) {
      const bool isHopeless =
          std::any_of(m_frontier.points.begin(), m_frontier.points.end(), [&](const FrontierPoint& other) {
            return other.bounds.step && other.bounds.step == least && isAsGoodBesideStep(other, point) &&
                   !isAsGoodBesideStep(point, other);
          });
      if (isDue(point) && !isHopeless) {
        due.push_back(&point);
      }
    }
    computeDue();
  }

  [[nodiscard]] NetworkBounds withStep(const FrontierPoint& point) const {
    const fabric::Fabric fabric = orThrow(fabric::Fabric::build(point.description));
    const TrainingChoice choice =
        orThrow(chooseTraining(fabric, m_request.training->demand, m_request.training->limits, quiet()));
    NetworkBounds bounds = point.bounds;
    bounds.hasStep = true;
    if (!choice.plans.empty()) {
      bounds.step = choice.plans.front().overlapped();
    }
    return bounds;
  }

  const FrontierRequest& m_request;
  const bom::Parts& m_parts;
  const Progress& m_progress;
  std::vector<Variant> m_variants;
  std::vector<Group> m_groups;  ///< that can be built
  Frontier m_frontier;
};

}  // namespace

bool dominates(const FrontierPoint& a, const FrontierPoint& b) {
  // Without a step no plan fits, which is worse than any.
  const bool isStepAsGood = !b.bounds.step || (a.bounds.step && *a.bounds.step <= *b.bounds.step);
  const bool isStepBetter = a.bounds.step && (!b.bounds.step || *a.bounds.step < *b.bounds.step);
  return isAsGoodBesideStep(a, b) && isStepAsGood && (isStepBetter || !isAsGoodBesideStep(b, a));
}

void markFront(std::vector<FrontierPoint>& points) {
  for (FrontierPoint& point : points) {
    point.isOnFront =
        std::none_of(points.begin(), points.end(), [&](const FrontierPoint& other) { return dominates(other, point); });
  }
}

Result<Frontier> findFrontier(const FrontierRequest& request, const bom::Parts& parts, const Progress& progress) {
  return coppice::guarded([&] { return FrontierSearch(request, parts, progress).run(); });
}

StepUnit stepUnit(const Frontier& frontier) {
  std::optional<Rational> best;
  for (const FrontierPoint& point : frontier.points) {
    if (point.bounds.step) {
      best = best ? std::min(*best, *point.bounds.step) : *point.bounds.step;
    }
  }
  return stepUnit(best ? best->toDouble() : 0);
}

std::string frontierCsv(const Frontier& frontier) {
  std::string text =
      "network,chosen_for,price,watts,allreduce_GBps,allreduce_at_most_GBps,alltoall_GBps,"
      "alltoall_at_most_GBps,step_ns,on_front\n";
  for (const FrontierPoint& point : frontier.points) {
    const NetworkBounds& bounds = point.bounds;
    text += csvField(point.name) + "," + (point.preference == bom::Preference::price ? "price" : "watts") + "," +
            toExactText(point.bill.total.price) + "," + toExactText(point.bill.total.watts) + "," +
            toExactText(bounds.allreduce) + "," + toExactText(bounds.allreduceUpper) + "," +
            toExactText(bounds.alltoall) + "," + toExactText(bounds.alltoallUpper) + "," +
            (bounds.step ? bounds.step->toString() : std::string()) + "," + (point.isOnFront ? "yes" : "no") + "\n";
  }
  return text;
}

Result<std::vector<std::string>> writeFrontier(const std::string& folder, const Frontier& frontier,
                                               const bom::Parts& parts) {
  return coppice::guarded([&] {
    const std::filesystem::path path(folder);
    orThrow(io::makeFolder(path));
    std::vector<std::string> stems;
    for (const FrontierPoint& point : frontier.points) {
      if (!point.isOnFront) {
        continue;
      }
      const fabric::Fabric fabric = orThrow(fabric::Fabric::build(point.description));
      stems.push_back(formatted("%02zu-", stems.size() + 1) + asFileName(point.name));
      orThrow(io::saveFile(path / (stems.back() + ".fabric.json"), io::writeFabricJson(point.description)));
      orThrow(io::saveFile(path / (stems.back() + ".bill.csv"), bom::billCsv(point.bill, parts)));
      orThrow(io::saveFile(path / (stems.back() + ".cables.csv"), bom::cableCsv(fabric, point.bill, parts)));
    }
    orThrow(io::saveFile(path / "frontier.csv", frontierCsv(frontier)));
    return stems;
  });
}

}  // namespace coppice::workflow
