use crate::{Constituent, Error, Instant, Result};

/// The tidal constants of one place.
#[derive(Debug, Clone, PartialEq)]
pub struct Station {
    /// Name for people.
    pub name: String,
    /// Mean water level above chart datum, in metres.
    pub datum: f64,
    /// Minutes that local time is ahead of UTC.
    pub zone: i32,
    /// The terms of the sum.
    pub constituents: Vec<Constituent>,
}

impl Station {
    /// Reads a station file. See the README for the format.
    pub fn parse(text: &str) -> Result<Station> {
        let mut name = None;
        let mut datum = None;
        let mut zone = 0;
        let mut constituents: Vec<Constituent> = Vec::new();

        for (index, raw) in text.lines().enumerate() {
            let number = index + 1;
            let line = raw.split('#').next().unwrap_or("").trim();
            if line.is_empty() {
                continue;
            }
            let (key, rest) = line
                .split_once(char::is_whitespace)
                .ok_or_else(|| Error::line(number, format!("nothing after {line:?}")))?;
            let rest = rest.trim();
            match key {
                "station" => name = Some(rest.to_string()),
                "datum" => datum = Some(number_in(rest, number)?),
                "zone" => {
                    zone = rest
                        .parse::<i32>()
                        .ok()
                        .filter(|z| z.abs() <= 14 * 60)
                        .ok_or_else(|| Error::line(number, format!("bad zone {rest:?}")))?;
                }
                _ => {
                    let c = constituent(key, rest, number)?;
                    if constituents.iter().any(|other| other.wave == c.wave) {
                        return Err(Error::line(number, format!("{key} is given twice")));
                    }
                    constituents.push(c);
                }
            }
        }

        if constituents.is_empty() {
            return Err(Error::Missing("constituent"));
        }
        Ok(Station {
            name: name.ok_or(Error::Missing("station"))?,
            datum: datum.ok_or(Error::Missing("datum"))?,
            zone,
            constituents,
        })
    }

    /// Predicted water level above chart datum, in metres.
    pub fn height(&self, at: Instant) -> f64 {
        self.datum + self.constituents.iter().map(|c| c.height(at)).sum::<f64>()
    }

    /// How fast the water rises, in metres per hour. Negative while it falls.
    pub fn rate(&self, at: Instant) -> f64 {
        self.constituents.iter().map(|c| c.rate(at)).sum()
    }

    /// No water level of this station is further from the datum than this.
    pub fn reach(&self) -> f64 {
        self.constituents.iter().map(|c| c.amplitude.abs()).sum()
    }
}

fn number_in(text: &str, line: usize) -> Result<f64> {
    text.parse::<f64>()
        .ok()
        .filter(|x| x.is_finite())
        .ok_or_else(|| Error::line(line, format!("{text:?} is not a number")))
}

fn constituent(name: &str, rest: &str, line: usize) -> Result<Constituent> {
    let wave = name
        .parse()
        .map_err(|error: Error| Error::line(line, error.to_string()))?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let [amplitude, phase] = fields[..] else {
        return Err(Error::line(
            line,
            format!("{name} needs an amplitude and a phase"),
        ));
    };
    let amplitude = number_in(amplitude, line)?;
    if amplitude < 0.0 {
        return Err(Error::line(line, "amplitude is negative"));
    }
    Ok(Constituent {
        wave,
        amplitude,
        // FIXME: phases are taken as they are; wrap them into 0..360.
        phase: number_in(phase, line)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Wave;

    #[test]
    fn reads_a_full_file() {
        let text = "# a comment\nstation  North Quay\ndatum 2.45 # metres\nzone +60\n\nM2 1.31 118.4\nK1 0.088 14.7\n";
        let station = Station::parse(text).unwrap();
        assert_eq!(station.name, "North Quay");
        assert_eq!(station.zone, 60);
        assert_eq!(station.constituents.len(), 2);
        assert_eq!(station.constituents[1].wave, Wave::K1);
        assert!((station.reach() - 1.398).abs() < 1e-12);
    }

    #[test]
    fn names_the_line_of_an_error() {
        let cases = [
            ("datum\n", "line 1: nothing after \"datum\""),
            ("datum deep\n", "line 1: \"deep\" is not a number"),
            ("\nzone 900\n", "line 2: bad zone \"900\""),
            ("X9 1 2\n", "line 1: unknown constituent \"X9\""),
            ("M2 1\n", "line 1: M2 needs an amplitude and a phase"),
            ("M2 1 2\nM2 1 2\n", "line 2: M2 is given twice"),
            ("M2 -1 2\n", "line 1: amplitude is negative"),
        ];
        for (text, want) in cases {
            let error = Station::parse(text).unwrap_err();
            assert_eq!(error.to_string(), want);
        }
    }

    #[test]
    fn misses_what_is_needed() {
        assert_eq!(Station::parse(""), Err(Error::Missing("constituent")));
        assert_eq!(Station::parse("M2 1 2"), Err(Error::Missing("station")));
    }
}
