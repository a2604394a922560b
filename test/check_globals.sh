#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# No writable globals in the models: .data and .bss of each object of librnic are empty. (Constant tables of pointers are
# .data.rel.ro, which the loader makes read-only.)
set -u
cd "${RNICSIM_TOP:-$(dirname "$0")/..}" || exit 2
bad=0
n=0
for o in $(find build/model -name '*.o' | sort); do
    case $o in */ns3/*) continue ;; esac
    n=$((n + 1))
    size -A "$o" | awk -v o="$o" '$1 ~ /^\.(data|bss|tdata|tbss)$/ && $2 > 0 { print o ": " $2 " writable bytes in " $1; bad = 1 } END { exit bad }' || bad=1
done
# Nor a clock, nor the C library's generator.
if grep -nE '\b(rand|srand|random|drand48|time|gettimeofday|clock_gettime|clock)[[:space:]]*\(' $(find model -name '*.[ch]' ! -path '*/ns3/*') | grep -vE '^\S+:[0-9]+: *(\*|/\*|//)'; then
    echo "a wall clock or rand() in model/"
    bad=1
fi
[ "$n" -gt 10 ] || { echo "only $n objects found: build first"; bad=1; }
[ $bad = 0 ] && echo "ok no writable globals in $n objects" || echo "not ok writable globals"
exit $bad
