#include "drift.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How much of the wind's speed a floating log takes up. */
static const double LEEWAY = 0.03;

#define LINE_SIZE 256

/*
 * Reads the next line that is neither empty nor a comment. Returns 0 at the end
 * of the file. Takes line ends of either kind.
 */
static int next_line(FILE *in, char *buffer, unsigned long *line)
{
	while (fgets(buffer, LINE_SIZE, in) != NULL) {
		++*line;
		buffer[strcspn(buffer, "\r\n")] = '\0';
		const char *start = buffer + strspn(buffer, " \t");
		if (*start != '\0' && *start != '#')
			return 1;
	}
	return 0;
}

static enum drift_error read_cell(struct drift_grid *grid, size_t index, const char *text)
{
	double x, y;
	char rest;

	if (strcmp(text, "land") == 0) {
		grid->land[index] = 1;
		return DRIFT_OK;
	}
	if (sscanf(text, "%lf %lf %c", &x, &y, &rest) != 2 || !isfinite(x) || !isfinite(y))
		return DRIFT_ERROR_CELL;
	grid->current[index].x = x;
	grid->current[index].y = y;
	return DRIFT_OK;
}

enum drift_error drift_grid_read(struct drift_grid *grid, FILE *in, unsigned long *line)
{
	char buffer[LINE_SIZE];
	unsigned long width, height;
	double cell;
	enum drift_error error;

	memset(grid, 0, sizeof *grid);
	*line = 0;

	if (!next_line(in, buffer, line) ||
	    sscanf(buffer, "drift %lu %lu %lf", &width, &height, &cell) != 3)
		return DRIFT_ERROR_HEADER;
	if (width < 1 || width > DRIFT_MAX_SIDE || height < 1 || height > DRIFT_MAX_SIDE ||
	    !(cell > 0) || !isfinite(cell))
		return DRIFT_ERROR_SIZE;

	grid->width = width;
	grid->height = height;
	grid->cell = cell;
	grid->current = calloc(width * height, sizeof *grid->current);
	grid->land = calloc(width * height, 1);
	if (grid->current == NULL || grid->land == NULL) {
		error = DRIFT_ERROR_MEMORY;
		goto fail;
	}

	for (size_t i = 0; i < width * height; i++) {
		if (!next_line(in, buffer, line)) {
			error = DRIFT_ERROR_CELL;
			goto fail;
		}
		error = read_cell(grid, i, buffer);
		if (error != DRIFT_OK)
			goto fail;
	}
	if (next_line(in, buffer, line)) {
		error = DRIFT_ERROR_EXTRA;
		goto fail;
	}
	return DRIFT_OK;

fail:
	drift_grid_free(grid);
	return error;
}

void drift_grid_free(struct drift_grid *grid)
{
	free(grid->current);
	free(grid->land);
	memset(grid, 0, sizeof *grid);
}

static size_t clamp(double value, size_t count)
{
	if (value < 0)
		return 0;
	if (value > (double)(count - 1))
		return count - 1;
	return (size_t)value;
}

static int inside(const struct drift_grid *grid, struct drift_vector at)
{
	return at.x >= 0 && at.y >= 0 &&
	       at.x < grid->cell * (double)grid->width &&
	       at.y < grid->cell * (double)grid->height;
}

int drift_is_land(const struct drift_grid *grid, struct drift_vector at)
{
	if (!inside(grid, at))
		return 0;
	size_t column = clamp(at.x / grid->cell, grid->width);
	size_t row = clamp(at.y / grid->cell, grid->height);
	return grid->land[row * grid->width + column];
}

struct drift_vector drift_current(const struct drift_grid *grid, struct drift_vector at)
{
	/* Values belong to the centres of cells, hence the half. */
	double gx = at.x / grid->cell - 0.5;
	double gy = at.y / grid->cell - 0.5;
	size_t left = clamp(floor(gx), grid->width);
	size_t below = clamp(floor(gy), grid->height);
	size_t right = clamp(floor(gx) + 1, grid->width);
	size_t above = clamp(floor(gy) + 1, grid->height);
	double fx = gx - floor(gx);
	double fy = gy - floor(gy);

	const struct drift_vector *low = grid->current + below * grid->width;
	const struct drift_vector *high = grid->current + above * grid->width;
	struct drift_vector result = {
		(1 - fy) * ((1 - fx) * low[left].x + fx * low[right].x) +
			fy * ((1 - fx) * high[left].x + fx * high[right].x),
		(1 - fy) * ((1 - fx) * low[left].y + fx * low[right].y) +
			fy * ((1 - fx) * high[left].y + fx * high[right].y),
	};
	return result;
}

void drift_step(const struct drift_grid *grid, struct drift_particle *p,
		struct drift_vector wind, double spread, double seconds,
		struct drift_random *random)
{
	if (p->status != DRIFT_AFLOAT)
		return;

	/* Midpoint rule: look at the current half a step ahead. */
	struct drift_vector here = drift_current(grid, p->at);
	struct drift_vector half = {
		p->at.x + here.x * seconds / 2,
		p->at.y + here.y * seconds / 2,
	};
	struct drift_vector flow = drift_current(grid, half);

	/* A random walk; its width grows with the root of time. */
	double width = sqrt(2 * spread * seconds * 3);
	double sx = (2 * drift_random_unit(random) - 1) * width;
	double sy = (2 * drift_random_unit(random) - 1) * width;

	/* FIXME: a long step can jump over a single cell of land. */
	p->at.x += (flow.x + LEEWAY * wind.x) * seconds + sx;
	p->at.y += (flow.y + LEEWAY * wind.y) * seconds + sy;
	p->age += seconds;

	if (!inside(grid, p->at))
		p->status = DRIFT_GONE;
	else if (drift_is_land(grid, p->at))
		p->status = DRIFT_ASHORE;
}

void drift_random_seed(struct drift_random *random, uint64_t seed)
{
	random->state = seed != 0 ? seed : 123456789;
}

double drift_random_unit(struct drift_random *random)
{
	uint64_t x = random->state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	random->state = x;
	return (double)(x >> 11) / 9007199254740992.0;
}

const char *drift_strerror(enum drift_error error)
{
	switch (error) {
	case DRIFT_OK:
		return "no error";
	case DRIFT_ERROR_MEMORY:
		return "out of memory";
	case DRIFT_ERROR_HEADER:
		return "expected \"drift WIDTH HEIGHT CELL\"";
	case DRIFT_ERROR_SIZE:
		return "width, height or cell size out of range";
	case DRIFT_ERROR_CELL:
		return "expected two numbers or \"land\"";
	case DRIFT_ERROR_EXTRA:
		return "more cells than width times height";
	}
	return "unknown error";
}
