//! Timestamps as the protocol writes them: RFC 3339, in UTC.

/// A time in seconds since 1970 as text, such as `2026-11-15T12:00:00Z`; `None` outside the years 1
/// to 9999, which no working clock gives.
pub fn rfc3339(seconds: i64) -> Option<String> {
    let (days, time) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = civil(days)?;
    let (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60);
    Some(format!(
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"
    ))
}

/// Year, month and day of a number of days since 1970.
///
/// Years begin in March here, so that the leap day is the last day of a year; 400 years always have
/// the same number of days.
fn civil(days: i64) -> Option<(i64, i64, i64)> {
    let days = days.checked_add(719_468)?;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let year = year + era * 400 + i64::from(month <= 2);
    (1..=9999).contains(&year).then_some((year, month, day))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_in_utc() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
            (-62_135_596_800, "0001-01-01T00:00:00Z"),
        ] {
            assert_eq!(rfc3339(seconds).as_deref(), Some(text), "{seconds}");
        }
        for seconds in [253_402_300_800, -62_135_596_801, i64::MAX, i64::MIN] {
            assert_eq!(rfc3339(seconds), None, "{seconds}");
        }
    }

    #[test]
    fn every_day_follows_the_one_before() {
        let lengths = |year: i64| {
            let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let february = 28 + i64::from(is_leap);
            [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        };
        let mut day = (1600, 1, 1);
        for days in -135_140..200_000 {
            assert_eq!(civil(days), Some(day));
            let (year, month, of_month) = day;
            let length = lengths(year)[usize::try_from(month - 1).unwrap()];
            day = match (of_month < length, month < 12) {
                (true, _) => (year, month, of_month + 1),
                (false, true) => (year, month + 1, 1),
                (false, false) => (year + 1, 1, 1),
            };
        }
    }
}
