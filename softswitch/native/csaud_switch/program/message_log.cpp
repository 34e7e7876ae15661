#include "csaud_switch/program/message_log.hpp"

#include <cstddef>
#include <utility>

namespace csaud::sw {

namespace {

constexpr std::size_t kLogLines = 1000;

}  // namespace

void MessageLog::add(std::string line) {
    if (lines_.size() >= kLogLines) lines_.erase(lines_.begin());
    lines_.push_back(std::move(line));
}

void MessageLog::add(const LogMessage& message, const Frame& frame) {
    std::string out;
    std::size_t next = 0;
    const std::string& text = message.text;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == '{' || text[i + 1] == '}')) {
            out += text[++i];
        } else if (text[i] == '{' && text.find('}', i) != std::string::npos) {
            if (next < message.values.size()) out += std::to_string(message.values[next++].eval(frame));
            i = text.find('}', i);
        } else {
            out += text[i];
        }
    }
    add(std::move(out));
}

std::vector<std::string> MessageLog::take() {
    return std::exchange(lines_, {});
}

}  // namespace csaud::sw
