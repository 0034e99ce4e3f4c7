//! How long ago something was, in few letters.

use jiff::Timestamp;

/// The time since a moment as kubectl writes it: `5s`, `3m20s`, `2d3h`.
pub(crate) fn age(since: Option<&str>, now: Timestamp) -> String {
    let Some(since) = since.and_then(|text| text.parse::<Timestamp>().ok()) else {
        return "<unknown>".to_owned();
    };
    short(now.as_second().saturating_sub(since.as_second()))
}

fn short(seconds: i64) -> String {
    let two = |large: i64, unit: &str, small: i64, small_unit: &str| {
        if small == 0 {
            format!("{large}{unit}")
        } else {
            format!("{large}{unit}{small}{small_unit}")
        }
    };
    let (minutes, hours) = (seconds / 60, seconds / 3_600);
    let (days, years) = (hours / 24, hours / (24 * 365));
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1..0 => "0s".to_owned(),
        _ if seconds < 120 => format!("{seconds}s"),
        _ if minutes < 10 => two(minutes, "m", seconds % 60, "s"),
        _ if minutes < 180 => format!("{minutes}m"),
        _ if hours < 8 => two(hours, "h", minutes % 60, "m"),
        _ if hours < 48 => format!("{hours}h"),
        _ if hours < 24 * 8 => two(days, "d", hours % 24, "h"),
        _ if hours < 24 * 365 * 2 => format!("{days}d"),
        _ if hours < 24 * 365 * 8 => two(years, "y", days % 365, "d"),
        _ => format!("{years}y"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_as_kubectl_writes_them() {
        for (seconds, expected) in [
            (-5, "<invalid>"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (200, "3m20s"),
            (3_600, "60m"),
            (10_800, "3h"),
            (12_000, "3h20m"),
            (100_000, "27h"),
            (180_000, "2d2h"),
            (800_000, "9d"),
            (70_000_000, "2y80d"),
            (300_000_000, "9y"),
        ] {
            assert_eq!(short(seconds), expected, "{seconds}");
        }
        assert_eq!(age(None, Timestamp::UNIX_EPOCH), "<unknown>");
        assert_eq!(
            age(Some("1970-01-01T00:00:00Z"), Timestamp::from_second(7).unwrap()),
            "7s"
        );
    }
}
