// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace coppice::remote {

/// How long each step that involves another machine may take. A step that exceeds its limit is ended and named.
struct Limits {
  using Time = std::chrono::milliseconds;

  Time settings{10'000};      ///< ssh -G: which host, port and user the configuration means
  Time lookUp{20'000};        ///< from the host name to an address
  Time login{40'000};         ///< connection, host key and login without user input
  Time loginByHand{300'000};  ///< the same where a person types a passphrase
  Time script{30'000};        ///< a script that looks around or moves files
  Time selfTest{60'000};      ///< coppice-exec self-test
  Time reach{60'000};         ///< the first machine tries ssh to the others
  Time upload{600'000};       ///< one file
  Time start{60'000};         ///< from the start of a run to its first line
  Time silence{8'000};        ///< without a word, in a run or a step: the machine is named; runs say "alive" every 2 s
  Time lost{60'000};          ///< without a line, in a run: the connection is given up
  Time stop{20'000};          ///< from the request to stop to the end of the run
  Time cleanUp{10'000};       ///< removal of files on the other machine after an interrupt or a run
  Time leave{2'000};          ///< from SIGTERM to the end of an ssh here; then SIGKILL
};

/// Reads "script=60,login=120.5": names of Limits (look_up, self_test, login_by_hand, clean_up with underscores) and
/// seconds, above 0 and up to 86400; what is not named keeps its value. Errors: badUsage.
Result<Limits> parseLimits(std::string_view text);
/// The limits, changed by the environment variable COPPICE_REMOTE_LIMITS where it is set. Errors: badUsage.
Result<Limits> limitsFromEnvironment();

/// "30 s", "0.5 s".
[[nodiscard]] std::string secondsText(Limits::Time time);

/// For a step that exceeded its limit: names the machine, the step and the limit.
/// @param step  what was done, to follow "while": "checking the disk space"
[[nodiscard]] Error noAnswer(const std::string& machine, const std::string& step, Limits::Time limit);

}  // namespace coppice::remote
