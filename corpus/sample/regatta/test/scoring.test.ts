import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { clock, corrected, discardCount, scoreRace, standings } from "../src/scoring.js";
import { DataError, parseSeries, type Boat, type Race, type Series } from "../src/types.js";

const boats: Boat[] = [
  { sail: "GBR 1", name: "Kittiwake", rating: 1000 },
  { sail: "GBR 2", name: "Sanderling", rating: 1000 },
  { sail: "NED 3", name: "Wulp", rating: 1100 },
];

function race(...finishes: (number | Race["finishes"][number]["code"])[]): Race {
  return {
    date: "2024-09-07",
    finishes: finishes.map((finish, index) =>
      typeof finish === "number"
        ? { sail: boats[index].sail, elapsed: finish }
        : { sail: boats[index].sail, code: finish },
    ),
  };
}

function points(r: Race): number[] {
  const scores = scoreRace(r, boats);
  return boats.map((boat) => scores.get(boat.sail)!.points);
}

describe("clock", () => {
  it("writes hours, minutes and seconds", () => {
    assert.equal(clock(0), "0:00:00");
    assert.equal(clock(3725.9), "1:02:05");
    assert.equal(clock(123456789), "34293:33:09");
  });
});

describe("scoreRace", () => {
  it("corrects by handicap", () => {
    assert.equal(corrected(1100, 1100), 1000);
    assert.deepEqual(points(race(1010, 1020, 1100)), [2, 3, 1]);
  });

  it("shares points between equal times", () => {
    assert.deepEqual(points(race(1000, 1000, 2200)), [1.5, 1.5, 3]);
    assert.deepEqual(points(race(1000, 1000, 1100)), [2, 2, 2]);
  });

  it("scores the codes", () => {
    assert.deepEqual(points(race(1000, "DNF", "DSQ")), [1, 4, 5]);
    assert.deepEqual(points(race(1000, "DNS", "DNC")), [1, 2, 4]);
    assert.deepEqual(points(race(1000)), [1, 4, 4]);
  });
});

describe("standings", () => {
  const series = (...races: Race[]): Series => ({ name: "Test", boats, races });
  const order = (s: Series, discards?: boolean) =>
    standings(s, discards).map(({ place, boat }) => `${place} ${boat.name}`);

  it("is a tie before the first race", () => {
    assert.deepEqual(order(series()), ["1 Kittiwake", "1 Sanderling", "1 Wulp"]);
  });

  it("breaks a tie by the last race", () => {
    const s = series(race(1000, 1001, 2000), race(1001, 1000, 2000));
    assert.deepEqual(order(s), ["1 Sanderling", "2 Kittiwake", "3 Wulp"]);
  });

  it("discards one of four, but no disqualification", () => {
    assert.deepEqual([0, 3, 4, 7, 8].map(discardCount), [0, 0, 1, 1, 2]);
    const good = race(1000, 1001, 2000);
    assert.equal(order(series(good, good, good, race("DNF", 1000, 2000)))[0], "1 Kittiwake");
    assert.equal(order(series(good, good, good, race("DSQ", 1000, 2000)))[0], "1 Sanderling");
    const without = series(good, good, good, race("DNF", 1000, 2000));
    assert.equal(standings(without, false).find((s) => s.boat.sail === "GBR 1")?.total, 7);
  });
});

describe("parseSeries", () => {
  const boat = { sail: "GBR 1", name: "Kittiwake" };
  const cases: [string, unknown, RegExp][] = [
    ["no object", 42, /series: is not an object/],
    ["no name", { boats: [], races: [] }, /name: must be some text/],
    ["boats is no list", { name: "x", boats: {}, races: [] }, /boats: must be a list/],
    ["bad rating", { name: "x", boats: [{ ...boat, rating: -1 }], races: [] }, /boats\[0\]\.rating/],
    ["entered twice", { name: "x", boats: [boat, boat], races: [] }, /entered twice/],
    [
      "unknown code",
      { name: "x", boats: [boat], races: [{ date: "d", finishes: [{ sail: "GBR 1", code: "OCS" }] }] },
      /races\[0\]\.finishes\[0\]\.code: must be one of/,
    ],
    [
      "not entered",
      { name: "x", boats: [boat], races: [{ date: "d", finishes: [{ sail: "GBR 9", elapsed: 1 }] }] },
      /GBR 9 is not entered/,
    ],
  ];
  for (const [name, value, message] of cases) {
    it(`reports an error: ${name}`, () => {
      assert.throws(
        () => parseSeries(value),
        (error: unknown) => error instanceof DataError && message.test(error.message),
      );
    });
  }

  it("fills in a neutral rating", () => {
    const series = parseSeries({ name: "x", boats: [boat], races: [] });
    assert.equal(series.boats[0].rating, 1000);
  });
});
