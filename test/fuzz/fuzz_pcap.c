/* SPDX-License-Identifier: GPL-2.0-only */
/* pcap files and all that dissects them: the file goes to a memory file, the text to nowhere. */
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../helper/dissect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    int fd = memfd_create("fuzz", 0);
    FILE *none = fopen("/dev/null", "w");
    if (fd < 0 || !none || write(fd, data, size) != (ssize_t)size)
        return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    char *const files[] = { path };
    dissect_files(1, files, none, none);
    fclose(none);
    close(fd);
    return 0;
}
