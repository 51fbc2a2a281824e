// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// What processes say of a group to each other: that it has failed, or that they have left it.

#include <sstream>
#include <utility>

#include "tandem/core/check.hpp"

#include "comm/meeting.hpp"
#include "comm/processes/links.hpp"
#include "comm/processes/process_mesh.hpp"
#include "world/watch.hpp"

namespace tandem::comm {
namespace {

using tandem::detail::concat;

/// How long a message of a process that has left its group may still take.
constexpr auto kOnItsWay = std::chrono::milliseconds(300);
constexpr std::size_t kMostWords = 256;  // of groups that are not there, or not yet
// The words of what one process says of a group to the others.
constexpr const char *kDesync = "desync", *kAborted = "aborted";
constexpr const char *kProvisional = "provisional", *kFinal = "final";
constexpr std::int64_t kNotLeft = -1;

/// What a process says of a group. @param reached  see Meeting::note_left; kNotLeft
std::string word_of(std::uint64_t group, const Failure& why, std::int64_t reached) {
  return concat(group,
                ' ',
                why.kind == Failure::Kind::desync ? kDesync : kAborted,
                ' ',
                why.is_provisional ? kProvisional : kFinal,
                ' ',
                reached,
                ' ',
                why.text);
}

}  // namespace

void ProcessMesh::add(std::uint64_t group, std::weak_ptr<Meeting> meeting) {
  const std::scoped_lock lock(hearing_);
  meetings_[group] = std::move(meeting);
}

std::shared_ptr<const Failure> ProcessMesh::early_word(std::uint64_t group,
                                                       std::int64_t number) const {
  const std::scoped_lock lock(hearing_);
  std::shared_ptr<const Failure> why;
  for (const Word& word : early_words_)
    if (word.group == group && (why == nullptr || why->is_provisional)) why = word.why;
  for (const Word& word : left_)
    if (why == nullptr && word.group == group && *word.reached < number) why = word.why;
  return why;
}

void ProcessMesh::remove(std::uint64_t group) noexcept {
  {
    const std::scoped_lock lock(hearing_);
    meetings_.erase(group);
  }
  const std::scoped_lock lock(mutex_);
  const auto mailbox = mailboxes_.find(group);
  if (mailbox == mailboxes_.end()) return;
  mailbox->second->close();
  mailboxes_.erase(mailbox);
}

void ProcessMesh::tell(std::uint64_t group, const Failure& why) noexcept {
  const std::scoped_lock lock(watching_);
  if (watch_ != nullptr) watch_->say(word_of(group, why, kNotLeft));
}

void ProcessMesh::tell_left(std::uint64_t group,
                            const Failure& why,
                            std::int64_t reached) noexcept {
  const std::scoped_lock lock(watching_);
  if (watch_ != nullptr) watch_->mention(word_of(group, why, reached));
}

void ProcessMesh::hear_word(int process, const std::string& text) {
  std::istringstream words(text);
  Word word{.process = process};
  std::string kind, certainty;
  std::int64_t reached = kNotLeft;
  Failure why{Failure::Kind::aborted, {}};
  words >> word.group >> kind >> certainty >> reached;
  std::getline(words >> std::ws, why.text, '\0');
  if (kind == kDesync) why.kind = Failure::Kind::desync;
  why.is_provisional = certainty == kProvisional;
  word.why = std::make_shared<const Failure>(std::move(why));
  if (reached != kNotLeft) word.reached = reached;
  std::shared_ptr<Meeting> meeting;
  {
    const std::scoped_lock lock(hearing_);
    const auto known = meetings_.find(word.group);
    if (known != meetings_.end()) meeting = known->second.lock();
    std::deque<Word>& kept = word.reached ? left_ : early_words_;
    if (word.reached || known == meetings_.end()) kept.push_back(word);
    if (kept.size() > kMostWords) kept.pop_front();
  }
  if (word.reached) return hear_left(word, meeting);
  if (meeting != nullptr) meeting->stop(*word.why, word.group);
}

void ProcessMesh::hear_left(const Word& word, const std::shared_ptr<Meeting>& meeting) {
  {
    const std::scoped_lock lock(mutex_);
    for (Entry& entry : entries_)
      lose_message(entry, word);
  }
  if (meeting != nullptr) meeting->note_left(*word.why, *word.reached, word.group);
}

void ProcessMesh::lose_message(Entry& entry, const Word& word) {
  const Activity& activity = *entry.activity;
  const bool is_concerned = activity.is_message() && activity.group() == word.group &&
                            !activity.who(word.process).empty();
  if (!is_concerned || entry.fails_at) return;
  entry.lost = word.why;
  entry.fails_at = Clock::now() + kOnItsWay;
}

}  // namespace tandem::comm
