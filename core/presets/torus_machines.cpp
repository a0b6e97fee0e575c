// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "presets/builder.hpp"
#include "presets/generators.hpp"

namespace coppice::presets {
namespace {

constexpr int kCubeSide = 4;
constexpr int kTorusDimensions = 3;
constexpr int kMaxSliceSide = 64;

using Point = std::array<int, kTorusDimensions>;

std::string chipId(const Point& at) {
  return "x" + std::to_string(at[0]) + "y" + std::to_string(at[1]) + "z" + std::to_string(at[2]);
}

std::int64_t chipsOf(const Point& sides) {
  return std::int64_t{sides[0]} * sides[1] * sides[2];
}

/// Calls `visit` for every point of a grid of these sides, the last coordinate counting fastest.
template <typename Visit>
void forEachPoint(const Point& sides, Visit visit) {
  for (int x = 0; x < sides[0]; ++x) {
    for (int y = 0; y < sides[1]; ++y) {
      for (int z = 0; z < sides[2]; ++z) {
        visit(Point{x, y, z});
      }
    }
  }
}

/// Where the line along `dimension` that ends at `at` goes on: at its start, moved by half of each long side where the
/// torus is twisted.
Point wrapped(Point at, const Point& sides, int dimension, bool isTwisted) {
  const int shortest = *std::min_element(sides.begin(), sides.end());
  at[dimension] = 0;
  if (isTwisted && sides[dimension] == shortest) {
    for (int other = 0; other < kTorusDimensions; ++other) {
      if (sides[other] != shortest) {
        at[other] = (at[other] + shortest) % sides[other];
      }
    }
  }
  return at;
}

struct Torus {
  Point sides;
  std::array<Bandwidth, kTorusDimensions> bandwidths;
  bool isClosed = true;
  bool isTwisted = false;
};

/// The links of a torus (of a mesh where it is not closed). A side of two is one link, not two.
void linkTorus(Builder& builder, const Torus& torus) {
  forEachPoint(torus.sides, [&](const Point& at) {
    for (int d = 0; d < kTorusDimensions; ++d) {
      Point next = at;
      if (at[d] + 1 < torus.sides[d]) {
        ++next[d];
      } else if (torus.isClosed && torus.sides[d] > 2) {
        next = wrapped(at, torus.sides, d, torus.isTwisted);
      } else {
        continue;
      }
      builder.link(chipId(at), chipId(next), torus.bandwidths[d]);
    }
  });
}

fabric::Description trainium2(const Arguments& arguments) {
  const int instances = arguments.integer("instances");
  const Bandwidth inside = arguments.bandwidth("link");
  const Bandwidth between = arguments.bandwidth("between");
  const Point sides = {instances, kCubeSide, kCubeSide};
  Builder builder(instances == 1 ? "Trn2 instance" : "Trn2 UltraServer of " + std::to_string(instances));
  builder.expect(chipsOf(sides), chipsOf(sides) * kTorusDimensions);
  forEachPoint(sides, [&](const Point& at) { builder.gpu(chipId(at), "instance" + std::to_string(at[0])); });
  linkTorus(builder, {.sides = sides, .bandwidths = {between, inside, inside}});
  return builder.take();
}

/// The sides of a slice. Errors: more or fewer than three, or one that the machine cannot have.
Point sliceSides(const Arguments& arguments) {
  const auto& given = arguments.integers("dims");
  const Place where{.element = {RefKind::parameter, "dims"}};
  if (given.size() != kTorusDimensions) {
    throw Failure{Error{ErrorCode::badUsage, "dims has " + std::to_string(given.size()) + " sides",
                        "give three, such as 4x4x8", where}};
  }
  const Point sides = {static_cast<int>(given[0]), static_cast<int>(given[1]), static_cast<int>(given[2])};
  if (chipsOf(sides) < 2) {
    throw Failure{Error{ErrorCode::badUsage, "dims makes a single GPU, so there is nothing to send",
                        "give at least one side of 2 or more", where}};
  }
  const bool isPartOfCube = std::all_of(sides.begin(), sides.end(), [](int side) { return side <= kCubeSide; });
  const bool isOfCubes = std::all_of(sides.begin(), sides.end(), [](int side) { return side % kCubeSide == 0; });
  if (!isPartOfCube && !isOfCubes) {
    throw Failure{Error{ErrorCode::badUsage, "no slice of cubes has the sides " + arguments.text("dims"),
                        "give multiples of 4, such as 4x8x8, or sides of at most 4 for a part of one cube", where}};
  }
  return sides;
}

bool canTwist(const Point& sides) {
  const auto [shortest, longest] = std::minmax_element(sides.begin(), sides.end());
  return *shortest % kCubeSide == 0 && *longest == 2 * *shortest &&
         std::all_of(sides.begin(), sides.end(),
                     [&, low = *shortest](int side) { return side == low || side == 2 * low; });
}

fabric::Description tpuSlice(const Arguments& arguments, const std::string& what) {
  const Point sides = sliceSides(arguments);
  const bool isTwisted = arguments.flag("twist");
  if (isTwisted && !canTwist(sides)) {
    throw Failure{Error{ErrorCode::badUsage, "a slice of " + arguments.text("dims") + " cannot be twisted",
                        "give sides n x n x 2n or n x 2n x 2n, such as 4x4x8, or leave twist out",
                        Place{.element = {RefKind::parameter, "twist"}}}};
  }
  Builder builder(what + " slice " + arguments.text("dims") + (isTwisted ? " twisted" : ""));
  builder.expect(chipsOf(sides), chipsOf(sides) * kTorusDimensions);
  const bool isClosed = std::all_of(sides.begin(), sides.end(), [](int side) { return side % kCubeSide == 0; });
  const Point cubes = {(sides[0] + kCubeSide - 1) / kCubeSide, (sides[1] + kCubeSide - 1) / kCubeSide,
                       (sides[2] + kCubeSide - 1) / kCubeSide};
  int number = 0;
  forEachPoint(cubes, [&](const Point& cube) {
    const std::string box = "cube" + std::to_string(number++);
    Point part;
    for (int d = 0; d < kTorusDimensions; ++d) {
      part[d] = std::min(kCubeSide, sides[d]);
    }
    forEachPoint(part, [&](const Point& inside) {
      builder.gpu(
          chipId({cube[0] * kCubeSide + inside[0], cube[1] * kCubeSide + inside[1], cube[2] * kCubeSide + inside[2]}),
          box);
    });
  });
  const Bandwidth link = arguments.bandwidth("link");
  linkTorus(builder, {.sides = sides, .bandwidths = {link, link, link}, .isClosed = isClosed, .isTwisted = isTwisted});
  return builder.take();
}

std::vector<Rule> tpuRules() {
  return {
      {.name = "dims",
       .kind = ValueKind::sides,
       .defaultText = "4x4x4",
       .description = "chips along each of three dimensions: multiples of 4, or at most 4 each for a part of a cube",
       .low = 1,
       .high = kMaxSliceSide},
      bandwidthRule("link", "100", "each link between chips"),
      flagRule("twist", "a slice of n x n x 2n or n x 2n x 2n closes its short lines half a long side further on")};
}

const char* const kTpuText =
    "Cubes of 4 x 4 x 4 chips, joined to a 3-D torus by optical circuit switches. These join two fibres for the length "
    "of a job and share nothing, so a link through one is drawn as the link it makes. A part of a cube is a mesh.";
const char* const kTwistSource =
    " Twisted slices: C. Camarero, C. Martinez, R. Beivide, Lattice Graphs for High-Scale Interconnection Topologies "
    "(IEEE TPDS 2015), FCC and BCC; N. Jouppi et al., TPU v4 (ISCA 2023), names the same shapes.";

}  // namespace

std::vector<Recipe> torusMachineRecipes() {
  std::vector<Recipe> recipes;
  recipes.push_back(
      {.name = "trainium2",
       .title = "AWS Trainium 2",
       .description = "Instances of sixteen chips in a torus of 4 x 4; several make an UltraServer, in which the chips "
                      "at the same place of each instance are a ring. Two instances are joined once.",
       .sources = "AWS Neuron documentation, Amazon EC2 Trn2 Architecture: 16 chips in a 4x4 torus, UltraServers of "
                  "four instances in rings; NeuronLink-v3 of 1,024 GB/s per chip inside an instance and 256 GB/s "
                  "between instances, over both directions: 128 and 64 per link and direction.",
       .rules = {integerRule("instances", 1, 1, kCubeSide, "instances; 4 make a Trn2 UltraServer"),
                 bandwidthRule("link", "128", "each link inside an instance"),
                 bandwidthRule("between", "64", "each link between instances")},
       .generate = trainium2});
  recipes.push_back({.name = "tpu-v5p",
                     .title = "Google TPU v5p slice",
                     .description = kTpuText,
                     .sources = std::string("Google Cloud documentation, TPU v5p: 1,200 GB/s between chips per chip "
                                            "over both directions, six links (100 per link and direction); slices of "
                                            "4x4x4 and larger are 3-D tori.") +
                                kTwistSource,
                     .rules = tpuRules(),
                     .generate = [](const Arguments& arguments) { return tpuSlice(arguments, "TPU v5p"); }});
  recipes.push_back({.name = "tpu-v7",
                     .title = "Google TPU v7 (Ironwood) slice",
                     .description = kTpuText,
                     .sources = std::string("Google Cloud documentation, TPU7x (Ironwood): 1,200 GB/s between chips "
                                            "per chip over both directions, six links (100 per link and direction), "
                                            "3-D torus.") +
                                kTwistSource,
                     .rules = tpuRules(),
                     .generate = [](const Arguments& arguments) { return tpuSlice(arguments, "TPU v7"); }});
  return recipes;
}

}  // namespace coppice::presets
