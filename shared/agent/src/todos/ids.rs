//! Which item of a new list is which of the list before it. A model writes whole lists and knows of no ids; a client that shows
//! one item through all its changes does.

use pudu_domain::state::Todo;
use serde_json::json;

/// Hexadecimal digits of an id: enough to tell the items of a conversation's lists apart.
const DIGITS: usize = 12;

/// `todos`, each with the id that it had in `before`: an item of the same words is the same; of the others, one that stands where
/// another stood was reworded. What is new gets an id of the call that wrote it, the same one however often it is done.
pub(super) fn kept(before: &[Todo], mut todos: Vec<Todo>, call: &str) -> Vec<Todo> {
    let mut free: Vec<Option<&Todo>> = before.iter().map(|todo| todo.id.is_some().then_some(todo)).collect();
    for todo in &mut todos {
        let same = free.iter_mut().find(|old| old.is_some_and(|old| old.content == todo.content));
        todo.id = same.and_then(Option::take).and_then(|old| old.id.clone());
    }
    for (place, todo) in todos.iter_mut().enumerate().filter(|(_, todo)| todo.id.is_none()) {
        let reworded = free.get_mut(place).and_then(Option::take).and_then(|old| old.id.clone());
        todo.id = Some(reworded.unwrap_or_else(|| {
            let digest = pudu_config::sha256_hex(&json!([call, place]));
            format!("todo-{digest:.DIGITS$}")
        }));
    }
    todos
}

#[cfg(test)]
mod tests {
    use pudu_domain::state::TodoStatus;

    use super::*;

    fn list(texts: &[&str]) -> Vec<Todo> {
        texts.iter().map(|text| Todo::new(*text, TodoStatus::Pending)).collect()
    }

    fn ids(todos: &[Todo]) -> Vec<&str> {
        todos.iter().map(|todo| todo.id.as_deref().unwrap()).collect()
    }

    #[test]
    fn an_item_keeps_its_id_while_others_come_go_and_move() {
        let first = kept(&[], list(&["a", "b", "c"]), "call-1");
        let [a, b, c] = ids(&first)[..] else { panic!("{first:?}") };
        assert!(a != b && b != c && a.len() == 17);
        assert_eq!(ids(&kept(&[], list(&["a", "b", "c"]), "call-1")), [a, b, c], "done again it is the same");
        let moved = kept(&first, list(&["c", "new", "a"]), "call-2");
        assert_eq!((ids(&moved)[0], ids(&moved)[2]), (c, a));
        let reworded = kept(&first, list(&["a", "b, but better", "c"]), "call-2");
        assert_eq!(ids(&reworded), [a, b, c]);
        let longer = kept(&first, list(&["a", "b", "c", "d"]), "call-2");
        assert_eq!(&ids(&longer)[..3], [a, b, c]);
        assert!(![a, b, c].contains(&ids(&longer)[3]));
    }

    #[test]
    fn items_of_the_same_words_are_told_apart_and_old_ones_without_an_id_get_one() {
        let twice = kept(&[], list(&["a", "a"]), "call-1");
        assert_ne!(ids(&twice)[0], ids(&twice)[1]);
        assert_eq!(ids(&kept(&twice, list(&["a", "a"]), "call-2")), ids(&twice));
        assert_eq!(ids(&kept(&list(&["a"]), list(&["a"]), "call-2")).len(), 1);
    }
}
