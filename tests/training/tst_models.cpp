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
  }
  void published() {
    QFETCH(QString, name);
    QFETCH(double, total);
    QFETCH(double, active);
    const Model& model = presetNamed(name.toStdString());
    const auto isNear = [](double ours, double theirs) { return std::abs(ours / theirs - 1) < 0.02; };
    QVERIFY2(isNear(model.parameters().toDouble() / 1e9, total), model.parameters().toString().c_str());
    QVERIFY2(isNear(model.activeParameters().toDouble() / 1e9, active > 0 ? active : total),
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
    QCOMPARE((sum * Rational(model.blockLayers()) + outer).toString(), neededTime(demand, 1).toString());
    // 6 operations for each parameter and token, but for the embedding, which is looked up, and attention.
    const Rational tokens = Rational(demand.job.batch) * Rational(demand.job.sequence);
    const Rational embedding = Rational(model.vocabulary) * Rational(model.hidden);
    const Rational attention =
        tokens * Rational(demand.job.sequence) * Rational(model.heads) * Rational(model.layers) *
        (Rational(4) * Rational(model.queryHeadSize()) + Rational(3) * Rational(model.valueHeadSize()));
    QCOMPARE(neededTime(demand, 1).toString(),
             (Rational(6) * tokens * (model.activeParameters() - embedding) + attention).toString());
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
