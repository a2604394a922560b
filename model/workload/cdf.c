/* SPDX-License-Identifier: GPL-2.0-only */
#include "cdf.h"

enum wl_cdf_fault wl_cdf_check(const struct wl_cdf *cdf, size_t *bad)
{
    size_t none, i = 0;
    if (!bad)
        bad = &none;
    *bad = 0;
    if (cdf->n == 0)
        return WL_CDF_EMPTY;
    for (; i < cdf->n; i++) {
        const struct wl_cdf_point *p = &cdf->points[i];
        *bad = i;
        if (!(p->bytes >= 0 && p->bytes <= INT32_MAX && p->cumulative >= 0.0 && p->cumulative <= 1.0))
            return WL_CDF_RANGE;
        if (i > 0 && p->bytes < p[-1].bytes)
            return WL_CDF_BYTES_ORDER;
        if (i > 0 && p->cumulative < p[-1].cumulative)
            return WL_CDF_FRACTION_ORDER;
    }
    if (cdf->points[cdf->n - 1].cumulative < 1.0)
        return WL_CDF_END;
    return wl_cdf_mean(cdf) < 1.0 ? WL_CDF_MEAN : WL_CDF_OK;
}

const char *wl_cdf_fault_text(enum wl_cdf_fault fault)
{
    switch (fault) {
    case WL_CDF_OK:             return "the distribution is valid";
    case WL_CDF_EMPTY:          return "the distribution has no points";
    case WL_CDF_RANGE:          return "a size is below 0 or over 2147483647 bytes, or a fraction is outside 0% to 100%";
    case WL_CDF_BYTES_ORDER:    return "sizes must not decrease";
    case WL_CDF_FRACTION_ORDER: return "cumulative fractions must not decrease";
    case WL_CDF_END:            return "the last cumulative fraction must be 100%";
    case WL_CDF_MEAN:           return "the mean is below one byte";
    }
    return "unknown";
}

double wl_cdf_mean(const struct wl_cdf *cdf)
{
    const struct wl_cdf_point *p = cdf->points;
    double mean = (double)p[0].bytes * p[0].cumulative;
    for (size_t i = 1; i < cdf->n; i++)
        mean += (p[i].cumulative - p[i - 1].cumulative) * 0.5 * ((double)p[i - 1].bytes + (double)p[i].bytes);
    return mean;
}

int64_t wl_cdf_sample(const struct wl_cdf *cdf, double u)
{
    const struct wl_cdf_point *p = cdf->points;
    size_t lo = 0, hi = cdf->n - 1;                 /* the first point whose fraction is at least u */
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (p[mid].cumulative >= u)
            hi = mid;
        else
            lo = mid + 1;
    }
    double bytes = (double)p[lo].bytes;
    if (lo > 0) {
        double below = (p[lo].cumulative - u) / (p[lo].cumulative - p[lo - 1].cumulative);
        bytes -= below * ((double)p[lo].bytes - (double)p[lo - 1].bytes);
    }
    int64_t whole = (int64_t)(bytes + 0.5);
    return whole < 1 ? 1 : whole;
}

int64_t wl_cdf_max(const struct wl_cdf *cdf)
{
    int64_t max = cdf->points[cdf->n - 1].bytes;
    return max < 1 ? 1 : max;
}
