// SPDX-License-Identifier: Apache-2.0
#include "io/synthesizer_results.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/checked.hpp"
#include "base/counted.hpp"
#include "base/failure.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "io/words.hpp"
#include "schedule/step_cost.hpp"
#include "schedule/step_routes.hpp"

namespace coppice::io {
namespace {

using fabric::Rank;
using schedule::StepSchedule;

constexpr std::size_t kMaxResultBytes = std::size_t{256} << 20;
constexpr std::size_t kMaxResultFlows = 5'000'000;
constexpr std::int64_t kMaxResultNumber = 1'000'000;
/// Volumes of a solver are decimal fractions of what was meant.
const Rational kVolumeTolerance{1, 1'000'000};

std::optional<std::int64_t> resultNumber(std::string_view text) {
  const auto value = numberIn<std::int64_t>(text);
  return value && *value >= 0 && *value <= kMaxResultNumber ? value : std::nullopt;
}

/// The fraction of the smallest denominator from `low` to `high`. @pre 0 <= low <= high
Rational simplestBetween(const Rational& low, const Rational& high) {
  const Rational whole{low.numerator() / low.denominator()};
  if (whole == low) {
    return whole;
  }
  if (whole + Rational(1) <= high) {
    return whole + Rational(1);
  }
  return whole + simplestBetween((high - whole).inverse(), (low - whole).inverse()).inverse();
}

/// A volume from 0 to 1 as it was meant: 0.3333333333 is 1/3.
std::optional<Rational> volumeOf(std::string_view text) {
  constexpr std::size_t kDigits = 10;
  const std::size_t point = text.find('.');
  if (point != std::string_view::npos) {
    text = text.substr(0, point + 1 + kDigits);
  }
  const auto parsed = Rational::parse(std::string(text));
  if (!parsed || *parsed < Rational(0) || *parsed > Rational(1) + kVolumeTolerance) {
    return std::nullopt;
  }
  const Rational low = *parsed > kVolumeTolerance ? *parsed - kVolumeTolerance : Rational(0);
  return std::min(Rational(1), simplestBetween(low, *parsed + kVolumeTolerance));
}

struct Flow {
  std::int64_t chunk = 0;
  std::int64_t source = 0;
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t epoch = 0;
  Rational volume = 1;
  std::string text;
};

/// Pieces as fractions, until all of them are known.
class ScheduleBuilder {
public:
  ScheduleBuilder(const fabric::Fabric& fabric, const schedule::CollectiveTable& goal, std::string method) {
    m_schedule.goal = goal;
    m_schedule.method = std::move(method);
    m_schedule.fabricName = fabric.name();
    m_schedule.fabricDigest = fabric.digest();
    m_schedule.isSynchronous = false;
    m_schedule.keepsOrder = true;
    m_schedule.stepCount = 1;
  }

  void add(std::int64_t shard, const Rational& begin, const Rational& end, Rank from, Rank to) {
    m_schedule.denominator = leastCommonMultiple(m_schedule.denominator, begin.denominator());
    m_schedule.denominator = leastCommonMultiple(m_schedule.denominator, end.denominator());
    m_pieces.push_back({shard, begin, end, from, to});
  }

  Result<StepSchedule> finish(const fabric::Fabric& fabric, const std::string& fileName, const Progress& progress) {
    for (const Piece& piece : m_pieces) {
      const auto units = [&](const Rational& at) {
        return checkedMul(at.numerator(), m_schedule.denominator / at.denominator());
      };
      m_schedule.transfers.add({.shard = piece.shard,
                                .begin = units(piece.begin),
                                .end = units(piece.end),
                                .from = piece.from,
                                .to = piece.to});
    }
    const auto placed = [&](Error error) {
      error.where.file = fileName;
      return error;
    };
    if (m_schedule.transfers.empty()) {
      return placed({ErrorCode::badInput, "the result moves nothing", "give a result with flows"});
    }
    if (const Outcome routed = schedule::addRoutes(fabric, m_schedule); !routed) {
      return placed(routed.error());
    }
    const auto cost = schedule::stepCost(fabric, m_schedule, progress);
    if (!cost) {
      return placed(cost.error());
    }
    m_schedule.algbw = cost->algbw;
    return std::move(m_schedule);
  }

private:
  struct Piece {
    std::int64_t shard;
    Rational begin;
    Rational end;
    Rank from;
    Rank to;
  };

  StepSchedule m_schedule;
  std::vector<Piece> m_pieces;
};

class TeCclReader {
public:
  TeCclReader(const std::string& fileName, const fabric::Fabric& fabric, const schedule::CollectiveTable& goal)
      : m_fileName(fileName), m_fabric(fabric), m_goal(goal) {}

  Result<StepSchedule> run(std::string_view text, const Progress& progress) {
    readFlows(text);
    mapRanks();
    checkGoal();
    countChunks();
    ScheduleBuilder builder(m_fabric, m_goal, "TE-CCL");
    std::stable_sort(m_flows.begin(), m_flows.end(), [](const Flow& a, const Flow& b) { return a.epoch < b.epoch; });
    for (const Flow& flow : m_flows) {
      addFlow(flow, builder);
    }
    return builder.finish(m_fabric, m_fileName, progress);
  }

private:
  [[noreturn]] void refuse(std::string message, std::string fix, ErrorCode code = ErrorCode::badInput) const {
    throw Failure{{code, std::move(message), std::move(fix), Place{m_fileName, 0, 0, {}}}};
  }

  void readFlows(std::string_view text) {
    const nlohmann::json root = nlohmann::json::parse(text, nullptr, false);
    if (!root.is_object()) {
      refuse("not valid JSON", "give TE-CCL's result as it was written");
    }
    for (const auto& [key, value] : root.items()) {
      if (key.ends_with("-Flows") && key.find("Raw") == std::string::npos && value.is_array() && m_flows.empty()) {
        for (const auto& row : value) {
          m_flows.push_back(flowOf(row));
          if (m_flows.size() > kMaxResultFlows) {
            refuse("more than " + std::to_string(kMaxResultFlows) + " flows", "give a smaller result",
                   ErrorCode::limit);
          }
        }
      }
      if (key.ends_with("-Chunk paths") && value.is_object()) {
        for (const auto& [demand, path] : value.items()) {
          // "Demand at 9 for chunk 8 from 3 met by epoch 5"
          const auto words = wordsOf(demand);
          if (words.size() >= 7 && words[0] == "Demand") {
            const auto to = resultNumber(words[2]);
            const auto chunk = resultNumber(words[5]);
            const auto source = words.size() > 7 ? resultNumber(words[7]) : std::nullopt;
            if (to && chunk && source) {
              m_destinations[{*source, *chunk}].insert(*to);
            }
          }
        }
      }
    }
    if (m_flows.empty()) {
      refuse("the result has no flows", "give TE-CCL's schedule, whose list is called 7-Flows");
    }
  }

  Flow flowOf(const nlohmann::json& row) const {
    if (!row.is_string()) {
      refuse("a flow is not a text", "give TE-CCL's result as it was written");
    }
    Flow flow{.text = row.get<std::string>()};
    const auto words = wordsOf(flow.text);
    std::size_t at = 0;
    const auto word = [&](std::string_view expected) {
      if (at >= words.size() || words[at] != expected) {
        refuseFlow(flow.text);
      }
      ++at;
    };
    const auto number = [&] {
      const auto value = at < words.size() ? resultNumber(words[at]) : std::nullopt;
      if (!value) {
        refuseFlow(flow.text);
      }
      ++at;
      return *value;
    };
    word("Chunk");
    flow.chunk = number();
    word("from");
    flow.source = number();
    word("traveled");
    word("over");
    const std::string_view hop = at < words.size() ? words[at++] : std::string_view();
    const std::size_t arrow = hop.find("->");
    const auto from = resultNumber(hop.substr(0, arrow));
    const auto to = arrow == std::string_view::npos ? std::nullopt : resultNumber(hop.substr(arrow + 2));
    if (!from || !to || *from == *to) {
      refuseFlow(flow.text);
    }
    flow.from = *from;
    flow.to = *to;
    if (at < words.size() && words[at] == "with") {
      ++at;
      word("volume");
      const auto volume = at < words.size() ? volumeOf(words[at]) : std::nullopt;
      if (!volume) {
        refuseFlow(flow.text);
      }
      ++at;
      flow.volume = *volume;
    }
    word("in");
    word("epoch");
    flow.epoch = number();
    return flow;
  }

  [[noreturn]] void refuseFlow(const std::string& text) const {
    refuse(inQuotes(text) + " is not a flow of TE-CCL",
           "write for example: Chunk 0 from 3 traveled over 3->1 in epoch 2");
  }

  void mapRanks() {
    std::set<std::int64_t> gpus;
    for (const Flow& flow : m_flows) {
      gpus.insert({flow.source, flow.from, flow.to});
    }
    if (static_cast<int>(gpus.size()) != m_fabric.gpuCount()) {
      refuse("the flows name " + counted(static_cast<std::int64_t>(gpus.size()), "GPU") + ", the fabric has " +
                 std::to_string(m_fabric.gpuCount()),
             "give the fabric that the result was made for", ErrorCode::badUsage);
    }
    for (const std::int64_t gpu : gpus) {
      m_rankOf.emplace(gpu, static_cast<Rank>(m_rankOf.size()));
    }
  }

  void checkGoal() const {
    const Collective collective = m_goal.collective();
    if (collective != Collective::allgather && collective != Collective::alltoall &&
        collective != Collective::broadcast && collective != Collective::gather) {
      refuse("TE-CCL has no " + std::string(toString(collective)),
             "give allgather, alltoall, broadcast or gather, as it was asked for", ErrorCode::badUsage);
    }
  }

  /// Chunks of each source, and where those of an alltoall go.
  void countChunks() {
    for (const Flow& flow : m_flows) {
      m_chunks = std::max(m_chunks, flow.chunk + 1);
      if (flow.volume != Rational(1)) {
        m_isDivided.insert({flow.source, flow.chunk});
      }
    }
    if (m_goal.collective() != Collective::alltoall) {
      return;
    }
    std::map<std::pair<std::int64_t, Rank>, std::int64_t> counts;
    std::set<std::pair<std::int64_t, std::int64_t>> all;
    for (const Flow& flow : m_flows) {
      all.insert({flow.source, flow.chunk});
    }
    for (const auto& [source, chunk] : all) {
      const auto known = m_destinations.find({source, chunk});
      Rank to = static_cast<Rank>(chunk);
      if (known != m_destinations.end() && known->second.size() == 1 && m_rankOf.contains(*known->second.begin())) {
        to = m_rankOf.at(*known->second.begin());
      } else if (chunk >= m_fabric.gpuCount()) {
        refuse("chunk " + std::to_string(chunk) + " of GPU " + std::to_string(source) + " has no destination",
               "keep the list of chunk paths in the result");
      }
      m_target[{source, chunk}] = {to, counts[{source, to}]++};
    }
    m_chunks = 1;
    for (const auto& [pair, count] : counts) {
      m_chunks = std::max(m_chunks, count);
    }
  }

  struct Held {
    Rational begin;
    Rational end;
    std::int64_t since;  ///< epoch of arrival, -1 = at the start
  };

  void addFlow(const Flow& flow, ScheduleBuilder& builder) {
    std::int64_t part = flow.chunk;
    std::int64_t shard = m_rankOf.at(flow.source);
    if (m_goal.collective() == Collective::alltoall) {
      const auto& [to, index] = m_target.at({flow.source, flow.chunk});
      shard = shard * m_fabric.gpuCount() + to;
      part = index;
    } else if (m_goal.collective() == Collective::broadcast) {
      if (m_goal.root() != std::optional(m_rankOf.at(flow.source))) {
        refuse(inQuotes(flow.text) + " is not from the root", "give the root with --root", ErrorCode::badUsage);
      }
      shard = 0;
    }
    const auto send = [&](const Rational& begin, const Rational& end) {
      const Rational chunks{m_chunks};
      builder.add(shard, (Rational(part) + begin) / chunks, (Rational(part) + end) / chunks, m_rankOf.at(flow.from),
                  m_rankOf.at(flow.to));
    };
    if (!m_isDivided.contains({flow.source, flow.chunk})) {
      send(Rational(0), Rational(1));
      return;
    }
    std::deque<Held>& sender = heldBy(flow, flow.from);
    std::deque<Held>& receiver = heldBy(flow, flow.to);
    Rational left = flow.volume;
    while (left.isPositive() && !sender.empty() && sender.front().since < flow.epoch) {
      Held& oldest = sender.front();
      const Rational taken = std::min(left, oldest.end - oldest.begin);
      send(oldest.begin, oldest.begin + taken);
      receiver.push_back({oldest.begin, oldest.begin + taken, flow.epoch});
      oldest.begin = oldest.begin + taken;
      left = left - taken;
      if (oldest.begin == oldest.end) {
        sender.pop_front();
      }
    }
    if (left > kVolumeTolerance * Rational(10)) {
      refuse(inQuotes(flow.text) + " sends more than GPU " + std::to_string(flow.from) + " holds then",
             "volumes are read where data are sent on and not copied, as in an alltoall");
    }
  }

  std::deque<Held>& heldBy(const Flow& flow, std::int64_t gpu) {
    const auto [held, isNew] = m_held.try_emplace({flow.source, flow.chunk, gpu});
    if (isNew && gpu == flow.source) {
      held->second.push_back({Rational(0), Rational(1), -1});
    }
    return held->second;
  }

  const std::string& m_fileName;
  const fabric::Fabric& m_fabric;
  const schedule::CollectiveTable& m_goal;
  std::vector<Flow> m_flows;
  std::map<std::pair<std::int64_t, std::int64_t>, std::set<std::int64_t>> m_destinations;  ///< by source and chunk
  std::map<std::pair<std::int64_t, std::int64_t>, std::pair<Rank, std::int64_t>> m_target;
  std::set<std::pair<std::int64_t, std::int64_t>> m_isDivided;
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::deque<Held>> m_held;
  std::map<std::int64_t, Rank> m_rankOf;
  std::int64_t m_chunks = 1;
};

/// Fields of a line of CSV without quotes.
std::vector<std::string_view> resultFields(std::string_view line) {
  std::vector<std::string_view> fields;
  std::size_t at = 0;
  while (true) {
    const std::size_t comma = std::min(line.find(',', at), line.size());
    std::string_view field = line.substr(at, comma - at);
    while (!field.empty() && (field.front() == ' ' || field.front() == '"')) {
      field.remove_prefix(1);
    }
    while (!field.empty() && (field.back() == ' ' || field.back() == '"' || field.back() == '\r')) {
      field.remove_suffix(1);
    }
    fields.push_back(field);
    if (comma == line.size()) {
      return fields;
    }
    at = comma + 1;
  }
}

Result<StepSchedule> tacosResult(std::string_view text, const std::string& fileName, const fabric::Fabric& fabric,
                                 const schedule::CollectiveTable& goal, const Progress& progress) {
  int number = 0;
  const auto refuse = [&](std::string message, std::string fix, ErrorCode code = ErrorCode::badInput) {
    throw Failure{{code, std::move(message), std::move(fix), Place{fileName, number, number > 0 ? 1 : 0, {}}}};
  };
  if (goal.collective() != Collective::allgather) {
    refuse("TACOS writes an allgather, not " + std::string(toString(goal.collective())), "read it with -c allgather",
           ErrorCode::badUsage);
  }
  std::map<std::string, std::int64_t, std::less<>> counts;
  std::vector<std::tuple<Rank, Rank, std::int64_t>> sent;
  bool hasColumns = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const auto fields = resultFields(text.substr(at, end - at));
    at = end + 1;
    ++number;
    if (fields.size() == 1 && fields[0].empty()) {
      continue;
    }
    if (!hasColumns) {
      hasColumns = fields[0] == "SrcID";
      if (!hasColumns && fields.size() >= 2) {
        counts[std::string(fields[0])] = resultNumber(fields[1]).value_or(-1);
      }
      if (hasColumns && (counts["NPUs Count"] < 1 || counts["Chunks Count"] < 1)) {
        refuse("the numbers of NPUs and chunks are missing", "give the file as TACOS wrote it");
      }
      continue;
    }
    const std::int64_t from = resultNumber(fields[0]).value_or(-1);
    const std::int64_t to = fields.size() > 4 ? resultNumber(fields[1]).value_or(-1) : -1;
    if (from < 0 || to < 0 || from == to || from >= counts["NPUs Count"] || to >= counts["NPUs Count"]) {
      refuse("not a link of a result of TACOS", "write from,to,latency,bandwidth,chunks, as in 0,1,500,50,3,2");
    }
    for (std::size_t i = 4; i < fields.size(); ++i) {
      if (fields[i] == "None" || fields[i].empty()) {
        continue;
      }
      // Some releases write the time behind the chunk, "3:1500"; the order says enough.
      const auto chunk = resultNumber(fields[i].substr(0, fields[i].find(':')));
      if (!chunk || *chunk >= counts["Chunks Count"]) {
        refuse(inQuotes(std::string(fields[i])) + " is not a chunk",
               "chunks are numbered from 0 to " + std::to_string(counts["Chunks Count"] - 1));
      }
      sent.emplace_back(static_cast<Rank>(from), static_cast<Rank>(to), *chunk);
      if (sent.size() > kMaxResultFlows) {
        refuse("more than " + std::to_string(kMaxResultFlows) + " chunks are sent", "give a smaller result",
               ErrorCode::limit);
      }
    }
  }
  number = 0;
  const std::int64_t npus = counts["NPUs Count"];
  if (!hasColumns || npus != fabric.gpuCount()) {
    refuse("the result is of " + counted(npus, "NPU") + ", the fabric has " + counted(fabric.gpuCount(), "GPU"),
           "give the fabric that the result was made for", ErrorCode::badUsage);
  }
  if (counts["Chunks Count"] % npus != 0) {
    refuse(std::to_string(counts["Chunks Count"]) + " chunks are not the same number for each of " +
               std::to_string(npus) + " NPUs",
           "give the file as TACOS wrote it");
  }
  const Rational parts{counts["Chunks Count"] / npus};
  ScheduleBuilder builder(fabric, goal, "TACOS");
  for (const auto& [from, to, chunk] : sent) {
    const Rational part{chunk / npus};
    builder.add(chunk % npus, part / parts, (part + Rational(1)) / parts, from, to);
  }
  return builder.finish(fabric, fileName, progress);
}

template <typename Read>
Result<StepSchedule> readResult(std::string_view text, const std::string& fileName, Read read) {
  const Place where{fileName, 0, 0, {}};
  if (text.size() > kMaxResultBytes) {
    return Error{ErrorCode::limit, "the result is larger than " + std::to_string(kMaxResultBytes >> 20) + " MiB",
                 "give a smaller one", where};
  }
  return guarded(read, {.overflow = "the pieces have no common denominator within 64 bits",
                        .overflowFix = "give a result with fewer chunks",
                        .memory = "the result does not fit into memory",
                        .memoryFix = "give a smaller one",
                        .where = where});
}

}  // namespace

bool looksLikeTeCcl(std::string_view text) {
  return text.find("-Flows\"") != std::string_view::npos && text.find("traveled over") != std::string_view::npos;
}

bool looksLikeTacosResult(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n\"");
  return first != std::string_view::npos && text.substr(first).starts_with("NPUs Count");
}

Result<StepSchedule> readTeCcl(std::string_view text, const std::string& fileName, const fabric::Fabric& fabric,
                               const schedule::CollectiveTable& goal, const Progress& progress) {
  return readResult(text, fileName, [&] { return TeCclReader(fileName, fabric, goal).run(text, progress); });
}

Result<StepSchedule> readTacosResult(std::string_view text, const std::string& fileName, const fabric::Fabric& fabric,
                                     const schedule::CollectiveTable& goal, const Progress& progress) {
  return readResult(text, fileName, [&] { return tacosResult(text, fileName, fabric, goal, progress); });
}

}  // namespace coppice::io
