// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace coppice::nccl {

/// Who printed a message.
struct LogSource {
  std::string_view host;
  std::string_view process;
  std::string_view thread;
  int device = 0;  ///< CUDA's number
};

/// One message of NCCL without its prefix.
struct LogMessage {
  LogSource source;
  std::string_view text;
  std::string_view rest = {};  ///< what may continue it: another process printed in between
  bool isCut = false;          ///< another message follows on its line
  bool isWarning = false;
};

/// Splits a log into messages: at the ends of lines, and wherever a prefix "host:pid:tid [dev] NCCL INFO " begins. What
/// launchers and log collectors put before lines ("[1,3]<stdout>:", "3: ", time stamps, names of pods) is learned from
/// the lines that have it, and colours are left out. In a text without any such prefix, as people shorten what they
/// paste, a message begins at "NCCL INFO ", and what is left before it says who printed it.
class LogLines {
public:
  /// Gets messages and lines without a prefix, in order. Views stay valid while the splitter and the text live.
  using TakeMessage = std::function<void(const LogMessage&)>;
  using TakePlain = std::function<void(std::string_view)>;

  LogLines(TakeMessage message, TakePlain plain) : m_message(std::move(message)), m_plain(std::move(plain)) {}

  void read(std::string_view text);

private:
  struct Prefix {
    std::size_t begin = 0;  ///< in the line
    std::size_t end = 0;    ///< behind "NCCL INFO "
    LogSource source;
    bool isWarning = false;
  };
  struct Open {
    LogMessage message;
    int age = 0;  ///< lines since
  };

  void findTags(std::string_view text);
  void findHosts(std::string_view text);
  /// Calls take(line up to its first mark, the mark's place) for each line that has one.
  template <typename Take>
  static void forEachMarked(std::string_view text, const Take& take);
  [[nodiscard]] std::string_view withoutTags(std::string_view text) const;
  void readLine(std::string_view line);
  [[nodiscard]] bool prefixAt(std::string_view line, std::size_t mark, std::size_t from, Prefix& prefix) const;
  [[nodiscard]] static bool shortPrefixIn(std::string_view line, Prefix& prefix);
  void flush(const LogSource& source);
  void flushOlder(int age);

  TakeMessage m_message;
  TakePlain m_plain;
  std::unordered_set<std::string_view> m_hosts;  ///< that begin a line
  std::size_t m_longestHost = 0;
  bool m_isShortened = false;         ///< no line of the text has a whole prefix
  std::vector<std::string> m_tags;    ///< shapes of what stands before prefixes
  std::deque<std::string> m_cleaned;  ///< texts without colours
  std::deque<Open> m_open;            ///< cut by others, the oldest first
};

}  // namespace coppice::nccl
