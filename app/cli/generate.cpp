// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <memory>
#include <ostream>

#include "answer.hpp"
#include "base/memory.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "forestcoll/forestcoll.hpp"
#include "forestcoll/peers/peer_limit.hpp"
#include "heights_text.hpp"
#include "input.hpp"
#include "io/forest_json.hpp"
#include "memory_limit.hpp"
#include "schedule/expansion.hpp"
#include "sizes_text.hpp"
#include "text.hpp"
#include "tree_text.hpp"
#include "verified.hpp"

namespace coppice::cli {
namespace {

struct Options {
  FabricOptions fabric;
  RequestOptions request;
  std::string sizes = {};
  std::string form = "auto";
  bool prune = false;
  std::int64_t showTrees = 0;
  int heightEffort = 1;
  std::optional<int> maxHeight;
  std::optional<int> maxPeers;
  std::string output;
};

class Clock {
public:
  /// Seconds since the last call, or since the start.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double> elapsed = now - m_start;
    m_start = now;
    return elapsed.count();
  }

private:
  std::chrono::steady_clock::time_point m_start = std::chrono::steady_clock::now();
};

Result<schedule::ForestForm> parseForm(const std::string& text) {
  if (text == "auto") {
    return schedule::ForestForm::automatic;
  }
  if (text == "trees") {
    return schedule::ForestForm::trees;
  }
  if (text == "parts") {
    return schedule::ForestForm::parts;
  }
  return Error{ErrorCode::badUsage, "--form: " + inQuotes(text) + " is not a form", "use auto, trees or parts"};
}

/// Written out, the trees take at least one edge per GPU and root with data; a reduction turned round is a copy.
Outcome requireMemoryForTrees(const fabric::Fabric& fabric, const forestcoll::Request& request) {
  const bool isRooted = request.collective == Collective::broadcast || request.collective == Collective::reduce;
  const std::int64_t roots = isRooted ? 1
                             : request.amounts.empty()
                                 ? fabric.gpuCount()
                                 : static_cast<std::int64_t>(request.amounts.size()) -
                                       std::count(request.amounts.begin(), request.amounts.end(), 0);
  const std::int64_t halves = request.collective == Collective::allreduce ? 2 : 1;
  return requireMemory(halves * roots * (fabric.gpuCount() - 1) * static_cast<std::int64_t>(sizeof(schedule::TreeEdge)),
                       "the trees, written out,", "use --form parts, or raise --memory-limit");
}

/// In-network pruning differs from place to place, so it needs the trees themselves.
Outcome prune(const fabric::Fabric& fabric, schedule::Schedule& schedule, const Progress& progress) {
  for (auto* forest : {&schedule.reduceForest, &schedule.broadcastForest}) {
    if (*forest) {
      auto written =
          schedule::expanded(**forest, fabric, memoryWithinLimits().value_or(schedule::kMaxExpandedBytes), progress);
      if (!written) {
        Error error = written.error();
        if (error.code == ErrorCode::limit) {
          error.message = "pruning needs every tree: " + error.message;
          error.fix = "leave --prune out, or raise --memory-limit";
        }
        return error;
      }
      *forest = *std::move(written);
      forestcoll::pruneInNetwork(fabric, **forest);
    }
  }
  return Done{};
}

/// What limits on height and peers cost together.
void describeLimits(const Options& options, const schedule::Schedule& schedule, const forestcoll::Optimum& optimum,
                    Answer& answer) {
  const bool isReached = schedule.algbw == optimum.algbw;
  std::string label;
  std::string limits;
  if (options.maxHeight) {
    answer.json["height_limit"] = *options.maxHeight;
    label = "height cap  ";
    limits = counted(*options.maxHeight, "hop");
  }
  if (options.maxPeers) {
    answer.json["peer_limit"] = *options.maxPeers;
    label = label.empty() ? "peer limit  " : "limits      ";
    limits += (limits.empty() ? "" : " and ") + counted(*options.maxPeers, "peer") + " per GPU";
  }
  answer.json["share_of_optimum"] = (schedule.algbw / optimum.algbw).toString();
  answer.json["optimum_algbw"] = optimum.algbw.toString();
  answer.json["algbw"] = schedule.algbw.toString();
  answer.json["algbw_GBps"] = schedule.algbw.toDouble();
  const Rational bus = busbw(schedule.collective, schedule.algbw, optimum.gpuCount);
  answer.json["busbw"] = bus.toString();
  answer.json["busbw_GBps"] = bus.toDouble();
  if (isReached) {
    answer.text += "  " + label + limits + ": kept without loss\n";
    return;
  }
  answer.json["optimal"] = false;
  answer.text += "  " + label + limits + ": the best trees found reach " + gigabytes(schedule.algbw) + ", " +
                 percent(schedule.algbw, optimum.algbw) + " (" + (schedule.algbw / optimum.algbw).toString() +
                 ") of it\n";
}

/// The number of trees for --sizes.
Result<advice::TreeCount> chooseTrees(const fabric::Fabric& fabric, const forestcoll::Request& request,
                                      const std::string& sizes, const Progress& progress) {
  const auto wanted = parseSizes(sizes, "--sizes");
  if (!wanted) {
    return wanted.error();
  }
  auto chosen = advice::treeCountFor(fabric, request, *wanted, progress);
  if (!chosen && chosen.error().code == ErrorCode::badUsage) {
    Error error = chosen.error();
    error.message.insert(0, "--sizes: ");
    return error;
  }
  return chosen;
}

Result<Report> run(const Options& options, bool json, const Progress& progress) {
  Clock clock;
  if (const Outcome kept = keepInput(options.fabric.source, options.output); !kept) {
    return kept.error();
  }
  const auto loaded = loadFabric(options.fabric, progress);
  if (!loaded) {
    return loaded.error();
  }
  const fabric::Fabric& fabric = loaded->fabric;
  auto request = makeRequest(fabric, options.request);
  if (!request) {
    return request.error();
  }
  const auto form = parseForm(options.form);
  if (!form) {
    return form.error();
  }
  request->form = *form;
  request->heightEffort = options.heightEffort;
  request->maxHeight = options.maxHeight;
  if (*form == schedule::ForestForm::trees) {
    if (const Outcome fits = requireMemoryForTrees(fabric, *request); !fits) {
      return fits.error();
    }
  }
  Json seconds = {{"load", clock.lap()}};
  std::optional<advice::TreeCount> treeCount;
  if (!options.sizes.empty()) {
    auto chosen = chooseTrees(fabric, *request, options.sizes, progress);
    if (!chosen) {
      return chosen.error();
    }
    treeCount = *std::move(chosen);
    request->fixedK = treeCount->k;
    request->maxK.reset();
    seconds["choosing_k"] = clock.lap();
  }

  auto generated = forestcoll::generateLimited(fabric, *request, options.maxPeers, progress);
  if (!generated) {
    return generated.error();
  }
  double total = clock.lap();
  for (const forestcoll::StageSeconds& stage : generated->seconds) {
    seconds[stage.stage] = stage.seconds;
  }
  schedule::Schedule& schedule = generated->schedule;
  if (options.prune) {
    if (const Outcome pruned = prune(fabric, schedule, progress); !pruned) {
      return pruned.error();
    }
    const double pruning = clock.lap();
    seconds["pruning"] = pruning;
    total += pruning;
  }
  const auto verdict = requireVerified(fabric, schedule, progress);
  if (!verdict) {
    return verdict.error();
  }
  const double verifying = clock.lap();
  seconds["verifying"] = verifying;
  total += verifying;

  std::optional<forestcoll::Optimum> free;
  if (const auto unlimited = withoutTreeLimit(*request)) {
    auto found = forestcoll::optimum(fabric, *unlimited, progress);
    if (!found) {
      return found.error();
    }
    free = *std::move(found);
  }
  const auto tied = cutsOf(fabric, *request, generated->optimum, progress);
  if (!tied) {
    return tied.error();
  }
  Answer answer = describeOptimum(fabric, *request, generated->optimum, *tied, free ? &*free : nullptr);
  if (options.maxHeight || options.maxPeers) {
    describeLimits(options, schedule, generated->optimum, answer);
  }
  if (treeCount) {
    describeTreeCount(options.sizes, *treeCount, answer.json, answer.text);
  }
  describeTrees(fabric, schedule, progress, answer.json, answer.text);
  if (const Outcome described = describeUsedSizes(fabric, schedule, answer.json, answer.text); !described) {
    return described.error();
  }
  if (*form == schedule::ForestForm::parts && !options.prune && answer.json["form"] == "trees") {
    answer.text += "  form        trees: the fabric does not fall into parts that its trees could be kept by\n";
  }
  answer.json["verified"] = verdict->ok;
  answer.json["bound_proved"] = verdict->boundProved;
  answer.text += std::string("  verified    every tree, route and link load") +
                 (verdict->boundProved ? ", and the bound by max flow or by the trees themselves\n" : "\n");
  seconds["total"] = total;
  answer.json["seconds"] = seconds;
  answer.json["import_findings"] = toJson(loaded->findings);
  answer.text += "  time        " + duration(total) + " with verification\n" +
                 treeText(fabric, schedule, options.showTrees) + lines(loaded->findings);

  Report report{std::move(answer.json), std::move(answer.text)};
  if (!options.output.empty()) {
    const Outcome delivered = deliver(
        options.output,
        [&](std::ostream& out) {
          return io::writeForestJson(out, schedule, fabric, &loaded->description, schedule::ForestForm::automatic,
                                     progress);
        },
        "  schedule    ", json, report);
    if (!delivered) {
      return delivered.error();
    }
  }
  return report;
}

}  // namespace

void addGenerate(CLI::App& app, Invocation& invocation) {
  CLI::App& sub =
      addSubcommand(app, invocation, "generate", "Spanning trees that reach the optimum, verified, as a schedule file",
                    "  coppice-cli generate examples/2x-dgx-a100.fabric.json -o allgather.forest.json\n"
                    "  coppice-cli generate cluster.fabric.json -c allreduce --k-max 8 -o ar.forest.json\n"
                    "  coppice-cli generate preset:mi250,boxes=2 --gpus 0-7,16-23 -c reduce --root 0 -o r.forest.json\n"
                    "  coppice-cli generate preset:mi250,boxes=2 --max-height 6\n"
                    "  coppice-cli generate cluster.fabric.json --sizes pow2 -o ag.forest.json\n"
                    "  coppice-cli generate preset:dgx-a100,boxes=128 --max-peers 32 -o large.forest.json");
  auto options = std::make_shared<Options>();
  addFabricOptions(sub, options->fabric);
  addRequestOptions(sub, options->request);
  sub.add_option("--sizes", options->sizes,
                 "Take the best k whose program runtimes use at these sizes (bytes of the whole collective, float32): "
                 "pow2, or a list as in 1MiB,100MiB; looks at k up to that of the optimum, or up to --k-max")
      ->type_name("SIZES")
      ->excludes("--k")
      ->excludes("--within");
  sub.add_flag("--prune", options->prune, "Use switches that multicast or aggregate to take traffic off links");
  sub.add_option("--show-trees", options->showTrees, "Print the first N trees with their routes")
      ->check(CLI::Range(0, 1 << 30))
      ->type_name("N");
  sub.add_option("--height-effort", options->heightEffort,
                 "Work spent on low trees: 0 none, 1 cheap, each more about doubles it")
      ->check(CLI::Range(0, 8))
      ->capture_default_str();
  sub.add_option("--max-height", options->maxHeight,
                 "No tree higher than this many GPU-to-GPU hops, at the least loss of throughput that is found")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("HOPS");
  sub.add_option("--max-peers", options->maxPeers,
                 "No GPU sends to or receives from more GPUs than this; GPUs of different boxes relay for each other")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N");
  sub.add_option("--form", options->form,
                 "trees (each one written out), parts (by distinct parts, for thousands of GPUs), or auto")
      ->capture_default_str();
  sub.add_option("-o,--output", options->output, "Schedule file (.forest.json) to write; none where absent");
  sub.callback([options, &invocation] {
    invocation.action = [options, &invocation](const Progress& progress) {
      return run(*options, invocation.json, progress);
    };
  });
}

}  // namespace coppice::cli
