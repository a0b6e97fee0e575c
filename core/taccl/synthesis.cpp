// SPDX-License-Identifier: Apache-2.0
#include "taccl/synthesis.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <tuple>

#include "base/checked.hpp"
#include "base/failure.hpp"
#include "sketch/make_model.hpp"
#include "taccl/bound.hpp"
#include "taccl/expansion.hpp"
#include "taccl/problem.hpp"
#include "taccl/search.hpp"

namespace coppice::taccl {
namespace {

using sketch::Message;
using sketch::Plan;

using LinkKey = std::tuple<int, int, int>;

/// Those of a group from which all others follow.
std::vector<Permutation> generatorsOf(const std::vector<Permutation>& group) {
  std::vector<Permutation> generators;
  std::set<Permutation> made = {group.front()};
  for (const Permutation& each : group) {
    if (made.contains(each)) {
      continue;
    }
    generators.push_back(each);
    std::vector<Permutation> all(made.begin(), made.end());
    for (std::size_t at = 0; at < all.size(); ++at) {
      for (const Permutation& generator : generators) {
        Permutation product(each.size());
        for (std::size_t gpu = 0; gpu < each.size(); ++gpu) {
          product[gpu] = generator[all[at][gpu]];
        }
        if (made.insert(product).second) {
          all.push_back(std::move(product));
        }
      }
    }
  }
  return generators;
}

int connectionsOf(const Model& model, const std::vector<Message>& messages) {
  std::vector<std::set<int>> used(static_cast<std::size_t>(model.nodes));
  for (const Message& message : messages) {
    if (const Link& link = model.links[message.link]; !link.isRemote) {
      used[model.nodeOf(link.from)].insert(message.link);
    }
  }
  std::size_t max = 0;
  for (const auto& links : used) {
    max = std::max(max, links.size());
  }
  return static_cast<int>(max);
}

ConnectionGoal goalOf(const Model& model) {
  if (model.policy == "uc-min") {
    return ConnectionGoal::fewer;
  }
  return model.policy == "uc-max" ? ConnectionGoal::more : ConnectionGoal::free;
}

/// Turns a plan on the transposed model round in time.
void playBackwards(const Model& model, const Model& turned, Plan& plan) {
  std::map<LinkKey, int> byEnds;
  for (std::size_t i = 0; i < model.links.size(); ++i) {
    byEnds.emplace(LinkKey(model.links[i].from, model.links[i].to, model.links[i].lane), static_cast<int>(i));
  }
  for (Message& message : plan.messages) {
    const Link& link = turned.links[message.link];
    message.link = byEnds.at(LinkKey(link.to, link.from, link.lane));
    const Rational start = plan.makespan - message.end;
    message.end = plan.makespan - message.start;
    message.start = start;
    message.reduces = true;
  }
}

class Synthesizer {
public:
  Synthesizer(const Model& model, int root, const SynthesisOptions& options, const Progress& progress)
      : m_model(model), m_root(root), m_options(options), m_progress(progress) {}

  Result<Synthesis> run(Collective collective) {
    const auto begin = std::chrono::steady_clock::now();
    Outcome made = Done{};
    if (collective == Collective::allreduce) {
      made = addAllreduce();
    } else {
      const bool isReduction = reduces(collective);
      made = addPart(isReduction && collective == Collective::reduce ? Collective::broadcast : collective, isReduction,
                     m_options.seconds, m_options.effort, m_synthesis.plan);
    }
    if (!made) {
      return made.error();
    }
    m_synthesis.plan.collective = collective;
    m_synthesis.plan.root = isRooted(collective) ? m_root : 0;
    m_synthesis.plan.connections = connectionsOf(m_model, m_synthesis.plan.messages);
    m_synthesis.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return std::move(m_synthesis);
  }

private:
  Outcome addAllreduce() {
    std::optional<std::int64_t> half = m_options.effort;
    if (half) {
      *half = std::max<std::int64_t>(1, *half / 2);
    }
    Plan reduction;
    const auto begin = std::chrono::steady_clock::now();
    if (Outcome made = addPart(Collective::reduceScatter, true, m_options.seconds / 2, half, reduction); !made) {
      return made;
    }
    // What the first half left of its time is the second one's.
    const double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const double left = std::max(m_options.seconds / 4, m_options.seconds - spent);
    Plan copy;
    m_before = reduction.makespan;
    m_boundBefore = reduction.bound;
    if (Outcome made = addPart(Collective::allgather, false, left, half, copy); !made) {
      return made;
    }
    for (Message& message : copy.messages) {
      message.start += reduction.makespan;
      message.end += reduction.makespan;
      message.phase = 1;
    }
    Plan& plan = m_synthesis.plan;
    plan.messages = std::move(reduction.messages);
    plan.messages.insert(plan.messages.end(), copy.messages.begin(), copy.messages.end());
    plan.makespan = reduction.makespan + copy.makespan;
    plan.bound = reduction.bound + copy.bound;
    plan.boundReasons = {std::move(reduction.boundReasons.front()), std::move(copy.boundReasons.front())};
    plan.symmetries = copy.symmetries;
    return Done{};
  }

  Outcome addPart(Collective collective, bool isBackwards, double seconds, std::optional<std::int64_t> effort,
                  Plan& plan) {
    const auto begin = std::chrono::steady_clock::now();
    const Model turned = isBackwards ? transposed(m_model) : Model{};
    const Model& model = isBackwards ? turned : m_model;
    ProblemOptions problemOptions;
    problemOptions.usesSymmetry = m_options.usesSymmetry;
    problemOptions.sendsOneAtATime = isBackwards;
    const auto problem = makeProblem(model, collective, m_root, problemOptions);
    if (!problem) {
      return problem.error();
    }
    if (m_options.engine == Engine::search) {
      warn(problem->ignored);
    }
    const Bound bound = lowerBound(*problem, m_progress);
    if (m_isFirstPart) {
      throwIfCancelled(m_progress);
    }
    m_isFirstPart = false;
    plan.bound = Rational(bound.time, problem->ticksPerUnit);
    plan.boundReasons = {bound.reason};
    // What the bound takes is part of the time.
    seconds = std::max(0.0, seconds - std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    const auto solved = m_options.engine == Engine::search ? addSearched(*problem, collective, seconds, effort, plan)
                                                           : addStaged(model, collective, isBackwards, seconds, plan);
    if (!solved) {
      return solved.error();
    }
    if (isBackwards) {
      playBackwards(m_model, turned, plan);
      sortMessages(plan.messages);
    }
    return Done{};
  }

  Outcome addSearched(const Problem& problem, Collective collective, double seconds, std::optional<std::int64_t> effort,
                      Plan& plan) {
    SearchOptions options;
    options.seconds = seconds;
    options.effort = effort;
    options.seed = m_options.seed;
    options.threads = m_options.threads;
    options.goal = goalOf(m_model);
    options.bound = (plan.bound * Rational(problem.ticksPerUnit)).numerator();
    options.onBetter = [&](Ticks makespan, double at) { tell(plan, Rational(makespan, problem.ticksPerUnit), at); };
    if (!effort) {
      m_synthesis.dependsOnTime = true;  // and on the number of cores, each of which follows a stream of its own
    }
    const Found found = search(problem, options, m_progress);
    if (found.solution.parent.empty()) {
      return Error{ErrorCode::infeasible, "no route to all targets was found within this sketch",
                   "give the sketch links, senders and receivers that join them"};
    }
    plan.messages = expand(problem, collective, found.solution);
    plan.makespan = Rational(found.score.makespan, problem.ticksPerUnit);
    plan.symmetries = generatorsOf(problem.group);
    m_synthesis.decodes += found.decodes;
    m_synthesis.secondsToMakespan += found.secondsToMakespan;
    return Done{};
  }

  /// The stages decide for all chunks; symmetries only make some of their choices equal.
  Outcome addStaged(const Model& model, Collective collective, bool isBackwards, double seconds, Plan& plan) {
    const auto begin = std::chrono::steady_clock::now();
    const auto at = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
    ProblemOptions problemOptions;
    problemOptions.usesSymmetry = false;
    problemOptions.sendsOneAtATime = isBackwards;
    const auto problem = makeProblem(model, collective, m_root, problemOptions);
    if (!problem) {
      return problem.error();
    }
    StageOptions options;
    options.seconds = seconds;
    options.threads = std::max(1, m_options.threads);
    options.seed = m_options.seed;
    options.usesSymmetry = m_options.usesSymmetry;
    options.goal = goalOf(m_model);
    double found = 0;
    options.onBetter = [&](Ticks makespan) {
      found = at();
      tell(plan, Rational(makespan, problem->ticksPerUnit), found);
    };
    auto staged = runStages(*problem, collective, m_root, options, m_progress);
    if (!staged) {
      return staged.error();
    }
    for (StageReport& report : staged->stages) {
      if (report.status != "optimal" && report.status != "heuristic") {
        m_synthesis.dependsOnTime = true;
      }
      report.part = std::string(toString(collective));
      m_synthesis.stages.push_back(std::move(report));
    }
    warn(staged->ignored);
    plan.messages = std::move(staged->messages);
    plan.makespan = Rational(staged->makespan, problem->ticksPerUnit);
    m_synthesis.secondsToMakespan += found;
    return Done{};
  }

  void tell(const Plan& plan, const Rational& makespan, double at) const {
    if (m_options.onBetter) {
      m_options.onBetter(m_before + makespan, m_boundBefore + plan.bound, at);
    }
  }

  void warn(const std::vector<std::string>& ignored) {
    for (const std::string& offset : ignored) {
      const std::string text = "the symmetry offset " + offset +
                               " maps links, costs, machines or relays to other ones" +
                               (m_model.nics.empty() ? "" : ", or GPUs of a NIC to each other");
      const auto isSame = [&](const Finding& finding) { return finding.text == text; };
      if (std::none_of(m_synthesis.findings.begin(), m_synthesis.findings.end(), isSame)) {
        m_synthesis.findings.push_back({Severity::warning,
                                        ErrorCode::badInput,
                                        text,
                                        "it is not used; choose an offset that keeps them",
                                        {.element = {RefKind::key, "symmetry_offsets"}}});
      }
    }
  }

  const Model& m_model;
  int m_root;
  const SynthesisOptions& m_options;
  const Progress& m_progress;
  Synthesis m_synthesis;
  bool m_isFirstPart = true;  ///< nothing is lost yet where it is cancelled
  Rational m_before;
  Rational m_boundBefore;
};

}  // namespace

Result<Synthesis> synthesize(const sketch::Model& model, Collective collective, int root,
                             const SynthesisOptions& options, const Progress& progress) {
  return guarded([&] { return Synthesizer(model, root, options, progress).run(collective); },
                 {.overflowFix = "use costs with fewer digits"});
}

}  // namespace coppice::taccl
