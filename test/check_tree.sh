#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Habits that keep the tree habitable: licence lines, file sizes, names that say something, no path of one machine.
set -u
cd "${RNICSIM_TOP:-$(dirname "$0")/..}" || exit 2
bad=0
say() { echo "$1"; bad=1; }
sources=$(find model helper analysis examples test wscript waf .ci -type f \( -name '*.[ch]' -o -name '*.cc' -o -name '*.sh' -o -name wscript -o -name waf -o -name run \) ! -path 'test/tools/*' | sort)
for f in $sources; do
    head -n 3 "$f" | grep -q 'SPDX-License-Identifier: GPL-2.0-only' || say "$f: no SPDX line"
    case $f in
    *.c|*.h|*.cc)
        lines=$(wc -l < "$f")
        [ "$lines" -le 900 ] || say "$f: $lines lines (limit 900)"
        case ${f##*/} in util.*|utils.*|misc.*|common.*|helpers.*) say "$f: a name that says nothing" ;; esac
        ;;
    esac
done
grep -nIE '(^|[^[:alnum:]._~/-])/(home|root|work)/[[:alnum:]]' $(find . -type f ! -path './build*' ! -path './.git' ! -path './.git/*' ! -path './out/*' ! -path './.waf*' ! -name '.lock-waf*' ! -name check_tree.sh) && say "a path of one machine"
for f in $(find model analysis helper -name '*.cc'); do
    case $f in model/ns3/*|helper/*) ;; *) say "$f: C++ outside the ns-3 binding" ;; esac
done
[ $bad = 0 ] && echo "ok tree" || echo "not ok tree"
exit $bad
