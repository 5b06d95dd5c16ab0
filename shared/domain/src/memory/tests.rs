use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_000_000);
const TERMS: Terms = Terms { most: 100, threshold: 0.7 };

fn id(text: &str) -> FactId {
    FactId::parse(text).unwrap()
}

fn fact(name: &str, content: &str, confidence: f64, at: u64) -> Fact {
    Fact::new(id(name), content, "", confidence, (Timestamp::from_millis(at), MANUAL)).unwrap()
}

fn with(facts: impl IntoIterator<Item = Fact>) -> Memory {
    Memory { facts: facts.into_iter().collect(), ..Memory::default() }
}

fn names(memory: &Memory) -> Vec<&str> {
    memory.facts.iter().map(|fact| fact.id.as_str()).collect()
}

fn run(name: &str) -> RunId {
    RunId::parse(name).unwrap()
}

fn new(content: &str, confidence: f64) -> NewFact {
    NewFact { content: content.into(), category: "preference".into(), confidence }
}

#[test]
fn a_fact_is_one_line_of_a_bounded_length() {
    assert_eq!(fact("a", "  likes\n tea ", 1.0, 0).content, "likes tea");
    let made = |content: &str, category: &str, confidence| {
        Fact::new(id("a"), content, category, confidence, (NOW, MANUAL)).map(drop)
    };
    assert_eq!(made(" \n", "", 1.0), Err(Refused::Blank));
    assert_eq!(made(&"ü".repeat(CONTENT_CHARS), "", 1.0), Ok(()));
    assert_eq!(made(&"x".repeat(CONTENT_CHARS + 1), "", 1.0), Err(Refused::TooLong));
    assert_eq!(made("x", &"x".repeat(CATEGORY_CHARS + 1), 1.0), Err(Refused::TooLong));
    assert_eq!(made(&format!("{}\n", "x".repeat(CONTENT_CHARS)), "", 1.0), Err(Refused::TooLong));
    assert_eq!(made("x", &" ".repeat(CATEGORY_CHARS + 1), 1.0), Err(Refused::TooLong));
    for wrong in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
        assert_eq!(made("x", "", wrong), Err(Refused::Confidence), "{wrong}");
    }
}

#[test]
fn the_same_words_are_one_fact() {
    let mut memory = with([fact("a", "Likes tea.", 0.8, 0)]);
    assert_eq!(memory.add(fact("b", "likes  TEA", 1.0, 1), 10), Err(Refused::Duplicate));
    assert_eq!(memory.add(fact("a", "likes coffee", 1.0, 1), 10), Err(Refused::Duplicate));
    assert_eq!(memory.add(fact("b", "likes coffee", 1.0, 1), 10), Ok(()));
    let edit = Edit { content: Some("LIKES TEA".into()), ..Edit::default() };
    assert_eq!(memory.edit(&id("b"), &edit), Err(Refused::Duplicate));
    assert_eq!(memory.edit(&id("a"), &edit), Ok(()), "another spelling of itself");
}

#[test]
fn an_edit_changes_what_it_names() {
    let mut memory = with([fact("a", "likes tea", 0.8, 0)]);
    let edit = Edit { confidence: Some(0.9), ..Edit::default() };
    memory.edit(&id("a"), &edit).unwrap();
    assert_eq!(memory.facts[0], fact("a", "likes tea", 0.9, 0));
    assert_eq!(memory.edit(&id("b"), &edit), Err(Refused::NoSuchFact));
    let blank = Edit { content: Some(" ".into()), ..Edit::default() };
    assert_eq!(memory.edit(&id("a"), &blank), Err(Refused::Blank));
    assert_eq!(memory.remove(&id("b")), Err(Refused::NoSuchFact));
    memory.remove(&id("a")).unwrap();
    assert!(memory.is_empty());
}

#[test]
fn what_is_too_much_gives_way_to_what_is_surer_or_newer() {
    let mut memory = with([fact("old", "a", 0.8, 1), fact("new", "b", 0.8, 2), fact("sure", "c", 0.9, 0)]);
    memory.add(fact("mine", "d", 0.1, 3), 3).unwrap();
    assert_eq!(names(&memory), ["new", "sure", "mine"], "what is added stays, whatever it is worth");
    let ranked: Vec<&str> = memory.ranked().iter().map(|fact| fact.id.as_str()).collect();
    assert_eq!(ranked, ["sure", "new", "mine"]);
}

#[test]
fn the_largest_document_fits_a_row() {
    let mut memory = Memory::default();
    let content = |at: usize| format!("{at} {}", "字".repeat(CONTENT_CHARS - 10));
    let facts = (0..MOST_FACTS).map(|at| {
        let (category, source) = ("字".repeat(CATEGORY_CHARS), "字".repeat(SOURCE_CHARS));
        Fact::new(id(&format!("{at:064}")), &content(at), &category, 1.0, (NOW, &source)).unwrap()
    });
    let summary = Summary { text: "字".repeat(SUMMARY_CHARS * 2), updated_at: NOW };
    let summaries = Section::ALL.map(|section| (section, summary.clone()));
    memory.replace(facts.collect(), BTreeMap::from(summaries), usize::MAX);
    memory.learnt = vec![run(&"r".repeat(128)); LEARNT];
    let bytes = serde_json::to_string(&memory).unwrap().len();
    assert!(memory.facts.len() > 50 && bytes < 300 * 1024, "{} facts, {bytes} bytes", memory.facts.len());
}

#[test]
fn an_edit_makes_no_document_that_fits_no_row() {
    let short = (0..MOST_FACTS).map(|at| fact(&format!("f{at}"), &format!("fact {at}"), 0.5, 0));
    let mut memory = with(short);
    for at in 0..MOST_FACTS {
        let content = format!("{at} {}", "字".repeat(CONTENT_CHARS - 10));
        let edit = Edit { content: Some(content.clone()), ..Edit::default() };
        let name = id(&format!("f{at}"));
        match memory.edit(&name, &edit) {
            Ok(()) => assert_eq!(memory.fact(&name).map(|fact| &fact.content), Some(&content)),
            refused => assert_eq!(refused, Err(Refused::NoSuchFact), "it gave way to another"),
        }
        assert!(memory.facts.iter().map(Fact::bytes).sum::<usize>() <= FACTS_BYTES, "{at}");
    }
    assert!(memory.facts.len() > 50);
}

#[test]
fn only_what_is_sure_enough_is_learnt() {
    let mut memory = Memory::default();
    let lessons = Lessons { facts: vec![new("likes tea", 0.7), new("is tall", 0.69)], ..Lessons::default() };
    memory.learn(&lessons, &run("r"), "thread-1", NOW, TERMS);
    assert_eq!(memory.facts.len(), 1);
    assert_eq!(
        (memory.facts[0].content.as_str(), memory.facts[0].source.as_str()),
        ("likes tea", "thread-1")
    );
}

#[test]
fn a_run_is_learnt_from_once() {
    let mut memory = Memory::default();
    let lessons = Lessons { facts: vec![new("likes tea", 0.9)], ..Lessons::default() };
    memory.learn(&lessons, &run("r"), "t", NOW, TERMS);
    let once = memory.clone();
    memory.learn(&lessons, &run("r"), "t", NOW, TERMS);
    assert_eq!(memory, once);
    memory.clear();
    memory.learn(&lessons, &run("r"), "t", NOW, TERMS);
    assert!(memory.is_empty(), "what was forgotten is not learnt from the same run again");
    for other in 0..LEARNT {
        memory.learn(&Lessons::default(), &run(&format!("r{other}")), "t", NOW, TERMS);
    }
    assert_eq!(memory.learnt.len(), LEARNT);
}

#[test]
fn what_is_known_already_becomes_surer_and_no_second_fact() {
    let mut memory = with([fact("a", "Likes tea.", 0.7, 0)]);
    let lessons = Lessons { facts: vec![new("likes tea", 0.9), new("Likes tea", 0.8)], ..Lessons::default() };
    memory.learn(&lessons, &run("r"), "t", NOW, TERMS);
    assert_eq!(memory.facts, [fact("a", "Likes tea.", 0.9, 0)]);
}

#[test]
fn a_conversation_changes_only_so_much() {
    let facts = (0..60).map(|at| fact(&format!("f{at}"), &format!("fact {at}"), 0.9, at));
    let mut memory = with(facts);
    let outdated = memory.facts.iter().map(|fact| fact.id.clone()).collect();
    let learnt = (0..60).map(|at| new(&format!("new {at}"), 1.0)).collect();
    memory.learn(&Lessons { facts: learnt, outdated, ..Lessons::default() }, &run("r"), "t", NOW, TERMS);
    assert_eq!(memory.facts.len(), 60 - LESSONS + LESSONS);
    assert!(names(&memory).contains(&"f20") && !names(&memory).contains(&"f19"));
}

#[test]
fn what_is_no_fact_is_left_out() {
    let mut memory = Memory::default();
    let facts =
        vec![new(" ", 1.0), new(&"x".repeat(CONTENT_CHARS + 1), 1.0), new("a", f64::NAN), new("b", 1.0)];
    memory.learn(&Lessons { facts, ..Lessons::default() }, &run("r"), "t", NOW, TERMS);
    assert_eq!(memory.facts.len(), 1);
}

#[test]
fn a_summary_is_replaced_and_a_blank_one_takes_it_away() {
    let mut memory = Memory::default();
    let mut learn = |name: &str, text: &str| {
        let summaries = BTreeMap::from([(Section::TopOfMind, text.to_owned())]);
        memory.learn(&Lessons { summaries, ..Lessons::default() }, &run(name), "t", NOW, TERMS);
        memory.summaries.get(&Section::TopOfMind).map(|summary| summary.text.clone())
    };
    assert_eq!(learn("a", "a\nmove").as_deref(), Some("a move"));
    assert_eq!(learn("b", &"x".repeat(SUMMARY_CHARS + 9)).map(|text| text.len()), Some(SUMMARY_CHARS));
    assert_eq!(learn("c", " "), None);
}

#[test]
fn what_is_imported_takes_the_place_of_everything() {
    let mut memory = with([fact("old", "old", 1.0, 0)]);
    memory.learnt = vec![run("r")];
    let facts = vec![
        fact("a", "one", 0.5, 0),
        fact("a", "two", 0.5, 0),
        fact("b", "ONE", 0.5, 0),
        fact("c", "three", 0.5, 0),
    ];
    memory.replace(facts, BTreeMap::new(), 10);
    assert_eq!(names(&memory), ["a", "c"]);
    assert!(memory.has_learnt(&run("r")), "what was learnt from stays");
}

#[test]
fn a_document_reads_back_and_one_of_an_older_program_too() {
    let mut memory = with([fact("a", "one", 0.123, 7)]).followed_by(with([fact("a", "one", 0.123, 7)]), NOW);
    memory.learn(
        &Lessons { summaries: BTreeMap::from([(Section::RecentMonths, "x".into())]), ..Lessons::default() },
        &run("r"),
        "t",
        NOW,
        TERMS,
    );
    let text = serde_json::to_string(&memory).unwrap();
    assert_eq!(serde_json::from_str::<Memory>(&text).unwrap(), memory);
    assert_eq!(serde_json::from_str::<Memory>("{}").unwrap(), Memory::default());
    assert!(serde_json::from_str::<Confidence>("1001").is_err());
}

#[test]
fn revisions_count() {
    let first = Memory::default().followed_by(with([fact("a", "one", 1.0, 0)]), NOW);
    assert_eq!((first.revision, first.updated_at), (1, NOW));
    assert_eq!(first.followed_by(first.clone(), NOW).revision, 2);
}
