// SPDX-License-Identifier: Apache-2.0
#include "taccl/synthesis.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <tuple>

#include "base/checked.hpp"
#include "taccl/bound.hpp"
#include "taccl/problem.hpp"
#include "taccl/search.hpp"

namespace coppice::taccl {
namespace {

using sketch::Message;
using sketch::Plan;

using LinkKey = std::tuple<int, int, int>;

/// What the decoder made for one chunk of each orbit, for all chunks.
class Expansion {
public:
  Expansion(const Problem& problem, Collective collective, const Solution& solution)
      : m_problem(problem), m_collective(collective), m_solution(solution), m_decoder(problem) {
    m_decoder.decode(solution);
    for (std::size_t i = 0; i < problem.model->links.size(); ++i) {
      const Link& link = problem.model->links[i];
      m_byEnds.emplace(LinkKey(link.from, link.to, link.lane), static_cast<int>(i));
    }
  }

  std::vector<Message> run() {
    std::map<int, std::vector<int>> together;
    for (std::size_t i = 0; i < m_problem.items.size(); ++i) {
      const int item = static_cast<int>(i);
      const int link = m_solution.link[i];
      if (m_decoder.used()[i] == 0 || link < 0) {
        continue;
      }
      if (m_problem.model->links[link].isRemote) {
        together[m_decoder.messages()[i]].push_back(item);
      } else {
        add({item});
      }
    }
    for (const auto& [message, items] : together) {
      add(items);
    }
    std::sort(m_messages.begin(), m_messages.end(), [](const Message& a, const Message& b) {
      return a.start != b.start ? a.start < b.start : std::tie(a.link, a.chunks) < std::tie(b.link, b.chunks);
    });
    return std::move(m_messages);
  }

private:
  [[nodiscard]] int imageOfLink(int link, const Permutation& permutation) const {
    const Link& from = m_problem.model->links[link];
    return m_byEnds.at(LinkKey(permutation[from.from], permutation[from.to], from.lane));
  }

  [[nodiscard]] const Permutation& bringing(int link, int to) const {
    return *std::find_if(m_problem.group.begin(), m_problem.group.end(),
                         [&](const Permutation& each) { return imageOfLink(link, each) == to; });
  }

  void add(const std::vector<int>& items) {
    const int base = m_solution.link[items.front()];
    std::vector<int> chunks;
    for (const int item : items) {
      const Permutation& permutation = bringing(m_solution.link[item], base);
      chunks.push_back(imageOf(m_problem, m_collective, m_problem.chunks[m_problem.items[item].chunk], permutation));
    }
    for (const Permutation& permutation : m_problem.group) {
      Message message;
      message.link = imageOfLink(base, permutation);
      for (const int chunk : chunks) {
        message.chunks.push_back(imageOf(m_problem, m_collective, chunk, permutation));
      }
      std::sort(message.chunks.begin(), message.chunks.end());
      message.start = Rational(m_decoder.starts()[items.front()], m_problem.ticksPerUnit);
      message.end = Rational(m_decoder.arrivals()[items.front()], m_problem.ticksPerUnit);
      m_messages.push_back(std::move(message));
    }
  }

  const Problem& m_problem;
  Collective m_collective;
  const Solution& m_solution;
  Decoder m_decoder;
  std::map<LinkKey, int> m_byEnds;
  std::vector<Message> m_messages;
};

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
  std::size_t most = 0;
  for (const auto& links : used) {
    most = std::max(most, links.size());
  }
  return static_cast<int>(most);
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

void sortMessages(Plan& plan) {
  std::sort(plan.messages.begin(), plan.messages.end(), [](const Message& a, const Message& b) {
    return a.start != b.start ? a.start < b.start : std::tie(a.link, a.chunks) < std::tie(b.link, b.chunks);
  });
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
    if (Outcome made = addPart(Collective::reduceScatter, true, m_options.seconds / 2, half, reduction); !made) {
      return made;
    }
    Plan copy;
    m_before = reduction.makespan;
    m_boundBefore = reduction.bound;
    if (Outcome made = addPart(Collective::allgather, false, m_options.seconds / 2, half, copy); !made) {
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
    plan.boundName = reduction.boundName + "; " + copy.boundName;
    plan.boundMembers = reduction.boundMembers + "; " + copy.boundMembers;
    plan.symmetries = copy.symmetries;
    return Done{};
  }

  Outcome addPart(Collective collective, bool isBackwards, double seconds, std::optional<std::int64_t> effort,
                  Plan& plan) {
    const Model turned = isBackwards ? transposed(m_model) : Model{};
    const Model& model = isBackwards ? turned : m_model;
    ProblemOptions problemOptions;
    problemOptions.usesSymmetry = m_options.usesSymmetry;
    problemOptions.sendsOneAtATime = isBackwards;
    const auto problem = makeProblem(model, collective, m_root, problemOptions);
    if (!problem) {
      return problem.error();
    }
    warn(*problem);
    const Bound bound = lowerBound(*problem, m_progress);
    plan.bound = Rational(bound.time, problem->ticksPerUnit);
    plan.boundName = bound.name;
    plan.boundMembers = bound.members;
    SearchOptions options;
    options.seconds = seconds;
    options.effort = effort;
    options.seed = m_options.seed;
    options.threads = m_options.threads;
    options.goal = goalOf(m_model);
    options.bound = bound.time;
    options.onBetter = [&](Ticks makespan, double at) {
      if (m_options.onBetter) {
        m_options.onBetter(m_before + Rational(makespan, problem->ticksPerUnit), m_boundBefore + plan.bound, at);
      }
    };
    const Found found = search(*problem, options, m_progress);
    if (found.solution.parent.empty()) {
      return Error{ErrorCode::infeasible, "no way to all targets was found within this sketch",
                   "give the sketch links, senders and receivers that join them"};
    }
    plan.messages = Expansion(*problem, collective, found.solution).run();
    plan.makespan = Rational(found.score.makespan, problem->ticksPerUnit);
    plan.symmetries = generatorsOf(problem->group);
    m_synthesis.decodes += found.decodes;
    m_synthesis.secondsToMakespan += found.secondsToMakespan;
    if (isBackwards) {
      playBackwards(m_model, turned, plan);
      sortMessages(plan);
    }
    return Done{};
  }

  void warn(const Problem& problem) {
    for (const std::string& offset : problem.ignored) {
      const std::string text = "the symmetry offset " + offset + " maps links, costs, machines or relays to other ones";
      const auto isSame = [&](const Finding& finding) { return finding.text == text; };
      if (std::none_of(m_synthesis.findings.begin(), m_synthesis.findings.end(), isSame)) {
        m_synthesis.findings.push_back({Severity::warning,
                                        ErrorCode::badInput,
                                        text,
                                        "it is not used; choose an offset that keeps them",
                                        {.element = "key \"symmetry_offsets\""}});
      }
    }
  }

  const Model& m_model;
  int m_root;
  const SynthesisOptions& m_options;
  const Progress& m_progress;
  Synthesis m_synthesis;
  Rational m_before;
  Rational m_boundBefore;
};

}  // namespace

Result<Synthesis> synthesize(const sketch::Model& model, Collective collective, int root,
                             const SynthesisOptions& options, const Progress& progress) {
  try {
    return Synthesizer(model, root, options, progress).run(collective);
  } catch (const OverflowError& error) {
    return Error{ErrorCode::overflow, error.what(), "use costs with fewer digits"};
  } catch (const CancelledError&) {
    return Error{ErrorCode::cancelled, "cancelled"};
  }
}

}  // namespace coppice::taccl
