// SPDX-License-Identifier: Apache-2.0
#include "live/failures.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/text.hpp"
#include "fabric/box_path.hpp"
#include "live/bound_state.hpp"
#include "live/failure_classes.hpp"

namespace coppice::live {

std::string_view toString(Part part) {
  switch (part) {
    case Part::link:
      return "link";
    case Part::nic:
      return "nic";
    case Part::switchNode:
      return "switch";
    case Part::gpu:
      return "gpu";
    case Part::box:
      return "box";
    case Part::group:
      break;
  }
  return "group";
}

std::vector<PartFailure> singleFailures(const fabric::Description& description, bool boxes) {
  std::vector<PartFailure> failures;
  std::unordered_map<std::string_view, int> byId;
  for (std::size_t i = 0; i < description.nodes.size(); ++i) {
    byId.emplace(description.nodes[i].id, static_cast<int>(i));
  }
  for (const fabric::LinkDescription& link : description.links) {
    const auto bandwidth = Bandwidth::parse(link.bandwidth);
    const auto tail = byId.find(link.src);
    const auto head = byId.find(link.dst);
    if (!bandwidth || tail == byId.end() || head == byId.end()) {
      continue;
    }
    PartFailure failure{Part::link, link.src + (link.duplex ? " - " : " -> ") + link.dst};
    failure.losses.push_back({tail->second, head->second, *bandwidth});
    if (link.duplex) {
      failure.losses.push_back({head->second, tail->second, *bandwidth});
    }
    failures.push_back(std::move(failure));
  }
  constexpr std::pair<fabric::NodeKind, Part> kKinds[] = {{fabric::NodeKind::nic, Part::nic},
                                                          {fabric::NodeKind::switchNode, Part::switchNode},
                                                          {fabric::NodeKind::gpu, Part::gpu}};
  for (const auto& [kind, part] : kKinds) {
    for (std::size_t i = 0; i < description.nodes.size(); ++i) {
      if (fabric::parseNodeKind(description.nodes[i].kind) == kind) {
        failures.push_back({part, description.nodes[i].id, {}, {static_cast<int>(i)}});
      }
    }
  }
  if (boxes) {
    // In the order in which the description names them first; a box holds those inside it.
    std::map<std::string_view, std::size_t> byPath;
    for (const fabric::NodeDescription& node : description.nodes) {
      if (!node.box.empty() && byPath.try_emplace(node.box, failures.size()).second) {
        const auto level = static_cast<int>(std::count(node.box.begin(), node.box.end(), '/')) + 1;
        failures.push_back({Part::box, node.box, {}, {}, level});
      }
    }
    for (std::size_t i = 0; i < description.nodes.size(); ++i) {
      const std::string& box = description.nodes[i].box;
      for (int level = 1; !fabric::boxAtLevel(box, level).empty(); ++level) {
        if (const auto found = byPath.find(fabric::boxAtLevel(box, level)); found != byPath.end()) {
          failures[found->second].nodes.push_back(static_cast<int>(i));
        }
      }
    }
  }
  return failures;
}

namespace {

Trial trialOf(const BoundState& state, const PartFailure& failure) {
  Trial trial;
  trial.gone = failure.nodes;
  std::map<int, Rational> lost;  // by arc
  for (const PartFailure::Loss& loss : failure.losses) {
    const auto arc = state.findArc(loss.tail, loss.head);
    const Rational units = arc ? lost[*arc] += loss.bandwidth / state.unit : Rational();
    if (!arc || units > Rational(state.arcs[*arc].capacity)) {
      throw Failure{{ErrorCode::badUsage, inQuotes(failure.name) + " loses more bandwidth than there is",
                     "name links of the fabric that the bound was made of"}};
    }
    trial.denominator = leastCommonMultiple(trial.denominator, units.denominator());
  }
  for (const auto& [arc, units] : lost) {
    const Rational left = (Rational(state.arcs[arc].capacity) - units) * Rational(trial.denominator);
    trial.capacities.push_back({arc, left.numerator()});
  }
  return trial;
}

}  // namespace

Result<std::vector<Damage>> rankFailures(const CutBound& bound, std::span<const PartFailure> failures,
                                         const Progress& progress) {
  return guarded(
      [&] {
        const BoundState& state = bound.state();
        if (const auto& finding = state.answer.finding) {
          throw Failure{{finding->code, finding->text, finding->fix, finding->where}};
        }
        const std::vector<std::size_t> classes = failureClasses(state.symmetric(), failures, progress);
        std::map<std::size_t, std::size_t> known;  // by class
        std::vector<Trial> questions;
        std::vector<std::size_t> questionOf;
        for (std::size_t i = 0; i < failures.size(); ++i) {
          const auto [found, isNew] = known.try_emplace(classes[i], questions.size());
          questionOf.push_back(found->second);
          if (isNew) {
            questions.push_back(trialOf(state, failures[i]));
          }
        }
        const Progress quiet{.stop = progress.stop};
        std::vector<Answer> answers;
        const auto ask = [&](std::size_t first) {
          answers.resize(questions.size());
          askAll(state, questions.size() - first, "failures", progress, [&](Searches& searches, std::size_t i) {
            answers[first + i] = searches.answer(questions[first + i], quiet);
            answers[first + i].cut = {};
          });
        };
        ask(0);
        std::vector<char> isNamed(questions.size(), 0);
        // GPUs that are cut off are named, each by its own name.
        for (std::size_t i = 0; i < failures.size(); ++i) {
          if (answers[questionOf[i]].finding && std::exchange(isNamed[questionOf[i]], char{1}) != 0) {
            questionOf[i] = questions.size();
            questions.push_back(trialOf(state, failures[i]));
          }
        }
        ask(answers.size());
        std::vector<Damage> ranking;
        ranking.reserve(failures.size());
        for (std::size_t i = 0; i < failures.size(); ++i) {
          const Answer& after = answers[questionOf[i]];
          ranking.push_back(
              {i, after.algbw, after.gpuCount, after.finding, Rational(1) - after.algbw / state.answer.algbw});
        }
        std::stable_sort(ranking.begin(), ranking.end(),
                         [](const Damage& a, const Damage& b) { return b.loss < a.loss; });
        return ranking;
      },
      entryErrors());
}

}  // namespace coppice::live
