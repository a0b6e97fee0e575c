// SPDX-License-Identifier: Apache-2.0
#include "training/block.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace coppice::training {
namespace {

/// What the axes may divide in a tensor, by their roles.
enum class Kind { activation, parameter };

constexpr std::array<std::string_view, kRoles> kRoleNames{"data", "context", "expert", "tensor"};

/// Writes the graph of a block by names. Dimensions are letters: b sequences, s and t tokens, n heads of keys, g
/// queries of each, d size of a head, h hidden, f inner size, e experts, c tokens of each. Of latent attention: p what
/// queries come of, k keys and values, j size of a query's head, of which r places carry the position and i do not; y
/// inner size of what all tokens pass beside their experts.
class BlockBuilder {
public:
  BlockBuilder(const Model& model, const Job& job, std::vector<Axis> mesh, const Rational& gflops,
               const Division& division)
      : m_model(model), m_job(job), m_division(division) {
    const std::int64_t sequences = job.batch / division.microBatches;
    m_problem.dims = {{"b", sequences},
                      {"s", job.sequence},
                      {"t", job.sequence},
                      {"n", model.keyHeads},
                      {"g", model.heads / model.keyHeads},
                      {"d", model.valueHeadSize()},
                      {"h", model.hidden},
                      {"f", model.feedForward}};
    if (model.experts > 0) {
      m_problem.dims.push_back({"e", model.experts});
      m_problem.dims.push_back({"c", sequences * job.sequence * model.chosen / model.experts});
    }
    if (model.sharedFeedForward > 0) {
      m_problem.dims.push_back({"y", model.sharedFeedForward});
    }
    if (const Latent& latent = model.latent; latent.keyRank > 0) {
      m_query = "j";
      m_problem.dims.insert(
          m_problem.dims.end(),
          {{"k", latent.keyRank}, {"r", latent.ropeSize}, {"i", model.headSize}, {"j", model.queryHeadSize()}});
      if (latent.queryRank > 0) {
        m_problem.dims.push_back({"p", latent.queryRank});
      }
    }
    m_problem.mesh = std::move(mesh);
    m_problem.gflops = gflops;
  }

  Problem build() {
    add("x", Op::placeholder, {}, "bsh").held = Rational(2) * Rational(m_division.inFlight);
    m_problem.nodes.back().sent = m_division.sent;
    for (const auto& [name, dims] : attentionWeights()) {
      weight(name, dims);
    }
    for (const char* name : {"w1", "w2", "w3"}) {
      if (m_model.isGated || name[1] != '3') {
        weight(name, inner(name[1] == '2' ? "fh" : "hf"));
        if (m_model.sharedFeedForward > 0) {
          weight(std::string("ws") + name[1], name[1] == '2' ? "yh" : "hy");
        }
      }
    }
    forward();
    backward();
    return std::move(m_problem);
  }

private:
  [[nodiscard]] bool isLatent() const { return m_model.latent.keyRank > 0; }

  [[nodiscard]] std::vector<std::pair<std::string, std::string>> attentionWeights() const {
    if (!isLatent()) {
      return {{"wq", "hngd"}, {"wk", "hnd"}, {"wv", "hnd"}, {"wo", "ngdh"}};
    }
    std::vector<std::pair<std::string, std::string>> weights{{"wq", "hngj"}};
    if (m_model.latent.queryRank > 0) {
      weights = {{"wqa", "hp"}, {"wq", "pngj"}};
    }
    weights.insert(weights.end(), {{"wka", "hk"}, {"wkr", "hr"}, {"wk", "kni"}, {"wv", "knd"}, {"wo", "ngdh"}});
    return weights;
  }

  Node& add(const std::string& name, Op op, const std::vector<std::string>& inputs, std::string_view dims,
            Kind kind = Kind::activation) {
    Node node{.name = name, .op = op, .bytes = 2};
    for (const std::string& input : inputs) {
      node.inputs.push_back(m_nodes.at(input));
    }
    node.dims = dimsOf(dims);
    node.times = Rational(m_division.microBatches);
    for (const Role role : m_division.roles) {
      node.divides.push_back(dividedBy(role, kind, dims));
      node.isAlwaysDivided.push_back(kind == Kind::activation && role != Role::tensor);
    }
    m_nodes.insert_or_assign(name, static_cast<int>(m_problem.nodes.size()));
    m_problem.nodes.push_back(std::move(node));
    return m_problem.nodes.back();
  }

  [[nodiscard]] std::vector<Dim> dimsOf(std::string_view letters) const {
    std::vector<Dim> dims;
    for (const char letter : letters) {
      const auto found = std::find_if(m_problem.dims.begin(), m_problem.dims.end(),
                                      [&](const Dimension& dim) { return dim.name == std::string_view(&letter, 1); });
      if (found != m_problem.dims.end()) {
        dims.push_back(static_cast<Dim>(found - m_problem.dims.begin()));
      }
    }
    return dims;
  }

  [[nodiscard]] std::vector<Dim> dividedBy(Role role, Kind kind, std::string_view dims) const {
    const bool isParameter = kind == Kind::parameter;
    const std::string stored = dims.find('h') != std::string_view::npos ? "h" : "pk";
    switch (role) {
      case Role::data:
        return dimsOf(isParameter ? stored : "bc");
      case Role::context:
        return dimsOf(isParameter ? stored : "stc");
      case Role::expert:
        return dimsOf(isParameter ? stored + "e" : "bce");
      case Role::tensor:
        break;
    }
    return dimsOf(isParameter ? "ngfy" : "ngfyst");
  }

  /// Dimensions in the feed-forward part: of a matrix, or of what its tokens have.
  [[nodiscard]] std::string inner(const std::string& dims) const { return (m_model.experts > 0 ? "e" : "") + dims; }
  [[nodiscard]] std::string innerTokens(const std::string& dims) const {
    return (m_model.experts > 0 ? "ec" : "bs") + dims;
  }

  /// A parameter, and with roles what the operations use of it, under its name.
  void weight(const std::string& name, const std::string& dims) {
    const bool isDivided = !m_division.roles.empty();
    const Rational gradientAndUse = isDivided ? 4 : 0;
    Node& stored = add(isDivided ? name + "_stored" : name, Op::placeholder, {}, dims, Kind::parameter);
    stored.held = std::max(m_job.stateBytes - gradientAndUse, Rational());
    stored.times = 1;
    if (isDivided) {
      Node& used = add(name, Op::elementwise, {name + "_stored"}, dims, Kind::parameter);
      used.held = 2;
      used.times = 1;
      used.isLinear = true;
    }
  }

  /// The gradient of a parameter meets it.
  void update(const std::string& gradient, const std::string& name, const std::string& dims) {
    const bool isDivided = !m_division.roles.empty();
    if (isDivided) {
      Node& sum = add(gradient + "_sum", Op::elementwise, {gradient}, dims, Kind::parameter);
      sum.held = 2;
      sum.isLinear = true;
    }
    add("p" + name.substr(1), Op::update,
        {isDivided ? gradient + "_sum" : gradient, isDivided ? name + "_stored" : name}, dims, Kind::parameter)
        .times = 1;
  }

  void kept(Node& node) const {
    node.held = Rational(2) * Rational(m_division.inFlight);
    node.isAgain = m_job.mayRecompute;
  }

  Node& linear(const std::string& name, const std::vector<std::string>& inputs, const std::string& dims) {
    Node& node = add(name, Op::elementwise, inputs, dims);
    node.isLinear = true;
    return node;
  }

  /// Takes the tensor with one of its dimensions, or two, under another name.
  Node& renamed(const std::string& name, const std::string& input, const std::string& dims,
                const std::vector<std::string_view>& pairs) {
    Node& node = linear(name, {input}, dims);
    for (const std::string_view pair : pairs) {
      node.renamed.emplace_back(dimsOf(pair.substr(0, 1))[0], dimsOf(pair.substr(1, 1))[0]);
    }
    return node;
  }

  Node& attention(const std::string& name, const std::vector<std::string>& inputs, const std::string& dims,
                  std::int64_t queryProducts, std::int64_t valueProducts) {
    Node& node = add(name, Op::einsum, inputs, dims);
    node.indices = dimsOf("bsng");
    // Products of the size of a query's head, and of a value's, of the product of all indices, which has both.
    const Rational query(m_model.queryHeadSize());
    const Rational value(m_model.valueHeadSize());
    const Rational products = Rational(queryProducts) * query + Rational(valueProducts) * value;
    node.work = products / (isLatent() ? query * value : query) * m_model.attendedPart(m_job.sequence);
    return node;
  }

  /// Tokens to their experts, and back.
  std::string dispatched(const std::string& input, const std::string& name) {
    if (m_model.experts == 0) {
      return input;
    }
    renamed(name, input, "ech", {"cb", "cs"});
    return name;
  }
  std::string combined(const std::string& input, const std::string& name) {
    if (m_model.experts == 0) {
      return input;
    }
    renamed(name, input, "bsh", {"bc", "sc"});
    return name;
  }

  /// Queries, keys and values.
  void heads() {
    if (!isLatent()) {
      kept(add("q", Op::einsum, {"xn", "wq"}, "bsngd"));
      kept(add("k", Op::einsum, {"xn", "wk"}, "bsnd"));
      kept(add("v", Op::einsum, {"xn", "wv"}, "bsnd"));
      return;
    }
    if (m_model.latent.queryRank > 0) {
      kept(add("qa", Op::einsum, {"xn", "wqa"}, "bsp"));
      kept(add("qan", Op::elementwise, {"qa"}, "bsp"));
      m_queries = "qan";
    }
    kept(add("q", Op::einsum, {m_queries, "wq"}, "bsngj"));
    kept(add("ka", Op::einsum, {"xn", "wka"}, "bsk"));
    kept(add("kan", Op::elementwise, {"ka"}, "bsk"));
    add("kr", Op::einsum, {"xn", "wkr"}, "bsr");
    add("kb", Op::einsum, {"kan", "wk"}, "bsni");
    kept(linear("k", {"kb", "kr"}, "bsnj"));
    kept(add("v", Op::einsum, {"kan", "wv"}, "bsnd"));
  }

  /// From the gradients of queries, keys and values to that of what they come of.
  void headsBackward() {
    if (!isLatent()) {
      for (const auto& [from, weightName, partial, dims] :
           {std::array{"dq", "wq", "dxq", "hngd"}, std::array{"dk", "wk", "dxk", "hnd"},
            std::array{"dv", "wv", "dxv", "hnd"}}) {
        gradient(std::string("d") + weightName, {"xn", from}, weightName, dims);
        add(partial, Op::einsum, {from, weightName}, "bsh");
      }
      linear("dxn", {"dxq", "dxk", "dxv"}, "bsh");
      return;
    }
    std::string queries = "dq";
    const bool isSmall = m_model.latent.queryRank > 0;
    gradient("dwq", {m_queries, "dq"}, "wq", isSmall ? "pngj" : "hngj");
    if (isSmall) {
      add("dqan", Op::einsum, {"dq", "wq"}, "bsp");
      add("dqa", Op::elementwise, {"dqan", "qa"}, "bsp");
      gradient("dwqa", {"xn", "dqa"}, "wqa", "hp");
      queries = "dqa";
    }
    add("dxq", Op::einsum, {queries, isSmall ? "wqa" : "wq"}, "bsh");
    linear("dkb", {"dk"}, "bsni");
    add("dkj", Op::reduction, {"dk"}, "bsj");
    linear("dkr", {"dkj"}, "bsr");
    gradient("dwk", {"kan", "dkb"}, "wk", "kni");
    gradient("dwv", {"kan", "dv"}, "wv", "knd");
    add("dkk", Op::einsum, {"dkb", "wk"}, "bsk");
    add("dkv", Op::einsum, {"dv", "wv"}, "bsk");
    add("dka", Op::elementwise, {"dkk", "dkv", "ka"}, "bsk");
    gradient("dwka", {"xn", "dka"}, "wka", "hk");
    gradient("dwkr", {"xn", "dkr"}, "wkr", "hr");
    add("dxk", Op::einsum, {"dka", "wka"}, "bsh");
    add("dxr", Op::einsum, {"dkr", "wkr"}, "bsh");
    linear("dxn", {"dxq", "dxk", "dxr"}, "bsh");
  }

  /// What all tokens pass beside their experts, and back.
  void shared() {
    kept(add("us", Op::einsum, {"rn", "ws1"}, "bsy"));
    m_sharedInner = {"us"};
    if (m_model.isGated) {
      kept(add("es", Op::einsum, {"rn", "ws3"}, "bsy"));
      m_sharedInner.emplace_back("es");
    }
    kept(add("as", Op::elementwise, m_sharedInner, "bsy"));
    add("ms", Op::einsum, {"as", "ws2"}, "bsh");
  }
  void sharedBackward() {
    add("das", Op::einsum, {"dz", "ws2"}, "bsy");
    gradient("dws2", {"as", "dz"}, "ws2", "yh");
    std::vector<std::string> through{"das"};
    through.insert(through.end(), m_sharedInner.begin(), m_sharedInner.end());
    for (const std::string& number :
         m_model.isGated ? std::vector<std::string>{"1", "3"} : std::vector<std::string>{"1"}) {
      add("ds" + number, Op::elementwise, through, "bsy");
      gradient("dws" + number, {"rn", "ds" + number}, "ws" + number, "hy");
      add("drs" + number, Op::einsum, {"ds" + number, "ws" + number}, "bsh");
      m_sharedBack.push_back("drs" + number);
    }
  }

  void forward() {
    kept(add("xn", Op::elementwise, {"x"}, "bsh"));
    heads();
    renamed("kt", "k", "btn" + m_query, {"ts"});
    renamed("vt", "v", "btnd", {"ts"});
    kept(attention("o", {"q", "kt", "vt"}, "bsngd", 1, 1));
    add("y", Op::einsum, {"o", "wo"}, "bsh");
    kept(linear("r", {"y", "x"}, "bsh"));
    kept(add("rn", Op::elementwise, {"r"}, "bsh"));
    m_tokens = dispatched("rn", "rd");
    if (m_model.experts > 0) {
      kept(m_problem.nodes.back());
    }
    m_inner = {"u"};
    kept(add("u", Op::einsum, {m_tokens, "w1"}, innerTokens("f")));
    if (m_model.isGated) {
      kept(add("e", Op::einsum, {m_tokens, "w3"}, innerTokens("f")));
      m_inner.emplace_back("e");
    }
    kept(add("a", Op::elementwise, m_inner, innerTokens("f")));
    add("m", Op::einsum, {"a", "w2"}, innerTokens("h"));
    std::vector<std::string> sums{combined("m", "mc"), "r"};
    if (m_model.sharedFeedForward > 0) {
      shared();
      sums.emplace_back("ms");
    }
    linear("z", sums, "bsh");
    add("zx", Op::update, {"z", "x"}, "bsh");
  }

  void backward() {
    add("dz", Op::placeholder, {}, "bsh");
    const std::string out = dispatched("dz", "dm");
    add("da", Op::einsum, {out, "w2"}, innerTokens("f"));
    gradient("dw2", {"a", out}, "w2", inner("fh"));
    std::vector<std::string> through{"da"};
    through.insert(through.end(), m_inner.begin(), m_inner.end());
    add("du", Op::elementwise, through, innerTokens("f"));
    gradient("dw1", {m_tokens, "du"}, "w1", inner("hf"));
    add("dru", Op::einsum, {"du", "w1"}, innerTokens("h"));
    std::string back = "dru";
    if (m_model.isGated) {
      add("de", Op::elementwise, through, innerTokens("f"));
      gradient("dw3", {m_tokens, "de"}, "w3", inner("hf"));
      add("dre", Op::einsum, {"de", "w3"}, innerTokens("h"));
      linear("drn", {"dru", "dre"}, innerTokens("h"));
      back = "drn";
    }
    std::vector<std::string> returned{combined(back, "drc"), "r", "dz"};
    if (m_model.sharedFeedForward > 0) {
      sharedBackward();
      returned.insert(returned.end(), m_sharedBack.begin(), m_sharedBack.end());
    }
    add("dr", Op::elementwise, returned, "bsh");
    add("do", Op::einsum, {"dr", "wo"}, "bsngd");
    gradient("dwo", {"o", "dr"}, "wo", "ngdh");
    attention("dq", {"do", "q", "kt", "vt"}, "bsng" + m_query, 2, 0);
    attention("dkt", {"do", "q", "kt", "vt"}, "btn" + m_query, 1, 1);
    attention("dvt", {"do", "q", "kt", "vt"}, "btnd", 0, 1);
    renamed("dk", "dkt", "bsn" + m_query, {"st"});
    renamed("dv", "dvt", "bsnd", {"st"});
    headsBackward();
    add("dx", Op::elementwise, {"dxn", "x", "dr"}, "bsh");
    add("dxz", Op::update, {"dx", "dz"}, "bsh");
  }

  void gradient(const std::string& name, const std::vector<std::string>& inputs, const std::string& of,
                const std::string& dims) {
    add(name, Op::einsum, inputs, dims);
    update(name, of, dims);
  }

  const Model& m_model;
  const Job& m_job;
  const Division& m_division;
  Problem m_problem;
  std::map<std::string, int> m_nodes;
  std::string m_tokens;              ///< what enters the feed-forward part
  std::vector<std::string> m_inner;  ///< what enters its activation
  std::vector<std::string> m_sharedInner;
  std::vector<std::string> m_sharedBack;  ///< gradients that come back of it
  std::string m_query = "d";              ///< size of a query's head
  std::string m_queries = "xn";           ///< what queries come of
};

}  // namespace

std::string_view toString(Role role) {
  return kRoleNames.at(static_cast<std::size_t>(role));
}

Result<Problem> blockOf(const Model& model, const Job& job, std::vector<Axis> mesh, const Rational& gflops,
                        const Division& division) {
  if (job.batch % division.microBatches != 0) {
    return Error{ErrorCode::badInput, "the micro-batches do not divide the batch", "use a batch that they divide"};
  }
  const Rational tokens = Rational(job.batch / division.microBatches) * Rational(job.sequence);
  if (model.experts > 0 && !(tokens * Rational(model.chosen) / Rational(model.experts)).isInteger()) {
    return Error{ErrorCode::badInput, "the tokens of a micro-batch do not divide evenly among the experts",
                 "use a batch and a sequence that they divide"};
  }
  return BlockBuilder(model, job, std::move(mesh), gflops, division).build();
}

}  // namespace coppice::training
