// SPDX-License-Identifier: Apache-2.0
#include "probe/taccl_profile.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "probe/median.hpp"

namespace coppice::probe {
namespace {

using Json = nlohmann::ordered_json;

/// Times per byte further apart than this are links of different classes.
constexpr double kGap = 1.2;
/// No link takes fewer units.
constexpr double kMinCost = 30;

/// Two digits after the point.
Rational decimal(double value) {
  return {std::llround(value * 100), 100};
}

Error badProfile(const std::string& what) {
  return {ErrorCode::badInput, "this is not a recorded profile: " + what,
          "give the output of coppice-exec profile --json"};
}

Result<std::vector<Point>> pointsOf(const Json& object) {
  std::vector<Point> points;
  for (const Json& point : object["points"]) {
    const bool isPoint = point.is_array() && point.size() == 3 && point[0].is_number_integer() &&
                         point[1].is_number_integer() && point[2].is_number();
    if (!isPoint) {
      return badProfile("a point is not [hops, bytes, seconds]");
    }
    points.push_back({point[0].get<int>(), point[1].get<std::int64_t>(), point[2].get<double>()});
  }
  return points;
}

/// @pre an array
Result<std::vector<PairProfile>> pairsOf(const Json& links) {
  std::vector<PairProfile> pairs;
  for (const Json& link : links) {
    const auto isNumber = [&](const char* key) {
      return link.is_object() && link.contains(key) && link[key].is_number_integer();
    };
    if (!isNumber("src") || !isNumber("dst") || !link.contains("points") || !link["points"].is_array()) {
      return badProfile("a link has no src, dst or points");
    }
    PairProfile pair{.source = link["src"].get<int>(), .target = link["dst"].get<int>()};
    if (pair.source < 0 || pair.target < 0 || pair.source > 4095 || pair.target > 4095) {
      return badProfile("a rank is not one of 0 to 4095");
    }
    auto points = pointsOf(link);
    if (!points) {
      return points.error();
    }
    pair.points = *std::move(points);
    const auto fit = fitAlphaBeta(pair.points);
    if (!fit) {
      return fit.error();
    }
    pair.fit = *fit;
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

/// @pre the profile has it
Result<GroupProfile> togetherOf(const Json& object) {
  constexpr int kMaxRanks = 4096;
  const bool isWhole = object.is_object() && object.contains("ranks") && object["ranks"].is_number_integer() &&
                       object.contains("points") && object["points"].is_array();
  GroupProfile group{.ranks = isWhole ? object["ranks"].get<int>() : 0};
  if (group.ranks < 2 || group.ranks > kMaxRanks) {
    return badProfile("\"together\" lacks ranks (2 to 4096) or points");
  }
  auto points = pointsOf(object);
  if (!points) {
    return points.error();
  }
  const auto fit = fitTogether(*points, group.ranks);
  if (!fit) {
    return fit.error();
  }
  group.fit = *fit;
  group.points = *std::move(points);
  return group;
}

}  // namespace

Result<Profile> readProfile(const std::string& text) {
  const Json all = Json::parse(text, nullptr, false);
  if (!all.is_object() || all.value("t", "") != "profile" || !all.contains("links") || !all["links"].is_array()) {
    return badProfile("it has no \"links\"");
  }
  Profile profile;
  auto pairs = pairsOf(all["links"]);
  if (!pairs) {
    return pairs.error();
  }
  profile.pairs = *std::move(pairs);
  for (const PairProfile& pair : profile.pairs) {
    profile.ranks = std::max({profile.ranks, pair.source + 1, pair.target + 1});
  }
  if (all.contains("together")) {
    auto together = togetherOf(all["together"]);
    if (!together) {
      return together.error();
    }
    profile.ranks = std::max(profile.ranks, together->ranks);
    profile.together = *std::move(together);
  }
  if (all.contains("addition")) {
    const Json& addition = all["addition"];
    if (!addition.is_object() || !addition.contains("links") || !addition["links"].is_array()) {
      return badProfile("\"addition\" has no links");
    }
    auto additions = pairsOf(addition["links"]);
    if (!additions) {
      return additions.error();
    }
    profile.additions = *std::move(additions);
  }
  return profile;
}

Result<sketch::Topology> tacclTopology(const std::vector<PairProfile>& pairs, int ranks, const TacclOptions& options) {
  const int perNode = options.gpusPerNode > 0 ? options.gpusPerNode : ranks;
  if (ranks < 2 || ranks % perNode != 0) {
    return Error{ErrorCode::badUsage,
                 "nodes of " + std::to_string(perNode) + " GPUs do not divide " + std::to_string(ranks) + " ranks",
                 "give --gpus-per-node a number that divides the ranks"};
  }
  std::map<std::pair<int, int>, Fit> fits;
  for (const PairProfile& pair : pairs) {
    fits[{pair.source, pair.target}] = pair.fit;
  }
  std::vector<std::pair<double, std::pair<int, int>>> locals;  // seconds per byte, ends
  std::vector<double> localAlphas;
  std::vector<double> remoteAlphas;
  std::vector<double> remoteBetas;
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      const bool isLocal = from / perNode == to / perNode;
      if (from == to || (isLocal && from >= perNode)) {
        continue;
      }
      const auto known = fits.find({from, to});
      if (known == fits.end()) {
        return Error{ErrorCode::badInput,
                     "nothing was measured from rank " + std::to_string(from) + " to rank " + std::to_string(to),
                     "measure every pair"};
      }
      const Fit& fit = known->second;
      if (isLocal) {
        locals.emplace_back(fit.beta, std::pair(from, to));
        localAlphas.push_back(fit.alpha);
      } else {
        remoteAlphas.push_back(fit.alpha);
        remoteBetas.push_back(fit.beta);
      }
    }
  }
  std::sort(locals.begin(), locals.end());
  std::vector<std::vector<std::pair<double, std::pair<int, int>>>> classes;
  for (const auto& local : locals) {
    if (classes.empty() || local.first > classes.back().back().first * kGap) {
      classes.emplace_back();
    }
    classes.back().push_back(local);
  }
  const auto bytes = static_cast<double>(options.chunkBytes);
  const auto classBeta = [&](std::size_t i) {
    std::vector<double> betas;
    for (const auto& [beta, ends] : classes[i]) {
      betas.push_back(beta);
    }
    return medianOf(betas) * bytes * 1e6;
  };
  const double alpha = localAlphas.empty() ? 0 : medianOf(localAlphas) * 1e6;
  double min = remoteBetas.empty() ? 1e300 : (medianOf(remoteAlphas) + medianOf(remoteBetas) * bytes) * 1e6;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    min = std::min(min, alpha + classBeta(i));
  }
  double scale = 1;
  std::int64_t perMicrosecond = 1;
  while (min * scale < kMinCost && perMicrosecond < 1'000'000'000) {
    scale *= 10;
    perMicrosecond *= 10;
  }

  sketch::Topology topology;
  topology.name = options.name;
  topology.gpusPerNode = perNode;
  topology.alpha = decimal(alpha * scale);
  const auto m = static_cast<std::size_t>(perNode);
  topology.links.assign(m, std::vector<int>(m));
  topology.linkBetas.assign(m, std::vector<Rational>(m));
  topology.linkCosts.assign(m, std::vector<Rational>(m));
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const Rational beta = decimal(classBeta(i) * scale);
    for (const auto& [each, ends] : classes[i]) {
      topology.links[ends.second][ends.first] = 1;
      topology.linkBetas[ends.second][ends.first] = beta;
      topology.linkCosts[ends.second][ends.first] = topology.alpha + beta;
    }
  }
  if (!remoteBetas.empty()) {
    topology.nicsPerNode = options.nicsPerNode;
    topology.remoteAlpha = decimal(medianOf(remoteAlphas) * 1e6 * scale);
    topology.remoteBeta = decimal(medianOf(remoteBetas) * bytes * 1e6 * scale);
    topology.remoteCost = *topology.remoteAlpha + *topology.remoteBeta;
  }
  topology.unknown.emplace_back("coppice_time_unit_us", "\"" + Rational(1, perMicrosecond).toString() + "\"");
  topology.unknown.emplace_back("coppice_chunk_bytes", std::to_string(options.chunkBytes));
  return topology;
}

}  // namespace coppice::probe
