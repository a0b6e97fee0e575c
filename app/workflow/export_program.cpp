// SPDX-License-Identifier: Apache-2.0
#include "workflow/export_program.hpp"

#include <sstream>
#include <utility>

#include "forestcoll/forestcoll.hpp"
#include "io/tree_xml.hpp"
#include "lowering/protocol.hpp"
#include "program/msccl_xml.hpp"
#include "schedule/switch_need.hpp"
#include "schedule/tree_reader.hpp"
#include "verify/custom_goal.hpp"
#include "workflow/clock.hpp"
#include "workflow/facts.hpp"
#include "workflow/guarded.hpp"
#include "workflow/make_schedule.hpp"

namespace coppice::workflow {

namespace {

/// @param custom what a custom collective demands; null for others  @param clock started when lowering did
Result<ExportedProgram> writeAndJudge(const fabric::Fabric& fabric, const Result<program::Program>& program,
                                      const lowering::Options& options, const schedule::CollectiveTable* custom,
                                      const std::string& fileName, Clock& clock, const Progress& progress) {
  if (!program) {
    return program.error();
  }
  ExportedProgram exported;
  exported.lowering = clock.lap();
  progress.report("writing", 0);
  exported.xml = program::writeMscclXml(*program, options.runtime);
  exported.writing = clock.lap();
  verify::ProgramCheckOptions checks{.runtime = options.runtime,
                                     .root = program->root,
                                     .multiprocessors = lowering::multiprocessorsOf(fabric, options)};
  if (custom != nullptr) {
    auto goal = verify::customGoal(*custom, static_cast<int>(program->ranks.size()), program->chunksPerLoop);
    if (!goal) {
      return goal.error();
    }
    checks.custom = *std::move(goal);
  }
  auto judged = verify::judgeProgram(exported.xml, fileName, checks, lowering::reachOf(fabric), progress);
  if (!judged) {
    return judged.error();
  }
  exported.judgement = *std::move(judged);
  exported.verifying = clock.lap();
  exported.used = program::usedSizes(program::sizeFacts(exported.judgement.program), options.runtime);
  return exported;
}

/// Gather and scatter have names in the parser of msccl-executor-nccl, and no call that reaches a program.
Outcome requireCall(Collective collective, program::Runtime runtime) {
  if ((collective == Collective::gather || collective == Collective::scatter) &&
      runtime == program::Runtime::mscclExecutorNccl) {
    return Error{ErrorCode::badUsage,
                 "no call of msccl-executor-nccl reaches a program for " + std::string(toString(collective)) +
                     ": its parser knows the name alone",
                 "export it for RCCL (--target rccl), whose call runs it"};
  }
  return Done{};
}

/// What plain switches give where the program of a schedule needs more of them; the error as it is where that is not
/// known at once.
Error withPlainPrice(Error error, const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                     const Progress& progress) {
  constexpr int kMaxGpus = 256;  // within a second
  if (error.code != ErrorCode::unavailable || fabric.gpuCount() > kMaxGpus ||
      !schedule::needsSwitches(fabric, schedule, progress)) {
    return error;
  }
  const auto optimum = forestcoll::optimum(
      fabric,
      {.collective = schedule.collective, .root = schedule.root, .amounts = schedule.amounts, .plainSwitches = true},
      progress);
  if (optimum) {
    const Rational share = optimum->algbw / schedule.algbw;
    error.fix = "generate it again with --plain-switches, which gives " + gigabytes(optimum->algbw) + ", " +
                percent(share) + " of this schedule; a .forest.json holds this one";
  }
  return error;
}

}  // namespace

Result<ExportedProgram> exportProgram(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                                      const lowering::Options& options, const std::string& fileName,
                                      const Progress& progress) {
  if (const Outcome called = requireCall(schedule.collective, options.runtime); !called) {
    return called.error();
  }
  Clock clock;
  progress.report("lowering", 0);
  lowering::StepOrigins origins;
  const auto lowered = lowering::lower(fabric, schedule, options, progress, &origins);
  if (!lowered) {
    return guarded<ExportedProgram>(
        [&] { return Result<ExportedProgram>(withPlainPrice(lowered.error(), fabric, schedule, progress)); });
  }
  auto exported = writeAndJudge(fabric, lowered, options, nullptr, fileName, clock, progress);
  if (exported) {
    exported->origins = std::move(origins);
  }
  return exported;
}

Result<ExportedProgram> exportProgram(const fabric::Fabric& fabric, const schedule::AnySchedule& schedule,
                                      const lowering::Options& options, const std::string& fileName,
                                      const Progress& progress) {
  if (const auto* forests = std::get_if<schedule::Schedule>(&schedule)) {
    return exportProgram(fabric, *forests, options, fileName, progress);
  }
  Clock clock;
  progress.report("lowering", 0);
  const auto& steps = std::get<schedule::StepSchedule>(schedule);
  if (const Outcome called = requireCall(steps.goal.collective(), options.runtime); !called) {
    return called.error();
  }
  const bool isCustom = steps.goal.collective() == Collective::custom;
  return writeAndJudge(fabric, lowering::lower(fabric, steps, options, progress), options,
                       isCustom ? &steps.goal : nullptr, fileName, clock, progress);
}

Result<ExportedProgram> requireProgram(const fabric::Fabric& fabric, const schedule::AnySchedule& schedule,
                                       const lowering::Options& options, const std::string& fileName,
                                       const Progress& progress) {
  auto exported = exportProgram(fabric, schedule, options, fileName, progress);
  if (exported && !exported->judgement.ok) {
    const Finding* fault = firstFault(exported->judgement.findings);
    return Error{ErrorCode::verification,
                 "the program did not pass the verifier" + (fault == nullptr ? "" : ": " + fault->text),
                 "nothing was written; please report this schedule", fault == nullptr ? Place{} : fault->where};
  }
  return exported;
}

lowering::StepOrigins originsIn(const program::Program& program, program::Runtime runtime, const fabric::Fabric& fabric,
                                const schedule::Schedule& schedule, const Progress& progress) {
  if (schedule.collective != program.collective || static_cast<int>(program.ranks.size()) != fabric.gpuCount()) {
    return {};
  }
  Progress quiet;
  quiet.stop = progress.stop;
  for (const int instances : {1, 2, 4, 8}) {
    lowering::StepOrigins origins;
    const lowering::Options options{
        .runtime = runtime, .protocol = program.protocol, .inPlace = program.inPlace, .instances = instances};
    const auto lowered = lowering::lower(fabric, schedule, options, quiet, &origins);
    if (!lowered) {
      return {};
    }
    // As a reader of its text finds it.
    const auto read = program::readMscclXml(program::writeMscclXml(*lowered, runtime), runtime);
    if (read && read->program.ranks == program.ranks) {
      return origins;
    }
    if (lowered->chunksPerLoop > program.chunksPerLoop) {
      break;
    }
  }
  return {};
}

Result<std::string> exportTrees(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                                const Progress& progress) {
  std::ostringstream text;
  if (Outcome written = io::writeTreeXml(text, schedule, fabric, progress); !written) {
    return written.error();
  }
  std::string xml = std::move(text).str();
  if (const auto read = io::readTreeXml(xml); !read) {
    return Error{ErrorCode::internal, "the tree file cannot be read back: " + read.error().message,
                 "nothing was written; please report this"};
  }
  return xml;
}

bool mustStreamTrees(const schedule::Schedule& schedule) {
  // Length of a send where ids are short.
  constexpr std::int64_t kBytesPerEdge = 64;
  const schedule::Forest& forest = schedule.broadcastForest ? *schedule.broadcastForest : *schedule.reduceForest;
  return schedule::sizeOf(forest).edges > static_cast<std::int64_t>(io::kMaxTreeXmlBytes) / kBytesPerEdge;
}

}  // namespace coppice::workflow
