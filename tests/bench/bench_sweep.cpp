// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "forestcoll/forestcoll.hpp"
#include "io/fabric_json.hpp"
#include "schedule/forest.hpp"
#include "support/large_fabrics.hpp"
#include "verify/schedule_verifier.hpp"
#include "verify/tree_bound_check.hpp"
#include "workflow/request.hpp"

/// Random parameters of the presets for clusters, fat trees, dragonflies and tori, some with lost or slow parts, up to
/// 1,024 GPUs: every collective is generated and verified. Prints how the times and heights are distributed.
///
///   bench_sweep [--first N] [--count M] [--limit SECONDS] [--collective NAME] [--switches KIND] [--json FILE]
///               [--write FOLDER]
///   bench_sweep --summary FILE...
///
/// Draw N is the same fabric on every machine. --json appends one line per run, so that a long sweep can be run in
/// portions; --summary prints the distribution over such files. --write keeps the fabrics as files too. A run beyond
/// the limit (60 s) is stopped and counts as failed. With "--switches capable" switches inside boxes, outside boxes, or
/// both, copy and sum. The proof of the bound of trees is checked too; how many allreduces do not reach theirs is
/// printed. The status is 1 where some run failed.
namespace {

using namespace coppice;
using test::Dice;
using Json = nlohmann::ordered_json;
using Arguments = std::map<std::string, std::string>;

constexpr int kMaxGpus = 1024;

struct Draw {
  std::string text;  ///< as on the command line, and what was lost
  fabric::Description description;
};

template <std::size_t Count>
const char* choose(Dice& dice, const std::array<const char*, Count>& values) {
  return values[static_cast<std::size_t>(dice.pick(0, static_cast<std::int64_t>(Count) - 1))];
}

std::string between(Dice& dice, int low, int high) {
  return std::to_string(dice.index(low, high));
}

constexpr std::array kSubscriptions = {"1", "1", "1", "3/2", "2", "4"};

/// One entry per box of one of two kinds, or one entry for all.
std::string perBox(Dice& dice, int boxes, bool isMixed, const std::string& first, const std::string& second) {
  std::string text = first;
  for (int box = 1; isMixed && box < boxes; ++box) {
    text += "," + (dice.oneIn(2) ? first : second);
  }
  return text;
}

std::pair<std::string, Arguments> drawCluster(Dice& dice) {
  constexpr std::array kSizes = {4, 8, 8, 8, 16, 32, 64, 72};
  constexpr std::array kNvlink = {"100", "150", "200", "300", "450", "900"};
  constexpr std::array kNic = {"12.5", "25", "50", "100", "200", "400"};
  constexpr std::array kNetworks = {"simple", "simple", "planes", "rails", "rail-only", "leaf-spine"};
  const int size = kSizes[static_cast<std::size_t>(dice.pick(0, 7))];
  const int boxes = dice.index(2, std::min(100, kMaxGpus / size));
  const bool isMixed = dice.oneIn(6);
  const std::string network = choose(dice, kNetworks);
  Arguments arguments{{"boxes", std::to_string(boxes)}, {"network", network}};
  const bool areSizesMixed = isMixed && dice.oneIn(2);
  arguments["gpus"] = perBox(dice, boxes, areSizesMixed, std::to_string(size), std::to_string(size - size / 4));
  const std::string nvlink = choose(dice, kNvlink);
  arguments["nvlink"] = perBox(dice, boxes, isMixed && !areSizesMixed, nvlink, choose(dice, kNvlink));
  const std::string nic = choose(dice, kNic);
  arguments["nic"] = perBox(dice, boxes, isMixed && !areSizesMixed && dice.oneIn(2), nic, choose(dice, kNic));
  if (network == "planes") {
    arguments["planes"] = between(dice, 2, std::min(8, size - size / 4));
  }
  if (network == "leaf-spine") {
    arguments["boxes_per_leaf"] = between(dice, 1, 8);
    arguments["spines"] = between(dice, 1, 8);
  }
  if (network == "leaf-spine" || network == "rails") {
    arguments["oversubscription"] = choose(dice, kSubscriptions);
  }
  return {"cluster", arguments};
}

std::pair<std::string, Arguments> drawRails(Dice& dice) {
  constexpr std::array kNvlink = {"300", "450", "900"};
  constexpr std::array kNic = {"25", "50", "100"};
  const int size = dice.oneIn(3) ? 4 : 8;
  return {"rail-optimised",
          {{"boxes", between(dice, 2, kMaxGpus / size)},
           {"gpus", std::to_string(size)},
           {"nvlink", choose(dice, kNvlink)},
           {"nic", choose(dice, kNic)},
           {"oversubscription", choose(dice, kSubscriptions)}}};
}

std::pair<std::string, Arguments> drawFatTree(Dice& dice) {
  if (dice.oneIn(2)) {
    const int leaves = dice.index(2, 64);
    return {"fat-tree-2",
            {{"leaves", std::to_string(leaves)},
             {"gpus_per_leaf", between(dice, 2, std::min(32, kMaxGpus / leaves))},
             {"spines", between(dice, 1, 16)},
             {"oversubscription", choose(dice, kSubscriptions)}}};
  }
  const int pods = dice.index(2, 16);
  const int leaves = dice.index(1, 8);
  const int spines = dice.index(1, 8);
  return {"fat-tree-3",
          {{"pods", std::to_string(pods)},
           {"leaves_per_pod", std::to_string(leaves)},
           {"gpus_per_leaf", between(dice, 1, std::min(16, kMaxGpus / (pods * leaves)))},
           {"spines_per_pod", std::to_string(spines)},
           {"cores", std::to_string(spines * dice.index(1, 4))},
           {"wiring", dice.oneIn(3) ? "full" : "planes"},
           {"oversubscription", choose(dice, kSubscriptions)},
           {"core_oversubscription", choose(dice, kSubscriptions)}}};
}

std::pair<std::string, Arguments> drawDragonfly(Dice& dice) {
  constexpr std::array kSpeeds = {"25", "25", "50", "100"};
  while (true) {
    const int a = dice.index(2, 8);
    const int h = dice.index(1, 4);
    const int p = dice.index(1, 8);
    if ((a * h + 1) * a * p <= kMaxGpus) {
      return {"dragonfly",
              {{"a", std::to_string(a)},
               {"h", std::to_string(h)},
               {"p", std::to_string(p)},
               {"terminal", choose(dice, kSpeeds)},
               {"local", choose(dice, kSpeeds)},
               {"global", choose(dice, kSpeeds)}}};
    }
  }
}

std::pair<std::string, Arguments> drawTorus(Dice& dice) {
  constexpr std::array kSpeeds = {"25", "25", "50", "100"};
  const int dimensions = dice.index(1, 4);
  std::string sides;
  std::string speeds;
  const bool hasSpeeds = dice.oneIn(3);
  for (int i = 0, left = kMaxGpus; i < dimensions && left >= 2; ++i) {
    const int maximum = dimensions == 1 ? 256 : std::min(left, 32);
    const int side = dice.index(2, std::max(2, i + 1 < dimensions ? std::min(maximum, 16) : maximum));
    left /= side;
    sides += (i == 0 ? "" : "x") + std::to_string(side);
    speeds += (i == 0 ? "" : ",") + std::string(choose(dice, kSpeeds));
  }
  return {"torus", {{"dims", sides}, {"bandwidth", hasSpeeds ? speeds : "25"}}};
}

/// Half of the fabrics lose GPUs, lose links or have slow links.
void damage(Dice& dice, Draw& draw) {
  const std::int64_t kind = dice.pick(0, 7);
  std::vector<std::string> gpus;
  for (const fabric::NodeDescription& node : draw.description.nodes) {
    if (node.kind == "gpu") {
      gpus.push_back(node.id);
    }
  }
  if (kind < 2 && gpus.size() > 4) {
    const int count = dice.index(1, std::max(1, static_cast<int>(gpus.size()) / 40));
    std::vector<std::string> order = gpus;
    dice.shuffle(order);
    const std::set<std::string> lost(order.begin(), order.begin() + count);
    gpus.erase(std::remove_if(gpus.begin(), gpus.end(), [&](const auto& id) { return lost.count(id) != 0; }),
               gpus.end());
    if (auto rest = fabric::subset(draw.description, gpus)) {
      draw.description = *std::move(rest);
      draw.text += " without";
      for (const std::string& id : lost) {
        draw.text += " " + id;
      }
    }
  } else if (kind < 4) {
    const int count = dice.index(1, 3);
    for (int i = 0; i < count && !draw.description.links.empty(); ++i) {
      const auto place =
          static_cast<std::size_t>(dice.pick(0, static_cast<std::int64_t>(draw.description.links.size()) - 1));
      fabric::LinkDescription& link = draw.description.links[place];
      draw.text += (kind == 2 ? " without link " : " half of link ") + link.src + "-" + link.dst;
      if (kind == 2) {
        draw.description.links.erase(draw.description.links.begin() + static_cast<std::ptrdiff_t>(place));
      } else if (const auto bandwidth = Bandwidth::parse(link.bandwidth)) {
        link.bandwidth = (bandwidth->gigabytesPerSecond() / Rational(2)).toString();
      }
    }
  }
}

Draw makeDraw(int number) {
  Dice dice(static_cast<unsigned>(number) + 1);
  const std::int64_t family = dice.pick(0, 9);
  const auto [preset, arguments] = family < 4   ? drawCluster(dice)
                                   : family < 5 ? drawRails(dice)
                                   : family < 7 ? drawFatTree(dice)
                                   : family < 8 ? drawDragonfly(dice)
                                                : drawTorus(dice);
  Draw draw;
  draw.text = preset;
  for (const auto& [key, value] : arguments) {
    draw.text += " " + key + "=" + value;
  }
  draw.description = test::presetDescription(preset, arguments);
  Draw whole = draw;
  damage(dice, draw);
  // Without links some fabrics fall apart: those stay whole.
  const auto fabric = fabric::Fabric::build(draw.description);
  if (!fabric) {
    return whole;
  }
  const auto optimum = forestcoll::optimum(*fabric, {});
  return !optimum && optimum.error().code == ErrorCode::infeasible ? whole : draw;
}

/// Draw N has the same switches marked on every machine.
void markSwitches(int number, Draw& draw) {
  Dice dice(static_cast<unsigned>(number) + 1'000'001);
  const int kind = dice.index(0, 2);
  for (fabric::NodeDescription& node : draw.description.nodes) {
    const bool isMarked = node.kind == "switch" && (kind == 2 || node.box.empty() == (kind == 1));
    node.multicast = isMarked;
    node.aggregation = isMarked;
  }
  constexpr std::array kNames = {" inner switches", " outer switches", " all switches"};
  draw.text += std::string(kNames[static_cast<std::size_t>(kind)]) + " copy and sum";
}

double processorSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Asks for a stop after this many seconds, unless it ends before.
class Timer {
public:
  explicit Timer(double seconds)
      : m_thread([this, seconds](const std::stop_token& ended) {
          std::unique_lock lock(m_mutex);
          if (!m_wake.wait_for(lock, ended, std::chrono::duration<double>(seconds), [] { return false; }) &&
              !ended.stop_requested()) {
            m_stop.request_stop();
          }
        }) {}
  [[nodiscard]] Progress progress() const {
    Progress progress;
    progress.stop = m_stop.get_token();
    return progress;
  }

private:
  std::stop_source m_stop;
  std::mutex m_mutex;
  std::condition_variable_any m_wake;
  std::jthread m_thread;
};

Json runOne(const fabric::Fabric& fabric, Collective collective, double limit) {
  Json line;
  line["collective"] = std::string(toString(collective));
  workflow::Demand demand;
  demand.collective = collective;
  if (isRooted(collective)) {
    demand.root = 0;
  }
  const forestcoll::Request request = workflow::requestOf(demand);  // as on the command line
  std::string failure;
  const double cpu = processorSeconds();
  const auto start = std::chrono::steady_clock::now();
  {
    const Timer timer(limit);
    const Progress progress = timer.progress();
    const auto generated = forestcoll::generate(fabric, request, progress);
    if (!generated) {
      failure = describe(generated.error());
    } else {
      // Trees that meet a cut prove the bound by themselves, so no max flow is needed beside them.
      const auto verdict = verify::verifySchedule(fabric, generated->schedule, {.maxFlow = false}, progress);
      failure = !verdict ? describe(verdict.error()) : verdict->ok ? "" : "not verified";
      const forestcoll::Optimum& optimum = generated->optimum;
      if (failure.empty() && optimum.boundProof) {
        const auto proof = verify::checkTreeBound(fabric, *optimum.boundProof, {.collective = collective}, progress);
        failure = !proof ? describe(proof.error()) : proof->ok ? "" : "the proof of the bound is wrong";
      }
      if (collective == Collective::allreduce) {
        line["share"] = optimum.allreduceLimit ? toGBps(optimum.algbw) / toGBps(optimum.allreduceLimit->algbw) : 0.0;
      }
    }
    line["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    line["cpu"] = processorSeconds() - cpu;
    if (failure.empty()) {
      schedule::Heights highest;
      for (const auto* forest : {&generated->schedule.reduceForest, &generated->schedule.broadcastForest}) {
        if (*forest) {
          const schedule::Heights heights = schedule::heights(**forest);
          highest.logicalMax = std::max(highest.logicalMax, heights.logicalMax);
          highest.logicalMean = std::max(highest.logicalMean, heights.logicalMean);
        }
      }
      line["k"] = generated->optimum.treesPerRoot;
      line["height"] = highest.logicalMax;
      line["mean_height"] = highest.logicalMean;
    }
  }
  line["failure"] = failure;
  return line;
}

double quantile(std::vector<double> sorted, double part) {
  if (sorted.empty()) {
    return 0;
  }
  std::sort(sorted.begin(), sorted.end());
  const auto place = static_cast<std::size_t>(part * static_cast<double>(sorted.size()));
  return sorted[std::min(place, sorted.size() - 1)];
}

void printTimes(const char* label, const std::vector<double>& values) {
  std::printf("| %-14s | %5zu |", label, values.size());
  for (const double part : {0.5, 0.9, 0.95, 0.99}) {
    std::printf(" %6.2f |", quantile(values, part));
  }
  std::printf(" %6.2f |", quantile(values, 1));
  for (const double limit : {1.0, 3.0}) {
    std::printf(" %5td |", std::count_if(values.begin(), values.end(), [&](double v) { return v > limit; }));
  }
  std::printf("\n");
}

/// Status for the shell.
int summarise(const std::vector<Json>& lines) {
  std::map<std::string, std::vector<double>> wall;
  std::map<std::string, std::vector<double>> cpu;
  std::map<std::string, std::map<int, int>> heights;
  std::vector<const Json*> failures;
  std::vector<const Json*> ordered;
  for (const Json& line : lines) {
    if (!line["failure"].get<std::string>().empty()) {
      failures.push_back(&line);
    } else {
      const std::string family = line["fabric"].get<std::string>();
      ++heights[family.substr(0, family.find(' '))][line["height"].get<int>()];
    }
    ordered.push_back(&line);
    for (const std::string& label : {std::string("all"), line["collective"].get<std::string>()}) {
      wall[label].push_back(line["seconds"].get<double>());
      cpu[label].push_back(line["cpu"].get<double>());
    }
  }
  std::printf("| seconds        | runs  |    50%% |    90%% |    95%% |    99%% |    max |   > 1 |   > 3 |\n");
  std::printf("|---|---|---|---|---|---|---|---|---|\n");
  for (const auto& [label, values] : wall) {
    printTimes(label.c_str(), values);
  }
  for (const auto& [label, values] : cpu) {
    printTimes((label + ", CPU").c_str(), values);
  }
  std::printf("\nheights (GPU hops: runs)\n");
  for (const auto& [family, counts] : heights) {
    std::printf("  %-15s", family.c_str());
    for (const auto& [height, count] : counts) {
      std::printf(" %d: %d", height, count);
    }
    std::printf("\n");
  }
  constexpr std::size_t kShown = 10;
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const Json* a, const Json* b) { return (*a)["cpu"].get<double>() > (*b)["cpu"].get<double>(); });
  std::printf("\nmost processor time (seconds, CPU seconds, height, GPUs)\n");
  for (std::size_t i = 0; i < std::min(kShown, ordered.size()); ++i) {
    const Json& line = *ordered[i];
    std::printf("  %6.2f %6.2f %3d %5d  %d %s %s\n", line["seconds"].get<double>(), line["cpu"].get<double>(),
                line.value("height", 0), line["gpus"].get<int>(), line["draw"].get<int>(),
                line["collective"].get<std::string>().c_str(), line["fabric"].get<std::string>().c_str());
  }
  int allreduces = 0;
  int below = 0;
  double least = 1;
  const Json* worst = nullptr;
  for (const Json* line : ordered) {
    if (line->contains("share")) {
      const double share = (*line)["share"].get<double>();
      ++allreduces;
      below += share < 1 ? 1 : 0;
      worst = share < least ? line : worst;
      least = std::min(least, share);
    }
  }
  if (allreduces > 0) {
    std::printf("\nallreduces below their bound: %d of %d; the least share is %.4f", below, allreduces, least);
    std::printf("%s\n", worst == nullptr ? "" : (" (draw " + (*worst)["draw"].dump() + ")").c_str());
  }
  std::printf("\nfailures: %zu\n", failures.size());
  for (const Json* line : failures) {
    std::printf("  %d %s %s: %s\n", (*line)["draw"].get<int>(), (*line)["collective"].get<std::string>().c_str(),
                (*line)["fabric"].get<std::string>().c_str(), (*line)["failure"].get<std::string>().c_str());
  }
  return failures.empty() ? 0 : 1;
}

[[noreturn]] void refuse(const std::string& message) {
  std::fprintf(stderr, "bench_sweep: %s\n", message.c_str());
  std::exit(2);
}

int readAndSummarise(int count, char** names) {
  std::vector<Json> lines;
  for (int i = 0; i < count; ++i) {
    std::ifstream in(names[i]);
    if (!in) {
      refuse(std::string("cannot read ") + names[i]);
    }
    for (std::string text; std::getline(in, text);) {
      lines.push_back(Json::parse(text));
    }
  }
  return summarise(lines);
}

int sweep(int first, int count, double limit, const std::string& only, bool isCapable, const std::string& output,
          const std::string& folder) {
  std::ofstream out;
  if (!output.empty()) {
    out.open(output, std::ios::app);
    if (!out) {
      refuse("cannot write " + output);
    }
  }
  std::vector<Json> lines;
  for (int number = first; number < first + count; ++number) {
    Draw draw = makeDraw(number);
    if (isCapable) {
      markSwitches(number, draw);
    }
    const auto fabric = fabric::Fabric::build(draw.description);
    if (!fabric) {
      refuse("draw " + std::to_string(number) + " (" + draw.text + "): " + describe(fabric.error()));
    }
    if (!folder.empty()) {
      std::ofstream file(folder + "/draw-" + std::to_string(number) + ".fabric.json");
      if (!(file << io::writeFabricJson(draw.description)).flush()) {
        refuse("cannot write into " + folder);
      }
    }
    for (const Collective collective : {Collective::allgather, Collective::reduceScatter, Collective::allreduce,
                                        Collective::broadcast, Collective::reduce}) {
      if (!only.empty() && only != toString(collective)) {
        continue;
      }
      Json line = {{"draw", number}, {"fabric", draw.text}, {"gpus", fabric->gpuCount()}};
      line.update(runOne(*fabric, collective, limit));
      if (out.is_open()) {
        out << line.dump() << std::endl;
      }
      lines.push_back(std::move(line));
    }
  }
  return summarise(lines);
}

}  // namespace

int main(int argc, char** argv) {
  int first = 0;
  int count = 500;
  double limit = 60;
  bool isCapable = false;
  std::string only;
  std::string output;
  std::string folder;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view name = argv[i];
    if (name == "--summary") {
      return readAndSummarise(argc - i - 1, argv + i + 1);
    }
    if (i + 1 == argc) {
      refuse("give a value for " + std::string(name));
    }
    const char* value = argv[i + 1];
    if (name == "--first") {
      first = std::atoi(value);
    } else if (name == "--count") {
      count = std::atoi(value);
    } else if (name == "--limit") {
      limit = std::atof(value);
    } else if (name == "--collective") {
      only = value;
    } else if (name == "--switches" && std::string_view(value) == "capable") {
      isCapable = true;
    } else if (name == "--json") {
      output = value;
    } else if (name == "--write") {
      folder = value;
    } else {
      refuse("unknown option " + std::string(name) + "; see the head of bench_sweep.cpp");
    }
  }
  return sweep(first, count, limit, only, isCapable, output, folder);
}
