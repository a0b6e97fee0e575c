// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "presets/builder.hpp"
#include "presets/generators.hpp"

namespace coppice::presets {
namespace {

constexpr int kMaxDimensions = 16;
constexpr int kMaxSide = 100'000;
constexpr int kMaxCubeDimension = 17;
constexpr int kMaxClique = 1414;

std::string gpuId(std::int64_t number) {
  return "g" + std::to_string(number);
}

enum class Ends { open, joined };

/// Grid of any number of dimensions, the last counting fastest; `joined` closes every line of three or more.
fabric::Description lattice(const std::string& name, const std::vector<std::int64_t>& sides,
                            const std::vector<Bandwidth>& bandwidths, Ends ends) {
  if (sides.size() > static_cast<std::size_t>(kMaxDimensions)) {
    throw Failure{Error{ErrorCode::badUsage, "dims has " + std::to_string(sides.size()) + " sides",
                        "give at most " + std::to_string(kMaxDimensions),
                        Place{.element = {RefKind::parameter, "dims"}}}};
  }
  if (bandwidths.size() != 1 && bandwidths.size() != sides.size()) {
    throw Failure{Error{ErrorCode::badUsage,
                        "bandwidth has " + std::to_string(bandwidths.size()) + " entries for " +
                            std::to_string(sides.size()) + " dimensions",
                        "give one bandwidth for all dimensions or exactly one per dimension",
                        Place{.element = {RefKind::parameter, "bandwidth"}}}};
  }
  Builder builder(name);
  std::int64_t count = 1;
  for (const std::int64_t side : sides) {
    count = std::min<std::int64_t>(count * side, kMaxNodes + 1LL);
  }
  if (count < 2) {
    throw Failure{Error{ErrorCode::badUsage, "dims makes a single GPU, so there is nothing to send",
                        "give at least one side of 2 or more", Place{.element = {RefKind::parameter, "dims"}}}};
  }
  builder.expect(count, 0);
  std::int64_t links = 0;
  for (const std::int64_t side : sides) {
    links += count / side * (ends == Ends::joined && side > 2 ? side : side - 1);
  }
  builder.expect(count, links);

  std::vector<std::int64_t> stride(sides.size(), 1);
  for (std::size_t d = sides.size() - 1; d-- > 0;) {
    stride[d] = stride[d + 1] * sides[d + 1];
  }
  for (std::int64_t index = 0; index < count; ++index) {
    builder.gpu(gpuId(index), "");
  }
  for (std::int64_t index = 0; index < count; ++index) {
    for (std::size_t d = 0; d < sides.size(); ++d) {
      const Bandwidth bandwidth = bandwidths.size() == 1 ? bandwidths.front() : bandwidths[d];
      const std::int64_t coordinate = index / stride[d] % sides[d];
      if (coordinate + 1 < sides[d]) {
        builder.link(gpuId(index), gpuId(index + stride[d]), bandwidth);
      } else if (ends == Ends::joined && sides[d] > 2) {
        builder.link(gpuId(index), gpuId(index - coordinate * stride[d]), bandwidth);
      }
    }
  }
  return builder.take();
}

fabric::Description ring(const Arguments& arguments) {
  const int gpus = arguments.integer("gpus");
  const bool isOneWay = arguments.text("direction") == "one-way";
  Builder builder((isOneWay ? "One-way ring of " : "Ring of ") + std::to_string(gpus));
  builder.expect(gpus, gpus);
  for (int gpu = 0; gpu < gpus; ++gpu) {
    builder.gpu(gpuId(gpu), "");
  }
  for (int gpu = 0; gpu < gpus; ++gpu) {
    const std::string next = gpuId((gpu + 1) % gpus);
    if (isOneWay) {
      builder.oneWayLink(gpuId(gpu), next, arguments.bandwidth("bandwidth"));
    } else if (gpus > 2 || gpu == 0) {
      builder.link(gpuId(gpu), next, arguments.bandwidth("bandwidth"));
    }
  }
  return builder.take();
}

fabric::Description torus(const Arguments& arguments) {
  return lattice("Torus " + arguments.text("dims"), arguments.integers("dims"), arguments.bandwidths("bandwidth"),
                 Ends::joined);
}

fabric::Description mesh(const Arguments& arguments) {
  return lattice("Mesh " + arguments.text("dims"), arguments.integers("dims"), arguments.bandwidths("bandwidth"),
                 Ends::open);
}

fabric::Description hypercube(const Arguments& arguments) {
  const int dimension = arguments.integer("dimension");
  Builder builder("Hypercube of dimension " + std::to_string(dimension));
  const std::int64_t count = std::int64_t{1} << dimension;
  builder.expect(count, count * dimension / 2);
  for (std::int64_t index = 0; index < count; ++index) {
    builder.gpu(gpuId(index), "");
  }
  for (std::int64_t index = 0; index < count; ++index) {
    for (int bit = 0; bit < dimension; ++bit) {
      const std::int64_t other = index ^ (std::int64_t{1} << bit);
      if (index < other) {
        builder.link(gpuId(index), gpuId(other), arguments.bandwidth("bandwidth"));
      }
    }
  }
  return builder.take();
}

fabric::Description complete(const Arguments& arguments) {
  const int gpus = arguments.integer("gpus");
  Builder builder("Complete graph of " + std::to_string(gpus));
  builder.expect(gpus, std::int64_t{gpus} * (gpus - 1) / 2);
  for (int gpu = 0; gpu < gpus; ++gpu) {
    builder.gpu(gpuId(gpu), "");
  }
  for (int a = 0; a < gpus; ++a) {
    for (int b = a + 1; b < gpus; ++b) {
      builder.link(gpuId(a), gpuId(b), arguments.bandwidth("bandwidth"));
    }
  }
  return builder.take();
}

fabric::Description completeBipartite(const Arguments& arguments) {
  const int left = arguments.integer("left");
  const int right = arguments.integer("right");
  Builder builder("Complete bipartite graph of " + std::to_string(left) + " and " + std::to_string(right));
  builder.expect(std::int64_t{left} + right, std::int64_t{left} * right);
  for (int gpu = 0; gpu < left + right; ++gpu) {
    builder.gpu(gpuId(gpu), "");
  }
  for (int a = 0; a < left; ++a) {
    for (int b = 0; b < right; ++b) {
      builder.link(gpuId(a), gpuId(left + b), arguments.bandwidth("bandwidth"));
    }
  }
  return builder.take();
}

Rule dimensionsRule(const std::string& value) {
  return {.name = "dims",
          .kind = ValueKind::sides,
          .defaultText = value,
          .description = "number of GPUs along each dimension; GPU numbers count fastest along the last",
          .low = 1,
          .high = kMaxSide};
}

Rule latticeBandwidthRule() {
  return {.name = "bandwidth",
          .kind = ValueKind::bandwidths,
          .defaultText = "25",
          .description = "each link, or one entry per dimension"};
}

const char* const kOwnNumbers = " The default of 25 GB/s stands for one 200 Gb/s port and belongs to no machine.";

}  // namespace

std::vector<Recipe> directRecipes() {
  std::vector<Recipe> recipes;
  recipes.push_back(
      {.name = "ring",
       .title = "Ring",
       .description = "GPUs in a circle, linked in both directions or in one. Two GPUs linked in both directions have "
                      "one link.",
       .sources = std::string("Standard graph.") + kOwnNumbers,
       .rules = {integerRule("gpus", 8, 2, kMaxNodes, "number of GPUs"),
                 linkBandwidthRule(),
                 {.name = "direction",
                  .kind = ValueKind::choice,
                  .defaultText = "two-way",
                  .description = "links in both directions, or only from each GPU to the next",
                  .words = {"two-way", "one-way"}}},
       .generate = ring});
  recipes.push_back({.name = "torus",
                     .title = "Torus",
                     .description =
                         "Grid of any number of dimensions with sides of any length, closed into rings. A side of 2 is "
                         "one link, not two; a side of 1 is none.",
                     .sources = std::string("Standard graph.") + kOwnNumbers,
                     .rules = {dimensionsRule("4x4"), latticeBandwidthRule()},
                     .generate = torus});
  recipes.push_back({.name = "mesh",
                     .title = "Mesh",
                     .description = "Grid of any number of dimensions with sides of any length and open ends.",
                     .sources = std::string("Standard graph.") + kOwnNumbers,
                     .rules = {dimensionsRule("4x4"), latticeBandwidthRule()},
                     .generate = mesh});
  recipes.push_back(
      {.name = "hypercube",
       .title = "Hypercube",
       .description = "GPUs linked where their numbers differ in one bit.",
       .sources = std::string("Standard graph.") + kOwnNumbers,
       .rules = {integerRule("dimension", 3, 1, kMaxCubeDimension, "number of bits; 2 to this power GPUs"),
                 linkBandwidthRule()},
       .generate = hypercube});
  recipes.push_back({.name = "complete",
                     .title = "Complete graph",
                     .description = "Every GPU linked to every other.",
                     .sources = std::string("Standard graph.") + kOwnNumbers,
                     .rules = {integerRule("gpus", 8, 2, kMaxClique, "number of GPUs"), linkBandwidthRule()},
                     .generate = complete});
  recipes.push_back({.name = "complete-bipartite",
                     .title = "Complete bipartite graph",
                     .description = "Two sets of GPUs, each GPU linked to all GPUs of the other set.",
                     .sources = std::string("Standard graph.") + kOwnNumbers,
                     .rules = {integerRule("left", 4, 1, kMaxNodes, "GPUs of the first set"),
                               integerRule("right", 4, 1, kMaxNodes, "GPUs of the second set"), linkBandwidthRule()},
                     .generate = completeBipartite});
  return recipes;
}

}  // namespace coppice::presets
