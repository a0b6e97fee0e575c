// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/rational.hpp"
#include "base/result.hpp"

/// How a training step is divided over a mesh of devices: a compute graph without layout, states of its tensors on each
/// axis of the mesh, and what they cost (chapter 5 of the dissertation).
namespace coppice::training {

/// Place in Problem::dims.
using Dim = int;

/// What an axis of the mesh does with a tensor: a dimension that it divides, or one of these.
constexpr Dim kReplicated = -1;  ///< every device has all of it
constexpr Dim kPartial = -2;     ///< the sum over the devices is the tensor
/// By axis.
using State = std::vector<Dim>;

/// What an axis moves, as Axis::rates counts them.
enum class Conversion { allgather, reduceScatter, allreduce, alltoall };
inline constexpr std::size_t kConversions = 4;

struct Axis {
  std::int64_t size = 1;
  /// GB/s: the bytes that one group of the axis holds together by the time, with all groups of the axis at once.
  std::array<Rational, kConversions> rates = {};
};

enum class Op {
  placeholder,  ///< an input or a parameter: its state is a choice
  einsum,       ///< products summed over indices
  elementwise,
  reduction,  ///< sums over the dimensions that its output lacks
  update      ///< a gradient meets its parameter, in the state in which that is stored
};
/// "placeholder", "einsum", "elementwise", "reduction", "update".
[[nodiscard]] std::string_view toString(Op op);
[[nodiscard]] std::optional<Op> parseOp(std::string_view text);

/// An operation and the tensor that it makes. Dimensions of a tensor have no order and do not repeat.
struct Node {
  std::string name;
  Op op = Op::placeholder;
  std::vector<int> inputs = {};  ///< earlier nodes; of an update the gradient, then the parameter
  std::vector<Dim> dims = {};
  Rational bytes = 0;               ///< per element, of what conversions move
  Rational held = 0;                ///< bytes per element that stay in memory in the output state
  bool isLinear = false;            ///< elementwise: may pass partial sums
  bool isAgain = false;             ///< may be dropped and computed a second time, with the conversions into it
  std::optional<State> fixed = {};  ///< the state that its output must have
  /// Of 2 * (product of all indices) operations, what an einsum does: 1/2 where half is masked.
  Rational work = 1;
  /// Only these indices may be divided, and no partial sums pass through a sum, as in attention. Empty = any.
  std::vector<Dim> indices = {};
  /// Elementwise: a dimension of its output that its inputs have under another name; the one may be a piece of the
  /// other, whose order in memory is free. Of several names for one an axis follows any.
  std::vector<std::pair<Dim, Dim>> renamed = {};
  /// By axis: the only dimensions that it may divide here. Empty = any.
  std::vector<std::vector<Dim>> divides = {};
  /// By axis: it divides one of those, and neither replicates nor passes partial sums. Empty = may do so.
  std::vector<bool> isAlwaysDivided = {};
  Rational times = 1;  ///< how often in a step it is computed, and its inputs are converted
  /// What it takes besides to hand on all of the tensor, in ns, divided by the devices that its state divides it over.
  Rational sent = 0;
};

struct Dimension {
  std::string name;
  std::int64_t size = 1;
};

struct Problem {
  std::vector<Dimension> dims;
  std::vector<Axis> mesh;
  Rational gflops = 1;  ///< of a device, 10^9 operations per second
  std::vector<Node> nodes;
};

/// What a choice of states costs, exactly.
struct Cost {
  Rational compute;        ///< ns, of one device
  Rational communication;  ///< ns
  Rational memory;         ///< bytes of one device
  friend bool operator==(const Cost&, const Cost&) = default;
};

/// What is wrong with the problem: badInput, about the node.
[[nodiscard]] std::optional<Error> faultOf(const Problem& problem);

}  // namespace coppice::training
