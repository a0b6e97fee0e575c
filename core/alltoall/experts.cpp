// SPDX-License-Identifier: Apache-2.0
#include "alltoall/experts.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "base/checked.hpp"
#include "base/failure.hpp"
#include "base/text.hpp"

namespace coppice::alltoall {
namespace {

using fabric::Rank;
using std::int64_t;

[[noreturn]] void refuseUsage(const char* parameter, const std::string& message, const std::string& fix) {
  throw Failure({ErrorCode::badUsage, message, fix, Place{.element = {RefKind::parameter, parameter}}});
}

/// How likely K of `all` experts have one of `some`.
double chanceOfAny(int all, int some, int k) {
  double none = 1;
  for (int i = 0; i < k; ++i) {
    none *= std::max(0.0, static_cast<double>(all - some - i)) / static_cast<double>(all - i);
  }
  return 1 - none;
}

int64_t parts(double tokens) {
  return static_cast<int64_t>(std::llround(tokens * static_cast<double>(kTokenParts)));
}

DemandTable tableOf(std::vector<int64_t> amounts, const Rational& unit) {
  int64_t divisor = 0;
  for (const int64_t amount : amounts) {
    divisor = std::gcd(divisor, amount);
  }
  if (divisor > 1) {
    for (int64_t& amount : amounts) {
      amount /= divisor;
    }
  }
  return {.demand = {.amounts = std::move(amounts)}, .unit = unit * Rational(std::max<int64_t>(1, divisor))};
}

std::vector<int> countsBy(const std::vector<int>& group, const ExpertPlacement& placement) {
  std::vector<int> counts(static_cast<std::size_t>(*std::max_element(group.begin(), group.end())) + 1, 0);
  for (const Rank rank : placement) {
    ++counts[group[rank]];
  }
  return counts;
}

DemandTable expected(const ExpertPlacement& placement, const std::vector<int>& boxOf, const UniformRouting& routing,
                     int64_t bytesPerToken, bool oncePerBox) {
  const auto gpus = static_cast<int>(boxOf.size());
  const auto experts = static_cast<int>(placement.size());
  std::vector<int> ranks(boxOf.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  const std::vector<int> onGpu = countsBy(ranks, placement);
  const std::vector<int> inBox = countsBy(boxOf, placement);
  const int boxes = static_cast<int>(inBox.size());
  int all = experts;
  double chosen = 1;  // that a box is among those of a token
  if (routing.maxBoxes) {
    if (*routing.maxBoxes < 1 || *routing.maxBoxes > boxes) {
      refuseUsage("max-boxes",
                  "a token cannot go to at most " + std::to_string(*routing.maxBoxes) + " of " + std::to_string(boxes) +
                      " boxes",
                  "give 1 to " + std::to_string(boxes) + " boxes");
    }
    if (std::adjacent_find(inBox.begin(), inBox.end(), std::not_equal_to<>()) != inBox.end()) {
      refuseUsage("max-boxes",
                  "boxes have different numbers of experts, and a limit of boxes then says nothing of tokens",
                  "give the tokens of each GPU for each expert");
    }
    all = *routing.maxBoxes * inBox.front();
    chosen = static_cast<double>(*routing.maxBoxes) / boxes;
  }
  if (routing.topK < 1 || routing.topK > all) {
    refuseUsage("top-k",
                "a token cannot choose " + std::to_string(routing.topK) + " of " + std::to_string(all) + " experts",
                "give a number of experts per token of 1 to " + std::to_string(all));
  }
  const auto tokens = static_cast<double>(routing.tokens);
  const auto toGpu = [&](int gpu) { return tokens * chosen * chanceOfAny(all, onGpu[gpu], routing.topK); };
  std::vector<int> placeInBox;
  std::vector<std::vector<int>> members(static_cast<std::size_t>(boxes));
  for (int gpu = 0; gpu < gpus; ++gpu) {
    placeInBox.push_back(static_cast<int>(members[boxOf[gpu]].size()));
    members[boxOf[gpu]].push_back(gpu);
  }
  std::vector<int64_t> amounts(boxOf.size() * boxOf.size(), 0);
  const auto add = [&](int from, int to, double count) {
    int64_t& amount = amounts[static_cast<std::size_t>(from) * boxOf.size() + static_cast<std::size_t>(to)];
    amount = checkedAdd(amount, parts(count));
  };
  for (int from = 0; from < gpus; ++from) {
    for (int box = 0; box < boxes; ++box) {
      const bool isRelayed = oncePerBox && box != boxOf[from];
      const int relay = members[box][static_cast<std::size_t>(placeInBox[from]) % members[box].size()];
      if (isRelayed) {
        add(from, relay, tokens * chosen * chanceOfAny(all, inBox[box], routing.topK));
      }
      for (const int to : members[box]) {
        if (!isRelayed || to != relay) {
          add(isRelayed ? relay : from, to, toGpu(to));
        }
      }
    }
  }
  return tableOf(std::move(amounts), Rational(bytesPerToken, kTokenParts));
}

/// What the GPUs and boxes send and receive, in the time that it takes them alone.
class PlacementSearch {
public:
  PlacementSearch(const fabric::Fabric& fabric, const std::vector<int>& boxOf, ExpertPlacement placement,
                  const std::vector<int64_t>& counts)
      : m_boxOf(boxOf),
        m_placement(std::move(placement)),
        m_counts(counts),
        m_gpus(boxOf.size()),
        m_boxes(static_cast<std::size_t>(*std::max_element(boxOf.begin(), boxOf.end())) + 1),
        m_egress(m_gpus + m_boxes, 0),
        m_ingress(m_gpus + m_boxes, 0),
        m_out(m_gpus + m_boxes, 0),
        m_in(m_gpus + m_boxes, 0) {
    std::map<std::string, int> numberOfBox;
    for (const fabric::NodeIndex gpu : fabric.gpus()) {
      numberOfBox.emplace(fabric.nodes()[gpu].box, boxOf[fabric.nodes()[gpu].rank]);
    }
    const auto boxAt = [&](fabric::NodeIndex node) {
      const auto found = numberOfBox.find(fabric.nodes()[node].box);
      return fabric.nodes()[node].box.empty() || found == numberOfBox.end() ? -1 : found->second;
    };
    for (const fabric::Arc& arc : fabric.arcs()) {
      const double rate = toGBps(arc.bandwidth);
      if (fabric.nodes()[arc.tail].kind == fabric::NodeKind::gpu) {
        m_egress[fabric.nodes()[arc.tail].rank] += rate;
      }
      if (fabric.nodes()[arc.head].kind == fabric::NodeKind::gpu) {
        m_ingress[fabric.nodes()[arc.head].rank] += rate;
      }
      if (const int from = boxAt(arc.tail), to = boxAt(arc.head); from != to) {
        if (from >= 0) {
          m_egress[m_gpus + from] += rate;
        }
        if (to >= 0) {
          m_ingress[m_gpus + to] += rate;
        }
      }
    }
    for (std::size_t expert = 0; expert < m_placement.size(); ++expert) {
      put(expert, 1);
    }
  }

  ExpertPlacement run() {
    const std::size_t maxRounds = 8 * m_placement.size();
    for (std::size_t round = 0; round < maxRounds && improve(); ++round) {
    }
    return m_placement;
  }

private:
  struct Score {
    double longest = 0;
    double squares = 0;
    friend bool operator<(const Score& a, const Score& b) {
      constexpr double kLess = 1 - 1e-9;
      return a.longest < b.longest * kLess || (a.longest <= b.longest && a.squares < b.squares * kLess);
    }
  };

  [[nodiscard]] double timeOf(std::size_t part) const {
    const auto time = [](double amount, double rate) { return amount > 0 && rate > 0 ? amount / rate : 0; };
    return std::max(time(m_out[part], m_egress[part]), time(m_in[part], m_ingress[part]));
  }
  [[nodiscard]] Score score() const {
    Score score;
    for (std::size_t part = 0; part < m_out.size(); ++part) {
      const double time = timeOf(part);
      score.longest = std::max(score.longest, time);
      score.squares += time * time;
    }
    return score;
  }

  /// Adds what the expert makes its GPU and box receive, and the others send; or takes it away.
  void put(std::size_t expert, double sign) {
    const Rank gpu = m_placement[expert];
    const int box = m_boxOf[gpu];
    for (std::size_t from = 0; from < m_gpus; ++from) {
      const double tokens = sign * static_cast<double>(m_counts[from * m_placement.size() + expert]);
      if (static_cast<Rank>(from) != gpu) {
        m_out[from] += tokens;
        m_in[gpu] += tokens;
      }
      if (m_boxOf[from] != box) {
        m_out[m_gpus + m_boxOf[from]] += tokens;
        m_in[m_gpus + box] += tokens;
      }
    }
  }
  void swap(std::size_t a, std::size_t b) {
    put(a, -1);
    put(b, -1);
    std::swap(m_placement[a], m_placement[b]);
    put(a, 1);
    put(b, 1);
  }

  /// The best swap of an expert of the part that takes the longest.
  bool improve() {
    std::size_t longest = 0;
    for (std::size_t part = 1; part < m_out.size(); ++part) {
      longest = timeOf(part) > timeOf(longest) ? part : longest;
    }
    const Score before = score();
    Score best = before;
    std::optional<std::pair<std::size_t, std::size_t>> move;
    for (std::size_t a = 0; a < m_placement.size(); ++a) {
      const auto gpu = static_cast<std::size_t>(m_placement[a]);
      if (gpu != longest && m_gpus + static_cast<std::size_t>(m_boxOf[gpu]) != longest) {
        continue;
      }
      for (std::size_t b = 0; b < m_placement.size(); ++b) {
        if (m_placement[a] == m_placement[b]) {
          continue;
        }
        swap(a, b);
        if (const Score after = score(); after < best) {
          best = after;
          move = {a, b};
        }
        swap(a, b);
      }
    }
    if (!move) {
      return false;
    }
    swap(move->first, move->second);
    return true;
  }

  const std::vector<int>& m_boxOf;
  ExpertPlacement m_placement;
  const std::vector<int64_t>& m_counts;
  std::size_t m_gpus;
  std::size_t m_boxes;
  // By GPU, then by box.
  std::vector<double> m_egress;
  std::vector<double> m_ingress;
  std::vector<double> m_out;  ///< tokens
  std::vector<double> m_in;
};

}  // namespace

Result<ExpertPlacement> evenPlacement(const fabric::Fabric& fabric, int experts) {
  if (experts < 1) {
    return Error{ErrorCode::badUsage, "there is no expert", "give 1 or more experts"};
  }
  ExpertPlacement placement;
  for (int expert = 0; expert < experts; ++expert) {
    placement.push_back(static_cast<Rank>(int64_t{expert} * fabric.gpuCount() / experts));
  }
  return placement;
}

Result<ExpertPlacement> readPlacement(const fabric::Fabric& fabric, std::string_view text, const std::string& name,
                                      int experts) {
  ExpertPlacement placement;
  const auto bad = [&](const std::string& message, const std::string& fix) {
    return Error{ErrorCode::badInput, name + ": " + message, fix};
  };
  constexpr std::string_view kBetween = ",; \t\r\n";
  for (std::size_t at = text.find_first_not_of(kBetween); at != std::string_view::npos;
       at = text.find_first_not_of(kBetween, at)) {
    const std::size_t end = std::min(text.find_first_of(kBetween, at), text.size());
    const std::string word(text.substr(at, end - at));
    at = end;
    const auto node = fabric.find(word);
    if (node && fabric.nodes()[*node].kind == fabric::NodeKind::gpu) {
      placement.push_back(fabric.nodes()[*node].rank);
      continue;
    }
    const auto number = Rational::parse(word);
    if (!number || number->denominator() != 1 || *number < Rational(0) || *number >= Rational(fabric.gpuCount())) {
      return bad("expert " + std::to_string(placement.size()) + " is on " + inQuotes(word) + ", which is not a GPU",
                 "give a rank of 0 to " + std::to_string(fabric.gpuCount() - 1) + ", or an id, for each expert");
    }
    placement.push_back(static_cast<Rank>(number->numerator()));
  }
  if (static_cast<int>(placement.size()) != experts) {
    return bad("it places " + std::to_string(placement.size()) + " experts of " + std::to_string(experts),
               "give one GPU for each expert");
  }
  return placement;
}

Result<DemandTable> expectedTraffic(const ExpertPlacement& placement, const std::vector<int>& boxOf,
                                    const UniformRouting& routing, int64_t bytesPerToken, bool oncePerBox) {
  return guarded(
      [&]() -> Result<DemandTable> { return expected(placement, boxOf, routing, bytesPerToken, oncePerBox); },
      {.overflow = "the tokens leave the 64-bit range", .overflowFix = "give fewer tokens"});
}

Result<DemandTable> countedTraffic(const ExpertPlacement& placement, int gpuCount, const std::vector<int64_t>& counts,
                                   int64_t bytesPerToken) {
  return guarded(
      [&]() -> Result<DemandTable> {
        const auto gpus = static_cast<std::size_t>(gpuCount);
        std::vector<int64_t> amounts(gpus * gpus, 0);
        for (std::size_t from = 0; from < gpus; ++from) {
          for (std::size_t expert = 0; expert < placement.size(); ++expert) {
            int64_t& amount = amounts[from * gpus + static_cast<std::size_t>(placement[expert])];
            amount = checkedAdd(amount, counts[from * placement.size() + expert]);
          }
        }
        return tableOf(std::move(amounts), Rational(bytesPerToken));
      },
      {.overflow = "the tokens leave the 64-bit range", .overflowFix = "give fewer tokens"});
}

DemandTable reversed(DemandTable table, int gpuCount) {
  const auto gpus = static_cast<std::size_t>(gpuCount);
  for (std::size_t from = 0; from < gpus; ++from) {
    for (std::size_t to = 0; to < from; ++to) {
      std::swap(table.demand.amounts[from * gpus + to], table.demand.amounts[to * gpus + from]);
    }
  }
  return table;
}

ExpertPlacement improvedPlacement(const fabric::Fabric& fabric, const std::vector<int>& boxOf,
                                  ExpertPlacement placement, const std::vector<int64_t>& counts) {
  return PlacementSearch(fabric, boxOf, std::move(placement), counts).run();
}

}  // namespace coppice::alltoall
