/* SPDX-License-Identifier: GPL-2.0-only */
/* The scenario loader: any text gives a scenario or a message. */
#include <assert.h>
#include <stdint.h>

#include "../../helper/scenario.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char err[2000] = "";
    if (size > 65536)
        return 0;
    struct scenario *sc = scenario_load_memory((const char *)data, size, "fuzz.xml", NULL, err, sizeof err);
    assert(sc || err[0]);
    scenario_free(sc);
    return 0;
}
