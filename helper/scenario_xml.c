/* SPDX-License-Identifier: GPL-2.0-only */
/* From bytes to a tree with libxml2. Nothing is fetched from a network; a DOCTYPE is refused before libxml2 sees it, so that there
 * are no entities to expand; inclusions are bounded by the size that they could unfold to. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <libxml/xinclude.h>

#include "scenario_internal.h"

#define FILE_BYTES_MAX   (4u << 20)   /* a scenario is text that people write */
#define UNFOLDED_MAX     (64u << 20)
#define SOURCES_MAX      256u
#define DEPTH_MAX        64

#define PARSE_FLAGS (XML_PARSE_NONET | XML_PARSE_NOCDATA | XML_PARSE_BIG_LINES | XML_PARSE_NOXINCNODE | XML_PARSE_NOBASEFIX | XML_PARSE_COMPACT)

/* --- reading files --- */

static char *read_file(const char *path, size_t *len, char *err, size_t errlen)
{
    struct stat st;
    FILE *f = fopen(path, "rb");
    if (!f) {
        snprintf(err, errlen, "cannot be read: %s", strerror(errno));
        return NULL;
    }
    if (fstat(fileno(f), &st) == 0 && S_ISDIR(st.st_mode)) {
        snprintf(err, errlen, "is a directory, not a scenario file");
        fclose(f);
        return NULL;
    }
    char *bytes = malloc(FILE_BYTES_MAX + 1);
    if (!bytes)
        abort();
    *len = fread(bytes, 1, FILE_BYTES_MAX + 1, f);
    bool failed = ferror(f) != 0;
    int why = errno;
    fclose(f);
    if (failed || *len > FILE_BYTES_MAX) {
        if (failed)
            snprintf(err, errlen, "cannot be read: %s", strerror(why));
        else
            snprintf(err, errlen, "is larger than %u MiB", FILE_BYTES_MAX >> 20);
        free(bytes);
        return NULL;
    }
    char *fit = realloc(bytes, *len + 1);
    bytes = fit ? fit : bytes;
    bytes[*len] = '\0';
    return bytes;
}

static void keep_source(struct scenario_xml *x, const char *url, char *bytes, size_t len)
{
    struct scenario_source *s = calloc(1, sizeof *s);
    if (!s || !(s->url = strdup(url)))
        abort();
    s->bytes = bytes;
    s->len = len;
    s->next = x->sources;
    s->number = x->nsources++;
    x->sources = s;
    if (len > x->largest)
        x->largest = len;
}

static const struct scenario_source *find_source(const struct scenario_xml *x, const char *url)
{
    for (const struct scenario_source *s = x->sources; s; s = s->next)
        if (strcmp(s->url, url) == 0)
            return s;
    return NULL;
}

/* --- what may not stand in a file --- */

static int line_at(const char *bytes, const char *at)
{
    int line = 1;
    for (const char *p = bytes; p < at; p++)
        line += *p == '\n';
    return line;
}

static const char *find_in(const char *from, const char *end, const char *what)
{
    return from < end ? memmem(from, (size_t)(end - from), what, strlen(what)) : NULL;
}

static bool utf8_declared(const char *decl, const char *end)
{
    const char *enc = find_in(decl, end, "encoding");
    if (!enc)
        return true;
    while (enc < end && *enc != '"' && *enc != '\'')
        enc++;
    static const char *const accepted[] = { "UTF-8", "UTF8", "US-ASCII", "ASCII", NULL };
    for (int i = 0; accepted[i]; i++) {
        size_t n = strlen(accepted[i]);
        if ((size_t)(end - enc) > n + 1 && strncasecmp(enc + 1, accepted[i], n) == 0 && enc[n + 1] == *enc)
            return true;
    }
    return false;
}

/* The prolog: declarations, comments and processing instructions up to the first element, whose place goes to *root. */
static bool prolog_check(struct scenario_errors *e, const char *url, const char *bytes, size_t len, const char **root)
{
    const char *p = bytes, *end = bytes + len;
    if (memchr(bytes, 0, len)) {
        scenario_error(e, url, 1, "the file is not UTF-8 text (it holds zero bytes)");
        return false;
    }
    if (len >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
        p += 3;
    while (p < end) {
        const char *close;
        if (isspace((unsigned char)*p)) {
            p++;
        } else if (end - p > 4 && memcmp(p, "<!--", 4) == 0) {
            close = find_in(p + 4, end, "-->");
            p = close ? close + 3 : end;
        } else if (end - p > 2 && memcmp(p, "<?", 2) == 0) {
            close = find_in(p + 2, end, "?>");
            if (close && end - p > 5 && memcmp(p, "<?xml", 5) == 0 && !utf8_declared(p, close)) {
                scenario_error(e, url, line_at(bytes, p), "only UTF-8 is read; the file declares another encoding");
                return false;
            }
            p = close ? close + 2 : end;
        } else if (end - p > 2 && memcmp(p, "<!", 2) == 0) {
            scenario_error(e, url, line_at(bytes, p), "a DOCTYPE is not accepted: scenario files have no entities (use XInclude to share parts)");
            return false;
        } else {
            break;
        }
    }
    *root = p;
    return true;
}

static bool word_char(char c) { return isalnum((unsigned char)c) || c == '-' || c == '_' || c == ':' || c == '.'; }

/* libxml2 forgets which file an included element came from. So the root element of an included file is given an attribute with the
 * number of its source, on its own line; scenario_xml_load takes it off again. */
#define MARK "rnicsim_source"
static char *mark_root(const struct scenario_source *s, const char *root, size_t number, size_t *len)
{
    const char *end = s->bytes + s->len, *p = root < end ? root + 1 : end;
    char *marked = NULL;
    while (p < end && word_char(*p))
        p++;
    int head = (int)(p - s->bytes), tail = (int)(end - p);
    int n = asprintf(&marked, "%.*s " MARK "=\"%zu\"%.*s", head, s->bytes, number, tail, p);
    if (n < 0)
        abort();
    *len = (size_t)n;
    return marked;
}

static bool is_network_url(const char *url)
{
    const char *p = url;
    while (isalnum((unsigned char)*p) || *p == '+' || *p == '-' || *p == '.')
        p++;
    bool scheme = p - url > 1 && *p == ':';
    return scheme || strncmp(url, "//", 2) == 0;
}

/* Inclusions unfold at most to the product of their counts over the documents that include others. */
static bool expansion_check(struct scenario_xml *x, const char *url, const char *bytes, size_t len)
{
    uint64_t n = 0;
    for (const char *p = bytes, *end = bytes + len; (p = find_in(p, end, "include")) != NULL; p += 7)
        n++;
    if (n > 1)
        x->expansion *= n;
    if (x->expansion > UNFOLDED_MAX || x->expansion * (x->largest ? x->largest : 1) > UNFOLDED_MAX || x->nsources > SOURCES_MAX) {
        scenario_error(x->errors, url, 1, "the inclusions could unfold to more than %u MiB: nest them less", UNFOLDED_MAX >> 20);
        return false;
    }
    return true;
}

/* libxml2 asks for every included file here (its context's _private is ours). */
static xmlParserInputPtr load_entity(const char *url, const char *id, xmlParserCtxtPtr ctxt)
{
    (void)id;
    struct scenario_xml *x = ctxt ? ctxt->_private : NULL;
    if (!x || !url || x->errors->count)
        return NULL;
    if (is_network_url(url)) {
        scenario_error(x->errors, url, 0, "is not a local file: scenarios are read without network access");
        return NULL;
    }
    const struct scenario_source *have = find_source(x, url);
    const char *root;
    if (!have) {
        char why[160];
        size_t len;
        char *bytes = read_file(url, &len, why, sizeof why);
        if (!bytes) {
            scenario_error(x->errors, url, 0, "%s", why);
            return NULL;
        }
        keep_source(x, url, bytes, len);
        have = x->sources;
        if (!expansion_check(x, url, bytes, len))
            return NULL;
    }
    if (!prolog_check(x->errors, url, have->bytes, have->len, &root))
        return NULL;
    size_t marked_len;
    char *marked = mark_root(have, root, have->number, &marked_len);
    /* libxml2 copies into a buffer of its own only in this form */
    xmlParserInputBufferPtr buf = xmlAllocParserInputBuffer(XML_CHAR_ENCODING_UTF8);
    if (buf && xmlParserInputBufferPush(buf, (int)marked_len, marked) < 0) {
        xmlFreeParserInputBuffer(buf);
        buf = NULL;
    }
    free(marked);
    if (!buf)
        return NULL;
    xmlParserInputPtr in = xmlNewIOInputStream(ctxt, buf, XML_CHAR_ENCODING_UTF8);
    if (!in) {
        xmlFreeParserInputBuffer(buf);
        return NULL;
    }
    in->filename = (char *)xmlStrdup((const xmlChar *)url);
    return in;
}

/* --- parsing --- */

static void trim(char *s)
{
    size_t n = strlen(s);
    while (n > 0 && isspace((unsigned char)s[n - 1]))
        s[--n] = '\0';
}

static void on_error(void *ctx, xmlErrorPtr error)
{
    struct scenario_xml *x = ctx;
    char message[400];
    if (error->level < XML_ERR_ERROR || x->errors->count)
        return;                                 /* the first says it; what follows is its consequence */
    snprintf(message, sizeof message, "%s", error->message ? error->message : "not well-formed XML");
    trim(message);
    const char *file = error->file;
    int line = error->line;
    if (error->domain == XML_FROM_XINCLUDE && error->node) {
        file = scenario_xml_file(x, error->node);
        line = scenario_xml_line(x, error->node, NULL);
    }
    scenario_error(x->errors, file ? file : x->sources->url, line, "%s%s",
                   error->domain == XML_FROM_XINCLUDE ? "inclusion: " : "not well-formed XML: ", message);
}

#define XI_NS "http://www.w3.org/2001/XInclude"
#define XI_NS_OLD "http://www.w3.org/2003/XInclude"

static bool is_xinclude(const xmlNode *n)
{
    return n->type == XML_ELEMENT_NODE && n->ns && n->ns->href &&
           (xmlStrcmp(n->ns->href, BAD_CAST XI_NS) == 0 || xmlStrcmp(n->ns->href, BAD_CAST XI_NS_OLD) == 0);
}

/* Refuse what libxml2 would fetch in ways of its own, and trees deep enough to hurt recursion. */
static bool includes_check(const struct scenario_xml *x, const xmlNode *n, int depth)
{
    for (; n; n = n->next) {
        if (n->type != XML_ELEMENT_NODE)
            continue;
        if (depth > DEPTH_MAX) {
            scenario_xml_error(x, n, NULL, "elements are nested deeper than %d", DEPTH_MAX);
            return false;
        }
        if (is_xinclude(n)) {
            xmlChar *parse = xmlGetNoNsProp((xmlNode *)n, BAD_CAST "parse"), *href = xmlGetNoNsProp((xmlNode *)n, BAD_CAST "href");
            bool text = parse && xmlStrcmp(parse, BAD_CAST "xml") != 0, net = href && is_network_url((const char *)href);
            bool part = xmlHasProp((xmlNode *)n, BAD_CAST "xpointer") != NULL;
            if (part)
                scenario_xml_error(x, n, "xpointer", "inclusion of a part of a file is not accepted (no xpointer)");
            else if (text)
                scenario_xml_error(x, n, "parse", "inclusion of text is not accepted (only parse=\"xml\")");
            else if (net)
                scenario_xml_error(x, n, "href", "\"%s\" is not a local file: scenarios are read without network access", href);
            xmlFree(parse);
            xmlFree(href);
            if (text || net || part)
                return false;
        }
        if (!includes_check(x, n->children, depth + 1))
            return false;
    }
    return true;
}

static bool parse_main(struct scenario_xml *x, const struct scenario_source *s)
{
    xmlParserCtxtPtr ctxt = xmlNewParserCtxt();
    if (!ctxt)
        abort();
    ctxt->_private = x;
    x->doc = xmlCtxtReadMemory(ctxt, s->bytes, (int)s->len, s->url, "UTF-8", PARSE_FLAGS);
    xmlFreeParserCtxt(ctxt);
    if (!x->doc && !x->errors->count)
        scenario_error(x->errors, s->url, 1, "not well-formed XML");
    return x->doc && !x->errors->count;
}

static void take_marks_off(struct scenario_xml *x, xmlNode *n);

bool scenario_xml_load(struct scenario_xml *x, const char *bytes, size_t len, const char *name, struct scenario_errors *e)
{
    char why[160];
    memset(x, 0, sizeof *x);
    x->errors = e;
    x->expansion = 1;
    xmlInitParser();
    char *copy;
    if (bytes) {
        copy = malloc(len + 1);
        if (!copy)
            abort();
        memcpy(copy, bytes, len);
        copy[len] = '\0';
    } else if (!(copy = read_file(name, &len, why, sizeof why))) {
        scenario_error(e, name, 0, "%s", why);
        return false;
    }
    keep_source(x, name, copy, len);
    const struct scenario_source *s = x->sources;
    const char *root;
    if (!prolog_check(e, name, copy, len, &root) || !expansion_check(x, name, copy, len))
        return false;

    xmlExternalEntityLoader before = xmlGetExternalEntityLoader();
    xmlSetExternalEntityLoader(load_entity);
    xmlSetStructuredErrorFunc(x, on_error);
    bool ok = parse_main(x, s) && includes_check(x, xmlDocGetRootElement(x->doc), 0);
    if (ok) {
        int n = xmlXIncludeProcessTreeFlagsData(xmlDocGetRootElement(x->doc), PARSE_FLAGS, x);
        if (n < 0 && !e->count)
            scenario_error(e, name, 1, "an inclusion cannot be resolved");
        ok = n >= 0 && !e->count && includes_check(x, xmlDocGetRootElement(x->doc), 0);
    }
    xmlSetStructuredErrorFunc(NULL, NULL);
    xmlSetExternalEntityLoader(before);
    if (ok)
        take_marks_off(x, xmlDocGetRootElement(x->doc));
    return ok;
}

void scenario_xml_free(struct scenario_xml *x)
{
    xmlFreeDoc(x->doc);
    while (x->sources) {
        struct scenario_source *s = x->sources;
        x->sources = s->next;
        free(s->url);
        free(s->bytes);
        free(s);
    }
}

/* --- places --- */

/* The source of a marked element, before and after the mark is taken off. */
static const struct scenario_source *marked_source(const struct scenario_xml *x, const xmlNode *node)
{
    if (node->type != XML_ELEMENT_NODE)
        return NULL;
    if (node->_private)
        return node->_private;
    xmlChar *mark = xmlGetNoNsProp((xmlNode *)node, BAD_CAST MARK);
    size_t number = mark ? strtoul((const char *)mark, NULL, 10) : 0;
    xmlFree(mark);
    for (const struct scenario_source *s = x->sources; number && s; s = s->next)
        if (s->number == number)
            return s;
    return NULL;
}

static void take_marks_off(struct scenario_xml *x, xmlNode *n)
{
    for (; n; n = n->next) {
        if (n->type != XML_ELEMENT_NODE)
            continue;
        n->_private = (void *)marked_source(x, n);
        if (n->_private)
            xmlUnsetProp(n, BAD_CAST MARK);
        take_marks_off(x, n->children);
    }
}

const char *scenario_xml_file(const struct scenario_xml *x, const xmlNode *node)
{
    const struct scenario_source *s;
    for (const xmlNode *n = node; n && n->type == XML_ELEMENT_NODE; n = n->parent)
        if ((s = marked_source(x, n)) != NULL)
            return s->url;
    if (node && node->doc && node->doc != x->doc && node->doc->URL && (s = find_source(x, (const char *)node->doc->URL)) != NULL)
        return s->url;                          /* inside a file that is being included */
    for (s = x->sources; s->next; s = s->next)
        ;
    return s->url;                              /* the first one kept is the scenario */
}

/* libxml2 knows the line where a start tag ends. Its attributes may stand on lines before: look for them in the text. */
int scenario_xml_line(const struct scenario_xml *x, const xmlNode *node, const char *attribute)
{
    int line = (int)xmlGetLineNo((xmlNode *)node);
    const struct scenario_source *s = find_source(x, scenario_xml_file(x, node));
    if (!s || line < 1 || node->type != XML_ELEMENT_NODE)
        return line;
    const char *p = s->bytes, *end = s->bytes + s->len, *tag = NULL;
    for (int n = 1; n < line && p && p < end; n++)
        if ((p = memchr(p, '\n', (size_t)(end - p))))
            p++;
    if (!p)
        return line;
    const char *stop = memchr(p, '\n', (size_t)(end - p));
    stop = stop ? stop : end;
    /* the last "<name" at or before the end of that line */
    size_t n = strlen((const char *)node->name);
    for (const char *q = stop; q-- > s->bytes && !tag;)
        if (*q == '<' && (size_t)(end - q) > n + 1 && memcmp(q + 1, node->name, n) == 0 && !word_char(q[n + 1]))
            tag = q;
    if (!tag)
        return line;
    if (!attribute)
        return line_at(s->bytes, tag);
    size_t an = strlen(attribute);
    for (const char *q = tag + n; q + an < end && q < stop; q++) {
        if (memcmp(q, attribute, an) != 0 || !isspace((unsigned char)q[-1]))
            continue;
        const char *after = q + an;
        while (after < end && isspace((unsigned char)*after))
            after++;
        if (after < end && *after == '=')
            return line_at(s->bytes, q);
    }
    return line_at(s->bytes, tag);
}

void scenario_xml_error(const struct scenario_xml *x, const xmlNode *node, const char *attribute, const char *format, ...)
{
    char message[600];
    va_list ap;
    va_start(ap, format);
    vsnprintf(message, sizeof message, format, ap);
    va_end(ap);
    scenario_error(x->errors, scenario_xml_file(x, node), scenario_xml_line(x, node, attribute), "%s", message);
}
