// SPDX-License-Identifier: Apache-2.0
#include "sketch/fabric_of.hpp"

#include <algorithm>
#include <map>

#include "base/checked.hpp"
#include "base/failure.hpp"

namespace coppice::sketch {
namespace {

using fabric::LinkDescription;
using fabric::NodeDescription;

class FabricMaker {
public:
  FabricMaker(const Model& model, const Scale& scale) : m_model(model), m_scale(scale) {}

  ModelFabric make() {
    m_made.description.name = m_model.name;
    for (int gpu = 0; gpu < m_model.gpus(); ++gpu) {
      addNode(gpuId(gpu), "gpu", m_model.nodeOf(gpu));
    }
    for (std::size_t i = 0; i < m_model.links.size(); ++i) {
      const Link& link = m_model.links[i];
      if (link.isRemote) {
        addRemote(link);
      } else {
        addLocal(static_cast<int>(i));
      }
    }
    for (const auto& [ends, rate] : m_rates) {
      const auto [count, latency] = m_details[ends];
      m_made.description.links.push_back({ends.first, ends.second, toFraction(rate), false, count, latency});
    }
    return std::move(m_made);
  }

private:
  [[nodiscard]] std::string gpuId(int gpu) const { return "gpu" + std::to_string(gpu); }

  void addNode(const std::string& id, const std::string& kind, int node) {
    const bool isKnown = std::any_of(m_made.description.nodes.begin(), m_made.description.nodes.end(),
                                     [&](const NodeDescription& each) { return each.id == id; });
    if (!isKnown) {
      NodeDescription description;
      description.id = id;
      description.kind = kind;
      description.box = node < 0 ? "" : "node" + std::to_string(node);
      m_made.description.nodes.push_back(std::move(description));
    }
  }

  [[nodiscard]] Bandwidth rateOf(const Link& link) const {
    return bandwidthOf(m_scale.chunkBytes, link.beta * m_scale.timeUnit);
  }

  void join(const std::string& from, const std::string& to, const Bandwidth& rate, const ExactMicroseconds& latency,
            bool isParallel) {
    const std::pair ends(from, to);
    const auto [at, isNew] = m_rates.emplace(ends, rate);
    auto& [count, stated] = m_details[ends];
    count = isNew ? 1 : count + (isParallel ? 1 : 0);
    at->second = std::max(at->second, rate);
    if (latency.count().isPositive()) {
      stated = latency.count().toString();
    }
  }

  /// The switch that a link within a node goes through; -1 = none.
  [[nodiscard]] int switchOf(const Link& link) const {
    int lane = 0;
    for (std::size_t i = 0; i < m_model.switches.size(); ++i) {
      const std::vector<int>& gpus = m_model.switches[i];
      const auto has = [&](int gpu) {
        return std::find(gpus.begin(), gpus.end(), gpu % m_model.gpusPerNode) != gpus.end();
      };
      if (has(link.from) && has(link.to) && lane++ == link.lane) {
        return static_cast<int>(i);
      }
    }
    return -1;
  }

  void addLocal(int index) {
    const Link& link = m_model.links[index];
    const int through = switchOf(link);
    if (through < 0) {
      join(gpuId(link.from), gpuId(link.to), rateOf(link), ExactMicroseconds(0), true);
      m_made.routes.push_back({gpuId(link.from), gpuId(link.to)});
      return;
    }
    const int node = m_model.nodeOf(link.from);
    const std::string id = "switch" + std::to_string(node) + "." + std::to_string(through);
    addNode(id, "switch", node);
    join(gpuId(link.from), id, rateOf(link), ExactMicroseconds(0), false);
    join(id, gpuId(link.to), rateOf(link), ExactMicroseconds(0), false);
    m_made.routes.push_back({gpuId(link.from), id, gpuId(link.to)});
  }

  void addRemote(const Link& link) {
    const ExactMicroseconds latency = link.alpha * m_scale.timeUnit;
    if (!m_model.nics.empty()) {
      addOverNics(link, latency);
      return;
    }
    if (m_model.nodes < 3) {
      join(gpuId(link.from), gpuId(link.to), rateOf(link), latency, true);
      m_made.routes.push_back({gpuId(link.from), gpuId(link.to)});
      return;
    }
    const std::string out = "nic" + std::to_string(link.from) + ".out";
    const std::string in = "nic" + std::to_string(link.to) + ".in";
    addNode(out, "nic", m_model.nodeOf(link.from));
    addNode(in, "nic", m_model.nodeOf(link.to));
    join(gpuId(link.from), out, rateOf(link), latency, false);
    join(out, in, rateOf(link), ExactMicroseconds(0), true);
    join(in, gpuId(link.to), rateOf(link), ExactMicroseconds(0), false);
    m_made.routes.push_back({gpuId(link.from), out, in, gpuId(link.to)});
  }

  /// NICs that several GPUs share, joined by one switch.
  void addOverNics(const Link& link, const ExactMicroseconds& latency) {
    const auto nicOf = [this](int gpu, const char* end) {
      const int node = m_model.nodeOf(gpu);
      std::string id =
          "nic" + std::to_string(node) + "." + std::to_string(m_model.nics[gpu % m_model.gpusPerNode]) + end;
      addNode(id, "nic", node);
      return id;
    };
    const std::string out = nicOf(link.from, ".out");
    const std::string in = nicOf(link.to, ".in");
    const std::string network = "network";
    addNode(network, "switch", -1);
    join(gpuId(link.from), out, rateOf(link), latency, false);
    join(out, network, rateOf(link), ExactMicroseconds(0), false);
    join(network, in, rateOf(link), ExactMicroseconds(0), false);
    join(in, gpuId(link.to), rateOf(link), ExactMicroseconds(0), false);
    m_made.routes.push_back({gpuId(link.from), out, network, in, gpuId(link.to)});
  }

  const Model& m_model;
  const Scale& m_scale;
  ModelFabric m_made;
  std::map<std::pair<std::string, std::string>, Bandwidth> m_rates;
  std::map<std::pair<std::string, std::string>, std::pair<int, std::optional<std::string>>> m_details;
};

/// A member that is not the official program's, without the quotes of a string.
std::optional<Rational> ownMember(const Topology& topology, const char* key) {
  for (const auto& [name, json] : topology.unknown) {
    if (name == key) {
      const bool isText = json.size() > 1 && json.front() == '"' && json.back() == '"';
      const auto value = Rational::parse(isText ? std::string_view(json).substr(1, json.size() - 2) : json);
      return value && value->isPositive() ? std::optional(*value) : std::nullopt;
    }
  }
  return std::nullopt;
}

/// What files of this program say.
std::optional<Scale> statedScale(const Topology& topology) {
  const auto unit = ownMember(topology, "coppice_time_unit_us");
  const auto bytes = ownMember(topology, "coppice_chunk_bytes");
  if (!unit || !bytes || !bytes->isInteger()) {
    return std::nullopt;
  }
  return Scale{ExactMicroseconds(*unit), bytes->numerator()};
}

}  // namespace

Scale guessScale(const Topology& topology) {
  Scale scale;
  if (const auto stated = statedScale(topology)) {
    return *stated;
  }
  if (!topology.remoteAlpha || !topology.remoteAlpha->isPositive()) {
    return scale;
  }
  scale.timeUnit = ExactMicroseconds(Rational(13, 5)) / *topology.remoteAlpha;
  if (topology.remoteBeta && topology.remoteBeta->isPositive()) {
    // The power of two that is nearest; sizes from 16 bytes to 1 GiB.
    const Rational megabytes = *topology.remoteBeta * scale.timeUnit.count() / Rational(105);
    std::int64_t bytes = 16;
    while (bytes < (std::int64_t{1} << 30) && Rational(bytes, 1 << 20) * Rational(17, 12) < megabytes) {
      bytes *= 2;
    }
    scale.chunkBytes = bytes;
  }
  return scale;
}

Result<ModelFabric> fabricOf(const Model& model, const Scale& scale) {
  return guarded([&] { return FabricMaker(model, scale).make(); }, {.overflowFix = "use costs with fewer digits"});
}

}  // namespace coppice::sketch
