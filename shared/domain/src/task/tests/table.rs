//! Every state, with and without a cancel, under every command: what [`TABLE`] does not list is refused.

use std::collections::BTreeMap;

use super::*;
use crate::durable::Generation;

const NOW: u64 = 100;
/// When the submission of an intent began: the first poll counts from there.
const STARTED: u64 = 97;

/// One line per transition: states `|` commands `|` what becomes of it. The last column holds how it is written (`commit`
/// takes the lease, `fence` takes it and raises the generation, `wake` leaves both, `erase` takes the whole task), the
/// status, lane and due second, the payload row, and the event; then what happens to the answer's row, if anything.
///
/// `waiting` and `taken` are `input_required` with an answer. `sent:heard` is what became of an answer and what the poll
/// after it brought.
///
/// All rows were due at 90, for their first poll or a tie of poll and cancel; `input_required` has its event v1 already.
const TABLE: &str = "
    intent | submit:submitted                                       | commit submitted poll@102 keep -
    intent | submit:working                                         | commit working poll@102 keep -
    intent | submit:input_required                                  | commit input_required poll@157 put v1
    intent+cancel | submit:submitted                                | commit submitted cancel@100 keep -
    intent+cancel | submit:working                                  | commit working cancel@100 keep -
    intent+cancel | submit:input_required                           | commit input_required cancel@100 put v1
    intent intent+cancel | submit:completed                         | commit completed never put v1
    intent intent+cancel | submit:failed                            | commit failed never put v1
    intent intent+cancel | submit:cancelled                         | commit cancelled never keep v1
    intent intent+cancel | refused                                  | commit failed never put -
    intent intent+cancel | unknown                                  | commit failed never put v1
    intent intent+cancel | answered                                 | erase submitted intent@130 keep -
    intent | recover                                                | commit failed never put v1
    intent+cancel | recover                                         | commit cancelled never put v1
    intent | request_cancel                                         | wake submitted intent@130 keep -
    intent+cancel | request_cancel                                  | nothing

    submitted working | status:submitted                            | commit submitted poll@105 keep -
    submitted working | status:working                              | commit working poll@105 keep -
    submitted working | status:input_required                       | commit input_required poll@160 put v1
    submitted+cancel working+cancel | status:submitted              | commit submitted cancel@90 keep -
    submitted+cancel working+cancel | status:working                | commit working cancel@90 keep -
    submitted+cancel working+cancel | status:input_required         | commit input_required cancel@90 put v1
    submitted submitted+cancel working working+cancel | status:completed | commit completed never put v1
    submitted submitted+cancel working working+cancel | status:failed    | commit failed never put v1
    submitted submitted+cancel working working+cancel | status:cancelled | commit cancelled never keep v1
    submitted submitted+cancel working working+cancel | poll_violation   | commit failed never put v1
    submitted | poll_failure                                        | commit submitted poll@105 keep -
    working | poll_failure                                          | commit working poll@105 keep -
    submitted+cancel | poll_failure                                 | commit submitted cancel@90 keep -
    working+cancel | poll_failure                                   | commit working cancel@90 keep -

    input_required | status:submitted                               | commit submitted poll@105 clear -
    input_required | status:working                                 | commit working poll@105 clear -
    input_required | status:input_required                          | commit input_required poll@160 keep -
    input_required+cancel | status:submitted                        | commit submitted cancel@90 clear -
    input_required+cancel | status:working                          | commit working cancel@90 clear -
    input_required+cancel | status:input_required                   | commit input_required cancel@90 keep -
    input_required input_required+cancel | status:completed         | commit completed never put v2
    input_required input_required+cancel | status:failed            | commit failed never put v2
    input_required input_required+cancel | status:cancelled         | commit cancelled never clear v2
    input_required input_required+cancel | poll_violation           | commit failed never put v2
    input_required | poll_failure                                   | commit input_required poll@105 keep -
    input_required+cancel | poll_failure                            | commit input_required cancel@90 keep -

    submitted | request_cancel                                      | fence submitted cancel@100 keep -
    working | request_cancel                                        | fence working cancel@100 keep -
    input_required | request_cancel                                 | fence input_required cancel@100 keep -
    submitted+cancel working+cancel input_required+cancel | request_cancel | nothing

    submitted+cancel | cancel:submitted cancel:working cancel:input_required cancel_failure | commit submitted poll@90 keep -
    working+cancel | cancel:submitted cancel:working cancel:input_required cancel_failure   | commit working poll@90 keep -
    input_required+cancel | cancel:submitted cancel:working cancel:input_required cancel_failure | commit input_required poll@90 keep -
    submitted+cancel working+cancel | cancel:completed              | commit completed never put v1
    submitted+cancel working+cancel | cancel:failed                 | commit failed never put v1
    submitted+cancel working+cancel | cancel:cancelled              | commit cancelled never keep v1
    input_required+cancel | cancel:completed                        | commit completed never put v2
    input_required+cancel | cancel:failed                           | commit failed never put v2
    input_required+cancel | cancel:cancelled                        | commit cancelled never clear v2

    submitted+cancel | cancel_acknowledged                          | commit submitted poll@90 keep -
    working+cancel | cancel_acknowledged                            | commit working poll@90 keep -
    input_required+cancel | cancel_acknowledged                     | commit input_required poll@90 keep -

    input_required | give_answer                                    | fence input_required poll@100 keep - put
    waiting | taken:unheard                                         | commit input_required poll@100 keep - clear
    waiting | taken:failure taken:input_required                    | commit input_required poll@105 keep - clear
    waiting | unsure:unheard unsure:failure unsure:input_required   | commit input_required poll@105 keep -
    waiting | refused:unheard                                       | commit input_required poll@100 keep v2 clear
    waiting | refused:failure                                       | commit input_required poll@105 keep v2 clear
    waiting | refused:input_required                                | commit input_required poll@160 keep v2 clear
    waiting | taken:working unsure:working refused:working          | commit working poll@105 clear - clear
    waiting | taken:completed unsure:completed refused:completed    | commit completed never put v2 clear
    waiting | taken:violation unsure:violation refused:violation    | commit failed never put v2 clear
    waiting | request_cancel                                        | fence input_required cancel@100 keep - clear
    waiting | status:submitted                                      | commit submitted poll@105 clear - clear
    waiting | status:working                                        | commit working poll@105 clear - clear
    waiting | status:input_required poll_failure                    | commit input_required poll@105 keep -
    waiting | status:completed                                      | commit completed never put v2 clear
    waiting | status:failed poll_violation                          | commit failed never put v2 clear
    waiting | status:cancelled                                      | commit cancelled never clear v2 clear
    waiting taken | give_back                                       | commit input_required poll@90 keep -
    taken | request_cancel                                          | fence input_required cancel@100 keep -
    taken | status:submitted                                        | commit submitted poll@105 clear -
    taken | status:working                                          | commit working poll@105 clear -
    taken | status:input_required poll_failure                      | commit input_required poll@105 keep -
    taken | status:completed                                        | commit completed never put v2
    taken | status:failed poll_violation                            | commit failed never put v2
    taken | status:cancelled                                        | commit cancelled never clear v2

    intent intent+cancel | give_back                                | commit submitted intent@130 keep -
    submitted | give_back                                           | commit submitted poll@90 keep -
    working | give_back                                             | commit working poll@90 keep -
    input_required | give_back                                      | commit input_required poll@90 keep -
    submitted+cancel | give_back                                    | commit submitted cancel@90 keep -
    working+cancel | give_back                                      | commit working cancel@90 keep -
    input_required+cancel | give_back                               | commit input_required cancel@90 keep -

    completed completed+cancel failed failed+cancel cancelled cancelled+cancel | request_cancel | nothing
";

fn table() -> BTreeMap<(String, String), &'static str> {
    let mut cells = BTreeMap::new();
    for line in TABLE.lines().filter(|line| !line.trim().is_empty()) {
        let [states, commands, result] = line.split('|').map(str::trim).collect::<Vec<_>>()[..] else {
            panic!("not three columns: {line}");
        };
        for state in states.split(' ') {
            for command in commands.split(' ') {
                assert_eq!(
                    cells.insert((state.to_owned(), command.to_owned()), result),
                    None,
                    "{state} {command} is listed twice"
                );
            }
        }
    }
    cells
}

/// Every state, each with and without a cancel, and a question's answers: name, row, payload row.
fn states() -> Vec<(String, Task, Payload)> {
    let mut states = plain_states();
    let answered = [
        ("waiting", Stand::Waiting { attempts: 0, last_error: None }),
        ("taken", Stand::Taken { at: at(95) }),
    ];
    let (_, task, payload) = states.iter().find(|(name, ..)| name == "input_required").cloned().unwrap();
    let question = question_digest(payload.input_required.as_ref().unwrap());
    for (name, stand) in answered {
        let answer = Some(Answer { question: question.clone(), given_in: Generation::new(4), stand });
        let attention = Attention { last: 1, ..Attention::default() };
        states.push((name.to_owned(), Task { answer, attention, ..task.clone() }, payload.clone()));
    }
    states
}

fn plain_states() -> Vec<(String, Task, Payload)> {
    let base = intent("submitter", 130, 80).task;
    let question = Payload::bounded(said(Status::InputRequired), &Policy::default()).unwrap();
    let mut states = vec![("intent", base.clone(), Payload::default())];
    for (name, phase) in [
        ("submitted", Phase::Submitted),
        ("working", Phase::Working),
        ("input_required", Phase::InputRequired),
    ] {
        let mut task = Task { state: State::Active { phase, next_poll_at: at(90) }, ..base.clone() };
        let mut payload = Payload::default();
        if phase == Phase::InputRequired {
            let event = crate::Event::new(
                key().id,
                TaskName::parse("report").unwrap(),
                task.status(),
                question.clone(),
                None,
            );
            task.attention = Attention { version: 1, last: 1, fingerprint: Some(event.fingerprint()) };
            task.payload = question.digest();
            payload = question.clone();
        }
        states.push((name, task, payload));
    }
    for (name, outcome) in
        [("completed", Outcome::Completed), ("failed", Outcome::Failed), ("cancelled", Outcome::Cancelled)]
    {
        let task = Task { state: State::Ended { outcome, at: at(95) }, ..base.clone() };
        states.push((name, task, Payload::default()));
    }
    let mut all = Vec::new();
    for (name, mut task, payload) in states {
        task.durable = Durable { due: task.wants(), generation: Generation::new(4), wake: 2, lease: None };
        all.push((name.to_owned(), task.clone(), payload.clone()));
        let next_at = matches!(task.state, State::Active { .. }).then_some(at(90));
        task.cancel =
            Some(Cancel { requested_at: at(90), until: at(690), attempts: 1, next_at, last_error: None });
        task.durable.due = task.wants();
        all.push((format!("{name}+cancel"), task, payload));
    }
    all
}

fn commands() -> Vec<(String, Command)> {
    let mut all = vec![
        ("refused".to_owned(), Command::RecordRefusal(Refusal::Refused("no such report".into()))),
        ("unknown".to_owned(), Command::RecordRefusal(Refusal::Unknown("no answer".into()))),
        ("answered".to_owned(), Command::RecordAnswered),
        ("poll_failure".to_owned(), Command::RecordPollFailure("timed out".into())),
        ("poll_violation".to_owned(), Command::RecordPollViolation("another task's id".into())),
        ("request_cancel".to_owned(), Command::RequestCancel),
        ("cancel_failure".to_owned(), Command::RecordCancelFailure("timed out".into())),
        ("cancel_acknowledged".to_owned(), Command::RecordCancelAcknowledged),
        ("recover".to_owned(), Command::Recover),
        ("give_back".to_owned(), Command::GiveBack),
    ];
    for status in Status::ALL {
        let (word, started_at) = (status.as_str(), at(STARTED));
        let submit = Command::RecordSubmit { remote: remote(), snapshot: said(status), started_at };
        all.push((format!("submit:{word}"), submit));
        all.push((format!("status:{word}"), Command::RecordStatus(said(status))));
        all.push((format!("cancel:{word}"), Command::RecordCancel(said(status))));
    }
    let question = question_digest(&said(Status::InputRequired).input_required.unwrap());
    all.push((
        "give_answer".to_owned(),
        Command::GiveAnswer(Given { question, version: None, input: json!(2026) }),
    ));
    for (what, sent) in [
        ("taken", Sent::Taken),
        ("unsure", Sent::Unsure("timed out".into())),
        ("refused", Sent::Refused("no such year".into())),
    ] {
        for (word, heard) in [
            ("unheard", None),
            ("failure", Some(Heard::Failure("timed out".into()))),
            ("violation", Some(Heard::Violation("another task's id".into()))),
            ("working", Some(Heard::Status(said(Status::Working)))),
            ("input_required", Some(Heard::Status(said(Status::InputRequired)))),
            ("completed", Some(Heard::Status(said(Status::Completed)))),
        ] {
            all.push((format!("{what}:{word}"), Command::RecordAnswer { sent: sent.clone(), heard }));
        }
    }
    all
}

/// How a command that the table does not list is refused.
fn refusal(state: &str, task: &Task, command: &Command) -> Rejected {
    match (&task.state, command) {
        (State::Ended { .. }, _) => Rejected::Ended,
        (_, Command::GiveAnswer(_)) if state == "input_required+cancel" => Rejected::Cancelling,
        (_, Command::GiveAnswer(_)) if ["waiting", "taken"].contains(&state) => Rejected::Answered,
        (_, Command::GiveAnswer(_)) => Rejected::NoQuestion,
        _ => Rejected::WrongState { state: task.state.name(), command: command.name() },
    }
}

/// Renders a change like the table does, and checks what is true of every change.
fn describe(before: &Task, change: &Change) -> String {
    let (old, new) = (&before.durable, &change.task.durable);
    let how = match &change.expect {
        Expect::Held { generation, wake } => {
            assert_eq!((*generation, *wake), (old.generation, old.wake));
            assert_eq!((new.generation, new.wake, &new.lease), (old.generation, old.wake, &None));
            if change.erased { "erase" } else { "commit" }
        }
        expect => {
            assert_eq!(*expect, old.unchanged());
            if new.generation == old.generation.next() {
                assert_eq!((new.wake, &new.lease), (old.wake, &None));
                "fence"
            } else {
                assert_eq!(
                    (new.generation, new.wake, &new.lease),
                    (old.generation, old.wake + 1, &old.lease)
                );
                "wake"
            }
        }
    };
    assert_eq!(new.due, change.task.wants());
    let due =
        new.due.map_or("never".into(), |due| format!("{}@{}", due.lane.as_str(), due.at.as_millis() / 1000));
    let payload = match &change.payload {
        PayloadWrite::Keep => {
            assert_eq!(change.task.payload, before.payload);
            "keep"
        }
        PayloadWrite::Put(payload) => {
            assert!(payload.digest().is_some());
            assert_eq!(change.task.payload, payload.digest());
            "put"
        }
        PayloadWrite::Clear => {
            assert_eq!(change.task.payload, None);
            "clear"
        }
    };
    let note = change.note.as_ref().map_or("-".into(), |news| {
        let note = &news.note;
        let said = &change.task.attention;
        assert_eq!((said.version, said.last), (note.version, note.version));
        assert_eq!(
            (&note.task, news.event.status, note.status),
            (&before.key, change.task.status(), change.task.status())
        );
        assert_eq!(note.durable, Durable::waiting(Due { lane: Lane::Notify, at: at(NOW) }));
        format!("v{}", note.version)
    });
    assert_eq!(change.task.updated_at, at(NOW));
    assert_eq!((&change.task.key, change.task.created_at), (&before.key, before.created_at));
    let answer = match change.answer {
        AnswerWrite::Keep => "",
        AnswerWrite::Put(_) => " put",
        AnswerWrite::Clear => " clear",
    };
    format!("{how} {} {due} {payload} {note}{answer}", change.task.status().as_str())
}

#[test]
fn every_command_in_every_state_does_what_the_table_says() {
    let (mut table, policy) = (table(), Policy::default());
    let spec = intent("submitter", 130, 80).spec.unwrap();
    for (state, mut task, payload) in states() {
        let context = Context { spec: &spec, payload: &payload, policy: &policy };
        for (name, command) in commands() {
            let cell = format!("{state} under {name}");
            let listed = table.remove(&(state.clone(), name.clone()));
            task.durable.lease = None;
            let free = decide(&task, command.clone(), at(NOW), context);
            task.durable.lease = Some(lease("holder", 130));
            let held = decide(&task, command.clone(), at(NOW), context);
            let Some(expected) = listed else {
                let refused = refusal(&state, &task, &command);
                assert_eq!(held, Err(refused), "{cell}");
                assert_eq!(free, Err(refused), "{cell}, unleased");
                continue;
            };
            let change = held.unwrap_or_else(|e| panic!("{cell}: {e}"));
            let found = change.as_ref().map_or("nothing".into(), |change| describe(&task, change));
            assert_eq!(found, expected, "{cell}");
            let handle = change.and_then(|change| change.spec).and_then(|spec| spec.remote);
            assert_eq!(handle.is_some(), name.starts_with("submit:"), "{cell}: the handle");
            if name == "request_cancel" || name == "give_answer" {
                task.durable.lease = None;
                let found = free.unwrap().map_or("nothing".into(), |change| describe(&task, &change));
                assert_eq!(found, expected, "{cell}, unleased");
            } else {
                assert_eq!(free, Err(Rejected::NotHeld { command: command.name() }), "{cell}, unleased");
            }
        }
    }
    assert!(table.is_empty(), "listed, but never met: {table:?}");
}

/// Only a request to cancel and an answer write beside a holder, and only a tracked task's fence it.
#[test]
fn only_a_cancel_or_an_answer_of_a_tracked_task_fences() {
    for ((state, command), result) in table() {
        let how = result.split(' ').next().unwrap();
        match (command.as_str(), state.as_str()) {
            ("request_cancel", "intent") => assert_eq!(how, "wake"),
            ("request_cancel", "submitted" | "working" | "input_required" | "waiting" | "taken")
            | ("give_answer", _) => assert_eq!(how, "fence"),
            ("request_cancel", _) => assert_eq!(how, "nothing", "{state}"),
            ("answered", _) => assert_eq!(how, "erase", "{state}"),
            _ => assert_eq!(how, "commit", "{state} {command}"),
        }
    }
}

/// Whatever it was doing, it waits for an operator and for nobody else, and its state is as it was.
#[test]
fn a_task_put_aside_is_out_of_every_workers_way() {
    for (state, mut task, _) in states() {
        task.durable.lease = Some(lease("holder", 130));
        let change = put_aside(&task, at(NOW));
        assert_eq!(change.expect, task.durable.held(), "{state}");
        assert_eq!(change.task.durable.due, Some(Due { lane: Lane::Corrupt, at: at(NOW) }), "{state}");
        assert_eq!((change.task.durable.lease, change.task.state), (None, task.state), "{state}");
    }
}
