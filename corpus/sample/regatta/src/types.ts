/** What the data files hold, and how to be sure that they do. */

export type Code = "DNC" | "DNS" | "DNF" | "DSQ";

export interface Boat {
  sail: string;
  name: string;
  /** Handicap; 1000 is neutral, a larger number is a faster boat. */
  rating: number;
}

export interface Finish {
  sail: string;
  /** Seconds from the start; absent if there is a code. */
  elapsed?: number;
  code?: Code;
}

export interface Race {
  date: string;
  finishes: Finish[];
}

export interface Series {
  name: string;
  boats: Boat[];
  races: Race[];
}

export class DataError extends Error {
  constructor(
    readonly where: string,
    reason: string,
  ) {
    super(`${where}: ${reason}`);
    this.name = "DataError";
  }
}

const CODES: readonly string[] = ["DNC", "DNS", "DNF", "DSQ"];

type Fields = Record<string, unknown>;

function fields(value: unknown, where: string): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new DataError(where, "is not an object");
  }
  return value as Fields;
}

function text(value: unknown, where: string): string {
  if (typeof value !== "string" || value.trim() === "") {
    throw new DataError(where, "must be some text");
  }
  return value;
}

function positive(value: unknown, where: string): number {
  if (typeof value !== "number" || !Number.isFinite(value) || value <= 0) {
    throw new DataError(where, "must be a number above zero");
  }
  return value;
}

function list<T>(value: unknown, where: string, each: (item: unknown, where: string) => T): T[] {
  if (!Array.isArray(value)) {
    throw new DataError(where, "must be a list");
  }
  return value.map((item, index) => each(item, `${where}[${index}]`));
}

function parseBoat(value: unknown, where: string): Boat {
  const boat = fields(value, where);
  return {
    sail: text(boat.sail, `${where}.sail`),
    name: text(boat.name, `${where}.name`),
    rating: positive(boat.rating ?? 1000, `${where}.rating`),
  };
}

function parseFinish(value: unknown, where: string): Finish {
  const finish = fields(value, where);
  const sail = text(finish.sail, `${where}.sail`);
  if (finish.code === undefined) {
    return { sail, elapsed: positive(finish.elapsed, `${where}.elapsed`) };
  }
  const code = text(finish.code, `${where}.code`);
  if (!CODES.includes(code)) {
    throw new DataError(`${where}.code`, `must be one of ${CODES.join(", ")}`);
  }
  return { sail, code: code as Code };
}

function parseRace(value: unknown, where: string): Race {
  const race = fields(value, where);
  return {
    date: text(race.date, `${where}.date`),
    finishes: list(race.finishes, `${where}.finishes`, parseFinish),
  };
}

/** Checks a whole file. Throws a DataError that names the first bad place. */
export function parseSeries(value: unknown): Series {
  const raw = fields(value, "series");
  const series = {
    name: text(raw.name, "name"),
    boats: list(raw.boats, "boats", parseBoat),
    races: list(raw.races, "races", parseRace),
  };

  const known = new Set<string>();
  for (const boat of series.boats) {
    if (known.has(boat.sail)) {
      throw new DataError("boats", `${boat.sail} is entered twice`);
    }
    known.add(boat.sail);
  }
  series.races.forEach((race, index) => {
    const seen = new Set<string>();
    for (const { sail } of race.finishes) {
      if (!known.has(sail)) {
        throw new DataError(`races[${index}]`, `${sail} is not entered`);
      }
      if (seen.has(sail)) {
        throw new DataError(`races[${index}]`, `${sail} finished twice`);
      }
      seen.add(sail);
    }
  });
  return series;
}
