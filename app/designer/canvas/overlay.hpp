// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QColor>
#include <QString>
#include <Qt>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "designer/document/ids.hpp"
#include "designer/theme/tokens.hpp"

/// What a mode lays over the drawing: plain values, filled in by analyses and drawn by the canvas, in the window and
/// in exported pictures alike. Everything names nodes and links of the document; where boxes are folded the canvas
/// puts together what is on one line (see OverlayLayer). Ids that are not in the document are ignored.
namespace coppice::designer {

/// A region around nodes: the side of a cut, a set under the lens.
struct Hull {
  std::set<NodeId> nodes;
  Token line = Token::cut;
  Token fill = Token::cutSoft;
  std::optional<int> category = {};  ///< its colour (theme/scales.hpp) instead of line and fill: one of many
  bool isDashed = true;
  QString label;  ///< "24 shards in, 8 links × 25 = 200 GB/s"; kept within the view
};

[[nodiscard]] QColor lineOf(const Hull& hull, const Colors& colors);
[[nodiscard]] QColor fillOf(const Hull& hull, const Colors& colors);

/// Links drawn strongly: those that cross a cut.
struct LinkMark {
  LinkId link;
  Token color = Token::cut;
  double width = 3;  ///< in pixels of 1x
};

/// One link of a physical path, and the way it is taken.
struct LinkStep {
  LinkId link;
  bool isForward = true;  ///< from the link's tail to its head

  friend bool operator==(const LinkStep&, const LinkStep&) = default;
};

/// A tree along physical paths, drawn as arrows along the links. Several trees on one line run side by side: those
/// from one end to the other on the right of those that come back, as seen along them. Any number of trees may be
/// given; each is drawn at its own width until a line has more than it has room for.
struct TreeMark {
  int category = 0;                       ///< gives colour and dash (theme/scales.hpp) where those are not given
  std::optional<QColor> color = {};       ///< instead of the category's
  std::optional<Qt::PenStyle> dash = {};  ///< instead of the category's
  double width = 2.4;                     ///< in pixels of 1x
  /// One path for each edge of the logical tree, in any order; each from the sender through its switches and NICs to
  /// the receiver. A step that several paths share (multicast, or one tree through a folded box) is drawn once.
  std::vector<std::vector<LinkStep>> paths = {};
  std::set<NodeId> roots = {};    ///< ringed in the tree's colour
  std::set<NodeId> summing = {};  ///< switches that sum in it: a plus at their corner
  std::set<NodeId> copying = {};  ///< switches that copy in it: a fork at their corner
  QString label = {};  ///< of the legend; the legend lists up to twelve trees, and says how many more there are
};

/// Load of one link.
struct LinkLoad {
  double forward = 0;         ///< tail to head; share of what it can carry, 0 to 1 (drawn clamped)
  double backward = 0;        ///< head to tail; of a one-way link it is not looked at
  QString text = {};          ///< where there is room, on the line: "25 GB/s", "92 %"
  bool isBottleneck = false;  ///< cased in the colour of the cut, with a diamond in the middle
};

/// Load of links by colour (theme/scales.hpp heat) and width, with a legend. Each direction has its half of the line
/// where the two differ. Of the links of one line (parallel ones, or those of a folded box) the hottest counts in each
/// direction; texts that differ become "up to …" the hottest one's.
struct Heat {
  std::map<LinkId, LinkLoad> load = {};
  QString title = {};       ///< "Load at the bound"
  QString low = {};         ///< what 0 is: "0 %"
  QString high = {};        ///< what 1 is: "100 %"
  QString bottleneck = {};  ///< the legend's words for the mark; empty: "bottleneck"
  bool hasLegend = true;    ///< false where another drawing beside this one has it
};

struct Overlay {
  std::vector<Hull> hulls;
  std::vector<LinkMark> marks;
  std::vector<TreeMark> trees;
  Heat heat;
  /// Nodes and links that are assumed to have failed: crossed out.
  std::set<ElementId> failed = {};
  /// What is in no hull, mark, tree or heat steps back.
  bool isRestDimmed = false;

  [[nodiscard]] bool isEmpty() const {
    return hulls.empty() && marks.empty() && trees.empty() && heat.load.empty() && failed.empty() && !isRestDimmed;
  }
};

}  // namespace coppice::designer
