//! What a model says beside a conversation, without what some write around it: what they thought on the way, a fence around JSON.

/// `text` without its thoughts. What looks like one inside of an object is somebody's words.
pub(crate) fn spoken(text: &str) -> String {
    let mut rest = text;
    let mut spoken = String::new();
    while !(spoken.trim().is_empty() && unfenced(rest).starts_with('{')) {
        let Some((before, thought)) = rest.split_once("<think>") else { break };
        spoken.push_str(before);
        // What is not closed is thought to the end.
        rest = thought.split_once("</think>").map_or("", |(_, after)| after);
    }
    spoken.push_str(rest);
    spoken
}

/// What stands in the code fence that is all of `text`, or `text`.
pub(crate) fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let inner = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    inner.map_or(text, |inner| inner.strip_prefix("json").unwrap_or(inner)).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_around_all_of_it_is_left_out_and_no_other() {
        for text in ["{}", " {}\n", "```json\n{}\n```", "```\n{}\n```"] {
            assert_eq!(unfenced(text), "{}", "{text}");
        }
        assert_eq!(unfenced("```json\n{}"), "```json\n{}", "it is not closed");
    }

    #[test]
    fn thoughts_are_left_out_and_one_without_an_end_is_thought_to_the_end() {
        assert_eq!(spoken("a<think>b</think>c<think>d"), "ac");
        assert_eq!(spoken("a </think> b"), "a </think> b");
    }

    #[test]
    fn what_looks_like_a_thought_in_an_object_stays() {
        for object in [r#"{"fact": "writes <think>"}"#, "```json\n{\"fact\": \"<think>a</think>\"}\n```"] {
            assert_eq!(spoken(object), object);
            assert_eq!(spoken(&format!("<think>{{}}</think>{object}")), object);
        }
    }
}
