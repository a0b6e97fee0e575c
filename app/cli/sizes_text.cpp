// SPDX-License-Identifier: Apache-2.0
#include "sizes_text.hpp"

#include <algorithm>
#include <functional>

#include "base/shell.hpp"
#include "base/text.hpp"
#include "text.hpp"

namespace coppice::cli {
namespace {

constexpr std::string_view kForestSuffix = ".forest.json";

bool isUnequal(const schedule::Schedule& schedule) {
  return std::adjacent_find(schedule.amounts.begin(), schedule.amounts.end(), std::not_equal_to<>()) !=
         schedule.amounts.end();
}

program::UsedSizes usedByAll(const fabric::Fabric& fabric, Collective collective, std::int64_t chunks) {
  // Counting elements is the harder condition where runtimes differ.
  return program::usedSizes({.collective = collective, .ranks = fabric.gpuCount(), .chunks = chunks},
                            program::Runtime::mscclExecutorNccl);
}

/// The call that makes the schedule with that many trees, next to the one that it replaces.
std::string generateCommand(const fabric::Fabric& fabric, const schedule::Schedule& schedule, const std::string& path,
                            std::int64_t k) {
  std::string stem = path;
  if (stem.ends_with(kForestSuffix)) {
    stem.resize(stem.size() - kForestSuffix.size());
  }
  const bool isPiped = path == "-";
  std::string command = "coppice-cli generate " + (isPiped ? std::string("FABRIC") : shellWord(path)) + " -c " +
                        std::string(toString(schedule.collective));
  if (schedule.root) {
    const auto node = fabric.gpus()[*schedule.root];
    command += " --root " + shellWord(fabric.nodes()[node].id);
  }
  const std::string count = std::to_string(k);
  return command + " --k " + count + " -o " +
         shellWord((isPiped ? "schedule" : stem) + "-k" + count + std::string(kForestSuffix));
}

}  // namespace

void describeTreeCount(const std::string& wanted, const advice::TreeCount& count, Json& json, std::string& text) {
  json["sizes"] = {{"wanted", wanted},
                   {"k", count.k},
                   {"most_k", count.maxK},
                   {"loss", count.loss.toString()},
                   {"loss_percent", (count.loss * Rational(100)).toDouble()}};
  text += "  sizes       k = " + std::to_string(count.k) + " is the best of 1 to " + std::to_string(count.maxK) +
          " for " + (wanted == "pow2" ? "powers of two" : wanted) + "; it loses " + advice::lossText(count.loss) +
          (count.loss.isZero() ? "\n" : " of the optimum\n");
}

void describeUsedSizes(const program::UsedSizes& used, Json& json, std::string& text) {
  Json& at = json["used_at"];
  at["multiple_of"] = used.multipleOf;
  at["unit"] = used.inBytes ? "bytes" : "elements";
  at["powers_of_two"] = used.powersOfTwo;
  at["min_bytes"] = used.minBytes;
  if (used.maxBytes) {
    at["max_bytes"] = *used.maxBytes;
  }
  if (used.sweep) {
    at["sweep"] = {{"first_bytes", used.sweep->first}, {"last_bytes", used.sweep->last}};
  }
  if (used.olderMultiplePerRank) {
    at["multiple_per_rank_before_rocm_6_3"] = *used.olderMultiplePerRank;
  }
  text += "  used at     " + program::describe(used) + "\n";
  if (used.windowOfShard) {
    at["shard_min_bytes"] = used.windowOfShard->first;
    if (used.windowOfShard->last != 0) {
      at["shard_max_bytes"] = used.windowOfShard->last;
    }
    text +=
        "              minBytes and maxBytes of the program are bytes of one rank's share, as the runtimes compare\n";
  }
  if (used.olderMultiplePerRank && *used.olderMultiplePerRank > 1) {
    text += "              before ROCm 6.3 the elements of each rank must be such a multiple\n";
  }
}

Outcome describeUsedSizes(const fabric::Fabric& fabric, const schedule::Schedule& schedule, Json& json,
                          std::string& text) {
  if (isUnequal(schedule)) {
    return Done{};
  }
  const auto chunks = advice::programChunks(schedule);
  if (!chunks) {
    return chunks.error();
  }
  const program::UsedSizes used = usedByAll(fabric, schedule.collective, *chunks);
  json["used_at"] = {{"multiple_of", used.multipleOf}, {"unit", "elements"}, {"powers_of_two", used.powersOfTwo}};
  const bool isRooted = schedule.collective == Collective::broadcast || schedule.collective == Collective::reduce;
  const bool couldBe = usedByAll(fabric, schedule.collective, isRooted ? 1 : fabric.gpuCount()).powersOfTwo;
  text += "  used at     as a program: " + program::describe(used) +
          (!used.powersOfTwo && couldBe ? " (--sizes pow2 chooses a k that is used there)" : "") + "\n";
  return Done{};
}

void warnOfSizes(const program::UsedSizes& used, Json& json, std::string& text) {
  if (used.powersOfTwo) {
    return;
  }
  const std::string what =
      used.sweep ? "an nccl-tests sweep over powers of two never runs this program, only the library's own algorithm"
                 : "no size in the range fits the chunks, so this program never runs";
  json["warnings"].push_back(what);
  text += "  warning     " + what + "\n";
}

Outcome adviseSizes(const fabric::Fabric& fabric, const schedule::Schedule& schedule, const std::string& schedulePath,
                    int instances, const program::UsedSizes& used, const Progress& progress, Json& json,
                    std::string& text) {
  if (used.powersOfTwo) {
    return Done{};
  }
  const auto setting = advice::settingForPowersOfTwo(fabric, schedule, instances, progress);
  if (!setting) {
    return setting.error();
  }
  warnOfSizes(used, json, text);
  if (!*setting) {
    text += used.sweep ? "              no number of trees changes this for " + counted(fabric.gpuCount(), "GPU") + "\n"
                       : "              another --min-bytes or --max-bytes would help\n";
    return Done{};
  }
  const std::string copies = std::to_string((*setting)->instances);
  Json& found = json["setting"];
  found["price"] = (*setting)->price.toString();
  found["price_percent"] = ((*setting)->price * Rational(100)).toDouble();
  found["instances"] = (*setting)->instances;
  if ((*setting)->trees) {
    const std::int64_t k = (*setting)->trees->k;
    const std::string command = generateCommand(fabric, schedule, schedulePath, k);
    found["k"] = k;
    found["command"] = command;
    text += "              k = " + std::to_string(k) + " is used there, " +
            ((*setting)->price < Rational(0)
                 ? "and is faster by " + advice::lossText(-(*setting)->price)
                 : "at a loss of " + advice::lossText((*setting)->price) + " of the throughput") +
            ":\n              " + command + "\n";
  }
  if ((*setting)->instances != instances) {
    text += "              export with --instances " + copies + "\n";
  }
  return Done{};
}

void describeGuide(const program::RunGuide& guide, Json& json, std::string& text) {
  Json& run = json["run"];
  run["library"] = guide.library;
  run["prepare"] = guide.prepare;
  run["environment"] = Json::object();
  for (const program::RunSetting& setting : guide.settings) {
    run["environment"][setting.name] = setting.value;
  }
  run["command"] = guide.command;
  run["text"] = program::toText(guide);
  text += "How to run it:\n" + program::toText(guide);
}

}  // namespace coppice::cli
