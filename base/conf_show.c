#include <stdio.h>

#include "base/conf_int.h"

static const char *
arg_of(const struct conf_item *i)
{
	if (i->arg)
		return i->arg;
	return i->kind == CONF_BOOL ? "on|off" : "VALUE";
}

static void
show_help(const struct conf *c)
{
	printf("Usage: %s [OPTION]...\n\n"
	       "Each option is also a setting of the --config file and an "
	       "environment\nvariable: an option overrides the variable, "
	       "that the file, that the default.\n\n",
	    c->program);
	printf("  --config FILE\n      Read settings from this file.\n");
	for (const struct conf_item *i = c->items; i->name; i++) {
		printf("  %s", conf_flag(c->arena, i->name));
		if (i->kind != CONF_BOOL)
			printf(" %s", arg_of(i));
		printf("\n      %s", i->help);
		if (i->dflt && *i->dflt)
			printf(" (default: %s)", i->dflt);
		printf("\n");
	}
	printf("  --print-config\n      Print the settings in effect as a "
	       "file, and where each came from.\n"
	       "  --print-manual\n      Print the options for the manual "
	       "page.\n"
	       "  --version\n  --help\n");
}

/* Section of a name, with its dot. */
static struct str
section_of(const char *name)
{
	const char *dot = strrchr(name, '.');

	return str_of(name, dot ? (size_t)(dot - name) + 1 : 0);
}

static void
show_item(const struct conf *c, size_t at, struct str section)
{
	const struct value *v = &c->values[at];
	const char *name = c->items[at].name + section.len;

	/* What the table says is a comment, so that a later default counts. */
	if (strcmp(v->source, "default") == 0)
		printf("; %s = %s\n", name, v->text);
	else
		printf("; from %s\n%s = %s\n", v->source, name, v->text);
}

/* A file that has the same effect. Items outside sections must come first. */
static void
show_config(const struct conf *c)
{
	bool *done = NEW_N(c->arena, bool, c->count);

	for (size_t i = 0; i < c->count; i++)
		if (section_of(c->items[i].name).len == 0) {
			show_item(c, i, STR_NONE);
			done[i] = true;
		}
	for (size_t i = 0; i < c->count; i++) {
		struct str section = section_of(c->items[i].name);

		if (done[i])
			continue;
		printf("\n[%.*s]\n", (int)section.len - 1, section.p);
		for (size_t k = i; k < c->count; k++)
			if (str_eq(section_of(c->items[k].name), section)) {
				show_item(c, k, section);
				done[k] = true;
			}
	}
}

/* Text that man(7) does not take for a macro. */
static void
show_escaped(const char *s)
{
	if (*s == '.' || *s == '\'')
		printf("\\&");
	for (; *s; s++)
		if (*s == '\\')
			printf("\\e");
		else if (*s == '-')
			printf("\\-");
		else
			putchar(*s);
}

static void
show_manual(const struct conf *c)
{
	for (const struct conf_item *i = c->items; i->name; i++) {
		printf(".TP\n\\fB");
		show_escaped(conf_flag(c->arena, i->name));
		printf("\\fR");
		if (i->kind != CONF_BOOL)
			printf(" \\fI%s\\fR", arg_of(i));
		printf("\n");
		show_escaped(i->help);
		printf("\nSetting\n.BR %s ,\nvariable\n.BR %s", i->name,
		    conf_env(c->arena, i->name));
		if (i->dflt && *i->dflt) {
			printf(" ;\ndefault: ");
			show_escaped(i->dflt);
			printf(".\n");
		} else {
			printf(" .\n");
		}
	}
}

void
conf_show(const struct conf *c, enum conf_action action)
{
	switch (action) {
	case CONF_RUN:
		break;
	case CONF_HELP:
		show_help(c);
		break;
	case CONF_VERSION:
		printf(
		    "%s (%s) %s\n", c->program, PACKAGE_NAME, PACKAGE_VERSION);
		break;
	case CONF_PRINT:
		show_config(c);
		break;
	case CONF_MANUAL:
		show_manual(c);
		break;
	}
}
