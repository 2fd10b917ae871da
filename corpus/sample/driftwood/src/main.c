#include "drift.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct options {
	unsigned long count;
	double hours;
	double step;
	double spread;
	struct drift_vector wind;
	uint64_t seed;
	const char *path;
};

static void usage(FILE *out)
{
	fputs("usage: drift [options] GRID\n"
	      "  -n COUNT   particles to release (100)\n"
	      "  -t HOURS   length of the run (24)\n"
	      "  -d SECONDS length of a step (60)\n"
	      "  -k SPREAD  diffusion in square metres per second (0.5)\n"
	      "  -w X,Y     wind in metres per second (0,0)\n"
	      "  -s SEED    seed of the random walk\n",
	      out);
}

static int parse_double(const char *text, double low, double high, double *out)
{
	char *end;

	errno = 0;
	*out = strtod(text, &end);
	return errno == 0 && end != text && *end == '\0' && *out >= low && *out <= high;
}

static int parse_options(int argc, char **argv, struct options *opt)
{
	double number;
	char rest;

	for (int i = 1; i < argc; i++) {
		const char *arg = argv[i];

		if (arg[0] != '-') {
			if (opt->path != NULL)
				return 0;
			opt->path = arg;
			continue;
		}
		if (strlen(arg) != 2 || i + 1 == argc)
			return 0;
		const char *value = argv[++i];
		switch (arg[1]) {
		case 'n':
			if (!parse_double(value, 1, 1e6, &number))
				return 0;
			opt->count = (unsigned long)number;
			break;
		case 't':
			if (!parse_double(value, 0, 24 * 365, &opt->hours))
				return 0;
			break;
		case 'd':
			if (!parse_double(value, 0.1, 3600, &opt->step))
				return 0;
			break;
		case 'k':
			if (!parse_double(value, 0, 1000, &opt->spread))
				return 0;
			break;
		case 'w':
			if (sscanf(value, "%lf,%lf%c", &opt->wind.x, &opt->wind.y, &rest) != 2)
				return 0;
			break;
		case 's':
			opt->seed = strtoull(value, NULL, 10);
			break;
		default:
			return 0;
		}
	}
	return opt->path != NULL;
}

static const char *status_name(enum drift_status status)
{
	switch (status) {
	case DRIFT_AFLOAT:
		return "afloat";
	case DRIFT_ASHORE:
		return "ashore";
	case DRIFT_GONE:
		return "gone";
	}
	return "?";
}

/* Puts a particle on water, anywhere in the grid. */
static int release(const struct drift_grid *grid, struct drift_particle *p,
		   struct drift_random *random)
{
	for (int attempt = 0; attempt < 10000; attempt++) {
		p->at.x = drift_random_unit(random) * grid->cell * (double)grid->width;
		p->at.y = drift_random_unit(random) * grid->cell * (double)grid->height;
		if (!drift_is_land(grid, p->at)) {
			p->age = 0;
			p->status = DRIFT_AFLOAT;
			return 1;
		}
	}
	return 0;
}

static int run(const struct drift_grid *grid, const struct options *opt)
{
	unsigned long counts[3] = { 0, 0, 0 };
	struct drift_random random;

	drift_random_seed(&random, opt->seed);
	printf("particle,x,y,hours,status\n");
	for (unsigned long i = 0; i < opt->count; i++) {
		struct drift_particle p;

		if (!release(grid, &p, &random)) {
			fprintf(stderr, "drift: error: the grid is all land\n");
			return EXIT_FAILURE;
		}
		while (p.status == DRIFT_AFLOAT && p.age < opt->hours * 3600)
			drift_step(grid, &p, opt->wind, opt->spread, opt->step, &random);
		counts[p.status]++;
		printf("%lu,%.1f,%.1f,%.2f,%s\n", i + 1, p.at.x, p.at.y, p.age / 3600,
		       status_name(p.status));
	}
	fprintf(stderr, "afloat %lu, ashore %lu, gone %lu\n", counts[DRIFT_AFLOAT],
		counts[DRIFT_ASHORE], counts[DRIFT_GONE]);
	return ferror(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct options opt = { .count = 100, .hours = 24, .step = 60, .spread = 0.5 };
	struct drift_grid grid;
	unsigned long line;

	if (!parse_options(argc, argv, &opt)) {
		usage(stderr);
		return 2;
	}
	FILE *in = fopen(opt.path, "rb");
	if (in == NULL) {
		fprintf(stderr, "drift: %s: %s\n", opt.path, strerror(errno));
		return EXIT_FAILURE;
	}
	enum drift_error error = drift_grid_read(&grid, in, &line);
	fclose(in);
	if (error != DRIFT_OK) {
		fprintf(stderr, "drift: %s:%lu: error: %s\n", opt.path, line, drift_strerror(error));
		return EXIT_FAILURE;
	}
	int result = run(&grid, &opt);
	drift_grid_free(&grid);
	return result;
}
