//! Every command in every state: what is not listed is refused.

use super::*;

const NOW: u64 = 20;

fn states() -> Vec<(&'static str, State)> {
    vec![
        ("pending", State::Pending),
        ("dispatched", State::Dispatched { run: run("r-1") }),
        ("delivered", State::Delivered { at: at(1) }),
        ("withdrawn", State::Withdrawn),
        ("superseded", State::Superseded),
        ("dead_letter", State::Dead),
    ]
}

fn commands() -> Vec<Command> {
    vec![
        Command::Deliver { attention: 3 },
        Command::Deliver { attention: 0 },
        Command::Deliver { attention: 4 },
        Command::RecordLaunch(run("r-2")),
        Command::RecordRunSuccess,
        Command::RecordRunFailure("bad".into()),
        Command::RecordRunVanished,
        Command::RecordRunning,
        Command::RecordBusy,
        Command::RecordMissingThread("gone".into()),
        Command::RecordFailure("no".into()),
        Command::Replay,
        Command::Drop,
    ]
}

/// State and command (by name, a delivery by its attention too), and what comes of it, of a note with one failure and one
/// launch behind it: state, due, attempts, launches, error.
const TABLE: [(&str, &str, &str); 17] = [
    ("pending", "deliver 0", "withdrawn never 1 1 -"),
    ("pending", "deliver 4", "superseded never 1 1 -"),
    ("pending", "record_launch", "dispatched notify@25 1 1 -"),
    ("pending", "record_busy", "pending notify@25 1 1 earlier"),
    ("pending", "record_missing_thread", "dead_letter dead@20 2 1 gone"),
    ("pending", "record_failure", "pending notify@30 2 1 no"),
    ("pending", "drop", "withdrawn never 1 1 -"),
    ("dispatched", "record_run_success", "delivered never 1 1 -"),
    ("dispatched", "record_run_failure", "pending notify@30 2 2 bad"),
    ("dispatched", "record_run_vanished", "pending notify@30 2 2 the run r-1 is not known any more"),
    ("dispatched", "record_running", "dispatched notify@25 1 1 earlier"),
    ("dispatched", "record_failure", "dispatched notify@30 2 1 no"),
    ("dispatched", "drop", "withdrawn never 1 1 -"),
    ("dead_letter", "replay", "pending notify@20 0 1 -"),
    ("dead_letter", "drop", "withdrawn never 1 1 -"),
    // Delivered by its event alone.
    ("event: pending", "deliver 3", "delivered never 1 1 -"),
    ("event: pending", "record_failure", "pending notify@30 2 1 no"),
];

fn name(command: &Command) -> String {
    match command {
        Command::Deliver { attention } => format!("deliver {attention}"),
        other => other.name().to_owned(),
    }
}

fn describe(note: &Note) -> String {
    let due = due(note).map_or("never".into(), |(lane, at)| format!("{}@{at}", lane.as_str()));
    let error = note.last_error.as_ref().map_or("-", Snippet::as_str);
    format!("{} {due} {} {} {error}", note.state.as_str(), note.attempts, note.dispatch)
}

#[test]
fn every_command_in_every_state_does_what_the_table_says() {
    let mut met = 0;
    for (state_name, state) in states() {
        for command in commands() {
            let behind = Note {
                state: state.clone(),
                attempts: 1,
                dispatch: 1,
                last_error: Some(Snippet::of("earlier")),
                ..by_run()
            };
            let (named, note) = (name(&command), held(&behind));
            let found = decide(&note, command.clone(), at(NOW), &Policy::default());
            let listed = TABLE.iter().find(|(s, c, _)| *s == state_name && *c == named);
            let Some((.., expected)) = listed else {
                let wrong = Rejected::WrongState { state: state_name, command: command.name() };
                let expected = if state == State::Pending && named == "deliver 3" {
                    Rejected::WrongDelivery { command: "deliver" }
                } else {
                    wrong
                };
                assert_eq!(found, Err(expected), "{state_name} under {named}");
                continue;
            };
            met += 1;
            assert_eq!(describe(&found.unwrap().note), *expected, "{state_name} under {named}");
            let anybody = matches!(command, Command::Replay | Command::Drop);
            let free = decide(&behind, command.clone(), at(NOW), &Policy::default());
            match free {
                Ok(change) => {
                    assert!(anybody && describe(&change.note) == *expected, "{state_name} under {named}");
                }
                Err(refused) => {
                    assert_eq!((refused, anybody), (Rejected::NotHeld { command: command.name() }, false));
                }
            }
        }
    }
    assert_eq!(met, TABLE.iter().filter(|(state, ..)| !state.starts_with("event: ")).count());
}

#[test]
fn a_note_that_is_delivered_by_its_event_alone_has_no_run() {
    let behind = Note { attempts: 1, dispatch: 1, last_error: Some(Snippet::of("earlier")), ..fresh() };
    let note = held(&behind);
    for (state, command, expected) in TABLE {
        if !state.starts_with("event: ") {
            continue;
        }
        let command = commands().into_iter().find(|known| name(known) == command).unwrap();
        assert_eq!(describe(&decided(&note, command, NOW).note), expected);
    }
    for command in [Command::RecordLaunch(run("r")), Command::RecordBusy] {
        let refused = Rejected::WrongDelivery { command: command.name() };
        assert_eq!(decide(&note, command, at(NOW), &Policy::default()), Err(refused));
    }
}
