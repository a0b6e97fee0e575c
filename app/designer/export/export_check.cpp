// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/export/export_check.hpp"

#include <QCoreApplication>
#include <algorithm>
#include <array>
#include <map>
#include <new>
#include <utility>

#include "advice/fitting.hpp"
#include "advice/tree_count.hpp"
#include "designer/document/counted.hpp"
#include "designer/document/error_text.hpp"
#include "designer/document/figures.hpp"
#include "designer/jobs/bound.hpp"
#include "lowering/footprint.hpp"
#include "lowering/protocol.hpp"
#include "program/msccl_xml.hpp"
#include "program/used_sizes.hpp"
#include "schedule/chunk_grid.hpp"
#include "workflow/export_program.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

using program::Runtime;

struct Texts {
  Q_DECLARE_TR_FUNCTIONS(Export)
};

QString text(std::string_view view) {
  return QString::fromUtf8(view.data(), static_cast<qsizetype>(view.size()));
}

/// Where MSCCL's 32-bit byte counts end.
constexpr std::int64_t kWrap = std::int64_t{1} << 31;

/// Good, near the limit, or over it.
CheckRow limitRow(const QString& name, int value, int limit, const QString& detail) {
  constexpr int kNearly = 9;
  constexpr int kTen = 10;
  CheckRow row;
  row.name = name;
  row.value = QString::number(value);
  row.limit = Texts::tr("at most %1").arg(limit);
  row.detail = detail;
  row.state = value > limit                                                                ? CheckState::bad
              : std::int64_t{value} * kTen > std::int64_t{limit} * kNearly && limit > kTen ? CheckState::doubtful
                                                                                           : CheckState::good;
  if (row.state == CheckState::doubtful) {
    row.detail += u' ' + Texts::tr("Close to the limit.");
  }
  return row;
}

QString placeOf(const Place& place) {
  QString result = QString::fromStdString(toText(place.element));
  if (place.line > 0) {
    result = Texts::tr("line %1, column %2").arg(place.line).arg(place.column) +
             (result.isEmpty() ? QString() : u" · "_s + result);
  }
  return result;
}

/// "64 KiB to 1 GiB"
QString windowText(const program::Program& program) {
  const bool isOpen = program.maxBytes >= lowering::kDefaultMaxBytes;
  if (program.minBytes == 0) {
    return isOpen ? Texts::tr("any size") : Texts::tr("up to %1").arg(bytesText(program.maxBytes));
  }
  return isOpen ? Texts::tr("from %1").arg(bytesText(program.minBytes))
                : Texts::tr("%1 to %2").arg(bytesText(program.minBytes), bytesText(program.maxBytes));
}

CheckRow windowRow(const program::Program& program, Runtime runtime, const lowering::Options* options) {
  CheckRow row;
  row.name = Texts::tr("Sizes");
  row.value = windowText(program);
  row.limit = Texts::tr("size range in the file");
  row.detail = Texts::tr("For other sizes the runtime runs its own algorithm.");
  const bool countsBytes = program.collective == Collective::allgather || program.collective == Collective::broadcast;
  if (runtime == Runtime::msccl && countsBytes && program.maxBytes > kWrap) {
    row.state = CheckState::doubtful;
    row.detail =
        Texts::tr("msccl counts the bytes of this collective in 32 bits: calls of 2 GiB or more are unreliable.");
    if (options != nullptr && options->minBytes < kWrap) {
      CheckFix fix{Texts::tr("End below 2 GiB"), *options};
      fix.options.maxBytes = kWrap;
      row.fixes.push_back(std::move(fix));
    }
  }
  return row;
}

/// At which calls the runtime takes the program.
CheckRow usedRow(const program::Program& program, Runtime runtime) {
  const program::UsedSizes used = program::usedSizes(program::sizeFacts(program), runtime);
  CheckRow row;
  row.state = used.powersOfTwo ? CheckState::good : CheckState::doubtful;
  row.name = Texts::tr("Used at");
  row.value = used.inBytes ? counted(used.multipleOf, Texts::tr("byte"), Texts::tr("bytes"))
                           : counted(used.multipleOf, Texts::tr("element"), Texts::tr("elements"));
  row.limit = Texts::tr("and multiples");
  row.detail = used.powersOfTwo ? Texts::tr("At all powers of two from %1 on, as nccl-tests makes the calls.")
                                      .arg(bytesText(used.sweep->first))
               : used.sweep ? Texts::tr("Not at powers of two: a sweep of nccl-tests over powers of two never runs it.")
                            : Texts::tr("No size in the range fits, so it never runs.");
  row.detail += u' ' + Texts::tr("For other calls the runtime runs its own algorithm, without a message.");
  if (used.olderMultiplePerRank && *used.olderMultiplePerRank > 1) {
    row.detail += u' ' + Texts::tr("Before ROCm 6.3 this counts the share of each rank.");
  }
  return row;
}

/// The power of two of chunks that loses least of those that fit and, where asked, are used at powers of two.
void offerChunks(const ScheduleResult& result, const schedule::StepSchedule& schedule, const lowering::Options& options,
                 bool forPowersOfTwo, const Progress& progress, CheckRow& row) {
  constexpr std::int64_t kMaxChunks = 256;
  Progress quiet = progress;
  quiet.onReport = nullptr;
  std::optional<Bandwidth> best;
  lowering::Options chosen = options;
  for (std::int64_t chunks = 1; chunks <= kMaxChunks && !progress.isCancelled(); chunks *= 2) {
    const auto cut = schedule::onGrid(*result.fabric, schedule, chunks, quiet);
    if (chunks == options.chunks || !cut || (best && cut->algbw <= *best)) {
      continue;
    }
    lowering::Options changed = options;
    changed.chunks = chunks;
    const auto lowered = lowering::lower(*result.fabric, schedule, changed, quiet);
    if (lowered && (!forPowersOfTwo || program::usedSizes(program::sizeFacts(*lowered), options.runtime).powersOfTwo)) {
      best = cut->algbw;
      chosen = changed;
    }
  }
  if (!best) {
    return;
  }
  const Rational loss = (result.algbw - *best) / result.algbw;
  const QString count = counted(chosen.chunks, Texts::tr("chunk"), Texts::tr("chunks"));
  row.detail += u' ' + (loss.isPositive() ? Texts::tr("Shards of %1 solve this, at a loss of %2.")
                                                .arg(count, QString::fromStdString(advice::lossText(loss)))
                                          : Texts::tr("Shards of %1 solve this, without loss.").arg(count));
  row.fixes.push_back({Texts::tr("Cut shards into ") + count, chosen});
}

/// The setting that makes the program one that powers of two use, with its exact price. False: cancelled.
bool offerPowersOfTwo(const ScheduleResult& result, const lowering::Options& options, const Progress& progress,
                      CheckRow& row) {
  progress.report("scanning k", 0);
  if (const schedule::StepSchedule* steps = result.stepSchedule()) {
    offerChunks(result, *steps, options, true, progress, row);
    return !progress.isCancelled();
  }
  const auto setting = advice::settingForPowersOfTwo(*result.fabric, *result.forests(), options.instances, progress);
  if (!setting) {
    return setting.error().code != ErrorCode::cancelled;
  }
  if (!*setting) {
    return true;
  }
  CheckFix fix{{}, options};
  fix.options.instances = (*setting)->instances;
  const QString instances = counted((*setting)->instances, Texts::tr("instance"), Texts::tr("instances"));
  if ((*setting)->trees) {
    fix.newK = (*setting)->trees->k;
    const QString price = QString::fromStdString(advice::lossText((*setting)->price));
    fix.label = Texts::tr("Generate with k = %1").arg(*fix.newK);
    if (fix.options.instances != options.instances) {
      fix.label += u", "_s + instances;
    }
    row.detail +=
        u' ' +
        ((*setting)->price < Rational(0)
             ? Texts::tr("With k = %1 the program is used at all of them, and is faster.").arg(*fix.newK)
             : Texts::tr("With k = %1 the program is used at all of them, at a loss of %2.").arg(*fix.newK).arg(price));
  } else {
    fix.label = Texts::tr("Use ") + instances;
    row.detail += u' ' + Texts::tr("%1 is enough, without loss.").arg(instances);
  }
  row.fixes.push_back(std::move(fix));
  return true;
}

/// "k = 1, 28 peers per GPU"
QString settingsText(std::optional<std::int64_t> k, std::optional<int> peers) {
  QStringList parts;
  if (k) {
    parts << Texts::tr("k = %1").arg(*k);
  }
  if (peers) {
    parts << Texts::tr("%1 peers per GPU").arg(*peers);
  }
  return parts.join(u", "_s);
}

/// Schedules with fewer trees or peers that fit, with their exact price.
void offerSchedules(const ScheduleResult& result, const lowering::Options& options, const Progress& progress,
                    CheckRow& row) {
  if (const schedule::StepSchedule* steps = result.stepSchedule()) {
    offerChunks(result, *steps, options, false, progress, row);
    return;
  }
  forestcoll::Request request = advice::requestOf(*result.forests());
  if (const auto height = result.options.integer(kMaxHeight)) {
    request.maxHeight = static_cast<int>(*height);
  }
  request.heightEffort = static_cast<int>(result.options.integer("height-effort").value_or(request.heightEffort));
  const auto fits = advice::whatFits(*result.fabric, request, *result.forests(), options, progress);
  if (!fits) {
    return;
  }
  if (fits->never) {
    row.detail += u' ' + Texts::tr("No other trees fit either: %1.").arg(text(fits->never->message));
  }
  for (const advice::Fit& fit : fits->fits) {
    if (result.options.integer(kMaxPeers) && !fit.maxPeers) {
      continue;  // it was tried without the limit that this schedule has
    }
    CheckFix fix{{}, options, fit.k, fit.maxPeers};
    // What is reached, not the limit that leads to it.
    const QString both = settingsText(fit.k, fit.peers ? fit.peers : fit.maxPeers);
    fix.label = Texts::tr("Generate with %1").arg(both);
    const QString share = fit.share == Rational(1) ? Texts::tr("the optimum")
                                                   : Texts::tr("%1 (%2) of the optimum")
                                                         .arg(percentOf(fit.share, Rational(1)),
                                                              QString::fromStdString(fit.share.toString()));
    row.detail += u' ' + Texts::tr("With %1 it fits, in %2: %3 GB/s, %4; height %5.")
                             .arg(both, counted(fit.threadBlocks, Texts::tr("threadblock"), Texts::tr("threadblocks")),
                                  exactly(fit.algbw), share)
                             .arg(fit.height);
    row.fixes.push_back(std::move(fix));
  }
  QStringList untried;
  for (const advice::Fit& fit : fits->untried) {
    untried << settingsText(fit.k, fit.maxPeers);
  }
  if (!untried.isEmpty()) {
    row.detail +=
        u' ' + Texts::tr("Not tried, as each takes long on %1: %2.")
                   .arg(counted(result.fabric->gpuCount(), Texts::tr("GPU"), Texts::tr("GPUs")), untried.join(u"; "_s));
  }
}

/// What would make a schedule fit that does not, each one tried.
std::vector<CheckFix> triedFixes(const ScheduleResult& result, const lowering::Options& options,
                                 const Progress& progress) {
  std::vector<CheckFix> fixes;
  std::vector<CheckFix> candidates;
  const auto offer = [&](const QString& label, const auto& change) {
    CheckFix fix{label, options};
    change(fix.options);
    candidates.push_back(std::move(fix));
  };
  for (int instances = options.instances / 2; instances >= 1; instances /= 2) {
    offer(Texts::tr("Use ") + counted(instances, Texts::tr("instance"), Texts::tr("instances")),
          [&](lowering::Options& changed) { changed.instances = instances; });
  }
  if (!options.inPlace) {
    offer(Texts::tr("Make it in place"), [](lowering::Options& changed) { changed.inPlace = true; });
  }
  if (options.maxBytes != lowering::kDefaultMaxBytes) {
    offer(Texts::tr("Limit the sizes to what scratch allows"),
          [](lowering::Options& changed) { changed.maxBytes = lowering::kDefaultMaxBytes; });
  }
  if (options.channels != lowering::ChannelPolicy::compact) {
    offer(Texts::tr("Use the minimum number of channels"),
          [](lowering::Options& changed) { changed.channels = lowering::ChannelPolicy::compact; });
  }
  for (const Runtime runtime : program::kRuntimes) {
    if (runtime != options.runtime) {
      offer(Texts::tr("Export for %1").arg(text(program::toString(runtime))),
            [&](lowering::Options& changed) { changed.runtime = runtime; });
    }
  }
  if (!lowering::chooseProtocol(*result.fabric, schedule::collectiveOf(result.schedule), options.protocol)) {
    offer(Texts::tr("Use LL"), [](lowering::Options& changed) { changed.protocol = program::Protocol::ll; });
  }
  bool hasInstances = false;
  Progress quiet = progress;
  quiet.onReport = nullptr;
  for (std::size_t i = 0; i < candidates.size() && !progress.isCancelled(); ++i) {
    progress.report("trying fixes", static_cast<double>(i) / static_cast<double>(candidates.size()));
    CheckFix& candidate = candidates[i];
    // The largest number of instances that fits is enough.
    const bool changesInstances = candidate.options.instances != options.instances;
    if (changesInstances && hasInstances) {
      continue;
    }
    const bool fits = result.forests() != nullptr
                          ? lowering::footprint(*result.fabric, *result.forests(), candidate.options, quiet).hasValue()
                          : lowering::lower(*result.fabric, result.schedule, candidate.options, quiet).hasValue();
    if (fits) {
      hasInstances = hasInstances || changesInstances;
      fixes.push_back(std::move(candidate));
    }
  }
  return fixes;
}

}  // namespace

QString runtimeTitle(Runtime runtime) {
  switch (runtime) {
    case Runtime::msccl:
      return Texts::tr("msccl (Microsoft, NCCL 2.12)");
    case Runtime::mscclExecutorNccl:
      return Texts::tr("msccl-executor-nccl (Azure, NCCL 2.23)");
    case Runtime::rccl:
      return Texts::tr("rccl (ROCm 6.2 to 7.12)");
    case Runtime::rccl61:
      return Texts::tr("rccl-6.1 (ROCm 6.1)");
    case Runtime::rccl60:
      return Texts::tr("rccl-6.0 (ROCm 6.0)");
    case Runtime::mscclpp:  // by its title
      break;
  }
  return {};
}

QString destinationTitle(const workflow::Destination& destination) {
  return destination.target != nullptr ? QString::fromUtf8(destination.target->title.data(),
                                                           static_cast<qsizetype>(destination.target->title.size()))
                                       : runtimeTitle(destination.runtime);
}

ProgramCounts countsOf(const program::Program& program) {
  ProgramCounts counts;
  for (const program::RankProgram& rank : program.ranks) {
    counts.threadBlocks = std::max(counts.threadBlocks, static_cast<int>(rank.threadBlocks.size()));
    counts.scratch = std::max(counts.scratch, rank.scratchChunks);
    std::size_t nodes = 1 + program.ranks.size() + rank.threadBlocks.size();
    std::map<int, std::pair<int, int>> peers;
    for (const program::ThreadBlock& block : rank.threadBlocks) {
      nodes += block.steps.size();
      counts.steps = std::max(counts.steps, static_cast<int>(block.steps.size()));
      auto& [sends, receives] = peers[block.channel];
      sends += block.sendPeer >= 0 ? 1 : 0;
      receives += block.recvPeer >= 0 ? 1 : 0;
      counts.peers = std::max({counts.peers, sends, receives});
      for (const program::Step& step : block.steps) {
        counts.count = std::max(counts.count, step.count);
        counts.dependsOn = std::max(counts.dependsOn, step.dependsOnTb);
        counts.offset = std::max({counts.offset, step.src.offset, step.dst.offset});
      }
    }
    counts.xmlNodes = std::max(counts.xmlNodes, static_cast<int>(nodes));
  }
  return counts;
}

std::vector<CheckRow> checklistOf(const ProgramJudgement& judgement, Runtime runtime,
                                  const lowering::Options* options) {
  std::vector<CheckRow> rows;
  const program::Program& program = judgement.program;
  const program::RuntimeLimits& limits = program::limits(runtime);
  const ProgramCounts counts = countsOf(program);
  const bool hasFaults = !judgement.ok;
  CheckRow executed;
  executed.name = Texts::tr("Executed symbolically");
  executed.value = counted(judgement.verdict.ranks, Texts::tr("rank"), Texts::tr("ranks"));
  executed.limit = Texts::tr("every output chunk");
  executed.state = hasFaults ? CheckState::bad : CheckState::good;
  executed.detail = hasFaults ? Texts::tr("The verifier found faults; they are listed below.")
                              : Texts::tr("Each contains exactly what %1 requires; no race, no read of unwritten data.")
                                    .arg(collectiveName(judgement.verdict.collective));
  rows.push_back(executed);
  CheckRow deadlock;
  deadlock.name = Texts::tr("Free of deadlock");
  deadlock.value = text(program::toString(program.protocol));
  deadlock.limit = Texts::tr("depth %1").arg(program::connectionDepth(program.protocol));
  deadlock.state = executed.state;
  deadlock.detail = hasFaults ? Texts::tr("Not established.")
                              : Texts::tr("Senders may run this many messages ahead of their receivers.");
  rows.push_back(deadlock);
  rows.push_back(limitRow(Texts::tr("Threadblocks per rank"), counts.threadBlocks, limits.threadBlocksPerRank,
                          Texts::tr("All of them must run at the same time.")));
  rows.push_back(limitRow(Texts::tr("Threadblocks on one GPU"), counts.threadBlocks, judgement.verdict.multiprocessors,
                          Texts::tr("A GPU of this kind runs as many at once; 108, as an A100, where no name tells the "
                                    "kind.")));
  rows.push_back(limitRow(Texts::tr("Steps per threadblock"), counts.steps, limits.stepsPerThreadBlock, {}));
  rows.push_back(limitRow(Texts::tr("Channels"), program.channels, limits.channels, {}));
  rows.push_back(limitRow(Texts::tr("Peers per channel"), counts.peers, limits.peersPerChannel,
                          Texts::tr("Threadblocks that send, or receive, on one channel of a rank.")));
  rows.push_back(limitRow(Texts::tr("Chunks per step"), counts.count, limits.count, {}));
  rows.push_back(limitRow(Texts::tr("Chunk offsets"), counts.offset, limits.offset, {}));
  rows.push_back(limitRow(Texts::tr("Dependencies"), counts.dependsOn, limits.dependencyTb,
                          Texts::tr("Highest threadblock number that a step waits for.")));
  rows.push_back(limitRow(Texts::tr("XML elements per rank"), counts.xmlNodes, limits.xmlNodes, {}));
  rows.push_back(windowRow(program, runtime, options));
  rows.push_back(usedRow(program, runtime));
  CheckRow place;
  place.name = Texts::tr("Buffers");
  place.value = program.inPlace && program.outOfPlace ? Texts::tr("in and out of place")
                : program.inPlace                     ? Texts::tr("in place")
                                                      : Texts::tr("out of place");
  place.limit = Texts::tr("as the call");
  place.detail = Texts::tr("For calls of the other kind the runtime runs its own algorithm.");
  rows.push_back(place);
  if (judgement.verdict.root >= 0) {
    CheckRow root;
    root.state = CheckState::doubtful;
    root.name = Texts::tr("Root");
    root.value = Texts::tr("rank %1").arg(judgement.verdict.root);
    root.limit = Texts::tr("not compared");
    root.detail = Texts::tr(
        "No runtime compares the root: a call with another one also runs this program, and its data is wrong. Load it "
        "only in jobs whose calls all have this root.");
    rows.push_back(std::move(root));
  }
  if (counts.scratch > 0) {
    rows.push_back(limitRow(Texts::tr("Scratch chunks"), counts.scratch, limits.offset + 1, {}));
  }
  for (const Finding& finding : judgement.findings) {
    const int rootOfRow = judgement.verdict.root;
    if (finding.severity == Severity::note || (rootOfRow >= 0 && finding.text == program::rootText(rootOfRow))) {
      continue;
    }
    CheckRow row;
    row.state = finding.severity == Severity::error ? CheckState::bad : CheckState::doubtful;
    row.name = finding.severity == Severity::error ? Texts::tr("Fault") : Texts::tr("Warning");
    row.value = placeOf(finding.where);
    row.detail = sentence(finding);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<CheckRow> checklistOf(const workflow::TargetFile& file) {
  std::vector<CheckRow> rows;
  CheckRow executed;
  executed.state = file.isOk ? CheckState::good : CheckState::bad;
  executed.name = Texts::tr("Executed symbolically");
  executed.value = counted(file.ranks, Texts::tr("rank"), Texts::tr("ranks"));
  executed.limit = Texts::tr("every output chunk");
  executed.detail = file.isOk ? Texts::tr("Launch after launch, without deadlock or race; all channels balanced.")
                              : Texts::tr("The verifier found faults; they are listed below.");
  rows.push_back(std::move(executed));
  for (const workflow::TargetLimit& limit : file.limits) {
    rows.push_back({limit.isMet ? CheckState::good : CheckState::bad, text(limit.name), text(limit.value),
                    Texts::tr("at most %1").arg(text(limit.limit)), text(limit.detail)});
  }
  for (const Finding& finding : file.findings) {
    if (finding.severity != Severity::note) {
      const bool isError = finding.severity == Severity::error;
      rows.push_back({isError ? CheckState::bad : CheckState::doubtful,
                      isError ? Texts::tr("Fault") : Texts::tr("Warning"),
                      placeOf(finding.where),
                      {},
                      sentence(finding)});
    }
  }
  for (const std::string& note : file.notes) {
    rows.push_back({CheckState::doubtful, Texts::tr("Note"), {}, {}, sentence(Error{ErrorCode::limit, note})});
  }
  // What is wrong comes first, then what there is to know.
  std::stable_sort(rows.begin(), rows.end(), [](const CheckRow& a, const CheckRow& b) { return a.state > b.state; });
  return rows;
}

namespace {

ExportCheck checkTarget(const ScheduleResult& result, const lowering::Options& options, const workflow::Target& target,
                        const Progress& progress) {
  ExportCheck check;
  check.options = options;
  auto exported = target.write(*result.fabric, result.schedule, options, {}, progress);
  if (!exported) {
    const Error& error = exported.error();
    if (error.code != ErrorCode::cancelled) {
      CheckRow row;
      row.state = CheckState::bad;
      row.name = error.code == ErrorCode::limit ? Texts::tr("Does not fit") : Texts::tr("Cannot be exported");
      row.value = text(target.id);
      row.detail = sentence(error);
      check.rows.push_back(std::move(row));
      check.summary = Texts::tr("This schedule cannot be exported with these settings");
    }
    return check;
  }
  check.rows = checklistOf(exported->file);
  check.isOk = true;
  check.summary = Texts::tr("Verified on %1; %2")
                      .arg(counted(exported->file.ranks, Texts::tr("rank"), Texts::tr("ranks")), text(target.what));
  check.xml = std::move(exported->text);
  for (const std::string& note : exported->file.notes) {
    check.notes += note + "\n";
  }
  return check;
}

}  // namespace

ExportCheck checkExport(const ScheduleResult& result, const lowering::Options& options, const Progress& progress,
                        Remedies remedies, const workflow::Target* target) {
  if (target != nullptr) {
    return checkTarget(result, options, *target, progress);
  }
  ExportCheck check;
  check.options = options;
  const auto refuse = [&](const Error& error, bool canBeMended) {
    CheckRow row;
    row.state = CheckState::bad;
    row.name = error.code == ErrorCode::limit ? Texts::tr("Does not fit") : Texts::tr("Cannot be exported");
    row.value = text(program::toString(options.runtime));
    row.detail = sentence(error);
    if (canBeMended) {
      row.fixes = triedFixes(result, options, progress);
      check.hasMoreRemedies = error.code == ErrorCode::limit && remedies == Remedies::settings;
      if (error.code == ErrorCode::limit && !check.hasMoreRemedies && !progress.isCancelled()) {
        offerSchedules(result, options, progress, row);
      }
    }
    check.summary =
        error.code == ErrorCode::limit
            ? Texts::tr("%1 cannot run this schedule with these settings").arg(text(program::toString(options.runtime)))
            : Texts::tr("This schedule cannot be exported with these settings");
    check.rows.insert(check.rows.begin(), std::move(row));
  };
  auto exported = workflow::exportProgram(*result.fabric, result.schedule, options, {}, progress);
  if (!exported) {
    const ErrorCode code = exported.error().code;
    if (code != ErrorCode::cancelled) {
      refuse(exported.error(), code == ErrorCode::limit || code == ErrorCode::badUsage);
    }
    return check;
  }
  const ProgramJudgement* const judged = &exported->judgement;
  check.rows = checklistOf(*judged, options.runtime, &options);
  if (result.options.methodOptions.contains(kMulticast)) {
    CheckRow row;
    row.state = CheckState::doubtful;
    row.name = Texts::tr("Multicast in switches");
    row.value = Texts::tr("left out");
    row.detail = Texts::tr("MSCCL has no multicast: these edges send their data along the whole route.");
    check.rows.push_back(std::move(row));
  }
  const program::UsedSizes& used = exported->used;
  if (judged->ok && !used.powersOfTwo && used.sweep) {
    const auto row = std::find_if(check.rows.begin(), check.rows.end(),
                                  [](const CheckRow& each) { return each.name == Texts::tr("Used at"); });
    if (row != check.rows.end() && !offerPowersOfTwo(result, options, progress, *row)) {
      return {};
    }
  }
  // What is wrong comes first, then what there is to know.
  std::stable_sort(check.rows.begin(), check.rows.end(),
                   [](const CheckRow& a, const CheckRow& b) { return a.state > b.state; });
  check.isOk = judged->ok;
  if (!check.isOk) {
    check.summary = Texts::tr("The verifier rejects this program; it is not saved.");
    return check;
  }
  const auto doubts = std::count_if(check.rows.begin(), check.rows.end(),
                                    [](const CheckRow& row) { return row.state == CheckState::doubtful; });
  check.summary = Texts::tr("Verified on %1; chosen for %2 calls, %3")
                      .arg(counted(judged->verdict.ranks, Texts::tr("rank"), Texts::tr("ranks")),
                           judged->program.inPlace ? Texts::tr("in-place") : Texts::tr("out-of-place"),
                           windowText(judged->program)) +
                  (doubts > 0 ? u" · "_s + counted(doubts, Texts::tr("notice"), Texts::tr("notices")) : QString());
  check.xml = std::move(exported->xml);
  check.origins = std::move(exported->origins);
  check.facts = judged->program;
  check.facts.ranks.assign(check.facts.ranks.size(), {});
  check.facts.root = judged->verdict.root;
  return check;
}

}  // namespace coppice::designer
