#include "file_descriptor.hpp"

#include <pthread.h>
#include <unistd.h>

#include <mutex>
#include <utility>

namespace csaud::device {

struct FileDescriptor::All {
    std::mutex mutex;
    FileDescriptor* first = nullptr;

    // Never destroyed: some are closed when the process ends.
    static All& get() {
        static All& all = *new All;
        static const int watched = ::pthread_atfork([] { all.mutex.lock(); }, [] { all.mutex.unlock(); },
                                                    [] {
                                                        all.forget();
                                                        all.mutex.unlock();
                                                    });
        static_cast<void>(watched);
        return all;
    }

    // In a forked process.
    void forget() noexcept {
        for (FileDescriptor* one = first; one != nullptr; one = one->next_)
            ::close(std::exchange(one->fd_, -1));
        first = nullptr;
    }
};

void FileDescriptor::hold(int fd) noexcept {
    if (fd < 0) return;
    All& all = All::get();
    const std::lock_guard lock(all.mutex);
    fd_ = fd;
    previous_ = nullptr;
    next_ = std::exchange(all.first, this);
    if (next_ != nullptr) next_->previous_ = this;
}

int FileDescriptor::release() noexcept {
    All& all = All::get();
    const std::lock_guard lock(all.mutex);
    if (fd_ < 0) return -1;
    (previous_ == nullptr ? all.first : previous_->next_) = next_;
    if (next_ != nullptr) next_->previous_ = previous_;
    return std::exchange(fd_, -1);
}

void FileDescriptor::close() noexcept {
    if (const int fd = release(); fd >= 0) ::close(fd);
}

}  // namespace csaud::device
