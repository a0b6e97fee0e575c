// SPDX-License-Identifier: Apache-2.0
#include <QDir>
#include <QSignalSpy>
#include <QTest>

#include "coppice/test_paths.hpp"
#include "designer/document/document.hpp"
#include "designer/document/edits.hpp"
#include "designer/document/fabric_file.hpp"
#include "designer/document/fold_view.hpp"
#include "designer/document/instances.hpp"
#include "designer/document/measures.hpp"
#include "designer/document/selection.hpp"
#include "designer/document/stacks.hpp"
#include "fabric/fabric.hpp"
#include "io/fabric_json.hpp"
#include "io/files.hpp"
#include "presets/presets.hpp"
#include "random_edits.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace Qt::StringLiterals;

namespace {

Model modelOf(const std::string& preset, const std::map<std::string, std::string>& arguments = {}) {
  const auto made = presets::make(preset, arguments);
  return made ? readArranged(*made).model : Model();
}

QString bytes(const Model& model) {
  return QString::fromStdString(writeFabricFile(model));
}

/// Rebuilds the indices from nothing, so that a wrong index shows.
bool indicesAgree(const Model& model) {
  for (const auto& [id, link] : model.links()) {
    for (const LinkEnd* end : {&link.tail, &link.head}) {
      if (end->node.isValid()) {
        const auto& list = model.linksOf(end->node);
        if (!model.find(end->node) || std::count(list.begin(), list.end(), id) != 1) {
          return false;
        }
      }
    }
  }
  std::size_t inBoxes = 0;
  std::size_t boxesInBoxes = 0;
  for (const BoxId box : model.allBoxesIn({})) {
    inBoxes += model.nodesIn(box).size();
    boxesInBoxes += model.boxesIn(box).size();
    if (const std::string path = model.boxPath(box); !path.empty() && model.boxAtPath(path) != box) {
      return false;
    }
  }
  for (const auto& [id, node] : model.nodes()) {
    if (model.countNamed(node.facts.name) < 1) {
      return false;
    }
  }
  return inBoxes + model.nodesIn({}).size() == model.nodes().size() &&
         boxesInBoxes + model.boxesIn({}).size() == model.boxes().size();
}

/// Without which boxes are folded.
QString unfoldedBytes(Model model) {
  Edit edit(model);
  std::vector<BoxId> boxes;
  for (const auto& [id, box] : model.boxes()) {
    boxes.push_back(id);
  }
  edits::fold(edit, boxes, false);
  model.applyTrusted(edit.patch());
  return bytes(model);
}

}  // namespace

class TestDesignerDocument : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void givenUpIsGone();
  void examplesRoundTrip_data();
  void examplesRoundTrip();
  void foreignKeysSurvive();
  void faultyFilesOpen_data();
  void faultyFilesOpen();
  void drawingIsApartFromFacts();
  void commands_data();
  void commands();
  void randomEdits_data();
  void randomEdits();
  void gesturesMerge();
  void aGestureBackToTheStartLeavesNoTrace();
  void factRevision();
  void patchesThatDoNotFit_data();
  void patchesThatDoNotFit();
  void foldedBoxesAggregate();
  void equalBoxesAreStacked();
  void foldingIsNoCommand();
  void instancesAreEditedTogether();
  void ranksGoOn();
  void linkPatterns_data();
  void linkPatterns();
  void replicateBuildsACluster();
  void selectionFollows();
  void names_data();
  void names();
};

void TestDesignerDocument::examplesRoundTrip_data() {
  QTest::addColumn<QString>("path");
  const QDir dir(QStringLiteral(COPPICE_EXAMPLES));
  for (const QString& name : dir.entryList({"*.fabric.json"}, QDir::Files)) {
    QTest::newRow(qPrintable(name)) << dir.filePath(name);
  }
}

void TestDesignerDocument::examplesRoundTrip() {
  QFETCH(QString, path);
  const auto text = io::readFile(path.toStdString());
  QVERIFY(text);
  const auto facts = io::readFabricJson(*text);
  const auto read = readFabricFile(*text, "");
  QVERIFY(facts && read);
  QVERIFY(read->findings.empty());
  QVERIFY(read->model.description() == *facts);
  QVERIFY(indicesAgree(read->model));

  const std::string saved = writeFabricFile(read->model);
  const auto again = readFabricFile(saved, "");
  QVERIFY(again);
  QCOMPARE(bytes(again->model), QString::fromStdString(saved));
  QVERIFY(again->model.description() == *facts);
  const auto before = fabric::Fabric::build(*facts);
  const auto after = fabric::Fabric::build(*io::readFabricJson(saved));
  QVERIFY(before && after);
  QCOMPARE(after->digest(), before->digest());
}

void TestDesignerDocument::foreignKeysSurvive() {
  const std::string text = R"({"name": "f", "site": {"rack": 1e400x}, "nodes": []})";
  QVERIFY(!readFabricFile(text, ""));

  const std::string foreign = R"({"name":"f","big":12345678901234567890,"nodes":[
    {"id":"a","kind":"gpu","vendor":{"x":0.10},"position":{"x":1,"y":2,"layer":"top"}},{"id":"b","kind":"gpu"}],
    "links":[{"src":"a","dst":"b","bandwidth":1.50,"cable":["m",3.0]}],
    "drawing":{"theme":"x","nodes":[{"id":"a","x":5,"y":6,"tag":7}],"boxes":[{"path":"empty","colour":"#fff"}],
      "notes":[{"text":"hi","x":1,"y":2,"by":"me"}]}})";
  const auto read = readFabricFile(foreign, "");
  QVERIFY(read);
  const QString saved = bytes(read->model);
  for (const char* part :
       {"\"big\": 12345678901234567890", "\"vendor\": {\"x\":0.10}", "\"cable\": [\"m\",3.0]", "\"theme\": \"x\"",
        "\"tag\": 7", "\"colour\": \"#fff\"", "\"by\": \"me\"", "\"bandwidth\": 1.50", "\"path\": \"empty\""}) {
    QVERIFY2(saved.contains(QString::fromUtf8(part)), qPrintable(QString::fromUtf8(part) + " is not in\n" + saved));
  }
  QCOMPARE(bytes(readFabricFile(saved.toStdString(), "")->model), saved);
}

void TestDesignerDocument::faultyFilesOpen_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<int>("findings");
  QTest::newRow("nothing") << R"({"nodes":[],"links":[]})" << 0;
  QTest::newRow("two nodes of one name")
      << R"({"nodes":[{"id":"a","kind":"gpu","position":{"x":1,"y":1}},{"id":"a","kind":"nic","position":{"x":2,"y":2}}],"links":[{"src":"a","dst":"a","bandwidth":1}]})"
      << 0;
  QTest::newRow("missing end")
      << R"({"nodes":[{"id":"a","kind":"gpu"}],"links":[{"src":"a","dst":"gone","bandwidth":0}]})" << 0;
  QTest::newRow("unknown kind") << R"({"nodes":[{"id":"a","kind":"toaster"},{"id":"","kind":""}],"links":[]})" << 0;
  QTest::newRow("odd box paths")
      << R"({"nodes":[{"id":"a","kind":"gpu","box":"/"},{"id":"b","kind":"gpu","box":"x//y/"},{"id":"c","kind":"gpu","box":"x"}],"links":[]})"
      << 0;
  QTest::newRow("drawing is a list") << R"({"nodes":[],"links":[],"drawing":[1]})" << 1;
  QTest::newRow("drawing of another program")
      << R"({"nodes":[{"id":"a","kind":"gpu"}],"links":[],"drawing":{"nodes":[{"id":"zz"},{"x":1},7],"boxes":"no","notes":[{}]}})"
      << 1;
}

void TestDesignerDocument::faultyFilesOpen() {
  QFETCH(QString, text);
  QFETCH(int, findings);
  const auto read = readFabricFile(text.toStdString(), "");
  QVERIFY(read);
  QCOMPARE(static_cast<int>(read->findings.size()), findings);
  QVERIFY(indicesAgree(read->model));
  const auto facts = io::readFabricJson(text.toStdString());
  const fabric::Description now = read->model.description();
  QVERIFY(now.nodes == facts->nodes);
  QVERIFY(now.links == facts->links);
  const QString saved = bytes(read->model);
  QCOMPARE(bytes(readFabricFile(saved.toStdString(), "")->model), saved);
}

void TestDesignerDocument::drawingIsApartFromFacts() {
  Document document;
  document.reset(modelOf("dgx-a100", {{"boxes", "2"}}), true);
  const QString before = bytes(document.model());
  document.edit(u"m"_s, [&](Edit& edit) { edits::move(edit, {document.model().nodeNamed("b0g0")}, {7, 9}); });
  const QString after = bytes(document.model());
  QVERIFY(before != after);
  const QString drawing = u"\n  \"drawing\""_s;
  QVERIFY(before.contains(drawing));
  QCOMPARE(after.section(drawing, 0, 0), before.section(drawing, 0, 0));
  QVERIFY(!after.section(drawing, 0, 0).contains(u"position"_s));
}

void TestDesignerDocument::commands_data() {
  QTest::addColumn<std::function<void(Edit&)>>("fill");
  const auto row = [](const char* name, std::function<void(Edit&)> fill) { QTest::newRow(name) << fill; };
  const auto node = [](const Edit& edit, const char* name) { return edit.base().nodeNamed(name); };
  const auto box = [](const Edit& edit, const char* path) { return edit.base().boxAtPath(path); };
  row("create node", [=](Edit& edit) { edits::addNode(edit, fabric::NodeKind::gpu, {1, 2}, box(edit, "b0")); });
  row("create note", [=](Edit& edit) { edits::addNote(edit, "text", {1, 2}); });
  row("create link", [=](Edit& edit) {
    static_cast<void>(edits::addLink(edit, node(edit, "b0g0"), node(edit, "b1g0"), {"25", false, 2}));
  });
  row("delete node", [=](Edit& edit) { edits::remove(edit, {node(edit, "b0nvs")}); });
  row("delete box", [=](Edit& edit) { edits::remove(edit, {box(edit, "b0")}); });
  row("delete link", [=](Edit& edit) { edits::remove(edit, {LinkId{1}}); });
  row("move", [=](Edit& edit) { edits::move(edit, {node(edit, "b0g0"), box(edit, "b1")}, {10, -0.1}); });
  row("rename node", [=](Edit& edit) { QVERIFY(edits::rename(edit, node(edit, "b0g0"), "new name")); });
  row("rename box", [=](Edit& edit) { QVERIFY(edits::rename(edit, box(edit, "b0"), "box 0")); });
  row("bandwidth of many", [=](Edit& edit) {
    edits::changeLinks(edit, std::vector{LinkId{1}, LinkId{2}, LinkId{3}}, [](Link& l) { l.bandwidth = "400Gb/s"; });
  });
  row("kind of many", [=](Edit& edit) {
    edits::changeNodes(edit, std::vector{node(edit, "b0g0"), node(edit, "b0g1")},
                       [](Node& n) { n.facts.kind = "nic"; });
  });
  row("align", [=](Edit& edit) { edits::align(edit, {node(edit, "b0g0"), node(edit, "b0nvs")}, edits::Side::top); });
  row("circle", [=](Edit& edit) { edits::toCircle(edit, {box(edit, "b0"), box(edit, "b1")}); });
  row("grid", [=](Edit& edit) { edits::toGrid(edit, {node(edit, "b0g0"), node(edit, "b0g1"), node(edit, "b0g2")}); });
  row("layout", [=](Edit& edit) { edits::place(edit, {{node(edit, "b0g0"), {0.5, 1e9}}}); });
  row("box", [=](Edit& edit) { edits::box(edit, {node(edit, "b0g0"), node(edit, "b0g1")}); });
  row("unbox", [=](Edit& edit) { edits::unbox(edit, std::vector{box(edit, "b0")}); });
  row("pattern", [=](Edit& edit) {
    QVERIFY(edits::linkSets(edit, edit.base().nodesIn(box(edit, "b0")), edit.base().nodesIn(box(edit, "b1")),
                            edits::LinkPattern::allToAll, {}));
  });
  row("duplicate", [=](Edit& edit) { edits::duplicate(edit, {box(edit, "b0")}, {40, 40}); });
  row("array", [=](Edit& edit) { QVERIFY(edits::replicate(edit, {box(edit, "b0")}, {.copies = 3})); });
  row("paste", [=](Edit& edit) { edits::insert(edit, edits::extract(edit.base(), {box(edit, "b1")}), {9, 9}); });
  row("import", [=](Edit& edit) { edits::insert(edit, modelOf("mi250"), {0, 900}); });
  row("make type", [=](Edit& edit) { makeType(edit, box(edit, "b0")); });
  row("name of the fabric", [=](Edit& edit) {
    Header header = edit.header();
    header.name = "other";
    edit.setHeader(header);
  });
}

void TestDesignerDocument::commands() {
  QFETCH(std::function<void(Edit&)>, fill);
  Document document;
  document.reset(modelOf("dgx-a100", {{"boxes", "2"}}), true);
  QSignalSpy changes(&document, &Document::changed);
  const QString before = bytes(document.model());
  QVERIFY(document.edit(u"row"_s, fill));
  QCOMPARE(changes.size(), 1);
  const QString after = bytes(document.model());
  QVERIFY(after != before);
  QVERIFY(indicesAgree(document.model()));
  document.undoStack()->undo();
  QCOMPARE(bytes(document.model()), before);
  QVERIFY(indicesAgree(document.model()));
  QVERIFY(document.undoStack()->isClean());
  document.undoStack()->redo();
  QCOMPARE(bytes(document.model()), after);
  QCOMPARE(changes.size(), 3);
  // What was saved opens as the same thing.
  QCOMPARE(bytes(readFabricFile(after.toStdString(), "")->model), after);
}

void TestDesignerDocument::randomEdits_data() {
  QTest::addColumn<unsigned>("seed");
  for (unsigned seed = 1; seed <= 12; ++seed) {
    QTest::addRow("seed %u", seed) << seed;
  }
}

void TestDesignerDocument::randomEdits() {
  QFETCH(unsigned, seed);
  Document document;
  document.reset(seed % 2 == 0 ? modelOf("dgx-a100", {{"boxes", "2"}}) : Model(), true);
  test::RandomEditor editor(document, seed);
  // Folding is not part of the history. States by the index of the stack; merged steps overwrite their own.
  std::vector<QString> states{unfoldedBytes(document.model())};
  for (int i = 0; i < 400; ++i) {
    if (editor.step()) {
      const auto index = static_cast<std::size_t>(document.undoStack()->index());
      states.resize(index + 1);
      states[index] = unfoldedBytes(document.model());
    }
    QVERIFY2(indicesAgree(document.model()), qPrintable(u"seed %1 step %2"_s.arg(seed).arg(i)));
    if (editor.below(10) == 0) {
      document.undoStack()->setIndex(document.undoStack()->count() - editor.below(5));
      editor.endGesture();
      QCOMPARE(unfoldedBytes(document.model()), states[document.undoStack()->index()]);
    }
    if (i % 40 == 0) {
      const QString now = bytes(document.model());
      QCOMPARE(bytes(readFabricFile(now.toStdString(), "")->model), now);
    }
  }
  const int top = document.undoStack()->count();
  QVERIFY(top > 100);
  for (int index = top; index >= 0; --index) {
    document.undoStack()->setIndex(index);
    QCOMPARE(unfoldedBytes(document.model()), states[index]);
  }
  for (int index = 0; index <= top; ++index) {
    document.undoStack()->setIndex(index);
    QCOMPARE(unfoldedBytes(document.model()), states[index]);
  }
  QVERIFY(indicesAgree(document.model()));
}

void TestDesignerDocument::gesturesMerge() {
  Document document;
  document.reset(modelOf("dgx-a100"), true);
  const NodeId id = document.model().nodeNamed("b0g0");
  for (int drag = 0; drag < 2; ++drag) {
    const GestureId gesture = document.beginGesture();
    for (int i = 0; i < 5; ++i) {
      document.edit(
          u"Move"_s,
          [&](Edit& edit) {
            edits::move(edit, {id}, {1, 2});
          },
          gesture);
    }
  }
  QCOMPARE(document.undoStack()->count(), 2);
  document.undoStack()->undo();
  document.undoStack()->undo();
  QCOMPARE(document.model().find(id)->drawing.position, modelOf("dgx-a100").find(id)->drawing.position);
}

void TestDesignerDocument::aGestureBackToTheStartLeavesNoTrace() {
  Document document;
  document.reset(modelOf("dgx-a100"), true);
  const NodeId id = document.model().nodeNamed("b0g0");
  const GestureId gesture = document.beginGesture();
  // Two steps merge before the third brings it home.
  document.edit(
      u"Move"_s,
      [&](Edit& edit) {
        edits::move(edit, {id}, {1, 0});
      },
      gesture);
  document.edit(
      u"Move"_s,
      [&](Edit& edit) {
        edits::move(edit, {id}, {1, 0});
      },
      gesture);
  document.edit(
      u"Move"_s,
      [&](Edit& edit) {
        edits::move(edit, {id}, {-2, 0});
      },
      gesture);
  QCOMPARE(document.undoStack()->count(), 0);
  QVERIFY(!document.edit(u"Nothing"_s, [&](Edit& edit) { edits::move(edit, {id}, {0, 0}); }));
}

void TestDesignerDocument::factRevision() {
  Document document;
  document.reset(modelOf("dgx-a100"), true);
  const auto revision = document.factRevision();
  const auto facts = document.facts();
  QCOMPARE(document.facts(), facts);
  document.edit(u"Move"_s, [&](Edit& edit) { edits::move(edit, {NodeId{1}}, {1, 0}); });
  document.edit(u"Note"_s, [&](Edit& edit) { edits::addNote(edit, "x", {}); });
  QCOMPARE(document.factRevision(), revision);
  QCOMPARE(document.facts(), facts);
  document.edit(u"Link"_s, [&](Edit& edit) {
    edits::changeLinks(edit, std::vector{LinkId{1}}, [](Link& link) { link.bandwidth = "1"; });
  });
  QVERIFY(document.factRevision() > revision);
  QVERIFY(document.facts() != facts);
  QCOMPARE(document.facts()->links[0].bandwidth, std::string("1"));
  // The old snapshot is what it was.
  QVERIFY(facts->links[0].bandwidth != "1");
}

void TestDesignerDocument::patchesThatDoNotFit_data() {
  QTest::addColumn<Patch>("patch");
  const Model model = modelOf("dgx-a100", {{"boxes", "2"}});
  const auto row = [](const char* name, const std::function<void(Patch&)>& fill) {
    Patch patch;
    fill(patch);
    QTest::newRow(name) << patch;
  };
  const Node node = *model.find(NodeId{1});
  const Link link = *model.find(LinkId{1});
  const Box box = *model.find(BoxId{1});
  row("create what is there", [&](Patch& p) { p.nodes.push_back({NodeId{1}, std::nullopt, node}); });
  row("change what is not there", [&](Patch& p) { p.nodes.push_back({NodeId{9999}, node, std::nullopt}); });
  row("before is another", [&](Patch& p) { p.nodes.push_back({NodeId{2}, node, std::nullopt}); });
  row("links would hang", [&](Patch& p) { p.nodes.push_back({NodeId{1}, node, std::nullopt}); });
  row("box would be empty-handed", [&](Patch& p) { p.boxes.push_back({BoxId{1}, box, std::nullopt}); });
  row("box within itself", [&](Patch& p) {
    Box inside = box;
    inside.parent = BoxId{1};
    p.boxes.push_back({BoxId{1}, box, inside});
  });
  row("end that is not there", [&](Patch& p) {
    Link other = link;
    other.tail.node = NodeId{9999};
    p.links.push_back({LinkId{1}, link, other});
  });
  row("box that is not there", [&](Patch& p) {
    Node other = node;
    other.facts.box = BoxId{77};
    p.nodes.push_back({NodeId{1}, node, other});
  });
  row("id 0", [&](Patch& p) { p.notes.push_back({NoteId{0}, std::nullopt, Note{}}); });
  row("id out of range", [&](Patch& p) { p.notes.push_back({NoteId{0xffffffffU}, std::nullopt, Note{}}); });
  row("twice", [&](Patch& p) {
    p.notes.push_back({NoteId{1}, std::nullopt, Note{}});
    p.notes.push_back({NoteId{1}, std::nullopt, Note{}});
  });
  row("another header", [&](Patch& p) { p.header = HeaderSwap{Header{.name = "zz"}, Header{}}; });
}

void TestDesignerDocument::patchesThatDoNotFit() {
  QFETCH(Patch, patch);
  Model model = modelOf("dgx-a100", {{"boxes", "2"}});
  const QString before = bytes(model);
  const Outcome outcome = model.apply(patch);
  QVERIFY(!outcome);
  QCOMPARE(outcome.error().code, ErrorCode::badInput);
  QCOMPARE(bytes(model), before);
}

void TestDesignerDocument::foldingIsNoCommand() {
  Document document;
  document.reset(modelOf("dgx-a100", {{"boxes", "2"}}), true);
  const BoxId box = document.model().boxAt({}, "b0");
  const auto fold = [&](bool isFolded) {
    return document.edit(u"Fold"_s, [&](Edit& edit) { edits::fold(edit, std::vector{box}, isFolded); });
  };
  const auto isFolded = [&] { return document.model().find(box)->isFolded; };
  QSignalSpy changes(&document, &Document::changed);
  QVERIFY(fold(true));
  QVERIFY(isFolded());
  QCOMPARE(changes.size(), 1);
  QCOMPARE(document.undoStack()->count(), 0);
  QVERIFY(document.undoStack()->isClean());
  // It is in the file that is written next.
  QVERIFY(readFabricFile(writeFabricFile(document.model()), "")->model.find(box)->isFolded);

  // Commands on the box leave its folding alone, whenever they are undone.
  QVERIFY(document.edit(u"Rename"_s, [&](Edit& edit) { QVERIFY(edits::rename(edit, box, "other")); }));
  QVERIFY(fold(false));
  QCOMPARE(document.undoStack()->count(), 1);
  document.undoStack()->undo();
  QCOMPARE(document.model().find(box)->name, std::string("b0"));
  QVERIFY(!isFolded());
  QVERIFY(fold(true));
  document.undoStack()->redo();
  QCOMPARE(document.model().find(box)->name, std::string("other"));
  QVERIFY(isFolded());
  // A box that was deleted comes back as it was.
  QVERIFY(document.edit(u"Delete"_s, [&](Edit& edit) { edits::remove(edit, {box}); }));
  document.undoStack()->undo();
  QVERIFY(isFolded());
  QVERIFY(indicesAgree(document.model()));
}

void TestDesignerDocument::foldedBoxesAggregate() {
  Document document;
  document.reset(modelOf("dgx-a100", {{"boxes", "2"}}), true);
  const Model& model = document.model();
  const BoxId box = model.boxAtPath("b0");
  QVERIFY(box.isValid());
  const auto before = linkBundles(model);
  const QRectF outline = boxOutline(model, box);
  document.edit(u"Fold"_s, [&](Edit& edit) { edits::fold(edit, std::vector{box}, true); });
  QCOMPARE(visibleEnd(model, model.nodeNamed("b0g3")), ElementId(box));
  QVERIFY(!isVisible(model, model.nodeNamed("b0g3")));
  QVERIFY(isVisible(model, box));
  QCOMPARE(foldedRect(model, box).center(), outline.center());

  std::int64_t lines = 0;
  for (const LinkBundle& bundle : linkBundles(model)) {
    if (bundle.a != box && bundle.b != box) {
      continue;
    }
    lines += bundle.lines;
    QCOMPARE(bundle.label(), u"%1 × 25 GB/s"_s.arg(bundle.lines));
    QVERIFY(bundle.each && *bundle.forward == *bundle.each * Rational(bundle.lines));
  }
  QCOMPARE(lines, std::int64_t(8));
  document.edit(u"Unfold"_s, [&](Edit& edit) { edits::fold(edit, std::vector{box}, false); });
  const auto after = linkBundles(model);
  QCOMPARE(after.size(), before.size());
}

/// Equal boxes: the same inside, and links to the same nodes outside. Many of them are drawn as one.
void TestDesignerDocument::equalBoxesAreStacked() {
  Document document;
  document.reset(modelOf("dgx-a100", {{"boxes", "40"}}), true);
  const Model& model = document.model();
  const std::vector<BoxId> boxes = model.boxesIn({});
  QCOMPARE(boxes.size(), std::size_t{40});
  QCOMPARE(stackableBoxes(model), boxes);
  QCOMPARE(stackTitle(model, boxes), u"DGX A100 × 40"_s);
  QCOMPARE(*bandwidthOut(model, boxes.front()), Bandwidth(200, 1));
  QVERIFY(Stacks(model).isEmpty());  // none is folded
  document.edit(u"Fold"_s, [&](Edit& edit) { edits::fold(edit, boxes, true); });
  QCOMPARE(Stacks(model).with(boxes[7]).size(), std::size_t{40});
  QCOMPARE(Stacks(model).shapeOf(boxes[7]), ElementId(boxes.front()));
  // All links to one switch are one line.
  const std::vector<LinkBundle> bundles = linkBundles(model, Stacks(model));
  QCOMPARE(bundles.size(), std::size_t{2});
  for (const LinkBundle& bundle : bundles) {
    QCOMPARE(bundle.label(), u"160 × 25 GB/s"_s);
  }
  // A box with a slower link is not equal; nor is one that leads elsewhere.
  const auto changeFirst = [&](NodeId node, auto change) {
    document.edit(u"Link"_s, [&](Edit& edit) { edit.change(model.linksOf(node).front(), change); });
  };
  changeFirst(model.nodeNamed("b3g0"), [](Link& link) { link.bandwidth = "10"; });
  QCOMPARE(Stacks(model).with(boxes[0]).size(), std::size_t{39});
  QVERIFY(Stacks(model).with(boxes[3]).empty());
  const LinkId cable = model.linksOf(model.nodeNamed("b5nic0")).back();
  const bool isTail = model.find(cable)->tail.node == model.nodeNamed("b5nic0");
  const NodeId other = model.nodeNamed("ib1");
  document.edit(u"Link"_s, [&](Edit& change) {
    change.change(cable, [&](Link& link) { (isTail ? link.head : link.tail).node = other; });
  });
  QCOMPARE(Stacks(model).with(boxes[0]).size(), std::size_t{38});
  // Few boxes are drawn one by one.
  document.edit(u"Unfold"_s,
                [&](Edit& change) { edits::fold(change, std::vector(boxes.begin() + 10, boxes.begin() + 18), false); });
  QVERIFY(Stacks(model).isEmpty());
}

void TestDesignerDocument::instancesAreEditedTogether() {
  Document document;
  std::set<ElementId> made;
  document.edit(u"box"_s, [&](Edit& edit) {
    const NodeId gpu = edits::addNode(edit, fabric::NodeKind::gpu, {0, 0});
    const NodeId nic = edits::addNode(edit, fabric::NodeKind::nic, {0, 100});
    QVERIFY(edits::addLink(edit, gpu, nic, {"25", true, 1}));
    QVERIFY(edits::box(edit, {gpu, nic}, "box0").isValid());
  });
  const Model& model = document.model();
  document.edit(u"array"_s, [&](Edit& edit) {
    auto copies = edits::replicate(edit, {model.boxAtPath("box0")}, {.copies = 2});
    QVERIFY(copies);
    made = *copies;
  });
  QCOMPARE(model.boxes().size(), std::size_t(3));
  QCOMPARE(model.links().size(), std::size_t(3));
  QVERIFY(model.boxAtPath("box2").isValid());
  QCOMPARE(model.find(model.boxAtPath("box1"))->type, std::string("box0"));

  const auto bandwidths = [&] {
    QStringList list;
    for (const auto& [id, link] : model.links()) {
      list << QString::fromStdString(link.bandwidth);
    }
    return list.join(u' ');
  };
  document.edit(u"bw"_s, [&](Edit& edit) {
    edits::changeLinks(edit, std::vector{LinkId{2}}, [](Link& link) { link.bandwidth = "50"; });
  });
  QCOMPARE(bandwidths(), u"50 50 50"_s);
  // A new node and its link appear in every instance.
  document.edit(u"add"_s, [&](Edit& edit) {
    const NodeId id = edits::addNode(edit, fabric::NodeKind::switchNode, {50, 50}, model.boxAtPath("box1"));
    QVERIFY(edits::addLink(edit, id, model.nodesIn(model.boxAtPath("box1")).front(), {"9", true, 1}));
  });
  QCOMPARE(model.nodes().size(), std::size_t(9));
  QCOMPARE(model.links().size(), std::size_t(6));

  document.edit(u"detach"_s, [&](Edit& edit) { detach(edit, model.boxAtPath("box2")); });
  document.edit(u"bw"_s, [&](Edit& edit) {
    edits::changeLinks(edit, std::vector{LinkId{1}}, [](Link& link) { link.bandwidth = "75"; });
  });
  QCOMPARE(bandwidths().section(u' ', 0, 2), u"75 75 50"_s);
  document.edit(u"del"_s, [&](Edit& edit) { edits::remove(edit, {model.nodesIn(model.boxAtPath("box0")).front()}); });
  QCOMPARE(model.nodesIn(model.boxAtPath("box0")).size(), std::size_t(2));
  QCOMPARE(model.nodesIn(model.boxAtPath("box1")).size(), std::size_t(2));
  QCOMPARE(model.nodesIn(model.boxAtPath("box2")).size(), std::size_t(3));
}

// Ranks are for all GPUs or for none: one more GPU, however it comes, leaves none without.
void TestDesignerDocument::ranksGoOn() {
  const auto ranksOf = [](const Model& model) {
    std::set<int> ranks;
    for (const auto& [id, node] : model.nodes()) {
      if (node.facts.rank) {
        ranks.insert(*node.facts.rank);
      }
    }
    return ranks;
  };
  Document document;
  document.reset(readModel(*presets::make("dgx-a100", {{"boxes", "2"}})).model, true);
  NodeId gpu;
  document.edit("add", [&](Edit& edit) { gpu = edits::addNode(edit, fabric::NodeKind::gpu, {0, 900}); });
  QCOMPARE(document.model().find(gpu)->facts.rank, std::optional(16));
  document.edit("add", [&](Edit& edit) { edits::addNode(edit, fabric::NodeKind::nic, {0, 990}); });
  document.edit("copy", [&](Edit& edit) { edits::duplicate(edit, {gpu}, {100, 0}); });
  const Model part = readModel(*presets::make("ring", {{"gpus", "3"}})).model;
  document.edit("insert", [&](Edit& edit) { edits::insert(edit, part, {0, 2000}); });
  const std::set<int> ranks = ranksOf(document.model());
  QCOMPARE(ranks.size(), 21U);
  QCOMPARE(*ranks.rbegin(), 20);
  // Where none has one, or not all have, nothing is guessed.
  Document plain;
  plain.edit("add", [&](Edit& edit) { edits::addNode(edit, fabric::NodeKind::gpu, {0, 0}); });
  plain.edit("add", [&](Edit& edit) { gpu = edits::addNode(edit, fabric::NodeKind::gpu, {100, 0}); });
  QVERIFY(ranksOf(plain.model()).empty());
  plain.edit("rank", [&](Edit& edit) { edit.change(gpu, [](Node& node) { node.facts.rank = 0; }); });
  plain.edit("add", [&](Edit& edit) { edits::addNode(edit, fabric::NodeKind::gpu, {200, 0}); });
  QCOMPARE(ranksOf(plain.model()).size(), 1U);
}

void TestDesignerDocument::linkPatterns_data() {
  QTest::addColumn<edits::LinkPattern>("pattern");
  QTest::addColumn<int>("from");
  QTest::addColumn<int>("to");
  QTest::addColumn<QString>("links");
  QTest::newRow("all to all") << edits::LinkPattern::allToAll << 2 << 2 << "a0-c0 a0-c1 a1-c0 a1-c1";
  QTest::newRow("one to one") << edits::LinkPattern::oneToOne << 2 << 2 << "a0-c0 a1-c1";
  QTest::newRow("one to one, uneven") << edits::LinkPattern::oneToOne << 2 << 3 << "error";
  QTest::newRow("round robin") << edits::LinkPattern::roundRobin << 4 << 3 << "a0-c0 a1-c1 b0-c2 b1-c0";
  QTest::newRow("rail") << edits::LinkPattern::rail << 4 << 2 << "a0-c0 a1-c1 b0-c0 b1-c1";
  QTest::newRow("ring of three") << edits::LinkPattern::ring << 3 << 0 << "a0-a1 a1-b0 b0-a0";
  QTest::newRow("ring of two") << edits::LinkPattern::ring << 2 << 0 << "a0-a1";
  QTest::newRow("ring of one") << edits::LinkPattern::ring << 1 << 0 << "error";
  QTest::newRow("to nothing") << edits::LinkPattern::rail << 2 << 0 << "error";
}

void TestDesignerDocument::linkPatterns() {
  QFETCH(edits::LinkPattern, pattern);
  QFETCH(int, from);
  QFETCH(int, to);
  QFETCH(QString, links);
  const Model empty;
  Edit edit(empty);
  std::vector<NodeId> left;
  std::vector<NodeId> right;
  for (const char* box : {"a", "b"}) {
    std::set<ElementId> members;
    for (int i = 0; i < 2; ++i) {
      left.push_back(edits::addNode(edit, fabric::NodeKind::gpu, {}, {}, box + std::to_string(i)));
      members.insert(left.back());
    }
    edits::box(edit, members, box);
  }
  for (int i = 0; i < 3; ++i) {
    right.push_back(edits::addNode(edit, fabric::NodeKind::switchNode, {}, {}, "c" + std::to_string(i)));
  }
  left.resize(static_cast<std::size_t>(from));
  right.resize(static_cast<std::size_t>(to));
  const auto made = edits::linkSets(edit, left, right, pattern, {"10", true, 1});
  QStringList found;
  if (made) {
    for (const LinkId id : *made) {
      found << QString::fromStdString(edit.find(edit.find(id)->tail.node)->facts.name + "-" +
                                      edit.find(edit.find(id)->head.node)->facts.name);
    }
  }
  QCOMPARE(made ? found.join(u' ') : u"error"_s, links);
}

void TestDesignerDocument::replicateBuildsACluster() {
  // The first flow: a box of eight with a switch, four of them, every NIC to one network switch.
  Document document;
  const Model& model = document.model();
  document.edit(u"GPU and NIC"_s, [&](Edit& edit) {
    const NodeId gpu = edits::addNode(edit, fabric::NodeKind::gpu, {0, 0}, {}, "g0");
    const NodeId nic = edits::addNode(edit, fabric::NodeKind::nic, {0, -80}, {}, "nic0");
    QVERIFY(edits::addLink(edit, gpu, nic, {"25"}));
  });
  document.edit(u"Array of 8"_s, [&](Edit& edit) {
    QVERIFY(edits::replicate(edit, {model.nodeNamed("g0"), model.nodeNamed("nic0")}, {.copies = 7}));
  });
  QVERIFY(model.nodeNamed("g7").isValid() && model.nodeNamed("nic7").isValid());
  document.edit(u"NVSwitch"_s, [&](Edit& edit) {
    const NodeId hub = edits::addNode(edit, fabric::NodeKind::switchNode, {0, 100}, {}, "nvs");
    std::vector<NodeId> gpus;
    for (const auto& [id, node] : model.nodes()) {
      if (node.kind() == fabric::NodeKind::gpu) {
        gpus.push_back(id);
      }
    }
    QVERIFY(edits::linkSets(edit, gpus, std::vector{hub}, edits::LinkPattern::allToAll, {"450 GB/s"}));
  });
  document.edit(u"Box"_s, [&](Edit& edit) {
    std::set<ElementId> all;
    for (const auto& [id, node] : model.nodes()) {
      all.insert(id);
    }
    edits::box(edit, all, "box0");
  });
  document.edit(u"Array of 4"_s, [&](Edit& edit) {
    QVERIFY(edits::replicate(edit, {model.boxAtPath("box0")}, {.copies = 3, .columns = 2}));
  });
  document.edit(u"IB"_s, [&](Edit& edit) {
    const NodeId hub = edits::addNode(edit, fabric::NodeKind::switchNode, {400, -400}, {}, "ib");
    std::vector<NodeId> nics;
    for (const auto& [id, node] : model.nodes()) {
      if (node.kind() == fabric::NodeKind::nic) {
        nics.push_back(id);
      }
    }
    QVERIFY(edits::linkSets(edit, nics, std::vector{hub}, edits::LinkPattern::allToAll, {"200Gb/s"}));
  });
  QCOMPARE(document.undoStack()->count(), 6);
  QCOMPARE(model.nodes().size(), std::size_t(4 * 17 + 1));
  QCOMPARE(model.links().size(), std::size_t(4 * 16 + 32));
  const auto built = fabric::Fabric::build(*document.facts());
  QVERIFY2(built, built ? "" : built.error().message.c_str());
  QCOMPARE(built->gpuCount(), 32);
}

void TestDesignerDocument::selectionFollows() {
  Document document;
  document.reset(modelOf("dgx-a100", {{"boxes", "2"}}), true);
  const Model& model = document.model();
  Selection selection(document);
  QSignalSpy changes(&selection, &Selection::changed);
  selection.set({model.nodeNamed("b0g0"), NodeId{4242}});
  QCOMPARE(selection.elements().size(), std::size_t(1));
  selection.selectSameKind();
  QCOMPARE(selection.nodes().size(), std::size_t(16));
  selection.set({model.nodeNamed("b0g0")});
  selection.addNeighbours();
  QVERIFY(selection.contains(model.nodeNamed("b0nvs")));
  selection.set({model.nodeNamed("b0g0")});
  selection.selectWholeBox();
  QVERIFY(selection.contains(model.boxAtPath("b0")));
  QVERIFY(selection.contains(model.nodeNamed("b0g7")));
  QVERIFY(!selection.contains(model.nodeNamed("b1g7")));
  selection.setCurrent(model.nodeNamed("b0g0"));
  const auto count = changes.size();
  document.edit(u"Delete"_s, [&](Edit& edit) { edits::remove(edit, {model.boxAtPath("b0")}); });
  QVERIFY(selection.isEmpty());
  QVERIFY(!selection.current().isValid());
  QCOMPARE(changes.size(), count + 1);
}

void TestDesignerDocument::names_data() {
  QTest::addColumn<QString>("element");
  QTest::addColumn<QString>("name");
  QTest::addColumn<bool>("allowed");
  QTest::newRow("own name") << "b0g0"
                            << "b0g0" << true;
  QTest::newRow("free") << "b0g0"
                        << "gpu √ 7" << true;
  QTest::newRow("taken") << "b0g0"
                         << "b0g1" << false;
  QTest::newRow("empty") << "b0g0"
                         << "" << false;
  QTest::newRow("control") << "b0g0"
                           << "a\tb" << false;
  QTest::newRow("slash in a node") << "b0g0"
                                   << "a/b" << true;
  QTest::newRow("slash in a box") << "box b0"
                                  << "a/b" << false;
  QTest::newRow("box taken") << "box b0"
                             << "b1" << false;
  QTest::newRow("box free") << "box b0"
                            << "b7" << true;
}

void TestDesignerDocument::names() {
  QFETCH(QString, element);
  QFETCH(QString, name);
  QFETCH(bool, allowed);
  const Model model = modelOf("dgx-a100", {{"boxes", "2"}});
  const ElementId id = element.startsWith(u"box "_s) ? ElementId(model.boxAtPath(element.mid(4).toStdString()))
                                                     : ElementId(model.nodeNamed(element.toStdString()));
  QVERIFY(id.isValid());
  QCOMPARE(static_cast<bool>(edits::checkName(model, id, name.toStdString())), allowed);
}

/// What is cancelled half way leaves nothing to redo.
void TestDesignerDocument::givenUpIsGone() {
  Document document;
  document.edit(u"first"_s, [](Edit& edit) { edits::addNode(edit, fabric::NodeKind::gpu, {}); });
  const NodeId node = (*document.model().nodes().begin()).id;
  const Point before = document.model().find(node)->drawing.position;
  const GestureId gesture = document.beginGesture();
  for (int step = 1; step <= 3; ++step) {
    document.edit(
        u"move"_s,
        [&](Edit& edit) {
          edits::move(edit, {node}, {10, 0});
        },
        gesture);
  }
  QCOMPARE(document.undoStack()->count(), 2);
  document.giveUp();
  QCOMPARE(document.undoStack()->count(), 1);
  QVERIFY(!document.undoStack()->canRedo());
  QVERIFY(document.model().find(node)->drawing.position == before);
  document.undoStack()->undo();
  QVERIFY(document.undoStack()->canRedo());
}

QTEST_GUILESS_MAIN(TestDesignerDocument)
#include "tst_designer_document.moc"
