/* Words in memory that processes share: one writes its own, others wait until it has reached a number. Numbers only
 * grow, and may wrap. */

#if defined(__linux__)
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The word becomes `value`, after all that was written before it, and whoever waits for it wakes up. */
void publish(uint32_t *word, uint32_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Wait until each of the words has reached `value`, for at most so many nanoseconds for each. Returns how many have,
 * counted from the first; what was written before them is there. */
int64_t reached(int64_t count, const uint64_t *words, uint32_t value, int64_t nanoseconds)
{
    for (int64_t i = 0; i < count; i++) {
        uint32_t *word = (uint32_t *)words[i];
        for (int tries = 0;; tries++) {
            uint32_t found = __atomic_load_n(word, __ATOMIC_ACQUIRE);
            if ((int32_t)(found - value) >= 0) break;
            if (nanoseconds == 0 || tries == 4) return i;
            struct timespec most = {nanoseconds / 1000000000, nanoseconds % 1000000000};
            syscall(SYS_futex, word, FUTEX_WAIT, found, &most, NULL, 0);
        }
    }
    return count;
}
#else /* memory is not shared */
void publish(uint32_t *word, uint32_t value) { *word = value; }

int64_t reached(int64_t count, const uint64_t *words, uint32_t value, int64_t nanoseconds) { return 0; }
#endif
