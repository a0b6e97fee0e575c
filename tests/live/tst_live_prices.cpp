// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "forestcoll/forestcoll.hpp"
#include "live/cut_bound.hpp"
#include "live/every_cut.hpp"
#include "live/failures.hpp"
#include "live/prices.hpp"
#include "presets/presets.hpp"
#include "support/must.hpp"

using namespace coppice;
using namespace coppice::test;

class TestLivePrices : public QObject {
  Q_OBJECT

private slots:
  void pricesAgainstEveryCut_data();
  void pricesAgainstEveryCut();
  void ties();
  void priceOfOneWayLink();
  void priceWithoutEnd();
  void curveOfOneLink();
  void curveErrors();
  void classes();
  void sweep_data();
  void sweep();
  void allreduceByTrees_data();
  void allreduceByTrees();
  void sweepOfParallelLinks();
};

/// Of one group alone.
static Result<live::Price> priceOf(const CutBound& bound, const live::LinkGroup& group) {
  const auto ranking = live::rankPrices(bound, {&group, 1});
  return ranking ? Result<live::Price>(ranking->front().price) : ranking.error();
}

/// GB/s, as the reference counts them.
static std::optional<Rational> valueOf(const std::optional<Bandwidth>& change) {
  return change ? std::optional(change->gigabytesPerSecond()) : std::nullopt;
}

void TestLivePrices::pricesAgainstEveryCut_data() {
  addCollectives();
}

void TestLivePrices::pricesAgainstEveryCut() {
  QFETCH(int, collective);
  QFETCH(bool, weighted);
  for (unsigned seed = 0; seed < 60; ++seed) {
    CutDice dice(500 * seed + static_cast<unsigned>(collective));
    const Scene scene = randomScene(dice, static_cast<Collective>(collective), weighted, 8);
    const Reference& reference = scene.reference;
    const CutBound bound = must(boundOf(scene.description, scene.request));
    std::vector<live::LinkGroup> groups;
    for (int a = 0; a < reference.size(); ++a) {
      for (int b = a + 1; b < reference.size(); ++b) {
        live::LinkGroup pair{reference.ids[a] + " - " + reference.ids[b], {}};
        for (const auto& [src, dst] : {std::pair(a, b), std::pair(b, a)}) {
          if (reference.bandwidth[src][dst].isPositive()) {
            pair.arcs.push_back({src, dst, 1});
          }
        }
        if (!pair.arcs.empty()) {
          groups.push_back(std::move(pair));
        }
      }
    }
    const std::size_t single = groups.size();
    for (int i = 0; i < 4; ++i) {
      live::LinkGroup mixed{"mixed", {}};
      for (std::size_t j = 0; j < single; ++j) {
        if (dice.chance(40)) {
          for (live::GroupArc arc : groups[j].arcs) {
            arc.weight = 1 + dice.below(3);
            mixed.arcs.push_back(arc);
          }
        }
      }
      if (!mixed.arcs.empty()) {
        groups.push_back(mixed);
      }
    }
    for (const live::LinkGroup& group : groups) {
      const std::string place = "seed " + std::to_string(seed) + ", " + group.name;
      const auto price = priceOf(bound, group);
      QVERIFY2(price.hasValue(), (place + (price ? "" : ": " + describe(price.error()))).c_str());
      const auto halves = reference.halves(group);
      Rational room = reference.bandwidth[group.arcs[0].src][group.arcs[0].dst];
      for (const live::GroupArc& arc : group.arcs) {
        room = std::min(room, reference.bandwidth[arc.src][arc.dst] / Rational(arc.weight));
      }
      std::optional<Rational> above;
      std::optional<Rational> below;
      std::vector<Rational> raises;
      std::vector<Rational> lowers;
      std::vector<Rational> rates;
      for (const auto& lines : halves) {
        const Side up = envelopeAbove(lines);
        const Side down = envelopeBelow(lines, room);
        raises.push_back(up.slope);
        lowers.push_back(down.slope);
        rates.push_back(reference.algbw({lines}, 0) / Rational(reference.total()));
        above = up.change && (!above || *up.change < *above) ? up.change : above;
        below = down.change && (!below || *down.change > *below) ? down.change : below;
      }
      const auto joined = [&](const std::vector<Rational>& slopes) {
        if (slopes.size() == 1) {
          return Rational(reference.total()) * slopes[0];
        }
        const Rational f = rates[0];
        const Rational g = rates[1];
        if (f.isZero() && g.isZero()) {
          return slopes[0].isZero() || slopes[1].isZero()
                     ? Rational(0)
                     : Rational(reference.total()) / (slopes[0].inverse() + slopes[1].inverse());
        }
        return Rational(reference.total()) * (slopes[0] * g * g + slopes[1] * f * f) / ((f + g) * (f + g));
      };
      QVERIFY2(price->raise == joined(raises),
               (place + ": raise " + price->raise.toString() + ", want " + joined(raises).toString()).c_str());
      QVERIFY2(price->lower == joined(lowers),
               (place + ": lower " + price->lower.toString() + ", want " + joined(lowers).toString()).c_str());
      QVERIFY2(valueOf(price->nextAbove) == above, (place + ": next above").c_str());
      QVERIFY2(valueOf(price->nextBelow) == below, (place + ": next below").c_str());

      const Rational to = room + Rational(20);
      const auto curve = live::curveOf(bound, group, Bandwidth(-room), Bandwidth(to));
      QVERIFY2(curve.hasValue(), place.c_str());
      const auto& points = curve->points;
      QVERIFY2(points.front().change == Bandwidth(-room) && points.back().change == Bandwidth(to), place.c_str());
      for (std::size_t i = 0; i < points.size(); ++i) {
        const Rational at = points[i].change.gigabytesPerSecond();
        QVERIFY2(points[i].algbw.gigabytesPerSecond() == reference.algbw(halves, at), place.c_str());
        if (i > 0) {
          const Bandwidth middle = (points[i - 1].change + points[i].change) / Rational(2);
          const Bandwidth value(reference.algbw(halves, middle.gigabytesPerSecond()));
          if (curve->isPiecewiseLinear) {
            QVERIFY2(points[i - 1].algbw + points[i - 1].slopeAfter * (middle - points[i - 1].change) == value,
                     place.c_str());
            QVERIFY2(points[i].slopeBefore == points[i - 1].slopeAfter, place.c_str());
            QVERIFY2(i + 1 == points.size() || points[i].slopeBefore > points[i].slopeAfter, place.c_str());
          } else {
            QVERIFY2(points[i - 1].slopeAfter >= points[i].slopeBefore, place.c_str());
          }
        }
      }
    }
  }
}

namespace {

fabric::Fabric built(const fabric::Description& description) {
  return must(fabric::Fabric::build(description));
}

}  // namespace

void TestLivePrices::ties() {
  // Three GPUs on a switch, 10 GB/s each: any two shards must come in over 10, for each GPU alike.
  fabric::Description description = star(3);
  {
    const fabric::Fabric fabric = built(description);
    const CutBound bound = must(CutBound::create(fabric, {}));
    QCOMPARE(bound.answer().algbw, Bandwidth(15));
    const auto one = must(priceOf(bound, link(fabric, "g0", "s")));
    QCOMPARE(one.raise, Rational(0));
    QVERIFY(!one.nextAbove);
    QCOMPARE(one.lower, Rational(3, 2));
    QVERIFY(!one.nextBelow);
    live::LinkGroup all{"all", {}};
    for (const char* gpu : {"g0", "g1", "g2"}) {
      const auto each = link(fabric, gpu, "s");
      all.arcs.insert(all.arcs.end(), each.arcs.begin(), each.arcs.end());
    }
    const auto together = must(priceOf(bound, all));
    QCOMPARE(together.raise, Rational(3, 2));
    QVERIFY(!together.nextAbove);
    QCOMPARE(together.lower, Rational(3, 2));
  }
  // The slow one alone is worth raising, until it is as fast as the others.
  description.links[0].bandwidth = "4";
  const fabric::Fabric fabric = built(description);
  const CutBound bound = must(CutBound::create(fabric, {}));
  QCOMPARE(bound.answer().algbw, Bandwidth(6));
  const auto price = must(priceOf(bound, link(fabric, "g0", "s")));
  QCOMPARE(price.raise, Rational(3, 2));
  QVERIFY(price.nextAbove == Bandwidth(6));
  const auto other = must(priceOf(bound, link(fabric, "g1", "s")));
  QCOMPARE(other.raise, Rational(0));
  QCOMPARE(other.lower, Rational(0));
  QVERIFY(other.nextBelow == Bandwidth(-6));
  const std::vector<live::LinkGroup> groups = must(live::groupsOf(fabric, description));
  const auto ranking = must(live::rankPrices(bound, groups));
  QCOMPARE(ranking.size(), std::size_t{3});
  QCOMPARE(told(groups[ranking[0].group].name), told("g0 - s"));
}

void TestLivePrices::priceOfOneWayLink() {
  // A ring of three, in one direction: each arc carries two of three shards.
  fabric::Description ring;
  for (int i = 0; i < 3; ++i) {
    fabric::NodeDescription node;
    node.id = "g" + std::to_string(i);
    ring.nodes.push_back(node);
    fabric::LinkDescription arc;
    arc.src = node.id;
    arc.dst = "g" + std::to_string((i + 1) % 3);
    arc.bandwidth = i == 0 ? "4" : "6";
    arc.duplex = false;
    ring.links.push_back(arc);
  }
  const fabric::Fabric fabric = built(ring);
  const CutBound bound = must(CutBound::create(fabric, {}));
  QCOMPARE(bound.answer().algbw, Bandwidth(6));
  const auto price = must(priceOf(bound, link(fabric, "g0", "g1", false)));
  QCOMPARE(price.raise, Rational(3, 2));
  QVERIFY(price.nextAbove == Bandwidth(2));
  // The way back is no link.
  QCOMPARE(priceOf(bound, link(fabric, "g1", "g0", false)).error().code, ErrorCode::badUsage);
  const auto groups = must(live::groupsOf(fabric, ring));
  QCOMPARE(groups.size(), std::size_t{3});
  QCOMPARE(told(groups[0].name), told("g0 -> g1"));
}

void TestLivePrices::priceWithoutEnd() {
  // Two GPUs and one link: it is the only cut, however wide it gets.
  fabric::Description pair;
  pair.nodes.resize(2);
  pair.nodes[0].id = "a";
  pair.nodes[1].id = "b";
  fabric::LinkDescription only;
  only.src = "a";
  only.dst = "b";
  only.bandwidth = "3";
  pair.links.push_back(only);
  const fabric::Fabric fabric = built(pair);
  const CutBound bound = must(CutBound::create(fabric, {}));
  const auto price = must(priceOf(bound, link(fabric, "a", "b")));
  QCOMPARE(price.raise, Rational(2));
  QVERIFY(!price.nextAbove);
  QCOMPARE(price.lower, Rational(2));
  QVERIFY(!price.nextBelow);
}

void TestLivePrices::curveOfOneLink() {
  const fabric::Fabric fabric = built(star(3));
  const CutBound bound = must(CutBound::create(fabric, {}));
  const auto curve = must(live::curveOf(bound, link(fabric, "g0", "s"), Bandwidth(-10), Bandwidth(5)));
  QVERIFY(curve.isPiecewiseLinear);
  QCOMPARE(curve.points.size(), std::size_t{3});
  QCOMPARE(curve.points[0].algbw, Bandwidth(0));
  QCOMPARE(curve.points[0].slopeAfter, Rational(3, 2));
  QCOMPARE(curve.points[1].change, Bandwidth(0));
  QCOMPARE(curve.points[1].algbw, Bandwidth(15));
  QCOMPARE(curve.points[1].slopeAfter, Rational(0));
  QCOMPARE(curve.points[2].algbw, Bandwidth(15));
  const auto point = must(live::curveOf(bound, link(fabric, "g0", "s"), Bandwidth(1), Bandwidth(1)));
  QCOMPARE(point.points.size(), std::size_t{1});
}

void TestLivePrices::curveErrors() {
  const fabric::Fabric fabric = built(star(3));
  const CutBound bound = must(CutBound::create(fabric, {}));
  const auto group = link(fabric, "g0", "s");
  QCOMPARE(live::curveOf(bound, group, Bandwidth(1), Bandwidth(0)).error().code, ErrorCode::badUsage);
  QCOMPARE(live::curveOf(bound, group, Bandwidth(-11), Bandwidth(0)).error().code, ErrorCode::badUsage);
  live::LinkGroup twice = group;
  twice.arcs.push_back(twice.arcs.front());
  live::LinkGroup weightless = group;
  weightless.arcs[0].weight = 0;
  live::LinkGroup nowhere{"nowhere", {{0, 99, 1}}};
  for (const live::LinkGroup& wrong : {twice, weightless, nowhere, live::LinkGroup{}}) {
    QCOMPARE(priceOf(bound, wrong).error().code, ErrorCode::badUsage);
  }
}

void TestLivePrices::classes() {
  const fabric::Fabric fabric = built(must(presets::make("dgx-h100", {{"boxes", "4"}, {"network", "rails"}})));
  const CutBound bound = must(CutBound::create(fabric, {}));
  const auto groups = live::linkClasses(fabric);
  std::size_t arcs = 0;
  for (const live::LinkGroup& group : groups) {
    arcs += group.arcs.size();
  }
  QCOMPARE(arcs, fabric.arcs().size());
  // Fig.: the rails are the narrow place; every NIC link together is worth something, one alone is not.
  const auto ranking = must(live::rankPrices(bound, groups));
  QVERIFY(ranking.front().price.raise.isPositive());
  QVERIFY2(groups[ranking.front().group].name.find("gpu - switch") == 0, groups[ranking.front().group].name.c_str());
}

namespace {

/// The description without what the failure takes away: a link, or the nodes that it names.
fabric::Description without(fabric::Description description, std::size_t failure, const live::PartFailure& what) {
  if (what.part == live::Part::link) {
    fabric::LinkDescription& link = description.links[failure];
    if (--link.count == 0) {
      description.links.erase(description.links.begin() + static_cast<std::ptrdiff_t>(failure));
    }
    return description;
  }
  std::set<std::string> gone;
  for (const int node : what.nodes) {
    gone.insert(description.nodes[node].id);
  }
  std::erase_if(description.nodes, [&](const fabric::NodeDescription& node) { return gone.contains(node.id); });
  std::erase_if(description.links, [&](const fabric::LinkDescription& link) {
    return gone.contains(link.src) || gone.contains(link.dst);
  });
  return description;
}

}  // namespace

void TestLivePrices::sweep_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<QString>("boxes");
  QTest::addColumn<QString>("network");
  QTest::addColumn<bool>("hasLost");
  QTest::addColumn<Collective>("collective");
  const auto add = [](const char* name, const char* preset, const char* boxes, const char* network, bool hasLost,
                      Collective collective) {
    QTest::newRow(name) << preset << boxes << network << hasLost << collective;
  };
  add("rails", "dgx-h100", "2", "rails", false, Collective::allgather);
  add("rails, allreduce", "dgx-h100", "2", "rails", false, Collective::allreduce);
  // From here on equal parts are looked for.
  add("equal boxes", "dgx-h100", "6", "simple", false, Collective::allgather);
  add("equal boxes on rails", "dgx-h100", "6", "rails", true, Collective::allreduce);
  add("leaves", "dgx-h100", "6", "leaf-spine", false, Collective::reduceScatter);
  add("leaves with lost GPUs", "dgx-h100", "6", "leaf-spine", true, Collective::allgather);
  add("NIC nodes", "dgx-a100", "6", "planes", true, Collective::allgather);
  add("root", "dgx-a100", "6", "planes", false, Collective::broadcast);
  add("gather", "dgx-h100", "6", "rails", false, Collective::gather);
}

/// Every failure by really doing it, from nothing.
void TestLivePrices::sweep() {
  QFETCH(QString, preset);
  QFETCH(QString, boxes);
  QFETCH(QString, network);
  QFETCH(bool, hasLost);
  QFETCH(Collective, collective);
  fabric::Description description =
      must(presets::make(preset.toStdString(), {{"boxes", boxes.toStdString()}, {"network", network.toStdString()}}));
  if (hasLost) {
    live::PartFailure lost{live::Part::gpu, {}, {}, {}};
    for (const char* gpu : {"b0g1", "b2g1", "b3g6"}) {
      const auto found = std::ranges::find(description.nodes, gpu, &fabric::NodeDescription::id);
      lost.nodes.push_back(static_cast<int>(found - description.nodes.begin()));
    }
    description = without(description, 0, lost);
  }
  forestcoll::Request request;
  request.collective = collective;
  if (isRooted(collective)) {
    request.root = 0;
  }
  const CutBound bound = must(boundOf(description, request));
  const Bandwidth before = bound.answer().algbw;
  const auto failures = live::singleFailures(description, true);
  const auto ranking = must(live::rankFailures(bound, failures));
  QCOMPARE(failures.size(), description.links.size() + description.nodes.size() + boxes.toUInt());
  QCOMPARE(ranking.size(), failures.size());
  const std::string root = request.root ? description.nodes[edited(description).indexed().gpus[0]].id : std::string();
  for (std::size_t i = 0; i < ranking.size(); ++i) {
    const live::Damage& damage = ranking[i];
    const live::PartFailure& failure = failures[damage.failure];
    QVERIFY(i == 0 || ranking[i - 1].loss >= damage.loss);
    QVERIFY(damage.loss == Rational(1) - damage.algbw / before);
    const fabric::Description left = without(description, damage.failure, failure);
    if (!root.empty() && std::ranges::find(left.nodes, root, &fabric::NodeDescription::id) == left.nodes.end()) {
      QVERIFY(damage.finding && damage.finding->text.find("root") != std::string::npos);
      continue;
    }
    const Answer answer = must(boundOf(left, request)).answer();
    QVERIFY2(answer.algbw == damage.algbw, failure.name.c_str());
    QCOMPARE(answer.gpuCount, damage.gpuCount);
    QCOMPARE(answer.finding.has_value(), damage.finding.has_value());
    if (answer.finding) {
      QCOMPARE(told(damage.finding->text), told(answer.finding->text));
    }
    if (collective == Collective::allgather || collective == Collective::reduceScatter) {
      QVERIFY2(Bandwidth(algbwFromNothing(edited(left), collective)) == damage.algbw, failure.name.c_str());
    }
  }
}

void TestLivePrices::allreduceByTrees_data() {
  QTest::addColumn<QString>("preset");
  QTest::addColumn<QString>("algbw");
  QTest::newRow("one box that sums and copies") << "dgx-h100 boxes=1"
                                                << "450";
  QTest::newRow("two boxes that sum and copy") << "dgx-h100 boxes=2"
                                               << "400";
  QTest::newRow("two generations") << "cluster boxes=2 gpus=4 nvlink=300,450 nic=25,50"
                                   << "";
  QTest::newRow("rails that sum") << "dgx-h100 boxes=3 gpus=4 network=rail-only sharp=true"
                                  << "200";
  QTest::newRow("torus") << "torus dims=3x4 bandwidth=10"
                         << "";
  QTest::newRow("all alike") << "complete gpus=5 bandwidth=10"
                             << "";
}

/// Prices, failures and curves of an allreduce are those of the bound of all trees: really changing the links agrees.
void TestLivePrices::allreduceByTrees() {
  QFETCH(QString, preset);
  QFETCH(QString, algbw);
  std::map<std::string, std::string> arguments;
  for (const QString& word : preset.split(' ').mid(1)) {
    arguments[word.section('=', 0, 0).toStdString()] = word.section('=', 1).toStdString();
  }
  const fabric::Description description = must(presets::make(preset.section(' ', 0, 0).toStdString(), arguments));
  const fabric::Fabric fabric = must(fabric::Fabric::build(description));
  const forestcoll::Request request{.collective = Collective::allreduce};
  const CutBound bound = must(CutBound::create(fabric, request));
  QVERIFY(bound.answer().isForTrees);
  if (!algbw.isEmpty()) {
    QCOMPARE(QString::fromStdString(toFraction(bound.answer().algbw)), algbw);
  }
  QVERIFY(bound.answer().algbw == must(forestcoll::optimum(fabric, request)).allreduceLimit.value().algbw);
  auto groups = live::linkClasses(fabric);
  const auto links = live::linkPairs(fabric);
  groups.insert(groups.end(), links.begin(), links.end());
  const auto ranking = must(live::rankPrices(bound, groups));
  const auto changedBy = [&](const live::LinkGroup& group, const Rational& change) {
    fabric::Description other = description;
    for (fabric::LinkDescription& link : other.links) {
      const auto isOf = [&](const live::GroupArc& arc) {
        return fabric.nodes()[arc.src].id == link.src && fabric.nodes()[arc.dst].id == link.dst;
      };
      if (std::any_of(group.arcs.begin(), group.arcs.end(), isOf)) {
        link.bandwidth = (must(Bandwidth::parse(link.bandwidth)).gigabytesPerSecond() + change).toString();
      }
    }
    return must(forestcoll::optimum(must(fabric::Fabric::build(other)), request)).allreduceLimit.value().algbw;
  };
  const Rational step(1, 1000);
  for (const live::RankedPrice& ranked : ranking) {
    const live::LinkGroup& group = groups[ranked.group];
    const Bandwidth raised = changedBy(group, step);
    QVERIFY2((raised - bound.answer().algbw).gigabytesPerSecond() == ranked.price.raise * step, group.name.c_str());
    const Bandwidth lowered = changedBy(group, -step);
    QVERIFY2((bound.answer().algbw - lowered).gigabytesPerSecond() == ranked.price.lower * step, group.name.c_str());
    const auto curve = must(live::curveOf(bound, group, Bandwidth(-5), Bandwidth(500)));
    QVERIFY(curve.isPiecewiseLinear);
    for (const live::CurvePoint& point : curve.points) {
      QVERIFY2(point.algbw == changedBy(group, point.change.gigabytesPerSecond()), group.name.c_str());
    }
  }
  const auto failures = live::singleFailures(description, true);
  for (const live::Damage& damage : must(live::rankFailures(bound, failures))) {
    const live::PartFailure& failure = failures[damage.failure];
    const Answer answer = must(boundOf(without(description, damage.failure, failure), request)).answer();
    QVERIFY2(answer.algbw == damage.algbw, failure.name.c_str());
  }
}

void TestLivePrices::sweepOfParallelLinks() {
  fabric::Description description = star(3, "5");
  for (auto& each : description.links) {
    each.count = 2;
  }
  const CutBound bound = must(boundOf(description));
  QCOMPARE(bound.answer().algbw, Bandwidth(15));
  const auto ranking = must(live::rankFailures(bound, live::singleFailures(description)));
  // The switch takes everything; a GPU leaves two; one of two parallel links leaves half.
  QCOMPARE(ranking.front().loss, Rational(1));
  QVERIFY(ranking.front().finding.has_value());
  QCOMPARE(ranking[1].algbw, Bandwidth(15, 2));
  QCOMPARE(ranking.back().algbw, Bandwidth(20));
  QCOMPARE(ranking.back().loss, Rational(-1, 3));
  // A fabric that cannot work has nothing to lose.
  description.links.pop_back();
  QCOMPARE(live::rankFailures(must(boundOf(description)), live::singleFailures(description)).error().code,
           ErrorCode::infeasible);
}

QTEST_GUILESS_MAIN(TestLivePrices)
#include "tst_live_prices.moc"
