// SPDX-License-Identifier: Apache-2.0
#include "training/model.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace coppice::training {
namespace {

/// Writes a graph by names.
class GraphBuilder {
public:
  explicit GraphBuilder(Problem& problem) : m_problem(problem) {}

  Node& add(const std::string& name, Op op, const std::vector<std::string>& inputs, std::string_view dims) {
    Node node{.name = name, .op = op, .bytes = 2};
    for (const std::string& input : inputs) {
      node.inputs.push_back(m_nodes.at(input));
    }
    node.dims = dimsOf(dims);
    m_nodes.emplace(name, static_cast<int>(m_problem.nodes.size()));
    m_problem.nodes.push_back(std::move(node));
    return m_problem.nodes.back();
  }

  /// One letter for each dimension.
  [[nodiscard]] std::vector<Dim> dimsOf(std::string_view letters) const {
    std::vector<Dim> dims;
    for (const char letter : letters) {
      const auto found = std::find_if(m_problem.dims.begin(), m_problem.dims.end(),
                                      [&](const Dimension& dim) { return dim.name == std::string_view(&letter, 1); });
      dims.push_back(static_cast<Dim>(found - m_problem.dims.begin()));
    }
    return dims;
  }

private:
  Problem& m_problem;
  std::map<std::string, int> m_nodes;
};

}  // namespace

Rational Model::blockParameters() const {
  const Rational attention =
      Rational(2) * Rational(hidden) * Rational(headSize) * (Rational(heads) + Rational(keyHeads));
  return attention + Rational(isGated ? 3 : 2) * Rational(hidden) * Rational(feedForward);
}

Rational Model::outerParameters() const {
  return Rational(2) * Rational(vocabulary) * Rational(hidden);
}

std::span<const ModelPreset> modelPresets() {
  static const std::vector<ModelPreset> kPresets{
      {{"llama-2-7b", 32, 4096, 32, 32, 128, 11008, 32000, true}, "Touvron et al. 2023, arXiv:2307.09288"},
      {{"llama-3-8b", 32, 4096, 32, 8, 128, 14336, 128256, true}, "Llama team 2024, arXiv:2407.21783, table 3"},
      {{"llama-3-70b", 80, 8192, 64, 8, 128, 28672, 128256, true}, "Llama team 2024, arXiv:2407.21783, table 3"},
      {{"llama-3-405b", 126, 16384, 128, 8, 128, 53248, 128256, true}, "Llama team 2024, arXiv:2407.21783, table 3"},
      {{"mistral-7b", 32, 4096, 32, 8, 128, 14336, 32000, true}, "Jiang et al. 2023, arXiv:2310.06825, table 1"},
      {{"gpt-2", 12, 768, 12, 12, 64, 3072, 50257, false}, "config.json of gpt2"},
      {{"gpt-3-175b", 96, 12288, 96, 96, 128, 49152, 50257, false}, "Brown et al. 2020, arXiv:2005.14165, table 2.1"},
  };
  return kPresets;
}

std::span<const Device> devicePresets() {
  constexpr std::int64_t kGigabyte = 1'000'000'000;
  static constexpr std::array<Device, 6> kDevices{{
      {"v100", 125'000, 32 * kGigabyte, "NVIDIA V100 data sheet, SXM2: tensor performance"},
      {"a100", 312'000, 80 * kGigabyte, "NVIDIA A100 80GB data sheet, SXM: BF16 without sparsity"},
      {"h100", 989'400, 80 * kGigabyte, "NVIDIA H100 data sheet, SXM: BF16, half of the rate with sparsity"},
      {"h200", 989'400, 141 * kGigabyte, "NVIDIA H200 data sheet, SXM: BF16, half of the rate with sparsity"},
      {"mi250x", 383'000, 128 * kGigabyte, "AMD Instinct MI250X data sheet: BF16"},
      {"mi300x", 1'307'400, 192 * kGigabyte, "AMD Instinct MI300X data sheet: BF16"},
  }};
  return kDevices;
}

Problem blockOf(const Model& model, const Job& job, std::vector<Axis> mesh, const Rational& gflops) {
  Problem problem;
  // b: sequences, s and t: tokens, n: heads of keys, g: queries of each, d: size of a head, h: hidden, f: inner size.
  problem.dims = {{"b", job.batch},
                  {"s", job.sequence},
                  {"t", job.sequence},
                  {"n", model.keyHeads},
                  {"g", model.heads / model.keyHeads},
                  {"d", model.headSize},
                  {"h", model.hidden},
                  {"f", model.feedForward}};
  problem.mesh = std::move(mesh);
  problem.gflops = gflops;
  GraphBuilder graph(problem);
  const auto weight = [&](const char* name, const char* dims) {
    graph.add(name, Op::placeholder, {}, dims).held = job.stateBytes;
  };
  const auto kept = [&](Node& node) {
    node.held = 2;
    node.isAgain = job.mayRecompute;
  };
  const auto linear = [&](const char* name, const std::vector<std::string>& inputs, const char* dims) -> Node& {
    Node& node = graph.add(name, Op::elementwise, inputs, dims);
    node.isLinear = true;
    return node;
  };
  /// Takes the tensor along its tokens by their other name.
  const auto renamed = [&](const char* name, const char* input, const char* dims, char to, char from) {
    linear(name, {input}, dims).renamed = {{graph.dimsOf({&to, 1})[0], graph.dimsOf({&from, 1})[0]}};
  };
  const Rational half(1, 2);
  const auto attention = [&](const char* name, const std::vector<std::string>& inputs, const char* dims,
                             const Rational& products) -> Node& {
    Node& node = graph.add(name, Op::einsum, inputs, dims);
    node.indices = graph.dimsOf("bsng");
    node.work = products * half;
    return node;
  };

  graph.add("x", Op::placeholder, {}, "bsh").held = 2;
  weight("wq", "hngd");
  weight("wk", "hnd");
  weight("wv", "hnd");
  weight("wo", "ngdh");
  weight("w1", "hf");
  weight("w2", "fh");
  kept(graph.add("xn", Op::elementwise, {"x"}, "bsh"));
  kept(graph.add("q", Op::einsum, {"xn", "wq"}, "bsngd"));
  kept(graph.add("k", Op::einsum, {"xn", "wk"}, "bsnd"));
  kept(graph.add("v", Op::einsum, {"xn", "wv"}, "bsnd"));
  renamed("kt", "k", "btnd", 't', 's');
  renamed("vt", "v", "btnd", 't', 's');
  kept(attention("o", {"q", "kt", "vt"}, "bsngd", 2));
  graph.add("y", Op::einsum, {"o", "wo"}, "bsh");
  kept(linear("r", {"y", "x"}, "bsh"));
  kept(graph.add("rn", Op::elementwise, {"r"}, "bsh"));
  std::vector<std::string> inner{"u"};
  kept(graph.add("u", Op::einsum, {"rn", "w1"}, "bsf"));
  if (model.isGated) {
    weight("w3", "hf");
    kept(graph.add("e", Op::einsum, {"rn", "w3"}, "bsf"));
    inner.emplace_back("e");
  }
  kept(graph.add("a", Op::elementwise, inner, "bsf"));
  graph.add("m", Op::einsum, {"a", "w2"}, "bsh");
  linear("z", {"m", "r"}, "bsh");
  graph.add("zx", Op::update, {"z", "x"}, "bsh");

  graph.add("dz", Op::placeholder, {}, "bsh");
  graph.add("da", Op::einsum, {"dz", "w2"}, "bsf");
  graph.add("dw2", Op::einsum, {"a", "dz"}, "fh");
  graph.add("p2", Op::update, {"dw2", "w2"}, "fh");
  std::vector<std::string> through{"da"};
  through.insert(through.end(), inner.begin(), inner.end());
  graph.add("du", Op::elementwise, through, "bsf");
  graph.add("dw1", Op::einsum, {"rn", "du"}, "hf");
  graph.add("p1", Op::update, {"dw1", "w1"}, "hf");
  graph.add("dru", Op::einsum, {"du", "w1"}, "bsh");
  std::string back = "dru";
  if (model.isGated) {
    graph.add("de", Op::elementwise, through, "bsf");
    graph.add("dw3", Op::einsum, {"rn", "de"}, "hf");
    graph.add("p3", Op::update, {"dw3", "w3"}, "hf");
    graph.add("dre", Op::einsum, {"de", "w3"}, "bsh");
    linear("drn", {"dru", "dre"}, "bsh");
    back = "drn";
  }
  graph.add("dr", Op::elementwise, {back, "r", "dz"}, "bsh");
  graph.add("do", Op::einsum, {"dr", "wo"}, "bsngd");
  graph.add("dwo", Op::einsum, {"o", "dr"}, "ngdh");
  graph.add("po", Op::update, {"dwo", "wo"}, "ngdh");
  attention("dq", {"do", "q", "kt", "vt"}, "bsngd", 2);
  attention("dkt", {"do", "q", "kt", "vt"}, "btnd", 2);
  attention("dvt", {"do", "q", "kt", "vt"}, "btnd", 1);
  renamed("dk", "dkt", "bsnd", 's', 't');
  renamed("dv", "dvt", "bsnd", 's', 't');
  for (const auto& [gradient, weightName, partial, dims] :
       {std::array{"dq", "wq", "dxq", "hngd"}, std::array{"dk", "wk", "dxk", "hnd"},
        std::array{"dv", "wv", "dxv", "hnd"}}) {
    const std::string name = std::string("d") + weightName;
    graph.add(name, Op::einsum, {"xn", gradient}, dims);
    graph.add(std::string("p") + gradient[1], Op::update, {name, weightName}, dims);
    graph.add(partial, Op::einsum, {gradient, weightName}, "bsh");
  }
  linear("dxn", {"dxq", "dxk", "dxv"}, "bsh");
  graph.add("dx", Op::elementwise, {"dxn", "x", "dr"}, "bsh");
  graph.add("dxz", Op::update, {"dx", "dz"}, "bsh");
  return problem;
}

Cost outerCost(const Model& model, const Job& job, std::int64_t devices, const Rational& gflops) {
  // The output matrix: forward, and backward for its input and itself. The embedding looks up.
  const Rational tokens = Rational(job.batch) * Rational(job.sequence);
  const Rational operations = Rational(6) * tokens * Rational(model.vocabulary) * Rational(model.hidden);
  return {operations / Rational(devices) / gflops, Rational(),
          model.outerParameters() * job.stateBytes / Rational(devices)};
}

}  // namespace coppice::training
