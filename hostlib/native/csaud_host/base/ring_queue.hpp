// First in, first out, but for who is let in between; in one array that grows and never shrinks.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace csaud {

template <class T>
class RingQueue {
  public:
    bool empty() const noexcept { return size_ == 0; }
    std::size_t size() const noexcept { return size_; }

    T& front() noexcept { return slots_[head_]; }
    // From the front on.
    T& at(std::size_t place) noexcept { return slots_[(head_ + place) & (slots_.size() - 1)]; }

    void push(T value) {
        if (size_ == slots_.size()) grow();
        slots_[(head_ + size_) & (slots_.size() - 1)] = std::move(value);
        ++size_;
    }

    void push_front(T value) {
        if (size_ == slots_.size()) grow();
        head_ = (head_ + slots_.size() - 1) & (slots_.size() - 1);
        slots_[head_] = std::move(value);
        ++size_;
    }

    // Before what is at `place`; those from there on move, one by one.
    void insert(std::size_t place, T value) {
        push(std::move(value));
        for (std::size_t last = size_ - 1; last > place; --last) std::swap(at(last), at(last - 1));
    }

    // Those before it move, one by one.
    void erase(std::size_t place) {
        for (; place > 0; --place) std::swap(at(place), at(place - 1));
        pop();
    }

    T pop() {
        T value = std::move(slots_[head_]);
        head_ = (head_ + 1) & (slots_.size() - 1);
        --size_;
        return value;
    }

    void clear() noexcept { head_ = size_ = 0; }
    std::size_t bytes() const noexcept { return slots_.capacity() * sizeof(T); }

  private:
    void grow() {
        std::vector<T> bigger(slots_.empty() ? 8 : slots_.size() * 2);
        for (std::size_t i = 0; i < size_; ++i)
            bigger[i] = std::move(slots_[(head_ + i) & (slots_.size() - 1)]);
        slots_.swap(bigger);
        head_ = 0;
    }

    std::vector<T> slots_;
    std::size_t head_ = 0;
    std::size_t size_ = 0;
};

}  // namespace csaud
