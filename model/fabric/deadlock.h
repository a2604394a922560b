/* SPDX-License-Identifier: GPL-2.0-only */
/** Whether pauses wait for each other; fabric's own. What it finds: fabric.h. */
#ifndef RNICSIM_FABRIC_DEADLOCK_H
#define RNICSIM_FABRIC_DEADLOCK_H

#include "fabric_internal.h"

/** Something was paused: look regularly while anything is. */
void deadlock_watch(struct fabric *f);
void deadlock_init(struct fabric *f);

#endif
