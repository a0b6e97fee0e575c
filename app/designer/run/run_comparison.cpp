// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/run/run_comparison.hpp"

#include <QFile>
#include <algorithm>
#include <utility>

#include "designer/document/error_text.hpp"
#include "designer/schedules/prediction.hpp"
#include "designer/schedules/simulation_settings.hpp"
#include "io/files.hpp"
#include "io/forest_json.hpp"
#include "workflow/guarded.hpp"
#include "workflow/playable.hpp"

using namespace Qt::StringLiterals;

namespace coppice::designer {
namespace {

std::string fileNameOf(const QString& path) {
  return QFile::encodeName(path).toStdString();
}

/// The run, and the schedule that was run where that is known.
Outcome read(RunComparison& comparison, const Progress& progress) {
  const RecordedRun& source = comparison.source;
  std::string text = source.text;
  if (!source.records.isEmpty()) {
    auto file = io::readFile(fileNameOf(source.records), io::kMaxForestBytes);
    if (!file) {
      return file.error();
    }
    text = *std::move(file);
  }
  const ScheduleResult& result = *comparison.result;
  const std::string_view collective = toString(schedule::collectiveOf(result.schedule));
  auto run = workflow::readMeasuredRun(text, source.title.toStdString(), collective);
  if (!run) {
    return run.error();
  }
  if (Outcome fits = workflow::checkSubject(*run, collective, result.fabric->gpuCount()); !fits) {
    return fits;
  }
  if (!source.schedule.isEmpty() && !source.schedule.endsWith(u".xml"_s)) {
    workflow::PlaySource played;
    played.file = fileNameOf(source.schedule);
    auto playable = workflow::loadPlayable(played, progress);
    if (!playable) {
      return playable.error();
    }
    if (schedule::digestOf(*playable->schedule) != result.fabricDigest()) {
      return Error{ErrorCode::badInput, "the run used a different fabric from that of the current schedule",
                   "choose a schedule of the fabric that was run"};
    }
    comparison.played = std::make_shared<const schedule::AnySchedule>(*std::move(playable->schedule));
  }
  comparison.run = std::make_shared<const workflow::MeasuredRun>(*std::move(run));
  return Done{};
}

Outcome predictSizes(RunComparison& comparison, const Progress& progress) {
  auto subject = subjectOf(*comparison.result, progress);
  if (!subject) {
    return subject.error();
  }
  for (const io::NcclRow& row : comparison.run->rows) {
    const auto details = (*subject)->simulate(row.size, {}, progress);
    if (!details) {
      return details.error();
    }
    comparison.predicted.push_back(details->row);
  }
  return Done{};
}

Outcome compareTraces(RunComparison& comparison, const Progress& progress) {
  const workflow::MeasuredTrace* trace = comparison.shownTrace();
  if (trace == nullptr) {
    return Done{};
  }
  const ScheduleResult& result = *comparison.result;
  const schedule::AnySchedule& played = comparison.played ? *comparison.played : result.schedule;
  auto program = workflow::executedProgram(*result.fabric, played, trace->inPlace, progress);
  if (!program) {
    return program.error();
  }
  auto compared = workflow::compareTrace(*result.fabric, std::make_shared<const program::Program>(*std::move(program)),
                                         *trace, SimulationSettings::instance().modelFor(result), progress);
  if (!compared) {
    return compared.error();
  }
  comparison.parts = std::move(compared->comparison);
  comparison.planned = Playback::of(comparison.result, std::move(compared->planned));
  comparison.measured = Playback::of(comparison.result, std::move(compared->measured));
  return Done{};
}

}  // namespace

RunComparisonPtr compareRun(const ScheduleResultPtr& result, const RecordedRun& source,
                            std::optional<std::size_t> trace, const RunComparisonPtr& before,
                            const Progress& progress) {
  auto comparison = std::make_shared<RunComparison>();
  comparison->result = result;
  comparison->source = source;
  const Outcome done = workflow::guarded<Done>([&]() -> Outcome {
    if (before && before->run && before->result == result && before->source == source) {
      comparison->run = before->run;
      comparison->played = before->played;
      comparison->predicted = before->predicted;
    } else if (Outcome known = read(*comparison, progress); !known) {
      return known;
    }
    if (comparison->predicted.empty()) {
      if (Outcome predicted = predictSizes(*comparison, progress); !predicted) {
        return predicted;
      }
    }
    comparison->trace = trace.value_or(std::max<std::size_t>(comparison->run->traces.size(), 1) - 1);
    return compareTraces(*comparison, progress);
  });
  if (!done) {
    comparison->problem = sentence(done.error());
  }
  return comparison;
}

}  // namespace coppice::designer
