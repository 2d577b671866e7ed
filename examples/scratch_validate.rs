use drystone::*;
fn main() {
    let ctx = Context::new(AdapterChoice::Any).unwrap();
    let steps: u64 = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(300);
    for spec in std::env::args().skip(2) {
        let scene = scene::catalogue::build(&spec).unwrap();
        let t = std::time::Instant::now();
        match validate::validate(&ctx, &scene, validate::Options { steps, ..Default::default() }, |_| {}) {
            Ok(r) => {
                println!("== {spec}: {} in {:?} one step worst {:.3}", if r.passed() { "ok" } else { "FAILED" }, t.elapsed(), r.one_step_worst);
                for s in &r.stages { if s.worst > 0.5 || s.ties > 0 { println!("   {s:?}"); } }
                for m in &r.metrics { if !m.passed || std::env::var("V").is_ok() { println!("   {m:?}"); } }
                if let Some(d) = &r.first_difference { println!("   {d:#?}"); }
            }
            Err(e) => println!("== {spec}: error {e}"),
        }
    }
}
