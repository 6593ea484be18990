/* The loops in which a run spends its time. Each has a twin in NumPy (plain.py) and gives the very same bits: no
 * operation is fused or reordered (-ffp-contract=off), and sums are taken pairwise in NumPy's own order. */

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#define VERSION 5 /* raised with every change; library.py must say the same */
#define HELD 4096 /* numbers in a block of columns: several such blocks stay in the cache */
#define FEW 2000  /* rows: beyond, a block is one line of the cache wide */
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

#include "sparse.h"
#include "words.h"

/* --- the simplex --- */

/* Eight numbers side by side, as NumPy's sums take them. */
typedef double Lane __attribute__((vector_size(64), aligned(8), may_alias));
typedef int64_t Mask __attribute__((vector_size(64), aligned(8), may_alias));

/* What a pass over a row does to each number: e = a - by[0] - by[1] - ..., and 0 in its place where e is not above 0
 * and numbers are clipped. */
typedef struct {
    double by[PASSES + 2];
    int64_t steps, clipped, count; /* count: how many e were above 0 */
} Pass;

/* The sum of at most 128 numbers, as NumPy takes it: eight running sums, then the rest. Written to out unless NULL. */
CLONES static double short_pass(Pass *pass, const double *a, int64_t n, double *out)
{
    int64_t i = 0, whole = n < 8 ? 0 : n - n % 8;
    double sum = 0.0;
    if (whole) {
        Lane part = {-0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0}; /* -0 + e is e, also for e = -0 */
        Mask count = {0}, always = {0};
        always -= !pass->clipped;
        for (; i < whole; i += 8) {
            Lane e = *(const Lane *)(a + i);
            for (int64_t step = 0; step < pass->steps; step++) e -= pass->by[step];
            Mask above = (Mask)(e > 0.0);
            count -= above;
            e = (Lane)((Mask)e & (above | always));
            if (out) *(Lane *)(out + i) = e;
            part += e;
        }
        sum = ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
        for (int j = 0; j < 8; j++) pass->count += count[j];
    }
    for (; i < n; i++) {
        double e = a[i];
        for (int64_t step = 0; step < pass->steps; step++) e -= pass->by[step];
        pass->count += e > 0.0;
        if (pass->clipped && !(e > 0.0)) e = 0.0;
        if (out) out[i] = e;
        sum += e;
    }
    return sum;
}

/* The sum of any number of them, pairwise. */
static double long_pass(Pass *pass, const double *a, int64_t n, double *out)
{
    if (n <= 128) return short_pass(pass, a, n, out);
    int64_t half = n / 2 - n / 2 % 8;
    double first = long_pass(pass, a, half, out);
    return first + long_pass(pass, a + half, n - half, out ? out + half : out);
}

/* One pass from its beginning. */
static double over(Pass *pass, const double *a, int64_t n, double *out)
{
    pass->count = 0;
    return long_pass(pass, a, n, out);
}

/* The largest entry; not finite where an entry is not. */
CLONES static double largest(const double *a, int64_t n)
{
    double top = a[0], odd = 0.0;
    int64_t i = 0;
    if (n >= 16) {
        Lane tops[2] = {*(const Lane *)a, *(const Lane *)(a + 8)}, odds[2] = {{0}, {0}};
        for (; i + 16 <= n; i += 16)
            for (int j = 0; j < 2; j++) {
                Lane next = *(const Lane *)(a + i + 8 * j);
                Mask larger = (Mask)(next > tops[j]);
                tops[j] = (Lane)(((Mask)next & larger) | ((Mask)tops[j] & ~larger));
                odds[j] += next - next; /* 0, or NaN for ever */
            }
        for (int j = 0; j < 16; j++) {
            top = tops[j / 8][j % 8] > top ? tops[j / 8][j % 8] : top;
            odd += odds[j / 8][j % 8];
        }
    }
    for (; i < n; i++) top = a[i] > top ? a[i] : top, odd += a[i] - a[i];
    return top + odd;
}

/* y projected on {out >= 0, sum out = radius}, as plain.onto_simplex does it; v = y - top is never stored, nor is
 * what is left of it. Returns 0; or 1 where an entry of y is not finite, 2 where the threshold was not found in PASSES
 * steps: then nothing is said of out. */
int64_t onto_simplex(const double *y, int64_t n, double radius, double *out)
{
    double top = largest(y, n);
    if (!isfinite(top)) return 1;
    Pass pass = {{top}, 1, 0, 0};
    double lowest = over(&pass, y, n, NULL) / (double)n - radius / (double)n;
    double tau = -radius > lowest ? -radius : lowest;
    const double *alive = y;
    int64_t size = n, count = n, tries;
    pass.clipped = 1;
    for (tries = 0; tries < PASSES; tries++) {
        pass.steps = alive == y ? 2 : 1; /* those in out have lost `top` already */
        pass.by[pass.steps - 1] = tau;
        double sum = over(&pass, alive, size, NULL);
        if (pass.count >= count) break;
        count = pass.count;
        if (2 * count < size) {
            double by = alive == y ? top : 0.0;
            int64_t kept = 0;
            for (int64_t i = 0; i < size; i++) {
                double v = alive[i] - by;
                out[kept] = v;
                kept += v > tau;
            }
            alive = out;
            size = kept;
            pass.steps = 1, pass.by[0] = tau;
            sum = over(&pass, alive, size, NULL);
        }
        tau += (sum - radius) / (double)count;
    }
    if (tries == PASSES) return 2;
    pass.steps = 2, pass.by[0] = top, pass.by[1] = tau;
    double gap = over(&pass, y, n, out) - radius;
    while (pass.steps < PASSES + 2 && fabs(gap) > 4 * ROUNDING * radius) {
        pass.by[pass.steps++] = gap / (double)pass.count;
        gap = over(&pass, y, n, out) - radius;
    }
    return 0;
}

/* Each row of y onto the simplex; rows begin so many numbers apart. Returns the number of the first row for which
 * onto_simplex does not return 0, or `rows`. */
int64_t rows_onto_simplex(int64_t rows, int64_t n, double radius, const double *y, int64_t y_apart, double *out,
                          int64_t out_apart)
{
    for (int64_t row = 0; row < rows; row++)
        if (onto_simplex(y + row * y_apart, n, radius, out + row * out_apart)) return row;
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
