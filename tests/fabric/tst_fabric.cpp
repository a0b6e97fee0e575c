// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/checked.hpp"
#include "fabric/balance.hpp"
#include "fabric/fabric.hpp"

using namespace coppice;
using namespace coppice::fabric;

namespace {

const QString kWriteBandwidth =
    "write GB/s per direction such as 25, 12.5 or 25/2, or a unit such as 400Gb/s or 12x25 GB/s";

const QString kAboveZero = "write the GB/s of one direction, or remove the link";

QString toQString(const std::string& text) {
  return QString::fromStdString(text);
}

/// "a b s:switch | a-s 2; s>b 25/2": nodes (kind gpu unless told), then links, - duplex, > one way.
Description parseFabric(const QString& text) {
  Description description;
  description.name = "test";
  const QStringList halves = text.split('|');
  for (const QString& word : halves[0].split(' ', Qt::SkipEmptyParts)) {
    const QStringList parts = word.split(':');
    NodeDescription node;
    node.id = parts[0].toStdString();
    node.kind = parts.size() > 1 ? parts[1].toStdString() : "gpu";
    description.nodes.push_back(node);
  }
  for (const QString& item : halves.value(1).split(';', Qt::SkipEmptyParts)) {
    const QStringList words = item.split(' ', Qt::SkipEmptyParts);
    const bool isDuplex = words[0].contains('-');
    const QStringList ends = words[0].split(isDuplex ? '-' : '>');
    LinkDescription link;
    link.src = ends[0].toStdString();
    link.dst = ends[1].toStdString();
    link.bandwidth = words.mid(1).join(' ').toStdString();
    link.duplex = isDuplex;
    description.links.push_back(link);
  }
  return description;
}

/// One description per line, sorted as found.
QStringList described(const std::vector<Finding>& findings) {
  QStringList lines;
  for (const Finding& finding : findings) {
    lines << toQString(describe(finding));
  }
  return lines;
}

Fabric built(const QString& text) {
  auto fabric = Fabric::build(parseFabric(text));
  if (!fabric) {
    qFatal("%s", describe(fabric.error()).c_str());
  }
  return *fabric;
}

QStringList described(const std::vector<BalanceChange>& changes) {
  QStringList lines;
  for (const BalanceChange& change : changes) {
    lines << toQString(describe(change));
  }
  return lines;
}

}  // namespace

class TestFabric : public QObject {
  Q_OBJECT

private slots:
  void kinds() {
    for (const NodeKind kind : {NodeKind::gpu, NodeKind::nic, NodeKind::switchNode}) {
      QVERIFY(parseNodeKind(toString(kind)) == kind);
    }
    QVERIFY(!parseNodeKind("GPU"));
    QVERIFY(!parseNodeKind(""));
  }

  void validateGoodFabrics_data() {
    QTest::addColumn<QString>("fabric");
    QTest::newRow("two GPUs") << "a b | a-b 1";
    QTest::newRow("switch") << "a b c s:switch | a-s 1; b-s 2; c-s 1/3";
    QTest::newRow("one-way ring") << "a b c | a>b 1; b>c 1; c>a 1";
    QTest::newRow("nic") << "a b n:nic m:nic s:switch | a-n 1; b-m 1; n-s 400Gb/s; m-s 50 GB/s";
    QTest::newRow("both ways apart") << "a b | a>b 3; b>a 3";
    QTest::newRow("id with blanks and umlauts") << "\u00e4 b | \u00e4-b 1";
  }
  void validateGoodFabrics() {
    QFETCH(QString, fabric);
    QCOMPARE(described(validate(parseFabric(fabric))), QStringList());
    QVERIFY(Fabric::build(parseFabric(fabric)).hasValue());
  }

  void validateFindings_data() {
    QTest::addColumn<QString>("fabric");
    QTest::addColumn<QStringList>("expected");
    QTest::newRow("duplicate id, both positions") << "a b a | a-b 1"
                                                  << QStringList{
                                                         "error: node \"a\": the id is used by 2 nodes, at positions "
                                                         "0, 2 (counted from 0); give each node a unique id"};
    QTest::newRow("control character") << "a b\u0007 | a-b\u0007 1"
                                       << QStringList{
                                              "error: node \"b\\x07\": the id contains a control character; use "
                                              "printable characters only"};
    QTest::newRow("C1 control character") << "a b\u0085 | a-b\u0085 1"
                                          << QStringList{
                                                 "error: node \"b\\xc2\\x85\": the id contains a control character; "
                                                 "use printable characters only"};
    QTest::newRow("unknown kind") << "a b s:swich | a-s 1; b-s 1"
                                  << QStringList{
                                         "error: node \"s\": unknown kind \"swich\"; use \"gpu\", \"nic\" or "
                                         "\"switch\""};
    QTest::newRow("dangling end, near an id")
        << "gpu0 gpu1 | gpu0-gpu1 1; gpu0-gpu_1 1"
        << QStringList{"error: link 1 \"gpu0\" -> \"gpu_1\": dst \"gpu_1\" is not a node; did you mean \"gpu1\"?"};
    QTest::newRow("dangling end, other case")
        << "gpu0 gpu1 | gpu0-gpu1 1; GPU1-gpu0 1"
        << QStringList{"error: link 1 \"GPU1\" -> \"gpu0\": src \"GPU1\" is not a node; did you mean \"gpu1\"?"};
    QTest::newRow("dangling end, near nothing")
        << "a b | a-b 1; a-elsewhere 1"
        << QStringList{
               "error: link 1 \"a\" -> \"elsewhere\": dst \"elsewhere\" is not a node; add a node with that id or "
               "correct the link"};
    QTest::newRow("empty end") << "a b | a-b 1; a- 1"
                               << QStringList{"error: link 1 \"a\" -> \"\": dst is empty; write the id of a node"};
    QTest::newRow("self-link") << "a b | a-b 1; a-a 1"
                               << QStringList{
                                      "error: link 1 \"a\" -> \"a\": the link joins the node to itself; remove it "
                                      "or correct one end"};
    QTest::newRow("zero bandwidth") << "a b | a-b 1; a-b 0"
                                    << QStringList{"error: link 1 \"a\" -> \"b\": bandwidth 0 is not above 0; " +
                                                   kAboveZero};
    QTest::newRow("negative bandwidth") << "a b | a-b 1; a-b -5"
                                        << QStringList{"error: link 1 \"a\" -> \"b\": bandwidth -5 is not above 0; " +
                                                       kAboveZero};
    QTest::newRow("unparsable bandwidth")
        << "a b | a-b 1; a-b fast"
        << QStringList{"error: link 1 \"a\" -> \"b\": \"fast\" is not a bandwidth; " + kWriteBandwidth};
    QTest::newRow("bandwidth out of range") << "a b | a-b 1; a-b 1e30"
                                            << QStringList{
                                                   "error: link 1 \"a\" -> \"b\": bandwidth \"1e30\" is outside the "
                                                   "exact 64-bit range; use fewer digits or "
                                                   "another unit"};
    QTest::newRow("no GPU") << "s:switch t:switch | s-t 1"
                            << QStringList{
                                   "error: nodes: the fabric has no GPU, so there is nothing to send; add GPUs until "
                                   "there are two or more"};
    QTest::newRow("one GPU") << "a s:switch | a-s 1"
                             << QStringList{
                                    "error: nodes: the fabric has only one GPU, so there is nothing to send; add "
                                    "GPUs until there are two or more"};
    QTest::newRow("islands") << "a b c d | a-b 1; c-d 1"
                             << QStringList{
                                    "error: nodes: GPUs \"a\" and \"c\" cannot reach each other: the GPUs fall into "
                                    "2 parts that no path of links joins: {\"a\", \"b\"}, {\"c\", \"d\"}; add links "
                                    "between the parts"};
    QTest::newRow("one way out")
        << "a b | a>b 2"
        << QStringList{
               "error: node \"b\": GPU \"b\" cannot reach GPU \"a\"; add a path from \"b\" to \"a\", for example by "
               "making a one-way link duplex",
               "warning: node \"a\": ingress 0 GB/s and egress 2 GB/s differ: nothing arrives at this node; add a "
               "one-way link \"b\" -> \"a\" of 2 GB/s",
               "warning: node \"b\": ingress 2 GB/s and egress 0 GB/s differ: nothing leaves this node; add a "
               "one-way link \"b\" -> \"a\" of 2 GB/s"};
    QTest::newRow("one way in")
        << "a b c | b>a 1; c>a 1; b-c 1"
        << QStringList{
               "error: node \"a\": GPU \"a\" cannot reach GPU \"b\"; it reaches none of \"b\", \"c\"; add a path "
               "from \"a\" to \"b\", for example by making a one-way link duplex",
               "warning: node \"a\": ingress 2 GB/s and egress 0 GB/s differ: nothing leaves this node; add a "
               "one-way link \"a\" -> \"b\" of 1 GB/s, add a one-way link \"a\" -> \"c\" of 1 GB/s",
               "warning: node \"b\": ingress 1 GB/s and egress 2 GB/s differ; add a one-way link \"a\" -> \"b\" of "
               "1 GB/s",
               "warning: node \"c\": ingress 1 GB/s and egress 2 GB/s differ; add a one-way link \"a\" -> \"c\" of "
               "1 GB/s"};
    QTest::newRow("unbalanced switch, exact amounts")
        << "a b s:switch | a-s 1/3; b>s 0.1; s>b 1/7"
        << QStringList{
               "warning: node \"b\": ingress 1/7 GB/s and egress 0.1 GB/s differ; raise \"b\" -> \"s\" by 3/70 GB/s",
               "warning: node \"s\": ingress 13/30 GB/s and egress 10/21 GB/s differ; raise \"b\" -> \"s\" by 3/70 "
               "GB/s"};
    QTest::newRow("isolated switch") << "a b s:switch | a-b 1"
                                     << QStringList{"note: node \"s\": this node has no links; link it or remove it"};
    QTest::newRow("several at once, each in its place")
        << "a b s:hub | a-b slow; a-q 1; b-b 0; a-b 1"
        << QStringList{"error: node \"s\": unknown kind \"hub\"; use \"gpu\", \"nic\" or \"switch\"",
                       "error: link 0 \"a\" -> \"b\": \"slow\" is not a bandwidth; " + kWriteBandwidth,
                       "error: link 1 \"a\" -> \"q\": dst \"q\" is not a node; did you mean \"a\"?",
                       "error: link 2 \"b\" -> \"b\": the link joins the node to itself; remove it or correct one end",
                       "error: link 2 \"b\" -> \"b\": bandwidth 0 is not above 0; " + kAboveZero,
                       "note: node \"s\": this node has no links; link it or remove it"};
    QTest::newRow("link with errors left out of the walk")
        << "a b | a-b 0"
        << QStringList{
               "error: link 0 \"a\" -> \"b\": bandwidth 0 is not above 0; " + kAboveZero,
               "error: nodes: GPUs \"a\" and \"b\" cannot reach each other: the GPUs fall into 2 parts that no path "
               "of links joins (links with errors left out): {\"a\"}, {\"b\"}; add links between the parts"};
    QTest::newRow("sum of parallel links")
        << "a b | a-b 9223372036854775807; a-b 1"
        << QStringList{
               "error: link \"a\" -> \"b\": the sum of the parallel links leaves the exact 64-bit range; use "
               "smaller numbers, or bandwidths with fewer digits and smaller denominators",
               "error: link \"b\" -> \"a\": the sum of the parallel links leaves the exact 64-bit range; use "
               "smaller numbers, or bandwidths with fewer digits and smaller denominators"};
    QTest::newRow("sum at a node") << "a b c | a-b 9223372036854775807; a-c 1"
                                   << QStringList{
                                          "warning: node \"a\": the sum of the outgoing bandwidths leaves the exact "
                                          "64-bit range, so its balance is not stated; use smaller numbers, "
                                          "or bandwidths with fewer digits and smaller denominators, if a method "
                                          "refuses the fabric",
                                          "warning: node \"a\": the sum of the incoming bandwidths leaves the exact "
                                          "64-bit range, so its balance is not stated; use smaller numbers, "
                                          "or bandwidths with fewer digits and smaller denominators, if a method "
                                          "refuses the fabric"};
  }
  void validateFindings() {
    QFETCH(QString, fabric);
    QFETCH(QStringList, expected);
    const Description description = parseFabric(fabric);
    const std::vector<Finding> findings = validate(description);
    QCOMPARE(described(findings).join('\n'), expected.join('\n'));
    const auto result = Fabric::build(description);
    QCOMPARE(result.hasValue(), !hasErrors(findings));
    if (!result) {
      QCOMPARE("error: " + toQString(describe(result.error())), expected.front());
    }
  }

  void findingCodes() {
    const auto codeOf = [](const char* text) { return validate(parseFabric(text)).front().code; };
    QVERIFY(codeOf("a a | a-a 1") == ErrorCode::invalidFabric);
    QVERIFY(codeOf("a b |") == ErrorCode::infeasible);
    QVERIFY(codeOf("a |") == ErrorCode::infeasible);
    QVERIFY(codeOf("a b | a-b 1e30") == ErrorCode::overflow);
    QVERIFY(codeOf("a b | a-b 9223372036854775807; a-b 1") == ErrorCode::overflow);
    QVERIFY(codeOf("a b | a-b 1; a>b 1") == ErrorCode::unbalanced);
  }

  void validateFieldsOfLinksAndNodes() {
    Description description = parseFabric("a b | a-b 1");
    description.links[0].count = 0;
    QCOMPARE(
        described(validate(description)).first(),
        QString("error: link 0 \"a\" -> \"b\": count 0 is below 1; write the number of parallel links, or remove the "
                "link"));
    description = parseFabric("a b | a-b 9223372036854775807");
    description.links[0].count = 2;
    QCOMPARE(described(validate(description)).first(),
             QString("error: link 0 \"a\" -> \"b\": bandwidth times count leaves the exact 64-bit range; use smaller "
                     "numbers, or bandwidths with fewer digits and smaller denominators"));
    description = parseFabric("a b | a-b 1");
    description.links[0].latency = "soon";
    QCOMPARE(described(validate(description)).first(),
             QString("error: link 0 \"a\" -> \"b\": latency \"soon\" is not a number; write microseconds such as 1.5"));
    description.links[0].latency = "-1";
    QCOMPARE(described(validate(description)).first(),
             QString("error: link 0 \"a\" -> \"b\": latency -1 is negative; write microseconds such as 1.5"));
    description = parseFabric("a b | a-b 1");
    description.nodes[1].multicast = true;
    QCOMPARE(
        described(validate(description)),
        QStringList{"warning: node \"b\": multicast on a GPU has no effect: a GPU copies and reduces anyway; mark the "
                    "switch or nic that has the capability"});
    description.nodes[1].id.clear();
    QCOMPARE(described(validate(description)).first(),
             QString("error: node 1: the id is empty; give the node an id that no other node has"));
    description.nodes[1].id = "\xff";
    QCOMPARE(described(validate(description)).first(),
             QString("error: node \"\\xff\": the id is not valid UTF-8; save the id as UTF-8"));
  }

  void ranks_data() {
    QTest::addColumn<QList<int>>("ranks");  // -100: none
    QTest::addColumn<QStringList>("expected");
    QTest::newRow("none") << QList<int>{-100, -100, -100} << QStringList();
    QTest::newRow("all") << QList<int>{2, 0, 1} << QStringList();
    QTest::newRow("some") << QList<int>{0, -100, 1}
                          << QStringList{
                                 "error: node \"g1\": rank given for 2 of 3 GPUs, missing for \"g1\"; give a rank to "
                                 "every GPU or to none"};
    QTest::newRow("twice")
        << QList<int>{0, 1, 1}
        << QStringList{
               "error: node \"g1\": rank 1 is given to 2 GPUs: \"g1\", \"g2\"; give each GPU a unique rank, 0 to 2",
               "error: nodes: no GPU has rank 2; number the 3 GPUs 0 to 2 without gaps"};
    QTest::newRow("gap") << QList<int>{0, 1, 3}
                         << QStringList{"error: node \"g2\": rank 3 is outside 0 to 2; number the 3 GPUs 0 to 2",
                                        "error: nodes: no GPU has rank 2; number the 3 GPUs 0 to 2 without gaps"};
    QTest::newRow("negative") << QList<int>{0, 1, -1}
                              << QStringList{"error: node \"g2\": rank -1 is outside 0 to 2; number the 3 GPUs 0 to 2",
                                             "error: nodes: no GPU has rank 2; number the 3 GPUs 0 to 2 without gaps"};
  }
  void ranks() {
    QFETCH(QList<int>, ranks);
    QFETCH(QStringList, expected);
    Description description = parseFabric("g0 g1 g2 s:switch | g0-s 1; g1-s 1; g2-s 1");
    for (int i = 0; i < 3; ++i) {
      if (ranks[i] != -100) {
        description.nodes[i].rank = ranks[i];
      }
    }
    QCOMPARE(described(validate(description)).join('\n'), expected.join('\n'));
  }

  void rankOnSwitch() {
    Description description = parseFabric("a b s:switch | a-s 1; b-s 1");
    description.nodes[2].rank = 0;
    QCOMPARE(
        described(validate(description)),
        QStringList{"error: node \"s\": rank 0 is on a node of kind \"switch\"; remove the rank; only GPUs have one"});
  }

  void buildMergesAndIndexes() {
    Description description = parseFabric("c a s:switch b | a-s 1; s-a 2; a>s 1/2; s>a 1/2; b-s 4; c-s 400Gb/s; s-c 1");
    description.links[0].count = 3;
    description.links[0].latency = "1.5";
    description.links[1].latency = "2";
    const auto fabric = Fabric::build(description);
    QVERIFY2(fabric.hasValue(), fabric ? "" : describe(fabric.error()).c_str());
    QCOMPARE(fabric->name(), std::string("test"));
    QCOMPARE(fabric->nodeCount(), 4);
    QCOMPARE(fabric->gpuCount(), 3);
    const std::vector<NodeIndex> gpus(fabric->gpus().begin(), fabric->gpus().end());
    QCOMPARE(gpus, (std::vector<NodeIndex>{0, 1, 3}));
    QCOMPARE(fabric->nodes()[3].rank, 2);
    QCOMPARE(fabric->nodes()[2].rank, -1);
    QVERIFY(fabric->nodes()[2].kind == NodeKind::switchNode);
    QVERIFY(fabric->find("s") == 2);
    QVERIFY(!fabric->find("t"));
    QCOMPARE(fabric->arcs().size(), std::size_t{6});
    QVERIFY(std::is_sorted(fabric->arcs().begin(), fabric->arcs().end(), [](const Arc& a, const Arc& b) {
      return std::pair(a.tail, a.head) < std::pair(b.tail, b.head);
    }));
    const auto arc = fabric->findArc(1, 2);
    QVERIFY(arc.has_value());
    const Arc& merged = fabric->arcs()[*arc];
    QCOMPARE(toExactText(merged.bandwidth), std::string("5.5"));
    QVERIFY(merged.latency == ExactMicroseconds(2));
    QVERIFY(!fabric->findArc(0, 1));
    QVERIFY(!fabric->findArc(-1, 99));
    QCOMPARE(toExactText(fabric->ingress(2)), std::string("60.5"));
    QCOMPARE(toExactText(fabric->egress(2)), std::string("60.5"));
    QVERIFY(fabric->isBalanced());
    QVERIFY(!built("a b | a-b 1; a>b 1").isBalanced());
  }
  /// The sums at "a" have a common denominator of more than 64 bits.
  void sumsBeyond64Bits() {
    const QString links = "a-b 1/1000000007; a-c 1/1000000009; a-d 1/1000000021";
    const Fabric fabric = built("a b c d | " + links);
    QVERIFY(fabric.isBalanced());
    QVERIFY(!built("a b c d | " + links + "; a>b 1/1000000033").isBalanced());
    QCOMPARE(toExactText(fabric.egress(1)), std::string("1/1000000007"));
    QVERIFY_THROWS_EXCEPTION(OverflowError, static_cast<void>(fabric.egress(0)));
  }

  void buildFollowsStatedRanks() {
    Description description = parseFabric("x y z | x-y 1; y-z 1; z-x 1");
    description.nodes[0].rank = 2;
    description.nodes[1].rank = 0;
    description.nodes[2].rank = 1;
    const auto fabric = Fabric::build(description);
    QVERIFY(fabric.hasValue());
    const std::vector<NodeIndex> gpus(fabric->gpus().begin(), fabric->gpus().end());
    QCOMPARE(gpus, (std::vector<NodeIndex>{1, 2, 0}));
    QCOMPARE(fabric->nodes()[0].rank, 2);
  }

  void digestIgnoresWhatSchedulesDoNotNeed() {
    const std::string digest = built("a b s:switch | a-s 1; b-s 2").digest();
    QVERIFY(QRegularExpression("^[0-9a-f]{32}$").match(toQString(digest)).hasMatch());
    QCOMPARE(built("a b s:switch | b-s 2; s-a 1").digest(), digest);
    QCOMPARE(built("a b s:switch | a>s 1; s>a 8 Gb/s; b-s 1; b-s 1.0").digest(), digest);
    QCOMPARE(built("a s:switch b | a-s 1; b-s 2").digest(), digest);
    Description description = parseFabric("a b s:switch | a-s 1; b-s 2");
    description.name = "other";
    description.nodes[0].position = Position{1, 2};
    description.nodes[0].box = "box";
    description.nodes[0].extra = R"({"a":1})";
    description.links[0].latency = "3";
    QCOMPARE(Fabric::build(description)->digest(), digest);
  }

  void digestTellsFactsApart() {
    std::set<std::string> digests;
    std::size_t count = 0;
    const auto add = [&](const Description& description) {
      digests.insert(Fabric::build(description)->digest());
      ++count;
    };
    for (const char* text :
         {"a b s:switch | a-s 1; b-s 2", "a b s:nic | a-s 1; b-s 2", "a b s:switch | a-s 1; b-s 3",
          "b a s:switch | a-s 1; b-s 2", "a b t:switch | a-t 1; b-t 2", "a b s:switch | a-s 1; b-s 2; a-b 1",
          "a b s | a-s 1; b-s 2", "ab c | ab-c 1", "a bc | a-bc 1", "a b s:switch | a-s 1; b-s 2; a>b 1",
          "a b s:switch | a-s 1; b-s 2; b>a 1"}) {
      add(parseFabric(text));
    }
    Description description = parseFabric("a b s:switch | a-s 1; b-s 2");
    description.nodes[2].multicast = true;
    add(description);
    description.nodes[2].aggregation = true;
    add(description);
    description.nodes[2].multicast = false;
    add(description);
    QCOMPARE(digests.size(), count);
  }

  /// The digest is in saved schedules, so it must not drift between versions.
  void digestIsStable() {
    QCOMPARE(built("a b | a-b 1").digest(), std::string("c4c321eefe945077a77b76b24c1bc73a"));
    QCOMPARE(built("a b s:switch | a-s 25/2; b-s 12.5").digest(), std::string("6fe28d5d96705b516ec92d240da5c950"));
  }

  void transposed() {
    Description description = parseFabric("a b c s:switch | a>b 1; b>c 1; c>a 1; a>s 3; s>b 3; b>a 3");
    description.nodes[3].multicast = true;
    const auto fabric = Fabric::build(description);
    QVERIFY(fabric.hasValue());
    const Fabric turned = fabric->transposed();
    QCOMPARE(turned.arcs().size(), fabric->arcs().size());
    for (const Arc& arc : fabric->arcs()) {
      const auto back = turned.findArc(arc.head, arc.tail);
      QVERIFY(back.has_value());
      QVERIFY(turned.arcs()[*back].bandwidth == arc.bandwidth);
    }
    QVERIFY(turned.ingress(0) == fabric->egress(0));
    QVERIFY(turned.nodes()[3].aggregation);
    QVERIFY(!turned.nodes()[3].multicast);
    QVERIFY(turned.digest() != fabric->digest());
    QCOMPARE(turned.transposed().digest(), fabric->digest());
  }

  void subsetKeepsRelaysAndRenumbers() {
    Description description =
        parseFabric("a b c d n:nic s:switch lone:switch | a-n 1; b-s 1; c-s 1; d-s 1; a-b 2; d-lone 5");
    description.nodes[0].rank = 3;
    description.nodes[1].rank = 1;
    description.nodes[2].rank = 2;
    description.nodes[3].rank = 0;
    description.extra = R"({"note":"kept"})";
    const std::vector<std::string> ids{"c", "a", "b"};
    const auto result = subset(description, ids);
    QVERIFY(result.hasValue());
    QStringList kept;
    for (const NodeDescription& node : result->nodes) {
      kept << toQString(node.id) + (node.rank ? QString::number(*node.rank) : QString());
    }
    QCOMPARE(kept.join(' '), QString("a2 b0 c1 n s"));
    QStringList links;
    for (const LinkDescription& link : result->links) {
      links << toQString(link.src + "-" + link.dst);
    }
    QCOMPARE(links.join(' '), QString("a-n b-s c-s a-b"));
    QCOMPARE(result->extra, description.extra);
  }

  void subsetErrors_data() {
    QTest::addColumn<QStringList>("ids");
    QTest::addColumn<QString>("expected");
    QTest::newRow("unknown") << QStringList{"a", "x"}
                             << "there is no node \"x\" to keep; name GPUs of the fabric by their ids";
    QTest::newRow("switch") << QStringList{"a", "s"}
                            << "\"s\" is a \"switch\", not a GPU; name GPUs only; switches and nics are always kept";
    QTest::newRow("twice") << QStringList{"a", "a"} << "GPU \"a\" is named twice; name each GPU once";
    QTest::newRow("one") << QStringList{"a"} << "a subset needs at least two GPUs, and 1 is named; name two or more";
    QTest::newRow("none") << QStringList{} << "a subset needs at least two GPUs, and 0 are named; name two or more";
  }
  void subsetErrors() {
    QFETCH(QStringList, ids);
    std::vector<std::string> names;
    for (const QString& id : ids) {
      names.push_back(id.toStdString());
    }
    const auto result = subset(parseFabric("a b s:switch | a-s 1; b-s 1"), names);
    QVERIFY(!result.hasValue());
    QVERIFY(result.error().code == ErrorCode::badUsage);
    QTEST(toQString(describe(result.error())), "expected");
  }

  void balanceChange_data() {
    QTest::addColumn<QString>("fabric");
    QTest::addColumn<QStringList>("expected");
    QTest::newRow("balanced") << "a b | a-b 1" << QStringList();
    QTest::newRow("existing link") << "a b | a-b 1; a>b 2" << QStringList{"raise \"b\" -> \"a\" by 2 GB/s"};
    QTest::newRow("new link") << "a b c | a>b 2; b>c 1; c>a 1"
                              << QStringList{"add a one-way link \"b\" -> \"a\" of 1 GB/s"};
    // First come, first served would raise c -> a and leave d, which has a link to a only, to a new link.
    QTest::newRow("augmenting path keeps to existing links")
        << "a b c d | c>a 1; c>b 1; d>a 1; a>c 2; a>d 1; b>c 1; b>d 1"
        << QStringList{"raise \"c\" -> \"b\" by 1 GB/s", "raise \"d\" -> \"a\" by 1 GB/s"};
    QTest::newRow("switch hands out more than it gets")
        << "a b s:switch | a>s 1; b>s 1; s>a 3; s>b 3"
        << QStringList{"raise \"a\" -> \"s\" by 2 GB/s", "raise \"b\" -> \"s\" by 2 GB/s"};
  }
  void balanceChange() {
    QFETCH(QString, fabric);
    QFETCH(QStringList, expected);
    const auto changes = smallestBalanceChange(built(fabric));
    QVERIFY(changes.hasValue());
    QCOMPARE(described(*changes).join('\n'), expected.join('\n'));
  }

  /// On random fabrics: balances, adds the positive imbalance and no more, and by the deficiency version of Hall's
  /// theorem (every subset tried) no other choice needs less capacity on new links.
  void balanceChangeIsMinimal() {
    constexpr unsigned kSeed = 20240501;
    qInfo("seed %u", kSeed);
    std::mt19937 random(kSeed);
    for (int round = 0; round < 300; ++round) {
      const int count = 3 + static_cast<int>(random() % 6);
      Description description;
      for (int v = 0; v < count; ++v) {
        description.nodes.push_back({"n" + std::to_string(v), v < 2 || random() % 2 == 0 ? "gpu" : "switch"});
      }
      const auto link = [&](int src, int dst, bool isDuplex) {
        LinkDescription item;
        item.src = "n" + std::to_string(src);
        item.dst = "n" + std::to_string(dst);
        item.bandwidth = std::to_string(1 + random() % 9) + "/" + std::to_string(1 + random() % 4);
        item.duplex = isDuplex;
        description.links.push_back(item);
      };
      for (int v = 0; v < count; ++v) {
        link(v, (v + 1) % count, random() % 3 == 0);
        link(v,
             static_cast<int>((static_cast<unsigned>(v) + 1 + random() % static_cast<unsigned>(count - 1)) %
                              static_cast<unsigned>(count)),
             false);
      }
      const auto fabric = Fabric::build(description);
      QVERIFY2(fabric.hasValue(), fabric ? "" : describe(fabric.error()).c_str());
      std::vector<Rational> excess;
      Rational imbalance = 0;
      for (int v = 0; v < count; ++v) {
        excess.push_back((fabric->ingress(v) - fabric->egress(v)).gigabytesPerSecond());
        imbalance += std::max(excess.back(), Rational(0));
      }
      const auto changes = smallestBalanceChange(*fabric);
      QVERIFY(changes.hasValue());
      Rational added = 0;
      Rational addedNew = 0;
      std::vector<Rational> rest = excess;
      for (const BalanceChange& change : *changes) {
        const int tail = *fabric->find(change.src);
        const int head = *fabric->find(change.dst);
        const Rational amount = change.increase.gigabytesPerSecond();
        QVERIFY(amount.isPositive());
        QCOMPARE(change.isNewLink, !fabric->findArc(tail, head).has_value());
        rest[tail] -= amount;
        rest[head] += amount;
        added += amount;
        addedNew += change.isNewLink ? amount : Rational(0);
      }
      QVERIFY(std::all_of(rest.begin(), rest.end(), [](const Rational& value) { return value.isZero(); }));
      QCOMPARE(added, imbalance);
      Rational unavoidable = 0;
      for (unsigned subset = 0; subset < 1U << count; ++subset) {
        Rational need = 0;
        std::set<int> partners;
        for (int v = 0; v < count; ++v) {
          if ((subset >> v & 1U) != 0 && excess[v].isPositive()) {
            need += excess[v];
            for (const Arc& arc : fabric->arcs()) {
              if (arc.tail == v && excess[arc.head] < Rational(0)) {
                partners.insert(arc.head);
              }
            }
          }
        }
        for (const int v : partners) {
          need += excess[v];
        }
        unavoidable = std::max(unavoidable, need);
      }
      QCOMPARE(addedNew, unavoidable);
    }
  }

  /// No assertion on time: the test's own limit is what a quadratic algorithm would hit.
  void largeAndHostileDescriptions_data() {
    QTest::addColumn<int>("kind");
    QTest::newRow("5000 nodes, 20000 links") << 0;
    QTest::newRow("nothing but dangling ends") << 1;
    QTest::newRow("one id for all") << 2;
    QTest::newRow("pairs that nothing joins") << 3;
    QTest::newRow("every switch unbalanced") << 4;
    QTest::newRow("chain") << 5;
  }
  void largeAndHostileDescriptions() {
    QFETCH(int, kind);
    constexpr int kNodes = 5000;
    constexpr int kLinks = 20000;
    Description description;
    for (int v = 0; v < kNodes; ++v) {
      description.nodes.push_back({kind == 2 ? "same" : "node" + std::to_string(v), v % 5 == 4 ? "switch" : "gpu"});
    }
    for (int i = 0; i < kLinks; ++i) {
      const int src = i % kNodes;
      const int dst = kind == 3 ? src ^ 1 : kind == 5 ? src + 1 : (src + 1 + i / kNodes * 7) % kNodes;
      if (dst == kNodes) {
        continue;
      }
      LinkDescription link;
      link.src = "node" + std::to_string(src);
      link.dst = (kind == 1 ? "nodes" : "node") + std::to_string(dst) + (kind == 1 ? std::to_string(i) : "");
      link.bandwidth = kind == 4 ? std::to_string(1 + i % 17) + "/" + std::to_string(1 + i % 3) : "25";
      link.duplex = kind != 4;
      description.links.push_back(link);
    }
    const std::vector<Finding> findings = validate(description);
    const bool isWrong = kind == 1 || kind == 2 || kind == 3;
    QCOMPARE(hasErrors(findings), isWrong);
    QCOMPARE(findings.empty(), kind == 0 || kind == 5);
    QCOMPARE(Fabric::build(description).hasValue(), !isWrong);
  }
};

QTEST_GUILESS_MAIN(TestFabric)
#include "tst_fabric.moc"
