// SPDX-License-Identifier: Apache-2.0
#include "io/model_json.hpp"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "base/failure.hpp"
#include "base/text.hpp"
#include "io/exact_json.hpp"

namespace coppice::io {
namespace {

/// What transformers takes where a config.json leaves it out, by model_type.
struct Family {
  std::string_view type;
  bool isGated = true;
  bool isTied = false;
  std::int64_t fullEvery =
      0;  ///< of so long a run of layers the last sees all tokens, the others a window; 0 = no such
};
constexpr Family kFamilies[] = {
    {"bloom", false, true},  {"codegen", false},           {"cohere", true, true},    {"cohere2", true, true, 4},
    {"falcon", false, true}, {"gemma", true, true},        {"gemma2", true, true, 2}, {"gemma3_text", true, true, 6},
    {"gpt2", false, true},   {"gpt_bigcode", false, true}, {"gpt_neox", false},       {"gpt_oss", true, false, 2},
    {"gptj", false},         {"mpt", false, true},         {"nemotron", false},       {"opt", false, true},
    {"phi", false},          {"starcoder2", false, true}};

Family familyOf(const std::string& type) {
  const auto* const found =
      std::find_if(std::begin(kFamilies), std::end(kFamilies), [&](const Family& each) { return each.type == type; });
  return found == std::end(kFamilies) ? Family{} : *found;
}

/// Keys of models some of whose layers have no attention; or take turns with layers of another kind.
constexpr const char* kMixed[] = {"attn_layer_period",       "full_attention_interval",
                                  "hybrid_override_pattern", "layers_block_type",
                                  "linear_attn_config",      "mamba_d_ssm",
                                  "mamba_num_heads",         "ssm_cfg"};

class ConfigReader {
public:
  ConfigReader(const JsonValue& top, const std::string& fileName)
      : m_top(top), m_text(textOf(top)), m_fileName(fileName) {}

  training::Model run() {
    training::Model model;
    const std::string type = word(m_text, "model_type").value_or("");
    const Family family = familyOf(type);
    model.name = word(m_top, "model_type").value_or(type.empty() ? "model" : type);
    refuseOthers();
    model.layers = need({"num_hidden_layers", "n_layer", "n_layers", "num_layers"});
    model.hidden = need({"hidden_size", "n_embd", "n_embed", "d_model"});
    model.heads = need({"num_attention_heads", "n_head", "n_heads"});
    model.keyHeads = find({"num_key_value_heads", "num_kv_heads", "kv_n_heads"}).value_or(model.heads);
    if (isTrue("multi_query").value_or(false) && !isTrue("new_decoder_architecture").value_or(false)) {
      model.keyHeads = 1;
    }
    model.headSize = find({"head_dim"}).value_or(model.hidden / model.heads);
    model.feedForward = find({"intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"})
                            .value_or(find({"expansion_ratio"}).value_or(4) * model.hidden);
    model.vocabulary = need({"vocab_size"});
    if (const auto experts = find({"num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"});
        experts.value_or(1) > 1) {
      readExperts(model, *experts);
      if (type == "llama4_text") {
        model.sharedFeedForward = model.feedForward;
      }
    }
    if (const auto rank = find({"kv_lora_rank"})) {
      readLatent(model, *rank);
    }
    model.window = windowOf(model.layers, family);
    model.isGated = family.isGated;
    model.isTied = isTrue("tie_word_embeddings").value_or(family.isTied);
    if (model.heads % model.keyHeads != 0) {
      refuse("num_key_value_heads", "the heads are not a multiple of those of the keys");
    }
    if (model.headSize < 1) {
      refuse("num_attention_heads", "there are more heads than the hidden size has places");
    }
    return model;
  }

private:
  using Keys = std::initializer_list<const char*>;
  static constexpr const char* kNoAttention = "some layers have no attention";
  static constexpr const char* kUnequal = "layers with experts take turns with others";

  /// Models of pictures and sound have a part for text.
  static const JsonValue& textOf(const JsonValue& top) {
    for (const char* key : {"text_config", "llm_config", "language_config"}) {
      if (const JsonValue* part = top.find(key); part != nullptr && part->kind == JsonValue::Kind::object) {
        return *part;
      }
    }
    return top;
  }

  void refuseOthers() const {
    if (isTrue("is_encoder_decoder").value_or(false)) {
      refuseUnequal("is_encoder_decoder", "an encoder and a decoder are of two kinds");
    }
    const auto kinds = wholes("attn_type_list");
    if (kinds && std::find(kinds->begin(), kinds->end(), 0) != kinds->end()) {
      refuseUnequal("attn_type_list", kNoAttention);
    }
    for (const char* key : kMixed) {
      if (const JsonValue* value = m_text.find(key); value != nullptr && value->kind != JsonValue::Kind::null) {
        refuseUnequal(key, kNoAttention);
      }
    }
  }

  void readExperts(training::Model& model, std::int64_t experts) const {
    const std::int64_t dense = model.feedForward;
    model.experts = experts;
    model.chosen = need({"num_experts_per_tok", "experts_per_token", "moe_top_k", "moe_k"});
    model.feedForward = find({"moe_intermediate_size"}).value_or(model.feedForward);
    if (model.chosen > model.experts) {
      refuse("num_experts_per_tok", "a token has more experts than there are");
    }
    model.sharedFeedForward =
        whole({"shared_expert_intermediate_size", "shared_intermediate_size"})
            .value_or(whole({"n_shared_experts", "num_shared_experts", "moe_num_shared_experts"}).value_or(0) *
                      model.feedForward);
    model.denseLayers = firstDense();
    model.denseFeedForward = model.denseLayers > 0 ? dense : 0;
    if (model.denseLayers >= model.layers) {
      refuse("first_k_dense_replace", "no layer has experts");
    }
    for (const char* key :
         {"moe_layer_freq", "decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_interval"}) {
      if (find({key}).value_or(1) != 1) {
        refuseUnequal(key, kUnequal);
      }
    }
  }

  /// Layers without experts, which have to be the first.
  [[nodiscard]] std::int64_t firstDense() const {
    std::int64_t count = whole({"first_k_dense_replace", "moe_layer_start_index"}).value_or(0);
    if (const auto listed = wholes("mlp_only_layers")) {
      count = std::max(count, static_cast<std::int64_t>(listed->size()));
      for (std::size_t layer = 0; layer < listed->size(); ++layer) {
        if ((*listed)[layer] != static_cast<std::int64_t>(layer)) {
          refuseUnequal("mlp_only_layers", kUnequal);
        }
      }
    }
    if (const auto listed = wholes("moe_layer_freq")) {
      const auto first = std::find(listed->begin(), listed->end(), 1);
      if (std::find(first, listed->end(), 0) != listed->end()) {
        refuseUnequal("moe_layer_freq", kUnequal);
      }
      count = first - listed->begin();
    }
    return count;
  }

  void readLatent(training::Model& model, std::int64_t rank) const {
    model.headSize = need({"qk_nope_head_dim"});
    model.latent = {.queryRank = find({"q_lora_rank"}).value_or(0),
                    .keyRank = rank,
                    .ropeSize = need({"qk_rope_head_dim"}),
                    .valueSize = need({"v_head_dim"})};
    model.keyHeads = model.heads;
  }

  /// Which layers see fewer tokens: listed, or every layer but those that a pattern names, or all.
  [[nodiscard]] training::Window windowOf(std::int64_t layers, const Family& family) const {
    if (const auto chosen = find({"index_topk"})) {
      return {.layers = layers, .tokens = *chosen};  // DeepSeek sparse attention: of the last ones or of others
    }
    const auto sliding = isTrue("use_sliding_window").value_or(true) ? find({"sliding_window"}) : std::nullopt;
    const auto chunk = find({"attention_chunk_size"});
    if (const JsonValue* types = m_text.find("layer_types"); types != nullptr && !types->items.empty()) {
      return listedWindow(*types, sliding, chunk);
    }
    if (chunk) {
      if (const auto seesPart = wholes("no_rope_layers"); seesPart && !seesPart->empty()) {
        return {std::count(seesPart->begin(), seesPart->end(), 1), *chunk, true};
      }
      return {layers - layers / find({"no_rope_layer_interval"}).value_or(4), *chunk, true};
    }
    if (!sliding) {
      return {};
    }
    const auto every = find({"sliding_window_pattern", "_sliding_window_pattern"}).value_or(family.fullEvery);
    if (every > 0) {
      return {layers - layers / every, *sliding};
    }
    const auto first = find({"max_window_layers"}).value_or(0);  // those before see all
    return {layers - std::min(first, layers), *sliding};
  }

  [[nodiscard]] training::Window listedWindow(const JsonValue& types, const std::optional<std::int64_t>& sliding,
                                              const std::optional<std::int64_t>& chunk) const {
    training::Window window;
    for (const JsonValue& type : types.items) {
      const bool isSliding = type.text == "sliding_attention";
      const bool isChunked = type.text == "chunked_attention";
      if (isSliding || isChunked) {
        const auto& tokens = isSliding ? sliding : chunk;
        if (!tokens) {
          refuse("layer_types", "there is no size of the window of " + type.text);
        }
        window = {window.layers + 1, *tokens, isChunked};
      } else if (type.text != "full_attention" && type.text != "attention") {
        refuseUnequal("layer_types", "some layers have " + inQuotes(type.text));
      }
    }
    return window;
  }

  [[noreturn]] void refuse(const char* key, std::string message,
                           const char* fix = "give the config.json of a transformer as Hugging Face writes it") const {
    throw Failure{
        {ErrorCode::badInput, std::move(message), fix, {.file = m_fileName, .element = {RefKind::field, key}}}};
  }
  [[noreturn]] void refuseUnequal(const char* key, const std::string& what) const {
    refuse(key, what + ": blocks have to be equal",
           "choose a model whose layers are alike, or give the graph of its blocks as torch.fx writes it");
  }

  [[nodiscard]] static std::optional<std::string> word(const JsonValue& in, const char* key) {
    const JsonValue* value = in.find(key);
    return value != nullptr && value->kind == JsonValue::Kind::string ? std::optional(value->text) : std::nullopt;
  }

  /// What holds for the whole model may stand beside its part for text.
  [[nodiscard]] std::optional<bool> isTrue(const char* key) const {
    for (const JsonValue* in : {&m_text, &m_top}) {
      if (const JsonValue* value = in->find(key); value != nullptr && value->kind == JsonValue::Kind::boolean) {
        return value->text == "true";
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] std::int64_t wholeOf(const JsonValue& value, const char* key) const {
    const auto number = Rational::parse(value.text);
    if (!number || !number->isInteger() || *number < Rational(0) || number->numerator() > (std::int64_t{1} << 32)) {
      refuse(key, std::string(key) + " is not a whole number");
    }
    return number->numerator();
  }

  /// 0 or more. Some models keep sizes of their parts in objects of their own.
  [[nodiscard]] std::optional<std::int64_t> whole(Keys keys) const {
    for (const char* key : keys) {
      for (const JsonValue* in : {&m_text, m_text.find("attn_config"), m_text.find("ffn_config")}) {
        const JsonValue* value = in == nullptr ? nullptr : in->find(key);
        if (value != nullptr && value->kind == JsonValue::Kind::number) {
          return wholeOf(*value, key);
        }
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::vector<std::int64_t>> wholes(const char* key) const {
    const JsonValue* value = m_text.find(key);
    if (value == nullptr || value->kind != JsonValue::Kind::array) {
      return std::nullopt;
    }
    std::vector<std::int64_t> all;
    for (const JsonValue& item : value->items) {
      all.push_back(wholeOf(item, key));
    }
    return all;
  }

  [[nodiscard]] std::optional<std::int64_t> find(Keys keys) const {
    for (const char* key : keys) {
      if (const auto number = whole({key})) {
        if (*number == 0) {
          refuse(key, std::string(key) + " is not a whole number above 0");
        }
        return number;
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] std::int64_t need(Keys keys) const {
    const auto found = find(keys);
    if (!found) {
      refuse(*keys.begin(), std::string("there is no ") + *keys.begin());
    }
    return *found;
  }

  const JsonValue& m_top;
  const JsonValue& m_text;
  const std::string& m_fileName;
};

}  // namespace

Result<training::Model> readModelConfig(std::string_view text, const std::string& fileName) {
  const auto top = parseExactJson(text, fileName);
  if (!top) {
    return top.error();
  }
  return guarded([&] { return ConfigReader(*top, fileName).run(); });
}

}  // namespace coppice::io
