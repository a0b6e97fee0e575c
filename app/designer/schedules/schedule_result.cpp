// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/schedules/schedule_result.hpp"

#include <QCoreApplication>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <algorithm>
#include <span>
#include <utility>

#include "base/text.hpp"
#include "designer/document/counted.hpp"
#include "designer/document/figures.hpp"
#include "designer/jobs/bound.hpp"
#include "designer/schedules/job_progress.hpp"
#include "forestcoll/amounts.hpp"
#include "io/collective_file.hpp"
#include "io/exact_json.hpp"
#include "io/files.hpp"
#include "io/forest_json.hpp"
#include "io/schedule_json.hpp"
#include "workflow/clock.hpp"
#include "workflow/drill.hpp"
#include "workflow/guarded.hpp"
#include "workflow/judged_schedule.hpp"
#include "workflow/make_schedule.hpp"
#include "workflow/plan_files.hpp"
#include "workflow/request.hpp"
#include "workflow/sccl_method.hpp"
#include "workflow/schedule_file.hpp"
#include "workflow/sizes.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {

using workflow::guarded;

namespace {

struct ResultTexts {
  Q_DECLARE_TR_FUNCTIONS(Schedule)
};

std::string listOf(const std::vector<std::int64_t>& amounts) {
  std::string text;
  for (const std::int64_t amount : amounts) {
    text += (text.empty() ? "" : ",") + std::to_string(amount);
  }
  return text;
}

/// Of a custom collective, beside the options of the method that makes it.
const char* const kTableOption = "table";
/// Makes custom collectives.
const char* const kTableMethod = "sccl";

/// GPUs by name, so that it can be read for a fabric that has changed since.
std::string tableText(const fabric::Fabric& fabric, const schedule::CollectiveTable& table) {
  const auto names = [&](std::span<const fabric::Rank> ranks) {
    QJsonArray list;
    for (const fabric::Rank rank : ranks) {
      const fabric::NodeIndex node = fabric.gpus()[rank];
      list << QString::fromStdString(fabric.nodes()[node].id);
    }
    return list;
  };
  QJsonArray shards;
  for (std::int64_t shard = 0; shard < table.shardCount(); ++shard) {
    shards << QJsonObject{{u"share"_s, QString::fromStdString(table.share(shard).toString())},
                          {u"sources"_s, names(table.sources(shard))},
                          {u"destinations"_s, names(table.destinations(shard))},
                          {u"combines"_s, table.combines(shard)}};
  }
  const QJsonObject whole{{u"format"_s, u"coppice-collective"_s}, {u"version"_s, 1}, {u"shards"_s, shards}};
  return QJsonDocument(whole).toJson(QJsonDocument::Compact).toStdString();
}

Result<workflow::Demand> demandOf(const fabric::Fabric& fabric, const ScheduleOptions& options) {
  workflow::DemandText text{std::string(toString(options.collective)), {}, {}};
  if (isRooted(options.collective)) {
    const std::string& first = fabric.nodes()[fabric.gpus().front()].id;
    text.root = options.root.empty() ? first : options.root;
  }
  if (workflow::hasAmounts(options.collective)) {
    text.amounts = options.amounts;
  }
  return workflow::readDemand(fabric, text);
}

/// A custom collective, from the table among its options.
Result<workflow::Judged> makeCustom(const fabric::Fabric& fabric, const ScheduleOptions& options,
                                    const Progress& progress) {
  workflow::Values values = options.methodOptions;
  const auto text = values.extract(kTableOption);
  const auto table =
      io::readCollectiveTable(text ? text.mapped() : std::string(), ResultTexts::tr("table").toStdString(), fabric);
  if (!table) {
    return table.error();
  }
  auto made = workflow::makeForTable(fabric, *table, values, progress);
  return made ? workflow::requireJudged(fabric, *std::move(made), progress) : Result<workflow::Judged>(made.error());
}

/// An error about an option, as the window calls that option.
Error inWindow(Error error, const workflow::Method& method) {
  if (const ElementPart* const stated = error.where.element.as(RefKind::option)) {
    std::string name = stated->name.substr(std::string_view("--").size());
    error.where.element = {};
    for (const workflow::Option& option : method.options) {
      name = option.name == name ? option.title : name;
    }
    error.message = name + ": " + error.message;
  }
  return error;
}

/// Without a limit on the number of trees.
Result<forestcoll::Optimum> freeOptimum(const fabric::Fabric& fabric, const workflow::Demand& demand,
                                        const Progress& progress) {
  forestcoll::Request request = workflow::requestOf(demand);
  request.allreduceBudget = {};
  return forestcoll::optimum(fabric, request, progress);
}

const char* const kRequestKey = "coppice_request";

std::string textOf(const ScheduleResult& result) {
  const ScheduleOptions& options = result.options;
  QJsonObject object;
  if (!options.root.empty()) {
    object[u"root"_s] = QString::fromStdString(options.root);
  }
  if (!options.gpus.empty()) {
    object[u"subset"_s] = true;
  }
  if (!options.failed.empty()) {
    QJsonArray failed;
    for (const std::string& part : options.failed) {
      failed << QString::fromStdString(part);
    }
    object[u"failed"_s] = failed;
  }
  if (!options.amounts.empty()) {
    object[u"amounts"_s] = QString::fromStdString(options.amounts);
  }
  if (result.paperK > 0) {
    object[u"paper_k"_s] = static_cast<qint64>(result.paperK);
    object[u"optimum_k"_s] = static_cast<qint64>(result.optimumK);
  }
  if (result.seconds > 0) {
    object[u"seconds"_s] = result.seconds;
  }
  return QJsonDocument(object).toJson(QJsonDocument::Compact).toStdString();
}

QJsonObject requestIn(const fabric::Description& description) {
  return QJsonDocument::fromJson(QByteArray::fromStdString(description.extra))
      .object()
      .value(QLatin1String(kRequestKey))
      .toObject();
}

std::vector<std::int64_t> amountsOf(const schedule::AnySchedule& schedule) {
  if (const auto* forests = std::get_if<schedule::Schedule>(&schedule)) {
    return forests->amounts;
  }
  const auto amounts = std::get<schedule::StepSchedule>(schedule).goal.amounts();
  return {amounts.begin(), amounts.end()};
}

/// What the file says; files of earlier versions have it among the options.
io::Origin statedOrigin(const io::Origin& stated, const QJsonObject& request) {
  if (!stated.method.empty()) {
    return stated;
  }
  ScheduleOptions told{.method = request.value("method"_L1).toString().toStdString()};
  const QJsonObject values = request.value("options"_L1).toObject();
  for (auto value = values.begin(); value != values.end(); ++value) {
    told.methodOptions.emplace(value.key().toStdString(), value->toString().toStdString());
  }
  return originOf(told);
}

/// What the file does not say, or says wrongly, stays as the schedule itself tells.
ScheduleOptions optionsOf(const QJsonObject& object, const io::Origin& origin, const fabric::Fabric& fabric,
                          const schedule::AnySchedule& schedule) {
  ScheduleOptions options;
  options.collective = schedule::collectiveOf(schedule);
  const auto root = schedule::rootOf(schedule);
  if (root && *root >= 0 && *root < fabric.gpuCount()) {
    const fabric::NodeIndex node = fabric.gpus()[*root];
    options.root = fabric.nodes()[node].id;
  }
  const auto* forests = std::get_if<schedule::Schedule>(&schedule);
  if (forests != nullptr && forests->fixedK) {
    options.methodOptions[kFixedK] = std::to_string(*forests->fixedK);
  }
  if (const auto* steps = std::get_if<schedule::StepSchedule>(&schedule);
      steps != nullptr && workflow::findMethod(steps->method) != nullptr) {
    options.method = steps->method;
  }
  if (options.collective == Collective::custom) {
    options.method = kTableMethod;
  }
  if (const std::vector<std::int64_t> amounts = amountsOf(schedule); !amounts.empty()) {
    // The file's words for them, if they say the same.
    const std::string words = object.value("amounts"_L1).toString().toStdString();
    const auto meant = forestcoll::parseAmounts(fabric, words);
    options.amounts = meant && *meant == amounts ? words : listOf(amounts);
  }
  if (const workflow::Method* const known = workflow::findMethod(origin.method)) {
    options.method = origin.method;
    options.methodOptions.clear();
    for (const auto& option : origin.options) {
      const workflow::Values one{option};
      if (workflow::OptionValues::read(known->options, one)) {
        options.methodOptions.insert(option);
      }
    }
  }
  for (const QJsonValue& part : object.value("failed"_L1).toArray()) {
    options.failed.push_back(part.toString().toStdString());
  }
  if (object.value("subset"_L1).toBool()) {
    for (const fabric::NodeIndex gpu : fabric.gpus()) {
      options.gpus.push_back(fabric.nodes()[gpu].id);
    }
  }
  return options;
}

/// The extra keys of a fabric with the options among them, the others as they are written.
std::string withOptions(const std::string& extra, const ScheduleResult& result) {
  auto keys = io::parseExactJson(extra.empty() ? "{}" : extra, {});
  auto entry = io::parseExactJson(textOf(result), {});
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

void measureForests(ScheduleResult& result, const Progress& progress) {
  for (std::size_t half = 0; half < 2; ++half) {
    const schedule::Forest* forest = result.forest(half);
    if (forest == nullptr) {
      continue;
    }
    const schedule::Heights heights = schedule::heights(*forest, *result.fabric, progress);
    const int logicalMax = std::max(result.heights.logicalMax, heights.logicalMax);
    const int physicalMax = std::max(result.heights.physicalMax, heights.physicalMax);
    const Microseconds latencyMax = std::max(result.heights.latencyMax, heights.latencyMax);
    result.heights = heights;
    result.heights.logicalMax = logicalMax;
    result.heights.physicalMax = physicalMax;
    result.heights.latencyMax = latencyMax;
    result.trees = checkedAdd(result.trees, forest->treeCount());
    result.differentTrees += schedule::sizeOf(*forest).trees;
    result.hasRotations = result.hasRotations || !forest->rotations.empty();
    for (const std::int64_t trees : forest->treesOfRoot) {
      result.k = std::max(result.k, trees);
    }
    result.readers[half].emplace(*forest);
  }
  result.loads = arcLoads(*result.fabric, *result.forests(), progress);
}

}  // namespace

QString stageName(const std::string& stage) {
  if (stage == "optimum" || stage == "bound") {
    return ResultTexts::tr("Finding the bound");
  }
  if (stage == "allreduce bound") {
    return ResultTexts::tr("Bounding allreduce by trees");
  }
  if (stage == "balancing") {
    return ResultTexts::tr("Balancing switches");
  }
  if (stage == "repair") {
    return ResultTexts::tr("Repairing");
  }
  if (stage == "splitting") {
    return ResultTexts::tr("Removing switches");
  }
  if (stage == "packing" || stage == "racing" || stage == "composing") {
    return ResultTexts::tr("Packing trees");
  }
  if (stage == "wiring") {
    return ResultTexts::tr("Connecting boxes with few peers");
  }
  if (stage == "height cap") {
    return ResultTexts::tr("Reducing tree heights");
  }
  if (stage == "expanding") {
    return ResultTexts::tr("Writing out the trees");
  }
  if (stage == "pruning") {
    return ResultTexts::tr("Using multicast in switches");
  }
  if (stage == "verifying" || stage == "proving" || stage == "verifying races") {
    return ResultTexts::tr("Verifying");
  }
  if (stage == "measuring loads") {
    return ResultTexts::tr("Measuring link loads");
  }
  if (stage == "scanning k") {
    return ResultTexts::tr("Trying numbers of trees");
  }
  if (stage == "lowering") {
    return ResultTexts::tr("Arranging threadblocks");
  }
  if (stage == "writing") {
    return ResultTexts::tr("Writing");
  }
  if (stage == "trying fixes") {
    return ResultTexts::tr("Searching for settings that fit");
  }
  if (stage == "reading") {
    return ResultTexts::tr("Reading");
  }
  return QString::fromStdString(stage);
}

io::Origin originOf(const ScheduleOptions& options) {
  io::Origin origin{options.method, options.methodOptions};
  origin.options.erase(kTableOption);
  return origin;
}

std::string ScheduleOptions::text(const std::string& option) const {
  const auto found = methodOptions.find(option);
  return found != methodOptions.end() ? found->second : std::string();
}

std::optional<std::int64_t> ScheduleOptions::integer(const std::string& option) const {
  return workflow::parseInteger(text(option));
}

QString ScheduleResult::verdictText() const {
  if (boundScope == schedule::BoundScope::plainSwitches) {
    return meetsBound ? ResultTexts::tr("Meets the bound of plain switches, verified")
                      : ResultTexts::tr("%1 of the bound of plain switches, verified").arg(shareOfBound());
  }
  if (meetsBound) {
    return verdict.boundProved ? ResultTexts::tr("Meets the bound, verified")
                               : ResultTexts::tr("Reaches its bound; trees verified");
  }
  return bound ? ResultTexts::tr("%1 of the bound, verified").arg(shareOfBound()) : ResultTexts::tr("Verified");
}

QString ScheduleResult::sizeText() const {
  const schedule::StepSchedule* const steps = stepSchedule();
  return steps != nullptr ? counted(static_cast<qsizetype>(steps->transfers.size()), ResultTexts::tr("transfer"),
                                    ResultTexts::tr("transfers"))
                          : counted(trees, ResultTexts::tr("tree"), ResultTexts::tr("trees"));
}

QString ScheduleResult::methodText() const {
  constexpr qsizetype kMaxShown = 40;
  constexpr qsizetype kMaxText = 160;
  const auto shortened = [](const std::string& text, qsizetype most) {
    const QString line = QString::fromStdString(text).simplified();
    return line.size() <= most ? line : line.left(most) + u'…';
  };
  const workflow::Method* const method = workflow::findMethod(origin.method);
  QString text = method != nullptr ? QString::fromStdString(method->title) : shortened(origin.method, kMaxShown);
  for (const auto& [key, value] : origin.options) {
    QString title = shortened(key, kMaxShown);
    QString shown = shortened(value, kMaxShown);
    for (const workflow::Option& option : method != nullptr ? method->options : std::vector<workflow::Option>()) {
      if (option.name == key) {
        title = QString::fromStdString(option.title).toLower();
        shown += option.unit.empty() ? QString() : u' ' + QString::fromStdString(option.unit);
      }
    }
    text += u", "_s + title + (value == "true" ? QString() : u' ' + shown);
  }
  return text.size() <= kMaxText ? text : text.left(kMaxText) + u'…';
}

QString ScheduleResult::shareOfBound() const {
  return bound ? percentOf(algbw, *bound) : u"–"_s;
}

QString ScheduleResult::verdictDetails() const {
  QString text =
      sizeText() + u' ' +
      ResultTexts::tr("checked on every route and link; %1 GB/s recomputed from them").arg(exactly(verdict.algbw));
  if (meetsBound) {
    text +=
        u"; "_s + (verdict.boundProved ? QString::fromStdString(std::string(schedule::sentenceOf(boundScope))) + u'.'
                                       : ResultTexts::tr("the bound itself is not proved."));
  } else if (bound) {
    text += u"; "_s + ResultTexts::tr("the bound is %1 GB/s: %2.")
                          .arg(exactly(*bound), QString::fromStdString(std::string(schedule::sentenceOf(boundScope))));
  } else {
    text += u"; "_s + ResultTexts::tr("the bound of %1 is not known.").arg(collectiveName(options.collective));
  }
  if (repair) {
    text += u' ' + ResultTexts::tr("Repaired: %1 trees stay, %2 take other links between the same GPUs, %3 are new.")
                       .arg(repair->keptTrees)
                       .arg(repair->reroutedTrees)
                       .arg(repair->newTrees);
  }
  if (dependsOnTime) {
    text += u' ' + ResultTexts::tr(
                       "A limit of time ended a part of the search; another machine may find another "
                       "schedule.");
  }
  return text;
}

Result<fabric::Description> chosenPart(const fabric::Description& facts, const FabricPart& part) {
  auto left = workflow::withoutParts(facts, part.failed);
  if (!left || part.gpus.empty()) {
    return left;
  }
  // Of GPUs that were chosen, some may have failed.
  std::vector<std::string> gpus = part.gpus;
  std::erase_if(
      gpus, [&](const std::string& gpu) { return std::ranges::find(part.failed, "gpu " + gpu) != part.failed.end(); });
  return fabric::subset(*left, gpus);
}

namespace {

/// The result that has passed the verifier, measured.
Result<ScheduleResultPtr> measured(fabric::Description description, fabric::Fabric fabric, workflow::Judged judged,
                                   const ScheduleOptions& options, const Progress& progress) {
  auto result = std::make_shared<ScheduleResult>();
  result->options = options;
  workflow::LoadedFabric loaded{std::move(description), std::move(fabric), {}};
  if (judged.made.facts) {
    result->methodFacts = judged.made.facts(loaded, &judged);
  }
  result->description = std::make_shared<const fabric::Description>(std::move(loaded.description));
  result->fabric.emplace(std::move(loaded.fabric));
  result->schedule = std::move(judged.made.schedule);
  result->verdict = std::move(judged.verdict);
  result->algbw = schedule::algbwOf(result->schedule);
  result->bound = judged.bound;
  result->boundScope = judged.boundScope;
  result->dependsOnTime = judged.made.dependsOnTime;
  result->meetsBound = result->bound && result->algbw == *result->bound;
  if (const auto* steps = result->stepSchedule(); steps != nullptr && options.collective == Collective::custom) {
    result->options.methodOptions[kTableOption] = tableText(*result->fabric, steps->goal);
  }
  if (const schedule::StepSchedule* steps = result->stepSchedule()) {
    if (!judged.stepCost) {
      return Error{ErrorCode::internal, "the verifier returned no cost for a step schedule"};
    }
    result->cost = std::move(judged.stepCost);
    // The bound is the exact optimum, proved where it was found.
    result->verdict.boundProved = result->bound.has_value();
    result->loads = arcLoads(*result->fabric, *steps, *result->cost);
  } else {
    measureForests(*result, progress);
  }
  return ScheduleResultPtr(std::move(result));
}

}  // namespace

Result<ScheduleResultPtr> examineSchedule(fabric::Description description, fabric::Fabric fabric,
                                          schedule::AnySchedule schedule, const ScheduleOptions& options,
                                          const Progress& progress) {
  return guarded<ScheduleResultPtr>([&]() -> Result<ScheduleResultPtr> {
    auto judged = workflow::requireJudged(fabric, {.schedule = std::move(schedule)}, progress);
    if (!judged) {
      return judged.error();
    }
    return measured(std::move(description), std::move(fabric), *std::move(judged), options, progress);
  });
}

const QString& fileSuffix(const ScheduleResult& result) {
  return result.stepSchedule() != nullptr ? kStepsSuffix : kForestSuffix;
}

const QString& fileSuffix(const ScheduleOptions& options) {
  const workflow::Method* method = workflow::findMethod(options.method);
  return method != nullptr && method->form == workflow::ScheduleForm::steps ? kStepsSuffix : kForestSuffix;
}

Outcome scanTreeCounts(const fabric::Fabric& fabric, const ScheduleOptions& options, std::int64_t first,
                       std::int64_t last, const std::function<void(const KValue&)>& onValue, const Progress& progress) {
  return guarded<Done>([&]() -> Outcome {
    const auto demand = demandOf(fabric, options);
    return demand ? workflow::scanTreeCounts(fabric, *demand, first, last, onValue, progress) : Outcome(demand.error());
  });
}

Result<ScheduleResultPtr> makeSchedule(const fabric::Description& facts, const ScheduleOptions& options,
                                       const Progress& progress) {
  return guarded<ScheduleResultPtr>([&]() -> Result<ScheduleResultPtr> {
    workflow::Clock clock;
    const workflow::Method* method = workflow::findMethod(options.method);
    if (method == nullptr) {
      return Error{ErrorCode::badUsage, "unknown method " + inQuotes(options.method), "choose another method"};
    }
    auto part = chosenPart(facts, options.part());
    if (!part) {
      return part.error();
    }
    auto fabric = fabric::Fabric::build(*part);
    if (!fabric) {
      return fabric.error();
    }
    if (options.collective == Collective::custom) {
      auto judged = makeCustom(*fabric, options, progress);
      if (!judged) {
        return inWindow(judged.error(), *method);
      }
      auto made = measured(*std::move(part), *std::move(fabric), *std::move(judged), options, progress);
      if (made) {
        std::const_pointer_cast<ScheduleResult>(*made)->origin = originOf(options);
      }
      return made;
    }
    const auto demand = demandOf(*fabric, options);
    if (!demand) {
      return inWindow(demand.error(), *method);
    }
    workflow::Values values = options.methodOptions;
    std::vector<KValue> scanned;
    const auto maxK = options.integer(kBestOfK);
    if (options.method == workflow::kDefaultMethod && maxK && *maxK <= kMaxScannedK && options.text(kBySizes).empty()) {
      const Outcome done = workflow::scanTreeCounts(
          *fabric, *demand, 1, *maxK, [&](const KValue& value) { scanned.push_back(value); }, progress);
      if (!done) {
        return done.error();
      }
      // The first of the largest: the fewest trees.
      const auto best = std::max_element(scanned.begin(), scanned.end(),
                                         [](const KValue& a, const KValue& b) { return a.algbw < b.algbw; });
      values.erase(kBestOfK);
      values[kFixedK] = std::to_string(best->k);
    }
    auto judged = workflow::makeSchedule(*fabric, *method, *demand, values, progress);
    if (!judged) {
      return inWindow(judged.error(), *method);
    }
    auto chosen = std::move(judged->made.treeCount);
    auto optimum = std::move(judged->made.optimum);
    auto made = measured(*std::move(part), *std::move(fabric), *std::move(judged), options, progress);
    if (!made) {
      return made.error();
    }
    auto result = std::const_pointer_cast<ScheduleResult>(*std::move(made));
    result->origin = originOf(options);
    result->scanned = std::move(scanned);
    result->chosen = std::move(chosen);
    // They are for the reader alone: without them the schedule is what it is.
    if (options.method == workflow::kDefaultMethod && result->forests() != nullptr) {
      const bool isFree = !values.contains(kFixedK) && !values.contains(kBestOfK) && !values.contains(kBySizes) &&
                          !values.contains(kByLoss);
      const auto free = isFree && optimum ? Result<forestcoll::Optimum>(std::move(*optimum))
                                          : freeOptimum(*result->fabric, *demand, progress);
      if (free) {
        result->paperK = free->integralTreesPerRoot;
        result->optimumK = free->treesPerRoot;
      }
    }
    result->seconds = clock.lap();
    return ScheduleResultPtr(std::move(result));
  });
}

std::string digestNow(const fabric::Description& facts, const FabricPart& part) {
  const auto left = chosenPart(facts, part);
  if (!left) {
    return {};
  }
  const auto fabric = fabric::Fabric::build(*left);
  return fabric ? fabric->digest() : std::string();
}

Outcome saveSchedule(const QString& path, const ScheduleResult& result, const Progress& progress) {
  return guarded<Done>([&]() -> Outcome {
    fabric::Description description = *result.description;
    description.extra = withOptions(description.extra, result);
    return io::saveFile(QFile::encodeName(path).toStdString(), [&](std::ostream& out) {
      return workflow::writeSchedule(out, result.schedule, *result.fabric, description, result.origin, progress);
    });
  });
}

namespace {

/// What a file holds, with the options that are embedded in its fabric.
template <typename Loaded>
Result<ScheduleResultPtr> examineLoaded(Loaded loaded, const Progress& progress) {
  const QJsonObject request = requestIn(loaded.description);
  io::Origin origin = statedOrigin(loaded.origin, request);
  const ScheduleOptions options = optionsOf(request, origin, loaded.fabric, loaded.schedule);
  dropOptions(loaded.description.extra);
  auto examined = examineSchedule(std::move(loaded.description), std::move(loaded.fabric), std::move(loaded.schedule),
                                  options, progress);
  if (!examined) {
    return examined.error();
  }
  auto result = std::const_pointer_cast<ScheduleResult>(*std::move(examined));
  result->origin = std::move(origin);
  result->paperK = std::max<qint64>(0, request.value("paper_k"_L1).toInteger());
  result->optimumK = std::max<qint64>(0, request.value("optimum_k"_L1).toInteger());
  result->seconds = std::max(0.0, request.value("seconds"_L1).toDouble());
  return ScheduleResultPtr(std::move(result));
}

}  // namespace

Result<ScheduleResultPtr> readSchedule(const std::string& text, const QString& fileName, const Progress& progress) {
  return guarded<ScheduleResultPtr>([&]() -> Result<ScheduleResultPtr> {
    progress.report("reading", 0);
    constexpr std::size_t kBeginning = 4096;
    const std::string_view beginning = std::string_view(text).substr(0, kBeginning);
    if (workflow::scheduleFileKind(beginning) == workflow::ScheduleFileKind::steps) {
      auto loaded = io::loadSchedule(text, fileName.toStdString());
      return loaded ? examineLoaded(*std::move(loaded), progress) : loaded.error();
    }
    auto loaded = io::loadForest(text, fileName.toStdString());
    return loaded ? examineLoaded(*std::move(loaded), progress) : loaded.error();
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
