// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "taccl/decoder.hpp"
#include "taccl/problem.hpp"
#include "taccl/routes.hpp"

namespace coppice::taccl {

/// Changes of a solution that can be taken back.
class Moves {
public:
  Moves(const Problem& problem, Random& random, StartMaker& maker);

  /// Works on this solution from now on, which must stay where it is. Labels are counted.
  void attach(Solution& solution);
  /// Takes one step near the item. False where nothing changed, or where all since keep() was taken back.
  bool step(int item, double scale);
  /// `item` goes before `before`, which it waited for on a machine, by the times of the last schedule.
  bool overtake(int item, int before, const std::vector<Ticks>& starts, const std::vector<Ticks>& arrivals);
  /// Takes all steps since keep() back.
  void undo();
  /// Keeps them.
  void keep() { m_log.clear(); }
  /// Messages stay as they are.
  void holdMessages(bool hold) { m_holdsMessages = hold; }

private:
  struct Saved {
    int item = 0;
    int parent = 0;
    int link = 0;
    int label = 0;
    double priority = 0;
  };
  void touch(int item);
  void setLabel(int item, int label);
  [[nodiscard]] int freeLabel(int near);
  [[nodiscard]] bool isRemote(int link) const { return m_problem.model->links[link].isRemote; }
  [[nodiscard]] bool reaches(int from, int ancestor) const;
  void setRemote(int item, const Option& entry);
  bool newParent(int item);
  bool newEntry(int block);
  bool turnPath(int from, int to);
  bool takePlace(int from, int to);
  bool newWay(int item);
  bool newPriority(int item, double scale);
  bool newMessage(int item);
  void setMessagePriority(int item, double priority);

  const Problem& m_problem;
  Random& m_random;
  StartMaker& m_maker;
  Solution* m_solution = nullptr;
  bool m_holdsMessages = false;
  bool m_hasRemote = false;
  std::vector<int> m_labelCount;
  std::vector<Saved> m_log;
};

}  // namespace coppice::taccl
