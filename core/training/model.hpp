// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "training/problem.hpp"

namespace coppice::training {

/// A transformer with equal blocks of attention and a feed-forward part, as its config.json states it.
struct Model {
  std::string name;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t keyHeads = 0;  ///< heads of keys and values, each for heads / keyHeads of the queries
  std::int64_t headSize = 0;
  std::int64_t feedForward = 0;  ///< its inner size
  std::int64_t vocabulary = 0;
  bool isGated = true;       ///< three matrices in the feed-forward part, otherwise two
  std::int64_t experts = 0;  ///< feed-forward parts of which a router chooses for each token; 0 = one for all
  std::int64_t chosen = 0;   ///< experts of a token

  /// Of a block, and of the embedding and the output matrix together; norms and biases are left out.
  [[nodiscard]] Rational blockParameters() const;
  [[nodiscard]] Rational outerParameters() const;
  [[nodiscard]] Rational feedForwardParameters() const;  ///< of one expert
  [[nodiscard]] Rational parameters() const { return blockParameters() * Rational(layers) + outerParameters(); }
  /// That a token passes: all but those of the experts that are not chosen for it.
  [[nodiscard]] Rational activeParameters() const;
};

/// Models whose sizes are published, with where.
struct ModelPreset {
  Model model;
  std::string_view source;
};
[[nodiscard]] std::span<const ModelPreset> modelPresets();

/// A kind of GPU: dense operations of 16 bits per second, and memory.
struct Device {
  std::string_view name;
  std::int64_t gflops = 0;  ///< 10^9 per second
  std::int64_t memory = 0;  ///< bytes
  std::string_view source;
};
[[nodiscard]] std::span<const Device> devicePresets();

struct Job {
  std::int64_t batch = 1;     ///< sequences of a step
  std::int64_t sequence = 1;  ///< tokens of each
  Rational stateBytes = 16;   ///< per parameter: weights, gradients and optimizer states (Adam in mixed precision)
  bool mayRecompute = false;  ///< activations may be dropped and computed again
};

/// The embedding and the output matrix, as if they were divided over all devices and took no communication: what no
/// plan can be below.
[[nodiscard]] Cost outerCost(const Model& model, const Job& job, std::int64_t devices, const Rational& gflops);

}  // namespace coppice::training
