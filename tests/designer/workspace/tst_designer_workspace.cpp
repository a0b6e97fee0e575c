// SPDX-License-Identifier: Apache-2.0
#include <QPointer>
#include <QSignalSpy>
#include <QTest>
#include <algorithm>
#include <memory>

#include "designer/document/edits.hpp"
#include "designer/workspace/feature.hpp"
#include "designer/workspace/view_link.hpp"

using namespace coppice;
using namespace coppice::designer;
using namespace Qt::StringLiterals;

namespace {

/// What a listener saw: "a" became current, "-" none, "x:a" was removed.
struct Log {
  explicit Log(Workspace& workspace) {
    QObject::connect(&workspace, &Workspace::currentChanged, &context, [this, &workspace] {
      EditorContext* current = workspace.current();
      seen << (current != nullptr ? current->file().displayName() : u"-"_s);
    });
    QObject::connect(&workspace, &Workspace::removed, &context, [this, &workspace](EditorContext* gone) {
      const auto& open = workspace.contexts();
      seen << u"x:"_s + gone->file().displayName();
      isStillListed = isStillListed || std::find(open.begin(), open.end(), gone) != open.end();
    });
  }
  QObject context;
  QStringList seen;
  bool isStillListed = false;
};

/// Documents by the letters of their names.
void openAll(Workspace& workspace, const QString& letters) {
  for (const QChar letter : letters) {
    workspace.adopt({}, {}, QString(letter));
  }
}

EditorContext* named(Workspace& workspace, const QString& name) {
  for (EditorContext* context : workspace.contexts()) {
    if (context->file().displayName() == name) {
      return context;
    }
  }
  return nullptr;
}

}  // namespace

class TestDesignerWorkspace : public QObject {
  Q_OBJECT

private Q_SLOTS:
  void removal_data();
  void removal();
  void theEnd();
  void namesOfNewDocuments();
  void closedDocumentsAreNotActivated();
  void statesThatDecideOnActions();
  void modeIsToldAlsoWhereItIsTheSame();
  void featureWithoutDocument();
  void linksToViews_data();
  void linksToViews();
};

void TestDesignerWorkspace::linksToViews_data() {
  QTest::addColumn<QString>("text");
  QTest::addColumn<QString>("again");  // empty: it is refused
  QTest::newRow("mode and cut") << u"a.fabric.json#mode=analyse&cut=2"_s << u"a.fabric.json#mode=analyse&cut=2"_s;
  QTest::newRow("all") << u"b#1.json#zoom=75&collective=allreduce&mode=schedule&cut=3"_s
                       << u"b#1.json#mode=schedule&collective=allreduce&cut=3&zoom=75"_s;
  QTest::newRow("the first cut") << u"a#cut=1"_s << u"a#"_s;
  QTest::newRow("nothing") << u"a#"_s << u"a#"_s;
  QTest::newRow("another mode") << u"a#mode=fly"_s << QString();
  QTest::newRow("another key") << u"a#node=1"_s << QString();
  QTest::newRow("no cut") << u"a#cut=0"_s << QString();
  QTest::newRow("no number") << u"a#zoom=large"_s << QString();
  QTest::newRow("no collective") << u"a#collective=gossip"_s << QString();
}

void TestDesignerWorkspace::linksToViews() {
  QFETCH(QString, text);
  QFETCH(QString, again);
  const auto link = ViewLink::of(text);
  QCOMPARE(static_cast<bool>(link), !again.isEmpty());
  if (link) {
    QVERIFY(link->has_value());
    QCOMPARE((*link)->text(), again);
  } else {
    QVERIFY(!link.error().fix.empty());
  }
  // A name without a view is a name.
  QVERIFY(!ViewLink::of(text.section(u'#', 0, 0))->has_value());
}

void TestDesignerWorkspace::removal_data() {
  QTest::addColumn<QString>("open");
  QTest::addColumn<QString>("active");
  QTest::addColumn<QString>("removed");
  QTest::addColumn<QStringList>("seen");
  QTest::newRow("the next one follows") << u"abc"_s << u"b"_s << u"b"_s << QStringList{u"c"_s, u"x:b"_s};
  QTest::newRow("the one before the last") << u"abc"_s << u"c"_s << u"c"_s << QStringList{u"b"_s, u"x:c"_s};
  QTest::newRow("another stays current") << u"abc"_s << u"a"_s << u"b"_s << QStringList{u"x:b"_s};
  QTest::newRow("the only one") << u"a"_s << u"a"_s << u"a"_s << QStringList{u"-"_s, u"x:a"_s};
}

void TestDesignerWorkspace::removal() {
  QFETCH(QString, open);
  QFETCH(QString, active);
  QFETCH(QString, removed);
  QFETCH(QStringList, seen);
  Workspace workspace;
  openAll(workspace, open);
  workspace.activate(named(workspace, active));
  Log log(workspace);
  const QPointer<EditorContext> gone = named(workspace, removed);
  workspace.remove(*gone);
  QCOMPARE(log.seen, seen);
  QVERIFY(!log.isStillListed);
  QVERIFY(gone);  // what still runs in it may end
  QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
  QVERIFY(!gone);
}

void TestDesignerWorkspace::theEnd() {
  // All listeners let go of the current document before any document is destroyed.
  auto workspace = std::make_unique<Workspace>();
  openAll(*workspace, u"ab"_s);
  Log log(*workspace);
  const QPointer<EditorContext> a = named(*workspace, u"a"_s);
  const QPointer<CanvasView> canvas = &a->canvas();
  bool wasThere = false;
  connect(workspace.get(), &Workspace::currentChanged, &log.context, [&] { wasThere = a && canvas; });
  workspace.reset();
  QVERIFY(wasThere);
  QVERIFY(!a);
  QVERIFY(!canvas);
  QCOMPARE(log.seen, (QStringList{u"-"_s, u"x:b"_s, u"x:a"_s}));
}

void TestDesignerWorkspace::namesOfNewDocuments() {
  Workspace workspace;
  const QString first = workspace.newDocument()->file().displayName();
  const QString second = workspace.newDocument()->file().displayName();
  QVERIFY(first != second);
  workspace.remove(*workspace.contexts().front());
  QCOMPARE(workspace.newDocument()->file().displayName(), first);
}

void TestDesignerWorkspace::closedDocumentsAreNotActivated() {
  Workspace workspace;
  openAll(workspace, u"ab"_s);
  EditorContext* closed = named(workspace, u"a"_s);
  workspace.remove(*closed);
  workspace.activate(closed);
  QCOMPARE(workspace.current(), named(workspace, u"b"_s));
}

void TestDesignerWorkspace::statesThatDecideOnActions() {
  Workspace workspace;
  openAll(workspace, u"ab"_s);
  EditorContext* current = workspace.current();
  QSignalSpy spy(&workspace, &Workspace::stateChanged);
  current->document().edit(u"Add"_s, [](Edit& edit) { edits::addNode(edit, fabric::NodeKind::gpu, {}); });
  QVERIFY(spy.count() > 0);
  spy.clear();
  current->selection().selectAll();
  QVERIFY(spy.count() > 0);
  spy.clear();
  current->canvas().setTool(ToolKind::link);
  QVERIFY(spy.count() > 0);
  spy.clear();
  // Of another document nothing matters.
  EditorContext* other = workspace.contexts().front();
  other->document().edit(u"Add"_s, [](Edit& edit) { edits::addNode(edit, fabric::NodeKind::gpu, {}); });
  other->canvas().setTool(ToolKind::link);
  QCOMPARE(spy.count(), 0);
}

void TestDesignerWorkspace::modeIsToldAlsoWhereItIsTheSame() {
  Workspace workspace;
  QSignalSpy spy(&workspace, &Workspace::modeChanged);
  workspace.setMode(Mode::analyse);
  workspace.setMode(Mode::analyse);
  QCOMPARE(workspace.mode(), Mode::analyse);
  QCOMPARE(spy.count(), 2);
}

void TestDesignerWorkspace::featureWithoutDocument() {
  struct Counting : Feature {
    explicit Counting(const FeatureHost& host) : Feature(host) {
      addForCurrent({u"test.count"_s, u"Count"_s}, [this](EditorContext&) { ++count; });
    }
    int count = 0;
  };
  QWidget window;
  ActionRegistry actions;
  Prompts prompts;
  const WindowOptions options;
  Workspace workspace;
  Counting feature({workspace, actions, prompts, &window, {}, options});
  actions[u"test.count"_s]->trigger();
  QCOMPARE(feature.count, 0);
  workspace.newDocument();
  actions[u"test.count"_s]->trigger();
  QCOMPARE(feature.count, 1);
}

QTEST_MAIN(TestDesignerWorkspace)
#include "tst_designer_workspace.moc"
