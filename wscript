# SPDX-License-Identifier: GPL-2.0-only
# The build. `./waf demo` and `./waf test` are the two commands of the README; `./waf --help` lists the rest.
import os
import re
import subprocess
import sys
import time

from waflib import Build, Configure, Logs, Options, Utils

APPNAME = 'rnicsim'
VERSION = '0.1.0'
top = '.'
out = 'build'
# Commands configure by themselves, and again, with the options given then, when this file or what is installed has changed.
Configure.autoconfig = 'clobber'

WARN = ['-Wall', '-Wextra', '-Werror']
# One result on every machine: no fused multiply-add, no reassociation.
COMMON = WARN + ['-O2', '-g', '-fPIC', '-ffp-contract=off', '-D_GNU_SOURCE']
SAN = ['-fsanitize=address,undefined', '-fno-sanitize-recover=all', '-fno-omit-frame-pointer']
FUZZ = ['-fsanitize=fuzzer-no-link,address,undefined', '-fno-sanitize-recover=all']
NS3_LIBS = ['core', 'network', 'internet', 'point-to-point', 'applications', 'traffic-control', 'stats', 'bridge']
VARIANTS = ('clang', 'asan', 'fuzz')


def options(opt):
    opt.load('compiler_c compiler_cxx')
    g = opt.add_option_group('rnicsim')
    g.add_option('--no-install', action='store_true', default=False, help='install no packages, only name them')
    g.add_option('--without-ns3', action='store_true', default=False, help='build without ns-3: everything but its two engines')
    g.add_option('--long', action='store_true', default=False, help='test: also what takes long (full sweeps, long fuzzing)')
    g.add_option('--only', action='store', default='', help='test: only tests whose name contains this')


def configure(conf):
    conf.load('compiler_c compiler_cxx')
    installed = conf.path.make_node('.waf-installed')
    if not os.path.exists(installed.abspath()):
        installed.write('')
    conf.hash = Utils.h_list((conf.hash, installed.read('rb')))
    conf.files.append(installed.abspath())
    conf.env.append_unique('CFLAGS', ['-std=c11'] + COMMON)
    conf.env.append_unique('CXXFLAGS', ['-std=c++17'] + COMMON)
    conf.check_cfg(package='libxml-2.0', args='--cflags --libs', uselib_store='XML2')
    conf.check_cc(lib='m', uselib_store='M')
    conf.check_cc(lib='z', header_name='zlib.h', uselib_store='Z')
    conf.check_cc(lib='dl', uselib_store='DL', mandatory=False)
    conf.check_cc(lib='Rmath', uselib_store='RMATH')
    conf.check_cc(header_name='Random123/philox.h', msg='Checking for Random123')
    conf.check_cc(lib='cmocka', header_name='stdarg.h stddef.h setjmp.h stdint.h cmocka.h', uselib_store='CMOCKA', mandatory=False)
    conf.env.HAVE_NS3 = False
    conf.env.WITHOUT_NS3 = conf.options.without_ns3
    if not conf.options.without_ns3:
        fragment = '#include "ns3/core-module.h"\nint main() { return ns3::Simulator::Now().IsZero() ? 0 : 1; }\n'
        conf.env.HAVE_NS3 = bool(conf.check_cxx(fragment=fragment, lib='ns3-core', uselib_store='NS3CORE', mandatory=False, msg='Checking for ns-3'))
        conf.env.LIB_NS3 = ['ns3-' + l for l in NS3_LIBS]
        # Debian's ns-3 is a release build: without these our NS_LOG and NS_ASSERT would be dead.
        conf.env.DEFINES_NS3 = ['NS3_LOG_ENABLE', 'NS3_ASSERT_ENABLE']
    marker = conf.bldnode.make_node('.without-ns3')
    if conf.options.without_ns3:
        marker.write('')
    elif os.path.exists(marker.abspath()):
        marker.delete()
    base = conf.env
    base.RPATH = ['$ORIGIN', '$ORIGIN/..', '$ORIGIN/../..', '$ORIGIN/../lib']
    for variant in VARIANTS:
        conf.setenv(variant, env=base.derive())
        if variant == 'asan':
            flags = SAN
        else:
            clang = conf.find_program('clang', var='CLANG_' + variant, mandatory=False)
            if not clang:
                continue
            conf.env.CC = conf.env.LINK_CC = clang
            clangxx = conf.find_program('clang++', var='CLANGXX_' + variant, mandatory=False)
            if clangxx:
                conf.env.CXX = conf.env.LINK_CXX = clangxx
            flags = FUZZ if variant == 'fuzz' else []
        for v in ('CFLAGS', 'CXXFLAGS', 'LINKFLAGS'):
            conf.env.append_value(v, flags)
    conf.setenv('')
    # The models are many small files: across them the compiler may inline (12 % of a packet-hop). gcc only.
    if conf.env.CC_NAME == 'gcc':
        conf.env.LTO = ['-flto=auto', '-fno-semantic-interposition']
        # Assertions are held by the clang and sanitizer variants, which run the same tests.
        conf.env.append_value('CFLAGS', conf.env.LTO + ['-ffat-lto-objects', '-DNDEBUG'])



def _variant_context(name):
    class variant_build(Build.BuildContext): # waf passes over classes named ctx
        __doc__ = 'builds the variant %s' % name
        cmd = 'build_' + name
        variant = name
    return variant_build


for _v in VARIANTS:
    globals()['build_%s_context' % _v] = _variant_context(_v)


def build(bld):
    if bld.cmd in ('install', 'uninstall'):
        _honour_prefix(bld)
    fuzz = bld.variant == 'fuzz'
    glob = bld.path.ant_glob
    incl = ['model/sim', '.']
    lto = bld.env.LTO if not bld.variant else [] # variants inherit it
    # Neighbouring counters as vectors cost more instructions than they save.
    fast = ['-O3', '-fno-tree-slp-vectorize'] if lto else []
    bld.objects(target='rnic_objs', source=glob('model/**/*.c'), includes=incl, use='Z M', cflags=fast)
    cli = [s for s in glob('helper/*.c') + glob('analysis/*.c') if s.name != 'main.c']
    bld.objects(target='cli_objs', source=cli, includes=incl, use='XML2 RMATH', defines=_defines(bld))
    libs = 'Z M DL XML2 RMATH'
    if fuzz:
        for src in glob('test/fuzz/fuzz_*.c'):
            if src.name == 'fuzz_iwarp_stream.c' and not bld.env.LIB_CMOCKA:
                continue # it speaks through the tests' line and peer
            bld.program(target='test/fuzz/' + src.name[:-2], source=[src], includes=incl, use='rnic_objs cli_objs CMOCKA ' + libs,
                        linkflags=['-fsanitize=fuzzer'], install_path=None)
        return
    bld(features='c cshlib', target='rnic', source=[], use='rnic_objs Z M', linkflags=lto + fast,
        install_path='${LIBDIR}')
    if not bld.variant:
        bld(features='c cstlib', target='rnic', name='rnic_static', source=[], use='rnic_objs', install_path='${LIBDIR}')
    bld.program(target='rnicsim', source=['helper/main.c'], includes=incl, use='cli_objs rnic ' + libs, install_path='${BINDIR}')
    if bld.env.HAVE_NS3:
        cxx = glob('model/ns3/*.cc') + glob('helper/*.cc')
        bld.shlib(target='ns3-rnic', source=cxx, includes=incl, use='rnic NS3', install_path='${LIBDIR}')
    for src in glob('examples/*.c'):
        bld.program(target='examples/' + src.name[:-2], source=[src], includes=incl, use='rnic ' + libs, install_path=None)
    if bld.env.HAVE_NS3:
        for src in glob('examples/*.cc'):
            bld.program(target='examples/' + src.name[:-3], source=[src], includes=incl, use='ns3-rnic rnic NS3', install_path=None)
    if getattr(bld, 'with_tests', False) or bld.variant or bld.cmd == 'build_tests':
        _build_tests(bld, incl, libs)
    if bld.cmd in ('install', 'uninstall'):
        _install_data(bld)


def _defines(bld):
    return ['RNICSIM_VERSION="%s"' % VERSION]


def _build_tests(bld, incl, libs):
    glob = bld.path.ant_glob
    if not bld.env.LIB_CMOCKA:
        bld.fatal('the tests need libcmocka-dev: install it, then `./waf configure` again')
    for src in glob('test/**/test_*.c', excl='test/fuzz/** test/ns3/**'):
        bld.program(target=src.path_from(bld.path)[:-2], source=[src], includes=incl + ['test'], use='cli_objs rnic CMOCKA ' + libs, install_path=None)
    if bld.env.HAVE_NS3:
        for src in glob('test/ns3/test_*.cc'):
            bld.program(target=src.path_from(bld.path)[:-3], source=[src], includes=incl, use='ns3-rnic rnic NS3', install_path=None)


def _honour_prefix(bld):
    if Options.options.prefix:
        bld.env.PREFIX = os.path.abspath(Options.options.prefix)
        bld.env.BINDIR = bld.env.PREFIX + '/bin'
        bld.env.LIBDIR = bld.env.PREFIX + '/lib'
    for v in ('bindir', 'libdir'):
        if getattr(Options.options, v, None):
            bld.env[v.upper()] = getattr(Options.options, v)


def _install_data(bld):
    prefix = bld.env.PREFIX
    headers = [h for h in bld.path.ant_glob('model/*/*.h') if not h.name.endswith('_internal.h')]
    for h in headers:
        bld.install_files(prefix + '/include/rnicsim/' + h.parent.name, [h])
    bld.install_files(prefix + '/share/rnicsim/scenarios', bld.path.ant_glob('scenarios/**/*'), cwd=bld.path.find_dir('scenarios'), relative_trick=True)
    man = bld.path.find_resource('doc/rnicsim.1')
    if man:
        bld.install_files(prefix + '/share/man/man1', [man])
    pc = bld.bldnode.make_node('rnicsim.pc')
    pc.write('prefix=%s\nlibdir=%s\nincludedir=${prefix}/include\n\nName: rnicsim\nDescription: RDMA network card simulation library\n'
             'Version: %s\nLibs: -L${libdir} -lrnic -lm -lz\nCflags: -I${includedir}/rnicsim\n' % (prefix, bld.env.LIBDIR, VERSION))
    bld.install_files('${LIBDIR}/pkgconfig', [pc])


class tests_context(Build.BuildContext):
    '''builds everything with all test programs'''
    cmd = 'build_tests'


def _run(*commands):
    """Queue waf commands to run before the one that is being asked for."""
    Options.commands[:0] = list(commands)


def demo(ctx):
    'installs, builds, runs the default comparison and prints its table'
    _run('build', 'run_demo')


def run_demo(ctx):
    '(second half of demo)'
    cmd = ['build/rnicsim', 'run', 'scenarios/routed-vs-lossless.xml', '--out', 'out/routed-vs-lossless']
    Logs.info(' '.join(cmd))
    sys.stdout.flush()
    if subprocess.call(cmd) != 0:
        ctx.fatal('the demo failed')


def test(ctx):
    'installs, builds and runs all tests (--long: everything)'
    _run('build_tests', 'run_tests')


def check(ctx):
    'what CI runs beyond test: both compilers, sanitizers, a short fuzz'
    _run('build_clang', 'build_asan', 'build_fuzz', 'run_asan', 'run_fuzz')


class Tally(object):
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.failures = []


def _tests(variant):
    """(name, argv, kind) of each test program and script."""
    base = 'build' + ('/' + variant if variant else '')
    found = []
    for dirpath, dirs, files in sorted(os.walk('test')):
        dirs.sort()
        for f in sorted(files):
            name = os.path.join(dirpath, f)
            if name.startswith('test/fuzz') or name.startswith('test/tools'):
                continue
            stem, ext = os.path.splitext(name)
            if f.startswith('test_') and ext in ('.c', '.cc'):
                exe = os.path.join(base, stem)
                if os.path.exists(exe):
                    found.append((stem, [exe]))
            elif f.startswith('check_') and ext == '.sh' and not variant:
                found.append((stem, ['sh', name]))
    return found


def _count(output, code):
    """cmocka's `[  PASSED  ] 3 test(s).`, or lines `ok NAME` / `not ok NAME` / `skip NAME`, else the exit code."""
    ok = sum(int(n) for n in re.findall(r'\[  PASSED  \] (\d+) test', output))
    bad = len(re.findall(r'^\[  FAILED  \] (?!\d+ test|tests:)\S', output, re.M))
    ok += len(re.findall(r'^ok ', output, re.M))
    skip = len(re.findall(r'^skip ', output, re.M))
    bad += len(re.findall(r'^not ok ', output, re.M))
    bad_sum = re.findall(r'\[  FAILED  \] (\d+) test', output) or re.findall(r'^ *(\d+) FAILED TEST', output, re.M)
    if bad_sum:
        bad = sum(int(n) for n in bad_sum) # each failed name is printed twice
    if code != 0 and bad == 0:
        bad = 1
    if ok + bad + skip == 0:
        ok = 1
    return ok, bad, skip


def _run_all(jobs, env, timeout):
    tally = Tally()
    if not jobs:
        Logs.error('no test matches --only %s' % Options.options.only)
        tally.failed = 1
    pending, running = list(jobs), []
    total, done = len(pending), 0
    njobs = max(1, Options.options.jobs or os.cpu_count() or 1)
    while pending or running:
        while pending and len(running) < njobs:
            name, argv = pending.pop(0)
            log = os.path.join('build', 'logs', name.replace('/', '_') + '.log')
            os.makedirs(os.path.dirname(log), exist_ok=True)
            f = open(log, 'wb')
            p = subprocess.Popen(argv, stdout=f, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=env)
            running.append((name, p, log, f, time.time()))
        time.sleep(0.02)
        for r in list(running):
            name, p, log, f, t0 = r
            late = time.time() - t0 > timeout
            if p.poll() is None and not late:
                continue
            if late:
                p.kill()
                p.wait()
            f.close()
            running.remove(r)
            done += 1
            with open(log, 'rb') as g:
                output = g.read().decode('utf-8', 'replace')
            ok, bad, skip = _count(output, p.returncode)
            tally.passed += ok
            tally.failed += bad
            tally.skipped += skip
            word = 'FAIL' if bad else 'ok'
            print('[%3d/%d] %-4s %-44s %4d passed %s%s %6.1f s' % (done, total, word, name, ok, '%d failed ' % bad if bad else '',
                  '%d skipped' % skip if skip else '', time.time() - t0))
            if bad:
                tally.failures.append(name)
                print('\n'.join(output.splitlines()[-40:]))
                if late:
                    print('  timed out after %d s' % timeout)
            sys.stdout.flush()
    return tally


def _closing(ctx, tally):
    if tally.failures:
        print('failed: ' + ' '.join(tally.failures))
    print('%d passed, %d failed%s' % (tally.passed, tally.failed, ', %d skipped' % tally.skipped if tally.skipped else ''))
    sys.stdout.flush()
    if tally.failed:
        ctx.fatal('tests failed')


def _environment():
    env = dict(os.environ)
    env['RNICSIM'] = os.path.abspath('build/rnicsim')
    env['RNICSIM_TOP'] = os.getcwd()
    if Options.options.long:
        env['RNICSIM_TEST_LONG'] = '1'
    return env


def run_tests(ctx):
    '(second half of test)'
    jobs = [j for j in _tests('') if Options.options.only in j[0]]
    _closing(ctx, _run_all(jobs, _environment(), 3600 if Options.options.long else 600))


def run_asan(ctx):
    '(part of check) the tests under AddressSanitizer and UndefinedBehaviorSanitizer'
    env = _environment()
    env['ASAN_OPTIONS'] = 'detect_leaks=1:abort_on_error=0'
    env['UBSAN_OPTIONS'] = 'print_stacktrace=1'
    env['RNICSIM'] = os.path.abspath('build/asan/rnicsim')
    env['RNICSIM_SANITIZED'] = '1'
    # Long runs of a foreign TCP, most of whose time goes to the sanitizer's stack depot; ours is in test/tcp.
    unsanitized = ('test/ns3/test_tcp_compare',)
    # ns-3's singletons are never freed
    jobs = [(n, ['env', 'ASAN_OPTIONS=detect_leaks=0'] + a if n.startswith('test/ns3') else a) for n, a in _tests('asan')
            if Options.options.only in n and n not in unsanitized]
    _closing(ctx, _run_all([('asan ' + n, a) for n, a in jobs], env, 900))


def run_fuzz(ctx):
    '(part of check) each fuzzer for a short while (--long: 10 CPU-minutes each)'
    seconds = 600 if Options.options.long else 10
    jobs = []
    d = 'build/fuzz/test/fuzz'
    for f in sorted(os.listdir(d)) if os.path.isdir(d) else []:
        if not f.startswith('fuzz_') or not os.access(os.path.join(d, f), os.X_OK) or os.path.isdir(os.path.join(d, f)) or f.endswith('.o'):
            continue
        corpus = 'test/fuzz/corpus/' + f[len('fuzz_'):]
        work = os.path.abspath('build/fuzz/work/' + f)
        os.makedirs(work, exist_ok=True)
        jobs.append((f, [os.path.join(d, f), '-max_total_time=%d' % seconds, '-timeout=10', '-rss_limit_mb=4096', '-print_final_stats=1',
                         '-artifact_prefix=' + work + '/', work] + ([corpus] if os.path.isdir(corpus) else [])))
    _closing(ctx, _run_all(jobs, _environment(), seconds + 120))
