// SPDX-License-Identifier: Apache-2.0
#include "probe/profile.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "coppice/version.hpp"
#include "io/fabric_json.hpp"
#include "probe/median.hpp"

namespace coppice::probe {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMaxBytesPerRun = std::int64_t{64} << 20;
constexpr int kDepth = 8;
constexpr double kPicoseconds = 1e12;  // of a second
/// Chunks of a collective of many ranks are small.
constexpr std::int64_t kFirstBytesTogether = 64;

/// Solves the normal equations of a weighted fit with the given columns by elimination with pivots.
/// @return false where the columns cannot be told apart
template <std::size_t Count>
bool solve(std::array<std::array<double, Count + 1>, Count>& system, std::array<double, Count>& solution) {
  for (std::size_t column = 0; column < Count; ++column) {
    std::size_t pivot = column;
    for (std::size_t row = column + 1; row < Count; ++row) {
      pivot = std::abs(system[row][column]) > std::abs(system[pivot][column]) ? row : pivot;
    }
    std::swap(system[column], system[pivot]);
    if (std::abs(system[column][column]) < 1e-9) {
      return false;
    }
    for (std::size_t row = 0; row < Count; ++row) {
      if (row != column) {
        const double factor = system[row][column] / system[column][column];
        for (std::size_t at = column; at <= Count; ++at) {
          system[row][at] -= factor * system[column][at];
        }
      }
    }
  }
  for (std::size_t i = 0; i < Count; ++i) {
    solution[i] = system[i][Count] / system[i][i];
  }
  return true;
}

/// Columns are scaled to comparable size: constant, hops, and megabytes passed in all.
std::array<double, 3> columnsOf(const Point& point) {
  return {1, static_cast<double>(point.hops), static_cast<double>(point.hops) * static_cast<double>(point.bytes) / 1e6};
}

/// @param use which columns take part
template <std::size_t Count>
bool fitColumns(const std::vector<Point>& points, const std::array<std::size_t, Count>& use,
                std::array<double, Count>& solution) {
  std::array<std::array<double, Count + 1>, Count> system{};
  for (const Point& point : points) {
    const std::array<double, 3> columns = columnsOf(point);
    const double micros = point.seconds * 1e6;
    const double weight = 1 / (micros * micros);
    for (std::size_t row = 0; row < Count; ++row) {
      for (std::size_t at = 0; at < Count; ++at) {
        system[row][at] += weight * columns[use[row]] * columns[use[at]];
      }
      system[row][Count] += weight * columns[use[row]] * micros;
    }
  }
  // Rows of unlike size would make the test for zero mean nothing.
  for (auto& row : system) {
    double largest = 0;
    for (std::size_t at = 0; at < Count; ++at) {
      largest = std::max(largest, std::abs(row[at]));
    }
    for (double& value : row) {
      value /= largest > 0 ? largest : 1;
    }
  }
  return solve(system, solution);
}

std::string threeDigits(double value) {
  std::array<char, 48> text{};
  const double size = value > 0 ? std::floor(std::log10(value)) : 0;
  const int places = std::clamp(2 - static_cast<int>(size), 0, 9);
  const double unit = size > 2 ? std::pow(10, size - 2) : 1;
  std::snprintf(text.data(), text.size(), "%.*f", places, std::round(value / unit) * unit);
  std::string result = text.data();
  if (result.find('.') != std::string::npos) {
    result.erase(result.find_last_not_of('0') + 1);
    if (result.back() == '.') {
      result.pop_back();
    }
  }
  return result;
}

}  // namespace

Result<Fit> fitAlphaBeta(const std::vector<Point>& points) {
  const Error unfit = {.code = ErrorCode::infeasible,
                       .message = "the measurements do not separate latency and bandwidth",
                       .fix = "measure more sizes, on an idle machine"};
  for (const Point& point : points) {
    if (!(point.seconds > 0) || !std::isfinite(point.seconds) || point.hops < 1 || point.bytes < 0) {
      return unfit;
    }
  }
  std::array<double, 3> all{};
  if (points.size() < 3 || !fitColumns<3>(points, {0, 1, 2}, all)) {
    return unfit;
  }
  if (all[1] < 0) {
    std::array<double, 2> two{};
    if (!fitColumns<2>(points, {0, 2}, two)) {
      return unfit;
    }
    all = {two[0], 0, two[1]};
  }
  if (!(all[2] > 0)) {
    return unfit;
  }
  Fit fit = {.alpha = all[1] / 1e6, .beta = all[2] / 1e12, .constant = all[0] / 1e6};
  double squares = 0;
  for (const Point& point : points) {
    const std::array<double, 3> columns = columnsOf(point);
    const double fitted = (all[0] * columns[0] + all[1] * columns[1] + all[2] * columns[2]) / 1e6;
    squares += std::pow((point.seconds - fitted) / point.seconds, 2);
  }
  fit.residual = std::sqrt(squares / static_cast<double>(points.size()));
  return fit;
}

executor::Plan passPlan(int ranks, int source, int target, int hops, bool adds) {
  using program::Buffer;
  using program::StepType;
  executor::Plan plan;
  plan.name = "ping-pong";
  plan.operation = Collective::broadcast;
  plan.place = executor::Place::outOfPlace;
  plan.root = source;
  plan.inputChunks = 1;
  plan.outputChunks = 1;
  plan.smallestDepth = 1;
  const bool returns = hops > 1;
  plan.connections.push_back({.sendRank = source, .recvRank = target, .messagesPerTile = (hops + 1) / 2});
  if (returns) {
    plan.connections.push_back({.sendRank = target, .recvRank = source, .messagesPerTile = hops / 2});
  }
  for (int rank = 0; rank < ranks; ++rank) {
    executor::PlanRank one{.firstBlock = static_cast<int>(plan.blocks.size())};
    if (rank == source || rank == target) {
      executor::PlanBlock block{.rank = rank, .firstStep = static_cast<int>(plan.steps.size())};
      const bool isSource = rank == source;
      block.sendConnection = isSource ? 0 : returns ? 1 : -1;
      block.recvConnection = isSource ? (returns ? 1 : -1) : 0;
      (isSource ? plan.connections[0].sendBlock : plan.connections[0].recvBlock) = one.firstBlock;
      if (returns) {
        (isSource ? plan.connections[1].recvBlock : plan.connections[1].sendBlock) = one.firstBlock;
      }
      for (int hop = 0; hop < hops; ++hop) {
        const bool isSend = (hop % 2 == 0) == isSource;
        const StepType receive = adds ? StepType::recvReduceCopy : StepType::recv;
        executor::PlanStep step{.type = isSend ? StepType::send : receive, .count = 1};
        // What arrived is what is sent back.
        step.srcBuffer = isSource && hop == 0 ? Buffer::input : Buffer::output;
        step.dstBuffer = Buffer::output;
        step.srcOffset = 0;
        step.dstOffset = 0;
        plan.steps.push_back(step);
      }
      block.endStep = static_cast<int>(plan.steps.size());
      plan.blocks.push_back(block);
    }
    one.endBlock = static_cast<int>(plan.blocks.size());
    plan.ranks.push_back(one);
  }
  return plan;
}

executor::Plan turnPlan(int ranks, int rounds) {
  using program::Buffer;
  using program::StepType;
  executor::Plan plan;
  plan.name = "turn";
  plan.operation = Collective::broadcast;
  plan.place = executor::Place::outOfPlace;
  plan.root = 0;
  plan.inputChunks = 1;
  plan.outputChunks = 1;
  plan.smallestDepth = 1;
  for (int rank = 0; rank < ranks; ++rank) {
    const int next = (rank + 1) % ranks;
    plan.connections.push_back({.sendRank = rank, .recvRank = next, .messagesPerTile = rounds});
    plan.connections.back().sendBlock = rank;
    plan.connections.back().recvBlock = next;
    executor::PlanRank one{.firstBlock = rank, .endBlock = rank + 1};
    executor::PlanBlock block{.rank = rank, .firstStep = static_cast<int>(plan.steps.size())};
    block.sendConnection = rank;
    block.recvConnection = (rank + ranks - 1) % ranks;
    for (int round = 0; round < rounds; ++round) {
      for (const StepType type : {StepType::send, StepType::recv}) {
        executor::PlanStep step{.type = type, .count = 1};
        // What arrived is what is sent on.
        step.srcBuffer = round == 0 ? Buffer::input : Buffer::output;
        step.dstBuffer = Buffer::output;
        step.srcOffset = 0;
        step.dstOffset = 0;
        plan.steps.push_back(step);
      }
    }
    block.endStep = static_cast<int>(plan.steps.size());
    plan.blocks.push_back(block);
    plan.ranks.push_back(one);
  }
  return plan;
}

namespace {

/// Seconds of a plan at one size, as the slowest process has them.
Result<double> secondsOf(executor::Backend& backend, const executor::Plan& plan, executor::DataType type,
                         std::int64_t bytes, const ProfileOptions& options) {
  // A stop is sent to all, so that no rank waits for one that left.
  const auto stopped = backend.sum(options.stop.stop_requested() ? 1 : 0);
  if (!stopped || *stopped > 0) {
    return stopped ? Error{.code = ErrorCode::cancelled, .message = "stopped"} : stopped.error();
  }
  const auto geometry = executor::makeGeometry(
      plan, {.type = type, .bytes = bytes, .pieceBytes = backend.pieceBytes(plan, type, bytes), .depth = kDepth});
  if (!geometry) {
    return geometry.error();
  }
  if (const Outcome ready = backend.prepare(plan, *geometry); !ready) {
    return ready.error();
  }
  executor::RunRequest request{.iterations = 1, .stop = options.stop};
  if (const auto warm = backend.run(request); !warm) {
    return warm.failure().error;
  }
  request.iterations = options.repeats;
  const auto run = backend.run(request);
  if (!run) {
    return run.failure().error;
  }
  return backend.max(medianOf(run.times().seconds));
}

/// Adds points of a plan that repeats its messages `hops` times, up to these bytes of all that is under way at once.
Outcome measure(executor::Backend& backend, const executor::Plan& plan, executor::DataType type, int hops,
                std::int64_t lastBytes, const ProfileOptions& options, std::vector<Point>& points) {
  constexpr std::int64_t kGrowth = 8;
  for (std::int64_t bytes = options.firstBytes; bytes <= lastBytes; bytes *= kGrowth) {
    if (hops > 1 && bytes > kMaxBytesPerRun / hops) {
      break;
    }
    const auto seconds = secondsOf(backend, plan, type, bytes, options);
    if (!seconds) {
      return seconds.error();
    }
    points.push_back({.hops = hops, .bytes = bytes, .seconds = *seconds});
  }
  return Done{};
}

/// Messages that pass back and forth between two ranks, alone, and their fit.
Result<PairProfile> measurePair(executor::Backend& backend, int source, int target, bool adds,
                                const ProfileOptions& options) {
  PairProfile pair{.source = source, .target = target};
  const executor::DataType type = adds ? executor::DataType::float32 : executor::DataType::uint8;
  for (const int hops : options.hops) {
    const executor::Plan plan = passPlan(options.ranks, source, target, hops, adds);
    if (const Outcome measured = measure(backend, plan, type, hops, options.lastBytes, options, pair.points);
        !measured) {
      return measured.error();
    }
  }
  const auto fit = fitAlphaBeta(pair.points);
  if (!fit) {
    return fit.error();
  }
  pair.fit = *fit;
  return pair;
}

}  // namespace

Result<std::vector<PairProfile>> profileRanks(executor::Backend& backend, const ProfileOptions& options) {
  std::vector<PairProfile> pairs;
  for (int source = 0; source < options.ranks; ++source) {
    for (int target = 0; target < options.ranks; ++target) {
      if (source == target) {
        continue;
      }
      auto pair = measurePair(backend, source, target, false, options);
      if (!pair) {
        return pair.error();
      }
      pairs.push_back(*std::move(pair));
    }
  }
  return pairs;
}

Result<std::vector<PairProfile>> profileAdditions(executor::Backend& backend, const ProfileOptions& options) {
  std::vector<PairProfile> pairs;
  for (int source = 0; source < options.ranks; ++source) {
    auto pair = measurePair(backend, source, (source + 1) % options.ranks, true, options);
    if (!pair) {
      return pair.error();
    }
    pairs.push_back(*std::move(pair));
  }
  return pairs;
}

std::optional<double> additionSecondsPerByte(const Profile& profile) {
  std::vector<double> more;
  for (const PairProfile& added : profile.additions) {
    const auto plain = std::find_if(profile.pairs.begin(), profile.pairs.end(), [&](const PairProfile& pair) {
      return pair.source == added.source && pair.target == added.target;
    });
    if (plain != profile.pairs.end()) {
      more.push_back(std::max(0.0, added.fit.beta - plain->fit.beta));
    }
  }
  return more.empty() ? std::nullopt : std::optional(medianOf(std::move(more)));
}

Result<GroupProfile> profileTogether(executor::Backend& backend, const ProfileOptions& options) {
  GroupProfile group{.ranks = options.ranks};
  ProfileOptions small = options;
  small.firstBytes = kFirstBytesTogether;
  for (const int rounds : options.hops) {
    const executor::Plan plan = turnPlan(options.ranks, rounds);
    if (const Outcome measured = measure(backend, plan, executor::DataType::uint8, rounds,
                                         options.lastBytes / options.ranks, small, group.points);
        !measured) {
      return measured.error();
    }
  }
  const auto fit = fitTogether(group.points, options.ranks);
  if (!fit) {
    return fit.error();
  }
  group.fit = *fit;
  return group;
}

Result<Fit> fitTogether(const std::vector<Point>& points, int ranks) {
  auto fit = fitAlphaBeta(points);
  if (fit) {
    fit->alpha /= ranks;
    fit->beta /= ranks;
  }
  return fit;
}

fabric::Description profileFabric(const std::vector<PairProfile>& pairs, int ranks, const std::string& name) {
  fabric::Description description;
  description.name = name;
  for (int rank = 0; rank < ranks; ++rank) {
    description.nodes.push_back({.id = "rank" + std::to_string(rank), .kind = "gpu", .rank = rank});
  }
  for (const PairProfile& pair : pairs) {
    fabric::LinkDescription link{.src = "rank" + std::to_string(pair.source),
                                 .dst = "rank" + std::to_string(pair.target),
                                 .bandwidth = threeDigits(1e-9 / pair.fit.beta),
                                 .duplex = false};
    if (pair.fit.alpha > 0) {
      link.latency = threeDigits(pair.fit.alpha * 1e6);
    }
    link.extra = R"({"basis":"measured"})";
    description.links.push_back(std::move(link));
  }
  return description;
}

std::string profileText(const Profile& profile, const executor::BackendInfo& info) {
  std::string text = "# backend: " + info.name + (info.summary.empty() ? "" : ", " + info.summary) + "\n" +
                     (info.label.empty() ? "" : "# " + info.label + "\n") +
                     "#  from    to  alpha (us)  beta (us/MB)  bandwidth (GB/s)  residual (%)\n";
  const auto row = [&](const std::string& from, const std::string& to, const Fit& fit) {
    std::array<char, 128> line{};
    std::snprintf(line.data(), line.size(), "%7s %5s %11.2f %13.2f %17.2f %13.1f\n", from.c_str(), to.c_str(),
                  fit.alpha * 1e6, fit.beta * 1e12, 1e-9 / fit.beta, fit.residual * 100);
    text += line.data();
  };
  for (const PairProfile& pair : profile.pairs) {
    row(std::to_string(pair.source), std::to_string(pair.target), pair.fit);
  }
  if (profile.together) {
    row("all", "next", profile.together->fit);
  }
  if (const auto seconds = additionSecondsPerByte(profile)) {
    text += "# adding (float32): " + threeDigits(*seconds * kPicoseconds) + " ps per byte\n";
  }
  return text;
}

std::string profileJson(const Profile& profile, const executor::BackendInfo& info) {
  const auto describe = [](Json object, const Fit& fit, const std::vector<Point>& points) {
    Json list = Json::array();
    for (const Point& point : points) {
      list.push_back({point.hops, point.bytes, point.seconds});
    }
    object["alpha_us"] = fit.alpha * 1e6;
    object["beta_us_per_MB"] = fit.beta * 1e12;
    object["bandwidth_GBps"] = 1e-9 / fit.beta;
    object["residual"] = fit.residual;
    object["points"] = std::move(list);
    return object;
  };
  const auto linksOf = [&](const std::vector<PairProfile>& pairs) {
    Json links = Json::array();
    for (const PairProfile& pair : pairs) {
      links.push_back(describe({{"src", pair.source}, {"dst", pair.target}}, pair.fit, pair.points));
    }
    return links;
  };
  Json all = {{"t", "profile"},       {"format", 1},         {"version", kVersion},
              {"backend", info.name}, {"label", info.label}, {"links", linksOf(profile.pairs)}};
  if (profile.together) {
    const GroupProfile& together = *profile.together;
    all["together"] = describe({{"ranks", together.ranks}}, together.fit, together.points);
  }
  if (const auto seconds = additionSecondsPerByte(profile)) {
    all["addition"] = {{"ps_per_byte", *seconds * kPicoseconds}, {"links", linksOf(profile.additions)}};
  }
  all["fabric"] = Json::parse(io::writeFabricJson(profileFabric(profile.pairs, profile.ranks, "profile")));
  return all.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace coppice::probe
