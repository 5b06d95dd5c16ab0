//! The crash matrix of runs, in its cheap form: one mishap per run, and a row of index reads is one point. `.ci/run` has one for
//! every call.

use acceptance::agents::Fault;
use acceptance::agents::matrix::{flows, played, run};
use pudu_testkit::matrix::{Depth, Size};
use pudu_testkit::mutant::RunMutant;

#[test]
fn no_mishap_at_any_call_of_any_flow_of_runs_breaks_a_promise() {
    let (mut size, mut broken) = (Size::default(), Vec::new());
    for flow in flows() {
        let report = run(&flow, Depth::One, None).unwrap();
        println!("{}: {}", flow.name, report.size);
        size += report.size;
        broken.extend(report.broken.iter().map(ToString::to_string));
    }
    assert!(broken.is_empty(), "{} runs\n{}", broken.len(), broken.join("\n"));
    assert!(size.flows > 25 && size.points > 700, "{size}");
}

/// A flow that does not do what it is called would be no proof.
#[test]
fn flows_do_what_they_are_called() {
    let of = |name: &str| {
        let flow = flows().into_iter().find(|flow| flow.name == name).unwrap();
        played(&flow).unwrap()
    };
    assert_eq!(of("hand-over").handed_over, 1);
    let children = of("park, children");
    assert_eq!((children.runs, children.children, children.parked), (3, 2, 1));
    let woken = of("wake, a child's end, doubled");
    assert_eq!((woken.runs, woken.parked), (3, 1));
    assert_eq!(of("park, a pause before another try").parked, 1);
    assert_eq!((of("park, a question and its answer").runs, of("admit, queued").runs), (2, 2));
    assert_eq!((of("delivery by a run").told, of("delivery by a run").runs), (1, 2));
    let again = of("delivery by a run that fails, and by another");
    assert_eq!((again.told, again.runs), (1, 3));
    assert_eq!(of("delivery into a busy thread").told, 1);
    let names: std::collections::BTreeSet<_> = flows().iter().map(|flow| flow.name).collect();
    assert_eq!(names.len(), flows().len());
}

/// A matrix that sees nothing would be no proof either, and one that sees something else would be none of this.
#[test]
fn the_matrix_of_runs_sees_broken_rules() {
    let breaks = |fault, promise: &str| {
        flows().iter().any(|flow| {
            let broken = run(flow, Depth::One, Some(fault)).unwrap().broken;
            broken.iter().flat_map(|broken| &broken.violations).any(|violation| violation.promise == promise)
        })
    };
    for (fault, promise) in [
        (Fault::ParksForEver, "every run ends"),
        (Fault::CancelsNothing, "an end that somebody was told of stands"),
        (Fault::EndsTwice, "a stream ends once, as its run ended"),
        (Fault::BelievesTooEarly, "an event is told only by a run that has ended well, once"),
        (Fault::FailsOthers, "a death is no reason to fail"),
        (Fault::KeepsBlobs, "a deleted thread goes whole"),
        (Fault::Store(RunMutant::ForgetsOthers), "no thread waits for a run that does not come"),
        (Fault::Store(RunMutant::KeepsSecrets), "the secrets of a run go with its end"),
        (Fault::Store(RunMutant::ForgetsKeys), "a key stands for one run"),
    ] {
        assert!(breaks(fault, promise), "{fault:?}: {promise}");
    }
}
