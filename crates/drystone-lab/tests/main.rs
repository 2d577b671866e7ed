//! Quick laws on the CPU, in mode soft: each holds or is missed as known, and each is missed when its world is
//! disturbed or its expected value is another.

use std::collections::BTreeSet;

use drystone_lab::{LabSetup, Law, LawCheck, LawReport, LawVerdict};

fn quick() -> Vec<&'static Law> {
    drystone_lab::all().into_iter().filter(|law| law.quick.is_some()).collect()
}

fn run(law: &Law, disturbed: bool) -> LawReport {
    let setup = LabSetup { disturbed, ..LabSetup::default() };
    law.run(&setup, &law.quick_values().expect("quick"))
}

#[test]
fn quick_laws_hold_or_are_known_to_be_missed() {
    let mut wrong = Vec::new();
    let laws = quick();
    assert!(laws.len() >= 40, "only {} laws are quick", laws.len());
    for law in laws {
        let report = run(law, false);
        let worst = report.worst().cloned();
        println!("{}: {:?} in {:.2} s, {worst:?}", law.name, report.verdict, report.seconds);
        if !matches!(report.verdict, LawVerdict::Held | LawVerdict::KnownMiss) {
            wrong.push(format!("{}: {:?}, {worst:?}, {:?}", law.name, report.verdict, report.note));
        }
        let svg = report.figure.svg(law.statement);
        assert!(svg.matches("<polyline").count() + svg.matches("<circle").count() > 2, "{} has no figure", law.name);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Negative control: with the physics of the world changed and the expected value as before, each law is missed.
#[test]
fn disturbed_laws_are_missed() {
    let held = |law: &&Law| {
        let report = run(law, true);
        println!("{} with {}: {:?}, {:?}", law.name, law.disturbance.what, report.verdict, report.worst());
        report.verdict != LawVerdict::Missed
    };
    let held: Vec<&str> = quick().into_iter().filter(held).map(|law| law.name).collect();
    assert!(held.is_empty(), "held though disturbed: {}", held.join(", "));
}

/// Negative control: a law is missed whose expected value is moved beyond its bound.
#[test]
fn other_expected_values_are_missed() {
    for name in ["incline", "restitution", "pendulum_large", "free_spin", "drag"] {
        let law = drystone_lab::find(name).expect("a law");
        let report = run(law, false);
        assert_eq!(report.verdict, LawVerdict::Held, "{name}");
        for check in &report.checks {
            let span = check.high - check.low;
            let moved = LawCheck {
                expected: check.expected + span,
                low: check.low + span,
                high: check.high + span,
                ..check.clone()
            };
            assert!(!moved.holds() && moved.deviation() > 1.0, "{name}: {moved:?}");
        }
    }
}

/// The expected value follows the parameters: other parameters hold too.
#[test]
fn laws_hold_with_other_parameters() {
    for (name, given) in [
        ("pendulum_large", ("amplitude", 45.0)),
        ("pendulum_small", ("gravity", 1.62)),
        ("restitution", ("e", 0.9)),
        ("incline", ("angle", 60.0)),
        ("rolling", ("gravity", 5.0)),
        ("free_spin", ("spin", -7.0)),
        ("spring", ("stiffness", 40.0)),
        ("torque", ("torque", 1.0)),
        ("drag", ("drag", 0.3)),
        ("orbit", ("radius", 8.0)),
    ] {
        let law = drystone_lab::find(name).expect("a law");
        let values = law.values(&[(given.0.to_owned(), given.1)]).expect("a parameter");
        let report = law.run(&LabSetup::default(), &values);
        assert_eq!(report.verdict, LawVerdict::Held, "{name}: {:?}", report.worst());
        let usual = law.run(&LabSetup::default(), &law.values(&[]).expect("defaults"));
        let expected = |report: &LawReport| report.checks.iter().map(|check| check.expected).collect::<Vec<_>>();
        assert_ne!(expected(&report), expected(&usual), "{name} expects the same for other parameters");
    }
}

#[test]
fn laws_have_names_sources_and_parameters_of_their_own() {
    let laws = drystone_lab::all();
    let names: BTreeSet<&str> = laws.iter().map(|law| law.name).collect();
    assert_eq!(names.len(), laws.len(), "names are given twice");
    for law in laws {
        assert!(law.values(&[]).is_ok(), "{}", law.name);
        assert!(law.quick.is_none() || law.quick_values().is_some(), "{}: quick parameters", law.name);
        assert!(!law.parameters.is_empty() && !law.source.is_empty(), "{}", law.name);
        for own in law.all_parameters() {
            assert!((own.min..=own.max).contains(&own.default), "{}: {}", law.name, own.name);
        }
    }
}

#[test]
fn mistakes_are_named_with_the_nearest_name() {
    let error = drystone_lab::find("pendulum_smal").expect_err("no such law").to_string();
    assert_eq!(error, "there is no law \"pendulum_smal\"; do you mean \"pendulum_small\"?");
    let far = drystone_lab::find("zzz").expect_err("no such law").to_string();
    assert_eq!(far, "there is no law \"zzz\"");
    let law = drystone_lab::find("arch").expect("a law");
    let error = law.values(&[("radios".to_owned(), 1.0)]).expect_err("no such parameter").to_string();
    assert_eq!(error, "arch has no parameter \"radios\"; do you mean \"radius\"?");
    let error = law.values(&[("stones".to_owned(), 9.5)]).expect_err("no whole number").to_string();
    assert_eq!(error, "arch: stones is 9.5, expected a whole number from 7 to 61");
}
