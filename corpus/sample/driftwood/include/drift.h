/*
 * drift.h - moving particles over a grid of currents
 *
 * All lengths are in metres, all times in seconds, all speeds in metres per
 * second. The origin is the south-west corner; x points east and y north.
 */
#ifndef DRIFT_H
#define DRIFT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define DRIFT_MAX_SIDE 4096

enum drift_error {
	DRIFT_OK = 0,
	DRIFT_ERROR_MEMORY,
	DRIFT_ERROR_HEADER,	/* first line is not "drift WIDTH HEIGHT CELL" */
	DRIFT_ERROR_SIZE,	/* width, height or cell size out of range */
	DRIFT_ERROR_CELL,	/* a cell is missing or not two numbers */
	DRIFT_ERROR_EXTRA	/* something comes after the last cell */
};

struct drift_vector {
	double x;
	double y;
};

struct drift_grid {
	size_t width;
	size_t height;
	double cell;			/* length of a side of a cell */
	struct drift_vector *current;	/* width * height, row by row from the south */
	unsigned char *land;		/* 1 where there is land */
};

enum drift_status {
	DRIFT_AFLOAT,
	DRIFT_ASHORE,
	DRIFT_GONE		/* left the grid */
};

struct drift_particle {
	struct drift_vector at;
	double age;
	enum drift_status status;
};

/* A small generator of random numbers; the state must not be zero. */
struct drift_random {
	uint64_t state;
};

/* Reads a grid. On an error, *line is the number of the line it is in. */
enum drift_error drift_grid_read(struct drift_grid *grid, FILE *in, unsigned long *line);
void drift_grid_free(struct drift_grid *grid);

/* The current at a point, smoothed between the centres of four cells. */
struct drift_vector drift_current(const struct drift_grid *grid, struct drift_vector at);

/* Is there land at this point? Points outside of the grid have none. */
int drift_is_land(const struct drift_grid *grid, struct drift_vector at);

/* Moves one particle on by a step, if it is still afloat. */
void drift_step(const struct drift_grid *grid, struct drift_particle *p,
		struct drift_vector wind, double spread, double seconds,
		struct drift_random *random);

void drift_random_seed(struct drift_random *random, uint64_t seed);
double drift_random_unit(struct drift_random *random);	/* 0 <= x < 1 */

const char *drift_strerror(enum drift_error error);

#endif
