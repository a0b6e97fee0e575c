// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <algorithm>
#include <fstream>
#include <sstream>

#include "coppice/test_paths.hpp"
#include "io/fx_graph.hpp"
#include "io/fx_text.hpp"
#include "io/training_json.hpp"
#include "training/search.hpp"
#include "training/strategies.hpp"

using namespace coppice;

/// Graphs of torch.fx as training problems.
namespace {

std::string contentsOf(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

io::FxProblem graphOf(const std::string& text) {
  auto graph = io::readFxGraph(text, "graph.txt");
  if (!graph) {
    qFatal("%s", describe(graph.error()).c_str());
  }
  return *std::move(graph);
}

std::string lineOf(const io::FxProblem& graph, const std::string& name) {
  std::istringstream lines(graph.text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  " + name + ":")) {
      return line.substr(name.size() + 4);
    }
  }
  return {};
}

const training::Node& nodeOf(const io::FxProblem& graph, const std::string& name) {
  const auto& nodes = graph.problem.nodes;
  const auto found = std::find_if(nodes.begin(), nodes.end(), [&](const auto& node) { return node.name == name; });
  if (found == nodes.end()) {
    qFatal("there is no node %s", name.c_str());
  }
  return *found;
}

/// Operations of all einsums on one device.
Rational operationsOf(const io::FxProblem& graph) {
  training::Problem problem = graph.problem;
  problem.mesh = {{1, {1, 1, 1, 1}}};
  Rational sum;
  for (std::size_t i = 0; i < problem.nodes.size(); ++i) {
    for (const training::Strategy& strategy : training::strategiesOf(problem, static_cast<int>(i))) {
      sum += training::ownCost(problem, static_cast<int>(i), strategy).compute;
      break;
    }
  }
  return sum;
}

/// Inputs and one operation, in the form of print_readable().
std::string oneCall(const std::string& arguments, const std::string& line) {
  return "def forward(self, " + arguments + "):\n    " + line + "\n    return (out,)\n";
}

}  // namespace

class TestFxGraph : public QObject {
  Q_OBJECT

private slots:
  /// Figure 5.2 of the dissertation: (a) with sizes beside it gives (b), whose positions of size 1 have letters too.
  void figure() {
    const io::FxProblem graph = graphOf(contentsOf(COPPICE_TEST_DATA "/fx/figure-5-2a.txt"));
    QCOMPARE(graph.text, std::string("Nodes:\n"
                                     "  primals_1: PLACEHOLDER [ab]\n"
                                     "  primals_2: PLACEHOLDER [b]\n"
                                     "  primals_3: PLACEHOLDER [cda]\n"
                                     "  tangents_1: PLACEHOLDER [cdb]\n"
                                     "  mm: EINSUM \"cda,ab->cdb\"(primals_3, primals_1) -> [cdb]\n"
                                     "  add: ELEMENTWISE(mm[cdb], primals_2[b]) -> [cdb]\n"
                                     "  sum_1: REDUCTION(tangents_1[cdb]) over{c,d} -> [b]\n"
                                     "  mm_1: EINSUM \"acd,cdb->ab\"(primals_3, tangents_1) -> [ab]\n"
                                     "  output: OUTPUT[add[cdb], mm_1[ab], sum_1[b]]\n"));
    QCOMPARE(graph.parameters, (std::vector<std::string>{"primals_1", "primals_2"}));
    QCOMPARE(graph.inputs, std::vector<std::string>{"primals_3"});
    QVERIFY(graph.notes.empty());
    // Two products of 2 * 64 * 4096 * 1024 * 2048 operations.
    QCOMPARE(operationsOf(graph).toString(), std::string("2199023255552"));
  }

  /// The same step as a problem written by hand has the same front.
  void sameAsByHand() {
    io::FxProblem graph = graphOf(contentsOf(COPPICE_TEST_DATA "/fx/figure-5-2a.txt"));
    const std::string mesh = R"([{"size": 4, "allgather": 50, "reduce_scatter": 50, "allreduce": 25, "alltoall": 40}])";
    const std::string byHand =
        R"({"dims": {"i": 1024, "o": 2048, "b": 64, "s": 4096}, "gflops": 989400, "mesh": )" + mesh + R"(, "nodes": [
      {"name": "w", "op": "placeholder", "dims": ["i", "o"], "bytes": 2, "held": 16},
      {"name": "c", "op": "placeholder", "dims": ["o"], "bytes": 2, "held": 16},
      {"name": "x", "op": "placeholder", "dims": ["b", "s", "i"], "bytes": 2, "held": 2},
      {"name": "g", "op": "placeholder", "dims": ["b", "s", "o"], "bytes": 2},
      {"name": "m", "op": "einsum", "inputs": ["x", "w"], "dims": ["b", "s", "o"], "bytes": 2},
      {"name": "y", "op": "elementwise", "linear": true, "inputs": ["m", "c"], "dims": ["b", "s", "o"], "bytes": 2},
      {"name": "gc", "op": "reduction", "inputs": ["g"], "dims": ["o"], "bytes": 2},
      {"name": "gw", "op": "einsum", "inputs": ["x", "g"], "dims": ["i", "o"], "bytes": 2},
      {"name": "uw", "op": "update", "inputs": ["gw", "w"], "dims": ["i", "o"]},
      {"name": "uc", "op": "update", "inputs": ["gc", "c"], "dims": ["o"]},
      {"name": "on", "op": "update", "inputs": ["y", "g"], "dims": ["b", "s", "o"]}]})";
    const auto expected = io::readTrainingProblem(byHand, "by hand");
    QVERIFY2(expected.hasValue(), expected ? "" : describe(expected.error()).c_str());
    graph.problem.mesh = expected->mesh;
    graph.problem.gflops = expected->gflops;
    const auto a = training::findFront(graph.problem);
    const auto b = training::findFront(*expected);
    QVERIFY(a.hasValue() && b.hasValue());
    QVERIFY(a->isExact() && a->plans.size() > 1);
    QCOMPARE(a->plans.size(), b->plans.size());
    for (std::size_t i = 0; i < a->plans.size(); ++i) {
      QVERIFY(a->plans[i].cost == b->plans[i].cost);
    }
    // What is written is read as the same.
    const auto again = io::readTrainingProblem(io::writeTrainingProblem(graph.problem), "again");
    QVERIFY2(again.hasValue(), again ? "" : describe(again.error()).c_str());
    QCOMPARE(io::writeTrainingProblem(*again), io::writeTrainingProblem(graph.problem));
  }

  /// A joint graph as TORCH_LOGS=aot_joint_graph prints it, with strides and devices.
  void jointGraph() {
    std::string text = contentsOf(COPPICE_EXAMPLES "/mlp.fx.txt");
    const io::FxProblem graph = graphOf(text);
    QCOMPARE(lineOf(graph, "addmm_product"), std::string("EINSUM \"cdb,ba->cda\"(primals_5, primals_1) -> [cda]"));
    QCOMPARE(lineOf(graph, "addmm"), std::string("ELEMENTWISE(addmm_product[cda], primals_2[a]) -> [cda]"));
    QCOMPARE(lineOf(graph, "mm_3"), std::string("EINSUM \"acd,cdb->ab\"(where, primals_5) -> [ab]"));
    QCOMPARE(lineOf(graph, "sum_2"), std::string("REDUCTION(where[cda]) over{c,d} -> [a]"));
    QCOMPARE(graph.parameters, (std::vector<std::string>{"primals_1", "primals_2", "primals_3", "primals_4"}));
    QCOMPARE(nodeOf(graph, "relu").held.toString(), std::string("4"));
    QCOMPARE(nodeOf(graph, "le").held.toString(), std::string("0"));
    QCOMPARE(nodeOf(graph, "primals_1").held.toString(), std::string("16"));
    // Six products of 512 tokens, 128 by 512.
    QCOMPARE(operationsOf(graph).toString(), std::to_string(6LL * 2 * 512 * 128 * 512));
    // With what a log has in front of each line.
    std::string logged;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      logged += "[rank0]:V0926 12:00:00.1 99 torch/x.py:381] [0/0] [__aot_joint_graph] " + line + "\n";
    }
    QCOMPARE(graphOf(logged).text, graph.text);
  }

  /// Tokens that meet tokens are two dimensions; heads are cut out of the hidden size, queries out of one product.
  void attention() {
    const io::FxProblem graph = graphOf(contentsOf(COPPICE_EXAMPLES "/attention.fx.txt"));
    QCOMPARE(lineOf(graph, "bmm"), std::string("EINSUM \"ecfd,ecdg->ecfg\"(split, split_1_renamed) -> [ecfg]"));
    QCOMPARE(lineOf(graph, "split_1_renamed"), std::string("ELEMENTWISE(split_1[efcd]) -> [egcd]"));
    QCOMPARE(lineOf(graph, "dwo"), std::string("EINSUM \"bef,efcd->bcd\"(tangents_1, bmm_1) -> [bcd]"));
    QCOMPARE(lineOf(graph, "dw"), std::string("EINSUM \"aef,efb->ab\"(cat, primals_3) -> [ab]"));
    // Products with weights 6 * tokens * 4 h^2, attention 6 products of tokens by tokens, none masked.
    const Rational tokens(16 * 4096);
    const Rational hidden(4096);
    QCOMPARE(operationsOf(graph).toString(),
             (Rational(6) * tokens * Rational(4) * hidden * hidden + Rational(12) * tokens * Rational(4096) * hidden)
                 .toString());
    // A softmax is not divided along its rows.
    const training::Node& softmax = nodeOf(graph, "softmax");
    QCOMPARE(softmax.dims.size(), std::size_t(4));
    QCOMPARE(softmax.indices.size(), std::size_t(3));
    training::Problem problem = graph.problem;
    problem.mesh = {{8, {450, 450, 225, 450}}};
    problem.gflops = 989400;
    const auto front = training::findFront(problem);
    QVERIFY2(front.hasValue(), front ? "" : describe(front.error()).c_str());
    QVERIFY(front->isExact());
    // Data parallel: computation an eighth, and nothing but gradients moves.
    QCOMPARE(front->plans.front().cost.compute.toString(),
             (operationsOf(graph) / Rational(8) / Rational(989400)).toString());
  }

  /// Forward and backward graph one after the other; one operation for attention, whose half is masked.
  void twoGraphs() {
    const std::string text =
        "class GraphModule(torch.nn.Module):\n"
        "    def forward(self, primals_1: \"bf16[2, 4, 64, 16]\", primals_2: \"bf16[2, 4, 64, 16]\", "
        "primals_3: \"bf16[2, 4, 64, 16]\"):\n"
        "        flash = torch.ops.aten._scaled_dot_product_flash_attention.default(primals_1, primals_2, primals_3, "
        "0.0, True, scale = 0.25)\n"
        "        getitem: \"bf16[2, 4, 64, 16]\" = flash[0]\n"
        "        getitem_1: \"f32[2, 4, 64]\" = flash[1];  flash = None\n"
        "        return (getitem, primals_1, primals_2, primals_3, getitem, getitem_1)\n"
        "class GraphModule(torch.nn.Module):\n"
        "    def forward(self, primals_1: \"bf16[2, 4, 64, 16]\", primals_2: \"bf16[2, 4, 64, 16]\", "
        "primals_3: \"bf16[2, 4, 64, 16]\", getitem: \"bf16[2, 4, 64, 16]\", getitem_1: \"f32[2, 4, 64]\", "
        "tangents_1: \"bf16[2, 4, 64, 16]\"):\n"
        "        back = torch.ops.aten._scaled_dot_product_flash_attention_backward.default(tangents_1, primals_1, "
        "primals_2, primals_3, getitem, getitem_1, None, None, 64, 64, 0.0, True, None, None, scale = 0.25)\n"
        "        getitem_2: \"bf16[2, 4, 64, 16]\" = back[0]\n"
        "        getitem_3: \"bf16[2, 4, 64, 16]\" = back[1]\n"
        "        getitem_4: \"bf16[2, 4, 64, 16]\" = back[2];  back = None\n"
        "        return (getitem_2, getitem_3, getitem_4)\n";
    const io::FxProblem graph = graphOf(text);
    // Two products forward and five backward, half of each.
    QCOMPARE(operationsOf(graph).toString(), std::to_string(7LL * 2 * 4 * 64 * 64 * 16));
    QCOMPARE(graph.inputs.size(), std::size_t(3));  // their first dimension is that of the gradient
    QCOMPARE(nodeOf(graph, "primals_2").held.toString(), std::string("2"));
    QCOMPARE(lineOf(graph, "flash"),
             std::string("EINSUM \"abcd,abed,abed->abcd\"(primals_1, primals_2, primals_3) -> [abcd]"));
  }

  void operations_data() {
    QTest::addColumn<std::string>("arguments");
    QTest::addColumn<std::string>("call");
    QTest::addColumn<std::string>("expected");
    const auto row = [](const char* name, const char* arguments, const char* call, const char* expected) {
      QTest::newRow(name) << std::string(arguments) << std::string(call) << std::string(expected);
    };
    const char* kTwo = "x: \"bf16[8, 6]\", y: \"bf16[6, 4]\"";
    row("mm", kTwo, "torch.ops.aten.mm.default(x, y)", "EINSUM \"ab,bc->ac\"(x, y) -> [ac]");
    row("matmul of ranks 4 and 2", "x: \"bf16[2, 3, 8, 6]\", y: \"bf16[6, 4]\"", "torch.ops.aten.matmul.default(x, y)",
        "EINSUM \"abcd,de->abce\"(x, y) -> [abce]");
    row("matmul with a vector", "x: \"bf16[8, 6]\", y: \"bf16[6]\"", "torch.ops.aten.matmul.default(x, y)",
        "EINSUM \"ab,b->a\"(x, y) -> [a]");
    row("bmm", "x: \"bf16[5, 8, 6]\", y: \"bf16[5, 6, 4]\"", "torch.ops.aten.bmm.default(x, y)",
        "EINSUM \"abc,acd->abd\"(x, y) -> [abd]");
    row("linear", "x: \"bf16[2, 8, 6]\", y: \"bf16[4, 6]\"", "torch.ops.aten.linear.default(x, y)",
        "EINSUM \"abc,dc->abd\"(x, y) -> [abd]");
    row("einsum", "x: \"bf16[2, 8, 6]\", y: \"bf16[3, 6, 4]\"",
        "torch.ops.aten.einsum.default('bsh,nhd->bsnd', [x, y])", "EINSUM \"abc,dce->abde\"(x, y) -> [abde]");
    row("a matrix times itself", "x: \"bf16[8, 8]\", y: \"bf16[1]\"", "torch.ops.aten.mm.default(x, x)",
        "EINSUM \"ab,bc->ac\"(x, x_renamed) -> [ac]");
    row("rows of a table", "x: \"bf16[100, 16]\", y: \"i64[4, 8]\"", "torch.ops.aten.embedding.default(x, y)",
        "EINSUM \"ab,cd->cdb\"(x, y) -> [cdb]");
    row("mean of two positions", "x: \"bf16[2, 8, 6]\", y: \"bf16[1]\"", "torch.ops.aten.mean.dim(x, [0, -1])",
        "REDUCTION(x[abc]) over{a,c} -> [b]");
    row("broadcast", "x: \"bf16[2, 8, 6]\", y: \"bf16[8, 1]\"", "torch.ops.aten.mul.Tensor(x, y)",
        "ELEMENTWISE(x[abc], y[b]) -> [abc]");
    row("one of several", "x: \"bf16[4, 8]\", y: \"bf16[1]\"", "torch.ops.aten.select.int(x, 0, 2)",
        "ELEMENTWISE(x[ab]) -> [b]");
    row("put together", "x: \"bf16[4, 8]\", y: \"bf16[4, 8]\"", "torch.ops.aten.cat.default([x, y], 1)",
        "ELEMENTWISE(x[ab], y[ab]) -> [ac]");
    row("unknown", "x: \"bf16[4, 8]\", y: \"bf16[4, 8]\"", "torch.ops.mine.mix.default(x, y)",
        "ELEMENTWISE(x[ab], y[ab]) -> [ab]");
  }
  void operations() {
    QFETCH(std::string, arguments);
    QFETCH(std::string, call);
    QFETCH(std::string, expected);
    const io::FxProblem graph = graphOf(oneCall(arguments, "out = " + call));
    QCOMPARE(lineOf(graph, "out"), expected);
    training::Problem problem = graph.problem;
    problem.mesh = {{2, {1, 1, 1, 1}}};
    QVERIFY(!training::faultOf(problem));
  }

  void badGraphs_data() {
    QTest::addColumn<std::string>("text");
    QTest::addColumn<int>("line");
    QTest::addColumn<QString>("message");
    const auto row = [](const char* name, const std::string& text, int line, const char* message) {
      QTest::newRow(name) << text << line << QString(message);
    };
    const char* kTwo = "x: \"bf16[8, 6]\", y: \"bf16[6, 4]\"";
    row("nothing", "\n# only a comment\n", 0, "there is no graph");
    row("prose", "Dear reader,\n", 1, "is not one of a graph");
    row("sizes that do not fit", oneCall(kTwo, "out = torch.ops.aten.mm.default(y, x)"), 2, "meets one of");
    row("unknown tensor", oneCall(kTwo, "out = torch.ops.aten.mm.default(x, z)"), 2, "\"z\" is not a tensor");
    row("too few arguments", oneCall(kTwo, "out = torch.ops.aten.mm.default(x)"), 2, "lacks an argument");
    row("open bracket", oneCall(kTwo, "out = torch.ops.aten.mm.default(x, [y"), 2, "is not one of a graph");
    row("symbolic size", oneCall("x: \"bf16[s0, 6]\"", "out = torch.ops.aten.relu.default(x)"), 1, "is not a number");
    row("no sizes", "graph():\n  %x : [num_users=1] = placeholder[target=x]\n  return x\n", 2, "are not told");
    row("a module", "graph():\n  %x : [num_users=1] = call_module[target=fc](args = (%y,), kwargs = {})\n", 2,
        "calls a module");
    row("divided already", oneCall(kTwo, "out = torch.ops._c10d_functional.all_gather_into_tensor.default(x, 8, '0')"),
        2, "divided over devices already");
    row("view of other elements", oneCall(kTwo, "out = torch.ops.aten.view.default(x, [8, 7])"), 2, "the view has 56");
    row("a letter twice", oneCall(kTwo, "out = torch.ops.aten.einsum.default('aa->a', [x])"), 2, "a letter twice");
    row("twice the same name", oneCall(kTwo, "x = torch.ops.aten.relu.default(y)"), 2, "two tensors \"x\"");
    row("huge", oneCall("x: \"bf16[999999999999, 999999999999]\"", "out = torch.ops.aten.view.default(x, [7])"), 2, "");
    std::string deep = oneCall(kTwo, "out = torch.ops.aten.cat.default(" + std::string(100, '[') + "x");
    row("lists in lists", deep, 2, "lists in lists");
  }
  void badGraphs() {
    QFETCH(std::string, text);
    QFETCH(int, line);
    QFETCH(QString, message);
    const auto graph = io::readFxGraph(text, "graph.txt");
    QVERIFY(!graph.hasValue());
    const QString told = QString::fromStdString(describe(graph.error()));
    QVERIFY2(told.contains(message), qPrintable(told));
    if (graph.error().code == ErrorCode::badInput) {
      QCOMPARE(graph.error().where.line, line);
      QVERIFY(!graph.error().fix.empty());
    }
  }

  /// A text that ends anywhere, and one with any line left out, is read or refused.
  void brokenTexts() {
    for (const char* name : {COPPICE_EXAMPLES "/mlp.fx.txt", COPPICE_TEST_DATA "/fx/figure-5-2a.txt"}) {
      const std::string text = contentsOf(name);
      QVERIFY(io::fx::isFxText(text));
      int refused = 0;
      for (std::size_t size = 0; size < text.size(); size += 7) {
        refused += io::readFxGraph(text.substr(0, size), name) ? 0 : 1;
      }
      for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
        auto graph = io::readFxGraph(text.substr(0, begin) + text.substr(end), name);
        if (graph) {
          graph->problem.mesh = {{2, {1, 1, 1, 1}}};
          QVERIFY(!training::faultOf(graph->problem));
        }
        refused += graph ? 0 : 1;
        begin = end;
      }
      QVERIFY(refused > 10);
    }
  }
};

QTEST_APPLESS_MAIN(TestFxGraph)
#include "tst_fx_graph.moc"
