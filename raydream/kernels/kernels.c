/* The loops in which a run spends its time. Each has a twin in NumPy (plain.py) and gives the very same bits: no
 * operation is fused or reordered (-ffp-contract=off), and sums are taken pairwise in NumPy's own order. */

#include <math.h>
#include <stdint.h>

#define VERSION 3 /* raised with every change; library.py must say the same */
#define COLUMNS 1024
#define PASSES 20
#define ROUNDING 2.220446049250313e-16

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__)
#define CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define CLONES
#endif

int64_t version(void) { return VERSION; }

#define REAL double
#include "weighing.h"
#undef REAL
#define REAL float
#include "weighing.h"
#undef REAL

/* The sum of at most 128 numbers, as NumPy takes it: eight running sums, then the rest. */
CLONES static double short_sum(const double *a, int64_t n)
{
    if (n < 8) {
        double sum = 0.0;
        for (int64_t i = 0; i < n; i++) sum += a[i];
        return sum;
    }
    double part[8];
    for (int j = 0; j < 8; j++) part[j] = a[j];
    int64_t i, stop = n - n % 8;
    for (i = 8; i < stop; i += 8)
        for (int j = 0; j < 8; j++) part[j] += a[i + j];
    double sum = ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
    for (; i < n; i++) sum += a[i];
    return sum;
}

CLONES static void shift(const double *restrict a, double by, double *restrict out, int64_t n)
{
    for (int64_t i = 0; i < n; i++) out[i] = a[i] - by;
}

CLONES static void clip(const double *restrict a, double by, double *restrict out, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double excess = a[i] - by;
        out[i] = excess > 0.0 ? excess : 0.0;
    }
}

/* out = a - by, and the sum of out. */
static double shifted_sum(const double *a, double by, double *out, int64_t n)
{
    if (n <= 128) {
        shift(a, by, out, n);
        return short_sum(out, n);
    }
    int64_t half = n / 2 - n / 2 % 8;
    double first = shifted_sum(a, by, out, half);
    return first + shifted_sum(a + half, by, out + half, n - half);
}

/* out = max(a - by, 0), and the sum of out. */
static double clipped_sum(const double *a, double by, double *out, int64_t n)
{
    if (n <= 128) {
        clip(a, by, out, n);
        return short_sum(out, n);
    }
    int64_t half = n / 2 - n / 2 % 8;
    double first = clipped_sum(a, by, out, half);
    return first + clipped_sum(a + half, by, out + half, n - half);
}

CLONES static int64_t above(const double *a, double bound, int64_t n)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) count += a[i] > bound;
    return count;
}

/* The largest entry; not finite where an entry is not. */
CLONES static double largest(const double *a, int64_t n)
{
    double top = a[0], odd = 0.0;
    for (int64_t i = 0; i < n; i++) {
        top = a[i] > top ? a[i] : top;
        odd += a[i] - a[i]; /* 0, or NaN for ever */
    }
    return top + odd;
}

/* y projected on {out >= 0, sum out = radius}, as plain.onto_simplex does it. Returns 0; or 1 where an entry of y is
 * not finite, 2 where the threshold was not found in PASSES steps: then nothing is said of out. */
int64_t onto_simplex(const double *y, int64_t n, double radius, double *v, double *excess, double *out)
{
    double top = largest(y, n);
    if (!isfinite(top)) return 1;
    double lowest = shifted_sum(y, top, v, n) / (double)n - radius / (double)n;
    double tau = -radius > lowest ? -radius : lowest;
    const double *alive = v;
    int64_t size = n, count = n, pass;
    for (pass = 0; pass < PASSES; pass++) {
        int64_t active = above(alive, tau, size);
        if (active >= count) break;
        count = active;
        if (2 * count < size) {
            int64_t kept = 0;
            for (int64_t i = 0; i < size; i++)
                if (alive[i] > tau) out[kept++] = alive[i];
            alive = out;
            size = kept;
        }
        tau += (clipped_sum(alive, tau, excess, size) - radius) / (double)count;
    }
    if (pass == PASSES) return 2;
    shift(v, tau, excess, n);
    double gap = clipped_sum(excess, 0.0, out, n) - radius;
    for (pass = 0; pass < PASSES && fabs(gap) > 4 * ROUNDING * radius; pass++) {
        double by = gap / (double)above(out, 0.0, n);
        for (int64_t i = 0; i < n; i++) excess[i] -= by;
        gap = clipped_sum(excess, 0.0, out, n) - radius;
    }
    return 0;
}

/* Each row of y onto the simplex; rows begin so many numbers apart. Returns the number of the first row for which
 * onto_simplex does not return 0, or `rows`. */
int64_t rows_onto_simplex(int64_t rows, int64_t n, double radius, const double *y, int64_t y_apart, double *v,
                          double *excess, double *out, int64_t out_apart)
{
    for (int64_t row = 0; row < rows; row++)
        if (onto_simplex(y + row * y_apart, n, radius, v, excess, out + row * out_apart)) return row;
    return rows;
}

/* --- draws: NumPy's Philox and its whole numbers below a bound --- */

typedef struct {
    uint64_t counter[4], key[2], buffer[4];
    int place, has_half;
    uint32_t half;
} Stream;

/* Four numbers of Philox-4x64-10 (Salmon and others, SC 2011) at the next counter. */
static void refill(Stream *s)
{
    for (int j = 0; j < 4 && ++s->counter[j] == 0; j++) {}
    uint64_t a = s->counter[0], b = s->counter[1], c = s->counter[2], d = s->counter[3];
    uint64_t first = s->key[0], second = s->key[1];
    for (int round = 0; round < 10; round++) {
        unsigned __int128 left = (unsigned __int128)0xD2E7470EE14C6C93u * a;
        unsigned __int128 right = (unsigned __int128)0xCA5A826395121157u * c;
        a = (uint64_t)(right >> 64) ^ b ^ first;
        b = (uint64_t)right;
        c = (uint64_t)(left >> 64) ^ d ^ second;
        d = (uint64_t)left;
        first += 0x9E3779B97F4A7C15u;
        second += 0xBB67AE8584CAA73Bu;
    }
    s->buffer[0] = a, s->buffer[1] = b, s->buffer[2] = c, s->buffer[3] = d;
    s->place = 0;
}

/* 32 bits: the lower half of a number of 64 first, then its upper half. */
static uint32_t bits(Stream *s)
{
    if (s->has_half) {
        s->has_half = 0;
        return s->half;
    }
    if (s->place == 4) refill(s);
    uint64_t next = s->buffer[s->place++];
    s->has_half = 1;
    s->half = (uint32_t)(next >> 32);
    return (uint32_t)next;
}

/* For each row `count` whole numbers below its bound (at most 2^32 - 1), by Lemire's method. */
void draw_below(const uint64_t *key, uint64_t draw, uint64_t iteration, int64_t rows, const int64_t *agents,
                const int64_t *bounds, int64_t count, int64_t *out)
{
    for (int64_t row = 0; row < rows; row++) {
        Stream s = {{0, draw, iteration, (uint64_t)agents[row]}, {key[0], key[1]}, {0, 0, 0, 0}, 4, 0, 0};
        uint32_t bound = (uint32_t)bounds[row];
        for (int64_t i = 0; i < count; i++) {
            uint64_t product = 0;
            if (bound > 1) {
                product = (uint64_t)bits(&s) * bound;
                if ((uint32_t)product < bound) {
                    uint32_t least = (uint32_t)(0u - bound) % bound;
                    while ((uint32_t)product < least) product = (uint64_t)bits(&s) * bound;
                }
            }
            out[row * count + i] = (int64_t)(product >> 32);
        }
    }
}
