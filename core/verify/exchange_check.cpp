// SPDX-License-Identifier: Apache-2.0
#include "verify/exchange_check.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "base/checked.hpp"
#include "verify/arc_index.hpp"

namespace coppice::verify {
namespace {

using fabric::NodeIndex;
using schedule::ExchangeRouting;
using schedule::ExchangeTree;
using std::int64_t;

/// Unwinds with the error that the entry returns.
struct Rejected {
  std::string text;
  ElementRef element;
};

[[noreturn]] void reject(std::string text, ElementRef element) {
  throw Rejected{std::move(text), std::move(element)};
}

template <typename Work>
Result<Bandwidth> guardedCheck(Work&& work) {
  try {
    return work();
  } catch (const Rejected& rejected) {
    return Error{ErrorCode::verification, rejected.text, {}, {.element = rejected.element}};
  } catch (const OverflowError&) {
    return Error{ErrorCode::overflow, "The certificate of the all-to-all leaves the 64-bit range"};
  } catch (const CancelledError&) {
    return Error{ErrorCode::cancelled, "cancelled"};
  }
}

Rational reducedRatio(Int128 numerator, Int128 denominator) {
  Int128 a = numerator;
  for (Int128 b = denominator; b != 0;) {
    a = std::exchange(b, a % b);
  }
  return {narrow64(numerator / a), narrow64(denominator / a)};
}

/// What each pair of ranks exchanges, checked.
class Amounts {
public:
  Amounts(const fabric::Fabric& fabric, const schedule::ExchangeDemand& demand)
      : m_amounts(demand.amounts), m_gpus(static_cast<std::size_t>(fabric.gpuCount())) {
    const bool isNegative = std::any_of(m_amounts.begin(), m_amounts.end(), [](int64_t each) { return each < 0; });
    if (isNegative || (!m_amounts.empty() && m_amounts.size() != m_gpus * m_gpus)) {
      reject("There is not one amount, 0 or more, for each pair of ranks", {RefKind::field, "amounts"});
    }
  }
  [[nodiscard]] int64_t of(const fabric::Node& from, const fabric::Node& to) const {
    return from.rank == to.rank ? 0
           : m_amounts.empty()  ? 1
                                : m_amounts[static_cast<std::size_t>(from.rank) * m_gpus + to.rank];
  }

  /// @param imageOf by rank
  [[nodiscard]] bool areKeptBy(const std::vector<std::size_t>& imageOf) const {
    for (std::size_t from = 0; from < m_gpus && !m_amounts.empty(); ++from) {
      const int64_t* own = m_amounts.data() + from * m_gpus;
      const int64_t* other = m_amounts.data() + imageOf[from] * m_gpus;
      for (std::size_t to = 0; to < m_gpus; ++to) {
        if (own[to] != other[imageOf[to]] && to != from) {
          return false;
        }
      }
    }
    return true;
  }

private:
  const std::vector<int64_t>& m_amounts;
  std::size_t m_gpus;
};

bool isGpu(const fabric::Fabric& fabric, NodeIndex node) {
  return fabric.nodes()[node].kind == fabric::NodeKind::gpu;
}

/// Sum over the GPUs of their distances from `source`, times what they get.
Int128 distancesFrom(const fabric::Fabric& fabric, const Amounts& amounts, bool relays, NodeIndex source,
                     const schedule::ExchangeLengths& lengths) {
  constexpr Int128 kFar = Int128{1} << 100;
  std::vector<Int128> distance(fabric.nodeCount(), kFar);
  distance[source] = 0;
  for (bool isChanged = true; isChanged;) {
    isChanged = false;
    for (std::size_t arc = 0; arc < lengths.size(); ++arc) {
      const fabric::Arc& at = fabric.arcs()[arc];
      if ((relays || at.tail == source || !isGpu(fabric, at.tail)) &&
          distance[at.tail] + lengths[arc] < distance[at.head]) {
        distance[at.head] = distance[at.tail] + lengths[arc];
        isChanged = true;
      }
    }
  }
  Int128 sum = 0;
  for (const NodeIndex gpu : fabric.gpus()) {
    if (const int64_t amount = amounts.of(fabric.nodes()[source], fabric.nodes()[gpu]); amount > 0) {
      sum = checkedAdd(sum, checkedMul<Int128>(distance[gpu], amount));
    }
  }
  return sum;
}

class RoutingCheck {
public:
  RoutingCheck(const fabric::Fabric& fabric, const schedule::ExchangeDemand& demand, const ExchangeRouting& routing,
               const Progress& progress)
      : m_fabric(fabric),
        m_amounts(fabric, demand),
        m_relays(demand.relays),
        m_routing(routing),
        m_progress(progress),
        m_links(fabric),
        m_once(fabric.arcs().size(), 0),
        m_load(fabric.arcs().size(), 0) {}

  Bandwidth run() {
    checkSymmetries();
    checkSources();
    for (std::size_t i = 0; i < m_routing.trees.size(); ++i) {
      throwIfCancelled(m_progress);
      addTree(i);
    }
    addImages();
    return minRate();
  }

private:
  void checkSymmetries() {
    if (m_routing.symmetries.empty() || m_routing.denominator < 1) {
      reject("It has no symmetry, not even the identity, or no denominator", {RefKind::field, "routing"});
    }
    const auto nodes = static_cast<std::size_t>(m_fabric.nodeCount());
    for (std::size_t s = 0; s < m_routing.symmetries.size(); ++s) {
      throwIfCancelled(m_progress);
      const auto& image = m_routing.symmetries[s];
      const ElementRef name{RefKind::symmetry, s};
      std::vector<char> isImage(nodes, 0);
      if (image.size() != nodes) {
        reject("It maps " + std::to_string(image.size()) + " nodes of " + std::to_string(nodes), name);
      }
      for (std::size_t node = 0; node < nodes; ++node) {
        if (image[node] < 0 || image[node] >= m_fabric.nodeCount() || std::exchange(isImage[image[node]], 1) != 0) {
          reject("It does not permute the nodes", name);
        }
        if (m_fabric.nodes()[node].kind != m_fabric.nodes()[image[node]].kind) {
          reject("It maps a node to one of another kind", name);
        }
      }
      for (const fabric::Arc& arc : m_fabric.arcs()) {
        const auto other = m_links.find(image[arc.tail], image[arc.head]);
        if (other == ArcIndex::kNone || m_fabric.arcs()[other].bandwidth != arc.bandwidth) {
          reject("It maps a link to none, or to one of another bandwidth", name);
        }
      }
      std::vector<std::size_t> rankOf;  // by rank, of its image
      for (const NodeIndex gpu : m_fabric.gpus()) {
        rankOf.push_back(static_cast<std::size_t>(m_fabric.nodes()[image[gpu]].rank));
      }
      if (!m_amounts.areKeptBy(rankOf)) {
        reject("It maps a pair of GPUs to one that exchanges another amount", name);
      }
    }
  }

  /// Every GPU sends by the trees of one source, all of whose images count alike.
  void checkSources() {
    m_times.assign(m_fabric.nodeCount(), 0);
    std::vector<int64_t> weight(m_times.size(), 0);
    for (std::size_t i = 0; i < m_routing.trees.size(); ++i) {
      const ExchangeTree& tree = m_routing.trees[i];
      const ElementRef name{RefKind::tree, i};
      if (tree.source < 0 || tree.source >= m_fabric.nodeCount() ||
          m_fabric.nodes()[tree.source].kind != fabric::NodeKind::gpu) {
        reject("Its source is not a GPU", name);
      }
      if (tree.weight < 1) {
        reject("Its weight is below 1", name);
      }
      weight[tree.source] = checkedAdd(weight[tree.source], tree.weight);
    }
    std::vector<char> isServed(m_times.size(), 0);
    for (const NodeIndex source : m_fabric.gpus()) {
      if (weight[source] == 0) {
        continue;
      }
      const ElementRef name{RefKind::node, m_fabric.nodes()[source].id};
      if (weight[source] != m_routing.denominator) {
        reject("The weights of its trees sum to " + std::to_string(weight[source]) + ", not " +
                   std::to_string(m_routing.denominator),
               name);
      }
      std::vector<int64_t> images(m_times.size(), 0);
      for (const auto& image : m_routing.symmetries) {
        ++images[image[source]];
      }
      for (std::size_t node = 0; node < images.size(); ++node) {
        if (images[node] == 0) {
          continue;
        }
        if (images[node] != images[source] || std::exchange(isServed[node], 1) != 0) {
          reject("Its images are not reached alike, or another source has them too", name);
        }
      }
      m_times[source] = images[source];
      m_common = leastCommonMultiple(m_common, images[source]);
    }
    for (const NodeIndex gpu : m_fabric.gpus()) {
      if (isServed[gpu] == 0) {
        reject("It sends nothing", {RefKind::node, m_fabric.nodes()[gpu].id});
      }
    }
  }

  void addTree(std::size_t index) {
    const ExchangeTree& tree = m_routing.trees[index];
    const ElementRef name{RefKind::tree, index};
    const auto nodes = static_cast<std::size_t>(m_fabric.nodeCount());
    if (tree.arcInto.size() != nodes || tree.arcInto[tree.source] != -1) {
      reject("It does not name an arc for every node but its source", name);
    }
    for (std::size_t node = 0; node < nodes; ++node) {
      const std::int32_t arc = tree.arcInto[node];
      if (arc < -1 || arc >= static_cast<std::int32_t>(m_fabric.arcs().size()) ||
          (arc >= 0 && m_fabric.arcs()[arc].head != static_cast<NodeIndex>(node))) {
        reject("An arc of it does not lead to its node", name);
      }
    }
    const Int128 share = Int128{tree.weight} * (m_common / m_times[tree.source]);
    for (const NodeIndex gpu : m_fabric.gpus()) {
      const int64_t amount = m_amounts.of(m_fabric.nodes()[tree.source], m_fabric.nodes()[gpu]);
      std::size_t hops = 0;
      for (NodeIndex node = gpu; node != tree.source && amount > 0; ++hops) {
        if (!m_relays && node != gpu && isGpu(m_fabric, node)) {
          reject("It passes \"" + m_fabric.nodes()[node].id + "\", and GPUs do not relay", name);
        }
        const std::int32_t arc = tree.arcInto[node];
        if (arc < 0 || hops > nodes) {
          reject("It has no path to \"" + m_fabric.nodes()[gpu].id + "\"", name);
        }
        m_once[arc] = checkedAdd(m_once[arc], checkedMul<Int128>(share, amount));
        node = m_fabric.arcs()[arc].tail;
      }
    }
  }

  void addImages() {
    for (const auto& image : m_routing.symmetries) {
      throwIfCancelled(m_progress);
      for (std::size_t arc = 0; arc < m_once.size(); ++arc) {
        if (m_once[arc] > 0) {
          Int128& load = m_load[m_links.find(image[m_fabric.arcs()[arc].tail], image[m_fabric.arcs()[arc].head])];
          load = checkedAdd(load, m_once[arc]);
        }
      }
    }
  }

  [[nodiscard]] Bandwidth minRate() const {
    const Int128 whole = checkedMul<Int128>(m_routing.denominator, m_common);
    std::optional<Bandwidth> min;
    for (std::size_t arc = 0; arc < m_load.size(); ++arc) {
      if (m_load[arc] > 0) {
        const Bandwidth rate = m_fabric.arcs()[arc].bandwidth * reducedRatio(whole, m_load[arc]);
        min = min ? std::min(*min, rate) : rate;
      }
    }
    return min.value_or(Bandwidth());
  }

  const fabric::Fabric& m_fabric;
  Amounts m_amounts;
  bool m_relays;
  const ExchangeRouting& m_routing;
  const Progress& m_progress;
  ArcIndex m_links;
  std::vector<int64_t> m_times;  ///< by source: the symmetries that map it to the same GPU
  int64_t m_common = 1;          ///< their least common multiple
  std::vector<Int128> m_once;    ///< by arc: load of the trees, in parts of 1 / (denominator * m_common)
  std::vector<Int128> m_load;    ///< of all images
};

}  // namespace

Result<Bandwidth> provenExchangeBound(const fabric::Fabric& fabric, const schedule::ExchangeDemand& demand,
                                      const schedule::ExchangeLengths& lengths, const Progress& progress) {
  return guardedCheck([&] {
    const Amounts amounts(fabric, demand);
    if (lengths.size() != fabric.arcs().size()) {
      reject("There are " + std::to_string(lengths.size()) + " lengths for " + std::to_string(fabric.arcs().size()) +
                 " links",
             {RefKind::field, "lengths"});
    }
    int64_t denominator = 1;
    for (std::size_t arc = 0; arc < lengths.size(); ++arc) {
      if (lengths[arc] < 0) {
        reject("A length is negative", {RefKind::link, arc});
      }
      denominator = leastCommonMultiple(denominator, fabric.arcs()[arc].bandwidth.gigabytesPerSecond().denominator());
    }
    Int128 weight = 0;
    for (std::size_t arc = 0; arc < lengths.size(); ++arc) {
      const Rational& rate = fabric.arcs()[arc].bandwidth.gigabytesPerSecond();
      const Int128 whole = Int128{rate.numerator()} * (denominator / rate.denominator());
      weight = checkedAdd(weight, checkedMul<Int128>(whole, lengths[arc]));
    }
    Int128 distances = 0;
    for (const NodeIndex gpu : fabric.gpus()) {
      throwIfCancelled(progress);
      distances = checkedAdd(distances, distancesFrom(fabric, amounts, demand.relays, gpu, lengths));
    }
    if (distances <= 0) {
      reject("All distances are 0, which proves nothing", {RefKind::field, "lengths"});
    }
    return Bandwidth(reducedRatio(weight, distances) / Rational(denominator));
  });
}

Result<Bandwidth> provenExchangeRate(const fabric::Fabric& fabric, const schedule::ExchangeDemand& demand,
                                     const ExchangeRouting& routing, const Progress& progress) {
  return guardedCheck([&] { return RoutingCheck(fabric, demand, routing, progress).run(); });
}

}  // namespace coppice::verify
