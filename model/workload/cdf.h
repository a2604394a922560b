/* SPDX-License-Identifier: GPL-2.0-only */
/** Size distributions: bytes and cumulative fraction, linear between points. */
#ifndef RNICSIM_WORKLOAD_CDF_H
#define RNICSIM_WORKLOAD_CDF_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct wl_cdf_point { int64_t bytes; double cumulative; /* 0..1 */ };

/** Points in ascending order. A first point above 0 is a mass at its size. Points are not copied. */
struct wl_cdf { const struct wl_cdf_point *points; size_t n; };

enum wl_cdf_fault { WL_CDF_OK, WL_CDF_EMPTY /* no points */, WL_CDF_RANGE /* bytes below 0 or over 2^31 - 1, fraction outside 0..1 */,
    WL_CDF_BYTES_ORDER /* bytes below those before */, WL_CDF_FRACTION_ORDER /* fraction below the one before */,
    WL_CDF_END /* the last fraction is not 1 */, WL_CDF_MEAN /* mean below one byte */ };
/** WL_CDF_OK, or what is wrong with *bad (may be NULL) the index of the first bad point. */
enum wl_cdf_fault wl_cdf_check(const struct wl_cdf *cdf, size_t *bad);
/** One sentence about a fault, for people. */
const char *wl_cdf_fault_text(enum wl_cdf_fault fault);
/** Mean in bytes of a valid CDF. */
double wl_cdf_mean(const struct wl_cdf *cdf);
/** The size at cumulative fraction u in (0, 1): linear between points, rounded to a whole byte, at least 1. */
int64_t wl_cdf_sample(const struct wl_cdf *cdf, double u);
/** Largest size. */
int64_t wl_cdf_max(const struct wl_cdf *cdf);

#ifdef __cplusplus
}
#endif
#endif
