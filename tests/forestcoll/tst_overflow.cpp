// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "base/checked.hpp"
#include "forestcoll/forestcoll.hpp"
#include "forestcoll/random_fabrics.hpp"
#include "support/large_fabrics.hpp"
#include "verify/schedule_verifier.hpp"

/// Numbers at the ends of the exact range: an answer is right, or it is refused as an overflow; never wrong, and never
/// undefined behaviour (the sanitizers watch).
using namespace coppice;
using std::int64_t;

namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr const char* kBandwidths[] = {"1",
                                       "2",
                                       "3",
                                       "25",
                                       "1/3",
                                       "2147483647",
                                       "4294967296",
                                       "9007199254740993",
                                       "1000000007/998244353",
                                       "576460752303423487",
                                       "2305843009213693951",
                                       "4611686018427387904",
                                       "9223372036854775807",
                                       "9223372036854775807/4611686018427387905",
                                       "1/4611686018427387904",
                                       "1/9223372036854775807"};
constexpr int64_t kTrees[] = {1, 2, 7, int64_t{1} << 31, int64_t{1} << 55, int64_t{1} << 61, kMax};

struct Answer {
  std::string wrong;    ///< empty = right, or refused as it should be
  std::string refusal;  ///< describes the overflow
  InverseBandwidth inverseRate;
};

/// Everything the public entries can be asked for one fabric and one request.
Answer ask(const fabric::Description& description, const forestcoll::Request& request) {
  Answer answer;
  const auto refuse = [&](const Error& error) {
    if (error.code == ErrorCode::overflow && !error.message.empty() && !error.fix.empty()) {
      answer.refusal = describe(error);
    } else {
      answer.wrong = "not a clear overflow: " + describe(error);
    }
    return answer;
  };
  const auto fabric = fabric::Fabric::build(description);
  if (!fabric) {
    return refuse(fabric.error());
  }
  const auto optimum = forestcoll::optimum(*fabric, request);
  const auto generated = forestcoll::generate(*fabric, request);
  if (!optimum) {
    if (generated) {
      answer.wrong = "generated without an optimum";
      return answer;
    }
    return refuse(optimum.error());
  }
  if (!generated) {
    return refuse(generated.error());
  }
  const auto verdict = verify::verifySchedule(*fabric, generated->schedule);
  if (!verdict) {
    return refuse(verdict.error());
  }
  if (!verdict->ok || verdict->algbw != optimum->algbw) {
    answer.wrong = verdict->ok ? "the trees do not reach the optimum" : describe(verdict->findings.front());
    return answer;
  }
  answer.inverseRate = optimum->inverseRate;
  if (request.fixedK || request.maxK || fabric->nodeCount() > 9) {
    return answer;
  }
  std::vector<int64_t> demand(static_cast<std::size_t>(fabric->gpuCount()), 1);
  if (request.root) {
    demand.assign(demand.size(), 0);
    demand[*request.root] = 1;
  } else if (!request.amounts.empty()) {
    demand = generated->schedule.amounts;
  }
  try {
    Rational expected = test::bruteForceRatio(
        request.collective == Collective::reduceScatter || request.collective == Collective::reduce
            ? fabric->transposed()
            : *fabric,
        demand);
    if (request.collective == Collective::allreduce) {
      expected *= Rational(2);
    }
    if (expected != optimum->inverseRate.perGBps() && !optimum->usedSubCapacity) {
      answer.wrong = "1/x = " + toFraction(optimum->inverseRate) + ", all cuts say " + expected.toString();
    }
  } catch (const OverflowError&) {
    // The listing adds up fractions without a common denominator; then the verifier's word has to do.
  }
  return answer;
}

/// "a-b 7; b-s 3": duplex links; names beginning with s are switches.
fabric::Description parsed(const std::string& text) {
  fabric::Description description;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(';', at), text.size());
    std::string part = text.substr(at, end - at);
    at = end + 1;
    part.erase(0, part.find_first_not_of(' '));
    fabric::LinkDescription link;
    link.src = part.substr(0, part.find('-'));
    link.dst = part.substr(part.find('-') + 1, part.find(' ') - part.find('-') - 1);
    link.bandwidth = part.substr(part.find(' ') + 1);
    for (const std::string& id : {link.src, link.dst}) {
      const bool isNew = std::none_of(description.nodes.begin(), description.nodes.end(),
                                      [&](const fabric::NodeDescription& node) { return node.id == id; });
      if (isNew) {
        fabric::NodeDescription node;
        node.id = id;
        node.kind = id[0] == 's' ? "switch" : "gpu";
        description.nodes.push_back(node);
      }
    }
    description.links.push_back(link);
  }
  return description;
}

}  // namespace

class TestOverflow : public QObject {
  Q_OBJECT

private slots:
  void known_data();
  void known();
  void lopsidedSwitch();
  void largestK_data();
  void largestK();
  void extremes_data();
  void extremes();
  void extremeBoxes_data();
  void extremeBoxes();
};

void TestOverflow::known_data() {
  QTest::addColumn<QString>("links");
  QTest::addColumn<QString>("inverseRate");  // empty = must be refused
  const auto row = [](const char* name, const char* links, const char* inverseRate) {
    QTest::newRow(name) << QString(links) << QString(inverseRate);
  };
  row("smallest bandwidth", "a-b 1/9223372036854775807", "9223372036854775807");
  row("half of the largest bandwidth", "a-b 9223372036854775807/2", "2/9223372036854775807");
  row("largest bandwidth, whose sum is beyond", "a-b 9223372036854775807", "");
  row("largest beside smallest", "a-s 9223372036854775807; b-s 1/9223372036854775807", "");
  row("all largest", "a-s 9223372036854775807; b-s 9223372036854775807; c-s 9223372036854775807", "");
  row("all 2^60", "a-b 1152921504606846976; b-c 1152921504606846976; c-a 1152921504606846976", "1/1152921504606846976");
  row("2^58 beside 1", "a-s 288230376151711744; b-s 1; c-s 1", "2");
  row("2^61 beside 1", "a-s 2305843009213693952; b-s 1; c-s 1", "");
  row("coprime denominators", "a-b 1/4294967291; b-c 1/4294967279; c-a 1/4294967231", "");
  row("coprime near 2^40", "a-s 1099511627689; b-s 1099511627791; c-s 1099511627689; d-s 1099511627791",
      "3/1099511627689");
  row("a huge port among small ones", "a-s 100000000000000000; b-s 1; c-s 1; d-s 1; e-s 2", "4");
  row("huge ports on two switches", "a-s0 100000000000000; b-s0 1; c-s0 1; d-s1 1; s0-s1 3; e-s1 100000000000000", "4");
}

void TestOverflow::known() {
  QFETCH(QString, links);
  QFETCH(QString, inverseRate);
  const Answer answer = ask(parsed(links.toStdString()), {});
  QVERIFY2(answer.wrong.empty(), answer.wrong.c_str());
  if (inverseRate.isEmpty()) {
    QVERIFY(!answer.refusal.empty());
  } else {
    QVERIFY2(answer.refusal.empty(), answer.refusal.c_str());
    QCOMPARE(QString::fromStdString(toFraction(answer.inverseRate)), inverseRate);
  }
}

void TestOverflow::lopsidedSwitch() {
  // No even spread of one wide port over narrow ones exists; the attempt at one must not leave the numbers.
  for (double width = 1e8; width < 1e17; width *= 1.07) {
    const std::string text = "a-s " + std::to_string(static_cast<int64_t>(width)) + "; b-s 1; c-s 1; d-s 1; e-s 3";
    const Answer answer = ask(parsed(text), {});
    QVERIFY2(answer.wrong.empty() && answer.refusal.empty(), (text + ": " + answer.wrong + answer.refusal).c_str());
    QCOMPARE(answer.inverseRate, InverseBandwidth(4));
  }
}

void TestOverflow::largestK_data() {
  QTest::addColumn<qint64>("k");
  QTest::addColumn<bool>("isSolved");
  QTest::newRow("2^31") << (qint64(1) << 31) << true;
  QTest::newRow("2^50") << (qint64(1) << 50) << true;
  QTest::newRow("2^60") << (qint64(1) << 60) << false;
  QTest::newRow("2^62 - 1") << (qint64(1) << 62) - 1 << false;
  QTest::newRow("2^62") << (qint64(1) << 62) << false;
  QTest::newRow("2^63 - 1") << qint64(kMax) << false;
}

void TestOverflow::largestK() {
  QFETCH(qint64, k);
  QFETCH(bool, isSolved);
  forestcoll::Request request;
  request.fixedK = k;
  const Answer answer = ask(parsed("a-s 10; b-s 7; c-s 9; a-b 3; c-d 4; d-s 5"), request);
  QVERIFY2(answer.wrong.empty(), answer.wrong.c_str());
  QCOMPARE(answer.refusal.empty(), isSolved);
}

void TestOverflow::extremes_data() {
  QTest::addColumn<int>("first");
  for (int first = 0; first < 3000; first += 300) {
    QTest::addRow("seeds %d to %d", first, first + 299) << first;
  }
}

void TestOverflow::extremes() {
  QFETCH(int, first);
  constexpr int64_t kAmounts[] = {0, 1, 2, 3, int64_t{1} << 31, (int64_t{1} << 61) - 1, int64_t{1} << 62, kMax};
  int solved = 0;
  for (int seed = first; seed < first + 300; ++seed) {
    test::Dice dice(static_cast<unsigned>(seed));
    const int gpus = dice.index(2, 5);
    const int nodes = gpus + dice.index(0, 3);
    // Few different numbers a fabric, so that sums and products stay near the border more often than beyond it.
    const std::int64_t lowest = dice.pick(0, 15);
    const std::int64_t highest = std::min<std::int64_t>(15, lowest + dice.pick(0, 3));
    std::string links;
    const auto id = [&](int node) { return (node < gpus ? "g" : "s") + std::to_string(node); };
    const auto link = [&](int a, int b) {
      if (a != b) {
        links += (links.empty() ? "" : "; ") + id(a) + "-" + id(b) + " " + kBandwidths[dice.pick(lowest, highest)];
      }
    };
    for (int node = 1; node < nodes; ++node) {
      link(node, dice.index(0, node - 1));
    }
    for (int extra = dice.index(0, nodes); extra > 0; --extra) {
      link(dice.index(0, nodes - 1), dice.index(0, nodes - 1));
    }
    forestcoll::Request request;
    request.allreduceBudget = std::chrono::milliseconds(dice.oneIn(4) ? 50 : 0);
    request.overlap = forestcoll::Overlap::never;  // the cuts are those of the halves
    constexpr Collective kCollectives[] = {Collective::allgather, Collective::reduceScatter, Collective::allreduce,
                                           Collective::broadcast, Collective::reduce};
    request.collective = kCollectives[dice.pick(0, 4)];
    if (request.collective == Collective::broadcast || request.collective == Collective::reduce) {
      request.root = dice.index(0, gpus - 1);
    } else if (request.collective != Collective::allreduce && dice.oneIn(2)) {
      for (int rank = 0; rank < gpus; ++rank) {
        request.amounts.push_back(kAmounts[dice.pick(0, 7)]);
      }
      request.amounts[dice.pick(0, gpus - 1)] |= 1;
    }
    if (dice.oneIn(3)) {
      request.fixedK = kTrees[dice.pick(0, 6)];
    }
    fabric::Description description = parsed(links);
    // Ranks in the order of the names, whatever the links mention first.
    for (fabric::NodeDescription& node : description.nodes) {
      if (node.kind == "gpu") {
        node.rank = std::stoi(node.id.substr(1));
      }
    }
    const Answer answer = ask(description, request);
    QVERIFY2(answer.wrong.empty(), ("seed " + std::to_string(seed) + ", " + links + ", " +
                                    std::string(toString(request.collective)) + ": " + answer.wrong)
                                       .c_str());
    solved += answer.refusal.empty() ? 1 : 0;
  }
  QVERIFY2(solved > 30, std::to_string(solved).c_str());  // a refusal of everything would pass the rest
}

void TestOverflow::extremeBoxes_data() {
  QTest::addColumn<int>("first");
  QTest::addColumn<int>("maxGpus");  // of a box
  QTest::newRow("up to 32 GPUs") << 0 << 4;
  QTest::newRow("more") << 1000 << 9;
}

/// Boxes on a network, which have ways of their own to be solved.
void TestOverflow::extremeBoxes() {
  QFETCH(int, first);
  QFETCH(int, maxGpus);
  int solved = 0;
  for (int seed = first; seed < first + 60; ++seed) {
    test::Dice dice(static_cast<unsigned>(seed));
    const std::int64_t lowest = dice.pick(0, 15);
    const std::int64_t highest = std::min<std::int64_t>(15, lowest + dice.pick(0, 2));
    const auto bandwidth = [&] { return std::string(kBandwidths[dice.pick(lowest, highest)]); };
    const int boxes = dice.index(2, 8);
    const bool areEqual = dice.oneIn(2);
    const std::string inner = bandwidth();
    const std::string outer = bandwidth();
    std::string links;
    int rank = 0;
    for (int box = 0; box < boxes; ++box) {
      const int gpus = areEqual ? maxGpus : dice.index(2, maxGpus);
      for (int i = 0; i < gpus; ++i, ++rank) {
        const std::string gpu = "g" + std::to_string(rank);
        links += gpu + "-s" + std::to_string(box) + " " + (areEqual ? inner : bandwidth()) + "; ";
        links += gpu + "-sn " + (areEqual ? outer : bandwidth()) + "; ";
      }
    }
    links.resize(links.size() - 2);
    fabric::Description description = parsed(links);
    for (fabric::NodeDescription& node : description.nodes) {
      if (node.kind == "gpu") {
        node.rank = std::stoi(node.id.substr(1));
      }
    }
    forestcoll::Request request;
    if (dice.oneIn(2)) {
      request.fixedK = kTrees[dice.pick(0, 6)];
    }
    const Answer answer = ask(description, request);
    QVERIFY2(answer.wrong.empty(), ("seed " + std::to_string(seed) + ", " + links + ": " + answer.wrong).c_str());
    solved += answer.refusal.empty() ? 1 : 0;
  }
  QVERIFY2(solved > 15, std::to_string(solved).c_str());
}

QTEST_GUILESS_MAIN(TestOverflow)
#include "tst_overflow.moc"
