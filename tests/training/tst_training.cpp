// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>

#include "coppice/test_paths.hpp"
#include "io/model_json.hpp"
#include "io/training_json.hpp"
#include "training/block.hpp"
#include "training/search.hpp"
#include "training/step.hpp"
#include "training/weighted_search.hpp"

using namespace coppice;
using namespace coppice::training;

namespace {

std::string contentsOf(const std::string& path) {
  std::ifstream file(std::string(COPPICE_TEST_DATA) + "/reference/" + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

const nlohmann::json& referenceTable() {
  static const nlohmann::json kTable = nlohmann::json::parse(contentsOf("training.json"));
  return kTable;
}

Problem problemNamed(const std::string& name) {
  const auto problem = io::readTrainingProblem(contentsOf("training/" + name + ".json"), name);
  if (!problem) {
    qFatal("%s", describe(problem.error()).c_str());
  }
  return *problem;
}

const Model& presetNamed(const std::string& name) {
  const auto presets = modelPresets();
  const auto found = std::find_if(presets.begin(), presets.end(),
                                  [&](const ModelPreset& preset) { return preset.model.name == name; });
  if (found == presets.end()) {
    qFatal("there is no preset %s", name.c_str());
  }
  return found->model;
}

using Triple = std::array<std::string, 3>;

Triple tripleOf(const Cost& cost) {
  return {cost.compute.toString(), cost.communication.toString(), cost.memory.toString()};
}

QString text(const std::vector<Triple>& front) {
  QString all;
  for (const Triple& each : front) {
    all += QString::fromStdString(each[0] + " " + each[1] + " " + each[2] + "\n");
  }
  return all;
}

std::vector<Triple> triplesOf(const Front& front) {
  std::vector<Triple> triples;
  for (const Plan& plan : front.plans) {
    triples.push_back(tripleOf(plan.cost));
  }
  return triples;
}

/// Every choice of a state of every tensor and of what each operation divides, by the rules as they are written, apart
/// from the search: states are words.
class EveryPlan {
public:
  explicit EveryPlan(const Problem& problem) : m_problem(problem) {}

  /// Costs of all plans.
  const std::vector<Cost>& all() {
    m_outputs.resize(m_problem.nodes.size());
    if (m_all.empty()) {
      go(0, {});
    }
    return m_all;
  }

  std::vector<Triple> front() {
    all();
    std::vector<Cost> best;
    for (const Cost& cost : m_all) {
      const bool isCovered = std::any_of(m_all.begin(), m_all.end(), [&](const Cost& other) {
        return !(other == cost) && other.compute <= cost.compute && other.communication <= cost.communication &&
               other.memory <= cost.memory;
      });
      if (!isCovered && std::find(best.begin(), best.end(), cost) == best.end()) {
        best.push_back(cost);
      }
    }
    std::sort(best.begin(), best.end(), [](const Cost& a, const Cost& b) {
      return std::tie(a.compute, a.communication, a.memory) < std::tie(b.compute, b.communication, b.memory);
    });
    std::vector<Triple> triples;
    for (const Cost& cost : best) {
      triples.push_back(tripleOf(cost));
    }
    return triples;
  }

private:
  [[nodiscard]] std::int64_t sizeOf(int axis) const { return m_problem.mesh[axis].size; }
  [[nodiscard]] bool has(int node, Dim dim) const {
    const auto& dims = m_problem.nodes[node].dims;
    return std::find(dims.begin(), dims.end(), dim) != dims.end();
  }

  [[nodiscard]] bool divides(const State& state) const {
    std::map<Dim, std::int64_t> product;
    for (std::size_t axis = 0; axis < state.size(); ++axis) {
      if (state[axis] >= 0) {
        product[state[axis]] =
            (product.contains(state[axis]) ? product[state[axis]] : 1) * sizeOf(static_cast<int>(axis));
      }
    }
    return std::all_of(product.begin(), product.end(),
                       [&](const auto& each) { return m_problem.dims[each.first].size % each.second == 0; });
  }

  /// The least over all orders; -1 = impossible.
  [[nodiscard]] Rational convert(int node, const State& from, const State& to) const {
    if (from == to) {
      return 0;
    }
    std::optional<Rational> best;
    for (std::size_t axis = 0; axis < from.size(); ++axis) {
      if (from[axis] == to[axis]) {
        continue;
      }
      if (from[axis] >= 0 && to[axis] == kPartial) {
        return -1;
      }
      State next = from;
      next[axis] = to[axis];
      if (!divides(next)) {
        continue;
      }
      Rational bytes = m_problem.nodes[node].bytes;
      for (const Dim dim : m_problem.nodes[node].dims) {
        bytes *= Rational(m_problem.dims[dim].size);
      }
      for (std::size_t other = 0; other < from.size(); ++other) {
        if (other != axis && from[other] >= 0) {
          bytes /= Rational(sizeOf(static_cast<int>(other)));
        }
      }
      Rational time = 0;
      if (from[axis] == kPartial) {
        time = bytes / m_problem.mesh[axis].rates[to[axis] == kReplicated ? 2 : 1];
      } else if (from[axis] >= 0) {
        time = bytes / m_problem.mesh[axis].rates[to[axis] == kReplicated ? 0 : 3];
      }
      const Rational rest = convert(node, next, to);
      if (rest >= Rational(0) && (!best || time + rest < *best)) {
        best = time + rest;
      }
    }
    return best.value_or(Rational(-1));
  }

  /// By axis, what the node does: -1 none, -2 - i partial sums through input i (elementwise: all), else an index.
  void choose(int node, std::vector<int>& choice, const Cost& sum) {
    const Node& of = m_problem.nodes[node];
    if (choice.size() < m_problem.mesh.size()) {
      const std::size_t axis = choice.size();
      std::set<int> options{-1};
      if (sizeOf(static_cast<int>(axis)) > 1) {
        options.insert(of.dims.begin(), of.dims.end());
        if (of.op == Op::einsum || of.op == Op::reduction) {
          for (std::size_t i = 0; i < of.inputs.size(); ++i) {
            const auto& dims = m_problem.nodes[of.inputs[i]].dims;
            options.insert(dims.begin(), dims.end());
            options.insert(-2 - static_cast<int>(i));
          }
        } else if (of.op == Op::elementwise && of.isLinear) {
          options.insert(-2);
        }
        const bool isAlways = !of.isAlwaysDivided.empty() && of.isAlwaysDivided[axis];
        std::erase_if(options, [&](int option) {
          return option < 0 ? isAlways
                            : !of.divides.empty() && std::find(of.divides[axis].begin(), of.divides[axis].end(),
                                                               option) == of.divides[axis].end();
        });
      }
      for (const int option : options) {
        choice.push_back(option);
        choose(node, choice, sum);
        choice.pop_back();
      }
      return;
    }
    State output;
    std::vector<State> inputs(of.inputs.size());
    Rational work = 2;
    std::set<Dim> indices(of.dims.begin(), of.dims.end());
    for (const int input : of.inputs) {
      indices.insert(m_problem.nodes[input].dims.begin(), m_problem.nodes[input].dims.end());
    }
    for (const Dim dim : indices) {
      work *= Rational(m_problem.dims[dim].size);
    }
    for (std::size_t axis = 0; axis < choice.size(); ++axis) {
      const int option = choice[axis];
      output.push_back(option == -1 ? kReplicated : option < -1 || !has(node, option) ? kPartial : option);
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const bool passes = option < -1 && (of.op == Op::elementwise || option == -2 - static_cast<int>(i));
        inputs[i].push_back(passes ? kPartial : option >= 0 && has(of.inputs[i], option) ? option : kReplicated);
      }
      work /= Rational(option >= 0 ? sizeOf(static_cast<int>(axis)) : 1);
    }
    if (!divides(output) || (of.fixed && output != *of.fixed) ||
        !std::all_of(inputs.begin(), inputs.end(), [&](const State& s) { return divides(s); })) {
      return;
    }
    Cost cost = sum;
    Rational moved = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const State& from = m_outputs[of.inputs[i]];
      if (of.op == Op::update && i == 1) {
        if (from != inputs[i]) {
          return;
        }
        continue;
      }
      const Rational time = convert(of.inputs[i], from, inputs[i]);
      if (time < Rational(0)) {
        return;
      }
      moved += time * of.times;
    }
    m_outputs[node] = output;
    const Rational compute = of.op == Op::einsum ? work * of.times / m_problem.gflops : Rational(0);
    Rational sent = of.sent;
    Rational memory = of.held;
    for (const Dim dim : of.dims) {
      memory *= Rational(m_problem.dims[dim].size);
    }
    for (std::size_t axis = 0; axis < output.size(); ++axis) {
      memory /= Rational(output[axis] >= 0 ? sizeOf(static_cast<int>(axis)) : 1);
      sent /= Rational(output[axis] >= 0 ? sizeOf(static_cast<int>(axis)) : 1);
    }
    go(node + 1, {cost.compute + compute, cost.communication + moved + sent, cost.memory + memory});
    if (of.isAgain) {
      m_outputs[node] = output;
      go(node + 1,
         {cost.compute + compute * Rational(2), cost.communication + moved * Rational(2) + sent, cost.memory});
    }
  }

  void go(int node, const Cost& sum) {
    if (node == static_cast<int>(m_problem.nodes.size())) {
      if (std::find(m_all.begin(), m_all.end(), sum) == m_all.end()) {
        m_all.push_back(sum);
      }
      return;
    }
    std::vector<int> choice;
    choose(node, choice, sum);
  }

  const Problem& m_problem;
  std::vector<State> m_outputs;
  std::vector<Cost> m_all;
};

/// A graph of up to five nodes.
Problem randomProblem(unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  Problem problem;
  constexpr std::array<std::int64_t, 5> kSizes{2, 4, 6, 8, 3};
  for (int i = 0; i < 3; ++i) {
    problem.dims.push_back({std::string(1, static_cast<char>('a' + i)), kSizes[below(5)]});
  }
  const int axes = 1 + below(2);
  for (int i = 0; i < axes; ++i) {
    Axis axis{1 + below(3), {}};
    for (Rational& rate : axis.rates) {
      rate = Rational(1 + below(6), 1 + below(2));
    }
    problem.mesh.push_back(axis);
  }
  problem.gflops = Rational(1 + below(5));
  const int count = 3 + below(3 - axes + 1);
  for (int i = 0; i < count; ++i) {
    Node node;
    node.name = std::string(1, static_cast<char>('p' + i));
    node.bytes = Rational(1 + below(4));
    node.held = Rational(below(3));
    std::set<Dim> dims;
    if (i < 2) {
      for (Dim dim = 0; dim < 3; ++dim) {
        if (below(3) > 0) {
          dims.insert(dim);
        }
      }
    } else {
      constexpr std::array kOps{Op::einsum, Op::einsum, Op::elementwise, Op::reduction, Op::update};
      node.op = kOps[below(5)];
      node.inputs = {below(i)};
      if (node.op != Op::reduction) {
        node.inputs.push_back(below(i));
      }
      node.isLinear = below(2) == 0;
      node.isAgain = node.op != Op::update && below(4) == 0;
      for (const int input : node.inputs) {
        for (const Dim dim : problem.nodes[input].dims) {
          if (node.op == Op::elementwise || node.op == Op::update || below(2) == 0) {
            dims.insert(dim);
          }
        }
      }
      if (node.op == Op::update && std::any_of(node.inputs.begin(), node.inputs.end(), [&](int input) {
            return problem.nodes[input].dims.size() != dims.size();
          })) {
        node.op = Op::elementwise;
      }
    }
    node.dims.assign(dims.begin(), dims.end());
    problem.nodes.push_back(node);
  }
  // In every second graph, what a step of several micro-batches and the roles of axes ask for.
  for (std::size_t i = 0; i < problem.nodes.size() && seed % 2 == 1; ++i) {
    Node& node = problem.nodes[i];
    node.times = Rational(1 + below(3));
    node.sent = Rational(below(3));
    for (int axis = 0; axis < axes && below(2) == 0; ++axis) {
      node.divides.resize(static_cast<std::size_t>(axes), {0, 1, 2});
      node.divides[static_cast<std::size_t>(axis)] = {below(3), below(3)};
      node.isAlwaysDivided.assign(static_cast<std::size_t>(axes), false);
      node.isAlwaysDivided[static_cast<std::size_t>(axis)] = below(4) == 0;
    }
  }
  return problem;
}

/// A transformer block with its backward pass: attention, a gated feed-forward part, residuals, updates.
Problem transformerBlock(const std::vector<std::int64_t>& mesh) {
  std::ostringstream json;
  json
      << R"({"dims": {"b": 64, "s": 4096, "t": 4096, "n": 64, "d": 128, "h": 8192, "f": 28672}, "gflops": 989000, "mesh": [)";
  for (std::size_t axis = 0; axis < mesh.size(); ++axis) {
    const int rate = axis + 1 == mesh.size() ? 450 : 50;
    json << (axis == 0 ? "" : ", ") << R"({"size": )" << mesh[axis] << R"(, "allgather": )" << rate
         << R"(, "reduce_scatter": )" << rate << R"(, "allreduce": ")" << rate << R"(/2", "alltoall": )" << rate << "}";
  }
  json << R"(], "nodes": [)";
  bool isFirst = true;
  const auto node = [&](const char* name, const char* op, const char* inputs, const char* dims, const char* more = "") {
    const auto list = [](const std::string& words) {
      std::istringstream in(words);
      std::string out;
      for (std::string word; in >> word;) {
        out += (out.empty() ? "\"" : ", \"") + word + "\"";
      }
      return out;
    };
    json << (isFirst ? "" : ", ") << R"({"name": ")" << name << R"(", "op": ")" << op << R"(", "bytes": 2, "inputs": [)"
         << list(inputs) << R"(], "dims": [)" << list(dims) << "]" << more << "}";
    isFirst = false;
  };
  const char* kKept = R"(, "held": 2)";
  const char* kWeight = R"(, "held": 16)";
  node("x", "placeholder", "", "b s h", kKept);
  for (const char* w : {"wq", "wk", "wv"}) {
    node(w, "placeholder", "", "h n d", kWeight);
  }
  node("wo", "placeholder", "", "n d h", kWeight);
  for (const char* w : {"w1", "w3"}) {
    node(w, "placeholder", "", "h f", kWeight);
  }
  node("w2", "placeholder", "", "f h", kWeight);
  node("xa", "elementwise", "x", "b s h");
  node("q", "einsum", "xa wq", "b s n d", kKept);
  node("k", "einsum", "xa wk", "b s n d", kKept);
  node("v", "einsum", "xa wv", "b s n d", kKept);
  node("o", "elementwise", "q k v", "b s n d", kKept);
  node("y", "einsum", "o wo", "b s h");
  node("r", "elementwise", "y x", "b s h", R"(, "linear": true, "held": 2)");
  node("ra", "elementwise", "r", "b s h");
  node("g", "einsum", "ra w1", "b s f", kKept);
  node("u", "einsum", "ra w3", "b s f", kKept);
  node("a", "elementwise", "g u", "b s f");
  node("m", "einsum", "a w2", "b s h");
  node("z", "elementwise", "m r", "b s h", R"(, "linear": true)");
  node("dz", "placeholder", "", "b s h");
  node("da", "einsum", "dz w2", "b s f");
  node("dw2", "einsum", "a dz", "f h");
  node("dg", "elementwise", "da g u", "b s f");
  node("du", "elementwise", "da g u", "b s f");
  node("dw1", "einsum", "ra dg", "h f");
  node("dw3", "einsum", "ra du", "h f");
  node("dr1", "einsum", "dg w1", "b s h");
  node("dr3", "einsum", "du w3", "b s h");
  node("drs", "elementwise", "dr1 dr3", "b s h", R"(, "linear": true)");
  node("dr", "elementwise", "drs r dz", "b s h");
  node("do", "einsum", "dr wo", "b s n d");
  node("dwo", "einsum", "o dr", "n d h");
  node("dq", "elementwise", "do q k v", "b s n d");
  node("dk", "elementwise", "do q k v", "b s n d");
  node("dv", "elementwise", "do q k v", "b s n d");
  node("dwq", "einsum", "xa dq", "h n d");
  node("dwk", "einsum", "xa dk", "h n d");
  node("dwv", "einsum", "xa dv", "h n d");
  node("dxq", "einsum", "dq wq", "b s h");
  node("dxk", "einsum", "dk wk", "b s h");
  node("dxv", "einsum", "dv wv", "b s h");
  node("dxs", "elementwise", "dxq dxk dxv", "b s h", R"(, "linear": true)");
  node("dx", "elementwise", "dxs x dr", "b s h");
  const std::vector<std::pair<const char*, const char*>> updates{{"pq", "dwq wq"}, {"pk", "dwk wk"}, {"pv", "dwv wv"}};
  for (const auto& [name, inputs] : updates) {
    node(name, "update", inputs, "h n d");
  }
  node("po", "update", "dwo wo", "n d h");
  node("p1", "update", "dw1 w1", "h f");
  node("p3", "update", "dw3 w3", "h f");
  node("p2", "update", "dw2 w2", "f h");
  json << "]}";
  const auto problem = io::readTrainingProblem(json.str(), "block");
  if (!problem) {
    qFatal("%s", describe(problem.error()).c_str());
  }
  return *problem;
}

Rational shortestStep(const Front& front) {
  std::optional<Rational> least;
  for (const Plan& plan : front.plans) {
    const Rational step = std::max(plan.cost.compute, plan.cost.communication);
    least = least ? std::min(*least, step) : step;
  }
  return *least;
}

}  // namespace

class TestTraining : public QObject {
  Q_OBJECT

private slots:
  void referenceFronts_data() {
    QTest::addColumn<int>("index");
    for (std::size_t i = 0; i < referenceTable().size(); ++i) {
      QTest::newRow(referenceTable()[i].at("name").get<std::string>().c_str()) << static_cast<int>(i);
    }
  }
  void referenceFronts() {
    QFETCH(int, index);
    const auto& entry = referenceTable()[static_cast<std::size_t>(index)];
    std::vector<Triple> expected;
    for (const auto& point : entry.at("front")) {
      expected.push_back({point.at("compute"), point.at("communication"), point.at("memory")});
    }
    const Problem problem = problemNamed(entry.at("name"));
    const auto front = findFront(problem);
    QVERIFY2(front.hasValue(), front ? "" : describe(front.error()).c_str());
    QCOMPARE(text(triplesOf(*front)), text(expected));
    QVERIFY(!front->isThinned);
    for (const Plan& plan : front->plans) {
      const auto cost = costOf(problem, plan.strategies);
      QVERIFY(cost.has_value());
      QCOMPARE(text({tripleOf(*cost)}), text({tripleOf(plan.cost)}));
    }
  }

  /// Parameters as the papers count them, without norms; tied or not, the output matrix counts.
  void modelPresets_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<double>("billions");
    QTest::newRow("llama-2-7b") << "llama-2-7b" << 6.74;
    QTest::newRow("llama-3-8b") << "llama-3-8b" << 8.03;
    QTest::newRow("llama-3-70b") << "llama-3-70b" << 70.55;
    QTest::newRow("llama-3-405b") << "llama-3-405b" << 405.85;
    QTest::newRow("mistral-7b") << "mistral-7b" << 7.24;
    QTest::newRow("mixtral-8x7b") << "mixtral-8x7b" << 46.7;
    // The table counts each model by its own formula, with one embedding.
    QTest::newRow("megatron-18b") << "megatron-18b" << 18.43;
    QTest::newRow("megatron-1t") << "megatron-1t" << 1007.94;
    QTest::newRow("gpt-3-175b") << "gpt-3-175b" << 174.56;
  }
  void modelPresets() {
    QFETCH(QString, name);
    QFETCH(double, billions);
    const auto presets = training::modelPresets();
    const auto found = std::find_if(presets.begin(), presets.end(),
                                    [&](const ModelPreset& preset) { return preset.model.name == name.toStdString(); });
    QVERIFY(found != presets.end());
    QVERIFY(!found->source.empty());
    QCOMPARE(std::round(found->model.parameters().toDouble() / 1e7) / 100, billions);
  }

  void modelConfigs() {
    const auto llama = io::readModelConfig(
        R"({"model_type": "llama", "hidden_size": 8192, "intermediate_size": 28672, "num_attention_heads": 64,
            "num_hidden_layers": 80, "num_key_value_heads": 8, "vocab_size": 128256, "rope_theta": 500000.0})",
        "config.json");
    QVERIFY2(llama.hasValue(), llama ? "" : describe(llama.error()).c_str());
    const Model& preset = presetNamed("llama-3-70b");
    QCOMPARE(llama->parameters().toString(), preset.parameters().toString());
    QCOMPARE(llama->keyHeads, preset.keyHeads);
    const auto gpt2 = io::readModelConfig(
        R"({"model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_layer": 12, "vocab_size": 50257, "n_inner": null})",
        "config.json");
    QVERIFY(gpt2.hasValue());
    QCOMPARE(gpt2->feedForward, 3072);
    QVERIFY(!gpt2->isGated);
    const auto mixtral = io::readModelConfig(
        R"({"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
            "num_hidden_layers": 32, "num_key_value_heads": 8, "vocab_size": 32000, "num_local_experts": 8,
            "num_experts_per_tok": 2})",
        "config.json");
    QVERIFY2(mixtral.hasValue(), mixtral ? "" : describe(mixtral.error()).c_str());
    QCOMPARE(mixtral->parameters().toString(), presetNamed("mixtral-8x7b").parameters().toString());
    QCOMPARE(std::round(mixtral->activeParameters().toDouble() / 1e8) / 10, 12.9);
    const std::map<std::string, ErrorCode> bad{
        {"{}", ErrorCode::badInput},
        {R"({"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 3, "num_key_value_heads": 2,
             "vocab_size": 9})",
         ErrorCode::badInput},
        {R"({"num_local_experts": 8, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
             "vocab_size": 9})",
         ErrorCode::badInput},
        {R"({"hidden_size": -8})", ErrorCode::badInput}};
    for (const auto& [text, code] : bad) {
      const auto model = io::readModelConfig(text, "config.json");
      QVERIFY2(!model, text.c_str());
      QCOMPARE(model.error().code, code);
    }
  }

  /// One device has no communication, and the operations that are counted by hand: 2 for each parameter and token
  /// forward, 4 backward, and attention.
  void blocksOfModels() {
    const Model& model = presetNamed("llama-3-8b");
    const Job job{.batch = 8, .sequence = 4096};
    Axis axis{1, {}};
    axis.rates.fill(1);
    const auto alone = findFront(*blockOf(model, job, {axis}, 1));
    QVERIFY2(alone.hasValue(), alone ? "" : describe(alone.error()).c_str());
    QCOMPARE(alone->plans.size(), std::size_t{1});
    const Rational tokens = Rational(job.batch) * Rational(job.sequence);
    // Scores and values are two products of s x s x d for each head, of which half is masked; 2.5 times that backward.
    const Rational attention = Rational(2) * Rational(2) * tokens * Rational(job.sequence) * Rational(model.heads) *
                               Rational(model.headSize) * Rational(7, 4);
    QCOMPARE(alone->plans[0].cost.compute.toString(),
             (Rational(6) * tokens * model.blockParameters() + attention).toString());
    QVERIFY(alone->plans[0].cost.communication.isZero());

    axis.size = 8;
    axis.rates = {Rational(3600, 7), Rational(3600, 7), Rational(1800, 7), Rational(4114)};
    const Problem problem = *blockOf(model, job, {axis}, 989'400);
    const auto front = findFront(problem);
    QVERIFY2(front.hasValue(), front ? "" : describe(front.error()).c_str());
    QVERIFY(front->isExact());
    for (const Plan& plan : front->plans) {
      QCOMPARE(text({tripleOf(*costOf(problem, plan.strategies))}), text({tripleOf(plan.cost)}));
    }
    // Eight data parallel devices with replicated weights: two bytes of each gradient are allreduced, and nothing else.
    const Rational gradients = Rational(2) * model.blockParameters() / Rational(1800, 7);
    QVERIFY(std::any_of(front->plans.begin(), front->plans.end(), [&](const Plan& plan) {
      return plan.cost.communication <= gradients &&
             plan.cost.compute == alone->plans[0].cost.compute / Rational(8) / Rational(989'400);
    }));
  }

  void badProblems_data() {
    QTest::addColumn<QString>("file");
    QTest::addColumn<QString>("fault");
    const auto row = [](const char* name, const char* nodes, const char* fault) {
      QTest::newRow(name) << QStringLiteral(
                                 R"({"dims": {"a": 4, "b": 6}, "gflops": 1, "mesh": [{"size": 2, "allgather": 1,
        "reduce_scatter": 1, "allreduce": "1/2", "alltoall": 1}], "nodes": [%1]})")
                                 .arg(QString::fromUtf8(nodes))
                          << QString::fromUtf8(fault);
    };
    row("no nodes", "", "at least one node");
    row("operation", R"({"name": "x", "op": "conv", "dims": ["a"]})", "\"conv\" is not an operation");
    row("dimension", R"({"name": "x", "op": "placeholder", "dims": ["c"]})", "\"c\" is not a dimension");
    row("twice", R"({"name": "x", "op": "placeholder", "dims": ["a", "a"]})", "has a dimension twice");
    row("input", R"({"name": "x", "op": "einsum", "inputs": ["y"], "dims": ["a"]})", "\"y\" is not an earlier node");
    row("no input", R"({"name": "x", "op": "einsum", "dims": ["a"]})", "has no inputs");
    row("name", R"({"name": "x", "op": "placeholder", "dims": []}, {"name": "x", "op": "placeholder", "dims": []})",
        "two nodes are named \"x\"");
    row("fixed", R"({"name": "x", "op": "placeholder", "dims": ["a"], "fixed": ["a", "R"]})", "2 entries");
    row("fixed elsewhere", R"({"name": "x", "op": "placeholder", "dims": ["a"], "fixed": ["b"]})", "does not have");
    row("output", R"({"name": "x", "op": "placeholder", "dims": ["a"]},
                     {"name": "y", "op": "einsum", "inputs": ["x"], "dims": ["b"]})",
        "none of its inputs has");
    row("update",
        R"({"name": "x", "op": "placeholder", "dims": ["a"]}, {"name": "w", "op": "placeholder", "dims": ["b"]},
                     {"name": "y", "op": "update", "inputs": ["x", "w"], "dims": ["b"]})",
        "updates a parameter");
  }
  void badProblems() {
    QFETCH(QString, file);
    QFETCH(QString, fault);
    const auto problem = io::readTrainingProblem(file.toStdString(), "problem.json");
    QVERIFY(!problem);
    QCOMPARE(problem.error().code, ErrorCode::badInput);
    const QString told = QString::fromStdString(describe(problem.error()));
    QVERIFY2(told.contains(fault) && told.startsWith("problem.json"), qPrintable(told));
  }

  void everyPlanOfSmallGraphs() {
    int solved = 0;
    for (unsigned seed = 0; seed < 120; ++seed) {
      const Problem problem = randomProblem(seed);
      const auto front = findFront(problem);
      const std::vector<Triple> expected = EveryPlan(problem).front();
      if (!front) {
        QCOMPARE(front.error().code, ErrorCode::infeasible);
        QVERIFY2(expected.empty(), std::to_string(seed).c_str());
        continue;
      }
      QCOMPARE(QString::number(seed) + "\n" + text(triplesOf(*front)), QString::number(seed) + "\n" + text(expected));
      for (const Plan& plan : front->plans) {
        QCOMPARE(text({tripleOf(*costOf(problem, plan.strategies))}), text({tripleOf(plan.cost)}));
      }
      ++solved;
    }
    QVERIFY(solved > 80);
  }

  void fixedOnOneDevice() {
    // An axis of one device has nothing to divide, whatever is fixed there.
    const auto read = [](const char* fixed) {
      return io::readTrainingProblem(
          std::string(R"({"dims": {"a": 3, "b": 4}, "gflops": 1, "mesh": [
            {"size": 1, "allgather": 1, "reduce_scatter": 1, "allreduce": 1, "alltoall": 1},
            {"size": 2, "allgather": 1, "reduce_scatter": 1, "allreduce": 1, "alltoall": 1}], "nodes": [
            {"name": "x", "op": "placeholder", "dims": ["a", "b"], "bytes": 2, "held": 2, "fixed": [)") +
              fixed +
              R"(, "b"]}, {"name": "y", "op": "elementwise", "inputs": ["x"], "dims": ["a", "b"], "held": 2}]})",
          "problem.json");
    };
    const auto divided = findFront(*read("\"a\""));
    const auto replicated = findFront(*read("\"R\""));
    QVERIFY(divided.hasValue() && replicated.hasValue());
    QCOMPARE(text(triplesOf(*divided)), text(triplesOf(*replicated)));
    QCOMPARE(divided->plans.size(), std::size_t{1});
    QCOMPARE(divided->plans[0].cost.memory.toString(), std::string("24"));
  }

  /// The plan of least weighted cost is one of all plans, and no plan is below its bound.
  void weightedPlans() {
    int solved = 0;
    for (unsigned seed = 0; seed < 120; ++seed) {
      const Problem problem = randomProblem(seed);
      EveryPlan every(problem);
      const std::vector<Cost>& all = every.all();
      if (all.empty()) {
        continue;
      }
      WeightedSearch search(problem, {});
      for (const auto& [compute, communication, memory] :
           {std::array{64.0, 1.0, 0.0}, std::array{1.0, 1.0, 0.5}, std::array{0.0, 1.0, 3.0}}) {
        const auto answer = search.best({.compute = compute, .communication = communication, .memory = memory});
        QVERIFY(std::find(all.begin(), all.end(), answer.plan->cost) != all.end());
        QCOMPARE(text({tripleOf(*costOf(problem, answer.plan->strategies))}), text({tripleOf(answer.plan->cost)}));
        const auto valueOf = [&](const Cost& cost) {
          return cost.compute.toDouble() * answer.compute + cost.communication.toDouble() * answer.communication +
                 cost.memory.toDouble() * answer.memory;
        };
        double least = valueOf(all.front());
        for (const Cost& cost : all) {
          least = std::min(least, valueOf(cost));
        }
        QVERIFY(answer.least <= least * (1 + 1e-12));
        QVERIFY(answer.least >= least * (1 - 1e-9) - 1);
        QVERIFY(valueOf(answer.plan->cost) <= least * (1 + 1e-6) + 1);
        ++solved;
      }
    }
    QVERIFY(solved > 200);
  }

  /// The layouts that the choice tries: all products, and none twice.
  void layouts() {
    const Model& model = presetNamed("llama-3-8b");
    const Job job{.batch = 64, .sequence = 8192};
    const auto layouts = layoutsOf(model, job, 16);
    std::set<std::string> seen;
    for (const Layout& layout : layouts) {
      std::int64_t product = 1;
      for (const std::int64_t size : layout.sizes) {
        product *= size;
      }
      QCOMPARE(product, 16);
      QVERIFY(layout.size(Role::context) <= 2);  // 4096 tokens of a sequence at least
      QCOMPARE(layout.size(Role::expert), 1);
      QVERIFY2(seen.insert(layout.text()).second, layout.text().c_str());
    }
    for (const char* each : {"dp16", "tp8 dp2", "dp2 tp8", "tp4 pp4", "pp4 dp4", "tp2 cp2 dp2 pp2", "pp16"}) {
      QVERIFY2(seen.contains(each), each);
    }
    LayoutLimits limits;
    limits.fixed = {0, 1, 0, 8, 2};
    for (const Layout& layout : layoutsOf(model, job, 16, limits)) {
      QVERIFY(layout.size(Role::tensor) == 8 && layout.stages() == 2);
    }
    limits.fixed = {3, 0, 0, 0, 0};
    QVERIFY(layoutsOf(model, job, 16, limits).empty());
  }

  /// Of small models the exact front of the same block has no plan below the bound, and none better than by the bound.
  void steps_data() {
    QTest::addColumn<std::int64_t>("experts");
    QTest::addColumn<std::int64_t>("memory");
    QTest::addColumn<bool>("again");
    QTest::newRow("roomy") << std::int64_t{0} << std::int64_t{1'000'000'000} << false;
    QTest::newRow("tight") << std::int64_t{0} << std::int64_t{15'000'000} << false;
    QTest::newRow("computed again") << std::int64_t{0} << std::int64_t{13'000'000} << true;
    QTest::newRow("experts") << std::int64_t{4} << std::int64_t{80'000'000} << false;
  }
  void steps() {
    QFETCH(std::int64_t, experts);
    QFETCH(std::int64_t, memory);
    QFETCH(bool, again);
    StepDemand demand;
    demand.model = {"small", 4, 128, 4, 2, 32, 256, 512, true, experts, 2};
    demand.job = {.batch = 4, .sequence = 64, .stateBytes = 16, .mayRecompute = again};
    demand.gflops = 1000;
    demand.memory = Rational(memory);
    int compared = 0;
    for (const Layout& layout : layoutsOf(demand.model, demand.job, 4, {.fixed = {}, .leastTokens = 32})) {
      if (layout.order.back() != kPipeline || layout.order.front() != static_cast<int>(Role::tensor)) {
        continue;  // the order changes the rates, which are given here
      }
      PricedLayout priced{layout, {}, 20};
      for (int role = 0; role < kRoles; ++role) {
        priced.axes[role] = {layout.sizes[role], {Rational(30), Rational(30), Rational(15), Rational(40)}};
      }
      const auto answer = bestStep(demand, priced, nullptr, {});
      QVERIFY2(answer.hasValue(), answer ? "" : describe(answer.error()).c_str());
      if (answer->searches == 0) {
        continue;  // the embedding alone is too large
      }
      std::optional<Rational> exact;
      const Rational layers(layersOf(demand.model, layout));
      for (const std::int64_t microBatches : microBatchesOf(demand.job, layout)) {
        const auto problem = blockOf(demand, priced, microBatches);
        const auto front = problem ? findFront(*problem) : problem.error();
        if (!front) {
          continue;
        }
        const Cost outer = outerCost(demand.model, demand.job, 4, demand.gflops);
        for (const Plan& plan : front->plans) {
          if (plan.cost.memory * layers + outer.memory <= demand.memory) {
            const Rational compute = std::max(
                plan.cost.compute * layers,
                plan.cost.compute * Rational(demand.model.blockLayers()) / Rational(layout.stages()) + outer.compute);
            const Rational bubble = compute * Rational(layout.stages() - 1) / Rational(microBatches);
            const Rational step = std::max(compute + bubble, plan.cost.communication * layers);
            exact = exact ? std::min(*exact, step) : step;
          }
        }
      }
      QCOMPARE(answer->best.has_value(), exact.has_value());
      if (exact) {
        QVERIFY(answer->best->cost.memory <= demand.memory);
        QVERIFY(answer->best->overlapped() >= *exact);
        QVERIFY2(*answer->least <= exact->toDouble(), layout.text().c_str());
        ++compared;
      }
    }
    QVERIFY(compared > 0);
  }

  void transformerBlocks_data() {
    QTest::addColumn<QList<int>>("mesh");
    QTest::newRow("8") << QList<int>{8};
    QTest::newRow("16x8") << QList<int>{16, 8};
    QTest::newRow("4x4x8") << QList<int>{4, 4, 8};
  }
  void transformerBlocks() {
    QFETCH(QList<int>, mesh);
    const Problem problem = transformerBlock({mesh.begin(), mesh.end()});
    const auto front = findFront(problem);
    QVERIFY2(front.hasValue(), front ? "" : describe(front.error()).c_str());
    QVERIFY(!front->plans.empty());
    for (const Plan& plan : front->plans) {
      QCOMPARE(text({tripleOf(*costOf(problem, plan.strategies))}), text({tripleOf(plan.cost)}));
    }
    // Where the front is not proved, there is a bound of the step. On one axis more, it may leave more open.
    QCOMPARE(front->leastStep.has_value(), front->isPartial);
    if (front->leastStep) {
      const Rational step = shortestStep(*front);
      QVERIFY2(*front->leastStep <= step, step.toString().c_str());
      QVERIFY2(mesh.size() > 2 || step <= *front->leastStep * Rational(101, 100), step.toString().c_str());
    }
  }

  /// Out of work from the start: the bound is below all plans of the exact front.
  void boundsOfSteps_data() { referenceFronts_data(); }
  void boundsOfSteps() {
    QFETCH(int, index);
    const Problem problem = problemNamed(referenceTable()[static_cast<std::size_t>(index)].at("name"));
    const auto exact = findFront(problem);
    const auto partial = findFront(problem, {.maxWork = 0});
    QVERIFY(exact && partial && exact->isExact() && partial->isPartial);
    QVERIFY(partial->leastStep.has_value() && partial->leastStep->isPositive());
    QVERIFY2(*partial->leastStep <= shortestStep(*exact), partial->leastStep->toString().c_str());
    QVERIFY(shortestStep(*exact) <= shortestStep(*partial));
    for (const Plan& plan : partial->plans) {
      QCOMPARE(text({tripleOf(*costOf(problem, plan.strategies))}), text({tripleOf(plan.cost)}));
    }
  }
};

QTEST_APPLESS_MAIN(TestTraining)
#include "tst_training.moc"
