#include "csaud_switch/program/liveness.hpp"

#include <algorithm>
#include <set>

#include "csaud_switch/program/steps.hpp"

namespace csaud::sw {

namespace {

// What may be read before it is written, from the begin of these steps on.
WordList live_in(const Steps& all, const Logic& logic, const WordList& from) {
    const std::vector<Step>& steps = all.all();
    const std::size_t size = (logic.layout.slot_count + 63) / 64;
    std::vector<std::uint64_t> live(steps.size() * size, 0);
    for (bool changed = true; changed;) {
        changed = false;
        for (std::size_t i = steps.size(); i-- > 0;) {
            const Step& step = steps[i];
            std::vector<std::uint64_t> words(size, 0);
            for (const std::uint32_t next : step.next)
                for (std::size_t w = 0; w < size; ++w) words[w] |= live[next * size + w];
            for (const std::uint32_t word : step.writes) words[word / 64] &= ~(std::uint64_t{1} << word % 64);
            for (const std::uint32_t word : step.reads) words[word / 64] |= std::uint64_t{1} << word % 64;
            if (std::equal(words.begin(), words.end(), &live[i * size])) continue;
            std::copy(words.begin(), words.end(), &live[i * size]);
            changed = true;
        }
    }
    WordList found;
    for (std::uint32_t word = 0; word < logic.layout.slot_count; ++word)
        if (std::any_of(from.begin(), from.end(), [&](std::uint32_t step) {
                return (live[step * size + word / 64] >> word % 64 & 1U) != 0;
            }))
            found.push_back(word);
    return found;
}

}  // namespace

std::vector<std::uint32_t> words_to_clear(const Program& program) {
    const Logic& logic = *program.logic;
    const Steps steps(program, false);
    std::set<std::uint32_t> words;
    if (steps.understood()) {
        const WordList live = live_in(steps, logic, {steps.start()});
        words.insert(live.begin(), live.end());
        for (const HeaderCode& header : logic.headers) words.insert(header.valid_slot);
    } else {
        for (std::uint32_t word = 0; word < logic.layout.slot_count; ++word) words.insert(word);
    }
    return {words.begin(), words.end()};
}

std::optional<std::vector<std::uint32_t>> words_to_keep(const Program& program) {
    const Logic& logic = *program.logic;
    const Steps fields(program, false);
    const Steps headers(program, true);
    if (!headers.understood()) return std::nullopt;
    std::set<std::uint32_t> words;
    for (const WordList& live :
         {live_in(fields, logic, fields.of_egress()), live_in(headers, logic, headers.of_egress())})
        words.insert(live.begin(), live.end());
    for (const HeaderCode& header : logic.headers) words.insert(header.valid_slot);
    return WordList(words.begin(), words.end());
}

}  // namespace csaud::sw
