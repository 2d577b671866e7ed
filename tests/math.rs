//! Series of the library against the functions of std, in f64.

use drystone::low_level::math::{angle_of, integrate_rotation, inv_mul_rotation, rotation};
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
        let between = angle_of(inv_mul_rotation(rotation(0.1), rotation(angle)));
        assert!((between - (angle - 0.1)).abs() < 1e-6, "{between} rad from 0.1 to {angle}");
    }
}

/// A turn is exact up to a radian, and within the stated error up to four.
#[test]
fn turns_are_exact() {
    let start = rotation(0.7);
    let off = |turned: Vec2, angle: f32| {
        let exact = f64::from(angle) + 0.7;
        let (x, y) = (f64::from(turned.x), f64::from(turned.y));
        (y * exact.cos() - x * exact.sin()).atan2(x * exact.cos() + y * exact.sin()).abs()
    };
    for index in -400_i16..=400 {
        let angle = f32::from(index) * 0.01;
        let turned = integrate_rotation(start, angle);
        let most = if angle.abs() <= 1.0 { 1e-6 } else { 1e-2 };
        assert!(off(turned, angle) < most, "{angle} rad: {} rad off", off(turned, angle));
        assert!((turned.length() - 1.0).abs() < 2e-7, "{angle} rad");
        // Negative control: the first-order step turns by atan(angle).
        let first_order = Vec2::new(start.x - angle * start.y, start.y + angle * start.x);
        assert!(angle.abs() < 0.05 || off(first_order, angle) > 1e-5, "{angle} rad");
    }
    assert_eq!(integrate_rotation(start, 0.0), start, "no turn");
}
