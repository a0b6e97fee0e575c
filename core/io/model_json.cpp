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
    if (find({"n_routed_experts"}).value_or(0) > 1) {
      throw Failure{{ErrorCode::unavailable,
                     "the model has shared experts and compressed keys, which the graph of a block does not have",
                     "write its graph for --problem, or choose another model",
                     {.file = m_fileName, .element = {RefKind::field, "n_routed_experts"}}}};
    }
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
    if (const auto experts = find({"num_local_experts", "num_experts"}); experts.value_or(1) > 1) {
      model.experts = *experts;
      model.chosen = need({"num_experts_per_tok"});
      model.feedForward = find({"moe_intermediate_size"}).value_or(model.feedForward);
      if (model.chosen > model.experts) {
        refuse("num_experts_per_tok", "a token has more experts than there are");
      }
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
  using Keys = std::initializer_list<const char*>;

  [[noreturn]] void refuse(const char* key, std::string message) const {
    throw Failure{{ErrorCode::badInput,
                   std::move(message),
                   "give the config.json of a transformer as Hugging Face writes it",
                   {.file = m_fileName, .element = {RefKind::field, key}}}};
  }

  [[nodiscard]] std::optional<std::int64_t> find(Keys keys) const {
    for (const char* key : keys) {
      const JsonValue* value = m_top.find(key);
      if (value != nullptr && value->kind == JsonValue::Kind::number) {
        const auto number = Rational::parse(value->text);
        if (!number || !number->isInteger() || !number->isPositive() || number->numerator() > (std::int64_t{1} << 32)) {
          refuse(key, std::string(key) + " is not a whole number above 0");
        }
        return number->numerator();
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
