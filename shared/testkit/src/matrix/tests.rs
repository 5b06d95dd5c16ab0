use super::*;

#[test]
fn no_mishap_at_any_call_of_any_flow_breaks_a_promise() {
    let report = run_all(Depth::One, None).unwrap();
    println!("crash matrix: {}", report.size);
    for (flow, size) in &report.of_flows {
        println!("  {flow}: {size}");
    }
    assert!(report.broken.is_empty(), "{} runs\n{}", report.broken.len(), shown(&report));
    assert!(report.size.flows > 45 && report.size.points > 300, "{}", report.size);
}

fn shown(report: &Report) -> String {
    let shown: Vec<_> = report.broken.iter().take(20).map(ToString::to_string).collect();
    shown.join("\n")
}

#[test]
fn flows_have_names_of_their_own() {
    let names: std::collections::BTreeSet<_> = flows().iter().map(|flow| flow.name).collect();
    assert_eq!(names.len(), flows().len());
}

/// A matrix that sees nothing would be no proof: what breaks a rule at rest is seen in it, too.
#[test]
fn the_matrix_sees_broken_rules() {
    let caught =
        |mutant| flows().iter().any(|flow| !run(flow, Depth::One, Some(mutant)).unwrap().broken.is_empty());
    for mutant in [
        Mutant::ForgetNote,
        Mutant::DecideSkipsDue,
        Mutant::DecideSkipsIntent,
        Mutant::DeliverStale,
        Mutant::DeliverNothing,
    ] {
        assert!(caught(mutant), "{mutant:?}");
    }
}
