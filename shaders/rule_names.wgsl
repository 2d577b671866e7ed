// Names of the kernel that a scene's rule is compiled into, so that a rule which takes one is refused everywhere.

fn Constraint() {} fn Strides() {} fn constraint_at() {} fn constraints() {} fn contacts() {}
fn counters() {} fn friction_limit() {} fn friction_of() {} fn layers() {} fn manifolds() {}
fn material_of() {} fn materials_of() {} fn mix_by() {} fn number_or() {} fn or_mixed() {} fn pair_index() {}
fn params() {} fn rebounds() {} fn restitution_of() {} fn rule_constraints() {}
fn rule_contacts() {} fn seen_by_rule() {} fn set_constraint() {} fn set_geometry() {}
fn set_impulses() {} fn set_measured() {} fn shapes() {} fn slots() {} fn spring_of() {}
fn states() {} fn strides() {} fn surface_of() {} fn surfaces() {} fn turn_of_arm() {}
fn velocity_at() {} fn world_index() {}
