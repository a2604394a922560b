/* SPDX-License-Identifier: GPL-2.0-only */
/** Losses by rule (fabric_add_loss); fabric's own. */
#ifndef RNICSIM_FABRIC_LOSS_RULES_H
#define RNICSIM_FABRIC_LOSS_RULES_H

#include "fabric_internal.h"

/** True if a rule loses this frame, which begins at port. */
bool loss_rules_lose(struct fabric *f, const struct port *port, const struct pkt *p);
void loss_rules_free(struct fabric *f);

#endif
