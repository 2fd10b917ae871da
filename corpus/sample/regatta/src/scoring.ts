/** From finishing times to points, and from points to standings. */

import type { Boat, Code, Race, Series } from "./types.js";

export interface Score {
  points: number;
  code?: Code;
  discarded: boolean;
}

export interface Standing {
  place: number;
  boat: Boat;
  scores: Score[];
  total: number;
}

/** One discard for every four races that have been sailed. */
export function discardCount(races: number): number {
  return Math.floor(races / 4);
}

export function corrected(elapsed: number, rating: number): number {
  return (elapsed * 1000) / rating;
}

/** Seconds as h:mm:ss; fractions are cut off. */
export function clock(seconds: number): string {
  const whole = Math.floor(seconds);
  const two = (n: number) => String(n).padStart(2, "0");
  return `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
}

/**
 * Points of one race by sail number. Boats with the same corrected time share
 * the points of their places.
 */
export function scoreRace(race: Race, boats: Boat[]): Map<string, Score> {
  const finishOf = new Map(race.finishes.map((finish) => [finish.sail, finish]));
  const scores = new Map<string, Score>();
  const timed: { sail: string; time: number }[] = [];
  const codes: { sail: string; code: Code }[] = [];

  for (const boat of boats) {
    const finish = finishOf.get(boat.sail);
    if (finish?.elapsed !== undefined) {
      timed.push({ sail: boat.sail, time: corrected(finish.elapsed, boat.rating) });
    } else {
      codes.push({ sail: boat.sail, code: finish?.code ?? "DNC" });
    }
  }

  timed.sort((a, b) => a.time - b.time);
  for (let first = 0; first < timed.length; ) {
    let last = first;
    while (last + 1 < timed.length && timed[last + 1].time === timed[first].time) {
      last += 1;
    }
    const shared = (first + 1 + last + 1) / 2;
    for (let i = first; i <= last; i += 1) {
      scores.set(timed[i].sail, { points: shared, discarded: false });
    }
    first = last + 1;
  }

  const starters = timed.length + codes.filter(({ code }) => code === "DNF" || code === "DSQ").length;
  const pointsFor: Record<Code, number> = {
    DNC: boats.length + 1,
    DNS: starters + 1,
    DNF: starters + 1,
    DSQ: starters + 2,
  };
  for (const { sail, code } of codes) {
    scores.set(sail, { points: pointsFor[code], code, discarded: false });
  }
  return scores;
}

/** Marks the worst results, the earliest first if they are equal. */
function discardWorst(scores: Score[], count: number): void {
  const worst = scores
    .filter((score) => score.code !== "DSQ")
    .sort((a, b) => b.points - a.points)
    .slice(0, count);
  for (const score of worst) {
    score.discarded = true;
  }
}

function total(scores: Score[]): number {
  return scores.reduce((sum, score) => (score.discarded ? sum : sum + score.points), 0);
}

/** Below zero if a is better than b; zero only for a tie nothing can break. */
function compare(a: Standing, b: Standing): number {
  if (a.total !== b.total) {
    return a.total - b.total;
  }
  const sorted = (s: Standing) =>
    s.scores.filter((score) => !score.discarded).map((score) => score.points).sort((x, y) => x - y);
  const [left, right] = [sorted(a), sorted(b)];
  for (let i = 0; i < Math.min(left.length, right.length); i += 1) {
    if (left[i] !== right[i]) {
      return left[i] - right[i];
    }
  }
  const last = (s: Standing) => s.scores.at(-1)?.points ?? 0;
  return last(a) - last(b);
}

export function standings(series: Series, withDiscards = true): Standing[] {
  const races = series.races.map((race) => scoreRace(race, series.boats));
  const count = withDiscards ? discardCount(races.length) : 0;

  const table = series.boats.map((boat): Standing => {
    const scores = races.map((race) => {
      const score = race.get(boat.sail);
      if (score === undefined) {
        throw new Error(`no score for ${boat.sail}`);
      }
      return score;
    });
    discardWorst(scores, count);
    return { place: 0, boat, scores, total: total(scores) };
  });

  table.sort(compare);
  table.forEach((standing, index) => {
    const above = table[index - 1];
    standing.place = above && compare(above, standing) === 0 ? above.place : index + 1;
  });
  return table;
}
