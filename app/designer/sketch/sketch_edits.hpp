// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "sketch/sketch.hpp"

/// Changes to a communication sketch, without anything that shows it. GPUs are counted within a node of `gpus` GPUs.
namespace coppice::designer {

/// The receivers of each sender, whichever way the sketch says them.
[[nodiscard]] std::map<int, std::vector<int>> receiversBySender(const sketch::Sketch& sketch, int gpus);
[[nodiscard]] std::set<int> sendersOf(const sketch::Sketch& sketch, int gpus);
[[nodiscard]] std::set<int> receiversOf(const sketch::Sketch& sketch, int gpus);
/// The GPUs whose data each sender sends; empty = any.
[[nodiscard]] std::map<int, std::vector<int>> ownersBySender(const sketch::Sketch& sketch, int gpus);

/// Joins senders and receivers: pair by pair where there are equally many, a block of receivers for each sender where
/// their number divides, otherwise each sender to all. Where the sketch says whose data a sender sends, all GPUs are
/// shared out again: each goes with itself, or with the last sender before it. Nothing happens for an empty set.
void joinRelays(sketch::Sketch& sketch, int gpus, const std::set<int>& senders, const std::set<int>& receivers);
/// One sender's receivers, or the GPUs whose data it sends.
void setReceivers(sketch::Sketch& sketch, int gpus, int sender, std::vector<int> receivers);
void setOwners(sketch::Sketch& sketch, int gpus, int sender, std::vector<int> owners);
/// From "any" to "each GPU by a sender", and back.
void setSharedOut(sketch::Sketch& sketch, int gpus, bool isSharedOut);
void setConnections(sketch::Sketch& sketch, int gpus, sketch::Connections connections);

/// Another switch of the node, with the policy of the first. The strategy becomes that of switches.
void addSwitch(sketch::Sketch& sketch, std::vector<int> gpus);
void removeSwitch(sketch::Sketch& sketch, std::size_t index);

/// "0, 2, 5"
[[nodiscard]] QString numbersText(const std::vector<int>& numbers);
/// "0, 2-5": ascending, each once. Nothing for what is no list of numbers.
[[nodiscard]] std::optional<std::vector<int>> parseNumbers(const QString& text);

}  // namespace coppice::designer
