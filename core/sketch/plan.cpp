// SPDX-License-Identifier: Apache-2.0
#include "sketch/plan.hpp"

namespace coppice::sketch {
namespace {

std::string joined(const Plan& plan, std::string BoundReason::*text) {
  std::string all;
  for (const BoundReason& reason : plan.boundReasons) {
    all += (&reason == &plan.boundReasons.front() ? "" : "; ") + reason.*text;
  }
  return all;
}

}  // namespace

std::string relaxationsOf(const Plan& plan) {
  return joined(plan, &BoundReason::relaxation);
}

std::string boundMembersOf(const Plan& plan) {
  return joined(plan, &BoundReason::members);
}

}  // namespace coppice::sketch
