// SPDX-License-Identifier: Apache-2.0
#include <QAbstractItemModelTester>
#include <QSignalSpy>
#include <QTest>

#include "designer/document/fabric_file.hpp"
#include "designer/models/link_table_model.hpp"
#include "designer/models/node_table_model.hpp"
#include "designer/models/outline_model.hpp"
#include "designer/models/problems_model.hpp"
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
  QTest::newRow("no kind") << false << int(NodeTableModel::kKind) << "toaster" << false;
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
  const Finding error{Severity::error, ErrorCode::badInput, "e", "fix it", {.line = 3, .element = "nodes[2]"}};
  model.setProblems(ProblemsModel::fromFindings({note, error, note}, {{}, NodeId{4}, {}}));
  QCOMPARE(model.rowCount(), 2);
  QCOMPARE(model.index(0, ProblemsModel::kSeverity).data().toString(), u"Error"_s);
  QCOMPARE(model.index(0, ProblemsModel::kPlace).data().toString(), u"line 3 · nodes[2]"_s);
  QCOMPARE(model.index(0, 0).data(kElementRole).value<ElementId>(), ElementId(NodeId{4}));
  QCOMPARE(model.index(1, ProblemsModel::kText).data().toString(), u"n (×2)"_s);
  model.setProblems({});
  QCOMPARE(model.rowCount(), 0);
}

QTEST_GUILESS_MAIN(TestDesignerModels)
#include "tst_designer_models.moc"
