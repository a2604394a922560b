/* SPDX-License-Identifier: GPL-2.0-only */
/* Quantities as people type them: what parses prints, and what is printed parses. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "../../model/sim/param.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[200], err[300], printed[100];
    double v, again;
    if (size < 1 || size >= sizeof text)
        return 0;
    enum param_kind kind = (enum param_kind)(data[0] % (PARAM_NUMBER + 1));
    memcpy(text, data + 1, size - 1);
    text[size - 1] = 0;
    const char *names = kind == PARAM_ENUM ? "poll|event|adaptive" : NULL;
    if (param_parse(kind, names, text, &v, err, sizeof err) != 0)
        return 0;
    param_format_value(kind, names, v, printed, sizeof printed);
    assert(param_parse(kind, names, printed, &again, err, sizeof err) == 0);
    return 0;
}
