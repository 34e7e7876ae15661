// What ends with the process that made it, and in no other: a forked process has a copy of the object, but
// what it stands for (memory that others read, a queue pair) is still its parent's.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <memory>
#include <utility>

namespace csaud::device {

struct InOwnProcess {
    pid_t process = ::getpid();

    template <class Made>
    void operator()(Made* made) const {
        if (::getpid() == process) delete made;
    }
};

template <class Made, class... Arguments>
std::shared_ptr<Made> make_in_own_process(Arguments&&... arguments) {
    return {new Made(std::forward<Arguments>(arguments)...), InOwnProcess{}};
}

}  // namespace csaud::device
