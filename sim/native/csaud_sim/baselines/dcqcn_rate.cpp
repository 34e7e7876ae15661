#include "csaud_sim/baselines/dcqcn_rate.hpp"

#include <algorithm>
#include <cmath>

namespace csaud::sim::baselines {

void DcqcnRate::sent(std::uint64_t bytes, Nanos now) {
    advance(now);
    const auto took = static_cast<Nanos>(static_cast<double>(bytes) * 8e9 / rate_);
    free_at_ = std::max(free_at_, now) + took;
}

void DcqcnRate::marked(Nanos now) {
    if (!ever_) alpha_at_ = now + model_.alpha_every;
    ever_ = true;
    advance(now);
    told_ = true;
    if (!due_) cut_at_ = std::max(cut_at_, now);
    due_ = true;
    advance(now);
}

// Cuts and raises in the order of their times.
void DcqcnRate::advance(Nanos now) {
    if (!ever_) return;
    while (true) {
        const Nanos cut_at = due_ ? cut_at_ : kNever;
        const Nanos at = std::min(cut_at, raise_at_);
        if (at > now) break;
        learn_alpha(at);
        if (cut_at <= raise_at_) {
            cut(at);
        } else {
            raise();
        }
    }
    learn_alpha(now);
}

void DcqcnRate::learn_alpha(Nanos now) {
    if (alpha_at_ > now) return;
    const auto periods = static_cast<double>((now - alpha_at_) / model_.alpha_every);
    if (told_) alpha_ = (1 - model_.gain) * alpha_ + model_.gain;
    alpha_ *= std::pow(1 - model_.gain, told_ ? periods : periods + 1);
    told_ = false;
    alpha_at_ += static_cast<Nanos>(periods + 1) * model_.alpha_every;
}

void DcqcnRate::cut(Nanos now) {
    due_ = false;
    cut_at_ = now + model_.decrease_every;
    if (stage_ != 0 || raise_at_ == kNever) target_ = rate_;
    rate_ = std::max(model_.least, rate_ * (1 - alpha_ / 2));
    stage_ = 0;
    raise_at_ = now + model_.increase_every;
}

void DcqcnRate::raise() {
    if (stage_ > model_.fast_recoveries) target_ += model_.hyper;
    if (stage_ == model_.fast_recoveries) target_ += model_.additive;
    ++stage_;
    target_ = std::min(target_, model_.line);
    rate_ = std::min((rate_ + target_) / 2, model_.line);
    raise_at_ = rate_ < model_.line ? raise_at_ + model_.increase_every : kNever;
}

}  // namespace csaud::sim::baselines
