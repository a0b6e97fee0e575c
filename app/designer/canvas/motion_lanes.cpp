// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/canvas/motion_lanes.hpp"

#include <algorithm>
#include <limits>

#include "designer/canvas/overlay_layer.hpp"

namespace coppice::designer {
namespace {

constexpr MotionLanes::Lane kNoTrunk = std::numeric_limits<MotionLanes::Lane>::max();

}  // namespace

void MotionLanes::setTrunks(bool hasTrunks) {
  if (m_hasTrunks != hasTrunks) {
    m_hasTrunks = hasTrunks;
    m_links.clear();
  }
}

void MotionLanes::findTrunks() {
  // Lanes of lines come first, then those of trunks.
  const auto first = static_cast<Lane>(m_scene.lines().size());
  m_trunkOf.assign(m_scene.lines().size(), kNoTrunk);
  const std::vector<BundleItem>& bundles = m_scene.bundles();
  for (std::size_t at = 0; at < bundles.size(); ++at) {
    for (std::size_t i = 0; i < bundles[at].lines.size(); ++i) {
      m_trunkOf[bundles[at].lines[i]] = 2 * (first + static_cast<Lane>(at)) + (bundles[at].isAlong[i] ? 0 : 1);
    }
  }
}

MotionLanes::Place MotionLanes::placeOf(LinkId link) {
  if (m_links.empty() && m_hasTrunks) {
    findTrunks();
  }
  const auto [found, isNew] = m_links.try_emplace(link);
  if (const auto line = isNew ? m_scene.lineAt(link) : std::nullopt) {
    const Lane alongLine = m_hasTrunks && m_trunkOf[*line] != kNoTrunk ? m_trunkOf[*line] : 2 * *line;
    found->second = {alongLine ^ (runsAlong(m_scene, m_scene.lines()[*line], link) ? 0U : 1U), true};
  }
  return found->second;
}

std::optional<MotionLanes::Lane> MotionLanes::laneOf(const LinkStep& step) {
  const Place place = placeOf(step.link);
  return place.isDrawn ? std::optional(place.forward ^ (step.isForward ? 0U : 1U)) : std::nullopt;
}

Curve MotionLanes::curveOf(Lane lane, double aside) const {
  const std::size_t at = lane / 2;
  const std::size_t lines = m_scene.lines().size();
  const Curve& curve = at < lines ? m_scene.lines()[at].curve : m_scene.bundles()[at - lines].curve;
  return (lane % 2 == 0 ? curve : curve.reversed()).shifted(aside);
}

std::vector<std::pair<MotionLanes::Lane, const Motion::Flow*>> MotionLanes::busiest(const Motion& motion) {
  std::vector<std::pair<Lane, const Motion::Flow*>> flows;
  flows.reserve(motion.flows.size());
  for (const Motion::Flow& flow : motion.flows) {
    if (const auto lane = laneOf(flow.step)) {
      flows.emplace_back(*lane, &flow);
    }
  }
  std::sort(flows.begin(), flows.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second->share > b.second->share;
  });
  flows.erase(std::unique(flows.begin(), flows.end(), [](const auto& a, const auto& b) { return a.first == b.first; }),
              flows.end());
  std::stable_sort(flows.begin(), flows.end(),
                   [](const auto& a, const auto& b) { return a.second->share < b.second->share; });
  return flows;
}

MotionStyle::MotionStyle(double scale) {
  constexpr double kFullScale = 0.65;
  constexpr double kThinnest = 0.35;
  unit = std::clamp(scale / kFullScale, kThinnest, 1.0) / scale;
  rim = 1 / scale;
}

double MotionStyle::widthOf(double share) const {
  constexpr double kMinWidth = 1.2;
  constexpr double kWidths = 2.6;
  return unit * (kMinWidth + kWidths * std::clamp(share, 0.0, 1.0));
}

double MotionStyle::aside() const {
  constexpr double kAside = 2.4;
  return unit * kAside;
}

double MotionStyle::radius() const {
  constexpr double kRadius = 4;
  return unit * kRadius;
}

}  // namespace coppice::designer
