//! A point in time as a value: milliseconds since 1970, read and written as RFC 3339 in UTC.
//!
//! There is no clock here; the time comes in.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Milliseconds since the beginning of 1970, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Time(pub i64);

const DAY_MS: i64 = 86_400_000;

impl Time {
    /// The day, as `2026-11-15`.
    pub fn date(self) -> String {
        let (year, month, day) = civil(self.0.div_euclid(DAY_MS));
        format!("{year:04}-{month:02}-{day:02}")
    }

    /// Milliseconds from an earlier time; zero when a clock went backwards.
    pub fn since(self, earlier: Time) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0)
    }

    /// Reads what [`fmt::Display`] writes.
    pub fn parse(text: &str) -> Option<Time> {
        let (date, rest) = text.split_once('T')?;
        let rest = rest.strip_suffix('Z')?;
        let mut date = date.splitn(3, '-').map(str::parse::<i64>);
        let (year, month, day) = (date.next()?.ok()?, date.next()?.ok()?, date.next()?.ok()?);
        let (clock, ms) = rest.split_once('.').unwrap_or((rest, "0"));
        let mut clock = clock.splitn(3, ':').map(str::parse::<i64>);
        let (hour, minute, second) = (clock.next()?.ok()?, clock.next()?.ok()?, clock.next()?.ok()?);
        // Within these nothing overflows; a leap second is the first of the next minute.
        let is_date = (0..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
        let is_clock = (0..24).contains(&hour) && (0..60).contains(&minute) && (0..=60).contains(&second);
        if !is_date || !is_clock {
            return None;
        }
        let seconds = (hour * 60 + minute) * 60 + second;
        let ms: i64 = format!("{ms:0<3}").get(..3)?.parse().ok()?;
        Some(Time(days(year, month, day) * DAY_MS + seconds * 1000 + ms))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = civil(self.0.div_euclid(DAY_MS));
        let ms = self.0.rem_euclid(DAY_MS);
        let (hour, minute, second) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", ms % 1000)
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Time, D::Error> {
        let text = String::deserialize(deserializer)?;
        Time::parse(&text).ok_or_else(|| serde::de::Error::custom("not a time in RFC 3339"))
    }
}

/// Year, month and day of a day counted from 1970 in the Gregorian calendar. Years are counted from March,
/// so that the leap day is the last of its year.
fn civil(day: i64) -> (i64, i64, i64) {
    let day = day + 719_468;
    let era = day.div_euclid(146_097);
    let of_era = day.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let civil_month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(civil_month <= 2), civil_month, of_year - (153 * month + 2) / 5 + 1)
}

/// The reverse of [`civil`].
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::Time;

    #[test]
    fn a_time_reads_as_it_is_written() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_794_787_199_999, "2026-11-15T23:59:59.999Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(Time(ms).to_string(), text);
            assert_eq!(Time::parse(text), Some(Time(ms)));
        }
        assert_eq!(Time::parse("2026-11-15T23:59:59Z"), Some(Time(1_794_787_199_000)));
        for text in ["yesterday", "2026-13-01T00:00:00Z", "2026-11-15T24:00:00Z", "2026-11-15T00:00:00.x"] {
            assert_eq!(Time::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_year_past_counting_is_no_time() {
        assert_eq!(Time::parse("9223372036854775807-01-01T00:00:00Z"), None);
        assert_eq!(Time::parse("2026-01-01T9223372036854775807:00:00Z"), None);
    }
}
