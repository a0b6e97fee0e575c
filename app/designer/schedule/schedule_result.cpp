// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/schedule/schedule_result.hpp"

#include <QCoreApplication>
#include <QElapsedTimer>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <algorithm>
#include <new>

#include "base/checked.hpp"
#include "base/memory.hpp"
#include "base/text.hpp"
#include "designer/document/counted.hpp"
#include "designer/schedule/figures.hpp"
#include "designer/schedule/job_progress.hpp"
#include "forestcoll/amounts.hpp"
#include "forestcoll/peers/peer_limit.hpp"
#include "io/exact_json.hpp"
#include "io/files.hpp"
#include "io/forest_json.hpp"
#include "schedule/expansion.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

struct Texts {
  Q_DECLARE_TR_FUNCTIONS(Schedule)
};

constexpr double kMillisecondsPerSecond = 1000;
/// Up to here one max flow per GPU costs less than a second in all.
constexpr int kMaxFlowGpus = 256;

std::string listOf(const std::vector<std::int64_t>& amounts) {
  std::string text;
  for (const std::int64_t amount : amounts) {
    text += (text.empty() ? "" : ",") + std::to_string(amount);
  }
  return text;
}

Result<forestcoll::Request> requestOf(const fabric::Fabric& fabric, const ScheduleOptions& options) {
  forestcoll::Request request;
  request.collective = options.collective;
  request.maxHeight = options.maxHeight;
  request.heightEffort = std::clamp(options.heightEffort, 0, kMaxHeightEffort);
  if (options.treeCount == TreeCount::fixed) {
    request.fixedK = options.k;
  }
  if (isRooted(options.collective)) {
    request.root = 0;
    if (!options.root.empty()) {
      const auto node = fabric.find(options.root);
      const fabric::Rank rank = node ? fabric.nodes()[static_cast<std::size_t>(*node)].rank : -1;
      if (rank < 0) {
        return Error{ErrorCode::badUsage, "the root " + inQuotes(options.root) + " is not among the GPUs",
                     "choose another root"};
      }
      request.root = rank;
    }
  }
  if (hasShares(options.collective)) {
    auto amounts = forestcoll::parseAmounts(fabric, options.amounts);
    if (!amounts) {
      Error error = amounts.error();
      error.message.insert(0, "amounts: ");
      return error;
    }
    request.amounts = *std::move(amounts);
  }
  return request;
}

/// In-network pruning differs from place to place, so it needs the trees themselves.
Outcome prune(const fabric::Fabric& fabric, schedule::Schedule& schedule, const Progress& progress) {
  for (auto* forest : {&schedule.reduceForest, &schedule.broadcastForest}) {
    if (*forest) {
      progress.report("pruning", 0);
      auto written =
          schedule::expanded(**forest, fabric, memoryWithinLimits().value_or(schedule::kMaxExpandedBytes), progress);
      if (!written) {
        return Error{written.error().code, "in-network multicast needs every tree: " + written.error().message,
                     "generate without it"};
      }
      *forest = *std::move(written);
      forestcoll::pruneInNetwork(fabric, **forest);
    }
  }
  return Done{};
}

/// Turns what core throws into an answer.
template <typename Value, typename Work>
Result<Value> guarded(Work&& work) {
  try {
    return work();
  } catch (const OverflowError& error) {
    return Error{ErrorCode::overflow, error.what(), "use smaller or rounder bandwidths, or a smaller k"};
  } catch (const CancelledError&) {
    return Error{ErrorCode::cancelled, "cancelled"};
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::limit, "there is not enough memory for this schedule", "use a smaller k or fewer GPUs"};
  }
}

const char* const kRequestKey = "coppice_request";

std::string textOf(const ScheduleOptions& options) {
  QJsonObject object;
  if (!options.root.empty()) {
    object[u"root"_s] = QString::fromStdString(options.root);
  }
  if (!options.gpus.empty()) {
    object[u"subset"_s] = true;
  }
  if (!options.amounts.empty()) {
    object[u"amounts"_s] = QString::fromStdString(options.amounts);
  }
  object[u"trees"_s] = options.treeCount == TreeCount::exact   ? u"exact"_s
                       : options.treeCount == TreeCount::fixed ? u"fixed"_s
                                                               : u"scan"_s;
  object[u"k"_s] = static_cast<qint64>(options.k);
  object[u"most_k"_s] = static_cast<qint64>(options.maxK);
  if (options.maxHeight) {
    object[u"most_height"_s] = *options.maxHeight;
  }
  if (options.maxPeers) {
    object[u"most_peers"_s] = *options.maxPeers;
  }
  object[u"height_effort"_s] = options.heightEffort;
  object[u"multicast"_s] = options.usesMulticast;
  return QJsonDocument(object).toJson(QJsonDocument::Compact).toStdString();
}

/// What the file does not say, or says wrongly, stays as the schedule itself tells.
ScheduleOptions optionsOf(const fabric::Description& description, const fabric::Fabric& fabric,
                          const schedule::Schedule& schedule) {
  ScheduleOptions options;
  options.collective = schedule.collective;
  if (schedule.root && *schedule.root >= 0 && *schedule.root < fabric.gpuCount()) {
    const fabric::NodeIndex node = fabric.gpus()[static_cast<std::size_t>(*schedule.root)];
    options.root = fabric.nodes()[static_cast<std::size_t>(node)].id;
  }
  if (schedule.fixedK) {
    options.treeCount = TreeCount::fixed;
    options.k = *schedule.fixedK;
  }
  const QJsonObject object = QJsonDocument::fromJson(QByteArray::fromStdString(description.extra))
                                 .object()
                                 .value(QLatin1String(kRequestKey))
                                 .toObject();
  const auto whole = [&](QLatin1StringView key, std::int64_t fallback, std::int64_t least, std::int64_t most) {
    const qint64 value = object.value(key).toInteger(fallback);
    return value >= least && value <= most ? static_cast<std::int64_t>(value) : fallback;
  };
  if (!schedule.amounts.empty()) {
    // The file's words for them, if they say the same.
    const std::string words = object.value("amounts"_L1).toString().toStdString();
    const auto meant = forestcoll::parseAmounts(fabric, words);
    options.amounts = meant && *meant == schedule.amounts ? words : listOf(schedule.amounts);
  }
  const QString trees = object.value("trees"_L1).toString();
  if (trees == u"exact" || trees == u"scan") {
    options.treeCount = trees == u"exact" ? TreeCount::exact : TreeCount::scan;
  }
  options.k = whole("k"_L1, options.k, 1, kMaxFixedK);
  options.maxK = whole("most_k"_L1, options.maxK, 1, kMaxScannedK);
  constexpr std::int64_t kMaxHeightCap = 1'000'000;
  if (const std::int64_t height = whole("most_height"_L1, 0, 1, kMaxHeightCap); height > 0) {
    options.maxHeight = static_cast<int>(height);
  }
  if (const std::int64_t peers = whole("most_peers"_L1, 0, 1, kMaxPeerLimit); peers > 0) {
    options.maxPeers = static_cast<int>(peers);
  }
  options.heightEffort = static_cast<int>(whole("height_effort"_L1, 1, 0, kMaxHeightEffort));
  options.usesMulticast = object.value("multicast"_L1).toBool();
  if (object.value("subset"_L1).toBool()) {
    for (const fabric::NodeIndex gpu : fabric.gpus()) {
      options.gpus.push_back(fabric.nodes()[static_cast<std::size_t>(gpu)].id);
    }
  }
  return options;
}

/// The extra keys of a fabric with the options among them, the others as they are written.
std::string withOptions(const std::string& extra, const ScheduleOptions& options) {
  auto keys = io::parseExactJson(extra.empty() ? "{}" : extra, {});
  auto entry = io::parseExactJson(textOf(options), {});
  if (!keys || !entry || keys->kind != io::JsonValue::Kind::object) {
    return extra;
  }
  keys->members.emplace_back(kRequestKey, *std::move(entry));
  return io::toJsonText(*keys);
}

/// They belong to the schedule, not to its fabric.
void dropOptions(std::string& extra) {
  auto keys = io::parseExactJson(extra.empty() ? "{}" : extra, {});
  if (keys && std::erase_if(keys->members, [](const auto& member) { return member.first == kRequestKey; }) > 0) {
    extra = keys->members.empty() ? std::string() : io::toJsonText(*keys);
  }
}

void measure(ScheduleResult& result, const Progress& progress) {
  const schedule::Schedule& schedule = result.schedule;
  for (std::size_t half = 0; half < 2; ++half) {
    const schedule::Forest* forest = result.forest(half);
    if (forest == nullptr) {
      continue;
    }
    const schedule::Heights heights = schedule::heights(*forest, *result.fabric, progress);
    const int logicalMax = std::max(result.heights.logicalMax, heights.logicalMax);
    const int physicalMax = std::max(result.heights.physicalMax, heights.physicalMax);
    const double latencyMax = std::max(result.heights.latencyMax, heights.latencyMax);
    result.heights = heights;
    result.heights.logicalMax = logicalMax;
    result.heights.physicalMax = physicalMax;
    result.heights.latencyMax = latencyMax;
    result.trees = checkedAdd(result.trees, forest->treeCount());
    result.differentTrees += schedule::sizeOf(*forest).trees;
    result.isByParts = result.isByParts || forest->factored;
    for (const std::int64_t trees : forest->treesOfRoot) {
      result.k = std::max(result.k, trees);
    }
    result.readers[half].emplace(*forest, result.fabric->gpus());
  }
  result.loads = arcLoads(*result.fabric, schedule, progress);
  result.meetsBound = schedule.algbw == schedule.bound;
}

}  // namespace

QString stageName(const std::string& stage) {
  if (stage == "optimum" || stage == "bound") {
    return Texts::tr("Finding the bound");
  }
  if (stage == "allreduce bound") {
    return Texts::tr("Bounding allreduce by trees");
  }
  if (stage == "balancing") {
    return Texts::tr("Balancing switches");
  }
  if (stage == "splitting") {
    return Texts::tr("Removing switches");
  }
  if (stage == "packing" || stage == "racing" || stage == "composing") {
    return Texts::tr("Packing trees");
  }
  if (stage == "wiring") {
    return Texts::tr("Connecting boxes with few peers");
  }
  if (stage == "height cap") {
    return Texts::tr("Reducing tree heights");
  }
  if (stage == "expanding") {
    return Texts::tr("Writing out the trees");
  }
  if (stage == "pruning") {
    return Texts::tr("Using multicast in switches");
  }
  if (stage == "verifying" || stage == "proving" || stage == "verifying races") {
    return Texts::tr("Verifying");
  }
  if (stage == "measuring loads") {
    return Texts::tr("Measuring link loads");
  }
  if (stage == "scanning k") {
    return Texts::tr("Trying numbers of trees");
  }
  if (stage == "lowering") {
    return Texts::tr("Arranging threadblocks");
  }
  if (stage == "writing") {
    return Texts::tr("Writing");
  }
  if (stage == "trying fixes") {
    return Texts::tr("Searching for settings that fit");
  }
  if (stage == "reading") {
    return Texts::tr("Reading");
  }
  return QString::fromStdString(stage);
}

QString ScheduleResult::verdictText() const {
  if (meetsBound) {
    return verdict.boundProved ? Texts::tr("Meets the bound, verified")
                               : Texts::tr("Reaches its bound; trees verified");
  }
  return Texts::tr("%1 of the bound, verified").arg(percentOf(schedule.algbw, schedule.bound));
}

QString ScheduleResult::verdictDetails() const {
  QString text = counted(trees, Texts::tr("tree"), Texts::tr("trees")) + u' ' +
                 Texts::tr("checked on every route and link; %1 GB/s recomputed from them").arg(exactly(verdict.algbw));
  if (meetsBound) {
    text += u"; "_s + (verdict.boundProved ? Texts::tr("no schedule can be faster.")
                                           : Texts::tr("the bound itself is not proved."));
  } else {
    text += u"; "_s + Texts::tr("the bound is %1 GB/s.").arg(exactly(schedule.bound));
  }
  return text;
}

Result<fabric::Description> chosenPart(const fabric::Description& facts, const std::vector<std::string>& gpus) {
  if (gpus.empty()) {
    return facts;
  }
  return fabric::subset(facts, gpus);
}

Result<ScheduleResultPtr> examineSchedule(fabric::Description description, fabric::Fabric fabric,
                                          schedule::Schedule schedule, const ScheduleOptions& options,
                                          const Progress& progress) {
  return guarded<ScheduleResultPtr>([&]() -> Result<ScheduleResultPtr> {
    auto result = std::make_shared<ScheduleResult>();
    result->options = options;
    result->description = std::make_shared<const fabric::Description>(std::move(description));
    result->fabric.emplace(std::move(fabric));
    result->schedule = std::move(schedule);
    const bool treesProveBound =
        result->schedule.algbw == result->schedule.bound && !result->schedule.bottlenecks.empty();
    progress.report("verifying", 0);
    auto verdict =
        verify::verifySchedule(*result->fabric, result->schedule,
                               {.maxFlow = result->fabric->gpuCount() <= kMaxFlowGpus || !treesProveBound}, progress);
    if (!verdict) {
      return verdict.error();
    }
    if (!verdict->ok) {
      const auto fault = std::find_if(verdict->findings.begin(), verdict->findings.end(),
                                      [](const Finding& finding) { return finding.severity == Severity::error; });
      const bool isKnown = fault != verdict->findings.end();
      return Error{ErrorCode::verification,
                   "the schedule did not pass the verifier" + (isKnown ? ": " + fault->text : std::string()),
                   {},
                   isKnown ? fault->where : Place{}};
    }
    result->verdict = *std::move(verdict);
    measure(*result, progress);
    return ScheduleResultPtr(std::move(result));
  });
}

Outcome scanTreeCounts(const fabric::Fabric& fabric, const ScheduleOptions& options, std::int64_t first,
                       std::int64_t last, const std::function<void(const KValue&)>& onValue, const Progress& progress) {
  return guarded<Done>([&]() -> Outcome {
    auto request = requestOf(fabric, options);
    if (!request) {
      return request.error();
    }
    request->allreduceBudget = std::chrono::milliseconds(0);
    request->heightEffort = 0;
    request->maxHeight.reset();
    for (std::int64_t k = first; k <= last; ++k) {
      throwIfCancelled(progress);
      progress.report("scanning k", static_cast<double>(k - first) / static_cast<double>(last - first + 1));
      request->fixedK = k;
      Progress quiet = progress;
      quiet.onReport = nullptr;
      const auto optimum = forestcoll::optimum(fabric, *request, quiet);
      if (!optimum) {
        return optimum.error();
      }
      onValue({k, optimum->algbw});
    }
    return Done{};
  });
}

Result<ScheduleResultPtr> makeSchedule(const fabric::Description& facts, const ScheduleOptions& options,
                                       const Progress& progress) {
  return guarded<ScheduleResultPtr>([&]() -> Result<ScheduleResultPtr> {
    QElapsedTimer clock;
    clock.start();
    auto part = chosenPart(facts, options.gpus);
    if (!part) {
      return part.error();
    }
    auto fabric = fabric::Fabric::build(*part);
    if (!fabric) {
      return fabric.error();
    }
    auto request = requestOf(*fabric, options);
    if (!request) {
      return request.error();
    }
    std::vector<KValue> scanned;
    if (options.treeCount == TreeCount::scan) {
      const Outcome done = scanTreeCounts(
          *fabric, options, 1, std::clamp<std::int64_t>(options.maxK, 1, kMaxScannedK),
          [&](const KValue& value) { scanned.push_back(value); }, progress);
      if (!done) {
        return done.error();
      }
      // The first of the largest: the fewest trees.
      request->fixedK = std::max_element(scanned.begin(), scanned.end(), [](const KValue& a, const KValue& b) {
                          return a.algbw < b.algbw;
                        })->k;
    }
    auto generated = forestcoll::generateLimited(*fabric, *request, options.maxPeers, progress);
    if (!generated) {
      return generated.error();
    }
    if (options.usesMulticast) {
      if (const Outcome pruned = prune(*fabric, generated->schedule, progress); !pruned) {
        return pruned.error();
      }
    }
    auto examined =
        examineSchedule(*std::move(part), *std::move(fabric), std::move(generated->schedule), options, progress);
    if (!examined) {
      return examined.error();
    }
    auto result = std::const_pointer_cast<ScheduleResult>(*std::move(examined));
    result->scanned = std::move(scanned);
    result->seconds = static_cast<double>(clock.elapsed()) / kMillisecondsPerSecond;
    return ScheduleResultPtr(std::move(result));
  });
}

std::string digestNow(const fabric::Description& facts, const std::vector<std::string>& gpus) {
  const auto part = chosenPart(facts, gpus);
  if (!part) {
    return {};
  }
  const auto fabric = fabric::Fabric::build(*part);
  return fabric ? fabric->digest() : std::string();
}

Outcome saveSchedule(const QString& path, const ScheduleResult& result, const Progress& progress) {
  return guarded<Done>([&]() -> Outcome {
    fabric::Description description = *result.description;
    description.extra = withOptions(description.extra, result.options);
    return io::saveFile(QFile::encodeName(path).toStdString(), [&](std::ostream& out) {
      return io::writeForestJson(out, result.schedule, *result.fabric, &description, schedule::ForestForm::automatic,
                                 progress);
    });
  });
}

Result<ScheduleResultPtr> readSchedule(const std::string& text, const QString& fileName, const Progress& progress) {
  return guarded<ScheduleResultPtr>([&]() -> Result<ScheduleResultPtr> {
    progress.report("reading", 0);
    auto loaded = io::loadForest(text, fileName.toStdString());
    if (!loaded) {
      return loaded.error();
    }
    const ScheduleOptions options = optionsOf(loaded->description, loaded->fabric, loaded->schedule);
    dropOptions(loaded->description.extra);
    return examineSchedule(std::move(loaded->description), std::move(loaded->fabric), std::move(loaded->schedule),
                           options, progress);
  });
}

Result<ScheduleResultPtr> loadSchedule(const QString& path, const Progress& progress) {
  return guarded<ScheduleResultPtr>([&]() -> Result<ScheduleResultPtr> {
    const auto text = io::readFile(QFile::encodeName(path).toStdString(), io::kMaxForestBytes);
    if (!text) {
      return text.error();
    }
    return readSchedule(*text, QFileInfo(path).fileName(), progress);
  });
}

}  // namespace coppice::designer
