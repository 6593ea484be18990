/* Rounds of mixing, for one type of numbers: REAL, with names that end in it. Included once for each type. */

#define JOINED(name, real) name##_##real
#define NAMED(name, real) JOINED(name, real)
#define LANE NAMED(Lane, REAL)
#define WIDE ((int64_t)(64 / sizeof(REAL))) /* numbers in a lane */

typedef REAL LANE __attribute__((vector_size(64), aligned(sizeof(REAL)), may_alias));

/* Rows that lie so many numbers apart; or so many numbers after where each of `places` says, if there are any. */
typedef struct {
    REAL *place;
    int64_t apart;
    const uint64_t *places;
} NAMED(Rows, REAL);

static inline __attribute__((always_inline)) const REAL *NAMED(row, REAL)(NAMED(Rows, REAL) V, int64_t j)
{
    return V.places ? (const REAL *)V.places[j] + V.apart : V.place + j * V.apart;
}

/* How a round ends: sum, or up * sum - back * previous. */
typedef struct {
    int64_t accelerated;
    REAL up, back;
} NAMED(Momentum, REAL);

/* One round on `count` columns: out = W V, each row's sum in the order of its entries, then momentum. `out` may be
 * `previous`, but not V. */
static inline __attribute__((always_inline)) void NAMED(one_round, REAL)(
    int64_t rows, int64_t count, const int32_t *begins, const int32_t *columns, const REAL *weights,
    NAMED(Rows, REAL) V, NAMED(Rows, REAL) previous, NAMED(Rows, REAL) out, NAMED(Momentum, REAL) momentum)
{
    for (int64_t i = 0; i < rows; i++) {
        REAL *to = out.place + i * out.apart;
        const REAL *before = previous.place + i * previous.apart;
        int64_t t = 0;
        for (; t + 4 * WIDE <= count; t += 4 * WIDE) {
            LANE a = {0}, b = {0}, c = {0}, d = {0};
            for (int32_t entry = begins[i]; entry < begins[i + 1]; entry++) {
                const LANE *v = (const LANE *)(NAMED(row, REAL)(V, columns[entry]) + t);
                REAL weight = weights[entry];
                a += weight * v[0], b += weight * v[1], c += weight * v[2], d += weight * v[3];
            }
            LANE *sums = (LANE *)(to + t);
            if (momentum.accelerated) {
                const LANE *old = (const LANE *)(before + t);
                a = a * momentum.up - old[0] * momentum.back, b = b * momentum.up - old[1] * momentum.back;
                c = c * momentum.up - old[2] * momentum.back, d = d * momentum.up - old[3] * momentum.back;
            }
            sums[0] = a, sums[1] = b, sums[2] = c, sums[3] = d;
        }
        for (; t + WIDE <= count; t += WIDE) {
            LANE sum = {0};
            for (int32_t entry = begins[i]; entry < begins[i + 1]; entry++)
                sum += weights[entry] * *(const LANE *)(NAMED(row, REAL)(V, columns[entry]) + t);
            if (momentum.accelerated) sum = sum * momentum.up - *(const LANE *)(before + t) * momentum.back;
            *(LANE *)(to + t) = sum;
        }
        for (; t < count; t++) {
            REAL sum = 0;
            for (int32_t entry = begins[i]; entry < begins[i + 1]; entry++)
                sum += weights[entry] * NAMED(row, REAL)(V, columns[entry])[t];
            to[t] = momentum.accelerated ? sum * momentum.up - before[t] * momentum.back : sum;
        }
    }
}

/* How many columns of so many rows are worked on at a time: whole lines of the cache. */
static int64_t NAMED(block, REAL)(int64_t rows)
{
    int64_t most = rows < FEW ? 4 * WIDE : WIDE, fit = HELD / (rows > 0 ? rows : 1);
    return fit < most ? most : fit - fit % most;
}

/* out = W V. */
CLONES void NAMED(weighted_sums, REAL)(int64_t rows, int64_t width, const int32_t *begins, const int32_t *columns,
                                       const REAL *weights, const REAL *V, REAL *out)
{
    int64_t step = NAMED(block, REAL)(rows);
    for (int64_t left = 0; left < width; left += step) {
        int64_t count = width - left < step ? width - left : step;
        NAMED(Rows, REAL) said = {(REAL *)V + left, width, NULL}, heard = {out + left, width, NULL};
        NAMED(one_round, REAL)(rows, count, begins, columns, weights, said, heard, heard, (NAMED(Momentum, REAL)){0});
    }
}

/* The same, of rows that lie where `places` says. */
CLONES void NAMED(weighted_rows, REAL)(int64_t rows, int64_t width, const int32_t *begins, const int32_t *columns,
                                       const REAL *weights, const uint64_t *places, REAL *out)
{
    int64_t step = NAMED(block, REAL)(rows);
    for (int64_t left = 0; left < width; left += step) {
        int64_t count = width - left < step ? width - left : step;
        NAMED(Rows, REAL) said = {NULL, left, places}, heard = {out + left, width, NULL};
        NAMED(one_round, REAL)(rows, count, begins, columns, weights, said, heard, heard, (NAMED(Momentum, REAL)){0});
    }
}

/* The numbers that `rounds` needs room for. */
int64_t NAMED(room, REAL)(int64_t rows) { return 2 * rows * NAMED(block, REAL)(rows); }

/* Several rounds, at least one, of as many rows as W has columns: all of them on a block of columns before the next.
 * accelerated: FastMix, A+ = (1 + eta) W A - eta A_before; else A+ = W A. */
CLONES void NAMED(rounds, REAL)(int64_t rows, int64_t width, const int32_t *begins, const int32_t *columns,
                                const REAL *weights, const REAL *V, REAL *out, int64_t rounds, int64_t accelerated,
                                double eta, REAL *room)
{
    int64_t step = NAMED(block, REAL)(rows);
    NAMED(Momentum, REAL) momentum = {accelerated, (REAL)(1.0 + eta), (REAL)eta};
    for (int64_t left = 0; left < width; left += step) {
        int64_t count = width - left < step ? width - left : step;
        NAMED(Rows, REAL) now = {(REAL *)V + left, width, NULL}, before = now, end = {out + left, width, NULL};
        NAMED(Rows, REAL) places[2] = {{room, step, NULL}, {room + rows * step, step, NULL}};
        for (int64_t k = 0; k < rounds; k++) {
            NAMED(Rows, REAL) next = k == rounds - 1 ? end : places[k % 2];
            NAMED(one_round, REAL)(rows, count, begins, columns, weights, now, before, next, momentum);
            before = now;
            now = next;
        }
    }
}

/* heard = (1 + eta) heard - eta previous. */
CLONES void NAMED(accelerate, REAL)(int64_t size, REAL *restrict heard, const REAL *restrict previous, double eta)
{
    REAL up = (REAL)(1.0 + eta), back = (REAL)eta;
    for (int64_t t = 0; t < size; t++) heard[t] = heard[t] * up - previous[t] * back;
}

#undef LANE
#undef WIDE
#undef JOINED
#undef NAMED
