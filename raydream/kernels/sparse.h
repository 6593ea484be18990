/* Sparse rows of several agents, each with its own vector. Row r of the matrix has the entries begins[r] to
 * begins[r + 1]; some rows are asked for by number, and each has an owner. */

/* Each row's product with its owner's vector, entry after entry. */
void row_products(int64_t count, const int64_t *rows, const int64_t *owners, const int32_t *begins,
                  const int32_t *columns, const double *values, const double *X, int64_t apart, double *out)
{
    for (int64_t i = 0; i < count; i++) {
        const double *x = X + owners[i] * apart;
        double sum = 0.0;
        for (int32_t entry = begins[rows[i]]; entry < begins[rows[i] + 1]; entry++)
            sum += values[entry] * x[columns[entry]];
        out[i] = sum;
    }
}

/* Each owner's sum of its rows, weighed, added to out row after row. */
void row_sums(int64_t count, const int64_t *rows, const int64_t *owners, const int32_t *begins, const int32_t *columns,
              const double *values, const double *weights, int64_t width, double *out)
{
    for (int64_t i = 0; i < count; i++) {
        double *sums = out + owners[i] * width;
        for (int32_t entry = begins[rows[i]]; entry < begins[rows[i] + 1]; entry++)
            sums[columns[entry]] += values[entry] * weights[i];
    }
}
