//! Series of the library against the functions of std, in f64.

use drystone::low_level::math::{angle_of, rotation, tangent_of};
use glam::Vec2;

#[test]
fn angles_of_rotations() {
    let mut worst = 0.0_f64;
    for index in -10_000_i16..=10_000 {
        let angle = f64::from(index) * std::f64::consts::PI / 10_000.0;
        #[allow(clippy::cast_possible_truncation, reason = "rounded to f32 on purpose")]
        let q = Vec2::new(angle.cos() as f32, angle.sin() as f32);
        let exact = f64::from(q.y).atan2(f64::from(q.x));
        worst = worst.max((f64::from(angle_of(q)) - exact).abs());
    }
    // Half a rounding of π, plus the error of the series.
    assert!(worst < 4e-7, "{worst} rad");
    // Negative control: the bound can fail.
    assert!((f64::from(angle_of(Vec2::new(1.0, 0.5))) - 0.5).abs() > 4e-7);
    assert_eq!(angle_of(Vec2::ZERO), 0.0);
    assert_eq!(angle_of(Vec2::new(-1.0, 0.0)), std::f32::consts::PI);
}

#[test]
fn rotations_and_angles_are_inverse() {
    for index in -300_i16..=300 {
        let angle = f32::from(index) * 0.01;
        assert!((angle_of(rotation(angle)) - angle).abs() < 5e-7, "{angle} rad");
    }
}

#[test]
fn tangents_of_small_angles() {
    for index in -78_i16..=78 {
        let angle = f32::from(index) * 0.01;
        let exact = f64::from(angle).tan();
        assert!((f64::from(tangent_of(angle)) - exact).abs() < 1e-5, "{angle} rad");
    }
    assert_eq!(tangent_of(2.0), tangent_of(std::f32::consts::FRAC_PI_4), "cut off");
}
