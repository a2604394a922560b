#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# No run reads memory that nobody has written: what it did next would not be the same each time. Sanitizers do not see that, valgrind does.
# The demo's scenario long enough for tail-loss probes; --long: every shipped scenario at its small size.
set -u
cd "${RNICSIM_TOP:-$(dirname "$0")/../..}" || exit 2
rnicsim=${RNICSIM:-build/rnicsim}
command -v valgrind > /dev/null || { echo "skip memcheck: no valgrind"; exit 0; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bad=0
# Padding of structures goes through the pipe from a run's process.
printf '{\n padding\n Memcheck:Param\n write(buf)\n fun:write\n ...\n fun:fwrite\n ...\n}\n{\n padding at the end\n Memcheck:Param\n write(buf)\n fun:write\n ...\n fun:fflush\n ...\n}\n' > "$dir/supp"
clean() { # SCENARIO OPTION...
    name=$(basename "$1" .xml)
    valgrind -q --suppressions="$dir/supp" --log-file="$dir/log.%p" "$rnicsim" run "$@" --engine native --quiet --no-plots --out "$dir/out" > "$dir/said" 2>&1
    status=$?
    cat "$dir"/log.* > "$dir/all"
    if [ $status = 0 ] && [ ! -s "$dir/all" ]; then
        echo "ok memcheck $name"
    else
        head -n 30 "$dir/said" "$dir/all"
        echo "not ok memcheck $name: status $status"
        bad=1
    fi
    rm -rf "$dir"/log.* "$dir/out"
}
clean scenarios/routed-vs-lossless.xml --size ci --set measure.duration=1ms
if [ -n "${RNICSIM_TEST_LONG:-}" ]; then
    for s in scenarios/*.xml; do
        grep -q '<scenario' "$s" && clean "$s" --size ci
    done
fi
exit $bad
