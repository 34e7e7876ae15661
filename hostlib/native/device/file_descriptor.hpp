// An owned file descriptor.
//
// Its copy in a process that is forked is closed there at once: nobody uses it, but it would keep ports and
// interfaces when the process that has them is gone (a rank that is killed and started again).
#pragma once

namespace csaud::device {

class FileDescriptor {
  public:
    FileDescriptor() = default;
    explicit FileDescriptor(int fd) { hold(fd); }
    ~FileDescriptor() { close(); }
    FileDescriptor(FileDescriptor&& other) noexcept { hold(other.release()); }
    FileDescriptor& operator=(FileDescriptor&& other) noexcept {
        if (this != &other) {
            close();
            hold(other.release());
        }
        return *this;
    }
    FileDescriptor(const FileDescriptor&) = delete;
    FileDescriptor& operator=(const FileDescriptor&) = delete;

    [[nodiscard]] int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }

  private:
    struct All;

    void hold(int fd) noexcept;
    int release() noexcept;
    void close() noexcept;

    int fd_ = -1;
    FileDescriptor* next_ = nullptr;  // of all that are open
    FileDescriptor* previous_ = nullptr;
};

}  // namespace csaud::device
