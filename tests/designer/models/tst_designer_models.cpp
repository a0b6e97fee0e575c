// SPDX-License-Identifier: Apache-2.0
#include <QAbstractItemModelTester>
#include <QSignalSpy>
#include <QTest>

#include "designer/document/fabric_file.hpp"
#include "designer/models/link_table_model.hpp"
#include "designer/models/node_table_model.hpp"
#include "designer/models/outline_model.hpp"
#include "designer/models/problems_model.hpp"
#include "designer/models/query_filter_model.hpp"
#include "document/random_edits.hpp"
#include "presets/presets.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace Qt::StringLiterals;

class TestDesignerModels : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void followRandomEdits_data();
  void followRandomEdits();
  void outlineShowsBoxesAndNodes();
  void cellsRefuse_data();
  void cellsRefuse();
  void problemsAreSortedAndCounted();
  void queries_data();
  void queries();
  void queriesRefuse_data();
  void queriesRefuse();
  void queriesOfDeepBrackets();
  void tablesAreFiltered();
};

void TestDesignerModels::followRandomEdits_data() {
  QTest::addColumn<unsigned>("seed");
  for (unsigned seed = 40; seed < 44; ++seed) {
    QTest::addRow("seed %u", seed) << seed;
  }
}

void TestDesignerModels::followRandomEdits() {
  QFETCH(unsigned, seed);
  Document document;
  document.reset(readModel(*presets::make("dgx-a100", {{"boxes", "2"}})).model, true);
  NodeTableModel nodes(document);
  LinkTableModel links(document);
  OutlineModel outline(document);
  constexpr auto kFatal = QAbstractItemModelTester::FailureReportingMode::QtTest;
  const QAbstractItemModelTester nodesTester(&nodes, kFatal);
  const QAbstractItemModelTester linksTester(&links, kFatal);
  const QAbstractItemModelTester outlineTester(&outline, kFatal);
  test::RandomEditor editor(document, seed);
  for (int i = 0; i < 120; ++i) {
    editor.step();
    if (editor.below(5) == 0) {
      document.undoStack()->undo();
    }
    QCOMPARE(nodes.rowCount(), static_cast<int>(document.model().nodes().size()));
    QCOMPARE(links.rowCount(), static_cast<int>(document.model().links().size()));
    int row = 0;
    for (const auto& [id, node] : document.model().nodes()) {
      QCOMPARE(nodes.idAt(row), id);
      QCOMPARE(nodes.index(row, NodeTableModel::kName).data().toString(), QString::fromStdString(node.facts.name));
      ++row;
      // Up from the leaf the outline gives the path of the boxes.
      QStringList path;
      for (QModelIndex at = outline.indexOf(id).parent(); at.isValid(); at = at.parent()) {
        path.prepend(at.data().toString());
      }
      QCOMPARE(path.join(u'/'), QString::fromStdString(document.model().boxPath(node.facts.box)));
      QCOMPARE(outline.elementAt(outline.indexOf(id)), ElementId(id));
    }
  }
}

void TestDesignerModels::outlineShowsBoxesAndNodes() {
  Document document;
  document.reset(readModel(*presets::make("dgx-a100", {{"boxes", "2"}})).model, true);
  OutlineModel outline(document);
  QCOMPARE(outline.rowCount(), 4);
  const QModelIndex box = outline.index(0, 0);
  QCOMPARE(box.data().toString(), u"b0"_s);
  QCOMPARE(box.siblingAtColumn(OutlineModel::kDetail).data().toString(), u"8 GPUs"_s);
  QCOMPARE(outline.rowCount(box), static_cast<int>(document.model().nodesIn(outline.elementAt(box).box()).size()));
  QVERIFY(outline.setData(box, u"first box"_s));
  QCOMPARE(document.model().description().nodes.front().box, std::string("first box"));
  QSignalSpy refused(&outline, &OutlineModel::refused);
  QVERIFY(!outline.setData(outline.index(0, 0), u"b1"_s));
  QCOMPARE(refused.size(), 1);
}

void TestDesignerModels::cellsRefuse_data() {
  QTest::addColumn<bool>("isLink");
  QTest::addColumn<int>("column");
  QTest::addColumn<QString>("text");
  QTest::addColumn<bool>("allowed");
  QTest::newRow("kind") << false << int(NodeTableModel::kKind) << "switch" << true;
  QTest::newRow("not a kind") << false << int(NodeTableModel::kKind) << "toaster" << false;
  QTest::newRow("rank") << false << int(NodeTableModel::kRank) << "7" << true;
  QTest::newRow("no rank") << false << int(NodeTableModel::kRank) << "" << true;
  QTest::newRow("negative rank") << false << int(NodeTableModel::kRank) << "-1" << false;
  QTest::newRow("place") << false << int(NodeTableModel::kX) << "12.5" << true;
  QTest::newRow("no place") << false << int(NodeTableModel::kX) << "left" << false;
  QTest::newRow("bits") << true << int(LinkTableModel::kBandwidth) << "400Gb/s" << true;
  QTest::newRow("zero") << true << int(LinkTableModel::kBandwidth) << "0" << false;
  QTest::newRow("unit") << true << int(LinkTableModel::kBandwidth) << "4 furlongs" << false;
  QTest::newRow("count") << true << int(LinkTableModel::kCount) << "3" << true;
  QTest::newRow("no count") << true << int(LinkTableModel::kCount) << "0" << false;
  QTest::newRow("latency") << true << int(LinkTableModel::kLatency) << "1.7" << true;
  QTest::newRow("negative latency") << true << int(LinkTableModel::kLatency) << "-1" << false;
  QTest::newRow("total is computed") << true << int(LinkTableModel::kTotal) << "3" << false;
}

void TestDesignerModels::cellsRefuse() {
  QFETCH(bool, isLink);
  QFETCH(int, column);
  QFETCH(QString, text);
  QFETCH(bool, allowed);
  Document document;
  document.reset(readModel(*presets::make("dgx-a100", {})).model, true);
  NodeTableModel nodes(document);
  LinkTableModel links(document);
  QAbstractItemModel& model = isLink ? static_cast<QAbstractItemModel&>(links) : nodes;
  QCOMPARE(model.setData(model.index(1, column), text), allowed);
  QCOMPARE(document.undoStack()->count(), allowed ? 1 : 0);
}

void TestDesignerModels::problemsAreSortedAndCounted() {
  ProblemsModel model;
  const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
  const Finding note{Severity::note, ErrorCode::badInput, "n", "", {}};
  const Finding error{
      Severity::error, ErrorCode::badInput, "e", "fix it", {.line = 3, .element = {RefKind::field, "nodes[2]"}}};
  model.setProblems(ProblemsModel::fromFindings({note, error, note}, {{}, NodeId{4}, {}}));
  QCOMPARE(model.rowCount(), 2);
  QCOMPARE(model.index(0, ProblemsModel::kSeverity).data().toString(), u"Error"_s);
  QCOMPARE(model.index(0, ProblemsModel::kPlace).data().toString(), u"line 3 · nodes[2]"_s);
  QCOMPARE(model.index(0, 0).data(kElementRole).value<ElementId>(), ElementId(NodeId{4}));
  QCOMPARE(model.index(1, ProblemsModel::kText).data().toString(), u"n (×2)"_s);
  model.setProblems({});
  QCOMPARE(model.rowCount(), 0);
}

namespace {

/// Two boxes of two GPUs and a NIC each, on one switch; a note.
Model smallFabric() {
  return readFabricFile(R"({"nodes":[
    {"id":"g0","kind":"gpu","box":"box 0","rank":0},{"id":"g1","kind":"gpu","box":"box 0","rank":1},
    {"id":"n0","kind":"nic","box":"box 0"},
    {"id":"g2","kind":"gpu","box":"box 3","rank":2},{"id":"g3","kind":"gpu","box":"box 3","rank":3},
    {"id":"n1","kind":"nic","box":"box 3"},
    {"id":"spine","kind":"switch"}],
    "links":[{"src":"g0","dst":"n0","bandwidth":"50"},{"src":"g1","dst":"n0","bandwidth":"50"},
    {"src":"g2","dst":"n1","bandwidth":"400Gb/s"},{"src":"g3","dst":"n1","bandwidth":"12.5","count":2},
    {"src":"n0","dst":"spine","bandwidth":"25","latency":"1.7"},{"src":"n1","dst":"spine","bandwidth":"?"}]})",
                        "")
      ->model;
}

QString titles(const Model& model, const std::vector<ElementId>& ids) {
  QStringList names;
  for (const ElementId& id : ids) {
    names << (id.kind == ElementKind::link ? u"L%1"_s.arg(id.value) : model.title(id));
  }
  return names.join(u' ');
}

}  // namespace

void TestDesignerModels::queries_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<QString>("hits");
  const QString all = u"g0 g1 n0 g2 g3 n1 spine box 0 box 3 L1 L2 L3 L4 L5 L6"_s;
  QTest::newRow("nothing") << "" << all;
  QTest::newRow("a name") << "SPI"
                          << "spine";
  QTest::newRow("two words") << "box 3"
                             << "box 3";
  QTest::newRow("bandwidth") << "bandwidth < 50"
                             << "L4 L5";
  QTest::newRow("bandwidth with unit") << "bandwidth = 400Gb/s"
                                       << "L1 L2 L3";
  QTest::newRow("bandwidth, unit apart") << "bandwidth >= 50 GB/s and from = g0"
                                         << "L1";
  QTest::newRow("kind and degree") << "kind = nic and degree > 2"
                                   << "n0 n1";
  QTest::newRow("and left out") << "kind = nic degree > 3"
                                << "";
  QTest::newRow("box") << "box = \"box 3\" and kind = gpu"
                       << "g2 g3";
  QTest::newRow("links within a box") << "box = \"box 3\" and kind = link"
                                      << "L3 L4";
  QTest::newRow("or") << "rank = 0 or rank = 3"
                      << "g0 g3";
  QTest::newRow("and before or") << "rank = 0 or rank = 3 and name = g0"
                                 << "g0";
  QTest::newRow("brackets") << "(rank = 0 or rank = 3) and name = g3"
                            << "g3";
  QTest::newRow("not") << "kind = gpu and not box = \"box 0\""
                       << "g2 g3";
  QTest::newRow("unequal") << "kind != gpu and kind != link and kind != box"
                           << "n0 n1 spine";
  QTest::newRow("wildcard") << "name = n*"
                            << "n0 n1";
  QTest::newRow("one letter") << "name = g?"
                              << "g0 g1 g2 g3";
  QTest::newRow("regular") << "name ~ \"^g[12]$\""
                           << "g1 g2";
  QTest::newRow("parallel") << "count > 1"
                            << "L4";
  QTest::newRow("latency") << "latency >= 1.7"
                           << "L5";
  QTest::newRow("to") << "to = spine"
                      << "L5 L6";
  QTest::newRow("gpus") << "gpus >= 2"
                        << "box 0 box 3";
  QTest::newRow("selected") << "selected"
                            << "g1 L2";
  QTest::newRow("in selection") << "kind = gpu and in selection"
                                << "g1";
  QTest::newRow("cut") << "in cut"
                       << "g0 g1 n0 L5";
  QTest::newRow("a word that is quoted") << "\"and\""
                                         << "";
  QTest::newRow("in as a name") << "in"
                                << "spine";
}

void TestDesignerModels::queries() {
  QFETCH(QString, text);
  QFETCH(QString, hits);
  const Model model = smallFabric();
  const std::set<ElementId> selection{NodeId{2}, LinkId{2}};
  const QueryContext context{
      .model = model,
      .selection = &selection,
      .cutNodes = std::make_shared<const std::set<NodeId>>(std::set<NodeId>{NodeId{1}, NodeId{2}, NodeId{3}}),
      .cutLinks = std::make_shared<const std::set<LinkId>>(std::set<LinkId>{LinkId{5}})};
  const auto query = Query::parse(text);
  QVERIFY2(query, query ? "" : query.error().message.c_str());
  QCOMPARE(titles(model, query->hits(context)), hits);
}

void TestDesignerModels::queriesRefuse_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<int>("column");
  QTest::newRow("not a field") << "speed < 3" << 1;
  QTest::newRow("no value") << "bandwidth <" << 12;
  QTest::newRow("no bandwidth") << "bandwidth < fast" << 13;
  QTest::newRow("no number") << "degree > two" << 10;
  QTest::newRow("no bracket") << "(kind = gpu" << 1;
  QTest::newRow("no opening bracket") << "kind = gpu)" << 11;
  QTest::newRow("quote") << "box = \"box" << 7;
  QTest::newRow("sign") << "degree => 3" << 8;
  QTest::newRow("text order") << "name < 3" << 8;
  QTest::newRow("pattern of a number") << "rank ~ 3" << 8;
  QTest::newRow("bad pattern") << "name ~ \"[\"" << 8;
  QTest::newRow("dangling and") << "kind = gpu and" << 15;
  QTest::newRow("sign first") << "< 3" << 1;
}

void TestDesignerModels::queriesRefuse() {
  QFETCH(QString, text);
  QFETCH(int, column);
  const auto query = Query::parse(text);
  QVERIFY(!query);
  QVERIFY(!query.error().message.empty());
  QVERIFY(!query.error().fix.empty());
  QCOMPARE(query.error().where.column, column);
}

void TestDesignerModels::queriesOfDeepBrackets() {
  QVERIFY(!Query::parse(QString(1500, u'(') + u"a"_s + QString(1500, u')')));
  QVERIFY(!Query::parse(u"not "_s.repeated(900) + u"a"_s));
  QVERIFY(!Query::parse(QString(100000, u'a')));
  QVERIFY(Query::parse(QString(50, u'(') + u"a"_s + QString(50, u')')));
}

void TestDesignerModels::tablesAreFiltered() {
  Document document;
  document.reset(smallFabric(), true);
  LinkTableModel links(document);
  QueryFilterModel filter;
  filter.setSourceModel(&links);
  QCOMPARE(filter.rowCount(), 6);
  const auto context = [&] { return QueryContext{.model = document.model(), .wordsFindLinks = true}; };
  filter.setQuery(*Query::parse(u"bandwidth < 50"_s), context);
  QCOMPARE(filter.rowCount(), 2);
  document.edit(u"x"_s, [](Edit& edit) {
    edits::changeLinks(edit, std::vector{LinkId{1}}, [](Link& link) { link.bandwidth = "3"; });
  });
  QCOMPARE(filter.rowCount(), 3);
  filter.setQuery(*Query::parse(u"n1"_s), context);
  QCOMPARE(filter.rowCount(), 3);
  filter.setQuery({}, context);
  QCOMPARE(filter.rowCount(), 6);
}

QTEST_GUILESS_MAIN(TestDesignerModels)
#include "tst_designer_models.moc"
