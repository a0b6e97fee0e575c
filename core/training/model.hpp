// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "training/problem.hpp"

namespace coppice::training {

/// Attention whose keys and values come of one small tensor for each token (multi-head latent attention of DeepSeek).
struct Latent {
  std::int64_t queryRank = 0;  ///< size of the small tensor that queries come of; 0 = they come of the hidden one
  std::int64_t keyRank = 0;    ///< of keys and values; 0 = this is no such attention
  std::int64_t ropeSize = 0;   ///< places of a key, and of a query, that carry its position; all heads share the key's
  std::int64_t valueSize = 0;  ///< of a head; that of keys and queries is headSize + ropeSize
};

/// Attention of some layers, in which a token does not see all tokens before it.
struct Window {
  std::int64_t layers = 0;  ///< that have it
  std::int64_t tokens = 0;  ///< that a token sees at most, itself among them
  bool isChunked = false;   ///< those of its part of the sequence; otherwise the last ones
};

/// A transformer with equal blocks of attention and a feed-forward part, as its config.json states it; the first may
/// have one feed-forward part for all tokens where the others have experts.
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
  Latent latent = {};
  std::int64_t sharedFeedForward = 0;  ///< inner size of what all tokens pass beside their experts
  std::int64_t denseLayers = 0;        ///< the first, without experts
  std::int64_t denseFeedForward = 0;   ///< their inner size
  Window window = {};
  bool isTied = false;  ///< the output matrix is the embedding

  [[nodiscard]] std::int64_t blockLayers() const { return layers - denseLayers; }  ///< that are equal blocks
  [[nodiscard]] std::int64_t queryHeadSize() const { return headSize + latent.ropeSize; }
  [[nodiscard]] std::int64_t valueHeadSize() const { return latent.keyRank > 0 ? latent.valueSize : headSize; }

  /// Of a block, of one of the first layers, and of the embedding and the output matrix together; norms, biases and
  /// routers are left out.
  [[nodiscard]] Rational blockParameters() const;
  [[nodiscard]] Rational denseParameters() const;
  [[nodiscard]] Rational outerParameters() const;
  [[nodiscard]] Rational attentionParameters() const;
  [[nodiscard]] Rational feedForwardParameters(std::int64_t inner) const;
  [[nodiscard]] Rational parameters() const;
  /// Of the pairs of tokens of a sequence those that attention multiplies: half of them where a token sees all tokens
  /// before it. Mean of all layers, rounded down to whole pairs, which keeps exact times short.
  [[nodiscard]] Rational attendedPart(std::int64_t sequence) const;
  [[nodiscard]] Rational activeBlockParameters() const;  ///< that a token passes in a block
  /// That a token passes: all but those of the experts that are not chosen for it.
  [[nodiscard]] Rational activeParameters() const;
};

/// Models whose sizes are published, with where.
struct ModelPreset {
  Model model;
  std::string_view source;
  std::array<std::string_view, 2> otherNames = {};  ///< of models with the same sizes; or empty
};
[[nodiscard]] std::span<const ModelPreset> modelPresets();

/// A kind of GPU or other accelerator, as one rank has it: dense operations per second, and memory.
struct Device {
  std::string_view name;
  std::string_view title;      ///< "Gaudi 3"
  std::int64_t gflops = 0;     ///< 10^9 per second, of 16 bits
  std::int64_t fp8Gflops = 0;  ///< of 8 bits; 0 = it has none
  std::int64_t memory = 0;     ///< bytes
  std::string_view source;
  std::array<std::string_view, 3> words = {};  ///< by which names of fabrics tell it, besides its own; or empty
};
[[nodiscard]] std::span<const Device> devicePresets();

struct Job {
  std::int64_t batch = 1;     ///< sequences of a step
  std::int64_t sequence = 1;  ///< tokens of each
  Rational stateBytes = 16;   ///< per parameter: weights, gradients and optimizer states (Adam in mixed precision)
  bool mayRecompute = false;  ///< activations may be dropped and computed again
};

/// Operations of attention in a layer, forward and backward.
[[nodiscard]] Rational attentionOperations(const Model& model, const Job& job);

/// Operations of a step that the model needs, of all devices together, as MFU counts them: forward, twice that
/// backward, and nothing computed again (Chowdhery et al. 2022, arXiv:2204.02311, appendix B).
[[nodiscard]] Rational modelOperations(const Model& model, const Job& job);

/// The embedding, the output matrix and the first layers without experts, as if they were divided over all devices and
/// took no communication: what no plan can be below.
[[nodiscard]] Cost outerCost(const Model& model, const Job& job, std::int64_t devices, const Rational& gflops);

}  // namespace coppice::training
