// SPDX-License-Identifier: Apache-2.0
#include "simulate/sweep.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "base/bus_factor.hpp"
#include "simulate/program_job.hpp"
#include "verify/program_flat.hpp"

namespace coppice::simulate {
namespace {

Row rowOf(std::int64_t bytes, Microseconds time, Collective collective, int ranks, std::uint32_t pieces) {
  Row row{.size = bytes, .time = time, .pieces = pieces};
  row.algbw = time > Microseconds(0) ? Throughput(static_cast<double>(bytes), time) : Throughput();
  row.busbw = row.algbw * busFactor(collective, ranks).toDouble();
  return row;
}

/// Trees, or transfers without steps: phases that run after each other, each in pieces.
class PipelinedSubject : public Subject {
public:
  PipelinedSubject(const fabric::Fabric& fabric, Collective collective, int ranks, std::vector<Job> jobs)
      : m_fabric(fabric),
        m_collective(collective),
        m_ranks(ranks),
        m_jobs(std::make_shared<const std::vector<Job>>(std::move(jobs))) {
    for (const Job& job : *m_jobs) {
      m_messages = std::max(m_messages, static_cast<std::int64_t>(job.messages().size()));
      m_phases.push_back({job.depth(), job.timePerByte(), job.largestStart()});
    }
  }

  [[nodiscard]] Collective collective() const override { return m_collective; }
  [[nodiscard]] const fabric::Fabric& fabric() const override { return m_fabric; }
  [[nodiscard]] bool hasPieces() const override { return true; }

  [[nodiscard]] std::uint32_t defaultPieces(double bytes) const override {
    double pieces = 1;
    for (const Phase& phase : m_phases) {
      if (phase.depth > 1) {  // infinite where messages cost nothing
        pieces =
            std::max(pieces, std::sqrt(static_cast<double>(phase.depth - 1) * phase.timePerByte * bytes / phase.start));
      }
    }
    constexpr double kAlwaysAllowed = 4;
    const double affordable =
        std::max(kAlwaysAllowed, static_cast<double>(kMaxDefaultMessages) / static_cast<double>(m_messages));
    return static_cast<std::uint32_t>(
        std::round(std::min({pieces, affordable, static_cast<double>(kMaxDefaultPieces)})));
  }

  [[nodiscard]] Result<Details> simulate(std::int64_t bytes, const SizeOptions& options,
                                         const Progress& progress) override {
    if (options.pieces) {
      return play(bytes, *options.pieces, options, progress);
    }
    const std::uint32_t first = defaultPieces(static_cast<double>(bytes));
    if (m_messages * first > kMaxSearchedMessages) {
      return play(bytes, first, options, progress);
    }
    return search(bytes, first, options, progress);
  }

private:
  struct Phase {
    std::int64_t depth = 0;
    Microseconds timePerByte{};
    Microseconds start{};
  };

  [[nodiscard]] Result<Details> play(std::int64_t bytes, std::uint32_t pieces, const SizeOptions& options,
                                     const Progress& progress) const {
    Details details{.owner = m_jobs};
    Microseconds time(0);
    Microseconds resolution(0);
    for (const Job& job : *m_jobs) {
      auto played = run(job,
                        {.bytes = static_cast<double>(bytes),
                         .repeats = pieces,
                         .resolution = options.resolution,
                         .record = options.record,
                         .limit = options.limit - time},
                        progress);
      if (!played) {
        return played.error();
      }
      time += played->time;
      resolution = std::max(resolution, played->resolution);
      details.phases.push_back({&job, *std::move(played)});
    }
    details.row = rowOf(bytes, time, m_collective, m_ranks, pieces);
    details.row.resolution = resolution;
    return details;
  }

  /// Doubles or halves the number of pieces while that is faster.
  [[nodiscard]] Result<Details> search(std::int64_t bytes, std::uint32_t first, const SizeOptions& options,
                                       const Progress& progress) const {
    SizeOptions quick = options;
    quick.record = false;
    quick.limit = kNoTimeLimit;
    auto best = play(bytes, first, quick, progress);
    for (const bool doubles : {true, false}) {
      for (std::uint32_t pieces = first; best;) {
        pieces = doubles ? pieces * 2 : pieces / 2;
        if (pieces == 0 || pieces > kMaxDefaultPieces || m_messages * pieces > 2 * kMaxSearchedMessages) {
          break;
        }
        quick.limit = best->row.time;
        auto other = play(bytes, pieces, quick, progress);
        if (!other) {
          return other.error();
        }
        if (other->row.time >= best->row.time) {
          break;
        }
        best = *std::move(other);
      }
      if (!best || best->row.pieces != first) {
        break;  // more are faster, so fewer are not
      }
    }
    return best && options.record ? play(bytes, best->row.pieces, options, progress) : std::move(best);
  }

  const fabric::Fabric& m_fabric;
  Collective m_collective;
  int m_ranks;
  std::shared_ptr<const std::vector<Job>> m_jobs;
  std::vector<Phase> m_phases;
  std::int64_t m_messages = 1;  ///< of the largest phase, without repeats
};

/// Steps: one phase that is not cut.
class StepSubject : public Subject {
public:
  StepSubject(const fabric::Fabric& fabric, Collective collective, Job job)
      : m_fabric(fabric), m_collective(collective), m_job(std::make_shared<const Job>(std::move(job))) {}

  [[nodiscard]] Collective collective() const override { return m_collective; }
  [[nodiscard]] const fabric::Fabric& fabric() const override { return m_fabric; }
  [[nodiscard]] bool hasPieces() const override { return false; }
  [[nodiscard]] std::uint32_t defaultPieces(double /*bytes*/) const override { return 1; }

  [[nodiscard]] Result<Details> simulate(std::int64_t bytes, const SizeOptions& options,
                                         const Progress& progress) override {
    auto played = run(*m_job,
                      {.bytes = static_cast<double>(bytes),
                       .resolution = options.resolution,
                       .record = options.record,
                       .limit = options.limit},
                      progress);
    if (!played) {
      return played.error();
    }
    Details details{.owner = m_job};
    details.row = rowOf(bytes, played->time, m_collective, m_fabric.gpuCount(), 1);
    details.row.resolution = played->resolution;
    details.phases.push_back({m_job.get(), *std::move(played)});
    return details;
  }

private:
  const fabric::Fabric& m_fabric;
  Collective m_collective;
  std::shared_ptr<const Job> m_job;
};

class ProgramSubject : public Subject {
public:
  ProgramSubject(const fabric::Fabric& fabric, const program::Program& program, const Model& model)
      : m_fabric(fabric), m_program(program), m_model(model) {}

  [[nodiscard]] Collective collective() const override { return verify::goalOf(m_program); }
  [[nodiscard]] std::string collectiveName() const override { return std::string(program::collectiveName(m_program)); }
  [[nodiscard]] const fabric::Fabric& fabric() const override { return m_fabric; }
  [[nodiscard]] bool hasPieces() const override { return false; }
  [[nodiscard]] std::uint32_t defaultPieces(double /*bytes*/) const override { return 1; }
  [[nodiscard]] std::vector<Finding> notes() const override { return m_notes; }

  [[nodiscard]] Result<Details> simulate(std::int64_t bytes, const SizeOptions& options,
                                         const Progress& progress) override {
    auto made = programJob(m_fabric, m_program, static_cast<double>(bytes), m_model, progress);
    if (!made) {
      return made.error();
    }
    m_notes = std::move(made->notes);
    const std::uint32_t turns = made->turns;
    const auto job = std::make_shared<const Job>(std::move(made->job));
    auto played = run(*job,
                      {.bytes = static_cast<double>(bytes),
                       .repeats = turns,
                       .resolution = options.resolution,
                       .record = options.record,
                       .limit = options.limit},
                      progress);
    if (!played) {
      return played.error();
    }
    Details details{.owner = job};
    details.row = rowOf(bytes, played->time, collective(), m_fabric.gpuCount(), turns);
    details.row.resolution = played->resolution;
    details.phases.push_back({job.get(), *std::move(played)});
    return details;
  }

private:
  const fabric::Fabric& m_fabric;
  const program::Program& m_program;
  Model m_model;
  std::vector<Finding> m_notes;
};

}  // namespace

Result<std::unique_ptr<Subject>> subjectOf(const fabric::Fabric& fabric, const schedule::Schedule& schedule,
                                           const Model& model, const Progress& progress, std::int64_t maxMessages) {
  auto jobs = forestJobs(fabric, schedule, model, progress, maxMessages);
  if (!jobs) {
    return jobs.error();
  }
  return std::unique_ptr<Subject>(
      std::make_unique<PipelinedSubject>(fabric, schedule.collective, fabric.gpuCount(), *std::move(jobs)));
}

Result<std::unique_ptr<Subject>> subjectOf(const fabric::Fabric& fabric, const schedule::StepSchedule& schedule,
                                           const Model& model, Barriers barriers, const Progress& progress) {
  auto jobs = stepJobs(fabric, schedule, model, barriers, progress);
  if (!jobs) {
    return jobs.error();
  }
  const Collective collective = schedule.goal.collective();
  if (schedule.isSynchronous) {
    return std::unique_ptr<Subject>(std::make_unique<StepSubject>(fabric, collective, std::move(jobs->front())));
  }
  return std::unique_ptr<Subject>(
      std::make_unique<PipelinedSubject>(fabric, collective, fabric.gpuCount(), *std::move(jobs)));
}

std::unique_ptr<Subject> subjectOf(const fabric::Fabric& fabric, const program::Program& program, const Model& model) {
  return std::make_unique<ProgramSubject>(fabric, program, model);
}

std::unique_ptr<Subject> subjectOf(const fabric::Fabric& fabric, Collective collective, int ranks, Job job) {
  std::vector<Job> jobs;
  jobs.push_back(std::move(job));
  return std::make_unique<PipelinedSubject>(fabric, collective, ranks, std::move(jobs));
}

std::vector<std::int64_t> sizesOf(std::int64_t first, std::int64_t last, double factor) {
  std::vector<std::int64_t> sizes{first};
  for (;;) {
    const double next =
        std::max(std::floor(static_cast<double>(sizes.back()) * factor), static_cast<double>(sizes.back()) + 1);
    if (next > static_cast<double>(last)) {
      return sizes;
    }
    sizes.push_back(static_cast<std::int64_t>(next));
  }
}

Result<Row> bestPieces(Subject& subject, std::int64_t bytes, std::uint32_t maxPieces, const Progress& progress) {
  std::map<std::uint32_t, Row> tried;
  const auto timeOf = [&](std::uint32_t pieces) -> Result<Microseconds> {
    auto [place, isNew] = tried.try_emplace(pieces);
    if (isNew) {
      const auto details = subject.simulate(bytes, {.pieces = pieces}, progress);
      if (!details) {
        return details.error();
      }
      place->second = details->row;
    }
    return place->second.time;
  };
  std::uint32_t best = 1;
  Microseconds bestTime(0);
  int worse = 0;
  for (std::uint64_t pieces = 1; pieces <= maxPieces && worse < 2; pieces *= 2) {
    const auto time = timeOf(static_cast<std::uint32_t>(pieces));
    if (!time) {
      return time.error();
    }
    if (pieces == 1 || *time < bestTime) {
      best = static_cast<std::uint32_t>(pieces);
      bestTime = *time;
      worse = 0;
    } else {
      ++worse;
    }
  }
  // Between half and twice the best, with the time as good as convex.
  const double golden = (std::sqrt(5.0) - 1) / 2;
  std::uint32_t low = std::max(best / 2, 1U);
  std::uint32_t high = static_cast<std::uint32_t>(std::min<std::uint64_t>(std::uint64_t{best} * 2, maxPieces));
  while (high - low > 2) {
    const auto step = static_cast<std::uint32_t>(std::max(1.0, std::round((high - low) * (1 - golden))));
    const std::uint32_t left = low + step;
    const std::uint32_t right = std::max(high - step, left + 1);
    const auto leftTime = timeOf(left);
    if (!leftTime) {
      return leftTime.error();
    }
    const auto rightTime = timeOf(right);
    if (!rightTime) {
      return rightTime.error();
    }
    if (*leftTime <= *rightTime) {
      high = right;
    } else {
      low = left;
    }
  }
  for (std::uint32_t pieces = low; pieces <= high; ++pieces) {
    if (const auto time = timeOf(pieces); !time) {
      return time.error();
    }
  }
  // The fewest pieces among equals: the map is in their order.
  return std::min_element(tried.begin(), tried.end(),
                          [](const auto& a, const auto& b) { return a.second.time < b.second.time; })
      ->second;
}

std::vector<SwitchOver> switchOvers(std::span<const Contender> contenders) {
  std::vector<SwitchOver> result;
  for (std::size_t row = 0; !contenders.empty() && row < contenders.front().rows.size(); ++row) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < contenders.size(); ++i) {
      if (contenders[i].rows[row].time < contenders[best].rows[row].time) {
        best = i;
      }
    }
    if (result.empty() || result.back().contender != best) {
      result.push_back({contenders[best].rows[row].size, best});
    }
  }
  return result;
}

}  // namespace coppice::simulate
