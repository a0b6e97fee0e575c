// SPDX-License-Identifier: Apache-2.0
#include <QtTest>
#include <algorithm>
#include <map>
#include <set>
#include <stop_token>
#include <vector>

#include "schedule/expansion.hpp"
#include "schedule/peers.hpp"
#include "schedule/tree_reader.hpp"
#include "support/rotated_clusters.hpp"

using namespace coppice;
using samples::RegularCluster;
using schedule::Forest;

Q_DECLARE_METATYPE(RegularCluster)

/// Forests whose trees are those of rank 0 and their images, in clusters where every image is known.
class TestRotatedForest : public QObject {
  Q_OBJECT

private:
  static void addClusters() {
    QTest::addColumn<RegularCluster>("cluster");
    QTest::newRow("boxes") << RegularCluster{1, 3, 2};
    QTest::newRow("boxes of one") << RegularCluster{1, 5, 1};
    QTest::newRow("pods") << RegularCluster{2, 2, 2};
    QTest::newRow("pods of unlike sizes") << RegularCluster{3, 2, 4};
  }

  /// The place of a GPU moved by the places of another, in each of pod, box and GPU.
  static int moved(const RegularCluster& cluster, int gpu, int by) {
    const int box = cluster.gpus;
    const int pod = cluster.gpus * cluster.boxes;
    return (gpu / pod + by / pod) % cluster.pods * pod +
           (gpu / box % cluster.boxes + by / box % cluster.boxes) % cluster.boxes * box + (gpu % box + by % box) % box;
  }

private slots:
  void readerGivesAllImages_data() { addClusters(); }
  void readerGivesAllImages() {
    QFETCH(RegularCluster, cluster);
    const Forest forest = cluster.forest();
    for (const Forest& turned : {forest, schedule::reversed(forest)}) {
      schedule::TreeReader reader(turned);
      QCOMPARE(reader.size(), static_cast<std::int64_t>(cluster.gpuCount()));
      for (int root = 0; root < cluster.gpuCount(); ++root) {
        QCOMPARE(reader.head(root).root, root);
        const auto tree = reader.read(root);
        QCOMPARE(tree.root, root);
        QCOMPARE(tree.multiplicity, 1);
        std::map<int, int> parents;
        for (const schedule::TreeEdge& edge : tree.edges) {
          parents[edge.child] = edge.parent;
          std::vector<int> route = cluster.routeBetween(edge.parent, edge.child);
          QCOMPARE(reader.hops(edge), static_cast<int>(route.size()) - 1);
          if (turned.direction == schedule::Direction::in) {
            std::reverse(route.begin(), route.end());
          }
          const auto path = reader.path(edge);
          QVERIFY(std::equal(path.begin(), path.end(), route.begin(), route.end()));
        }
        QCOMPARE(static_cast<int>(parents.size()), cluster.gpuCount() - 1);
        for (int gpu = 0; gpu < cluster.gpuCount(); ++gpu) {
          for (const int child : cluster.childrenOf(gpu)) {
            QCOMPARE(parents.at(moved(cluster, child, root)), moved(cluster, gpu, root));
          }
        }
      }
    }
  }

  void expansionWritesThem_data() { addClusters(); }
  void expansionWritesThem() {
    QFETCH(RegularCluster, cluster);
    const samples::Sample sample = cluster.sample();
    const Forest& forest = *sample.schedule.broadcastForest;
    const auto written = schedule::expanded(forest, sample.fabric);
    QVERIFY2(written.hasValue(), written ? "" : describe(written.error()).c_str());
    QVERIFY(written->rotations.empty());
    QCOMPARE(schedule::expanded(*written, sample.fabric).value() == *written, true);
    schedule::TreeReader images(forest);
    schedule::TreeReader trees(*written);
    QCOMPARE(trees.size(), images.size());
    std::set<std::vector<int>> routes;
    for (std::int64_t i = 0; i < trees.size(); ++i) {
      const auto image = images.read(i);
      const auto tree = trees.read(i);
      QCOMPARE(tree.root, image.root);
      for (std::size_t e = 0; e < tree.edges.size(); ++e) {
        QCOMPARE(tree.edges[e].parent, image.edges[e].parent);
        QCOMPARE(tree.edges[e].child, image.edges[e].child);
        const auto a = trees.path(tree.edges[e]);
        const auto b = images.path(image.edges[e]);
        QVERIFY(std::equal(a.begin(), a.end(), b.begin(), b.end()));
        routes.emplace(a.begin(), a.end());
      }
    }
    QCOMPARE(static_cast<std::size_t>(written->paths.size()), routes.size());
    schedule::Schedule plain = sample.schedule;
    plain.broadcastForest = *written;
    QVERIFY(schedule::peersOf(sample.schedule, sample.fabric) == schedule::peersOf(plain, sample.fabric));
  }

  void latencies() {
    const RegularCluster cluster{3, 2, 2};
    samples::Sample sample = cluster.sample();
    // To the other pods (6 links, 5.5 us), there to the other box (4 links, 4.5 us), there round the switch (0.7 us).
    auto heights = schedule::heights(*sample.schedule.broadcastForest, sample.fabric);
    QCOMPARE(heights.logicalMax, 3);
    QCOMPARE(heights.logicalMean, 3.0);
    QCOMPARE(heights.physicalMax, 12);
    QCOMPARE(heights.physicalMean, 12.0);
    QCOMPARE(heights.latencyMax.count(), 10.7);
    QCOMPARE(heights.latencyMean.count(), 10.7);
    // Every link its own latency, another one each way: then images are not as slow as the tree itself.
    int number = 0;
    std::vector<fabric::LinkDescription> links;
    for (fabric::LinkDescription link : sample.description.links) {
      link.duplex = false;
      ++number;
      link.latency = std::to_string(number % 7) + "." + std::to_string(100000 + number % 13);
      links.push_back(link);
      std::swap(link.src, link.dst);
      link.latency = number % 5 == 0 ? std::optional<std::string>() : std::to_string(number % 11);
      links.push_back(link);
    }
    sample.description.links = links;
    const fabric::Fabric fabric = samples::buildFabric(sample.description);
    const Forest out = *sample.schedule.broadcastForest;
    const auto outHeights = schedule::heights(out, fabric);
    for (const Forest& forest : {out, reversed(out)}) {
      heights = schedule::heights(forest, fabric);
      const auto written = schedule::heights(schedule::expanded(forest, fabric).value(), fabric);
      QCOMPARE(heights.latencyMax.count(), written.latencyMax.count());
      QCOMPARE(heights.latencyMean.count(), written.latencyMean.count());
      QCOMPARE(heights.physicalMean, written.physicalMean);
      QCOMPARE(schedule::maxHeight(forest), written.logicalMax);
      QVERIFY(heights.latencyMax.count() > 12);
      QVERIFY(heights.latencyMean < heights.latencyMax);
    }
    QVERIFY2(heights.latencyMax != outHeights.latencyMax, "the way back takes other links");
  }

  void extremeLatencies() {
    samples::Sample sample = samples::ring();
    for (auto& link : sample.description.links) {
      link.latency = "9223372036854775807";
    }
    const fabric::Fabric fabric = samples::buildFabric(sample.description);
    const auto heights = schedule::heights(*sample.schedule.broadcastForest, fabric);
    QCOMPARE(heights.latencyMax.count(), 3e6);
    fabric::Arc arc = fabric.arcs()[0];
    const std::vector<std::pair<Rational, std::int64_t>> cases{
        {Rational(0), 0}, {Rational(1, 3), 333333}, {Rational(2, 3), 666667}, {Rational(1, 2000000), 1}};
    for (const auto& [microseconds, expected] : cases) {
      arc.latency = ExactMicroseconds(microseconds);
      QCOMPARE(schedule::latencyPicoseconds(fabric, arc), expected);
    }
  }

  void expansionRefuses() {
    const samples::Sample sample = RegularCluster{1, 4, 2}.sample();
    const Forest& forest = *sample.schedule.broadcastForest;
    const auto size = schedule::sizeOf(forest);
    QCOMPARE(size.trees, std::int64_t{8});
    QCOMPARE(size.edges, std::int64_t{56});
    const auto tooLarge = schedule::expanded(forest, sample.fabric, size.writtenBytes - 1);
    QVERIFY(!tooLarge && tooLarge.error().code == ErrorCode::limit);
    QVERIFY2(tooLarge.error().message.find("8 different trees") != std::string::npos, tooLarge.error().message.c_str());
    QVERIFY(schedule::expanded(forest, sample.fabric, size.writtenBytes).hasValue());
    std::stop_source stop;
    stop.request_stop();
    const auto cancelled = schedule::expanded(forest, sample.fabric, schedule::kMaxWrittenBytes,
                                              {.onReport = {}, .stop = stop.get_token()});
    QVERIFY(!cancelled && cancelled.error().code == ErrorCode::cancelled);
    const auto other = schedule::expanded(forest, samples::ring().fabric);
    QVERIFY(!other && other.error().code == ErrorCode::badInput);
    Forest broken = forest;
    broken.rotations[0].image[1] = broken.rotations[0].image[0];
    const auto refused = schedule::expanded(broken, sample.fabric);
    QVERIFY(!refused && refused.error().code == ErrorCode::badInput);
    QVERIFY2(refused.error().message.find("one to one") != std::string::npos, refused.error().message.c_str());
    QVERIFY(broken != forest);
  }

  /// About the size of what is estimated.
  void sizesAreEstimated() {
    const samples::Sample sample = RegularCluster{1, 32, 8}.sample();
    const Forest& forest = *sample.schedule.broadcastForest;
    const auto written = schedule::expanded(forest, sample.fabric);
    QVERIFY(written.hasValue());
    const auto few = schedule::sizeOf(forest);
    const auto all = schedule::sizeOf(*written);
    QCOMPARE(all.trees, few.trees);
    QCOMPARE(all.edges, few.edges);
    QCOMPARE(all.bytes, all.writtenBytes);
    QVERIFY(few.writtenBytes >= all.bytes);
    QVERIFY(few.writtenBytes <= 4 * all.bytes);
    QVERIFY(few.bytes * 10 < all.bytes);
  }
};

QTEST_GUILESS_MAIN(TestRotatedForest)
#include "tst_rotated_forest.moc"
