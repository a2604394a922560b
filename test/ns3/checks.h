/* SPDX-License-Identifier: GPL-2.0-only */
/** Checks of the C++ tests: each failure is printed with its place; the program's exit status tells. */
#ifndef RNICSIM_TEST_NS3_CHECKS_H
#define RNICSIM_TEST_NS3_CHECKS_H

#include <cstdio>

struct Checks
{
    int made = 0, failed = 0;
};

inline Checks&
ChecksState()
{
    static Checks state;
    return state;
}

#define CHECK(condition)                                                                                                           \
    do                                                                                                                             \
    {                                                                                                                              \
        ChecksState().made++;                                                                                                      \
        if (!(condition))                                                                                                          \
        {                                                                                                                          \
            ChecksState().failed++;                                                                                                \
            std::printf("%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                                                    \
        }                                                                                                                          \
    } while (0)

inline int
ChecksDone()
{
    std::printf("%d checks, %d failed\n", ChecksState().made, ChecksState().failed);
    return ChecksState().failed || !ChecksState().made;
}

#endif
