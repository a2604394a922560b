#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Which room may include which: the table of the design. Any other include between rooms fails.
set -u
cd "${RNICSIM_TOP:-$(dirname "$0")/..}" || exit 2
allowed() { # room -> rooms it may include
    case $1 in
    sim)      echo "sim" ;;
    wire)     echo "wire" ;;
    cc)       echo "cc sim" ;;
    fabric)   echo "fabric sim wire" ;;
    host)     echo "host sim wire fabric" ;;
    rnic)     echo "rnic sim wire host fabric" ;;
    tcp)      echo "tcp sim wire cc host fabric" ;;
    iwarp)    echo "iwarp rnic tcp sim wire host cc fabric" ;;
    roce)     echo "roce rnic cc sim wire host fabric" ;;
    workload) echo "workload sim rnic tcp wire host cc fabric" ;;
    helper)   echo "helper analysis sim wire cc fabric host rnic tcp iwarp roce workload ns3" ;;
    analysis) echo "analysis" ;;
    ns3)      echo "ns3 sim wire cc fabric host rnic tcp iwarp roce workload" ;;
    esac
}
bad=0
files=0
for f in $(find model helper analysis -name '*.[ch]' -o -name '*.cc' | sort); do
    case $f in model/*) room=${f#model/}; room=${room%%/*} ;; *) room=${f%%/*} ;; esac
    files=$((files + 1))
    ok=" $(allowed "$room") "
    for inc in $(sed -n 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*"\([^"]*\)".*/\1/p' "$f"); do
        case $inc in ns3/*) [ "$room" = ns3 ] || [ "${f##*.}" = cc ] || [ "$f" != "${f%rnic-helper.h}" ] || { echo "$f includes $inc: only ns-3 code may"; bad=1; }; continue ;; esac
        path=$(realpath -m --relative-to=. "$(dirname "$f")/$inc")
        [ -f "$path" ] || path=$(realpath -m --relative-to=. "$inc")
        [ -f "$path" ] || { echo "$f includes $inc, which is not there"; bad=1; continue; }
        case $path in model/*) to=${path#model/}; to=${to%%/*} ;; *) to=${path%%/*} ;; esac
        case $ok in
        *" $to "*) ;;
        *) echo "$f includes $path: $room may not include $to"; bad=1 ;;
        esac
        # The transports reach the fabric through the host; only its port and packet books are theirs to see.
        if [ "$to" = fabric ]; then
            case "$room:$path" in
            fabric:*|helper:*|ns3:*|*:model/fabric/port.h|*:model/fabric/fabric.h) ;;
            *) echo "$f includes $path: $room may see only fabric's port.h and fabric.h"; bad=1 ;;
            esac
        fi
        if [ "$room" = helper ] && [ "$to" = ns3 ] && [ "${f##*.}" = c ]; then
            [ "$path" = model/ns3/engine.h ] || { echo "$f includes $path: of ns3 only engine.h"; bad=1; }
        fi
    done
done
[ "$files" -gt 20 ] || { echo "only $files files found"; bad=1; }
[ $bad = 0 ] && echo "ok include directions of $files files" || echo "not ok include directions"
exit $bad
