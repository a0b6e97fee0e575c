// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <algorithm>
#include <cmath>

#include "io/model_json.hpp"
#include "training/block.hpp"
#include "training/search.hpp"
#include "training/step.hpp"

using namespace coppice;
using namespace coppice::training;

/// Families of models: what their config.json says, how many parameters they have, and the work of their blocks.
namespace {

const Model& presetNamed(const std::string& name) {
  const auto presets = modelPresets();
  const auto found = std::find_if(presets.begin(), presets.end(),
                                  [&](const ModelPreset& preset) { return preset.model.name == name; });
  if (found == presets.end()) {
    qFatal("there is no preset %s", name.c_str());
  }
  return found->model;
}

/// Parameters for a token where authors round more, or leave the embedding out.
constexpr double kOtherwise = -1;

/// In billions, rounded to what is published.
double billions(const Rational& parameters, int digits) {
  const double scale = std::pow(10, digits);
  return std::round(parameters.toDouble() / 1e9 * scale) / scale;
}

}  // namespace

class TestModels : public QObject {
  Q_OBJECT

private slots:
  /// What the authors count, in all and for a token; 0 = the same.
  void published_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<double>("total");
    QTest::addColumn<double>("active");
    const auto row = [](const char* name, double total, double active) {
      QTest::newRow(name) << QString(name) << total << active;
    };
    row("llama-2-13b", 13.0, 0);
    row("llama-2-70b", 69, 0);
    row("llama-3-405b", 406, 0);
    row("mistral-7b", 7.2, 0);
    row("mixtral-8x7b", 46.7, 12.9);
    row("mixtral-8x22b", 141, 39);
    row("qwen2-72b", 72.7, 0);
    row("qwen3-32b", 32.8, 0);
    row("qwen3-235b", 235, 22);
    row("deepseek-v2", 236, 21);
    row("deepseek-v3", 671, 37);
    row("gpt-neox-20b", 20.6, 0);
    row("gpt-3-175b", 175, 0);
    row("megatron-1t", 1008, 0);
    row("qwen3-8b", 8.2, 0);
    row("qwen3-30b", 30.5, 3.3);
    row("llama-4-scout", 109, 17);
    row("glm-4.5", 355, kOtherwise);
    row("minimax-m2", 230, kOtherwise);
    row("gpt-oss-20b", 20.9, kOtherwise);
    row("gpt-oss-120b", 116.8, kOtherwise);
    row("gemma-3-27b", 27, 0);
  }
  void published() {
    QFETCH(QString, name);
    QFETCH(double, total);
    QFETCH(double, active);
    const Model& model = presetNamed(name.toStdString());
    const auto isNear = [](double ours, double theirs) { return std::abs(ours / theirs - 1) < 0.02; };
    QVERIFY2(isNear(model.parameters().toDouble() / 1e9, total), model.parameters().toString().c_str());
    const double ours = model.activeParameters().toDouble() / 1e9;
    QVERIFY2(active == kOtherwise || isNear(ours, active > 0 ? active : total),
             model.activeParameters().toString().c_str());
  }

  void configs_data() {
    QTest::addColumn<std::string>("text");
    QTest::addColumn<double>("total");
    QTest::addColumn<double>("active");
    const auto row = [](const char* name, const char* text, double total, double active) {
      QTest::newRow(name) << std::string(text) << total << active;
    };
    row("DeepSeek-V3",
        R"({"model_type": "deepseek_v3", "first_k_dense_replace": 3, "hidden_size": 7168, "intermediate_size": 18432,
            "kv_lora_rank": 512, "moe_intermediate_size": 2048, "moe_layer_freq": 1, "n_routed_experts": 256,
            "n_shared_experts": 1, "num_attention_heads": 128, "num_experts_per_tok": 8, "num_hidden_layers": 61,
            "num_key_value_heads": 128, "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
            "v_head_dim": 128, "vocab_size": 129280})",
        670.9, 37.4);
    row("DeepSeek-V2-Lite, whose queries are not small",
        R"({"model_type": "deepseek_v2", "first_k_dense_replace": 1, "hidden_size": 2048, "intermediate_size": 10944,
            "kv_lora_rank": 512, "moe_intermediate_size": 1408, "moe_layer_freq": 1, "n_routed_experts": 64,
            "n_shared_experts": 2, "num_attention_heads": 16, "num_experts_per_tok": 6, "num_hidden_layers": 27,
            "num_key_value_heads": 16, "q_lora_rank": null, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
            "v_head_dim": 128, "vocab_size": 102400})",
        15.7, 2.7);
    row("Qwen2-57B-A14B, with a shared expert",
        R"({"model_type": "qwen2_moe", "hidden_size": 3584, "intermediate_size": 18944, "moe_intermediate_size": 2560,
            "shared_expert_intermediate_size": 20480, "num_attention_heads": 28, "num_key_value_heads": 4,
            "num_experts": 64, "num_experts_per_tok": 8, "num_hidden_layers": 28, "decoder_sparse_step": 1,
            "vocab_size": 151936})",
        57.4, 14.2);
    row("Qwen3-30B-A3B, whose heads are not the hidden size",
        R"({"model_type": "qwen3_moe", "hidden_size": 2048, "head_dim": 128, "intermediate_size": 6144,
            "moe_intermediate_size": 768, "num_attention_heads": 32, "num_key_value_heads": 4, "num_experts": 128,
            "num_experts_per_tok": 8, "num_hidden_layers": 48, "vocab_size": 151936})",
        30.5, 3.3);
    row("Mistral-7B",
        R"({"model_type": "mistral", "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
            "num_hidden_layers": 32, "num_key_value_heads": 8, "vocab_size": 32000, "sliding_window": 4096})",
        7.2, 7.2);
    row("Pythia-6.9B",
        R"({"model_type": "gpt_neox", "hidden_size": 4096, "intermediate_size": 16384, "num_attention_heads": 32,
            "num_hidden_layers": 32, "vocab_size": 50432})",
        6.9, 6.9);
    row("Llama 3.2 1B, whose output matrix is the embedding",
        R"({"model_type": "llama", "hidden_size": 2048, "intermediate_size": 8192,
            "num_hidden_layers": 16, "num_attention_heads": 32, "num_key_value_heads": 8,
            "head_dim": 64, "vocab_size": 128256, "tie_word_embeddings": true})",
        1.2, 1.2);
    row("Gemma 3 27B, a part for text, where ties are left out",
        R"({"model_type": "gemma3", "vision_config": {"hidden_size": 1152},
            "text_config": {"model_type": "gemma3_text", "num_hidden_layers": 62, "hidden_size": 5376,
            "intermediate_size": 21504, "num_attention_heads": 32, "num_key_value_heads": 16,
            "head_dim": 128, "vocab_size": 262208, "sliding_window": 1024}})",
        27.0, 27.0);
    row("Llama 4 Scout, a shared expert of the same size",
        R"({"model_type": "llama4", "tie_word_embeddings": false,
            "text_config": {"model_type": "llama4_text", "num_hidden_layers": 48, "hidden_size": 5120,
            "num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128,
            "intermediate_size": 8192, "intermediate_size_mlp": 16384, "num_local_experts": 16,
            "num_experts_per_tok": 1, "vocab_size": 202048, "attention_chunk_size": 8192,
            "interleave_moe_layer_step": 1, "no_rope_layers": []}})",
        107.8, 17.2);
    row("DBRX, with sizes in parts",
        R"({"model_type": "dbrx", "d_model": 6144, "n_heads": 48, "n_layers": 40, "vocab_size": 100352,
            "attn_config": {"kv_n_heads": 8, "clip_qkv": 8}, "ffn_config": {"ffn_hidden_size": 10752,
            "moe_num_experts": 16, "moe_top_k": 4}, "tie_word_embeddings": false})",
        131.6, 36.5);
    row("Falcon 7B, one head of keys",
        R"({"model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32,
            "num_attention_heads": 71, "num_kv_heads": 71, "multi_query": true,
            "new_decoder_architecture": false, "vocab_size": 65024})",
        6.9, 6.9);
    row("Falcon 40B",
        R"({"model_type": "falcon", "hidden_size": 8192, "num_hidden_layers": 60,
            "num_attention_heads": 128, "num_kv_heads": 8, "multi_query": true,
            "new_decoder_architecture": true, "vocab_size": 65024})",
        41.3, 41.3);
    row("OPT 66B",
        R"({"model_type": "opt", "hidden_size": 9216, "ffn_dim": 36864, "num_attention_heads": 72,
            "num_hidden_layers": 64, "vocab_size": 50272})",
        65.7, 65.7);
    row("BLOOM",
        R"({"model_type": "bloom", "n_layer": 70, "n_embed": 14336, "num_attention_heads": 112,
            "vocab_size": 250880})",
        176.2, 176.2);
    row("ERNIE 4.5 300B, first layers without experts",
        R"({"model_type": "ernie4_5_moe", "num_hidden_layers": 54, "hidden_size": 8192,
            "intermediate_size": 28672, "moe_intermediate_size": 3584, "moe_num_experts": 64,
            "moe_k": 8, "moe_layer_start_index": 3, "moe_layer_interval": 1, "num_attention_heads": 64,
            "num_key_value_heads": 8, "vocab_size": 103424, "tie_word_embeddings": false,
            "moe_num_shared_experts": 0})",
        299.5, 47.9);
    row("MiniMax M2, whose layers all have attention",
        R"({"model_type": "minimax_m2", "num_hidden_layers": 62, "hidden_size": 3072,
            "intermediate_size": 1536, "num_local_experts": 256, "num_experts_per_tok": 8,
            "num_attention_heads": 48, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 200064,
            "tie_word_embeddings": false, "attn_type_list": [1, 1, 1, 1]})",
        228.6, 11.0);
  }
  void configs() {
    QFETCH(std::string, text);
    QFETCH(double, total);
    QFETCH(double, active);
    const auto model = io::readModelConfig(text, "config.json");
    QVERIFY2(model.hasValue(), model ? "" : describe(model.error()).c_str());
    QCOMPARE(billions(model->parameters(), 1), total);
    QCOMPARE(billions(model->activeParameters(), 1), active);
  }

  /// Layers that do not see all tokens, and the products of tokens by tokens of a sequence of 10 that are left: of 100.
  void windows_data() {
    QTest::addColumn<std::string>("more");
    QTest::addColumn<int>("layers");
    QTest::addColumn<int>("pairs");
    const auto row = [](const char* more, int layers, int pairs) {
      QTest::newRow(more) << std::string(more) << layers << pairs;
    };
    row(R"("sliding_window": null)", 0, 50);
    row(R"("sliding_window": 4)", 6, 32);  // a triangle of 8, and a band of 4 x 6
    row(R"("sliding_window": 10)", 6, 50);
    row(R"("sliding_window": 4, "use_sliding_window": false)", 0, 50);
    row(R"("sliding_window": 4, "use_sliding_window": true, "max_window_layers": 4)", 2, 44);
    row(R"("sliding_window": 4, "sliding_window_pattern": 3)", 4, 38);
    row(R"("sliding_window": 4, "model_type": "gemma2")", 3, 41);
    row(R"("sliding_window": 4, "model_type": "gpt_oss", "layer_types": ["full_attention", "sliding_attention",
           "full_attention", "full_attention", "full_attention", "full_attention"])",
        1, 47);
    row(R"("attention_chunk_size": 4, "no_rope_layers": [1, 1, 1, 0, 1, 1])", 5, 23);  // 8 + 8 + 2 in five layers
    row(R"("attention_chunk_size": 4, "no_rope_layer_interval": 2)", 3, 34);
    row(R"("attention_chunk_size": 4, "layer_types": ["chunked_attention", "chunked_attention", "full_attention"])", 2,
        39);
    row(R"("index_topk": 4)", 6, 32);
  }
  void windows() {
    QFETCH(std::string, more);
    QFETCH(int, layers);
    QFETCH(int, pairs);
    const auto model = io::readModelConfig(
        R"({"hidden_size": 8, "num_hidden_layers": 6, "num_attention_heads": 2, "vocab_size": 9, )" + more + "}",
        "config.json");
    QVERIFY2(model.hasValue(), model ? "" : describe(model.error()).c_str());
    QCOMPARE(model->window.layers, layers);
    QCOMPARE(model->attendedPart(10).toString(), Rational(pairs, 100).toString());
    // The graph of a block and the sum for the whole step count the same.
    const Job job{.batch = 2, .sequence = 10};
    Axis axis{1, {}};
    axis.rates.fill(1);
    const auto front = findFront(*blockOf(*model, job, {axis}, 1));
    QVERIFY2(front.hasValue(), front ? "" : describe(front.error()).c_str());
    QCOMPARE(front->plans[0].cost.compute.toString(),
             (Rational(6) * Rational(20) * model->blockParameters() + attentionOperations(*model, job)).toString());
  }

  void badConfigs_data() {
    QTest::addColumn<std::string>("more");
    QTest::addColumn<QString>("message");
    const auto row = [](const char* more, const char* message) {
      QTest::newRow(message) << std::string(more) << QString(message);
    };
    row(R"("n_routed_experts": 4, "num_experts_per_tok": 2, "first_k_dense_replace": 2)", "no layer has experts");
    row(R"("n_routed_experts": 4, "num_experts_per_tok": 2, "moe_layer_freq": 2)", "take turns");
    row(R"("n_routed_experts": 4, "num_experts_per_tok": 2, "n_shared_experts": -1)", "not a whole number");
    row(R"("kv_lora_rank": 8)", "there is no qk_nope_head_dim");
    row(R"("num_local_experts": 4, "num_experts_per_tok": 2, "interleave_moe_layer_step": 2)",
        "interleave_moe_layer_step");
    row(R"("num_experts": 4, "num_experts_per_tok": 2, "mlp_only_layers": [1])", "mlp_only_layers");
    row(R"("num_experts": 4, "num_experts_per_tok": 2, "moe_layer_freq": [1, 0])", "moe_layer_freq");
    row(R"("full_attention_interval": 4)", "full_attention_interval: some layers have no attention");
    row(R"("attn_type_list": [0, 1])", "attn_type_list: some layers have no attention");
    row(R"("layer_types": ["full_attention", "linear_attention"])", "some layers have \"linear_attention\"");
    row(R"("layer_types": ["full_attention", "sliding_attention"])", "no size of the window");
    row(R"("is_encoder_decoder": true)", "an encoder and a decoder are of two kinds");
  }
  void badConfigs() {
    QFETCH(std::string, more);
    QFETCH(QString, message);
    const auto model = io::readModelConfig(
        R"({"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 9, )" + more + "}",
        "config.json");
    QVERIFY(!model.hasValue());
    QVERIFY2(QString::fromStdString(describe(model.error())).contains(message), describe(model.error()).c_str());
  }

  /// The products of a block are as many operations as its parameters and attention say, on one device and on eight.
  void work_data() {
    QTest::addColumn<QString>("name");
    for (const ModelPreset& preset : modelPresets()) {
      QTest::newRow(preset.model.name.c_str()) << QString::fromStdString(preset.model.name);
    }
  }
  void work() {
    QFETCH(QString, name);
    const Model& model = presetNamed(name.toStdString());
    StepDemand demand{.model = model,
                      .job = {.batch = model.experts > 0 && model.experts % 3 == 0 ? 960 : 640, .sequence = 2048}};
    demand.gflops = 1;
    const auto block = blockOf(model, demand.job, {{1, {1, 1, 1, 1}}}, 1);
    QVERIFY2(block.hasValue(), block ? "" : describe(block.error()).c_str());
    QVERIFY(!faultOf(*block));
    Rational sum;
    Rational held;
    for (std::size_t i = 0; i < block->nodes.size(); ++i) {
      sum += ownCost(*block, static_cast<int>(i), strategiesOf(*block, static_cast<int>(i)).front()).compute;
      const Node& node = block->nodes[i];
      if (node.op == Op::placeholder && node.held == Rational(16)) {
        held += elementsOf(*block, node.dims);
      }
    }
    QCOMPARE(held.toString(), model.blockParameters().toString());
    const Rational outer = outerCost(model, demand.job, 1, 1).compute;
    const Rational all = leastTime(demand, {}, 1);
    QCOMPARE((sum * Rational(model.blockLayers()) + outer).toString(), all.toString());
    // 6 operations for each parameter and token, but for the embedding, which is looked up, and attention.
    const Rational tokens = Rational(demand.job.batch) * Rational(demand.job.sequence);
    const Rational embedding = Rational(model.isTied ? 0 : model.vocabulary) * Rational(model.hidden);
    const Rational attention =
        Rational(2) * tokens * Rational(demand.job.sequence) * model.attendedPart(demand.job.sequence) *
        Rational(model.heads) * Rational(model.layers) *
        (Rational(4) * Rational(model.queryHeadSize()) + Rational(3) * Rational(model.valueHeadSize()));
    QCOMPARE(all.toString(), (Rational(6) * tokens * (model.activeParameters() - embedding) + attention).toString());
  }

  /// A block of DeepSeek-V3 divided by experts, in small micro-batches: tokens go to them and back by an alltoall,
  /// forward and backward. (In large ones it is less to gather the experts.)
  void dispatch() {
    StepDemand demand{.model = presetNamed("deepseek-v3"), .job = {.batch = 512, .sequence = 4096}};
    demand.gflops = 989'400;
    demand.memory = Rational(80'000'000'000);
    demand.microBatches = 8;
    PricedLayout priced{};
    priced.layout.sizes = {1, 1, 64, 1, 16};
    priced.layout.order = {2, 3, 1, 0, 4};
    for (Axis& axis : priced.axes) {
      axis.rates.fill(1);
    }
    priced.axes[static_cast<std::size_t>(Role::expert)] = {64, {50, 50, 25, 400}};
    priced.handOn = 50;
    const auto answer = bestStep(demand, priced, nullptr, {});
    QVERIFY2(answer.hasValue(), answer ? "" : describe(answer.error()).c_str());
    const auto& plan = answer->best ? answer->best : answer->smallest;
    QVERIFY(plan.has_value());
    const auto block = blockOf(demand, priced, plan->microBatches);
    QVERIFY(block.hasValue());
    int dispatched = 0;
    for (std::size_t i = 0; i < block->nodes.size(); ++i) {
      for (std::size_t input = 0; input < block->nodes[i].inputs.size(); ++input) {
        const int producer = block->nodes[i].inputs[input];
        const auto steps = conversionSteps(*block, producer, plan->block.strategies[producer].output,
                                           plan->block.strategies[i].inputs[input]);
        QVERIFY(steps.has_value());
        dispatched += static_cast<int>(std::count_if(steps->begin(), steps->end(), [](const ConversionStep& step) {
          return step.conversion == Conversion::alltoall;
        }));
      }
    }
    QVERIFY2(dispatched >= 2, std::to_string(dispatched).c_str());
  }
};

QTEST_APPLESS_MAIN(TestModels)
#include "tst_models.moc"
