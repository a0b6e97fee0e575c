// SPDX-License-Identifier: Apache-2.0
#include "io/taccl_fabric.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/checked.hpp"
#include "base/failure.hpp"
#include "base/text.hpp"
#include "io/taccl_json.hpp"
#include "io/taccl_origin.hpp"
#include "sketch/fabric_of.hpp"
#include "sketch/make_model.hpp"

namespace coppice::io {
namespace {

using fabric::Description;
using fabric::NodeDescription;
using sketch::MachineType;
using sketch::Topology;

[[noreturn]] void refuse(const std::string& key, std::string message, std::string fix) {
  throw Failure{
      {ErrorCode::badInput, std::move(message), std::move(fix), {.element = {RefKind::key, std::string(key)}}}};
}

class BoxMaker {
public:
  BoxMaker(const Topology& topology, const sketch::Model& box, MachineType type, const sketch::Scale& scale)
      : m_topology(topology), m_box(box), m_type(type), m_scale(scale) {}

  Description make(int boxes) {
    m_made.name = m_topology.name;
    for (int box = 0; box < boxes; ++box) {
      for (int gpu = 0; gpu < perBox(); ++gpu) {
        addNode(gpuId(box, gpu), "gpu", boxName(box));
      }
    }
    for (int box = 0; box < boxes; ++box) {
      if (m_type == MachineType::ndv2 || m_type == MachineType::custom) {
        addLinks(box);
      } else {
        addSwitch(box);
      }
    }
    if (boxes > 1) {
      addNetwork(boxes);
    }
    return std::move(m_made);
  }

private:
  [[nodiscard]] int perBox() const { return m_box.gpusPerNode; }
  [[nodiscard]] std::string gpuId(int box, int gpu) const { return "gpu" + std::to_string(box * perBox() + gpu); }
  [[nodiscard]] static std::string boxName(int box) { return "node" + std::to_string(box); }

  void addNode(const std::string& id, const std::string& kind, const std::string& box) {
    NodeDescription node;
    node.id = id;
    node.kind = kind;
    node.box = box;
    m_made.nodes.push_back(std::move(node));
  }

  void join(const std::string& from, const std::string& to, const Rational& beta, const Rational& alpha,
            bool isDuplex) {
    const Bandwidth rate = bandwidthOf(m_scale.chunkBytes, beta * m_scale.timeUnit);
    fabric::LinkDescription link{from, to, toFraction(rate), isDuplex, 1};
    if (alpha.isPositive()) {
      link.latency = (alpha * m_scale.timeUnit).count().toString();
    }
    m_made.links.push_back(std::move(link));
  }

  /// The time of a chunk without its latency, where the file says it; else with it.
  [[nodiscard]] Rational betaOf(const sketch::Link& link) const {
    Rational beta = 0;
    if (m_topology.isCustom()) {
      beta = m_topology.linkBetas[link.to][link.from];
    } else {
      const auto kind = std::find(m_topology.costs.begin(), m_topology.costs.end(), link.beta);
      const auto at = static_cast<std::size_t>(kind - m_topology.costs.begin());
      beta = at < m_topology.betas.size() ? m_topology.betas[at] : link.beta;
    }
    return beta.isPositive() ? beta : link.beta;
  }

  /// Both directions of a pair at once where they are alike.
  void addLinks(int box) {
    for (const sketch::Link& link : m_box.links) {
      const auto back = std::find_if(m_box.links.begin(), m_box.links.end(), [&](const sketch::Link& other) {
        return other.from == link.to && other.to == link.from && other.lane == link.lane;
      });
      const bool isDuplex = back != m_box.links.end() && betaOf(*back) == betaOf(link);
      if (!isDuplex || link.from < link.to) {
        join(gpuId(box, link.from), gpuId(box, link.to), betaOf(link), m_topology.alpha, isDuplex);
      }
    }
  }

  void addSwitch(int box) {
    const std::string id = "switch" + std::to_string(box);
    addNode(id, "switch", boxName(box));
    for (int gpu = 0; gpu < perBox(); ++gpu) {
      join(gpuId(box, gpu), id, betaOf(m_box.links.front()), m_topology.alpha / Rational(2), true);
    }
  }

  [[nodiscard]] int nics() const {
    if (m_type == MachineType::ndv2) {
      return 1;
    }
    if (m_type == MachineType::dgx2) {
      return 8;
    }
    if (m_topology.nicsPerNode.value_or(0) < 1) {
      refuse("nics_per_node", "several boxes need NICs, and the file names none", "add the number of NICs of a box");
    }
    return *m_topology.nicsPerNode;
  }

  void addNetwork(int boxes) {
    if (!m_topology.remoteBeta || !m_topology.remoteBeta->isPositive()) {
      refuse("remote_beta", "the cost between boxes is missing", "add it, or open one box");
    }
    addNode("network", "switch", {});
    const Rational half = m_topology.remoteAlpha.value_or(Rational(0)) / Rational(2);
    const int count = nics();
    for (int box = 0; box < boxes; ++box) {
      for (int nic = 0; nic < count; ++nic) {
        const std::string id = "nic" + std::to_string(box) + "." + std::to_string(nic);
        addNode(id, "nic", boxName(box));
        join(id, "network", *m_topology.remoteBeta, half, true);
      }
      // More NICs than GPUs: a GPU has several.
      for (int i = 0; i < std::max(perBox(), count); ++i) {
        const int gpu = count > perBox() ? i * perBox() / count : i;
        const int nic = count > perBox() ? i : i * count / perBox();
        join(gpuId(box, gpu), "nic" + std::to_string(box) + "." + std::to_string(nic), *m_topology.remoteBeta, 0, true);
      }
    }
  }

  const Topology& m_topology;
  const sketch::Model& m_box;
  MachineType m_type;
  sketch::Scale m_scale;
  Description m_made;
};

/// What was taken for what the file does not say.
std::vector<Finding> guesses(const Topology& topology, const sketch::Scale& scale, const TacclFabricOptions& options) {
  std::vector<Finding> findings;
  const auto note = [&](std::string text, std::string fix, const char* key) {
    findings.push_back({Severity::note,
                        ErrorCode::badInput,
                        std::move(text),
                        std::move(fix),
                        {.element = {RefKind::key, std::string(key)}}});
  };
  const bool isStated = std::any_of(topology.unknown.begin(), topology.unknown.end(),
                                    [](const auto& each) { return each.first == "coppice_time_unit_us"; });
  if (!isStated && !options.timeUnit) {
    const bool isByCosts = topology.remoteAlpha && topology.remoteAlpha->isPositive();
    note("a unit of time is assumed to be " + scale.timeUnit.count().toString() + " us and a chunk to hold " +
             std::to_string(scale.chunkBytes) + " bytes" + (isByCosts ? ", by the costs between nodes" : ""),
         "name the unit with --time-unit if it is another", isByCosts ? "remote_alpha" : "alpha");
  }
  if (topology.remoteBeta && options.boxes == 1) {
    note("the file does not state the number of boxes; one is assumed", "use --boxes for more", "remote_beta");
  }
  return findings;
}

Result<ImportResult> make(std::string_view text, const std::string& fileName, const TacclFabricOptions& options) {
  auto read = readTacclTopology(text, fileName);
  if (!read) {
    return read.error();
  }
  if (options.boxes < 1 || options.boxes > 1024) {
    refuse("boxes", std::to_string(options.boxes) + " boxes", "use 1 to 1024");
  }
  sketch::Sketch box;
  box.nodes = 1;
  auto made = orThrow(sketch::makeModel(box, read->value, {.type = options.type, .nodes = {}, .truncates = false}));
  sketch::Scale scale = sketch::guessScale(read->value);
  scale.timeUnit = options.timeUnit.value_or(scale.timeUnit);
  if (made.model.links.empty()) {
    refuse("links", "no GPU has a link", "give at least one link");
  }
  ImportResult result;
  result.description = BoxMaker(read->value, made.model, made.type, scale).make(options.boxes);
  result.description.extra = writeTacclOrigin({.sketch = {},
                                               .topology = std::string(text),
                                               .type = std::string(toString(made.type)),
                                               .nodes = options.boxes,
                                               .timeUnit = scale.timeUnit.count().toString(),
                                               .chunkBytes = scale.chunkBytes,
                                               .truncates = false});
  result.findings = std::move(read->findings);
  for (const std::vector<Finding>& more : {made.findings, guesses(read->value, scale, options)}) {
    result.findings.insert(result.findings.end(), more.begin(), more.end());
  }
  return result;
}

}  // namespace

bool looksLikeTacclSketch(std::string_view text) {
  return text.find("\"intranode_sketch\"") != std::string_view::npos &&
         text.find("\"gpus_per_node\"") == std::string_view::npos;
}

Result<ImportResult> readTacclFabric(std::string_view text, const std::string& fileName,
                                     const TacclFabricOptions& options) {
  if (looksLikeTacclSketch(text)) {
    return Error{ErrorCode::badInput,
                 "this is a communication sketch, which contains no fabric",
                 "open a fabric or the sketch's topology first; the window then opens the sketch in its dock, and "
                 "synthesize takes it with --sketch",
                 {.file = fileName}};
  }
  try {
    return make(text, fileName, options);
  } catch (Failure& no) {
    if (no.error.where.file.empty()) {
      no.error.where.file = fileName;
    }
    return std::move(no.error);
  } catch (const OverflowError& error) {
    return Error{ErrorCode::overflow, error.what(), "use costs with fewer digits", {.file = fileName}};
  }
}

}  // namespace coppice::io
