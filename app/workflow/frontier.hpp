// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/progress.hpp"
#include "base/result.hpp"
#include "bom/bill.hpp"
#include "fabric/description.hpp"
#include "workflow/network_variants.hpp"
#include "workflow/step_unit.hpp"
#include "workflow/training_request.hpp"

/// Which networks between boxes are worth their money: price and watts against what collectives and a training step
/// reach.
namespace coppice::workflow {

struct FrontierRequest {
  VariantRequest variants;
  bom::Floor floor;
  std::optional<TrainingRequest> training = {};
};

/// Of one group of variants.
struct NetworkBounds {
  Bandwidth allreduce;       ///< algbw that known trees reach
  Bandwidth allreduceUpper;  ///< no trees reach more
  Bandwidth alltoall;        ///< algbw that known routes reach
  Bandwidth alltoallUpper;   ///< no routes reach more
  /// ns of the best plan of a training step that is known; absent where no plan fits.
  std::optional<Rational> step = {};
  /// A step was asked for. It is left out where the network is not on the front however long it takes.
  bool hasStep = false;
};

struct FrontierPoint {
  std::string name;
  std::string group = {};  ///< of Variant
  bom::Preference preference = bom::Preference::price;
  fabric::Description description = {};
  bom::Bill bill = {};
  NetworkBounds bounds = {};
  bool isOnFront = false;
};

/// As good in price, watts, allreduce, alltoall and, where both have one, the training step, and better in one of them.
/// What is known to be reached counts.
[[nodiscard]] bool dominates(const FrontierPoint& a, const FrontierPoint& b);
/// Marks the points that no other dominates.
void markFront(std::vector<FrontierPoint>& points);

struct NotBuilt {
  std::string name;
  std::string reason;
};

struct Frontier {
  std::vector<FrontierPoint> points;  ///< by price; of each group those that no other of it beats in price and watts
  std::vector<NotBuilt> notBuilt;     ///< groups without a point
  std::size_t variants = 0;           ///< that were priced
};

/// Prices all variants for the lowest price and for the fewest watts, and computes the bounds of each group, several at
/// a time; the answer does not depend on how many. Errors: those of networkVariants and checkFloor; badInput where
/// nothing can be built (the first reason); cancelled.
[[nodiscard]] Result<Frontier> findFrontier(const FrontierRequest& request, const bom::Parts& parts,
                                            const Progress& progress);

/// For the steps of the networks: by the shortest.
[[nodiscard]] StepUnit stepUnit(const Frontier& frontier);
/// "frontier.csv": all points, exact.
[[nodiscard]] std::string frontierCsv(const Frontier& frontier);
/// Writes frontier.csv, and of each point of the front its fabric, bill and cables: "01-leaf-spine-2-1….fabric.json",
/// ".bill.csv", ".cables.csv". Creates the folder. Returns the stems in the order of the points. Errors: io.
[[nodiscard]] Result<std::vector<std::string>> writeFrontier(const std::string& folder, const Frontier& frontier,
                                                             const bom::Parts& parts);

}  // namespace coppice::workflow
