use std::str::FromStr;

use crate::{Error, Instant};

/// A tidal wave with a known speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wave {
    /// Principal lunar, twice a day.
    M2,
    /// Principal solar, twice a day.
    S2,
    /// Larger lunar elliptic.
    N2,
    /// Declinational, twice a day.
    K2,
    /// Declinational, once a day.
    K1,
    /// Lunar, once a day.
    O1,
    /// Solar, once a day.
    P1,
    /// Overtide of M2 in shallow water.
    M4,
}

impl Wave {
    /// All waves, fastest last.
    pub const ALL: [Wave; 8] = [
        Wave::O1,
        Wave::P1,
        Wave::K1,
        Wave::N2,
        Wave::M2,
        Wave::S2,
        Wave::K2,
        Wave::M4,
    ];

    /// Speed in degrees per hour.
    pub fn speed(self) -> f64 {
        match self {
            Wave::M2 => 28.984_104_2,
            Wave::S2 => 30.0,
            Wave::N2 => 28.439_729_5,
            Wave::K2 => 30.082_137_3,
            Wave::K1 => 15.041_068_6,
            Wave::O1 => 13.943_035_6,
            Wave::P1 => 14.958_931_4,
            Wave::M4 => 57.968_208_4,
        }
    }

    /// Time from one crest to the next, in minutes.
    pub fn period(self) -> f64 {
        360.0 / self.speed() * 60.0
    }
}

impl FromStr for Wave {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Ok(match name {
            "M2" => Wave::M2,
            "S2" => Wave::S2,
            "N2" => Wave::N2,
            "K2" => Wave::K2,
            "K1" => Wave::K1,
            "O1" => Wave::O1,
            "P1" => Wave::P1,
            "M4" => Wave::M4,
            _ => return Err(Error::UnknownWave(name.to_string())),
        })
    }
}

/// One term of the sum: a wave with the amplitude and phase of a place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Constituent {
    /// Which wave.
    pub wave: Wave,
    /// Amplitude in metres.
    pub amplitude: f64,
    /// Phase lag in degrees.
    pub phase: f64,
}

impl Constituent {
    fn angle(&self, at: Instant) -> f64 {
        (self.wave.speed() * at.0 / 60.0 - self.phase).to_radians()
    }

    /// Contribution to the water level, in metres.
    pub fn height(&self, at: Instant) -> f64 {
        self.amplitude * self.angle(at).cos()
    }

    /// Contribution to the rate of change, in metres per hour.
    pub fn rate(&self, at: Instant) -> f64 {
        -self.amplitude * self.wave.speed().to_radians() * self.angle(at).sin()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods() {
        assert!((Wave::S2.period() - 720.0).abs() < 1e-9);
        assert!((Wave::M2.period() - 745.236).abs() < 1e-3);
    }

    #[test]
    fn speeds_are_in_order() {
        for pair in Wave::ALL.windows(2) {
            assert!(pair[0].speed() < pair[1].speed(), "{pair:?}");
        }
    }

    #[test]
    fn rate_is_the_slope_of_height() {
        let c = Constituent {
            wave: Wave::M2,
            amplitude: 1.3,
            phase: 77.0,
        };
        // Any moment will do, so take one far from the origin.
        let at = Instant(123456789.0);
        let step = 0.01;
        let slope = (c.height(at + step) - c.height(at + -step)) / (2.0 * step) * 60.0;
        assert!((slope - c.rate(at)).abs() < 1e-4, "{slope} {}", c.rate(at));
    }
}
