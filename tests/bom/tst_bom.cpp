// SPDX-License-Identifier: Apache-2.0
#include <QFile>
#include <QTest>
#include <functional>
#include <map>
#include <random>
#include <tuple>

#include "bom/port_cover.hpp"
#include "bom/tables.hpp"
#include "coppice/test_paths.hpp"
#include "presets/presets.hpp"
#include "support/must.hpp"

using namespace coppice;
using namespace coppice::bom;
using test::must;

namespace {

using Arguments = std::map<std::string, std::string>;

constexpr const char* kTable =
    "kind,name,ports,rate,reach,watts,price,price_per_metre\n"
    "switch,S8,8,50,,100,1000,\n"
    "switch,S16,16,50,,150,1800,\n"
    "nic,N50,1,50,,10,100,\n"
    "copper,DAC,,50,3,0.1,20,\n"
    "aoc,AOC,,50,10,4,90,\n"
    "transceiver,SR,,50,50,5,40,0.5\n";

fabric::Fabric made(const char* preset, const Arguments& arguments) {
  return must(fabric::Fabric::build(must(presets::make(preset, arguments))));
}

/// Four boxes of two GPUs with a NIC of 50 GB/s each, two boxes per leaf, two spines, 1:1.
fabric::Fabric fourBoxes() {
  return made("cluster", {{"boxes", "4"},
                          {"gpus", "2"},
                          {"nic", "50"},
                          {"network", "leaf-spine"},
                          {"boxes_per_leaf", "2"},
                          {"spines", "2"}});
}

Floor twoBoxesPerRack() {
  Floor floor;
  floor.boxesPerRack = 2;
  return floor;
}

const BillLine* lineOf(const Bill& bill, const Parts& parts, const std::string& name) {
  for (const BillLine& line : bill.lines) {
    if (parts.rows[line.part].name == name) {
      return &line;
    }
  }
  return nullptr;
}

Rational lengthOf(const fabric::Fabric& fabric, const Bill& bill, const char* from, const char* to) {
  for (const CableRun& run : bill.runs) {
    if (fabric.nodes()[run.from].id == from && fabric.nodes()[run.to].id == to) {
      return run.length;
    }
  }
  return 0;
}

QString text(const Error& error) {
  return QString::fromStdString(describe(error));
}

}  // namespace

class TestBom : public QObject {
  Q_OBJECT

private slots:
  void fourBoxesByHand();
  void topOfRackByHand();
  void fewestWatts();
  void lengths_data();
  void lengths();
  void cheapestOfAllChoices();
  void uplinksByHand();
  void splitPortsByHand();
  void coversAreExact();
  void mixedPortsThatAreTooFew_data();
  void mixedPortsThatAreTooFew();
  void faultsOfTables_data();
  void faultsOfTables();
  void whatCannotBeBuilt_data();
  void whatCannotBeBuilt();
  void floors_data();
  void floors();
  void nicsOfTheBox();
  void directLinks();
  void boxesAreServers();
  void sample();
};

/// Written out: racks 1 and 2 with two boxes each, the network rack between them. A box's middle is at 0.2 or 0.6 m;
/// leaf0, leaf1, spine0, spine1 are at 1.95, 1.85, 1.75, 1.65 m; the tray is at 2.2 m, the pitch 0.6 m, slack 0.5 m.
void TestBom::fourBoxesByHand() {
  const fabric::Fabric fabric = fourBoxes();
  const Parts parts = must(readParts(kTable));
  const Bill bill = must(billOf(fabric, parts, twoBoxesPerRack()));
  QCOMPARE(bill.plan.boxes, 4);
  QCOMPARE(bill.plan.racks, 2);
  QCOMPARE(bill.plan.networkRacks, 1);
  // Up, along, down, slack: 2.0 + 0.6 + 0.25 + 0.5, and so on.
  QCOMPARE(lengthOf(fabric, bill, "b0nic0", "leaf0"), Rational(335, 100));
  QCOMPARE(lengthOf(fabric, bill, "b1nic1", "leaf0"), Rational(295, 100));
  QCOMPARE(lengthOf(fabric, bill, "b2nic0", "leaf1"), Rational(345, 100));
  QCOMPARE(lengthOf(fabric, bill, "b3nic1", "leaf1"), Rational(305, 100));
  QCOMPARE(lengthOf(fabric, bill, "leaf0", "spine0"), Rational(7, 10));
  QCOMPARE(lengthOf(fabric, bill, "leaf1", "spine1"), Rational(7, 10));
  QCOMPARE(lengthOf(fabric, bill, "leaf0", "spine1"), Rational(8, 10));
  QCOMPARE(lengthOf(fabric, bill, "leaf1", "spine0"), Rational(6, 10));
  // A leaf has 4 ports down and 2 to each spine, so 8; a spine 2 from each leaf, so 4: four switches of 8 ports.
  // 8 NICs. DAC: the 2 of box 1 and 8 to the spines. The other 6: two transceivers and 3.35, 3.45 or 3.05 m of fibre
  // are 80 + 1.725 at most, less than the 90 of an AOC.
  QCOMPARE(lineOf(bill, parts, "S8")->pieces, 4);
  QCOMPARE(lineOf(bill, parts, "N50")->pieces, 8);
  QCOMPARE(lineOf(bill, parts, "DAC")->pieces, 10);
  QCOMPARE(lineOf(bill, parts, "DAC")->metres, Rational(2 * 295 + 2 * (70 + 70 + 80 + 60), 100));
  QCOMPARE(lineOf(bill, parts, "SR")->pieces, 12);
  QCOMPARE(lineOf(bill, parts, "SR")->metres, Rational(2 * (335 + 345 + 305), 100));
  QVERIFY(lineOf(bill, parts, "AOC") == nullptr);
  QVERIFY(lineOf(bill, parts, "S16") == nullptr);
  // 4000 + 800 + 200 + 12 x 40 + 19.7 m x 0.5; watts 400 + 80 + 1 + 60.
  QCOMPARE(bill.total.price, Rational(4000 + 800 + 200 + 480) + Rational(985, 100));
  QCOMPARE(bill.total.watts, Rational(541));
  QCOMPARE(QString::fromStdString(billCsv(bill, parts)), QString("kind,part,pieces,metres,price,watts\n"
                                                                 "switch,S8,4,,4000,400\n"
                                                                 "nic,N50,8,,800,80\n"
                                                                 "copper,DAC,10,11.5,200,1\n"
                                                                 "transceiver,SR,12,19.7,489.85,60\n"
                                                                 "total,,,,5489.85,541\n"));
  const QStringList cables = QString::fromStdString(cableCsv(fabric, bill, parts)).split('\n', Qt::SkipEmptyParts);
  QCOMPARE(cables.size(), 1 + 16);
  QCOMPARE(cables[1], QString("1,b0nic0,rack 1,1,leaf0,network rack 1,1,50,3.35,SR"));
  QCOMPARE(cables[4], QString("4,b1nic1,rack 1,1,leaf0,network rack 1,4,50,2.95,DAC"));
  QCOMPARE(cables[10], QString("10,leaf0,network rack 1,6,spine0,network rack 1,2,50,0.7,DAC"));
  QCOMPARE(cables[16], QString("16,leaf1,network rack 1,8,spine1,network rack 1,4,50,0.7,DAC"));
}

/// With leaves at the top of their racks: a leaf at 1.95 m, 1.75 or 1.35 m above its boxes; the spines alone are in the
/// network rack.
void TestBom::topOfRackByHand() {
  const fabric::Fabric fabric = fourBoxes();
  const Parts parts = must(readParts(kTable));
  Floor floor = twoBoxesPerRack();
  floor.isTopOfRack = true;
  const Bill bill = must(billOf(fabric, parts, floor));
  QCOMPARE(lengthOf(fabric, bill, "b0nic0", "leaf0"), Rational(225, 100));
  QCOMPARE(lengthOf(fabric, bill, "b3nic0", "leaf1"), Rational(185, 100));
  // Both ends 0.25 m below the tray for spine0, 0.35 m for spine1.
  QCOMPARE(lengthOf(fabric, bill, "leaf0", "spine0"), Rational(25 + 25 + 60 + 50, 100));
  QCOMPARE(lengthOf(fabric, bill, "leaf1", "spine1"), Rational(25 + 35 + 60 + 50, 100));
  QCOMPARE(lineOf(bill, parts, "DAC")->pieces, 16);
  QCOMPARE(bill.total.price, Rational(4000 + 800 + 320));
  // No space above the boxes: the leaves go into the middle as well.
  floor.boxHeight = 1;
  const Bill full = must(billOf(fabric, parts, floor));
  QCOMPARE(full.plan.spots[*fabric.find("leaf0")].rack, std::string("network rack 1"));
}

void TestBom::fewestWatts() {
  const fabric::Fabric fabric = fourBoxes();
  const Parts parts = must(readParts(kTable));
  const Bill bill = must(billOf(fabric, parts, twoBoxesPerRack(), Preference::watts));
  // An AOC takes 4 W, two transceivers 10.
  QCOMPARE(lineOf(bill, parts, "AOC")->pieces, 6);
  QVERIFY(lineOf(bill, parts, "SR") == nullptr);
  QCOMPARE(bill.total.watts, Rational(400 + 80 + 1 + 24));
  QCOMPARE(bill.total.price, Rational(4000 + 800 + 200 + 540));
}

void TestBom::lengths_data() {
  QTest::addColumn<int>("place");
  QTest::addColumn<int>("height");  // cm
  QTest::addColumn<int>("length");  // cm
  QTest::newRow("the same spot") << 0 << 100 << 50;
  QTest::newRow("above it") << 0 << 190 << 140;
  QTest::newRow("below it") << 0 << 30 << 120;
  QTest::newRow("the next rack") << 1 << 100 << 120 + 120 + 60 + 50;
  QTest::newRow("three to the left") << -3 << 200 << 120 + 20 + 180 + 50;
}

void TestBom::lengths() {
  QFETCH(int, place);
  QFETCH(int, height);
  QFETCH(int, length);
  const Spot a{"a", 0, 1};
  const Spot b{"b", place, Rational(height, 100)};
  QCOMPARE(lengthBetween(a, b, {}), Rational(length, 100));
  QCOMPARE(lengthBetween(b, a, {}), Rational(length, 100));
}

/// Against all ways to give every link a cable and every switch a type, of one port rate, on a table drawn at random.
void TestBom::cheapestOfAllChoices() {
  std::mt19937 random(7);
  const auto below = [&](unsigned count) { return static_cast<int>(random() % count); };
  const fabric::Fabric fabric = made("cluster", {{"boxes", "4"},
                                                 {"gpus", "1"},
                                                 {"nic", "50"},
                                                 {"network", "leaf-spine"},
                                                 {"boxes_per_leaf", "2"},
                                                 {"spines", "1"}});
  int built = 0;
  for (int round = 0; round < 40; ++round) {
    Parts parts;
    for (int i = 0; i < 4; ++i) {
      parts.rows.push_back({.kind = PartKind::networkSwitch,
                            .name = "s" + std::to_string(i),
                            .ports = 2 + below(8),
                            .rate = Bandwidth(below(2) == 0 ? 25 : 50),
                            .watts = 10 + below(10),
                            .price = 100 + below(100)});
      parts.rows.push_back({.kind = PartKind::copper,
                            .name = "c" + std::to_string(i),
                            .rate = Bandwidth(below(2) == 0 ? 25 : 50),
                            .reach = 1 + below(5),
                            .watts = below(5),
                            .price = 10 + below(50),
                            .pricePerMetre = below(4)});
    }
    const auto bill = billOf(fabric, parts, {});
    std::optional<Rational> least;
    for (const int rate : {25, 50}) {
      // Of four NIC links and two uplinks of 100 GB/s: each on its own, then each switch.
      std::optional<Rational> sum = Rational(0);
      std::map<fabric::NodeIndex, int> ports;
      const FloorPlan plan = must(planFloor(fabric, {}));
      for (const fabric::Arc& arc : fabric.arcs()) {
        const bool isInBox = plan.boxOf[arc.tail] >= 0 && plan.boxOf[arc.tail] == plan.boxOf[arc.head];
        if (isInBox || fabric.nodes()[arc.tail].id > fabric.nodes()[arc.head].id) {
          continue;
        }
        const Rational length = lengthBetween(plan.spots[arc.tail], plan.spots[arc.head], {});
        const int count = static_cast<int>(arc.bandwidth.gigabytesPerSecond().numerator()) / rate;
        std::optional<Rational> cable;
        for (const Part& part : parts.rows) {
          if (part.kind == PartKind::copper && part.rate >= Bandwidth(rate) && part.reach >= length) {
            const Rational price = part.price + part.pricePerMetre * length;
            cable = cable ? std::min(*cable, price) : price;
          }
        }
        sum = sum && cable ? std::optional(*sum + *cable * Rational(count)) : std::nullopt;
        ports[arc.tail] += count;
        ports[arc.head] += count;
      }
      for (const char* id : {"leaf0", "leaf1", "spine0"}) {
        std::optional<Rational> best;
        for (const Part& part : parts.rows) {
          if (part.kind == PartKind::networkSwitch && part.rate == Bandwidth(rate) &&
              part.ports >= ports[*fabric.find(id)]) {
            best = best ? std::min(*best, part.price) : part.price;
          }
        }
        sum = sum && best ? std::optional(*sum + *best) : std::nullopt;
      }
      if (sum) {
        least = least ? std::min(*least, *sum) : *sum;
      }
    }
    QCOMPARE(static_cast<bool>(bill), least.has_value());
    if (bill) {
      QCOMPARE(bill->total.price, *least);
      ++built;
    }
  }
  QVERIFY(built > 5 && built < 40);
}

namespace {

/// Eight boxes of four GPUs with NICs of 25 GB/s, four boxes per leaf, two spines, 2:1: a leaf has 16 NICs, and 100
/// GB/s to each spine.
fabric::Fabric eightBoxes() {
  return made("cluster", {{"boxes", "8"},
                          {"gpus", "4"},
                          {"nic", "25"},
                          {"network", "leaf-spine"},
                          {"boxes_per_leaf", "4"},
                          {"spines", "2"},
                          {"oversubscription", "2"}});
}

constexpr const char* kMixedRest =
    "nic,N,1,25,,10,100,,\n"
    "copper,D25,,25,100,0,10,,\n"
    "copper,D50,,50,100,0,15,,\n"
    "copper,D100,,100,100,0,25,,\n";

Parts mixedTable(const std::string& switches) {
  return must(
      readParts("kind,name,ports,rate,reach,watts,price,price_per_metre,split\n" + switches + kMixedRest, "t.csv"));
}

}  // namespace

/// 16 ports of 25 GB/s down and 2 x 100 GB/s up are 4 ports of 50 GB/s: the leaves are "16 x 200G + 4 x 400G". Each
/// spine has 2 leaves at 100 GB/s, so 4 ports of 50 GB/s. 2 x 500 + 2 x 300 for switches, 32 x 100 for NICs, 32 x 10
/// for the cables of the NICs, 8 x 15 between the switches. Without the uplinks of their own, all ports have 25 GB/s:
/// 24 of a leaf and 8 of a spine, for which there are the 900 of the large switch, and 16 x 10 for cables.
void TestBom::uplinksByHand() {
  const Parts parts = mixedTable(
      "switch,Leaf,16+4,200Gb/s+400Gb/s,,100,500,,\n"
      "switch,Spine,4,50,,100,300,,\n"
      "switch,Large,24,25,,100,900,,\n");
  const fabric::Fabric fabric = eightBoxes();
  const Bill bill = must(billOf(fabric, parts, {}));
  QCOMPARE(bill.portRate, Bandwidth(25));
  QCOMPARE(bill.uplinkRate, Bandwidth(50));
  QCOMPARE(lineOf(bill, parts, "Leaf")->pieces, 2);
  QCOMPARE(lineOf(bill, parts, "Spine")->pieces, 2);
  QCOMPARE(lineOf(bill, parts, "D25")->pieces, 32);
  QCOMPARE(lineOf(bill, parts, "D50")->pieces, 8);
  QCOMPARE(bill.total.price, Rational(2 * 500 + 2 * 300 + 32 * 100 + 32 * 10 + 8 * 15));
  // The uplinks are ports 17 to 20 of a leaf.
  const QString cables = QString::fromStdString(cableCsv(fabric, bill, parts));
  QVERIFY2(cables.contains("leaf0,network rack 1,17,spine0,network rack 1,1,50"), qPrintable(cables));
  QVERIFY(cables.contains("leaf1,network rack 1,20,spine1,network rack 1,4,50"));
  QVERIFY(cables.contains("b3nic3,rack 1,1,leaf0,network rack 1,16,25"));
  Parts alike = parts;
  std::erase_if(alike.rows, [](const Part& part) { return part.name == "Leaf"; });
  const Bill other = must(billOf(fabric, alike, {}));
  QCOMPARE(other.uplinkRate, Bandwidth(25));
  QCOMPARE(other.total.price, Rational(4 * 900 + 32 * 100 + 32 * 10 + 16 * 10));
}

/// Switches of six ports of 100 GB/s, each of which may be split into two or four: a leaf splits four ports into 16 of
/// 25 GB/s, and has two left for the spines. A spine needs two. 4 x 400 for switches, 32 x 100 + 32 x 10 for NICs and
/// their cables, 4 x 25 between the switches.
void TestBom::splitPortsByHand() {
  const Parts parts = mixedTable("switch,Six,6,100,,100,400,,2/4\n");
  const fabric::Fabric fabric = eightBoxes();
  const Bill bill = must(billOf(fabric, parts, {}));
  QCOMPARE(bill.portRate, Bandwidth(25));
  QCOMPARE(bill.uplinkRate, Bandwidth(100));
  QCOMPARE(lineOf(bill, parts, "Six")->pieces, 4);
  QCOMPARE(bill.total.price, Rational(4 * 400 + 32 * 100 + 32 * 10 + 4 * 25));
  const QString cables = QString::fromStdString(cableCsv(fabric, bill, parts));
  QVERIFY2(cables.contains("b0nic0,rack 1,1,leaf0,network rack 1,1/1,25"), qPrintable(cables));
  QVERIFY(cables.contains("b3nic3,rack 1,1,leaf0,network rack 1,4/4,25"));
  QVERIFY(cables.contains("leaf0,network rack 1,5,spine0,network rack 1,1,100"));
  // As JSON has it: the same rows.
  const std::vector<CsvRow> rows{{1, {"kind", "name", "ports", "rate", "watts", "price", "split"}},
                                 {2, {"switch", "Both", "48+8", "25+50", "1", "2", "+2"}}};
  const std::vector<PortGroup> groups = must(readPartRows(rows, "t.json")).rows[0].portGroups();
  QCOMPARE(groups.size(), std::size_t{2});
  QCOMPARE(groups[0].count, 48);
  QVERIFY(groups[0].splits.empty());
  QCOMPARE(groups[1].rate, Bandwidth(50));
  QCOMPARE(groups[1].splits, std::vector<int>{2});
}

/// Against all choices of a rate for each port, on switches drawn at random.
void TestBom::coversAreExact() {
  std::mt19937 random(3);
  const auto below = [&](unsigned count) { return static_cast<int>(random() % count); };
  int covered = 0;
  int missed = 0;
  for (int round = 0; round < 300; ++round) {
    Part part;
    const std::vector<int> rates{100, 200, 400};
    std::vector<PortGroup> groups;
    for (int g = 0; g < 1 + below(3); ++g) {
      PortGroup group{.count = 1 + below(3), .rate = Bandwidth(rates[below(3)])};
      for (const int split : {2, 4}) {
        if (below(2) == 0) {
          group.splits.push_back(split);
        }
      }
      groups.push_back(group);
    }
    part.ports = groups[0].count;
    part.rate = groups[0].rate;
    part.splits = groups[0].splits;
    part.others.assign(groups.begin() + 1, groups.end());
    PortNeeds needs;
    needs[Bandwidth(50)] = 1 + below(8);
    needs[Bandwidth(rates[below(3)])] = 1 + below(5);
    // By definition: each port one by one.
    std::vector<PortGroup> ports;
    for (const PortGroup& group : groups) {
      ports.insert(ports.end(), static_cast<std::size_t>(group.count), group);
    }
    int least = 1000;
    int leastSplit = 1000;
    PortNeeds left = needs;
    const std::function<void(std::size_t, int)> choose = [&](std::size_t at, int split) {
      if (at == ports.size()) {
        int missing = 0;
        for (const auto& [rate, count] : left) {
          missing += std::max(0, count);
        }
        std::tie(least, leastSplit) = std::min(std::pair(least, leastSplit), std::pair(missing, split));
        return;
      }
      choose(at + 1, split);
      for (auto& [rate, count] : left) {
        std::vector<int> into = ports[at].splits;
        into.push_back(1);
        for (const int parts : into) {
          if (count > 0 && ports[at].rate == rate * Rational(parts)) {
            count -= parts;
            choose(at + 1, split + (parts > 1 ? 1 : 0));
            count += parts;
          }
        }
      }
    };
    choose(0, 0);
    const PortCover cover = coverPorts(part, needs);
    QCOMPARE(cover.missing, least);
    int split = 0;
    PortNeeds served;
    std::vector<int> taken(ports.size(), 0);
    for (const PortUse& use : cover.uses) {
      split += use.split > 1 ? use.ports : 0;
      served[use.rate] += use.ports * use.split;
      for (int port = use.firstPort; port < use.firstPort + use.ports; ++port) {
        ++taken[port];
        QCOMPARE(ports[port].rate, use.rate * Rational(use.split));
      }
    }
    QVERIFY(std::all_of(taken.begin(), taken.end(), [](int times) { return times <= 1; }));
    int missing = 0;
    for (const auto& [rate, count] : needs) {
      missing += std::max(0, count - served[rate]);
    }
    QCOMPARE(missing, least);
    if (least == 0) {
      QCOMPARE(split, leastSplit);
    }
    ++(least == 0 ? covered : missed);
  }
  QVERIFY2(covered > 20 && missed > 20, qPrintable(QStringLiteral("%1 %2").arg(covered).arg(missed)));
}

void TestBom::mixedPortsThatAreTooFew_data() {
  QTest::addColumn<QString>("switches");
  QTest::addColumn<QString>("message");
  QTest::newRow("uplinks") << "switch,Leaf,16+2,25+50,,1,1,,\n"
                           << "no switch has the 16 ports of 25 GB/s and 4 ports of 50 GB/s that \"leaf0\" needs; the "
                              "nearest misses 2";
  QTest::newRow("split") << "switch,Five,5,100,,1,1,,4\n"
                         << "no switch has the 16 ports of 25 GB/s and 2 ports of 100 GB/s that \"leaf0\" needs; the "
                            "nearest misses 1";
  QTest::newRow("no split") << "switch,Six,6,100,,1,1,,2\n"
                            << "no switch has the 16 ports of 50 GB/s and 2 ports of 100 GB/s that \"leaf0\" needs; "
                               "the nearest misses 6";
}

void TestBom::mixedPortsThatAreTooFew() {
  QFETCH(QString, switches);
  QFETCH(QString, message);
  const auto bill = billOf(eightBoxes(), mixedTable(switches.toStdString()), {});
  QVERIFY(!bill);
  QCOMPARE(bill.error().where.file, std::string("t.csv"));
  QVERIFY2(text(bill.error()).contains(message), qPrintable(text(bill.error())));
}

void TestBom::faultsOfTables_data() {
  QTest::addColumn<QString>("table");
  QTest::addColumn<QString>("message");
  const QString head = "kind,name,ports,rate,reach,watts,price\n";
  QTest::newRow("nothing") << ""
                           << "the table is empty";
  QTest::newRow("no part") << head << "the table has no part";
  QTest::newRow("no price") << "kind,name,rate,watts\n"
                            << "t.csv:1: price: the column is missing";
  QTest::newRow("unknown column") << "kind,nam\n"
                                  << "t.csv:1: there is no column \"nam\"";
  QTest::newRow("column twice") << "kind,kind\n"
                                << "the column \"kind\" is there twice";
  QTest::newRow("kind") << head + "router,r,8,50,,1,1\n"
                        << "t.csv:2: kind: \"router\" is not a kind of part";
  QTest::newRow("name") << head + "switch,,8,50,,1,1\n"
                        << "t.csv:2: name: the field is empty";
  QTest::newRow("name twice") << head + "switch,s,8,50,,1,1\n\nnic,s,1,50,,1,1\n"
                              << "t.csv:4: name: \"s\" is the name of the part on line 2 too";
  QTest::newRow("ports") << head + "switch,s,8.5,50,,1,1\n"
                         << "t.csv:2: ports: \"8.5\" is not a number of ports";
  QTest::newRow("no ports") << head + "nic,n,,50,,1,1\n"
                            << "t.csv:2: ports: the field is empty";
  QTest::newRow("rate") << head + "switch,s,8,fast,,1,1\n"
                        << "t.csv:2: rate: \"fast\" is not a rate above 0";
  QTest::newRow("rate 0") << head + "switch,s,8,0,,1,1\n"
                          << "t.csv:2: rate: \"0\" is not a rate above 0";
  QTest::newRow("reach") << head + "copper,c,,50,,1,1\n"
                         << "t.csv:2: reach: the field is empty";
  QTest::newRow("reach 0") << head + "copper,c,,50,0,1,1\n"
                           << "t.csv:2: reach: \"0\" is not a reach above 0";
  QTest::newRow("reach of a switch") << head + "switch,s,8,50,3,1,1\n"
                                     << "t.csv:2: reach: a switch has no length";
  QTest::newRow("watts") << head + "switch,s,8,50,,-1,1\n"
                         << "t.csv:2: watts: \"-1\" is not a number of watts";
  QTest::newRow("price") << head + "switch,s,8,50,,1,$5\n"
                         << "t.csv:2: price: \"$5\" is not a price";
  const QString splitHead = "kind,name,ports,rate,reach,watts,price,split\n";
  QTest::newRow("a rate less") << splitHead + "switch,s,48+8,25,,1,1,\n"
                               << "t.csv:2: rate: \"48+8\" ports and the rates \"25\" are not as many";
  QTest::newRow("ports of nothing") << splitHead + "switch,s,48+,25+50,,1,1,\n"
                                    << "t.csv:2: ports: \"48+\" is not a number of ports";
  QTest::newRow("a split more") << splitHead + "switch,s,48+8,25+50,,1,1,2+2+2\n"
                                << "t.csv:2: split: \"2+2+2\" and the ports \"48+8\" are not as many";
  QTest::newRow("split into one") << splitHead + "switch,s,48,25,,1,1,1/2\n"
                                  << "t.csv:2: split: \"1/2\" is not what a port can be split into";
  QTest::newRow("too many kinds") << splitHead + "switch,s,1+1+1+1,1+2+3+4,,1,1,\n"
                                  << "t.csv:2: ports: a switch has at most 3 kinds of ports";
  QTest::newRow("split of a cable") << splitHead + "copper,c,,25,3,1,1,2\n"
                                    << "t.csv:2: split: only the ports of a switch are split";
  QTest::newRow("too many fields") << head + "switch,s,8,50,,1,1,2\n"
                                   << "more fields than the table has columns";
}

void TestBom::faultsOfTables() {
  QFETCH(QString, table);
  QFETCH(QString, message);
  const auto parts = readParts(table.toStdString(), "t.csv");
  QVERIFY(!parts);
  QCOMPARE(parts.error().code, ErrorCode::badInput);
  QVERIFY2(text(parts.error()).contains(message), qPrintable(text(parts.error())));
  QVERIFY(!parts.error().fix.empty());
}

void TestBom::whatCannotBeBuilt_data() {
  QTest::addColumn<QString>("without");  // part that is taken out of the table
  QTest::addColumn<QString>("message");
  QTest::newRow("no switch") << "S8,S16"
                             << "the table has no switch";
  QTest::newRow("no NIC of the rate") << "N50"
                                      << "no NIC has the 2 ports for the 50 GB/s of \"b0nic0\"";
  QTest::newRow("no cable of the reach") << "AOC,SR"
                                         << "no cable of 50 GB/s spans the 3.35 m from \"b0nic0\" to \"leaf0\"; the "
                                            "longest spans 3 m";
  QTest::newRow("no cable at all") << "DAC,AOC,SR"
                                   << "no cable of 50 GB/s spans the 3.35 m";
}

void TestBom::whatCannotBeBuilt() {
  QFETCH(QString, without);
  QFETCH(QString, message);
  Parts parts = must(readParts(kTable, "t.csv"));
  std::erase_if(parts.rows,
                [&](const Part& part) { return without.split(',').contains(QString::fromStdString(part.name)); });
  if (without == "N50") {
    parts.rows.push_back({.kind = PartKind::nic, .name = "N25", .ports = 1, .rate = Bandwidth(25)});
  }
  const auto bill = billOf(fourBoxes(), parts, twoBoxesPerRack());
  QVERIFY(!bill);
  QCOMPARE(bill.error().code, ErrorCode::badInput);
  QCOMPARE(bill.error().where.file, std::string("t.csv"));
  QVERIFY2(text(bill.error()).contains(message), qPrintable(text(bill.error())));
  QVERIFY(!bill.error().fix.empty());
  // A switch with too few ports names the one that needs more, and how many there are.
  Parts small = must(readParts(kTable));
  for (Part& part : small.rows) {
    part.ports = part.kind == PartKind::networkSwitch ? 6 : part.ports;
  }
  const auto refused = billOf(fourBoxes(), small, twoBoxesPerRack());
  QVERIFY(!refused);
  QVERIFY2(
      text(refused.error()).contains("no switch has the 8 ports of 50 GB/s that \"leaf0\" needs; the largest has 6"),
      qPrintable(text(refused.error())));
}

void TestBom::floors_data() {
  QTest::addColumn<QString>("parameter");
  QTest::newRow("boxes-per-rack") << "boxes-per-rack";
  QTest::newRow("switches-per-rack") << "switches-per-rack";
  QTest::newRow("rack-pitch") << "rack-pitch";
  QTest::newRow("slack") << "slack";
}

void TestBom::floors() {
  QFETCH(QString, parameter);
  Floor floor;
  floor.boxesPerRack = parameter == "boxes-per-rack" ? 6 : 4;  // 2.4 m
  floor.switchesPerRack = parameter == "switches-per-rack" ? 0 : 16;
  floor.rackPitch = parameter == "rack-pitch" ? Rational(0) : floor.rackPitch;
  floor.slack = parameter == "slack" ? Rational(-1) : floor.slack;
  const auto plan = planFloor(fourBoxes(), floor);
  QVERIFY(!plan);
  QCOMPARE(plan.error().code, ErrorCode::badUsage);
  QCOMPARE(plan.error().where.element.as(RefKind::parameter)->name, parameter.toStdString());
}

void TestBom::nicsOfTheBox() {
  Parts parts = must(readParts(kTable));
  std::erase_if(parts.rows, [](const Part& part) { return part.kind == PartKind::nic; });
  const Bill bill = must(billOf(fourBoxes(), parts, twoBoxesPerRack()));
  QCOMPARE(bill.total.price, Rational(4000 + 200 + 480) + Rational(985, 100));
}

/// A torus of 16 GPUs without boxes: each GPU is a box of its own, and its 32 links are cables alone.
void TestBom::directLinks() {
  const Parts parts = must(readParts(kTable));
  const Bill bill = must(billOf(made("torus", {{"dims", "4x4"}, {"bandwidth", "100"}}), parts, {}));
  std::int64_t cables = 0;
  for (const CableRun& run : bill.runs) {
    QCOMPARE(run.count, 2);
    cables += run.count;
  }
  QCOMPARE(cables, 64);
  QVERIFY(lineOf(bill, parts, "S8") == nullptr && lineOf(bill, parts, "N50") == nullptr);
}

/// The boxes of this fat tree are a leaf with its GPUs.
void TestBom::boxesAreServers() {
  const auto bill = billOf(made("fat-tree-2", {}), must(readParts(kTable)), {});
  QVERIFY(!bill);
  QCOMPARE(bill.error().code, ErrorCode::badUsage);
  QVERIFY2(text(bill.error()).contains("node \"leaf0\": the switch is in the box \"b0\""),
           qPrintable(text(bill.error())));
}

void TestBom::sample() {
  QFile file(QStringLiteral(COPPICE_EXAMPLES "/parts.csv"));
  QVERIFY(file.open(QIODevice::ReadOnly));
  const Parts parts = must(readParts(file.readAll().toStdString(), "parts.csv"));
  for (const PartKind kind :
       {PartKind::networkSwitch, PartKind::nic, PartKind::copper, PartKind::aoc, PartKind::transceiver}) {
    QVERIFY(parts.has(kind));
  }
  // Eight boxes on rails: a leaf has 8 ports down and 8 up, the spine 64.
  const Bill bill = must(billOf(made("dgx-h100", {{"boxes", "8"}, {"network", "rails"}}), parts, {}));
  QCOMPARE(lineOf(bill, parts, "Switch 32 x 400G")->pieces, 8);
  QCOMPARE(lineOf(bill, parts, "Switch 64 x 400G")->pieces, 1);
  QCOMPARE(lineOf(bill, parts, "NIC 1 x 400G")->pieces, 64);
}

QTEST_APPLESS_MAIN(TestBom)
#include "tst_bom.moc"
