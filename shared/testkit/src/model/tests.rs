use super::*;

#[test]
fn the_lease_protocol_holds_in_every_interleaving() {
    for bounds in &Bounds::SMALL {
        let found = check(bounds, None).unwrap();
        println!("model: {found}");
        assert!(found.broken.is_empty(), "{bounds:?}: {}", shown(&found));
        assert!(found.states > 10_000 && found.decisions > 100, "{found}");
    }
}

fn shown(found: &Found) -> String {
    found.broken.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Every bent condition, and the property that shows it.
const CAUGHT: [(Bent, &str); 6] = [
    (Bent::IgnoresGeneration, "no write with an old generation is applied"),
    (Bent::IgnoresWake, "no request to cancel is lost"),
    (Bent::FenceKeepsGeneration, "what is judged done was applied"),
    (Bent::ClaimsLeased, "nobody claims what is still held by his own clock"),
    (Bent::AnswersBlindly, "a server that took an answer is not given it again"),
    (Bent::ForgetsDue, "from every state an end can be reached"),
];

#[test]
fn every_bent_condition_breaks_a_property() {
    for (bent, property) in CAUGHT {
        let caught = Bounds::SMALL.iter().any(|bounds| {
            let found = check(bounds, Some(bent)).unwrap();
            found.broken.iter().any(|broken| broken.property == property)
        });
        assert!(caught, "{bent:?}");
    }
}
