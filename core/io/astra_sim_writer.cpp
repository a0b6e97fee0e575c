// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/comma_list.hpp"
#include "base/failure.hpp"
#include "base/one_line.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "fabric/fabric.hpp"
#include "io/simulator_network.hpp"

namespace coppice::io {
namespace {

constexpr int kMaxAstraDimensions = 5;
constexpr int kMaxAstraNpus = 65536;

enum class Shape { ring, fullyConnected, switched };
constexpr std::pair<Shape, const char*> kShapes[] = {
    {Shape::switched, "Switch"}, {Shape::ring, "Ring"}, {Shape::fullyConnected, "FullyConnected"}};

/// All that counts of a fabric: bandwidths between GPUs, and switches as the GPUs on them.
struct Wiring {
  std::map<std::pair<int, int>, Bandwidth> direct;                   ///< by ranks, lower first
  std::map<std::vector<int>, std::vector<Bandwidth>> switches = {};  ///< one bandwidth for each switch on these GPUs
};

struct Dimension {
  Shape shape;
  int size;
  Bandwidth bandwidth;
};

const char* const kProductFix =
    "ASTRA-sim's analytical network is a product of dimensions, each a ring, a full mesh or a switch; write simai for "
    "its ns-3 network, which takes any links";

/// Errors: badUsage (what no dimension has).
Result<Wiring> wiringOf(const fabric::Fabric& fabric) {
  Wiring wiring;
  const auto rank = [&](fabric::NodeIndex node) { return fabric.nodes()[node].rank; };
  const auto isGpu = [&](fabric::NodeIndex node) { return fabric.nodes()[node].kind == fabric::NodeKind::gpu; };
  std::map<fabric::NodeIndex, std::map<int, Bandwidth>> ports;
  for (const fabric::Arc& arc : fabric.arcs()) {
    const auto back = fabric.findArc(arc.head, arc.tail);
    if (!back || fabric.arcs()[*back].bandwidth != arc.bandwidth) {
      return Error{ErrorCode::badUsage,
                   "ASTRA-sim's links are duplex, and from " + inQuotes(fabric.nodes()[arc.tail].id) + " to " +
                       inQuotes(fabric.nodes()[arc.head].id) + " the two directions differ",
                   "write it as JSON or DOT"};
    }
    if (isGpu(arc.tail) && isGpu(arc.head)) {
      if (rank(arc.tail) < rank(arc.head)) {
        wiring.direct[{rank(arc.tail), rank(arc.head)}] = arc.bandwidth;
      }
    } else if (isGpu(arc.tail)) {
      ports[arc.head][rank(arc.tail)] = arc.bandwidth;
    } else if (!isGpu(arc.head)) {
      return Error{ErrorCode::badUsage,
                   inQuotes(fabric.nodes()[arc.tail].id) + " and " + inQuotes(fabric.nodes()[arc.head].id) +
                       " are joined, and ASTRA-sim's dimensions join GPUs alone",
                   kProductFix};
    }
  }
  for (const auto& [node, members] : ports) {
    std::vector<int> ranks;
    for (const auto& [member, bandwidth] : members) {
      if (bandwidth != members.begin()->second) {
        return Error{ErrorCode::badUsage, "the links of " + inQuotes(fabric.nodes()[node].id) + " are not equal",
                     kProductFix};
      }
      ranks.push_back(member);
    }
    wiring.switches[std::move(ranks)].push_back(members.begin()->second);
  }
  return wiring;
}

/// The GPUs that differ from `npu` in one dimension alone, in the order of that dimension.
std::vector<int> npuLine(int npu, int stride, int size) {
  const int first = npu - npu / stride % size * stride;
  std::vector<int> line;
  for (int i = 0; i < size; ++i) {
    line.push_back(first + i * stride);
  }
  return line;
}

/// Whether GPUs at places i < j of a line of this shape are linked.
bool isLinked(Shape shape, int size, int i, int j) {
  return shape == Shape::fullyConnected || (shape == Shape::ring && (j - i == 1 || (i == 0 && j == size - 1)));
}

/// Finds dimensions whose product is the wiring, the first one in which GPUs count fastest.
class Factoring {
public:
  Factoring(const Wiring& wiring, int npus) : m_wiring(wiring), m_npus(npus) {}

  std::optional<std::vector<Dimension>> run() { return extend(1) ? std::optional(m_dimensions) : std::nullopt; }

private:
  bool extend(int stride) {
    if (stride == m_npus) {
      return isWhole();
    }
    if (static_cast<int>(m_dimensions.size()) == kMaxAstraDimensions) {
      return false;
    }
    for (int size = 2; size <= m_npus / stride; ++size) {
      if (m_npus / stride % size != 0) {
        continue;
      }
      for (const auto& [shape, name] : kShapes) {
        if (const auto bandwidth = firstLine(shape, stride, size)) {
          m_dimensions.push_back({shape, size, *bandwidth});
          if (extend(stride * size)) {
            return true;
          }
          m_dimensions.pop_back();
        }
      }
    }
    return false;
  }

  /// The bandwidth of the line of GPU 0 where it has this shape; a quick test before the whole is compared.
  [[nodiscard]] std::optional<Bandwidth> firstLine(Shape shape, int stride, int size) const {
    const std::vector<int> line = npuLine(0, stride, size);
    if (shape == Shape::switched) {
      const auto found = m_wiring.switches.find(line);
      return found == m_wiring.switches.end() ? std::nullopt : std::optional(found->second.front());
    }
    // A ring of three is a full mesh too, of which one name is enough; two GPUs are a ring.
    if (shape == Shape::fullyConnected && size <= 3) {
      return std::nullopt;
    }
    const auto first = m_wiring.direct.find({line[0], line[1]});
    if (first == m_wiring.direct.end()) {
      return std::nullopt;
    }
    for (int j = 1; j < size; ++j) {
      const auto link = m_wiring.direct.find({line[0], line[static_cast<std::size_t>(j)]});
      if ((link != m_wiring.direct.end()) != isLinked(shape, size, 0, j)) {
        return std::nullopt;
      }
    }
    return first->second;
  }

  [[nodiscard]] bool isWhole() const {
    Wiring made;
    int stride = 1;
    for (const Dimension& dimension : m_dimensions) {
      for (int npu = 0; npu < m_npus; ++npu) {
        if (npu / stride % dimension.size != 0) {
          continue;
        }
        const std::vector<int> line = npuLine(npu, stride, dimension.size);
        if (dimension.shape == Shape::switched) {
          made.switches[line].push_back(dimension.bandwidth);
          continue;
        }
        for (int i = 0; i < dimension.size; ++i) {
          for (int j = i + 1; j < dimension.size; ++j) {
            if (isLinked(dimension.shape, dimension.size, i, j)) {
              made.direct[{line[static_cast<std::size_t>(i)], line[static_cast<std::size_t>(j)]}] = dimension.bandwidth;
            }
          }
        }
      }
      stride *= dimension.size;
    }
    return made.direct == m_wiring.direct && made.switches == m_wiring.switches;
  }

  const Wiring& m_wiring;
  int m_npus;
  std::vector<Dimension> m_dimensions;
};

std::string listed(const std::vector<Dimension>& dimensions, auto text) {
  return "[ " + commaList(dimensions, text) + " ]\n";
}

}  // namespace

Result<std::string> writeAstraSim(const fabric::Description& description) {
  return guarded([&]() -> Result<std::string> {
    const auto fabric = fabric::Fabric::build(description);
    if (!fabric) {
      return fabric.error();
    }
    if (fabric->gpuCount() > kMaxAstraNpus) {
      return Error{ErrorCode::limit, "more than " + std::to_string(kMaxAstraNpus) + " GPUs", "write it as JSON"};
    }
    const auto wiring = wiringOf(*fabric);
    if (!wiring) {
      return wiring.error();
    }
    const auto dimensions = Factoring(*wiring, fabric->gpuCount()).run();
    if (!dimensions) {
      return Error{ErrorCode::badUsage, "the links are not those of a product of dimensions in the order of the ranks",
                   kProductFix};
    }
    // Latencies in µs; where none is stated, half a µs as for SimAI.
    std::optional<std::string> stated;
    for (const fabric::LinkDescription& link : description.links) {
      stated = stated ? stated : link.latency;
    }
    const auto latency = Rational::parse(stated.value_or("1/2"));
    const std::string nanoseconds = toDecimal((latency ? *latency : Rational(1, 2)) * Rational(1000), 9);
    return "# " + (description.name.empty() ? std::string("fabric") : oneLine(description.name)) + "\n" + "topology: " +
           listed(*dimensions,
                  [](const Dimension& dimension) {
                    return std::string(std::find_if(std::begin(kShapes), std::end(kShapes), [&](const auto& known) {
                                         return known.first == dimension.shape;
                                       })->second);
                  }) +
           "npus_count: " +
           listed(*dimensions, [](const Dimension& dimension) { return std::to_string(dimension.size); }) +
           "bandwidth: " +
           listed(*dimensions, [](const Dimension& dimension) { return toDecimal(dimension.bandwidth, 9); }) +
           "latency: " + listed(*dimensions, [&](const Dimension&) { return nanoseconds; });
  });
}

}  // namespace coppice::io
