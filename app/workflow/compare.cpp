// SPDX-License-Identifier: Apache-2.0
#include "workflow/compare.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <thread>
#include <utility>

#include "base/parallel.hpp"
#include "base/text.hpp"
#include "base/time_limit.hpp"
#include "program/rooted.hpp"
#include "schedule/min_traffic.hpp"
#include "simulate/program_job.hpp"
#include "verify/program_verifier.hpp"
#include "workflow/clock.hpp"
#include "workflow/guarded.hpp"
#include "workflow/make_schedule.hpp"
#include "workflow/request.hpp"

namespace coppice::workflow {
namespace {

void takeFigures(const schedule::StepCost& cost, Contender& contender) {
  contender.maxStretch = cost.maxStretch;
  contender.meanStretch = cost.meanStretch;
  contender.traffic = cost.totalTraffic.toDouble();
  contender.exactTraffic = cost.totalTraffic;
}

/// The link that is busy for the longest time.
void takeBusiest(const fabric::Fabric& fabric, std::span<const double> shares, Contender& contender) {
  double longest = 0;
  for (std::size_t arc = 0; arc < shares.size(); ++arc) {
    const double time = shares[arc] / toGBps(fabric.arcs()[arc].bandwidth);
    if (time > longest) {
      longest = time;
      contender.busiestArc = static_cast<int>(arc);
      contender.busiestShare = shares[arc];
    }
  }
}

/// Stretch and traffic of messages: where transfers do not tell (switches that copy, programs).
void takeFigures(const simulate::Details& details, Contender& contender) {
  double weighted = 0;
  double sent = 0;
  for (const simulate::Phase& phase : details.phases) {
    for (const simulate::Message& message : phase.job->messages()) {
      if (message.route == simulate::kNoRoute) {
        continue;
      }
      const int links = phase.job->routes()[message.route].arcCount;
      contender.maxStretch = std::max(contender.maxStretch, links);
      weighted += message.share * links;
      sent += message.share;
    }
  }
  contender.traffic = weighted;
  contender.meanStretch = sent > 0 ? weighted / sent : 0;
}

std::vector<double> linkShares(const simulate::Details& details) {
  std::vector<double> shares;
  for (const simulate::Phase& phase : details.phases) {
    const std::vector<double> more = phase.job->linkShares();
    shares.resize(more.size());
    std::transform(more.begin(), more.end(), shares.begin(), shares.begin(), std::plus<>());
  }
  return shares;
}

/// A simulation of one size for its messages alone.
Result<simulate::Details> playOnce(const Playable& playable, const Progress& progress) {
  constexpr std::int64_t kBytes = std::int64_t{1} << 20;
  return playable.subject->simulate(kBytes, {.pieces = 1}, progress);
}

/// The figures of a schedule; its verdict must be good. What is judged may lack the schedule itself.
Outcome takeFigures(const Figures& figures, Contender& contender, const Progress& progress) {
  const fabric::Fabric& fabric = contender.playable.fabric();
  contender.algbw = figures.algbw;
  contender.steps = figures.steps;
  if (figures.cost) {
    takeFigures(*figures.cost, contender);
    contender.minTraffic = figures.minTraffic;
    for (const BusyLink& link : busiestLinks(fabric, *figures.cost, 1)) {
      contender.busiestArc = link.arc;
      contender.busiestShare = link.traffic.toDouble();
    }
    return Done{};
  }
  const auto details = playOnce(contender.playable, progress);
  if (!details) {
    return details.error();
  }
  takeFigures(*details, contender);
  takeBusiest(fabric, linkShares(*details), contender);
  return Done{};
}

void takeBound(const std::optional<ScopedBound>& bound, Contender& contender) {
  if (bound) {
    contender.bound = bound->algbw;
    contender.boundScope = bound->scope;
  }
}

Outcome measureSchedule(Contender& contender, const Progress& progress) {
  const fabric::Fabric& fabric = contender.playable.fabric();
  auto judged = requireJudged(fabric, {.schedule = *std::move(contender.playable.schedule)}, progress);
  if (!judged) {
    Error error = judged.error();
    error.fix = error.code == ErrorCode::verification ? "verify lists all faults" : error.fix;
    return error;
  }
  const auto figures = figuresOf(fabric, *judged, progress);
  if (!figures) {
    return figures.error();
  }
  contender.bound = judged->bound;
  contender.boundScope = judged->boundScope;
  contender.playable.schedule = std::move(judged->made.schedule);
  if (const auto* steps = std::get_if<schedule::StepSchedule>(&*contender.playable.schedule)) {
    contender.method = steps->method;
  }
  return takeFigures(*figures, contender, progress);
}

/// What the links allow, if they were always busy: exact, because every share is a whole number of grid parts.
Result<Bandwidth> algbwOfProgram(const Playable& playable, const Progress& progress) {
  const auto made = simulate::programJob(playable.fabric(), *playable.program, 1, {}, progress);
  if (!made) {
    return made.error();
  }
  const std::vector<double> shares = made->job.linkShares();
  InverseBandwidth longest;
  for (std::size_t arc = 0; arc < shares.size(); ++arc) {
    const Rational share(std::llround(shares[arc] * static_cast<double>(made->sharesPerByte)), made->sharesPerByte);
    longest = std::max(longest, share / playable.fabric().arcs()[arc].bandwidth);
  }
  return longest.isPositive() ? Result<Bandwidth>(longest.inverse())
                              : Error{ErrorCode::infeasible, "the program sends nothing"};
}

/// The root of a program is where its data comes from, or goes to.
std::optional<fabric::Rank> rootOf(const program::Program& program, const Progress& progress) {
  if (!program::isRooted(program)) {
    return std::nullopt;
  }
  const auto verdict = verify::verifyProgram(program, {}, progress);
  return verdict && verdict->root >= 0 ? std::optional<fabric::Rank>(verdict->root) : std::nullopt;
}

/// Bound and minimum traffic of a program's collective, where that is known.
Outcome findLimits(Contender& contender, const Progress& progress) {
  const Playable& playable = contender.playable;
  const Collective collective = playable.subject->collective();
  const auto root = rootOf(*playable.program, progress);
  if (collective == Collective::custom || isRooted(collective) != root.has_value()) {
    return Done{};
  }
  schedule::StepSchedule goal;  // of this collective, with nothing in it
  auto table = schedule::CollectiveTable::make(collective, playable.fabric().gpuCount(), root);
  if (!table) {
    return table.error();
  }
  goal.goal = *std::move(table);
  auto min = schedule::minTraffic(playable.fabric(), goal.goal, progress);
  if (!min) {
    return min.error();
  }
  contender.minTraffic = *std::move(min);
  auto bound = boundOf(playable.fabric(), goal, progress);
  if (!bound) {
    return bound.error();
  }
  takeBound(*bound, contender);
  return Done{};
}

Outcome measureProgram(Contender& contender, const Progress& progress) {
  const auto algbw = algbwOfProgram(contender.playable, progress);
  if (!algbw) {
    return algbw.error();
  }
  contender.algbw = *algbw;
  const auto details = playOnce(contender.playable, progress);
  if (!details) {
    return details.error();
  }
  takeFigures(*details, contender);
  takeBusiest(contender.playable.fabric(), linkShares(*details), contender);
  contender.steps = details->phases.front().job->depth();
  return findLimits(contender, progress);
}

/// Options that make a search end in time (its schedules are still to be judged), and what programs ask for.
Values valuesOf(const Method& method, Collective collective, const PlayOptions& options,
                const std::optional<double>& seconds) {
  constexpr double kShare = 0.8;
  Values values;
  for (const Option& option : method.options) {
    if (seconds && option.name == method.timeOption) {
      const auto usual = parseInteger(option.defaultText);
      const auto max = std::max<std::int64_t>(1, static_cast<std::int64_t>(*seconds * kShare));
      values[option.name] = std::to_string(usual ? std::min(*usual, max) : max);
    } else if (options.areForPrograms && option.name == plainSwitchesOption().name && option.appliesTo(collective)) {
      values[option.name] = "true";
    }
  }
  return values;
}

/// Whether a stopped method gives what it has found.
bool keepsWhatItFound(const Method& method) {
  return !method.timeOption.empty();
}

/// Makes, judges and prepares the schedules of one method.
Result<MethodContenders> makeContenders(const std::shared_ptr<const LoadedFabric>& loaded, const Method& method,
                                        const Demand& demand, const PlayOptions& options,
                                        const std::optional<double>& seconds, const Progress& searching,
                                        const Progress& progress) {
  return guarded<MethodContenders>([&]() -> Result<MethodContenders> {
    auto front = makeFront(loaded->fabric, method, demand, valuesOf(method, demand.collective, options, seconds),
                           Wanted::all, searching);
    if (!front) {
      return front.error();
    }
    const Progress& rest = keepsWhatItFound(method) ? progress : searching;
    MethodContenders result;
    for (Made& made : front->made) {
      const std::string name = made.name.empty() ? method.id : made.name;
      auto good = requireJudged(loaded->fabric, std::move(made), rest);
      if (!good) {
        return good.error();
      }
      const auto figures = figuresOf(loaded->fabric, *good, rest);
      if (!figures) {
        return figures.error();
      }
      auto playable = playableOf(name, loaded, std::move(good->made.schedule), options.model, options.barriers, rest);
      if (!playable) {
        return playable.error();
      }
      Contender contender{
          .playable = *std::move(playable), .method = method.id, .bound = good->bound, .boundScope = good->boundScope};
      if (const Outcome taken = takeFigures(*figures, contender, rest); !taken) {
        return taken.error();
      }
      result.contenders.push_back(std::move(contender));
    }
    for (NamedError& each : front->refused) {
      result.refused.push_back({std::move(each.name), std::move(each.error)});
    }
    return result;
  });
}

/// Of one method; that it fails is no error. Errors: cancelled.
Outcome takeContenders(const std::shared_ptr<const LoadedFabric>& loaded, const Method& method, const Demand& demand,
                       const PlayOptions& options, const std::optional<double>& seconds, const Progress& progress,
                       MethodContenders& result) {
  Progress inner = progress;
  inner.onReport = [&](std::string_view stage, double fraction) {
    progress.report(method.id + ": " + std::string(stage), fraction);
  };
  Progress searching = inner;
  std::unique_ptr<TimeLimit> limit;
  if (seconds) {
    limit = std::make_unique<TimeLimit>(progress, *seconds);
    searching.stop = limit->token();
  }
  auto made = makeContenders(loaded, method, demand, options, seconds, searching, inner);
  if (progress.isCancelled()) {
    return Error{ErrorCode::cancelled, "cancelled"};
  }
  if (made) {
    result = *std::move(made);
  } else {
    Error error = made.error();
    if (error.code == ErrorCode::cancelled) {
      error = {ErrorCode::limit, "it exceeded its time limit",
               options.secondsTogether ? "raise --time-limit or --total-time" : "raise --time-limit"};
    }
    result.refused.push_back({method.id, std::move(error)});
  }
  result.tried.push_back({method.id, result.contenders.size(), 0});
  return Done{};
}

/// @param limit a time above it may come out infinite
Result<simulate::Row> playRow(const Contender& contender, std::int64_t bytes, const SweepOptions& options,
                              Microseconds limit, const Progress& progress) {
  simulate::Subject& subject = *contender.playable.subject;
  const auto named = [&](Error error) {
    error.message = contender.playable.name + ": " + error.message;
    return error;
  };
  if (options.bestPieces && subject.hasPieces()) {
    auto row = simulate::bestPieces(subject, bytes, simulate::kMaxDefaultPieces, progress);
    return row ? std::move(row) : named(row.error());
  }
  const auto details = subject.simulate(bytes, {.limit = limit}, progress);
  return details ? Result<simulate::Row>(details->row) : named(details.error());
}

/// Calls work(i, progress) for each i, on all cores; only the calling thread reports. Returns the error that is first
/// in number.
Outcome onAllCores(std::size_t count, const Progress& progress,
                   const std::function<Outcome(std::size_t, const Progress&)>& work) {
  std::vector<std::optional<Error>> errors(count);
  Progress silent = progress;
  silent.onReport = {};
  const auto caller = std::this_thread::get_id();
  parallelFor(count, [&](std::size_t i) {
    const bool isCaller = std::this_thread::get_id() == caller;
    if (const Outcome done = work(i, isCaller ? progress : silent); !done) {
      errors[i] = done.error();
    }
  });
  const auto first = std::find_if(errors.begin(), errors.end(), [](const auto& each) { return each.has_value(); });
  return first == errors.end() ? Outcome(Done{}) : Outcome(*std::move(*first));
}

/// Finds where the fastest changes.
class Bands {
public:
  Bands(std::span<const Contender> contenders, std::span<const std::size_t> among, const SweepOptions& options,
        const Progress& progress, const Comparison& comparison)
      : m_contenders(contenders), m_among(among), m_options(options), m_progress(progress), m_comparison(comparison) {}

  Result<std::vector<Band>> find() {
    m_bands.push_back({m_options.sizes.front(), 0, m_comparison.best.front()});
    for (std::size_t i = 0; i + 1 < m_options.sizes.size(); ++i) {
      const std::size_t before = m_comparison.best[i];
      const std::size_t after = m_comparison.best[i + 1];
      if (before == after) {
        continue;
      }
      m_near.clear();
      for (const std::size_t c : m_among) {
        constexpr double kFar = 2;
        const auto& rows = m_comparison.rows[c];
        if (rows[i].time <= kFar * m_comparison.rows[before][i].time ||
            rows[i + 1].time <= kFar * m_comparison.rows[after][i + 1].time) {
          m_near.push_back(c);
        }
      }
      if (const Outcome split = halve(m_options.sizes[i], before, m_options.sizes[i + 1], after); !split) {
        return split.error();
      }
    }
    return std::move(m_bands);
  }

private:
  /// @pre the fastest at both sizes differ
  Outcome halve(std::int64_t low, std::size_t atLow, std::int64_t high, std::size_t atHigh) {
    constexpr std::int64_t kShare = 1024;
    const std::int64_t resolution = m_options.resolution.value_or(std::max<std::int64_t>(high / kShare, 1));
    if (high - low <= resolution) {
      m_bands.push_back({high, high - low, atHigh});
      return Done{};
    }
    const std::int64_t middle = low + (high - low) / 2;
    const auto best = fastestAt(middle, atLow, atHigh);
    if (!best) {
      return best.error();
    }
    if (*best != atLow) {
      if (const Outcome left = halve(low, atLow, middle, *best); !left) {
        return left;
      }
    }
    return *best != atHigh ? halve(middle, *best, high, atHigh) : Outcome(Done{});
  }

  /// Of equally fast ones the first. The two fastest nearby come first: the others need not be played longer than
  /// these.
  Result<std::size_t> fastestAt(std::int64_t bytes, std::size_t atLow, std::size_t atHigh) {
    std::vector<std::size_t> order = m_near;
    const auto rest =
        std::stable_partition(order.begin(), order.end(), [&](std::size_t c) { return c == atLow || c == atHigh; });
    const auto likely = static_cast<std::size_t>(rest - order.begin());
    std::map<std::size_t, Microseconds> times;
    Microseconds limit = simulate::kNoTimeLimit;
    for (const auto part : {std::span(order).first(likely), std::span(order).subspan(likely)}) {
      std::vector<Microseconds> played(part.size());
      const Outcome done = onAllCores(part.size(), m_progress, [&](std::size_t i, const Progress& progress) -> Outcome {
        const auto row = playRow(m_contenders[part[i]], bytes, m_options, limit, progress);
        played[i] = row ? row->time : Microseconds(0);
        return row ? Outcome(Done{}) : row.error();
      });
      if (!done) {
        return done.error();
      }
      for (std::size_t i = 0; i < part.size(); ++i) {
        times[part[i]] = played[i];
        limit = std::min(limit, played[i]);
      }
    }
    return *std::min_element(m_near.begin(), m_near.end(),
                             [&](std::size_t a, std::size_t b) { return times[a] < times[b]; });
  }

  std::span<const Contender> m_contenders;
  std::span<const std::size_t> m_among;
  const SweepOptions& m_options;
  const Progress& m_progress;
  const Comparison& m_comparison;
  std::vector<std::size_t> m_near;  ///< contenders that take part between the two sizes
  std::vector<Band> m_bands;
};

}  // namespace

Result<Contender> contenderOf(Playable playable, const Progress& progress) {
  Contender contender{.playable = std::move(playable)};
  const Outcome measured =
      contender.playable.program ? measureProgram(contender, progress) : measureSchedule(contender, progress);
  if (!measured) {
    return measured.error();
  }
  contender.notes = contender.playable.notes;
  const std::vector<Finding> more = contender.playable.subject->notes();
  contender.notes.insert(contender.notes.end(), more.begin(), more.end());
  return contender;
}

Result<std::vector<const Method*>> methodsOf(std::span<const std::string> ids, Collective collective) {
  std::vector<const Method*> chosen;
  for (const std::string& id : ids) {
    const Method* method = findMethod(id);
    if (method == nullptr) {
      return optionError("method", inQuotes(id) + " is not a method", "choose from all, " + methodNames());
    }
    chosen.push_back(method);
  }
  if (ids.empty()) {
    for (const Method& method : methods()) {
      if (method.makes(collective)) {
        chosen.push_back(&method);
      }
    }
  }
  return chosen;
}

Result<MethodContenders> contendersOfMethods(const std::shared_ptr<const LoadedFabric>& loaded,
                                             std::span<const Method* const> methods, const Demand& demand,
                                             const PlayOptions& options, const Progress& progress) {
  // Quick ones first: what they leave of the time belongs to the others.
  std::vector<std::size_t> order(methods.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_partition(order, [&](std::size_t i) { return !keepsWhatItFound(*methods[i]); });
  std::vector<MethodContenders> each(methods.size());
  double left = options.secondsTogether.value_or(0);
  for (std::size_t turn = 0; turn < order.size(); ++turn) {
    const Method& method = *methods[order[turn]];
    std::optional<double> seconds = options.secondsPerMethod;
    if (options.secondsTogether) {
      const double share = std::max(left, 0.0) / static_cast<double>(order.size() - turn);
      seconds = seconds ? std::min(*seconds, share) : share;
    }
    Clock clock;
    if (const Outcome made = takeContenders(loaded, method, demand, options, seconds, progress, each[order[turn]]);
        !made) {
      return made.error();
    }
    each[order[turn]].tried.front().seconds = clock.lap();
    left -= each[order[turn]].tried.front().seconds;
  }
  MethodContenders result;
  for (MethodContenders& one : each) {
    std::ranges::move(one.contenders, std::back_inserter(result.contenders));
    std::ranges::move(one.refused, std::back_inserter(result.refused));
    std::ranges::move(one.tried, std::back_inserter(result.tried));
  }
  return result;
}

void agreeOnBound(std::span<Contender> contenders) {
  const Contender* largest = nullptr;
  for (const Contender& contender : contenders) {
    // Of equal bounds the one that holds for more schedules.
    if (contender.bound && (largest == nullptr || contender.bound > largest->bound ||
                            (contender.bound == largest->bound && contender.boundScope < largest->boundScope))) {
      largest = &contender;
    }
  }
  if (largest == nullptr) {
    return;
  }
  const std::optional<Bandwidth> bound = largest->bound;
  const schedule::BoundScope scope = largest->boundScope;
  for (Contender& contender : contenders) {
    if (contender.bound) {
      contender.bound = bound;
      contender.boundScope = scope;
    }
  }
}

Outcome requireComparable(std::span<const Contender> contenders) {
  for (std::size_t i = 1; i < contenders.size(); ++i) {
    const Playable& first = contenders.front().playable;
    const Playable& other = contenders[i].playable;
    const auto differ = [&](const std::string& what) {
      return Error{ErrorCode::badUsage, first.name + " and " + other.name + " are " + what,
                   "compare schedules of one collective on one fabric"};
    };
    if (first.fabric().digest() != other.fabric().digest()) {
      return differ("for different fabrics");
    }
    if (first.subject->collectiveName() != other.subject->collectiveName()) {
      return differ("different collectives: " + first.subject->collectiveName() + " and " +
                    other.subject->collectiveName());
    }
  }
  return Done{};
}

Result<Comparison> compare(std::span<const Contender> contenders, const SweepOptions& options,
                           const Progress& progress) {
  std::vector<std::vector<simulate::Row>> all(contenders.size());
  std::vector<std::size_t> among(contenders.size());
  std::iota(among.begin(), among.end(), std::size_t{0});
  const Outcome played = onAllCores(contenders.size(), progress, [&](std::size_t i, const Progress& own) -> Outcome {
    for (const std::int64_t size : options.sizes) {
      auto row = playRow(contenders[i], size, options, simulate::kNoTimeLimit, own);
      if (!row) {
        return row.error();
      }
      all[i].push_back(*row);
    }
    return Done{};
  });
  if (!played) {
    return played.error();
  }
  return comparedAmong(contenders, among, std::move(all), options, progress);
}

Result<Comparison> comparedAmong(std::span<const Contender> contenders, std::span<const std::size_t> among,
                                 std::vector<std::vector<simulate::Row>> rows, const SweepOptions& options,
                                 const Progress& progress) {
  Comparison comparison{.rows = std::move(rows)};
  for (std::size_t i = 0; i < options.sizes.size(); ++i) {
    comparison.best.push_back(*std::min_element(among.begin(), among.end(), [&](std::size_t a, std::size_t b) {
      return comparison.rows[a][i].time < comparison.rows[b][i].time;
    }));
  }
  auto bands = Bands(contenders, among, options, progress, comparison).find();
  if (!bands) {
    return bands.error();
  }
  comparison.bands = *std::move(bands);
  return comparison;
}

}  // namespace coppice::workflow
