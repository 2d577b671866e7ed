//! Parsers for numeric options, whose messages name the accepted range. Together with the option and the value, which
//! clap adds, they say how to correct the command line.

use std::ops::RangeInclusive;

use super::report::group;

/// Returns a parser for whole numbers in a range.
pub fn whole<T: TryFrom<u64> + 'static>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| {
        let number = text.parse().ok().filter(|number: &u64| range.contains(number));
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| {
            let [first, last] = [*range.start(), *range.end()].map(group);
            format!("expected a whole number from {first} to {last}")
        })
    }
}

/// Parses the width and height of a picture in pixels, such as 960x540.
///
/// # Errors
/// If the text has another form, or a side is not from 16 to 4096.
pub fn picture_size(text: &str) -> Result<(u32, u32), String> {
    size(text, [16, 16], 4096)
}

/// Parses the width and height of a window in logical pixels, such as 1280x720.
///
/// # Errors
/// If the text has another form, or the size is not from 360x300, the minimum of the window, to 8192x8192.
#[cfg(feature = "view")]
pub fn window_size(text: &str) -> Result<(u32, u32), String> {
    size(text, [360, 300], 8192)
}

fn size(text: &str, min: [u32; 2], max: u32) -> Result<(u32, u32), String> {
    let (width, height) = text.split_once('x').ok_or("expected WIDTHxHEIGHT, such as 960x540")?;
    let side = |text: &str, min: u32| {
        let side = text.parse::<u32>().ok().filter(|side| (min..=max).contains(side));
        side.ok_or_else(|| format!("{text:?} is not a number from {min} to {max}"))
    };
    Ok((side(width, min[0])?, side(height, min[1])?))
}

/// Parses the factor of `--arrows`.
///
/// # Errors
/// If it is not a number from 0.1 to 10, the range of the slider in the window.
pub fn arrow_scale(text: &str) -> Result<f32, String> {
    let factor = text.parse().ok().filter(|factor| (0.1..=10.0).contains(factor));
    factor.ok_or_else(|| "expected a number from 0.1 to 10".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_outside_of_the_range_are_rejected_with_it() {
        let parse = whole::<u32>(1..=65_535);
        assert_eq!((parse("1"), parse("65535")), (Ok(1), Ok(65_535)));
        for wrong in ["0", "65536", "-5", "1.5", "", "x", "99999999999999999999"] {
            assert_eq!(parse(wrong), Err("expected a whole number from 1 to 65,535".to_owned()), "{wrong}");
        }
        assert_eq!((arrow_scale("0.1"), arrow_scale("10")), (Ok(0.1), Ok(10.0)));
        for wrong in ["0", "-1", "11", "nan", "x"] {
            assert!(arrow_scale(wrong).is_err(), "{wrong}");
        }
    }
}
