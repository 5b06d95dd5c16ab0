//! What is remembered of a user, for one agent. The row stays until it is written anew: a memory that was cleared is an empty one.

use pudu_app::ports::StoreError;
use pudu_domain::Memory;

use crate::body::{self, EncodeError};
use crate::key::Key;
use crate::row::{Reader, Row, Writer, attr};

pub(crate) const ITEM: &str = "memory";

const BODY: &str = "body";

pub(crate) fn encode(key: &Key, memory: &Memory) -> Result<Row, EncodeError> {
    Ok(Writer::new(key)
        .number(attr::REVISION, memory.revision)
        .value(BODY, body::encode(ITEM, memory)?)
        .row())
}

pub(crate) fn decode(row: &Row) -> Result<Memory, StoreError> {
    body::decode(Reader::new(ITEM, row)?, BODY)
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::types::AttributeValue;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use pudu_domain::memory::{Fact, MOST_FACTS, Section, Summary};
    use pudu_domain::{FactId, MemoryKey, RunId, Timestamp, UserId};

    use super::*;
    use crate::row::number;

    fn key() -> Key {
        Key::Memory(MemoryKey { user: UserId::parse("a:b").unwrap(), agent: None })
    }

    proptest! {
        #[test]
        fn a_memory_reads_back(facts in vec(("\\PC{0,80}x", 0.0..=1.0_f64, any::<u32>()), 0..9), text in "\\PC{0,80}x", learnt in vec("[a-z.]{1,9}", 0..4)) {
            let mut memory = Memory::default();
            for (at, (content, confidence, time)) in facts.into_iter().enumerate() {
                let id = FactId::parse(format!("f{at}")).unwrap();
                let from = (Timestamp::from_millis(time.into()), "t");
                let _ = memory.add(Fact::new(id, &content, "", confidence, from).unwrap(), MOST_FACTS);
            }
            memory.summaries.insert(Section::WorkContext, Summary { text, updated_at: Timestamp::from_millis(9) });
            memory.learnt = learnt.into_iter().map(|run| RunId::parse(run).unwrap()).collect();
            memory.revision = 3;
            let row = encode(&key(), &memory).unwrap();
            prop_assert_eq!(decode(&row).unwrap(), memory);
            prop_assert_eq!(&row[attr::REVISION], &number(3_u64));
        }
    }

    /// The stored format, spelled out.
    #[test]
    fn what_was_stored_once_is_read_for_ever() {
        let text = r#"{"revision":2,"facts":[{"id":"fact_1","content":"likes tea","category":"preference","confidence":900,
            "created_at":7,"source":"t"}],"summaries":{"top_of_mind":{"text":"a move","updated_at":8}},"updated_at":9,"learnt":["r"]}"#;
        let mut row = encode(&key(), &Memory::default()).unwrap();
        row.insert(BODY.to_owned(), AttributeValue::S(text.to_owned()));
        let memory = decode(&row).unwrap();
        assert_eq!(
            (memory.revision, memory.facts.len(), memory.summaries.len(), memory.learnt.len()),
            (2, 1, 1, 1)
        );
        assert!((memory.facts[0].confidence.number() - 0.9).abs() < 1e-9);
    }
}
