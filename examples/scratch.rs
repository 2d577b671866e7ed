use drystone::*;
fn main() {
    let arg = |i: usize, d: usize| std::env::args().nth(i).and_then(|s| s.parse().ok()).unwrap_or(d);
    let kind = std::env::args().nth(1).unwrap_or("pyramid".into());
    let (n, steps) = (arg(2, 100), arg(3, 500));
    let mut scene = Scene::new("x").gravity(0.0, -10.0);
    scene.add(Body::fixed(0.0, -1.0).shape(Shape::half_box(100.0, 1.0)));
    let mut top = 0;
    if kind == "pyramid" {
        let a = 0.5f32;
        for i in 0..n { for j in i..n {
            let (fi, fj) = (i as f32, j as f32);
            let x = (fi + 1.0) * a + 2.0 * (fj - fi) * a - a * n as f32;
            let y = (2.0 * fi + 1.0) * a;
            top = scene.add(Body::dynamic(x, y).shape(Shape::half_box(a, a)));
        } }
    } else {
        for i in 0..n { top = scene.add(Body::dynamic(0.0, 0.5 + i as f32).shape(Shape::half_box(0.5, 0.5))); }
    }
    if std::env::args().nth(5).is_some() {
        let ctx = Context::new(AdapterChoice::Any).unwrap();
        println!("{:?}", ctx.info().name);
        let t = std::time::Instant::now();
        let mut g = GpuWorld::new(&ctx, &scene).unwrap();
        println!("made in {:?}", t.elapsed());
        let mut c = CpuWorld::new(&scene).unwrap();
        let t = std::time::Instant::now();
        for s in 0..steps {
            g.step().unwrap();
            if s < 3 || s % (steps / 10).max(1) == 0 || s == steps - 1 {
                let snap = g.snapshot().unwrap(); let k = snap.counters;
                println!("{s} top {:?} pairs {} contacts {} touching {} recycled {} uncolored {} rounds {} dispatches {} colors {:?}", snap.poses[top].position, k.pairs_found, k.contacts, k.touching, k.recycled, k.uncolored, k.rounds, g.dispatches(), (0..32).map(|q| k.color_size(q)).collect::<Vec<_>>());
            }
        }
        g.context().wait().unwrap();
        println!("mean {:.3} ms", t.elapsed().as_secs_f64() * 1e3 / steps as f64);
        for _ in 0..10 { g.step_profiled().unwrap(); }
        for (s, ms) in g.stage_ms().0 { println!("  {:22} {:.3}", s.name(), ms / 10.0); }
        c.step();
        return;
    }
    let mut w = CpuWorld::new(&scene).unwrap().with_threads(arg(4, 1)).unwrap();
    let mut best = f64::MAX;
    let t = std::time::Instant::now();
    for s in 0..steps {
        let t = std::time::Instant::now();
        w.step();
        best = best.min(t.elapsed().as_secs_f64() * 1e3);
        if s % (steps / 10).max(1) == 0 || s == steps - 1 { let c = w.counters(); println!("{s} top {:?} contacts {} touching {} recycled {} uncolored {} rounds {} colors {:?}", w.poses()[top].position, c.contacts, c.touching, c.recycled, c.uncolored, c.rounds, (0..32).map(|k| c.color_size(k)).collect::<Vec<_>>()); }
    }
    println!("mean {:.3} ms min {best:.3}", t.elapsed().as_secs_f64() * 1e3 / steps as f64);
    for (s, ms) in w.stage_ms() { println!("  {:22} {:.3}", s.name(), ms / steps as f64); }
}
