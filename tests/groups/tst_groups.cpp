// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <map>
#include <random>

#include "alltoall/alltoall.hpp"
#include "groups/arborescence.hpp"
#include "groups/groups.hpp"
#include "groups/reference_groups.hpp"
#include "io/groups_json.hpp"
#include "lp/simplex.hpp"
#include "support/preset_fabrics.hpp"
#include "verify/concurrent_check.hpp"

using namespace coppice;
using schedule::ConcurrentDemand;
using schedule::ConcurrentGroup;
using test::demandOf;
using test::fabricOf;
using test::presetFabric;
using test::referenceTable;

namespace {

/// The whole program, with every cut and every flow as rows, of a fabric with few nodes. Shares nothing with the
/// search but the simplex.
class WholeProgram {
public:
  WholeProgram(const fabric::Fabric& fabric, const ConcurrentDemand& demand) : m_fabric(fabric), m_demand(demand) {
    m_rate = column(1);
    for (const fabric::Arc& arc : fabric.arcs()) {
      m_rows.push_back({{}, {}, arc.bandwidth.gigabytesPerSecond().numerator()});
    }
    for (const ConcurrentGroup& group : demand.groups) {
      add(group);
    }
  }

  std::optional<Rational> solve() {
    lp::Simplex simplex(m_columns);
    for (lp::Row& row : m_rows) {
      simplex.addRow(std::move(row));
    }
    const lp::StopTest never([] { return false; });
    if (simplex.solve(never) != lp::SimplexStatus::optimal) {
      return std::nullopt;
    }
    const auto point = simplex.exactPoint(never);
    const auto bound = simplex.provedBound(never);
    if (!point || !bound) {
      return std::nullopt;
    }
    const Rational rate(point->numerators[m_rate], point->denominator);
    return Rational(narrow64(bound->numerator), narrow64(bound->denominator)) == rate ? std::optional(rate)
                                                                                      : std::nullopt;
  }

private:
  int column(std::int64_t cost = 0) {
    m_columns.push_back({.lower = 0, .upper = 1'000'000, .cost = cost, .scale = 10});
    return static_cast<int>(m_columns.size()) - 1;
  }

  [[nodiscard]] bool mayUse(const ConcurrentGroup& group, int node) const {
    const int rank = m_fabric.nodes()[node].rank;
    return rank < 0 || (!m_demand.relays.empty() && m_demand.relays[rank]) || isMember(group, node);
  }
  [[nodiscard]] static bool contains(const std::vector<int>& ranks, int rank) {
    return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
  }
  [[nodiscard]] bool isMember(const ConcurrentGroup& group, int node) const {
    return m_fabric.nodes()[node].rank >= 0 && contains(group.ranks, m_fabric.nodes()[node].rank);
  }

  /// Columns of links that share the bandwidths; -1 where the group may not use the link.
  std::vector<int> links(const ConcurrentGroup& group) {
    std::vector<int> columns;
    for (std::size_t arc = 0; arc < m_fabric.arcs().size(); ++arc) {
      const bool may = mayUse(group, m_fabric.arcs()[arc].tail) && mayUse(group, m_fabric.arcs()[arc].head);
      columns.push_back(may ? column() : -1);
      if (may) {
        m_rows[arc].terms.push_back({columns.back(), 1});
      }
    }
    return columns;
  }

  void addFlow(const ConcurrentGroup& group, int root, bool isIn) {
    const std::vector<int> links = this->links(group);
    const auto n = static_cast<std::int64_t>(group.ranks.size());
    for (int node = 0; node < m_fabric.nodeCount(); ++node) {
      if (node == m_fabric.gpus()[root]) {
        continue;
      }
      lp::Row row{{}, 0, 0};
      for (std::size_t arc = 0; arc < links.size(); ++arc) {
        if (links[arc] >= 0 && (m_fabric.arcs()[arc].head == node || m_fabric.arcs()[arc].tail == node)) {
          const bool enters = (m_fabric.arcs()[arc].head == node) != isIn;
          row.terms.push_back({links[arc], (enters ? 1 : -1) * n * group.weight.denominator()});
        }
      }
      if (isMember(group, node)) {
        row.terms.push_back({m_rate, -group.weight.numerator()});
      }
      m_rows.push_back(std::move(row));
    }
  }

  /// roots by place: columns of x; empty = the shares of m_rate that the collective fixes.
  void addTrees(const ConcurrentGroup& group, bool isIn, const std::vector<int>& roots) {
    const std::vector<int> links = this->links(group);
    const auto n = static_cast<std::int64_t>(group.ranks.size());
    const std::int64_t scale = n * group.weight.denominator();
    for (int node = 0; node < m_fabric.nodeCount(); ++node) {
      if (!isMember(group, node)) {
        lp::Row row{{}, 0, 0};
        for (std::size_t arc = 0; arc < links.size(); ++arc) {
          if (links[arc] >= 0 && (m_fabric.arcs()[arc].head == node || m_fabric.arcs()[arc].tail == node)) {
            row.terms.push_back({links[arc], m_fabric.arcs()[arc].head == node ? 1 : -1});
          }
        }
        m_rows.push_back(std::move(row));
      }
    }
    for (unsigned set = 1; set < (1U << m_fabric.nodeCount()); ++set) {
      lp::Row row{{}, 0, {}};
      std::int64_t outside = 0;
      bool hasMember = false;
      for (std::size_t place = 0; place < group.ranks.size(); ++place) {
        const bool isInside = (set >> m_fabric.gpus()[group.ranks[place]] & 1U) != 0;
        hasMember = hasMember || isInside;
        const bool isRoot = !isRooted(group.collective) || static_cast<int>(place) == group.root;
        if (!isInside && roots.empty()) {
          outside += isRooted(group.collective) ? (isRoot ? n : 0) : 1;
        } else if (!isInside) {
          row.terms.push_back({roots[place], -scale});
        }
      }
      if (!hasMember) {
        continue;
      }
      if (outside > 0) {
        row.terms.push_back({m_rate, -outside * group.weight.numerator()});
      }
      for (std::size_t arc = 0; arc < links.size(); ++arc) {
        const bool tail = (set >> m_fabric.arcs()[arc].tail & 1U) != 0;
        const bool head = (set >> m_fabric.arcs()[arc].head & 1U) != 0;
        if (links[arc] >= 0 && (isIn ? tail && !head : head && !tail)) {
          row.terms.push_back({links[arc], scale});
        }
      }
      m_rows.push_back(std::move(row));
    }
  }

  void add(const ConcurrentGroup& group) {
    switch (group.collective) {
      case Collective::allgather:
      case Collective::broadcast:
        return addTrees(group, false, {});
      case Collective::reduceScatter:
      case Collective::reduce:
        return addTrees(group, true, {});
      case Collective::allreduce: {
        std::vector<int> roots;
        lp::Row sum{{}, 0, 0};
        for (std::size_t place = 0; place < group.ranks.size(); ++place) {
          roots.push_back(column());
          sum.terms.push_back({roots.back(), group.weight.denominator()});
        }
        sum.terms.push_back({m_rate, -group.weight.numerator()});
        m_rows.push_back(std::move(sum));
        addTrees(group, false, roots);
        return addTrees(group, true, roots);
      }
      case Collective::alltoall:
        for (const int rank : group.ranks) {
          addFlow(group, rank, false);
        }
        return;
      default:
        addFlow(group, group.ranks[group.root], group.collective == Collective::gather);
    }
  }

  const fabric::Fabric& m_fabric;
  const ConcurrentDemand& m_demand;
  std::vector<lp::Column> m_columns;
  std::vector<lp::Row> m_rows;
  int m_rate = 0;
};

struct Case {
  fabric::Fabric fabric;
  ConcurrentDemand demand;
};

enum class Mix {
  any,       ///< some links one way, any collectives
  alltoalls  ///< each direction of a link has a bandwidth of its own, or none
};

/// Few nodes, any bandwidths, any groups.
std::optional<Case> randomCase(unsigned seed, Mix mix = Mix::any) {
  std::mt19937 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  fabric::Description description;
  const int gpus = 3 + below(3);
  const int nodes = gpus + below(3);
  for (int i = 0; i < nodes; ++i) {
    fabric::NodeDescription node;
    node.id = std::to_string(i);
    node.kind = i < gpus ? "gpu" : "switch";
    description.nodes.push_back(node);
  }
  for (int i = 0; i < nodes; ++i) {
    for (int j = 0; j < i; ++j) {
      if (below(5) < 3) {
        fabric::LinkDescription link;
        link.src = std::to_string(i);
        link.dst = std::to_string(j);
        link.bandwidth = std::to_string(1 + below(9));
        link.duplex = mix == Mix::any && below(6) > 0;
        description.links.push_back(link);
      }
      if (mix == Mix::alltoalls && below(5) < 3) {
        fabric::LinkDescription back;
        back.src = std::to_string(j);
        back.dst = std::to_string(i);
        back.bandwidth = std::to_string(1 + below(9));
        back.duplex = false;
        description.links.push_back(back);
      }
    }
  }
  auto fabric = fabric::Fabric::build(description);
  if (!fabric) {
    return std::nullopt;
  }
  ConcurrentDemand demand;
  const int groups = 1 + below(3);
  constexpr std::array kAll{Collective::allgather, Collective::reduceScatter, Collective::allreduce,
                            Collective::broadcast, Collective::reduce,        Collective::alltoall,
                            Collective::gather,    Collective::scatter};
  for (int i = 0; i < groups; ++i) {
    ConcurrentGroup group;
    while (group.ranks.size() < 2) {
      group.ranks.clear();
      for (int rank = 0; rank < gpus; ++rank) {
        if (below(2) == 0) {
          group.ranks.push_back(rank);
        }
      }
    }
    std::shuffle(group.ranks.begin(), group.ranks.end(), random);
    group.collective = mix == Mix::alltoalls ? Collective::alltoall : kAll[below(kAll.size())];
    group.weight = Rational(1 + below(4), 1 + below(3));
    group.root = below(static_cast<int>(group.ranks.size()));
    demand.groups.push_back(group);
  }
  for (int rank = 0; rank < gpus; ++rank) {
    demand.relays.push_back(below(2) == 0);
  }
  return Case{*std::move(fabric), std::move(demand)};
}

QString text(const Bandwidth& value) {
  return QString::fromStdString(toFraction(value));
}

/// Both certificates, judged.
void requireProved(const fabric::Fabric& fabric, const ConcurrentDemand& demand, const groups::Optimum& optimum) {
  const auto bound = verify::provenConcurrentBound(fabric, demand, optimum.proof);
  QVERIFY2(bound.hasValue(), bound ? "" : describe(bound.error()).c_str());
  QCOMPARE(text(*bound), text(optimum.upper));
  const auto rate = verify::provenConcurrentRate(fabric, demand, optimum.proof);
  QVERIFY2(rate.hasValue(), rate ? "" : describe(rate.error()).c_str());
  QCOMPARE(text(*rate), text(optimum.lower));
}

ConcurrentDemand meshDemand(const std::vector<int>& sizes, const std::vector<int>& axes, int ranks) {
  ConcurrentDemand demand;
  for (const int axis : axes) {
    const auto groups = groups::meshGroups(sizes, axis, ranks);
    if (!groups) {
      qFatal("%s", describe(groups.error()).c_str());
    }
    demand.groups.insert(demand.groups.end(), groups->begin(), groups->end());
  }
  return demand;
}

}  // namespace

class TestGroups : public QObject {
  Q_OBJECT

private slots:
  void referenceValues_data() {
    QTest::addColumn<int>("index");
    for (std::size_t i = 0; i < referenceTable().size(); ++i) {
      QTest::newRow(referenceTable()[i].at("name").get<std::string>().c_str()) << static_cast<int>(i);
    }
  }
  void referenceValues() {
    QFETCH(int, index);
    const auto& entry = referenceTable()[static_cast<std::size_t>(index)];
    const fabric::Fabric fabric = fabricOf(entry.at("fabric"));
    const ConcurrentDemand demand = demandOf(entry, fabric.gpuCount());
    const auto optimum = groups::optimum(fabric, demand);
    QVERIFY2(optimum.hasValue(), optimum ? "" : describe(optimum.error()).c_str());
    QCOMPARE(text(optimum->upper), QString::fromStdString(entry.at("rate").get<std::string>()));
    QCOMPARE(text(optimum->lower), text(optimum->upper));
    requireProved(fabric, demand, *optimum);
  }

  void allCutsOfRandomFabrics_data() {
    QTest::addColumn<bool>("isAlltoall");
    QTest::newRow("any collectives") << false;
    QTest::newRow("alltoalls, other bandwidths each way") << true;
  }
  void allCutsOfRandomFabrics() {
    QFETCH(bool, isAlltoall);
    int solved = 0;
    for (unsigned seed = 0; seed < 150; ++seed) {
      const auto random = randomCase(seed, isAlltoall ? Mix::alltoalls : Mix::any);
      if (!random) {
        continue;
      }
      const auto optimum = groups::optimum(random->fabric, random->demand);
      const auto whole = WholeProgram(random->fabric, random->demand).solve();
      if (!optimum) {
        QVERIFY2(optimum.error().code == ErrorCode::infeasible, describe(optimum.error()).c_str());
        QVERIFY(whole && whole->isZero());
        continue;
      }
      QVERIFY2(whole.has_value(), std::to_string(seed).c_str());
      QCOMPARE(QString::number(seed) + " " + text(optimum->upper),
               QString::number(seed) + " " + text(Bandwidth(*whole)));
      QCOMPARE(QString::number(seed) + " " + text(optimum->lower),
               QString::number(seed) + " " + text(Bandwidth(*whole)));
      requireProved(random->fabric, random->demand, *optimum);
      ++solved;
    }
    QVERIFY(solved > 50);
  }

  void meshesOfPresets_data() {
    QTest::addColumn<QString>("preset");
    QTest::addColumn<QList<int>>("sizes");
    QTest::addColumn<QList<int>>("axes");
    QTest::addColumn<QString>("rate");
    // NVLink at 450 and a NIC at 50 GB/s for each GPU; groups inside a box use both.
    QTest::newRow("tensor groups") << "dgx-h100 boxes=4" << QList<int>{4, 8} << QList<int>{1} << "4000/7";
    QTest::newRow("data groups") << "dgx-h100 boxes=4" << QList<int>{4, 8} << QList<int>{0} << "200/3";
    QTest::newRow("both at once") << "dgx-h100 boxes=4" << QList<int>{4, 8} << QList<int>{0, 1} << "200/3";
    QTest::newRow("one group") << "dgx-h100 boxes=2" << QList<int>{1, 16} << QList<int>{1} << "1600/3";
    QTest::newRow("1024 in eights") << "dgx-h100 boxes=128" << QList<int>{128, 8} << QList<int>{1} << "4000/7";
    QTest::newRow("1024 across") << "dgx-h100 boxes=128" << QList<int>{128, 8} << QList<int>{0} << "6400/127";
    QTest::newRow("4096 in three axes") << "dgx-h100 boxes=512" << QList<int>{16, 32, 8} << QList<int>{0, 1, 2}
                                        << "1600/61";
    QTest::newRow("1024 in three axes") << "dgx-h100 boxes=128" << QList<int>{8, 16, 8} << QList<int>{0} << "400/7";
    // An axis of many boxes beside one across them: no rotation by one GPU is a symmetry.
    QTest::newRow("1024, two axes over boxes")
        << "dgx-h100 boxes=128" << QList<int>{8, 128} << QList<int>{0, 1} << "6400/127";
    QTest::newRow("1024, two axes over leaves")
        << "dgx-h100 boxes=128 network=leaf-spine" << QList<int>{8, 128} << QList<int>{0, 1} << "6400/127";
    QTest::newRow("16384 in groups of 2048")
        << "dgx-a100 boxes=2048" << QList<int>{8, 2048} << QList<int>{1} << "10240/51";
    QTest::newRow("16384, two axes over boxes")
        << "dgx-h100 boxes=2048 network=rails" << QList<int>{8, 2048} << QList<int>{0, 1} << "102400/2047";
  }
  void meshesOfPresets() {
    QFETCH(QString, preset);
    QFETCH(QList<int>, sizes);
    QFETCH(QList<int>, axes);
    QFETCH(QString, rate);
    const fabric::Fabric fabric = presetFabric(preset);
    const ConcurrentDemand demand =
        meshDemand({sizes.begin(), sizes.end()}, {axes.begin(), axes.end()}, fabric.gpuCount());
    const auto optimum = groups::optimum(fabric, demand);
    QVERIFY2(optimum.hasValue(), optimum ? "" : describe(optimum.error()).c_str());
    QCOMPARE(text(optimum->upper), rate);
    QCOMPARE(text(optimum->lower), rate);
    requireProved(fabric, demand, *optimum);
  }

  /// No two links alike: as many prices as links.
  void noSymmetry_data() {
    QTest::addColumn<int>("gpus");
    QTest::addColumn<QString>("collective");
    for (const char* collective : {"allgather", "allreduce", "alltoall"}) {
      QTest::addRow("24 %s", collective) << 24 << QString(collective);
    }
    QTest::addRow("64 allgather") << 64 << QString("allgather");
  }
  void noSymmetry() {
    QFETCH(int, gpus);
    QFETCH(QString, collective);
    std::mt19937 random(static_cast<unsigned>(gpus));
    const auto between = [&](int low, int high) { return low + static_cast<int>(random() % (high - low + 1)); };
    fabric::Description description;
    const int switches = gpus / 5;
    for (int i = 0; i < gpus + switches; ++i) {
      fabric::NodeDescription node;
      node.id = std::to_string(i);
      node.kind = i < gpus ? "gpu" : "switch";
      description.nodes.push_back(node);
    }
    const auto link = [&](int a, int b, int bandwidth) {
      fabric::LinkDescription of;
      of.src = std::to_string(a);
      of.dst = std::to_string(b);
      of.bandwidth = std::to_string(bandwidth);
      description.links.push_back(of);
    };
    for (int i = 0; i < gpus; ++i) {
      const int first = between(0, switches - 1);
      link(i, gpus + first, between(10, 60));
      link(i, gpus + (first + between(1, switches - 1)) % switches, between(10, 60));
      link(i, (i + 1) % gpus, between(5, 30));
    }
    for (int i = 0; i < switches; ++i) {
      link(gpus + i, gpus + (i + 1) % switches, between(20, 100));
    }
    const fabric::Fabric fabric = test::built(description);
    ConcurrentDemand demand = meshDemand({4, gpus / 4}, {1}, gpus);
    for (ConcurrentGroup& group : demand.groups) {
      group.collective = *parseCollective(collective.toStdString());
    }
    const auto optimum = groups::optimum(fabric, demand);
    QVERIFY2(optimum.hasValue(), optimum ? "" : describe(optimum.error()).c_str());
    QVERIFY(optimum->linkClasses > 2 * gpus);
    QCOMPARE(text(optimum->lower), text(optimum->upper));
    requireProved(fabric, demand, *optimum);
  }

  /// Links almost alike: the best prices are in few links, and the mixture of paths has no small denominator.
  void alltoallWithoutSymmetry_data() {
    QTest::addColumn<int>("gpus");
    for (const int gpus : {16, 20, 24}) {
      QTest::addRow("%d GPUs", gpus) << gpus;
    }
  }
  void alltoallWithoutSymmetry() {
    QFETCH(int, gpus);
    std::mt19937 random(static_cast<unsigned>(gpus));
    const auto below = [&](int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); };
    fabric::Description description;
    for (int i = 0; i < gpus; ++i) {
      description.nodes.push_back({.id = std::to_string(i), .kind = "gpu"});
    }
    std::set<std::pair<int, int>> joined;
    for (int i = 0; i < gpus; ++i) {
      joined.insert(std::minmax(i, (i + 1) % gpus));
      joined.insert(std::minmax(i, (i + 2 + below(gpus - 3)) % gpus));
    }
    for (const auto& [a, b] : joined) {
      description.links.push_back(
          {.src = std::to_string(a), .dst = std::to_string(b), .bandwidth = std::to_string(10 + below(4))});
    }
    const fabric::Fabric fabric = test::built(description);
    for (const bool isOne : {true, false}) {
      ConcurrentDemand demand = isOne ? meshDemand({gpus}, {0}, gpus) : meshDemand({gpus / 4, 4}, {0, 1}, gpus);
      demand.relays.assign(static_cast<std::size_t>(gpus), true);
      for (ConcurrentGroup& group : demand.groups) {
        group.collective = Collective::alltoall;
      }
      const auto optimum = groups::optimum(fabric, demand);
      QVERIFY2(optimum.hasValue(), optimum ? "" : describe(optimum.error()).c_str());
      QVERIFY(optimum->lower * Rational(1'000'001, 1'000'000) >= optimum->upper);
      requireProved(fabric, demand, *optimum);
      if (isOne) {
        // The program of one alltoall, which is another one.
        const auto alone = alltoall::optimum(fabric);
        QVERIFY(alone);
        QVERIFY(alone->lower * Rational(gpus) <= optimum->upper && optimum->lower <= alone->upper * Rational(gpus));
        QVERIFY(!alone->isExact() || optimum->upper == alone->upper * Rational(gpus));
      }
    }
  }

  void spoiledProofsAreRefused_data() {
    QTest::addColumn<int>("fault");
    for (int fault = 0; fault < 7; ++fault) {
      QTest::newRow(std::to_string(fault).c_str()) << fault;
    }
  }
  void spoiledProofsAreRefused() {
    QFETCH(int, fault);
    const fabric::Fabric fabric = presetFabric("dgx-h100 boxes=2");
    const ConcurrentDemand demand = meshDemand({2, 8}, {0}, 16);
    auto optimum = groups::optimum(fabric, demand);
    QVERIFY(optimum.hasValue());
    schedule::ConcurrentProof& proof = optimum->proof;
    QVERIFY(!proof.symmetries.empty() && !proof.trees.empty());
    std::vector<std::int32_t>& path = proof.trees.front().outPaths.front();
    switch (fault) {
      case 0:
        proof.prices.pop_back();
        break;
      case 1:
        proof.prices.front() = -1;
        break;
      case 2:
        proof.symmetries.front().front().second = proof.symmetries.front().front().first;
        break;
      case 3:
        proof.symmetries.push_back({{fabric.gpus()[0], fabric.gpus()[1]}, {fabric.gpus()[1], fabric.gpus()[0]}});
        break;
      case 4:
        path.pop_back();
        break;
      case 5:
        proof.trees.clear();
        break;
      default:
        proof.trees.front().weight = 0;
    }
    const auto bound = verify::provenConcurrentBound(fabric, demand, proof);
    const auto rate = verify::provenConcurrentRate(fabric, demand, proof);
    QVERIFY(!bound || !rate);
    QCOMPARE((bound ? rate.error() : bound.error()).code, ErrorCode::verification);
  }

  void badGroups_data() {
    QTest::addColumn<QList<int>>("ranks");
    QTest::addColumn<int>("weight");
    QTest::newRow("one rank") << QList<int>{0} << 1;
    QTest::newRow("twice") << QList<int>{0, 1, 0} << 1;
    QTest::newRow("out of range") << QList<int>{0, 16} << 1;
    QTest::newRow("no weight") << QList<int>{0, 1} << 0;
  }
  void badGroups() {
    QFETCH(QList<int>, ranks);
    QFETCH(int, weight);
    const fabric::Fabric fabric = presetFabric("dgx-h100 boxes=2");
    ConcurrentGroup group;
    group.ranks = {ranks.begin(), ranks.end()};
    group.weight = Rational(weight);
    const auto optimum = groups::optimum(fabric, {{group}, {}});
    QVERIFY(!optimum);
    QCOMPARE(optimum.error().code, ErrorCode::badUsage);
    QVERIFY(!groups::optimum(fabric, {}));
  }

  void files_data() {
    QTest::addColumn<QString>("file");
    QTest::addColumn<QString>("fault");  // empty = none
    const auto row = [](const char* name, const char* file, const char* fault) {
      QTest::newRow(name) << QString::fromUtf8(file) << QString::fromUtf8(fault);
    };
    row("ranks", R"([{"ranks": [0, "b0g1", "2-3"], "weight": "3/2", "root": 1, "collective": "broadcast"}])", "");
    row("all", R"({"groups": [{"ranks": "all"}], "relay": true})", "");
    row("relays", R"({"groups": [{"ranks": [0, 1]}], "relay": ["8-15"]})", "");
    row("no JSON", "[{", "1:");
    row("no groups", "[]", "no list of groups");
    row("no ranks", R"([{"collective": "allgather"}])", "no ranks");
    row("one rank", R"([{"ranks": [3]}])", "fewer than two");
    row("rank twice", R"([{"ranks": [3, 4, 3]}])", "rank 3 is in a group twice");
    row("no such rank", R"([{"ranks": [0, 16]}])", "\"16\" is not a GPU");
    row("no such id", R"([{"ranks": [0, "x"]}])", "\"x\" is not a GPU");
    row("no collective", R"([{"ranks": [0, 1], "collective": "gossip"}])", "\"gossip\" is not a collective");
    row("weight", R"([{"ranks": [0, 1], "weight": 0}])", "not a number above 0");
    row("root", R"([{"ranks": [0, 1], "collective": "reduce", "root": 2}])", "not one of its ranks");
    row("key", R"([{"ranks": [0, 1], "rank": 2}])", "\"rank\" is not a key");
  }
  void files() {
    QFETCH(QString, file);
    QFETCH(QString, fault);
    const fabric::Fabric fabric = presetFabric("dgx-h100 boxes=2");
    const auto demand = io::readGroups(file.toStdString(), "groups.json", fabric);
    QCOMPARE(demand.hasValue(), fault.isEmpty());
    if (!demand) {
      QCOMPARE(demand.error().code, ErrorCode::badInput);
      const QString told = QString::fromStdString(describe(demand.error()));
      QVERIFY2(told.contains(fault) && told.startsWith("groups.json"), qPrintable(told));
      return;
    }
    const ConcurrentGroup& group = demand->groups.front();
    if (isRooted(group.collective)) {
      QCOMPARE(group.ranks, (std::vector<int>{0, 1, 2, 3}));
      QCOMPARE(group.weight, Rational(3, 2));
      QCOMPARE(group.root, 1);
    }
    QVERIFY(groups::optimum(fabric, *demand).hasValue());
  }

  void meshes() {
    const auto rows = groups::meshGroups(std::vector<int>{2, 3}, 1, 6);
    QVERIFY(rows.hasValue());
    QCOMPARE(rows->size(), std::size_t{2});
    QCOMPARE(rows->at(1).ranks, (std::vector<int>{3, 4, 5}));
    const auto columns = groups::meshGroups(std::vector<int>{2, 3}, 0, 6);
    QVERIFY(columns.hasValue());
    QCOMPARE(columns->at(2).ranks, (std::vector<int>{2, 5}));
    QVERIFY(!groups::meshGroups(std::vector<int>{2, 3}, 2, 6));
    QVERIFY(!groups::meshGroups(std::vector<int>{2, 3}, 0, 8));
    QVERIFY(!groups::meshGroups(std::vector<int>{1, 6}, 0, 6));
    QCOMPARE(*groups::parseMesh("8x16"), (std::vector<int>{8, 16}));
    for (const char* bad : {"", "8x", "x8", "8xa", "0x4", "-1x4"}) {
      QVERIFY2(!groups::parseMesh(bad), bad);
    }
  }

  /// Every choice of one arc into each node.
  void arborescences() {
    std::mt19937 random(7);
    for (int round = 0; round < 300; ++round) {
      const int n = 2 + static_cast<int>(random() % 4);
      std::vector<Int128> costs(static_cast<std::size_t>(n * n));
      for (Int128& cost : costs) {
        cost = static_cast<int>(random() % 8);
      }
      const int root = static_cast<int>(random() % static_cast<unsigned>(n));
      std::vector<int> tails(static_cast<std::size_t>(n), 0);
      std::int64_t best = 1 << 20;
      const auto costIfTree = [&](const std::vector<int>& from) -> std::int64_t {
        std::int64_t sum = 0;
        for (int node = 0; node < n; ++node) {
          int at = node;
          for (int hops = 0; at != root; ++hops) {
            if (hops > n || from[at] == at || from[at] < 0) {
              return 1 << 20;
            }
            at = from[at];
          }
          sum += node == root ? 0 : static_cast<std::int64_t>(costs[static_cast<std::size_t>(node * n + from[node])]);
        }
        return sum;
      };
      for (std::size_t digit = 0; digit < tails.size();) {
        best = std::min(best, costIfTree(tails));
        for (digit = 0; digit < tails.size() && ++tails[digit] == n; ++digit) {
          tails[digit] = 0;
        }
      }
      QCOMPARE(costIfTree(groups::cheapestArborescence(n, root, costs)), best);
    }
  }
};

QTEST_APPLESS_MAIN(TestGroups)
#include "tst_groups.moc"
