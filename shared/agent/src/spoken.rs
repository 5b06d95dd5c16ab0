//! What a model says beside a conversation, without what it thought on the way: some write that into their answers.

/// `text` without its thoughts.
pub(crate) fn spoken(text: &str) -> String {
    let mut rest = text;
    let mut spoken = String::new();
    while let Some((before, thought)) = rest.split_once("<think>") {
        spoken.push_str(before);
        // What is not closed is thought to the end.
        rest = thought.split_once("</think>").map_or("", |(_, after)| after);
    }
    spoken.push_str(rest);
    spoken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thoughts_are_left_out_and_one_without_an_end_is_thought_to_the_end() {
        assert_eq!(spoken("a<think>b</think>c<think>d"), "ac");
        assert_eq!(spoken("a </think> b"), "a </think> b");
    }
}
