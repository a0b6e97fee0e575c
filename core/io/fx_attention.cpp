// SPDX-License-Identifier: Apache-2.0
#include "io/fx_arguments.hpp"

namespace coppice::io::fx {
namespace {

using std::int64_t;

constexpr std::array<std::string_view, 7> kAttention{"_scaled_dot_product_flash_attention",
                                                     "_scaled_dot_product_efficient_attention",
                                                     "_scaled_dot_product_cudnn_attention",
                                                     "_scaled_dot_product_flash_attention_for_cpu",
                                                     "_scaled_dot_product_fused_attention_overrideable",
                                                     "scaled_dot_product_attention",
                                                     "_scaled_dot_product_attention_math"};
constexpr std::array<std::string_view, 4> kAttentionBackward{
    "_scaled_dot_product_flash_attention_backward", "_scaled_dot_product_efficient_attention_backward",
    "_scaled_dot_product_cudnn_attention_backward", "_scaled_dot_product_flash_attention_for_cpu_backward"};

class Attention : private Arguments {
public:
  using Arguments::Arguments;

  [[nodiscard]] std::vector<Tensor> made() const {
    return isOneOf(kAttention, m_call.target)           ? forward()
           : isOneOf(kAttentionBackward, m_call.target) ? backward()
                                                        : std::vector<Tensor>();
  }

private:
  struct Heads {
    std::vector<Tensor> all;     ///< as they go together
    std::vector<Labels> labels;  ///< batch and heads, tokens, size of a head
    Rational work;               ///< of 2 * (product of all indices), one product of tokens by tokens
    Labels query;
  };
  static constexpr int kTokens = 100;
  static constexpr int kOthers = 101;
  static constexpr int kHead = 102;
  static constexpr int kValueHead = 103;

  /// Of query, key and value at these places.
  [[nodiscard]] Heads heads(std::size_t first, bool isCausal) const {
    Heads heads;
    const std::size_t rank = tensor(first).positions.size();
    for (std::size_t i = 0; i < 3; ++i) {
      heads.all.push_back(tensor(first + i));
      if (heads.all.back().positions.size() != rank || rank < 3) {
        m_builder.refuse("attention of tensors that are not batch, heads, tokens and size", kAsPrinted);
      }
    }
    const int64_t head = m_builder.sizeOf(heads.all[0].positions.back());
    const int64_t value = m_builder.sizeOf(heads.all[2].positions.back());
    const int valueLabel = head == value ? kHead : kValueHead;
    heads.query = run(0, rank - 2);
    heads.labels.assign(3, heads.query);
    heads.labels[0].insert(heads.labels[0].end(), {kTokens, kHead});
    heads.labels[1].insert(heads.labels[1].end(), {kOthers, kHead});
    heads.labels[2].insert(heads.labels[2].end(), {kOthers, valueLabel});
    heads.work = Rational(1, isCausal ? 2 : 1);
    if (head != value) {
      // The product of all indices has both sizes; the two products have one each.
      heads.work *= Rational(head + value) / (Rational(2) * Rational(head) * Rational(value));
    }
    return heads;
  }

  /// One product of attention; axes may divide batch, heads and the tokens of the query.
  [[nodiscard]] Tensor attended(const std::string& name, std::vector<Tensor> tensors, std::vector<Labels> labels,
                                const Labels& output, const Rational& work) const {
    auto seen = m_builder.join(tensors, labels);
    const Tensor made = m_builder.einsum(name, std::move(tensors), labels, output, work);
    std::vector<Atoms> free;
    for (const auto& [label, position] : seen) {
      if (label < kOthers) {
        free.push_back(position);
      }
    }
    m_builder.limit(made, free);
    return made;
  }

  [[nodiscard]] std::vector<Tensor> forward() const {
    const bool isCausal = std::any_of(m_call.arguments.begin(), m_call.arguments.end(),
                                      [](const Value& value) { return value.text == "True"; }) ||
                          std::any_of(m_call.named.begin(), m_call.named.end(), [](const auto& each) {
                            return each.first == "is_causal" && each.second.text == "True";
                          });
    const Heads of = heads(0, isCausal);
    Labels output = of.query;
    output.insert(output.end(), {kTokens, of.labels[2].back()});
    const Tensor made = attended(m_call.name, of.all, of.labels, output, of.work * Rational(2));
    const Tensor sums =
        m_builder.along(m_call.name + "_of_rows", {made}, {static_cast<int>(made.positions.size()) - 1}, false, false);
    return {made, sums};
  }

  [[nodiscard]] std::vector<Tensor> backward() const {
    const bool isCausal = std::any_of(m_call.arguments.begin(), m_call.arguments.end(),
                                      [](const Value& value) { return value.text == "True"; });
    const Heads of = heads(1, isCausal);
    std::vector<Tensor> all{tensor(0)};
    all.insert(all.end(), of.all.begin(), of.all.end());
    Labels gradient = of.query;
    gradient.insert(gradient.end(), {kTokens, of.labels[2].back()});
    std::vector<Labels> labels{gradient};
    labels.insert(labels.end(), of.labels.begin(), of.labels.end());
    const std::string& name = m_call.name;
    return {attended(name + "_query", all, labels, of.labels[0], of.work * Rational(2)),
            attended(name + "_key", all, labels, of.labels[1], of.work * Rational(2)),
            attended(name + "_value", all, labels, of.labels[2], of.work)};
  }
};

}  // namespace

std::vector<Tensor> attentionOf(Builder& builder, const Values& values, const Call& call) {
  return Attention(builder, values, call).made();
}

}  // namespace coppice::io::fx
