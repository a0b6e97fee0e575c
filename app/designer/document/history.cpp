// SPDX-License-Identifier: GPL-3.0-or-later
#include "designer/document/history.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace coppice::designer {

bool isFoldOnly(const Patch& patch) {
  if (patch.boxes.empty() || !patch.nodes.empty() || !patch.links.empty() || !patch.notes.empty() || patch.header) {
    return false;
  }
  return std::all_of(patch.boxes.begin(), patch.boxes.end(), [](const Swap<Box>& swap) {
    if (!swap.before || !swap.after) {
      return false;
    }
    Box folded = *swap.before;
    folded.isFolded = swap.after->isFolded;
    return folded == *swap.after;
  });
}

Patch withPresentFolds(Patch patch, const Model& model) {
  for (Swap<Box>& swap : patch.boxes) {
    const Box* present = model.find(swap.id);
    if (present != nullptr && swap.before) {
      swap.before->isFolded = present->isFolded;
      if (swap.after) {
        swap.after->isFolded = present->isFolded;
      }
    }
  }
  return patch;
}

Patch withFoldsOfResult(Patch patch, const Model& result) {
  for (Swap<Box>& swap : patch.boxes) {
    const Box* box = result.find(swap.id);
    if (box != nullptr && swap.after) {
      swap.after->isFolded = box->isFolded;
      if (swap.before) {
        swap.before->isFolded = box->isFolded;
      }
    }
  }
  return patch;
}

Outcome replay(const HistoryStep& step, const Patch& patch, Model& model, History& history) {
  const auto misfit = [] {
    return Error{ErrorCode::badInput, "a step does not fit the history", "open the file itself", {}};
  };
  using Kind = HistoryStep::Kind;
  const auto done = static_cast<std::size_t>(history.done);
  switch (step.kind) {
    case Kind::view:
      return model.apply(patch);
    case Kind::done: {
      Outcome applied = model.apply(patch);
      if (applied) {
        history.entries.resize(done);
        history.entries.push_back({step.text, patch});
        ++history.done;
      }
      return applied;
    }
    case Kind::merged: {
      if (history.done == 0) {
        return misfit();
      }
      Outcome applied = model.apply(patch);
      if (applied) {
        history.entries.resize(done);
        History::Entry& last = history.entries.back();
        last.text = step.text;
        last.patch.mergeWith(patch);
        if (last.patch.isEmpty()) {
          history.entries.pop_back();
          --history.done;
        }
      }
      return applied;
    }
    case Kind::undone: {
      if (history.done == 0) {
        return misfit();
      }
      Outcome applied = model.apply(withPresentFolds(history.entries[done - 1].patch.reversed(), model));
      history.done -= applied ? 1 : 0;
      return applied;
    }
    case Kind::redone: {
      if (done >= history.entries.size()) {
        return misfit();
      }
      Outcome applied = model.apply(withPresentFolds(history.entries[done].patch, model));
      history.done += applied ? 1 : 0;
      return applied;
    }
  }
  return misfit();
}

}  // namespace coppice::designer
