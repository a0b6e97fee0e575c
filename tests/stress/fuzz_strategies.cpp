// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/fabric.hpp"
#include "forestcoll/boxes/two_level.hpp"
#include "forestcoll/fixed_k.hpp"
#include "forestcoll/forestcoll.hpp"
#include "forestcoll/network.hpp"
#include "forestcoll/path_recovery.hpp"
#include "forestcoll/random_fabrics.hpp"
#include "forestcoll/switch_removal.hpp"
#include "forestcoll/tree_packing.hpp"
#include "forestcoll/trimming.hpp"
#include "stress/medium_fabrics.hpp"
#include "stress/small_fabrics.hpp"
#include "verify/schedule_verifier.hpp"

/// Solves random small instances through the public entry and through every combination of strategies and fallbacks.
/// Every forest is judged by the independent verifier (with max flow); where a fabric is small enough, the optimum is
/// compared with a listing of all cuts. A failure prints the seed that repeats it and ends with status 1.
///
/// With --fabrics medium: 40 to 300 GPUs, the public entry alone; the trees themselves prove the bound there.
///
///   fuzz_strategies [--count N] [--seed FIRST] [--combinations all|some] [--fabrics small|medium]
namespace {

using namespace coppice;
using coppice::test::Dice;
using std::int64_t;

struct Question {
  std::string text;
  forestcoll::Request request;
  std::vector<int64_t> demand;  ///< by rank
};

bool isReducing(Collective collective) {
  return collective == Collective::reduceScatter || collective == Collective::reduce;
}

Question makeQuestion(const fabric::Fabric& fabric, Dice& dice) {
  constexpr Collective kCollectives[] = {Collective::allgather, Collective::reduceScatter, Collective::allreduce,
                                         Collective::broadcast, Collective::reduce};
  const int gpus = fabric.gpuCount();
  Question question;
  forestcoll::Request& request = question.request;
  request.allreduceBudget = std::chrono::milliseconds(0);
  request.collective = kCollectives[dice.pick(0, 4)];
  question.text = std::string(toString(request.collective));
  question.demand.assign(static_cast<std::size_t>(gpus), 1);
  if (request.collective == Collective::broadcast || request.collective == Collective::reduce) {
    request.root = dice.index(0, gpus - 1);
    question.text += " root " + std::to_string(*request.root);
    question.demand.assign(static_cast<std::size_t>(gpus), 0);
    question.demand[*request.root] = 1;
  } else if (request.collective != Collective::allreduce && dice.oneIn(3)) {
    question.text += " amounts";
    int64_t divisor = 0;
    for (int rank = 0; rank < gpus; ++rank) {
      request.amounts.push_back(dice.oneIn(3) ? 0 : dice.pick(1, 6));
      divisor = std::gcd(divisor, request.amounts.back());
    }
    if (divisor == 0) {
      request.amounts.front() = divisor = 1;
    }
    for (std::size_t i = 0; i < request.amounts.size(); ++i) {
      question.text += (i == 0 ? " " : ",") + std::to_string(request.amounts[i]);
      question.demand[i] = request.amounts[i] / divisor;
    }
  }
  if (dice.oneIn(3)) {
    dice.oneIn(3);  // the draws that follow stay those of their seeds
  }
  if (dice.oneIn(4)) {
    request.fixedK = dice.pick(1, 5);
    question.text += " k " + std::to_string(*request.fixedK);
  } else if (dice.oneIn(8)) {
    request.maxK = dice.pick(1, 6);
    question.text += " k-max " + std::to_string(*request.maxK);
  }
  return question;
}

std::string faults(const Result<verify::ScheduleVerdict>& verdict) {
  if (!verdict) {
    return describe(verdict.error());
  }
  std::string text;
  if (!verdict->ok) {
    for (const Finding& finding : verdict->findings) {
      text += describe(finding) + "; ";
    }
    text = text.empty() ? "not verified, without a finding" : text;
  }
  return text;
}

/// Whole cut condition of one k at given whole capacities, by listing every set.
bool isFeasibleByListing(const fabric::Fabric& fabric, const std::vector<int64_t>& demand, int64_t k,
                         const std::vector<int64_t>& capacities) {
  for (unsigned set = 1; set + 1 < (1U << fabric.nodeCount()); ++set) {
    int64_t needed = 0;
    bool missesGpu = false;
    for (std::size_t rank = 0; rank < demand.size(); ++rank) {
      if ((set >> fabric.gpus()[rank] & 1U) != 0) {
        needed += k * demand[rank];
      } else {
        missesGpu = true;
      }
    }
    if (!missesGpu || needed == 0) {
      continue;
    }
    int64_t exit = 0;
    for (std::size_t i = 0; i < capacities.size(); ++i) {
      const fabric::Arc& arc = fabric.arcs()[i];
      exit += (set >> arc.tail & 1U) != 0 && (set >> arc.head & 1U) == 0 ? capacities[i] : 0;
    }
    if (exit < needed) {
      return false;
    }
  }
  return true;
}

/// floor(U * b), or just below U: ceil(U * b) - 1.
std::vector<int64_t> roundedCapacities(const fabric::Fabric& fabric, const InverseBandwidth& scale, bool justBelow) {
  std::vector<int64_t> capacities;
  for (const fabric::Arc& arc : fabric.arcs()) {
    const Rational product = arc.bandwidth * scale;
    capacities.push_back(product.floor() - (justBelow && product.isInteger() ? 1 : 0));
  }
  return capacities;
}

bool isDuplex(const fabric::Fabric& fabric) {
  return std::all_of(fabric.arcs().begin(), fabric.arcs().end(), [&](const fabric::Arc& arc) {
    const auto back = fabric.findArc(arc.head, arc.tail);
    return back && fabric.arcs()[*back].bandwidth == arc.bandwidth;
  });
}

bool isBalancedAtSwitches(const fabric::Fabric& fabric) {
  for (int node = 0; node < fabric.nodeCount(); ++node) {
    if (fabric.nodes()[node].kind != fabric::NodeKind::gpu && fabric.ingress(node) != fabric.egress(node)) {
      return false;
    }
  }
  return true;
}

struct Tally {
  std::map<std::string, int> counts;
  void add(const std::string& what) { ++counts[what]; }
};

constexpr int kMaxListedNodes = 12;

/// The optimum against all cuts. Empty = agrees, or too large to list.
std::string compareWithListing(const fabric::Fabric& fabric, const Question& question,
                               const forestcoll::Optimum& optimum, Tally& tally) {
  if (fabric.nodeCount() > kMaxListedNodes) {
    return {};
  }
  const forestcoll::Request& request = question.request;
  const fabric::Fabric turned = fabric.transposed();
  const Rational out = test::bruteForceRatio(fabric, question.demand);
  const Rational in = test::bruteForceRatio(turned, question.demand);
  InverseBandwidth bound(isReducing(request.collective) ? in : out);
  if (request.collective == Collective::allreduce) {
    bound = InverseBandwidth(in + out);
  }
  if (optimum.inverseRate < bound) {
    return "faster than a cut allows: 1/x = " + toFraction(optimum.inverseRate) + ", cuts say " + toFraction(bound);
  }
  if (!request.fixedK && !request.maxK) {
    tally.add("optimum listed");
    if (isBalancedAtSwitches(fabric) && optimum.inverseRate != bound) {
      return "1/x = " + toFraction(optimum.inverseRate) + ", listing all cuts gives " + toFraction(bound);
    }
    return {};
  }
  if (request.collective == Collective::allreduce || !isDuplex(fabric)) {
    return {};  // two scales, or rounded capacities that switches cannot all use
  }
  tally.add("fixed k listed");
  const int64_t k = optimum.treesPerRoot;
  if (optimum.inverseRate != optimum.scale / Rational(k)) {
    return "1/x is not U/k";
  }
  if (!isFeasibleByListing(fabric, question.demand, k, roundedCapacities(fabric, optimum.scale, false))) {
    return "U = " + toFraction(optimum.scale) + " is too small for k = " + std::to_string(k);
  }
  if (isFeasibleByListing(fabric, question.demand, k, roundedCapacities(fabric, optimum.scale, true))) {
    return "a smaller U than " + toFraction(optimum.scale) + " is feasible for k = " + std::to_string(k);
  }
  return {};
}

std::string solvePublicly(unsigned seed, const fabric::Fabric& fabric, const Question& question, Tally& tally,
                          std::optional<forestcoll::Optimum>& found) {
  auto generated = forestcoll::generate(fabric, question.request);
  auto optimum = forestcoll::optimum(fabric, question.request);
  if (generated.hasValue() != optimum.hasValue()) {
    return "optimum and generate disagree: " + describe(generated.hasValue() ? optimum.error() : generated.error());
  }
  if (!generated) {
    const ErrorCode code = generated.error().code;
    const bool mayRefuse = !isBalancedAtSwitches(fabric) || (question.request.fixedK || question.request.maxK);
    if (mayRefuse && (code == ErrorCode::unbalanced || code == ErrorCode::infeasible)) {
      tally.add("refused: unbalanced");
      return {};
    }
    if (code == ErrorCode::overflow) {
      tally.add("refused: overflow");
      return {};
    }
    return describe(generated.error());
  }
  // One max flow per GPU is cheap for a few; trees that reach a cut prove it tight without.
  constexpr int kFew = 64;
  const bool treesProveBound =
      generated->schedule.algbw == generated->schedule.bound && !generated->schedule.bottlenecks.empty();
  const auto verdict =
      verify::verifySchedule(fabric, generated->schedule, {.maxFlow = fabric.gpuCount() <= kFew || !treesProveBound});
  if (std::string wrong = faults(verdict); !wrong.empty()) {
    return wrong;
  }
  // Where forwarding alone sets the limit of one half of an allreduce, no cut says so.
  if (treesProveBound && !verdict->boundProved && isBalancedAtSwitches(fabric)) {
    return "the bound is not proved";
  }
  if (verdict->algbw != optimum->algbw || generated->optimum.algbw != optimum->algbw) {
    return "the trees reach " + toFraction(verdict->algbw) + ", the optimum is " + toFraction(optimum->algbw);
  }
  tally.add("verified forests");
  for (const auto* forest : {&generated->schedule.reduceForest, &generated->schedule.broadcastForest}) {
    if (*forest && !(**forest).rotations.empty()) {
      tally.add("with rotations");
    }
  }
  if (optimum->usedSubCapacity) {
    tally.add("by a sub-capacity");
  }
  if (seed / std::size(test::kSmallKinds) % 8 == 0) {
    const auto again = forestcoll::generate(fabric, question.request);
    if (!again || !(again->schedule == generated->schedule)) {
      return "the same question got another schedule";
    }
    tally.add("asked twice");
  }
  found = std::move(*optimum);
  return compareWithListing(fabric, question, *found, tally);
}

struct Combination {
  forestcoll::Trimming trimming;
  bool pairwiseOnly;
  bool roundToTreesPerRoot;
  bool decompose;
  std::optional<int> heightEffort;  ///< of the heuristics; none: edge by edge with the exact amount

  [[nodiscard]] std::string text() const {
    constexpr const char* kTrimming[] = {"none", "proportional", "restoring"};
    return std::string("trimming ") + kTrimming[static_cast<int>(trimming)] +
           (pairwiseOnly ? ", pairwise" : ", structured") + (roundToTreesPerRoot ? ", in grains" : "") +
           (decompose ? ", decomposed" : ", whole") +
           (heightEffort ? ", height effort " + std::to_string(*heightEffort) : std::string(", edge by edge"));
  }
};

std::vector<Combination> allCombinations() {
  std::vector<Combination> all;
  for (const auto trimming :
       {forestcoll::Trimming::none, forestcoll::Trimming::proportional, forestcoll::Trimming::restoring}) {
    for (const int bits : {0, 1, 2, 3, 4, 5, 6, 7}) {
      for (const int effort : {-1, 0, 1, 2}) {
        all.push_back({trimming, (bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0,
                       effort < 0 ? std::nullopt : std::optional<int>(effort)});
      }
    }
  }
  return all;
}

/// What the verifier says of a forest that was grown for the optimum.
std::string judge(const fabric::Fabric& fabric, const Question& question, const forestcoll::Network& network,
                  const forestcoll::Optimum& optimum, schedule::Forest&& forest) {
  schedule::Schedule schedule;
  schedule.collective = question.request.collective;
  schedule.fabricName = fabric.name();
  schedule.fabricDigest = fabric.digest();
  schedule.root = question.request.root;
  if (!question.request.amounts.empty()) {
    schedule.amounts = question.demand;
  }
  schedule.broadcastForest = std::move(forest);
  schedule.algbw = optimum.algbw;
  schedule.bottlenecks = optimum.bottlenecks;
  if (question.request.fixedK || question.request.maxK) {
    schedule.fixedK = optimum.treesPerRoot;
  }
  const schedule::Cut& cut = optimum.bottlenecks.front();
  schedule.bound = cut.exitBandwidth * Rational(network.totalDemand) / Rational(cut.demand);
  return faults(verify::verifySchedule(fabric, schedule));
}

/// Boxes on a network, where the fabric has that shape and the strategy finds a forest.
std::string solveByTwoLevels(const fabric::Fabric& fabric, const Question& question, const forestcoll::Optimum& optimum,
                             Tally& tally) {
  const forestcoll::Network network = forestcoll::makeNetwork(fabric, question.demand);
  const std::vector<int64_t> supply = forestcoll::supplies(network, optimum.treesPerRoot);
  const auto capacities = forestcoll::scaledArcs(network, optimum.scale * network.unit);
  auto found = forestcoll::growTwoLevel(network, capacities, supply, {});
  if (!found) {
    return {};
  }
  tally.add("by two levels");
  return judge(fabric, question, network, optimum,
               forestcoll::recoverPaths(found->topology, found->logical, std::move(found->trees), optimum.scale, {}));
}

/// One pipeline from capacities to a schedule, by the internal stages.
std::string solveBy(const Combination& by, const fabric::Fabric& fabric, const Question& question,
                    const forestcoll::Optimum& optimum) {
  const forestcoll::Network network = forestcoll::makeNetwork(fabric, question.demand);
  const int64_t k = optimum.treesPerRoot;
  const std::vector<int64_t> supply = forestcoll::supplies(network, k);
  std::vector<forestcoll::TreeArc> capacities = forestcoll::scaledArcs(network, optimum.scale * network.unit);
  forestcoll::trimCapacities(network, capacities, supply, by.trimming, {});
  const auto topology =
      forestcoll::removeSwitches(network, capacities, supply, {},
                                 {.pairwiseOnly = by.pairwiseOnly, .roundToTreesPerRoot = by.roundToTreesPerRoot});
  const auto logical = forestcoll::logicalProblem(network, topology, supply);
  forestcoll::PackingOptions packing;
  packing.decompose = by.decompose;
  packing.heuristics = by.heightEffort.has_value();
  packing.heightEffort = by.heightEffort.value_or(0);
  auto trees = forestcoll::packTrees(logical.packing, {}, packing);
  return judge(fabric, question, network, optimum,
               forestcoll::recoverPaths(topology, logical, std::move(trees), optimum.scale, {}));
}

std::string solveByEach(const std::vector<Combination>& combinations, const fabric::Fabric& fabric,
                        const Question& question, const forestcoll::Optimum& optimum, Tally& tally) {
  if (question.request.collective == Collective::allreduce || optimum.usedSubCapacity ||
      !isBalancedAtSwitches(fabric) || optimum.bottlenecks.empty()) {
    return {};
  }
  if (isReducing(question.request.collective)) {
    // A reduction is the other collective on the transposed fabric, and so is its cut.
    Question turned = question;
    turned.request.collective = question.request.root ? Collective::broadcast : Collective::allgather;
    return solveByEach(combinations, fabric.transposed(), turned, optimum, tally);
  }
  if (std::string wrong = solveByTwoLevels(fabric, question, optimum, tally); !wrong.empty()) {
    return "two levels: " + wrong;
  }
  for (const Combination& by : combinations) {
    std::string wrong;
    try {
      wrong = solveBy(by, fabric, question, optimum);
    } catch (const Failure& failure) {
      wrong = describe(failure.error);
    } catch (const OverflowError& overflow) {
      wrong = overflow.what();
    }
    if (!wrong.empty()) {
      return by.text() + ": " + wrong;
    }
    tally.add("verified forests");
    tally.add("by combination");
  }
  return {};
}

struct Options {
  unsigned count = 400;
  unsigned first = 1;
  bool allCombinations = true;
  bool isMedium = false;
};

std::string runMedium(unsigned seed, Tally& tally, std::string& what) {
  const auto fabric = fabric::Fabric::build(
      test::mediumFabric(static_cast<int>(seed % static_cast<unsigned>(test::kMediumKinds)), seed));
  if (!fabric) {
    tally.add("not a fabric");
    return fabric.error().code == ErrorCode::infeasible ? std::string() : describe(fabric.error());
  }
  Dice dice(seed ^ 0x9e3779b9U);
  const Question question = makeQuestion(*fabric, dice);
  what = fabric->name() + ", " + std::to_string(fabric->gpuCount()) + " GPUs, " + question.text;
  tally.add("instances");
  std::optional<forestcoll::Optimum> optimum;
  return solvePublicly(seed, *fabric, question, tally, optimum);
}

std::string runInstance(unsigned seed, const Options& options, Tally& tally, std::string& what) {
  constexpr auto kKinds = static_cast<unsigned>(std::size(test::kSmallKinds));
  const test::SmallKind kind = test::kSmallKinds[seed % kKinds];
  what = std::string(toString(kind));
  const auto fabric = fabric::Fabric::build(test::smallFabric(kind, seed));
  if (!fabric) {
    // Boxes of one GPU each, or a box cut off, are no fabric; sums may leave the exact range.
    const bool isExpected = fabric.error().code == ErrorCode::infeasible || fabric.error().code == ErrorCode::overflow;
    tally.add("not a fabric");
    return isExpected ? std::string() : describe(fabric.error());
  }
  Dice dice(seed ^ 0x9e3779b9U);
  Question question = makeQuestion(*fabric, dice);
  what += ", " + std::to_string(fabric->gpuCount()) + " GPUs, " + question.text;
  tally.add("instances");
  tally.add("kind " + std::string(toString(kind)));

  std::optional<forestcoll::Optimum> optimum;
  std::string wrong = solvePublicly(seed, *fabric, question, tally, optimum);
  if (!wrong.empty() || !optimum) {
    return wrong;
  }
  static const std::vector<Combination> kAll = allCombinations();
  if (options.allCombinations) {
    return solveByEach(kAll, *fabric, question, *optimum, tally);
  }
  std::vector<Combination> some;
  for (int i = 0; i < 4; ++i) {
    some.push_back(kAll[dice.pick(0, static_cast<int64_t>(kAll.size()) - 1)]);
  }
  return solveByEach(some, *fabric, question, *optimum, tally);
}

std::optional<unsigned> parseNumber(const char* text) {
  char* end = nullptr;
  const unsigned long value = std::strtoul(text, &end, 10);
  if (end == text || *end != '\0' || *text == '-' || value > 1'000'000'000UL) {
    return std::nullopt;
  }
  return static_cast<unsigned>(value);
}

std::optional<Options> parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view name = argv[i];
    if (i + 1 >= argc) {
      return std::nullopt;
    }
    const std::string_view value = argv[i + 1];
    if (name == "--fabrics" && (value == "small" || value == "medium")) {
      options.isMedium = value == "medium";
      continue;
    }
    if (name == "--combinations" && (value == "all" || value == "some")) {
      options.allCombinations = value == "all";
      continue;
    }
    const auto number = parseNumber(argv[i + 1]);
    if (!number || (name != "--count" && name != "--seed")) {
      return std::nullopt;
    }
    (name == "--count" ? options.count : options.first) = *number;
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = parse(argc, argv);
  if (!options) {
    std::fputs("usage: fuzz_strategies [--count N] [--seed FIRST] [--combinations all|some] [--fabrics small|medium]\n",
               stderr);
    return 2;
  }
  Tally tally;
  int failures = 0;
  for (unsigned seed = options->first; seed < options->first + options->count; ++seed) {
    std::string what;
    const std::string wrong =
        options->isMedium ? runMedium(seed, tally, what) : runInstance(seed, *options, tally, what);
    if (!wrong.empty()) {
      ++failures;
      std::printf("FAIL --seed %u --count 1%s (%s): %s\n", seed, options->isMedium ? " --fabrics medium" : "",
                  what.c_str(), wrong.c_str());
      std::fflush(stdout);
    }
  }
  std::printf("seeds %u to %u, %d wrong\n", options->first, options->first + options->count - 1, failures);
  for (const auto& [text, count] : tally.counts) {
    std::printf("  %-24s %d\n", text.c_str(), count);
  }
  return failures == 0 ? 0 : 1;
}
