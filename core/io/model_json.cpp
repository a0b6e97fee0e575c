// SPDX-License-Identifier: Apache-2.0
#include "io/model_json.hpp"

#include <initializer_list>
#include <optional>

#include "base/failure.hpp"
#include "io/exact_json.hpp"

namespace coppice::io {
namespace {

class ConfigReader {
public:
  ConfigReader(const JsonValue& top, const std::string& fileName) : m_top(top), m_fileName(fileName) {}

  training::Model run() {
    training::Model model;
    const JsonValue* type = m_top.find("model_type");
    model.name = type != nullptr ? type->text : "model";
    model.layers = need({"num_hidden_layers", "n_layer"});
    model.hidden = need({"hidden_size", "n_embd"});
    model.heads = need({"num_attention_heads", "n_head"});
    model.keyHeads = find({"num_key_value_heads"}).value_or(model.heads);
    model.headSize = find({"head_dim"}).value_or(model.hidden / model.heads);
    model.feedForward = find({"intermediate_size", "n_inner"}).value_or(4 * model.hidden);
    model.vocabulary = need({"vocab_size"});
    if (const auto experts = find({"num_local_experts", "num_experts", "n_routed_experts"}); experts.value_or(1) > 1) {
      readExperts(model, *experts);
    }
    if (const auto rank = find({"kv_lora_rank"})) {
      readLatent(model, *rank);
    }
    model.isGated = model.name != "gpt2" && model.name != "gpt_neox";
    if (model.heads % model.keyHeads != 0) {
      refuse("num_key_value_heads", "the heads are not a multiple of those of the keys");
    }
    if (model.headSize < 1) {
      refuse("num_attention_heads", "there are more heads than the hidden size has places");
    }
    return model;
  }

private:
  void readExperts(training::Model& model, std::int64_t experts) const {
    const std::int64_t dense = model.feedForward;
    model.experts = experts;
    model.chosen = need({"num_experts_per_tok"});
    model.feedForward = find({"moe_intermediate_size"}).value_or(model.feedForward);
    if (model.chosen > model.experts) {
      refuse("num_experts_per_tok", "a token has more experts than there are");
    }
    model.sharedFeedForward =
        find({"shared_expert_intermediate_size"}).value_or(whole("n_shared_experts").value_or(0) * model.feedForward);
    model.denseLayers = whole("first_k_dense_replace").value_or(0);
    model.denseFeedForward = model.denseLayers > 0 ? dense : 0;
    if (model.denseLayers >= model.layers) {
      refuse("first_k_dense_replace", "no layer has experts");
    }
    if (find({"moe_layer_freq", "decoder_sparse_step"}).value_or(1) != 1) {
      refuse("moe_layer_freq", "layers with experts take turns with others: blocks have to be equal");
    }
  }

  void readLatent(training::Model& model, std::int64_t rank) const {
    model.headSize = need({"qk_nope_head_dim"});
    model.latent = {.queryRank = find({"q_lora_rank"}).value_or(0),
                    .keyRank = rank,
                    .ropeSize = need({"qk_rope_head_dim"}),
                    .valueSize = need({"v_head_dim"})};
    model.keyHeads = model.heads;
  }

  using Keys = std::initializer_list<const char*>;

  [[noreturn]] void refuse(const char* key, std::string message) const {
    throw Failure{{ErrorCode::badInput,
                   std::move(message),
                   "give the config.json of a transformer as Hugging Face writes it",
                   {.file = m_fileName, .element = {RefKind::field, key}}}};
  }

  /// 0 or more.
  [[nodiscard]] std::optional<std::int64_t> whole(const char* key) const {
    const JsonValue* value = m_top.find(key);
    if (value == nullptr || value->kind != JsonValue::Kind::number) {
      return std::nullopt;
    }
    const auto number = Rational::parse(value->text);
    if (!number || !number->isInteger() || *number < Rational(0) || number->numerator() > (std::int64_t{1} << 32)) {
      refuse(key, std::string(key) + " is not a whole number");
    }
    return number->numerator();
  }

  [[nodiscard]] std::optional<std::int64_t> find(Keys keys) const {
    for (const char* key : keys) {
      if (const auto number = whole(key)) {
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
