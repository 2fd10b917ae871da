-- Beaches, walks along them, and what was found. Written for SQLite; PostgreSQL
-- takes it too, apart from the PRAGMA.

PRAGMA foreign_keys = ON;

BEGIN;

CREATE TABLE beach (
    id        INTEGER PRIMARY KEY,
    name      TEXT    NOT NULL UNIQUE,
    length_m  INTEGER NOT NULL CHECK (length_m > 0),
    facing    TEXT    NOT NULL CHECK (facing IN ('N', 'NE', 'E', 'SE', 'S', 'SW', 'W', 'NW'))
);

CREATE TABLE walk (
    id        INTEGER PRIMARY KEY,
    beach_id  INTEGER NOT NULL REFERENCES beach (id),
    day       DATE    NOT NULL,
    walker    TEXT    NOT NULL,
    minutes   INTEGER NOT NULL CHECK (minutes BETWEEN 1 AND 600),
    remarks   TEXT    NOT NULL DEFAULT '',
    UNIQUE (beach_id, day, walker)
);

CREATE TABLE find (
    id        INTEGER PRIMARY KEY,
    walk_id   INTEGER NOT NULL REFERENCES walk (id) ON DELETE CASCADE,
    kind      TEXT    NOT NULL CHECK (kind IN ('wood', 'rope', 'float', 'bottle', 'other')),
    amount    INTEGER NOT NULL DEFAULT 1 CHECK (amount > 0),
    tag       TEXT,
    -- TODO: a table of photographs instead of a single path.
    photo     TEXT
);

CREATE INDEX walk_by_day ON walk (day);
CREATE INDEX find_by_walk ON find (walk_id);

-- A tag is a number burnt into a log before it was released, so it may be found
-- more than once, but not twice on the same walk.
CREATE UNIQUE INDEX find_by_tag ON find (tag, walk_id) WHERE tag IS NOT NULL;

-- How much was found on every kilometre.
CREATE VIEW find_density AS
SELECT b.name                                        AS beach,
       w.day                                         AS day,
       f.kind                                        AS kind,
       SUM(f.amount)                                 AS amount,
       ROUND(SUM(f.amount) * 1000.0 / b.length_m, 2) AS per_km
  FROM find f
  JOIN walk w  ON w.id = f.walk_id
  JOIN beach b ON b.id = w.beach_id
 GROUP BY b.id, b.name, b.length_m, w.day, f.kind;

-- Where every tagged log was seen first and last.
CREATE VIEW tag_journey AS
SELECT f.tag          AS tag,
       COUNT(*)       AS sightings,
       MIN(w.day)     AS first_day,
       MAX(w.day)     AS last_day
  FROM find f
  JOIN walk w ON w.id = f.walk_id
 WHERE f.tag IS NOT NULL
 GROUP BY f.tag;

INSERT INTO beach (id, name, length_m, facing) VALUES
    (1, 'Long Strand',   2400, 'W'),
    (2, 'Cobble Cove',    350, 'SW'),
    (3, 'Harbour Sands',  900, 'S');

INSERT INTO walk (id, beach_id, day, walker, minutes, remarks) VALUES
    (1, 1, '2024-03-02', 'ines',  95, 'after the storm'),
    (2, 2, '2024-03-02', 'tomas', 30, ''),
    (3, 1, '2024-03-16', 'ines',  80, 'error in the first count, walked twice'),
    (4, 3, '2024-03-17', 'aoife', 50, 'low water at 11:20');

INSERT INTO find (walk_id, kind, amount, tag, photo) VALUES
    (1, 'wood',   14, NULL,        NULL),
    (1, 'wood',    1, '123456789', 'img/0311.jpg'),
    (1, 'rope',    6, NULL,        NULL),
    (2, 'bottle',  3, NULL,        NULL),
    (3, 'wood',    9, NULL,        NULL),
    (3, 'float',   2, NULL,        'img/0342.jpg'),
    (4, 'wood',    1, '123456789', 'img/0350.jpg'),
    (4, 'other',   1, NULL,        NULL);

COMMIT;
