/* Rounds of mixing, for one type of numbers: REAL, with names that end in it. Included once for each type. */

#define JOINED(name, real) name##_##real
#define NAMED(name, real) JOINED(name, real)

/* out = W V, row by row and in the order of each row's entries, by blocks of columns that stay in the cache. */
CLONES void NAMED(weighted_sums, REAL)(int64_t rows, int64_t width, const int32_t *begins, const int32_t *columns,
                                       const REAL *weights, const REAL *restrict V, REAL *restrict out)
{
    for (int64_t left = 0; left < width; left += COLUMNS) {
        int64_t count = width - left < COLUMNS ? width - left : COLUMNS;
        for (int64_t i = 0; i < rows; i++) {
            REAL *restrict sums = out + i * width + left;
            for (int64_t t = 0; t < count; t++) sums[t] = 0;
            for (int32_t entry = begins[i]; entry < begins[i + 1]; entry++) {
                const REAL *restrict v = V + columns[entry] * width + left;
                REAL weight = weights[entry];
                for (int64_t t = 0; t < count; t++) sums[t] += weight * v[t];
            }
        }
    }
}

/* heard = (1 + eta) heard - eta previous. */
CLONES void NAMED(accelerate, REAL)(int64_t size, REAL *restrict heard, const REAL *restrict previous, double eta)
{
    REAL up = (REAL)(1.0 + eta), back = (REAL)eta;
    for (int64_t t = 0; t < size; t++) heard[t] = heard[t] * up - previous[t] * back;
}

#undef JOINED
#undef NAMED
