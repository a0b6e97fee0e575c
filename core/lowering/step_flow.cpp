// SPDX-License-Identifier: Apache-2.0
#include "lowering/step_flow.hpp"

#include <algorithm>
#include <span>

namespace coppice::lowering {

namespace {

/// A message's part in one item's flow.
struct Passage {
  int message = 0;
  int source = -1;   ///< passage whose arrival completed what is sent; -1 = the sender's own
  int addedTo = -1;  ///< passage whose arrival this one is added to; -1 = none, or the receiver's own
  int readers = 0;   ///< messages that send what this one left at its receiver, and is not changed yet
  int position = 0;
  int group = -1;
  bool isAddedTo = false;
  bool isOverwritten = false;
};

/// What a rank has of the item.
struct Holding {
  int writer = -1;  ///< passage
  std::vector<int> readers;
  int group = -1;  ///< of reducing arrivals
};

class Flow {
public:
  explicit Flow(StepWork& work) : m_work(work), m_at(static_cast<std::size_t>(work.gpuCount)) {}

  void run(const Progress& progress) {
    m_work.waits.resize(m_work.messages.size());
    std::vector<std::vector<int>> messagesOf(m_work.items.size());
    for (int m = 0; m < static_cast<int>(m_work.messages.size()); ++m) {
      StepMessage& message = m_work.messages[m];
      message.isPassedOn = true;
      for (int i = 0; i < message.items; ++i) {
        messagesOf[message.firstItem + i].push_back(m);
      }
    }
    for (std::size_t item = 0; item < messagesOf.size(); ++item) {
      throwIfCancelled(progress);
      follow(static_cast<int>(item), messagesOf[item]);
    }
    for (StepWaits& waits : m_work.waits) {
      for (std::vector<int>* const list : {&waits.inputs, &waits.arrivals, &waits.sendings}) {
        std::sort(list->begin(), list->end());
        list->erase(std::unique(list->begin(), list->end()), list->end());
      }
    }
  }

private:
  [[nodiscard]] const StepMessage& messageOf(int passage) const { return m_work.messages[m_passages[passage].message]; }

  void follow(int item, const std::vector<int>& messages) {
    m_passages.clear();
    m_groups.clear();
    for (const int m : messages) {
      m_passages.push_back({.message = m});
    }
    for (std::size_t first = 0; first < messages.size();) {
      std::size_t last = first;
      const int level = m_work.messages[messages[first]].level;
      for (; last < messages.size() && m_work.messages[messages[last]].level == level; ++last) {
        send(static_cast<int>(last));
      }
      for (; first < last; ++first) {
        receive(static_cast<int>(first));
      }
    }
    close(m_work.items[item].shard);
  }

  void send(int passage) {
    Holding& holding = m_at[messageOf(passage).from];
    m_passages[passage].source = holding.writer;
    if (holding.writer >= 0) {
      m_work.waits[m_passages[passage].message].inputs.push_back(m_passages[holding.writer].message);
      ++m_passages[holding.writer].readers;
    }
    holding.readers.push_back(passage);
  }

  void receive(int passage) {
    const StepMessage& message = messageOf(passage);
    Passage& mine = m_passages[passage];
    Holding& holding = m_at[message.to];
    StepWaits& waits = m_work.waits[mine.message];
    for (const int reader : holding.readers) {
      if (!comesThrough(passage, reader)) {
        waits.sendings.push_back(m_passages[reader].message);
      }
    }
    if (message.reduces) {
      mine.addedTo = holding.writer;
      if (holding.group < 0 || !holding.readers.empty()) {
        holding.group = static_cast<int>(m_groups.size());
        m_groups.push_back(0);
      }
      mine.group = holding.group;
      mine.position = m_groups[holding.group]++;
    } else {
      holding.group = -1;
    }
    if (holding.writer >= 0) {
      (message.reduces ? m_passages[holding.writer].isAddedTo : m_passages[holding.writer].isOverwritten) = true;
      if (message.reduces || holding.readers.empty()) {
        waits.arrivals.push_back(m_passages[holding.writer].message);
      }
    }
    holding.writer = passage;
    holding.readers.clear();
  }

  /// Whether what the passage carries contains what the reader sent, so that it cannot come before that is sent.
  bool comesThrough(int passage, int reader) {
    m_seen.assign(m_passages.size(), false);
    m_stack.assign(1, passage);
    while (!m_stack.empty()) {
      const int at = m_stack.back();
      m_stack.pop_back();
      for (int before = m_passages[at].source; before >= 0 && !m_seen[before]; before = m_passages[before].addedTo) {
        if (before == reader) {
          return true;
        }
        m_seen[before] = true;
        m_stack.push_back(before);
      }
    }
    return false;
  }

  void close(std::int64_t shard) {
    for (const Passage& passage : m_passages) {
      StepMessage& message = m_work.messages[passage.message];
      const bool isWanted = m_work.placement.isDestination(message.to, shard) && !passage.isOverwritten;
      message.isPassedOn = message.isPassedOn && passage.readers == 1 && !passage.isAddedTo && !isWanted;
      if (passage.group >= 0) {
        message.position = passage.position;
        message.arrivals = m_groups[passage.group];
      }
      m_at[message.from] = {};
      m_at[message.to] = {};
    }
  }

  StepWork& m_work;
  std::vector<Holding> m_at;  ///< by rank
  std::vector<Passage> m_passages;
  std::vector<int> m_groups;  ///< reducing arrivals of each group
  std::vector<bool> m_seen;
  std::vector<int> m_stack;
};

}  // namespace

void findWaits(StepWork& work, const Progress& progress) {
  Flow(work).run(progress);
}

}  // namespace coppice::lowering
