// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QColor>
#include <QString>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "designer/document/ids.hpp"
#include "designer/theme/tokens.hpp"

/// What a mode lays over the drawing: plain values, filled in by analyses and drawn by the canvas.
namespace coppice::designer {

/// A region around nodes: the side of a cut, a set under the lens.
struct Hull {
  std::set<NodeId> nodes;
  Token line = Token::cut;
  Token fill = Token::cutSoft;
  bool isDashed = true;
  QString label;  ///< "24 shards in, 8 links × 25 = 200 GB/s"
};

/// Links drawn strongly: those that cross a cut.
struct LinkMark {
  LinkId link;
  Token color = Token::cut;
  double width = 3;  ///< in pixels of 1x
};

/// A tree along physical paths. Its category gives colour and dash (theme/scales.hpp).
struct TreeMark {
  int category = 0;
  std::vector<LinkId> links;
  std::set<NodeId> roots;
  QString label;  ///< of the legend
};

/// Load of links by colour, with a legend.
struct Heat {
  std::map<LinkId, double> load;  ///< 0 to 1
  QString title;
  QString low;   ///< what 0 is: "0 %"
  QString high;  ///< what 1 is: "100 %"
};

struct Overlay {
  std::vector<Hull> hulls;
  std::vector<LinkMark> marks;
  std::vector<TreeMark> trees;
  Heat heat;
  /// What is in no hull, mark, tree or heat steps back.
  bool isRestDimmed = false;

  [[nodiscard]] bool isEmpty() const {
    return hulls.empty() && marks.empty() && trees.empty() && heat.load.empty() && !isRestDimmed;
  }
};

}  // namespace coppice::designer
