// A program as steps, each with the words that it reads, the words that it writes then on every way to the
// next ones, and those.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "csaud_switch/program/word_use.hpp"

namespace csaud::sw {

struct Step {
    WordList reads, writes, next;
};

class Steps {
  public:
    Steps(const Program& program, bool whole_headers);

    // False: there are no steps to go by.
    bool understood() const { return use_.understood(); }
    const std::vector<Step>& all() const { return steps_; }
    std::uint32_t start() const { return start_; }
    // The first ones once a packet has left its queue.
    const WordList& of_egress() const { return steps_[queued_].next; }

  private:
    std::uint32_t add();
    std::uint32_t build();

    void state(const ParserState& state, std::uint32_t at, const std::vector<std::uint32_t>& states,
               std::uint32_t parsed);
    void parse(const ParserOp& op, Step& before, Step& done, std::uint32_t parsed);
    bool is_loop(std::uint32_t from) const;

    // What the switch does between the program's parts.
    void read_target(std::uint32_t at, const std::optional<FieldRef>& field);
    void write_target(std::uint32_t at, const std::optional<FieldRef>& field);
    void read_lists(std::uint32_t at);
    void verify(std::uint32_t at);
    void end_of_ingress(std::uint32_t at, std::uint32_t queued);
    void clone(std::uint32_t at, std::uint32_t queued);
    void queue(std::uint32_t at);
    void end_of_egress(std::uint32_t at);

    bool pipeline(const Pipeline& pipeline, std::uint32_t from, std::uint32_t end);
    std::set<std::uint32_t> actions_of(const Table& table) const;
    void action(const Action& action, std::uint32_t at, const WordList& after, std::uint32_t end);

    const Program& program_;
    const Logic& logic_;
    WordUse use_;
    std::vector<Step> steps_;
    std::uint32_t start_ = 0, queued_ = 0;
    bool clones_ = false;  // something in the pipeline at hand
};

}  // namespace csaud::sw
